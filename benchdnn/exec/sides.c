/* Graphs on dnnl_tp (every node a host closure, every edge a control dependency), and in a fixed order. */
#include <stdlib.h>

#include "exec_bench.h"

/* ---- In order, on one thread ------------------------------------------------------------------------- */

static void *sequence_create(const eb_job_t *job) {
    eb_job_t *s = malloc(sizeof *s);
    *s = *job;
    return s;
}
static void sequence_run(void *p) {
    const eb_job_t *s = p;
    eb_kernel_t kernel = s->kernel;
    for (int i = 0; i < s->graph->n; ++i) kernel(&s->nodes[i]);
}
const eb_side_t eb_side_sequence = {"sequence", sequence_create, sequence_run, NULL, free};

/* ---- dnnl_tp ----------------------------------------------------------------------------------------- */

#define HOST(kind)                                                                                           \
    dnnl_tp_status_t eb_host_##kind(void *arg, const volatile int *stop, int nin,                            \
                                    const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) { \
        (void)stop, (void)nin, (void)in, (void)nout, (void)out;                                              \
        eb_kernel_##kind(arg);                                                                               \
        return dnnl_tp_success;                                                                              \
    }
HOST(empty)
HOST(spin)
HOST(check)

typedef struct {
    dnnl_tp_executable_t exec;
    dnnl_tp_stream_t stream;
} ours_t;

static void *create(const eb_job_t *job, unsigned flags) {
    const eb_graph_t *g = job->graph;
    dnnl_tp_graph_t graph;
    EB_OK(dnnl_tp_graph_create(&graph, dnnl_tp_cpu));
    dnnl_tp_value_t *value = malloc(sizeof *value * (size_t)g->n);
    const dnnl_tp_tensor_info_t nothing = {1, {0}, dnnl_tp_f32};
    dnnl_tp_host_fn_t fn = job->kernel == eb_kernel_empty  ? eb_host_empty
                           : job->kernel == eb_kernel_spin ? eb_host_spin
                                                           : eb_host_check;
    for (int i = 0; i < g->n; ++i)
        EB_OK(dnnl_tp_graph_host(graph, fn, &job->nodes[i], NULL, 0, NULL, 0, NULL, 1, &nothing, &value[i]));
    for (int i = 0; i < g->nedges; ++i)
        EB_OK(dnnl_tp_graph_control_dependency(graph, value[g->edge[i][0]], value[g->edge[i][1]]));
    free(value);
    ours_t *o = malloc(sizeof *o);
    o->exec = eb_compile(graph, job->threads, flags);
    o->stream = eb_stream(job->threads);
    return o;
}
static void *plain_create(const eb_job_t *job) { return create(job, DNNL_TP_COMPILE_NO_CLUSTERS); }
static void *ours_create(const eb_job_t *job) { return create(job, 0); }
static void ours_run(void *p) {
    ours_t *o = p;
    dnnl_tp_status_t s = dnnl_tp_executable_run(o->exec, o->stream, 0, NULL, 0, NULL, NULL);
    if (s != dnnl_tp_success) eb_must(s, "run");
}
static void ours_destroy(void *p) {
    ours_t *o = p;
    dnnl_tp_executable_destroy(o->exec);
    free(o);
}
const eb_side_t eb_side_plain = {"dnnl_tp/plain", plain_create, ours_run, NULL, ours_destroy};
const eb_side_t eb_side_ours = {"dnnl_tp", ours_create, ours_run, NULL, ours_destroy};
