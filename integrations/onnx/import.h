/* From a model to a graph: scopes of names, the table of operators, and what converters build with.
 *
 * A converter makes the operators of a graph that stand for one node. Its helpers keep the first failure in cv->status, do
 * nothing from then on and return NULL, so that converters read as formulas. */
#ifndef DTP_ONNX_IMPORT_H
#define DTP_ONNX_IMPORT_H

#include "onnx/model.h"

/* A tensor of the file on its way: a value of the graph, or data that are known, or both. */
typedef struct {
    dnnl_tp_value_t v; /* -1: not in the graph yet */
    dnnl_tp_tensor_info_t info;
    const void *data;  /* known elements; NULL: computed by a run */
    bool is_borrowed;  /* data belong to the model */
    const char *input; /* name of the input of the model that it is; NULL: it is none */
    const char
        *stored; /* name of the type in the file, which only conversions read (dtp_onnx_stored); NULL */
} val_t;

/* The names that nodes may read: those of a graph, or of a function that is inlined. */
typedef struct scope {
    dtp_onnx_names_t names; /* -> val_t */
    const struct scope *parent;
    const node_proto_t *call; /* of a function: the node that calls it, in the scope `caller` */
    const struct scope *caller;
    size_t nimports;
    opset_proto_t *const *imports;
    int depth;
} scope_t;

typedef struct {
    dnnl_tp_onnx_model_t model;
    dnnl_tp_graph_t root;       /* the whole graph; constants belong to it */
    dnnl_tp_graph_t graph;      /* where operators are added: the whole graph, or a region of it */
    dtp_import_memory_t memory; /* freed when the graph is made */
    int64_t nodes_left;
    size_t bytes_left;       /* for constants that operators make */
    dnnl_tp_engine_t engine; /* of what is computed here (fold.c); NULL until it is needed */
    dnnl_tp_stream_t stream;
} import_t;

struct cv;
enum { DTP_ONNX_VERSIONS = 12 };
/* Versions of an operator that have a converter in common: a line of ops.inc. */
typedef struct {
    const char *op;
    uint8_t since[DTP_ONNX_VERSIONS]; /* 0 behind the last */
    void (*convert)(struct cv *cv);
    int kind; /* for converters of several operators: dnnl_tp_op_kind_t */
    int min_in, max_in;
    unsigned params; /* bit i: input i has to be known when the graph is made */
} row_t;

typedef struct cv {
    import_t *im;
    const scope_t *scope;
    const node_proto_t *node;
    const row_t *row;
    int since; /* the version of the operator */
    int nin, nout;
    val_t **in;  /* NULL: absent */
    val_t **out; /* what the converter makes */
    uint64_t attrs_read;
    bool is_last; /* the next operator is named as the node's first output */
    int parts;
    dnnl_tp_status_t status;
} cv_t;

#define CV_RUNTIME DNNL_TP_RUNTIME_DIM_VAL

/* ---- wanted.c ---------------------------------------------------------------------------------------- */

/* Finds the inputs whose elements operators have to know. */
dnnl_tp_status_t dtp_onnx_mark_shapes(dnnl_tp_onnx_model_t m);
/* Do nodes of a body of the node need elements of its inputs, and so known ones? */
bool dtp_cv_needs_inputs(cv_t *cv, const graph_proto_t *g);

/* ---- import.c ---------------------------------------------------------------------------------------- */

/* What a name means in a scope; NULL: nothing. */
val_t *dtp_onnx_find(const scope_t *s, const char *name);
/* Converts nodes in their order. */
dnnl_tp_status_t dtp_onnx_nodes(import_t *im, scope_t *scope, size_t n, node_proto_t *const *nodes);
/* Converts a graph that an attribute of the node holds, which sees the names around the node: in: nin inputs; out: as many
 * outputs as it has. */
void dtp_cv_body(cv_t *cv, graph_proto_t *g, int nin, val_t *const *in, val_t **out);

/* ---- table.c ----------------------------------------------------------------------------------------- */

/* The row that serves an operator of the domain "" in a version of the operator set; NULL: none. *since: the version of the
 * operator. */
const row_t *dtp_onnx_row(const char *op, int64_t version, int *since);
/* Rows in the order of ops.inc. */
const row_t *dtp_onnx_rows(int *n);

/* ---- attrs.c: attributes of the node; those that nobody reads are refused ----------------------------------- */

