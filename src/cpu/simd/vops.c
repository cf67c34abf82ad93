/* Chooses the table of vector operations; see vops.h. */
#include "cpu/simd/vops.h"

#include "common/primitive/engine.h"
#include "common/primitive/op_desc.h"

extern const dtp_vops_t dtp_vops__avx512, dtp_vops__avx2, dtp_vops__portable;
extern const dtp_exact_t dtp_exact__avx512[DTP_VOPS_NTYPES], dtp_exact__avx2[DTP_VOPS_NTYPES],
    dtp_exact__portable[DTP_VOPS_NTYPES];

const dtp_vops_t *dtp_vops(unsigned isa) { return DTP_BY_ISA(isa, &dtp_vops, &dtp_vops__portable); }

const dtp_exact_t *dtp_exact(unsigned isa, dnnl_tp_data_type_t dt) {
    return DTP_BY_ISA(isa, dtp_exact, dtp_exact__portable) + dt;
}

dtp_eltwise_fn_t dtp_vops_eltwise(const dtp_vops_t *v, int alg) {
    const int i = dtp_ew_unary(alg);
    return i >= 0 ? v->eltwise[i] : 0;
}

dtp_binary_fn_t dtp_vops_binary(const dtp_vops_t *v, int alg) {
    const int i = dtp_ew_binary(alg);
    return i >= 0 ? v->binary[i] : 0;
}
