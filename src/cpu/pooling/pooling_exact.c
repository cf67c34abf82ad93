/* Pooling of f64 in plain layouts: a row of dst at a time, by elements of the window. Means that
 * include the padding count what a window has in src and in padding_l and padding_r, not behind. */
#include <float.h>
#include <math.h>

#include "cpu/pooling/pooling.h"
#include "threading/base/parallel.h"

enum { WIDTH = DTP_POOLING_DIMS - 1 };

typedef struct {
    dtp_window_t w[DTP_POOLING_DIMS], counted[DTP_POOLING_DIMS]; /* counted: what means divide by */
    int64_t src_x[DTP_POOLING_DIMS], dst_x[DTP_POOLING_DIMS];    /* steps, in elements */
    bool by_channels; /* rows that follow each other are of different channels */
    int64_t units, grain;
} plan_t;

static dnnl_tp_status_t exact_init(dtp_pd_t *pd) {
    const dtp_pooling_desc_t *d = (const dtp_pooling_desc_t *)pd->op;
    plan_t *p = pd->plan;
    DTP_DISPATCH(d->src.data_type == dnnl_tp_f64 && d->dst.data_type == dnnl_tp_f64, UNSUPPORTED_DATA_TYPE);
    DTP_TRY(dtp_pooling_check(pd));
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    DTP_DISPATCH(dtp_md_is_zero(&d->workspace), UNSUPPORTED_PROP);
    DTP_DISPATCH(dtp_md_is_plain(&d->src) && dtp_md_is_plain(&d->dst), UNSUPPORTED_LAYOUT);
    const int missing = DTP_POOLING_DIMS - d->spatial;
    dtp_pooling_windows(d, p->w);
    double volume = 1;
    for (int i = missing; i < DTP_POOLING_DIMS; ++i) {
        p->src_x[i] = d->src.strides[2 + i - missing];
        p->dst_x[i] = d->dst.strides[2 + i - missing];
        volume *= (double)p->w[i].kernel;
    }
    for (int i = 0; i < DTP_POOLING_DIMS; ++i) {
        p->counted[i] = p->w[i];
        if (i < missing || d->alg != dnnl_tp_pooling_avg_include_padding) continue;
        p->counted[i].in += p->w[i].pad + d->padding_r[i - missing];
        p->counted[i].pad = 0;
    }
    p->by_channels = d->dst.strides[1] < p->dst_x[WIDTH];
    if (dtp_md_nelems(&d->dst) > 0) p->units = d->dst.dims[0] * d->dst.dims[1] * p->w[0].out * p->w[1].out;
    const double element_ns = 1;
    p->grain = dtp_grain(50 + element_ns * volume * (double)p->w[WIDTH].out);
    return dnnl_tp_success;
}

/* A row of src at the positions of a window along depth and height; dst gathers maxima or sums. */
static void add_row(const plan_t *p, const dtp_pooling_desc_t *d, const double *src, double *dst) {
    const dtp_window_t *w = &p->w[WIDTH];
    const int64_t dst_x = p->dst_x[WIDTH], src_x = p->src_x[WIDTH] * w->stride;
    const bool keeps_nan = d->keeps_nan;
    for (int64_t k = 0; k < w->kernel; ++k) {
        int64_t begin, end;
        dtp_window_outputs(w, k, &begin, &end);
        const int64_t first = (k * w->step - w->pad) * p->src_x[WIDTH];
        if (d->alg != dnnl_tp_pooling_max) {
            for (int64_t x = begin; x < end; ++x) dst[x * dst_x] += src[first + x * src_x];
            continue;
        }
        for (int64_t x = begin; x < end; ++x) {
            const double a = src[first + x * src_x], b = dst[x * dst_x];
            dst[x * dst_x] = a > b || (keeps_nan && a != a) ? a : b;
        }
    }
}

static int64_t taps_of(const dtp_window_t *w, int64_t o) {
    int64_t begin, end;
    dtp_window_taps(w, o, &begin, &end);
    return end - begin;
}

/* What is left: sums become means; a maximum of nothing is the least number. rows: of a window, along depth and height, that
 * count. */
static void end_row(const plan_t *p, const dtp_pooling_desc_t *d, int64_t rows, double *dst) {
    for (int64_t x = 0; x < p->w[WIDTH].out; ++x, dst += p->dst_x[WIDTH]) {
        const int64_t count = rows * taps_of(&p->counted[WIDTH], x);
        if (d->alg == dnnl_tp_pooling_max) *dst = count ? *dst : -DBL_MAX;
        else *dst = count ? *dst / (double)count : 0;
    }
}

/* A unit is a row of dst. */
static void exact_units(void *arg, int slot, int64_t begin, int64_t end) {
    const dtp_job_t *j = arg;
    const plan_t *p = j->pd->plan;
    const dtp_pooling_desc_t *d = (const dtp_pooling_desc_t *)j->pd->op;
    const int64_t channels = d->dst.dims[1];
    (void)slot;
    for (int64_t u = begin; u < end; ++u) {
        int64_t rest = u, c = 0, tap[2][2];
        if (p->by_channels) c = rest % channels, rest /= channels;
        const int64_t h = rest % p->w[1].out, depth = (rest /= p->w[1].out) % p->w[0].out;
        rest /= p->w[0].out;
        if (!p->by_channels) c = rest % channels, rest /= channels;
        const double *src = (const double *)j->ctx->ptr[DTP_POOLING_SRC] + d->src.offset0 +
                            rest * d->src.strides[0] + c * d->src.strides[1];
        double *dst = (double *)j->ctx->ptr[DTP_POOLING_DST] + d->dst.offset0 + rest * d->dst.strides[0] +
                      c * d->dst.strides[1] + depth * p->dst_x[0] + h * p->dst_x[1];
        const double first = d->alg == dnnl_tp_pooling_max ? -INFINITY : 0;
        for (int64_t x = 0; x < p->w[WIDTH].out; ++x) dst[x * p->dst_x[WIDTH]] = first;
        dtp_window_taps(&p->w[0], depth, &tap[0][0], &tap[0][1]);
        dtp_window_taps(&p->w[1], h, &tap[1][0], &tap[1][1]);
        for (int64_t kd = tap[0][0]; kd < tap[0][1]; ++kd)
            for (int64_t kh = tap[1][0]; kh < tap[1][1]; ++kh)
                add_row(p, d,
                        src + (dtp_window_begin(&p->w[0], depth) + kd * p->w[0].step) * p->src_x[0] +
                            (dtp_window_begin(&p->w[1], h) + kh * p->w[1].step) * p->src_x[1],
                        dst);
        end_row(p, d, taps_of(&p->counted[0], depth) * taps_of(&p->counted[1], h), dst);
    }
}

static dnnl_tp_status_t exact_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const plan_t *p = pd->plan;
    dtp_job_t job = {pd, ctx};
    dtp_parallel_for(ctx->par, p->units, p->grain, exact_units, &job);
    return dnnl_tp_success;
}

DTP_CPU_IMPL(pooling__exact, "exact:any", 0, .plan_size = sizeof(plan_t), .pd_init = exact_init,
             .execute = exact_execute);
