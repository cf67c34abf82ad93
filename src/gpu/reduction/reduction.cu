/* Reductions. Results that have few elements each, or elements side by side with those of the next result, are columns: a
 * lane has results of its own. Others are rows: a warp or a block has a result. Long ones are cut into parts, whose results a
 * second launch combines; every order is fixed. */
#include "gpu/device/chain.cuh"
#include "gpu/device/rows.cuh"
#include "gpu/reduction/reduction_args.h"

DTP_DEVICE float none_of(int combine) {
    const float infinity = __int_as_float(0x7f800000);
    return combine == DTP_COMBINE_SUM   ? 0.f
           : combine == DTP_COMBINE_MUL ? 1.f
           : combine == DTP_COMBINE_MAX ? -infinity
                                        : infinity;
}
DTP_DEVICE float combine(int how, float x, float y) {
    return how == DTP_COMBINE_SUM   ? x + y
           : how == DTP_COMBINE_MUL ? x * y
           : how == DTP_COMBINE_MAX ? fmaxf(x, y)
                                    : fminf(x, y);
}
struct combine_t {
    int how;
    __device__ __forceinline__ float operator()(float x, float y) const { return combine(how, x, y); }
    __device__ __forceinline__ float none() const { return none_of(how); }
};
DTP_DEVICE float map(const dtp_gpu_reduction_args_t &a, float x) {
    return a.map == DTP_MAP_NONE     ? x
           : a.map == DTP_MAP_ABS    ? fabsf(x)
           : a.map == DTP_MAP_SQUARE ? x * x
                                     : powf(fabsf(x), a.p);
}
DTP_DEVICE float finish(const dtp_gpu_reduction_args_t &a, float x) {
    if (a.finish == DTP_FINISH_NONE) return x;
    if (a.finish == DTP_FINISH_MEAN) return x / (float)a.count;
    if (a.finish == DTP_FINISH_FLOOR || a.finish == DTP_FINISH_FLOOR_ROOT) x = fmaxf(x, a.eps);
    else x += a.eps;
    if (a.finish < DTP_FINISH_FLOOR_ROOT) return x;
    return a.p == 1.f ? x : a.p == 2.f ? sqrtf(x) : powf(x, 1.f / a.p);
}

/* m results from number i on, which stand at p. */
template <int V>
DTP_DEVICE void store(const dtp_gpu_reduction_args_t &a, const dtp_position &p, int64_t i, int m,
                      float (&x)[V]) {
    if (a.finish == DTP_FINISH_PART) {
        dtp_store_each((float *)a.dst.data + blockIdx.y * a.kept.n + i, 1, m, x);
        return;
    }
#pragma unroll
    for (int k = 0; k < V; ++k) x[k] = finish(a, x[k]);
    dtp_chain_apply(a.chain, i, m, x);
    dtp_write(a.dst, a.kept, p, m, x);
}

DTP_DEVICE int64_t part_begin(const dtp_gpu_reduction_args_t &a) { return blockIdx.y * a.chunk; }
DTP_DEVICE int64_t part_end(const dtp_gpu_reduction_args_t &a) {
    return min(part_begin(a) + a.chunk, a.reduced.n);
}

/* Runs that a thread has on their way at a time. Those of rows lie along reduced dimensions; those of columns are one element
 * of V results. */
template <int V, bool ROWS> struct batch_t {
    enum { RUNS = 4 };
    float x[RUNS][V];
    int m[RUNS]; /* of each run */

    template <class T>
    __device__ __forceinline__ void load_whole(const void *data, const int64_t (&at)[RUNS]) {
#pragma unroll
        for (int r = 0; r < RUNS; ++r) dtp_load((const T *)data + at[r], x[r]);
    }
    /* Elements i, i + apart, ... of those before end, of a result whose first element is src; of `columns` results. */
    __device__ __forceinline__ void load(const dtp_gpu_reduction_args_t &a, int64_t src, int64_t i, int apart,
                                         int64_t end, int columns) {
        int64_t at[RUNS];
        bool whole = V == 1 || a.src.aligned;
#pragma unroll
        for (int r = 0; r < RUNS; ++r, i += apart) {
            m[r] = i >= end ? 0 : ROWS ? (int)min((int64_t)V, end - i) : columns;
            at[r] = src + dtp_offset(dtp_decode(a.reduced, i < end ? i : 0), a.reduced.ndims, a.reduced_step);
            whole &= m[r] == V;
        }
        if (whole) {
#define LOAD_WHOLE(T) load_whole<T>(a.src.data, at)
            DTP_OF_TYPE(a.src.type, LOAD_WHOLE)
#undef LOAD_WHOLE
            return;
        }
        const int64_t step = ROWS ? a.reduced_step[0] : a.src.stride[0];
#pragma unroll
        for (int r = 0; r < RUNS; ++r)
            if (m[r] > 0) dtp_load_any(a.src.type, a.src.data, at[r], step, a.src.aligned, m[r], x[r]);
    }
    __device__ __forceinline__ void add_to(const dtp_gpu_reduction_args_t &a, float (&sum)[V]) const {
#pragma unroll
        for (int r = 0; r < RUNS; ++r)
#pragma unroll
            for (int k = 0; k < V; ++k)
                if (k < m[r]) sum[k] = combine(a.combine, sum[k], map(a, x[r][k]));
    }
};

