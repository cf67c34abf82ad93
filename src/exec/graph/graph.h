/* The graph as its user builds it: values, operators, regions, constants.
 *
 * Values and nodes of all regions and functions are in one table each, those of the root handle: a
 * value's number is unique in the whole graph. A region is closed when the operator that owns it is
 * added. So everything that it reads from outside was made before, and the order of nodes is an
 * order in which they may run.
 *
 * One thread builds the graph; the first successful compilation freezes it. From then on only the
 * store changes, which has the data that executables share (store.h). Executables retain their
 * graph. Compilation works on a copy: see ir.h. */
#ifndef DTP_EXEC_GRAPH_GRAPH_H
#define DTP_EXEC_GRAPH_GRAPH_H

#include "common/base/object.h"
#include "common/base/scalar.h"
#include "common/base/arena.h"
#include "exec/graph/op.h"
#include "exec/graph/store.h"

/* Work for the end of the graph that a constant needs. */
typedef struct {
    dtp_source_t *source; /* in the store */
    void (*drop)(void *);
    void *drop_arg;
    const char *recipe; /* of a constant from a text: how its data were made; else NULL */
} dtp_gconstant_t;

typedef struct {
    const dnnl_tp_tensor_info_t *info; /* many values may have the same one */
    /* Name of the input or constant, or of the operator that makes the value. */
    const char *name;
    int region;
    int node;             /* producer; -1: input or constant */
    int input;            /* number among the inputs of its region; -1: no input */
    const int64_t *known; /* its elements (dtp_may_be_known), or NULL */
    /* Both are set for constants. */
    const void *data;
    dtp_gconstant_t *constant;
} dtp_gvalue_t;

typedef enum {
    DTP_NODE_OP,
    DTP_NODE_HOST,
    /* in: predicate; sub: then, else (-1: empty); yield: results of then, of else. */
    DTP_NODE_IF,
    DTP_NODE_WHILE, /* in: initial values; sub: cond, body; yield: condition, next values */
    DTP_NODE_CALL   /* sub: function */
} dtp_node_kind_t;

typedef struct {
    uint8_t kind;   /* dtp_node_kind_t */
    uint8_t flags;  /* DNNL_TP_HOST_* */
    bool target;    /* it runs even if its results are not needed */
    uint8_t window; /* of a While */
    int region;
    int nin, nout;
    const int32_t *in; /* -1 = absent */
    int32_t out;       /* the first result; the others follow */
    int nbefore, cap_before;
    int sub[2];
    int32_t *before; /* values whose operators end before this one starts */
    const char *name;
    const dtp_op_row_t *row; /* of operators */
    const void *attrs;       /* of its class */
    const int32_t *yield;
    int64_t cost_ns; /* of a closure, set by the program; 0: not set */
    dnnl_tp_host_fn_t fn;
    void *arg;
    void (*drop)(void *);
} dtp_gnode_t;

typedef enum {
    DTP_REGION_ROOT,
    DTP_REGION_UNUSED, /* not yet given to an operator */
    DTP_REGION_BRANCH,
    DTP_REGION_COND,
    DTP_REGION_BODY,
    DTP_REGION_FUNCTION
} dtp_region_kind_t;

typedef struct {
    dtp_region_kind_t kind;
    int parent; /* -1: root */
    bool closed;
    const char *name; /* of a function */
    int32_t *inputs;  /* variables of a loop, parameters of a function; of the root: dtp_graph_t */
    int ninputs, cap_inputs;
    int nout, nbound; /* of a function: results, and how many of them have their value */
    const dnnl_tp_tensor_info_t *out_info;
    int32_t *out;
} dtp_gregion_t;

/* A handle of the whole graph (region 0) or of a part of it. */
struct dnnl_tp_graph {
    dtp_object_t obj;
    struct dtp_graph *root; /* retained by the other handles */
    int region;
};

typedef struct dtp_graph {
    struct dnnl_tp_graph base;
    dnnl_tp_engine_kind_t kind;
    dtp_arena_t arena;
    const char *name; /* NULL: none */
    /* The last info that was copied, or NULL. */
    const dnnl_tp_tensor_info_t *last_info;
    dtp_gvalue_t *values;
    dtp_gnode_t *nodes;
    dtp_gregion_t *regions;
    int32_t *inputs, *outputs; /* values; of the root */
    const char **output_names;
    int nvalues, nnodes, nregions, ninputs, noutputs;
    int cap_values, cap_nodes, cap_regions, cap_inputs, cap_outputs, cap_output_names;
    /* How many executables, sessions and running compilations have frozen the graph. */
    _Atomic uint64_t frozen;
    /* Retained; other graphs may share it. */
    dtp_store_t *store;
} dtp_graph_t;

/* Sets by_value[v] = 1 if shapes may depend on the elements of v. by_value: one entry for each
 * value, zeroed. */
void dtp_graph_find_shape_values(const dtp_graph_t *graph, uint8_t *by_value);

/* ---- Building (for build.c and region.c) ------------------------------------------------------------- */

/* Fails if no operators may be added to the handle any more. */
dnnl_tp_status_t dtp_graph_check_open(const struct dnnl_tp_graph *handle);
/* Whether operators of the region can read v. From outside, functions can read constants of the
 * root only. */
bool dtp_graph_sees(const dtp_graph_t *graph, int region, int32_t v);
/* Refuses values that do not exist or that the region cannot read. */
dnnl_tp_status_t dtp_graph_check_values(const dtp_graph_t *graph, int region, dtp_op_id_t id,
                                        const char *what, int n, const int32_t *values, bool optional);
/* A copy of info in the graph, which consecutive equal infos share; NULL: no memory. */
const dnnl_tp_tensor_info_t *dtp_graph_info(dtp_graph_t *graph, const dnnl_tp_tensor_info_t *info);
/* Reserves room, so that the following changes cannot fail. */
dnnl_tp_status_t dtp_graph_reserve(dtp_graph_t *graph, int values, int nodes, int inputs, int outputs);
/* info: from dtp_graph_info. */
dtp_gvalue_t *dtp_graph_push_value(dtp_graph_t *graph, int region, const dnnl_tp_tensor_info_t *info,
                                   const char *name);
/* Adds a node with copies of its name and inputs, and its results; out may be the same array as in.
 */
dnnl_tp_status_t dtp_graph_push_node(dtp_graph_t *graph, int region, dtp_node_kind_t kind, const char *name,
                                     int nin, const int32_t *in, int nout, const dnnl_tp_tensor_info_t *info,
                                     dtp_gnode_t **node, int32_t *out);
/* Adds a region with its own handle (graph.c). */
dnnl_tp_status_t dtp_graph_push_region(dtp_graph_t *graph, const dtp_gregion_t *region,
                                       dnnl_tp_graph_t *handle);
/* Stores -1 in out after a failure. Results may overwrite the array of inputs, so that chains are
 * easy to write: nothing is stored before success. */
dnnl_tp_status_t dtp_graph_settle(dnnl_tp_status_t status, int nout, dnnl_tp_value_t *out);
/* The name of operators of this kind in messages. */
const char *dtp_node_kind_name(const dtp_gnode_t *node);

/* The place of a constant in the engine's memory, where it is kept with the graph (upload.c). */
dnnl_tp_status_t dtp_graph_upload(dtp_graph_t *graph, dnnl_tp_engine_t engine, const void *data, size_t bytes,
                                  const void **handle);

#endif
