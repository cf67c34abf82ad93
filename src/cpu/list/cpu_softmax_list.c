/* Implementations of softmax on the CPU, fastest first. */
#include "cpu/list/cpu_lists.h"

const dtp_impl_t *const dtp_cpu_softmax_list[] = {NULL};
