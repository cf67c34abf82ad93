/* Maxima and means of windows: an element of dst for each thread. */
#include "gpu/device/chain.cuh"
#include "gpu/device/space.cuh"
#include "gpu/pooling/pooling_args.h"

enum { THREADS = 256 };

DTP_KERNEL_FITTED(dtp_pooling, dtp_pooling_args_t, THREADS, 1) {
    const dtp_gpu_window_t &D = a.window[0], &H = a.window[1], &W = a.window[2];
    const int64_t i = dtp_thread();
    if (i >= a.walk.dims.n) return;
    const dtp_pixel p = dtp_pixel_at(a.walk, i);
    const int64_t base = p.at[DTP_SPACE_IMAGE] * a.src_image + p.at[DTP_SPACE_CHANNEL] * a.src_channel;
    const int d0 = (int)p.at[DTP_SPACE_FIRST] * D.stride - D.pad,
              h0 = (int)p.at[DTP_SPACE_FIRST + 1] * H.stride - H.pad,
              w0 = (int)p.at[DTP_SPACE_FIRST + 2] * W.stride - W.pad;
    int inside = 0;
    float x = a.what == DTP_POOL_MAX ? -__int_as_float(0x7f800000) : 0.f;
    for (int kd = 0, d = d0; kd < D.kernel; ++kd, d += D.step) {
        if (d < 0 || d >= D.in) continue;
        for (int kh = 0, h = h0; kh < H.kernel; ++kh, h += H.step) {
            if (h < 0 || h >= H.in) continue;
            for (int kw = 0, w = w0; kw < W.kernel; ++kw, w += W.step) {
                if (w < 0 || w >= W.in) continue;
                const float y =
                    dtp_load_one(a.src_type, a.src, base + d * D.src_step + h * H.src_step + w * W.src_step);
                ++inside;
                if (a.what != DTP_POOL_MAX) x += y;
                else if (y > x || (a.keeps_nan && y != y)) x = y;
            }
        }
    }
    if (a.what == DTP_POOL_MAX && inside == 0) x = a.least;
    if (a.what == DTP_POOL_MEAN) x /= a.volume;
    if (a.what == DTP_POOL_MEAN_INSIDE) x = inside ? x / (float)inside : 0.f;
    x = dtp_chain_one(a.chain, i, x);
    dtp_store_one(a.dst_type, a.dst, dtp_pixel_offset(a.walk, i), x);
}
