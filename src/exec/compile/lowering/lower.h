/* Lowering: nodes become steps (problems of primitives on buffers), then primitives.
 *
 * Steps stand in one list in the order of the program text: then before else, condition before body,
 * functions behind the root; control steps mark where parts begin and end. So the number of a step is a time:
 * what is used before another buffer is first written is free by then (loops: dtp_buf_ranges).
 *
 * A scope is where buffers live together: the root, an iteration of a loop, a call of a function. Branches
 * have none of their own. A step's problem is complete but for the rows: a slice group (slice_groups.c)
 * may create it for a slice. Buffers get their addresses last (plan.c). */
#ifndef DTP_EXEC_COMPILE_LOWERING_LOWER_H
#define DTP_EXEC_COMPILE_LOWERING_LOWER_H

#include "common/primitive/primitive_desc.h"
#include "common/problems/matmul.h"
#include "exec/compile/ir/ir.h"

typedef enum {
    DTP_BUF_INSTANCE,
    DTP_BUF_LOCAL,
    DTP_BUF_INPUT,
    DTP_BUF_OUTPUT,
    DTP_BUF_CONST,
    DTP_BUF_VAR, /* behind a pointer of its scope: variable of a loop; parameter or result of a function */
    DTP_BUF_PART /* some bytes of another buffer, with a writer of their own */
} dtp_buf_kind_t;

typedef struct {
    uint8_t kind;   /* dtp_buf_kind_t */
    uint8_t domain; /* DTP_BY_*: what its units are inside a packed slice group */
    int scope;
    union {
        int index;   /* input, output or pointer number */
        int part_of; /* PART: the buffer that it lies in, from part_at on */
    };
    int slice_group;  /* LOCAL */
    int first, last;  /* steps that write it first and touch it last */
    const void *data; /* constant; NULL until packed for derived ones */
    size_t bytes;
    int64_t offset; /* in the instance; LOCAL: bytes per unit of the slice's capacity */
    union {
        int64_t unit_bytes; /* LOCAL: bytes that one unit (row or sequence) takes */
        int64_t part_at;
    };
} dtp_buf_t;
enum { DTP_BY_NONE = 0, DTP_BY_ROW = 1, DTP_BY_SEQ = 2 };

typedef struct {
    int64_t offset;  /* bytes */
    int64_t advance; /* bytes per unit of the slice; set by slice_groups.c */
    int buf;         /* -1 = absent */
    bool written;
    bool sliced; /* advances with the slice */
} dtp_step_arg_t;

/* A map of channels, x to scale x + shift: steps one after the other, of constants of the graph with a value for each
 * channel or one for all. */
typedef struct {
    dtp_ir_affine_kind_t kind;
    float epsilon;
    int64_t cid[DTP_IR_AFFINE_ARGS];
    const float *data[DTP_IR_AFFINE_ARGS];
    int stride[DTP_IR_AFFINE_ARGS]; /* 0: one value for all */
} dtp_affine_step_t;
typedef struct {
    int n;
    dtp_affine_step_t step[];
} dtp_affine_t;

/* A constant argument of a step, in the layout that the primitive chose: parts side by side along the columns, or one
 * part. */
typedef struct {
    int64_t cid;      /* -1: no constant */
    const void *data; /* NULL: zeros, or ones where they are scaled */
    dtp_md_t src;     /* as the constant is, any strides; of several parts {K, N_i} */
} dtp_packed_part_t;
typedef enum {
    DTP_PACK_AS_IS,
    DTP_PACK_SCALED, /* of one f32 part, whose first dimensions are channels, each channel times the scale of affine */
    DTP_PACK_MAPPED, /* and the shift added: a value for each channel */
    DTP_PACK_PIXELS  /* of one part {K, N}, whose rows stand channel by channel: pixel by pixel */
} dtp_pack_role_t;
typedef struct dtp_packing {
    struct dtp_packing *next; /* of the step */
    int arg;
    dtp_pack_role_t role;
    const dtp_affine_t *affine;
    int64_t channels; /* of affine, of pixels */
    int nparts;
    dtp_packed_part_t part[];
} dtp_packing_t;

