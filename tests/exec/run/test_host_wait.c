/* Operators that wait for events (dnnl_tp_host_wait_event) without a thread: many at once on one thread, in control flow,
 * on every pool; how such runs end; what is refused. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dnnl_tp/dnnl_tp_event.h"
#include "dnnl_tp/dnnl_tp_graph.h"
#include "support/check.h"
#include "support/hostile_pools.h"
#include "support/streams.h"
#include "support/watchdog.h"
#include "threading/base/futex.h"

#define ARGS                                                                                     \
    void *arg, const volatile int *should_stop, int nin, const dnnl_tp_host_arg_t *in, int nout, \
        const dnnl_tp_host_arg_t *out
#define USE_ARGS (void)arg, (void)should_stop, (void)nin, (void)in, (void)nout, (void)out
enum { MANY = 1000, PER_SUM = 50, TIMEOUT_S = 100 };

/* What the program has for each of its waiting operators: the event, and what comes with it. */
typedef struct {
    dnnl_tp_event_t event;
    float brings;
} slot_t;
typedef struct {
    slot_t slot[MANY];
    _Atomic int started, n;
} box_t;

static const dnnl_tp_tensor_info_t scalar = {.data_type = dnnl_tp_f32};

/* The next slot of the box: its number goes on in the tensor, its bytes are for who comes behind. */
static dnnl_tp_status_t start(ARGS) {
    USE_ARGS;
    box_t *b = arg;
    const int i = atomic_fetch_add(&b->started, 1) % atomic_load(&b->n);
    *(float *)out[0].data = (float)i;
    return dnnl_tp_host_wait_event(should_stop, b->slot[i].event);
}
static dnnl_tp_status_t fetch(ARGS) {
    USE_ARGS;
    const box_t *b = arg;
    *(float *)out[0].data = b->slot[(int)*(float *)in[0].data].brings;
    return dnnl_tp_success;
}
static dnnl_tp_status_t sum(ARGS) {
    USE_ARGS;
    float s = 0;
    for (int i = 0; i < nin; ++i) s += *(float *)in[i].data;
    *(float *)out[0].data = s;
    return dnnl_tp_success;
}

static void box_init(box_t *b, int n) {
    memset(b, 0, sizeof *b);
    atomic_store(&b->n, n);
    for (int i = 0; i < n; ++i) b->slot[i] = (slot_t){test_host_event(), 0};
}
static void box_end(box_t *b) {
    for (int i = 0; i < b->n; ++i) CHECK_OK(dnnl_tp_event_destroy(b->slot[i].event));
}
static void bring(box_t *b, int i) {
    b->slot[i].brings = (float)(i + 1);
    CHECK_OK(dnnl_tp_event_signal(b->slot[i].event, dnnl_tp_success));
}

/* n operators that wait, and the sum of what they bring. */
static dnnl_tp_graph_t waiting_graph(box_t *b, int n) {
    dnnl_tp_graph_t g;
    dnnl_tp_value_t part[PER_SUM], all[PER_SUM], x;
    int k = 0, nall = 0;
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &x, "x", dnnl_tp_f32, 1, (dnnl_tp_dims_t){1}));
    for (int i = 0; i < n; ++i) {
        CHECK_OK(dnnl_tp_graph_host(g, start, b, NULL, DNNL_TP_HOST_MAY_WAIT, "start", 0, NULL, 1, &scalar,
                                    &part[k]));
        CHECK_OK(dnnl_tp_graph_host(g, fetch, b, NULL, 0, "fetch", 1, &part[k], 1, &scalar, &part[k]));
        if (++k < PER_SUM && i + 1 < n) continue;
        CHECK_OK(dnnl_tp_graph_host(g, sum, NULL, NULL, 0, "sum", k, part, 1, &scalar, &all[nall++]));
        k = 0;
    }
    CHECK_OK(dnnl_tp_graph_host(g, sum, NULL, NULL, 0, "all", nall, all, 1, &scalar, &x));
    CHECK_OK(dnnl_tp_graph_output(g, x, "y"));
    return g;
}
static dnnl_tp_executable_t compile(dnnl_tp_graph_t g, const dnnl_tp_threadpool_iface_t *pool) {
    dnnl_tp_executable_t e;
    dnnl_tp_stream_attr_t attr;
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    if (pool) CHECK_OK(dnnl_tp_stream_attr_set_threadpool(attr, pool));
    dnnl_tp_compile_opts_t o = {.struct_size = sizeof o, .stream_attr = attr};
    CHECK_OK(dnnl_tp_executable_compile(&e, g, test_engine, 0, NULL, &o));
    dnnl_tp_stream_attr_destroy(attr);
    dnnl_tp_graph_destroy(g);
    return e;
}

