/* What ran when, in Chrome's trace format: open the file in https://ui.perfetto.dev or chrome://tracing. */
#ifndef SE_TRACE_H
#define SE_TRACE_H

#include "dnnl_tp/dnnl_tp_graph.h"
#include "common.h"

typedef struct {
    dnnl_tp_trace_event_t *event;
    size_t count, cap, dropped;
} se_trace_t;

/* Adds the nodes of one run and the run itself. The names live as long as the executables. */
int se_trace_add(se_trace_t *trace, const dnnl_tp_run_stats_t *stats, int64_t begin_ns, int64_t end_ns,
                 se_error_t *error);
/* Writes the traces of n clients. */
int se_trace_write(const char *path, int n, const se_trace_t *trace, se_error_t *error);
void se_trace_free(se_trace_t *trace);

#endif
