/* Reductions. Results that have few elements each, or elements side by side with those of the next result, are columns: a
 * lane has results of its own. Others are rows: a warp or a block has a result. Long ones are cut into parts, whose results a
 * second launch combines; every order is fixed. */
#include "gpu/device/chain.cuh"
#include "gpu/device/rows.cuh"
#include "gpu/reduction/reduction_args.h"

DTP_DEVICE float none_of(int combine) {
    const float infinity = __int_as_float(0x7f800000);
    return combine == DTP_COMBINE_SUM                                     ? 0.f
           : combine == DTP_COMBINE_MUL                                   ? 1.f
           : combine == DTP_COMBINE_MAX || combine == DTP_COMBINE_MAXIMUM ? -infinity
                                                                          : infinity;
}
DTP_DEVICE float combine(int how, float x, float y) {
    return how == DTP_COMBINE_SUM       ? x + y
           : how == DTP_COMBINE_MUL     ? x * y
           : how == DTP_COMBINE_MAX     ? fmaxf(x, y)
           : how == DTP_COMBINE_MIN     ? fminf(x, y)
           : how == DTP_COMBINE_MAXIMUM ? (x > y || x != x ? x : y)
                                        : (x < y || x != x ? x : y);
}
struct combine_t {
    int how;
    __device__ __forceinline__ float operator()(float x, float y) const { return combine(how, x, y); }
    __device__ __forceinline__ float none() const { return none_of(how); }
};
/* POWER: kernels of any norm, which go element by element; others know the first and the second one. */
template <bool POWER> DTP_DEVICE float map(const dtp_gpu_reduction_args_t &a, float x) {
    if (POWER) return powf(fabsf(x), a.p);
    return a.map == DTP_MAP_NONE ? x : a.map == DTP_MAP_ABS ? fabsf(x) : x * x;
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

/* Elements i, i + apart, ... of those before end, of results whose first element is at src. A run of a row lies along reduced
 * dimensions; one of a column is an element of V results, of which `columns` exist. */
template <int V, bool ROWS> struct elements_t {
    enum { BATCH = 4 }; /* runs that a thread has on their way */
    const dtp_gpu_reduction_args_t &a;
    int64_t src, end;
    int columns;

    __device__ __forceinline__ int64_t at(int64_t i) const {
        return src + dtp_offset(dtp_decode(a.reduced, i), a.reduced.ndims, a.reduced_step);
    }
    __device__ __forceinline__ int width(int64_t i) const {
        return ROWS ? (int)min((int64_t)V, end - i) : columns;
    }
    template <bool POWER>
    __device__ __forceinline__ void add(const float (&x)[V], int m, float (&sum)[V]) const {
#pragma unroll
        for (int k = 0; k < V; ++k)
            if (k < m) sum[k] = combine(a.combine, sum[k], map<POWER>(a, x[k]));
    }
    /* BATCH whole runs that are aligned. */
    __device__ __forceinline__ void add_batch(int64_t i, int apart, float (&sum)[V]) const {
        int64_t where[BATCH];
        uint32_t bits[BATCH][V];
#pragma unroll
        for (int r = 0; r < BATCH; ++r) where[r] = at(i + r * apart);
#define LOAD_BATCH(RAW)                               \
    _Pragma("unroll") for (int r = 0; r < BATCH; ++r) \
        dtp_load_raw<RAW, V>(a.src.data, where[r], 1, true, V, bits[r])
        DTP_OF_SIZE(a.src.type, LOAD_BATCH)
#undef LOAD_BATCH
#pragma unroll
        for (int r = 0; r < BATCH; ++r) {
            float x[V];
            dtp_of_bits(a.src.type, bits[r], x);
            add<false>(x, V, sum);
        }
    }
    template <bool POWER> __device__ __forceinline__ void add_one(int64_t i, float (&sum)[V]) const {
        const int m = width(i);
        float x[V];
        dtp_load_any(a.src.type, a.src.data, at(i), ROWS ? a.reduced_step[0] : a.src.stride[0], a.src.aligned,
                     m, x);
        add<POWER>(x, m, sum);
    }
    template <bool POWER>
    __device__ __forceinline__ void add_all(int64_t i, int apart, float (&sum)[V]) const {
        const bool aligned = !POWER && (V == 1 || a.src.aligned) && (ROWS || columns == V);
        const int64_t last =
            (int64_t)(BATCH - 1) * apart + (ROWS ? V : 1); /* a batch ends so much behind i */
        for (; aligned && i + last <= end; i += BATCH * apart) add_batch(i, apart, sum);
#pragma unroll 1
        for (; i < end; i += apart) add_one<POWER>(i, sum);
    }
};

template <int V> DTP_DEVICE void begin(const dtp_gpu_reduction_args_t &a, float (&sum)[V]) {
#pragma unroll
    for (int k = 0; k < V; ++k) sum[k] = none_of(a.combine);
}

template <int V, bool POWER> DTP_DEVICE void reduce_rows(const dtp_gpu_reduction_args_t &a) {
    __shared__ float room[DTP_WARP];
    const dtp_group group(a.by_warps);
    const int64_t end = part_end(a);
    for (int64_t row = group.first; row < a.kept.n; row += group.count) {
        const dtp_position p = dtp_decode(a.kept, row);
        const elements_t<V, true> elements = {a, dtp_offset(p, a.kept, a.src), end, 0};
        float sum[V];
        begin(a, sum);
        elements.template add_all<POWER>(part_begin(a) + V * group.thread, V * group.threads, sum);
#pragma unroll
        for (int k = 1; k < V; ++k) sum[0] = combine(a.combine, sum[0], sum[k]);
        float y[1] = {group.over(combine_t{a.combine}, sum[0], room)};
        group.wait();
        if (group.thread == 0) store(a, p, row, 1, y);
    }
}

template <int V, bool POWER> DTP_DEVICE void reduce_columns(const dtp_gpu_reduction_args_t &a) {
    enum { WARPS = DTP_REDUCTION_THREADS / DTP_WARP, WIDTH = V * DTP_WARP };
    __shared__ float room[WARPS][WIDTH];
    const int lane = threadIdx.x % DTP_WARP, warp = threadIdx.x / DTP_WARP;
    for (int64_t first = (int64_t)blockIdx.x * WIDTH; first < a.kept.n; first += (int64_t)gridDim.x * WIDTH) {
        const int64_t column = first + V * lane;
        const int m = (int)max((int64_t)0, min((int64_t)V, a.kept.n - column));
        const dtp_position p = dtp_decode(a.kept, m > 0 ? column : 0);
        const elements_t<V, false> elements = {a, dtp_offset(p, a.kept, a.src), m > 0 ? part_end(a) : 0, m};
        float sum[V];
        begin(a, sum);
        elements.template add_all<POWER>(part_begin(a) + warp, WARPS, sum);
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
KERNEL(rows_runs, (reduce_rows<DTP_GPU_RUN, false>))
KERNEL(rows_any, (reduce_rows<1, false>))
KERNEL(rows_power, (reduce_rows<1, true>))
KERNEL(columns_runs, (reduce_columns<DTP_GPU_RUN, false>))
KERNEL(columns_any, (reduce_columns<1, false>))
KERNEL(columns_power, (reduce_columns<1, true>))
