/* Attention and the rotation of positions before it. The products, the scale and the softmax are what the compiler
 * recognises as one operator where nothing stands between them. */
#include "onnx/growing.h"
#include "onnx/ops/attend.h"
#include "onnx/ops/ops.h"

#include <math.h>

enum { Q, K, V, MASK, PAST_K, PAST_V, LENGTHS };
enum { BATCH, HEADS, ROWS, FEATURES, RANK }; /* of {B, H, S, D} */

val_t *dtp_cv_split_heads(cv_t *cv, val_t *x, int64_t heads) {
    static const int64_t perm[RANK] = {0, 2, 1, 3};
    const int64_t all = cv->status ? 0 : dtp_cv_dim(cv, x, 2);
    if (!cv->status && (heads < 1 || all % heads))
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "%lld features in %lld heads", (long long)all,
                    (long long)heads);
    if (cv->status) return NULL;
    const int64_t dims[RANK] = {x->info.dims[0], x->info.dims[1], heads, all / heads};
    return dtp_cv_transpose(cv, dtp_cv_reshape_keeping(cv, x, RANK, dims, dtp_cv_leading(2)), perm);
}

val_t *dtp_cv_join_heads(cv_t *cv, val_t *x) {
    static const int64_t perm[RANK] = {0, 2, 1, 3};
    if (cv->status) return NULL;
    const int64_t dims[] = {x->info.dims[BATCH], x->info.dims[ROWS],
                            x->info.dims[HEADS] * x->info.dims[FEATURES]};
    val_t *y = dtp_cv_transpose(cv, x, perm);
    return dtp_cv_reshape_keeping(dtp_cv_last(cv), y, sizeof dims / sizeof *dims, dims, dtp_cv_leading(2));
}

static val_t *scaled(cv_t *cv, val_t *x, float scale) {
    if (cv->status || scale == 1.f) return x;
    return dtp_cv_binary(cv, dnnl_tp_op_multiply, x, dtp_cv_scalar(cv, x->info.data_type, (double)scale));
}

/* A product of {B, H, S, D} with {B, G, ...}, of which each serves H / G heads one after the other: their rows stand
 * behind each other. The scale goes where the product can take it in. */
static val_t *shared_product(cv_t *cv, val_t *x, val_t *w, bool transposed, float scale) {
    if (cv->status) return NULL;
    const int64_t heads = x->info.dims[HEADS], groups = w->info.dims[HEADS];
    if (heads == groups) return scaled(cv, dtp_cv_matmul(cv, x, w, transposed), scale);
    const int64_t rows = dtp_cv_dim(cv, x, ROWS);
    if (!cv->status && (groups < 1 || heads < 1 || heads % groups || rows > INT32_MAX))
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "%lld heads cannot share %lld of keys", (long long)heads,
                    (long long)groups);
    if (cv->status) return NULL;
    const int64_t dims[RANK] = {x->info.dims[BATCH], groups, heads / groups * rows, x->info.dims[FEATURES]};
    val_t *y = dtp_cv_matmul(cv, dtp_cv_reshape(cv, x, RANK, dims), w, transposed);
    y = scaled(cv, y, scale);
    if (cv->status) return NULL;
    const int64_t apart[RANK] = {dims[BATCH], heads, rows, y->info.dims[FEATURES]};
    return dtp_cv_reshape(cv, y, RANK, apart);
}

