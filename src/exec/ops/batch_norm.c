/* Batch normalisation with given statistics: a scale and a shift for each channel, in the order of dimensions that src has. */
#include "exec/ops/ops.h"

#include "common/problems/binary.h"
#include "common/problems/eltwise.h"

static const dtp_op_field_t batch_norm_fields[] = {DTP_OPTIONAL(dtp_batch_norm_attrs_t, epsilon, 1e-5f)};
enum { X, GAMMA, BETA, MEAN, VARIANCE };

static dnnl_tp_status_t batch_norm_infer(const dtp_infer_t *c) {
    static const char *const names[] = {"", "gamma", "beta", "mean", "variance"};
    const info_t *x = c->in[X];
    char tx[DTP_SHAPE_TEXT], tp[DTP_SHAPE_TEXT];
    DTP_TRY(dtp_infer_same(c));
    DTP_TRY(dtp_infer_epsilon(c, ((const dtp_batch_norm_attrs_t *)c->attrs)->epsilon));
    SHAPE(x->ndims >= 2, "src %s has no channels, {N, C, ...} is needed", dtp_info_text(x, tx));
    for (int i = GAMMA; i <= VARIANCE; ++i) {
        const info_t *p = c->in[i];
        TYPE(p->data_type == dnnl_tp_f32, "%s has type %s, f32 is needed", names[i],
             dnnl_tp_dt2str(p->data_type));
        SHAPE(p->ndims == 1 && dtp_dims_fit(p->dims[0], x->dims[1]),
              "%s %s does not fit the channels of src %s", names[i], dtp_info_text(p, tp),
              dtp_info_text(x, tx));
    }
    return dnnl_tp_success;
}

/* ---- Lowering ---------------------------------------------------------------------------------------- */

static dnnl_tp_status_t new_channels(dtp_lower_t *l, const dtp_md_t *md, dtp_step_arg_t *out) {
    *out = (dtp_step_arg_t){.buf = -1};
    return dtp_new_buf(l, dtp_md_size(md), &out->buf);
}
static dtp_step_arg_t written(dtp_step_arg_t arg) {
    arg.written = true;
    return arg;
}

static dnnl_tp_status_t function_step(dtp_lower_t *l, const dtp_ir_node_t *n, dnnl_tp_alg_kind_t alg,
                                      const dtp_md_t *src0, dtp_step_arg_t x, const dtp_md_t *src1,
                                      dtp_step_arg_t y, dtp_step_arg_t out, dtp_step_t **step) {
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_binary_desc_t), dnnl_tp_binary, DTP_BINARY_NARGS, step));
    dtp_step_t *s = *step;
    dtp_binary_desc_t *d = (dtp_binary_desc_t *)s->op;
    d->alg = alg;
    d->src0 = d->dst = *src0;
    d->src1 = *src1;
    s->arg[DTP_BINARY_SRC0] = x;
    s->arg[DTP_BINARY_SRC1] = y;
    s->arg[DTP_BINARY_DST] = written(out);
    return dnnl_tp_success;
}

/* scale = gamma / sqrt(variance + epsilon), shift = beta - mean * scale, of the channels alone. */
static dnnl_tp_status_t make_affine(dtp_lower_t *l, const dtp_ir_node_t *n, dtp_step_arg_t *scale,
                                    dtp_step_arg_t *shift) {
    const dtp_step_arg_t none = {.buf = -1};
    dtp_step_arg_t p[VARIANCE + 1] = {{.buf = -1}}, root;
    dtp_step_t *s;
    dtp_md_t md;
    for (int i = GAMMA; i <= VARIANCE; ++i) DTP_TRY(dtp_dense2(l, n->in[i], 0, &md, &p[i]));
    DTP_TRY(new_channels(l, &md, &root));
    DTP_TRY(new_channels(l, &md, scale));
    DTP_TRY(new_channels(l, &md, shift));
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_eltwise_desc_t), dnnl_tp_eltwise, DTP_ELTWISE_NARGS, &s));
    dtp_eltwise_desc_t *e = (dtp_eltwise_desc_t *)s->op;
    e->prop = dnnl_tp_forward_inference;
    e->alg = dnnl_tp_eltwise_linear;
    e->alpha = 1.f;
    e->beta = ((const dtp_batch_norm_attrs_t *)n->attrs)->epsilon;
    e->src = e->dst = md;
    s->arg[DTP_ELTWISE_SRC] = p[VARIANCE];
    s->arg[DTP_ELTWISE_DST] = written(root);
    DTP_TRY(dtp_add_post(l, s, &(dtp_ir_post_t){.alg = dnnl_tp_eltwise_sqrt}, NULL, none));
    DTP_TRY(function_step(l, n, dnnl_tp_binary_div, &md, p[GAMMA], &md, root, *scale, &s));
    DTP_TRY(function_step(l, n, dnnl_tp_binary_mul, &md, p[MEAN], &md, *scale, *shift, &s));
    DTP_TRY(dtp_add_post(l, s, &(dtp_ir_post_t){.alg = dnnl_tp_eltwise_linear, .alpha = -1.f}, NULL, none));
    return dtp_add_post(l, s, &(dtp_ir_post_t){.is_binary = true, .alg = dnnl_tp_binary_add, .value = -1},
                        &md, p[BETA]);
}

