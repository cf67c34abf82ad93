/* Ensembles of trees on the device: host half. As many rows at once as the scratch for their leaves holds. */
#include "common/problems/graph/tree_ensemble.h"

#include "gpu/device/view.h"
#include "gpu/tree_ensemble/tree_ensemble_args.h"

_Static_assert((int)DTP_TREES_SUM == (int)DTP_TREES_BY_SUM &&
                   (int)DTP_TREES_AVERAGE == (int)DTP_TREES_BY_AVERAGE &&
                   (int)DTP_TREES_MIN == (int)DTP_TREES_BY_MIN && (int)DTP_TREES_MAX == (int)DTP_TREES_BY_MAX,
               "one numbering on both sides");

typedef struct {
    dtp_tree_ensemble_args_t args;      /* without pointers and rows */
    dtp_cu_function_t check, walk, add; /* check: NULL: tables are checked */
    int64_t block;                      /* rows of one launch */
} plan_t;

enum {
    FLAG_BYTES = 256,   /* of scratch, before the leaves */
    THREADS_EACH = 2048 /* of a multiprocessor */
};

static dnnl_tp_status_t tree_ensemble_init(dtp_pd_t *pd) {
    const dtp_tree_ensemble_desc_t *d = (const dtp_tree_ensemble_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    dtp_tree_ensemble_args_t *a = &plan->args;
    const bool wide = d->src.data_type == dnnl_tp_f64;
    DTP_DISPATCH(wide || d->src.data_type == dnnl_tp_f32, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_md_is_dense_row_major(&d->src) && dtp_md_is_dense_row_major(&d->dst),
                 UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    a->features = d->src.dims[1];
    a->ntargets = d->dst.dims[1];
    a->trees = d->roots.dims[0];
    a->nnodes = d->nodes.dims[0];
    a->nentries = d->targets.dims[0];
    a->aggregate = d->aggregate;
    /* As many leaves are kept as the device has threads. */
    const int64_t kept = (int64_t)dtp_gpu_device(pd)->multiprocessors * THREADS_EACH,
                  most = INT32_MAX - DTP_TREES_THREADS, rows = d->src.dims[0];
    DTP_DISPATCH(a->trees <= most && a->nnodes < most && a->nentries < most && a->ntargets <= most,
                 UNSUPPORTED_SHAPE);
    plan->block = dtp_max64(dtp_min64(rows, kept / dtp_max64(a->trees, 1)), 1);
    plan->block = dtp_min64(plan->block, most / dtp_max64(a->ntargets, 1));
    dtp_pd_book(pd, FLAG_BYTES + sizeof(int32_t) * (size_t)(plan->block * a->trees), 0);
    const dtp_gpu_module_t module = DTP_GPU_MODULE_tree_ensemble;
    pd->checks_data = !d->is_checked;
    if (!d->is_checked) DTP_TRY(dtp_gpu_kernel(pd, module, "dtp_trees_check", 0, &plan->check));
    DTP_TRY(dtp_gpu_kernel(pd, module, wide ? "dtp_trees_walk_f64" : "dtp_trees_walk_f32", 0, &plan->walk));
    return dtp_gpu_kernel(pd, module, wide ? "dtp_trees_add_f64" : "dtp_trees_add_f32", 0, &plan->add);
}

static dnnl_tp_status_t tree_ensemble_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_tree_ensemble_desc_t *d = (const dtp_tree_ensemble_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    const int64_t rows = ctx->rows >= 0 ? ctx->rows : d->src.dims[0];
    dtp_tree_ensemble_args_t a = plan->args;
    a.src = dtp_gpu_data(ctx, DTP_TREES_SRC, &d->src);
    a.nodes = dtp_gpu_data(ctx, DTP_TREES_NODES, &d->nodes);
    a.roots = dtp_gpu_data(ctx, DTP_TREES_ROOTS, &d->roots);
    a.leaves = dtp_gpu_data(ctx, DTP_TREES_LEAVES, &d->leaves);
    a.targets = dtp_gpu_data(ctx, DTP_TREES_TARGETS, &d->targets);
    a.splits = dtp_gpu_data(ctx, DTP_TREES_SPLITS, &d->splits);
    a.weights = dtp_gpu_data(ctx, DTP_TREES_WEIGHTS, &d->weights);
    a.dst = dtp_gpu_data(ctx, DTP_TREES_DST, &d->dst);
    a.reached = (int32_t *)(void *)(ctx->scratch + FLAG_BYTES);
    a.note = dtp_gpu_note(ctx);
    if (plan->check) {
        a.bad = (int32_t *)(void *)ctx->scratch;
        DTP_TRY(
            dtp_gpu_launch_threads(ctx, plan->check, DTP_TREES_CHECK_THREADS, DTP_TREES_CHECK_THREADS, &a));
    }
    for (; a.first < rows; a.first += a.rows) {
        a.rows = dtp_min64(plan->block, rows - a.first);
        DTP_TRY(dtp_gpu_launch_threads(ctx, plan->walk, a.rows * a.trees, DTP_TREES_THREADS, &a));
        DTP_TRY(dtp_gpu_launch_threads(ctx, plan->add, a.rows * a.ntargets, DTP_TREES_THREADS, &a));
    }
    return dnnl_tp_success;
}

static DTP_GPU_IMPL(tree_ensemble, "cuda:rows", .flags = DTP_IMPL_ROWS, .plan_size = sizeof(plan_t),
                    .pd_init = tree_ensemble_init, .execute = tree_ensemble_execute);
DTP_GPU_LIST(tree_ensemble, &dtp_gpu_tree_ensemble);
