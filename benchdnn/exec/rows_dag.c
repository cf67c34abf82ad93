/* Plain graphs: each shape on each side, for each thread count and kernel time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec_bench.h"

/* The sides of this build; the first is what "of ideal" counts from. */
static const eb_side_t *const sides[] = {
    &eb_side_sequence,    &eb_side_plain, &eb_side_ours,
#if EB_WITH_EIGEN
    &eb_side_eigen,
#endif
#if EB_WITH_TBB
    &eb_side_tbb,
#endif
#if EB_WITH_OPENMP
    &eb_side_openmp,
#endif
#if EB_WITH_TASKFLOW
    &eb_side_taskflow,
#endif
#if EB_WITH_PTHREADPOOL
    &eb_side_pthreadpool,
#endif
};
enum { SIDES = sizeof sides / sizeof *sides };

static eb_node_t *nodes_of(const eb_graph_t *g, int kernel_ns, int **before) {
    eb_node_t *nodes = calloc((size_t)g->n, sizeof *nodes);
    int *at = calloc((size_t)g->n + 1, sizeof *at);
    *before = malloc(sizeof **before * (size_t)(g->nedges + 1));
    for (int i = 0; i < g->nedges; ++i) ++nodes[g->edge[i][1]].nbefore;
    for (int i = 0; i < g->n; ++i) {
        at[i + 1] = at[i] + nodes[i].nbefore;
        nodes[i].before = *before + at[i];
        nodes[i].all = nodes;
        nodes[i].ticks = eb_ticks_of_ns(g->ns ? g->ns[i] : kernel_ns);
    }
    for (int i = 0; i < g->nedges; ++i) (*before)[at[g->edge[i][1]]++] = g->edge[i][0];
    free(at);
    return nodes;
}

static void check(const eb_shape_t *shape, const eb_job_t *job) {
    enum { RUNS = 20 };
    int done = 0;
    for (int s = 0; s < SIDES; ++s) {
        if (!eb_wanted(eb.sides, sides[s]->name)) continue;
        void *p = sides[s]->create(job);
        if (!p) continue;
        int before = job->nodes[0].runs;
        for (int r = 0; r < RUNS; ++r) sides[s]->run(p);
        if (sides[s]->rest) sides[s]->rest();
        sides[s]->destroy(p);
        ++done;
        for (int i = 0; i < job->graph->n; ++i)
            if (job->nodes[i].runs != before + RUNS) {
                eb_fail("%s, %d threads, %s: node %d ran %d times instead of %d\n", shape->name, job->threads,
                        sides[s]->name, i, job->nodes[i].runs - before, RUNS);
                /* Nodes behind it would be reported again for the other sides. */
                for (int k = 0; k < job->graph->n; ++k) job->nodes[k].runs = before + RUNS;
                break;
            }
        if (eb_order_errors) {
            eb_fail("%s, %d threads, %s: %d nodes ran before one in front of them\n", shape->name,
                    job->threads, sides[s]->name, eb_order_errors);
            eb_order_errors = 0;
        }
    }
    printf("%-24s %d threads: %6d nodes, %d sides\n", shape->name, job->threads, job->graph->n, done);
}

static void time_row(const eb_shape_t *shape, const eb_job_t *job, int kernel_ns) {
    eb_case_t c[SIDES];
    void *state[SIDES];
    int of[SIDES], n = 0;
    for (int s = 0; s < SIDES; ++s) {
        if (s && !eb_wanted(eb.sides, sides[s]->name)) continue;
        state[n] = sides[s]->create(job);
        if (!state[n]) continue;
        c[n] = (eb_case_t){.run = sides[s]->run, .arg = state[n], .rest = sides[s]->rest};
        of[n++] = s;
    }
    eb_measure(c, n);
    double ideal = c[0].ns / job->threads, longest = c[0].ns * eb_graph_critical(job->graph);
    if (longest > ideal) ideal = longest;
    printf("%-24s %7d |", shape->name, job->graph->n);
    for (int s = 0, i = 0; s < SIDES; ++s) {
        if (i == n || of[i] != s) {
            printf(" %13s", "-");
            continue;
        }
        double per = c[i].ns / job->graph->n;
        if (kernel_ns && s) printf(" %8.1f %3.0f%%", per, 100 * ideal / c[i].ns);
        else printf(" %13.1f", per);
        eb_csv("dag", shape->name, job->threads, kernel_ns, sides[s]->name, "ns/node", per,
               c[i].lo / job->graph->n, c[i].hi / job->graph->n, c[i].allocs, job->graph->n);
        if (s == 0)
            eb_csv("dag", shape->name, job->threads, kernel_ns, "ideal", "ns/node", ideal / job->graph->n, 0,
                   0, 0, job->graph->n);
        ++i;
    }
    printf(" | %.0f %.0f allocations\n", n > 1 ? c[1].allocs : 0, n > 2 ? c[2].allocs : 0);
    for (int i = 0; i < n; ++i) sides[of[i]]->destroy(state[i]);
}

