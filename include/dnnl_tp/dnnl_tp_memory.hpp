/** @file
 * C++17 over the C API of dnnl_tp: descriptors of tensors, and memory objects. Included by
 * dnnl_tp.hpp, which has the rules. */
#ifndef DNNL_TP_MEMORY_HPP
#define DNNL_TP_MEMORY_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dnnl_tp/dnnl_tp_enums.hpp"
#include "dnnl_tp/dnnl_tp_handle.hpp"
#include "dnnl_tp/dnnl_tp_stream.hpp"

namespace dnnl_tp {

/** Shape, type and layout of a tensor: memory::desc. An empty object means "no tensor". A
 * descriptor never changes, so copies share it. With allow_empty a failure gives an empty object
 * instead of an exception. */
class memory_desc : public detail::handle<dnnl_tp_memory_desc_t, dnnl_tp_memory_desc_destroy> {
  public:
    using handle::handle;
    /** No tensor. */
    memory_desc() noexcept = default;
    /** Takes ownership of a C descriptor. */
    memory_desc(dnnl_tp_memory_desc_t md) : handle(md) {}
    /** A descriptor with the layout of a tag. */
    memory_desc(const dims &d, detail::either<enums::data_type> type,
                detail::either<enums::format_tag> tag, bool allow_empty = false) {
        create_or_empty(allow_empty, dnnl_tp_memory_desc_create_with_tag,
                        static_cast<int>(d.size()), detail::c_dims(d).v, type, tag);
    }
    /** A descriptor with strides; no strides = dense row-major. */
    memory_desc(const dims &d, detail::either<enums::data_type> type, const dims &strides,
                bool allow_empty = false) {
        if (strides.size() != d.size() && !strides.empty())
            detail::raise(dnnl_tp_invalid_arguments,
                          "memory_desc: as many strides as dimensions are needed");
        const detail::c_dims c(strides);
        create_or_empty(allow_empty, dnnl_tp_memory_desc_create_with_strides,
                        static_cast<int>(d.size()), detail::c_dims(d).v, type,
                        strides.empty() ? nullptr : &c.v[0]);
    }
    /** Dense row-major. */
    memory_desc(const dims &d, detail::either<enums::data_type> type)
        : memory_desc(d, type, dims()) {}
    /** A descriptor from the bytes of get_blob(). */
    explicit memory_desc(const std::vector<std::uint8_t> &blob) {
        create(dnnl_tp_memory_desc_create_with_blob, blob.data());
    }
    /** A descriptor of a host scalar: one element inside the memory object. */
    static memory_desc host_scalar(detail::either<enums::data_type> type) {
        memory_desc md;
        md.create(dnnl_tp_memory_desc_create_host_scalar, type);
        return md;
    }
    /** A copy of a borrowed descriptor. */
    static memory_desc clone_of(const_dnnl_tp_memory_desc_t existing) {
        memory_desc md;
        md.create(dnnl_tp_memory_desc_clone, existing);
        return md;
    }
    /** A descriptor from the bytes of blob(). */
    static memory_desc from_blob(const std::vector<std::uint8_t> &blob) {
        return memory_desc(blob);
    }
    /** A copy with a handle of its own; the copy of an empty object is empty. */
    memory_desc clone() const { return get() == nullptr ? memory_desc() : clone_of(get()); }
    /** The descriptor as bytes. */
    std::vector<std::uint8_t> get_blob() const {
        std::size_t size = 0;
        check(dnnl_tp_memory_desc_get_blob(nullptr, &size, get()));
        std::vector<std::uint8_t> bytes(size);
        check(dnnl_tp_memory_desc_get_blob(bytes.data(), &size, get()));
        return bytes;
    }
    /** The descriptor as bytes. */
    std::vector<std::uint8_t> blob() const { return get_blob(); }
    /** Descriptor of a window of this tensor. */
    memory_desc submemory_desc(const dims &d, const dims &offsets, bool allow_empty = false) const {
        if (static_cast<int>(d.size()) != get_ndims() || d.size() != offsets.size())
            detail::raise(dnnl_tp_invalid_arguments,
                          "submemory_desc: one size and offset per dimension");
        memory_desc md;
        md.create_or_empty(allow_empty, dnnl_tp_memory_desc_create_submemory, get(),
                           detail::c_dims(d).v, detail::c_dims(offsets).v);
        return md;
    }
    /** Descriptor of a window of this tensor. */
    memory_desc submemory(const dims &d, const dims &offsets) const {
        return submemory_desc(d, offsets);
    }
    /** Descriptor of the same elements with other dimensions. */
    memory_desc reshape(const dims &d, bool allow_empty = false) const {
        memory_desc md;
        md.create_or_empty(allow_empty, dnnl_tp_memory_desc_reshape, get(),
                           static_cast<int>(d.size()), detail::c_dims(d).v);
        return md;
    }
    /** Descriptor with permuted dimensions. */
    memory_desc permute_axes(const std::vector<int> &permutation, bool allow_empty = false) const {
        if (static_cast<int>(permutation.size()) != get_ndims())
            detail::raise(dnnl_tp_invalid_arguments,
                          "permute_axes: one number per dimension is needed");
        memory_desc md;
        md.create_or_empty(allow_empty, dnnl_tp_memory_desc_permute_axes, get(),
                           permutation.data());
        return md;
    }
    /** Number of dimensions; 0 = no tensor. */
    int get_ndims() const { return query_or<int>(dnnl_tp_query_ndims_s32); }
    /** True if there is no tensor. */
    bool is_zero() const { return get_ndims() == 0; }
    /** Sizes. */
    dims get_dims() const { return query_dims(dnnl_tp_query_dims); }
    /** Sizes with padding. */
    dims get_padded_dims() const { return query_dims(dnnl_tp_query_padded_dims); }
    /** Offsets of the data inside the padding. */
    dims get_padded_offsets() const { return query_dims(dnnl_tp_query_padded_offsets); }
    /** Strides of the outer blocks. */
    dims get_strides() const { return query_dims(dnnl_tp_query_strides); }
    /** Number of inner blocks. */
    int get_inner_nblks() const { return query_or<int>(dnnl_tp_query_inner_nblks_s32); }
    /** Sizes of the inner blocks. */
    dims get_inner_blks() const { return query_dims(dnnl_tp_query_inner_blks, get_inner_nblks()); }
    /** Dimensions of the inner blocks. */
    dims get_inner_idxs() const { return query_dims(dnnl_tp_query_inner_idxs, get_inner_nblks()); }
    /** Encoding of a sparse tensor: undef. */
    enums::sparse_encoding get_sparse_encoding() const {
        return static_cast<enums::sparse_encoding>(
            query_or<dnnl_tp_sparse_encoding_t>(dnnl_tp_query_sparse_encoding));
    }
    /** Elements that a sparse tensor stores: 0. */
    dnnl_tp_dim_t get_nnz() const { return query_or<dnnl_tp_dim_t>(dnnl_tp_query_nnz_s64); }
    /** Number of buffers. */
    int get_num_handles() const { return query_or<int>(dnnl_tp_query_num_handles_s32); }
    /** Type of an element. */
    enums::data_type get_data_type(int index = 0) const {
        return static_cast<enums::data_type>(
            query_or<dnnl_tp_data_type_t>(dnnl_tp_query_data_type, index));
    }
    /** Kind of the layout. */
    enums::format_kind get_format_kind() const {
        return static_cast<enums::format_kind>(
            query_or<dnnl_tp_format_kind_t>(dnnl_tp_query_format_kind));
    }
    /** Offset of element 0. */
    std::int64_t get_submemory_offset() const {
        return query_or<std::int64_t>(dnnl_tp_query_submemory_offset_s64);
    }
    /** Bytes of a buffer. */
    std::size_t get_size(int index = 0) const {
        return dnnl_tp_memory_desc_get_size_v2(get(), index);
    }
    /** Any property that is not an array. */
    template <typename T> T query(detail::either<dnnl_tp::query> what, int index = 0) const {
        T value = {};
        check(dnnl_tp_memory_desc_query_v2(get(), what, index, &value));
        return value;
    }
    /** Any property that is not an array; zero if the layout does not have it. */
    template <typename T>
    T query_or(detail::either<dnnl_tp::query> what, int index = 0, T other = {}) const {
        T value = {};
        return get() != nullptr &&
                       dnnl_tp_memory_desc_query_v2(get(), what, index, &value) == dnnl_tp_success
                   ? value
                   : other;
    }
    /** A property that is an array of ndims (or n) numbers; empty if the layout does not have it.
     */
    dims query_dims(detail::either<dnnl_tp::query> what, int count = -1) const {
        const auto p = query_or<const dnnl_tp_dims_t *>(what);
        return p == nullptr ? dims() : dims(*p, *p + (count < 0 ? get_ndims() : count));
    }
    /** True if all members are equal. */
    bool operator==(const memory_desc &other) const {
        return dnnl_tp_memory_desc_equal(get(), other.get()) != 0;
    }
    /** True if some members differ. */
    bool operator!=(const memory_desc &other) const { return !(*this == other); }

