/* Constant folding: operators on constants run now, once for all executables of the graph. */
#include <string.h>

#include "exec/compile/lowering/lower.h"

/* The key of a folded operator: what it does and the identities of what it reads. */
typedef struct {
    int32_t tag, kind;
    dtp_op_attrs_t attrs;
    int64_t in[4];
    dnnl_tp_tensor_info_t info[4];
} fold_key_t;
enum { FOLD_TAG = 1 };

static dnnl_tp_status_t fold_node(dtp_ir_t *ir, int index) {
    dtp_ir_node_t *n = &ir->nodes[index];
    dtp_ir_value_t *out = &ir->values[n->out[0]];
    fold_key_t *key = dtp_arena_alloc(ir->arena, sizeof *key);
    if (!key) return dnnl_tp_out_of_memory;
    key->tag = FOLD_TAG;
    key->kind = n->row->kind;
    key->attrs = *n->attrs;
    for (int i = 0; i < n->nin; ++i) {
        key->in[i] = n->in[i] < 0 ? -1 : ir->values[n->in[i]].cid;
        if (n->in[i] >= 0) {
            const dnnl_tp_tensor_info_t *t = ir->values[n->in[i]].info;
            key->info[i].ndims = t->ndims;
            key->info[i].data_type = t->data_type;
            memcpy(key->info[i].dims, t->dims, sizeof t->dims);
        }
    }
    dtp_lock(&ir->graph->lock);
    const dtp_derived_t *d = dtp_derived_find(ir->graph, key, sizeof *key);
    dtp_unlock(&ir->graph->lock);
    if (!d) {
        void *data;
        DTP_TRY(dtp_lower_constant(ir, index, &data));
        dtp_lock(&ir->graph->lock);
        d = dtp_derived_find(ir->graph, key, sizeof *key);
        if (!d) d = dtp_derived_add(ir->graph, key, sizeof *key, data);
        dtp_unlock(&ir->graph->lock);
        if (!d) return dnnl_tp_out_of_memory;
    }
    out->data = d->data;
    out->cid = d->id;
    out->node = -1;
    n->dead = true;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_ir_fold(dtp_ir_t *ir) {
    bool any = false;
    for (int i = 0; i < ir->nnodes && ir->nops; ++i) {
        dtp_ir_node_t *n = &ir->nodes[i];
        if (n->dead || !n->row || n->nin > 4 || n->nbefore) continue;
        bool all = true;
        for (int k = 0; k < n->nin; ++k) all &= n->in[k] < 0 || dtp_ir_is_const(ir, n->in[k]);
        if (all) DTP_TRY(fold_node(ir, i));
        any |= all;
    }
    if (any) dtp_ir_sweep(ir);
    return dnnl_tp_success;
}