val_t *dtp_cv_attend(cv_t *cv, dtp_attend_t *a) {
    const int64_t axis = RANK - 1;
    val_t *s = shared_product(cv, a->q, a->k, true, a->scale);
    if (cv->status) return NULL;
    const dnnl_tp_data_type_t type = s->info.data_type;
    a->kept[0] = s;
    if (a->softcap > 0) {
        s = dtp_cv_binary(cv, dnnl_tp_op_divide, s, dtp_cv_scalar(cv, type, (double)a->softcap));
        s = dtp_cv_binary(cv, dnnl_tp_op_multiply, dtp_cv_unary(cv, dnnl_tp_op_tanh, s),
                          dtp_cv_scalar(cv, type, (double)a->softcap));
    }
    a->kept[1] = s;
    if (a->bias) s = dtp_cv_binary(cv, dnnl_tp_op_add, s, a->bias);
    val_t *never = dtp_cv_scalar(cv, type, -INFINITY);
    if (a->seen) s = dtp_cv_select(cv, a->seen, s, never);
    a->kept[2] = s;
    val_t *p = s;
    if (a->sink && !cv->status) {
        const int64_t dims[RANK] = {dtp_cv_dim(cv, s, BATCH), dtp_cv_dim(cv, s, HEADS),
                                    dtp_cv_dim(cv, s, ROWS), 1};
        p = dtp_cv_concat(cv, RANK - 1, 2, (val_t *[]){s, dtp_cv_expand(cv, a->sink, RANK, dims)});
    }
    p = cv->status ? NULL : dtp_cv_op_at(cv, dnnl_tp_op_softmax, 1, &p, dnnl_tp_op_attr_axis, axis);
    if (a->sink && !cv->status) p = dtp_cv_part(cv, p, RANK - 1, 0, s->info.dims[RANK - 1]);
    if (a->zero_unseen && !cv->status) {
        val_t *most = dtp_cv_reduce(cv, dnnl_tp_op_reduce_max, s, 1, &axis, true);
        p = dtp_cv_select(cv, dtp_cv_binary(cv, dnnl_tp_op_equal, most, never), dtp_cv_scalar(cv, type, 0),
                          p);
    }
    a->kept[3] = p;
    return shared_product(cv, p, a->v, false, 1.f);
}

static val_t *both(cv_t *cv, val_t *x, val_t *y) {
    return x && y ? dtp_cv_binary(cv, dnnl_tp_op_logical_and, x, y) : x ? x : y;
}

/* Which keys a query sees by their positions: {rows, keys}, or with lengths {B, 1, rows, keys}; NULL: all. */
static val_t *visible(cv_t *cv, int64_t rows, int64_t keys, int64_t before, val_t *lengths) {
    const bool is_causal = dtp_cv_int(cv, "is_causal", 0) != 0;
    const int64_t left = dtp_cv_int(cv, "left_window_size", -1),
                  right = dtp_cv_int(cv, "right_window_size", -1);
    val_t *at = NULL, *key = dtp_cv_counted(cv, keys, 0), *all = NULL; /* {rows, 1}, {keys} */
    if (lengths) {
        lengths = dtp_cv_unsqueeze(cv, dtp_cv_typed(cv, lengths, dnnl_tp_s64), 0, 3);
        all = dtp_cv_binary(cv, dnnl_tp_op_less, key, lengths);
    }
    if (!is_causal && left < 0 && right < 0) return all;
    at = dtp_cv_counted(cv, rows, 1);
    val_t *shift = lengths ? dtp_cv_binary(cv, dnnl_tp_op_subtract, lengths,
                                           dtp_cv_scalar(cv, dnnl_tp_s64, (double)rows))
                           : dtp_cv_scalar(cv, dnnl_tp_s64, (double)before);
    /* How far the key lies behind the query. */
    val_t *behind = dtp_cv_binary(cv, dnnl_tp_op_subtract, key, dtp_cv_binary(cv, dnnl_tp_op_add, at, shift));
    if (is_causal)
        all = both(cv, all,
                   dtp_cv_binary(cv, dnnl_tp_op_less_equal, behind, dtp_cv_scalar(cv, dnnl_tp_s64, 0)));
    if (right >= 0)
        all = both(
            cv, all,
            dtp_cv_binary(cv, dnnl_tp_op_less_equal, behind, dtp_cv_scalar(cv, dnnl_tp_s64, (double)right)));
    if (left >= 0)
        all = both(cv, all,
                   dtp_cv_binary(cv, dnnl_tp_op_greater_equal, behind,
                                 dtp_cv_scalar(cv, dnnl_tp_s64, -(double)left)));
    return all;
}

/* What a mask adds to scores, {B, H, S, keys}, where each of the first three may be 1. */
static val_t *added(cv_t *cv, val_t *mask, int64_t keys) {
    if (cv->status) return NULL;
    const int nd = mask->info.ndims;
    if (nd < 1 || nd > RANK || mask->info.dims[nd - 1] != keys)
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its mask is not as long as the keys");
    if (!cv->status && mask->info.data_type == dnnl_tp_boolean)
        mask = dtp_cv_select(cv, mask, dtp_cv_scalar(cv, dnnl_tp_f32, 0),
                             dtp_cv_scalar(cv, dnnl_tp_f32, -INFINITY));
    return cv->status ? NULL : dtp_cv_unsqueeze(cv, mask, RANK - nd, 0);
}

