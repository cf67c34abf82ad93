/* Shape and type inference, one function per class of operators.
 *
 * The same code runs when an operator is added (dimensions may be unknown: DNNL_TP_RUNTIME_DIM_VAL) and when
 * the graph is compiled for given shapes (all are known), so a mistake is always reported at its operator. */
#include "exec/graph/op.h"

#include "common/layout/memory_desc.h"

typedef dnnl_tp_tensor_info_t info_t;
typedef struct {
    dtp_op_id_t id;
    const dtp_op_attrs_t *a;
    int nin;
    const info_t *const *in;
    info_t *out;
} ctx_t;

static const int64_t UNKNOWN = DNNL_TP_RUNTIME_DIM_VAL;

/* Every refusal names the operator first. */
#define CHECK(cond, status, reason, format, ...)                                                            \
    do {                                                                                                    \
        if (!(cond)) {                                                                                      \
            (void)dtp_fail(dnnl_tp_##status, DTP_GRAPH_##reason, "operator '%s' (%s): " format, c->id.name, \
                           c->id.kind, __VA_ARGS__);                                                        \
            return dnnl_tp_##status; /* a constant, so that compilers see the failure */                    \
        }                                                                                                   \
    } while (0)
#define SHAPE(cond, format, ...) CHECK(cond, invalid_shape, SHAPE, format, __VA_ARGS__)
#define TYPE(cond, format, ...) CHECK(cond, invalid_data_type, DATA_TYPE, format, __VA_ARGS__)
#define ATTR(cond, format, ...) CHECK(cond, invalid_graph_op, BAD_ATTR, format, __VA_ARGS__)
#define ARITY(cond, format, ...) CHECK(cond, invalid_graph_op, BAD_ARITY, format, __VA_ARGS__)

static bool is_float(dnnl_tp_data_type_t t) {
    return t == dnnl_tp_f32 || t == dnnl_tp_bf16 || t == dnnl_tp_f16 || t == dnnl_tp_f64;
}
static bool fits(int64_t a, int64_t b) { return a == b || a == UNKNOWN || b == UNKNOWN; }

static dnnl_tp_status_t axis_of(const ctx_t *c, const char *what, int64_t axis, int ndims, int *out) {
    ATTR(axis >= -ndims && axis < ndims, "%s %lld is outside %d..%d", what, (long long)axis, -ndims,
         ndims - 1);
    *out = (int)(axis < 0 ? axis + ndims : axis);
    return dnnl_tp_success;
}

static dnnl_tp_status_t unary(const ctx_t *c) {
    TYPE(is_float(c->in[0]->data_type), "src has type %s, a floating-point type is needed",
         dnnl_tp_dt2str(c->in[0]->data_type));
    *c->out = *c->in[0];
    return dnnl_tp_success;
}

