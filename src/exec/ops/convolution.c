/* Convolutions and transposed convolutions over one to three spatial dimensions. The layout to compute in is channels
 * innermost: src is read so, after a copy if it lies otherwise and has more channels than a first layer, the result is left
 * so, and constant weights are laid out as the implementation likes. */
#include "exec/ops/ops.h"

#include "common/problems/deconvolution.h"

DTP_ATTR(groups, 50)         /**< number of groups of channels, default 1 (s64) */
DTP_ATTR(output_padding, 69) /**< elements that the result has more at the end, default 0 (s64 list) */

/* What both classes have, in this order. */
#define CONVOLUTION_FIELDS                                                                              \
    DTP_OPTIONAL(dtp_window_attrs_t, strides, 0), DTP_OPTIONAL(dtp_window_attrs_t, dilations, 0),       \
        DTP_OPTIONAL(dtp_window_attrs_t, pads_begin, 0), DTP_OPTIONAL(dtp_window_attrs_t, pads_end, 0), \
        DTP_WORD(dtp_window_attrs_t, auto_pad, dtp_auto_pads), DTP_OPTIONAL(dtp_window_attrs_t, groups, 1)
static const dtp_op_field_t convolution_fields[] = {CONVOLUTION_FIELDS};
static const dtp_op_field_t conv_transpose_fields[] = {CONVOLUTION_FIELDS,
                                                       DTP_OPTIONAL(dtp_window_attrs_t, output_padding, 0)};

/* All but the spatial dimensions. */
static dnnl_tp_status_t infer_channels(const dtp_infer_t *c) {
    const dtp_window_attrs_t *a = c->attrs;
    const info_t *x = c->in[0], *w = c->in[1];
    char tx[DTP_SHAPE_TEXT], tw[DTP_SHAPE_TEXT];
    TYPE((dtp_is_float(x->data_type) || x->data_type == dnnl_tp_s64 || x->data_type == dnnl_tp_s32) &&
             x->data_type == w->data_type,
         "src has type %s, weights %s", dnnl_tp_dt2str(x->data_type), dnnl_tp_dt2str(w->data_type));
    SHAPE(x->ndims >= 3 && x->ndims <= 5, "src %s has %d dimensions, 3..5 are allowed", dtp_info_text(x, tx),
          x->ndims);
    SHAPE(w->ndims == x->ndims, "weights %s and src %s differ in the number of dimensions",
          dtp_info_text(w, tw), dtp_info_text(x, tx));
    const int64_t oc = w->dims[0], ic = w->dims[1];
    int64_t channels = DNNL_TP_RUNTIME_DIM_VAL;
    ATTR(a->groups >= 1, "groups is %lld", (long long)a->groups);
    SHAPE(oc == DNNL_TP_RUNTIME_DIM_VAL || oc % a->groups == 0, "weights %s do not split into %lld groups",
          dtp_info_text(w, tw), (long long)a->groups);
    SHAPE((ic == DNNL_TP_RUNTIME_DIM_VAL || !__builtin_mul_overflow(ic, a->groups, &channels)) &&
              dtp_dims_fit(x->dims[1], channels),
          "src %s has other channels than weights %s in %lld groups", dtp_info_text(x, tx),
          dtp_info_text(w, tw), (long long)a->groups);
    c->out->ndims = x->ndims;
    c->out->data_type = x->data_type;
    c->out->dims[0] = x->dims[0];
    c->out->dims[1] = oc;
    if (c->nin < 3) return dnnl_tp_success;
    const info_t *b = c->in[2];
    TYPE(b->data_type == x->data_type, "bias has type %s, src %s", dnnl_tp_dt2str(b->data_type),
         dnnl_tp_dt2str(x->data_type));
    SHAPE(b->ndims == 1 && dtp_dims_fit(b->dims[0], oc), "bias %s does not fit the outputs of weights %s",
          dtp_info_text(b, tx), dtp_info_text(w, tw));
    return dnnl_tp_success;
}

static dnnl_tp_status_t convolution_infer(const dtp_infer_t *c) {
    dtp_slide_t slides[3];
    DTP_TRY(infer_channels(c));
    return dtp_infer_windows(c, c->attrs, c->in[1]->dims + 2, slides);
}

