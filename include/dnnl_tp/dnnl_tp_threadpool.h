/** @file
 * The caller's thread pool, stream and engine attributes, the built-in pool, BLAS calls with a
 * pool.
 *
 * A program describes its pool once, as dnnl_tp_threadpool_iface_t, and puts it into stream or
 * engine attributes. Every loop of the library then runs on that pool and on no other thread.
 * doc/threadpools.md is for authors of such pools. The rules for every call and the terms of thread
 * safety are in dnnl_tp.h. */
#ifndef DNNL_TP_THREADPOOL_H
#define DNNL_TP_THREADPOOL_H

#include "dnnl_tp/dnnl_tp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The caller's pool ----------------------------------------------------------------------- */

/** Job i of n of a parallel loop. */
typedef void (*dnnl_tp_chunk_fn_t)(void *arg, int i, int n);
/** A task. */
typedef void (*dnnl_tp_task_fn_t)(void *arg);

/** A thread pool that the program offers to the library.
 *
 * The library may call every member from any thread, concurrently; no member may throw. The program
 * sets schedule or parallel_for or both; the library prefers schedule. Structs with equal ctx and
 * equal function pointers describe the same pool. A call that takes the struct copies it. ctx stays
 * valid until release was called or, without release, until the last stream, engine and attribute
 * that hold the pool are destroyed and dnnl_tp_threadpool_quiesce() has returned. */
typedef struct {
    /** sizeof(dnnl_tp_threadpool_iface_t) in the host's header; members beyond this size count as
     * NULL. */
    size_t struct_size;
    /** Passed to every member. */
    void *ctx;
    /** Number of threads that the library may occupy at the same time, the calling thread included;
     * <= 0 = unknown. */
    int (*get_num_threads)(void *ctx);
    /** Optional hint: non-zero if the calling thread belongs to the pool. */
    int (*get_in_parallel)(void *ctx);
    /** Calls fn(arg, i, n) for every i in [0, n), on any threads, in any order. With
     * DNNL_TP_THREADPOOL_ASYNCHRONOUS it may return before the calls have ended. May be NULL if
     * schedule is set. A result other than zero means that fn was not called and never will be. */
    int (*parallel_for)(void *ctx, int n, dnnl_tp_chunk_fn_t fn, void *arg);
    /** DNNL_TP_THREADPOOL_* bits; NULL = 0. */
    uint64_t (*get_flags)(void *ctx);
    /** Optional: waits until the pool is idle. Returns 0 (idle), 1 (timed out) or a negative number
     * (failed). timeout_ns in nanoseconds: < 0 = no limit, 0 = poll. */
    int (*wait)(void *ctx, int64_t timeout_ns);
    /** Runs fn(arg) once, now or later, on any thread. run is the cookie of run_begin, NULL outside
     * runs. A result other than zero means that fn is never called. The function must not wait for
     * other tasks: a host whose queue is full returns non-zero. */
    int (*schedule)(void *ctx, void *run, dnnl_tp_task_fn_t fn, void *arg);
    /** Optional: called when a run of a graph begins; stores the cookie of the run in *run. A
     * result other than zero makes the run fail, without a call of run_end. The function must not
     * wait for tasks. */
    int (*run_begin)(void *ctx, uint64_t run_id, void **run);
    /** Optional: called when a run has ended with a status. The host calls done(done_arg), now or
     * later, when it no longer needs the run. may_block = 1: the thread that called
     * dnnl_tp_executable_run() calls this function and then waits for done. may_block = 0
     * (dnnl_tp_executable_run_async(), and all runs on a pool with
     * DNNL_TP_THREADPOOL_SINGLE_CALLER): the thread that finished the run calls this function,
     * possibly inside a task of the run, so the function must not wait for such tasks; the run is
     * complete when done was called. In both cases the last call of schedule with the cookie has
     * returned, and tasks that start later find nothing to do. */
    void (*run_end)(void *ctx, void *run, int status, int may_block, dnnl_tp_task_fn_t done,
                    void *done_arg);
    /** Optional hint for locality: the number of the calling thread in the pool. */
    int (*current_slot)(void *ctx);
    /** Optional: called when the library has dropped its last copy of the struct. It does not use
     * ctx again, unless the program passes the same pool to a later call. Such a call waits until
     * release has returned (inside release it gives would_deadlock), so release must not wait for
     * it. */
    void (*release)(void *ctx);
} dnnl_tp_threadpool_iface_t;

