/** @file
 * C++17 over the C API of dnnl_tp: pools, engines, traces, events, streams. Included by
 * dnnl_tp.hpp, which has the rules. */
#ifndef DNNL_TP_STREAM_HPP
#define DNNL_TP_STREAM_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "dnnl_tp/dnnl_tp_enums.hpp"
#include "dnnl_tp/dnnl_tp_handle.hpp"
#include "dnnl_tp/dnnl_tp_threadpool.h"
#include "dnnl_tp/dnnl_tp_threadpool_iface.hpp"

namespace dnnl_tp {

/** A built-in pool. */
class threadpool : public detail::handle<dnnl_tp_threadpool_t, dnnl_tp_threadpool_destroy> {
  public:
    using handle::handle;
    /** A pool of num_threads threads, callers included; 0 = process default. */
    explicit threadpool(int num_threads, std::uint64_t flags = 0, const char *name = nullptr) {
        dnnl_tp_threadpool_opts_t opts = {};
        opts.struct_size = sizeof opts;
        opts.num_threads = num_threads;
        opts.name = name;
        opts.flags = flags;
        create(dnnl_tp_threadpool_create, &opts);
    }
    /** A pool with all options. */
    explicit threadpool(const dnnl_tp_threadpool_opts_t &opts) {
        create(dnnl_tp_threadpool_create, &opts);
    }
    /** The interface of the pool, borrowed from this object. */
    const dnnl_tp_threadpool_iface_t *iface() const {
        const dnnl_tp_threadpool_iface_t *p = nullptr;
        check(dnnl_tp_threadpool_get_iface(get(), &p));
        return p;
    }
};

/** Counts of a pool. */
inline dnnl_tp_threadpool_stats_t threadpool_query(const dnnl_tp_threadpool_iface_t &pool) {
    dnnl_tp_threadpool_stats_t stats = {};
    stats.struct_size = sizeof stats;
    check(dnnl_tp_threadpool_query(&pool, &stats));
    return stats;
}

/** Attributes of a stream. */
class stream_attr : public detail::handle<dnnl_tp_stream_attr_t, dnnl_tp_stream_attr_destroy> {
  public:
    using handle::handle;
    /** Attributes without a pool. */
    explicit stream_attr(detail::either<enums::engine_kind> kind = dnnl_tp_cpu) {
        create(dnnl_tp_stream_attr_create, kind);
    }
    /** Attributes with a pool of the program (C struct). */
    explicit stream_attr(const dnnl_tp_threadpool_iface_t &pool) : stream_attr() {
        set_threadpool(pool);
    }
    /** Attributes with a pool of the program (C++ class). */
    explicit stream_attr(threadpool_interop::threadpool_iface &pool) : stream_attr() {
        set_threadpool(pool);
    }
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
    /** Sets a pool, which must live as long as the library may call it. */
    void set_threadpool(threadpool_interop::threadpool_iface &pool) {
        set_threadpool(threadpool_interop::make_iface(&pool));
    }
    /** Sets a built-in pool. */
    void set_threadpool(const threadpool &pool) {
        check(dnnl_tp_stream_attr_set_builtin_threadpool(get(), pool.get()));
    }
    /** Sets no pool: streams run on their caller, not on the engine's pool. */
    void set_sequential() { check(dnnl_tp_stream_attr_set_threadpool(get(), nullptr)); }
    /** The pool that was set, borrowed from this object; NULL if none. */
    const dnnl_tp_threadpool_iface_t *get_threadpool() const {
        const dnnl_tp_threadpool_iface_t *p = nullptr;
        check(dnnl_tp_stream_attr_get_threadpool(get(), &p));
        return p;
    }
    /** Origin of the threads. */
    dnnl_tp_pool_kind_t pool_kind() const {
        dnnl_tp_pool_kind_t kind = dnnl_tp_pool_kind_unset;
        check(dnnl_tp_stream_attr_get_pool_kind(get(), &kind));
        return kind;
    }
    /** Limits the number of threads that take part. */
    void set_max_threads(int n) { check(dnnl_tp_stream_attr_set_max_threads(get(), n)); }
    /** Chooses which parts of a graph may run in parallel. */
    void set_parallelism(unsigned bits) { check(dnnl_tp_stream_attr_set_parallelism(get(), bits)); }
    /** Chooses whether runs take tickets of the pool. */
    void set_admission(bool on) { check(dnnl_tp_stream_attr_set_admission(get(), on ? 1 : 0)); }
    /** Chooses whether execute returns before the work is done. */
    void set_async(bool on) { check(dnnl_tp_stream_attr_set_async(get(), on ? 1 : 0)); }
    /** Sets the priority among the streams that wait for a thread. */
    void set_priority(int priority) { check(dnnl_tp_stream_attr_set_priority(get(), priority)); }
};

/** Attributes of an engine. */
class engine_attr : public detail::handle<dnnl_tp_engine_attr_t, dnnl_tp_engine_attr_destroy> {
  public:
    using handle::handle;
    /** Default values. */
    engine_attr() { create(dnnl_tp_engine_attr_create); }
    /** Default pool of streams and primitives. */
    void set_stream_attr(const stream_attr &attr) {
        check(dnnl_tp_engine_attr_set_stream_attr(get(), attr.get()));
    }
    /** Default thread count of primitives. */
    void set_num_threads(int n) { check(dnnl_tp_engine_attr_set_num_threads(get(), n)); }
    /** Limits the instruction sets. */
    void set_max_isa(detail::either<cpu_isa> isa) {
        check(dnnl_tp_engine_attr_set_max_isa(get(), isa));
    }
    /** Sets the allocator; the struct is copied. */
    void set_allocator(const dnnl_tp_allocator_t &a) {
        check(dnnl_tp_engine_attr_set_allocator(get(), &a));
    }
};

/** A device. */
class engine : public detail::handle<dnnl_tp_engine_t, dnnl_tp_engine_destroy> {
  public:
    using handle::handle;
    /** Kind of a device. */
    using kind = enums::engine_kind;
    /** The processor, with default attributes. */
    engine() : engine(dnnl_tp_cpu) {}
    /** An engine with default attributes. */
    explicit engine(detail::either<enums::engine_kind> k) : engine(k, 0) {}
    /** An engine with default attributes. */
    engine(detail::either<enums::engine_kind> k, std::size_t index) {
        create(dnnl_tp_engine_create, k, index);
    }
    /** An engine with attributes. */
    engine(detail::either<enums::engine_kind> k, std::size_t index, const engine_attr &attr) {
        create(dnnl_tp_engine_create_v2, k, index, attr.get());
    }
    /** An engine with the pool of the attributes as its default pool. */
    explicit engine(const stream_attr &pool) {
        engine_attr attr;
        attr.set_stream_attr(pool);
        create(dnnl_tp_engine_create_v2, dnnl_tp_cpu, std::size_t{0}, attr.get());
    }
    /** Number of engines of a kind. */
    static std::size_t get_count(detail::either<enums::engine_kind> k) {
        return dnnl_tp_engine_get_count(k);
    }
    /** Number of engines of a kind. */
    static std::size_t count(detail::either<enums::engine_kind> k) { return get_count(k); }
    /** Its kind. */
    kind get_kind() const {
        dnnl_tp_engine_kind_t k = dnnl_tp_any_engine;
        check(dnnl_tp_engine_get_kind(get(), &k));
        return static_cast<kind>(k);
    }
};

/** Implementation. */
namespace detail {
/** False if the time limit passed. status: of a wait, not of the work that is waited for. */
inline bool in_time(dnnl_tp_status_t status) {
    if (status == dnnl_tp_timed_out) return false;
    check(status);
    return true;
}
/** False if the time limit passed; throws if the work failed. wait(&work) gives the status of the
 * wait, and that of the work in work. */
template <typename F> bool done_in_time(F wait) {
    dnnl_tp_status_t work = dnnl_tp_success;
    if (!in_time(wait(&work))) return false;
    check(work);
    return true;
}
} // namespace detail

/** A record of executed work. An empty object means "no trace". */
class trace : public detail::handle<dnnl_tp_trace_t, dnnl_tp_trace_destroy> {
  public:
    using handle::handle;
    /** Empty. */
    trace() noexcept = default;
    /** A trace of at most max_events records; 0 = the default. */
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
    /** Records a piece of the caller's work. */
    void record(const char *name, std::int64_t begin_ns, std::int64_t end_ns) {
        check(dnnl_tp_trace_record(get(), name, begin_ns, end_ns));
    }
    /** Size of the trace. */
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

/** Completion of submitted work, with a status. */
class event : public detail::handle<dnnl_tp_event_t, dnnl_tp_event_destroy> {
  public:
    using handle::handle;
    /** Times of the work of an event, in nanoseconds of CLOCK_MONOTONIC. */
    struct times_t {
        /** Begin. */
        std::int64_t begin_ns;
        /** End. */
        std::int64_t end_ns;
    };
    /** An event that the program signals. */
    static event host(const engine &e) {
        dnnl_tp_event_t h = nullptr;
        check(dnnl_tp_event_create_host(&h, e.get()));
        return event(h);
    }
    /** Signals a host event. */
    void signal(detail::either<dnnl_tp::status> status = dnnl_tp_success) {
        check(dnnl_tp_event_signal(get(), status));
    }
    /** Signals that the work failed, with the text of its error. */
    void signal(detail::either<dnnl_tp::status> status, const char *text) {
        check(dnnl_tp_event_signal(get(), dnnl_tp_fail(status, text)));
    }
    /** True if the event is done. */
    bool done() const {
        int is = 0;
        check(dnnl_tp_event_query(get(), &is, nullptr));
        return is != 0;
    }
    /** Waits; throws if the work failed. */
    void wait() const { check(dnnl_tp_event_wait(get(), -1, nullptr)); }
    /** Waits with a time limit; false if the limit passed; throws if the work failed. */
    bool wait_for(std::int64_t timeout_ns) const {
        dnnl_tp_status_t of_the_work = dnnl_tp_success;
        if (!detail::in_time(dnnl_tp_event_wait(get(), timeout_ns, &of_the_work))) return false;
        wait();
        return true;
    }
    /** Waits, and gives the status of the event; throws only if the wait fails. */
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

/** Waits for all work submitted before, on all engines; false if the time limit passed; throws if
 * the work failed, also with the status timed_out. */
inline bool sync_devices(std::int64_t timeout_ns = -1) {
    return detail::done_in_time(
        [timeout_ns](dnnl_tp_status_t *work) { return dnnl_tp_sync_devices_v2(timeout_ns, work); });
}
/** Waits for all work submitted before to streams of an engine; as sync_devices(). */
inline bool sync(const engine &e, std::int64_t timeout_ns = -1) {
    return detail::done_in_time([&e, timeout_ns](dnnl_tp_status_t *work) {
        return dnnl_tp_sync_engine_v2(e.get(), timeout_ns, work);
    });
}

namespace detail {
/** Also inside running work, where the last copy of a handle may be destroyed. */
inline dnnl_tp_status_t end_stream(dnnl_tp_stream_t s) {
    const dnnl_tp_status_t status = dnnl_tp_stream_destroy(s);
    return status == dnnl_tp_would_deadlock ? dnnl_tp_stream_give_away(s) : status;
}
} // namespace detail

/** An in-order queue on an engine. Several threads may use one stream at the same time. The
 * destructor of the last copy waits until the stream is idle. Inside running work, for example in a
 * callback that owns a copy until the work is done, it does not wait, and the stream ends when it
 * is idle. */
class stream : public detail::handle<dnnl_tp_stream_t, detail::end_stream> {
  public:
    using handle::handle;
    /** Flags of a stream. */
    using flags = enums::stream_flags;
    /** An empty object. */
    stream() noexcept = default;
    /** A stream on the engine's default pool or, if there is none, on its caller. */
    explicit stream(const engine &e, detail::flags_of<flags> bits = flags::default_flags) {
        create(dnnl_tp_stream_create, e.get(), bits);
    }
    /** A stream with attributes. */
    stream(const engine &e, const stream_attr &attr,
           detail::flags_of<flags> bits = flags::default_flags) {
        create(dnnl_tp_stream_create_v2, e.get(), bits, attr.get());
    }
    /** Waits for all submitted work. */
    stream &wait() {
        check(dnnl_tp_stream_wait(get()));
        return *this;
    }
    /** Waits with a time limit; false if the limit passed; throws if the work failed, also with the
     * status timed_out. */
    bool wait_for(std::int64_t timeout_ns) {
        return detail::done_in_time([this, timeout_ns](dnnl_tp_status_t *work) {
            return dnnl_tp_stream_wait_for_v2(get(), timeout_ns, work);
        });
    }
    /** True if all submitted work is done. */
    bool idle() const {
        int is = 0;
        check(dnnl_tp_stream_query(get(), &is, nullptr));
        return is != 0;
    }
    /** An event that becomes done when all work submitted so far is done. */
    event record_event() {
        dnnl_tp_event_t h = nullptr;
        check(dnnl_tp_stream_record_event(get(), &h));
        return event(h);
    }
    /** Makes later work wait for an event. */
    void wait_event(const event &e) { check(dnnl_tp_stream_wait_event(get(), e.get())); }
    /** Records later work; an empty trace ends recording. */
    void set_trace(const trace &t, const char *name = nullptr) {
        check(dnnl_tp_stream_set_trace(get(), t.get(), name));
    }
    /** Ends the failed state. */
    void reset_errors() { check(dnnl_tp_stream_reset(get())); }
    /** Its engine, borrowed: valid as long as the stream. */
    engine get_engine() const {
        dnnl_tp_engine_t e = nullptr;
        check(dnnl_tp_stream_get_engine(get(), &e));
        return engine(e, true);
    }
    /** Its resolved attributes, borrowed. */
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

} // namespace dnnl_tp

#endif
