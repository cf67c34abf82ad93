/* Failures on the fake driver: of other streams, errors after which a device is lost, and what callbacks of the driver destroy and
 * release. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dnnl_tp/dnnl_tp_session.h"
#include "gpu/driver/cu_api.h"
#include "gpu/gpu_world.h"
#include "support/check.h"
#include "support/streams.h"
#include "support/upload.h"

/* ---- Failures of others -------------------------------------------------------------------------------- */

static _Atomic int told;
static void tells(void *arg, dnnl_tp_status_t status) {
    (void)arg;
    atomic_store(&told, 1 + (int)status);
}

/* A stream that waited for one whose data were bad has failed, whatever order the driver calls back in, and whoever asks. */
static void failures_follow_events(void **state) {
    enum { SEEDS = 60, LINES = 3 };
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; ++seed) {
        fake_cuda_set_seed(seed);
        gpu_look_up_t l = gpu_look_up_begin(gpu_stream());
        dnnl_tp_memory_t x = gpu_vector(gpu, 1);
        dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 0);
        dnnl_tp_stream_t s[LINES];
        dnnl_tp_event_t e[LINES + 1];
        dnnl_tp_status_t result = dnnl_tp_success;
        gpu_look_up_set(&l, GPU_ROWS);
        atomic_store(&told, 0);
        fake_cuda_hold(true);
        CHECK_OK(gpu_look_up(&l));
        e[0] = test_record(l.stream);
        for (int i = 0; i < LINES; ++i) {
            s[i] = gpu_stream();
            CHECK_OK(dnnl_tp_stream_wait_event(s[i], e[i]));
            CHECK_OK(gpu_step(p, s[i], x));
            e[i + 1] = test_record(s[i]);
        }
        CHECK_OK(dnnl_tp_event_on_complete(e[LINES], tells, NULL));
        fake_cuda_hold(false);
        if (seed % 3 == 0) CHECK_OK(dnnl_tp_event_wait(e[LINES], -1, &result));
        if (seed % 3 == 1) CHECK_STATUS(dnnl_tp_stream_wait(s[LINES - 1]), dnnl_tp_runtime_error);
        assert_true(gpu_comes(&told));
        if (atomic_load(&told) != 1 + (int)dnnl_tp_runtime_error)
            fail_msg("seed %d: the event says %s", (int)seed,
                     dnnl_tp_status2str((dnnl_tp_status_t)(atomic_load(&told) - 1)));
        if (seed % 3 == 0) assert_int_equal(result, dnnl_tp_runtime_error);
        for (int i = 0; i < LINES; ++i) {
            CHECK_STATUS(dnnl_tp_stream_wait(s[i]), dnnl_tp_runtime_error);
            CHECK_OK(dnnl_tp_stream_destroy(s[i]));
        }
        for (int i = 0; i <= LINES; ++i) CHECK_OK(dnnl_tp_event_destroy(e[i]));
        gpu_look_up_end(&l);
        CHECK_OK(dnnl_tp_primitive_destroy(p));
        CHECK_OK(dnnl_tp_memory_destroy(x));
    }
}

/* ---- A lost device ------------------------------------------------------------------------------------- */

