/* One stream used by several threads at once: synchronous ones compute beside each other with
 * scratch of their own, asynchronous ones take places in the order. Results are those of one
 * thread on a stream of its own. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/base.h"
#include "support/check.h"
#include "support/hostile_pools.h"
#include "support/streams.h"
#include "support/traces.h"
#include "support/watchdog.h"

/* cmocka's assertions are for the thread that runs the tests. */
static _Atomic int wrong;
static void note(const char *what, int line) {
    if (atomic_fetch_add(&wrong, 1) < 10)
        fprintf(stderr, "line %d: %s; last error: %s\n", line, what, dnnl_tp_last_error());
}
#define MUST(cond) ((cond) ? (void)0 : note(#cond, __LINE__))
#define OK(expr) MUST((expr) == dnnl_tp_success)

enum { MOST = 8, WIDEST = 4096, ROWS = 6 };

/* ---- A softmax from f32 to bf16, whose rows need scratch as wide as they are ------------------------- */

typedef struct {
    int cols;
    bool own_scratchpad;
    dnnl_tp_primitive_t primitive;
    size_t scratch_bytes;
    float *src;
    uint16_t *want;
} work_t;

static dnnl_tp_primitive_t softmax(dnnl_tp_engine_t engine, int cols, bool own_scratchpad, size_t *bytes) {
    dnnl_tp_memory_desc_t src, dst;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t primitive;
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_dims_t dims = {ROWS, cols};
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    if (own_scratchpad)
        CHECK_OK(dnnl_tp_primitive_attr_set_scratchpad_mode(attr, dnnl_tp_scratchpad_mode_user));
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&src, 2, dims, dnnl_tp_f32, dnnl_tp_ab));
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&dst, 2, dims, dnnl_tp_bf16, dnnl_tp_ab));
    CHECK_OK(dnnl_tp_softmax_forward_primitive_desc_create(&pd, engine, dnnl_tp_forward_inference,
                                                           dnnl_tp_softmax_accurate, src, dst, 1, attr));
    CHECK_OK(dnnl_tp_primitive_create(&primitive, pd));
    const_dnnl_tp_memory_desc_t scratch = dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_scratchpad_md, 0);
    *bytes = own_scratchpad && scratch ? dnnl_tp_memory_desc_get_size(scratch) : 0;
    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_primitive_attr_destroy(attr);
    dnnl_tp_memory_desc_destroy(src);
    dnnl_tp_memory_desc_destroy(dst);
    return primitive;
}
static dnnl_tp_status_t softmax_step(const work_t *w, dnnl_tp_stream_t stream, uint16_t *dst, void *scratch) {
    dnnl_tp_exec_handle_t args[] = {
        {DNNL_TP_ARG_SRC, w->src}, {DNNL_TP_ARG_DST, dst}, {DNNL_TP_ARG_SCRATCHPAD, scratch}};
    return dnnl_tp_primitive_execute_handles(w->primitive, stream, w->own_scratchpad ? 3 : 2, args);
}

static work_t work[MOST];
static dnnl_tp_primitive_t plus[2]; /* few elements; enough for a loop of the pool */
enum { FEW = 64, MANY = 1 << 16 };

static int setup(void **state) {
    if (test_engine_setup(state)) return -1;
    test_rng_t r = test_rng(1);
    dnnl_tp_stream_t alone = test_stream(test_engine, NULL, 0, 0);
    for (int i = 0; i < MOST; ++i) {
        work_t *w = &work[i];
        *w = (work_t){.cols = 32 << i, .own_scratchpad = i % 4 == 3};
        const int n = ROWS * w->cols;
        w->src = malloc(sizeof *w->src * (size_t)n);
        w->want = malloc(sizeof *w->want * (size_t)n);
        for (int k = 0; k < n; ++k) w->src[k] = test_uniform(&r, -4, 4);
        w->primitive = softmax(test_engine, w->cols, w->own_scratchpad, &w->scratch_bytes);
        void *scratch = malloc(w->scratch_bytes + 1);
        CHECK_OK(softmax_step(w, alone, w->want, scratch));
        free(scratch);
    }
    CHECK_OK(dnnl_tp_stream_destroy(alone));
    plus[0] = test_linear(test_engine, FEW, 1, 1);
    plus[1] = test_linear(test_engine, MANY, 1, 1);
    return 0;
}
static int teardown(void **state) {
    for (int i = 0; i < MOST; ++i) {
        dnnl_tp_primitive_destroy(work[i].primitive);
        free(work[i].src);
        free(work[i].want);
    }
    for (int i = 0; i < 2; ++i) dnnl_tp_primitive_destroy(plus[i]);
    return test_engine_teardown(state);
}

