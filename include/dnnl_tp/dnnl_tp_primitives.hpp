/** @file
 * C++17 over the C API of dnnl_tp: primitive descriptors and primitives.
 *
 * Included by dnnl_tp.hpp; rules are there. One class per kind, with its descriptor as a member class:
 * matmul::primitive_desc pd(engine, src, weights, dst); matmul(pd).execute(stream, {{DNNL_TP_ARG_SRC, x},
 * ...}). An empty memory_desc stands for an absent optional tensor. Attributes are given by reference or by
 * pointer. Where allow_empty is set, a failure gives an empty descriptor instead of an exception. */
#ifndef DNNL_TP_PRIMITIVES_HPP
#define DNNL_TP_PRIMITIVES_HPP

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <unordered_map>
#include <vector>

#include "dnnl_tp/dnnl_tp_attr.hpp"
#include "dnnl_tp/dnnl_tp_enums.hpp"
#include "dnnl_tp/dnnl_tp_event.h"
#include "dnnl_tp/dnnl_tp_handle.hpp"
#include "dnnl_tp/dnnl_tp_memory.hpp"
#include "dnnl_tp/dnnl_tp_stream.hpp"

namespace dnnl_tp {

/** What every primitive descriptor has. */
class primitive_desc_base : public detail::handle<dnnl_tp_primitive_desc_t, dnnl_tp_primitive_desc_destroy> {
  public:
    using handle::handle;
    /** Owns nothing. */
    primitive_desc_base() noexcept = default;
    /** Goes on to the next implementation, in all copies; false when there is none. */
    bool next_impl() {
        const dnnl_tp_status_t status = dnnl_tp_primitive_desc_next_impl(get());
        if (status == dnnl_tp_last_impl_reached) return false;
        check(status);
        return true;
    }
    /** Name of the implementation, lent. */
    const char *impl_info_str() const { return query<const char *>(dnnl_tp_query_impl_info_str); }
    /** Kind of the primitive. */
    enums::primitive_kind get_kind() const { return static_cast<enums::primitive_kind>(kind()); }
    /** Kind of the primitive. */
    dnnl_tp_primitive_kind_t kind() const {
        return query<dnnl_tp_primitive_kind_t>(dnnl_tp_query_primitive_kind);
    }
    /** Its engine, which lives as long as the descriptor does. */
    engine get_engine() const { return engine(query<dnnl_tp_engine_t>(dnnl_tp_query_engine), true); }
    /** The engine of the scratch. */
    engine scratchpad_engine() const {
        return engine(query<dnnl_tp_engine_t>(dnnl_tp_query_scratchpad_engine), true);
    }
    /** Its thread count. */
    int num_threads() const {
        int n = 0;
        check(dnnl_tp_primitive_desc_get_num_threads(get(), &n));
        return n;
    }
    /** Its attributes, lent. */
    const_dnnl_tp_primitive_attr_t get_attr() const {
        const_dnnl_tp_primitive_attr_t attr = nullptr;
        check(dnnl_tp_primitive_desc_get_attr(get(), &attr));
        return attr;
    }
    /** Its attributes, a copy. */
    primitive_attr get_primitive_attr() const { return primitive_attr::clone_of(get_attr()); }
    /** Any property. */
    template <typename T> T query(detail::either<dnnl_tp::query> what, int index = 0) const {
        T value = {};
        check(dnnl_tp_primitive_desc_query(get(), what, index, &value));
        return value;
    }
    /** A 64-bit property. */
    std::int64_t query_s64(detail::either<dnnl_tp::query> what) const { return query<std::int64_t>(what); }
    /** Descriptor of a tensor, a copy. */
    memory_desc query_md(detail::either<dnnl_tp::query> what, int index = 0) const {
        const_dnnl_tp_memory_desc_t md = dnnl_tp_primitive_desc_query_md(get(), what, index);
        return md == nullptr ? memory_desc() : memory_desc::clone_of(md);
    }
    /** Descriptor of a source. */
    memory_desc src_desc(int index = 0) const { return query_md(dnnl_tp_query_src_md, index); }
    /** Descriptor of the weights. */
    memory_desc weights_desc(int index = 0) const { return query_md(dnnl_tp_query_weights_md, index); }
    /** Descriptor of a destination. */
    memory_desc dst_desc(int index = 0) const { return query_md(dnnl_tp_query_dst_md, index); }
    /** Descriptor of the workspace. */
    memory_desc workspace_desc() const { return query_md(dnnl_tp_query_workspace_md); }
    /** Descriptor of the scratch in user mode. */
    memory_desc scratchpad_desc() const { return query_md(dnnl_tp_query_scratchpad_md); }
    /** Descriptor of the argument with a number. */
    memory_desc arg_desc(int arg) const { return query_md(dnnl_tp_query_exec_arg_md, arg); }
    /* What does not apply to a kind is empty, 0, undef or, an axis, -1. */

