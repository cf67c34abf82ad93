/* Chooses the table of vector operations; see vops.h. */
#include "cpu/simd/vops.h"

#include "common/primitive/engine.h"
#include "common/primitive/op_desc.h"

extern const dtp_vops_t dtp_vops__avx512, dtp_vops__avx2, dtp_vops__portable;

const dtp_vops_t *dtp_vops(unsigned isa) {
#if DTP_X64
    if (isa & DTP_ISA_AVX512) return &dtp_vops__avx512;
    if (isa & DTP_ISA_AVX2) return &dtp_vops__avx2;
#endif
    (void)isa;
    return &dtp_vops__portable;
}

dtp_eltwise_fn_t dtp_vops_eltwise(const dtp_vops_t *v, int alg) {
    switch (alg) {
    case dnnl_tp_eltwise_relu_use_dst_for_bwd: alg = dnnl_tp_eltwise_relu; break;
    case dnnl_tp_eltwise_tanh_use_dst_for_bwd: alg = dnnl_tp_eltwise_tanh; break;
    case dnnl_tp_eltwise_elu_use_dst_for_bwd: alg = dnnl_tp_eltwise_elu; break;
    case dnnl_tp_eltwise_sqrt_use_dst_for_bwd: alg = dnnl_tp_eltwise_sqrt; break;
    case dnnl_tp_eltwise_logistic_use_dst_for_bwd: alg = dnnl_tp_eltwise_logistic; break;
    case dnnl_tp_eltwise_exp_use_dst_for_bwd: alg = dnnl_tp_eltwise_exp; break;
    case dnnl_tp_eltwise_clip_v2_use_dst_for_bwd: alg = dnnl_tp_eltwise_clip_v2; break;
    case DTP_ELTWISE_ERF: return v->eltwise[DTP_VOPS_NELTWISE - 1];
    default: break;
    }
    int i = alg - dnnl_tp_eltwise_relu;
    return i >= 0 && i < DTP_VOPS_NELTWISE - 1 ? v->eltwise[i] : 0;
}

dtp_binary_fn_t dtp_vops_binary(const dtp_vops_t *v, int alg) {
    int i = alg - dnnl_tp_binary_add;
    return i >= 0 && i < DTP_VOPS_NBINARY - 1 ? v->binary[i] : 0;
}

dtp_binary_fn_t dtp_vops_prelu(const dtp_vops_t *v) { return v->binary[DTP_VOPS_NBINARY - 1]; }
