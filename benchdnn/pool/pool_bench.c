/* Figures of the thread pools, each with median and 99th percentile.
 *
 *   pool_bench [--threads=N] [--seconds=S] [handoff] [contended] [clients] [overhead]     (default: all)
 *
 * - handoff: two 10 us tasks on two warm threads, beside the measured round trip of a cache line
 * - contended: the same loop beside one spinning process per CPU, against its serial time under that load
 * - clients: 1, 2, 4, 8 threads that each run ~2 ms runs of 45 small loops on one pool
 * - overhead: a loop of one chunk, an empty loop of two chunks, an empty run
 *
 * Prints only; nothing here passes or fails. */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/timing.h"
#include "threading/pools/builtin_pool.h"

enum { TASK_NS = 10000, MAX_SAMPLES = 200000, MAX_CLIENTS = 64, WARM_UP = 20 };

static double spins_per_ns;

/* Work that neither memory nor the compiler can change: n dependent multiplications. */
static double burn(int64_t n) {
    double x = 1.0;
    for (int64_t i = 0; i < n; ++i) x = x * 1.0000001 + 1e-9;
    return x;
}
static volatile double sink;
/* Waits for the work to be done: else a clock read after it is up to a reorder buffer (100 ns of such work)
 * early. */
static void finish(void) {
#if DTP_X64
    __builtin_ia32_lfence();
#endif
}
/* Keeps the result without a store that threads would share. */
static void work_ns(double ns) {
    double x = burn((int64_t)(ns * spins_per_ns));
    __asm__ volatile("" : : "g"(&x) : "memory");
    finish();
}

static void calibrate_work(void) {
    double best = 0;
    for (int i = 0; i < 20; ++i) {
        int64_t t0 = dtp_now_ns();
        sink = burn(200000);
        double rate = 200000.0 / (double)(dtp_now_ns() - t0);
        if (rate > best) best = rate;
    }
    spins_per_ns = best;
}

static double quantile(double *v, int n, double q) {
    if (n == 0) return 0;
    qsort(v, (size_t)n, sizeof(*v), bd_by_value);
    int i = (int)ceil(q * n) - 1;
    return v[i < 0 ? 0 : i];
}

/* Mean of the middle half. */
static double middle(double *v, int n) {
    double sum = 0;
    qsort(v, (size_t)n, sizeof(*v), bd_by_value);
    for (int i = n / 4; i < n - n / 4; ++i) sum += v[i];
    return n ? sum / (n - 2 * (n / 4)) : 0;
}

/* ---- Round trip -------------------------------------------------------------------------------------- */

static _Alignas(128) _Atomic uint32_t ball;
enum { TRIPS = 200, TRIP_GAP_NS = 1000 };
static void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    (void)!sched_setaffinity(0, sizeof(set), &set);
}
static void *ping(void *arg) {
    pin(*(int *)arg);
    for (uint32_t i = 1; i < 2 * TRIPS; i += 2) {
        while (atomic_load_explicit(&ball, memory_order_acquire) != i) dtp_pause();
        atomic_store_explicit(&ball, i + 1, memory_order_release);
    }
    return NULL;
}
/* One at a time, with some work before each, as hand-offs come; without the cost of reading the clock. */
static double round_trip_ns(const cpu_set_t *mask) {
    int cpus[2], n = 0;
    for (int i = 0; i < CPU_SETSIZE && n < 2; ++i)
        if (CPU_ISSET(i, mask)) cpus[n++] = i;
    if (n < 2) return NAN;
    double v[TRIPS], clock[TRIPS];
    pthread_t thread;
    atomic_store(&ball, 0);
    if (pthread_create(&thread, NULL, ping, &cpus[1])) return NAN;
    pin(cpus[0]);
    for (uint32_t i = 1; i < 2 * TRIPS; i += 2) {
        work_ns(TRIP_GAP_NS);
        int64_t t0 = dtp_ticks();
        atomic_store_explicit(&ball, i, memory_order_release);
        while (atomic_load_explicit(&ball, memory_order_acquire) != i + 1) dtp_pause();
        v[i / 2] = (double)(dtp_ticks() - t0);
        t0 = dtp_ticks();
        clock[i / 2] = (double)(dtp_ticks() - t0);
    }
    pthread_join(thread, NULL);
    (void)!sched_setaffinity(0, sizeof(*mask), mask);
    double ticks = middle(v, TRIPS) - middle(clock, TRIPS);
    return (double)dtp_ns_of_ticks((int64_t)(1000 * ticks)) / 1000;
}

