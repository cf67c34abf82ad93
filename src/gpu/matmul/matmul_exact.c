/* Products of f64, s64 and s32 on the device: host half. Plain layouts, batches that broadcast, bias. */
#include "common/problems/matmul.h"

#include <stdio.h>

#include "gpu/device/view.h"
#include "gpu/matmul/matmul_exact_args.h"
#include "gpu/matmul/product.h"

typedef struct {
    dtp_matmul_exact_args_t args; /* without pointers */
    dtp_cu_function_t kernel;
    int64_t blocks;
} plan_t;

/* Strides of rows and columns; those of the matrices are the walk's. */
static void set_operand(dtp_matmul_exact_operand_t *o, const dtp_md_t *md) {
    const int nd = md->ndims;
    o->row = md->dims[nd - 2] == 1 ? 0 : md->strides[nd - 2];
    o->column = md->dims[nd - 1] == 1 ? 0 : md->strides[nd - 1];
}

static dnnl_tp_status_t exact_init(dtp_pd_t *pd) {
    dtp_matmul_desc_t *d = (dtp_matmul_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    dtp_matmul_exact_args_t *a = &plan->args;
    const dnnl_tp_data_type_t type = d->src.data_type;
    DTP_DISPATCH(type == dnnl_tp_f64 || type == dnnl_tp_s64 || type == dnnl_tp_s32, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(!pd->has_runtime, UNSUPPORTED_RUNTIME_DIMS);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    dtp_md_t *const md[] = {&d->src, &d->wei, &d->dst, &d->bia};
    dtp_matmul_exact_operand_t *const operand[] = {&a->src, &a->wei, &a->dst, &a->bia};
    dtp_gpu_operand_t walk[DTP_MATMUL_NARGS];
    const int n = dtp_md_is_zero(&d->bia) ? DTP_MATMUL_NARGS - 1 : DTP_MATMUL_NARGS;
    for (int i = 0; i < n; ++i) {
        DTP_DISPATCH(md[i]->data_type == type, UNSUPPORTED_DATA_TYPE);
        if (dtp_md_is_any(md[i])) dtp_md_make_plain(md[i]);
        walk[i] = (dtp_gpu_operand_t){md[i], operand[i]->matrix};
        set_operand(operand[i], md[i]);
    }
    const int nd = d->dst.ndims;
    const dtp_gpu_order_t order = dtp_gpu_order_first(dtp_gpu_order_logical(&d->dst), nd - 2);
    DTP_TRY(dtp_gpu_walk(&a->matrices, &d->dst, &order, walk, n));
    const int64_t rows = d->dst.dims[nd - 2], columns = d->dst.dims[nd - 1], k = d->src.dims[nd - 1],
                  most = INT32_MAX / 2;
    DTP_DISPATCH(rows <= most && columns <= most && k <= most, UNSUPPORTED_SHAPE);
    a->m = (int32_t)rows;
    a->n = (int32_t)columns;
    a->k = (int32_t)k;
    const int64_t tiles_n = dtp_div_up(columns, DTP_MATMUL_EXACT_SIDE),
                  tiles = dtp_div_up(rows, DTP_MATMUL_EXACT_SIDE) * tiles_n;
    DTP_DISPATCH(tiles <= INT32_MAX && a->matrices.n <= INT32_MAX && tiles * a->matrices.n <= INT32_MAX,
                 UNSUPPORTED_SHAPE);
    a->tiles_n = (int32_t)tiles_n;
    a->tiles = dtp_gpu_dim(tiles);
    plan->blocks = tiles * a->matrices.n;
    char name[32];
    (void)snprintf(name, sizeof name, "dtp_matmul_exact_%s", dnnl_tp_dt2str(type));
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_matmul_exact, name, 0, &plan->kernel);
}

static dnnl_tp_status_t exact_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_matmul_desc_t *d = (const dtp_matmul_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    dtp_matmul_exact_args_t a = plan->args;
    a.src.data = dtp_gpu_data(ctx, DTP_MATMUL_SRC, &d->src);
    a.wei.data = dtp_gpu_data(ctx, DTP_MATMUL_WEI, &d->wei);
    a.dst.data = dtp_gpu_data(ctx, DTP_MATMUL_DST, &d->dst);
    if (!dtp_md_is_zero(&d->bia)) a.bia.data = dtp_gpu_data(ctx, DTP_MATMUL_BIA, &d->bia);
    return dtp_gpu_launch(
        ctx, plan->kernel,
        &(dtp_gpu_shape_t){.grid = {(uint32_t)plan->blocks}, .block = {DTP_MATMUL_EXACT_THREADS}}, &a);
}

DTP_GPU_IMPL(matmul_exact, "cuda:exact", .plan_size = sizeof(plan_t), .pd_init = exact_init,
             .execute = exact_execute);
