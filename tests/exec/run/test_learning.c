/* What runs teach about the cost of host closures, and what their authors may say: whether threads take part,
 * what starts first. Speed is measured by benchdnn/exec; here closures sleep, and one run of many has to show
 * it, so that a busy machine does no harm. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <cmocka.h>

#include "common/base/with.h"
#include "exec/run/executable.h"
#include "exec/dataflow/run/run.h"
#include "support/world.h"
#include "threading/base/futex.h"

#define OK(expr) assert_int_equal((expr), dnnl_tp_success)
enum { CLOSURES = 8, ATTEMPTS = 40, SLEEP_NS = 2000000 };

typedef struct {
    int sleep_ns;
    int begun; /* number among all of the run */
} closure_t;
static closure_t closures[CLOSURES + 1];
static atomic_int begun;

static dnnl_tp_status_t work(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                             int nout, const dnnl_tp_host_arg_t *out) {
    closure_t *c = arg;
    (void)stop, (void)nin, (void)in, (void)nout, (void)out;
    c->begun = atomic_fetch_add(&begun, 1);
    struct timespec t = {0, c->sleep_ns};
    if (c->sleep_ns) nanosleep(&t, NULL);
    return dnnl_tp_success;
}

/* ---- A graph of closures beside each other ----------------------------------------------------------- */

static int used = CLOSURES; /* closures of the graph */

/* cost: of closure i, or 0. */
static void compile(world_t *w, unsigned flags, const int64_t *cost) {
    dnnl_tp_graph_t g;
    OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    for (int i = 0; i < used; ++i) {
        dnnl_tp_tensor_info_t none = {.ndims = 1, .dims = {0}, .data_type = dnnl_tp_s32};
        dnnl_tp_value_t v;
        OK(dnnl_tp_graph_host(g, work, &closures[i], NULL, 0, "work", 0, NULL, 1, &none, &v));
        if (cost) OK(dnnl_tp_graph_host_cost(g, v, cost[i]));
    }
    dnnl_tp_compile_opts_t o = {.struct_size = sizeof o, .stream_attr = w->attr, .flags = flags};
    dnnl_tp_executable_destroy(w->e);
    OK(dnnl_tp_executable_compile(&w->e, g, w->engine, 0, NULL, &o));
    dnnl_tp_graph_destroy(g);
}

/* Runs; the number of threads that took part. */
static int run(world_t *w) {
    dnnl_tp_run_stats_t stats = {.struct_size = sizeof stats};
    dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .stats = &stats};
    atomic_store(&begun, 0);
    OK(dnnl_tp_executable_run(w->e, w->stream, 0, NULL, 0, NULL, &o));
    assert_int_equal(stats.num_events, used);
    assert_int_equal(atomic_load(&begun), used);
    return stats.num_participants;
}

static void set_sleep(int ns) {
    for (int i = 0; i < CLOSURES; ++i) closures[i].sleep_ns = ns;
}

/* Where it took many runs to learn, the next timed one is up to 256 runs away. */
static bool two_take_part(world_t *w) {
    for (int i = 0; i < 10 * ATTEMPTS; ++i)
        if (run(w) == 2) return true;
    return false;
}

/* ---- Tests ------------------------------------------------------------------------------------------- */

/* Few closures of which nothing is known get a second thread when they turn out to take long. */
static void test_long_closures(void **state) {
    static const unsigned flags[] = {0, DNNL_TP_COMPILE_NO_CLUSTERS};
    (void)state;
    if (!DTP_WITH_LEARNING) skip();
    world_t w;
    world_init(&w, 2);
    set_sleep(SLEEP_NS);
    for (int f = 0; f < 2; ++f) {
        compile(&w, flags[f], NULL);
        assert_true(two_take_part(&w));
    }
    world_end(&w);
}

static dnnl_tp_status_t next(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                             int nout, const dnnl_tp_host_arg_t *out) {
    *(int32_t *)out[0].data = *(const int32_t *)in[0].data - 1;
    return work(arg, stop, nin, in, nout, out);
}

