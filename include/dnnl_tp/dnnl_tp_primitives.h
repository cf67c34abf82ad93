/** @file
 * Primitive descriptors (a checked problem and the implementation chosen for it) and primitives.
 *
 * Included by dnnl_tp.h, which also states the rules for every call. Every creation call here
 * copies its descriptors and attributes, keeps the engine alive, resolves layout any if the kind
 * allows it, and sets the thread count. Its errors: invalid_arguments (a rule below is broken, or a
 * tensor has layout any and must not), unimplemented (a legal problem that no implementation of the
 * engine serves; DNNL_TP_VERBOSE=dispatch names each refusal), out_of_memory. An absent optional
 * tensor is NULL or the zero descriptor. Formulas: oneDNN v3; doc/primitives has a page with an
 * example for each kind. */
#ifndef DNNL_TP_PRIMITIVES_H
#define DNNL_TP_PRIMITIVES_H

#include "dnnl_tp/dnnl_tp_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Descriptors: one creation call per kind ------------------------------------------------- */

/** dst[b, m, n] = sum over k of src[b, m, k] * weights[b, k, n] (+ bias). Arguments: SRC, WEIGHTS,
 * BIAS, DST. Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param src_desc {batch..., M, K}, 2 to 12 dimensions; any allowed
 * @param weights_desc {batch..., K, N}; with any, the implementation chooses a packed layout; batch
 *     dimensions equal to those of dst or 1
 * @param bias_desc NULL, or each dimension 1 or that of dst
 * @param dst_desc {batch..., M, N}; any allowed. Any dimension may be run-time, consistently in all
 *     tensors
 * @param attr NULL = defaults; scales and zero points; post-operations eltwise, binary, sum, prelu
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_matmul_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t weights_desc,
    const_dnnl_tp_memory_desc_t bias_desc, const_dnnl_tp_memory_desc_t dst_desc,
    const_dnnl_tp_primitive_attr_t attr);

/** dst[n, o] = sum over i and space of src[n, i, ...] * weights[o, i, ...] (+ bias[o]). Arguments:
 * SRC, WEIGHTS, BIAS, DST. Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param prop_kind forward_training or forward_inference; they compute the same
 * @param src_desc {N, IC, spatial...}, 2 to 5 dimensions; any allowed
 * @param weights_desc {OC, IC, spatial...}; any allowed
 * @param bias_desc NULL or {OC}
 * @param dst_desc {N, OC}; any allowed
 * @param attr NULL = defaults; scales; post-operations eltwise, binary, sum, prelu
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_inner_product_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine,
    dnnl_tp_prop_kind_t prop_kind, const_dnnl_tp_memory_desc_t src_desc,
    const_dnnl_tp_memory_desc_t weights_desc, const_dnnl_tp_memory_desc_t bias_desc,
    const_dnnl_tp_memory_desc_t dst_desc, const_dnnl_tp_primitive_attr_t attr);

/** dst[n, o, x] = sum over i and the kernel's positions k of src[n, i, x * stride - padding_l + k *
 * (1 + dilation)] * weights[o, i, k] (+ bias[o]); positions outside src count as zero. With groups,
 * group g of the output channels depends on group g of the input channels. Arguments: SRC, WEIGHTS,
 * BIAS, DST. Thread-safe.
 *
 * Per spatial dimension dst = floor((src - ((kernel - 1) * (1 + dilation) + 1) + padding_l +
 * padding_r) / stride) + 1, at least 0 (oneDNN, "Convolution":
 * https://uxlfoundation.github.io/oneDNN/dev_guide_convolution.html).
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param prop_kind forward_training or forward_inference; they compute the same
 * @param alg_kind dnnl_tp_convolution_direct; dnnl_tp_convolution_winograd (only f32 kernels of 3 x
 *     3 with stride 1 in two dimensions, otherwise unimplemented); or dnnl_tp_convolution_auto: the
 *     library chooses
 * @param src_desc {N, IC, spatial...}, 3 to 5 dimensions; with any, channels become innermost
 * @param weights_desc {OC, IC, kernel...} or {G, OC / G, IC / G, kernel...}; with any, the
 *     implementation chooses a packed or opaque layout
 * @param bias_desc NULL or {OC}
 * @param dst_desc {N, OC, spatial...}; any allowed
 * @param strides one per spatial dimension, at least 1
 * @param dilates one per spatial dimension, 0 = a dense kernel; NULL = all 0
 * @param padding_l one per spatial dimension: number of zeros before the first element
 * @param padding_r one per spatial dimension: number of zeros after the last element; a negative
 *     number means that no kernel reaches that many last elements; NULL = padding_l
 * @param attr NULL = defaults; post-operations eltwise, binary, sum, prelu
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_convolution_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine,
    dnnl_tp_prop_kind_t prop_kind, dnnl_tp_alg_kind_t alg_kind,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t weights_desc,
    const_dnnl_tp_memory_desc_t bias_desc, const_dnnl_tp_memory_desc_t dst_desc,
    const dnnl_tp_dims_t strides, const dnnl_tp_dims_t dilates, const dnnl_tp_dims_t padding_l,
    const dnnl_tp_dims_t padding_r, const_dnnl_tp_primitive_attr_t attr);

/** The transposed convolution: dst[n, o, x] = sum over i, y and the kernel's positions k with y *
 * stride + k * (1 + dilation) - padding_l = x of src[n, i, y] * weights[o, i, k] (+ bias[o]). With
 * groups, group g of the output channels depends on group g of the input channels. Arguments: SRC,
 * WEIGHTS, BIAS, DST. Thread-safe.
 *
 * Per spatial dimension src = floor((dst - ((kernel - 1) * (1 + dilation) + 1) + padding_l +
 * padding_r) / stride) + 1: a convolution of dst with these numbers has the size of src (oneDNN,
 * "Deconvolution": https://uxlfoundation.github.io/oneDNN/dev_guide_convolution.html).
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param prop_kind forward_training or forward_inference; they compute the same
 * @param alg_kind dnnl_tp_deconvolution_direct
 * @param src_desc {N, IC, spatial...}, 3 to 5 dimensions; with any, channels become innermost
 * @param weights_desc {OC, IC, kernel...} or {G, OC / G, IC / G, kernel...}; with any, the
 *     implementation chooses a packed layout
 * @param bias_desc NULL or {OC}
 * @param dst_desc {N, OC, spatial...}; any allowed
 * @param strides one per spatial dimension, at least 1
 * @param dilates one per spatial dimension, 0 = a dense kernel; NULL = all 0
 * @param padding_l one per spatial dimension: number of first elements of the sum that dst leaves
 *     out
 * @param padding_r one per spatial dimension: number of last elements of the sum that dst leaves
 *     out; a negative number adds that many elements, which no kernel reaches; NULL = padding_l
 * @param attr NULL = defaults; post-operations eltwise, binary, sum, prelu
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_deconvolution_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine,
    dnnl_tp_prop_kind_t prop_kind, dnnl_tp_alg_kind_t alg_kind,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t weights_desc,
    const_dnnl_tp_memory_desc_t bias_desc, const_dnnl_tp_memory_desc_t dst_desc,
    const dnnl_tp_dims_t strides, const dnnl_tp_dims_t dilates, const dnnl_tp_dims_t padding_l,
    const dnnl_tp_dims_t padding_r, const_dnnl_tp_primitive_attr_t attr);

/** Softmax or its logarithm along one axis, after subtraction of the largest element. Arguments:
 * SRC, DST (may be the same buffer). Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param prop_kind forward_training or forward_inference; they compute the same
 * @param alg_kind dnnl_tp_softmax_accurate or dnnl_tp_softmax_log
 * @param src_desc any shape
 * @param dst_desc the same shape; any = src's layout
 * @param softmax_axis 0 to ndims - 1
 * @param attr NULL = defaults; common scales of SRC and DST; post-operations eltwise, binary, sum,
 *     prelu
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_softmax_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine,
    dnnl_tp_prop_kind_t prop_kind, dnnl_tp_alg_kind_t alg_kind,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc, int softmax_axis,
    const_dnnl_tp_primitive_attr_t attr);

/** dst = scale * (src - mean) / sqrt(variance + epsilon) + shift over the last dimension, with the
 * biased variance; scale and shift are f32. Arguments: SRC, DST (may be the same buffer), MEAN,
 * VARIANCE, SCALE, SHIFT. Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param prop_kind forward_training: MEAN and VARIANCE are outputs; forward_inference: they are not
 *     arguments. With dnnl_tp_use_global_stats they are inputs
 * @param src_desc {..., C}, 2 to 5 dimensions
 * @param dst_desc the same shape; any = src's layout
 * @param stat_desc f32, src's dimensions without the last; NULL or any = dense, in the order of
 *     src's dimensions
 * @param epsilon added to the variance
 * @param flags dnnl_tp_normalization_flags_t bits: use_global_stats, use_scale, use_shift, rms_norm
 * @param attr NULL = defaults; common scales of SRC and DST; post-operations eltwise, binary, sum,
 *     prelu
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_layer_normalization_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine,
    dnnl_tp_prop_kind_t prop_kind, const_dnnl_tp_memory_desc_t src_desc,
    const_dnnl_tp_memory_desc_t dst_desc, const_dnnl_tp_memory_desc_t stat_desc, float epsilon,
    unsigned flags, const_dnnl_tp_primitive_attr_t attr);

/** Like dnnl_tp_layer_normalization_forward_primitive_desc_create(), with a type for scale and
 * shift. Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param prop_kind as there
 * @param src_desc as there
 * @param dst_desc as there
 * @param stat_desc as there
 * @param scale_shift_data_type type of SCALE and SHIFT
 * @param epsilon as there
 * @param flags as there
 * @param attr as there
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_layer_normalization_forward_primitive_desc_create_v2(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine,
    dnnl_tp_prop_kind_t prop_kind, const_dnnl_tp_memory_desc_t src_desc,
    const_dnnl_tp_memory_desc_t dst_desc, const_dnnl_tp_memory_desc_t stat_desc,
    dnnl_tp_data_type_t scale_shift_data_type, float epsilon, unsigned flags,
    const_dnnl_tp_primitive_attr_t attr);

/** dst = f(src), element by element. Arguments: SRC, DST (may be the same buffer). Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param prop_kind forward_training or forward_inference; they compute the same
 * @param alg_kind a dnnl_tp_eltwise_* algorithm, whose enumerator has the formula
 * @param src_desc any shape
 * @param dst_desc the same shape; any = src's layout
 * @param alpha a of the formula
 * @param beta b of the formula
 * @param attr NULL = defaults; post-operations eltwise, binary, sum, prelu
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_eltwise_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine,
    dnnl_tp_prop_kind_t prop_kind, dnnl_tp_alg_kind_t alg_kind,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc, float alpha,
    float beta, const_dnnl_tp_primitive_attr_t attr);

/** dst = src < 0 ? weights * src : src. Arguments: SRC, WEIGHTS, DST (may be the buffer of SRC).
 * Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param prop_kind forward_training or forward_inference; they compute the same
 * @param src_desc any shape
 * @param weights_desc each dimension that of src or 1; any = src's layout if the shapes are equal,
 *     else a plain layout
 * @param dst_desc src's shape; any = src's layout
 * @param attr NULL = defaults
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_prelu_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine,
    dnnl_tp_prop_kind_t prop_kind, const_dnnl_tp_memory_desc_t src_desc,
    const_dnnl_tp_memory_desc_t weights_desc, const_dnnl_tp_memory_desc_t dst_desc,
    const_dnnl_tp_primitive_attr_t attr);

/** dst = op(src0, src1) with broadcasting. Arguments: SRC_0, SRC_1, DST (may be the buffer of a
 * source with its layout and elements of its size). Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param alg_kind a dnnl_tp_binary_* algorithm without select
 * @param src0_desc each dimension that of dst or 1
 * @param src1_desc each dimension that of dst or 1; any allowed
 * @param dst_desc the result; any allowed
 * @param attr NULL = defaults; scales of both sources; post-operations eltwise, binary, sum, prelu
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_binary_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_alg_kind_t alg_kind,
    const_dnnl_tp_memory_desc_t src0_desc, const_dnnl_tp_memory_desc_t src1_desc,
    const_dnnl_tp_memory_desc_t dst_desc, const_dnnl_tp_primitive_attr_t attr);

/** Like dnnl_tp_binary_primitive_desc_create(), for every algorithm; select computes dst = src2 ?
 * src0 : src1 with the additional argument SRC_2. Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param alg_kind a dnnl_tp_binary_* algorithm
 * @param src0_desc as there
 * @param src1_desc as there
 * @param src2_desc select: s8, each dimension that of dst or 1; other algorithms: NULL
 * @param dst_desc as there
 * @param attr as there
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_binary_primitive_desc_create_v2(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_alg_kind_t alg_kind,
    const_dnnl_tp_memory_desc_t src0_desc, const_dnnl_tp_memory_desc_t src1_desc,
    const_dnnl_tp_memory_desc_t src2_desc, const_dnnl_tp_memory_desc_t dst_desc,
    const_dnnl_tp_primitive_attr_t attr);

/** Reduces the dimensions whose size is 1 in dst and not in src. Arguments: SRC, DST. Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param alg_kind a dnnl_tp_reduction_* algorithm
 * @param src_desc any shape
 * @param dst_desc each dimension that of src or 1, at least one of them reduced; any allowed
 * @param p parameter p of the norms, >= 1
 * @param eps parameter eps of the norms
 * @param attr NULL = defaults; post-operations eltwise, binary, sum, prelu
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_reduction_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_alg_kind_t alg_kind,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc, float p, float eps,
    const_dnnl_tp_primitive_attr_t attr);

/** Maxima or averages of windows that slide over the spatial dimensions. Along each of them OUT =
 * (IN - ((kernel - 1) * (dilation + 1) + 1) + padding_l + padding_r) / strides + 1. Arguments: SRC,
 * DST; pooling_max in forward_training also has WORKSPACE (output): for each element of dst the
 * number (kd * KH + kh) * KW + kw of the tap with the maximum, as u8 for windows of at most 255
 * taps, else s32. dnnl_tp_query_workspace_md gives its descriptor. Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param prop_kind forward_training or forward_inference
 * @param alg_kind pooling_max, pooling_avg_include_padding or pooling_avg_exclude_padding
 * @param src_desc {N, C, [[ID,] IH,] IW}
 * @param dst_desc {N, C, [[OD,] OH,] OW}; any = src's layout
 * @param strides distance of windows, >= 1; this array and all arrays below have one value for each
 *     spatial dimension, and are copied
 * @param kernel size of the window, >= 1
 * @param dilation number of elements between two taps, >= 0
 * @param padding_l padding before the first element, >= 0
 * @param padding_r padding after the last element; negative if windows do not reach the end; NULL =
 *     padding_l
 * @param attr NULL = defaults; post-operations eltwise and binary
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_pooling_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine,
    dnnl_tp_prop_kind_t prop_kind, dnnl_tp_alg_kind_t alg_kind,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc,
    const dnnl_tp_dims_t strides, const dnnl_tp_dims_t kernel, const dnnl_tp_dims_t dilation,
    const dnnl_tp_dims_t padding_l, const dnnl_tp_dims_t padding_r,
    const_dnnl_tp_primitive_attr_t attr);

/** dst = scale * (src - mean) / sqrt(variance + epsilon) + shift with one mean, biased variance,
 * scale and shift for each channel, all f32, over the batch and the spatial dimensions. Arguments:
 * SRC, DST (may be the same buffer), MEAN, VARIANCE, SCALE, SHIFT; with fuse_norm_add_relu also
 * SRC_1 with dst's descriptor; with either fusion in forward_training also WORKSPACE (output): u8
 * of dst's shape and layout, 1 if the result is above 0, else 0. dnnl_tp_query_workspace_md gives
 * its descriptor. Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param prop_kind forward_training: MEAN and VARIANCE are outputs; forward_inference: they are not
 *     arguments. With dnnl_tp_use_global_stats they are inputs
 * @param src_desc {N, C, [[[D,] H,] W]}
 * @param dst_desc the same shape; any = src's layout
 * @param epsilon added to the variance
 * @param flags dnnl_tp_normalization_flags_t bits: use_global_stats, use_scale, use_shift,
 *     fuse_norm_relu, fuse_norm_add_relu
 * @param attr NULL = defaults; post-operations eltwise and binary, after the fused ones
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_batch_normalization_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine,
    dnnl_tp_prop_kind_t prop_kind, const_dnnl_tp_memory_desc_t src_desc,
    const_dnnl_tp_memory_desc_t dst_desc, float epsilon, unsigned flags,
    const_dnnl_tp_primitive_attr_t attr);

/** Like batch normalization, with a mean and variance for each image and each group of C / groups
 * neighbouring channels. MEAN and VARIANCE are {N, groups}; scale and shift are per channel.
 * Arguments: SRC, DST (may be the same buffer), MEAN, VARIANCE, SCALE, SHIFT. Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param prop_kind as for batch normalization
 * @param src_desc {N, C, [[D,] H,] W}
 * @param dst_desc the same shape; any = src's layout
 * @param groups divides C; 1 = one group, C = instance normalization
 * @param epsilon added to the variance
 * @param flags dnnl_tp_normalization_flags_t bits: use_global_stats, use_scale, use_shift
 * @param attr NULL = defaults; common scales of SRC and DST; post-operations eltwise and binary
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_group_normalization_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine,
    dnnl_tp_prop_kind_t prop_kind, const_dnnl_tp_memory_desc_t src_desc,
    const_dnnl_tp_memory_desc_t dst_desc, dnnl_tp_dim_t groups, float epsilon, unsigned flags,
    const_dnnl_tp_primitive_attr_t attr);

/** Local response normalization: dst = src * (k + alpha / size * sum)^-beta, where sum is the sum
 * of the squares of the neighbours -(local_size - 1) / 2 to (local_size - 1) / 2, so that an even
 * size has as many neighbours as the odd size below it. Across channels the neighbours are channels
 * and size is local_size; within a channel the neighbours are a box in space and size is local_size
 * to the power of the number of spatial dimensions. Arguments: SRC, DST. Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param prop_kind forward_training or forward_inference; they compute the same and need no
 *     workspace
 * @param alg_kind lrn_across_channels or lrn_within_channel
 * @param src_desc {N, C, [[[D,] H,] W]}
 * @param dst_desc the same shape; any = src's layout
 * @param local_size size of the neighbourhood, >= 1
 * @param alpha alpha of the formula
 * @param beta beta of the formula
 * @param k k of the formula
 * @param attr NULL = defaults
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_lrn_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine,
    dnnl_tp_prop_kind_t prop_kind, dnnl_tp_alg_kind_t alg_kind,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc,
    dnnl_tp_dim_t local_size, float alpha, float beta, float k,
    const_dnnl_tp_primitive_attr_t attr);

/** Changes the size of an image: along each spatial dimension the position of element x of dst in
 * src is (x + 0.5) * IN / OUT - 0.5. resampling_nearest takes the nearest element, with ties away
 * from zero; resampling_linear interpolates linearly between the neighbours along every spatial
 * dimension; outside of src the element at the border counts. Arguments: SRC, DST. Thread-safe
 * (oneDNN, "Resampling": https://uxlfoundation.github.io/oneDNN/dev_guide_resampling.html).
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param prop_kind forward_training or forward_inference; they compute the same
 * @param alg_kind resampling_nearest or resampling_linear
 * @param factors OUT / IN, one for each spatial dimension. If dst is NULL, they set its sizes,
 *     rounded down; NULL if dst is given. A query gives dst's size / src's size
 * @param src_desc {N, C, [[ID,] IH,] IW}
 * @param dst_desc {N, C, [[OD,] OH,] OW}; any = src's layout; NULL = src's type, layout and batch,
 *     and sizes from factors
 * @param attr NULL = defaults; post-operations eltwise, binary, sum, prelu
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_resampling_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine,
    dnnl_tp_prop_kind_t prop_kind, dnnl_tp_alg_kind_t alg_kind, const float *factors,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc,
    const_dnnl_tp_primitive_attr_t attr);

/** Interleaves groups of an axis: element u + v * (C / group_size) of dst's axis is element u *
 * group_size + v of src's, 0 <= u < C / group_size, 0 <= v < group_size. In other words: the axis
 * is a matrix of C / group_size rows, and dst has its transpose. Arguments: SRC, DST. Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param prop_kind forward_training or forward_inference; they compute the same
 * @param src_desc any shape and type
 * @param dst_desc the same shape and type; any = src's layout
 * @param axis 0 to ndims - 1
 * @param group_size a divisor of the axis' size, at least 1
 * @param attr NULL = defaults
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_shuffle_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine,
    dnnl_tp_prop_kind_t prop_kind, const_dnnl_tp_memory_desc_t src_desc,
    const_dnnl_tp_memory_desc_t dst_desc, int axis, dnnl_tp_dim_t group_size,
    const_dnnl_tp_primitive_attr_t attr);

/** Copies a tensor into another layout and data type, rounding half to even and saturating.
 * Arguments: SRC, DST (may be the same buffer, with one layout and elements of one size).
 * Thread-safe.
 *
 * @param[out] reorder_primitive_desc owned by the caller; NULL on failure
 * @param src_desc any concrete layout
 * @param src_engine an engine
 * @param dst_desc the same dimensions, any concrete layout
 * @param dst_engine the same engine, or another one if either of the two is on the host
 * @param attr NULL = defaults; scales and zero points of SRC and DST, post-operation sum
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_reorder_primitive_desc_create(
    dnnl_tp_primitive_desc_t *reorder_primitive_desc, const_dnnl_tp_memory_desc_t src_desc,
    dnnl_tp_engine_t src_engine, const_dnnl_tp_memory_desc_t dst_desc, dnnl_tp_engine_t dst_engine,
    const_dnnl_tp_primitive_attr_t attr);

/** Joins tensors along a dimension. Arguments: MULTIPLE_SRC + i, DST. Thread-safe.
 *
 * @param[out] concat_primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param dst_desc its size along the dimension is the sum of the sources' sizes; NULL or any =
 *     dense, in the order of src's dimensions
 * @param n number of sources, >= 1
 * @param concat_dimension 0 to ndims - 1
 * @param src_descs n descriptors of one data type, equal in every other dimension
 * @param attr NULL = defaults; scales of the sources
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_concat_primitive_desc_create(
    dnnl_tp_primitive_desc_t *concat_primitive_desc, dnnl_tp_engine_t engine,
    const_dnnl_tp_memory_desc_t dst_desc, int n, int concat_dimension,
    const_dnnl_tp_memory_desc_t const *src_descs, const_dnnl_tp_primitive_attr_t attr);

/** dst = sum over i of scales[i] * src[i]. Arguments: MULTIPLE_SRC + i, DST (may be the buffer of
 * any sources with its layout and elements of its size). Thread-safe.
 *
 * @param[out] sum_primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param dst_desc the shape of the sources; NULL or any = dense, in the order of src's dimensions
 * @param n number of sources, >= 1
 * @param scales n factors; copied
 * @param src_descs n descriptors of one shape
 * @param attr NULL = defaults
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_sum_primitive_desc_create(
    dnnl_tp_primitive_desc_t *sum_primitive_desc, dnnl_tp_engine_t engine,
    const_dnnl_tp_memory_desc_t dst_desc, int n, const float *scales,
    const_dnnl_tp_memory_desc_t const *src_descs, const_dnnl_tp_primitive_attr_t attr);

/* ---- Descriptors in general ------------------------------------------------------------------ */

