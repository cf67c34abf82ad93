/* Positions of the k best elements of lines. Elements are compared by keys: the larger one is the better one. */
#include "gpu/device/groups.cuh"
#include "gpu/top_k/top_k_args.h"

enum { THREADS = DTP_TOP_K_THREADS };
#define WORST_KEY ((unsigned long long)0)
#define BEST_KEY (~WORST_KEY)

/* In the order of numbers; both zeros have one key. No number has the worst or the best key. */
DTP_DEVICE unsigned long long key_of(float x) {
    const uint32_t bits = __float_as_uint(x + 0.f);
    return (unsigned long long)(bits >> 31 ? ~bits : bits | 1u << 31) << 8 | 1;
}
DTP_DEVICE unsigned long long key_of(double x) {
    const unsigned long long bits = (unsigned long long)__double_as_longlong(x + 0.), sign = 1ull << 63;
    return bits & sign ? ~bits : bits | sign;
}
DTP_DEVICE unsigned long long key_of(int64_t x) { return (unsigned long long)x ^ 1ull << 63; }

DTP_DEVICE unsigned long long key_at(const dtp_top_k_args_t &a, int64_t at) {
    unsigned long long key;
    bool is_nan = false;
    switch (a.type) {
    case dnnl_tp_f32: {
        const float x = ((const float *)a.src)[at];
        is_nan = x != x;
        key = key_of(x);
        break;
    }
    case dnnl_tp_f64: {
        const double x = ((const double *)a.src)[at];
        is_nan = x != x;
        key = key_of(x);
        break;
    }
    case dnnl_tp_s64: key = key_of(((const int64_t *)a.src)[at]); break;
    case dnnl_tp_s32: key = key_of((int64_t)((const int32_t *)a.src)[at]); break;
    case dnnl_tp_s8: key = key_of((int64_t)((const int8_t *)a.src)[at]); break;
    default: key = key_of((int64_t)((const uint8_t *)a.src)[at]); break;
    }
    if (is_nan) return a.nan_worst ? WORST_KEY : BEST_KEY;
    return a.smallest ? ~key : key;
}

struct ranked_t {
    unsigned long long key;
    int64_t at; /* -1: none */
};
DTP_DEVICE bool is_better(const dtp_top_k_args_t &a, ranked_t x, ranked_t y) {
    if (x.at < 0 || y.at < 0) return y.at < 0 && x.at >= 0;
    return x.key != y.key ? x.key > y.key : a.last ? x.at > y.at : x.at < y.at;
}

/* The better one of the threads of a group; all get it. */
DTP_DEVICE ranked_t best_of(const dtp_top_k_args_t &a, ranked_t x, ranked_t *room) {
    if (a.group == 1) return x;
#pragma unroll
    for (int lane = DTP_WARP / 2; lane > 0; lane /= 2) {
        const ranked_t y = {__shfl_xor_sync(0xffffffff, x.key, lane),
                            (int64_t)__shfl_xor_sync(0xffffffff, (long long)x.at, lane)};
        if (is_better(a, y, x)) x = y;
    }
    if (a.group == DTP_WARP) return x;
    if (threadIdx.x % DTP_WARP == 0) room[threadIdx.x / DTP_WARP] = x;
    __syncthreads();
    for (int w = 0; w < THREADS / DTP_WARP; ++w)
        if (is_better(a, room[w], x)) x = room[w];
    __syncthreads();
    return x;
}

/* One after the other: the best element of those that are worse than the one before. */
DTP_KERNEL(dtp_top_k_select, dtp_top_k_args_t, THREADS) {
    __shared__ ranked_t room[THREADS / DTP_WARP];
    const int64_t line = dtp_thread() / a.group;
    if (line >= a.lines.count) return; /* whole groups */
    const int member = (int)threadIdx.x % a.group;
    const int64_t src = dtp_line_start(a.lines, line, a.lines.n), dst = dtp_line_start(a.lines, line, a.k);
    ranked_t before = {BEST_KEY, -1};
    for (int64_t r = 0; r < a.k; ++r) {
        ranked_t best = {WORST_KEY, -1};
        for (int64_t i = member; i < a.lines.n; i += a.group) {
            const ranked_t x = {key_at(a, src + i * a.lines.inner), i};
            if ((before.at < 0 || is_better(a, before, x)) && is_better(a, x, best)) best = x;
        }
        before = best_of(a, best, room);
        if (member == 0) a.dst[dst + r * a.lines.inner] = before.at;
    }
}

/* A thread counts the elements that are better than its own. */
DTP_KERNEL(dtp_top_k_count, dtp_top_k_args_t, THREADS) {
    const int64_t each = a.lines.n * a.lines.inner, thread = dtp_thread();
    if (thread >= a.lines.count * a.lines.n) return;
    const int64_t i = thread % each / a.lines.inner,
                  line = thread / each * a.lines.inner + thread % a.lines.inner,
                  src = dtp_line_start(a.lines, line, a.lines.n);
    const ranked_t own = {key_at(a, src + i * a.lines.inner), i};
    int64_t rank = 0;
    for (int64_t j = 0; j < a.lines.n && rank < a.k; ++j) {
        const ranked_t other = {key_at(a, src + j * a.lines.inner), j};
        rank += is_better(a, other, own);
    }
    if (rank < a.k) a.dst[dtp_line_start(a.lines, line, a.k) + rank * a.lines.inner] = i;
}
