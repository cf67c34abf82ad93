/* The CUDA engine on the fake driver: devices, memory, streams of its own and the program's, events in both directions with CPU
 * queues, callbacks, errors that a context does not survive, a failure of each call of the driver, forks. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gpu/driver/cu_api.h"
#include "gpu/gpu_world.h"
#include "support/check.h"
#include "support/streams.h"
#include "support/upload.h"

/* ---- Devices ----------------------------------------------------------------------------------------- */

static void devices_are_described(void **state) {
    (void)state;
    assert_int_equal(dnnl_tp_engine_get_count(dnnl_tp_gpu), 1);
    assert_string_equal(dnnl_tp_cuda_reason(), "");
    dnnl_tp_cuda_device_t d = {.struct_size = sizeof d};
    CHECK_OK(dnnl_tp_cuda_get_device(0, &d));
    assert_int_equal(d.capability, 90);
    assert_true(d.memory_bytes > 0 && d.multiprocessors > 0 && strlen(d.name));
    size_t index = 7;
    CHECK_OK(dnnl_tp_cuda_find_device(d.uuid, &index));
    assert_int_equal(index, 0);
    d.uuid[0] ^= 1;
    CHECK_STATUS(dnnl_tp_cuda_find_device(d.uuid, &index), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_cuda_get_device(1, &d), dnnl_tp_invalid_arguments);
    dnnl_tp_engine_t none;
    CHECK_STATUS(dnnl_tp_engine_create(&none, dnnl_tp_gpu, 1), dnnl_tp_invalid_arguments);
}

static void memory_is_limited_and_counted(void **state) {
    (void)state;
    dnnl_tp_engine_attr_t attr;
    dnnl_tp_engine_t e;
    const dnnl_tp_cuda_engine_opts_t opts = {.struct_size = sizeof opts,
                                             .memory_limit = 3 * GPU_N * sizeof(float)};
    CHECK_OK(dnnl_tp_engine_attr_create(&attr));
    CHECK_OK(dnnl_tp_cuda_engine_attr_set(attr, &opts));
    CHECK_OK(dnnl_tp_engine_create_v2(&e, dnnl_tp_gpu, 0, attr));
    CHECK_OK(dnnl_tp_engine_attr_destroy(attr));
    dnnl_tp_memory_t m[3], more;
    for (int i = 0; i < 3; ++i) m[i] = gpu_vector(e, (float)i);
    dnnl_tp_memory_desc_t md;
    const dnnl_tp_dims_t dims = {1};
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&md, 1, dims, dnnl_tp_f32, dnnl_tp_a));
    CHECK_STATUS(dnnl_tp_memory_create(&more, md, e, DNNL_TP_MEMORY_ALLOCATE), dnnl_tp_out_of_memory);
    CHECK_OK(dnnl_tp_memory_destroy(m[2]));
    CHECK_OK(dnnl_tp_memory_create(&more, md, e, DNNL_TP_MEMORY_ALLOCATE));
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
    dnnl_tp_cuda_memory_t used = {.struct_size = sizeof used};
    CHECK_OK(dnnl_tp_cuda_get_memory(e, 1, &used));
    assert_int_equal(used.peak, opts.memory_limit);
    assert_int_equal(used.limit, opts.memory_limit);
    assert_int_equal(used.used, 2 * GPU_N * sizeof(float) + sizeof(float));
    CHECK_OK(dnnl_tp_cuda_get_memory(e, 0, &used));
    assert_int_equal(used.peak, used.used);
    assert_true(gpu_value(m[1]) == 1);
    CHECK_OK(dnnl_tp_memory_destroy(more));
    for (int i = 0; i < 2; ++i) CHECK_OK(dnnl_tp_memory_destroy(m[i]));
    CHECK_OK(dnnl_tp_engine_destroy(e));
}

/* ---- Streams ----------------------------------------------------------------------------------------- */

/* No wait, no allocation, nothing done when execute returns. */
static void execution_only_submits(void **state) {
    (void)state;
    dnnl_tp_stream_t s = gpu_stream();
    dnnl_tp_memory_t x = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 1);
    CHECK_OK(gpu_step(p, s, x));
    CHECK_OK(dnnl_tp_stream_wait(s));
    assert_true(gpu_value(x) == 3);
    fake_cuda_hold(true);
    const fake_cuda_stats_t before = fake_cuda_stats();
    for (int i = 0; i < 20; ++i) CHECK_OK(gpu_step(p, s, x));
    const fake_cuda_stats_t after = fake_cuda_stats();
    fake_cuda_hold(false);
    assert_int_equal(after.waits, before.waits);
    assert_int_equal(after.allocations, before.allocations);
    assert_int_equal(after.launches, before.launches);
    CHECK_OK(dnnl_tp_stream_wait(s));
    assert_true(gpu_value(x) == 4 * (float)(1 << 20) - 1);
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_destroy(x));
}

