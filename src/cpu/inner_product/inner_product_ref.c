/* Reference inner product: any type and layout; channels and space are one dimension k in logical order. The
 * sums are in cpu/gemm/product_ref.h. */
#include "common/primitive/kind_checks.h"
#include "common/problems/inner_product.h"
#include "common/primitive/primitive_desc.h"
#include "cpu/gemm/product_ref.h"

static bool ip_type_is_int8(dnnl_tp_data_type_t dt) { return dt == dnnl_tp_s8 || dt == dnnl_tp_u8; }

static dnnl_tp_status_t inner_product_ref_pd_init(dtp_pd_t *pd) {
    dtp_inner_product_desc_t *d = (dtp_inner_product_desc_t *)pd->op;
    const bool ints = ip_type_is_int8(d->src.data_type) && d->wei.data_type == dnnl_tp_s8;
    const bool floats = dtp_vops_takes(d->src.data_type) && d->src.data_type <= dnnl_tp_f32 &&
                        dtp_vops_takes(d->wei.data_type) && d->wei.data_type <= dnnl_tp_f32;
    DTP_DISPATCH(ints || floats, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_vops_takes(d->dst.data_type), UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_md_is_zero(&d->bia) || dtp_vops_takes(d->bia.data_type), UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS | DTP_ATTR_SCALES), UNSUPPORTED_ATTR);
    const unsigned k_dims = ((1u << d->src.ndims) - 1) & ~1u;
    return dtp_product_ref_init(pd->plan, pd, (dtp_md_t *const[]){&d->src, &d->wei, &d->bia, &d->dst}, k_dims,
                                k_dims);
}

static dnnl_tp_status_t inner_product_ref_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_inner_product_desc_t *d = (const dtp_inner_product_desc_t *)pd->op;
    dtp_product_ref_job_t job = {.src = &d->src,
                                 .wei = &d->wei,
                                 .bia = dtp_md_is_zero(&d->bia) ? NULL : &d->bia,
                                 .dst = &d->dst,
                                 .rows = ctx->rows >= 0 ? ctx->rows : d->dst.dims[0],
                                 .n = d->dst.dims[1],
                                 .k = 1,
                                 .matrix_rows = d->dst.dims[0]};
    for (int i = 1; i < d->src.ndims; ++i) job.k *= d->src.dims[i];
    dtp_product_ref_execute(pd->plan, pd, ctx, &job);
    return dnnl_tp_success;
}

DTP_CPU_REFERENCE(inner_product, DTP_IMPL_ROWS, .plan_size = sizeof(dtp_product_ref_t),
                  .pd_init = inner_product_ref_pd_init, .execute = inner_product_ref_execute);
