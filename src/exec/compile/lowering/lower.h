/* Lowering: nodes become steps (problems of primitives on buffers), then primitives.
 *
 * Steps are in one list in the order of the program text: then before else, condition before body,
 * functions after the root; control steps mark the begin and end of each part. So the number of a
 * step is a time: a buffer whose last use comes before another buffer is first written is free by
 * then (loops: dtp_buf_ranges).
 *
 * A scope holds buffers that live together: the root, an iteration of a loop, a call of a function.
 * Branches have no scope of their own. The problem of a step is complete except for the rows: a
 * slice group (slice_groups.c) may create it for a slice. Buffers get their addresses last
 * (plan.c). */
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
    /* Reached by a pointer of its scope: variable of a loop; parameter or result of a function. */
    DTP_BUF_VAR,
    /* Some bytes of another buffer, with their own writer. */
    DTP_BUF_PART
} dtp_buf_kind_t;

typedef struct {
    uint8_t kind; /* dtp_buf_kind_t */
    /* DTP_BY_*: its units inside a packed slice group. */
    uint8_t domain;
    int scope;
    union {
        /* Number of the input, output or pointer. */
        int index;
        /* PART: the buffer that contains it, from part_at on. */
        int part_of;
    };
    int slice_group; /* LOCAL */
    /* The steps that write it first and access it last. */
    int first, last;
    /* Of a constant; NULL for a derived constant until it is packed. */
    const void *data;
    size_t bytes;
    /* In the instance; LOCAL: bytes per unit of the slice's capacity. */
    int64_t offset;
    union {
        /* LOCAL: bytes of one unit (row or sequence). */
        int64_t unit_bytes;
        int64_t part_at;
    };
} dtp_buf_t;
enum { DTP_BY_NONE = 0, DTP_BY_ROW = 1, DTP_BY_SEQ = 2 };

typedef struct {
    int64_t offset;  /* bytes */
    int64_t advance; /* bytes per unit of the slice; set by slice_groups.c */
    int buf;         /* -1: absent */
    bool written;
    bool sliced; /* it advances with the slice */
} dtp_step_arg_t;

/* A map of channels, x to scale x + shift: a sequence of steps with constants of the graph, which
 * have a value for each channel or one for all. */
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

/* A constant argument of a step, in the layout that the primitive chose: parts beside each other
 * along the columns, or one part. */
typedef struct {
    int64_t cid; /* -1: no constant */
    /* NULL: zeros, or ones if they are scaled. */
    const void *data;
    /* Descriptor of the constant, with any strides; {K, N_i} if there are several parts. */
    dtp_md_t src;
} dtp_packed_part_t;
typedef enum {
    DTP_PACK_AS_IS,
    /* One f32 part whose first dimensions are channels: each channel is multiplied by the scale of
     * affine. */
    DTP_PACK_SCALED,
    /* The same, and the shift is added: a value for each channel. */
    DTP_PACK_MAPPED,
    /* One part {K, N} whose rows are in the order of channels: they get the order of pixels. */
    DTP_PACK_PIXELS
} dtp_pack_role_t;
typedef struct dtp_packing {
    struct dtp_packing *next; /* of the same step */
    int arg;
    dtp_pack_role_t role;
    const dtp_affine_t *affine;
    int64_t channels; /* of affine or of pixels */
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
    DTP_CTL_JOIN,  /* parts, then their common buffer: it is complete when they are */
    DTP_CTL_END    /* of the root or of a function */
} dtp_ctl_t;

typedef struct {
    int parent; /* -1: root and functions */
    int begin;  /* WHILE; of functions: the first step */
    int end;    /* EXIT; of functions: END */
    int nvars;  /* number of pointers */
    int window;
} dtp_lower_scope_t;

/* The part for which a primitive of a step is made: units of the total; 0 of 0: the whole problem.
 */
typedef struct {
    int64_t units, total;
    int num_threads;
} dtp_made_for_t;

/* The members that all steps except closures have. */
typedef struct {
    const dtp_ir_fused_t *fused;
    /* Of the whole problem; for copies: their bytes. */
    dtp_op_work_t work;
    size_t op_size;
    /* For a problem: descriptors parallel to the arguments; md NULL: absent (dtp_describe_steps).
     */
    dtp_pd_arg_t *md;
    /* For a problem: the first argument that it writes. */
    int dst;
    /* Gives the slices of its arguments for a slice of the result; NULL: it has no slices. */
    dtp_cut_fn_t *cut;
    /* 1 + the argument with offsets of sequences; 0: none. */
    uint8_t offsets;
    /* Dimension 0 counts sequences or packed rows, never rows of several dimensions. */
    bool whole_sequences;
    /* With offsets: a row of the result is a sequence. */
    bool pools;
    int npost;
    dtp_ir_post_t *post;
    /* src1 of binary post-operations, parallel to post. */
    dtp_md_t *post_md;
    /* First packing: constants that the primitive reads in a layout that it chose. */
    dtp_packing_t *packing;
    /* If sliced: number of leading rows of dst in one unit. */
    int64_t rows_per_unit;
    /* For slices of the larger and of the smaller size. */
    dtp_primitive_t *prim[2];
    dtp_made_for_t made_for[2];
    /* For plain copies: from argument 0 to argument 1. */
    size_t copy_bytes;
    /* IF, TEST: type of the predicate. */
    int pred_type;
    /* TEST: the first buffer of the body. */
    int first_body;
    /* EXIT: bytes of each variable. */
    size_t *sizes;
} dtp_work_t;