static dnnl_tp_status_t conv_transpose_infer(const dtp_infer_t *c) {
    DTP_TRY(infer_channels(c));
    return dtp_infer_spread(c, c->attrs, c->in[1]->dims + 2);
}

/* {O, I, kernel}, of groups {G, O / G, I, kernel}. */
static dnnl_tp_status_t weights_md(dtp_md_t *md, const info_t *w, const int64_t *strides, int64_t groups) {
    int64_t dims[DNNL_TP_MAX_NDIMS], st[DNNL_TP_MAX_NDIMS];
    const int grouped = groups > 1;
    for (int d = 0; d < w->ndims; ++d) {
        dims[grouped + d] = w->dims[d];
        st[grouped + d] = strides[d];
    }
    if (grouped) {
        dims[0] = groups;
        dims[1] = w->dims[0] / groups;
        st[0] = dims[1] * strides[0];
    }
    return dtp_md_init_strides(md, grouped + w->ndims, dims, w->data_type, st);
}

/* The layout of constant weights is the implementation's choice; what maps the channels goes into weights and bias. */
static dnnl_tp_status_t pack(dtp_lower_t *l, const dtp_ir_node_t *n, dtp_step_t *s) {
    dtp_convolution_desc_t *d = (dtp_convolution_desc_t *)s->op;
    const dtp_ir_value_t *v = dtp_value(l, n->in[1]);
    const dtp_md_t plain = d->wei;
    const int64_t channels = v->info->dims[0];
    const dtp_affine_t *affine;
    dtp_packing_t *p;
    DTP_TRY(dtp_md_init_tag(&d->wei, plain.ndims, plain.dims, d->src.data_type, dnnl_tp_format_tag_any));
    if (n->naffine == 0) {
        DTP_TRY(dtp_pack_arg(l, s, DTP_CONV_WEI, 1, &p));
        p->part[0] = (dtp_packed_part_t){v->cid, v->data, plain};
        return dnnl_tp_success;
    }
    const int bias = n->nin > 2 ? n->in[2] : -1;
    DTP_TRY(dtp_make_affine(l, n->naffine, n->affine, &affine));
    DTP_TRY(dtp_md_init_strides(&d->bia, 1, &channels, dnnl_tp_f32, NULL));
    DTP_TRY(dtp_pack_mapped(l, s, DTP_CONV_WEI, DTP_PACK_SCALED, affine, channels, n->in[1], &plain));
    return dtp_pack_mapped(l, s, DTP_CONV_BIA, DTP_PACK_MAPPED, affine, channels, bias, &d->bia);
}

/* Does each pixel of src make a box of dst that is its own? Then src is read where it lies; if that is
 * in planes, dst is left in planes, too (cpu/deconvolution/deconvolution_boxes.c). */
static bool makes_boxes(const dtp_lower_t *l, const dtp_window_attrs_t *a, const info_t *x, const info_t *w) {
    int64_t volume = 1;
    for (int i = 0; i < x->ndims - 2; ++i) {
        const int64_t in = x->dims[2 + i], kernel = w->dims[2 + i];
        dtp_slide_t s;
        (void)dtp_spread(a, i, in, kernel, &s);
        if (s.stride != kernel || s.dilation || s.pad_l || s.out != in * s.stride) return false;
        volume *= kernel;
    }
    return dtp_engine_can(l->engine, DTP_ENGINE_HOST_READABLE) && volume > 1 && x->data_type == dnnl_tp_f32 &&
           a->groups == 1;
}

