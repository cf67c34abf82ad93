/* Loops, runs and tickets on the built-in pool, seen from inside the library: every iteration exactly once,
 * slots never shared, never more threads than tickets. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "threading/pools/helpers.h"
#include "support/streams.h"
#include "support/watchdog.h"
#include "threading/streams/stream_attr.h"

enum { HEAVY = -50000, MAX_N = 5000 };

typedef struct {
    _Atomic int seen[MAX_N];
    _Atomic int in_slot[DTP_MAX_THREADS];
    _Atomic int bad;
    int num_threads, spin;
} grid_t;

static void grid_body(void *arg, int slot, int64_t begin, int64_t end) {
    grid_t *g = arg;
    if (begin >= end || slot < 0 || slot >= g->num_threads) atomic_fetch_add(&g->bad, 1);
    if (atomic_fetch_add(&g->in_slot[slot], 1) != 0) atomic_fetch_add(&g->bad, 1);
    for (int64_t i = begin; i < end; ++i) {
        atomic_fetch_add(&g->seen[i], 1);
        for (volatile int k = 0; k < g->spin; ++k) {
        }
    }
    atomic_fetch_sub(&g->in_slot[slot], 1);
}

static dtp_pool_t *record_of(dnnl_tp_threadpool_t pool) {
    dnnl_tp_stream_attr_t attr;
    dtp_pool_t *rec;
    assert_int_equal(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu), dnnl_tp_success);
    assert_int_equal(dnnl_tp_stream_attr_set_builtin_threadpool(attr, pool), dnnl_tp_success);
    assert_int_equal(dtp_pool_acquire(&rec, attr), dnnl_tp_success);
    dnnl_tp_stream_attr_destroy(attr);
    return rec;
}

static void grid_once(const dtp_parallel_t *par, int64_t n, int64_t grain, int spin) {
    grid_t *g = calloc(1, sizeof(*g));
    g->num_threads = par->num_threads;
    g->spin = spin;
    dtp_parallel_for(par, n, grain, grid_body, g);
    assert_int_equal(atomic_load(&g->bad), 0);
    for (int64_t i = 0; i < n; ++i) assert_int_equal(atomic_load(&g->seen[i]), 1);
    free(g);
}

static void every_iteration_once(void **state) {
    (void)state;
    static const int counts[] = {1, 2, 3, 7};
    static const int64_t sizes[] = {0, 1, 2, 3, 7, 64, 1000, 4097, MAX_N};
    for (size_t t = 0; t < sizeof(counts) / sizeof(*counts); ++t) {
        dnnl_tp_threadpool_t pool = test_pool(counts[t]);
        dtp_pool_t *rec = record_of(pool);
        for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); ++s)
            for (int64_t grain = HEAVY; grain <= 100; grain = grain < 1 ? 1 : grain * 10) {
                dtp_parallel_t par = {.pool = rec, .num_threads = counts[t]};
                grid_once(&par, sizes[s], grain, 20);
            }
        dtp_pool_release(rec);
        dnnl_tp_threadpool_destroy(pool);
    }
}

static void many_small_loops(void **state) {
    (void)state;
    dnnl_tp_threadpool_t pool = test_pool(2);
    dtp_pool_t *rec = record_of(pool);
    dtp_parallel_t par = {.pool = rec, .num_threads = 2};
    for (int i = 0; i < 3000; ++i) grid_once(&par, 8, -2000, 100);
    dtp_pool_release(rec);
    dnnl_tp_threadpool_destroy(pool);
}

/* ---- Nesting and several callers --------------------------------------------------------------------- */

static void nested_body(void *arg, int slot, int64_t begin, int64_t end) {
    (void)slot;
    for (int64_t i = begin; i < end; ++i) grid_once(arg, 50, HEAVY, 10);
}

static void nested_loops(void **state) {
    (void)state;
    for (int w = 1; w <= 4; ++w) {
        dnnl_tp_threadpool_t pool = test_pool(w);
        dtp_pool_t *rec = record_of(pool);
        dtp_parallel_t par = {.pool = rec, .num_threads = w};
        for (int r = 0; r < 20; ++r) dtp_parallel_for(&par, 8, HEAVY, nested_body, &par);
        dtp_pool_release(rec);
        dnnl_tp_threadpool_destroy(pool);
    }
}

typedef struct {
    dtp_pool_t *rec;
    int rounds;
    bool admission;
    _Atomic int *running, *most, *ran;
} client_t;

