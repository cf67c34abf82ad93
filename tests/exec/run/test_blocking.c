/* Closures that block, on a pool with a blocking crew: W threads go on computing and never more, B closures
 * may wait for each other and for the rest of their graph, tickets are lent. How such runs end, and closures
 * that use the library: test_blocking_ends.c. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "support/blocking.h"
#include "support/watchdog.h"
#include "threading/base/futex.h"
#include "dnnl_tp/dnnl_tp_event.h"
#include "dnnl_tp/dnnl_tp_session.h"

static test_allocator_t allocator;

/* ---- Waiting for each other -------------------------------------------------------------------------- */

static void test_wait_for_each_other(void **state) {
    (void)state;
    for (int w = 1; w <= 3; ++w)
        for (int b = 1; b <= MAX_B; ++b)
            for (int flags = 0; flags < 3; ++flags) {
                watchdog(TIMEOUT_S, NULL);
                place_t p;
                shared_t s = {.w = w};
                gate_t gate;
                place_init(&p, w, b);
                dnnl_tp_graph_t g = waiting_graph(&s, &gate, b, 5, true);
                dnnl_tp_executable_t e = place_compile(&p, g, flags == 1 ? DNNL_TP_COMPILE_NO_CLUSTERS : 0);
                if (flags == 2) OK(dnnl_tp_stream_attr_set_parallelism(p.attr, DNNL_TP_PARALLELISM_INTRA));
                dnnl_tp_stream_t stream = place_stream(&p, false);
                for (int r = 0; r < EACH_OTHER_RUNS; ++r) {
                    words_t words = {0};
                    float y = 0;
                    OK(run_words(e, stream, &words, &y, NULL));
                    assert_true(y == waiting_result(b, 5));
                }
                assert_true(atomic_load(&s.most) <= w);
                assert_int_equal(place_stats(&p).max_blocked, b);
                assert_true(place_stats(&p).closures == EACH_OTHER_RUNS * (unsigned)b);
                dnnl_tp_stream_destroy(stream);
                dnnl_tp_executable_destroy(e);
                dnnl_tp_graph_destroy(g);
                place_end(&p);
            }
}

/* ---- Many clients ------------------------------------------------------------------------------------ */

enum { CLIENTS = 4, CLIENT_RUNS = 6 };
typedef struct {
    dnnl_tp_executable_t e;
    dnnl_tp_stream_t stream;
    int b;
    bool wrong;
} client_t;
static void *client(void *arg) {
    client_t *c = arg;
    for (int r = 0; r < CLIENT_RUNS; ++r) {
        words_t words = {0};
        float y = 0;
        c->wrong |= run_words(c->e, c->stream, &words, &y, NULL) || y != waiting_result(c->b, 5);
    }
    return NULL;
}

/* More closures than threads for them: they wait as ready nodes. */
static void test_clients(void **state) {
    (void)state;
    for (int w = 1; w <= 3; ++w)
        for (int b = 1; b <= 2; ++b) {
            watchdog(TIMEOUT_S, NULL);
            place_t p;
            shared_t s = {.w = w};
            gate_t gate;
            place_init(&p, w, b);
            dnnl_tp_graph_t g = waiting_graph(&s, &gate, 3, 5, false);
            dnnl_tp_executable_t e = place_compile(&p, g, 0);
            client_t c[CLIENTS];
            pthread_t t[CLIENTS];
            for (int i = 0; i < CLIENTS; ++i) {
                c[i] = (client_t){e, place_stream(&p, i % 2), 3, false};
                assert_int_equal(pthread_create(&t[i], NULL, client, &c[i]), 0);
            }
            for (int i = 0; i < CLIENTS; ++i) {
                pthread_join(t[i], NULL);
                assert_false(c[i].wrong);
                dnnl_tp_stream_destroy(c[i].stream);
            }
            assert_true(atomic_load(&s.most) <= w);
            dnnl_tp_executable_destroy(e);
            dnnl_tp_graph_destroy(g);
            place_end(&p);
        }
}

/* ---- Runs that wait for other runs ------------------------------------------------------------------- */