/** Replaces the implementation of a descriptor by the next one in the engine's order that serves
 * the problem. Thread-compatible.
 *
 * @param primitive_desc a descriptor that no other object or thread uses
 * @return success; last_impl_reached (the descriptor does not change; always for reorder, concat,
 *     sum and clones); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_primitive_desc_next_impl(dnnl_tp_primitive_desc_t primitive_desc);

/** Copies a descriptor. Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param existing_primitive_desc the original
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_primitive_desc_clone(dnnl_tp_primitive_desc_t *primitive_desc,
                             const_dnnl_tp_primitive_desc_t existing_primitive_desc);

/** Gives the attributes of a descriptor. Thread-safe.
 *
 * @param primitive_desc a descriptor
 * @param[out] attr borrowed from the descriptor
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_desc_get_attr(
    const_dnnl_tp_primitive_desc_t primitive_desc, const_dnnl_tp_primitive_attr_t *attr);

/** Gives the thread count that the creation resolved: the first one set among the attributes, the
 * pool in them, the engine and the process. Execution on a pool of another size is correct.
 * Thread-safe.
 *
 * @param primitive_desc a descriptor
 * @param[out] num_threads 1 to 256
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_desc_get_num_threads(
    const_dnnl_tp_primitive_desc_t primitive_desc, int *num_threads);

/** Reads a property of a descriptor. Thread-safe.
 *
 * @param primitive_desc a descriptor
 * @param what a dnnl_tp_query_t
 * @param index number of a tensor of its group, or the argument number with
 *     dnnl_tp_query_exec_arg_md; else 0
 * @param[out] result a pointer whose type follows from the suffix of the name: _s32: int *, _s64:
 *     int64_t *, _f32: float *, _f64: double *, _md: const_dnnl_tp_memory_desc_t *, _str: const
 *     char **, engine: dnnl_tp_engine_t *, flags: unsigned *, kinds: a pointer to their
 *     enumeration. Descriptors, strings and engines are borrowed from the descriptor.
 * @return success; unimplemented (the kind has no such property); not_required (no such tensor);
 *     invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_desc_query(
    const_dnnl_tp_primitive_desc_t primitive_desc, dnnl_tp_query_t what, int index, void *result);

/** Gives the descriptor that the implementation needs for a tensor, with its layout resolved.
 * Thread-safe.
 *
 * @param primitive_desc a descriptor or NULL
 * @param what a dnnl_tp_query_*_md
 * @param index as in dnnl_tp_primitive_desc_query()
 * @return borrowed from the descriptor; the zero descriptor if there is no such tensor; NULL for a
 *     NULL descriptor or another value of what. */
