/* Deconvolution as direct convolutions (cpu/convolution/direct.h), one for each phase (deconvolution.h). A phase's dst are dst's
 * elements with s times their strides, its weights are read where they lie, with negative strides. Phases run one after another.
 *
 * src and weights of bf16, with an even number of channels, go to the kernels of bf16; all else is f32 to the kernels. src that is not
 * of that type with channels innermost and weights that are not packed (Ohwi16o, OhwI16o2i) are converted into scratch first. dst that
 * the kernels do not write where it lies, and post-operations that are not done in registers, take a last pass: sums go to scratch.
 *
 * Where the kernel is as long as the stride along the innermost dimension, the phases along it are one: to the kernels its places
 * are channels of dst, which lie beside each other. So few channels fill the lanes of a register (widen). */
#include "common/base/scalar.h"
#include "cpu/convolution/direct.h"
#include "cpu/deconvolution/deconvolution.h"
#include "cpu/elementwise/program.h"
#include "cpu/gemm/product.h"

enum { DIMS = DTP_DECONV_DIMS };

typedef struct {
    dtp_conv_direct_t base;        /* what all phases share */
    dtp_deconvolution_desc_t wide; /* the problem, with phases as channels of dst where they are */
    int64_t repeats;               /* of the bias, in scratch; 0: it is read where it lies */
    int64_t phase[DIMS], phases;
    bool converts_src, converts_wei, finishes;
    size_t src_at, wei_at, dst_at, bia_at; /* bytes into the shared scratch */
    dtp_program_t src, wei, dst;           /* those of converts_src, converts_wei, finishes */
} plan_t;

static size_t phases_used(const void *plan) {
    const plan_t *p = plan;
    return p->finishes       ? offsetof(plan_t, dst) + dtp_program_used(&p->dst)
           : p->converts_wei ? offsetof(plan_t, wei) + dtp_program_used(&p->wei)
           : p->converts_src ? offsetof(plan_t, src) + dtp_program_used(&p->src)
                             : offsetof(plan_t, src);
}

/* ---- Phases ------------------------------------------------------------------------------------------ */

static int64_t gcd(int64_t a, int64_t b) {
    while (b) {
        const int64_t r = a % b;
        a = b, b = r;
    }
    return a;
}

dtp_deconv_phase_t dtp_deconv_phase(const dtp_deconvolution_desc_t *d, int i, int64_t r) {
    const dtp_window_t w = dtp_deconv_window(d, i);
    const int64_t every = w.stride / gcd(w.stride, w.step), step = every * w.step / w.stride,
                  last = dtp_min64(w.kernel, every);
    dtp_deconv_phase_t p = {.every = every};
    while (p.first < last && (p.first * w.step) % w.stride != (r + w.pad) % w.stride) ++p.first;
    if (p.first < last) p.n = (w.kernel - 1 - p.first) / every + 1;
    p.win = (dtp_window_t){
        .in = w.out, .out = dtp_div_up(w.in - r, w.stride), .kernel = p.n, .stride = 1, .step = step};
    p.win.pad = (p.n - 1) * step - (r + w.pad - p.first * w.step) / w.stride;
    if (p.n > 0) return p;
    p.win.kernel = p.win.step = 1;
    p.win.pad = p.win.in + p.win.out;
    return p;
}

int64_t dtp_deconv_phases(const dtp_deconvolution_desc_t *d, int64_t phase[DIMS]) {
    int64_t all = 1;
    for (int i = 0; i < DIMS; ++i) {
        const dtp_window_t w = dtp_deconv_window(d, i);
        phase[i] = dtp_min64(w.stride, w.in);
        if (phase[i] > DTP_DECONV_PHASES / all) return 0;
        all *= phase[i];
    }
    return all;
}

