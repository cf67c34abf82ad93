/* What the inputs of a state's run are, if the past is to stay in its place. */
#include "onnx/state.h"

#include <string.h>

static bool is_all(const dnnl_tp_onnx_arg_t *arg, int64_t value) {
    const int64_t n = dtp_onnx_elems(arg->info);
    int64_t wrong = 0;
    switch (arg->info->data_type) {
    case dnnl_tp_s64:
        for (int64_t i = 0; i < n; ++i) wrong |= ((const int64_t *)arg->data)[i] ^ value;
        break;
    case dnnl_tp_s32:
        for (int64_t i = 0; i < n; ++i) wrong |= ((const int32_t *)arg->data)[i] ^ value;
        break;
    case dnnl_tp_boolean:
        for (int64_t i = 0; i < n; ++i) wrong |= ((const uint8_t *)arg->data)[i] ^ value;
        break;
    case dnnl_tp_f32:
        for (int64_t i = 0; i < n; ++i) wrong |= ((const float *)arg->data)[i] != (float)value;
        break;
    default: return false;
    }
    return n > 0 && !wrong;
}

/* Whether all readers of an input take it for the number of keys. */
static bool is_total(const graph_proto_t *g, const char *name) {
    enum { TOTAL = 6 };
    bool found = false;
    for (size_t i = 0; i < g->n_node; ++i)
        for (size_t k = 0; k < g->node[i]->n_input; ++k) {
            if (strcmp(g->node[i]->input[k], name)) continue;
            if (k != TOTAL || strcmp(g->node[i]->op_type, "GroupQueryAttention")) return false;
            found = true;
        }
    return found;
}

/* The second dimension of ids or embeddings; masks, which also have the past, are longer. */
int64_t dtp_state_rows(const state_t *st) {
    int64_t rows = 0;
    for (int i = 0; i < st->session->nin; ++i) {
        const dnnl_tp_tensor_info_t *t = st->pair_of[i] ? NULL : st->args[i].info;
        if (t && (t->ndims == 2 || t->ndims == 3) && (!rows || t->dims[1] < rows)) rows = t->dims[1];
    }
    return rows;
}

bool dtp_state_roles(state_t *st, int64_t rows) {
    const session_t *s = st->session;
    const int64_t total = st->length + rows;
    for (int i = 0; i < s->nin; ++i) {
        dtp_grown_input_t *x = &st->inputs[i];
        const dnnl_tp_onnx_arg_t *arg = &st->args[i];
        const dnnl_tp_onnx_port_t *port = &st->ports[i];
        memset(x, 0, sizeof *x);
        if (st->pair_of[i]) {
            const dtp_pair_t *pair = &st->pairs[st->pair_of[i] - 1];
            const kept_t *k = &st->kept[st->pair_of[i] - 1];
            x->info = k->info;
            x->axis = k->axis;
            x->role = DTP_ROLE_PAST;
            if (x->info.ndims != DTP_STACKED_PAST - !pair->stacked || x->info.data_type != dnnl_tp_f32 ||
                x->info.dims[pair->stacked] != st->batch)
                return false;
            continue;
        }
        if (!arg->info) continue;
        if (arg->info->data_type != port->info.data_type ||
            (port->info.ndims >= 0 && port->info.ndims != arg->info->ndims))
            return false; /* it is refused elsewhere */
        x->info = *arg->info;
        x->role = DTP_ROLE_PLAIN;
        for (int d = 1; d < x->info.ndims; ++d)
            if ((port->info.ndims < 0 || port->info.dims[d] == DNNL_TP_RUNTIME_DIM_VAL) &&
                x->info.dims[d] == total)
                x->totals |= 1u << d;
        if (x->totals) {
            if (!is_all(arg, 1)) return false;
            x->role = DTP_ROLE_ONES;
        } else if (port->flags & (DNNL_TP_ONNX_DETERMINES_SHAPES | DNNL_TP_ONNX_DECIDES_BRANCHES)) {
            x->role = DTP_ROLE_VALUE;
            x->data = arg->data;
            if (dtp_onnx_elems(arg->info) == 1 && is_total(s->model->proto->graph, port->name)) {
                if (!is_all(arg, total)) return false;
                x->role = DTP_ROLE_TOTAL;
            }
        }
    }
    return true;
}
