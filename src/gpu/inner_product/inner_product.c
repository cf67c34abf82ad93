/* Inner product on the device: a product whose k is channels and space, in an order in which they join in both tensors. */
#include "common/problems/inner_product.h"

#include "gpu/matmul/product.h"

/* Dims 1.. of src and weights as one. Unimplemented where they do not join. */
static dnnl_tp_status_t join_k(dtp_gpu_problem_t *p, const dtp_md_t *src, const dtp_md_t *wei) {
    const dtp_gpu_order_t order = dtp_gpu_order_of(src->dims[0] == 0 ? wei : src);
    p->k = dtp_md_nelems(src) / dtp_max64(src->dims[0], 1) * (src->dims[0] > 0);
    p->src_k = p->wei_k = 1;
    if (p->k == 0) return dnnl_tp_success;
    p->k = 1;
    for (int i = order.n - 1; i >= 0; --i) {
        const int d = order.dim[i];
        if (d == 0 || src->dims[d] == 1) continue;
        if (p->k == 1) {
            p->src_k = src->strides[d];
            p->wei_k = wei->strides[d];
        }
        DTP_DISPATCH(src->strides[d] == p->src_k * p->k && wei->strides[d] == p->wei_k * p->k,
                     UNSUPPORTED_LAYOUT);
        p->k *= src->dims[d];
    }
    return dnnl_tp_success;
}

/* A tensor of format any gets the order of channels and space that the other one has; both any: row-major. */
static void resolve(dtp_md_t *md, const dtp_md_t *other) {
    if (!dtp_md_is_any(md)) return;
    const dtp_gpu_order_t like = dtp_md_is_plain(other) ? dtp_gpu_order_of(other) : dtp_gpu_order_logical(md);
    dtp_gpu_order_t order = {.n = 1}; /* dimension 0 outermost */
    for (int i = 0; i < like.n; ++i)
        if (like.dim[i] != 0) order.dim[order.n++] = like.dim[i];
    dtp_gpu_make_dense(md, &order);
}

static dnnl_tp_status_t inner_product_init(dtp_pd_t *pd, dtp_gpu_product_kind_t kind) {
    dtp_inner_product_desc_t *d = (dtp_inner_product_desc_t *)pd->op;
    dtp_gpu_problem_t p = {.md = {&d->src, &d->wei, &d->bia, &d->dst}, .dim = {{0, -1}, {-1, 0}, {-1, 0}}};
    resolve(&d->src, &d->wei);
    resolve(&d->wei, &d->src);
    if (dtp_md_is_any(&d->dst)) dtp_md_make_plain(&d->dst);
    if (!dtp_md_is_zero(&d->bia) && dtp_md_is_any(&d->bia)) dtp_md_make_plain(&d->bia);
    DTP_DISPATCH(dtp_md_is_plain(&d->src) && dtp_md_is_plain(&d->wei), UNSUPPORTED_LAYOUT);
    DTP_TRY(join_k(&p, &d->src, &d->wei));
    return dtp_gpu_product_init(pd->plan, pd, &p, kind);
}
static dnnl_tp_status_t inner_product_cublaslt_init(dtp_pd_t *pd) {
    return inner_product_init(pd, DTP_GPU_PRODUCT_CUBLASLT);
}
static dnnl_tp_status_t inner_product_mma_init(dtp_pd_t *pd) {
    return inner_product_init(pd, DTP_GPU_PRODUCT_MMA);
}
static dnnl_tp_status_t inner_product_simt_init(dtp_pd_t *pd) {
    return inner_product_init(pd, DTP_GPU_PRODUCT_SIMT);
}
static dnnl_tp_status_t inner_product_any_init(dtp_pd_t *pd) {
    return inner_product_init(pd, DTP_GPU_PRODUCT_ANY);
}

static dnnl_tp_status_t inner_product_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_inner_product_desc_t *d = (const dtp_inner_product_desc_t *)pd->op;
    return dtp_gpu_product_execute(pd->plan, pd, ctx,
                                   (const dtp_md_t *const[]){&d->src, &d->wei, &d->bia, &d->dst});
}

#define IMPL(impl, name, flags_)                                                             \
    static DTP_GPU_IMPL(impl, name, .flags = flags_, .plan_size = sizeof(dtp_gpu_product_t), \
                        .pd_init = impl##_init, .execute = inner_product_execute)
IMPL(inner_product_cublaslt, "cuda:cublaslt", 0);
IMPL(inner_product_mma, "cuda:mma", DTP_IMPL_ROWS);
IMPL(inner_product_simt, "cuda:simt", DTP_IMPL_ROWS);
IMPL(inner_product_any, "cuda:any", DTP_IMPL_ROWS);
DTP_GPU_LIST(inner_product, &dtp_gpu_inner_product_cublaslt, &dtp_gpu_inner_product_mma,
             &dtp_gpu_inner_product_simt, &dtp_gpu_inner_product_any);