static void run_body(void *arg, const dtp_parallel_t *par) {
    client_t *c = arg;
    int now = atomic_fetch_add(c->running, 1) + 1, most = atomic_load(c->most);
    while (now > most && !atomic_compare_exchange_weak(c->most, &most, now)) {
    }
    for (int loop = 0; loop < 10; ++loop) grid_once(par, 40, -3000, 50);
    atomic_fetch_add(c->ran, 1);
    atomic_fetch_sub(c->running, 1);
}

static void *client_main(void *arg) {
    client_t *c = arg;
    for (int r = 0; r < c->rounds; ++r)
        if (dtp_pool_run(c->rec, 8, c->admission, run_body, c) != dnnl_tp_success) abort();
    return NULL;
}

/* All clients at once on pools of every size: nothing hangs, and runs never exceed the tickets. */
static void clients_share_tickets(void **state) {
    (void)state;
    for (int w = 1; w <= 8; w = w < 4 ? w + 1 : w * 2) {
        dnnl_tp_threadpool_t pool = test_pool(w);
        dtp_pool_t *rec = record_of(pool);
        _Atomic int running = 0, most = 0, ran = 0;
        enum { CLIENTS = 8, ROUNDS = 30 };
        pthread_t thread[CLIENTS];
        client_t client = {rec, ROUNDS, true, &running, &most, &ran};
        for (int i = 0; i < CLIENTS; ++i)
            assert_int_equal(pthread_create(&thread[i], NULL, client_main, &client), 0);
        for (int i = 0; i < CLIENTS; ++i) pthread_join(thread[i], NULL);
        assert_int_equal(atomic_load(&ran), CLIENTS * ROUNDS);
        assert_true(atomic_load(&most) <= w);
        dtp_pool_release(rec);
        dnnl_tp_threadpool_destroy(pool);
    }
}

static void nested_run(void *arg, const dtp_parallel_t *par) {
    (void)par;
    client_t *c = arg;
    assert_int_equal(dtp_pool_run(c->rec, 8, true, run_body, c), dnnl_tp_success);
}

static void nested_run_inherits_ticket(void **state) {
    (void)state;
    dnnl_tp_threadpool_t pool = test_pool(1);
    dtp_pool_t *rec = record_of(pool);
    _Atomic int running = 0, most = 0, ran = 0;
    client_t client = {rec, 1, true, &running, &most, &ran};
    assert_int_equal(dtp_pool_run(rec, 1, true, nested_run, &client), dnnl_tp_success);
    assert_int_equal(atomic_load(&ran), 1);
    dtp_pool_release(rec);
    dnnl_tp_threadpool_destroy(pool);
}

static void run_without_pool(void **state) {
    (void)state;
    _Atomic int running = 0, most = 0, ran = 0;
    client_t client = {NULL, 1, true, &running, &most, &ran};
    assert_int_equal(dtp_pool_run(NULL, 4, true, run_body, &client), dnnl_tp_success);
    assert_int_equal(atomic_load(&ran), 1);
}

/* ---- Helpers on their way out ------------------------------------------------------------------------ */

/* A long loop that counts on the helper whose ticket this thread holds; the helper goes during the first
 * chunk. Another one is called when that chunk ends; the next chunk, if one is left, waits for it. */
typedef struct {
    dtp_pool_t *rec;
    dtp_team_t *team;
    uint64_t called; /* helpers, before the loop */
    int chunks;      /* of the opener */
    _Atomic int helped;
} leaving_t;

static uint64_t calls_of(dtp_pool_t *rec) { return DTP_COUNTED(rec, wakes); }

/* This thread becomes a helper (+1), or goes (-1): the host's are counted by run, ours by tickets. */
static void count_helper(const leaving_t *l, int change) {
    if (change > 0) assert_true(dtp_ticket_join(l->rec));
    else dtp_ticket_leave(l->rec);
    if (l->rec->workers) return;
    if (l->team) atomic_fetch_add(&l->team->state, (uint64_t)(int64_t)change);
    else atomic_fetch_add(&l->rec->unbound, change);
}

static void leaving_body(void *arg, int slot, int64_t begin, int64_t end) {
    leaving_t *l = arg;
    (void)begin, (void)end;
    if (slot) {
        atomic_store(&l->helped, 1);
        return;
    }
    if (++l->chunks == 1) {
        assert_true(calls_of(l->rec) == l->called);
        count_helper(l, -1);
        return;
    }
    if (l->chunks > 2) return;
    assert_true(calls_of(l->rec) == l->called + 1);
    while (!atomic_load(&l->helped)) usleep(100);
}

