/* Products of matrices: {rows, K} x constant weights in the layout that the implementation likes best, several
 * projections of one source side by side, and the general batched form over strided views. */
#include "exec/ops/ops.h"

DTP_ATTR(transpose_a, 101) /**< 1: transposes the last two dimensions of the first input (bool) */
DTP_ATTR(transpose_b, 102) /**< the same for the second input (bool) */

static dnnl_tp_status_t matmul_infer(const dtp_infer_t *c) {
    const dtp_matmul_attrs_t *at = c->attrs;
    const info_t *a = c->in[0], *b = c->in[1];
    char ta[DTP_SHAPE_TEXT], tb[DTP_SHAPE_TEXT];
    TYPE((dtp_is_float(a->data_type) || a->data_type == dnnl_tp_s64 || a->data_type == dnnl_tp_s32) &&
             a->data_type == b->data_type,
         "src has type %s, weights %s", dnnl_tp_dt2str(a->data_type), dnnl_tp_dt2str(b->data_type));
    SHAPE(a->ndims >= 1 && b->ndims >= 1, "src %s and weights %s need at least one dimension",
          dtp_info_text(a, ta), dtp_info_text(b, tb));
    /* One dimension: a row for src, a column for weights; it does not appear in the result. */
    int na = a->ndims < 2 ? 2 : a->ndims, nb = b->ndims < 2 ? 2 : b->ndims;
    int64_t m = a->ndims < 2 ? 1 : a->dims[na - (at->transpose_a ? 1 : 2)];
    int64_t ka = a->ndims < 2 ? a->dims[0] : a->dims[na - (at->transpose_a ? 2 : 1)];
    int64_t kb = b->ndims < 2 ? b->dims[0] : b->dims[nb - (at->transpose_b ? 1 : 2)];
    int64_t n = b->ndims < 2 ? 1 : b->dims[nb - (at->transpose_b ? 2 : 1)];
    SHAPE(dtp_dims_fit(ka, kb), "src %s%s and weights %s%s differ in the dimension that is summed",
          dtp_info_text(a, ta), at->transpose_a ? " transposed" : "", dtp_info_text(b, tb),
          at->transpose_b ? " transposed" : "");
    info_t *o = c->out;
    o->data_type = a->data_type;
    int nd = na > nb ? na : nb, k = 0;
    for (int d = 0; d < nd - 2; ++d) {
        int da = d - (nd - na), db = d - (nd - nb);
        int64_t x = da < 0 ? 1 : a->dims[da], y = db < 0 ? 1 : b->dims[db];
        SHAPE(dtp_dims_fit(x, y) || x == 1 || y == 1,
              "batch dimensions of src %s and weights %s do not broadcast", dtp_info_text(a, ta),
              dtp_info_text(b, tb));
        o->dims[k++] = x == 1 ? y : y == 1 || y == DNNL_TP_RUNTIME_DIM_VAL ? x : y;
    }
    if (a->ndims > 1) o->dims[k++] = m;
    if (b->ndims > 1) o->dims[k++] = n;
    o->ndims = k;
    if (c->nin == 3) {
        const info_t *bias = c->in[2];
        TYPE(bias->data_type == a->data_type, "bias has type %s, src %s", dnnl_tp_dt2str(bias->data_type),
             dnnl_tp_dt2str(a->data_type));
        SHAPE(b->ndims > 1 && bias->ndims == 1 && dtp_dims_fit(bias->dims[0], n),
              "bias %s does not fit the columns of weights %s", dtp_info_text(bias, ta),
              dtp_info_text(b, tb));
    }
    return dnnl_tp_success;
}

/* Shape and strides with at least two dims: a vector is a row of src, a column of the weights. */
static void as_matrix(const info_t *t, const int64_t *strides, bool is_weights, bool transposed, info_t *out,
                      int64_t *out_strides) {
    *out = *t;
    memcpy(out_strides, strides, sizeof(int64_t) * DNNL_TP_MAX_NDIMS);
    if (t->ndims == 1) {
        int64_t k = t->dims[0];
        out->ndims = 2;
        out->dims[0] = is_weights ? k : 1;
        out->dims[1] = is_weights ? 1 : k;
        out_strides[0] = is_weights ? strides[0] : dtp_max64(k, 1);
        out_strides[1] = is_weights ? 1 : strides[0];
    } else if (transposed) {
        int r = t->ndims - 2, c = t->ndims - 1;
        out->dims[r] = t->dims[c];
        out->dims[c] = t->dims[r];
        out_strides[r] = strides[c];
        out_strides[c] = strides[r];
    }
}

