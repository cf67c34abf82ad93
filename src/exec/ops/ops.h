/* Functions and types that the classes of operators share: checks of inference, and problems over
 * views of buffers. A class is a file that defines dtp_class_NAME with DTP_OP_CLASS (graph/op.h
 * describes each entry); its operators name it in ops.inc. doc/howto/add_an_operator_class.md is an
 * example. */
#ifndef DTP_EXEC_OPS_OPS_H
#define DTP_EXEC_OPS_OPS_H

#include "exec/compile/lowering/lower.h"
#include "exec/ops/attrs.h"

/* ---- Rows of ops.inc --------------------------------------------------------------------------------- */

typedef struct {
    dnnl_tp_alg_kind_t alg;
} dtp_alg_row_t; /* unary, binary, softmax */
typedef struct {
    dnnl_tp_alg_kind_t alg;
    float p; /* of norms; 0: no norm */
} dtp_reduce_row_t;
typedef struct {
    int fn; /* dtp_pointwise_fn_t */
} dtp_pointwise_row_t;

#define DTP_OP(name, number, cls, min_in, max_in) extern const dtp_op_class_t dtp_class_##cls;
#include "exec/ops/ops.inc"

/* Names an attribute in the file of its class; attributes.inc has those that several classes have.
 */
#define DTP_ATTR(name, number) \
    _Static_assert(dnnl_tp_op_attr_##name == (number), "the public header is made from these lines");
#include "exec/ops/attributes.inc"

/* ---- Inference --------------------------------------------------------------------------------------- */

/* Refuses with a text that names the operator first; c: the dtp_infer_t. */
#define DTP_INFER_CHECK(cond, status, reason, format, ...)                                                  \
    do {                                                                                                    \
        if (!(cond)) {                                                                                      \
            (void)dtp_fail(dnnl_tp_##status, DTP_GRAPH_##reason, "operator '%s' (%s): " format, c->id.name, \
                           c->id.kind, __VA_ARGS__);                                                        \
            return dnnl_tp_##status; /* a constant, so that compilers see the failure */                    \
        }                                                                                                   \
    } while (0)
#define SHAPE(cond, format, ...) DTP_INFER_CHECK(cond, invalid_shape, SHAPE, format, __VA_ARGS__)
#define TYPE(cond, format, ...) DTP_INFER_CHECK(cond, invalid_data_type, DATA_TYPE, format, __VA_ARGS__)
#define ATTR(cond, format, ...) DTP_INFER_CHECK(cond, invalid_graph_op, BAD_ATTR, format, __VA_ARGS__)
#define ARITY(cond, format, ...) DTP_INFER_CHECK(cond, invalid_graph_op, BAD_ARITY, format, __VA_ARGS__)

typedef dnnl_tp_tensor_info_t info_t;

/* Whether two dimensions are equal or one is unknown. */
static inline bool dtp_dims_fit(int64_t a, int64_t b) {
    return a == b || a == DNNL_TP_RUNTIME_DIM_VAL || b == DNNL_TP_RUNTIME_DIM_VAL;
}
/* The index of a dimension that may be counted from the end; the caller has checked it. */
static inline int dtp_axis(int64_t axis, int ndims) { return (int)(axis < 0 ? axis + ndims : axis); }
dnnl_tp_status_t dtp_infer_axis(const dtp_infer_t *c, const char *what, int64_t axis, int ndims, int *out);
/* The result is like the first input, of a floating-point type. */
dnnl_tp_status_t dtp_infer_same(const dtp_infer_t *c);
/* The shape of the result: all inputs, broadcast by numpy's rules. */
dnnl_tp_status_t dtp_infer_broadcast(const dtp_infer_t *c);
dnnl_tp_status_t dtp_infer_epsilon(const dtp_infer_t *c, float epsilon);
/* Entry `results` of classes with one result. */
int dtp_one_result(const void *attrs, int wanted);

/* ---- Lowering ---------------------------------------------------------------------------------------- */

static inline dtp_ir_value_t *dtp_value(const dtp_lower_t *l, int v) { return &l->ir->values[v]; }
static inline const info_t *dtp_info(const dtp_lower_t *l, int v) { return l->ir->values[v].info; }
/* The argument `split` below that separates the last dimension. */
static inline int dtp_last_split(const info_t *t) { return t->ndims > 0 ? t->ndims - 1 : 0; }

/* v as a dense matrix: rows are dims [0, split), columns the others. */
dnnl_tp_status_t dtp_dense2(dtp_lower_t *l, int v, int split, dtp_md_t *md, dtp_step_arg_t *arg);
/* The result v of a step in the same form. */
dnnl_tp_status_t dtp_result2(dtp_lower_t *l, int v, int split, dtp_md_t *md, dtp_step_arg_t *arg);
static inline dtp_step_arg_t dtp_view_arg(const dtp_view_t *p) {
    return (dtp_step_arg_t){.buf = p->buf, .offset = p->offset};
}
/* The buffer of a result that was placed before. */
static inline dtp_step_arg_t dtp_written_arg(const dtp_lower_t *l, int v) {
    return (dtp_step_arg_t){.buf = dtp_value(l, v)->buf, .written = true};
}
/* A step that applies an element-wise function. */
dnnl_tp_status_t dtp_lower_eltwise(dtp_lower_t *l, const dtp_ir_node_t *n, int from, int to,
                                   dnnl_tp_alg_kind_t alg, float alpha, float beta);
/* A step that applies a function of common/problems/graph/pointwise.h to all inputs (pointwise.c).
 */
dnnl_tp_status_t dtp_lower_pointwise(dtp_lower_t *l, dtp_ir_node_t *n, int fn);
/* The result has the elements of the first input: a view of it if possible, else a copy. */
dnnl_tp_status_t dtp_lower_alias(dtp_lower_t *l, dtp_ir_node_t *n);
/* Argument arg of s, the constant v, gets this type, also in md; v is converted when constants are
 * packed. */
dnnl_tp_status_t dtp_match_type(dtp_lower_t *l, dtp_step_t *s, int arg, int v, dnnl_tp_data_type_t type,
                                dtp_md_t *md);
/* Whether the implementation may choose the layout of the input. */
static inline bool dtp_packable(const dtp_lower_t *l, const dtp_ir_node_t *n, int input) {
    return l->ir->fuse && !l->at_once && (n->row->cls->packable >> input & 1) &&
           dtp_ir_is_shared(l->ir, n->in[input]);
}

/* ---- Shared by two classes --------------------------------------------------------------------------- */

/* windows.c: convolution and pooling; each has some of these attributes. */
typedef struct {
    dtp_op_attrs_t base;
    dtp_list_t strides, dilations, pads_begin, pads_end, kernel, output_padding;
    dtp_word_t auto_pad, rounding_type;
    bool exclude_pad;
    int64_t groups;
} dtp_window_attrs_t;
extern const char *const dtp_auto_pads[];
/* A window along a spatial dimension. Dilation as primitives count it: 0 is dense. The padding at
 * the end follows from `out`, so it may be negative or differ from the attribute. */
typedef struct {
    int64_t in, out, kernel, stride, dilation, pad_l, pad_r;
} dtp_slide_t;
/* The window along dimension s. If in is unknown, so are out and pad_r. False: sizes overflow. */
bool dtp_slide(const dtp_window_attrs_t *attrs, int s, int64_t in, int64_t kernel, dtp_slide_t *slide);
/* Checks the attributes and infers the spatial dimensions of the result of in[0] {N, C, spatial};
 * kernel: by dimension, DNNL_TP_RUNTIME_DIM_VAL: unknown. */
dnnl_tp_status_t dtp_infer_windows(const dtp_infer_t *c, const dtp_window_attrs_t *attrs,
                                   const int64_t *kernel, dtp_slide_t *slides);
/* The same for a transposed convolution: the window slides over the result, `in` counts its places,
 * and `out` is that of the result. */
bool dtp_spread(const dtp_window_attrs_t *attrs, int s, int64_t in, int64_t kernel, dtp_slide_t *slide);
dnnl_tp_status_t dtp_infer_spread(const dtp_infer_t *c, const dtp_window_attrs_t *attrs,
                                  const int64_t *kernel);

/* attention.c: attention and pool_normalize. Mask and offsets of sequences, and the arguments of
 * steps that read them. */
dnnl_tp_status_t dtp_infer_mask(const dtp_infer_t *c, const info_t *x, const info_t *mask);
dnnl_tp_status_t dtp_infer_offsets(const dtp_infer_t *c, const info_t *x, const info_t *offsets);
/* v as a view whose last dimension is dense: {B, S, H} or {T, H}; alone: {T, H} becomes {1, T, H}.
 */
dnnl_tp_status_t dtp_sequence_md(dtp_lower_t *l, int v, bool alone, dtp_md_t *md, dtp_step_arg_t *arg);
dnnl_tp_status_t dtp_mask_md(dtp_lower_t *l, int v, dtp_md_t *md, dtp_step_arg_t *arg);
dnnl_tp_status_t dtp_offsets_md(dtp_lower_t *l, int v, dtp_md_t *md, dtp_step_arg_t *arg);
dtp_cut_fn_t dtp_cut_sequences;

#endif
