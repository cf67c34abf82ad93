/* Arguments of the kernels of exact products; included by both halves. */
#ifndef DTP_GPU_MATMUL_MATMUL_EXACT_ARGS_H
#define DTP_GPU_MATMUL_MATMUL_EXACT_ARGS_H

#include "gpu/device/args.h"

/* A block of THREADS has a tile of SIDE x SIDE elements of dst. */
enum { DTP_MATMUL_EXACT_THREADS = 256, DTP_MATMUL_EXACT_SIDE = 32 };

/* Strides are in elements, 0 where the operand does not vary: of the walk over the matrices, of rows
 * (of weights: k), and of columns (of src: k). */
typedef struct {
    void *data; /* NULL: absent */
    int64_t matrix[DTP_GPU_DIMS], row, column;
} dtp_matmul_exact_operand_t;

typedef struct {
    dtp_gpu_dims_t matrices;
    dtp_matmul_exact_operand_t src, wei, bia, dst;
    int32_t m, n, k, tiles_n;
    dtp_gpu_dim_t tiles; /* of a matrix */
} dtp_matmul_exact_args_t;

#endif
