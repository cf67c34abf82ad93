/* Parts of buffers: several steps write one buffer beside each other. Each part is a buffer for whoever
 * orders steps, the join of all parts is a step that does nothing, and memory is planned for the whole. */
#include "exec/compile/lowering/lower.h"

dnnl_tp_status_t dtp_new_part(dtp_lower_t *lower, int whole, int64_t at, size_t bytes, int *buf) {
    DTP_TRY(dtp_new_buf(lower, bytes, buf));
    dtp_buf_t *b = &lower->bufs[*buf];
    b->kind = DTP_BUF_PART;
    b->scope = lower->bufs[whole].scope;
    b->part_of = whole;
    b->part_at = at;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_join_parts(dtp_lower_t *lower, const dtp_ir_node_t *node, const int *parts, int nparts) {
    dtp_step_t *s;
    DTP_TRY(dtp_new_control(lower, node, DTP_CTL_JOIN, nparts + 1, &s));
    for (int i = 0; i < nparts; ++i) s->arg[i].buf = parts[i];
    s->arg[nparts] = (dtp_step_arg_t){.buf = lower->bufs[parts[0]].part_of, .written = true};
    return dnnl_tp_success;
}

int dtp_whole_of(const dtp_lower_t *lower, int buf, int64_t *at) {
    for (*at = 0; lower->bufs[buf].kind == DTP_BUF_PART; buf = lower->bufs[buf].part_of)
        *at += lower->bufs[buf].part_at;
    return buf;
}

/* The value whose writer can write v somewhere else, through what does not move elements; -1: there is none. */
static int movable(const dtp_ir_t *ir, int v, int region) {
    for (;;) {
        const dtp_ir_value_t *value = &ir->values[v];
        if (value->region != region || value->node < 0 || value->dest >= 0) return -1;
        const dtp_ir_node_t *n = &ir->nodes[value->node];
        const unsigned flags = n->row ? n->row->cls->flags : 0;
        if (n->dead || n->nparts > 1 || flags & DTP_OP_VIEW) return -1;
        if (!(flags & DTP_OP_SAME_ELEMENTS)) return v;
        v = n->in[0];
    }
}

/* ---- Channels of pixels ------------------------------------------------------------------------------ */

/* Part i of the channels of what n joins in `whole`: a pixel of it is as far from the next as one of the whole. */
static dnnl_tp_status_t new_channels(dtp_lower_t *lower, const dtp_ir_node_t *n, int whole, int64_t channel,
                                     int *buf) {
    const dnnl_tp_tensor_info_t *t = lower->ir->values[n->out[0]].info;
    return dtp_new_part(lower, whole, channel * (int64_t)dtp_type_size(t->data_type),
                        lower->bufs[whole].bytes, buf);
}

static int64_t channels_of(const dtp_ir_t *ir, int v) { return ir->values[v].info->dims[1]; }

/* Does n join along dimension 1? Two inputs or more that are as long as the result in all others. */
static bool joins_channels(const dtp_ir_t *ir, const dtp_ir_node_t *n) {
    const dtp_ir_value_t *out = &ir->values[n->out[0]];
    if (!out->is_last || n->nin < 2) return false;
    for (int i = 0; i < n->nin; ++i)
        for (int d = 0; d < out->info->ndims; ++d)
            if (d != 1 && ir->values[n->in[i]].info->dims[d] != out->info->dims[d]) return false;
    return true;
}

/* May whoever makes v write it with its pixels apart? All who read it must take it so. */
static bool is_placeable(const dtp_ir_t *ir, int v, int region) {
    const dtp_ir_value_t *value = &ir->values[v];
    if (value->region != region || value->node < 0 || value->into >= 0 || value->needs_dense) return false;
    const dtp_ir_node_t *n = &ir->nodes[value->node];
    const unsigned flags = n->row ? n->row->cls->flags : 0;
    if (n->dead || !value->is_last || n->nout != 1) return false;
    return flags & DTP_OP_JOINS ? joins_channels(ir, n) : (flags & DTP_OP_PIXELS_APART) != 0;
}

static dnnl_tp_status_t want_channels(dtp_lower_t *lower, const dtp_ir_node_t *n) {
    const dtp_ir_t *ir = lower->ir;
    dtp_ir_value_t *out = &ir->values[n->out[0]];
    bool any = out->into >= 0;
    for (int i = 0; i < n->nin; ++i) any |= is_placeable(ir, n->in[i], n->region);
    if (!any) return dnnl_tp_success;
    if (out->into < 0) {
        const size_t bytes = sizeof(int64_t) * (size_t)out->info->ndims;
        int64_t *strides = dtp_arena_alloc(ir->arena, bytes);
        dtp_dim_order_t order;
        if (!strides) return dnnl_tp_out_of_memory;
        dtp_order_channels_last(out->info->ndims, &order);
        dtp_order_strides(out->info, &order, strides);
        out->into_strides = strides;
        DTP_TRY(dtp_new_buf(lower, dtp_info_bytes(out->info), &out->into));
    }
    int64_t channel = 0;
    for (int i = 0; i < n->nin; channel += channels_of(ir, n->in[i++])) {
        if (!is_placeable(ir, n->in[i], n->region)) continue;
        DTP_TRY(new_channels(lower, n, out->into, channel, &ir->values[n->in[i]].into));
        ir->values[n->in[i]].into_strides = out->into_strides;
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_join_channels(dtp_lower_t *lower, const dtp_ir_node_t *n) {
    const dtp_ir_t *ir = lower->ir;
    const dtp_ir_value_t *out = &ir->values[n->out[0]];
    int parts[DTP_GRAPH_MAX_ARGS];
    int64_t channel = 0;
    for (int i = 0; i < n->nin; channel += channels_of(ir, n->in[i++])) {
        const dtp_ir_value_t *v = &ir->values[n->in[i]];
        const dtp_buf_t *b = v->into >= 0 && v->buf == v->into ? &lower->bufs[v->into] : NULL;
        const int64_t at = channel * (int64_t)dtp_type_size(out->info->data_type);
        parts[i] = v->into;
        if (b && b->kind == DTP_BUF_PART && b->part_of == out->into && b->part_at == at) continue;
        DTP_TRY(new_channels(lower, n, out->into, channel, &parts[i]));
        DTP_TRY(dtp_copy_view(lower, n->in[i], out->into_strides, parts[i]));
    }
    DTP_TRY(dtp_view_set(lower, n->out[0], out->into, 0, out->into_strides));
    return dtp_join_parts(lower, n, parts, n->nin);
}

/* ---- Leading dimensions ------------------------------------------------------------------------------ */

dnnl_tp_status_t dtp_want_parts(dtp_lower_t *lower, const dtp_ir_node_t *n) {
    const dtp_ir_t *ir = lower->ir;
    dtp_ir_value_t *out = &ir->values[n->out[0]];
    if (joins_channels(ir, n)) return want_channels(lower, n);
    const dnnl_tp_tensor_info_t *first = ir->values[n->in[0]].info;
    int axis = 0, moved[DTP_GRAPH_MAX_ARGS];
    while (axis < first->ndims && first->dims[axis] == 1 && out->info->dims[axis] == 1) ++axis;
    for (int d = axis + 1; d < first->ndims; ++d)
        if (first->dims[d] != out->info->dims[d]) return dnnl_tp_success;
    size_t at = 0;
    for (int i = 0; i < n->nin; ++i) {
        const size_t bytes = dtp_info_bytes(ir->values[n->in[i]].info);
        if (ir->values[n->in[i]].is_last) return dnnl_tp_success;
        moved[i] = movable(ir, n->in[i], n->region);
        for (int k = 0; k < i; ++k)
            if (moved[k] == moved[i]) return dnnl_tp_success;
        if (moved[i] < 0 || bytes == 0 || at % DTP_CACHE_LINE) return dnnl_tp_success;
        at += bytes;
    }
    if (n->nin < 2) return dnnl_tp_success;
    if (out->dest < 0) DTP_TRY(dtp_new_buf(lower, at, &out->dest));
    at = 0;
    for (int i = 0; i < n->nin; ++i) {
        const size_t bytes = dtp_info_bytes(ir->values[n->in[i]].info);
        int part;
        DTP_TRY(dtp_new_part(lower, out->dest, (int64_t)at, bytes, &part));
        dtp_want(lower, n->in[i], n->region, part);
        at += bytes;
    }
    return dnnl_tp_success;
}