/* Whatever error it is after which the context answers nothing else. */
static void every_sticky_error_is_told(void **state) {
    static const dtp_cu_result_t results[] = {DTP_CU_NVLINK_UNCORRECTABLE, DTP_CU_CONTAINED,
                                              DTP_CU_TENSOR_MEMORY_LEAK,   DTP_CU_MPS_CLIENT_TERMINATED,
                                              DTP_CU_EXTERNAL_DEVICE,      DTP_CU_ECC_UNCORRECTABLE,
                                              DTP_CU_MPS_RPC_FAILURE};
    for (size_t r = 0; r < sizeof results / sizeof *results; ++r)
        for (int late = 0; late < 2; ++late) { /* while it runs; or known to a call that submits */
            assert_int_equal(gpu_setup(state), 0);
            dnnl_tp_stream_t s = gpu_stream(), t = gpu_stream();
            dnnl_tp_memory_t x = gpu_vector(gpu, 1), more;
            dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 0);
            dnnl_tp_event_t e, host, none;
            const_dnnl_tp_memory_desc_t md;
            dnnl_tp_stream_t another;
            void *mapped;
            int idle = 0;
            dnnl_tp_status_t result = dnnl_tp_success;
            CHECK_OK(dnnl_tp_memory_get_memory_desc(x, &md));
            CHECK_OK(dnnl_tp_event_create_host(&host, gpu));
            fake_cuda_hold(true);
            CHECK_OK(gpu_step(p, s, x));
            CHECK_OK(dnnl_tp_stream_wait_event(s, host));
            CHECK_OK(gpu_step(p, s, x));
            e = test_record(s);
            CHECK_OK(dnnl_tp_stream_wait_event(t, e));
            CHECK_OK(gpu_step(p, t, x));
            if (!late) (void)fake_cuda_fail_item(0, results[r]);
            fake_cuda_hold(false);
            if (late) {
                (void)fake_cuda_fail(1, results[r]); /* behind the context */
                CHECK_STATUS(gpu_step(p, s, x), dnnl_tp_runtime_error);
            }
            CHECK_OK(dnnl_tp_event_signal(host, dnnl_tp_success));
            CHECK_OK(dnnl_tp_event_wait(e, -1, &result)); /* the wait ends: the event has fired */
            assert_int_equal(result, dnnl_tp_runtime_error);
            CHECK_STATUS(dnnl_tp_stream_wait(s), dnnl_tp_runtime_error);
            CHECK_STATUS(dnnl_tp_stream_wait(t), dnnl_tp_runtime_error);
            CHECK_STATUS(dnnl_tp_sync_devices(-1), dnnl_tp_runtime_error);
            CHECK_STATUS(gpu_step(p, t, x), dnnl_tp_runtime_error);
            CHECK_STATUS(dnnl_tp_stream_record_event(s, &none), dnnl_tp_runtime_error);
            assert_null(none);
            if (dnnl_tp_stream_query(s, &idle, NULL) == dnnl_tp_success) assert_int_equal(idle, 1);
            CHECK_STATUS(dnnl_tp_memory_map_data(x, &mapped), dnnl_tp_runtime_error);
            assert_int_not_equal(dnnl_tp_memory_create(&more, md, gpu, DNNL_TP_MEMORY_ALLOCATE),
                                 dnnl_tp_success);
            CHECK_STATUS(dnnl_tp_stream_create(&another, gpu, 0), dnnl_tp_runtime_error);
            CHECK_OK(dnnl_tp_event_destroy(e));
            CHECK_OK(dnnl_tp_event_destroy(host));
            CHECK_OK(dnnl_tp_stream_destroy(s));
            CHECK_OK(dnnl_tp_stream_destroy(t));
            CHECK_OK(dnnl_tp_primitive_destroy(p));
            CHECK_OK(dnnl_tp_memory_destroy(x));
            if (gpu_teardown(state)) fail_msg("error %d: something is left", results[r]);
        }
}

/* ---- Callbacks of the driver --------------------------------------------------------------------------- */

typedef struct {
    dnnl_tp_stream_t stream;
    dnnl_tp_engine_t engine;
    _Atomic int called, stream_status, engine_status;
} ends_t;

static void ends(void *arg, dnnl_tp_status_t status) {
    ends_t *e = arg;
    (void)status;
    if (e->stream) atomic_store(&e->stream_status, (int)dnnl_tp_stream_destroy(e->stream));
    if (e->engine) atomic_store(&e->engine_status, (int)dnnl_tp_engine_destroy(e->engine));
    atomic_store(&e->called, 1);
}

/* Work on s, whose event calls fn(arg) on the driver's thread; fn sets *called to 1. */
static void call_back(dnnl_tp_stream_t s, void (*fn)(void *, dnnl_tp_status_t), void *arg,
                      _Atomic int *called) {
    dnnl_tp_memory_t x = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 0);
    fake_cuda_hold(true);
    CHECK_OK(gpu_step(p, s, x));
    dnnl_tp_event_t e = test_record(s);
    CHECK_OK(dnnl_tp_event_on_complete(e, fn, arg));
    fake_cuda_hold(false);
    assert_true(gpu_comes(called));
    assert_int_equal(atomic_load(called), 1);
    CHECK_OK(dnnl_tp_event_destroy(e));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_destroy(x));
}

