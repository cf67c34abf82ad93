/* Concat on the device: host half. Sources whose rows are runs of dst's rows are copied together, others one by one. */
#include "common/problems/concat.h"

#include <stdio.h>

#include "gpu/concat/concat_args.h"
#include "gpu/reorder/move.h"

enum { THREADS = 256, WIDEST = 16, WIDTHS = 5 /* 1, 2, 4, 8, 16 bytes */, MOST_SOURCES = 112 };

static dnnl_tp_status_t check(dtp_pd_t *pd) {
    dtp_concat_desc_t *d = (dtp_concat_desc_t *)pd->op;
    DTP_DISPATCH(!pd->has_runtime, UNSUPPORTED_RUNTIME_DIMS);
    for (int i = 0; i < d->n; ++i) DTP_DISPATCH(dtp_md_is_plain(&d->src[i]), UNSUPPORTED_LAYOUT);
    if (dtp_md_is_any(&d->dst)) {
        const dtp_gpu_order_t order = dtp_gpu_order_of(&d->src[0]);
        dtp_gpu_make_dense(&d->dst, &order);
    }
    DTP_DISPATCH(dtp_md_is_plain(&d->dst), UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_SCALES), UNSUPPORTED_ATTR);
    for (int i = 0; i < pd->attr->n_scales; ++i)
        DTP_DISPATCH(pd->attr->scales[i].mask == 0 && pd->attr->scales[i].group_ndims == 0,
                     UNSUPPORTED_SCALES);
    return dnnl_tp_success;
}

/* ---- Together ----------------------------------------------------------------------------------------- */

typedef struct {
    dtp_concat_args_t args[2];        /* in elements; of a launch each */
    dtp_cu_function_t kernel[WIDTHS]; /* NULL: lengths are no multiple of it */
    int64_t longest[2];               /* elements of the largest source of a launch */
    int launches;
} runs_t;
_Static_assert(MOST_SOURCES <= 2 * DTP_CONCAT_BATCH, "launches");

/* Elements of a row that dimensions `order`[at..] make, and from one row to the next; false: they do not lie behind each other. */
static bool rows_of(const dtp_md_t *md, const dtp_gpu_order_t *order, int at, int64_t *run, int64_t *pitch) {
    *run = 1;
    for (int i = order->n - 1; i >= at; --i) {
        const int d = order->dim[i];
        if (md->dims[d] != 1 && md->strides[d] != *run) return false;
        *run *= md->dims[d];
    }
    *pitch = *run;
    int64_t rows = 1;
    for (int i = at - 1; i >= 0; --i) {
        const int d = order->dim[i];
        if (md->dims[d] == 1) continue;
        if (rows == 1) *pitch = md->strides[d];
        else if (md->strides[d] != *pitch * rows) return false;
        rows *= md->dims[d];
    }
    return true;
}

