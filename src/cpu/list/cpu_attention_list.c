/* Implementations of attention on the CPU, fastest first. */
#include "cpu/list/cpu_lists.h"

const dtp_impl_t *const dtp_cpu_attention_list[] = {NULL};
