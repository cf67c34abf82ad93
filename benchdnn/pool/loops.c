/* Loops through the library on a pool, beside the loops that the pool's own users write: measuring and
 * printing. See loops.h. */
#include "pool/loops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/timing.h"
#include "pool/work.h"
#include "threading/base/futex.h"
#include "threading/streams/stream_attr.h"
#include "threading/pools/record.h"

enum { ITERATIONS = 64, BLOCK = 16, MAX_SAMPLES = 1 << 16, WAYS = 4 };
static const char *const ways[WAYS] = {"one thread", "host", "loop", "in a run"};

static double item_ns;
static void work(void *arg, int64_t begin, int64_t end) {
    (void)arg;
    work_ns((double)(end - begin) * item_ns);
}
static void body(void *arg, int slot, int64_t begin, int64_t end) {
    (void)slot;
    work(arg, begin, end);
}

typedef struct {
    const loops_host_t *host;
    dtp_parallel_t par;
    int64_t budget_ns;
    double sample[WAYS][MAX_SAMPLES];
    int count[WAYS];
} cell_t;

static void one(cell_t *c, int way, const dtp_parallel_t *par) {
    int64_t t0 = dtp_ticks();
    if (way == 0) work(NULL, 0, ITERATIONS);
    else if (way == 1) c->host->loop(c->host->pool, ITERATIONS, item_ns, work, NULL);
    else dtp_parallel_for(par, ITERATIONS, dtp_grain(item_ns), body, NULL);
    int64_t t = dtp_ticks() - t0;
    if (c->count[way] < MAX_SAMPLES)
        c->sample[way][c->count[way]++] = (double)dtp_ns_of_ticks(t * 1000) / 1000;
}
static void block_in_run(void *arg, const dtp_parallel_t *par) {
    for (int i = 0; i < BLOCK; ++i) one(arg, 3, par);
}
static void measure(cell_t *c) {
    memset(c->count, 0, sizeof c->count);
    for (int64_t end = dtp_now_ns() + c->budget_ns; dtp_now_ns() < end;)
        for (int way = 0; way < WAYS; ++way) {
            if (way == 3) {
                if (dtp_pool_run(c->par.pool, c->par.num_threads, true, block_in_run, c)) abort();
                continue;
            }
            for (int i = 0; i < BLOCK; ++i) one(c, way, &c->par);
        }
}

dnnl_tp_status_t loops_table(const loops_host_t *host, int threads, int ms) {
    static const double sizes_us[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000};
    static cell_t c;
    c.host = host;
    c.budget_ns = (int64_t)ms * 1000000;
    work_calibrate();
    dnnl_tp_stream_attr_t attr;
    dtp_pool_t *rec;
    dnnl_tp_status_t s = dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu);
    if (s) return s;
    s = dnnl_tp_stream_attr_set_threadpool(attr, host->iface);
    if (!s) s = dtp_pool_acquire(&rec, attr);
    dnnl_tp_stream_attr_destroy(attr);
    if (s) return s;
    c.par = (dtp_parallel_t){.pool = rec, .num_threads = threads};
    printf("%s, %d threads\n%8s", host->name, threads, "us");
    for (int way = 0; way < WAYS; ++way) printf(" %11s", ways[way]);
    printf(" %9s %9s\n", "loop/host", "run/host");
    for (size_t i = 0; i < sizeof sizes_us / sizeof *sizes_us; ++i) {
        item_ns = sizes_us[i] * 1000 / ITERATIONS;
        measure(&c); /* warm */
        measure(&c);
        double m[WAYS];
        printf("%8.0f", sizes_us[i]);
        for (int way = 0; way < WAYS; ++way)
            printf(" %11.2f", m[way] = bd_median(c.sample[way], c.count[way]) / 1000);
        printf(" %9.3f %9.3f\n", m[1] / m[2], m[1] / m[3]);
        fflush(stdout);
    }
    dtp_pool_release(rec);
    return dnnl_tp_success;
}
