/* See bench.h. A block is: every client runs for the given time, on fresh ids each run. With --step, blocks
 * are ordered by lines on standard input, so that a driver can alternate them with other programs' blocks:
 *   block MS     runs for MS milliseconds, answers "block RUNS WALL_NS CPU_NS LATENCY_NS..."
 *   check FILE   writes the embeddings of all ids to FILE (.npy), answers "check ROWS COLS"
 *   quit         ends
 * Everything is warm when "ready" is printed. */
#include "bench.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "embed.h"
#include "npy.h"

enum {
    DEFAULT_INPUTS = 16, /* distinct inputs when no ids are given */
    MAX_SAMPLES = 1 << 18,
    MAX_LINE = 4096,
    MIN_RUNS = 2,
    WARM_UP_RUNS = 3
};

static const char *const pool_names[] = {"own", "builtin", "none"}, *const engine_names[] = {"cpu", "gpu"};

typedef struct bench {
    const se_model_t *model;
    const se_options_t *options;
    se_encoder_t *encoder;
    int32_t *ids; /* inputs x batch x tokens */
    size_t inputs;
    int64_t end_ns;
    pthread_barrier_t start;
} bench_t;

typedef struct {
    bench_t *bench;
    se_session_t *session;
    float *out;  /* batch x hidden */
    size_t next; /* input */
    int64_t *sample;
    int count, status;
    se_error_t error;
} client_t;

static int64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int run_once(client_t *c, size_t input) {
    const se_options_t *o = c->bench->options;
    size_t size = (size_t)o->batch * (size_t)o->tokens;
    int64_t begin = se_now_ns();
    c->status = se_session_run_rectangle(c->session, o->batch, o->tokens, c->bench->ids + input * size,
                                         c->out, &c->error);
    int64_t end = se_now_ns();
    if (c->status) return -1;
    if (c->count < MAX_SAMPLES) c->sample[c->count++] = end - begin;
    return 0;
}

static void *run_client(void *arg) {
    client_t *c = arg;
    c->count = 0;
    pthread_barrier_wait(&c->bench->start);
    while ((c->count < MIN_RUNS || se_now_ns() < c->bench->end_ns) && !se_interrupted) {
        if (run_once(c, c->next)) break;
        c->next = (c->next + 1) % c->bench->inputs;
    }
    return NULL;
}

/* Runs one block on all clients; the first is the calling thread. */
static int run_block(bench_t *b, client_t *client, int64_t ns, int64_t *wall, int64_t *cpu,
                     se_error_t *error) {
    int n = b->options->clients, started = 1;
    pthread_t thread[64];
    pthread_barrier_init(&b->start, NULL, (unsigned)n);
    b->end_ns = INT64_MAX;
    for (; started < n; ++started)
        if (pthread_create(&thread[started], NULL, run_client, &client[started])) {
            fprintf(stderr, "sentence_encoder: cannot start client %d\n", started);
            exit(SE_EXIT_FAILED); /* the others wait at the barrier */
        }
    int64_t begin = se_now_ns(), cpu_begin = cpu_ns();
    b->end_ns = begin + ns;
    run_client(&client[0]);
    for (int i = 1; i < n; ++i) pthread_join(thread[i], NULL);
    *wall = se_now_ns() - begin;
    *cpu = cpu_ns() - cpu_begin;
    pthread_barrier_destroy(&b->start);
    for (int i = 0; i < n; ++i)
        if (client[i].status) {
            *error = client[i].error;
            return -1;
        }
    return se_interrupted ? se_fail(error, "interrupted") : 0;
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static int step(bench_t *b, client_t *client, se_error_t *error) {
    char line[MAX_LINE];
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (!strncmp(line, "block ", 6)) {
            int64_t wall, cpu, runs = 0;
            if (run_block(b, client, (int64_t)(strtod(line + 6, NULL) * 1e6), &wall, &cpu, error)) return -1;
            for (int i = 0; i < b->options->clients; ++i) runs += client[i].count;
            printf("block %lld %lld %lld", (long long)runs, (long long)wall, (long long)cpu);
            for (int i = 0; i < b->options->clients; ++i)
                for (int k = 0; k < client[i].count; ++k) printf(" %lld", (long long)client[i].sample[k]);
            puts("");
        } else if (!strncmp(line, "check ", 6)) {
            se_output_t out;
            size_t rows = (size_t)b->options->batch, cols = (size_t)b->model->hidden;
            if (se_npy_open(&out, line + 6, b->inputs * rows, cols, error)) return -1;
            for (size_t i = 0; i < b->inputs; ++i)
                if (run_once(&client[0], i) ||
                    se_npy_append(&out, client[0].out, rows * cols, &client[0].error)) {
                    se_output_abandon(&out);
                    *error = client[0].error;
                    return -1;
                }
            if (se_output_commit(&out, error)) return -1;
            printf("check %zu %zu\n", b->inputs * rows, cols);
        } else if (!strcmp(line, "quit")) {
            break;
        } else {
            return se_fail(error, "unknown step '%s'", line);
        }
        fflush(stdout);
    }
    return 0;
}

