/* Reference binary: any layouts and broadcasts, chains of any length, one element at a time. */
#include "common/layout/zero_pad.h"
#include "cpu/binary/binary.h"
#include "cpu/postops/postops.h"
#include "threading/base/parallel.h"

/* Nanoseconds of one element. */
#define NS_PER_ELEMENT 30.0

typedef struct {
    dtp_postops_t po;
} ref_binary_plan_t;

static dnnl_tp_status_t ref_binary_pd_init(dtp_pd_t *pd) {
    ref_binary_plan_t *plan = pd->plan;
    DTP_TRY(dtp_binary_check(pd));
    DTP_DISPATCH(dtp_binary_arithmetic((const dtp_binary_desc_t *)pd->op) == dnnl_tp_f32,
                 UNSUPPORTED_DATA_TYPE);
    return dtp_postops_init(&plan->po, pd, DTP_BINARY_DST, &((const dtp_binary_desc_t *)pd->op)->dst,
                            DTP_PO_ALL, 0);
}

typedef struct {
    const dtp_pd_t *pd;
    const dtp_exec_ctx_t *ctx;
    const dtp_vops_t *v;
    float scale0, scale1;
} ref_env_t;

/* Element of an operand that broadcasts to dst. */
static float ref_value(const ref_env_t *e, const dtp_md_t *md, int arg, const int64_t *pos) {
    dnnl_tp_dims_t p;
    float x;
    for (int d = 0; d < md->ndims; ++d) p[d] = md->dims[d] == 1 ? 0 : pos[d];
    e->v->load[md->data_type](
        &x, (const char *)e->ctx->ptr[arg] + dtp_md_offset(md, p) * (int64_t)dtp_type_size(md->data_type), 1,
        1);
    return x;
}

static void ref_binary_range(void *arg, int slot, int64_t begin, int64_t end) {
    const ref_env_t *e = arg;
    const dtp_binary_desc_t *op = (const dtp_binary_desc_t *)e->pd->op;
    const ref_binary_plan_t *plan = e->pd->plan;
    const dtp_binary_fn_t fn = dtp_vops_binary(e->v, op->alg);
    (void)slot;
    for (int64_t l = begin; l < end; ++l) {
        dnnl_tp_dims_t pos;
        int64_t rest = l;
        for (int d = op->dst.ndims - 1; d >= 0; --d) {
            pos[d] = rest % op->dst.dims[d];
            rest /= op->dst.dims[d];
        }
        float x = ref_value(e, &op->src0, DTP_BINARY_SRC0, pos) * e->scale0;
        float y = ref_value(e, &op->src1, DTP_BINARY_SRC1, pos) * e->scale1, c = 0.f;
        if (op->alg == dnnl_tp_binary_select) c = ref_value(e, &op->src2, DTP_BINARY_SRC2, pos);
        fn(&(dtp_binary_args_t){.x0 = &x,
                                .x1 = &y,
                                .cond = &c,
                                .y = &x,
                                .ld0 = 1,
                                .ld1 = 1,
                                .ldc = 1,
                                .ldy = 1,
                                .rows = 1,
                                .cols = 1,
                                .cs0 = 1,
                                .cs1 = 1,
                                .csc = 1});
        if (plan->po.len > 0) dtp_postops_apply_linear(&plan->po, e->ctx, &x, 1, l);
        e->v->store[op->dst.data_type]((char *)e->ctx->ptr[DTP_BINARY_DST] +
                                           dtp_md_offset(&op->dst, pos) *
                                               (int64_t)dtp_type_size(op->dst.data_type),
                                       &x, 1, 1);
    }
}

static float ref_scale(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx, int arg, const dtp_vops_t *v) {
    const dtp_quant_t *q = dtp_attr_scale(pd->attr, arg);
    float x = 1.f;
    if (q) v->load[q->data_type](&x, ctx->ptr[dtp_pd_scale_index(pd, arg)], 1, 1);
    return x;
}

static dnnl_tp_status_t ref_binary_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_binary_desc_t *op = (const dtp_binary_desc_t *)pd->op;
    ref_env_t e = {.pd = pd, .ctx = ctx, .v = dtp_vops(0)};
    e.scale0 = ref_scale(pd, ctx, DNNL_TP_ARG_SRC_0, e.v);
    e.scale1 = ref_scale(pd, ctx, DNNL_TP_ARG_SRC_1, e.v);
    dtp_parallel_for(ctx->par, dtp_md_nelems(&op->dst), dtp_grain(NS_PER_ELEMENT), ref_binary_range, &e);
    dtp_zero_pad(&op->dst, ctx->ptr[DTP_BINARY_DST]);
    return dnnl_tp_success;
}

const dtp_impl_t dtp_cpu_binary__ref = {.name = "ref:any",
                                        .flags = DTP_IMPL_ANY_THREADS,
                                        .plan_size = sizeof(ref_binary_plan_t),
                                        .pd_init = ref_binary_pd_init,
                                        .execute = ref_binary_execute};
