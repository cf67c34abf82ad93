/* Tensors that are dense in another order of dimensions than row-major, as NHWC under dimensions named NCHW, which
 * convolutions make: element-wise functions, joins, pooling and reductions walk through memory in its order and leave their
 * results in the same one; nothing is copied. */
#include "exec/compile/lowering/lower.h"

static int64_t dim_of(const dnnl_tp_tensor_info_t *t, int nd, int d) {
    return d < nd - t->ndims ? 1 : t->dims[d - (nd - t->ndims)];
}
static int64_t stride_of(const dnnl_tp_tensor_info_t *t, const int64_t *strides, int nd, int d) {
    return d < nd - t->ndims ? 0 : strides[d - (nd - t->ndims)];
}

bool dtp_is_dense_in(const dnnl_tp_tensor_info_t *t, const int64_t *strides, const dtp_dim_order_t *order) {
    int64_t dense = 1;
    for (int i = order->ndims - 1; i >= 0; --i) {
        const int64_t n = dim_of(t, order->ndims, order->dim[i]);
        if (n != 1 && stride_of(t, strides, order->ndims, order->dim[i]) != dense) return false;
        dense *= n;
    }
    return true;
}

bool dtp_dim_order(const dtp_lower_t *l, const dtp_ir_node_t *n, int v, const int64_t *strides,
                   dtp_dim_order_t *order) {
    const dtp_ir_value_t *value = &l->ir->values[v];
    const dnnl_tp_tensor_info_t *t = value->info;
    if (!l->ir->fuse || l->at_once || !value->strides || dtp_view_is_dense(value)) return false;
    /* Wanted somewhere, row-major: the result is copied, or rather the only input. */
    if (l->ir->values[n->out[0]].dest >= 0 && n->nin < 2) return false;
    return dtp_order_of(t, strides, order);
}

bool dtp_order_of(const dnnl_tp_tensor_info_t *t, const int64_t *strides, dtp_dim_order_t *order) {
    order->ndims = t->ndims;
    for (int d = 0; d < t->ndims; ++d) { /* larger strides further out; equal ones as they stand */
        int at = d;
        for (; at > 0 && strides[order->dim[at - 1]] < strides[d]; --at) order->dim[at] = order->dim[at - 1];
        order->dim[at] = d;
    }
    return dtp_is_dense_in(t, strides, order);
}

void dtp_order_channels_last(int ndims, dtp_dim_order_t *order) {
    order->ndims = ndims;
    order->dim[0] = 0;
    for (int d = 2; d < ndims; ++d) order->dim[d - 1] = d;
    order->dim[ndims - 1] = 1;
}

void dtp_order_strides(const dnnl_tp_tensor_info_t *t, const dtp_dim_order_t *order, int64_t *strides) {
    int64_t dense = 1;
    for (int i = order->ndims - 1; i >= 0; --i) {
        strides[order->dim[i]] = dense;
        dense *= dtp_max64(t->dims[order->dim[i]], 1);
    }
}

dnnl_tp_status_t dtp_view_new_in(dtp_lower_t *l, int v, const dtp_dim_order_t *order) {
    const dnnl_tp_tensor_info_t *t = l->ir->values[v].info;
    int64_t strides[DNNL_TP_MAX_NDIMS];
    int buf;
    dtp_order_strides(t, order, strides);
    DTP_TRY(dtp_new_buf(l, dtp_info_bytes(t), &buf));
    return dtp_view_set(l, v, buf, 0, strides);
}

dnnl_tp_status_t dtp_md_in(dtp_md_t *md, const dnnl_tp_tensor_info_t *t, const dtp_dim_order_t *order) {
    int64_t dims[DNNL_TP_MAX_NDIMS];
    for (int i = 0; i < order->ndims; ++i) dims[i] = dim_of(t, order->ndims, order->dim[i]);
    return dtp_md_init_strides(md, order->ndims, dims, t->data_type, NULL);
}

/* ---- Pixels that lie apart --------------------------------------------------------------------------- */

/* Channels side by side, pixels one behind the other at any distance. */
static bool is_pixels(const dnnl_tp_tensor_info_t *t, const int64_t *strides) {
    int64_t next = 0;
    if (t->dims[1] != 1 && strides[1] != 1) return false;
    for (int i = t->ndims - 1; i >= 1; --i) {
        const int d = i == 1 ? 0 : i; /* the spatial dimensions, then images */
        if (t->dims[d] == 1) continue;
        if (next ? strides[d] != next : strides[d] < t->dims[1]) return false;
        next = strides[d] * t->dims[d];
    }
    return true;
}

dnnl_tp_status_t dtp_view_pixels(dtp_lower_t *l, int v, dtp_view_t *view, bool copies, bool *is_last) {
    const dnnl_tp_tensor_info_t *t = l->ir->values[v].info;
    dtp_dim_order_t order;
    DTP_TRY(dtp_view_any(l, v, view));
    *is_last = t->ndims > 1 && is_pixels(t, view->strides);
    if (*is_last || !copies) return dnnl_tp_success;
    *is_last = true;
    dtp_order_channels_last(t->ndims, &order);
    return dtp_view_in(l, v, &order, view);
}

dnnl_tp_status_t dtp_view_new_pixels(dtp_lower_t *l, int v) {
    const dtp_ir_value_t *value = &l->ir->values[v];
    dtp_dim_order_t order;
    if (value->into >= 0) return dtp_view_set(l, v, value->into, 0, value->into_strides);
    dtp_order_channels_last(value->info->ndims, &order);
    return dtp_view_new_in(l, v, &order);
}

/* ---- Before lowering --------------------------------------------------------------------------------- */

void dtp_find_channels_last(const dtp_ir_t *ir, const dtp_ir_node_t *n) {
    const unsigned flags = n->row ? n->row->cls->flags : 0;
    bool is_last = flags & DTP_OP_CHANNELS_LAST;
    for (int i = 0; i < n->nin; ++i) {
        if (n->in[i] < 0) continue;
        dtp_ir_value_t *v = &ir->values[n->in[i]];
        v->wants_last |= i == 0 && flags & DTP_OP_CHANNELS_LAST;
        if (flags & DTP_OP_KEEPS_ORDER) is_last |= v->is_last && dtp_info_nelems(v->info) > 1;
        if (!(flags & (DTP_OP_PIXELS_APART | DTP_OP_JOINS))) v->needs_dense = true;
    }
    for (int i = 0; i < n->nout; ++i) {
        const dnnl_tp_tensor_info_t *t = ir->values[n->out[i]].info;
        ir->values[n->out[i]].is_last =
            is_last && t->ndims > 2 && dtp_info_product(t, 2, t->ndims) > 1 && t->dims[1] > 1;
    }
}
