/* Loops, runs and queues on every pool of support/hostile_pools.h: exactly once, in order, never hanging, and
 * harmless when the host calls late. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "support/hostile_pools.h"
#include "support/watchdog.h"
#include "threading/streams/queue.h"
#include "threading/streams/stream_attr.h"

enum { HEAVY = -100000, MAX_N = 3000 };

static dtp_pool_t *record_of(const hostile_pool_t *pool) {
    dnnl_tp_stream_attr_t attr;
    dtp_pool_t *rec;
    assert_int_equal(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu), dnnl_tp_success);
    assert_int_equal(dnnl_tp_stream_attr_set_threadpool(attr, hostile_pool_iface(pool)), dnnl_tp_success);
    assert_int_equal(dtp_pool_acquire(&rec, attr), dnnl_tp_success);
    dnnl_tp_stream_attr_destroy(attr);
    return rec;
}

static bool refuses(hostile_kind_t kind) {
    return kind == POOL_REFUSE || kind == POOL_LOOP_REFUSE || kind == POOL_ASYNC_REFUSE ||
           kind == POOL_INLINE;
}

/* ---- Loops ------------------------------------------------------------------------------------------- */

typedef struct {
    _Atomic int seen[MAX_N];
    _Atomic int in_slot[DTP_MAX_THREADS];
    _Atomic int bad;
    int num_threads;
} grid_t;

static void grid_body(void *arg, int slot, int64_t begin, int64_t end) {
    grid_t *g = arg;
    if (begin >= end || slot < 0 || slot >= g->num_threads) {
        atomic_fetch_add(&g->bad, 1);
        return;
    }
    if (atomic_fetch_add(&g->in_slot[slot], 1) != 0) atomic_fetch_add(&g->bad, 1);
    for (int64_t i = begin; i < end; ++i) {
        atomic_fetch_add(&g->seen[i], 1);
        if (i % 16 == 0) usleep(20); /* time for others to come */
    }
    atomic_fetch_sub(&g->in_slot[slot], 1);
}

static void grid_once(const dtp_parallel_t *par, int64_t n, int64_t grain) {
    grid_t *g = calloc(1, sizeof(*g));
    g->num_threads = par->num_threads;
    dtp_parallel_for(par, n, grain, grid_body, g);
    int bad = atomic_load(&g->bad);
    for (int64_t i = 0; i < n; ++i) bad += atomic_load(&g->seen[i]) != 1;
    free(g);
    if (bad) abort(); /* also called on threads that are not cmocka's */
}

static void loops_run_once(void **state) {
    (void)state;
    static const int counts[] = {1, 2, 3, 7};
    for (int kind = 0; kind < POOL_KINDS; ++kind)
        for (size_t t = 0; t < sizeof(counts) / sizeof(*counts); ++t) {
            hostile_pool_t *pool = hostile_pool_create((hostile_kind_t)kind, counts[t]);
            dtp_pool_t *rec = record_of(pool);
            assert_in_range(dtp_pool_num_threads(rec), 1, DTP_MAX_THREADS);
            dtp_parallel_t par = {.pool = rec, .num_threads = counts[t]};
            for (int64_t n = 1; n <= MAX_N; n = n * 5 + 2) {
                grid_once(&par, n, HEAVY);
                grid_once(&par, n, 1);
            }
            dtp_pool_release(rec);
            assert_int_equal(hostile_pool_complaints(pool), 0);
            hostile_pool_destroy(pool);
        }
}

/* Every range lasts until two slots have been seen, so a pool whose threads never help is found out. */
static void meet_body(void *arg, int slot, int64_t begin, int64_t end) {
    (void)begin, (void)end;
    _Atomic unsigned *slots = arg;
    atomic_fetch_or(slots, 1u << slot);
    for (int i = 0; i < 2000 && !(atomic_load(slots) & (atomic_load(slots) - 1)); ++i) usleep(100);
}
static void helpers_come(void **state) {
    (void)state;
    static const hostile_kind_t kinds[] = {
        POOL_FIFO, POOL_LIFO,           POOL_LATE, POOL_REFUSE_SOME,    POOL_SINGLE_CALLER,
        POOL_RUNS, POOL_ASYNC_SCHEDULE, POOL_LOOP, POOL_ASYNC_IN_ORDER, POOL_ASYNC_UNORDERED};
    for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); ++k) {
        hostile_pool_t *pool = hostile_pool_create(kinds[k], 3);
        dtp_pool_t *rec = record_of(pool);
        dtp_parallel_t par = {.pool = rec, .num_threads = 3};
        _Atomic unsigned slots = 0;
        dtp_parallel_for(&par, 12, HEAVY, meet_body, &slots);
        if (!(atomic_load(&slots) & (atomic_load(&slots) - 1)))
            fail_msg("nobody helped on %s", hostile_pool_name(kinds[k]));
        dtp_pool_release(rec);
        hostile_pool_destroy(pool);
    }
}

