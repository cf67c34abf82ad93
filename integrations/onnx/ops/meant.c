/* Attention that a model writes as products, of a cache (meant.h). */
#include "onnx/ops/meant.h"
#include "onnx/ops/attend.h"
#include "onnx/ops/ops.h"

enum { RANK = DTP_RANK };

val_t *dtp_cv_meant(cv_t *cv, const dtp_meant_t *m, dnnl_tp_data_type_t type, int ndims,
                    const int64_t *dims) {
    val_t *x = dtp_cv_alloc(cv, sizeof *x);
    dtp_meant_t *copy = dtp_cv_alloc(cv, sizeof *copy);
    if (!x || !copy) return NULL;
    *copy = *m;
    x->v = -1;
    x->info.data_type = type;
    x->info.ndims = ndims;
    for (int d = 0; d < ndims; ++d) x->info.dims[d] = dims[d];
    x->meant = copy;
    return x;
}

bool dtp_meant_number(const val_t *x, const val_t *of, double *number) {
    if (!x || !x->data || x->stored || dtp_val_elems(x) != 1 || x->info.ndims > of->info.ndims) return false;
    *number = dtp_fold_number(x, 0);
    return true;
}

/* ---- Caches ------------------------------------------------------------------------------------------------------ */

static bool has_dims(const dtp_meant_t *m, int ndims, const uint8_t *dim) {
    return !memcmp(m->dim, dim, (size_t)ndims);
}
static const uint8_t both_halves[] = {DTP_OF_HALVES, DTP_OF_BATCH, DTP_OF_GROUPS, DTP_OF_PLACES,
                                      DTP_OF_FEATURES};
static const uint8_t *const in_rows = both_halves + 1;
static const uint8_t in_columns[] = {DTP_OF_BATCH, DTP_OF_GROUPS, DTP_OF_FEATURES, DTP_OF_PLACES};

/* A past, or what is made of one. */
static bool cache_of(const val_t *x, dtp_meant_t *m) {
    if (!x) return false;
    if (x->meant) {
        *m = *x->meant;
        return m->kind == DTP_MEANS_CACHE;
    }
    const int nd = x->info.ndims;
    if (!x->is_past || nd < RANK || nd > RANK + 1) return false;
    *m = (dtp_meant_t){.kind = DTP_MEANS_CACHE,
                       .factor = 1,
                       .past = (val_t *)(uintptr_t)x,
                       .half = nd == RANK ? 0 : -1,
                       .repeats = 1};
    memcpy(m->dim,
           x->is_past == DTP_PAST_COLUMNS ? in_columns
           : nd == RANK                   ? in_rows
                                          : both_halves,
           (size_t)nd);
    return true;
}

/* In the order of dimensions of its past it may be an output. */
static bool give(cv_t *cv, const dtp_meant_t *m, int ndims, const int64_t *dims) {
    const val_t *past = m->past;
    dtp_meant_t of_past;
    val_t *x = dtp_cv_meant(cv, m, past->info.data_type, ndims, dims);
    const bool is_whole = m->rows && m->factor == 1 && ndims == past->info.ndims &&
                          cache_of(past, &of_past) && has_dims(m, ndims, of_past.dim) &&
                          m->half == of_past.half;
    if (x && is_whole) x->rows = m->rows;
    dtp_cv_set(cv, 0, x);
    return true;
}

static bool transpose(cv_t *cv) {
    dtp_meant_t m, y;
    int64_t n, dims[DTP_MEANT_DIMS];
    unsigned seen = 0;
    if (!cache_of(cv->in[0], &m)) return false;
    const val_t *x = cv->in[0];
    const int nd = x->info.ndims;
    const int64_t *perm = dtp_cv_attr_ints(cv, "perm", &n);
    if (n >= 0 && n != nd) return false;
    y = m;
    for (int d = 0; d < nd; ++d) {
        const int64_t from = n < 0 ? nd - 1 - d : perm[d];
        if (from < 0 || from >= nd || seen >> from & 1) return false;
        seen |= 1u << from;
        y.dim[d] = m.dim[from];
        dims[d] = x->info.dims[from];
    }
    return give(cv, &y, nd, dims);
}

