/* Post-operations on a run of results in registers. */
#ifndef DTP_GPU_DEVICE_CHAIN_CUH
#define DTP_GPU_DEVICE_CHAIN_CUH

#include "gpu/device/functions.cuh"

template <int V>
DTP_DEVICE void dtp_step_read(const dtp_gpu_step_t &s, const dtp_position &p, int ndims, int m,
                              float (&y)[V]) {
    dtp_load_any(s.type, s.data, dtp_offset(p, ndims, s.stride), s.stride[0], s.aligned, m, y);
}

/* x: the m elements of the destination from this linear index. V > 1 only where the tensors of the chain have runs of V
 * (dtp_gpu_post_ops_t.has_runs). */
template <int V>
DTP_DEVICE void dtp_chain_apply(const dtp_gpu_chain_t &chain, int64_t index, int m, float (&x)[V]) {
    dtp_position p = {};
    if (chain.tensors) p = dtp_decode(chain.dims, index);
#pragma unroll 1
    for (int i = 0; i < chain.len; ++i) {
        const dtp_gpu_step_t &s = chain.step[i];
        if (s.kind == DTP_GPU_UNARY) {
            dtp_unary(s.function, s.a, s.b, x);
            continue;
        }
        float y[V];
        dtp_step_read(s, p, chain.dims.ndims, m, y);
        if (s.kind == DTP_GPU_BINARY) {
            dtp_binary(s.function, x, y);
        } else if (s.kind == DTP_GPU_SUM) {
#pragma unroll
            for (int k = 0; k < V; ++k) x[k] += s.a * (y[k] - s.b);
        } else {
            float c[V];
            dtp_step_read(chain.step[++i], p, chain.dims.ndims, m, c);
            dtp_select(c, x, y);
        }
    }
}
DTP_DEVICE float dtp_chain_one(const dtp_gpu_chain_t &chain, int64_t index, float value) {
    float x[1] = {value};
    dtp_chain_apply(chain, index, 1, x);
    return x[0];
}

#endif
