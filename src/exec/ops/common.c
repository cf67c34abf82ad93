/* What classes share. */
#include "exec/ops/ops.h"

#include "common/problems/eltwise.h"
#include "common/problems/shuffle.h"

/* ---- Inference --------------------------------------------------------------------------------------- */

dnnl_tp_status_t dtp_infer_axis(const dtp_infer_t *c, const char *what, int64_t axis, int ndims, int *out) {
    ATTR(axis >= -ndims && axis < ndims, "%s %lld is outside %d..%d", what, (long long)axis, -ndims,
         ndims - 1);
    *out = dtp_axis(axis, ndims);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_infer_same(const dtp_infer_t *c) {
    TYPE(dtp_is_float(c->in[0]->data_type), "src has type %s, a floating-point type is needed",
         dnnl_tp_dt2str(c->in[0]->data_type));
    *c->out = *c->in[0];
    return dnnl_tp_success;
}

/* Aligned at the last dimension; 1 stretches. */
dnnl_tp_status_t dtp_infer_broadcast(const dtp_infer_t *c) {
    info_t *out = c->out;
    char tx[DTP_SHAPE_TEXT], ty[DTP_SHAPE_TEXT];
    for (int i = 0; i < c->nin; ++i) {
        const info_t *x = c->in[i];
        info_t before = *out;
        out->ndims = x->ndims > before.ndims ? x->ndims : before.ndims;
        for (int d = 0; d < out->ndims; ++d) {
            const int dx = d - (out->ndims - x->ndims), db = d - (out->ndims - before.ndims);
            const int64_t a = db < 0 ? 1 : before.dims[db], b = dx < 0 ? 1 : x->dims[dx];
            SHAPE(dtp_dims_fit(a, b) || a == 1 || b == 1, "%s and %s do not broadcast",
                  dtp_info_text(&before, tx), dtp_info_text(x, ty));
            out->dims[d] = a == 1 || (a == DNNL_TP_RUNTIME_DIM_VAL && b != 1) ? b : a;
        }
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_infer_epsilon(const dtp_infer_t *c, float epsilon) {
    ATTR(epsilon >= 0.f, "epsilon %g is negative", (double)epsilon);
    return dnnl_tp_success;
}

int dtp_one_result(const void *attrs, int wanted) {
    (void)attrs;
    (void)wanted;
    return 1;
}

/* ---- Lowering ---------------------------------------------------------------------------------------- */

dnnl_tp_status_t dtp_dense2(dtp_lower_t *l, int v, int split, dtp_md_t *md, dtp_step_arg_t *arg) {
    dtp_view_t p;
    DTP_TRY(dtp_view_dense(l, v, &p));
    const info_t *t = dtp_info(l, v);
    *arg = dtp_view_arg(&p);
    return dtp_md_dense2(md, dtp_info_product(t, 0, split), dtp_info_product(t, split, t->ndims),
                         t->data_type);
}

dnnl_tp_status_t dtp_result2(dtp_lower_t *l, int v, int split, dtp_md_t *md, dtp_step_arg_t *arg) {
    DTP_TRY(dtp_view_new(l, v));
    DTP_TRY(dtp_dense2(l, v, split, md, arg));
    arg->written = true;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_match_type(dtp_lower_t *l, dtp_step_t *s, int arg, int v, dnnl_tp_data_type_t type,
                                dtp_md_t *md) {
    dtp_packing_t *p;
    if (md->data_type == type) return dnnl_tp_success;
    DTP_TRY(dtp_pack_arg(l, s, arg, 1, &p));
    p->part[0] = (dtp_packed_part_t){dtp_value(l, v)->cid, dtp_value(l, v)->data, *md};
    md->data_type = type;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_lower_eltwise(dtp_lower_t *l, const dtp_ir_node_t *n, int from, int to,
                                   dnnl_tp_alg_kind_t alg, float alpha, float beta) {
    dtp_step_t *s;
    dtp_view_t p;
    dtp_dim_order_t order;
    const info_t *t = dtp_info(l, from);
    int64_t cols = dtp_info_product(t, dtp_last_split(t), t->ndims);
    DTP_TRY(dtp_view_any(l, from, &p));
    const bool is_ordered = dtp_dim_order(l, n, from, p.strides, &order);
    if (is_ordered) cols = t->dims[order.dim[order.ndims - 1]];
    else DTP_TRY(dtp_view_dense(l, from, &p));
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_eltwise_desc_t), dnnl_tp_eltwise, DTP_ELTWISE_NARGS, &s));
    dtp_eltwise_desc_t *d = (dtp_eltwise_desc_t *)s->op;
    d->prop = dnnl_tp_forward_inference;
    d->alg = alg;
    d->exact = dtp_ew_arithmetic(t->data_type, true) != dnnl_tp_f32;
    d->alpha = alpha;
    d->beta = beta;
    DTP_TRY(dtp_md_dense2(&d->src, dtp_info_nelems(t) / dtp_max64(cols, 1), cols, t->data_type));
    d->dst = d->src;
    s->arg[DTP_ELTWISE_SRC] = dtp_view_arg(&p);
    DTP_TRY(is_ordered ? dtp_view_new_in(l, to, &order) : dtp_view_new(l, to));
    s->arg[DTP_ELTWISE_DST] = dtp_written_arg(l, to);
    return dtp_add_post_ops(l, s, n, &d->dst);
}

/* The strides of a view under another shape; false when the view would have to be copied. */
static bool reshape_view(const info_t *from, const int64_t *strides, const info_t *to, int64_t *out) {
    int i = 0, k = 0;
    while (i < from->ndims || k < to->ndims) {
        /* The smallest ranges [i, i2) and [k, k2) with equal products. */
        int i2 = i, k2 = k;
        int64_t a = i2 < from->ndims ? from->dims[i2++] : 1, b = k2 < to->ndims ? to->dims[k2++] : 1;
        while (a != b) {
            if (a < b && i2 < from->ndims) a *= from->dims[i2++];
            else if (k2 < to->ndims) b *= to->dims[k2++];
            else return false;
        }
        while (i2 < from->ndims && from->dims[i2] == 1) ++i2;
        int64_t dims[2], st[2];
        info_t range = {.ndims = i2 - i};
        memcpy(range.dims, from->dims + i, sizeof(int64_t) * (size_t)(i2 - i));
        if (!dtp_collapse(&range, strides + i, 0, dims, st)) return false;
        int64_t s = st[1];
        for (int d = k2 - 1; d >= k; --d) {
            out[d] = s;
            s *= dtp_max64(to->dims[d], 1);
        }
        i = i2;
        k = k2;
        while (k < to->ndims && to->dims[k] == 1) out[k++] = s;
    }
    return true;
}

/* Is this view, with one dimension more than `to` has, the channels of `to` in two dimensions that were exchanged, channels
 * innermost before that? *before: their strides then. */
static bool is_shuffle(const info_t *from, const int64_t *strides, const info_t *to, int64_t *before) {
    dtp_dim_order_t order;
    if (to->ndims < 3 || from->ndims != to->ndims + 1 || from->dims[1] * from->dims[2] != to->dims[1])
        return false;
    for (int d = 0; d < to->ndims; ++d) {
        if (d != 1 && to->dims[d] != from->dims[d ? d + 1 : 0]) return false;
        before[d] = strides[d ? d + 1 : 0];
    }
    before[1] = 1;
    dtp_order_channels_last(to->ndims, &order);
    return strides[1] == 1 && strides[2] == from->dims[1] && dtp_is_dense_in(to, before, &order);
}

/* What a reshape copies goes to where its reader wants it: channels innermost. */
static dnnl_tp_status_t copy_last(dtp_lower_t *l, const dtp_ir_node_t *n, const dtp_view_t *p,
                                  bool *is_done) {
    const int from = n->in[0], to = n->out[0];
    const info_t *x = dtp_info(l, from), *y = dtp_info(l, to);
    int64_t last[DNNL_TP_MAX_NDIMS], other[DNNL_TP_MAX_NDIMS], before[DNNL_TP_MAX_NDIMS];
    dtp_dim_order_t order;
    dtp_step_t *s;
    int buf;
    dtp_order_channels_last(y->ndims, &order);
    dtp_order_strides(y, &order, last);
    *is_done = reshape_view(y, last, x, other);
    if (!*is_done) return dnnl_tp_success;
    DTP_TRY(dtp_new_buf(l, dtp_info_bytes(y), &buf));
    DTP_TRY(dtp_view_set(l, to, buf, 0, last));
    if (!is_shuffle(x, p->strides, y, before)) return dtp_copy_view(l, from, other, buf);
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_shuffle_desc_t), dnnl_tp_shuffle, DTP_SHUFFLE_NARGS, &s));
    dtp_shuffle_desc_t *d = (dtp_shuffle_desc_t *)s->op;
    d->prop = dnnl_tp_forward_inference;
    d->axis = 1;
    d->group_size = x->dims[1];
    DTP_TRY(dtp_md_init_strides(&d->src, y->ndims, y->dims, y->data_type, last));
    d->dst = d->src;
    s->arg[DTP_SHUFFLE_SRC] = dtp_view_arg(p);
    s->arg[DTP_SHUFFLE_DST] = dtp_written_arg(l, to);
    s->work->cut = dtp_cut_all;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_lower_alias(dtp_lower_t *l, dtp_ir_node_t *n) {
    const int from = n->in[0], to = n->out[0];
    dtp_view_t p;
    const dtp_ir_value_t *dst = dtp_value(l, to);
    int64_t strides[DNNL_TP_MAX_NDIMS];
    const bool may_turn = l->ir->fuse && dtp_info_nelems(dst->info) > 0;
    bool is_done = false;
    DTP_TRY(dtp_view_any(l, from, &p));
    if (may_turn && reshape_view(dtp_info(l, from), p.strides, dst->info, strides))
        return dtp_view_set(l, to, p.buf, p.offset, strides);
    if (may_turn && dst->wants_last && dst->dest < 0 && !l->at_once) DTP_TRY(copy_last(l, n, &p, &is_done));
    if (is_done) return dnnl_tp_success;
    DTP_TRY(dtp_view_dense(l, from, &p));
    return dtp_view_set(l, to, p.buf, p.offset, NULL);
}
