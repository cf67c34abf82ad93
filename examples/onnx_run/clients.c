/* See clients.h. */
#include "clients.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    const job_t *job;
    pthread_barrier_t start, warm;
    atomic_int done, running, stop; /* done: runs of all clients */
} shared_t;

typedef struct {
    shared_t *shared;
    pthread_t thread;
    double *ms; /* of its runs */
    void **out;
    int status;
    se_error_t error;
} client_t;

/* The first client writes to the job's outputs, which are looked at afterwards; the others have their own. */
static int client_room(client_t *c, const job_t *j, int first) {
    const int n = j->model->info.outputs;
    c->ms = calloc((size_t)j->model->o->repeat + 1, sizeof *c->ms);
    c->out = calloc((size_t)n + 1, sizeof *c->out);
    if (!c->ms || !c->out) return -1;
    for (int i = 0; i < n; ++i) {
        c->out[i] = first ? j->out[i].data : malloc(bytes_of(&j->out[i].info) + 1);
        if (!c->out[i]) return -1;
    }
    return 0;
}

static void client_free(client_t *c, const job_t *j, int first) {
    for (int i = 0; c->out && !first && i < j->model->info.outputs; ++i) free(c->out[i]);
    free((void *)c->out);
    free(c->ms);
}

static void *run_client(void *arg) {
    client_t *c = arg;
    shared_t *s = c->shared;
    const options_t *o = s->job->model->o;
    for (int i = 0; i < o->warmup && !c->status; ++i) c->status = job_run(s->job, c->out, &c->error);
    (void)pthread_barrier_wait(&s->warm);
    (void)pthread_barrier_wait(&s->start);
    for (int i = 0; i < o->repeat && !c->status && !s->stop; ++i) {
        const double begin = now_ms();
        c->status = job_run(s->job, c->out, &c->error);
        c->ms[i] = now_ms() - begin;
        ++s->done;
    }
    if (c->status) s->stop = 1;
    --s->running;
    return NULL;
}

/* On a terminal only, and only of what lasts: runs done, and how long the rest will take. */
static void show_progress(shared_t *s, double begin) {
    enum { PERIOD_MS = 250, FIRST_MS = 1000 };
    const options_t *o = s->job->model->o;
    const double all = (double)o->repeat * o->clients;
    int shown = 0;
    while (s->running > 0) {
        const struct timespec t = {.tv_nsec = PERIOD_MS * 1000000L};
        (void)nanosleep(&t, NULL);
        const double ms = now_ms() - begin;
        const int done = s->done;
        if (ms < FIRST_MS || done == 0) continue;
        fprintf(stderr, "\r%d of %.0f runs, %.0f s left \033[K", done, all, ms / done * (all - done) * 1e-3);
        shown = 1;
    }
    if (shown) fputs("\r\033[K", stderr);
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const options_t *o, double *ms, double wall, double cpu) {
    const size_t n = (size_t)o->clients * (size_t)o->repeat;
    qsort(ms, n, sizeof *ms, by_value);
    fprintf(o->text,
            "%zu runs, %d client%s, %d thread%s (%s): least %.4f ms, p50 %.4f ms, p99 %.4f ms, %.1f runs/s, "
            "processor time %.2f x "
            "wall\n",
            n, o->clients, o->clients > 1 ? "s" : "", o->threads, o->threads > 1 ? "s" : "", o->pool, ms[0],
            ms[n / 2], ms[n * 99 / 100], (double)n / wall * 1e3, cpu / wall);
}

static double cpu_ms(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* All clients have room; started: how many threads could be made. */
static int run_all(client_t *client, int n, shared_t *s, double *wall, double *cpu, se_error_t *error) {
    const model_t *m = s->job->model;
    for (int i = 0; i < n; ++i)
        if (pthread_create(&client[i].thread, NULL, run_client, &client[i])) {
            fprintf(stderr, "onnx_run: cannot start client %d\n", i);
            exit(1); /* the others wait at the barrier */
        }
    (void)pthread_barrier_wait(&s->warm);
    int status = 0;
    if (m->trace && dnnl_tp_trace_set_enabled(m->trace, 1))
        status = se_fail(error, "trace: %s", dnnl_tp_last_error());
    const double begin = now_ms(), cpu_begin = cpu_ms();
    (void)pthread_barrier_wait(&s->start);
    if (!m->o->quiet && isatty(STDERR_FILENO)) show_progress(s, begin);
    for (int i = 0; i < n; ++i) {
        (void)pthread_join(client[i].thread, NULL);
        if (client[i].status && !status) {
            *error = client[i].error;
            status = -1;
        }
    }
    *wall = now_ms() - begin;
    *cpu = cpu_ms() - cpu_begin;
    return status;
}

int clients_run(const job_t *j, se_error_t *error) {
    const options_t *o = j->model->o;
    const int n = o->clients;
    shared_t s = {.job = j, .running = n};
    client_t *client = calloc((size_t)n, sizeof *client);
    double *ms = calloc((size_t)n * (size_t)o->repeat, sizeof *ms), wall = 0, cpu = 0;
    int status = client && ms ? 0 : se_fail_memory(error);
    for (int i = 0; i < n && !status; ++i) {
        client[i].shared = &s;
        if (client_room(&client[i], j, i == 0)) status = se_fail_memory(error);
    }
    if (!status) {
        (void)pthread_barrier_init(&s.start, NULL, (unsigned)n + 1);
        (void)pthread_barrier_init(&s.warm, NULL, (unsigned)n + 1);
        status = run_all(client, n, &s, &wall, &cpu, error);
        (void)pthread_barrier_destroy(&s.start);
        (void)pthread_barrier_destroy(&s.warm);
    }
    for (int i = 0; i < n && !status; ++i)
        memcpy(ms + (size_t)i * (size_t)o->repeat, client[i].ms, sizeof *ms * (size_t)o->repeat);
    if (!status) report(o, ms, wall, cpu);
    for (int i = 0; client && i < n; ++i) client_free(&client[i], j, i == 0);
    free(client);
    free(ms);
    return status;
}
