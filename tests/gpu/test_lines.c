/* What marks of a stream carry, on the fake driver: what kernels outside runs find in their data, whatever call of the driver
 * fails; times of the device; memory that callbacks free. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gpu/gpu_world.h"
#include "support/check.h"
#include "support/streams.h"
#include "support/upload.h"

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* ---- Findings ---------------------------------------------------------------------------------------- */

static void what_is_found_is_told(void **state) {
    (void)state;
    gpu_look_up_t l = gpu_look_up_begin(gpu_stream());
    gpu_look_up_set(&l, GPU_ROWS);
    const int64_t before = fake_cuda_stats().pageable;
    CHECK_OK(gpu_look_up(&l));
    CHECK_STATUS(dnnl_tp_stream_wait(l.stream), dnnl_tp_runtime_error);
    assert_int_equal(fake_cuda_stats().pageable, before);
    assert_non_null(strstr(dnnl_tp_last_error(), "id 8 at position 3"));
    CHECK_OK(dnnl_tp_stream_reset(l.stream));
    gpu_look_up_set(&l, GPU_ROWS - 1);
    CHECK_OK(gpu_look_up(&l));
    CHECK_OK(dnnl_tp_stream_wait(l.stream));
    gpu_look_up_end(&l);
}

/* Whatever call fails for want of memory: the bad id is told by the first wait that does not say so. */
static void a_finding_survives_failures(void **state) {
    (void)state;
    for (int64_t k = 0;; ++k) {
        gpu_look_up_t l = gpu_look_up_begin(gpu_stream());
        gpu_look_up_set(&l, GPU_ROWS);
        CHECK_OK(gpu_look_up(&l)); /* the word is there */
        CHECK_STATUS(dnnl_tp_stream_wait(l.stream), dnnl_tp_runtime_error);
        CHECK_OK(dnnl_tp_stream_reset(l.stream));
        (void)fake_cuda_fail(k, DTP_CU_OUT_OF_MEMORY);
        const bool submitted = gpu_look_up(&l) == dnnl_tp_success;
        dnnl_tp_event_t e = NULL;
        dnnl_tp_status_t st = dnnl_tp_out_of_memory;
        if (submitted && dnnl_tp_stream_record_event(l.stream, &e)) assert_null(e);
        for (int i = 0; i < 3 && st == dnnl_tp_out_of_memory; ++i) st = dnnl_tp_stream_wait(l.stream);
        const bool all = fake_cuda_fail(-1, 0);
        CHECK_OK(dnnl_tp_stream_reset(l.stream)); /* told once: what comes finds a clean word */
        gpu_look_up_set(&l, GPU_ROWS - 1);
        const dnnl_tp_status_t clean =
            gpu_look_up(&l) ? dnnl_tp_runtime_error : dnnl_tp_stream_wait(l.stream);
        if (st != (submitted ? dnnl_tp_runtime_error : dnnl_tp_success))
            fail_msg("call %d fails: the stream answers %s", (int)k, dnnl_tp_status2str(st));
        if (clean) fail_msg("call %d fails: the next execution is told what this one found", (int)k);
        (void)dnnl_tp_event_destroy(e);
        gpu_look_up_end(&l);
        if (all) break;
    }
}

/* ---- Times ------------------------------------------------------------------------------------------- */

static dnnl_tp_stream_t profiling_stream(void) {
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_stream_t s;
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_gpu));
    CHECK_OK(dnnl_tp_cuda_stream_attr_set_profiling(attr, 1));
    CHECK_OK(dnnl_tp_stream_create_v2(&s, gpu, 0, attr));
    CHECK_OK(dnnl_tp_stream_attr_destroy(attr));
    return s;
}

enum { STEPS = 6, PAUSE_NS = 30000000 };

/* Steps behind an event of the host, which comes after a pause; each event tells of the execution in front of it. Answers whether they
 * began behind the pause: that depends on how well the clocks could be compared. */