/* ---- Loops ------------------------------------------------------------------------------------------- */

/* Ranges that each slot has run, a line of its own for each. */
static struct { _Alignas(128) int64_t ranges; } ran[DTP_MAX_THREADS];
static void loop_body(void *arg, int slot, int64_t begin, int64_t end) {
    (void)arg;
    ++ran[slot].ranges;
    for (int64_t i = begin; i < end; ++i) work_ns(TASK_NS);
}

/* Microseconds of a loop of n tasks, after a pause of gap_ns. */
static double timed_loop(const dtp_parallel_t *par, int n, double gap_ns) {
    if (gap_ns > 500000) usleep((useconds_t)(gap_ns / 1000));
    else if (gap_ns > 0) work_ns(gap_ns);
    finish(); /* of the look at the other thread's counter, which its line pays for */
    int64_t t0 = dtp_ticks();
    dtp_parallel_for(par, n, -TASK_NS, loop_body, NULL);
    return (double)dtp_ns_of_ticks(1000 * (dtp_ticks() - t0)) / 1e6;
}

static void loop_row(const char *name, dtp_pool_t *rec, int threads, double gap_ns, int count) {
    static double v[MAX_SAMPLES], shared[MAX_SAMPLES];
    dtp_parallel_t par = {.pool = rec, .num_threads = threads};
    int both = 0;
    for (int i = -WARM_UP; i < count; ++i) {
        int64_t alone = ran[1].ranges;
        double us = timed_loop(&par, 2, gap_ns);
        if (i < 0) continue;
        v[i] = us;
        if (ran[1].ranges != alone) shared[both++] = v[i];
    }
    printf("  %-34s median %8.2f us  p90 %8.2f  p99 %8.2f   both threads %5.1f %%", name,
           quantile(v, count, 0.5), quantile(v, count, 0.9), quantile(v, count, 0.99), 100.0 * both / count);
    if (both) printf(", then median %.2f", quantile(shared, both, 0.5));
    putchar('\n');
}

/* The pair, the same task alone (while the other thread waits for work) and the round trip take turns,
 * because all three change with the clock and with the CPUs that the system has put us on: a line took 50 and
 * 400 ns within a minute. What counts is the difference of neighbours, in round trips. */
enum { HANDOFF_ROUNDS = 60, HANDOFF_PER_ROUND = 60 };
static void handoff_row(const char *name, dtp_pool_t *rec, double gap_ns, const cpu_set_t *mask) {
    static double v[HANDOFF_ROUNDS * HANDOFF_PER_ROUND];
    double task[HANDOFF_ROUNDS], more[HANDOFF_ROUNDS], trip[HANDOFF_ROUNDS], trips[HANDOFF_ROUNDS];
    dtp_parallel_t alone = {.num_threads = 1}, par = {.pool = rec, .num_threads = 2};
    int rounds = 0, all = 0, both = 0;
    for (int r = 0; r < HANDOFF_ROUNDS; ++r) {
        double one[HANDOFF_PER_ROUND], difference[HANDOFF_PER_ROUND];
        int shared = 0;
        double before = round_trip_ns(mask);
        for (int i = -WARM_UP; i < HANDOFF_PER_ROUND; ++i) {
            timed_loop(&par, 2, 0);
            int64_t others = ran[1].ranges;
            double us = timed_loop(&par, 2, gap_ns), us_alone = timed_loop(&alone, 1, 0);
            if (i < 0) continue;
            v[all++] = us;
            if (ran[1].ranges == others) continue;
            one[shared] = us_alone;
            difference[shared++] = us - us_alone;
        }
        double after = round_trip_ns(mask);
        both += shared;
        if (shared < HANDOFF_PER_ROUND / 2 || after > 1.2 * before || before > 1.2 * after) continue;
        task[rounds] = middle(one, shared);
        more[rounds] = 1000 * middle(difference, shared);
        trip[rounds] = (before + after) / 2;
        trips[rounds] = more[rounds] / trip[rounds];
        ++rounds;
    }
    printf("  %-34s median %8.2f us  p90 %8.2f  p99 %8.2f   both threads %5.1f %%\n", name,
           quantile(v, all, 0.5), quantile(v, all, 0.9), quantile(v, all, 0.99), 100.0 * both / all);
    printf("    medians of %d steady blocks: one task %.2f us, round trip %.0f ns, the pair takes %.0f ns "
           "more than "
           "one task = %.2f round trips\n",
           rounds, quantile(task, rounds, 0.5), quantile(trip, rounds, 0.5), quantile(more, rounds, 0.5),
           quantile(trips, rounds, 0.5));
}

