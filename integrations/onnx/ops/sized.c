/* Nodes whose inputs have open sizes (sized.h): arithmetic on shapes, and operators whose results have sizes that
 * are computed. All others are of two kinds: those that read no size as a number, and those for which the sizes
 * of their inputs become numbers. */
#include "onnx/ops/elems.h"
#include "onnx/ops/ops.h"

typedef void convert_t(cv_t *cv);
/* False: the node is left to its converter, with guards. */
typedef bool sized_t(cv_t *cv);

static bool is_one_of(const cv_t *cv, convert_t *const *list, size_t n) {
    for (size_t i = 0; i < n; ++i)
        if (list[i] == cv->row->convert) return true;
    return false;
}
#define IS_ONE_OF(cv, list) is_one_of(cv, list, sizeof(list) / sizeof *(list))

/* ---- Shapes ------------------------------------------------------------------------------------------------------ */

static bool shape(cv_t *cv) {
    const val_t *x = cv->in[0];
    dtp_size_t sizes[DNNL_TP_MAX_NDIMS];
    const int64_t nd = x->info.ndims;
    int64_t b = dtp_cv_int(cv, "start", 0), e = dtp_cv_int(cv, "end", nd);
    b = b < -nd ? 0 : b < 0 ? b + nd : b > nd ? nd : b;
    e = e < -nd ? 0 : e < 0 ? e + nd : e > nd ? nd : e;
    for (int64_t d = b; d < e; ++d) sizes[d] = dtp_cv_size(cv, x, (int)d);
    dtp_cv_set(cv, 0, dtp_elems_list(cv, e < b ? 0 : e - b, sizes + b));
    return true;
}

static dtp_size_t product(cv_t *cv, const val_t *x, int begin, int end) {
    dtp_size_t all = number(cv, 1);
    for (int d = begin; d < end; ++d) all = dtp_size_multiply(cv->im->sizes, all, dtp_cv_size(cv, x, d));
    return all;
}

static bool size(cv_t *cv) {
    const dtp_size_t all = product(cv, cv->in[0], 0, cv->in[0]->info.ndims);
    if (all < 0) return false;
    val_t *y = dtp_elems_list(cv, 1, &all);
    if (y) y->info.ndims = 0;
    dtp_cv_set(cv, 0, y);
    return true;
}

static bool reshape(cv_t *cv) {
    int64_t n;
    val_t *x = cv->in[0];
    dtp_sizes_t *s = cv->im->sizes;
    const dtp_size_t *want = dtp_elems_of(cv, cv->in[1], &n);
    const bool allow_zero = dtp_cv_int(cv, "allowzero", 0) != 0;
    dtp_size_t to[DNNL_TP_MAX_NDIMS], others = number(cv, 1), one = others;
    int rest = -1;
    if (!want || n > DNNL_TP_MAX_NDIMS || x->data) return false;
    for (int d = 0; d < n; ++d) {
        to[d] = want[d];
        /* An expression is a size; one that is 0 or -1 here would say something else. */
        if (!is_number(cv, to[d]) && !dtp_cv_size_is(cv, one, DTP_SIZE_AT_MOST, to[d])) return cv->status;
        const int64_t h = hint(cv, to[d]);
        if (h == 0 && !allow_zero) {
            if (d >= x->info.ndims) return false;
            to[d] = dtp_cv_size(cv, x, d);
        } else if (h == -1 && rest < 0) {
            rest = d;
            continue;
        } else if (h < 1) return false;
        others = dtp_size_multiply(s, others, to[d]);
    }
    const dtp_size_t all = product(cv, x, 0, x->info.ndims);
    if (all < 0 || others < 0) return false;
    if (rest >= 0) {
        if (!dtp_cv_size_is(cv, one, DTP_SIZE_AT_MOST, others)) return cv->status;
        to[rest] = dtp_size_exact(s, all, others);
        if (to[rest] < 0) {
            const int divides = dtp_size_is(s, all, DTP_SIZE_DIVIDED, others, dtp_cv_result(cv));
            to[rest] = divides > 0 ? dtp_size_divide(s, all, others) : DTP_NO_SIZE;
            if (to[rest] < 0) return false;
        }
    }
    dtp_cv_set(cv, 0, dtp_cv_resized(dtp_cv_last(cv), x, (int)n, to));
    return true;
}

