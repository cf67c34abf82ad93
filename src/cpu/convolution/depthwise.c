/* Depthwise convolution of f32 or bf16, sums in f32: as many groups as channels, one channel in and one out each,
 * channels innermost in src and dst. A unit of work is a row of dst; its kernel computes sums, bias and a clamp, what else
 * follows is applied to the row while it is in cache.
 *
 * Weights of any are Goihw16g (Abcde16a): panels of 16 channels, in which the kernel's elements follow each other. */
#include "cpu/convolution/depthwise.h"

#include "cpu/ukr/ukr.h"
#include "threading/base/parallel.h"

enum {
    SEGMENT_FLOATS = 1 << 16, /* of a row that is computed at once */
    CHUNK = 128               /* channels whose rows are computed one after another */
};
/* Of one core, at least. */
#define FLOPS_PER_NS 20.
#define BYTES_PER_NS 20.
#define L2_SHARE 1.25 /* of src and dst that come from the second-level cache for the most part */

/* Strides of depth, height and width; 0 of those that the problem lacks. */
static void spatial(int64_t x[3], const dtp_md_t *md, int first) {
    for (int i = 0; i < 3; ++i) {
        const int d = md->ndims - 3 + i;
        x[i] = d < first ? 0 : md->strides[d];
    }
}

static dnnl_tp_status_t resolve(dtp_convolution_desc_t *d) {
    static const struct {
        char image[8], weights[12];
    } layouts[] = {{"acb", "Abcd16a"}, {"acdb", "Abcde16a"}, {"acdeb", "Abcdef16a"}};
    DTP_TRY(dtp_conv_resolve(&d->src, layouts[d->nspatial - 1].image));
    DTP_TRY(dtp_conv_resolve(&d->dst, layouts[d->nspatial - 1].image));
    DTP_TRY(dtp_conv_resolve(&d->wei, layouts[d->nspatial - 1].weights));
    if (!dtp_md_is_zero(&d->bia) && dtp_md_is_any(&d->bia)) dtp_md_make_plain(&d->bia);
    return dnnl_tp_success;
}

/* A chain that the kernel does itself. */
static bool ends_in_kernel(const dtp_postops_t *po, dtp_dw_row_t *a) {
    if (po->len != 1 || !po->step[0].eltwise) return po->len == 0;
    const dtp_po_simple_t s = dtp_postops_simple(po, 0);
    a->hardswish = po->step[0].kind == dnnl_tp_eltwise && po->step[0].alg == dnnl_tp_eltwise_hardswish;
    a->alpha = po->step[0].alpha;
    a->beta = po->step[0].beta;
    a->clamp = s.form == DTP_PO_FORM_RELU || s.form == DTP_PO_FORM_CLIP;
    a->lo = s.floor;
    a->hi = s.form == DTP_PO_FORM_CLIP ? s.cap : __builtin_inff();
    return a->clamp || a->hardswish;
}

static bool in_whole_blocks(const dtp_md_t *md) {
    return dtp_conv_in_blocks(md, 1, DTP_DW_PANEL) && md->dims[1] > 0 && md->dims[1] % DTP_DW_PANEL == 0;
}
static bool has_dense_channels(const dtp_md_t *md) {
    return dtp_md_is_plain(md) && (md->dims[1] == 1 || md->strides[1] == 1);
}

/* Two rows of dst at once where their channels are dense, both see all rows of the kernel and each
 * column some column. */
static bool takes_pairs(const dtp_dw_plan_t *p) {
    const dtp_window_t *w = p->win, *W = &w[2];
    int64_t first[2], last[2];
    dtp_window_taps(W, 0, &first[0], &first[1]);
    dtp_window_taps(W, W->out - 1, &last[0], &last[1]);
    bool plain = w[0].kernel == 1 && w[0].in == w[0].out && w[0].stride == 1 && w[0].pad == 0;
    for (int i = 1; i < 3; ++i) plain = plain && w[i].kernel == 3 && w[i].stride == 1 && w[i].step == 1;
    return plain && !p->tiled && p->blocks == 1 && p->segments == 1 && first[0] < first[1] &&
           last[0] < last[1];
}