    /** Propagation kind, of kinds that have one. */
    prop_kind get_prop_kind() const {
        return static_cast<prop_kind>(query_or(dnnl_tp_query_prop_kind, dnnl_tp_prop_kind_undef));
    }
    /** Algorithm, of kinds that have one. */
    algorithm get_algorithm() const {
        return static_cast<algorithm>(query_or(dnnl_tp_query_alg_kind, dnnl_tp_alg_kind_undef));
    }
    /** alpha of an eltwise. */
    float get_alpha() const { return query_or(dnnl_tp_query_alpha_f32, 0.f); }
    /** beta of an eltwise. */
    float get_beta() const { return query_or(dnnl_tp_query_beta_f32, 0.f); }
    /** epsilon of a normalization or reduction. */
    float get_epsilon() const { return query_or(dnnl_tp_query_epsilon_f32, 0.f); }
    /** p of a reduction. */
    float get_p() const { return query_or(dnnl_tp_query_p_f32, 0.f); }
    /** Axis of a softmax, shuffle or concat. */
    int get_axis() const { return query_or(dnnl_tp_query_axis_s32, -1); }
    /** Strides of a window, by spatial dimension. */
    dims get_strides() const { return query_window(dnnl_tp_query_strides); }
    /** Size of the window of a pooling. */
    dims get_kernel() const { return query_window(dnnl_tp_query_kernel); }
    /** Dilations of a window; 0 = dense. */
    dims get_dilations() const { return query_window(dnnl_tp_query_dilations); }
    /** Group size of a shuffle. */
    std::int64_t get_group_size() const { return query_or(dnnl_tp_query_group_size_s64, std::int64_t{0}); }
    /** Factors of a resampling, by spatial dimension. */
    std::vector<float> get_factors() const {
        const auto p = query_or(dnnl_tp_query_factors, static_cast<const float *>(nullptr));
        return p == nullptr ? std::vector<float>() : std::vector<float>(p, p + dst_desc().get_ndims() - 2);
    }
    /** Padding in front. */
    dims get_padding_l() const { return query_window(dnnl_tp_query_padding_l); }
    /** Padding behind. */
    dims get_padding_r() const { return query_window(dnnl_tp_query_padding_r); }
    /** What tells the blob of its primitive from others. */
    std::vector<std::uint8_t> get_cache_blob_id() const {
        const auto size = query<std::int64_t>(dnnl_tp_query_cache_blob_id_size_s64);
        const auto p = query<const std::uint8_t *>(dnnl_tp_query_cache_blob_id);
        return std::vector<std::uint8_t>(p, p + size);
    }

