/** @file
 * C++17 over the C API of dnnl_tp: primitive descriptors and primitives of any kind, the base
 * classes of all kinds. Included by dnnl_tp.hpp, which has the rules. The kinds:
 * dnnl_tp_primitives.hpp, dnnl_tp_spatial.hpp, dnnl_tp_normalization.hpp. */
#ifndef DNNL_TP_PRIMITIVE_HPP
#define DNNL_TP_PRIMITIVE_HPP

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

/** Members of every primitive descriptor. */
class primitive_desc_base
    : public detail::handle<dnnl_tp_primitive_desc_t, dnnl_tp_primitive_desc_destroy> {
  public:
    using handle::handle;
    /** Owns nothing. */
    primitive_desc_base() noexcept = default;
    /** Replaces the implementation by the next one, in all copies; false if there is none. */
    bool next_impl() {
        const dnnl_tp_status_t status = dnnl_tp_primitive_desc_next_impl(get());
        if (status == dnnl_tp_last_impl_reached) return false;
        check(status);
        return true;
    }
    /** Name of the implementation, borrowed. */
    const char *impl_info_str() const { return query<const char *>(dnnl_tp_query_impl_info_str); }
    /** Kind of the primitive. */
    enums::primitive_kind get_kind() const { return static_cast<enums::primitive_kind>(kind()); }
    /** Kind of the primitive. */
    dnnl_tp_primitive_kind_t kind() const {
        return query<dnnl_tp_primitive_kind_t>(dnnl_tp_query_primitive_kind);
    }
    /** Its engine, borrowed: valid as long as the descriptor. */
    engine get_engine() const {
        return engine(query<dnnl_tp_engine_t>(dnnl_tp_query_engine), true);
    }
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
    /** Its attributes, borrowed. */
    const_dnnl_tp_primitive_attr_t get_attr() const {
        const_dnnl_tp_primitive_attr_t attr = nullptr;
        check(dnnl_tp_primitive_desc_get_attr(get(), &attr));
        return attr;
    }
    /** A copy of its attributes. */
    primitive_attr get_primitive_attr() const { return primitive_attr::clone_of(get_attr()); }
    /** Any property. */
    template <typename T> T query(detail::either<dnnl_tp::query> what, int index = 0) const {
        T value = {};
        check(dnnl_tp_primitive_desc_query(get(), what, index, &value));
        return value;
    }
    /** A 64-bit property. */
    std::int64_t query_s64(detail::either<dnnl_tp::query> what) const {
        return query<std::int64_t>(what);
    }
    /** A copy of the descriptor of a tensor. */
    memory_desc query_md(detail::either<dnnl_tp::query> what, int index = 0) const {
        const_dnnl_tp_memory_desc_t md = dnnl_tp_primitive_desc_query_md(get(), what, index);
        return md == nullptr ? memory_desc() : memory_desc::clone_of(md);
    }
    /** Descriptor of a source. */
    memory_desc src_desc(int index = 0) const { return query_md(dnnl_tp_query_src_md, index); }
    /** Descriptor of the weights. */
    memory_desc weights_desc(int index = 0) const {
        return query_md(dnnl_tp_query_weights_md, index);
    }
    /** Descriptor of a destination. */
    memory_desc dst_desc(int index = 0) const { return query_md(dnnl_tp_query_dst_md, index); }
    /** Descriptor of a gradient of a source: empty. */
    memory_desc diff_src_desc(int index = 0) const {
        return query_md(dnnl_tp_query_diff_src_md, index);
    }
    /** Descriptor of a gradient of the weights: empty. */
    memory_desc diff_weights_desc(int index = 0) const {
        return query_md(dnnl_tp_query_diff_weights_md, index);
    }
    /** Descriptor of a gradient of a destination: empty. */
    memory_desc diff_dst_desc(int index = 0) const {
        return query_md(dnnl_tp_query_diff_dst_md, index);
    }
    /** Descriptor of the workspace. */
    memory_desc workspace_desc() const { return query_md(dnnl_tp_query_workspace_md); }
    /** Descriptor of the scratch in user mode. */
    memory_desc scratchpad_desc() const { return query_md(dnnl_tp_query_scratchpad_md); }
    /** Descriptor of the argument with a number. */
    memory_desc arg_desc(int arg) const { return query_md(dnnl_tp_query_exec_arg_md, arg); }
    /* A property that a kind does not have is empty, 0 or undef; an axis is -1. */

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
    /** k of an lrn. */
    float get_k() const { return query_or(dnnl_tp_query_k_f32, 0.f); }
    /** Size of the neighbourhood of an lrn. */
    std::int64_t get_local_size() const {
        return query_or(dnnl_tp_query_local_size_s64, std::int64_t{0});
    }
    /** Flags of a normalization, as a number or as T. */
    template <typename T = unsigned> T get_flags() const {
        return static_cast<T>(query_or(dnnl_tp_query_flags, 0u));
    }
    /** Cell of a recurrent network: no kind has one. */
    algorithm get_cell_kind() const {
        return static_cast<algorithm>(query_or(dnnl_tp_query_cell_kind, dnnl_tp_alg_kind_undef));
    }
    /** Activation of a recurrent network: no kind has one. */
    algorithm get_activation_kind() const {
        return static_cast<algorithm>(
            query_or(dnnl_tp_query_activation_kind, dnnl_tp_alg_kind_undef));
    }
    /** Direction of a recurrent network: no kind has one. */
    rnn_direction get_direction() const {
        return static_cast<rnn_direction>(
            query_or(dnnl_tp_query_direction, dnnl_tp_rnn_direction_undef));
    }
    /** Axis of a softmax, shuffle or concat. */
    int get_axis() const { return query_or(dnnl_tp_query_axis_s32, -1); }
    /** Strides of a window, by spatial dimension. */
    dims get_strides() const { return query_window(dnnl_tp_query_strides); }
    /** Size of the window of a pooling. */
    dims get_kernel() const { return query_window(dnnl_tp_query_kernel); }
    /** Dilations of a window; 0 = dense. */
    dims get_dilations() const { return query_window(dnnl_tp_query_dilations); }
    /** Group size of a shuffle. */
    std::int64_t get_group_size() const {
        return query_or(dnnl_tp_query_group_size_s64, std::int64_t{0});
    }
    /** Factors of a resampling, by spatial dimension. */
    std::vector<float> get_factors() const {
        const auto p = query_or(dnnl_tp_query_factors, static_cast<const float *>(nullptr));
        return p == nullptr ? std::vector<float>()
                            : std::vector<float>(p, p + dst_desc().get_ndims() - 2);
    }
    /** Padding before the first element, by spatial dimension. */
    dims get_padding_l() const { return query_window(dnnl_tp_query_padding_l); }
    /** Padding after the last element, by spatial dimension. */
    dims get_padding_r() const { return query_window(dnnl_tp_query_padding_r); }
    /** Bytes that identify the blob of its primitive. */
    std::vector<std::uint8_t> get_cache_blob_id() const {
        const auto size = query<std::int64_t>(dnnl_tp_query_cache_blob_id_size_s64);
        const auto p = query<const std::uint8_t *>(dnnl_tp_query_cache_blob_id);
        return std::vector<std::uint8_t>(p, p + size);
    }

  protected:
    /** A property, or other if the kind does not have it. */
    template <typename T> T query_or(dnnl_tp_query_t what, T other) const {
        T value = {};
        return dnnl_tp_primitive_desc_query(get(), what, 0, &value) == dnnl_tp_success ? value
                                                                                       : other;
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
            detail::raise(dnnl_tp_invalid_arguments,
                          std::string("invalid_arguments: the descriptor is of ") +
                              dnnl_tp_prim_kind2str(got) + ", not of " + dnnl_tp_prim_kind2str(of));
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
    primitive(const primitive_desc_base &pd)
        : primitive(const_dnnl_tp_primitive_desc_t{pd.get()}) {}
    /** The primitive of a borrowed descriptor. */
    explicit primitive(const_dnnl_tp_primitive_desc_t pd) { create(dnnl_tp_primitive_create, pd); }
    /** The primitive of a descriptor, and of a blob of get_cache_blob() in this or another process.
     */
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
    /** Runs with memory objects, without copies of them. */
    void execute(const stream &s, std::initializer_list<dnnl_tp_exec_arg_t> args) const {
        check(
            dnnl_tp_primitive_execute(get(), s.get(), static_cast<int>(args.size()), args.begin()));
    }
    /** Runs with memory objects. */
    void execute(const stream &s, const std::vector<dnnl_tp_exec_arg_t> &args) const {
        check(
            dnnl_tp_primitive_execute(get(), s.get(), static_cast<int>(args.size()), args.data()));
    }
    /** Runs with memory objects. */
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
        check(dnnl_tp_primitive_execute_handles(get(), s.get(), static_cast<int>(args.size()),
                                                args.begin()));
    }
    /** Runs with plain pointers. */
    void execute_handles(const stream &s, const std::vector<dnnl_tp_exec_handle_t> &args) const {
        check(dnnl_tp_primitive_execute_handles(get(), s.get(), static_cast<int>(args.size()),
                                                args.data()));
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
    /** Its descriptor, borrowed. */
    const_dnnl_tp_primitive_desc_t get_primitive_desc() const {
        const_dnnl_tp_primitive_desc_t pd = nullptr;
        check(dnnl_tp_primitive_get_primitive_desc(get(), &pd));
        return pd;
    }
    /** Its kind. */
    kind get_kind() const {
        dnnl_tp_primitive_kind_t k = dnnl_tp_undefined_primitive;
        check(dnnl_tp_primitive_desc_query(get_primitive_desc(), dnnl_tp_query_primitive_kind, 0,
                                           &k));
        return static_cast<kind>(k);
    }

  private:
    dnnl_tp_timing_t timed_run(const stream &s, std::size_t n, const dnnl_tp_exec_handle_t *args,
                               const dnnl_tp_timed_run_opts_t *opts) const {
        dnnl_tp_timing_t timing = {};
        timing.struct_size = sizeof timing;
        check(
            dnnl_tp_primitive_timed_run(get(), s.get(), static_cast<int>(n), args, opts, &timing));
        return timing;
    }
};

} // namespace dnnl_tp

#endif
