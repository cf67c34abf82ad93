/* The graph during one compilation: a copy with known shapes that passes rewrite.
 *
 * Passes, in the order of compile.c: import (ir.c: copy, inference, constants), folding (fold.c)
 * and dead code (sweep.c), fusion (fuse_*.c), lowering to steps (lower*.c), slice groups
 * (slice_groups.c), memory plan (plan.c). Nodes are in an order in which they may run: nodes of an
 * operator's regions directly before it, functions before everything. All memory comes from one
 * arena that ends with the compilation. */
#ifndef DTP_EXEC_COMPILE_IR_IR_H
#define DTP_EXEC_COMPILE_IR_IR_H

#include "exec/compile/ir/selection.h"
#include "exec/graph/graph.h"

/* The place of a value's elements: a plain strided view of a buffer (lower.h). */
typedef struct {
    int buf;                            /* -1: it has no place yet */
    int64_t offset;                     /* bytes */
    int64_t strides[DNNL_TP_MAX_NDIMS]; /* elements */
} dtp_view_t;

typedef struct {
    /* The graph's, or one of dtp_ir_set_info. */
    const dnnl_tp_tensor_info_t *info;
    int region;
    /* Producer; -1: none. */
    int node;
    /* Number of uses by live nodes and outputs. */
    int uses;
    /* Number of these uses that keep it from being fused away: outputs, other regions, orders. */
    int outputs;
    /* Number among the inputs of its region; -1: no input. */
    int input;
    /* The buffer to which it should be written; -1: any. */
    int dest;
    /* It will have channels innermost, and not be row-major (dtp_find_channels_last). */
    bool is_last;
    /* A reader takes channels innermost only. */
    bool wants_last;
    /* A reader does not take pixels that are not adjacent. */
    bool needs_dense;
    /* If its producer writes it, with channels innermost, as a part of a joined tensor: buffer and
     * strides; else -1. */
    int into;
    const int64_t *into_strides;
    /* Of a constant. */
    const void *data;
    /* Identity of the constant in the graph; DTP_CID_OWN; -1: no constant. */
    int64_t cid;
    /* Its elements, if inference may use them (dtp_may_be_known); else NULL. */
    const int64_t *known;
    /* Buffers of its view and of copies of the view: row-major, with channels innermost. -1: none
     * yet. */
    int buf, dense_buf, last_buf;
    int64_t offset;
    /* NULL: dense. */
    const int64_t *strides;
} dtp_ir_value_t;

/* The shape of `value` in a post-operation. */
typedef enum {
    DTP_SPREAD_SAME,    /* as many elements as the node's result */
    DTP_SPREAD_ROW,     /* one for each position in the last dimension */
    DTP_SPREAD_CHANNEL, /* one for each position in dimension 1, of at least three dimensions */
    DTP_SPREAD_ONE
} dtp_ir_spread_t;
/* One post-operation of a fused node. A second operand is always in `value`, regardless of
 * is_binary. */
typedef struct dtp_ir_post {
    bool is_binary;
    bool adds;              /* it adds `value` */
    dtp_ir_spread_t spread; /* of `value` */
    dnnl_tp_alg_kind_t alg;
    float alpha, beta;
    int value; /* the other operand */
} dtp_ir_post_t;
enum { DTP_IR_MAX_POST = 8, DTP_IR_MAX_PARTS = 4 };

/* A map that a fused node applies to each channel of its result before the post-operations:
 * constants with a value for each channel or one for all. */
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
    /* gamma, beta, mean, variance; for other kinds one value, then -1. */
    int value[DTP_IR_AFFINE_ARGS];
} dtp_ir_affine_t;

/* An operator that became a part of another one, for traces. */
typedef struct dtp_ir_fused {
    struct dtp_ir_fused *next;
    const char *name, *kind;
} dtp_ir_fused_t;

