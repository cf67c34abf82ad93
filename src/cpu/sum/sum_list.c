/* Implementations of sum on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

extern const dtp_impl_t dtp_cpu_sum__avx512, dtp_cpu_sum__avx2, dtp_cpu_sum__any, dtp_cpu_sum__ref;

const dtp_impl_t *const dtp_cpu_sum_list[] = {&dtp_cpu_sum__avx512, &dtp_cpu_sum__avx2, &dtp_cpu_sum__any,
                                              &dtp_cpu_sum__ref, NULL};
