/** @file
 * An abstract C++ thread pool and its adapter onto dnnl_tp_threadpool_iface_t.
 *
 * The class is that of the DNNL threading RFC (oneDNN's threadpool_interop::threadpool_iface), so a
 * framework that already has a subclass only changes the namespace. Exceptions never reach the
 * library: if a member throws, the call fails. Loops allocate nothing: parallel_for gets a
 * std::function of two pointers, which fits into its small buffer. The C struct has more members
 * than this class (schedule, run hooks). */
#ifndef DNNL_TP_THREADPOOL_IFACE_HPP
#define DNNL_TP_THREADPOOL_IFACE_HPP

#include <cstdint>
#include <functional>

#include "dnnl_tp/dnnl_tp_threadpool.h"

/** @cond Hosts that compile without exceptions need no handlers. */
#ifdef __cpp_exceptions
#define DNNL_TP_IFACE_TRY try
#define DNNL_TP_IFACE_CATCH(result) \
    catch (...) {                   \
        return result;              \
    }
#else
#define DNNL_TP_IFACE_TRY
#define DNNL_TP_IFACE_CATCH(result)
#endif
/** @endcond */

namespace dnnl_tp {
/** Pools of the program under oneDNN's names. */
namespace threadpool_interop {

/** A thread pool as a class. Any threads may call every member, several at the same time. */
struct threadpool_iface {
    /** Flag: parallel_for may return before the jobs have ended. */
    static constexpr std::uint64_t ASYNCHRONOUS = DNNL_TP_THREADPOOL_ASYNCHRONOUS;
    /** Flag: the pool balances many small jobs well. */
    static constexpr std::uint64_t AUTO_BALANCING = DNNL_TP_THREADPOOL_AUTO_BALANCING;
    /** Flag: each asynchronous loop begins after the previous one has ended. */
    static constexpr std::uint64_t IN_ORDER = DNNL_TP_THREADPOOL_IN_ORDER;
    /** Flag: the thread that calls parallel_for runs jobs too. */
    static constexpr std::uint64_t CALLER_WORKS = DNNL_TP_THREADPOOL_CALLER_WORKS;
    /** Flag: jobs may call the pool. */
    static constexpr std::uint64_t NESTABLE = DNNL_TP_THREADPOOL_NESTABLE;
    /** Flag: the pool takes one caller at a time. */
    static constexpr std::uint64_t SINGLE_CALLER = DNNL_TP_THREADPOOL_SINGLE_CALLER;

    virtual ~threadpool_iface() = default;
    /** Gives the number of threads that the library may occupy at the same time, its caller
     * included. Thread-safe.
     *
     * @return the number; <= 0 = unknown. */
    virtual int get_num_threads() const = 0;
    /** Gives a hint whether the calling thread belongs to the pool. Thread-safe.
     *
     * @return true if it does. */
    virtual bool get_in_parallel() const = 0;
    /** Calls fn(i, n) for every i in [0, n), on any threads, in any order. Thread-safe.
     *
     * May throw only if fn was not called and never will be. A pool with ASYNCHRONOUS keeps a copy
     * of fn and may return before the jobs have ended.
     *
     * @param n number of jobs, >= 1
     * @param fn the job; does not throw */
    virtual void parallel_for(int n, const std::function<void(int, int)> &fn) = 0;
    /** Gives the flags of the pool. Thread-safe.
     *
     * @return bits of the constants above. */
    virtual std::uint64_t get_flags() const = 0;
    /** Waits until the pool is idle. Asynchronous pools that run jobs inside wait() override it;
     * the library counts its own jobs and does not rely on it. Thread-safe. */
    virtual void wait() {}
};

/** Members of the C struct that call a threadpool_iface. Each is thread-safe and throws nothing. */
namespace detail {

/** The pool behind the struct.
 *
 * @param ctx the pool
 * @return the same pointer with its type. */
inline threadpool_iface *pool_of(void *ctx) noexcept {
    return static_cast<threadpool_iface *>(ctx);
}

/** Calls get_num_threads.
 *
 * @param ctx the pool
 * @return its result; 0 (unknown) if it threw. */
inline int get_num_threads(void *ctx) noexcept {
    DNNL_TP_IFACE_TRY { return pool_of(ctx)->get_num_threads(); }
    DNNL_TP_IFACE_CATCH(0)
}

/** Calls get_in_parallel.
 *
 * @param ctx the pool
 * @return 1 or 0; 0 if it threw. */
inline int get_in_parallel(void *ctx) noexcept {
    DNNL_TP_IFACE_TRY { return pool_of(ctx)->get_in_parallel() ? 1 : 0; }
    DNNL_TP_IFACE_CATCH(0)
}

/** Calls parallel_for.
 *
 * @param ctx the pool
 * @param n number of jobs
 * @param fn the job
 * @param arg its argument
 * @return 0; -1 if it threw. */
inline int parallel_for(void *ctx, int n, dnnl_tp_chunk_fn_t fn, void *arg) noexcept {
    DNNL_TP_IFACE_TRY {
        pool_of(ctx)->parallel_for(n, [fn, arg](int i, int count) { fn(arg, i, count); });
        return 0;
    }
    DNNL_TP_IFACE_CATCH(-1)
}

/** Calls get_flags.
 *
 * @param ctx the pool
 * @return its result; 0 if it threw. */
inline std::uint64_t get_flags(void *ctx) noexcept {
    DNNL_TP_IFACE_TRY { return pool_of(ctx)->get_flags(); }
    DNNL_TP_IFACE_CATCH(0)
}

/** Calls wait, which has no time limit: a call with a limit returns "timed out" at once.
 *
 * @param ctx the pool
 * @param timeout_ns < 0 = no limit
 * @return 0 idle, 1 timed out, -1 if it threw. */
inline int wait(void *ctx, std::int64_t timeout_ns) noexcept {
    if (timeout_ns >= 0) return 1;
    DNNL_TP_IFACE_TRY {
        pool_of(ctx)->wait();
        return 0;
    }
    DNNL_TP_IFACE_CATCH(-1)
}

} // namespace detail

/** Gives the C struct of a pool, for every call that takes one. Value.
 *
 * @param pool the caller's; lives as dnnl_tp_threadpool_iface_t demands of ctx; NULL = no pool
 * @return the struct; zeroed if pool is NULL. */
inline dnnl_tp_threadpool_iface_t make_iface(threadpool_iface *pool) noexcept {
    dnnl_tp_threadpool_iface_t iface = {};
    if (pool == nullptr) return iface;
    iface.struct_size = sizeof iface;
    iface.ctx = pool;
    iface.get_num_threads = detail::get_num_threads;
    iface.get_in_parallel = detail::get_in_parallel;
    iface.parallel_for = detail::parallel_for;
    iface.get_flags = detail::get_flags;
    iface.wait = detail::wait;
    return iface;
}

} // namespace threadpool_interop
} // namespace dnnl_tp

#undef DNNL_TP_IFACE_TRY
#undef DNNL_TP_IFACE_CATCH

#endif