static dnnl_tp_status_t lower_as(dtp_lower_t *l, dtp_ir_node_t *n, dnnl_tp_primitive_kind_t kind) {
    const bool transposed = kind == dnnl_tp_deconvolution;
    const dtp_window_attrs_t *a = n->attrs;
    const info_t *x = dtp_info(l, n->in[0]), *w = dtp_info(l, n->in[1]), *to = dtp_info(l, n->out[0]);
    const int bias = n->nin > 2 ? n->in[2] : -1;
    dtp_view_t src, wei, bia;
    dtp_step_t *s;
    bool is_last;
    const bool first =
        !transposed && x->data_type == dnnl_tp_f32 && a->groups == 1 && x->dims[1] <= DTP_CONV_FIRST_CHANNELS;
    const bool boxes = transposed && makes_boxes(l, a, x, w);
    DTP_TRY(dtp_view_pixels(l, n->in[0], &src, !first && !boxes, &is_last));
    if (boxes && !is_last) DTP_TRY(dtp_view_dense(l, n->in[0], &src));
    DTP_TRY(dtp_view_any(l, n->in[1], &wei));
    if (bias >= 0) DTP_TRY(dtp_view_dense(l, bias, &bia));
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_convolution_desc_t), kind, DTP_CONV_NARGS, &s));
    dtp_convolution_desc_t *d = (dtp_convolution_desc_t *)s->op;
    d->prop = dnnl_tp_forward_inference;
    d->alg = transposed ? dnnl_tp_deconvolution_direct : dnnl_tp_convolution_auto;
    d->nspatial = x->ndims - 2;
    for (int i = 0; i < d->nspatial; ++i) {
        dtp_slide_t slide;
        /* Inference asked before. */
        if (transposed) (void)dtp_spread(a, i, x->dims[2 + i], w->dims[2 + i], &slide);
        else (void)dtp_slide(a, i, x->dims[2 + i], w->dims[2 + i], &slide);
        d->strides[i] = slide.stride;
        d->dilations[i] = slide.dilation;
        d->padding_l[i] = slide.pad_l;
        d->padding_r[i] = slide.pad_r;
    }
    DTP_TRY(dtp_md_init_strides(&d->src, x->ndims, x->dims, x->data_type, src.strides));
    DTP_TRY(weights_md(&d->wei, w, wei.strides, a->groups));
    s->arg[DTP_CONV_SRC] = dtp_view_arg(&src);
    s->arg[DTP_CONV_WEI] = dtp_view_arg(&wei);
    if (bias >= 0) {
        DTP_TRY(dtp_md_init_strides(&d->bia, 1, w->dims, dtp_info(l, bias)->data_type,
                                    NULL)); /* maybe {1, O, 1, 1} */
        s->arg[DTP_CONV_BIA] = dtp_view_arg(&bia);
    }
    if (dtp_packable(l, n, 1) && dtp_info_nelems(w) > 0) DTP_TRY(pack(l, n, s));
    else DTP_TRY(dtp_match_type(l, s, DTP_CONV_WEI, n->in[1], x->data_type, &d->wei));
    const dtp_ir_value_t *y = dtp_value(l, n->out[0]);
    const bool in_planes = boxes && !is_last && y->into < 0 && !y->wants_last;
    DTP_TRY(in_planes ? dtp_view_new(l, n->out[0]) : dtp_view_new_pixels(l, n->out[0]));
    DTP_TRY(
        dtp_md_init_strides(&d->dst, to->ndims, to->dims, to->data_type, dtp_value(l, n->out[0])->strides));
    s->arg[DTP_CONV_DST] = dtp_written_arg(l, n->out[0]);
    return dtp_add_post_ops(l, s, n, &d->dst);
}

static dnnl_tp_status_t convolution_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    return lower_as(l, n, dnnl_tp_convolution);
}
static dnnl_tp_status_t conv_transpose_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    return lower_as(l, n, dnnl_tp_deconvolution);
}

/* By images. */
static dtp_cut_t convolution_cut(const dtp_cut_arg_t *a) {
    return a->arg == DTP_CONV_SRC || a->arg == DTP_CONV_DST ? DTP_CUT_SLICED : DTP_CUT_WHOLE;
}

enum { CONVOLUTION_FLAGS = DTP_OP_CHANNELS_LAST | DTP_OP_PIXELS_APART | DTP_OP_PRODUCT | DTP_OP_OWN_TYPE };
const dtp_op_class_t dtp_class_convolution =
    DTP_OP_CLASS(dtp_window_attrs_t, DTP_FIELDS(convolution_fields), CONVOLUTION_FLAGS,
                 1 << 1 /* the weights */, 1 | 1 << 1, dtp_one_result, convolution_infer, DTP_NO_VALUES,
                 convolution_lower, convolution_cut, DTP_NO_POST);
const dtp_op_class_t dtp_class_conv_transpose =
    DTP_OP_CLASS(dtp_window_attrs_t, DTP_FIELDS(conv_transpose_fields), CONVOLUTION_FLAGS,
                 1 << 1 /* the weights */, 1 | 1 << 1, dtp_one_result, conv_transpose_infer, DTP_NO_VALUES,
                 conv_transpose_lower, convolution_cut, DTP_NO_POST);
