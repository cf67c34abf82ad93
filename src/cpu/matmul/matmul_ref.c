/* Reference matmul: any type, layout, broadcast and attribute. The sums are in cpu/gemm/product_ref.h; the fast
 * implementations in matmul_ukr.c. */
#include "common/primitive/kind_checks.h"
#include "common/problems/matmul.h"
#include "common/primitive/primitive_desc.h"
#include "cpu/gemm/product_ref.h"

static bool type_is_int8(dnnl_tp_data_type_t dt) { return dt == dnnl_tp_s8 || dt == dnnl_tp_u8; }

static dnnl_tp_status_t matmul_ref_pd_init(dtp_pd_t *pd) {
    dtp_matmul_desc_t *d = (dtp_matmul_desc_t *)pd->op;
    bool ints = type_is_int8(d->src.data_type) && type_is_int8(d->wei.data_type);
    bool floats = d->src.data_type <= dnnl_tp_f32 && d->wei.data_type <= dnnl_tp_f32;
    DTP_DISPATCH(ints || floats, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_vops_takes(d->dst.data_type) && (ints || d->dst.data_type <= dnnl_tp_f32),
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_md_is_zero(&d->bia) || dtp_vops_takes(d->bia.data_type), UNSUPPORTED_DATA_TYPE);
    const int nd = d->dst.ndims;
    return dtp_product_ref_init(pd->plan, pd, (dtp_md_t *const[]){&d->src, &d->wei, &d->bia, &d->dst},
                                1u << (nd - 1), 1u << (nd - 2));
}

static dnnl_tp_status_t matmul_ref_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_matmul_desc_t *d = (const dtp_matmul_desc_t *)pd->op;
    const dtp_md_t *const *md = ctx->md;
    dtp_product_ref_job_t job = {.src = md ? md[DTP_MATMUL_SRC] : &d->src,
                                 .wei = md ? md[DTP_MATMUL_WEI] : &d->wei,
                                 .dst = md ? md[DTP_MATMUL_DST] : &d->dst,
                                 .batched = true};
    if (!dtp_md_is_zero(&d->bia)) job.bia = md ? md[DTP_MATMUL_BIA] : &d->bia;
    const int nd = job.dst->ndims;
    job.n = job.dst->dims[nd - 1];
    job.k = job.src->dims[nd - 1];
    job.rows = 1;
    bool one_matrix = true;
    for (int i = 0; i < nd - 1; ++i) {
        job.rows *= job.dst->dims[i];
        if (i < nd - 2) one_matrix &= job.wei->dims[i] == 1;
    }
    job.matrix_rows = one_matrix ? job.rows : job.dst->dims[nd - 2];
    if (ctx->rows >= 0) job.rows = ctx->rows;
    dtp_product_ref_execute(pd->plan, pd, ctx, &job);
    return dnnl_tp_success;
}

DTP_CPU_REFERENCE(matmul, DTP_IMPL_ROWS, .plan_size = sizeof(dtp_product_ref_t),
                  .pd_init = matmul_ref_pd_init, .execute = matmul_ref_execute);
