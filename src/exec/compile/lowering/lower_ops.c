/* Lowering of one operator to steps: the problem of a primitive over views of buffers. One function per
 * class. */
#include <math.h>

#include "exec/compile/lowering/lower.h"

typedef dnnl_tp_tensor_info_t info_t;

static dtp_ir_value_t *val(dtp_lower_t *l, int v) { return &l->ir->values[v]; }
static size_t bytes_of(dtp_lower_t *l, int v) { return v < 0 ? 0 : dtp_info_bytes(val(l, v)->info); }

static dnnl_tp_status_t md2(dtp_md_t *md, int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride,
                            dnnl_tp_data_type_t dt) {
    int64_t dims[2] = {rows, cols}, strides[2] = {row_stride, col_stride};
    return dtp_md_init_strides(md, 2, dims, dt, strides);
}
static dnnl_tp_status_t md2_dense(dtp_md_t *md, int64_t rows, int64_t cols, dnnl_tp_data_type_t dt) {
    return md2(md, rows, cols, dtp_max64(cols, 1), 1, dt);
}

/* v as {prod(dims[0..split)), the rest}, dense. */
static dnnl_tp_status_t dense2(dtp_lower_t *l, int v, int split, dtp_md_t *md, dtp_step_arg_t *arg) {
    dtp_view_t p;
    DTP_TRY(dtp_view_dense(l, v, &p));
    const info_t *t = val(l, v)->info;
    arg->buf = p.buf;
    arg->offset = p.offset;
    return md2_dense(md, dtp_info_product(t, 0, split), dtp_info_product(t, split, t->ndims), t->data_type);
}

/* The result of a step, dense, as {M, N}. */
static dnnl_tp_status_t result2(dtp_lower_t *l, int v, int split, dtp_md_t *md, dtp_step_arg_t *arg) {
    DTP_TRY(dtp_view_new(l, v));
    DTP_TRY(dense2(l, v, split, md, arg));
    arg->written = true;
    return dnnl_tp_success;
}

static int last_split(const info_t *t) { return t->ndims > 0 ? t->ndims - 1 : 0; }

/* Strides of v seen with nd dims, missing leading ones 1 long. */
static void pad_dims(const info_t *t, const int64_t *strides, int nd, int64_t *dims, int64_t *out) {
    int lead = nd - t->ndims;
    int64_t all = 1;
    for (int d = 0; d < t->ndims; ++d) all *= dtp_max64(t->dims[d], 1);
    for (int d = 0; d < nd; ++d) {
        dims[d] = d < lead ? 1 : t->dims[d - lead];
        out[d] = d < lead ? all : strides[d - lead];
    }
}

dnnl_tp_status_t dtp_add_post_ops(dtp_lower_t *l, dtp_step_t *s, const dtp_ir_node_t *n,
                                  const dtp_md_t *dst) {
    if (n->npost == 0) return dnnl_tp_success;
    s->work->npost = n->npost;
    s->work->post = dtp_arena_alloc(l->ir->arena, sizeof *s->work->post * (size_t)n->npost);
    s->work->post_md = dtp_arena_alloc(l->ir->arena, sizeof *s->work->post_md * (size_t)n->npost);
    if (!s->work->post || !s->work->post_md) return dnnl_tp_out_of_memory;
    for (int i = 0; i < n->npost; ++i) {
        s->work->post[i] = n->post[i];
        s->npost_args = 2 * (i + 1);
        if (!n->post[i].is_binary) continue;
        int v = n->post[i].value;
        dtp_view_t p;
        DTP_TRY(dtp_view_dense(l, v, &p));
        const info_t *t = val(l, v)->info;
        int64_t count = dtp_info_nelems(t), dims[DNNL_TP_MAX_NDIMS], strides[DNNL_TP_MAX_NDIMS];
        if (dst->ndims == 2) {
            int64_t cols = dst->dims[1], rows = count == dst->dims[0] * cols ? dst->dims[0] : 1;
            DTP_TRY(md2_dense(&s->work->post_md[i], rows, count == 1 ? 1 : cols, t->data_type));
        } else {
            pad_dims(t, p.strides, dst->ndims, dims, strides);
            DTP_TRY(dtp_md_init_strides(&s->work->post_md[i], dst->ndims, dims, t->data_type, strides));
        }
        s->arg[s->nargs + 2 * i] = (dtp_step_arg_t){.buf = p.buf, .offset = p.offset};
        s->work->bytes += (double)dtp_info_bytes(t);
    }
    return dnnl_tp_success;
}

