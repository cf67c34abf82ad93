/* The graph during one compilation: a copy with known shapes that passes rewrite.
 *
 * Passes, in the order of compile.c: import (ir.c: copy, inference, constants), folding and dead code (ir.c),
 * fusion (fuse_*.c), lowering to steps (lower*.c), segments (segment.c), memory plan (plan.c). All memory
 * comes from one arena that ends with the compilation. */
#ifndef DTP_EXEC_IR_H
#define DTP_EXEC_IR_H

#include "exec/graph.h"

/* Where a value's elements are: a plain strided view of a buffer (lower.h). */
typedef struct {
    int buf;                            /* -1 = nowhere yet */
    int64_t offset;                     /* bytes */
    int64_t strides[DNNL_TP_MAX_NDIMS]; /* elements */
} dtp_place_t;

typedef struct {
    dnnl_tp_tensor_info_t info;
    int node;         /* producer; -1 */
    int uses;         /* by live nodes and outputs */
    int outputs;      /* how many of the uses are graph outputs */
    int input;        /* number of the graph's input; -1 */
    const void *data; /* constant */
    int64_t cid;      /* identity of the constant; -1 = not a constant */
    dtp_place_t place;
    int dense_buf; /* a dense copy of a view, -1 */
} dtp_ir_value_t;

/* One post-operation of a fused node. */
typedef struct {
    bool is_binary;
    dnnl_tp_alg_kind_t alg;
    float alpha, beta;
    int value; /* binary */
} dtp_ir_post_t;
enum { DTP_IR_MAX_POST = 8, DTP_IR_MAX_PARTS = 4 };

typedef struct {
    const dtp_op_row_t *row; /* NULL: host closure */
    const dtp_gnode_t *host;
    const char *name;
    dtp_op_attrs_t attrs;
    int nin, nout;
    int *in, *out; /* values; in: -1 = absent */
    bool dead;
    int npost;
    dtp_ir_post_t post[DTP_IR_MAX_POST];
    /* matmul of one src with nparts weights side by side: in = src, weights..., biases or -1...; one output
     * each */
    int nparts;
} dtp_ir_node_t;

typedef struct dtp_ir {
    dtp_arena_t *arena;
    dtp_graph_t *graph;
    dnnl_tp_engine_t engine;
    bool fuse;
    int nvalues, nnodes, cap_values, cap_nodes;
    dtp_ir_value_t *values; /* the first graph->nvalues are the graph's */
    dtp_ir_node_t *nodes;   /* in an order in which they may run */
} dtp_ir_t;

/* Copies the graph and infers all shapes from those of the inputs (NULL = as declared). */
dnnl_tp_status_t dtp_ir_import(dtp_ir_t *ir, int nin, const dnnl_tp_tensor_info_t *in_shapes);
/* Marks nodes whose results nobody needs as dead and counts uses. */
void dtp_ir_sweep(dtp_ir_t *ir);
/* Runs operators on constants now; results are shared among all executables of the graph. */
dnnl_tp_status_t dtp_ir_fold(dtp_ir_t *ir);
/* Rewrites; each leaves a valid graph. */
dnnl_tp_status_t dtp_fuse_attention(dtp_ir_t *ir);
void dtp_fuse_gelu(dtp_ir_t *ir);
dnnl_tp_status_t dtp_fuse_parts(dtp_ir_t *ir);
void dtp_fuse_post_ops(dtp_ir_t *ir);

/* ---- Helpers of passes -------------------------------------------------------------------------------- */

static inline bool dtp_ir_is_const(const dtp_ir_t *ir, int v) { return v >= 0 && ir->values[v].cid >= 0; }
/* The producer of v if it is a live operator of this kind, else NULL. */
dtp_ir_node_t *dtp_ir_producer(const dtp_ir_t *ir, int v, int kind);
/* True when v is used once, by a node. */
static inline bool dtp_ir_single(const dtp_ir_t *ir, int v) {
    return ir->values[v].uses == 1 && ir->values[v].outputs == 0;
}
/* The value of an f32 constant with one element. */
bool dtp_ir_scalar(const dtp_ir_t *ir, int v, float *x);
/* Ends a node; its inputs lose a use, and producers that nobody needs any more end too. */
void dtp_ir_kill(dtp_ir_t *ir, int node);
/* Replaces input i of a node. */
void dtp_ir_set_in(dtp_ir_t *ir, dtp_ir_node_t *node, int i, int value);

#endif
