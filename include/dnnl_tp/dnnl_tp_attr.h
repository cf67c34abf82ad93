/** @file
 * Attributes of primitives and chains of post-operations.
 *
 * Included by dnnl_tp.h, which also states the rules for every call. With attributes a primitive
 * computes, all in f32, x = scale_src * scale_wei * op(src - zp_src, wei - zp_wei) (+ bias), then
 * the post-operations in order, then dst = saturate(round_half_even(x / scale_dst + zp_dst)).
 * Source: oneDNN v3's numerical model. The pages in doc/primitives list the attributes of each
 * kind. */
#ifndef DNNL_TP_ATTR_H
#define DNNL_TP_ATTR_H

#include "dnnl_tp/dnnl_tp_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Attributes ------------------------------------------------------------------------------ */

/** Creates attributes with default values. Calls that create primitive descriptors copy attributes,
 * and take NULL for the defaults. Thread-safe.
 *
 * @param[out] attr owned by the caller; NULL on failure
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_create(dnnl_tp_primitive_attr_t *attr);

/** Copies attributes. Thread-safe.
 *
 * @param[out] attr owned by the caller; NULL on failure
 * @param existing_attr the original
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_clone(
    dnnl_tp_primitive_attr_t *attr, const_dnnl_tp_primitive_attr_t existing_attr);

/** Frees attributes that the caller owns. Thread-safe.
 *
 * @param attr NULL or attributes
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_primitive_attr_destroy(dnnl_tp_primitive_attr_t attr);

/** Sets the thread count of primitives with these attributes. It overrides the count of a pool in
 * the attributes, of the engine, and of the process. Thread-compatible.
 *
 * @param attr attributes
 * @param num_threads 1 to 256; 0 = unset
 * @return success; invalid_arguments (out of range). */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_primitive_attr_set_num_threads(dnnl_tp_primitive_attr_t attr, int num_threads);

/** Permits f32 computations in a lower precision. Thread-compatible.
 *
 * @param attr attributes
 * @param mode the permitted types; strict = none
 * @return success; invalid_arguments (not an enumerator). */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_primitive_attr_set_fpmath_mode(dnnl_tp_primitive_attr_t attr, dnnl_tp_fpmath_mode_t mode);

