/* Recognition of joins that surround a tensor with one value, or repeat it, along one dimension after the other: such
 * chains, as importers write them for pads and tiles, become one node, which writes its result once. A join of parts that
 * follow each other in memory stays one unless it is a part of a chain. */
#include "common/primitive/engine.h"
#include "common/problems/graph/pad.h"
#include "exec/compile/ir/ir.h"
#include "exec/ops/attrs.h"

static bool has_kind(const dtp_ir_t *ir) {
    const struct dtp_impl *const *list = ir->engine->v->impl_list((dnnl_tp_primitive_kind_t)DTP_KIND_PAD);
    return list && *list;
}

/* The value that all elements of a constant have. */
static bool is_uniform(const dtp_ir_t *ir, int v, uint64_t *value) {
    const dtp_ir_value_t *c = &ir->values[v];
    const size_t size = dtp_type_size(c->info->data_type);
    const int64_t n = dtp_info_nelems(c->info);
    *value = 0;
    if (!dtp_ir_is_const(ir, v) || !c->data || n < 1 || size > sizeof *value) return false;
    memcpy(value, c->data, size);
    return !memcmp(c->data, (const char *)c->data + size, (size_t)(n - 1) * size);
}

/* The only input of a join that is no constant, others having one value: its place, or -1. */
static int padded(const dtp_ir_t *ir, const dtp_ir_node_t *n, uint64_t *value) {
    int found = -1;
    bool any = false;
    for (int i = 0; i < n->nin; ++i) {
        uint64_t other;
        if (!dtp_ir_is_const(ir, n->in[i])) {
            if (found >= 0) return -1;
            found = i;
            continue;
        }
        if (!is_uniform(ir, n->in[i], &other) || (any && other != *value)) return -1;
        *value = other;
        any = true;
    }
    return any ? found : -1;
}

static bool repeats(const dtp_ir_node_t *n) {
    for (int i = 1; i < n->nin; ++i)
        if (n->in[i] != n->in[0]) return false;
    return n->nin > 1;
}

/* Takes the pad that makes x, which n alone reads, into a, unless both change this dimension or have two values. */
static int merge(const dtp_ir_t *ir, int x, int uses, int axis, bool has_value, dtp_pad_attrs_t *a) {
    const dtp_ir_node_t *inner = dtp_ir_producer(ir, x, DTP_OP_PAD);
    if (!inner || ir->values[x].uses != uses || ir->values[x].outputs) return x;
    const dtp_pad_attrs_t *b = inner->attrs;
    bool pads = false;
    for (int i = 0; i < ir->values[x].info->ndims; ++i) pads |= b->before[i] || b->behind[i];
    if (b->before[axis] || b->behind[axis] || b->times[axis] != 1) return x;
    if (pads && has_value && b->value != a->value) return x;
    if (pads) a->value = b->value;
    for (int i = 0; i < ir->values[x].info->ndims; ++i) {
        if (i == axis) continue;
        a->before[i] = b->before[i];
        a->behind[i] = b->behind[i];
        a->times[i] = b->times[i];
    }
    return inner->in[0];
}

/* Parts that follow each other in memory: their makers may write them where they belong (dtp_want_parts). */
static bool is_outermost(const dnnl_tp_tensor_info_t *y, int axis) {
    return dtp_info_product(y, 0, axis) == 1;
}

/* is_wanted: its reader is a pad, and takes it in. */
static dnnl_tp_status_t match(dtp_ir_t *ir, dtp_ir_node_t *n, bool is_wanted, bool *any) {
    const dnnl_tp_tensor_info_t *y = ir->values[n->out[0]].info;
    const int64_t from_end = ((const dtp_concat_attrs_t *)n->attrs)->axis;
    const int axis = (int)(from_end < 0 ? from_end + y->ndims : from_end);
    uint64_t value = 0;
    const bool is_tile = repeats(n) && !dtp_ir_is_const(ir, n->in[0]);
    const int at = is_tile ? 0 : padded(ir, n, &value);
    if (at < 0 || dtp_info_nelems(ir->values[n->in[at]].info) == 0) return dnnl_tp_success;
    const int x = n->in[at], uses = is_tile ? n->nin : 1;
    if (!is_wanted && is_outermost(y, axis) && !dtp_ir_producer(ir, x, DTP_OP_PAD)) return dnnl_tp_success;
    dtp_ir_node_t *inner = dtp_ir_producer(ir, x, dnnl_tp_op_concat);
    if (inner && ir->values[x].uses == uses && !ir->values[x].outputs && !inner->nbefore)
        DTP_TRY(match(ir, inner, true, any));
    dtp_pad_attrs_t *a = dtp_arena_alloc(ir->arena, sizeof *a);
    int *in = dtp_arena_alloc(ir->arena, sizeof *in);
    if (!a || !in) return dnnl_tp_out_of_memory;
    for (int i = 0; i < y->ndims; ++i) a->times[i] = 1;
    a->type = y->data_type;
    a->value = value;
    if (is_tile) a->times[axis] = n->nin;
    for (int i = 0; i < n->nin && !is_tile; ++i)
        if (i != at) *(i < at ? &a->before[axis] : &a->behind[axis]) += ir->values[n->in[i]].info->dims[axis];
    const int from = merge(ir, x, uses, axis, !is_tile, a);
    *in = from;
    const int *before = n->in;
    const int nbefore = n->nin;
    const char *was = n->row->name;
    n->row = &dtp_op_pad;
    n->attrs = a;
    n->in = in;
    n->nin = 1;
    *any = true;
    if (from == x) return dnnl_tp_success;
    dtp_ir_sweep(ir);
    dtp_ir_absorb(ir, n, before, nbefore);
    dtp_ir_fused(ir, n, n->name, was);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_fuse_pad(dtp_ir_t *ir) {
    bool any = false, asked = false;
    for (int i = 0; i < ir->nnodes; ++i) {
        dtp_ir_node_t *n = &ir->nodes[i];
        if (n->dead || !n->row || n->row->kind != dnnl_tp_op_concat || n->nbefore) continue;
        if (!asked && !has_kind(ir)) return dnnl_tp_success;
        asked = true;
        DTP_TRY(match(ir, n, false, &any));
    }
    if (any) dtp_ir_sweep(ir);
    return dnnl_tp_success;
}
