/* Sum of several tensors: the problem and its arguments. */
#ifndef DTP_COMMON_PROBLEMS_SUM_H
#define DTP_COMMON_PROBLEMS_SUM_H

#include "common/primitive/op_desc.h"

typedef struct {
    dtp_op_desc_t base;
    int n;
    dtp_md_t dst;
    dtp_md_t src[]; /* n, followed by float scales[n] */
} dtp_sum_desc_t;
enum { DTP_SUM_DST, DTP_SUM_SRC };
static inline float *dtp_sum_scales(const dtp_sum_desc_t *d) { return (float *)(uintptr_t)&d->src[d->n]; }

#endif
