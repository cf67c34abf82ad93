/* Loops, tickets, tasks, sleeping workers and events of the built-in pool under preemption at every delicate
 * step (DTP_PREEMPT_POINT), and with one rule broken at a time (DTP_BREAK_*). Usage: pool_stress ROUNDS [--broken]. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/stress.h"
#include "support/streams.h"
#include "threading/base/futex.h"
#include "threading/streams/stream_attr.h"
#include "threading/pools/record.h"

#define MUST STRESS_MUST
#define OK STRESS_OK
enum { HEAVY = -50000 }; /* ns of an iteration, as loops are told: sleeping workers are called */

typedef struct {
    dnnl_tp_threadpool_t pool;
    dtp_pool_t *rec;
} pool_t;
static pool_t open_pool(int threads) {
    pool_t p = {.pool = test_pool(threads)};
    dnnl_tp_stream_attr_t attr;
    OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    OK(dnnl_tp_stream_attr_set_builtin_threadpool(attr, p.pool));
    OK(dtp_pool_acquire(&p.rec, attr));
    dnnl_tp_stream_attr_destroy(attr);
    return p;
}
static void close_pool(pool_t p) {
    dtp_pool_release(p.rec);
    dnnl_tp_threadpool_destroy(p.pool);
}
static void start(pthread_t *thread, void *(*fn)(void *), void *arg) {
    if (pthread_create(thread, NULL, fn, arg)) abort();
}

/* ---- Loops: every iteration once, in time, no slot twice --------------------------------------------- */

enum { ITERATIONS = 24, SLOTS = 8 };
typedef struct {
    _Atomic int seen[ITERATIONS], in_slot[SLOTS];
    _Atomic bool open;
} loop_t;
static void loop_body(void *arg, int slot, int64_t begin, int64_t end) {
    loop_t *loop = arg;
    MUST(slot >= 0 && slot < SLOTS && atomic_fetch_add(&loop->in_slot[slot], 1) == 0);
    MUST(atomic_load(&loop->open));
    stress_preempt();
    for (int64_t i = begin; i < end; ++i) atomic_fetch_add(&loop->seen[i], 1);
    MUST(atomic_load(&loop->open));
    atomic_fetch_sub(&loop->in_slot[slot], 1);
}
static void one_loop(const dtp_parallel_t *par) {
    static _Thread_local loop_t loop; /* joiners that come too late must not find a stack */
    memset((void *)&loop, 0, sizeof loop);
    atomic_store(&loop.open, true);
    dtp_parallel_for(par, ITERATIONS, HEAVY, loop_body, &loop);
    atomic_store(&loop.open, false);
    for (int i = 0; i < ITERATIONS; ++i) MUST(atomic_load(&loop.seen[i]) == 1);
}
static void loops(pool_t p) {
    const dtp_parallel_t par = {.pool = p.rec, .num_threads = 4};
    for (int i = 0; i < 30; ++i) one_loop(&par);
}

/* ---- Runs: never more at once than tickets, each once ------------------------------------------------ */

typedef struct {
    pool_t pool;
    int tickets;
    _Atomic int running, ran;
} runs_t;
static void run_body(void *arg, const dtp_parallel_t *par) {
    runs_t *r = arg;
    MUST(atomic_fetch_add(&r->running, 1) < r->tickets);
    stress_preempt();
    one_loop(par);
    atomic_fetch_sub(&r->running, 1);
    atomic_fetch_add(&r->ran, 1);
}
enum { CLIENTS = 5, RUNS = 8 };
static void *client(void *arg) {
    runs_t *r = arg;
    for (int i = 0; i < RUNS; ++i) OK(dtp_pool_run(r->pool.rec, 4, true, run_body, r));
    return NULL;
}
static void runs(pool_t p, int tickets) {
    runs_t r = {.pool = p, .tickets = tickets};
    pthread_t thread[CLIENTS];
    for (int i = 0; i < CLIENTS; ++i) start(&thread[i], client, &r);
    for (int i = 0; i < CLIENTS; ++i) pthread_join(thread[i], NULL);
    MUST(atomic_load(&r.ran) == CLIENTS * RUNS);
}

/* Short ones pass long ones, and all wait for two tickets. */
enum { LONG_NS = 1000000, SHORT_NS = 1000, LONGS = 2, PIECES = 6 };
static void piece(runs_t *r) {
    MUST(atomic_fetch_add(&r->running, 1) < r->tickets);
    stress_preempt();
    atomic_fetch_sub(&r->running, 1);
}
static void long_body(void *arg, const dtp_parallel_t *par) {
    runs_t *r = arg;
    (void)par;
    for (int i = 0; i < PIECES; ++i) {
        piece(r);
        dtp_chain_top->works_until = 1; /* it has worked long enough */
        dtp_pool_let_pass(r->pool.rec, LONG_NS, 0);
    }
    atomic_fetch_add(&r->ran, 1);
}
static void short_body(void *arg, const dtp_parallel_t *par) {
    (void)par;
    piece(arg);
    atomic_fetch_add(&((runs_t *)arg)->ran, 1);
}
static void *long_client(void *arg) {
    runs_t *r = arg;
    for (int i = 0; i < RUNS; ++i) OK(dtp_pool_run(r->pool.rec, 1, true, long_body, r));
    return NULL;
}
static void *short_client(void *arg) {
    static _Atomic uint32_t never;
    const dtp_share_t share = {.stop = &never, .passes_ns = SHORT_NS};
    runs_t *r = arg;
    for (int i = 0; i < RUNS * PIECES; ++i)
        OK(dtp_pool_run_share(r->pool.rec, 1, DTP_RUN_ADMITTED, 0, &share, short_body, r));
    return NULL;
}
static void lanes(pool_t p, int tickets) {
    runs_t r = {.pool = p, .tickets = tickets};
    pthread_t thread[CLIENTS];
    for (int i = 0; i < CLIENTS; ++i) start(&thread[i], i < LONGS ? long_client : short_client, &r);
    for (int i = 0; i < CLIENTS; ++i) pthread_join(thread[i], NULL);
    MUST(atomic_load(&r.ran) == LONGS * RUNS + (CLIENTS - LONGS) * RUNS * PIECES);
}

