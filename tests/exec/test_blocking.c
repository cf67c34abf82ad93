/* Closures that block, on a pool with a blocking crew: W threads go on computing and never more, B closures
 * may wait for each other and for the rest of their graph, tickets are lent, runs end. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/check.h"
#include "support/watchdog.h"
#include "threading/futex.h"
#include "dnnl_tp/dnnl_tp_event.h"
#include "dnnl_tp/dnnl_tp_graph.h"
#include "dnnl_tp/dnnl_tp_session.h"

#define OK(expr) CHECK_OK(expr)
enum { MAX_B = 4, TIMEOUT_S = 120, EACH_OTHER_RUNS = 5 };

/* ---- Pools ------------------------------------------------------------------------------------------- */

typedef struct {
    dnnl_tp_threadpool_t pool;
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_attr_t attr;
    int w, b;
} place_t;

static void place_init(place_t *p, int w, int b) {
    dnnl_tp_threadpool_opts_t o = {.struct_size = sizeof o, .num_threads = w, .blocking_threads = b};
    *p = (place_t){.w = w, .b = b};
    OK(dnnl_tp_threadpool_create(&p->pool, &o));
    OK(dnnl_tp_engine_create(&p->engine, dnnl_tp_cpu, 0));
    OK(dnnl_tp_stream_attr_create(&p->attr, dnnl_tp_cpu));
    OK(dnnl_tp_stream_attr_set_builtin_threadpool(p->attr, p->pool));
}
static dnnl_tp_stream_t place_stream(place_t *p, bool async) {
    dnnl_tp_stream_t s;
    OK(dnnl_tp_stream_attr_set_async(p->attr, async));
    OK(dnnl_tp_stream_create_v2(&s, p->engine, dnnl_tp_stream_default_flags, p->attr));
    return s;
}
static dnnl_tp_executable_t place_compile(place_t *p, dnnl_tp_graph_t g, unsigned flags) {
    dnnl_tp_executable_t e;
    dnnl_tp_compile_opts_t o = {.struct_size = sizeof o, .stream_attr = p->attr, .flags = flags};
    OK(dnnl_tp_executable_compile(&e, g, p->engine, 0, NULL, &o));
    return e;
}
static dnnl_tp_threadpool_stats_t place_stats(place_t *p) {
    const dnnl_tp_threadpool_iface_t *iface;
    dnnl_tp_threadpool_stats_t s = {.struct_size = sizeof s};
    OK(dnnl_tp_threadpool_get_iface(p->pool, &iface));
    OK(dnnl_tp_threadpool_query(iface, &s));
    return s;
}
static void place_end(place_t *p) {
    dnnl_tp_threadpool_stats_t s = place_stats(p);
    assert_int_equal(s.blocked, 0);
    assert_int_equal(s.blocking_threads, p->b);
    assert_true(s.max_blocked <= p->b && s.max_running <= p->w && s.running <= p->w);
    dnnl_tp_stream_attr_destroy(p->attr);
    dnnl_tp_engine_destroy(p->engine);
    dnnl_tp_threadpool_destroy(p->pool);
}

/* ---- Closures ---------------------------------------------------------------------------------------- */

/* What closures of one graph share; a run's own words are in its input. */
typedef struct {
    _Atomic int computing, most; /* threads in closures that do not block */
    int w;
} shared_t;
typedef struct {
    _Atomic int64_t arrived, go, other;
} words_t; /* of a run */

#define ARGS                                                                                     \
    void *arg, const volatile int *should_stop, int nin, const dnnl_tp_host_arg_t *in, int nout, \
        const dnnl_tp_host_arg_t *out
#define USE_ARGS ((void)arg, (void)should_stop, (void)nin, (void)in, (void)nout, (void)out)