typedef struct {
    dnnl_tp_executable_t e;
    dnnl_tp_stream_t stream;
    const dnnl_tp_run_opts_t *opts;
    bool async;
    float x, y;
    dnnl_tp_event_t event;
    pthread_t thread;
    dnnl_tp_status_t status;
    char text[256];
} run_t;
static void *run_now(void *arg) {
    run_t *r = arg;
    void *in[] = {&r->x}, *out[] = {&r->y};
    r->status = dnnl_tp_executable_run(r->e, r->stream, 1, in, 1, out, r->opts);
    snprintf(r->text, sizeof r->text, "%s", dnnl_tp_last_error());
    return NULL;
}
static void run_begin(run_t *r) {
    void *in[] = {&r->x}, *out[] = {&r->y};
    if (r->async) CHECK_OK(dnnl_tp_executable_run_async(r->e, r->stream, 1, in, 1, out, r->opts, &r->event));
    else if (pthread_create(&r->thread, NULL, run_now, r)) abort();
}
static void run_end(run_t *r) {
    if (!r->async) {
        pthread_join(r->thread, NULL);
        return;
    }
    const char *text;
    CHECK_OK(dnnl_tp_event_wait(r->event, -1, &r->status));
    CHECK_OK(dnnl_tp_event_get_error(r->event, &text));
    snprintf(r->text, sizeof r->text, "%s", text);
    CHECK_OK(dnnl_tp_event_destroy(r->event));
    assert_int_equal(dnnl_tp_stream_wait(r->stream), r->status);
    CHECK_OK(dnnl_tp_stream_reset(r->stream));
}

/* A thousand operators wait at once; the pool of one thread computes other runs meanwhile. */
static void many(void **state) {
    (void)state;
    static box_t b;
    for (int kind = 0; kind < 4; ++kind) { /* bit 0: asynchronous; bit 1: a pool of one thread */
        if (kind == 1) continue;           /* without a pool a stream has no queue */
        watchdog(TIMEOUT_S, NULL);
        dnnl_tp_threadpool_t pool = kind & 2 ? test_pool(1) : NULL;
        const dnnl_tp_threadpool_iface_t *iface = pool ? test_pool_iface(pool) : NULL;
        box_init(&b, MANY);
        run_t r = {.e = compile(waiting_graph(&b, MANY), iface),
                   .stream = test_stream(test_engine, iface, kind & 1, 0),
                   .async = kind & 1};
        dnnl_tp_stream_t other = test_stream(test_engine, iface, kind & 1, 0);
        for (int round = 0; round < 2; ++round) {
            run_begin(&r);
            while (atomic_load(&b.started) < MANY * (round + 1)) usleep(100);
            if (round == 0) {
                dnnl_tp_primitive_t step = test_linear(test_engine, 1, 2, 1);
                float z = 3;
                CHECK_OK(test_step(step, other, &z));
                CHECK_OK(dnnl_tp_stream_wait(other));
                assert_true(z == 7);
                dnnl_tp_primitive_destroy(step);
                if (r.event) assert_false(test_is_done(r.event));
                for (int i = 0; i < MANY; ++i) bring(&b, i * 7 % MANY);
            } /* second round: all events are done */
            run_end(&r);
            CHECK_OK(r.status);
            assert_true(r.y == MANY * (MANY + 1) / 2);
        }
        CHECK_OK(dnnl_tp_stream_destroy(other));
        CHECK_OK(dnnl_tp_stream_destroy(r.stream));
        dnnl_tp_executable_destroy(r.e);
        box_end(&b);
        if (pool) dnnl_tp_threadpool_destroy(pool);
    }
}

