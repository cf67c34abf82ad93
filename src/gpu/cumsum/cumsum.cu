/* Running sums: of f32, bf16 and f16 in double, rounded when they are written; integers wrap. */
#include "gpu/cumsum/cumsum_args.h"
#include "gpu/device/groups.cuh"

enum { THREADS = 256 };

DTP_DEVICE double load(const dtp_cumsum_args_t &a, int64_t at, double) {
    return a.type == dnnl_tp_f64 ? ((const double *)a.src)[at] : (double)dtp_load_one(a.type, a.src, at);
}
DTP_DEVICE uint64_t load(const dtp_cumsum_args_t &a, int64_t at, uint64_t) {
    return a.type == dnnl_tp_s64 ? ((const uint64_t *)a.src)[at] : ((const uint32_t *)a.src)[at];
}
DTP_DEVICE void store(const dtp_cumsum_args_t &a, int64_t at, double sum) {
    if (a.type == dnnl_tp_f64) ((double *)a.dst)[at] = sum;
    else dtp_store_one(a.type, a.dst, at, (float)sum);
}
DTP_DEVICE void store(const dtp_cumsum_args_t &a, int64_t at, uint64_t sum) {
    if (a.type == dnnl_tp_s64) ((uint64_t *)a.dst)[at] = sum;
    else ((uint32_t *)a.dst)[at] = (uint32_t)sum;
}

template <class SUM> DTP_DEVICE void by_thread(const dtp_cumsum_args_t &a, int64_t first, int64_t step) {
    SUM sum = 0;
    for (int64_t i = 0; i < a.lines.n; ++i) {
        const SUM before = sum;
        sum += load(a, first + i * step, SUM());
        store(a, first + i * step, a.exclusive ? before : sum);
    }
}

/* Lanes have neighbouring elements; each gets the sum of what comes before it in two steps: of the lanes, and of what the
 * warp had before. */
template <class SUM> DTP_DEVICE void by_warp(const dtp_cumsum_args_t &a, int64_t first, int64_t step) {
    const int lane = (int)threadIdx.x % DTP_WARP;
    SUM before = 0;
    for (int64_t i = lane; i - lane < a.lines.n; i += DTP_WARP) {
        /* Lanes behind the end load the last element, so that all stay together. */
        const SUM x = load(a, first + min(i, a.lines.n - 1) * step, SUM());
        SUM sum = i < a.lines.n ? x : 0;
#pragma unroll
        for (int apart = 1; apart < DTP_WARP; apart *= 2) {
            const SUM left = __shfl_up_sync(0xffffffff, sum, apart);
            if (lane >= apart) sum = left + sum;
        }
        const SUM shifted = __shfl_up_sync(0xffffffff, sum, 1);
        const SUM result = a.exclusive ? (lane > 0 ? before + shifted : before) : before + sum;
        if (i < a.lines.n) store(a, first + i * step, result);
        before += __shfl_sync(0xffffffff, sum, DTP_WARP - 1);
    }
}

template <class SUM> DTP_DEVICE void cumsum(const dtp_cumsum_args_t &a) {
    const int64_t line = a.by_warps ? dtp_thread() / DTP_WARP : dtp_thread();
    if (line >= a.lines.count) return;
    const int64_t inner = a.lines.inner, from = dtp_line_start(a.lines, line, a.lines.n),
                  first = a.reverse ? from + (a.lines.n - 1) * inner : from,
                  step = a.reverse ? -inner : inner;
    if (a.by_warps) by_warp<SUM>(a, first, step);
    else by_thread<SUM>(a, first, step);
}
DTP_KERNEL(dtp_cumsum_floats, dtp_cumsum_args_t, THREADS) { cumsum<double>(a); }
DTP_KERNEL(dtp_cumsum_integers, dtp_cumsum_args_t, THREADS) { cumsum<uint64_t>(a); }
