/* Running sums (graphs only): the problem and its arguments. */
#ifndef DTP_COMMON_PROBLEMS_CUMSUM_H
#define DTP_COMMON_PROBLEMS_CUMSUM_H

#include "common/primitive/op_desc.h"

/* dst[o, i, c] = the sum of src[o, k, c] over k <= i; exclusive: k < i; reverse: k >= i, k > i. Both dense. */
typedef struct {
    dtp_op_desc_t base;
    int exclusive, reverse;
    dtp_md_t src, dst; /* {outer, n, inner} */
} dtp_cumsum_desc_t;
enum { DTP_CUMSUM_SRC, DTP_CUMSUM_DST, DTP_CUMSUM_NARGS };

#endif
