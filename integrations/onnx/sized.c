/* Open sizes during an import, see sized.h. */
#include "onnx/sized.h"
#include "onnx/build.h"
#include "onnx/move.h"

#include <string.h>

/* ---- Guards ---------------------------------------------------------------------------------------------------- */

static const char *node_name(const cv_t *cv) {
    const node_proto_t *n = cv->node;
    return n->name && *n->name ? n->name : dtp_cv_result(cv);
}

void dtp_cv_too_complex(cv_t *cv) {
    if (cv->im->sizes->lacks_memory) dtp_cv_fail(cv, dnnl_tp_out_of_memory, "out of memory");
    else dtp_cv_fail(cv, dnnl_tp_unimplemented, "its sizes have no expression that is simple enough");
}

bool dtp_cv_size_is(cv_t *cv, dtp_size_t a, dtp_relation_t relation, dtp_size_t b) {
    if (cv->status) return false;
    const int is = dtp_size_is(cv->im->sizes, a, relation, b, node_name(cv));
    if (is < 0) dtp_cv_too_complex(cv);
    return is > 0;
}

void dtp_cv_guard(cv_t *cv, dtp_size_t size) {
    dtp_sizes_t *s = cv->im->sizes;
    if (cv->status || dtp_size_is_number(s, size)) return;
    (void)dtp_cv_size_is(cv, size, DTP_SIZE_EQUAL, dtp_size_number(s, dtp_size_hint(s, size)));
}

void dtp_cv_guard_sizes(cv_t *cv, val_t *x) {
    for (int d = 0; x->sizes && d < x->info.ndims; ++d) dtp_cv_guard(cv, x->sizes[d]);
    x->sizes = NULL;
}

void dtp_cv_guard_elems(cv_t *cv, val_t *x) {
    const int64_t n = x->elems ? dtp_val_elems(x) : 0;
    for (int64_t i = 0; i < n; ++i) dtp_cv_guard(cv, x->elems[i]);
    x->elems = NULL;
}

/* ---- Sizes of tensors ------------------------------------------------------------------------------------------ */

dtp_size_t dtp_cv_size(cv_t *cv, const val_t *x, int d) {
    return x->sizes ? x->sizes[d] : dtp_size_number(cv->im->sizes, x->info.dims[d]);
}

void dtp_cv_set_sizes(cv_t *cv, val_t *x, int ndims, const dtp_size_t *sizes) {
    const dtp_sizes_t *s = cv->im->sizes;
    bool open = false;
    for (int d = 0; d < ndims && !cv->status; ++d) {
        if (sizes[d] < 0 || dtp_size_hint(s, sizes[d]) < 0) dtp_cv_too_complex(cv);
        else {
            x->info.dims[d] = dtp_size_hint(s, sizes[d]);
            open |= !dtp_size_is_number(s, sizes[d]);
        }
    }
    dtp_size_t *copy = open ? dtp_cv_alloc(cv, (size_t)ndims * sizeof *copy) : NULL;
    if (copy) memcpy(copy, sizes, (size_t)ndims * sizeof *copy);
    x->info.ndims = ndims;
    x->sizes = copy;
}

/* ---- Sizes of results ------------------------------------------------------------------------------------------ */

/* An operator that was added to the graph, and the sizes of its result. */
typedef struct {
    cv_t *cv;
    int nin, nattr;
    val_t *const *in;
    const dnnl_tp_op_attr_t *attr;
    int ndims;
    dtp_size_t size[DNNL_TP_MAX_NDIMS];
} result_t;

static const dnnl_tp_op_attr_t *attr_of(const result_t *r, int key) {
    for (int i = 0; i < r->nattr; ++i)
        if ((int)r->attr[i].key == key) return &r->attr[i];
    return NULL;
}

static int64_t integer_of(const result_t *r, int key, int64_t otherwise) {
    const dnnl_tp_op_attr_t *a = attr_of(r, key);
    return !a                                ? otherwise
           : a->type == dnnl_tp_op_attr_bool ? *(const uint8_t *)a->data
                                             : *(const int64_t *)a->data;
}

static int axis_of(const result_t *r, int ndims, int64_t otherwise) {
    const int64_t axis = integer_of(r, dnnl_tp_op_attr_axis, otherwise);
    return (int)(axis < 0 ? axis + ndims : axis);
}

static void same(result_t *r, const val_t *x) {
    r->ndims = x->info.ndims;
    for (int d = 0; d < r->ndims; ++d) r->size[d] = dtp_cv_size(r->cv, x, d);
}