void dtp_cv_attend_cached(cv_t *cv, const dtp_attend_cached_t *a, val_t **y) {
    enum { ATTRS = 6 };
    const uint8_t is_causal = a->is_causal, interleaved = a->interleaved;
    val_t *mask = a->mask && dtp_fold_is(a->mask, 0) ? NULL : a->mask;
    if (mask) mask = dtp_cv_unsqueeze(cv, mask, RANK - mask->info.ndims, 0);
    val_t *in[] = {a->q, a->k,       a->v,    a->past_k, a->past_v, dtp_growing(cv->im)->lengths,
                   mask, a->cosines, a->sines};
    const dnnl_tp_op_attr_t attr[ATTRS] = {
        {dnnl_tp_op_attr_heads, dnnl_tp_op_attr_s64, 1, &a->heads},
        {dnnl_tp_op_attr_window, dnnl_tp_op_attr_s64, 1, &a->window},
        {dnnl_tp_op_attr_scale, dnnl_tp_op_attr_f32, 1, &a->scale},
        {dnnl_tp_op_attr_softcap, dnnl_tp_op_attr_f32, 1, &a->softcap},
        {dnnl_tp_op_attr_is_causal, dnnl_tp_op_attr_bool, 1, &is_causal},
        {dnnl_tp_op_attr_interleaved, dnnl_tp_op_attr_bool, 1, &interleaved}};
    dtp_cv_ops(dtp_cv_last(cv), dnnl_tp_op_cached_attention, (int)(sizeof in / sizeof *in), in, ATTRS, attr,
               DTP_CACHED_RESULTS, y);
}

/* The cache of a state. */
static void attend_grown(cv_t *cv, bool is_flat) {
    const dtp_growing_t *state = dtp_growing(cv->im);
    const int64_t left = dtp_cv_int(cv, "left_window_size", -1);
    const float features = (float)cv->in[PAST_K]->info.dims[FEATURES];
    val_t *x[DTP_CACHED_RESULTS] = {cv->in[Q], cv->in[K], cv->in[V]}, *y[DTP_CACHED_RESULTS];
    dtp_attend_cached_t a = {.past_k = cv->in[PAST_K],
                             .past_v = cv->in[PAST_V],
                             .is_causal = dtp_cv_int(cv, "is_causal", 0) != 0,
                             .window = left < 0 ? -1 : left + 1,
                             .softcap = dtp_cv_float(cv, "softcap", 0.f),
                             .scale = dtp_cv_float(cv, "scale", 1.f / sqrtf(features))};
    a.heads = is_flat ? dtp_cv_int(cv, "q_num_heads", 0) : x[0]->info.dims[HEADS];
    if (dtp_cv_given(cv, LENGTHS) || dtp_cv_wanted(cv, DTP_CACHED_RESULTS) ||
        dtp_cv_int(cv, "right_window_size", -1) >= 0 || (left >= 0 && !a.is_causal))
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "a growing cache has no such window, lengths or scores");
    for (int i = 0; i < DTP_CACHED_RESULTS && !is_flat; ++i) x[i] = dtp_cv_join_heads(cv, x[i]);
    if (dtp_cv_given(cv, MASK)) a.mask = added(cv, cv->in[MASK], state->total);
    if (cv->status) return;
    a.q = x[0];
    a.k = x[1];
    a.v = x[2];
    dtp_cv_attend_cached(cv, &a, y);
    dtp_cv_set(cv, 0, is_flat || cv->status ? y[0] : dtp_cv_split_heads(cv, y[0], a.heads));
    for (int i = 0; i < 2 && !cv->status; ++i)
        dtp_cv_set(cv, 1 + i, dtp_cv_grown(cv, cv->in[PAST_K + i], y[1 + i]));
}