static bool flatten(cv_t *cv) {
    const val_t *x = cv->in[0];
    const int64_t axis = dtp_cv_int(cv, "axis", 1);
    const int nd = x->info.ndims, at = (int)(axis < 0 ? axis + nd : axis);
    if (at < 0 || at > nd || x->data) return false;
    const dtp_size_t to[] = {product(cv, x, 0, at), product(cv, x, at, nd)};
    if (to[0] < 0 || to[1] < 0) return false;
    dtp_cv_set(cv, 0, dtp_cv_resized(dtp_cv_last(cv), cv->in[0], 2, to));
    return true;
}

/* The axes of a node, an attribute or an input; false: they are out of range or twice there. n < 0: none are given. */
static bool axes_of(cv_t *cv, int input, int nd, bool *marked, int64_t *n) {
    const int64_t *axes = NULL;
    for (int d = 0; d < nd; ++d) marked[d] = false;
    *n = -1;
    if (input < 0) axes = dtp_cv_attr_ints(cv, "axes", n);
    else if (dtp_cv_given(cv, input)) axes = dtp_cv_ints(cv, input, n);
    for (int64_t i = 0; i < *n && !cv->status; ++i) {
        const int64_t d = axes[i] < 0 ? axes[i] + nd : axes[i];
        if (d < 0 || d >= nd || marked[d]) return false;
        marked[d] = true;
    }
    return !cv->status;
}

static bool squeeze(cv_t *cv) {
    val_t *x = cv->in[0];
    bool gone[DNNL_TP_MAX_NDIMS];
    dtp_size_t to[DNNL_TP_MAX_NDIMS];
    int64_t n;
    int k = 0;
    const bool is_attr = cv->row->convert == dtp_onnx_squeeze_1;
    if (x->data || (!is_attr && dtp_cv_given(cv, 1) && !dtp_elems_are_integers(cv->in[1])) ||
        !axes_of(cv, is_attr ? -1 : 1, x->info.ndims, gone, &n))
        return cv->status;
    for (int d = 0; d < x->info.ndims && !cv->status; ++d) {
        to[k] = dtp_cv_size(cv, x, d);
        if (n >= 0 && !gone[d]) ++k;
        else if (!dtp_cv_size_is(cv, to[k], DTP_SIZE_EQUAL, number(cv, 1))) {
            if (n >= 0) return cv->status; /* the converter says what is wrong */
            ++k;
        }
    }
    dtp_cv_set(cv, 0, dtp_cv_resized(dtp_cv_last(cv), x, k, to));
    return true;
}

static bool unsqueeze(cv_t *cv) {
    val_t *x = cv->in[0];
    bool is_new[DNNL_TP_MAX_NDIMS];
    dtp_size_t to[DNNL_TP_MAX_NDIMS];
    const bool is_attr = cv->row->convert == dtp_onnx_unsqueeze_1;
    int64_t n = 0;
    if (x->data || (!is_attr && !dtp_elems_are_integers(cv->in[1]))) return false;
    if (is_attr) (void)dtp_cv_attr_ints(cv, "axes", &n);
    else n = dtp_val_elems(cv->in[1]);
    if (n < 0 || n + x->info.ndims > DNNL_TP_MAX_NDIMS) return false;
    const int nd = x->info.ndims + (int)n;
    if (!axes_of(cv, is_attr ? -1 : 1, nd, is_new, &n)) return cv->status;
    for (int d = 0, k = 0; d < nd; ++d) to[d] = is_new[d] ? number(cv, 1) : dtp_cv_size(cv, x, k++);
    dtp_cv_set(cv, 0, dtp_cv_resized(dtp_cv_last(cv), x, nd, to));
    return true;
}

/* ---- More and fewer elements ------------------------------------------------------------------------------------- */

