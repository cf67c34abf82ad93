/* Reference concat: any layouts, types and scales, one element at a time. */
#include "common/base/scalar.h"
#include "common/layout/zero_pad.h"
#include "cpu/concat/concat.h"
#include "threading/base/parallel.h"

/* Nanoseconds of one element. */
#define NS_PER_ELEMENT 20.0

typedef struct {
    const dtp_concat_desc_t *op;
    const dtp_exec_ctx_t *ctx;
    int source;
    int64_t start;
    bool scaled;
    float scale;
} ref_env_t;

static void ref_concat_range(void *arg, int slot, int64_t begin, int64_t end) {
    const ref_env_t *e = arg;
    const dtp_md_t *s = &e->op->src[e->source], *t = &e->op->dst;
    const int64_t size = (int64_t)dtp_type_size(t->data_type);
    const char *src = e->ctx->ptr[DTP_CONCAT_SRC + e->source];
    char *dst = e->ctx->ptr[DTP_CONCAT_DST];
    (void)slot;
    for (int64_t l = begin; l < end; ++l) {
        dnnl_tp_dims_t pos;
        dtp_md_position(s, l, pos);
        const int64_t from = dtp_md_offset(s, pos);
        pos[e->op->axis] += e->start;
        const int64_t to = dtp_md_offset(t, pos);
        if (!e->scaled && s->data_type == t->data_type)
            memcpy(dst + to * size, src + from * size, (size_t)size);
        else dtp_store(t->data_type, dst, to, (double)((float)dtp_load(s->data_type, src, from) * e->scale));
    }
}

static dnnl_tp_status_t ref_concat_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    ref_env_t e = {.op = (const dtp_concat_desc_t *)pd->op, .ctx = ctx};
    for (int i = 0; i < e.op->n; ++i) {
        const dtp_quant_t *q = dtp_attr_scale(pd->attr, DNNL_TP_ARG_MULTIPLE_SRC + i);
        const int at = dtp_pd_scale_index(pd, DNNL_TP_ARG_MULTIPLE_SRC + i);
        e.scaled = q != NULL;
        e.scale = q ? (float)dtp_load(q->data_type, ctx->ptr[at], 0) : 1.f;
        e.source = i;
        e.start = dtp_concat_start(e.op, i);
        dtp_parallel_for(ctx->par, dtp_md_nelems(&e.op->src[i]), dtp_grain(NS_PER_ELEMENT), ref_concat_range,
                         &e);
    }
    dtp_zero_pad(&e.op->dst, ctx->ptr[DTP_CONCAT_DST]);
    return dnnl_tp_success;
}

DTP_CPU_REFERENCE(concat, 0, .pd_init = dtp_concat_check, .execute = ref_concat_execute);
