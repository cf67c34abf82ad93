/* Attention (graphs only): the problem and its arguments. */
#ifndef DTP_COMMON_PROBLEMS_ATTENTION_H
#define DTP_COMMON_PROBLEMS_ATTENTION_H

#include "common/primitive/op_desc.h"

/* Attention per head, see dnnl_tp_op_attention. q, k, v, dst: {B, S, heads * d} or {T, heads * d}, last dim
 * dense, the other strides free (views into one fused projection). mask {B, S} additive f32 or zero; offsets
 * {n + 1} s32 or zero. ctx->rows counts sequences: q, k, v, dst and mask point at the first of them in the
 * {B, S} form; in the packed form only the offsets pointer does (offsets are absolute rows). */
typedef struct {
    dtp_op_desc_t base;
    int heads;
    float scale;
    dtp_md_t q, k, v, mask, offsets, dst;
} dtp_attention_desc_t;
enum {
    DTP_ATTENTION_Q,
    DTP_ATTENTION_K,
    DTP_ATTENTION_V,
    DTP_ATTENTION_MASK,
    DTP_ATTENTION_OFFSETS,
    DTP_ATTENTION_DST,
    DTP_ATTENTION_NARGS
};

#endif
