/* dnnl_tp_pool_check: does a pool keep its promises? Runs each test on a thread of its own and watches it, so
 * that a pool that blocks for ever is reported and not waited for. What is lost or stuck is left as it is:
 * memory that the pool may still touch is never freed. The tests are in pool_check_tests.c. */
#include "threading/check/pool_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "threading/check/runnable.h"

/* The status, with the text of dnnl_tp_last_error(). */
static dnnl_tp_status_t refuse(dnnl_tp_status_t status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static dnnl_tp_status_t refuse(dnnl_tp_status_t status, const char *format, ...) {
    char text[256] = "dnnl_tp_pool_check: ";
    const size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, sizeof text - used, format, args);
    va_end(args);
    return dnnl_tp_fail(status, text);
}

#if DTP_CHECK_HAS_THREADS

dtp_batch_t *dtp_check_batches;
pthread_mutex_t dtp_check_batches_lock = PTHREAD_MUTEX_INITIALIZER;

void dtp_check_sleep(int64_t ns) {
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    nanosleep(&t, NULL);
}

void dtp_check_say(dtp_check_t *c, const char *kind, const char *name, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    pthread_mutex_lock(&c->lock);
    size_t room = sizeof(c->text) - c->used;
    int n = snprintf(c->text + c->used, room, "%s: %s: ", kind, name);
    if (n > 0 && (size_t)n < room) {
        int m = vsnprintf(c->text + c->used + n, room - (size_t)n, fmt, args);
        size_t all = (size_t)n + (size_t)(m > 0 ? m : 0) + 1;
        if (m > 0 && all < room) {
            c->used += all;
            memcpy(c->text + c->used - 1, "\n", 2);
        }
    }
    c->text[c->used] = 0; /* a line that does not fit is left out whole */
    pthread_mutex_unlock(&c->lock);
    va_end(args);
}

dtp_batch_t *dtp_check_batch(dtp_check_t *c, int n, int work_ns) {
    size_t bytes = sizeof(dtp_batch_t) + (size_t)n * sizeof(struct dtp_check_node);
    dtp_batch_t *b = calloc(1, bytes);
    if (!b) {
        dtp_check_note(c, "memory", "out of memory; tests were left out");
        return NULL;
    }
    b->check = c;
    b->n = n;
    b->work_ns = work_ns;
    for (int i = 0; i < n; ++i) b->node[i].batch = b;
    pthread_mutex_lock(&dtp_check_batches_lock);
    b->next = dtp_check_batches;
    dtp_check_batches = b;
    pthread_mutex_unlock(&dtp_check_batches_lock);
    return b;
}

/* Slices and not a deadline: time in which the whole process was stopped does not count against the pool. Nor
 * do slices at whose end another thread of the process runs or waits for a CPU: it may be the one that comes
 * (a worker of oneTBB yields a hundred times before it leaves one arena for another, seconds on a busy
 * machine). A pool that spins for ever runs out of the longer patience. */
typedef struct {
    uint32_t seen;
    int idle, any; /* slices in a row without progress: with nobody about to run, all */
} patience_t;

static bool is_exhausted(patience_t *p, dtp_check_t *c, int slices) {
    enum { WHILE_RUNNING = 12 };
    uint32_t now = atomic_load(&c->progress);
    if (now != p->seen) *p = (patience_t){.seen = now};
    else if (++p->any, dtp_runnable_threads() <= 0) ++p->idle;
    return p->idle >= slices || p->any >= WHILE_RUNNING * slices;
}

bool dtp_check_settle(dtp_check_t *c, _Atomic int *counter, int target) {
    patience_t patience = {.seen = atomic_load(&c->progress)};
    do
        for (int64_t until = dtp_now_ns() + DTP_CHECK_SLICE_NS; dtp_now_ns() < until;) {
            if (atomic_load(counter) >= target) return true;
            dtp_check_sleep(200000);
        }
    while (!is_exhausted(&patience, c, DTP_CHECK_PATIENCE));
    return atomic_load(counter) >= target;
}

/* ---- Driving the tests ------------------------------------------------------------------------------- */

typedef struct {
    unsigned bit;
    void (*run)(dtp_check_t *);
} test_t;