void eb_rows_dag(void) {
    /* Longest run that is worth its time, and the graph that only --big runs when kernels take time. */
    const double most_ns = 3e8;
    enum { BIG = 500000 };
    for (int t = 0; t < eb.nthreads; ++t)
        for (int k = 0; k < (eb.check ? 1 : eb.nkernels); ++k) {
            int ns = eb.kernel_ns[k];
            if (!eb.check) {
                printf("\nplain graphs, %d thread(s), kernels of %d ns: ns per node%s\n%-24s %7s |",
                       eb.threads[t], ns, ns ? ", share of the ideal" : "", "", "nodes");
                for (int s = 0; s < SIDES; ++s) printf(" %13s", sides[s]->name);
                printf("\n");
            }
            for (int i = 0; i < eb_nshapes; ++i) {
                const eb_shape_t *shape = &eb_shapes[i];
                if (!eb_wanted(eb.rows, shape->name)) continue;
                eb_graph_t g;
                eb_graph_make(&g, shape, eb.check);
                bool own_time = g.ns && !eb.check;
                if ((!own_time || k == 0) && (double)g.n * ns <= most_ns && (g.n < BIG || eb.big || !ns)) {
                    int *before;
                    int kernel_ns = own_time ? 1000 : ns;
                    eb_node_t *nodes = nodes_of(&g, ns, &before);
                    eb_job_t job = {&g, nodes,
                                    eb.check    ? eb_kernel_check
                                    : kernel_ns ? eb_kernel_spin
                                                : eb_kernel_empty,
                                    eb.threads[t]};
                    if (eb.check) check(shape, &job);
                    else time_row(shape, &job, kernel_ns);
                    free(nodes);
                    free(before);
                }
                eb_graph_free(&g);
                fflush(stdout);
            }
        }
}

/* ---- Making a graph ready to run --------------------------------------------------------------------- */

typedef struct {
    const eb_side_t *side;
    const eb_job_t *job;
} made_t;
static void make_once(void *p) {
    const made_t *m = p;
    m->side->destroy(m->side->create(m->job));
}

static void build_row(const eb_shape_t *shape, const eb_job_t *job) {
    eb_case_t c[SIDES];
    made_t made[SIDES];
    int of[SIDES], n = 0;
    for (int s = 1; s < SIDES; ++s) {
        if (!eb_wanted(eb.sides, sides[s]->name)) continue;
        void *p = sides[s]->create(job);
        if (!p) continue;
        if (sides[s]->rest) sides[s]->rest();
        sides[s]->destroy(p);
        made[n] = (made_t){sides[s], job};
        c[n] = (eb_case_t){.run = make_once, .arg = &made[n]};
        of[n++] = s;
    }
    if (eb.check) {
        printf("%-24s built by %d sides\n", shape->name, n);
        return;
    }
    eb_measure(c, n);
    printf("%-24s %7d |", shape->name, job->graph->n);
    for (int s = 1, i = 0; s < SIDES; ++s) {
        if (i == n || of[i] != s) {
            printf(" %13s", "-");
            continue;
        }
        double nodes = job->graph->n;
        printf(" %13.1f", c[i].ns / nodes);
        eb_csv("build", shape->name, 1, 0, sides[s]->name, "ns/node", c[i].ns / nodes, c[i].lo / nodes,
               c[i].hi / nodes, c[i].allocs, nodes);
        ++i;
    }
    printf("\n");
}

/* From a list of nodes and edges to something that can run, and away with it again; 1 thread. */
void eb_rows_build(void) {
    static const char *const names[] = {"chain/8192", "layers/64x128/k3", "bm_executor/16x1024",
                                        "lstm_like/5000"};
    if (!eb.check) {
        printf("\nbuilding, compiling and destroying, 1 thread: ns per node\n%-24s %7s |", "", "nodes");
        for (int s = 1; s < SIDES; ++s) printf(" %13s", sides[s]->name);
        printf("\n");
    }
    for (int i = 0; i < eb_nshapes; ++i) {
        bool listed = false;
        for (size_t k = 0; k < sizeof names / sizeof *names; ++k)
            listed |= !strcmp(eb_shapes[i].name, names[k]);
        if (!listed || !eb_wanted(eb.rows, eb_shapes[i].name)) continue;
        eb_graph_t g;
        int *before;
        eb_graph_make(&g, &eb_shapes[i], eb.check);
        eb_node_t *nodes = nodes_of(&g, 0, &before);
        build_row(&eb_shapes[i], &(eb_job_t){&g, nodes, eb_kernel_empty, 1});
        free(nodes);
        free(before);
        eb_graph_free(&g);
        fflush(stdout);
    }
}

bool eb_dump(const char *name, bool tiny) {
    for (int i = 0; i < eb_nshapes; ++i) {
        if (strcmp(eb_shapes[i].name, name)) continue;
        eb_graph_t g;
        eb_graph_make(&g, &eb_shapes[i], tiny);
        printf("graph %s %d %d\n", name, g.n, g.nedges);
        for (int k = 0; g.ns && k < g.n; ++k) printf("n %d\n", (int)g.ns[k]);
        for (int k = 0; k < g.nedges; ++k) printf("e %d %d\n", g.edge[k][0], g.edge[k][1]);
        eb_graph_free(&g);
        return true;
    }
    return false;
}
