/* Ensembles of trees: tables. The problem is made by exec/ops/elements/tree_ensemble.c. */
#include "common/problems/graph/tree_ensemble.h"

static const dtp_field_t tree_ensemble_fields[] = {
    DTP_FIELD(dtp_tree_ensemble_desc_t, aggregate, S32),
    DTP_FIELD(dtp_tree_ensemble_desc_t, is_checked, S32),
    DTP_FIELD(dtp_tree_ensemble_desc_t, is_single, S32),
    DTP_FIELD(dtp_tree_ensemble_desc_t, tracks_nan, S32),
    DTP_INPUT(dtp_tree_ensemble_desc_t, src, DNNL_TP_ARG_SRC_0),
    DTP_INPUT(dtp_tree_ensemble_desc_t, nodes, DNNL_TP_ARG_WEIGHTS_0),
    DTP_INPUT(dtp_tree_ensemble_desc_t, roots, DNNL_TP_ARG_WEIGHTS_1),
    DTP_INPUT(dtp_tree_ensemble_desc_t, leaves, DNNL_TP_ARG_WEIGHTS_2),
    DTP_INPUT(dtp_tree_ensemble_desc_t, targets, DNNL_TP_ARG_WEIGHTS_3),
    DTP_INPUT(dtp_tree_ensemble_desc_t, splits, DNNL_TP_ARG_SHIFT),
    DTP_INPUT(dtp_tree_ensemble_desc_t, weights, DNNL_TP_ARG_SCALE),
    DTP_OUTPUT(dtp_tree_ensemble_desc_t, dst, DNNL_TP_ARG_DST)};

/* The steps of a row depend on the trees; about ten are usual. */
static void tree_ensemble_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work) {
    enum { STEPS = 10 };
    (void)op;
    work->flops =
        (double)arg[DTP_TREES_SRC].md->dims[0] * (double)arg[DTP_TREES_ROOTS].md->dims[0] * STEPS * 2;
}
DTP_KIND_INFO(tree_ensemble, -1, NULL, tree_ensemble_work);

static bool is_outside(int64_t at, int64_t value, int64_t limit, dtp_trees_bad_t *bad) {
    if (value >= 0 && value < limit) return false;
    *bad = (dtp_trees_bad_t){at, value, limit};
    return true;
}

bool dtp_trees_check(const dtp_tree_ensemble_desc_t *d, const int32_t *nodes, const int32_t *roots,
                     const int32_t *leaves, const int32_t *targets, dtp_trees_bad_t *bad) {
    const int64_t n = d->nodes.dims[0], ntrees = d->roots.dims[0], nentries = d->targets.dims[0];
    for (int64_t i = 0; i < n; ++i)
        if (is_outside(i, nodes[2 * i] & DTP_TREES_FEATURE, d->src.dims[1], bad) ||
            is_outside(i, nodes[2 * i + 1], n - 1, bad))
            return false;
    for (int64_t t = 0; t < ntrees; ++t)
        if (is_outside(t, roots[2 * t], n, bad) || is_outside(t, roots[2 * t + 1], INT32_MAX, bad))
            return false;
    for (int64_t i = 0; i <= n; ++i)
        if (is_outside(i, leaves[i], nentries + 1, bad) ||
            (i > 0 && is_outside(i, leaves[i] - leaves[i - 1], nentries + 1, bad)))
            return false;
    for (int64_t e = 0; e < nentries; ++e)
        if (is_outside(e, targets[e], d->dst.dims[1], bad)) return false;
    return true;
}
