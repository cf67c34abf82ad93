/* Elements by computed positions: take and gather_elements (along an axis), gather_nd, gather_sum, and scatters, which put
 * rows into a copy of a tensor. One kernel serves them: what differs is the arithmetic of positions. */
#include "common/problems/graph/indexed.h"
#include "exec/ops/ops.h"

DTP_ATTR(batch_dims, 0x10009) /**< number of first dimensions that positions and data share (s64) */
DTP_ATTR(reduction, 0x1000a)  /**< "none" (default, replaces), "add", "mul", "max", "min" */

/* All operators have all members; each has fields for its own. */
typedef struct {
    dtp_op_attrs_t base;
    int64_t axis, batch_dims;
    dtp_word_t reduction;
} attrs_t;
static const char *const reductions[] = {"none", "add", "mul", "max", "min", NULL};
static const dtp_op_field_t along_fields[] = {DTP_OPTIONAL(attrs_t, axis, 0)};
static const dtp_op_field_t nd_fields[] = {DTP_OPTIONAL(attrs_t, batch_dims, 0)};
static const dtp_op_field_t scatter_fields[] = {DTP_OPTIONAL(attrs_t, axis, 0),
                                                DTP_WORD(attrs_t, reduction, reductions)};
static const dtp_op_field_t scatter_nd_fields[] = {DTP_WORD(attrs_t, reduction, reductions)};

static dnnl_tp_status_t check_ids(const dtp_infer_t *c) {
    const info_t *ids = c->in[1];
    TYPE(ids->data_type == dnnl_tp_s32 || ids->data_type == dnnl_tp_s64,
         "positions have type %s, s32 or s64 is needed", dnnl_tp_dt2str(ids->data_type));
    return dnnl_tp_success;
}

static bool room_for(int ndims) { return ndims <= DNNL_TP_MAX_NDIMS; }

static dnnl_tp_status_t take_infer(const dtp_infer_t *c) {
    const info_t *x = c->in[0], *ids = c->in[1];
    int axis;
    DTP_TRY(check_ids(c));
    DTP_TRY(dtp_infer_axis(c, "axis", ((const attrs_t *)c->attrs)->axis, x->ndims, &axis));
    const int nd = x->ndims - 1 + ids->ndims;
    SHAPE(room_for(nd), "the result has %d dimensions, at most %d are allowed", nd, DNNL_TP_MAX_NDIMS);
    info_t *o = c->out;
    o->data_type = x->data_type;
    o->ndims = nd;
    memcpy(o->dims, x->dims, sizeof(int64_t) * (size_t)axis);
    memcpy(o->dims + axis, ids->dims, sizeof(int64_t) * (size_t)ids->ndims);
    memcpy(o->dims + axis + ids->ndims, x->dims + axis + 1, sizeof(int64_t) * (size_t)(x->ndims - axis - 1));
    return dnnl_tp_success;
}

/* Of a list of integers, which shapes may be made of. */
static bool take_values(const dtp_infer_t *c, int64_t *values) {
    const info_t *x = c->in[0];
    if (x->ndims != 1 || !c->known[0] || !c->known[1]) return false;
    const int64_t n = dtp_info_nelems(c->out), all = x->dims[0];
    for (int64_t i = 0; i < n; ++i) {
        const int64_t id = c->known[1][i];
        if (id < -all || id >= all) return false; /* the run says so */
        values[i] = c->known[0][id < 0 ? id + all : id];
    }
    return true;
}

/* Positions of elements: as many dimensions as the data, and beside the axis no more elements. */
static dnnl_tp_status_t check_elements(const dtp_infer_t *c) {
    const info_t *x = c->in[0], *ids = c->in[1];
    char tx[DTP_SHAPE_TEXT], ti[DTP_SHAPE_TEXT];
    int axis;
    DTP_TRY(check_ids(c));
    DTP_TRY(dtp_infer_axis(c, "axis", ((const attrs_t *)c->attrs)->axis, x->ndims, &axis));
    bool fits = x->ndims == ids->ndims;
    for (int d = 0; fits && d < x->ndims; ++d)
        fits = d == axis || dtp_dims_fit(x->dims[d], ids->dims[d]) || ids->dims[d] < x->dims[d];
    SHAPE(fits, "positions %s do not fit src %s along axis %d", dtp_info_text(ids, ti), dtp_info_text(x, tx),
          axis);
    return dnnl_tp_success;
}

