/* com.microsoft: attention with its projection, of given queries, keys and values, and with grouped
 * keys and a cache. */
#include "onnx/growing.h"
#include "onnx/ops/attend.h"
#include "onnx/ops/ops.h"
#include "onnx/sized.h"

#include <math.h>

enum { BATCH = DTP_BATCH, HEADS, ROWS, FEATURES, RANK };

/* Refuses an input that must be there, or must not. */
static void want(cv_t *cv, int i, bool is_wanted, const char *name) {
    if (!cv->status && (dtp_cv_input(cv, i) != NULL) != is_wanted)
        dtp_cv_fail(cv, is_wanted ? dnnl_tp_invalid_graph_op : dnnl_tp_unimplemented, "its input '%s' is %s",
                    name, is_wanted ? "absent" : "not implemented");
}

static void refuse_int(cv_t *cv, const char *name) {
    const int64_t value = dtp_cv_int(cv, name, 0);
    if (!cv->status && value)
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its attribute '%s' is %lld", name, (long long)value);
}

static void want_rank(cv_t *cv, const val_t *x, int ndims, const char *name) {
    if (!cv->status && x && x->info.ndims != ndims)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input '%s' has %d dimensions, needed are %d", name,
                    x->info.ndims, ndims);
}

static int64_t heads_of(cv_t *cv, const char *name) {
    const int64_t heads = dtp_cv_int(cv, name, 0);
    if (!cv->status && (heads < 1 || heads > INT16_MAX))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute '%s' is %lld", name, (long long)heads);
    return heads;
}

static float scale_of(cv_t *cv, const val_t *q) {
    const float scale = dtp_cv_float(cv, "scale", 0);
    const int64_t features = cv->status ? 1 : dtp_cv_dim(cv, q, FEATURES);
    return scale != 0 || features < 1 ? scale : 1.f / sqrtf((float)features);
}

static val_t *number(cv_t *cv, int64_t n) { return dtp_cv_constant(cv, dnnl_tp_s64, 0, NULL, &n); }

/* ---- Masks ----------------------------------------------------------------------------------- */

typedef struct {
    int64_t batch, rows, keys;
    /* Keys of the past, which stand before those of the first row. */
    int64_t before;
    dnnl_tp_data_type_t type;
    /* Added to a score for each reason to hide it. */
    float filter;
} mask_t;

/* -infinity where a key is behind the row's own: {rows, keys}. What mask_filter_value hides stays
 * nearer than that. */
static val_t *causal(cv_t *cv, const mask_t *m) {
    void *p;
    if (cv->status) return NULL;
    val_t *y = dtp_cv_room(cv, dnnl_tp_f32, 2, (const int64_t[2]){m->rows, m->keys}, &p);
    for (int64_t r = 0; y && r < m->rows; ++r)
        for (int64_t k = 0; k < m->keys; ++k)
            ((float *)p)[r * m->keys + k] = k > m->before + r ? -INFINITY : 0;
    return cv->status ? NULL : dtp_cv_typed(cv, y, m->type);
}

/* 0 or filter. */
static val_t *filtered(cv_t *cv, const mask_t *m, val_t *seen) {
    return cv->status ? NULL
                      : dtp_cv_select(cv, seen, dtp_cv_scalar(cv, m->type, 0),
                                      dtp_cv_scalar(cv, m->type, (double)m->filter));
}

/* Ends, or ends and begins, of what a row of the batch sees. */
static val_t *between(cv_t *cv, const mask_t *m, val_t *x, bool has_begins) {
    const int64_t dims[RANK] = {m->batch, 1, 1, 1};
    val_t *key = dtp_cv_counted(cv, m->keys, 0), *seen[2] = {NULL, NULL};
    x = dtp_cv_typed(cv, x, dnnl_tp_s64);
    for (int i = 0; i <= has_begins && !cv->status; ++i) {
        val_t *at = dtp_cv_reshape(cv, dtp_cv_part(cv, x, 0, i * m->batch, m->batch), RANK, dims);
        seen[i] =
            cv->status ? NULL : dtp_cv_binary(cv, i ? dnnl_tp_op_greater_equal : dnnl_tp_op_less, key, at);
    }
    return cv->status ? NULL
           : seen[1]  ? dtp_cv_binary(cv, dnnl_tp_op_logical_and, seen[0], seen[1])
                      : seen[0];
}

