/* Checks that the creation functions of several kinds share. */
#ifndef DTP_COMMON_PRIMITIVE_KIND_CHECKS_H
#define DTP_COMMON_PRIMITIVE_KIND_CHECKS_H

#include "common/primitive/primitive_desc.h"

/* Output pointer, engine, attribute handle (NULL allowed). */
dnnl_tp_status_t dtp_check_create(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t engine,
                                  const dtp_attr_t *attr);
/* A tensor that must be there. `any` only where allowed. */
dnnl_tp_status_t dtp_check_md(const dtp_md_t *md, const char *name, bool any_allowed);
/* forward_training or forward_inference. */
dnnl_tp_status_t dtp_check_forward(dnnl_tp_prop_kind_t prop);
dnnl_tp_status_t dtp_check_same_dims(const dtp_md_t *a, const char *a_name, const dtp_md_t *b,
                                     const char *b_name);
/* unimplemented unless md has no run-time dims. */
dnnl_tp_status_t dtp_check_static(const dtp_md_t *md, const char *name);
/* Both, and their dims are the same: run-time dims are unimplemented first. */
dnnl_tp_status_t dtp_check_static_pair(const dtp_md_t *src, const dtp_md_t *dst);
/* A window that slides along spatial dimension d, as convolution and pooling have it:
 * out = (in - ((kernel - 1) * (dilation + 1) + 1) + pad_l + pad_r) / stride + 1. pad_r is negative where the
 * window never reaches the last inputs. */
dnnl_tp_status_t dtp_check_window(int d, int64_t in, int64_t kernel, int64_t stride, int64_t dilation,
                                  int64_t pad_l, int64_t pad_r, int64_t out);
/* Post-op tensors broadcast to dst; sum types have dst's size, else unimplemented. */
dnnl_tp_status_t dtp_check_post_ops(const dtp_attr_t *attr, const dtp_md_t *dst);
/* Attributes that the kind of pd, whose arguments are known, does not take (attr_rules.c): unimplemented, by name.
 */
dnnl_tp_status_t dtp_check_attr(const dtp_pd_t *pd);

#endif