typedef struct dtp_step {
    const char *name;
    const char *kind; /* name of the operator's kind */
    uint8_t ctl;      /* dtp_ctl_t */
    uint8_t domain;   /* DTP_BY_* */
    /* Its implementation cannot compute slices: set after a first attempt has failed. */
    bool no_slice;
    int other;
    /* The scope whose pointers its arguments use. */
    int scope;
    int slice_group; /* -1: none */
    int norder;
    /* Number of arguments of the kind, by dense index. */
    int nargs;
    /* Two more for each post-operation: src1, src2. */
    int npost_args;
    /* In memory after the step. */
    dtp_step_arg_t *arg;
    /* Buffers that must be written before, although the step does not read them. */
    int *order;
    /* Host closures: in and out are arguments 0..nin+nout-1. */
    const dtp_gnode_t *host;
    /* Values of the closure. */
    const int *host_in, *host_out;
    /* In the arena; NULL: no problem. */
    dtp_op_desc_t *op;
    /* Never NULL; closures share one that is never written. */
    dtp_work_t *work;
} dtp_step_t;

typedef struct dtp_lower {
    dtp_ir_t *ir;
    /* The engine that runs the steps. */
    dnnl_tp_engine_t engine;
    int num_threads;
    /* Primitives may round f32 to tf32. */
    bool tf32;
    /* In primitives of runs; references may compute constants, which happens once. */
    bool refuse_reference;
    /* The steps run during lowering, on constants, which are not packed then. */
    bool at_once;
    int nsteps, cap_steps, nbufs, cap_bufs;
    /* Number of steps with a primitive, of closures, and of arguments of closures. */
    int nproblems, nhosts, nhost_refs;
    dtp_step_t **steps;
    dtp_buf_t *bufs;
    int scope; /* of new steps and buffers */
    int nscopes, cap_scopes;
    dtp_lower_scope_t *scopes;
    int *function_scope; /* by region */
    /* Values with a dense copy that the open blocks have made, in the order of the blocks. */
    int *dense;
    int ndense, cap_dense;
    /* NULL, or for each step: the last step of the item that begins with it (schedule.c); -1: none
     * begins. */
    int *item_end;
    int *stage_of; /* of each step */
} dtp_lower_t;

/* Turns all live nodes into steps, in their order. */
dnnl_tp_status_t dtp_lower(dtp_lower_t *lower);
/* Lowers one operator by its class. */
dnnl_tp_status_t dtp_lower_op(dtp_lower_t *lower, dtp_ir_node_t *node);
/* Evaluates one node whose inputs are constants, on this thread (constant.c); data[i]: receives
 * result i of bytes[i] bytes. */
dnnl_tp_status_t dtp_lower_constant(dtp_ir_t *ir, int node, const size_t *bytes, void *const *data);
/* *are_parts: all results of such a node lie densely in its inputs; then data[i] is where result i does. */
dnnl_tp_status_t dtp_constant_parts(dtp_ir_t *ir, int node, const void **data, bool *are_parts);
/* Creates step->prim[slot] for `units` of `total` (0 of 0: the whole problem). */
dnnl_tp_status_t dtp_step_create(dtp_lower_t *lower, dtp_step_t *step, int64_t units, int64_t total,
                                 int num_threads, int slot);
/* Makes the constants of all packings, in the layouts that the steps' primitives chose (packing.c).
 */
dnnl_tp_status_t dtp_pack_constants(dtp_lower_t *lower);
/* The descriptor of an argument, including those of post-operations; NULL: it has none. op: the
 * step's own, or that of its primitive. */
const dtp_md_t *dtp_step_md(const dtp_step_t *step, const dtp_op_desc_t *op, int arg);
/* Derives the descriptors of arguments and the work from the problems of steps. */
dnnl_tp_status_t dtp_describe_steps(dtp_lower_t *lower);
/* Estimate of a step on one thread in nanoseconds. */
double dtp_step_ns(const dtp_step_t *step);
/* Whether the primitive of a step can compute leading rows. After dtp_step_create. */
bool dtp_step_takes_rows(const dtp_step_t *step);
/* Creates the primitives of all steps that have none yet. After dtp_slice_groups. */
dnnl_tp_status_t dtp_create_steps(dtp_lower_t *lower, int num_threads);
/* Sets the first and last step that access each buffer; buffers that a loop reads from outside last
 * until its end. */
