/* Operators of language models that carry a state from call to call: causal convolutions, linear attention, caches. */
#include "onnx/ops/ops.h"
#include "onnx/ops/repeat.h"

#include <math.h>

static bool has_dims(cv_t *cv, int input, int ndims) {
    if (!cv->status && cv->in[input]->info.ndims != ndims)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input %d has %d dimensions, needed are %d", input,
                    cv->in[input]->info.ndims, ndims);
    return !cv->status;
}

/* A convolution of each channel over past_state {B, C, k - 1} and x {B, C, L}; the state is the last k - 1 positions. */
void dtp_onnx_causal_convolution(cv_t *cv) {
    enum { X, WEIGHTS, BIAS, PAST, DIMS = 3, TIME = 2 };
    const bool none = dtp_cv_word(cv, "activation", "none", "none"),
               silu = dtp_cv_word(cv, "activation", "none", "silu") ||
                      dtp_cv_word(cv, "activation", "none", "swish");
    if (!none && !silu) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'activation' is not known");
    if (!has_dims(cv, X, DIMS) || !has_dims(cv, WEIGHTS, DIMS)) return;
    val_t *x = cv->in[X], *in[] = {NULL, cv->in[WEIGHTS], dtp_cv_given(cv, BIAS) ? cv->in[BIAS] : NULL};
    const int64_t before = dtp_cv_dim(cv, in[1], TIME) - 1;
    int64_t dims[DIMS] = {x->info.dims[0], x->info.dims[1], before};
    if (!cv->status && before < 0) dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its weights are empty");
    if (cv->status) return;
    if (before && dtp_cv_given(cv, PAST)) {
        val_t *both[] = {cv->in[PAST], x};
        x = dtp_cv_concat(cv, TIME, 2, both);
    } else if (before) {
        x = dtp_cv_pad_axis(cv, x, TIME, before, 0, 0);
    }
    in[0] = x;
    const int64_t channels = cv->status ? 0 : dtp_cv_dim(cv, x, 1),
                  all = cv->status ? 0 : dtp_cv_dim(cv, x, TIME);
    if (cv->status) return;
    val_t *y = dtp_cv_convolution(silu ? cv : dtp_cv_last(cv), in[2] ? 3 : 2, in, channels);
    if (silu && !cv->status)
        y = dtp_cv_unary_with(dtp_cv_last(cv), dnnl_tp_op_swish, y, dnnl_tp_op_attr_alpha, 1.f, -1, 0);
    dtp_cv_set(cv, 0, y);
    if (!dtp_cv_wanted(cv, 1)) return;
    if (!before) dims[0] = dtp_cv_dim(cv, x, 0);
    dtp_cv_set(cv, 1,
               before ? dtp_cv_part(cv, x, TIME, all - before, before)
                      : dtp_cv_fill(cv, x->info.data_type, DIMS, dims, 0));
}

/* ---- Linear attention --------------------------------------------------------------------------------------------- */

enum { QUERY, KEY, VALUE, PAST, DECAY, BETA, SEQUENCES };
typedef struct {
    int64_t batch, steps, heads, groups, keys,
        values;          /* heads of keys and values, each read by `groups` queries */
    val_t *x[SEQUENCES]; /* {B, T, heads, n}; NULL: absent */
    double scale;
    int64_t columns; /* of the result */
} linear_t;

/* {B, T, heads n} as {B, T, heads, n} */
static void unpack(cv_t *cv, linear_t *l, int input, int64_t heads) {
    if (cv->status || !dtp_cv_given(cv, input) || !has_dims(cv, input, 3)) return;
    val_t *x = cv->in[input];
    const int64_t size = dtp_cv_dim(cv, x, 2);
    const int64_t dims[4] = {l->batch, l->steps, heads, heads > 0 ? size / heads : 0};
    if (!cv->status && (heads < 1 || size % heads))
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input %d has %lld elements for %lld heads", input,
                    (long long)size, (long long)heads);
    l->x[input] = dtp_cv_reshape(cv, x, 4, dims);
}

/* What step t has of a sequence, {B, heads, rows, cols}; its number may be a value. */
static val_t *at_step(cv_t *cv, const linear_t *l, int input, int64_t t, val_t *at, bool is_column) {
    val_t *x = l->x[input];
    if (cv->status || !x) return NULL;
    const int64_t heads = x->info.dims[2], n = x->info.dims[3];
    const int64_t dims[4] = {l->batch, heads, is_column ? n : 1, is_column ? 1 : n};
    return dtp_cv_reshape(cv, at ? dtp_cv_take(cv, x, 1, at) : dtp_cv_part(cv, x, 1, t, 1), 4, dims);
}

