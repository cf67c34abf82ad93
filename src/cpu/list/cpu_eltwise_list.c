/* Implementations of eltwise on the CPU, fastest first. */
#include "cpu/list/cpu_lists.h"

const dtp_impl_t *const dtp_cpu_eltwise_list[] = {NULL};