/* Two sizes that stand beside each other: equal, or one of them is 1. */
static dtp_size_t beside(cv_t *cv, dtp_size_t a, dtp_size_t b) {
    const dtp_sizes_t *s = cv->im->sizes;
    const dtp_size_t one = dtp_size_number(cv->im->sizes, 1);
    if (a == b || b == one) return a;
    if (a == one) return b;
    if (a < 0 || b < 0) return DTP_NO_SIZE;
    if (dtp_size_hint(s, a) == dtp_size_hint(s, b))
        return dtp_cv_size_is(cv, a, DTP_SIZE_EQUAL, b) && dtp_size_is_number(s, a) ? a : b;
    if (dtp_cv_size_is(cv, a, DTP_SIZE_EQUAL, one)) return b;
    return dtp_cv_size_is(cv, b, DTP_SIZE_EQUAL, one) ? a : DTP_NO_SIZE;
}

/* The last n dimensions of x are left out. */
static void broadcast(result_t *r, const val_t *x, int n) {
    const int nx = x->info.ndims - n, more = nx > r->ndims ? nx - r->ndims : 0;
    memmove(r->size + more, r->size, (size_t)r->ndims * sizeof *r->size);
    for (int d = 0; d < more; ++d) r->size[d] = dtp_size_number(r->cv->im->sizes, 1);
    r->ndims += more;
    for (int d = 0; d < nx; ++d) {
        dtp_size_t *to = &r->size[r->ndims - nx + d];
        *to = beside(r->cv, *to, dtp_cv_size(r->cv, x, d));
    }
}

static bool matmul(result_t *r) {
    const val_t *x = r->in[0], *w = r->in[1];
    const int nx = x->info.ndims, nw = w->info.ndims;
    if (nx < 2 || nw < 2) return false;
    broadcast(r, x, 2);
    broadcast(r, w, 2);
    r->size[r->ndims++] = dtp_cv_size(r->cv, x, nx - (integer_of(r, dnnl_tp_op_attr_transpose_a, 0) ? 1 : 2));
    r->size[r->ndims++] = dtp_cv_size(r->cv, w, nw - (integer_of(r, dnnl_tp_op_attr_transpose_b, 0) ? 2 : 1));
    return true;
}

static bool reduce(result_t *r) {
    const dnnl_tp_op_attr_t *axes = attr_of(r, dnnl_tp_op_attr_axes);
    const bool keep = integer_of(r, dnnl_tp_op_attr_keep_dims, 0) != 0;
    const int nd = r->in[0]->info.ndims;
    unsigned gone = 0;
    if (!axes) return false;
    for (int i = 0; i < axes->count; ++i) {
        const int64_t axis = ((const int64_t *)axes->data)[i];
        gone |= 1u << (axis < 0 ? axis + nd : axis);
    }
    for (int d = 0; d < nd; ++d)
        if (!(gone >> d & 1)) r->size[r->ndims++] = dtp_cv_size(r->cv, r->in[0], d);
        else if (keep) r->size[r->ndims++] = dtp_size_number(r->cv->im->sizes, 1);
    return true;
}

static bool concat(result_t *r) {
    dtp_sizes_t *s = r->cv->im->sizes;
    same(r, r->in[0]);
    const int axis = axis_of(r, r->ndims, 0);
    for (int i = 1; i < r->nin; ++i)
        for (int d = 0; d < r->ndims; ++d) {
            const dtp_size_t x = dtp_cv_size(r->cv, r->in[i], d);
            if (d == axis) r->size[d] = dtp_size_add(s, r->size[d], x);
            else if (dtp_size_is_number(s, x)) r->size[d] = x;
        }
    return true;
}

/* The dimensions of the positions in place of one of x. */
static bool take(result_t *r, int axis) {
    const val_t *x = r->in[0], *ids = r->in[1];
    if (x->info.ndims + ids->info.ndims - 1 > DNNL_TP_MAX_NDIMS) return false;
    for (int d = 0; d < x->info.ndims; ++d) {
        if (d != axis) r->size[r->ndims++] = dtp_cv_size(r->cv, x, d);
        else
            for (int k = 0; k < ids->info.ndims; ++k) r->size[r->ndims++] = dtp_cv_size(r->cv, ids, k);
    }
    return true;
}

static bool has_word(const result_t *r, int key, const char *word) {
    const dnnl_tp_op_attr_t *a = attr_of(r, key);
    return a && a->count == (int)strlen(word) && !memcmp(a->data, word, (size_t)a->count);
}

