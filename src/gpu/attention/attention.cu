/* Attention per head: softmax(scale Q K^T + mask) V, with the softmax kept up to date from step to step of keys, so that scores stay in
 * registers. A block has DTP_ATTENTION_QUERIES queries of a head of a sequence.
 *
 * Tensor cores (bf16, f16; d a multiple of 16 up to 128): each warp has 16 queries. Other types and sizes: a warp takes its queries one by
 * one. Masked keys (-infinity) count nothing; a query without a key gives zeros. */
#include "gpu/attention/attention_args.h"
#include "gpu/device/finding.cuh"
#include "gpu/device/groups.cuh"

enum {
    THREADS = DTP_ATTENTION_THREADS,
    QUERIES = DTP_ATTENTION_QUERIES,
    KEYS = DTP_ATTENTION_KEYS,
    WARPS = THREADS / DTP_WARP
};

/* ---- Where a block works ------------------------------------------------------------------------------ */

typedef struct {
    int sequence, head;
    int query, queries; /* the block's first one in its sequence, and how many */
    int keys;
    int64_t first; /* row of the sequence, where there are offsets */
    int bad;       /* offset that does not fit: rows from `first` on become zeros; DTP_NONE: all fit */
} place_t;

/* The sequence in which the group of queries with that number lies, by all lanes of each warp. */
DTP_DEVICE place_t packed_place(const dtp_attention_args_t &a, int group) {
    place_t p = {};
    const int lane = (int)threadIdx.x % DTP_WARP;
    for (int base = 0; base < a.n; base += DTP_WARP) {
        const int i = base + lane, length = i < a.n ? a.offsets[i + 1] - a.offsets[i] : 0;
        const int own = (length + QUERIES - 1) / QUERIES;
        int sum = own;
#pragma unroll
        for (int step = 1; step < DTP_WARP; step *= 2) {
            const int below = __shfl_up_sync(0xffffffff, sum, step);
            if (lane >= step) sum += below;
        }
        const unsigned has = __ballot_sync(0xffffffff, group < sum);
        if (has) {
            const int at = __ffs((int)has) - 1;
            p.sequence = base + at;
            p.query = (group - __shfl_sync(0xffffffff, sum - own, at)) * QUERIES;
            p.first = a.offsets[p.sequence];
            p.keys = a.offsets[p.sequence + 1] - (int)p.first;
            p.queries = min(QUERIES, p.keys - p.query);
            return p;
        }
        group -= __shfl_sync(0xffffffff, sum, DTP_WARP - 1);
    }
    return p;
}

DTP_DEVICE place_t place_of(const dtp_attention_args_t &a, int *room) {
    const int head = (int)blockIdx.x % a.heads, group = (int)blockIdx.x / a.heads;
    place_t p = {};
    const int bad = a.offsets ? dtp_bad_offset(a.offsets, a.n, a.sq, a.note, room) : DTP_NONE;
    if (!a.offsets) {
        p.sequence = group / a.groups;
        p.query = group % a.groups * QUERIES;
        p.queries = min(QUERIES, a.sq - p.query);
        p.keys = a.sk;
    } else if (bad != DTP_NONE) {
        p.first = (int64_t)group * QUERIES;
        p.queries = (int)max((int64_t)0, min((int64_t)QUERIES, a.sq - p.first));
    } else {
        p = packed_place(a, group);
    }
    p.head = head;
    p.bad = bad;
    return p;
}

/* Offsets of the block's first query, of the first key and value, of the first row of dst. */
typedef struct {
    int64_t q, k, v, dst;
} origin_t;
DTP_DEVICE origin_t origin_of(const dtp_attention_args_t &a, const place_t &p) {
    const int64_t batch = a.offsets ? 0 : p.sequence, column = (int64_t)p.head * a.d, row = p.first + p.query;
    const origin_t o = {
        batch * a.batch_q + row * a.ldq + column, batch * a.batch_k + p.first * a.ldk + column,
        batch * a.batch_v + p.first * a.ldv + column, batch * a.batch_dst + row * a.ld_dst + column};
    return o;
}

