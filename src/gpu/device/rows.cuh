/* Rows of dtp_gpu_rows_t that a warp or a block holds in registers: one type, elements that lie together. */
#ifndef DTP_GPU_DEVICE_ROWS_CUH
#define DTP_GPU_DEVICE_ROWS_CUH

#include "gpu/device/groups.cuh"

/* Thread t of `threads` has the runs t, t + threads, ... of a row. */
template <class T> struct dtp_row {
    enum { V = 16 / sizeof(T), RUNS = DTP_GPU_HELD / V };
    float x[RUNS][V];

    /* The element with which run r begins. */
    static __device__ __forceinline__ int begin(int r, int t, int threads) { return V * (r * threads + t); }
    /* past: what elements behind the end are. */
    __device__ __forceinline__ void load(const T *src, int n, int t, int threads, float past) {
#pragma unroll
        for (int r = 0; r < RUNS; ++r) {
            const int i = begin(r, t, threads);
            if (i < n) dtp_load(src + i, x[r]);
            else
#pragma unroll
                for (int k = 0; k < V; ++k) x[r][k] = past;
        }
    }
};

template <class T> DTP_DEVICE const T *dtp_src_row(const dtp_gpu_rows_t &rows, const dtp_position &p) {
    return (const T *)rows.src.data + dtp_offset(p, rows.dims, rows.src);
}
template <class T> DTP_DEVICE T *dtp_dst_row(const dtp_gpu_rows_t &rows, const dtp_position &p) {
    return (T *)rows.dst.data + dtp_offset(p, rows.dims, rows.dst);
}

/* Who has a row: its number, the threads that share it, what they compute together: `once`, then `again`; `between` rows where
 * only one of them is called. */
struct dtp_warp_group {
    static __device__ __forceinline__ int64_t first() { return dtp_thread() / DTP_WARP; }
    static __device__ __forceinline__ int64_t count() { return dtp_threads() / DTP_WARP; }
    static __device__ __forceinline__ int thread() { return (int)threadIdx.x % DTP_WARP; }
    static __device__ __forceinline__ int threads() { return DTP_WARP; }
    template <class F> static __device__ __forceinline__ float once(F f, float x) {
        return dtp_over_warp(f, x);
    }
    template <class F> static __device__ __forceinline__ float again(F f, float x) {
        return dtp_over_warp(f, x);
    }
    static __device__ __forceinline__ void between() {}
};
struct dtp_block_group {
    static __device__ __forceinline__ int64_t first() { return blockIdx.x; }
    static __device__ __forceinline__ int64_t count() { return gridDim.x; }
    static __device__ __forceinline__ int thread() { return (int)threadIdx.x; }
    static __device__ __forceinline__ int threads() { return (int)blockDim.x; }
    template <class F> static __device__ __forceinline__ float once(F f, float x) {
        __shared__ float room[DTP_WARP];
        return dtp_over_block(f, x, room);
    }
    template <class F> static __device__ __forceinline__ float again(F f, float x) {
        __shared__ float room[DTP_WARP];
        return dtp_over_block(f, x, room);
    }
    static __device__ __forceinline__ void between() { __syncthreads(); }
};

/* Instances <stem>_warp_<type> and <stem>_block_<type> of the function body<T, group>(a). */
#define DTP_ROW_KERNELS(stem, args_t, body)                \
    DTP_ROW_KERNELS_OF(stem, args_t, body, f32, float)     \
    DTP_ROW_KERNELS_OF(stem, args_t, body, bf16, dtp_bf16) \
    DTP_ROW_KERNELS_OF(stem, args_t, body, f16, dtp_f16)
#define DTP_ROW_KERNELS_OF(stem, args_t, body, name, T)                                                   \
    DTP_KERNEL_FITTED(stem##_warp_##name, args_t, DTP_GPU_ROW_THREADS, 3) { body<T, dtp_warp_group>(a); } \
    DTP_KERNEL_FITTED(stem##_block_##name, args_t, DTP_GPU_BLOCK_THREADS, 2) { body<T, dtp_block_group>(a); }

#endif
