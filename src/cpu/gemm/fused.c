/* See fused.h. */
#include "cpu/gemm/fused.h"

bool dtp_fused_types(const dtp_ukr_set_t *ukr, dnnl_tp_data_type_t dst, dnnl_tp_data_type_t bia,
                     uint32_t *flags) {
    if (dst == dnnl_tp_bf16) *flags |= DTP_UKR_C_BF16;
    else if (dst != dnnl_tp_f32) return false;
    if (bia == dnnl_tp_bf16) *flags |= DTP_UKR_BIAS_BF16;
    else if (bia != dnnl_tp_f32) return false;
    return ukr->is_bf16 || (dst == dnnl_tp_f32 && bia == dnnl_tp_f32);
}

bool dtp_fused_init(dtp_fused_t *f, const dtp_postops_t *po, bool passes, bool bf16) {
    memset(f, 0, sizeof *f);
    int i = 0;
    if (i + 1 < po->len && dtp_postops_simple(po, i).form == DTP_PO_FORM_RELU && !po->step[i + 1].eltwise) {
        f->flags |= DTP_UKR_RELU_FIRST;
        ++i;
    }
    if (i < po->len && !po->step[i].eltwise) {
        const dtp_po_simple_t s = dtp_postops_simple(po, i);
        const bool sum = po->step[i].kind == dnnl_tp_sum;
        if (passes && f->flags) return false;
        const dnnl_tp_data_type_t dt = po->step[i].dt;
        if (dt != dnnl_tp_f32 && !(bf16 && dt == dnnl_tp_bf16)) return false;
        if (dt == dnnl_tp_bf16) f->flags |= DTP_UKR_ADD_BF16;
        if (sum ? po->step[i].zero_point != 0
                : s.form != DTP_PO_FORM_ADD_TENSOR && s.form != DTP_PO_FORM_ADD_COLS)
            return false;
        f->has_add = true;
        f->add_is_c = sum;
        f->add_scale = sum ? po->step[i].scale : 1.f;
        f->add_arg = s.arg;
        f->add_row_stride = s.row_stride;
        f->add_offset = s.offset0;
        ++i;
    }
    if (i < po->len) {
        const dtp_po_simple_t s = dtp_postops_simple(po, i);
        if (s.form == DTP_PO_FORM_RELU || s.form == DTP_PO_FORM_CLIP) {
            f->flags |= DTP_UKR_FLOOR;
            if (s.form == DTP_PO_FORM_CLIP) f->flags |= DTP_UKR_CAP;
            f->floor = s.floor;
            f->cap = s.cap;
            ++i;
        }
    }
    if (i < po->len && po->step[i].eltwise) {
        f->act = po->step[i].eltwise;
        f->act_alpha = po->step[i].alpha;
        f->act_beta = po->step[i].beta;
        ++i;
    }
    return i == po->len;
}