static dnnl_tp_status_t gather_elements_infer(const dtp_infer_t *c) {
    DTP_TRY(check_elements(c));
    *c->out = *c->in[1];
    c->out->data_type = c->in[0]->data_type;
    return dnnl_tp_success;
}

static dnnl_tp_status_t check_nd(const dtp_infer_t *c, int64_t batch, int64_t *depth) {
    const info_t *x = c->in[0], *ids = c->in[1];
    char tx[DTP_SHAPE_TEXT], ti[DTP_SHAPE_TEXT];
    DTP_TRY(check_ids(c));
    SHAPE(ids->ndims >= 1, "positions %s need a dimension", dtp_info_text(ids, ti));
    *depth = ids->dims[ids->ndims - 1];
    SHAPE(*depth >= 0, "the last dimension of positions %s has to be known", dtp_info_text(ids, ti));
    ATTR(batch >= 0 && batch < ids->ndims, "batch_dims is %lld, positions have %d dimensions",
         (long long)batch, ids->ndims);
    SHAPE(batch + *depth <= x->ndims, "positions %s do not fit src %s", dtp_info_text(ids, ti),
          dtp_info_text(x, tx));
    for (int d = 0; d < (int)batch; ++d)
        SHAPE(dtp_dims_fit(x->dims[d], ids->dims[d]), "positions %s do not fit src %s",
              dtp_info_text(ids, ti), dtp_info_text(x, tx));
    return dnnl_tp_success;
}

/* Dimensions of positions but the last, then those of the data that no component tells. */
static dnnl_tp_status_t nd_rows(const dtp_infer_t *c, int64_t batch, int64_t depth, info_t *o) {
    const info_t *x = c->in[0], *ids = c->in[1];
    const int from = (int)(batch + depth), nd = ids->ndims - 1 + x->ndims - from;
    SHAPE(room_for(nd), "the rows have %d dimensions, at most %d are allowed", nd, DNNL_TP_MAX_NDIMS);
    o->data_type = x->data_type;
    o->ndims = nd;
    memcpy(o->dims, ids->dims, sizeof(int64_t) * (size_t)(ids->ndims - 1));
    memcpy(o->dims + ids->ndims - 1, x->dims + from, sizeof(int64_t) * (size_t)(x->ndims - from));
    return dnnl_tp_success;
}

static dnnl_tp_status_t gather_nd_infer(const dtp_infer_t *c) {
    const int64_t batch = ((const attrs_t *)c->attrs)->batch_dims;
    int64_t depth;
    DTP_TRY(check_nd(c, batch, &depth));
    return nd_rows(c, batch, depth, c->out);
}

/* Positions and weights {T, B, ...}. */
static dnnl_tp_status_t gather_sum_infer(const dtp_infer_t *c) {
    const info_t *x = c->in[0], *ids = c->in[1], *w = c->in[2];
    enum { MOST_TAPS = 1 << 20 };
    char tx[DTP_SHAPE_TEXT], ti[DTP_SHAPE_TEXT], tw[DTP_SHAPE_TEXT];
    DTP_TRY(check_ids(c));
    TYPE(x->data_type == dnnl_tp_f32 && w->data_type == dnnl_tp_f32,
         "src and weights have types %s and %s, f32 is needed", dnnl_tp_dt2str(x->data_type),
         dnnl_tp_dt2str(w->data_type));
    bool fits =
        x->ndims == 3 && ids->ndims >= 2 && ids->ndims == w->ndims && dtp_dims_fit(x->dims[0], ids->dims[1]);
    for (int d = 0; fits && d < ids->ndims; ++d) fits = dtp_dims_fit(ids->dims[d], w->dims[d]);
    SHAPE(fits, "positions %s and weights %s do not fit src %s", dtp_info_text(ids, ti), dtp_info_text(w, tw),
          dtp_info_text(x, tx));
    SHAPE(ids->dims[0] <= MOST_TAPS, "positions %s have more than %d rows for one", dtp_info_text(ids, ti),
          MOST_TAPS);
    info_t *o = c->out;
    o->data_type = x->data_type;
    o->ndims = ids->ndims;
    memcpy(o->dims, ids->dims + 1, sizeof(int64_t) * (size_t)(ids->ndims - 1));
    o->dims[o->ndims - 1] = x->dims[2];
    return dnnl_tp_success;
}

