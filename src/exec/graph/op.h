/* Operators of graphs: rows, classes, attributes, inference, and everything that the classes have
 * in common. The classes are in src/exec/ops. */
#ifndef DTP_EXEC_GRAPH_OP_H
#define DTP_EXEC_GRAPH_OP_H

#include "common/layout/memory_desc.h"
#include "dnnl_tp/dnnl_tp_graph.h"

enum { DTP_GRAPH_MAX_ARGS = 64 }; /* inputs or outputs of one operator */

/* ---- Attributes -------------------------------------------------------------------------------------- */

/* First member of the attributes of every class. Each class has its own struct; the C type of a
 * member is the type of the attribute: float, int64_t, bool, dtp_word_t (one of several words),
 * dtp_list_t or dtp_lengths_t (s64 lists). Plain data with zero padding, so equal bytes are equal
 * attributes. */
typedef struct {
    uint32_t given; /* bit i: field i was given, not left to its default */
} dtp_op_attrs_t;

typedef struct {
    uint8_t at; /* index in the words of the field */
} dtp_word_t;
typedef struct {
    int64_t n, at[DNNL_TP_MAX_NDIMS];
} dtp_list_t;
typedef struct {
    int64_t n, at[DTP_GRAPH_MAX_ARGS];
} dtp_lengths_t;

enum { DTP_OP_MAX_ATTRS = 1024 }; /* bytes of the attributes of one operator */

/* One attribute of a class. Reading of attributes, text files and messages use these descriptions.
 */
typedef struct {
    /* dnnl_tp_op_attr_key_t; DTP_ATTR_FIXED: a number of the row that programs cannot set. */
    int key;
    const char *name;
    uint8_t type; /* dnnl_tp_op_attr_type_t */
    bool needed;
    uint16_t offset;          /* into the struct of the class */
    uint16_t most;            /* elements of a list; 0: one value */
    double standard;          /* default; of lists: no elements */
    const char *const *words; /* for strings: the allowed ones, then NULL */
} dtp_op_field_t;
enum { DTP_ATTR_FIXED = -1 };

#define DTP_FIELD_MEMBER(attrs, name) (((attrs *)0)->name)
#define DTP_FIELD_(attrs, name_, needed_, standard_, words_)    \
    {                                                           \
        dnnl_tp_op_attr_##name_, #name_,                        \
            _Generic(DTP_FIELD_MEMBER(attrs, name_), float      \
                     : dnnl_tp_op_attr_f32, bool                \
                     : dnnl_tp_op_attr_bool, dtp_word_t         \
                     : dnnl_tp_op_attr_string, int64_t          \
                     : dnnl_tp_op_attr_s64, dtp_list_t          \
                     : dnnl_tp_op_attr_s64, dtp_lengths_t       \
                     : dnnl_tp_op_attr_s64),                    \
            needed_, offsetof(attrs, name_),                    \
            _Generic(DTP_FIELD_MEMBER(attrs, name_), dtp_list_t \
                     : DNNL_TP_MAX_NDIMS, dtp_lengths_t         \
                     : DTP_GRAPH_MAX_ARGS, default : 0),        \
            standard_, words_                                   \
    }
/* A required attribute; an optional one with its default; one word of several, by default the
 * first. */
#define DTP_NEEDED(attrs, name) DTP_FIELD_(attrs, name, true, 0, NULL)
#define DTP_OPTIONAL(attrs, name, standard) DTP_FIELD_(attrs, name, false, standard, NULL)
#define DTP_WORD(attrs, name, words) DTP_FIELD_(attrs, name, false, 0, words)

/* ---- Classes and operators --------------------------------------------------------------------------- */

/* The names of an operator in messages. */
typedef struct {
    const char *name; /* of the operator; "" if it has none */
    const char *kind;
} dtp_op_id_t;

typedef struct dtp_op_row dtp_op_row_t;
struct dtp_lower;
struct dtp_step;
struct dtp_ir;
struct dtp_ir_node;
struct dtp_ir_post;

/* The data of inference. Dimensions of inputs, and then of results, may be run-time ones. */
typedef struct {
    const dtp_op_row_t *row;
    dtp_op_id_t id;
    const void *attrs; /* of the class */
    int nin, nout;
    const dnnl_tp_tensor_info_t *const *in; /* NULL: absent */
    /* For each input: its elements, if they are known (dtp_known_of); else NULL. */
    const int64_t *const *known;
    /* Zeroed at first. */
    dnnl_tp_tensor_info_t *out;
} dtp_infer_t;