/* ---- Threads on one stream --------------------------------------------------------------------------- */

typedef struct {
    dnnl_tp_stream_t stream;
    pthread_barrier_t *barrier;
    int number, async, rounds;
    _Atomic long *executed;
    pthread_t thread;
} client_t;

static void *different_work(void *arg) {
    const client_t *c = arg;
    test_rng_t r = test_rng(100 + (uint64_t)c->number);
    uint16_t *y = malloc(sizeof *y * ROWS * WIDEST);
    float *x = calloc(MANY, sizeof *x);
    void *scratch = malloc((size_t)1 << 20);
    float steps = 0;
    pthread_barrier_wait(c->barrier);
    for (int k = 0; k < c->rounds; ++k) {
        const work_t *w = &work[test_rand(&r) % MOST];
        const size_t n = (size_t)(ROWS * w->cols);
        const bool many = test_rand(&r) % 4 == 0;
        memset(y, 0, n * sizeof *y);
        MUST(w->scratch_bytes <= (size_t)1 << 20);
        OK(test_step(plus[many], c->stream, x));
        OK(softmax_step(w, c->stream, y, scratch));
        OK(test_step(plus[many], c->stream, x));
        if (c->executed) atomic_fetch_add(c->executed, 3);
        steps += 2;
        if (c->async && test_rand(&r) % 2) {
            dnnl_tp_event_t event = NULL;
            OK(dnnl_tp_stream_record_event(c->stream, &event));
            OK(dnnl_tp_event_wait(event, -1, NULL));
            dnnl_tp_event_destroy(event);
        } else {
            OK(dnnl_tp_stream_wait(c->stream));
        }
        MUST(!memcmp(y, w->want, n * sizeof *y));
        MUST(x[0] == steps && x[FEW - 1] == steps);
    }
    free(x);
    free(y);
    free(scratch);
    return NULL;
}

static void run_clients(dnnl_tp_stream_t stream, int n, int async, int rounds, void *(*fn)(void *),
                        _Atomic long *executed) {
    client_t c[MOST];
    pthread_barrier_t barrier;
    atomic_store(&wrong, 0);
    pthread_barrier_init(&barrier, NULL, (unsigned)n);
    for (int i = 0; i < n; ++i) {
        c[i] = (client_t){.stream = stream,
                          .barrier = &barrier,
                          .number = i,
                          .async = async,
                          .rounds = rounds,
                          .executed = executed};
        assert_int_equal(pthread_create(&c[i].thread, NULL, fn, &c[i]), 0);
    }
    for (int i = 0; i < n; ++i) pthread_join(c[i].thread, NULL);
    pthread_barrier_destroy(&barrier);
    assert_int_equal(atomic_load(&wrong), 0);
}

static void side_by_side(void **state) {
    (void)state;
    for (int n = 2; n <= MOST; n *= 2)
        for (int async = 0; async < 2; ++async) {
            dnnl_tp_threadpool_t pool = test_pool(2);
            dnnl_tp_stream_t stream =
                test_stream(test_engine, async ? test_pool_iface(pool) : NULL, async, 0);
            run_clients(stream, n, async, 40, different_work, NULL);
            CHECK_OK(dnnl_tp_stream_destroy(stream));
            stream = test_stream(test_engine, test_pool_iface(pool), async, 0);
            run_clients(stream, n, async, 40, different_work, NULL);
            CHECK_OK(dnnl_tp_stream_wait(stream)); /* its last event came a moment earlier */
            int idle = 0;
            CHECK_OK(dnnl_tp_stream_query(stream, &idle, NULL));
            assert_true(idle);
            CHECK_OK(dnnl_tp_stream_set_threadpool(stream, NULL)); /* it can be changed again */
            run_clients(stream, n, 0, 10, different_work, NULL);
            CHECK_OK(dnnl_tp_stream_destroy(stream));
            dnnl_tp_threadpool_destroy(pool);
        }
}

static void on_every_pool(void **state) {
    (void)state;
    for (int kind = 0; kind < POOL_KINDS; ++kind) {
        if (kind == POOL_STALLED) continue;
        for (int async = 0; async < 2; ++async) {
            hostile_pool_t *pool = hostile_pool_create((hostile_kind_t)kind, 2);
            dnnl_tp_stream_t stream = test_stream(test_engine, hostile_pool_iface(pool), async, 0);
            run_clients(stream, 3, 1, 6, different_work, NULL);
            CHECK_OK(dnnl_tp_stream_destroy(stream));
            assert_int_equal(hostile_pool_complaints(pool), 0);
            hostile_pool_destroy(pool);
        }
    }
}

