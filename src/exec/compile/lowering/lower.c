/* Lowering of a graph to steps: buffers, views, graph outputs, creation of primitives. Operators: src/exec/ops.
 * Control flow: lower_control.c. */
#include "exec/compile/lowering/lower.h"

#include "common/problems/convolution.h"
#include "common/problems/norms/layer_normalization.h"
#include "common/problems/reorder.h"
#include "threading/base/parallel.h"

/* ---- Buffers and views ------------------------------------------------------------------------------- */

void dtp_dense_strides(int ndims, const int64_t *dims, int64_t *strides) {
    int64_t s = 1;
    for (int d = ndims - 1; d >= 0; --d) {
        strides[d] = s;
        s *= dtp_max64(dims[d], 1);
    }
}

bool dtp_view_is_dense(const dtp_ir_value_t *v) {
    int64_t s = 1;
    for (int d = v->info->ndims - 1; d >= 0 && v->strides; --d) {
        if (v->info->dims[d] == 0) return true;
        if (v->info->dims[d] != 1 && v->strides[d] != s) return false;
        s *= v->info->dims[d];
    }
    return true;
}

/* One dim of a collapsed range: false when the strides do not nest. A range of one element gets stride
 * `unit`. */
static bool merge(const int64_t *dims, const int64_t *strides, int from, int to, int64_t unit, int64_t *dim,
                  int64_t *stride) {
    *dim = 1;
    *stride = unit;
    for (int d = to - 1; d >= from; --d) {
        if (dims[d] != 1) {
            if (*dim == 1) *stride = strides[d];
            else if (strides[d] != *stride * *dim) return false;
        }
        *dim *= dims[d];
    }
    return true;
}

bool dtp_collapse(const dnnl_tp_tensor_info_t *info, const int64_t *strides, int split, int64_t dims[2],
                  int64_t out[2]) {
    if (!merge(info->dims, strides, split, info->ndims, 1, &dims[1], &out[1])) return false;
    return merge(info->dims, strides, 0, split, dtp_max64(dims[1], 1), &dims[0], &out[0]);
}

