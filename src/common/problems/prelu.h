/* PReLU: the problem and its arguments. */
#ifndef DTP_COMMON_PROBLEMS_PRELU_H
#define DTP_COMMON_PROBLEMS_PRELU_H

#include "common/primitive/op_desc.h"

typedef struct {
    dtp_op_desc_t base;
    dnnl_tp_prop_kind_t prop;
    dtp_md_t src, wei, dst; /* wei: each dim src's or 1 */
} dtp_prelu_desc_t;
enum { DTP_PRELU_SRC, DTP_PRELU_WEI, DTP_PRELU_DST, DTP_PRELU_NARGS };

#endif