static int64_t entry(const result_t *r, int key, int i, int64_t otherwise) {
    const dnnl_tp_op_attr_t *a = attr_of(r, key);
    return a && i < a->count ? ((const int64_t *)a->data)[i] : otherwise;
}

/* Windows over {N, C, space}; kernel: their sizes. False: their number is not as simple. */
static bool windows(result_t *r, dtp_size_t channels, const int64_t *kernel) {
    enum { SPACE = 2, MOST = INT16_MAX };
    dtp_sizes_t *s = r->cv->im->sizes;
    const val_t *x = r->in[0];
    const bool none = has_word(r, dnnl_tp_op_attr_auto_pad, "none"),
               valid = has_word(r, dnnl_tp_op_attr_auto_pad, "valid");
    same(r, x);
    if (r->ndims < SPACE || has_word(r, dnnl_tp_op_attr_rounding_type, "ceil")) return false;
    r->size[1] = channels;
    for (int i = 0; i < r->ndims - SPACE; ++i) {
        const int64_t stride = entry(r, dnnl_tp_op_attr_strides, i, 1), k = kernel[i],
                      dilation = entry(r, dnnl_tp_op_attr_dilations, i, 1);
        int64_t more = stride - 1; /* SAME: a window for each stride that begins inside */
        if (none || valid) {
            const int64_t pads =
                valid ? 0
                      : entry(r, dnnl_tp_op_attr_pads_begin, i, 0) + entry(r, dnnl_tp_op_attr_pads_end, i, 0);
            if (k > MOST || dilation > MOST || pads > MOST || pads < -MOST) return false;
            more = pads - dilation * (k - 1) - 1 + stride;
        }
        if (stride < 1 || stride > MOST || k < 1 || dilation < 1) return false;
        const dtp_size_t by = dtp_size_number(s, stride),
                         all = dtp_size_add(s, r->size[SPACE + i], dtp_size_number(s, more));
        if (all < 0 || !dtp_cv_size_is(r->cv, by, DTP_SIZE_AT_MOST, all)) return false;
        r->size[SPACE + i] = dtp_size_divide(s, all, by);
        if (r->size[SPACE + i] < 0) return false;
    }
    return true;
}

/* Windows of every element, spread over the result; the converter has made pads of auto_pad numbers. */
static bool spread(result_t *r) {
    enum { SPACE = 2, MOST = INT16_MAX };
    dtp_sizes_t *s = r->cv->im->sizes;
    const val_t *w = r->in[1];
    if (w->sizes || !has_word(r, dnnl_tp_op_attr_auto_pad, "none")) return false;
    same(r, r->in[0]);
    r->size[1] = dtp_size_number(s, w->info.dims[0]);
    for (int i = 0; i < r->ndims - SPACE; ++i) {
        const int64_t stride = entry(r, dnnl_tp_op_attr_strides, i, 1), k = w->info.dims[SPACE + i],
                      dilation = entry(r, dnnl_tp_op_attr_dilations, i, 1),
                      pads = entry(r, dnnl_tp_op_attr_pads_begin, i, 0) +
                             entry(r, dnnl_tp_op_attr_pads_end, i, 0) -
                             entry(r, dnnl_tp_op_attr_output_padding, i, 0);
        if (stride > MOST || k > MOST || dilation > MOST || pads > MOST || pads < -MOST) return false;
        const dtp_size_t in = r->size[SPACE + i], all = dtp_size_multiply(s, in, dtp_size_number(s, stride));
        if (in < 0 || !dtp_cv_size_is(r->cv, dtp_size_number(s, 1), DTP_SIZE_AT_MOST, in)) return false;
        r->size[SPACE + i] = dtp_size_add(s, all, dtp_size_number(s, dilation * (k - 1) + 1 - stride - pads));
        if (r->size[SPACE + i] < 0) return false;
    }
    return true;
}

static bool pool(result_t *r) {
    const dnnl_tp_op_attr_t *kernel = attr_of(r, dnnl_tp_op_attr_kernel);
    return kernel && windows(r, dtp_cv_size(r->cv, r->in[0], 1), kernel->data);
}

static bool is_one_of(int kind, const int *kinds, size_t n) {
    for (size_t i = 0; i < n; ++i)
        if (kinds[i] == kind) return true;
    return false;
}
#define IS_ONE_OF(kind, kinds) is_one_of(kind, kinds, sizeof(kinds) / sizeof *(kinds))