/* Control steps and their arguments. */
typedef enum {
    DTP_CTL_NONE,
    DTP_CTL_IF,    /* predicate; other: ELSE */
    DTP_CTL_ELSE,  /* other: ENDIF */
    DTP_CTL_ENDIF, /* other: IF */
    DTP_CTL_WHILE, /* initial values of the variables; other: EXIT; in the scope around the loop */
    DTP_CTL_TEST,  /* condition; other: EXIT */
    DTP_CTL_NEXT,  /* next values of the variables; other: WHILE */
    DTP_CTL_EXIT,  /* variables, then as many results; other: WHILE */
    DTP_CTL_CALL,  /* parameters, then results; other: number of the function's scope */
    DTP_CTL_JOIN,  /* parts, then the buffer that they are all of: it is there when they are */
    DTP_CTL_END    /* of the root, of a function */
} dtp_ctl_t;

typedef struct {
    int parent; /* -1: root and functions */
    int begin;  /* WHILE; functions: the first step */
    int end;    /* EXIT; functions: END */
    int nvars;  /* pointers */
    int window;
} dtp_lower_scope_t;

/* What a primitive of a step is made for: units of the total, 0 of 0: the whole problem. */
typedef struct {
    int64_t units, total;
    int num_threads;
} dtp_made_for_t;

/* What steps but closures have. */
typedef struct {
    const dtp_ir_fused_t *fused;
    dtp_op_work_t work; /* of the whole problem; copies: their bytes */
    size_t op_size;
    dtp_pd_arg_t *md;     /* of a problem, parallel to the arguments; md NULL: absent (dtp_describe_steps) */
    int dst;              /* of a problem: the first argument that it writes */
    dtp_cut_fn_t *cut;    /* what slices of the result make of its arguments; NULL: it has no slices */
    uint8_t offsets;      /* 1 + the argument with offsets of sequences; 0 = none */
    bool whole_sequences; /* dimension 0 counts sequences or packed rows, never rows of several dimensions */
    bool pools;           /* with offsets: a result row is a sequence */
    int npost;
    dtp_ir_post_t *post;
    dtp_md_t *post_md;          /* src1 of binary post-ops, parallel to post */
    dtp_packing_t *packing;     /* the first; of constants that the primitive reads in a layout of its own */
    int64_t rows_per_unit;      /* sliced: leading rows of dst that one unit has */
    dtp_primitive_t *prim[2];   /* for slices of the larger and of the smaller size */
    dtp_made_for_t made_for[2]; /* each */
    size_t copy_bytes;          /* plain copies: from arg 0 to arg 1 */
    int pred_type;              /* IF, TEST: type of the predicate */
    int first_body;             /* TEST: the first buffer of the body */
    size_t *sizes;              /* EXIT: bytes of each variable */
} dtp_work_t;

typedef struct dtp_step {
    const char *name;
    const char *kind; /* name of the operator's kind */
    uint8_t ctl;      /* dtp_ctl_t */
    uint8_t domain;   /* DTP_BY_* */
    bool no_slice;    /* its implementation cannot: set when a first attempt showed it */
    int other;
    int scope;       /* whose pointers its arguments count from */
    int slice_group; /* -1 */
    int norder;
    int nargs;                     /* the kind's own, by dense index */
    int npost_args;                /* two for each post-op follow: src1, src2 */
    dtp_step_arg_t *arg;           /* behind the step */
    int *order;                    /* buffers that must be written before, though it does not read them */
    const dtp_gnode_t *host;       /* host closures: in and out are args 0..nin+nout-1 */
    const int *host_in, *host_out; /* its values */
    dtp_op_desc_t *op;             /* of the arena; NULL: no problem */
    dtp_work_t *work;              /* never NULL; closures share one that nobody writes */
} dtp_step_t;

