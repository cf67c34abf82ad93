/** @file
 * Handles, enumerations and constants of dnnl_tp.
 *
 * Names and values follow oneDNN v3's C API with the prefix dnnl_tp_ instead of dnnl_, so that a
 * process may hold both libraries. Read dnnl_tp.h next. */
#ifndef DNNL_TP_TYPES_H
#define DNNL_TP_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "dnnl_tp/dnnl_tp_config.h"
#include "dnnl_tp/dnnl_tp_format_tags.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
/** An exported function. */
#define DNNL_TP_API __attribute__((visibility("default")))
/** An exported function whose status the caller must check. */
#define DNNL_TP_CHECKED __attribute__((visibility("default"), warn_unused_result))
#else
#define DNNL_TP_API
#define DNNL_TP_CHECKED
#endif

/** Status of a call. Values below 0x1000 are oneDNN's. */
typedef enum {
    dnnl_tp_success = 0,       /**< The call succeeded. */
    dnnl_tp_out_of_memory = 1, /**< An allocation failed; nothing was changed. */
    /** The caller broke a documented rule; see dnnl_tp_last_error(). */
    dnnl_tp_invalid_arguments = 2,
    /** A legal request that no implementation of this build serves. */
    dnnl_tp_unimplemented = 3,
    dnnl_tp_last_impl_reached = 4,      /**< No further implementation. */
    dnnl_tp_runtime_error = 5,          /**< The system or the caller's pool failed. */
    dnnl_tp_not_required = 6,           /**< The queried item does not exist for this object. */
    dnnl_tp_invalid_graph = 7,          /**< The graph as a whole is wrong. */
    dnnl_tp_invalid_graph_op = 8,       /**< An operator of the graph is wrong. */
    dnnl_tp_invalid_shape = 9,          /**< Shapes do not fit each other. */
    dnnl_tp_invalid_data_type = 10,     /**< Data types do not fit each other. */
    dnnl_tp_would_deadlock = 0x1001,    /**< The caller would wait for its own work. */
    dnnl_tp_timed_out = 0x1002,         /**< The time limit passed. */
    dnnl_tp_cancelled = 0x1003,         /**< The work was cancelled. */
    dnnl_tp_deadline_exceeded = 0x1004, /**< The deadline of the run passed. */
    dnnl_tp_poisoned = 0x1006           /**< An earlier item of the stream failed. */
} dnnl_tp_status_t;

/** Data type of a tensor element. Descriptors and memory objects may have any of them. Primitives
 * and graphs return unimplemented or invalid_data_type for the 4- and 8-bit floating-point types,
 * s4, u4 and e8m0. */
typedef enum {
    dnnl_tp_data_type_undef = 0,   /**< No type. */
    dnnl_tp_f16 = 1,               /**< IEEE half precision. */
    dnnl_tp_bf16 = 2,              /**< bfloat16. */
    dnnl_tp_f32 = 3,               /**< IEEE single precision. */
    dnnl_tp_s32 = 4,               /**< 32-bit signed integer. */
    dnnl_tp_s8 = 5,                /**< 8-bit signed integer. */
    dnnl_tp_u8 = 6,                /**< 8-bit unsigned integer. */
    dnnl_tp_f64 = 7,               /**< IEEE double precision: eltwise, binary, moves. */
    dnnl_tp_boolean = 8,           /**< One byte, 0 = false: as f64. */
    dnnl_tp_f8_e5m2 = 9,           /**< 8-bit floating point, 5 bits of exponent; see below. */
    dnnl_tp_f8_e4m3 = 10,          /**< 8-bit floating point, 4 bits of exponent. */
    dnnl_tp_s4 = 11,               /**< 4-bit signed integer, two in a byte. */
    dnnl_tp_u4 = 12,               /**< 4-bit unsigned integer, two in a byte. */
    dnnl_tp_e8m0 = 13,             /**< 8 bits of exponent: scales. */
    dnnl_tp_f4_e2m1 = 14,          /**< 4-bit floating point, two in a byte, 2 bits of exponent. */
    dnnl_tp_f4_e3m0 = 15,          /**< 4-bit floating point, two in a byte, 3 bits of exponent. */
    dnnl_tp_s64 = 16,              /**< 64-bit signed integer: as f64. */
    dnnl_tp_data_type_max = 0x7fff /**< Not a value: fixes the size of the type. */
} dnnl_tp_data_type_t;

/** Kind of an engine. */
typedef enum {
    dnnl_tp_any_engine = 0, /**< No particular engine; cannot be created. */
    dnnl_tp_cpu = 1,        /**< The processor. */
    dnnl_tp_gpu = 2         /**< A GPU; this build has none. */
} dnnl_tp_engine_kind_t;

/** Flags of a stream. */
typedef enum {
    dnnl_tp_stream_in_order = 1, /**< Items run one after another. */
    /** Permits any order; items still run in order. */
    dnnl_tp_stream_out_of_order = 2,
    dnnl_tp_stream_default_flags = dnnl_tp_stream_in_order /**< Used by calls without flags. */
} dnnl_tp_stream_flags_t;

