/* Reference concat: any layouts, types and scales, one element at a time. */
#include "common/layout/zero_pad.h"
#include "cpu/concat/concat.h"
#include "cpu/simd/vops.h"
#include "threading/base/parallel.h"

/* Nanoseconds of one element. */
#define NS_PER_ELEMENT 20.0

typedef struct {
    const dtp_concat_desc_t *op;
    const dtp_exec_ctx_t *ctx;
    const dtp_vops_t *v;
    int source;
    int64_t start;
    const float *scale; /* NULL = unset */
} ref_env_t;

static dnnl_tp_status_t ref_concat_pd_init(dtp_pd_t *pd) { return dtp_concat_check(pd); }

static void ref_concat_range(void *arg, int slot, int64_t begin, int64_t end) {
    const ref_env_t *e = arg;
    const dtp_md_t *s = &e->op->src[e->source], *t = &e->op->dst;
    const int64_t ssize = (int64_t)dtp_type_size(s->data_type), tsize = (int64_t)dtp_type_size(t->data_type);
    (void)slot;
    for (int64_t l = begin; l < end; ++l) {
        dnnl_tp_dims_t pos;
        int64_t rest = l;
        for (int d = s->ndims - 1; d >= 0; --d) {
            pos[d] = rest % s->dims[d];
            rest /= s->dims[d];
        }
        const char *from =
            (const char *)e->ctx->ptr[DTP_CONCAT_SRC + e->source] + dtp_md_offset(s, pos) * ssize;
        pos[e->op->axis] += e->start;
        char *to = (char *)e->ctx->ptr[DTP_CONCAT_DST] + dtp_md_offset(t, pos) * tsize;
        if (!e->scale && s->data_type == t->data_type) {
            memcpy(to, from, (size_t)tsize);
            continue;
        }
        float x;
        e->v->load[s->data_type](&x, from, 1, 1);
        if (e->scale) x *= *e->scale;
        e->v->store[t->data_type](to, &x, 1, 1);
    }
}

static dnnl_tp_status_t ref_concat_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    ref_env_t e = {.op = (const dtp_concat_desc_t *)pd->op, .ctx = ctx, .v = dtp_vops(0)};
    for (int i = 0; i < e.op->n; ++i) {
        const dtp_quant_t *q = dtp_attr_scale(pd->attr, DNNL_TP_ARG_MULTIPLE_SRC + i);
        float scale;
        if (q)
            e.v->load[q->data_type](&scale, ctx->ptr[dtp_pd_scale_index(pd, DNNL_TP_ARG_MULTIPLE_SRC + i)], 1,
                                    1);
        e.scale = q ? &scale : NULL;
        e.source = i;
        e.start = dtp_concat_start(e.op, i);
        dtp_parallel_for(ctx->par, dtp_md_nelems(&e.op->src[i]), dtp_grain(NS_PER_ELEMENT), ref_concat_range,
                         &e);
    }
    dtp_zero_pad(&e.op->dst, ctx->ptr[DTP_CONCAT_DST]);
    return dnnl_tp_success;
}

const dtp_impl_t dtp_cpu_concat__ref = {.name = "ref:any",
                                        .flags = DTP_IMPL_ANY_THREADS,
                                        .pd_init = ref_concat_pd_init,
                                        .execute = ref_concat_execute};