    /* The same queries with C enumerators and shorter names. */

    /** Number of dimensions. */
    int ndims() const { return get_ndims(); }
    /** Sizes with padding. */
    dims padded_dims() const { return get_padded_dims(); }
    /** Strides of the outer blocks. */
    dims strides() const { return get_strides(); }
    /** Type of an element. */
    dnnl_tp_data_type_t data_type() const {
        return query_or<dnnl_tp_data_type_t>(dnnl_tp_query_data_type);
    }
    /** Kind of the layout. */
    dnnl_tp_format_kind_t format_kind() const {
        return query_or<dnnl_tp_format_kind_t>(dnnl_tp_query_format_kind);
    }
    /** Offset of element 0. */
    std::int64_t submemory_offset() const { return get_submemory_offset(); }
    /** Bytes of the buffer. */
    std::size_t size() const { return get_size(); }
};

/** A descriptor with a buffer. */
class memory : public detail::handle<dnnl_tp_memory_t, dnnl_tp_memory_destroy> {
  public:
    using handle::handle;
    /** A descriptor. */
    using desc = memory_desc;
    /** A dimension. */
    using dim = dnnl_tp_dim_t;
    /** Dimensions or strides. */
    using dims = dnnl_tp::dims;
    /** Type of an element. */
    using data_type = enums::data_type;
    /** Tag of a layout. */
    using format_tag = enums::format_tag;
    /** Kind of a layout. */
    using format_kind = enums::format_kind;
    /** Encoding of a sparse tensor. */
    using sparse_encoding = enums::sparse_encoding;
    /** An empty object. */
    memory() noexcept = default;
    /** A memory object; by default the library allocates its buffer. */
    memory(const memory_desc &md, const engine &e, void *data = DNNL_TP_MEMORY_ALLOCATE)
        : memory(md.get(), e, data) {}
    /** A memory object; by default the library allocates its buffer. */
    memory(const_dnnl_tp_memory_desc_t md, const engine &e, void *data = DNNL_TP_MEMORY_ALLOCATE) {
        create(dnnl_tp_memory_create, md, e.get(), data);
    }
    /** A memory object with an array of buffers. */
    memory(const memory_desc &md, const engine &e, std::vector<void *> handles) {
        create(dnnl_tp_memory_create_v2, md.get(), e.get(), static_cast<int>(handles.size()),
               handles.data());
    }
    /** A memory object that a stream initialises. */
    memory(const memory_desc &md, const engine &e, void *data, const stream &s) {
        create(dnnl_tp_memory_create_on_stream, md.get(), e.get(), data, s.get());
    }
    /** A host scalar. */
    template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
    memory(const memory_desc &md, const T value) {
        check_scalar(md.get(), sizeof value);
        T copy = value;
        create(dnnl_tp_memory_create_host_scalar, md.get(), &copy);
    }
    /** The value of a host scalar. */
    template <typename T> T get_host_scalar_value() const {
        check_scalar(get_desc_handle(), sizeof(T));
        T value = {};
        check(dnnl_tp_memory_get_host_scalar_value(get(), &value));
        return value;
    }
    /** Changes the value of a host scalar. */
    template <typename T> void set_host_scalar_value(const T value) const {
        check_scalar(get_desc_handle(), sizeof(T));
        check(dnnl_tp_memory_set_host_scalar_value(get(), &value));
    }
    /** Its descriptor. */
    memory_desc get_desc() const { return memory_desc::clone_of(get_desc_handle()); }
    /** Its descriptor as a borrowed C handle, without a copy. */
    const_dnnl_tp_memory_desc_t get_desc_handle() const {
        const_dnnl_tp_memory_desc_t d = nullptr;
        check(dnnl_tp_memory_get_memory_desc(get(), &d));
        return d;
    }
    /** Its engine, borrowed: valid as long as the memory object. */
    engine get_engine() const {
        dnnl_tp_engine_t e = nullptr;
        check(dnnl_tp_memory_get_engine(get(), &e));
        return engine(e, true);
    }
    /** A buffer. */
    void *get_data_handle(int index = 0) const {
        void *p = nullptr;
        check(dnnl_tp_memory_get_data_handle_v2(get(), &p, index));
        return p;
    }
    /** Replaces the buffer. */
    void set_data_handle(void *p, int index = 0) const {
        check(dnnl_tp_memory_set_data_handle_v2(get(), p, index));
    }
    /** Maps a buffer for the host. */
    template <typename T = void> T *map_data(int index = 0) const {
        void *p = nullptr;
        check(dnnl_tp_memory_map_data_v2(get(), &p, index));
        return static_cast<T *>(p);
    }
    /** Ends a mapping. */
    void unmap_data(void *p, int index = 0) const {
        check(dnnl_tp_memory_unmap_data_v2(get(), p, index));
    }
    /** Bytes of an element. */
    static std::size_t data_type_size(detail::either<enums::data_type> type) {
        return dnnl_tp_data_type_size(type);
    }
    /** Waits until all work that can use it is done; false if the time limit passed; throws if the
     * work failed, also with the status timed_out. */
    bool sync(std::int64_t timeout_ns = -1) const {
        return detail::done_in_time([this, timeout_ns](dnnl_tp_status_t *work) {
            return dnnl_tp_sync_memory_v2(get(), timeout_ns, work);
        });
    }
    /** The C enumerator. */
    static constexpr dnnl_tp_data_type_t convert_to_c(enums::data_type v) noexcept {
        return dnnl_tp::convert_to_c(v);
    }
    /** The C enumerator. */
    static constexpr dnnl_tp_format_tag_t convert_to_c(enums::format_tag v) noexcept {
        return dnnl_tp::convert_to_c(v);
    }

    /* The same with shorter names. */

    /** Its buffer. */
    void *data() const { return get_data_handle(); }
    /** Its buffer with a type. */
    template <typename T> T *data_as() const { return static_cast<T *>(data()); }
    /** Replaces the buffer. */
    void set_data(void *p) { set_data_handle(p); }
    /** Replaces the buffer, and zeroes its padding on a stream. */
    void set_data(void *p, const stream &s) {
        check(dnnl_tp_memory_set_data_handle_on_stream(get(), p, s.get()));
    }
    /** Maps it for the host. */
    void *map() const { return map_data(); }
    /** Ends a mapping. */
    void unmap(void *p) const { unmap_data(p); }

  private:
    static void check_scalar(const_dnnl_tp_memory_desc_t md, std::size_t size) {
        if (dnnl_tp_memory_desc_get_size_v2(md, 0) != size)
            detail::raise(dnnl_tp_invalid_arguments,
                          "scalar type size does not match memory descriptor data type size");
    }
};

} // namespace dnnl_tp

#endif
