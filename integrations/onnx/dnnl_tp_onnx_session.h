/** @file
 * Sessions of ONNX models, for inputs of any shapes.
 *
 * A session makes a graph (dnnl_tp_onnx.h), compiles it for the shapes of the given inputs, and
 * keeps the compiled forms. If the elements of an input determine shapes, the session reads them,
 * too. Runs use the pool of the program, or another pool that stream attributes name. Many threads
 * may run one session at the same time, each with its own inputs. Page: doc/onnx.md. */
#ifndef DNNL_TP_ONNX_SESSION_H
#define DNNL_TP_ONNX_SESSION_H

#include "dnnl_tp/dnnl_tp_executable.h"
#include "dnnl_tp/dnnl_tp_threadpool.h"
#include "onnx/dnnl_tp_onnx.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dnnl_tp_onnx_session *dnnl_tp_onnx_session_t; /**< A session of a model. */
typedef struct dnnl_tp_onnx_call *dnnl_tp_onnx_call_t;       /**< A model compiled for given inputs. */

/** Options of a session; zeroed members mean defaults. They are read during creation only. The
 * structs of older headers, which end with trace or with batch, are accepted. */
typedef struct {
    size_t struct_size; /**< sizeof(dnnl_tp_onnx_session_opts_t) */
    /** Names the pool of the runs; kept alive by the session; NULL = the calling thread. */
    const_dnnl_tp_stream_attr_t stream_attr;
    /** Limit of compiled forms that are kept; the least recently used one is dropped first. 0 = 16.
     */
    int max_calls;
    int deterministic;     /**< As in dnnl_tp_compile_opts_t. */
    size_t memory_budget;  /**< As in dnnl_tp_compile_opts_t. */
    int64_t max_nodes;     /**< As in dnnl_tp_onnx_graph_opts_t. */
    size_t max_bytes;      /**< As in dnnl_tp_onnx_graph_opts_t. */
    dnnl_tp_trace_t trace; /**< Records the runs, kept alive by the session; NULL = none. */
    /** First dimension of every input that has one, in place of the file's; 0 = as in the file. */
    int64_t batch;
    dnnl_tp_fpmath_mode_t fpmath_mode; /**< As in dnnl_tp_compile_opts_t. */
} dnnl_tp_onnx_session_opts_t;

/** An input of the model in a call. */
typedef struct {
    /** Shape and type; NULL: the input is not given, which is allowed if it has a default. */
    const dnnl_tp_tensor_info_t *info;
    /** Dense row-major, owned by the caller. Required and read if the input has the flag
     * DNNL_TP_ONNX_DETERMINES_SHAPES; read, if given, with the flag DNNL_TP_ONNX_DECIDES_BRANCHES.
     * In both cases the call serves these values only. */
    const void *data;
} dnnl_tp_onnx_arg_t;

/** Creates a session. Thread-safe.
 *
 * @param[out] session owned by the caller; NULL on failure
 * @param model kept alive by the session
 * @param engine a CPU engine for the runs; kept alive by the session
 * @param opts NULL = defaults
 * @return success; invalid_arguments (struct_size, a negative number); what
 *     dnnl_tp_stream_create_v2() returns; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_session_create(dnnl_tp_onnx_session_t *session,
                                                             dnnl_tp_onnx_model_t model,
                                                             dnnl_tp_engine_t engine,
                                                             const dnnl_tp_onnx_session_opts_t *opts);

/** Gives the call for inputs of these shapes; compiles it if the session does not have it.
 * Thread-safe. Of the threads that request the same call at the same time, one compiles it and the
 * others wait for it; the first compilation of a session, which packs the weights, is waited for
 * whatever is requested. A thread does not wait, but compiles itself, if the one that it would wait
 * for fails or stands still, or if it is inside such a compilation (in the program's allocator).
 *
 * @param[out] call owned by the caller: dnnl_tp_onnx_call_destroy(); NULL on failure
 * @param session a session
 * @param nargs number of the model's inputs
 * @param args in the order of the model's inputs
 * @return success; invalid_arguments (another number of inputs; one that is not given; another type
 *     or another number of dimensions than the model declares, or a size other than the declared
 *     one; two sizes for one symbol: the text names the input); what dnnl_tp_onnx_graph_create()
 *     and dnnl_tp_executable_compile() return. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_session_get_call(dnnl_tp_onnx_call_t *call,
                                                               dnnl_tp_onnx_session_t session, int nargs,
                                                               const dnnl_tp_onnx_arg_t *args);

/** Shape and type of an output. Thread-safe.
 *
 * @param call a call
 * @param index 0..outputs-1 of the model
 * @param[out] info as graphs carry it
 * @return success; invalid_arguments (no such output). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_call_output(dnnl_tp_onnx_call_t call, int index,
                                                          dnnl_tp_tensor_info_t *info);

/** Gives the graph and the executable of a call, for queries (dnnl_tp_executable_memory(),
 * dnnl_tp_graph_write()). Thread-safe.
 *
 * @param call a call
 * @param[out] graph borrowed, lives as long as the call; may be NULL
 * @param[out] executable borrowed, lives as long as the call; may be NULL
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_call_compiled(dnnl_tp_onnx_call_t call,
                                                            const_dnnl_tp_graph_t *graph,
                                                            const_dnnl_tp_executable_t *executable);

/** Runs a call. Thread-safe; in steady state nothing is allocated.
 *
 * @param call a call
 * @param in data in the order of the model's inputs, dense row-major; inputs that determine shapes
 *     count with the elements that they had when the call was made and may be NULL, like inputs
 *     that were not given
 * @param[out] out room for the outputs, in the order of the model's outputs
 * @param opts NULL = defaults; a trace in them replaces the session's
 * @return what dnnl_tp_executable_run() returns; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_call_run(dnnl_tp_onnx_call_t call, const void *const *in,
                                                       void *const *out, const dnnl_tp_run_opts_t *opts);

/** Gives room for an output, whose size a run may decide.
 *
 * @param ctx the program's
 * @param index 0..outputs-1 of the model; each is asked for once, in this order
 * @param info shape and type, read during the call only
 * @return room for its elements, dense row-major, which stays the program's; NULL ends the run with
 *     out_of_memory. For an output without elements: any address. */
