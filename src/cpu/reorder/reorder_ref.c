/* Reference reorder: any layouts, types and attributes, one element at a time. */
#include "common/base/scalar.h"
#include "common/layout/zero_pad.h"
#include "cpu/reorder/reorder.h"
#include "threading/base/parallel.h"

/* Nanoseconds of one element. */
#define NS_PER_ELEMENT 20.0

typedef struct {
    const dtp_pd_t *pd;
    const dtp_exec_ctx_t *ctx;
    const dtp_md_t *src, *dst;
} ref_env_t;

static dnnl_tp_status_t ref_reorder_pd_init(dtp_pd_t *pd) { return dtp_reorder_check(pd); }

/* The scale or zero point of a position; fallback when unset. */
static float ref_quant(const ref_env_t *e, const dtp_quant_t *q, int index, const int64_t *pos,
                       float fallback) {
    if (!q) return fallback;
    int64_t at = 0;
    for (int d = 0; d < e->dst->ndims; ++d)
        if (q->mask >> d & 1) at = at * e->dst->dims[d] + pos[d];
    return (float)dtp_load(q->data_type, e->ctx->ptr[index], at);
}

static void ref_reorder_range(void *arg, int slot, int64_t begin, int64_t end) {
    const ref_env_t *e = arg;
    const dtp_attr_t *attr = e->pd->attr;
    const dtp_md_t *src = e->src, *dst = e->dst;
    const bool plain = attr->n_scales == 0 && attr->n_zero_points == 0 && attr->post_ops->len == 0;
    const int64_t size = (int64_t)dtp_type_size(dst->data_type);
    const char *s = e->ctx->ptr[DTP_REORDER_SRC];
    char *t = e->ctx->ptr[DTP_REORDER_DST];
    (void)slot;
    for (int64_t l = begin; l < end; ++l) {
        dnnl_tp_dims_t pos;
        dtp_md_position(dst, l, pos);
        const int64_t from = dtp_md_offset(src, pos), to = dtp_md_offset(dst, pos);
        if (plain && src->data_type == dst->data_type) {
            memcpy(t + to * size, s + from * size, (size_t)size);
            continue;
        }
        float x = (float)dtp_load(src->data_type, s, from);
        x -= ref_quant(e, dtp_attr_zero_point(attr, DNNL_TP_ARG_SRC),
                       dtp_pd_zero_point_index(e->pd, DNNL_TP_ARG_SRC), pos, 0.f);
        x *= ref_quant(e, dtp_attr_scale(attr, DNNL_TP_ARG_SRC), dtp_pd_scale_index(e->pd, DNNL_TP_ARG_SRC),
                       pos, 1.f);
        if (attr->post_ops->len > 0) {
            const dtp_post_op_t *p = &attr->post_ops->entry[0];
            const dnnl_tp_data_type_t dt = p->sum_dt == dnnl_tp_data_type_undef ? dst->data_type : p->sum_dt;
            x += p->scale * ((float)dtp_load(dt, t, to) - (float)p->zero_point);
        }
        x /= ref_quant(e, dtp_attr_scale(attr, DNNL_TP_ARG_DST), dtp_pd_scale_index(e->pd, DNNL_TP_ARG_DST),
                       pos, 1.f);
        x += ref_quant(e, dtp_attr_zero_point(attr, DNNL_TP_ARG_DST),
                       dtp_pd_zero_point_index(e->pd, DNNL_TP_ARG_DST), pos, 0.f);
        dtp_store(dst->data_type, t, to, (double)x);
    }
}

static dnnl_tp_status_t ref_reorder_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    ref_env_t e = {.pd = pd, .ctx = ctx};
    DTP_TRY(dtp_reorder_actual(pd, ctx, &e.src, &e.dst));
    dtp_parallel_for(ctx->par, dtp_md_nelems(e.dst), dtp_grain(NS_PER_ELEMENT), ref_reorder_range, &e);
    dtp_zero_pad(e.dst, ctx->ptr[DTP_REORDER_DST]);
    dtp_reorder_compensate(ctx, e.dst);
    return dnnl_tp_success;
}

DTP_CPU_REFERENCE(reorder, DTP_IMPL_IN_PLACE, .pd_init = ref_reorder_pd_init, .execute = ref_reorder_execute);