dnnl_tp_status_t dtp_dw_init(dtp_dw_plan_t *p, dtp_pd_t *pd) {
    const unsigned isa = dtp_pd_isa(pd);
    dtp_convolution_desc_t *d = (dtp_convolution_desc_t *)pd->op;
    const dnnl_tp_data_type_t f32 = dnnl_tp_f32, bf16 = dnnl_tp_bf16, dt = d->src.data_type;
    DTP_DISPATCH((dt == f32 || dt == bf16) && d->wei.data_type == dt, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(d->dst.data_type == f32 || d->dst.data_type == dt, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_conv_grouped(d) && d->wei.dims[1] == 1 && d->wei.dims[2] == 1, UNSUPPORTED_SHAPE);
    DTP_TRY(resolve(d));
    const bool src_blocked = in_whole_blocks(&d->src), dst_blocked = in_whole_blocks(&d->dst);
    DTP_DISPATCH(src_blocked || has_dense_channels(&d->src), UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dst_blocked || has_dense_channels(&d->dst), UNSUPPORTED_LAYOUT);
    p->has_bias = !dtp_md_is_zero(&d->bia);
    if (p->has_bias)
        DTP_DISPATCH((d->bia.data_type == f32 || d->bia.data_type == dt) && dtp_md_is_plain(&d->bia) &&
                         (d->bia.strides[0] == 1 || d->bia.dims[0] == 1),
                     UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS), UNSUPPORTED_ATTR);
    DTP_TRY(dtp_postops_init_channels(&p->po, pd, DTP_CONV_DST, isa));
    p->row = DTP_BY_ISA(isa, dtp_dw_row, dtp_dw_row__portable);
    spatial(p->src_x, &d->src, 2);
    spatial(p->dst_x, &d->dst, 2);
    dtp_dw_row_t *a = &p->common;
    const bool done = ends_in_kernel(&p->po, a);
    const bool one = !done && p->po.len == 1 && d->dst.data_type == f32 &&
                     dtp_fused_init(&p->fused, &p->po, true, false) && p->fused.act;
    p->tiled = !done && !one;
    p->src_bytes = (int64_t)dtp_type_size(dt);
    p->dst_bytes = (int64_t)dtp_type_size(d->dst.data_type);
    p->bia_bytes = p->has_bias ? (int64_t)dtp_type_size(d->bia.data_type) : 0;
    p->store = dtp_vops(isa)->store[d->dst.data_type];
    a->is_bf16 = dt == bf16;
    a->bias_bf16 = p->has_bias && d->bia.data_type == bf16;
    a->dst_bf16 = !p->tiled && d->dst.data_type == bf16;
    a->channels = d->src.dims[1];
    p->blocks = 1;
    if (src_blocked || dst_blocked) {
        p->blocks = a->channels / DTP_DW_PANEL;
        a->channels = DTP_DW_PANEL;
    }
    p->src_b = src_blocked ? d->src.strides[1] : DTP_DW_PANEL;
    p->dst_b = dst_blocked ? d->dst.strides[1] : DTP_DW_PANEL;
    p->images = d->src.dims[0];
    p->src_0 = d->src.offset0, p->dst_0 = d->dst.offset0;
    p->src_n = d->src.strides[0], p->dst_n = d->dst.strides[0];
    p->bia_0 = d->bia.offset0;
    const double bytes = (double)dtp_md_nelems(&d->src) * (double)p->src_bytes +
                         (double)dtp_md_nelems(&d->dst) * (double)p->dst_bytes;
    p->big = dtp_exceeds_caches(bytes, pd->engine->l3_bytes);
    const bool far = p->big || bytes > L2_SHARE * (double)pd->engine->l2_bytes;
    p->band = p->tiled || far ? 1 : p->fused.act ? 2 : INT64_MAX;
    p->stream =
        p->big && !p->tiled && dt == f32 && (p->dst_x[1] | p->dst_x[2] | a->channels) % DTP_DW_PANEL == 0;
    return dnnl_tp_success;
}