static dnnl_tp_status_t kernels(runs_t *plan, const dtp_pd_t *pd, uint64_t multiple) {
    for (int w = 0; w < WIDTHS; ++w) {
        char name[32];
        if (multiple % (1u << w)) continue;
        (void)snprintf(name, sizeof name, "dtp_concat_%d", 1 << w);
        DTP_TRY(dtp_gpu_kernel(pd, DTP_GPU_MODULE_concat, name, 0, &plan->kernel[w]));
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t concat_runs_init(dtp_pd_t *pd) {
    dtp_concat_desc_t *d = (dtp_concat_desc_t *)pd->op;
    runs_t *plan = pd->plan;
    DTP_TRY(check(pd));
    DTP_DISPATCH(d->src[0].data_type == d->dst.data_type, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(pd->attr->n_scales == 0, UNSUPPORTED_SCALES);
    const dtp_gpu_order_t order = dtp_gpu_order_of(&d->dst);
    int at = 0;
    while (order.dim[at] != d->axis) ++at;
    int64_t run, pitch, rows = 1, start = 0;
    DTP_DISPATCH(rows_of(&d->dst, &order, at, &run, &pitch), UNSUPPORTED_LAYOUT);
    for (int i = 0; i < at; ++i) rows *= d->dst.dims[order.dim[i]];
    uint64_t all = (uint64_t)pitch; /* its factors of 2 are those that all lengths have */
    for (int i = 0; i < d->n; ++i) {
        const int launch = i / DTP_CONCAT_BATCH;
        dtp_concat_source_t *s = &plan->args[launch].source[i % DTP_CONCAT_BATCH];
        DTP_DISPATCH(rows_of(&d->src[i], &order, at, &run, &s->pitch), UNSUPPORTED_LAYOUT);
        const int64_t bytes = rows * run * (int64_t)dtp_type_size(d->dst.data_type);
        DTP_DISPATCH(bytes <= INT32_MAX, UNSUPPORTED_SHAPE);
        s->start = start;
        s->run = dtp_gpu_dim(run);
        start += run;
        all |= (uint64_t)run | (uint64_t)s->pitch;
        plan->longest[launch] = dtp_max64(plan->longest[launch], rows * run);
        plan->launches = launch + 1;
        plan->args[launch].rows = rows;
        plan->args[launch].pitch = pitch;
    }
    return kernels(plan, pd, all * dtp_type_size(d->dst.data_type));
}

/* A launch's lengths, in pieces of so many bytes. */
static void scale(dtp_concat_args_t *a, int n, int64_t size, int64_t width) {
    a->pitch = a->pitch * size / width;
    for (int i = 0; i < n; ++i) {
        dtp_concat_source_t *s = &a->source[i];
        s->pitch = s->pitch * size / width;
        s->start = s->start * size / width;
        s->run = dtp_gpu_dim((int64_t)s->run.size * size / width);
    }
}

static dnnl_tp_status_t concat_runs_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_concat_desc_t *d = (const dtp_concat_desc_t *)pd->op;
    const runs_t *plan = pd->plan;
    const int64_t size = (int64_t)dtp_type_size(d->dst.data_type);
    for (int launch = 0; launch < plan->launches; ++launch) {
        dtp_concat_args_t a = plan->args[launch];
        const int first = launch * DTP_CONCAT_BATCH, n = (int)dtp_min64(d->n - first, DTP_CONCAT_BATCH);
        a.dst = dtp_gpu_data(ctx, DTP_CONCAT_DST, &d->dst);
        uintptr_t pointers = (uintptr_t)a.dst;
        for (int i = 0; i < n; ++i) {
            a.source[i].src = dtp_gpu_data(ctx, DTP_CONCAT_SRC + first + i, &d->src[first + i]);
            if (a.source[i].run.size) pointers |= (uintptr_t)a.source[i].src;
        }
        int w = WIDTHS - 1;
        while (!plan->kernel[w] || pointers % (1u << w)) --w;
        scale(&a, n, size, 1 << w);
        const int64_t threads = plan->longest[launch] * size >> w;
        const dtp_gpu_shape_t shape = {{(uint32_t)dtp_div_up(threads, THREADS), (uint32_t)n}, {THREADS}, 0};
        DTP_TRY(dtp_gpu_launch(ctx, plan->kernel[w], &shape, &a));
    }
    return dnnl_tp_success;
}

/* ---- One by one --------------------------------------------------------------------------------------- */

typedef struct {
    dtp_gpu_move_t move[MOST_SOURCES];
    int64_t offset[MOST_SOURCES]; /* of the source's part of dst, in bytes */
} moves_t;

static dnnl_tp_status_t concat_any_init(dtp_pd_t *pd) {
    dtp_concat_desc_t *d = (dtp_concat_desc_t *)pd->op;
    moves_t *plan = pd->plan;
    int64_t start = 0;
    DTP_TRY(check(pd));
    DTP_DISPATCH(d->n <= MOST_SOURCES, UNSUPPORTED_SHAPE);
    for (int i = 0; i < d->n; ++i) {
        dtp_md_t dst = d->dst;
        memcpy(dst.dims, d->src[i].dims, sizeof dst.dims);
        dtp_gpu_move_problem_t p = {.src = &d->src[i], .dst = &dst};
        p.quant[DTP_MOVE_SRC_SCALE] = dtp_attr_scale(pd->attr, DNNL_TP_ARG_MULTIPLE_SRC + i);
        DTP_TRY(dtp_gpu_move_init(&plan->move[i], pd, &p));
        plan->offset[i] = start * dst.strides[d->axis] * (int64_t)dtp_type_size(dst.data_type);
        start += dst.dims[d->axis];
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t concat_any_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_concat_desc_t *d = (const dtp_concat_desc_t *)pd->op;
    const moves_t *plan = pd->plan;
    char *dst = dtp_gpu_data(ctx, DTP_CONCAT_DST, &d->dst);
    for (int i = 0; i < d->n; ++i) {
        const int scale = dtp_pd_scale_index(pd, DNNL_TP_ARG_MULTIPLE_SRC + i);
        const void *quant[DTP_MOVE_QUANTS] = {[DTP_MOVE_SRC_SCALE] = scale < 0 ? NULL : ctx->ptr[scale]};
        const void *src = dtp_gpu_data(ctx, DTP_CONCAT_SRC + i, &d->src[i]);
        DTP_TRY(dtp_gpu_move_execute(&plan->move[i], ctx, src, dst + plan->offset[i], quant));
    }
    return dnnl_tp_success;
}

static DTP_GPU_IMPL(concat_runs, "cuda:runs", .plan_size = sizeof(runs_t), .pd_init = concat_runs_init,
                    .execute = concat_runs_execute);
static DTP_GPU_IMPL(concat_any, "cuda:any", .plan_size = sizeof(moves_t), .pd_init = concat_any_init,
                    .execute = concat_any_execute);
DTP_GPU_LIST(concat, &dtp_gpu_concat_runs, &dtp_gpu_concat_any);
