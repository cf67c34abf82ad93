/* Lowering of matmul: {rows, K} x constant weights in the layout that the implementation likes best, several
 * projections of one source side by side, and the general batched form over strided views. */
#include "exec/compile/lowering/lower.h"

typedef dnnl_tp_tensor_info_t info_t;

static dtp_ir_value_t *val(dtp_lower_t *l, int v) { return &l->ir->values[v]; }

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

static dnnl_tp_status_t pad_md(dtp_md_t *md, const info_t *t, const int64_t *strides, int nd) {
    int64_t dims[DNNL_TP_MAX_NDIMS], out[DNNL_TP_MAX_NDIMS], all = 1;
    int lead = nd - t->ndims;
    for (int d = 0; d < t->ndims; ++d) all *= dtp_max64(t->dims[d], 1);
    for (int d = 0; d < nd; ++d) {
        dims[d] = d < lead ? 1 : t->dims[d - lead];
        out[d] = d < lead ? all : strides[d - lead];
    }
    return dtp_md_init_strides(md, nd, dims, t->data_type, out);
}

/* A view that a matmul can read: one of the last two dims has stride 1. */
static dnnl_tp_status_t operand(dtp_lower_t *l, int v, bool is_weights, bool transposed, info_t *t,
                                int64_t *strides, dtp_step_arg_t *arg) {
    dtp_view_t p;
    DTP_TRY(dtp_view_any(l, v, &p));
    const info_t *info = val(l, v)->info;
    int n = info->ndims;
    bool ok = p.strides[n - 1] == 1 || info->dims[n - 1] == 1 || (n > 1 && p.strides[n - 2] == 1);
    if (!ok) DTP_TRY(dtp_view_dense(l, v, &p));
    as_matrix(info, p.strides, is_weights, transposed, t, strides);
    arg->buf = p.buf;
    arg->offset = p.offset;
    return dnnl_tp_success;
}

static dtp_packing_t *packing_of(dtp_lower_t *l, int nparts) {
    dtp_packing_t *p = dtp_arena_alloc(l->ir->arena, sizeof *p);
    if (p) p->nparts = nparts;
    return p;
}

static dnnl_tp_status_t pack_part(dtp_packing_t *p, int i, const dtp_ir_value_t *v, const int64_t dims[2],
                                  const int64_t strides[2]) {
    p->cid[i] = v->cid;
    p->data[i] = v->data;
    return dtp_md_init_strides(&p->src[i], 2, dims, v->info->data_type, strides);
}

/* Constant weights {K, N} or {N, K}, one or several: the layout is the implementation's choice. */
static dnnl_tp_status_t packed_weights(dtp_lower_t *l, const dtp_ir_node_t *n, dtp_step_t *s, int64_t k,
                                       int64_t cols) {
    dtp_matmul_desc_t *d = (dtp_matmul_desc_t *)s->op;
    const dnnl_tp_data_type_t dt = val(l, n->in[1])->info->data_type;
    s->work->packing = packing_of(l, n->nparts);
    if (!s->work->packing) return dnnl_tp_out_of_memory;
    for (int i = 0; i < n->nparts; ++i) {
        const dtp_ir_value_t *w = val(l, n->in[1 + i]);
        int64_t dense[DNNL_TP_MAX_NDIMS], strides[DNNL_TP_MAX_NDIMS];
        info_t t;
        dtp_dense_strides(w->info->ndims, w->info->dims, dense);
        as_matrix(w->info, dense, true, n->attrs->transpose_b, &t, strides);
        DTP_TRY(pack_part(s->work->packing, i, w, t.dims, strides));
    }
    int64_t dims[2] = {k, cols};
    DTP_TRY(dtp_md_init_tag(&d->wei, 2, dims, dt, dnnl_tp_format_tag_any));
    d->rows_vary = 1; /* packed once, whatever the shapes that are compiled */
    DTP_TRY(dtp_new_buf(l, 0, &s->arg[DTP_MATMUL_WEI].buf));
    l->bufs[s->arg[DTP_MATMUL_WEI].buf].kind = DTP_BUF_CONST;
    return dnnl_tp_success;
}

static dnnl_tp_status_t add_bias(dtp_lower_t *l, const dtp_ir_node_t *n, dtp_step_t *s, int nd,
                                 int64_t cols) {
    dtp_matmul_desc_t *d = (dtp_matmul_desc_t *)s->op;
    const int *bias = n->in + 1 + n->nparts;
    if (n->nin <= 1 + n->nparts || bias[0] < 0) return dnnl_tp_success;
    int64_t dims[DNNL_TP_MAX_NDIMS], one[2];
    for (int i = 0; i < nd; ++i) dims[i] = i == nd - 1 ? cols : 1;
    DTP_TRY(dtp_md_init_strides(&d->bia, nd, dims, val(l, bias[0])->info->data_type, NULL));
    if (n->nparts == 1) {
        dtp_view_t p;
        DTP_TRY(dtp_view_dense(l, bias[0], &p));
        s->arg[DTP_MATMUL_BIA] = (dtp_step_arg_t){.buf = p.buf, .offset = p.offset};
        return dnnl_tp_success;
    }
    s->work->bias_packing = packing_of(l, n->nparts);
    if (!s->work->bias_packing) return dnnl_tp_out_of_memory;
    for (int i = 0; i < n->nparts; ++i) {
        const dtp_ir_value_t *b = val(l, bias[i]);
        int64_t strides[2] = {dtp_max64(b->info->dims[0], 1), 1};
        one[0] = 1;
        one[1] = b->info->dims[0];
        DTP_TRY(pack_part(s->work->bias_packing, i, b, one, strides));
    }
    DTP_TRY(dtp_new_buf(l, 0, &s->arg[DTP_MATMUL_BIA].buf));
    l->bufs[s->arg[DTP_MATMUL_BIA].buf].kind = DTP_BUF_CONST;
    return dnnl_tp_success;
}

