/** @file
 * Graphs of operators: building them. Compiling and running: dnnl_tp_executable.h, which comes with this file.
 *
 * Values are numbers that building calls return. Shapes and types are inferred at once, so a mistake is
 * reported at its operator, with its name. A graph is built by one thread; once an executable was compiled
 * from it, it is immutable. */
#ifndef DNNL_TP_GRAPH_H
#define DNNL_TP_GRAPH_H

#include "dnnl_tp/dnnl_tp_operators.h"
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
    int ndims;                     /**< 0 to DNNL_TP_MAX_NDIMS */
    dnnl_tp_dims_t dims;           /**< ndims sizes in elements */
    dnnl_tp_data_type_t data_type; /**< Type of an element. */
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
    int key;          /**< dnnl_tp_op_attr_key_t */
    int type;         /**< dnnl_tp_op_attr_type_t */
    int count;        /**< elements */
    const void *data; /**< the value */
} dnnl_tp_op_attr_t;

#define DNNL_TP_CONSTANT_COPY 0u   /**< The data is copied. */
#define DNNL_TP_CONSTANT_BORROW 1u /**< The data lives until drop(arg) is called (a mapped weight file). */

/** A tensor as a host closure sees it. */
typedef struct {
    const dnnl_tp_tensor_info_t *info; /**< Shape and type. */
    void *data;                        /**< Dense row-major; inputs are read only. */
} dnnl_tp_host_arg_t;

/** The closure may wait for something: a file, a socket, another thread of the program, another operator of
 * the graph that needs none of its results. On a built-in pool with blocking_threads it runs on one of these,
 * is not counted among those that compute, and keeps none of them from other work: num_threads of them go on.
 * As many closures may wait at once as there are blocking_threads; others stay ready until one has ended.
 * Elsewhere (other pools, no pool, runs inside closures or callbacks, streams that run one operator at a time
 * because DNNL_TP_PARALLELISM_INTER is off) it runs like any closure: what it waits for must come from
 * outside the run. While it waits it has to look at dnnl_tp_should_stop(): the run ends after it. What it
 * computes itself is the program's affair; runs of graphs that it starts take part in the pool's admission.
 */
#define DNNL_TP_HOST_MAY_BLOCK 1u

/** The closure may call dnnl_tp_host_wait_event(): its operator can be complete later than the closure returns, and
 * holds no thread meanwhile. On every pool, and without one. Not with DNNL_TP_HOST_MAY_BLOCK. */
#define DNNL_TP_HOST_MAY_WAIT 2u

/** A host closure; runs on any thread of the run. Without DNNL_TP_HOST_MAY_BLOCK it must not block. arg: as
 * given to dnnl_tp_graph_host(); should_stop: for dnnl_tp_should_stop(), which a long closure calls at least
 * once in a millisecond; nin, in: inputs; nout, out: results to fill. Another status than success fails the
 * run with it; dnnl_tp_fail() says why. */
typedef dnnl_tp_status_t (*dnnl_tp_host_fn_t)(void *arg, const volatile int *should_stop, int nin,
                                              const dnnl_tp_host_arg_t *in, int nout,
                                              const dnnl_tp_host_arg_t *out);

/** Is the run of this closure over: failed elsewhere, cancelled, or past its deadline? Then nobody reads the
 * closure's results, and it returns as soon as it can (with any status: the cause is reported). Costs a load,
 * with a deadline a look at the clock. Other threads write the word, so plain reads of it would be a data
 * race, and would not see a deadline pass while no other thread works for the run. Thread-safe.
 *
 * @param should_stop what the closure was given, while it runs; NULL is allowed
 * @return 0 while the run goes on. */
DNNL_TP_API int dnnl_tp_should_stop(const volatile int *should_stop);

/** A part of a loop of a closure: iterations begin .. end - 1. Runs on any thread of the run, several parts at
 * once; must not throw. */
typedef void (*dnnl_tp_host_loop_fn_t)(void *arg, int64_t begin, int64_t end);

