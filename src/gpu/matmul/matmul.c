/* Matmul on the device: host half. */
#include "common/problems/matmul.h"

#include "gpu/matmul/product.h"

static dnnl_tp_status_t matmul_init(dtp_pd_t *pd, dtp_gpu_product_kind_t kind) {
    dtp_matmul_desc_t *d = (dtp_matmul_desc_t *)pd->op;
    dtp_md_t *const mds[] = {&d->src, &d->wei, &d->bia, &d->dst};
    for (int i = 0; i < 4; ++i)
        if (!dtp_md_is_zero(mds[i]) && dtp_md_is_any(mds[i])) dtp_md_make_plain(mds[i]);
    const int nd = d->dst.ndims;
    dtp_gpu_problem_t p = {.md = {&d->src, &d->wei, &d->bia, &d->dst},
                           .k = d->src.dims[nd - 1],
                           .src_k = d->src.strides[nd - 1],
                           .wei_k = d->wei.strides[nd - 2]};
    for (int i = 0; i < nd; ++i)
        p.dim[DTP_PRODUCT_SRC][i] = p.dim[DTP_PRODUCT_WEI][i] = p.dim[DTP_PRODUCT_BIA][i] = i;
    p.dim[DTP_PRODUCT_SRC][nd - 1] = -1;
    p.dim[DTP_PRODUCT_WEI][nd - 2] = -1;
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

#define IMPL(impl, name, flags_)                                                             \
    static DTP_GPU_IMPL(impl, name, .flags = flags_, .plan_size = sizeof(dtp_gpu_product_t), \
                        .pd_init = impl##_init, .execute = matmul_execute)
IMPL(matmul_cublaslt, "cuda:cublaslt", 0);
IMPL(matmul_mma, "cuda:mma", DTP_IMPL_ROWS);
IMPL(matmul_simt, "cuda:simt", DTP_IMPL_ROWS);
IMPL(matmul_any, "cuda:any", DTP_IMPL_ROWS);
DTP_GPU_LIST(matmul, &dtp_gpu_matmul_cublaslt, &dtp_gpu_matmul_mma, &dtp_gpu_matmul_simt,
             &dtp_gpu_matmul_any);