static void handoff(dtp_pool_t *rec, const cpu_set_t *mask) {
    int64_t wake_ns, trip_ns;
    dtp_calibrated(&wake_ns, &trip_ns);
    printf("handoff: two tasks of %d us; bar: one task + 1.5 round trips of a line (pool measured %lld ns, "
           "park + unpark %.1f us)\n",
           TASK_NS / 1000, (long long)trip_ns, (double)wake_ns / 1000);
    handoff_row("two threads, back to back", rec, 0, mask);
    handoff_row("two threads, after 5 us", rec, 5000, mask);
    loop_row("one thread", NULL, 1, 0, 2000);
    loop_row("two threads, after 50 us", rec, 2, 50000, 2000);
    loop_row("two threads, after 1 ms of sleep", rec, 2, 1e6, 500);
}

static void contended(dtp_pool_t *rec, const cpu_set_t *mask) {
    pid_t hogs[CPU_SETSIZE];
    int n = 0;
    fflush(stdout);
    for (int i = 0; i < CPU_SETSIZE; ++i) {
        if (!CPU_ISSET(i, mask)) continue;
        pid_t pid = fork();
        if (pid == 0) {
            pin(i);
            for (;;) sink = burn(1000000);
        }
        if (pid > 0) hogs[n++] = pid;
    }
    usleep(100000);
    printf("contended: beside %d spinning processes, one per CPU (bar: p99 <= 2x that of one thread)\n", n);
    for (int round = 0; round < 3; ++round) {
        loop_row("one thread", NULL, 1, 0, 20000);
        loop_row("two threads, back to back", rec, 2, 0, 20000);
    }
    for (int i = 0; i < n; ++i) {
        kill(hogs[i], SIGKILL);
        waitpid(hogs[i], NULL, 0);
    }
}

/* ---- Clients ----------------------------------------------------------------------------------------- */

enum { LOOPS = 45, ITEMS = 8 };
static const double ITEM_NS = 5000, SERIAL_NS = 500;

typedef struct {
    dtp_pool_t *rec;
    int threads;
    _Atomic bool *go, *stop;
    double *ms;
    int count;
} client_t;

