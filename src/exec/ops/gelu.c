/* Gelu in two forms, which an attribute chooses. */
#include "exec/ops/ops.h"

static const char *const modes[] = {"gelu_erf", "gelu_tanh", NULL};
static const dtp_op_field_t gelu_fields[] = {DTP_WORD(dtp_gelu_attrs_t, mode, modes)};

static dnnl_tp_alg_kind_t alg_of(const dtp_ir_node_t *n) {
    const dtp_gelu_attrs_t *a = n->attrs;
    return a->mode.at == DTP_GELU_TANH ? dnnl_tp_eltwise_gelu_tanh : dnnl_tp_eltwise_gelu_erf;
}

static dnnl_tp_status_t gelu_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    return dtp_lower_eltwise(l, n, n->in[0], n->out[0], alg_of(n), 0.f, 0.f);
}

static bool gelu_post(const dtp_ir_t *ir, const dtp_ir_node_t *n, int x, dtp_ir_post_t *post) {
    (void)ir;
    (void)x;
    *post = (dtp_ir_post_t){.alg = alg_of(n)};
    return true;
}

const dtp_op_class_t dtp_class_gelu =
    DTP_OP_CLASS(dtp_gelu_attrs_t, DTP_FIELDS(gelu_fields), DTP_OP_KEEPS_ORDER, 0, 1, dtp_one_result,
                 dtp_infer_same, DTP_NO_VALUES, gelu_lower, dtp_cut_all, gelu_post);
