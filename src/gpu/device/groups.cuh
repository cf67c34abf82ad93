/* Values combined over the threads of a warp or a block, in an order that is always the same. */
#ifndef DTP_GPU_DEVICE_GROUPS_CUH
#define DTP_GPU_DEVICE_GROUPS_CUH

#include "gpu/device/device.cuh"

enum { DTP_WARP = 32 };

struct dtp_add {
    __device__ __forceinline__ float operator()(float x, float y) const { return x + y; }
    static __device__ __forceinline__ float none() { return 0.f; }
};
struct dtp_max {
    __device__ __forceinline__ float operator()(float x, float y) const { return fmaxf(x, y); }
    static __device__ __forceinline__ float none() { return -__int_as_float(0x7f800000); }
};

/* Over the lanes of a warp; all get it. */
template <class F, class T> DTP_DEVICE T dtp_over_warp(F f, T x) {
#pragma unroll
    for (int lane = DTP_WARP / 2; lane > 0; lane /= 2) x = f(x, __shfl_xor_sync(0xffffffff, x, lane));
    return x;
}
/* Over the warps of a block of one dimension, each of which has one value; all get it. room: DTP_WARP values of shared memory,
 * free again at the next __syncthreads. */
template <class F, class T> DTP_DEVICE T dtp_over_warps(F f, T x, T *room) {
    const int warps = (int)blockDim.x / DTP_WARP, warp = (int)threadIdx.x / DTP_WARP,
              lane = (int)threadIdx.x % DTP_WARP;
    if (lane == 0) room[warp] = x;
    __syncthreads();
    return dtp_over_warp(f, lane < warps ? room[lane] : f.none());
}
/* Over a block of whole warps. */
template <class F> DTP_DEVICE float dtp_over_block(F f, float x, float *room) {
    return dtp_over_warps(f, dtp_over_warp(f, x), room);
}

#endif
