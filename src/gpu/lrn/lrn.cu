/* Local response normalization: an element for each thread. */
#include "gpu/device/space.cuh"
#include "gpu/lrn/lrn_args.h"

enum { THREADS = 256 };

DTP_KERNEL_FITTED(dtp_lrn, dtp_lrn_args_t, THREADS, 1) {
    const int64_t i = dtp_thread();
    if (i >= a.walk.dims.n) return;
    const dtp_pixel p = dtp_pixel_at(a.walk, i);
    int from[DTP_SPACE_ALL], to[DTP_SPACE_ALL];
    int64_t own = 0;
#pragma unroll
    for (int d = 0; d < DTP_SPACE_ALL; ++d) {
        const int at = (int)p.at[d];
        from[d] = max(at - a.half[d], 0);
        to[d] = min(at + a.half[d], a.size[d] - 1);
        own += at * a.src_stride[d];
    }
    const int64_t image = p.at[DTP_SPACE_IMAGE] * a.src_stride[DTP_SPACE_IMAGE];
    float sum = 0;
    for (int c = from[1]; c <= to[1]; ++c)
        for (int d = from[2]; d <= to[2]; ++d)
            for (int h = from[3]; h <= to[3]; ++h)
                for (int w = from[4]; w <= to[4]; ++w) {
                    const float x = dtp_load_one(a.src_type, a.src,
                                                 image + c * a.src_stride[1] + d * a.src_stride[2] +
                                                     h * a.src_stride[3] + w * a.src_stride[4]);
                    sum = fmaf(x, x, sum);
                }
    const float y = dtp_load_one(a.src_type, a.src, own) * powf(fmaf(a.factor, sum, a.k), -a.beta);
    dtp_store_one(a.dst_type, a.dst, dtp_pixel_offset(a.walk, i), y);
}
