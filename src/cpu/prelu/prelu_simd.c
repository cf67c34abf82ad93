/* PReLU as an element-wise program of one step: any layouts and broadcasts that have common boxes, types whose
 * values are floats. s32 is left to the reference, which computes in double. */
#include "common/base/scalar.h"
#include "cpu/elementwise/program.h"
#include "cpu/prelu/prelu.h"

dnnl_tp_status_t dtp_prelu_check(dtp_pd_t *pd) {
    dtp_prelu_desc_t *d = (dtp_prelu_desc_t *)pd->op;
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    if (dtp_md_is_any(&d->dst)) dtp_boxes_layout_like(&d->dst, &d->src);
    if (!dtp_md_is_any(&d->wei)) return dnnl_tp_success;
    if (dtp_md_same_dims(&d->wei, &d->src)) dtp_boxes_layout_like(&d->wei, &d->src);
    else dtp_md_make_plain(&d->wei);
    return dnnl_tp_success;
}

static dnnl_tp_status_t prelu_pd_init(dtp_pd_t *pd, unsigned isa) {
    const dtp_prelu_desc_t *d = (const dtp_prelu_desc_t *)pd->op;
    dtp_program_t *program = pd->plan;
    static const dnnl_tp_dims_t zero;
    DTP_DISPATCH(dtp_dt_fits_f32(d->src.data_type) && dtp_dt_fits_f32(d->wei.data_type) &&
                     dtp_dt_fits_f32(d->dst.data_type),
                 UNSUPPORTED_DATA_TYPE);
    DTP_TRY(dtp_prelu_check(pd));
    const dtp_md_t *md[DTP_BOXES_OPS] = {&d->dst, &d->src, &d->wei};
    dtp_program_begin(program, isa, d->dst.data_type, DTP_PRELU_DST, d->src.data_type, DTP_PRELU_SRC);
    (void)dtp_program_binary(program, DTP_PROGRAM_ACC, 1,
                             dtp_program_operand(program, d->wei.data_type, DTP_PRELU_WEI), -1,
                             (dnnl_tp_alg_kind_t)DTP_ALG_prelu); /* the first step fits */
    DTP_DISPATCH(dtp_program_cut(program, d->dst.ndims, d->dst.dims, zero, d->dst.dims, md, &d->dst,
                                 pd->engine->l3_bytes),
                 UNSUPPORTED_LAYOUT);
    dtp_pd_book(pd, 0, dtp_program_slot_bytes(program));
    return dnnl_tp_success;
}

static dnnl_tp_status_t prelu_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    char *ptr[DTP_BOXES_OPS] = {ctx->ptr[DTP_PRELU_DST], ctx->ptr[DTP_PRELU_SRC], ctx->ptr[DTP_PRELU_WEI]};
    dtp_program_run(pd->plan, ctx->par, ptr, ctx->scratch, pd->scratch_per_slot);
    return dnnl_tp_success;
}

static dnnl_tp_status_t prelu_pd_init_avx512(dtp_pd_t *pd) { return prelu_pd_init(pd, pd->engine->isa); }
static dnnl_tp_status_t prelu_pd_init_avx2(dtp_pd_t *pd) { return prelu_pd_init(pd, DTP_ISA_AVX2); }
static dnnl_tp_status_t prelu_pd_init_any(dtp_pd_t *pd) { return prelu_pd_init(pd, 0); }

const dtp_impl_t dtp_cpu_prelu__avx512 = {.name = "simd:avx512",
                                          .isa = DTP_ISA_AVX512,
                                          .flags = DTP_IMPL_ANY_THREADS,
                                          .plan_size = sizeof(dtp_program_t),
                                          .pd_init = prelu_pd_init_avx512,
                                          .execute = prelu_execute};
const dtp_impl_t dtp_cpu_prelu__avx2 = {.name = "simd:avx2",
                                        .isa = DTP_ISA_AVX2,
                                        .flags = DTP_IMPL_ANY_THREADS,
                                        .plan_size = sizeof(dtp_program_t),
                                        .pd_init = prelu_pd_init_avx2,
                                        .execute = prelu_execute};
const dtp_impl_t dtp_cpu_prelu__any = {.name = "simd:any",
                                       .flags = DTP_IMPL_ANY_THREADS,
                                       .plan_size = sizeof(dtp_program_t),
                                       .pd_init = prelu_pd_init_any,
                                       .execute = prelu_execute};