bool dtp_cv_has(cv_t *cv, const char *name);
int64_t dtp_cv_int(cv_t *cv, const char *name, int64_t value);
float dtp_cv_float(cv_t *cv, const char *name, float value);
/* n: -1 = not given */
const int64_t *dtp_cv_attr_ints(cv_t *cv, const char *name, int64_t *n);
const float *dtp_cv_attr_floats(cv_t *cv, const char *name, int64_t *n);
/* The type in which graphs carry the one that an attribute numbers; undef on failure. */
dnnl_tp_data_type_t dtp_cv_type(cv_t *cv, const char *name, int standard);
/* Is the text of the attribute, by default `value`, equal to `word`? */
bool dtp_cv_word(cv_t *cv, const char *name, const char *value, const char *word);
/* A text; NULL: not given. */
const char *dtp_cv_attr_text(cv_t *cv, const char *name);
/* Text i of a list; NULL: there are fewer. */
const char *dtp_cv_text(cv_t *cv, const char *name, int i);
/* NULL: not given. */
val_t *dtp_cv_tensor(cv_t *cv, const char *name);
/* NULL on failure: it has to be given. */
graph_proto_t *dtp_cv_graph(cv_t *cv, const char *name);
void dtp_cv_all_read(cv_t *cv);

/* ---- build.c ----------------------------------------------------------------------------------------- */

/* The name of the node's first result; "": it has none. */
const char *dtp_cv_result(const cv_t *cv);
__attribute__((format(printf, 3, 4))) void dtp_cv_fail(cv_t *cv, dnnl_tp_status_t status, const char *format,
                                                       ...);
/* A failure of the library, with the node before its text. */
void dtp_cv_pass_on(cv_t *cv, dnnl_tp_status_t status);
/* Counts what is repeated as a node; false after a failure: there are more than max_nodes. */
bool dtp_cv_take_node(cv_t *cv);
void *dtp_cv_alloc(cv_t *cv, size_t bytes);
/* A value that an operator of the graph made. */
val_t *dtp_cv_made(cv_t *cv, dnnl_tp_value_t v);
/* The number of a value in the graph. */
dnnl_tp_value_t dtp_cv_value(cv_t *cv, val_t *x);
/* A result of the node. */
void dtp_cv_set(cv_t *cv, int i, val_t *x);
/* The next operator makes the node's first result; only its name depends on this. */
static inline cv_t *dtp_cv_last(cv_t *cv) {
    cv->is_last = true;
    return cv;
}
/* An operator of the graph with nout results. */
void dtp_cv_ops(cv_t *cv, int kind, int nin, val_t *const *in, int nattr, const dnnl_tp_op_attr_t *attr,
                int nout, val_t **out);
val_t *dtp_cv_op(cv_t *cv, int kind, int nin, val_t *const *in, int nattr, const dnnl_tp_op_attr_t *attr);
val_t *dtp_cv_unary(cv_t *cv, int kind, val_t *x);
/* With an attribute (keys below 0: none). */
val_t *dtp_cv_unary_with(cv_t *cv, int kind, val_t *x, int key, float value, int key2, float value2);
val_t *dtp_cv_binary(cv_t *cv, int kind, val_t *x, val_t *y);
/* With an integer as its attribute. */
val_t *dtp_cv_op_at(cv_t *cv, int kind, int nin, val_t *const *in, int key, int64_t value);
/* condition ? x : y */
val_t *dtp_cv_select(cv_t *cv, val_t *condition, val_t *x, val_t *y);
val_t *dtp_cv_typed(cv_t *cv, val_t *x, dnnl_tp_data_type_t type);
/* Data that are copied. */
val_t *dtp_cv_constant(cv_t *cv, dnnl_tp_data_type_t type, int ndims, const int64_t *dims, const void *data);
/* Room for data that the caller fills; *data is NULL on failure. */
val_t *dtp_cv_room(cv_t *cv, dnnl_tp_data_type_t type, int ndims, const int64_t *dims, void **data);
val_t *dtp_cv_fill(cv_t *cv, dnnl_tp_data_type_t type, int ndims, const int64_t *dims, double value);
val_t *dtp_cv_scalar(cv_t *cv, dnnl_tp_data_type_t type, double value);
val_t *dtp_cv_list(cv_t *cv, int64_t n, const int64_t *values);
/* 0, 1, ..., n - 1 in s64, with `after` dimensions of 1 behind. */
val_t *dtp_cv_counted(cv_t *cv, int64_t n, int after);
/* The elements of an input that has to be known, as integers or numbers. NULL on failure. */
const int64_t *dtp_cv_ints(cv_t *cv, int input, int64_t *n);
const double *dtp_cv_numbers(cv_t *cv, int input, int64_t *n);
/* Axis 0..ndims-1. */
int dtp_cv_axis(cv_t *cv, int64_t axis, int ndims);
bool dtp_cv_given(const cv_t *cv, int input);
bool dtp_cv_wanted(const cv_t *cv, int output);
/* Is this dimension known? Refuses the node otherwise. */
int64_t dtp_cv_dim(cv_t *cv, const val_t *x, int d);
/* The product of dimensions; CV_RUNTIME: one is not known. */
int64_t dtp_cv_product(const val_t *x, int begin, int end);

