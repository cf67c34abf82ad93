/* Implementations of pooling on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

extern const dtp_impl_t dtp_cpu_pooling__avx512, dtp_cpu_pooling__avx2, dtp_cpu_pooling__any,
    dtp_cpu_pooling__exact, dtp_cpu_pooling__ref;

const dtp_impl_t *const dtp_cpu_pooling_list[] = {
#if DTP_X64
    &dtp_cpu_pooling__avx512, &dtp_cpu_pooling__avx2,
#endif
    &dtp_cpu_pooling__any,    &dtp_cpu_pooling__exact, &dtp_cpu_pooling__ref, NULL};