/* Rows of a scatter have this shape and the type of the data. */
static dnnl_tp_status_t check_rows(const dtp_infer_t *c, const info_t *want) {
    const info_t *x = c->in[0], *rows = c->in[2];
    char tr[DTP_SHAPE_TEXT], tw[DTP_SHAPE_TEXT];
    TYPE(rows->data_type == x->data_type, "rows have type %s, src %s", dnnl_tp_dt2str(rows->data_type),
         dnnl_tp_dt2str(x->data_type));
    TYPE(((const attrs_t *)c->attrs)->reduction.at == 0 ||
             (x->data_type != dnnl_tp_boolean && x->data_type != dnnl_tp_bf16 && x->data_type != dnnl_tp_f16),
         "src has type %s, f32, f64 or integers are combined", dnnl_tp_dt2str(x->data_type));
    bool fits = rows->ndims == want->ndims;
    for (int d = 0; fits && d < rows->ndims; ++d) fits = dtp_dims_fit(rows->dims[d], want->dims[d]);
    SHAPE(fits, "rows are %s, needed are %s", dtp_info_text(rows, tr), dtp_info_text(want, tw));
    *c->out = *x;
    return dnnl_tp_success;
}

static dnnl_tp_status_t scatter_elements_infer(const dtp_infer_t *c) {
    DTP_TRY(check_elements(c));
    return check_rows(c, c->in[1]);
}

static dnnl_tp_status_t scatter_nd_infer(const dtp_infer_t *c) {
    int64_t depth;
    info_t want = {0};
    DTP_TRY(check_nd(c, 0, &depth));
    DTP_TRY(nd_rows(c, 0, depth, &want));
    return check_rows(c, &want);
}

/* ---- Lowering ------------------------------------------------------------------------------------------------ */

/* The step: data, positions, rows of scatters, all dense. */
static dnnl_tp_status_t new_step(dtp_lower_t *l, dtp_ir_node_t *n, dtp_indexed_desc_t **desc,
                                 dtp_step_t **step) {
    dtp_view_t p[DTP_INDEXED_DST];
    dtp_step_t *s;
    for (int i = 0; i < n->nin; ++i) DTP_TRY(dtp_view_dense(l, n->in[i], &p[i]));
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_indexed_desc_t), DTP_KIND_INDEXED, DTP_INDEXED_NARGS, &s));
    dtp_indexed_desc_t *d = (dtp_indexed_desc_t *)s->op;
    dtp_md_t *const md[] = {&d->data, &d->ids, &d->rows};
    for (int i = 0; i < n->nin; ++i) {
        const int64_t elems = dtp_info_nelems(dtp_info(l, n->in[i]));
        DTP_TRY(dtp_md_init_strides(md[i], 1, &elems, dtp_info(l, n->in[i])->data_type, NULL));
        s->arg[DTP_INDEXED_DATA + i] = dtp_view_arg(&p[i]);
    }
    for (int i = n->nin; i < DTP_INDEXED_DST; ++i) s->arg[DTP_INDEXED_DATA + i].buf = -1;
    const int64_t elems = dtp_info_nelems(dtp_info(l, n->out[0]));
    DTP_TRY(dtp_md_init_strides(&d->dst, 1, &elems, dtp_info(l, n->out[0])->data_type, NULL));
    DTP_TRY(dtp_view_new(l, n->out[0]));
    s->arg[DTP_INDEXED_DST] = dtp_written_arg(l, n->out[0]);
    d->what = n->nin == DTP_INDEXED_DST ? DTP_INDEXED_SET + ((const attrs_t *)n->attrs)->reduction.at
                                        : DTP_INDEXED_GATHER;
    d->nwidth = 1;
    d->width[0] = 1;
    *desc = d;
    *step = s;
    return dnnl_tp_success;
}

static void add_loop(dtp_indexed_desc_t *d, int64_t n, int64_t data_stride, int64_t id_stride) {
    d->loops[d->nloops] = n;
    d->data_strides[d->nloops] = data_stride;
    d->id_strides[d->nloops++] = id_stride;
}

static dnnl_tp_status_t take_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    const info_t *x = dtp_info(l, n->in[0]);
    const int axis = dtp_axis(((const attrs_t *)n->attrs)->axis, x->ndims);
    dtp_indexed_desc_t *d;
    dtp_step_t *s;
    DTP_TRY(new_step(l, n, &d, &s));
    d->width[0] = dtp_info_product(x, axis + 1, x->ndims);
    d->ncomponents = 1;
    d->limits[0] = x->dims[axis];
    d->step_strides[0] = d->width[0];
    add_loop(d, dtp_info_product(x, 0, axis), x->dims[axis] * d->width[0], 0);
    add_loop(d, dtp_info_nelems(dtp_info(l, n->in[1])), 0, 1);
    return dnnl_tp_success;
}

