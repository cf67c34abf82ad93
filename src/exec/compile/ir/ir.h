/* The graph during one compilation: a copy with known shapes that passes rewrite.
 *
 * Passes, in the order of compile.c: import (ir.c: copy, inference, constants), folding (fold.c) and dead
 * code ( sweep.c), fusion (fuse_*.c), lowering to steps (lower*.c), slice groups (slice_groups.c), memory
 * plan (plan.c). Nodes stand in an order in which they may run: those of an operator's regions directly
 * before it, functions before everything. All memory comes from one arena that ends with the compilation. */
#ifndef DTP_EXEC_COMPILE_IR_IR_H
#define DTP_EXEC_COMPILE_IR_IR_H

#include "exec/compile/ir/selection.h"
#include "exec/graph/graph.h"

/* Where a value's elements are: a plain strided view of a buffer (lower.h). */
typedef struct {
    int buf;                            /* -1 = nowhere yet */
    int64_t offset;                     /* bytes */
    int64_t strides[DNNL_TP_MAX_NDIMS]; /* elements */
} dtp_view_t;

typedef struct {
    const dnnl_tp_tensor_info_t *info; /* the graph's, or one of dtp_ir_set_info */
    int region;
    int node;         /* producer; -1 */
    int uses;         /* by live nodes and outputs */
    int outputs;      /* how many of the uses keep it from being fused away: outputs, other regions, orders */
    int input;        /* number among the inputs of its region; -1 */
    int dest;         /* the buffer that it should be written to, -1 */
    bool is_last;     /* it will lie with channels innermost, and not be row-major (dtp_find_channels_last) */
    bool wants_last;  /* some reader takes channels innermost only */
    bool needs_dense; /* some reader does not take pixels that lie apart */
    int into; /* channels innermost, part of what they are joined in: the buffer and strides for who makes it; -1 */
    const int64_t *into_strides;
    const void *data;     /* constant */
    int64_t cid;          /* identity of the constant in the graph; DTP_CID_OWN; -1 = not a constant */
    const int64_t *known; /* its elements, if inference may look into them (dtp_may_be_known); NULL */
    /* Its view, and copies of a view: row-major, with channels innermost. */
    int buf, dense_buf, last_buf; /* -1 = nowhere yet */
    int64_t offset;
    const int64_t *strides; /* NULL: dense */
} dtp_ir_value_t;

/* One post-operation of a fused node. Whatever is_binary says, an operator with another operand has it in `value`. */
typedef enum {
    DTP_SPREAD_SAME, /* as many elements as the node's result */
    DTP_SPREAD_ROW,  /* one for each place of the last dimension */
    DTP_SPREAD_CHANNEL /* one for each place of dimension 1, of at least three */,
    DTP_SPREAD_ONE
} dtp_ir_spread_t;
typedef struct dtp_ir_post {
    bool is_binary;
    bool adds;              /* it adds `value` */
    dtp_ir_spread_t spread; /* of `value` */
    dnnl_tp_alg_kind_t alg;
    float alpha, beta;
    int value; /* the other operand */
} dtp_ir_post_t;
enum { DTP_IR_MAX_POST = 8, DTP_IR_MAX_PARTS = 4 };

/* What a fused node does to each channel of its result before the post-operations: constants, with a value for each
 * channel or one for all. */
typedef enum {
    DTP_AFFINE_NORMALISE, /* (x - mean) / sqrt(variance + epsilon) * gamma + beta */
    DTP_AFFINE_MULTIPLY,
    DTP_AFFINE_DIVIDE,
    DTP_AFFINE_ADD,
    DTP_AFFINE_SUBTRACT
} dtp_ir_affine_kind_t;
enum { DTP_IR_AFFINE_ARGS = 4, DTP_IR_MAX_AFFINE = 8 };
typedef struct {
    dtp_ir_affine_kind_t kind;
    float epsilon;
    int value[DTP_IR_AFFINE_ARGS]; /* gamma, beta, mean, variance; the others: one and -1 */
} dtp_ir_affine_t;

