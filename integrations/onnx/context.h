/* What converters of operators work in: the graph that is made, scopes of names, the node that is converted.
 *
 * A converter makes the operators of a graph that stand for one node. Its helpers keep the first failure in cv->status, do
 * nothing from then on and return NULL, so that converters read as formulas. */
#ifndef DTP_ONNX_CONTEXT_H
#define DTP_ONNX_CONTEXT_H

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

/* Elements of the tensor; only of what is known. */
static inline int64_t dtp_val_elems(const val_t *x) { return dtp_onnx_elems(&x->info); }

/* What a name means in a scope; NULL: nothing. */
val_t *dtp_onnx_find(const scope_t *s, const char *name);
/* The name of the node's first result; "": it has none. */
const char *dtp_cv_result(const cv_t *cv);
__attribute__((format(printf, 3, 4))) void dtp_cv_fail(cv_t *cv, dnnl_tp_status_t status, const char *format,
                                                       ...);
/* A failure of the library, with the node before its text. */
void dtp_cv_pass_on(cv_t *cv, dnnl_tp_status_t status);
/* Adds an operator to a graph, in which x are the numbers of its inputs and y become those of its results. Sources of one
 * type that the operator does not take are unimplemented: models may have them. */
void dtp_cv_graph_op(cv_t *cv, dnnl_tp_graph_t graph, int kind, const char *name, int nin, val_t *const *in,
                     const dnnl_tp_value_t *x, int nattr, const dnnl_tp_op_attr_t *attr, int nout,
                     dnnl_tp_value_t *y);
/* Counts what is repeated as a node; false after a failure: there are more than max_nodes. */
bool dtp_cv_take_node(cv_t *cv);
void *dtp_cv_alloc(cv_t *cv, size_t bytes);
bool dtp_cv_given(const cv_t *cv, int input);
bool dtp_cv_wanted(const cv_t *cv, int output);
/* A result of the node. */
void dtp_cv_set(cv_t *cv, int i, val_t *x);
/* Room for data that the caller fills; *data is NULL on failure. */
val_t *dtp_cv_room(cv_t *cv, dnnl_tp_data_type_t type, int ndims, const int64_t *dims, void **data);
/* Axis 0..ndims-1. */
int dtp_cv_axis(cv_t *cv, int64_t axis, int ndims);
/* Is this dimension known? Refuses the node otherwise. */
int64_t dtp_cv_dim(cv_t *cv, const val_t *x, int d);
/* The product of dimensions; CV_RUNTIME: one is not known. */
int64_t dtp_cv_product(const val_t *x, int begin, int end);

#endif
