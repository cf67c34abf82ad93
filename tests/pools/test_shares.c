/* Who gets threads and tickets of a built-in pool, and when: variables of a loop of a graph, a loop that begins while runs
 * hold all tickets, a run that comes while the owner of another one has nothing to do. Work waits until those whom it
 * expects are there, so a thread that nobody calls, or a ticket that nobody gives away, is a failure. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "dnnl_tp/dnnl_tp_graph.h"
#include "support/check.h"
#include "support/streams.h"
#include "support/watchdog.h"
#include "threading/base/futex.h"
#include "threading/streams/stream_attr.h"

static const int64_t LIMIT_NS = 10000000000, JOB_NS = 2000000;
static _Atomic int missed;

static bool came(const _Atomic int *count, int n) {
    const int64_t until = dtp_now_ns() + LIMIT_NS;
    while (atomic_load(count) < n) {
        if (atomic_load(&missed) || dtp_now_ns() > until) {
            atomic_fetch_add(&missed, 1);
            return false;
        }
        usleep(200);
    }
    return true;
}

typedef struct {
    dnnl_tp_threadpool_t pool;
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_stream_t stream;
    dtp_pool_t *rec;
} bed_t;
static void bed_open(bed_t *b, int w) {
    b->pool = test_pool(w);
    CHECK_OK(dnnl_tp_stream_attr_create(&b->attr, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_stream_attr_set_threadpool(b->attr, test_pool_iface(b->pool)));
    CHECK_OK(dnnl_tp_stream_create_v2(&b->stream, test_engine, 0, b->attr));
    CHECK_OK(dtp_pool_acquire(&b->rec, b->attr));
    atomic_store(&missed, 0);
    watchdog(100, NULL);
}
static void bed_close(bed_t *b) {
    dtp_pool_release(b->rec);
    CHECK_OK(dnnl_tp_stream_destroy(b->stream));
    CHECK_OK(dnnl_tp_stream_attr_destroy(b->attr));
    dnnl_tp_threadpool_destroy(b->pool);
    assert_int_equal(atomic_load(&missed), 0);
}
static void run(bed_t *b, dnnl_tp_graph_t g, int n, void **in) {
    dnnl_tp_executable_t e;
    const dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts, .stream_attr = b->attr};
    CHECK_OK(dnnl_tp_executable_compile(&e, g, test_engine, 0, NULL, &opts));
    CHECK_OK(dnnl_tp_executable_run(e, b->stream, n, in, 0, NULL, NULL));
    CHECK_OK(dnnl_tp_executable_destroy(e));
}

/* ---- Variables of a loop ----------------------------------------------------------------------------- */

enum { VARS = 3, TRIPS = 40, WINDOW = 8 };
static _Atomic int in_trip[TRIPS];
static dnnl_tp_status_t next_number(void *arg, const volatile int *stop, int nin,
                                    const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    const int32_t k = *(const int32_t *)in[0].data;
    (void)arg, (void)stop, (void)nin, (void)nout;
    atomic_fetch_add(&in_trip[k], 1);
    (void)came(&in_trip[k], VARS);
    *(int32_t *)out[0].data = k + 1;
    return dnnl_tp_success;
}
static dnnl_tp_status_t is_not_last(void *arg, const volatile int *stop, int nin,
                                    const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    (void)arg, (void)stop, (void)nin, (void)nout;
    *(int32_t *)out[0].data = *(const int32_t *)in[0].data < TRIPS;
    return dnnl_tp_success;
}
static dnnl_tp_value_t number_of(dnnl_tp_graph_t g, dnnl_tp_host_fn_t fn, dnnl_tp_value_t from, int64_t ns) {
    const dnnl_tp_tensor_info_t number = {0, {0}, dnnl_tp_s32};
    dnnl_tp_value_t v;
    CHECK_OK(dnnl_tp_graph_host(g, fn, NULL, NULL, 0, NULL, 1, &from, 1, &number, &v));
    CHECK_OK(dnnl_tp_graph_host_cost(g, v, ns));
    return v;
}
static dnnl_tp_value_t number_input(dnnl_tp_graph_t g) {
    dnnl_tp_value_t v;
    const dnnl_tp_dims_t none = {0};
    CHECK_OK(dnnl_tp_graph_input(g, &v, NULL, dnnl_tp_s32, 0, none));
    return v;
}
static void variables_have_threads(void **state) {
    (void)state;
    bed_t b;
    dnnl_tp_graph_t g, cond, body;
    dnnl_tp_value_t init[VARS], in[VARS], next[VARS], out[VARS];
    bed_open(&b, VARS + 1);
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_create_region(&cond, g));
    init[0] = number_input(g);
    for (int j = 0; j < VARS; ++j) {
        init[j] = init[0];
        in[j] = number_input(cond);
    }
    const dnnl_tp_value_t more = number_of(cond, is_not_last, in[0], 100);
    CHECK_OK(dnnl_tp_graph_create_region(&body, cond));
    for (int j = 0; j < VARS; ++j) next[j] = number_of(body, next_number, in[j], JOB_NS);
    CHECK_OK(dnnl_tp_graph_while(g, NULL, cond, more, body, VARS, init, in, next, WINDOW, out));
    for (int j = 0; j < VARS; ++j) CHECK_OK(dnnl_tp_graph_target(g, out[j]));
    dnnl_tp_graph_destroy(body);
    dnnl_tp_graph_destroy(cond);
    int32_t zero = 0;
    run(&b, g, 1, (void *[]){&zero});
    dnnl_tp_graph_destroy(g);
    for (int k = 0; k < TRIPS; ++k) assert_int_equal(atomic_load(&in_trip[k]), VARS);
    bed_close(&b);
}

