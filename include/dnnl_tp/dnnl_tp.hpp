/** @file
 * C++17 over the C API of dnnl_tp: owning handles, exceptions, one class per kind of primitive. Header only.
 *
 * A class owns one C handle; it is movable, not copyable (clone() where the C API has it), and converts to
 * its C handle, so every C call can be used beside it. A failed call throws dnnl_tp::error. What a call does,
 * its arguments, its errors and its thread safety are documented at the C function of the same name;
 * functions here that return C handles or pointers lend them. Graphs: dnnl_tp_graph.hpp, included at the end.
 */
#ifndef DNNL_TP_HPP
#define DNNL_TP_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "dnnl_tp/dnnl_tp.h"
#include "dnnl_tp/dnnl_tp_handle.hpp"
#include "dnnl_tp/dnnl_tp_threadpool.h"
#include "dnnl_tp/dnnl_tp_threadpool_iface.hpp"

namespace dnnl_tp {

/** A built-in pool. */
class threadpool : public detail::handle<dnnl_tp_threadpool_t, dnnl_tp_threadpool_destroy> {
  public:
    using handle::handle;
    /** A pool of so many threads, callers included; 0 = process default. */
    explicit threadpool(int num_threads, std::uint64_t flags = 0, const char *name = nullptr) {
        dnnl_tp_threadpool_opts_t opts = {};
        opts.struct_size = sizeof opts;
        opts.num_threads = num_threads;
        opts.name = name;
        opts.flags = flags;
        check(dnnl_tp_threadpool_create(out(), &opts));
    }
    /** A pool with all options. */
    explicit threadpool(const dnnl_tp_threadpool_opts_t &opts) {
        check(dnnl_tp_threadpool_create(out(), &opts));
    }
    /** The pool as an interface, lent. */
    const dnnl_tp_threadpool_iface_t *iface() const {
        const dnnl_tp_threadpool_iface_t *p = nullptr;
        check(dnnl_tp_threadpool_get_iface(get(), &p));
        return p;
    }
};

/** Attributes of a stream. */
class stream_attr : public detail::handle<dnnl_tp_stream_attr_t, dnnl_tp_stream_attr_destroy> {
  public:
    using handle::handle;
    /** Attributes without a pool. */
    explicit stream_attr(dnnl_tp_engine_kind_t kind = dnnl_tp_cpu) {
        check(dnnl_tp_stream_attr_create(out(), kind));
    }
    /** Attributes with a pool of the program (C struct). */
    explicit stream_attr(const dnnl_tp_threadpool_iface_t &pool) : stream_attr() { set_threadpool(pool); }
    /** Attributes with a pool of the program (C++ class). */
    explicit stream_attr(threadpool_interop::threadpool_iface &pool) : stream_attr() { set_threadpool(pool); }
    /** Attributes with a built-in pool. */
    explicit stream_attr(const threadpool &pool) : stream_attr() { set_threadpool(pool); }
    /** A copy. */
    stream_attr clone() const { return clone_of(get()); }
    /** A copy of borrowed attributes. */
    static stream_attr clone_of(const_dnnl_tp_stream_attr_t existing) {
        dnnl_tp_stream_attr_t h = nullptr;
        check(dnnl_tp_stream_attr_clone(&h, existing));
        return stream_attr(h);
    }
    /** Sets a pool; the struct is copied. */
    void set_threadpool(const dnnl_tp_threadpool_iface_t &pool) {
        check(dnnl_tp_stream_attr_set_threadpool(get(), &pool));
    }
    /** Sets a pool; it lives as long as the library may call it. */
    void set_threadpool(threadpool_interop::threadpool_iface &pool) {
        set_threadpool(threadpool_interop::make_iface(&pool));
    }
    /** Sets a built-in pool. */
    void set_threadpool(const threadpool &pool) {
        check(dnnl_tp_stream_attr_set_builtin_threadpool(get(), pool.get()));
    }
    /** Sequential on purpose. */
    void set_sequential() { check(dnnl_tp_stream_attr_set_threadpool(get(), nullptr)); }
    /** The pool that was set, lent; NULL if none. */
    const dnnl_tp_threadpool_iface_t *get_threadpool() const {
        const dnnl_tp_threadpool_iface_t *p = nullptr;
        check(dnnl_tp_stream_attr_get_threadpool(get(), &p));
        return p;
    }
    /** Where the threads come from. */
    dnnl_tp_pool_kind_t pool_kind() const {
        dnnl_tp_pool_kind_t kind = dnnl_tp_pool_kind_unset;
        check(dnnl_tp_stream_attr_get_pool_kind(get(), &kind));
        return kind;
    }
    /** Limits the threads that take part. */
    void set_max_threads(int n) { check(dnnl_tp_stream_attr_set_max_threads(get(), n)); }
    /** Chooses what graphs run in parallel. */
    void set_parallelism(unsigned bits) { check(dnnl_tp_stream_attr_set_parallelism(get(), bits)); }
    /** Chooses whether runs take tickets of the pool. */
    void set_admission(bool on) { check(dnnl_tp_stream_attr_set_admission(get(), on ? 1 : 0)); }
    /** Chooses whether execute returns before the work is done. */
    void set_async(bool on) { check(dnnl_tp_stream_attr_set_async(get(), on ? 1 : 0)); }
    /** Chooses which of the streams that wait for a thread comes first. */
    void set_priority(int priority) { check(dnnl_tp_stream_attr_set_priority(get(), priority)); }
};

/** Attributes of an engine. */
class engine_attr : public detail::handle<dnnl_tp_engine_attr_t, dnnl_tp_engine_attr_destroy> {
  public:
    using handle::handle;
    /** Default values. */
    engine_attr() { check(dnnl_tp_engine_attr_create(out())); }
    /** Default pool of streams and primitives. */
    void set_stream_attr(const stream_attr &attr) {
        check(dnnl_tp_engine_attr_set_stream_attr(get(), attr.get()));
    }
    /** Default thread count of primitives. */
    void set_num_threads(int n) { check(dnnl_tp_engine_attr_set_num_threads(get(), n)); }
    /** Limits the instruction sets. */
    void set_max_isa(dnnl_tp_cpu_isa_t isa) { check(dnnl_tp_engine_attr_set_max_isa(get(), isa)); }
    /** Sets the allocator; the struct is copied. */
    void set_allocator(const dnnl_tp_allocator_t &a) { check(dnnl_tp_engine_attr_set_allocator(get(), &a)); }
};

/** A device. */
class engine : public detail::handle<dnnl_tp_engine_t, dnnl_tp_engine_destroy> {
  public:
    using handle::handle;
    /** An engine with default attributes. */
    explicit engine(dnnl_tp_engine_kind_t kind = dnnl_tp_cpu, std::size_t index = 0) {
        check(dnnl_tp_engine_create(out(), kind, index));
    }
    /** An engine with attributes. */
    engine(dnnl_tp_engine_kind_t kind, std::size_t index, const engine_attr &attr) {
        check(dnnl_tp_engine_create_v2(out(), kind, index, attr.get()));
    }
    /** An engine whose default pool is that of the attributes. */
    explicit engine(const stream_attr &pool) {
        engine_attr attr;
        attr.set_stream_attr(pool);
        check(dnnl_tp_engine_create_v2(out(), dnnl_tp_cpu, 0, attr.get()));
    }
    /** Number of engines of a kind. */
    static std::size_t count(dnnl_tp_engine_kind_t kind) { return dnnl_tp_engine_get_count(kind); }
    /** Its kind. */
    dnnl_tp_engine_kind_t kind() const {
        dnnl_tp_engine_kind_t kind = dnnl_tp_any_engine;
        check(dnnl_tp_engine_get_kind(get(), &kind));
        return kind;
    }
};

/** Implementation. */
namespace detail {
/** False if the time ran out. */
inline bool in_time(dnnl_tp_status_t status) {
    if (status == dnnl_tp_timed_out) return false;
    check(status);
    return true;
}
} // namespace detail

/** What ran when. An empty object stands for "no trace". */
class trace : public detail::handle<dnnl_tp_trace_t, dnnl_tp_trace_destroy> {
  public:
    using handle::handle;
    /** Empty. */
    trace() noexcept = default;
    /** A trace with room for so many records; 0 = the default. */
    static trace create(std::int64_t max_events = 0) {
        dnnl_tp_trace_opts_t opts = {};
        opts.struct_size = sizeof opts;
        opts.max_events = max_events;
        dnnl_tp_trace_t h = nullptr;
        check(dnnl_tp_trace_create(&h, &opts));
        return trace(h);
    }
    /** Switches recording off and on. */
    void set_enabled(bool on) { check(dnnl_tp_trace_set_enabled(get(), on ? 1 : 0)); }
    /** Records a piece of the caller's own work. */
    void record(const char *name, std::int64_t begin_ns, std::int64_t end_ns) {
        check(dnnl_tp_trace_record(get(), name, begin_ns, end_ns));
    }
    /** What it holds. */
    dnnl_tp_trace_info_t info() const {
        dnnl_tp_trace_info_t i = {};
        i.struct_size = sizeof i;
        check(dnnl_tp_trace_query(get(), &i));
        return i;
    }
    /** Statistics, largest self time first. */
    std::vector<dnnl_tp_trace_stat_t> stats() const {
        int n = 0, room = 0;
        std::vector<dnnl_tp_trace_stat_t> s;
        do { /* more may come while it is read */
            room = n;
            s.resize(static_cast<std::size_t>(room));
            check(dnnl_tp_trace_get_stats(get(), room, s.data(), &n));
        } while (n > room);
        s.resize(static_cast<std::size_t>(n));
        return s;
    }
    /** Writes it to a file. */
    void write(const char *path, int format = DNNL_TP_TRACE_BY_NAME) const {
        check(dnnl_tp_trace_write(get(), path, format));
    }
};

/** Work that will be done once, with a status. */
class event : public detail::handle<dnnl_tp_event_t, dnnl_tp_event_destroy> {
  public:
    using handle::handle;
    /** When the work of an event began and ended, ns of CLOCK_MONOTONIC. */
    struct times_t {
        std::int64_t begin_ns; /**< Begin. */
        std::int64_t end_ns;   /**< End. */
    };
    /** An event that the program signals. */
    static event host(const engine &e) {
        dnnl_tp_event_t h = nullptr;
        check(dnnl_tp_event_create_host(&h, e.get()));
        return event(h);
    }
    /** Signals a host event. */
    void signal(dnnl_tp_status_t status = dnnl_tp_success) { check(dnnl_tp_event_signal(get(), status)); }
    /** Is it done? */
    bool done() const {
        int is = 0;
        check(dnnl_tp_event_query(get(), &is, nullptr));
        return is != 0;
    }
    /** Waits; throws if the work failed. */
    void wait() const { check(dnnl_tp_event_wait(get(), -1, nullptr)); }
    /** Waits so long; false if the time ran out; throws if the work failed. */
    bool wait_for(std::int64_t timeout_ns) const {
        return detail::in_time(dnnl_tp_event_wait(get(), timeout_ns, nullptr));
    }
    /** Status of an event that is done; throws only if it cannot be waited for. */
    dnnl_tp_status_t status() const {
        dnnl_tp_status_t s = dnnl_tp_success;
        check(dnnl_tp_event_wait(get(), -1, &s));
        return s;
    }
    /** Calls fn(status) once, when the event is done; fn must not throw. */
    template <typename F> void on_complete(F fn) {
        F *copy = new F(std::move(fn));
        dnnl_tp_status_t s = dnnl_tp_event_on_complete(
            get(),
            [](void *arg, dnnl_tp_status_t result) noexcept {
                F *f = static_cast<F *>(arg);
                (*f)(result);
                delete f;
            },
            copy);
        if (s != dnnl_tp_success) delete copy;
        check(s);
    }
    /** Text of the failure of an event that is done. */
    std::string error_text() const {
        const char *text = "";
        check(dnnl_tp_event_get_error(get(), &text));
        return text;
    }
    /** Times of an event that is done. */
    times_t times() const {
        times_t t = {0, 0};
        check(dnnl_tp_event_get_times(get(), &t.begin_ns, &t.end_ns));
        return t;
    }
};

/** Whether a pool keeps its promises, and what was seen. */
struct pool_report {
    bool good;        /**< No promise was broken. */
    std::string text; /**< A line for each broken promise, and notes. */
};
/** Checks a pool, for its author: dnnl_tp_pool_check(). */
inline pool_report pool_check(const dnnl_tp_threadpool_iface_t &pool,
                              unsigned tests = DNNL_TP_POOL_CHECK_ALL) {
    std::vector<char> text(65536);
    const dnnl_tp_status_t status = dnnl_tp_pool_check(&pool, tests, text.data(), text.size());
    if (status != dnnl_tp_runtime_error) check(status);
    return {status == dnnl_tp_success, text.data()};
}

/** Waits for everything submitted before, on all engines; false if the time ran out. */
inline bool sync_devices(std::int64_t timeout_ns = -1) {
    return detail::in_time(dnnl_tp_sync_devices(timeout_ns));
}
/** Waits for everything submitted before to streams of an engine; false if the time ran out. */
inline bool sync(const engine &e, std::int64_t timeout_ns = -1) {
    return detail::in_time(dnnl_tp_sync_engine(e.get(), timeout_ns));
}

/** An in-order queue on an engine. */
class stream : public detail::handle<dnnl_tp_stream_t, dnnl_tp_stream_destroy> {
  public:
    using handle::handle;
    /** A stream on the engine's default pool, or on its caller. */
    explicit stream(const engine &e, unsigned flags = dnnl_tp_stream_default_flags) {
        check(dnnl_tp_stream_create(out(), e.get(), flags));
    }
    /** A stream with attributes. */
    stream(const engine &e, const stream_attr &attr, unsigned flags = dnnl_tp_stream_default_flags) {
        check(dnnl_tp_stream_create_v2(out(), e.get(), flags, attr.get()));
    }
    /** Waits for everything submitted. */
    void wait() { check(dnnl_tp_stream_wait(get())); }
    /** Waits so long; false if the time ran out. */
    bool wait_for(std::int64_t timeout_ns) {
        return detail::in_time(dnnl_tp_stream_wait_for(get(), timeout_ns));
    }
    /** Is everything done? */
    bool idle() const {
        int is = 0;
        check(dnnl_tp_stream_query(get(), &is, nullptr));
        return is != 0;
    }
    /** An event that is done when everything submitted so far is. */
    event record_event() {
        dnnl_tp_event_t h = nullptr;
        check(dnnl_tp_stream_record_event(get(), &h));
        return event(h);
    }
    /** What is submitted later waits for an event. */
    void wait_event(const event &e) { check(dnnl_tp_stream_wait_event(get(), e.get())); }
    /** Records what is submitted from now on; an empty handle records nothing. */
    void set_trace(const trace &t, const char *name = nullptr) {
        check(dnnl_tp_stream_set_trace(get(), t.get(), name));
    }
    /** Ends the failed state. */
    void reset_errors() { check(dnnl_tp_stream_reset(get())); }
    /** Its engine, lent. */
    dnnl_tp_engine_t get_engine() const {
        dnnl_tp_engine_t e = nullptr;
        check(dnnl_tp_stream_get_engine(get(), &e));
        return e;
    }
    /** Its attributes as resolved, lent. */
    const_dnnl_tp_stream_attr_t get_attr() const {
        const_dnnl_tp_stream_attr_t a = nullptr;
        check(dnnl_tp_stream_get_attr(get(), &a));
        return a;
    }
    /** Changes the pool of an idle stream; NULL = sequential. */
    void set_threadpool(const dnnl_tp_threadpool_iface_t *pool) {
        check(dnnl_tp_stream_set_threadpool(get(), pool));
    }
    /** Changes the pool of an idle stream. */
    void set_threadpool(threadpool_interop::threadpool_iface &pool) {
        const dnnl_tp_threadpool_iface_t iface = threadpool_interop::make_iface(&pool);
        set_threadpool(&iface);
    }
};

/** Shape, type and layout of a tensor. An empty object stands for "no tensor". */
class memory_desc : public detail::handle<dnnl_tp_memory_desc_t, dnnl_tp_memory_desc_destroy> {
  public:
    using handle::handle;
    /** No tensor. */
    memory_desc() noexcept = default;
    /** A layout named by a tag. */
    memory_desc(const dims &d, dnnl_tp_data_type_t type, dnnl_tp_format_tag_t tag) {
        check(dnnl_tp_memory_desc_create_with_tag(out(), static_cast<int>(d.size()), detail::c_dims(d).v,
                                                  type, tag));
    }
    /** A strided layout. */
    memory_desc(const dims &d, dnnl_tp_data_type_t type, const dims &strides) {
        if (strides.size() != d.size())
            throw std::invalid_argument("memory_desc: as many strides as dimensions");
        check(dnnl_tp_memory_desc_create_with_strides(out(), static_cast<int>(d.size()), detail::c_dims(d).v,
                                                      type, detail::c_dims(strides).v));
    }
    /** Dense row-major. */
    memory_desc(const dims &d, dnnl_tp_data_type_t type) {
        check(dnnl_tp_memory_desc_create_with_strides(out(), static_cast<int>(d.size()), detail::c_dims(d).v,
                                                      type, nullptr));
    }
    /** A copy of a borrowed descriptor. */
    static memory_desc clone_of(const_dnnl_tp_memory_desc_t existing) {
        dnnl_tp_memory_desc_t h = nullptr;
        check(dnnl_tp_memory_desc_clone(&h, existing));
        return memory_desc(h);
    }
    /** From the bytes of blob(). */
    static memory_desc from_blob(const std::vector<std::uint8_t> &blob) {
        dnnl_tp_memory_desc_t h = nullptr;
        check(dnnl_tp_memory_desc_create_with_blob(&h, blob.data()));
        return memory_desc(h);
    }
    /** A copy; of "no tensor", no tensor. */
    memory_desc clone() const { return get() == nullptr ? memory_desc() : clone_of(get()); }
    /** As bytes. */
    std::vector<std::uint8_t> blob() const {
        std::size_t size = 0;
        check(dnnl_tp_memory_desc_get_blob(nullptr, &size, get()));
        std::vector<std::uint8_t> bytes(size);
        check(dnnl_tp_memory_desc_get_blob(bytes.data(), &size, get()));
        return bytes;
    }
    /** A window. */
    memory_desc submemory(const dims &d, const dims &offsets) const {
        dnnl_tp_memory_desc_t h = nullptr;
        check(
            dnnl_tp_memory_desc_create_submemory(&h, get(), detail::c_dims(d).v, detail::c_dims(offsets).v));
        return memory_desc(h);
    }
    /** Other dimensions of the same elements. */
    memory_desc reshape(const dims &d) const {
        dnnl_tp_memory_desc_t h = nullptr;
        check(dnnl_tp_memory_desc_reshape(&h, get(), static_cast<int>(d.size()), detail::c_dims(d).v));
        return memory_desc(h);
    }
    /** Dimensions exchanged. */
    memory_desc permute_axes(const std::vector<int> &permutation) const {
        if (static_cast<int>(permutation.size()) != ndims())
            throw std::invalid_argument("permute_axes: one number per dimension");
        dnnl_tp_memory_desc_t h = nullptr;
        check(dnnl_tp_memory_desc_permute_axes(&h, get(), permutation.data()));
        return memory_desc(h);
    }
    /** Number of dimensions. */
    int ndims() const { return query<int>(dnnl_tp_query_ndims_s32); }
    /** Sizes. */
    dims get_dims() const { return query_dims(dnnl_tp_query_dims); }
    /** Sizes with padding. */
    dims padded_dims() const { return query_dims(dnnl_tp_query_padded_dims); }
    /** Strides of the outer blocks. */
    dims strides() const { return query_dims(dnnl_tp_query_strides); }
    /** Type of an element. */
    dnnl_tp_data_type_t data_type() const { return query<dnnl_tp_data_type_t>(dnnl_tp_query_data_type); }
    /** Kind of the layout. */
    dnnl_tp_format_kind_t format_kind() const {
        return query<dnnl_tp_format_kind_t>(dnnl_tp_query_format_kind);
    }
    /** Offset of element 0. */
    std::int64_t submemory_offset() const { return query<std::int64_t>(dnnl_tp_query_submemory_offset_s64); }
    /** Bytes of the buffer. */
    std::size_t size() const { return dnnl_tp_memory_desc_get_size(get()); }
    /** Any property that is not an array. */
    template <typename T> T query(dnnl_tp_query_t what) const {
        T value = {};
        check(dnnl_tp_memory_desc_query(get(), what, &value));
        return value;
    }
    /** A property that is an array of ndims numbers. */
    dims query_dims(dnnl_tp_query_t what) const {
        const dnnl_tp_dims_t *p = nullptr;
        check(dnnl_tp_memory_desc_query(get(), what, &p));
        return dims(*p, *p + ndims());
    }
    /** Same in every member? */
    bool operator==(const memory_desc &other) const {
        return dnnl_tp_memory_desc_equal(get(), other.get()) != 0;
    }
    /** Different in some member? */
    bool operator!=(const memory_desc &other) const { return !(*this == other); }
};

/** A descriptor with a buffer. */
class memory : public detail::handle<dnnl_tp_memory_t, dnnl_tp_memory_destroy> {
  public:
    using handle::handle;
    /** A memory; by default the library allocates. */
    memory(const_dnnl_tp_memory_desc_t desc, const engine &e, void *data = DNNL_TP_MEMORY_ALLOCATE) {
        check(dnnl_tp_memory_create(out(), desc, e.get(), data));
    }
    /** A memory whose initialisation runs on a stream. */
    memory(const_dnnl_tp_memory_desc_t desc, const engine &e, void *data, const stream &s) {
        check(dnnl_tp_memory_create_on_stream(out(), desc, e.get(), data, s.get()));
    }
    /** Its descriptor, lent. */
    const_dnnl_tp_memory_desc_t desc() const {
        const_dnnl_tp_memory_desc_t d = nullptr;
        check(dnnl_tp_memory_get_memory_desc(get(), &d));
        return d;
    }
    /** Its engine, lent. */
    dnnl_tp_engine_t get_engine() const {
        dnnl_tp_engine_t e = nullptr;
        check(dnnl_tp_memory_get_engine(get(), &e));
        return e;
    }
    /** Its buffer. */
    void *data() const {
        void *p = nullptr;
        check(dnnl_tp_memory_get_data_handle(get(), &p));
        return p;
    }
    /** Its buffer with a type. */
    template <typename T> T *data_as() const { return static_cast<T *>(data()); }
    /** Uses another buffer. */
    void set_data(void *p) { check(dnnl_tp_memory_set_data_handle(get(), p)); }
    /** Uses another buffer, in the order of a stream. */
    void set_data(void *p, const stream &s) {
        check(dnnl_tp_memory_set_data_handle_on_stream(get(), p, s.get()));
    }
    /** Maps it for the host. */
    void *map() const {
        void *p = nullptr;
        check(dnnl_tp_memory_map_data(get(), &p));
        return p;
    }
    /** Ends a mapping. */
    void unmap(void *p) const { check(dnnl_tp_memory_unmap_data(get(), p)); }
};

/** A chain of post-operations; appending returns the chain, so that calls can follow each other. */
class post_ops : public detail::handle<dnnl_tp_post_ops_t, dnnl_tp_post_ops_destroy> {
  public:
    using handle::handle;
    /** An empty chain. */
    post_ops() { check(dnnl_tp_post_ops_create(out())); }
    /** A copy. */
    post_ops clone() const {
        dnnl_tp_post_ops_t h = nullptr;
        check(dnnl_tp_post_ops_clone(&h, get()));
        return post_ops(h);
    }
    /** Number of entries. */
    int len() const { return dnnl_tp_post_ops_len(get()); }
    /** Kind of an entry. */
    dnnl_tp_primitive_kind_t kind(int index) const { return dnnl_tp_post_ops_get_kind(get(), index); }
    /** Appends a sum. */
    post_ops &append_sum(float scale = 1.0f, std::int32_t zero_point = 0,
                         dnnl_tp_data_type_t type = dnnl_tp_data_type_undef) {
        check(dnnl_tp_post_ops_append_sum(get(), scale, zero_point, type));
        return *this;
    }
    /** Appends an eltwise. */
    post_ops &append_eltwise(dnnl_tp_alg_kind_t alg, float alpha = 0.0f, float beta = 0.0f) {
        check(dnnl_tp_post_ops_append_eltwise(get(), alg, alpha, beta));
        return *this;
    }
    /** Appends a binary. */
    post_ops &append_binary(dnnl_tp_alg_kind_t alg, const memory_desc &src1) {
        check(dnnl_tp_post_ops_append_binary(get(), alg, src1.get()));
        return *this;
    }
    /** Appends a binary with a third tensor. */
    post_ops &append_binary(dnnl_tp_alg_kind_t alg, const memory_desc &src1, const memory_desc &src2) {
        check(dnnl_tp_post_ops_append_binary_v2(get(), alg, src1.get(), src2.get()));
        return *this;
    }
    /** Parameters of a sum. */
    void get_params_sum(int index, float &scale, std::int32_t &zero_point, dnnl_tp_data_type_t &type) const {
        check(dnnl_tp_post_ops_get_params_sum(get(), index, &scale, &zero_point, &type));
    }
    /** Parameters of an eltwise. */
    void get_params_eltwise(int index, dnnl_tp_alg_kind_t &alg, float &alpha, float &beta) const {
        check(dnnl_tp_post_ops_get_params_eltwise(get(), index, &alg, &alpha, &beta));
    }
    /** Parameters of a binary; the descriptors are lent. */
    void get_params_binary(int index, dnnl_tp_alg_kind_t &alg, const_dnnl_tp_memory_desc_t &src1,
                           const_dnnl_tp_memory_desc_t &src2) const {
        check(dnnl_tp_post_ops_get_params_binary_v2(get(), index, &alg, &src1, &src2));
    }
};

} // namespace dnnl_tp

#include "dnnl_tp/dnnl_tp_primitives.hpp"
#include "dnnl_tp/dnnl_tp_graph.hpp"

#endif
