/* Fusion into the producing matmul, convolution, batch normalisation, product or sum of two tensors: bias, element-wise functions,
 * scalars, residuals; what maps each channel goes into the constants of a convolution or of a normalisation. A fused pair takes the
 * place of its later node, where everything that it reads is there. The engine says whether it can (fusible.c). */
#include "common/base/elementwise.h"
#include "exec/compile/lowering/lower.h"
#include "exec/ops/attrs.h"

/* With channels in the second dimension, and weights of its own for each: convolution, conv_transpose. */
static bool is_convolution(const dtp_ir_node_t *p) { return p->row->cls->flags & DTP_OP_CHANNELS_LAST; }

static bool is_elementwise(const dtp_ir_node_t *p) {
    return p->row->kind == dnnl_tp_op_multiply || p->row->kind == dnnl_tp_op_add;
}

/* The operator that makes v and may still grow, or NULL. */
static dtp_ir_node_t *growable(const dtp_ir_t *ir, int v) {
    static const int kinds[] = {dnnl_tp_op_matmul,         dnnl_tp_op_convolution,
                                dnnl_tp_op_conv_transpose, dnnl_tp_op_batch_norm_inference,
                                dnnl_tp_op_multiply,       dnnl_tp_op_add};
    dtp_ir_node_t *p = NULL;
    for (int i = 0; i < (int)(sizeof kinds / sizeof *kinds) && !p; ++i) p = dtp_ir_producer(ir, v, kinds[i]);
    if (!p || !dtp_ir_single(ir, v) || p->npost == DTP_IR_MAX_POST) return NULL;
    const bool is_f32 = dtp_ew_arithmetic(ir->values[v].info->data_type, true) == dnnl_tp_f32;
    return is_f32 || !is_elementwise(p) ? p : NULL; /* other arithmetic has no post-operations */
}

/* n becomes what p was, and p ends. */
static void take_over(dtp_ir_t *ir, dtp_ir_node_t *n, dtp_ir_node_t *p, int x) {
    const int *out = n->out;
    const char *name = n->name, *kind = n->row->name;
    bool effects = n->effects || p->effects;
    *n = *p;
    n->out = out;
    n->effects = effects;
    dtp_ir_fused(ir, n, name, kind);
    p->dead = p->absorbed = true;
    ir->values[x].uses = 0;
}

/* ---- Maps of channels -------------------------------------------------------------------------------- */

/* Constants of f32 that all executables share: what is made of them is made once. */
static bool is_parameter(const dtp_ir_t *ir, int v) {
    return dtp_ir_is_shared(ir, v) && ir->values[v].info->data_type == dnnl_tp_f32;
}

/* A convolution whose weights and bias can take a map of its channels in, or a normalisation whose scales and shifts can. */
static bool takes_map(const dtp_ir_t *ir, const dtp_ir_node_t *p) {
    if (p->npost || p->naffine == DTP_IR_MAX_AFFINE) return false;
    if (p->row->kind == dnnl_tp_op_batch_norm_inference) {
        for (int i = 1; i < p->nin; ++i)
            if (!is_parameter(ir, p->in[i])) return false;
        return p->naffine + 1 < DTP_IR_MAX_AFFINE; /* its own map is the first */
    }
    if (!is_convolution(p)) return false;
    const bool has_bias = p->nin > 2 && p->in[2] >= 0;
    return is_parameter(ir, p->in[1]) && dtp_info_nelems(ir->values[p->in[1]].info) > 0 &&
           (!has_bias || is_parameter(ir, p->in[2]));
}

/* What n does to each channel of its input x. */
static bool map_of(const dtp_ir_t *ir, const dtp_ir_node_t *n, int x, dtp_ir_affine_t *map) {
    *map = (dtp_ir_affine_t){.value = {-1, -1, -1, -1}};
    if (n->row->kind == dnnl_tp_op_batch_norm_inference) {
        map->kind = DTP_AFFINE_NORMALISE;
        map->epsilon = ((const dtp_batch_norm_attrs_t *)n->attrs)->epsilon;
        for (int i = 0; i < DTP_IR_AFFINE_ARGS; ++i) {
            map->value[i] = n->in[1 + i];
            if (!is_parameter(ir, n->in[1 + i])) return false;
        }
        return n->in[0] == x;
    }
    dtp_ir_post_t post;
    switch (n->row->kind) {
    case dnnl_tp_op_multiply: map->kind = DTP_AFFINE_MULTIPLY; break;
    case dnnl_tp_op_divide: map->kind = DTP_AFFINE_DIVIDE; break;
    case dnnl_tp_op_add: map->kind = DTP_AFFINE_ADD; break;
    case dnnl_tp_op_subtract: map->kind = DTP_AFFINE_SUBTRACT; break;
    default: return false;
    }
    const bool commutes = map->kind == DTP_AFFINE_MULTIPLY || map->kind == DTP_AFFINE_ADD;
    if ((!commutes && n->in[0] != x) || !n->row->cls->post(ir, n, x, &post)) return false;
    map->value[0] = post.value;
    return is_parameter(ir, post.value) &&
           (post.spread == DTP_SPREAD_CHANNEL || dtp_info_nelems(ir->values[post.value].info) == 1);
}