  protected:
    /** A property, or another value where it does not apply. */
    template <typename T> T query_or(dnnl_tp_query_t what, T other) const {
        T value = {};
        return dnnl_tp_primitive_desc_query(get(), what, 0, &value) == dnnl_tp_success ? value : other;
    }
    /** One value for each spatial dimension. */
    dims query_window(dnnl_tp_query_t what) const {
        const auto p = query_or(what, static_cast<const dnnl_tp_dims_t *>(nullptr));
        return p == nullptr ? dims() : dims(*p, *p + dst_desc().get_ndims() - 2);
    }
    /** Clones into a descriptor of the kind. */
    template <typename T> T clone_as() const {
        T copy;
        copy.create(dnnl_tp_primitive_desc_clone, get());
        return copy;
    }
};

/** A descriptor of any kind. */
using primitive_desc = primitive_desc_base;

/** Implementation. */
namespace detail {
/** A descriptor of one kind. */
template <dnnl_tp_primitive_kind_t of> class pd_of : public primitive_desc_base {
  public:
    /** Owns nothing. */
    pd_of() noexcept = default;
    /** A copy of a C descriptor of the kind. */
    explicit pd_of(dnnl_tp_primitive_desc_t pd) {
        if (pd == nullptr) return;
        dnnl_tp_primitive_kind_t got = dnnl_tp_undefined_primitive;
        check(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_primitive_kind, 0, &got));
        if (got != of)
            throw error(dnnl_tp_invalid_arguments, std::string("invalid_arguments: the descriptor is of ") +
                                                       dnnl_tp_prim_kind2str(got) + ", not of " +
                                                       dnnl_tp_prim_kind2str(of));
        create(dnnl_tp_primitive_desc_clone, pd);
    }
};
} // namespace detail

/** A primitive of any kind. */
class primitive : public detail::handle<dnnl_tp_primitive_t, dnnl_tp_primitive_destroy> {
  public:
    using handle::handle;
    /** Kind of a primitive. */
    using kind = enums::primitive_kind;
    /** Owns nothing. */
    primitive() noexcept = default;
    /** The primitive of a descriptor. */
    primitive(const primitive_desc_base &pd) : primitive(const_dnnl_tp_primitive_desc_t{pd.get()}) {}
    /** The primitive of a borrowed descriptor. */
    explicit primitive(const_dnnl_tp_primitive_desc_t pd) { create(dnnl_tp_primitive_create, pd); }
    /** The primitive of a descriptor, and of a blob of get_cache_blob() in this or another process. */
    primitive(const primitive_desc_base &pd, const std::vector<std::uint8_t> &cache_blob) {
        create(dnnl_tp_primitive_create_from_cache_blob, const_dnnl_tp_primitive_desc_t{pd.get()},
               cache_blob.size(), cache_blob.data());
    }
    /** The primitive as bytes, for its descriptor in another process. */
    std::vector<std::uint8_t> get_cache_blob() const {
        std::size_t size = 0;
        check(dnnl_tp_primitive_get_cache_blob(get(), &size, nullptr));
        std::vector<std::uint8_t> bytes(size);
        check(dnnl_tp_primitive_get_cache_blob(get(), &size, bytes.data()));
        return bytes;
    }
    /** Runs with memories. No copy of a memory is made. */
    void execute(const stream &s, std::initializer_list<dnnl_tp_exec_arg_t> args) const {
        check(dnnl_tp_primitive_execute(get(), s.get(), static_cast<int>(args.size()), args.begin()));
    }
    /** Runs with memories. */
    void execute(const stream &s, const std::vector<dnnl_tp_exec_arg_t> &args) const {
        check(dnnl_tp_primitive_execute(get(), s.get(), static_cast<int>(args.size()), args.data()));
    }
    /** Runs with memories. */
    void execute(const stream &s, const std::unordered_map<int, memory> &args) const {
        constexpr std::size_t usual = 16; /* so many need no memory of the heap */
        std::array<dnnl_tp_exec_arg_t, usual> few;
        std::vector<dnnl_tp_exec_arg_t> many(args.size() > usual ? args.size() : 0);
        dnnl_tp_exec_arg_t *const c_args = many.empty() ? few.data() : many.data();
        int n = 0;
        for (const auto &[arg, mem] : args) c_args[n++] = {arg, mem.get()};
        check(dnnl_tp_primitive_execute(get(), s.get(), n, c_args));
    }
    /** Runs with plain pointers. */
    void execute_handles(const stream &s, std::initializer_list<dnnl_tp_exec_handle_t> args) const {
        check(dnnl_tp_primitive_execute_handles(get(), s.get(), static_cast<int>(args.size()), args.begin()));
    }
    /** Runs with plain pointers. */
    void execute_handles(const stream &s, const std::vector<dnnl_tp_exec_handle_t> &args) const {
        check(dnnl_tp_primitive_execute_handles(get(), s.get(), static_cast<int>(args.size()), args.data()));
    }
    /** Times runs with plain pointers. */
    dnnl_tp_timing_t timed_run(const stream &s, std::initializer_list<dnnl_tp_exec_handle_t> args,
                               const dnnl_tp_timed_run_opts_t *opts = nullptr) const {
        return timed_run(s, args.size(), args.begin(), opts);
    }
    /** Times runs with plain pointers. */
    dnnl_tp_timing_t timed_run(const stream &s, const std::vector<dnnl_tp_exec_handle_t> &args,
                               const dnnl_tp_timed_run_opts_t *opts = nullptr) const {
        return timed_run(s, args.size(), args.data(), opts);
    }
    /** Its descriptor, lent. */
    const_dnnl_tp_primitive_desc_t get_primitive_desc() const {
        const_dnnl_tp_primitive_desc_t pd = nullptr;
        check(dnnl_tp_primitive_get_primitive_desc(get(), &pd));
        return pd;
    }
    /** Its kind. */
    kind get_kind() const {
        dnnl_tp_primitive_kind_t k = dnnl_tp_undefined_primitive;
        check(dnnl_tp_primitive_desc_query(get_primitive_desc(), dnnl_tp_query_primitive_kind, 0, &k));
        return static_cast<kind>(k);
    }

