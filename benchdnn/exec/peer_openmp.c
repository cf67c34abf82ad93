/* OpenMP: a task with depend clauses for each node, created in order by one thread of a team. */
#include <omp.h>
#include <stdlib.h>

#include "exec_bench.h"

enum { MOST_NODES = 20000 }; /* more take minutes */

typedef struct {
    eb_job_t job;
    int *at, *before;
    char *mark;
} side_t;

static void *create(const eb_job_t *job) {
    const eb_graph_t *g = job->graph;
    if (g->n > MOST_NODES) return NULL;
    side_t *s = malloc(sizeof *s);
    s->job = *job;
    s->at = calloc((size_t)g->n + 2, sizeof *s->at);
    s->before = malloc(sizeof *s->before * (size_t)(g->nedges + 1));
    s->mark = malloc((size_t)g->n);
    for (int i = 0; i < g->nedges; ++i) ++s->at[g->edge[i][1] + 2];
    for (int i = 0; i < g->n; ++i) s->at[i + 2] += s->at[i + 1];
    for (int i = 0; i < g->nedges; ++i) s->before[s->at[g->edge[i][1] + 1]++] = g->edge[i][0];
    return s;
}

static void run(void *p) {
    side_t *s = p;
    char *mark = s->mark;
    const int *before = s->before;
    (void)mark, (void)before; /* GCC does not see that depend clauses read variables */
#pragma omp parallel num_threads(s->job.threads)
#pragma omp single
    for (int i = 0; i < s->job.graph->n; ++i) {
        int from = s->at[i], to = s->at[i + 1];
        eb_node_t *n = &s->job.nodes[i];
        eb_kernel_t kernel = s->job.kernel;
        (void)from, (void)to;
#pragma omp task depend(iterator(int k = from         \
                                 : to),               \
                        in                            \
                        : mark[before[k]]) depend(out \
                                                  : mark[i]) firstprivate(n, kernel)
        kernel(n);
    }
}

/* Its waiting threads spin for long. */
static void rest(void) { (void)omp_pause_resource_all(omp_pause_soft); }

static void destroy(void *p) {
    side_t *s = p;
    free(s->at);
    free(s->before);
    free(s->mark);
    free(s);
}

const eb_side_t eb_side_openmp = {"openmp", create, run, rest, destroy};
