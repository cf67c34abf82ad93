/* Arguments of the kernels of products (matmul, inner product); included by both halves. */
#ifndef DTP_GPU_MATMUL_MATMUL_ARGS_H
#define DTP_GPU_MATMUL_MATMUL_ARGS_H

#include "gpu/device/args.h"

/* Dimensions of a batch of matrices after joining; rows and columns follow them in a view. */
enum { DTP_MATMUL_BATCH_DIMS = DTP_GPU_DIMS - 2 };
/* Columns that one thread finishes at once: 16 bytes of f32. */
enum { DTP_MATMUL_COLUMNS = 4 };
/* Sides of the tiles of blocks, their threads, bytes of dynamic shared memory. */
enum {
    DTP_MATMUL_LARGE = 128,
    DTP_MATMUL_LARGE_THREADS = 256,
    DTP_MATMUL_LARGE_SHARED = 64 * 1024,
    DTP_MATMUL_SMALL = 64,
    DTP_MATMUL_SMALL_THREADS = 128,
    DTP_MATMUL_SMALL_SHARED = 32 * 1024,
    DTP_MATMUL_SIMT_ROWS = 128,
    DTP_MATMUL_SIMT_COLUMNS = 64,
    DTP_MATMUL_SIMT_THREADS = 128,
    DTP_MATMUL_SIMT_SHARED = 32 * 1024,
    DTP_MATMUL_FEW_ROWS = 16,
    DTP_MATMUL_FEW_COLUMNS = 128,
    DTP_MATMUL_FEW_SHARED = 40 * 1024,
    DTP_MATMUL_ANY_THREADS = 128
};

/* An operand as the batch, the rows and the columns of dst see it; strides are in elements, 0 where it does not vary. */
typedef struct {
    const void *p; /* NULL: absent */
    int64_t batch[DTP_MATMUL_BATCH_DIMS], row, column;
    int32_t type, unused;
} dtp_matmul_operand_t;

typedef struct {
    dtp_matmul_operand_t src, wei, bia, dst, src_scale, wei_scale, dst_scale;
    int64_t src_k, wei_k; /* strides along k */
    int32_t m, n, k;
    int32_t matrices, dim[DTP_MATMUL_BATCH_DIMS]; /* of the batch, outermost first; 1 in front */
    int32_t parts, k_part; /* blocks share the sums over k, so long a part each; their sums go to partial */
    int32_t src_width, wei_width; /* bytes to which the lines of src and weights are aligned: 2, 4, 8, 16 */
    int32_t dst_wide;             /* dst takes DTP_MATMUL_COLUMNS elements at once */
    int32_t plan_m;               /* rows of a matrix as post-operations count them: m, or more */
    int32_t has_rest;             /* a bias that varies along rows, post-operations or a scale of dst */
    int32_t post_op_runs;         /* tensors of post-operations have runs of DTP_MATMUL_COLUMNS columns */
    float *partial;               /* [part][matrix][m][partial_row] */
    int64_t partial_row;
    dtp_gpu_chain_t post_ops;
} dtp_matmul_args_t;

#endif