typedef void *(dnnl_tp_onnx_room_fn_t)(void *ctx, int index, const dnnl_tp_tensor_info_t *info);

/** Runs the model on given inputs; compiles what the session does not have. Thread-safe.
 *
 * This is dnnl_tp_onnx_session_get_call() and dnnl_tp_onnx_call_run() in one, also for models whose
 * results have sizes that their elements decide: NonZero, NonMaxSuppression, Unique and Compress,
 * nodes that take a shape, a number or a position that a run computes, branches of an If that make
 * different shapes, a Loop that collects as many values as a run says. Such a model runs in parts;
 * each part is compiled for the sizes that come, and is kept like a call. Between two parts the
 * calling thread computes what these nodes make. A run of a model in parts allocates.
 *
 * @param session a session
 * @param nargs number of the model's inputs
 * @param args in the order of the model's inputs, with the data of all inputs that are given
 * @param room gives room for the outputs, after all sizes are known and before the last part runs;
 *     called by the calling thread
 * @param ctx first argument of room; may be NULL
 * @param opts NULL = defaults, for each part of the run; waiting for another thread that compiles
 *     ends at the deadline, too
 * @return what dnnl_tp_onnx_session_get_call() and dnnl_tp_onnx_call_run() return;
 *     invalid_arguments (an input without data). After a failure the contents of outputs are
 *     undefined. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_session_run(dnnl_tp_onnx_session_t session, int nargs,
                                                          const dnnl_tp_onnx_arg_t *args,
                                                          dnnl_tp_onnx_room_fn_t *room, void *ctx,
                                                          const dnnl_tp_run_opts_t *opts);

/** Drops a call. It outlives its session. Thread-safe.
 *
 * @param call NULL or a call; no other thread may be using this handle
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_onnx_call_destroy(dnnl_tp_onnx_call_t call);

/** Counts of a session. */
typedef struct {
    size_t struct_size;    /**< sizeof(dnnl_tp_onnx_session_stats_t), set by the caller */
    uint64_t graphs;       /**< number of graphs made */
    uint64_t compilations; /**< number of calls compiled */
    uint64_t evictions;    /**< number of calls dropped to make room */
    int calls;             /**< number of calls that are kept now */
    /** number of imports of the model; one that another thread made faster makes no graph */
    uint64_t imports;
    /** how often a new shape was compared with a graph that does not serve it */
    uint64_t failed_guards;
} dnnl_tp_onnx_session_stats_t;

/** Reads the counts. Thread-safe.
 *
 * @param session a session
 * @param[in,out] stats struct_size set by the caller
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_session_query(dnnl_tp_onnx_session_t session,
                                                            dnnl_tp_onnx_session_stats_t *stats);

/** Says in words which shapes the session's graphs serve, the newest graph first: a line for each
 * graph, then a line for each of its guards, "NODE: x.1 == 224", where x.1 is dimension 1 of input x
 * and NODE is the node that needs it (an input's name: the size itself is 0, 1, or 2 and more). Then
 * a line for each capacity and number of new rows that states asked for: whether the past stays in
 * its place, or why not. For people; programs should not rely on the form. Thread-safe.
 *
 * @param session a session
 * @param[out] text the caller's room for the text, which ends with 0; lines that have no room are
 *     left out
 * @param room bytes of text; 0: none, and text may be NULL
 * @param[out] size bytes that the whole text needs, with its 0
 * @return success; invalid_arguments (NULL); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_session_explain(dnnl_tp_onnx_session_t session, char *text,
                                                              size_t room, size_t *size);

/** Drops the caller's handle; calls keep what they need. Thread-safe.
 *
 * @param session NULL or a session
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_onnx_session_destroy(dnnl_tp_onnx_session_t session);

#ifdef __cplusplus
}
#endif

#endif
