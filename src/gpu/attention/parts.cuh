/* What the kernels of attention share: where a block works, and the steps of an online softmax. */
#ifndef DTP_GPU_ATTENTION_PARTS_CUH
#define DTP_GPU_ATTENTION_PARTS_CUH

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

/* The first group of queries of a sequence: offsets[sequence] / QUERIES + sequence. A sequence needs at most as many groups as lie between its
 * own first one and the next sequence's; the others have nothing to do. */
DTP_DEVICE int first_group(const dtp_attention_args_t &a, int sequence) {
    return a.offsets[sequence] / QUERIES + sequence;
}
/* The sequence in which the group of queries with that number lies. */
DTP_DEVICE place_t packed_place(const dtp_attention_args_t &a, int group) {
    place_t p = {};
    if (a.n == 0 || group < first_group(a, 0)) return p;
    int from = 0, to = a.n; /* it lies in from..to-1 */
    while (to - from > 1) {
        const int middle = from + (to - from) / 2;
        if (group < first_group(a, middle)) to = middle;
        else from = middle;
    }
    p.sequence = from;
    p.first = a.offsets[from];
    p.keys = a.offsets[from + 1] - (int)p.first;
    p.query = (group - first_group(a, from)) * QUERIES;
    p.queries = min(QUERIES, p.keys - p.query);
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

/* ---- Softmax ------------------------------------------------------------------------------------------ */

/* The score of a key that does not count. */
DTP_DEVICE float no_score() { return -__int_as_float(0x7f800000); }
/* What scores are subtracted from: 0 while no key counts, so that exp gives 0 for such keys, and NaN for NaN, which fmaxf ignores. */
DTP_DEVICE float base_of(float largest) { return largest == no_score() ? 0.f : largest; }
/* What a row is multiplied by in the end; NaN stays. */
DTP_DEVICE float inverse_of(float weight) { return weight == 0.f ? 0.f : 1 / weight; }

/* ---- Fragments of tensor cores ------------------------------------------------------------------------ */

DTP_DEVICE void load_matrices(uint32_t (&r)[4], uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(from)
                 : "memory");
}

/* Largest and summed over the four lanes that share a row of a fragment. */
template <class F> DTP_DEVICE float over_row(F f, float x) {
    x = f(x, __shfl_xor_sync(0xffffffff, x, 1));
    return f(x, __shfl_xor_sync(0xffffffff, x, 2));
}

/* Its errors are below those of tf32 and of types of 16 bits. */
DTP_DEVICE float exp_of(float x) {
    const float log2_of_e = 1.44269504f;
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * log2_of_e));
    return y;
}

/* A step of keys from `first` on: scores of fragments of 16 queries become probabilities, the weights and sums of former steps become those of the
 * new largest score. Weights are those of a lane's keys alone. */
template <int TILES, int COLUMNS>
DTP_DEVICE void fragment_softmax(const dtp_attention_args_t &a, const float *mask, int first, int keys,
                                 float (&score)[TILES][4], float (&largest)[2], float (&weight)[2],
                                 float (&sum)[COLUMNS][4]) {
    float top[2] = {largest[0], largest[1]};
#pragma unroll
    for (int j = 0; j < TILES; ++j)
#pragma unroll
        for (int column = 0; column < 2; ++column) {
            const int key = first + j * 8 + (int)threadIdx.x % 4 * 2 + column;
            const float more = mask && key < keys ? mask[key * a.mask_row] : 0.f;
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                float &x = score[j][half * 2 + column];
                x = key < keys ? x * a.scale + more : no_score();
                top[half] = fmaxf(top[half], x);
            }
        }
    float shrink[2], base[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        top[half] = over_row(dtp_max(), top[half]);
        base[half] = base_of(top[half]);
        shrink[half] = exp_of(largest[half] - base[half]);
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
            score[j][e] = exp_of(score[j][e] - base[e / 2]);
            weight[e / 2] += score[j][e];
        }
}

#endif