/* An operator that became a part of another one, for traces. */
typedef struct dtp_ir_fused {
    struct dtp_ir_fused *next;
    const char *name, *kind;
} dtp_ir_fused_t;

typedef struct dtp_ir_node {
    uint8_t kind;        /* dtp_node_kind_t */
    bool effects;        /* runs though nobody needs its results */
    bool dead, absorbed; /* absorbed: dead, and among the fused of another node */
    int region;
    const dtp_op_row_t *row; /* operators */
    const dtp_gnode_t *host; /* host closures */
    const char *name;
    dtp_ir_fused_t *fused; /* the last one first */
    const int *before;     /* values whose operators end before this one starts */
    const void *attrs;     /* of its class; the graph's, until a pass makes another operator of it */
    int nbefore;
    int nin, nout;
    const int *in, *out; /* values; in: -1 = absent */
    int naffine;
    dtp_ir_affine_t *affine; /* DTP_IR_MAX_AFFINE of them from the first one on */
    int npost;
    dtp_ir_post_t *post; /* DTP_IR_MAX_POST of them from the first one on */
    /* matmul of one src with nparts weights side by side: in = src, weights..., biases or -1...; one output
     * each */
    int nparts;
    bool flattens; /* matmul: src is {rows, K} with all dimensions behind the first one as one */
    /* Control flow, see dtp_gnode_t. If: yield = results of then, of else. While: yield = next values,
     * live = the variables that anybody needs, cond_out. Call: sub[0] = function. */
    int sub[2];
    const int *yield;
    uint8_t *live;
    int cond_out, window;
} dtp_ir_node_t;

typedef struct {
    dtp_region_kind_t kind;
    int nnodes, cap_nodes;
    int *nodes;   /* in their order */
    int *inputs;  /* variables or parameters */
    int *out;     /* functions: results */
    bool effects; /* something in it has */
    bool live;    /* its operator runs; functions: somebody calls it */
} dtp_ir_region_t;

typedef struct dtp_ir {
    dtp_arena_t *arena;
    dtp_arena_t *info_arena; /* of infos of the graph's values, as the executable keeps them */
    dtp_graph_t *graph;
    dnnl_tp_engine_t engine; /* compiled for */
    dnnl_tp_engine_t
        host; /* computes constants: the engine compiled for, or a CPU's where that reads no host memory */
    bool fuse;
    bool may_pend; /* some closure may block or wait */
    bool simple;   /* one pass of the sweep is enough: no loops, no functions */
    bool counted;  /* a sweep has been here */
    /* Folded constants whose data the store may let go (exec/graph/store.h). */
    struct dtp_ir_folded {
        dtp_derived_t *entry; /* pinned */
        bool is_read;         /* by steps */
    } * folded;
    int nfolded, cap_folded;
    bool remakes; /* makes those again that have lost their data */
    bool lacks;   /* the compilation failed because it needs data that is gone: once more, with remakes */
    int nvalues, nnodes, nregions, nops;
    int cap_nodes;            /* places in nodes */
    dtp_ir_region_t *regions; /* as the graph's */
    int noutputs;
    const int *outputs;               /* of the graph, after removal of what only hands values on */
    const dtp_selection_t *selection; /* NULL: the whole graph; else, by node and by value (-1): */
    const uint8_t *needed;
    const int *feed_of;
    dtp_ir_value_t *values; /* the first graph->nvalues are the graph's */
    dtp_ir_node_t *nodes;   /* in an order in which they may run */
} dtp_ir_t;

/* Before import: limits it to what a selection needs (select.c). */
dnnl_tp_status_t dtp_ir_select(dtp_ir_t *ir, const dtp_selection_t *selection);
/* Copies the graph and infers all shapes from those of the inputs (NULL = as declared) and from the values of inputs
 * that are given (NULL = of none). */
dnnl_tp_status_t dtp_ir_import(dtp_ir_t *ir, int nin, const dnnl_tp_tensor_info_t *in_shapes,
                               const void *const *in_values);
