/* Windows that slide over the spatial dimensions: their attributes, and the shapes that follow. */
#include "exec/ops/ops.h"

const char *const dtp_auto_pads[] = {"none", "same_upper", "same_lower", "valid", NULL};
enum { PAD_NONE, PAD_SAME_UPPER, PAD_SAME_LOWER, PAD_VALID };

static int64_t element(const dtp_list_t *list, int s, int64_t standard) {
    return list->n ? list->at[s] : standard;
}

bool dtp_slide(const dtp_window_attrs_t *a, int s, int64_t in, int64_t kernel, dtp_slide_t *w) {
    const int64_t most = INT64_MAX / 8; /* so that positions, also those outside, do not overflow */
    const bool is_same = a->auto_pad.at == PAD_SAME_UPPER || a->auto_pad.at == PAD_SAME_LOWER;
    const bool has_pads = a->auto_pad.at == PAD_NONE, is_ceil = a->rounding_type.at != 0;
    *w = (dtp_slide_t){.in = in, .kernel = kernel, .stride = element(&a->strides, s, 1)};
    w->dilation = element(&a->dilations, s, 1) - 1;
    w->pad_l = has_pads ? element(&a->pads_begin, s, 0) : 0;
    w->pad_r = has_pads ? element(&a->pads_end, s, 0) : 0;
    if (w->stride >= most || w->dilation >= most || w->pad_l >= most || w->pad_r >= most) return false;
    w->out = DNNL_TP_RUNTIME_DIM_VAL;
    if (in == DNNL_TP_RUNTIME_DIM_VAL || kernel == DNNL_TP_RUNTIME_DIM_VAL) return true;
    int64_t range; /* from the first to the last element of a window */
    if (in >= most || kernel > most || __builtin_mul_overflow(kernel - 1, w->dilation + 1, &range) ||
        range >= most)
        return false;
    ++range;
    if (is_same) {
        w->out = dtp_div_up(in, w->stride);
        const int64_t all = dtp_max64((w->out - 1) * w->stride + range - in, 0);
        w->pad_l = a->auto_pad.at == PAD_SAME_UPPER ? all / 2 : all - all / 2;
        w->pad_r = all - w->pad_l;
        return true;
    }
    const int64_t left = in - range + w->pad_l + w->pad_r;
    if (left < 0) w->out = is_ceil ? dtp_max64(1 - -left / w->stride, 0) : 0;
    else w->out = (is_ceil ? dtp_div_up(left, w->stride) : left / w->stride) + 1;
    if (!is_ceil || w->out == 0) return true;
    /* A window that would begin behind src, in what it adds to the padding, is none. */
    if ((w->out - 1) * w->stride >= in + w->pad_l) --w->out;
    w->pad_r = (w->out - 1) * w->stride + range - in - w->pad_l;
    return true;
}

static dnnl_tp_status_t check_list(const dtp_infer_t *c, const char *name, const dtp_list_t *list, int n,
                                   int64_t least) {
    ATTR(list->n == 0 || list->n == n, "%s has %d elements, src %d spatial dimensions", name, (int)list->n,
         n);
    for (int i = 0; i < (int)list->n; ++i)
        ATTR(list->at[i] >= least, "%s has %lld, needed is at least %lld", name, (long long)list->at[i],
             (long long)least);
    return dnnl_tp_success;
}

bool dtp_spread(const dtp_window_attrs_t *a, int s, int64_t in, int64_t kernel, dtp_slide_t *w) {
    const int64_t most = INT64_MAX / 8, more = element(&a->output_padding, s, 0);
    dtp_window_attrs_t no_pads = *a;
    no_pads.auto_pad.at = PAD_VALID;
    if (!dtp_slide(&no_pads, s, in, kernel, w) || more >= most) return false;
    w->out = DNNL_TP_RUNTIME_DIM_VAL;
    if (kernel == DNNL_TP_RUNTIME_DIM_VAL) return true;
    const int64_t range = (kernel - 1) * (w->dilation + 1) + 1;
    if (a->auto_pad.at == PAD_NONE) {
        w->pad_l = element(&a->pads_begin, s, 0);
        w->pad_r = element(&a->pads_end, s, 0);
        if (w->pad_l >= most || w->pad_r >= most) return false;
    } else if (a->auto_pad.at != PAD_VALID) { /* in * stride elements; fewer if a kernel is short */
        const int64_t all = dtp_max64(range + more - w->stride, 0);
        w->pad_l = a->auto_pad.at == PAD_SAME_UPPER ? all / 2 : all - all / 2;
        w->pad_r = all - w->pad_l;
    }
    if (in == DNNL_TP_RUNTIME_DIM_VAL) return true;
    int64_t last;
    if (__builtin_mul_overflow(in - 1, w->stride, &last) || last >= most) return false;
    w->out = dtp_max64(last + range + more - w->pad_l - w->pad_r, 0);
    return true;
}

typedef bool slide_fn_t(const dtp_window_attrs_t *a, int s, int64_t in, int64_t kernel, dtp_slide_t *w);
static dnnl_tp_status_t infer(const dtp_infer_t *c, const dtp_window_attrs_t *a, const int64_t *kernel,
                              slide_fn_t *slide, dtp_slide_t *slides) {
    const info_t *x = c->in[0];
    const int n = x->ndims - 2;
    DTP_TRY(check_list(c, "strides", &a->strides, n, 1));
    DTP_TRY(check_list(c, "dilations", &a->dilations, n, 1));
    DTP_TRY(check_list(c, "pads_begin", &a->pads_begin, n, 0));
    DTP_TRY(check_list(c, "pads_end", &a->pads_end, n, 0));
    DTP_TRY(check_list(c, "output_padding", &a->output_padding, n, 0));
    for (int s = 0; s < n; ++s) {
        SHAPE(kernel[s] == DNNL_TP_RUNTIME_DIM_VAL || kernel[s] >= 1,
              "the window has %lld elements along spatial dimension %d", (long long)kernel[s], s);
        ATTR(slide(a, s, x->dims[2 + s], kernel[s], &slides[s]),
             "window, stride, dilation or padding of spatial dimension %d is too large", s);
        c->out->dims[2 + s] = slides[s].out;
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_infer_windows(const dtp_infer_t *c, const dtp_window_attrs_t *a, const int64_t *kernel,
                                   dtp_slide_t *slides) {
    return infer(c, a, kernel, dtp_slide, slides);
}

dnnl_tp_status_t dtp_infer_spread(const dtp_infer_t *c, const dtp_window_attrs_t *a, const int64_t *kernel) {
    dtp_slide_t slides[3];
    DTP_TRY(infer(c, a, kernel, dtp_spread, slides));
    for (int s = 0; s < (int)a->output_padding.n; ++s)
        ATTR(a->output_padding.at[s] < element(&a->strides, s, 1),
             "output_padding has %lld, which is not below the stride of spatial dimension %d",
             (long long)a->output_padding.at[s], s);
    return dnnl_tp_success;
}