void dtp_dw_split(dtp_dw_plan_t *p) {
    dtp_dw_row_t *a = &p->common;
    a->w = p->win[2];
    a->ld_src = p->src_x[2];
    a->ld_dst = p->tiled || p->apart ? a->channels : p->dst_x[2];
    a->step_d = p->win[0].step * p->src_x[0];
    a->step_h = p->win[1].step * p->src_x[1];
    const int64_t width = p->win[2].out;
    p->columns = dtp_min64(dtp_max64(SEGMENT_FLOATS / a->channels, 1), width);
    p->segments = dtp_div_up(width, p->columns);
    p->pairs = takes_pairs(p);
    const double elems = (double)p->columns * (double)a->channels;
    const double taps = (double)p->win[0].kernel * (double)p->win[1].kernel * (double)p->win[2].kernel;
    p->grain = dtp_grain(10. + elems * (2. * taps / FLOPS_PER_NS + 8. / BYTES_PER_NS));
}

static dnnl_tp_status_t depthwise_pd_init(dtp_pd_t *pd) {
    dtp_convolution_desc_t *d = (dtp_convolution_desc_t *)pd->op;
    dtp_dw_plan_t *p = pd->plan;
    DTP_DISPATCH(dtp_conv_take_direct(d), UNSUPPORTED_ALG);
    DTP_TRY(dtp_dw_init(p, pd));
    const dtp_md_t *w = &d->wei;
    for (int i = 0; i < 3; ++i) p->win[i] = dtp_conv_window(d, i);
    int64_t wei_x[3];
    spatial(wei_x, w, 3);
    DTP_DISPATCH(dtp_conv_in_blocks(w, 0, DTP_DW_PANEL) &&
                     (wei_x[2] == DTP_DW_PANEL || p->win[2].kernel == 1),
                 UNSUPPORTED_LAYOUT);
    p->common.wei_d = wei_x[0];
    p->common.wei_h = wei_x[1];
    p->common.wei_panel = w->strides[0];
    p->wei_0 = w->offset0;
    if (dtp_md_nelems(&d->dst) == 0) return dnnl_tp_success;
    p->apart = p->stream && p->fused.act;
    dtp_dw_split(p);
    if (p->tiled || p->apart)
        dtp_pd_book(pd, 0, (size_t)((1 + p->pairs) * p->columns * p->common.channels) * sizeof(float));
    return dnnl_tp_success;
}

int64_t dtp_dw_units(const dtp_dw_plan_t *p) {
    return p->images * p->win[0].out * p->win[1].out * p->blocks * p->segments;
}