/* state: {B, heads, keys, values}. Result: {B, heads groups values}. */
static val_t *linear_step(cv_t *cv, const linear_t *l, int64_t t, val_t *at, val_t **state) {
    val_t *k = at_step(cv, l, KEY, t, at, false), *v = at_step(cv, l, VALUE, t, at, false),
          *decay = at_step(cv, l, DECAY, t, at, true), *beta = at_step(cv, l, BETA, t, at, false);
    if (decay)
        *state = dtp_cv_binary(cv, dnnl_tp_op_multiply, *state, dtp_cv_unary(cv, dnnl_tp_op_exp, decay));
    if (beta && !cv->status) {
        v = dtp_cv_binary(cv, dnnl_tp_op_subtract, v, dtp_cv_matmul(cv, k, *state, false));
        v = dtp_cv_binary(cv, dnnl_tp_op_multiply, v, beta);
    }
    if (cv->status) return NULL;
    *state = dtp_cv_binary(cv, dnnl_tp_op_add, *state,
                           dtp_cv_binary(cv, dnnl_tp_op_multiply, at_step(cv, l, KEY, t, at, true), v));
    const int64_t grouped[4] = {l->batch, l->heads, l->groups, l->keys}, flat[2] = {l->batch, l->columns};
    val_t *q = dtp_cv_reshape(cv, at_step(cv, l, QUERY, t, at, false), 4, grouped);
    val_t *y = cv->status ? NULL : dtp_cv_matmul(cv, q, *state, false);
    if (cv->status) return NULL;
    y = dtp_cv_binary(cv, dnnl_tp_op_multiply, y, dtp_cv_scalar(cv, y->info.data_type, l->scale));
    return dtp_cv_reshape(cv, y, 2, flat);
}

static void read_linear(cv_t *cv, linear_t *l) {
    static const char *const rules[] = {"linear", "gated", "delta", "gated_delta"};
    int rule = -1;
    for (int i = 0; i < 4; ++i)
        if (dtp_cv_word(cv, "update_rule", "gated_delta", rules[i])) rule = i;
    const int64_t queries = dtp_cv_int(cv, "q_num_heads", 0), heads = dtp_cv_int(cv, "kv_num_heads", 0);
    const float scale = dtp_cv_float(cv, "scale", 0.f);
    (void)dtp_cv_int(cv, "chunk_size", 0);
    *l = (linear_t){.heads = heads};
    if (rule < 0) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'update_rule' is not known");
    if (!cv->status && (heads < 1 || queries < heads || queries % heads))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has %lld heads of queries and %lld of keys",
                    (long long)queries, (long long)heads);
    if (!cv->status && (dtp_cv_given(cv, DECAY) != (rule % 2 == 1) || dtp_cv_given(cv, BETA) != (rule >= 2)))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its inputs are not those of its attribute 'update_rule'");
    if (!has_dims(cv, QUERY, 3) || !has_dims(cv, VALUE, 3)) return;
    l->groups = queries / heads;
    l->batch = dtp_cv_dim(cv, cv->in[QUERY], 0);
    l->steps = dtp_cv_dim(cv, cv->in[QUERY], 1);
    unpack(cv, l, QUERY, queries);
    unpack(cv, l, KEY, heads);
    unpack(cv, l, VALUE, heads);
    unpack(cv, l, DECAY, heads);
    if (!cv->status && dtp_cv_given(cv, BETA) && has_dims(cv, BETA, 3))
        unpack(cv, l, BETA, dtp_cv_dim(cv, cv->in[BETA], 2));
    if (!cv->status && l->steps < 1) dtp_cv_fail(cv, dnnl_tp_unimplemented, "it has no step");
    if (cv->status) return;
    l->keys = l->x[QUERY]->info.dims[3];
    l->values = l->x[VALUE]->info.dims[3];
    if (__builtin_mul_overflow(queries, l->values, &l->columns))
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its heads are too many");
    l->scale = scale != 0.f ? (double)scale : 1 / sqrt((double)l->keys);
}

