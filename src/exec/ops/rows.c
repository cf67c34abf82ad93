/* The table of operators, made from ops.inc. */
#include "common/problems/graph/pointwise.h"
#include "exec/ops/ops.h"

#define NAMED(name) dnnl_tp_op_##name, #name
/* A parameter of an element-wise function: an attribute that must be given, one that has a default, a number. */
#define PARAM(slot, key, name, needed, value) \
    { key, name, dnnl_tp_op_attr_f32, needed, offsetof(dtp_unary_attrs_t, slot), 0, value, NULL }
#define alpha_NEEDS(name) PARAM(alpha, dnnl_tp_op_attr_##name, #name, true, 0)
#define alpha_OR(name, value) PARAM(alpha, dnnl_tp_op_attr_##name, #name, false, value)
#define alpha_IS(value) PARAM(alpha, DTP_ATTR_FIXED, "", false, value)
#define beta_NEEDS(name) PARAM(beta, dnnl_tp_op_attr_##name, #name, true, 0)
#define beta_OR(name, value) PARAM(beta, dnnl_tp_op_attr_##name, #name, false, value)
#define beta_IS(value) PARAM(beta, DTP_ATTR_FIXED, "", false, value)

#define DTP_OP(name, number, cls, min_in, max_in) \
    {NAMED(name), &dtp_class_##cls, min_in, max_in, NULL, NULL, 0},
#define DTP_UNARY(name, number, alg, alpha, beta)          \
    {NAMED(name),                                          \
     &dtp_class_unary,                                     \
     1,                                                    \
     1,                                                    \
     &(const dtp_alg_row_t){(dnnl_tp_alg_kind_t)(alg)},    \
     (const dtp_op_field_t[]){alpha_##alpha, beta_##beta}, \
     2},
#define DTP_BINARY(name, number, cls, alg) \
    {NAMED(name), &dtp_class_##cls, 2, 2, &(const dtp_alg_row_t){(dnnl_tp_alg_kind_t)(alg)}, NULL, 0},
#define DTP_REDUCE(name, number, alg, p) \
    {NAMED(name), &dtp_class_reduce, 1, 1, &(const dtp_reduce_row_t){alg, p}, NULL, 0},
#define DTP_SOFTMAX(name, number, alg) \
    {NAMED(name), &dtp_class_softmax, 1, 1, &(const dtp_alg_row_t){(dnnl_tp_alg_kind_t)(alg)}, NULL, 0},
#define DTP_POINTWISE(name, number, inputs) \
    {NAMED(name), &dtp_class_pointwise, inputs, inputs, &(const dtp_pointwise_row_t){DTP_PW_##name}, NULL, 0},

const dtp_op_row_t dtp_op_rows[] = {
#include "exec/ops/ops.inc"
};
const int dtp_op_nrows = (int)(sizeof dtp_op_rows / sizeof *dtp_op_rows);

enum {
#define DTP_OP(name, number, cls, min_in, max_in) ROW_##name,
#include "exec/ops/ops.inc"
};

/* A number that stands there twice does not compile. */
const dtp_op_row_t *dtp_op_row(int kind) {
#define DTP_OP(name, number, cls, min_in, max_in) \
    case number: return &dtp_op_rows[ROW_##name];
    switch (kind) {
#include "exec/ops/ops.inc"
    default: return NULL;
    }
}
