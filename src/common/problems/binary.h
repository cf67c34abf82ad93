/* Operations on two tensors: the problem and its arguments. */
#ifndef DTP_COMMON_PROBLEMS_BINARY_H
#define DTP_COMMON_PROBLEMS_BINARY_H

#include "common/primitive/op_desc.h"

typedef struct {
    dtp_op_desc_t base;
    dnnl_tp_alg_kind_t alg;
    int exact;                      /* as of eltwise */
    dtp_md_t src0, src1, src2, dst; /* src2: select only */
} dtp_binary_desc_t;
enum { DTP_BINARY_SRC0, DTP_BINARY_SRC1, DTP_BINARY_SRC2, DTP_BINARY_DST, DTP_BINARY_NARGS };

#endif
