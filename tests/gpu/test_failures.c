/* Failures on the fake driver: of other streams, errors after which a device is lost, and what callbacks of the driver destroy and
 * release. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* A callback drops the last handle of a device's engine, and an idle stream: nothing is left at the end. */
static void callbacks_may_end_engines(void **state) {
    for (int with_stream = 0; with_stream < 2; ++with_stream) {
        fake_cuda_reset();
        fake_cuda_set_devices(2, 9, 0);
        dtp_cu_set_for_test(fake_cuda_table());
        CHECK_OK(dnnl_tp_engine_create(&gpu, dnnl_tp_gpu, 0));
        ends_t c = {.stream = NULL};
        dnnl_tp_stream_t s = gpu_stream();
        dnnl_tp_memory_t x = gpu_vector(gpu, 1);
        dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 0);
        CHECK_OK(dnnl_tp_engine_create(&c.engine, dnnl_tp_gpu, 1));
        if (with_stream) {
            CHECK_OK(dnnl_tp_stream_create(&c.stream, c.engine, 0));
            CHECK_OK(dnnl_tp_stream_wait(c.stream));
        }
        fake_cuda_hold(true);
        CHECK_OK(gpu_step(p, s, x));
        dnnl_tp_event_t e = test_record(s);
        CHECK_OK(dnnl_tp_event_on_complete(e, ends, &c));
        fake_cuda_hold(false);
        assert_true(gpu_comes(&c.called));
        assert_int_equal(atomic_load(&c.engine_status), dnnl_tp_success);
        const dnnl_tp_status_t st = (dnnl_tp_status_t)atomic_load(&c.stream_status);
        if (with_stream) assert_true(st == dnnl_tp_success || st == dnnl_tp_would_deadlock);
        if (st == dnnl_tp_would_deadlock) CHECK_OK(dnnl_tp_stream_destroy(c.stream)); /* it stays valid */
        CHECK_OK(dnnl_tp_event_destroy(e));
        CHECK_OK(dnnl_tp_stream_destroy(s));
        CHECK_OK(dnnl_tp_primitive_destroy(p));
        CHECK_OK(dnnl_tp_memory_destroy(x));
        if (gpu_teardown(state)) fail_msg("something is left%s", with_stream ? ", with a stream" : "");
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
        cmocka_unit_test_setup_teardown(the_driver_computes_nothing, gpu_setup, gpu_teardown),
    };
    return cmocka_run_group_tests_name("failures", tests, NULL, NULL);
}
