/* Products of matrices: the problem and its arguments. */
#ifndef DTP_COMMON_PROBLEMS_MATMUL_H
#define DTP_COMMON_PROBLEMS_MATMUL_H

#include "common/primitive/op_desc.h"

typedef struct {
    dtp_op_desc_t base;
    dtp_md_t src, wei, bia, dst; /* bia may be zero */
    int rows_vary; /* weights of format any also serve products of other numbers of rows: graphs */
} dtp_matmul_desc_t;
enum { DTP_MATMUL_SRC, DTP_MATMUL_WEI, DTP_MATMUL_BIA, DTP_MATMUL_DST, DTP_MATMUL_NARGS };

#endif
