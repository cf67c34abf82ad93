/* Attention of f32: tiles of scores in registers, or tensor cores in tf32. d is at most D.
 *
 * Rows pass through shared memory, padded by 16 bytes: so the same 16 bytes of 8 rows that follow each other lie in 32 banks. Values are copied
 * while scores are computed, the next keys while values are multiplied. */
#include "gpu/attention/parts.cuh"

/* Lines of shared memory, of LINE floats: D columns of rows first..first+n-1 of a matrix of `rows` rows and d columns, with zeros behind its
 * edges. n is at most ROWS. wide: rows are aligned to 16 bytes. */
template <int D, int ROWS>
DTP_DEVICE void fill_f32(float *to, const float *from, int64_t ld, int first, int n, int rows, int d,
                         bool wide) {
    enum { LINE = D + DTP_ATTENTION_PAD, WIDE = 4, PIECES = D / WIDE };
    const uint32_t base = (uint32_t)__cvta_generic_to_shared(to);
    const int thread = (int)threadIdx.x;
    if (wide) {
        enum { APART = THREADS / PIECES }; /* rows of a thread */
        const int row = thread / PIECES, column = thread % PIECES * WIDE;
        const int left = column < d ? rows - first - row : 0; /* rows from the thread's first one on */
        const float *p = from + (int64_t)(first + row) * ld + column;
        const uint32_t at = base + (uint32_t)(row * LINE + column) * 4;
#pragma unroll
        for (int i = 0; i < ROWS; i += APART, p += APART * ld)
            if (row + i < n)
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at + i * LINE * 4),
                             "l"(i < left ? p : from), "r"(i < left ? 16 : 0));
        return;
    }
    enum { APART = THREADS / D };
    const int row = thread / D, column = thread % D, left = column < d ? rows - first - row : 0;
    const float *p = from + (int64_t)(first + row) * ld + column;
    const uint32_t at = base + (uint32_t)(row * LINE + column) * 4;
#pragma unroll 1
    for (int i = 0; row + i < n; i += APART, p += APART * ld)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at + i * LINE * 4),
                     "l"(i < left ? p : from), "r"(i < left ? 4 : 0));
}

/* ---- Without tensor cores ----------------------------------------------------------------------------- */

/* A warp has 16 queries of a block, a lane 4 of them (every fourth row) and every eighth key of a step. Probabilities go through shared memory
 * from the lanes that have their keys to those that have columns of the values.
 *
 * No access of a warp meets in a bank: it reads 16 bytes of 8 keys, or of 4 queries, that follow each other; or 128 bytes of a row of
 * values. Rows of probabilities are padded by 32 bytes, so that 8 keys of 4 queries lie in 32 banks. */
enum {
    OWN = 4,    /* queries of a lane */
    ACROSS = 8, /* lanes that share them */
    AHEAD = DTP_WARP / ACROSS
};

/* Adds to the scores of the lane's first N keys of a step. query, key: the first row of the lane. */
template <int D, int N, int KEYS_OF_LANE>
DTP_DEVICE void add_products(const float *query, const float *key, float (&score)[OWN][KEYS_OF_LANE]) {
    enum { LINE = D + DTP_ATTENTION_PAD };
#pragma unroll 2
    for (int c = 0; c < D; c += 4) {
        float4 x[OWN];
#pragma unroll
        for (int i = 0; i < OWN; ++i) x[i] = *(const float4 *)(query + i * AHEAD * LINE + c);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const float4 y = *(const float4 *)(key + j * ACROSS * LINE + c);
#pragma unroll
            for (int i = 0; i < OWN; ++i)
                score[i][j] =
                    fmaf(x[i].w, y.w, fmaf(x[i].z, y.z, fmaf(x[i].y, y.y, fmaf(x[i].x, y.x, score[i][j]))));
        }
    }
}

/* Over the lanes that share queries; all get it. */
template <class F> DTP_DEVICE float over_lanes(F f, float x) {
#pragma unroll
    for (int lane = 1; lane < ACROSS; lane *= 2) x = f(x, __shfl_xor_sync(0xffffffff, x, lane));
    return x;
}

