/* Attributes of the classes whose nodes passes of the compiler read or make. Other classes declare
 * theirs in their own files. */
#ifndef DTP_EXEC_OPS_ATTRS_H
#define DTP_EXEC_OPS_ATTRS_H

#include "exec/graph/op.h"

/* The parameters of the algorithm: each an attribute of the operator, or a number of its row. */
typedef struct {
    dtp_op_attrs_t base;
    float alpha, beta;
} dtp_unary_attrs_t;

typedef struct {
    dtp_op_attrs_t base;
    dtp_word_t mode;
} dtp_gelu_attrs_t;
enum { DTP_GELU_ERF, DTP_GELU_TANH };

typedef struct {
    dtp_op_attrs_t base;
    bool transpose_a, transpose_b;
} dtp_matmul_attrs_t;

typedef struct {
    dtp_op_attrs_t base;
    int64_t axis;
} dtp_softmax_attrs_t;

typedef struct {
    dtp_op_attrs_t base;
    float epsilon;
} dtp_batch_norm_attrs_t;

typedef struct {
    dtp_op_attrs_t base;
    float epsilon;
    int64_t begin_norm_axis;
    bool use_affine; /* layer_norm; not given: with the inputs */
} dtp_norm_attrs_t;

typedef struct {
    dtp_op_attrs_t base;
    dtp_list_t axes; /* not given: all */
    bool keep_dims;
} dtp_reduce_attrs_t;

typedef struct {
    dtp_op_attrs_t base;
    dtp_list_t order;
} dtp_transpose_attrs_t;

typedef struct {
    dtp_op_attrs_t base;
    int64_t heads;
    float scale; /* NaN: 1 / sqrt(features of a head) */
} dtp_attention_attrs_t;

typedef struct {
    dtp_op_attrs_t base;
    int64_t heads, window;
    float scale, softcap; /* scale: as of attention */
    bool is_causal, interleaved;
} dtp_cached_attrs_t;

/* Converts elements to another type: a node that only passes make (elements/convert.c). */
typedef struct {
    dtp_op_attrs_t base;
    dnnl_tp_data_type_t to;
    bool channels_last; /* the result has channels innermost */
} dtp_convert_attrs_t;
enum { DTP_OP_CONVERT = -1 };
extern const dtp_op_row_t dtp_op_convert;

typedef struct {
    dtp_op_attrs_t base;
    int64_t axis; /* negative: from the end */
} dtp_concat_attrs_t;

/* x with a value before and behind its elements along some dimensions, and repeated along others: a node that only passes
 * make (elements/pad.c). */
typedef struct {
    dtp_op_attrs_t base;
    dnnl_tp_dims_t before, behind; /* elements along each dimension */
    dnnl_tp_dims_t times;          /* 1: not repeated; otherwise nothing is before and behind */
    dnnl_tp_data_type_t type;      /* of the value */
    uint64_t value;                /* its bytes, the first one first */
} dtp_pad_attrs_t;
enum { DTP_OP_PAD = -2 };
extern const dtp_op_row_t dtp_op_pad;

#endif