/* ---- Ends -------------------------------------------------------------------------------------------- */

enum { FAILS, CANCELLED, LATE, ENDS };
/* Events fail, or never come: the run ends with its status, and what comes later touches nothing of it. */
static void ends(void **state) {
    (void)state;
    static box_t b;
    enum { N = 5 };
    for (int kind = 0; kind < 4 * ENDS; ++kind) { /* how; asynchronous; a pool of one thread */
        watchdog(TIMEOUT_S, NULL);
        const int how = kind % ENDS;
        if (kind / ENDS == 1) continue;
        dnnl_tp_threadpool_t pool = kind / ENDS & 2 ? test_pool(1) : NULL;
        const dnnl_tp_threadpool_iface_t *iface = pool ? test_pool_iface(pool) : NULL;
        box_init(&b, N);
        dnnl_tp_run_opts_t o = {.struct_size = sizeof o};
        dnnl_tp_cancel_t cancel = NULL;
        run_t r = {.e = compile(waiting_graph(&b, N), iface),
                   .stream = test_stream(test_engine, iface, kind / ENDS & 1, 0),
                   .opts = &o,
                   .async = kind / ENDS & 1};
        if (how == CANCELLED) CHECK_OK(dnnl_tp_cancel_create(&cancel));
        o.cancel = cancel;
        if (how == LATE) o.deadline_ns = dtp_now_ns() + 30000000;
        run_begin(&r);
        /* A run that is late may end before all have started. */
        while (atomic_load(&b.started) < N && !(how == LATE && dtp_now_ns() > o.deadline_ns)) usleep(100);
        if (how == FAILS) {
            (void)dnnl_tp_fail(dnnl_tp_runtime_error, "the line is dead");
            CHECK_OK(dnnl_tp_event_signal(b.slot[2].event, dnnl_tp_runtime_error));
        } else if (how == CANCELLED) {
            usleep(kind * 100);
            CHECK_OK(dnnl_tp_cancel_fire(cancel));
        }
        run_end(&r);
        const dnnl_tp_status_t want[] = {dnnl_tp_runtime_error, dnnl_tp_cancelled, dnnl_tp_deadline_exceeded};
        assert_int_equal(r.status, want[how]);
        if (how == FAILS) assert_non_null(strstr(r.text, "the line is dead"));
        dnnl_tp_executable_destroy(r.e);
        CHECK_OK(dnnl_tp_stream_destroy(r.stream));
        dnnl_tp_cancel_destroy(cancel);
        if (pool) dnnl_tp_threadpool_destroy(pool);
        for (int i = 0; i < N; ++i) /* nothing of the run is there any more */
            if (how != FAILS || i != 2) bring(&b, i);
        box_end(&b);
    }
}

/* An event that never fires does not grow with the runs that gave it up, and the next run waits for it as the first. */
static void given_up(void **state) {
    (void)state;
    static box_t b;
    watchdog(TIMEOUT_S, NULL);
    box_init(&b, 1);
    dnnl_tp_run_opts_t o = {.struct_size = sizeof o};
    run_t r = {.e = compile(waiting_graph(&b, 3), NULL), .stream = test_stream(test_engine, NULL, 0, 0)};
    for (int i = 0; i < 20; ++i) {
        o.deadline_ns = dtp_now_ns() + 200000;
        r.opts = &o;
        run_now(&r);
        assert_int_equal(r.status, dnnl_tp_deadline_exceeded);
    }
    r.opts = NULL;
    atomic_store(&b.started, 0);
    run_begin(&r);
    while (atomic_load(&b.started) < 3) usleep(100);
    bring(&b, 0);
    run_end(&r);
    CHECK_OK(r.status);
    assert_true(r.y == 3);
    dnnl_tp_executable_destroy(r.e);
    CHECK_OK(dnnl_tp_stream_destroy(r.stream));
    box_end(&b);
}

