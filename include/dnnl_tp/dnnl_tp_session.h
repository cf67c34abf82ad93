/** @file
 * Sessions: a graph, the pools on which it may run, and a cache of the executables compiled from
 * it.
 *
 * A run names tensors to feed, tensors to fetch and operators to run. The session compiles the part
 * of the graph that they need, once for each set of names and shapes, and keeps the executable. Any
 * named tensor can be fed or fetched: an input of the graph by its name, result i of an operator as
 * "name:i" ("name" alone is result 0). Many threads may run one session at the same time. */
#ifndef DNNL_TP_SESSION_H
#define DNNL_TP_SESSION_H

#include "dnnl_tp/dnnl_tp_graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dnnl_tp_session *dnnl_tp_session_t; /**< A session. */
/** A set of names, looked up in advance. */
typedef struct dnnl_tp_callable *dnnl_tp_callable_t;

/* ---- Options --------------------------------------------------------------------------------- */

/** A pool of a session. */
typedef struct {
    /** Number of threads, the callers included; 0 = default of the process. */
    int num_threads;
    /** NULL or "": a pool of this session alone. Otherwise a pool of the process, which all
     * sessions with this name share: the first session creates it and sets its size, and it ends
     * when the last of them is destroyed. */
    const char *global_name;
} dnnl_tp_session_pool_t;

/** Options of a session; zeroed members mean defaults. Only the creation reads them. The library
 * also accepts the structs of older headers, which end with flags or with trace. */
typedef struct {
    /** sizeof(dnnl_tp_session_opts_t) */
    size_t struct_size;
    /** Number of elements of pools. With 0 the session has one pool, see per_session_threads. */
    int npools;
    /** The pools; each run chooses one by its index. */
    const dnnl_tp_session_pool_t *pools;
    /** If npools is 0: 1 = a pool of this session alone, 0 = the unnamed pool of the process, which
     * the first session that uses it creates. */
    int per_session_threads;
    /** If npools is 0: number of threads of that pool; 0 = default of the process. */
    int num_threads;
    int64_t
        /** Time limit of runs that set none, in nanoseconds; 0 = no limit. Runs check it between
         * operators and in loops. */
        timeout_ns;
    /** Capacity of the cache, which drops the least recently used executable; 0 = 64. */
    int max_executables;
    /** As in dnnl_tp_compile_opts_t. */
    int deterministic;
    /** As in dnnl_tp_compile_opts_t. */
    size_t memory_budget;
    /** Must be 0. */
    unsigned flags;
    /** Trace that records runs without a trace of their own; kept alive by the session; NULL =
     * none. */
    dnnl_tp_trace_t trace;
    /** blocking_threads of each pool (dnnl_tp_threadpool_opts_t). The first session sets this
     * number for a pool of the process; creation of a later session that asks for more fails. */
    int blocking_threads;
} dnnl_tp_session_opts_t;

#define DNNL_TP_SESSION_CALLER (-1) /**< As the index of a pool: the calling thread alone. */

/** Options of a session's run; zeroed members mean defaults. */
typedef struct {
    /** sizeof(dnnl_tp_session_run_opts_t) */
    size_t struct_size;
    /** Index of one of the session's pools, or DNNL_TP_SESSION_CALLER. */
    int pool_index;
    /** Time limit in nanoseconds; 0 = the session's limit, < 0 = no limit. */
    int64_t timeout_ns;
    /** Cancel token, statistics and more; may be NULL. Its deadline overrides timeout_ns. */
    const dnnl_tp_run_opts_t *run;
} dnnl_tp_session_run_opts_t;

/** A tensor that the caller passes to a run. */
typedef struct {
    /** Name of an input, or "operator:result". */
    const char *name;
    /** Shape and type; NULL = those that the graph declares. */
    const dnnl_tp_tensor_info_t *info;
    /** Data, dense row-major; owned by the caller. */
    const void *data;
} dnnl_tp_feed_t;

/** A tensor that a run returns. */
typedef struct {
    /** Name of an input or output, or "operator:result". */
    const char *name;
    /** Memory for the tensor, dense row-major; owned by the caller. */
    void *data;
} dnnl_tp_fetch_t;

/* ---- Sessions -------------------------------------------------------------------------------- */