/* v has this info from now on: a copy unless it is as before. It belongs to the executable; of rewrites,
 * which come later, to the compilation. */
dnnl_tp_status_t dtp_ir_set_info(dtp_ir_t *ir, int v, const dnnl_tp_tensor_info_t *info, dtp_arena_t *arena);
/* v, whose info is known, is a constant of the executable with these elements. */
dnnl_tp_status_t dtp_ir_set_known(dtp_ir_t *ir, int v, const int64_t *values);
/* Marks nodes whose results nobody needs as dead and counts uses. */
void dtp_ir_sweep(dtp_ir_t *ir);
/* Before the first sweep: what runs in any case. */
void dtp_ir_find_effects(dtp_ir_t *ir);
/* Runs operators on constants now; results are shared among all executables of the graph. */
dnnl_tp_status_t dtp_ir_fold(dtp_ir_t *ir);
/* Rewrites; each leaves a valid graph. */
dnnl_tp_status_t dtp_fuse_attention(dtp_ir_t *ir);
dnnl_tp_status_t dtp_fuse_gelu(dtp_ir_t *ir);
dnnl_tp_status_t dtp_fuse_norm(dtp_ir_t *ir);
dnnl_tp_status_t dtp_fuse_parts(dtp_ir_t *ir);
dnnl_tp_status_t dtp_fuse_post_ops(dtp_ir_t *ir);
dnnl_tp_status_t dtp_fuse_swish(dtp_ir_t *ir);
/* After these: f32 values that operators in bf16 make and read become bf16, converted where others read or make them. Inputs
 * and outputs, variables of loops, what functions take and return stay as they are. */
dnnl_tp_status_t dtp_ir_use_bf16(dtp_ir_t *ir);
/* Behind that: matmuls of constant weights read what is flattened in front of them. */
dnnl_tp_status_t dtp_fuse_flatten(dtp_ir_t *ir);
/* Does the engine take operators of this kind (those that fuse_post.c lets grow) and type with this behind them
 * (bias: as their bias); attention of this type? */
dnnl_tp_status_t dtp_can_fuse(const dtp_ir_t *ir, int kind, dnnl_tp_data_type_t type,
                              const dtp_ir_post_t *post, bool bias, bool *yes);
dnnl_tp_status_t dtp_can_attend(const dtp_ir_t *ir, dnnl_tp_data_type_t type, bool *yes);

/* After a rewrite: into has become what the operator `name` (of this kind) did as well. Without memory
 * traces know less. */
void dtp_ir_fused(dtp_ir_t *ir, dtp_ir_node_t *into, const char *name, const char *kind);
/* After a rewrite and a sweep: operators that made values of `in` and died are parts of `into` now. */
void dtp_ir_absorb(dtp_ir_t *ir, dtp_ir_node_t *into, const int *in, int nin);

/* ---- Helpers of passes ------------------------------------------------------------------------------- */

static inline bool dtp_ir_is_const(const dtp_ir_t *ir, int v) { return v >= 0 && ir->values[v].cid != -1; }
/* A constant that all executables of the graph share, and what is derived of it. Others come from shapes and belong to
 * the executable, so that a program which sees ever new shapes does not let its graph grow. */
enum { DTP_CID_OWN = -2 };
static inline bool dtp_ir_is_shared(const dtp_ir_t *ir, int v) { return v >= 0 && ir->values[v].cid >= 0; }
/* The producer of v if it is a live operator of this kind, else NULL. */
dtp_ir_node_t *dtp_ir_producer(const dtp_ir_t *ir, int v, int kind);
/* True when v is used once, by a node of its region. */
static inline bool dtp_ir_single(const dtp_ir_t *ir, int v) {
    return ir->values[v].uses == 1 && ir->values[v].outputs == 0;
}
/* The value of an f32 constant with one element. */
bool dtp_ir_scalar(const dtp_ir_t *ir, int v, float *x);

#endif
