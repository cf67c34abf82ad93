/* Steps of LSTM, GRU and RNN on the device: host half. */
#include "common/problems/graph/recurrent.h"

#include "gpu/device/view.h"
#include "gpu/recurrent/recurrent_args.h"

typedef struct {
    dtp_cu_function_t kernel;
    uint32_t shared_bytes;
} plan_t;

static dnnl_tp_status_t recurrent_init(dtp_pd_t *pd) {
    dtp_recurrent_desc_t *d = (dtp_recurrent_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    dtp_md_t *const md[] = {&d->src,  &d->wei, &d->h,      &d->c,     &d->bia,
                            &d->peep, &d->dst, &d->last_h, &d->last_c};
    for (size_t i = 0; i < sizeof md / sizeof *md; ++i) {
        if (dtp_md_is_zero(md[i])) continue;
        if (dtp_md_is_any(md[i])) dtp_md_make_plain(md[i]);
        DTP_DISPATCH(md[i]->data_type == dnnl_tp_f32, UNSUPPORTED_DATA_TYPE);
        DTP_DISPATCH(dtp_md_is_dense_row_major(md[i]), UNSUPPORTED_LAYOUT);
    }
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    enum { ROWS = 3 /* of the state, in shared memory */ };
    const int64_t most = 1 << 20, n = d->dst.dims[2];
    DTP_DISPATCH(n <= most && d->dst.dims[1] <= INT32_MAX, UNSUPPORTED_SHAPE);
    plan->shared_bytes = (uint32_t)(ROWS * (size_t)n * sizeof(float));
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_recurrent, "dtp_recurrent", plan->shared_bytes, &plan->kernel);
}

static dnnl_tp_status_t recurrent_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_recurrent_desc_t *d = (const dtp_recurrent_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    const int64_t *dims = d->dst.dims;
    const dtp_recurrent_args_t a = {.src = ctx->ptr[DTP_RECURRENT_SRC],
                                    .wei = ctx->ptr[DTP_RECURRENT_WEI],
                                    .h = ctx->ptr[DTP_RECURRENT_H],
                                    .c = ctx->ptr[DTP_RECURRENT_C],
                                    .bia = dtp_md_is_zero(&d->bia) ? NULL : ctx->ptr[DTP_RECURRENT_BIA],
                                    .peep = dtp_md_is_zero(&d->peep) ? NULL : ctx->ptr[DTP_RECURRENT_PEEP],
                                    .dst = ctx->ptr[DTP_RECURRENT_DST],
                                    .last_h = ctx->ptr[DTP_RECURRENT_LAST_H],
                                    .last_c = ctx->ptr[DTP_RECURRENT_LAST_C],
                                    .steps = dims[0],
                                    .batch = dims[1],
                                    .n = dims[2],
                                    .is_lstm = d->cell == DTP_CELL_LSTM,
                                    .is_rnn = d->cell == DTP_CELL_RNN,
                                    .reverse = d->reverse};
    if (a.n == 0) return dnnl_tp_success;
    const dtp_gpu_shape_t shape = {{(uint32_t)a.batch}, {DTP_RECURRENT_THREADS}, plan->shared_bytes};
    return dtp_gpu_launch(ctx, plan->kernel, &shape, &a);
}

static DTP_GPU_IMPL(recurrent, "cuda:any", .plan_size = sizeof(plan_t), .pd_init = recurrent_init,
                    .execute = recurrent_execute);
DTP_GPU_LIST(recurrent, &dtp_gpu_recurrent);
