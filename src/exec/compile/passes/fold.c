/* Constant folding: operators on constants run now, once for all executables of the graph. */
#include <string.h>

#include "exec/compile/lowering/lower.h"

/* The key of one result of a folded operator: this, its attributes, and by input the identity of the constant, then
 * its shape and type. */
typedef struct {
    int32_t tag, kind, result, nin;
} fold_key_t;
typedef struct {
    int64_t cid; /* -1: absent */
    int32_t ndims, data_type;
    int64_t dims[DNNL_TP_MAX_NDIMS];
} fold_input_t;
enum { FOLD_TAG = 1 };

static fold_key_t *make_key(const dtp_ir_t *ir, const dtp_ir_node_t *n, size_t *size) {
    const size_t attrs = n->row->cls->attrs_size;
    *size = sizeof(fold_key_t) + attrs + sizeof(fold_input_t) * (size_t)n->nin;
    fold_key_t *key = dtp_arena_alloc(ir->arena, *size);
    if (!key) return NULL;
    *key = (fold_key_t){FOLD_TAG, n->row->kind, 0, n->nin};
    memcpy(key + 1, n->attrs, attrs);
    char *at = (char *)(key + 1) + attrs;
    for (int i = 0; i < n->nin; ++i, at += sizeof(fold_input_t)) {
        fold_input_t in = {.cid = -1};
        if (n->in[i] >= 0) {
            const dnnl_tp_tensor_info_t *t = ir->values[n->in[i]].info;
            in.cid = ir->values[n->in[i]].cid;
            in.ndims = t->ndims;
            in.data_type = (int32_t)t->data_type;
            memcpy(in.dims, t->dims, sizeof *t->dims * (size_t)t->ndims);
        }
        memcpy(at, &in, sizeof in);
    }
    return key;
}

/* The results that an earlier compilation left, or those of this one (data, or NULL); false: they are not all there. */
static bool find_all(dtp_graph_t *g, fold_key_t *key, size_t size, int n, void *const *data,
                     const dtp_derived_t **found) {
    bool all = true;
    dtp_lock(&g->lock);
    for (int i = 0; i < n && all; ++i) {
        key->result = i;
        found[i] = dtp_derived_find(g, key, size);
        if (!found[i] && data) found[i] = dtp_derived_add(g, key, size, data[i]);
        all = found[i] != NULL;
    }
    dtp_unlock(&g->lock);
    return all;
}

static void set_constant(dtp_ir_t *ir, int v, const void *data, int64_t cid) {
    ir->values[v].data = data;
    ir->values[v].cid = cid;
    ir->values[v].node = -1;
}

/* is_own: some input belongs to the executable, so the results do, too. */
static dnnl_tp_status_t fold_node(dtp_ir_t *ir, int index, bool is_own) {
    dtp_ir_node_t *n = &ir->nodes[index];
    const dtp_derived_t *d[DTP_GRAPH_MAX_ARGS];
    void *data[DTP_GRAPH_MAX_ARGS];
    size_t size;
    if (is_own) {
        DTP_TRY(dtp_lower_constant(ir, index, true, data));
        for (int i = 0; i < n->nout; ++i) set_constant(ir, n->out[i], data[i], DTP_CID_OWN);
        n->dead = true;
        return dnnl_tp_success;
    }
    fold_key_t *key = make_key(ir, n, &size);
    if (!key) return dnnl_tp_out_of_memory;
    if (!find_all(ir->graph, key, size, n->nout, NULL, d)) {
        DTP_TRY(dtp_lower_constant(ir, index, false, data));
        if (!find_all(ir->graph, key, size, n->nout, data, d)) return dnnl_tp_out_of_memory;
    }
    for (int i = 0; i < n->nout; ++i) set_constant(ir, n->out[i], d[i]->data, d[i]->id);
    n->dead = true;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_ir_fold(dtp_ir_t *ir) {
    bool any = false;
    for (int i = 0; i < ir->nnodes && ir->nops; ++i) {
        dtp_ir_node_t *n = &ir->nodes[i];
        if (n->dead || !n->row || n->nbefore) continue;
        bool all = true, is_own = false;
        for (int k = 0; k < n->nin; ++k) {
            all &= n->in[k] < 0 || dtp_ir_is_const(ir, n->in[k]);
            is_own |= n->in[k] >= 0 && !dtp_ir_is_shared(ir, n->in[k]);
        }
        if (all) DTP_TRY(fold_node(ir, i, is_own));
        any |= all;
    }
    if (any) dtp_ir_sweep(ir);
    return dnnl_tp_success;
}
