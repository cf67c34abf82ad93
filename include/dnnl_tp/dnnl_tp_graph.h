/** @file
 * Graphs of operators, compiled for given shapes and run on a stream.
 *
 * Values are numbers that building calls return. Shapes and types are inferred at once, so a mistake is
 * reported at its operator, with its name. A graph is built by one thread; once an executable was compiled
 * from it, it is immutable. Executables are immutable and may be run by many threads at once, each on a
 * stream of its own. */
#ifndef DNNL_TP_GRAPH_H
#define DNNL_TP_GRAPH_H

#include "dnnl_tp/dnnl_tp_threadpool.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t dnnl_tp_value_t;                                     /**< A value of a graph; -1 = none. */
typedef struct dnnl_tp_graph *dnnl_tp_graph_t;                       /**< A graph. */
typedef const struct dnnl_tp_graph *const_dnnl_tp_graph_t;           /**< Borrowed graph. */
typedef struct dnnl_tp_executable *dnnl_tp_executable_t;             /**< A compiled graph. */
typedef const struct dnnl_tp_executable *const_dnnl_tp_executable_t; /**< Borrowed executable. */

/** Shape and type of a value; dense row-major. A dimension may be DNNL_TP_RUNTIME_DIM_VAL until compilation.
 */
typedef struct {
    int ndims;
    dnnl_tp_dims_t dims;
    dnnl_tp_data_type_t data_type;
} dnnl_tp_tensor_info_t;

/** Kind of an operator. Values below 0x10000 are those of oneDNN's graph API. */
typedef enum {
    dnnl_tp_op_abs = 0,
    dnnl_tp_op_add = 2,
    dnnl_tp_op_bias_add = 8,
    dnnl_tp_op_clamp = 10,
    dnnl_tp_op_concat = 12,
    dnnl_tp_op_divide = 20,
    dnnl_tp_op_elu = 23,
    dnnl_tp_op_exp = 26,
    dnnl_tp_op_gelu = 27,
    dnnl_tp_op_hard_swish = 29,
    dnnl_tp_op_layer_norm = 33,
    dnnl_tp_op_leaky_relu = 35,
    dnnl_tp_op_log = 36,
    dnnl_tp_op_log_softmax = 37,
    dnnl_tp_op_matmul = 39,
    dnnl_tp_op_maximum = 40,
    dnnl_tp_op_minimum = 43,
    dnnl_tp_op_mish = 44,
    dnnl_tp_op_multiply = 46,
    dnnl_tp_op_reciprocal = 50,
    dnnl_tp_op_reduce_l1 = 51,
    dnnl_tp_op_reduce_l2 = 52,
    dnnl_tp_op_reduce_max = 53,
    dnnl_tp_op_reduce_mean = 54,
    dnnl_tp_op_reduce_min = 55,
    dnnl_tp_op_reduce_prod = 56,
    dnnl_tp_op_reduce_sum = 57,
    dnnl_tp_op_relu = 58,
    dnnl_tp_op_round = 61,
    dnnl_tp_op_sigmoid = 62,
    dnnl_tp_op_softmax = 64,
    dnnl_tp_op_softplus = 66,
    dnnl_tp_op_sqrt = 68,
    dnnl_tp_op_square = 70,
    dnnl_tp_op_squared_difference = 71,
    dnnl_tp_op_static_reshape = 72,
    dnnl_tp_op_static_transpose = 73,
    dnnl_tp_op_subtract = 74,
    dnnl_tp_op_tanh = 75,
    dnnl_tp_op_hard_sigmoid = 79,
    dnnl_tp_op_pow = 82,
    dnnl_tp_op_rms_norm = 86,
    /** out[..., :] = table[ids[...], :]. Inputs: table {V, H}, ids s32 or s64 of any shape; an id outside
     * 0..V-1 fails the run. Output: {ids dims..., H}. */
    dnnl_tp_op_gather = 0x10000,
    dnnl_tp_op_erf = 0x10001, /**< erf(x) */
    /** Multi-head scaled dot-product attention: softmax(scale * Q K^T + mask) V for each head, without
     * materialised transposes. Inputs: Q, K, V as {B, S, heads * d} or packed {T, heads * d}; optional mask,
     * additive f32 {B, 1, 1, S} or {B, S}; optional offsets s32 {n + 1} (packed form: sequence i is rows
     * offsets[i]..offsets[i+1]-1). An absent optional input is value -1. Attributes: heads (s64), scale
     * (f32, default 1/sqrt(d)). Output: shape of Q. */
    dnnl_tp_op_attention = 0x10007,
    /** Mean over each sequence, then division by the L2 norm. Inputs: x {B, S, H} or packed {T, H};
     * optional mask {B, S} (1 = counts) or offsets s32 {n + 1}. Attribute: epsilon (f32, default 1e-12, the
     * smallest norm). Output: {B, H} or {n, H}. */
    dnnl_tp_op_pool_normalize = 0x10008
} dnnl_tp_op_kind_t;