/* ---- Another stream's event -------------------------------------------------------------------------- */

static dnnl_tp_status_t wait_for_stream(ARGS) {
    USE_ARGS;
    *(float *)out[0].data = 1;
    return dnnl_tp_host_wait_event(should_stop, *(dnnl_tp_event_t *)arg);
}

/* The run comes first to the only thread; what it waits for is done there behind it. */
static void other_stream(void **state) {
    (void)state;
    for (int async = 0; async < 2; ++async) {
        watchdog(TIMEOUT_S, NULL);
        dnnl_tp_threadpool_t pool = test_pool(1);
        const dnnl_tp_threadpool_iface_t *iface = test_pool_iface(pool);
        dnnl_tp_stream_t other = test_stream(test_engine, iface, 1, 0);
        dnnl_tp_primitive_t step = test_linear(test_engine, 1, 2, 1);
        dnnl_tp_event_t gate = test_host_event(), event;
        float z = 3;
        CHECK_OK(dnnl_tp_stream_wait_event(other, gate));
        CHECK_OK(test_step(step, other, &z));
        event = test_record(other);
        dnnl_tp_graph_t g;
        dnnl_tp_value_t x;
        CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
        CHECK_OK(dnnl_tp_graph_input(g, &x, "x", dnnl_tp_f32, 1, (dnnl_tp_dims_t){1}));
        CHECK_OK(dnnl_tp_graph_host(g, wait_for_stream, &event, NULL, DNNL_TP_HOST_MAY_WAIT, "wait", 0, NULL,
                                    1, &scalar, &x));
        CHECK_OK(dnnl_tp_graph_output(g, x, "y"));
        run_t r = {
            .e = compile(g, iface), .stream = test_stream(test_engine, iface, async, 0), .async = async};
        run_begin(&r);
        usleep(20000);
        assert_true(z == 3);
        CHECK_OK(dnnl_tp_event_signal(gate, dnnl_tp_success));
        run_end(&r);
        CHECK_OK(r.status);
        assert_true(z == 7 && r.y == 1);
        CHECK_OK(dnnl_tp_stream_destroy(other));
        CHECK_OK(dnnl_tp_stream_destroy(r.stream));
        dnnl_tp_executable_destroy(r.e);
        dnnl_tp_primitive_destroy(step);
        dnnl_tp_event_destroy(event);
        dnnl_tp_event_destroy(gate);
        dnnl_tp_threadpool_destroy(pool);
    }
}

/* ---- Every pool -------------------------------------------------------------------------------------- */

static void *bring_all(void *arg) {
    box_t *b = arg;
    for (int i = 0; i < b->n; ++i) {
        if (i % 3 == 0) usleep(50);
        bring(b, (i * 5 + 2) % b->n);
    }
    return NULL;
}

static void every_pool(void **state) {
    (void)state;
    enum { N = 12 };
    static box_t b;
    for (int kind = 0; kind < POOL_KINDS; ++kind)
        for (int n = 1; n <= 3; n += 2)
            for (int async = 0; async < 2; ++async) {
                watchdog(TIMEOUT_S, NULL);
                hostile_pool_t *host = hostile_pool_create((hostile_kind_t)kind, n);
                const dnnl_tp_threadpool_iface_t *iface = hostile_pool_iface(host);
                hostile_pool_unstall(host);
                run_t r = {.stream = test_stream(test_engine, iface, async, 0), .async = async};
                for (int round = 0; round < 3; ++round) {
                    box_init(&b, N);
                    r.e = compile(waiting_graph(&b, N), iface);
                    pthread_t t;
                    if (pthread_create(&t, NULL, bring_all, &b)) abort();
                    run_begin(&r);
                    run_end(&r);
                    if (r.status) fail_msg("%s, %d: %s", hostile_pool_name((hostile_kind_t)kind), n, r.text);
                    assert_true(r.y == N * (N + 1) / 2);
                    pthread_join(t, NULL);
                    dnnl_tp_executable_destroy(r.e);
                    box_end(&b);
                }
                CHECK_OK(dnnl_tp_stream_destroy(r.stream));
                assert_int_equal(hostile_pool_complaints(host), 0);
                hostile_pool_destroy(host);
            }
}