/* ---- Element-wise ------------------------------------------------------------------------------------ */

static void unary_alg(const dtp_ir_node_t *n, dnnl_tp_alg_kind_t *alg, float *alpha, float *beta) {
    const dtp_op_attrs_t *a = n->attrs;
    *alpha = *beta = 0.f;
#define IS(kind, to, x, y) \
    case dnnl_tp_op_##kind: *alg = dnnl_tp_eltwise_##to, *alpha = (x), *beta = (y); break
    switch (n->row->kind) {
        IS(abs, abs, 0.f, 0.f);
        IS(clamp, clip_v2, a->min, a->max);
        IS(elu, elu, a->alpha, 0.f);
        IS(exp, exp, 0.f, 0.f);
        IS(hard_swish, hardswish, 1.f / 6.f, .5f);
        IS(leaky_relu, relu, a->alpha, 0.f);
        IS(log, log, 0.f, 0.f);
        IS(mish, mish, 0.f, 0.f);
        IS(reciprocal, pow, 1.f, -1.f);
        IS(relu, relu, 0.f, 0.f);
        IS(round, round, 0.f, 0.f);
        IS(sigmoid, logistic, 0.f, 0.f);
        IS(softplus, soft_relu, a->beta, 0.f);
        IS(sqrt, sqrt, 0.f, 0.f);
        IS(square, square, 0.f, 0.f);
        IS(tanh, tanh, 0.f, 0.f);
        IS(hard_sigmoid, hardsigmoid, a->alpha, a->beta);
        IS(pow, pow, 1.f, a->beta);
    case dnnl_tp_op_erf: *alg = (dnnl_tp_alg_kind_t)DTP_ALG_erf; break;
    default: *alg = a->gelu_tanh ? dnnl_tp_eltwise_gelu_tanh : dnnl_tp_eltwise_gelu_erf; break;
    }
#undef IS
}

bool dtp_unary_alg(const dtp_ir_node_t *n, dnnl_tp_alg_kind_t *alg, float *alpha, float *beta) {
    if (!n->row || n->row->cls != DTP_CLASS_UNARY) return false;
    unary_alg(n, alg, alpha, beta);
    return true;
}

static dnnl_tp_status_t eltwise_step(dtp_lower_t *l, const dtp_ir_node_t *n, int from, int to,
                                     dnnl_tp_alg_kind_t alg, float alpha, float beta) {
    dtp_step_t *s;
    dtp_step_arg_t src = {.buf = -1};
    dtp_md_t src_md;
    int split = last_split(val(l, from)->info);
    DTP_TRY(dense2(l, from, split, &src_md, &src));
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_eltwise_desc_t), dnnl_tp_eltwise, DTP_ELTWISE_NARGS, &s));
    dtp_eltwise_desc_t *d = (dtp_eltwise_desc_t *)s->op;
    d->prop = dnnl_tp_forward_inference;
    d->alg = alg;
    d->alpha = alpha;
    d->beta = beta;
    d->src = src_md;
    s->arg[DTP_ELTWISE_SRC] = src;
    DTP_TRY(result2(l, to, split, &d->dst, &s->arg[DTP_ELTWISE_DST]));
    s->work->bytes = 2. * (double)bytes_of(l, from);
    s->work->flops = 8. * (double)dtp_info_nelems(val(l, from)->info);
    return dtp_add_post_ops(l, s, n, &d->dst);
}

static dnnl_tp_status_t unary(dtp_lower_t *l, dtp_ir_node_t *n) {
    dnnl_tp_alg_kind_t alg;
    float alpha, beta;
    unary_alg(n, &alg, &alpha, &beta);
    return eltwise_step(l, n, n->in[0], n->out[0], alg, alpha, beta);
}

