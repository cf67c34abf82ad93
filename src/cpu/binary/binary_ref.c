/* Reference binary: any layouts and broadcasts, chains of any length, one element at a time. */
#include "common/base/scalar.h"
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
    return dtp_postops_init(&plan->po, pd, DTP_BINARY_DST, 0);
}

typedef struct {
    const dtp_pd_t *pd;
    const dtp_exec_ctx_t *ctx;
    float scale0, scale1;
} ref_env_t;

/* Element of an operand that broadcasts to dst. */
static float ref_value(const ref_env_t *e, const dtp_md_t *md, int arg, const int64_t *pos) {
    dnnl_tp_dims_t p;
    for (int d = 0; d < md->ndims; ++d) p[d] = md->dims[d] == 1 ? 0 : pos[d];
    return (float)dtp_load(md->data_type, e->ctx->ptr[arg], dtp_md_offset(md, p));
}

static void ref_binary_range(void *arg, int slot, int64_t begin, int64_t end) {
    const ref_env_t *e = arg;
    const dtp_binary_desc_t *op = (const dtp_binary_desc_t *)e->pd->op;
    const ref_binary_plan_t *plan = e->pd->plan;
    const dtp_binary_fn_t fn = dtp_vops_binary(dtp_vops(0), op->alg);
    (void)slot;
    for (int64_t l = begin; l < end; ++l) {
        dnnl_tp_dims_t pos;
        dtp_md_position(&op->dst, l, pos);
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
        if (plan->po.len > 0) dtp_postops_apply_linear(&plan->po, e->pd, e->ctx, &x, 1, l);
        dtp_store(op->dst.data_type, e->ctx->ptr[DTP_BINARY_DST], dtp_md_offset(&op->dst, pos), (double)x);
    }
}

static float ref_scale(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx, int arg) {
    const dtp_quant_t *q = dtp_attr_scale(pd->attr, arg);
    return q ? (float)dtp_load(q->data_type, ctx->ptr[dtp_pd_scale_index(pd, arg)], 0) : 1.f;
}

static dnnl_tp_status_t ref_binary_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_binary_desc_t *op = (const dtp_binary_desc_t *)pd->op;
    ref_env_t e = {.pd = pd, .ctx = ctx};
    e.scale0 = ref_scale(pd, ctx, DNNL_TP_ARG_SRC_0);
    e.scale1 = ref_scale(pd, ctx, DNNL_TP_ARG_SRC_1);
    dtp_parallel_for(ctx->par, dtp_md_nelems(&op->dst), dtp_grain(NS_PER_ELEMENT), ref_binary_range, &e);
    dtp_zero_pad(&op->dst, ctx->ptr[DTP_BINARY_DST]);
    return dnnl_tp_success;
}

DTP_CPU_REFERENCE(binary, DTP_IMPL_IN_PLACE, .plan_size = sizeof(ref_binary_plan_t),
                  .pd_init = ref_binary_pd_init, .execute = ref_binary_execute);