/* ---- Control flow ------------------------------------------------------------------------------------ */

static dnnl_tp_graph_t region(dnnl_tp_graph_t parent) {
    dnnl_tp_graph_t r;
    CHECK_OK(dnnl_tp_graph_create_region(&r, parent));
    return r;
}
static dnnl_tp_status_t below(ARGS) {
    USE_ARGS;
    *(uint8_t *)out[0].data = *(float *)in[0].data < *(float *)arg;
    return dnnl_tp_success;
}
/* x + 1, when the next event is done. */
static dnnl_tp_status_t next(ARGS) {
    USE_ARGS;
    box_t *b = arg;
    const int i = atomic_fetch_add(&b->started, 1);
    *(float *)out[0].data = *(float *)in[0].data + 1;
    return dnnl_tp_host_wait_event(should_stop, b->slot[i].event);
}

/* A loop of 10 rounds whose body has an If, in whose branches an operator waits. */
static void control_flow(void **state) {
    (void)state;
    enum { ROUNDS = 10 };
    static box_t b;
    static float most = ROUNDS, half = ROUNDS / 2;
    const dnnl_tp_tensor_info_t truth = {.data_type = dnnl_tp_u8};
    for (int kind = 0; kind < 4; ++kind) {
        if (kind == 1) continue;
        watchdog(TIMEOUT_S, NULL);
        dnnl_tp_threadpool_t pool = kind & 2 ? test_pool(2) : NULL;
        const dnnl_tp_threadpool_iface_t *iface = pool ? test_pool_iface(pool) : NULL;
        box_init(&b, ROUNDS);
        dnnl_tp_graph_t g, cond, body, arm[2];
        dnnl_tp_value_t x, c, v, p, y, a[2];
        CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
        CHECK_OK(dnnl_tp_graph_input(g, &x, "x", dnnl_tp_f32, 0, NULL));
        cond = region(g);
        CHECK_OK(dnnl_tp_graph_input(cond, &c, "c", dnnl_tp_f32, 0, NULL));
        CHECK_OK(dnnl_tp_graph_host(cond, below, &most, NULL, 0, "below", 1, &c, 1, &truth, &p));
        body = region(cond);
        CHECK_OK(dnnl_tp_graph_host(body, below, &half, NULL, 0, "half", 1, &c, 1, &truth, &v));
        for (int k = 0; k < 2; ++k) {
            arm[k] = region(body);
            CHECK_OK(dnnl_tp_graph_host(arm[k], next, &b, NULL, DNNL_TP_HOST_MAY_WAIT, "next", 1, &c, 1,
                                        &scalar, &a[k]));
        }
        CHECK_OK(dnnl_tp_graph_if(body, "if", v, arm[0], arm[1], 1, &a[0], &a[1], &y));
        CHECK_OK(dnnl_tp_graph_while(g, "while", cond, p, body, 1, &x, &c, &y, 1 + (kind & 2), &y));
        CHECK_OK(dnnl_tp_graph_output(g, y, "y"));
        run_t r = {.e = compile(g, iface),
                   .stream = test_stream(test_engine, iface, kind & 1, 0),
                   .async = kind & 1};
        const dnnl_tp_graph_t regions[] = {cond, body, arm[0], arm[1]};
        for (int k = 0; k < 4; ++k) CHECK_OK(dnnl_tp_graph_destroy(regions[k]));
        run_begin(&r);
        for (int i = 0; i < ROUNDS; ++i) {
            while (atomic_load(&b.started) <= i) usleep(50);
            if (i % 2) usleep(200);
            bring(&b, i);
        }
        run_end(&r);
        CHECK_OK(r.status);
        assert_true(r.y == ROUNDS);
        dnnl_tp_executable_destroy(r.e);
        CHECK_OK(dnnl_tp_stream_destroy(r.stream));
        box_end(&b);
        if (pool) dnnl_tp_threadpool_destroy(pool);
    }
}

