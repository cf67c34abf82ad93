/** @file
 * Sessions: a graph, the pools it may run on, and a cache of what was compiled from it.
 *
 * A run names tensors to feed, tensors to fetch and operators to run; the session compiles the part of the
 * graph that these need, once for each set of names and shapes, and keeps it. Any named tensor can be fed or
 * fetched: an input of the graph by its name, the result i of an operator as "name:i" ("name" alone is the
 * result 0). Many threads may run one session at once. */
#ifndef DNNL_TP_SESSION_H
#define DNNL_TP_SESSION_H

#include "dnnl_tp/dnnl_tp_graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dnnl_tp_session *dnnl_tp_session_t;   /**< A session. */
typedef struct dnnl_tp_callable *dnnl_tp_callable_t; /**< A set of names that was looked up before. */

/* ---- Options ------------------------------------------------------------------------------------------ */

/** A pool that a session runs on. */
typedef struct {
    int num_threads; /**< Threads, the callers included; 0 = those of the process. */
    /** NULL or "": a pool of this session. Else a pool of the process that all sessions share which use this
     * name: the first one makes it and fixes its size, the last one that is destroyed ends it. */
    const char *global_name;
} dnnl_tp_session_pool_t;

/** Options of a session; zeroed members mean defaults. Read during creation only. The struct of an older
 * header, up to flags or up to trace, is accepted. */
typedef struct {
    size_t struct_size; /**< sizeof(dnnl_tp_session_opts_t) */
    int npools;         /**< Size of pools. With 0 the session runs on one pool, see per_session_threads. */
    const dnnl_tp_session_pool_t *pools; /**< Chosen by index in each run. */
    /** Without pools: 1 = a pool of this session, 0 = the process's unnamed pool, which the first session
     * that uses it makes. */
    int per_session_threads;
    int num_threads; /**< Without pools: size of that pool; 0 = threads of the process. */
    int64_t
        timeout_ns; /**< Of runs that set none; 0 = none. It is looked at between operators and in loops. */
    int max_executables;  /**< What the cache keeps; the least recently used goes first. 0 = 64. */
    int deterministic;    /**< As in dnnl_tp_compile_opts_t. */
    size_t memory_budget; /**< As in dnnl_tp_compile_opts_t. */
    unsigned flags;       /**< must be 0 */
    dnnl_tp_trace_t trace; /**< Records runs that have no trace of their own; kept alive. NULL = none. */
    /** Of each pool (dnnl_tp_threadpool_opts_t). A pool of the process has those that the first session gave
     * it; more than that is refused. */
    int blocking_threads;
} dnnl_tp_session_opts_t;

#define DNNL_TP_SESSION_CALLER (-1) /**< Index of a pool: the calling thread alone. */

/** Options of a session's run; zeroed members mean defaults. */
typedef struct {
    size_t struct_size;            /**< sizeof(dnnl_tp_session_run_opts_t) */
    int pool_index;                /**< Which of the session's pools, or DNNL_TP_SESSION_CALLER. */
    int64_t timeout_ns;            /**< 0 = the session's, < 0 = none. */
    const dnnl_tp_run_opts_t *run; /**< Cancel token, statistics and more; its deadline wins. NULL allowed. */
} dnnl_tp_session_run_opts_t;

/** A tensor that a run is given. */
typedef struct {
    const char *name;                  /**< Of an input, or "operator:result". */
    const dnnl_tp_tensor_info_t *info; /**< Shape and type; NULL = as the graph declares it. */
    const void *data;                  /**< Dense row-major; the caller's. */
} dnnl_tp_feed_t;

/** A tensor that a run delivers. */
typedef struct {
    const char *name; /**< Of an input, of an output, or "operator:result". */
    void *data;       /**< Room for it, dense row-major; the caller's. */
} dnnl_tp_fetch_t;

/* ---- Sessions ----------------------------------------------------------------------------------------- */

