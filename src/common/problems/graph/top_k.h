/* Positions of the largest or smallest elements (graphs only): the problem and its arguments. */
#ifndef DTP_COMMON_PROBLEMS_TOP_K_H
#define DTP_COMMON_PROBLEMS_TOP_K_H

#include "common/primitive/op_desc.h"

/* dst[o, :, c] = the positions in src[o, :, c] of the k first elements, best first. Of equal ones the first is better;
 * last: the last. NaN is better than all numbers; nan_worst: worse. Both dense; dst s64. */
typedef struct {
    dtp_op_desc_t base;
    int smallest, last, nan_worst;
    dtp_md_t src, dst; /* {outer, n, inner}, {outer, k, inner} */
} dtp_top_k_desc_t;
enum { DTP_TOP_K_SRC, DTP_TOP_K_DST, DTP_TOP_K_NARGS };

#endif