  private:
    dnnl_tp_timing_t timed_run(const stream &s, std::size_t n, const dnnl_tp_exec_handle_t *args,
                               const dnnl_tp_timed_run_opts_t *opts) const {
        dnnl_tp_timing_t timing = {};
        timing.struct_size = sizeof timing;
        check(dnnl_tp_primitive_timed_run(get(), s.get(), static_cast<int>(n), args, opts, &timing));
        return timing;
    }
};

/** Implementation. */
namespace detail {
/** Descriptors as an array of handles. */
inline std::vector<const_dnnl_tp_memory_desc_t> handles_of(const std::vector<memory_desc> &mds) {
    std::vector<const_dnnl_tp_memory_desc_t> v;
    v.reserve(mds.size());
    for (const memory_desc &md : mds) v.push_back(md.get());
    return v;
}
} // namespace detail

/** Matrix product. */
class matmul : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_matmul> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** Without a bias. */
        primitive_desc(const engine &e, const memory_desc &src, const memory_desc &weights,
                       const memory_desc &dst, const detail::attr_arg &attr = {}, bool allow_empty = false)
            : primitive_desc(e, src, weights, memory_desc(), dst, attr, allow_empty) {}
        /** An empty bias = none. */
        primitive_desc(const engine &e, const memory_desc &src, const memory_desc &weights,
                       const memory_desc &bias, const memory_desc &dst, const detail::attr_arg &attr = {},
                       bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_matmul_primitive_desc_create, e.get(), src.get(),
                            weights.get(), bias.get(), dst.get(), attr);
        }
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
        /** Descriptor of the bias. */
        memory_desc bias_desc() const { return weights_desc(1); }
    };
    /** Owns nothing. */
    matmul() noexcept = default;
    /** Creates. */
    matmul(const primitive_desc &pd) : primitive(pd) {}
    /** Creates, from a blob of an equal primitive. */
    matmul(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

/** Fully connected layer. */
class inner_product_forward : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_inner_product> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** Without a bias. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop, const memory_desc &src,
                       const memory_desc &weights, const memory_desc &dst, const detail::attr_arg &attr = {},
                       bool allow_empty = false)
            : primitive_desc(e, prop, src, weights, memory_desc(), dst, attr, allow_empty) {}
        /** An empty bias = none. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop, const memory_desc &src,
                       const memory_desc &weights, const memory_desc &bias, const memory_desc &dst,
                       const detail::attr_arg &attr = {}, bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_inner_product_forward_primitive_desc_create, e.get(), prop,
                            src.get(), weights.get(), bias.get(), dst.get(), attr);
        }
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
        /** Descriptor of the bias. */
        memory_desc bias_desc() const { return weights_desc(1); }
    };
    /** Owns nothing. */
    inner_product_forward() noexcept = default;
    /** Creates. */
    inner_product_forward(const primitive_desc &pd) : primitive(pd) {}
    /** Creates, from a blob of an equal primitive. */
    inner_product_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

