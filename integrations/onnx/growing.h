/* Imports for states (state.c): the past of some inputs is a cache with a capacity, of which a run takes a length.
 *
 * The model is imported as if the past had `capacity` rows. A result must not depend on that number, only on the length
 * that a run gives: converters that know caches compute with the length, and every value of the graph is judged by
 * comparing this import with one of another capacity. What differs between the two, and is not one of the things below,
 * spoils what is computed from it.
 *
 *   CLEAN    does not depend on the capacity
 *   PLACES   has an axis as long as the cache and the new rows; an element is a function of its place there (masks)
 *   PAST     a cache itself
 *   KEYS     a cache with the new rows behind its length: only attention may read it, and the compiler refuses others
 *   SCORES   products of queries and KEYS, masked, or their softmax */
#ifndef DTP_ONNX_GROWING_H
#define DTP_ONNX_GROWING_H

#include "onnx/context.h"

/* An input of the model that holds the past and the output that holds what it becomes. */
typedef struct {
    int input, output;
    int columns; /* 1: {.., features, rows}; 0: {.., rows, features} */
    int stacked; /* 1: keys and values behind each other, {2, B, G, rows, D}, so the batch is dimension 1; 0: it is 0 */
} dtp_pair_t;

typedef enum { DTP_SPOILT, DTP_CLEAN, DTP_PLACES, DTP_PAST, DTP_KEYS, DTP_SCORES } dtp_judged_t;

/* Dimensions of a past of keys and values in one tensor: {2, B, G, places, D}. */
enum { DTP_STACKED_PAST = 5 };
/* The order of dimensions of a past: {.., places, features}, or {.., features, places}. */
typedef enum { DTP_NO_PAST, DTP_PAST_ROWS, DTP_PAST_COLUMNS } dtp_past_t;

/* A value of the graph. */
typedef struct {
    dnnl_tp_tensor_info_t info;
    uint8_t judged;
} dtp_grown_value_t;

/* An operator or a constant, in the order of the import. */
typedef struct {
    int kind; /* -1: a constant; -2: elements are taken */
    int first, nin, nout;
    uint64_t hash;    /* of the attributes and the inputs' numbers, of the elements, or of their positions */
    const void *data; /* of a constant; of elements that are taken: not NULL if they are the first ones */
} dtp_grown_event_t;

typedef struct dtp_growing {
    int npairs;
    const dtp_pair_t *pairs;
    /* Rows of the past, and keys with the new rows. */
    int64_t capacity, total;
    /* Numbers of keys that nodes get have been looked at with a smaller capacity. */
    bool trusts_totals;
    /* The import to compare with; NULL: this one only takes notes. */
    const struct dtp_growing *other;
    /* Filled by the import. Rows of the past of each of the batch, s32 {B}; an input behind the model's. */
    val_t *lengths;
    dtp_import_memory_t memory;
    dtp_grown_event_t *events;
    dtp_grown_value_t *values;
    int nevents, events_room, nvalues, values_room;
    bool differs;
    /* The first node whose result depends on the capacity in a way that is none of these; NULL: there is none. */
    const node_proto_t *spoiler;
    /* Most keys that a run may have, because a table of positions ends there; 0: any number. The last such table, and what
     * it means (ops/meant.h); NULL: no mask by position. */
    int64_t most;
    const val_t *table;
    const struct dtp_meant *table_seen;
} dtp_growing_t;

/* The import's, or NULL. */
dtp_growing_t *dtp_growing(const import_t *im);
/* Behind the inputs of the main graph. */
dnnl_tp_status_t dtp_growing_begin(import_t *im, const scope_t *s);
void dtp_growing_constant(cv_t *cv, const val_t *x);
void dtp_growing_op(cv_t *cv, int kind, int nin, val_t *const *in, int nattr, const dnnl_tp_op_attr_t *attr,
                    int nout, val_t *const *out);
dtp_judged_t dtp_growing_judged(const dtp_growing_t *g, dnnl_tp_value_t v);

/* ---- For converters -------------------------------------------------------------------------------------- */

/* x has the elements of a past in their order, or a part of them one after the other. */
val_t *dtp_growing_kept(cv_t *cv, val_t *x);
/* Keys (0) or values (1) of a past {2, B, G, places, D}. */
val_t *dtp_growing_half(cv_t *cv, val_t *past, int half);
/* Whether an input is the past of a cache, {B, G, places, D}. */
bool dtp_cv_is_past(const cv_t *cv, int input);
/* Elements of known ones are taken at positions that these bytes tell, and that must not depend on the capacity; is_prefix:
 * they are the first ones, as many as there are keys. */
void dtp_growing_select(cv_t *cv, const void *where, size_t bytes, bool is_prefix);
/* What a cache becomes by new rows {B, G, S, D}, or {2, B, G, S, D} of both halves; nothing but attention can read it. */
val_t *dtp_cv_grown(cv_t *cv, const val_t *past, val_t *rows);

#endif