/* A callback drops the last handle of a device's engine, and an idle stream: nothing is left at the end. */
static void callbacks_may_end_engines(void **state) {
    for (int with_stream = 0; with_stream < 2; ++with_stream) {
        fake_cuda_reset();
        fake_cuda_set_devices(2, 9, 0);
        dtp_cu_set_for_test(fake_cuda_table());
        CHECK_OK(dnnl_tp_engine_create(&gpu, dnnl_tp_gpu, 0));
        ends_t c = {.stream = NULL};
        dnnl_tp_stream_t s = gpu_stream();
        CHECK_OK(dnnl_tp_engine_create(&c.engine, dnnl_tp_gpu, 1));
        if (with_stream) {
            CHECK_OK(dnnl_tp_stream_create(&c.stream, c.engine, 0));
            CHECK_OK(dnnl_tp_stream_wait(c.stream));
        }
        call_back(s, ends, &c, &c.called);
        assert_int_equal(atomic_load(&c.engine_status), dnnl_tp_success);
        const dnnl_tp_status_t st = (dnnl_tp_status_t)atomic_load(&c.stream_status);
        if (with_stream) assert_true(st == dnnl_tp_success || st == dnnl_tp_would_deadlock);
        if (st == dnnl_tp_would_deadlock) CHECK_OK(dnnl_tp_stream_destroy(c.stream)); /* it stays valid */
        CHECK_OK(dnnl_tp_stream_destroy(s));
        if (gpu_teardown(state)) fail_msg("something is left%s", with_stream ? ", with a stream" : "");
    }
}

/* ---- What callbacks give away -------------------------------------------------------------------------- */

typedef struct {
    dnnl_tp_stream_t stream;
    dnnl_tp_session_t session;
    _Atomic int called, destroy, give_away;
} gives_t;
static void gives_away(void *arg, dnnl_tp_status_t status) {
    gives_t *g = arg;
    (void)status;
    if (g->stream) {
        atomic_store(&g->destroy, (int)dnnl_tp_stream_destroy(g->stream));
        atomic_store(&g->give_away, (int)dnnl_tp_stream_give_away(g->stream));
    } else {
        atomic_store(&g->give_away, (int)dnnl_tp_session_give_away(g->session));
    }
    atomic_store(&g->called, fake_cuda_calls_host() ? 1 : 2);
}

/* Streams of the driver that are alive; the last one ends when a call finds it idle. */
static bool ends_with(dnnl_tp_status_t (*call)(int64_t), int64_t streams) {
    for (int i = 0; i < GPU_LONGEST_MS && fake_cuda_stats().streams != streams; ++i) {
        CHECK_OK(call(-1));
        usleep(1000);
    }
    return fake_cuda_stats().streams == streams;
}
static dnnl_tp_status_t makes_a_stream(int64_t unused) {
    (void)unused;
    return dnnl_tp_stream_destroy(gpu_stream());
}

/* A callback on the driver's thread gives a stream away: an idle one, the one whose work has called it, and one whose
 * work waits for the host. No call waits for it; a later one ends it, at last the destruction of the engine. */
static void callbacks_may_give_streams_away(void **state) {
    (void)state;
    enum { IDLE, OWN, BUSY, LEFT, KINDS };
    for (int kind = 0; kind < KINDS; ++kind) {
        const int64_t before = fake_cuda_stats().streams;
        gives_t g = {.stream = gpu_stream()};
        dnnl_tp_stream_t s = kind == OWN ? g.stream : gpu_stream();
        dnnl_tp_memory_t y = gpu_vector(gpu, 1);
        dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 0);
        dnnl_tp_event_t gate, last = NULL;
        CHECK_OK(dnnl_tp_event_create_host(&gate, gpu));
        if (kind == BUSY) {
            CHECK_OK(dnnl_tp_stream_wait_event(g.stream, gate));
            CHECK_OK(gpu_step(p, g.stream, y));
            last = test_record(g.stream);
        }
        call_back(s, gives_away, &g, &g.called);
        assert_int_equal(atomic_load(&g.destroy), dnnl_tp_would_deadlock);
        assert_int_equal(atomic_load(&g.give_away), dnnl_tp_success);
        if (kind != OWN) CHECK_OK(dnnl_tp_stream_destroy(s));
        if (kind == BUSY) {
            for (int i = 0; i < 3; ++i) CHECK_OK(makes_a_stream(0));
            assert_true(fake_cuda_stats().streams > before);
            CHECK_OK(dnnl_tp_event_signal(gate, dnnl_tp_success));
            CHECK_OK(dnnl_tp_event_wait(last, -1, NULL));
            assert_true(gpu_value(y) == 2);
        }
        if (kind != LEFT) /* then the engine ends it */
            assert_true(ends_with(kind == OWN ? makes_a_stream : dnnl_tp_sync_devices, before));
        CHECK_OK(dnnl_tp_event_destroy(last));
        CHECK_OK(dnnl_tp_event_destroy(gate));
        CHECK_OK(dnnl_tp_primitive_destroy(p));
        CHECK_OK(dnnl_tp_memory_destroy(y));
    }
}

