/* Products on tensor cores (mma.sync): bf16 and f16 with sums of f32, and f32 through tf32.
 *
 * A block computes a square tile of dst. Panels of both operands, 64 bytes of k deep, pass through a ring of stages in
 * shared memory: cp.async fills a stage while older ones are multiplied. A panel lies as its operand does, along k or
 * across; pieces of 16 bytes are permuted in their row so that neither copies nor fragment loads meet in a bank. Edges are zeros.
 * What follows the sums: tile.cuh. */
#include "gpu/matmul/tile.cuh"

enum { STAGES = 4, PIECE = 16 };
enum { DEPTH_PIECES = 4 }; /* of k, in a stage */

typedef enum { HALF, TF32 } precision_t; /* half: bf16, or f16 */
template <precision_t MODE> constexpr int element_bytes = MODE == TF32 ? 4 : 2;

/* ---- Panels ------------------------------------------------------------------------------------------- */

/* SIDE rows (or columns) of an operand and a stage's depth of k. */
template <int SIDE, int BYTES, bool ALONG_K> struct panel_t {
    static constexpr int elements = PIECE / BYTES; /* of a piece */
    static constexpr int depth = DEPTH_PIECES * elements;
    static constexpr int lines = ALONG_K ? SIDE : depth;
    static constexpr int pieces = ALONG_K ? DEPTH_PIECES : SIDE / elements; /* of a line */
    static constexpr int bytes = lines * pieces * PIECE;
    static_assert(bytes == SIDE * DEPTH_PIECES * PIECE, "a panel has one size in both orders");

    DTP_DEVICE uint32_t at(int line, int piece) {
        const int mixed = ALONG_K      ? piece ^ (line >> 1 & 3)
                          : BYTES == 2 ? piece ^ (line & 7)
                                       : piece ^ (line & 3) << 1;
        return (uint32_t)((line * pieces + mixed) * PIECE);
    }
};

/* bytes of memory, which is aligned to `width` bytes, then zeros. Without bytes nothing is read, whatever `from` is. */
DTP_DEVICE void copy_piece(uint32_t to, const char *from, int bytes, int width) {
    if (width == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes));
    } else if (width == 8) {
#pragma unroll
        for (int i = 0; i < PIECE; i += 8)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to + i),
                         "l"(bytes > i ? from + i : from), "r"(min(max(bytes - i, 0), 8)));
    } else if (width == 4) {
#pragma unroll 1
        for (int i = 0; i < PIECE; i += 4)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to + i),
                         "l"(bytes > i ? from + i : from), "r"(min(max(bytes - i, 0), 4)));
    } else {
        uint32_t half[PIECE / 2]; /* all are on their way before the first is needed */
#pragma unroll
        for (int i = 0; i < PIECE / 2; ++i) half[i] = bytes > 2 * i ? ((const uint16_t *)from)[i] : 0u;
        asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(half[1] << 16 | half[0]),
                     "r"(half[3] << 16 | half[2]), "r"(half[5] << 16 | half[4]), "r"(half[7] << 16 | half[6])
                     : "memory");
    }
}

/* What a thread copies of the stages of an operand, one after another: the same piece of lines that lie lines_apart from each other, and so
 * are permuted alike. What does not change from stage to stage is known once. */
template <int SIDE, int BYTES, bool ALONG_K, int THREADS> struct copies_t {
    typedef panel_t<SIDE, BYTES, ALONG_K> panel;
    static constexpr int lines_apart = THREADS / panel::pieces, copies = panel::lines / lines_apart;
    static_assert(lines_apart % 8 == 0, "lines that are permuted alike");
    const char *from; /* the first piece */
    int64_t line_bytes;
    uint32_t to;     /* its place in a panel */
    int lines, left; /* from the first line on, lines of the operand; from the piece on, elements of a line */

    /* line_stride: elements between lines. first: row of the tile, of `rows`; k: of the first stage, up to k_end. */
    __device__ __forceinline__ copies_t(const char *operand, int64_t line_stride, int first, int rows, int k,
                                        int k_end) {
        const int line = (int)threadIdx.x / panel::pieces, piece = (int)threadIdx.x % panel::pieces;
        const int outer = (ALONG_K ? first : k) + line,
                  inner = (ALONG_K ? k : first) + piece * panel::elements;
        line_bytes = line_stride * BYTES;
        from = operand + outer * line_bytes + inner * BYTES;
        to = panel::at(line, piece);
        lines = (ALONG_K ? rows : k_end) - outer;
        left = (ALONG_K ? k_end : rows) - inner;
    }
    /* The next stage. */
    __device__ __forceinline__ void copy(uint32_t stage, int width) {
        const int bytes = min(max(left, 0), panel::elements) * BYTES;
#pragma unroll
        for (int i = 0; i < copies; ++i)
            copy_piece(stage + to + i * lines_apart * panel::pieces * PIECE,
                       from + i * lines_apart * line_bytes, i * lines_apart < lines ? bytes : 0, width);
        from += ALONG_K ? panel::depth * BYTES : panel::depth * line_bytes;
        if (ALONG_K) left -= panel::depth;
        else lines -= panel::depth;
    }
};

