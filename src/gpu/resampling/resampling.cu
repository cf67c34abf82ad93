/* Resampling: a table of places along each spatial dimension, then elements of dst, a thread each. Places are those of
 * problems/resampling.h. */
#include "gpu/device/device.cuh"
#include "gpu/resampling/resampling_args.h"

enum { THREADS = 256 };
enum { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL }; /* dtp_resampling_rounding_t */

DTP_DEVICE double rounded(int how, double x) {
    const double low = floor(x), part = x - low;
    if (how == FLOOR) return low;
    if (how == CEIL) return ceil(x);
    return low + (how == PREFER_CEIL ? part >= .5 : part > .5);
}

DTP_DEVICE dtp_gpu_resampling_place_t place_by_rule(const dtp_resampling_args_t &a,
                                                    const dtp_gpu_resampling_dim_t &d, int64_t o) {
    const double last = (double)(d.in - 1);
    double x = ((double)o + d.before) * d.from / d.to + d.after;
    if (!a.linear) x = rounded(a.rounding, x);
    x = x < 0 ? 0 : x < last ? x : last;
    dtp_gpu_resampling_place_t p = {(int32_t)x};
    p.hi = a.linear && p.lo < d.in - 1 ? p.lo + 1 : p.lo;
    p.part = (float)(x - (double)p.lo);
    return p;
}

DTP_DEVICE dtp_gpu_resampling_place_t place_of(const dtp_resampling_args_t &a,
                                               const dtp_gpu_resampling_dim_t &d, int64_t o) {
    const float at = ((float)o + .5f) * (float)d.in / (float)d.out - .5f;
    const int32_t last = (int32_t)d.in - 1;
    dtp_gpu_resampling_place_t p = {};
    if (a.linear) {
        const int32_t below = at < 0 ? -1 : (int32_t)at;
        p.lo = min(max(below, 0), last);
        p.hi = min(below + 1, last);
        p.part = at < 0 ? 0 : at - (float)below;
    } else {
        const int32_t below = at < 0 ? 0 : (int32_t)at;
        p.lo = p.hi = min(below + (at - (float)below >= .5f), last);
    }
    return p;
}

DTP_KERNEL(dtp_resampling_places, dtp_resampling_args_t, THREADS) {
    const int64_t at = dtp_thread();
    if (at >= a.nplaces) return;
#pragma unroll
    for (int s = 0; s < DTP_RESAMPLING_SPACE; ++s) {
        const int64_t o = at - a.space[s].first;
        if (s >= a.nspatial || o < 0 || o >= a.space[s].out) continue;
        dtp_gpu_resampling_place_t p =
            a.has_rules ? place_by_rule(a, a.space[s], o) : place_of(a, a.space[s], o);
        if (p.lo == p.hi) p.part = 0;
        a.places[at] = p;
    }
}

DTP_KERNEL(dtp_resampling, dtp_resampling_args_t, THREADS) {
    for (int64_t i = dtp_thread(); i < a.dims.n; i += dtp_threads()) {
        const dtp_position p = dtp_decode(a.dims, i);
        int64_t base = 0, lo[DTP_RESAMPLING_SPACE], hi[DTP_RESAMPLING_SPACE];
        float part[DTP_RESAMPLING_SPACE];
#pragma unroll
        for (int d = 0; d < DTP_GPU_DIMS; ++d)
            if (a.spatial[d] < 0) base += (int64_t)p.at[d] * a.src.stride[d];
#pragma unroll
        for (int s = 0; s < DTP_RESAMPLING_SPACE; ++s) {
            dtp_gpu_resampling_place_t place = {};
            int64_t o = 0;
#pragma unroll
            for (int d = 0; d < DTP_GPU_DIMS; ++d)
                if (a.spatial[d] == s) o = p.at[d];
            if (s < a.nspatial) place = a.places[a.space[s].first + o];
            lo[s] = place.lo * a.space[s].step;
            hi[s] = place.hi * a.space[s].step;
            part[s] = place.part;
        }
        float x = 0;
        if (!a.linear) x = dtp_load_one(a.src.type, a.src.data, base + lo[0] + lo[1] + lo[2]);
#pragma unroll 1
        for (int corner = 0; a.linear && corner < 1 << DTP_RESAMPLING_SPACE; ++corner) {
            float weight = 1;
            int64_t at = base;
#pragma unroll
            for (int s = 0; s < DTP_RESAMPLING_SPACE; ++s) {
                const bool high = corner >> s & 1;
                at += high ? hi[s] : lo[s];
                weight *= high ? part[s] : 1 - part[s];
            }
            /* What has no weight counts for nothing, even if it is not finite. */
            if (weight != 0) x = fmaf(weight, dtp_load_one(a.src.type, a.src.data, at), x);
        }
        dtp_store_one(a.dst.type, a.dst.data, dtp_offset(p, a.dims, a.dst), x);
    }
}