void dtp_buf_ranges(dtp_lower_t *lower);
/* Parts of buffers (parts.c): different steps write different parts of one buffer. A step that
 * reads the whole buffer comes after dtp_join_parts. bytes: for a part whose rows are not adjacent,
 * number of rows times bytes from row to row. */
dnnl_tp_status_t dtp_new_part(dtp_lower_t *lower, int whole, int64_t at, size_t bytes, int *buf);
dnnl_tp_status_t dtp_join_parts(dtp_lower_t *lower, const dtp_ir_node_t *node, const int *parts, int nparts);
/* Called before the region of n, which joins its inputs (DTP_OP_JOINS), is lowered: if the inputs
 * follow each other in the memory of its result, their writers will write them there, as parts. */
dnnl_tp_status_t dtp_want_parts(dtp_lower_t *lower, const dtp_ir_node_t *node);
/* Lowers n, a join of channels that dtp_want_parts has prepared: copies the parts that were not
 * written there. */
dnnl_tp_status_t dtp_join_channels(dtp_lower_t *lower, const dtp_ir_node_t *node);
/* The outermost buffer that contains a part, and the position in it; for other buffers: the buffer
 * itself. */
int dtp_whole_of(const dtp_lower_t *lower, int buf, int64_t *at);
/* An order of dimensions in which a tensor is dense (dim_order.c); dim: outermost first. */
typedef struct {
    int ndims, dim[DNNL_TP_MAX_NDIMS];
} dtp_dim_order_t;
/* True: v, an input of n with these strides, is dense in an order that is not row-major, and the
 * result of n may have this order, too. */
bool dtp_dim_order(const dtp_lower_t *lower, const dtp_ir_node_t *n, int v, const int64_t *strides,
                   dtp_dim_order_t *order);
/* Gives v with channels innermost, dense or with pixels that are not adjacent. If v does not have
 * this form: with `copies` a copy of it, otherwise v as it is and *is_last false. */
dnnl_tp_status_t dtp_view_pixels(dtp_lower_t *lower, int v, dtp_view_t *view, bool copies, bool *is_last);
/* Gives the maker of v a place for it with channels innermost: its own buffer, or its part of the
 * tensor into which it is joined. */
dnnl_tp_status_t dtp_view_new_pixels(dtp_lower_t *lower, int v);
/* The order in which a tensor is dense; false: there is none. */
bool dtp_order_of(const dnnl_tp_tensor_info_t *info, const int64_t *strides, dtp_dim_order_t *order);
/* Marks the results of n that will have channels innermost. Results of earlier nodes must be marked
 * before. */
void dtp_find_channels_last(const dtp_ir_t *ir, const dtp_ir_node_t *n);
/* Whether a tensor is dense in an order; if it has fewer dimensions, dimensions of 1 are added
 * before its own. */
bool dtp_is_dense_in(const dnnl_tp_tensor_info_t *info, const int64_t *strides, const dtp_dim_order_t *order);
/* The order N, spatial dimensions, C, which convolutions use. */
void dtp_order_channels_last(int ndims, dtp_dim_order_t *order);
void dtp_order_strides(const dnnl_tp_tensor_info_t *info, const dtp_dim_order_t *order, int64_t *strides);
/* Gives v in that order; if v has another one, a copy that all such readers share. */
dnnl_tp_status_t dtp_view_in(dtp_lower_t *lower, int v, const dtp_dim_order_t *order, dtp_view_t *view);
/* A buffer for v in that order. */
dnnl_tp_status_t dtp_view_new_in(dtp_lower_t *lower, int v, const dtp_dim_order_t *order);
/* Its descriptor, with the dimensions in the order of memory. */
dnnl_tp_status_t dtp_md_in(dtp_md_t *md, const dnnl_tp_tensor_info_t *info, const dtp_dim_order_t *order);
/* Make the steps of a region's nodes (lower.c) and of control flow (lower_control.c). */
dnnl_tp_status_t dtp_lower_region(dtp_lower_t *lower, int region);
dnnl_tp_status_t dtp_lower_if(dtp_lower_t *lower, const dtp_ir_node_t *node);
dnnl_tp_status_t dtp_lower_while(dtp_lower_t *lower, const dtp_ir_node_t *node);
dnnl_tp_status_t dtp_lower_call(dtp_lower_t *lower, const dtp_ir_node_t *node);
dnnl_tp_status_t dtp_announce_functions(dtp_lower_t *lower);
dnnl_tp_status_t dtp_lower_functions(dtp_lower_t *lower);
/* A control step without a problem. */
dnnl_tp_status_t dtp_new_control(dtp_lower_t *lower, const dtp_ir_node_t *node, dtp_ctl_t ctl, int nargs,
                                 dtp_step_t **step);