static void waits_end_in_time(void **state) {
    (void)state;
    dnnl_tp_stream_t s = gpu_stream();
    dnnl_tp_memory_t x = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 0);
    fake_cuda_hold(true);
    CHECK_OK(gpu_step(p, s, x));
    int idle = 1;
    CHECK_OK(dnnl_tp_stream_query(s, &idle, NULL));
    assert_int_equal(idle, 0);
    CHECK_STATUS(dnnl_tp_stream_wait_for(s, 20000000), dnnl_tp_timed_out);
    CHECK_STATUS(dnnl_tp_sync_devices(20000000), dnnl_tp_timed_out);
    fake_cuda_hold(false);
    CHECK_OK(dnnl_tp_sync_devices(-1));
    CHECK_OK(dnnl_tp_stream_query(s, &idle, NULL));
    assert_int_equal(idle, 1);
    assert_true(gpu_value(x) == 2);
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_destroy(x));
}

/* A stream of the program's is used, and neither waited for nor destroyed but when asked; no context stays current. */
static void the_programs_stream_is_used(void **state) {
    (void)state;
    const dtp_cu_t *cu = fake_cuda_table();
    dtp_cu_ctx_t ctx, left;
    dtp_cu_stream_t theirs;
    assert_int_equal(cu->cuDevicePrimaryCtxRetain(&ctx, 0), DTP_CU_SUCCESS);
    assert_int_equal(cu->cuCtxPushCurrent(ctx), DTP_CU_SUCCESS);
    assert_int_equal(cu->cuStreamCreate(&theirs, 0), DTP_CU_SUCCESS);
    assert_int_equal(cu->cuCtxPopCurrent(&left), DTP_CU_SUCCESS);
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_stream_t s[2];
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_gpu));
    for (int i = 0; i < 2; ++i) {
        CHECK_OK(dnnl_tp_cuda_stream_attr_set_stream(attr, i ? NULL : theirs));
        CHECK_OK(dnnl_tp_stream_create_v2(&s[i], gpu, 0, attr));
        struct CUstream_st *is = (struct CUstream_st *)attr;
        CHECK_OK(dnnl_tp_cuda_stream_get_stream(s[i], &is));
        assert_ptr_equal(is, i ? NULL : theirs);
    }
    CHECK_OK(dnnl_tp_stream_attr_destroy(attr));
    dnnl_tp_memory_t x = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 0);
    for (int i = 0; i < 2; ++i) { /* a blocking stream and the legacy one are in order */
        CHECK_OK(gpu_step(p, s[0], x));
        CHECK_OK(gpu_step(p, s[1], x));
    }
    CHECK_OK(dnnl_tp_stream_wait(s[1]));
    assert_true(gpu_value(x) == 16);
    assert_int_not_equal(cu->cuStreamSynchronize(theirs), DTP_CU_SUCCESS); /* no context is current */
    for (int i = 0; i < 2; ++i) CHECK_OK(dnnl_tp_stream_destroy(s[i]));
    assert_int_equal(cu->cuCtxPushCurrent(ctx), DTP_CU_SUCCESS);
    assert_int_equal(cu->cuStreamDestroy(theirs), DTP_CU_SUCCESS);
    assert_int_equal(cu->cuCtxPopCurrent(&left), DTP_CU_SUCCESS);
    assert_int_equal(cu->cuDevicePrimaryCtxRelease(0), DTP_CU_SUCCESS);
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_destroy(x));
}

/* ---- Events ------------------------------------------------------------------------------------------ */

static void order(dnnl_tp_stream_t before, dnnl_tp_stream_t after) {
    dnnl_tp_event_t e = test_record(before);
    CHECK_OK(dnnl_tp_stream_wait_event(after, e));
    CHECK_OK(dnnl_tp_event_destroy(e));
}

