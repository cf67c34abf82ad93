/** @file
 * Primitive descriptors (a checked problem with the implementation chosen for it) and primitives.
 *
 * Included by dnnl_tp.h, which also states the rules that hold for every call. Every creation call here
 * copies the descriptors and attributes that it gets, keeps the engine alive, resolves layout any where the
 * kind allows it, and fixes the thread count. Its errors: invalid_arguments (a rule below is broken, or
 * layout any stands where it is not allowed), unimplemented (a legal problem that no implementation of the
 * engine serves; a verbose level names each refusal), out_of_memory. An optional tensor is NULL or the zero
 * descriptor. Formulas: oneDNN v3; doc/primitives has a page with an example for each kind. */
#ifndef DNNL_TP_PRIMITIVES_H
#define DNNL_TP_PRIMITIVES_H

#include "dnnl_tp/dnnl_tp_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Descriptors: one creation call per kind --------------------------------------------------------- */

/** dst[b, m, n] = sum over k of src[b, m, k] * weights[b, k, n] (+ bias). Arguments: SRC, WEIGHTS, BIAS,
 * DST. Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param src_desc {batch..., M, K}, 2 to 12 dimensions; any allowed
 * @param weights_desc {batch..., K, N}; any allowed: then the chosen layout is packed; batch dimensions
 *     equal to those of dst or 1
 * @param bias_desc NULL, or each dimension 1 or that of dst
 * @param dst_desc {batch..., M, N}; any allowed. Any dimension may be run-time, consistently in all tensors
 * @param attr NULL = defaults; post-operations eltwise, binary, sum
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_matmul_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, const_dnnl_tp_memory_desc_t src_desc,
    const_dnnl_tp_memory_desc_t weights_desc, const_dnnl_tp_memory_desc_t bias_desc,
    const_dnnl_tp_memory_desc_t dst_desc, const_dnnl_tp_primitive_attr_t attr);

/** dst[n, o] = sum over i and space of src[n, i, ...] * weights[o, i, ...] (+ bias[o]). Arguments: SRC,
 * WEIGHTS, BIAS, DST. Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param prop_kind forward_training or forward_inference; they compute the same
 * @param src_desc {N, IC, spatial...}, 2 to 5 dimensions; any allowed
 * @param weights_desc {OC, IC, spatial...}; any allowed
 * @param bias_desc NULL or {OC}
 * @param dst_desc {N, OC}; any allowed
 * @param attr NULL = defaults; post-operations eltwise, binary, sum
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_inner_product_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t weights_desc,
    const_dnnl_tp_memory_desc_t bias_desc, const_dnnl_tp_memory_desc_t dst_desc,
    const_dnnl_tp_primitive_attr_t attr);

/** dst[n, o, x] = sum over i and the kernel's positions k of src[n, i, x * stride - padding_l + k * (1 + dilation)]
 * * weights[o, i, k] (+ bias[o]); positions outside src count as zero. In groups, the g-th part of the output channels
 * sees the g-th part of the input channels. Arguments: SRC, WEIGHTS, BIAS, DST. Thread-safe.
 *
 * Per spatial dimension dst = floor((src - ((kernel - 1) * (1 + dilation) + 1) + padding_l + padding_r) / stride) + 1,
 * at least 0 (oneDNN, "Convolution": https://uxlfoundation.github.io/oneDNN/dev_guide_convolution.html).
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param prop_kind forward_training or forward_inference; they compute the same
 * @param alg_kind dnnl_tp_convolution_direct; dnnl_tp_convolution_winograd, which serves f32 kernels of 3 x 3 with stride
 *     1 in two dimensions (else unimplemented); or dnnl_tp_convolution_auto: the library chooses
 * @param src_desc {N, IC, spatial...}, 3 to 5 dimensions; any allowed: then channels are innermost
 * @param weights_desc {OC, IC, kernel...} or {G, OC / G, IC / G, kernel...}; any allowed: then the chosen layout is
 *     packed, or opaque
 * @param bias_desc NULL or {OC}
 * @param dst_desc {N, OC, spatial...}; any allowed
 * @param strides one per spatial dimension, at least 1
 * @param dilates one per spatial dimension, 0 = a dense kernel; NULL = all 0
 * @param padding_l one per spatial dimension: zeros before the first element
 * @param padding_r the same behind the last; NULL = padding_l. Negative: so many last elements that no
 *     kernel reaches
 * @param attr NULL = defaults; post-operations eltwise, binary, sum, prelu
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_convolution_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    dnnl_tp_alg_kind_t alg_kind, const_dnnl_tp_memory_desc_t src_desc,
    const_dnnl_tp_memory_desc_t weights_desc, const_dnnl_tp_memory_desc_t bias_desc,
    const_dnnl_tp_memory_desc_t dst_desc, const dnnl_tp_dims_t strides, const dnnl_tp_dims_t dilates,
    const dnnl_tp_dims_t padding_l, const dnnl_tp_dims_t padding_r, const_dnnl_tp_primitive_attr_t attr);

/** The transposed convolution: dst[n, o, x] = sum over i, y and the kernel's positions k with
 * y * stride + k * (1 + dilation) - padding_l = x of src[n, i, y] * weights[o, i, k] (+ bias[o]). In groups, the g-th
 * part of the output channels sees the g-th part of the input channels. Arguments: SRC, WEIGHTS, BIAS, DST. Thread-safe.
 *
 * Per spatial dimension src = floor((dst - ((kernel - 1) * (1 + dilation) + 1) + padding_l + padding_r) / stride) + 1: a
 * convolution of dst with these numbers has the size of src
 * (oneDNN, "Deconvolution": https://uxlfoundation.github.io/oneDNN/dev_guide_convolution.html).
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param prop_kind forward_training or forward_inference; they compute the same
 * @param alg_kind dnnl_tp_deconvolution_direct
 * @param src_desc {N, IC, spatial...}, 3 to 5 dimensions; any allowed: then channels are innermost
 * @param weights_desc {OC, IC, kernel...} or {G, OC / G, IC / G, kernel...}; any allowed: then the chosen layout is
 *     packed
 * @param bias_desc NULL or {OC}
 * @param dst_desc {N, OC, spatial...}; any allowed
 * @param strides one per spatial dimension, at least 1
 * @param dilates one per spatial dimension, 0 = a dense kernel; NULL = all 0
 * @param padding_l one per spatial dimension: first elements of the sum that are left out
 * @param padding_r the same of the last ones; NULL = padding_l. Negative: so many more elements, which see no kernel
 * @param attr NULL = defaults; post-operations eltwise, binary, sum, prelu
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_deconvolution_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    dnnl_tp_alg_kind_t alg_kind, const_dnnl_tp_memory_desc_t src_desc,
    const_dnnl_tp_memory_desc_t weights_desc, const_dnnl_tp_memory_desc_t bias_desc,
    const_dnnl_tp_memory_desc_t dst_desc, const dnnl_tp_dims_t strides, const dnnl_tp_dims_t dilates,
    const dnnl_tp_dims_t padding_l, const dnnl_tp_dims_t padding_r, const_dnnl_tp_primitive_attr_t attr);

/** Softmax or its logarithm along one axis; the largest element is subtracted first. Arguments: SRC, DST
 * (the same buffer allowed). Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param prop_kind forward_training or forward_inference; they compute the same
 * @param alg_kind dnnl_tp_softmax_accurate or dnnl_tp_softmax_log
 * @param src_desc any shape
 * @param dst_desc the same shape; any = src's layout
 * @param softmax_axis 0 to ndims - 1
 * @param attr NULL = defaults; post-operations eltwise, binary, sum
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_softmax_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    dnnl_tp_alg_kind_t alg_kind, const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc,
    int softmax_axis, const_dnnl_tp_primitive_attr_t attr);

/** dst = scale * (src - mean) / sqrt(variance + epsilon) + shift over the last dimension, with the biased
 * variance; scale and shift are f32. Arguments: SRC, DST (the same buffer allowed), MEAN, VARIANCE, SCALE,
 * SHIFT. Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param prop_kind forward_training: MEAN and VARIANCE are written; forward_inference: they are no
 *     arguments, unless dnnl_tp_use_global_stats makes them inputs
 * @param src_desc {..., C}, 2 to 5 dimensions
 * @param dst_desc the same shape; any = src's layout
 * @param stat_desc f32, src's dimensions without the last; NULL or any = dense, in the order of src's dimensions
 * @param epsilon added to the variance
 * @param flags dnnl_tp_normalization_flags_t bits: use_global_stats, use_scale, use_shift, rms_norm
 * @param attr NULL = defaults; post-operations eltwise, binary, sum
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_layer_normalization_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc,
    const_dnnl_tp_memory_desc_t stat_desc, float epsilon, unsigned flags,
    const_dnnl_tp_primitive_attr_t attr);

/** As dnnl_tp_layer_normalization_forward_primitive_desc_create() with a type for scale and shift.
 * Thread-safe.
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
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc,
    const_dnnl_tp_memory_desc_t stat_desc, dnnl_tp_data_type_t scale_shift_data_type, float epsilon,
    unsigned flags, const_dnnl_tp_primitive_attr_t attr);

/** dst = f(src), element by element. Arguments: SRC, DST (the same buffer allowed). Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param prop_kind forward_training or forward_inference; they compute the same
 * @param alg_kind a dnnl_tp_eltwise_* algorithm; its formula stands beside the enumerator
 * @param src_desc any shape
 * @param dst_desc the same shape; any = src's layout
 * @param alpha a of the formula
 * @param beta b of the formula
 * @param attr NULL = defaults; post-operations binary
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_eltwise_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    dnnl_tp_alg_kind_t alg_kind, const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc,
    float alpha, float beta, const_dnnl_tp_primitive_attr_t attr);

/** dst = src < 0 ? weights * src : src. Arguments: SRC, WEIGHTS, DST (the buffer of SRC allowed). Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param prop_kind forward_training or forward_inference; they compute the same
 * @param src_desc any shape
 * @param weights_desc each dimension src's or 1; any = src's layout where the shape is src's, else plain
 * @param dst_desc src's shape; any = src's layout
 * @param attr NULL = defaults
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_prelu_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t weights_desc,
    const_dnnl_tp_memory_desc_t dst_desc, const_dnnl_tp_primitive_attr_t attr);

/** dst = op(src0, src1) with broadcasting. Arguments: SRC_0, SRC_1, DST (the buffer of SRC_0 allowed).
 * Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param alg_kind a dnnl_tp_binary_* algorithm without select
 * @param src0_desc each dimension that of dst or 1
 * @param src1_desc each dimension that of dst or 1; any allowed
 * @param dst_desc the result; any allowed
 * @param attr NULL = defaults; scales of both sources; post-operations eltwise, binary, sum
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_binary_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_alg_kind_t alg_kind,
    const_dnnl_tp_memory_desc_t src0_desc, const_dnnl_tp_memory_desc_t src1_desc,
    const_dnnl_tp_memory_desc_t dst_desc, const_dnnl_tp_primitive_attr_t attr);

/** As dnnl_tp_binary_primitive_desc_create() for every algorithm; select: dst = src2 ? src0 : src1.
 * Arguments: also SRC_2. Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param alg_kind a dnnl_tp_binary_* algorithm
 * @param src0_desc as there
 * @param src1_desc as there
 * @param src2_desc of select: s8, each dimension that of dst or 1; NULL for the others
 * @param dst_desc as there
 * @param attr as there
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_binary_primitive_desc_create_v2(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_alg_kind_t alg_kind,
    const_dnnl_tp_memory_desc_t src0_desc, const_dnnl_tp_memory_desc_t src1_desc,
    const_dnnl_tp_memory_desc_t src2_desc, const_dnnl_tp_memory_desc_t dst_desc,
    const_dnnl_tp_primitive_attr_t attr);

/** Reduces the dimensions in which dst is 1 and src is not. Arguments: SRC, DST. Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param alg_kind a dnnl_tp_reduction_* algorithm
 * @param src_desc any shape
 * @param dst_desc each dimension src's or 1, at least one of them reduced; any allowed
 * @param p of the norms, >= 1
 * @param eps of the norms
 * @param attr NULL = defaults; post-operations eltwise, binary, sum
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_reduction_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_alg_kind_t alg_kind,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc, float p, float eps,
    const_dnnl_tp_primitive_attr_t attr);

/** Maxima or averages of windows that slide over the spatial dimensions. Along each of them
 * OUT = (IN - ((kernel - 1) * (dilation + 1) + 1) + padding_l + padding_r) / strides + 1. Arguments: SRC, DST;
 * WORKSPACE (output) of pooling_max in forward_training: for each element of dst the tap that it came from,
 * number (kd * KH + kh) * KW + kw, u8 for windows of at most 255 taps, else s32; its descriptor is
 * query_workspace_md. Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param prop_kind forward_training or forward_inference
 * @param alg_kind pooling_max, pooling_avg_include_padding or pooling_avg_exclude_padding
 * @param src_desc {N, C, [[ID,] IH,] IW}
 * @param dst_desc {N, C, [[OD,] OH,] OW}; any = src's layout
 * @param strides one value >= 1 for each spatial dimension, as all that follow; copied
 * @param kernel size of the window, >= 1
 * @param dilation inputs between two taps, >= 0; 0 = dense
 * @param padding_l padding in front, >= 0
 * @param padding_r padding behind; negative where windows do not reach the end; NULL = padding_l
 * @param attr NULL = defaults; post-operations eltwise and binary
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_pooling_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    dnnl_tp_alg_kind_t alg_kind, const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc,
    const dnnl_tp_dims_t strides, const dnnl_tp_dims_t kernel, const dnnl_tp_dims_t dilation,
    const dnnl_tp_dims_t padding_l, const dnnl_tp_dims_t padding_r, const_dnnl_tp_primitive_attr_t attr);

/** dst = scale * (src - mean) / sqrt(variance + epsilon) + shift with one mean, biased variance, scale and shift
 * for each channel, which the batch and space share; they are f32. Arguments: SRC, DST (the same buffer allowed),
 * MEAN, VARIANCE, SCALE, SHIFT; SRC_1 with fuse_norm_add_relu, of dst's descriptor; WORKSPACE (output) of either
 * fusion in forward_training: u8 of dst's shape and layout, 1 where the result is above 0, else 0; its
 * descriptor is query_workspace_md. Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param prop_kind forward_training: MEAN and VARIANCE are written; forward_inference: they are no
 *     arguments, unless dnnl_tp_use_global_stats makes them inputs
 * @param src_desc {N, C, [[[D,] H,] W]}
 * @param dst_desc the same shape; any = src's layout
 * @param epsilon added to the variance
 * @param flags dnnl_tp_normalization_flags_t bits: use_global_stats, use_scale, use_shift, fuse_norm_relu,
 *     fuse_norm_add_relu
 * @param attr NULL = defaults; post-operations eltwise and binary, behind the fused ones
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_batch_normalization_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc, float epsilon, unsigned flags,
    const_dnnl_tp_primitive_attr_t attr);

/** As batch normalization with a mean and variance for each image and group of C / groups neighbouring channels,
 * MEAN and VARIANCE of {N, groups}; scale and shift are by channel. Arguments: SRC, DST (the same buffer
 * allowed), MEAN, VARIANCE, SCALE, SHIFT. Thread-safe.
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
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc, dnnl_tp_dim_t groups,
    float epsilon, unsigned flags, const_dnnl_tp_primitive_attr_t attr);

/** Local response normalization: dst = src * (k + alpha / size * sum)^-beta, where sum is that of the squares of the
 * neighbours -(local_size - 1) / 2 to (local_size - 1) / 2, so an even size has as many as the odd one below it.
 * Across channels neighbours are channels and size is local_size; within a channel they are a box in space and
 * size is local_size to the number of spatial dimensions. Arguments: SRC, DST. Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param prop_kind forward_training or forward_inference; they compute the same and need no workspace
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
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    dnnl_tp_alg_kind_t alg_kind, const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc,
    dnnl_tp_dim_t local_size, float alpha, float beta, float k, const_dnnl_tp_primitive_attr_t attr);

/** An image of another size: along each spatial dimension element x of dst lies at (x + 0.5) * IN / OUT - 0.5 of src.
 * resampling_nearest takes the nearest element, with ties away from zero; resampling_linear goes linearly between the
 * neighbours along every spatial dimension; what lies outside is the element at the border. Arguments: SRC, DST.
 * Thread-safe (oneDNN, "Resampling": https://uxlfoundation.github.io/oneDNN/dev_guide_resampling.html).
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param prop_kind forward_training or forward_inference; they compute the same
 * @param alg_kind resampling_nearest or resampling_linear
 * @param factors OUT / IN, one for each spatial dimension. Only a dst that is NULL gets its sizes from them, rounded down;
 *     the query tells dst's size / src's. NULL where dst is given
 * @param src_desc {N, C, [[ID,] IH,] IW}
 * @param dst_desc {N, C, [[OD,] OH,] OW}; any = src's layout; NULL = src's type, layout and batch, sizes by the factors
 * @param attr NULL = defaults; post-operations eltwise, binary, sum
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_resampling_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    dnnl_tp_alg_kind_t alg_kind, const float *factors, const_dnnl_tp_memory_desc_t src_desc,
    const_dnnl_tp_memory_desc_t dst_desc, const_dnnl_tp_primitive_attr_t attr);

/** Interleaves groups of an axis: element u + v * (C / group_size) of dst's axis is element u * group_size + v of
 * src's, 0 <= u < C / group_size, 0 <= v < group_size. Seen as a matrix of C / group_size rows, the axis is transposed.
 * Arguments: SRC, DST. Thread-safe.
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
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc, int axis,
    dnnl_tp_dim_t group_size, const_dnnl_tp_primitive_attr_t attr);

/** Copies a tensor into another layout and data type, rounding half to even and saturating. Arguments: SRC,
 * DST. Thread-safe.
 *
 * @param[out] reorder_primitive_desc owned by the caller; NULL on failure
 * @param src_desc any concrete layout
 * @param src_engine an engine
 * @param dst_desc the same dimensions, any concrete layout
 * @param dst_engine the same engine
 * @param attr NULL = defaults; scales and zero points of both, post-operation sum
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_reorder_primitive_desc_create(
    dnnl_tp_primitive_desc_t *reorder_primitive_desc, const_dnnl_tp_memory_desc_t src_desc,
    dnnl_tp_engine_t src_engine, const_dnnl_tp_memory_desc_t dst_desc, dnnl_tp_engine_t dst_engine,
    const_dnnl_tp_primitive_attr_t attr);

/** Puts tensors one behind the other along a dimension. Arguments: MULTIPLE_SRC + i, DST. Thread-safe.
 *
 * @param[out] concat_primitive_desc owned by the caller; NULL on failure
 * @param engine an engine
 * @param dst_desc the sum of the sources along the dimension; NULL or any = dense, in the order of src's dimensions
 * @param n number of sources, >= 1
 * @param concat_dimension 0 to ndims - 1
 * @param src_descs n descriptors of one data type, equal in every other dimension
 * @param attr NULL = defaults; scales of the sources
 * @return success; errors as in the file comment. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_concat_primitive_desc_create(
    dnnl_tp_primitive_desc_t *concat_primitive_desc, dnnl_tp_engine_t engine,
    const_dnnl_tp_memory_desc_t dst_desc, int n, int concat_dimension,
    const_dnnl_tp_memory_desc_t const *src_descs, const_dnnl_tp_primitive_attr_t attr);

/** dst = sum over i of scales[i] * src[i]. Arguments: MULTIPLE_SRC + i, DST (the buffer of the first source
 * allowed). Thread-safe.
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

/* ---- Descriptors in general -------------------------------------------------------------------------- */