/** Runs a loop of a closure on the threads that its run may use, the caller's among them, within the run's own
 * budget: no thread is taken that the run could not have had, and the loop is cut into pieces, so that it ends soon
 * after the run is told to end. With one thread, DNNL_TP_PARALLELISM_INTER alone, or work below the cost of a
 * hand-off, it runs on the calling thread. Called by closures, from their own thread; calls may be nested.
 *
 * @param should_stop what the closure was given, while it runs; NULL: the loop runs on the calling thread (for
 *     closures that are called outside of runs, by tests)
 * @param n iterations
 * @param ns_per_iteration estimated cost of one on one thread, for the size of pieces; 0 = not known (learned)
 * @param fn called with ranges that cover 0..n-1 once
 * @param arg of fn
 * @return success; cancelled (the run ends, and some iterations were left out: the closure returns as soon as it
 *     can); invalid_arguments; runtime_error (a host's run_begin refused). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_host_parallel_for(const volatile int *should_stop, int64_t n,
                                                           int64_t ns_per_iteration,
                                                           dnnl_tp_host_loop_fn_t fn, void *arg);

/** Makes the operator of the calling closure wait for an event: the closure fills its results and returns success at
 * once, and what depends on the operator runs when the event is done. Meanwhile the operator holds no thread; a run
 * that has nothing else to do holds none either (the caller of a synchronous run sleeps), so any number may wait at
 * once. An event that fails fails the run with its status. A run that is cancelled, late or fails elsewhere ends
 * without the event, which may be done later or never. So what comes with the event (bytes of a socket) belongs to
 * the program: an operator behind this one copies it into a tensor; who brings the event must not touch tensors of the
 * run. An asynchronous run that only waits ends at its deadline when a thread that waits for or asks its event or
 * stream sees it. Called by closures with DNNL_TP_HOST_MAY_WAIT, from their own thread, at
 * most once in each call of the closure.
 *
 * @param should_stop what the closure was given, while it runs; NULL: waits here (for closures that are called outside of
 *     runs, by tests)
 * @param event any: of dnnl_tp_event_create_host(), of another stream, of an asynchronous run. May be destroyed
 *     at once, and may be done already. One that can only be done after this run keeps it waiting for ever
 * @return success; invalid_arguments (the operator was added without DNNL_TP_HOST_MAY_WAIT, or waits already);
 *     out_of_memory; with should_stop NULL as dnnl_tp_event_wait(). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_host_wait_event(const volatile int *should_stop,
                                                         dnnl_tp_event_t event);

/* ---- Building a graph -------------------------------------------------------------------------------- */

