/* Convolution over the micro-kernels of f32 and bf16: layouts, post-operations, and which driver runs it. A kernel of one
 * element with stride 1 over dense pixels is a plain product of matrices (cpu/gemm/product.h), everything else a
 * direct convolution (direct.h).
 *
 * Layout any becomes channels innermost; weights of any are packed as Ohwi16o, beside src of nChw16c as OIhw16i16o, those of
 * bf16 as OhwI16o2i, or with few channels of an odd number as Ohwi16o. src with other strides, and plain weights, are
 * brought into that form in scratch at each execution; nChw16c and OIhw16i16o are read, and dst is written, where they lie.
 * f32 weights of any with few output channels become Ohwi where kernels whose lanes run along k take fewer steps. */
#include "common/problems/convolution.h"

#include <stdio.h>

#include "cpu/convolution/direct.h"
#include "cpu/gemm/product.h"

typedef struct {
    bool is_product;
    union {
        dtp_product_t product;
        dtp_conv_direct_t direct;
    };
} conv_plan_t;

static size_t conv_used(const void *plan) {
    const conv_plan_t *p = plan;
    return p->is_product ? offsetof(conv_plan_t, product.po) + dtp_postops_used(&p->product.po)
                         : offsetof(conv_plan_t, direct.po) + dtp_postops_used(&p->direct.po);
}

/* ---- Layouts ----------------------------------------------------------------------------------------- */

/* "acdb": the dims of an image, channels innermost; of groups of weights "abdec". */
static dnnl_tp_status_t resolve_innermost(dtp_md_t *md, int grouped) {
    static const char layouts[2][3][8] = {{"acb", "acdb", "acdeb"}, {"abdc", "abdec", "abdefc"}};
    return dtp_conv_resolve(md, layouts[grouped][md->ndims - grouped - 3]);
}

/* True where kernels for few columns take fewer steps than column panels. A run of k-steps is a row of the kernel, if the pixels of
 * src and those of the weights lie side by side, else an element of the kernel. */
enum { FEW_LANES_ADDED = 5 /* steps that the end of a sum takes */ };
static bool lanes_run_along_k(const dtp_convolution_desc_t *d, const dtp_ukr_k_lanes_t *k_lanes) {
    const int grouped = dtp_conv_grouped(d), last = d->wei.ndims - 1;
    const int64_t groups = dtp_conv_groups(d), ic = d->src.dims[1] / groups, oc = d->dst.dims[1] / groups;
    const dtp_md_t *src = &d->src, *wei = &d->wei;
    if (!k_lanes || !dtp_md_is_plain(src) || ic == 0 || oc == 0) return false;
    const dtp_window_t w = dtp_conv_window(d, 2);
    const bool packs = ic > 1 && src->strides[1] != 1,
               whole = w.step == 1 && groups == 1 && (packs || src->strides[src->ndims - 1] == ic);
    if (!dtp_md_is_any(wei)) {
        if (!dtp_md_is_plain(wei) || (ic > 1 && wei->strides[grouped + 1] != 1)) return false;
        if (whole && w.kernel > 1 && wei->strides[last] != ic) return false;
    }
    const double run = (double)(whole ? w.kernel * ic : ic), runs = (double)dtp_conv_depth(d) / run;
    const double steps = (double)dtp_div_up((int64_t)run, k_lanes->lanes) * runs + FEW_LANES_ADDED;
    const double panels = run * runs * (double)(dtp_round_up(oc, DTP_UKR_PANEL) / k_lanes->lanes);
    return 10. * (double)oc * steps < 9. * panels; /* a tenth at least */
}

/* "Acdb16a", of groups "aBdec16b"; twice: "ABcd16b16a", of groups "aBCde16c16b"; pairs: "AcdB16a2b", "aBdeC16b2c". */
static dnnl_tp_status_t resolve_weights(dtp_md_t *md, int grouped, bool twice, bool pairs) {
    char text[20];
    int n = 0;
    if (grouped) text[n++] = 'a';
    text[n++] = (char)('A' + grouped);
    if (twice) text[n++] = (char)('B' + grouped);
    for (int d = grouped + 2; d < md->ndims; ++d) text[n++] = (char)('a' + d);
    if (twice) memcpy(text + n, "16", 2), n += 2;
    text[n++] = (char)((pairs ? 'B' : 'b') + grouped);
    snprintf(text + n, sizeof text - (size_t)n, "%s", pairs ? "16a2b" : "16a");
    text[n + 2] = (char)('a' + grouped);
    if (pairs) text[n + 4] = (char)('b' + grouped);
    return dtp_conv_resolve(md, text);
}

