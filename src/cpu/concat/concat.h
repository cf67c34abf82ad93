/* Declarations that the implementations of concat share. */
#ifndef DTP_CPU_CONCAT_H
#define DTP_CPU_CONCAT_H

#include "common/primitive/primitive_desc.h"
#include "common/problems/concat.h"

/* Types, attributes and `any` of dst: the first source's layout where every source starts at a
 * whole block of it, otherwise plain. */
dnnl_tp_status_t dtp_concat_check(dtp_pd_t *pd);
/* First position of source i along the axis. */
int64_t dtp_concat_start(const dtp_concat_desc_t *op, int i);

#endif
