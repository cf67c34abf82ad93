/* Layer and root-mean-square normalization on the device: any plain layouts, in f32. */
#include "common/problems/norms/layer_normalization.h"

#include "gpu/device/rows.h"
#include "gpu/layer_norm/layer_norm_args.h"

enum { VALUES_ALIGNMENT = 16 };

typedef struct {
    dtp_gpu_rows_t rows;
    dtp_gpu_post_ops_t po;
    int64_t stat_stride[DTP_GPU_DIMS];
    uint32_t flags;              /* DTP_LAYER_NORM_* */
    dtp_cu_function_t held, any; /* held: rows in registers, or NULL */
    dtp_gpu_shape_t held_shape, any_shape;
} plan_t;

static uint32_t flags_of(const dtp_layer_norm_desc_t *d) {
    const bool global = d->flags & dnnl_tp_use_global_stats;
    return (d->flags & dnnl_tp_rms_norm ? DTP_LAYER_NORM_RMS : 0u) | (global ? DTP_LAYER_NORM_GLOBAL : 0u) |
           (!global && d->prop == dnnl_tp_forward_training ? DTP_LAYER_NORM_KEEP : 0u);
}

static dnnl_tp_status_t layer_norm_init(dtp_pd_t *pd) {
    dtp_layer_norm_desc_t *d = (dtp_layer_norm_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    dtp_gpu_order_t order;
    DTP_DISPATCH(dtp_gpu_takes(d->src.data_type) && dtp_gpu_takes(d->dst.data_type), UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(!pd->has_runtime, UNSUPPORTED_RUNTIME_DIMS);
    if (dtp_md_is_any(&d->dst)) dtp_md_copy_layout(&d->dst, &d->src);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS | DTP_ATTR_SCALES), UNSUPPORTED_ATTR);
    DTP_TRY(dtp_gpu_scale_init(pd, DNNL_TP_ARG_SRC));
    DTP_TRY(dtp_gpu_scale_init(pd, DNNL_TP_ARG_DST));
    DTP_TRY(dtp_gpu_rows_init(&plan->rows, &order, &d->src, &d->dst, d->src.ndims - 1,
                              (dtp_gpu_operand_t){&d->stat, plan->stat_stride}));
    DTP_TRY(dtp_gpu_post_ops_init(&plan->po, pd, DTP_LNORM_DST, &d->dst, &order));
    plan->flags = flags_of(d);
    const bool runs = dtp_gpu_rows_have_runs(&plan->rows, &plan->po);
    dtp_gpu_rows_share(pd, &plan->rows, runs, &plan->any_shape);
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_layer_norm,
                          runs ? "dtp_layer_norm_rows" : "dtp_layer_norm_rows_any", 0, &plan->any);
}

static dnnl_tp_status_t layer_norm_rows_init(dtp_pd_t *pd) {
    const dtp_layer_norm_desc_t *d = (const dtp_layer_norm_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    DTP_TRY(layer_norm_init(pd));
    return dtp_gpu_rows_hold(pd, &plan->rows, &plan->po, DTP_GPU_MODULE_layer_norm, "dtp_layer_norm_held",
                             &d->src, &d->dst, &plan->held, &plan->held_shape);
}

/* Scale or shift. */
static dtp_gpu_layer_norm_values_t values_of(const dtp_exec_ctx_t *ctx, int arg, const dtp_md_t *md) {
    if (dtp_md_is_zero(md)) return (dtp_gpu_layer_norm_values_t){NULL, 0, 0};
    const void *data = dtp_gpu_data(ctx, arg, md);
    return (dtp_gpu_layer_norm_values_t){data, (int32_t)md->data_type,
                                         dtp_gpu_is_aligned(data, VALUES_ALIGNMENT)};
}

static dnnl_tp_status_t layer_norm_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_layer_norm_desc_t *d = (const dtp_layer_norm_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    const bool stat = plan->flags & (DTP_LAYER_NORM_GLOBAL | DTP_LAYER_NORM_KEEP);
    const bool mean = stat && !(plan->flags & DTP_LAYER_NORM_RMS);
    dtp_gpu_layer_norm_args_t a = {.rows = plan->rows,
                                   .mean = mean ? dtp_gpu_data(ctx, DTP_LNORM_MEAN, &d->stat) : NULL,
                                   .variance = stat ? dtp_gpu_data(ctx, DTP_LNORM_VARIANCE, &d->stat) : NULL,
                                   .scale = values_of(ctx, DTP_LNORM_SCALE, &d->scale),
                                   .shift = values_of(ctx, DTP_LNORM_SHIFT, &d->shift),
                                   .epsilon = d->epsilon,
                                   .flags = plan->flags,
                                   .src_scale = dtp_gpu_scale(pd, ctx, DNNL_TP_ARG_SRC),
                                   .dst_scale = dtp_gpu_scale(pd, ctx, DNNL_TP_ARG_DST),
                                   .chain = plan->po.chain};
    memcpy(a.stat_stride, plan->stat_stride, sizeof a.stat_stride);
    dtp_gpu_bind(&a.rows.src, ctx, DTP_LNORM_SRC, &d->src);
    dtp_gpu_bind(&a.rows.dst, ctx, DTP_LNORM_DST, &d->dst);
    dtp_gpu_post_ops_bind(&a.chain, &plan->po, pd, ctx);
    const bool held = plan->held && dtp_gpu_rows_are_aligned(&a.rows);
    return dtp_gpu_launch(ctx, held ? plan->held : plan->any, held ? &plan->held_shape : &plan->any_shape,
                          &a);
}

static DTP_GPU_IMPL(layer_norm_rows, "cuda:rows", .plan_size = sizeof(plan_t),
                    .pd_init = layer_norm_rows_init, .execute = layer_norm_execute);
static DTP_GPU_IMPL(layer_norm_any, "cuda:any", .plan_size = sizeof(plan_t), .pd_init = layer_norm_init,
                    .execute = layer_norm_execute);
DTP_GPU_LIST(layer_normalization, &dtp_gpu_layer_norm_rows, &dtp_gpu_layer_norm_any);