/* The part of an argument that a step needs if dimension 0 of the step's result is cut into slices.
 */
typedef enum { DTP_CUT_REFUSED, DTP_CUT_WHOLE, DTP_CUT_SLICED } dtp_cut_t;
typedef struct {
    const struct dtp_step *step;
    int arg;
    const dtp_md_t *md, *dst; /* of the argument, of the result */
} dtp_cut_arg_t;
typedef dtp_cut_t dtp_cut_fn_t(const dtp_cut_arg_t *a);

/* A class of operators; each class is a file of src/exec/ops. DTP_OP_CLASS requires every entry, in
 * this order, so that none can be forgotten. */
typedef struct {
    size_t attrs_size;
    /* Its attributes; rows may have their own. */
    const dtp_op_field_t *fields;
    int nfields;
    unsigned flags; /* DTP_OP_* */
    /* Inputs, as bits, whose constants may have a layout that the implementation chooses. */
    unsigned packable;
    /* Inputs, as bits, that may be bf16 in place of f32, all together; the result is then bf16,
     * too. DTP_NO_BF16: none; DTP_ALL_BF16. */
    unsigned bf16;
    /* The number of results with these attributes if the user wants `wanted` ones. */
    int (*results)(const void *attrs, int wanted);
    dnnl_tp_status_t (*infer)(const dtp_infer_t *c);
    /* Called after infer: computes the elements of the only result, for classes that compute
     * shapes; false: they are not known. DTP_NO_VALUES: never. */
    bool (*values)(const dtp_infer_t *c, int64_t *values);
    dnnl_tp_status_t (*lower)(struct dtp_lower *lower, struct dtp_ir_node *node);
    /* DTP_NO_CUT: its steps are never cut. */
    dtp_cut_fn_t *cut;
    /* Describes the node as a post-operation of the node that makes its input x; false: it cannot
     * be one. DTP_NO_POST: never. */
    bool (*post)(const struct dtp_ir *ir, const struct dtp_ir_node *node, int x, struct dtp_ir_post *post);
} dtp_op_class_t;
enum {
    /* Inputs after the fewest ones may be absent. */
    DTP_OP_MAY_LACK = 1,
    /* The result has the elements of the first input, in their order. */
    DTP_OP_SAME_ELEMENTS = 2,
    /* Results may be views of the first input. */
    DTP_OP_VIEW = 4,
    /* The result has the elements of all inputs, which follow each other along a dimension. */
    DTP_OP_JOINS = 8,
    /* The elements of the second input determine the shape of the result. */
    DTP_OP_SHAPE_INPUT = 16,
    /* The result {N, C, ...} has channels innermost. */
    DTP_OP_CHANNELS_LAST = 32,
    /* The result has the order of dimensions that the inputs have. */
    DTP_OP_KEEPS_ORDER = 64,
    /* Accepts and produces channels-last tensors whose pixel stride exceeds the number of channels.
     */
    DTP_OP_PIXELS_APART = 128,
    /* Inputs and result may differ in type: one bf16, the other f32. */
    DTP_OP_OWN_TYPE = 256,
    /* Faster in bf16, even if inputs must be converted (compile/passes/bf16.c). */
    DTP_OP_PRODUCT = 512
};
#define DTP_FIELDS(fields) fields, (int)(sizeof(fields) / sizeof *(fields))
#define DTP_NO_FIELDS NULL, 0
#define DTP_NO_BF16 0
#define DTP_ALL_BF16 ~0u
#define DTP_NO_VALUES NULL
#define DTP_NO_CUT NULL
#define DTP_NO_POST NULL
#define DTP_OP_CLASS(attrs, fields, flags, packable, bf16, results, infer, values, lower, cut, post) \
    {                                                                                                \
        sizeof(attrs) + 0 * sizeof(char[sizeof(attrs) <= DTP_OP_MAX_ATTRS ? 1 : -1]), fields, flags, \
            packable, bf16, results, infer, values, lower, cut, post                                 \
    }

/* An operator: a line of ops.inc. */
struct dtp_op_row {
    int kind; /* dnnl_tp_op_kind_t */
    const char *name;
    const dtp_op_class_t *cls;
    int min_in, max_in;           /* -1: any number */
    const void *param;            /* for the class: identifies this operator of the class */
    const dtp_op_field_t *fields; /* NULL: those of the class */
    int nfields;
};
extern const dtp_op_row_t dtp_op_rows[]; /* src/exec/ops/rows.c */
extern const int dtp_op_nrows;