/* ---- Fragments ---------------------------------------------------------------------------------------- */

DTP_DEVICE void load_matrices(uint32_t r[4], uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(from));
}
DTP_DEVICE void load_transposed(uint32_t r[4], uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(from));
}
DTP_DEVICE uint32_t load_word(uint32_t from) {
    uint32_t r;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(r) : "r"(from));
    return r;
}
DTP_DEVICE uint32_t to_tf32(uint32_t x) {
    uint32_t r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(__uint_as_float(x)));
    return r;
}

/* Four matrices of 8 x 8 (tf32: 8 x 4) of a panel, at rows 0 or 8 from some row and at pieces 0 or 1 of k from some piece. Those of the left
 * operand go row by row, those of the right one piece by piece. This is where a lane finds its part of those at the first row of a warp, a
 * multiple of its rows, and at piece 0. */
template <int SIDE, precision_t MODE, bool ALONG_K, bool LEFT> DTP_DEVICE uint32_t fragments_at(int row) {
    typedef panel_t<SIDE, element_bytes<MODE>, ALONG_K> panel_type;
    const int lane = (int)threadIdx.x & 31, matrix = lane >> 3, low = matrix & 1, high = matrix >> 1;
    const int by_row = LEFT ? low : high, by_k = LEFT ? high : low;
    if (ALONG_K) return panel_type::at(row + by_row * 8 + (lane & 7), by_k);
    if (MODE != TF32) return panel_type::at(by_k * 8 + (lane & 7), row / 8 + by_row);
    return panel_type::at(lane & 3, (row + (lane >> 2)) / 4) + (lane >> 2) % 4 * 4;
}

/* Those of the warp's rows from 16 i on, and of the even piece. at: of fragments_at. Numbers of pieces in a line are permuted by exclusive
 * or, and those that are added here have no bit in common with those of `at`. */
template <int SIDE, precision_t MODE, bool ALONG_K, bool LEFT>
DTP_DEVICE void fragments(uint32_t r[4], uint32_t panel, uint32_t at, int i, int piece) {
    enum { LINE = panel_t<SIDE, element_bytes<MODE>, ALONG_K>::pieces * PIECE };
    if (ALONG_K) {
        load_matrices(r, panel + (at ^ piece * PIECE) + i * 16 * LINE);
    } else if (MODE != TF32) {
        load_transposed(r, panel + (at ^ i * 2 * PIECE) + piece * 8 * LINE);
    } else {
        for (int e = 0; e < 4; ++e) {
            const int by_row = LEFT ? e & 1 : e >> 1, by_k = LEFT ? e >> 1 : e & 1;
            r[e] = load_word(panel + (at ^ (i * 4 + by_row * 2) * PIECE) + (piece + by_k) * 4 * LINE);
        }
    }
    if (MODE == TF32)
        for (int e = 0; e < 4; ++e) r[e] = to_tf32(r[e]);
}

#define MULTIPLY(shape, type)                                            \
    asm volatile("mma.sync.aligned." shape ".row.col.f32." type "." type \
                 ".f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},"             \
                 "{%0,%1,%2,%3};"                                        \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])        \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
DTP_DEVICE void multiply_bf16(float d[4], const uint32_t a[4], const uint32_t b[2]) {
    MULTIPLY("m16n8k16", "bf16");
}
DTP_DEVICE void multiply_f16(float d[4], const uint32_t a[4], const uint32_t b[2]) {
    MULTIPLY("m16n8k16", "f16");
}
DTP_DEVICE void multiply_tf32(float d[4], const uint32_t a[4], const uint32_t b[2]) {
    MULTIPLY("m16n8k8", "tf32");
}
#undef MULTIPLY

/* ---- Kernels ------------------------------------------------------------------------------------------ */