/* A run that waits for the only ticket while the pool's worker sleeps. */
typedef struct {
    pool_t pool;
    _Atomic int inside, ran;
} hold_t;
static void hold_body(void *arg, const dtp_parallel_t *par) {
    enum { FALL_ASLEEP_US = 500 };
    hold_t *h = arg;
    (void)par;
    atomic_store(&h->inside, 1);
    while (!dtp_adm_waiting(atomic_load(&h->pool.rec->adm))) usleep(10);
    usleep(FALL_ASLEEP_US);
}
static void ran_body(void *arg, const dtp_parallel_t *par) {
    (void)par;
    atomic_fetch_add(&((hold_t *)arg)->ran, 1);
}
static void *second(void *arg) {
    hold_t *h = arg;
    while (!atomic_load(&h->inside)) usleep(10);
    OK(dtp_pool_run(h->pool.rec, 1, true, ran_body, h));
    return NULL;
}
static void hold(pool_t p) {
    hold_t h = {.pool = p};
    pthread_t thread;
    start(&thread, second, &h);
    OK(dtp_pool_run(p.rec, 1, true, hold_body, &h));
    pthread_join(thread, NULL);
    MUST(atomic_load(&h.ran) == 1);
}

/* ---- Tasks: each is called, by workers that fall asleep, and by those of a pool that ends ------------ */

static void task(void *arg) { atomic_fetch_add((_Atomic int *)arg, 1); }
static void tasks(pool_t p) {
    const dnnl_tp_threadpool_iface_t *iface = test_pool_iface(p.pool);
    enum { STEP_NS = 8000 };
    _Atomic int called = 0;
    for (int i = 1; i <= 20; ++i) {
        MUST(iface->schedule(iface->ctx, NULL, task, &called) == 0);
        while (atomic_load(&called) < i) sched_yield();
        /* The next one comes while the worker looks for more, or falls asleep, or sleeps. */
        for (int64_t until = dtp_now_ns() + i * STEP_NS; dtp_now_ns() < until;) dtp_pause();
    }
}
static void ending(int threads) {
    enum { TASKS = 20 };
    pool_t p = open_pool(threads);
    const dnnl_tp_threadpool_iface_t *iface = test_pool_iface(p.pool);
    static _Atomic int called;
    atomic_store(&called, 0);
    for (int i = 0; i < TASKS; ++i) MUST(iface->schedule(iface->ctx, NULL, task, &called) == 0);
    close_pool(p);
    MUST(atomic_load(&called) == TASKS);
}

/* ---- Events: callbacks once, after the event is done; waiting threads wake --------------------------- */

typedef struct {
    dnnl_tp_event_t event;
    int callbacks;
    pthread_barrier_t barrier;
    _Atomic int called;
} events_t;
static void callback(void *arg, dnnl_tp_status_t status) {
    events_t *e = arg;
    int done = 0;
    MUST(status == dnnl_tp_success);
    OK(dnnl_tp_event_query(e->event, &done, NULL));
    MUST(done);
    atomic_fetch_add(&e->called, 1);
}
enum { WAITERS = 2 };
static void *waiter(void *arg) {
    events_t *e = arg;
    pthread_barrier_wait(&e->barrier);
    for (int i = 0; i < e->callbacks; ++i) OK(dnnl_tp_event_on_complete(e->event, callback, e));
    OK(dnnl_tp_event_wait(e->event, -1, NULL));
    return NULL;
}
static void events(dnnl_tp_engine_t engine, int callbacks) {
    events_t e = {.callbacks = callbacks};
    pthread_barrier_init(&e.barrier, NULL, WAITERS + 1);
    OK(dnnl_tp_event_create_host(&e.event, engine));
    pthread_t thread[WAITERS];
    for (int i = 0; i < WAITERS; ++i) start(&thread[i], waiter, &e);
    pthread_barrier_wait(&e.barrier);
    for (int i = 0; i < callbacks; ++i) stress_preempt();
    OK(dnnl_tp_event_signal(e.event, dnnl_tp_success));
    for (int i = 0; i < WAITERS; ++i) pthread_join(thread[i], NULL);
    MUST(atomic_load(&e.called) == WAITERS * callbacks);
    dnnl_tp_event_destroy(e.event);
    pthread_barrier_destroy(&e.barrier);
}

int main(int argc, char **argv) {
    dnnl_tp_engine_t engine;
    stress_begin(argc, argv);
    OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    pool_t one = open_pool(1), two = open_pool(2), four = open_pool(4);
    for (int k = 0; stress_round(k); ++k) {
        loops(four);
        runs(two, 2);
        lanes(one, 1);
        lanes(two, 2);
        hold(one);
        for (int i = 0; i < 4; ++i) tasks(one);
        for (int i = 0; i < 20; ++i) events(engine, i % 4);
        ending(1 + k % 3);
    }
    close_pool(one);
    close_pool(two);
    close_pool(four);
    dnnl_tp_engine_destroy(engine);
    return 0;
}