static void item_body(void *arg, int slot, int64_t begin, int64_t end) {
    (void)arg, (void)slot;
    for (int64_t i = begin; i < end; ++i) work_ns(ITEM_NS);
}
static void run_body(void *arg, const dtp_parallel_t *par) {
    (void)arg;
    for (int l = 0; l < LOOPS; ++l) {
        dtp_parallel_for(par, ITEMS, dtp_grain(ITEM_NS), item_body, NULL);
        work_ns(SERIAL_NS);
    }
}
static void *client_main(void *arg) {
    client_t *c = arg;
    while (!atomic_load(c->go)) usleep(100);
    while (!atomic_load(c->stop) && c->count < MAX_SAMPLES) {
        int64_t t0 = dtp_now_ns();
        if (dtp_pool_run(c->rec, c->threads, true, run_body, NULL) != dnnl_tp_success) abort();
        c->ms[c->count++] = (double)(dtp_now_ns() - t0) / 1e6;
    }
    return NULL;
}
static double cpu_seconds(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static double client_row(dtp_pool_t *rec, int threads, int clients, double seconds, double base) {
    static client_t client[MAX_CLIENTS];
    static double all[MAX_SAMPLES];
    pthread_t thread[MAX_CLIENTS];
    _Atomic bool go = false, stop = false;
    for (int i = 0; i < clients; ++i) {
        client[i] = (client_t){rec, threads, &go, &stop, malloc(MAX_SAMPLES * sizeof(double)), 0};
        if (!client[i].ms || pthread_create(&thread[i], NULL, client_main, &client[i])) abort();
    }
    usleep(20000);
    double cpu0 = cpu_seconds();
    int64_t t0 = dtp_now_ns();
    atomic_store(&go, true);
    while ((double)(dtp_now_ns() - t0) < seconds * 1e9) usleep(10000);
    double wall = (double)(dtp_now_ns() - t0) / 1e9, cpu = cpu_seconds() - cpu0;
    atomic_store(&stop, true);
    int n = 0;
    for (int i = 0; i < clients; ++i) {
        pthread_join(thread[i], NULL);
        for (int k = 0; k < client[i].count && n < MAX_SAMPLES; ++k) all[n++] = client[i].ms[k];
        free(client[i].ms);
    }
    double rate = n / wall, fair = 1000.0 * clients / rate, p99 = quantile(all, n, 0.99);
    printf("  %d clients, %d threads: %7.1f runs/s (%.2fx)  median %6.2f ms  p99 %6.2f = %.2f x C/rate   CPU "
           "%.3f of %d x wall\n",
           clients, threads, rate, base > 0 ? rate / base : 1.0, quantile(all, n, 0.5), p99, p99 / fair,
           cpu / (threads * wall), threads);
    return rate;
}

static void clients(dtp_pool_t *rec, int threads, double seconds) {
    printf("clients: runs of %d loops of %d x %.0f us, each followed by %.1f us alone\n", LOOPS, ITEMS,
           ITEM_NS / 1000, SERIAL_NS / 1000);
    double base = client_row(NULL, 1, 1, seconds, 0);
    for (int c = 1; c <= 8; c *= 2) client_row(rec, threads, c, seconds, base);
}

/* ---- Overhead ---------------------------------------------------------------------------------------- */

static void nothing_body(void *arg, int slot, int64_t begin, int64_t end) {
    (void)arg, (void)slot, (void)begin;
    sink = (double)end;
}
static void nothing_run(void *arg, const dtp_parallel_t *par) {
    (void)arg, (void)par;
    sink = 0;
}
static void overhead(dtp_pool_t *rec, int threads) {
    enum { ROUNDS = 200, PER = 200 };
    static double one[ROUNDS], two[ROUNDS], run[ROUNDS];
    dtp_parallel_t par = {.pool = rec, .num_threads = threads};
    for (int r = 0; r < ROUNDS; ++r) {
        int64_t t0 = dtp_ticks();
        for (int i = 0; i < PER; ++i) dtp_parallel_for(&par, 100, 1000, nothing_body, NULL);
        int64_t t1 = dtp_ticks();
        for (int i = 0; i < PER; ++i) dtp_parallel_for(&par, 2, -TASK_NS, nothing_body, NULL);
        int64_t t2 = dtp_ticks();
        for (int i = 0; i < PER; ++i)
            if (dtp_pool_run(rec, threads, true, nothing_run, NULL) != dnnl_tp_success) abort();
        int64_t t3 = dtp_ticks();
        one[r] = (double)dtp_ns_of_ticks(1000 * (t1 - t0)) / 1000 / PER;
        two[r] = (double)dtp_ns_of_ticks(1000 * (t2 - t1)) / 1000 / PER;
        run[r] = (double)dtp_ns_of_ticks(1000 * (t3 - t2)) / 1000 / PER;
    }
    printf("overhead, median of %d rounds: loop below its grain %.1f ns, empty loop of two chunks %.0f ns, "
           "empty run %.0f ns\n",
           ROUNDS, quantile(one, ROUNDS, 0.5), quantile(two, ROUNDS, 0.5), quantile(run, ROUNDS, 0.5));
}

int main(int argc, char **argv) {
    int threads = 2;
    double seconds = 2;
    unsigned what = 0;
    static const char *const names[] = {"handoff", "contended", "clients", "overhead"};
    for (int i = 1; i < argc; ++i) {
        if (sscanf(argv[i], "--threads=%d", &threads) == 1 || sscanf(argv[i], "--seconds=%lf", &seconds) == 1)
            continue;
        unsigned found = 0;
        for (unsigned k = 0; k < 4; ++k)
            if (strcmp(argv[i], names[k]) == 0) found = 1u << k;
        if (!found) {
            fprintf(
                stderr,
                "usage: pool_bench [--threads=N] [--seconds=S] [handoff] [contended] [clients] [overhead]\n");
            return 2;
        }
        what |= found;
    }
    if (!what) what = 15;
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof(mask), &mask)) return 1;
    dnnl_tp_threadpool_t pool;
    dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof(opts), .num_threads = threads};
    if (dnnl_tp_threadpool_create(&pool, &opts) != dnnl_tp_success) {
        fprintf(stderr, "%s\n", dnnl_tp_last_error());
        return 1;
    }
    calibrate_work();
    if (what & 1) handoff(pool->rec, &mask);
    if (what & 2) contended(pool->rec, &mask);
    if (what & 4) clients(pool->rec, threads, seconds);
    if (what & 8) overhead(pool->rec, threads);
    dnnl_tp_threadpool_destroy(pool);
    return 0;
}