static void leaving_loop(void *arg, const dtp_parallel_t *par) {
    leaving_t *l = arg;
    *l = (leaving_t){.rec = par->pool, .team = par->team, .called = calls_of(par->pool)};
    count_helper(l, 1);
    dtp_parallel_for(par, 64, HEAVY, leaving_body, l);
    assert_int_equal(atomic_load(&l->helped), 1);
}

/* No ticket is held: workers sleep, calls are over. */
static void wait_until_idle(dtp_pool_t *rec) {
    const uint64_t all = rec->workers ? ((uint64_t)1 << rec->num_threads) - 1 : 0;
    while (atomic_load(&rec->adm) || atomic_load(&rec->sleeping[0]) != all ||
           dtp_hold_calls(atomic_load(&rec->holds)))
        usleep(100);
}

static void leave_outside_and_inside_of_runs(dtp_pool_t *rec) {
    leaving_t l;
    const dtp_parallel_t par = {.pool = rec, .num_threads = 2};
    wait_until_idle(rec);
    leaving_loop(&l, &par);
    wait_until_idle(rec);
    assert_int_equal(dtp_pool_run(rec, 2, true, leaving_loop, &l), dnnl_tp_success);
    wait_until_idle(rec);
}

static void helper_leaves_builtin(void **state) {
    (void)state;
    dnnl_tp_threadpool_t pool = test_pool(2);
    dtp_pool_t *rec = record_of(pool);
    if (rec->workers) leave_outside_and_inside_of_runs(rec);
    dtp_pool_release(rec);
    dnnl_tp_threadpool_destroy(pool);
}

/* Two callers on a pool of two leave no ticket to helpers, and none is called for a loop of one of them while the
 * other one is between two runs. */
static void tickets_are_left_to_callers(void **state) {
    (void)state;
    enum { RUN_US = 3000, MOMENT_NS = 500000, LATER_US = 20000, TRIES = 100 };
    dnnl_tp_threadpool_t pool = test_pool(2);
    dtp_pool_t *rec = record_of(pool);
    wait_until_idle(rec);
    bool seen = false; /* in a try in which this thread kept its CPU */
    for (int i = 0; i < TRIES && !seen; ++i) {
        for (int run = 0; run < 2; ++run) assert_true(dtp_ticket_run(rec, false, false));
        usleep(RUN_US);
        const int64_t began = dtp_now_ns();
        dtp_ticket_end(rec);
        const int free_threads = dtp_ticket_free(rec, atomic_load(&rec->adm));
        seen = dtp_now_ns() - began < MOMENT_NS;
        if (seen) assert_int_equal(free_threads, 0);
        dtp_ticket_end(rec);
    }
    usleep(LATER_US);
    assert_int_equal(dtp_ticket_free(rec, atomic_load(&rec->adm)), 2);
    dtp_pool_release(rec);
    dnnl_tp_threadpool_destroy(pool);
}

/* Runs too short to wake anybody for: in quick succession they add up, with pauses they do not. */
static bool worth_in_run(dtp_pool_t *rec, int64_t est_ns) {
    dtp_team_t *team = dtp_team_open(rec, NULL);
    assert_non_null(team);
    bool yes = dtp_worth_calling(rec, team, est_ns);
    dtp_team_close(team);
    return yes;
}
static void short_runs_add_up(void **state) {
    (void)state;
    enum { PART = 8, TRIES = 100000, APART = 2 * PART };
    dnnl_tp_threadpool_t pool = test_pool(2);
    dtp_pool_t *rec = record_of(pool);
    wait_until_idle(rec);
    const int64_t est_ns = rec->wake_min_ns / PART;
    if (rec->workers) {
        int n = 1; /* a thread that loses its CPU makes a pause */
        while (!worth_in_run(rec, est_ns) && n < TRIES) ++n;
        assert_in_range(n, PART, TRIES - 1);
    }
    for (int i = 0; i < APART; ++i) {
        usleep((unsigned)((dtp_ns_of_ticks(rec->wake_ticks) + est_ns) / 500));
        assert_false(worth_in_run(rec, est_ns));
    }
    dtp_pool_release(rec);
    dnnl_tp_threadpool_destroy(pool);
}

