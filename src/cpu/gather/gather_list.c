/* Implementations of gather on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

extern const dtp_impl_t dtp_cpu_gather__avx512, dtp_cpu_gather__avx2, dtp_cpu_gather__ref;

const dtp_impl_t *const dtp_cpu_gather_list[] = {
#if DTP_X64
    &dtp_cpu_gather__avx512, &dtp_cpu_gather__avx2,
#endif
    &dtp_cpu_gather__ref, NULL};