/** Creates an empty graph. Thread-safe.
 *
 * @param[out] graph owned by the caller; NULL on failure
 * @param kind of an engine; a graph may be compiled for engines of any kind
 * @return success; invalid_arguments (not a kind that an engine can have); unimplemented (this build has no
 *     such engine); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_create(dnnl_tp_graph_t *graph, dnnl_tp_engine_kind_t kind);

/** Names a graph, for errors and traces of its executables ("NAME 2" is the second that a trace saw).
 * Thread-compatible.
 *
 * @param graph the whole graph, not compiled yet
 * @param name copied; NULL or "" = none. Traces show at most 48 bytes of it
 * @return success; invalid_arguments (a region's handle, a compiled graph); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_set_name(dnnl_tp_graph_t graph, const char *name);

/** Lets a graph share its constants with another one: equal constants are held once, what compilations make from them
 * (folded operators, packed weights, copies on devices) is made once, and executables lend each other working memory. Meant
 * for graphs of one model with different sizes. What only one of the graphs needs is freed with it; the graphs may be
 * destroyed in any order. A borrowed constant counts as equal to others at its address: its bytes are the same while any
 * of these graphs has it. Thread-compatible for `graph`, thread-safe for `with`.
 *
 * @param graph the whole graph, without inputs, constants and operators
 * @param with any graph; it may be compiled, and is not kept alive
 * @return success; invalid_arguments (the graph has values, or a handle is none). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_share(dnnl_tp_graph_t graph, const_dnnl_tp_graph_t with);

/** Drops the caller's handle; executables and the constants they share stay alive. Thread-safe.
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
 * @param dims ndims sizes in elements; DNNL_TP_RUNTIME_DIM_VAL = given at compilation
 * @return success; invalid_arguments (the graph was compiled, ndims, a size or the type); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_input(dnnl_tp_graph_t graph, dnnl_tp_value_t *value,
                                                     const char *name, dnnl_tp_data_type_t data_type,
                                                     int ndims, const dnnl_tp_dims_t dims);

/** Adds a constant, dense row-major. Thread-compatible.
 *
 * @param graph not yet compiled
 * @param[out] value its number; -1 on failure
 * @param name copied; NULL allowed
 * @param data_type of its elements
 * @param ndims 0 to DNNL_TP_MAX_NDIMS
 * @param dims ndims sizes in elements
 * @param data as many elements as dims say; with BORROW aligned to its elements
 * @param mode DNNL_TP_CONSTANT_COPY, or DNNL_TP_CONSTANT_BORROW: data lives until drop(arg)
 * @param drop called once, from any thread, when nothing needs data any more, also when this call fails;
 *     NULL = nobody wants to know
 * @param arg passed to drop
 * @return success; invalid_arguments (the graph was compiled, ndims, a size, the type or the mode);
 *     out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_constant(dnnl_tp_graph_t graph, dnnl_tp_value_t *value,
                                                        const char *name, dnnl_tp_data_type_t data_type,
                                                        int ndims, const dnnl_tp_dims_t dims,
                                                        const void *data, unsigned mode,
                                                        void (*drop)(void *arg), void *arg);

/** Adds an operator; the shapes and types of its results are inferred at once. Thread-compatible.
 *
 * @param graph not yet compiled
 * @param kind the operator
 * @param name copied, stands in error texts and traces; NULL allowed
 * @param nin number of inputs
 * @param in values of this graph; -1 = an optional input is absent
 * @param nattr number of attributes
 * @param attr attributes, copied; those that are absent have their defaults
 * @param nout number of results
 * @param[out] out nout numbers, may be the same array as in; all -1 on failure
 * @return success; invalid_shape and invalid_data_type (inputs do not fit each other); invalid_graph_op
 *     (unknown kind, wrong number of inputs or results, a wrong attribute); invalid_arguments (the graph
 *     was compiled, a value is not its); out_of_memory. The text of the error names the operator. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_op(dnnl_tp_graph_t graph, dnnl_tp_op_kind_t kind,
                                                  const char *name, int nin, const dnnl_tp_value_t *in,
                                                  int nattr, const dnnl_tp_op_attr_t *attr, int nout,
                                                  dnnl_tp_value_t *out);

/** Adds a function of the program as an operator. Thread-compatible.
 *
 * @param graph not yet compiled
 * @param fn called whenever the operator runs (in a loop: once per iteration), on any thread of the run;
 *     several runs may call it at once
 * @param arg passed to fn and drop
 * @param drop called once when nothing will call fn any more, also when this call fails; NULL allowed
 * @param flags 0, DNNL_TP_HOST_MAY_BLOCK or DNNL_TP_HOST_MAY_WAIT
 * @param name copied; NULL allowed
 * @param nin number of inputs
 * @param in values of this graph
 * @param nout number of results, may be 0
 * @param out_info nout shapes and types; results may have no elements
 * @param[out] out nout numbers; all -1 on failure
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_host(dnnl_tp_graph_t graph, dnnl_tp_host_fn_t fn, void *arg,
                                                    void (*drop)(void *arg), unsigned flags, const char *name,
                                                    int nin, const dnnl_tp_value_t *in, int nout,
                                                    const dnnl_tp_tensor_info_t *out_info,
                                                    dnnl_tp_value_t *out);

/** Says what a host closure costs, about, so that the first runs share their work well, too. Without it a
 * compiled graph learns that from its runs; results never depend on it. Thread-compatible.
 *
 * @param graph not yet compiled; the graph, region or function of the value
 * @param value result of a host closure
 * @param ns what one call takes on one thread, in nanoseconds; 0 = not known
 * @return success; invalid_arguments (no result of a host closure, another region, ns below 0, the graph was
 *     compiled). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_host_cost(dnnl_tp_graph_t graph, dnnl_tp_value_t value,
                                                         int64_t ns);

/** Makes a value an output of the graph, or the next output of a function. Thread-compatible.
 *
 * @param graph not yet compiled; a graph or a function, no region
 * @param value of the graph
 * @param name copied; NULL allowed
 * @return success; invalid_arguments (the graph was compiled, the value is not its); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_output(dnnl_tp_graph_t graph, dnnl_tp_value_t value,
                                                      const char *name);

/** Gives what is known about a value. Thread-safe.
 *
 * @param graph a graph
 * @param value of the graph
 * @param[out] info shape and type; dimensions may be DNNL_TP_RUNTIME_DIM_VAL
 * @return success; invalid_arguments (not a value of the graph). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_value_info(const_dnnl_tp_graph_t graph, dnnl_tp_value_t value,
                                                          dnnl_tp_tensor_info_t *info);

/* ---- Control flow ------------------------------------------------------------------------------------ */

/** Creates a region: a part of a graph that an operator runs or does not run. It is filled with the building
 * calls above, may read the values that its surroundings made before, and is closed by the operator that
 * takes it (dnnl_tp_graph_if(), dnnl_tp_graph_while()). Regions nest up to 64 deep. A compiled graph has no
 * region that no operator took. Numbers of values are unique in the whole graph. A region belongs to its
 * graph: dnnl_tp_graph_destroy() only gives the handle back. One thread builds a graph with all its regions.
 * Thread-compatible.
 *
 * @param[out] region handle owned by the caller; NULL on failure
 * @param parent the graph, region or function around it; for the body of a loop: the region of its condition
 * @return success; invalid_arguments (the graph was compiled, the parent is closed, too deep); out_of_memory.
 */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_create_region(dnnl_tp_graph_t *region, dnnl_tp_graph_t parent);