/* A host that has a thread for every call. */
typedef struct {
    dnnl_tp_task_fn_t fn;
    void *arg;
} call_t;
static void *call_main(void *arg) {
    call_t call = *(call_t *)arg;
    free(arg);
    call.fn(call.arg);
    return NULL;
}
static int thread_per_call(void *ctx, void *cookie, dnnl_tp_task_fn_t fn, void *arg) {
    (void)ctx, (void)cookie;
    call_t *call = malloc(sizeof(*call));
    pthread_t thread;
    *call = (call_t){fn, arg};
    if (pthread_create(&thread, NULL, call_main, call)) abort();
    pthread_detach(thread);
    return 0;
}
static int two_threads(void *ctx) {
    (void)ctx;
    return 2;
}

static dtp_pool_t *record_of_iface(const dnnl_tp_threadpool_iface_t *iface) {
    dnnl_tp_stream_attr_t attr;
    dtp_pool_t *rec;
    assert_int_equal(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu), dnnl_tp_success);
    assert_int_equal(dnnl_tp_stream_attr_set_threadpool(attr, iface), dnnl_tp_success);
    assert_int_equal(dtp_pool_acquire(&rec, attr), dnnl_tp_success);
    dnnl_tp_stream_attr_destroy(attr);
    return rec;
}
static void helper_leaves_host(void **state) {
    (void)state;
    const dnnl_tp_threadpool_iface_t iface = {
        .struct_size = sizeof(iface), .get_num_threads = two_threads, .schedule = thread_per_call};
    dtp_pool_t *rec = record_of_iface(&iface);
    leave_outside_and_inside_of_runs(rec);
    dtp_pool_release(rec);
}

/* A host whose only way in is a loop, of two threads. */
typedef struct {
    dnnl_tp_chunk_fn_t fn;
    void *arg;
} second_job_t;
static void *second_job(void *arg) {
    const second_job_t *job = arg;
    job->fn(job->arg, 1, 2);
    return NULL;
}
/* A run whose first loop would come late: its helper cannot be called back. */
typedef struct {
    dtp_pool_t *rec;
    bool came, stayed, left_open;
    pthread_t body;
    _Atomic bool over; /* the body is, and `body` is written */
} late_loop_t;
static int loop_of_two(void *ctx, int n, dnnl_tp_chunk_fn_t fn, void *arg) {
    late_loop_t *l = ctx;
    second_job_t job = {fn, arg};
    pthread_t thread;
    if (n != 2 || pthread_create(&thread, NULL, second_job, &job)) return 1;
    fn(arg, 0, 2);
    if (atomic_load(&l->over) && pthread_equal(l->body, pthread_self()))
        l->left_open = dtp_team_is_open(atomic_load(&l->rec->teams[0].state));
    return pthread_join(thread, NULL);
}
/* The helper: with a ticket, or asleep. */
static bool is_in_loop(const dtp_parallel_t *par) {
    return dtp_adm_joiners(atomic_load(&par->pool->adm)) + atomic_load(&par->team->asleep) > 0;
}
static void late_loop(void *arg, const dtp_parallel_t *par) {
    enum { COMES_NS = 20000000, SERIAL_NS = 200000 };
    late_loop_t *l = arg;
    int64_t until = dtp_now_ns() + COMES_NS;
    while (!(l->came = is_in_loop(par)) && dtp_now_ns() < until) sched_yield();
    until = dtp_now_ns() + SERIAL_NS;
    while (dtp_now_ns() < until) {
    }
    l->stayed = is_in_loop(par);
    l->body = pthread_self();
    atomic_store(&l->over, true);
}
/* It waits for the loop, and is told when the run is over. */
static void helper_stays_with_its_run(void **state) {
    (void)state;
    enum { TRIES = 100, MOMENT_NS = 800000 };
    late_loop_t l;
    const dnnl_tp_threadpool_iface_t iface = {
        .struct_size = sizeof(iface), .ctx = &l, .get_num_threads = two_threads, .parallel_for = loop_of_two};
    dtp_pool_t *rec = record_of_iface(&iface);
    bool stayed = false; /* in a try in which nobody lost his CPU for long */
    for (int i = 0; i < TRIES && !stayed; ++i) {
        l = (late_loop_t){.rec = rec};
        const int64_t began = dtp_now_ns();
        assert_int_equal(dtp_pool_run(rec, 2, true, late_loop, &l), dnnl_tp_success);
        assert_false(l.left_open);
        if (!l.came || dtp_now_ns() > began + MOMENT_NS) continue;
        assert_true(l.stayed);
        stayed = true;
    }
    if (!stayed) puts("SKIPPED: threads come too late here");
    dtp_pool_release(rec);
}

