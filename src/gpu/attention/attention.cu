/* Attention per head: softmax(scale Q K^T + mask) V, with the softmax kept up to date from step to step of keys, so that scores stay in
 * registers. A block has DTP_ATTENTION_QUERIES queries of a head of a sequence.
 *
 * f32 with d up to 128: f32.cuh. Tensor cores (bf16, f16; d a multiple of 8 up to 128): each warp has 16 queries. Other types and sizes: a
 * warp takes a few queries at a time. Masked keys (-infinity) count nothing; a query without a key gives zeros; NaN gives NaN. */
#include "gpu/attention/f32.cuh"

/* ---- Any type ----------------------------------------------------------------------------------------- */

/* Queries that a warp takes at a time, so that it reads keys and values once for them. */
enum { TOGETHER = 4 };

/* Products of a key and of the queries, which have zeros behind their d elements. aligned: runs of the key are. */
template <class T>
DTP_DEVICE void products(const T *key, const float (*query)[DTP_ATTENTION_MOST_D], int d, bool aligned,
                         float (&y)[TOGETHER]) {
#pragma unroll 2
    for (int c = 0; c < d; c += DTP_GPU_RUN) {
        float x[DTP_GPU_RUN];
        dtp_load_run<T, DTP_GPU_RUN, DTP_GPU_RUN>(key, c, 1, aligned, d - c, x);
#pragma unroll
        for (int r = 0; r < TOGETHER; ++r) {
            const float4 q = *(const float4 *)(query[r] + c);
            y[r] = fmaf(q.w, x[3], fmaf(q.z, x[2], fmaf(q.y, x[1], fmaf(q.x, x[0], y[r]))));
        }
    }
}

/* A step of DTP_WARP keys, one for each lane. Lanes hold every DTP_WARP-th column of the sums. queries: room of the warp. */
template <class T>
DTP_DEVICE void attention_any(const dtp_attention_args_t &a, const place_t &p,
                              float (*queries)[DTP_ATTENTION_MOST_D]) {
    enum { PARTS = DTP_ATTENTION_MOST_D / DTP_WARP };
    const origin_t o = origin_of(a, p);
    const int warp = (int)threadIdx.x / DTP_WARP, lane = (int)threadIdx.x % DTP_WARP;
    const T *q = (const T *)a.q + o.q, *k = (const T *)a.k + o.k, *v = (const T *)a.v + o.v;
    const float *mask = a.mask ? a.mask + p.sequence * a.mask_batch : nullptr;
    for (int first = warp * TOGETHER; first < p.queries; first += WARPS * TOGETHER) {
        for (int r = 0; r < TOGETHER; ++r)
            for (int c = lane; c < (a.d + DTP_GPU_RUN - 1) / DTP_GPU_RUN * DTP_GPU_RUN; c += DTP_WARP)
                queries[r][c] =
                    first + r < p.queries && c < a.d ? dtp_to_f32(q[(first + r) * a.ldq + c]) : 0.f;
        __syncwarp();
        float largest[TOGETHER], weight[TOGETHER] = {}, sum[TOGETHER][PARTS] = {};
#pragma unroll
        for (int r = 0; r < TOGETHER; ++r) largest[r] = no_score();
        for (int base = 0; base < p.keys; base += DTP_WARP) {
            const int key = base + lane;
            const float more = mask && key < p.keys ? mask[key * a.mask_row] : 0.f;
            float part[TOGETHER] = {};
            if (key < p.keys) products(k + key * a.ldk, queries, a.d, a.wide, part);
#pragma unroll
            for (int r = 0; r < TOGETHER; ++r) {
                const float score = key < p.keys ? part[r] * a.scale + more : no_score();
                const float top = fmaxf(largest[r], dtp_over_warp(dtp_max(), score));
                const float shrink = expf(largest[r] - base_of(top));
                part[r] = expf(score - base_of(top));
                weight[r] = weight[r] * shrink + dtp_over_warp(dtp_add(), part[r]);
                largest[r] = top;
#pragma unroll
                for (int j = 0; j < PARTS; ++j) sum[r][j] *= shrink;
            }
            for (int i = 0; i < min(DTP_WARP, p.keys - base); ++i) {
                float by[TOGETHER];
                bool counts = false;
#pragma unroll
                for (int r = 0; r < TOGETHER; ++r) {
                    by[r] = __shfl_sync(0xffffffff, part[r], i);
                    counts |= by[r] != 0.f;
                }
                if (!counts) continue;
#pragma unroll
                for (int j = 0; j < PARTS; ++j) {
                    const int c = j * DTP_WARP + lane;
                    if (j * DTP_WARP >= a.d) break;
                    const float x = c < a.d ? dtp_to_f32(v[(base + i) * a.ldv + c]) : 0.f;
#pragma unroll
                    for (int r = 0; r < TOGETHER; ++r)
                        if (by[r] != 0.f) sum[r][j] += by[r] * x;
                }
            }
        }
#pragma unroll
        for (int r = 0; r < TOGETHER; ++r) {
            const float inverse = inverse_of(weight[r]);
#pragma unroll
            for (int j = 0; j < PARTS; ++j)
                if (first + r < p.queries && j * DTP_WARP + lane < a.d)
                    dtp_from_f32(sum[r][j] * inverse,
                                 ((T *)a.dst)[o.dst + (first + r) * a.ld_dst + j * DTP_WARP + lane]);
        }
        __syncwarp();
    }
}

