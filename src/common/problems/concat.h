/* Concat: the problem and its arguments. */
#ifndef DTP_COMMON_PROBLEMS_CONCAT_H
#define DTP_COMMON_PROBLEMS_CONCAT_H

#include "common/primitive/op_desc.h"

/* Dense order: dst, then the sources. */
typedef struct {
    dtp_op_desc_t base;
    int axis, n;
    dtp_md_t dst;
    dtp_md_t src[]; /* n */
} dtp_concat_desc_t;
enum { DTP_CONCAT_DST, DTP_CONCAT_SRC };

#endif