/* Phase number k, planned for pd; false: it has no elements. */
static bool make_phase(dtp_conv_direct_t *p, const plan_t *plan, dtp_pd_t *pd, int64_t k) {
    const dtp_deconvolution_desc_t *d = &plan->wide;
    *p = plan->base;
    for (int i = DIMS - 1; i >= 0; --i) {
        const int64_t r = k % plan->phase[i];
        const dtp_deconv_phase_t f = dtp_deconv_phase(d, i, r);
        if (f.win.out <= 0) return false;
        p->win[i] = f.win;
        if (f.n > 0) {
            p->wei_0 += (f.first + (f.n - 1) * f.every) * p->wei_x[i];
            p->wei_x[i] *= -f.every;
        }
        p->dst_0 += r * p->dst_x[i];
        p->dst_x[i] *= dtp_deconv_window(d, i).stride;
        k /= plan->phase[i];
    }
    p->merged = p->win[2].kernel == 1;
    dtp_conv_direct_plan(p, pd);
    if (p->fused.flags & DTP_UKR_C_BF16 && p->passes > 1) { /* partial sums are f32 */
        p->tiled = true;
        memset(&p->fused, 0, sizeof p->fused);
        dtp_conv_direct_plan(p, pd);
    }
    return true;
}

static dnnl_tp_status_t phases_prepare(dtp_primitive_t *primitive) {
    const plan_t *plan = primitive->pd->plan;
    dtp_pd_t pd = *primitive->pd; /* planning books scratch */
    const size_t bytes = sizeof(dtp_conv_direct_t) * (size_t)plan->phases;
    dtp_conv_direct_t *all = dtp_zalloc(pd.engine->allocator, bytes, DTP_CACHE_LINE);
    if (!all) DTP_RETURN(dtp_no_memory(bytes));
    primitive->prepared[0] = all;
    for (int64_t k = 0; k < plan->phases; ++k)
        if (!make_phase(&all[k], plan, &pd, k)) all[k].units = 0;
    return dnnl_tp_success;
}

/* ---- The plan ---------------------------------------------------------------------------------------- */

/* Channels innermost: "acdb". */
static dnnl_tp_status_t image_md(dtp_md_t *md, const dtp_md_t *like, dnnl_tp_data_type_t dt) {
    static const char *const layouts[] = {"acb", "acdb", "acdeb"};
    const dtp_md_t of = *like; /* which may be md */
    return dtp_md_init_layout(md, of.ndims, of.dims, dt, layouts[of.ndims - 3]);
}
static dnnl_tp_status_t packed_md(dtp_md_t *md, const dtp_md_t *like, int grouped, dnnl_tp_data_type_t dt) {
    static const char *const layouts[2][2][DIMS] = {
        {{"Acb16a", "Acdb16a", "Acdeb16a"}, {"aBdc16b", "aBdec16b", "aBdefc16b"}},
        {{"AcB16a2b", "AcdB16a2b", "AcdeB16a2b"}, {"aBdC16b2c", "aBdeC16b2c", "aBdefC16b2c"}}};
    const dtp_md_t of = *like;
    return dtp_md_init_layout(md, of.ndims, of.dims, dt,
                              layouts[dt == dnnl_tp_bf16][grouped][of.ndims - grouped - 3]);
}

static bool lies(const dtp_md_t *md, dnnl_tp_data_type_t dt) {
    return md->data_type == dt && dtp_md_is_plain(md) && (md->strides[1] == 1 || md->dims[1] == 1);
}

static void strides_of(int64_t x[DIMS], const dtp_md_t *md, int first) {
    const int missing = DIMS - (md->ndims - first);
    const int64_t bytes = (int64_t)dtp_type_size(md->data_type);
    for (int i = 0; i < DIMS; ++i) x[i] = i < missing ? 0 : md->strides[first + i - missing] * bytes;
}

/* A conversion without steps; false: the layouts have no common boxes. */
static bool convert(dtp_program_t *m, const dtp_pd_t *pd, unsigned isa, const dtp_md_t *dst,
                    const dtp_md_t *src) {
    const dtp_md_t *md[DTP_BOXES_OPS] = {dst, src};
    dtp_program_begin(m, isa, dst->data_type, 0, src->data_type, 0);
    return dtp_program_cut(m, pd, md, true);
}

/* What the last pass does; false: it cannot. */
static bool finish(plan_t *plan, dtp_pd_t *pd, unsigned isa, const dtp_md_t *sums) {
    const dtp_deconvolution_desc_t *d = (const dtp_deconvolution_desc_t *)pd->op;
    const dtp_md_t *md[DTP_BOXES_OPS] = {&d->dst, sums};
    dtp_program_begin(&plan->dst, isa, d->dst.data_type, DTP_CONV_DST, dnnl_tp_f32, DTP_CONV_DST);
    return dtp_program_post_ops(&plan->dst, pd, &d->dst, md) && dtp_program_cut(&plan->dst, pd, md, true);
}

