/** @file
 * Building graphs of operators. dnnl_tp_executable.h, which this file includes, compiles and runs
 * them.
 *
 * The building calls return values, which are numbers. They infer shapes and types at once, so the
 * call that adds a wrong operator fails, and its error text names the operator. One thread builds a
 * graph. After an executable was compiled from it, the graph is immutable. */
#ifndef DNNL_TP_GRAPH_H
#define DNNL_TP_GRAPH_H

#include "dnnl_tp/dnnl_tp_operators.h"
#include "dnnl_tp/dnnl_tp_threadpool.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A value of a graph; -1 = none. */
typedef int32_t dnnl_tp_value_t;
typedef struct dnnl_tp_graph *dnnl_tp_graph_t;                       /**< A graph. */
typedef const struct dnnl_tp_graph *const_dnnl_tp_graph_t;           /**< Borrowed graph. */
typedef struct dnnl_tp_executable *dnnl_tp_executable_t;             /**< A compiled graph. */
typedef const struct dnnl_tp_executable *const_dnnl_tp_executable_t; /**< Borrowed executable. */

/** Shape and type of a value, which is dense and row-major. A dimension may be
 * DNNL_TP_RUNTIME_DIM_VAL until compilation. */
typedef struct {
    /** 0 to DNNL_TP_MAX_NDIMS */
    int ndims;
    /** ndims sizes in elements */
    dnnl_tp_dims_t dims;
    /** Type of an element. */
    dnnl_tp_data_type_t data_type;
} dnnl_tp_tensor_info_t;

/** Type of an attribute's value. */
typedef enum {
    dnnl_tp_op_attr_s64 = 0,   /**< int64_t[count] */
    dnnl_tp_op_attr_f32 = 1,   /**< float[count] */
    dnnl_tp_op_attr_bool = 2,  /**< uint8_t[count] */
    dnnl_tp_op_attr_string = 3 /**< char[count], no terminator */
} dnnl_tp_op_attr_type_t;

/** An attribute of an operator; the data is copied. */
typedef struct {
    /** dnnl_tp_op_attr_key_t */
    int key;
    /** dnnl_tp_op_attr_type_t */
    int type;
    /** elements */
    int count;
    /** the value */
    const void *data;
} dnnl_tp_op_attr_t;

#define DNNL_TP_CONSTANT_COPY 0u /**< The data is copied. */
/** The program keeps the data until drop(arg) is called (a mapped file of weights). */
#define DNNL_TP_CONSTANT_BORROW 1u

/** An input or result of a host closure. */
typedef struct {
    /** Shape and type. */
    const dnnl_tp_tensor_info_t *info;
    /** Dense row-major; the closure must not write inputs. */
    void *data;
} dnnl_tp_host_arg_t;

/** The closure may wait: for a file, a socket, another thread of the program, or another operator
 * of the graph that needs none of its results. On a built-in pool with blocking_threads the closure
 * runs on one of these threads, while num_threads other threads go on computing. As many closures
 * may wait at the same time as there are blocking_threads; further closures stay ready until one
 * has ended. In all other cases (other pools, no pool, runs inside closures or callbacks, streams
 * without DNNL_TP_PARALLELISM_INTER, which run one operator at a time) the closure runs like any
 * other closure, and must wait only for things outside the run. A waiting closure calls
 * dnnl_tp_should_stop() again and again, because the run cannot end before the closure. The library
 * does not limit the computation of the closure itself; runs of graphs that it starts take part in
 * the pool's admission. */
#define DNNL_TP_HOST_MAY_BLOCK 1u

/** The closure may call dnnl_tp_host_wait_event(): its operator may complete after the closure has
 * returned, and occupies no thread in between. Works on every pool and without a pool. Cannot be
 * combined with DNNL_TP_HOST_MAY_BLOCK. */
#define DNNL_TP_HOST_MAY_WAIT 2u

/** A host closure, which runs on any thread of the run. Without DNNL_TP_HOST_MAY_BLOCK it must not
 * block. arg: the argument of dnnl_tp_graph_host(); should_stop: the argument for
 * dnnl_tp_should_stop(), which a long closure calls at least once in a millisecond; nin, in:
 * inputs; nout, out: results, which the closure writes. A status other than success becomes the
 * status of the run; dnnl_tp_fail() sets its text. */
typedef dnnl_tp_status_t (*dnnl_tp_host_fn_t)(void *arg, const volatile int *should_stop, int nin,
                                              const dnnl_tp_host_arg_t *in, int nout,
                                              const dnnl_tp_host_arg_t *out);

