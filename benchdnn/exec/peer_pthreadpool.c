/* pthreadpool: it has loops only, so it runs the shapes that are a loop: one, n, one (fan), and nodes without
 * edges. */
#include <pthreadpool.h>
#include <stdlib.h>

#include "exec_bench.h"

typedef struct {
    eb_job_t job;
    pthreadpool_t pool;
} side_t;

static void *create(const eb_job_t *job) {
    const eb_graph_t *g = job->graph;
    if (g->n < 3 || g->nedges != 2 * (g->n - 2)) return NULL;
    for (int i = 0; i < g->nedges; i += 2)
        if (g->edge[i][0] != 0 || g->edge[i][1] != i / 2 + 1 || g->edge[i + 1][1] != g->n - 1) return NULL;
    side_t *s = malloc(sizeof *s);
    s->job = *job;
    s->pool = pthreadpool_create((size_t)job->threads);
    return s;
}
static void node(void *p, size_t i) {
    side_t *s = p;
    s->job.kernel(&s->job.nodes[i + 1]);
}
static void run(void *p) {
    side_t *s = p;
    s->job.kernel(&s->job.nodes[0]);
    pthreadpool_parallelize_1d(s->pool, node, s, (size_t)s->job.graph->n - 2, 0);
    s->job.kernel(&s->job.nodes[s->job.graph->n - 1]);
}
static void destroy(void *p) {
    side_t *s = p;
    pthreadpool_destroy(s->pool);
    free(s);
}
const eb_side_t eb_side_pthreadpool = {"pthreadpool", create, run, NULL, destroy};