/* Result i of an operator; false: there is no rule for the kind. */
static bool rule(result_t *r, int kind, int i) {
    /* The result has the sizes of the first input. */
    static const int same_kinds[] = {dnnl_tp_op_abs,
                                     dnnl_tp_op_clamp,
                                     dnnl_tp_op_elu,
                                     dnnl_tp_op_exp,
                                     dnnl_tp_op_gelu,
                                     dnnl_tp_op_hard_swish,
                                     dnnl_tp_op_leaky_relu,
                                     dnnl_tp_op_log,
                                     dnnl_tp_op_mish,
                                     dnnl_tp_op_reciprocal,
                                     dnnl_tp_op_relu,
                                     dnnl_tp_op_round,
                                     dnnl_tp_op_sigmoid,
                                     dnnl_tp_op_softplus,
                                     dnnl_tp_op_sqrt,
                                     dnnl_tp_op_square,
                                     dnnl_tp_op_tanh,
                                     dnnl_tp_op_hard_sigmoid,
                                     dnnl_tp_op_pow,
                                     dnnl_tp_op_erf,
                                     dnnl_tp_op_hard_tanh,
                                     dnnl_tp_op_sign,
                                     dnnl_tp_op_logical_not,
                                     dnnl_tp_op_swish,
                                     dnnl_tp_op_cumsum,
                                     dnnl_tp_op_type_cast,
                                     dnnl_tp_op_bit_not,
                                     dnnl_tp_op_floor,
                                     dnnl_tp_op_ceil,
                                     dnnl_tp_op_sin,
                                     dnnl_tp_op_cos,
                                     dnnl_tp_op_tan,
                                     dnnl_tp_op_asin,
                                     dnnl_tp_op_acos,
                                     dnnl_tp_op_atan,
                                     dnnl_tp_op_sinh,
                                     dnnl_tp_op_cosh,
                                     dnnl_tp_op_asinh,
                                     dnnl_tp_op_acosh,
                                     dnnl_tp_op_atanh,
                                     dnnl_tp_op_softmax,
                                     dnnl_tp_op_log_softmax,
                                     dnnl_tp_op_layer_norm,
                                     dnnl_tp_op_rms_norm,
                                     dnnl_tp_op_batch_norm_inference,
                                     dnnl_tp_op_local_response_norm};
    /* All inputs are broadcast. */
    static const int broadcast_kinds[] = {
        dnnl_tp_op_add,        dnnl_tp_op_divide,      dnnl_tp_op_maximum,    dnnl_tp_op_minimum,
        dnnl_tp_op_multiply,   dnnl_tp_op_subtract,    dnnl_tp_op_power,      dnnl_tp_op_logical_and,
        dnnl_tp_op_logical_or, dnnl_tp_op_logical_xor, dnnl_tp_op_select,     dnnl_tp_op_greater_equal,
        dnnl_tp_op_equal,      dnnl_tp_op_less,        dnnl_tp_op_less_equal, dnnl_tp_op_greater,
        dnnl_tp_op_modulo,     dnnl_tp_op_remainder,   dnnl_tp_op_shift_left, dnnl_tp_op_shift_right,
        dnnl_tp_op_bit_and,    dnnl_tp_op_bit_or,      dnnl_tp_op_bit_xor,    dnnl_tp_op_squared_difference};
    static const int reduce_kinds[] = {dnnl_tp_op_reduce_l1,   dnnl_tp_op_reduce_l2,  dnnl_tp_op_reduce_max,
                                       dnnl_tp_op_reduce_mean, dnnl_tp_op_reduce_min, dnnl_tp_op_reduce_prod,
                                       dnnl_tp_op_reduce_sum};
    const dnnl_tp_op_attr_t *a;
    r->ndims = 0;
    if (IS_ONE_OF(kind, same_kinds)) {
        same(r, r->in[0]);
        return true;
    }
    if (IS_ONE_OF(kind, broadcast_kinds)) {
        for (int k = 0; k < r->nin; ++k) broadcast(r, r->in[k], 0);
        return true;
    }
    if (IS_ONE_OF(kind, reduce_kinds)) return reduce(r);
    switch (kind) {
    case dnnl_tp_op_matmul: return matmul(r);
    case dnnl_tp_op_max_pool:
    case dnnl_tp_op_avg_pool: return pool(r);
    case dnnl_tp_op_convolution:
        return !r->in[1]->sizes && r->in[1]->info.ndims > 1 &&
               windows(r, dtp_cv_size(r->cv, r->in[1], 0), r->in[1]->info.dims + 2);
    case dnnl_tp_op_conv_transpose: return spread(r);
    case dnnl_tp_op_concat: return concat(r);
    case dnnl_tp_op_gather: return take(r, 0);
    case dnnl_tp_op_take: return take(r, axis_of(r, r->in[0]->info.ndims, 0));
    case dnnl_tp_op_gather_elements: same(r, r->in[1]); return true;
    case dnnl_tp_op_static_transpose:
        a = attr_of(r, dnnl_tp_op_attr_order);
        for (int d = 0; a && d < a->count; ++d)
            r->size[r->ndims++] = dtp_cv_size(r->cv, r->in[0], (int)((const int64_t *)a->data)[d]);
        return a != NULL;
    case dnnl_tp_op_split:
        a = attr_of(r, dnnl_tp_op_attr_sizes);
        same(r, r->in[0]);
        if (a)
            r->size[axis_of(r, r->ndims, 0)] =
                dtp_size_number(r->cv->im->sizes, ((const int64_t *)a->data)[i]);
        return a != NULL;
    case dnnl_tp_op_top_k:
        same(r, r->in[0]);
        r->size[axis_of(r, r->ndims, -1)] =
            dtp_size_number(r->cv->im->sizes, integer_of(r, dnnl_tp_op_attr_k, 1));
        return true;
    default: return false;
    }
}