/** Tells a closure whether its run is over: another operator failed, the run was cancelled, or its
 * deadline has passed. The closure then returns as soon as it can, with any status: the run reports
 * the cause, and does not use the closure's results. The call costs one load, and a clock read if
 * the run has a deadline. A plain read of the word would be a data race, because other threads
 * write it, and would miss a deadline that passes while no other thread works for the run.
 * Thread-safe.
 *
 * @param should_stop the closure's own argument, during the call of the closure; may be NULL
 * @return 0 while the run goes on. */
DNNL_TP_API int dnnl_tp_should_stop(const volatile int *should_stop);

/** Computes iterations begin to end - 1 of a closure's loop. Several threads of the run may call it
 * at the same time; it must not throw. */
typedef void (*dnnl_tp_host_loop_fn_t)(void *arg, int64_t begin, int64_t end);

/** Runs a loop of a closure on the threads that its run may use, the calling thread included. It
 * takes no thread beyond the budget of the run, and cuts the loop into pieces, so that the loop
 * ends soon after the run has to end. The loop runs on the calling thread alone if the run has one
 * thread, if the stream has DNNL_TP_PARALLELISM_INTER alone, or if the work is smaller than the
 * cost of a hand-off. Only closures call this function, from their own thread; calls may nest.
 *
 * @param should_stop the closure's own argument, during the call of the closure; NULL: the loop
 *     runs on the calling thread (for tests that call closures outside of runs)
 * @param n iterations
 * @param ns_per_iteration estimated time of one iteration on one thread, in nanoseconds, from which
 *     the size of pieces follows; 0 = not known (the library measures it)
 * @param fn called with ranges that cover 0..n-1 once
 * @param arg of fn
 * @return success; cancelled (the run has to end and some iterations did not run: the closure
 *     returns as soon as it can); invalid_arguments; runtime_error (a host's run_begin refused). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_host_parallel_for(const volatile int *should_stop,
                                                           int64_t n, int64_t ns_per_iteration,
                                                           dnnl_tp_host_loop_fn_t fn, void *arg);

/** Makes the operator of the calling closure wait for an event. The closure writes its results and
 * returns success at once; operators that depend on it run when the event is done. Until then the
 * operator occupies no thread. A run that has nothing else to do occupies no thread either (the
 * caller of a synchronous run sleeps), so any number of operators may wait at the same time. If the
 * event fails, the run fails with the status of the event. A run that is cancelled, misses its
 * deadline or fails in another operator ends without the event, which may become done later or
 * never. Therefore data that arrives with the event (bytes of a socket) belongs to the program, and
 * a later operator copies it into a tensor; the thread that signals the event must not touch
 * tensors of the run. An asynchronous run that does nothing but wait ends at its deadline only when
 * a thread waits for its event or stream, or queries one of them. Only closures with
 * DNNL_TP_HOST_MAY_WAIT call this function, from their own thread, at most once in each call of the
 * closure.
 *
 * @param should_stop the closure's own argument, during the call of the closure; NULL: the call
 *     itself waits (for tests that call closures outside of runs)
 * @param event a host event, an event of another stream, or the event of an asynchronous run. It
 *     may already be done, and the caller may destroy it as soon as the call returns. If it depends
 *     on the end of this run, the run waits for ever
 * @return success; invalid_arguments (the operator was added without DNNL_TP_HOST_MAY_WAIT, or
 *     already waits); out_of_memory; if should_stop is NULL, as dnnl_tp_event_wait(). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_host_wait_event(const volatile int *should_stop,
                                                         dnnl_tp_event_t event);

/* ---- Building a graph ------------------------------------------------------------------------ */

