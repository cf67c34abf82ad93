/* Tensors with more around them (graphs only): the problem and its arguments. */
#ifndef DTP_COMMON_PROBLEMS_PAD_H
#define DTP_COMMON_PROBLEMS_PAD_H

#include "common/primitive/op_desc.h"

/* Along dimension i dst has before[i] elements, then those of src times[i] times, then behind[i] elements; all that is
 * not of src has the value. before and behind are 0 where times is not 1. Both are dense and of one type, of 1, 2, 4 or 8
 * bytes. */
typedef struct {
    dtp_op_desc_t base;
    int ndims;
    dnnl_tp_dims_t before, behind, times;
    int64_t value; /* the bytes of an element, the first one first */
    dtp_md_t src, dst;
} dtp_pad_desc_t;
enum { DTP_PAD_SRC, DTP_PAD_DST, DTP_PAD_NARGS };

#endif
