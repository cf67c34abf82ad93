/* Reductions on the device: any plain layouts, in f32, in an order that the shape and the device fix. */
#include "gpu/reduction/reduction.h"

#include "gpu/device/rows.h"

/* Results with fewer elements than SHORT are columns; those of more than WARP_ROW take a block each. Parts have at least so many
 * elements of a row, or of a column. */
enum {
    WARP = 32,
    WARPS = DTP_REDUCTION_THREADS / WARP,
    SHORT = 32,
    WARP_ROW = 1024,
    PART_ROW = 16384,
    PART_COLUMN = 256
};
/* Blocks for each multiprocessor that are enough; parts at most. */
enum { BLOCKS = 4, MAX_PARTS = 1024 };

typedef struct {
    dtp_cu_function_t kernel;
    dtp_gpu_shape_t shape;
} stage_t;

typedef struct {
    dtp_gpu_reduction_args_t args; /* of the one stage, or of the second one; without chain */
    dtp_gpu_post_ops_t po;
    bool columns;
    int64_t chunk, parts;
    stage_t one, two; /* two: only where there are parts */
} plan_t;

static dnnl_tp_status_t reduction_check(const dtp_pd_t *pd) {
    const dtp_reduction_desc_t *d = (const dtp_reduction_desc_t *)pd->op;
    DTP_DISPATCH(!d->exact, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_gpu_takes(d->src.data_type) && d->src.data_type != dnnl_tp_s32, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_gpu_takes(d->dst.data_type), UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(!pd->has_runtime, UNSUPPORTED_RUNTIME_DIMS);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS), UNSUPPORTED_ATTR);
    return dnnl_tp_success;
}

static dtp_reduction_combine_t combine_of(const dtp_reduction_desc_t *d) {
    const bool keeps_nan = d->keeps_nan && !d->exact;
    switch (d->alg) {
    case dnnl_tp_reduction_max: return keeps_nan ? DTP_COMBINE_MAXIMUM : DTP_COMBINE_MAX;
    case dnnl_tp_reduction_min: return keeps_nan ? DTP_COMBINE_MINIMUM : DTP_COMBINE_MIN;
    case dnnl_tp_reduction_mul: return DTP_COMBINE_MUL;
    default: return DTP_COMBINE_SUM;
    }
}

static dtp_reduction_finish_t finish_of(dnnl_tp_alg_kind_t alg) {
    switch (alg) {
    case dnnl_tp_reduction_mean: return DTP_FINISH_MEAN;
    case dnnl_tp_reduction_norm_lp_max: return DTP_FINISH_FLOOR_ROOT;
    case dnnl_tp_reduction_norm_lp_sum: return DTP_FINISH_PLUS_ROOT;
    case dnnl_tp_reduction_norm_lp_power_p_max: return DTP_FINISH_FLOOR;
    case dnnl_tp_reduction_norm_lp_power_p_sum: return DTP_FINISH_PLUS;
    default: return DTP_FINISH_NONE;
    }
}

static dtp_reduction_map_t map_of(const dtp_reduction_desc_t *d) {
    if (d->alg < dnnl_tp_reduction_norm_lp_max) return DTP_MAP_NONE;
    return d->p == 1.f ? DTP_MAP_ABS : d->p == 2.f ? DTP_MAP_SQUARE : DTP_MAP_POWER;
}

dnnl_tp_status_t dtp_gpu_reduction_describe(dtp_gpu_reduction_args_t *a, const dtp_reduction_desc_t *d,
                                            const dtp_gpu_order_t *order) {
    dtp_md_t reduced = d->src;
    for (int i = 0; i < d->src.ndims; ++i)
        if (d->dst.dims[i] == d->src.dims[i]) reduced.dims[i] = 1;
    const dtp_gpu_operand_t kept[] = {{&d->src, a->src.stride}, {&d->dst, a->dst.stride}};
    DTP_TRY(dtp_gpu_walk(&a->kept, &d->dst, order, kept, 2));
    DTP_TRY(dtp_gpu_walk(&a->reduced, &reduced, order, &(dtp_gpu_operand_t){&d->src, a->reduced_step}, 1));
    a->count = a->reduced.n;
    a->p = d->p;
    a->eps = d->eps;
    a->map = map_of(d);
    a->combine = combine_of(d);
    a->finish = finish_of(d->alg);
    a->by_warps = a->reduced.n <= WARP_ROW;
    return dnnl_tp_success;
}

