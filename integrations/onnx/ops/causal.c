/* Masks by position (meant.h): tables of which a model cuts the rows behind its past, and what is made of them. */
#include "onnx/ops/meant.h"
#include "onnx/ops/ops.h"

#include <math.h>

static int64_t rows_of(const val_t *x) { return x->info.dims[x->info.ndims - 2]; }

/* x with other elements: y for those that a row sees. */
static bool changed(cv_t *cv, const val_t *x, dnnl_tp_data_type_t type, double shown, double hidden) {
    dtp_meant_t m = *x->meant;
    m.shown = shown;
    m.hidden = hidden;
    dtp_cv_set(cv, 0, dtp_cv_meant(cv, &m, type, x->info.ndims, x->info.dims));
    return true;
}

/* Broadcast with dims, which leave rows and keys as they are: scores broadcast the others anyway. */
static bool stretched(cv_t *cv, const val_t *x, int ndims, const int64_t *dims) {
    const int nx = x->info.ndims, n = nx > ndims ? nx : ndims;
    int64_t to[DNNL_TP_MAX_NDIMS];
    for (int d = 0; d < n; ++d) {
        const int64_t have = d < n - nx ? 1 : x->info.dims[d - (n - nx)],
                      with = d < n - ndims ? 1 : dims[d - (n - ndims)];
        if (have < 1 || with < 1 || (have != with && with != 1 && (have != 1 || d >= n - 2))) return false;
        to[d] = have == 1 ? with : have;
    }
    dtp_cv_set(cv, 0, dtp_cv_meant(cv, x->meant, x->info.data_type, n, to));
    return true;
}

/* ---- Tables ------------------------------------------------------------------------------------------------------ */

static bool is_number(const val_t *x) {
    switch (x->info.data_type) {
    case dnnl_tp_f32:
    case dnnl_tp_boolean:
    case dnnl_tp_u8:
    case dnnl_tp_s8:
    case dnnl_tp_s32:
    case dnnl_tp_s64: return true;
    default: return false;
    }
}

/* Whether a matrix of known elements, one after the other, shows key k to row r if r - window < k <= r. */
static bool reads_as_seen(const val_t *x, int64_t rows, int64_t keys, dtp_meant_t *m) {
    if (!x->data || !is_number(x) || rows < 1 || keys < 1) return false;
    const double shown = dtp_fold_number(x, 0);
    const int64_t last = rows - 1 < keys ? rows - 1 : keys - 1; /* its own key is there */
    int64_t first = last;
    while (first > 0 && dtp_fold_number(x, last * keys + first - 1) == shown) --first;
    const int64_t window = first > 0 ? last - first + 1 : -1;
    const double hidden = keys > 1 ? dtp_fold_number(x, 1) : shown;
    if (keys > 1 && hidden == shown) return false;
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t k = 0; k < keys; ++k) {
            const bool sees = k <= r && (window < 0 || r - k < window);
            if (!(dtp_fold_number(x, r * keys + k) == (sees ? shown : hidden))) return false;
        }
    *m = (dtp_meant_t){.kind = DTP_MEANS_SEEN, .shown = shown, .hidden = hidden, .window = window};
    return true;
}

/* A mask that is not cut on both sides yet, or a table, of which all layers may have the same. */
static bool is_table(cv_t *cv, const val_t *x, dtp_meant_t *m) {
    const int nd = x->info.ndims;
    dtp_growing_t *g = dtp_growing(cv->im);
    if (nd < 2 || dtp_cv_product(x, 0, nd - 2) != 1) return false;
    if (x->meant) {
        *m = *x->meant;
        return m->kind == DTP_MEANS_SEEN;
    }
    if (g->table != x) {
        dtp_meant_t *seen = dtp_cv_alloc(cv, sizeof *seen);
        if (!seen) return false;
        g->table = x;
        g->table_seen = reads_as_seen(x, rows_of(x), x->info.dims[nd - 1], seen) ? seen : NULL;
    }
    if (g->table_seen) *m = *g->table_seen;
    return g->table_seen != NULL;
}

