/* Decision trees as files describe them, and the tables of the operator tree_ensemble. */
#ifndef DTP_ONNX_OPS_ML_FOREST_H
#define DTP_ONNX_OPS_ML_FOREST_H

#include "onnx/ops/ops.h"

/* Numbered as attribute nodes_modes of TreeEnsemble. */
typedef enum {
    FOREST_LEQ,
    FOREST_LT,
    FOREST_GTE,
    FOREST_GT,
    FOREST_EQ,
    FOREST_NEQ,
    FOREST_MEMBER,
    FOREST_LEAF
} forest_mode_t;

typedef struct {
    forest_mode_t mode;
    /* NaN takes the true branch. */
    bool missing;
    int64_t feature;
    double split;
    /* Nodes. */
    int64_t yes, no;
    /* MEMBER: the set. LEAF: its entries in order; for both: first and number. */
    int64_t first, count;
} forest_node_t;

/* Its arrays are in the memory of the import. */
typedef struct {
    int64_t n, ntrees, nmembers, nentries, ntargets;
    forest_node_t *nodes;
    int64_t *roots;
    /* Of MEMBER nodes, those of a node in ascending order. */
    double *members;
    /* Of leaves. */
    int64_t *targets;
    double *weights;
} forest_t;

typedef enum { FOREST_SUM, FOREST_AVERAGE, FOREST_MIN, FOREST_MAX } forest_aggregate_t;

/* The results of the trees for x {rows, features} of f32 or f64: {rows, targets}. *scored: NULL if
 * every row has an entry for every target, otherwise 1 where it has one and 0 elsewhere. Refuses
 * nodes that form a cycle, and indices that are out of range. */
val_t *dtp_forest_scores(cv_t *cv, val_t *x, const forest_t *forest, forest_aggregate_t aggregate,
                         val_t **scored);

#endif