DNNL_TP_API const_dnnl_tp_memory_desc_t dnnl_tp_primitive_desc_query_md(
    const_dnnl_tp_primitive_desc_t primitive_desc, dnnl_tp_query_t what, int index);

/** Reads an int property. Thread-safe.
 *
 * @param primitive_desc a descriptor or NULL
 * @param what a dnnl_tp_query_*_s32
 * @param index as in dnnl_tp_primitive_desc_query()
 * @return the value; 0 on failure. */
DNNL_TP_API int dnnl_tp_primitive_desc_query_s32(const_dnnl_tp_primitive_desc_t primitive_desc,
                                                 dnnl_tp_query_t what, int index);

/** Frees a descriptor that the caller owns. Thread-safe.
 *
 * @param primitive_desc NULL or a descriptor
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t
dnnl_tp_primitive_desc_destroy(dnnl_tp_primitive_desc_t primitive_desc);

/* ---- Primitives ------------------------------------------------------------------------------ */

/** Creates a primitive. Equal primitives are shared through the cache; concurrent creations of
 * equal primitives create one. Thread-safe.
 *
 * @param[out] primitive owned by the caller; NULL on failure
 * @param primitive_desc kept alive by the primitive
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_create(
    dnnl_tp_primitive_t *primitive, const_dnnl_tp_primitive_desc_t primitive_desc);

/** Gives the blob of a primitive, from which this version of the library creates an equal primitive
 * in another process. The blob has the problem, the implementation and the attributes; it has no
 * kernel, because kernels are compiled in advance, and saves no time. Thread-safe.
 *
 * @param primitive a primitive
 * @param[in,out] size size of cache_blob in bytes; out: number of bytes needed
 * @param[out] cache_blob memory for the blob; NULL asks for the size only
 * @return success; invalid_arguments (the memory is too small); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_get_cache_blob(
    const_dnnl_tp_primitive_t primitive, size_t *size, uint8_t *cache_blob);

/** Like dnnl_tp_primitive_create(), and checks that a blob belongs to an equal primitive.
 * Thread-safe.
 *
 * @param[out] primitive owned by the caller; NULL on failure
 * @param primitive_desc kept alive by the primitive
 * @param size bytes of the blob
 * @param cache_blob a blob of dnnl_tp_primitive_get_cache_blob(); read during the call only
 * @return as dnnl_tp_primitive_create(); invalid_arguments also for a blob of another primitive, or
 *     of another version. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_create_from_cache_blob(
    dnnl_tp_primitive_t *primitive, const_dnnl_tp_primitive_desc_t primitive_desc, size_t size,
    const uint8_t *cache_blob);

/** Gives the descriptor of a primitive. Thread-safe.
 *
 * @param primitive a primitive
 * @param[out] primitive_desc borrowed from the primitive
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_get_primitive_desc(
    const_dnnl_tp_primitive_t primitive, const_dnnl_tp_primitive_desc_t *primitive_desc);

/** Drops the caller's reference to a primitive. Submitted executions go on to their end.
 * Thread-safe.
 *
 * @param primitive NULL or a primitive
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_primitive_destroy(dnnl_tp_primitive_t primitive);

#ifdef __cplusplus
}
#endif

#endif