/** Gives the floating-point mode. Thread-safe.
 *
 * @param attr attributes
 * @param[out] mode the mode
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_get_fpmath_mode(
    const_dnnl_tp_primitive_attr_t attr, dnnl_tp_fpmath_mode_t *mode);

/** Like dnnl_tp_primitive_attr_set_fpmath_mode(), with a choice for integer tensors.
 * Thread-compatible.
 *
 * @param attr attributes
 * @param mode the permitted types
 * @param apply_to_int 1 = integer tensors may be converted to floating point; 0 = they may not
 * @return success; invalid_arguments (not an enumerator). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_fpmath_mode_v2(
    dnnl_tp_primitive_attr_t attr, dnnl_tp_fpmath_mode_t mode, int apply_to_int);

/** Gives the floating-point mode and whether it applies to integer tensors. Thread-safe.
 *
 * @param attr attributes
 * @param[out] mode the mode; may be NULL
 * @param[out] apply_to_int 0 or 1; may be NULL
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_get_fpmath_mode_v2(
    const_dnnl_tp_primitive_attr_t attr, dnnl_tp_fpmath_mode_t *mode, int *apply_to_int);

/** Asks for the same bits in every run. The attribute changes nothing, because results of this
 * library never depend on the number of threads or on timing, on CPUs and GPUs, with either value.
 * On a GPU, results are the same for one device, one version of the library and of the libraries
 * that it loads, and addresses that are equal modulo 16 (doc/gpu.md, Determinism).
 * Thread-compatible.
 *
 * @param attr attributes
 * @param value 0 or 1; other values count as 1
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_primitive_attr_set_deterministic(dnnl_tp_primitive_attr_t attr, int value);

/** Gives the determinism switch. Thread-safe.
 *
 * @param attr attributes
 * @param[out] value 0 or 1
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_primitive_attr_get_deterministic(const_dnnl_tp_primitive_attr_t attr, int *value);

/** Refuses reference implementations ("ref:any"), which take every type and layout, but are 10 to
 * 1000 times slower than optimized implementations: creation returns unimplemented instead. Without
 * this attribute, DNNL_TP_VERBOSE=dispatch writes a line when a reference first executes a problem
 * of more than 10,000 operations. Thread-compatible.
 *
 * @param attr attributes
 * @param value 0 (default) or 1; other values count as 1
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_primitive_attr_set_refuse_reference(dnnl_tp_primitive_attr_t attr, int value);

/** Tells whether reference implementations are refused. Thread-safe.
 *
 * @param attr attributes
 * @param[out] value 0 or 1
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_primitive_attr_get_refuse_reference(const_dnnl_tp_primitive_attr_t attr, int *value);

/** Gives a hint for the type of sums. strict means f32 for floating-point sources and s32 for
 * integers. Thread-compatible.
 *
 * @param attr attributes
 * @param mode the hint
 * @return success; invalid_arguments (not an enumerator). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_accumulation_mode(
    dnnl_tp_primitive_attr_t attr, dnnl_tp_accumulation_mode_t mode);

/** Gives the accumulation mode. Thread-safe.
 *
 * @param attr attributes
 * @param[out] mode the mode
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_get_accumulation_mode(
    const_dnnl_tp_primitive_attr_t attr, dnnl_tp_accumulation_mode_t *mode);

/** Chooses the provider of scratch memory. Thread-compatible.
 *
 * @param attr attributes
 * @param mode library (default): the stream; user: the caller, as argument DNNL_TP_ARG_SCRATCHPAD,
 *     which dnnl_tp_query_scratchpad_md describes
 * @return success; invalid_arguments (not an enumerator). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_scratchpad_mode(
    dnnl_tp_primitive_attr_t attr, dnnl_tp_scratchpad_mode_t mode);

/** Gives the scratchpad mode. Thread-safe.
 *
 * @param attr attributes
 * @param[out] mode the mode
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_get_scratchpad_mode(
    const_dnnl_tp_primitive_attr_t attr, dnnl_tp_scratchpad_mode_t *mode);

/** Sets f32 scales of an argument. Each execution passes their values as argument
 * DNNL_TP_ARG_ATTR_SCALES | arg. Thread-compatible.
 *
 * @param attr attributes
 * @param arg the scaled argument, for example DNNL_TP_ARG_WEIGHTS
 * @param mask bit d set = one scale for each index of dimension d; 0 = one scale
 * @return success; invalid_arguments (negative arg or mask). */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_primitive_attr_set_scales_mask(dnnl_tp_primitive_attr_t attr, int arg, int mask);

/** Sets scales of an argument with groups and a data type. Thread-compatible.
 *
 * @param attr attributes
 * @param arg the scaled argument
 * @param mask as in dnnl_tp_primitive_attr_set_scales_mask()
 * @param group_ndims 0 = no groups, or 2
 * @param group_dims group_ndims sizes: the numbers of elements of the last dimensions that share a
 *     scale
 * @param data_type f32, bf16 or f16; e8m0 or f8_e4m3, which no primitive takes, with a mask
 * @return success; invalid_arguments (arg, mask, groups without mask, or the type). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_scales(dnnl_tp_primitive_attr_t attr,
                                                                   int arg, int mask,
                                                                   int group_ndims,
                                                                   const dnnl_tp_dims_t group_dims,
                                                                   dnnl_tp_data_type_t data_type);

/** Like dnnl_tp_primitive_attr_set_scales(), in an older form of oneDNN. Thread-compatible.
 *
 * @param attr attributes
 * @param arg the scaled argument
 * @param mask as in dnnl_tp_primitive_attr_set_scales_mask()
 * @param ndims 0 = no groups, or 2
 * @param group_dims ndims sizes
 * @param data_type f32, bf16 or f16; e8m0 or f8_e4m3, which no primitive takes, with a mask
 * @param is_on_host 1 = executions pass the value as a host scalar
 *     (dnnl_tp_memory_create_host_scalar()); only with mask 0
 * @return success; invalid_arguments (arg, mask, groups without mask, or the type). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_scales_v2(
    dnnl_tp_primitive_attr_t attr, int arg, int mask, int ndims, const dnnl_tp_dims_t group_dims,
    dnnl_tp_data_type_t data_type, int is_on_host);

/** Like dnnl_tp_primitive_attr_set_scales(), in oneDNN's newest form. Thread-compatible.
 *
 * @param attr attributes
 * @param arg the scaled argument
 * @param mask as in dnnl_tp_primitive_attr_set_scales_mask()
 * @param ndims 0 = no groups, or 2
 * @param group_dims ndims sizes
 * @param data_type f32, bf16 or f16; e8m0 or f8_e4m3, which no primitive takes, with a mask
 * @param is_on_host 1 = executions pass the value as a host scalar
 *     (dnnl_tp_memory_create_host_scalar()); only with mask 0
 * @param qmode dnnl_tp_quantization_mode_static_sazp; dnnl_tp_quantization_mode_dynamic_mx or
 *     dnnl_tp_quantization_mode_dynamic_fp, which no primitive takes
 * @return success; invalid_arguments (arg, mask, groups without mask, the type or qmode). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_scales_v3(
    dnnl_tp_primitive_attr_t attr, int arg, int mask, int ndims, const dnnl_tp_dims_t group_dims,
    dnnl_tp_data_type_t data_type, int is_on_host, dnnl_tp_quantization_mode_t qmode);

/** Sets s32 zero points of an argument. Each execution passes their values as argument
 * DNNL_TP_ARG_ATTR_ZERO_POINTS | arg. Thread-compatible.
 *
 * @param attr attributes
 * @param arg DNNL_TP_ARG_SRC, DNNL_TP_ARG_WEIGHTS or DNNL_TP_ARG_DST
 * @param mask as in dnnl_tp_primitive_attr_set_scales_mask()
 * @return success; invalid_arguments (arg or mask). */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_primitive_attr_set_zero_points_mask(dnnl_tp_primitive_attr_t attr, int arg, int mask);