/* New rows {B, G, S, D} of a tensor in the order of dimensions of a cache; NULL: it does not fit. */
static val_t *rows_for(cv_t *cv, const dtp_meant_t *m, const val_t *cache, val_t *y) {
    int64_t perm[RANK];
    unsigned seen = 0;
    for (int d = 0; d < RANK; ++d) {
        const int of = m->dim[d] - DTP_OF_BATCH;
        if (of < 0 || of >= RANK || seen >> of & 1) return NULL;
        if (m->dim[d] != DTP_OF_PLACES && y->info.dims[d] != cache->info.dims[d]) return NULL;
        seen |= 1u << of;
        perm[of] = d;
    }
    return dtp_cv_transpose(cv, y, perm);
}

/* Keys and values that have grown, behind each other. */
static bool stack(cv_t *cv, int axis) {
    dtp_meant_t m[2];
    const val_t *x = cv->in[0];
    for (int i = 0; i < 2; ++i)
        if (!cache_of(cv->in[i], &m[i]) || !m[i].rows || m[i].half != i || m[i].past != m[0].past ||
            m[i].past->info.ndims != RANK + 1 || m[i].factor != 1 || m[i].repeats != 1 || axis != 0 ||
            cv->in[i]->info.ndims != RANK + 1 || m[i].dim[0] != DTP_OF_ONE ||
            memcmp(m[i].dim + 1, in_rows, RANK) != 0)
            return false;
    int64_t dims[RANK + 1];
    for (int d = 0; d <= RANK; ++d) dims[d] = d ? x->info.dims[d] : 2;
    m[0].rows = dtp_cv_stack(cv, 2, (val_t *[]){m[0].rows, m[1].rows}, 0);
    m[0].dim[0] = DTP_OF_HALVES;
    m[0].half = -1;
    return give(cv, &m[0], RANK + 1, dims);
}

static bool concat(cv_t *cv) {
    dtp_meant_t m;
    int64_t dims[RANK];
    if (cv->nin != 2 || !cv->in[0] || !cv->in[1] || !cache_of(cv->in[0], &m)) return dtp_causal_concat(cv);
    const val_t *x = cv->in[0];
    val_t *y = cv->in[1];
    const int64_t at = dtp_cv_int(cv, "axis", 1), axis = at < 0 ? at + x->info.ndims : at;
    if (axis < 0 || axis >= x->info.ndims) return false;
    if (y->meant || y->is_past) return stack(cv, (int)axis);
    if (m.rows || m.half < 0 || m.factor != 1 || m.repeats != 1 || x->info.ndims != RANK ||
        y->info.ndims != RANK || m.dim[axis] != DTP_OF_PLACES || y->info.data_type != x->info.data_type)
        return false;
    m.rows = rows_for(cv, &m, x, y);
    if (!m.rows) return cv->status;
    memcpy(dims, x->info.dims, sizeof dims);
    dims[axis] += y->info.dims[axis];
    return give(cv, &m, RANK, dims);
}

/* One of both halves. */
static bool gather(cv_t *cv) {
    dtp_meant_t m;
    double at;
    int64_t dims[DTP_MEANT_DIMS];
    if (!cache_of(cv->in[0], &m)) return false;
    const val_t *x = cv->in[0];
    const int64_t axis = dtp_cv_int(cv, "axis", 0);
    const int keeps = cv->in[1]->info.ndims;
    if (axis != 0 || m.dim[0] != DTP_OF_HALVES || m.rows || keeps > 1 ||
        !dtp_meant_number(cv->in[1], x, &at) || (at != 0 && at != 1 && at != -1 && at != -2))
        return false;
    m.half = (int)(at < 0 ? at + 2 : at);
    if (keeps) m.dim[0] = DTP_OF_ONE;
    else memmove(m.dim, m.dim + 1, RANK);
    for (int d = 0; d < x->info.ndims; ++d)
        if (keeps || d) dims[keeps ? d : d - 1] = d ? x->info.dims[d] : 1;
    return give(cv, &m, RANK + keeps, dims);
}

