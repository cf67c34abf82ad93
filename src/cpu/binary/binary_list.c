/* Implementations of binary on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

extern const dtp_impl_t dtp_cpu_binary__avx512, dtp_cpu_binary__avx2, dtp_cpu_binary__any,
    dtp_cpu_binary__ref;

const dtp_impl_t *const dtp_cpu_binary_list[] = {&dtp_cpu_binary__avx512, &dtp_cpu_binary__avx2,
                                                 &dtp_cpu_binary__any, &dtp_cpu_binary__ref, NULL};
