/* What a run costs besides its nodes, how several callers share a pool. Cancelled runs: rows_cancel.c. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dnnl_tp/dnnl_tp_session.h>

#include "exec_bench.h"

static const unsigned flags_of[] = {DNNL_TP_COMPILE_NO_CLUSTERS, 0};
enum { SIDES = 2 };
static const dnnl_tp_tensor_info_t number = {0, {0}, dnnl_tp_s32};

/* ---- Fixed cost of a run, and of inputs and outputs -------------------------------------------------- */

/* The same graph as an executable, as a session that is given names, and as a callable of that session. */
enum { MOST = 100, SESSION = SIDES, CALLABLE, WAYS };
static const char *const way_names[] = {"dnnl_tp/plain", "dnnl_tp", "session", "callable"};
typedef struct {
    dnnl_tp_executable_t e;
    dnnl_tp_session_t session;
    dnnl_tp_callable_t callable;
    dnnl_tp_session_run_opts_t opts;
    dnnl_tp_stream_t stream;
    int n;
    void *in[MOST], *out[MOST];
    int32_t in_data[MOST], out_data[MOST];
    char name[2 * MOST][16];
    dnnl_tp_feed_t feeds[MOST];
    dnnl_tp_fetch_t fetches[MOST];
} feed_t;

static dnnl_tp_status_t inc(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                            int nout, const dnnl_tp_host_arg_t *out) {
    (void)arg, (void)stop, (void)nin, (void)nout;
    *(int32_t *)out->data = *(const int32_t *)in->data + 1;
    return dnnl_tp_success;
}

static void feed_run(void *p) {
    feed_t *f = p;
    dnnl_tp_status_t s = dnnl_tp_executable_run(f->e, f->stream, f->n, f->in, f->n, f->out, NULL);
    if (s != dnnl_tp_success) eb_must(s, "run");
}
static void session_run(void *p) {
    feed_t *f = p;
    dnnl_tp_status_t s = dnnl_tp_session_run(f->session, f->n, f->feeds, f->n, f->fetches, 0, NULL, &f->opts);
    if (s != dnnl_tp_success) eb_must(s, "run of a session");
}
static void callable_run(void *p) {
    feed_t *f = p;
    dnnl_tp_status_t s = dnnl_tp_callable_run(f->callable, (const void *const *)f->in, f->out, &f->opts);
    if (s != dnnl_tp_success) eb_must(s, "run of a callable");
}

static void make_session(feed_t *f, dnnl_tp_graph_t g, int threads, bool callable) {
    const char *fetches[MOST];
    dnnl_tp_session_pool_t pool = {.num_threads = threads};
    dnnl_tp_session_opts_t o = {.struct_size = sizeof o, .npools = 1, .pools = &pool};
    EB_OK(dnnl_tp_session_create(&f->session, g, eb_engine(), &o));
    for (int i = 0; i < f->n; ++i) {
        f->feeds[i] = (dnnl_tp_feed_t){f->name[i], NULL, f->in[i]};
        fetches[i] = f->name[MOST + i];
        f->fetches[i] = (dnnl_tp_fetch_t){fetches[i], f->out[i]};
    }
    f->opts = (dnnl_tp_session_run_opts_t){.struct_size = sizeof f->opts,
                                           .pool_index = threads > 1 ? 0 : DNNL_TP_SESSION_CALLER};
    if (callable)
        EB_OK(
            dnnl_tp_session_make_callable(&f->callable, f->session, f->n, f->feeds, f->n, fetches, 0, NULL));
    dnnl_tp_graph_destroy(g);
}

