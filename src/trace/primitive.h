/* Recording executions of primitives on streams. */
#ifndef DTP_TRACE_PRIMITIVE_H
#define DTP_TRACE_PRIMITIVE_H

#include "common/primitive/primitive_desc.h"
#include "threading/base/parallel.h"
#include "trace/trace.h"

/* Its name in traces: the kind, and the shape of the problem. */
void dtp_trace_primitive_name(const dtp_primitive_t *primitive, char *text, size_t size);
/* Prepares the record of an execution of the primitive on this lane of a stream. */
void dtp_trace_primitive(dtp_trace_work_t *work, dtp_trace_t *trace, uint16_t lane,
                         const dtp_primitive_t *primitive);
/* dtp_primitive_run that began at begin_ns and was submitted at submit_ns (0: it did not wait),
 * with its record. */
dnnl_tp_status_t dtp_trace_primitive_run(dtp_trace_work_t *work, int64_t begin_ns, int64_t submit_ns,
                                         const dtp_primitive_t *primitive, const dtp_parallel_t *par,
                                         void *const *ptrs, const dtp_md_t *const *mds, char *scratch);

#endif