/** Softmax and its logarithm. */
class softmax_forward : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_softmax> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** Along an axis. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop, detail::either<algorithm> alg,
                       const memory_desc &src, const memory_desc &dst, int axis,
                       const detail::attr_arg &attr = {}, bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_softmax_forward_primitive_desc_create, e.get(), prop, alg,
                            src.get(), dst.get(), axis, attr);
        }
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
    };
    /** Owns nothing. */
    softmax_forward() noexcept = default;
    /** Creates. */
    softmax_forward(const primitive_desc &pd) : primitive(pd) {}
    /** Creates, from a blob of an equal primitive. */
    softmax_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

/** Normalization over the last dimension. */
class layer_normalization_forward : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_layer_normalization> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** With f32 statistics derived from src. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop, const memory_desc &src,
                       const memory_desc &dst, float epsilon, detail::flags_of<normalization_flags> flags,
                       const detail::attr_arg &attr = {}, bool allow_empty = false)
            : primitive_desc(e, prop, src, dst, memory_desc(), dnnl_tp_f32, epsilon, flags, attr,
                             allow_empty) {}
        /** With a descriptor of the statistics. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop, const memory_desc &src,
                       const memory_desc &dst, const memory_desc &stat, float epsilon,
                       detail::flags_of<normalization_flags> flags, const detail::attr_arg &attr = {},
                       bool allow_empty = false)
            : primitive_desc(e, prop, src, dst, stat, dnnl_tp_f32, epsilon, flags, attr, allow_empty) {}
        /** With a type of scale and shift. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop, const memory_desc &src,
                       const memory_desc &dst, detail::either<memory::data_type> scale_shift_type,
                       float epsilon, detail::flags_of<normalization_flags> flags,
                       const detail::attr_arg &attr = {}, bool allow_empty = false)
            : primitive_desc(e, prop, src, dst, memory_desc(), scale_shift_type, epsilon, flags, attr,
                             allow_empty) {}
        /** With a descriptor of the statistics and a type of scale and shift. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop, const memory_desc &src,
                       const memory_desc &dst, const memory_desc &stat,
                       detail::either<memory::data_type> scale_shift_type, float epsilon,
                       detail::flags_of<normalization_flags> flags, const detail::attr_arg &attr = {},
                       bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_layer_normalization_forward_primitive_desc_create_v2,
                            e.get(), prop, src.get(), dst.get(), stat.get(), scale_shift_type, epsilon, flags,
                            attr);
        }
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
        /** Descriptor of the mean. */
        memory_desc mean_desc() const { return arg_desc(DNNL_TP_ARG_MEAN); }
        /** Descriptor of the variance. */
        memory_desc variance_desc() const { return arg_desc(DNNL_TP_ARG_VARIANCE); }
        /** Its flags. */
        normalization_flags get_flags() const {
            return static_cast<normalization_flags>(query<unsigned>(dnnl_tp_query_flags));
        }
    };
    /** Owns nothing. */
    layer_normalization_forward() noexcept = default;
    /** Creates. */
    layer_normalization_forward(const primitive_desc &pd) : primitive(pd) {}
    /** Creates, from a blob of an equal primitive. */
    layer_normalization_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

