/* The elements in another type, by value or by bits. */
#include "common/problems/graph/pointwise.h"
#include "common/problems/reorder.h"
#include "exec/ops/ops.h"

DTP_ATTR(to, 0x10005) /**< type of the result: f32, f64, s64, s32, s8, u8, boolean; bf16 of f32 (string) */

typedef struct {
    dtp_op_attrs_t base;
    dtp_word_t to;
} attrs_t;
static const char *const names[] = {"f32", "f64", "s64", "s32", "s8", "u8", "boolean", "bf16", NULL};
static const dnnl_tp_data_type_t types[] = {dnnl_tp_f32, dnnl_tp_f64, dnnl_tp_s64,     dnnl_tp_s32,
                                            dnnl_tp_s8,  dnnl_tp_u8,  dnnl_tp_boolean, dnnl_tp_bf16};
static const dtp_op_field_t type_cast_fields[] = {DTP_WORD(attrs_t, to, names)};

/* Is one of them bf16, and the other one f32? */
static bool is_short(const info_t *x, const info_t *y) {
    return (x->data_type == dnnl_tp_bf16 && y->data_type == dnnl_tp_f32) ||
           (x->data_type == dnnl_tp_f32 && y->data_type == dnnl_tp_bf16);
}

static dnnl_tp_status_t type_cast_infer(const dtp_infer_t *c) {
    const dnnl_tp_data_type_t from = c->in[0]->data_type;
    *c->out = *c->in[0];
    c->out->data_type = types[((const attrs_t *)c->attrs)->to.at];
    TYPE(is_short(c->in[0], c->out) ||
             (from != dnnl_tp_bf16 && from != dnnl_tp_f16 && c->out->data_type != dnnl_tp_bf16),
         "src has type %s, which is not converted to %s", dnnl_tp_dt2str(from),
         dnnl_tp_dt2str(c->out->data_type));
    return dnnl_tp_success;
}

/* Integers that shapes are made of. */
static bool type_cast_values(const dtp_infer_t *c, int64_t *values) {
    if (!c->known[0]) return false;
    const int64_t n = dtp_info_nelems(c->out);
    for (int64_t i = 0; i < n; ++i) switch (c->out->data_type) {
        case dnnl_tp_s64: values[i] = c->known[0][i]; break;
        case dnnl_tp_s32: values[i] = (int32_t)c->known[0][i]; break;
        case dnnl_tp_boolean: values[i] = c->known[0][i] != 0; break;
        default: return false;
        }
    return true;
}

static dnnl_tp_status_t reorder_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    dtp_step_t *s;
    dtp_md_t src;
    dtp_step_arg_t arg;
    const info_t *t = dtp_info(l, n->in[0]);
    const int split = dtp_last_split(t);
    DTP_TRY(dtp_dense2(l, n->in[0], split, &src, &arg));
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_reorder_desc_t), dnnl_tp_reorder, DTP_REORDER_NARGS, &s));
    dtp_reorder_desc_t *d = (dtp_reorder_desc_t *)s->op;
    d->src = src;
    s->arg[DTP_REORDER_SRC] = arg;
    return dtp_result2(l, n->out[0], split, &d->dst, &s->arg[DTP_REORDER_DST]);
}

static dnnl_tp_status_t type_cast_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    if (is_short(dtp_info(l, n->in[0]), dtp_info(l, n->out[0]))) return reorder_lower(l, n);
    if (dtp_info(l, n->in[0])->data_type == dtp_info(l, n->out[0])->data_type) return dtp_lower_alias(l, n);
    return dtp_lower_pointwise(l, n, DTP_PW_cast);
}

const dtp_op_class_t dtp_class_type_cast =
    DTP_OP_CLASS(attrs_t, DTP_FIELDS(type_cast_fields), 0, 0, DTP_NO_BF16, dtp_one_result, type_cast_infer,
                 type_cast_values, type_cast_lower, dtp_cut_all, DTP_NO_POST);

/* ---- Bits ------------------------------------------------------------------------------------------------ */

static dnnl_tp_status_t bit_cast_infer(const dtp_infer_t *c) {
    const dnnl_tp_data_type_t from = c->in[0]->data_type, to = types[((const attrs_t *)c->attrs)->to.at];
    *c->out = *c->in[0];
    c->out->data_type = to;
    TYPE(dtp_type_size(from) == dtp_type_size(to) && from != dnnl_tp_boolean && to != dnnl_tp_boolean,
         "src has type %s, whose bits are not taken as %s", dnnl_tp_dt2str(from), dnnl_tp_dt2str(to));
    return dnnl_tp_success;
}

static dnnl_tp_status_t bit_cast_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    dtp_view_t p;
    DTP_TRY(dtp_view_dense(l, n->in[0], &p));
    return dtp_view_set(l, n->out[0], p.buf, p.offset, NULL);
}

const dtp_op_class_t dtp_class_bit_cast =
    DTP_OP_CLASS(attrs_t, DTP_FIELDS(type_cast_fields), 0, 0, DTP_NO_BF16, dtp_one_result, bit_cast_infer,
                 DTP_NO_VALUES, bit_cast_lower, DTP_NO_CUT, DTP_NO_POST);
