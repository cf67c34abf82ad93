/* Random structured programs on 1 to 8 threads with forced preemption, compared with a sequential
 * interpreter.
 *
 * dataflow_stress [runs [first seed [seconds]]]: a line every 10 seconds; exit status 0, or 1 and the seed. Built
 * once as it is and once per negative control (DTP_BREAK_*): --broken succeeds when the runs mismatch, crash
 * or hang, which proves that the test can fail. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dnnl_tp/dnnl_tp_threadpool.h"
#include "support/dataflow_program.h"
#include "support/preempt.h"
#include "support/watchdog.h"
#include "threading/streams/stream_attr.h"

enum { MAX_T = 8, RUNS_PER_PROGRAM = 20, HANG_S = 60, BROKEN_HANG_S = 10, MOST_CHILDREN = 40 };

typedef struct {
    dataflow_program_t *program;
    const char *wrong;
    int64_t failing; /* >= 0: the operator that fails */
    bool cancel;
} job_t;

static void body(void *arg, const dtp_parallel_t *par) {
    job_t *j = arg;
    if (j->failing) j->wrong = dataflow_program_run_failing(j->program, par, j->failing, j->cancel);
    else j->wrong = dataflow_program_run(j->program, par);
}

static int stress(int64_t runs, unsigned seed, int64_t seconds, int hang_s) {
    dtp_pool_t *pool[MAX_T + 1] = {NULL};
    dnnl_tp_threadpool_t tp[MAX_T + 1];
    for (int t = 2; t <= MAX_T; ++t) {
        dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof opts, .num_threads = t};
        dnnl_tp_stream_attr_t attr = NULL;
        if (dnnl_tp_threadpool_create(&tp[t], &opts) || dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu) ||
            dnnl_tp_stream_attr_set_builtin_threadpool(attr, tp[t]) || dtp_pool_acquire(&pool[t], attr))
            abort();
        dnnl_tp_stream_attr_destroy(attr);
    }
    int64_t done = 0, ops = 0, iterations = 0, ifs = 0, calls = 0, stolen = 0;
    const int64_t begin = dtp_now_ns(), until = begin + seconds * 1000000000;
    int64_t said = begin;
    for (; done < runs && dtp_now_ns() < until; ++seed) {
        dataflow_program_opts_t o = {.seed = seed,
                                     .budget = 10 + (int)(seed * 7 % 190),
                                     .depth = (int)(seed % 5),
                                     .calls = seed % 3 == 0,
                                     .effects = seed % 5 == 0,
                                     .costly = seed % 4 == 0 ? 20 : 0,
                                     .flags = seed % 4 < 2 ? DTP_DATAFLOW_LEARN : 0,
                                     .pending = seed % 3 == 1 ? 1 + (int)(seed * 11 % 40) : 0,
                                     .rests = seed % 9 != 4,
                                     .ns = seed % 6 == 1 ? 40 : 3000,
                                     .spin = seed % 2 ? 50 : 0,
                                     .max_threads = MAX_T};
        int t = 1 + (int)(seed * 2654435761u >> 16) % MAX_T;
        job_t j = {.program = dataflow_program_create(&o)};
        int64_t a, b, c, size = dataflow_program_ops(j.program);
        dataflow_program_counts(j.program, &a, &b, &c);
        int n = size > 20000 ? 1 : RUNS_PER_PROGRAM;
        for (int i = 0; i < n + 2; ++i) {
            j.failing = i < n ? 0 : 1 + (int64_t)(seed % (size + 1));
            j.cancel = i == n;
            watchdog(hang_s, NULL);
            if (dtp_pool_run_share(pool[t], t, seed % 7 ? DTP_RUN_ADMITTED : 0, 0,
                                   dataflow_program_share(j.program), body, &j))
                j.wrong = "the pool refused"; /* pool[1]: none */
            if (j.wrong) {
                printf("seed %u, %d threads, run %d: %s\n", seed, t, i, j.wrong);
                return 1;
            }
            stolen += (int64_t)dataflow_program_result(j.program)->stolen;
            ops += size, ifs += a, iterations += b, calls += c;
            ++done;
        }
        dataflow_program_destroy(j.program);
        const int64_t now = dtp_now_ns();
        if (now - said < 10000000000) continue;
        said = now;
        printf("%lld runs in %lld s, no mismatch\n", (long long)done, (long long)(now - begin) / 1000000000);
        fflush(stdout);
    }
    printf("%lld runs: %lld operators, %lld Ifs, %lld iterations, %lld calls; %lld tasks changed hands\n",
           (long long)done, (long long)ops, (long long)ifs, (long long)iterations, (long long)calls,
           (long long)stolen);
    for (int t = 2; t <= MAX_T; ++t) {
        dtp_pool_release(pool[t]);
        dnnl_tp_threadpool_destroy(tp[t]);
    }
    return stolen > 0 ? 0 : 1;
}

int main(int argc, char **argv) {
    bool broken = argc > 1 && !strcmp(argv[1], "--broken");
    if (broken) --argc, ++argv;
    int64_t runs = argc > 1 ? atoll(argv[1]) : 20000;
    unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    int64_t seconds = argc > 3 ? atoll(argv[3]) : 1000000;
    if (!broken) return stress(runs, seed, seconds, HANG_S);
    /* Every other child finds the rarest of them within its seconds. */
    for (int i = 0; i < MOST_CHILDREN; ++i) {
        fflush(stdout);
        pid_t child = fork();
        if (child < 0) return 2;
        if (child == 0) _exit(stress(runs, seed + 100000u * (unsigned)i, seconds, BROKEN_HANG_S));
        int status = 0;
        if (waitpid(child, &status, 0) != child) return 2;
        if (!WIFEXITED(status) || WEXITSTATUS(status)) {
            printf("caught (%s %d)\n", WIFEXITED(status) ? "exit" : "signal",
                   WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
            return 0;
        }
    }
    printf("not caught\n");
    return 1;
}