void dtp_onnx_attention(cv_t *cv) {
    val_t *q = cv->in[Q], *k = cv->in[K], *v = cv->in[V];
    const bool is_flat = q->info.ndims == RANK - 1;
    const int64_t q_heads = dtp_cv_int(cv, "q_num_heads", 0), kv_heads = dtp_cv_int(cv, "kv_num_heads", 0);
    const int64_t mode = dtp_cv_int(cv, "qk_matmul_output_mode", 0);
    const float softcap = dtp_cv_float(cv, "softcap", 0.f);
    (void)dtp_cv_int(cv, "softmax_precision", 0); /* never less than f32 here */
    if ((!is_flat && q->info.ndims != RANK) || k->info.ndims != q->info.ndims ||
        v->info.ndims != q->info.ndims)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its inputs have %d, %d and %d dimensions", q->info.ndims,
                    k->info.ndims, v->info.ndims);
    if (cv->status) return;
    if (dtp_cv_is_past(cv, PAST_K) && dtp_cv_is_past(cv, PAST_V)) {
        attend_grown(cv, is_flat);
        return;
    }
    if (is_flat) {
        q = dtp_cv_split_heads(cv, q, q_heads);
        k = dtp_cv_split_heads(cv, k, kv_heads);
        v = dtp_cv_split_heads(cv, v, kv_heads);
    }
    int64_t before = 0;
    if (dtp_cv_given(cv, PAST_K) && dtp_cv_given(cv, PAST_V) && !cv->status) {
        if (cv->in[PAST_K]->info.ndims != RANK || cv->in[PAST_V]->info.ndims != RANK) {
            dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its past has not 4 dimensions");
            return;
        }
        before = dtp_cv_dim(cv, cv->in[PAST_K], ROWS);
        k = dtp_cv_concat(cv, ROWS, 2, (val_t *[]){cv->in[PAST_K], k});
        v = dtp_cv_concat(cv, ROWS, 2, (val_t *[]){cv->in[PAST_V], v});
    }
    const int64_t rows = cv->status ? 0 : dtp_cv_dim(cv, q, ROWS),
                  keys = cv->status ? 0 : dtp_cv_dim(cv, k, ROWS),
                  features = cv->status ? 1 : dtp_cv_dim(cv, q, FEATURES);
    if (!cv->status && (k->info.dims[HEADS] < 1 || q->info.dims[HEADS] % k->info.dims[HEADS]))
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "%lld heads of queries, %lld of keys",
                    (long long)q->info.dims[HEADS], (long long)k->info.dims[HEADS]);
    if (cv->status) return;
    dtp_attend_t a = {.q = q, .k = k, .v = v, .softcap = softcap};
    a.scale = dtp_cv_float(cv, "scale", features > 0 ? 1.f / sqrtf((float)features) : 1.f);
    a.seen = visible(cv, rows, keys, before, dtp_cv_given(cv, LENGTHS) ? cv->in[LENGTHS] : NULL);
    val_t *mask = dtp_cv_given(cv, MASK) ? cv->in[MASK] : NULL;
    if (mask && !cv->status) {
        const int last = mask->info.ndims - 1;
        const bool is_truth = mask->info.data_type == dnnl_tp_boolean;
        if (last < 0) dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its mask has no dimensions");
        const int64_t given = cv->status ? 0 : dtp_cv_dim(cv, mask, last);
        if (!cv->status && given > 1 && given < keys)
            mask = dtp_cv_pad_axis(cv, mask, last, 0, keys - given, is_truth ? 0 : -INFINITY);
        if (is_truth) a.seen = both(cv, mask, a.seen);
        else a.bias = mask;
    }
    a.zero_unseen = a.seen || mask;
    val_t *y = dtp_cv_attend(cv, &a);
    dtp_cv_set(cv, 0, is_flat ? dtp_cv_join_heads(cv, y) : y);
    dtp_cv_set(cv, 1, k);
    dtp_cv_set(cv, 2, v);
    if (mode < 0 || mode > 3)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'qk_matmul_output_mode' is %lld",
                    (long long)mode);
    else dtp_cv_set(cv, 3, a.kept[mode]);
}

/* ---- Rotation ---------------------------------------------------------------------------------------------------- */