/* ---- Order ------------------------------------------------------------------------------------------- */

/* x = a - x: which of two came first can be seen. */
enum { TURNS = 60 };
static dnnl_tp_primitive_t minus[2];
static _Atomic int turn_of;
static float in_turns[FEW];
static void *submit_in_turns(void *arg) {
    const client_t *c = arg;
    pthread_barrier_wait(c->barrier);
    for (int k = c->number; k < TURNS; k += 2) {
        while (atomic_load(&turn_of) != k) sched_yield();
        OK(test_step(minus[c->number], c->stream, in_turns));
        atomic_store(&turn_of, k + 1);
    }
    return NULL;
}
static void items_of_two_threads_in_order(void **state) {
    (void)state;
    minus[0] = test_linear(test_engine, FEW, -1, 3);
    minus[1] = test_linear(test_engine, FEW, -1, 5);
    for (int kind = 0; kind < POOL_KINDS; ++kind) {
        hostile_pool_t *pool = hostile_pool_create((hostile_kind_t)kind, 2);
        dnnl_tp_stream_t stream = test_stream(test_engine, hostile_pool_iface(pool), 1, 0);
        dnnl_tp_event_t gate = test_host_event();
        if (kind % 2) CHECK_OK(dnnl_tp_stream_wait_event(stream, gate));
        memset(in_turns, 0, sizeof in_turns);
        atomic_store(&turn_of, 0);
        run_clients(stream, 2, 1, 0, submit_in_turns, NULL);
        CHECK_OK(dnnl_tp_event_signal(gate, dnnl_tp_success));
        CHECK_OK(dnnl_tp_stream_wait(stream));
        float want = 0;
        for (int k = 0; k < TURNS; ++k) want = (k % 2 ? 5 : 3) - want;
        assert_true(in_turns[0] == want && in_turns[FEW - 1] == want);
        dnnl_tp_event_destroy(gate);
        CHECK_OK(dnnl_tp_stream_destroy(stream));
        hostile_pool_destroy(pool);
    }
    for (int i = 0; i < 2; ++i) dnnl_tp_primitive_destroy(minus[i]);
}

/* Items of all threads run one after another, also where they add to the same numbers; waits of
 * each thread cover what it has submitted, and what it has heard of. */
static float sum[FEW];
static _Atomic int submitted;
static void *add_up(void *arg) {
    const client_t *c = arg;
    pthread_barrier_wait(c->barrier);
    for (int k = 0; k < c->rounds; ++k) {
        OK(test_step(plus[0], c->stream, sum));
        atomic_fetch_add(&submitted, 1);
        if (k % 16 == c->number) OK(dnnl_tp_stream_wait(c->stream));
        if (k % 16 == c->number + 8) OK(dnnl_tp_stream_reset(c->stream)); /* nothing has failed */
    }
    pthread_barrier_wait(c->barrier);
    OK(dnnl_tp_stream_wait(c->stream));
    MUST(sum[0] == (float)atomic_load(&submitted) && sum[FEW - 1] == sum[0]);
    return NULL;
}
static void items_exclude_each_other(void **state) {
    (void)state;
    for (int n = 2; n <= MOST; n *= 2) {
        dnnl_tp_threadpool_t pool = test_pool(3);
        dnnl_tp_stream_t stream = test_stream(test_engine, test_pool_iface(pool), 1, 0);
        memset(sum, 0, sizeof sum);
        atomic_store(&submitted, 0);
        run_clients(stream, n, 1, 400, add_up, NULL);
        CHECK_OK(dnnl_tp_stream_destroy(stream));
        dnnl_tp_threadpool_destroy(pool);
    }
}

/* ---- Failures ---------------------------------------------------------------------------------------- */