static void streams_wait_for_each_other(void **state) {
    (void)state;
    enum { ROUNDS = 25 };
    for (uint64_t seed = 1; seed <= 8; ++seed) {
        fake_cuda_set_seed(seed);
        dnnl_tp_stream_t s[2] = {gpu_stream(), gpu_stream()};
        dnnl_tp_memory_t x = gpu_vector(gpu, 0);
        dnnl_tp_primitive_t p[2] = {gpu_linear(gpu, 1, 1), gpu_linear(gpu, 2, 0)};
        float want = 0;
        for (int i = 0; i < ROUNDS; ++i) {
            CHECK_OK(gpu_step(p[i & 1], s[i & 1], x));
            order(s[i & 1], s[~i & 1]);
            want = i & 1 ? 2 * want : want + 1;
        }
        CHECK_OK(dnnl_tp_stream_wait(s[ROUNDS & 1]));
        assert_true(gpu_value(x) == want);
        for (int i = 0; i < 2; ++i) {
            CHECK_OK(dnnl_tp_stream_destroy(s[i]));
            CHECK_OK(dnnl_tp_primitive_destroy(p[i]));
        }
        CHECK_OK(dnnl_tp_memory_destroy(x));
    }
}

/* More events of the host than the stream has words to wait for. */
static void the_device_waits_for_the_host(void **state) {
    (void)state;
    enum { EVENTS = 200 };
    dnnl_tp_stream_t s = gpu_stream();
    dnnl_tp_memory_t x = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t p = gpu_linear(gpu, 1, 1);
    dnnl_tp_event_t e[EVENTS];
    for (int i = 0; i < EVENTS; ++i) {
        CHECK_OK(dnnl_tp_event_create_host(&e[i], gpu));
        CHECK_OK(dnnl_tp_stream_wait_event(s, e[i]));
        if (i % 10 == 0) CHECK_OK(gpu_step(p, s, x));
    }
    int idle = 1;
    CHECK_OK(dnnl_tp_stream_query(s, &idle, NULL));
    assert_int_equal(idle, 0);
    for (int i = EVENTS; i--;) CHECK_OK(dnnl_tp_event_signal(e[i], dnnl_tp_success));
    CHECK_OK(dnnl_tp_stream_wait(s));
    assert_true(gpu_value(x) == 21);
    for (int i = 0; i < EVENTS; ++i) CHECK_OK(dnnl_tp_event_destroy(e[i]));
    /* One that fails: what comes behind it is reported as failed. */
    dnnl_tp_event_t bad, behind;
    CHECK_OK(dnnl_tp_event_create_host(&bad, gpu));
    CHECK_OK(dnnl_tp_stream_wait_event(s, bad));
    CHECK_OK(gpu_step(p, s, x));
    behind = test_record(s);
    CHECK_OK(dnnl_tp_event_signal(bad, dnnl_tp_cancelled));
    CHECK_STATUS(dnnl_tp_event_wait(behind, -1, NULL), dnnl_tp_cancelled);
    CHECK_STATUS(dnnl_tp_stream_wait(s), dnnl_tp_cancelled);
    CHECK_OK(dnnl_tp_stream_reset(s));
    CHECK_OK(gpu_step(p, s, x));
    CHECK_OK(dnnl_tp_stream_wait(s));
    CHECK_OK(dnnl_tp_event_destroy(bad));
    CHECK_OK(dnnl_tp_event_destroy(behind));
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_destroy(x));
}

typedef struct {
    dnnl_tp_stream_t stream;
    dnnl_tp_primitive_t p;
    dnnl_tp_memory_t x;
    _Atomic int calls;
    _Atomic int execute, wait, status;
} called_t;
static void called(void *arg, dnnl_tp_status_t status) {
    called_t *c = arg;
    atomic_store(&c->status, (int)status);
    atomic_store(&c->execute, (int)gpu_step(c->p, c->stream, c->x));
    atomic_store(&c->wait, (int)dnnl_tp_stream_wait(c->stream));
    atomic_fetch_add(&c->calls, 1);
}
static void callbacks_come_from_the_driver(void **state) {
    (void)state;
    dnnl_tp_stream_t s = gpu_stream(), other = gpu_stream();
    called_t c = {.stream = other, .x = gpu_vector(gpu, 1), .p = gpu_linear(gpu, 2, 0)};
    dnnl_tp_memory_t x = gpu_vector(gpu, 1);
    CHECK_OK(gpu_step(c.p, s, x));
    fake_cuda_hold(true);
    CHECK_OK(gpu_step(c.p, other, c.x));
    dnnl_tp_event_t e = test_record(s);
    CHECK_OK(dnnl_tp_event_on_complete(e, called, &c));
    assert_int_equal(atomic_load(&c.calls), 0);
    fake_cuda_hold(false);
    for (int i = 0; i < 20000 && !atomic_load(&c.calls); ++i) usleep(1000); /* nobody waits for the event */
    assert_int_equal(atomic_load(&c.calls), 1);
    assert_int_equal(atomic_load(&c.status), dnnl_tp_success);
    assert_int_equal(atomic_load(&c.execute), dnnl_tp_would_deadlock);
    assert_int_equal(atomic_load(&c.wait), dnnl_tp_would_deadlock);
    CHECK_OK(dnnl_tp_event_destroy(e));
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_stream_destroy(other));
    CHECK_OK(dnnl_tp_primitive_destroy(c.p));
    CHECK_OK(dnnl_tp_memory_destroy(c.x));
    CHECK_OK(dnnl_tp_memory_destroy(x));
}