typedef struct dtp_lower {
    dtp_ir_t *ir;
    dnnl_tp_engine_t engine; /* that runs the steps */
    int num_threads;
    bool tf32;             /* primitives may round f32 to it */
    bool refuse_reference; /* in primitives of runs; constants are computed once */
    bool at_once;          /* steps run here and now, on constants: these are not packed */
    int nsteps, cap_steps, nbufs, cap_bufs;
    int nproblems, nhosts,
        nhost_refs; /* of the steps: with a primitive, closures, and these ones' arguments */
    dtp_step_t **steps;
    dtp_buf_t *bufs;
    int scope; /* of new steps and buffers */
    int nscopes, cap_scopes;
    dtp_lower_scope_t *scopes;
    int *function_scope; /* by region */
    int *dense;          /* values with a dense copy that the open blocks made, in their order */
    int ndense, cap_dense;
    int *item_end; /* NULL, or per step: the last one of the item that begins here (schedule.c); -1 */
    int *stage_of; /* per step */
} dtp_lower_t;

/* Turns all live nodes into steps, in their order. */
dnnl_tp_status_t dtp_lower(dtp_lower_t *lower);
/* The lowering of one operator, by its class. */
dnnl_tp_status_t dtp_lower_op(dtp_lower_t *lower, dtp_ir_node_t *node);
/* Evaluates one node whose inputs are constants, on this thread (constant.c); data[i]: where result i goes, bytes[i]. */
dnnl_tp_status_t dtp_lower_constant(dtp_ir_t *ir, int node, const size_t *bytes, void *const *data);
/* Creates step->prim[slot] for `units` of `total` (0 of 0: the whole problem). */
dnnl_tp_status_t dtp_step_create(dtp_lower_t *lower, dtp_step_t *step, int64_t units, int64_t total,
                                 int num_threads, int slot);
/* Makes the constants of all packings, in the layouts that the steps' primitives chose (packing.c). */
dnnl_tp_status_t dtp_pack_constants(dtp_lower_t *lower);
/* Where the descriptor of an argument stands, of post-operations too; NULL: it has none. op: the step's own, or that of
 * its primitive. */
const dtp_md_t *dtp_step_md(const dtp_step_t *step, const dtp_op_desc_t *op, int arg);
/* Fills in what follows from the problems of steps: descriptors of their arguments, work. */
dnnl_tp_status_t dtp_describe_steps(dtp_lower_t *lower);
/* Estimate of a step on one thread in nanoseconds. */
double dtp_step_ns(const dtp_step_t *step);
/* Can the primitive of a step compute leading rows? Behind dtp_step_create. */
bool dtp_step_takes_rows(const dtp_step_t *step);
/* Creates the primitives of all steps that have none yet. Behind dtp_slice_groups. */
dnnl_tp_status_t dtp_create_steps(dtp_lower_t *lower, int num_threads);
/* Sets the first and last step that touch each buffer; what a loop reads from outside lasts until its end. */
void dtp_buf_ranges(dtp_lower_t *lower);
/* Parts of buffers (parts.c): a step writes to one beside those that write to others. Who reads the whole
 * comes after dtp_join_parts. bytes: of a part whose rows lie apart, rows times bytes from row to row. */
dnnl_tp_status_t dtp_new_part(dtp_lower_t *lower, int whole, int64_t at, size_t bytes, int *buf);
dnnl_tp_status_t dtp_join_parts(dtp_lower_t *lower, const dtp_ir_node_t *node, const int *parts, int nparts);
/* Before the region of n, which joins its inputs (DTP_OP_JOINS), is lowered: where its result has them one
 * behind the other in memory, their writers will put them there, as parts. */
