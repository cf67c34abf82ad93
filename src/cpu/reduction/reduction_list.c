/* Implementations of reduction on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

extern const dtp_impl_t dtp_cpu_reduction__avx512, dtp_cpu_reduction__avx2, dtp_cpu_reduction__any,
    dtp_cpu_reduction__ref;

const dtp_impl_t *const dtp_cpu_reduction_list[] = {&dtp_cpu_reduction__avx512, &dtp_cpu_reduction__avx2,
                                                    &dtp_cpu_reduction__any, &dtp_cpu_reduction__ref, NULL};