/* Weights in whose memory the places along the innermost dimension and the channels of dst are one dimension. */
static const char *const wide_layouts[] = {"bca", "cbda", "cdbea"};

/* Can and should the phases along the innermost dimension be channels? All but the weights have a layout. */
static bool is_wide(const dtp_deconvolution_desc_t *d, const dtp_pd_t *pd) {
    const int last = d->nspatial - 1, w = d->dst.ndims - 1;
    const dtp_window_t win = dtp_deconv_window(d, DIMS - 1);
    const int64_t oc = d->dst.dims[1];
    const bool fills = oc % DTP_UKR_PANEL == 0,
               fits = win.kernel == win.stride && win.stride > 1 && win.step == 1;
    if (fills || !fits || dtp_conv_grouped(d) || win.pad || d->padding_r[last] ||
        win.in != win.out * win.stride)
        return false;
    if (d->dst.strides[1] != 1 || d->dst.strides[w] != oc) return false;
    for (int i = 0; pd->attr && i < pd->attr->post_ops->len; ++i)
        if (pd->attr->post_ops->entry[i].kind != dnnl_tp_eltwise) return false;
    const bool any = dtp_md_is_any(&d->wei);
    return (any || (dtp_md_is_plain(&d->wei) && d->wei.strides[0] == 1 && d->wei.strides[w] == oc)) &&
           (dtp_md_is_zero(&d->bia) || d->bia.strides[0] == 1);
}

/* Kernel and stride along the innermost dimension become 1; the bias is repeated for so many places. */
static dnnl_tp_status_t widen(plan_t *plan, dtp_deconvolution_desc_t *d) {
    dtp_deconvolution_desc_t *wide = &plan->wide;
    const int last = d->nspatial - 1, w = d->dst.ndims - 1;
    const int64_t s = d->strides[last], oc = d->dst.dims[1];
    const dtp_md_t wei = d->wei;
    if (dtp_md_is_any(&wei))
        DTP_TRY(dtp_md_init_layout(&d->wei, wei.ndims, wei.dims, wei.data_type, wide_layouts[last]));
    *wide = *d;
    plan->repeats = dtp_md_is_zero(&d->bia) ? 0 : s;
    wide->strides[last] = 1;
    wide->wei.dims[w] = wide->wei.padded_dims[w] = 1;
    wide->wei.dims[0] = wide->wei.padded_dims[0] = s * oc;
    wide->dst.dims[w] = wide->dst.padded_dims[w] = d->src.dims[w];
    wide->dst.strides[w] = s * oc;
    wide->dst.dims[1] = wide->dst.padded_dims[1] = s * oc;
    return dnnl_tp_success;
}

static size_t room_of(const dtp_md_t *md) { return dtp_round_up_size(dtp_md_size(md), DTP_CACHE_LINE); }

