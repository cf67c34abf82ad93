/* Implementations of element-wise operations on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

extern const dtp_impl_t dtp_cpu_eltwise__avx512, dtp_cpu_eltwise__avx2, dtp_cpu_eltwise__ref;
extern const dtp_impl_t dtp_cpu_eltwise_exact__avx512, dtp_cpu_eltwise_exact__avx2,
    dtp_cpu_eltwise_exact__any;

const dtp_impl_t *const dtp_cpu_eltwise_list[] = {
#if DTP_X64
    &dtp_cpu_eltwise__avx512,     &dtp_cpu_eltwise__avx2, &dtp_cpu_eltwise_exact__avx512,
    &dtp_cpu_eltwise_exact__avx2,
#endif
    &dtp_cpu_eltwise_exact__any,  &dtp_cpu_eltwise__ref,  NULL};