/* Rows from the past on, and as many keys as there are then. */
bool dtp_causal_slice(cv_t *cv) {
    enum { STARTS = 1, ENDS, AXES, STEPS };
    dtp_growing_t *g = dtp_growing(cv->im);
    const val_t *x = cv->in[0];
    const int nd = x->info.ndims;
    const bool is_attr = cv->row->convert == dtp_onnx_slice_1;
    int64_t dims[DNNL_TP_MAX_NDIMS], n, ne, na = -1, ns = 0;
    dtp_meant_t m;
    if ((!x->data && !dtp_meant_as(x, DTP_MEANS_SEEN)) || nd < 2) return false;
    const int64_t *from = is_attr ? dtp_cv_attr_ints(cv, "starts", &n) : dtp_cv_ints(cv, STARTS, &n);
    const int64_t *to = is_attr ? dtp_cv_attr_ints(cv, "ends", &ne) : dtp_cv_ints(cv, ENDS, &ne);
    const int64_t *axes = is_attr                  ? dtp_cv_attr_ints(cv, "axes", &na)
                          : dtp_cv_given(cv, AXES) ? dtp_cv_ints(cv, AXES, &na)
                                                   : NULL;
    const int64_t *by = !is_attr && dtp_cv_given(cv, STEPS) ? dtp_cv_ints(cv, STEPS, &ns) : NULL;
    if (cv->status || n < 1 || n != ne || (axes && na != n) || (by && ns != n)) return cv->status;
    memcpy(dims, x->info.dims, (size_t)nd * sizeof *dims);
    bool rows = false, keys = false;
    for (int64_t i = 0; i < n; ++i) {
        const int64_t axis = axes ? axes[i] < 0 ? axes[i] + nd : axes[i] : i;
        if ((by && by[i] != 1) || axis < 0 || axis >= nd) return false;
        if (axis == nd - 2 && !rows && from[i] == g->capacity && to[i] == g->total) rows = true;
        else if (axis == nd - 1 && !keys && from[i] == 0 && to[i] == g->total) keys = true;
        else if (from[i] != 0 || to[i] < dims[axis]) return false;
    }
    if (!(rows || keys) || !is_table(cv, x, &m) || (rows && m.rows_are_cut) || (keys && m.keys_are_cut))
        return false;
    for (int cut = 0; cut < 2; ++cut) { /* the table ends where no run may go */
        if (!(cut ? keys : rows)) continue;
        if (!g->most || dims[nd - 2 + cut] < g->most) g->most = dims[nd - 2 + cut];
        dims[nd - 2 + cut] = cut ? g->total : g->total - g->capacity;
    }
    m.rows_are_cut |= rows;
    m.keys_are_cut |= keys;
    dtp_cv_set(cv, 0, dtp_cv_meant(cv, &m, x->info.data_type, nd, dims));
    return true;
}

/* Zeros for the past, and a triangle for the new rows. */
bool dtp_causal_concat(cv_t *cv) {
    const dtp_growing_t *g = dtp_growing(cv->im);
    if (cv->nin != 2 || !cv->in[0] || !cv->in[1]) return false;
    const val_t *x = cv->in[0], *y = cv->in[1];
    const int nd = x->info.ndims;
    const int64_t rows = g->total - g->capacity, axis = dtp_cv_int(cv, "axis", 1);
    dtp_meant_t m;
    if (nd < 2 || y->info.ndims != nd || (axis != -1 && axis != nd - 1) || !x->data || !y->data ||
        rows_of(x) != rows || rows_of(y) != rows || x->info.dims[nd - 1] != g->capacity ||
        y->info.dims[nd - 1] != rows || dtp_cv_product(y, 0, nd - 2) != 1 ||
        dtp_cv_product(x, 0, nd - 2) != 1 || x->info.data_type != y->info.data_type)
        return false;
    /* Of one row nothing tells whether it is a triangle, and nothing needs it: it sees its own key. */
    if (!reads_as_seen(y, rows, rows, &m) || m.window >= 0 || !is_number(x) || !dtp_fold_is(x, m.shown))
        return false;
    int64_t dims[DNNL_TP_MAX_NDIMS];
    memcpy(dims, y->info.dims, (size_t)nd * sizeof *dims);
    dims[nd - 1] = g->total;
    m.rows_are_cut = m.keys_are_cut = true;
    dtp_cv_set(cv, 0, dtp_cv_meant(cv, &m, x->info.data_type, nd, dims));
    return true;
}

/* ---- What is made of them ---------------------------------------------------------------------------------------- */

static double computed(int kind, double x, double y) {
    switch (kind) {
    case dnnl_tp_op_add: return x + y;
    case dnnl_tp_op_subtract: return x - y;
    case dnnl_tp_op_multiply: return x * y;
    case dnnl_tp_op_equal: return x == y;
    case dnnl_tp_op_less: return x < y;
    case dnnl_tp_op_greater: return x > y;
    default: return NAN;
    }
}