/* Images as rows, as they lie: *channels of them if these are innermost, and there is more than one pixel; else 0. */
static dnnl_tp_status_t image_rows(dtp_lower_t *l, const dtp_ir_node_t *n, info_t *t, int64_t *strides,
                                   dtp_step_arg_t *arg, int64_t *channels) {
    const int v = n->in[0];
    const info_t *x = dtp_info(l, v);
    dtp_dim_order_t order;
    dtp_view_t p;
    DTP_TRY(dtp_view_any(l, v, &p));
    dtp_order_channels_last(x->ndims, &order);
    const bool is_last =
        dtp_packable(l, n, 1) && dtp_info_nelems(x) > 0 && dtp_is_dense_in(x, p.strides, &order);
    if (!is_last) DTP_TRY(dtp_view_dense(l, v, &p));
    *t = (info_t){.ndims = 2, .data_type = x->data_type};
    t->dims[0] = x->dims[0];
    t->dims[1] = strides[0] = dtp_info_product(x, 1, x->ndims);
    strides[1] = 1;
    *channels = is_last && x->dims[1] > 1 && x->dims[1] < t->dims[1] ? x->dims[1] : 0;
    *arg = dtp_view_arg(&p);
    return dnnl_tp_success;
}

/* A view that a matmul can read: one of the last two dims has stride 1. */
static dnnl_tp_status_t operand(dtp_lower_t *l, int v, bool is_weights, bool transposed, info_t *t,
                                int64_t *strides, dtp_step_arg_t *arg) {
    dtp_view_t p;
    DTP_TRY(dtp_view_any(l, v, &p));
    const info_t *info = dtp_info(l, v);
    int n = info->ndims;
    bool ok = p.strides[n - 1] == 1 || info->dims[n - 1] == 1 || (n > 1 && p.strides[n - 2] == 1);
    if (!ok) DTP_TRY(dtp_view_dense(l, v, &p));
    as_matrix(info, p.strides, is_weights, transposed, t, strides);
    arg->buf = p.buf;
    arg->offset = p.offset;
    return dnnl_tp_success;
}

static dnnl_tp_status_t pack_part(dtp_packing_t *p, int i, const dtp_ir_value_t *v, const int64_t dims[2],
                                  const int64_t strides[2]) {
    p->part[i].cid = v->cid;
    p->part[i].data = v->data;
    return dtp_md_init_strides(&p->part[i].src, 2, dims, v->info->data_type, strides);
}

/* Constant weights {K, N} or {N, K}, one or several: the layout is the implementation's choice. channels: of the images that
 * it reads as they lie, channels innermost; 0: rows of src are as the weights expect them. */
static dnnl_tp_status_t packed_weights(dtp_lower_t *l, const dtp_ir_node_t *n, dtp_step_t *s, int64_t k,
                                       int64_t cols, int64_t channels) {
    dtp_matmul_desc_t *d = (dtp_matmul_desc_t *)s->op;
    dtp_packing_t *packing;
    DTP_TRY(dtp_pack_arg(l, s, DTP_MATMUL_WEI, n->nparts, &packing));
    for (int i = 0; i < n->nparts; ++i) {
        const dtp_ir_value_t *w = dtp_value(l, n->in[1 + i]);
        int64_t dense[DNNL_TP_MAX_NDIMS], strides[DNNL_TP_MAX_NDIMS];
        info_t t;
        dtp_dense_strides(w->info->ndims, w->info->dims, dense);
        as_matrix(w->info, dense, true, ((const dtp_matmul_attrs_t *)n->attrs)->transpose_b, &t, strides);
        DTP_TRY(pack_part(packing, i, w, t.dims, strides));
    }
    if (channels) {
        packing->role = DTP_PACK_PIXELS;
        packing->channels = channels;
    }
    int64_t dims[2] = {k, cols};
    DTP_TRY(dtp_md_init_tag(&d->wei, 2, dims, d->src.data_type, dnnl_tp_format_tag_any));
    d->rows_vary = 1; /* packed once, whatever the shapes that are compiled */
    return dnnl_tp_success;
}

