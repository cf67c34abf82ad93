/* Who comes to help: beside other work, every thread of a pool that is free does. All bodies of all loops wait
 * until as many are inside as the pool has threads, so a thread that nobody calls is a failure, however few
 * processors there are. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "common/base/with.h"
#include "dnnl_tp/dnnl_tp_graph.h"
#include "support/check.h"
#include "support/hostile_pools.h"
#include "support/streams.h"
#include "support/watchdog.h"
#include "threading/base/futex.h"
#include "threading/streams/stream_attr.h"

enum { BUILT_IN = -1, JOBS = 4, MOST_CLIENTS = 16, ROUNDS = 3, LEARNING = 5, MOST_FOR_GRAPHS = 4 };
static const int64_t LIMIT_NS = 10000000000, JOB_NS = 20000000;

/* ---- Pools ------------------------------------------------------------------------------------------- */

typedef struct {
    dnnl_tp_threadpool_t built_in;
    hostile_pool_t *host;
    dnnl_tp_stream_attr_t attr;
    dtp_pool_t *rec;
    char name[64];
} any_pool_t;

static void pool_open(any_pool_t *p, int kind, int w) {
    *p = (any_pool_t){.built_in = NULL};
    CHECK_OK(dnnl_tp_stream_attr_create(&p->attr, dnnl_tp_cpu));
    if (kind == BUILT_IN) p->built_in = test_pool(w);
    else p->host = hostile_pool_create((hostile_kind_t)kind, w);
    CHECK_OK(dnnl_tp_stream_attr_set_threadpool(p->attr, p->host ? hostile_pool_iface(p->host)
                                                                 : test_pool_iface(p->built_in)));
    CHECK_OK(dtp_pool_acquire(&p->rec, p->attr));
    snprintf(p->name, sizeof p->name, "%s of %d threads",
             p->host ? hostile_pool_name((hostile_kind_t)kind) : "built-in", w);
}
static void pool_close(any_pool_t *p) {
    dtp_pool_release(p->rec);
    dnnl_tp_stream_attr_destroy(p->attr);
    if (p->built_in) dnnl_tp_threadpool_destroy(p->built_in);
    else hostile_pool_destroy(p->host);
}

/* ---- A body that waits for the others ---------------------------------------------------------------- */

static _Atomic int inside, missed;
static int everybody;
static void meet(void) {
    const int64_t until = dtp_now_ns() + LIMIT_NS;
    usleep(2000); /* who comes last is no cheap closure either: graphs learn what closures cost */
    atomic_fetch_add(&inside, 1);
    while (atomic_load(&inside) < everybody)
        if (atomic_load(&missed) || dtp_now_ns() > until) {
            atomic_fetch_add(&missed, 1);
            return;
        } else usleep(500);
}
static void meet_all(void *arg, int slot, int64_t begin, int64_t end) {
    (void)arg, (void)slot;
    for (int64_t i = begin; i < end; ++i) meet();
}
static dnnl_tp_status_t closure(void *arg, const volatile int *should_stop, int nin,
                                const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    (void)arg, (void)should_stop, (void)nin, (void)in, (void)nout, (void)out;
    meet();
    return dnnl_tp_success;
}

/* ---- Ways to use the pool: a loop outside runs, one of a run, a graph of closures --------------------- */

typedef enum { LOOPS, RUNS, GRAPHS, WAYS } way_t;
static const char *const way_names[WAYS] = {"loops", "loops of runs", "graphs"};
static void loop_of_run(void *arg, const dtp_parallel_t *par) {
    (void)arg;
    dtp_parallel_for(par, JOBS, -JOB_NS, meet_all, NULL);
}
static dnnl_tp_executable_t compile(dnnl_tp_stream_attr_t attr) {
    dnnl_tp_graph_t g;
    dnnl_tp_executable_t e;
    dnnl_tp_value_t v;
    const dnnl_tp_tensor_info_t none = {1, {0}, dnnl_tp_f32};
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    for (int i = 0; i < JOBS; ++i)
        CHECK_OK(dnnl_tp_graph_host(g, closure, NULL, NULL, 0, "meet", 0, NULL, 1, &none, &v));
    dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts, .stream_attr = attr};
    CHECK_OK(dnnl_tp_executable_compile(&e, g, test_engine, 0, NULL, &opts));
    dnnl_tp_graph_destroy(g);
    return e;
}
typedef struct {
    any_pool_t *pool;
    way_t way;
    dnnl_tp_executable_t e;
    dnnl_tp_stream_t stream;
    dnnl_tp_status_t status;
} client_t;
static void *client(void *arg) {
    client_t *c = arg;
    switch (c->way) {
    case LOOPS:
        dtp_parallel_for(&(dtp_parallel_t){.pool = c->pool->rec, .num_threads = JOBS}, JOBS, -JOB_NS,
                         meet_all, NULL);
        break;
    case RUNS: c->status = dtp_pool_run(c->pool->rec, JOBS, true, loop_of_run, NULL); break;
    default: c->status = dnnl_tp_executable_run(c->e, c->stream, 0, NULL, 0, NULL, NULL); break;
    }
    return NULL;
}

