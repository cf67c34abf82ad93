/* Softmax and logsoftmax. Rows of one type whose elements lie together are held in registers, one read and one write; others
 * are read twice. */
#include "gpu/device/chain.cuh"
#include "gpu/device/groups.cuh"
#include "gpu/softmax/softmax_args.h"

DTP_DEVICE float infinity() { return __int_as_float(0x7f800000); }

/* The errors of the fast one are below those of 16-bit results. */
template <class T> DTP_DEVICE float exp_of(float x) { return __expf(x); }
template <> __device__ __forceinline__ float exp_of<float>(float x) { return expf(x); }

/* ---- Rows in registers -------------------------------------------------------------------------------- */

/* Lane t of a group of `threads` has the runs t, t + threads, ... of a row. Past the row they are -infinity. */
template <class T> struct row_t {
    enum { V = 16 / sizeof(T), RUNS = 32 / V };
    float x[RUNS][V];

    __device__ __forceinline__ void load(const T *src, int64_t n, int t, int threads) {
#pragma unroll
        for (int r = 0; r < RUNS; ++r) {
            const int64_t i = (int64_t)V * (r * threads + t);
            if (i < n) dtp_load(src + i, x[r]);
            else
#pragma unroll
                for (int k = 0; k < V; ++k) x[r][k] = -infinity();
        }
    }
    __device__ __forceinline__ float largest() const {
        float y = -infinity();
#pragma unroll
        for (int r = 0; r < RUNS; ++r)
#pragma unroll
            for (int k = 0; k < V; ++k) y = fmaxf(y, x[r][k]);
        return y;
    }
    /* Subtracts; the sum of exp. Softmax keeps exp. */
    __device__ __forceinline__ float exp_sum(float largest, bool is_log) {
        float sum = 0.f;
#pragma unroll
        for (int r = 0; r < RUNS; ++r)
#pragma unroll
            for (int k = 0; k < V; ++k) {
                const float d = x[r][k] - largest, e = exp_of<T>(d);
                sum += e;
                x[r][k] = is_log ? d : e;
            }
        return sum;
    }
    /* x * factor - less. */
    __device__ __forceinline__ void store(T *dst, int64_t n, int t, int threads, float factor, float less) {
#pragma unroll
        for (int r = 0; r < RUNS; ++r) {
            const int64_t i = (int64_t)V * (r * threads + t);
#pragma unroll
            for (int k = 0; k < V; ++k) x[r][k] = (x[r][k] - less) * factor;
            if (i < n) dtp_store(dst + i, x[r]);
        }
    }
};

template <class T> DTP_DEVICE const T *src_row(const dtp_gpu_softmax_args_t &a, const dtp_position &p) {
    return (const T *)a.src.data + dtp_offset(p, a.rows, a.src);
}
template <class T> DTP_DEVICE T *dst_row(const dtp_gpu_softmax_args_t &a, const dtp_position &p) {
    return (T *)a.dst.data + dtp_offset(p, a.rows, a.dst);
}

template <class T> DTP_DEVICE void softmax_warp(const dtp_gpu_softmax_args_t &a) {
    const int lane = threadIdx.x % DTP_WARP;
    const float scale = dtp_scale(a.src_scale) / dtp_scale(a.dst_scale);
    for (int64_t i = dtp_thread() / DTP_WARP; i < a.rows.n; i += dtp_threads() / DTP_WARP) {
        const dtp_position p = dtp_decode(a.rows, i);
        row_t<T> row;
        row.load(src_row<T>(a, p), a.n, lane, DTP_WARP);
        const float largest = dtp_over_warp(dtp_max(), row.largest());
        const float sum = dtp_over_warp(dtp_add(), row.exp_sum(largest, a.is_log));
        row.store(dst_row<T>(a, p), a.n, lane, DTP_WARP, a.is_log ? scale : scale / sum,
                  a.is_log ? logf(sum) : 0.f);
    }
}