/** A function of each element. */
class eltwise_forward : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_eltwise> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** With alpha and beta 0. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop, detail::either<algorithm> alg,
                       const memory_desc &src, const memory_desc &dst, const detail::attr_arg &attr = {},
                       bool allow_empty = false)
            : primitive_desc(e, prop, alg, src, dst, 0.0f, 0.0f, attr, allow_empty) {}
        /** With beta 0. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop, detail::either<algorithm> alg,
                       const memory_desc &src, const memory_desc &dst, float alpha,
                       const detail::attr_arg &attr = {}, bool allow_empty = false)
            : primitive_desc(e, prop, alg, src, dst, alpha, 0.0f, attr, allow_empty) {}
        /** With the parameters of the formula. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop, detail::either<algorithm> alg,
                       const memory_desc &src, const memory_desc &dst, float alpha, float beta,
                       const detail::attr_arg &attr = {}, bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_eltwise_forward_primitive_desc_create, e.get(), prop, alg,
                            src.get(), dst.get(), alpha, beta, attr);
        }
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
    };
    /** Owns nothing. */
    eltwise_forward() noexcept = default;
    /** Creates. */
    eltwise_forward(const primitive_desc &pd) : primitive(pd) {}
    /** Creates, from a blob of an equal primitive. */
    eltwise_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

/** ReLU with a slope per weight. */
class prelu_forward : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_prelu> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** Weights broadcast to src. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop, const memory_desc &src,
                       const memory_desc &weights, const memory_desc &dst, const detail::attr_arg &attr = {},
                       bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_prelu_forward_primitive_desc_create, e.get(), prop,
                            src.get(), weights.get(), dst.get(), attr);
        }
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
    };
    /** Owns nothing. */
    prelu_forward() noexcept = default;
    /** Creates. */
    prelu_forward(const primitive_desc &pd) : primitive(pd) {}
    /** Creates, from a blob of an equal primitive. */
    prelu_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

/** Two tensors, element by element. */
class binary : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_binary> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** Two sources. */
        primitive_desc(const engine &e, detail::either<algorithm> alg, const memory_desc &src0,
                       const memory_desc &src1, const memory_desc &dst, const detail::attr_arg &attr = {},
                       bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_binary_primitive_desc_create, e.get(), alg, src0.get(),
                            src1.get(), dst.get(), attr);
        }
        /** Three sources (select). */
        primitive_desc(const engine &e, detail::either<algorithm> alg, const memory_desc &src0,
                       const memory_desc &src1, const memory_desc &src2, const memory_desc &dst,
                       const detail::attr_arg &attr = {}, bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_binary_primitive_desc_create_v2, e.get(), alg, src0.get(),
                            src1.get(), src2.get(), dst.get(), attr);
        }
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
        /** Descriptor of the first source. */
        memory_desc src0_desc() const { return src_desc(0); }
        /** Descriptor of the second source. */
        memory_desc src1_desc() const { return src_desc(1); }
        /** Descriptor of the third source. */
        memory_desc src2_desc() const { return src_desc(2); }
    };
    /** Owns nothing. */
    binary() noexcept = default;
    /** Creates. */
    binary(const primitive_desc &pd) : primitive(pd) {}
    /** Creates, from a blob of an equal primitive. */
    binary(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

/** One value from many along dimensions. */
class reduction : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_reduction> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** p and eps are those of the norms. */
        primitive_desc(const engine &e, detail::either<algorithm> alg, const memory_desc &src,
                       const memory_desc &dst, float p = 0.0f, float eps = 0.0f,
                       const detail::attr_arg &attr = {}, bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_reduction_primitive_desc_create, e.get(), alg, src.get(),
                            dst.get(), p, eps, attr);
        }
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
    };
    /** Owns nothing. */
    reduction() noexcept = default;
    /** Creates. */
    reduction(const primitive_desc &pd) : primitive(pd) {}
    /** Creates, from a blob of an equal primitive. */
    reduction(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

/** Copy into another layout and type. */
class reorder : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_reorder> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** On one engine. */
        primitive_desc(const engine &e, const_dnnl_tp_memory_desc_t src, const_dnnl_tp_memory_desc_t dst,
                       const detail::attr_arg &attr = {}, bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_reorder_primitive_desc_create, src, e.get(), dst, e.get(),
                            attr);
        }
        /** Between engines, which have to be the same. */
        primitive_desc(const engine &src_engine, const memory_desc &src, const engine &dst_engine,
                       const memory_desc &dst, const detail::attr_arg &attr = {}, bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_reorder_primitive_desc_create, src.get(), src_engine.get(),
                            dst.get(), dst_engine.get(), attr);
        }
        /** Between tensors. */
        primitive_desc(const memory &src, const memory &dst, const detail::attr_arg &attr = {},
                       bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_reorder_primitive_desc_create, src.get_desc_handle(),
                            src.get_engine().get(), dst.get_desc_handle(), dst.get_engine().get(), attr);
        }
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
        /** The engine of the source. */
        engine get_src_engine() const {
            return engine(query<dnnl_tp_engine_t>(dnnl_tp_query_reorder_src_engine), true);
        }
        /** The engine of the destination. */
        engine get_dst_engine() const {
            return engine(query<dnnl_tp_engine_t>(dnnl_tp_query_reorder_dst_engine), true);
        }
    };
    /** Owns nothing. */
    reorder() noexcept = default;
    /** Creates. */
    reorder(const primitive_desc &pd) : primitive(pd) {}
    /** Creates, from a blob of an equal primitive. */
    reorder(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
    /** Between tensors. */
    reorder(const memory &src, const memory &dst, const detail::attr_arg &attr = {})
        : reorder(primitive_desc(src, dst, attr)) {}
    using primitive::execute;
    /** Runs. */
    void execute(const stream &s, const memory &src, const memory &dst) const {
        execute(s, {{DNNL_TP_ARG_FROM, src.get()}, {DNNL_TP_ARG_TO, dst.get()}});
    }
};

