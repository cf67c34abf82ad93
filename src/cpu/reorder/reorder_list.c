/* Implementations of reorder on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

extern const dtp_impl_t dtp_cpu_reorder__avx512, dtp_cpu_reorder__avx2, dtp_cpu_reorder__any,
    dtp_cpu_reorder__ref;

const dtp_impl_t *const dtp_cpu_reorder_list[] = {&dtp_cpu_reorder__avx512, &dtp_cpu_reorder__avx2,
                                                  &dtp_cpu_reorder__any, &dtp_cpu_reorder__ref, NULL};
