/* Reference convolution: any types that convert to f32, any layout, groups, dilation and padding; sums in double, in
 * the order of the kernel's elements and then of the channels for each element of dst. A unit of work is a row of dst
 * of some output channels; rows of src and the weights of these channels are converted to double once. */
#include "common/layout/zero_pad.h"
#include "common/problems/convolution.h"
#include "cpu/access/rows.h"
#include "cpu/postops/postops.h"
#include "threading/base/parallel.h"

enum { OC_BLOCK = 8 };
/* Nanoseconds of a multiply-add. */
#define NS_PER_MAC 0.7

typedef struct {
    dtp_postops_t po;
    const dtp_vops_t *vops;
    int64_t oc_block;
    dtp_window_t window[3]; /* depth, height, width */
} ref_plan_t;

static bool is_float(dnnl_tp_data_type_t dt) {
    return dt == dnnl_tp_f32 || dt == dnnl_tp_bf16 || dt == dnnl_tp_f16;
}

static dnnl_tp_status_t convolution_ref_pd_init(dtp_pd_t *pd) {
    dtp_convolution_desc_t *d = (dtp_convolution_desc_t *)pd->op;
    ref_plan_t *p = pd->plan;
    const bool ints =
        (d->src.data_type == dnnl_tp_s8 || d->src.data_type == dnnl_tp_u8) && d->wei.data_type == dnnl_tp_s8;
    DTP_DISPATCH(dtp_conv_take_direct(d), UNSUPPORTED_ALG);
    DTP_DISPATCH(ints || (is_float(d->src.data_type) && is_float(d->wei.data_type)), UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_vops_takes(d->dst.data_type), UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_md_is_zero(&d->bia) || dtp_vops_takes(d->bia.data_type), UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(!dtp_md_is_opaque(&d->wei), UNSUPPORTED_LAYOUT);
    dtp_md_t *mds[] = {&d->src, &d->wei, &d->bia, &d->dst};
    for (int i = 0; i < DTP_CONV_NARGS; ++i)
        if (!dtp_md_is_zero(mds[i]) && dtp_md_is_any(mds[i])) dtp_md_make_plain(mds[i]);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS), UNSUPPORTED_ATTR);
    p->vops = dtp_vops(pd->engine->isa);
    for (int i = 0; i < 3; ++i) p->window[i] = dtp_conv_window(d, i);
    p->oc_block = dtp_min64(OC_BLOCK, dtp_max64(d->dst.dims[1] / dtp_conv_groups(d), 1));
    const dtp_window_t *w = &p->window[2];
    const int64_t k = dtp_conv_depth(d);
    if (dtp_md_nelems(&d->dst) > 0)
        dtp_pd_book(pd, 0, (size_t)(w->in + p->oc_block * (w->out + k) + w->out) * sizeof(double));
    return dtp_postops_init(&p->po, pd, DTP_CONV_DST, 0);
}

typedef struct {
    const ref_plan_t *p;
    const dtp_pd_t *pd;
    const dtp_exec_ctx_t *ctx;
    int64_t oc_blocks; /* of a group */
} ref_run_t;

/* acc[o][x] += sum over the width of the kernel; src is a row of one channel, w[o * k + kw] its weights. */
static void ref_row(const dtp_window_t *a, const double *src, const double *w, int64_t k, int64_t n,
                    double *acc) {
    for (int64_t x = 0; x < a->out; ++x) {
        int64_t lo, hi;
        dtp_window_taps(a, x, &lo, &hi);
        const double *from = src + (hi > lo ? x * a->stride - a->pad + lo * a->step : 0);
        for (int64_t e = lo; e < hi; ++e, from += a->step)
            for (int64_t o = 0; o < n; ++o) acc[o * a->out + x] += *from * w[o * k + e];
    }
}

