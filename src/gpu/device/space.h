/* Host half of kernels with windows over an image {N, C, spatial}: a walk over dst in the order of its memory, in which each
 * dimension is known by what it is. */
#ifndef DTP_GPU_DEVICE_SPACE_H
#define DTP_GPU_DEVICE_SPACE_H

#include "common/problems/window.h"
#include "gpu/device/space_args.h"
#include "gpu/device/view.h"

/* Fills walk with the dimensions of dst, which is plain, in this order. UNSUPPORTED_SHAPE: one is too large. */
dnnl_tp_status_t dtp_gpu_space_init(dtp_gpu_space_t *walk, const dtp_md_t *dst, const dtp_gpu_order_t *order);
/* The window along one spatial dimension: src_step: of src. UNSUPPORTED_SHAPE: positions do not fit in 31 bits. */
dnnl_tp_status_t dtp_gpu_window_init(dtp_gpu_window_t *to, const dtp_window_t *from, int64_t src_step);

#endif
