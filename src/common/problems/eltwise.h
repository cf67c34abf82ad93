/* Functions of one element: the problem and its arguments. */
#ifndef DTP_COMMON_PROBLEMS_ELTWISE_H
#define DTP_COMMON_PROBLEMS_ELTWISE_H

#include "common/primitive/op_desc.h"

typedef struct {
    dtp_op_desc_t base;
    dnnl_tp_prop_kind_t prop;
    dnnl_tp_alg_kind_t alg;
    float alpha, beta;
    int exact; /* integers of up to 32 bits in their own arithmetic: graphs */
    dtp_md_t src, dst;
} dtp_eltwise_desc_t;
enum { DTP_ELTWISE_SRC, DTP_ELTWISE_DST, DTP_ELTWISE_NARGS };

#endif