static bool are_timed(void) {
    dnnl_tp_stream_t s = profiling_stream();
    dnnl_tp_memory_t x = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 0);
    dnnl_tp_event_t host, e[STEPS];
    CHECK_OK(gpu_step(p, s, x));
    CHECK_OK(dnnl_tp_stream_wait(s)); /* an idle stream: the clocks are compared */
    const int64_t begin = now_ns();
    CHECK_OK(dnnl_tp_event_create_host(&host, gpu));
    CHECK_OK(dnnl_tp_stream_wait_event(s, host));
    for (int i = 0; i < STEPS; ++i) {
        CHECK_OK(gpu_step(p, s, x));
        e[i] = test_record(s);
    }
    nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
    CHECK_OK(dnnl_tp_event_signal(host, dnnl_tp_success));
    CHECK_OK(dnnl_tp_stream_wait(s));
    const int64_t end = now_ns();
    int64_t last = begin;
    bool waited = false;
    for (int i = 0; i < STEPS; ++i) {
        int64_t from, to;
        CHECK_OK(dnnl_tp_event_get_times(e[i], &from, &to));
        assert_true(from <= to && to <= end);
        assert_true(from >= last);
        last = to;
        if (i == 0) waited = from >= begin + PAUSE_NS / 2;
        CHECK_OK(dnnl_tp_event_destroy(e[i]));
    }
    CHECK_OK(dnnl_tp_event_destroy(host));
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_destroy(x));
    return waited;
}

static void events_tell_the_devices_times(void **state) {
    (void)state;
    bool waited = false;
    for (int i = 0; i < 5 && !waited; ++i) waited = are_timed();
    assert_true(waited);
}

static void runs_are_timed(void **state) {
    (void)state;
    for (int profiles = 0; profiles < 2; ++profiles) {
        dnnl_tp_stream_t s = profiles ? profiling_stream() : gpu_stream();
        dnnl_tp_memory_t x = gpu_vector(gpu, 1);
        dnnl_tp_primitive_t p = gpu_linear(gpu, 1, 0);
        void *handle;
        CHECK_OK(dnnl_tp_memory_get_data_handle(x, &handle));
        const dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, handle}, {DNNL_TP_ARG_DST, handle}};
        const dnnl_tp_timed_run_opts_t o = {
            .struct_size = sizeof o, .min_warm_runs = 20, .max_warm_runs = 20, .min_time_ns = 1};
        dnnl_tp_timing_t t = {.struct_size = sizeof t};
        CHECK_OK(dnnl_tp_primitive_timed_run(p, s, 2, args, &o, &t));
        assert_int_equal(t.warm_runs, 20);
        assert_true(t.min_ns >= 0 && t.min_ns <= t.median_ns && t.median_ns <= t.max_ns && t.max_ns > 0);
        CHECK_OK(dnnl_tp_stream_destroy(s));
        CHECK_OK(dnnl_tp_primitive_destroy(p));
        CHECK_OK(dnnl_tp_memory_destroy(x));
    }
}

/* Whatever call fails (each third is tried) while a trace is recorded and items are profiled: nothing is left, and nothing is written to what has ended. */
static void failures_leave_no_stamps(void **state) {
    (void)state;
    static const dtp_cu_result_t results[] = {DTP_CU_OUT_OF_MEMORY, DTP_CU_ILLEGAL_ADDRESS};
    for (int r = 0; r < 2; ++r)
        for (int64_t k = r;; k += 3) {
            void *none = NULL;
            assert_int_equal(gpu_setup(&none), 0);
            dnnl_tp_stream_t s = profiling_stream();
            dnnl_tp_trace_t trace;
            CHECK_OK(dnnl_tp_trace_create(&trace, NULL));
            CHECK_OK(dnnl_tp_stream_set_trace(s, trace, "device"));
            dnnl_tp_memory_t x = gpu_vector(gpu, 1);
            dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 0);
            void *handle;
            CHECK_OK(dnnl_tp_memory_get_data_handle(x, &handle));
            const dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, handle}, {DNNL_TP_ARG_DST, handle}};
            const dnnl_tp_timed_run_opts_t o = {.struct_size = sizeof o,
                                                .cold_runs = 1,
                                                .min_warm_runs = 3,
                                                .max_warm_runs = 3,
                                                .min_time_ns = 1};
            dnnl_tp_timing_t t = {.struct_size = sizeof t};
            dnnl_tp_event_t e = NULL;
            (void)fake_cuda_fail(k, results[r]);
            dnnl_tp_status_t st = dnnl_tp_primitive_timed_run(p, s, 2, args, &o, &t);
            if (!st) st = gpu_step(p, s, x);
            if (!st) st = dnnl_tp_stream_record_event(s, &e);
            if (!st) st = dnnl_tp_stream_wait(s);
            const bool all = fake_cuda_fail(-1, 0);
            (void)dnnl_tp_event_destroy(e);
            (void)dnnl_tp_stream_destroy(s);
            (void)dnnl_tp_trace_destroy(trace);
            (void)dnnl_tp_primitive_destroy(p);
            (void)dnnl_tp_memory_destroy(x);
            if (gpu_teardown(&none))
                fail_msg("call %d failing with %d: something is left", (int)k, results[r]);
            if (all) break;
        }
}