static dnnl_tp_status_t phases_pd_init(dtp_pd_t *pd) {
    const unsigned isa = dtp_pd_isa(pd);
    dtp_deconvolution_desc_t *d = (dtp_deconvolution_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    dtp_conv_direct_t *p = &plan->base;
    const int grouped = dtp_conv_grouped(d);
    DTP_DISPATCH(dtp_dt_fits_f32(d->src.data_type) && dtp_dt_fits_f32(d->wei.data_type) &&
                     d->src.data_type <= dnnl_tp_f32 && d->wei.data_type <= dnnl_tp_f32 &&
                     dtp_vops_takes(d->dst.data_type),
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_md_is_zero(&d->bia) || dtp_vops_takes(d->bia.data_type), UNSUPPORTED_DATA_TYPE);
    const int64_t groups = dtp_conv_groups(d), ic = d->src.dims[1] / groups;
    const bool pairs = d->src.data_type == dnnl_tp_bf16 && d->wei.data_type == dnnl_tp_bf16 && ic % 2 == 0;
    const dnnl_tp_data_type_t type = pairs ? dnnl_tp_bf16 : dnnl_tp_f32;
    p->ukr = dtp_product_set(pd, type, type);
    DTP_DISPATCH(p->ukr, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_md_nelems(&d->src) > 0 && dtp_md_nelems(&d->dst) > 0, UNSUPPORTED_SHAPE);
    if (dtp_md_is_any(&d->src)) DTP_TRY(image_md(&d->src, &d->src, d->src.data_type));
    if (dtp_md_is_any(&d->dst)) DTP_TRY(image_md(&d->dst, &d->dst, d->dst.data_type));
    if (!dtp_md_is_zero(&d->bia) && dtp_md_is_any(&d->bia)) dtp_md_make_plain(&d->bia);
    DTP_DISPATCH(dtp_md_is_zero(&d->bia) || dtp_md_is_plain(&d->bia), UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS), UNSUPPORTED_ATTR);
    dtp_md_t src, wei, dst; /* operands as the kernels see them */
    DTP_TRY(image_md(&src, &d->src, type));
    DTP_TRY(image_md(&dst, &d->dst, dnnl_tp_f32));
    DTP_TRY(dtp_postops_init_channels(&p->po, pd, DTP_CONV_DST, isa));
    plan->finishes = !(lies(&d->dst, dnnl_tp_f32) || (pairs && lies(&d->dst, dnnl_tp_bf16))) ||
                     !dtp_fused_init(&p->fused, &p->po, true, false) || p->fused.has_add ||
                     (p->fused.act && d->dst.data_type != dnnl_tp_f32);
    plan->wide = *d;
    if (!plan->finishes && is_wide(d, pd)) DTP_TRY(widen(plan, d));
    dtp_deconvolution_desc_t *wide = &plan->wide;
    DTP_TRY(packed_md(&wei, &wide->wei, grouped, type));
    if (dtp_md_is_any(&wide->wei)) {
        d->wei = wei;
        d->wei.data_type = wide->wei.data_type;
        wide->wei = d->wei;
    }
    plan->phases = dtp_deconv_phases(wide, plan->phase);
    DTP_DISPATCH(plan->phases > 0, UNSUPPORTED_SHAPE);
    plan->converts_src = !lies(&d->src, type);
    plan->converts_wei = !dtp_md_accepts(&wei, &wide->wei);
    size_t shared = 0;
    if (plan->converts_src) {
        DTP_DISPATCH(convert(&plan->src, pd, isa, &src, &d->src), UNSUPPORTED_LAYOUT);
        plan->src_at = shared;
        shared += room_of(&src);
    } else {
        src = d->src;
    }
    if (plan->converts_wei) {
        DTP_DISPATCH(convert(&plan->wei, pd, isa, &wei, &wide->wei), UNSUPPORTED_LAYOUT);
        plan->wei_at = shared;
        shared += room_of(&wei);
    } else {
        wei = wide->wei;
    }
    if (plan->finishes) {
        DTP_DISPATCH(finish(plan, pd, isa, &dst), UNSUPPORTED_POST_OPS);
        memset(&p->fused, 0, sizeof p->fused);
        memset(&p->po, 0, sizeof p->po);
        plan->dst_at = shared;
        shared += room_of(&dst);
    } else {
        dst = wide->dst;
    }
    p->vops = dtp_vops(isa);
    p->images = src.dims[0];
    p->groups = groups;
    p->f32 = dtp_ukr_set(dnnl_tp_f32, dnnl_tp_f32, dnnl_tp_f32, isa);
    p->elem = (int64_t)dtp_type_size(type);
    p->ic = ic;
    p->steps = ic / p->ukr->elems;
    p->oc = dst.dims[1] / groups;
    p->blocks = 1;
    p->block_k = p->steps;
    p->src_0 = src.offset0 * p->elem;
    p->src_n = src.strides[0] * p->elem;
    p->src_g = ic * p->elem;
    strides_of(p->src_x, &src, 2);
    p->wei_0 = wei.offset0 * p->elem;
    p->wei_g = grouped ? wei.strides[0] * p->elem : 0;
    p->wei_p = wei.strides[grouped] * p->elem;
    strides_of(p->wei_x, &wei, 2 + grouped);
    p->dst_dt = dst.data_type;
    p->dst_c = (int64_t)dtp_type_size(p->dst_dt);
    p->dst_0 = dst.offset0 * p->dst_c;
    p->dst_n = dst.strides[0] * p->dst_c;
    p->dst_p = DTP_UKR_PANEL * p->dst_c;
    p->dst_g = p->oc * p->dst_c;
    strides_of(p->dst_x, &dst, 2);
    p->has_bias = !dtp_md_is_zero(&d->bia);
    p->bia_dt = p->has_bias ? d->bia.data_type : dnnl_tp_f32;
    if (p->has_bias) {
        const int64_t size = (int64_t)dtp_type_size(p->bia_dt);
        p->bia_0 = d->bia.offset0 * size;
        p->bia_c = d->bia.dims[0] == 1 ? size : d->bia.strides[0] * size;
        p->tiled = p->bia_c != size;
        if (plan->repeats) {
            p->bia_0 = 0;
            plan->bia_at = shared;
            shared += dtp_round_up_size((size_t)(p->oc * size), DTP_CACHE_LINE);
        }
    }
    uint32_t types = 0;
    p->tiled = !dtp_fused_types(p->ukr, p->dst_dt, p->bia_dt, &types) || p->tiled;
    if (p->tiled) memset(&p->fused, 0, sizeof p->fused);
    else p->fused.flags |= types;
    size_t slot = 0;
    dtp_conv_direct_t phase;
    for (int64_t k = 0; k < plan->phases; ++k)
        if (make_phase(&phase, plan, pd, k) && pd->scratch_per_slot > slot) slot = pd->scratch_per_slot;
    const dtp_program_t *programs[] = {plan->converts_src ? &plan->src : NULL,
                                       plan->converts_wei ? &plan->wei : NULL,
                                       plan->finishes ? &plan->dst : NULL};
    for (int i = 0; i < 3; ++i)
        if (programs[i] && dtp_program_slot_bytes(programs[i]) > slot)
            slot = dtp_program_slot_bytes(programs[i]);
    dtp_pd_book(pd, shared, slot);
    return dnnl_tp_success;
}