/* NULL: the kind, or the name, is unknown. */
const dtp_op_row_t *dtp_op_row(int kind);
const dtp_op_row_t *dtp_op_row_named(const char *name, size_t size);
static inline const dtp_op_field_t *dtp_op_fields(const dtp_op_row_t *row, int *count) {
    *count = row->fields ? row->nfields : row->cls->nfields;
    return row->fields ? row->fields : row->cls->fields;
}
/* Whether the attribute at this offset was given. */
bool dtp_op_given(const dtp_op_row_t *row, const void *attrs, size_t offset);

/* Reads the public attributes; refuses unknown, repeated, mistyped and missing ones. attrs: room
 * for the attributes of the class. */
dnnl_tp_status_t dtp_op_attrs_read(void *attrs, const dtp_op_row_t *row, dtp_op_id_t id, int nattr,
                                   const dnnl_tp_op_attr_t *attr);

/* Infers shapes and types of the results. */
dnnl_tp_status_t dtp_op_infer(const dtp_infer_t *c);

/* ---- Values that determine shapes -------------------------------------------------------------------- */

/* Inference of shapes uses the elements of integer and boolean tensors with a limited number of
 * elements: constants, and results that classes compute from them and from shapes. */
enum { DTP_KNOWN_MAX = 64 };
bool dtp_may_be_known(const dnnl_tp_tensor_info_t *info);
/* Converts elements of such a tensor to s64, and back. */
void dtp_known_of(const dnnl_tp_tensor_info_t *info, const void *data, int64_t *values);
void dtp_known_to(const dnnl_tp_tensor_info_t *info, const int64_t *values, void *data);
/* Called after dtp_op_infer: gives the elements of the result, if the class knows them. */
bool dtp_op_values(const dtp_infer_t *c, int64_t values[DTP_KNOWN_MAX]);

/* ---- Shapes ------------------------------------------------------------------------------------------ */

/* Number of elements; -1 with run-time dims. */
int64_t dtp_info_nelems(const dnnl_tp_tensor_info_t *info);
static inline size_t dtp_info_bytes(const dnnl_tp_tensor_info_t *info) {
    return (size_t)dtp_info_nelems(info) * dtp_type_size(info->data_type);
}
bool dtp_info_equal(const dnnl_tp_tensor_info_t *a, const dnnl_tp_tensor_info_t *b);
/* Refuses two tensors of an operator that should agree and do not; what, i: "output", 0. */
dnnl_tp_status_t dtp_info_differ(dtp_op_id_t id, const char *what, int i, const dnnl_tp_tensor_info_t *a,
                                 const dnnl_tp_tensor_info_t *b);
/* The status of two tensors that should agree and do not: their types if these differ, else their
 * shapes. */
static inline dnnl_tp_status_t dtp_info_mismatch(const dnnl_tp_tensor_info_t *a,
                                                 const dnnl_tp_tensor_info_t *b) {
    return a->data_type == b->data_type ? dnnl_tp_invalid_shape : dnnl_tp_invalid_data_type;
}
static inline dtp_reason_t dtp_info_mismatch_reason(const dnnl_tp_tensor_info_t *a,
                                                    const dnnl_tp_tensor_info_t *b) {
    return a->data_type == b->data_type ? DTP_GRAPH_SHAPE : DTP_GRAPH_DATA_TYPE;
}
static inline bool dtp_is_float(dnnl_tp_data_type_t t) {
    return t == dnnl_tp_f32 || t == dnnl_tp_bf16 || t == dnnl_tp_f16 || t == dnnl_tp_f64;
}
/* Product of dims[from..to). */
int64_t dtp_info_product(const dnnl_tp_tensor_info_t *info, int from, int to);
/* Checks a shape given by the caller: counts, signs, overflow, type; what = "input 'x'" in
 * messages. */
dnnl_tp_status_t dtp_info_check(const dnnl_tp_tensor_info_t *info, bool runtime_allowed, const char *what,
                                const char *name);
/* "{8, 32, 384}"; returns text. */
enum { DTP_SHAPE_TEXT = 160 };
const char *dtp_info_text(const dnnl_tp_tensor_info_t *info, char text[DTP_SHAPE_TEXT]);

#endif
