/* Several models in one program on one pool: each alone, one after another, all at once. doc/several_models.md.
 *   several_models [--threads N] [--pool KIND] [--seconds X] "MODEL [DIMENSION=SIZE]..."...
 * What a program does: one pool, one stream attribute that names it, a session for each model; any thread runs any of them. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model.h"
#include "sentence_encoder/output.h"

enum { MOST = 16, WARM_UP = 3, TURNS = 5 };

typedef struct {
    options_t o;
    model_t model;
    job_t job;
    double ns, least; /* of a run: sum and least, of `runs` */
    int64_t runs;
    double alone, turn, at_once; /* runs a second */
    int status;
    se_error_t error;
} entry_t;

static double seconds = 2;
static pthread_barrier_t start;

/* Runs the model in a loop; returns runs a second. */
static double loop(entry_t *e, double most_ms) {
    const double begin = now_ms();
    double at = begin;
    e->runs = 0;
    e->least = 1e300;
    while (!e->status && at < begin + most_ms) {
        e->status = job_run(&e->job, NULL, &e->error);
        const double end = now_ms();
        if (end - at < e->least) e->least = end - at;
        at = end;
        ++e->runs;
    }
    return (double)e->runs * 1e3 / (at - begin);
}

static void *client(void *arg) {
    entry_t *e = arg;
    (void)pthread_barrier_wait(&start);
    e->at_once = loop(e, seconds * 1e3);
    return NULL;
}

static int at_once(entry_t *entry, int n, double *cpu) {
    pthread_t thread[MOST];
    struct timespec before, after;
    (void)pthread_barrier_init(&start, NULL, (unsigned)n);
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    const double begin = now_ms();
    for (int i = 0; i < n; ++i)
        if (pthread_create(&thread[i], NULL, client, &entry[i])) exit(1); /* the others wait at the barrier */
    for (int i = 0; i < n; ++i) (void)pthread_join(thread[i], NULL);
    const double wall = now_ms() - begin;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    (void)pthread_barrier_destroy(&start);
    *cpu = ((double)(after.tv_sec - before.tv_sec) * 1e3 + (double)(after.tv_nsec - before.tv_nsec) * 1e-6) /
           wall;
    return 0;
}

/* "MODEL NAME=SIZE NAME=SIZE", which is cut. */
static int open_entry(entry_t *e, char *spec, const options_t *common, pool_t *pool, se_error_t *error) {
    static char program[] = "several_models", dim[] = "--dim";
    char *argv[MAX_NAMED] = {program};
    int argc = 1;
    for (char *word = strtok(spec, " "); word && argc + 2 < MAX_NAMED; word = strtok(NULL, " ")) {
        if (argc > 1) argv[argc++] = dim;
        argv[argc++] = word;
    }
    if (options_parse(&e->o, argc, argv, error)) return -1;
    e->o.threads = common->threads;
    e->o.pool = common->pool;
    if (model_open(&e->model, &e->o, e->o.model, pool, error) || job_init(&e->job, &e->model, error) ||
        job_prepare(&e->job, error))
        return -1;
    for (int i = 0; i < WARM_UP; ++i)
        if (job_run(&e->job, NULL, error)) return -1;
    return 0;
}

static void measure(entry_t *entry, int n) {
    for (int i = 0; i < n; ++i) entry[i].alone = loop(&entry[i], seconds * 1e3);
    for (int t = 0; t < TURNS; ++t) /* the best of the turns of each */
        for (int i = 0; i < n; ++i) {
            const double rate = loop(&entry[i], seconds * 1e3 / TURNS);
            if (rate > entry[i].turn) entry[i].turn = rate;
        }
}

static void report(const entry_t *entry, int n, double cpu, const options_t *o) {
    double sum = 0;
    printf("%d models, %d threads (%s)\n%-40s %14s %14s %14s %12s\n", n, o->threads, o->pool,
           "runs per second", "alone", "in turn", "all at once", "of its share");
    for (int i = 0; i < n; ++i) {
        const double part = entry[i].at_once / entry[i].alone;
        const char *slash = strrchr(entry[i].o.model, '/');
        sum += part;
        printf("%-40s %14.1f %14.1f %14.1f %12.2f\n", slash ? slash + 1 : entry[i].o.model, entry[i].alone,
               entry[i].turn, entry[i].at_once, part * n);
    }
    printf("together %.2f of what they do one after another; processor time %.2f x wall\n", sum, cpu);
}

int main(int argc, char **argv) {
    static entry_t entry[MOST];
    options_t common = {.threads = 2, .pool = pool_default()};
    se_error_t error = {""};
    pool_t *pool = NULL;
    int n = 0, at = 1, status = 0;
    se_output_hold_standard();
    for (; at + 1 < argc && !strncmp(argv[at], "--", 2); at += 2) {
        if (!strcmp(argv[at], "--threads")) common.threads = atoi(argv[at + 1]);
        else if (!strcmp(argv[at], "--pool")) common.pool = argv[at + 1];
        else if (!strcmp(argv[at], "--seconds")) seconds = strtod(argv[at + 1], NULL);
        else break;
    }
    if (at == argc || argc - at > MOST || !strncmp(argv[at], "--", 2) || common.threads < 1 ||
        !(seconds > 0)) {
        fputs("usage: several_models [--threads N] [--pool KIND] [--seconds X] \"MODEL "
              "[DIMENSION=SIZE]...\"...\n",
              stderr);
        return 2;
    }
    status = pool_check(common.pool, &error) || pool_create(&pool, common.pool, common.threads, &error);
    for (; at < argc && !status; ++at, ++n) status = open_entry(&entry[n], argv[at], &common, pool, &error);
    double cpu = 0;
    if (!status) {
        measure(entry, n);
        status = at_once(entry, n, &cpu);
        for (int i = 0; i < n && !status; ++i)
            if ((status = entry[i].status)) error = entry[i].error;
    }
    if (!status) report(entry, n, cpu, &common);
    if (!status && (fflush(stdout) || ferror(stdout)))
        status = se_fail(&error, "standard output cannot be written");
    if (status) fprintf(stderr, "several_models: %s\n", error.text);
    for (int i = 0; i < MOST; ++i) {
        if (!entry[i].model.path) continue;
        job_free(&entry[i].job);
        model_close(&entry[i].model);
    }
    pool_destroy(pool);
    return status ? 1 : 0;
}