/** Kind of a memory format. */
typedef enum {
    dnnl_tp_format_kind_undef = 0,       /**< A zero descriptor: no tensor. */
    dnnl_tp_format_kind_any = 1,         /**< The implementation chooses. */
    dnnl_tp_blocked = 2,                 /**< Strides and inner blocks. */
    dnnl_tp_format_kind_opaque = 3,      /**< A layout that only the library knows. */
    dnnl_tp_format_kind_sparse = 4,      /**< A sparse tensor; not supported. */
    dnnl_tp_format_kind_host_scalar = 5, /**< One element that the memory object holds. */
    dnnl_tp_format_kind_max = 0x7fff     /**< Not a value: fixes the size of the type. */
} dnnl_tp_format_kind_t;

/** Propagation kind. No primitive computes gradients: their kinds are names. */
typedef enum {
    dnnl_tp_prop_kind_undef = 0,                /**< Not set. */
    dnnl_tp_forward_training = 64,              /**< Forward, with the data that backward needs. */
    dnnl_tp_forward_inference = 96,             /**< Forward. */
    dnnl_tp_forward = dnnl_tp_forward_training, /**< The same as training. */
    dnnl_tp_backward = 128,                     /**< Gradients of everything. */
    dnnl_tp_backward_data = 160,                /**< Gradient of the source. */
    dnnl_tp_backward_weights = 192,             /**< Gradients of weights and bias. */
    dnnl_tp_backward_bias = 193                 /**< Gradient of the bias. */
} dnnl_tp_prop_kind_t;

/** Kind of a primitive. */
typedef enum {
    dnnl_tp_undefined_primitive = 0,    /**< No primitive. */
    dnnl_tp_reorder = 1,                /**< Copy into another layout and type. */
    dnnl_tp_shuffle = 2,                /**< Interleaves groups of an axis. */
    dnnl_tp_concat = 3,                 /**< Joins tensors along a dimension. */
    dnnl_tp_sum = 4,                    /**< Weighted sum of tensors. */
    dnnl_tp_convolution = 5,            /**< Weighted sums of windows of an image. */
    dnnl_tp_deconvolution = 6,          /**< The transposed convolution. */
    dnnl_tp_eltwise = 7,                /**< A function of each element. */
    dnnl_tp_lrn = 8,                    /**< Local response normalization. */
    dnnl_tp_batch_normalization = 9,    /**< Normalization of each channel over the batch. */
    dnnl_tp_inner_product = 10,         /**< Fully connected layer. */
    dnnl_tp_rnn = 11,                   /**< Recurrent networks: a name, no primitive has it. */
    dnnl_tp_gemm = 12,                  /**< As rnn. */
    dnnl_tp_binary = 13,                /**< A function of two tensors, element by element. */
    dnnl_tp_matmul = 14,                /**< Product of matrices. */
    dnnl_tp_resampling = 15,            /**< Changes the size of an image. */
    dnnl_tp_pooling = 16,               /**< Maxima or averages of windows. */
    dnnl_tp_reduction = 17,             /**< Combines elements along dimensions. */
    dnnl_tp_prelu = 18,                 /**< ReLU with a slope per weight. */
    dnnl_tp_softmax = 19,               /**< Softmax and its logarithm. */
    dnnl_tp_layer_normalization = 20,   /**< Normalization over the last dimension. */
    dnnl_tp_group_normalization = 21,   /**< Normalization of groups of channels of an image. */
    dnnl_tp_primitive_kind_max = 0x7fff /**< Not a value: fixes the size of the type. */
} dnnl_tp_primitive_kind_t;