static dnnl_tp_alg_kind_t binary_alg(int kind) {
    switch (kind) {
    case dnnl_tp_op_add:
    case dnnl_tp_op_bias_add: return dnnl_tp_binary_add;
    case dnnl_tp_op_multiply: return dnnl_tp_binary_mul;
    case dnnl_tp_op_divide: return dnnl_tp_binary_div;
    case dnnl_tp_op_maximum: return dnnl_tp_binary_max;
    case dnnl_tp_op_minimum: return dnnl_tp_binary_min;
    default: return dnnl_tp_binary_sub; /* subtract, squared_difference */
    }
}

/* How many trailing dims of out y covers fully, when it has nothing else but ones; -1 otherwise. */
static int suffix_of(const info_t *y, const info_t *out) {
    int d = y->ndims, n = 0;
    while (d > 0 && y->dims[d - 1] == out->dims[out->ndims - 1 - n]) --d, ++n;
    for (int i = 0; i < d; ++i)
        if (y->dims[i] != 1) return -1;
    return n;
}

static dnnl_tp_status_t binary(dtp_lower_t *l, dtp_ir_node_t *n) {
    int x = n->in[0], y = n->in[1], out = n->out[0];
    const info_t *to = val(l, out)->info;
    dnnl_tp_alg_kind_t alg = binary_alg(n->row->kind);
    bool commutes = alg != dnnl_tp_binary_div && alg != dnnl_tp_binary_sub;
    if (commutes && dtp_info_nelems(val(l, x)->info) < dtp_info_nelems(val(l, y)->info)) {
        int t = x;
        x = y;
        y = t;
    }
    dtp_view_t px, py;
    DTP_TRY(dtp_view_dense(l, x, &px));
    DTP_TRY(dtp_view_dense(l, y, &py));
    dtp_step_t *s;
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_binary_desc_t), dnnl_tp_binary, DTP_BINARY_NARGS, &s));
    dtp_binary_desc_t *d = (dtp_binary_desc_t *)s->op;
    d->alg = alg;
    s->arg[DTP_BINARY_SRC0] = (dtp_step_arg_t){.buf = px.buf, .offset = px.offset};
    s->arg[DTP_BINARY_SRC1] = (dtp_step_arg_t){.buf = py.buf, .offset = py.offset};
    DTP_TRY(dtp_view_new(l, out));
    s->arg[DTP_BINARY_DST] = (dtp_step_arg_t){.buf = val(l, out)->buf, .written = true};
    const info_t *tx = val(l, x)->info, *ty = val(l, y)->info;
    int64_t count = dtp_info_nelems(to);
    int suffix = suffix_of(ty, to);
    if (dtp_info_nelems(tx) == count && suffix >= 0) {
        /* The same shape, a row, a plane or one element: two dims are enough. */
        int split = suffix == 0 || suffix == to->ndims ? last_split(to) : to->ndims - suffix;
        int64_t rows = dtp_info_product(to, 0, split), cols = dtp_info_product(to, split, to->ndims);
        DTP_TRY(md2_dense(&d->src0, rows, cols, tx->data_type));
        if (suffix == to->ndims) d->src1 = d->src0;
        else DTP_TRY(md2_dense(&d->src1, 1, suffix == 0 ? 1 : cols, ty->data_type));
        DTP_TRY(md2_dense(&d->dst, rows, cols, to->data_type));
    } else {
        int64_t dims[DNNL_TP_MAX_NDIMS], strides[DNNL_TP_MAX_NDIMS];
        pad_dims(tx, px.strides, to->ndims, dims, strides);
        DTP_TRY(dtp_md_init_strides(&d->src0, to->ndims, dims, tx->data_type, strides));
        pad_dims(ty, py.strides, to->ndims, dims, strides);
        DTP_TRY(dtp_md_init_strides(&d->src1, to->ndims, dims, ty->data_type, strides));
        DTP_TRY(dtp_md_init_strides(&d->dst, to->ndims, to->dims, to->data_type, NULL));
    }
    s->work->bytes = (double)(bytes_of(l, x) + bytes_of(l, y) + bytes_of(l, out));
    s->work->flops = (double)count;
    if (n->row->kind == dnnl_tp_op_squared_difference) {
        s->work->npost = 1;
        s->npost_args = 2;
        s->work->post = dtp_arena_alloc(l->ir->arena, sizeof *s->work->post);
        s->work->post_md = dtp_arena_alloc(l->ir->arena, sizeof *s->work->post_md);
        if (!s->work->post || !s->work->post_md) return dnnl_tp_out_of_memory;
        s->work->post[0] = (dtp_ir_post_t){.alg = dnnl_tp_eltwise_square};
        return dnnl_tp_success;
    }
    return dtp_add_post_ops(l, s, n, &d->dst);
}