/** Flag: parallel_for may return before the jobs have ended. */
#define DNNL_TP_THREADPOOL_ASYNCHRONOUS ((uint64_t)1)
/** Flag: the pool balances many small jobs well. */
#define DNNL_TP_THREADPOOL_AUTO_BALANCING ((uint64_t)2)
/** Flag: each asynchronous loop begins after the previous one has ended. */
#define DNNL_TP_THREADPOOL_IN_ORDER ((uint64_t)4)
/** Flag: the thread that calls parallel_for runs jobs too. */
#define DNNL_TP_THREADPOOL_CALLER_WORKS ((uint64_t)8)
/** Flag: jobs may call the pool. */
#define DNNL_TP_THREADPOOL_NESTABLE ((uint64_t)16)
/** Flag: the pool takes one caller at a time in schedule, parallel_for, run_begin and run_end
 * together; the library serializes its calls. While another thread is inside, the library does not
 * call schedule and parallel_for, as if they had returned non-zero, and waits before it calls
 * run_begin and run_end. A pool with a synchronous parallel_for and without schedule, whose caller
 * stays inside for a whole loop, gets run_begin and run_end only for runs of
 * dnnl_tp_executable_run() outside of all running work. */
#define DNNL_TP_THREADPOOL_SINGLE_CALLER ((uint64_t)32)

/** Size of dnnl_tp_threadpool_iface_t in this library, which ignores members beyond it. Value.
 *
 * @return bytes. */
DNNL_TP_API size_t dnnl_tp_threadpool_iface_size(void);

/** Waits until the pool has called every function that the library scheduled on it. A program whose
 * pool has no release calls this function after it destroyed the last stream, engine and attribute
 * with the pool, and before it frees ctx or unloads the code of the pool. The library then holds
 * nothing of the pool, and a new pool may use the same address. Thread-safe.
 *
 * @param pool the struct, or a struct with equal ctx and equal functions; read during the call only
 * @param timeout_ns nanoseconds; < 0 = no limit, 0 = poll
 * @return success (also for a pool that the library does not know); timed_out; would_deadlock
 *     (called from work on the pool); invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_threadpool_quiesce(const dnnl_tp_threadpool_iface_t *pool,
                                                            int64_t timeout_ns);

/* ---- The built-in pool ----------------------------------------------------------------------- */

/** A pthread pool of the library. It exists only if a program creates it. */
typedef struct dnnl_tp_threadpool *dnnl_tp_threadpool_t;

/** Options of the built-in pool; zeroed members mean defaults. */
typedef struct {
    /** sizeof(dnnl_tp_threadpool_opts_t) */
    size_t struct_size;
    /** Number of threads that compute at the same time, callers included; 0 = process default. */
    int num_threads;
    /** Prefix of the threads' names; copied; NULL = "dnnl_tp". */
    const char *name;
    /** Time for which an idle worker spins before it parks, in nanoseconds; 0 = calibrated, < 0 =
     * never. */
    int64_t spin_ns;
    /** Number of host closures that may block at the same time (DNNL_TP_HOST_MAY_BLOCK) while
     * num_threads other threads compute, 0 to 256. The pool starts one more thread for each.
     * Further closures wait until one has ended, so closures that wait for each other need one
     * thread each. 0: a closure that blocks occupies its computing thread. */
    int blocking_threads;
    /** 0 or DNNL_TP_THREADPOOL_ASYNCHRONOUS: execute returns before the work is done. */
    uint64_t flags;
} dnnl_tp_threadpool_opts_t;

/** Creates a built-in pool and starts its threads. The threads take the caller's floating-point
 * environment, traps and rounding included. They block all signals except those that their own
 * instructions raise (SIGFPE, SIGSEGV and the like). A thread or process that a closure starts on
 * such a thread inherits its blocked signals and its processors, so the closure sets both anew.
 * Thread-safe.
 *
 * @param[out] pool owned by the caller; NULL on failure
 * @param opts read during the call only; NULL = defaults
 * @return success; invalid_arguments (struct_size or a member out of range); runtime_error (a
 *     thread could not be started); unimplemented (SEQ build; blocking_threads in OMP and TBB
 *     builds); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_threadpool_create(dnnl_tp_threadpool_t *pool,
                                                           const dnnl_tp_threadpool_opts_t *opts);

/** Drops the caller's handle. The threads end when the last stream, engine or attribute that uses
 * the pool is destroyed: before the destroying call returns, or soon after it if running work makes
 * that call. Thread-safe.
 *
 * @param pool NULL or a pool
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_threadpool_destroy(dnnl_tp_threadpool_t pool);

/** Gives the interface of a built-in pool, for calls that take an interface. Thread-safe.
 *
 * @param pool a pool
 * @param[out] iface borrowed from the pool
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_threadpool_get_iface(dnnl_tp_threadpool_t pool, const dnnl_tp_threadpool_iface_t **iface);

/** Counts of the work of a pool for the library since its first use; counts only grow. The library
 * also accepts the struct of an older header, which ends with wakes. */
