/* Arguments of the kernels of ensembles of trees; included by both halves. */
#ifndef DTP_GPU_TREE_ENSEMBLE_TREE_ENSEMBLE_ARGS_H
#define DTP_GPU_TREE_ENSEMBLE_TREE_ENSEMBLE_ARGS_H

#include "gpu/device/finding.h"

/* How entries are put together; the values of dtp_trees_aggregate_t. */
enum { DTP_TREES_BY_SUM, DTP_TREES_BY_AVERAGE, DTP_TREES_BY_MIN, DTP_TREES_BY_MAX };
enum { DTP_TREES_THREADS = 256, DTP_TREES_CHECK_THREADS = 512 };

typedef struct {
    const void *src, *splits, *weights; /* f32 or f64, as dst */
    const int32_t *nodes, *roots, *leaves, *targets;
    void *dst;
    int32_t *bad;        /* not 0: an index is outside its table; NULL: tables are checked */
    int32_t *reached;    /* {trees, rows}: the nodes at which rows end */
    int64_t first, rows; /* of this launch */
    int64_t features, ntargets, trees, nnodes, nentries;
    int32_t aggregate, unused;
    dtp_gpu_note_t note;
} dtp_tree_ensemble_args_t;

#endif
