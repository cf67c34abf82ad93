/* What kernels of products share: where a block works, and what follows the sums of a tile: scales, bias, post-operations,
 * conversion. */
#ifndef DTP_GPU_MATMUL_TILE_CUH
#define DTP_GPU_MATMUL_TILE_CUH

#include "gpu/device/chain.cuh"
#include "gpu/matmul/matmul_args.h"

/* ---- Where a block works ------------------------------------------------------------------------------ */

typedef struct {
    int batch[DTP_MATMUL_BATCH_DIMS];
    int matrix, part; /* row-major number of the batch; part of k */
    int m, n;         /* first row and column */
    int k_begin, k_end;
} dtp_matmul_block_t;

enum { DTP_MATMUL_GROUP = 8 }; /* rows of tiles that blocks visit together, so that they find weights in L2 */

/* The place of b.matrix in the batch. */
DTP_DEVICE void dtp_matmul_batch(const dtp_matmul_args_t &a, dtp_matmul_block_t &b) {
    int left = b.matrix;
#pragma unroll
    for (int d = DTP_MATMUL_BATCH_DIMS - 1; d >= 0; --d) {
        b.batch[d] = left % a.dim[d];
        left /= a.dim[d];
    }
}

template <int ROWS, int COLUMNS> DTP_DEVICE dtp_matmul_block_t dtp_matmul_block(const dtp_matmul_args_t &a) {
    dtp_matmul_block_t b;
    const int tiles_m = (a.m + ROWS - 1) / ROWS, tiles_n = (a.n + COLUMNS - 1) / COLUMNS,
              tiles = tiles_m * tiles_n;
    const int tile = (int)blockIdx.x % tiles, rest = (int)blockIdx.x / tiles;
    const int group = tile / (DTP_MATMUL_GROUP * tiles_n), in_group = tile % (DTP_MATMUL_GROUP * tiles_n);
    const int rows = min(DTP_MATMUL_GROUP, tiles_m - group * DTP_MATMUL_GROUP);
    b.m = (group * DTP_MATMUL_GROUP + in_group % rows) * ROWS;
    b.n = in_group / rows * COLUMNS;
    b.part = rest % a.parts;
    b.matrix = rest / a.parts;
    b.k_begin = min(a.k, b.part * a.k_part);
    b.k_end = min(a.k, b.k_begin + a.k_part);
    dtp_matmul_batch(a, b);
    return b;
}

/* Offset of the block's matrix of an operand, in elements. */
DTP_DEVICE int64_t dtp_matmul_matrix(const dtp_matmul_args_t &a, const dtp_matmul_block_t &b,
                                     const dtp_matmul_operand_t &o) {
    int64_t at = 0;
#pragma unroll
    for (int d = 0; d < DTP_MATMUL_BATCH_DIMS; ++d) at += b.batch[d] * o.batch[d];
    return at;
}

/* ---- What follows the sums ---------------------------------------------------------------------------- */

/* Offset of the block's matrix of each operand, and its values along columns. */
typedef struct {
    int64_t bia, dst, src_scale, wei_scale, dst_scale;
} dtp_matmul_offsets_t;
DTP_DEVICE dtp_matmul_offsets_t dtp_matmul_offsets(const dtp_matmul_args_t &a, const dtp_matmul_block_t &b) {
    const dtp_matmul_offsets_t o = {
        dtp_matmul_matrix(a, b, a.bia), dtp_matmul_matrix(a, b, a.dst), dtp_matmul_matrix(a, b, a.src_scale),
        dtp_matmul_matrix(a, b, a.wei_scale), dtp_matmul_matrix(a, b, a.dst_scale)};
    return o;
}

/* One value of an operand. This and dtp_matmul_rest are calls, so that the kernels of a module share their copy. */
static __device__ __noinline__ float dtp_matmul_value(const dtp_matmul_operand_t &o, int64_t at) {
    return dtp_load_one(o.type, o.p, at);
}

/* What the columns from `column` on have in common in all rows. */
typedef struct {
    float scale[DTP_MATMUL_COLUMNS], bias[DTP_MATMUL_COLUMNS];
} dtp_matmul_columns_t;
DTP_DEVICE dtp_matmul_columns_t dtp_matmul_columns(const dtp_matmul_args_t &a, const dtp_matmul_offsets_t &at,
                                                   int column) {
    dtp_matmul_columns_t c;
#pragma unroll
    for (int i = 0; i < DTP_MATMUL_COLUMNS; ++i) {
        const int64_t n = min(column + i, a.n - 1);
        c.scale[i] =
            a.wei_scale.p ? dtp_matmul_value(a.wei_scale, at.wei_scale + n * a.wei_scale.column) : 1.f;
        c.bias[i] = a.bia.p && !a.bia.row ? dtp_matmul_value(a.bia, at.bia + n * a.bia.column) : 0.f;
    }
    return c;
}