typedef struct {
    /** sizeof(dnnl_tp_threadpool_stats_t), set by the caller */
    size_t struct_size;
    /** Number of threads that the library may occupy. */
    int num_threads;
    /** Number of threads that run or help now. */
    int running;
    /** Largest value of `running` so far; divided by num_threads it is the largest running ratio.
     */
    int max_running;
    /** Mean of `running` divided by num_threads, taken each time a thread began to run or help. */
    double running_ratio;
    /** Runs of graphs and items of asynchronous streams that got a ticket. */
    uint64_t runs;
    /** Loops that several threads could join. */
    uint64_t loops;
    /** Loops large enough to share for which no other thread was free. */
    uint64_t loops_alone;
    /** Number of times that a thread joined a loop or run as a helper. */
    uint64_t joins;
    /** Chunks of loops that a thread other than the opener ran. */
    uint64_t stolen;
    /** Sleeping threads woken, or calls made to the program's pool. */
    uint64_t wakes;
    /** Built-in pool: number of closures that may block at the same time. */
    int blocking_threads;
    /** Such closures that are running now; `running` does not count them. */
    int blocked;
    /** Largest value of `blocked` so far. */
    int max_blocked;
    /** Number of closures that the blocking threads ran. */
    uint64_t closures;
} dnnl_tp_threadpool_stats_t;

/** Reads the counts of a pool without stopping it. Thread-safe.
 *
 * @param pool the interface of a built-in pool, or of a pool of the program that a stream, an
 *     engine or an attribute uses
 * @param[in,out] stats struct_size set by the caller
 * @return success; invalid_arguments (nothing uses the pool, struct_size); unimplemented (SEQ
 *     build). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_threadpool_query(const dnnl_tp_threadpool_iface_t *pool,
                                                          dnnl_tp_threadpool_stats_t *stats);

/* ---- Stream attributes ----------------------------------------------------------------------- */

/** Attributes of a stream. */
typedef struct dnnl_tp_stream_attr *dnnl_tp_stream_attr_t;
typedef const struct dnnl_tp_stream_attr *const_dnnl_tp_stream_attr_t; /**< Borrowed attributes. */

/** Origin of the threads of a stream. */
typedef enum {
    dnnl_tp_pool_kind_unset = 0,          /**< No pool was set; the stream runs on its caller. */
    dnnl_tp_pool_kind_sequential = 1,     /**< NULL was set; the stream runs on its caller. */
    dnnl_tp_pool_kind_user = 2,           /**< A pool of the program. */
    dnnl_tp_pool_kind_builtin = 3,        /**< A dnnl_tp_threadpool_t. */
    dnnl_tp_pool_kind_engine_default = 4, /**< The engine's default pool. */
    dnnl_tp_pool_kind_runtime = 5         /**< The runtime that the library was built with. */
} dnnl_tp_pool_kind_t;

/** Operators of a graph may run concurrently. */
#define DNNL_TP_PARALLELISM_INTER 1u
/** Loops inside an operator may be split. */
#define DNNL_TP_PARALLELISM_INTRA 2u

/** Creates attributes without a pool. Thread-safe.
 *
 * @param[out] attr owned by the caller; NULL on failure
 * @param kind kind of the engines for whose streams the attributes are
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
 * @param pool copied; NULL = sequential: such a stream does not fall back on the engine's pool
 * @return success; invalid_arguments (another kind, struct_size too small, neither schedule nor
 *     parallel_for); unimplemented (SEQ build, pool not NULL). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_set_threadpool(
    dnnl_tp_stream_attr_t attr, const dnnl_tp_threadpool_iface_t *pool);

/** Gives the pool that was set. Thread-safe.
 *
 * @param attr attributes
 * @param[out] pool borrowed from the attributes; NULL if there is none; only its first
 *     (*pool)->struct_size bytes are valid
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_get_threadpool(
    const_dnnl_tp_stream_attr_t attr, const dnnl_tp_threadpool_iface_t **pool);

/** Sets a built-in pool; the attributes keep it alive. Thread-compatible.
 *
 * @param attr of kind dnnl_tp_cpu
 * @param pool a built-in pool
 * @return success; invalid_arguments; unimplemented (SEQ build). */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_stream_attr_set_builtin_threadpool(dnnl_tp_stream_attr_t attr, dnnl_tp_threadpool_t pool);

