/* The part of cuBLASLt's binary interface that products use, in our own words; compared with cublasLt.h as cu_abi.h is with cuda.h.
 *
 * Descriptors are what cublasLt.h calls semi-opaque: structs of these sizes, made and changed by the library's calls alone, which
 * hold no memory of their own. A copy of one is one: plans keep copies, and an execution changes a copy on its stack. The sizes are
 * those of major version DTP_LT_MAJOR. */
#ifndef DTP_GPU_DRIVER_LT_ABI_H
#define DTP_GPU_DRIVER_LT_ABI_H

#include "gpu/driver/cu_abi.h"

enum { DTP_LT_MAJOR = 13, DTP_LT_VERSION_OF_MAJOR = 10000 /* cublasLtGetVersion: 130100 = 13.1.0 */ };

typedef int dtp_lt_status_t;  /* cublasStatus_t */
typedef int dtp_lt_compute_t; /* cublasComputeType_t */
typedef int dtp_lt_type_t;    /* cudaDataType_t */
/* Attributes of descriptors */
typedef int dtp_lt_of_layout_t;
typedef int dtp_lt_of_product_t;
typedef int dtp_lt_of_preference_t;
typedef struct cublasLtContext *dtp_lt_handle_t;
typedef struct {
    uint64_t data[8];
} dtp_lt_layout_t;
typedef struct {
    uint64_t data[32];
} dtp_lt_product_t; /* cublasLtMatmulDesc: what is computed */
typedef struct {
    uint64_t data[8];
} dtp_lt_preference_t;
typedef struct {
    uint64_t data[8];
} dtp_lt_algo_t;
typedef struct {
    dtp_lt_algo_t algo;
    size_t workspace_bytes;
    dtp_lt_status_t state;
    float waves;
    int reserved[4];
} dtp_lt_found_t;

/* cublasStatus_t */
enum {
    DTP_LT_SUCCESS = 0,
    DTP_LT_NOT_INITIALIZED = 1,
    DTP_LT_ALLOC_FAILED = 3,
    DTP_LT_INVALID_VALUE = 7,
    DTP_LT_ARCH_MISMATCH = 8,
    DTP_LT_EXECUTION_FAILED = 13,
    DTP_LT_INTERNAL_ERROR = 14,
    DTP_LT_NOT_SUPPORTED = 15
};
/* cublasComputeType_t, cudaDataType_t, cublasOperation_t */
enum { DTP_LT_COMPUTE_F32 = 68, DTP_LT_COMPUTE_TF32 = 77 };
enum { DTP_LT_F32 = 0, DTP_LT_F16 = 2, DTP_LT_BF16 = 14 };
enum { DTP_LT_PLAIN = 0, DTP_LT_TRANSPOSED = 1 };
/* Attributes of a product, with the types of their values */
enum {
    DTP_LT_TRANSPOSE_A = 3,       /* int32_t */
    DTP_LT_TRANSPOSE_B = 4,       /* int32_t */
    DTP_LT_EPILOGUE = 7,          /* uint32_t */
    DTP_LT_BIAS_POINTER = 8,      /* const void * */
    DTP_LT_BIAS_BATCH_STRIDE = 10 /* int64_t */
};
/* Epilogues, which add */
enum { DTP_LT_EPILOGUE_NONE = 1, DTP_LT_EPILOGUE_BIAS = 4, DTP_LT_EPILOGUE_GELU = 32 };
/* Attributes of a layout */
enum {
    DTP_LT_BATCH_COUNT = 5, /* int32_t */
    DTP_LT_BATCH_STRIDE = 6 /* int64_t */
};
/* Attributes of a preference */
enum {
    DTP_LT_MAX_WORKSPACE = 1,     /* uint64_t */
    DTP_LT_REDUCTION_SCHEMES = 3, /* uint32_t */
    DTP_LT_ALIGNMENT_A = 5,       /* uint32_t, as those of B, C and D */
    DTP_LT_ALIGNMENT_B = 6,
    DTP_LT_ALIGNMENT_D = 8
};
/* Parts of sums over k go to the workspace as f32 and are added in a fixed order. */
enum { DTP_LT_REDUCTION_COMPUTE_TYPE = 2 };

/* A pointer to each call. */
typedef struct dtp_lt {
#define DTP_LT_CALL(result, name, args) result(*name) args;
#include "gpu/driver/lt_calls.inc"
} dtp_lt_t;

#endif