/** Algorithm of a primitive. Formulas: s = source, a = alpha, b = beta. */
typedef enum {
    dnnl_tp_alg_kind_undef = 0, /**< No algorithm. */
    /** Sums of products, as in the definition. */
    dnnl_tp_convolution_direct = 1,
    /** Winograd's algorithm: fewer products. */
    dnnl_tp_convolution_winograd = 2,
    /** The library chooses; a query tells which. */
    dnnl_tp_convolution_auto = 3,
    /** Sums of products, as in the definition. */
    dnnl_tp_deconvolution_direct = 0xa,
    /** A name: deconvolution refuses it. */
    dnnl_tp_deconvolution_winograd = 0xb,
    dnnl_tp_eltwise_relu = 32,        /**< s > 0 ? s : a * s */
    dnnl_tp_eltwise_tanh = 33,        /**< tanh(s) */
    dnnl_tp_eltwise_elu = 34,         /**< s > 0 ? s : a * (exp(s) - 1) */
    dnnl_tp_eltwise_square = 35,      /**< s * s */
    dnnl_tp_eltwise_abs = 36,         /**< |s| */
    dnnl_tp_eltwise_sqrt = 37,        /**< sqrt(s) */
    dnnl_tp_eltwise_linear = 38,      /**< a * s + b */
    dnnl_tp_eltwise_soft_relu = 39,   /**< ln(1 + exp(a * s)) / a */
    dnnl_tp_eltwise_hardsigmoid = 40, /**< clamp(a * s + b, 0, 1) */
    dnnl_tp_eltwise_logistic = 41,    /**< 1 / (1 + exp(-s)) */
    dnnl_tp_eltwise_exp = 42,         /**< exp(s) */
    /** s/2 * (1 + tanh(sqrt(2/pi) * (s + 0.044715 s^3))) */
    dnnl_tp_eltwise_gelu_tanh = 43,
    dnnl_tp_eltwise_swish = 44,                     /**< s / (1 + exp(-a * s)) */
    dnnl_tp_eltwise_log = 45,                       /**< ln(s) */
    dnnl_tp_eltwise_clip = 46,                      /**< min(max(s, a), b) */
    dnnl_tp_eltwise_clip_v2 = 47,                   /**< min(max(s, a), b) */
    dnnl_tp_eltwise_pow = 48,                       /**< a * s^b */
    dnnl_tp_eltwise_gelu_erf = 49,                  /**< s/2 * (1 + erf(s / sqrt(2))) */
    dnnl_tp_eltwise_round = 50,                     /**< round to nearest even */
    dnnl_tp_eltwise_mish = 51,                      /**< s * tanh(ln(1 + exp(s))) */
    dnnl_tp_eltwise_hardswish = 52,                 /**< s * clamp(a * s + b, 0, 1) */
    dnnl_tp_eltwise_relu_use_dst_for_bwd = 256,     /**< As relu; backward would use dst. */
    dnnl_tp_eltwise_tanh_use_dst_for_bwd = 257,     /**< As tanh; backward would use dst. */
    dnnl_tp_eltwise_elu_use_dst_for_bwd = 258,      /**< As elu; backward would use dst. */
    dnnl_tp_eltwise_sqrt_use_dst_for_bwd = 259,     /**< As sqrt; backward would use dst. */
    dnnl_tp_eltwise_logistic_use_dst_for_bwd = 260, /**< As logistic; backward would use dst. */
    dnnl_tp_eltwise_exp_use_dst_for_bwd = 261,      /**< As exp; backward would use dst. */
    dnnl_tp_eltwise_clip_v2_use_dst_for_bwd = 262,  /**< As clip_v2; backward would use dst. */
    dnnl_tp_pooling_max = 0x1ff,                    /**< largest tap inside src */
    dnnl_tp_pooling_avg_include_padding = 0x2ff,    /**< sum of the taps / size of the window */
    /** sum of the taps / number of taps inside src */
    dnnl_tp_pooling_avg_exclude_padding = 0x3ff,
    dnnl_tp_lrn_across_channels = 0xaff,             /**< squares of the neighbouring channels */
    dnnl_tp_lrn_within_channel = 0xbff,              /**< squares of the neighbourhood in space */
    dnnl_tp_vanilla_rnn = 0x1fff,                    /**< Cells of recurrent networks: names. */
    dnnl_tp_vanilla_lstm = 0x2fff,                   /**< As vanilla_rnn. */
    dnnl_tp_vanilla_gru = 0x3fff,                    /**< As vanilla_rnn. */
    dnnl_tp_lbr_gru = 0x4fff,                        /**< As vanilla_rnn. */
    dnnl_tp_vanilla_augru = 0x5fff,                  /**< As vanilla_rnn. */
    dnnl_tp_lbr_augru = 0x6fff,                      /**< As vanilla_rnn. */
    dnnl_tp_binary_add = 0x1fff0,                    /**< s0 + s1 */
    dnnl_tp_binary_mul = 0x1fff1,                    /**< s0 * s1 */
    dnnl_tp_binary_max = 0x1fff2,                    /**< max(s0, s1) */
    dnnl_tp_binary_min = 0x1fff3,                    /**< min(s0, s1) */
    dnnl_tp_binary_div = 0x1fff4,                    /**< s0 / s1 */
    dnnl_tp_binary_sub = 0x1fff5,                    /**< s0 - s1 */
    dnnl_tp_binary_ge = 0x1fff6,                     /**< s0 >= s1; comparisons give 1 or 0 */
    dnnl_tp_binary_gt = 0x1fff7,                     /**< s0 > s1 */
    dnnl_tp_binary_le = 0x1fff8,                     /**< s0 <= s1 */
    dnnl_tp_binary_lt = 0x1fff9,                     /**< s0 < s1 */
    dnnl_tp_binary_eq = 0x1fffa,                     /**< s0 == s1 */
    dnnl_tp_binary_ne = 0x1fffb,                     /**< s0 != s1 */
    dnnl_tp_binary_select = 0x1fffc,                 /**< src2 ? src0 : src1 */
    dnnl_tp_reduction_max = 0x2fff2,                 /**< largest element */
    dnnl_tp_reduction_min = 0x2fff3,                 /**< smallest element */
    dnnl_tp_reduction_sum = 0x2fff4,                 /**< sum */
    dnnl_tp_reduction_mul = 0x2fff5,                 /**< product */
    dnnl_tp_reduction_mean = 0x2fff6,                /**< sum / number of elements */
    dnnl_tp_reduction_norm_lp_max = 0x2fff7,         /**< (max(sum |x|^p, eps))^(1/p) */
    dnnl_tp_reduction_norm_lp_sum = 0x2fff8,         /**< (sum |x|^p + eps)^(1/p) */
    dnnl_tp_reduction_norm_lp_power_p_max = 0x2fff9, /**< max(sum |x|^p, eps) */
    dnnl_tp_reduction_norm_lp_power_p_sum = 0x2fffa, /**< sum |x|^p + eps */
    dnnl_tp_resampling_nearest = 0x2fff0,            /**< the nearest element */
    /** between the nearest two along each dimension */
    dnnl_tp_resampling_linear = 0x2fff1,
    dnnl_tp_softmax_accurate = 0x30000, /**< exp(s - max) / sum exp(s - max) */
    dnnl_tp_softmax_log = 0x30001       /**< s - max - ln(sum exp(s - max)) */
} dnnl_tp_alg_kind_t;

