/* Traces in tests: made, counted, searched. */
#ifndef DTP_TESTS_TRACES_H
#define DTP_TESTS_TRACES_H

#include <stdbool.h>

#include "dnnl_tp/dnnl_tp.h"

/* Fixtures of a group of tests: the name of a file to write to. */
extern char test_trace_path[];
int test_trace_setup(void **state);
int test_trace_teardown(void **state);

/* What is written of a trace in the Chrome format: text that the caller frees. */
char *test_trace_text(dnnl_tp_trace_t t);

dnnl_tp_trace_t test_trace(int64_t max_events);
dnnl_tp_trace_info_t test_trace_info(dnnl_tp_trace_t t);
/* The statistics of what has this name, after a check of all of them. */
bool test_trace_find(dnnl_tp_trace_t t, dnnl_tp_trace_kind_t kind, const char *name,
                     dnnl_tp_trace_stat_t *stat);

#endif
