/* Our description of the driver's interface (src/gpu/driver/cu_abi.h) against cuda.h, that of cuBLASLt (lt_abi.h) against
 * cublasLt.h: numbers, layouts, signatures. All is compared by the compiler, where the headers are at hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu/driver/lt_abi.h"
#include "gpu/driver/nvtx_abi.h"
#include "gpu/fake/fake_cuda.h"

#if defined(__has_include)
#if __has_include(<cudaTypedefs.h>)
#include <cuda.h>
#include <cudaTypedefs.h>
#define HAVE_CUDA_H 1
#endif
#endif

#if defined(__has_include)
#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#define HAVE_CUBLASLT_H 1
#endif
#endif

#if defined(__has_include)
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define HAVE_NVTX_H 1
#endif
#endif

#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #ours)

#if defined(HAVE_CUDA_H)
SAME(DTP_CU_SUCCESS, CUDA_SUCCESS);
SAME(DTP_CU_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
SAME(DTP_CU_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME(DTP_CU_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED);
SAME(DTP_CU_DEINITIALIZED, CUDA_ERROR_DEINITIALIZED);
SAME(DTP_CU_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME(DTP_CU_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE);
SAME(DTP_CU_INVALID_IMAGE, CUDA_ERROR_INVALID_IMAGE);
SAME(DTP_CU_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT);
SAME(DTP_CU_NO_BINARY_FOR_GPU, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(DTP_CU_ECC_UNCORRECTABLE, CUDA_ERROR_ECC_UNCORRECTABLE);
SAME(DTP_CU_NVLINK_UNCORRECTABLE, CUDA_ERROR_NVLINK_UNCORRECTABLE);
SAME(DTP_CU_CONTAINED, CUDA_ERROR_CONTAINED);
SAME(DTP_CU_TENSOR_MEMORY_LEAK, CUDA_ERROR_TENSOR_MEMORY_LEAK);
SAME(DTP_CU_MPS_CONNECTION_FAILED, CUDA_ERROR_MPS_CONNECTION_FAILED);
SAME(DTP_CU_MPS_RPC_FAILURE, CUDA_ERROR_MPS_RPC_FAILURE);
SAME(DTP_CU_MPS_SERVER_NOT_READY, CUDA_ERROR_MPS_SERVER_NOT_READY);
SAME(DTP_CU_MPS_MAX_CLIENTS_REACHED, CUDA_ERROR_MPS_MAX_CLIENTS_REACHED);
SAME(DTP_CU_MPS_MAX_CONNECTIONS_REACHED, CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED);
SAME(DTP_CU_MPS_CLIENT_TERMINATED, CUDA_ERROR_MPS_CLIENT_TERMINATED);
SAME(DTP_CU_STREAM_CAPTURE_INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
SAME(DTP_CU_STREAM_CAPTURE_UNJOINED, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
SAME(DTP_CU_STREAM_CAPTURE_IMPLICIT, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
SAME(DTP_CU_CAPTURED_EVENT, CUDA_ERROR_CAPTURED_EVENT);
SAME(DTP_CU_EXTERNAL_DEVICE, CUDA_ERROR_EXTERNAL_DEVICE);
SAME(FAKE_CU_ILLEGAL_STATE, CUDA_ERROR_ILLEGAL_STATE);
SAME(FAKE_CU_CAPTURE_MERGE, CUDA_ERROR_STREAM_CAPTURE_MERGE);
SAME(FAKE_CU_CAPTURE_UNMATCHED, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
SAME(FAKE_CU_CAPTURE_ISOLATION, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
SAME(FAKE_CU_CAPTURE_WRONG_THREAD, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
SAME(FAKE_CU_CAPTURE_ACTIVE, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME(FAKE_CU_CAPTURE_INVALID, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
SAME(DTP_CU_CAPTURE_GLOBAL, CU_STREAM_CAPTURE_MODE_GLOBAL);
SAME(DTP_CU_CAPTURE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME(DTP_CU_CAPTURE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(DTP_CU_POOL_REUSE_INTERNAL_DEPENDENCIES, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES);
SAME(DTP_CU_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE);
SAME(DTP_CU_NOT_FOUND, CUDA_ERROR_NOT_FOUND);
SAME(DTP_CU_NOT_READY, CUDA_ERROR_NOT_READY);
SAME(DTP_CU_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(DTP_CU_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
SAME(DTP_CU_LAUNCH_TIMEOUT, CUDA_ERROR_LAUNCH_TIMEOUT);
SAME(DTP_CU_CONTEXT_IS_DESTROYED, CUDA_ERROR_CONTEXT_IS_DESTROYED);
SAME(DTP_CU_ASSERT, CUDA_ERROR_ASSERT);
SAME(DTP_CU_HARDWARE_STACK_ERROR, CUDA_ERROR_HARDWARE_STACK_ERROR);
SAME(DTP_CU_ILLEGAL_INSTRUCTION, CUDA_ERROR_ILLEGAL_INSTRUCTION);
SAME(DTP_CU_MISALIGNED_ADDRESS, CUDA_ERROR_MISALIGNED_ADDRESS);
SAME(DTP_CU_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_ADDRESS_SPACE);
SAME(DTP_CU_INVALID_PC, CUDA_ERROR_INVALID_PC);
SAME(DTP_CU_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_FAILED);
SAME(DTP_CU_NOT_PERMITTED, CUDA_ERROR_NOT_PERMITTED);
SAME(DTP_CU_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED);
SAME(DTP_CU_STREAM_CAPTURE_UNSUPPORTED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
SAME(DTP_CU_STREAM_CAPTURE_LAST, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
SAME(DTP_CU_UNKNOWN, CUDA_ERROR_UNKNOWN);

SAME(DTP_CU_ATTR_MULTIPROCESSORS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(DTP_CU_ATTR_L2_BYTES, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME(DTP_CU_ATTR_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(DTP_CU_ATTR_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(DTP_CU_ATTR_SHARED_OPTIN, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(DTP_CU_ATTR_POOLS, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
SAME(DTP_CU_ATTR_STREAM_WAIT_VALUE, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS);

SAME(DTP_CU_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
SAME(DTP_CU_EVENT_BLOCKING_SYNC, CU_EVENT_BLOCKING_SYNC);
SAME(DTP_CU_EVENT_DISABLE_TIMING, CU_EVENT_DISABLE_TIMING);
SAME(DTP_CU_HOST_PORTABLE, CU_MEMHOSTALLOC_PORTABLE);
SAME(DTP_CU_HOST_MAPPED, CU_MEMHOSTALLOC_DEVICEMAP);
SAME(DTP_CU_WAIT_GEQ, CU_STREAM_WAIT_VALUE_GEQ);
SAME(DTP_CU_FUNC_SHARED, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(DTP_CU_FUNC_MAX_DYNAMIC_SHARED, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(DTP_CU_POINTER_DEVICE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME(DTP_CU_LEGACY_DEFAULT_STREAM, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
SAME(DTP_CU_LAUNCH_PARAM_END, CU_LAUNCH_PARAM_END_AS_INT);
SAME(DTP_CU_LAUNCH_PARAM_BUFFER, CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT);
SAME(DTP_CU_LAUNCH_PARAM_BYTES, CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT);

SAME(DTP_CU_POOL_RELEASE_THRESHOLD, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
SAME(DTP_CU_POOL_RESERVED_CURRENT, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
SAME(DTP_CU_POOL_RESERVED_HIGH, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH);
SAME(DTP_CU_POOL_USED_CURRENT, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
SAME(DTP_CU_POOL_USED_HIGH, CU_MEMPOOL_ATTR_USED_MEM_HIGH);
SAME(DTP_CU_ALLOC_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME(DTP_CU_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);

#define SAME_FIELD(ours, theirs)                                                 \
    SAME(offsetof(dtp_cu_pool_props_t, ours), offsetof(CUmemPoolProps, theirs)); \
    SAME(sizeof((dtp_cu_pool_props_t *)NULL)->ours, sizeof((CUmemPoolProps *)NULL)->theirs)
SAME(sizeof(dtp_cu_pool_props_t), sizeof(CUmemPoolProps));
SAME_FIELD(alloc_type, allocType);
SAME_FIELD(handle_types, handleTypes);
SAME_FIELD(location.type, location.type);
SAME_FIELD(location.id, location.id);
SAME_FIELD(security, win32SecurityAttributes);
SAME_FIELD(max_size, maxSize);
SAME_FIELD(usage, usage);
SAME_FIELD(reserved, reserved);
SAME(sizeof(dtp_cu_uuid_t), sizeof(CUuuid));

SAME(sizeof(dtp_cu_result_t), sizeof(CUresult));
SAME(sizeof(dtp_cu_device_attribute_t), sizeof(CUdevice_attribute));
SAME(sizeof(dtp_cu_pool_attribute_t), sizeof(CUmemPool_attribute));
SAME(sizeof(dtp_cu_function_attribute_t), sizeof(CUfunction_attribute));
SAME(sizeof(dtp_cu_pointer_attribute_t), sizeof(CUpointer_attribute));
SAME(sizeof(dtp_cu_capture_t), sizeof(CUstreamCaptureStatus));
SAME(sizeof(dtp_cu_capture_mode_t), sizeof(CUstreamCaptureMode));
SAME(sizeof(dtp_cu_jit_option_t), sizeof(CUjit_option));
SAME(sizeof(dtp_cu_library_option_t), sizeof(CUlibraryOption));

/* The list of calls once more, with cuda.h's names for what is named differently: each must have the type that cudaTypedefs.h
 * gives the call's form of that version. */