/* A queue of the CPU and a stream of the device take turns. */
static void devices_take_turns_with_the_cpu(void **state) {
    (void)state;
    enum { ROUNDS = 20, N = GPU_N };
    static float host[N];
    dnnl_tp_engine_t cpu;
    CHECK_OK(dnnl_tp_engine_create(&cpu, dnnl_tp_cpu, 0));
    dnnl_tp_threadpool_t pool = test_pool(2);
    dnnl_tp_stream_t s = gpu_stream(), c = test_stream(cpu, test_pool_iface(pool), 1, 0);
    dnnl_tp_memory_t x = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 0), q = test_linear(cpu, N, 1, 1);
    for (int i = 0; i < N; ++i) host[i] = 0;
    for (int i = 0; i < ROUNDS; ++i) {
        CHECK_OK(gpu_step(p, s, x));
        order(s, c);
        CHECK_OK(test_step(q, c, host));
        order(c, s);
    }
    CHECK_OK(dnnl_tp_stream_wait(s));
    assert_true(host[0] == ROUNDS && host[N - 1] == ROUNDS);
    assert_true(gpu_value(x) == (float)(1 << ROUNDS));
    CHECK_OK(dnnl_tp_stream_wait(c));
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_stream_destroy(c));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_destroy(q));
    CHECK_OK(dnnl_tp_memory_destroy(x));
    CHECK_OK(dnnl_tp_threadpool_destroy(pool));
    CHECK_OK(dnnl_tp_engine_destroy(cpu));
}

/* ---- Failures ---------------------------------------------------------------------------------------- */

/* After an error that the context does not survive everybody is told, nobody hangs, and everything can be destroyed. */
static void a_lost_device_is_told(void **state) {
    (void)state;
    dnnl_tp_stream_t s = gpu_stream();
    dnnl_tp_memory_t x = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 0);
    fake_cuda_hold(true);
    CHECK_OK(gpu_step(p, s, x));
    dnnl_tp_event_t e = test_record(s);
    assert_false(fake_cuda_fail_item(0, DTP_CU_ILLEGAL_ADDRESS));
    fake_cuda_hold(false);
    CHECK_STATUS(dnnl_tp_event_wait(e, -1, NULL), dnnl_tp_runtime_error);
    CHECK_STATUS(dnnl_tp_stream_wait(s), dnnl_tp_runtime_error);
    CHECK_STATUS(gpu_step(p, s, x), dnnl_tp_runtime_error);
    assert_non_null(strstr(dnnl_tp_last_error(), "ILLEGAL_ADDRESS"));
    void *mapped;
    CHECK_STATUS(dnnl_tp_memory_map_data(x, &mapped), dnnl_tp_runtime_error);
    CHECK_OK(dnnl_tp_event_destroy(e));
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_destroy(x));
}

