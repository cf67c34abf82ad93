/* Types for argument structs of kernels; included by host halves (C) and device halves (CUDA).
 *
 * A kernel walks a tensor by a linear index, in an order of the dimensions that the host chose
 * (device/view.h). Operands of the walk are tensors: element 0, and one stride for each dimension
 * of the walk. */
#ifndef DTP_GPU_DEVICE_ARGS_H
#define DTP_GPU_DEVICE_ARGS_H

#include <stdint.h>

/* Limit of the dimensions of a walk, after joining dimensions that are contiguous in every tensor
 * of a kernel. */
enum { DTP_GPU_DIMS = 6 };
/* Limit of entries of a chain of post-operations; select takes two. */
enum { DTP_GPU_STEPS = 16 };

/* Division of n < 2^31 by size: the high half of 2n * multiplier, then >> shift; of n < 2^63: with
 * wide_multiplier. */
typedef struct {
    uint32_t size, multiplier;
    uint64_t wide_multiplier;
    uint64_t shift;
} dtp_gpu_dim_t;

typedef struct {
    int64_t n;                       /* number of elements: the product */
    int32_t ndims;                   /* 1..DTP_GPU_DIMS */
    int32_t wide;                    /* n is 2^31 or more */
    dtp_gpu_dim_t dim[DTP_GPU_DIMS]; /* innermost first; size 1 after the last; sizes are below 2^31 */
} dtp_gpu_dims_t;

typedef struct {
    /* Element 0: offset0 is added. */
    void *data;
    /* In elements, innermost first; 0: the tensor has one value along the dimension. */
    int64_t stride[DTP_GPU_DIMS];
    int32_t type; /* dnnl_tp_data_type_t */
    /* Runs of DTP_GPU_RUN elements along the innermost dimension are aligned to their size. */
    int32_t aligned;
} dtp_gpu_tensor_t;

/* Number of elements that kernels of mixed types move together: 16 bytes of f32. */
enum { DTP_GPU_RUN = 4 };

/* Rows along one dimension of src and dst: n elements each, `step` apart. */
typedef struct {
    dtp_gpu_dims_t dims;       /* of the rows */
    dtp_gpu_tensor_t src, dst; /* strides of rows */
    int64_t n, src_step, dst_step;
    int64_t by_warps; /* a warp has a row, otherwise a block */
} dtp_gpu_rows_t;
/* Number of elements of a row that kernels keep in registers: in a warp, and in the largest block.
 */
enum { DTP_GPU_HELD = 32, DTP_GPU_WARP_ROW = 32 * DTP_GPU_HELD };
enum { DTP_GPU_BLOCK_THREADS = 512, DTP_GPU_BLOCK_ROW = DTP_GPU_BLOCK_THREADS * DTP_GPU_HELD };
/* Threads of a block: of kernels with a row in each warp, and of other kernels of rows; if there
 * are a small number of long rows, of kernels that process runs, which need more registers, and of
 * kernels that process elements. */
enum { DTP_GPU_ROW_THREADS = 256, DTP_GPU_LONG_RUNS_THREADS = 512, DTP_GPU_LONG_ROW_THREADS = 1024 };

/* Lines along the middle of {outer, n, inner}: n elements, `inner` apart; count: outer * inner. */
typedef struct {
    int64_t n, inner, count;
} dtp_gpu_lines_t;

/* One value of any type of scales; data NULL: 1. */
typedef struct {
    const void *data;
    int64_t type;
} dtp_gpu_scale_t;

typedef enum {
    DTP_GPU_UNARY,  /* x = function(x; a, b) */
    DTP_GPU_BINARY, /* x = function(x, tensor) */
    DTP_GPU_SELECT, /* x = condition != 0 ? x : tensor; the condition is the tensor of the next entry */
    DTP_GPU_SUM     /* x += a * (tensor - b); the tensor is the old destination */
} dtp_gpu_step_kind_t;

typedef struct {
    const void *data;
    float a, b;
    int32_t stride[DTP_GPU_DIMS]; /* as dtp_gpu_tensor_t, in the dims of the chain */
    uint8_t kind, function, type; /* function: an index of elementwise.h */
    uint8_t aligned;              /* as dtp_gpu_tensor_t */
} dtp_gpu_step_t;

/* Post-operations on the element of the destination with a linear index. */
typedef struct {
    dtp_gpu_dims_t dims;  /* joined over the tensors of the chain only, in the kernel's order */
    int32_t len, tensors; /* tensors: a step reads a tensor */
    dtp_gpu_step_t step[DTP_GPU_STEPS];
} dtp_gpu_chain_t;

#endif
