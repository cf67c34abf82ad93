/** @file
 * dnnl_tp: engines, streams, memory, attributes, primitives.
 *
 * The calls, their argument orders and their meaning are those of oneDNN v3's C API. Threads: a stream
 * carries the caller's pool, see dnnl_tp_threadpool.h. Graphs of operators: dnnl_tp_graph.h.
 *
 * Rules for every call: it returns a status; on failure output handles are NULL, tensors are untouched, and
 * dnnl_tp_last_error() says what was got and what is needed. Objects may be destroyed in any order. */
#ifndef DNNL_TP_H
#define DNNL_TP_H

#include "dnnl_tp/dnnl_tp_types.h"
#include "dnnl_tp/dnnl_tp_version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Service ----------------------------------------------------------------------------------- */

DNNL_TP_API const dnnl_tp_version_t *dnnl_tp_version(void);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_set_verbose(int level);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_get_default_fpmath_mode(dnnl_tp_fpmath_mode_t *mode);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_set_default_fpmath_mode(dnnl_tp_fpmath_mode_t mode);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_set_max_cpu_isa(dnnl_tp_cpu_isa_t isa);

DNNL_TP_API dnnl_tp_cpu_isa_t dnnl_tp_get_effective_cpu_isa(void);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_get_primitive_cache_capacity(int *capacity);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_set_primitive_cache_capacity(int capacity);

/* ---- Names of enumerators ---------------------------------------------------------------------- */

DNNL_TP_API const char *dnnl_tp_status2str(dnnl_tp_status_t v);

DNNL_TP_API const char *dnnl_tp_dt2str(dnnl_tp_data_type_t v);

DNNL_TP_API const char *dnnl_tp_fpmath_mode2str(dnnl_tp_fpmath_mode_t v);

DNNL_TP_API const char *dnnl_tp_accumulation_mode2str(dnnl_tp_accumulation_mode_t v);

DNNL_TP_API const char *dnnl_tp_engine_kind2str(dnnl_tp_engine_kind_t v);

DNNL_TP_API const char *dnnl_tp_fmt_kind2str(dnnl_tp_format_kind_t v);

DNNL_TP_API const char *dnnl_tp_fmt_tag2str(dnnl_tp_format_tag_t v);

DNNL_TP_API const char *dnnl_tp_prop_kind2str(dnnl_tp_prop_kind_t v);

DNNL_TP_API const char *dnnl_tp_prim_kind2str(dnnl_tp_primitive_kind_t v);

DNNL_TP_API const char *dnnl_tp_alg_kind2str(dnnl_tp_alg_kind_t v);

DNNL_TP_API const char *dnnl_tp_scratchpad_mode2str(dnnl_tp_scratchpad_mode_t v);

DNNL_TP_API const char *dnnl_tp_cpu_isa2str(dnnl_tp_cpu_isa_t v);

DNNL_TP_API const char *dnnl_tp_runtime2str(unsigned v);

/* ---- Engines ----------------------------------------------------------------------------------- */

DNNL_TP_API size_t dnnl_tp_engine_get_count(dnnl_tp_engine_kind_t kind);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_engine_create(dnnl_tp_engine_t *engine, dnnl_tp_engine_kind_t kind,
                                                       size_t index);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_engine_get_kind(dnnl_tp_engine_t engine,
                                                         dnnl_tp_engine_kind_t *kind);

DNNL_TP_API dnnl_tp_status_t dnnl_tp_engine_destroy(dnnl_tp_engine_t engine);

/* ---- Streams ----------------------------------------------------------------------------------- */

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_create(dnnl_tp_stream_t *stream, dnnl_tp_engine_t engine,
                                                       unsigned flags);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_get_engine(const_dnnl_tp_stream_t stream,
                                                           dnnl_tp_engine_t *engine);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_wait(dnnl_tp_stream_t stream);

DNNL_TP_API dnnl_tp_status_t dnnl_tp_stream_destroy(dnnl_tp_stream_t stream);

/* ---- Memory descriptors ------------------------------------------------------------------------ */