/** Tensors one behind the other. */
class concat : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_concat> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** An empty dst = derived. */
        primitive_desc(const engine &e, const memory_desc &dst, int axis,
                       const std::vector<memory_desc> &srcs, const detail::attr_arg &attr = {},
                       bool allow_empty = false) {
            const std::vector<const_dnnl_tp_memory_desc_t> v = detail::handles_of(srcs);
            create_or_empty(allow_empty, dnnl_tp_concat_primitive_desc_create, e.get(), dst.get(),
                            static_cast<int>(v.size()), axis, v.data(), attr);
        }
        /** dst is derived. */
        primitive_desc(const engine &e, int axis, const std::vector<memory_desc> &srcs,
                       const detail::attr_arg &attr = {}, bool allow_empty = false)
            : primitive_desc(e, memory_desc(), axis, srcs, attr, allow_empty) {}
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
    };
    /** Owns nothing. */
    concat() noexcept = default;
    /** Creates. */
    concat(const primitive_desc &pd) : primitive(pd) {}
    /** Creates, from a blob of an equal primitive. */
    concat(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

/** Weighted sum of tensors. */
class sum : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_sum> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** An empty dst = derived. */
        primitive_desc(const engine &e, const memory_desc &dst, const std::vector<float> &scales,
                       const std::vector<memory_desc> &srcs, const detail::attr_arg &attr = {},
                       bool allow_empty = false) {
            if (scales.size() != srcs.size())
                throw error(dnnl_tp_invalid_arguments, "sum: as many scales as sources are needed");
            const std::vector<const_dnnl_tp_memory_desc_t> v = detail::handles_of(srcs);
            create_or_empty(allow_empty, dnnl_tp_sum_primitive_desc_create, e.get(), dst.get(),
                            static_cast<int>(v.size()), scales.data(), v.data(), attr);
        }
        /** dst is derived. */
        primitive_desc(const engine &e, const std::vector<float> &scales,
                       const std::vector<memory_desc> &srcs, const detail::attr_arg &attr = {},
                       bool allow_empty = false)
            : primitive_desc(e, memory_desc(), scales, srcs, attr, allow_empty) {}
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
    };
    /** Owns nothing. */
    sum() noexcept = default;
    /** Creates. */
    sum(const primitive_desc &pd) : primitive(pd) {}
    /** Creates, from a blob of an equal primitive. */
    sum(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob) : primitive(pd, cache_blob) {}
};

} // namespace dnnl_tp

#endif
