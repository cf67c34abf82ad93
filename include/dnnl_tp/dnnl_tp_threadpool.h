/** @file
 * The caller's thread pool, stream and engine attributes, the built-in pool, BLAS calls with a pool.
 *
 * A program describes its pool once, as dnnl_tp_threadpool_iface_t, and puts it into stream or engine
 * attributes; every loop of the library then runs on it, and on nothing else. For authors of such pools:
 * doc/threadpools.md. The rules that hold for every call, and the words of thread safety, stand in dnnl_tp.h.
 */
#ifndef DNNL_TP_THREADPOOL_H
#define DNNL_TP_THREADPOOL_H

#include "dnnl_tp/dnnl_tp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The caller's pool ------------------------------------------------------------------------------- */

/** Job i of n of a parallel loop. */
typedef void (*dnnl_tp_chunk_fn_t)(void *arg, int i, int n);
/** A task. */
typedef void (*dnnl_tp_task_fn_t)(void *arg);

/** A thread pool, as its owner offers it to the library.
 *
 * Every member may be called from any thread, concurrently, and must not throw. At least one of schedule and
 * parallel_for must be set; schedule is preferred. Equal ctx and equal function pointers mean the same pool.
 * The struct is copied when it is set; ctx must live until release was called or, without release, until the
 * last stream, engine and attribute that hold it are destroyed and dnnl_tp_threadpool_quiesce() returned. */
typedef struct {
    size_t struct_size; /**< sizeof as the host compiled it; members beyond it count as NULL. */
    void *ctx;          /**< Passed to every member. */
    /** Threads the library may occupy at once, its caller included; <= 0 = unknown. */
    int (*get_num_threads)(void *ctx);
    /** Optional hint: is the calling thread one of the pool's? */
    int (*get_in_parallel)(void *ctx);
    /** Calls fn(arg, i, n) for every i in [0, n), on any threads, in any order; with
     * DNNL_TP_THREADPOOL_ASYNCHRONOUS it may return earlier. May be NULL if schedule is set. Non-zero: no fn
     * was or will be called. */
    int (*parallel_for)(void *ctx, int n, dnnl_tp_chunk_fn_t fn, void *arg);
    /** DNNL_TP_THREADPOOL_* bits; NULL = 0. */
    uint64_t (*get_flags)(void *ctx);
    /** Optional: waits until the pool is idle: 0 idle, 1 timed out, < 0 failed. timeout_ns < 0 = none, 0 =
     * poll. */
    int (*wait)(void *ctx, int64_t timeout_ns);
    /** Runs fn(arg) once, now or later, on any thread. run is the cookie of run_begin, NULL outside runs.
     * Non-zero: fn is never called. Must not wait for other tasks: a host whose queue is full refuses. */
    int (*schedule)(void *ctx, void *run, dnnl_tp_task_fn_t fn, void *arg);
    /** Optional: a run of a graph begins; *run becomes its cookie. Non-zero makes the run fail, without
     * run_end. */
    int (*run_begin)(void *ctx, uint64_t run_id, void **run);
    /** Optional: the run ended with a status; calls done(done_arg), now or later, when the host is through
     * with it. may_block = 1: called on the thread that called dnnl_tp_executable_run(), which waits for
     * done. 0 (dnnl_tp_executable_run_async()): called on the thread that finished the run, possibly inside a
     * task of the run, so it must not wait for those; the run is complete when done was called. Either way
     * the last schedule with the cookie has returned, and tasks that come later find nothing to do. */
    void (*run_end)(void *ctx, void *run, int status, int may_block, dnnl_tp_task_fn_t done, void *done_arg);
    /** Optional locality hint: a number of the calling thread. */
    int (*current_slot)(void *ctx);
    /** Optional: the library dropped its last copy and will not call ctx again, unless it is given to it anew:
     * a call that does so meanwhile waits until release has returned (in release itself: would_deadlock), so
     * release must not wait for such a call. */
    void (*release)(void *ctx);
} dnnl_tp_threadpool_iface_t;

