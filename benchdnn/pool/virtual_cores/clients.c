/* Running a row: a thread for each client. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "common/timing.h"
#include "pool/virtual_cores/virtual_cores.h"

typedef struct {
    vc_row_t *row;
    vc_client_t *client;
    pthread_barrier_t *start;
    dnnl_tp_stream_t stream;
    vc_run_t **last;
} thread_t;

static vc_run_t *new_run(const thread_t *t) {
    const vc_program_t *p = t->client->program;
    vc_run_t *run = calloc(1, sizeof *run + sizeof *run->task * (size_t)p->n);
    if (!run) abort();
    run->program = p;
    run->bed = t->row->bed;
    return run;
}

static void execute(const thread_t *t, vc_run_t *run) {
    const vc_client_t *c = t->client;
    const vc_program_t *p = c->program;
    if (!p->graph) {
        const vc_bed_t *bed = run->bed;
        vc_loop(run, 0, p->n, &(dtp_parallel_t){.pool = bed->rec, .num_threads = bed->threads});
        return;
    }
    int32_t number[2] = {p->number[0], p->number[1]};
    void *in[3] = {&run, &number[0], &number[1]};
    dnnl_tp_run_opts_t opts = {.struct_size = sizeof opts, .priority = c->priority};
    if (!t->row->bed->async) {
        VC_OK(dnnl_tp_executable_run(c->exec, t->stream, 1 + p->n_numbers, in, 0, NULL, &opts));
        return;
    }
    dnnl_tp_event_t event;
    VC_OK(dnnl_tp_executable_run_async(c->exec, t->stream, 1 + p->n_numbers, in, 0, NULL, &opts, &event));
    VC_OK(dnnl_tp_event_wait(event, -1, NULL));
    dnnl_tp_event_destroy(event);
}

static bool over(const thread_t *t, int done) {
    const vc_row_t *row = t->row;
    return row->runs ? done >= row->runs : bd_now_ns() - row->bed->began >= row->window_ns;
}

static void *client(void *arg) {
    thread_t *t = arg;
    vc_client_t *c = t->client;
    vc_bed_t *bed = t->row->bed;
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    for (int i = vc_hints ? 1 : 4; i > 0; --i) {
        vc_run_t *warm = new_run(t);
        execute(t, warm);
        free(warm);
    }
    pthread_barrier_wait(t->start);
    pthread_barrier_wait(t->start); /* `began` is set in between */
    while (!over(t, c->n_runs)) {
        vc_run_t *run = new_run(t);
        run->called = bd_now_ns() - bed->began;
        execute(t, run);
        run->returned = bd_now_ns() - bed->began;
        *t->last = run;
        t->last = &run->next;
        ++c->n_runs;
    }
    return NULL;
}

void vc_row_run(vc_row_t *row) {
    thread_t thread[VC_MOST_CLIENTS];
    pthread_t id[VC_MOST_CLIENTS];
    pthread_barrier_t start;
    if (pthread_barrier_init(&start, NULL, (unsigned)row->n + 1)) abort();
    for (int i = 0; i < row->n; ++i) {
        thread[i] = (thread_t){.row = row, .client = &row->client[i], .start = &start};
        thread[i].last = &row->client[i].first;
        row->client[i].n_runs = 0;
        VC_OK(dnnl_tp_stream_create_v2(&thread[i].stream, vc_engine(), dnnl_tp_stream_default_flags,
                                       row->bed->attr));
        if (pthread_create(&id[i], NULL, client, &thread[i])) abort();
    }
    pthread_barrier_wait(&start);
    row->bed->began = bd_now_ns();
    pthread_barrier_wait(&start);
    for (int i = 0; i < row->n; ++i) {
        pthread_join(id[i], NULL);
        VC_OK(dnnl_tp_stream_destroy(thread[i].stream));
    }
    pthread_barrier_destroy(&start);
    if (!row->runs) return;
    row->window_ns = 0;
    for (int i = 0; i < row->n; ++i)
        for (const vc_run_t *run = row->client[i].first; run; run = run->next)
            if (run->returned > row->window_ns) row->window_ns = run->returned;
}

void vc_row_free_runs(vc_row_t *row) {
    for (int i = 0; i < row->n; ++i)
        for (vc_run_t *run = row->client[i].first, *next; run; run = next) {
            next = run->next;
            free(run);
        }
    for (int i = 0; i < row->n; ++i) row->client[i].first = NULL;
}
