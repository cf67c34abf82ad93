/* Functions of one element, with post-operations. */
#include "gpu/device/chain.cuh"
#include "gpu/eltwise/eltwise_args.h"

enum { THREADS = 256 };

/* src and dst: one type, dense, in one order, aligned to 16 bytes; the chain reads no tensors. */
template <class T> DTP_DEVICE void eltwise_vec(const dtp_gpu_eltwise_args_t &a) {
    enum { V = 16 / sizeof(T) };
    const T *src = (const T *)a.src.data;
    T *dst = (T *)a.dst.data;
    for (int64_t i = V * dtp_thread(); i < a.dims.n; i += V * dtp_threads()) {
        const int m = (int)min((int64_t)V, a.dims.n - i);
        float x[V];
        dtp_load_run<T, V, V>(src, i, 1, true, m, x);
        dtp_chain_apply<V, false>(a.chain, i, m, x);
        dtp_store_run<T, V>(dst, i, 1, true, m, x);
    }
}

/* Any types and strides. */
template <int V> DTP_DEVICE void eltwise_any(const dtp_gpu_eltwise_args_t &a) {
    for (int64_t i = V * dtp_thread(); i < a.dims.n; i += V * dtp_threads()) {
        const int m = (int)min((int64_t)V, a.dims.n - i);
        const dtp_position p = dtp_decode(a.dims, i);
        float x[V];
        dtp_read(a.src, a.dims, p, m, x);
        dtp_chain_apply(a.chain, i, m, x);
        dtp_write(a.dst, a.dims, p, m, x);
    }
}

DTP_KERNEL(dtp_eltwise_f32, dtp_gpu_eltwise_args_t, THREADS) { eltwise_vec<float>(a); }
DTP_KERNEL(dtp_eltwise_bf16, dtp_gpu_eltwise_args_t, THREADS) { eltwise_vec<dtp_bf16>(a); }
DTP_KERNEL(dtp_eltwise_f16, dtp_gpu_eltwise_args_t, THREADS) { eltwise_vec<dtp_f16>(a); }
DTP_KERNEL(dtp_eltwise_runs, dtp_gpu_eltwise_args_t, THREADS) { eltwise_any<DTP_GPU_RUN>(a); }
DTP_KERNEL(dtp_eltwise_any, dtp_gpu_eltwise_args_t, THREADS) { eltwise_any<1>(a); }
