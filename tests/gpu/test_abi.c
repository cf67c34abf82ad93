/* Our description of the driver's interface (src/gpu/driver/cu_abi.h) against cuda.h: numbers, layouts, signatures. All is
 * compared by the compiler, where the header is at hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu/driver/cu_abi.h"

#if defined(__has_include)
#if __has_include(<cudaTypedefs.h>)
#include <cuda.h>
#include <cudaTypedefs.h>
#define HAVE_CUDA_H 1
#endif
#endif

#if defined(HAVE_CUDA_H)
#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #ours)

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
SAME(DTP_CU_FUNC_MAX_DYNAMIC_SHARED, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
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
SAME(sizeof(dtp_cu_capture_t), sizeof(CUstreamCaptureStatus));
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
#define dtp_cu_capture_t CUstreamCaptureStatus
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(is_as_in_cuda_h)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
