/* Where a thread is in an image; see space_args.h. */
#ifndef DTP_GPU_DEVICE_SPACE_CUH
#define DTP_GPU_DEVICE_SPACE_CUH

#include "gpu/device/device.cuh"
#include "gpu/device/space_args.h"

/* By what a dimension is; 0 where an image lacks it. */
struct dtp_pixel {
    uint32_t at[DTP_SPACE_ALL];
};
DTP_DEVICE dtp_pixel dtp_pixel_at(const dtp_gpu_space_t &walk, int64_t index) {
    const dtp_position p = dtp_decode(walk.dims, index);
    dtp_pixel pixel;
#pragma unroll
    for (int w = 0; w < DTP_SPACE_ALL; ++w) {
        pixel.at[w] = 0;
#pragma unroll
        for (int d = 0; d < DTP_GPU_DIMS; ++d)
            if (walk.what[d] == w) pixel.at[w] = p.at[d];
    }
    return pixel;
}

/* Where element `index` of dst lies. Computed behind everything else, from an index that the compiler does not know, so
 * that nothing of it is kept over the rest of the kernel. */
DTP_DEVICE int64_t dtp_pixel_offset(const dtp_gpu_space_t &walk, int64_t index) {
    asm volatile("" : "+l"(index));
    return dtp_offset(dtp_decode(walk.dims, index), walk.dims.ndims, walk.stride);
}

#endif
