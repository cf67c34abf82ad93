/* Layer and root-mean-square normalization. Rows of one type whose elements lie together are held in registers, one read and
 * one write; others are read three times. */
#include "gpu/device/chain.cuh"
#include "gpu/device/rows.cuh"
#include "gpu/layer_norm/layer_norm_args.h"

/* What the elements of a row become: (x - mean) * factor. */
struct norm_t {
    float mean, factor;
};

/* Statistics of a row: given, or from its sums, which all threads of the group compute; the first one keeps them. sum() is of the
 * elements, squares(mean) of the squares of their differences to the mean. */
template <class SUM, class SQUARES>
DTP_DEVICE norm_t statistics(const dtp_gpu_layer_norm_args_t &a, const dtp_group &group,
                             const dtp_position &p, SUM sum, SQUARES squares) {
    __shared__ float room[2][DTP_WARP];
    const int64_t at = dtp_offset(p, a.rows.dims.ndims, a.stat_stride);
    const bool rms = a.flags & DTP_LAYER_NORM_RMS;
    float mean = 0.f, variance;
    if (a.flags & DTP_LAYER_NORM_GLOBAL) {
        if (!rms) mean = a.mean[at];
        variance = a.variance[at];
    } else {
        const float n = (float)a.rows.n;
        if (!rms) mean = group.over(dtp_add(), sum(), room[0]) / n;
        variance = group.over(dtp_add(), squares(mean), room[1]) / n;
        if ((a.flags & DTP_LAYER_NORM_KEEP) && group.thread == 0) {
            if (!rms) a.mean[at] = mean;
            a.variance[at] = variance;
        }
        if (rms) group.wait();
    }
    return {mean, 1.f / sqrtf(variance + a.epsilon)};
}

template <int V>
DTP_DEVICE void load_values(const dtp_gpu_layer_norm_values_t &v, int64_t i, int m, float (&y)[V]) {
    enum { WORDS = V < 4 ? V : 4 }; /* of f32 in 16 bytes */
    if (v.type == dnnl_tp_f32) dtp_load_run<float, V, WORDS>(v.data, i, 1, v.aligned, m, y);
    else if (v.type == dnnl_tp_bf16) dtp_load_run<dtp_bf16, V, V>(v.data, i, 1, v.aligned, m, y);
    else dtp_load_run<dtp_f16, V, V>(v.data, i, 1, v.aligned, m, y);
}

/* x = ((x - mean) * factor * scale + shift) * src_scale, of the elements from i. */
template <int V>
DTP_DEVICE void normalize(const dtp_gpu_layer_norm_args_t &a, norm_t norm, float src_scale, int64_t i, int m,
                          float (&x)[V]) {
#pragma unroll
    for (int k = 0; k < V; ++k) x[k] = (x[k] - norm.mean) * norm.factor;
    float y[V];
    if (a.scale.data) {
        load_values(a.scale, i, m, y);
#pragma unroll
        for (int k = 0; k < V; ++k) x[k] *= y[k];
    }
    if (a.shift.data) {
        load_values(a.shift, i, m, y);
#pragma unroll
        for (int k = 0; k < V; ++k) x[k] += y[k];
    }
#pragma unroll
    for (int k = 0; k < V; ++k) x[k] *= src_scale;
}

template <class T> DTP_DEVICE void layer_norm_held(const dtp_gpu_layer_norm_args_t &a) {
    typedef dtp_row<T> row_t;
    enum { V = row_t::V };
    const float src_scale = dtp_scale(a.src_scale), dst_factor = 1.f / dtp_scale(a.dst_scale);
    const dtp_group group(a.rows.by_warps);
    const int t = group.thread, threads = group.threads;
    const int n = (int)a.rows.n;
    for (int64_t i = group.first; i < a.rows.dims.n; i += group.count) {
        const dtp_position p = dtp_decode(a.rows.dims, i);
        row_t row;
        row.load(dtp_src_row<T>(a.rows, p), n, t, threads, 0.f);
        const auto sum = [&] {
            float y = 0.f;
#pragma unroll
            for (int r = 0; r < row_t::RUNS; ++r)
#pragma unroll
                for (int k = 0; k < V; ++k) y += row.x[r][k];
            return y;
        };
        const auto squares = [&](float mean) {
            float y = 0.f;
#pragma unroll
            for (int r = 0; r < row_t::RUNS; ++r)
                if (row.begin(r, t, threads) < n)
#pragma unroll
                    for (int k = 0; k < V; ++k) y += (row.x[r][k] - mean) * (row.x[r][k] - mean);
            return y;
        };
        const norm_t norm = statistics(a, group, p, sum, squares);
        T *dst = dtp_dst_row<T>(a.rows, p);
#pragma unroll
        for (int r = 0; r < row_t::RUNS; ++r) {
            const int at = row.begin(r, t, threads);
            if (at >= n) continue;
            normalize(a, norm, src_scale * dst_factor, at, V, row.x[r]);
            dtp_store(dst + at, row.x[r]);
        }
    }
}
DTP_ROW_KERNELS(dtp_layer_norm_held, dtp_gpu_layer_norm_args_t, layer_norm_held)

/* A warp or a block has a row, of any types and strides. */
template <int V> DTP_DEVICE void layer_norm_rows(const dtp_gpu_layer_norm_args_t &a) {
    typedef dtp_read_row<V> row_t;
    enum { BATCH = row_t::BATCH * V };
    const float src_scale = dtp_scale(a.src_scale), dst_scale = dtp_scale(a.dst_scale);
    const dtp_group group(a.rows.by_warps);
    for (int64_t i = group.first; i < a.rows.dims.n; i += group.count) {
        const dtp_position p = dtp_decode(a.rows.dims, i);
        const int64_t dst = dtp_offset(p, a.rows.dims, a.rows.dst);
        const row_t row(a.rows, p, group);
        const auto sum = [&] {
            float y = 0.f;
            row.each_batch(0.f, [&](const float(&x)[BATCH]) {
#pragma unroll
                for (int k = 0; k < BATCH; ++k) y += x[k];
            });
            return y;
        };
        const auto squares = [&](float mean) {
            float y = 0.f;
            row.each_batch(mean, [&](const float(&x)[BATCH]) {
#pragma unroll
                for (int k = 0; k < BATCH; ++k) y += (x[k] - mean) * (x[k] - mean);
            });
            return y;
        };
        const norm_t norm = statistics(a, group, p, sum, squares);
        row.each_run([&](int64_t at, int m, float(&x)[V]) {
            normalize(a, norm, src_scale, at, m, x);
            dtp_chain_apply(a.chain, i * a.rows.n + at, m, x);
#pragma unroll
            for (int k = 0; k < V; ++k) x[k] /= dst_scale;
            dtp_store_any(a.rows.dst.type, a.rows.dst.data, dst + at * a.rows.dst_step, a.rows.dst_step,
                          a.rows.dst.aligned, m, x);
        });
    }
}
DTP_KERNEL_FITTED(dtp_layer_norm_rows, dtp_gpu_layer_norm_args_t, DTP_GPU_LONG_RUNS_THREADS, 1) {
    layer_norm_rows<DTP_GPU_RUN>(a);
}
DTP_KERNEL(dtp_layer_norm_rows_any, dtp_gpu_layer_norm_args_t, DTP_GPU_LONG_ROW_THREADS) {
    layer_norm_rows<1>(a);
}