#define dtp_cu_result_t CUresult
#define dtp_cu_uuid_t CUuuid
#define dtp_cu_device_attribute_t CUdevice_attribute
#define dtp_cu_pool_attribute_t CUmemPool_attribute
#define dtp_cu_pool_props_t CUmemPoolProps
#define dtp_cu_function_attribute_t CUfunction_attribute
#define dtp_cu_pointer_attribute_t CUpointer_attribute
#define dtp_cu_capture_t CUstreamCaptureStatus
#define dtp_cu_capture_mode_t CUstreamCaptureMode
#define dtp_cu_jit_option_t CUjit_option
#define dtp_cu_library_option_t CUlibraryOption
#define DTP_CU_CALL(name, version, args) \
    _Static_assert(__builtin_types_compatible_p(dtp_cu_result_t(*) args, PFN_##name##_v##version), #name);
#include "gpu/driver/cu_calls.inc"

static void is_as_in_cuda_h(void **state) {
    (void)state;
    assert_true(CUDA_VERSION >= 12000);
}
#else
static void is_as_in_cuda_h(void **state) {
    (void)state;
    skip();
}
#endif

#if defined(HAVE_CUBLASLT_H)
SAME(DTP_LT_SUCCESS, CUBLAS_STATUS_SUCCESS);
SAME(DTP_LT_NOT_INITIALIZED, CUBLAS_STATUS_NOT_INITIALIZED);
SAME(DTP_LT_ALLOC_FAILED, CUBLAS_STATUS_ALLOC_FAILED);
SAME(DTP_LT_INVALID_VALUE, CUBLAS_STATUS_INVALID_VALUE);
SAME(DTP_LT_ARCH_MISMATCH, CUBLAS_STATUS_ARCH_MISMATCH);
SAME(DTP_LT_EXECUTION_FAILED, CUBLAS_STATUS_EXECUTION_FAILED);
SAME(DTP_LT_INTERNAL_ERROR, CUBLAS_STATUS_INTERNAL_ERROR);
SAME(DTP_LT_NOT_SUPPORTED, CUBLAS_STATUS_NOT_SUPPORTED);

SAME(DTP_LT_COMPUTE_F32, CUBLAS_COMPUTE_32F);
SAME(DTP_LT_COMPUTE_TF32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME(DTP_LT_F32, CUDA_R_32F);
SAME(DTP_LT_F16, CUDA_R_16F);
SAME(DTP_LT_BF16, CUDA_R_16BF);
SAME(DTP_LT_PLAIN, CUBLAS_OP_N);
SAME(DTP_LT_TRANSPOSED, CUBLAS_OP_T);

SAME(DTP_LT_TRANSPOSE_A, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(DTP_LT_TRANSPOSE_B, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(DTP_LT_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE);
SAME(DTP_LT_BIAS_POINTER, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
SAME(DTP_LT_BIAS_BATCH_STRIDE, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE);
SAME(DTP_LT_EPILOGUE_NONE, CUBLASLT_EPILOGUE_DEFAULT);
SAME(DTP_LT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BIAS);
SAME(DTP_LT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU);
SAME(DTP_LT_EPILOGUE_GELU | DTP_LT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS);
SAME(DTP_LT_BATCH_COUNT, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME(DTP_LT_BATCH_STRIDE, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME(DTP_LT_MAX_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(DTP_LT_REDUCTION_SCHEMES, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
SAME(DTP_LT_ALIGNMENT_A, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME(DTP_LT_ALIGNMENT_A + 1, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
SAME(DTP_LT_ALIGNMENT_A + 2, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
SAME(DTP_LT_ALIGNMENT_D, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
SAME(DTP_LT_REDUCTION_COMPUTE_TYPE, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);

SAME(sizeof(dtp_lt_layout_t), sizeof(cublasLtMatrixLayoutOpaque_t));
SAME(sizeof(dtp_lt_product_t), sizeof(cublasLtMatmulDescOpaque_t));
SAME(sizeof(dtp_lt_preference_t), sizeof(cublasLtMatmulPreferenceOpaque_t));
SAME(sizeof(dtp_lt_algo_t), sizeof(cublasLtMatmulAlgo_t));
#define SAME_OF_FOUND(ours, theirs)                                                          \
    SAME(offsetof(dtp_lt_found_t, ours), offsetof(cublasLtMatmulHeuristicResult_t, theirs)); \
    SAME(sizeof((dtp_lt_found_t *)NULL)->ours, sizeof((cublasLtMatmulHeuristicResult_t *)NULL)->theirs)
SAME(sizeof(dtp_lt_found_t), sizeof(cublasLtMatmulHeuristicResult_t));
SAME_OF_FOUND(algo, algo);
SAME_OF_FOUND(workspace_bytes, workspaceSize);
SAME_OF_FOUND(state, state);
SAME_OF_FOUND(waves, wavesCount);
SAME_OF_FOUND(reserved, reserved);

/* The list of calls with cublasLt.h's names, as above. */
#define dtp_lt_status_t cublasStatus_t
#define dtp_lt_compute_t cublasComputeType_t
#define dtp_lt_type_t cudaDataType_t
#define dtp_lt_of_layout_t cublasLtMatrixLayoutAttribute_t
#define dtp_lt_of_product_t cublasLtMatmulDescAttributes_t
#define dtp_lt_of_preference_t cublasLtMatmulPreferenceAttributes_t
#define dtp_lt_layout_t cublasLtMatrixLayoutOpaque_t
#define dtp_lt_product_t cublasLtMatmulDescOpaque_t
#define dtp_lt_preference_t cublasLtMatmulPreferenceOpaque_t
#define dtp_lt_algo_t cublasLtMatmulAlgo_t
#define dtp_lt_found_t cublasLtMatmulHeuristicResult_t
#define DTP_LT_CALL(result, name, args) \
    _Static_assert(__builtin_types_compatible_p(result(*) args, __typeof__(&name)), #name);
#include "gpu/driver/lt_calls.inc"

static void is_as_in_cublaslt_h(void **state) {
    (void)state;
    assert_true(CUBLAS_VER_MAJOR == DTP_LT_MAJOR);
}
#else
static void is_as_in_cublaslt_h(void **state) {
    (void)state;
    skip();
}
#endif

#if defined(HAVE_NVTX_H)
SAME(DTP_NVTX_VERSION, NVTX_VERSION);
SAME(DTP_NVTX_ASCII, NVTX_MESSAGE_TYPE_ASCII);
SAME(DTP_NVTX_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(DTP_NVTX_VERSION_INFO, NVTX_ETID_VERSIONINFO);
SAME(DTP_NVTX_CORE, NVTX_CB_MODULE_CORE);
SAME(DTP_NVTX_CUDA, NVTX_CB_MODULE_CUDA);
SAME(DTP_NVTX_OPENCL, NVTX_CB_MODULE_OPENCL);
SAME(DTP_NVTX_CUDART, NVTX_CB_MODULE_CUDART);
SAME(DTP_NVTX_CORE2, NVTX_CB_MODULE_CORE2);
SAME(DTP_NVTX_SYNC, NVTX_CB_MODULE_SYNC);
SAME(DTP_NVTX_MODULES, NVTX_CB_MODULE_SIZE);
SAME(DTP_NVTX_CORE_CALLS, NVTX_CBID_CORE_SIZE);
SAME(DTP_NVTX_CUDA_CALLS, NVTX_CBID_CUDA_SIZE);
SAME(DTP_NVTX_OPENCL_CALLS, NVTX_CBID_OPENCL_SIZE);
SAME(DTP_NVTX_CUDART_CALLS, NVTX_CBID_CUDART_SIZE);
SAME(DTP_NVTX_CORE2_CALLS, NVTX_CBID_CORE2_SIZE);
SAME(DTP_NVTX_SYNC_CALLS, NVTX_CBID_SYNC_SIZE);
SAME(DTP_NVTX_RANGE_PUSH, NVTX_CBID_CORE2_DomainRangePushEx);
SAME(DTP_NVTX_RANGE_POP, NVTX_CBID_CORE2_DomainRangePop);
SAME(DTP_NVTX_DOMAIN_CREATE, NVTX_CBID_CORE2_DomainCreateA);

#define SAME_OF(ours, theirs, our_type, their_type)               \
    SAME(offsetof(our_type, ours), offsetof(their_type, theirs)); \
    SAME(sizeof((our_type *)NULL)->ours, sizeof((their_type *)NULL)->theirs)
#define SAME_OF_EVENT(ours, theirs) SAME_OF(ours, theirs, dtp_nvtx_event_t, nvtxEventAttributes_t)
SAME(sizeof(dtp_nvtx_event_t), sizeof(nvtxEventAttributes_t));
SAME_OF_EVENT(version, version);
SAME_OF_EVENT(bytes, size);
SAME_OF_EVENT(category, category);
SAME_OF_EVENT(color_type, colorType);
SAME_OF_EVENT(color, color);
SAME_OF_EVENT(payload_type, payloadType);
SAME_OF_EVENT(reserved, reserved0);
SAME_OF_EVENT(payload, payload);
SAME_OF_EVENT(message_type, messageType);
SAME_OF_EVENT(message, message);
SAME(sizeof(dtp_nvtx_callbacks_t), sizeof(NvtxExportTableCallbacks));
SAME_OF(get_module, GetModuleFunctionTable, dtp_nvtx_callbacks_t, NvtxExportTableCallbacks);
SAME(sizeof(dtp_nvtx_version_t), sizeof(NvtxExportTableVersionInfo));
SAME_OF(version, version, dtp_nvtx_version_t, NvtxExportTableVersionInfo);
SAME_OF(set_tool_version, SetInjectionNvtxVersion, dtp_nvtx_version_t, NvtxExportTableVersionInfo);

/* Enumerations as the int that they are, structs of events under one name. */
#define IS(ours, theirs) _Static_assert(__builtin_types_compatible_p(ours, theirs), #ours)
SAME(sizeof(dtp_nvtx_module_t), sizeof(NvtxCallbackModule));
IS(dtp_nvtx_domain_t, nvtxDomainHandle_t);
IS(dtp_nvtx_domain_create_t, nvtxDomainCreateA_impl_fntype);
IS(int (*)(dtp_nvtx_domain_t, const nvtxEventAttributes_t *), nvtxDomainRangePushEx_impl_fntype);
IS(dtp_nvtx_range_pop_t, nvtxDomainRangePop_impl_fntype);
IS(dtp_nvtx_get_table_t, NvtxGetExportTableFunc_t);
IS(dtp_nvtx_init_t, NvtxInitializeInjectionNvtxFunc_t);
IS(dtp_nvtx_call_t ***, NvtxFunctionTable *);

static void is_as_in_nvtx_h(void **state) {
    (void)state;
    assert_int_equal(NVTX_VERSION, DTP_NVTX_VERSION);
}
#else
static void is_as_in_nvtx_h(void **state) {
    (void)state;
    skip();
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(is_as_in_cuda_h),
                                       cmocka_unit_test(is_as_in_cublaslt_h),
                                       cmocka_unit_test(is_as_in_nvtx_h)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
