/* Models in parts. Some results have a size that only their elements decide (NonZero, a Reshape to a
 * computed shape): a graph ends before such a node, a run of it gives what the node reads, and the
 * next part of the model is imported with what is known then.
 *
 *   part 0:  inputs of the model                    -> tensors that later nodes read
 *   part k:  inputs, given tensors of earlier parts -> such tensors, or the outputs of the model
 *
 * A part is the model once more, in which given tensors are inputs or constants; nodes that make
 * them, and what nobody reads then, leave no trace.
 *
 * A part may end inside of a function, of the branch of an If that is known to run, of an unrolled
 * iteration: names are those of a scope, whose path of nodes tells it from others. An If ends a
 * part, too: the next one has the branch that runs. What a While or both branches of an If hold
 * ends none. */
#ifndef DTP_ONNX_PART_H
#define DTP_ONNX_PART_H

#include "onnx/context.h"

/* A tensor: one that an earlier part made, or what the node at the end of a part reads. */
typedef struct {
    /* Lives as long as the model; path: of the scope that has it. */
    const char *name, *path;
    dnnl_tp_tensor_info_t info;
    const void *data;
    /* The next part has its elements as a constant. */
    bool is_known;
} dtp_given_t;

typedef struct dtp_part {
    /* In: tensors of earlier parts; inputs: receives their numbers in the graph, -1 for constants. */
    int ngiven;
    const dtp_given_t *given;
    dnnl_tp_value_t *inputs;
    /* The import is for a state; NULL: it is not. */
    struct dtp_growing *growing;
    /* Out. The node that the graph ends before; NULL: the graph is complete. */
    const node_proto_t *cut;
    const row_t *row;
    int since;
    /* The node's attributes may refer to those of calls around it. */
    const scope_t *scope;
    /* Inputs of the cut, as bits, that have to become known; 0: its results come from by_data.c. */
    unsigned needs;
    /* The inputs of the cut, or the condition of a body of it. Data are those of constants; NULL:
     * the tensor is given, an output of the graph or an input of the model. */
    int nin;
    dtp_given_t *in;
    /* The graph's outputs, without data, and their numbers in the graph. */
    int nlive;
    dtp_given_t *live;
    dnnl_tp_value_t *live_values;
    /* Holds in, live and scope; the owner of the part begins and ends it. */
    dtp_import_memory_t memory;
} dtp_part_t;

/* As dnnl_tp_onnx_graph_create(), for a part of the model, or with a table of sizes: then the open sizes of
 * the inputs stay open in the graph, and the shapes in opts are hints. part, sizes: may be NULL. A part has
 * no table, and all sizes of its inputs must be known. */
dnnl_tp_status_t dtp_onnx_part_create(dnnl_tp_graph_t *graph, dnnl_tp_onnx_model_t model,
                                      const dnnl_tp_onnx_graph_opts_t *opts, dtp_part_t *part,
                                      dtp_sizes_t *sizes);

/* ---- cut.c -------------------------------------------------------------------------------------------------- */

/* As a status inside of the importer: the part ends here. All converters are left as by a failure. */
enum { DTP_PART_ENDS = -1 };

/* A list of nodes: of a graph or a function. at: the one that is converted. */
typedef struct frame {
    const struct frame *outer;
    const scope_t *scope;
    const graph_proto_t *graph;
    const function_proto_t *function;
    size_t at;
} frame_t;

/* All given tensors become inputs or constants of the graph; those of the main graph get names in
 * s. */
dnnl_tp_status_t dtp_part_begin_all(import_t *im, scope_t *s);
/* The path of a scope inside of the node, which has no name yet, and the given tensors that are
 * its names. */
dnnl_tp_status_t dtp_part_begin(cv_t *cv, scope_t *s);
/* Are all results of the node given? */
bool dtp_part_has(const scope_t *s, const node_proto_t *n);
/* Must the graph end before the node, so that a run tells what it needs? */
bool dtp_part_is_cut(import_t *im, const scope_t *s, const node_proto_t *n);
/* Ends the graph before the node of im->frame: what is read from there on are its outputs.
 * DTP_PART_ENDS, or a failure. */
dnnl_tp_status_t dtp_part_end(import_t *im);
/* Has an iteration of the Loop to tell whether it goes on, so that the number of all is known at
 * last? Then the part ends behind the body that was converted, and its condition becomes known. */
bool dtp_part_ends_behind(cv_t *cv, const graph_proto_t *body);

/* Most inputs and results of a node of by_data.c. */
enum { DTP_BY_DATA_IN = 5, DTP_BY_DATA_OUT = 4 };

/* ---- ops/by_data.c ---------------------------------------------------------------------------------------- */

/* Whether only the elements of its inputs tell the sizes of the node's results. */
bool dtp_onnx_is_by_data(const row_t *row);
/* Whether such a node has the inputs and results that its operator has; else its converter refuses
 * it. */
bool dtp_onnx_by_data_fits(const row_t *row, const node_proto_t *node);
/* The results of such a node; in: its inputs with their elements, NULL: absent. The new elements lie in
 * the memory of the import. */
void dtp_onnx_by_data_run(cv_t *cv, const dtp_given_t *const *in, dtp_given_t *out);

#endif