/* What a block does where offsets do not fit. */
DTP_DEVICE void write_zeros(const dtp_attention_args_t &a, const place_t &p) {
    const int64_t dst = origin_of(a, p).dst;
    for (int i = (int)threadIdx.x; i < p.queries * a.d; i += THREADS)
        dtp_store_one(a.type, a.dst, dst + i / a.d * a.ld_dst + i % a.d, 0.f);
    dtp_note_offset(a.note, a.offsets, p.bad, a.sq);
}

/* ---- Any type ----------------------------------------------------------------------------------------- */

/* A step of DTP_WARP keys, one for each lane. Lanes hold every DTP_WARP-th column of the sums. */
DTP_KERNEL_FITTED(dtp_attention_any, dtp_attention_args_t, THREADS, 1) {
    enum { PARTS = DTP_ATTENTION_MOST_D / DTP_WARP };
    __shared__ int room;
    __shared__ float queries[WARPS][DTP_ATTENTION_MOST_D];
    const float none = -__int_as_float(0x7f800000);
    const place_t p = place_of(a, &room);
    if (p.bad != DTP_NONE) {
        write_zeros(a, p);
        return;
    }
    if (p.queries <= 0) return;
    const origin_t o = origin_of(a, p);
    const int warp = (int)threadIdx.x / DTP_WARP, lane = (int)threadIdx.x % DTP_WARP;
    const float *mask = a.mask ? a.mask + p.sequence * a.mask_batch : nullptr;
    for (int i = warp; i < p.queries; i += WARPS) {
        for (int c = lane; c < a.d; c += DTP_WARP)
            queries[warp][c] = dtp_load_one(a.type, a.q, o.q + i * a.ldq + c);
        __syncwarp();
        float largest = none, weight = 0, sum[PARTS] = {};
        for (int base = 0; base < p.keys; base += DTP_WARP) {
            const int key = base + lane;
            float score = 0;
            if (key < p.keys)
                for (int c = 0; c < a.d; ++c)
                    score = fmaf(queries[warp][c], dtp_load_one(a.type, a.k, o.k + key * a.ldk + c), score);
            score = key < p.keys ? score * a.scale + (mask ? mask[key * a.mask_row] : 0.f) : none;
            const float top = fmaxf(largest, dtp_over_warp(dtp_max(), score));
            if (top == none) continue;
            const float shrink = expf(largest - top), part = expf(score - top);
            weight = weight * shrink + dtp_over_warp(dtp_add(), part);
            largest = top;
#pragma unroll
            for (int j = 0; j < PARTS; ++j) sum[j] *= shrink;
            for (int k = 0; k < min(DTP_WARP, p.keys - base); ++k) {
                const float by = __shfl_sync(0xffffffff, part, k);
                if (by == 0.f) continue;
#pragma unroll
                for (int j = 0; j < PARTS; ++j)
                    if (j * DTP_WARP + lane < a.d)
                        sum[j] +=
                            by * dtp_load_one(a.type, a.v, o.v + (base + k) * a.ldv + j * DTP_WARP + lane);
            }
        }
        const float inverse = weight > 0 ? 1 / weight : 0.f;
#pragma unroll
        for (int j = 0; j < PARTS; ++j)
            if (j * DTP_WARP + lane < a.d)
                dtp_store_one(a.type, a.dst, o.dst + i * a.ld_dst + j * DTP_WARP + lane, sum[j] * inverse);
        __syncwarp();
    }
}

/* ---- Tensor cores ------------------------------------------------------------------------------------- */

/* A row of D elements of 16 bits in shared memory: pieces of 16 bytes, permuted so that 8 rows of a matrix lie in 8 banks. */
template <int D> DTP_DEVICE uint32_t piece_at(int row, int piece) {
    enum { PIECES = D / 8, MASK = PIECES < 8 ? PIECES - 1 : 7, ROWS_OF_BANKS = PIECES < 8 ? 8 / PIECES : 1 };
    return (uint32_t)((row * PIECES + (piece ^ (row / ROWS_OF_BANKS & MASK))) * 16);
}

