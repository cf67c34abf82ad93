/* Chains of post-operations that the micro-kernels compute themselves: [relu] [addend] [relu or
 * clip] [any eltwise] on an f32 dst with dense columns. Shared by products and convolutions. */
#ifndef DTP_CPU_GEMM_FUSED_H
#define DTP_CPU_GEMM_FUSED_H

#include "cpu/postops/postops.h"
#include "cpu/ukr/ukr.h"

typedef struct {
    uint32_t flags; /* DTP_UKR_RELU_FIRST, DTP_UKR_FLOOR, DTP_UKR_CAP, DTP_UKR_ADD_BF16 */
    float floor, cap;
    bool has_add, add_is_c; /* there is an addend; it is the old dst */
    float add_scale;
    int add_arg;                        /* dense index of the addend */
    int64_t add_row_stride, add_offset; /* elements */
    dtp_eltwise_fn_t act;               /* last step, in place on dst; or NULL */
    float act_alpha, act_beta;
} dtp_fused_t;

/* False: the chain has another form. passes: the sums may take several passes; the old dst (which
 * the addend may be) is added in the first pass, before any relu. bf16: the addend may be bf16. */
bool dtp_fused_init(dtp_fused_t *f, const dtp_postops_t *po, bool passes, bool bf16);
/* Adds DTP_UKR_*_BF16 for types of dst and bias; false: the kernels do not support them. */
bool dtp_fused_types(const dtp_ukr_set_t *ukr, dnnl_tp_data_type_t dst, dnnl_tp_data_type_t bia,
                     uint32_t *flags);

#endif