static _Atomic int refused;
static void *see_the_failure(void *arg) {
    const client_t *c = arg;
    float x[FEW] = {0};
    pthread_barrier_wait(c->barrier);
    OK(test_step(plus[0], c->stream, x));
    MUST(dnnl_tp_stream_wait(c->stream) == dnnl_tp_runtime_error && x[0] == 0);
    dnnl_tp_event_t event = NULL;
    OK(dnnl_tp_stream_record_event(c->stream, &event));
    MUST(dnnl_tp_event_wait(event, -1, NULL) == dnnl_tp_runtime_error);
    dnnl_tp_event_destroy(event);
    pthread_barrier_wait(c->barrier);
    if (c->number == 0) OK(dnnl_tp_stream_reset(c->stream));
    pthread_barrier_wait(c->barrier);
    OK(test_step(plus[0], c->stream, x));
    OK(dnnl_tp_stream_wait(c->stream));
    MUST(x[0] == 1);
    /* What one thread does wrong is said to that thread alone. */
    for (int k = 0; k < 200; ++k) {
        if (c->number % 2) {
            MUST(test_step(plus[0], c->stream, NULL) == dnnl_tp_invalid_arguments);
            atomic_fetch_add(&refused, 1);
        } else {
            OK(test_step(plus[0], c->stream, x));
        }
    }
    OK(dnnl_tp_stream_wait(c->stream));
    return NULL;
}
static void failures_reach_all_who_wait(void **state) {
    (void)state;
    dnnl_tp_threadpool_t pool = test_pool(2);
    dnnl_tp_stream_t stream = test_stream(test_engine, test_pool_iface(pool), 1, 0);
    dnnl_tp_event_t bad = test_host_event();
    CHECK_OK(dnnl_tp_stream_wait_event(stream, bad));
    CHECK_OK(dnnl_tp_event_signal(bad, dnnl_tp_runtime_error));
    atomic_store(&refused, 0);
    run_clients(stream, 4, 1, 0, see_the_failure, NULL);
    assert_int_equal(atomic_load(&refused), 400);
    dnnl_tp_event_destroy(bad);
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    dnnl_tp_threadpool_destroy(pool);
}

/* A host whose loop calls a function on another thread: what happens while the stream is in use. */
typedef struct {
    dnnl_tp_threadpool_iface_t iface;
    dnnl_tp_stream_t stream;
    void (*fn)(void *arg);
    void *arg;
    int depth;
} host_t;
static int two(void *ctx) {
    (void)ctx;
    return 2;
}
static void *call(void *host) {
    ((host_t *)host)->fn(((host_t *)host)->arg);
    return NULL;
}
static int loop(void *ctx, int n, dnnl_tp_chunk_fn_t fn, void *arg) {
    host_t *h = ctx;
    pthread_t thread;
    if (h->depth++ == 0) {
        if (pthread_create(&thread, NULL, call, h)) abort();
        pthread_join(thread, NULL);
    }
    for (int i = 0; i < n; ++i) fn(arg, i, n);
    return 0;
}

/* The second thread's seat, then its scratch, cannot be had: nothing was touched, and the next
 * try is right. */
typedef struct {
    host_t *host;
    test_allocator_t *allocator;
    work_t w;
    int failures;
} short_of_memory_t;
static void execute_beside(void *arg) {
    short_of_memory_t *s = arg;
    const size_t n = (size_t)(ROWS * s->w.cols);
    uint16_t *y = malloc(n * sizeof *y);
    dnnl_tp_status_t status = dnnl_tp_out_of_memory;
    for (int at = 0; status == dnnl_tp_out_of_memory; ++at) {
        memset(y, 0x5a, n * sizeof *y);
        atomic_store(&s->allocator->fail_at, at);
        status = softmax_step(&s->w, s->host->stream, y, NULL);
        atomic_store(&s->allocator->fail_at, -1);
        if (status != dnnl_tp_out_of_memory) break;
        ++s->failures;
        for (size_t i = 0; i < n; ++i) MUST(y[i] == 0x5a5a);
    }
    OK(status);
    MUST(!memcmp(y, s->w.want, n * sizeof *y));
    free(y);
}
static void no_memory_for_a_second_seat(void **state) {
    (void)state;
    enum { BIG = 16000000, OF = 5 }; /* worth a loop on any machine */
    test_allocator_t allocator;
    test_allocator_init(&allocator);
    dnnl_tp_engine_attr_t attr;
    dnnl_tp_engine_t engine;
    CHECK_OK(dnnl_tp_engine_attr_create(&attr));
    CHECK_OK(dnnl_tp_engine_attr_set_allocator(attr, &allocator.iface));
    CHECK_OK(dnnl_tp_engine_create_v2(&engine, dnnl_tp_cpu, 0, attr));
    dnnl_tp_engine_attr_destroy(attr);
    host_t host = {.iface = {.struct_size = sizeof host.iface, .get_num_threads = two, .parallel_for = loop}};
    host.iface.ctx = &host;
    host.stream = test_stream(engine, &host.iface, 0, 0);
    size_t bytes;
    short_of_memory_t s = {.host = &host, .allocator = &allocator, .w = work[OF]};
    s.w.primitive = softmax(engine, s.w.cols, false, &bytes);
    host.fn = execute_beside;
    host.arg = &s;
    int machine;
    CHECK_OK(dnnl_tp_threadpool_interop_get_max_concurrency(&machine));
    CHECK_OK(dnnl_tp_threadpool_interop_set_max_concurrency(2)); /* on one CPU, too */
    dnnl_tp_primitive_t big = test_linear(engine, BIG, 1, 1);
    CHECK_OK(dnnl_tp_threadpool_interop_set_max_concurrency(machine));
    float *x = calloc(BIG, sizeof *x);
    atomic_store(&wrong, 0);
    CHECK_OK(test_step(big, host.stream, x));
    assert_true(x[0] == 1 && x[BIG - 1] == 1);
    assert_int_equal(atomic_load(&wrong), 0);
    assert_true(host.depth > 0);
    assert_int_equal(s.failures, 2);
    free(x);
    CHECK_OK(dnnl_tp_stream_destroy(host.stream));
    dnnl_tp_primitive_destroy(big);
    dnnl_tp_primitive_destroy(s.w.primitive);
    dnnl_tp_engine_destroy(engine);
    assert_int_equal(atomic_load(&allocator.live), 0);
}