/* A thread of the program does not wait for what it gives away. */
static void giving_away_does_not_wait(void **state) {
    (void)state;
    const int64_t before = fake_cuda_stats().streams;
    dnnl_tp_stream_t s = gpu_stream();
    dnnl_tp_memory_t x = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 0);
    CHECK_OK(dnnl_tp_stream_give_away(NULL));
    fake_cuda_hold(true);
    CHECK_OK(gpu_step(p, s, x));
    dnnl_tp_event_t e = test_record(s);
    CHECK_OK(dnnl_tp_stream_give_away(s));
    fake_cuda_hold(false);
    CHECK_OK(dnnl_tp_event_wait(e, -1, NULL));
    assert_true(ends_with(dnnl_tp_sync_devices, before));
    assert_true(gpu_value(x) == 2);
    s = gpu_stream(); /* an idle one ends at once */
    CHECK_OK(dnnl_tp_stream_give_away(s));
    assert_int_equal(fake_cuda_stats().streams, before);
    CHECK_OK(dnnl_tp_event_destroy(e));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_destroy(x));
}

/* ---- Sessions of the CPU -------------------------------------------------------------------------------- */

static _Atomic int in_run, run_goes_on, dropped;
static dnnl_tp_status_t stays(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                              int nout, const dnnl_tp_host_arg_t *out) {
    (void)stop, (void)nin, (void)in, (void)nout;
    atomic_store(&in_run, 1);
    if (arg) (void)gpu_comes(&run_goes_on);
    *(float *)out[0].data = 5;
    return dnnl_tp_success;
}
static void drops(void *arg) {
    (void)arg;
    atomic_store(&dropped, 1);
}
typedef struct {
    dnnl_tp_session_t session;
    float value;
    dnnl_tp_status_t status;
} fetch_t;
static void *runs_session(void *arg) {
    fetch_t *f = arg;
    const dnnl_tp_fetch_t fetch = {.name = "five", .data = &f->value};
    f->status = dnnl_tp_session_run(f->session, 0, NULL, 1, &fetch, 0, NULL, NULL);
    return NULL;
}

/* A callback on the driver's thread gives a session away that is idle, or in a run on another thread, with which it
 * ends then: the graph goes with it. */
static void callbacks_may_give_sessions_away(void **state) {
    (void)state;
    for (int busy = 0; busy < 2; ++busy) {
        dnnl_tp_engine_t cpu;
        dnnl_tp_graph_t graph;
        dnnl_tp_value_t five;
        pthread_t t;
        gives_t g = {.stream = NULL};
        const dnnl_tp_tensor_info_t scalar = {.data_type = dnnl_tp_f32};
        atomic_store(&in_run, 0);
        atomic_store(&run_goes_on, 0);
        atomic_store(&dropped, 0);
        CHECK_OK(dnnl_tp_engine_create(&cpu, dnnl_tp_cpu, 0));
        CHECK_OK(dnnl_tp_graph_create(&graph, dnnl_tp_cpu));
        CHECK_OK(dnnl_tp_graph_host(graph, stays, busy ? &g : NULL, drops, 0, "stays", 0, NULL, 1, &scalar,
                                    &five));
        CHECK_OK(dnnl_tp_graph_output(graph, five, "five"));
        CHECK_OK(dnnl_tp_session_create(&g.session, graph, cpu, NULL));
        CHECK_OK(dnnl_tp_graph_destroy(graph));
        CHECK_OK(dnnl_tp_engine_destroy(cpu));
        fetch_t f = {.session = g.session};
        if (busy) {
            assert_int_equal(pthread_create(&t, NULL, runs_session, &f), 0);
            assert_true(gpu_comes(&in_run));
        } else {
            (void)runs_session(&f);
            CHECK_OK(f.status);
            assert_true(f.value == 5);
        }
        dnnl_tp_stream_t s = gpu_stream();
        call_back(s, gives_away, &g, &g.called);
        assert_int_equal(atomic_load(&g.give_away), dnnl_tp_success);
        assert_int_equal(atomic_load(&dropped), !busy);
        atomic_store(&run_goes_on, 1);
        if (busy) assert_int_equal(pthread_join(t, NULL), 0);
        assert_true(gpu_comes(&dropped));
        CHECK_OK(dnnl_tp_stream_destroy(s));
    }
}

