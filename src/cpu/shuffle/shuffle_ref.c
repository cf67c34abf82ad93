/* Reference shuffle: any types and layouts, bytes of one element at a time. */
#include "common/layout/zero_pad.h"
#include "cpu/elementwise/boxes.h"
#include "cpu/shuffle/shuffle.h"
#include "threading/base/parallel.h"

/* Nanoseconds of one element. */
#define NS_PER_ELEMENT 30.0

dnnl_tp_status_t dtp_shuffle_check(dtp_pd_t *pd) {
    dtp_shuffle_desc_t *d = (dtp_shuffle_desc_t *)pd->op;
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    if (dtp_md_is_any(&d->dst)) dtp_boxes_layout_like(&d->dst, &d->src);
    return dnnl_tp_success;
}

static void shuffle_ref_range(void *arg, int slot, int64_t begin, int64_t end) {
    const dtp_job_t *j = arg;
    const dtp_shuffle_desc_t *d = (const dtp_shuffle_desc_t *)j->pd->op;
    const size_t size = dtp_type_size(d->dst.data_type);
    (void)slot;
    for (int64_t l = begin; l < end; ++l) {
        dnnl_tp_dims_t pos;
        dtp_md_position(&d->dst, l, pos);
        char *to = (char *)j->ctx->ptr[DTP_SHUFFLE_DST] + dtp_md_offset(&d->dst, pos) * (int64_t)size;
        pos[d->axis] = dtp_shuffle_from(d, pos[d->axis]);
        memcpy(to, (const char *)j->ctx->ptr[DTP_SHUFFLE_SRC] + dtp_md_offset(&d->src, pos) * (int64_t)size,
               size);
    }
}

static dnnl_tp_status_t shuffle_ref_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_shuffle_desc_t *d = (const dtp_shuffle_desc_t *)pd->op;
    dtp_job_t job = {pd, ctx};
    dtp_parallel_for(ctx->par, dtp_md_nelems(&d->dst), dtp_grain(NS_PER_ELEMENT), shuffle_ref_range, &job);
    dtp_zero_pad(&d->dst, ctx->ptr[DTP_SHUFFLE_DST]);
    return dnnl_tp_success;
}

DTP_CPU_REFERENCE(shuffle, 0, .pd_init = dtp_shuffle_check, .execute = shuffle_ref_execute);