/** Flags of layer, batch and group normalization. */
typedef enum {
    dnnl_tp_normalization_flags_none = 0, /**< No flag. */
    dnnl_tp_use_global_stats = 1,         /**< Mean and variance are inputs. */
    dnnl_tp_use_scale = 2,                /**< A scale vector is an input. */
    dnnl_tp_use_shift = 4,                /**< A shift vector is an input. */
    /** Batch: ReLU of the result; training writes a workspace. */
    dnnl_tp_fuse_norm_relu = 8,
    dnnl_tp_fuse_norm_add_relu = 16, /**< Batch: ReLU of the sum with SRC_1; likewise. */
    /** Layer: mean is taken as 0; variance is the mean of squares. */
    dnnl_tp_rms_norm = 32
} dnnl_tp_normalization_flags_t;

/** Provider of scratch memory. */
typedef enum {
    dnnl_tp_scratchpad_mode_library = 0, /**< The stream's arena. */
    dnnl_tp_scratchpad_mode_user = 1     /**< The caller, as DNNL_TP_ARG_SCRATCHPAD. */
} dnnl_tp_scratchpad_mode_t;

/** Permission to compute f32 in a lower precision. */
typedef enum {
    dnnl_tp_fpmath_mode_strict = 0, /**< No lower precision. */
    dnnl_tp_fpmath_mode_bf16 = 1,   /**< bf16. */
    dnnl_tp_fpmath_mode_f16 = 2,    /**< f16. */
    dnnl_tp_fpmath_mode_any = 3,    /**< Any of them. */
    dnnl_tp_fpmath_mode_tf32 = 4    /**< tf32: 10 bits of mantissa. */
} dnnl_tp_fpmath_mode_t;

/** Accumulation mode; a hint. */
typedef enum {
    dnnl_tp_accumulation_mode_strict = 0,  /**< f32, or s32 for integers. */
    dnnl_tp_accumulation_mode_relaxed = 1, /**< The implementation may choose a narrower type. */
    dnnl_tp_accumulation_mode_any = 2,     /**< Anything. */
    dnnl_tp_accumulation_mode_s32 = 3,     /**< s32. */
    dnnl_tp_accumulation_mode_f32 = 4,     /**< f32. */
    dnnl_tp_accumulation_mode_f16 = 5      /**< f16. */
} dnnl_tp_accumulation_mode_t;

/** Rounding of a result to the type of its tensor. */
typedef enum {
    dnnl_tp_rounding_mode_environment = 0, /**< To nearest, ties to even. */
    dnnl_tp_rounding_mode_stochastic = 1   /**< Random; refused. */
} dnnl_tp_rounding_mode_t;

/** Flags of a recurrent network; no primitive uses them. */
typedef enum {
    dnnl_tp_rnn_flags_undef = 0,                 /**< None. */
    dnnl_tp_rnn_flags_diff_weights_overwrite = 1 /**< Gradients of weights are not added up. */
} dnnl_tp_rnn_flags_t;

/** Direction of a recurrent network; no primitive uses it. */
typedef enum {
    dnnl_tp_rnn_direction_undef = 0,       /**< Not set. */
    dnnl_tp_unidirectional_left2right = 1, /**< Forward in time. */
    dnnl_tp_unidirectional_right2left = 2, /**< Backward in time. */
    dnnl_tp_bidirectional_concat = 3,      /**< Both directions, results concatenated. */
    dnnl_tp_bidirectional_sum = 4          /**< Both directions, results added. */
} dnnl_tp_rnn_direction_t;

/** Quantization mode of scales. */
typedef enum {
    dnnl_tp_quantization_mode_undef = 0,       /**< Not set. */
    dnnl_tp_quantization_mode_static_sazp = 1, /**< Static scale and zero point. */
    /** Scales of type e8m0 that the primitive computes; refused. */
    dnnl_tp_quantization_mode_dynamic_mx = 2,
    dnnl_tp_quantization_mode_dynamic_fp = 3 /**< Scales that the primitive computes; refused. */
} dnnl_tp_quantization_mode_t;

