/* Operations on two tensors that broadcast, with post-operations. */
#include "gpu/binary/binary_args.h"
#include "gpu/device/chain.cuh"

enum { THREADS = 256 };

/* How the instances move runs: of one type, aligned to V elements, or of any types. */
template <class T, int V> struct typed {
    static __device__ __forceinline__ void read(const dtp_gpu_tensor_t &t, int64_t at, int m, float (&x)[V]) {
        dtp_load_run<T, V, V>(t.data, at, t.stride[0], true, m, x);
    }
    static __device__ __forceinline__ void write(const dtp_gpu_tensor_t &t, int64_t at, int m,
                                                 const float (&x)[V]) {
        dtp_store_run<T, V>(t.data, at, 1, true, m, x);
    }
};
template <int V> struct untyped {
    static __device__ __forceinline__ void read(const dtp_gpu_tensor_t &t, int64_t at, int m, float (&x)[V]) {
        dtp_load_any(t.type, t.data, at, t.stride[0], t.aligned, m, x);
    }
    static __device__ __forceinline__ void write(const dtp_gpu_tensor_t &t, int64_t at, int m,
                                                 const float (&x)[V]) {
        dtp_store_any(t.type, t.data, at, t.stride[0], t.aligned, m, x);
    }
};

template <int V>
DTP_DEVICE void combine(const dtp_gpu_binary_args_t &a, const dtp_position &p, int m, float (&x)[V],
                        const float (&y)[V]) {
    if (a.function == DTP_EW_select) {
        float c[V];
        dtp_read(a.src2, a.dims, p, m, c);
        dtp_select(c, x, y);
    } else {
        dtp_binary((int)a.function, x, y);
    }
}

template <int V, bool TENSORS, class MOVE> DTP_DEVICE void binary(const dtp_gpu_binary_args_t &a) {
    const float scale0 = dtp_scale(a.scale0), scale1 = dtp_scale(a.scale1);
    for (int64_t i = V * dtp_thread(); i < a.dims.n; i += V * dtp_threads()) {
        const int m = (int)min((int64_t)V, a.dims.n - i);
        const dtp_position p = dtp_decode(a.dims, i);
        float x[V], y[V];
        MOVE::read(a.src0, dtp_offset(p, a.dims, a.src0), m, x);
        MOVE::read(a.src1, dtp_offset(p, a.dims, a.src1), m, y);
#pragma unroll
        for (int k = 0; k < V; ++k) x[k] *= scale0, y[k] *= scale1;
        combine(a, p, m, x, y);
        dtp_chain_apply<V, TENSORS>(a.chain, i, m, x);
        MOVE::write(a.dst, dtp_offset(p, a.dims, a.dst), m, x);
    }
}

/* One type; src0 and src1 have runs of 16 bytes that are aligned, or one value for each run; dst has such runs; the chain reads
 * no tensors. */
#define TYPED(name, T)                                              \
    DTP_KERNEL(dtp_binary_##name, dtp_gpu_binary_args_t, THREADS) { \
        binary<16 / sizeof(T), false, typed<T, 16 / sizeof(T)>>(a); \
    }
TYPED(f32, float)
TYPED(bf16, dtp_bf16)
TYPED(f16, dtp_f16)

/* Any types and strides. */
DTP_KERNEL(dtp_binary_runs, dtp_gpu_binary_args_t, THREADS) {
    binary<DTP_GPU_RUN, true, untyped<DTP_GPU_RUN>>(a);
}
DTP_KERNEL(dtp_binary_any, dtp_gpu_binary_args_t, THREADS) { binary<1, true, untyped<1>>(a); }
