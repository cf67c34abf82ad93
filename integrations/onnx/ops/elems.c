/* Arithmetic on shapes, see elems.h. The result of a node is what its converter makes of the hints; beside it stand the
 * expressions. */
#include "onnx/ops/elems.h"
#include "onnx/ops/ops.h"

enum { MOST_ELEMS = 256 }; /* of a list of expressions */

/* ---- Lists of expressions ---------------------------------------------------------------------------------------- */

bool dtp_elems_are_integers(const val_t *x) {
    return x && x->data && (x->info.data_type == dnnl_tp_s64 || x->info.data_type == dnnl_tp_s32) &&
           dtp_val_elems(x) <= MOST_ELEMS;
}

static int64_t integer_at(const val_t *x, int64_t i) {
    return x->info.data_type == dnnl_tp_s64 ? ((const int64_t *)x->data)[i] : ((const int32_t *)x->data)[i];
}

const dtp_size_t *dtp_elems_of(cv_t *cv, const val_t *x, int64_t *n) {
    *n = 0;
    if (!dtp_elems_are_integers(x) || cv->status) return NULL;
    *n = dtp_val_elems(x);
    if (x->elems) return x->elems;
    dtp_size_t *to = dtp_cv_alloc(cv, (size_t)*n * sizeof *to);
    for (int64_t i = 0; to && i < *n && !cv->status; ++i) {
        to[i] = number(cv, integer_at(x, i));
        if (to[i] < 0) dtp_cv_too_complex(cv);
    }
    return cv->status ? NULL : to;
}

/* Makes the known integers of x these expressions; all numbers: x is as it was. */
static void set_elems(cv_t *cv, val_t *x, const dtp_size_t *elems) {
    const int64_t n = dtp_val_elems(x);
    bool open = false;
    for (int64_t i = 0; i < n; ++i) open |= !is_number(cv, elems[i]);
    if (open) x->elems = elems;
}

val_t *dtp_elems_list(cv_t *cv, int64_t n, const dtp_size_t *elems) {
    void *p;
    val_t *v = dtp_cv_room(cv, dnnl_tp_s64, 1, &n, &p);
    dtp_size_t *copy = v ? dtp_cv_alloc(cv, (size_t)n * sizeof *copy) : NULL;
    for (int64_t i = 0; copy && i < n && !cv->status; ++i) {
        copy[i] = elems[i];
        if (elems[i] < 0) dtp_cv_too_complex(cv);
        else ((int64_t *)p)[i] = hint(cv, elems[i]);
    }
    if (!cv->status) set_elems(cv, v, copy);
    return v;
}

/* The converter, with inputs that have known elements in place of expressions: hints, or the numbers of the
 * expressions themselves, which an operator moves like any others. */
static val_t *convert_with(cv_t *cv, bool with_hints) {
    val_t **in = dtp_cv_alloc(cv, ((size_t)cv->nin + 1) * sizeof *in);
    for (int i = 0; in && i < cv->nin; ++i) {
        in[i] = cv->in[i];
        if (!in[i] || (!in[i]->elems && (with_hints || i))) continue;
        void *p;
        val_t *x = cv->in[i] =
            dtp_cv_room(cv, in[i]->info.data_type, in[i]->info.ndims, in[i]->info.dims, &p);
        int64_t n;
        const dtp_size_t *elems = x ? dtp_elems_of(cv, in[i], &n) : NULL;
        for (int64_t k = 0; elems && k < n; ++k) {
            const int64_t v = with_hints ? integer_at(in[i], k) : elems[k];
            if (x->info.data_type == dnnl_tp_s64) ((int64_t *)p)[k] = v;
            else ((int32_t *)p)[k] = (int32_t)v;
        }
    }
    if (!cv->status) cv->row->convert(cv);
    for (int i = 0; in && i < cv->nin; ++i) cv->in[i] = in[i];
    return cv->status ? NULL : cv->out[0];
}

bool dtp_elems_concat(cv_t *cv) {
    int64_t n, all = 0;
    for (int i = 0; i < cv->nin; ++i) {
        if (!dtp_elems_are_integers(cv->in[i]) || cv->in[i]->info.ndims != 1 ||
            !dtp_elems_of(cv, cv->in[i], &n))
            return false;
        all += n;
    }
    if (all > MOST_ELEMS) return false;
    dtp_size_t *elems = dtp_cv_alloc(cv, (size_t)all * sizeof *elems);
    val_t *y = elems ? convert_with(cv, true) : NULL;
    all = 0;
    for (int i = 0; y && i < cv->nin; ++i) {
        const dtp_size_t *x = dtp_elems_of(cv, cv->in[i], &n);
        for (int64_t k = 0; x && k < n; ++k) elems[all++] = x[k];
    }
    if (y && !cv->status) set_elems(cv, y, elems);
    return true;
}

