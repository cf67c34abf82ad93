/* The graph as its user builds it: values, operators, regions, constants.
 *
 * Values and nodes of all regions and functions stand in one table each, those of the root handle: a value's
 * number is unique in the whole graph. A region is closed when the operator that owns it is added, so what it
 * reads from outside was made before, and the order of nodes is an order in which they may run.
 *
 * Built by one thread; frozen by the first compilation that succeeds; from then on only the store changes, which has
 * what executables share (store.h). Executables retain their graph. Compilation works on a copy: see ir.h. */
#ifndef DTP_EXEC_GRAPH_GRAPH_H
#define DTP_EXEC_GRAPH_GRAPH_H

#include "common/base/object.h"
#include "common/base/scalar.h"
#include "common/base/arena.h"
#include "exec/graph/op.h"
#include "exec/graph/store.h"

/* What a constant leaves to be done at the end of the graph. */
typedef struct {
    dtp_source_t *source; /* of the store */
    void (*drop)(void *);
    void *drop_arg;
    const char *recipe; /* read from a text: how it made the data, NULL */
} dtp_gconstant_t;

typedef struct {
    const dnnl_tp_tensor_info_t *info; /* many values may have the same one */
    const char *name;                  /* of inputs and constants, of the operator that makes it */
    int region;
    int node;             /* producer, -1 = input or constant */
    int input;            /* number among the inputs of its region, -1 */
    const int64_t *known; /* its elements (dtp_may_be_known), NULL */
    const void *data;     /* constants, which have both: */
    dtp_gconstant_t *constant;
} dtp_gvalue_t;

typedef enum {
    DTP_NODE_OP,
    DTP_NODE_HOST,
    DTP_NODE_IF,    /* in: predicate; sub: then, else (-1 = empty); yield: results of then, of else */
    DTP_NODE_WHILE, /* in: initial values; sub: cond, body; yield: condition, next values */
    DTP_NODE_CALL   /* sub: function */
} dtp_node_kind_t;

typedef struct {
    uint8_t kind;   /* dtp_node_kind_t */
    uint8_t flags;  /* DNNL_TP_HOST_* */
    bool target;    /* runs though nobody needs its results */
    uint8_t window; /* of a While */
    int region;
    int nin, nout;
    const int32_t *in; /* -1 = absent */
    int32_t out;       /* the first; the others follow */
    int nbefore, cap_before;
    int sub[2];
    int32_t *before; /* values whose operators end before this one starts */
    const char *name;
    const dtp_op_row_t *row; /* operators only */
    const void *attrs;       /* of its class */
    const int32_t *yield;
    int64_t cost_ns; /* of a closure, as its author said; 0: nobody did */
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
    const char *name; /* functions */
    int32_t *inputs;  /* variables of a loop, parameters of a function; the root's: dtp_graph_t */
    int ninputs, cap_inputs;
    int nout, nbound; /* functions: results, and how many have their value */
    const dnnl_tp_tensor_info_t *out_info;
    int32_t *out;
} dtp_gregion_t;

/* A handle: of the whole graph (region 0) or of a part of it. */
struct dnnl_tp_graph {
    dtp_object_t obj;
    struct dtp_graph *root; /* retained by the other handles */
    int region;
};

typedef struct dtp_graph {
    struct dnnl_tp_graph base;
    dnnl_tp_engine_kind_t kind;
    dtp_arena_t arena;
    const char *name;                       /* NULL: none */
    const dnnl_tp_tensor_info_t *last_info; /* that was copied; NULL */
    dtp_gvalue_t *values;
    dtp_gnode_t *nodes;
    dtp_gregion_t *regions;
    int32_t *inputs, *outputs; /* values; of the root */
    const char **output_names;
    int nvalues, nnodes, nregions, ninputs, noutputs;
    int cap_values, cap_nodes, cap_regions, cap_inputs, cap_outputs, cap_output_names;
    _Atomic uint64_t frozen; /* by executables, sessions and compilations that go on: how many there were */
    dtp_store_t *store;      /* retained; other graphs may have the same */
} dtp_graph_t;

/* by_value[v] = 1: shapes may come from the elements of v. by_value: zeros at first, one per value. */
void dtp_graph_find_shape_values(const dtp_graph_t *graph, uint8_t *by_value);

/* ---- Building (for build.c and region.c) ------------------------------------------------------------- */

/* The handle may still get operators. */
dnnl_tp_status_t dtp_graph_check_open(const struct dnnl_tp_graph *handle);
/* Can operators of the region read v? Functions read constants of the root and nothing else from outside. */
bool dtp_graph_sees(const dtp_graph_t *graph, int region, int32_t v);
/* Refuses values that do not exist or that the region does not see. */
dnnl_tp_status_t dtp_graph_check_values(const dtp_graph_t *graph, int region, dtp_op_id_t id,
                                        const char *what, int n, const int32_t *values, bool optional);
/* A copy of info in the graph, which equal ones after one another share; NULL when out of memory. */
const dnnl_tp_tensor_info_t *dtp_graph_info(dtp_graph_t *graph, const dnnl_tp_tensor_info_t *info);
/* Room for one more of everything, so that committing cannot fail. */
dnnl_tp_status_t dtp_graph_reserve(dtp_graph_t *graph, int values, int nodes, int inputs, int outputs);
/* info: of dtp_graph_info. */
dtp_gvalue_t *dtp_graph_push_value(dtp_graph_t *graph, int region, const dnnl_tp_tensor_info_t *info,
                                   const char *name);
/* A node with copies of its name and inputs, and its results; out may be the same array as in. */
dnnl_tp_status_t dtp_graph_push_node(dtp_graph_t *graph, int region, dtp_node_kind_t kind, const char *name,
                                     int nin, const int32_t *in, int nout, const dnnl_tp_tensor_info_t *info,
                                     dtp_gnode_t **node, int32_t *out);
/* A region with a handle of its own (graph.c). */
dnnl_tp_status_t dtp_graph_push_region(dtp_graph_t *graph, const dtp_gregion_t *region,
                                       dnnl_tp_graph_t *handle);
/* Results may overwrite the array of inputs, so that chains are easy to write: nothing is stored before success, and
 * without it -1. */
dnnl_tp_status_t dtp_graph_settle(dnnl_tp_status_t status, int nout, dnnl_tp_value_t *out);
/* What operators of this kind are called in messages. */
const char *dtp_node_kind_name(const dtp_gnode_t *node);

/* Where a constant lies in the engine's memory, in which it is kept with the graph (upload.c). */
dnnl_tp_status_t dtp_graph_upload(dtp_graph_t *graph, dnnl_tp_engine_t engine, const void *data, size_t bytes,
                                  const void **handle);

#endif