DNNL_TP_API dnnl_tp_status_t dnnl_tp_memory_desc_destroy(dnnl_tp_memory_desc_t memory_desc);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_desc_clone(dnnl_tp_memory_desc_t *memory_desc,
                                                           const_dnnl_tp_memory_desc_t existing_memory_desc);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_desc_get_blob(uint8_t *blob, size_t *size,
                                                              const_dnnl_tp_memory_desc_t memory_desc);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_desc_create_with_blob(dnnl_tp_memory_desc_t *memory_desc,
                                                                      const uint8_t *blob);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_desc_create_with_strides(dnnl_tp_memory_desc_t *memory_desc,
                                                                         int ndims, const dnnl_tp_dims_t dims,
                                                                         dnnl_tp_data_type_t data_type,
                                                                         const dnnl_tp_dims_t strides);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_desc_create_with_tag(dnnl_tp_memory_desc_t *memory_desc,
                                                                     int ndims, const dnnl_tp_dims_t dims,
                                                                     dnnl_tp_data_type_t data_type,
                                                                     dnnl_tp_format_tag_t tag);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_desc_create_submemory(
    dnnl_tp_memory_desc_t *memory_desc, const_dnnl_tp_memory_desc_t parent_memory_desc,
    const dnnl_tp_dims_t dims, const dnnl_tp_dims_t offsets);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_desc_reshape(dnnl_tp_memory_desc_t *out_memory_desc,
                                                             const_dnnl_tp_memory_desc_t in_memory_desc,
                                                             int ndims, const dnnl_tp_dims_t dims);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_desc_permute_axes(dnnl_tp_memory_desc_t *out_memory_desc,
                                                                  const_dnnl_tp_memory_desc_t in_memory_desc,
                                                                  const int *permutation);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_desc_query(const_dnnl_tp_memory_desc_t memory_desc,
                                                           dnnl_tp_query_t what, void *result);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_desc_query_v2(const_dnnl_tp_memory_desc_t memory_desc,
                                                              dnnl_tp_query_t what, int index, void *result);

DNNL_TP_API int dnnl_tp_memory_desc_equal(const_dnnl_tp_memory_desc_t lhs, const_dnnl_tp_memory_desc_t rhs);

DNNL_TP_API size_t dnnl_tp_memory_desc_get_size(const_dnnl_tp_memory_desc_t memory_desc);

DNNL_TP_API size_t dnnl_tp_memory_desc_get_size_v2(const_dnnl_tp_memory_desc_t memory_desc, int index);

DNNL_TP_API size_t dnnl_tp_data_type_size(dnnl_tp_data_type_t data_type);

/* ---- Memory ------------------------------------------------------------------------------------ */

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_create(dnnl_tp_memory_t *memory,
                                                       const_dnnl_tp_memory_desc_t memory_desc,
                                                       dnnl_tp_engine_t engine, void *handle);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_create_v2(dnnl_tp_memory_t *memory,
                                                          const_dnnl_tp_memory_desc_t memory_desc,
                                                          dnnl_tp_engine_t engine, int nhandles,
                                                          void **handles);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_get_memory_desc(const_dnnl_tp_memory_t memory,
                                                                const_dnnl_tp_memory_desc_t *memory_desc);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_get_engine(const_dnnl_tp_memory_t memory,
                                                           dnnl_tp_engine_t *engine);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_map_data(const_dnnl_tp_memory_t memory, void **mapped_ptr);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_map_data_v2(const_dnnl_tp_memory_t memory, void **mapped_ptr,
                                                            int index);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_unmap_data(const_dnnl_tp_memory_t memory, void *mapped_ptr);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_unmap_data_v2(const_dnnl_tp_memory_t memory, void *mapped_ptr,
                                                              int index);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_get_data_handle(const_dnnl_tp_memory_t memory, void **handle);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_set_data_handle(dnnl_tp_memory_t memory, void *handle);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_get_data_handle_v2(const_dnnl_tp_memory_t memory,
                                                                   void **handle, int index);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_set_data_handle_v2(dnnl_tp_memory_t memory, void *handle,
                                                                   int index);

DNNL_TP_API dnnl_tp_status_t dnnl_tp_memory_destroy(dnnl_tp_memory_t memory);

/* ---- Attributes -------------------------------------------------------------------------------- */

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_create(dnnl_tp_primitive_attr_t *attr);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_clone(dnnl_tp_primitive_attr_t *attr,
                                                              const_dnnl_tp_primitive_attr_t existing_attr);

DNNL_TP_API dnnl_tp_status_t dnnl_tp_primitive_attr_destroy(dnnl_tp_primitive_attr_t attr);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_get_fpmath_mode(const_dnnl_tp_primitive_attr_t attr,
                                                                        dnnl_tp_fpmath_mode_t *mode);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_fpmath_mode(dnnl_tp_primitive_attr_t attr,
                                                                        dnnl_tp_fpmath_mode_t mode);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_get_fpmath_mode_v2(
    const_dnnl_tp_primitive_attr_t attr, dnnl_tp_fpmath_mode_t *mode, int *apply_to_int);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_fpmath_mode_v2(dnnl_tp_primitive_attr_t attr,
                                                                           dnnl_tp_fpmath_mode_t mode,
                                                                           int apply_to_int);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_get_deterministic(const_dnnl_tp_primitive_attr_t attr,
                                                                          int *value);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_deterministic(dnnl_tp_primitive_attr_t attr,
                                                                          int value);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_get_accumulation_mode(
    const_dnnl_tp_primitive_attr_t attr, dnnl_tp_accumulation_mode_t *mode);

DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_primitive_attr_set_accumulation_mode(dnnl_tp_primitive_attr_t attr, dnnl_tp_accumulation_mode_t mode);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_get_scratchpad_mode(
    const_dnnl_tp_primitive_attr_t attr, dnnl_tp_scratchpad_mode_t *mode);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_scratchpad_mode(dnnl_tp_primitive_attr_t attr,
                                                                            dnnl_tp_scratchpad_mode_t mode);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_scales_mask(dnnl_tp_primitive_attr_t attr,
                                                                        int arg, int mask);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_scales(dnnl_tp_primitive_attr_t attr, int arg,
                                                                   int mask, int group_ndims,
                                                                   const dnnl_tp_dims_t group_dims,
                                                                   dnnl_tp_data_type_t data_type);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_scales_v3(
    dnnl_tp_primitive_attr_t attr, int arg, int mask, int ndims, const dnnl_tp_dims_t group_dims,
    dnnl_tp_data_type_t data_type, int is_on_host, dnnl_tp_quantization_mode_t qmode);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_zero_points_mask(dnnl_tp_primitive_attr_t attr,
                                                                             int arg, int mask);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_zero_points(dnnl_tp_primitive_attr_t attr,
                                                                        int arg, int mask, int group_ndims,
                                                                        const dnnl_tp_dims_t group_dims,
                                                                        dnnl_tp_data_type_t data_type);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_zero_points_v2(dnnl_tp_primitive_attr_t attr,
                                                                           int arg, int mask, int ndims,
                                                                           const dnnl_tp_dims_t group_dims,
                                                                           dnnl_tp_data_type_t data_type,
                                                                           int is_on_host);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_get_post_ops(const_dnnl_tp_primitive_attr_t attr,
                                                                     const_dnnl_tp_post_ops_t *post_ops);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_post_ops(dnnl_tp_primitive_attr_t attr,
                                                                     const_dnnl_tp_post_ops_t post_ops);

/* ---- Post-operations --------------------------------------------------------------------------- */

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_post_ops_create(dnnl_tp_post_ops_t *post_ops);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_post_ops_clone(dnnl_tp_post_ops_t *post_ops,
                                                        const_dnnl_tp_post_ops_t existing_post_ops);

DNNL_TP_API dnnl_tp_status_t dnnl_tp_post_ops_destroy(dnnl_tp_post_ops_t post_ops);

DNNL_TP_API int dnnl_tp_post_ops_len(const_dnnl_tp_post_ops_t post_ops);

DNNL_TP_API dnnl_tp_primitive_kind_t dnnl_tp_post_ops_get_kind(const_dnnl_tp_post_ops_t post_ops, int index);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_post_ops_append_sum(dnnl_tp_post_ops_t post_ops, float scale,
                                                             int32_t zero_point,
                                                             dnnl_tp_data_type_t data_type);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_post_ops_get_params_sum(const_dnnl_tp_post_ops_t post_ops, int index,
                                                                 float *scale, int32_t *zero_point,
                                                                 dnnl_tp_data_type_t *data_type);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_post_ops_append_eltwise(dnnl_tp_post_ops_t post_ops,
                                                                 dnnl_tp_alg_kind_t alg_kind, float alpha,
                                                                 float beta);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_post_ops_get_params_eltwise(const_dnnl_tp_post_ops_t post_ops,
                                                                     int index, dnnl_tp_alg_kind_t *alg_kind,
                                                                     float *alpha, float *beta);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_post_ops_append_binary(dnnl_tp_post_ops_t post_ops,
                                                                dnnl_tp_alg_kind_t alg_kind,
                                                                const_dnnl_tp_memory_desc_t src1_desc);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_post_ops_append_binary_v2(dnnl_tp_post_ops_t post_ops,
                                                                   dnnl_tp_alg_kind_t alg_kind,
                                                                   const_dnnl_tp_memory_desc_t src1_desc,
                                                                   const_dnnl_tp_memory_desc_t src2_desc);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_post_ops_get_params_binary(const_dnnl_tp_post_ops_t post_ops,
                                                                    int index, dnnl_tp_alg_kind_t *alg_kind,
                                                                    const_dnnl_tp_memory_desc_t *src1_desc);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_post_ops_get_params_binary_v2(
    const_dnnl_tp_post_ops_t post_ops, int index, dnnl_tp_alg_kind_t *alg_kind,
    const_dnnl_tp_memory_desc_t *src1_desc, const_dnnl_tp_memory_desc_t *src2_desc);