/* ---- Tickets that come later ------------------------------------------------------------------------- */

enum { W = 4, ITERATIONS = 200 };
static _Atomic int holding, may_end, in_loop;
static void hold(void *arg, const dtp_parallel_t *par) {
    (void)arg, (void)par;
    atomic_fetch_add(&holding, 1);
    (void)came(&may_end, 1);
}
static void *holder(void *rec) {
    if (dtp_pool_run(rec, 1, true, hold, NULL)) atomic_fetch_add(&missed, 1);
    return NULL;
}
static void look_for_others(void *arg, int slot, int64_t begin, int64_t end) {
    (void)arg, (void)begin, (void)end;
    if (slot) {
        atomic_store(&in_loop, 1);
        return;
    }
    atomic_store(&may_end, 1);
    if (!atomic_load(&in_loop)) usleep((unsigned)(JOB_NS / 1000));
}
static void long_loop(void *arg, const dtp_parallel_t *par) {
    (void)arg;
    (void)came(&holding, W - 1);
    dtp_parallel_for(par, ITERATIONS, -JOB_NS, look_for_others, NULL);
}
static void loop_gets_tickets_later(void **state) {
    (void)state;
    bed_t b;
    pthread_t thread[W - 1];
    bed_open(&b, W);
    for (int i = 0; i < W - 1; ++i) assert_int_equal(pthread_create(&thread[i], NULL, holder, b.rec), 0);
    CHECK_OK(dtp_pool_run(b.rec, W, true, long_loop, NULL));
    for (int i = 0; i < W - 1; ++i) pthread_join(thread[i], NULL);
    assert_int_equal(atomic_load(&in_loop), 1);
    bed_close(&b);
}

/* ---- The ticket of an owner that has nothing to do --------------------------------------------------- */

static pthread_t owner;
static _Atomic int helper_is_in, other_ran;
static dnnl_tp_status_t wait_for_other(void *arg, const volatile int *stop, int nin,
                                       const dnnl_tp_host_arg_t *in, int nout,
                                       const dnnl_tp_host_arg_t *out) {
    (void)arg, (void)stop, (void)nin, (void)in, (void)nout, (void)out;
    if (pthread_equal(pthread_self(), owner)) {
        (void)came(&helper_is_in, 1);
    } else {
        atomic_store(&helper_is_in, 1);
        (void)came(&other_ran, 1);
    }
    return dnnl_tp_success;
}
static void other(void *arg, const dtp_parallel_t *par) {
    (void)arg, (void)par;
    atomic_store(&other_ran, 1);
}
static void *other_client(void *rec) {
    (void)came(&helper_is_in, 1);
    if (dtp_pool_run(rec, 1, true, other, NULL)) atomic_fetch_add(&missed, 1);
    return NULL;
}
static void owner_lends_its_ticket(void **state) {
    (void)state;
    bed_t b;
    pthread_t thread;
    dnnl_tp_graph_t g;
    dnnl_tp_value_t v;
    const dnnl_tp_tensor_info_t none = {1, {0}, dnnl_tp_f32};
    bed_open(&b, 2);
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    for (int i = 0; i < 2; ++i) {
        CHECK_OK(dnnl_tp_graph_host(g, wait_for_other, NULL, NULL, 0, NULL, 0, NULL, 1, &none, &v));
        CHECK_OK(dnnl_tp_graph_host_cost(g, v, JOB_NS));
    }
    owner = pthread_self();
    assert_int_equal(pthread_create(&thread, NULL, other_client, b.rec), 0);
    run(&b, g, 0, NULL);
    pthread_join(thread, NULL);
    dnnl_tp_graph_destroy(g);
    dnnl_tp_threadpool_stats_t s = {.struct_size = sizeof s};
    CHECK_OK(dnnl_tp_threadpool_query(test_pool_iface(b.pool), &s));
    assert_true(s.max_running <= 2);
    bed_close(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(variables_have_threads),
                                       cmocka_unit_test(loop_gets_tickets_later),
                                       cmocka_unit_test(owner_lends_its_ticket)};
    return cmocka_run_group_tests(tests, test_engine_setup, test_engine_teardown);
}