/* ---- Norms, softmax, reductions ---------------------------------------------------------------------- */

static dnnl_tp_status_t norm(dtp_lower_t *l, dtp_ir_node_t *n) {
    bool rms = n->row->cls == DTP_CLASS_RMS_NORM;
    const info_t *t = val(l, n->in[0])->info;
    int split = (int)(n->attrs->begin_norm_axis < 0 ? n->attrs->begin_norm_axis + t->ndims
                                                    : n->attrs->begin_norm_axis);
    dtp_step_t *s;
    dtp_md_t src_md;
    dtp_step_arg_t src = {.buf = -1}, param[2] = {{.buf = -1}, {.buf = -1}};
    DTP_TRY(dense2(l, n->in[0], split, &src_md, &src));
    dtp_md_t unused;
    for (int i = 1; i < n->nin; ++i) DTP_TRY(dense2(l, n->in[i], 0, &unused, &param[i - 1]));
    DTP_TRY(
        dtp_new_step(l, n, sizeof(dtp_layer_norm_desc_t), dnnl_tp_layer_normalization, DTP_LNORM_NARGS, &s));
    dtp_layer_norm_desc_t *d = (dtp_layer_norm_desc_t *)s->op;
    d->prop = dnnl_tp_forward_inference;
    d->epsilon = n->attrs->epsilon;
    d->flags = rms ? dnnl_tp_rms_norm : 0;
    d->src = src_md;
    int64_t rows = d->src.dims[0], cols = d->src.dims[1];
    DTP_TRY(dtp_md_init_strides(&d->stat, 1, &rows, dnnl_tp_f32, NULL));
    s->arg[DTP_LNORM_SRC] = src;
    if (n->nin > 1) {
        d->flags |= dnnl_tp_use_scale;
        DTP_TRY(dtp_md_init_strides(&d->scale, 1, &cols, dnnl_tp_f32, NULL));
        s->arg[DTP_LNORM_SCALE] = param[0];
    }
    if (n->nin > 2) {
        d->flags |= dnnl_tp_use_shift;
        DTP_TRY(dtp_md_init_strides(&d->shift, 1, &cols, dnnl_tp_f32, NULL));
        s->arg[DTP_LNORM_SHIFT] = param[1];
    }
    DTP_TRY(result2(l, n->out[0], split, &d->dst, &s->arg[DTP_LNORM_DST]));
    s->work->bytes = 2. * (double)bytes_of(l, n->in[0]);
    s->work->flops = 8. * (double)(rows * cols);
    return dtp_add_post_ops(l, s, n, &d->dst);
}

static dnnl_tp_status_t softmax(dtp_lower_t *l, dtp_ir_node_t *n) {
    const info_t *t = val(l, n->in[0])->info;
    int axis = (int)(n->attrs->axis < 0 ? n->attrs->axis + t->ndims : n->attrs->axis);
    dtp_step_t *s;
    dtp_step_arg_t src = {.buf = -1}, dst = {.buf = -1};
    dtp_md_t src_md, dst_md;
    DTP_TRY(dense2(l, n->in[0], axis, &src_md, &src));
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_softmax_desc_t), dnnl_tp_softmax, DTP_SOFTMAX_NARGS, &s));
    DTP_TRY(result2(l, n->out[0], axis, &dst_md, &dst));
    dtp_softmax_desc_t *d = (dtp_softmax_desc_t *)s->op;
    d->prop = dnnl_tp_forward_inference;
    d->alg = n->row->kind == dnnl_tp_op_log_softmax ? dnnl_tp_softmax_log : dnnl_tp_softmax_accurate;
    s->arg[DTP_SOFTMAX_SRC] = src;
    s->arg[DTP_SOFTMAX_DST] = dst;
    d->axis = 1;
    d->src = src_md;
    d->dst = dst_md;
    if (axis != t->ndims - 1) { /* {outer, axis, inner} */
        int64_t dims[3] = {src_md.dims[0], t->dims[axis], dtp_info_product(t, axis + 1, t->ndims)};
        DTP_TRY(dtp_md_init_strides(&d->src, 3, dims, t->data_type, NULL));
        d->dst = d->src;
    }
    s->work->bytes = 2. * (double)bytes_of(l, n->in[0]);
    s->work->flops = 12. * (double)dtp_info_nelems(t);
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

