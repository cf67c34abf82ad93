/* The sentence encoder on the pools of integrations/, beside the built-in pool.
 *
 *   encoder_pools MODEL-FOLDER [--threads=N] [--batch=B] [--tokens=S] [--seconds=X]
 *
 * Rounds of one block of runs on each pool, begun when the other pools' threads sleep, by another pool each
 * time. Prints, for each pool, the median of all runs and of its rounds' speed relative to the built-in pool's block
 * (above 1 = faster) with quartiles, and in how many rounds the built-in pool's block and its own were slow: above
 * 1.2 of its median. A machine that slows down for seconds shows there and in the quartiles. Prints only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "common/timing.h"
#include "encoder.h"
#include "hosts/hosts.h"

enum { MAX_POOLS = 8, RUNS_PER_BLOCK = 5, MAX_SAMPLES = 1 << 14, MAX_ROUNDS = MAX_SAMPLES / RUNS_PER_BLOCK };
static const double SLOW = 1.2;

typedef struct {
    const char *name;
    const host_t *host;
    void *pool;
    se_encoder_t *encoder;
    se_session_t *session;
    double sample[MAX_SAMPLES];
    int count;
} entry_t;

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void report(const entry_t *e, const entry_t *reference, int rounds) {
    static double ratio[MAX_ROUNDS], all[MAX_SAMPLES];
    int slow = 0;
    memcpy(all, e->sample, (size_t)e->count * sizeof *all);
    const double median = bd_median(all, e->count);
    for (int r = 0; r < rounds; ++r) {
        double block[2][RUNS_PER_BLOCK], ms[2];
        for (int i = 0; i < 2; ++i) {
            memcpy(block[i], (i ? e : reference)->sample + r * RUNS_PER_BLOCK, sizeof *block);
            ms[i] = bd_median(block[i], RUNS_PER_BLOCK);
        }
        ratio[r] = ms[0] / ms[1];
        slow += ms[1] > SLOW * median;
    }
    qsort(ratio, (size_t)rounds, sizeof *ratio, by_value);
    printf("  %-12s median %8.3f ms  %6.3fx of the built-in pool (%.3f to %.3f), %d of %d rounds slow\n",
           e->name, median, ratio[rounds / 2], ratio[rounds / 4], ratio[rounds * 3 / 4], slow, rounds);
}

int main(int argc, char **argv) {
    int threads = 2, batch = 1, tokens = 32;
    double seconds = 2;
    const char *folder = NULL;
    for (int i = 1; i < argc; ++i) {
        if (!strncmp(argv[i], "--threads=", 10)) threads = atoi(argv[i] + 10);
        else if (!strncmp(argv[i], "--batch=", 8)) batch = atoi(argv[i] + 8);
        else if (!strncmp(argv[i], "--tokens=", 9)) tokens = atoi(argv[i] + 9);
        else if (!strncmp(argv[i], "--seconds=", 10)) seconds = atof(argv[i] + 10);
        else folder = argv[i];
    }
    se_error_t error;
    se_model_t model;
    static entry_t entry[MAX_POOLS];
    int n = 1;
    entry[0].name = "builtin";
    for (const host_t *const *h = hosts; *h && n < MAX_POOLS; ++h)
        if (strcmp((*h)->name, "tbb_limited")) entry[n++] = (entry_t){.name = (*h)->name, .host = *h};
    if (!folder || threads < 1 || batch < 1 || tokens < 1) {
        fprintf(stderr,
                "usage: encoder_pools MODEL-FOLDER [--threads=N] [--batch=B] [--tokens=S] [--seconds=X]\n");
        return 2;
    }
    if (se_model_open(&model, folder, &error)) goto failed;
    size_t size = (size_t)batch * (size_t)tokens;
    int32_t *ids = malloc(size * sizeof *ids);
    float *out = malloc((size_t)batch * (size_t)model.hidden * sizeof *out);
    if (!ids || !out) return 1;
    for (size_t i = 0; i < size; ++i) ids[i] = (int32_t)(1000 + i * 7919 % 20000);
    for (int i = 0; i < n; ++i) {
        entry_t *e = &entry[i];
        se_encoder_opts_t opts = {.threads = threads, .pool = SE_POOL_BUILTIN};
        if (e->host && !(e->pool = e->host->create(threads))) return 1;
        int bad = e->host ? se_encoder_create_on(&e->encoder, &model, e->host->iface(e->pool), &error)
                          : se_encoder_create(&e->encoder, &model, &opts, &error);
        if (bad || se_session_create(&e->session, e->encoder, batch, (int)size, 0, &error)) goto failed;
        for (int k = 0; k < 3; ++k)
            if (se_session_run_rectangle(e->session, batch, tokens, ids, out, &error)) goto failed;
    }
    int rounds = 0;
    for (int64_t end = se_now_ns() + (int64_t)(seconds * 1e9) * n; se_now_ns() < end && rounds < MAX_ROUNDS;
         ++rounds)
        for (int i = 0; i < n; ++i) {
            entry_t *e = &entry[(i + rounds) % n];
            (void)bd_wait_quiet();                      /* OpenMP's threads spin for a while */
            for (int k = -1; k < RUNS_PER_BLOCK; ++k) { /* the first run wakes the threads */
                int64_t t0 = se_now_ns();
                if (se_session_run_rectangle(e->session, batch, tokens, ids, out, &error)) goto failed;
                if (k >= 0) e->sample[e->count++] = (double)(se_now_ns() - t0) * 1e-6;
            }
        }
    printf("sentence encoder, batch %d, %d tokens, %d threads\n", batch, tokens, threads);
    for (int i = 0; i < n; ++i) report(&entry[i], &entry[0], rounds);
    for (int i = 0; i < n; ++i) {
        se_session_destroy(entry[i].session);
        se_encoder_destroy(entry[i].encoder);
        if (!entry[i].host) continue;
        if (dnnl_tp_threadpool_quiesce(entry[i].host->iface(entry[i].pool), -1)) return 1;
        entry[i].host->destroy(entry[i].pool);
    }
    se_model_close(&model);
    free(ids);
    free(out);
    return 0;
failed:
    fprintf(stderr, "encoder_pools: %s\n", error.text);
    return 1;
}
