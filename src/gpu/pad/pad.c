/* Tensors with a value around them, or repeated, on the device: host half. */
#include "common/problems/graph/pad.h"

#include <stdio.h>

#include "gpu/device/view.h"
#include "gpu/pad/pad_args.h"

enum { THREADS = 256 };

typedef struct {
    dtp_pad_args_t args; /* without pointers */
    dtp_cu_function_t kernel;
} plan_t;

static bool is_changed(const dtp_pad_desc_t *d, int i) {
    return d->before[i] || d->behind[i] || d->times[i] != 1;
}

/* The dimensions, innermost first. */
static dnnl_tp_status_t join(dtp_pad_args_t *a, const dtp_pad_desc_t *d) {
    int64_t size[DTP_GPU_DIMS], stride = 1;
    bool changes = true; /* the dimension before, which others join if nothing changes it */
    int n = 0;
    for (int i = d->ndims - 1; i >= 0; --i) {
        const bool joins =
            n > 0 && !changes && !is_changed(d, i) && size[n - 1] * d->dst.dims[i] <= INT32_MAX;
        changes = is_changed(d, i);
        DTP_DISPATCH(d->dst.dims[i] <= INT32_MAX, UNSUPPORTED_SHAPE);
        if (joins) {
            size[n - 1] *= d->dst.dims[i];
            a->n[n - 1] = (int32_t)size[n - 1];
        } else {
            DTP_DISPATCH(n < DTP_GPU_DIMS, UNSUPPORTED_SHAPE);
            size[n] = d->dst.dims[i];
            a->before[n] = (int32_t)d->before[i];
            a->n[n] = (int32_t)d->src.dims[i];
            a->times[n] = (int32_t)d->times[i];
            a->stride[n++] = stride;
        }
        stride *= d->src.dims[i];
    }
    a->dims.ndims = n;
    a->dims.n = 1;
    for (int i = 0; i < DTP_GPU_DIMS; ++i) {
        a->dims.dim[i] = dtp_gpu_dim(i < n ? size[i] : 1);
        a->dims.n *= i < n ? size[i] : 1;
    }
    a->dims.wide = a->dims.n > INT32_MAX;
    return dnnl_tp_success;
}

static dnnl_tp_status_t pad_init(dtp_pd_t *pd) {
    const dtp_pad_desc_t *d = (const dtp_pad_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    const size_t size = dtp_type_size(d->src.data_type);
    DTP_DISPATCH(d->src.data_type == d->dst.data_type && (size == 1 || size == 2 || size == 4 || size == 8),
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_md_is_dense_row_major(&d->src) && dtp_md_is_dense_row_major(&d->dst),
                 UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    DTP_TRY(join(&plan->args, d));
    plan->args.value = (uint64_t)d->value;
    char name[16];
    (void)snprintf(name, sizeof name, "dtp_pad_%d", (int)size);
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_pad, name, 0, &plan->kernel);
}

static dnnl_tp_status_t pad_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_pad_desc_t *d = (const dtp_pad_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    dtp_pad_args_t a = plan->args;
    a.src = dtp_gpu_data(ctx, DTP_PAD_SRC, &d->src);
    a.dst = dtp_gpu_data(ctx, DTP_PAD_DST, &d->dst);
    return dtp_gpu_launch_threads(ctx, plan->kernel, a.dims.n, THREADS, &a);
}

static DTP_GPU_IMPL(pad, "cuda:any", .plan_size = sizeof(plan_t), .pd_init = pad_init,
                    .execute = pad_execute);
DTP_GPU_LIST(pad, &dtp_gpu_pad);
