/* The calls that the harness makes, as a table: ours is filled by the linker, the peer's by dlsym. The peer
 * has the same signatures, structures and enumerators under the prefix dnnl_, so drivers are written once.
 *
 * Entries marked 0 may be missing in a peer (older versions); callers test them. */
#ifndef BD_API_H
#define BD_API_H

#include "common/bench.h"

/* clang-format off */
#define BD_API_CALLS(X)                                        \
    X(1, engine_create)                                        \
    X(1, engine_destroy)                                       \
    X(1, stream_create)                                        \
    X(1, stream_wait)                                          \
    X(1, stream_destroy)                                       \
    X(1, memory_desc_destroy)                                  \
    X(1, memory_desc_create_with_strides)                      \
    X(1, memory_desc_create_with_tag)                          \
    X(1, memory_desc_query)                                    \
    X(1, memory_map_data)                                      \
    X(1, memory_unmap_data)                                    \
    X(1, memory_get_data_handle)                               \
    X(1, memory_desc_equal)                                    \
    X(1, memory_desc_get_size)                                 \
    X(1, memory_create)                                        \
    X(1, memory_set_data_handle)                               \
    X(1, memory_destroy)                                       \
    X(1, primitive_attr_create)                                \
    X(1, primitive_attr_destroy)                               \
    X(1, primitive_attr_set_fpmath_mode)                       \
    X(0, primitive_attr_set_fpmath_mode_v2)                    \
    X(0, primitive_attr_set_deterministic)                     \
    X(0, primitive_attr_set_accumulation_mode)                 \
    X(1, primitive_attr_set_scratchpad_mode)                   \
    X(1, primitive_attr_set_scales_mask)                       \
    X(0, primitive_attr_set_scales)                            \
    X(1, primitive_attr_set_zero_points_mask)                  \
    X(0, primitive_attr_set_zero_points)                       \
    X(1, primitive_attr_set_post_ops)                          \
    X(1, post_ops_create)                                      \
    X(1, post_ops_destroy)                                     \
    X(1, post_ops_append_sum)                                  \
    X(1, post_ops_append_eltwise)                              \
    X(1, post_ops_append_binary)                               \
    X(0, post_ops_append_binary_v2)                            \
    X(0, post_ops_append_prelu)                                \
    X(1, primitive_desc_next_impl)                             \
    X(1, primitive_desc_destroy)                               \
    X(1, primitive_desc_query)                                 \
    X(1, primitive_desc_query_md)                              \
    X(1, reorder_primitive_desc_create)                        \
    X(1, concat_primitive_desc_create)                         \
    X(1, sum_primitive_desc_create)                            \
    X(1, binary_primitive_desc_create)                         \
    X(0, binary_primitive_desc_create_v2)                      \
    X(1, eltwise_forward_primitive_desc_create)                \
    X(1, prelu_forward_primitive_desc_create)                  \
    X(1, batch_normalization_forward_primitive_desc_create)    \
    X(0, group_normalization_forward_primitive_desc_create)    \
    X(1, lrn_forward_primitive_desc_create)                    \
    X(1, pooling_forward_primitive_desc_create)                \
    X(1, softmax_forward_primitive_desc_create)                \
    X(1, layer_normalization_forward_primitive_desc_create)    \
    X(0, layer_normalization_forward_primitive_desc_create_v2) \
    X(1, inner_product_forward_primitive_desc_create)          \
    X(1, convolution_forward_primitive_desc_create)            \
    X(1, deconvolution_forward_primitive_desc_create)          \
    X(1, resampling_forward_primitive_desc_create)             \
    X(1, shuffle_forward_primitive_desc_create)                \
    X(1, matmul_primitive_desc_create)                         \
    X(1, reduction_primitive_desc_create)                      \
    X(1, primitive_create)                                     \
    X(1, primitive_execute)                                    \
    X(1, primitive_destroy)                                    \
    X(1, set_primitive_cache_capacity)                         \
    X(1, set_max_cpu_isa)                                      \
    X(1, fmt_tag2str)                                          \
    X(1, status2str)                                           \
    X(1, version)
/* clang-format on */

typedef struct bd_api {
    bool is_peer;
#define BD_API_MEMBER(required, name) __typeof__(dnnl_tp_##name) *name;
    BD_API_CALLS(BD_API_MEMBER)
#undef BD_API_MEMBER
} bd_api_t;

extern const bd_api_t bd_ours;

#endif
