/* Import of Switch/Merge graphs: types and functions that its files share.
 *
 * Every output of a node is alive in a context, which is a path of conditions: "predicate p is
 * true" (or false), "in the test of loop f", "in the body of loop f", "after the last test of loop
 * f". A Switch makes the path longer, a Merge of both sides of one predicate makes it shorter. If
 * two inputs of a node have paths of which neither is a prefix of the other, the graph has no
 * structure, and the node is refused. import.c resolves names and finds contexts. emit.c makes one
 * If from the connected nodes of a predicate and one While from each frame, and builds the graph
 * from the outside in. Acyclic graphs without structure: live.h. */
#ifndef DTP_SWITCH_MERGE_IMPORT_H
#define DTP_SWITCH_MERGE_IMPORT_H

#include <stdbool.h>
#include <string.h>

#include "switch_merge/dnnl_tp_switch_merge.h"
#include "common/import_memory.h"

#define TRY(expr)                                               \
    do {                                                        \
        const dnnl_tp_status_t try_status_ = (expr);            \
        if (try_status_ != dnnl_tp_success) return try_status_; \
    } while (0)
static inline int dtp_v1_max(int a, int b) { return a > b ? a : b; }

typedef struct {
    int node, out; /* node -1: an absent input */
} dtp_v1_tensor_t;

typedef enum {
    DTP_V1_ROOT,
    DTP_V1_SIDE, /* pred, side */
    DTP_V1_TEST, /* frame */
    DTP_V1_BODY, /* frame; its parent is the test's */
    DTP_V1_AFTER /* frame; its parent is the test's */
} dtp_v1_context_kind_t;

typedef struct {
    dtp_v1_context_kind_t kind;
    /* loops, sides: number of such contexts on the path, including this one. */
    int parent, depth, loops, sides;
    dtp_v1_tensor_t pred;
    int side, frame;
    int next; /* of the same bucket */
} dtp_v1_context_t;

typedef struct {
    const char *name;
    int base;      /* context around the loop; -1: not known yet */
    int loop_cond; /* node; -1: none */
    int window;
    int nvars, cap_vars;
    int *vars; /* Merge nodes */
    int slot;  /* first of its slots, see emit.c */
} dtp_v1_frame_t;

typedef struct {
    const dnnl_tp_v1_node_t *v1;
    int ndata, ncontrol;
    const dtp_v1_tensor_t *in; /* data, then control */
    int context;               /* the context of the node */
    int frame;                 /* frame of an Enter or of the Merge of a loop; else -1 */
    int enter, next;           /* Merge of a loop: its two inputs */
    dtp_v1_tensor_t side[2];   /* Merge of an If: its inputs if false and if true */
    int pair;                  /* Merge of an If: context of one side, else -1 */
    bool loop_switch;
    bool target, taken; /* taken: the graph will call drop */
    int32_t *values;    /* the results, after the node was emitted */
    int32_t result;     /* Merge of a loop: its value after the loop */
    int slot;
} dtp_v1_node_t;

typedef struct {
    int node, next; /* next: the next input to visit */
} dtp_v1_step_t;

typedef struct {
    int n;
    dtp_v1_node_t *nodes;
    int *order; /* nodes, each after its inputs */
    int nframes, cap_frames;
    dtp_v1_frame_t *frames;
    int ncontexts, cap_contexts;
    dtp_v1_context_t *contexts;
    int nbuckets, *buckets; /* of contexts: a power of two; -1: empty */
    int *mark;              /* nodes seen, for each traversal */
    int marks;
    dtp_v1_step_t *path;  /* from a node to its inputs, as deep as the graph */
    bool building, gated; /* building: the graph has nodes; gated: gate.c makes them */
    /* For each value of the graph: number of the call that made it; 0: input or constant. */
    int *maker;
    int cap_maker, makers;
    dtp_import_memory_t memory;
    dnnl_tp_graph_t graph;
} dtp_v1_t;

const char *dtp_v1_kind_name(dnnl_tp_v1_kind_t kind);
/* "node 'x' (Merge): text"; never success. */
dnnl_tp_status_t dtp_v1_refuse(const dtp_v1_t *t, int node, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
/* Number of results of a node. */
int dtp_v1_nout(const dnnl_tp_v1_node_t *v1);
/* Follows identities, and nodes that do not change a value in acyclic control flow, to the node
 * that makes the value. */
dtp_v1_tensor_t dtp_v1_origin(const dtp_v1_t *t, dtp_v1_tensor_t x, bool through_switches);
/* The context in which an output is alive. */
int dtp_v1_alive(const dtp_v1_t *t, dtp_v1_tensor_t x);

/* Finds frames and contexts; t->order must be sorted. */
dnnl_tp_status_t dtp_v1_analyse(dtp_v1_t *t);
/* Fills t->graph. */
dnnl_tp_status_t dtp_v1_emit(dtp_v1_t *t);
/* Analyses and emits an acyclic graph without structure; out: the outputs. */
dnnl_tp_status_t dtp_v1_emit_gated(dtp_v1_t *t, int nout, const dtp_v1_tensor_t *out,
                                   const char *const *names);
/* Emits an input, constant, operator or closure; all other nodes stand for another value. */
dnnl_tp_status_t dtp_v1_emit_node(dtp_v1_t *t, dnnl_tp_graph_t region, int node);
/* Calls fn once for each operator, closure, Merge and Exit after which a node is ordered: those
 * that its control inputs stand for and, with_data, those after which the nodes are ordered that
 * its data only passes through. */
typedef dnnl_tp_status_t (*dtp_v1_maker_fn_t)(void *arg, int maker);
dnnl_tp_status_t dtp_v1_each_before(dtp_v1_t *t, int node, bool with_data, dtp_v1_maker_fn_t fn, void *arg);
/* Orders `after`, the node's value, after the node's control inputs, and keeps it if it is a
 * target. */
dnnl_tp_status_t dtp_v1_order(dtp_v1_t *t, dnnl_tp_graph_t region, int32_t after, int node);
/* Notes that one building call has made these values; -1: none. */
dnnl_tp_status_t dtp_v1_made(dtp_v1_t *t, int n, const int32_t *values);
/* The number of a value in the graph, after its maker was emitted. */
int32_t dtp_v1_value(const dtp_v1_t *t, dtp_v1_tensor_t x);

#endif
