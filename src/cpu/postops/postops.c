/* Chains of post-operations: checks and layouts at creation, a small interpreter at execution. See postops.h.
 */
#include "cpu/postops/postops.h"

/* Columns that are converted or broken up at a time; two such rows live on the stack. */
enum { PO_CHUNK = 256 };

/* ---- Creation ---------------------------------------------------------------------------------------- */

static void postops_resolve_any(dtp_md_t *md, const dtp_md_t *dst) {
    if (!dtp_md_is_any(md)) return;
    int wide = 0;
    bool full = !dtp_md_is_any(dst) && dtp_md_same_dims(md, dst) && !dtp_md_has_runtime(dst);
    for (int d = 0; d < md->ndims; ++d) wide += md->dims[d] != 1;
    if (wide > 1 && full) dtp_md_copy_layout(md, dst);
    else dtp_md_make_plain(md);
}

/* md as seen through dst's rows and columns, which are dim col. Row dims that walk md evenly are joined. */
static void postops_view(dtp_po_view_t *v, const dtp_md_t *md, const dtp_md_t *dst, int col) {
    v->nd = 0;
    v->dynamic = false;
    v->blocked = !dtp_md_is_plain(md);
    v->offset0 = md->offset0;
    v->col_stride = 0;
    if (v->blocked) return;
    if (md->dims[col] != 1) v->col_stride = md->strides[col];
    for (int d = 0; d < dst->ndims; ++d) {
        int64_t size = dst->dims[d], stride = md->dims[d] == 1 ? 0 : md->strides[d];
        if (size == 1 || d == col) continue;
        if (v->nd > 0 && v->stride[v->nd - 1] == stride * size) {
            v->size[v->nd - 1] *= size;
            v->stride[v->nd - 1] = stride;
        } else if (v->nd == DTP_PO_VIEW_DIMS) {
            v->blocked = true;
            return;
        } else {
            v->size[v->nd] = size;
            v->stride[v->nd++] = stride;
        }
    }
    if (v->nd == 1 && v->stride[0] == 0) v->nd = 0;
}

static int postops_add_view(dtp_postops_t *po, const dtp_md_t *md, const dtp_md_t *dst) {
    dtp_po_view_t *v = &po->view[po->nviews];
    bool row_dims = false; /* run-time row dims that md follows */
    for (int d = 0; d < dst->ndims; ++d)
        row_dims |= d != po->col_dim && dst->dims[d] == DNNL_TP_RUNTIME_DIM_VAL && dst->ndims > 2;
    if (dtp_md_has_runtime(md) || row_dims) {
        memset(v, 0, sizeof *v);
        v->dynamic = true;
    } else {
        postops_view(v, md, dst, po->col_dim);
    }
    return po->nviews++;
}