/** Sets zero points of an argument with groups and a data type. Thread-compatible.
 *
 * @param attr attributes
 * @param arg as in dnnl_tp_primitive_attr_set_zero_points_mask()
 * @param mask as in dnnl_tp_primitive_attr_set_scales_mask()
 * @param group_ndims 0 = no groups, or 2
 * @param group_dims group_ndims sizes
 * @param data_type s32; of SRC and WEIGHTS also s8, u8, and, which no primitive takes, with a mask
 *     s4 and u4
 * @return success; invalid_arguments (arg, mask, groups without mask, or the type). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_zero_points(
    dnnl_tp_primitive_attr_t attr, int arg, int mask, int group_ndims,
    const dnnl_tp_dims_t group_dims, dnnl_tp_data_type_t data_type);

/** Like dnnl_tp_primitive_attr_set_zero_points(), in oneDNN's newest form. Thread-compatible.
 *
 * @param attr attributes
 * @param arg as in dnnl_tp_primitive_attr_set_zero_points_mask()
 * @param mask as in dnnl_tp_primitive_attr_set_scales_mask()
 * @param ndims 0 = no groups, or 2
 * @param group_dims ndims sizes
 * @param data_type s32; of SRC and WEIGHTS also s8, u8, and, which no primitive takes, with a mask
 *     s4 and u4
 * @param is_on_host 1 = executions pass the value as a host scalar
 *     (dnnl_tp_memory_create_host_scalar()); only with mask 0
 * @return success; invalid_arguments (arg, mask, groups without mask, or the type). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_zero_points_v2(
    dnnl_tp_primitive_attr_t attr, int arg, int mask, int ndims, const dnnl_tp_dims_t group_dims,
    dnnl_tp_data_type_t data_type, int is_on_host);

/** Announces sums of a source as argument DNNL_TP_ARG_ATTR_PRECOMPUTED_REDUCTIONS | arg. No
 * primitive takes them: the creation of a primitive descriptor returns unimplemented.
 * Thread-compatible.
 *
 * @param attr attributes
 * @param arg DNNL_TP_ARG_SRC
 * @param mask as in dnnl_tp_primitive_attr_set_scales_mask()
 * @param group_ndims 0 = no groups, or 2
 * @param group_dims group_ndims sizes
 * @param data_type s32
 * @return success; invalid_arguments (arg, mask, groups without mask, or the type). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_precomputed_reductions(
    dnnl_tp_primitive_attr_t attr, int arg, int mask, int group_ndims,
    const dnnl_tp_dims_t group_dims, dnnl_tp_data_type_t data_type);

/** Chooses the rounding of a result to its type. Primitives round to nearest even; with stochastic
 * rounding the creation of a primitive descriptor returns unimplemented. Thread-compatible.
 *
 * @param attr attributes
 * @param arg DNNL_TP_ARG_DST, or oneDNN's numbers of gradients of the source and of weights
 * @param mode the mode; environment (default)
 * @return success; invalid_arguments (arg, or not an enumerator). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_rounding(dnnl_tp_primitive_attr_t attr,
                                                                     int arg,
                                                                     dnnl_tp_rounding_mode_t mode);

/** Gives the rounding of a result. Thread-safe.
 *
 * @param attr attributes
 * @param arg an argument
 * @param[out] mode the mode
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_get_rounding(dnnl_tp_primitive_attr_t attr,
                                                                     int arg,
                                                                     dnnl_tp_rounding_mode_t *mode);

/** Asks for dropout, whose mask goes to a tensor. No primitive supports it: the creation of a
 * primitive descriptor returns unimplemented. Thread-compatible.
 *
 * @param attr attributes
 * @param mask_desc descriptor of the mask; copied
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_dropout(
    dnnl_tp_primitive_attr_t attr, const_dnnl_tp_memory_desc_t mask_desc);

/** Like dnnl_tp_primitive_attr_set_dropout(), in oneDNN's newest form. Thread-compatible.
 *
 * @param attr attributes
 * @param mask_desc descriptor of the mask; copied; the zero descriptor = no mask is written
 * @param seed_dt s32 or s64
 * @param use_offset 1 = an offset of the random numbers is an argument
 * @param use_host_scalars 1 = probability, seed and offset are host scalars
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_dropout_v2(
    dnnl_tp_primitive_attr_t attr, const_dnnl_tp_memory_desc_t mask_desc,
    dnnl_tp_data_type_t seed_dt, int use_offset, int use_host_scalars);

/** Gives the descriptor of dropout's mask. Thread-safe.
 *
 * @param attr attributes
 * @param[out] mask_desc borrowed from the attributes; the zero descriptor if there is none
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_get_dropout(
    const_dnnl_tp_primitive_attr_t attr, const_dnnl_tp_memory_desc_t *mask_desc);

/** Gives the parameters of dnnl_tp_primitive_attr_set_dropout_v2(). Thread-safe.
 *
 * @param attr attributes
 * @param[out] mask_desc borrowed from the attributes; may be NULL
 * @param[out] seed_dt may be NULL
 * @param[out] use_offset may be NULL
 * @param[out] use_host_scalars may be NULL
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_get_dropout_v2(
    const_dnnl_tp_primitive_attr_t attr, const_dnnl_tp_memory_desc_t *mask_desc,
    dnnl_tp_data_type_t *seed_dt, int *use_offset, int *use_host_scalars);

/** Sets the post-operations. Thread-compatible.
 *
 * @param attr attributes
 * @param post_ops copied; NULL = none
 * @return success; invalid_arguments; out_of_memory (the old ones stay). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_post_ops(
    dnnl_tp_primitive_attr_t attr, const_dnnl_tp_post_ops_t post_ops);

/** Gives the post-operations. Thread-safe.
 *
 * @param attr attributes
 * @param[out] post_ops borrowed from the attributes, valid until they change
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_get_post_ops(
    const_dnnl_tp_primitive_attr_t attr, const_dnnl_tp_post_ops_t *post_ops);

/* ---- Post-operations: applied to the f32 result x in the order of the chain, at most 32 ------ */