/* Rows `first`.. of `rows` of a matrix, zeros behind its edges. */
template <int D>
DTP_DEVICE void fill(uint32_t to, const uint16_t *from, int64_t ld, int first, int rows, int d, bool wide) {
    for (int i = (int)threadIdx.x; i < KEYS * (D / 8); i += THREADS) {
        const int row = i / (D / 8), piece = i % (D / 8),
                  left = first + row < rows ? min(max(d - piece * 8, 0), 8) : 0;
        const uint16_t *p = left ? from + (int64_t)(first + row) * ld + piece * 8 : from;
        if (wide) {
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to + piece_at<D>(row, piece)),
                         "l"(p), "r"(left * 2));
            continue;
        }
#pragma unroll 1
        for (int k = 0; k < 8; k += 2) {
            const uint32_t low = k < left ? p[k] : 0u, high = k + 1 < left ? p[k + 1] : 0u;
            asm volatile("st.shared.u32 [%0], %1;" ::"r"(to + piece_at<D>(row, piece) + k * 2),
                         "r"(high << 16 | low)
                         : "memory");
        }
    }
}

DTP_DEVICE void load_matrices(uint32_t (&r)[4], uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(from)
                 : "memory");
}
DTP_DEVICE void load_transposed(uint32_t (&r)[4], uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(from)
                 : "memory");
}
DTP_DEVICE void multiply(bool is_bf16, float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    if (is_bf16)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                     "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    else
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                     "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
/* Two values in 16 bits each; low is the first. */
DTP_DEVICE uint32_t pack(bool is_bf16, float low, float high) {
    uint32_t r;
    if (is_bf16) asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    else asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}

/* Largest and summed over the four lanes that share a row of a fragment. */
template <class F> DTP_DEVICE float over_row(F f, float x) {
    x = f(x, __shfl_xor_sync(0xffffffff, x, 1));
    return f(x, __shfl_xor_sync(0xffffffff, x, 2));
}

template <int D> DTP_DEVICE void attention_mma(const dtp_attention_args_t &a) {
    enum { BYTES = KEYS * D * 2, TILES = KEYS / 8, COLUMNS = D / 8 };
    static_assert((int)QUERIES == (int)KEYS && WARPS * 16 == QUERIES, "one size of tiles");
    extern __shared__ __align__(128) char shared[];
    __shared__ int room;
    const float none = -__int_as_float(0x7f800000);
    const place_t p = place_of(a, &room);
    if (p.bad != DTP_NONE) {
        write_zeros(a, p);
        return;
    }
    if (p.queries <= 0) return;
    const origin_t o = origin_of(a, p);
    const bool is_bf16 = a.type == dnnl_tp_bf16;
    const uint32_t keys = (uint32_t)__cvta_generic_to_shared(shared), values = keys + BYTES;
    const int warp = (int)threadIdx.x / DTP_WARP, lane = (int)threadIdx.x % DTP_WARP;
    const uint16_t *k = (const uint16_t *)a.k + o.k, *v = (const uint16_t *)a.v + o.v;
    const float *mask = a.mask ? a.mask + p.sequence * a.mask_batch : nullptr;

    /* Queries pass through the room of values. */
    uint32_t query[D / 16][4];
    fill<D>(values, (const uint16_t *)a.q + o.q, a.ldq, 0, p.queries, a.d, a.wide);
    asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
    __syncthreads();
#pragma unroll
    for (int i = 0; i < D / 16; ++i)
        load_matrices(query[i], values + piece_at<D>(warp * 16 + lane % 16, i * 2 + lane / 16));
    __syncthreads();

    float largest[2] = {none, none}, weight[2] = {}, sum[COLUMNS][4] = {};
    fill<D>(keys, k, a.ldk, 0, p.keys, a.d, a.wide);
    asm volatile("cp.async.commit_group;" ::: "memory");
#pragma unroll 1
    for (int first = 0; first < p.keys; first += KEYS) {
        fill<D>(values, v, a.ldv, first, p.keys, a.d, a.wide);
        asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        float score[TILES][4] = {};
#pragma unroll
        for (int i = 0; i < D / 16; ++i)
#pragma unroll
            for (int j = 0; j < TILES; j += 2) {
                uint32_t b[4];
                load_matrices(b, keys + piece_at<D>(j * 8 + lane / 16 * 8 + lane % 8, i * 2 + lane / 8 % 2));
                multiply(is_bf16, score[j], query[i], b[0], b[1]);
                multiply(is_bf16, score[j + 1], query[i], b[2], b[3]);
            }
        __syncthreads();
        fill<D>(keys, k, a.ldk, first + KEYS, p.keys, a.d, a.wide);
        asm volatile("cp.async.commit_group;" ::: "memory");

        float top[2] = {largest[0], largest[1]};
#pragma unroll
        for (int j = 0; j < TILES; ++j)
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const int key = first + j * 8 + lane % 4 * 2 + e % 2;
                score[j][e] =
                    key < p.keys ? score[j][e] * a.scale + (mask ? mask[key * a.mask_row] : 0.f) : none;
                top[e / 2] = fmaxf(top[e / 2], score[j][e]);
            }
        float shrink[2];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            top[half] = over_row(dtp_max(), top[half]);
            shrink[half] = top[half] == none ? 1.f : expf(largest[half] - top[half]);
            largest[half] = top[half];
            weight[half] *= shrink[half];
        }
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c)
#pragma unroll
            for (int e = 0; e < 4; ++e) sum[c][e] *= shrink[e / 2];
