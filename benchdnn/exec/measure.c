/* Clocks, the interleaved timing of several cases, counting of allocations. */
#include <ctype.h>
#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if defined __x86_64__
#include <x86intrin.h>
#endif

#include "exec_bench.h"

int64_t eb_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t eb_ticks(void) {
#if defined __x86_64__
    return (int64_t)__rdtsc();
#else
    return eb_now_ns();
#endif
}

int64_t eb_ticks_of_ns(double ns) {
    enum { CALIBRATION_NS = 20000000 };
    static double per_ns;
    if (per_ns == 0) {
        int64_t t0 = eb_now_ns(), k0 = eb_ticks(), t;
        while ((t = eb_now_ns()) - t0 < CALIBRATION_NS)
            ;
        per_ns = (double)(eb_ticks() - k0) / (double)(t - t0);
    }
    return (int64_t)(ns * per_ns);
}

/* ---- Allocations: the C library's functions are replaced by ones that count while asked to --------- */

#if defined __GLIBC__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
static atomic_bool counting;
static atomic_long allocations;
static void count(void) {
    if (atomic_load_explicit(&counting, memory_order_relaxed))
        atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
}
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);
void *malloc(size_t n) {
    count();
    return __libc_malloc(n);
}
void *calloc(size_t n, size_t size) {
    count();
    return __libc_calloc(n, size);
}
void *realloc(void *p, size_t n) {
    count();
    return __libc_realloc(p, n);
}
void *aligned_alloc(size_t align, size_t n) {
    count();
    return __libc_memalign(align, n);
}
void *memalign(size_t align, size_t n);
void *memalign(size_t align, size_t n) {
    count();
    return __libc_memalign(align, n);
}
int posix_memalign(void **p, size_t align, size_t n) {
    count();
    *p = __libc_memalign(align, n);
    return *p ? 0 : 12; /* ENOMEM */
}
long eb_allocations(void) { return atomic_load(&allocations); }
void eb_count_allocations(bool on) { atomic_store(&counting, on); }
#else
long eb_allocations(void) { return -1; }
void eb_count_allocations(bool on) { (void)on; }
#endif

/* ---- Blocks ---------------------------------------------------------------------------------------- */

static bool others_sleep(void) {
    DIR *d = opendir("/proc/self/task");
    if (!d) return true;
    long self = syscall(SYS_gettid);
    bool quiet = true;
    for (struct dirent *e; quiet && (e = readdir(d));) {
        if (!isdigit((unsigned char)e->d_name[0]) || atol(e->d_name) == self) continue;
        char path[64], line[512];
        snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", e->d_name);
        FILE *f = fopen(path, "r");
        if (!f) continue; /* it has just ended */
        if (fgets(line, sizeof line, f)) {
            const char *s = strrchr(line, ')');
            quiet = !s || strlen(s) < 3 || s[2] != 'R';
        }
        fclose(f);
    }
    closedir(d);
    return quiet;
}

/* Waits until no thread but the caller's is runnable, a second at most. */
static void wait_quiet(void) {
    enum { TWICE = 2, PAUSE_NS = 50000, LIMIT_NS = 1000000000 };
    int64_t end = eb_now_ns() + LIMIT_NS;
    for (int seen = 0; seen < TWICE && eb_now_ns() < end;) {
        seen = others_sleep() ? seen + 1 : 0;
        if (seen < TWICE) nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
    }
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static double median(double *v, int n) {
    qsort(v, (size_t)n, sizeof *v, by_value);
    return n & 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

enum { MAX_BATCHES = 4096, MIN_BATCHES = 3, MAX_ROUNDS = 101, MAX_CASES = 16 };

/* Median time of a run, of batches long enough for the clock; the first ones are dropped. */
static double block(const eb_case_t *c, long batch) {
    static double v[MAX_BATCHES];
    int n = 0;
    const double warm_ns = eb.block_ms * 1e5;
    int64_t t = eb_now_ns(), end = t + (int64_t)warm_ns;
    do c->run(c->arg);
    while (eb_now_ns() < end);
    end = eb_now_ns() + (int64_t)(eb.block_ms * 1e6);
    while (n < MAX_BATCHES && (n < MIN_BATCHES || t < end)) {
        int64_t t0 = eb_now_ns();
        for (long i = 0; i < batch; ++i) c->run(c->arg);
        t = eb_now_ns();
        v[n++] = (double)(t - t0) / (double)batch;
    }
    return median(v, n);
}

void eb_measure(eb_case_t *cases, int n) {
    enum { BATCH_NS = 30000, COUNTED_RUNS = 5 };
    static double v[MAX_CASES][MAX_ROUNDS];
    long batch[MAX_CASES];
    for (int i = 0; i < n; ++i) {
        eb_case_t *c = &cases[i];
        int64_t best = INT64_MAX;
        for (int k = 0; k < COUNTED_RUNS; ++k) {
            int64_t t = eb_now_ns();
            c->run(c->arg);
            t = eb_now_ns() - t;
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
            wait_quiet();
            v[i][r] = block(&cases[i], batch[i]);
            if (cases[i].rest) cases[i].rest();
        }
    for (int i = 0; i < n; ++i) {
        cases[i].ns = median(v[i], eb.rounds); /* sorts */
        cases[i].lo = v[i][0];
        cases[i].hi = v[i][eb.rounds - 1];
    }
}