/* Row (image, od, oh) of n output channels from oc0 on. */
static void ref_unit(const ref_run_t *r, int64_t image, int64_t od, int64_t oh, int64_t group, int64_t oc0,
                     int64_t n, double *room) {
    const dtp_convolution_desc_t *d = (const dtp_convolution_desc_t *)r->pd->op;
    const ref_plan_t *p = r->p;
    const dtp_window_t *D = &p->window[0], *H = &p->window[1], *W = &p->window[2];
    const int64_t OC = d->dst.dims[1], IC = d->src.dims[1], ic = IC / dtp_conv_groups(d);
    const int64_t k = dtp_conv_depth(d), per_channel = D->kernel * H->kernel * W->kernel;
    double *src = room, *wei = src + W->in, *acc = wei + p->oc_block * k;
    float *tile = (float *)(void *)(acc + p->oc_block * W->out);
    dtp_rows_load_f64(p->vops, &d->wei, r->ctx->ptr[DTP_CONV_WEI], oc0 * k, n * k, wei);
    memset(acc, 0, (size_t)(n * W->out) * sizeof *acc);
    int64_t d0, d1, h0, h1;
    dtp_window_taps(D, od, &d0, &d1);
    dtp_window_taps(H, oh, &h0, &h1);
    for (int64_t kd = d0; kd < d1; ++kd)
        for (int64_t kh = h0; kh < h1; ++kh)
            for (int64_t c = 0; c < ic; ++c) {
                const int64_t id = od * D->stride - D->pad + kd * D->step,
                              ih = oh * H->stride - H->pad + kh * H->step;
                const int64_t row = ((image * IC + group * ic + c) * D->in + id) * H->in + ih;
                dtp_rows_load_f64(p->vops, &d->src, r->ctx->ptr[DTP_CONV_SRC], row * W->in, W->in, src);
                ref_row(W, src, wei + c * per_channel + (kd * H->kernel + kh) * W->kernel, k, n, acc);
            }
    for (int64_t o = 0; o < n; ++o, acc += W->out) {
        if (!dtp_md_is_zero(&d->bia)) {
            double b;
            dtp_rows_load_f64(p->vops, &d->bia, r->ctx->ptr[DTP_CONV_BIA], oc0 + o, 1, &b);
            for (int64_t x = 0; x < W->out; ++x) acc[x] += b;
        }
        const int64_t row = ((image * OC + oc0 + o) * D->out + od) * H->out + oh;
        if (p->po.len) {
            for (int64_t x = 0; x < W->out; ++x) tile[x] = (float)acc[x];
            dtp_postops_apply(&p->po, r->pd, r->ctx, tile, W->out, 1, W->out, row, 0);
            for (int64_t x = 0; x < W->out; ++x) acc[x] = tile[x];
        }
        dtp_rows_store_f64(&d->dst, r->ctx->ptr[DTP_CONV_DST], row * W->out, W->out, acc);
    }
}

static void ref_units(void *arg, int slot, int64_t begin, int64_t end) {
    const ref_run_t *r = arg;
    const dtp_convolution_desc_t *d = (const dtp_convolution_desc_t *)r->pd->op;
    const ref_plan_t *p = r->p;
    const int64_t groups = dtp_conv_groups(d), oc = d->dst.dims[1] / groups;
    for (int64_t u = begin; u < end; ++u) {
        int64_t at = u;
        const int64_t oh = at % p->window[1].out, od = (at /= p->window[1].out) % p->window[0].out,
                      block = (at /= p->window[0].out) % r->oc_blocks, group = (at /= r->oc_blocks) % groups,
                      image = at / groups, first = block * p->oc_block;
        ref_unit(r, image, od, oh, group, group * oc + first, dtp_min64(p->oc_block, oc - first),
                 (double *)(void *)dtp_scratch_slot(r->pd, r->ctx, slot));
    }
}

static dnnl_tp_status_t convolution_ref_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_convolution_desc_t *d = (const dtp_convolution_desc_t *)pd->op;
    const ref_plan_t *p = pd->plan;
    ref_run_t run = {p, pd, ctx, 0};
    const int64_t groups = dtp_conv_groups(d), k = dtp_conv_depth(d);
    run.oc_blocks = dtp_div_up(d->dst.dims[1] / groups, p->oc_block);
    const int64_t units = d->dst.dims[0] * groups * run.oc_blocks * p->window[0].out * p->window[1].out;
    const double macs = (double)p->window[2].out * (double)p->oc_block * (double)k;
    dtp_parallel_for(ctx->par, units, dtp_grain(200. + NS_PER_MAC * macs), ref_units, &run);
    dtp_zero_pad(&d->dst, ctx->ptr[DTP_CONV_DST]);
    return dnnl_tp_success;
}

DTP_CPU_REFERENCE(convolution, 0, .plan_size = sizeof(ref_plan_t), .pd_init = convolution_ref_pd_init,
                  .execute = convolution_ref_execute);
