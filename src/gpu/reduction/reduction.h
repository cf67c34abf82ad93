/* Declarations that the implementations of reduction share. */
#ifndef DTP_GPU_REDUCTION_H
#define DTP_GPU_REDUCTION_H

#include "common/problems/reduction.h"
#include "gpu/device/view.h"
#include "gpu/reduction/reduction_args.h"

extern const dtp_impl_t dtp_gpu_reduction_exact;

/* Fills in the walks of the kept and of the reduced dimensions, and the algorithm. */
dnnl_tp_status_t dtp_gpu_reduction_describe(dtp_gpu_reduction_args_t *a, const dtp_reduction_desc_t *d,
                                            const dtp_gpu_order_t *order);

/* If the results alone do not fill the device, cuts them into parts of `chunk` >= `least` reduced
 * elements. blocks: of one stage. */
void dtp_gpu_reduction_cut(const dtp_pd_t *pd, const dtp_gpu_reduction_args_t *a, int64_t blocks,
                           int64_t least, int64_t *chunk, int64_t *parts);
/* Changes the arguments of the first stage to those of the second, which joins the results of
 * parts. These have this type, and the parts are contiguous. */
void dtp_gpu_reduction_join(dtp_gpu_reduction_args_t *a, void *results, dnnl_tp_data_type_t type,
                            int64_t parts);

#endif