dnnl_tp_status_t dtp_new_buf(dtp_lower_t *lower, size_t bytes, int *buf) {
    DTP_TRY(dtp_arena_grow(lower->ir->arena, (void **)&lower->bufs, &lower->cap_bufs, lower->nbufs + 1,
                           sizeof *lower->bufs));
    dtp_buf_t *b = &lower->bufs[lower->nbufs];
    memset(b, 0, sizeof *b);
    b->bytes = bytes;
    b->scope = lower->scope;
    b->first = b->last = -1;
    b->slice_group = -1;
    *buf = lower->nbufs++;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_view_set(dtp_lower_t *lower, int v, int buf, int64_t offset, const int64_t *strides) {
    dtp_ir_value_t *value = &lower->ir->values[v];
    int64_t *copy = NULL;
    if (strides && value->info->ndims) {
        const size_t bytes = sizeof *copy * (size_t)value->info->ndims;
        copy = dtp_arena_alloc(lower->ir->arena, bytes);
        if (!copy) return dnnl_tp_out_of_memory;
        memcpy(copy, strides, bytes);
    }
    value->buf = buf;
    value->offset = offset;
    value->strides = copy;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_view_new(dtp_lower_t *lower, int v) {
    dtp_ir_value_t *value = &lower->ir->values[v];
    value->offset = 0;
    value->strides = NULL;
    if (value->dest < 0) return dtp_new_buf(lower, dtp_info_bytes(value->info), &value->buf);
    value->buf = value->dest;
    return dnnl_tp_success;
}

void dtp_want(dtp_lower_t *lower, int v, int region, int buf) {
    const dtp_ir_t *ir = lower->ir;
    for (;;) {
        dtp_ir_value_t *value = &ir->values[v];
        if (value->region != region || value->node < 0 || value->dest >= 0) return;
        value->dest = buf;
        const dtp_ir_node_t *n = &ir->nodes[value->node];
        if (n->dead || !n->row || !(n->row->cls->flags & DTP_OP_SAME_ELEMENTS)) return;
        v = n->in[0];
    }
}

/* Inputs and constants get their buffers when they are first looked at. */
static dnnl_tp_status_t ensure_view(dtp_lower_t *lower, int v) {
    dtp_ir_value_t *value = &lower->ir->values[v];
    if (value->buf >= 0) return dnnl_tp_success;
    value->offset = 0;
    value->strides = NULL;
    DTP_TRY(dtp_new_buf(lower, dtp_info_bytes(value->info), &value->buf));
    dtp_buf_t *b = &lower->bufs[value->buf];
    if (dtp_ir_is_const(lower->ir, v)) {
        b->kind = DTP_BUF_CONST;
        b->data = value->data;
    } else {
        b->kind = DTP_BUF_INPUT;
        b->index = value->input;
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t view_md(dtp_md_t *md, const dnnl_tp_tensor_info_t *info, const int64_t *strides) {
    static const int64_t one = 1;
    if (info->ndims == 0) return dtp_md_init_strides(md, 1, &one, info->data_type, NULL);
    return dtp_md_init_strides(md, info->ndims, info->dims, info->data_type, strides);
}

dnnl_tp_status_t dtp_view_any(dtp_lower_t *lower, int v, dtp_view_t *view) {
    DTP_TRY(ensure_view(lower, v));
    const dtp_ir_value_t *value = &lower->ir->values[v];
    view->buf = value->buf;
    view->offset = value->offset;
    if (!value->strides) dtp_dense_strides(value->info->ndims, value->info->dims, view->strides);
    else memcpy(view->strides, value->strides, sizeof *value->strides * (size_t)value->info->ndims);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_copy_view(dtp_lower_t *lower, int v, const int64_t *strides, int buf) {
    const dtp_ir_value_t *value = &lower->ir->values[v];
    dtp_step_t *s;
    DTP_TRY(ensure_view(lower, v));
    const dtp_ir_node_t *n = value->node >= 0 ? &lower->ir->nodes[value->node] : NULL;
    DTP_TRY(dtp_new_step(lower, n, sizeof(dtp_reorder_desc_t), dnnl_tp_reorder, DTP_REORDER_NARGS, &s));
    dtp_reorder_desc_t *d = (dtp_reorder_desc_t *)s->op;
    DTP_TRY(view_md(&d->src, value->info, value->strides));
    DTP_TRY(view_md(&d->dst, value->info, strides));
    s->arg[DTP_REORDER_SRC] = (dtp_step_arg_t){.buf = value->buf, .offset = value->offset};
    s->arg[DTP_REORDER_DST] = (dtp_step_arg_t){.buf = buf, .written = true};
    s->work->cut = dtp_cut_all;
    return dnnl_tp_success;
}

/* A copy in a buffer of its own, which the open blocks know. */
static dnnl_tp_status_t keep_copy(dtp_lower_t *lower, int v, const int64_t *strides, int *buf) {
    DTP_TRY(dtp_arena_grow(lower->ir->arena, (void **)&lower->dense, &lower->cap_dense, lower->ndense + 1,
                           sizeof *lower->dense));
    DTP_TRY(dtp_new_buf(lower, dtp_info_bytes(lower->ir->values[v].info), buf));
    lower->dense[lower->ndense++] = v;
    return dtp_copy_view(lower, v, strides, *buf);
}

/* Where v is, dense. */
static dnnl_tp_status_t dense_arg(dtp_lower_t *lower, int v, dtp_step_arg_t *arg) {
    DTP_TRY(ensure_view(lower, v));
    dtp_ir_value_t *value = &lower->ir->values[v];
    bool is_dense = dtp_view_is_dense(value);
    if (!is_dense && value->dense_buf < 0) DTP_TRY(keep_copy(lower, v, NULL, &value->dense_buf));
    *arg = (dtp_step_arg_t){.buf = is_dense ? value->buf : value->dense_buf,
                            .offset = is_dense ? value->offset : 0};
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_view_dense(dtp_lower_t *lower, int v, dtp_view_t *view) {
    dtp_step_arg_t at;
    DTP_TRY(dense_arg(lower, v, &at));
    const dnnl_tp_tensor_info_t *info = lower->ir->values[v].info;
    view->buf = at.buf;
    view->offset = at.offset;
    dtp_dense_strides(info->ndims, info->dims, view->strides);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_view_in(dtp_lower_t *lower, int v, const dtp_dim_order_t *order, dtp_view_t *view) {
    dtp_ir_value_t *value = &lower->ir->values[v];
    DTP_TRY(dtp_view_any(lower, v, view));
    if (dtp_is_dense_in(value->info, view->strides, order) || dtp_info_nelems(value->info) == 0)
        return dnnl_tp_success;
    dtp_order_strides(value->info, order, view->strides);
    if (value->last_buf < 0) DTP_TRY(keep_copy(lower, v, view->strides, &value->last_buf));
    view->buf = value->last_buf;
    view->offset = 0;
    return dnnl_tp_success;
}

int dtp_block_begin(const dtp_lower_t *lower) { return lower->ndense; }

void dtp_block_end(dtp_lower_t *lower, int mark) {
    while (lower->ndense > mark) {
        dtp_ir_value_t *value = &lower->ir->values[lower->dense[--lower->ndense]];
        value->dense_buf = value->last_buf = -1;
    }
}

/* ---- Steps ------------------------------------------------------------------------------------------- */

dnnl_tp_status_t dtp_new_step(dtp_lower_t *lower, const dtp_ir_node_t *node, size_t op_size, int kind,
                              int nargs, dtp_step_t **step) {
    dtp_arena_t *arena = lower->ir->arena;
    DTP_TRY(dtp_arena_grow(arena, (void **)&lower->steps, &lower->cap_steps, lower->nsteps + 1,
                           sizeof *lower->steps));
    static const dtp_work_t none;
    const bool is_host = !op_size && node && node->host;
    dtp_step_t *s = dtp_arena_take(arena, sizeof *s + sizeof *s->arg * (size_t)nargs);
    if (!s) return dnnl_tp_out_of_memory;
    *s = (dtp_step_t){.name = node ? node->name : "",
                      .kind = node ? node->row ? node->row->name : "host" : "copy",
                      .other = -1,
                      .scope = lower->scope,
                      .slice_group = -1,
                      .nargs = nargs,
                      .arg = (dtp_step_arg_t *)(void *)(s + 1),
                      .work = (dtp_work_t *)(uintptr_t)&none};
    for (int i = 0; i < nargs; ++i) s->arg[i] = (dtp_step_arg_t){.buf = -1};
    if (!is_host) {
        s->work = dtp_arena_alloc(arena, sizeof *s->work);
        s->op = op_size ? dtp_arena_alloc(arena, op_size) : NULL;
        if (!s->work || (op_size && !s->op)) return dnnl_tp_out_of_memory;
        s->work->fused = node ? node->fused : NULL;
        s->work->cut = node && node->row ? node->row->cls->cut : NULL;
        s->work->op_size = op_size;
        if (s->op) s->op->kind = (dnnl_tp_primitive_kind_t)kind;
    }
    lower->steps[lower->nsteps++] = s;
    lower->nproblems += op_size > 0;
    lower->nhosts += is_host;
    lower->nhost_refs += is_host ? nargs : 0;
    *step = s;
    return dnnl_tp_success;
}

/* Scales the leading dim of a plain descriptor to units of total. */
static void cut(const dtp_md_t *md, int64_t units, int64_t total) {
    dtp_md_t *m = (dtp_md_t *)(uintptr_t)md;
    m->dims[0] = m->dims[0] / total * units;
    m->padded_dims[0] = m->dims[0];
}

static bool same_post_op(const dtp_work_t *a, const dtp_work_t *b, int i) {
    const dtp_ir_post_t *p = &a->post[i], *q = &b->post[i];
    return p->is_binary == q->is_binary && p->alg == q->alg && p->alpha == q->alpha && p->beta == q->beta &&
           !memcmp(&a->post_md[i], &b->post_md[i], sizeof(dtp_md_t));
}

/* An earlier step with the same problem: a transformer's layers differ in their pointers only. */
static const dtp_step_t *twin_of(const dtp_lower_t *lower, const dtp_step_t *step,
                                 const dtp_made_for_t *made_for, int slot) {
    const dtp_work_t *w = step->work;
    for (int i = 0; i < lower->nsteps && lower->steps[i] != step; ++i) {
        const dtp_step_t *o = lower->steps[i];
        const dtp_made_for_t *m = &o->work->made_for[slot];
        if (!o->work->prim[slot] || o->work->op_size != w->op_size || o->work->npost != w->npost ||
            m->units != made_for->units || m->total != made_for->total ||
            m->num_threads != made_for->num_threads || memcmp(o->op, step->op, w->op_size))
            continue;
        bool same = true;
        for (int k = 0; k < w->npost && same; ++k) same = same_post_op(o->work, w, k);
        /* Parts of them differ in what is cut, too. */
        const int nargs = made_for->total ? step->nargs + step->npost_args : 0;
        for (int k = 0; k < nargs && same; ++k) same = o->arg[k].sliced == step->arg[k].sliced;
        if (same) return o;
    }
    return NULL;
}

static dnnl_tp_status_t make_attr(const dtp_step_t *step, const dtp_made_for_t *made_for,
                                  dnnl_tp_primitive_attr_t *attr) {
    DTP_TRY(dnnl_tp_primitive_attr_create(attr));
    (*attr)->num_threads = made_for->num_threads;
    if (step->work->npost == 0) return dnnl_tp_success;
    dnnl_tp_post_ops_t po;
    dnnl_tp_status_t status = dnnl_tp_post_ops_create(&po);
    if (status != dnnl_tp_success) return status;
    for (int i = 0; i < step->work->npost && status == dnnl_tp_success; ++i) {
        const dtp_ir_post_t *p = &step->work->post[i];
        if (p->is_binary) {
            dtp_md_t md = step->work->post_md[i];
            if (made_for->total && step->arg[step->nargs + 2 * i].sliced)
                cut(&md, made_for->units, made_for->total);
            status = dtp_post_ops_append_binary(po, p->alg, &md, NULL);
        } else {
            status = dnnl_tp_post_ops_append_eltwise(po, p->alg, p->alpha, p->beta);
        }
    }
    if (status == dnnl_tp_success) status = dnnl_tp_primitive_attr_set_post_ops(*attr, po);
    (void)dnnl_tp_post_ops_destroy(po);
    return status;
}

/* Of two primitives the second reads packed constants as the first does. */
static void read_alike(const dtp_step_t *step, dtp_op_desc_t *op) {
    for (const dtp_packing_t *p = step->work->packing; p; p = p->next) {
        if (p->arg >= step->nargs) continue;
        const dtp_md_t *from = dtp_step_md(step, step->work->prim[0]->pd->op, p->arg);
        memcpy((void *)(uintptr_t)dtp_step_md(step, op, p->arg), from, sizeof *from);
    }
    const dtp_pd_t *first = step->work->prim[0]->pd;
    if (first->info->follow) first->info->follow(op, first->op);
}

static dnnl_tp_status_t create(dtp_lower_t *lower, const dtp_step_t *step, const dtp_made_for_t *made_for,
                               int slot, dtp_primitive_t **primitive) {
    const int64_t units = made_for->units, total = made_for->total;
    dtp_op_desc_t *op = step->op;
    dnnl_tp_primitive_attr_t attr = NULL;
    dnnl_tp_primitive_desc_t pd = NULL;
    if (total && units != total) {
        op = dtp_arena_alloc(lower->ir->arena, step->work->op_size);
        if (!op) return dnnl_tp_out_of_memory;
        memcpy(op, step->op, step->work->op_size);
        dtp_pd_arg_t args[DTP_GRAPH_MAX_ARGS + DTP_LNORM_NARGS];
        const dtp_op_info_t *info = dtp_op_info(op->kind);
        int n = dtp_op_args(info, op, args);
        for (int i = 0; i < n && i < step->nargs; ++i)
            if (step->arg[i].sliced && args[i].md && !dtp_md_is_zero(args[i].md))
                cut(args[i].md, units, total);
        if (info->cut) info->cut(op, units, total);
        if (slot) read_alike(step, op);
    }
    dnnl_tp_status_t status = make_attr(step, made_for, &attr);
    if (status == dnnl_tp_success) {
        attr->refuse_reference = lower->refuse_reference;
        if (lower->tf32) attr->fpmath_mode = dnnl_tp_fpmath_mode_tf32;
        status = dtp_pd_create(&pd, lower->engine, op, step->work->op_size, attr);
    }
    if (status == dnnl_tp_success) status = dtp_primitive_create_of(primitive, pd);
    if (attr) (void)dnnl_tp_primitive_attr_destroy(attr);
    return status;
}

dnnl_tp_status_t dtp_step_create(dtp_lower_t *lower, dtp_step_t *step, int64_t units, int64_t total,
                                 int num_threads, int slot) {
    const dtp_made_for_t made_for = {units, total, num_threads};
    const dtp_step_t *twin = twin_of(lower, step, &made_for, slot);
    dtp_primitive_t *p = twin ? dtp_object_retain(twin->work->prim[slot]) : NULL;
    dnnl_tp_status_t status = twin ? dnnl_tp_success : create(lower, step, &made_for, slot, &p);
    if (status == dnnl_tp_unimplemented || status == dnnl_tp_invalid_arguments)
        return dtp_fail(status, dtp_last_reason(), "operator '%s' (%s): %s", step->name, step->kind,
                        dtp_last_detail());
    if (status == dnnl_tp_success) {
        dtp_object_release(step->work->prim[slot]); /* made for a question about it */
        step->work->prim[slot] = p;
        step->work->made_for[slot] = made_for;
    }
    return status;
}

/* ---- Operators --------------------------------------------------------------------------------------- */

dnnl_tp_status_t dtp_md_dense2(dtp_md_t *md, int64_t rows, int64_t cols, dnnl_tp_data_type_t dt) {
    int64_t dims[2] = {rows, cols}, strides[2] = {dtp_max64(cols, 1), 1};
    return dtp_md_init_strides(md, 2, dims, dt, strides);
}

dnnl_tp_status_t dtp_md_padded(dtp_md_t *md, const dnnl_tp_tensor_info_t *t, const int64_t *strides, int nd) {
    int64_t dims[DNNL_TP_MAX_NDIMS], out[DNNL_TP_MAX_NDIMS], all = 1;
    const int lead = nd - t->ndims;
    for (int d = 0; d < t->ndims; ++d) all *= dtp_max64(t->dims[d], 1);
    for (int d = 0; d < nd; ++d) {
        dims[d] = d < lead ? 1 : t->dims[d - lead];
        out[d] = d < lead ? all : strides[d - lead];
    }
    return dtp_md_init_strides(md, nd, dims, t->data_type, out);
}

dtp_cut_t dtp_cut_all(const dtp_cut_arg_t *a) {
    (void)a;
    return DTP_CUT_SLICED;
}

dtp_cut_t dtp_cut_by_dim(const dtp_cut_arg_t *a) {
    if (a->md->ndims != a->dst->ndims) return DTP_CUT_REFUSED;
    return a->md->dims[0] == a->dst->dims[0] ? DTP_CUT_SLICED
           : a->md->dims[0] == 1             ? DTP_CUT_WHOLE
                                             : DTP_CUT_REFUSED;
}

dnnl_tp_status_t dtp_lower_op(dtp_lower_t *lower, dtp_ir_node_t *n) {
    bool any = n->nparts > 1 || (n->row->cls->flags & DTP_OP_SAME_ELEMENTS);
    for (int i = 0; i < n->nout; ++i) any |= dtp_info_nelems(lower->ir->values[n->out[i]].info) != 0;
    if (any) return n->row->cls->lower(lower, n);
    for (int i = 0; i < n->nout; ++i) DTP_TRY(dtp_view_new(lower, n->out[i]));
    return dnnl_tp_success;
}

/* ---- The whole graph --------------------------------------------------------------------------------- */

static dnnl_tp_status_t lower_host(dtp_lower_t *lower, const dtp_ir_node_t *n) {
    dtp_step_t *s;
    dtp_step_arg_t in[DTP_GRAPH_MAX_ARGS];
    for (int i = 0; i < n->nin; ++i) DTP_TRY(dense_arg(lower, n->in[i], &in[i])); /* may make steps */
    for (int i = 0; i < n->nout; ++i) DTP_TRY(dtp_view_new(lower, n->out[i]));
    DTP_TRY(dtp_new_step(lower, n, 0, 0, n->nin + n->nout, &s));
    s->host = n->host;
    s->host_in = n->in;
    s->host_out = n->out;
    if (n->nin) memcpy(s->arg, in, sizeof *in * (size_t)n->nin);
    for (int i = 0; i < n->nout; ++i)
        s->arg[n->nin + i] = (dtp_step_arg_t){.buf = lower->ir->values[n->out[i]].buf, .written = true};
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_settle(dtp_lower_t *lower, int v, int buf) {
    dtp_step_arg_t from;
    size_t bytes = dtp_info_bytes(lower->ir->values[v].info);
    if (bytes == 0) return dnnl_tp_success;
    DTP_TRY(ensure_view(lower, v));
    if (!dtp_view_is_dense(&lower->ir->values[v]) && lower->ir->values[v].dense_buf < 0)
        return dtp_copy_view(lower, v, NULL, buf);
    DTP_TRY(dense_arg(lower, v, &from));
    if (from.buf == buf && from.offset == 0) return dnnl_tp_success;
    dtp_step_t *s;
    DTP_TRY(dtp_new_step(lower, NULL, 0, 0, 2, &s));
    s->work->copy_bytes = bytes;
    s->work->work.bytes = 2. * (double)bytes;
    s->arg[0] = from;
    s->arg[1] = (dtp_step_arg_t){.buf = buf, .written = true};
    return dnnl_tp_success;
}

/* Orderings without data: the steps of the node wait for the writers of these buffers. */
static dnnl_tp_status_t add_order(dtp_lower_t *lower, const dtp_ir_node_t *n, int first) {
    int *order = dtp_arena_alloc(lower->ir->arena, sizeof *order * (size_t)n->nbefore);
    if (!order) return dnnl_tp_out_of_memory;
    int norder = 0;
    for (int i = 0; i < n->nbefore; ++i)
        if (lower->ir->values[n->before[i]].buf >= 0) order[norder++] = lower->ir->values[n->before[i]].buf;
    for (int i = first; i < lower->nsteps; ++i) {
        if (i > first && lower->steps[i]->ctl) break; /* the begin of a region holds back all that is in it */
        lower->steps[i]->order = order;
        lower->steps[i]->norder = norder;
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_lower_region(dtp_lower_t *lower, int region) {
    dtp_ir_t *ir = lower->ir;
    const dtp_ir_region_t *r = &ir->regions[region];
    for (int i = 0; i < r->nnodes && ir->fuse; ++i) {
        const dtp_ir_node_t *n = &ir->nodes[r->nodes[i]];
        if (!n->dead) dtp_find_channels_last(ir, n);
    }
    for (int i = r->nnodes - 1; i >= 0 && ir->fuse;
         --i) { /* what is joined may be a part of something joined */
        const dtp_ir_node_t *n = &ir->nodes[r->nodes[i]];
        if (!n->dead && n->row && n->row->cls->flags & DTP_OP_JOINS) DTP_TRY(dtp_want_parts(lower, n));
    }
    for (int i = 0; i < r->nnodes; ++i) {
        dtp_ir_node_t *n = &ir->nodes[r->nodes[i]];
        if (n->dead) continue;
        int first = lower->nsteps;
        switch (n->kind) {
        case DTP_NODE_OP: DTP_TRY(dtp_lower_op(lower, n)); break;
        case DTP_NODE_HOST: DTP_TRY(lower_host(lower, n)); break;
        case DTP_NODE_IF: DTP_TRY(dtp_lower_if(lower, n)); break;
        case DTP_NODE_WHILE: DTP_TRY(dtp_lower_while(lower, n)); break;
        case DTP_NODE_CALL: DTP_TRY(dtp_lower_call(lower, n)); break;
        }
        if (n->nbefore) DTP_TRY(add_order(lower, n, first));
    }
    return dnnl_tp_success;
}

/* The last operators write to the caller's memory themselves; copies: inputs, constants, views, values wanted
 * twice. */
static dnnl_tp_status_t lower_root(dtp_lower_t *lower) {
    dtp_ir_t *ir = lower->ir;
    int nout = ir->noutputs, *bufs = dtp_arena_alloc(ir->arena, sizeof *bufs * (size_t)nout);
    if (!bufs) return dnnl_tp_out_of_memory;
    for (int i = 0; i < nout; ++i) {
        DTP_TRY(dtp_new_buf(lower, dtp_info_bytes(ir->values[ir->outputs[i]].info), &bufs[i]));
        lower->bufs[bufs[i]].kind = DTP_BUF_OUTPUT;
        lower->bufs[bufs[i]].index = i;
        dtp_want(lower, ir->outputs[i], 0, bufs[i]);
    }
    DTP_TRY(dtp_lower_region(lower, 0));
    for (int i = 0; i < nout; ++i) DTP_TRY(dtp_settle(lower, ir->outputs[i], bufs[i]));
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_lower(dtp_lower_t *lower) {
    const dtp_ir_t *ir = lower->ir; /* about as many steps and buffers: */
    DTP_TRY(dtp_arena_grow(ir->arena, (void **)&lower->steps, &lower->cap_steps,
                           ir->nnodes + ir->noutputs + 1, sizeof *lower->steps));
    DTP_TRY(dtp_arena_grow(ir->arena, (void **)&lower->bufs, &lower->cap_bufs, ir->nvalues + ir->noutputs,
                           sizeof *lower->bufs));
    DTP_TRY(dtp_arena_grow(lower->ir->arena, (void **)&lower->scopes, &lower->cap_scopes, 1,
                           sizeof *lower->scopes));
    lower->scopes[0] = (dtp_lower_scope_t){.parent = -1};
    lower->nscopes = 1;
    DTP_TRY(dtp_announce_functions(lower));
    DTP_TRY(lower_root(lower));
    dtp_step_t *s;
    lower->scopes[0].end = lower->nsteps;
    DTP_TRY(dtp_new_control(lower, NULL, DTP_CTL_END, 0, &s));
    return dtp_lower_functions(lower);
}

/* When a step of scope `at` touches a buffer of scope `home`: inside a loop, from its begin to its end. */
static void touched(const dtp_lower_t *lower, int at, int home, int *begin, int *end) {
    for (; at != home && at >= 0; at = lower->scopes[at].parent) {
        *begin = lower->scopes[at].begin;
        *end = lower->scopes[at].end;
    }
}

static void touch(dtp_lower_t *lower, int i, int buf) {
    if (buf < 0) return;
    dtp_buf_t *b = &lower->bufs[buf];
    const dtp_step_t *s = lower->steps[i];
    /* The begin of a loop reads in the scope around it, its end writes there. */
    int begin = i, end = i;
    if (s->ctl != DTP_CTL_EXIT) touched(lower, s->scope, b->scope, &begin, &end);
    if (b->first < 0) b->first = begin;
    if (end > b->last) b->last = end;
    if (b->kind == DTP_BUF_PART) touch(lower, i, b->part_of);
}

void dtp_buf_ranges(dtp_lower_t *lower) {
    for (int i = 0; i < lower->nsteps; ++i) {
        const dtp_step_t *s = lower->steps[i];
        for (int k = 0; k < s->nargs + s->npost_args; ++k) {
            touch(lower, i, s->arg[k].buf);
            /* The first iteration reads initial values where they are. */
            if (s->ctl == DTP_CTL_WHILE && s->arg[k].buf >= 0 && lower->bufs[s->arg[k].buf].last < s->other)
                lower->bufs[s->arg[k].buf].last = s->other;
        }
    }
}

static dnnl_tp_status_t describe(dtp_lower_t *lower, const dtp_step_t *s) {
    dtp_work_t *w = s->work;
    const dtp_op_info_t *info = dtp_op_info(s->op->kind);
    const int n = s->nargs + s->npost_args;
    w->md = dtp_arena_take(lower->ir->arena, sizeof *w->md * (size_t)n);
    if (!w->md) return dnnl_tp_out_of_memory;
    (void)dtp_op_args(info, s->op, w->md);
    w->work = dtp_op_work(info, s->op, w->md, s->nargs);
    for (w->dst = 0; !s->arg[w->dst].written;) ++w->dst;
    /* What collects around its loop moves rows alone, but for the first iteration. */
    if (lower->bufs[s->arg[w->dst].buf].scope != s->scope)
        w->work.bytes -= 2. * dtp_md_moved(w->md[w->dst].md);
    for (int i = 0; i < w->npost; ++i) {
        const bool is_binary = w->post[i].is_binary;
        dtp_pd_arg_t *src = &w->md[s->nargs + 2 * i];
        src[0] = (dtp_pd_arg_t){.md = is_binary ? &w->post_md[i] : NULL};
        src[1] = (dtp_pd_arg_t){.md = NULL};
        dtp_op_work_post_op(&w->work, is_binary ? dnnl_tp_binary : dnnl_tp_eltwise, w->md[w->dst].md,
                            src[0].md, NULL);
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_describe_steps(dtp_lower_t *lower) {
    for (int i = 0; i < lower->nsteps && lower->nproblems; ++i)
        if (lower->steps[i]->op) DTP_TRY(describe(lower, lower->steps[i]));
    return dnnl_tp_success;
}

double dtp_step_ns(const dtp_step_t *s) {
    dtp_op_work_t work = s->work->work;
    const dtp_pd_t *pd = s->work->prim[0] ? s->work->prim[0]->pd : NULL;
    if (pd && pd->info->gain) work.flops /= pd->info->gain(pd->op);
    return dtp_op_work_ns(&work);
}

bool dtp_step_takes_rows(const dtp_step_t *s) {
    const dtp_pd_t *pd = s->work->prim[0]->pd;
    return pd->impl->flags & DTP_IMPL_ROWS && (!pd->info->takes_rows || pd->info->takes_rows(s->op));
}

dnnl_tp_status_t dtp_create_steps(dtp_lower_t *lower, int num_threads) {
    const double long_ns = 1e6; /* what is long can be stopped on one thread, too, if it is made of pieces */
    for (int i = 0; i < lower->nsteps && lower->nproblems; ++i) {
        dtp_step_t *s = lower->steps[i];
        const int threads = num_threads == 1 && dtp_step_ns(s) > long_ns ? 2 : num_threads;
        if (s->op && !s->work->prim[0]) DTP_TRY(dtp_step_create(lower, s, 0, 0, threads, 0));
    }
    return dnnl_tp_success;
}
