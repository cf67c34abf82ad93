/* Shuffle: the problem and its arguments. */
#ifndef DTP_COMMON_PROBLEMS_SHUFFLE_H
#define DTP_COMMON_PROBLEMS_SHUFFLE_H

#include "common/primitive/op_desc.h"

typedef struct {
    dtp_op_desc_t base;
    dnnl_tp_prop_kind_t prop;
    int axis;
    int64_t group_size; /* divides the axis */
    dtp_md_t src, dst;
} dtp_shuffle_desc_t;
enum { DTP_SHUFFLE_SRC, DTP_SHUFFLE_DST, DTP_SHUFFLE_NARGS };

/* The element of src's axis that dst's element c is. */
static inline int64_t dtp_shuffle_from(const dtp_shuffle_desc_t *d, int64_t c) {
    const int64_t rows = d->src.dims[d->axis] / d->group_size;
    return c % rows * d->group_size + c / rows;
}

#endif