/* What a mask of integers adds to the scores, {B, 1, 1 or S, T}; NULL: nothing. */
static val_t *masked(cv_t *cv, const mask_t *m, val_t *x) {
    enum { KEYS_ONLY = 2, ALL = 3 };
    const int nd = x->info.ndims, last = nd - 1;
    int64_t dims[ALL + 1] = {0};
    for (int d = 0; d < nd && d <= ALL; ++d) dims[d] = dtp_cv_dim(cv, x, d);
    if (cv->status) return NULL;
    const bool is_double = dims[0] % 2 == 0 && dims[0] / 2 == m->batch;
    if (nd == 1 && (dims[0] == m->batch || is_double))
        return filtered(cv, m, between(cv, m, x, dims[0] != m->batch));
    if (nd == KEYS_ONLY && dims[1] == 1 && m->keys != 1 && (dims[0] == 1 || dims[0] == m->batch))
        return NULL; /* it hides all keys or none */
    const bool fits = (nd == KEYS_ONLY || (nd == ALL && dims[1] == m->rows)) && dims[0] == m->batch &&
                      dims[last] == m->keys;
    if (!fits) {
        dtp_cv_fail(cv, dnnl_tp_unimplemented,
                    "its mask has %d dimensions, the first is %lld and the last %lld; of %lld rows of %lld x "
                    "%lld, {B}, {2 B}, {B, T} and {B, S, T} are implemented",
                    nd, nd > 0 ? (long long)dims[0] : 0, nd > 0 && nd <= ALL + 1 ? (long long)dims[last] : 0,
                    (long long)m->batch, (long long)m->rows, (long long)m->keys);
        return NULL;
    }
    const int64_t to[RANK] = {m->batch, 1, nd == ALL ? m->rows : 1, m->keys};
    val_t *seen = dtp_cv_binary(cv, dnnl_tp_op_greater, x, dtp_cv_scalar(cv, x->info.data_type, 0));
    return filtered(cv, m, cv->status ? NULL : dtp_cv_reshape(cv, seen, RANK, to));
}

/* The same of sizes that are open, {B, 1, 1, T}: of a mask {B} or {B, T} that has them. NULL: of others. */
static val_t *masked_open(cv_t *cv, const dtp_attend_t *a, const mask_t *m, val_t *x) {
    enum { ENDS = 1, KEYS_ONLY = 2, AFTER = 3 };
    const int nd = x->info.ndims;
    if (!cv->im->sizes || nd < ENDS || nd > KEYS_ONLY || (!x->sizes && !a->k->sizes)) return NULL;
    const dtp_size_t batch = dtp_cv_size(cv, a->q, BATCH), keys = dtp_cv_size(cv, a->k, ROWS);
    if (!dtp_cv_size_is(cv, dtp_cv_size(cv, x, 0), DTP_SIZE_EQUAL, batch) ||
        (nd == KEYS_ONLY && !dtp_cv_size_is(cv, dtp_cv_size(cv, x, 1), DTP_SIZE_EQUAL, keys)))
        return NULL;
    if (nd == ENDS) {
        x = dtp_cv_unsqueeze(cv, dtp_cv_typed(cv, x, dnnl_tp_s64), 0, AFTER);
        return filtered(cv, m,
                        dtp_cv_binary(cv, dnnl_tp_op_less, dtp_cv_places(cv, dnnl_tp_s64, 0, 1, keys), x));
    }
    const dtp_size_t one = dtp_size_number(cv->im->sizes, 1), to[RANK] = {batch, one, one, keys};
    x = dtp_cv_binary(cv, dnnl_tp_op_greater, x, dtp_cv_scalar(cv, x->info.data_type, 0));
    return filtered(cv, m, cv->status ? NULL : dtp_cv_resized(cv, x, RANK, to));
}

/* The same over the cache of a state; keys and values become their new rows, {B, H, S, D}. */
static val_t *attend_cache(cv_t *cv, dtp_attend_t *a, mask_t *m, val_t *const past[2], val_t *mask,
                           val_t *extra, bool is_causal) {
    val_t *y[DTP_CACHED_RESULTS];
    dtp_attend_cached_t c = {
        .past_k = past[0], .past_v = past[1], .is_causal = is_causal, .window = -1, .scale = a->scale};
    if (cv->status) return NULL;
    c.heads = a->q->info.dims[HEADS];
    m->type = a->q->info.data_type;
    m->batch = a->q->info.dims[BATCH];
    m->rows = a->q->info.dims[ROWS];
    m->keys = dtp_growing(cv->im)->total;
    if (a->k->info.dims[ROWS] != m->rows || dtp_cv_wanted(cv, DTP_CACHED_RESULTS))
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "a growing cache has no such keys or scores");
    if (mask && !cv->status) c.mask = masked(cv, m, mask);
    want_rank(cv, extra, RANK, "attention_bias");
    c.mask = dtp_cv_plus(cv, extra, c.mask);
    c.q = dtp_cv_join_heads(cv, a->q);
    c.k = dtp_cv_join_heads(cv, a->k);
    c.v = dtp_cv_join_heads(cv, a->v);
    if (cv->status) return NULL;
    dtp_cv_attend_cached(cv, &c, y);
    a->k = y[1];
    a->v = y[2];
    return y[0] ? dtp_cv_split_heads(cv, y[0], c.heads) : NULL;
}