/** Creates an empty chain. Thread-safe.
 *
 * @param[out] post_ops owned by the caller; NULL on failure
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_post_ops_create(dnnl_tp_post_ops_t *post_ops);

/** Copies a chain. Thread-safe.
 *
 * @param[out] post_ops owned by the caller; NULL on failure
 * @param existing_post_ops the original
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_post_ops_clone(dnnl_tp_post_ops_t *post_ops,
                                                        const_dnnl_tp_post_ops_t existing_post_ops);

/** Frees a chain that the caller owns. Thread-safe.
 *
 * @param post_ops NULL or a chain
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_post_ops_destroy(dnnl_tp_post_ops_t post_ops);

/** Number of entries. Thread-safe.
 *
 * @param post_ops a chain or NULL
 * @return the number; 0 for NULL. */
DNNL_TP_API int dnnl_tp_post_ops_len(const_dnnl_tp_post_ops_t post_ops);

/** Kind of an entry. Thread-safe.
 *
 * @param post_ops a chain or NULL
 * @param index 0 to length - 1
 * @return dnnl_tp_sum, dnnl_tp_eltwise, dnnl_tp_binary or dnnl_tp_prelu; dnnl_tp_undefined_primitive
 *     if there is no such entry. */
DNNL_TP_API dnnl_tp_primitive_kind_t dnnl_tp_post_ops_get_kind(const_dnnl_tp_post_ops_t post_ops,
                                                               int index);

