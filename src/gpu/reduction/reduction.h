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

/* Results that alone do not fill the device are cut into parts of `chunk` reduced elements, `least` at least. blocks: of one stage. */
void dtp_gpu_reduction_cut(const dtp_pd_t *pd, const dtp_gpu_reduction_args_t *a, int64_t blocks,
                           int64_t least, int64_t *chunk, int64_t *parts);
/* What was the first stage's becomes the second one's: the results of parts, of this type, lie one part behind the other. */
void dtp_gpu_reduction_join(dtp_gpu_reduction_args_t *a, void *results, dnnl_tp_data_type_t type,
                            int64_t parts);

#endif