/** Property to query. */
typedef enum {
    dnnl_tp_query_undef = 0,                   /**< Nothing. */
    dnnl_tp_query_engine = 1,                  /**< The engine. */
    dnnl_tp_query_primitive_kind = 2,          /**< The kind. */
    dnnl_tp_query_num_of_inputs_s32 = 3,       /**< Number of inputs. */
    dnnl_tp_query_num_of_outputs_s32 = 4,      /**< Number of outputs. */
    dnnl_tp_query_time_estimate_f64 = 5,       /**< Estimated time, s; 0 = unknown. */
    dnnl_tp_query_memory_consumption_s64 = 6,  /**< Scratch that the library provides, bytes. */
    dnnl_tp_query_scratchpad_engine = 7,       /**< Engine of the scratch. */
    dnnl_tp_query_impl_info_str = 8,           /**< Name of the implementation. */
    dnnl_tp_query_reorder_src_engine = 9,      /**< Engine of a reorder's source. */
    dnnl_tp_query_reorder_dst_engine = 10,     /**< Engine of a reorder's destination. */
    dnnl_tp_query_prop_kind = 11,              /**< The propagation kind. */
    dnnl_tp_query_cache_blob_id_size_s64 = 12, /**< Size of a cache blob. */
    dnnl_tp_query_cache_blob_id = 13,          /**< A cache blob. */
    dnnl_tp_query_strides = 14,                /**< Strides of the outer blocks. */
    dnnl_tp_query_dilations = 15,              /**< Dilations of a window. */
    dnnl_tp_query_padding_l = 16,              /**< Padding, left. */
    dnnl_tp_query_padding_r = 17,              /**< Padding, right. */
    dnnl_tp_query_epsilon_f32 = 18,            /**< epsilon of a normalization or reduction. */
    dnnl_tp_query_flags = 19,                  /**< Flags of a normalization. */
    dnnl_tp_query_alg_kind = 20,               /**< The algorithm. */
    dnnl_tp_query_alpha_f32 = 21,              /**< alpha. */
    dnnl_tp_query_beta_f32 = 22,               /**< beta. */
    dnnl_tp_query_axis_s32 = 23,               /**< Axis of a softmax, shuffle or concat. */
    dnnl_tp_query_local_size_s64 = 24,         /**< Size of a local normalization. */
    dnnl_tp_query_k_f32 = 25,                  /**< k of a local normalization. */
    dnnl_tp_query_p_f32 = 26,                  /**< p of a reduction. */
    dnnl_tp_query_factors = 27,                /**< Factors of a resampling. */
    dnnl_tp_query_cell_kind = 28,              /**< Cell of a recurrent network. */
    dnnl_tp_query_direction = 29,              /**< Direction of a recurrent network. */
    dnnl_tp_query_activation_kind = 30,        /**< Activation of a recurrent network. */
    dnnl_tp_query_kernel = 31,                 /**< Kernel of a pooling. */
    /** Group size of a shuffle, groups of a group normalization. */
    dnnl_tp_query_group_size_s64 = 32,
    dnnl_tp_query_some_md = 128,         /**< Not a value: descriptors begin here. */
    dnnl_tp_query_src_md = 129,          /**< A source. */
    dnnl_tp_query_diff_src_md = 130,     /**< A gradient; has no dimensions. */
    dnnl_tp_query_weights_md = 131,      /**< Weights; index 1 = bias, or scale and shift. */
    dnnl_tp_query_diff_weights_md = 132, /**< A gradient; has no dimensions. */
    dnnl_tp_query_dst_md = 133,          /**< A destination. */
    dnnl_tp_query_diff_dst_md = 134,     /**< A gradient; has no dimensions. */
    dnnl_tp_query_workspace_md = 135,    /**< The workspace. */
    dnnl_tp_query_scratchpad_md = 136,   /**< The scratch in user mode. */
    /** The argument whose number is the index of the query. */
    dnnl_tp_query_exec_arg_md = 255,
    dnnl_tp_query_ndims_s32 = 256,            /**< Number of dimensions. */
    dnnl_tp_query_dims = 257,                 /**< Sizes. */
    dnnl_tp_query_data_type = 258,            /**< Type of an element. */
    dnnl_tp_query_submemory_offset_s64 = 259, /**< Offset of element 0 from the handle, elements. */
    dnnl_tp_query_padded_dims = 260,          /**< Sizes with the padding of blocks. */
    dnnl_tp_query_padded_offsets = 261,       /**< Offsets of the data inside the padding; 0. */
    dnnl_tp_query_format_kind = 262,          /**< Kind of the layout. */
    dnnl_tp_query_inner_nblks_s32 = 263,      /**< Number of inner blocks. */
    dnnl_tp_query_inner_blks = 264,           /**< Sizes of the inner blocks. */
    dnnl_tp_query_inner_idxs = 265,           /**< Dimensions of the inner blocks. */
    dnnl_tp_query_sparse_encoding = 266,      /**< Encoding of a sparse tensor. */
    dnnl_tp_query_nnz_s64 = 267,              /**< Non-zero elements of a sparse tensor. */
    dnnl_tp_query_num_handles_s32 = 268,      /**< Number of buffers. */
    dnnl_tp_query_max = 0x7fff                /**< Not a value: fixes the size of the type. */
} dnnl_tp_query_t;

/** Instruction-set limit of an engine. Values are oneDNN's: a set has the bits of the sets that it
 * contains. A set without kernels of its own in this library counts as the largest set below it
 * that has kernels. */