static bool split(cv_t *cv) {
    dtp_meant_t m;
    int64_t n, dims[RANK + 1];
    if (!cache_of(cv->in[0], &m) || m.dim[0] != DTP_OF_HALVES || m.rows || cv->nout != 2) return false;
    const int64_t axis = dtp_cv_int(cv, "axis", 0);
    const bool is_attr = cv->row->convert == dtp_onnx_split_2;
    const int64_t *sizes = is_attr               ? dtp_cv_attr_ints(cv, "split", &n)
                           : dtp_cv_given(cv, 1) ? dtp_cv_ints(cv, 1, &n)
                                                 : NULL;
    (void)dtp_cv_int(cv, "num_outputs", 2);
    if (cv->status || axis != 0 || (sizes && (n != 2 || sizes[0] != 1 || sizes[1] != 1))) return cv->status;
    memcpy(dims, cv->in[0]->info.dims, sizeof dims);
    dims[0] = 1;
    m.dim[0] = DTP_OF_ONE;
    for (m.half = 0; m.half < 2; ++m.half)
        dtp_cv_set(cv, m.half, dtp_cv_meant(cv, &m, m.past->info.data_type, RANK + 1, dims));
    return true;
}

static bool has_axis(int64_t n, const int64_t *axes, int nd, int axis) {
    for (int64_t i = 0; i < n; ++i)
        if (axes[i] == axis || axes[i] + nd == axis) return true;
    return false;
}

static bool squeeze(cv_t *cv) {
    dtp_meant_t m, y;
    int64_t n = 0, dims[DTP_MEANT_DIMS];
    int k = 0;
    if (!cache_of(cv->in[0], &m)) return false;
    const val_t *x = cv->in[0];
    const bool is_attr = cv->row->convert == dtp_onnx_squeeze_1;
    const int64_t *axes = is_attr               ? dtp_cv_attr_ints(cv, "axes", &n)
                          : dtp_cv_given(cv, 1) ? dtp_cv_ints(cv, 1, &n)
                                                : NULL;
    if (!axes || cv->status) return cv->status; /* without axes, which ones go depends on sizes */
    y = m;
    for (int d = 0; d < x->info.ndims; ++d) {
        if (!has_axis(n, axes, x->info.ndims, d)) {
            y.dim[k] = m.dim[d];
            dims[k++] = x->info.dims[d];
        } else if (m.dim[d] != DTP_OF_ONE) return false;
    }
    return k + n == x->info.ndims && give(cv, &y, k, dims);
}

static bool unsqueeze(cv_t *cv) {
    dtp_meant_t m, y;
    int64_t n, dims[DTP_MEANT_DIMS];
    if (!cache_of(cv->in[0], &m)) return dtp_causal_unsqueeze(cv);
    const val_t *x = cv->in[0];
    const bool is_attr = cv->row->convert == dtp_onnx_unsqueeze_1;
    const int64_t *axes = is_attr ? dtp_cv_attr_ints(cv, "axes", &n) : dtp_cv_ints(cv, 1, &n);
    if (cv->status || n < 0 || x->info.ndims + n > DTP_MEANT_DIMS) return cv->status;
    const int nd = x->info.ndims + (int)n;
    int k = 0;
    y = m;
    for (int d = 0; d < nd; ++d) {
        const bool is_new = has_axis(n, axes, nd, d);
        if (!is_new && k >= x->info.ndims) return false;
        y.dim[d] = is_new ? (uint8_t)DTP_OF_ONE : m.dim[k];
        dims[d] = is_new ? 1 : x->info.dims[k++];
    }
    return k == x->info.ndims && give(cv, &y, nd, dims);
}

/* Each head of keys once for each of the heads of queries that share it. */
static bool expand(cv_t *cv) {
    dtp_meant_t m;
    int64_t n, dims[DTP_MEANT_DIMS];
    if (!cache_of(cv->in[0], &m)) return dtp_causal_expand(cv);
    const val_t *x = cv->in[0];
    const int64_t *shape = dtp_cv_ints(cv, 1, &n);
    if (cv->status || n != x->info.ndims) return cv->status;
    for (int d = 0; d < n; ++d) {
        dims[d] = x->info.dims[d];
        if (shape[d] == 1 || shape[d] == dims[d]) continue;
        if (m.dim[d] != DTP_OF_ONE || m.repeats != 1 || shape[d] < 1 || shape[d] > INT16_MAX || d == 0 ||
            m.dim[d - 1] != DTP_OF_GROUPS)
            return false;
        m.dim[d] = DTP_OF_REPEATS;
        m.repeats = dims[d] = shape[d];
    }
    return give(cv, &m, (int)n, dims);
}