/** Flag: parallel_for may return before the jobs ran. */
#define DNNL_TP_THREADPOOL_ASYNCHRONOUS ((uint64_t)1)
/** Flag: good at many small jobs. */
#define DNNL_TP_THREADPOOL_AUTO_BALANCING ((uint64_t)2)
/** Flag: of consecutive asynchronous loops each begins after the one before it ended. */
#define DNNL_TP_THREADPOOL_IN_ORDER ((uint64_t)4)
/** Flag: the thread that calls parallel_for takes part. */
#define DNNL_TP_THREADPOOL_CALLER_WORKS ((uint64_t)8)
/** Flag: may be called from inside a job. */
#define DNNL_TP_THREADPOOL_NESTABLE ((uint64_t)16)
/** Flag: cannot be entered by two callers at once; the library lets one at a time in. */
#define DNNL_TP_THREADPOOL_SINGLE_CALLER ((uint64_t)32)

/** Size of dnnl_tp_threadpool_iface_t that this library knows; members beyond it are ignored. Value.
 *
 * @return bytes. */
DNNL_TP_API size_t dnnl_tp_threadpool_iface_size(void);

/** Waits until every function that the library scheduled on a pool was called. To be used before the code
 * or the ctx of a pool without release goes away, after the last stream, engine and attribute with it
 * was destroyed: the library then knows nothing of the pool, and another one may have its address.
 * Thread-safe.
 *
 * @param pool the struct, or one with equal ctx and equal functions; read during the call only
 * @param timeout_ns nanoseconds; < 0 = no limit, 0 = poll
 * @return success (also for a pool that is not known); timed_out; would_deadlock (called from work on
 *     the pool); invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_threadpool_quiesce(const dnnl_tp_threadpool_iface_t *pool,
                                                            int64_t timeout_ns);

/* ---- The built-in pool ------------------------------------------------------------------------------- */

/** A pthread pool of the library's own. It exists only where a program creates it. */
typedef struct dnnl_tp_threadpool *dnnl_tp_threadpool_t;

/** Options of the built-in pool; zeroed members mean defaults. */
typedef struct {
    size_t struct_size; /**< sizeof(dnnl_tp_threadpool_opts_t) */
    int num_threads;    /**< Threads that compute at once, callers included; 0 = process default. */
    const char *name;   /**< Prefix of the threads' names; copied; NULL = "dnnl_tp". */
    int64_t spin_ns;    /**< How long an idle worker spins, ns; 0 = calibrated, < 0 = never. */
    /** Host closures that may block at once (DNNL_TP_HOST_MAY_BLOCK) while num_threads others compute; 0: a
     * closure that blocks keeps the thread that it runs on. The pool starts one more thread for each. What is more
     * than so many waits its turn: closures that wait for each other need as many. 0..256. */
    int blocking_threads;
    uint64_t flags; /**< DNNL_TP_THREADPOOL_ASYNCHRONOUS: execute on it returns before the work is done. */
} dnnl_tp_threadpool_opts_t;

/** Creates a built-in pool and starts its threads. They have the caller's floating-point environment, traps and
 * rounding included, and block all signals but those that their own instructions raise (SIGFPE, SIGSEGV and the
 * like). Threads and processes that a closure starts on such a thread inherit its blocked signals and its processors:
 * a closure that does so sets both anew. Thread-safe.
 *
 * @param[out] pool owned by the caller; NULL on failure
 * @param opts read during the call only; NULL = defaults
 * @return success; invalid_arguments (struct_size or a member out of range); runtime_error (a thread
 *     could not be started); unimplemented (SEQ build; blocking_threads in OMP and TBB builds);
 *     out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_threadpool_create(dnnl_tp_threadpool_t *pool,
                                                           const dnnl_tp_threadpool_opts_t *opts);

/** Drops the caller's handle; the threads end when the last stream, engine or attribute that uses the
 * pool is gone: before that call returns, or soon after if it is made inside running work. Thread-safe.
 *
 * @param pool NULL or a pool
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_threadpool_destroy(dnnl_tp_threadpool_t pool);

/** Gives a built-in pool as an interface, for calls that take one. Thread-safe.
 *
 * @param pool a pool
 * @param[out] iface borrowed from the pool
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_threadpool_get_iface(dnnl_tp_threadpool_t pool,
                                                              const dnnl_tp_threadpool_iface_t **iface);

/** What a pool did for the library since its first use. Counts only grow. The struct of an older header, up
 * to wakes, is accepted. */