/** Tells the origin of the threads. Thread-safe.
 *
 * @param attr attributes; those of a stream tell the resolved origin
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

/** Chooses which parts of a graph may run in parallel. Thread-compatible.
 *
 * @param attr attributes
 * @param parallelism DNNL_TP_PARALLELISM_* bits; both by default; 0 = one thread
 * @return success; invalid_arguments (other bits). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_set_parallelism(dnnl_tp_stream_attr_t attr,
                                                                     unsigned parallelism);

/** Chooses whether runs of graphs on the stream take one of the pool's tickets. With tickets, many
 * callers of one pool of W threads keep W threads busy and no more. Thread-compatible.
 *
 * @param attr attributes
 * @param admission 1 (default) or 0
 * @return success; invalid_arguments (another value). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_set_admission(dnnl_tp_stream_attr_t attr,
                                                                   int admission);

/** Chooses whether execute returns before the work is done. Thread-compatible.
 *
 * @param attr attributes
 * @param async 1 = on every pool; 0 (default) = only on asynchronous pools
 * @return success; invalid_arguments (another value). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_set_async(dnnl_tp_stream_attr_t attr,
                                                               int async);

/** Sets the priority among the streams that wait for a thread of the pool. Thread-compatible.
 *
 * @param attr attributes
 * @param priority -100 to 100, 0 by default; the stream with the highest priority is served first
 * @return success; invalid_arguments (out of range). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_set_priority(dnnl_tp_stream_attr_t attr,
                                                                  int priority);

/** Creates a stream with attributes. Thread-safe.
 *
 * @param[out] stream owned by the caller; NULL on failure
 * @param engine the engine that executes its work; kept alive by the stream
 * @param flags dnnl_tp_stream_default_flags
 * @param attr copied; without a pool (or NULL) the stream uses the engine's default pool or, if
 *     there is none, the thread that calls execute
 * @return success; invalid_arguments (other flags, attributes of another engine kind);
 *     unimplemented; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_create_v2(dnnl_tp_stream_t *stream,
                                                          dnnl_tp_engine_t engine, unsigned flags,
                                                          const_dnnl_tp_stream_attr_t attr);

/** Gives the resolved attributes of a stream. Thread-safe.
 *
 * @param stream a stream
 * @param[out] attr borrowed from the stream; never NULL on success
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_get_attr(dnnl_tp_stream_t stream,
                                                         const_dnnl_tp_stream_attr_t *attr);

/** Changes the pool of an idle stream and keeps its scratch, for pools that live during one call
 * only. Thread-compatible.
 *
 * @param stream idle, used by no other thread
 * @param pool copied; NULL = sequential
 * @return success; invalid_arguments (as dnnl_tp_stream_attr_set_threadpool(), or the stream is not
 *     idle, or another thread is in a call that uses the stream); unimplemented (SEQ build);
 *     out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_stream_set_threadpool(dnnl_tp_stream_t stream, const dnnl_tp_threadpool_iface_t *pool);

/** Copies the thread count and the flags of the pool from stream attributes, and nothing else, so
 * that primitives are planned for the pool on which they will run. Thread-compatible.
 *
 * @param attr attributes of a primitive
 * @param stream_attr attributes with or without a pool
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_stream_attr(
    dnnl_tp_primitive_attr_t attr, const_dnnl_tp_stream_attr_t stream_attr);

/* ---- Engine attributes ----------------------------------------------------------------------- */

/** Attributes of an engine. */
typedef struct dnnl_tp_engine_attr *dnnl_tp_engine_attr_t;
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

