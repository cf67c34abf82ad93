/* The context of converters: the graph under construction, scopes of names, the current node.
 *
 * A converter adds the operators that replace one node. Its helpers store the first failure in
 * cv->status; after that they do nothing and return NULL, so converters read like formulas. */
#ifndef DTP_ONNX_CONTEXT_H
#define DTP_ONNX_CONTEXT_H

#include "onnx/model.h"
#include "onnx/sizes.h"

/* A tensor during the import: a value of the graph, known data, or both. */
typedef struct val {
    /* Number in the graph; -1: not in it yet. */
    dnnl_tp_value_t v;
    dnnl_tp_tensor_info_t info;
    /* Known elements; NULL: a run computes them. */
    const void *data;
    /* The data belong to the model. */
    bool is_borrowed;
    /* Name, if the tensor is an input of the model; otherwise NULL. */
    const char *input;
    /* Name of a type of the file that graphs carry in a wider one (narrow.h); otherwise NULL. */
    const char *stored;
    /* An earlier part of the model made it (part.h). */
    bool is_given;
    /* If the import has a table of sizes (sized.h): the sizes, and the known elements, that depend on
     * open sizes; info.dims and data are their hints. NULL: they are what info and data say. */
    const dtp_size_t *sizes, *elems;
    /* Of an import for a state (growing.h): the past of a cache, a dtp_past_t; the rows by which a cache has grown;
     * what a tensor means that only attention can read (ops/meant.h). */
    uint8_t is_past;
    struct val *rows;
    const struct dtp_meant *meant;
} val_t;

/* The names that nodes can read: those of a graph, or of an inlined function. */
typedef struct scope {
    /* Name -> val_t. */
    dtp_onnx_names_t names;
    /* Of the nodes around it, in an import of a part: "" for the main graph. */
    const char *path;
    const struct scope *parent;
    /* For a function: the node that calls it, which is in the scope `caller`. */
    const node_proto_t *call;
    const struct scope *caller;
    size_t nimports;
    opset_proto_t *const *imports;
    int depth;
} scope_t;

typedef struct {
    dnnl_tp_onnx_model_t model;
    /* The whole graph; it owns the constants. */
    dnnl_tp_graph_t root;
    /* Operators are added here: the whole graph or a region of it. */
    dnnl_tp_graph_t graph;
    /* Freed when the graph is complete. */
    dtp_import_memory_t memory;
    int64_t nodes_left;
    bool for_cpu; /* engines of the CPU will run the graph */
    /* For the constants that operators make. */
    size_t bytes_left;
    /* Engine and stream of fold.c; NULL until they are needed. */
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    /* The part of the model that is imported; NULL: all of it. given: its tensors of earlier parts. */
    struct dtp_part *part;
    val_t **given;
    /* The nodes that are converted, from the innermost list to the main graph. */
    const struct frame *frame;
    /* Expressions and guards of open sizes, with hints; NULL: what is open has no hint. inputs: by
     * input of the model its number in the graph. lists: of sizes.h, as values of the graph. */
    dtp_sizes_t *sizes;
    dnnl_tp_value_t *inputs;
    struct dtp_size_list *lists;
} import_t;

struct cv;
enum { DTP_ONNX_VERSIONS = 12 };
/* Versions of an operator that share a converter: a line of ops.inc. */
typedef struct {
    const char *domain, *op;
    /* The versions, followed by 0. */
    uint8_t since[DTP_ONNX_VERSIONS];
    void (*convert)(struct cv *cv);
    /* A dnnl_tp_op_kind_t, for converters of several operators. */
    int kind;
    int min_in, max_in;
    /* Bit i: input i must be known at import. */
    unsigned params;
} row_t;

typedef struct cv {
    import_t *im;
    const scope_t *scope;
    const node_proto_t *node;
    const row_t *row;
    /* Version of the operator. */
    int since;
    int nin, nout;
    /* Inputs; NULL: absent. */
    val_t **in;
    /* Results of the converter. */
    val_t **out;
    uint64_t attrs_read;
    /* The next operator gets the name of the node's first output. */
    bool is_last;
    int parts;
    /* Graphs and functions inside of the node that were converted; the last graph's names. */
    int bodies;
    const scope_t *body;
    /* The type of inputs that results have, too (narrow.h); NULL: none. */
    const dtp_narrow_t *narrow;
    dnnl_tp_status_t status;
} cv_t;

#define CV_RUNTIME DNNL_TP_RUNTIME_DIM_VAL

/* Number of elements of a tensor with known sizes. */
static inline int64_t dtp_val_elems(const val_t *x) { return dtp_onnx_elems(&x->info); }

/* What a function sees of an input that its call leaves out. */
extern val_t dtp_onnx_absent;
/* Are types and shapes equal, as far as sizes are known? */
bool dtp_onnx_may_be_same(const dnnl_tp_tensor_info_t *a, const dnnl_tp_tensor_info_t *b);
/* The tensor with a name in a scope or the scopes around it; NULL: there is none. */
val_t *dtp_onnx_find(const scope_t *s, const char *name);
/* The name of the node's first result; "": it has no result. */
const char *dtp_cv_result(const cv_t *cv);
__attribute__((format(printf, 3, 4))) void dtp_cv_fail(cv_t *cv, dnnl_tp_status_t status, const char *format,
                                                       ...);
/* Passes on a failure of the library and puts the node before its text. */
void dtp_cv_pass_on(cv_t *cv, dnnl_tp_status_t status);
/* Adds an operator to a graph. x: the numbers of its inputs in this graph; y: receives those of its
 * results. A common type of the inputs that the operator does not take is unimplemented, because
 * models may have it. */
void dtp_cv_graph_op(cv_t *cv, dnnl_tp_graph_t graph, int kind, const char *name, int nin, val_t *const *in,
                     const dnnl_tp_value_t *x, int nattr, const dnnl_tp_op_attr_t *attr, int nout,
                     dnnl_tp_value_t *y);
/* Counts a repetition as a node; false after a failure: there are more than max_nodes. */
bool dtp_cv_take_node(cv_t *cv);
void *dtp_cv_alloc(cv_t *cv, size_t bytes);
bool dtp_cv_given(const cv_t *cv, int input);
bool dtp_cv_wanted(const cv_t *cv, int output);
/* Sets result i of the node. */
void dtp_cv_set(cv_t *cv, int i, val_t *x);
/* A tensor whose data the caller fills; *data is NULL on failure. */
val_t *dtp_cv_room(cv_t *cv, dnnl_tp_data_type_t type, int ndims, const int64_t *dims, void **data);
/* Converts an axis that may be negative to 0..ndims-1. */
int dtp_cv_axis(cv_t *cv, int64_t axis, int ndims);
/* The size of a dimension, which must be known: otherwise the node is refused. */
int64_t dtp_cv_dim(cv_t *cv, const val_t *x, int d);
/* The product of dimensions begin..end-1; CV_RUNTIME: one of them is not known. */
int64_t dtp_cv_product(const val_t *x, int begin, int end);

#endif