static dnnl_tp_status_t alias(dtp_lower_t *l, int from, int to) {
    dtp_view_t p;
    dtp_ir_value_t *dst = val(l, to);
    DTP_TRY(dtp_view_any(l, from, &p));
    int64_t strides[DNNL_TP_MAX_NDIMS];
    if (l->ir->fuse && dtp_info_nelems(dst->info) > 0 &&
        reshape_view(val(l, from)->info, p.strides, dst->info, strides))
        return dtp_view_set(l, to, p.buf, p.offset, strides);
    DTP_TRY(dtp_view_dense(l, from, &p));
    return dtp_view_set(l, to, p.buf, p.offset, NULL);
}

static dnnl_tp_status_t reduce(dtp_lower_t *l, dtp_ir_node_t *n) {
    static const struct {
        int kind;
        dnnl_tp_alg_kind_t alg;
        float p;
    } algs[] = {
        {dnnl_tp_op_reduce_l1, dnnl_tp_reduction_norm_lp_power_p_sum, 1.f},
        {dnnl_tp_op_reduce_l2, dnnl_tp_reduction_norm_lp_sum, 2.f},
        {dnnl_tp_op_reduce_max, dnnl_tp_reduction_max, 0.f},
        {dnnl_tp_op_reduce_mean, dnnl_tp_reduction_mean, 0.f},
        {dnnl_tp_op_reduce_min, dnnl_tp_reduction_min, 0.f},
        {dnnl_tp_op_reduce_prod, dnnl_tp_reduction_mul, 0.f},
        {dnnl_tp_op_reduce_sum, dnnl_tp_reduction_sum, 0.f},
    };
    const info_t *t = val(l, n->in[0])->info;
    info_t kept = *t;
    bool any = false;
    for (int i = 0; i < (n->attrs->set & DTP_A_AXES ? n->attrs->nlist : t->ndims); ++i) {
        int axis = n->attrs->set & DTP_A_AXES ? (int)n->attrs->list[i] : i;
        if (axis < 0) axis += t->ndims;
        any |= t->dims[axis] != 1;
        kept.dims[axis] = 1;
    }
    bool is_norm = n->row->kind == dnnl_tp_op_reduce_l1 || n->row->kind == dnnl_tp_op_reduce_l2;
    if (!any) /* one element each: nothing is summed */
        return is_norm ? eltwise_step(l, n, n->in[0], n->out[0], dnnl_tp_eltwise_abs, 0.f, 0.f)
                       : alias(l, n->in[0], n->out[0]);
    dtp_view_t p;
    dtp_step_t *s;
    DTP_TRY(dtp_view_dense(l, n->in[0], &p));
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_reduction_desc_t), dnnl_tp_reduction, DTP_REDUCTION_NARGS, &s));
    dtp_reduction_desc_t *d = (dtp_reduction_desc_t *)s->op;
    for (size_t i = 0; i < sizeof algs / sizeof *algs; ++i)
        if (algs[i].kind == n->row->kind) {
            d->alg = algs[i].alg;
            d->p = algs[i].p;
        }
    DTP_TRY(dtp_md_init_strides(&d->src, t->ndims, t->dims, t->data_type, NULL));
    DTP_TRY(dtp_md_init_strides(&d->dst, t->ndims, kept.dims, t->data_type, NULL));
    DTP_TRY(dtp_view_new(l, n->out[0]));
    s->arg[DTP_REDUCTION_SRC] = (dtp_step_arg_t){.buf = p.buf, .offset = p.offset};
    s->arg[DTP_REDUCTION_DST] = (dtp_step_arg_t){.buf = val(l, n->out[0])->buf, .written = true};
    s->work->bytes = (double)bytes_of(l, n->in[0]);
    s->work->flops = (double)dtp_info_nelems(t);
    return dtp_add_post_ops(l, s, n, &d->dst);
}