/* ---- Refusals ---------------------------------------------------------------------------------------- */

static dnnl_tp_status_t waits_twice(ARGS) {
    USE_ARGS;
    *(float *)out[0].data = 0;
    CHECK_OK(dnnl_tp_host_wait_event(should_stop, *(dnnl_tp_event_t *)arg));
    return dnnl_tp_host_wait_event(should_stop, *(dnnl_tp_event_t *)arg);
}
/* Runs, each on a stream of its own, that wait for each other: the first fails, by its event or its token, and all end on
 * the thread that tells it, one after another and not inside each other; the last one's text names the cause. */
static char *stack_top;
static _Atomic long deepest;
static void note_depth(void *arg, dnnl_tp_status_t status) {
    char here;
    (void)arg, (void)status;
    const long depth = (long)(stack_top - &here);
    /* Other threads' stacks are far away. */
    if (depth > atomic_load(&deepest) && depth < (1 << 22)) atomic_store(&deepest, depth);
}
static dnnl_tp_status_t wait_for_input(ARGS) {
    USE_ARGS;
    dnnl_tp_event_t event;
    memcpy(&event, in[0].data, sizeof event);
    return dnnl_tp_host_wait_event(should_stop, event);
}
static void failing_chain(bool by_token, int pool_threads) {
    enum { RUNS = 600, MOST_STACK = 64 << 10 };
    watchdog(TIMEOUT_S, NULL);
    dnnl_tp_threadpool_t pool = test_pool(pool_threads);
    dnnl_tp_graph_t g;
    dnnl_tp_value_t v;
    dnnl_tp_executable_t x;
    dnnl_tp_cancel_t token;
    CHECK_OK(dnnl_tp_cancel_create(&token));
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &v, "event", dnnl_tp_u8, 1, (dnnl_tp_dims_t){sizeof(dnnl_tp_event_t)}));
    CHECK_OK(dnnl_tp_graph_host(g, wait_for_input, NULL, NULL, DNNL_TP_HOST_MAY_WAIT, "waits", 1, &v, 1,
                                &scalar, &v));
    CHECK_OK(dnnl_tp_graph_output(g, v, "out"));
    CHECK_OK(dnnl_tp_executable_compile(&x, g, test_engine, 0, NULL, NULL));
    dnnl_tp_graph_destroy(g);
    static dnnl_tp_stream_t stream[RUNS];
    static dnnl_tp_event_t event[RUNS + 1];
    static float outs[RUNS];
    const dnnl_tp_run_opts_t first = {.struct_size = sizeof first, .cancel = token};
    event[0] = test_host_event();
    for (int i = 0; i < RUNS; ++i) {
        stream[i] = test_stream(test_engine, test_pool_iface(pool), 1, 0);
        void *in[] = {&event[i]}, *out[] = {&outs[i]};
        CHECK_OK(dnnl_tp_executable_run_async(x, stream[i], 1, in, 1, out, i ? NULL : &first, &event[i + 1]));
        CHECK_OK(dnnl_tp_event_on_complete(event[i + 1], note_depth, NULL));
    }
    usleep(100000); /* most rest by now */
    char here;
    stack_top = &here;
    atomic_store(&deepest, 0);
    if (by_token) CHECK_OK(dnnl_tp_cancel_fire(token));
    else CHECK_OK(dnnl_tp_event_signal(event[0], dnnl_tp_runtime_error));
    dnnl_tp_status_t result;
    const char *text;
    CHECK_OK(dnnl_tp_event_wait(event[RUNS], -1, &result));
    assert_int_equal(result, by_token ? dnnl_tp_cancelled : dnnl_tp_runtime_error);
    assert_true(atomic_load(&deepest) < MOST_STACK);
    CHECK_OK(dnnl_tp_event_get_error(event[RUNS], &text));
    assert_non_null(strstr(text, by_token ? "token" : "signalled with runtime_error"));
    const char *waits = strstr(text, "waits for an event");
    assert_non_null(waits);
    assert_null(strstr(waits + 1, "waits for an event"));
    for (int i = 0; i < RUNS; ++i) (void)!dnnl_tp_stream_wait(stream[i]);
    for (int i = 0; i < RUNS; ++i) CHECK_OK(dnnl_tp_stream_destroy(stream[i]));
    for (int i = 0; i <= RUNS; ++i) dnnl_tp_event_destroy(event[i]);
    dnnl_tp_executable_destroy(x);
    dnnl_tp_cancel_destroy(token);
    dnnl_tp_threadpool_destroy(pool);
}
static void failing_chains(void **state) {
    (void)state;
    for (int threads = 1; threads <= 2; ++threads)
        for (int by_token = 0; by_token < 2; ++by_token) failing_chain(by_token, threads);
}