/* The scores of the lane's first N keys of a step become probabilities, the weights and sums of former steps become those of the new largest
 * score. mask: of the lane's first key, or null; left: keys from that one on; part: probability of the lane's first query and key. */
template <int N, int KEYS_OF_LANE, int RUNS>
DTP_DEVICE void probabilities(const dtp_attention_args_t &a, const float *mask, int left,
                              float (&score)[OWN][KEYS_OF_LANE], float *part, float (&largest)[OWN],
                              float (&weight)[OWN], float (&sum)[OWN][RUNS][4]) {
    enum { LINE = KEYS_OF_LANE * ACROSS + DTP_ATTENTION_PART_PAD };
    float top[OWN];
#pragma unroll
    for (int i = 0; i < OWN; ++i) top[i] = largest[i];
#pragma unroll
    for (int j = 0; j < N; ++j) {
        const bool counts = j * ACROSS < left;
        const float more = mask && counts ? mask[j * ACROSS * a.mask_row] : 0.f;
#pragma unroll
        for (int i = 0; i < OWN; ++i) {
            score[i][j] = counts ? score[i][j] * a.scale + more : no_score();
            top[i] = fmaxf(top[i], score[i][j]);
        }
    }
#pragma unroll
    for (int i = 0; i < OWN; ++i) {
        top[i] = over_lanes(dtp_max(), top[i]);
        const float base = base_of(top[i]), shrink = expf(largest[i] - base);
        largest[i] = top[i];
        weight[i] *= shrink;
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const float x = expf(score[i][j] - base);
            weight[i] += x;
            part[i * AHEAD * LINE + j * ACROSS] = x;
        }
#pragma unroll
        for (int r = 0; r < RUNS; ++r)
#pragma unroll
            for (int e = 0; e < 4; ++e) sum[i][r][e] *= shrink;
    }
}

