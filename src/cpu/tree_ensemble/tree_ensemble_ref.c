/* Reference of ensembles of trees: one row and one tree after the other, after a check of all indices. */
#include <math.h>

#include "common/base/scalar.h"
#include "common/primitive/data_error.h"
#include "common/primitive/primitive_desc.h"
#include "common/problems/graph/tree_ensemble.h"

static dnnl_tp_status_t tree_ensemble_ref_pd_init(dtp_pd_t *pd) {
    const dtp_tree_ensemble_desc_t *d = (const dtp_tree_ensemble_desc_t *)pd->op;
    DTP_DISPATCH(d->src.data_type == dnnl_tp_f32 || d->src.data_type == dnnl_tp_f64, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_md_is_dense_row_major(&d->src) && dtp_md_is_dense_row_major(&d->dst),
                 UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    pd->checks_data = true;
    dtp_pd_book(pd, (size_t)d->dst.dims[1], 0);
    return dnnl_tp_success;
}

typedef struct {
    const dtp_tree_ensemble_desc_t *d;
    dnnl_tp_data_type_t type;
    const void *src, *splits, *weights;
    const int32_t *nodes, *leaves, *targets;
    void *dst;
    uint8_t *seen; /* targets that have an entry in this row */
} job_t;

static int64_t walk(const job_t *j, int64_t row, int32_t i, int32_t steps) {
    for (int32_t s = 0; s < steps; ++s) {
        const int32_t *node = &j->nodes[2 * i];
        const double x = dtp_load(j->type, j->src, row * j->d->src.dims[1] + (node[0] & DTP_TREES_FEATURE));
        const bool first = islessequal(x, dtp_load(j->type, j->splits, i)) || (isnan(x) && node[0] < 0);
        i = node[1] + !first;
    }
    return i;
}

static void add(const job_t *j, int64_t row, int64_t e) {
    const int64_t target = j->targets[e], to = row * j->d->dst.dims[1] + target;
    const double w = dtp_load(j->type, j->weights, e), y = dtp_load(j->type, j->dst, to);
    double sum = w;
    if (j->seen[target])
        sum = j->d->aggregate == DTP_TREES_MIN   ? (w < y ? w : y)
              : j->d->aggregate == DTP_TREES_MAX ? (w > y ? w : y)
                                                 : w + y;
    j->seen[target] = 1;
    dtp_store(j->type, j->dst, to, sum);
}

static dnnl_tp_status_t tree_ensemble_ref_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_tree_ensemble_desc_t *d = (const dtp_tree_ensemble_desc_t *)pd->op;
    const int32_t *roots = ctx->ptr[DTP_TREES_ROOTS];
    const int64_t rows = ctx->rows >= 0 ? ctx->rows : d->src.dims[0], k = d->dst.dims[1],
                  trees = d->roots.dims[0];
    const job_t j = {d,
                     d->src.data_type,
                     ctx->ptr[DTP_TREES_SRC],
                     ctx->ptr[DTP_TREES_SPLITS],
                     ctx->ptr[DTP_TREES_WEIGHTS],
                     ctx->ptr[DTP_TREES_NODES],
                     ctx->ptr[DTP_TREES_LEAVES],
                     ctx->ptr[DTP_TREES_TARGETS],
                     ctx->ptr[DTP_TREES_DST],
                     (uint8_t *)ctx->scratch};
    dtp_trees_bad_t bad;
    bool fits = true;
    if (!d->is_checked) fits = dtp_trees_check(d, j.nodes, roots, j.leaves, j.targets, &bad);
    if (!fits) DTP_TRY(dtp_data_wrong(ctx, DTP_DATA_ID, bad.at, bad.value, bad.limit));
    memset(j.dst, 0, (size_t)(rows * k) * dtp_type_size(j.type));
    for (int64_t r = 0; fits && r < rows; ++r) {
        memset(j.seen, 0, (size_t)k);
        for (int64_t t = 0; t < trees; ++t) {
            const int64_t i = walk(&j, r, roots[2 * t], roots[2 * t + 1]);
            for (int64_t e = j.leaves[i]; e < j.leaves[i + 1]; ++e) add(&j, r, e);
        }
        for (int64_t c = 0; d->aggregate == DTP_TREES_AVERAGE && c < k; ++c)
            dtp_store(j.type, j.dst, r * k + c, dtp_load(j.type, j.dst, r * k + c) / (double)trees);
    }
    return dnnl_tp_success;
}

DTP_CPU_REFERENCE(tree_ensemble, DTP_IMPL_ROWS, .pd_init = tree_ensemble_ref_pd_init,
                  .execute = tree_ensemble_ref_execute);
