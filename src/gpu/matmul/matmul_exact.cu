/* Products of f64, s64 and s32 of any strides, by tiles. Sums of f64 run in the order of k, with one rounding for each
 * product; integers wrap. */
#include "gpu/device/device.cuh"
#include "gpu/matmul/matmul_exact_args.h"

enum {
    THREADS = DTP_MATMUL_EXACT_THREADS,
    SIDE = DTP_MATMUL_EXACT_SIDE,
    DEPTH = 16 /* of k, in shared memory */
};
enum { LINE = 16, EACH = SIDE / LINE /* a thread has EACH x EACH elements, LINE apart */ };
static_assert(LINE * LINE == THREADS && SIDE * DEPTH % THREADS == 0, "a block");

DTP_DEVICE double add_product(double x, double y, double sum) { return fma(x, y, sum); }
DTP_DEVICE uint64_t add_product(uint64_t x, uint64_t y, uint64_t sum) { return x * y + sum; }
DTP_DEVICE uint32_t add_product(uint32_t x, uint32_t y, uint32_t sum) { return x * y + sum; }

/* DEPTH lines of k of SIDE rows or columns from `first` on, zeros beyond the edges. Neighbouring threads read along k
 * where that is how the operand lies. */
template <class T>
DTP_DEVICE void fill(T (*to)[SIDE + 1], const T *from, int64_t stride, int64_t k_stride, int first, int sides,
                     int k, int k_end) {
    const bool along_k = k_stride == 1;
#pragma unroll
    for (int i = 0; i < SIDE * DEPTH / THREADS; ++i) {
        const int at = i * THREADS + (int)threadIdx.x;
        const int line = along_k ? at % DEPTH : at / SIDE, side = along_k ? at / DEPTH : at % SIDE;
        const bool inside = k + line < k_end && first + side < sides;
        to[line][side] = inside ? from[(first + side) * stride + (k + line) * k_stride] : (T)0;
    }
}

template <class T> DTP_DEVICE void product(const dtp_matmul_exact_args_t &a) {
    __shared__ T left[DEPTH][SIDE + 1], right[DEPTH][SIDE + 1];
    const uint32_t matrix = dtp_div(blockIdx.x, a.tiles), tile = blockIdx.x - matrix * a.tiles.size;
    const int row = (int)(tile / a.tiles_n) * SIDE, column = (int)(tile % a.tiles_n) * SIDE;
    const dtp_position at = dtp_decode(a.matrices, matrix);
    auto matrix_of = [&](const dtp_matmul_exact_operand_t &o) {
        return (T *)o.data + dtp_offset(at, a.matrices.ndims, o.matrix);
    };
    const T *src = matrix_of(a.src), *wei = matrix_of(a.wei);
    const int y = (int)threadIdx.x / LINE, x = (int)threadIdx.x % LINE;
    T sum[EACH][EACH] = {};
    if (a.bia.data) {
        const T *bias = matrix_of(a.bia);
#pragma unroll
        for (int i = 0; i < EACH * EACH; ++i) {
            const int r = row + y + i / EACH * LINE, c = column + x + i % EACH * LINE;
            if (r < a.m && c < a.n) sum[i / EACH][i % EACH] = bias[r * a.bia.row + c * a.bia.column];
        }
    }
#pragma unroll 1
    for (int k = 0; k < a.k; k += DEPTH) {
        fill(left, src, a.src.row, a.src.column, row, a.m, k, a.k);
        fill(right, wei, a.wei.column, a.wei.row, column, a.n, k, a.k);
        __syncthreads();
#pragma unroll 4
        for (int d = 0; d < min(DEPTH, a.k - k); ++d)
#pragma unroll
            for (int i = 0; i < EACH * EACH; ++i)
                sum[i / EACH][i % EACH] = add_product(left[d][y + i / EACH * LINE],
                                                      right[d][x + i % EACH * LINE], sum[i / EACH][i % EACH]);
        __syncthreads();
    }
    T *dst = matrix_of(a.dst);
#pragma unroll
    for (int i = 0; i < EACH * EACH; ++i) {
        const int r = row + y + i / EACH * LINE, c = column + x + i % EACH * LINE;
        if (r < a.m && c < a.n) dst[r * a.dst.row + c * a.dst.column] = sum[i / EACH][i % EACH];
    }
}

#define KERNEL(name, type) \
    DTP_KERNEL(dtp_matmul_exact_##name, dtp_matmul_exact_args_t, THREADS) { product<type>(a); }
KERNEL(f64, double)
KERNEL(s64, uint64_t)
KERNEL(s32, uint32_t)
