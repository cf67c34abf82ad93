/* Concat: runs of several sources, one behind the other in each row of dst. The second dimension of the grid is the source. */
#include "gpu/concat/concat_args.h"
#include "gpu/device/device.cuh"

enum { THREADS = 256 };

template <int BYTES> DTP_DEVICE void concat(const dtp_concat_args_t &a) {
    typedef typename dtp_piece<BYTES>::type piece_t;
    const dtp_concat_source_t &s = a.source[blockIdx.y];
    const int64_t index = dtp_thread();
    if (index >= a.rows * s.run.size) return;
    const uint32_t row = dtp_div((uint32_t)index, s.run), at = (uint32_t)index - row * s.run.size;
    ((piece_t *)a.dst)[row * a.pitch + s.start + at] = ((const piece_t *)s.src)[row * s.pitch + at];
}

#define KERNEL(bytes) \
    DTP_KERNEL(dtp_concat_##bytes, dtp_concat_args_t, THREADS) { concat<bytes>(a); }
KERNEL(1)
KERNEL(2)
KERNEL(4)
KERNEL(8)
KERNEL(16)