static dnnl_tp_status_t compute(ARGS) {
    shared_t *s = arg;
    USE_ARGS;
    int now = atomic_fetch_add(&s->computing, 1) + 1, most = atomic_load(&s->most);
    while (now > most && !atomic_compare_exchange_weak(&s->most, &most, now)) continue;
    float sum = 1;
    for (int i = 0; i < nin; ++i)
        if (in[i].info->data_type == dnnl_tp_f32) sum += *(float *)in[i].data;
    for (volatile int i = 0; i < 2000; ++i) continue;
    *(float *)out[0].data = sum;
    atomic_fetch_sub(&s->computing, 1);
    return dnnl_tp_success;
}

/* The run's words; they come as s64. */
static words_t *words_of(const dnnl_tp_host_arg_t *in) {
    words_t *w;
    memcpy(&w, in->data, sizeof w);
    return w;
}

static dnnl_tp_status_t open_gate(ARGS) {
    dnnl_tp_status_t status = compute(arg, should_stop, nin, in, nout, out);
    atomic_store(&words_of(in)->go, 1);
    return status;
}

static bool wait_until(_Atomic int64_t *word, int64_t value, const volatile int *should_stop) {
    while (atomic_load(word) < value) {
        if (dnnl_tp_should_stop(should_stop)) return false;
        usleep(100);
    }
    return true;
}

typedef struct {
    int64_t all; /* closures that must have come */
} gate_t;
/* Waits for its fellows, and for a node that nobody here computes. */
static dnnl_tp_status_t wait_for_all(ARGS) {
    const gate_t *g = arg;
    words_t *w = words_of(in);
    USE_ARGS;
    atomic_fetch_add(&w->arrived, 1);
    *(float *)out[0].data = 10;
    if (!wait_until(&w->arrived, g->all, should_stop)) return dnnl_tp_success;
    (void)wait_until(&w->go, 1, should_stop);
    return dnnl_tp_success;
}

static const dnnl_tp_tensor_info_t scalar = {.data_type = dnnl_tp_f32};

/* b closures that wait for each other if `together`, and for the last of a chain of `chain` computing ones;
 * after each of them three more; the output is the sum. */
static dnnl_tp_graph_t waiting_graph(shared_t *s, gate_t *g, int b, int chain, bool together) {
    dnnl_tp_graph_t graph;
    dnnl_tp_value_t x, v[2], sum = -1;
    g->all = together ? b : 1;
    OK(dnnl_tp_graph_create(&graph, dnnl_tp_cpu));
    OK(dnnl_tp_graph_input(graph, &x, "x", dnnl_tp_s64, 1, (dnnl_tp_dims_t){1}));
    for (int i = 0; i < b; ++i) {
        OK(dnnl_tp_graph_host(graph, wait_for_all, g, NULL, DNNL_TP_HOST_MAY_BLOCK, "wait", 1, &x, 1, &scalar,
                              &v[0]));
        for (int k = 0; k < 3; ++k)
            OK(dnnl_tp_graph_host(graph, compute, s, NULL, 0, "after", 1, &v[0], 1, &scalar, &v[0]));
        v[1] = sum;
        OK(dnnl_tp_graph_host(graph, compute, s, NULL, 0, "sum", sum < 0 ? 1 : 2, v, 1, &scalar, &sum));
    }
    OK(dnnl_tp_graph_host(graph, compute, s, NULL, 0, "first", 0, NULL, 1, &scalar, &v[1]));
    for (int k = 0; k < chain; ++k)
        OK(dnnl_tp_graph_host(graph, compute, s, NULL, 0, "chain", 1, &v[1], 1, &scalar, &v[1]));
    v[0] = x;
    OK(dnnl_tp_graph_host(graph, open_gate, s, NULL, 0, "gate", 2, v, 1, &scalar, &v[1]));
    v[0] = sum;
    OK(dnnl_tp_graph_host(graph, compute, s, NULL, 0, "end", 2, v, 1, &scalar, &sum));
    OK(dnnl_tp_graph_output(graph, sum, "y"));
    return graph;
}
static float waiting_result(int b, int chain) { return 14.f * b + (float)(chain + 2) + 1; }