static void nested_body(void *arg, int slot, int64_t begin, int64_t end) {
    (void)slot;
    for (int64_t i = begin; i < end; ++i) grid_once(arg, 40, HEAVY);
}
static void loops_nest(void **state) {
    (void)state;
    for (int kind = 0; kind < POOL_KINDS; ++kind) {
        hostile_pool_t *pool = hostile_pool_create((hostile_kind_t)kind, 3);
        dtp_pool_t *rec = record_of(pool);
        dtp_parallel_t par = {.pool = rec, .num_threads = 3};
        for (int r = 0; r < 5; ++r) dtp_parallel_for(&par, 6, HEAVY, nested_body, &par);
        dtp_pool_release(rec);
        assert_int_equal(hostile_pool_complaints(pool), 0);
        hostile_pool_destroy(pool);
    }
}

/* Loops of 12 us from several callers: where the host has only loops they go straight to it. */
enum { SHORT_CALLERS = 3, SHORT_LOOPS = 200, SHORT_N = 6, SHORT_NS = -2000 };
static void *short_loops_main(void *rec) {
    dtp_parallel_t par = {.pool = rec, .num_threads = 3};
    for (int i = 0; i < SHORT_LOOPS; ++i) grid_once(&par, SHORT_N, SHORT_NS);
    return NULL;
}
static void short_loops(void **state) {
    (void)state;
    for (int kind = 0; kind < POOL_KINDS; ++kind) {
        hostile_pool_t *pool = hostile_pool_create((hostile_kind_t)kind, 3);
        dtp_pool_t *rec = record_of(pool);
        pthread_t thread[SHORT_CALLERS];
        for (int i = 0; i < SHORT_CALLERS; ++i)
            assert_int_equal(pthread_create(&thread[i], NULL, short_loops_main, rec), 0);
        for (int i = 0; i < SHORT_CALLERS; ++i) pthread_join(thread[i], NULL);
        short_loops_main(rec);
        /* Nobody can be there before the host was asked; it is, at least to learn what that costs. */
        assert_true(!rec->host_loops || refuses((hostile_kind_t)kind) == !DTP_COUNTED(rec, short_loops));
        assert_true(!rec->host_loops || !dtp_adm_joiners(atomic_load(&rec->adm)));
        dtp_pool_release(rec);
        assert_int_equal(hostile_pool_complaints(pool), 0);
        hostile_pool_destroy(pool);
    }
}

/* All W workers of a pool call in at once, on the same pool. */
typedef struct {
    dtp_pool_t *rec;
    int width;
    bool as_run;
    _Atomic int left;
} call_in_t;
static void call_in_body(void *arg, const dtp_parallel_t *par) {
    (void)arg;
    for (int l = 0; l < 3; ++l) grid_once(par, 60, HEAVY);
}
static void call_in(void *arg) {
    call_in_t *c = arg;
    dtp_parallel_t par = {.pool = c->rec, .num_threads = c->width};
    if (c->as_run) {
        if (dtp_pool_run(c->rec, c->width, true, call_in_body, NULL) != dnnl_tp_success) abort();
    } else {
        grid_once(&par, 60, HEAVY);
    }
    atomic_fetch_sub(&c->left, 1);
}
static void call_in_job(void *arg, int i, int n) {
    (void)i, (void)n;
    call_in(arg);
}
static void saturation(void **state) {
    (void)state;
    static const hostile_kind_t kinds[] = {POOL_FIFO, POOL_LIFO,          POOL_LATE,
                                           POOL_RUNS, POOL_SINGLE_CALLER, POOL_LOOP};
    for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); ++k)
        for (int w = 1; w <= 8; ++w)
            for (int as_run = 0; as_run < 2; ++as_run) {
                hostile_pool_t *pool = hostile_pool_create(kinds[k], w);
                const dnnl_tp_threadpool_iface_t *iface = hostile_pool_iface(pool);
                call_in_t c = {record_of(pool), w, as_run, 2 * w};
                for (int i = 0; i < 2 * w && iface->schedule; ++i)
                    assert_int_equal(iface->schedule(iface->ctx, NULL, call_in, &c), 0);
                if (!iface->schedule)
                    assert_int_equal(iface->parallel_for(iface->ctx, 2 * w, call_in_job, &c), 0);
                while (atomic_load(&c.left) > 0) usleep(100);
                dtp_pool_release(c.rec);
                if (kinds[k] != POOL_SINGLE_CALLER) assert_int_equal(hostile_pool_complaints(pool), 0);
                hostile_pool_destroy(pool);
            }
}