/** Creates an empty graph. Thread-safe.
 *
 * @param[out] graph owned by the caller; NULL on failure
 * @param kind an engine kind; the graph may still be compiled for engines of any kind
 * @return success; invalid_arguments (not a kind that an engine can have); unimplemented (this
 *     build has no such engine); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_create(dnnl_tp_graph_t *graph,
                                                      dnnl_tp_engine_kind_t kind);

/** Names a graph, for error texts and traces of its executables ("NAME 2" is the second executable
 * in a trace). Thread-compatible.
 *
 * @param graph the whole graph, not yet compiled
 * @param name copied; NULL or "" = no name. Traces show at most 48 bytes of it
 * @return success; invalid_arguments (a region's handle, a compiled graph); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_set_name(dnnl_tp_graph_t graph, const char *name);

/** Makes a graph share a store of constants with another graph, for graphs of one model with
 * different sizes. The graphs hold equal constants once, compile folded operators, packed weights
 * and copies on devices once, and their executables use the same working memory in turn. Data that
 * only one of the graphs needs is freed with that graph; the graphs may be destroyed in any order.
 * Borrowed constants at one address count as equal, so the program keeps their bytes unchanged
 * while any of the graphs has one of them. Thread-compatible for `graph`, thread-safe for `with`.
 *
 * @param graph the whole graph, without inputs, constants and operators
 * @param with any graph, compiled or not; not kept alive
 * @return success; invalid_arguments (the graph has values, or a handle is not a graph). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_share(dnnl_tp_graph_t graph,
                                                     const_dnnl_tp_graph_t with);

/** Drops the caller's handle. Executables and the constants that they share stay alive.
 * Thread-safe.
 *
 * @param graph NULL or a graph
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_graph_destroy(dnnl_tp_graph_t graph);

/** Adds an input of the graph. Thread-compatible.
 *
 * @param graph not yet compiled
 * @param[out] value its number; -1 on failure
 * @param name copied; NULL allowed
 * @param data_type of its elements
 * @param ndims 0 to DNNL_TP_MAX_NDIMS
 * @param dims ndims sizes in elements; DNNL_TP_RUNTIME_DIM_VAL = compilation sets the size
 * @return success; invalid_arguments (the graph was compiled, ndims, a size or the type);
 *     out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_input(dnnl_tp_graph_t graph, dnnl_tp_value_t *value,
                                                     const char *name,
                                                     dnnl_tp_data_type_t data_type, int ndims,
                                                     const dnnl_tp_dims_t dims);

/** Adds a constant, dense row-major. Thread-compatible.
 *
 * @param graph not yet compiled
 * @param[out] value its number; -1 on failure
 * @param name copied; NULL allowed
 * @param data_type of its elements
 * @param ndims 0 to DNNL_TP_MAX_NDIMS
 * @param dims ndims sizes in elements
 * @param data as many elements as the product of dims; with DNNL_TP_CONSTANT_BORROW aligned to the
 *     size of an element
 * @param mode DNNL_TP_CONSTANT_COPY, or DNNL_TP_CONSTANT_BORROW: the program keeps data until
 *     drop(arg) is called
 * @param drop called once, from any thread, when the library no longer needs data, also if this
 *     call fails; NULL = no call
 * @param arg passed to drop
 * @return success; invalid_arguments (the graph was compiled, ndims, a size, the type or the mode);
 *     out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_constant(dnnl_tp_graph_t graph,
                                                        dnnl_tp_value_t *value, const char *name,
                                                        dnnl_tp_data_type_t data_type, int ndims,
                                                        const dnnl_tp_dims_t dims, const void *data,
                                                        unsigned mode, void (*drop)(void *arg),
                                                        void *arg);

/** Adds an operator and infers the shapes and types of its results. Thread-compatible.
 *
 * @param graph not yet compiled
 * @param kind the operator
 * @param name copied, appears in error texts and traces; may be NULL
 * @param nin number of inputs
 * @param in values of this graph; -1 for an absent optional input
 * @param nattr number of attributes
 * @param attr attributes, copied; absent attributes have their defaults
 * @param nout number of results
 * @param[out] out nout numbers, may be the same array as in; all -1 on failure
 * @return success; invalid_shape or invalid_data_type (the inputs do not fit each other);
 *     invalid_graph_op (unknown kind, wrong number of inputs or results, a wrong attribute);
 *     invalid_arguments (the graph was compiled, a value does not belong to it); out_of_memory. The
 *     error text names the operator. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_op(dnnl_tp_graph_t graph, dnnl_tp_op_kind_t kind,
                                                  const char *name, int nin,
                                                  const dnnl_tp_value_t *in, int nattr,
                                                  const dnnl_tp_op_attr_t *attr, int nout,
                                                  dnnl_tp_value_t *out);

/** Adds a function of the program (a host closure) as an operator. Thread-compatible.
 *
 * @param graph not yet compiled
 * @param fn called each time the operator runs (in a loop once per iteration), on any thread of the
 *     run; several runs may call it at the same time
 * @param arg passed to fn and drop
 * @param drop called once when the library will no longer call fn, also if this call fails; may be
 *     NULL
 * @param flags 0, DNNL_TP_HOST_MAY_BLOCK or DNNL_TP_HOST_MAY_WAIT
 * @param name copied; NULL allowed
 * @param nin number of inputs
 * @param in values of this graph
 * @param nout number of results, may be 0
 * @param out_info nout shapes and types; a result may have no elements
 * @param[out] out nout numbers; all -1 on failure
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_host(dnnl_tp_graph_t graph, dnnl_tp_host_fn_t fn,
                                                    void *arg, void (*drop)(void *arg),
                                                    unsigned flags, const char *name, int nin,
                                                    const dnnl_tp_value_t *in, int nout,
                                                    const dnnl_tp_tensor_info_t *out_info,
                                                    dnnl_tp_value_t *out);

/** Gives an estimate of the time of a host closure, so that even the first runs divide their work
 * well among threads. Without an estimate a compiled graph measures the time in its runs. Results
 * never depend on it. Thread-compatible.
 *
 * @param graph not yet compiled; the graph, region or function of the value
 * @param value result of a host closure
 * @param ns time of one call on one thread, in nanoseconds; 0 = not known
 * @return success; invalid_arguments (the value is no result of a host closure or belongs to
 *     another region, ns is negative, the graph was compiled). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_host_cost(dnnl_tp_graph_t graph,
                                                         dnnl_tp_value_t value, int64_t ns);

/** Makes a value an output of the graph, or the next output of a function. Thread-compatible.
 *
 * @param graph not yet compiled; a graph or a function, not a region
 * @param value of the graph
 * @param name copied; NULL allowed
 * @return success; invalid_arguments (the graph was compiled, the value does not belong to it);
 *     out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_output(dnnl_tp_graph_t graph, dnnl_tp_value_t value,
                                                      const char *name);

/** Gives the shape and type of a value. Thread-safe.
 *
 * @param graph a graph
 * @param value of the graph
 * @param[out] info shape and type; dimensions may be DNNL_TP_RUNTIME_DIM_VAL
 * @return success; invalid_arguments (not a value of the graph). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_value_info(const_dnnl_tp_graph_t graph,
                                                          dnnl_tp_value_t value,
                                                          dnnl_tp_tensor_info_t *info);

/* ---- Control flow ---------------------------------------------------------------------------- */