typedef struct {
    size_t struct_size;   /**< sizeof(dnnl_tp_threadpool_stats_t), set by the caller */
    int num_threads;      /**< threads that the library may occupy */
    int running;          /**< threads that run or help now */
    int max_running;      /**< most that did at once; by num_threads: the largest running ratio */
    double running_ratio; /**< threads that ran, by num_threads, in the mean over all that began to */
    uint64_t runs;        /**< runs of graphs and items of asynchronous streams that got a ticket */
    uint64_t loops;       /**< loops that were open to several threads */
    uint64_t loops_alone; /**< loops large enough to share for which no other thread was free */
    uint64_t joins;       /**< times that a thread came to help */
    uint64_t stolen;      /**< parts of loops that threads ran which did not open the loop */
    uint64_t wakes;       /**< sleeping threads woken, or calls made to the program's pool */
    int blocking_threads; /**< of the built-in pool: closures that may block at once */
    int blocked;          /**< that are running now; they are not in `running` */
    int max_blocked;      /**< most that did at once */
    uint64_t closures;    /**< that these threads ran */
} dnnl_tp_threadpool_stats_t;

/** Reads the counts of a pool without stopping it. Thread-safe.
 *
 * @param pool the interface of a built-in pool, or of a pool of the program that a stream, an engine or an
 *     attribute uses
 * @param[in,out] stats struct_size set by the caller
 * @return success; invalid_arguments (nothing uses the pool, struct_size); unimplemented (SEQ build). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_threadpool_query(const dnnl_tp_threadpool_iface_t *pool,
                                                          dnnl_tp_threadpool_stats_t *stats);

/* ---- Stream attributes ------------------------------------------------------------------------------- */

typedef struct dnnl_tp_stream_attr *dnnl_tp_stream_attr_t;             /**< Attributes of a stream. */
typedef const struct dnnl_tp_stream_attr *const_dnnl_tp_stream_attr_t; /**< Borrowed attributes. */

/** Where the threads of a stream come from. */
typedef enum {
    dnnl_tp_pool_kind_unset = 0,          /**< Nobody said; the stream runs on its caller. */
    dnnl_tp_pool_kind_sequential = 1,     /**< NULL was set on purpose. */
    dnnl_tp_pool_kind_user = 2,           /**< A pool of the program. */
    dnnl_tp_pool_kind_builtin = 3,        /**< A dnnl_tp_threadpool_t. */
    dnnl_tp_pool_kind_engine_default = 4, /**< The engine's default pool. */
    dnnl_tp_pool_kind_runtime = 5         /**< The runtime that the library was built with. */
} dnnl_tp_pool_kind_t;

/** Operators of a graph may run beside each other. */
#define DNNL_TP_PARALLELISM_INTER 1u
/** Loops inside an operator may be split. */
#define DNNL_TP_PARALLELISM_INTRA 2u

