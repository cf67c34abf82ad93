/* Sums of the leaves that rows reach in decision trees (graphs only): the problem and its arguments. */
#ifndef DTP_COMMON_PROBLEMS_TREE_ENSEMBLE_H
#define DTP_COMMON_PROBLEMS_TREE_ENSEMBLE_H

#include "common/primitive/op_desc.h"

typedef enum {
    DTP_TREES_SUM,
    DTP_TREES_AVERAGE,
    DTP_TREES_MIN,
    DTP_TREES_MAX
} dtp_trees_aggregate_t; /* in the order of the words of exec/ops/elements/tree_ensemble.c */

/* Row r begins in tree t at node i = roots[t][0] and takes roots[t][1] steps: with x = src[r][f],
 * f = nodes[i][0] without its highest bit, to i = nodes[i][1] if x <= splits[i], otherwise to
 * nodes[i][1] + 1. NaN goes to nodes[i][1] if the highest bit of nodes[i][0] is set. A leaf is a
 * node that all rows leave for itself: its split is NaN, its nodes[i][1] is i - 1, and the bit is
 * not set. The entries leaves[i]..leaves[i + 1] - 1 of the node that is reached are added to
 * (averaged in, ...) dst[r][targets[e]] as weights[e], tree by tree. A result without an entry is 0.
 *
 * An index outside its table: runtime_error, reason GRAPH_INDEX.
 *
 * Checked tables are constants in which no index is outside, children and targets of jumps (splits
 * that are NaN) come after their node, and each row is at a leaf after its steps: more steps change
 * nothing. */
typedef struct {
    dtp_op_desc_t base;
    int aggregate; /* dtp_trees_aggregate_t */
    int is_checked;
    /* Of checked tables: there is one target, and each leaf has one entry. */
    int is_single;
    /* Of checked tables: NaN goes to nodes[i][1] somewhere. */
    int tracks_nan;
    /* {rows, features}, f32 or f64, as are splits, weights and dst. */
    dtp_md_t src;
    /* s32: {n, 2}, {trees, 2}, {n + 1}, {entries}. */
    dtp_md_t nodes, roots, leaves, targets;
    dtp_md_t splits, weights; /* {n}, {entries} */
    dtp_md_t dst;             /* {rows, targets} */
} dtp_tree_ensemble_desc_t;
enum {
    DTP_TREES_SRC,
    DTP_TREES_NODES,
    DTP_TREES_ROOTS,
    DTP_TREES_LEAVES,
    DTP_TREES_TARGETS,
    DTP_TREES_SPLITS,
    DTP_TREES_WEIGHTS,
    DTP_TREES_DST,
    DTP_TREES_NARGS
};

enum { DTP_TREES_FEATURE = 0x7fffffff };

/* An index outside its table: which of how many, and its value. */
typedef struct {
    int64_t at, value, limit;
} dtp_trees_bad_t;
/* Whether all indices are inside; otherwise *bad is the first one that is not. */
bool dtp_trees_check(const dtp_tree_ensemble_desc_t *d, const int32_t *nodes, const int32_t *roots,
                     const int32_t *leaves, const int32_t *targets, dtp_trees_bad_t *bad);

#endif