static dnnl_tp_status_t postops_init(dtp_postops_t *po, dtp_pd_t *pd, int dst_arg, int col_dim,
                                     unsigned isa) {
    dtp_post_ops_t *chain = pd->attr->post_ops;
    const dtp_md_t *dst = pd->args[dst_arg].md;
    po->len = po->nviews = 0;
    po->dst_arg = dst_arg;
    po->col_dim = col_dim;
    po->one_col = dst->dims[col_dim] == 1;
    po->vops = dtp_vops(isa);
    DTP_DISPATCH(chain->len <= DTP_MAX_POST_OPS, UNSUPPORTED_POST_OPS);
    for (int i = 0; i < chain->len; ++i) {
        dtp_post_op_t *e = &chain->entry[i];
        dtp_po_step_t *s = &po->step[i];
        memset(s, 0, sizeof *s);
        s->kind = e->kind;
        s->alg = e->alg;
        s->view = s->view2 = -1;
        switch (e->kind) {
        case dnnl_tp_eltwise:
            s->alpha = e->alpha;
            s->beta = e->beta;
            s->eltwise = dtp_vops_eltwise(po->vops, e->alg);
            DTP_DISPATCH(s->eltwise, UNSUPPORTED_POST_OPS);
            break;
        case dnnl_tp_binary: {
            s->binary = dtp_vops_binary(po->vops, e->alg);
            DTP_DISPATCH(s->binary, UNSUPPORTED_POST_OPS);
            DTP_DISPATCH(dtp_vops_takes(e->src1.data_type), UNSUPPORTED_DATA_TYPE);
            DTP_DISPATCH(e->src1.ndims == dst->ndims, UNSUPPORTED_POST_OPS);
            postops_resolve_any(&e->src1, dst);
            s->dt = e->src1.data_type;
            s->arg = pd->post_op_arg + 2 * i;
            s->view = postops_add_view(po, &e->src1, dst);
            if (e->alg == dnnl_tp_binary_select) {
                DTP_DISPATCH(e->src2.ndims == dst->ndims && e->src2.data_type == dnnl_tp_s8,
                             UNSUPPORTED_DATA_TYPE);
                postops_resolve_any(&e->src2, dst);
                s->arg2 = pd->post_op_arg + 2 * i + 1;
                DTP_DISPATCH(po->nviews < DTP_PO_MAX_VIEWS, UNSUPPORTED_POST_OPS);
                s->view2 = postops_add_view(po, &e->src2, dst);
            }
            break;
        }
        case dnnl_tp_prelu:
            s->binary = dtp_vops_binary(po->vops, DTP_ALG_prelu);
            s->dt = dnnl_tp_f32;
            s->arg = pd->post_op_arg + 2 * i;
            s->view = postops_add_view(po, &e->src1, dst);
            break;
        case dnnl_tp_sum:
            s->dt = e->sum_dt == dnnl_tp_data_type_undef ? dst->data_type : e->sum_dt;
            DTP_DISPATCH(dtp_vops_takes(s->dt), UNSUPPORTED_DATA_TYPE);
            DTP_DISPATCH(dtp_type_size(s->dt) == dtp_type_size(dst->data_type), UNSUPPORTED_DATA_TYPE);
            s->scale = e->scale;
            s->zero_point = (float)e->zero_point;
            s->arg = dst_arg;
            s->view = postops_add_view(po, dst, dst);
            break;
        default: DTP_DISPATCH(false, UNSUPPORTED_POST_OPS);
        }
        DTP_DISPATCH(po->nviews <= DTP_MAX_POST_OPS, UNSUPPORTED_POST_OPS);
    }
    po->len = chain->len;
    return dnnl_tp_success;
}

size_t dtp_postops_used(const dtp_postops_t *po) {
    return po->nviews ? offsetof(dtp_postops_t, view) + sizeof *po->view * (size_t)po->nviews
                      : offsetof(dtp_postops_t, step) + sizeof *po->step * (size_t)po->len;
}

dnnl_tp_status_t dtp_postops_init(dtp_postops_t *po, dtp_pd_t *pd, int dst_arg, unsigned isa) {
    return postops_init(po, pd, dst_arg, pd->args[dst_arg].md->ndims - 1, isa);
}

dnnl_tp_status_t dtp_postops_init_channels(dtp_postops_t *po, dtp_pd_t *pd, int dst_arg, unsigned isa) {
    return postops_init(po, pd, dst_arg, 1, isa);
}

bool dtp_postops_only_eltwise(const dtp_postops_t *po) {
    for (int i = 0; i < po->len; ++i)
        if (po->step[i].kind != dnnl_tp_eltwise) return false;
    return true;
}

dtp_po_simple_t dtp_postops_simple(const dtp_postops_t *po, int i) {
    const dtp_po_step_t *s = &po->step[i];
    dtp_po_simple_t r = {.arg = s->arg};
    if (s->kind == dnnl_tp_eltwise) {
        if (s->alg == dnnl_tp_eltwise_relu && s->alpha == 0.f) r.form = DTP_PO_FORM_RELU;
        if (s->alg == dnnl_tp_eltwise_clip || s->alg == dnnl_tp_eltwise_clip_v2) {
            r.form = DTP_PO_FORM_CLIP;
            r.floor = s->alpha;
            r.cap = s->beta;
        }
        return r;
    }
    const dtp_po_view_t *v = &po->view[s->view];
    if (v->dynamic || v->blocked || v->nd > 1) return r;
    /* One column is addressed by any column stride. */
    if (v->col_stride != 1 && !po->one_col) return r;
    r.row_stride = v->nd ? v->stride[0] : 0;
    r.offset0 = v->offset0;
    if (s->kind == dnnl_tp_binary && s->alg == dnnl_tp_binary_add)
        r.form = v->nd ? DTP_PO_FORM_ADD_TENSOR : DTP_PO_FORM_ADD_COLS;
    return r;
}

/* ---- Execution --------------------------------------------------------------------------------------- */