/* ---- Primitive descriptors --------------------------------------------------------------------- */

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_desc_next_impl(dnnl_tp_primitive_desc_t primitive_desc);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_desc_clone(
    dnnl_tp_primitive_desc_t *primitive_desc, const_dnnl_tp_primitive_desc_t existing_primitive_desc);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_desc_get_attr(
    const_dnnl_tp_primitive_desc_t primitive_desc, const_dnnl_tp_primitive_attr_t *attr);

DNNL_TP_API dnnl_tp_status_t dnnl_tp_primitive_desc_destroy(dnnl_tp_primitive_desc_t primitive_desc);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_desc_query(const_dnnl_tp_primitive_desc_t primitive_desc,
                                                              dnnl_tp_query_t what, int index, void *result);

DNNL_TP_API const_dnnl_tp_memory_desc_t dnnl_tp_primitive_desc_query_md(
    const_dnnl_tp_primitive_desc_t primitive_desc, dnnl_tp_query_t what, int index);

DNNL_TP_API int dnnl_tp_primitive_desc_query_s32(const_dnnl_tp_primitive_desc_t primitive_desc,
                                                 dnnl_tp_query_t what, int index);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_reorder_primitive_desc_create(
    dnnl_tp_primitive_desc_t *reorder_primitive_desc, const_dnnl_tp_memory_desc_t src_desc,
    dnnl_tp_engine_t src_engine, const_dnnl_tp_memory_desc_t dst_desc, dnnl_tp_engine_t dst_engine,
    const_dnnl_tp_primitive_attr_t attr);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_concat_primitive_desc_create(
    dnnl_tp_primitive_desc_t *concat_primitive_desc, dnnl_tp_engine_t engine,
    const_dnnl_tp_memory_desc_t dst_desc, int n, int concat_dimension,
    const_dnnl_tp_memory_desc_t const *src_descs, const_dnnl_tp_primitive_attr_t attr);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_sum_primitive_desc_create(
    dnnl_tp_primitive_desc_t *sum_primitive_desc, dnnl_tp_engine_t engine,
    const_dnnl_tp_memory_desc_t dst_desc, int n, const float *scales,
    const_dnnl_tp_memory_desc_t const *src_descs, const_dnnl_tp_primitive_attr_t attr);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_binary_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_alg_kind_t alg_kind,
    const_dnnl_tp_memory_desc_t src0_desc, const_dnnl_tp_memory_desc_t src1_desc,
    const_dnnl_tp_memory_desc_t dst_desc, const_dnnl_tp_primitive_attr_t attr);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_binary_primitive_desc_create_v2(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_alg_kind_t alg_kind,
    const_dnnl_tp_memory_desc_t src0_desc, const_dnnl_tp_memory_desc_t src1_desc,
    const_dnnl_tp_memory_desc_t src2_desc, const_dnnl_tp_memory_desc_t dst_desc,
    const_dnnl_tp_primitive_attr_t attr);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_eltwise_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    dnnl_tp_alg_kind_t alg_kind, const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc,
    float alpha, float beta, const_dnnl_tp_primitive_attr_t attr);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_softmax_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    dnnl_tp_alg_kind_t alg_kind, const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc,
    int softmax_axis, const_dnnl_tp_primitive_attr_t attr);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_layer_normalization_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc,
    const_dnnl_tp_memory_desc_t stat_desc, float epsilon, unsigned flags,
    const_dnnl_tp_primitive_attr_t attr);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_layer_normalization_forward_primitive_desc_create_v2(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc,
    const_dnnl_tp_memory_desc_t stat_desc, dnnl_tp_data_type_t scale_shift_data_type, float epsilon,
    unsigned flags, const_dnnl_tp_primitive_attr_t attr);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_inner_product_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t weights_desc,
    const_dnnl_tp_memory_desc_t bias_desc, const_dnnl_tp_memory_desc_t dst_desc,
    const_dnnl_tp_primitive_attr_t attr);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_matmul_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, const_dnnl_tp_memory_desc_t src_desc,
    const_dnnl_tp_memory_desc_t weights_desc, const_dnnl_tp_memory_desc_t bias_desc,
    const_dnnl_tp_memory_desc_t dst_desc, const_dnnl_tp_primitive_attr_t attr);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_reduction_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_alg_kind_t alg_kind,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc, float p, float eps,
    const_dnnl_tp_primitive_attr_t attr);