/* A host with one thread, which comes at once or late. */
typedef struct {
    _Atomic bool stop;
    _Atomic int late_us;
    dnnl_tp_task_fn_t fn;
    void *arg;
    _Atomic bool full;
} late_host_t;
static void *late_main(void *p) {
    late_host_t *host = p;
    while (!atomic_load(&host->stop)) {
        if (!atomic_load(&host->full)) {
            sched_yield();
            continue;
        }
        const call_t call = {host->fn, host->arg};
        usleep((unsigned)atomic_load(&host->late_us));
        atomic_store(&host->full, false);
        call.fn(call.arg);
    }
    return NULL;
}
static int give_late(void *ctx, void *cookie, dnnl_tp_task_fn_t fn, void *arg) {
    late_host_t *host = ctx;
    (void)cookie;
    if (atomic_load(&host->full)) return 1;
    host->fn = fn;
    host->arg = arg;
    atomic_store(&host->full, true);
    return 0;
}
static void nothing(void *arg, int slot, int64_t begin, int64_t end) {
    (void)arg, (void)slot, (void)begin, (void)end;
}
/* A loop for which the host is called anyway; returns what its thread taught. */
static int64_t after_a_call(dtp_pool_t *rec) {
    const dtp_parallel_t par = {.pool = rec, .num_threads = 2};
    dtp_parallel_for(&par, 2, -rec->wake_min_ns, nothing, NULL);
    assert_int_equal(dnnl_tp_threadpool_quiesce(&rec->iface, -1), dnnl_tp_success);
    return atomic_load(&rec->call_min_ns);
}
/* Threads that come at once make smaller loops worth a call; one that is late makes it twice as many at most,
 * and who is always late is called for what is worth a wake. */
static void arrivals_are_learned(void **state) {
    (void)state;
    enum { DOUBLINGS = 16, US = 1000 };
    const int64_t long_ns = INT64_C(10000000000); /* whoever comes is quick */
    late_host_t host = {.stop = false};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, late_main, &host), 0);
    const dnnl_tp_threadpool_iface_t iface = {
        .struct_size = sizeof(iface), .ctx = &host, .get_num_threads = two_threads, .schedule = give_late};
    dtp_pool_t *rec = record_of_iface(&iface);
    assert_int_equal(atomic_load(&rec->call_min_ns), rec->wake_min_ns);
    const int64_t wake_min_ns = rec->wake_min_ns;
    rec->wake_min_ns = long_ns;
    atomic_store(&rec->call_min_ns, long_ns);
    assert_in_range(after_a_call(rec), long_ns / 2, long_ns - 1);
    rec->wake_min_ns = wake_min_ns;
    int64_t known = rec->parallel_min_ns;
    atomic_store(&rec->call_min_ns, known);
    atomic_store(&host.late_us, (int)(rec->wake_min_ns / US) + 1);
    for (int i = 0; i < DOUBLINGS && known < wake_min_ns - wake_min_ns / 8; ++i) {
        const int64_t next = after_a_call(rec);
        assert_in_range(next, known + 1, 2 * known);
        known = next;
    }
    assert_in_range(known, wake_min_ns - wake_min_ns / 8, wake_min_ns); /* small steps are left out */
    dtp_pool_release(rec);
    atomic_store(&host.stop, true);
    pthread_join(thread, NULL);
}

static void grains(void **state) {
    (void)state;
    assert_int_equal(dtp_grain(1e9), 1);
    assert_int_equal(dtp_grain(1000), 1);
    assert_int_equal(dtp_grain(1), 1000);
    assert_true(dtp_grain(0) > 1 << 30);
    assert_true(dtp_grain(-1) > 1 << 30);
    assert_true(dtp_grain(1e-30) > 1 << 30);
}

int main(void) {
    watchdog(110, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grains),
        cmocka_unit_test(every_iteration_once),
        cmocka_unit_test(many_small_loops),
        cmocka_unit_test(nested_loops),
        cmocka_unit_test(run_without_pool),
        cmocka_unit_test(clients_share_tickets),
        cmocka_unit_test(nested_run_inherits_ticket),
        cmocka_unit_test(helper_leaves_builtin),
        cmocka_unit_test(tickets_are_left_to_callers),
        cmocka_unit_test(short_runs_add_up),
        cmocka_unit_test(helper_leaves_host),
        cmocka_unit_test(helper_stays_with_its_run),
        cmocka_unit_test(arrivals_are_learned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
