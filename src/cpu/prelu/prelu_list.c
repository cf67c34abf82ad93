/* Implementations of prelu on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

extern const dtp_impl_t dtp_cpu_prelu__avx512, dtp_cpu_prelu__avx2, dtp_cpu_prelu__any, dtp_cpu_prelu__ref;

const dtp_impl_t *const dtp_cpu_prelu_list[] = {&dtp_cpu_prelu__avx512, &dtp_cpu_prelu__avx2,
                                                &dtp_cpu_prelu__any, &dtp_cpu_prelu__ref, NULL};
