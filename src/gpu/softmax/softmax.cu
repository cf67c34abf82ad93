/* Softmax and logsoftmax. Rows of one type whose elements lie together are held in registers, one read and one write; others
 * are read twice. */
#include "gpu/device/chain.cuh"
#include "gpu/device/rows.cuh"
#include "gpu/softmax/softmax_args.h"

DTP_DEVICE float infinity() { return __int_as_float(0x7f800000); }

/* The errors of the fast one are below those of 16-bit results. */
template <class T> DTP_DEVICE float exp_of(float x) { return __expf(x); }
template <> __device__ __forceinline__ float exp_of<float>(float x) { return expf(x); }

/* ---- Rows in registers -------------------------------------------------------------------------------- */

template <class ROW> DTP_DEVICE float largest_of(const ROW &row) {
    float y = -infinity();
#pragma unroll
    for (int r = 0; r < ROW::RUNS; ++r)
#pragma unroll
        for (int k = 0; k < ROW::V; ++k) y = fmaxf(y, row.x[r][k]);
    return y;
}
/* Subtracts; the sum of exp. Softmax keeps exp. */
template <class T> DTP_DEVICE float exp_sum(dtp_row<T> &row, float largest, bool is_log) {
    float sum = 0.f;
#pragma unroll
    for (int r = 0; r < dtp_row<T>::RUNS; ++r)
#pragma unroll
        for (int k = 0; k < dtp_row<T>::V; ++k) {
            const float d = row.x[r][k] - largest, e = exp_of<T>(d);
            sum += e;
            row.x[r][k] = is_log ? d : e;
        }
    return sum;
}
/* (x - less) * factor. */
template <class T>
DTP_DEVICE void store_row(dtp_row<T> &row, T *dst, int n, int t, int threads, float less, float factor) {
#pragma unroll
    for (int r = 0; r < dtp_row<T>::RUNS; ++r) {
        const int i = row.begin(r, t, threads);
#pragma unroll
        for (int k = 0; k < dtp_row<T>::V; ++k) row.x[r][k] = (row.x[r][k] - less) * factor;
        if (i < n) dtp_store(dst + i, row.x[r]);
    }
}

template <class T> DTP_DEVICE void softmax_held(const dtp_gpu_softmax_args_t &a) {
    __shared__ float room[2][DTP_WARP];
    const float scale = dtp_scale(a.src_scale) / dtp_scale(a.dst_scale);
    const dtp_group group(a.rows.by_warps);
    for (int64_t i = group.first; i < a.rows.dims.n; i += group.count) {
        const dtp_position p = dtp_decode(a.rows.dims, i);
        dtp_row<T> row;
        row.load(dtp_src_row<T>(a.rows, p), (int)a.rows.n, group.thread, group.threads, -infinity());
        const float largest = group.over(dtp_max(), largest_of(row), room[0]);
        const float sum = group.over(dtp_add(), exp_sum(row, largest, a.is_log), room[1]);
        store_row(row, dtp_dst_row<T>(a.rows, p), (int)a.rows.n, group.thread, group.threads,
                  a.is_log ? logf(sum) : 0.f, a.is_log ? scale : scale / sum);
    }
}
DTP_ROW_KERNELS(dtp_softmax_held, dtp_gpu_softmax_args_t, softmax_held)

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

/* A warp or a block has a row. */
template <int V> DTP_DEVICE void softmax_rows(const dtp_gpu_softmax_args_t &a) {
    __shared__ float room[2][DTP_WARP];
    const dtp_group group(a.rows.by_warps);
    for (int64_t i = group.first; i < a.rows.dims.n; i += group.count) {
        const dtp_position p = dtp_decode(a.rows.dims, i);
        const int64_t dst = dtp_offset(p, a.rows.dims, a.rows.dst);
        const dtp_read_row<V> row(a.rows, p, group);
        state_t state = {-infinity(), 0.f};
        row.each_batch(-infinity(), [&](const float(&x)[dtp_read_row<V>::BATCH * V]) {
            state.add(x, dtp_read_row<V>::BATCH * V);
        });
        const float largest = group.over(dtp_max(), state.largest, room[0]);
        const finish_t finish = finish_of(a, largest, group.over(dtp_add(), state.of(largest), room[1]));
        row.each_run([&](int64_t at, int m, float(&x)[V]) {
            finish.apply(a, i * a.rows.n + at, m, x);
            dtp_store_any(a.rows.dst.type, a.rows.dst.data, dst + at * a.rows.dst_step, a.rows.dst_step,
                          a.rows.dst.aligned, m, x);
        });
    }
}
DTP_KERNEL_FITTED(dtp_softmax_rows, dtp_gpu_softmax_args_t, DTP_GPU_LONG_RUNS_THREADS, 1) {
    softmax_rows<DTP_GPU_RUN>(a);
}
DTP_KERNEL(dtp_softmax_rows_any, dtp_gpu_softmax_args_t, DTP_GPU_LONG_ROW_THREADS) { softmax_rows<1>(a); }

