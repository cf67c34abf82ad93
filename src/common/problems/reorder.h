/* Reorder: the problem and its arguments. */
#ifndef DTP_COMMON_PROBLEMS_REORDER_H
#define DTP_COMMON_PROBLEMS_REORDER_H

#include "common/primitive/op_desc.h"

typedef struct {
    dtp_op_desc_t base;
    dtp_md_t src, dst;
} dtp_reorder_desc_t;
enum { DTP_REORDER_SRC, DTP_REORDER_DST, DTP_REORDER_NARGS };

#endif