/* Attention of heads behind each other with the masks that two operators have in common. past: of
 * keys and values, or NULL; is_cache: they are a state's. */
static val_t *attend(cv_t *cv, dtp_attend_t *a, val_t *const past[2], bool is_cache, val_t *mask,
                     val_t *extra) {
    mask_t m = {.filter = dtp_cv_float(cv, "mask_filter_value", -10000.f)};
    const bool is_causal = dtp_cv_int(cv, "unidirectional", 0) != 0;
    a->scale = scale_of(cv, a->q);
    if (is_cache) return attend_cache(cv, a, &m, past, mask, extra, is_causal);
    if (past[0] && !cv->status) {
        m.before = dtp_cv_dim(cv, past[0], ROWS);
        a->k = dtp_cv_concat(cv, ROWS, 2, (val_t *[]){past[0], a->k});
        a->v = dtp_cv_concat(cv, ROWS, 2, (val_t *[]){past[1], a->v});
    }
    if (cv->status) return NULL;
    m.type = a->q->info.data_type;
    if (mask && !is_causal) a->bias = masked_open(cv, a, &m, mask);
    if (!a->bias && (mask || is_causal)) {
        m.batch = dtp_cv_dim(cv, a->q, BATCH);
        m.rows = dtp_cv_dim(cv, a->q, ROWS);
        m.keys = dtp_cv_dim(cv, a->k, ROWS);
        if (mask) a->bias = masked(cv, &m, mask);
        if (is_causal && m.rows > 1) a->bias = dtp_cv_plus(cv, a->bias, causal(cv, &m));
    }
    want_rank(cv, extra, RANK, "attention_bias");
    a->bias = dtp_cv_plus(cv, extra, a->bias);
    return dtp_cv_attend(cv, a);
}

/* ---- Attention ------------------------------------------------------------------------------- */

/* Queries, keys and values come from one input by one product. */
void dtp_onnx_ms_attention(cv_t *cv) {
    enum { X, W, BIAS, MASK, PAST, EXTRA, PAST_LENGTH, PARTS = 3, PAST_RANK };
    const int64_t heads = heads_of(cv, "num_heads");
    int64_t n, sizes[PARTS] = {0};
    const int64_t *listed = dtp_cv_attr_ints(cv, "qkv_hidden_sizes", &n);
    val_t *x = cv->in[X], *w = cv->in[W], *bias = dtp_cv_input(cv, BIAS), *part[PARTS] = {NULL};
    refuse_int(cv, "do_rotary");
    refuse_int(cv, "past_present_share_buffer");
    (void)dtp_cv_int(cv, "rotary_embedding_dim", 0);
    want(cv, PAST_LENGTH, false, "past_sequence_length");
    want_rank(cv, x, PARTS, "input");
    want_rank(cv, w, 2, "weights");
    want_rank(cv, dtp_cv_input(cv, PAST), PAST_RANK + 1, "past");
    const int64_t cols = cv->status ? 0 : dtp_cv_dim(cv, w, 1);
    for (int i = 0; i < PARTS && !cv->status; ++i) {
        sizes[i] = n == PARTS ? listed[i] : cols / PARTS;
        if (sizes[i] < 1 || sizes[i] % heads || (n >= 0 && n != PARTS))
            dtp_cv_fail(cv, dnnl_tp_invalid_shape, "%lld columns in %lld heads", (long long)sizes[i],
                        (long long)heads);
    }
    for (int i = 0; i < PARTS && !cv->status; ++i)
        if (sizes[i] > cols) sizes[i] = cols; /* and their sum is another one */
    if (!cv->status && (cols > INT32_MAX || sizes[0] + sizes[1] + sizes[2] != cols))
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its weights have %lld columns", (long long)cols);
    if (cv->status) return;
    val_t *in[] = {x, w, bias};
    const bool takes_bias = bias && bias->info.ndims == 1 && bias->info.dims[0] == cols;
    val_t *y = dtp_cv_op(cv, dnnl_tp_op_matmul, takes_bias ? PARTS : 2, in, 0, NULL);
    if (bias && !takes_bias) y = dtp_cv_plus(cv, y, bias);
    const int64_t axis = 2;
    const dnnl_tp_op_attr_t attr[] = {{dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, &axis},
                                      {dnnl_tp_op_attr_sizes, dnnl_tp_op_attr_s64, PARTS, sizes}};
    if (!cv->status) dtp_cv_ops(cv, dnnl_tp_op_split, 1, &y, 2, attr, PARTS, part);
    for (int i = 0; i < PARTS && !cv->status; ++i) part[i] = dtp_cv_split_heads(cv, part[i], heads);
    val_t *past[2] = {NULL, NULL}, *both = dtp_cv_input(cv, PAST);
    const bool is_cache = dtp_growing(cv->im) && both && both->is_past == DTP_PAST_ROWS;
    for (int i = 0; is_cache && i < 2; ++i) past[i] = dtp_growing_half(cv, both, i);
    if (both && !is_cache && !cv->status)
        for (int i = 0; i < 2; ++i) {
            val_t *one = dtp_cv_part(cv, cv->in[PAST], 0, i, 1);
            past[i] = one ? dtp_cv_reshape(cv, one, PAST_RANK, one->info.dims + 1) : NULL;
        }
    dtp_attend_t a = {.q = part[0], .k = part[1], .v = part[2]};
    y = attend(cv, &a, past, is_cache, dtp_cv_input(cv, MASK), dtp_cv_input(cv, EXTRA));
    dtp_cv_set(cv, 0, cv->status ? NULL : dtp_cv_join_heads(cv, y));
    if (!dtp_cv_wanted(cv, 1) || cv->status) return;
    y = dtp_cv_stack(cv, 2, (val_t *[]){a.k, a.v}, 0);
    dtp_cv_set(cv, 1, is_cache && y ? dtp_cv_grown(cv, both, y) : y);
}