/* The same inside a loop: two closures per iteration. */
static void test_long_iterations(void **state) {
    enum { VARS = 3, TRIPS = 4, MOST = 16 };
    static const unsigned flags[] = {0, DNNL_TP_COMPILE_NO_CLUSTERS};
    static const dnnl_tp_tensor_info_t number = {.ndims = 0, .data_type = dnnl_tp_s32};
    (void)state;
    for (int i = 0; i < VARS; ++i) closures[i].sleep_ns = i ? SLEEP_NS : 0;
    for (int f = 0; f < 2; ++f) {
        world_t w;
        world_init(&w, 2);
        dnnl_tp_graph_t g, cond, body;
        dnnl_tp_value_t x, init[VARS], in[VARS], out[VARS], y[VARS];
        OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
        OK(dnnl_tp_graph_input(g, &x, "x", dnnl_tp_s32, 0, NULL));
        OK(dnnl_tp_graph_create_region(&cond, g));
        for (int i = 0; i < VARS; ++i) {
            init[i] = x;
            OK(dnnl_tp_graph_input(cond, &in[i], NULL, dnnl_tp_s32, 0, NULL));
        }
        OK(dnnl_tp_graph_create_region(&body, cond));
        for (int i = 0; i < VARS; ++i)
            OK(dnnl_tp_graph_host(body, next, &closures[i], NULL, 0, "next", 1, &in[i], 1, &number, &out[i]));
        OK(dnnl_tp_graph_while(g, NULL, cond, in[0], body, VARS, init, in, out, 1, y));
        for (int i = 0; i < VARS; ++i) OK(dnnl_tp_graph_output(g, y[i], NULL));
        dnnl_tp_compile_opts_t c = {.struct_size = sizeof c, .stream_attr = w.attr, .flags = flags[f]};
        OK(dnnl_tp_executable_compile(&w.e, g, w.engine, 0, NULL, &c));
        dnnl_tp_graph_destroy(body);
        dnnl_tp_graph_destroy(cond);
        dnnl_tp_graph_destroy(g);
        bool two = false;
        for (int i = 0; i < 10 * ATTEMPTS && !two; ++i) {
            int32_t trips = TRIPS, result[VARS];
            void *args[1] = {&trips}, *results[VARS] = {&result[0], &result[1], &result[2]};
            dnnl_tp_trace_event_t events[MOST];
            dnnl_tp_run_stats_t stats = {.struct_size = sizeof stats, .events = events, .max_events = MOST};
            dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .stats = &stats};
            OK(dnnl_tp_executable_run(w.e, w.stream, 1, args, VARS, results, &o));
            for (int v = 0; v < VARS; ++v) assert_int_equal(result[v], 0);
            two = stats.num_participants == 2;
        }
        assert_true(two);
        world_end(&w);
    }
}

/* Short ones are soon run in order on one thread; when they get long, threads come back. */
static void test_change(void **state) {
    (void)state;
    if (!DTP_WITH_LEARNING) skip();
    world_t w;
    world_init(&w, 2);
    used = 2; /* so few that threads never pay, with sanitizers too */
    set_sleep(0);
    compile(&w, 0, NULL);
    dtp_run_t *r = dtp_table_get(&w.e->runs, 0);
    assert_non_null(w.e->dataflow);
    /* Timed runs get rare, and one that a busy machine stretches tells of long closures. */
    bool in_order = false;
    for (int i = 0; i < 256 * ATTEMPTS && !in_order; ++i) {
        (void)run(&w);
        in_order = dtp_dataflow_prefers_order(r->dataflow);
    }
    assert_true(in_order);
    set_sleep(SLEEP_NS);
    assert_true(two_take_part(&w));
    used = CLOSURES;
    world_end(&w);
}

/* Takes 0.3 us, and 1.2 where another one runs beside it: two threads are slower than one, which no cost of a node tells. */
static atomic_int inside, helped;
static pthread_t caller;
static dnnl_tp_status_t beside(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                               int nout, const dnnl_tp_host_arg_t *out) {
    enum { ALONE_NS = 300, BESIDE_NS = 1200 };
    (void)stop, (void)nin, (void)in, (void)nout, (void)out;
    const struct timespec t = {0, SLEEP_NS};
    if (arg && atomic_load((atomic_bool *)arg)) nanosleep(&t, NULL);
    const int64_t begin = dtp_ticks();
    bool other = atomic_fetch_add(&inside, 1) > 0;
    if (!pthread_equal(pthread_self(), caller)) atomic_fetch_add(&helped, 1);
    for (;;) {
        other |= atomic_load(&inside) > 1;
        if (dtp_ticks() - begin > dtp_ticks_of_ns(other ? BESIDE_NS : ALONE_NS)) break;
    }
    atomic_fetch_sub(&inside, 1);
    return dnnl_tp_success;
}

