/* Implementations of inner_product on the CPU, fastest first. */
#include "cpu/list/cpu_lists.h"

const dtp_impl_t *const dtp_cpu_inner_product_list[] = {NULL};