/* numpy rules: aligned at the last dimension, 1 stretches. */
static dnnl_tp_status_t binary(const ctx_t *c) {
    const info_t *x = c->in[0], *y = c->in[1];
    char tx[DTP_SHAPE_TEXT], ty[DTP_SHAPE_TEXT];
    TYPE(x->data_type == y->data_type, "src0 has type %s, src1 %s", dnnl_tp_dt2str(x->data_type),
         dnnl_tp_dt2str(y->data_type));
    TYPE(is_float(x->data_type), "type %s is not a floating-point type", dnnl_tp_dt2str(x->data_type));
    int n = x->ndims > y->ndims ? x->ndims : y->ndims;
    c->out->ndims = n;
    c->out->data_type = x->data_type;
    for (int d = 0; d < n; ++d) {
        int dx = d - (n - x->ndims), dy = d - (n - y->ndims);
        int64_t a = dx < 0 ? 1 : x->dims[dx], b = dy < 0 ? 1 : y->dims[dy], r;
        if (a == b) r = a;
        else if (a == 1) r = b;
        else if (b == 1) r = a;
        else {
            SHAPE(a == UNKNOWN || b == UNKNOWN, "%s and %s do not broadcast", dtp_info_text(x, tx),
                  dtp_info_text(y, ty));
            r = a == UNKNOWN ? b : a;
        }
        c->out->dims[d] = r;
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t bias_add(const ctx_t *c) {
    const info_t *x = c->in[0], *b = c->in[1];
    char tx[DTP_SHAPE_TEXT], tb[DTP_SHAPE_TEXT];
    DTP_TRY(unary(c));
    TYPE(b->data_type == x->data_type, "bias has type %s, src %s", dnnl_tp_dt2str(b->data_type),
         dnnl_tp_dt2str(x->data_type));
    SHAPE(x->ndims >= 1 && b->ndims == 1 && fits(b->dims[0], x->dims[x->ndims - 1]),
          "bias %s does not fit the last dimension of src %s", dtp_info_text(b, tb), dtp_info_text(x, tx));
    return dnnl_tp_success;
}

static dnnl_tp_status_t concat(const ctx_t *c) {
    int axis;
    char t0[DTP_SHAPE_TEXT], ti[DTP_SHAPE_TEXT];
    DTP_TRY(axis_of(c, "axis", c->a->axis, c->in[0]->ndims, &axis));
    *c->out = *c->in[0];
    for (int i = 1; i < c->nin; ++i) {
        const info_t *x = c->in[i];
        TYPE(x->data_type == c->in[0]->data_type, "src %d has type %s, src 0 %s", i,
             dnnl_tp_dt2str(x->data_type), dnnl_tp_dt2str(c->in[0]->data_type));
        bool ok = x->ndims == c->in[0]->ndims;
        for (int d = 0; ok && d < x->ndims; ++d) {
            if (d == axis) continue;
            ok = fits(x->dims[d], c->out->dims[d]);
            if (c->out->dims[d] == UNKNOWN) c->out->dims[d] = x->dims[d];
        }
        SHAPE(ok, "src %d %s does not fit src 0 %s along axis %d", i, dtp_info_text(x, ti),
              dtp_info_text(c->in[0], t0), axis);
        int64_t *sum = &c->out->dims[axis];
        *sum = *sum == UNKNOWN || x->dims[axis] == UNKNOWN ? UNKNOWN : *sum + x->dims[axis];
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t norm(const ctx_t *c, int begin, int nparam) {
    const info_t *x = c->in[0];
    char tx[DTP_SHAPE_TEXT], tp[DTP_SHAPE_TEXT];
    static const char *const names[] = {"scale", "shift"};
    for (int i = 0; i < nparam; ++i) {
        const info_t *p = c->in[1 + i];
        ARITY(p, "%s is absent", names[i]);
        TYPE(p->data_type == dnnl_tp_f32, "%s has type %s, f32 is needed", names[i],
             dnnl_tp_dt2str(p->data_type));
        int n = x->ndims - begin;
        bool ok = p->ndims == n;
        for (int d = 0; ok && d < n; ++d) ok = fits(p->dims[d], x->dims[begin + d]);
        SHAPE(ok, "%s %s does not fit the normalised dimensions of src %s", names[i], dtp_info_text(p, tp),
              dtp_info_text(x, tx));
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t layer_norm(const ctx_t *c) {
    int begin;
    DTP_TRY(unary(c));
    DTP_TRY(axis_of(c, "begin_norm_axis", c->a->begin_norm_axis, c->in[0]->ndims, &begin));
    bool affine = c->a->set & DTP_A_USE_AFFINE ? c->a->use_affine : c->nin > 1;
    ARITY(c->nin == (affine ? 3 : 1), "got %d inputs, needs %d (%s scale and shift)", c->nin, affine ? 3 : 1,
          affine ? "with" : "without");
    return norm(c, begin, affine ? 2 : 0);
}

static dnnl_tp_status_t rms_norm(const ctx_t *c) {
    int begin;
    DTP_TRY(unary(c));
    DTP_TRY(axis_of(c, "begin_norm_axis", c->a->begin_norm_axis, c->in[0]->ndims, &begin));
    return norm(c, begin, c->nin - 1);
}

static dnnl_tp_status_t matmul(const ctx_t *c) {
    const info_t *a = c->in[0], *b = c->in[1];
    char ta[DTP_SHAPE_TEXT], tb[DTP_SHAPE_TEXT];
    TYPE(is_float(a->data_type) && a->data_type == b->data_type, "src has type %s, weights %s",
         dnnl_tp_dt2str(a->data_type), dnnl_tp_dt2str(b->data_type));
    SHAPE(a->ndims >= 1 && b->ndims >= 1, "src %s and weights %s need at least one dimension",
          dtp_info_text(a, ta), dtp_info_text(b, tb));
    /* One dimension: a row for src, a column for weights; it does not appear in the result. */
    int na = a->ndims < 2 ? 2 : a->ndims, nb = b->ndims < 2 ? 2 : b->ndims;
    int64_t m = a->ndims < 2 ? 1 : a->dims[na - (c->a->transpose_a ? 1 : 2)];
    int64_t ka = a->ndims < 2 ? a->dims[0] : a->dims[na - (c->a->transpose_a ? 2 : 1)];
    int64_t kb = b->ndims < 2 ? b->dims[0] : b->dims[nb - (c->a->transpose_b ? 1 : 2)];
    int64_t n = b->ndims < 2 ? 1 : b->dims[nb - (c->a->transpose_b ? 2 : 1)];
    SHAPE(fits(ka, kb), "src %s%s and weights %s%s differ in the dimension that is summed",
          dtp_info_text(a, ta), c->a->transpose_a ? " transposed" : "", dtp_info_text(b, tb),
          c->a->transpose_b ? " transposed" : "");
    info_t *o = c->out;
    o->data_type = a->data_type;
    int nd = na > nb ? na : nb, k = 0;
    for (int d = 0; d < nd - 2; ++d) {
        int da = d - (nd - na), db = d - (nd - nb);
        int64_t x = da < 0 ? 1 : a->dims[da], y = db < 0 ? 1 : b->dims[db];
        SHAPE(fits(x, y) || x == 1 || y == 1, "batch dimensions of src %s and weights %s do not broadcast",
              dtp_info_text(a, ta), dtp_info_text(b, tb));
        o->dims[k++] = x == 1 ? y : y == 1 || y == UNKNOWN ? x : y;
    }
    if (a->ndims > 1) o->dims[k++] = m;
    if (b->ndims > 1) o->dims[k++] = n;
    o->ndims = k;
    if (c->nin == 3) {
        const info_t *bias = c->in[2];
        TYPE(bias->data_type == a->data_type, "bias has type %s, src %s", dnnl_tp_dt2str(bias->data_type),
             dnnl_tp_dt2str(a->data_type));
        SHAPE(b->ndims > 1 && bias->ndims == 1 && fits(bias->dims[0], n),
              "bias %s does not fit the columns of weights %s", dtp_info_text(bias, ta),
              dtp_info_text(b, tb));
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t reduce(const ctx_t *c) {
    const info_t *x = c->in[0];
    bool gone[DNNL_TP_MAX_NDIMS] = {false};
    DTP_TRY(unary(c));
    if (!(c->a->set & DTP_A_AXES))
        for (int d = 0; d < x->ndims; ++d) gone[d] = true;
    for (int i = 0; i < c->a->nlist; ++i) {
        int axis;
        DTP_TRY(axis_of(c, "axis", c->a->list[i], x->ndims, &axis));
        ATTR(!gone[axis], "axis %d is given twice", axis);
        gone[axis] = true;
    }
    memset(c->out->dims, 0, sizeof c->out->dims);
    int k = 0;
    for (int d = 0; d < x->ndims; ++d) {
        if (!gone[d]) c->out->dims[k++] = x->dims[d];
        else if (c->a->keep_dims) c->out->dims[k++] = 1;
    }
    c->out->ndims = k;
    return dnnl_tp_success;
}

static dnnl_tp_status_t softmax(const ctx_t *c) {
    int axis;
    DTP_TRY(unary(c));
    return axis_of(c, "axis", c->a->axis, c->in[0]->ndims, &axis);
}

static dnnl_tp_status_t reshape(const ctx_t *c) {
    const info_t *x = c->in[0];
    char tx[DTP_SHAPE_TEXT], to[DTP_SHAPE_TEXT];
    info_t *o = c->out;
    o->data_type = x->data_type;
    o->ndims = c->a->nlist;
    int infer_at = -1;
    for (int d = 0; d < o->ndims; ++d) {
        int64_t v = c->a->list[d];
        ATTR(v >= -1, "shape has the dimension %lld", (long long)v);
        if (v == 0 && c->a->special_zero) {
            ATTR(d < x->ndims, "shape copies dimension %d, src %s has none", d, dtp_info_text(x, tx));
            v = x->dims[d];
        }
        if (v == -1) {
            ATTR(infer_at < 0, "shape has two unknown dimensions (%d and %d)", infer_at, d);
            infer_at = d;
            v = 1;
        }
        o->dims[d] = v;
    }
    int64_t have = dtp_info_nelems(x), want = dtp_info_nelems(o);
    if (infer_at >= 0) {
        if (have < 0 || want < 0) {
            o->dims[infer_at] = UNKNOWN;
            return dnnl_tp_success;
        }
        SHAPE(want > 0 && have % want == 0, "src %s cannot have the shape %s", dtp_info_text(x, tx),
              dtp_info_text(o, to));
        o->dims[infer_at] = have / want;
    } else {
        SHAPE(have < 0 || want < 0 || have == want, "src %s cannot have the shape %s", dtp_info_text(x, tx),
              dtp_info_text(o, to));
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t transpose(const ctx_t *c) {
    const info_t *x = c->in[0];
    unsigned seen = 0;
    ATTR(c->a->nlist == x->ndims, "order has %d elements, src %d dimensions", c->a->nlist, x->ndims);
    c->out->ndims = x->ndims;
    c->out->data_type = x->data_type;
    for (int d = 0; d < x->ndims; ++d) {
        int from;
        DTP_TRY(axis_of(c, "order", c->a->list[d], x->ndims, &from));
        ATTR(!(seen >> from & 1), "order names dimension %d twice", from);
        seen |= 1u << from;
        c->out->dims[d] = x->dims[from];
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t gather(const ctx_t *c) {
    const info_t *t = c->in[0], *ids = c->in[1];
    char tt[DTP_SHAPE_TEXT];
    TYPE(ids->data_type == dnnl_tp_s32 || ids->data_type == dnnl_tp_s64,
         "ids have type %s, s32 or s64 is needed", dnnl_tp_dt2str(ids->data_type));
    SHAPE(t->ndims == 2, "table %s needs two dimensions", dtp_info_text(t, tt));
    SHAPE(ids->ndims < DNNL_TP_MAX_NDIMS, "ids have %d dimensions, at most %d are allowed", ids->ndims,
          DNNL_TP_MAX_NDIMS - 1);
    *c->out = *ids;
    c->out->data_type = t->data_type;
    c->out->dims[c->out->ndims++] = t->dims[1];
    return dnnl_tp_success;
}

/* {n + 1} s32, with x packed {T, H}. */
static dnnl_tp_status_t offsets_check(const ctx_t *c, const info_t *x, const info_t *o) {
    char tx[DTP_SHAPE_TEXT], to[DTP_SHAPE_TEXT];
    TYPE(o->data_type == dnnl_tp_s32, "offsets have type %s, s32 is needed", dnnl_tp_dt2str(o->data_type));
    SHAPE(o->ndims == 1 && (o->dims[0] == UNKNOWN || o->dims[0] >= 1),
          "offsets are %s, {sequences + 1} is needed", dtp_info_text(o, to));
    SHAPE(x->ndims == 2, "with offsets src must be packed {tokens, features}, not %s", dtp_info_text(x, tx));
    return dnnl_tp_success;
}

static dnnl_tp_status_t mask_check(const ctx_t *c, const info_t *x, const info_t *m) {
    char tx[DTP_SHAPE_TEXT], tm[DTP_SHAPE_TEXT];
    TYPE(m->data_type == dnnl_tp_f32, "mask has type %s, f32 is needed", dnnl_tp_dt2str(m->data_type));
    SHAPE(x->ndims == 3, "with a mask src must be {batch, sequence, features}, not %s", dtp_info_text(x, tx));
    bool flat = m->ndims == 2 && fits(m->dims[0], x->dims[0]) && fits(m->dims[1], x->dims[1]);
    bool four = m->ndims == 4 && fits(m->dims[0], x->dims[0]) && fits(m->dims[1], 1) && fits(m->dims[2], 1) &&
                fits(m->dims[3], x->dims[1]);
    SHAPE(flat || four, "mask %s does not fit src %s", dtp_info_text(m, tm), dtp_info_text(x, tx));
    return dnnl_tp_success;
}

static dnnl_tp_status_t attention(const ctx_t *c) {
    const info_t *q = c->in[0], *k = c->in[1], *v = c->in[2];
    const info_t *mask = c->nin > 3 ? c->in[3] : NULL, *offsets = c->nin > 4 ? c->in[4] : NULL;
    char tq[DTP_SHAPE_TEXT], tk[DTP_SHAPE_TEXT];
    DTP_TRY(unary(c));
    TYPE(q->data_type == k->data_type && q->data_type == v->data_type, "q, k and v have types %s, %s and %s",
         dnnl_tp_dt2str(q->data_type), dnnl_tp_dt2str(k->data_type), dnnl_tp_dt2str(v->data_type));
    SHAPE(q->ndims == 2 || q->ndims == 3,
          "q %s is neither {batch, sequence, features} nor {tokens, features}", dtp_info_text(q, tq));
    for (int i = 1; i < 3; ++i) {
        bool ok = c->in[i]->ndims == q->ndims;
        for (int d = 0; ok && d < q->ndims; ++d) {
            ok = fits(c->in[i]->dims[d], q->dims[d]);
            if (c->out->dims[d] == UNKNOWN) c->out->dims[d] = c->in[i]->dims[d];
        }
        SHAPE(ok, "%s %s does not have the shape of q %s", i == 1 ? "k" : "v", dtp_info_text(c->in[i], tk),
              dtp_info_text(q, tq));
    }
    int64_t width = c->out->dims[q->ndims - 1];
    ATTR(c->a->heads >= 1 && c->a->heads <= INT32_MAX, "heads is %lld", (long long)c->a->heads);
    SHAPE(width == UNKNOWN || width % c->a->heads == 0, "%lld features are not a multiple of %lld heads",
          (long long)width, (long long)c->a->heads);
    ARITY(!mask || !offsets, "mask and offsets exclude each other%s", "");
    if (mask) DTP_TRY(mask_check(c, k, mask));
    if (offsets) DTP_TRY(offsets_check(c, q, offsets));
    return dnnl_tp_success;
}

static dnnl_tp_status_t pool(const ctx_t *c) {
    const info_t *x = c->in[0], *mask = c->nin > 1 ? c->in[1] : NULL, *offsets = c->nin > 2 ? c->in[2] : NULL;
    char tx[DTP_SHAPE_TEXT];
    DTP_TRY(unary(c));
    SHAPE(x->ndims == 2 || x->ndims == 3,
          "src %s is neither {batch, sequence, features} nor {tokens, features}", dtp_info_text(x, tx));
    ARITY(!mask || !offsets, "mask and offsets exclude each other%s", "");
    if (mask) DTP_TRY(mask_check(c, x, mask));
    if (offsets) DTP_TRY(offsets_check(c, x, offsets));
    memset(c->out->dims, 0, sizeof c->out->dims);
    c->out->ndims = 2;
    c->out->dims[0] = x->ndims == 3                 ? x->dims[0]
                      : !offsets                    ? 1
                      : offsets->dims[0] == UNKNOWN ? UNKNOWN
                                                    : offsets->dims[0] - 1;
    c->out->dims[1] = x->dims[x->ndims - 1];
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_op_infer(const dtp_op_row_t *row, dtp_op_id_t id, const dtp_op_attrs_t *attrs, int nin,
                              const info_t *const *in, info_t *out) {
    static dnnl_tp_status_t (*const by_class[])(const ctx_t *) = {
        [DTP_CLASS_UNARY] = unary,           [DTP_CLASS_BINARY] = binary,
        [DTP_CLASS_BIAS_ADD] = bias_add,     [DTP_CLASS_CONCAT] = concat,
        [DTP_CLASS_LAYER_NORM] = layer_norm, [DTP_CLASS_RMS_NORM] = rms_norm,
        [DTP_CLASS_MATMUL] = matmul,         [DTP_CLASS_REDUCE] = reduce,
        [DTP_CLASS_SOFTMAX] = softmax,       [DTP_CLASS_RESHAPE] = reshape,
        [DTP_CLASS_TRANSPOSE] = transpose,   [DTP_CLASS_GATHER] = gather,
        [DTP_CLASS_ATTENTION] = attention,   [DTP_CLASS_POOL] = pool,
    };
    const ctx_t ctx = {id, attrs, nin, in, out}, *c = &ctx;
    ARITY(nin >= row->min_in && (row->max_in < 0 || nin <= row->max_in), "got %d inputs, needs %d..%d", nin,
          row->min_in, row->max_in);
    for (int i = 0; i < nin; ++i) {
        bool optional = (row->cls == DTP_CLASS_ATTENTION && i >= 3) || (row->cls == DTP_CLASS_POOL && i >= 1);
        ARITY(in[i] || optional, "input %d is absent", i);
    }
    memset(out, 0, sizeof *out);
    DTP_TRY(by_class[row->cls](c));
    for (int d = out->ndims; d < DNNL_TP_MAX_NDIMS; ++d) out->dims[d] = 0;
    return dtp_info_check(out, true, "the result of operator", id.name);
}