typedef struct dtp_ir_node {
    uint8_t kind; /* dtp_node_kind_t */
    /* It runs even if its results are not needed. */
    bool effects;
    /* absorbed: dead, and in the list `fused` of another node. */
    bool dead, absorbed;
    int region;
    const dtp_op_row_t *row; /* of operators */
    const dtp_gnode_t *host; /* of host closures */
    const char *name;
    /* The last one first. */
    dtp_ir_fused_t *fused;
    /* Values whose operators end before this one starts. */
    const int *before;
    /* Of its class. They belong to the graph until a pass replaces the operator. */
    const void *attrs;
    int nbefore;
    int nin, nout;
    const int *in, *out; /* values; in: -1 = absent */
    int naffine;
    /* With room for DTP_IR_MAX_AFFINE as soon as there is one. */
    dtp_ir_affine_t *affine;
    int npost;
    /* With room for DTP_IR_MAX_POST as soon as there is one. */
    dtp_ir_post_t *post;
    /* matmul of one src with nparts weights beside each other: in = src, weights..., biases or
     * -1...; one output for each. */
    int nparts;
    /* matmul: src is {rows, K}, with all dimensions after the first one as one. */
    bool flattens;
    /* Control flow, see dtp_gnode_t. If: yield = results of then, of else. While: yield = next
     * values, live = the variables that are needed, cond_out. Call: sub[0] = function. */
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
    int *out;     /* results of a function */
    bool effects; /* a node in it has effects */
    bool live;    /* its operator runs; the function is called */
} dtp_ir_region_t;

typedef struct dtp_ir {
    dtp_arena_t *arena;
    /* For infos of the graph's values, which the executable keeps. */
    dtp_arena_t *info_arena;
    dtp_graph_t *graph;
    /* The engine of the compilation. */
    dnnl_tp_engine_t engine;
    /* Computes constants: `engine`, or a CPU engine if `engine` cannot read host memory. */
    dnnl_tp_engine_t host;
    bool fuse;
    /* A closure may block or wait. */
    bool may_pend;
    /* One pass of the sweep is enough: there are no loops and no functions. */
    bool simple;
    /* A sweep has been done. */
    bool counted;
    /* Folded constants whose data the store may drop (exec/graph/store.h). */
    struct dtp_ir_folded {
        dtp_derived_t *entry; /* pinned */
        bool is_read;         /* by steps */
    } * folded;
    int nfolded, cap_folded;
    /* Large folded constants of the executable alone: allocations. */
    struct dtp_ir_own {
        void *data;
        bool is_read; /* by steps */
    } * own;
    int nown, cap_own;
    /* Constants that have lost their data are made again. */
    bool remakes;
    /* The compilation failed because it needs dropped data: it is repeated with remakes. */
    bool lacks;
    int nvalues, nnodes, nregions, nops;
    int cap_nodes;            /* capacity of nodes */
    dtp_ir_region_t *regions; /* with the numbers of the graph's */
    int noutputs;
    /* Of the graph, after removal of nodes that only pass values on. */
    const int *outputs;
    /* NULL: the whole graph; else `needed` by node and `feed_of` by value (-1: not fed). */
    const dtp_selection_t *selection;
    const uint8_t *needed;
    const int *feed_of;
    dtp_ir_value_t *values; /* the first graph->nvalues are the graph's */
    dtp_ir_node_t *nodes;   /* in an order in which they may run */
} dtp_ir_t;

/* Called before import: limits it to the nodes that a selection needs (select.c). */
dnnl_tp_status_t dtp_ir_select(dtp_ir_t *ir, const dtp_selection_t *selection);
/* Copies the graph and infers all shapes from the shapes of the inputs (NULL = as declared) and
 * from given values of inputs (NULL = none). */
dnnl_tp_status_t dtp_ir_import(dtp_ir_t *ir, int nin, const dnnl_tp_tensor_info_t *in_shapes,
                               const void *const *in_values);
/* Sets the info of v: a copy, unless it is equal to the old one. arena: the executable's; for
 * rewrites, which come later, the compilation's. */
