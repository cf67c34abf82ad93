/* Lowering: nodes become steps (problems of primitives on buffers), then primitives.
 *
 * A step's problem is complete but for the rows: a segment (segment.c) may create it for a slice. Buffers get
 * their addresses last (plan.c). */
#ifndef DTP_EXEC_LOWER_H
#define DTP_EXEC_LOWER_H

#include "common/primitive_desc.h"
#include "exec/ir.h"

typedef enum { DTP_BUF_SLAB, DTP_BUF_LOCAL, DTP_BUF_INPUT, DTP_BUF_OUTPUT, DTP_BUF_CONST } dtp_buf_kind_t;

typedef struct {
    dtp_buf_kind_t kind;
    int index;        /* input or output number */
    const void *data; /* constant; NULL until packed for derived ones */
    size_t bytes;
    int first, last;    /* steps that write it first and touch it last */
    int64_t offset;     /* in the slab; LOCAL: bytes per unit of the slice's capacity */
    int64_t unit_bytes; /* LOCAL: bytes that one unit (row or sequence) takes */
    int segment;        /* LOCAL */
    int domain;         /* DTP_BY_*: what its units are inside a packed segment */
} dtp_buf_t;
enum { DTP_BY_NONE = 0, DTP_BY_ROW = 1, DTP_BY_SEQ = 2 };

typedef struct {
    int buf;         /* -1 = absent */
    int64_t offset;  /* bytes */
    int64_t advance; /* bytes per unit of the slice; set by segment.c */
    bool written;
    bool sliced; /* advances with the slice */
} dtp_step_arg_t;

/* Weights in the layout that a primitive chose: parts side by side along the columns. */
typedef struct {
    int nparts;
    int64_t cid[DTP_IR_MAX_PARTS];
    const void *data[DTP_IR_MAX_PARTS];
    dtp_md_t src[DTP_IR_MAX_PARTS]; /* as the constants are: {K, N_i}, any strides */
} dtp_packing_t;

typedef struct {
    const char *name;
    const char *kind;                 /* name of the operator's kind */
    const dtp_gnode_t *host;          /* host closures: in and out are args 0..nin+nout-1 */
    size_t copy_bytes;                /* plain copies: from arg 0 to arg 1 */
    dnnl_tp_tensor_info_t *host_info; /* parallel to the args of a host closure */
    dtp_op_desc_t *op;                /* of the arena; NULL for hosts */
    size_t op_size;
    int npost;
    dtp_ir_post_t *post;
    dtp_md_t *post_md; /* src1 of binary post-ops, parallel to post */
    int nargs;         /* the kind's own, by dense index */
    int npost_args;    /* two for each post-op follow: src1, src2 */
    dtp_step_arg_t *arg;
    dtp_packing_t *packing;      /* of arg DTP_MATMUL_WEI, NULL = none */
    dtp_packing_t *bias_packing; /* several biases in a row, arg DTP_MATMUL_BIA */
    double flops, bytes;         /* of the whole problem */
    int segment;                 /* -1 */
    int domain;                  /* DTP_BY_* */
    int64_t rows_per_unit;       /* sliced: leading rows of dst that one unit has */
    bool wants_seq;              /* attention or pooling with offsets */
    bool no_slice;               /* its implementation cannot: set when a first attempt showed it */
    dtp_primitive_t *prim[2];    /* for slices of the larger and of the smaller size */
} dtp_step_t;

typedef struct dtp_lower {
    dtp_ir_t *ir;
    int num_threads;
    int nsteps, cap_steps, nbufs, cap_bufs;
    dtp_step_t **steps;
    dtp_buf_t *bufs;
} dtp_lower_t;

/* Turns all live nodes into steps, in their order. */
dnnl_tp_status_t dtp_lower(dtp_lower_t *lower);
/* Evaluates one node whose inputs are constants, on this thread; *data is room of the graph
 * (dtp_derived_room). */
dnnl_tp_status_t dtp_lower_constant(dtp_ir_t *ir, int node, void **data);
/* Creates step->prim[slot] for `units` of `total` (0 of 0: the whole problem). */
dnnl_tp_status_t dtp_step_create(dtp_lower_t *lower, dtp_step_t *step, int64_t units, int64_t total,
                                 int num_threads, int slot);
/* Sets the first and last step that touch each buffer. */
void dtp_buf_ranges(dtp_lower_t *lower);
/* The lowering of one node, by class (lower_ops.c). */
dnnl_tp_status_t dtp_lower_node(dtp_lower_t *lower, dtp_ir_node_t *node);

/* ---- For lower_ops.c ---------------------------------------------------------------------------------- */

dnnl_tp_status_t dtp_new_buf(dtp_lower_t *lower, size_t bytes, int *buf);
/* A new step with a zeroed problem of size bytes. */
dnnl_tp_status_t dtp_new_step(dtp_lower_t *lower, const dtp_ir_node_t *node, size_t op_size, int kind,
                              int nargs, dtp_step_t **step);
/* Gives v a dense buffer of its own: where it is written. */
dnnl_tp_status_t dtp_place_new(dtp_lower_t *lower, int v);
/* Makes v dense row-major, with a copy if it is a view. The result is in *place. */
dnnl_tp_status_t dtp_place_dense(dtp_lower_t *lower, int v, dtp_place_t *place);
/* Where v is, as a view; inputs and constants get their buffer when they are first looked at. */
dnnl_tp_status_t dtp_place_any(dtp_lower_t *lower, int v, dtp_place_t *place);
bool dtp_place_is_dense(const dtp_ir_value_t *v);
void dtp_dense_strides(int ndims, const int64_t *dims, int64_t *strides);
/* Collapses a view to {prod(dims[0..split)), prod(dims[split..))}; false if its strides do not allow it. */
bool dtp_collapse(const dnnl_tp_tensor_info_t *info, const int64_t *strides, int split, int64_t dims[2],
                  int64_t out[2]);

/* Appends the node's fused post-operations to the step that writes dst. */
dnnl_tp_status_t dtp_add_post_ops(dtp_lower_t *lower, dtp_step_t *step, const dtp_ir_node_t *node,
                                  const dtp_md_t *dst);
dnnl_tp_status_t dtp_lower_matmul(dtp_lower_t *lower, dtp_ir_node_t *node);
/* The eltwise algorithm of a unary operator; false for other nodes. */
bool dtp_unary_alg(const dtp_ir_node_t *node, dnnl_tp_alg_kind_t *alg, float *alpha, float *beta);

#endif
