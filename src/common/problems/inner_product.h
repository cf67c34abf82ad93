/* Inner products: the problem and its arguments. */
#ifndef DTP_COMMON_PROBLEMS_INNER_PRODUCT_H
#define DTP_COMMON_PROBLEMS_INNER_PRODUCT_H

#include "common/primitive/op_desc.h"

typedef struct {
    dtp_op_desc_t base;
    dnnl_tp_prop_kind_t prop;
    dtp_md_t src, wei, bia, dst;
} dtp_inner_product_desc_t;
enum { DTP_IP_SRC, DTP_IP_WEI, DTP_IP_BIA, DTP_IP_DST, DTP_IP_NARGS };

#endif