/* Column panels of 16 output channels, whose k-steps lie side by side. */
static bool is_packed(const dtp_md_t *md, int grouped) {
    if (md->data_type == dnnl_tp_bf16)
        return md->format_kind == dnnl_tp_blocked && md->inner_nblks == 2 &&
               md->inner_blks[0] == DTP_UKR_PANEL && md->inner_blks[1] == 2 && md->inner_idxs[0] == grouped &&
               md->inner_idxs[1] == grouped + 1 &&
               (md->strides[grouped + 1] == 2 * DTP_UKR_PANEL || md->dims[grouped + 1] <= 2);
    return dtp_conv_in_blocks(md, grouped, DTP_UKR_PANEL) &&
           (md->strides[grouped + 1] == DTP_UKR_PANEL || md->dims[grouped + 1] <= 1);
}

/* First layers of bf16 with an odd number of channels, whose pairs run through the pixels of a row of the kernel. */
enum { FOLD_MOST = 64 /* elements of such a row */ };
static bool may_fold(const dtp_convolution_desc_t *d, const dtp_ukr_set_t *ukr) {
    const dtp_window_t w = dtp_conv_window(d, 2);
    const int64_t ic = d->src.dims[1];
    return ukr->is_bf16 && !dtp_conv_grouped(d) && dtp_md_is_plain(&d->src) && ic % 2 && w.kernel > 1 &&
           w.step == 1 && w.kernel * ic <= FOLD_MOST;
}
/* Their weights are Ohwi16o, of which pairs are made at each execution. */
static bool is_folded(const dtp_convolution_desc_t *d, const dtp_ukr_set_t *ukr) {
    const dtp_md_t *w = &d->wei;
    const int64_t ic = d->src.dims[1];
    return may_fold(d, ukr) && dtp_conv_in_blocks(w, 0, DTP_UKR_PANEL) &&
           (ic == 1 || w->strides[1] == DTP_UKR_PANEL) && w->strides[w->ndims - 1] == ic * DTP_UKR_PANEL;
}

/* The same in blocks of 16 input channels: OIhw16i16o. */
static bool is_packed_twice(const dtp_md_t *md, int grouped) {
    return md->data_type == dnnl_tp_f32 && md->format_kind == dnnl_tp_blocked && md->inner_nblks == 2 &&
           md->inner_blks[0] == DTP_UKR_PANEL && md->inner_blks[1] == DTP_UKR_PANEL &&
           md->inner_idxs[0] == grouped + 1 && md->inner_idxs[1] == grouped &&
           md->dims[grouped + 1] % DTP_UKR_PANEL == 0;
}

/* nChw16c whose groups are whole blocks, so that nothing is padded. */
static bool is_blocked(const dtp_md_t *md, int64_t channels) {
    return dtp_conv_in_blocks(md, 1, DTP_UKR_PANEL) && channels > 0 && channels % DTP_UKR_PANEL == 0;
}

/* Strides of the spatial dims in bytes; 0 of those that the problem lacks. */
static void spatial_strides(int64_t x[3], const dtp_md_t *md, int first, int64_t bytes) {
    for (int i = 0; i < 3; ++i) {
        const int d = first + i - (3 - (md->ndims - first));
        x[i] = d < first ? 0 : md->strides[d] * bytes;
    }
}

/* ---- A plain product --------------------------------------------------------------------------------- */

/* True when images and space are one dim with an even stride. */
static bool join_pixels(const dtp_md_t *md, int64_t *stride) {
    int64_t next = 0;
    *stride = 0;
    for (int i = md->ndims - 1; i >= 1; --i) {
        const int d = i == 1 ? 0 : i;
        if (md->dims[d] == 1) continue;
        if (next == 0) *stride = next = md->strides[d];
        else if (md->strides[d] != next) return false;
        next *= md->dims[d];
    }
    return true;
}

