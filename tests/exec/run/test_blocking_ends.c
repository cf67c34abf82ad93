/* Runs with closures that block: how they end early, what closures may call, memory, sessions, pools that
 * cannot be made. Closures that wait for each other: test_blocking.c. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "support/blocking.h"
#include "support/watchdog.h"
#include "threading/base/futex.h"
#include "dnnl_tp/dnnl_tp_event.h"
#include "dnnl_tp/dnnl_tp_session.h"

static test_allocator_t allocator;

/* ---- Ends -------------------------------------------------------------------------------------------- */

/* Cancelled, or late, while one closure waits and more could not begin; by the run itself or while another
 * run has the crew. */
static void test_cancel_and_deadline(void **state) {
    (void)state;
    for (int w = 1; w <= 2; ++w)
        for (int kind = 0; kind < 4; ++kind) { /* bit 0: deadline; bit 1: the crew is another run's */
            watchdog(TIMEOUT_S, NULL);
            place_t p;
            place_init(&p, w, 1);
            dnnl_tp_graph_t g = plain_graph(wait_other, NULL, DNNL_TP_HOST_MAY_BLOCK, 4);
            dnnl_tp_executable_t e = place_compile(&p, g, 0);
            words_t words = {0}, others = {0};
            dnnl_tp_cancel_t cancel;
            OK(dnnl_tp_cancel_create(&cancel));
            dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .cancel = cancel};
            one_t other = {.e = e, .stream = place_stream(&p, false), .words = &others},
                  mine = {.e = e, .stream = place_stream(&p, false), .words = &words, .opts = &o};
            pthread_t t, t2;
            if (kind & 2) {
                assert_int_equal(pthread_create(&t2, NULL, one_run, &other), 0);
                while (!atomic_load(&others.arrived)) usleep(100);
            }
            if (kind & 1) o.deadline_ns = dtp_now_ns() + 20000000;
            assert_int_equal(pthread_create(&t, NULL, one_run, &mine), 0);
            if (!(kind & 1)) {
                while (!(kind & 2) && !atomic_load(&words.arrived)) usleep(100);
                if (kind & 2) usleep(5000);
                OK(dnnl_tp_cancel_fire(cancel));
            }
            pthread_join(t, NULL);
            CHECK_STATUS(mine.status, kind & 1 ? dnnl_tp_deadline_exceeded : dnnl_tp_cancelled);
            assert_true(atomic_load(&words.arrived) <= 1);
            if (kind & 2) {
                assert_int_equal(atomic_load(&others.arrived), 1); /* still there */
                atomic_store(&others.other, 1);
                pthread_join(t2, NULL);
                OK(other.status);
                assert_true(other.y == 5);
            }
            /* The executable is as good as new. */
            float y;
            atomic_store(&words.other, 1);
            OK(run_words(e, mine.stream, &words, &y, NULL));
            assert_true(y == 5);
            dnnl_tp_cancel_destroy(cancel);
            dnnl_tp_stream_destroy(mine.stream);
            dnnl_tp_stream_destroy(other.stream);
            dnnl_tp_executable_destroy(e);
            dnnl_tp_graph_destroy(g);
            place_end(&p);
        }
}

static dnnl_tp_status_t say_no(ARGS) {
    USE_ARGS;
    *(float *)out[0].data = 1;
    if (atomic_fetch_add(&words_of(in)->arrived, 1) != 1) return dnnl_tp_success;
    usleep(1000);
    return dnnl_tp_unimplemented;
}