dnnl_tp_status_t dtp_want_parts(dtp_lower_t *lower, const dtp_ir_node_t *node);
/* Lowers n, a join of channels that was wanted so: parts that nobody wrote in place are copied there. */
dnnl_tp_status_t dtp_join_channels(dtp_lower_t *lower, const dtp_ir_node_t *node);
/* The buffer that a part lies in, which may be a part itself, and where; other buffers: itself. */
int dtp_whole_of(const dtp_lower_t *lower, int buf, int64_t *at);
/* Dense in any order of dimensions (dim_order.c); dim: outermost first. */
typedef struct {
    int ndims, dim[DNNL_TP_MAX_NDIMS];
} dtp_dim_order_t;
/* True: v, an input of n with these strides, is dense in an order that is not row-major, and the result of n may be so,
 * too. */
bool dtp_dim_order(const dtp_lower_t *lower, const dtp_ir_node_t *n, int v, const int64_t *strides,
                   dtp_dim_order_t *order);
/* v with channels innermost, dense or with pixels that lie apart. Otherwise: a copy of it, or as it is, and *is_last false. */
dnnl_tp_status_t dtp_view_pixels(dtp_lower_t *lower, int v, dtp_view_t *view, bool copies, bool *is_last);
/* Where the maker of v writes it, channels innermost: a buffer of its own, or its part of what it is joined in. */
dnnl_tp_status_t dtp_view_new_pixels(dtp_lower_t *lower, int v);
/* The order in which a tensor is dense; false: in none. */
bool dtp_order_of(const dnnl_tp_tensor_info_t *info, const int64_t *strides, dtp_dim_order_t *order);
/* Marks the results of n that will lie with channels innermost, once those of the nodes before it are marked. */
void dtp_find_channels_last(const dtp_ir_t *ir, const dtp_ir_node_t *n);
/* Is a tensor, with dimensions of 1 before its own where it has fewer, dense in that order? */
bool dtp_is_dense_in(const dnnl_tp_tensor_info_t *info, const int64_t *strides, const dtp_dim_order_t *order);
/* N, the spatial dimensions, C: what convolutions compute in. */
void dtp_order_channels_last(int ndims, dtp_dim_order_t *order);
void dtp_order_strides(const dnnl_tp_tensor_info_t *info, const dtp_dim_order_t *order, int64_t *strides);
/* v in that order, channels last; a copy where it lies otherwise, which all such readers share. */
dnnl_tp_status_t dtp_view_in(dtp_lower_t *lower, int v, const dtp_dim_order_t *order, dtp_view_t *view);
/* A buffer for v in that order; the descriptor, dimensions in the order of memory. */
dnnl_tp_status_t dtp_view_new_in(dtp_lower_t *lower, int v, const dtp_dim_order_t *order);
dnnl_tp_status_t dtp_md_in(dtp_md_t *md, const dnnl_tp_tensor_info_t *info, const dtp_dim_order_t *order);
/* The steps of a region's nodes (lower.c), of control flow (lower_control.c). */
dnnl_tp_status_t dtp_lower_region(dtp_lower_t *lower, int region);
dnnl_tp_status_t dtp_lower_if(dtp_lower_t *lower, const dtp_ir_node_t *node);
dnnl_tp_status_t dtp_lower_while(dtp_lower_t *lower, const dtp_ir_node_t *node);
dnnl_tp_status_t dtp_lower_call(dtp_lower_t *lower, const dtp_ir_node_t *node);
dnnl_tp_status_t dtp_announce_functions(dtp_lower_t *lower);
dnnl_tp_status_t dtp_lower_functions(dtp_lower_t *lower);
/* A control step without a problem. */
dnnl_tp_status_t dtp_new_control(dtp_lower_t *lower, const dtp_ir_node_t *node, dtp_ctl_t ctl, int nargs,
                                 dtp_step_t **step);
/* Wants v, and what has the same elements, written to buf by whoever in the region makes it. */
void dtp_want(dtp_lower_t *lower, int v, int region, int buf);
/* Copies v to buf unless it is there. */
dnnl_tp_status_t dtp_settle(dtp_lower_t *lower, int v, int buf);
/* Dense copies that a block makes are forgotten at its end: it may not have run. */
int dtp_block_begin(const dtp_lower_t *lower);
void dtp_block_end(dtp_lower_t *lower, int mark);
/* ---- For the classes of operators (src/exec/ops) ----------------------------------------------------- */