typedef enum {
    /** All sets that processor and system support. */
    dnnl_tp_cpu_isa_default = 0,
    dnnl_tp_cpu_isa_sse41 = 0x1,             /**< Portable C only. */
    dnnl_tp_cpu_isa_avx = 0x3,               /**< As sse41. */
    dnnl_tp_cpu_isa_avx2 = 0x7,              /**< With FMA and F16C. */
    dnnl_tp_cpu_isa_avx2_vnni = 0xf,         /**< As avx2. */
    dnnl_tp_cpu_isa_avx2_vnni_2 = 0x1f,      /**< As avx2. */
    dnnl_tp_cpu_isa_avx512_core = 0x27,      /**< AVX-512 F, BW, VL, DQ. */
    dnnl_tp_cpu_isa_avx512_core_vnni = 0x67, /**< And VNNI. */
    dnnl_tp_cpu_isa_avx512_core_bf16 = 0xe7, /**< And BF16. */
    /** Counts as avx512_core_bf16, as do the sets after it. */
    dnnl_tp_cpu_isa_avx10_1_512 = 0x1ef,
    dnnl_tp_cpu_isa_avx512_core_fp16 = 0x1ef,              /**< The same as avx10_1_512. */
    dnnl_tp_cpu_isa_avx10_1_512_amx = 0xfef,               /**< AMX. */
    dnnl_tp_cpu_isa_avx512_core_amx = 0xfef,               /**< The same as avx10_1_512_amx. */
    dnnl_tp_cpu_isa_avx10_1_512_amx_fp16 = 0x1fef,         /**< AMX with f16. */
    dnnl_tp_cpu_isa_avx512_core_amx_fp16 = 0x1fef,         /**< The same as avx10_1_512_amx_fp16. */
    dnnl_tp_cpu_isa_avx10_2 = 0x201ff,                     /**< AVX10.2. */
    dnnl_tp_cpu_isa_avx10_2_512 = dnnl_tp_cpu_isa_avx10_2, /**< The same as avx10_2. */
    dnnl_tp_cpu_isa_avx10_2_amx_2 = 0x22fff,               /**< AVX10.2 and AMX. */
    dnnl_tp_cpu_isa_avx10_2_512_amx_2 = 0x22fff,           /**< The same as avx10_2_amx_2. */
    dnnl_tp_cpu_isa_avx10_2_ace = 0xa03ff                  /**< AVX10.2 and ACE. */
} dnnl_tp_cpu_isa_t;

/** Hints for the choice among the kernels of an instruction set. */
typedef enum {
    dnnl_tp_cpu_isa_no_hints = 0,  /**< None. */
    dnnl_tp_cpu_isa_prefer_ymm = 1 /**< Vectors of 256 bits; not supported. */
} dnnl_tp_cpu_isa_hints_t;

/** Encoding of a sparse tensor, for programs that name it: descriptors of this library have none. */
typedef enum {
    dnnl_tp_sparse_encoding_undef = 0, /**< Not a sparse tensor. */
    dnnl_tp_csr = 1,                   /**< Compressed rows. */
    dnnl_tp_packed = 2,                /**< A layout that a primitive chooses. */
    dnnl_tp_coo = 3                    /**< Coordinates of each element. */
} dnnl_tp_sparse_encoding_t;

/** A dimension, a stride or an offset, in elements. */
typedef int64_t dnnl_tp_dim_t;
/** Largest number of dimensions. */
#define DNNL_TP_MAX_NDIMS 12
/** Dimensions or strides of a tensor. */
typedef dnnl_tp_dim_t dnnl_tp_dims_t[DNNL_TP_MAX_NDIMS];

/** A dimension or stride that becomes known at execution. */
#define DNNL_TP_RUNTIME_DIM_VAL INT64_MIN
/** Size of a memory object whose descriptor has run-time dimensions. */
#define DNNL_TP_RUNTIME_SIZE_VAL ((size_t)DNNL_TP_RUNTIME_DIM_VAL)
/** @cond */
static const union {
    unsigned u;
    float f;
} DNNL_TP_RUNTIME_F32_VAL_REP = {0x7fc000d0};
static const int DNNL_TP_RUNTIME_S32_VAL_REP = INT32_MIN;
/** @endcond */
/** oneDNN's f32 that becomes known at execution, a NaN, for programs that name it: no call of this
 * library gives it that meaning. */
#define DNNL_TP_RUNTIME_F32_VAL (DNNL_TP_RUNTIME_F32_VAL_REP.f)
/** oneDNN's s32 that becomes known at execution, for programs that name it: no call of this library
 * gives it that meaning. */
#define DNNL_TP_RUNTIME_S32_VAL DNNL_TP_RUNTIME_S32_VAL_REP
/** No buffer yet. */
#define DNNL_TP_MEMORY_NONE (NULL)
/** The library allocates and owns the buffer. */
#define DNNL_TP_MEMORY_ALLOCATE ((void *)(size_t)-1)

/** Version and configuration of the library. */
typedef struct {
    /** Version of oneDNN's API whose names and values this API follows: 3. */
    int major;
    /** Version of that API. */
    int minor;
    /** Version of that API. */
    int patch;
    /** Commit at the time of configuring, or "N/A". */
    const char *hash;
    /** DNNL_TP_RUNTIME_* */
    unsigned cpu_runtime;
    /** DNNL_TP_RUNTIME_* */
    unsigned gpu_runtime;
    /** Version of the library; changes with the ABI. */
    int library_major;
    /** Version of the library; changes with additions. */
    int library_minor;
    /** Version of the library; changes with fixes. */
    int library_patch;
} dnnl_tp_version_t;

