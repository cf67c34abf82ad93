/* Gathers, weighted sums and scatters of rows by computed positions on the device: host half. */
#include "common/problems/graph/indexed.h"

#include <stdio.h>

#include "gpu/device/view.h"
#include "gpu/indexed/indexed_args.h"

enum { THREADS = 256, WIDTHS = 5 /* 1, 2, 4, 8, 16 bytes */ };

_Static_assert((int)DTP_INDEXED_SET == (int)DTP_SCATTER_SET && (int)DTP_INDEXED_ADD == (int)DTP_SCATTER_ADD &&
                   (int)DTP_INDEXED_MUL == (int)DTP_SCATTER_MUL &&
                   (int)DTP_INDEXED_MAX == (int)DTP_SCATTER_MAX &&
                   (int)DTP_INDEXED_MIN == (int)DTP_SCATTER_MIN,
               "one numbering on both sides");

typedef struct {
    dtp_indexed_args_t args;          /* without pointers; pieces of gathers: of one byte */
    dtp_cu_function_t kernel[WIDTHS]; /* of gathers, by the size of pieces; otherwise the first */
    uint64_t multiple; /* of gathers: its factors of two are those of all distances, in bytes */
    int64_t threads;
} plan_t;

/* The loops of d that are chosen. row: of each loop. */
static dnnl_tp_status_t walk_loops(dtp_indexed_walk_t *walk, const dtp_indexed_desc_t *d,
                                   const bool *is_chosen, const int64_t *row) {
    dtp_md_t shape = {.ndims = d->nloops, .format_kind = dnnl_tp_blocked};
    memcpy(shape.dims, d->loops, sizeof shape.dims);
    dtp_md_t data = shape, ids = shape, rows = shape;
    memcpy(data.strides, d->data_strides, sizeof data.strides);
    memcpy(ids.strides, d->id_strides, sizeof ids.strides);
    memcpy(rows.strides, row, sizeof rows.strides);
    dtp_gpu_order_t order = {.n = 0};
    for (int i = 0; i < d->nloops; ++i)
        if (is_chosen[i]) order.dim[order.n++] = i;
    const dtp_gpu_operand_t operands[] = {{&data, walk->data}, {&ids, walk->ids}, {&rows, walk->rows}};
    return dtp_gpu_walk(&walk->dims, &shape, &order, operands, 3);
}

/* Kernels number their threads in 31 bits; a row without elements has one all the same. */
static dnnl_tp_status_t set_threads(plan_t *plan, int64_t rows, int64_t pieces) {
    const int64_t most = INT32_MAX - THREADS, each = dtp_max64(pieces, 1);
    DTP_DISPATCH(rows <= most && each <= most / dtp_max64(rows, 1), UNSUPPORTED_SHAPE);
    plan->threads = rows * each;
    return dnnl_tp_success;
}

static dnnl_tp_status_t gather_init(dtp_pd_t *pd, plan_t *plan) {
    const dtp_indexed_desc_t *d = (const dtp_indexed_desc_t *)pd->op;
    dtp_indexed_args_t *a = &plan->args;
    a->size = (int64_t)dtp_type_size(d->data.data_type);
    a->width = d->width[0] * a->size;
    plan->multiple = (uint64_t)a->width;
    DTP_TRY(set_threads(plan, a->nrows, d->width[0]));
    for (int i = 0; i < d->nloops; ++i) plan->multiple |= (uint64_t)(d->data_strides[i] * a->size);
    for (int k = 0; k < d->ncomponents; ++k) plan->multiple |= (uint64_t)(d->step_strides[k] * a->size);
    for (int w = 0; w < WIDTHS; ++w) {
        char name[32];
        if (plan->multiple % (1u << w)) continue;
        (void)snprintf(name, sizeof name, "dtp_indexed_gather_%d", 1 << w);
        DTP_TRY(dtp_gpu_kernel(pd, DTP_GPU_MODULE_indexed, name, 0, &plan->kernel[w]));
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t sum_init(dtp_pd_t *pd, plan_t *plan) {
    const dtp_indexed_desc_t *d = (const dtp_indexed_desc_t *)pd->op;
    dtp_indexed_args_t *a = &plan->args;
    DTP_DISPATCH(d->data.data_type == dnnl_tp_f32, UNSUPPORTED_DATA_TYPE);
    a->ntaps = d->ntaps;
    a->aligned = a->width % DTP_GPU_RUN == 0;
    const int64_t pieces = dtp_max64(dtp_div_up(a->width, DTP_GPU_RUN), 1);
    a->pieces = dtp_gpu_dim(pieces);
    DTP_TRY(set_threads(plan, a->nrows, pieces));
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_indexed, "dtp_indexed_sum", 0, &plan->kernel[0]);
}

/* The kernel for a type: with reductions, or one that only moves elements of its size; NULL: none. */
static const char *scatter_of(int what, dnnl_tp_data_type_t type) {
    switch (type) {
    case dnnl_tp_f32:
    case dnnl_tp_f64:
    case dnnl_tp_s64:
    case dnnl_tp_s32:
    case dnnl_tp_s8:
    case dnnl_tp_u8: return dnnl_tp_dt2str(type);
    default: break;
    }
    if (what != DTP_INDEXED_SET) return NULL;
    return dtp_type_size(type) == 2 ? "set_2" : dtp_type_size(type) == 1 ? "u8" : NULL;
}

/* Walks of few places side by side are shared: so many threads own a part of the places each. */
static int64_t owners_of(const dtp_pd_t *pd, int64_t items, int64_t each) {
    enum { FEW_THREADS = 512 /* of a multiprocessor */, MOST_OWNERS = 1024 };
    const int64_t wanted = (int64_t)dtp_gpu_device(pd)->multiprocessors * FEW_THREADS;
    int64_t owners = 1;
    while (owners < MOST_OWNERS && 2 * owners <= each && 2 * owners * items <= wanted) owners *= 2;
    return owners;
}

static dnnl_tp_status_t scatter_init(dtp_pd_t *pd, plan_t *plan, const int64_t *row) {
    const dtp_indexed_desc_t *d = (const dtp_indexed_desc_t *)pd->op;
    dtp_indexed_args_t *a = &plan->args;
    const char *type = scatter_of(d->what, d->data.data_type);
    bool is_shared[DNNL_TP_MAX_NDIMS], is_serial[DNNL_TP_MAX_NDIMS];
    DTP_DISPATCH(type, UNSUPPORTED_DATA_TYPE);
    for (int i = 0; i < d->nloops; ++i) {
        is_shared[i] = d->data_strides[i] != 0;
        is_serial[i] = !is_shared[i];
    }
    DTP_TRY(walk_loops(&a->loops, d, is_shared, row));
    DTP_TRY(walk_loops(&a->serial, d, is_serial, row));
    a->pieces = dtp_gpu_dim(dtp_max64(a->width, 1));
    DTP_TRY(set_threads(plan, a->loops.dims.n, a->width));
    const int64_t owners = owners_of(pd, plan->threads, a->serial.dims.n);
    a->owners = dtp_gpu_dim(owners);
    plan->threads = a->serial.dims.n > 0 ? plan->threads * owners : 0;
    char name[40];
    (void)snprintf(name, sizeof name, "dtp_indexed_scatter_%s", type);
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_indexed, name, 0, &plan->kernel[0]);
}