void dtp_dw_run(const dtp_dw_plan_t *p, const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx, int slot,
                int64_t begin, int64_t end) {
    const dtp_window_t *D = &p->win[0], *H = &p->win[1], *W = &p->win[2];
    dtp_dw_row_t a = p->common;
    const int64_t band = p->segments > 1 ? 1 : dtp_max64(p->band, 1 + p->pairs);
    for (int64_t u = begin; u < end;) {
        const int64_t line = u / p->segments, oh = line % H->out, block = line / H->out % p->blocks,
                      od = line / H->out / p->blocks % D->out, n = line / H->out / p->blocks / D->out;
        if (p->has_bias)
            a.bias = (const char *)ctx->ptr[DTP_CONV_BIA] + (p->bia_0 + block * DTP_DW_PANEL) * p->bia_bytes;
        int64_t d0, d1, h0, h1;
        dtp_window_taps(D, od, &d0, &d1);
        dtp_window_taps(H, oh, &h0, &h1);
        a.nd = d1 - d0, a.nh = h1 - h0;
        a.x0 = u % p->segments * p->columns;
        a.x1 = dtp_min64(a.x0 + p->columns, W->out);
        /* Rows of the same elements inside go to the kernel together. */
        a.rows = 1;
        const int64_t most = dtp_min64(band, dtp_min64(end - u, H->out - oh));
        for (; a.rows < most; ++a.rows) {
            int64_t first, last;
            dtp_window_taps(H, oh + a.rows, &first, &last);
            if (first != h0 || last != h1) break;
        }
        a.pairs = p->pairs && a.rows > 1 && h1 - h0 == H->kernel;
        if (a.pairs) a.rows -= a.rows % 2;
        int64_t src = p->src_0 + block * p->src_b;
        if (a.nd && a.nh)
            src += n * p->src_n + (dtp_window_begin(D, od) + d0 * D->step) * p->src_x[0] +
                   (dtp_window_begin(H, oh) + h0 * H->step) * p->src_x[1];
        a.src = (const char *)ctx->ptr[DTP_CONV_SRC] + src * p->src_bytes;
        a.wei = (const char *)ctx->ptr[DTP_CONV_WEI] +
                (p->wei_0 + block * a.wei_panel + d0 * a.wei_d + h0 * a.wei_h) * p->src_bytes;
        char *dst =
            (char *)ctx->ptr[DTP_CONV_DST] +
            (p->dst_0 + n * p->dst_n + od * p->dst_x[0] + oh * p->dst_x[1] + block * p->dst_b) * p->dst_bytes;
        const int64_t columns = a.x1 - a.x0, C = a.channels;
        float *tile = p->tiled || p->apart ? (float *)(void *)dtp_scratch_slot(pd, ctx, slot) : NULL;
        a.dst = tile ? (void *)(tile - a.x0 * C) : dst;
        a.next_src = H->stride * p->src_x[1];
        a.next_dst = tile ? columns * C : p->dst_x[1];
        a.chunk = a.rows > 1 + a.pairs ? CHUNK : C;
        a.stream = p->stream && !tile && (uintptr_t)dst % DTP_CACHE_LINE == 0;
        a.ahead = p->big ? (1 + a.pairs) * H->stride : 0;
        u += a.rows;
        p->row(&a);
        const int64_t step = p->dst_x[2] * p->dst_bytes;
        dst += a.x0 * step;
        if (p->tiled) {
            dtp_postops_apply(&p->po, pd, ctx, tile, C, columns, C,
                              ((n * D->out + od) * H->out + oh) * W->out + a.x0, block * DTP_DW_PANEL);
            for (int64_t i = 0; i < columns; ++i) p->store(dst + i * step, tile + i * C, C, 1);
        } else if (p->fused.act) {
            float *y = (float *)(void *)dst;
            for (int64_t row = 0; row < a.rows; ++row, y += p->dst_x[1])
                p->fused.act(&(dtp_eltwise_args_t){tile ? tile + row * columns * C : y, y, a.ld_dst,
                                                   p->dst_x[2], columns, C, p->fused.act_alpha,
                                                   p->fused.act_beta, tile ? DTP_MEM_STREAM : DTP_MEM_NEAR});
        }
    }
}

static void depthwise_loop(void *arg, int slot, int64_t begin, int64_t end) {
    const dtp_job_t *j = arg;
    dtp_dw_run(j->pd->plan, j->pd, j->ctx, slot, begin, end);
}

static dnnl_tp_status_t depthwise_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_dw_plan_t *p = pd->plan;
    dtp_job_t job = {pd, ctx};
    dtp_parallel_for(ctx->par, dtp_dw_units(p), p->grain, depthwise_loop, &job);
    return dnnl_tp_success;
}

DTP_PLAN_ENDS_WITH_POSTOPS(dtp_dw_plan_t)
DTP_CPU_IMPLS_AND_ANY(convolution_depthwise, "simd", .plan_size = sizeof(dtp_dw_plan_t),
                      .plan_used = plan_used, .pd_init = depthwise_pd_init, .execute = depthwise_execute);