static bool expand(cv_t *cv) {
    int64_t n;
    val_t *x = cv->in[0];
    const dtp_size_t *want = dtp_elems_of(cv, cv->in[1], &n), one = number(cv, 1);
    const int nx = x->info.ndims, nd = nx > n ? nx : (int)n;
    dtp_size_t ones[DNNL_TP_MAX_NDIMS];
    bool grows = n > nx;
    if (!want || nd > DNNL_TP_MAX_NDIMS || x->elems) return false;
    for (int d = 0; d < nd; ++d) {
        const dtp_size_t have = d < nd - nx ? one : dtp_cv_size(cv, x, d - (nd - nx)),
                         w = d < nd - n ? one : want[d - (nd - n)];
        ones[d] = one;
        if (have == w || w == one) continue;
        if (hint(cv, w) < 0 || (!is_number(cv, w) && !dtp_cv_size_is(cv, number(cv, 0), DTP_SIZE_AT_MOST, w)))
            return cv->status;
        if (dtp_cv_size_is(cv, have, DTP_SIZE_EQUAL, one)) {
            ones[d] = w;
            grows = true;
        } else if (!dtp_cv_size_is(cv, w, DTP_SIZE_EQUAL, one) &&
                   !dtp_cv_size_is(cv, have, DTP_SIZE_EQUAL, w))
            return cv->status;
    }
    if (!grows || cv->status) {
        dtp_cv_set(cv, 0, x);
        return true;
    }
    const val_t *fill = dtp_cv_scalar(cv, x->info.data_type, 1);
    val_t *y = fill ? dtp_cv_filled(cv, fill, nd, ones) : NULL;
    /* A product with ones keeps every value, NaN and -0 included; of booleans it is "and". */
    dtp_cv_set(cv, 0, dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_multiply, x, y));
    return true;
}

/* Where a slice begins or ends along `all` elements: a position below 0 counts from the end, and what lies outside is
 * moved to an end. */
static dtp_size_t position(cv_t *cv, dtp_size_t at, dtp_size_t all) {
    enum { FAR = 62 };
    const dtp_size_t zero = number(cv, 0);
    const int64_t h = hint(cv, at), far = (int64_t)1 << FAR;
    if (is_number(cv, at) && (h >= far || h <= -far)) return h > 0 ? all : zero;
    if (!dtp_cv_size_is(cv, zero, DTP_SIZE_AT_MOST, at)) {
        at = dtp_size_add(cv->im->sizes, at, all);
        if (!cv->status && !dtp_cv_size_is(cv, zero, DTP_SIZE_AT_MOST, at)) return zero;
    }
    return cv->status || dtp_cv_size_is(cv, at, DTP_SIZE_AT_MOST, all) ? at : all;
}

static bool slice(cv_t *cv) {
    enum { DATA, STARTS, ENDS, AXES, STEPS, INPUTS };
    const dtp_size_t *in[INPUTS] = {NULL};
    int64_t n[INPUTS] = {0};
    val_t *x = cv->in[DATA];
    bool seen[DNNL_TP_MAX_NDIMS] = {false};
    for (int i = STARTS; i < INPUTS; ++i) {
        if (!dtp_cv_given(cv, i)) continue;
        in[i] = dtp_elems_of(cv, cv->in[i], &n[i]);
        if (!in[i] || n[i] != n[STARTS]) return cv->status;
    }
    for (int64_t i = 0; i < n[STARTS]; ++i) {
        if (in[STEPS] && in[STEPS][i] != number(cv, 1)) return false;
        const int64_t axis = in[AXES] ? hint(cv, in[AXES][i]) : i;
        const int64_t d = axis < 0 ? axis + x->info.ndims : axis;
        if ((in[AXES] && !is_number(cv, in[AXES][i])) || d < 0 || d >= x->info.ndims || seen[d]) return false;
        seen[d] = true;
    }
    for (int64_t i = 0; i < n[STARTS] && !cv->status; ++i) {
        const int64_t axis = in[AXES] ? hint(cv, in[AXES][i]) : i;
        const int d = (int)(axis < 0 ? axis + x->info.ndims : axis);
        const dtp_size_t all = dtp_cv_size(cv, x, d);
        const dtp_size_t b = position(cv, in[STARTS][i], all), e = position(cv, in[ENDS][i], all);
        const bool some = !cv->status && dtp_cv_size_is(cv, b, DTP_SIZE_AT_MOST, e);
        x = cv->status ? NULL
                       : dtp_cv_cut(cv, x, d, some ? b : number(cv, 0),
                                    some ? dtp_size_subtract(cv->im->sizes, e, b) : number(cv, 0));
    }
    dtp_cv_set(cv, 0, x);
    return true;
}