static void test_lent_ticket(void **state) {
    (void)state;
    for (int async = 0; async < 4; ++async) { /* bit 0: the first run, bit 1: the second */
        watchdog(TIMEOUT_S, NULL);
        place_t p;
        place_init(&p, 1, 1);
        dnnl_tp_graph_t g = plain_graph(wait_other, NULL, DNNL_TP_HOST_MAY_BLOCK, 1),
                        g2 = plain_graph(free_other, NULL, 0, 1);
        dnnl_tp_executable_t e = place_compile(&p, g, 0), e2 = place_compile(&p, g2, 0);
        words_t words = {0}, *at = &words;
        one_t first = {.e = e, .stream = place_stream(&p, false), .words = &words};
        dnnl_tp_stream_t a = place_stream(&p, true), b = place_stream(&p, async & 2);
        dnnl_tp_event_t event = NULL, event2 = NULL;
        float y = 0, y2 = 0;
        void *in[] = {&at}, *out[] = {&y}, *out2[] = {&y2};
        pthread_t t;
        if (async & 1) OK(dnnl_tp_executable_run_async(e, a, 1, in, 1, out, NULL, &event));
        else assert_int_equal(pthread_create(&t, NULL, one_run, &first), 0);
        while (!atomic_load(&words.arrived)) usleep(100);
        if (async & 2) {
            OK(dnnl_tp_executable_run_async(e2, b, 1, in, 1, out2, NULL, &event2));
            /* Nobody helps by waiting. */
            while (!atomic_load(&words.other)) usleep(100);
            OK(dnnl_tp_event_wait(event2, -1, NULL));
            dnnl_tp_event_destroy(event2);
        } else {
            OK(dnnl_tp_executable_run(e2, b, 1, in, 1, out2, NULL));
        }
        if (async & 1) {
            dnnl_tp_status_t status;
            OK(dnnl_tp_event_wait(event, -1, &status));
            OK(status);
            dnnl_tp_event_destroy(event);
        } else {
            pthread_join(t, NULL);
            assert_int_equal(first.status, dnnl_tp_success);
            y = first.y;
        }
        assert_true(y == 2 && y2 == 2);
        dnnl_tp_stream_destroy(a);
        dnnl_tp_stream_destroy(b);
        dnnl_tp_stream_destroy(first.stream);
        dnnl_tp_executable_destroy(e);
        dnnl_tp_executable_destroy(e2);
        dnnl_tp_graph_destroy(g);
        dnnl_tp_graph_destroy(g2);
        place_end(&p);
    }
}

/* More runs of asynchronous streams than threads that own such: in turn, and others go on. */
static void test_many_async(void **state) {
    (void)state;
    enum { STREAMS = 6, EACH = 2 };
    for (int w = 1; w <= 2; ++w)
        for (int b = 1; b <= 2; ++b) {
            watchdog(TIMEOUT_S, NULL);
            place_t p;
            shared_t s = {.w = w};
            gate_t gate;
            place_init(&p, w, b);
            dnnl_tp_graph_t g = waiting_graph(&s, &gate, 2, 3, false);
            dnnl_tp_executable_t e = place_compile(&p, g, 0);
            dnnl_tp_stream_t stream[STREAMS];
            dnnl_tp_event_t event[STREAMS][EACH];
            static words_t words[STREAMS][EACH];
            words_t *at[STREAMS][EACH];
            float y[STREAMS][EACH];
            memset(words, 0, sizeof words);
            for (int i = 0; i < STREAMS; ++i) stream[i] = place_stream(&p, true);
            for (int k = 0; k < EACH; ++k)
                for (int i = 0; i < STREAMS; ++i) {
                    at[i][k] = &words[i][k];
                    void *in[] = {&at[i][k]}, *out[] = {&y[i][k]};
                    OK(dnnl_tp_executable_run_async(e, stream[i], 1, in, 1, out, NULL, &event[i][k]));
                }
            for (int i = 0; i < STREAMS; ++i)
                for (int k = 0; k < EACH; ++k) {
                    dnnl_tp_status_t status;
                    OK(dnnl_tp_event_wait(event[i][k], -1, &status));
                    OK(status);
                    assert_true(y[i][k] == waiting_result(2, 3));
                    dnnl_tp_event_destroy(event[i][k]);
                }
            for (int i = 0; i < STREAMS; ++i) dnnl_tp_stream_destroy(stream[i]);
            assert_true(atomic_load(&s.most) <= w);
            dnnl_tp_executable_destroy(e);
            dnnl_tp_graph_destroy(g);
            place_end(&p);
        }
}

