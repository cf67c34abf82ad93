/** @file
 * C++17 over the C API of dnnl_tp: attributes of primitives and chains of post-operations. Included
 * by dnnl_tp.hpp, which has the rules. */
#ifndef DNNL_TP_ATTR_HPP
#define DNNL_TP_ATTR_HPP

#include <cstdint>

#include "dnnl_tp/dnnl_tp_enums.hpp"
#include "dnnl_tp/dnnl_tp_handle.hpp"
#include "dnnl_tp/dnnl_tp_memory.hpp"
#include "dnnl_tp/dnnl_tp_stream.hpp"

namespace dnnl_tp {

/** A chain of post-operations. append_*() returns the chain, so that calls can be chained. Copies
 * share one chain; clone() creates another. */
class post_ops : public detail::handle<dnnl_tp_post_ops_t, dnnl_tp_post_ops_destroy> {
  public:
    using handle::handle;
    /** An empty chain. */
    post_ops() { create(dnnl_tp_post_ops_create); }
    /** A new chain with the same entries. */
    post_ops clone() const { return clone_of(get()); }
    /** A copy of a borrowed chain. */
    static post_ops clone_of(const_dnnl_tp_post_ops_t existing) {
        post_ops ops(nullptr);
        ops.create(dnnl_tp_post_ops_clone, existing);
        return ops;
    }
    /** Number of entries. */
    int len() const { return dnnl_tp_post_ops_len(get()); }
    /** Kind of an entry. */
    enums::primitive_kind kind(int index) const {
        return static_cast<enums::primitive_kind>(dnnl_tp_post_ops_get_kind(get(), index));
    }
    /** Appends a sum. */
    post_ops &append_sum(float scale = 1.0f, std::int32_t zero_point = 0,
                         detail::either<enums::data_type> type = dnnl_tp_data_type_undef) {
        check(dnnl_tp_post_ops_append_sum(get(), scale, zero_point, type));
        return *this;
    }
    /** Appends an eltwise. */
    post_ops &append_eltwise(detail::either<algorithm> alg, float alpha = 0.0f, float beta = 0.0f) {
        check(dnnl_tp_post_ops_append_eltwise(get(), alg, alpha, beta));
        return *this;
    }
    /** Appends a binary. */
    post_ops &append_binary(detail::either<algorithm> alg, const memory_desc &src1) {
        check(dnnl_tp_post_ops_append_binary(get(), alg, src1.get()));
        return *this;
    }
    /** Appends a binary with a third tensor. */
    post_ops &append_binary(detail::either<algorithm> alg, const memory_desc &src1,
                            const memory_desc &src2) {
        check(dnnl_tp_post_ops_append_binary_v2(get(), alg, src1.get(), src2.get()));
        return *this;
    }
    /** Appends a prelu. */
    post_ops &append_prelu(int mask) {
        check(dnnl_tp_post_ops_append_prelu(get(), mask));
        return *this;
    }
    /** Appends a depthwise convolution, which no primitive takes. */
    post_ops &append_dw(detail::either<enums::data_type> weights,
                        detail::either<enums::data_type> bias, detail::either<enums::data_type> dst,
                        dnnl_tp_dim_t kernel, dnnl_tp_dim_t stride, dnnl_tp_dim_t padding_l) {
        check(dnnl_tp_post_ops_append_dw(get(), weights, bias, dst, kernel, stride, padding_l));
        return *this;
    }
    /** Parameters of a sum. */
    void get_params_sum(int index, float &scale) const {
        check(dnnl_tp_post_ops_get_params_sum(get(), index, &scale, nullptr, nullptr));
    }
    /** Parameters of a sum. */
    void get_params_sum(int index, float &scale, enums::data_type &type) const {
        std::int32_t zero_point = 0;
        get_params_sum(index, scale, zero_point, type);
    }
    /** Parameters of a sum. */
    void get_params_sum(int index, float &scale, std::int32_t &zero_point,
                        dnnl_tp_data_type_t &type) const {
        check(dnnl_tp_post_ops_get_params_sum(get(), index, &scale, &zero_point, &type));
    }
    /** Parameters of a sum. */
    void get_params_sum(int index, float &scale, std::int32_t &zero_point,
                        enums::data_type &type) const {
        dnnl_tp_data_type_t c_type = dnnl_tp_data_type_undef;
        get_params_sum(index, scale, zero_point, c_type);
        type = static_cast<enums::data_type>(c_type);
    }
    /** Parameters of an eltwise. */
    void get_params_eltwise(int index, dnnl_tp_alg_kind_t &alg, float &alpha, float &beta) const {
        check(dnnl_tp_post_ops_get_params_eltwise(get(), index, &alg, &alpha, &beta));
    }
    /** Parameters of an eltwise. */
    void get_params_eltwise(int index, algorithm &alg, float &alpha, float &beta) const {
        dnnl_tp_alg_kind_t c_alg = dnnl_tp_alg_kind_undef;
        get_params_eltwise(index, c_alg, alpha, beta);
        alg = static_cast<algorithm>(c_alg);
    }
    /** Parameters of a binary; the descriptors are borrowed. */
    void get_params_binary(int index, dnnl_tp_alg_kind_t &alg, const_dnnl_tp_memory_desc_t &src1,
                           const_dnnl_tp_memory_desc_t &src2) const {
        check(dnnl_tp_post_ops_get_params_binary_v2(get(), index, &alg, &src1, &src2));
    }
    /** Parameters of a binary. */
    void get_params_binary(int index, algorithm &alg, memory_desc &src1, memory_desc &src2) const {
        dnnl_tp_alg_kind_t c_alg = dnnl_tp_alg_kind_undef;
        const_dnnl_tp_memory_desc_t c_src1 = nullptr, c_src2 = nullptr;
        get_params_binary(index, c_alg, c_src1, c_src2);
        alg = static_cast<algorithm>(c_alg);
        src1 = memory_desc::clone_of(c_src1);
        src2 = c_src2 == nullptr ? memory_desc() : memory_desc::clone_of(c_src2);
    }
    /** Parameters of a binary. */
    void get_params_binary(int index, algorithm &alg, memory_desc &src1) const {
        memory_desc src2;
        get_params_binary(index, alg, src1, src2);
    }
    /** Parameters of a depthwise convolution. */
    void get_params_dw(int index, enums::data_type &weights, enums::data_type &bias,
                       enums::data_type &dst, dnnl_tp_dim_t &kernel, dnnl_tp_dim_t &stride,
                       dnnl_tp_dim_t &padding_l) const {
        dnnl_tp_data_type_t c_types[3] = {};
        check(dnnl_tp_post_ops_get_params_dw(get(), index, &c_types[0], &c_types[1], &c_types[2],
                                             &kernel, &stride, &padding_l));
        weights = static_cast<enums::data_type>(c_types[0]);
        bias = static_cast<enums::data_type>(c_types[1]);
        dst = static_cast<enums::data_type>(c_types[2]);
    }
    /** Parameter of a prelu. */
    void get_params_prelu(int index, int &mask) const {
        check(dnnl_tp_post_ops_get_params_prelu(get(), index, &mask));
    }
};

/** Attributes of a primitive. Copies share one object; clone() creates another. */
class primitive_attr
    : public detail::handle<dnnl_tp_primitive_attr_t, dnnl_tp_primitive_attr_destroy> {
  public:
    using handle::handle;
    /** Default values. */
    primitive_attr() { create(dnnl_tp_primitive_attr_create); }
    /** A new object with the same values. */
    primitive_attr clone() const { return clone_of(get()); }
    /** A copy of borrowed attributes. */
    static primitive_attr clone_of(const_dnnl_tp_primitive_attr_t existing) {
        primitive_attr attr(nullptr);
        attr.create(dnnl_tp_primitive_attr_clone, existing);
        return attr;
    }
    /** Sets the thread count. */
    void set_num_threads(int n) { check(dnnl_tp_primitive_attr_set_num_threads(get(), n)); }
    /** Takes the thread count of a pool. */
    void set_stream_attr(const stream_attr &a) {
        check(dnnl_tp_primitive_attr_set_stream_attr(get(), a.get()));
    }
    /** Permits lower precision. */
    void set_fpmath_mode(detail::either<dnnl_tp::fpmath_mode> mode, bool apply_to_int = false) {
        check(dnnl_tp_primitive_attr_set_fpmath_mode_v2(get(), mode, apply_to_int ? 1 : 0));
    }
    /** The floating-point mode. */
    dnnl_tp::fpmath_mode get_fpmath_mode() const {
        return static_cast<dnnl_tp::fpmath_mode>(fpmath_mode());
    }
    /** The floating-point mode, and whether it applies to integer tensors. */
    void get_fpmath_mode(dnnl_tp::fpmath_mode &mode, bool &apply_to_int) const {
        dnnl_tp_fpmath_mode_t c_mode = dnnl_tp_fpmath_mode_strict;
        int to_int = 0;
        check(dnnl_tp_primitive_attr_get_fpmath_mode_v2(get(), &c_mode, &to_int));
        mode = static_cast<dnnl_tp::fpmath_mode>(c_mode);
        apply_to_int = to_int != 0;
    }
    /** The floating-point mode. */
    dnnl_tp_fpmath_mode_t fpmath_mode() const {
        dnnl_tp_fpmath_mode_t mode = dnnl_tp_fpmath_mode_strict;
        check(dnnl_tp_primitive_attr_get_fpmath_mode(get(), &mode));
        return mode;
    }
    /** Asks for the same bits in every run. */
    void set_deterministic(bool on) {
        check(dnnl_tp_primitive_attr_set_deterministic(get(), on ? 1 : 0));
    }
    /** The determinism switch. */
    bool get_deterministic() const {
        int on = 0;
        check(dnnl_tp_primitive_attr_get_deterministic(get(), &on));
        return on != 0;
    }
    /** The determinism switch. */
    bool deterministic() const { return get_deterministic(); }
    /** Refuses reference implementations. */
    void set_refuse_reference(bool on) {
        check(dnnl_tp_primitive_attr_set_refuse_reference(get(), on ? 1 : 0));
    }
    /** True if reference implementations are refused. */
    bool refuse_reference() const {
        int on = 0;
        check(dnnl_tp_primitive_attr_get_refuse_reference(get(), &on));
        return on != 0;
    }
    /** Gives a hint for the type of sums. */
    void set_accumulation_mode(detail::either<dnnl_tp::accumulation_mode> mode) {
        check(dnnl_tp_primitive_attr_set_accumulation_mode(get(), mode));
    }
    /** The accumulation mode. */
    dnnl_tp::accumulation_mode get_accumulation_mode() const {
        return static_cast<dnnl_tp::accumulation_mode>(accumulation_mode());
    }
    /** The accumulation mode. */
    dnnl_tp_accumulation_mode_t accumulation_mode() const {
        dnnl_tp_accumulation_mode_t mode = dnnl_tp_accumulation_mode_strict;
        check(dnnl_tp_primitive_attr_get_accumulation_mode(get(), &mode));
        return mode;
    }
    /** Chooses the provider of scratch. */
    void set_scratchpad_mode(detail::either<dnnl_tp::scratchpad_mode> mode) {
        check(dnnl_tp_primitive_attr_set_scratchpad_mode(get(), mode));
    }
    /** The scratchpad mode. */
    dnnl_tp::scratchpad_mode get_scratchpad_mode() const {
        return static_cast<dnnl_tp::scratchpad_mode>(scratchpad_mode());
    }
    /** The scratchpad mode. */
    dnnl_tp_scratchpad_mode_t scratchpad_mode() const {
        dnnl_tp_scratchpad_mode_t mode = dnnl_tp_scratchpad_mode_library;
        check(dnnl_tp_primitive_attr_get_scratchpad_mode(get(), &mode));
        return mode;
    }
    /** Sets f32 scales. */
    void set_scales_mask(int arg, int mask) {
        check(dnnl_tp_primitive_attr_set_scales_mask(get(), arg, mask));
    }
    /** Sets scales with groups and a type. */
    void set_scales(int arg, int mask, const dims &groups,
                    detail::either<enums::data_type> type = dnnl_tp_f32) {
        check(dnnl_tp_primitive_attr_set_scales(get(), arg, mask, static_cast<int>(groups.size()),
                                                detail::c_dims(groups).v, type));
    }
    /** Sets scales in oneDNN's newest form. */
    void
    set_scales(int arg, int mask, const dims &groups, detail::either<enums::data_type> type,
               bool is_on_host,
               detail::either<quantization_mode> mode = dnnl_tp_quantization_mode_static_sazp) {
        check(dnnl_tp_primitive_attr_set_scales_v3(
            get(), arg, mask, static_cast<int>(groups.size()), detail::c_dims(groups).v, type,
            is_on_host ? 1 : 0, mode));
    }
    /** Sets s32 zero points. */
    void set_zero_points_mask(int arg, int mask) {
        check(dnnl_tp_primitive_attr_set_zero_points_mask(get(), arg, mask));
    }
    /** Sets zero points with groups and a type. */
    void set_zero_points(int arg, int mask, const dims &groups,
                         detail::either<enums::data_type> type = dnnl_tp_s32) {
        check(dnnl_tp_primitive_attr_set_zero_points(
            get(), arg, mask, static_cast<int>(groups.size()), detail::c_dims(groups).v, type));
    }
    /** Sets zero points in oneDNN's newest form. */
    void set_zero_points(int arg, int mask, const dims &groups,
                         detail::either<enums::data_type> type, bool is_on_host) {
        check(dnnl_tp_primitive_attr_set_zero_points_v2(
            get(), arg, mask, static_cast<int>(groups.size()), detail::c_dims(groups).v, type,
            is_on_host ? 1 : 0));
    }
    /** Sets one scale, which executions pass as a host scalar. */
    void set_host_scale(int arg, detail::either<enums::data_type> type = dnnl_tp_f32) {
        set_scales(arg, 0, dims(), type, true);
    }
    /** Sets one zero point, which executions pass as a host scalar. */
    void set_host_zero_point(int arg, detail::either<enums::data_type> type = dnnl_tp_s32) {
        set_zero_points(arg, 0, dims(), type, true);
    }
    /** Announces sums of a source as an argument; the creation of a primitive descriptor refuses
     * them. */
    void set_precomputed_reductions(int arg, int mask, const dims &groups,
                                    detail::either<enums::data_type> type = dnnl_tp_s32) {
        check(dnnl_tp_primitive_attr_set_precomputed_reductions(
            get(), arg, mask, static_cast<int>(groups.size()), detail::c_dims(groups).v, type));
    }
    /** Chooses the rounding of a result; the creation of a primitive descriptor refuses stochastic
     * rounding. */
    void set_rounding_mode(int arg, detail::either<rounding_mode> mode) {
        check(dnnl_tp_primitive_attr_set_rounding(get(), arg, mode));
    }
    /** The rounding of a result. */
    rounding_mode get_rounding_mode(int arg) const {
        dnnl_tp_rounding_mode_t mode = dnnl_tp_rounding_mode_environment;
        check(dnnl_tp_primitive_attr_get_rounding(get(), arg, &mode));
        return static_cast<rounding_mode>(mode);
    }
    /** Asks for dropout; the creation of a primitive descriptor refuses it. */
    void set_dropout(const memory_desc &mask) { set_dropout(mask, dnnl_tp_s32, false, false); }
    /** Asks for dropout; the creation of a primitive descriptor refuses it. An empty descriptor =
     * no mask is written. */
    void set_dropout(const memory_desc &mask, detail::either<enums::data_type> seed_type,
                     bool use_offset = false, bool use_host_scalars = false) {
        memory_desc none;
        if (mask.get() == nullptr) none = memory_desc(dims(), dnnl_tp_data_type_undef, dims());
        check(dnnl_tp_primitive_attr_set_dropout_v2(
            get(), mask.get() == nullptr ? none.get() : mask.get(), seed_type, use_offset ? 1 : 0,
            use_host_scalars ? 1 : 0));
    }
    /** The descriptor of dropout's mask. */
    void get_dropout(memory_desc &mask) const {
        const_dnnl_tp_memory_desc_t md = nullptr;
        check(dnnl_tp_primitive_attr_get_dropout(get(), &md));
        mask = memory_desc::clone_of(md);
    }
    /** The parameters of set_dropout(). */
    void get_dropout(memory_desc &mask, enums::data_type &seed_type, bool &use_offset,
                     bool &use_host_scalars) const {
        const_dnnl_tp_memory_desc_t md = nullptr;
        dnnl_tp_data_type_t c_type = dnnl_tp_data_type_undef;
        int offset = 0, host = 0;
        check(dnnl_tp_primitive_attr_get_dropout_v2(get(), &md, &c_type, &offset, &host));
        mask = memory_desc::clone_of(md);
        seed_type = static_cast<enums::data_type>(c_type);
        use_offset = offset != 0;
        use_host_scalars = host != 0;
    }
    /** Sets the post-operations; the chain is copied. */
    void set_post_ops(const post_ops &ops) {
        check(dnnl_tp_primitive_attr_set_post_ops(get(), ops.get()));
    }
    /** A copy of the post-operations. */
    post_ops get_post_ops() const {
        const_dnnl_tp_post_ops_t ops = nullptr;
        check(dnnl_tp_primitive_attr_get_post_ops(get(), &ops));
        return post_ops::clone_of(ops);
    }
};

/** Implementation. */
namespace detail {
/** Optional attributes of a call: a reference, a pointer, or nothing. Valid during the call only.
 */
class attr_arg {
  public:
    /** Default values. */
    constexpr attr_arg() noexcept = default;
    /** The attributes. */
    attr_arg(const primitive_attr &attr) : attr_(attr.get()) {}
    /** The attributes; NULL = default values. */
    attr_arg(const primitive_attr *attr) : attr_(attr == nullptr ? nullptr : attr->get()) {}
    /** The argument of the C call. */
    constexpr operator const_dnnl_tp_primitive_attr_t() const noexcept { return attr_; }

  private:
    const_dnnl_tp_primitive_attr_t attr_ = nullptr;
};
} // namespace detail

} // namespace dnnl_tp

#endif
