/* Which fusions the engine takes. It is asked once with a small problem of the kind: an implementation takes it or not, so no
 * list of types stands here. What only a reference would take is not worth it: there operators one by one are as fast,
 * and round as they say. */
#include "common/problems/graph/attention.h"
#include "common/problems/binary.h"
#include "common/problems/convolution.h"
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
                                  ? dtp_post_ops_append_binary(po, post->alg, md, NULL)
                                  : dnnl_tp_post_ops_append_eltwise(po, post->alg, post->alpha, post->beta);
    if (status == dnnl_tp_success) status = dnnl_tp_primitive_attr_set_post_ops(attr, po);
    (void)dnnl_tp_post_ops_destroy(po);
    return status;
}

/* A problem of an operator of this kind, and a tensor that lies as its result does. */
typedef union {
    dtp_op_desc_t base;
    dtp_matmul_desc_t product;
    dtp_convolution_desc_t convolution;
    dtp_binary_desc_t binary;
} problem_t;

static dnnl_tp_status_t make_problem(int kind, dnnl_tp_data_type_t type, bool bias, problem_t *p,
                                     size_t *size, dtp_md_t *dst) {
    const int64_t image[4] = {1, SIDE, 2, 2}, wei[4] = {SIDE, SIDE, 1, 1}, channels[1] = {SIDE};
    dtp_md_t row;
    memset(p, 0, sizeof *p);
    DTP_TRY(dtp_md_dense2(&row, 1, SIDE, type));
    DTP_TRY(dtp_md_dense2(dst, SIDE, SIDE, type));
    if (kind == dnnl_tp_op_matmul) {
        *size = sizeof p->product;
        p->base.kind = dnnl_tp_matmul;
        p->product.src = p->product.wei = p->product.dst = *dst;
        if (bias) p->product.bia = row;
    } else if (kind != dnnl_tp_op_convolution &&
               kind != dnnl_tp_op_conv_transpose) { /* batch_norm_inference, multiply, add */
        *size = sizeof p->binary;
        p->base.kind = dnnl_tp_binary;
        p->binary.alg = dnnl_tp_binary_mul;
        p->binary.src0 = p->binary.dst = *dst;
        p->binary.src1 = row;
    } else {
        dtp_convolution_desc_t *d = &p->convolution;
        *size = sizeof *d;
        const bool transposed = kind == dnnl_tp_op_conv_transpose;
        d->base.kind = transposed ? dnnl_tp_deconvolution : dnnl_tp_convolution;
        d->prop = dnnl_tp_forward_inference;
        d->alg = transposed ? dnnl_tp_deconvolution_direct : dnnl_tp_convolution_direct;
        d->nspatial = 2;
        d->strides[0] = d->strides[1] = 1;
        DTP_TRY(dtp_md_init_layout(dst, 4, image, type, "acdb"));
        d->src = d->dst = *dst;
        DTP_TRY(dtp_md_init_tag(&d->wei, 4, wei, type, dnnl_tp_format_tag_any));
        if (bias) DTP_TRY(dtp_md_init_strides(&d->bia, 1, channels, type, NULL));
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t ask_problem(const dtp_ir_t *ir, int kind, dnnl_tp_data_type_t type,
                                    const dtp_ir_post_t *post, bool bias, bool *yes) {
    problem_t p;
    size_t size;
    dtp_md_t dst;
    dnnl_tp_primitive_attr_t attr;
    DTP_TRY(make_problem(kind, type, bias, &p, &size, &dst));
    DTP_TRY(dnnl_tp_primitive_attr_create(&attr));
    dnnl_tp_status_t status = bias ? dnnl_tp_success : attr_of(post, &dst, attr);
    if (status == dnnl_tp_success) status = takes(ir, &p.base, size, attr, false, yes);
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
enum { FUNCTION_BITS = 20, ABOUT_BITS = 24 };
enum {
    ABOUT_CONVOLUTION = 1 << FUNCTION_BITS,
    ABOUT_TRANSPOSED = 2 << FUNCTION_BITS,
    ABOUT_CHANNELS = 3 << FUNCTION_BITS
}; /* not of a product */
static uint32_t question_of(dnnl_tp_data_type_t type, int about) {
    return (uint32_t)type << ABOUT_BITS | (uint32_t)about; /* not 0: no type is */
}
static _Atomic uint32_t *place_of(const dtp_ir_t *ir, uint32_t question) {
    return &ir->engine->answers[(question ^ question >> 8 ^ question >> 24) % DTP_ENGINE_ANSWERS];
}

dnnl_tp_status_t dtp_can_fuse(const dtp_ir_t *ir, int kind, dnnl_tp_data_type_t type,
                              const dtp_ir_post_t *post, bool bias, bool *yes) {
    const int of = kind == dnnl_tp_op_matmul           ? 0
                   : kind == dnnl_tp_op_convolution    ? ABOUT_CONVOLUTION
                   : kind == dnnl_tp_op_conv_transpose ? ABOUT_TRANSPOSED
                                                       : ABOUT_CHANNELS;
    const uint32_t question = question_of(type, of | (bias ? ABOUT_BIAS : (int)post->alg));
    _Atomic uint32_t *at = place_of(ir, question);
    if (answered(at, question, yes)) return dnnl_tp_success;
    return keep(at, question, ask_problem(ir, kind, type, post, bias, yes), yes);
}

dnnl_tp_status_t dtp_can_attend(const dtp_ir_t *ir, dnnl_tp_data_type_t type, bool *yes) {
    const uint32_t question = question_of(type, ABOUT_ATTENTION);
    _Atomic uint32_t *at = place_of(ir, question);
    if (answered(at, question, yes)) return dnnl_tp_success;
    return keep(at, question, ask_attention(ir, type, yes), yes);
}
