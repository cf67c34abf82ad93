/* Other sizes of the spatial dimensions, in the order of dimensions that src has: those of the attribute `sizes`, or of
 * the second input. */
#include "exec/ops/ops.h"

#include "common/problems/resampling.h"

/* interpolate: "half_pixel" (default), "pytorch_half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric",
 * "tf_half_pixel_for_nn". */
DTP_ATTR(coordinate_transformation_mode, 130) /**< where elements stand */
DTP_ATTR(nearest_mode, 0x10012) /**< "round_prefer_floor" (default), "round_prefer_ceil", "floor", "ceil" */
DTP_ATTR(scale_to, 0x10013)     /**< numerator of the scale of each spatial dimension (s64 list) */
DTP_ATTR(scale_from, 0x10011)   /**< its denominator (s64 list) */

static const char *const modes[] = {"nearest", "linear", NULL};
enum { HALF_PIXEL, PYTORCH_HALF_PIXEL, SYMMETRIC, ALIGN_CORNERS, ASYMMETRIC, TF_HALF_PIXEL_FOR_NN };
static const char *const places[] = {"half_pixel",
                                     "pytorch_half_pixel",
                                     "half_pixel_symmetric",
                                     "align_corners",
                                     "asymmetric",
                                     "tf_half_pixel_for_nn",
                                     NULL};
static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};

typedef struct {
    dtp_op_attrs_t base;
    dtp_word_t mode, coordinate_transformation_mode, nearest_mode;
    dtp_list_t sizes, scale_to, scale_from;
} attrs_t;
static const dtp_op_field_t interpolate_fields[] = {DTP_OPTIONAL(attrs_t, sizes, 0),
                                                    DTP_WORD(attrs_t, mode, modes),
                                                    DTP_WORD(attrs_t, coordinate_transformation_mode, places),
                                                    DTP_WORD(attrs_t, nearest_mode, roundings),
                                                    DTP_OPTIONAL(attrs_t, scale_to, 0),
                                                    DTP_OPTIONAL(attrs_t, scale_from, 0)};

static dnnl_tp_status_t interpolate_infer(const dtp_infer_t *c) {
    const attrs_t *a = c->attrs;
    const info_t *x = c->in[0];
    const int n = x->ndims - 2;
    char tx[DTP_SHAPE_TEXT];
    DTP_TRY(dtp_infer_same(c));
    TYPE(x->data_type == dnnl_tp_f32 || x->data_type == dnnl_tp_bf16,
         "src has type %s, f32 or bf16 is needed", dnnl_tp_dt2str(x->data_type));
    SHAPE(x->ndims >= 3 && x->ndims <= 5, "src %s has %d dimensions, 3..5 are allowed", dtp_info_text(x, tx),
          x->ndims);
    const info_t *t = c->nin > 1 ? c->in[1] : NULL;
    if (t) {
        TYPE(t->data_type == dnnl_tp_s64 || t->data_type == dnnl_tp_s32,
             "sizes have type %s, s64 or s32 is needed", dnnl_tp_dt2str(t->data_type));
        SHAPE(!a->sizes.n && t->ndims == 1 && dtp_dims_fit(t->dims[0], n),
              "sizes %s, src %d spatial dimensions, and %d sizes in an attribute", dtp_info_text(t, tx), n,
              (int)a->sizes.n);
    }
    ATTR(t || a->sizes.n == n, "sizes has %d elements, src %d spatial dimensions", (int)a->sizes.n, n);
    ATTR((a->scale_to.n == n || a->scale_to.n == 0) && a->scale_from.n == a->scale_to.n,
         "scale_to has %d elements, scale_from %d, src %d spatial dimensions", (int)a->scale_to.n,
         (int)a->scale_from.n, n);
    const int64_t *sizes = t ? c->known[1] : a->sizes.at; /* NULL: known when the graph is compiled */
    for (int i = 0; i < n; ++i) {
        const int64_t out = sizes ? sizes[i] : DNNL_TP_RUNTIME_DIM_VAL;
        ATTR(!sizes || (out >= 0 && out <= INT32_MAX), "sizes has %lld, needed is 0 to %d", (long long)out,
             INT32_MAX);
        SHAPE(!sizes || x->dims[2 + i] != 0 || out == 0, "spatial dimension %d of src %s cannot become %lld",
              i, dtp_info_text(x, tx), (long long)out);
        ATTR(!a->scale_to.n || (a->scale_to.at[i] > 0 && a->scale_from.at[i] > 0),
             "the scale of spatial dimension %d is not above 0", i);
        c->out->dims[2 + i] = out;
    }
    return dnnl_tp_success;
}

