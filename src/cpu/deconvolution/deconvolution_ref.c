/* Reference deconvolution: any types that convert to f32, any layout, groups, dilation and padding; sums in double, one
 * element of dst at a time, over the places of src whose kernel reaches it. */
#include "common/base/scalar.h"
#include "common/layout/zero_pad.h"
#include "common/problems/deconvolution.h"
#include "cpu/postops/postops.h"
#include "threading/base/parallel.h"

/* Nanoseconds of a multiply-add. */
#define NS_PER_MAC 8.0
enum { DIMS = 3 };

static bool is_float(dnnl_tp_data_type_t dt) {
    return dt == dnnl_tp_f32 || dt == dnnl_tp_bf16 || dt == dnnl_tp_f16;
}

static dnnl_tp_status_t deconvolution_ref_pd_init(dtp_pd_t *pd) {
    dtp_deconvolution_desc_t *d = (dtp_deconvolution_desc_t *)pd->op;
    const bool ints =
        (d->src.data_type == dnnl_tp_s8 || d->src.data_type == dnnl_tp_u8) && d->wei.data_type == dnnl_tp_s8;
    DTP_DISPATCH(ints || (is_float(d->src.data_type) && is_float(d->wei.data_type)), UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_vops_takes(d->dst.data_type), UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_md_is_zero(&d->bia) || dtp_vops_takes(d->bia.data_type), UNSUPPORTED_DATA_TYPE);
    dtp_md_t *mds[] = {&d->src, &d->wei, &d->bia, &d->dst};
    for (int i = 0; i < DTP_CONV_NARGS; ++i)
        if (!dtp_md_is_zero(mds[i]) && dtp_md_is_any(mds[i])) dtp_md_make_plain(mds[i]);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS), UNSUPPORTED_ATTR);
    return dtp_postops_init(pd->plan, pd, DTP_CONV_DST, 0);
}

/* The place of src whose element k of the kernel is at x of dst; -1: none. */
static int64_t place_of(const dtp_window_t *w, int64_t x, int64_t k) {
    const int64_t at = x + w->pad - k * w->step;
    return at >= 0 && at % w->stride == 0 && at / w->stride < w->out ? at / w->stride : -1;
}

static double element(const dtp_deconvolution_desc_t *d, const dtp_exec_ctx_t *ctx, const int64_t *pos) {
    const int grouped = dtp_conv_grouped(d), missing = DIMS - d->nspatial;
    const int64_t groups = dtp_conv_groups(d), oc = d->dst.dims[1] / groups, ic = d->src.dims[1] / groups,
                  group = pos[1] / oc;
    dtp_window_t w[DIMS];
    int64_t k[DIMS], x[DIMS];
    for (int i = 0; i < DIMS; ++i) w[i] = dtp_deconv_window(d, i);
    dnnl_tp_dims_t at = {pos[0]}, wei = {group};
    wei[grouped] = pos[1] % oc;
    double sum = 0;
    for (k[0] = 0; k[0] < w[0].kernel; ++k[0])
        for (k[1] = 0; k[1] < w[1].kernel; ++k[1])
            for (k[2] = 0; k[2] < w[2].kernel; ++k[2]) {
                bool inside = true;
                for (int i = 0; i < DIMS && inside; ++i) {
                    x[i] = place_of(&w[i], i < missing ? 0 : pos[2 + i - missing], k[i]);
                    inside = x[i] >= 0;
                }
                if (!inside) continue;
                for (int i = missing; i < DIMS; ++i) {
                    at[2 + i - missing] = x[i];
                    wei[grouped + 2 + i - missing] = k[i];
                }
                for (int64_t c = 0; c < ic; ++c) {
                    at[1] = group * ic + c;
                    wei[grouped + 1] = c;
                    sum += dtp_load(d->src.data_type, ctx->ptr[DTP_CONV_SRC], dtp_md_offset(&d->src, at)) *
                           dtp_load(d->wei.data_type, ctx->ptr[DTP_CONV_WEI], dtp_md_offset(&d->wei, wei));
                }
            }
    return sum;
}

static void deconvolution_ref_range(void *arg, int slot, int64_t begin, int64_t end) {
    const dtp_job_t *j = arg;
    const dtp_deconvolution_desc_t *d = (const dtp_deconvolution_desc_t *)j->pd->op;
    const dtp_postops_t *po = j->pd->plan;
    const int last = d->dst.ndims - 1;
    (void)slot;
    for (int64_t l = begin; l < end; ++l) {
        dnnl_tp_dims_t pos;
        dtp_md_position(&d->dst, l, pos);
        double x = element(d, j->ctx, pos);
        if (!dtp_md_is_zero(&d->bia))
            x += dtp_load(d->bia.data_type, j->ctx->ptr[DTP_CONV_BIA], dtp_md_offset(&d->bia, &pos[1]));
        if (po->len) {
            float y = (float)x;
            dtp_postops_apply(po, j->pd, j->ctx, &y, 1, 1, 1, l / d->dst.dims[last], pos[last]);
            x = (double)y;
        }
        dtp_store(d->dst.data_type, j->ctx->ptr[DTP_CONV_DST], dtp_md_offset(&d->dst, pos), x);
    }
}

static dnnl_tp_status_t deconvolution_ref_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_deconvolution_desc_t *d = (const dtp_deconvolution_desc_t *)pd->op;
    dtp_job_t job = {pd, ctx};
    const double macs = (double)dtp_conv_depth(d);
    dtp_parallel_for(ctx->par, dtp_md_nelems(&d->dst), dtp_grain(30 + NS_PER_MAC * macs),
                     deconvolution_ref_range, &job);
    dtp_zero_pad(&d->dst, ctx->ptr[DTP_CONV_DST]);
    return dnnl_tp_success;
}

DTP_CPU_REFERENCE(deconvolution, 0, .plan_size = sizeof(dtp_postops_t), .pd_init = deconvolution_ref_pd_init,
                  .execute = deconvolution_ref_execute);