/* {N, C, ...} as {pixels, C} where channels are innermost, else as {N, C, pixels}. */
static dnnl_tp_status_t as_channels(const info_t *t, bool is_last, const int64_t *strides, dtp_md_t *md) {
    const int64_t n = t->dims[0], c = t->dims[1], pixels = dtp_info_product(t, 2, t->ndims);
    const int64_t all[3] = {n, c, pixels}, flat[2] = {n * pixels, c};
    if (!is_last) return dtp_md_init_strides(md, 3, all, t->data_type, NULL);
    int64_t apart[2] = {dtp_max64(c, 1), 1};
    for (int i = 1; i < t->ndims; ++i) { /* of images, then of pixels */
        const int d = i == 1 ? 0 : i;
        if (t->dims[d] != 1) apart[0] = strides[d];
    }
    return dtp_md_init_strides(md, 2, flat, t->data_type, apart);
}
/* What has a value for each channel. */
static dnnl_tp_status_t one_each(int64_t c, bool is_last, dtp_md_t *md) {
    const int64_t dims[3] = {1, c, 1};
    return dtp_md_init_strides(md, is_last ? 2 : 3, dims, dnnl_tp_f32, NULL);
}

/* Do all executables share the parameters? Then scale and shift are constants. */
static bool is_constant(const dtp_lower_t *l, const dtp_ir_node_t *n) {
    bool all = l->ir->fuse && !l->at_once;
    for (int i = GAMMA; i <= VARIANCE; ++i) all &= dtp_ir_is_shared(l->ir, n->in[i]);
    return all;
}

static dnnl_tp_status_t pack(dtp_lower_t *l, const dtp_ir_node_t *n, dtp_step_t *s, const dtp_md_t *channel) {
    dtp_ir_affine_t map[DTP_IR_MAX_AFFINE] = {{DTP_AFFINE_NORMALISE,
                                               ((const dtp_batch_norm_attrs_t *)n->attrs)->epsilon,
                                               {n->in[GAMMA], n->in[BETA], n->in[MEAN], n->in[VARIANCE]}}};
    if (n->naffine) memcpy(map + 1, n->affine, sizeof *map * (size_t)n->naffine);
    const int64_t channels = dtp_md_nelems(channel);
    const dtp_affine_t *affine;
    DTP_TRY(dtp_make_affine(l, 1 + n->naffine, map, &affine));
    DTP_TRY(dtp_pack_mapped(l, s, DTP_BINARY_SRC1, DTP_PACK_SCALED, affine, channels, -1, channel));
    return dtp_pack_mapped(l, s, s->nargs, DTP_PACK_MAPPED, affine, channels, -1, channel);
}

static dnnl_tp_status_t batch_norm_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    const info_t *t = dtp_info(l, n->in[X]);
    bool is_last;
    dtp_view_t x;
    dtp_md_t src, dst, channel;
    dtp_step_arg_t scale = {.buf = -1}, shift = {.buf = -1};
    dtp_step_t *s;
    DTP_TRY(dtp_view_pixels(l, n->in[X], &x, false, &is_last));
    if (!is_last) DTP_TRY(dtp_view_dense(l, n->in[X], &x));
    if (!is_constant(l, n)) DTP_TRY(make_affine(l, n, &scale, &shift));
    DTP_TRY(is_last ? dtp_view_new_pixels(l, n->out[0]) : dtp_view_new(l, n->out[0]));
    DTP_TRY(as_channels(t, is_last, x.strides, &src));
    DTP_TRY(as_channels(t, is_last, dtp_value(l, n->out[0])->strides, &dst));
    DTP_TRY(one_each(t->dims[1], is_last, &channel));
    DTP_TRY(function_step(l, n, dnnl_tp_binary_mul, &src, dtp_view_arg(&x), &channel, scale,
                          dtp_written_arg(l, n->out[0]), &s));
    ((dtp_binary_desc_t *)s->op)->dst = dst;
    DTP_TRY(dtp_add_post(l, s, &(dtp_ir_post_t){.is_binary = true, .alg = dnnl_tp_binary_add, .value = -1},
                         &channel, shift));
    if (is_constant(l, n)) DTP_TRY(pack(l, n, s, &channel));
    return dtp_add_post_ops(l, s, n, &dst);
}

const dtp_op_class_t dtp_class_batch_norm = DTP_OP_CLASS(
    dtp_batch_norm_attrs_t, DTP_FIELDS(batch_norm_fields), DTP_OP_KEEPS_ORDER | DTP_OP_PIXELS_APART, 0, 1,
    dtp_one_result, batch_norm_infer, DTP_NO_VALUES, batch_norm_lower, dtp_cut_by_dim, DTP_NO_POST);