/* ---- Execution --------------------------------------------------------------------------------------- */

static dnnl_tp_status_t phases_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const plan_t *plan = pd->plan;
    const dtp_conv_direct_t *all = ctx->prepared[0];
    char *slots = ctx->scratch + pd->scratch_shared;
    void *ptr[DTP_CONV_NARGS];
    for (int i = 0; i < DTP_CONV_NARGS; ++i) ptr[i] = ctx->ptr[i];
    if (plan->converts_src) {
        char *const to[] = {ptr[DTP_CONV_SRC] = ctx->scratch + plan->src_at, ctx->ptr[DTP_CONV_SRC]};
        dtp_program_run(&plan->src, ctx->par, to, slots, pd->scratch_per_slot);
    }
    if (plan->converts_wei) {
        char *const to[] = {ptr[DTP_CONV_WEI] = ctx->scratch + plan->wei_at, ctx->ptr[DTP_CONV_WEI]};
        dtp_program_run(&plan->wei, ctx->par, to, slots, pd->scratch_per_slot);
    }
    if (plan->repeats) {
        const dtp_md_t *bia = &plan->wide.bia;
        const size_t size = dtp_type_size(bia->data_type), bytes = (size_t)bia->dims[0] * size;
        const char *from = (const char *)ctx->ptr[DTP_CONV_BIA] + (size_t)bia->offset0 * size;
        char *to = ptr[DTP_CONV_BIA] = ctx->scratch + plan->bia_at;
        for (int64_t i = 0; i < plan->repeats; ++i) memcpy(to + (size_t)i * bytes, from, bytes);
    }
    if (plan->finishes) ptr[DTP_CONV_DST] = ctx->scratch + plan->dst_at;
    dtp_exec_ctx_t inner = *ctx;
    inner.ptr = ptr;
    for (int64_t k = 0; k < plan->phases; ++k) dtp_conv_direct_run(&all[k], pd, &inner);
    if (plan->finishes) {
        char *of[DTP_BOXES_OPS];
        for (int o = 0; o < plan->dst.nops; ++o) of[o] = ctx->ptr[plan->dst.arg[o]];
        of[1] = ptr[DTP_CONV_DST];
        dtp_program_run(&plan->dst, ctx->par, of, slots, pd->scratch_per_slot);
    }
    return dnnl_tp_success;
}

static const dtp_impl_constants_t phases_constants = {phases_prepare, NULL};
DTP_CPU_IMPLS_AND_BF16(deconvolution, "ukr", .plan_size = sizeof(plan_t), .plan_head = offsetof(plan_t, src),
                       .plan_used = phases_used, .pd_init = phases_pd_init, .constants = &phases_constants,
                       .execute = phases_execute);