void dtp_onnx_linear_attention(cv_t *cv) {
    enum { MAX_STEPS = 16 }; /* more are a While */
    linear_t l;
    read_linear(cv, &l);
    if (cv->status) return;
    const int64_t dims[4] = {l.batch, l.heads, l.keys, l.values};
    val_t *state =
        dtp_cv_given(cv, PAST) ? cv->in[PAST] : dtp_cv_fill(cv, cv->in[QUERY]->info.data_type, 4, dims, 0);
    if (l.steps <= MAX_STEPS) {
        val_t *parts[MAX_STEPS];
        for (int64_t t = 0; t < l.steps && !cv->status; ++t) parts[t] = linear_step(cv, &l, t, NULL, &state);
        if (!cv->status) dtp_cv_set(cv, 0, dtp_cv_stack(cv, (int)l.steps, parts, 1));
        dtp_cv_set(cv, 1, state);
        return;
    }
    static const int64_t batch_first[] = {1, 0, 2};
    dtp_repeat_t r;
    val_t *results[DTP_REPEAT_MOST], *before, *goes_on = NULL;
    dtp_repeat_begin(&r, cv);
    before = state = dtp_repeat_variable(&r, state);
    cv->im->graph = r.cond;
    if (!cv->status)
        goes_on =
            dtp_cv_binary(cv, dnnl_tp_op_less, r.index, dtp_cv_constant(cv, dnnl_tp_s64, 0, NULL, &l.steps));
    cv->im->graph = r.body;
    val_t *y = cv->status ? NULL : linear_step(cv, &l, 0, r.index, &state);
    dtp_repeat_next(&r, before, state, "state");
    dtp_repeat_collect(&r, l.steps, r.index, y);
    dtp_repeat_end(&r, goes_on, results);
    if (cv->status) return;
    dtp_cv_set(cv, 0, dtp_cv_transpose(cv, results[2], batch_first));
    dtp_cv_set(cv, 1, results[1]);
}

/* ---- Caches --------------------------------------------------------------------------------------------------------- */

/* Along the axis, x[b, ..., from[b] + i] becomes update[b, ..., i]: a gather from both behind each other, at positions that are
 * computed. */
void dtp_onnx_tensor_scatter(cv_t *cv) {
    enum { CACHE, UPDATE, FROM };
    val_t *x = cv->in[CACHE], *update = cv->in[UPDATE];
    const int nd = x->info.ndims, axis = dtp_cv_axis(cv, dtp_cv_int(cv, "axis", -2), nd);
    const bool wraps = dtp_cv_word(cv, "mode", "linear", "circular");
    if (!wraps && !dtp_cv_word(cv, "mode", "linear", "linear"))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'mode' is not known");
    if (!cv->status && (axis == 0 || update->info.ndims != nd))
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its axis is %d, its inputs have %d and %d dimensions", axis,
                    nd, update->info.ndims);
    if (cv->status) return;
    const int64_t all = dtp_cv_dim(cv, x, axis), n = dtp_cv_dim(cv, update, axis);
    val_t *at = dtp_cv_counted(cv, all, 0); /* position minus where the update begins */
    if (dtp_cv_given(cv, FROM) && !cv->status)
        at = dtp_cv_binary(
            cv, dnnl_tp_op_subtract, at,
            dtp_cv_unsqueeze(cv, dtp_cv_typed(cv, cv->in[FROM], dnnl_tp_s64), 0, 1)); /* {B, T} */
    else
        at =
            dtp_cv_expand(cv, dtp_cv_unsqueeze(cv, at, 1, 0), 2, (const int64_t[2]){dtp_cv_dim(cv, x, 0), 1});
    val_t *zero = dtp_cv_scalar(cv, dnnl_tp_s64, 0), *size = dtp_cv_constant(cv, dnnl_tp_s64, 0, NULL, &all);
    if (wraps && !cv->status)
        at = dtp_cv_select(cv, dtp_cv_binary(cv, dnnl_tp_op_less, at, zero),
                           dtp_cv_binary(cv, dnnl_tp_op_add, at, size), at);
    if (cv->status) return;
    /* Where 0 <= at < n: element all + at, else the old one. */
    val_t *inside =
        dtp_cv_binary(cv, dnnl_tp_op_logical_and, dtp_cv_binary(cv, dnnl_tp_op_greater_equal, at, zero),
                      dtp_cv_binary(cv, dnnl_tp_op_less, at, dtp_cv_constant(cv, dnnl_tp_s64, 0, NULL, &n)));
    val_t *from =
        dtp_cv_select(cv, inside, dtp_cv_binary(cv, dnnl_tp_op_add, at, size), dtp_cv_counted(cv, all, 0));
    /* {B, T, rest}: the axis moves to the second place. */
    int64_t perm[DNNL_TP_MAX_NDIMS], back[DNNL_TP_MAX_NDIMS];
    perm[0] = 0;
    perm[1] = axis;
    for (int d = 1, k = 2; d < nd; ++d)
        if (d != axis) perm[k++] = d;
    for (int d = 0; d < nd; ++d) back[perm[d]] = d;
    val_t *both[] = {x, update};
    both[0] = dtp_cv_concat(cv, axis, 2, both);
    both[0] = cv->status ? NULL : dtp_cv_transpose(cv, both[0], perm);
    both[1] = cv->status ? NULL : dtp_cv_unsqueeze(cv, from, 0, 1);
    val_t *y = dtp_cv_op_at(cv, dnnl_tp_op_gather_nd, 2, both, dnnl_tp_op_attr_batch_dims, 1);
    dtp_cv_set(cv, 0, cv->status ? NULL : dtp_cv_transpose(cv, y, back));
}
