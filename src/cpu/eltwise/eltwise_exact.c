/* Element-wise operations in the arithmetic of f64, s64 and boolean, and for graphs of s32, s8 and u8, too: any
 * layouts that have common boxes, as a program of one step (cpu/elementwise/program.h). */
#include "cpu/elementwise/program.h"

#include "common/problems/eltwise.h"

static dnnl_tp_status_t eltwise_exact_init(dtp_pd_t *pd) {
    dtp_eltwise_desc_t *d = (dtp_eltwise_desc_t *)pd->op;
    dtp_program_t *m = pd->plan;
    const dnnl_tp_data_type_t type = d->src.data_type;
    DTP_DISPATCH(dtp_ew_arithmetic(type, d->exact) == type && d->dst.data_type == type,
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(type != dnnl_tp_f32 && dtp_ew_takes(d->alg, type), UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_ew_params_fit(type, d->alpha, d->beta), UNSUPPORTED_ALG);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    if (dtp_md_is_any(&d->dst)) dtp_md_copy_layout(&d->dst, &d->src);
    const dtp_md_t *md[DTP_BOXES_OPS] = {&d->dst, &d->src};
    dtp_program_begin(m, dtp_pd_isa(pd), type, DTP_ELTWISE_DST, type, DTP_ELTWISE_SRC);
    dtp_program_exact(m, type);
    DTP_DISPATCH(dtp_program_eltwise(m, d->alg, d->alpha, d->beta), UNSUPPORTED_ALG);
    return dtp_program_plan(m, pd, md);
}

DTP_CPU_IMPLS_AND_ANY(eltwise_exact, "exact", DTP_PROGRAM_PLAN, .pd_init = eltwise_exact_init,
                      .execute = dtp_program_execute);
