/* Products without tensor cores: f32 of any strides by tiles, also of few rows, anything else by one thread for a few columns; and the sum of
 * parts that blocks of any kernel left. What follows the sums: tile.cuh. */
#include "gpu/matmul/tile.cuh"

/* ---- f32 ---------------------------------------------------------------------------------------------- */

enum { ROWS = DTP_MATMUL_SIMT_ROWS, COLUMNS = DTP_MATMUL_SIMT_COLUMNS, THREADS = DTP_MATMUL_SIMT_THREADS };
/* A stage: DEPTH lines of k for each operand; each line is padded so that copies along k meet in few banks. */
enum { DEPTH = 16, PAD = 4, STAGE = DEPTH * (ROWS + PAD + COLUMNS + PAD) };
enum {
    SIDE = 8,
    HALF = SIDE / 2
}; /* a thread sums SIDE x SIDE elements, of which HALF rows or columns lie together */
static_assert(2 * STAGE * 4 <= DTP_MATMUL_SIMT_SHARED && ROWS * COLUMNS * 4 <= DTP_MATMUL_SIMT_SHARED,
              "shared memory");

/* A stage of an operand, as [k][side]; zeros beyond its edges. The threads of a warp read along k or across, as memory lies. */
template <int SIDES>
DTP_DEVICE void fill(float *to, const float *from, int64_t stride, int64_t k_stride, int first, int sides,
                     int k, int k_end, bool wide) {
    const uint32_t base = (uint32_t)__cvta_generic_to_shared(to);
    if (wide) { /* pieces of 16 bytes across */
#pragma unroll
        for (int i = 0; i < SIDES * DEPTH / 4 / THREADS; ++i) {
            const int at = i * THREADS + (int)threadIdx.x, line = at / (SIDES / 4),
                      side = at % (SIDES / 4) * 4;
            const int left = k + line < k_end ? min(max(sides - first - side, 0), 4) : 0;
            const float *p = left ? from + (first + side) + (k + line) * k_stride : from;
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                             base + 4 * (line * (SIDES + PAD) + side)),
                         "l"(p), "r"(left * 4));
        }
        return;
    }
    const bool along_k = k_stride == 1;
#pragma unroll 4
    for (int i = 0; i < SIDES * DEPTH / THREADS; ++i) {
        const int at = i * THREADS + (int)threadIdx.x;
        const int line = along_k ? at % DEPTH : at / SIDES, side = along_k ? at / DEPTH : at % SIDES;
        const bool inside = k + line < k_end && first + side < sides;
        const float *p = inside ? from + (first + side) * stride + (k + line) * k_stride : from;
        asm volatile(
            "cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(base + 4 * (line * (SIDES + PAD) + side)),
            "l"(p), "r"(inside ? 4 : 0));
    }
}

/* Elements 0..HALF of a line from `at`, and as many from the middle of its side on. */
template <int SIDES> DTP_DEVICE void halves(float x[SIDE], const float *line, int at) {
    const float4 low = *(const float4 *)(line + at), high = *(const float4 *)(line + SIDES / 2 + at);
    x[0] = low.x, x[1] = low.y, x[2] = low.z, x[3] = low.w;
    x[4] = high.x, x[5] = high.y, x[6] = high.z, x[7] = high.w;
}

