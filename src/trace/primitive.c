/* Recording executions of primitives on streams; see primitive.h. */
#include "trace/primitive.h"

#include <stdio.h>

#include "common/primitive/verbose_text.h"
#include "threading/base/futex.h"

static void describe(const void *object, uint32_t index, dtp_trace_names_t *names) {
    const dtp_primitive_t *p = object;
    (void)index;
    *names = (dtp_trace_names_t){
        .op = p->pd->info->name, .impl = p->pd->impl->name, .engine = p->pd->engine->v->name};
    const dtp_op_work_t work = dtp_pd_work(p->pd, NULL);
    names->flops = work.flops;
    names->bytes = work.bytes;
}

void dtp_trace_primitive_name(const dtp_primitive_t *p, char *text, size_t size) {
    int n = snprintf(text, size, "%s ", p->pd->info->name);
    if (n > 0 && (size_t)n < size) dtp_verbose_dims(p->pd, text + n, size - (size_t)n);
}

static void label(const void *object, char *text, size_t size) {
    dtp_trace_primitive_name(object, text, size);
}

void dtp_trace_primitive(dtp_trace_work_t *work, dtp_trace_t *trace, uint16_t lane,
                         const dtp_primitive_t *primitive) {
    uint32_t source = dtp_trace_source(trace, (void *)(uintptr_t)primitive, describe, label);
    *work = (dtp_trace_work_t){.trace = trace,
                               .event = {.source = source,
                                         .index = DTP_TRACE_WHOLE,
                                         .round = -1,
                                         .stream = lane,
                                         .kind = dnnl_tp_trace_primitive}};
}

dnnl_tp_status_t dtp_trace_primitive_run(dtp_trace_work_t *work, int64_t begin_ns, int64_t submit_ns,
                                         const dtp_primitive_t *primitive, const dtp_parallel_t *par,
                                         void *const *ptrs, const dtp_md_t *const *mds, char *scratch) {
    dtp_parallel_t p = dtp_trace_loops(work, par);
    work->event.begin_ns = begin_ns;
    work->event.wait_ns = submit_ns ? dtp_max64(begin_ns - submit_ns, 0) : 0;
    dnnl_tp_status_t status = dtp_primitive_run(primitive, &p, ptrs, mds, scratch, -1);
    work->event.status = (uint16_t)status;
    work->event.end_ns = dtp_now_ns();
    dtp_trace_add(work->trace, &work->event);
    return status;
}
