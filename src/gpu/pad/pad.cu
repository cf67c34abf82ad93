/* Tensors with a value around them, or repeated: an element of dst for each thread. */
#include "gpu/device/device.cuh"
#include "gpu/pad/pad_args.h"

enum { THREADS = 256 };

template <class T> DTP_DEVICE void pad(const dtp_pad_args_t &a) {
    const int64_t index = dtp_thread();
    if (index >= a.dims.n) return;
    const dtp_position p = dtp_decode(a.dims, index);
    bool inside = true;
    int64_t from = 0;
#pragma unroll
    for (int d = 0; d < DTP_GPU_DIMS; ++d) {
        if (d >= a.dims.ndims) continue;
        int at = (int)p.at[d] - a.before[d];
        if (a.times[d] > 1) at %= a.n[d];
        inside &= at >= 0 && at < a.n[d];
        from += at * a.stride[d];
    }
    T x = (T)a.value;
    if (inside) x = ((const T *)a.src)[from];
    ((T *)a.dst)[index] = x;
}
DTP_KERNEL(dtp_pad_1, dtp_pad_args_t, THREADS) { pad<uint8_t>(a); }
DTP_KERNEL(dtp_pad_2, dtp_pad_args_t, THREADS) { pad<uint16_t>(a); }
DTP_KERNEL(dtp_pad_4, dtp_pad_args_t, THREADS) { pad<uint32_t>(a); }
DTP_KERNEL(dtp_pad_8, dtp_pad_args_t, THREADS) { pad<uint64_t>(a); }
