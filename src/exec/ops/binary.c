/* Functions of two tensors, broadcast, in the types in whose arithmetic they exist (common/base/elementwise.inc);
 * bias_add, which only differs in what it accepts. */
#include "exec/ops/ops.h"

#include "common/problems/binary.h"

static dnnl_tp_status_t binary_infer(const dtp_infer_t *c) {
    const info_t *x = c->in[0], *y = c->in[1];
    TYPE(x->data_type == y->data_type, "src0 has type %s, src1 %s", dnnl_tp_dt2str(x->data_type),
         dnnl_tp_dt2str(y->data_type));
    const dtp_alg_row_t *row = c->row->param;
    TYPE(dtp_ew_takes(row->alg, x->data_type), "the sources have type %s, which this function does not take",
         dnnl_tp_dt2str(x->data_type));
    DTP_TRY(dtp_infer_broadcast(c));
    c->out->data_type = x->data_type;
    return dnnl_tp_success;
}

static dnnl_tp_status_t bias_add_infer(const dtp_infer_t *c) {
    const info_t *x = c->in[0], *b = c->in[1];
    char tx[DTP_SHAPE_TEXT], tb[DTP_SHAPE_TEXT];
    DTP_TRY(dtp_infer_same(c));
    TYPE(b->data_type == x->data_type, "bias has type %s, src %s", dnnl_tp_dt2str(b->data_type),
         dnnl_tp_dt2str(x->data_type));
    SHAPE(x->ndims >= 1 && b->ndims == 1 && dtp_dims_fit(b->dims[0], x->dims[x->ndims - 1]),
          "bias %s does not fit the last dimension of src %s", dtp_info_text(b, tb), dtp_info_text(x, tx));
    return dnnl_tp_success;
}

/* The number of the element of x that belongs to element i of out. */
static int64_t element_of(const info_t *x, const info_t *out, int64_t i) {
    int64_t at = 0, stride = 1;
    for (int d = out->ndims - 1, k = x->ndims - 1; k >= 0; --d, --k) {
        if (x->dims[k] != 1) at += i % out->dims[d] * stride;
        stride *= x->dims[k];
        i /= out->dims[d];
    }
    return at;
}

static bool binary_values(const dtp_infer_t *c, int64_t *values) {
    const dtp_alg_row_t *row = c->row->param;
    if (!c->known[0] || !c->known[1] || c->out->data_type == dnnl_tp_boolean) return false;
    const int64_t n = dtp_info_nelems(c->out);
    bool ok = true;
    for (int64_t i = 0; i < n && ok; ++i)
        ok = dtp_ew_integers(row->alg, c->out->data_type, c->known[0][element_of(c->in[0], c->out, i)],
                             c->known[1][element_of(c->in[1], c->out, i)], &values[i]);
    return ok;
}

/* How many trailing dims of out y covers fully, when it has nothing else but ones; -1 otherwise. */
static int suffix_of(const info_t *y, const info_t *out) {
    int d = y->ndims, n = 0;
    while (d > 0 && y->dims[d - 1] == out->dims[out->ndims - 1 - n]) --d, ++n;
    for (int i = 0; i < d; ++i)
        if (y->dims[i] != 1) return -1;
    return n;
}

static dnnl_tp_status_t binary_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    int x = n->in[0], y = n->in[1], out = n->out[0];
    const info_t *to = dtp_info(l, out);
    const dtp_alg_row_t *row = n->row->param;
    bool commutes = row->alg != dnnl_tp_binary_div && row->alg != dnnl_tp_binary_sub;
    if (commutes && dtp_info_nelems(dtp_info(l, x)) < dtp_info_nelems(dtp_info(l, y))) {
        int t = x;
        x = y;
        y = t;
    }
    dtp_view_t px, py;
    dtp_dim_order_t order;
    const info_t *tx = dtp_info(l, x), *ty = dtp_info(l, y);
    DTP_TRY(dtp_view_any(l, x, &px));
    DTP_TRY(dtp_view_any(l, y, &py));
    const bool is_ordered = dtp_info_equal(tx, to) && dtp_dim_order(l, n, x, px.strides, &order) &&
                            dtp_is_dense_in(ty, py.strides, &order);
    if (!is_ordered) {
        DTP_TRY(dtp_view_dense(l, x, &px));
        DTP_TRY(dtp_view_dense(l, y, &py));
    }
    dtp_step_t *s;
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_binary_desc_t), dnnl_tp_binary, DTP_BINARY_NARGS, &s));
    dtp_binary_desc_t *d = (dtp_binary_desc_t *)s->op;
    d->alg = row->alg;
    d->exact = dtp_ew_arithmetic(to->data_type, true) != dnnl_tp_f32;
    s->arg[DTP_BINARY_SRC0] = dtp_view_arg(&px);
    s->arg[DTP_BINARY_SRC1] = dtp_view_arg(&py);
    DTP_TRY(is_ordered ? dtp_view_new_in(l, out, &order) : dtp_view_new(l, out));
    s->arg[DTP_BINARY_DST] = dtp_written_arg(l, out);
    int64_t count = dtp_info_nelems(to);
    int suffix = suffix_of(ty, to);
    if (is_ordered) {
        DTP_TRY(dtp_md_padded(&d->src0, tx, px.strides, to->ndims));
        DTP_TRY(dtp_md_padded(&d->src1, ty, py.strides, to->ndims));
        d->dst = d->src0;
    } else if (dtp_info_nelems(tx) == count && suffix >= 0) {
        /* The same shape, a row, a plane or one element: two dims are enough. */
        int split = suffix == 0 || suffix == to->ndims ? dtp_last_split(to) : to->ndims - suffix;
        int64_t rows = dtp_info_product(to, 0, split), cols = dtp_info_product(to, split, to->ndims);
        DTP_TRY(dtp_md_dense2(&d->src0, rows, cols, tx->data_type));
        if (suffix == to->ndims) d->src1 = d->src0;
        else DTP_TRY(dtp_md_dense2(&d->src1, 1, suffix == 0 ? 1 : cols, ty->data_type));
        DTP_TRY(dtp_md_dense2(&d->dst, rows, cols, to->data_type));
    } else {
        DTP_TRY(dtp_md_padded(&d->src0, tx, px.strides, to->ndims));
        DTP_TRY(dtp_md_padded(&d->src1, ty, py.strides, to->ndims));
        DTP_TRY(dtp_md_init_strides(&d->dst, to->ndims, to->dims, to->data_type, NULL));
    }
    return dtp_add_post_ops(l, s, n, &d->dst);
}

