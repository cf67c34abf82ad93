/* A host that leaves some of its workers idle: how much faster one inference becomes by them, and what the
 * host's own tasks lose meanwhile.
 *
 *   idle_host [HOST...] [--threads=W] [--seconds=S]       (default: tbb, 2 threads, 2 s for each row)
 *
 * The host keeps `busy` of its W - 1 workers at work with chains of tasks (each enqueues the next); the rest
 * idle. A thread outside computes one inference after another (loops with a little serial work between them),
 * first alone, then on the host's pool, in alternating blocks. Bars: speed-up >= 0.9 x (1 + idle), host's
 * tasks per second >= 0.98 x those beside the inference that runs alone. Prints only. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hosts/hosts.h"
#include "pool/work.h"
#include "threading/base/futex.h"
#include "threading/streams/stream_attr.h"

enum { LOOPS = 40, ITEMS = 64, BLOCK_MS = 100, MAX_CHAINS = 64, MAX_RUNS = 1 << 16 };
static const double ITEM_NS = 4000, SERIAL_NS = 1000, TASK_NS = 200000;

typedef struct {
    const dnnl_tp_threadpool_iface_t *iface;
    _Atomic int *stop, *left;
    _Alignas(128) _Atomic int64_t tasks;
} chain_t;

static void chain_task(void *arg) {
    chain_t *c = arg;
    if (!atomic_load_explicit(c->stop, memory_order_relaxed)) {
        work_ns(TASK_NS);
        atomic_fetch_add_explicit(&c->tasks, 1, memory_order_relaxed);
        if (c->iface->schedule(c->iface->ctx, NULL, chain_task, c) == 0) return;
    }
    atomic_fetch_sub(c->left, 1);
}

static void item(void *arg, int slot, int64_t begin, int64_t end) {
    (void)arg, (void)slot;
    work_ns((double)(end - begin) * ITEM_NS);
}
static void inference(void *arg, const dtp_parallel_t *par) {
    (void)arg;
    for (int i = 0; i < LOOPS; ++i) {
        dtp_parallel_for(par, ITEMS, dtp_grain(ITEM_NS), item, NULL);
        work_ns(SERIAL_NS);
    }
}

typedef struct {
    double *ms;
    int runs;
    double seconds, tasks;
} side_t;

static int64_t tasks_of(const chain_t *chains, int n) {
    int64_t sum = 0;
    for (int i = 0; i < n; ++i) sum += atomic_load_explicit(&chains[i].tasks, memory_order_relaxed);
    return sum;
}

static void block(side_t *side, dtp_pool_t *rec, int threads, const chain_t *chains, int busy) {
    int64_t t0 = dtp_now_ns(), tasks0 = tasks_of(chains, busy), begin = t0, now;
    do {
        if (dtp_pool_run(rec, threads, true, inference, NULL) != dnnl_tp_success) abort();
        now = dtp_now_ns();
        if (side->runs < MAX_RUNS) side->ms[side->runs++] = (double)(now - begin) * 1e-6;
        begin = now;
    } while (now < t0 + BLOCK_MS * (int64_t)1000000);
    side->seconds += (double)(now - t0) * 1e-9;
    side->tasks += (double)(tasks_of(chains, busy) - tasks0);
}

static void row(const host_t *host, int threads, int busy, double seconds) {
    static chain_t chains[MAX_CHAINS];
    void *pool = host->create(threads);
    _Atomic int stop = 0, left = busy;
    dnnl_tp_stream_attr_t attr;
    dtp_pool_t *rec;
    if (!pool || dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu) ||
        dnnl_tp_stream_attr_set_threadpool(attr, host->iface(pool)) || dtp_pool_acquire(&rec, attr))
        abort();
    dnnl_tp_stream_attr_destroy(attr);
    side_t side[2] = {{.runs = 0}, {.runs = 0}}; /* alone, on the pool */
    for (int k = 0; k < 2; ++k)
        if (!(side[k].ms = malloc(MAX_RUNS * sizeof(double)))) abort();
    for (int i = 0; i < busy; ++i) {
        chains[i].iface = host->iface(pool);
        chains[i].stop = &stop;
        chains[i].left = &left;
        atomic_store(&chains[i].tasks, 0);
        if (chains[i].iface->schedule(chains[i].iface->ctx, NULL, chain_task, &chains[i])) abort();
    }
    usleep(50000);
    for (int64_t end = dtp_now_ns() + (int64_t)(seconds * 1e9); dtp_now_ns() < end;)
        for (int k = 0; k < 2; ++k) block(&side[k], k ? rec : NULL, k ? threads : 1, chains, busy);
    atomic_store(&stop, 1);
    while (atomic_load(&left)) usleep(100);
    dtp_pool_release(rec);
    if (dnnl_tp_threadpool_quiesce(host->iface(pool), -1)) abort();
    host->destroy(pool);
    double alone = work_quantile(side[0].ms, side[0].runs, 0.5),
           with = work_quantile(side[1].ms, side[1].runs, 0.5);
    int idle = threads - 1 - busy;
    printf("%-12s %4d %4d %9.2f %9.2f %8.2f = %.2f x (1 + idle)", host->name, busy, idle, alone, with,
           alone / with, alone / with / (1 + idle));
    double rate = side[0].tasks / side[0].seconds;
    if (busy)
        printf("   host's tasks/s %8.0f %8.0f = %.3f", rate, side[1].tasks / side[1].seconds,
               side[1].tasks / side[1].seconds / rate);
    putchar('\n');
    fflush(stdout);
    for (int k = 0; k < 2; ++k) free(side[k].ms);
}

int main(int argc, char **argv) {
    int threads = 2, named = 0;
    double seconds = 2;
    for (int i = 1; i < argc; ++i) {
        if (!strncmp(argv[i], "--threads=", 10)) threads = atoi(argv[i] + 10);
        else if (!strncmp(argv[i], "--seconds=", 10)) seconds = atof(argv[i] + 10);
        else if (!host_by_name(argv[i])) return fprintf(stderr, "idle_host: no host '%s'\n", argv[i]), 2;
        else ++named;
    }
    if (threads < 1 || threads > MAX_CHAINS) return fprintf(stderr, "idle_host: %d threads\n", threads), 2;
    work_calibrate();
    printf("%-12s %4s %4s %9s %9s %8s\n", "host", "busy", "idle", "alone ms", "pool ms", "speed-up");
    for (const host_t *const *h = hosts; *h; ++h) {
        int wanted = !named && !strcmp((*h)->name, "tbb");
        for (int i = 1; i < argc; ++i) wanted |= !strcmp(argv[i], (*h)->name);
        if (!wanted) continue;
        if (!strcmp((*h)->name, "openmp")) {
            puts("openmp: a team has no workers that idle beside tasks of the program");
            continue;
        }
        for (int busy = 0; busy < threads; ++busy) row(*h, threads, busy, seconds);
    }
    return 0;
}