/** Name of an operator's attribute. Values below 0x10000 are those of oneDNN's graph API. */
typedef enum {
    dnnl_tp_op_attr_alpha = 1,
    dnnl_tp_op_attr_beta = 2,
    dnnl_tp_op_attr_epsilon = 3,
    dnnl_tp_op_attr_max = 4,
    dnnl_tp_op_attr_min = 5,
    dnnl_tp_op_attr_axis = 48,
    dnnl_tp_op_attr_begin_norm_axis = 49,
    dnnl_tp_op_attr_axes = 64,
    dnnl_tp_op_attr_order = 67,
    dnnl_tp_op_attr_shape = 72,
    dnnl_tp_op_attr_keep_dims = 97,
    dnnl_tp_op_attr_special_zero = 100,
    dnnl_tp_op_attr_transpose_a = 101,
    dnnl_tp_op_attr_transpose_b = 102,
    dnnl_tp_op_attr_use_affine = 103,
    dnnl_tp_op_attr_mode = 132,      /**< gelu: "gelu_erf" (default) or "gelu_tanh" */
    dnnl_tp_op_attr_heads = 0x10000, /**< attention */
    dnnl_tp_op_attr_scale = 0x10001  /**< attention */
} dnnl_tp_op_attr_key_t;

/** Type of an attribute's value. */
typedef enum {
    dnnl_tp_op_attr_s64 = 0,   /**< int64_t[count] */
    dnnl_tp_op_attr_f32 = 1,   /**< float[count] */
    dnnl_tp_op_attr_bool = 2,  /**< uint8_t[count] */
    dnnl_tp_op_attr_string = 3 /**< char[count], no terminator */
} dnnl_tp_op_attr_type_t;

/** An attribute of an operator; the data is copied. */
typedef struct {
    int key;   /**< dnnl_tp_op_attr_key_t */
    int type;  /**< dnnl_tp_op_attr_type_t */
    int count; /**< elements */
    const void *data;
} dnnl_tp_op_attr_t;

#define DNNL_TP_CONSTANT_COPY 0u   /**< The data is copied. */
#define DNNL_TP_CONSTANT_BORROW 1u /**< The data lives until drop(arg) is called (a mapped weight file). */

/** A tensor as a host closure sees it. */
typedef struct {
    const dnnl_tp_tensor_info_t *info;
    void *data;
} dnnl_tp_host_arg_t;