/* ---- Layout ------------------------------------------------------------------------------------------ */

static dnnl_tp_status_t transpose(dtp_lower_t *l, dtp_ir_node_t *n) {
    dtp_view_t p;
    DTP_TRY(dtp_view_any(l, n->in[0], &p));
    const dtp_ir_value_t *to = val(l, n->out[0]);
    int64_t strides[DNNL_TP_MAX_NDIMS];
    for (int d = 0; d < to->info->ndims; ++d) {
        int64_t axis = n->attrs->list[d];
        strides[d] = p.strides[axis < 0 ? axis + to->info->ndims : axis];
    }
    DTP_TRY(dtp_view_set(l, n->out[0], p.buf, p.offset, strides));
    if (l->ir->fuse || dtp_view_is_dense(to))
        return dnnl_tp_success; /* a view; copied only if somebody needs that */
    return dtp_view_dense(l, n->out[0], &p);
}

static dnnl_tp_status_t concat(dtp_lower_t *l, dtp_ir_node_t *n) {
    const info_t *to = val(l, n->out[0])->info;
    int axis = (int)(n->attrs->axis < 0 ? n->attrs->axis + to->ndims : n->attrs->axis);
    dtp_view_t views[DTP_GRAPH_MAX_ARGS];
    for (int i = 0; i < n->nin; ++i) DTP_TRY(dtp_view_dense(l, n->in[i], &views[i]));
    if (n->nin == 1) return alias(l, n->in[0], n->out[0]);
    dtp_step_t *s;
    size_t size = sizeof(dtp_concat_desc_t) + (size_t)n->nin * sizeof(dtp_md_t);
    DTP_TRY(dtp_new_step(l, n, size, dnnl_tp_concat, 1 + n->nin, &s));
    dtp_concat_desc_t *d = (dtp_concat_desc_t *)s->op;
    d->axis = axis;
    d->n = n->nin;
    DTP_TRY(dtp_md_init_strides(&d->dst, to->ndims, to->dims, to->data_type, NULL));
    for (int i = 0; i < n->nin; ++i) {
        const info_t *t = val(l, n->in[i])->info;
        DTP_TRY(dtp_md_init_strides(&d->src[i], t->ndims, t->dims, t->data_type, NULL));
        s->arg[DTP_CONCAT_SRC + i] = (dtp_step_arg_t){.buf = views[i].buf, .offset = views[i].offset};
    }
    DTP_TRY(dtp_view_new(l, n->out[0]));
    s->arg[DTP_CONCAT_DST] = (dtp_step_arg_t){.buf = val(l, n->out[0])->buf, .written = true};
    s->work->bytes = 2. * (double)bytes_of(l, n->out[0]);
    return dnnl_tp_success;
}

static dnnl_tp_status_t gather(dtp_lower_t *l, dtp_ir_node_t *n) {
    const info_t *ids = val(l, n->in[1])->info, *to = val(l, n->out[0])->info;
    dtp_step_t *s;
    dtp_view_t table, p;
    DTP_TRY(dtp_view_dense(l, n->in[0], &table));
    DTP_TRY(dtp_view_dense(l, n->in[1], &p));
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_gather_desc_t), DTP_KIND_GATHER, DTP_GATHER_NARGS, &s));
    dtp_gather_desc_t *d = (dtp_gather_desc_t *)s->op;
    int64_t count = dtp_info_nelems(ids);
    const info_t *t = val(l, n->in[0])->info;
    DTP_TRY(dtp_md_init_strides(&d->table, 2, t->dims, t->data_type, NULL));
    DTP_TRY(dtp_md_init_strides(&d->ids, 1, &count, ids->data_type, NULL));
    s->arg[DTP_GATHER_TABLE] = (dtp_step_arg_t){.buf = table.buf, .offset = table.offset};
    s->arg[DTP_GATHER_IDS] = (dtp_step_arg_t){.buf = p.buf, .offset = p.offset};
    DTP_TRY(result2(l, n->out[0], last_split(to), &d->dst, &s->arg[DTP_GATHER_DST]));
    s->work->bytes = 2. * (double)bytes_of(l, n->out[0]);
    return dnnl_tp_success;
}