/** Appends x = x + scale * (dst - zero_point), where dst is the old content of the destination.
 * Thread-compatible.
 *
 * @param post_ops a chain
 * @param scale factor of the old destination
 * @param zero_point subtracted from the old destination; non-zero only for integer destinations
 * @param data_type type as which the old destination is read, of the size of the destination's
 *     type; undef = the destination's type
 * @return success; invalid_arguments; out_of_memory (more than 32 entries). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_post_ops_append_sum(dnnl_tp_post_ops_t post_ops,
                                                             float scale, int32_t zero_point,
                                                             dnnl_tp_data_type_t data_type);

/** Gives the parameters of a sum. Thread-safe.
 *
 * @param post_ops a chain
 * @param index index of a sum
 * @param[out] scale may be NULL
 * @param[out] zero_point may be NULL
 * @param[out] data_type may be NULL
 * @return success; invalid_arguments (no such entry, or another kind). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_post_ops_get_params_sum(const_dnnl_tp_post_ops_t post_ops,
                                                                 int index, float *scale,
                                                                 int32_t *zero_point,
                                                                 dnnl_tp_data_type_t *data_type);

/** Appends x = f(x). Thread-compatible.
 *
 * @param post_ops a chain
 * @param alg_kind a dnnl_tp_eltwise_* algorithm, whose enumerator has the formula
 * @param alpha a of the formula
 * @param beta b of the formula
 * @return success; invalid_arguments (another algorithm; clip with alpha > beta); out_of_memory
 *     (more than 32 entries). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_post_ops_append_eltwise(dnnl_tp_post_ops_t post_ops,
                                                                 dnnl_tp_alg_kind_t alg_kind,
                                                                 float alpha, float beta);

/** Gives the parameters of an eltwise. Thread-safe.
 *
 * @param post_ops a chain
 * @param index index of an eltwise
 * @param[out] alg_kind may be NULL
 * @param[out] alpha may be NULL
 * @param[out] beta may be NULL
 * @return success; invalid_arguments (no such entry, or another kind). */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_post_ops_get_params_eltwise(const_dnnl_tp_post_ops_t post_ops, int index,
                                    dnnl_tp_alg_kind_t *alg_kind, float *alpha, float *beta);

/** Appends x = op(x, src1). Each execution passes the tensor as argument
 * DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(index) | DNNL_TP_ARG_SRC_1. Thread-compatible.
 *
 * @param post_ops a chain
 * @param alg_kind a dnnl_tp_binary_* algorithm without select
 * @param src1_desc copied; as many dimensions as the destination, each 1 or that of the
 *     destination; layout any allowed
 * @return success; invalid_arguments (another algorithm, run-time dimensions); out_of_memory (more
 *     than 32 entries). */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_post_ops_append_binary(dnnl_tp_post_ops_t post_ops, dnnl_tp_alg_kind_t alg_kind,
                               const_dnnl_tp_memory_desc_t src1_desc);

