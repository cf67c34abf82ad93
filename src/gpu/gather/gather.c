/* Gather of rows on the device: host half. */
#include "common/problems/graph/gather.h"

#include "gpu/device/post_ops.h"
#include "gpu/gather/gather_args.h"

enum { THREADS = 256 };

typedef struct {
    dtp_gather_args_t args; /* without pointers */
    dtp_cu_function_t kernel;
} plan_t;

static dnnl_tp_status_t check(dtp_pd_t *pd, dtp_gather_desc_t *d) {
    if (dtp_md_is_any(&d->dst)) dtp_md_make_plain(&d->dst);
    DTP_DISPATCH(dtp_gpu_takes(d->table.data_type) && dtp_gpu_takes(d->dst.data_type), UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(d->ids.data_type == dnnl_tp_s32 || d->ids.data_type == dnnl_tp_s64, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(!pd->has_runtime, UNSUPPORTED_RUNTIME_DIMS);
    DTP_DISPATCH(d->table.ndims == 2 && d->ids.ndims == 1 && d->dst.ndims == 2, UNSUPPORTED_SHAPE);
    DTP_DISPATCH(d->dst.dims[0] == d->ids.dims[0] && d->dst.dims[1] == d->table.dims[1], UNSUPPORTED_SHAPE);
    DTP_DISPATCH(dtp_md_is_plain(&d->table) && dtp_md_is_plain(&d->ids) && dtp_md_is_plain(&d->dst) &&
                     d->table.strides[1] == 1 && d->dst.strides[1] == 1,
                 UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS), UNSUPPORTED_ATTR);
    return dnnl_tp_success;
}

static dnnl_tp_status_t init_sum(dtp_gather_args_t *a, const dtp_post_ops_t *po) {
    DTP_DISPATCH(po->len <= 1, UNSUPPORTED_POST_OPS);
    if (po->len == 0) return dnnl_tp_success;
    const dtp_post_op_t *e = &po->entry[0];
    DTP_DISPATCH(e->kind == dnnl_tp_sum && e->zero_point == 0 &&
                     (e->sum_dt == dnnl_tp_data_type_undef || (int32_t)e->sum_dt == a->dst_type),
                 UNSUPPORTED_POST_OPS);
    a->adds = 1;
    a->old_scale = e->scale;
    return dnnl_tp_success;
}

static dnnl_tp_status_t gather_init(dtp_pd_t *pd) {
    dtp_gather_desc_t *d = (dtp_gather_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    dtp_gather_args_t *a = &plan->args;
    DTP_TRY(check(pd, d));
    a->table_type = (int32_t)d->table.data_type;
    a->dst_type = (int32_t)d->dst.data_type;
    DTP_TRY(init_sum(a, pd->attr->post_ops));
    /* As f32, bits pass as they are. */
    if (a->table_type == dnnl_tp_s32 && a->dst_type == dnnl_tp_s32 && !a->adds)
        a->table_type = a->dst_type = dnnl_tp_f32;
    const int64_t pieces = dtp_div_up(d->dst.dims[1], DTP_GPU_RUN);
    DTP_DISPATCH(d->ids.dims[0] <= INT32_MAX && pieces <= INT32_MAX && d->ids.dims[0] * pieces <= INT32_MAX,
                 UNSUPPORTED_SHAPE);
    a->n = (int32_t)d->ids.dims[0];
    a->h = (int32_t)d->dst.dims[1];
    a->rows = d->table.dims[0];
    a->ld_table = d->table.strides[0];
    a->ld_dst = d->dst.strides[0];
    a->id_stride = d->ids.strides[0];
    a->ids_are_s64 = d->ids.data_type == dnnl_tp_s64;
    a->table_aligned = a->ld_table % DTP_GPU_RUN == 0;
    a->dst_aligned = a->ld_dst % DTP_GPU_RUN == 0;
    a->pieces = dtp_gpu_dim(pieces);
    pd->checks_data = true;
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_gather, "dtp_gather_rows", 0, &plan->kernel);
}

static int32_t aligned(const void *data, int32_t type) {
    return dtp_gpu_is_aligned(data, DTP_GPU_RUN * dtp_type_size((dnnl_tp_data_type_t)type));
}

static dnnl_tp_status_t gather_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_gather_desc_t *d = (const dtp_gather_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    dtp_gather_args_t a = plan->args;
    if (ctx->rows >= 0) a.n = (int32_t)ctx->rows;
    a.table = dtp_gpu_data(ctx, DTP_GATHER_TABLE, &d->table);
    a.ids = dtp_gpu_data(ctx, DTP_GATHER_IDS, &d->ids);
    a.dst = dtp_gpu_data(ctx, DTP_GATHER_DST, &d->dst);
    a.table_aligned &= aligned(a.table, a.table_type);
    a.dst_aligned &= aligned(a.dst, a.dst_type);
    a.note = dtp_gpu_note(ctx);
    return dtp_gpu_launch_threads(ctx, plan->kernel, (int64_t)a.n * a.pieces.size, THREADS, &a);
}

static DTP_GPU_IMPL(gather, "cuda:rows", .flags = DTP_IMPL_ROWS, .plan_size = sizeof(plan_t),
                    .pd_init = gather_init, .execute = gather_execute);
DTP_GPU_LIST(gather, &dtp_gpu_gather);