/* Queries, keys and values are given, with a bias for all. */
void dtp_onnx_ms_multi_head_attention(cv_t *cv) {
    enum { Q, K, V, BIAS, MASK, EXTRA, PAST_K, PAST_V, PAST_LENGTH, INDIRECTION, PARTS = 3 };
    const int64_t heads = heads_of(cv, "num_heads");
    val_t *x[PARTS], *bias = dtp_cv_input(cv, BIAS),
                     *past[2] = {dtp_cv_input(cv, PAST_K), dtp_cv_input(cv, PAST_V)};
    if (!cv->status && (!dtp_cv_input(cv, K) || !dtp_cv_input(cv, V) || cv->in[Q]->info.ndims != PARTS))
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its queries, keys and values are packed into one tensor");
    want(cv, PAST_LENGTH, false, "past_sequence_length");
    want(cv, INDIRECTION, false, "cache_indirection");
    if (!cv->status && !past[0] != !past[1])
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has past keys or past values, not both");
    for (int i = 0; i < 2; ++i) want_rank(cv, past[i], RANK, "past");
    int64_t begin = 0;
    for (int i = 0; i < PARTS && !cv->status; ++i) {
        x[i] = cv->in[i];
        const bool is_flat = x[i]->info.ndims == PARTS;
        if (!is_flat && (x[i]->info.ndims != RANK || bias)) {
            dtp_cv_fail(cv, dnnl_tp_unimplemented, "its input %d has %d dimensions", i, x[i]->info.ndims);
            return;
        }
        const int64_t size = is_flat ? dtp_cv_dim(cv, x[i], 2) : 0;
        if (bias) x[i] = dtp_cv_plus(cv, x[i], dtp_cv_part(cv, bias, 0, begin, size));
        begin += size;
        if (is_flat && !cv->status) x[i] = dtp_cv_split_heads(cv, x[i], heads);
    }
    if (cv->status) return;
    dtp_attend_t a = {.q = x[Q], .k = x[K], .v = x[V]};
    const bool is_cache = dtp_cv_is_past(cv, PAST_K) && dtp_cv_is_past(cv, PAST_V);
    val_t *y = attend(cv, &a, past, is_cache, dtp_cv_input(cv, MASK), dtp_cv_input(cv, EXTRA));
    dtp_cv_set(cv, 0, cv->status ? NULL : dtp_cv_join_heads(cv, y));
    for (int i = 0; is_cache && i < 2; ++i)
        dtp_cv_set(cv, 1 + i, cv->status ? NULL : dtp_cv_grown(cv, past[i], i ? a.v : a.k));
    if (is_cache) return;
    dtp_cv_set(cv, 1, a.k);
    dtp_cv_set(cv, 2, a.v);
    dtp_cv_set(cv, 3, a.kept[2]);
}

