/* Creation of primitives that is refused: status, reason and text; an engine, descriptors and attributes for it. */
#ifndef DTP_TESTS_REFUSAL_H
#define DTP_TESTS_REFUSAL_H

#include "support/check.h"

#include "common/base/base.h"
#include "common/layout/memory_desc.h"

/* Runs tests that create primitives for `engine`. */
extern dnnl_tp_engine_t engine;
int refusal_setup(void **state);
int refusal_teardown(void **state);

/* A descriptor on the stack; tag any: as it is. */
dtp_md_t refusal_md(int nd, const int64_t *dims, dnnl_tp_data_type_t dt, dnnl_tp_format_tag_t tag);
dtp_md_t refusal_plain(int nd, const int64_t *dims, dnnl_tp_data_type_t dt);
/* Attributes with a sum among the post-operations, the caller's. */
dnnl_tp_primitive_attr_t refusal_sum(void);

/* Where the pointer to a new descriptor points at first. */
#define REFUSAL_UNSET ((dnnl_tp_primitive_desc_t)(void *)1)
/* The status of a creation, whose descriptor is destroyed; a failure must have left NULL. */
dnnl_tp_status_t refusal_done(dnnl_tp_status_t status, dnnl_tp_primitive_desc_t pd);

/* Fails unless got is the status that is wanted, for that reason, and the library's text contains says. */
void refusal_check(dnnl_tp_status_t got, dnnl_tp_status_t want, dtp_reason_t reason, const char *says,
                   const char *expr, const char *file, int line);
#define CHECK_REFUSED(expr, want, reason, says) \
    refusal_check((expr), want, DTP_##reason, says, #expr, __FILE__, __LINE__)

#endif