typedef struct {
    dtp_check_t *check;
    void (*run)(dtp_check_t *);
} driver_t;

static void *drive(void *arg) {
    driver_t d = *(driver_t *)arg;
    free(arg);
    d.run(d.check);
    atomic_store(&d.check->finished, 1);
    dtp_futex_wake(&d.check->finished, 1);
    return NULL;
}

/* false: the test hangs, or could not be started; the check ends. */
static bool run_watched(dtp_check_t *c, void (*run)(dtp_check_t *)) {
    enum { MORE_PATIENCE = 2 * DTP_CHECK_PATIENCE }; /* the tests' own waits end earlier */
    driver_t *d = malloc(sizeof(*d));
    pthread_t thread;
    if (d) *d = (driver_t){c, run};
    atomic_store(&c->finished, 0);
    dtp_check_phase(c, "hang", "");
    if (!d || pthread_create(&thread, NULL, drive, d)) {
        free(d);
        dtp_check_note(c, "memory", "a thread could not be started; tests were left out");
        return false;
    }
    patience_t patience = {.seen = atomic_load(&c->progress)};
    while (!atomic_load(&c->finished)) {
        dtp_futex_wait(&c->finished, 0, DTP_CHECK_SLICE_NS);
        if (atomic_load(&c->finished) || !is_exhausted(&patience, c, MORE_PATIENCE)) continue;
        dtp_check_violation(c, c->phase, "a call did not come back for %d s; reproduce: %s",
                            (int)((int64_t)MORE_PATIENCE * DTP_CHECK_SLICE_NS / 1000000000), c->how);
        pthread_detach(thread);
        return false;
    }
    pthread_join(thread, NULL);
    return true;
}

/* Checks that nothing of the pool is called for. */
static bool check_members(dtp_check_t *c, const dnnl_tp_threadpool_iface_t *pool) {
    size_t least = offsetof(dnnl_tp_threadpool_iface_t, wait);
    if (pool->struct_size < least) {
        dtp_check_violation(c, "struct_size", "struct_size is %zu, at least %zu is needed; set it to sizeof",
                            pool->struct_size, least);
        return false;
    }
    memcpy(&c->iface, pool, pool->struct_size < sizeof(c->iface) ? pool->struct_size : sizeof(c->iface));
    c->iface.struct_size = sizeof(c->iface);
    c->iface.release = NULL; /* the host's: this check keeps nothing */
    const dnnl_tp_threadpool_iface_t *p = &c->iface;
    if (!p->schedule && !p->parallel_for) {
        dtp_check_violation(c, "members", "neither schedule nor parallel_for is set");
        return false;
    }
    if (!p->run_begin != !p->run_end)
        dtp_check_note(c, "run_hooks", "only one of run_begin and run_end is set; %s is never called",
                       p->run_begin ? "no end of a run is told" : "run_end");
    return true;
}

static void ask(dtp_check_t *c) {
    enum { KNOWN = 63, MOST_USED = 256 };
    const dnnl_tp_threadpool_iface_t *p = &c->iface;
    dtp_check_phase(c, "num_threads_blocks", "call get_num_threads once");
    int n = p->get_num_threads ? p->get_num_threads(p->ctx) : 0;
    if (n <= 0) dtp_check_note(c, "num_threads", "the pool does not say how many threads it has (%d)", n);
    if (n > MOST_USED)
        dtp_check_note(c, "num_threads", "the pool says %d threads, %d are used", n, MOST_USED);
    c->threads = n < 1 ? 1 : n > DTP_CHECK_THREADS ? DTP_CHECK_THREADS : n;
    dtp_check_phase(c, "flags_block", "call get_flags once");
    c->flags = p->get_flags ? p->get_flags(p->ctx) : 0;
    if (c->flags & ~(uint64_t)KNOWN)
        dtp_check_violation(c, "unknown_flags", "get_flags answers 0x%llx; bits beyond 0x%x have no meaning",
                            (unsigned long long)c->flags, KNOWN);
    if ((c->flags & DNNL_TP_THREADPOOL_IN_ORDER) && !(c->flags & DNNL_TP_THREADPOOL_ASYNCHRONOUS))
        dtp_check_note(c, "flags", "IN_ORDER says nothing without ASYNCHRONOUS");
}