/* {B, G, repeats, T, D} as {B, G repeats, T, D}; D may stand before T. */
static bool reshape(cv_t *cv) {
    enum { REPEATS = 2, FROM = 5 };
    dtp_meant_t m;
    int64_t n;
    if (cv->row->convert != dtp_onnx_reshape || !cache_of(cv->in[0], &m)) return false;
    const val_t *x = cv->in[0];
    const int64_t *old = x->info.dims, *shape = dtp_cv_ints(cv, 1, &n);
    const int64_t dims[RANK] = {old[0], old[1] * old[REPEATS], old[3], old[4]};
    if (cv->status || n != RANK || x->info.ndims != FROM || dtp_cv_int(cv, "allowzero", 0) != 0 ||
        m.dim[0] != DTP_OF_BATCH || m.dim[1] != DTP_OF_GROUPS ||
        (m.dim[REPEATS] != DTP_OF_REPEATS && m.dim[REPEATS] != DTP_OF_ONE))
        return cv->status;
    bool open = false;
    for (int d = 0; d < RANK; ++d) {
        const bool fits = shape[d] == dims[d] || (shape[d] == 0 && old[d] == dims[d]) ||
                          (shape[d] == -1 && !open); /* one size that the others leave */
        open |= shape[d] == -1;
        if (!fits) return false;
    }
    memmove(m.dim + REPEATS, m.dim + REPEATS + 1, 2);
    return give(cv, &m, RANK, dims);
}

/* ---- Scores ------------------------------------------------------------------------------------------------------ */

static bool scores(cv_t *cv, const val_t *x, const dtp_meant_t *m) {
    dtp_cv_set(cv, 0, dtp_cv_meant(cv, m, x->info.data_type, RANK, x->info.dims));
    return true;
}

/* y may be added to scores, or decide about them: {B or 1, H or 1, S or 1, T}. */
static bool fits_scores(const val_t *x, const val_t *y) {
    const int nd = y->info.ndims;
    bool fits = nd >= 1 && nd <= RANK && y->info.dims[nd - 1] == x->info.dims[RANK - 1];
    for (int d = 0; fits && d < nd; ++d)
        fits = y->info.dims[d] == x->info.dims[RANK - nd + d] || (d < nd - 1 && y->info.dims[d] == 1);
    return fits;
}

/* One row sees all keys that there are. */
static bool hides_none(const val_t *x, const dtp_meant_t *seen) {
    return x->info.dims[DTP_ROWS] == 1 && seen->window < 0;
}

/* Scores stay as they are for keys that a row sees; for others they become, or get, what makes their shares 0. */
static bool masks(cv_t *cv, const val_t *x, const val_t *mask, double shown, double hidden) {
    const dtp_meant_t *seen = mask->meant;
    dtp_meant_t m = *x->meant;
    if (!seen->rows_are_cut || !seen->keys_are_cut || shown != 0 || !fits_scores(x, mask) ||
        (!hides_none(x, seen) && !dtp_meant_hides(hidden)) || (m.seen && m.seen->window != seen->window))
        return false;
    m.seen = seen;
    return scores(cv, x, &m);
}

static bool add(cv_t *cv, const val_t *x, val_t *y, bool is_minus) {
    dtp_meant_t m = *x->meant;
    const double sign = is_minus ? -1 : 1;
    if (dtp_meant_as(y, DTP_MEANS_SEEN))
        return masks(cv, x, y, sign * y->meant->shown, sign * y->meant->hidden);
    if (y->meant || y->is_past || y->info.data_type != x->info.data_type) return false;
    if (!fits_scores(x, y)) return false;
    if (dtp_fold_is(y, 0)) return scores(cv, x, &m);
    if (is_minus) return false;
    y = dtp_cv_unsqueeze(cv, y, RANK - y->info.ndims, 0);
    m.bias = dtp_cv_plus(cv, m.bias, y);
    return scores(cv, x, &m);
}