/* A lane of a block has V rows that lie side by side; each warp takes every DTP_SOFTMAX_COLUMN_WARPS-th element of them. */
template <int V> DTP_DEVICE void softmax_columns(const dtp_gpu_softmax_args_t &a) {
    enum { WARPS = DTP_SOFTMAX_COLUMN_WARPS, WIDTH = V * DTP_WARP };
    __shared__ float room[2][WARPS][V][DTP_WARP]; /* the largest, the sum */
    const int lane = threadIdx.x % DTP_WARP, warp = threadIdx.x / DTP_WARP;
    for (int64_t first = (int64_t)blockIdx.x * WIDTH; first < a.rows.dims.n;
         first += (int64_t)gridDim.x * WIDTH) {
        const int64_t row = first + V * lane;
        const int m = (int)max((int64_t)0, min((int64_t)V, a.rows.dims.n - row));
        const dtp_position p = dtp_decode(a.rows.dims, m > 0 ? row : 0);
        const int64_t src = dtp_offset(p, a.rows.dims, a.rows.src),
                      dst = dtp_offset(p, a.rows.dims, a.rows.dst), n = m > 0 ? a.rows.n : 0;
        state_t state[V];
        finish_t finish[V];
#pragma unroll
        for (int k = 0; k < V; ++k) state[k] = {-infinity(), 0.f};
        for (int64_t i = warp; i < n; i += WARPS) {
            float x[V];
            dtp_load_any(a.rows.src.type, a.rows.src.data, src + i * a.rows.src_step, 1, a.rows.src.aligned,
                         m, x);
#pragma unroll
            for (int k = 0; k < V; ++k) {
                const float one[1] = {x[k]};
                state[k].add(one, 1);
            }
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < V; ++k)
            room[0][warp][k][lane] = state[k].largest, room[1][warp][k][lane] = state[k].sum;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < V; ++k) {
            float largest = -infinity(), sum = 0.f;
            for (int w = 0; w < WARPS; ++w) largest = fmaxf(largest, room[0][w][k][lane]);
            for (int w = 0; w < WARPS; ++w)
                sum += state_t{room[0][w][k][lane], room[1][w][k][lane]}.of(largest);
            finish[k] = finish_of(a, largest, sum);
        }
        for (int64_t i = warp; i < n; i += WARPS) {
            float x[V];
            dtp_load_any(a.rows.src.type, a.rows.src.data, src + i * a.rows.src_step, 1, a.rows.src.aligned,
                         m, x);
#pragma unroll
            for (int k = 0; k < V; ++k) {
                float one[1] = {x[k]};
                if (k < m) finish[k].apply(a, (row + k) * a.rows.n + i, 1, one);
                x[k] = one[0];
            }
            dtp_store_any(a.rows.dst.type, a.rows.dst.data, dst + i * a.rows.dst_step, 1, a.rows.dst.aligned,
                          m, x);
        }
    }
}
DTP_KERNEL_FITTED(dtp_softmax_columns, dtp_gpu_softmax_args_t, DTP_WARP *DTP_SOFTMAX_COLUMN_WARPS, 4) {
    softmax_columns<1>(a);
}
DTP_KERNEL_FITTED(dtp_softmax_columns_runs, dtp_gpu_softmax_args_t, DTP_WARP *DTP_SOFTMAX_COLUMN_WARPS, 4) {
    softmax_columns<DTP_GPU_RUN>(a);
}