static dnnl_tp_status_t run_words(dnnl_tp_executable_t e, dnnl_tp_stream_t stream, words_t *w, float *y,
                                  const dnnl_tp_run_opts_t *opts) {
    void *in[] = {&w}, *out[] = {y};
    return dnnl_tp_executable_run(e, stream, 1, in, 1, out, opts);
}

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

static dnnl_tp_status_t wait_other(ARGS) {
    words_t *w = words_of(in);
    USE_ARGS;
    atomic_fetch_add(&w->arrived, 1);
    if (!wait_until(&w->other, 1, should_stop)) return dnnl_tp_success;
    *(float *)out[0].data = 1;
    return dnnl_tp_success;
}
static dnnl_tp_status_t free_other(ARGS) {
    USE_ARGS;
    atomic_store(&words_of(in)->other, 1);
    *(float *)out[0].data = 1;
    return dnnl_tp_success;
}
/* n closures without successors but their sum. */
static dnnl_tp_graph_t plain_graph(dnnl_tp_host_fn_t fn, void *arg, unsigned flags, int n) {
    static shared_t nobody;
    dnnl_tp_graph_t g;
    dnnl_tp_value_t x, v[8];
    OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    OK(dnnl_tp_graph_input(g, &x, "x", dnnl_tp_s64, 1, (dnnl_tp_dims_t){1}));
    for (int i = 0; i < n; ++i)
        OK(dnnl_tp_graph_host(g, fn, arg, NULL, flags, "closure", 1, &x, 1, &scalar, &v[i]));
    OK(dnnl_tp_graph_host(g, compute, &nobody, NULL, 0, "sum", n, v, 1, &scalar, &v[0]));
    OK(dnnl_tp_graph_output(g, v[0], "y"));
    return g;
}

typedef struct {
    dnnl_tp_executable_t e;
    dnnl_tp_stream_t stream;
    words_t *words;
    const dnnl_tp_run_opts_t *opts;
    dnnl_tp_status_t status;
    char text[256];
    float y;
} one_t;
static void *one_run(void *arg) {
    one_t *o = arg;
    o->status = run_words(o->e, o->stream, o->words, &o->y, o->opts);
    snprintf(o->text, sizeof o->text, "%s", dnnl_tp_last_error());
    return NULL;
}

/* One thread, and the run that has it waits for another run: its ticket goes there. */
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

/* ---- Regions ----------------------------------------------------------------------------------------- */

static dnnl_tp_status_t nap(ARGS) {
    USE_ARGS;
    usleep(300);
    *(float *)out[0].data = nin && in[0].info->data_type == dnnl_tp_f32 ? *(float *)in[0].data + 1 : 1;
    return dnnl_tp_success;
}
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

static test_allocator_t allocator;

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
    if (DNNL_TP_CPU_RUNTIME != DNNL_TP_RUNTIME_THREADPOOL) {
        dnnl_tp_threadpool_t pool;
        dnnl_tp_threadpool_opts_t o = {.struct_size = sizeof o, .num_threads = 2, .blocking_threads = 1};
        return dnnl_tp_threadpool_create(&pool, &o) != dnnl_tp_unimplemented || pool;
    }
    test_allocator_init(&allocator);
    if (dnnl_tp_set_allocator(&allocator.iface)) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wait_for_each_other),
        cmocka_unit_test(test_clients),
        cmocka_unit_test(test_lent_ticket),
        cmocka_unit_test(test_many_async),
        cmocka_unit_test(test_cancel_and_deadline),
        cmocka_unit_test(test_error),
        cmocka_unit_test(test_regions),
        cmocka_unit_test(test_inside),
        cmocka_unit_test(test_without_crew),
        cmocka_unit_test(test_allocates_nothing),
        cmocka_unit_test(test_session),
        cmocka_unit_test(test_ends),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed || atomic_load(&allocator.live) != 0;
}