template <int V> DTP_DEVICE void begin(const dtp_gpu_reduction_args_t &a, float (&sum)[V]) {
#pragma unroll
    for (int k = 0; k < V; ++k) sum[k] = none_of(a.combine);
}

template <int V, class GROUP> DTP_DEVICE void reduce_rows(const dtp_gpu_reduction_args_t &a) {
    typedef batch_t<V, true> batch;
    const int64_t end = part_end(a);
    const int apart = V * GROUP::threads();
    for (int64_t row = GROUP::first(); row < a.kept.n; row += GROUP::count()) {
        const dtp_position p = dtp_decode(a.kept, row);
        const int64_t src = dtp_offset(p, a.kept, a.src);
        float sum[V];
        begin(a, sum);
        for (int64_t i = part_begin(a) + V * GROUP::thread(); i < end; i += batch::RUNS * apart) {
            batch b;
            b.load(a, src, i, apart, end, 0);
            b.add_to(a, sum);
        }
#pragma unroll
        for (int k = 1; k < V; ++k) sum[0] = combine(a.combine, sum[0], sum[k]);
        float y[1] = {GROUP::once(combine_t{a.combine}, sum[0])};
        GROUP::between();
        if (GROUP::thread() == 0) store(a, p, row, 1, y);
    }
}

template <int V> DTP_DEVICE void reduce_columns(const dtp_gpu_reduction_args_t &a) {
    typedef batch_t<V, false> batch;
    enum { WARPS = DTP_REDUCTION_THREADS / DTP_WARP, WIDTH = V * DTP_WARP };
    __shared__ float room[WARPS][WIDTH];
    const int lane = threadIdx.x % DTP_WARP, warp = threadIdx.x / DTP_WARP;
    const int64_t end = part_end(a);
    for (int64_t first = (int64_t)blockIdx.x * WIDTH; first < a.kept.n; first += (int64_t)gridDim.x * WIDTH) {
        const int64_t column = first + V * lane;
        const int m = (int)max((int64_t)0, min((int64_t)V, a.kept.n - column));
        const dtp_position p = dtp_decode(a.kept, m > 0 ? column : 0);
        const int64_t src = dtp_offset(p, a.kept, a.src);
        float sum[V];
        begin(a, sum);
        for (int64_t i = part_begin(a) + warp; i < end && m > 0; i += batch::RUNS * WARPS) {
            batch b;
            b.load(a, src, i, WARPS, end, m);
            b.add_to(a, sum);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < V; ++k) room[warp][k * DTP_WARP + lane] = sum[k];
        __syncthreads();
        if (warp > 0 || m == 0) continue;
        for (int w = 1; w < WARPS; ++w)
#pragma unroll
            for (int k = 0; k < V; ++k) sum[k] = combine(a.combine, sum[k], room[w][k * DTP_WARP + lane]);
        store(a, p, column, m, sum);
    }
}

/* runs: of DTP_GPU_RUN elements. */
#define KERNEL(name, body) \
    DTP_KERNEL_FITTED(dtp_reduction_##name, dtp_gpu_reduction_args_t, DTP_REDUCTION_THREADS, 3) { body(a); }
KERNEL(warp_runs, (reduce_rows<DTP_GPU_RUN, dtp_warp_group>))
KERNEL(warp_any, (reduce_rows<1, dtp_warp_group>))
KERNEL(block_runs, (reduce_rows<DTP_GPU_RUN, dtp_block_group>))
KERNEL(block_any, (reduce_rows<1, dtp_block_group>))
KERNEL(columns_runs, reduce_columns<DTP_GPU_RUN>)
KERNEL(columns_any, reduce_columns<1>)