/** Creates attributes without a pool. Thread-safe.
 *
 * @param[out] attr owned by the caller; NULL on failure
 * @param kind of the engines whose streams it is for
 * @return success; invalid_arguments (not a kind that an engine can have); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_create(dnnl_tp_stream_attr_t *attr,
                                                            dnnl_tp_engine_kind_t kind);

/** Copies attributes; a built-in pool in them is shared. Thread-safe.
 *
 * @param[out] attr owned by the caller; NULL on failure
 * @param existing the original
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_clone(dnnl_tp_stream_attr_t *attr,
                                                           const_dnnl_tp_stream_attr_t existing);

/** Frees attributes that the caller owns. Thread-safe.
 *
 * @param attr NULL or attributes
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_stream_attr_destroy(dnnl_tp_stream_attr_t attr);

/** Sets the pool that streams with these attributes run on. Thread-compatible.
 *
 * @param attr of kind dnnl_tp_cpu
 * @param pool copied; NULL = sequential on purpose: such a stream does not fall back on the engine's
 *     pool
 * @return success; invalid_arguments (another kind, struct_size too small, neither schedule nor
 *     parallel_for); unimplemented (SEQ build, pool not NULL). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_set_threadpool(dnnl_tp_stream_attr_t attr,
                                                                    const dnnl_tp_threadpool_iface_t *pool);

/** Gives the pool that was set. Thread-safe.
 *
 * @param attr attributes
 * @param[out] pool borrowed from the attributes; NULL if there is none; read at most
 *     (*pool)->struct_size bytes of it
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_get_threadpool(const_dnnl_tp_stream_attr_t attr,
                                                                    const dnnl_tp_threadpool_iface_t **pool);

/** Sets a built-in pool; the attributes keep it alive. Thread-compatible.
 *
 * @param attr of kind dnnl_tp_cpu
 * @param pool a built-in pool
 * @return success; invalid_arguments; unimplemented (SEQ build). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_set_builtin_threadpool(dnnl_tp_stream_attr_t attr,
                                                                            dnnl_tp_threadpool_t pool);

/** Tells where the threads come from. Thread-safe.
 *
 * @param attr attributes; those of a stream tell what was resolved
 * @param[out] kind the kind
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_get_pool_kind(const_dnnl_tp_stream_attr_t attr,
                                                                   dnnl_tp_pool_kind_t *kind);

/** Limits how many threads take part in the stream's work at once. Thread-compatible.
 *
 * @param attr attributes
 * @param max_threads 1 to 256; 0 = the pool's count
 * @return success; invalid_arguments (out of range). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_set_max_threads(dnnl_tp_stream_attr_t attr,
                                                                     int max_threads);

/** Chooses what graphs run in parallel. Thread-compatible.
 *
 * @param attr attributes
 * @param parallelism DNNL_TP_PARALLELISM_* bits; both by default; 0 = one thread
 * @return success; invalid_arguments (other bits). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_set_parallelism(dnnl_tp_stream_attr_t attr,
                                                                     unsigned parallelism);

/** Chooses whether runs of graphs on the stream take one of the pool's run tickets. With tickets, many
 * callers of one pool of W threads keep W threads busy, not more. Thread-compatible.
 *
 * @param attr attributes
 * @param admission 1 (default) or 0
 * @return success; invalid_arguments (another value). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_set_admission(dnnl_tp_stream_attr_t attr, int admission);

/** Chooses whether execute returns before the work is done. Thread-compatible.
 *
 * @param attr attributes
 * @param async 1 = on every pool; 0 (default) = only on asynchronous pools
 * @return success; invalid_arguments (another value). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_set_async(dnnl_tp_stream_attr_t attr, int async);

/** Chooses which of the streams that wait for a thread of the pool comes first. Thread-compatible.
 *
 * @param attr attributes
 * @param priority higher comes first; -100 to 100; 0 (default)
 * @return success; invalid_arguments (out of range). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_set_priority(dnnl_tp_stream_attr_t attr, int priority);

/** Creates a stream with attributes. Thread-safe.
 *
 * @param[out] stream owned by the caller; NULL on failure
 * @param engine where it runs; kept alive by the stream
 * @param flags dnnl_tp_stream_default_flags
 * @param attr copied; NULL or without a pool = the engine's default pool, else the thread that calls
 *     execute
 * @return success; invalid_arguments (other flags, attributes of another engine kind); unimplemented;
 *     out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_create_v2(dnnl_tp_stream_t *stream, dnnl_tp_engine_t engine,
                                                          unsigned flags, const_dnnl_tp_stream_attr_t attr);

/** Gives the attributes of a stream as they were resolved. Thread-safe.
 *
 * @param stream a stream
 * @param[out] attr borrowed from the stream; never NULL on success
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_get_attr(dnnl_tp_stream_t stream,
                                                         const_dnnl_tp_stream_attr_t *attr);

/** Changes the pool of an idle stream and keeps its scratch: for pools that live for one call only.
 * Thread-compatible.
 *
 * @param stream idle, used by no other thread
 * @param pool copied; NULL = sequential
 * @return success; invalid_arguments (as dnnl_tp_stream_attr_set_threadpool(), or the stream is not
 *     idle, or another thread is in a call that uses it); unimplemented (SEQ build); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_set_threadpool(dnnl_tp_stream_t stream,
                                                               const dnnl_tp_threadpool_iface_t *pool);

/** Takes the thread count and the flags of the pool in stream attributes, at once; nothing else of them
 * is kept. So primitives are planned for the pool that they will run on. Thread-compatible.
 *
 * @param attr attributes of a primitive
 * @param stream_attr attributes with or without a pool
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_stream_attr(
    dnnl_tp_primitive_attr_t attr, const_dnnl_tp_stream_attr_t stream_attr);

/* ---- Engine attributes ------------------------------------------------------------------------------- */

