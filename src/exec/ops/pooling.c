/* Maxima and means of windows over the spatial dimensions, in the order of dimensions that src has. */
#include "exec/ops/ops.h"

#include "common/problems/pooling.h"

DTP_ATTR(kernel, 67)         /**< size of the window in each spatial dimension (s64 list) */
DTP_ATTR(exclude_pad, 96)    /**< 1: a mean counts elements of src only, default 0 (bool) */
DTP_ATTR(rounding_type, 134) /**< "floor" (default) or "ceil": rounds the number of windows */

static const char *const roundings[] = {"floor", "ceil", NULL};
#define WINDOW_FIELDS                                                                                    \
    DTP_NEEDED(dtp_window_attrs_t, kernel), DTP_OPTIONAL(dtp_window_attrs_t, strides, 0),                \
        DTP_OPTIONAL(dtp_window_attrs_t, dilations, 0), DTP_OPTIONAL(dtp_window_attrs_t, pads_begin, 0), \
        DTP_OPTIONAL(dtp_window_attrs_t, pads_end, 0),                                                   \
        DTP_WORD(dtp_window_attrs_t, auto_pad, dtp_auto_pads),                                           \
        DTP_WORD(dtp_window_attrs_t, rounding_type, roundings)
static const dtp_op_field_t max_fields[] = {WINDOW_FIELDS};
static const dtp_op_field_t avg_fields[] = {WINDOW_FIELDS, DTP_OPTIONAL(dtp_window_attrs_t, exclude_pad, 0)};

static dnnl_tp_status_t pool_infer(const dtp_infer_t *c, dtp_slide_t *slides) {
    const dtp_window_attrs_t *a = c->attrs;
    const info_t *x = c->in[0];
    char tx[DTP_SHAPE_TEXT];
    int64_t volume = 1;
    DTP_TRY(dtp_infer_same(c));
    SHAPE(x->ndims >= 3 && x->ndims <= 5, "src %s has %d dimensions, 3..5 are allowed", dtp_info_text(x, tx),
          x->ndims);
    ATTR(a->kernel.n == x->ndims - 2, "kernel has %d elements, src %d spatial dimensions", (int)a->kernel.n,
         x->ndims - 2);
    for (int s = 0; s < x->ndims - 2; ++s)
        ATTR(!__builtin_mul_overflow(volume, a->kernel.at[s], &volume) && volume <= INT32_MAX,
             "the window has more than %d elements", INT32_MAX);
    return dtp_infer_windows(c, a, a->kernel.at, slides);
}

static dnnl_tp_status_t max_infer(const dtp_infer_t *c) {
    dtp_slide_t slides[3];
    return pool_infer(c, slides);
}

/* A mean of nothing does not exist: windows reach into src at both ends and do not step over it. */
static dnnl_tp_status_t avg_infer(const dtp_infer_t *c) {
    const dtp_window_attrs_t *a = c->attrs;
    dtp_slide_t slides[3];
    DTP_TRY(pool_infer(c, slides));
    for (int s = 0; s < c->in[0]->ndims - 2 && a->exclude_pad; ++s) {
        const dtp_slide_t *w = &slides[s];
        const int64_t range = (w->kernel - 1) * (w->dilation + 1) + 1;
        if (w->out == DNNL_TP_RUNTIME_DIM_VAL || w->out == 0) continue;
        ATTR(w->pad_l < range && w->pad_r < range && w->dilation < w->in,
             "padding %lld and %lld or dilation %lld leaves a window of spatial dimension %d, which covers "
             "%lld, "
             "without an element of src",
             (long long)w->pad_l, (long long)w->pad_r, (long long)w->dilation + 1, s, (long long)range);
    }
    return dnnl_tp_success;
}

/* ---- Lowering ---------------------------------------------------------------------------------------- */

/* Elements of window o that lie in src or in the padding that was given, not behind it. */
static int64_t counted(const dtp_slide_t *w, int64_t o, int64_t pad_end) {
    const int64_t step = w->dilation + 1, room = w->in + pad_end + w->pad_l - o * w->stride;
    return room <= 0 ? 0 : dtp_min64(w->kernel, dtp_div_up(room, step));
}

/* The padding behind src that was given: without what rounding up added. */
static int64_t given_pad(const dtp_window_attrs_t *a, int s, const dtp_slide_t *w) {
    return a->auto_pad.at ? w->pad_r : a->pads_end.n ? a->pads_end.at[s] : 0;
}

/* Where rounding up made windows that reach beyond the padding, means over src and padding do not count that part: each
 * is multiplied by what is too much. NULL: nowhere. */
static dnnl_tp_status_t corrections(dtp_lower_t *l, const dtp_window_attrs_t *a, const info_t *to,
                                    const dtp_slide_t *w, const float **data) {
    const int n = to->ndims - 2;
    bool any = false;
    int64_t pad[3] = {0}, places = 1;
    for (int s = 0; s < n; ++s) {
        pad[s] = given_pad(a, s, &w[s]);
        any |= a->rounding_type.at && counted(&w[s], w[s].out - 1, pad[s]) < w[s].kernel;
        places *= w[s].out;
    }
    *data = NULL;
    if (!any) return dnnl_tp_success;
    float *factor = dtp_arena_alloc(l->ir->info_arena, sizeof *factor * (size_t)places);
    if (!factor) return dnnl_tp_out_of_memory;
    for (int64_t i = 0; i < places; ++i) {
        int64_t rest = i;
        double all = 1., inside = 1.;
        for (int s = n - 1; s >= 0; --s) {
            all *= (double)w[s].kernel;
            inside *= (double)dtp_max64(counted(&w[s], rest % w[s].out, pad[s]), 1);
            rest /= w[s].out;
        }
        factor[i] = (float)(all / inside);
    }
    *data = factor;
    return dnnl_tp_success;
}

