#include "support/graph_closures.h"

#include <string.h>

int test_closures_resolved, test_closures_dropped;

dnnl_tp_status_t test_closure(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                              int nout, const dnnl_tp_host_arg_t *out) {
    (void)arg, (void)stop, (void)nin, (void)in, (void)nout, (void)out;
    return dnnl_tp_success;
}
static void dropped(void *arg) {
    (void)arg;
    ++test_closures_dropped;
}
dnnl_tp_status_t test_resolve(void *arg, const char *name, int nin, int nout, dnnl_tp_graph_closure_t *c) {
    (void)arg, (void)nin, (void)nout;
    if (!strcmp(name, "unknown")) return dnnl_tp_unimplemented;
    *c = (dnnl_tp_graph_closure_t){test_closure, NULL, dropped};
    ++test_closures_resolved;
    return dnnl_tp_success;
}
const dnnl_tp_graph_read_opts_t test_read_opts = {.struct_size = sizeof test_read_opts,
                                                  .resolve = test_resolve};
