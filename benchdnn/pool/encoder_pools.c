/* The sentence encoder on the pools of integrations/, beside the built-in pool.
 *
 *   encoder_pools MODEL-FOLDER [--threads=N] [--batch=B] [--tokens=S] [--seconds=X]
 *
 * Alternating blocks of runs, each started when the other pools' threads sleep; prints the median of each
 * pool and its speed relative to the built-in pool (above 1 = faster). Prints only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "common/timing.h"
#include "encoder.h"
#include "hosts/hosts.h"

enum { MAX_POOLS = 8, RUNS_PER_BLOCK = 5, MAX_SAMPLES = 1 << 14 };

typedef struct {
    const char *name;
    const host_t *host;
    void *pool;
    se_encoder_t *encoder;
    se_session_t *session;
    double sample[MAX_SAMPLES];
    int count;
} entry_t;


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
        se_encoder_opts_t opts = {threads, SE_POOL_BUILTIN};
        if (e->host && !(e->pool = e->host->create(threads))) return 1;
        int bad = e->host ? se_encoder_create_on(&e->encoder, &model, e->host->iface(e->pool), &error)
                          : se_encoder_create(&e->encoder, &model, &opts, &error);
        if (bad || se_session_create(&e->session, e->encoder, batch, (int)size, 0, &error)) goto failed;
        for (int k = 0; k < 3; ++k)
            if (se_session_run_rectangle(e->session, batch, tokens, ids, out, &error)) goto failed;
    }
    for (int64_t end = se_now_ns() + (int64_t)(seconds * 1e9) * n; se_now_ns() < end;)
        for (int i = 0; i < n; ++i) {
            entry_t *e = &entry[i];
            (void)bd_wait_quiet(); /* OpenMP's threads spin for a while */
            for (int k = -1; k < RUNS_PER_BLOCK; ++k) {      /* the first run wakes the threads */
                int64_t t0 = se_now_ns();
                if (se_session_run_rectangle(e->session, batch, tokens, ids, out, &error)) goto failed;
                if (k >= 0 && e->count < MAX_SAMPLES)
                    e->sample[e->count++] = (double)(se_now_ns() - t0) * 1e-6;
            }
        }
    double reference = 0;
    printf("sentence encoder, batch %d, %d tokens, %d threads\n", batch, tokens, threads);
    for (int i = 0; i < n; ++i) {
        double median = bd_median(entry[i].sample, entry[i].count);
        if (i == 0) reference = median;
        printf("  %-12s median %8.3f ms  %6.3fx of the built-in pool\n", entry[i].name, median,
               reference / median);
    }
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
