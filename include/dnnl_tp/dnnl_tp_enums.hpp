/** @file
 * Enumerations of C++ with the values of the C enumerators, under the names that they have in
 * oneDNN's C++: algorithm::eltwise_relu is dnnl_tp_eltwise_relu. Included by dnnl_tp.hpp.
 *
 * Nested names (memory::data_type, engine::kind, ...) are aliases of those in namespace enums.
 * Functions of the C++ headers take either form. */
#ifndef DNNL_TP_ENUMS_HPP
#define DNNL_TP_ENUMS_HPP

#include <type_traits>

#include "dnnl_tp/dnnl_tp_format_tags.hpp"
#include "dnnl_tp/dnnl_tp_types.h"

namespace dnnl_tp {

/* clang-format off */
/** Enumerations that are members of classes in oneDNN's C++. */
namespace enums {

/** Kind of an engine: engine::kind. */
enum class engine_kind {
    any = dnnl_tp_any_engine,
    cpu = dnnl_tp_cpu,
    gpu = dnnl_tp_gpu,
};

/** Flags of a stream: stream::flags. */
enum class stream_flags : unsigned {
    in_order = dnnl_tp_stream_in_order,
    out_of_order = dnnl_tp_stream_out_of_order,
    default_flags = dnnl_tp_stream_default_flags,
};

/** Type of an element: memory::data_type. */
enum class data_type {
    undef = dnnl_tp_data_type_undef,
    f16 = dnnl_tp_f16,
    bf16 = dnnl_tp_bf16,
    f32 = dnnl_tp_f32,
    s32 = dnnl_tp_s32,
    s8 = dnnl_tp_s8,
    u8 = dnnl_tp_u8,
    f64 = dnnl_tp_f64,
    boolean = dnnl_tp_boolean,
    f8_e5m2 = dnnl_tp_f8_e5m2,
    f8_e4m3 = dnnl_tp_f8_e4m3,
    s4 = dnnl_tp_s4,
    u4 = dnnl_tp_u4,
    e8m0 = dnnl_tp_e8m0,
    f4_e2m1 = dnnl_tp_f4_e2m1,
    f4_e3m0 = dnnl_tp_f4_e3m0,
    s64 = dnnl_tp_s64,
};

/** Kind of a layout: memory::format_kind. */
enum class format_kind {
    undef = dnnl_tp_format_kind_undef,
    any = dnnl_tp_format_kind_any,
    blocked = dnnl_tp_blocked,
    opaque = dnnl_tp_format_kind_opaque,
    sparse = dnnl_tp_format_kind_sparse,
    host_scalar = dnnl_tp_format_kind_host_scalar,
};

/** Encoding of a sparse tensor: memory::sparse_encoding. */
enum class sparse_encoding {
    undef = dnnl_tp_sparse_encoding_undef,
    csr = dnnl_tp_csr,
    packed = dnnl_tp_packed,
    coo = dnnl_tp_coo,
};

/** Kind of a primitive: primitive::kind. */
enum class primitive_kind {
    undef = dnnl_tp_undefined_primitive,
    reorder = dnnl_tp_reorder,
    shuffle = dnnl_tp_shuffle,
    concat = dnnl_tp_concat,
    sum = dnnl_tp_sum,
    convolution = dnnl_tp_convolution,
    deconvolution = dnnl_tp_deconvolution,
    eltwise = dnnl_tp_eltwise,
    lrn = dnnl_tp_lrn,
    batch_normalization = dnnl_tp_batch_normalization,
    inner_product = dnnl_tp_inner_product,
    rnn = dnnl_tp_rnn,
    gemm = dnnl_tp_gemm,
    binary = dnnl_tp_binary,
    matmul = dnnl_tp_matmul,
    resampling = dnnl_tp_resampling,
    pooling = dnnl_tp_pooling,
    reduction = dnnl_tp_reduction,
    prelu = dnnl_tp_prelu,
    softmax = dnnl_tp_softmax,
    layer_normalization = dnnl_tp_layer_normalization,
    group_normalization = dnnl_tp_group_normalization,
};

} // namespace enums

/** Status of a call. */
enum class status {
    success = dnnl_tp_success,
    out_of_memory = dnnl_tp_out_of_memory,
    invalid_arguments = dnnl_tp_invalid_arguments,
    unimplemented = dnnl_tp_unimplemented,
    last_impl_reached = dnnl_tp_last_impl_reached,
    runtime_error = dnnl_tp_runtime_error,
    not_required = dnnl_tp_not_required,
    invalid_graph = dnnl_tp_invalid_graph,
    invalid_graph_op = dnnl_tp_invalid_graph_op,
    invalid_shape = dnnl_tp_invalid_shape,
    invalid_data_type = dnnl_tp_invalid_data_type,
    would_deadlock = dnnl_tp_would_deadlock,
    timed_out = dnnl_tp_timed_out,
    cancelled = dnnl_tp_cancelled,
    deadline_exceeded = dnnl_tp_deadline_exceeded,
    poisoned = dnnl_tp_poisoned,
};

/** Propagation kind. */
enum class prop_kind {
    undef = dnnl_tp_prop_kind_undef,
    forward_training = dnnl_tp_forward_training,
    forward_inference = dnnl_tp_forward_inference,
    forward = dnnl_tp_forward,
    backward = dnnl_tp_backward,
    backward_data = dnnl_tp_backward_data,
    backward_weights = dnnl_tp_backward_weights,
    backward_bias = dnnl_tp_backward_bias,
};

/** Algorithm of a primitive; formulas stand at dnnl_tp_alg_kind_t. */
enum class algorithm {
    undef = dnnl_tp_alg_kind_undef,
    convolution_direct = dnnl_tp_convolution_direct,
    convolution_winograd = dnnl_tp_convolution_winograd,
    convolution_auto = dnnl_tp_convolution_auto,
    deconvolution_direct = dnnl_tp_deconvolution_direct,
    deconvolution_winograd = dnnl_tp_deconvolution_winograd,
    vanilla_rnn = dnnl_tp_vanilla_rnn,
    vanilla_lstm = dnnl_tp_vanilla_lstm,
    vanilla_gru = dnnl_tp_vanilla_gru,
    lbr_gru = dnnl_tp_lbr_gru,
    vanilla_augru = dnnl_tp_vanilla_augru,
    lbr_augru = dnnl_tp_lbr_augru,
    eltwise_relu = dnnl_tp_eltwise_relu,
    eltwise_tanh = dnnl_tp_eltwise_tanh,
    eltwise_elu = dnnl_tp_eltwise_elu,
    eltwise_square = dnnl_tp_eltwise_square,
    eltwise_abs = dnnl_tp_eltwise_abs,
    eltwise_sqrt = dnnl_tp_eltwise_sqrt,
    eltwise_linear = dnnl_tp_eltwise_linear,
    eltwise_soft_relu = dnnl_tp_eltwise_soft_relu,
    eltwise_hardsigmoid = dnnl_tp_eltwise_hardsigmoid,
    eltwise_logistic = dnnl_tp_eltwise_logistic,
    eltwise_exp = dnnl_tp_eltwise_exp,
    eltwise_gelu_tanh = dnnl_tp_eltwise_gelu_tanh,
    eltwise_swish = dnnl_tp_eltwise_swish,
    eltwise_log = dnnl_tp_eltwise_log,
    eltwise_clip = dnnl_tp_eltwise_clip,
    eltwise_clip_v2 = dnnl_tp_eltwise_clip_v2,
    eltwise_pow = dnnl_tp_eltwise_pow,
    eltwise_gelu_erf = dnnl_tp_eltwise_gelu_erf,
    eltwise_round = dnnl_tp_eltwise_round,
    eltwise_mish = dnnl_tp_eltwise_mish,
    eltwise_hardswish = dnnl_tp_eltwise_hardswish,
    eltwise_relu_use_dst_for_bwd = dnnl_tp_eltwise_relu_use_dst_for_bwd,
    eltwise_tanh_use_dst_for_bwd = dnnl_tp_eltwise_tanh_use_dst_for_bwd,
    eltwise_elu_use_dst_for_bwd = dnnl_tp_eltwise_elu_use_dst_for_bwd,
    eltwise_sqrt_use_dst_for_bwd = dnnl_tp_eltwise_sqrt_use_dst_for_bwd,
    eltwise_logistic_use_dst_for_bwd = dnnl_tp_eltwise_logistic_use_dst_for_bwd,
    eltwise_exp_use_dst_for_bwd = dnnl_tp_eltwise_exp_use_dst_for_bwd,
    eltwise_clip_v2_use_dst_for_bwd = dnnl_tp_eltwise_clip_v2_use_dst_for_bwd,
    binary_add = dnnl_tp_binary_add,
    binary_mul = dnnl_tp_binary_mul,
    binary_max = dnnl_tp_binary_max,
    binary_min = dnnl_tp_binary_min,
    binary_div = dnnl_tp_binary_div,
    binary_sub = dnnl_tp_binary_sub,
    binary_ge = dnnl_tp_binary_ge,
    binary_gt = dnnl_tp_binary_gt,
    binary_le = dnnl_tp_binary_le,
    binary_lt = dnnl_tp_binary_lt,
    binary_eq = dnnl_tp_binary_eq,
    binary_ne = dnnl_tp_binary_ne,
    binary_select = dnnl_tp_binary_select,
    pooling_max = dnnl_tp_pooling_max,
    pooling_avg_include_padding = dnnl_tp_pooling_avg_include_padding,
    pooling_avg_exclude_padding = dnnl_tp_pooling_avg_exclude_padding,
    lrn_across_channels = dnnl_tp_lrn_across_channels,
    lrn_within_channel = dnnl_tp_lrn_within_channel,
    reduction_max = dnnl_tp_reduction_max,
    reduction_min = dnnl_tp_reduction_min,
    reduction_sum = dnnl_tp_reduction_sum,
    reduction_mul = dnnl_tp_reduction_mul,
    reduction_mean = dnnl_tp_reduction_mean,
    reduction_norm_lp_max = dnnl_tp_reduction_norm_lp_max,
    reduction_norm_lp_sum = dnnl_tp_reduction_norm_lp_sum,
    reduction_norm_lp_power_p_max = dnnl_tp_reduction_norm_lp_power_p_max,
    reduction_norm_lp_power_p_sum = dnnl_tp_reduction_norm_lp_power_p_sum,
    resampling_nearest = dnnl_tp_resampling_nearest,
    resampling_linear = dnnl_tp_resampling_linear,
    softmax_accurate = dnnl_tp_softmax_accurate,
    softmax_log = dnnl_tp_softmax_log,
};

/** Flags of layer, batch and group normalization. */
enum class normalization_flags : unsigned {
    none = dnnl_tp_normalization_flags_none,
    use_global_stats = dnnl_tp_use_global_stats,
    use_scale = dnnl_tp_use_scale,
    use_shift = dnnl_tp_use_shift,
    fuse_norm_relu = dnnl_tp_fuse_norm_relu,
    fuse_norm_add_relu = dnnl_tp_fuse_norm_add_relu,
    rms_norm = dnnl_tp_rms_norm,
};

/** Provider of scratch memory. */
enum class scratchpad_mode {
    library = dnnl_tp_scratchpad_mode_library,
    user = dnnl_tp_scratchpad_mode_user,
};

/** Permission to compute f32 in a lower precision. */
enum class fpmath_mode {
    strict = dnnl_tp_fpmath_mode_strict,
    bf16 = dnnl_tp_fpmath_mode_bf16,
    f16 = dnnl_tp_fpmath_mode_f16,
    any = dnnl_tp_fpmath_mode_any,
    tf32 = dnnl_tp_fpmath_mode_tf32,
};

/** Accumulation mode; a hint. */
enum class accumulation_mode {
    strict = dnnl_tp_accumulation_mode_strict,
    relaxed = dnnl_tp_accumulation_mode_relaxed,
    any = dnnl_tp_accumulation_mode_any,
    s32 = dnnl_tp_accumulation_mode_s32,
    f32 = dnnl_tp_accumulation_mode_f32,
    f16 = dnnl_tp_accumulation_mode_f16,
};

/** The rounding of a result. */
enum class rounding_mode {
    environment = dnnl_tp_rounding_mode_environment,
    stochastic = dnnl_tp_rounding_mode_stochastic,
};

/** Flags of a recurrent network, for programs that name them. */
enum class rnn_flags : unsigned {
    undef = dnnl_tp_rnn_flags_undef,
    diff_weights_overwrite = dnnl_tp_rnn_flags_diff_weights_overwrite,
};

/** Direction of a recurrent network, for programs that name it. */
enum class rnn_direction {
    undef = dnnl_tp_rnn_direction_undef,
    unidirectional_left2right = dnnl_tp_unidirectional_left2right,
    unidirectional_right2left = dnnl_tp_unidirectional_right2left,
    bidirectional_concat = dnnl_tp_bidirectional_concat,
    bidirectional_sum = dnnl_tp_bidirectional_sum,
};

/** Quantization mode of scales. */
enum class quantization_mode {
    undef = dnnl_tp_quantization_mode_undef,
    static_sazp = dnnl_tp_quantization_mode_static_sazp,
    dynamic_mx = dnnl_tp_quantization_mode_dynamic_mx,
    dynamic_fp = dnnl_tp_quantization_mode_dynamic_fp,
};

/** Property to query. */
enum class query {
    undef = dnnl_tp_query_undef,
    engine = dnnl_tp_query_engine,
    primitive_kind = dnnl_tp_query_primitive_kind,
    num_of_inputs_s32 = dnnl_tp_query_num_of_inputs_s32,
    num_of_outputs_s32 = dnnl_tp_query_num_of_outputs_s32,
    time_estimate_f64 = dnnl_tp_query_time_estimate_f64,
    memory_consumption_s64 = dnnl_tp_query_memory_consumption_s64,
    scratchpad_engine = dnnl_tp_query_scratchpad_engine,
    impl_info_str = dnnl_tp_query_impl_info_str,
    reorder_src_engine = dnnl_tp_query_reorder_src_engine,
    reorder_dst_engine = dnnl_tp_query_reorder_dst_engine,
    prop_kind = dnnl_tp_query_prop_kind,
    cache_blob_id_size_s64 = dnnl_tp_query_cache_blob_id_size_s64,
    cache_blob_id = dnnl_tp_query_cache_blob_id,
    strides = dnnl_tp_query_strides,
    dilations = dnnl_tp_query_dilations,
    padding_l = dnnl_tp_query_padding_l,
    padding_r = dnnl_tp_query_padding_r,
    epsilon_f32 = dnnl_tp_query_epsilon_f32,
    flags = dnnl_tp_query_flags,
    alg_kind = dnnl_tp_query_alg_kind,
    alpha_f32 = dnnl_tp_query_alpha_f32,
    beta_f32 = dnnl_tp_query_beta_f32,
    axis_s32 = dnnl_tp_query_axis_s32,
    local_size_s64 = dnnl_tp_query_local_size_s64,
    k_f32 = dnnl_tp_query_k_f32,
    p_f32 = dnnl_tp_query_p_f32,
    factors = dnnl_tp_query_factors,
    cell_kind = dnnl_tp_query_cell_kind,
    direction = dnnl_tp_query_direction,
    activation_kind = dnnl_tp_query_activation_kind,
    kernel = dnnl_tp_query_kernel,
    group_size_s64 = dnnl_tp_query_group_size_s64,
    src_md = dnnl_tp_query_src_md,
    diff_src_md = dnnl_tp_query_diff_src_md,
    weights_md = dnnl_tp_query_weights_md,
    diff_weights_md = dnnl_tp_query_diff_weights_md,
    dst_md = dnnl_tp_query_dst_md,
    diff_dst_md = dnnl_tp_query_diff_dst_md,
    workspace_md = dnnl_tp_query_workspace_md,
    scratchpad_md = dnnl_tp_query_scratchpad_md,
    exec_arg_md = dnnl_tp_query_exec_arg_md,
    ndims_s32 = dnnl_tp_query_ndims_s32,
    dims = dnnl_tp_query_dims,
    data_type = dnnl_tp_query_data_type,
    submemory_offset_s64 = dnnl_tp_query_submemory_offset_s64,
    padded_dims = dnnl_tp_query_padded_dims,
    padded_offsets = dnnl_tp_query_padded_offsets,
    format_kind = dnnl_tp_query_format_kind,
    inner_nblks_s32 = dnnl_tp_query_inner_nblks_s32,
    inner_blks = dnnl_tp_query_inner_blks,
    inner_idxs = dnnl_tp_query_inner_idxs,
    sparse_encoding = dnnl_tp_query_sparse_encoding,
    nnz_s64 = dnnl_tp_query_nnz_s64,
    num_handles_s32 = dnnl_tp_query_num_handles_s32,
};

/** Limit of the instruction sets. */
enum class cpu_isa {
    isa_default = dnnl_tp_cpu_isa_default,
    sse41 = dnnl_tp_cpu_isa_sse41,
    avx = dnnl_tp_cpu_isa_avx,
    avx2 = dnnl_tp_cpu_isa_avx2,
    avx2_vnni = dnnl_tp_cpu_isa_avx2_vnni,
    avx2_vnni_2 = dnnl_tp_cpu_isa_avx2_vnni_2,
    avx512_core = dnnl_tp_cpu_isa_avx512_core,
    avx512_core_vnni = dnnl_tp_cpu_isa_avx512_core_vnni,
    avx512_core_bf16 = dnnl_tp_cpu_isa_avx512_core_bf16,
    avx10_1_512 = dnnl_tp_cpu_isa_avx10_1_512,
    avx512_core_fp16 = dnnl_tp_cpu_isa_avx512_core_fp16,
    avx10_1_512_amx = dnnl_tp_cpu_isa_avx10_1_512_amx,
    avx512_core_amx = dnnl_tp_cpu_isa_avx512_core_amx,
    avx10_1_512_amx_fp16 = dnnl_tp_cpu_isa_avx10_1_512_amx_fp16,
    avx512_core_amx_fp16 = dnnl_tp_cpu_isa_avx512_core_amx_fp16,
    avx10_2 = dnnl_tp_cpu_isa_avx10_2,
    avx10_2_512 = dnnl_tp_cpu_isa_avx10_2_512,
    avx10_2_amx_2 = dnnl_tp_cpu_isa_avx10_2_amx_2,
    avx10_2_ace = dnnl_tp_cpu_isa_avx10_2_ace,
    avx10_2_512_amx_2 = dnnl_tp_cpu_isa_avx10_2_512_amx_2,
};

/** Hints for the choice among the kernels of an instruction set. */
enum class cpu_isa_hints {
    no_hints = dnnl_tp_cpu_isa_no_hints,
    prefer_ymm = dnnl_tp_cpu_isa_prefer_ymm,
};
/* clang-format on */

/** Implementation. */
namespace detail {

/** The C enumeration of one of C++. */
template <typename E> struct c_enum {
    static constexpr bool known = false; /**< Not an enumeration of this library. */
};
/** @cond */
#define DNNL_TP_C_ENUM(cxx, c)              \
    template <> struct c_enum<cxx> {        \
        static constexpr bool known = true; \
        using type = c;                     \
    };
DNNL_TP_C_ENUM(enums::engine_kind, dnnl_tp_engine_kind_t)
DNNL_TP_C_ENUM(enums::stream_flags, dnnl_tp_stream_flags_t)
DNNL_TP_C_ENUM(enums::data_type, dnnl_tp_data_type_t)
DNNL_TP_C_ENUM(enums::format_kind, dnnl_tp_format_kind_t)
DNNL_TP_C_ENUM(enums::sparse_encoding, dnnl_tp_sparse_encoding_t)
DNNL_TP_C_ENUM(enums::primitive_kind, dnnl_tp_primitive_kind_t)
DNNL_TP_C_ENUM(status, dnnl_tp_status_t)
DNNL_TP_C_ENUM(prop_kind, dnnl_tp_prop_kind_t)
DNNL_TP_C_ENUM(algorithm, dnnl_tp_alg_kind_t)
DNNL_TP_C_ENUM(normalization_flags, dnnl_tp_normalization_flags_t)
DNNL_TP_C_ENUM(scratchpad_mode, dnnl_tp_scratchpad_mode_t)
DNNL_TP_C_ENUM(fpmath_mode, dnnl_tp_fpmath_mode_t)
DNNL_TP_C_ENUM(accumulation_mode, dnnl_tp_accumulation_mode_t)
DNNL_TP_C_ENUM(quantization_mode, dnnl_tp_quantization_mode_t)
DNNL_TP_C_ENUM(rounding_mode, dnnl_tp_rounding_mode_t)
DNNL_TP_C_ENUM(rnn_flags, dnnl_tp_rnn_flags_t)
DNNL_TP_C_ENUM(rnn_direction, dnnl_tp_rnn_direction_t)
DNNL_TP_C_ENUM(query, dnnl_tp_query_t)
DNNL_TP_C_ENUM(cpu_isa, dnnl_tp_cpu_isa_t)
DNNL_TP_C_ENUM(cpu_isa_hints, dnnl_tp_cpu_isa_hints_t)
DNNL_TP_C_ENUM(enums::format_tag, dnnl_tp_format_tag_t)
#undef DNNL_TP_C_ENUM
template <typename E> using c_enum_t = std::enable_if_t<c_enum<E>::known, typename c_enum<E>::type>;
/** @endcond */

/** A parameter that takes an enumerator of C++ or of C. */
template <typename E> class either {
  public:
    /** The C enumerator of a constant of C++. */
    constexpr either(E e) noexcept : value_(static_cast<c_enum_t<E>>(e)) {}
    /** A C enumerator. */
    constexpr either(c_enum_t<E> c) noexcept : value_(c) {}
    /** The argument of the C call. */
    constexpr operator c_enum_t<E>() const noexcept { return value_; }

  private:
    c_enum_t<E> value_;
};

/** A parameter that takes a set of flags: a number, or bits of C++ or of C. */
template <typename E> class flags_of {
  public:
    /** Bits of C++. */
    constexpr flags_of(E e) noexcept : bits_(static_cast<unsigned>(e)) {}
    /** Bits of C. */
    constexpr flags_of(unsigned bits) noexcept : bits_(bits) {}
    /** The argument of the C call. */
    constexpr operator unsigned() const noexcept { return bits_; }

  private:
    unsigned bits_;
};

} // namespace detail

/** The C enumerator. */
template <typename E> constexpr detail::c_enum_t<E> convert_to_c(E e) noexcept {
    return static_cast<detail::c_enum_t<E>>(e);
}

/** @cond */
namespace enums { /* found by argument-dependent lookup for aliases of this namespace */
using dnnl_tp::convert_to_c;
}
#define DNNL_TP_ENUM_OPS(e)                                          \
    constexpr bool operator==(detail::c_enum_t<e> a, e b) noexcept { \
        return a == convert_to_c(b);                                 \
    }                                                                \
    constexpr bool operator==(e a, detail::c_enum_t<e> b) noexcept { \
        return convert_to_c(a) == b;                                 \
    }                                                                \
    constexpr bool operator!=(detail::c_enum_t<e> a, e b) noexcept { \
        return a != convert_to_c(b);                                 \
    }                                                                \
    constexpr bool operator!=(e a, detail::c_enum_t<e> b) noexcept { return convert_to_c(a) != b; }
#define DNNL_TP_BIT_OPS(e)                                                                    \
    constexpr e operator|(e a, e b) noexcept {                                                \
        return static_cast<e>(static_cast<unsigned>(a) | static_cast<unsigned>(b));           \
    }                                                                                         \
    constexpr e operator&(e a, e b) noexcept {                                                \
        return static_cast<e>(static_cast<unsigned>(a) & static_cast<unsigned>(b));           \
    }                                                                                         \
    constexpr e operator^(e a, e b) noexcept {                                                \
        return static_cast<e>(static_cast<unsigned>(a) ^ static_cast<unsigned>(b));           \
    }                                                                                         \
    constexpr e operator~(e a) noexcept { return static_cast<e>(~static_cast<unsigned>(a)); } \
    constexpr e &operator|=(e &a, e b) noexcept { return a = a | b; }                         \
    constexpr e &operator&=(e &a, e b) noexcept { return a = a & b; }                         \
    constexpr e &operator^=(e &a, e b) noexcept { return a = a ^ b; }
namespace enums {
DNNL_TP_ENUM_OPS(engine_kind)
DNNL_TP_ENUM_OPS(stream_flags)
DNNL_TP_ENUM_OPS(data_type)
DNNL_TP_ENUM_OPS(format_kind)
DNNL_TP_ENUM_OPS(primitive_kind)
DNNL_TP_ENUM_OPS(format_tag)
DNNL_TP_BIT_OPS(stream_flags)
} // namespace enums
DNNL_TP_ENUM_OPS(status)
DNNL_TP_ENUM_OPS(prop_kind)
DNNL_TP_ENUM_OPS(algorithm)
DNNL_TP_ENUM_OPS(normalization_flags)
DNNL_TP_ENUM_OPS(scratchpad_mode)
DNNL_TP_ENUM_OPS(fpmath_mode)
DNNL_TP_ENUM_OPS(accumulation_mode)
DNNL_TP_ENUM_OPS(quantization_mode)
DNNL_TP_ENUM_OPS(rounding_mode)
DNNL_TP_ENUM_OPS(rnn_flags)
DNNL_TP_ENUM_OPS(rnn_direction)
DNNL_TP_ENUM_OPS(query)
DNNL_TP_ENUM_OPS(cpu_isa)
DNNL_TP_BIT_OPS(normalization_flags)
DNNL_TP_BIT_OPS(rnn_flags)
#undef DNNL_TP_ENUM_OPS
#undef DNNL_TP_BIT_OPS
/** @endcond */

} // namespace dnnl_tp

/** @cond
 * oneDNN's headers have their namespace here, too. Doxygen takes the alias for a recursion. */
namespace oneapi {
namespace dnnl_tp = ::dnnl_tp;
}
/** @endcond */

#endif