/* Short closures that two threads hinder are soon left to one, but for a few runs that look whether that is still so. When
 * one in eight begins to sleep, threads come back. */
static void test_hindered(void **state) {
    enum { WIDE = 64, RUNS = 1000, FEW = RUNS / 8, FEW_SHARED = 8 };
    static const unsigned flags[] = {0, DNNL_TP_COMPILE_NO_CLUSTERS};
    (void)state;
    if (!DTP_WITH_LEARNING) skip();
    static atomic_bool sleeps;
    caller = pthread_self();
    for (int f = 0; f < 2; ++f) {
        world_t w;
        world_init(&w, 2);
        dnnl_tp_graph_t g;
        OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
        for (int i = 0; i < WIDE; ++i) {
            dnnl_tp_tensor_info_t none = {.ndims = 1, .dims = {0}, .data_type = dnnl_tp_s32};
            dnnl_tp_value_t v;
            OK(dnnl_tp_graph_host(g, beside, i % CLOSURES ? NULL : &sleeps, NULL, 0, "beside", 0, NULL, 1,
                                  &none, &v));
        }
        dnnl_tp_compile_opts_t o = {.struct_size = sizeof o, .stream_attr = w.attr, .flags = flags[f]};
        OK(dnnl_tp_executable_compile(&w.e, g, w.engine, 0, NULL, &o));
        dnnl_tp_graph_destroy(g);
        int shared = RUNS;
        for (int i = 0; i < ATTEMPTS && shared > FEW; ++i) {
            shared = 0;
            for (int k = 0; k < RUNS; ++k) {
                atomic_store(&helped, 0);
                OK(dnnl_tp_executable_run(w.e, w.stream, 0, NULL, 0, NULL, NULL));
                shared += atomic_load(&helped) > 0;
            }
        }
        if (shared > FEW) fail_msg("flags %u: %d of %d runs were shared", flags[f], shared, RUNS);
        atomic_store(&sleeps, true);
        shared = 0;
        for (int k = 0; k < ATTEMPTS && shared < FEW_SHARED; ++k) {
            atomic_store(&helped, 0);
            OK(dnnl_tp_executable_run(w.e, w.stream, 0, NULL, 0, NULL, NULL));
            shared = atomic_load(&helped) > 0 ? shared + 1 : 0;
        }
        atomic_store(&sleeps, false);
        if (shared < FEW_SHARED) fail_msg("flags %u: one thread although closures sleep", flags[f]);
        world_end(&w);
    }
}

/* The closure that takes longest is the first one to start. */
static void test_longest_first(void **state) {
    (void)state;
    if (!DTP_WITH_LEARNING) skip();
    world_t w;
    world_init(&w, 2);
    compile(&w, DNNL_TP_COMPILE_NO_CLUSTERS, NULL);
    for (int dear = 0; dear < CLOSURES; dear += CLOSURES - 1) {
        set_sleep(0);
        closures[dear].sleep_ns = SLEEP_NS;
        bool first = false;
        for (int i = 0; i < 16 * ATTEMPTS && !first; ++i) {
            (void)run(&w);
            first = closures[dear].begun == 0;
        }
        assert_true(first);
    }
    world_end(&w);
}

/* The same at once, if its author says so, on one thread too. */
static void test_hint(void **state) {
    (void)state;
    world_t w;
    world_init(&w, 0);
    set_sleep(0);
    for (int dear = 0; dear < CLOSURES; ++dear) {
        int64_t cost[CLOSURES] = {0};
        cost[dear] = 1000000;
        compile(&w, DNNL_TP_COMPILE_NO_CLUSTERS, cost);
        (void)run(&w);
        assert_int_equal(closures[dear].begun, 0);
    }
    world_end(&w);
    /* Closures that are said to be short need no threads. */
    static const int64_t cheap[CLOSURES] = {10, 10, 10, 10, 10, 10, 10, 10};
    world_init(&w, 2);
    compile(&w, 0, cheap);
    assert_false(w.e->by_counters);
    compile(&w, 0, NULL);
    assert_true(w.e->by_counters);
    world_end(&w);
}