/* The first post-operation of s: a product with an f32 tensor {1, 1, spatial}. */
static dnnl_tp_status_t multiply_places(dtp_lower_t *l, dtp_step_t *s, const info_t *to, const float *data) {
    int64_t dims[DNNL_TP_MAX_NDIMS] = {1, 1}, places = 1;
    for (int d = 2; d < to->ndims; ++d) places *= dims[d] = to->dims[d];
    dtp_step_arg_t arg = {.buf = -1};
    DTP_TRY(dtp_new_buf(l, sizeof *data * (size_t)places, &arg.buf));
    l->bufs[arg.buf].kind = DTP_BUF_CONST;
    l->bufs[arg.buf].data = data;
    dtp_md_t md;
    DTP_TRY(dtp_md_init_strides(&md, to->ndims, dims, dnnl_tp_f32, NULL));
    const dtp_ir_post_t product = {.is_binary = true, .alg = dnnl_tp_binary_mul, .value = -1};
    return dtp_add_post(l, s, &product, &md, arg);
}

static dnnl_tp_status_t pool_lower(dtp_lower_t *l, dtp_ir_node_t *n, dnnl_tp_alg_kind_t alg) {
    const dtp_window_attrs_t *a = n->attrs;
    const info_t *x = dtp_info(l, n->in[0]), *to = dtp_info(l, n->out[0]);
    /* Its kernel counts by padding_r. */
    const bool is_f64 = x->data_type == dnnl_tp_f64;
    dtp_view_t src;
    bool is_last;
    dtp_slide_t slides[3];
    dtp_step_t *s;
    DTP_TRY(dtp_view_pixels(l, n->in[0], &src, false, &is_last));
    if (!is_last) DTP_TRY(dtp_view_dense(l, n->in[0], &src));
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_pooling_desc_t), dnnl_tp_pooling, DTP_POOLING_NARGS, &s));
    dtp_pooling_desc_t *d = (dtp_pooling_desc_t *)s->op;
    d->prop = dnnl_tp_forward_inference;
    d->alg = alg;
    d->keeps_nan = alg == dnnl_tp_pooling_max;
    d->spatial = x->ndims - 2;
    for (int i = 0; i < d->spatial; ++i) {
        (void)dtp_slide(a, i, x->dims[2 + i], a->kernel.at[i], &slides[i]); /* inference asked before */
        d->strides[i] = slides[i].stride;
        d->kernel[i] = slides[i].kernel;
        d->dilations[i] = slides[i].dilation;
        d->padding_l[i] = slides[i].pad_l;
        d->padding_r[i] = is_f64 ? given_pad(a, i, &slides[i]) : slides[i].pad_r;
    }
    DTP_TRY(dtp_md_init_strides(&d->src, x->ndims, x->dims, x->data_type, src.strides));
    DTP_TRY(is_last ? dtp_view_new_pixels(l, n->out[0]) : dtp_view_new(l, n->out[0]));
    DTP_TRY(
        dtp_md_init_strides(&d->dst, to->ndims, to->dims, to->data_type, dtp_value(l, n->out[0])->strides));
    s->arg[DTP_POOLING_SRC] = dtp_view_arg(&src);
    s->arg[DTP_POOLING_DST] = dtp_written_arg(l, n->out[0]);
    const float *factor = NULL;
    if (alg == dnnl_tp_pooling_avg_include_padding && !is_f64)
        DTP_TRY(corrections(l, a, to, slides, &factor));
    return factor ? multiply_places(l, s, to, factor) : dnnl_tp_success;
}

static dnnl_tp_status_t max_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    return pool_lower(l, n, dnnl_tp_pooling_max);
}
static dnnl_tp_status_t avg_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    const bool is_excluded = ((const dtp_window_attrs_t *)n->attrs)->exclude_pad;
    return pool_lower(
        l, n, is_excluded ? dnnl_tp_pooling_avg_exclude_padding : dnnl_tp_pooling_avg_include_padding);
}

const dtp_op_class_t dtp_class_max_pool =
    DTP_OP_CLASS(dtp_window_attrs_t, DTP_FIELDS(max_fields), DTP_OP_KEEPS_ORDER | DTP_OP_PIXELS_APART, 0, 1,
                 dtp_one_result, max_infer, DTP_NO_VALUES, max_lower, dtp_cut_all, DTP_NO_POST);
const dtp_op_class_t dtp_class_avg_pool =
    DTP_OP_CLASS(dtp_window_attrs_t, DTP_FIELDS(avg_fields), DTP_OP_KEEPS_ORDER | DTP_OP_PIXELS_APART, 0, 1,
                 dtp_one_result, avg_infer, DTP_NO_VALUES, avg_lower, dtp_cut_all, DTP_NO_POST);