dnnl_tp_status_t dtp_new_buf(dtp_lower_t *lower, size_t bytes, int *buf);
/* The argument will be a constant that is packed once for the graph, shared by all that pack the same in the same
 * way; the caller fills in the parts. */
dnnl_tp_status_t dtp_pack_arg(dtp_lower_t *lower, dtp_step_t *step, int arg, int nparts,
                              dtp_packing_t **packing);
/* The map of a node, or of n steps of a lowering's own, with `channels` channels. */
dnnl_tp_status_t dtp_make_affine(const dtp_lower_t *lower, int n, const dtp_ir_affine_t *steps,
                                 const dtp_affine_t **affine);
/* The argument is such a map's part for x, or it maps a constant v (-1: none) with a value for each channel. src: v, or the
 * argument, row-major. */
dnnl_tp_status_t dtp_pack_mapped(dtp_lower_t *lower, dtp_step_t *step, int arg, dtp_pack_role_t role,
                                 const dtp_affine_t *affine, int64_t channels, int v, const dtp_md_t *src);
/* A new step with a zeroed problem of size bytes. */
dnnl_tp_status_t dtp_new_step(dtp_lower_t *lower, const dtp_ir_node_t *node, size_t op_size, int kind,
                              int nargs, dtp_step_t **step);
/* Puts v there; strides NULL: dense. */
dnnl_tp_status_t dtp_view_set(dtp_lower_t *lower, int v, int buf, int64_t offset, const int64_t *strides);
/* Gives v a dense buffer of its own: where it is written. */
dnnl_tp_status_t dtp_view_new(dtp_lower_t *lower, int v);
/* Copies v's view to buf, with these strides there (NULL: row-major). */
dnnl_tp_status_t dtp_copy_view(dtp_lower_t *lower, int v, const int64_t *strides, int buf);
/* Makes v dense row-major, with a copy if it is a view. The result is in *view. */
dnnl_tp_status_t dtp_view_dense(dtp_lower_t *lower, int v, dtp_view_t *view);
/* Where v is, as a view; inputs and constants get their buffer when they are first looked at. */
dnnl_tp_status_t dtp_view_any(dtp_lower_t *lower, int v, dtp_view_t *view);
bool dtp_view_is_dense(const dtp_ir_value_t *v);
void dtp_dense_strides(int ndims, const int64_t *dims, int64_t *strides);
/* Collapses a view to {prod(dims[0..split)), prod(dims[split..))}; false if its strides do not allow it. */
bool dtp_collapse(const dnnl_tp_tensor_info_t *info, const int64_t *strides, int split, int64_t dims[2],
                  int64_t out[2]);

/* Appends a post-operation of the lowering's own to a step; of binary ones md and arg are the operand. */
dnnl_tp_status_t dtp_add_post(dtp_lower_t *lower, dtp_step_t *step, const dtp_ir_post_t *post,
                              const dtp_md_t *md, dtp_step_arg_t arg);
/* Appends the node's fused post-operations to the step that writes dst. */
dnnl_tp_status_t dtp_add_post_ops(dtp_lower_t *lower, dtp_step_t *step, const dtp_ir_node_t *node,
                                  const dtp_md_t *dst);
dnnl_tp_status_t dtp_md_dense2(dtp_md_t *md, int64_t rows, int64_t cols, dnnl_tp_data_type_t dt);
/* A tensor seen with nd dimensions: the leading ones that it lacks are 1 long. */
dnnl_tp_status_t dtp_md_padded(dtp_md_t *md, const dnnl_tp_tensor_info_t *t, const int64_t *strides, int nd);
/* Rules of slices: everything is cut; dimensions 0 that are 1 long are read whole. */
dtp_cut_fn_t dtp_cut_all, dtp_cut_by_dim;

#endif