static bool product_geometry(dtp_product_geometry_t *geo, const dtp_convolution_desc_t *d) {
    for (int i = 0; i < 3; ++i) {
        const dtp_window_t w = dtp_conv_window(d, i);
        if (w.kernel != 1 || w.pad != 0 || w.in != w.out || (w.stride != 1 && w.out > 1)) return false;
    }
    const int grouped = dtp_conv_grouped(d);
    if (dtp_conv_groups(d) != 1 || !is_packed(&d->wei, grouped)) return false;
    if (!dtp_md_is_plain(&d->src) || !dtp_md_is_plain(&d->dst)) return false;
    memset(geo, 0, sizeof *geo);
    dtp_product_operands(geo, &d->src, &d->wei, &d->bia, &d->dst);
    if (!join_pixels(&d->src, &geo->src_m) || !join_pixels(&d->dst, &geo->dst_m)) return false;
    geo->m = d->dst.dims[0];
    for (int i = 2; i < d->dst.ndims; ++i) geo->m *= d->dst.dims[i];
    geo->n = d->dst.dims[1];
    geo->k = d->src.dims[1];
    if (d->src.strides[1] != 1 && geo->k > 1) return false;
    if (d->dst.strides[1] != 1 && geo->n > 1) return false;
    geo->src_k = geo->dst_n = geo->wei_k = 1;
    geo->panel = DTP_UKR_PANEL;
    geo->wei_n = d->wei.strides[grouped];
    geo->dims = (dtp_product_dims_t){.src_k = 1, .wei_k = grouped + 1, .wei_n = grouped};
    if (geo->has_bias) geo->bia_n = geo->n == 1 ? 1 : d->bia.strides[0];
    return true;
}

/* ---- A direct convolution ---------------------------------------------------------------------------- */

enum { EACH_RUN = 16 /* k-steps of a first layer that cost less as so many taps than as a run */ };

static void describe_src(dtp_conv_direct_t *p, const dtp_convolution_desc_t *d) {
    const dtp_md_t *md = &d->src;
    const int64_t channels = p->ic * p->groups;
    p->src_0 = md->offset0 * p->elem;
    p->src_n = md->strides[0] * p->elem;
    spatial_strides(p->src_x, md, 2, p->elem);
    p->src_g = p->steps * DTP_UKR_STEP_BYTES;
    p->src_b = DTP_UKR_PANEL * p->elem;
    if (is_blocked(md, p->ic)) {
        p->src_b = md->strides[1] * p->elem;
        p->src_g = p->ic / DTP_UKR_PANEL * p->src_b;
        return;
    }
    const bool apart = channels > 1 && md->strides[1] != 1;
    p->each = !p->k_lanes && p->ukr->elems == 1 && p->groups == 1 && p->ic > 1 &&
              p->ic <= DTP_CONV_FIRST_CHANNELS && (apart || p->win[2].kernel * p->ic <= EACH_RUN);
    if (p->each) {
        p->src_b = md->strides[1] * p->elem;
        return;
    }
    const int64_t pixel = p->fold ? p->fold * p->elem : p->groups * p->src_g;
    p->packs_src = apart || (p->fold ? p->src_x[2] != pixel : p->src_g != p->ic * p->elem);
    if (!p->packs_src) return;
    p->from_src_0 = p->src_0;
    p->from_src_n = p->src_n;
    p->from_src_c = md->strides[1] * p->elem;
    memcpy(p->from_src_x, p->src_x, sizeof p->src_x);
    p->src_0 = 0;
    int64_t stride = pixel;
    for (int i = 2; i >= 0; --i) {
        p->src_x[i] = stride;
        stride *= p->win[i].in;
        /* What packs pixels writes whole k-steps. */
        if (p->fold && i == 2) stride = dtp_round_up(stride + p->elem, DTP_UKR_STEP_BYTES);
    }
    p->src_n = stride;
}

static dtp_conv_wei_t weights_way(dtp_conv_direct_t *p) {
    int64_t next = p->elem;
    bool space = true;
    for (int i = 2; i >= 0; --i) {
        space = space && (p->win[i].kernel == 1 || p->from_wei_x[i] == next);
        next *= p->win[i].kernel;
    }
    if (p->ic == 1) p->from_wei_i = p->elem; /* any will do */
    if (p->from_wei_o == p->elem || p->oc == 1) return DTP_CONV_WEI_CHANNELS;
    if (space && next > p->elem && p->elem == DTP_UKR_STEP_BYTES) return DTP_CONV_WEI_SPACE;
    return p->from_wei_i == p->elem ? DTP_CONV_WEI_CHANNELS : DTP_CONV_WEI_ANY;
}