/* Row vector of n elements: {n}, {1, n}, ... */
static bool is_row(const info_t *t, int64_t n) {
    return t->ndims >= 1 && t->dims[t->ndims - 1] == n && dtp_info_nelems(t) == n;
}

static bool same_dims(const info_t *a, const info_t *b) {
    return a->ndims == b->ndims && !memcmp(a->dims, b->dims, sizeof(int64_t) * (size_t)a->ndims);
}

/* Which elements of out meet one of t, which is broadcast to out; false: in a way that nobody fuses. */
static bool spread_of(const info_t *t, const info_t *out, dtp_ir_spread_t *spread) {
    const int lead = out->ndims - t->ndims;
    const int64_t n = dtp_info_nelems(t);
    if (is_row(t, out->ndims ? out->dims[out->ndims - 1] : 1)) *spread = DTP_SPREAD_ROW;
    else if (same_dims(t, out)) *spread = DTP_SPREAD_SAME;
    else if (n == 1) *spread = DTP_SPREAD_ONE;
    else if (out->ndims > 2 && lead <= 1 && t->dims[1 - lead] == n && n == out->dims[1])
        *spread = DTP_SPREAD_CHANNEL;
    else return false;
    return true;
}

/* With one number c: alpha x + beta. */
static void linear_post(dnnl_tp_alg_kind_t alg, bool first, float c, dtp_ir_post_t *post) {
    float alpha = 1.f, beta = 0.f;
    if (alg == dnnl_tp_binary_add) beta = c;
    else if (alg == dnnl_tp_binary_mul) alpha = c;
    else if (alg == dnnl_tp_binary_sub) alpha = first ? 1.f : -1.f, beta = first ? -c : c;
    else alpha = 1.f / c;
    *post = (dtp_ir_post_t){.alg = dnnl_tp_eltwise_linear, .alpha = alpha, .beta = beta};
}

static bool binary_post(const dtp_ir_t *ir, const dtp_ir_node_t *n, int x, dtp_ir_post_t *post) {
    const dtp_alg_row_t *row = n->row->param;
    if (!dtp_alg_is_binary_post(row->alg) || n->in[0] == n->in[1]) return false;
    const bool first = n->in[0] == x, is_div = row->alg == dnnl_tp_binary_div;
    const int other = first ? n->in[1] : n->in[0];
    const info_t *out = ir->values[x].info, *o = ir->values[other].info;
    if (!same_dims(ir->values[n->out[0]].info, out)) return false;
    const bool add = row->alg == dnnl_tp_binary_add, keeps_order = is_div || row->alg == dnnl_tp_binary_sub;
    const bool has_linear = add || keeps_order || row->alg == dnnl_tp_binary_mul;
    dtp_ir_spread_t spread;
    float c;
    if (!spread_of(o, out, &spread)) return false;
    if (has_linear && dtp_ir_scalar(ir, other, &c)) {
        if (is_div && (!first || c == 0.f)) return false;
        linear_post(row->alg, first, c, post);
    } else {
        if (keeps_order && !first) return false;
        *post = (dtp_ir_post_t){.is_binary = true, .alg = row->alg};
    }
    post->value = other;
    post->spread = spread;
    post->adds = add;
    return true;
}

const dtp_op_class_t dtp_class_binary =
    DTP_OP_CLASS(dtp_op_attrs_t, DTP_NO_FIELDS, DTP_OP_KEEPS_ORDER, 0, DTP_ALL_BF16, dtp_one_result,
                 binary_infer, binary_values, binary_lower, dtp_cut_by_dim, binary_post);
const dtp_op_class_t dtp_class_bias_add =
    DTP_OP_CLASS(dtp_op_attrs_t, DTP_NO_FIELDS, DTP_OP_KEEPS_ORDER, 0, DTP_ALL_BF16, dtp_one_result,
                 bias_add_infer, DTP_NO_VALUES, binary_lower, dtp_cut_by_dim, binary_post);