static void test_error(void **state) {
    (void)state;
    for (int w = 1; w <= 2; ++w)
        for (int async = 0; async < 2; ++async) {
            watchdog(TIMEOUT_S, NULL);
            place_t p;
            place_init(&p, w, 2);
            dnnl_tp_graph_t g = plain_graph(say_no, NULL, DNNL_TP_HOST_MAY_BLOCK, 5);
            dnnl_tp_executable_t e = place_compile(&p, g, 0);
            dnnl_tp_stream_t stream = place_stream(&p, async);
            for (int r = 0; r < 4; ++r) {
                words_t words = {0}, *at = &words;
                float y;
                void *in[] = {&at}, *out[] = {&y};
                if (async) {
                    dnnl_tp_event_t event;
                    dnnl_tp_status_t status;
                    OK(dnnl_tp_executable_run_async(e, stream, 1, in, 1, out, NULL, &event));
                    OK(dnnl_tp_event_wait(event, -1, &status));
                    assert_int_equal(status, dnnl_tp_unimplemented);
                    dnnl_tp_event_destroy(event);
                    CHECK_STATUS(dnnl_tp_stream_wait(stream), dnnl_tp_unimplemented);
                    OK(dnnl_tp_stream_reset(stream));
                } else {
                    CHECK_STATUS(dnnl_tp_executable_run(e, stream, 1, in, 1, out, NULL),
                                 dnnl_tp_unimplemented);
                }
                assert_non_null(strstr(dnnl_tp_last_error(), "'closure'"));
                atomic_store(&words.arrived, 10);
                words_t *again = &words;
                in[0] = &again;
                OK(dnnl_tp_executable_run(e, stream, 1, in, 1, out, NULL));
                assert_true(y == 6);
            }
            dnnl_tp_stream_destroy(stream);
            dnnl_tp_executable_destroy(e);
            dnnl_tp_graph_destroy(g);
            place_end(&p);
        }
}

/* ---- Inside closures --------------------------------------------------------------------------------- */

typedef struct {
    dnnl_tp_executable_t e;  /* of a graph with closures that block */
    dnnl_tp_stream_t stream; /* the closure's own */
    dnnl_tp_stream_t outer;
    dnnl_tp_primitive_t product;
    dnnl_tp_memory_desc_t md;
} inside_t;
/* After it blocked: a loop, a run in which others may block, and a wait that must be refused. */
static dnnl_tp_status_t work_inside(ARGS) {
    const inside_t *i = arg;
    enum { N = 256 };
    USE_ARGS;
    usleep(2000);
    static float a[N * N], b[N * N]; /* zeroes */
    float *c = malloc(sizeof(float) * N * N);
    for (int k = 0; k < N * N; ++k) c[k] = 1;
    dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, a}, {DNNL_TP_ARG_WEIGHTS, b}, {DNNL_TP_ARG_DST, c}};
    dnnl_tp_status_t status = dnnl_tp_primitive_execute_handles(i->product, i->stream, 3, args);
    bool right = status == dnnl_tp_success;
    for (int k = 0; k < N * N; ++k) right &= c[k] == 0;
    free(c);
    words_t words = {0};
    float y = 0;
    right &= run_words(i->e, i->stream, &words, &y, NULL) == dnnl_tp_success && y == 7;
    right &= dnnl_tp_stream_wait(i->outer) == dnnl_tp_would_deadlock;
    *(float *)out[0].data = right ? 1 : -100;
    return dnnl_tp_success;
}

static void test_inside(void **state) {
    (void)state;
    for (int w = 1; w <= 2; ++w)
        for (int b = 1; b <= 2; ++b) {
            watchdog(TIMEOUT_S, NULL);
            place_t p;
            place_init(&p, w, b);
            inside_t i = {0};
            enum { N = 256 };
            dnnl_tp_primitive_desc_t pd;
            OK(dnnl_tp_memory_desc_create_with_tag(&i.md, 2, (dnnl_tp_dims_t){N, N}, dnnl_tp_f32,
                                                   dnnl_tp_ab));
            OK(dnnl_tp_matmul_primitive_desc_create(&pd, p.engine, i.md, i.md, NULL, i.md, NULL));
            OK(dnnl_tp_primitive_create(&i.product, pd));
            dnnl_tp_graph_t inner = plain_graph(nap, NULL, DNNL_TP_HOST_MAY_BLOCK, 6);
            i.e = place_compile(&p, inner, 0);
            i.stream = place_stream(&p, false);
            i.outer = place_stream(&p, true);
            dnnl_tp_graph_t g = plain_graph(work_inside, &i, DNNL_TP_HOST_MAY_BLOCK, 1);
            dnnl_tp_executable_t e = place_compile(&p, g, 0);
            for (int r = 0; r < 4; ++r) {
                words_t words = {0}, *at = &words;
                float y = 0;
                void *in[] = {&at}, *out[] = {&y};
                dnnl_tp_event_t event;
                OK(dnnl_tp_executable_run_async(e, i.outer, 1, in, 1, out, NULL, &event));
                OK(dnnl_tp_event_wait(event, -1, NULL));
                assert_true(y == 2);
                dnnl_tp_event_destroy(event);
            }
            dnnl_tp_stream_destroy(i.outer);
            dnnl_tp_stream_destroy(i.stream);
            dnnl_tp_executable_destroy(e);
            dnnl_tp_executable_destroy(i.e);
            dnnl_tp_graph_destroy(g);
            dnnl_tp_graph_destroy(inner);
            dnnl_tp_primitive_destroy(i.product);
            dnnl_tp_primitive_desc_destroy(pd);
            dnnl_tp_memory_desc_destroy(i.md);
            place_end(&p);
        }
}