/** Replaces the implementation of a descriptor by the next one in the engine's order that serves the
 * problem. Thread-compatible.
 *
 * @param primitive_desc a descriptor that nothing else uses
 * @return success; last_impl_reached (the descriptor stays as it is; always for reorder, concat, sum and
 *     clones); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_desc_next_impl(dnnl_tp_primitive_desc_t primitive_desc);

/** Copies a descriptor. Thread-safe.
 *
 * @param[out] primitive_desc owned by the caller; NULL on failure
 * @param existing_primitive_desc the original
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_desc_clone(
    dnnl_tp_primitive_desc_t *primitive_desc, const_dnnl_tp_primitive_desc_t existing_primitive_desc);

/** Gives the attributes of a descriptor. Thread-safe.
 *
 * @param primitive_desc a descriptor
 * @param[out] attr borrowed from the descriptor
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_desc_get_attr(
    const_dnnl_tp_primitive_desc_t primitive_desc, const_dnnl_tp_primitive_attr_t *attr);

/** Gives the thread count that was resolved at creation: of the attributes, else of the pool in them, else
 * of the engine, else of the process. Executing on a pool of another size is correct. Thread-safe.
 *
 * @param primitive_desc a descriptor
 * @param[out] num_threads 1 to 256
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_primitive_desc_get_num_threads(const_dnnl_tp_primitive_desc_t primitive_desc, int *num_threads);

/** Reads a property of a descriptor. Thread-safe.
 *
 * @param primitive_desc a descriptor
 * @param what a dnnl_tp_query_t
 * @param index number of a tensor of its group, or the argument number with dnnl_tp_query_exec_arg_md; else
 *     0
 * @param[out] result by the suffix of the name: _s32: int *, _s64: int64_t *, _f32: float *, _f64: double
 *     *, _md: const_dnnl_tp_memory_desc_t *, _str: const char **, engine: dnnl_tp_engine_t *, flags:
 *     unsigned *, kinds: their enumeration's pointer. What it points to is borrowed from the descriptor.
 * @return success; unimplemented (the kind has no such property); not_required (no such tensor);
 *     invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_desc_query(const_dnnl_tp_primitive_desc_t primitive_desc,
                                                              dnnl_tp_query_t what, int index, void *result);

/** Gives the descriptor of a tensor as the implementation wants it, layouts resolved. Thread-safe.
 *
 * @param primitive_desc a descriptor or NULL
 * @param what a dnnl_tp_query_*_md
 * @param index as in dnnl_tp_primitive_desc_query()
 * @return borrowed from the descriptor; the zero descriptor if there is no such tensor; NULL for a NULL
 *     descriptor or another what. */
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
DNNL_TP_API dnnl_tp_status_t dnnl_tp_primitive_desc_destroy(dnnl_tp_primitive_desc_t primitive_desc);

