/* Implementations of matmul on the CPU, fastest first. */
#include "cpu/list/cpu_lists.h"

extern const dtp_impl_t dtp_cpu_matmul__ref;

const dtp_impl_t *const dtp_cpu_matmul_list[] = {&dtp_cpu_matmul__ref, NULL};