static bool constant_of_shape(cv_t *cv) {
    int64_t n;
    const dtp_size_t *to = dtp_elems_of(cv, cv->in[0], &n);
    const val_t *value = dtp_cv_tensor(cv, "value");
    if (!to || n > DNNL_TP_MAX_NDIMS || (value && dtp_val_elems(value) != 1)) return cv->status;
    for (int64_t i = 0; i < n; ++i)
        if (!is_number(cv, to[i]) && !dtp_cv_size_is(cv, number(cv, 0), DTP_SIZE_AT_MOST, to[i]))
            return cv->status;
    if (!value) value = dtp_cv_scalar(cv, dnnl_tp_f32, 0);
    if (value) dtp_cv_set(cv, 0, dtp_cv_filled(cv, value, (int)n, to));
    return true;
}

static bool range(cv_t *cv) {
    enum { START, LIMIT, DELTA, INPUTS };
    dtp_sizes_t *s = cv->im->sizes;
    dtp_size_t at[INPUTS];
    int64_t n;
    for (int i = 0; i < INPUTS; ++i) {
        const dtp_size_t *x = dtp_elems_of(cv, cv->in[i], &n);
        if (!x || n != 1) return cv->status;
        at[i] = *x;
    }
    const int64_t by = hint(cv, at[DELTA]);
    if (!is_number(cv, at[DELTA]) || by < 1 || by > INT32_MAX) return false;
    if (!dtp_cv_size_is(cv, at[START], DTP_SIZE_AT_MOST, at[LIMIT])) return cv->status;
    dtp_size_t count = dtp_size_subtract(s, at[LIMIT], at[START]);
    if (by > 1) count = dtp_size_divide(s, dtp_size_add(s, count, number(cv, by - 1)), at[DELTA]);
    if (count < 0) return false;
    const bool is_fixed = is_number(cv, at[START]);
    const dnnl_tp_data_type_t type = cv->in[START]->info.data_type;
    val_t *x =
        dtp_cv_places(is_fixed ? dtp_cv_last(cv) : cv, type, is_fixed ? hint(cv, at[START]) : 0, by, count);
    if (!is_fixed && !cv->status)
        x = dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_add, x,
                          dtp_cv_typed(cv, dtp_cv_size_list(cv, 1, &at[START]), type));
    dtp_cv_set(cv, 0, x);
    return true;
}

/* Positions in an open axis: those below 0 are counted by the operator, and a run refuses those outside. */
static bool gather(cv_t *cv) {
    const val_t *x = cv->in[0];
    const int64_t given = dtp_cv_int(cv, "axis", 0), axis = given < 0 ? given + x->info.ndims : given;
    if (axis < 0 || axis >= x->info.ndims || !x->sizes || is_number(cv, x->sizes[axis])) return false;
    dtp_cv_guard_elems(cv, cv->in[1]);
    dtp_cv_set(cv, 0, dtp_cv_op_at(dtp_cv_last(cv), dnnl_tp_op_take, 2, cv->in, dnnl_tp_op_attr_axis, axis));
    return true;
}

static bool tile(cv_t *cv) {
    enum { FEW = 16 };
    int64_t n;
    val_t *x = cv->in[0], *copies[FEW];
    const dtp_size_t *times = dtp_elems_of(cv, cv->in[1], &n), one = number(cv, 1);
    const int nd = x->info.ndims;
    if (!times || n != nd || nd >= DNNL_TP_MAX_NDIMS || x->data) return false;
    for (int d = 0; d < nd; ++d)
        if (!is_number(cv, times[d]) ? !dtp_cv_size_is(cv, one, DTP_SIZE_AT_MOST, times[d])
                                     : hint(cv, times[d]) < 0)
            return cv->status;
    for (int d = nd - 1; d >= 0 && !cv->status; --d) {
        if (times[d] == one) continue;
        const int64_t few = is_number(cv, times[d]) ? hint(cv, times[d]) : 0;
        if (few > 1 && few <= FEW) {
            for (int64_t i = 0; i < few; ++i) copies[i] = x;
            x = dtp_cv_concat(cv, d, (int)few, copies);
            continue;
        }
        /* {.., size, ..} -> {.., times, size, ..} -> {.., times * size, ..} */
        dtp_size_t apart[DNNL_TP_MAX_NDIMS], joined[DNNL_TP_MAX_NDIMS], ones[DNNL_TP_MAX_NDIMS];
        for (int i = 0; i < nd; ++i) apart[i < d ? i : i + 1] = joined[i] = dtp_cv_size(cv, x, i);
        for (int i = 0; i <= nd; ++i) ones[i] = i == d ? times[d] : one;
        apart[d] = one;
        joined[d] = dtp_size_multiply(cv->im->sizes, joined[d], times[d]);
        val_t *fill = dtp_cv_scalar(cv, x->info.data_type, 1);
        x = dtp_cv_resized(cv, x, nd + 1, apart);
        x = dtp_cv_binary(cv, dnnl_tp_op_multiply, x,
                          cv->status ? NULL : dtp_cv_filled(cv, fill, nd + 1, ones));
        x = cv->status ? NULL : dtp_cv_resized(cv, x, nd, joined);
    }
    dtp_cv_set(cv, 0, x);
    return true;
}

