/* Which fusions the engine takes. It is asked once with a small problem of the kind: an implementation takes it or not, so no
 * list of types stands here. What only a reference would take is not worth it: there operators one by one are as fast,
 * and round as they say. */
#include "common/problems/attention.h"
#include "common/problems/matmul.h"
#include "exec/compile/lowering/lower.h"

enum { SIDE = 16 };

static dnnl_tp_status_t takes(const dtp_ir_t *ir, const dtp_op_desc_t *op, size_t op_size,
                              const dtp_attr_t *attr, bool reference, bool *yes) {
    *yes = true;
#ifdef DTP_BREAK_FUSION_ASK
    return dnnl_tp_success;
#endif
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_status_t status = dtp_pd_create(&pd, ir->engine, op, op_size, attr);
    if (status != dnnl_tp_success) return status;
    *yes = reference || !dtp_impl_is_reference(pd->impl);
    return dnnl_tp_primitive_desc_destroy(pd);
}

static dnnl_tp_status_t attr_of(const dtp_ir_post_t *post, const dtp_md_t *md,
                                dnnl_tp_primitive_attr_t attr) {
    dnnl_tp_post_ops_t po;
    DTP_TRY(dnnl_tp_post_ops_create(&po));
    dnnl_tp_status_t status = post->is_binary
                                  ? dnnl_tp_post_ops_append_binary(po, post->alg, md)
                                  : dnnl_tp_post_ops_append_eltwise(po, post->alg, post->alpha, post->beta);
    if (status == dnnl_tp_success) status = dnnl_tp_primitive_attr_set_post_ops(attr, po);
    (void)dnnl_tp_post_ops_destroy(po);
    return status;
}

static dnnl_tp_status_t ask_product(const dtp_ir_t *ir, dnnl_tp_data_type_t type, const dtp_ir_post_t *post,
                                    bool bias, bool *yes) {
    dtp_matmul_desc_t d;
    dtp_md_t square, row;
    dnnl_tp_primitive_attr_t attr;
    DTP_TRY(dtp_md_dense2(&square, SIDE, SIDE, type));
    DTP_TRY(dtp_md_dense2(&row, 1, SIDE, type));
    DTP_TRY(dnnl_tp_primitive_attr_create(&attr));
    memset(&d, 0, sizeof d);
    d.base.kind = dnnl_tp_matmul;
    d.src = d.wei = d.dst = square;
    if (bias) d.bia = row;
    dnnl_tp_status_t status = bias ? dnnl_tp_success : attr_of(post, &square, attr);
    if (status == dnnl_tp_success) status = takes(ir, &d.base, sizeof d, attr, false, yes);
    (void)dnnl_tp_primitive_attr_destroy(attr);
    return status;
}

static dnnl_tp_status_t ask_attention(const dtp_ir_t *ir, dnnl_tp_data_type_t type, bool *yes) {
    const int64_t dims[] = {1, SIDE, SIDE};
    dtp_attention_desc_t d;
    memset(&d, 0, sizeof d);
    d.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_ATTENTION;
    d.heads = 1;
    d.scale = 1;
    DTP_TRY(dtp_md_init_strides(&d.q, 3, dims, type, NULL));
    d.k = d.v = d.dst = d.q;
    return takes(ir, &d.base, sizeof d, NULL, true, yes);
}

/* The engine keeps its answers: a place holds a question and the answer, written as a whole. */
static bool answered(_Atomic uint32_t *at, uint32_t question, bool *yes) {
    const uint32_t kept = atomic_load_explicit(at, memory_order_relaxed);
    *yes = kept & 1;
    return kept >> 1 == question;
}
static dnnl_tp_status_t keep(_Atomic uint32_t *at, uint32_t question, dnnl_tp_status_t status, bool *yes) {
    if (status == dnnl_tp_out_of_memory) return status; /* no answer: it is asked again another time */
    *yes = status == dnnl_tp_success && *yes;
    atomic_store_explicit(at, question << 1 | *yes, memory_order_relaxed);
    return dnnl_tp_success;
}
enum { ABOUT_BIAS, ABOUT_ATTENTION }; /* or the number of a function */
static uint32_t question_of(dnnl_tp_data_type_t type, int about) {
    enum { ABOUT_BITS = 24 };
    return (uint32_t)type << ABOUT_BITS | (uint32_t)about; /* not 0: no type is */
}
static _Atomic uint32_t *place_of(const dtp_ir_t *ir, uint32_t question) {
    return &ir->engine->answers[(question ^ question >> 8 ^ question >> 24) % DTP_ENGINE_ANSWERS];
}

dnnl_tp_status_t dtp_can_fuse(const dtp_ir_t *ir, dnnl_tp_data_type_t type, const dtp_ir_post_t *post,
                              bool bias, bool *yes) {
    const uint32_t question = question_of(type, bias ? ABOUT_BIAS : (int)post->alg);
    _Atomic uint32_t *at = place_of(ir, question);
    if (answered(at, question, yes)) return dnnl_tp_success;
    return keep(at, question, ask_product(ir, type, post, bias, yes), yes);
}

dnnl_tp_status_t dtp_can_attend(const dtp_ir_t *ir, dnnl_tp_data_type_t type, bool *yes) {
    const uint32_t question = question_of(type, ABOUT_ATTENTION);
    _Atomic uint32_t *at = place_of(ir, question);
    if (answered(at, question, yes)) return dnnl_tp_success;
    return keep(at, question, ask_attention(ir, type, yes), yes);
}