DTP_KERNEL_FITTED(dtp_attention_any, dtp_attention_args_t, THREADS, 3) {
    __shared__ int room;
    __shared__ __align__(16) float queries[WARPS][TOGETHER][DTP_ATTENTION_MOST_D];
    const place_t p = place_of(a, &room);
    float(*own)[DTP_ATTENTION_MOST_D] = queries[threadIdx.x / DTP_WARP];
    if (p.bad != DTP_NONE) write_zeros(a, p);
    else if (a.type == dnnl_tp_f32) attention_any<float>(a, p, own);
    else if (a.type == dnnl_tp_bf16) attention_any<dtp_bf16>(a, p, own);
    else attention_any<dtp_f16>(a, p, own);
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

/* Word i of lane l of four becomes word l of lane i. */
DTP_DEVICE void transpose_words(uint32_t (&x)[4]) {
#pragma unroll
    for (int bit = 1; bit < 4; bit *= 2) {
        const bool odd = threadIdx.x & bit;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (i & bit) continue;
            const uint32_t other = __shfl_xor_sync(0xffffffff, odd ? x[i] : x[i | bit], bit);
            if (odd) x[i] = other;
            else x[i | bit] = other;
        }
    }
}

template <int D> DTP_DEVICE void attention_mma(const dtp_attention_args_t &a) {
    enum { BYTES = KEYS * D * 2, TILES = KEYS / 8, COLUMNS = D / 8 };
    static_assert((int)QUERIES == (int)KEYS && WARPS * 16 == QUERIES, "one size of tiles");
    extern __shared__ __align__(128) char shared[];
    __shared__ int room;
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

    float largest[2] = {no_score(), no_score()}, weight[2] = {}, sum[COLUMNS][4] = {};
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

        fragment_softmax(a, mask, first, p.keys, score, largest, weight, sum);
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
        const float inverse = inverse_of(over_row(dtp_add(), weight[half]));
        uint16_t *to = (uint16_t *)a.dst + o.dst + row * a.ld_dst;
#pragma unroll
        for (int c = 0; c < COLUMNS; c += 4) { /* the lanes of a row get 8 of 32 columns each */
            uint32_t y[4];
#pragma unroll
            for (int i = 0; i < 4; ++i)
                y[i] = pack(is_bf16, sum[c + i][half * 2] * inverse, sum[c + i][half * 2 + 1] * inverse);
            transpose_words(y);
            const int column = (c + lane % 4) * 8;
            if (row >= p.queries || column >= a.d) continue;
            if (a.wide) {
                *(uint4 *)(to + column) = make_uint4(y[0], y[1], y[2], y[3]);
                continue;
            }
#pragma unroll
            for (int i = 0; i < 8; ++i) to[column + i] = (uint16_t)(y[i / 2] >> i % 2 * 16);
        }
    }
}
DTP_KERNEL(dtp_attention_mma_32, dtp_attention_args_t, THREADS) { attention_mma<32>(a); }
DTP_KERNEL_FITTED(dtp_attention_mma_64, dtp_attention_args_t, THREADS, 3) { attention_mma<64>(a); }
DTP_KERNEL(dtp_attention_mma_128, dtp_attention_args_t, THREADS) { attention_mma<128>(a); }