#pragma unroll
        for (int j = 0; j < TILES; ++j)
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                score[j][e] = largest[e / 2] == none ? 0.f : expf(score[j][e] - largest[e / 2]);
                weight[e / 2] += score[j][e];
            }
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
#pragma unroll
        for (int i = 0; i < KEYS / 16; ++i) {
            const uint32_t part[4] = {pack(is_bf16, score[i * 2][0], score[i * 2][1]),
                                      pack(is_bf16, score[i * 2][2], score[i * 2][3]),
                                      pack(is_bf16, score[i * 2 + 1][0], score[i * 2 + 1][1]),
                                      pack(is_bf16, score[i * 2 + 1][2], score[i * 2 + 1][3])};
#pragma unroll
            for (int c = 0; c < COLUMNS; c += 2) {
                uint32_t b[4];
                load_transposed(b, values + piece_at<D>(i * 16 + lane / 8 % 2 * 8 + lane % 8, c + lane / 16));
                multiply(is_bf16, sum[c], part, b[0], b[1]);
                multiply(is_bf16, sum[c + 1], part, b[2], b[3]);
            }
        }
        __syncthreads();
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");

#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int row = warp * 16 + lane / 4 + half * 8;
        const float total = over_row(dtp_add(), weight[half]), inverse = total > 0 ? 1 / total : 0.f;
        uint16_t *to = (uint16_t *)a.dst + o.dst + row * a.ld_dst + lane % 4 * 2;
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c) {
            if (row >= p.queries || c * 8 >= a.d) continue;
            const uint32_t y = pack(is_bf16, sum[c][half * 2] * inverse, sum[c][half * 2 + 1] * inverse);
            if (a.wide) {
                *(uint32_t *)(to + c * 8) = y;
            } else {
                to[c * 8] = (uint16_t)y;
                to[c * 8 + 1] = (uint16_t)(y >> 16);
            }
        }
    }
}
DTP_KERNEL(dtp_attention_mma_32, dtp_attention_args_t, THREADS) { attention_mma<32>(a); }
DTP_KERNEL(dtp_attention_mma_64, dtp_attention_args_t, THREADS) { attention_mma<64>(a); }
DTP_KERNEL(dtp_attention_mma_128, dtp_attention_args_t, THREADS) { attention_mma<128>(a); }