static dnnl_tp_status_t fuse_map(dtp_ir_t *ir, dtp_ir_node_t *n, bool *is_done) {
    for (int k = 0; k < n->nin && !*is_done; ++k) {
        const int x = n->in[k];
        dtp_ir_node_t *p = growable(ir, x);
        dtp_ir_affine_t map;
        if (!p || !takes_map(ir, p) || !map_of(ir, n, x, &map)) continue;
        if (!p->affine) p->affine = dtp_arena_alloc(ir->arena, sizeof *p->affine * DTP_IR_MAX_AFFINE);
        if (!p->affine) return dnnl_tp_out_of_memory;
        take_over(ir, n, p, x);
        n->affine[n->naffine++] = map;
        *is_done = true;
    }
    return dnnl_tp_success;
}

/* ---- Post-operations --------------------------------------------------------------------------------- */

/* Is what n does a bias of p, which has none yet and nothing behind it? */
static bool is_bias(const dtp_ir_t *ir, const dtp_ir_node_t *p, const dtp_ir_post_t *post) {
    if (!post->adds || p->npost || p->naffine || p->nin > 2) return false;
    if (p->row->kind == dnnl_tp_op_matmul)
        return post->spread == DTP_SPREAD_ROW && ir->values[p->in[1]].info->ndims > 1;
    return is_convolution(p) && post->spread == DTP_SPREAD_CHANNEL &&
           ir->values[post->value].info->data_type == ir->values[p->in[0]].info->data_type;
}

/* Products know no channels, images no rows; a normalisation takes functions of one element only. What is element-wise takes
 * tensors like its result, as many as an element-wise program has room for. */
static bool suits(const dtp_ir_node_t *p, const dtp_ir_post_t *post) {
    enum { MOST_OPERANDS = 4 };
    const bool is_same = post->spread == DTP_SPREAD_SAME && p->npost < MOST_OPERANDS;
    if (is_elementwise(p)) return !post->is_binary || is_same;
    if (p->row->kind == dnnl_tp_op_matmul) return !post->is_binary || post->spread != DTP_SPREAD_CHANNEL;
    if (is_convolution(p)) return !post->is_binary || post->spread != DTP_SPREAD_ROW;
    return !post->is_binary;
}

static dnnl_tp_status_t fuse_post(dtp_ir_t *ir, dtp_ir_node_t *n, int x, bool *is_done) {
    dtp_ir_node_t *p = growable(ir, x);
    dtp_ir_post_t post;
    if (!p || !n->row->cls->post || !n->row->cls->post(ir, n, x, &post)) return dnnl_tp_success;
    const bool bias = is_bias(ir, p, &post);
    bool can;
    if (!bias && !suits(p, &post)) return dnnl_tp_success;
    DTP_TRY(dtp_can_fuse(ir, p->row->kind, ir->values[x].info->data_type, &post, bias, &can));
    if (!can) return dnnl_tp_success;
    *is_done = true;
    if (bias) {
        int *in = dtp_arena_alloc(ir->arena, sizeof *in * 3);
        if (!in) return dnnl_tp_out_of_memory;
        in[0] = p->in[0];
        in[1] = p->in[1];
        in[2] = post.value;
        take_over(ir, n, p, x);
        n->in = in;
        n->nin = 3;
        return dnnl_tp_success;
    }
    if (!p->post) p->post = dtp_arena_alloc(ir->arena, sizeof *p->post * DTP_IR_MAX_POST);
    if (!p->post) return dnnl_tp_out_of_memory;
    take_over(ir, n, p, x);
    n->post[n->npost++] = post;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_fuse_post_ops(dtp_ir_t *ir) {
    for (int i = 0; i < ir->nnodes; ++i) {
        dtp_ir_node_t *n = &ir->nodes[i];
        bool is_done = false;
        if (n->dead || !n->row || n->nbefore) continue;
        DTP_TRY(fuse_map(ir, n, &is_done));
        for (int k = 0; k < n->nin && n->nin <= 2 && !is_done; ++k)
            DTP_TRY(fuse_post(ir, n, n->in[k], &is_done));
    }
    return dnnl_tp_success;
}