/* ---- Sequences --------------------------------------------------------------------------------------- */

/* v as a view whose last dim is dense: {B, S, H} or {T, H}; alone: {T, H} becomes {1, T, H}. */
static dnnl_tp_status_t sequence_md(dtp_lower_t *l, int v, bool alone, dtp_md_t *md, dtp_step_arg_t *arg) {
    dtp_view_t p;
    DTP_TRY(dtp_view_any(l, v, &p));
    const info_t *t = val(l, v)->info;
    if (p.strides[t->ndims - 1] != 1 && t->dims[t->ndims - 1] != 1) DTP_TRY(dtp_view_dense(l, v, &p));
    arg->buf = p.buf;
    arg->offset = p.offset;
    if (!alone) return dtp_md_init_strides(md, t->ndims, t->dims, t->data_type, p.strides);
    int64_t dims[3] = {1, t->dims[0], t->dims[1]};
    int64_t strides[3] = {dtp_max64(p.strides[0] * t->dims[0], 1), p.strides[0], p.strides[1]};
    return dtp_md_init_strides(md, 3, dims, t->data_type, strides);
}

static dnnl_tp_status_t mask_md(dtp_lower_t *l, int v, dtp_md_t *md, dtp_step_arg_t *arg) {
    const info_t *t = val(l, v)->info;
    DTP_TRY(dense2(l, v, 1, md, arg));
    return md2_dense(md, t->dims[0], t->dims[t->ndims - 1], t->data_type);
}

static dnnl_tp_status_t offsets_md(dtp_lower_t *l, int v, dtp_md_t *md, dtp_step_arg_t *arg) {
    dtp_view_t p;
    DTP_TRY(dtp_view_dense(l, v, &p));
    arg->buf = p.buf;
    arg->offset = p.offset;
    return dtp_md_init_strides(md, 1, val(l, v)->info->dims, dnnl_tp_s32, NULL);
}

static dnnl_tp_status_t attention(dtp_lower_t *l, dtp_ir_node_t *n) {
    int mask = n->nin > 3 ? n->in[3] : -1, offsets = n->nin > 4 ? n->in[4] : -1;
    const info_t *t = val(l, n->out[0])->info;
    bool alone = t->ndims == 2 && offsets < 0;
    dtp_attention_desc_t *d = dtp_arena_alloc(l->ir->arena, sizeof *d);
    dtp_step_arg_t arg[DTP_ATTENTION_NARGS];
    if (!d) return dnnl_tp_out_of_memory;
    for (int i = 0; i < DTP_ATTENTION_NARGS; ++i) arg[i] = (dtp_step_arg_t){.buf = -1};
    d->heads = (int)n->attrs->heads;
    int64_t width = t->dims[t->ndims - 1];
    d->scale =
        n->attrs->set & DTP_A_SCALE ? n->attrs->scale : 1.f / sqrtf((float)dtp_max64(width / d->heads, 1));
    DTP_TRY(sequence_md(l, n->in[0], alone, &d->q, &arg[DTP_ATTENTION_Q]));
    DTP_TRY(sequence_md(l, n->in[1], alone, &d->k, &arg[DTP_ATTENTION_K]));
    DTP_TRY(sequence_md(l, n->in[2], alone, &d->v, &arg[DTP_ATTENTION_V]));
    if (mask >= 0) DTP_TRY(mask_md(l, mask, &d->mask, &arg[DTP_ATTENTION_MASK]));
    if (offsets >= 0) DTP_TRY(offsets_md(l, offsets, &d->offsets, &arg[DTP_ATTENTION_OFFSETS]));
    DTP_TRY(dtp_view_new(l, n->out[0]));
    DTP_TRY(sequence_md(l, n->out[0], alone, &d->dst, &arg[DTP_ATTENTION_DST]));
    arg[DTP_ATTENTION_DST].written = true;
    dtp_step_t *s;
    DTP_TRY(dtp_new_step(l, n, sizeof *d, DTP_KIND_ATTENTION, DTP_ATTENTION_NARGS, &s));
    d->base = *s->op;
    s->op = &d->base;
    memcpy(s->arg, arg, sizeof arg);
    s->wants_seq = offsets >= 0;
    double rows = (double)dtp_info_product(t, 0, t->ndims - 1);
    double length = t->ndims == 3 || offsets < 0 ? (double)t->dims[t->ndims - 2] : 64.;
    s->work->flops = 4. * rows * length * (double)width;
    s->work->bytes = 4. * (double)bytes_of(l, n->out[0]);
    return dnnl_tp_success;
}