/* Learning looks at all nodes, so runs of a few nodes of a large graph are timed seldom. */
static void test_large(void **state) {
    enum { CHAINS = 100, LENGTH = 100, RUNS = 600, TIMED = 6 };
    static const dnnl_tp_tensor_info_t number = {.ndims = 0, .data_type = dnnl_tp_s32};
    (void)state;
    if (!DTP_WITH_LEARNING) skip();
    world_t w;
    world_init(&w, 2);
    set_sleep(0);
    dnnl_tp_graph_t g, yes, no;
    dnnl_tp_value_t x, y;
    OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    OK(dnnl_tp_graph_input(g, &x, "x", dnnl_tp_s32, 0, NULL));
    OK(dnnl_tp_graph_create_region(&yes, g));
    OK(dnnl_tp_graph_create_region(&no, g));
    for (int i = 0; i < CHAINS; ++i) {
        dnnl_tp_value_t v = x;
        for (int k = 0; k < LENGTH; ++k)
            OK(dnnl_tp_graph_host(yes, next, &closures[0], NULL, 0, "next", 1, &v, 1, &number, &v));
        OK(dnnl_tp_graph_target(yes, v));
    }
    OK(dnnl_tp_graph_if(g, NULL, x, yes, no, 1, &x, &x, &y));
    OK(dnnl_tp_graph_output(g, y, NULL));
    dnnl_tp_compile_opts_t c = {
        .struct_size = sizeof c, .stream_attr = w.attr, .flags = DNNL_TP_COMPILE_NO_CLUSTERS};
    OK(dnnl_tp_executable_compile(&w.e, g, w.engine, 0, NULL, &c));
    dnnl_tp_graph_destroy(yes);
    dnnl_tp_graph_destroy(no);
    dnnl_tp_graph_destroy(g);
    const dtp_dataflow_learn_t *learn = &((dtp_run_t *)dtp_table_get(&w.e->runs, 0))->dataflow->learn;
    int timed = 0;
    for (int i = 0; i < RUNS; ++i) {
        int32_t zero = 0, result = 1;
        void *in[1] = {&zero}, *out[1] = {&result};
        uint32_t planned = learn->next;
        OK(dnnl_tp_executable_run(w.e, w.stream, 1, in, 1, out, NULL));
        assert_int_equal(result, 0);
        timed += learn->next != planned;
    }
    assert_true(learn->on && timed >= 1 && timed <= TIMED);
    world_end(&w);
}

static void test_refusals(void **state) {
    (void)state;
    dnnl_tp_graph_t g;
    dnnl_tp_value_t in, v, x;
    OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    dnnl_tp_dims_t dims = {1};
    OK(dnnl_tp_graph_input(g, &in, "x", dnnl_tp_f32, 1, dims));
    dnnl_tp_tensor_info_t info = {.ndims = 1, .dims = {1}, .data_type = dnnl_tp_f32};
    OK(dnnl_tp_graph_host(g, work, &closures[0], NULL, 0, "work", 0, NULL, 1, &info, &v));
    OK(dnnl_tp_graph_op(g, dnnl_tp_op_abs, "op", 1, &in, 0, NULL, 1, &x));
    assert_int_equal(dnnl_tp_graph_host_cost(g, v, -1), dnnl_tp_invalid_arguments);
    assert_int_equal(dnnl_tp_graph_host_cost(g, x, 1), dnnl_tp_invalid_arguments);
    assert_int_equal(dnnl_tp_graph_host_cost(g, in, 1), dnnl_tp_invalid_arguments);
    assert_int_equal(dnnl_tp_graph_host_cost(g, 99, 1), dnnl_tp_invalid_arguments);
    assert_int_equal(dnnl_tp_graph_host_cost(NULL, v, 1), dnnl_tp_invalid_arguments);
    OK(dnnl_tp_graph_host_cost(g, v, 1));
    OK(dnnl_tp_graph_host_cost(g, v, 0));
    dnnl_tp_graph_destroy(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_closures), cmocka_unit_test(test_long_iterations),
        cmocka_unit_test(test_change),        cmocka_unit_test(test_longest_first),
        cmocka_unit_test(test_hindered),      cmocka_unit_test(test_hint),
        cmocka_unit_test(test_large),         cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