/* All that a program does, until something fails; everything that was made is destroyed. */
static dnnl_tp_status_t program(void) {
    dnnl_tp_engine_t e = NULL;
    dnnl_tp_stream_t s = NULL, t = NULL;
    dnnl_tp_memory_t x = NULL;
    dnnl_tp_memory_desc_t md = NULL;
    dnnl_tp_primitive_desc_t pd = NULL;
    dnnl_tp_primitive_t p = NULL;
    dnnl_tp_event_t event = NULL, host = NULL;
    void *mapped = NULL;
    const dnnl_tp_dims_t dims = {GPU_N};
    dnnl_tp_status_t st = dnnl_tp_engine_create(&e, dnnl_tp_gpu, 0);
    if (!st) st = dnnl_tp_stream_create(&s, e, 0);
    if (!st) st = dnnl_tp_stream_create(&t, e, 0);
    if (!st) st = dnnl_tp_memory_desc_create_with_tag(&md, 1, dims, dnnl_tp_f32, dnnl_tp_a);
    if (!st) st = dnnl_tp_memory_create(&x, md, e, DNNL_TP_MEMORY_ALLOCATE);
    if (!st) st = dnnl_tp_memory_map_data(x, &mapped);
    if (!st) {
        for (int i = 0; i < GPU_N; ++i) ((float *)mapped)[i] = 1;
        st = dnnl_tp_memory_unmap_data(x, mapped);
        if (!st) mapped = NULL;
    }
    if (!st)
        st = dnnl_tp_eltwise_forward_primitive_desc_create(&pd, e, dnnl_tp_forward_inference,
                                                           dnnl_tp_eltwise_linear, md, md, 2, 0, NULL);
    if (!st) st = dnnl_tp_primitive_create(&p, pd);
    if (!st) st = dnnl_tp_event_create_host(&host, e);
    if (!st) st = dnnl_tp_stream_wait_event(s, host);
    if (!st) st = gpu_step(p, s, x);
    if (!st) st = dnnl_tp_stream_record_event(s, &event);
    if (!st) st = dnnl_tp_stream_wait_event(t, event);
    if (!st) st = gpu_step(p, t, x);
    if (host) CHECK_OK(dnnl_tp_event_signal(host, dnnl_tp_success));
    if (!st) st = dnnl_tp_stream_wait(t);
    if (!st) st = dnnl_tp_stream_wait(s);
    if (!st) st = dnnl_tp_memory_map_data(x, &mapped);
    if (!st && ((float *)mapped)[GPU_N - 1] != 4)
        fail_msg("a failure was not told: %g", (double)((float *)mapped)[0]);
    if (!st) st = dnnl_tp_memory_unmap_data(x, mapped);
    if (!st) mapped = NULL;
    dnnl_tp_event_destroy(host);
    dnnl_tp_event_destroy(event);
    dnnl_tp_stream_destroy(s);
    dnnl_tp_stream_destroy(t);
    dnnl_tp_primitive_destroy(p);
    dnnl_tp_primitive_desc_destroy(pd);
    if (mapped && dnnl_tp_memory_unmap_data(x, mapped) == dnnl_tp_success) mapped = NULL;
    dnnl_tp_memory_destroy(x);
    dnnl_tp_memory_desc_destroy(md);
    dnnl_tp_engine_destroy(e);
    return st;
}

static void each_call_may_fail(void **state) {
    (void)state;
    static const dtp_cu_result_t results[] = {DTP_CU_OUT_OF_MEMORY, DTP_CU_ILLEGAL_ADDRESS};
    for (int r = 0; r < 2; ++r) {
        int failed = 0;
        for (int64_t k = 0;; ++k) {
            fake_cuda_reset();
            dtp_cu_set_for_test(fake_cuda_table());
            (void)fake_cuda_fail(k, results[r]);
            const dnnl_tp_status_t st = program();
            failed += st != dnnl_tp_success;
            const bool all = fake_cuda_fail(-1, 0);
            if (fake_cuda_report(stderr))
                fail_msg("call %d failing with %d: something is left", (int)k, results[r]);
            if (all) break;
        }
        assert_true(failed > 30);
    }
}

static void a_child_has_no_device(void **state) {
    (void)state;
    dnnl_tp_stream_t s = gpu_stream();
    dnnl_tp_memory_t x = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 0);
    const pid_t child = fork();
    if (!child) {
        bool ok = gpu_step(p, s, x) == dnnl_tp_poisoned && dnnl_tp_stream_wait(s) == dnnl_tp_poisoned;
        _exit(!ok);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_destroy(x));
}

int main(void) {
    alarm(600);
#define TEST(name) cmocka_unit_test_setup_teardown(name, gpu_setup, gpu_teardown)
    const struct CMUnitTest tests[] = {
        TEST(devices_are_described),           TEST(memory_is_limited_and_counted),
        TEST(execution_only_submits),          TEST(waits_end_in_time),
        TEST(the_programs_stream_is_used),     TEST(streams_wait_for_each_other),
        TEST(the_device_waits_for_the_host),   TEST(callbacks_come_from_the_driver),
        TEST(devices_take_turns_with_the_cpu), TEST(a_lost_device_is_told),
        TEST(a_child_has_no_device),           cmocka_unit_test(each_call_may_fail),
    };
    return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