static bool is_open(const val_t *x) {
    for (int d = 0; d < x->info.ndims; ++d)
        if (x->info.dims[d] == CV_RUNTIME) return true;
    return false;
}

/* By the library, from the numbers of the inputs. */
static void infer(cv_t *cv, int kind, int nin, val_t *const *in, int nattr, const dnnl_tp_op_attr_t *attr,
                  int nout, val_t **out) {
    enum { FEW = 64 };
    dnnl_tp_value_t x[FEW], y[FEW];
    dnnl_tp_graph_t g = NULL;
    dtp_cv_pass_on(cv, dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    for (int i = 0; i < nin && !cv->status; ++i) {
        x[i] = -1;
        if (!in[i]) continue;
        const dnnl_tp_tensor_info_t *t = &in[i]->info;
        if (in[i]->data)
            dtp_cv_pass_on(cv, dnnl_tp_graph_constant(g, &x[i], NULL, t->data_type, t->ndims, t->dims,
                                                      in[i]->data, DNNL_TP_CONSTANT_BORROW, NULL, NULL));
        else dtp_cv_pass_on(cv, dnnl_tp_graph_input(g, &x[i], NULL, t->data_type, t->ndims, t->dims));
    }
    dtp_cv_graph_op(cv, g, kind, "", nin, in, x, nattr, attr, nout, y);
    for (int i = 0; i < nout && !cv->status; ++i)
        dtp_cv_pass_on(cv, dnnl_tp_graph_value_info(g, y[i], &out[i]->info));
    for (int i = 0; i < nout && !cv->status; ++i)
        if (is_open(out[i])) dtp_cv_too_complex(cv); /* a run decides */
    (void)dnnl_tp_graph_destroy(g);
}

void dtp_cv_size_results(cv_t *cv, int kind, int nin, val_t *const *in, int nattr,
                         const dnnl_tp_op_attr_t *attr, int nout, val_t **out) {
    if (cv->status || !cv->im->sizes) return;
    result_t r = {.cv = cv, .nin = nin, .nattr = nattr, .in = in, .attr = attr};
    for (int i = 0; i < nout && !cv->status; ++i) {
        if (!is_open(out[i])) continue;
        if (!rule(&r, kind, i) || r.ndims != out[i]->info.ndims) {
            for (int k = 0; k < nin; ++k)
                if (in[k]) dtp_cv_guard_sizes(cv, in[k]);
            infer(cv, kind, nin, in, nattr, attr, nout, out);
            return;
        }
        for (int d = 0; d < r.ndims; ++d)
            if (out[i]->info.dims[d] != CV_RUNTIME)
                r.size[d] = dtp_size_number(cv->im->sizes, out[i]->info.dims[d]);
        dtp_cv_set_sizes(cv, out[i], r.ndims, r.size);
    }
}

/* ---- Sizes in the graph ---------------------------------------------------------------------------------------- */

/* A list that is in the graph. */
struct dtp_size_list {
    struct dtp_size_list *next;
    int n;
    const dtp_size_t *sizes;
    val_t *value;
};

/* Adds an operator to the whole graph, which regions can read. */
static val_t *root_op(cv_t *cv, int kind, int nin, val_t *const *in, int key, int64_t number) {
    enum { MOST = 64 };
    dnnl_tp_value_t x[MOST], y;
    const dnnl_tp_op_attr_t attr = {key, dnnl_tp_op_attr_s64, 1, &number};
    for (int i = 0; i < nin; ++i) x[i] = dtp_cv_value(cv, in[i]);
    dtp_cv_graph_op(cv, cv->im->root, kind, "", nin, in, x, key >= 0, &attr, 1, &y);
    val_t *v = dtp_cv_alloc(cv, sizeof *v);
    if (!v) return NULL;
    v->v = y;
    dtp_cv_pass_on(cv, dnnl_tp_graph_value_info(cv->im->root, y, &v->info));
    return v;
}

static val_t *root_binary(cv_t *cv, int kind, val_t *x, val_t *y) {
    return cv->status ? NULL : root_op(cv, kind, 2, (val_t *[]){x, y}, -1, 0);
}

static val_t *atom_value(cv_t *cv, const dtp_atom_t *x) {
    static const int kinds[] = {0, dnnl_tp_op_divide, dnnl_tp_op_minimum, dnnl_tp_op_maximum};
    if (x->kind != DTP_SIZE_SYMBOL) {
        /* The graph's quotients are rounded towards 0. */
        if (x->kind == DTP_SIZE_QUOTIENT && cv->im->sizes->sums[x->a].least < 0) dtp_cv_too_complex(cv);
        val_t *a = dtp_cv_size_list(cv, 1, &x->a), *b = dtp_cv_size_list(cv, 1, &x->b);
        return root_binary(cv, kinds[x->kind], a, b);
    }
    val_t input = {.v = cv->im->inputs[x->a]}, *in = &input;
    dtp_cv_pass_on(cv, dnnl_tp_graph_value_info(cv->im->root, in->v, &in->info));
    if (cv->status) return NULL;
    const int64_t at = x->b;
    val_t *shape = root_op(cv, dnnl_tp_op_shape_of, 1, &in, -1, 0);
    return cv->status ? NULL
                      : root_op(cv, dnnl_tp_op_take, 2, (val_t *[]){shape, dtp_cv_list(cv, 1, &at)},
                                dnnl_tp_op_attr_axis, 0);
}

static val_t *sum_value(cv_t *cv, dtp_size_t size) {
    val_t *all = NULL;
    const dtp_sum_t sum = cv->im->sizes->sums[size];
    for (int i = 0; i < sum.nterms && !cv->status; ++i) {
        const dtp_term_t *t = &sum.terms[i];
        val_t *product = NULL;
        for (int k = 0; k < t->natoms; ++k) {
            const dtp_size_t atom = dtp_size_of_atom(cv->im->sizes, t->atom[k]);
            val_t *v = atom == size ? atom_value(cv, &cv->im->sizes->atoms[t->atom[k]])
                                    : dtp_cv_size_list(cv, 1, &atom);
            product = product ? root_binary(cv, dnnl_tp_op_multiply, product, v) : v;
        }
        if (!product || t->factor != 1) {
            val_t *factor = dtp_cv_list(cv, 1, &t->factor);
            product = product ? root_binary(cv, dnnl_tp_op_multiply, product, factor) : factor;
        }
        all = all ? root_binary(cv, dnnl_tp_op_add, all, product) : product;
    }
    return all ? all : dtp_cv_list(cv, 1, (const int64_t[]){0});
}

val_t *dtp_cv_size_list(cv_t *cv, int n, const dtp_size_t *sizes) {
    enum { MOST = 64 };
    val_t *one[MOST];
    for (int i = 0; i < n; ++i)
        if (sizes[i] < 0 || n > MOST) dtp_cv_too_complex(cv);
    if (cv->status) return NULL;
    for (struct dtp_size_list *l = cv->im->lists; l; l = l->next)
        if (l->n == n && !memcmp(l->sizes, sizes, (size_t)n * sizeof *sizes)) return l->value;
    for (int i = 0; i < n && n > 1; ++i) one[i] = dtp_cv_size_list(cv, 1, &sizes[i]);
    struct dtp_size_list *l = dtp_cv_alloc(cv, sizeof *l);
    dtp_size_t *copy = dtp_cv_alloc(cv, (size_t)n * sizeof *copy);
    val_t *value = n == 1 ? sum_value(cv, *sizes)
                   : n > 1
                       ? (cv->status ? NULL : root_op(cv, dnnl_tp_op_concat, n, one, dnnl_tp_op_attr_axis, 0))
                       : dtp_cv_list(cv, 0, NULL);
    if (cv->status) return NULL;
    memcpy(copy, sizes, (size_t)n * sizeof *copy);
    *l = (struct dtp_size_list){cv->im->lists, n, copy, value};
    cv->im->lists = l;
    return value;
}

dnnl_tp_value_t dtp_cv_elems_value(cv_t *cv, const val_t *x) {
    enum { FEW = 64 };
    const int64_t n = dtp_val_elems(x);
    const char *type = dnnl_tp_dt2str(x->info.data_type);
    const dnnl_tp_op_attr_t to = {dnnl_tp_op_attr_to, dnnl_tp_op_attr_string, (int)strlen(type), type},
                            dims = {dnnl_tp_op_attr_shape, dnnl_tp_op_attr_s64, x->info.ndims, x->info.dims};
    if (n > FEW) dtp_cv_too_complex(cv);
    val_t *list = cv->status ? NULL : dtp_cv_size_list(cv, (int)n, x->elems);
    dnnl_tp_value_t v = dtp_cv_value(cv, list);
    if (x->info.ndims != 1)
        dtp_cv_graph_op(cv, cv->im->root, dnnl_tp_op_static_reshape, "", 1, &list, &v, 1, &dims, 1, &v);
    if (x->info.data_type != dnnl_tp_s64)
        dtp_cv_graph_op(cv, cv->im->root, dnnl_tp_op_type_cast, "", 1, &list, &v, 1, &to, 1, &v);
    return v;
}

/* ---- Operators with sizes as inputs ---------------------------------------------------------------------------- */

static dtp_size_t product_of(cv_t *cv, int n, const dtp_size_t *sizes) {
    dtp_size_t all = dtp_size_number(cv->im->sizes, 1);
    for (int i = 0; i < n; ++i) all = dtp_size_multiply(cv->im->sizes, all, sizes[i]);
    return all;
}

/* No rule is needed: the caller knows the sizes. */
val_t *dtp_cv_sized_op(cv_t *cv, int kind, val_t *x, val_t *list, int nattr, const dnnl_tp_op_attr_t *attr,
                       int nout, int wanted, int ndims, const dtp_size_t *sizes) {
    enum { FEW = 3 };
    val_t *in[] = {x, list};
    dnnl_tp_value_t numbers[2], made[FEW];
    for (int i = 0; i < 2 && in[i]; ++i) numbers[i] = dtp_cv_value(cv, in[i]);
    dtp_cv_graph_op(cv, cv->im->graph, kind, cv->is_last ? dtp_cv_result(cv) : "", 1 + (list != NULL), in,
                    numbers, nattr, attr, nout, made);
    cv->is_last = false;
    val_t *y = dtp_cv_alloc(cv, sizeof *y);
    if (!y) return NULL;
    y->v = made[wanted];
    y->info.data_type = x->info.data_type;
    dtp_cv_set_sizes(cv, y, ndims, sizes);
    return y;
}

val_t *dtp_cv_resized(cv_t *cv, val_t *x, int ndims, const dtp_size_t *sizes) {
    dtp_sizes_t *s = cv->im->sizes;
    dtp_size_t have[DNNL_TP_MAX_NDIMS];
    int64_t to[DNNL_TP_MAX_NDIMS];
    if (cv->status) return NULL;
    if (ndims > DNNL_TP_MAX_NDIMS) {
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "a result has %d dimensions, at most %d are allowed", ndims,
                    DNNL_TP_MAX_NDIMS);
        return NULL;
    }
    for (int d = 0; d < x->info.ndims; ++d) have[d] = dtp_cv_size(cv, x, d);
    if (!dtp_cv_size_is(cv, product_of(cv, x->info.ndims, have), DTP_SIZE_EQUAL,
                        product_of(cv, ndims, sizes)))
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input cannot have its shape");
    bool all = true, zero = false;
    int rest = 0;
    for (int d = 0; d < ndims && !cv->status; ++d) {
        const bool is_number = dtp_size_is_number(s, sizes[d]);
        all &= is_number;
        to[d] = is_number ? dtp_size_hint(s, sizes[d]) : d < x->info.ndims && have[d] == sizes[d] ? 0 : -1;
        rest += to[d] == -1;
        zero |= is_number && to[d] == 0;
    }
    if (cv->status) return NULL;
    if (all && (x->data || zero)) {
        dtp_cv_guard_sizes(cv, x);
        return dtp_cv_reshape(cv, x, ndims, to);
    }
    const uint8_t special = !zero && rest <= 1;
    const dnnl_tp_op_attr_t attr[] = {
        {dnnl_tp_op_attr_special_zero, dnnl_tp_op_attr_bool, 1, &special},
        {dnnl_tp_op_attr_shape, dnnl_tp_op_attr_s64, ndims, to},
    };
    if (special) return dtp_cv_sized_op(cv, dnnl_tp_op_static_reshape, x, NULL, 2, attr, 1, 0, ndims, sizes);
    return dtp_cv_sized_op(cv, dnnl_tp_op_reshape, x, dtp_cv_size_list(cv, ndims, sizes), 1, attr, 1, 0,
                           ndims, sizes);
}

