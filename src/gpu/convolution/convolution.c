/* Convolutions and transposed convolutions on the device: host half. Channels innermost is the layout of `any`; weights of
 * `any` have outputs innermost. */
#include "common/problems/deconvolution.h"

#include <stdio.h>

#include "gpu/convolution/convolution_args.h"
#include "gpu/device/post_ops.h"
#include "gpu/device/space.h"

typedef struct {
    dtp_convolution_args_t args; /* without pointers */
    dtp_gpu_post_ops_t po;
    dtp_cu_function_t kernel;
    int64_t threads;
} plan_t;

/* {N, spatial, C}; weights: {G, spatial, I, O}. */
static void resolve(dtp_md_t *md, bool is_weights, int grouped) {
    dtp_gpu_order_t order = {.n = 0};
    if (!dtp_md_is_any(md)) return;
    if (!is_weights || grouped) order.dim[order.n++] = 0;
    const int channel = is_weights ? grouped + 1 : 1;
    for (int d = channel + 1; d < md->ndims; ++d) order.dim[order.n++] = d;
    order.dim[order.n++] = channel;
    if (is_weights) order.dim[order.n++] = grouped;
    dtp_gpu_make_dense(md, &order);
}

typedef enum { TILE, ANY, EXACT } kernel_t;

/* A type of the tensors of this kernel. */
static bool takes(kernel_t kernel, dnnl_tp_data_type_t dt) {
    if (kernel == EXACT) return dt == dnnl_tp_f64 || dt == dnnl_tp_s64 || dt == dnnl_tp_s32;
    return dt == dnnl_tp_f32 || dt == dnnl_tp_bf16 || dt == dnnl_tp_f16;
}

static dnnl_tp_status_t check(dtp_pd_t *pd, dtp_convolution_desc_t *d, bool transposed, kernel_t kernel) {
    dtp_md_t *const md[] = {&d->src, &d->wei, &d->bia, &d->dst};
    DTP_DISPATCH(transposed || dtp_conv_take_direct(d), UNSUPPORTED_ALG);
    for (int i = 0; i < DTP_CONV_NARGS; ++i) {
        if (dtp_md_is_zero(md[i])) continue;
        DTP_DISPATCH(takes(kernel, md[i]->data_type) &&
                         (kernel != EXACT || md[i]->data_type == d->src.data_type),
                     UNSUPPORTED_DATA_TYPE);
        if (i == DTP_CONV_BIA && dtp_md_is_any(md[i])) dtp_md_make_plain(md[i]);
        resolve(md[i], i == DTP_CONV_WEI, dtp_conv_grouped(d));
        DTP_DISPATCH(dtp_md_is_plain(md[i]), UNSUPPORTED_LAYOUT);
    }
    DTP_DISPATCH(!pd->has_runtime, UNSUPPORTED_RUNTIME_DIMS);
    DTP_DISPATCH(dtp_attr_only(pd->attr, kernel == EXACT ? 0 : DTP_ATTR_POST_OPS), UNSUPPORTED_ATTR);
    DTP_DISPATCH(d->dst.dims[1] <= INT32_MAX / 2 && d->src.dims[1] <= INT32_MAX / 2, UNSUPPORTED_SHAPE);
    return dnnl_tp_success;
}