/* A row-by-row reader of one operand. */
typedef struct {
    const dtp_po_view_t *v;
    const dtp_md_t *md, *dst;
    int col_dim;
    const char *base;
    dtp_load_fn_t load;
    bool f32;
    int64_t size; /* of an element */
    int64_t pos[DNNL_TP_MAX_NDIMS];
    int64_t offset; /* of the row's first element, plain layouts */
} po_reader_t;

typedef struct {
    const dtp_pd_t *pd;
    const dtp_exec_ctx_t *ctx;
    float *tile;
    int64_t ld, rows, cols, row0, col0;
} po_tile_t;

/* room: used when the view depends on run-time dims. */
static void po_reader_start(po_reader_t *r, dtp_po_view_t *room, const dtp_postops_t *po, const po_tile_t *t,
                            int view, int arg, dnnl_tp_data_type_t dt) {
    int64_t row = t->row0;
    r->v = &po->view[view];
    r->dst = t->pd->args[po->dst_arg].md;
    r->col_dim = po->col_dim;
    r->md = t->pd->args[arg].md;
    if (r->v->dynamic) {
        r->dst = dtp_pd_arg_md(t->pd, t->ctx->md, po->dst_arg);
        r->md = dtp_pd_arg_md(t->pd, t->ctx->md, arg);
        postops_view(room, r->md, r->dst, r->col_dim);
        r->v = room;
    }
    r->base = t->ctx->ptr[arg];
    r->load = po->vops->load[dt];
    r->f32 = dt == dnnl_tp_f32;
    r->size = (int64_t)dtp_type_size(dt);
    r->offset = r->v->offset0;
    if (r->v->blocked) return;
    for (int d = r->v->nd - 1; d >= 0; --d) {
        r->pos[d] = d ? row % r->v->size[d] : row;
        if (d) row /= r->v->size[d];
        r->offset += r->pos[d] * r->v->stride[d];
    }
}

static void po_reader_next(po_reader_t *r) {
    for (int d = r->v->nd - 1; d >= 0; --d) {
        r->offset += r->v->stride[d];
        if (++r->pos[d] < r->v->size[d] || d == 0) return;
        r->offset -= r->pos[d] * r->v->stride[d];
        r->pos[d] = 0;
    }
}

/* Element offset in r->md of the broadcast image of a logical position of dst. */
static int64_t po_image(const po_reader_t *r, const int64_t *pos) {
    int64_t p[DNNL_TP_MAX_NDIMS];
    for (int d = 0; d < r->dst->ndims; ++d) p[d] = r->md->dims[d] == 1 ? 0 : pos[d];
    return dtp_md_offset(r->md, p);
}

static void po_position(const dtp_md_t *dst, int col_dim, int64_t row, int64_t col, int64_t *pos) {
    pos[col_dim] = col;
    for (int d = dst->ndims - 1; d >= 0; --d) {
        if (d == col_dim) continue;
        pos[d] = d ? row % dst->dims[d] : row;
        if (d) row /= dst->dims[d];
    }
}

/* n values of the row from column col as f32: in place where they are, or converted into room (PO_CHUNK). */
static const float *po_reader_row(const po_reader_t *r, float *room, int64_t row, int64_t col, int64_t n,
                                  int *step) {
    *step = 1;
    if (r->v->blocked) {
        int64_t pos[DNNL_TP_MAX_NDIMS];
        po_position(r->dst, r->col_dim, row, col, pos);
        for (int64_t j = 0; j < n; ++j, ++pos[r->col_dim])
            r->load(room + j, r->base + po_image(r, pos) * r->size, 1, 1);
        return room;
    }
    const char *p = r->base + (r->offset + col * r->v->col_stride) * r->size;
    *step = r->v->col_stride != 0;
    if (r->f32 && r->v->col_stride <= 1) return (const float *)p;
    r->load(room, p, *step ? n : 1, r->v->col_stride);
    return room;
}

/* True when the operand is an f32 matrix with even strides from this row on: the whole tile is one call. */
static bool po_reader_direct(const po_reader_t *r) {
    return r->f32 && !r->v->blocked && r->v->nd <= 1 && (r->v->col_stride == 0 || r->v->col_stride == 1);
}
static const float *po_reader_tile(const po_reader_t *r, int64_t col, int64_t *ld) {
    *ld = r->v->nd ? r->v->stride[0] : 0;
    return (const float *)(const void *)r->base + r->offset + col * r->v->col_stride;
}