/* Bias that varies along rows, post-operations, the scale of dst, on n columns of a row. */
static __device__ __noinline__ float4 dtp_matmul_rest(const dtp_matmul_args_t &a, int64_t bias_at,
                                                      int64_t scale_at, int64_t index, int n, float4 sums) {
    float x[DTP_MATMUL_COLUMNS] = {sums.x, sums.y, sums.z, sums.w}, y[DTP_MATMUL_COLUMNS];
    if (a.bia.p && a.bia.row) {
        dtp_load_any(a.bia.type, a.bia.p, bias_at, a.bia.column, false, n, y);
#pragma unroll
        for (int i = 0; i < DTP_MATMUL_COLUMNS; ++i) x[i] += y[i];
    }
    if (a.post_op_runs) {
        dtp_chain_apply(a.post_ops, index, n, x);
    } else {
#pragma unroll 1
        for (int i = 0; i < DTP_MATMUL_COLUMNS;
             ++i) { /* in registers: the first goes to the end, four times */
            const float next = i < n ? dtp_chain_one(a.post_ops, index + i, x[0]) : 0.f;
            x[0] = x[1], x[1] = x[2], x[2] = x[3], x[3] = next;
        }
    }
    if (a.dst_scale.p) {
        dtp_load_any(a.dst_scale.type, a.dst_scale.p, scale_at, a.dst_scale.column, false, n, y);
#pragma unroll
        for (int i = 0; i < DTP_MATMUL_COLUMNS; ++i) x[i] /= y[i];
    }
    return make_float4(x[0], x[1], x[2], x[3]);
}

template <class T>
DTP_DEVICE void dtp_matmul_store(const dtp_matmul_args_t &a, int64_t at, int n,
                                 const float (&x)[DTP_MATMUL_COLUMNS]) {
    dtp_store_run<T, DTP_MATMUL_COLUMNS>((void *)a.dst.p, at, a.dst.column, a.dst_wide, n, x);
}

/* Sums of DTP_MATMUL_COLUMNS columns of a row become elements of dst; those beyond its edge are not written. */
DTP_DEVICE void dtp_matmul_finish(const dtp_matmul_args_t &a, const dtp_matmul_offsets_t &at,
                                  const dtp_matmul_columns_t &c, int matrix, int row, int column,
                                  float (&x)[DTP_MATMUL_COLUMNS]) {
    const int n = min(DTP_MATMUL_COLUMNS, a.n - column);
    const float scale =
        a.src_scale.p ? dtp_matmul_value(a.src_scale, at.src_scale + row * a.src_scale.row) : 1.f;
#pragma unroll
    for (int i = 0; i < DTP_MATMUL_COLUMNS; ++i) x[i] = x[i] * (scale * c.scale[i]) + c.bias[i];
    if (a.has_rest) {
        const int64_t index = ((int64_t)matrix * a.plan_m + row) * a.n + column;
        const float4 y = dtp_matmul_rest(a, at.bia + row * a.bia.row + column * a.bia.column,
                                         at.dst_scale + row * a.dst_scale.row + column * a.dst_scale.column,
                                         index, n, make_float4(x[0], x[1], x[2], x[3]));
        x[0] = y.x, x[1] = y.y, x[2] = y.z, x[3] = y.w;
    }
    const int64_t to = at.dst + row * a.dst.row + column * a.dst.column;
    if (a.dst.type == dnnl_tp_f32) dtp_matmul_store<float>(a, to, n, x);
    else if (a.dst.type == dnnl_tp_bf16) dtp_matmul_store<dtp_bf16>(a, to, n, x);
    else dtp_matmul_store<dtp_f16>(a, to, n, x);
}

/* Where an element of a block's tile of sums lies in shared memory, in floats: pieces of 4 are permuted in their row, so that
 * neither fragments nor rows meet in a bank. */
template <int COLUMNS> DTP_DEVICE int dtp_matmul_tile_at(int row, int column) {
    return row * COLUMNS + (column ^ (row & 3) << 3);
}

/* Finishes a tile of sums, or leaves it to dtp_matmul_join where blocks share them. */
template <int ROWS, int COLUMNS, int THREADS>
DTP_DEVICE void dtp_matmul_finish_tile(const dtp_matmul_args_t &a, const dtp_matmul_block_t &b,
                                       const float *tile) {
    enum { PIECES = COLUMNS / DTP_MATMUL_COLUMNS };
    static_assert(THREADS % PIECES == 0, "a thread keeps its columns");
    const int own = (int)threadIdx.x % PIECES * DTP_MATMUL_COLUMNS, column = b.n + own;
    const int rows = min(ROWS, a.m - b.m);
    if (column >= a.n) return;
    const dtp_matmul_offsets_t at = dtp_matmul_offsets(a, b);
    const dtp_matmul_columns_t c = dtp_matmul_columns(a, at, column);
#pragma unroll 1
    for (int row = (int)threadIdx.x / PIECES; row < rows; row += THREADS / PIECES) {
        const float4 sum = *(const float4 *)(tile + dtp_matmul_tile_at<COLUMNS>(row, own));
        if (a.parts > 1) {
            const int64_t line = ((int64_t)b.part * a.matrices + b.matrix) * a.m + b.m + row;
            *(float4 *)(a.partial + line * a.partial_row + column) = sum;
        } else {
            float x[DTP_MATMUL_COLUMNS] = {sum.x, sum.y, sum.z, sum.w};
            dtp_matmul_finish(a, at, c, b.matrix, b.m + row, column, x);
        }
    }
}

#endif