static void describe_weights(dtp_conv_direct_t *p, const dtp_convolution_desc_t *d) {
    const int grouped = dtp_conv_grouped(d);
    const dtp_md_t *md = &d->wei;
    p->wei_b = DTP_UKR_PANEL * dtp_conv_panel(p) * p->elem;
    if (p->each) p->wei_b = DTP_UKR_PANEL_BYTES;
    if (is_packed_twice(md, grouped)) p->wei_b = md->strides[grouped + 1] * p->elem;
    else p->packs_wei = !p->k_lanes && !is_packed(md, grouped);
    int64_t x[3];
    spatial_strides(x, md, 2 + grouped, p->elem);
    if (!p->packs_wei) {
        p->wei_0 = md->offset0 * p->elem;
        p->wei_g = grouped ? md->strides[0] * p->elem : 0;
        p->wei_p = md->strides[grouped] * p->elem;
        memcpy(p->wei_x, x, sizeof x);
        return;
    }
    p->from_wei_0 = md->offset0 * p->elem;
    p->from_wei_g = grouped ? md->strides[0] * p->elem : 0;
    p->from_wei_o = md->strides[grouped] * p->elem;
    p->from_wei_i = md->strides[grouped + 1] * p->elem;
    memcpy(p->from_wei_x, x, sizeof x);
    p->from_wei_way = weights_way(p);
    int64_t stride = p->steps * DTP_UKR_PANEL_BYTES;
    for (int i = 2; i >= 0; --i) {
        p->wei_x[i] = stride;
        stride *= p->win[i].kernel;
        if (!p->fold || i != 2) continue;
        p->wei_row = dtp_div_up(p->win[2].kernel * p->fold, p->ukr->elems) * DTP_UKR_PANEL_BYTES;
        p->from_wei_o /= DTP_UKR_PANEL; /* which are side by side */
        stride = 2 * p->wei_row;
    }
    p->wei_p = stride;
    p->wei_g = stride * dtp_div_up(p->oc, DTP_UKR_PANEL);
}

/* What the kernels finish themselves; else through tiles. */
static bool fuse(dtp_conv_direct_t *p, const dtp_convolution_desc_t *d) {
    const int64_t bytes = (int64_t)dtp_type_size(p->dst_dt);
    uint32_t types = 0;
    if (!dtp_fused_types(p->ukr, p->dst_dt, p->bia_dt, &types) || p->dst_c != bytes) return false;
    if (p->has_bias && p->bia_c != (int64_t)dtp_type_size(p->bia_dt)) return false;
    if (!dtp_fused_init(&p->fused, &p->po, true, p->ukr->is_bf16)) return false;
    if (p->fused.act && p->dst_dt != dnnl_tp_f32) return false;
    p->fused.flags |= types;
    if (!p->fused.has_add || p->fused.add_is_c) return true;
    if (p->dst_p != dtp_conv_panel(p) * bytes || dtp_ukr_add_bytes(p->fused.flags) != bytes) return false;
    /* The addend lies as dst does. */
    int64_t stride;
    return join_pixels(&d->dst, &stride) && (stride == 0 || p->fused.add_row_stride == stride) &&
           (stride != 0 || p->images * p->win[0].out * p->win[1].out * p->win[2].out <= 1);
}

static dnnl_tp_status_t init_direct(dtp_conv_direct_t *p, dtp_pd_t *pd, const dtp_convolution_desc_t *d,
                                    const dtp_ukr_set_t *ukr, bool along_k, unsigned isa) {
    p->ukr = ukr;
    p->k_lanes = along_k ? ukr->k_lanes : NULL;
    p->f32 = dtp_ukr_set(dnnl_tp_f32, dnnl_tp_f32, dnnl_tp_f32, isa);
    p->elem = (int64_t)dtp_type_size(d->src.data_type);
    p->vops = dtp_vops(isa);
    for (int i = 0; i < 3; ++i) p->win[i] = dtp_conv_window(d, i);
    p->images = d->src.dims[0];
    p->groups = dtp_conv_groups(d);
    p->ic = d->src.dims[1] / p->groups;
    p->oc = d->dst.dims[1] / p->groups;
    p->steps = dtp_div_up(p->ic, ukr->elems);
    p->fold = is_folded(d, ukr) ? p->ic : 0;
    describe_src(p, d);
    describe_weights(p, d);
    const bool in_blocks = is_blocked(&d->src, p->ic) || is_packed_twice(&d->wei, dtp_conv_grouped(d));
    p->block_k = in_blocks ? DTP_UKR_PANEL / ukr->elems : p->each ? 1 : p->steps;
    p->blocks = in_blocks ? p->ic / DTP_UKR_PANEL : p->each ? p->ic : 1;
    p->dst_dt = d->dst.data_type;
    const int64_t bytes = (int64_t)dtp_type_size(p->dst_dt);
    p->dst_0 = d->dst.offset0 * bytes;
    p->dst_n = d->dst.strides[0] * bytes;
    p->dst_c = d->dst.dims[1] == 1 ? bytes : d->dst.strides[1] * bytes;
    p->dst_p = dtp_conv_panel(p) * p->dst_c;
    p->dst_g = p->oc * p->dst_c;
    if (is_blocked(&d->dst, p->oc)) {
        p->dst_c = bytes;
        p->dst_p = d->dst.strides[1] * bytes;
        p->dst_g = p->oc / DTP_UKR_PANEL * p->dst_p;
    }
    spatial_strides(p->dst_x, &d->dst, 2, bytes);
    p->has_bias = !dtp_md_is_zero(&d->bia);
    p->bia_dt = p->has_bias ? d->bia.data_type : dnnl_tp_f32;
    if (p->has_bias) {
        const int64_t size = (int64_t)dtp_type_size(p->bia_dt);
        p->bia_0 = d->bia.offset0 * size;
        p->bia_c = d->bia.dims[0] == 1 ? size : d->bia.strides[0] * size;
    }
    DTP_DISPATCH(dtp_vops_takes(p->dst_dt) && dtp_vops_takes(p->bia_dt), UNSUPPORTED_DATA_TYPE);
    DTP_TRY(dtp_postops_init_channels(&p->po, pd, DTP_CONV_DST, isa));
    p->tiled = !fuse(p, d);
    if (p->tiled) memset(&p->fused, 0, sizeof p->fused);
    /* A row of the kernel reads one run of memory, in src and in the weights. */
    p->merged = p->fold || p->win[2].kernel == 1 ||
                (p->win[2].step == 1 && p->src_x[2] == p->block_k * DTP_UKR_STEP_BYTES &&
                 p->wei_x[2] == p->block_k * dtp_conv_panel_step(p));
    dtp_conv_direct_plan(p, pd);
    if (p->fused.flags & DTP_UKR_C_BF16 && p->passes > 1) { /* partial sums are f32 */
        p->tiled = true;
        memset(&p->fused, 0, sizeof p->fused);
        dtp_conv_direct_plan(p, pd);
    }
    return dnnl_tp_success;
}

