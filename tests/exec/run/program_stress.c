/* Random structured programs as graphs, run after run, with forced preemption on 1 to 8 threads, compared
 * with a plain interpreter: what the soak and rulings E2 ask for. The engine alone: dataflow_stress.c.
 *
 * program_stress [runs [first seed [seconds]]]: a line of progress every 10 seconds; exit status 0, or 1
 * after what was wrong. Every program runs with all compile flags, a few times with other inputs and threads.
 */
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dnnl_tp/dnnl_tp_threadpool.h"
#include "support/preempt.h"
#include "support/program.h"
#include "support/watchdog.h"

enum { MAX_T = 8, RUNS_PER_EXECUTABLE = 8, HANG_S = 60 };

static dnnl_tp_engine_t engine;
static dnnl_tp_threadpool_t pool[MAX_T + 1];
static dnnl_tp_stream_t stream[MAX_T + 1];
static dnnl_tp_stream_attr_t attr[MAX_T + 1];
static int64_t done;

static void need(dnnl_tp_status_t status) {
    if (status == dnnl_tp_success) return;
    printf("%s\n", dnnl_tp_last_error());
    exit(1);
}

static void make_pools(void) {
    need(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    for (int t = 1; t <= MAX_T; ++t) {
        need(dnnl_tp_stream_attr_create(&attr[t], dnnl_tp_cpu));
        if (t > 1) {
            dnnl_tp_threadpool_opts_t o = {.struct_size = sizeof o, .num_threads = t};
            need(dnnl_tp_threadpool_create(&pool[t], &o));
            need(dnnl_tp_stream_attr_set_builtin_threadpool(attr[t], pool[t]));
        }
        need(dnnl_tp_stream_create_v2(&stream[t], engine, dnnl_tp_stream_in_order, attr[t]));
    }
}

/* One executable for t threads; false after saying what was wrong. */
static bool stress_executable(program_t *p, uint64_t seed, unsigned flags, int t) {
    static float in[PROGRAM_INPUTS][PROGRAM_ELEMS], want[PROGRAM_MAX_OUTPUTS][PROGRAM_ELEMS],
        got[PROGRAM_MAX_OUTPUTS][PROGRAM_ELEMS];
    void *pin[PROGRAM_INPUTS], *pout[PROGRAM_MAX_OUTPUTS];
    for (int i = 0; i < PROGRAM_INPUTS; ++i) pin[i] = in[i];
    for (int i = 0; i < PROGRAM_MAX_OUTPUTS; ++i) pout[i] = got[i];
    dnnl_tp_compile_opts_t o = {
        .struct_size = sizeof o, .stream_attr = attr[t], .flags = flags, .deterministic = seed % 5 == 0};
    dnnl_tp_executable_t e;
    need(dnnl_tp_executable_compile(&e, program_graph(p), engine, 0, NULL, &o));
    bool good = true;
    for (uint64_t r = 0; good && r < RUNS_PER_EXECUTABLE; ++r, ++done) {
        for (unsigned i = 0; i < PROGRAM_INPUTS; ++i)
            for (unsigned k = 0; k < PROGRAM_ELEMS; ++k)
                in[i][k] = (float)(((seed * 77 + r / 2) * 2654435761u >> (3 * i + 5 * k)) % 250);
        uint64_t hash = program_interpret(p, in, want);
        atomic_store(program_hash(p), 0);
        memset(got, 0xee, sizeof got);
        watchdog(HANG_S, NULL);
        dnnl_tp_status_t status =
            dnnl_tp_executable_run(e, stream[t], PROGRAM_INPUTS, pin, program_outputs(p), pout, NULL);
        const char *wrong = status != dnnl_tp_success              ? dnnl_tp_last_error()
                            : atomic_load(program_hash(p)) != hash ? "other operators ran"
                                                                   : NULL;
        for (int i = 0; !wrong && i < program_outputs(p); ++i)
            if (memcmp(got[i], want[i], sizeof want[i])) wrong = "an output is wrong";
        if (!wrong) continue;
        printf("seed %llu, flags %u, %d threads, run %d: %s\n", (unsigned long long)seed, flags, t, (int)r,
               wrong);
        good = false;
    }
    dnnl_tp_executable_destroy(e);
    return good;
}

int main(int argc, char **argv) {
    const int64_t runs = argc > 1 ? atoll(argv[1]) : 10000;
    const uint64_t first = argc > 2 ? (uint64_t)atoll(argv[2]) : 1;
    const int64_t seconds = argc > 3 ? atoll(argv[3]) : 1000000;
    const time_t begin = time(NULL);
    time_t said = begin;
    make_pools();
    uint64_t seed = first;
    for (time_t now = begin; done < runs && now - begin < seconds; now = time(NULL), ++seed) {
        static const unsigned flags[] = {0, DNNL_TP_COMPILE_NO_FUSION, DNNL_TP_COMPILE_NO_CLUSTERS};
        program_opts_t o = {.size = 4 + (int)(seed % 40),
                            .depth = (int)(seed % 4),
                            .window = (int)(seed % 5),
                            .functions = (int)(seed % 7 == 0) + (int)(seed % 14 == 0),
                            .primitives = (int)(seed % 3) * 40,
                            .spin = seed % 6 == 0 ? 300 : 0};
        program_t *p = program_create(seed, &o);
        for (unsigned f = 0; f < 3; ++f)
            if (!stress_executable(p, seed, flags[f],
                                   1 + (int)(((seed * 3 + f) * 2654435761u >> 16) % MAX_T)))
                return 1;
        program_destroy(p);
        if (now - said < 10) continue;
        said = now;
        printf("%lld runs of %llu programs in %lld s, no mismatch\n", (long long)done,
               (unsigned long long)(seed - first + 1), (long long)(now - begin));
        fflush(stdout);
    }
    printf("%lld runs of %llu programs, no mismatch; %lld forced preemptions\n", (long long)done,
           (unsigned long long)(seed - first), (long long)preempt_count());
    for (int t = 1; t <= MAX_T; ++t) {
        dnnl_tp_stream_destroy(stream[t]);
        dnnl_tp_stream_attr_destroy(attr[t]);
        dnnl_tp_threadpool_destroy(pool[t]);
    }
    dnnl_tp_engine_destroy(engine);
    return 0;
}