static dnnl_tp_status_t elements_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    const info_t *x = dtp_info(l, n->in[0]), *ids = dtp_info(l, n->in[1]);
    const int axis = dtp_axis(((const attrs_t *)n->attrs)->axis, x->ndims);
    int64_t xs[DNNL_TP_MAX_NDIMS], is[DNNL_TP_MAX_NDIMS];
    dtp_indexed_desc_t *d;
    dtp_step_t *s;
    DTP_TRY(new_step(l, n, &d, &s));
    dtp_dense_strides(x->ndims, x->dims, xs);
    dtp_dense_strides(ids->ndims, ids->dims, is);
    d->ncomponents = 1;
    d->limits[0] = x->dims[axis];
    d->step_strides[0] = xs[axis];
    for (int k = 0; k < ids->ndims; ++k) add_loop(d, ids->dims[k], k == axis ? 0 : xs[k], is[k]);
    return dnnl_tp_success;
}

static dnnl_tp_status_t nd_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    const info_t *x = dtp_info(l, n->in[0]), *ids = dtp_info(l, n->in[1]);
    const int batch = (int)((const attrs_t *)n->attrs)->batch_dims;
    const int64_t depth = ids->dims[ids->ndims - 1];
    int64_t xs[DNNL_TP_MAX_NDIMS];
    dtp_indexed_desc_t *d;
    dtp_step_t *s;
    DTP_TRY(new_step(l, n, &d, &s));
    dtp_dense_strides(x->ndims, x->dims, xs);
    d->width[0] = dtp_info_product(x, batch + (int)depth, x->ndims);
    d->ncomponents = (int)depth;
    for (int k = 0; k < (int)depth; ++k) {
        d->limits[k] = x->dims[batch + k];
        d->step_strides[k] = xs[batch + k];
    }
    const int64_t each = dtp_info_product(ids, batch, ids->ndims - 1);
    add_loop(d, dtp_info_product(x, 0, batch), dtp_info_product(x, batch, x->ndims), each * depth);
    add_loop(d, each, 0, depth);
    return dnnl_tp_success;
}

static dnnl_tp_status_t gather_sum_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    const info_t *x = dtp_info(l, n->in[0]), *ids = dtp_info(l, n->in[1]);
    dtp_indexed_desc_t *d;
    dtp_step_t *s;
    DTP_TRY(new_step(l, n, &d, &s));
    const int64_t each = dtp_info_product(ids, 2, ids->ndims);
    d->what = DTP_INDEXED_SUM;
    d->ntaps = (int)ids->dims[0];
    d->width[0] = x->dims[2];
    d->ncomponents = 1;
    d->limits[0] = x->dims[1];
    d->step_strides[0] = x->dims[2];
    add_loop(d, x->dims[0], x->dims[1] * x->dims[2], each);
    add_loop(d, each, 0, 1);
    return dnnl_tp_success;
}

#define CLASS(name, fields, infer, values, lower)                                                         \
    const dtp_op_class_t dtp_class_##name =                                                               \
        DTP_OP_CLASS(attrs_t, DTP_FIELDS(fields), 0, 0, 1 | 1 << 2, dtp_one_result, infer, values, lower, \
                     DTP_NO_CUT, DTP_NO_POST)
CLASS(take, along_fields, take_infer, take_values, take_lower);
CLASS(gather_elements, along_fields, gather_elements_infer, DTP_NO_VALUES, elements_lower);
CLASS(gather_nd, nd_fields, gather_nd_infer, DTP_NO_VALUES, nd_lower);
CLASS(scatter_elements, scatter_fields, scatter_elements_infer, DTP_NO_VALUES, elements_lower);
CLASS(scatter_nd, scatter_nd_fields, scatter_nd_infer, DTP_NO_VALUES, nd_lower);
const dtp_op_class_t dtp_class_gather_sum =
    DTP_OP_CLASS(attrs_t, DTP_NO_FIELDS, 0, 0, DTP_NO_BF16, dtp_one_result, gather_sum_infer, DTP_NO_VALUES,
                 gather_sum_lower, DTP_NO_CUT, DTP_NO_POST);
