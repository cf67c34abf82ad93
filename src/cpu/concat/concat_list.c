/* Implementations of concat on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

extern const dtp_impl_t dtp_cpu_concat__avx512, dtp_cpu_concat__avx2, dtp_cpu_concat__any,
    dtp_cpu_concat__ref;

const dtp_impl_t *const dtp_cpu_concat_list[] = {&dtp_cpu_concat__avx512, &dtp_cpu_concat__avx2,
                                                 &dtp_cpu_concat__any, &dtp_cpu_concat__ref, NULL};