static dnnl_tp_status_t pool(dtp_lower_t *l, dtp_ir_node_t *n) {
    int mask = n->nin > 1 ? n->in[1] : -1, offsets = n->nin > 2 ? n->in[2] : -1;
    bool alone = val(l, n->in[0])->info->ndims == 2 && offsets < 0;
    dtp_pool_normalize_desc_t *d = dtp_arena_alloc(l->ir->arena, sizeof *d);
    dtp_step_arg_t arg[DTP_POOLN_NARGS];
    if (!d) return dnnl_tp_out_of_memory;
    for (int i = 0; i < DTP_POOLN_NARGS; ++i) arg[i] = (dtp_step_arg_t){.buf = -1};
    d->epsilon = n->attrs->epsilon;
    DTP_TRY(sequence_md(l, n->in[0], alone, &d->src, &arg[DTP_POOLN_SRC]));
    if (mask >= 0) DTP_TRY(mask_md(l, mask, &d->mask, &arg[DTP_POOLN_MASK]));
    if (offsets >= 0) DTP_TRY(offsets_md(l, offsets, &d->offsets, &arg[DTP_POOLN_OFFSETS]));
    DTP_TRY(result2(l, n->out[0], 1, &d->dst, &arg[DTP_POOLN_DST]));
    dtp_step_t *s;
    DTP_TRY(dtp_new_step(l, n, sizeof *d, DTP_KIND_POOL_NORMALIZE, DTP_POOLN_NARGS, &s));
    d->base = *s->op;
    s->op = &d->base;
    memcpy(s->arg, arg, sizeof arg);
    s->wants_seq = offsets >= 0;
    s->work->bytes = (double)bytes_of(l, n->in[0]);
    s->work->flops = s->work->bytes / 2.;
    return dnnl_tp_success;
}

/* ---- Dispatch ---------------------------------------------------------------------------------------- */

dnnl_tp_status_t dtp_lower_node(dtp_lower_t *l, dtp_ir_node_t *n) {
    static dnnl_tp_status_t (*const by_class[])(dtp_lower_t *, dtp_ir_node_t *) = {
        [DTP_CLASS_UNARY] = unary,
        [DTP_CLASS_BINARY] = binary,
        [DTP_CLASS_BIAS_ADD] = binary,
        [DTP_CLASS_CONCAT] = concat,
        [DTP_CLASS_LAYER_NORM] = norm,
        [DTP_CLASS_RMS_NORM] = norm,
        [DTP_CLASS_MATMUL] = dtp_lower_matmul,
        [DTP_CLASS_REDUCE] = reduce,
        [DTP_CLASS_SOFTMAX] = softmax,
        [DTP_CLASS_TRANSPOSE] = transpose,
        [DTP_CLASS_GATHER] = gather,
        [DTP_CLASS_ATTENTION] = attention,
        [DTP_CLASS_POOL] = pool,
    };
    if (n->row->cls == DTP_CLASS_RESHAPE) return alias(l, n->in[0], n->out[0]);
    if (dtp_info_nelems(val(l, n->out[0])->info) == 0 && n->nparts <= 1) return dtp_view_new(l, n->out[0]);
    return by_class[n->row->cls](l, n);
}