/* Handles. A const_ handle gives read access only and is borrowed from the object it came from. */
typedef struct dnnl_tp_engine *dnnl_tp_engine_t;             /**< A device. */
typedef const struct dnnl_tp_engine *const_dnnl_tp_engine_t; /**< Borrowed device. */
typedef struct dnnl_tp_stream *dnnl_tp_stream_t;             /**< An in-order queue on an engine. */
typedef const struct dnnl_tp_stream *const_dnnl_tp_stream_t; /**< Borrowed stream. */
/** Completion of submitted work; see dnnl_tp_event.h. */
typedef struct dnnl_tp_event *dnnl_tp_event_t;
typedef struct dnnl_tp_trace *dnnl_tp_trace_t; /**< Record of executed work; see dnnl_tp_trace.h. */
/** Shape, type and layout of a tensor. */
typedef struct dnnl_tp_memory_desc *dnnl_tp_memory_desc_t;
typedef const struct dnnl_tp_memory_desc *const_dnnl_tp_memory_desc_t; /**< Borrowed descriptor. */
/** A descriptor with a buffer. */
typedef struct dnnl_tp_memory *dnnl_tp_memory_t;
typedef const struct dnnl_tp_memory *const_dnnl_tp_memory_t; /**< Borrowed memory. */
/** Attributes of a primitive. */
typedef struct dnnl_tp_primitive_attr *dnnl_tp_primitive_attr_t;
/** Borrowed attributes. */
typedef const struct dnnl_tp_primitive_attr *const_dnnl_tp_primitive_attr_t;
typedef struct dnnl_tp_post_ops *dnnl_tp_post_ops_t;             /**< A chain of post-operations. */
typedef const struct dnnl_tp_post_ops *const_dnnl_tp_post_ops_t; /**< Borrowed chain. */
typedef struct dnnl_tp_primitive_desc *dnnl_tp_primitive_desc_t; /**< A chosen implementation. */
typedef const struct dnnl_tp_primitive_desc *const_dnnl_tp_primitive_desc_t; /**< Borrowed. */
/** An executable operation. */
typedef struct dnnl_tp_primitive *dnnl_tp_primitive_t;
/** Borrowed primitive. */
typedef const struct dnnl_tp_primitive *const_dnnl_tp_primitive_t;

/** An execution argument: a DNNL_TP_ARG_* number and its memory (NULL = absent). */
typedef struct {
    /** DNNL_TP_ARG_* */
    int arg;
    /** NULL = absent */
    dnnl_tp_memory_t memory;
} dnnl_tp_exec_arg_t;

/** An execution argument as a plain pointer to data in the layout of the primitive descriptor. */
typedef struct {
    /** DNNL_TP_ARG_* */
    int arg;
    /** NULL = absent */
    void *handle;
} dnnl_tp_exec_handle_t;

/* Execution argument numbers; oneDNN's. */
#define DNNL_TP_ARG_UNDEF 0                         /**< No argument. */
#define DNNL_TP_ARG_SRC 1                           /**< Source. */
#define DNNL_TP_ARG_SRC_0 DNNL_TP_ARG_SRC           /**< First source. */
#define DNNL_TP_ARG_FROM DNNL_TP_ARG_SRC            /**< Source of a reorder. */
#define DNNL_TP_ARG_SRC_1 2                         /**< Second source. */
#define DNNL_TP_ARG_SRC_2 3                         /**< Third source. */
#define DNNL_TP_ARG_SRC_3 4                         /**< Fourth source. */
#define DNNL_TP_ARG_DST 17                          /**< Destination. */
#define DNNL_TP_ARG_DST_0 DNNL_TP_ARG_DST           /**< First destination. */
#define DNNL_TP_ARG_TO DNNL_TP_ARG_DST              /**< Destination of a reorder. */
#define DNNL_TP_ARG_DST_1 18                        /**< Second destination. */
#define DNNL_TP_ARG_DST_2 19                        /**< Third destination. */
#define DNNL_TP_ARG_WEIGHTS 33                      /**< Weights. */
#define DNNL_TP_ARG_WEIGHTS_0 DNNL_TP_ARG_WEIGHTS   /**< First weights. */
#define DNNL_TP_ARG_WEIGHTS_1 34                    /**< Second weights. */
#define DNNL_TP_ARG_WEIGHTS_2 35                    /**< Third weights. */
#define DNNL_TP_ARG_WEIGHTS_3 36                    /**< Fourth weights. */
#define DNNL_TP_ARG_BIAS 41                         /**< Bias. */
#define DNNL_TP_ARG_REDUCE 42                       /**< Sums of a source; no kind takes them. */
#define DNNL_TP_ARG_MEAN 49                         /**< Mean. */
#define DNNL_TP_ARG_VARIANCE 50                     /**< Variance. */
#define DNNL_TP_ARG_SCALE 51                        /**< Scale of a normalization. */
#define DNNL_TP_ARG_SHIFT 52                        /**< Shift of a normalization. */
#define DNNL_TP_ARG_WORKSPACE 64                    /**< Workspace. */
#define DNNL_TP_ARG_SCRATCHPAD 80                   /**< Scratch in user mode. */
#define DNNL_TP_ARG_ATTR_DROPOUT_OFFSET 507         /**< Dropout: refused. */
#define DNNL_TP_ARG_ATTR_ROUNDING_SEED 508          /**< Stochastic rounding: refused. */
#define DNNL_TP_ARG_ATTR_DROPOUT_MASK 509           /**< Dropout: refused. */
#define DNNL_TP_ARG_ATTR_DROPOUT_PROBABILITY 510    /**< Dropout: refused. */
#define DNNL_TP_ARG_ATTR_DROPOUT_SEED 511           /**< Dropout: refused. */
#define DNNL_TP_ARG_ATTR_PRECOMPUTED_REDUCTIONS 512 /**< Sums of a source: refused. */
#define DNNL_TP_ARG_MULTIPLE_SRC 1024               /**< Plus the number of the source. */
#define DNNL_TP_ARG_MULTIPLE_DST 2048               /**< Plus the number of the destination. */
/** Or-ed with the number of the scaled argument. */
#define DNNL_TP_ARG_ATTR_SCALES 4096
/** Or-ed with the number of the shifted argument. */
#define DNNL_TP_ARG_ATTR_ZERO_POINTS 8192
#define DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP_BASE 32768 /**< First number of post-op tensors. */
/** Argument of post-operation number idx; or-ed with DNNL_TP_ARG_SRC_1 (binary) or
 * DNNL_TP_ARG_SRC_2 (select). */