/* ---- Runs -------------------------------------------------------------------------------------------- */

typedef struct {
    dtp_pool_t *rec;
    int width;
    _Atomic int *running, *most, *ran;
} client_t;
static void client_body(void *arg, const dtp_parallel_t *par) {
    client_t *c = arg;
    int now = atomic_fetch_add(c->running, 1) + 1, most = atomic_load(c->most);
    while (now > most && !atomic_compare_exchange_weak(c->most, &most, now)) {
    }
    for (int l = 0; l < 5; ++l) grid_once(par, 30, -5000);
    atomic_fetch_add(c->ran, 1);
    atomic_fetch_sub(c->running, 1);
}
static void *client_main(void *arg) {
    client_t *c = arg;
    for (int r = 0; r < 10; ++r)
        if (dtp_pool_run(c->rec, c->width, true, client_body, c) != dnnl_tp_success) abort();
    return NULL;
}
static void runs_take_tickets(void **state) {
    (void)state;
    enum { CLIENTS = 6 };
    for (int kind = 0; kind < POOL_KINDS; ++kind) {
        if (kind == POOL_STALLED) continue;
        hostile_pool_t *pool = hostile_pool_create((hostile_kind_t)kind, 2);
        dtp_pool_t *rec = record_of(pool);
        _Atomic int running = 0, most = 0, ran = 0;
        client_t client = {rec, 2, &running, &most, &ran};
        pthread_t thread[CLIENTS];
        for (int i = 0; i < CLIENTS; ++i)
            assert_int_equal(pthread_create(&thread[i], NULL, client_main, &client), 0);
        for (int i = 0; i < CLIENTS; ++i) pthread_join(thread[i], NULL);
        assert_int_equal(atomic_load(&ran), CLIENTS * 10);
        assert_true(atomic_load(&most) <= dtp_pool_num_threads(rec));
        dtp_pool_release(rec);
        assert_int_equal(hostile_pool_complaints(pool), 0);
        hostile_pool_destroy(pool);
    }
}

/* ---- Queues ------------------------------------------------------------------------------------------ */

typedef struct {
    dtp_submission_t item;
    dtp_queue_t *queue;
    _Atomic int *counter, *recycled;
    int index, fail_at;
    int in_order;
    dnnl_tp_status_t waited;
} order_t;
static dnnl_tp_status_t order_run(dtp_submission_t *item, const dtp_parallel_t *par) {
    order_t *o = (order_t *)item;
    if (!par) return dnnl_tp_success;
    o->in_order = atomic_fetch_add(o->counter, 1) == o->index;
    o->waited = dtp_queue_wait(o->queue, -1);
    grid_once(par, 20, HEAVY);
    return o->index == o->fail_at ? dnnl_tp_runtime_error : dnnl_tp_success;
}
static void order_recycle(dtp_submission_t *item) { atomic_fetch_add(((order_t *)item)->recycled, 1); }

static void queue_of(hostile_kind_t kind, int n, int fail_at) {
    enum { ITEMS = 60 };
    static order_t items[ITEMS];
    hostile_pool_t *pool = hostile_pool_create(kind, n);
    dtp_pool_t *rec = record_of(pool);
    dtp_queue_t *queue;
    _Atomic int counter = 0, recycled = 0;
    assert_int_equal(dtp_queue_create(&queue, rec, NULL, 0), dnnl_tp_success);
    for (int i = 0; i < ITEMS; ++i) {
        items[i] = (order_t){
            .queue = queue, .counter = &counter, .recycled = &recycled, .index = i, .fail_at = fail_at};
        items[i].item.num_threads = n;
        items[i].item.run = order_run;
        items[i].item.recycle = order_recycle;
        assert_int_equal(dtp_queue_submit(queue, &items[i].item), dnnl_tp_success);
        if (i == ITEMS / 2) {
            dnnl_tp_status_t status = dtp_queue_wait(queue, -1);
            assert_true(atomic_load(&counter) == i + 1 || status == dnnl_tp_runtime_error);
        }
    }
    dnnl_tp_status_t status = dtp_queue_wait(queue, -1);
    assert_int_equal(status, fail_at < 0 ? dnnl_tp_success : dnnl_tp_runtime_error);
    assert_int_equal(atomic_load(&counter), fail_at < 0 ? ITEMS : fail_at + 1);
    for (int i = 0; i < atomic_load(&counter); ++i) {
        assert_true(items[i].in_order);
        assert_int_equal(items[i].waited, dnnl_tp_would_deadlock);
    }
    assert_int_equal(dtp_queue_close(queue, NULL, NULL), dnnl_tp_success);
    assert_int_equal(atomic_load(&recycled), ITEMS);
    dtp_pool_release(rec);
    assert_int_equal(hostile_pool_complaints(pool), 0);
    hostile_pool_destroy(pool);
}
static void queues_keep_order(void **state) {
    (void)state;
    for (int kind = 0; kind < POOL_KINDS; ++kind)
        for (int n = 1; n <= 3; ++n) queue_of((hostile_kind_t)kind, n, -1);
}
static void first_error_poisons(void **state) {
    (void)state;
    for (int kind = 0; kind < POOL_KINDS; ++kind) queue_of((hostile_kind_t)kind, 2, 7);
}