/* ---- Primitives -------------------------------------------------------------------------------------- */

/** Creates a primitive; equal ones are shared through the cache, concurrent creations of one become one.
 * Thread-safe.
 *
 * @param[out] primitive owned by the caller; NULL on failure
 * @param primitive_desc kept alive by the primitive
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_create(dnnl_tp_primitive_t *primitive,
                                                          const_dnnl_tp_primitive_desc_t primitive_desc);

/** Gives the blob of a primitive, from which this version of the library makes an equal one in another process. Kernels are
 * compiled ahead, so it holds none: it tells problem, implementation and attributes, and saves no time. Thread-safe.
 *
 * @param primitive a primitive
 * @param[in,out] size bytes of cache_blob; out: bytes needed
 * @param[out] cache_blob room for the blob; NULL asks for the size only
 * @return success; invalid_arguments (the room is too small); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_get_cache_blob(const_dnnl_tp_primitive_t primitive,
                                                                  size_t *size, uint8_t *cache_blob);

/** As dnnl_tp_primitive_create(), and checks that a blob is of an equal primitive. Thread-safe.
 *
 * @param[out] primitive owned by the caller; NULL on failure
 * @param primitive_desc kept alive by the primitive
 * @param size bytes of the blob
 * @param cache_blob what dnnl_tp_primitive_get_cache_blob() gave; read only
 * @return as dnnl_tp_primitive_create(); invalid_arguments also for a blob of another primitive, or of another version. */
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

/** Drops the caller's reference to a primitive; submitted executions end properly. Thread-safe.
 *
 * @param primitive NULL or a primitive
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_primitive_destroy(dnnl_tp_primitive_t primitive);

#ifdef __cplusplus
}
#endif

#endif