typedef struct dnnl_tp_engine_attr *dnnl_tp_engine_attr_t;             /**< Attributes of an engine. */
typedef const struct dnnl_tp_engine_attr *const_dnnl_tp_engine_attr_t; /**< Borrowed attributes. */

/** Creates attributes with default values. Thread-safe.
 *
 * @param[out] attr owned by the caller; NULL on failure
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_engine_attr_create(dnnl_tp_engine_attr_t *attr);

/** Frees attributes that the caller owns. Thread-safe.
 *
 * @param attr NULL or attributes
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_engine_attr_destroy(dnnl_tp_engine_attr_t attr);

/** Sets the default pool of the engine: its streams without a pool use it, and its primitives are planned
 * for it. Thread-compatible.
 *
 * @param attr attributes
 * @param stream_attr copied; NULL = none
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_engine_attr_set_stream_attr(dnnl_tp_engine_attr_t attr,
                                                                     const_dnnl_tp_stream_attr_t stream_attr);

/** Sets the default thread count of the engine's primitives; it comes before that of the default pool.
 * Thread-compatible.
 *
 * @param attr attributes
 * @param num_threads 1 to 256; 0 = unset
 * @return success; invalid_arguments (out of range). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_engine_attr_set_num_threads(dnnl_tp_engine_attr_t attr,
                                                                     int num_threads);

/** Limits the instruction sets of the engine's primitives, e.g. to test each of them in one process.
 * Thread-compatible.
 *
 * @param attr attributes
 * @param isa the highest set allowed; dnnl_tp_cpu_isa_default = no limit
 * @return success; invalid_arguments (not an enumerator). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_engine_attr_set_max_isa(dnnl_tp_engine_attr_t attr,
                                                                 dnnl_tp_cpu_isa_t isa);

/** Sets the allocator of the engine and of everything made from it. Thread-compatible.
 *
 * @param attr attributes
 * @param allocator copied; NULL = the process's
 * @return success; invalid_arguments (struct_size, or a member is NULL). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_engine_attr_set_allocator(dnnl_tp_engine_attr_t attr,
                                                                   const dnnl_tp_allocator_t *allocator);

/** Creates an engine with attributes. Thread-safe.
 *
 * @param[out] engine owned by the caller; NULL on failure
 * @param kind dnnl_tp_cpu
 * @param index below dnnl_tp_engine_get_count(kind)
 * @param attr copied; NULL = defaults
 * @return success; invalid_arguments (no such kind in this build, index out of range); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_engine_create_v2(dnnl_tp_engine_t *engine,
                                                          dnnl_tp_engine_kind_t kind, size_t index,
                                                          const_dnnl_tp_engine_attr_t attr);

/* ---- Thin forms with oneDNN's names ------------------------------------------------------------------ */

/** Creates a stream on a pool. Thread-safe.
 *
 * @param[out] stream owned by the caller; NULL on failure
 * @param engine as in dnnl_tp_stream_create_v2()
 * @param pool copied; NULL = sequential
 * @return as dnnl_tp_stream_attr_set_threadpool() and dnnl_tp_stream_create_v2(). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_threadpool_interop_stream_create(
    dnnl_tp_stream_t *stream, dnnl_tp_engine_t engine, const dnnl_tp_threadpool_iface_t *pool);

/** Gives the pool of a stream. Thread-safe.
 *
 * @param stream a stream
 * @param[out] pool borrowed from the stream; NULL if there is none
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_threadpool_interop_stream_get_threadpool(
    dnnl_tp_stream_t stream, const dnnl_tp_threadpool_iface_t **pool);

/** Sets the process default of the thread count, for primitives whose attributes and engine name none.
 * Unlike oneDNN's it holds for all threads. Thread-safe.
 *
 * @param max_concurrency >= 1; counts above 256 mean 256
 * @return success; invalid_arguments (less than 1). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_threadpool_interop_set_max_concurrency(int max_concurrency);

/** Gives the process default of the thread count: processors that the process may run on within its
 * quota, or what was set. Thread-safe.
 *
 * @param[out] max_concurrency >= 1
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_threadpool_interop_get_max_concurrency(int *max_concurrency);

/* ---- BLAS calls on a pool ---------------------------------------------------------------------------- */