/* ---- Rotation -------------------------------------------------------------------------------- */

/* position_ids: of each row, or of the first one. */
void dtp_onnx_ms_rotary_embedding(cv_t *cv) {
    enum { X, POSITIONS, COS, SIN, FLAT = 3 };
    val_t *x = cv->in[X], *at = cv->in[POSITIONS], *angle[2] = {cv->in[COS], cv->in[SIN]};
    const bool neighbours = dtp_cv_int(cv, "interleaved", 0) != 0, is_flat = x->info.ndims == FLAT;
    const int64_t heads = dtp_cv_int(cv, "num_heads", 0), part = dtp_cv_int(cv, "rotary_embedding_dim", 0);
    const float scale = dtp_cv_float(cv, "scale", 1.f);
    refuse_int(cv, "is_packed_batching");
    if (!cv->status && scale != 1.f)
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its attribute 'scale' is %g", (double)scale);
    if (!cv->status && !is_flat && x->info.ndims != RANK)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input has %d dimensions", x->info.ndims);
    for (int i = 0; i < 2; ++i) want_rank(cv, angle[i], 2, "cos_cache");
    const int64_t pairs = cv->status ? 1 : dtp_cv_dim(cv, angle[0], 1);
    if (!cv->status && (pairs < 1 || pairs > INT32_MAX || (part && (!heads || part != 2 * pairs))))
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "it turns %lld features of %lld heads by %lld angles",
                    (long long)part, (long long)heads, (long long)pairs);
    if (cv->status) return;
    if (is_flat) {
        const int64_t all = dtp_cv_dim(cv, x, 2);
        x = cv->status ? NULL : dtp_cv_split_heads(cv, x, part || heads ? heads : all / (2 * pairs));
    }
    if (at->info.ndims != 2 && !cv->status) {
        const int64_t one[2] = {1, 1};
        at = dtp_cv_reshape(cv, dtp_cv_typed(cv, at, dnnl_tp_s64), 2, one);
        at = dtp_cv_binary(cv, dnnl_tp_op_add, at, dtp_cv_counted(cv, dtp_cv_dim(cv, x, ROWS), 0));
    }
    for (int i = 0; i < 2 && !cv->status; ++i) angle[i] = dtp_cv_take(cv, angle[i], 0, at);
    val_t *y = cv->status ? NULL : dtp_cv_rotate(cv, x, angle[0], angle[1], 2 * pairs, neighbours);
    dtp_cv_set(cv, 0, is_flat && y ? dtp_cv_join_heads(cv, y) : y);
}

/* ---- Grouped keys ---------------------------------------------------------------------------- */

enum {
    QUERY,
    KEY,
    VALUE,
    PAST_KEY,
    PAST_VALUE,
    LAST_KEYS, /* number of the last key of each row of the batch */
    TOTAL,
    COSINES,
    SINES,
    POSITIONS,
    EXTRA,
    SINK,
    KEY_SCALE,
    VALUE_SCALE,
    QUERY_NORM,
    KEY_NORM
};

/* The numbers of a node, once its inputs are looked at. */
typedef struct {
    int64_t batch, rows, heads, groups, features;
    /* Most keys that a row of the batch has, and places of the result's cache. */
    int64_t total, places;
    /* The rows are the first ones, so nothing of the past is read. */
    bool is_first;
    /* Keys, and keys before the rows, of each of the batch: {B, 1}, s64. */
    val_t *keys, *before;
} group_t;

/* For each place of the cache the row of {past, new rows, zeros} that comes there, {B, G, places,
 * 1}: new rows stand where the past of their row of the batch ends, zeros behind them. */
static val_t *origins(cv_t *cv, const group_t *g, int64_t old) {
    val_t *place = dtp_cv_counted(cv, g->places, 0);
    val_t *at = cv->status ? NULL : dtp_cv_binary(cv, dnnl_tp_op_subtract, place, g->before);
    if (cv->status) return NULL;
    val_t *is_old = dtp_cv_binary(cv, dnnl_tp_op_less, at, number(cv, 0));
    at = dtp_cv_binary(cv, dnnl_tp_op_minimum, at, number(cv, g->rows));
    at = cv->status ? NULL : dtp_cv_binary(cv, dnnl_tp_op_add, at, number(cv, old));
    at = cv->status ? NULL : dtp_cv_select(cv, is_old, place, at); /* {B, places} */
    const int64_t each[RANK] = {g->batch, 1, g->places, 1}, every[RANK] = {g->batch, g->groups, g->places, 1};
    return cv->status ? NULL : dtp_cv_expand(cv, dtp_cv_reshape(cv, at, RANK, each), RANK, every);
}

