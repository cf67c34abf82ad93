/* Functions of one to three tensors, element by element (graphs only): the problem and its arguments. */
#ifndef DTP_COMMON_PROBLEMS_POINTWISE_H
#define DTP_COMMON_PROBLEMS_POINTWISE_H

#include "common/primitive/op_desc.h"
#include "common/problems/graph/pointwise_functions.h"

/* Does a function of pointwise.inc take sources of this type? Is its result boolean? */
bool dtp_pointwise_takes(int fn, dnnl_tp_data_type_t type);
bool dtp_pointwise_is_truth(int fn);

/* All with the dimensions of dst, or 1 where a source is broadcast; any strides. */
typedef struct {
    dtp_op_desc_t base;
    int fn;                         /* dtp_pointwise_fn_t */
    dtp_md_t src0, src1, src2, dst; /* zero: the function has fewer */
} dtp_pointwise_desc_t;
enum { DTP_POINTWISE_SRC0, DTP_POINTWISE_SRC1, DTP_POINTWISE_SRC2, DTP_POINTWISE_DST, DTP_POINTWISE_NARGS };

#endif
