/* Ensembles of trees with checked tables. Lanes that go side by side are rows in one tree; where there are few rows, they are
 * rows in several trees, whose leaves are kept, so that threads share the trees. Either way a result is the sum of its trees in
 * their order: it depends neither on threads nor on the rows beside it. */
#include "common/primitive/primitive_desc.h"
#include "common/problems/graph/tree_ensemble.h"
#include "threading/base/parallel.h"

enum { DTP_TREES_LANES = 8 };

typedef struct {
    void (*walk)(const void *const *rows, const int32_t *nodes, const void *splits, int32_t *at,
                 int32_t steps, bool masks, bool nans);
    bool (*has_nan)(const void *src, int64_t n);
    void (*add_one)(void *dst, int64_t ld, int n, const int32_t *at, const int32_t *leaves,
                    const void *weights);
    void (*add)(void *dst, int32_t at, const int32_t *leaves, const int32_t *targets, const void *weights,
                int aggregate, uint8_t *seen);
    void (*divide)(void *dst, int64_t n, int64_t trees);
} trees_functions_t;

#define TREES(name) name##_f32
#define ELEMENT float
#include "cpu/tree_ensemble/tree_ensemble_kern.inc"
#define TREES(name) name##_f64
#define ELEMENT double
#include "cpu/tree_ensemble/tree_ensemble_kern.inc"

enum {
    FEW_ROWS = 32,  /* of which leaves are kept */
    MOST_ROWS = 128 /* of a block: a tree stays in the first cache for them */
};

typedef struct {
    const trees_functions_t *fn;
    int64_t rows, features, trees, targets, size;
    int64_t block; /* rows of one item */
    int64_t grain, few_grain;
    bool is_single, tracks_nan, has_seen;
} plan_t;

