/* Depthwise deconvolution of f32 or bf16, channels innermost: each phase (deconvolution.h) is a depthwise convolution of src
 * (cpu/convolution/depthwise.h) whose dst are dst's elements with s times their strides. The phases' weights, in reverse, are
 * put together in scratch first: they are few. Post-operations that need a tile are left to direct convolutions. */
#include "cpu/convolution/depthwise.h"
#include "cpu/deconvolution/deconvolution.h"
#include "threading/base/parallel.h"

enum { DIMS = DTP_DECONV_DIMS, SLICES = 8 /* of a phase before those of the next one */ };
/* Nanoseconds to move a vector of weights. */
#define NS_PER_VECTOR 8.0

typedef struct {
    dtp_dw_plan_t base; /* what all phases share */
    int64_t phase[DIMS], phases, panels;
    int64_t wei_0, wei_c, wei_p,
        wei_x[DIMS]; /* of weights, elements: from channel to channel, from panel to panel */
} plan_t;

/* A phase as it runs. */
typedef struct {
    dtp_dw_plan_t dw;
    dtp_deconv_phase_t of[DIMS];
    bool any; /* elements of dst */
} run_phase_t;

/* Elements of a phase's kernel. */
static int64_t volume_of(const run_phase_t *f) { return f->of[0].n * f->of[1].n * f->of[2].n; }

/* Phase number k, whose weights lie `at` elements into the scratch. */
static void make_phase(run_phase_t *f, const plan_t *plan, const dtp_deconvolution_desc_t *d, int64_t k,
                       int64_t at) {
    dtp_dw_plan_t *p = &f->dw;
    *p = plan->base;
    f->any = true;
    for (int i = DIMS - 1; i >= 0; --i) {
        const int64_t r = k % plan->phase[i];
        f->of[i] = dtp_deconv_phase(d, i, r);
        p->win[i] = f->of[i].win;
        f->any = f->any && p->win[i].out > 0;
        p->dst_0 += r * p->dst_x[i];
        p->dst_x[i] *= dtp_deconv_window(d, i).stride;
        k /= plan->phase[i];
    }
    if (!f->any) return;
    p->wei_0 = at;
    p->common.wei_h = f->of[2].n * DTP_DW_PANEL;
    p->common.wei_d = f->of[1].n * p->common.wei_h;
    p->common.wei_panel = f->of[0].n * p->common.wei_d;
    dtp_dw_split(p);
}