/* Runs of src lie along the dimensions that are reduced, or along those that stay. */
static bool rows_have_runs(const dtp_gpu_reduction_args_t *a) {
    for (int i = 0; i < DTP_GPU_DIMS; ++i)
        if (a->src.stride[i] % DTP_GPU_RUN != 0) return false;
    return a->reduced_step[0] == 1 && dtp_gpu_has_runs(&a->reduced, a->reduced_step, DTP_GPU_RUN);
}
static bool columns_have_runs(plan_t *plan) {
    dtp_gpu_reduction_args_t *a = &plan->args;
    for (int i = 0; i < DTP_GPU_DIMS; ++i)
        if (a->reduced_step[i] % DTP_GPU_RUN != 0) return false;
    const bool runs = dtp_gpu_tensor_runs(&a->src, &a->kept) && dtp_gpu_tensor_runs(&a->dst, &a->kept);
    return runs && a->src.aligned && plan->po.has_runs;
}

static dnnl_tp_status_t choose_rows(const dtp_pd_t *pd, plan_t *plan) {
    const bool power = plan->args.map == DTP_MAP_POWER, runs = rows_have_runs(&plan->args);
    plan->args.src.aligned = runs;
    plan->args.dst.aligned = false;
    plan->one.shape.grid[0] =
        dtp_gpu_grid(plan->args.by_warps ? dtp_div_up(plan->args.kept.n, WARPS) : plan->args.kept.n);
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_reduction,
                          power  ? "dtp_reduction_rows_power"
                          : runs ? "dtp_reduction_rows_runs"
                                 : "dtp_reduction_rows_any",
                          0, &plan->one.kernel);
}

static dnnl_tp_status_t choose_columns(const dtp_pd_t *pd, const plan_t *plan, const char *kernel,
                                       int64_t run, stage_t *stage) {
    stage->shape.grid[0] = dtp_gpu_grid(dtp_div_up(plan->args.kept.n, WARP * run));
    stage->shape.block[0] = DTP_REDUCTION_THREADS;
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_reduction, kernel, 0, &stage->kernel);
}

static dnnl_tp_status_t choose_first_columns(const dtp_pd_t *pd, plan_t *plan) {
    if (plan->args.map == DTP_MAP_POWER)
        return choose_columns(pd, plan, "dtp_reduction_columns_power", 1, &plan->one);
    if (columns_have_runs(plan))
        return choose_columns(pd, plan, "dtp_reduction_columns_runs", DTP_GPU_RUN, &plan->one);
    return choose_columns(pd, plan, "dtp_reduction_columns_any", 1, &plan->one);
}

void dtp_gpu_reduction_cut(const dtp_pd_t *pd, const dtp_gpu_reduction_args_t *a, int64_t blocks,
                           int64_t least, int64_t *chunk, int64_t *parts) {
    const int64_t n = a->reduced.n;
    const int64_t wanted = BLOCKS * (int64_t)dtp_gpu_device(pd)->multiprocessors / dtp_max64(1, blocks);
    const int64_t most = dtp_min64(dtp_min64(wanted, MAX_PARTS), n / least);
    *chunk = dtp_round_up(most > 1 ? dtp_div_up(n, most) : n, DTP_GPU_RUN);
    *parts = n ? dtp_div_up(n, *chunk) : 1;
}

static dnnl_tp_status_t cut(dtp_pd_t *pd, plan_t *plan) {
    dtp_gpu_reduction_cut(pd, &plan->args, plan->one.shape.grid[0], plan->columns ? PART_COLUMN : PART_ROW,
                          &plan->chunk, &plan->parts);
    plan->one.shape.grid[1] = (uint32_t)plan->parts;
    if (plan->parts == 1) return dnnl_tp_success;
    dtp_pd_book(pd, (size_t)(plan->parts * plan->args.kept.n) * sizeof(float), 0);
    return choose_columns(pd, plan, "dtp_reduction_columns_any", 1, &plan->two);
}

