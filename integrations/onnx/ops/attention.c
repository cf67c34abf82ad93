/* Attention and the rotation of positions before it. The products, the scale and the softmax are what the compiler
 * recognises as one operator where nothing stands between them. */
#include "onnx/ops/ops.h"

#include <math.h>

enum { Q, K, V, MASK, PAST_K, PAST_V, LENGTHS };
enum { BATCH, HEADS, ROWS, FEATURES, RANK }; /* of {B, H, S, D} */

/* {B, S, H D} as {B, H, S, D}. */
static val_t *split_heads(cv_t *cv, val_t *x, int64_t heads) {
    static const int64_t perm[RANK] = {0, 2, 1, 3};
    const int64_t all = cv->status ? 0 : dtp_cv_dim(cv, x, 2);
    if (!cv->status && (heads < 1 || all % heads))
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "%lld features in %lld heads", (long long)all,
                    (long long)heads);
    if (cv->status) return NULL;
    const int64_t dims[RANK] = {x->info.dims[0], x->info.dims[1], heads, all / heads};
    return dtp_cv_transpose(cv, dtp_cv_reshape(cv, x, RANK, dims), perm);
}

static val_t *join_heads(cv_t *cv, val_t *x) {
    static const int64_t perm[RANK] = {0, 2, 1, 3};
    if (cv->status) return NULL;
    const int64_t dims[] = {x->info.dims[BATCH], x->info.dims[ROWS],
                            x->info.dims[HEADS] * x->info.dims[FEATURES]};
    val_t *y = dtp_cv_transpose(cv, x, perm);
    return dtp_cv_reshape(dtp_cv_last(cv), y, sizeof dims / sizeof *dims, dims);
}

/* A product of {B, H, S, D} with {B, G, ...}, of which each serves H / G heads one after the other. */
static val_t *shared_product(cv_t *cv, val_t *x, val_t *w, bool transposed) {
    enum { GROUPED = 5 };
    if (cv->status) return NULL;
    const int64_t heads = x->info.dims[HEADS], groups = w->info.dims[HEADS];
    if (heads == groups) return dtp_cv_matmul(cv, x, w, transposed);
    if (groups < 1 || heads % groups) {
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "%lld heads cannot share %lld of keys", (long long)heads,
                    (long long)groups);
        return NULL;
    }
    const int64_t xs[GROUPED] = {x->info.dims[BATCH], groups, heads / groups, x->info.dims[ROWS],
                                 x->info.dims[FEATURES]};
    const int64_t ws[GROUPED] = {w->info.dims[BATCH], groups, 1, w->info.dims[ROWS], w->info.dims[FEATURES]};
    val_t *y =
        dtp_cv_matmul(cv, dtp_cv_reshape(cv, x, GROUPED, xs), dtp_cv_reshape(cv, w, GROUPED, ws), transposed);
    if (cv->status) return NULL;
    const int64_t dims[RANK] = {xs[0], heads, xs[GROUPED - 2], y->info.dims[GROUPED - 1]};
    return dtp_cv_reshape(cv, y, RANK, dims);
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