/* Submission returns before anything ran, and a timed wait sees its deadline. */
static void stalled_pool(void **state) {
    (void)state;
    hostile_pool_t *pool = hostile_pool_create(POOL_STALLED, 2);
    dtp_pool_t *rec = record_of(pool);
    dtp_queue_t *queue;
    _Atomic int counter = 0, recycled = 0;
    static order_t items[10];
    assert_int_equal(dtp_queue_create(&queue, rec, NULL, 0), dnnl_tp_success);
    for (int i = 0; i < 10; ++i) {
        items[i] =
            (order_t){.queue = queue, .counter = &counter, .recycled = &recycled, .index = i, .fail_at = -1};
        items[i].item.num_threads = 2;
        items[i].item.run = order_run;
        items[i].item.recycle = order_recycle;
        assert_int_equal(dtp_queue_submit(queue, &items[i].item), dnnl_tp_success);
    }
    assert_int_equal(atomic_load(&counter), 0);
    assert_int_equal(dtp_queue_wait(queue, 0), dnnl_tp_timed_out);
    hostile_pool_unstall(pool);
    assert_int_equal(dtp_queue_close(queue, NULL, NULL), dnnl_tp_success);
    assert_int_equal(atomic_load(&counter), 10);
    dtp_pool_release(rec);
    hostile_pool_destroy(pool);
}

/* The library's objects go while its calls still wait in the host's pool; quiesce waits for them. */
static void late_calls_are_harmless(void **state) {
    (void)state;
    hostile_pool_t *pool = hostile_pool_create(POOL_STALLED, 3);
    dtp_pool_t *rec = record_of(pool);
    dtp_parallel_t par = {.pool = rec, .num_threads = 3};
    grid_once(&par, 300, HEAVY);
    dtp_pool_release(rec);
    assert_true(hostile_pool_pending(pool) > 0);
    assert_int_equal(dnnl_tp_threadpool_quiesce(hostile_pool_iface(pool), 1000000), dnnl_tp_timed_out);
    hostile_pool_unstall(pool);
    assert_int_equal(dnnl_tp_threadpool_quiesce(hostile_pool_iface(pool), -1), dnnl_tp_success);
    hostile_pool_destroy(pool);

    pool = hostile_pool_create(POOL_STALLED, 3);
    par.pool = record_of(pool);
    grid_once(&par, 300, HEAVY);
    dtp_pool_release(par.pool);
    hostile_pool_destroy(pool); /* makes the calls after everything is gone */
}

/* A pool that refuses everything still computes, alone. */
static void refusing_pools_use_the_caller(void **state) {
    (void)state;
    for (int kind = 0; kind < POOL_KINDS; ++kind) {
        if (!refuses((hostile_kind_t)kind)) continue;
        hostile_pool_t *pool = hostile_pool_create((hostile_kind_t)kind, 2);
        dtp_pool_t *rec = record_of(pool);
        dtp_queue_t *queue;
        _Atomic int counter = 0, recycled = 0;
        order_t o = {.counter = &counter, .recycled = &recycled, .fail_at = -1};
        o.item.num_threads = 2;
        o.item.run = order_run;
        o.item.recycle = order_recycle;
        assert_int_equal(dtp_queue_create(&queue, rec, NULL, 0), dnnl_tp_success);
        o.queue = queue;
        assert_int_equal(dtp_queue_submit(queue, &o.item), dnnl_tp_success);
        assert_int_equal(atomic_load(&counter), 1); /* nobody else would have run it */
        assert_int_equal(dtp_queue_close(queue, NULL, NULL), dnnl_tp_success);
        dtp_pool_release(rec);
        hostile_pool_destroy(pool);
    }
}

int main(void) {
    watchdog(110, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_run_once),
        cmocka_unit_test(loops_nest),
        cmocka_unit_test(helpers_come),
        cmocka_unit_test(short_loops),
        cmocka_unit_test(saturation),
        cmocka_unit_test(runs_take_tickets),
        cmocka_unit_test(queues_keep_order),
        cmocka_unit_test(first_error_poisons),
        cmocka_unit_test(stalled_pool),
        cmocka_unit_test(late_calls_are_harmless),
        cmocka_unit_test(refusing_pools_use_the_caller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