dnnl_tp_status_t dtp_ir_set_info(dtp_ir_t *ir, int v, const dnnl_tp_tensor_info_t *info, dtp_arena_t *arena);
/* Makes v, whose info is known, a constant of the executable with these elements. */
dnnl_tp_status_t dtp_ir_set_known(dtp_ir_t *ir, int v, const int64_t *values);
/* Marks nodes whose results are not needed as dead, and counts uses. */
void dtp_ir_sweep(dtp_ir_t *ir);
/* Called before the first sweep: finds the nodes that run in any case. */
void dtp_ir_find_effects(dtp_ir_t *ir);
/* Computes operators on constants; all executables of the graph share the results. */
dnnl_tp_status_t dtp_ir_fold(dtp_ir_t *ir);
/* Rewrites; each leaves a valid graph. */
dnnl_tp_status_t dtp_fuse_attention(dtp_ir_t *ir);
dnnl_tp_status_t dtp_fuse_gelu(dtp_ir_t *ir);
dnnl_tp_status_t dtp_fuse_norm(dtp_ir_t *ir);
dnnl_tp_status_t dtp_fuse_parts(dtp_ir_t *ir);
dnnl_tp_status_t dtp_fuse_post_ops(dtp_ir_t *ir);
dnnl_tp_status_t dtp_fuse_pad(dtp_ir_t *ir);
dnnl_tp_status_t dtp_fuse_rows(dtp_ir_t *ir);
dnnl_tp_status_t dtp_fuse_swish(dtp_ir_t *ir);
/* Called after these: f32 values that bf16 operators make and read become bf16, with conversions
 * for other operators. Inputs and outputs, variables of loops, and parameters and results of
 * functions do not change. */
dnnl_tp_status_t dtp_ir_use_bf16(dtp_ir_t *ir);
/* Called after that: matmuls of constant weights flatten their src themselves, in place of an
 * operator before them. */
dnnl_tp_status_t dtp_fuse_flatten(dtp_ir_t *ir);
/* Whether the engine takes operators of this kind and type with this post-operation (bias: as their
 * bias), for the kinds that fuse_post.c extends; whether it takes attention of this type. */
dnnl_tp_status_t dtp_can_fuse(const dtp_ir_t *ir, int kind, dnnl_tp_data_type_t type,
                              const dtp_ir_post_t *post, bool bias, bool *yes);
dnnl_tp_status_t dtp_can_attend(const dtp_ir_t *ir, dnnl_tp_data_type_t type, bool *yes);

/* Called after a rewrite: `into` now does the work of the operator `name` (of this kind), too. If
 * there is no memory, traces lack this. */
void dtp_ir_fused(dtp_ir_t *ir, dtp_ir_node_t *into, const char *name, const char *kind);
/* Called after a rewrite and a sweep: dead operators that made values of `in` are parts of `into`
 * now. */
void dtp_ir_absorb(dtp_ir_t *ir, dtp_ir_node_t *into, const int *in, int nin);

/* ---- Helpers of passes ------------------------------------------------------------------------------- */

static inline bool dtp_ir_is_const(const dtp_ir_t *ir, int v) { return v >= 0 && ir->values[v].cid != -1; }
/* Whether v is a constant that all executables of the graph share. Other constants (DTP_CID_OWN)
 * come from shapes and belong to the executable, so that the graph does not grow in a program with
 * ever new shapes. */
enum { DTP_CID_OWN = -2 };
static inline bool dtp_ir_is_shared(const dtp_ir_t *ir, int v) { return v >= 0 && ir->values[v].cid >= 0; }
/* The producer of v if it is a live operator of this kind, else NULL. */
dtp_ir_node_t *dtp_ir_producer(const dtp_ir_t *ir, int v, int kind);
/* True if v is used once, by a node of its region. */
static inline bool dtp_ir_single(const dtp_ir_t *ir, int v) {
    return ir->values[v].uses == 1 && ir->values[v].outputs == 0;
}
/* The value of an f32 constant with one element. */
bool dtp_ir_scalar(const dtp_ir_t *ir, int v, float *x);

#endif