/* ---- move.c: the same elements elsewhere; what is known stays known ---------------------------------------- */

val_t *dtp_cv_reshape(cv_t *cv, val_t *x, int ndims, const int64_t *dims);
val_t *dtp_cv_transpose(cv_t *cv, val_t *x, const int64_t *perm);
/* Elements begin..begin+size-1 of an axis. */
val_t *dtp_cv_part(cv_t *cv, val_t *x, int axis, int64_t begin, int64_t size);
/* The elements of an axis that ids names; ids of any shape, s32 or s64, not negative where they are known. */
val_t *dtp_cv_take(cv_t *cv, val_t *x, int axis, val_t *ids);
val_t *dtp_cv_concat(cv_t *cv, int axis, int n, val_t *const *x);
/* Joined along a new dimension. */
val_t *dtp_cv_stack(cv_t *cv, int n, val_t *const *x, int axis);
/* Numpy's broadcast to dims. */
val_t *dtp_cv_expand(cv_t *cv, val_t *x, int ndims, const int64_t *dims);
val_t *dtp_cv_unsqueeze(cv_t *cv, val_t *x, int before, int after);

/* ---- repeat.c: a While of the graph ------------------------------------------------------------------------- */

enum { DTP_REPEAT_MOST = 130 };
typedef struct {
    cv_t *cv;
    dnnl_tp_graph_t around, cond, body;
    val_t *index; /* of the iteration, s64 */
    int n;
    val_t *init[DTP_REPEAT_MOST], *inside[DTP_REPEAT_MOST], *next[DTP_REPEAT_MOST];
} dtp_repeat_t;

/* Converters set im->graph to cond, where they compute the condition, then to body. The index is variable 0. */
void dtp_repeat_begin(dtp_repeat_t *r, cv_t *cv);
/* The next variable: what the body sees of it. */
val_t *dtp_repeat_variable(dtp_repeat_t *r, val_t *init);
/* What a variable becomes; name: for texts. */
void dtp_repeat_next(dtp_repeat_t *r, const val_t *variable, val_t *next, const char *name);
/* The next variable: what iterations make, {steps, ...}; x is what this one makes, `at` where it stands. */
void dtp_repeat_collect(dtp_repeat_t *r, int64_t steps, val_t *at, val_t *x);
/* With its first value, {steps, ...}, for steps that a run tells. */
void dtp_repeat_collect_in(dtp_repeat_t *r, val_t *room, val_t *at, val_t *x);
/* results: of all variables. im->graph is again what it was. Also after a failure. */
void dtp_repeat_end(dtp_repeat_t *r, val_t *condition, val_t **results);

/* ---- fold.c: known elements ------------------------------------------------------------------------------- */

val_t *dtp_fold_take(cv_t *cv, const val_t *x, int axis, const val_t *ids);
val_t *dtp_fold_concat(cv_t *cv, int axis, int n, val_t *const *x);
val_t *dtp_fold_transpose(cv_t *cv, const val_t *x, const int64_t *perm);
val_t *dtp_fold_cast(cv_t *cv, const val_t *x, dnnl_tp_data_type_t type);
/* Computes an operator of the graph; false: some input is not known or large. */
bool dtp_fold_op(cv_t *cv, int kind, int nin, val_t *const *in, int nattr, const dnnl_tp_op_attr_t *attr,
                 int nout, val_t **out);
void dtp_fold_end(import_t *im);
/* NULL: not one of those that are folded. */
val_t *dtp_fold_binary(cv_t *cv, int kind, const val_t *x, const val_t *y);
double dtp_fold_number(const val_t *x, int64_t i);
bool dtp_fold_wants(const val_t *x);

/* Elements of the tensor; only of what is known. */
static inline int64_t dtp_val_elems(const val_t *x) { return dtp_onnx_elems(&x->info); }

#endif
