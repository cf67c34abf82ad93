/* Attention that a model writes as products, in an import for a state (growing.h): Concat of a past with new rows, a
 * product with queries, scales, masks, Softmax, a product with values. Nodes on the way give tensors that have no value in
 * the graph: what they mean is noted here, and the last product becomes one operator. Whatever else reads such a tensor
 * fails the import, and the model runs with the past as an input. */
#ifndef DTP_ONNX_OPS_MEANT_H
#define DTP_ONNX_OPS_MEANT_H

#include "onnx/growing.h"

typedef enum {
    DTP_MEANS_CACHE, /* a past, or keys and values with the new rows behind it, in some order of dimensions */
    DTP_MEANS_SCORES, /* products of queries with such keys, scaled and masked */
    DTP_MEANS_SHARES, /* their softmax */
    DTP_MEANS_SEEN /* {.., rows, keys}: one number for the keys that a row sees by its position, another for the rest */
} dtp_means_t;

/* What a dimension of a cache is. HALVES: keys and values behind each other; REPEATS: heads that share keys. */
enum {
    DTP_OF_HALVES,
    DTP_OF_BATCH,
    DTP_OF_GROUPS,
    DTP_OF_PLACES,
    DTP_OF_FEATURES,
    DTP_OF_ONE,
    DTP_OF_REPEATS
};
enum { DTP_MEANT_DIMS = 6 };

typedef struct dtp_meant {
    dtp_means_t kind;
    /* What the elements, or the scores, are multiplied with. */
    double factor;
    /* Of a cache. rows: {B, G, S, D}, or {2, B, G, S, D} of both halves; NULL: it is the past alone. */
    val_t *past, *rows;
    int half; /* of a past with both halves; 0 of others, -1: both */
    int64_t repeats;
    uint8_t dim[DTP_MEANT_DIMS];
    /* Of scores and shares. bias: added, NULL: nothing. */
    val_t *q, *bias;
    const struct dtp_meant *keys, *seen; /* seen: NULL: by positions a row sees all keys */
    double cap;                          /* scores are cap tanh(factor product); 0: they are factor product */
    /* Of SEEN: elements of keys that a row sees, and of the others. A row sees its own key and those before it, of which
     * `window` are the last ones; < 0: all. */
    double shown, hidden;
    int64_t window;
    bool rows_are_cut, keys_are_cut; /* from a table of all positions */
} dtp_meant_t;

/* A tensor that means this. */
val_t *dtp_cv_meant(cv_t *cv, const dtp_meant_t *m, dnnl_tp_data_type_t type, int ndims, const int64_t *dims);
static inline const dtp_meant_t *dtp_meant_as(const val_t *x, dtp_means_t kind) {
    return x && x->meant && x->meant->kind == kind ? x->meant : NULL;
}
/* The only element of a tensor that is known and has no more dimensions than `of`. */
bool dtp_meant_number(const val_t *x, const val_t *of, double *number);
/* Whether what is added to, or comes in the place of, a score makes its share 0. */
static inline bool dtp_meant_hides(double number) { return number <= -1e30; }

/* Converts the node if it is a part of attention. False: the converter may run. */
bool dtp_cv_attends(cv_t *cv);
/* ---- causal.c: nodes that make or change masks by position; false: this node does not ------------------ */
bool dtp_causal_slice(cv_t *cv);
bool dtp_causal_concat(cv_t *cv);
bool dtp_causal_binary(cv_t *cv);
bool dtp_causal_where(cv_t *cv);
bool dtp_causal_cast(cv_t *cv);
bool dtp_causal_not(cv_t *cv);
bool dtp_causal_unsqueeze(cv_t *cv);
bool dtp_causal_expand(cv_t *cv);

#endif