void dtp_onnx_attention(cv_t *cv) {
    val_t *q = cv->in[Q], *k = cv->in[K], *v = cv->in[V];
    const dnnl_tp_data_type_t type = q->info.data_type;
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
    if (is_flat) {
        q = split_heads(cv, q, q_heads);
        k = split_heads(cv, k, kv_heads);
        v = split_heads(cv, v, kv_heads);
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
    const float scale = dtp_cv_float(cv, "scale", features > 0 ? 1.f / sqrtf((float)features) : 1.f);
    val_t *s = shared_product(cv, q, k, true);
    s = dtp_cv_binary(cv, dnnl_tp_op_multiply, s, dtp_cv_scalar(cv, type, (double)scale));
    val_t *kept[4] = {s, NULL, NULL, NULL};
    if (softcap > 0) {
        s = dtp_cv_binary(cv, dnnl_tp_op_divide, s, dtp_cv_scalar(cv, type, (double)softcap));
        s = dtp_cv_binary(cv, dnnl_tp_op_multiply, dtp_cv_unary(cv, dnnl_tp_op_tanh, s),
                          dtp_cv_scalar(cv, type, (double)softcap));
    }
    kept[1] = s;
    val_t *seen = visible(cv, rows, keys, before, dtp_cv_given(cv, LENGTHS) ? cv->in[LENGTHS] : NULL);
    val_t *mask = dtp_cv_given(cv, MASK) ? cv->in[MASK] : NULL;
    if (mask && !cv->status) {
        const int last = mask->info.ndims - 1;
        const bool is_truth = mask->info.data_type == dnnl_tp_boolean;
        if (last < 0) dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its mask has no dimensions");
        const int64_t given = cv->status ? 0 : dtp_cv_dim(cv, mask, last);
        if (!cv->status && given > 1 && given < keys)
            mask = dtp_cv_pad_axis(cv, mask, last, 0, keys - given, is_truth ? 0 : -INFINITY);
        if (is_truth) seen = both(cv, mask, seen);
        else s = dtp_cv_binary(cv, dnnl_tp_op_add, s, mask);
    }
    const bool hides = seen || mask;
    val_t *never = dtp_cv_scalar(cv, type, -INFINITY);
    if (seen) s = dtp_cv_select(cv, seen, s, never);
    kept[2] = s;
    val_t *p = dtp_cv_op_at(cv, dnnl_tp_op_softmax, 1, &s, dnnl_tp_op_attr_axis, RANK - 1);
    if (hides && !cv->status) { /* a query that sees no key gets zeros */
        const int64_t axis = RANK - 1;
        val_t *most = dtp_cv_reduce(cv, dnnl_tp_op_reduce_max, s, 1, &axis, true);
        p = dtp_cv_select(cv, dtp_cv_binary(cv, dnnl_tp_op_equal, most, never), dtp_cv_scalar(cv, type, 0),
                          p);
    }
    kept[3] = p;
    val_t *y = shared_product(cv, p, v, false);
    dtp_cv_set(cv, 0, is_flat ? join_heads(cv, y) : y);
    dtp_cv_set(cv, 1, k);
    dtp_cv_set(cv, 2, v);
    if (mode < 0 || mode > 3)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'qk_matmul_output_mode' is %lld",
                    (long long)mode);
    else dtp_cv_set(cv, 3, kept[mode]);
}

/* ---- Rotation ---------------------------------------------------------------------------------------------------- */

/* Pairs of features, neighbours or one of each half, turned by angles that the position and the pair choose. */
void dtp_onnx_rotary_embedding(cv_t *cv) {
    enum { X, COS, SIN, POSITIONS, PAIRED = 5 };
    val_t *x = cv->in[X], *angle[2] = {cv->in[COS], cv->in[SIN]};
    const bool is_flat = x->info.ndims == RANK - 1, neighbours = dtp_cv_int(cv, "interleaved", 0) != 0;
    const int64_t heads = dtp_cv_int(cv, "num_heads", 0);
    if (!is_flat && x->info.ndims != RANK)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input has %d dimensions", x->info.ndims);
    if (cv->status) return;
    x = is_flat ? split_heads(cv, x, heads) : x; /* {B, H, S, D} */
    const int64_t features = cv->status ? 0 : dtp_cv_dim(cv, x, FEATURES);
    int64_t turned = dtp_cv_int(cv, "rotary_embedding_dim", 0);
    if (turned == 0) turned = features;
    if (!cv->status && (turned < 0 || turned > features || turned % 2))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'rotary_embedding_dim' is %lld",
                    (long long)turned);
    for (int i = 0; i < 2 && !cv->status; ++i) {
        if (dtp_cv_given(cv, POSITIONS)) angle[i] = dtp_cv_take(cv, angle[i], 0, cv->in[POSITIONS]);
        if (cv->status || angle[i]->info.ndims != 3) {
            dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its angles have not 3 dimensions");
            return;
        }
        const int64_t dims[RANK] = {angle[i]->info.dims[0], 1, angle[i]->info.dims[1],
                                    angle[i]->info.dims[2]};
        angle[i] = dtp_cv_reshape(cv, angle[i], RANK, dims);
    }
    if (cv->status) return;
    val_t *rest = turned < features ? dtp_cv_part(cv, x, FEATURES, turned, features - turned) : NULL;
    val_t *part = dtp_cv_part(cv, x, FEATURES, 0, turned), *half[2];
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
    if (cv->status) return;
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
    dtp_cv_set(cv, 0, is_flat ? join_heads(cv, y) : y);
}
