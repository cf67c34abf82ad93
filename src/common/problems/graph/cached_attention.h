/* Attention of new rows over a cache of keys and values (graphs only): the problem and its arguments. */
#ifndef DTP_COMMON_PROBLEMS_CACHED_ATTENTION_H
#define DTP_COMMON_PROBLEMS_CACHED_ATTENTION_H

#include "common/primitive/op_desc.h"

/* See dnnl_tp_op_cached_attention. q, dst: {B, S, heads * d}, k, v: {B, S, groups * d}, with a dense last
 * dimension; past_k, past_v: {B, groups, C, d}, rows_k, rows_v: {B, groups, S, d}, dense; lengths: {B} s32; mask:
 * {B, heads, S, C + S}, strides of the first three free (0: the same for all), or zero; cosines, sines: {P, pairs},
 * dense, or zero. Lengths outside of 0..C, or of which a row stands behind the last angle: runtime_error, reason
 * GRAPH_INDEX. */
typedef struct {
    dtp_op_desc_t base;
    int heads, groups;
    int is_causal;
    int interleaved; /* pairs that are turned are neighbours */
    int64_t window;  /* keys that a row sees; < 0: all */
    float scale, softcap;
    dtp_md_t q, k, v, past_k, past_v, lengths, mask, cosines, sines, dst, rows_k, rows_v;
} dtp_cached_attention_desc_t;
enum {
    DTP_CACHED_Q,
    DTP_CACHED_K,
    DTP_CACHED_V,
    DTP_CACHED_PAST_K,
    DTP_CACHED_PAST_V,
    DTP_CACHED_LENGTHS,
    DTP_CACHED_MASK,
    DTP_CACHED_COSINES,
    DTP_CACHED_SINES,
    DTP_CACHED_DST,
    DTP_CACHED_ROWS_K,
    DTP_CACHED_ROWS_V,
    DTP_CACHED_NARGS
};

#endif
