/* Closures for graphs that are read and written, not run: every name but "unknown" has one, which does nothing. */
#ifndef TEST_GRAPH_CLOSURES_H
#define TEST_GRAPH_CLOSURES_H

#include "dnnl_tp/dnnl_tp_graph_file.h"

/* How often a name was resolved, and a closure let go. */
extern int test_closures_resolved, test_closures_dropped;

dnnl_tp_status_t test_closure(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                              int nout, const dnnl_tp_host_arg_t *out);
/* For dnnl_tp_graph_read_opts_t. */
dnnl_tp_status_t test_resolve(void *arg, const char *name, int nin, int nout, dnnl_tp_graph_closure_t *c);
extern const dnnl_tp_graph_read_opts_t test_read_opts;

#endif