/* Makes the node in the region that produces v, or a value with the same elements, write it to buf.
 */
void dtp_want(dtp_lower_t *lower, int v, int region, int buf);
/* Copies v to buf unless it is already there. */
dnnl_tp_status_t dtp_settle(dtp_lower_t *lower, int v, int buf);
/* Dense copies that a block makes are forgotten at its end: it may not have run. */
int dtp_block_begin(const dtp_lower_t *lower);
void dtp_block_end(dtp_lower_t *lower, int mark);
/* ---- For the classes of operators (src/exec/ops) ----------------------------------------------------- */

dnnl_tp_status_t dtp_new_buf(dtp_lower_t *lower, size_t bytes, int *buf);
/* Makes the argument a constant that is packed once for the graph and shared by all steps that pack
 * the same data in the same way; the caller fills in the parts. */
dnnl_tp_status_t dtp_pack_arg(dtp_lower_t *lower, dtp_step_t *step, int arg, int nparts,
                              dtp_packing_t **packing);
/* Makes a map of channels from n steps. */
dnnl_tp_status_t dtp_make_affine(const dtp_lower_t *lower, int n, const dtp_ir_affine_t *steps,
                                 const dtp_affine_t **affine);
/* Makes the argument a part of such a map for x, or a constant v (-1: none) that the map is applied
 * to, with a value for each channel. src: descriptor of v, or of the argument in row-major order.
 */
dnnl_tp_status_t dtp_pack_mapped(dtp_lower_t *lower, dtp_step_t *step, int arg, dtp_pack_role_t role,
                                 const dtp_affine_t *affine, int64_t channels, int v, const dtp_md_t *src);
/* A new step with a zeroed problem of size bytes. */
dnnl_tp_status_t dtp_new_step(dtp_lower_t *lower, const dtp_ir_node_t *node, size_t op_size, int kind,
                              int nargs, dtp_step_t **step);
/* Sets the place of v; strides NULL: dense. */
dnnl_tp_status_t dtp_view_set(dtp_lower_t *lower, int v, int buf, int64_t offset, const int64_t *strides);
/* Gives v its own dense buffer, to which it is written. */
dnnl_tp_status_t dtp_view_new(dtp_lower_t *lower, int v);
/* Copies v to buf, with these strides in buf (NULL: row-major). */
dnnl_tp_status_t dtp_copy_view(dtp_lower_t *lower, int v, const int64_t *strides, int buf);
/* Makes v dense row-major, with a copy if it is a view. The result is in *view. */
dnnl_tp_status_t dtp_view_dense(dtp_lower_t *lower, int v, dtp_view_t *view);
/* The place of v as a view; inputs and constants get their buffer with the first such call. */
dnnl_tp_status_t dtp_view_any(dtp_lower_t *lower, int v, dtp_view_t *view);
bool dtp_view_is_dense(const dtp_ir_value_t *v);
void dtp_dense_strides(int ndims, const int64_t *dims, int64_t *strides);
/* Collapses a view to {prod(dims[0..split)), prod(dims[split..))}; false if its strides do not
 * allow it. */
bool dtp_collapse(const dnnl_tp_tensor_info_t *info, const int64_t *strides, int split, int64_t dims[2],
                  int64_t out[2]);

/* Appends a post-operation to a step; md and arg: the operand of a binary one. */
dnnl_tp_status_t dtp_add_post(dtp_lower_t *lower, dtp_step_t *step, const dtp_ir_post_t *post,
                              const dtp_md_t *md, dtp_step_arg_t arg);
/* Appends the node's fused post-operations to the step that writes dst. */
dnnl_tp_status_t dtp_add_post_ops(dtp_lower_t *lower, dtp_step_t *step, const dtp_ir_node_t *node,
                                  const dtp_md_t *dst);
dnnl_tp_status_t dtp_md_dense2(dtp_md_t *md, int64_t rows, int64_t cols, dnnl_tp_data_type_t dt);
/* The descriptor of a tensor with nd dimensions: missing leading dimensions are 1. */
dnnl_tp_status_t dtp_md_padded(dtp_md_t *md, const dnnl_tp_tensor_info_t *t, const int64_t *strides, int nd);
/* Rules of slices: dtp_cut_all cuts every argument; dtp_cut_by_dim reads arguments whole whose
 * dimension 0 is 1. */
dtp_cut_fn_t dtp_cut_all, dtp_cut_by_dim;

#endif