/* With a constant around it. */
static bool pad(cv_t *cv) {
    enum { DATA, PADS, VALUE, AXES, PARTS = 3 };
    int64_t n, na = 0;
    val_t *x = cv->in[DATA];
    const dtp_size_t *pads = dtp_elems_of(cv, cv->in[PADS], &n), zero = number(cv, 0);
    const dtp_size_t *axes = dtp_cv_given(cv, AXES) ? dtp_elems_of(cv, cv->in[AXES], &na) : NULL;
    const int64_t k = axes ? na : x->info.ndims;
    const val_t *value = dtp_cv_given(cv, VALUE) ? cv->in[VALUE] : dtp_cv_scalar(cv, x->info.data_type, 0);
    if (!pads || n != 2 * k || x->data || (dtp_cv_given(cv, AXES) && !axes) || !value || !value->data ||
        value->elems || dtp_val_elems(value) != 1 || value->info.data_type != x->info.data_type ||
        !dtp_cv_word(cv, "mode", "constant", "constant"))
        return cv->status;
    bool seen[DNNL_TP_MAX_NDIMS] = {false};
    for (int64_t i = 0; i < k; ++i) {
        const int64_t at = axes ? hint(cv, axes[i]) : i, d = at < 0 ? at + x->info.ndims : at;
        if (d < 0 || d >= x->info.ndims || seen[d] || (axes && !is_number(cv, axes[i]))) return false;
        seen[d] = true;
        for (int end = 0; end < 2; ++end)
            if (!dtp_cv_size_is(cv, zero, DTP_SIZE_AT_MOST, pads[end * k + i])) return cv->status;
    }
    for (int64_t i = 0; i < k && !cv->status; ++i) {
        const int64_t at = axes ? hint(cv, axes[i]) : i;
        const int d = (int)(at < 0 ? at + x->info.ndims : at);
        val_t *parts[PARTS];
        int m = 0;
        for (int end = 0; end < 2 && !cv->status; ++end) {
            dtp_size_t dims[DNNL_TP_MAX_NDIMS];
            if (end) parts[m++] = x;
            if (pads[end * k + i] == zero) continue;
            for (int e = 0; e < x->info.ndims; ++e)
                dims[e] = e == d ? pads[end * k + i] : dtp_cv_size(cv, x, e);
            parts[m++] = dtp_cv_filled(cv, value, x->info.ndims, dims);
        }
        x = cv->status ? NULL : dtp_cv_concat(cv, d, m, parts);
    }
    dtp_cv_set(cv, 0, x);
    return true;
}

/* Before version 13: all dimensions from axis on are one. */
static bool softmax(cv_t *cv) {
    val_t *x = cv->in[0];
    const int nd = x->info.ndims;
    const int64_t given = dtp_cv_int(cv, "axis", 1), axis = given < 0 ? given + nd : given;
    dtp_size_t sizes[DNNL_TP_MAX_NDIMS];
    if (axis < 0 || axis >= nd) return false;
    for (int d = 0; d < nd; ++d) sizes[d] = dtp_cv_size(cv, x, d);
    const dtp_size_t flat[] = {product(cv, x, 0, (int)axis), product(cv, x, (int)axis, nd)};
    if (flat[0] < 0 || flat[1] < 0) return false;
    const bool is_last = axis == nd - 1;
    if (!is_last) x = dtp_cv_resized(cv, x, 2, flat);
    x = cv->status ? NULL
                   : dtp_cv_op_at(is_last ? dtp_cv_last(cv) : cv, cv->row->kind, 1, &x, dnnl_tp_op_attr_axis,
                                  is_last ? axis : 1);
    dtp_cv_set(cv, 0, is_last || cv->status ? x : dtp_cv_resized(dtp_cv_last(cv), x, nd, sizes));
    return true;
}