/* ---- Regions ----------------------------------------------------------------------------------------- */

static dnnl_tp_status_t below(ARGS) {
    USE_ARGS;
    *(float *)out[0].data = *(float *)in[0].data < *(float *)arg;
    return dnnl_tp_success;
}

/* A cheap loop of naps, one of them under a condition: none of it runs in its fixed order on one thread. */
static void test_regions(void **state) {
    (void)state;
    enum { TURNS = 10 };
    static float end = TURNS, half = TURNS / 2;
    for (int w = 1; w <= 2; ++w)
        for (int window = 0; window <= 3; window += 3) {
            watchdog(TIMEOUT_S, NULL);
            place_t p;
            place_init(&p, w, 1);
            dnnl_tp_graph_t g, cond, body, then_region, else_region;
            dnnl_tp_value_t init, var, go, is_early, then_out, else_out, next, last;
            OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
            OK(dnnl_tp_graph_input(g, &init, "x", dnnl_tp_f32, 0, NULL));
            OK(dnnl_tp_graph_create_region(&cond, g));
            OK(dnnl_tp_graph_input(cond, &var, NULL, dnnl_tp_f32, 0, NULL));
            OK(dnnl_tp_graph_host(cond, below, &end, NULL, 0, "go", 1, &var, 1, &scalar, &go));
            OK(dnnl_tp_graph_create_region(&body, cond));
            OK(dnnl_tp_graph_host(body, below, &half, NULL, 0, "early", 1, &var, 1, &scalar, &is_early));
            OK(dnnl_tp_graph_create_region(&then_region, body));
            OK(dnnl_tp_graph_host(then_region, nap, NULL, NULL, DNNL_TP_HOST_MAY_BLOCK, "nap", 1, &var, 1,
                                  &scalar, &then_out));
            OK(dnnl_tp_graph_create_region(&else_region, body));
            OK(dnnl_tp_graph_host(else_region, nap, NULL, NULL, 0, "short", 1, &var, 1, &scalar, &else_out));
            OK(dnnl_tp_graph_if(body, "if", is_early, then_region, else_region, 1, &then_out, &else_out,
                                &next));
            OK(dnnl_tp_graph_while(g, "loop", cond, go, body, 1, &init, &var, &next, window, &last));
            OK(dnnl_tp_graph_output(g, last, "y"));
            dnnl_tp_executable_t e = place_compile(&p, g, 0);
            dnnl_tp_stream_t stream = place_stream(&p, false);
            for (int r = 0; r < 5; ++r) {
                float x = 0, y = 0;
                void *in[] = {&x}, *out[] = {&y};
                OK(dnnl_tp_executable_run(e, stream, 1, in, 1, out, NULL));
                assert_true(y == TURNS);
            }
            assert_int_equal(place_stats(&p).closures, 5 * TURNS / 2);
            dnnl_tp_stream_destroy(stream);
            dnnl_tp_executable_destroy(e);
            dnnl_tp_graph_destroy(then_region);
            dnnl_tp_graph_destroy(else_region);
            dnnl_tp_graph_destroy(body);
            dnnl_tp_graph_destroy(cond);
            dnnl_tp_graph_destroy(g);
            place_end(&p);
        }
}

int main(void) {
    if (DNNL_TP_CPU_RUNTIME != DNNL_TP_RUNTIME_THREADPOOL) return without_blocking_threads();
    test_allocator_init(&allocator);
    if (dnnl_tp_set_allocator(&allocator.iface)) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wait_for_each_other),
        cmocka_unit_test(test_clients),
        cmocka_unit_test(test_lent_ticket),
        cmocka_unit_test(test_many_async),
        cmocka_unit_test(test_regions),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed || atomic_load(&allocator.live) != 0;
}
