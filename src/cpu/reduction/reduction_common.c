/* Checks and the last step of reductions. */
#include "cpu/reduction/reduction.h"

#include <math.h>

#include "cpu/elementwise/boxes.h"

dnnl_tp_status_t dtp_reduction_check(dtp_pd_t *pd) {
    dtp_reduction_desc_t *op = (dtp_reduction_desc_t *)pd->op;
    const dnnl_tp_data_type_t s = op->src.data_type, d = op->dst.data_type;
    DTP_DISPATCH(!op->exact, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(s == dnnl_tp_f32 || s == dnnl_tp_bf16 || s == dnnl_tp_f16 || s == dnnl_tp_s8 ||
                     s == dnnl_tp_u8,
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(d == dnnl_tp_f32 || d == dnnl_tp_bf16 || d == dnnl_tp_f16 || d == dnnl_tp_s32 ||
                     d == dnnl_tp_s8 || d == dnnl_tp_u8,
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS), UNSUPPORTED_ATTR);
    if (dtp_md_is_any(&op->dst)) dtp_boxes_layout_like(&op->dst, &op->src);
    return dnnl_tp_success;
}

float dtp_reduction_finish(const dtp_reduction_desc_t *op, double acc, int64_t count) {
    const double p = (double)op->p, eps = (double)op->eps;
    switch (op->alg) {
    case dnnl_tp_reduction_mean: return (float)(acc / (double)count);
    case dnnl_tp_reduction_norm_lp_max: acc = acc > eps ? acc : eps; break;
    case dnnl_tp_reduction_norm_lp_sum: acc += eps; break;
    case dnnl_tp_reduction_norm_lp_power_p_max: return (float)(acc > eps ? acc : eps);
    case dnnl_tp_reduction_norm_lp_power_p_sum: return (float)(acc + eps);
    default: return (float)acc;
    }
    return (float)(p == 1. ? acc : p == 2. ? sqrt(acc) : pow(acc, 1. / p));
}