static dnnl_tp_status_t reduction_init(dtp_pd_t *pd) {
    dtp_reduction_desc_t *d = (dtp_reduction_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    dtp_gpu_reduction_args_t *a = &plan->args;
    DTP_TRY(reduction_check(pd));
    if (dtp_md_is_any(&d->dst)) dtp_gpu_layout_like(&d->dst, &d->src);
    DTP_DISPATCH(dtp_md_is_plain(&d->src), UNSUPPORTED_LAYOUT);
    const dtp_gpu_order_t order = dtp_gpu_order_of(&d->src);
    DTP_TRY(dtp_gpu_reduction_describe(a, d, &order));
    DTP_TRY(dtp_gpu_post_ops_init(&plan->po, pd, DTP_REDUCTION_DST, &d->dst, &order));
    plan->columns = a->reduced_step[0] != 1 || a->reduced.n < SHORT;
    plan->one.shape.block[0] = DTP_REDUCTION_THREADS;
    if (plan->columns) DTP_TRY(choose_first_columns(pd, plan));
    else DTP_TRY(choose_rows(pd, plan));
    return cut(pd, plan);
}

void dtp_gpu_reduction_join(dtp_gpu_reduction_args_t *a, void *results, dnnl_tp_data_type_t type,
                            int64_t parts) {
    int64_t stride = 1;
    for (int d = 0; d < DTP_GPU_DIMS; ++d) {
        a->src.stride[d] = stride;
        stride *= a->kept.dim[d].size;
    }
    a->src.data = results;
    a->src.type = (int32_t)type;
    a->src.aligned = false;
    a->dst.aligned = false;
    a->map = DTP_MAP_NONE;
    a->reduced = (dtp_gpu_dims_t){.n = parts, .ndims = 1};
    for (int d = 0; d < DTP_GPU_DIMS; ++d) a->reduced.dim[d] = dtp_gpu_dim(d == 0 ? parts : 1);
    a->reduced_step[0] = a->kept.n;
    a->chunk = parts;
}

/* The first stage writes the results of parts, f32, one part behind the other. */
static dnnl_tp_status_t reduce_parts(const dtp_exec_ctx_t *ctx, const plan_t *plan,
                                     dtp_gpu_reduction_args_t *a) {
    dtp_gpu_reduction_args_t parts = *a;
    parts.finish = DTP_FINISH_PART;
    parts.dst.data = ctx->scratch;
    DTP_TRY(dtp_gpu_launch(ctx, plan->one.kernel, &plan->one.shape, &parts));
    dtp_gpu_reduction_join(a, ctx->scratch, dnnl_tp_f32, plan->parts);
    return dtp_gpu_launch(ctx, plan->two.kernel, &plan->two.shape, a);
}

static dnnl_tp_status_t reduction_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_reduction_desc_t *d = (const dtp_reduction_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    dtp_gpu_reduction_args_t a = plan->args;
    a.chain = plan->po.chain;
    a.chunk = plan->chunk;
    dtp_gpu_bind(&a.src, ctx, DTP_REDUCTION_SRC, &d->src);
    dtp_gpu_bind(&a.dst, ctx, DTP_REDUCTION_DST, &d->dst);
    dtp_gpu_post_ops_bind(&a.chain, &plan->po, pd, ctx);
    if (plan->parts > 1) return reduce_parts(ctx, plan, &a);
    return dtp_gpu_launch(ctx, plan->one.kernel, &plan->one.shape, &a);
}

static DTP_GPU_IMPL(reduction_any, "cuda:any", .plan_size = sizeof(plan_t), .pd_init = reduction_init,
                    .execute = reduction_execute);
DTP_GPU_LIST(reduction, &dtp_gpu_reduction_any, &dtp_gpu_reduction_exact);