static dnnl_tp_status_t indexed_init(dtp_pd_t *pd) {
    const dtp_indexed_desc_t *d = (const dtp_indexed_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    dtp_indexed_args_t *a = &plan->args;
    int64_t row[DNNL_TP_MAX_NDIMS] = {0};
    bool is_chosen[DNNL_TP_MAX_NDIMS];
    DTP_DISPATCH(d->ids.data_type == dnnl_tp_s32 || d->ids.data_type == dnnl_tp_s64, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(!pd->has_runtime, UNSUPPORTED_RUNTIME_DIMS);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    a->nrows = 1;
    for (int i = d->nloops - 1; i >= 0; --i) {
        is_chosen[i] = true;
        row[i] = a->nrows;
        a->nrows *= d->loops[i];
    }
    a->ids_are_s64 = d->ids.data_type == dnnl_tp_s64;
    a->ncomponents = d->ncomponents;
    for (int k = 0; k < d->ncomponents; ++k) {
        a->limits[k] = d->limits[k];
        a->steps[k] = d->step_strides[k];
    }
    a->what = d->what;
    a->width = d->width[0];
    pd->checks_data = true;
    if (d->what != DTP_INDEXED_GATHER && d->what != DTP_INDEXED_SUM) return scatter_init(pd, plan, row);
    DTP_TRY(walk_loops(&a->loops, d, is_chosen, row));
    return d->what == DTP_INDEXED_SUM ? sum_init(pd, plan) : gather_init(pd, plan);
}

/* Pieces as wide as all distances and addresses allow. */
static dnnl_tp_status_t gather_execute(const plan_t *plan, const dtp_exec_ctx_t *ctx, dtp_indexed_args_t *a) {
    int w = WIDTHS - 1;
    const uintptr_t addresses = (uintptr_t)a->data | (uintptr_t)a->dst;
    while (!plan->kernel[w] || addresses % (1u << w)) --w;
    a->width >>= w;
    a->pieces = dtp_gpu_dim(dtp_max64(a->width, 1));
    return dtp_gpu_launch_threads(ctx, plan->kernel[w], a->nrows * a->pieces.size, THREADS, a);
}

static dnnl_tp_status_t indexed_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_indexed_desc_t *d = (const dtp_indexed_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    dtp_indexed_args_t a = plan->args;
    a.data = dtp_gpu_data(ctx, DTP_INDEXED_DATA, &d->data);
    a.ids = dtp_gpu_data(ctx, DTP_INDEXED_IDS, &d->ids);
    a.dst = dtp_gpu_data(ctx, DTP_INDEXED_DST, &d->dst);
    a.note = dtp_gpu_note(ctx);
    if (d->what == DTP_INDEXED_GATHER) return gather_execute(plan, ctx, &a);
    a.rows = dtp_gpu_data(ctx, DTP_INDEXED_ROWS, &d->rows);
    if (d->what == DTP_INDEXED_SUM) {
        const size_t run = DTP_GPU_RUN * sizeof(float);
        a.aligned = a.aligned && dtp_gpu_is_aligned(a.data, run) && dtp_gpu_is_aligned(a.dst, run);
    } else if (a.dst != a.data) {
        const size_t bytes = (size_t)dtp_md_nelems(&d->data) * dtp_type_size(d->data.data_type);
        if (bytes) DTP_TRY(dtp_gpu_copy(ctx, DTP_COPY_WITHIN, a.dst, a.data, bytes));
    }
    return dtp_gpu_launch_threads(ctx, plan->kernel[0], plan->threads, THREADS, &a);
}

static DTP_GPU_IMPL(indexed, "cuda:rows", .plan_size = sizeof(plan_t), .pd_init = indexed_init,
                    .execute = indexed_execute);
DTP_GPU_LIST(indexed, &dtp_gpu_indexed);