bool dtp_elems_move(cv_t *cv) {
    val_t *x = cv->in[0];
    if (!dtp_elems_are_integers(x) || !x->elems) return false;
    for (int i = 1; i < cv->nin; ++i)
        if (cv->in[i]) {
            dtp_cv_guard_elems(cv, cv->in[i]);
            dtp_cv_guard_sizes(cv, cv->in[i]);
        }
    val_t *y = convert_with(cv, true), *outs[4] = {NULL};
    if (cv->status) return true;
    enum { MOST_OUT = sizeof outs / sizeof *outs };
    if (cv->nout > MOST_OUT || !dtp_elems_are_integers(y)) return false;
    for (int i = 0; i < cv->nout; ++i) outs[i] = cv->out[i];
    if (!convert_with(cv, false)) return true;
    for (int i = 0; i < cv->nout; ++i) {
        if (!outs[i]) continue;
        const int64_t n = dtp_elems_are_integers(outs[i]) && dtp_elems_are_integers(cv->out[i])
                              ? dtp_val_elems(outs[i])
                              : -1;
        if (n < 0) {
            dtp_cv_too_complex(cv);
            return true;
        }
        dtp_size_t *elems = dtp_cv_alloc(cv, (size_t)n * sizeof *elems);
        for (int64_t k = 0; elems && k < n; ++k) elems[k] = (dtp_size_t)integer_at(cv->out[i], k);
        if (elems) set_elems(cv, outs[i], elems);
    }
    for (int i = 0; i < cv->nout; ++i) cv->out[i] = outs[i];
    return true;
}

bool dtp_elems_cast(cv_t *cv) {
    val_t *x = cv->in[0];
    if (!x->elems || cv->since < 0) return false;
    const dtp_size_t *elems = x->elems;
    val_t *y = convert_with(cv, true);
    const bool is_float =
        !cv->status && (y->info.data_type == dnnl_tp_f32 || y->info.data_type == dnnl_tp_f64);
    if (is_float && !cv->im->sizes->knows_floats) { /* the compiler computes it */
        val_t open = {.v = dtp_cv_value(cv, x), .info = x->info};
        cv->in[0] = &open;
        if (!cv->status) cv->row->convert(cv);
        cv->in[0] = x;
        return true;
    }
    if (!cv->status && (y->stored || !dtp_elems_are_integers(y))) {
        dtp_cv_guard_elems(cv, x);
        return true; /* of the hints; expressions have 64 bits, narrow types fewer */
    }
    if (!cv->status) set_elems(cv, y, elems);
    return true;
}

/* ---- Arithmetic on expressions ----------------------------------------------------------------------------------- */

/* a / b as integers are divided, towards 0; DTP_NO_SIZE: it is not known how. */
static dtp_size_t quotient(cv_t *cv, dtp_size_t a, dtp_size_t b) {
    dtp_sizes_t *s = cv->im->sizes;
    const dtp_size_t exact = dtp_size_exact(s, a, b);
    return exact >= 0 ? exact : s->sums[a].least >= 0 ? dtp_size_divide(s, a, b) : DTP_NO_SIZE;
}

/* What an operator makes of two elements; of comparisons that is a number. */
static dtp_size_t computed(cv_t *cv, int kind, dtp_size_t a, dtp_size_t b) {
    dtp_sizes_t *s = cv->im->sizes;
    const dtp_size_t one = number(cv, 1);
    switch (a < 0 || b < 0 ? -1 : kind) {
    case dnnl_tp_op_add: return dtp_size_add(s, a, b);
    case dnnl_tp_op_subtract: return dtp_size_subtract(s, a, b);
    case dnnl_tp_op_multiply: return dtp_size_multiply(s, a, b);
    case dnnl_tp_op_divide: return quotient(cv, a, b);
    case dnnl_tp_op_modulo:
    case dnnl_tp_op_remainder: return dtp_size_subtract(s, a, dtp_size_multiply(s, quotient(cv, a, b), b));
    case dnnl_tp_op_minimum: return dtp_size_bound(s, DTP_SIZE_LEAST, a, b);
    case dnnl_tp_op_maximum: return dtp_size_bound(s, DTP_SIZE_MOST, a, b);
    case dnnl_tp_op_equal: return number(cv, dtp_cv_size_is(cv, a, DTP_SIZE_EQUAL, b));
    case dnnl_tp_op_less_equal: return number(cv, dtp_cv_size_is(cv, a, DTP_SIZE_AT_MOST, b));
    case dnnl_tp_op_greater_equal: return number(cv, dtp_cv_size_is(cv, b, DTP_SIZE_AT_MOST, a));
    case dnnl_tp_op_less: return number(cv, dtp_cv_size_is(cv, dtp_size_add(s, a, one), DTP_SIZE_AT_MOST, b));
    case dnnl_tp_op_greater:
        return number(cv, dtp_cv_size_is(cv, dtp_size_add(s, b, one), DTP_SIZE_AT_MOST, a));
    default: return DTP_NO_SIZE;
    }
}