/** Like dnnl_tp_post_ops_append_binary(), for every algorithm. select computes x = src2 ? x : src1,
 * with src2 as argument DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(index) | DNNL_TP_ARG_SRC_2.
 * Thread-compatible.
 *
 * @param post_ops a chain
 * @param alg_kind a dnnl_tp_binary_* algorithm
 * @param src1_desc as in dnnl_tp_post_ops_append_binary()
 * @param src2_desc select: s8, dimensions as for src1_desc; other algorithms: NULL
 * @return as dnnl_tp_post_ops_append_binary(); invalid_arguments also for select without src2, or
 *     src2 without select. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_post_ops_append_binary_v2(
    dnnl_tp_post_ops_t post_ops, dnnl_tp_alg_kind_t alg_kind, const_dnnl_tp_memory_desc_t src1_desc,
    const_dnnl_tp_memory_desc_t src2_desc);

/** Appends x = x < 0 ? x * weights : x. Each execution passes the weights as argument
 * DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(index) | DNNL_TP_ARG_WEIGHTS: f32, row-major, with the
 * destination's size in dimensions whose bit is set in the mask, and 1 in all others.
 * Thread-compatible.
 *
 * @param post_ops a chain
 * @param mask bit d set = one slope for each index of dimension d; 0 = one slope
 * @return success; invalid_arguments (a negative mask; the creation of the primitive descriptor
 *     refuses bits beyond the destination's dimensions); out_of_memory (more than 32 entries). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_post_ops_append_prelu(dnnl_tp_post_ops_t post_ops,
                                                               int mask);

/** Gives the parameter of a prelu. Thread-safe.
 *
 * @param post_ops a chain
 * @param index index of a prelu
 * @param[out] mask may be NULL
 * @return success; invalid_arguments (no such entry, or another kind). */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_post_ops_get_params_prelu(const_dnnl_tp_post_ops_t post_ops, int index, int *mask);

/** Gives the parameters of a binary. Thread-safe.
 *
 * @param post_ops a chain
 * @param index index of a binary
 * @param[out] alg_kind may be NULL
 * @param[out] src1_desc borrowed from the chain; may be NULL
 * @return success; invalid_arguments (no such entry, or another kind). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_post_ops_get_params_binary(
    const_dnnl_tp_post_ops_t post_ops, int index, dnnl_tp_alg_kind_t *alg_kind,
    const_dnnl_tp_memory_desc_t *src1_desc);

/** Gives the parameters of a binary, select included. Thread-safe.
 *
 * @param post_ops a chain
 * @param index index of a binary
 * @param[out] alg_kind may be NULL
 * @param[out] src1_desc borrowed from the chain; may be NULL
 * @param[out] src2_desc borrowed from the chain, the zero descriptor without select; may be NULL
 * @return success; invalid_arguments (no such entry, or another kind). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_post_ops_get_params_binary_v2(
    const_dnnl_tp_post_ops_t post_ops, int index, dnnl_tp_alg_kind_t *alg_kind,
    const_dnnl_tp_memory_desc_t *src1_desc, const_dnnl_tp_memory_desc_t *src2_desc);

/** Appends a depthwise convolution of the result, over two spatial dimensions. No primitive takes
 * it: creation of a primitive descriptor answers unimplemented. Thread-compatible.
 *
 * @param post_ops a chain
 * @param weights_data_type of the weights
 * @param bias_data_type of the bias; undef: none
 * @param dst_data_type data type of the result of the convolution
 * @param kernel_size of both dimensions
 * @param stride_size of both dimensions
 * @param padding_l_size of both dimensions
 * @return success; invalid_arguments (weights or dst of type undef, sizes under 1, a padding of a
 *     whole kernel); out_of_memory (more than 32 entries). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_post_ops_append_dw(
    dnnl_tp_post_ops_t post_ops, dnnl_tp_data_type_t weights_data_type,
    dnnl_tp_data_type_t bias_data_type, dnnl_tp_data_type_t dst_data_type,
    dnnl_tp_dim_t kernel_size, dnnl_tp_dim_t stride_size, dnnl_tp_dim_t padding_l_size);

/** Gives the parameters of a depthwise convolution. Thread-safe.
 *
 * @param post_ops a chain
 * @param index of a convolution
 * @param[out] weights_data_type NULL = not asked
 * @param[out] bias_data_type NULL = not asked
 * @param[out] dst_data_type NULL = not asked
 * @param[out] kernel_size NULL = not asked
 * @param[out] stride_size NULL = not asked
 * @param[out] padding_l_size NULL = not asked
 * @return success; invalid_arguments (no such entry, or another kind). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_post_ops_get_params_dw(
    const_dnnl_tp_post_ops_t post_ops, int index, dnnl_tp_data_type_t *weights_data_type,
    dnnl_tp_data_type_t *bias_data_type, dnnl_tp_data_type_t *dst_data_type,
    dnnl_tp_dim_t *kernel_size, dnnl_tp_dim_t *stride_size, dnnl_tp_dim_t *padding_l_size);

#ifdef __cplusplus
}
#endif

#endif