/** Sets the default pool of the engine: streams without a pool of their own use it, and primitives
 * of the engine are planned for it. Thread-compatible.
 *
 * @param attr attributes
 * @param stream_attr copied; NULL = none
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_engine_attr_set_stream_attr(
    dnnl_tp_engine_attr_t attr, const_dnnl_tp_stream_attr_t stream_attr);

/** Sets the default thread count of the engine's primitives, which overrides the count of the
 * default pool. Thread-compatible.
 *
 * @param attr attributes
 * @param num_threads 1 to 256; 0 = unset
 * @return success; invalid_arguments (out of range). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_engine_attr_set_num_threads(dnnl_tp_engine_attr_t attr,
                                                                     int num_threads);

/** Limits the instruction sets of the engine's primitives, for example to test each set in one
 * process. Thread-compatible.
 *
 * @param attr attributes
 * @param isa the highest set allowed; dnnl_tp_cpu_isa_default = no limit
 * @return success; invalid_arguments (not an enumerator). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_engine_attr_set_max_isa(dnnl_tp_engine_attr_t attr,
                                                                 dnnl_tp_cpu_isa_t isa);

/** Sets the allocator of the engine and of all objects created from it. Thread-compatible.
 *
 * @param attr attributes
 * @param allocator copied; NULL = the allocator of the process
 * @return success; invalid_arguments (struct_size, or a member is NULL). */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_engine_attr_set_allocator(dnnl_tp_engine_attr_t attr, const dnnl_tp_allocator_t *allocator);

/** Creates an engine with attributes. Thread-safe.
 *
 * @param[out] engine owned by the caller; NULL on failure
 * @param kind dnnl_tp_cpu
 * @param index below dnnl_tp_engine_get_count(kind)
 * @param attr copied; NULL = defaults
 * @return success; invalid_arguments (no such kind in this build, index out of range);
 *     out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_engine_create_v2(dnnl_tp_engine_t *engine,
                                                          dnnl_tp_engine_kind_t kind, size_t index,
                                                          const_dnnl_tp_engine_attr_t attr);

/* ---- Short forms with oneDNN's names --------------------------------------------------------- */

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

/** Sets the process default of the thread count, for primitives whose attributes and engine set
 * none. Unlike oneDNN's value, it holds for all threads. Thread-safe.
 *
 * @param max_concurrency >= 1; counts above 256 mean 256
 * @return success; invalid_arguments (less than 1). */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_threadpool_interop_set_max_concurrency(int max_concurrency);

/** Gives the process default of the thread count: the value that was set or, by default, the number
 * of processors on which the process may run within its quota. Thread-safe.
 *
 * @param[out] max_concurrency >= 1
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_threadpool_interop_get_max_concurrency(int *max_concurrency);

/* ---- BLAS calls on a pool -------------------------------------------------------------------- */

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
 * @return as dnnl_tp_sgemm(); invalid_arguments for an unusable pool; runtime_error (the pool
 *     failed); unimplemented (SEQ build, pool not NULL). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_sgemm_tp(char transa, char transb, dnnl_tp_dim_t M,
                                                  dnnl_tp_dim_t N, dnnl_tp_dim_t K, float alpha,
                                                  const float *A, dnnl_tp_dim_t lda, const float *B,
                                                  dnnl_tp_dim_t ldb, float beta, float *C,
                                                  dnnl_tp_dim_t ldc,
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
    char transa, char transb, char offsetc, dnnl_tp_dim_t M, dnnl_tp_dim_t N, dnnl_tp_dim_t K,
    float alpha, const uint8_t *A, dnnl_tp_dim_t lda, uint8_t ao, const int8_t *B,
    dnnl_tp_dim_t ldb, int8_t bo, float beta, int32_t *C, dnnl_tp_dim_t ldc, const int32_t *co,
    const dnnl_tp_threadpool_iface_t *pool);

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
    char transa, char transb, char offsetc, dnnl_tp_dim_t M, dnnl_tp_dim_t N, dnnl_tp_dim_t K,
    float alpha, const int8_t *A, dnnl_tp_dim_t lda, int8_t ao, const int8_t *B, dnnl_tp_dim_t ldb,
    int8_t bo, float beta, int32_t *C, dnnl_tp_dim_t ldc, const int32_t *co,
    const dnnl_tp_threadpool_iface_t *pool);

/* oneDNN's names of the calls above. */
#define dnnl_tp_threadpool_interop_sgemm dnnl_tp_sgemm_tp /**< dnnl_tp_sgemm_tp() */
/** dnnl_tp_gemm_u8s8s32_tp() */
#define dnnl_tp_threadpool_interop_gemm_u8s8s32 dnnl_tp_gemm_u8s8s32_tp
/** dnnl_tp_gemm_s8s8s32_tp() */
#define dnnl_tp_threadpool_interop_gemm_s8s8s32 dnnl_tp_gemm_s8s8s32_tp

#ifdef __cplusplus
}
#endif

#endif
