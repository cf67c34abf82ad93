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

static dnnl_tp_status_t prelu_pd_init(dtp_pd_t *pd) {
    const dtp_prelu_desc_t *d = (const dtp_prelu_desc_t *)pd->op;
    dtp_program_t *program = pd->plan;
    DTP_DISPATCH(dtp_dt_fits_f32(d->src.data_type) && dtp_dt_fits_f32(d->wei.data_type) &&
                     dtp_dt_fits_f32(d->dst.data_type),
                 UNSUPPORTED_DATA_TYPE);
    DTP_TRY(dtp_prelu_check(pd));
    const dtp_md_t *md[DTP_BOXES_OPS] = {&d->dst, &d->src, &d->wei};
    dtp_program_begin(program, dtp_pd_isa(pd), d->dst.data_type, DTP_PRELU_DST, d->src.data_type,
                      DTP_PRELU_SRC);
    (void)dtp_program_binary(program, DTP_PROGRAM_ACC, 1,
                             dtp_program_operand(program, d->wei.data_type, DTP_PRELU_WEI), -1,
                             (dnnl_tp_alg_kind_t)DTP_ALG_prelu); /* the first step fits */
    return dtp_program_plan(program, pd, md);
}

DTP_CPU_IMPLS_AND_ANY(prelu, "simd", DTP_PROGRAM_PLAN, .pd_init = prelu_pd_init,
                      .execute = dtp_program_execute);