/* n inputs, n nodes, n outputs; 0: one node alone. */
static void feed_row(int n, int threads) {
    char name[64];
    if (n) snprintf(name, sizeof name, "feed_fetch/%d", n);
    else snprintf(name, sizeof name, "fixed/one_node");
    if (!eb_wanted(eb.rows, name)) return;
    feed_t *f[WAYS];
    eb_case_t c[WAYS];
    static eb_node_t nothing_node;
    const int ways = n ? WAYS : SIDES;
    for (int s = 0; s < ways; ++s) {
        feed_t *o = f[s] = calloc(1, sizeof **f);
        dnnl_tp_graph_t g;
        dnnl_tp_value_t v;
        const dnnl_tp_dims_t dims = {0};
        const dnnl_tp_tensor_info_t nothing = {1, {0}, dnnl_tp_f32};
        EB_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
        if (!n)
            EB_OK(
                dnnl_tp_graph_host(g, eb_host_empty, &nothing_node, NULL, 0, NULL, 0, NULL, 1, &nothing, &v));
        o->n = n;
        for (int i = 0; i < n; ++i) {
            snprintf(o->name[i], sizeof *o->name, "x%d", i);
            snprintf(o->name[MOST + i], sizeof *o->name, "y%d", i);
            EB_OK(dnnl_tp_graph_input(g, &v, o->name[i], dnnl_tp_s32, 0, dims));
            EB_OK(dnnl_tp_graph_host(g, inc, NULL, NULL, 0, o->name[MOST + i], 1, &v, 1, &number, &v));
            EB_OK(dnnl_tp_graph_output(g, v, NULL));
            o->in_data[i] = i;
            o->in[i] = &o->in_data[i];
            o->out[i] = &o->out_data[i];
        }
        if (s < SIDES) {
            o->e = eb_compile(g, threads, flags_of[s]);
            o->stream = eb_stream(threads);
        } else make_session(o, g, threads, s == CALLABLE);
        c[s] = (eb_case_t){.run = s == SESSION    ? session_run
                                  : s == CALLABLE ? callable_run
                                                  : feed_run,
                           .arg = o};
        c[s].run(o);
        for (int i = 0; i < n; ++i)
            if (o->out_data[i] != i + 1)
                eb_fail("%s, %s: output %d is %d\n", name, way_names[s], i, o->out_data[i]);
    }
    if (!eb.check) {
        eb_measure(c, ways);
        printf("%-36s |", name);
        for (int s = 0; s < ways; ++s) {
            printf(" %13.1f", c[s].ns);
            eb_csv("system", name, threads, 0, way_names[s], "ns/run", c[s].ns, c[s].lo, c[s].hi, c[s].allocs,
                   1);
        }
        printf(" | ns/run,");
        for (int s = 0; s < ways; ++s) printf(" %.0f", c[s].allocs);
        printf(" allocations\n");
    } else printf("%-36s %d threads\n", name, threads);
    for (int s = 0; s < ways; ++s) {
        dnnl_tp_executable_destroy(f[s]->e);
        dnnl_tp_callable_destroy(f[s]->callable);
        dnnl_tp_session_destroy(f[s]->session);
        free(f[s]);
    }
}

/* ---- Several callers of one pool --------------------------------------------------------------------- */

typedef struct {
    dnnl_tp_executable_t e;
    dnnl_tp_stream_t stream;
    int64_t end;
    double *us;
    int n;
    pthread_t thread;
} client_t;
enum { MOST_RUNS = 20000 };

static void *client(void *p) {
    client_t *c = p;
    int64_t t = bd_now_ns();
    do {
        EB_OK(dnnl_tp_executable_run(c->e, c->stream, 0, NULL, 0, NULL, NULL));
        int64_t now = bd_now_ns();
        c->us[c->n] = (double)(now - t) / 1e3;
        t = now;
    } while (++c->n < MOST_RUNS && t < c->end);
    return NULL;
}

/* Each client runs 10 layers of 10 nodes of 10 us again and again; work: nodes' time of all runs over threads
 * * time. */
