/* Constant folding: operators on constants run now, once for all graphs of the store. */
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

enum { LARGE_BYTES = 4 * 1024 }; /* results whose data need not stay in the store */

/* The results that are in the store; *all: none is missing; *lacks: some have lost their data.
 * ir->folded has room for them and for all that are made. */
static dnnl_tp_status_t find_all(dtp_ir_t *ir, fold_key_t *key, size_t size, int n, dtp_derived_t **found,
                                 bool *all, bool *lacks) {
    DTP_TRY(dtp_arena_grow(ir->arena, (void **)&ir->folded, &ir->cap_folded, ir->nfolded + 2 * n,
                           sizeof *ir->folded));
    *all = true;
    *lacks = false;
    for (int i = 0; i < n && *all; ++i) {
        key->result = i;
        DTP_TRY(dtp_store_find(ir->graph->store, ir->graph, key, size, &found[i]));
        *all = found[i] != NULL;
        if (*all && found[i]->is_apart) ir->folded[ir->nfolded++] = (struct dtp_ir_folded){found[i], false};
        *lacks |= *all && !atomic_load_explicit(&found[i]->data, memory_order_acquire);
    }
    return dnnl_tp_success;
}

/* The data of its inputs is there. */
static bool has_inputs(dtp_ir_t *ir, const dtp_ir_node_t *n) {
    for (int i = 0; i < n->nin; ++i)
        if (n->in[i] >= 0 && !ir->values[n->in[i]].data) ir->lacks = true;
    return !ir->lacks;
}

/* Runs the operator. data: large results in an allocation each, the others in the block; without a
 * block all in one each. */
static dnnl_tp_status_t compute(dtp_ir_t *ir, int index, dtp_block_t **block, void **data) {
    const dtp_ir_node_t *n = &ir->nodes[index];
    const dtp_store_t *store = ir->graph->store;
    size_t bytes[DTP_GRAPH_MAX_ARGS], small = 0;
    for (int i = 0; i < n->nout; ++i) {
        bytes[i] = dtp_info_bytes(ir->values[n->out[i]].info);
        if (bytes[i] < LARGE_BYTES) small += dtp_round_up_size(bytes[i], DTP_CACHE_LINE);
    }
    if (block && !(*block = dtp_block_create(ir->graph->store, small))) return dnnl_tp_out_of_memory;
    char *at = block ? dtp_block_data(*block) : NULL;
    for (int i = 0; i < n->nout; ++i)
        if (block && bytes[i] < LARGE_BYTES) {
            data[i] = at;
            at += dtp_round_up_size(bytes[i], DTP_CACHE_LINE);
        } else if (!(data[i] = dtp_store_alloc(store, bytes[i] + 1))) return dnnl_tp_out_of_memory;
    return dtp_lower_constant(ir, index, bytes, data);
}

/* Results that are parts of constants whose data stay as long as the graph: they need no memory of their own. */
static dnnl_tp_status_t find_parts(dtp_ir_t *ir, int index, const void **data, bool *are_parts) {
    const dtp_ir_node_t *n = &ir->nodes[index];
    *are_parts = n->row->cls->flags & (DTP_OP_VIEW | DTP_OP_SAME_ELEMENTS);
    for (int i = 0; i < n->nin && *are_parts; ++i)
        for (int k = 0; k < ir->nfolded && n->in[i] >= 0; ++k)
            *are_parts &= ir->folded[k].entry->id != ir->values[n->in[i]].cid;
    for (int i = 0; i < n->nin && *are_parts; ++i)
        for (int k = 0; k < ir->nown && n->in[i] >= 0; ++k)
            *are_parts &= ir->own[k].data != ir->values[n->in[i]].data;
    return *are_parts ? dtp_constant_parts(ir, index, data, are_parts) : dnnl_tp_success;
}

/* The results become a block of the store; *added false: those of another compilation have. */
static dnnl_tp_status_t make_all(dtp_ir_t *ir, int index, fold_key_t *key, size_t size, dtp_derived_t **made,
                                 bool *added) {
    const dtp_ir_node_t *n = &ir->nodes[index];
    dtp_store_t *store = ir->graph->store;
    void *data[DTP_GRAPH_MAX_ARGS] = {NULL};
    const void *parts[DTP_GRAPH_MAX_ARGS];
    dtp_block_t *block = NULL;
    bool are_parts;
    DTP_TRY(find_parts(ir, index, parts, &are_parts));
    if (are_parts && !(block = dtp_block_create(store, 0))) return dnnl_tp_out_of_memory;
    dnnl_tp_status_t status = are_parts ? dnnl_tp_success : compute(ir, index, &block, data);
    int nput = 0;
    for (; nput < n->nout && status == dnnl_tp_success; ++nput) {
        const bool is_apart = !are_parts && dtp_info_bytes(ir->values[n->out[nput]].info) >= LARGE_BYTES;
        key->result = nput;
        made[nput] = dtp_block_put(store, block, key, size, are_parts ? parts[nput] : data[nput], is_apart);
        if (!made[nput]) {
            status = dnnl_tp_out_of_memory;
            break;
        }
    }
    if (status == dnnl_tp_success) {
        DTP_TRY(dtp_store_add(store, ir->graph, block, added));
        for (int i = 0; i < n->nout && *added; ++i)
            if (made[i]->is_apart) ir->folded[ir->nfolded++] = (struct dtp_ir_folded){made[i], false};
        return dnnl_tp_success;
    }
    for (int i = nput; i < n->nout; ++i) /* what no entry owns */
        if (dtp_info_bytes(ir->values[n->out[i]].info) >= LARGE_BYTES)
            dtp_free(store->obj.allocator, data[i]);
    if (block) dtp_block_free(store, block);
    return status;
}