static dnnl_tp_status_t describe(dtp_convolution_args_t *a, const dtp_convolution_desc_t *d,
                                 bool transposed) {
    const int grouped = dtp_conv_grouped(d);
    const int64_t *wei = d->wei.strides;
    for (int i = 0; i < DTP_SPACE_DIMS; ++i) {
        const int s = i - (DTP_SPACE_DIMS - d->nspatial);
        const dtp_window_t w = dtp_conv_window(d, i);
        DTP_TRY(dtp_gpu_window_init(&a->window[i], &w, s < 0 ? 0 : d->src.strides[2 + s]));
        a->wei_step[i] = s < 0 ? 0 : wei[2 + grouped + s];
    }
    a->transposed = transposed;
    a->src_image = d->src.strides[0];
    a->src_channel = d->src.strides[1];
    a->wei_group = grouped ? wei[0] : 0;
    a->wei_out = wei[grouped];
    a->wei_in = wei[grouped + 1];
    a->groups = (int32_t)dtp_conv_groups(d);
    a->oc = (int32_t)(d->dst.dims[1] / a->groups);
    a->ic = (int32_t)(d->src.dims[1] / a->groups);
    a->src_type = (int32_t)d->src.data_type;
    a->wei_type = (int32_t)d->wei.data_type;
    a->dst_type = (int32_t)d->dst.data_type;
    if (!dtp_md_is_zero(&d->bia)) {
        a->bia_type = (int32_t)d->bia.data_type;
        a->bia_step = d->bia.strides[0];
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t init(dtp_pd_t *pd, kernel_t kernel) {
    dtp_convolution_desc_t *d = (dtp_convolution_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    dtp_convolution_args_t *a = &plan->args;
    const bool transposed = d->base.kind == dnnl_tp_deconvolution;
    DTP_TRY(check(pd, d, transposed, kernel));
    DTP_TRY(describe(a, d, transposed));
    const dtp_gpu_order_t order = kernel == TILE ? dtp_gpu_order_logical(&d->dst) : dtp_gpu_order_of(&d->dst);
    DTP_TRY(dtp_gpu_space_init(&a->walk, &d->dst, &order));
    DTP_TRY(dtp_gpu_post_ops_init(&plan->po, pd, DTP_CONV_DST, &d->dst, &order));
    plan->threads = a->walk.dims.n;
    if (kernel != TILE) {
        char name[32] = "dtp_convolution_any";
        if (kernel == EXACT)
            (void)snprintf(name, sizeof name, "dtp_convolution_exact_%s", dnnl_tp_dt2str(d->src.data_type));
        return dtp_gpu_kernel(pd, DTP_GPU_MODULE_convolution, name, 0, &plan->kernel);
    }
    /* A tile of fewer channels than this is mostly empty. */
    enum { FEW = DTP_CONV_SIDE / 8 };
    DTP_DISPATCH(a->oc >= FEW, UNSUPPORTED_SHAPE);
    a->pixels.n = 1;
    a->pixels.ndims = DTP_SPACE_DIMS + 1;
    for (int i = 0; i < DTP_GPU_DIMS; ++i) {
        const int dim = i < d->nspatial ? d->dst.ndims - 1 - i : i == DTP_SPACE_DIMS ? 0 : -1;
        a->pixels.dim[i] = dtp_gpu_dim(dim < 0 ? 1 : d->dst.dims[dim]);
        a->pixels.n *= a->pixels.dim[i].size;
        if (i <= DTP_SPACE_DIMS) a->dst_step[i] = dim < 0 ? 0 : d->dst.strides[dim];
    }
    a->pixels.wide = a->pixels.n > INT32_MAX;
    a->dst_channel = d->dst.strides[1];
    const int64_t tiles_m = dtp_div_up(a->pixels.n, DTP_CONV_SIDE),
                  tiles_n = dtp_div_up(a->oc, DTP_CONV_SIDE), most = INT32_MAX / a->groups;
    DTP_DISPATCH(tiles_m <= most && tiles_m * tiles_n <= most, UNSUPPORTED_SHAPE);
    a->tiles_m = (int32_t)tiles_m;
    a->tiles_n = (int32_t)tiles_n;
    plan->threads = tiles_m * tiles_n * a->groups * DTP_CONV_THREADS;
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_convolution, "dtp_convolution_tile", 0, &plan->kernel);
}
static dnnl_tp_status_t tile_init(dtp_pd_t *pd) { return init(pd, TILE); }
static dnnl_tp_status_t any_init(dtp_pd_t *pd) { return init(pd, ANY); }
static dnnl_tp_status_t exact_init(dtp_pd_t *pd) { return init(pd, EXACT); }

static dnnl_tp_status_t execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_convolution_desc_t *d = (const dtp_convolution_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    dtp_convolution_args_t a = plan->args;
    a.src = dtp_gpu_data(ctx, DTP_CONV_SRC, &d->src);
    a.wei = dtp_gpu_data(ctx, DTP_CONV_WEI, &d->wei);
    a.dst = dtp_gpu_data(ctx, DTP_CONV_DST, &d->dst);
    if (!dtp_md_is_zero(&d->bia)) a.bia = dtp_gpu_data(ctx, DTP_CONV_BIA, &d->bia);
    a.chain = plan->po.chain;
    dtp_gpu_post_ops_bind(&a.chain, &plan->po, pd, ctx);
    return dtp_gpu_launch_threads(ctx, plan->kernel, plan->threads, DTP_CONV_THREADS, &a);
}

static DTP_GPU_IMPL(convolution_tile, "cuda:tile", .plan_size = sizeof(plan_t), .pd_init = tile_init,
                    .execute = execute);
static DTP_GPU_IMPL(convolution_any, "cuda:any", .plan_size = sizeof(plan_t), .pd_init = any_init,
                    .execute = execute);
static DTP_GPU_IMPL(convolution_exact, "cuda:exact", .plan_size = sizeof(plan_t), .pd_init = exact_init,
                    .execute = execute);
DTP_GPU_LIST(convolution, &dtp_gpu_convolution_tile, &dtp_gpu_convolution_any, &dtp_gpu_convolution_exact);
DTP_GPU_LIST(deconvolution, &dtp_gpu_convolution_tile, &dtp_gpu_convolution_any, &dtp_gpu_convolution_exact);