/** dnnl_tp_sgemm() on a pool. Thread-safe.
 *
 * @param transa as there
 * @param transb as there
 * @param M as there
 * @param N as there
 * @param K as there
 * @param alpha as there
 * @param A as there
 * @param lda as there
 * @param B as there
 * @param ldb as there
 * @param beta as there
 * @param[in,out] C as there
 * @param ldc as there
 * @param pool used during the call only; NULL = the calling thread
 * @return as dnnl_tp_sgemm(); invalid_arguments for an unusable pool; runtime_error (the pool failed);
 *     unimplemented (SEQ build, pool not NULL). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_sgemm_tp(char transa, char transb, dnnl_tp_dim_t M, dnnl_tp_dim_t N,
                                                  dnnl_tp_dim_t K, float alpha, const float *A,
                                                  dnnl_tp_dim_t lda, const float *B, dnnl_tp_dim_t ldb,
                                                  float beta, float *C, dnnl_tp_dim_t ldc,
                                                  const dnnl_tp_threadpool_iface_t *pool);

/** dnnl_tp_gemm_u8s8s32() on a pool. Thread-safe.
 *
 * @param transa as there
 * @param transb as there
 * @param offsetc as there
 * @param M as there
 * @param N as there
 * @param K as there
 * @param alpha as there
 * @param A as there
 * @param lda as there
 * @param ao as there
 * @param B as there
 * @param ldb as there
 * @param bo as there
 * @param beta as there
 * @param[in,out] C as there
 * @param ldc as there
 * @param co as there
 * @param pool used during the call only; NULL = the calling thread
 * @return as dnnl_tp_gemm_u8s8s32() and, for the pool, dnnl_tp_sgemm_tp(). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_gemm_u8s8s32_tp(
    char transa, char transb, char offsetc, dnnl_tp_dim_t M, dnnl_tp_dim_t N, dnnl_tp_dim_t K, float alpha,
    const uint8_t *A, dnnl_tp_dim_t lda, uint8_t ao, const int8_t *B, dnnl_tp_dim_t ldb, int8_t bo,
    float beta, int32_t *C, dnnl_tp_dim_t ldc, const int32_t *co, const dnnl_tp_threadpool_iface_t *pool);

/** dnnl_tp_gemm_s8s8s32() on a pool. Thread-safe.
 *
 * @param transa as there
 * @param transb as there
 * @param offsetc as there
 * @param M as there
 * @param N as there
 * @param K as there
 * @param alpha as there
 * @param A as there
 * @param lda as there
 * @param ao as there
 * @param B as there
 * @param ldb as there
 * @param bo as there
 * @param beta as there
 * @param[in,out] C as there
 * @param ldc as there
 * @param co as there
 * @param pool used during the call only; NULL = the calling thread
 * @return as dnnl_tp_gemm_s8s8s32() and, for the pool, dnnl_tp_sgemm_tp(). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_gemm_s8s8s32_tp(
    char transa, char transb, char offsetc, dnnl_tp_dim_t M, dnnl_tp_dim_t N, dnnl_tp_dim_t K, float alpha,
    const int8_t *A, dnnl_tp_dim_t lda, int8_t ao, const int8_t *B, dnnl_tp_dim_t ldb, int8_t bo, float beta,
    int32_t *C, dnnl_tp_dim_t ldc, const int32_t *co, const dnnl_tp_threadpool_iface_t *pool);

/* oneDNN's names of the calls above. */
#define dnnl_tp_threadpool_interop_sgemm dnnl_tp_sgemm_tp               /**< dnnl_tp_sgemm_tp() */
#define dnnl_tp_threadpool_interop_gemm_u8s8s32 dnnl_tp_gemm_u8s8s32_tp /**< dnnl_tp_gemm_u8s8s32_tp() */
#define dnnl_tp_threadpool_interop_gemm_s8s8s32 dnnl_tp_gemm_s8s8s32_tp /**< dnnl_tp_gemm_s8s8s32_tp() */

#ifdef __cplusplus
}
#endif

#endif