static void clients_row(int clients, int threads) {
    enum { MOST_CLIENTS = 16, WIDTH = 10, NODE_NS = 10000 };
    char name[64];
    snprintf(name, sizeof name, "clients/%d", clients);
    if (!eb_wanted(eb.rows, name)) return;
    const double seconds = eb.check ? 0.02 : 0.5;
    eb_node_t node = {.ticks = eb_ticks_of_ns(NODE_NS)};
    dnnl_tp_graph_t g;
    EB_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    const dnnl_tp_tensor_info_t nothing = {1, {0}, dnnl_tp_f32};
    dnnl_tp_value_t v[WIDTH][WIDTH];
    for (int d = 0; d < WIDTH; ++d)
        for (int i = 0; i < WIDTH; ++i) {
            EB_OK(dnnl_tp_graph_host(g, eb_host_spin, &node, NULL, 0, NULL, 0, NULL, 1, &nothing, &v[d][i]));
            for (int k = 0; d && k < 3; ++k)
                EB_OK(dnnl_tp_graph_control_dependency(g, v[d - 1][(i + k) % WIDTH], v[d][i]));
        }
    dnnl_tp_executable_t e = eb_compile(g, threads, 0);
    EB_OK(dnnl_tp_executable_reserve(e, clients));
    client_t c[MOST_CLIENTS];
    memset(c, 0, sizeof c);
    int64_t begin = bd_now_ns();
    for (int i = 0; i < clients; ++i) {
        c[i].e = e;
        c[i].stream = eb_new_stream(threads);
        c[i].end = begin + (int64_t)(seconds * 1e9);
        c[i].us = malloc(sizeof *c[i].us * MOST_RUNS);
    }
    for (int i = 0; i < clients; ++i)
        if (pthread_create(&c[i].thread, NULL, client, &c[i])) abort();
    for (int i = 0; i < clients; ++i) pthread_join(c[i].thread, NULL);
    double time = (double)(bd_now_ns() - begin);
    int runs = 0;
    for (int i = 0; i < clients; ++i) runs += c[i].n;
    double *all = malloc(sizeof *all * (size_t)(runs + 1));
    for (int i = 0, n = 0; i < clients; n += c[i].n, ++i) {
        memcpy(all + n, c[i].us, sizeof *all * (size_t)c[i].n);
        free(c[i].us);
        dnnl_tp_stream_destroy(c[i].stream);
    }
    qsort(all, (size_t)runs, sizeof *all, bd_by_value);
    dnnl_tp_executable_destroy(e);
    if (eb.check) printf("%-36s %d threads\n", name, threads);
    else {
        double busy = runs * (double)(WIDTH * WIDTH * NODE_NS) / time / threads;
        printf("%-36s | %.0f runs/s, %.1f %% of %d threads; us per run: median %.0f, p99 %.0f\n", name,
               runs / time * 1e9, 100 * busy, threads, all[runs / 2], all[runs * 99 / 100]);
        eb_csv("system", name, threads, NODE_NS, "dnnl_tp", "% of threads", 100 * busy, 0, 0, -1, clients);
        eb_csv("system", name, threads, NODE_NS, "dnnl_tp", "us (p99)", all[runs * 99 / 100], all[0],
               all[runs - 1], -1, clients);
    }
    free(all);
    fflush(stdout);
}

void eb_rows_system(void) {
    static const int feeds[] = {0, 1, 2, 5, 10, 100}, clients[] = {1, 2, 4, 8, 16};
    for (int t = 0; t < eb.nthreads; ++t) {
        int threads = eb.threads[t];
        if (!eb.check) {
            printf("\nsystem, %s\n%-36s |", threads > 1 ? "warm pool" : "caller's thread", "");
            for (int s = 0; s < WAYS; ++s) printf(" %13s", way_names[s]);
            printf("\n");
        }
        for (int i = 0; i < 6; ++i) feed_row(feeds[i], threads);
        eb_rows_cancel(threads);
        for (int i = 0; i < 5 && threads > 1; ++i) clients_row(clients[i], threads);
    }
}
