/* What the implementations of reduction share. */
#ifndef DTP_GPU_REDUCTION_H
#define DTP_GPU_REDUCTION_H

#include "common/problems/reduction.h"
#include "gpu/device/view.h"
#include "gpu/reduction/reduction_args.h"

extern const dtp_impl_t dtp_gpu_reduction_exact;

/* Walks of the dimensions that stay and of those that are reduced, and the algorithm. */
dnnl_tp_status_t dtp_gpu_reduction_describe(dtp_gpu_reduction_args_t *a, const dtp_reduction_desc_t *d,
                                            const dtp_gpu_order_t *order);

#endif