/** Creates a session on a graph. Pools that do not exist yet are created. Thread-safe.
 *
 * @param[out] session owned by the caller; NULL on failure
 * @param graph immutable from now on; kept alive by the session
 * @param engine where runs happen; a CPU; kept alive by the session
 * @param opts NULL = defaults
 * @return success; invalid_arguments (a global pool exists with another size: the text has both; a number of
 *     threads, struct_size); unimplemented (pools of several threads in a
 *     build with the runtime SEQ); runtime_error (threads cannot be started); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_session_create(dnnl_tp_session_t *session,
                                                        const_dnnl_tp_graph_t graph, dnnl_tp_engine_t engine,
                                                        const dnnl_tp_session_opts_t *opts);

/** Runs the part of the graph that fetches and targets need. The order of names does not matter: the same
 * sets with the same shapes are compiled once. A run that finds its executable in the cache allocates nothing
 * in steady state. Thread-safe.
 *
 * @param session a session
 * @param nfeeds number of tensors given
 * @param feeds each tensor once
 * @param nfetches number of tensors wanted
 * @param fetches a tensor may be named twice
 * @param ntargets number of operators that run though nothing of them is fetched
 * @param targets their names
 * @param opts NULL = defaults
 * @return what dnnl_tp_executable_compile() and dnnl_tp_executable_run() return; invalid_arguments (an
 * unknown name, one that several operators have, one that is fed twice, more than 1024 of a kind, nothing to
 * do, an index of a pool outside -1..n-1: the text says which); cancelled (the session was closed);
 * deadline_exceeded (the timeout). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_session_run(dnnl_tp_session_t session, int nfeeds,
                                                     const dnnl_tp_feed_t *feeds, int nfetches,
                                                     const dnnl_tp_fetch_t *fetches, int ntargets,
                                                     const char *const *targets,
                                                     const dnnl_tp_session_run_opts_t *opts);

/** Looks up names once, so that runs need no search. Shapes are those of infos. Thread-safe.
 *
 * @param[out] callable owned by the caller, keeps the session's executable alive; NULL on failure
 * @param session a session
 * @param nfeeds number of tensors that runs will give
 * @param feeds names and shapes; data is ignored
 * @param nfetches number of tensors wanted
 * @param fetches names
 * @param ntargets number of operators that run though nothing of them is fetched
 * @param targets their names
 * @return as dnnl_tp_session_run(). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_session_make_callable(dnnl_tp_callable_t *callable,
                                                               dnnl_tp_session_t session, int nfeeds,
                                                               const dnnl_tp_feed_t *feeds, int nfetches,
                                                               const char *const *fetches, int ntargets,
                                                               const char *const *targets);

/** Gives shape and type of a fetched tensor. Thread-safe.
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
 * @param[out] out room for the fetches, in their order
 * @param opts NULL = defaults
 * @return as dnnl_tp_session_run(). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_callable_run(dnnl_tp_callable_t callable, const void *const *in,
                                                      void *const *out,
                                                      const dnnl_tp_session_run_opts_t *opts);

/** Drops a callable. Thread-safe.
 *
 * @param callable NULL or a callable
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_callable_destroy(dnnl_tp_callable_t callable);

/** Ends a session for its users: later runs are refused with cancelled, those in progress are cancelled and
 * waited for. Idempotent. Thread-safe.
 *
 * @param session a session
 * @return success; would_deadlock (from inside a run of the session: it is closed, but not waited for). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_session_close(dnnl_tp_session_t session);

/** Closes a session and drops the caller's handle; callables keep what they need. Thread-safe.
 *
 * @param session NULL or a session
 * @return success; would_deadlock (from inside a run of the session: the handle stays valid). */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_session_destroy(dnnl_tp_session_t session);

/** Counts of a session's cache. Thread-safe. */
typedef struct {
    size_t struct_size;    /**< sizeof(dnnl_tp_session_stats_t), set by the caller */
    uint64_t runs;         /**< runs begun */
    uint64_t compilations; /**< executables made */
    uint64_t evictions;    /**< executables dropped to make room */
    int executables;       /**< in the cache now */
    int active;            /**< runs in progress */
} dnnl_tp_session_stats_t;

/** Reads the counts. Thread-safe.
 *
 * @param session a session
 * @param[in,out] stats struct_size set by the caller
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_session_query(dnnl_tp_session_t session,
                                                       dnnl_tp_session_stats_t *stats);

/** Gives the interface of one of the session's pools, for dnnl_tp_threadpool_query() or streams of its own.
 * Thread-safe.
 *
 * @param session a session
 * @param pool_index 0..n-1
 * @param[out] iface lives as long as the session
 * @return success; invalid_arguments (no such pool). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_session_get_pool(dnnl_tp_session_t session, int pool_index,
                                                          const dnnl_tp_threadpool_iface_t **iface);

#ifdef __cplusplus
}
#endif

#endif