template <int D> DTP_DEVICE void attention_tile(const dtp_attention_args_t &a) {
    enum {
        STEP = DTP_ATTENTION_TILE_KEYS(D),
        LINE = D + DTP_ATTENTION_PAD,
        PART_LINE = STEP + DTP_ATTENTION_PART_PAD,
        OWN_KEYS = STEP / ACROSS,
        RUNS = D / ACROSS / 4 /* of 4 columns of a lane, ACROSS runs apart */
    };
    static_assert(AHEAD * OWN * WARPS == QUERIES, "queries of a block");
    extern __shared__ __align__(128) float shared_f32[];
    __shared__ int room;
    float *const queries = shared_f32, *const keys = queries + QUERIES * LINE,
                 *const values = keys + STEP * LINE, *const parts = values + STEP * LINE;
    const place_t p = place_of(a, &room);
    if (p.bad != DTP_NONE) {
        write_zeros(a, p);
        return;
    }
    if (p.queries <= 0) return;
    const origin_t o = origin_of(a, p);
    const int warp = (int)threadIdx.x / DTP_WARP, lane = (int)threadIdx.x % DTP_WARP;
    const int row = warp * OWN * AHEAD + lane / ACROSS,
              way = lane % ACROSS; /* of the first query; of keys and columns */
    const float *k = (const float *)a.k + o.k, *v = (const float *)a.v + o.v;
    const float *mask = a.mask ? a.mask + p.sequence * a.mask_batch : nullptr;
    const bool works = warp * OWN * AHEAD < p.queries;

    float largest[OWN], weight[OWN] = {}, sum[OWN][RUNS][4] = {};
#pragma unroll
    for (int i = 0; i < OWN; ++i) largest[i] = no_score();
    float *const part = parts + row * PART_LINE + way;
    fill_f32<D, QUERIES>(queries, (const float *)a.q + o.q, a.ldq, 0,
                         (p.queries + OWN * AHEAD - 1) / (OWN * AHEAD) * (OWN * AHEAD), p.queries, a.d,
                         a.wide);
    fill_f32<D, STEP>(keys, k, a.ldk, 0, p.keys <= STEP / 2 ? STEP / 2 : STEP, p.keys, a.d, a.wide);
    asm volatile("cp.async.commit_group;" ::: "memory");
#pragma unroll 1
    for (int first = 0; first < p.keys; first += STEP) {
        const int left = p.keys - first; /* keys from the step's first one on */
        const bool half = left <= STEP / 2;
        fill_f32<D, STEP>(values, v, a.ldv, first, (min((int)STEP, left) + 3) / 4 * 4, p.keys, a.d, a.wide);
        asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        float score[OWN][OWN_KEYS] = {};
        const float *query = queries + row * LINE, *key = keys + way * LINE;
        if (works) {
            if (half) add_products<D, OWN_KEYS / 2>(query, key, score);
            else add_products<D, OWN_KEYS>(query, key, score);
        }
        __syncthreads();
        if (left > STEP)
            fill_f32<D, STEP>(keys, k, a.ldk, first + STEP, left - STEP <= STEP / 2 ? STEP / 2 : STEP, p.keys,
                              a.d, a.wide);
        asm volatile("cp.async.commit_group;" ::: "memory");

        if (works) {
            const float *more = mask ? mask + (first + way) * a.mask_row : nullptr;
            if (half) probabilities<OWN_KEYS / 2>(a, more, left - way, score, part, largest, weight, sum);
            else probabilities<OWN_KEYS>(a, more, left - way, score, part, largest, weight, sum);
        }
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        if (works) {
            const int most = min((int)STEP, left);
            const float *by = parts + row * PART_LINE, *value = values + way * 4;
#pragma unroll 1
            for (int at = 0; at < most; at += 4, by += 4, value += 4 * LINE) {
                float x[OWN][4];
#pragma unroll
                for (int i = 0; i < OWN; ++i) dtp_load(by + i * AHEAD * PART_LINE, x[i]);
#pragma unroll
                for (int n = 0; n < 4; ++n)
#pragma unroll
                    for (int r = 0; r < RUNS; ++r) {
                        float y[4];
                        dtp_load(value + n * LINE + r * ACROSS * 4, y);
#pragma unroll
                        for (int i = 0; i < OWN; ++i)
#pragma unroll
                            for (int e = 0; e < 4; ++e) sum[i][r][e] = fmaf(x[i][n], y[e], sum[i][r][e]);
                    }
            }
        }
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < OWN; ++i) {
        const float inverse = inverse_of(over_lanes(dtp_add(), weight[i]));
        float *to = (float *)a.dst + o.dst + (row + i * AHEAD) * a.ld_dst;
        if (row + i * AHEAD >= p.queries) continue;
#pragma unroll
        for (int r = 0; r < RUNS; ++r) {
            const int column = (r * ACROSS + way) * 4;
#pragma unroll
            for (int e = 0; e < 4; ++e) sum[i][r][e] *= inverse;
            if (column < a.d) dtp_store_run<float, 4>(to, column, 1, a.wide, a.d - column, sum[i][r]);
        }
    }
}
DTP_KERNEL_FITTED(dtp_attention_tile_32, dtp_attention_args_t, THREADS, 3) { attention_tile<32>(a); }
DTP_KERNEL_FITTED(dtp_attention_tile_64, dtp_attention_args_t, THREADS, 3) { attention_tile<64>(a); }
DTP_KERNEL_FITTED(dtp_attention_tile_128, dtp_attention_args_t, THREADS, 2) { attention_tile<128>(a); }

/* ---- tf32 --------------------------------------------------------------------------------------------- */