static dnnl_tp_status_t add_bias(dtp_lower_t *l, const dtp_ir_node_t *n, dtp_step_t *s, int nd,
                                 int64_t cols) {
    dtp_matmul_desc_t *d = (dtp_matmul_desc_t *)s->op;
    const int *bias = n->in + 1 + n->nparts;
    if (n->nin <= 1 + n->nparts || bias[0] < 0) return dnnl_tp_success;
    int64_t dims[DNNL_TP_MAX_NDIMS], one[2];
    for (int i = 0; i < nd; ++i) dims[i] = i == nd - 1 ? cols : 1;
    DTP_TRY(dtp_md_init_strides(&d->bia, nd, dims, dtp_info(l, bias[0])->data_type, NULL));
    if (n->nparts == 1) {
        dtp_view_t p;
        DTP_TRY(dtp_view_dense(l, bias[0], &p));
        s->arg[DTP_MATMUL_BIA] = dtp_view_arg(&p);
        return dnnl_tp_success;
    }
    dtp_packing_t *packing;
    DTP_TRY(dtp_pack_arg(l, s, DTP_MATMUL_BIA, n->nparts, &packing));
    for (int i = 0; i < n->nparts; ++i) {
        const dtp_ir_value_t *b = dtp_value(l, bias[i]);
        int64_t strides[2] = {dtp_max64(b->info->dims[0], 1), 1};
        one[0] = 1;
        one[1] = b->info->dims[0];
        DTP_TRY(pack_part(packing, i, b, one, strides));
    }
    return dnnl_tp_success;
}

/* One buffer for all parts; each result is a window of its columns. */
static dnnl_tp_status_t view_parts(dtp_lower_t *l, const dtp_ir_node_t *n, int64_t rows, int64_t cols,
                                   int *buf) {
    size_t size = dtp_type_size(dtp_info(l, n->out[0])->data_type);
    DTP_TRY(dtp_new_buf(l, (size_t)(rows * cols) * size, buf));
    int64_t at = 0;
    for (int i = 0; i < n->nparts; ++i) {
        const info_t *t = dtp_info(l, n->out[i]);
        int64_t width = t->dims[t->ndims - 1], strides[DNNL_TP_MAX_NDIMS];
        dtp_dense_strides(t->ndims, t->dims, strides);
        for (int d = 0; d < t->ndims - 1; ++d) strides[d] = strides[d] / width * cols;
        DTP_TRY(dtp_view_set(l, n->out[i], *buf, at * (int64_t)size, strides));
        at += width;
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t flat(dtp_lower_t *l, dtp_ir_node_t *n, const info_t *a, const int64_t *a_strides,
                             dtp_step_arg_t src, const info_t *b, const int64_t *b_strides,
                             dtp_step_arg_t wei, int64_t channels, dtp_step_t **step) {
    int64_t dims[2], strides[2];
    if (!dtp_collapse(a, a_strides, a->ndims - 1, dims, strides)) {
        dtp_view_t p;
        DTP_TRY(dtp_view_dense(l, n->in[0], &p));
        src.buf = p.buf;
        src.offset = p.offset;
        int64_t dense[DNNL_TP_MAX_NDIMS];
        dtp_dense_strides(a->ndims, a->dims, dense);
        (void)dtp_collapse(a, dense, a->ndims - 1, dims, strides);
    }
    int64_t rows = dims[0], k = dims[1], cols = b->dims[1];
    bool packable = rows > 0 && k > 0 && dtp_packable(l, n, 1);
    for (int i = 1; i < n->nparts; ++i) packable &= dtp_ir_is_const(l->ir, n->in[1 + i]);
    if (n->nparts > 1) {
        cols = 0;
        for (int i = 0; i < n->nparts; ++i) {
            const info_t *t = dtp_info(l, n->out[i]);
            cols += t->dims[t->ndims - 1];
        }
    }
    dtp_step_t *s;
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_matmul_desc_t), dnnl_tp_matmul, DTP_MATMUL_NARGS, &s));
    dtp_matmul_desc_t *d = (dtp_matmul_desc_t *)s->op;
    DTP_TRY(dtp_md_init_strides(&d->src, 2, dims, a->data_type, strides));
    s->arg[DTP_MATMUL_SRC] = src;
    if (packable) {
        DTP_TRY(packed_weights(l, n, s, k, cols, channels));
    } else {
        DTP_TRY(dtp_md_init_strides(&d->wei, 2, b->dims, b->data_type, b_strides));
        s->arg[DTP_MATMUL_WEI] = wei;
        DTP_TRY(dtp_match_type(l, s, DTP_MATMUL_WEI, n->in[1], d->src.data_type, &d->wei));
    }
    DTP_TRY(add_bias(l, n, s, 2, cols));
    int buf;
    if (n->nparts > 1) {
        DTP_TRY(view_parts(l, n, rows, cols, &buf));
    } else {
        DTP_TRY(dtp_view_new(l, n->out[0]));
        buf = dtp_value(l, n->out[0])->buf;
    }
    s->arg[DTP_MATMUL_DST] = (dtp_step_arg_t){.buf = buf, .written = true};
    int64_t out[2] = {rows, cols};
    DTP_TRY(dtp_md_init_strides(&d->dst, 2, out, dtp_info(l, n->out[0])->data_type, NULL));
    *step = s;
    return dnnl_tp_success;
}