static _Atomic int on_drivers_thread;

/* A pool whose loops are the caller's: it cannot be called from its own jobs, and has no other thread. */
static int plain_loop(void *ctx, int n, dnnl_tp_chunk_fn_t fn, void *arg) {
    (void)ctx;
    if (fake_cuda_calls_host()) atomic_store(&on_drivers_thread, 1);
    for (int i = 0; i < n; ++i) fn(arg, i, n);
    return 0;
}
static int one(void *ctx) { return (void)ctx, 1; }

static void looks_where(void *arg, dnnl_tp_status_t status) {
    (void)arg, (void)status;
    if (fake_cuda_calls_host()) atomic_store(&on_drivers_thread, 1);
}

/* What a callback of the driver releases on a queue of the CPU is left to who waits for it. (A CPU stream without a pool waits for the
 * event in its own call.) */
static void the_driver_computes_nothing(void **state) {
    (void)state;
    static float host[GPU_N];
    const dnnl_tp_threadpool_iface_t pool = {
        .struct_size = sizeof pool, .ctx = host, .get_num_threads = one, .parallel_for = plain_loop};
    dnnl_tp_engine_t cpu;
    CHECK_OK(dnnl_tp_engine_create(&cpu, dnnl_tp_cpu, 0));
    dnnl_tp_stream_t s = gpu_stream(), c = test_stream(cpu, &pool, 1, 0);
    dnnl_tp_memory_t x = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 0), q = test_linear(cpu, GPU_N, 1, 1);
    fake_cuda_hold(true);
    CHECK_OK(gpu_step(p, s, x));
    dnnl_tp_event_t e = test_record(s);
    CHECK_OK(dnnl_tp_stream_wait_event(c, e));
    CHECK_OK(test_step(q, c, host));
    dnnl_tp_event_t done = test_record(c);
    CHECK_OK(dnnl_tp_event_on_complete(done, looks_where, NULL));
    const int64_t before = fake_cuda_stats().host_functions;
    fake_cuda_hold(false);
    for (int i = 0; i < GPU_LONGEST_MS && fake_cuda_stats().host_functions == before; ++i) usleep(1000);
    usleep(20000);
    CHECK_OK(dnnl_tp_stream_wait(c));
    assert_true(host[0] == 1 && host[GPU_N - 1] == 1);
    CHECK_OK(dnnl_tp_event_destroy(e));
    CHECK_OK(dnnl_tp_event_destroy(done));
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_stream_destroy(c));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_destroy(q));
    CHECK_OK(dnnl_tp_memory_destroy(x));
    CHECK_OK(dnnl_tp_engine_destroy(cpu));
    assert_int_equal(atomic_load(&on_drivers_thread), 0);
}

int main(int argc, char **argv) {
    alarm(900);
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(failures_follow_events, gpu_setup, gpu_teardown),
        cmocka_unit_test(every_sticky_error_is_told),
        cmocka_unit_test(callbacks_may_end_engines),
        cmocka_unit_test_setup_teardown(callbacks_may_give_streams_away, gpu_setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(giving_away_does_not_wait, gpu_setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(callbacks_may_give_sessions_away, gpu_setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(the_driver_computes_nothing, gpu_setup, gpu_teardown),
    };
    return cmocka_run_group_tests_name("failures", tests, NULL, NULL);
}
