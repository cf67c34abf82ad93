/* Reference matmul: any type, layout, broadcast, attribute; double (or exact integer) accumulation in K
 * order.
 *
 * dst = saturate((post_ops(scale_src * scale_wei * sum_k (src - zp_src) * (wei - zp_wei) + bias)) / scale_dst
 * + zp_dst) Correct and slow; the fast ones are in matmul_ukr.c. */
#include "common/kind_checks.h"
#include "cpu/list/cpu_lists.h"
#include "cpu/postops/postops.h"
#include "cpu/quant.h"
#include "cpu/scalar.h"
#include "threading/parallel.h"

typedef struct {
    dtp_postops_t po;
    dtp_quant_view_t src_scale, wei_scale, dst_scale, src_zp, wei_zp, dst_zp;
    int64_t grain;
} plan_t;

static bool type_is_known(dnnl_tp_data_type_t dt) {
    return dt == dnnl_tp_f32 || dt == dnnl_tp_bf16 || dt == dnnl_tp_f16 || dt == dnnl_tp_s32 ||
           dt == dnnl_tp_s8 || dt == dnnl_tp_u8;
}

static bool type_is_int8(dnnl_tp_data_type_t dt) { return dt == dnnl_tp_s8 || dt == dnnl_tp_u8; }

static dnnl_tp_status_t matmul_ref_pd_init(dtp_pd_t *pd) {
    dtp_matmul_desc_t *d = (dtp_matmul_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    bool ints = type_is_int8(d->src.data_type) && type_is_int8(d->wei.data_type);
    bool floats = d->src.data_type <= dnnl_tp_f32 && d->wei.data_type <= dnnl_tp_f32;
    DTP_DISPATCH(ints || floats, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(type_is_known(d->dst.data_type) && (ints || d->dst.data_type <= dnnl_tp_f32),
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_md_is_zero(&d->bia) || type_is_known(d->bia.data_type), UNSUPPORTED_DATA_TYPE);
    dtp_md_t *mds[] = {&d->src, &d->wei, &d->bia, &d->dst};
    for (int i = 0; i < 4; ++i)
        if (!dtp_md_is_zero(mds[i]) && dtp_md_is_any(mds[i])) dtp_md_make_plain(mds[i]);
    DTP_TRY(dtp_quant_init(&plan->src_scale, pd, DNNL_TP_ARG_SRC, true));
    DTP_TRY(dtp_quant_init(&plan->wei_scale, pd, DNNL_TP_ARG_WEIGHTS, true));
    DTP_TRY(dtp_quant_init(&plan->dst_scale, pd, DNNL_TP_ARG_DST, true));
    DTP_TRY(dtp_quant_init(&plan->src_zp, pd, DNNL_TP_ARG_SRC, false));
    DTP_TRY(dtp_quant_init(&plan->wei_zp, pd, DNNL_TP_ARG_WEIGHTS, false));
    DTP_TRY(dtp_quant_init(&plan->dst_zp, pd, DNNL_TP_ARG_DST, false));
    DTP_TRY(dtp_postops_init(&plan->po, pd, DTP_MATMUL_DST, &d->dst, DTP_PO_ALL, 0));
    return dnnl_tp_success;
}

typedef struct {
    const dtp_pd_t *pd;
    const dtp_exec_ctx_t *ctx;
    const dtp_md_t *src, *wei, *bia, *dst;
    int64_t n, k;
} job_t;

/* Position of a broadcast operand: dims of size 1 stay at 0. */
static int64_t offset_of(const dtp_md_t *md, const int64_t *pos) {
    dnnl_tp_dims_t p;
    for (int d = 0; d < md->ndims; ++d) p[d] = md->dims[d] == 1 ? 0 : pos[d];
    return dtp_md_offset(md, p);
}

static void matmul_ref_rows(void *arg, int slot, int64_t begin, int64_t end) {
    const job_t *j = arg;
    const plan_t *plan = j->pd->plan;
    const dtp_md_t *dst = j->dst;
    int nd = dst->ndims;
    (void)slot;
    for (int64_t row = begin; row < end; ++row) {
        dnnl_tp_dims_t pos, sp, wp;
        int64_t rest = row;
        for (int d = nd - 1; d-- > 0;) {
            pos[d] = rest % dst->dims[d];
            rest /= dst->dims[d];
        }
        memcpy(sp, pos, sizeof sp);
        memcpy(wp, pos, sizeof wp);
        for (int64_t n = 0; n < j->n; ++n) {
            pos[nd - 1] = wp[nd - 1] = n;
            double acc = 0;
            for (int64_t k = 0; k < j->k; ++k) {
                sp[nd - 1] = wp[nd - 2] = k;
                double a = dtp_load(j->src->data_type, j->ctx->ptr[DTP_MATMUL_SRC], offset_of(j->src, sp));
                double b = dtp_load(j->wei->data_type, j->ctx->ptr[DTP_MATMUL_WEI], offset_of(j->wei, wp));
                a -= dtp_quant_at(&plan->src_zp, j->ctx, sp);
                b -= dtp_quant_at(&plan->wei_zp, j->ctx, wp);
                acc += a * b * dtp_quant_scale_in_k(&plan->src_scale, j->ctx, sp, nd - 1) *
                       dtp_quant_scale_in_k(&plan->wei_scale, j->ctx, wp, nd - 2);
            }
            sp[nd - 1] = wp[nd - 2] = 0;
            acc *= dtp_quant_scale_outside(&plan->src_scale, j->ctx, sp, nd - 1) *
                   dtp_quant_scale_outside(&plan->wei_scale, j->ctx, wp, nd - 2);
            if (j->bia)
                acc += dtp_load(j->bia->data_type, j->ctx->ptr[DTP_MATMUL_BIA], offset_of(j->bia, pos));
            float x = (float)acc;
            dtp_postops_apply(&plan->po, j->ctx, &x, 1, 1, 1, row, n);
            if (plan->dst_scale.index >= 0) x /= (float)dtp_quant_at(&plan->dst_scale, j->ctx, pos);
            if (plan->dst_zp.index >= 0) x += (float)dtp_quant_at(&plan->dst_zp, j->ctx, pos);
            dtp_store(dst->data_type, j->ctx->ptr[DTP_MATMUL_DST], dtp_md_offset(dst, pos), x);
        }
    }
}

static dnnl_tp_status_t matmul_ref_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_matmul_desc_t *d = (const dtp_matmul_desc_t *)pd->op;
    const dtp_md_t *const *md = ctx->md;
    job_t job = {pd, ctx, &d->src, &d->wei, dtp_md_is_zero(&d->bia) ? NULL : &d->bia, &d->dst, 0, 0};
    if (md) {
        job.src = md[DTP_MATMUL_SRC];
        job.wei = md[DTP_MATMUL_WEI];
        job.bia = job.bia ? md[DTP_MATMUL_BIA] : NULL;
        job.dst = md[DTP_MATMUL_DST];
    }
    int nd = job.dst->ndims;
    job.n = job.dst->dims[nd - 1];
    job.k = job.src->dims[nd - 1];
    int64_t rows = 1;
    for (int i = 0; i < nd - 1; ++i) rows *= job.dst->dims[i];
    if (ctx->rows >= 0) rows = ctx->rows;
    dtp_parallel_for(ctx->par, rows, dtp_grain(20. * (double)(job.n * (job.k + 1))), matmul_ref_rows, &job);
    return dnnl_tp_success;
}

const dtp_impl_t dtp_cpu_matmul__ref = {
    "ref:any",         0, DTP_IMPL_ROWS | DTP_IMPL_ANY_THREADS, sizeof(plan_t), matmul_ref_pd_init, NULL,
    matmul_ref_execute};