static int report(bench_t *b, client_t *client, se_error_t *error) {
    const se_options_t *o = b->options;
    int64_t wall, cpu;
    size_t runs = 0;
    if (run_block(b, client, (int64_t)(o->seconds * 1e9), &wall, &cpu, error)) return -1;
    for (int i = 0; i < o->clients; ++i) runs += (size_t)client[i].count;
    int64_t *all = se_alloc_array(runs, sizeof *all);
    if (!all) return se_fail_memory(error);
    runs = 0;
    for (int i = 0; i < o->clients; ++i) {
        memcpy(all + runs, client[i].sample, (size_t)client[i].count * sizeof *all);
        runs += (size_t)client[i].count;
    }
    qsort(all, runs, sizeof *all, by_value);
    printf("bench batch=%d tokens=%d threads=%d clients=%d pool=%s engine=%s runs=%zu runs_per_s=%.1f "
           "median_ms=%.4f "
           "p99_ms=%.4f "
           "min_ms=%.4f cpu_per_wall=%.3f\n",
           o->batch, o->tokens, o->threads, o->clients, pool_names[o->pool], engine_names[o->gpu], runs,
           (double)runs * 1e9 / (double)wall, (double)all[runs / 2] * 1e-6,
           (double)all[runs * 99 / 100] * 1e-6, (double)all[0] * 1e-6, (double)cpu / (double)wall);
    se_free(all);
    return 0;
}

/* Nothing may be planned lazily: the first run of an executable against its second, in medians over new ones.
 */
static int report_fresh(bench_t *b, client_t *client, se_error_t *error) {
    const se_options_t *o = b->options;
    size_t n = (size_t)o->fresh;
    int64_t *first = se_alloc_array(2 * n, sizeof *first), *second = first + n, ns[2] = {0}, faults[2] = {0},
            all_faults[2] = {0};
    if (!first) return se_fail_memory(error);
    int status = 0;
    for (size_t i = 0; i < n && !status; ++i) {
        status = se_session_time_fresh(client->session, o->batch, o->tokens, b->ids, client->out, ns, faults,
                                       error);
        if (!status && se_interrupted) status = se_fail(error, "interrupted");
        first[i] = ns[0];
        second[i] = ns[1];
        for (int k = 0; k < 2; ++k) all_faults[k] += faults[k];
    }
    if (!status) {
        qsort(first, n, sizeof *first, by_value);
        qsort(second, n, sizeof *second, by_value);
        double f = (double)first[n / 2] * 1e-6, s = (double)second[n / 2] * 1e-6;
        printf("fresh batch=%d tokens=%d threads=%d pool=%s engine=%s executables=%zu first_ms=%.4f "
               "second_ms=%.4f "
               "ratio=%.3f page_faults=%lld,%lld\n",
               o->batch, o->tokens, o->threads, pool_names[o->pool], engine_names[o->gpu], n, f, s, f / s,
               (long long)all_faults[0] / o->fresh, (long long)all_faults[1] / o->fresh);
    }
    se_free(first);
    return status;
}

/* Ids from a file, or ordinary words at random, so that no run repeats its input. */
static int make_ids(bench_t *b, se_error_t *error) {
    const se_options_t *o = b->options;
    size_t size = (size_t)o->batch * (size_t)o->tokens, cols;
    if (o->ids) {
        size_t rows;
        if (se_npy_read_s32(o->ids, &b->ids, &rows, &cols, error)) return -1;
        b->inputs = cols == (size_t)o->tokens ? rows / (size_t)o->batch : 0;
        if (!b->inputs || rows % (size_t)o->batch)
            return se_fail(error, "%s: {%zu, %zu} is no multiple of %d x %d", o->ids, rows, cols, o->batch,
                           o->tokens);
        return 0;
    }
    b->inputs = DEFAULT_INPUTS;
    b->ids = se_alloc_array(b->inputs * size, sizeof *b->ids);
    if (!b->ids) return se_fail_memory(error);
    uint64_t seed = 88172645463325252u;
    for (size_t i = 0; i < b->inputs * size; ++i) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        b->ids[i] = (int32_t)(seed % (uint64_t)b->model->vocab.count);
    }
    return 0;
}

int se_bench(const se_model_t *model, const se_options_t *o, se_error_t *error) {
    bench_t b = {.model = model, .options = o};
    se_encoder_opts_t opts = {o->threads, o->pool, o->bf16, o->gpu};
    size_t clients = (size_t)o->clients;
    int status = -1;
    if (o->tokens > model->positions)
        return se_fail(error, "--tokens %d: the model has %d positions", o->tokens, (int)model->positions);
    client_t *client = se_zalloc(clients * sizeof *client);
    dnnl_tp_trace_t trace = NULL;
    if (!client) {
        se_fail_memory(error);
        goto done;
    }
    if (se_trace_create(&trace, o->profile, error)) goto done;
    if (trace && dnnl_tp_trace_set_enabled(trace, 0)) goto done; /* warming up is not shown */
    if (make_ids(&b, error) || se_encoder_create(&b.encoder, model, &opts, error)) goto done;
    for (size_t i = 0; i < clients; ++i) {
        client_t *c = &client[i];
        c->bench = &b;
        c->next = i * b.inputs / clients;
        c->out = se_alloc_array((size_t)o->batch * (size_t)model->hidden, sizeof *c->out);
        c->sample = se_alloc_array(MAX_SAMPLES, sizeof *c->sample);
        if (!c->out || !c->sample) {
            se_fail_memory(error);
            goto done;
        }
        if (se_session_create(&c->session, b.encoder, o->batch, o->batch * o->tokens, trace, error))
            goto done;
        for (int k = 0; k < WARM_UP_RUNS; ++k)
            if (run_once(c, 0)) {
                *error = c->error;
                goto done;
            }
    }
    if (trace && dnnl_tp_trace_set_enabled(trace, 1)) goto done;
    if (o->step) status = step(&b, client, error);
    else status = o->fresh ? report_fresh(&b, client, error) : report(&b, client, error);
    if (!status) status = se_trace_write(trace, o->profile, error);
done:
    for (size_t i = 0; client && i < clients; ++i) {
        se_session_destroy(client[i].session);
        se_free(client[i].out);
        se_free(client[i].sample);
    }
    dnnl_tp_trace_destroy(trace);
    se_encoder_destroy(b.encoder);
    se_free(client);
    se_free(b.ids);
    return status;
}