val_t *dtp_cv_cut(cv_t *cv, val_t *x, int axis, dtp_size_t begin, dtp_size_t size) {
    enum { PARTS = 3 };
    dtp_sizes_t *s = cv->im->sizes;
    if (cv->status) return NULL;
    const dtp_size_t all = dtp_cv_size(cv, x, axis), end = dtp_size_add(s, begin, size),
                     zero = dtp_size_number(s, 0);
    if (begin == zero && size == all) return x;
    if (dtp_size_is_number(s, begin) && dtp_size_is_number(s, size) && dtp_size_is_number(s, all))
        return dtp_cv_part(cv, x, axis, dtp_size_hint(s, begin), dtp_size_hint(s, size));
    if (!dtp_cv_size_is(cv, end, DTP_SIZE_AT_MOST, all) ||
        !dtp_cv_size_is(cv, zero, DTP_SIZE_AT_MOST, begin) ||
        !dtp_cv_size_is(cv, zero, DTP_SIZE_AT_MOST, size))
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "it takes more than there is");
    dtp_size_t parts[PARTS], to[DNNL_TP_MAX_NDIMS];
    int n = 0;
    if (begin != zero) parts[n++] = begin;
    const int wanted = n;
    parts[n++] = size;
    if (end != all) parts[n++] = dtp_size_subtract(s, all, end);
    const int64_t at = axis;
    const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, &at};
    for (int d = 0; d < x->info.ndims; ++d) to[d] = d == axis ? size : dtp_cv_size(cv, x, d);
    if (cv->status) return NULL;
    return dtp_cv_sized_op(cv, dnnl_tp_op_split, x, dtp_cv_size_list(cv, n, parts), 1, &attr, n, wanted,
                           x->info.ndims, to);
}