/* ---- The implementation ------------------------------------------------------------------------------ */

static dnnl_tp_status_t convolution_ukr_pd_init(dtp_pd_t *pd) {
    const unsigned isa = dtp_pd_isa(pd);
    dtp_convolution_desc_t *d = (dtp_convolution_desc_t *)pd->op;
    conv_plan_t *plan = pd->plan;
    DTP_DISPATCH(dtp_conv_take_direct(d), UNSUPPORTED_ALG);
    const dtp_ukr_set_t *ukr = dtp_product_set(pd, d->src.data_type, d->wei.data_type);
    DTP_DISPATCH(ukr, UNSUPPORTED_DATA_TYPE);
    const int grouped = dtp_conv_grouped(d);
    DTP_TRY(resolve_innermost(&d->src, 0));
    DTP_TRY(resolve_innermost(&d->dst, 0));
    const int64_t groups = dtp_conv_groups(d), ic = d->src.dims[1] / groups, oc = d->dst.dims[1] / groups;
    const bool along_k = lanes_run_along_k(d, ukr->k_lanes);
    if (along_k) DTP_TRY(resolve_innermost(&d->wei, grouped));
    DTP_TRY(resolve_weights(&d->wei, grouped, is_blocked(&d->src, ic) && ukr->elems == 1,
                            ukr->is_bf16 && !may_fold(d, ukr)));
    if (!dtp_md_is_zero(&d->bia) && dtp_md_is_any(&d->bia)) dtp_md_make_plain(&d->bia);
    DTP_DISPATCH(dtp_md_is_plain(&d->src) || is_blocked(&d->src, ic), UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_md_is_plain(&d->dst) || is_blocked(&d->dst, oc), UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_md_is_plain(&d->wei) || is_packed(&d->wei, grouped) ||
                     is_packed_twice(&d->wei, grouped) || is_folded(d, ukr),
                 UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_md_is_zero(&d->bia) || dtp_md_is_plain(&d->bia), UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS), UNSUPPORTED_ATTR);
    dtp_product_geometry_t geo;
    plan->is_product = product_geometry(&geo, d);
    if (!plan->is_product) return init_direct(&plan->direct, pd, d, ukr, along_k, isa);
    geo.dst_channels = true;
    return dtp_product_init(&plan->product, pd, &geo, ukr, isa);
}

static dnnl_tp_status_t convolution_ukr_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const conv_plan_t *plan = pd->plan;
    if (plan->is_product) dtp_product_execute(&plan->product, pd, ctx, NULL);
    else dtp_conv_direct_run(&plan->direct, pd, ctx);
    return dnnl_tp_success;
}

DTP_CPU_IMPLS_AND_BF16(convolution, "ukr", .plan_size = sizeof(conv_plan_t), .plan_used = conv_used,
                       .pd_init = convolution_ukr_pd_init, .execute = convolution_ukr_execute);