/* One buffer for all parts; each result is a window of its columns. */
static dnnl_tp_status_t view_parts(dtp_lower_t *l, const dtp_ir_node_t *n, int64_t rows, int64_t cols,
                                   int *buf) {
    size_t size = dtp_type_size(val(l, n->out[0])->info->data_type);
    DTP_TRY(dtp_new_buf(l, (size_t)(rows * cols) * size, buf));
    int64_t at = 0;
    for (int i = 0; i < n->nparts; ++i) {
        const info_t *t = val(l, n->out[i])->info;
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
                             dtp_step_arg_t wei, dtp_step_t **step) {
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
    bool constant = true;
    for (int i = 0; i < n->nparts; ++i) constant &= dtp_ir_is_const(l->ir, n->in[1 + i]);
    if (n->nparts > 1) {
        cols = 0;
        for (int i = 0; i < n->nparts; ++i) {
            const info_t *t = val(l, n->out[i])->info;
            cols += t->dims[t->ndims - 1];
        }
    }
    dtp_step_t *s;
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_matmul_desc_t), dnnl_tp_matmul, DTP_MATMUL_NARGS, &s));
    dtp_matmul_desc_t *d = (dtp_matmul_desc_t *)s->op;
    DTP_TRY(dtp_md_init_strides(&d->src, 2, dims, a->data_type, strides));
    s->arg[DTP_MATMUL_SRC] = src;
    if (constant && l->ir->fuse && rows > 0 && k > 0) {
        DTP_TRY(packed_weights(l, n, s, k, cols));
    } else {
        DTP_TRY(dtp_md_init_strides(&d->wei, 2, b->dims, b->data_type, b_strides));
        s->arg[DTP_MATMUL_WEI] = wei;
    }
    DTP_TRY(add_bias(l, n, s, 2, cols));
    int buf;
    if (n->nparts > 1) {
        DTP_TRY(view_parts(l, n, rows, cols, &buf));
    } else {
        DTP_TRY(dtp_view_new(l, n->out[0]));
        buf = val(l, n->out[0])->buf;
    }
    s->arg[DTP_MATMUL_DST] = (dtp_step_arg_t){.buf = buf, .written = true};
    int64_t out[2] = {rows, cols};
    DTP_TRY(dtp_md_init_strides(&d->dst, 2, out, a->data_type, NULL));
    s->work->flops = 2. * (double)rows * (double)k * (double)cols;
    s->work->bytes = 4. * ((double)rows * (double)(k + cols) + (double)k * (double)cols);
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
    DTP_TRY(pad_md(&d->src, a, a_strides, nd));
    DTP_TRY(pad_md(&d->wei, b, b_strides, nd));
    s->arg[DTP_MATMUL_SRC] = src;
    s->arg[DTP_MATMUL_WEI] = wei;
    int64_t cols = b->dims[b->ndims - 1], out[DNNL_TP_MAX_NDIMS], count = 1;
    for (int i = 0; i < nd - 2; ++i) out[i] = d->src.dims[i] == 1 ? d->wei.dims[i] : d->src.dims[i];
    out[nd - 2] = a->dims[a->ndims - 2];
    out[nd - 1] = cols;
    for (int i = 0; i < nd; ++i) count *= out[i];
    DTP_TRY(add_bias(l, n, s, nd, cols));
    DTP_TRY(dtp_view_new(l, n->out[0]));
    s->arg[DTP_MATMUL_DST] = (dtp_step_arg_t){.buf = val(l, n->out[0])->buf, .written = true};
    DTP_TRY(dtp_md_init_strides(&d->dst, nd, out, a->data_type, NULL));
    s->work->flops = 2. * (double)count * (double)a->dims[a->ndims - 1];
    s->work->bytes = 4. * (double)(count + dtp_info_nelems(a) + dtp_info_nelems(b));
    *step = s;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_lower_matmul(dtp_lower_t *l, dtp_ir_node_t *n) {
    info_t a, b;
    int64_t a_strides[DNNL_TP_MAX_NDIMS], b_strides[DNNL_TP_MAX_NDIMS];
    dtp_step_arg_t src = {.buf = -1}, wei = {.buf = -1};
    if (n->nparts == 0) n->nparts = 1;
    DTP_TRY(operand(l, n->in[0], false, n->attrs->transpose_a, &a, a_strides, &src));
    DTP_TRY(operand(l, n->in[1], true, n->attrs->transpose_b, &b, b_strides, &wei));
    dtp_step_t *s;
    if (b.ndims == 2 && (a.ndims == 2 || !n->attrs->transpose_a))
        DTP_TRY(flat(l, n, &a, a_strides, src, &b, b_strides, wei, &s));
    else DTP_TRY(batched(l, n, &a, a_strides, src, &b, b_strides, wei, &s));
    return dtp_add_post_ops(l, s, n, &((dtp_matmul_desc_t *)s->op)->dst);
}