/* A reduction, as of sizes that are not known. */
static bool global_pool(cv_t *cv) {
    int64_t axes[DNNL_TP_MAX_NDIMS];
    const val_t *x = cv->in[0];
    bool open = false;
    for (int d = 2; d < x->info.ndims; ++d) {
        axes[d - 2] = d;
        open |= x->sizes && !is_number(cv, x->sizes[d]);
    }
    if (open)
        dtp_cv_set(cv, 0,
                   dtp_cv_reduce(dtp_cv_last(cv), cv->row->kind, cv->in[0], x->info.ndims - 2, axes, true));
    return open;
}

/* ---- Which nodes ------------------------------------------------------------------------------------------------- */

/* These read no size as a number, or only by dtp_cv_dim(), which guards it. */
static convert_t *const plain[] = {dtp_onnx_unary,
                                   dtp_onnx_celu,
                                   dtp_onnx_clip,
                                   dtp_onnx_clip_6,
                                   dtp_onnx_elu,
                                   dtp_onnx_gelu,
                                   dtp_onnx_hard_sigmoid,
                                   dtp_onnx_leaky_relu,
                                   dtp_onnx_neg,
                                   dtp_onnx_selu,
                                   dtp_onnx_softsign,
                                   dtp_onnx_swish,
                                   dtp_onnx_swiglu,
                                   dtp_onnx_binary,
                                   dtp_onnx_nary,
                                   dtp_onnx_mean,
                                   dtp_onnx_pow,
                                   dtp_onnx_prelu,
                                   dtp_onnx_where,
                                   dtp_onnx_is_nan,
                                   dtp_onnx_is_inf,
                                   dtp_onnx_mod,
                                   dtp_onnx_bit_shift,
                                   dtp_onnx_thresholded_relu,
                                   dtp_onnx_shrink,
                                   dtp_onnx_reduce,
                                   dtp_onnx_reduce_1,
                                   dtp_onnx_cumsum,
                                   dtp_onnx_gemm,
                                   dtp_onnx_matmul,
                                   dtp_onnx_softmax,
                                   dtp_onnx_layer_normalization,
                                   dtp_onnx_batch_normalization,
                                   dtp_onnx_transpose,
                                   dtp_onnx_cast,
                                   dtp_onnx_cast_like,
                                   dtp_onnx_identity,
                                   dtp_onnx_dropout,
                                   dtp_onnx_concat,
                                   dtp_onnx_split,
                                   dtp_onnx_split_2,
                                   dtp_onnx_tile,
                                   dtp_onnx_trilu,
                                   dtp_onnx_global_lp_pool,
                                   dtp_onnx_global_pool,
                                   dtp_onnx_lp_normalization,
                                   dtp_onnx_rms_normalization,
                                   dtp_onnx_mean_variance_normalization,
                                   dtp_onnx_ms_gelu,
                                   dtp_onnx_ms_quick_gelu,
                                   dtp_onnx_ms_bias_add,
                                   dtp_onnx_ms_skip_norm,
                                   dtp_onnx_instance_normalization,
                                   dtp_onnx_group_normalization,
                                   dtp_onnx_ms_embed,
                                   dtp_onnx_ms_matmul,
                                   dtp_onnx_ms_gemm,
                                   dtp_onnx_ms_bias_split_gelu,
                                   dtp_onnx_ms_attention,
                                   dtp_onnx_ms_multi_head_attention,
                                   dtp_onnx_ms_rotary_embedding,
                                   dtp_onnx_attention,
                                   dtp_onnx_rotary_embedding,
                                   dtp_onnx_gather,
                                   dtp_onnx_gather_elements,
                                   dtp_onnx_arg,
                                   dtp_onnx_top_k,
                                   dtp_onnx_top_k_1};