/* ---- Primitives -------------------------------------------------------------------------------- */

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_create(dnnl_tp_primitive_t *primitive,
                                                          const_dnnl_tp_primitive_desc_t primitive_desc);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_execute(const_dnnl_tp_primitive_t primitive,
                                                           dnnl_tp_stream_t stream, int nargs,
                                                           const dnnl_tp_exec_arg_t *args);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_get_primitive_desc(
    const_dnnl_tp_primitive_t primitive, const_dnnl_tp_primitive_desc_t *primitive_desc);

DNNL_TP_API dnnl_tp_status_t dnnl_tp_primitive_destroy(dnnl_tp_primitive_t primitive);

/* ---- BLAS -------------------------------------------------------------------------------------- */

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_sgemm(char transa, char transb, dnnl_tp_dim_t M, dnnl_tp_dim_t N,
                                               dnnl_tp_dim_t K, float alpha, const float *A,
                                               dnnl_tp_dim_t lda, const float *B, dnnl_tp_dim_t ldb,
                                               float beta, float *C, dnnl_tp_dim_t ldc);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_gemm_u8s8s32(char transa, char transb, char offsetc, dnnl_tp_dim_t M,
                                                      dnnl_tp_dim_t N, dnnl_tp_dim_t K, float alpha,
                                                      const uint8_t *A, dnnl_tp_dim_t lda, uint8_t ao,
                                                      const int8_t *B, dnnl_tp_dim_t ldb, int8_t bo,
                                                      float beta, int32_t *C, dnnl_tp_dim_t ldc,
                                                      const int32_t *co);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_gemm_s8s8s32(char transa, char transb, char offsetc, dnnl_tp_dim_t M,
                                                      dnnl_tp_dim_t N, dnnl_tp_dim_t K, float alpha,
                                                      const int8_t *A, dnnl_tp_dim_t lda, int8_t ao,
                                                      const int8_t *B, dnnl_tp_dim_t ldb, int8_t bo,
                                                      float beta, int32_t *C, dnnl_tp_dim_t ldc,
                                                      const int32_t *co);

/** Text of the last failure on this thread, "" if none. The pointer is good until the next failing call here.
 */
DNNL_TP_API const char *dnnl_tp_last_error(void);

/** Allocation callbacks. Both may be called from any thread; alloc returns NULL on failure. */
typedef struct {
    size_t struct_size;                                       /**< sizeof(dnnl_tp_allocator_t) */
    void *ctx;                                                /**< Passed to both. */
    void *(*alloc)(void *ctx, size_t size, size_t alignment); /**< alignment is a power of two */
    void (*free)(void *ctx, void *ptr);                       /**< ptr is never NULL */
} dnnl_tp_allocator_t;

/** Process-wide allocator for objects made without an engine; before the first object exists. NULL = the
 * library's own. Errors: invalid_arguments when objects exist or a member is NULL. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_set_allocator(const dnnl_tp_allocator_t *allocator);

/** Receives verbose lines instead of stdout; NULL ends that. Called from any thread, one line without
 * newline. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_set_verbose_callback(void (*fn)(void *arg, const char *line),
                                                              void *arg);

/** Executes with plain pointers: no memory objects, no allocation. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_execute_handles(const_dnnl_tp_primitive_t primitive,
                                                                   dnnl_tp_stream_t stream, int nargs,
                                                                   const dnnl_tp_exec_handle_t *args);

/** memory_create whose possible initialisation runs on the stream. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_create_on_stream(dnnl_tp_memory_t *memory,
                                                                 const_dnnl_tp_memory_desc_t memory_desc,
                                                                 dnnl_tp_engine_t engine, void *handle,
                                                                 dnnl_tp_stream_t stream);
/** set_data_handle ordered after the stream's submitted work; zeroes the padding of blocked layouts. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_set_data_handle_on_stream(dnnl_tp_memory_t memory,
                                                                          void *handle,
                                                                          dnnl_tp_stream_t stream);

/** Fixes the thread count of primitives made with this attribute, 1..256; 0 = unset again. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_num_threads(dnnl_tp_primitive_attr_t attr,
                                                                        int num_threads);
/** Thread count that the descriptor resolved at creation. */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_primitive_desc_get_num_threads(const_dnnl_tp_primitive_desc_t primitive_desc, int *num_threads);

#ifdef __cplusplus
}
#endif

#endif