/* ---- Threads ----------------------------------------------------------------------------------------- */

/* Long sums go through the scratch, which all executions of the stream have in common; it grows meanwhile. */
enum { SHARERS = 3, SHARED_ROUNDS = 4, BURST = 8, SUM = 2048, LEAST_ROWS = 2, MOST_ROWS = 4 };
typedef struct {
    dnnl_tp_stream_t stream;
    dnnl_tp_primitive_t product[2], linear;
    dnnl_tp_memory_t src, dst, x;
    pthread_t thread;
    int number;
    _Atomic int *bad;
} sharer_t;
static dnnl_tp_memory_t numbers(int n, float value) {
    static float all[MOST_ROWS * SUM];
    dnnl_tp_memory_desc_t md;
    dnnl_tp_memory_t m;
    const dnnl_tp_dims_t dims = {n};
    for (int i = 0; i < n; ++i) all[i] = value;
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&md, 1, dims, dnnl_tp_f32, dnnl_tp_a));
    CHECK_OK(dnnl_tp_memory_create(&m, md, gpu, DNNL_TP_MEMORY_ALLOCATE));
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
    test_upload(m, all, (size_t)n * sizeof *all);
    return m;
}
static dnnl_tp_status_t wait_somehow(dnnl_tp_stream_t stream, bool by_event) {
    dnnl_tp_event_t event;
    if (!by_event) return dnnl_tp_stream_wait(stream);
    dnnl_tp_status_t status = dnnl_tp_stream_record_event(stream, &event);
    if (!status) status = dnnl_tp_event_wait(event, -1, NULL);
    (void)dnnl_tp_event_destroy(event);
    return status;
}
static void *share(void *arg) {
    const sharer_t *s = arg;
    char *src, *dst, *x;
    bool good = !dnnl_tp_memory_get_data_handle(s->src, (void **)&src) &&
                !dnnl_tp_memory_get_data_handle(s->dst, (void **)&dst) &&
                !dnnl_tp_memory_get_data_handle(s->x, (void **)&x);
    const dnnl_tp_exec_handle_t step[] = {{DNNL_TP_ARG_SRC, x}, {DNNL_TP_ARG_DST, x}};
    const float want = (float)(SUM * (s->number + 1) * (s->number + 1));
    for (int k = 0; good && k < SHARED_ROUNDS; ++k) {
        const int many = k >= SHARED_ROUNDS / 2, n = many ? MOST_ROWS * MOST_ROWS : LEAST_ROWS * LEAST_ROWS;
        for (int i = 0; good && i < BURST; ++i) {
            const dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, src},
                                                  {DNNL_TP_ARG_WEIGHTS, src},
                                                  {DNNL_TP_ARG_DST, dst + sizeof(float) * (size_t)(i * n)}};
            good = !dnnl_tp_primitive_execute_handles(s->product[many], s->stream, 3, args);
        }
        good = good && !dnnl_tp_primitive_execute_handles(s->linear, s->stream, 2, step) &&
               !wait_somehow(s->stream, k % 2);
        const float *got = fake_cuda_peek((dtp_cu_ptr_t)(uintptr_t)dst, sizeof(float) * (size_t)(BURST * n));
        for (int i = 0; good && i < BURST * n; ++i) good = got && got[i] == want;
    }
    if (!good) atomic_fetch_add(s->bad, 1);
    return NULL;
}
static void threads_share_a_stream(void **state) {
    (void)state;
    for (int profiles = 0; profiles < 2; ++profiles) {
        dnnl_tp_stream_t stream = profiles ? profiling_stream() : gpu_stream();
        dnnl_tp_primitive_t few = gpu_shared_product(LEAST_ROWS, SUM),
                            many = gpu_shared_product(MOST_ROWS, SUM), linear = gpu_linear(gpu, 1, 1);
        _Atomic int bad = 0;
        sharer_t s[SHARERS];
        for (int i = 0; i < SHARERS; ++i)
            s[i] = (sharer_t){.stream = stream,
                              .product = {few, many},
                              .linear = linear,
                              .src = numbers(MOST_ROWS * SUM, (float)(i + 1)),
                              .dst = numbers(BURST * MOST_ROWS * MOST_ROWS, 0),
                              .x = gpu_vector(gpu, 0),
                              .number = i,
                              .bad = &bad};
        for (int i = 0; i < SHARERS; ++i)
            assert_int_equal(pthread_create(&s[i].thread, NULL, share, &s[i]), 0);
        for (int i = 0; i < SHARERS; ++i) pthread_join(s[i].thread, NULL);
        assert_int_equal(atomic_load(&bad), 0);
        for (int i = 0; i < SHARERS; ++i) {
            assert_true(gpu_value(s[i].x) == SHARED_ROUNDS);
            CHECK_OK(dnnl_tp_memory_destroy(s[i].src));
            CHECK_OK(dnnl_tp_memory_destroy(s[i].dst));
            CHECK_OK(dnnl_tp_memory_destroy(s[i].x));
        }
        CHECK_OK(dnnl_tp_stream_destroy(stream));
        CHECK_OK(dnnl_tp_primitive_destroy(few));
        CHECK_OK(dnnl_tp_primitive_destroy(many));
        CHECK_OK(dnnl_tp_primitive_destroy(linear));
    }
}