/** A host closure; runs on any thread of the run, must not block. */
typedef dnnl_tp_status_t (*dnnl_tp_host_fn_t)(void *arg, const volatile int *should_stop, int nin,
                                              const dnnl_tp_host_arg_t *in, int nout,
                                              const dnnl_tp_host_arg_t *out);

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_create(dnnl_tp_graph_t *graph, dnnl_tp_engine_kind_t kind);
DNNL_TP_API dnnl_tp_status_t dnnl_tp_graph_destroy(dnnl_tp_graph_t graph);
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_input(dnnl_tp_graph_t graph, dnnl_tp_value_t *value,
                                                     const char *name, dnnl_tp_data_type_t data_type,
                                                     int ndims, const dnnl_tp_dims_t dims);
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_constant(dnnl_tp_graph_t graph, dnnl_tp_value_t *value,
                                                        const char *name, dnnl_tp_data_type_t data_type,
                                                        int ndims, const dnnl_tp_dims_t dims,
                                                        const void *data, unsigned mode,
                                                        void (*drop)(void *arg), void *arg);
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_op(dnnl_tp_graph_t graph, dnnl_tp_op_kind_t kind,
                                                  const char *name, int nin, const dnnl_tp_value_t *in,
                                                  int nattr, const dnnl_tp_op_attr_t *attr, int nout,
                                                  dnnl_tp_value_t *out);
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_host(dnnl_tp_graph_t graph, dnnl_tp_host_fn_t fn, void *arg,
                                                    void (*drop)(void *arg), unsigned flags, const char *name,
                                                    int nin, const dnnl_tp_value_t *in, int nout,
                                                    const dnnl_tp_tensor_info_t *out_info,
                                                    dnnl_tp_value_t *out);
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_output(dnnl_tp_graph_t graph, dnnl_tp_value_t value,
                                                      const char *name);
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_value_info(const_dnnl_tp_graph_t graph, dnnl_tp_value_t value,
                                                          dnnl_tp_tensor_info_t *info);

/** Options of compilation; zeroed members mean defaults. */
typedef struct {
    size_t struct_size; /**< sizeof(dnnl_tp_compile_opts_t) */
    const_dnnl_tp_stream_attr_t
        stream_attr;      /**< The pool that will run it: its thread count is planned for. */
    size_t memory_budget; /**< Largest plan of intermediates in bytes; 0 = none. */
    int deterministic;    /**< 1: nodes with side effects run in graph order. */
    int reserved_runs;    /**< Run objects made at once; 0 = 1. */
    unsigned flags;       /**< DNNL_TP_COMPILE_* */
} dnnl_tp_compile_opts_t;

#define DNNL_TP_COMPILE_NO_FUSION 1u /**< Every operator by itself: a reference for tests. */

/** Compiles the graph for the shapes of its inputs, in order of their creation (NULL = as declared). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_executable_compile(dnnl_tp_executable_t *executable,
                                                            const_dnnl_tp_graph_t graph,
                                                            dnnl_tp_engine_t engine, int nin,
                                                            const dnnl_tp_tensor_info_t *in_shapes,
                                                            const dnnl_tp_compile_opts_t *opts);
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_executable_query(const_dnnl_tp_executable_t executable,
                                                          dnnl_tp_value_t value, dnnl_tp_tensor_info_t *info);
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_executable_reserve(dnnl_tp_executable_t executable, int runs);
DNNL_TP_API dnnl_tp_status_t dnnl_tp_executable_destroy(dnnl_tp_executable_t executable);

/** One traced node of a run. Times are CLOCK_MONOTONIC nanoseconds. */
typedef struct {
    const char *name; /**< Lives as long as the executable. */
    int thread;       /**< Participant that ran it; 0 = the run's first thread. */
    int64_t begin_ns, end_ns;
} dnnl_tp_trace_event_t;

/** What a run fills in, if asked. */
typedef struct {
    size_t struct_size;            /**< sizeof(dnnl_tp_run_stats_t) */
    dnnl_tp_trace_event_t *events; /**< Room of the caller, or NULL. */
    int max_events;                /**< Size of events. */
    int num_events;                /**< Out: events there were; those beyond max_events are not stored. */
    int num_participants;          /**< Out: threads that took part. */
} dnnl_tp_run_stats_t;

/** Options of a run; zeroed members mean defaults. */
typedef struct {
    size_t struct_size; /**< sizeof(dnnl_tp_run_opts_t) */
    int max_threads;    /**< 0 = the stream's. */
    unsigned flags;     /**< must be 0 */
    dnnl_tp_run_stats_t *stats;
} dnnl_tp_run_opts_t;

/** Runs. Inputs and outputs in order of their creation, dense row-major, in the caller's memory; outputs are
 * written by the last operator itself and are undefined when the run fails. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_executable_run(const_dnnl_tp_executable_t executable,
                                                        dnnl_tp_stream_t stream, int nin, void *const *in,
                                                        int nout, void *const *out,
                                                        const dnnl_tp_run_opts_t *opts);

#ifdef __cplusplus
}
#endif

#endif
