/* Clocks, the interleaved timing of several cases, counting of allocations. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined __x86_64__
#include <x86intrin.h>
#endif

#include "exec_bench.h"

int64_t eb_ticks(void) {
#if defined __x86_64__
    return (int64_t)__rdtsc();
#else
    return bd_now_ns();
#endif
}

int64_t eb_ticks_of_ns(double ns) {
    enum { CALIBRATION_NS = 20000000 };
    static double per_ns;
    if (per_ns == 0) {
        int64_t t0 = bd_now_ns(), k0 = eb_ticks(), t;
        while ((t = bd_now_ns()) - t0 < CALIBRATION_NS)
            ;
        per_ns = (double)(eb_ticks() - k0) / (double)(t - t0);
    }
    return (int64_t)(ns * per_ns);
}

/* ---- Allocations: the C library's functions are replaced by ones that count while asked to ----------- */

#if defined __GLIBC__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
static atomic_bool counting;
static atomic_long allocations, bytes;
static void count(size_t n) {
    if (!atomic_load_explicit(&counting, memory_order_relaxed)) return;
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&bytes, (long)n, memory_order_relaxed);
}
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);
void *malloc(size_t n) {
    count(n);
    return __libc_malloc(n);
}
void *calloc(size_t n, size_t size) {
    count(n * size);
    return __libc_calloc(n, size);
}
void *realloc(void *p, size_t n) {
    count(n);
    return __libc_realloc(p, n);
}
void *aligned_alloc(size_t align, size_t n) {
    count(n);
    return __libc_memalign(align, n);
}
void *memalign(size_t align, size_t n);
void *memalign(size_t align, size_t n) {
    count(n);
    return __libc_memalign(align, n);
}
int posix_memalign(void **p, size_t align, size_t n) {
    count(n);
    *p = __libc_memalign(align, n);
    return *p ? 0 : 12; /* ENOMEM */
}
long eb_allocations(void) { return atomic_load(&allocations); }
long eb_allocated_bytes(void) { return atomic_load(&bytes); }
void eb_count_allocations(bool on) { atomic_store(&counting, on); }
#else
long eb_allocations(void) { return -1; }
long eb_allocated_bytes(void) { return 0; }
void eb_count_allocations(bool on) { (void)on; }
#endif

/* ---- Blocks ------------------------------------------------------------------------------------------ */

enum { MAX_BATCHES = 4096, MIN_BATCHES = 3, MAX_ROUNDS = 101, MAX_CASES = 16 };

/* Median time of a run, of batches long enough for the clock; the first ones are dropped. */
static double block(const eb_case_t *c, long batch) {
    static double v[MAX_BATCHES];
    int n = 0;
    const double warm_ns = eb.block_ms * 1e5;
    int64_t t = bd_now_ns(), end = t + (int64_t)warm_ns;
    do c->run(c->arg);
    while (bd_now_ns() < end);
    end = bd_now_ns() + (int64_t)(eb.block_ms * 1e6);
    while (n < MAX_BATCHES && (n < MIN_BATCHES || t < end)) {
        int64_t t0 = bd_now_ns();
        for (long i = 0; i < batch; ++i) c->run(c->arg);
        t = bd_now_ns();
        v[n++] = (double)(t - t0) / (double)batch;
    }
    return bd_median(v, n);
}

void eb_measure(eb_case_t *cases, int n) {
    enum { BATCH_NS = 30000, COUNTED_RUNS = 5 };
    static double v[MAX_CASES][MAX_ROUNDS];
    long batch[MAX_CASES];
    for (int i = 0; i < n; ++i) {
        eb_case_t *c = &cases[i];
        int64_t best = INT64_MAX;
        for (int k = 0; k < COUNTED_RUNS; ++k) {
            int64_t t = bd_now_ns();
            c->run(c->arg);
            t = bd_now_ns() - t;
            if (t < best) best = t;
        }
        batch[i] = best < BATCH_NS ? BATCH_NS / (best > 0 ? best : 1) + 1 : 1;
        long before = eb_allocations();
        eb_count_allocations(true);
        for (int k = 0; k < COUNTED_RUNS; ++k) c->run(c->arg);
        eb_count_allocations(false);
        c->allocs = before < 0 ? -1 : (double)(eb_allocations() - before) / COUNTED_RUNS;
        if (c->rest) c->rest();
    }
    for (int r = 0; r < eb.rounds; ++r)
        for (int i = 0; i < n; ++i) {
            (void)bd_wait_quiet();
            v[i][r] = block(&cases[i], batch[i]);
            if (cases[i].rest) cases[i].rest();
        }
    for (int i = 0; i < n; ++i) {
        cases[i].ns = bd_median(v[i], eb.rounds); /* sorts */
        cases[i].lo = v[i][0];
        cases[i].hi = v[i][eb.rounds - 1];
    }
}
