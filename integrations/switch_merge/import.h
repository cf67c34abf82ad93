/* Import of Switch/Merge graphs: what its parts share.
 *
 * Every output of a node is alive in a context: a path of "predicate p is true" (or false), "in the test of
 * loop f", "in the body of loop f", "after the last test of loop f". A Switch makes the path longer, a Merge
 * of both sides of one predicate shorter. Where two inputs of a node have paths of which neither begins with
 * the other, the graph has no structure, and the node is refused. import.c resolves names and finds
 * contexts; emit.c makes one If of the nodes of a predicate that hang together, one While of each
 * frame, and builds the graph from the outside in. Acyclic graphs without structure: live.h. */
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
    int parent, depth, loops, sides; /* loops, sides: such contexts on the path, itself included */
    dtp_v1_tensor_t pred;
    int side, frame;
    int next; /* of the same bucket */
} dtp_v1_context_t;

typedef struct {
    const char *name;
    int base;      /* context around the loop; -1 = not yet known */
    int loop_cond; /* node, -1 */
    int window;
    int nvars, cap_vars;
    int *vars; /* Merge nodes */
    int slot;  /* first of its slots, see emit.c */
} dtp_v1_frame_t;

typedef struct {
    const dnnl_tp_v1_node_t *v1;
    int ndata, ncontrol;
    const dtp_v1_tensor_t *in; /* data, then control */
    int context;               /* where it is */
    int frame;                 /* Enter: which; Merge of a loop: which; else -1 */
    int enter, next;           /* Merge of a loop: its two inputs */
    dtp_v1_tensor_t side[2];   /* Merge of an If: inputs when false, when true */
    int pair;                  /* Merge of an If: context of one side, else -1 */
    bool loop_switch;
    bool target, taken; /* taken: the graph will call drop */
    int32_t *values;    /* results, once they are there */
    int32_t result;     /* Merge of a loop: its value behind it */
    int slot;
} dtp_v1_node_t;

typedef struct {
    int node, next; /* next: input to go to */
} dtp_v1_step_t;

typedef struct {
    int n;
    dtp_v1_node_t *nodes;
    int *order; /* nodes, inputs first */
    int nframes, cap_frames;
    dtp_v1_frame_t *frames;
    int ncontexts, cap_contexts;
    dtp_v1_context_t *contexts;
    int nbuckets, *buckets; /* of contexts: a power of two; -1: empty */
    int *mark;              /* nodes seen, per question */
    int marks;
    dtp_v1_step_t *path;  /* from a node to its inputs, as deep as the graph */
    bool building, gated; /* the graph has got nodes; as gate.c makes them */
    int *maker;           /* per value of the graph: number of the call that made it, 0: input or constant */
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
/* Follows identities, and what does not change a value in acyclic control flow, to where the value is made.
 */
dtp_v1_tensor_t dtp_v1_origin(const dtp_v1_t *t, dtp_v1_tensor_t x, bool through_switches);
/* Where an output is alive. */
int dtp_v1_alive(const dtp_v1_t *t, dtp_v1_tensor_t x);

/* Frames and contexts; the nodes are sorted. */
dnnl_tp_status_t dtp_v1_analyse(dtp_v1_t *t);
/* Fills t->graph. */
dnnl_tp_status_t dtp_v1_emit(dtp_v1_t *t);
/* The same for acyclic graphs without structure, both at once; out: what will be asked for. */
dnnl_tp_status_t dtp_v1_emit_gated(dtp_v1_t *t, int nout, const dtp_v1_tensor_t *out,
                                   const char *const *names);
/* An input, constant, operator or closure; all others stand for another value. */
dnnl_tp_status_t dtp_v1_emit_node(dtp_v1_t *t, dnnl_tp_graph_t region, int node);
/* Calls fn once for each operator, closure, Merge and Exit that a node is ordered behind: those that its control
 * inputs stand for and, with_data, those behind which the nodes are that its data only passes through. */
typedef dnnl_tp_status_t (*dtp_v1_maker_fn_t)(void *arg, int maker);
dnnl_tp_status_t dtp_v1_each_before(dtp_v1_t *t, int node, bool with_data, dtp_v1_maker_fn_t fn, void *arg);
/* `after` is the node's value: it starts when the node's control inputs have ended; and runs if it is a
 * target.
 */
dnnl_tp_status_t dtp_v1_order(dtp_v1_t *t, dnnl_tp_graph_t region, int32_t after, int node);
/* One building call has made these values; -1: none. */
dnnl_tp_status_t dtp_v1_made(dtp_v1_t *t, int n, const int32_t *values);
/* The value in the graph, after its maker was emitted. */
int32_t dtp_v1_value(const dtp_v1_t *t, dtp_v1_tensor_t x);

#endif
