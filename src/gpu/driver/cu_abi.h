/* The part of the CUDA driver's binary interface that the engine uses, in our own words: no header of NVIDIA's is needed to
 * build. Where cuda.h is at hand, a test compares types, numbers and signatures with it (tests/gpu/test_abi.c).
 *
 * cu_calls.inc lists the calls; dtp_cu_t holds a pointer to each. Names of calls are the driver's, without version
 * suffixes: which version is meant stands in the list, and cuGetProcAddress finds it. */
#ifndef DTP_GPU_DRIVER_CU_ABI_H
#define DTP_GPU_DRIVER_CU_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int dtp_cu_result_t; /* CUresult */
typedef int dtp_cu_device_t; /* CUdevice */
/* Of cuda.h's enumerations; all are as wide as int. */
typedef int dtp_cu_device_attribute_t;
typedef int dtp_cu_pool_attribute_t;
typedef int dtp_cu_function_attribute_t;
typedef int dtp_cu_pointer_attribute_t;
typedef int dtp_cu_capture_t; /* CUstreamCaptureStatus: 0 = none */
typedef int dtp_cu_capture_mode_t;
typedef int dtp_cu_jit_option_t;
typedef int dtp_cu_library_option_t;
typedef unsigned long long dtp_cu_ptr_t; /* CUdeviceptr */
typedef struct CUctx_st *dtp_cu_ctx_t;
typedef struct CUstream_st *dtp_cu_stream_t;
typedef struct CUevent_st *dtp_cu_event_t;
typedef struct CUfunc_st *dtp_cu_function_t;
typedef struct CUlib_st *dtp_cu_library_t;
typedef struct CUkern_st *dtp_cu_kernel_t;
typedef struct CUmemPoolHandle_st *dtp_cu_pool_t;
typedef struct {
    char bytes[16];
} dtp_cu_uuid_t;
typedef void (*dtp_cu_host_fn_t)(void *arg);