/* Keys or values of the past and new ones, {B, G, places, D}. from: origins(), of rows that are not
 * the first ones. */
static val_t *cached(cv_t *cv, const group_t *g, val_t *past, val_t *x, val_t *from) {
    if (cv->status) return NULL;
    if (g->is_first) return dtp_cv_pad_axis(cv, x, ROWS, 0, g->places - g->rows, 0);
    val_t *all[] = {past, dtp_cv_pad_axis(cv, x, ROWS, 0, 1, 0)};
    val_t *in[] = {dtp_cv_concat(cv, ROWS, 2, all), from};
    return cv->status ? NULL : dtp_cv_op_at(cv, dnnl_tp_op_gather_nd, 2, in, dnnl_tp_op_attr_batch_dims, 2);
}

/* Which keys a row sees: {B, 1, S or 1, total}. */
static val_t *visible(cv_t *cv, const group_t *g, bool is_causal, int64_t window) {
    const int64_t dims[RANK] = {g->batch, 1, 1, 1};
    val_t *key = dtp_cv_counted(cv, g->total, 0), *end = dtp_cv_reshape(cv, g->keys, RANK, dims);
    if (is_causal) {
        val_t *own = dtp_cv_binary(cv, dnnl_tp_op_add, dtp_cv_counted(cv, g->rows, 1), number(cv, 1));
        own = dtp_cv_binary(cv, dnnl_tp_op_add, own, dtp_cv_reshape(cv, g->before, RANK, dims));
        end = cv->status ? NULL : dtp_cv_binary(cv, dnnl_tp_op_minimum, own, end);
    }
    val_t *seen = cv->status ? NULL : dtp_cv_binary(cv, dnnl_tp_op_less, key, end);
    if (window >= 0 && !cv->status) {
        val_t *begin = dtp_cv_binary(cv, dnnl_tp_op_subtract, end, number(cv, window));
        seen = dtp_cv_binary(cv, dnnl_tp_op_logical_and, seen,
                             dtp_cv_binary(cv, dnnl_tp_op_greater_equal, key, begin));
    }
    return seen;
}

/* Positions of the rows, {B, S}. Those that are given count from the first one where nothing is
 * before the rows, as ONNX Runtime has it. */
static val_t *positions(cv_t *cv, const group_t *g) {
    val_t *at = dtp_cv_input(cv, POSITIONS), *before = g->before;
    want_rank(cv, at, 2, "position_ids");
    if (at && !g->is_first) return at;
    if (at) {
        before = dtp_cv_part(cv, at, 0, 0, 1);
        before = cv->status ? NULL : dtp_cv_part(cv, before, 1, 0, 1);
    }
    return cv->status ? NULL : dtp_cv_binary(cv, dnnl_tp_op_add, before, dtp_cv_counted(cv, g->rows, 0));
}

/* Queries, keys and values, {B, S, H D or G D}; they may be the columns of one tensor. */
static void flat(cv_t *cv, group_t *g, val_t **x) {
    enum { PARTS = 3 };
    for (int i = 0; i < PARTS; ++i) {
        x[i] = dtp_cv_input(cv, i);
        want_rank(cv, x[i], PARTS, i ? "key or value" : "query");
    }
    const int64_t cols = cv->status ? 0 : dtp_cv_dim(cv, x[0], 2);
    const bool is_packed = !x[1] && !x[2];
    const int64_t heads = is_packed ? g->heads + 2 * g->groups : g->heads;
    if (!cv->status && ((!x[1]) != (!x[2]) || cols % heads || g->heads % g->groups))
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "%lld columns, %lld heads and %lld of keys do not fit",
                    (long long)cols, (long long)g->heads, (long long)g->groups);
    if (cv->status) return;
    g->features = cols / heads;
    if (is_packed) {
        const int64_t axis = 2, sizes[PARTS] = {g->heads * g->features, g->groups * g->features,
                                                g->groups * g->features};
        const dnnl_tp_op_attr_t attr[] = {{dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, &axis},
                                          {dnnl_tp_op_attr_sizes, dnnl_tp_op_attr_s64, PARTS, sizes}};
        val_t *all = x[0];
        dtp_cv_ops(cv, dnnl_tp_op_split, 1, &all, 2, attr, PARTS, x);
    }
}

