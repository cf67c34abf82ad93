/* Attention per head on the device: host half. */
#include "common/problems/graph/attention.h"

#include <stdio.h>

#include "gpu/attention/attention_args.h"
#include "gpu/device/post_ops.h"

typedef struct {
    dtp_attention_args_t args; /* without pointers */
    dtp_cu_function_t kernel;
    uint32_t shared_bytes;
} plan_t;

/* {B, S, H} or {T, H} with a dense last dim. */
static bool takes_layout(const dtp_md_t *md, dnnl_tp_data_type_t dt, int nd, int64_t *batch, int64_t *ld) {
    if (md->ndims != nd || md->data_type != dt || !dtp_md_is_plain(md) || md->strides[nd - 1] != 1)
        return false;
    *batch = nd == 3 ? md->strides[0] : 0;
    *ld = md->strides[nd - 2];
    return true;
}

static dnnl_tp_status_t init_tensors(dtp_attention_args_t *a, const dtp_pd_t *pd, dtp_attention_desc_t *d) {
    const dnnl_tp_data_type_t dt = d->q.data_type;
    const int nd = d->q.ndims;
    DTP_DISPATCH(dt == dnnl_tp_f32 || dt == dnnl_tp_bf16 || dt == dnnl_tp_f16, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(!pd->has_runtime, UNSUPPORTED_RUNTIME_DIMS);
    DTP_DISPATCH(nd == 2 || nd == 3, UNSUPPORTED_SHAPE);
    if (dtp_md_is_any(&d->dst)) dtp_md_make_plain(&d->dst);
    DTP_DISPATCH(takes_layout(&d->q, dt, nd, &a->batch_q, &a->ldq) &&
                     takes_layout(&d->k, dt, nd, &a->batch_k, &a->ldk) &&
                     takes_layout(&d->v, dt, nd, &a->batch_v, &a->ldv) &&
                     takes_layout(&d->dst, dt, nd, &a->batch_dst, &a->ld_dst),
                 UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    const int64_t hidden = d->q.dims[nd - 1];
    DTP_DISPATCH(d->heads > 0 && hidden % d->heads == 0 && d->k.dims[nd - 1] == hidden &&
                     d->v.dims[nd - 1] == hidden,
                 UNSUPPORTED_SHAPE);
    DTP_DISPATCH(d->v.dims[nd - 2] == d->k.dims[nd - 2] && dtp_md_same_dims(&d->q, &d->dst),
                 UNSUPPORTED_SHAPE);
    DTP_DISPATCH(nd == 2 || (d->k.dims[0] == d->q.dims[0] && d->v.dims[0] == d->q.dims[0]),
                 UNSUPPORTED_SHAPE);
    DTP_DISPATCH(d->q.dims[nd - 2] <= INT32_MAX / 2 && d->k.dims[nd - 2] <= INT32_MAX / 2, UNSUPPORTED_SHAPE);
    a->type = (int32_t)dt;
    a->scale = d->scale;
    a->heads = d->heads;
    a->d = (int32_t)(hidden / d->heads);
    a->sq = (int32_t)d->q.dims[nd - 2];
    a->sk = (int32_t)d->k.dims[nd - 2];
    return dnnl_tp_success;
}

static dnnl_tp_status_t init_sequences(dtp_attention_args_t *a, dtp_pd_t *pd, const dtp_attention_desc_t *d) {
    const int nd = d->q.ndims;
    int64_t n = nd == 3 ? d->q.dims[0] : 1;
    a->groups = (int32_t)dtp_div_up(a->sq, DTP_ATTENTION_QUERIES);
    int64_t blocks = n * a->groups;
    if (!dtp_md_is_zero(&d->offsets)) {
        DTP_DISPATCH(nd == 2 && d->k.dims[0] == d->q.dims[0] && dtp_md_is_zero(&d->mask), UNSUPPORTED_SHAPE);
        DTP_DISPATCH(d->offsets.data_type == dnnl_tp_s32 && dtp_md_is_dense_row_major(&d->offsets),
                     UNSUPPORTED_LAYOUT);
        n = dtp_max64(0, d->offsets.dims[0] - 1);
        blocks = a->groups + n; /* every sequence may end in a group of its own */
        pd->checks_data = true;
    }
    DTP_DISPATCH(blocks <= INT32_MAX / a->heads, UNSUPPORTED_SHAPE);
    if (!dtp_md_is_zero(&d->mask)) {
        DTP_DISPATCH(d->mask.data_type == dnnl_tp_f32 && dtp_md_is_plain(&d->mask), UNSUPPORTED_LAYOUT);
        DTP_DISPATCH(nd == 3 && d->mask.ndims == 2 && d->mask.dims[0] == n && d->mask.dims[1] == a->sk,
                     UNSUPPORTED_SHAPE);
        a->mask_batch = d->mask.strides[0];
        a->mask_row = d->mask.strides[1];
    }
    a->n = (int32_t)n;
    return dnnl_tp_success;
}

static dnnl_tp_status_t init(dtp_pd_t *pd) {
    dtp_attention_desc_t *d = (dtp_attention_desc_t *)pd->op;
    dtp_attention_args_t *a = &((plan_t *)pd->plan)->args;
    DTP_TRY(init_tensors(a, pd, d));
    return init_sequences(a, pd, d);
}

/* Rows of each tensor begin at a multiple of n elements, if the tensor does. */
static bool rows_are_wide(const dtp_attention_args_t *a, int64_t n) {
    const int64_t all =
        a->batch_q | a->batch_k | a->batch_v | a->batch_dst | a->ldq | a->ldk | a->ldv | a->ld_dst;
    return (all | a->d) % n == 0;
}

enum { MOST = 128 }; /* columns of a head that kernels with tiles take */

/* The kernel <stem>_32, <stem>_64 or <stem>_128 for heads of d columns; its number. */
static int size_of(int d) { return d <= 32 ? 32 : d <= 64 ? 64 : MOST; }
static dnnl_tp_status_t sized_kernel(const dtp_pd_t *pd, plan_t *plan, const char *stem,
                                     size_t shared_bytes) {
    char name[32];
    (void)snprintf(name, sizeof name, "%s_%d", stem, size_of(plan->args.d));
    plan->shared_bytes = (uint32_t)shared_bytes;
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_attention, name, shared_bytes, &plan->kernel);
}

enum { WIDE = 16 }; /* bytes that kernels move at once */

static dnnl_tp_status_t attention_mma_init(dtp_pd_t *pd) {
    plan_t *plan = pd->plan;
    dtp_attention_args_t *a = &plan->args;
    DTP_TRY(init(pd));
    DTP_DISPATCH(a->type != dnnl_tp_f32 || dtp_gpu_allows_tf32(pd), UNSUPPORTED_DATA_TYPE);
    const bool tf32 = a->type == dnnl_tp_f32;
    const size_t size = tf32 ? sizeof(float) : sizeof(uint16_t), most = (size_t)size_of(a->d);
    DTP_DISPATCH(a->d <= MOST && (tf32 || a->d % (WIDE / (int)size) == 0), UNSUPPORTED_SHAPE);
    a->wide = rows_are_wide(a, WIDE / (int)size);
    return tf32 ? sized_kernel(pd, plan, "dtp_attention_tf32",
                               2 * DTP_ATTENTION_KEYS * (most + DTP_ATTENTION_PAD) * size)
                : sized_kernel(pd, plan, "dtp_attention_mma", 2 * DTP_ATTENTION_KEYS * most * size);
}

static dnnl_tp_status_t attention_tile_init(dtp_pd_t *pd) {
    plan_t *plan = pd->plan;
    dtp_attention_args_t *a = &plan->args;
    DTP_TRY(init(pd));
    DTP_DISPATCH(a->type == dnnl_tp_f32, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(a->d <= MOST, UNSUPPORTED_SHAPE);
    a->wide = rows_are_wide(a, WIDE / (int)sizeof(float));
    return sized_kernel(pd, plan, "dtp_attention_tile",
                        (size_t)DTP_ATTENTION_TILE_FLOATS(size_of(a->d)) * sizeof(float));
}

static dnnl_tp_status_t attention_any_init(dtp_pd_t *pd) {
    plan_t *plan = pd->plan;
    DTP_TRY(init(pd));
    DTP_DISPATCH(plan->args.d <= DTP_ATTENTION_MOST_D, UNSUPPORTED_SHAPE);
    plan->args.wide = rows_are_wide(&plan->args, DTP_GPU_RUN);
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_attention, "dtp_attention_any", 0, &plan->kernel);
}

static dnnl_tp_status_t attention_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_attention_desc_t *d = (const dtp_attention_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    dtp_attention_args_t a = plan->args;
    if (ctx->rows >= 0) a.n = (int32_t)ctx->rows;
    a.q = dtp_gpu_data(ctx, DTP_ATTENTION_Q, &d->q);
    a.k = dtp_gpu_data(ctx, DTP_ATTENTION_K, &d->k);
    a.v = dtp_gpu_data(ctx, DTP_ATTENTION_V, &d->v);
    a.dst = dtp_gpu_data(ctx, DTP_ATTENTION_DST, &d->dst);
    if (!dtp_md_is_zero(&d->mask)) a.mask = dtp_gpu_data(ctx, DTP_ATTENTION_MASK, &d->mask);
    if (!dtp_md_is_zero(&d->offsets)) a.offsets = dtp_gpu_data(ctx, DTP_ATTENTION_OFFSETS, &d->offsets);
    a.wide = a.wide && dtp_gpu_is_aligned(a.q, WIDE) && dtp_gpu_is_aligned(a.k, WIDE) &&
             dtp_gpu_is_aligned(a.v, WIDE) && dtp_gpu_is_aligned(a.dst, WIDE);
    a.note = dtp_gpu_note(ctx);
    const int64_t groups = a.offsets ? a.groups + a.n : (int64_t)a.groups * a.n;
    const dtp_gpu_shape_t shape = {
        {(uint32_t)(groups * a.heads)}, {DTP_ATTENTION_THREADS}, plan->shared_bytes};
    return dtp_gpu_launch(ctx, plan->kernel, &shape, &a);
}

static DTP_GPU_IMPL(attention_mma, "cuda:mma", .flags = DTP_IMPL_ROWS, .plan_size = sizeof(plan_t),
                    .pd_init = attention_mma_init, .execute = attention_execute);
static DTP_GPU_IMPL(attention_tile, "cuda:tile", .flags = DTP_IMPL_ROWS, .plan_size = sizeof(plan_t),
                    .pd_init = attention_tile_init, .execute = attention_execute);
static DTP_GPU_IMPL(attention_any, "cuda:any", .flags = DTP_IMPL_ROWS, .plan_size = sizeof(plan_t),
                    .pd_init = attention_any_init, .execute = attention_execute);
DTP_GPU_LIST(attention, &dtp_gpu_attention_mma, &dtp_gpu_attention_tile, &dtp_gpu_attention_any);