/* CUresult */
enum {
    DTP_CU_SUCCESS = 0,
    DTP_CU_INVALID_VALUE = 1,
    DTP_CU_OUT_OF_MEMORY = 2,
    DTP_CU_NOT_INITIALIZED = 3,
    DTP_CU_DEINITIALIZED = 4,
    DTP_CU_NO_DEVICE = 100,
    DTP_CU_INVALID_DEVICE = 101,
    DTP_CU_INVALID_IMAGE = 200,
    DTP_CU_INVALID_CONTEXT = 201,
    DTP_CU_NO_BINARY_FOR_GPU = 209,
    DTP_CU_ECC_UNCORRECTABLE = 214,
    DTP_CU_NVLINK_UNCORRECTABLE = 220,
    DTP_CU_CONTAINED = 226,
    DTP_CU_INVALID_HANDLE = 400,
    DTP_CU_NOT_FOUND = 500,
    DTP_CU_NOT_READY = 600,
    DTP_CU_ILLEGAL_ADDRESS = 700,
    DTP_CU_LAUNCH_OUT_OF_RESOURCES = 701,
    DTP_CU_LAUNCH_TIMEOUT = 702,
    DTP_CU_CONTEXT_IS_DESTROYED = 709,
    DTP_CU_ASSERT = 710,
    DTP_CU_HARDWARE_STACK_ERROR = 714,
    DTP_CU_ILLEGAL_INSTRUCTION = 715,
    DTP_CU_MISALIGNED_ADDRESS = 716,
    DTP_CU_INVALID_ADDRESS_SPACE = 717,
    DTP_CU_INVALID_PC = 718,
    DTP_CU_LAUNCH_FAILED = 719,
    DTP_CU_TENSOR_MEMORY_LEAK = 721,
    DTP_CU_NOT_PERMITTED = 800,
    DTP_CU_NOT_SUPPORTED = 801,
    DTP_CU_MPS_CONNECTION_FAILED = 805,
    DTP_CU_MPS_RPC_FAILURE = 806,
    DTP_CU_MPS_SERVER_NOT_READY = 807,
    DTP_CU_MPS_MAX_CLIENTS_REACHED = 808,
    DTP_CU_MPS_MAX_CONNECTIONS_REACHED = 809,
    DTP_CU_MPS_CLIENT_TERMINATED = 810,
    DTP_CU_STREAM_CAPTURE_UNSUPPORTED = 900,
    DTP_CU_STREAM_CAPTURE_INVALIDATED = 901,
    DTP_CU_STREAM_CAPTURE_UNJOINED = 904,
    DTP_CU_STREAM_CAPTURE_IMPLICIT = 906,
    DTP_CU_CAPTURED_EVENT = 907,
    DTP_CU_STREAM_CAPTURE_LAST = 908,
    DTP_CU_EXTERNAL_DEVICE = 911,
    DTP_CU_UNKNOWN = 999
};
/* CUdevice_attribute */
enum {
    DTP_CU_ATTR_MULTIPROCESSORS = 16,
    DTP_CU_ATTR_L2_BYTES = 38,
    DTP_CU_ATTR_MAJOR = 75,
    DTP_CU_ATTR_MINOR = 76,
    DTP_CU_ATTR_SHARED_OPTIN = 97,
    DTP_CU_ATTR_POOLS = 115,
    DTP_CU_ATTR_STREAM_WAIT_VALUE =
        122 /* CAN_USE_64_BIT_STREAM_MEM_OPS; 92 to 94 are of the first form of the calls */
};
/* Flags */
enum {
    DTP_CU_STREAM_NON_BLOCKING = 1,
    DTP_CU_EVENT_BLOCKING_SYNC = 1,
    DTP_CU_EVENT_DISABLE_TIMING = 2,
    DTP_CU_HOST_PORTABLE = 1,
    DTP_CU_HOST_MAPPED = 2,
    DTP_CU_WAIT_GEQ = 0,
    DTP_CU_FUNC_SHARED = 1, /* CUfunction_attribute: static bytes */
    DTP_CU_FUNC_MAX_DYNAMIC_SHARED = 8,
    DTP_CU_POINTER_DEVICE = 9,       /* CUpointer_attribute: int, the device's ordinal */
    DTP_CU_LEGACY_DEFAULT_STREAM = 1 /* flag of cuGetProcAddress: calls without a stream use the legacy one */
};
/* CUstreamCaptureMode */
enum { DTP_CU_CAPTURE_GLOBAL = 0, DTP_CU_CAPTURE_THREAD_LOCAL = 1, DTP_CU_CAPTURE_RELAXED = 2 };
/* Values of pointer type, as numbers */
enum {
    DTP_CU_STREAM_LEGACY = 1, /* as NULL */
    DTP_CU_STREAM_PER_THREAD = 2,
    DTP_CU_LAUNCH_PARAM_END = 0, /* of `extra` of cuLaunchKernel */
    DTP_CU_LAUNCH_PARAM_BUFFER = 1,
    DTP_CU_LAUNCH_PARAM_BYTES = 2
};
/* CUmemPool_attribute */
enum {
    DTP_CU_POOL_REUSE_INTERNAL_DEPENDENCIES = 3, /* int */
    DTP_CU_POOL_RELEASE_THRESHOLD = 4,           /* uint64_t */
    DTP_CU_POOL_RESERVED_CURRENT = 5,
    DTP_CU_POOL_RESERVED_HIGH = 6,
    DTP_CU_POOL_USED_CURRENT = 7,
    DTP_CU_POOL_USED_HIGH = 8
};
/* CUmemPoolProps */
typedef struct {
    int alloc_type;   /* 1: pinned */
    int handle_types; /* 0: none */
    struct {
        int type; /* 1: device */
        int id;
    } location;
    void *security;
    size_t max_size; /* 0: none */
    unsigned short usage;
    unsigned char reserved[54];
} dtp_cu_pool_props_t;
enum { DTP_CU_ALLOC_PINNED = 1, DTP_CU_LOCATION_DEVICE = 1 };

/* A pointer to each call. All answer DTP_CU_SUCCESS or why not. */
typedef struct dtp_cu {
#define DTP_CU_CALL(name, version, args) dtp_cu_result_t(*name) args;
#include "gpu/driver/cu_calls.inc"
} dtp_cu_t;

#endif