/* ---- Closing beside users ---------------------------------------------------------------------------- */

/* One thread tries to change and to destroy a stream that others use: refused, or done while
 * nobody is inside, and nobody else is refused for longer than that. */
static _Atomic int changes, busy;
static void *use_or_change(void *arg) {
    const client_t *c = arg;
    float x[FEW] = {0};
    int steps = 0;
    pthread_barrier_wait(c->barrier);
    for (int k = 0; k < c->rounds; ++k) {
        if (c->number == 0) {
            const dnnl_tp_status_t status = dnnl_tp_stream_set_threadpool(c->stream, NULL);
            MUST(status == dnnl_tp_success ||
                 (status == dnnl_tp_invalid_arguments && dtp_last_reason() == DTP_BUSY_STREAM));
            atomic_fetch_add(status ? &busy : &changes, 1);
            continue;
        }
        dnnl_tp_status_t status;
        do {
            status = test_step(plus[0], c->stream, x);
        } while (status == dnnl_tp_invalid_arguments && dtp_last_reason() == DTP_BUSY_STREAM);
        OK(status);
        MUST(x[0] == ++steps);
    }
    return NULL;
}
static void changes_beside_users(void **state) {
    (void)state;
    dnnl_tp_stream_t stream = test_stream(test_engine, NULL, 0, 0);
    atomic_store(&changes, 0);
    atomic_store(&busy, 0);
    run_clients(stream, 4, 0, 5000, use_or_change, NULL);
    assert_int_equal(atomic_load(&changes) + atomic_load(&busy), 5000);
    CHECK_OK(dnnl_tp_stream_destroy(stream));
}

/* ---- Traces ------------------------------------------------------------------------------------------ */

static long count_of(dnnl_tp_trace_t trace, dnnl_tp_trace_kind_t kind) {
    enum { ROOM = 64 };
    dnnl_tp_trace_stat_t stats[ROOM];
    long sum_of = 0;
    int n;
    CHECK_OK(dnnl_tp_trace_get_stats(trace, ROOM, stats, &n));
    assert_true(n <= ROOM);
    for (int i = 0; i < n; ++i) sum_of += stats[i].kind == kind ? (long)stats[i].count : 0;
    return sum_of;
}
static void every_execution_is_traced(void **state) {
    (void)state;
    for (int async = 0; async < 2; ++async) {
        dnnl_tp_threadpool_t pool = test_pool(2);
        dnnl_tp_stream_t stream = test_stream(test_engine, test_pool_iface(pool), async, 0);
        dnnl_tp_trace_t trace = test_trace(1 << 16);
        CHECK_OK(dnnl_tp_stream_set_trace(stream, trace, "shared"));
        _Atomic long executed = 0;
        run_clients(stream, 4, async, 20, different_work, &executed);
        CHECK_OK(dnnl_tp_stream_wait(stream));
        CHECK_OK(dnnl_tp_stream_set_trace(stream, NULL, NULL));
        assert_int_equal(count_of(trace, dnnl_tp_trace_primitive), atomic_load(&executed));
        dnnl_tp_trace_destroy(trace);
        CHECK_OK(dnnl_tp_stream_destroy(stream));
        dnnl_tp_threadpool_destroy(pool);
    }
}

int main(void) {
    watchdog(60, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(side_by_side),
        cmocka_unit_test(on_every_pool),
        cmocka_unit_test(items_of_two_threads_in_order),
        cmocka_unit_test(items_exclude_each_other),
        cmocka_unit_test(failures_reach_all_who_wait),
        cmocka_unit_test(no_memory_for_a_second_seat),
        cmocka_unit_test(changes_beside_users),
        cmocka_unit_test(every_execution_is_traced),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
