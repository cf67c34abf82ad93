/* Operators of graphs: their table, their attributes, and shape inference. */
#ifndef DTP_EXEC_GRAPH_OP_H
#define DTP_EXEC_GRAPH_OP_H

#include "common/layout/memory_desc.h"
#include "dnnl_tp/dnnl_tp_graph.h"

enum { DTP_GRAPH_MAX_ARGS = 64 }; /* inputs or outputs of one operator */

typedef enum {
    DTP_CLASS_UNARY,
    DTP_CLASS_BINARY,
    DTP_CLASS_BIAS_ADD,
    DTP_CLASS_CONCAT,
    DTP_CLASS_LAYER_NORM,
    DTP_CLASS_RMS_NORM,
    DTP_CLASS_MATMUL,
    DTP_CLASS_REDUCE,
    DTP_CLASS_SOFTMAX,
    DTP_CLASS_RESHAPE,
    DTP_CLASS_TRANSPOSE,
    DTP_CLASS_GATHER,
    DTP_CLASS_ATTENTION,
    DTP_CLASS_POOL,
    DTP_CLASS_HOST /* not in the table */
} dtp_op_class_t;

/* Attributes as bits. */
enum {
    DTP_A_ALPHA = 1 << 0,
    DTP_A_BETA = 1 << 1,
    DTP_A_EPSILON = 1 << 2,
    DTP_A_MAX = 1 << 3,
    DTP_A_MIN = 1 << 4,
    DTP_A_AXIS = 1 << 5,
    DTP_A_BEGIN_NORM_AXIS = 1 << 6,
    DTP_A_AXES = 1 << 7,
    DTP_A_ORDER = 1 << 8,
    DTP_A_SHAPE = 1 << 9,
    DTP_A_KEEP_DIMS = 1 << 10,
    DTP_A_SPECIAL_ZERO = 1 << 11,
    DTP_A_TRANSPOSE_A = 1 << 12,
    DTP_A_TRANSPOSE_B = 1 << 13,
    DTP_A_USE_AFFINE = 1 << 14,
    DTP_A_MODE = 1 << 15,
    DTP_A_HEADS = 1 << 16,
    DTP_A_SCALE = 1 << 17
};

/* The attributes of one operator with defaults filled in; plain data, unused parts zero. */
typedef struct {
    unsigned set; /* DTP_A_* that were given */
    float alpha, beta, epsilon, max, min, scale;
    int64_t axis, begin_norm_axis, heads;
    int64_t list[DNNL_TP_MAX_NDIMS]; /* axes, order or shape */
    int32_t nlist;
    uint8_t keep_dims, special_zero, transpose_a, transpose_b, use_affine, gelu_tanh;
    uint8_t reserved[6];
} dtp_op_attrs_t;

typedef struct {
    int kind; /* dnnl_tp_op_kind_t */
    const char *name;
    dtp_op_class_t cls;
    int min_in, max_in;
    unsigned allowed, required; /* DTP_A_* */
} dtp_op_row_t;

/* NULL when the kind, or the name, is not known. */
const dtp_op_row_t *dtp_op_row(int kind);
const dtp_op_row_t *dtp_op_row_named(const char *name, size_t size);

/* An attribute: where its value stands in dtp_op_attrs_t; the mode of gelu is a flag there. */
typedef struct {
    int key;
    unsigned bit;
    const char *name;
    int type;
    size_t offset; /* into dtp_op_attrs_t; lists go to `list` */
    bool is_list;
} dtp_op_key_t;
const dtp_op_key_t *dtp_op_keys(int *count);

/* How an operator is called in messages. */
typedef struct {
    const char *name; /* of the operator; "" if it has none */
    const char *kind;
} dtp_op_id_t;

/* Reads the public attributes; refuses unknown, repeated, mistyped and missing ones. */
dnnl_tp_status_t dtp_op_attrs_read(dtp_op_attrs_t *attrs, const dtp_op_row_t *row, dtp_op_id_t id, int nattr,
                                   const dnnl_tp_op_attr_t *attr);

/* Shape and type of the output; in[i] = NULL for an absent input. Dimensions may be run-time ones, of inputs
 * and then of the output. */
dnnl_tp_status_t dtp_op_infer(const dtp_op_row_t *row, dtp_op_id_t id, const dtp_op_attrs_t *attrs, int nin,
                              const dnnl_tp_tensor_info_t *const *in, dnnl_tp_tensor_info_t *out);

/* Number of elements; -1 with run-time dims. */
int64_t dtp_info_nelems(const dnnl_tp_tensor_info_t *info);
static inline size_t dtp_info_bytes(const dnnl_tp_tensor_info_t *info) {
    return (size_t)dtp_info_nelems(info) * dtp_type_size(info->data_type);
}
bool dtp_info_equal(const dnnl_tp_tensor_info_t *a, const dnnl_tp_tensor_info_t *b);
/* The status of two tensors that should agree and do not: their types if these differ, else their shapes. */
static inline dnnl_tp_status_t dtp_info_mismatch(const dnnl_tp_tensor_info_t *a,
                                                 const dnnl_tp_tensor_info_t *b) {
    return a->data_type == b->data_type ? dnnl_tp_invalid_shape : dnnl_tp_invalid_data_type;
}
static inline dtp_reason_t dtp_info_mismatch_reason(const dnnl_tp_tensor_info_t *a,
                                                    const dnnl_tp_tensor_info_t *b) {
    return a->data_type == b->data_type ? DTP_GRAPH_SHAPE : DTP_GRAPH_DATA_TYPE;
}
/* Product of dims[from..to). */
int64_t dtp_info_product(const dnnl_tp_tensor_info_t *info, int from, int to);
/* Checks a shape given by the caller: counts, signs, overflow, type; what = "input 'x'" in messages. */
dnnl_tp_status_t dtp_info_check(const dnnl_tp_tensor_info_t *info, bool runtime_allowed, const char *what,
                                const char *name);
/* "{8, 32, 384}"; returns text. */
enum { DTP_SHAPE_TEXT = 160 };
const char *dtp_info_text(const dnnl_tp_tensor_info_t *info, char text[DTP_SHAPE_TEXT]);

#endif
