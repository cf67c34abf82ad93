/* Sum of tensors: dst = sum of scale[i] * src[i], in the order of the sources.
 *
 * Equal dense layouts are walked linearly, with any number of sources; other layouts that have common boxes
 * go through an element-wise program (cpu/elementwise/program.h), with as many sources as a box has operands. */
#include "cpu/elementwise/program.h"
#include "cpu/sum/sum.h"
#include "threading/base/parallel.h"

/* Elements of a tile: dst, one buffer and a source stay in the first-level cache. */
#define TILE 2048
#define NS_PER_BYTE 0.012

typedef struct {
    bool linear;
    bool stream;
    int64_t nelems;
    const dtp_vops_t *vops;
    dtp_fused_fn_t pair;   /* two sources and dst of one small type, scales 1 */
    dtp_program_t program; /* unless linear */
} sum_plan_t;

static size_t sum_used(const void *plan) {
    const sum_plan_t *p = plan;
    return offsetof(sum_plan_t, program) + (p->linear ? 0 : dtp_program_used(&p->program));
}

dnnl_tp_status_t dtp_sum_check(dtp_pd_t *pd) {
    dtp_sum_desc_t *op = (dtp_sum_desc_t *)pd->op;
    DTP_DISPATCH(dtp_vops_takes(op->dst.data_type), UNSUPPORTED_DATA_TYPE);
    for (int i = 0; i < op->n; ++i) DTP_DISPATCH(dtp_vops_takes(op->src[i].data_type), UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    if (dtp_md_is_any(&op->dst)) dtp_boxes_layout_like(&op->dst, &op->src[0]);
    return dnnl_tp_success;
}

static bool all_linear(const dtp_sum_desc_t *op) {
    if (!dtp_md_is_dense(&op->dst)) return false;
    for (int i = 0; i < op->n; ++i)
        if (!dtp_md_same_layout(&op->src[i], &op->dst)) return false;
    return true;
}

static dnnl_tp_status_t sum_pd_init(dtp_pd_t *pd) {
    const dtp_sum_desc_t *op = (const dtp_sum_desc_t *)pd->op;
    const float *scale = dtp_sum_scales(op);
    const unsigned isa = dtp_pd_isa(pd);
    sum_plan_t *plan = pd->plan;
    DTP_TRY(dtp_sum_check(pd));
    plan->vops = dtp_vops(isa);
    if (all_linear(op)) {
        plan->linear = true;
        /* Zeros of the padding sum up to zeros. */
        plan->nelems = dtp_md_nelems_padded(&op->dst);
        double bytes = (double)plan->nelems * (double)dtp_type_size(op->dst.data_type) * (op->n + 1);
        plan->stream = dtp_exceeds_caches(bytes, pd->engine->l3_bytes);
        if (op->n == 2 && scale[0] == 1.f && scale[1] == 1.f && op->src[0].data_type == op->dst.data_type &&
            op->src[1].data_type == op->dst.data_type)
            plan->pair = dtp_program_fused(isa, op->dst.data_type, dnnl_tp_binary_add);
        dtp_pd_book(pd, 0, 2 * TILE * sizeof(float));
        return dnnl_tp_success;
    }
    DTP_DISPATCH(op->n < DTP_BOXES_OPS, UNSUPPORTED_SHAPE);
    dtp_program_t *m = &plan->program;
    const dtp_md_t *md[DTP_BOXES_OPS] = {&op->dst, &op->src[0]};
    dtp_program_begin(m, isa, op->dst.data_type, DTP_SUM_DST, op->src[0].data_type, DTP_SUM_SRC);
    bool ok = scale[0] == 1.f || dtp_program_eltwise(m, dnnl_tp_eltwise_linear, scale[0], 0.f);
    for (int i = 1; i < op->n && ok; ++i) {
        int o = dtp_program_operand(m, op->src[i].data_type, DTP_SUM_SRC + i);
        if (o < 0) return dtp_refuse(DTP_UNSUPPORTED_SHAPE);
        md[o] = &op->src[i];
        ok = scale[i] == 1.f
                 ? dtp_program_binary(m, DTP_PROGRAM_ACC, dtp_program_value(m), o, -1, dnnl_tp_binary_add)
                 : dtp_program_axpy(m, o, scale[i]);
    }
    DTP_DISPATCH(ok, UNSUPPORTED_SHAPE);
    return dtp_program_plan(m, pd, md);
}

/* y = x0 + x1, n elements. */
static void add_rows(const sum_plan_t *plan, const float *x0, const float *x1, float *y, int64_t n,
                     int stream) {
    dtp_vops_binary(plan->vops, dnnl_tp_binary_add)(&(dtp_binary_args_t){.x0 = x0,
                                                                         .x1 = x1,
                                                                         .y = y,
                                                                         .ld0 = n,
                                                                         .ld1 = n,
                                                                         .ldy = n,
                                                                         .rows = 1,
                                                                         .cols = n,
                                                                         .cs0 = 1,
                                                                         .cs1 = 1,
                                                                         .stream = stream});
}

/* y[0..n) += or = scale * source. */
static void add_source(const sum_plan_t *plan, float *acc, float *out, const dtp_md_t *src, const char *p,
                       int64_t n, float scale, bool first, float *buf, int stream) {
    const float *x = (const float *)(const void *)p;
    if (src->data_type != dnnl_tp_f32) {
        plan->vops->load[src->data_type](buf, p, n, 1);
        x = buf;
    }
    if (first)
        dtp_vops_eltwise(plan->vops, dnnl_tp_eltwise_linear)(&(dtp_eltwise_args_t){
            .x = x, .y = out, .ldx = n, .ldy = n, .rows = 1, .cols = n, .alpha = scale, .stream = stream});
    else if (scale == 1.f) add_rows(plan, acc, x, out, n, stream);
    else plan->vops->axpy(acc, n, x, n, 1, n, scale, 0.f);
}

static void sum_linear(void *arg, int slot, int64_t begin, int64_t end) {
    const dtp_job_t *e = arg;
    const dtp_sum_desc_t *op = (const dtp_sum_desc_t *)e->pd->op;
    const sum_plan_t *plan = e->pd->plan;
    const float *scale = dtp_sum_scales(op);
    const int64_t dsize = (int64_t)dtp_type_size(op->dst.data_type);
    float *acc_buf = (float *)(void *)dtp_scratch_slot(e->pd, e->ctx, slot), *buf = acc_buf + TILE;
    bool in_place =
        false; /* dst is a source that may be read behind the first ones: partial sums lie apart */
    for (int i = 1; i < op->n; ++i) in_place |= e->ctx->ptr[DTP_SUM_SRC + i] == e->ctx->ptr[DTP_SUM_DST];
    if (plan->pair) {
        const int64_t at = begin * TILE, n = dtp_min64(end * TILE, plan->nelems) - at;
        plan->pair(&(dtp_fused_args_t){.x0 = (const char *)e->ctx->ptr[DTP_SUM_SRC] + at * dsize,
                                       .x1 = (const char *)e->ctx->ptr[DTP_SUM_SRC + 1] + at * dsize,
                                       .y = (char *)e->ctx->ptr[DTP_SUM_DST] + at * dsize,
                                       .rows = 1,
                                       .cols = n,
                                       .cs0 = 1,
                                       .cs1 = 1});
        return;
    }
    for (int64_t t = begin; t < end; ++t) {
        const int64_t at = t * TILE, n = dtp_min64(TILE, plan->nelems - at);
        char *dst = (char *)e->ctx->ptr[DTP_SUM_DST] + at * dsize;
        const bool direct = op->dst.data_type == dnnl_tp_f32;
        const bool stream = direct && plan->stream && !in_place, apart = stream || (direct && in_place);
        float *out = direct ? (float *)(void *)dst : acc_buf, *acc = apart ? acc_buf : out;
        int i = 0;
        /* Two plain sources at once: the frequent residual sum needs one pass. */
        if (op->n >= 2 && scale[0] == 1.f && scale[1] == 1.f && op->src[0].data_type == dnnl_tp_f32 &&
            op->src[1].data_type == dnnl_tp_f32) {
            add_rows(plan, (const float *)e->ctx->ptr[DTP_SUM_SRC] + at,
                     (const float *)e->ctx->ptr[DTP_SUM_SRC + 1] + at, op->n == 2 ? out : acc, n,
                     op->n == 2 && stream);
            i = 2;
        }
        for (; i < op->n; ++i) {
            const bool last = i + 1 == op->n && (i == 0 || scale[i] == 1.f);
            const char *src = (const char *)e->ctx->ptr[DTP_SUM_SRC + i] +
                              at * (int64_t)dtp_type_size(op->src[i].data_type);
            add_source(plan, acc, last ? out : acc, &op->src[i], src, n, scale[i], i == 0, buf,
                       last && stream);
        }
        if (!direct) plan->vops->store[op->dst.data_type](dst, acc, n, 1);
        else if (apart && op->n > 1 && scale[op->n - 1] != 1.f) memcpy(dst, acc, (size_t)n * sizeof(float));
    }
}

static dnnl_tp_status_t sum_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_sum_desc_t *op = (const dtp_sum_desc_t *)pd->op;
    const sum_plan_t *plan = pd->plan;
    if (plan->linear) {
        if (plan->nelems == 0) return dnnl_tp_success;
        dtp_job_t e = {pd, ctx};
        const double bytes = (double)(op->n + 1) * TILE * (double)dtp_type_size(op->dst.data_type);
        dtp_parallel_for(ctx->par, dtp_div_up(plan->nelems, TILE), dtp_grain(bytes * NS_PER_BYTE), sum_linear,
                         &e);
        return dnnl_tp_success;
    }
    dtp_program_run_args(&plan->program, pd, ctx);
    return dnnl_tp_success;
}

DTP_CPU_IMPLS_AND_ANY(sum, "simd", .flags = DTP_IMPL_IN_PLACE, .plan_size = sizeof(sum_plan_t),
                      .plan_head = offsetof(sum_plan_t, program) + DTP_PROGRAM_HEAD, .plan_used = sum_used,
                      .pd_init = sum_pd_init, .execute = sum_execute);