extern "C" __global__ void __launch_bounds__(THREADS, 3)
    dtp_matmul_simt_f32(const __grid_constant__ dtp_matmul_args_t a) {
    extern __shared__ __align__(128) float shared[];
    const dtp_matmul_block_t b = dtp_matmul_block<ROWS, COLUMNS>(a);
    const float *src = (const float *)a.src.p + dtp_matmul_matrix(a, b, a.src);
    const float *wei = (const float *)a.wei.p + dtp_matmul_matrix(a, b, a.wei);
    const int steps = (b.k_end - b.k_begin + DEPTH - 1) / DEPTH;
    const int row = (int)threadIdx.x / (COLUMNS / SIDE) * HALF,
              column = (int)threadIdx.x % (COLUMNS / SIDE) * HALF;
    const bool src_wide = a.src.row == 1 && a.src_width == 16,
               wei_wide = a.wei.column == 1 && a.wei_width == 16;
    float sum[SIDE][SIDE] = {};
    auto load = [&](int step) {
        float *to = shared + step % 2 * STAGE;
        const int k = b.k_begin + step * DEPTH;
        if (step < steps) {
            fill<ROWS>(to, src, a.src.row, a.src_k, b.m, a.m, k, b.k_end, src_wide);
            fill<COLUMNS>(to + DEPTH * (ROWS + PAD), wei, a.wei.column, a.wei_k, b.n, a.n, k, b.k_end,
                          wei_wide);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    load(0);
    for (int step = 0; step < steps; ++step) {
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        load(step + 1);
        const float *left = shared + step % 2 * STAGE, *right = left + DEPTH * (ROWS + PAD);
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            float x[SIDE], y[SIDE];
            halves<ROWS>(x, left + k * (ROWS + PAD), row);
            halves<COLUMNS>(y, right + k * (COLUMNS + PAD), column);
#pragma unroll
            for (int i = 0; i < SIDE; ++i)
#pragma unroll
                for (int j = 0; j < SIDE; ++j) sum[i][j] = fmaf(x[i], y[j], sum[i][j]);
        }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < SIDE; ++i)
#pragma unroll
        for (int j = 0; j < SIDE; j += HALF)
            *(float4 *)(shared + dtp_matmul_tile_at<COLUMNS>(row + i % HALF + i / HALF * (ROWS / 2),
                                                             column + j / HALF * (COLUMNS / 2))) =
                make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
    __syncthreads();
    dtp_matmul_finish_tile<ROWS, COLUMNS, THREADS>(a, b, shared);
}

/* ---- f32, few rows ------------------------------------------------------------------------------------ */

/* The weights are what is moved: stages of them are on their way while one is multiplied. A warp has HALF rows of all columns, which it adds
 * in the order of the kernel above. */
enum { FEW_ROWS = DTP_MATMUL_FEW_ROWS, FEW_COLUMNS = DTP_MATMUL_FEW_COLUMNS, FEW_STAGES = 4 };
enum { FEW_STAGE = DEPTH * (FEW_ROWS + PAD + FEW_COLUMNS + PAD) };
static_assert(FEW_STAGES * FEW_STAGE * 4 <= DTP_MATMUL_FEW_SHARED && FEW_COLUMNS == 32 * HALF &&
                  FEW_ROWS == THREADS / 32 * HALF,
              "shared memory, and what threads have");

extern "C" __global__ void __launch_bounds__(THREADS, 4)
    dtp_matmul_few_f32(const __grid_constant__ dtp_matmul_args_t a) {
    extern __shared__ __align__(128) float shared[];
    const dtp_matmul_block_t b = dtp_matmul_block<FEW_ROWS, FEW_COLUMNS>(a);
    const float *src = (const float *)a.src.p + dtp_matmul_matrix(a, b, a.src);
    const float *wei = (const float *)a.wei.p + dtp_matmul_matrix(a, b, a.wei);
    const int steps = (b.k_end - b.k_begin + DEPTH - 1) / DEPTH;
    const int row = (int)threadIdx.x / 32 * HALF, column = (int)threadIdx.x % 32 * HALF;
    const bool wei_wide = a.wei.column == 1 && a.wei_width == 16;
    float sum[HALF][HALF] = {};
    auto load = [&](int step) {
        float *to = shared + step % FEW_STAGES * FEW_STAGE;
        const int k = b.k_begin + step * DEPTH;
        if (step < steps) {
            fill<FEW_ROWS>(to, src, a.src.row, a.src_k, b.m, a.m, k, b.k_end, false);
            fill<FEW_COLUMNS>(to + DEPTH * (FEW_ROWS + PAD), wei, a.wei.column, a.wei_k, b.n, a.n, k, b.k_end,
                              wei_wide);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
#pragma unroll 1
    for (int step = 0; step < FEW_STAGES - 1; ++step) load(step);
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        asm volatile("cp.async.wait_group %0;" ::"n"(FEW_STAGES - 2) : "memory");
        __syncthreads();
        load(step + FEW_STAGES - 1);
        if (b.m + row >= a.m) continue;
        const float *left = shared + step % FEW_STAGES * FEW_STAGE, *right = left + DEPTH * (FEW_ROWS + PAD);
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            const float4 x = *(const float4 *)(left + k * (FEW_ROWS + PAD) + row),
                         y = *(const float4 *)(right + k * (FEW_COLUMNS + PAD) + column);
            const float xs[HALF] = {x.x, x.y, x.z, x.w}, ys[HALF] = {y.x, y.y, y.z, y.w};
#pragma unroll
            for (int i = 0; i < HALF; ++i)
#pragma unroll
                for (int j = 0; j < HALF; ++j) sum[i][j] = fmaf(xs[i], ys[j], sum[i][j]);
        }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < HALF; ++i)
        *(float4 *)(shared + dtp_matmul_tile_at<FEW_COLUMNS>(row + i, column)) =
            make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
    __syncthreads();
    dtp_matmul_finish_tile<FEW_ROWS, FEW_COLUMNS, THREADS>(a, b, shared);
}

/* ---- Anything ----------------------------------------------------------------------------------------- */

/* The block of a thread that has a few columns of one row: those of linear number `at` among all. */
DTP_DEVICE dtp_matmul_block_t row_block(const dtp_matmul_args_t &a, int64_t at) {
    dtp_matmul_block_t b;
    const int pieces = (a.n + DTP_MATMUL_COLUMNS - 1) / DTP_MATMUL_COLUMNS;
    const int64_t line = at / pieces;
    b.n = (int)(at % pieces) * DTP_MATMUL_COLUMNS;
    b.m = (int)(line % a.m);
    b.matrix = (int)(line / a.m);
    b.part = 0;
    b.k_begin = 0;
    b.k_end = a.k;
    dtp_matmul_batch(a, b);
    return b;
}
DTP_DEVICE int64_t row_blocks(const dtp_matmul_args_t &a) {
    return (int64_t)a.matrices * a.m * ((a.n + DTP_MATMUL_COLUMNS - 1) / DTP_MATMUL_COLUMNS);
}

extern "C" __global__ void __launch_bounds__(DTP_MATMUL_ANY_THREADS, 1)
    dtp_matmul_any(const __grid_constant__ dtp_matmul_args_t a) {
    const int64_t at = (int64_t)blockIdx.x * DTP_MATMUL_ANY_THREADS + threadIdx.x;
    if (at >= row_blocks(a)) return;
    const dtp_matmul_block_t b = row_block(a, at);
    const int64_t src = dtp_matmul_matrix(a, b, a.src) + b.m * a.src.row,
                  wei = dtp_matmul_matrix(a, b, a.wei);
    float x[DTP_MATMUL_COLUMNS] = {};
    for (int k = 0; k < a.k; ++k) {
        const float s = dtp_load_one(a.src.type, a.src.p, src + k * a.src_k);
#pragma unroll
        for (int i = 0; i < DTP_MATMUL_COLUMNS; ++i)
            x[i] = fmaf(
                s,
                dtp_load_one(a.wei.type, a.wei.p, wei + k * a.wei_k + min(b.n + i, a.n - 1) * a.wei.column),
                x[i]);
    }
    const dtp_matmul_offsets_t offsets = dtp_matmul_offsets(a, b);
    dtp_matmul_finish(a, offsets, dtp_matmul_columns(a, offsets, b.n), b.matrix, b.m, b.n, x);
}

/* Adds the parts in their order. */
extern "C" __global__ void __launch_bounds__(DTP_MATMUL_ANY_THREADS, 1)
    dtp_matmul_join(const __grid_constant__ dtp_matmul_args_t a) {
    const int64_t at = (int64_t)blockIdx.x * DTP_MATMUL_ANY_THREADS + threadIdx.x;
    if (at >= row_blocks(a)) return;
    const dtp_matmul_block_t b = row_block(a, at);
    float x[DTP_MATMUL_COLUMNS] = {};
    for (int part = 0; part < a.parts; ++part) {
        const int64_t line = ((int64_t)part * a.matrices + b.matrix) * a.m + b.m;
        const float4 sum = *(const float4 *)(a.partial + line * a.partial_row + b.n);
        x[0] += sum.x, x[1] += sum.y, x[2] += sum.z, x[3] += sum.w;
    }
    const dtp_matmul_offsets_t offsets = dtp_matmul_offsets(a, b);
    dtp_matmul_finish(a, offsets, dtp_matmul_columns(a, offsets, b.n), b.matrix, b.m, b.n, x);
}
