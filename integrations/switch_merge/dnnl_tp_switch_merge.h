/** @file
 * Import of control-flow graphs of TensorFlow 1: Switch, Merge, Enter, Exit, NextIteration,
 * LoopCond.
 *
 * Such graphs have no regions. A Switch sends its data to one of two outputs, and the nodes after
 * the other output are dead. A Merge passes on the input that is alive. Enter, NextIteration and
 * Exit carry values into, around and out of frames. The import finds the Ifs and loops that these
 * nodes stand for. Acyclic graphs need no structure: nodes that are alive together become an If.
 * doc/import_v1.md lists the graphs that are accepted. The library dnnl_tp_switch_merge has the
 * function of this file; it is linked before dnnl_tp and calls its public functions only. */
#ifndef DNNL_TP_SWITCH_MERGE_H
#define DNNL_TP_SWITCH_MERGE_H

#include "dnnl_tp/dnnl_tp_graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Kind of a node. */
typedef enum {
    dnnl_tp_v1_input = 0,      /**< An input of the graph: info. */
    dnnl_tp_v1_constant,       /**< info, data (copied). Control inputs place it in a branch or loop. */
    dnnl_tp_v1_op,             /**< An operator: op, nattr, attr. An input "" is absent. */
    dnnl_tp_v1_host,           /**< A host closure: fn, arg, drop, flags, nout, out_info. */
    dnnl_tp_v1_identity,       /**< Its input. */
    dnnl_tp_v1_no_op,          /**< Control inputs only. */
    dnnl_tp_v1_switch,         /**< Inputs: data, predicate. Output 0: predicate false; 1: true. */
    dnnl_tp_v1_merge,          /**< The input that is alive; if two are, a run returns invalid_graph. */
    dnnl_tp_v1_enter,          /**< Its input, in frame: in every iteration (is_constant) or the first. */
    dnnl_tp_v1_exit,           /**< Its input, outside of the frame. */
    dnnl_tp_v1_next_iteration, /**< Its input, in the next iteration. */
    dnnl_tp_v1_loop_cond       /**< The predicate of the frame's next iteration. */
} dnnl_tp_v1_kind_t;

/** A node; only the members that its kind names are read. */
typedef struct {
    const char *name;       /**< Unique, not empty. */
    dnnl_tp_v1_kind_t kind; /**< Kind of the node. */
    int nin;                /**< Number of entries of in. */
    const char *const *in;  /**< "name" or "name:output"; then control inputs "^name". */
    /* op */
    dnnl_tp_op_kind_t op;          /**< Operator. */
    int nattr;                     /**< Number of entries of attr. */
    const dnnl_tp_op_attr_t *attr; /**< Attributes of the operator. */
    /* host */
    dnnl_tp_host_fn_t fn;                  /**< As in dnnl_tp_graph_host(). */
    void *arg;                             /**< As there. */
    void (*drop)(void *arg);               /**< As there: called once, even if the import fails. */
    unsigned flags;                        /**< As there. */
    int nout;                              /**< Number of results. */
    const dnnl_tp_tensor_info_t *out_info; /**< Their shapes and types. */
    /* input, constant */
    dnnl_tp_tensor_info_t info; /**< Shape and type. */
    const void *data;           /**< Of a constant. */
    /* enter */
    const char *frame;       /**< Name of the loop. */
    int is_constant;         /**< 1: an invariant. */
    int parallel_iterations; /**< Iterations that may overlap; at most 64 do. */
} dnnl_tp_v1_node_t;

/** Builds a graph from nodes. Thread-safe.
 *
 * @param[out] graph owned by the caller; NULL on failure
 * @param kind of the engines that it will be compiled for
 * @param n number of nodes
 * @param nodes in any order, not needed afterwards
 * @param nout number of outputs
 * @param outputs "name" or "name:output"; they become the names of the outputs
 * @param ntargets number of targets
 * @param targets names of nodes that run even if no output needs them
 * @return success; invalid_graph (the text names the node and the reason: an input that does not
 *     exist, an
 * unknown kind, a cycle outside of loops, several LoopConds in a frame, a Merge with always two
 * live inputs, loops beside control flow without structure); what the building calls return;
 * invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_import_v1(dnnl_tp_graph_t *graph, dnnl_tp_engine_kind_t kind,
                                                         int n, const dnnl_tp_v1_node_t *nodes, int nout,
                                                         const char *const *outputs, int ntargets,
                                                         const char *const *targets);

#ifdef __cplusplus
}
#endif

#endif