/* With a number. */
bool dtp_causal_binary(cv_t *cv) {
    const int kind = cv->row->kind, at = dtp_meant_as(cv->in[0], DTP_MEANS_SEEN) ? 0 : 1;
    const val_t *x = cv->in[at], *y = cv->in[1 - at];
    const dtp_meant_t *m = dtp_meant_as(x, DTP_MEANS_SEEN);
    const bool compares = kind == dnnl_tp_op_equal || kind == dnnl_tp_op_less || kind == dnnl_tp_op_greater;
    double number;
    if (m && kind == dnnl_tp_op_add && dtp_fold_is(y, 0) && y->info.data_type == x->info.data_type)
        return stretched(cv, x, y->info.ndims, y->info.dims);
    if (!m || !dtp_meant_number(y, x, &number)) return false;
    double shown = at ? computed(kind, number, m->shown) : computed(kind, m->shown, number),
           hidden = at ? computed(kind, number, m->hidden) : computed(kind, m->hidden, number);
    if (isnan(shown) || isnan(hidden)) return false;
    if (!compares && x->info.data_type == dnnl_tp_f32) {
        shown = (double)(float)shown;
        hidden = (double)(float)hidden;
    } else if (!compares && (fabs(shown) > INT8_MAX || fabs(hidden) > INT8_MAX || shown < 0 || hidden < 0)) {
        return false; /* of integers, those that every type has */
    }
    return changed(cv, x, compares ? dnnl_tp_boolean : x->info.data_type, shown, hidden);
}

bool dtp_causal_where(cv_t *cv) {
    const val_t *x = cv->in[0];
    const dtp_meant_t *m = dtp_meant_as(x, DTP_MEANS_SEEN);
    double yes, no;
    if (!m || !dtp_meant_number(cv->in[1], x, &yes) || !dtp_meant_number(cv->in[2], x, &no)) return false;
    return changed(cv, x, cv->in[1]->info.data_type, m->shown != 0 ? yes : no, m->hidden != 0 ? yes : no);
}

bool dtp_causal_cast(cv_t *cv) {
    const val_t *x = cv->in[0];
    const dtp_meant_t *m = dtp_meant_as(x, DTP_MEANS_SEEN);
    if (!m) return false;
    (void)dtp_cv_int(cv, "saturate", 1);
    (void)dtp_cv_word(cv, "round_mode", "up", "up");
    const dnnl_tp_data_type_t to = dtp_cv_type(cv, "to", 0);
    const bool is_flag = m->shown == (m->shown != 0) && m->hidden == (m->hidden != 0);
    if (to == dnnl_tp_boolean) return changed(cv, x, to, m->shown != 0, m->hidden != 0);
    /* 0 and 1 are the same in all types. */
    return (is_flag || to == x->info.data_type) && changed(cv, x, to, m->shown, m->hidden);
}

bool dtp_causal_not(cv_t *cv) {
    const dtp_meant_t *m = dtp_meant_as(cv->in[0], DTP_MEANS_SEEN);
    return m && cv->row->kind == dnnl_tp_op_logical_not &&
           changed(cv, cv->in[0], dnnl_tp_boolean, m->shown == 0, m->hidden == 0);
}

/* Before the rows. */
bool dtp_causal_unsqueeze(cv_t *cv) {
    const val_t *x = cv->in[0];
    const dtp_meant_t *m = dtp_meant_as(x, DTP_MEANS_SEEN);
    int64_t n, dims[DNNL_TP_MAX_NDIMS];
    if (!m) return false;
    const bool is_attr = cv->row->convert == dtp_onnx_unsqueeze_1;
    const int64_t *axes = is_attr ? dtp_cv_attr_ints(cv, "axes", &n) : dtp_cv_ints(cv, 1, &n);
    if (cv->status || n < 0 || x->info.ndims + n > DNNL_TP_MAX_NDIMS) return cv->status;
    const int nd = x->info.ndims + (int)n;
    for (int64_t i = 0; i < n; ++i) {
        const int64_t axis = axes[i] < 0 ? axes[i] + nd : axes[i];
        if (axis < 0 || axis >= nd - 2) return false;
        for (int64_t k = 0; k < i; ++k)
            if ((axes[k] < 0 ? axes[k] + nd : axes[k]) == axis) return false;
    }
    for (int d = 0; d < nd; ++d) dims[d] = d < nd - 2 ? 1 : x->info.dims[d - n];
    for (int d = 0; d < x->info.ndims - 2; ++d)
        if (x->info.dims[d] != 1) return false;
    dtp_cv_set(cv, 0, dtp_cv_meant(cv, m, x->info.data_type, nd, dims));
    return true;
}

bool dtp_causal_expand(cv_t *cv) {
    const val_t *x = cv->in[0];
    int64_t n;
    if (!dtp_meant_as(x, DTP_MEANS_SEEN)) return false;
    const int64_t *shape = dtp_cv_ints(cv, 1, &n);
    return cv->status || (n <= DNNL_TP_MAX_NDIMS && stretched(cv, x, (int)n, shape));
}