static void together(any_pool_t *p, way_t way, int w) {
    const int clients = w / JOBS;
    client_t client_of[MOST_CLIENTS];
    pthread_t thread[MOST_CLIENTS];
    CHECK_OK(dnnl_tp_stream_attr_set_max_threads(p->attr, JOBS));
    dnnl_tp_executable_t e[MOST_CLIENTS];
    for (int i = 0; i < clients; ++i) e[i] = compile(p->attr);
    /* Graphs learn in their first runs what closures cost. */
    for (int r = way == GRAPHS ? -LEARNING : 0; r < ROUNDS; ++r) {
        atomic_store(&inside, 0);
        atomic_store(&missed, 0);
        everybody = r < 0 ? 0 : w;
        for (int i = 0; i < clients; ++i) {
            client_of[i] = (client_t){.pool = p, .way = way, .e = e[i]};
            CHECK_OK(dnnl_tp_stream_create_v2(&client_of[i].stream, test_engine, 0, p->attr));
            assert_int_equal(pthread_create(&thread[i], NULL, client, &client_of[i]), 0);
        }
        for (int i = 0; i < clients; ++i) {
            pthread_join(thread[i], NULL);
            CHECK_OK(client_of[i].status);
            CHECK_OK(dnnl_tp_stream_destroy(client_of[i].stream));
        }
        if (atomic_load(&missed))
            fail_msg("%s, %d %s: round %d, some of %d threads did not come", p->name, clients, way_names[way],
                     r, w);
    }
    for (int i = 0; i < clients; ++i) dnnl_tp_executable_destroy(e[i]);
}

/* Many loops, runs or graphs at once, that together want all threads. */
static void nobody_is_idle(void **state) {
    (void)state;
    static const int kinds[] = {BUILT_IN, POOL_FIFO, POOL_LIFO, POOL_RUNS}, ws[] = {4, 8, 16, 64};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k)
        for (size_t i = 0; i < sizeof ws / sizeof *ws; ++i)
            for (int way = 0; way < WAYS; ++way) {
                any_pool_t p;
                if (way == GRAPHS && (!DTP_WITH_LEARNING || ws[i] > MOST_FOR_GRAPHS)) continue;
                watchdog(100, NULL);
                pool_open(&p, kinds[k], ws[i]);
                together(&p, (way_t)way, ws[i]);
                pool_close(&p);
            }
}

/* ---- A helper that another run holds ------------------------------------------------------------------ */

/* Two runs of two on three threads: the second misses the helper of the first, and its ticket, when it opens its
 * loop; the helper comes free while both openers are in their first chunks. */