static bool binary(cv_t *cv) {
    const int kind = cv->row->kind;
    dtp_meant_t m;
    double number = 0;
    const int at = dtp_meant_as(cv->in[1], DTP_MEANS_SCORES) ? 1
                   : cv->in[0]->meant || cv->in[0]->is_past  ? 0
                                                             : 1;
    const val_t *x = cv->in[at];
    val_t *y = cv->in[1 - at];
    const bool is_product = kind == dnnl_tp_op_multiply, is_quotient = kind == dnnl_tp_op_divide && at == 0,
               is_scores = dtp_meant_as(x, DTP_MEANS_SCORES) != NULL,
               is_number = dtp_meant_number(y, x, &number);
    if (is_scores && (kind == dnnl_tp_op_add || (kind == dnnl_tp_op_subtract && at == 0)))
        return add(cv, x, y, kind == dnnl_tp_op_subtract);
    if (is_scores && is_product && dtp_meant_as(y, DTP_MEANS_SEEN))
        return y->meant->shown == 1 && hides_none(x, y->meant) && masks(cv, x, y, 0, 0);
    if (is_scores) m = *x->meant;
    else if (!cache_of(x, &m)) return dtp_causal_binary(cv);
    if (!is_number || (!is_product && !is_quotient) || (is_scores && (m.bias || m.seen))) return false;
    if (is_quotient) number = 1 / number;
    if (m.cap != 0) m.cap *= number;
    else m.factor *= number;
    return is_scores ? scores(cv, x, &m) : give(cv, &m, x->info.ndims, x->info.dims);
}

static bool unary(cv_t *cv) {
    const val_t *x = cv->in[0];
    const dtp_meant_t *have = dtp_meant_as(x, DTP_MEANS_SCORES);
    if (!have) return dtp_causal_not(cv);
    dtp_meant_t m = *have;
    if (cv->row->kind != dnnl_tp_op_tanh || m.cap != 0 || m.bias || m.seen) return false;
    m.cap = 1;
    return scores(cv, x, &m);
}

static bool where(cv_t *cv) {
    enum { CONDITION, YES, NO };
    val_t *condition = cv->in[CONDITION];
    const bool is_yes = dtp_meant_as(cv->in[YES], DTP_MEANS_SCORES) != NULL;
    const val_t *x = cv->in[is_yes ? YES : NO], *y = cv->in[is_yes ? NO : YES];
    const dtp_meant_t *have = dtp_meant_as(x, DTP_MEANS_SCORES);
    double number;
    if (!have) return dtp_causal_where(cv);
    if (!dtp_meant_number(y, x, &number)) return false;
    dtp_meant_t m = *have;
    if (condition->meant) {
        const dtp_meant_t *seen = dtp_meant_as(condition, DTP_MEANS_SEEN);
        return seen && (seen->shown != 0) == is_yes &&
               ((seen->hidden != 0) != is_yes || hides_none(x, seen)) && masks(cv, x, condition, 0, number);
    }
    /* What is added makes the share 0, too. */
    if (!dtp_meant_hides(number) || !fits_scores(x, condition)) return false;
    val_t *zero = dtp_cv_scalar(cv, dnnl_tp_f32, 0), *least = dtp_cv_scalar(cv, dnnl_tp_f32, number);
    val_t *bias = dtp_cv_select(cv, condition, is_yes ? zero : least, is_yes ? least : zero);
    if (!bias) return scores(cv, x, &m);
    m.bias = dtp_cv_plus(cv, m.bias, dtp_cv_unsqueeze(cv, bias, RANK - bias->info.ndims, 0));
    return scores(cv, x, &m);
}

static bool softmax(cv_t *cv) {
    const val_t *x = cv->in[0];
    const dtp_meant_t *have = dtp_meant_as(x, DTP_MEANS_SCORES);
    if (!have || cv->row->kind != dnnl_tp_op_softmax) return false;
    const int64_t axis = dtp_cv_int(cv, "axis", cv->row->convert == dtp_onnx_softmax_1 ? 1 : -1);
    if (axis != -1 && axis != RANK - 1) return false;
    dtp_meant_t m = *have;
    m.kind = DTP_MEANS_SHARES;
    return scores(cv, x, &m);
}

/* ---- Products ---------------------------------------------------------------------------------------------------- */

/* The past of keys or values, {B, G, C, D}: the state has them in this order whatever the order of the model is. */
static val_t *past_of(cv_t *cv, const dtp_meant_t *m) {
    val_t *x = m->past;
    int64_t dims[RANK];
    if (x->info.ndims != RANK) return dtp_growing_half(cv, x, m->half);
    if (x->is_past == DTP_PAST_ROWS) return x;
    for (int d = 0; d < RANK; ++d) dims[d] = x->info.dims[d];
    dims[DTP_ROWS] = x->info.dims[DTP_FEATURES];
    dims[DTP_FEATURES] = x->info.dims[DTP_ROWS];
    return dtp_growing_kept(cv, dtp_cv_reshape(cv, x, RANK, dims));
}

