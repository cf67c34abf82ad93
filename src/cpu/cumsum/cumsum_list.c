/* Implementations of running sums on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

extern const dtp_impl_t dtp_cpu_cumsum__any, dtp_cpu_cumsum__ref;

const dtp_impl_t *const dtp_cpu_cumsum_list[] = {&dtp_cpu_cumsum__any, &dtp_cpu_cumsum__ref, NULL};