static dnnl_tp_status_t depthwise_prepare(dtp_primitive_t *primitive) {
    const dtp_pd_t *pd = primitive->pd;
    const plan_t *plan = pd->plan;
    const size_t bytes = sizeof(run_phase_t) * (size_t)plan->phases;
    run_phase_t *all = dtp_zalloc(pd->engine->allocator, bytes, DTP_CACHE_LINE);
    if (!all) DTP_RETURN(dtp_no_memory(bytes));
    primitive->prepared[0] = all;
    for (int64_t k = 0, at = 0; k < plan->phases; ++k) {
        make_phase(&all[k], plan, (const dtp_deconvolution_desc_t *)pd->op, k, at);
        if (all[k].any) at += plan->panels * volume_of(&all[k]) * DTP_DW_PANEL;
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t depthwise_pd_init(dtp_pd_t *pd) {
    dtp_deconvolution_desc_t *d = (dtp_deconvolution_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    DTP_TRY(dtp_dw_init(&plan->base, pd));
    DTP_DISPATCH(!plan->base.tiled, UNSUPPORTED_POST_OPS);
    DTP_DISPATCH(dtp_md_nelems(&d->src) > 0 && dtp_md_nelems(&d->dst) > 0, UNSUPPORTED_SHAPE);
    const dtp_md_t *w = &d->wei;
    const bool in_panels = dtp_conv_in_blocks(w, 0, DTP_DW_PANEL);
    DTP_DISPATCH(in_panels || dtp_md_is_plain(w), UNSUPPORTED_LAYOUT);
    plan->phases = dtp_deconv_phases(d, plan->phase);
    DTP_DISPATCH(plan->phases > 0, UNSUPPORTED_SHAPE);
    plan->panels = dtp_div_up(w->dims[0], DTP_DW_PANEL);
    plan->wei_0 = w->offset0;
    plan->wei_c = in_panels ? 1 : w->strides[0];
    plan->wei_p = in_panels ? w->strides[0] : DTP_DW_PANEL * w->strides[0];
    int64_t elements = plan->panels * DTP_DW_PANEL;
    for (int i = 0; i < DIMS; ++i) {
        const int at = w->ndims - DIMS + i;
        plan->wei_x[i] = at < w->ndims - d->nspatial ? 0 : w->strides[at];
        elements *= at < w->ndims - d->nspatial ? 1 : w->dims[at];
    }
    dtp_pd_book(pd, (size_t)(elements * plan->base.src_bytes), 0);
    return dnnl_tp_success;
}

typedef struct {
    const plan_t *plan;
    const run_phase_t *all;
    const char *from;
    char *to;
    int64_t channels;
} pack_t;

/* One panel's vector of weights. */
static void pack_vector(const pack_t *k, const char *from, char *to, int64_t n) {
    const int64_t size = k->plan->base.src_bytes, step = k->plan->wei_c * size;
    if (step == size) memcpy(to, from, (size_t)(n * size));
    else
        for (int64_t c = 0; c < n; ++c) memcpy(to + c * size, from + c * step, (size_t)size);
    memset(to + n * size, 0, (size_t)((DTP_DW_PANEL - n) * size));
}

static void pack_panels(void *arg, int slot, int64_t begin, int64_t end) {
    const pack_t *k = arg;
    const plan_t *plan = k->plan;
    const int64_t size = plan->base.src_bytes;
    (void)slot;
    for (int64_t u = begin; u < end; ++u) {
        const run_phase_t *f = &k->all[u / plan->panels];
        const int64_t panel = u % plan->panels,
                      n = dtp_min64(DTP_DW_PANEL, k->channels - panel * DTP_DW_PANEL);
        if (!f->any) continue;
        const dtp_deconv_phase_t *of = f->of;
        char *to = k->to + (f->dw.wei_0 + panel * f->dw.common.wei_panel) * size;
        int64_t x[DIMS];
        for (x[0] = 0; x[0] < of[0].n; ++x[0])
            for (x[1] = 0; x[1] < of[1].n; ++x[1])
                for (x[2] = 0; x[2] < of[2].n; ++x[2], to += DTP_DW_PANEL * size) {
                    int64_t at = plan->wei_0 + panel * plan->wei_p;
                    for (int i = 0; i < DIMS; ++i)
                        at += (of[i].first + (of[i].n - 1 - x[i]) * of[i].every) * plan->wei_x[i];
                    pack_vector(k, k->from + at * size, to, n);
                }
    }
}

/* Phases side by side, so that rows of dst are written while they are in the caches: slices of all, each a share of the units
 * of every phase. */
typedef struct {
    const dtp_pd_t *pd;
    const dtp_exec_ctx_t *ctx;
    const run_phase_t *all;
    int64_t slices;
} slices_t;

static void run_slices(void *arg, int slot, int64_t begin, int64_t end) {
    const slices_t *s = arg;
    const int64_t phases = ((const plan_t *)s->pd->plan)->phases, most = phases == 1 ? end - begin : SLICES;
    for (int64_t i = begin, step; i < end; i += step) {
        step = dtp_min64(most, end - i);
        for (int64_t k = 0; k < phases; ++k) {
            const dtp_dw_plan_t *p = &s->all[k].dw;
            const int64_t units = s->all[k].any ? dtp_dw_units(p) : 0;
            dtp_dw_run(p, s->pd, s->ctx, slot, units * i / s->slices, units * (i + step) / s->slices);
        }
    }
}

static void run_phases(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx, const run_phase_t *all) {
    const plan_t *plan = pd->plan;
    slices_t s = {pd, ctx, all, 1};
    double time = 0; /* in grains */
    for (int64_t k = 0; k < plan->phases; ++k) {
        if (!all[k].any) continue;
        const dtp_dw_plan_t *p = &all[k].dw;
        const int64_t units = dtp_dw_units(p), lines = units / (p->blocks * p->segments);
        /* One phase alone goes on and on; rows that are made in pairs stay together. */
        s.slices = dtp_max64(s.slices, plan->phases == 1 ? units : dtp_div_up(lines, p->pairs ? 2 : 1));
        time += (double)units / (double)p->grain;
    }
    const int64_t grain = (int64_t)((double)s.slices / time);
    dtp_parallel_for(ctx->par, s.slices, dtp_max64(grain, 1), run_slices, &s);
}

static dnnl_tp_status_t depthwise_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const plan_t *plan = pd->plan;
    const dtp_deconvolution_desc_t *d = (const dtp_deconvolution_desc_t *)pd->op;
    const run_phase_t *all = ctx->prepared[0];
    const pack_t pack = {plan, all, ctx->ptr[DTP_CONV_WEI], ctx->scratch, d->wei.dims[0]};
    const double volume = (double)dtp_conv_depth(d) / (double)plan->phases;
    dtp_parallel_for(ctx->par, plan->phases * plan->panels, dtp_grain(10 + NS_PER_VECTOR * volume),
                     pack_panels, (void *)(uintptr_t)&pack);
    void *ptr[DTP_CONV_NARGS];
    for (int i = 0; i < DTP_CONV_NARGS; ++i) ptr[i] = ctx->ptr[i];
    ptr[DTP_CONV_WEI] = ctx->scratch;
    dtp_exec_ctx_t inner = *ctx;
    inner.ptr = ptr;
    run_phases(pd, &inner, all);
    return dnnl_tp_success;
}

static const dtp_impl_constants_t depthwise_constants = {depthwise_prepare, NULL};
DTP_CPU_IMPLS_AND_ANY(deconvolution_depthwise, "simd", .plan_size = sizeof(plan_t),
                      .pd_init = depthwise_pd_init, .constants = &depthwise_constants,
                      .execute = depthwise_execute);