/* Without pool, on the caller, on a pool without a crew, in a session: closures run where they are met. */
static void test_without_crew(void **state) {
    (void)state;
    watchdog(TIMEOUT_S, NULL);
    for (int w = 0; w <= 2; ++w) {
        place_t p = {0};
        if (w) {
            place_init(&p, w, 0);
        } else {
            OK(dnnl_tp_engine_create(&p.engine, dnnl_tp_cpu, 0));
            OK(dnnl_tp_stream_attr_create(&p.attr, dnnl_tp_cpu));
            OK(dnnl_tp_stream_attr_set_threadpool(p.attr, NULL));
        }
        dnnl_tp_graph_t g = plain_graph(nap, NULL, DNNL_TP_HOST_MAY_BLOCK, 5);
        dnnl_tp_executable_t e = place_compile(&p, g, 0);
        dnnl_tp_stream_t stream = place_stream(&p, false);
        words_t words = {0};
        float y;
        OK(run_words(e, stream, &words, &y, NULL));
        assert_true(y == 6);
        dnnl_tp_stream_destroy(stream);
        dnnl_tp_executable_destroy(e);
        dnnl_tp_graph_destroy(g);
        if (w) {
            assert_int_equal(place_stats(&p).closures, 0);
            place_end(&p);
        } else {
            dnnl_tp_stream_attr_destroy(p.attr);
            dnnl_tp_engine_destroy(p.engine);
        }
    }
}

/* ---- Memory ------------------------------------------------------------------------------------------ */

/* Sessions give their pools a crew; a pool of the process keeps the one of its first session. */
static void test_session(void **state) {
    (void)state;
    watchdog(TIMEOUT_S, NULL);
    shared_t s = {.w = 1};
    gate_t gate;
    dnnl_tp_graph_t g = waiting_graph(&s, &gate, 2, 3, true);
    dnnl_tp_engine_t engine;
    OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    const dnnl_tp_session_pool_t pools[] = {{.num_threads = 1},
                                            {.num_threads = 2, .global_name = "blocking"}};
    dnnl_tp_session_opts_t o = {.struct_size = sizeof o, .npools = 2, .pools = pools, .blocking_threads = 2};
    dnnl_tp_session_t session, more;
    OK(dnnl_tp_session_create(&session, g, engine, &o));
    words_t words, *at = &words;
    float y;
    const dnnl_tp_feed_t feed = {"x", NULL, &at};
    const dnnl_tp_fetch_t fetch = {"y", &y};
    for (int r = 0; r < 4; ++r) {
        words = (words_t){0};
        dnnl_tp_session_run_opts_t run = {.struct_size = sizeof run, .pool_index = r % 2};
        OK(dnnl_tp_session_run(session, 1, &feed, 1, &fetch, 0, NULL, &run));
        assert_true(y == waiting_result(2, 3));
    }
    o.blocking_threads = 3;
    CHECK_STATUS(dnnl_tp_session_create(&more, g, engine, &o), dnnl_tp_invalid_arguments);
    assert_non_null(strstr(dnnl_tp_last_error(), "2 blocking threads, wanted are 3"));
    o.blocking_threads = 1;
    OK(dnnl_tp_session_create(&more, g, engine, &o));
    OK(dnnl_tp_session_destroy(more));
    o.blocking_threads = -1;
    CHECK_STATUS(dnnl_tp_session_create(&more, g, engine, &o), dnnl_tp_invalid_arguments);
    OK(dnnl_tp_session_destroy(session));
    dnnl_tp_engine_destroy(engine);
    dnnl_tp_graph_destroy(g);
}

