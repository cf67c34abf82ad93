/* Mean over sequences, then division by the norm (graphs only): the problem and its arguments. */
#ifndef DTP_COMMON_PROBLEMS_POOL_NORMALIZE_H
#define DTP_COMMON_PROBLEMS_POOL_NORMALIZE_H

#include "common/primitive/op_desc.h"

/* Mean over each sequence, then division by max(L2 norm, epsilon); see dnnl_tp_op_pool_normalize. mask {B, S}
 * f32 or zero, offsets {n + 1} s32 or zero. ctx->rows counts sequences, pointers as for attention; dst is
 * shifted. */
typedef struct {
    dtp_op_desc_t base;
    float epsilon;
    dtp_md_t src, mask, offsets, dst;
} dtp_pool_normalize_desc_t;
enum { DTP_POOLN_SRC, DTP_POOLN_MASK, DTP_POOLN_OFFSETS, DTP_POOLN_DST, DTP_POOLN_NARGS };

#endif