/** Creates a session on a graph, and the pools that do not exist yet. Thread-safe.
 *
 * @param[out] session owned by the caller; NULL on failure
 * @param graph becomes immutable; kept alive by the session
 * @param engine the CPU engine that executes the runs; kept alive by the session
 * @param opts NULL = defaults
 * @return success; invalid_arguments (a pool of the process exists with another size: the error
 *     text has both sizes; a number of threads, struct_size); unimplemented (pools of several
 *     threads in a build with the runtime SEQ); runtime_error (threads cannot be started);
 *     out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_session_create(dnnl_tp_session_t *session,
                                                        const_dnnl_tp_graph_t graph,
                                                        dnnl_tp_engine_t engine,
                                                        const dnnl_tp_session_opts_t *opts);

/** Runs the part of the graph that fetches and targets need. The order of names does not matter:
 * equal sets of names with equal shapes are compiled once. In steady state, a run whose executable
 * is in the cache allocates nothing. Thread-safe.
 *
 * @param session a session
 * @param nfeeds number of feeds
 * @param feeds tensors to feed, each at most once
 * @param nfetches number of fetches
 * @param fetches tensors to fetch; several fetches may name one tensor
 * @param ntargets number of operators that run although no result of them is fetched
 * @param targets their names
 * @param opts NULL = defaults
 * @return as dnnl_tp_executable_compile() and dnnl_tp_executable_run(); invalid_arguments (an
 *     unknown name, a name that several operators have, a tensor that is fed twice, more than 1024
 *     feeds, fetches or targets, nothing to do, an index of a pool outside -1..n-1; the error text
 *     gives the cause); cancelled (the session was closed); deadline_exceeded (the time limit). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_session_run(dnnl_tp_session_t session, int nfeeds,
                                                     const dnnl_tp_feed_t *feeds, int nfetches,
                                                     const dnnl_tp_fetch_t *fetches, int ntargets,
                                                     const char *const *targets,
                                                     const dnnl_tp_session_run_opts_t *opts);

/** Looks up names once, so that runs need no search. The info members of the feeds set the shapes.
 * Thread-safe.
 *
 * @param[out] callable owned by the caller; keeps the session's executable alive; NULL on failure
 * @param session a session
 * @param nfeeds number of feeds of a run
 * @param feeds names and shapes of the feeds; their data members are ignored
 * @param nfetches number of fetches
 * @param fetches names
 * @param ntargets number of operators that run although no result of them is fetched
 * @param targets their names
 * @return as dnnl_tp_session_run(). */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_session_make_callable(dnnl_tp_callable_t *callable, dnnl_tp_session_t session, int nfeeds,
                              const dnnl_tp_feed_t *feeds, int nfetches, const char *const *fetches,
                              int ntargets, const char *const *targets);

/** Gives the shape and type of a fetched tensor. Thread-safe.
 *
 * @param callable a callable
 * @param fetch its position among the fetches
 * @param[out] info shape and type
 * @return success; invalid_arguments (no such fetch). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_callable_query(dnnl_tp_callable_t callable, int fetch,
                                                        dnnl_tp_tensor_info_t *info);

/** Runs a callable. Thread-safe.
 *
 * @param callable a callable
 * @param in data of the feeds, in their order
 * @param[out] out memory for the fetches, in their order
 * @param opts NULL = defaults
 * @return as dnnl_tp_session_run(). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_callable_run(dnnl_tp_callable_t callable,
                                                      const void *const *in, void *const *out,
                                                      const dnnl_tp_session_run_opts_t *opts);

/** Drops a callable. Thread-safe.
 *
 * @param callable NULL or a callable
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_callable_destroy(dnnl_tp_callable_t callable);

/** Closes a session: cancels the runs in progress, waits for their end, and refuses later
 * runs with cancelled. May be called again. Thread-safe.
 *
 * @param session a session
 * @return success; would_deadlock (called from inside a run of the session: the session is closed,
 *     but the call does not wait). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_session_close(dnnl_tp_session_t session);

/** Closes a session and drops the caller's handle. Callables keep the objects that they need.
 * Thread-safe.
 *
 * @param session NULL or a session
 * @return success; would_deadlock (called from inside a run of the session: the handle stays
 *     valid). */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_session_destroy(dnnl_tp_session_t session);

/** Closes a session and gives it away: the session ends with its last run, at once or on the thread
 * of that run. The call does not wait, so the last owner of a session may drop it inside one of its
 * runs. Thread-compatible.
 *
 * @param session NULL or a session that no thread uses from now on, except for runs in progress
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_session_give_away(dnnl_tp_session_t session);

/** Counts of a session's cache. Thread-safe. */
typedef struct {
    /** sizeof(dnnl_tp_session_stats_t), set by the caller */
    size_t struct_size;
    /** Number of runs that began. */
    uint64_t runs;
    /** Number of compilations. */
    uint64_t compilations;
    /** Number of executables that the cache dropped because it was full. */
    uint64_t evictions;
    /** Number of executables in the cache now. */
    int executables;
    /** Number of runs in progress. */
    int active;
} dnnl_tp_session_stats_t;

/** Reads the counts. Thread-safe.
 *
 * @param session a session
 * @param[in,out] stats struct_size set by the caller
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_session_query(dnnl_tp_session_t session,
                                                       dnnl_tp_session_stats_t *stats);

/** Gives the interface of one of the session's pools, for dnnl_tp_threadpool_query() or for streams
 * of the program. Thread-safe.
 *
 * @param session a session
 * @param pool_index 0..n-1
 * @param[out] iface borrowed, valid as long as the session
 * @return success; invalid_arguments (no such pool). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_session_get_pool(dnnl_tp_session_t session, int pool_index,
                                                          const dnnl_tp_threadpool_iface_t **iface);

#ifdef __cplusplus
}
#endif

#endif
