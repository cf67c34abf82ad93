/* Attention on heads and the rotation before it, for the converters of several domains. */
#ifndef DTP_ONNX_OPS_ATTEND_H
#define DTP_ONNX_OPS_ATTEND_H

#include "onnx/context.h"

/* Dimensions of a tensor with its heads apart: {B, H, S, D}. */
enum { DTP_BATCH, DTP_HEADS, DTP_ROWS, DTP_FEATURES, DTP_RANK };

typedef struct {
    /* {B, H, S, D}, {B, G, T, D}, {B, G, T, E}: each of G heads of keys serves H / G of queries. */
    val_t *q, *k, *v;
    float scale;
    /* Scores become softcap tanh(score / softcap); 0: they stay. */
    float softcap;
    /* Added to the scores, broadcast to {B, H, S, T}; NULL: nothing. */
    val_t *bias;
    /* Whether a query sees a key, broadcast to {B, H, S, T}; NULL: each sees all. */
    val_t *seen;
    /* A score beside those of the keys, {1, H, 1, 1}, whose share is lost; NULL: none. */
    val_t *sink;
    /* A query that sees no key gets zeros; otherwise it gets NaN. */
    bool zero_unseen;
    /* Results: scores, with softcap, with bias and mask, behind softmax. */
    val_t *kept[4];
} dtp_attend_t;

/* {B, H, S, E} */
val_t *dtp_cv_attend(cv_t *cv, dtp_attend_t *a);
/* Attention of new rows of a state over its cache. */
typedef struct {
    val_t *q, *k, *v;       /* {B, S, H D}, {B, S, G D} */
    val_t *past_k, *past_v; /* {B, G, places, D} */
    val_t *mask;            /* added to the scores, up to {B, H, S, places + S}; NULL: nothing */
    val_t *cosines, *sines; /* of the angles by position; NULL: nothing is turned */
    bool interleaved, is_causal;
    int64_t heads, window; /* keys that a row sees; < 0: all */
    float scale, softcap;
} dtp_attend_cached_t;
enum { DTP_CACHED_RESULTS = 3 };

/* y: {B, S, H D}, and the new rows of keys and values, {B, G, S, D}. The last operator of the node. */
void dtp_cv_attend_cached(cv_t *cv, const dtp_attend_cached_t *a, val_t **y);
/* {B, S, H D} as {B, H, S, D}. */
val_t *dtp_cv_split_heads(cv_t *cv, val_t *x, int64_t heads);
/* {B, H, S, D} as {B, S, H D}; the last operator of the node. */
val_t *dtp_cv_join_heads(cv_t *cv, val_t *x);
/* Turns pairs of the first features of x {B, H, S, D} by angles, of which cosines and sines are
 * {B or 1, S, pairs}. A pair: neighbours, or features that lie half of the turned ones apart. */
val_t *dtp_cv_rotate(cv_t *cv, val_t *x, val_t *cosines, val_t *sines, int64_t turned, bool neighbours);

#endif
