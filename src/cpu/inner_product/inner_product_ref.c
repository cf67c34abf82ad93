/* Reference inner product: any type and layout, double accumulation in logical order of k. Slow. */
#include "common/kind_checks.h"
#include "cpu/list/cpu_lists.h"
#include "cpu/postops/postops.h"
#include "cpu/quant.h"
#include "cpu/scalar.h"
#include "threading/parallel.h"

typedef struct {
    dtp_postops_t po;
    dtp_quant_view_t src_scale, wei_scale, dst_scale;
} plan_t;

static bool ip_type_is_known(dnnl_tp_data_type_t dt) { return dt >= dnnl_tp_f16 && dt <= dnnl_tp_u8; }
static bool ip_type_is_int8(dnnl_tp_data_type_t dt) { return dt == dnnl_tp_s8 || dt == dnnl_tp_u8; }

static dnnl_tp_status_t inner_product_ref_pd_init(dtp_pd_t *pd) {
    dtp_inner_product_desc_t *d = (dtp_inner_product_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    const bool ints = ip_type_is_int8(d->src.data_type) && d->wei.data_type == dnnl_tp_s8;
    const bool floats = ip_type_is_known(d->src.data_type) && d->src.data_type <= dnnl_tp_f32 &&
                        ip_type_is_known(d->wei.data_type) && d->wei.data_type <= dnnl_tp_f32;
    DTP_DISPATCH(ints || floats, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(ip_type_is_known(d->dst.data_type) && (ints || d->dst.data_type <= dnnl_tp_f32),
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_md_is_zero(&d->bia) || ip_type_is_known(d->bia.data_type), UNSUPPORTED_DATA_TYPE);
    dtp_md_t *mds[] = {&d->src, &d->wei, &d->bia, &d->dst};
    for (int i = 0; i < 4; ++i)
        if (!dtp_md_is_zero(mds[i]) && dtp_md_is_any(mds[i])) dtp_md_make_plain(mds[i]);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS | DTP_ATTR_SCALES), UNSUPPORTED_ATTR);
    DTP_TRY(dtp_quant_init(&plan->src_scale, pd, DNNL_TP_ARG_SRC, true));
    DTP_TRY(dtp_quant_init(&plan->wei_scale, pd, DNNL_TP_ARG_WEIGHTS, true));
    DTP_TRY(dtp_quant_init(&plan->dst_scale, pd, DNNL_TP_ARG_DST, true));
    const dtp_quant_t *wei = dtp_attr_scale(pd->attr, DNNL_TP_ARG_WEIGHTS);
    DTP_DISPATCH(!wei || wei->mask <= 1, UNSUPPORTED_SCALES);
    return dtp_postops_init(&plan->po, pd, DTP_IP_DST, &d->dst, DTP_PO_ALL, 0);
}

typedef struct {
    const dtp_pd_t *pd;
    const dtp_exec_ctx_t *ctx;
} ip_job_t;

static void inner_product_ref_loop(void *arg, int slot, int64_t begin, int64_t end) {
    const ip_job_t *j = arg;
    const plan_t *plan = j->pd->plan;
    const dtp_inner_product_desc_t *d = (const dtp_inner_product_desc_t *)j->pd->op;
    const int nd = d->src.ndims;
    int64_t nk = 1;
    for (int i = 1; i < nd; ++i) nk *= d->src.dims[i];
    (void)slot;
    for (int64_t e = begin; e < end; ++e) {
        dnnl_tp_dims_t sp = {e / d->dst.dims[1]}, wp = {e % d->dst.dims[1]};
        const dnnl_tp_dims_t dp = {sp[0], wp[0]};
        double acc = 0;
        for (int64_t k = 0; k < nk; ++k) {
            int64_t rest = k;
            for (int i = nd - 1; i > 0; --i) {
                sp[i] = wp[i] = rest % d->src.dims[i];
                rest /= d->src.dims[i];
            }
            acc += dtp_load(d->src.data_type, j->ctx->ptr[DTP_IP_SRC], dtp_md_offset(&d->src, sp)) *
                   dtp_load(d->wei.data_type, j->ctx->ptr[DTP_IP_WEI], dtp_md_offset(&d->wei, wp));
        }
        if (plan->src_scale.index >= 0) acc *= dtp_quant_at(&plan->src_scale, j->ctx, sp);
        if (plan->wei_scale.index >= 0) acc *= dtp_quant_at(&plan->wei_scale, j->ctx, wp);
        if (!dtp_md_is_zero(&d->bia))
            acc += dtp_load(d->bia.data_type, j->ctx->ptr[DTP_IP_BIA], dtp_md_offset(&d->bia, wp));
        float x = (float)acc;
        dtp_postops_apply(&plan->po, j->ctx, &x, 1, 1, 1, sp[0], wp[0]);
        if (plan->dst_scale.index >= 0) x /= (float)dtp_quant_at(&plan->dst_scale, j->ctx, dp);
        dtp_store(d->dst.data_type, j->ctx->ptr[DTP_IP_DST], dtp_md_offset(&d->dst, dp), x);
    }
}

static dnnl_tp_status_t inner_product_ref_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_inner_product_desc_t *d = (const dtp_inner_product_desc_t *)pd->op;
    ip_job_t job = {pd, ctx};
    const int64_t rows = ctx->rows >= 0 ? ctx->rows : d->dst.dims[0];
    int64_t nk = 1;
    for (int i = 1; i < d->src.ndims; ++i) nk *= d->src.dims[i];
    dtp_parallel_for(ctx->par, rows * d->dst.dims[1], dtp_grain(20. * (double)(nk + 1)),
                     inner_product_ref_loop, &job);
    return dnnl_tp_success;
}

const dtp_impl_t dtp_cpu_inner_product__ref = {"ref:any",
                                               0,
                                               DTP_IMPL_ROWS | DTP_IMPL_ANY_THREADS,
                                               sizeof(plan_t),
                                               inner_product_ref_pd_init,
                                               NULL,
                                               inner_product_ref_execute};