#define DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(idx) \
    (DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP_BASE * ((idx) + 1))

/** @name Arguments of oneDNN's kinds that do not exist here: recurrent networks, gradients.
 * @{ */
/** @cond */
#define DNNL_TP_ARG_SRC_LAYER DNNL_TP_ARG_SRC_0
#define DNNL_TP_ARG_SRC_ITER DNNL_TP_ARG_SRC_1
#define DNNL_TP_ARG_SRC_ITER_C DNNL_TP_ARG_SRC_2
#define DNNL_TP_ARG_AUGRU_ATTENTION DNNL_TP_ARG_SRC_3
#define DNNL_TP_ARG_DST_LAYER DNNL_TP_ARG_DST_0
#define DNNL_TP_ARG_DST_ITER DNNL_TP_ARG_DST_1
#define DNNL_TP_ARG_DST_ITER_C DNNL_TP_ARG_DST_2
#define DNNL_TP_ARG_WEIGHTS_LAYER DNNL_TP_ARG_WEIGHTS_0
#define DNNL_TP_ARG_WEIGHTS_ITER DNNL_TP_ARG_WEIGHTS_1
#define DNNL_TP_ARG_WEIGHTS_PEEPHOLE DNNL_TP_ARG_WEIGHTS_2
#define DNNL_TP_ARG_WEIGHTS_PROJECTION DNNL_TP_ARG_WEIGHTS_3
#define DNNL_TP_ARG_DIFF_SRC 129
#define DNNL_TP_ARG_DIFF_SRC_0 DNNL_TP_ARG_DIFF_SRC
#define DNNL_TP_ARG_DIFF_SRC_1 130
#define DNNL_TP_ARG_DIFF_SRC_2 131
#define DNNL_TP_ARG_DIFF_SRC_3 132
#define DNNL_TP_ARG_DIFF_DST 145
#define DNNL_TP_ARG_DIFF_DST_0 DNNL_TP_ARG_DIFF_DST
#define DNNL_TP_ARG_DIFF_DST_1 146
#define DNNL_TP_ARG_DIFF_DST_2 147
#define DNNL_TP_ARG_DIFF_WEIGHTS 161
#define DNNL_TP_ARG_DIFF_WEIGHTS_0 DNNL_TP_ARG_DIFF_WEIGHTS
#define DNNL_TP_ARG_DIFF_WEIGHTS_1 162
#define DNNL_TP_ARG_DIFF_WEIGHTS_2 163
#define DNNL_TP_ARG_DIFF_WEIGHTS_3 164
#define DNNL_TP_ARG_DIFF_BIAS 169
#define DNNL_TP_ARG_DIFF_SCALE 255
#define DNNL_TP_ARG_DIFF_SHIFT 256
#define DNNL_TP_ARG_DIFF_SRC_LAYER DNNL_TP_ARG_DIFF_SRC_0
#define DNNL_TP_ARG_DIFF_SRC_ITER DNNL_TP_ARG_DIFF_SRC_1
#define DNNL_TP_ARG_DIFF_SRC_ITER_C DNNL_TP_ARG_DIFF_SRC_2
#define DNNL_TP_ARG_DIFF_AUGRU_ATTENTION DNNL_TP_ARG_DIFF_SRC_3
#define DNNL_TP_ARG_DIFF_DST_LAYER DNNL_TP_ARG_DIFF_DST_0
#define DNNL_TP_ARG_DIFF_DST_ITER DNNL_TP_ARG_DIFF_DST_1
#define DNNL_TP_ARG_DIFF_DST_ITER_C DNNL_TP_ARG_DIFF_DST_2
#define DNNL_TP_ARG_DIFF_WEIGHTS_LAYER DNNL_TP_ARG_DIFF_WEIGHTS_0
#define DNNL_TP_ARG_DIFF_WEIGHTS_ITER DNNL_TP_ARG_DIFF_WEIGHTS_1
#define DNNL_TP_ARG_DIFF_WEIGHTS_PEEPHOLE DNNL_TP_ARG_DIFF_WEIGHTS_2
#define DNNL_TP_ARG_DIFF_WEIGHTS_PROJECTION DNNL_TP_ARG_DIFF_WEIGHTS_3
#define DNNL_TP_ARG_HINT_MAX_GROUP_SIZE 384
#define DNNL_TP_ARG_ATTR_OUTPUT_SCALES 513
#define DNNL_TP_ARG_ATTR_POST_OP_DW 16384
/** @endcond */
/** @} */

#ifdef __cplusplus
}
#endif

#endif
