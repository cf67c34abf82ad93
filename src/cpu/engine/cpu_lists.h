/* Ordered implementation lists of the CPU engine, one per primitive kind: fastest first, reference last,
 * NULL-terminated. The first whose pd_init takes the problem wins. */
#ifndef DTP_CPU_ENGINE_CPU_LISTS_H
#define DTP_CPU_ENGINE_CPU_LISTS_H

#include "common/primitive/primitive_desc.h"

extern const dtp_impl_t *const dtp_cpu_matmul_list[];
extern const dtp_impl_t *const dtp_cpu_inner_product_list[];
extern const dtp_impl_t *const dtp_cpu_softmax_list[];
extern const dtp_impl_t *const dtp_cpu_layer_norm_list[];
extern const dtp_impl_t *const dtp_cpu_eltwise_list[];
extern const dtp_impl_t *const dtp_cpu_binary_list[];
extern const dtp_impl_t *const dtp_cpu_reduction_list[];
extern const dtp_impl_t *const dtp_cpu_reorder_list[];
extern const dtp_impl_t *const dtp_cpu_concat_list[];
extern const dtp_impl_t *const dtp_cpu_sum_list[];
extern const dtp_impl_t *const dtp_cpu_gather_list[];
extern const dtp_impl_t *const dtp_cpu_attention_list[];
extern const dtp_impl_t *const dtp_cpu_pool_normalize_list[];

#endif
