/* Post-operations on a run of results in registers. */
#ifndef DTP_GPU_DEVICE_CHAIN_CUH
#define DTP_GPU_DEVICE_CHAIN_CUH

#include "gpu/device/functions.cuh"

template <int V>
DTP_DEVICE void dtp_step_read(const dtp_gpu_step_t &s, int type, const dtp_position &p, int ndims, int m,
                              float (&y)[V]) {
    dtp_load_any(type, s.data, dtp_offset(p, ndims, s.stride), s.stride[0], s.aligned, m, y);
}

/* Step i, which reads tensors at p; returns the last step that it has taken. */
template <int V>
DTP_DEVICE int dtp_step_apply(const dtp_gpu_chain_t &chain, int i, const dtp_position &p, int m,
                              float (&x)[V]) {
    const dtp_gpu_step_t &s = chain.step[i];
    float y[V];
    dtp_step_read(s, s.type, p, chain.dims.ndims, m, y);
    if (s.kind == DTP_GPU_BINARY) {
        dtp_binary(s.function, x, y);
    } else if (s.kind == DTP_GPU_SUM) {
#pragma unroll
        for (int k = 0; k < V; ++k) x[k] += s.a * (y[k] - s.b);
    } else {
        float c[V];
        dtp_step_read(chain.step[++i], dnnl_tp_s8, p, chain.dims.ndims, m, c);
        dtp_select(c, x, y);
    }
    return i;
}

/* x: the m elements of the destination from this linear index. V > 1 only where the tensors of the chain have runs of V
 * (dtp_gpu_post_ops_t.has_runs). TENSORS false: the host knows that no step reads one. */
template <int V, bool TENSORS = true>
DTP_DEVICE void dtp_chain_apply(const dtp_gpu_chain_t &chain, int64_t index, int m, float (&x)[V]) {
    dtp_position p = {};
    if (TENSORS && chain.tensors) p = dtp_decode(chain.dims, index);
#pragma unroll 1
    for (int i = 0; i < chain.len; ++i) {
        const dtp_gpu_step_t &s = chain.step[i];
        if (!TENSORS || s.kind == DTP_GPU_UNARY) dtp_unary(s.function, s.a, s.b, x);
        else i = dtp_step_apply(chain, i, p, m, x);
    }
}
DTP_DEVICE float dtp_chain_one(const dtp_gpu_chain_t &chain, int64_t index, float value) {
    float x[1] = {value};
    dtp_chain_apply(chain, index, 1, x);
    return x[0];
}

#endif