/* The operator of all that was noted. */
static bool attend(cv_t *cv, const dtp_meant_t *m, const dtp_meant_t *values) {
    const dtp_meant_t *keys = m->keys;
    const bool fits = values->rows && values->repeats == keys->repeats && values->factor == 1 &&
                      keys->rows->info.dims[DTP_HEADS] == values->rows->info.dims[DTP_HEADS] &&
                      values->rows->info.dims[DTP_FEATURES] == m->q->info.dims[DTP_FEATURES];
    if (!fits || m->cap < 0) return false;
    val_t *y[DTP_CACHED_RESULTS];
    const dtp_attend_cached_t a = {.q = dtp_cv_join_heads(cv, m->q),
                                   .k = dtp_cv_join_heads(cv, keys->rows),
                                   .v = dtp_cv_join_heads(cv, values->rows),
                                   .past_k = past_of(cv, keys),
                                   .past_v = past_of(cv, values),
                                   .mask = m->bias,
                                   .is_causal = m->seen != NULL,
                                   .heads = m->q->info.dims[DTP_HEADS],
                                   .window = m->seen ? m->seen->window : -1,
                                   .scale = (float)(m->factor * keys->factor * (m->cap != 0 ? m->cap : 1)),
                                   .softcap = (float)m->cap};
    dtp_cv_attend_cached(cv, &a, y);
    dtp_cv_set(cv, 0, cv->status ? NULL : dtp_cv_split_heads(cv, y[0], a.heads));
    return true;
}

/* Queries {B, H, S, D} with keys {B, H, D, T}, or shares with values. */
static bool matmul(cv_t *cv) {
    dtp_meant_t keys;
    val_t *q = cv->in[0];
    const val_t *x = cv->in[1];
    if (!cache_of(x, &keys) || !keys.rows || x->info.ndims != RANK || keys.half < 0) return false;
    if (dtp_meant_as(q, DTP_MEANS_SHARES))
        return has_dims(&keys, RANK, in_rows) && attend(cv, q->meant, &keys);
    if (q->meant || q->is_past || q->info.ndims != RANK || !has_dims(&keys, RANK, in_columns) ||
        q->info.data_type != dnnl_tp_f32 || q->info.dims[DTP_BATCH] != x->info.dims[DTP_BATCH] ||
        q->info.dims[DTP_HEADS] != x->info.dims[DTP_HEADS] || q->info.dims[3] != x->info.dims[2] ||
        q->info.dims[DTP_ROWS] != keys.rows->info.dims[DTP_ROWS])
        return false;
    const int64_t dims[RANK] = {q->info.dims[0], q->info.dims[1], q->info.dims[2], x->info.dims[3]};
    const dtp_meant_t m = {
        .kind = DTP_MEANS_SCORES, .factor = 1, .q = q, .keys = x->meant, .past = keys.past};
    dtp_cv_set(cv, 0, dtp_cv_meant(cv, &m, dnnl_tp_f32, RANK, dims));
    return true;
}

typedef void convert_t(cv_t *cv);
static const struct {
    convert_t *convert;
    bool (*attends)(cv_t *cv);
} nodes[] = {{dtp_onnx_transpose, transpose},
             {dtp_onnx_concat, concat},
             {dtp_onnx_gather, gather},
             {dtp_onnx_split, split},
             {dtp_onnx_split_2, split},
             {dtp_onnx_squeeze, squeeze},
             {dtp_onnx_squeeze_1, squeeze},
             {dtp_onnx_unsqueeze, unsqueeze},
             {dtp_onnx_unsqueeze_1, unsqueeze},
             {dtp_onnx_expand, expand},
             {dtp_onnx_reshape, reshape},
             {dtp_onnx_binary, binary},
             {dtp_onnx_unary, unary},
             {dtp_onnx_where, where},
             {dtp_onnx_softmax, softmax},
             {dtp_onnx_softmax_1, softmax},
             {dtp_onnx_matmul, matmul},
             {dtp_onnx_slice, dtp_causal_slice},
             {dtp_onnx_slice_1, dtp_causal_slice},
             {dtp_onnx_cast, dtp_causal_cast}};

bool dtp_cv_attends(cv_t *cv) {
    if (!dtp_growing(cv->im) || !cv->nout) return false;
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; ++i)
        if (nodes[i].convert == cv->row->convert) return nodes[i].attends(cv) || cv->status;
    return false;
}
