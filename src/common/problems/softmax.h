/* Softmax and logsoftmax: the problem and its arguments. */
#ifndef DTP_COMMON_PROBLEMS_SOFTMAX_H
#define DTP_COMMON_PROBLEMS_SOFTMAX_H

#include "common/primitive/op_desc.h"

typedef struct {
    dtp_op_desc_t base;
    dnnl_tp_prop_kind_t prop;
    dnnl_tp_alg_kind_t alg;
    int axis;
    dtp_md_t src, dst;
} dtp_softmax_desc_t;
enum { DTP_SOFTMAX_SRC, DTP_SOFTMAX_DST, DTP_SOFTMAX_NARGS };

#endif