static dnnl_tp_status_t tree_ensemble_init(dtp_pd_t *pd) {
    const dtp_tree_ensemble_desc_t *d = (const dtp_tree_ensemble_desc_t *)pd->op;
    plan_t *p = pd->plan;
    DTP_DISPATCH(d->src.data_type == dnnl_tp_f32 || d->src.data_type == dnnl_tp_f64, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_md_is_dense_row_major(&d->src) && dtp_md_is_dense_row_major(&d->dst),
                 UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    DTP_DISPATCH(d->is_checked, UNSUPPORTED_SHAPE);
    p->fn = d->src.data_type == dnnl_tp_f32 ? &functions_f32 : &functions_f64;
    p->size = (int64_t)dtp_type_size(d->src.data_type);
    p->rows = d->src.dims[0];
    p->features = d->src.dims[1];
    p->trees = d->roots.dims[0];
    p->targets = d->dst.dims[1];
    p->has_seen = d->aggregate == DTP_TREES_MIN || d->aggregate == DTP_TREES_MAX;
    p->is_single = d->is_single && !p->has_seen;
    p->tracks_nan = d->tracks_nan;
    const int64_t each = dtp_div_up(p->rows, 4 * (int64_t)pd->num_threads);
    p->block = dtp_max64(DTP_TREES_LANES, dtp_min64(MOST_ROWS, dtp_round_up(each, DTP_TREES_LANES)));
    const double tree_ns = 12; /* of a row */
    p->grain = dtp_grain(tree_ns * (double)(p->block * p->trees));
    p->few_grain = dtp_grain(tree_ns * DTP_TREES_LANES);
    const size_t leaves = p->rows <= FEW_ROWS ? sizeof(int32_t) * (size_t)(p->rows * p->trees) : 0;
    dtp_pd_book(pd, leaves, p->has_seen ? (size_t)(MOST_ROWS * p->targets) : 0);
    return dnnl_tp_success;
}

typedef struct {
    dtp_job_t job;
    const plan_t *p;
    int64_t rows;
    const char *src, *splits, *weights;
    const int32_t *nodes, *roots, *leaves, *targets;
    char *dst;
    int32_t *kept; /* leaves of few rows: {trees, rows} */
    bool nans;
} trees_job_t;

/* Adds what lanes have reached in a tree: n rows from `first` on. */
static void add_rows(const trees_job_t *j, int64_t first, int n, const int32_t *at, uint8_t *seen) {
    const plan_t *p = j->p;
    char *dst = j->dst + first * p->targets * p->size;
    if (p->is_single) {
        p->fn->add_one(dst, 1, n, at, j->leaves, j->weights);
        return;
    }
    const int aggregate = ((const dtp_tree_ensemble_desc_t *)j->job.pd->op)->aggregate;
    for (int l = 0; l < n; ++l)
        p->fn->add(dst + l * p->targets * p->size, at[l], j->leaves, j->targets, j->weights, aggregate,
                   seen ? seen + l * p->targets : NULL);
}

static void finish_rows(const trees_job_t *j, int64_t first, int64_t n) {
    const plan_t *p = j->p;
    const dtp_tree_ensemble_desc_t *d = (const dtp_tree_ensemble_desc_t *)j->job.pd->op;
    if (d->aggregate == DTP_TREES_AVERAGE)
        p->fn->divide(j->dst + first * p->targets * p->size, n * p->targets, p->trees);
}

static uint8_t *begin_rows(const trees_job_t *j, int slot, int64_t first, int64_t n) {
    const plan_t *p = j->p;
    memset(j->dst + first * p->targets * p->size, 0, (size_t)(n * p->targets * p->size));
    if (!p->has_seen) return NULL;
    uint8_t *seen = (uint8_t *)dtp_scratch_slot(j->job.pd, j->job.ctx, slot);
    memset(seen, 0, (size_t)(n * p->targets));
    return seen;
}

/* Blocks of rows through all trees. */
static void row_blocks(void *arg, int slot, int64_t begin, int64_t end) {
    const trees_job_t *j = arg;
    const plan_t *p = j->p;
    for (int64_t b = begin; b < end; ++b) {
        const int64_t first = b * p->block, n = dtp_min64(p->block, j->rows - first);
        const char *src = j->src + first * p->features * p->size;
        uint8_t *seen = begin_rows(j, slot, first, n);
        const bool nans = p->tracks_nan && p->fn->has_nan(src, n * p->features);
        for (int64_t t = 0; t < p->trees; ++t)
            for (int64_t r = 0; r < n; r += DTP_TREES_LANES) {
                const int lanes = (int)dtp_min64(DTP_TREES_LANES, n - r);
                const void *rows[DTP_TREES_LANES];
                int32_t at[DTP_TREES_LANES];
                for (int l = 0; l < DTP_TREES_LANES; ++l) {
                    rows[l] = src + (r + (l < lanes ? l : 0)) * p->features * p->size;
                    at[l] = j->roots[2 * t];
                }
                p->fn->walk(rows, j->nodes, j->splits, at, j->roots[2 * t + 1], p->tracks_nan, nans);
                add_rows(j, first + r, lanes, at, seen ? seen + r * p->targets : NULL);
            }
        finish_rows(j, first, n);
    }
}

/* Items are DTP_TREES_LANES pairs of a tree and a row each. */
static void few_rows(void *arg, int slot, int64_t begin, int64_t end) {
    const trees_job_t *j = arg;
    const plan_t *p = j->p;
    const int64_t pairs = p->trees * j->rows;
    (void)slot;
    int64_t tree = begin * DTP_TREES_LANES / j->rows, row = begin * DTP_TREES_LANES % j->rows;
    for (int64_t i = begin; i < end; ++i) {
        const int lanes = (int)dtp_min64(DTP_TREES_LANES, pairs - i * DTP_TREES_LANES);
        const void *rows[DTP_TREES_LANES] = {NULL};
        int32_t at[DTP_TREES_LANES] = {0}, steps = 0;
        for (int l = 0; l < DTP_TREES_LANES; ++l) {
            if (l >= lanes) { /* as the first lane */
                rows[l] = rows[0];
                at[l] = at[0];
                continue;
            }
            rows[l] = j->src + row * p->features * p->size;
            at[l] = j->roots[2 * tree];
            if (j->roots[2 * tree + 1] > steps) steps = j->roots[2 * tree + 1];
            if (++row == j->rows) {
                row = 0;
                ++tree;
            }
        }
        p->fn->walk(rows, j->nodes, j->splits, at, steps, p->tracks_nan, j->nans);
        memcpy(j->kept + i * DTP_TREES_LANES, at, sizeof *at * (size_t)lanes);
    }
}

static dnnl_tp_status_t tree_ensemble_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const plan_t *p = pd->plan;
    trees_job_t j = {{pd, ctx},
                     p,
                     ctx->rows >= 0 ? ctx->rows : p->rows,
                     ctx->ptr[DTP_TREES_SRC],
                     ctx->ptr[DTP_TREES_SPLITS],
                     ctx->ptr[DTP_TREES_WEIGHTS],
                     ctx->ptr[DTP_TREES_NODES],
                     ctx->ptr[DTP_TREES_ROOTS],
                     ctx->ptr[DTP_TREES_LEAVES],
                     ctx->ptr[DTP_TREES_TARGETS],
                     ctx->ptr[DTP_TREES_DST],
                     (int32_t *)(void *)ctx->scratch,
                     false};
    if (p->rows > FEW_ROWS) {
        dtp_parallel_for(ctx->par, dtp_div_up(j.rows, p->block), p->grain, row_blocks, &j);
        return dnnl_tp_success;
    }
    if (!j.rows) return dnnl_tp_success;
    j.nans = p->tracks_nan && p->fn->has_nan(j.src, j.rows * p->features);
    dtp_parallel_for(ctx->par, dtp_div_up(j.rows * p->trees, DTP_TREES_LANES), p->few_grain, few_rows, &j);
    uint8_t *seen = begin_rows(&j, 0, 0, j.rows);
    for (int64_t t = 0; t < p->trees; ++t) add_rows(&j, 0, (int)j.rows, j.kept + t * j.rows, seen);
    finish_rows(&j, 0, j.rows);
    return dnnl_tp_success;
}

DTP_CPU_IMPL(tree_ensemble__any, "lanes:any", 0, .flags = DTP_IMPL_ROWS, .plan_size = sizeof(plan_t),
             .pd_init = tree_ensemble_init, .execute = tree_ensemble_execute);