val_t *dtp_cv_filled(cv_t *cv, const val_t *value, int ndims, const dtp_size_t *sizes) {
    enum { LEAST = 1024 };
    dtp_sizes_t *s = cv->im->sizes;
    int64_t room = LEAST, dims[DNNL_TP_MAX_NDIMS];
    void *to;
    const dtp_size_t all = product_of(cv, ndims, sizes);
    const int64_t most = (int64_t)1 << 40;
    if (all < 0 || dtp_size_hint(s, all) > most) dtp_cv_too_complex(cv);
    if (cv->status) return NULL;
    bool open = false;
    for (int d = 0; d < ndims; ++d) {
        dims[d] = dtp_size_hint(s, sizes[d]);
        open |= !dtp_size_is_number(s, sizes[d]);
    }
    while (open && room < dtp_size_hint(s, all)) room *= 2;
    /* A list that serves larger sizes, too, and the part of it that is needed. */
    val_t *x = dtp_cv_room(cv, value->info.data_type, open ? 1 : ndims, open ? &room : dims, &to);
    const size_t bytes = dtp_onnx_type_size(value->info.data_type);
    for (int64_t i = 0; x && i < dtp_val_elems(x); ++i)
        memcpy((char *)to + (size_t)i * bytes, value->data, bytes);
    if (!open || !x) return x;
    return dtp_cv_resized(cv, dtp_cv_cut(cv, x, 0, dtp_size_number(s, 0), all), ndims, sizes);
}

val_t *dtp_cv_places(cv_t *cv, dnnl_tp_data_type_t type, int64_t begin, int64_t step, dtp_size_t size) {
    enum { LEAST = 1024 };
    const int64_t most = (int64_t)1 << 40;
    const dtp_sizes_t *s = cv->im->sizes;
    int64_t room = LEAST;
    void *p;
    if (size < 0 || dtp_size_hint(s, size) > most) dtp_cv_too_complex(cv);
    if (cv->status) return NULL;
    if (dtp_size_is_number(s, size)) room = dtp_size_hint(s, size);
    while (room < dtp_size_hint(s, size)) room *= 2;
    val_t *x = dtp_cv_room(cv, type, 1, &room, &p);
    for (int64_t i = 0; x && i < room; ++i) {
        const int64_t v = (int64_t)((uint64_t)begin + (uint64_t)i * (uint64_t)step);
        if (type == dnnl_tp_s64) ((int64_t *)p)[i] = v;
        else ((int32_t *)p)[i] = (int32_t)v;
    }
    return x ? dtp_cv_cut(cv, x, 0, dtp_size_number(cv->im->sizes, 0), size) : NULL;
}