/* The same by heads: {B, H or G, S, D}. */
static void apart(cv_t *cv, group_t *g, val_t **x) {
    enum { PARTS = 3 };
    flat(cv, g, x);
    g->batch = cv->status ? 0 : dtp_cv_dim(cv, x[0], 0);
    g->rows = cv->status ? 0 : dtp_cv_dim(cv, x[0], 1);
    for (int i = 0; i < PARTS && !cv->status; ++i) {
        if (dtp_cv_dim(cv, x[i], 1) != g->rows)
            dtp_cv_fail(cv, dnnl_tp_unimplemented, "its keys have another number of rows than its queries");
        if (!cv->status) x[i] = dtp_cv_split_heads(cv, x[i], i ? g->groups : g->heads);
    }
}

/* What the node must not have. */
static void refuse_others(cv_t *cv) {
    static const struct {
        int input;
        const char *name;
    } inputs[] = {{KEY_SCALE, "k_scale"},
                  {VALUE_SCALE, "v_scale"},
                  {QUERY_NORM, "q_norm_weight"},
                  {KEY_NORM, "k_norm_weight"}};
    static const char *const quantised[] = {"k_quant_type", "v_quant_type"};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; ++i)
        want(cv, inputs[i].input, false, inputs[i].name);
    for (int i = 0; i < 2; ++i)
        if (!dtp_cv_word(cv, quantised[i], "NONE", "NONE") && !cv->status)
            dtp_cv_fail(cv, dnnl_tp_unimplemented, "its attribute '%s' is not NONE", quantised[i]);
    refuse_int(cv, "kv_cache_bit_width");
    refuse_int(cv, "sliding_window_cache");
    refuse_int(cv, "qk_output");
    (void)dtp_cv_float(cv, "qk_norm_epsilon", 0);
}

/* All elements of an input are this number. */
static void want_number(cv_t *cv, int input, int64_t value) {
    int64_t n;
    const int64_t *x = dtp_cv_ints(cv, input, &n);
    for (int64_t i = 0; i < n && !cv->status; ++i)
        if (x[i] != value)
            dtp_cv_fail(cv, dnnl_tp_unimplemented, "its input %d is %lld where %lld keys are", input,
                        (long long)x[i], (long long)value);
}

/* The cache of a state: how many keys there are comes from the state, and the node must agree. */
static void attend_grown(cv_t *cv, const group_t *g, float softcap, int64_t window) {
    const dtp_growing_t *state = dtp_growing(cv->im);
    const bool turns = dtp_cv_int(cv, "do_rotary", 0) != 0;
    val_t *x[DTP_CACHED_RESULTS], *y[DTP_CACHED_RESULTS];
    group_t numbers = *g;
    want(cv, POSITIONS, false, "position_ids");
    want(cv, EXTRA, false, "attention_bias");
    want(cv, SINK, false, "head_sink");
    if (dtp_cv_int(cv, "smooth_softmax", 0) > 0)
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its attribute 'smooth_softmax' is set");
    want_number(cv, TOTAL, state->total);
    want_number(cv, LAST_KEYS, state->total - 1);
    flat(cv, &numbers, x);
    if (cv->status) return;
    const float scale = dtp_cv_float(cv, "scale", 0);
    const dtp_attend_cached_t a = {.q = x[0],
                                   .k = x[1],
                                   .v = x[2],
                                   .past_k = cv->in[PAST_KEY],
                                   .past_v = cv->in[PAST_VALUE],
                                   .cosines = turns ? cv->in[COSINES] : NULL,
                                   .sines = turns ? cv->in[SINES] : NULL,
                                   .interleaved = dtp_cv_int(cv, "rotary_interleaved", 0) != 0,
                                   .is_causal = dtp_cv_int(cv, "causal", 1) != 0,
                                   .heads = g->heads,
                                   .window = window,
                                   .scale = scale != 0 ? scale : 1.f / sqrtf((float)numbers.features),
                                   .softcap = softcap};
    dtp_cv_attend_cached(cv, &a, y);
    dtp_cv_set(cv, 0, y[0]);
    for (int i = 0; i < 2 && !cv->status; ++i)
        dtp_cv_set(cv, 1 + i, dtp_cv_grown(cv, cv->in[PAST_KEY + i], y[1 + i]));
}

