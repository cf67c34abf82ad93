/* See space.h. */
#include "gpu/device/space.h"

dnnl_tp_status_t dtp_gpu_space_init(dtp_gpu_space_t *walk, const dtp_md_t *dst,
                                    const dtp_gpu_order_t *order) {
    const int nd = dst->ndims, missing = DTP_SPACE_ALL - nd;
    walk->dims.n = 1;
    walk->dims.ndims = nd;
    for (int i = 0; i < DTP_GPU_DIMS; ++i) {
        const int d = i < nd ? order->dim[nd - 1 - i] : -1;
        const int64_t size = i < nd ? dst->dims[d] : 1;
        DTP_DISPATCH(size <= INT32_MAX, UNSUPPORTED_SHAPE);
        walk->dims.dim[i] = dtp_gpu_dim(size);
        walk->dims.n *= size;
        walk->stride[i] = i < nd ? dst->strides[d] : 0;
        walk->what[i] = d < DTP_SPACE_FIRST ? d : d + missing;
    }
    walk->dims.wide = walk->dims.n > INT32_MAX;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_gpu_window_init(dtp_gpu_window_t *to, const dtp_window_t *from, int64_t src_step) {
    const int64_t most = INT32_MAX / 4;
    DTP_DISPATCH(from->in <= most && from->out <= most && from->kernel <= most && from->step <= most &&
                     from->stride <= most && from->pad <= most && from->pad >= -most,
                 UNSUPPORTED_SHAPE);
    DTP_DISPATCH(from->kernel * from->step <= most && from->out * from->stride <= 2 * most &&
                     from->in * from->stride <= 2 * most,
                 UNSUPPORTED_SHAPE);
    *to = (dtp_gpu_window_t){(int32_t)from->in,
                             (int32_t)from->out,
                             (int32_t)from->kernel,
                             (int32_t)from->stride,
                             (int32_t)from->step,
                             (int32_t)from->pad,
                             src_step};
    return dnnl_tp_success;
}