static dtp_resampling_rule_t rule_of(const attrs_t *a, int i, double in, double out) {
    const double to = a->scale_to.n ? (double)a->scale_to.at[i] : out,
                 from = a->scale_to.n ? (double)a->scale_from.at[i] : in;
    const double length = from == in ? to : in * to / from;
    static const dtp_resampling_rule_t first = {.to = 1};
    switch (a->coordinate_transformation_mode.at) {
    case PYTORCH_HALF_PIXEL: return length > 1 ? (dtp_resampling_rule_t){.5, from, to, -.5} : first;
    case SYMMETRIC: return (dtp_resampling_rule_t){.5 - out / 2, from, to, (in - 1) / 2};
    case ALIGN_CORNERS: return length > 1 ? (dtp_resampling_rule_t){0, in - 1, length - 1, 0} : first;
    case ASYMMETRIC: return (dtp_resampling_rule_t){0, from, to, 0};
    case TF_HALF_PIXEL_FOR_NN: return (dtp_resampling_rule_t){.5, from, to, 0};
    default: return (dtp_resampling_rule_t){.5, from, to, -.5};
    }
}

static dnnl_tp_status_t interpolate_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    const attrs_t *a = n->attrs;
    const info_t *x = dtp_info(l, n->in[0]), *to = dtp_info(l, n->out[0]);
    dtp_view_t src;
    bool is_last;
    dtp_step_t *s;
    DTP_TRY(dtp_view_pixels(l, n->in[0], &src, false, &is_last));
    if (!is_last) DTP_TRY(dtp_view_dense(l, n->in[0], &src));
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_resampling_desc_t), dnnl_tp_resampling, DTP_RESAMPLING_NARGS, &s));
    dtp_resampling_desc_t *d = (dtp_resampling_desc_t *)s->op;
    d->prop = dnnl_tp_forward_inference;
    d->alg = a->mode.at ? dnnl_tp_resampling_linear : dnnl_tp_resampling_nearest;
    d->rounding = a->nearest_mode.at; /* the order of dtp_resampling_rounding_t */
    d->spatial = x->ndims - 2;
    d->nrule = DTP_RESAMPLING_RULE * d->spatial;
    for (int i = 0; i < d->spatial; ++i) {
        const dtp_resampling_rule_t rule = rule_of(a, i, (double)x->dims[2 + i], (double)to->dims[2 + i]);
        memcpy(&d->rule[i * DTP_RESAMPLING_RULE], &rule, sizeof rule);
    }
    DTP_TRY(dtp_md_init_strides(&d->src, x->ndims, x->dims, x->data_type, src.strides));
    DTP_TRY(is_last ? dtp_view_new_pixels(l, n->out[0]) : dtp_view_new(l, n->out[0]));
    DTP_TRY(
        dtp_md_init_strides(&d->dst, to->ndims, to->dims, to->data_type, dtp_value(l, n->out[0])->strides));
    s->arg[DTP_RESAMPLING_SRC] = dtp_view_arg(&src);
    s->arg[DTP_RESAMPLING_DST] = dtp_written_arg(l, n->out[0]);
    return dnnl_tp_success;
}

const dtp_op_class_t dtp_class_interpolate = DTP_OP_CLASS(
    attrs_t, DTP_FIELDS(interpolate_fields), DTP_OP_KEEPS_ORDER | DTP_OP_PIXELS_APART | DTP_OP_SHAPE_INPUT, 0,
    1, dtp_one_result, interpolate_infer, DTP_NO_VALUES, interpolate_lower, dtp_cut_all, DTP_NO_POST);