/* The element of x that stands beside element i of y, to which x is broadcast. */
static int64_t beside(const val_t *x, const val_t *y, int64_t i) {
    int64_t at = 0, step = 1;
    for (int d = y->info.ndims - 1, k = x->info.ndims - 1; k >= 0; --d, --k) {
        if (x->info.dims[k] != 1) at += i % y->info.dims[d] * step;
        i /= y->info.dims[d];
        step *= x->info.dims[k];
    }
    return at;
}

static int kind_of(const cv_t *cv) {
    if (cv->row->convert != dtp_onnx_mod) return cv->row->kind;
    return dnnl_tp_op_modulo;
}

bool dtp_elems_arithmetic(cv_t *cv) {
    int64_t n;
    enum { MOST_IN = 16 };
    const dtp_size_t *in[MOST_IN];
    if (cv->nin > MOST_IN) return false;
    for (int i = 0; i < cv->nin; ++i)
        if (!(in[i] = dtp_elems_of(cv, cv->in[i], &n))) return false;
    val_t *y = convert_with(cv, true);
    if (cv->status || !y || !y->data || dtp_val_elems(y) > MOST_ELEMS) return cv->status;
    n = dtp_val_elems(y);
    dtp_size_t *elems = dtp_cv_alloc(cv, (size_t)n * sizeof *elems);
    bool fits = elems != NULL;
    for (int64_t i = 0; i < n && fits; ++i) {
        elems[i] = in[0][beside(cv->in[0], y, i)];
        for (int k = 1; k < cv->nin; ++k)
            elems[i] = computed(cv, kind_of(cv), elems[i], in[k][beside(cv->in[k], y, i)]);
        const double want = dtp_fold_number(y, i);
        fits = elems[i] >= 0 && (double)hint(cv, elems[i]) == want;
    }
    if (cv->status) return true;
    if (!fits) return false;
    if (dtp_elems_are_integers(y)) set_elems(cv, y, elems);
    return true;
}

bool dtp_elems_where(cv_t *cv) {
    enum { CONDITION, X, Y };
    int64_t n;
    const val_t *c = cv->in[CONDITION];
    const dtp_size_t *x = dtp_elems_of(cv, cv->in[X], &n), *y = dtp_elems_of(cv, cv->in[Y], &n);
    if (!c->data || !x || !y) return false;
    val_t *to = convert_with(cv, true);
    if (cv->status || !dtp_elems_are_integers(to)) return cv->status;
    n = dtp_val_elems(to);
    dtp_size_t *elems = dtp_cv_alloc(cv, (size_t)n * sizeof *elems);
    for (int64_t i = 0; elems && i < n; ++i)
        elems[i] = dtp_fold_number(c, beside(c, to, i)) != 0 ? x[beside(cv->in[X], to, i)]
                                                             : y[beside(cv->in[Y], to, i)];
    if (elems) set_elems(cv, to, elems);
    return true;
}

bool dtp_elems_reduce(cv_t *cv) {
    int64_t n;
    const val_t *x = cv->in[0];
    const dtp_size_t *elems = dtp_elems_of(cv, x, &n);
    const int kind = cv->row->kind == dnnl_tp_op_reduce_sum    ? dnnl_tp_op_add
                     : cv->row->kind == dnnl_tp_op_reduce_prod ? dnnl_tp_op_multiply
                     : cv->row->kind == dnnl_tp_op_reduce_max  ? dnnl_tp_op_maximum
                     : cv->row->kind == dnnl_tp_op_reduce_min  ? dnnl_tp_op_minimum
                                                               : -1;
    if (!elems || x->info.ndims != 1 || n < 2 || kind < 0) return false;
    val_t *y = convert_with(cv, true);
    if (cv->status || !dtp_elems_are_integers(y) || dtp_val_elems(y) != 1) return cv->status;
    dtp_size_t *all = dtp_cv_alloc(cv, sizeof *all);
    if (all) *all = elems[0];
    for (int64_t i = 1; all && i < n; ++i) *all = computed(cv, kind, *all, elems[i]);
    if (!all || *all < 0 || hint(cv, *all) != integer_at(y, 0)) return cv->status;
    set_elems(cv, y, all);
    return true;
}
