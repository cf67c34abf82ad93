/* Which fusions the engine takes. It is asked once with a small problem of the kind: an implementation takes it or not, so no
 * list of types stands here. What only a reference would take is not worth it: there operators one by one are as fast,
 * and round as they say. */
#include "common/problems/attention.h"
#include "common/problems/matmul.h"
#include "exec/compile/lowering/lower.h"

enum { SIDE = 16 };
typedef enum { NO, YES, NO_ANSWER } answer_t; /* no memory: asked again another time */

static answer_t takes(const dtp_ir_t *ir, const dtp_op_desc_t *op, size_t op_size, const dtp_attr_t *attr,
                      bool reference) {
#ifdef DTP_BREAK_FUSION_ASK
    return YES;
#endif
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_status_t status = dtp_pd_create(&pd, ir->engine, op, op_size, attr);
    if (status != dnnl_tp_success) return status == dnnl_tp_unimplemented ? NO : NO_ANSWER;
    const answer_t answer = reference || !dtp_impl_is_reference(pd->impl) ? YES : NO;
    (void)dnnl_tp_primitive_desc_destroy(pd);
    return answer;
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

static answer_t ask_product(const dtp_ir_t *ir, dnnl_tp_data_type_t type, const dtp_ir_post_t *post,
                            bool bias) {
    dtp_matmul_desc_t d;
    dtp_md_t square, row;
    dnnl_tp_primitive_attr_t attr;
    if (dtp_md_dense2(&square, SIDE, SIDE, type) || dtp_md_dense2(&row, 1, SIDE, type) ||
        dnnl_tp_primitive_attr_create(&attr))
        return NO_ANSWER;
    memset(&d, 0, sizeof d);
    d.base.kind = dnnl_tp_matmul;
    d.src = d.wei = d.dst = square;
    if (bias) d.bia = row;
    const bool ready = bias || attr_of(post, &square, attr) == dnnl_tp_success;
    const answer_t answer = ready ? takes(ir, &d.base, sizeof d, attr, false) : NO_ANSWER;
    (void)dnnl_tp_primitive_attr_destroy(attr);
    return answer;
}

static answer_t ask_attention(const dtp_ir_t *ir, dnnl_tp_data_type_t type) {
    const int64_t dims[] = {1, SIDE, SIDE};
    dtp_attention_desc_t d;
    memset(&d, 0, sizeof d);
    d.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_ATTENTION;
    d.heads = 1;
    d.scale = 1;
    if (dtp_md_init_strides(&d.q, 3, dims, type, NULL)) return NO_ANSWER;
    d.k = d.v = d.dst = d.q;
    return takes(ir, &d.base, sizeof d, NULL, true);
}

/* The engine keeps its answers: a place holds a question and the answer, written as a whole. */
static bool answered(_Atomic uint32_t *at, uint32_t question, bool *yes) {
    const uint32_t kept = atomic_load_explicit(at, memory_order_relaxed);
    *yes = kept & 1;
    return kept >> 1 == question;
}
static bool keep(_Atomic uint32_t *at, uint32_t question, answer_t answer) {
    if (answer != NO_ANSWER) atomic_store_explicit(at, question << 1 | (answer == YES), memory_order_relaxed);
    return answer == YES;
}
enum { ABOUT_BIAS, ABOUT_ATTENTION }; /* or the number of a function */
static uint32_t question_of(dnnl_tp_data_type_t type, int about) {
    enum { ABOUT_BITS = 24 };
    return (uint32_t)type << ABOUT_BITS | (uint32_t)about; /* not 0: no type is */
}
static _Atomic uint32_t *place_of(const dtp_ir_t *ir, uint32_t question) {
    return &ir->engine->answers[(question ^ question >> 8 ^ question >> 24) % DTP_ENGINE_ANSWERS];
}

bool dtp_can_fuse(const dtp_ir_t *ir, dnnl_tp_data_type_t type, const dtp_ir_post_t *post, bool bias) {
    const uint32_t question = question_of(type, bias ? ABOUT_BIAS : (int)post->alg);
    _Atomic uint32_t *at = place_of(ir, question);
    bool yes;
    return answered(at, question, &yes) ? yes : keep(at, question, ask_product(ir, type, post, bias));
}

bool dtp_can_attend(const dtp_ir_t *ir, dnnl_tp_data_type_t type) {
    const uint32_t question = question_of(type, ABOUT_ATTENTION);
    _Atomic uint32_t *at = place_of(ir, question);
    bool yes;
    return answered(at, question, &yes) ? yes : keep(at, question, ask_attention(ir, type));
}