val_t *dtp_cv_rotate(cv_t *cv, val_t *x, val_t *cosines, val_t *sines, int64_t turned, bool neighbours) {
    enum { PAIRED = 5 };
    val_t *angle[2] = {cosines, sines}, *half[2];
    const int64_t features = cv->status ? 0 : dtp_cv_dim(cv, x, FEATURES);
    if (!cv->status && (turned < 0 || turned > features || turned % 2))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "%lld of %lld features are turned", (long long)turned,
                    (long long)features);
    for (int i = 0; i < 2 && !cv->status; ++i) {
        if (angle[i]->info.ndims != 3) {
            dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its angles have not 3 dimensions");
            return NULL;
        }
        const int64_t dims[RANK] = {angle[i]->info.dims[0], 1, angle[i]->info.dims[1],
                                    angle[i]->info.dims[2]};
        angle[i] = dtp_cv_reshape(cv, angle[i], RANK, dims);
    }
    if (cv->status) return NULL;
    val_t *rest = turned < features ? dtp_cv_part(cv, x, FEATURES, turned, features - turned) : NULL;
    val_t *part = dtp_cv_part(cv, x, FEATURES, 0, turned);
    int64_t dims[PAIRED];
    for (int d = 0; d < RANK && !cv->status; ++d) dims[d] = part->info.dims[d];
    dims[FEATURES] = turned / 2;
    dims[RANK] = 2;
    if (neighbours) {
        val_t *pairs = dtp_cv_reshape(cv, part, PAIRED, dims);
        for (int i = 0; i < 2; ++i)
            half[i] = dtp_cv_reshape(cv, dtp_cv_part(cv, pairs, RANK, i, 1), RANK, dims);
    } else {
        for (int i = 0; i < 2; ++i) half[i] = dtp_cv_part(cv, part, FEATURES, i * (turned / 2), turned / 2);
    }
    val_t *real =
        dtp_cv_binary(cv, dnnl_tp_op_subtract, dtp_cv_binary(cv, dnnl_tp_op_multiply, angle[0], half[0]),
                      dtp_cv_binary(cv, dnnl_tp_op_multiply, angle[1], half[1]));
    val_t *imag = dtp_cv_binary(cv, dnnl_tp_op_add, dtp_cv_binary(cv, dnnl_tp_op_multiply, angle[1], half[0]),
                                dtp_cv_binary(cv, dnnl_tp_op_multiply, angle[0], half[1]));
    val_t *out[3] = {real, imag, rest}, *y = NULL;
    if (cv->status) return NULL;
    if (neighbours) {
        dims[RANK] = 1;
        for (int i = 0; i < 2; ++i) out[i] = dtp_cv_reshape(cv, out[i], PAIRED, dims);
        dims[FEATURES] = turned;
        out[0] = dtp_cv_reshape(cv, dtp_cv_concat(cv, RANK, 2, out), RANK, dims);
        out[1] = rest;
        y = cv->status ? NULL : rest ? dtp_cv_concat(cv, FEATURES, 2, out) : out[0];
    } else {
        y = dtp_cv_concat(cv, FEATURES, rest ? 3 : 2, out);
    }
    return y;
}

/* Pairs of features, neighbours or one of each half, turned by angles that the position and the pair choose. */
void dtp_onnx_rotary_embedding(cv_t *cv) {
    enum { X, COS, SIN, POSITIONS };
    val_t *x = cv->in[X], *angle[2] = {cv->in[COS], cv->in[SIN]};
    const bool is_flat = x->info.ndims == RANK - 1, neighbours = dtp_cv_int(cv, "interleaved", 0) != 0;
    const int64_t heads = dtp_cv_int(cv, "num_heads", 0);
    if (!is_flat && x->info.ndims != RANK)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input has %d dimensions", x->info.ndims);
    if (cv->status) return;
    x = is_flat ? dtp_cv_split_heads(cv, x, heads) : x; /* {B, H, S, D} */
    int64_t turned = dtp_cv_int(cv, "rotary_embedding_dim", 0);
    if (turned == 0 && !cv->status) turned = dtp_cv_dim(cv, x, FEATURES);
    for (int i = 0; i < 2 && !cv->status; ++i)
        if (dtp_cv_given(cv, POSITIONS)) angle[i] = dtp_cv_take(cv, angle[i], 0, cv->in[POSITIONS]);
    val_t *y = cv->status ? NULL : dtp_cv_rotate(cv, x, angle[0], angle[1], turned, neighbours);
    dtp_cv_set(cv, 0, is_flat && y ? dtp_cv_join_heads(cv, y) : y);
}
