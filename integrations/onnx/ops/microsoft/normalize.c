/* com.microsoft: normalisations with the sums before them, embeddings, activations with a bias. */
#include "onnx/ops/ops.h"
#include "onnx/sized.h"

/* ---- Sum and normalisation ------------------------------------------------------------------- */

/* kind: of the operator that normalises. Mean and deviation are for training. */
void dtp_onnx_ms_skip_norm(cv_t *cv) {
    enum { X, SKIP, SCALE, SHIFT, SUM = 3 };
    const bool is_centred = cv->row->kind == dnnl_tp_op_layer_norm;
    const float epsilon = dtp_cv_float(cv, "epsilon", 1e-12f);
    val_t *shift = is_centred ? dtp_cv_input(cv, SHIFT) : NULL,
          *bias = dtp_cv_input(cv, is_centred ? SHIFT + 1 : SHIFT);
    val_t *sum = dtp_cv_plus(cv, dtp_cv_plus(cv, cv->in[X], cv->in[SKIP]), bias);
    if (cv->status) return;
    const int last = sum->info.ndims - 1;
    if (last < 0) dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input has no dimensions");
    dtp_cv_set(cv, SUM, sum);
    dtp_cv_set(cv, 0,
               is_centred ? dtp_cv_layer_norm(cv, sum, last, cv->in[SCALE], shift, epsilon)
                          : dtp_cv_rms_norm(cv, sum, last, cv->in[SCALE], epsilon));
}

/* Words, positions and segments: rows of tables that are added and normalised. */
void dtp_onnx_ms_embed(cv_t *cv) {
    enum { WORDS, SEGMENTS, WORD_ROWS, PLACE_ROWS, SEGMENT_ROWS, SCALE, SHIFT, MASK, PLACES };
    static const int needed[] = {WORD_ROWS, PLACE_ROWS, SCALE, SHIFT};
    const float epsilon = dtp_cv_float(cv, "epsilon", 1e-12f);
    (void)dtp_cv_int(cv, "mask_index_type", 1); /* says whether the second result is there */
    for (size_t i = 0; i < sizeof needed / sizeof *needed && !cv->status; ++i)
        if (!dtp_cv_input(cv, needed[i]))
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its input %d is absent", needed[i]);
    val_t *words = cv->in[WORDS], *segments = dtp_cv_input(cv, SEGMENTS),
          *rows = dtp_cv_input(cv, SEGMENT_ROWS);
    if (!cv->status && (words->info.ndims != 2 || cv->in[PLACE_ROWS]->info.ndims != 2))
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its words have %d dimensions, its table of positions %d",
                    words->info.ndims, cv->in[PLACE_ROWS]->info.ndims);
    if (!cv->status && !segments != !rows)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has segments or their table, not both");
    if (cv->status) return;
    val_t *sum = dtp_cv_take(cv, cv->in[WORD_ROWS], 0, words);
    sum = dtp_cv_plus(cv, sum,
                      dtp_cv_input(cv, PLACES) ? dtp_cv_take(cv, cv->in[PLACE_ROWS], 0, cv->in[PLACES])
                      : words->sizes           ? dtp_cv_cut(cv, cv->in[PLACE_ROWS], 0,
                                                            dtp_size_number(cv->im->sizes, 0), words->sizes[1])
                                     : dtp_cv_part(cv, cv->in[PLACE_ROWS], 0, 0, dtp_cv_dim(cv, words, 1)));
    if (segments) sum = dtp_cv_plus(cv, sum, dtp_cv_take(cv, rows, 0, segments));
    if (cv->status) return;
    enum { INDEX = 1, UNNORMALISED };
    if (dtp_cv_wanted(cv, INDEX)) { /* how many words a row has */
        const int64_t axis = 1, batch = dtp_cv_input(cv, MASK) ? 0 : dtp_cv_dim(cv, words, 0);
        val_t *one = dtp_cv_scalar(cv, dnnl_tp_s32, 1), *mask = dtp_cv_input(cv, MASK);
        if (mask) mask = dtp_cv_typed(cv, dtp_cv_binary(cv, dnnl_tp_op_equal, mask, one), dnnl_tp_s32);
        dtp_cv_set(cv, INDEX,
                   mask ? dtp_cv_reduce(cv, dnnl_tp_op_reduce_sum, mask, 1, &axis, false)
                        : dtp_cv_fill(cv, dnnl_tp_s32, 1, &batch, 0));
    }
    dtp_cv_set(cv, UNNORMALISED, sum);
    dtp_cv_set(cv, 0, dtp_cv_layer_norm(cv, sum, sum->info.ndims - 1, cv->in[SCALE], cv->in[SHIFT], epsilon));
}

/* Groups of channels, which are last or behind the batch; maybe swish behind it. kind: with a sum
 * before it. */