/* ---- Callbacks --------------------------------------------------------------------------------------- */

static _Atomic int freed;
static void frees(void *memory, dnnl_tp_status_t status) {
    (void)status;
    atomic_store(&freed, dnnl_tp_memory_destroy(memory) == dnnl_tp_success ? 1 : -1);
}

/* Memory that a callback of the driver destroys counts no longer, and comes back with the next allocation. */
static void callbacks_may_free(void **state) {
    (void)state;
    dnnl_tp_stream_t s = gpu_stream();
    dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 0);
    const int64_t before = fake_cuda_stats().blocks;
    for (int i = 0; i < 4; ++i) {
        dnnl_tp_memory_t x = gpu_vector(gpu, 1);
        assert_int_equal(fake_cuda_stats().blocks, before + 1);
        atomic_store(&freed, 0);
        fake_cuda_hold(true);
        CHECK_OK(gpu_step(p, s, x));
        dnnl_tp_event_t e = test_record(s);
        CHECK_OK(dnnl_tp_event_on_complete(e, frees, x));
        fake_cuda_hold(false);
        for (int k = 0; k < 20000 && !atomic_load(&freed); ++k) usleep(1000);
        assert_int_equal(atomic_load(&freed), 1);
        CHECK_OK(dnnl_tp_event_destroy(e));
        dnnl_tp_cuda_memory_t used = {.struct_size = sizeof used};
        CHECK_OK(dnnl_tp_cuda_get_memory(gpu, 0, &used));
        assert_int_equal(used.used, 0);
    }
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
}

int main(void) {
    alarm(600);
#define TEST(name) cmocka_unit_test_setup_teardown(name, gpu_setup, gpu_teardown)
    const struct CMUnitTest tests[] = {
        TEST(what_is_found_is_told),
        TEST(a_finding_survives_failures),
        TEST(events_tell_the_devices_times),
        TEST(runs_are_timed),
        TEST(threads_share_a_stream),
        TEST(callbacks_may_free),
        cmocka_unit_test(failures_leave_no_stamps),
    };
    return cmocka_run_group_tests_name("lines", tests, NULL, NULL);
}