template <class T> DTP_DEVICE void softmax_block(const dtp_gpu_softmax_args_t &a) {
    __shared__ float room[2][DTP_WARP];
    const float scale = dtp_scale(a.src_scale) / dtp_scale(a.dst_scale);
    for (int64_t i = blockIdx.x; i < a.rows.n; i += gridDim.x) {
        const dtp_position p = dtp_decode(a.rows, i);
        row_t<T> row;
        row.load(src_row<T>(a, p), a.n, threadIdx.x, blockDim.x);
        const float largest = dtp_over_block(dtp_max(), row.largest(), room[0]);
        const float sum = dtp_over_block(dtp_add(), row.exp_sum(largest, a.is_log), room[1]);
        row.store(dst_row<T>(a, p), a.n, threadIdx.x, blockDim.x, a.is_log ? scale : scale / sum,
                  a.is_log ? logf(sum) : 0.f);
    }
}

DTP_KERNEL(dtp_softmax_warp_f32, dtp_gpu_softmax_args_t, DTP_SOFTMAX_ROW_THREADS) { softmax_warp<float>(a); }
DTP_KERNEL(dtp_softmax_warp_bf16, dtp_gpu_softmax_args_t, DTP_SOFTMAX_ROW_THREADS) {
    softmax_warp<dtp_bf16>(a);
}
DTP_KERNEL(dtp_softmax_warp_f16, dtp_gpu_softmax_args_t, DTP_SOFTMAX_ROW_THREADS) {
    softmax_warp<dtp_f16>(a);
}
DTP_KERNEL_FITTED(dtp_softmax_block_f32, dtp_gpu_softmax_args_t, DTP_SOFTMAX_BLOCK_THREADS, 2) {
    softmax_block<float>(a);
}
DTP_KERNEL_FITTED(dtp_softmax_block_bf16, dtp_gpu_softmax_args_t, DTP_SOFTMAX_BLOCK_THREADS, 2) {
    softmax_block<dtp_bf16>(a);
}
DTP_KERNEL_FITTED(dtp_softmax_block_f16, dtp_gpu_softmax_args_t, DTP_SOFTMAX_BLOCK_THREADS, 2) {
    softmax_block<dtp_f16>(a);
}

/* ---- Rows that are read twice ------------------------------------------------------------------------- */

/* The largest of what was seen, and the sum of exp of the differences to it. */
struct state_t {
    float largest, sum;

    /* Differences are to 0 while everything is -infinity. */
    static __device__ __forceinline__ float base(float largest) {
        return largest == -infinity() ? 0.f : largest;
    }
    template <int V> __device__ __forceinline__ void add(const float (&x)[V], int m) {
        float next = largest;
#pragma unroll
        for (int k = 0; k < V; ++k)
            if (k < m) next = fmaxf(next, x[k]);
        sum *= expf(largest - base(next));
        largest = next;
#pragma unroll
        for (int k = 0; k < V; ++k)
            if (k < m) sum += expf(x[k] - base(largest));
    }
    /* The sum as one of differences to `all`, which is not below largest. */
    __device__ __forceinline__ float of(float all) const { return sum * expf(largest - base(all)); }
};

struct finish_t {
    float largest, sum, log_sum, src_scale, dst_scale;

    template <int V>
    __device__ __forceinline__ void apply(const dtp_gpu_softmax_args_t &a, int64_t index, int m,
                                          float (&x)[V]) const {
#pragma unroll
        for (int k = 0; k < V; ++k)
            x[k] = (a.is_log ? x[k] - largest - log_sum : expf(x[k] - largest) / sum) * src_scale;
        dtp_chain_apply(a.chain, index, m, x);
#pragma unroll
        for (int k = 0; k < V; ++k) x[k] /= dst_scale;
    }
};
DTP_DEVICE finish_t finish_of(const dtp_gpu_softmax_args_t &a, float largest, float sum) {
    return {largest, sum, logf(sum), dtp_scale(a.src_scale), dtp_scale(a.dst_scale)};
}