void dtp_onnx_ms_group_query_attention(cv_t *cv) {
    enum { PARTS = 3 };
    group_t g = {.heads = heads_of(cv, "num_heads"), .groups = heads_of(cv, "kv_num_heads")};
    const bool turns = dtp_cv_int(cv, "do_rotary", 0) != 0,
               neighbours = dtp_cv_int(cv, "rotary_interleaved", 0) != 0,
               is_causal = dtp_cv_int(cv, "causal", 1) != 0,
               is_smooth = dtp_cv_int(cv, "smooth_softmax", 0) > 0;
    const int64_t window = dtp_cv_int(cv, "local_window_size", -1);
    const float softcap = dtp_cv_float(cv, "softcap", 0);
    val_t *x[PARTS] = {NULL}, *past[2] = {dtp_cv_input(cv, PAST_KEY), dtp_cv_input(cv, PAST_VALUE)},
          *sink = dtp_cv_input(cv, SINK);
    refuse_others(cv);
    want(cv, LAST_KEYS, true, "seqlens_k");
    want(cv, TOTAL, true, "total_sequence_length");
    if (turns) {
        want(cv, COSINES, true, "cos_cache");
        want(cv, SINES, true, "sin_cache");
    }
    if (!cv->status && !past[0] != !past[1])
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has past keys or past values, not both");
    for (int i = 0; i < 2; ++i) want_rank(cv, past[i], RANK, "past");
    if (!cv->status && dtp_cv_is_past(cv, PAST_KEY) && dtp_cv_is_past(cv, PAST_VALUE)) {
        attend_grown(cv, &g, softcap, window);
        return;
    }
    if (!cv->status) apart(cv, &g, x);
    int64_t n;
    const int64_t *total = cv->status ? NULL : dtp_cv_ints(cv, TOTAL, &n);
    const int64_t old = past[0] && !cv->status ? dtp_cv_dim(cv, past[0], ROWS) : 0;
    if (cv->status) return;
    g.total = n == 1 && *total <= INT32_MAX ? *total : -1;
    g.places = old > g.total ? old : g.total;
    g.is_first = !past[0] || g.rows == g.total;
    if (g.total < g.rows || (!past[0] && g.total != g.rows)) {
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "%lld keys for %lld rows and %lld before them",
                    (long long)g.total, (long long)g.rows, (long long)old);
        return;
    }
    const int64_t column[2] = {g.batch, 1}, pairs = turns ? dtp_cv_dim(cv, cv->in[COSINES], 1) : 0;
    if (pairs > INT16_MAX)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its angles turn %lld pairs", (long long)pairs);
    g.keys = dtp_cv_reshape(cv, dtp_cv_typed(cv, cv->in[LAST_KEYS], dnnl_tp_s64), 2, column);
    g.keys = cv->status ? NULL : dtp_cv_binary(cv, dnnl_tp_op_add, g.keys, number(cv, 1));
    g.before = g.is_first || cv->status ? dtp_cv_fill(cv, dnnl_tp_s64, 2, column, 0)
                                        : dtp_cv_binary(cv, dnnl_tp_op_subtract, g.keys, number(cv, g.rows));
    if (turns && !cv->status) {
        val_t *at = positions(cv, &g), *angle[2] = {NULL, NULL};
        for (int i = 0; i < 2 && !cv->status; ++i) angle[i] = dtp_cv_take(cv, cv->in[COSINES + i], 0, at);
        for (int i = 0; i < 2 && !cv->status; ++i)
            x[i] = dtp_cv_rotate(cv, x[i], angle[0], angle[1], 2 * pairs, neighbours);
    }
    val_t *from = g.is_first || cv->status ? NULL : origins(cv, &g, old);
    for (int i = 0; i < 2; ++i) {
        x[1 + i] = cached(cv, &g, past[i], x[1 + i], from);
        dtp_cv_set(cv, 1 + i, x[1 + i]);
        x[1 + i] = cv->status ? NULL : dtp_cv_part(cv, x[1 + i], ROWS, 0, g.total);
    }
    dtp_attend_t a = {.q = x[0], .k = x[1], .v = x[2], .softcap = softcap, .bias = dtp_cv_input(cv, EXTRA)};
    if (cv->status) return;
    a.scale = scale_of(cv, a.q);
    a.seen = visible(cv, &g, is_causal, window);
    const int64_t each[RANK] = {1, g.heads, 1, 1};
    if (sink) a.sink = dtp_cv_reshape(cv, sink, RANK, each);
    else if (is_smooth) a.sink = dtp_cv_fill(cv, a.q->info.data_type, RANK, each, 0);
    val_t *y = cv->status ? NULL : dtp_cv_attend(cv, &a);
    dtp_cv_set(cv, 0, cv->status ? NULL : dtp_cv_join_heads(cv, y));
}