/** Creates a region: a part of a graph that an operator runs or skips. The building calls above
 * fill the region. It may read values that the graph or region around it produced before. The call
 * that takes the region (dnnl_tp_graph_if(), dnnl_tp_graph_while()) closes it; a graph in which no
 * operator took a region cannot be compiled. Regions nest at most 64 deep. The numbers of values
 * are unique in the whole graph. A region belongs to its graph: dnnl_tp_graph_destroy() on a region
 * only drops the handle. One thread builds a graph with all its regions. Thread-compatible.
 *
 * @param[out] region handle owned by the caller; NULL on failure
 * @param parent the graph, region or function around it; for the body of a loop: the region of its
 *     condition
 * @return success; invalid_arguments (the graph was compiled, the parent is closed, the region
 *     would be too deep); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_create_region(dnnl_tp_graph_t *region,
                                                             dnnl_tp_graph_t parent);

/** Adds a branch: one of two regions runs. Thread-compatible.
 *
 * @param graph not yet compiled; a graph, region or function
 * @param name copied; NULL allowed
 * @param pred one element of boolean, u8, s32, s64 or f32; any value but 0 is true
 * @param then_region region of graph that runs if pred is true; NULL = nothing runs
 * @param else_region region of graph that runs if pred is false; NULL = nothing runs
 * @param nout number of results
 * @param then_out nout values that then_region produces or may read; -1: then_region does not
 *     produce this result, whose elements are undefined if that branch ran
 * @param else_out nout values of else_region, likewise; at least one of the two values of a result
 *     is not -1, and both have equal shapes and types. If pred is a constant that no session feeds,
 *     only the branch that runs is checked
 * @param[out] out nout numbers; all -1 on failure
 * @return success; invalid_arguments (a value or region must not be used in this place);
 *     invalid_shape or invalid_data_type (the predicate, or results that differ); out_of_memory.
 *     The error text names the operator. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_if(dnnl_tp_graph_t graph, const char *name,
                                                  dnnl_tp_value_t pred, dnnl_tp_graph_t then_region,
                                                  dnnl_tp_graph_t else_region, int nout,
                                                  const dnnl_tp_value_t *then_out,
                                                  const dnnl_tp_value_t *else_out,
                                                  dnnl_tp_value_t *out);

/** Adds a loop: v = init; while (cond(v)) v = body(v); out = v. The variables are the inputs of
 * cond (dnnl_tp_graph_input()); body is a region of cond, so it may read the variables and the
 * values that cond computed. A variable keeps its shape and type in all iterations. The loop reads
 * a value that never changes directly from the graph around it. Thread-compatible.
 *
 * @param graph not yet compiled; a graph, region or function
 * @param name copied; NULL allowed
 * @param cond region of graph whose inputs are the variables
 * @param cond_out value of cond: one element of boolean, u8, s32, s64 or f32; any value but 0
 *     starts another iteration
 * @param body region of cond
 * @param nvars number of variables, may be 0
 * @param init nvars values of graph: the first values of the variables
 * @param body_in nvars inputs of cond, each once
 * @param body_out nvars values that body produces or may read: the next values of the variables
 * @param window number of iterations that may run concurrently, up to 64; 0 = 1. A run takes memory
 *     for window + 1 iterations
 * @param[out] out nvars numbers: the variables after the loop; all -1 on failure
 * @return success; invalid_arguments; invalid_shape or invalid_data_type (the condition, or a
 *     variable whose shape or type changes); out_of_memory. The error text names the operator. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_while(
    dnnl_tp_graph_t graph, const char *name, dnnl_tp_graph_t cond, dnnl_tp_value_t cond_out,
    dnnl_tp_graph_t body, int nvars, const dnnl_tp_value_t *init, const dnnl_tp_value_t *body_in,
    const dnnl_tp_value_t *body_out, int window, dnnl_tp_value_t *out);

/** Creates a function: a part of a graph that any number of calls run, also recursively. The
 * building calls fill the function, and dnnl_tp_graph_output() adds its results in order. A
 * function may read its inputs and the constants of the graph, and may call functions that are not
 * yet filled, itself included. Thread-compatible.
 *
 * @param[out] function handle owned by the caller; NULL on failure
 * @param root the whole graph, not a region
 * @param name copied; NULL allowed
 * @param nin number of inputs
 * @param in shapes and types of the inputs, without run-time dimensions
 * @param[out] in_values nin numbers: the inputs as values of the function; all -1 on failure
 * @param nout number of outputs
 * @param out shapes and types of the outputs
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_create_function(dnnl_tp_graph_t *function,
                                                               dnnl_tp_graph_t root,
                                                               const char *name, int nin,
                                                               const dnnl_tp_tensor_info_t *in,
                                                               dnnl_tp_value_t *in_values, int nout,
                                                               const dnnl_tp_tensor_info_t *out);

/** Adds a call of a function. The options of a run limit the depth of nested calls.
 * Thread-compatible.
 *
 * @param graph not yet compiled; a graph, region or function
 * @param name copied; NULL allowed
 * @param function of the same graph
 * @param nin number of inputs of the function
 * @param in values of graph
 * @param nout number of outputs of the function
 * @param[out] out nout numbers; all -1 on failure
 * @return success; invalid_arguments; invalid_shape or invalid_data_type (an input does not fit);
 *     out_of_memory. The error text names the operator. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_call(dnnl_tp_graph_t graph, const char *name,
                                                    const_dnnl_tp_graph_t function, int nin,
                                                    const dnnl_tp_value_t *in, int nout,
                                                    dnnl_tp_value_t *out);

/** Orders two operators that share no data: the producer of `after` starts when the producer of
 * `before` has ended. If the producer of `after` runs, the producer of `before` runs too.
 * Thread-compatible.
 *
 * @param graph not yet compiled; the graph, region or function of `after`
 * @param before result of an operator that was added earlier, to graph or to the graph or region
 *     around it
 * @param after result of an operator of graph
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_control_dependency(dnnl_tp_graph_t graph,
                                                                  dnnl_tp_value_t before,
                                                                  dnnl_tp_value_t after);

/** Makes an operator run even if no output needs it. (A host closure, or an operator that contains
 * one, always runs if the region around it runs.) Thread-compatible.
 *
 * @param graph not yet compiled; the graph, region or function of the value
 * @param value result of the operator
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_target(dnnl_tp_graph_t graph, dnnl_tp_value_t value);

#ifdef __cplusplus
}
#endif

#include "dnnl_tp/dnnl_tp_executable.h"

#endif
