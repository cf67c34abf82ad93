/* Sums of several tensors with factors, in the order of the sources. dst may be one of them. */
#include "gpu/device/device.cuh"
#include "gpu/sum/sum_args.h"

enum { THREADS = 256 };

template <int V> DTP_DEVICE void sum(const dtp_sum_args_t &a) {
    const int64_t index = dtp_thread() * V;
    if (index >= a.dims.n) return;
    const dtp_position p = dtp_decode(a.dims, index);
    const int64_t left = a.dims.n - index;
    const int m = left < V ? (int)left : V;
    float total[V] = {};
#pragma unroll 1
    for (int i = 0; i < (int)a.n; ++i) {
        const dtp_sum_source_t &s = a.source[i];
        float x[V];
        dtp_load_any(s.type, s.data, dtp_offset(p, a.dims.ndims, s.stride), s.stride[0], s.aligned, m, x);
#pragma unroll
        for (int k = 0; k < V; ++k) total[k] += s.scale * x[k];
    }
    dtp_write(a.dst, a.dims, p, m, total);
}

DTP_KERNEL(dtp_sum_runs, dtp_sum_args_t, THREADS) { sum<DTP_GPU_RUN>(a); }
DTP_KERNEL(dtp_sum_each, dtp_sum_args_t, THREADS) { sum<1>(a); }