static dnnl_tp_status_t batched(dtp_lower_t *l, dtp_ir_node_t *n, const info_t *a, const int64_t *a_strides,
                                dtp_step_arg_t src, const info_t *b, const int64_t *b_strides,
                                dtp_step_arg_t wei, dtp_step_t **step) {
    int nd = a->ndims > b->ndims ? a->ndims : b->ndims;
    dtp_step_t *s;
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_matmul_desc_t), dnnl_tp_matmul, DTP_MATMUL_NARGS, &s));
    dtp_matmul_desc_t *d = (dtp_matmul_desc_t *)s->op;
    DTP_TRY(dtp_md_padded(&d->src, a, a_strides, nd));
    DTP_TRY(dtp_md_padded(&d->wei, b, b_strides, nd));
    s->arg[DTP_MATMUL_SRC] = src;
    s->arg[DTP_MATMUL_WEI] = wei;
    DTP_TRY(dtp_match_type(l, s, DTP_MATMUL_WEI, n->in[1], a->data_type, &d->wei));
    int64_t cols = b->dims[b->ndims - 1], out[DNNL_TP_MAX_NDIMS], count = 1;
    for (int i = 0; i < nd - 2; ++i) out[i] = d->src.dims[i] == 1 ? d->wei.dims[i] : d->src.dims[i];
    out[nd - 2] = a->dims[a->ndims - 2];
    out[nd - 1] = cols;
    for (int i = 0; i < nd; ++i) count *= out[i];
    DTP_TRY(add_bias(l, n, s, nd, cols));
    DTP_TRY(dtp_view_new(l, n->out[0]));
    s->arg[DTP_MATMUL_DST] = dtp_written_arg(l, n->out[0]);
    DTP_TRY(dtp_md_init_strides(&d->dst, nd, out, dtp_info(l, n->out[0])->data_type, NULL));
    *step = s;
    return dnnl_tp_success;
}

static dnnl_tp_status_t matmul_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    const dtp_matmul_attrs_t *at = n->attrs;
    info_t a, b;
    int64_t a_strides[DNNL_TP_MAX_NDIMS], b_strides[DNNL_TP_MAX_NDIMS];
    dtp_step_arg_t src = {.buf = -1}, wei = {.buf = -1};
    if (n->nparts == 0) n->nparts = 1;
    int64_t channels = 0;
    if (n->flattens) DTP_TRY(image_rows(l, n, &a, a_strides, &src, &channels));
    else DTP_TRY(operand(l, n->in[0], false, at->transpose_a, &a, a_strides, &src));
    DTP_TRY(operand(l, n->in[1], true, at->transpose_b, &b, b_strides, &wei));
    dtp_step_t *s;
    if (b.ndims == 2 && (a.ndims == 2 || !at->transpose_a))
        DTP_TRY(flat(l, n, &a, a_strides, src, &b, b_strides, wei, channels, &s));
    else DTP_TRY(batched(l, n, &a, a_strides, src, &b, b_strides, wei, &s));
    return dtp_add_post_ops(l, s, n, &((dtp_matmul_desc_t *)s->op)->dst);
}

static dtp_cut_t matmul_cut(const dtp_cut_arg_t *a) {
    if (a->dst->ndims > 2) return a->arg == DTP_MATMUL_BIA ? DTP_CUT_WHOLE : dtp_cut_by_dim(a);
    return a->arg == DTP_MATMUL_SRC || a->arg == DTP_MATMUL_DST ? DTP_CUT_SLICED : DTP_CUT_WHOLE;
}

static const dtp_op_field_t matmul_fields[] = {
    DTP_OPTIONAL(dtp_matmul_attrs_t, transpose_a, 0),
    DTP_OPTIONAL(dtp_matmul_attrs_t, transpose_b, 0),
};

const dtp_op_class_t dtp_class_matmul = DTP_OP_CLASS(
    dtp_matmul_attrs_t, DTP_FIELDS(matmul_fields), DTP_OP_PRODUCT | DTP_OP_OWN_TYPE, 1 << 1 /* the weights */,
    1 | 1 << 1, dtp_one_result, matmul_infer, DTP_NO_VALUES, matmul_lower, matmul_cut, DTP_NO_POST);