/** Adds a choice: one of two regions runs. Thread-compatible.
 *
 * @param graph not yet compiled; a graph, region or function
 * @param name copied; NULL allowed
 * @param pred one element of boolean, u8, s32, s64 or f32; other than 0 = true
 * @param then_region region of graph that runs when pred is true; NULL = nothing runs
 * @param else_region region of graph that runs when pred is false; NULL = nothing runs
 * @param nout number of results
 * @param then_out nout values that then_region made or sees; -1: it makes no such result. Then whoever reads
 * the result finds anything in it when that branch ran.
 * @param else_out the same of else_region; shape and type of each are those of the one in then_out, and one
 * of both is not -1. Where pred is a constant, which nobody feeds, only the branch that runs counts
 * @param[out] out nout numbers; all -1 on failure
 * @return success; invalid_arguments (a value or region is not one that may stand there); invalid_shape,
 *     invalid_data_type (the predicate, or results that differ); out_of_memory. The text names the operator.
 */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_if(dnnl_tp_graph_t graph, const char *name,
                                                  dnnl_tp_value_t pred, dnnl_tp_graph_t then_region,
                                                  dnnl_tp_graph_t else_region, int nout,
                                                  const dnnl_tp_value_t *then_out,
                                                  const dnnl_tp_value_t *else_out, dnnl_tp_value_t *out);

/** Adds a loop: v = init; while (cond(v)) v = body(v); out = v. The variables are the inputs of cond
 * (dnnl_tp_graph_input()); body is a region of cond, so it reads the variables and what cond computed. Shape
 * and type of a variable are the same in all iterations. A variable that is not among the inputs of cond is
 * simply a value around the loop. Thread-compatible.
 *
 * @param graph not yet compiled; a graph, region or function
 * @param name copied; NULL allowed
 * @param cond region of graph whose inputs are the variables
 * @param cond_out value of cond: one element of boolean, u8, s32, s64 or f32; other than 0 = another iteration
 * @param body region of cond
 * @param nvars number of variables, may be 0
 * @param init nvars values of graph: what the variables start with
 * @param body_in nvars inputs of cond, each once
 * @param body_out nvars values that body made or sees: what the variables become
 * @param window iterations that may run beside each other, up to 64; 0 = 1. Takes memory for one more
 * @param[out] out nvars numbers: the variables after the loop; all -1 on failure
 * @return success; invalid_arguments; invalid_shape, invalid_data_type (the condition, or a variable whose
 *     shape or type changes); out_of_memory. The text names the operator. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_while(
    dnnl_tp_graph_t graph, const char *name, dnnl_tp_graph_t cond, dnnl_tp_value_t cond_out,
    dnnl_tp_graph_t body, int nvars, const dnnl_tp_value_t *init, const dnnl_tp_value_t *body_in,
    const dnnl_tp_value_t *body_out, int window, dnnl_tp_value_t *out);

/** Creates a function: a part of a graph that calls run, in any number and within each other. It is filled
 * with the building calls, dnnl_tp_graph_output() names its results in their order. It reads its inputs and
 * the constants of the graph, and may call functions, itself included, before they are filled.
 * Thread-compatible.
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
                                                               dnnl_tp_graph_t root, const char *name,
                                                               int nin, const dnnl_tp_tensor_info_t *in,
                                                               dnnl_tp_value_t *in_values, int nout,
                                                               const dnnl_tp_tensor_info_t *out);

/** Adds a call of a function. How deep calls nest is limited by the options of a run. Thread-compatible.
 *
 * @param graph not yet compiled; a graph, region or function
 * @param name copied; NULL allowed
 * @param function of the same graph
 * @param nin number of inputs of the function
 * @param in values of graph
 * @param nout number of outputs of the function
 * @param[out] out nout numbers; all -1 on failure
 * @return success; invalid_arguments; invalid_shape or invalid_data_type (an input does not fit);
 *     out_of_memory. The text names the operator. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_call(dnnl_tp_graph_t graph, const char *name,
                                                    const_dnnl_tp_graph_t function, int nin,
                                                    const dnnl_tp_value_t *in, int nout,
                                                    dnnl_tp_value_t *out);

/** Orders two operators that share no data: the one that makes `after` starts when the one that makes
 * `before` has ended. If the second runs, the first does, too. Thread-compatible.
 *
 * @param graph not yet compiled; the graph, region or function of `after`
 * @param before result of an operator that was added earlier, here or around graph
 * @param after result of an operator of graph
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_control_dependency(dnnl_tp_graph_t graph,
                                                                  dnnl_tp_value_t before,
                                                                  dnnl_tp_value_t after);

/** Makes an operator run though no output needs it. (Host closures and operators that contain one always do,
 * when what is around them runs.) Thread-compatible.
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