/* A block has a row. */
template <int V> DTP_DEVICE void softmax_rows(const dtp_gpu_softmax_args_t &a) {
    __shared__ float room[2][DTP_WARP];
    for (int64_t row = blockIdx.x; row < a.rows.n; row += gridDim.x) {
        const dtp_position p = dtp_decode(a.rows, row);
        const int64_t src = dtp_offset(p, a.rows, a.src), dst = dtp_offset(p, a.rows, a.dst);
        state_t state = {-infinity(), 0.f};
        float x[V];
        for (int64_t i = V * threadIdx.x; i < a.n; i += V * blockDim.x) {
            const int m = (int)min((int64_t)V, a.n - i);
            dtp_load_any(a.src.type, a.src.data, src + i * a.src_step, a.src_step, a.src.aligned, m, x);
            state.add(x, m);
        }
        const float largest = dtp_over_block(dtp_max(), state.largest, room[0]);
        const finish_t finish = finish_of(a, largest, dtp_over_block(dtp_add(), state.of(largest), room[1]));
        for (int64_t i = V * threadIdx.x; i < a.n; i += V * blockDim.x) {
            const int m = (int)min((int64_t)V, a.n - i);
            dtp_load_any(a.src.type, a.src.data, src + i * a.src_step, a.src_step, a.src.aligned, m, x);
            finish.apply(a, row * a.n + i, m, x);
            dtp_store_any(a.dst.type, a.dst.data, dst + i * a.dst_step, a.dst_step, a.dst.aligned, m, x);
        }
    }
}
DTP_KERNEL(dtp_softmax_rows, dtp_gpu_softmax_args_t, DTP_SOFTMAX_ROW_THREADS) {
    softmax_rows<DTP_GPU_RUN>(a);
}
DTP_KERNEL(dtp_softmax_rows_any, dtp_gpu_softmax_args_t, DTP_SOFTMAX_ROW_THREADS) { softmax_rows<1>(a); }

/* A lane of a block has a row, of which each warp takes every DTP_SOFTMAX_COLUMN_WARPS-th element. */
DTP_KERNEL(dtp_softmax_columns, dtp_gpu_softmax_args_t, DTP_WARP *DTP_SOFTMAX_COLUMN_WARPS) {
    enum { WARPS = DTP_SOFTMAX_COLUMN_WARPS };
    __shared__ state_t room[WARPS][DTP_WARP];
    const int lane = threadIdx.x % DTP_WARP, warp = threadIdx.x / DTP_WARP;
    for (int64_t first = (int64_t)blockIdx.x * DTP_WARP; first < a.rows.n;
         first += (int64_t)gridDim.x * DTP_WARP) {
        const int64_t row = min(first + lane, a.rows.n - 1);
        const dtp_position p = dtp_decode(a.rows, row);
        const int64_t src = dtp_offset(p, a.rows, a.src), dst = dtp_offset(p, a.rows, a.dst);
        state_t state = {-infinity(), 0.f};
        for (int64_t i = warp; i < a.n; i += WARPS) {
            const float x[1] = {dtp_load_one(a.src.type, a.src.data, src + i * a.src_step)};
            state.add(x, 1);
        }
        __syncthreads();
        room[warp][lane] = state;
        __syncthreads();
        float largest = -infinity(), sum = 0.f;
        for (int w = 0; w < WARPS; ++w) largest = fmaxf(largest, room[w][lane].largest);
        for (int w = 0; w < WARPS; ++w) sum += room[w][lane].of(largest);
        const finish_t finish = finish_of(a, largest, sum);
        for (int64_t i = warp; i < a.n && first + lane < a.rows.n; i += WARPS) {
            float x[1] = {dtp_load_one(a.src.type, a.src.data, src + i * a.src_step)};
            finish.apply(a, row * a.n + i, 1, x);
            dtp_store_one(a.dst.type, a.dst.data, dst + i * a.dst_step, x[0]);
        }
    }
}
