/* Mean over each sequence, then division by max(L2 norm, epsilon). A block has a sequence: groups of its threads add every
 * groups-th row, then the sums of the groups are added in their order. */
#include "gpu/device/finding.cuh"
#include "gpu/device/groups.cuh"
#include "gpu/pool_normalize/pool_normalize_args.h"

enum { THREADS = DTP_POOLN_THREADS };

/* Sums over the rows of a group, columns from `column` on, and the weight of those rows. */
DTP_DEVICE float add_rows(const dtp_pooln_args_t &a, int64_t first, const float *mask, int rows, int group,
                          int column, float (&sum)[DTP_GPU_RUN]) {
    float weight = 0;
    const int m = min(DTP_GPU_RUN, a.h - column);
#pragma unroll 4
    for (int r = group; r < rows; r += a.groups) {
        const float w = mask ? mask[r * a.mask_row] : 1.f;
        float x[DTP_GPU_RUN];
        weight += w;
        if (w == 0.f) continue; /* what does not count may be anything */
        dtp_load_any(a.type, a.src, first + r * a.ld + column, 1, a.aligned, m, x);
#pragma unroll
        for (int k = 0; k < DTP_GPU_RUN; ++k) sum[k] += w * x[k];
    }
    return weight;
}

/* Squares of large elements are beyond f32. */
struct add_f64 {
    __device__ __forceinline__ double operator()(double x, double y) const { return x + y; }
    static __device__ __forceinline__ double none() { return 0.; }
};

DTP_KERNEL(dtp_pool_normalize, dtp_pooln_args_t, THREADS) {
    extern __shared__ __align__(16) float sums[]; /* [group][h] */
    __shared__ float weights[THREADS];
    __shared__ double room[DTP_WARP];
    __shared__ int place;
    const int sequence = (int)blockIdx.x, pieces = (a.h + DTP_GPU_RUN - 1) / DTP_GPU_RUN;
    const int bad = a.offsets ? dtp_bad_offset(a.offsets, a.n, a.rows, a.note, &place) : DTP_NONE;
    int64_t first = sequence * a.batch;
    int rows = a.rows;
    if (a.offsets && bad == DTP_NONE) {
        first = a.offsets[sequence] * a.ld;
        rows = a.offsets[sequence + 1] - a.offsets[sequence];
    }
    if (bad != DTP_NONE) rows = 0;
    const float *mask = a.mask ? a.mask + sequence * a.mask_batch : nullptr;
    for (int at = (int)threadIdx.x; at < a.groups * pieces; at += THREADS) {
        const int group = at / pieces, column = at % pieces * DTP_GPU_RUN;
        float sum[DTP_GPU_RUN] = {};
        const float weight = add_rows(a, first, mask, rows, group, column, sum);
        if (column == 0) weights[group] = weight;
        float *to = sums + group * a.h + column;
        if (a.h % DTP_GPU_RUN == 0) *(float4 *)to = make_float4(sum[0], sum[1], sum[2], sum[3]);
        else
            for (int k = 0; k < DTP_GPU_RUN; ++k)
                if (column + k < a.h) to[k] = sum[k];
    }
    __syncthreads();
    float count = 0;
    double square = 0;
    for (int g = 0; g < a.groups; ++g) count += weights[g];
    const float inverse = count != 0 ? 1 / count : 0.f;
    for (int c = (int)threadIdx.x; c < a.h; c += THREADS) {
        float sum = 0;
        for (int g = 0; g < a.groups; ++g) sum += sums[g * a.h + c];
        sum *= inverse;
        sums[c] = sum;
        square += (double)sum * sum;
    }
    const double norm = sqrt(dtp_over_warps(add_f64(), dtp_over_warp(add_f64(), square), room));
    const double length = norm < a.epsilon ? a.epsilon : norm; /* NaN stays */
    const float scale = length > 0 ? (float)(1 / length) : 0.f;
    for (int c = (int)threadIdx.x; c < a.h; c += THREADS) a.dst[sequence * a.ld_dst + c] = sums[c] * scale;
    if (bad != DTP_NONE) dtp_note_offset(a.note, a.offsets, bad, a.rows);
}