/* The entries get their data again. */
static dnnl_tp_status_t remake_all(dtp_ir_t *ir, int index, dtp_derived_t *const *found) {
    const int n = ir->nodes[index].nout;
    void *data[DTP_GRAPH_MAX_ARGS] = {NULL};
    const dnnl_tp_status_t status = compute(ir, index, NULL, data);
    for (int i = 0; i < n; ++i)
        if (status == dnnl_tp_success) dtp_store_refill(ir->graph->store, found[i], data[i]);
        else dtp_free(ir->graph->store->obj.allocator, data[i]);
    return status;
}

static void set_constant(dtp_ir_t *ir, int v, const void *data, int64_t cid) {
    ir->values[v].data = data;
    ir->values[v].cid = cid;
    ir->values[v].node = -1;
}

/* Memory for a constant of the executable alone; large ones are allocations, which go as soon as nothing reads them. */
static dnnl_tp_status_t own_data(dtp_ir_t *ir, size_t bytes, void **data) {
    if (bytes < LARGE_BYTES) {
        *data = dtp_arena_alloc(ir->info_arena, bytes + 1);
        return *data ? dnnl_tp_success : dnnl_tp_out_of_memory;
    }
    DTP_TRY(dtp_arena_grow(ir->arena, (void **)&ir->own, &ir->cap_own, ir->nown + 1, sizeof *ir->own));
    if (!(*data = dtp_store_alloc(ir->graph->store, bytes))) return dnnl_tp_out_of_memory;
    ir->own[ir->nown++] = (struct dtp_ir_own){*data, false};
    return dnnl_tp_success;
}

/* Some input belongs to the executable, so the results do, too. */
static dnnl_tp_status_t fold_own(dtp_ir_t *ir, int index) {
    const dtp_ir_node_t *n = &ir->nodes[index];
    void *data[DTP_GRAPH_MAX_ARGS];
    const void *parts[DTP_GRAPH_MAX_ARGS];
    size_t bytes[DTP_GRAPH_MAX_ARGS];
    bool are_parts;
    if (!has_inputs(ir, n)) return dnnl_tp_runtime_error;
    DTP_TRY(find_parts(ir, index, parts, &are_parts));
    for (int i = 0; i < n->nout && !are_parts; ++i) {
        bytes[i] = dtp_info_bytes(ir->values[n->out[i]].info);
        DTP_TRY(own_data(ir, bytes[i], &data[i]));
    }
    if (!are_parts) DTP_TRY(dtp_lower_constant(ir, index, bytes, data));
    for (int i = 0; i < n->nout; ++i)
        set_constant(ir, n->out[i], are_parts ? parts[i] : data[i], DTP_CID_OWN);
    return dnnl_tp_success;
}

static dnnl_tp_status_t fold_shared(dtp_ir_t *ir, int index) {
    const dtp_ir_node_t *n = &ir->nodes[index];
    dtp_derived_t *d[DTP_GRAPH_MAX_ARGS];
    size_t size;
    fold_key_t *key = make_key(ir, n, &size);
    if (!key) return dnnl_tp_out_of_memory;
    for (bool all, lacks, has = false; !has;) { /* again where another compilation was faster */
        DTP_TRY(find_all(ir, key, size, n->nout, d, &all, &lacks));
        has = all;
        if (all && !(lacks && ir->remakes)) break;
        if (!has_inputs(ir, n)) return dnnl_tp_runtime_error;
        if (all) DTP_TRY(remake_all(ir, index, d));
        else DTP_TRY(make_all(ir, index, key, size, d, &has));
    }
    for (int i = 0; i < n->nout; ++i)
        set_constant(ir, n->out[i], atomic_load_explicit(&d[i]->data, memory_order_acquire), d[i]->id);
    return dnnl_tp_success;
}

/* Frees the data of a folded constant that nothing will read. */
static void drop_data(dtp_ir_t *ir, dtp_ir_value_t *v) {
    for (int i = 0; i < ir->nfolded; ++i) {
        if (ir->folded[i].entry->id != v->cid) continue;
        dtp_store_unpin(ir->graph->store, ir->folded[i].entry, false);
        ir->folded[i] = ir->folded[--ir->nfolded];
        v->data = NULL;
        return;
    }
    for (int i = 0; i < ir->nown && v->cid == DTP_CID_OWN; ++i) {
        if (ir->own[i].data != v->data) continue;
        dtp_free(ir->graph->store->obj.allocator, ir->own[i].data);
        ir->own[i] = ir->own[--ir->nown];
        v->data = NULL;
        return;
    }
}

/* The node has read its inputs: what nothing else reads loses its data now, so that a chain takes the memory of its largest
 * link. */
static void let_go(dtp_ir_t *ir, const dtp_ir_node_t *n) {
    for (int k = 0; k < n->nin; ++k)
        if (n->in[k] >= 0 && --ir->values[n->in[k]].uses == 0) drop_data(ir, &ir->values[n->in[k]]);
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
        if (!all) continue;
        DTP_TRY(is_own ? fold_own(ir, i) : fold_shared(ir, i));
        ir->nodes[i].dead = any = true;
        if (!ir->remakes) let_go(ir, &ir->nodes[i]);
    }
    if (any) dtp_ir_sweep(ir);
    return dnnl_tp_success;
}