static _Atomic int second_inside, second_met, first_inside;
static void wait_until(const _Atomic int *word, int least) {
    const int64_t until = dtp_now_ns() + LIMIT_NS;
    while (atomic_load(word) < least && dtp_now_ns() < until) usleep(500);
    if (atomic_load(word) < least) atomic_fetch_add(&missed, 1);
}
static void first_body(void *arg, int slot, int64_t begin, int64_t end) {
    (void)arg, (void)begin, (void)end;
    atomic_fetch_add(&first_inside, 1);
    if (slot) wait_until(&second_inside, 1);
    else wait_until(&second_met, 1);
}
static void second_body(void *arg, int slot, int64_t begin, int64_t end) {
    (void)arg, (void)slot, (void)begin, (void)end;
    atomic_fetch_add(&second_inside, 1);
    wait_until(&second_inside, 2);
    atomic_store(&second_met, 1);
}
static void loop_of_two(void *arg, const dtp_parallel_t *par) {
    dtp_parallel_for(par, 2, -JOB_NS, *(const dtp_loop_fn_t *)arg, NULL);
}
static void *first_of_two(void *arg) {
    const any_pool_t *p = arg;
    dtp_loop_fn_t fn = first_body;
    if (dtp_pool_run(p->rec, 2, true, loop_of_two, &fn)) atomic_fetch_add(&missed, 1);
    return NULL;
}
static void helper_goes_from_run_to_run(void **state) {
    (void)state;
    static const int kinds[] = {BUILT_IN, POOL_FIFO, POOL_LIFO, POOL_RUNS};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
        any_pool_t p;
        pthread_t thread;
        dtp_loop_fn_t fn = second_body;
        watchdog(100, NULL);
        pool_open(&p, kinds[k], 3);
        atomic_store(&missed, 0);
        atomic_store(&first_inside, 0);
        atomic_store(&second_inside, 0);
        atomic_store(&second_met, 0);
        assert_int_equal(pthread_create(&thread, NULL, first_of_two, &p), 0);
        wait_until(&first_inside, 2);
        CHECK_OK(dtp_pool_run(p.rec, 2, true, loop_of_two, &fn));
        pthread_join(thread, NULL);
        if (atomic_load(&missed)) fail_msg("%s: the helper did not come", p.name);
        pool_close(&p);
    }
}

/* ---- Hosts that have a loop only --------------------------------------------------------------------- */

static void sleep_then_loop(void *arg, const dtp_parallel_t *par) {
    (void)arg;
    for (int r = 0; r < ROUNDS; ++r) {
        usleep(5000); /* helpers fall asleep in the host's loop */
        atomic_store(&inside, 0);
        dtp_parallel_for(par, everybody, -JOB_NS, meet_all, NULL);
    }
}
static void sleepers_in_a_loop_are_called(void **state) {
    (void)state;
    static const int ws[] = {2, 4, 16, 64};
    for (int kind = POOL_LOOP; kind <= POOL_LOOP_IDLE_CALLER; ++kind)
        for (size_t i = 0; i < sizeof ws / sizeof *ws; ++i) {
            any_pool_t p;
            watchdog(100, NULL);
            pool_open(&p, kind, ws[i]);
            atomic_store(&missed, 0);
            everybody = ws[i];
            CHECK_OK(dtp_pool_run(p.rec, ws[i], true, sleep_then_loop, NULL));
            if (atomic_load(&missed)) fail_msg("%s: some did not come", p.name);
            pool_close(&p);
        }
}

/* A run whose helpers sleep in the host's loop, and another one that needs their thread to begin. */
static _Atomic int second_ran;
static void wait_for_second(void *arg, const dtp_parallel_t *par) {
    (void)arg, (void)par;
    const int64_t until = dtp_now_ns() + LIMIT_NS;
    atomic_store(&inside, 1);
    while (!atomic_load(&second_ran) && dtp_now_ns() < until) usleep(500);
    if (!atomic_load(&second_ran)) atomic_store(&missed, 1);
}
static void second_run(void *arg, const dtp_parallel_t *par) {
    (void)arg, (void)par;
    atomic_store(&second_ran, 1);
}
static void *first_client(void *arg) {
    dtp_pool_t *rec = arg;
    if (dtp_pool_run(rec, 2, true, wait_for_second, NULL)) atomic_store(&missed, 1);
    return NULL;
}
static void sleepers_make_room(void **state) {
    (void)state;
    for (int r = 0; r < ROUNDS; ++r) {
        any_pool_t p;
        pthread_t thread;
        watchdog(100, NULL);
        pool_open(&p, POOL_LOOP_IDLE_CALLER, 2);
        atomic_store(&missed, 0);
        atomic_store(&inside, 0);
        atomic_store(&second_ran, 0);
        assert_int_equal(pthread_create(&thread, NULL, first_client, p.rec), 0);
        while (!atomic_load(&inside)) usleep(500);
        if (r) usleep(5000);
        CHECK_OK(dtp_pool_run(p.rec, 2, true, second_run, NULL));
        pthread_join(thread, NULL);
        assert_int_equal(atomic_load(&missed), 0);
        pool_close(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(helper_goes_from_run_to_run), cmocka_unit_test(nobody_is_idle),
        cmocka_unit_test(sleepers_in_a_loop_are_called), cmocka_unit_test(sleepers_make_room)};
    return cmocka_run_group_tests(tests, test_engine_setup, test_engine_teardown);
}