static dnnl_tp_status_t check_pool(const dnnl_tp_threadpool_iface_t *pool, unsigned tests, char *report,
                                   size_t report_size) {
    static const test_t table[] = {{DNNL_TP_POOL_CHECK_TASKS, dtp_check_tasks},
                                   {DNNL_TP_POOL_CHECK_LOOPS, dtp_check_loops},
                                   {DNNL_TP_POOL_CHECK_CALLERS, dtp_check_callers},
                                   {DNNL_TP_POOL_CHECK_NESTED, dtp_check_nested},
                                   {DNNL_TP_POOL_CHECK_ORDER, dtp_check_order},
                                   {DNNL_TP_POOL_CHECK_WAIT, dtp_check_wait},
                                   {DNNL_TP_POOL_CHECK_RUNS, dtp_check_runs},
                                   {DNNL_TP_POOL_CHECK_SATURATION, dtp_check_saturation}};
    if (!tests) tests = DNNL_TP_POOL_CHECK_ALL;
    dtp_check_t *c = calloc(1, sizeof(*c));
    if (!c) return refuse(dnnl_tp_out_of_memory, "%zu bytes wanted", sizeof(*c));
    pthread_mutex_init(&c->lock, NULL);
    bool go_on = check_members(c, pool) && run_watched(c, ask);
    for (size_t i = 0; go_on && i < sizeof(table) / sizeof(*table); ++i)
        if (tests & table[i].bit) go_on = run_watched(c, table[i].run) && !atomic_load(&c->violations);
    for (int promised = -1; !atomic_load(&c->violations) && promised != atomic_load(&c->promised);) {
        promised = atomic_load(&c->promised); /* tasks that are still to come may schedule others */
        if (!dtp_check_settle(c, &c->kept, promised))
            dtp_check_violation(c, "task_lost", "%d calls never came; reproduce: call schedule in tasks",
                                promised - atomic_load(&c->kept));
    }
    int violations = atomic_load(&c->violations);
    pthread_mutex_lock(&c->lock); /* a test that hangs may still wake up and write */
    if (report_size) snprintf(report, report_size, "%s", c->text);
    pthread_mutex_unlock(&c->lock);
    if (violations) {
        static dtp_check_t *left_behind; /* under one_at_a_time */
        c->next = left_behind;
        left_behind = c;
        return refuse(dnnl_tp_runtime_error, "the pool breaks %d promises; see the report", violations);
    }
    pthread_mutex_lock(&dtp_check_batches_lock);
    for (dtp_batch_t **at = &dtp_check_batches; *at;) {
        dtp_batch_t *b = *at;
        if (b->check != c) {
            at = &b->next;
            continue;
        }
        *at = b->next;
        free(b);
    }
    pthread_mutex_unlock(&dtp_check_batches_lock);
    free(c);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_pool_check(const dnnl_tp_threadpool_iface_t *pool, unsigned tests, char *report,
                                    size_t report_size) {
    if (report && report_size) *report = 0;
    if (!pool) return refuse(dnnl_tp_invalid_arguments, "pool is NULL");
    if (tests & ~DNNL_TP_POOL_CHECK_ALL)
        return refuse(dnnl_tp_invalid_arguments, "tests 0x%x has bits beyond 0x%x", tests,
                      DNNL_TP_POOL_CHECK_ALL);
    if (report_size && !report) return refuse(dnnl_tp_invalid_arguments, "report is NULL, its size is not 0");
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one_at_a_time);
    dnnl_tp_status_t status = check_pool(pool, tests, report, report_size);
    pthread_mutex_unlock(&one_at_a_time);
    return status;
}

#else

dnnl_tp_status_t dnnl_tp_pool_check(const dnnl_tp_threadpool_iface_t *pool, unsigned tests, char *report,
                                    size_t report_size) {
    (void)pool, (void)tests;
    if (report && report_size) *report = 0;
    return refuse(dnnl_tp_unimplemented, "this build starts no threads to check with");
}

#endif