static void test_allocates_nothing(void **state) {
    (void)state;
    watchdog(TIMEOUT_S, NULL);
    place_t p;
    shared_t s = {.w = 2};
    gate_t gate;
    place_init(&p, 2, 2);
    dnnl_tp_graph_t g = waiting_graph(&s, &gate, 2, 5, true);
    dnnl_tp_executable_t e = place_compile(&p, g, 0);
    dnnl_tp_stream_t stream = place_stream(&p, false);
    int64_t before = 0;
    for (int r = 0; r < 12; ++r) {
        words_t words = {0};
        float y = 0;
        OK(run_words(e, stream, &words, &y, NULL));
        assert_true(y == waiting_result(2, 5));
        if (r == 4) before = atomic_load(&allocator.total);
    }
    assert_int_equal(atomic_load(&allocator.total), before);
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_executable_destroy(e);
    dnnl_tp_graph_destroy(g);
    place_end(&p);
}

/* A pool whose last handle goes while runs are in flight, and a start that fails half way. */
static void test_ends(void **state) {
    (void)state;
    watchdog(TIMEOUT_S, NULL);
    for (int r = 0; r < 4; ++r) {
        place_t p;
        shared_t s = {.w = 1};
        gate_t gate;
        place_init(&p, 1 + r % 2, 2);
        dnnl_tp_graph_t g = waiting_graph(&s, &gate, 2, 5, true);
        dnnl_tp_executable_t e = place_compile(&p, g, 0);
        dnnl_tp_stream_t stream = place_stream(&p, true);
        dnnl_tp_stream_attr_destroy(p.attr);
        dnnl_tp_threadpool_destroy(p.pool);
        words_t words = {0}, *at = &words;
        float y = 0;
        void *in[] = {&at}, *out[] = {&y};
        dnnl_tp_event_t event;
        OK(dnnl_tp_executable_run_async(e, stream, 1, in, 1, out, NULL, &event));
        dnnl_tp_executable_destroy(e);
        dnnl_tp_graph_destroy(g);
        dnnl_tp_engine_destroy(p.engine);
        OK(dnnl_tp_stream_destroy(stream)); /* drains, then the pool ends */
        assert_true(y == waiting_result(2, 5));
        dnnl_tp_event_destroy(event);
    }
    for (int fail = 0; fail < 3; ++fail) {
        dnnl_tp_threadpool_t pool;
        dnnl_tp_threadpool_opts_t o = {.struct_size = sizeof o, .num_threads = 2, .blocking_threads = 2};
        atomic_store(&allocator.fail_at, fail);
        dnnl_tp_status_t status = dnnl_tp_threadpool_create(&pool, &o);
        atomic_store(&allocator.fail_at, -1);
        CHECK_STATUS(status, dnnl_tp_out_of_memory);
        assert_null(pool);
    }
}

int main(void) {
    if (DNNL_TP_CPU_RUNTIME != DNNL_TP_RUNTIME_THREADPOOL) return without_blocking_threads();
    test_allocator_init(&allocator);
    if (dnnl_tp_set_allocator(&allocator.iface)) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cancel_and_deadline),
        cmocka_unit_test(test_error),
        cmocka_unit_test(test_inside),
        cmocka_unit_test(test_without_crew),
        cmocka_unit_test(test_allocates_nothing),
        cmocka_unit_test(test_session),
        cmocka_unit_test(test_ends),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed || atomic_load(&allocator.live) != 0;
}