DTP_DEVICE uint32_t to_tf32(float x) {
    uint32_t r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
    return r;
}
/* Four matrices of 8 rows and 4 columns, where a lane asks for a row of one. */
DTP_DEVICE void load_tf32(uint32_t (&r)[4], const float *row) {
    load_matrices(r, (uint32_t)__cvta_generic_to_shared(row));
#pragma unroll
    for (int i = 0; i < 4; ++i) r[i] = to_tf32(__uint_as_float(r[i]));
}
DTP_DEVICE void multiply_tf32(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* A warp has 16 queries. Probabilities stay in registers: a lane has those of the keys 2 t and 2 t + 1 of 8, t = lane % 4, and the instruction
 * wants numbers t and t + 4, so the values are read in that order. Four lanes read every other row, 8 columns each: 32 banks. */
template <int D> DTP_DEVICE void attention_tf32(const dtp_attention_args_t &a) {
    enum { LINE = D + DTP_ATTENTION_PAD, TILES = KEYS / 8, COLUMNS = D / 8 };
    extern __shared__ __align__(128) float shared_f32[];
    __shared__ int room;
    float *const keys = shared_f32, *const values = keys + KEYS * LINE;
    const place_t p = place_of(a, &room);
    if (p.bad != DTP_NONE) {
        write_zeros(a, p);
        return;
    }
    if (p.queries <= 0) return;
    const origin_t o = origin_of(a, p);
    const int warp = (int)threadIdx.x / DTP_WARP, lane = (int)threadIdx.x % DTP_WARP;
    const float *k = (const float *)a.k + o.k, *v = (const float *)a.v + o.v;
    const float *mask = a.mask ? a.mask + p.sequence * a.mask_batch : nullptr;

    /* Queries pass through the room of values. */
    uint32_t query[COLUMNS][4];
    fill_f32<D, QUERIES>(values, (const float *)a.q + o.q, a.ldq, 0, QUERIES, p.queries, a.d, a.wide);
    asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
    __syncthreads();
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i)
        load_tf32(query[i], values + (warp * 16 + lane % 16) * LINE + i * 8 + lane / 16 * 4);
    __syncthreads();

    float largest[2] = {no_score(), no_score()}, weight[2] = {}, sum[COLUMNS][4] = {};
    fill_f32<D, KEYS>(keys, k, a.ldk, 0, KEYS, p.keys, a.d, a.wide);
    asm volatile("cp.async.commit_group;" ::: "memory");
#pragma unroll 1
    for (int first = 0; first < p.keys; first += KEYS) {
        fill_f32<D, KEYS>(values, v, a.ldv, first, KEYS, p.keys, a.d, a.wide);
        asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        float score[TILES][4] = {};
        const float *key = keys + (lane / 16 * 8 + lane % 8) * LINE + lane / 8 % 2 * 4;
#pragma unroll
        for (int i = 0; i < COLUMNS; ++i)
#pragma unroll
            for (int j = 0; j < TILES; j += 2) {
                uint32_t b[4];
                load_tf32(b, key + j * 8 * LINE + i * 8);
                multiply_tf32(score[j], query[i], b[0], b[1]);
                multiply_tf32(score[j + 1], query[i], b[2], b[3]);
            }
        __syncthreads();
        if (first + KEYS < p.keys) fill_f32<D, KEYS>(keys, k, a.ldk, first + KEYS, KEYS, p.keys, a.d, a.wide);
        asm volatile("cp.async.commit_group;" ::: "memory");
        fragment_softmax(a, mask, first, p.keys, score, largest, weight, sum);
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        const float *value = values + lane % 4 * 2 * LINE + lane / 4;
#pragma unroll
        for (int i = 0; i < TILES; ++i) {
            const uint32_t part[4] = {to_tf32(score[i][0]), to_tf32(score[i][2]), to_tf32(score[i][1]),
                                      to_tf32(score[i][3])};
#pragma unroll
            for (int c = 0; c < COLUMNS; ++c)
                multiply_tf32(sum[c], part, to_tf32(value[i * 8 * LINE + c * 8]),
                              to_tf32(value[(i * 8 + 1) * LINE + c * 8]));
        }
        __syncthreads();
    }

#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int row = warp * 16 + lane / 4 + half * 8;
        const float inverse = inverse_of(over_row(dtp_add(), weight[half]));
        float *to = (float *)a.dst + o.dst + row * a.ld_dst;
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c) {
            const int column = c * 8 + lane % 4 * 2;
            const float y[2] = {sum[c][half * 2] * inverse, sum[c][half * 2 + 1] * inverse};
            if (row < p.queries && column < a.d)
                dtp_store_run<float, 2>(to, column, 1, a.wide, a.d - column, y);
        }
    }
}
DTP_KERNEL_FITTED(dtp_attention_tf32_32, dtp_attention_args_t, THREADS, 3) { attention_tf32<32>(a); }
DTP_KERNEL_FITTED(dtp_attention_tf32_64, dtp_attention_args_t, THREADS, 2) { attention_tf32<64>(a); }
DTP_KERNEL_FITTED(dtp_attention_tf32_128, dtp_attention_args_t, THREADS, 2) { attention_tf32<128>(a); }
