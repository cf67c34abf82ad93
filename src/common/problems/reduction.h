/* Reductions: the problem and its arguments. */
#ifndef DTP_COMMON_PROBLEMS_REDUCTION_H
#define DTP_COMMON_PROBLEMS_REDUCTION_H

#include "common/primitive/op_desc.h"

typedef struct {
    dtp_op_desc_t base;
    dnnl_tp_alg_kind_t alg;
    float p, eps;
    int exact;     /* as of eltwise; src and dst have one type */
    int keeps_nan; /* max and min of a set with NaN are NaN, as graphs want it */
    dtp_md_t src, dst;
} dtp_reduction_desc_t;
enum { DTP_REDUCTION_SRC, DTP_REDUCTION_DST, DTP_REDUCTION_NARGS };

#endif
