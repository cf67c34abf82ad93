/* Implementations of gather on the CPU, fastest first. */
#include "cpu/list/cpu_lists.h"

const dtp_impl_t *const dtp_cpu_gather_list[] = {NULL};