/* SIDE x SIDE by WARPS_M rows of warps, each of WM x WN. */
template <int SIDE, int THREADS, precision_t MODE, bool SRC_ALONG_K, bool WEI_ALONG_K>
DTP_DEVICE void product(const dtp_matmul_args_t &a) {
    enum { BYTES = element_bytes<MODE>, WN = 32, WARPS_N = SIDE / WN, WM = SIDE / (THREADS / 32 / WARPS_N) };
    enum { MT = WM / 16, NT = WN / 8 };
    typedef panel_t<SIDE, BYTES, SRC_ALONG_K> src_panel;
    typedef panel_t<SIDE, BYTES, WEI_ALONG_K> wei_panel;
    extern __shared__ __align__(128) char shared[];
    const uint32_t stages = (uint32_t)__cvta_generic_to_shared(shared);
    const dtp_matmul_block_t block = dtp_matmul_block<SIDE, SIDE>(a);
    const char *src = (const char *)a.src.p + dtp_matmul_matrix(a, block, a.src) * BYTES;
    const char *wei = (const char *)a.wei.p + dtp_matmul_matrix(a, block, a.wei) * BYTES;
    const int64_t src_line = SRC_ALONG_K ? a.src.row : a.src_k,
                  wei_line = WEI_ALONG_K ? a.wei.column : a.wei_k;
    const int steps = (block.k_end - block.k_begin + src_panel::depth - 1) / src_panel::depth;
    const int warp = (int)threadIdx.x >> 5, warp_m = warp / WARPS_N * WM, warp_n = warp % WARPS_N * WN;
    const bool is_bf16 = a.src.type == dnnl_tp_bf16;
    copies_t<SIDE, BYTES, SRC_ALONG_K, THREADS> src_copies(src, src_line, block.m, a.m, block.k_begin,
                                                           block.k_end);
    copies_t<SIDE, BYTES, WEI_ALONG_K, THREADS> wei_copies(wei, wei_line, block.n, a.n, block.k_begin,
                                                           block.k_end);
    const uint32_t left_at = fragments_at<SIDE, MODE, SRC_ALONG_K, true>(warp_m),
                   right_at = fragments_at<SIDE, MODE, WEI_ALONG_K, false>(warp_n);
    float sum[MT][NT][4] = {};

    auto load = [&](int step) {
        const uint32_t to = stages + step % STAGES * (src_panel::bytes + wei_panel::bytes);
        if (step < steps) {
            src_copies.copy(to, a.src_width);
            wei_copies.copy(to + src_panel::bytes, a.wei_width);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
#pragma unroll 1
    for (int step = 0; step < STAGES - 1; ++step) load(step);
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();
        load(step + STAGES - 1);
        const uint32_t left = stages + step % STAGES * (src_panel::bytes + wei_panel::bytes);
        const uint32_t right = left + src_panel::bytes;
#pragma unroll
        for (int piece = 0; piece < DEPTH_PIECES; piece += 2) {
            uint32_t x[MT][4], y[NT / 2][4];
#pragma unroll
            for (int i = 0; i < MT; ++i)
                fragments<SIDE, MODE, SRC_ALONG_K, true>(x[i], left, left_at, i, piece);
#pragma unroll
            for (int j = 0; j < NT / 2; ++j)
                fragments<SIDE, MODE, WEI_ALONG_K, false>(y[j], right, right_at, j, piece);
#define MULTIPLY_ALL(type)                                                                        \
    _Pragma("unroll") for (int i = 0; i < MT; ++i) _Pragma("unroll") for (int j = 0; j < NT; ++j) \
        multiply_##type(sum[i][j], x[i], y[j / 2] + j % 2 * 2)
            if (MODE == TF32) MULTIPLY_ALL(tf32);
            else if (is_bf16) MULTIPLY_ALL(bf16);
            else MULTIPLY_ALL(f16);
#undef MULTIPLY_ALL
        }
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();

    float *tile = (float *)shared;
    const int lane = (int)threadIdx.x & 31;
#pragma unroll
    for (int i = 0; i < MT; ++i)
#pragma unroll
        for (int j = 0; j < NT; ++j)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int row = warp_m + i * 16 + half * 8 + (lane >> 2),
                          column = warp_n + j * 8 + (lane & 3) * 2;
                *(float2 *)(tile + dtp_matmul_tile_at<SIDE>(row, column)) =
                    make_float2(sum[i][j][half * 2], sum[i][j][half * 2 + 1]);
            }
    __syncthreads();
    dtp_matmul_finish_tile<SIDE, SIDE, THREADS>(a, block, tile);
}

/* The name's end is the order of src, then of weights: n, k lies behind each other in src, columns do in weights; t, the other
 * way round. */
#define KERNEL(mode, MODE, size, SIZE, order, src_along_k, wei_along_k)                             \
    extern "C" __global__ void __launch_bounds__(DTP_MATMUL_##SIZE##_THREADS, 2)                    \
        dtp_matmul_##mode##_##size##_##order(const __grid_constant__ dtp_matmul_args_t a) {         \
        product<DTP_MATMUL_##SIZE, DTP_MATMUL_##SIZE##_THREADS, MODE, src_along_k, wei_along_k>(a); \
    }
#define HALF_KERNELS(size, SIZE)                     \
    KERNEL(half, HALF, size, SIZE, nn, true, false)  \
    KERNEL(half, HALF, size, SIZE, nt, true, true)   \
    KERNEL(half, HALF, size, SIZE, tn, false, false) \
    KERNEL(half, HALF, size, SIZE, tt, false, true)
HALF_KERNELS(large, LARGE)
HALF_KERNELS(small, SMALL)
KERNEL(tf32, TF32, large, LARGE, nn, true, false)
KERNEL(tf32, TF32, large, LARGE, nt, true, true)
KERNEL(tf32, TF32, small, SMALL, nn, true, false)
KERNEL(tf32, TF32, small, SMALL, nt, true, true)