/* The same, but for the sizes of other inputs than the first, which are weights as a rule. */
static convert_t *const plain_first[] = {
    dtp_onnx_conv,     dtp_onnx_conv_transpose, dtp_onnx_max_pool,         dtp_onnx_average_pool,
    dtp_onnx_quantize, dtp_onnx_dequantize,     dtp_onnx_dynamic_quantize, dtp_onnx_matmul_integer};

/* Of known integers. */
static const struct {
    convert_t *convert;
    sized_t *sized;
} of_elems[] = {{dtp_onnx_concat, dtp_elems_concat},     {dtp_onnx_identity, dtp_elems_move},
                {dtp_onnx_transpose, dtp_elems_move},    {dtp_onnx_gather, dtp_elems_move},
                {dtp_onnx_slice, dtp_elems_move},        {dtp_onnx_slice_1, dtp_elems_move},
                {dtp_onnx_squeeze, dtp_elems_move},      {dtp_onnx_squeeze_1, dtp_elems_move},
                {dtp_onnx_unsqueeze, dtp_elems_move},    {dtp_onnx_unsqueeze_1, dtp_elems_move},
                {dtp_onnx_reshape, dtp_elems_move},      {dtp_onnx_flatten, dtp_elems_move},
                {dtp_onnx_split, dtp_elems_move},        {dtp_onnx_split_2, dtp_elems_move},
                {dtp_onnx_tile, dtp_elems_move},         {dtp_onnx_cast, dtp_elems_cast},
                {dtp_onnx_binary, dtp_elems_arithmetic}, {dtp_onnx_nary, dtp_elems_arithmetic},
                {dtp_onnx_mod, dtp_elems_arithmetic},    {dtp_onnx_where, dtp_elems_where},
                {dtp_onnx_reduce, dtp_elems_reduce},     {dtp_onnx_reduce_1, dtp_elems_reduce}},
  of_sizes[] = {{dtp_onnx_shape, shape},
                {dtp_onnx_size, size},
                {dtp_onnx_reshape, reshape},
                {dtp_onnx_flatten, flatten},
                {dtp_onnx_squeeze, squeeze},
                {dtp_onnx_squeeze_1, squeeze},
                {dtp_onnx_unsqueeze, unsqueeze},
                {dtp_onnx_unsqueeze_1, unsqueeze},
                {dtp_onnx_expand, expand},
                {dtp_onnx_slice, slice},
                {dtp_onnx_constant_of_shape, constant_of_shape},
                {dtp_onnx_range, range},
                {dtp_onnx_gather, gather},
                {dtp_onnx_tile, tile},
                {dtp_onnx_pad, pad},
                {dtp_onnx_resize, dtp_onnx_resize_sized},
                {dtp_onnx_upsample, dtp_onnx_resize_sized},
                {dtp_onnx_softmax_1, softmax},
                {dtp_onnx_global_pool, global_pool}};

bool dtp_cv_sized(cv_t *cv) {
    bool elems = false, sizes = false;
    for (int i = 0; i < cv->nin; ++i) {
        elems |= cv->in[i] && cv->in[i]->elems;
        sizes |= cv->in[i] && cv->in[i]->sizes;
    }
    if (!cv->im->sizes || (!elems && !sizes)) return false;
    const bool has_result = cv->nout > 0; /* what follows looks at it */
    for (size_t i = 0; has_result && elems && i < sizeof of_elems / sizeof *of_elems; ++i)
        if (of_elems[i].convert == cv->row->convert && (of_elems[i].sized(cv) || cv->status)) return true;
    for (size_t i = 0; has_result && i < sizeof of_sizes / sizeof *of_sizes; ++i)
        if (of_sizes[i].convert == cv->row->convert && (of_sizes[i].sized(cv) || cv->status)) return true;
    if (cv->im->sizes->lacks_memory) dtp_cv_too_complex(cv);
    for (int i = 0; i < cv->nin; ++i) {
        val_t *x = cv->in[i];
        if (!x) continue;
        dtp_cv_guard_elems(cv, x);
        if (!IS_ONE_OF(cv, plain) && (i > 0 || !IS_ONE_OF(cv, plain_first))) dtp_cv_guard_sizes(cv, x);
    }
    return cv->status;
}