static void po_binary(const dtp_postops_t *po, const dtp_po_step_t *s, const po_tile_t *t) {
    po_reader_t r, c;
    dtp_po_view_t room_r, room_c;
    po_reader_start(&r, &room_r, po, t, s->view, s->arg, s->dt);
    dtp_binary_args_t a = {.x0 = t->tile, .y = t->tile, .ld0 = t->ld, .ldy = t->ld, .cs0 = 1};
    bool select = s->view2 >= 0;
    if (!select && po_reader_direct(&r)) {
        a.rows = t->rows;
        a.cols = t->cols;
        a.x1 = po_reader_tile(&r, t->col0, &a.ld1);
        a.cs1 = r.v->col_stride != 0;
        s->binary(&a);
        return;
    }
    if (select) po_reader_start(&c, &room_c, po, t, s->view2, s->arg2, dnnl_tp_s8);
    float x1[PO_CHUNK], cond[PO_CHUNK];
    for (int64_t i = 0; i < t->rows; ++i) {
        for (int64_t j = 0; j < t->cols; j += PO_CHUNK) {
            a.rows = 1;
            a.cols = dtp_min64(PO_CHUNK, t->cols - j);
            a.x0 = a.y = t->tile + i * t->ld + j;
            a.x1 = po_reader_row(&r, x1, t->row0 + i, t->col0 + j, a.cols, &a.cs1);
            if (select) a.cond = po_reader_row(&c, cond, t->row0 + i, t->col0 + j, a.cols, &a.csc);
            s->binary(&a);
        }
        po_reader_next(&r);
        if (select) po_reader_next(&c);
    }
}

static void po_sum(const dtp_postops_t *po, const dtp_po_step_t *s, const po_tile_t *t) {
    po_reader_t r;
    dtp_po_view_t room;
    po_reader_start(&r, &room, po, t, s->view, s->arg, s->dt);
    if (po_reader_direct(&r) && (r.v->col_stride == 1 || t->cols == 1)) {
        int64_t ld;
        const float *y = po_reader_tile(&r, t->col0, &ld);
        po->vops->axpy(t->tile, t->ld, y, ld, t->rows, t->cols, s->scale, s->zero_point);
        return;
    }
    float x1[PO_CHUNK];
    for (int64_t i = 0; i < t->rows; ++i) {
        for (int64_t j = 0; j < t->cols; j += PO_CHUNK) {
            int64_t n = dtp_min64(PO_CHUNK, t->cols - j);
            int step;
            const float *y = po_reader_row(&r, x1, t->row0 + i, t->col0 + j, n, &step);
            po->vops->axpy(t->tile + i * t->ld + j, t->ld, y, n, 1, n, s->scale, s->zero_point);
        }
        po_reader_next(&r);
    }
}

void dtp_postops_apply(const dtp_postops_t *po, const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx, float *tile,
                       int64_t ld, int64_t rows, int64_t cols, int64_t row0, int64_t col0) {
    const po_tile_t t = {pd, ctx, tile, ld, rows, cols, row0, col0};
    if (rows <= 0 || cols <= 0) return;
    for (int i = 0; i < po->len; ++i) {
        const dtp_po_step_t *s = &po->step[i];
        if (s->eltwise) {
            dtp_eltwise_args_t a = {.x = tile,
                                    .y = tile,
                                    .ldx = ld,
                                    .ldy = ld,
                                    .rows = rows,
                                    .cols = cols,
                                    .alpha = s->alpha,
                                    .beta = s->beta};
            s->eltwise(&a);
        } else if (s->binary) {
            po_binary(po, s, &t);
        } else {
            po_sum(po, s, &t);
        }
    }
}

void dtp_postops_apply_linear(const dtp_postops_t *po, const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx,
                              float *x, int64_t n, int64_t index0) {
    const dtp_md_t *dst = dtp_pd_arg_md(pd, ctx->md, po->dst_arg);
    int64_t cols = dst->dims[dst->ndims - 1];
    while (n > 0) {
        int64_t row = index0 / cols, col = index0 % cols, rows = 1, take = dtp_min64(n, cols - col);
        if (take == cols) rows = n / cols;
        dtp_postops_apply(po, pd, ctx, x, take, rows, take, row, col);
        x += rows * take;
        n -= rows * take;
        index0 += rows * take;
    }
}