static void refusals(void **state) {
    (void)state;
    dnnl_tp_event_t event = test_host_event();
    const struct {
        dnnl_tp_host_fn_t fn;
        unsigned flags;
        const char *text;
    } bad[] = {{wait_for_stream, 0, "without DNNL_TP_HOST_MAY_WAIT"},
               {wait_for_stream, DNNL_TP_HOST_MAY_BLOCK, "without DNNL_TP_HOST_MAY_WAIT"},
               {waits_twice, DNNL_TP_HOST_MAY_WAIT, "waits for an event already"}};
    for (int i = 0; i < 3; ++i) {
        dnnl_tp_graph_t g;
        dnnl_tp_value_t x;
        CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
        CHECK_OK(dnnl_tp_graph_input(g, &x, "x", dnnl_tp_f32, 1, (dnnl_tp_dims_t){1}));
        CHECK_OK(dnnl_tp_graph_host(g, bad[i].fn, &event, NULL, bad[i].flags, "h", 0, NULL, 1, &scalar, &x));
        CHECK_OK(dnnl_tp_graph_output(g, x, "y"));
        run_t r = {.e = compile(g, NULL), .stream = test_stream(test_engine, NULL, 0, 0)};
        run_now(&r);
        assert_int_equal(r.status, dnnl_tp_invalid_arguments);
        dnnl_tp_executable_destroy(r.e);
        CHECK_OK(dnnl_tp_stream_destroy(r.stream));
    }
    /* Outside of runs the closure's call waits itself. */
    float y;
    dnnl_tp_host_arg_t out = {&scalar, &y};
    CHECK_OK(dnnl_tp_event_signal(event, dnnl_tp_success));
    CHECK_OK(wait_for_stream(&event, NULL, 0, NULL, 1, &out));
    assert_int_equal(dnnl_tp_event_signal(event, dnnl_tp_success), dnnl_tp_invalid_arguments);
    CHECK_OK(dnnl_tp_event_destroy(event));
    assert_int_equal(dnnl_tp_host_wait_event(NULL, NULL), dnnl_tp_invalid_arguments);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(many),       cmocka_unit_test(ends),
                                       cmocka_unit_test(given_up),   cmocka_unit_test(other_stream),
                                       cmocka_unit_test(every_pool), cmocka_unit_test(control_flow),
                                       cmocka_unit_test(refusals),   cmocka_unit_test(failing_chains)};
    return cmocka_run_group_tests(tests, test_engine_setup, test_engine_teardown);
}
