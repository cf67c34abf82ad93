/* Reductions of integers in 64 bits, which wrap: a warp or a block has a result, or a part of it. */
#include "gpu/device/rows.cuh"
#include "gpu/reduction/reduction_args.h"

DTP_DEVICE int64_t load(int type, const void *data, int64_t at) {
    switch (type) {
    case dnnl_tp_s64: return ((const int64_t *)data)[at];
    case dnnl_tp_s32: return ((const int32_t *)data)[at];
    case dnnl_tp_s8: return ((const int8_t *)data)[at];
    default: return ((const uint8_t *)data)[at];
    }
}
DTP_DEVICE void store(int type, void *data, int64_t at, int64_t x) {
    switch (type) {
    case dnnl_tp_s64: ((int64_t *)data)[at] = x; break;
    case dnnl_tp_s32: ((int32_t *)data)[at] = (int32_t)x; break;
    case dnnl_tp_boolean: ((uint8_t *)data)[at] = x != 0; break;
    default: ((uint8_t *)data)[at] = (uint8_t)x; break;
    }
}

/* The ends of a type; those of boolean are 0 and 1. */
DTP_DEVICE int64_t most_of(int type) {
    return type == dnnl_tp_s64   ? INT64_MAX
           : type == dnnl_tp_s32 ? INT32_MAX
           : type == dnnl_tp_s8  ? INT8_MAX
           : type == dnnl_tp_u8  ? UINT8_MAX
                                 : 1;
}
DTP_DEVICE int64_t least_of(int type) {
    return type == dnnl_tp_u8 || type == dnnl_tp_boolean ? 0 : -most_of(type) - 1;
}

struct combine_t {
    int how, type;
    __device__ __forceinline__ int64_t operator()(int64_t x, int64_t y) const {
        return how == DTP_COMBINE_SUM   ? (int64_t)((uint64_t)x + (uint64_t)y)
               : how == DTP_COMBINE_MUL ? (int64_t)((uint64_t)x * (uint64_t)y)
               : how == DTP_COMBINE_MAX ? max(x, y)
                                        : min(x, y);
    }
    __device__ __forceinline__ int64_t none() const {
        return how == DTP_COMBINE_SUM   ? 0
               : how == DTP_COMBINE_MUL ? 1
               : how == DTP_COMBINE_MAX ? least_of(type)
                                        : most_of(type);
    }
};
DTP_DEVICE int64_t map(int how, int64_t x) {
    if (how == DTP_MAP_NONE) return x;
    return how == DTP_MAP_SQUARE ? (int64_t)((uint64_t)x * (uint64_t)x)
           : x < 0               ? (int64_t)(0 - (uint64_t)x)
                                 : x;
}

DTP_KERNEL(dtp_reduction_exact, dtp_gpu_reduction_args_t, DTP_REDUCTION_THREADS) {
    __shared__ int64_t room[DTP_WARP];
    const dtp_group group(a.by_warps);
    const combine_t with = {a.combine, a.src.type};
    const int64_t begin = blockIdx.y * a.chunk, end = min(begin + a.chunk, a.reduced.n);
    for (int64_t row = group.first; row < a.kept.n; row += group.count) {
        const dtp_position p = dtp_decode(a.kept, row);
        const int64_t src = dtp_offset(p, a.kept, a.src);
        int64_t sum = with.none();
        for (int64_t i = begin + group.thread; i < end; i += group.threads) {
            const int64_t at = src + dtp_offset(dtp_decode(a.reduced, i), a.reduced.ndims, a.reduced_step);
            sum = with(sum, map(a.map, load(a.src.type, a.src.data, at)));
        }
        sum = group.over(with, sum, room);
        group.wait();
        if (a.finish == DTP_FINISH_MEAN) sum = a.count ? sum / a.count : 0;
        if (group.thread > 0) continue;
        if (a.finish == DTP_FINISH_PART) ((int64_t *)a.dst.data)[blockIdx.y * a.kept.n + row] = sum;
        else store(a.dst.type, a.dst.data, dtp_offset(p, a.kept, a.dst), sum);
    }
}
