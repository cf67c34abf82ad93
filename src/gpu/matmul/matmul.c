/* Matmul on the device: host half. */
#include "common/problems/matmul.h"

#include "gpu/matmul/product.h"

typedef const dtp_md_t *matmul_mds_t[DTP_MATMUL_NARGS];

/* Dimensions that dst does not have are left as they are. */
static void describe(dtp_gpu_problem_t *p, const matmul_mds_t md) {
    const dtp_md_t *src = md[DTP_MATMUL_SRC], *wei = md[DTP_MATMUL_WEI];
    const int nd = src->ndims;
    for (int i = 0; i < DTP_MATMUL_NARGS; ++i) p->md[i] = md[i];
    for (int i = 0; i < nd; ++i)
        p->dim[DTP_PRODUCT_SRC][i] = p->dim[DTP_PRODUCT_WEI][i] = p->dim[DTP_PRODUCT_BIA][i] = i;
    p->dim[DTP_PRODUCT_SRC][nd - 1] = -1;
    p->dim[DTP_PRODUCT_WEI][nd - 2] = -1;
    p->k = src->dims[nd - 1];
    p->src_k = src->strides[nd - 1];
    p->wei_k = wei->strides[nd - 2];
}

static void describe_resolved(dtp_gpu_problem_t *p, dtp_pd_t *pd) {
    dtp_matmul_desc_t *d = (dtp_matmul_desc_t *)pd->op;
    dtp_md_t *const mds[] = {&d->src, &d->wei, &d->bia, &d->dst};
    for (int i = 0; i < DTP_MATMUL_NARGS; ++i)
        if (!dtp_md_is_zero(mds[i]) && dtp_md_is_any(mds[i])) dtp_md_make_plain(mds[i]);
    describe(p, (matmul_mds_t){&d->src, &d->wei, &d->bia, &d->dst});
}

static dnnl_tp_status_t matmul_init(dtp_pd_t *pd, dtp_gpu_product_kind_t kind) {
    dtp_gpu_problem_t p;
    describe_resolved(&p, pd);
    return dtp_gpu_product_init(pd->plan, pd, &p, kind);
}
static dnnl_tp_status_t matmul_cublaslt_init(dtp_pd_t *pd) {
    return matmul_init(pd, DTP_GPU_PRODUCT_CUBLASLT);
}
static dnnl_tp_status_t matmul_mma_init(dtp_pd_t *pd) { return matmul_init(pd, DTP_GPU_PRODUCT_MMA); }
static dnnl_tp_status_t matmul_simt_init(dtp_pd_t *pd) { return matmul_init(pd, DTP_GPU_PRODUCT_SIMT); }
static dnnl_tp_status_t matmul_any_init(dtp_pd_t *pd) { return matmul_init(pd, DTP_GPU_PRODUCT_ANY); }

static dnnl_tp_status_t matmul_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_matmul_desc_t *d = (const dtp_matmul_desc_t *)pd->op;
    return dtp_gpu_product_execute(pd->plan, pd, ctx,
                                   (const dtp_md_t *const[]){&d->src, &d->wei, &d->bia, &d->dst});
}

static dnnl_tp_status_t matmul_runtime_init(dtp_pd_t *pd) {
    DTP_DISPATCH(pd->has_runtime, UNSUPPORTED_KNOWN_DIMS);
    dtp_gpu_problem_t p;
    describe_resolved(&p, pd);
    return dtp_gpu_runtime_product_init(pd->plan, pd, &p);
}
static dnnl_tp_status_t matmul_runtime_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_matmul_desc_t *d = (const dtp_matmul_desc_t *)pd->op;
    matmul_mds_t md = {&d->src, &d->wei, &d->bia, &d->dst};
    for (int i = 0; i < DTP_MATMUL_NARGS; ++i)
        if (ctx->md[i] && !dtp_md_is_zero(md[i])) md[i] = ctx->md[i];
    dtp_gpu_problem_t p;
    describe(&p, md);
    return dtp_gpu_runtime_product_execute(pd->plan, pd, ctx, &p);
}

#define IMPL(impl, name, flags_)                                                             \
    static DTP_GPU_IMPL(impl, name, .flags = flags_, .plan_size = sizeof(dtp_gpu_product_t), \
                        .pd_init = impl##_init, .execute = matmul_execute)
static DTP_GPU_IMPL(matmul_runtime, "cuda:runtime", .plan_size = sizeof(dtp_gpu_runtime_product_t),
                    .pd_init = matmul_runtime_init, .execute = matmul_runtime_execute);
IMPL(matmul_cublaslt, "cuda:cublaslt", 0);
IMPL(matmul_mma, "cuda:mma", DTP_IMPL_ROWS);
IMPL(matmul_simt, "cuda:simt", DTP_IMPL_ROWS);
IMPL(matmul_any, "cuda:any", DTP_IMPL_ROWS);
DTP_GPU_LIST(matmul, &dtp_gpu_matmul_cublaslt, &dtp_gpu_matmul_mma, &dtp_gpu_matmul_simt, &dtp_gpu_matmul_any,
             &dtp_gpu_matmul_runtime, &dtp_gpu_matmul_exact);