void dtp_onnx_ms_group_norm(cv_t *cv) {
    enum { X, SCALE, SHIFT, SKIP, BIAS, FLAT = 4 };
    const bool is_last = dtp_cv_int(cv, "channels_last", 1) != 0;
    const int64_t groups = dtp_cv_int(cv, "groups", 0), activation = dtp_cv_int(cv, "activation", 0);
    const float epsilon = dtp_cv_float(cv, "epsilon", 1e-5f);
    val_t *x = cv->in[X], *skip = cv->row->kind ? dtp_cv_input(cv, SKIP) : NULL;
    const int nd = x->info.ndims, at = is_last ? nd - 1 : 1;
    if (nd < 3) dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input has %d dimensions", nd);
    if (activation < 0 || activation > 1)
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its attribute 'activation' is %lld", (long long)activation);
    if (cv->row->kind && !is_last)
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its attribute 'channels_last' is 0");
    if (skip && skip->info.ndims == 2 && !cv->status) { /* {N, C} */
        int64_t dims[DNNL_TP_MAX_NDIMS];
        for (int d = 0; d < nd; ++d) dims[d] = d == 0 ? skip->info.dims[0] : d == at ? skip->info.dims[1] : 1;
        skip = dtp_cv_reshape(cv, skip, nd, dims);
    }
    x = dtp_cv_plus(cv, dtp_cv_plus(cv, x, skip), cv->row->kind ? dtp_cv_input(cv, BIAS) : NULL);
    dtp_cv_set(cv, 1, cv->row->kind ? x : NULL);
    const int64_t channels = cv->status ? 0 : dtp_cv_dim(cv, x, at);
    for (int d = 1; d < nd; ++d) (void)dtp_cv_dim(cv, x, d);
    const int64_t space = cv->status ? 0 : is_last ? dtp_cv_product(x, 1, nd - 1) : dtp_cv_product(x, 2, nd);
    if (!cv->status && (groups < 1 || channels % groups))
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "%lld channels in %lld groups", (long long)channels,
                    (long long)groups);
    if (cv->status) return;
    const int64_t n = x->info.dims[0], each = channels / groups, outer[FLAT] = {n, groups, each, space},
                  inner[FLAT] = {n, space, groups, each}, outer_axes[] = {2, 3}, inner_axes[] = {1, 3};
    val_t *y = dtp_cv_reshape(cv, x, FLAT, is_last ? inner : outer);
    y = cv->status ? NULL : dtp_cv_normalized(cv, y, 2, is_last ? inner_axes : outer_axes, epsilon);
    y = cv->status ? NULL : dtp_cv_reshape(cv, y, nd, x->info.dims);
    for (int i = SCALE; i <= SHIFT && !cv->status; ++i) {
        val_t *p = is_last ? cv->in[i] : dtp_cv_per_channel(cv, x, cv->in[i]);
        cv->is_last = i == SHIFT && !activation;
        y = dtp_cv_binary(cv, i == SCALE ? dnnl_tp_op_multiply : dnnl_tp_op_add, y, p);
    }
    if (activation && !cv->status) y = dtp_cv_unary(dtp_cv_last(cv), dnnl_tp_op_swish, y);
    dtp_cv_set(cv, 0, y);
}

/* ---- Activations ----------------------------------------------------------------------------- */

/* kind: by tanh. */
void dtp_onnx_ms_gelu(cv_t *cv) {
    val_t *x = dtp_cv_plus(cv, cv->in[0], dtp_cv_input(cv, 1));
    dtp_cv_set(cv, 0, cv->status ? NULL : dtp_cv_gelu(dtp_cv_last(cv), x, cv->row->kind != 0));
}

/* x sigmoid(alpha x) */
void dtp_onnx_ms_quick_gelu(cv_t *cv) {
    const float alpha = dtp_cv_float(cv, "alpha", 1.702f);
    dtp_cv_set(
        cv, 0,
        dtp_cv_unary_with(dtp_cv_last(cv), dnnl_tp_op_swish, cv->in[0], dnnl_tp_op_attr_alpha, alpha, -1, 0));
}

void dtp_onnx_ms_bias_add(cv_t *cv) {
    val_t *x = dtp_cv_binary(cv, dnnl_tp_op_add, cv->in[0], cv->in[1]);
    dtp_cv_set(cv, 0, x ? dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_add, x, cv->in[2]) : NULL);
}

/* The first half of the features times gelu of the second. */
void dtp_onnx_ms_bias_split_gelu(cv_t *cv) {
    val_t *x = dtp_cv_binary(cv, dnnl_tp_op_add, cv->in[0], cv->in[1]);
    const int axis = cv->status ? 0 : x->info.ndims - 1;
    const int64_t all = cv->status ? 0 : dtp_cv_dim(cv, x, axis);
    if (!cv->status && all % 2)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "%lld features have no halves", (long long)all);
    if (cv->status) return;
    val_t *left = dtp_cv_part(cv, x, axis, 0, all / 2), *right = dtp_cv_part(cv, x, axis, all / 2, all / 2);
    right = cv->status ? NULL : dtp_cv_gelu(cv, right, false);
    dtp_cv_set(cv, 0, cv->status ? NULL : dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_multiply, left, right));
}
