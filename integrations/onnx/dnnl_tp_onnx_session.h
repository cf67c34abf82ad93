/** @file
 * Sessions of ONNX models: a model and its inputs, of whatever shapes they come.
 *
 * A session makes a graph (dnnl_tp_onnx.h) and compiles it for the shapes of the inputs that it is given, and keeps what it
 * compiled. Where the elements of an input determine shapes, they are looked at as well. Runs go to the pool of the
 * program, or to any other that stream attributes name. Many threads may run one session at once, each with its own
 * inputs. Page: doc/onnx.md. */
#ifndef DNNL_TP_ONNX_SESSION_H
#define DNNL_TP_ONNX_SESSION_H

#include "dnnl_tp/dnnl_tp_executable.h"
#include "dnnl_tp/dnnl_tp_threadpool.h"
#include "onnx/dnnl_tp_onnx.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dnnl_tp_onnx_session *dnnl_tp_onnx_session_t; /**< A session of a model. */
typedef struct dnnl_tp_onnx_call *dnnl_tp_onnx_call_t;       /**< The model, compiled for certain inputs. */

/** Options of a session; zeroed members mean defaults. Read during creation only. The struct of an older header, up to trace or up to batch, is
 * accepted. */
typedef struct {
    size_t struct_size; /**< sizeof(dnnl_tp_onnx_session_opts_t) */
    /** The pool that runs go to, kept alive by the session; NULL = the calling thread. */
    const_dnnl_tp_stream_attr_t stream_attr;
    /** How many compiled forms of the model are kept; the least recently used one goes first. 0 = 16. */
    int max_calls;
    int deterministic;     /**< As in dnnl_tp_compile_opts_t. */
    size_t memory_budget;  /**< As in dnnl_tp_compile_opts_t. */
    int64_t max_nodes;     /**< As in dnnl_tp_onnx_graph_opts_t. */
    size_t max_bytes;      /**< As in dnnl_tp_onnx_graph_opts_t. */
    dnnl_tp_trace_t trace; /**< Records the runs, kept alive by the session; NULL = none. */
    int64_t
        batch; /**< First dimension of every input that has one, whatever the file says; 0 = as in the file. */
    dnnl_tp_fpmath_mode_t fpmath_mode; /**< As in dnnl_tp_compile_opts_t. */
} dnnl_tp_onnx_session_opts_t;

/** What an input of the model is in a call. */
typedef struct {
    const dnnl_tp_tensor_info_t
        *info; /**< Shape and type; NULL: not given; allowed where there is a default. */
    /** Dense row-major, the caller's. Looked at, and needed, if DNNL_TP_ONNX_DETERMINES_SHAPES says so; looked at if it is
     * given and DNNL_TP_ONNX_DECIDES_BRANCHES says so: the call then serves these values only. */
    const void *data;
} dnnl_tp_onnx_arg_t;

/** Creates a session. Thread-safe.
 *
 * @param[out] session owned by the caller; NULL on failure
 * @param model kept alive by the session
 * @param engine where runs happen; a CPU; kept alive by the session
 * @param opts NULL = defaults
 * @return success; invalid_arguments (struct_size, a negative number); what dnnl_tp_stream_create_v2() returns;
 *     out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_session_create(dnnl_tp_onnx_session_t *session,
                                                             dnnl_tp_onnx_model_t model,
                                                             dnnl_tp_engine_t engine,
                                                             const dnnl_tp_onnx_session_opts_t *opts);

/** The call for inputs of these shapes; compiled if the session does not have it. Thread-safe; two threads that ask for
 * the same one at once may both compile it, one of the two stays.
 *
 * @param[out] call owned by the caller: dnnl_tp_onnx_call_destroy(); NULL on failure
 * @param session a session
 * @param nargs number of the model's inputs
 * @param args in the order of the model's inputs
 * @return success; invalid_arguments (another number of inputs; one that is not given; another type or another number
 *     of dimensions than the model declares, or a size other than the declared one; two sizes for one symbol: the text
 *     names the input); what dnnl_tp_onnx_graph_create() and dnnl_tp_executable_compile() return. */
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

/** What a call was compiled to, for questions (dnnl_tp_executable_memory(), dnnl_tp_graph_write()). Thread-safe.
 *
 * @param call a call
 * @param[out] graph borrowed, lives as long as the call; NULL: not asked for
 * @param[out] executable borrowed, lives as long as the call; NULL: not asked for
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_call_compiled(dnnl_tp_onnx_call_t call,
                                                            const_dnnl_tp_graph_t *graph,
                                                            const_dnnl_tp_executable_t *executable);

/** Runs a call. Thread-safe; in steady state nothing is allocated.
 *
 * @param call a call
 * @param in data in the order of the model's inputs, dense row-major; those that determine shapes are taken to be what
 *     they were when the call was made, and may be NULL, as may those that were not given
 * @param[out] out room for the outputs, in the order of the model's
 * @param opts NULL = defaults; a trace in them is used in place of the session's
 * @return what dnnl_tp_executable_run() returns; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_call_run(dnnl_tp_onnx_call_t call, const void *const *in,
                                                       void *const *out, const dnnl_tp_run_opts_t *opts);

/** Drops a call. It outlives its session. Thread-safe.
 *
 * @param call NULL or a call that nobody else uses this handle of
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_onnx_call_destroy(dnnl_tp_onnx_call_t call);

/** Counts of a session. */
typedef struct {
    size_t struct_size;    /**< sizeof(dnnl_tp_onnx_session_stats_t), set by the caller */
    uint64_t graphs;       /**< graphs made */
    uint64_t compilations; /**< calls made */
    uint64_t evictions;    /**< calls dropped to make room */
    int calls;             /**< kept now */
} dnnl_tp_onnx_session_stats_t;

/** Reads the counts. Thread-safe.
 *
 * @param session a session
 * @param[in,out] stats struct_size set by the caller
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_session_query(dnnl_tp_onnx_session_t session,
                                                            dnnl_tp_onnx_session_stats_t *stats);

/** Drops the caller's handle; calls keep what they need. Thread-safe.
 *
 * @param session NULL or a session
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_onnx_session_destroy(dnnl_tp_onnx_session_t session);

#ifdef __cplusplus
}
#endif

#endif
