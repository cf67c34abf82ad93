/* Who waits for a stream, and what others do meanwhile, on the fake driver: several threads wait, submit and destroy at once. */
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

/* ---- A driver whose calls take long --------------------------------------------------------------------- */

/* On threads that set it, what stands between two steps of the library takes longer, so that others come in between. */
static _Thread_local unsigned slow_us;

static dtp_cu_result_t record_slowly(dtp_cu_event_t event, dtp_cu_stream_t stream) {
    const dtp_cu_result_t result = fake_cuda_table()->cuEventRecord(event, stream);
    if (slow_us) usleep(slow_us);
    return result;
}
static dtp_cu_result_t wait_slowly(dtp_cu_stream_t stream, dtp_cu_event_t event, unsigned flags) {
    if (slow_us) usleep(slow_us);
    return fake_cuda_table()->cuStreamWaitEvent(stream, event, flags);
}
static dtp_cu_result_t query_slowly(dtp_cu_event_t event) {
    if (slow_us) usleep(slow_us);
    return fake_cuda_table()->cuEventQuery(event);
}

static int slow_setup(void **state) {
    static dtp_cu_t cu;
    (void)state;
    cu = *fake_cuda_table();
    cu.cuEventRecord = record_slowly;
    cu.cuStreamWaitEvent = wait_slowly;
    cu.cuEventQuery = query_slowly;
    fake_cuda_reset();
    dtp_cu_set_for_test(&cu);
    CHECK_OK(dnnl_tp_engine_create(&gpu, dnnl_tp_gpu, 0));
    return 0;
}

/* ---- A wait ends with what it waits for ---------------------------------------------------------------- */

typedef struct {
    dnnl_tp_event_t host;
    _Atomic int in_callback, go, waits, done, status;
} behind_t;

static void dawdles(void *arg, dnnl_tp_status_t status) {
    behind_t *b = arg;
    (void)status;
    atomic_store(&b->in_callback, 1);
    (void)gpu_comes(&b->go);
    usleep(100000);
}

/* Waits for what was submitted so far; what comes behind it waits for this thread. */
static void *waits_then_signals(void *arg) {
    behind_t *b = arg;
    atomic_store(&b->waits, 1);
    atomic_store(&b->status, (int)dnnl_tp_sync_devices(-1));
    atomic_store(&b->done, 1);
    if (dnnl_tp_event_signal(b->host, dnnl_tp_success)) return arg; /* it was signalled for this thread */
    return NULL;
}

/* A mark is being settled: its callback takes long, on the driver's thread. Who waits for it must not wait for a later mark, which
 * stands behind an event that this thread signals. */
static void a_wait_does_not_wait_for_more(void **state) {
    (void)state;
    behind_t b = {.host = NULL};
    pthread_t t;
    dnnl_tp_stream_t s = gpu_stream();
    dnnl_tp_memory_t x = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 0);
    CHECK_OK(dnnl_tp_event_create_host(&b.host, gpu));
    fake_cuda_hold(true);
    CHECK_OK(gpu_step(p, s, x));
    dnnl_tp_event_t first = test_record(s);
    CHECK_OK(dnnl_tp_event_on_complete(first, dawdles, &b));
    fake_cuda_hold(false);
    assert_true(gpu_comes(&b.in_callback));
    assert_int_equal(pthread_create(&t, NULL, waits_then_signals, &b), 0);
    assert_true(gpu_comes(&b.waits));
    usleep(50000);
    CHECK_OK(dnnl_tp_stream_wait_event(s, b.host));
    CHECK_OK(gpu_step(p, s, x));
    dnnl_tp_event_t last = test_record(s);
    usleep(200000); /* it has looked often enough to sleep in the driver */
    atomic_store(&b.go, 1);
    const bool ended = gpu_comes(&b.done);
    if (!ended) CHECK_OK(dnnl_tp_event_signal(b.host, dnnl_tp_success));
    assert_int_equal(pthread_join(t, NULL), 0);
    CHECK_OK(dnnl_tp_stream_wait(s));
    assert_true(gpu_value(x) == 4);
    CHECK_OK(dnnl_tp_event_destroy(first));
    CHECK_OK(dnnl_tp_event_destroy(last));
    CHECK_OK(dnnl_tp_event_destroy(b.host));
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_destroy(x));
    assert_true(ended);
    assert_int_equal(atomic_load(&b.status), dnnl_tp_success);
}

/* ---- What is destroyed while others look at it --------------------------------------------------------- */

static void *waits_for(void *event) {
    slow_us = 20;
    return dnnl_tp_event_wait(event, -1, NULL) == dnnl_tp_success ? NULL : event;
}

static void a_stream_is_destroyed_under_a_wait(void **state) {
    (void)state;
    enum { ROUNDS = 300, WAITERS = 3 };
    dnnl_tp_memory_t x = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t p = gpu_linear(gpu, 1, 1);
    for (int round = 0; round < ROUNDS; ++round) {
        pthread_t t[WAITERS];
        fake_cuda_set_seed((uint64_t)round + 1);
        dnnl_tp_stream_t s = gpu_stream();
        fake_cuda_hold(true);
        CHECK_OK(gpu_step(p, s, x));
        dnnl_tp_event_t e = test_record(s);
        for (int i = 0; i < WAITERS; ++i) assert_int_equal(pthread_create(&t[i], NULL, waits_for, e), 0);
        if (round % 3) usleep((useconds_t)(round % 7) * 50);
        fake_cuda_hold(false);
        CHECK_OK(dnnl_tp_stream_destroy(s));
        for (int i = 0; i < WAITERS; ++i) {
            void *wrong;
            assert_int_equal(pthread_join(t[i], &wrong), 0);
            assert_null(wrong);
        }
        CHECK_OK(dnnl_tp_event_destroy(e));
        if (fake_cuda_wrongs()) fail_msg("round %d: %s", round, fake_cuda_trap());
    }
    assert_true(gpu_value(x) == 1 + ROUNDS);
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_destroy(x));
}

typedef struct {
    dnnl_tp_stream_t stream;
    dnnl_tp_event_t event;
    _Atomic int ready, go;
} follower_t;

static void *follows(void *arg) {
    follower_t *f = arg;
    slow_us = 500;
    atomic_store(&f->ready, 1);
    while (!atomic_load(&f->go)) {
    }
    return dnnl_tp_stream_wait_event(f->stream, f->event) == dnnl_tp_success ? NULL : arg;
}

/* Another stream is told to wait for its event meanwhile. */
static void a_stream_is_destroyed_under_a_follower(void **state) {
    (void)state;
    enum { ROUNDS = 100 };
    dnnl_tp_memory_t x = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t p = gpu_linear(gpu, 1, 1);
    dnnl_tp_stream_t other = gpu_stream();
    for (int round = 0; round < ROUNDS; ++round) {
        pthread_t t;
        void *wrong;
        fake_cuda_set_seed((uint64_t)round + 1);
        dnnl_tp_stream_t s = gpu_stream();
        fake_cuda_hold(true);
        CHECK_OK(gpu_step(p, s, x));
        follower_t f = {.stream = other, .event = test_record(s)};
        assert_int_equal(pthread_create(&t, NULL, follows, &f), 0);
        assert_true(gpu_comes(&f.ready));
        atomic_store(&f.go, 1);
        usleep((useconds_t)(round % 8) * 50);
        fake_cuda_hold(false);
        CHECK_OK(dnnl_tp_stream_destroy(s));
        assert_int_equal(pthread_join(t, &wrong), 0);
        assert_null(wrong);
        CHECK_OK(gpu_step(p, other, x));
        CHECK_OK(dnnl_tp_stream_wait(other));
        CHECK_OK(dnnl_tp_event_destroy(f.event));
        if (fake_cuda_wrongs()) fail_msg("round %d: %s", round, fake_cuda_trap());
    }
    assert_true(gpu_value(x) == 1 + 2 * ROUNDS);
    CHECK_OK(dnnl_tp_stream_destroy(other));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_destroy(x));
}

static _Atomic int stop;
static void *syncs(void *may_fail) {
    long n = 0;
    if (may_fail) slow_us = 200;
    while (!atomic_load(&stop)) {
        const dnnl_tp_status_t st = dnnl_tp_sync_devices(-1);
        if (st && !may_fail) {
            fprintf(stderr, "sync: %s\n", dnnl_tp_last_error());
            return &stop;
        }
        ++n;
        if (n % 4 == 0) usleep(20);
    }
    return NULL;
}

/* Everything of a device goes, and comes again, while another thread waits for all devices. */
static void a_device_goes_under_a_sync(void **state) {
    (void)state;
    enum { ROUNDS = 150 };
    pthread_t t;
    void *wrong;
    CHECK_OK(dnnl_tp_engine_destroy(gpu));
    atomic_store(&stop, 0);
    assert_int_equal(pthread_create(&t, NULL, syncs, NULL), 0);
    for (int round = 0; round < ROUNDS; ++round) {
        fake_cuda_set_seed((uint64_t)round + 1);
        CHECK_OK(dnnl_tp_engine_create(&gpu, dnnl_tp_gpu, 0));
        dnnl_tp_stream_t s = gpu_stream();
        dnnl_tp_memory_t x = gpu_vector(gpu, 1);
        dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 0);
        CHECK_OK(gpu_step(p, s, x));
        dnnl_tp_event_t e = test_record(s);
        CHECK_OK(gpu_step(p, s, x));
        CHECK_OK(dnnl_tp_stream_destroy(s));
        assert_true(gpu_value(x) == 4);
        CHECK_OK(dnnl_tp_event_destroy(e));
        CHECK_OK(dnnl_tp_primitive_destroy(p));
        CHECK_OK(dnnl_tp_memory_destroy(x));
        CHECK_OK(dnnl_tp_engine_destroy(gpu));
        if (fake_cuda_wrongs()) fail_msg("round %d: %s", round, fake_cuda_trap());
    }
    atomic_store(&stop, 1);
    assert_int_equal(pthread_join(t, &wrong), 0);
    assert_null(wrong);
    CHECK_OK(dnnl_tp_engine_create(&gpu, dnnl_tp_gpu, 0));
}

/* ---- What is submitted while others wait for all devices ------------------------------------------------ */

static dnnl_tp_stream_t stream_with(bool profiles) {
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_stream_t s;
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_gpu));
    CHECK_OK(dnnl_tp_cuda_stream_attr_set_profiling(attr, profiles));
    CHECK_OK(dnnl_tp_stream_create_v2(&s, gpu, 0, attr));
    CHECK_OK(dnnl_tp_stream_attr_destroy(attr));
    return s;
}

typedef struct {
    gpu_look_up_t l;
    dnnl_tp_memory_t x;
    dnnl_tp_primitive_t p;
    float value;
} busy_t;

/* One of the things that a stream is for; its wait must have seen it done. */
static void do_one(busy_t *b, test_rng_t *rng) {
    dnnl_tp_event_t e = NULL;
    const unsigned what = (unsigned)(test_rand(rng) % 4);
    int steps = 1 + (int)(test_rand(rng) % 3);
    if (what == 1) {
        CHECK_OK(dnnl_tp_event_create_host(&e, gpu));
        CHECK_OK(dnnl_tp_stream_wait_event(b->l.stream, e));
    }
    for (int i = 0; i < steps; ++i) {
        CHECK_OK(gpu_step(b->p, b->l.stream, b->x));
        if (test_rand(rng) % 2)
            usleep((useconds_t)(test_rand(rng) % 300)); /* others mark the stream meanwhile */
    }
    b->value += (float)steps;
    if (what == 1) CHECK_OK(dnnl_tp_event_signal(e, dnnl_tp_success));
    if (what == 2) CHECK_OK(gpu_look_up(&b->l));
    if (what == 3) e = test_record(b->l.stream);
    if (what == 2) {
        CHECK_STATUS(dnnl_tp_stream_wait(b->l.stream), dnnl_tp_runtime_error);
        assert_non_null(strstr(dnnl_tp_last_error(), "id 8 at position 3"));
        CHECK_OK(dnnl_tp_stream_reset(b->l.stream));
    } else CHECK_OK(dnnl_tp_stream_wait(b->l.stream));
    const float got = gpu_value(b->x);
    if (got != b->value)
        fail_msg("after %u: %g, not %g: the wait did not wait", what, (double)got, (double)b->value);
    CHECK_OK(dnnl_tp_event_destroy(e));
}

static void syncs_do_not_disturb(void **state) {
    enum { SEEDS = 12, ROUNDS = 40, SYNCS = 2 };
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; ++seed) {
        pthread_t t[SYNCS];
        test_rng_t rng = test_rng(seed);
        fake_cuda_set_seed(seed);
        busy_t b = {gpu_look_up_begin(stream_with(seed % 2)), gpu_vector(gpu, 0), gpu_linear(gpu, 1, 1), 0};
        dnnl_tp_trace_t trace;
        CHECK_OK(dnnl_tp_trace_create(&trace, NULL));
        if (seed % 3 == 0) CHECK_OK(dnnl_tp_stream_set_trace(b.l.stream, trace, "device"));
        gpu_look_up_set(&b.l, GPU_ROWS);
        atomic_store(&stop, 0);
        for (int i = 0; i < SYNCS; ++i) assert_int_equal(pthread_create(&t[i], NULL, syncs, &stop), 0);
        for (int i = 0; i < ROUNDS; ++i) do_one(&b, &rng);
        atomic_store(&stop, 1);
        for (int i = 0; i < SYNCS; ++i) assert_int_equal(pthread_join(t[i], NULL), 0);
        gpu_look_up_end(&b.l);
        CHECK_OK(dnnl_tp_trace_destroy(trace));
        CHECK_OK(dnnl_tp_memory_destroy(b.x));
        CHECK_OK(dnnl_tp_primitive_destroy(b.p));
        if (fake_cuda_wrongs()) fail_msg("seed %d: %s", (int)seed, fake_cuda_trap());
    }
}

/* ---- Who waits for the host, and who does not ------------------------------------------------------------ */

enum { SUM = 4096 };

static dnnl_tp_memory_t numbers(int64_t n) {
    static float ones[4 * SUM];
    dnnl_tp_memory_desc_t md;
    dnnl_tp_memory_t m;
    const dnnl_tp_dims_t dims = {n};
    for (int64_t i = 0; i < n; ++i) ones[i] = 1;
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&md, 1, dims, dnnl_tp_f32, dnnl_tp_a));
    CHECK_OK(dnnl_tp_memory_create(&m, md, gpu, DNNL_TP_MEMORY_ALLOCATE));
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
    test_upload(m, ones, (size_t)n * sizeof *ones);
    return m;
}

typedef struct {
    dnnl_tp_stream_t idle, timed;
    dnnl_tp_primitive_t p;
    dnnl_tp_memory_t x, y, z;
    _Atomic int done;
} bystander_t;

/* Makes and destroys what it can. */
static void *goes_on(void *arg) {
    bystander_t *b = arg;
    enum { VECTORS = 4 };
    dnnl_tp_memory_t m[VECTORS];
    for (int i = 0; i < VECTORS; ++i) m[i] = gpu_vector(gpu, (float)i);
    dnnl_tp_primitive_t p = gpu_shared_product(3, SUM);
    dnnl_tp_stream_t s = gpu_stream();
    CHECK_OK(gpu_step(b->p, b->timed, m[0]));
    CHECK_OK(gpu_step(b->p, s, m[1]));
    CHECK_OK(dnnl_tp_stream_wait(s));
    CHECK_OK(dnnl_tp_stream_wait(b->timed));
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_stream_destroy(b->idle));
    CHECK_OK(dnnl_tp_stream_destroy(b->timed));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    for (int i = 0; i < VECTORS; ++i) CHECK_OK(dnnl_tp_memory_destroy(m[i]));
    atomic_store(&b->done, 1);
    return NULL;
}

/* A stream waits for an event of the host, and has memory to give back behind it. Nobody else waits for that: not who destroys other
 * streams, nor who allocates, whatever memory the driver has for it. */
static void others_do_not_wait_for_the_host(void **state) {
    (void)state;
    enum { SEEDS = 10 };
    for (uint64_t seed = 1; seed <= SEEDS; ++seed) {
        pthread_t t;
        fake_cuda_set_seed(seed);
        bystander_t b = {.idle = gpu_stream(),
                         .timed = stream_with(true),
                         .p = gpu_linear(gpu, 2, 0),
                         .x = numbers(4 * SUM),
                         .y = numbers(16),
                         .z = gpu_vector(gpu, 1)};
        dnnl_tp_primitive_t small = gpu_shared_product(2, SUM), large = gpu_shared_product(4, SUM);
        dnnl_tp_stream_t s = gpu_stream();
        dnnl_tp_event_t host;
        CHECK_OK(gpu_multiply_shared(small, b.idle, b.x, b.y));
        CHECK_OK(dnnl_tp_stream_wait(b.idle));
        CHECK_OK(dnnl_tp_event_create_host(&host, gpu));
        CHECK_OK(gpu_multiply_shared(small, s, b.x, b.y));
        CHECK_OK(dnnl_tp_stream_wait(s));
        CHECK_OK(dnnl_tp_stream_wait_event(s, host));
        CHECK_OK(gpu_multiply_shared(large, s, b.x, b.y)); /* gives its smaller scratch back */
        CHECK_OK(gpu_step(b.p, s, b.z));
        assert_int_equal(pthread_create(&t, NULL, goes_on, &b), 0);
        const bool ended = gpu_comes(&b.done);
        CHECK_OK(dnnl_tp_event_signal(host, dnnl_tp_success));
        assert_int_equal(pthread_join(t, NULL), 0);
        CHECK_OK(dnnl_tp_stream_wait(s));
        assert_true(gpu_value(b.z) == 2);
        CHECK_OK(dnnl_tp_event_destroy(host));
        CHECK_OK(dnnl_tp_stream_destroy(s));
        CHECK_OK(dnnl_tp_primitive_destroy(small));
        CHECK_OK(dnnl_tp_primitive_destroy(large));
        CHECK_OK(dnnl_tp_primitive_destroy(b.p));
        CHECK_OK(dnnl_tp_memory_destroy(b.x));
        CHECK_OK(dnnl_tp_memory_destroy(b.y));
        CHECK_OK(dnnl_tp_memory_destroy(b.z));
        if (!ended) fail_msg("seed %d: a thread waits for an event that is none of its business", (int)seed);
        if (fake_cuda_wrongs()) fail_msg("seed %d: %s", (int)seed, fake_cuda_trap());
    }
}

int main(int argc, char **argv) {
    alarm(900);
    if (argc > 1) cmocka_set_test_filter(argv[1]);
#define TEST(name) cmocka_unit_test_setup_teardown(name, gpu_setup, gpu_teardown)
#define SLOW(name) cmocka_unit_test_setup_teardown(name, slow_setup, gpu_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_wait_does_not_wait_for_more),
        SLOW(a_stream_is_destroyed_under_a_wait),
        SLOW(a_stream_is_destroyed_under_a_follower),
        SLOW(a_device_goes_under_a_sync),
        SLOW(syncs_do_not_disturb),
        TEST(others_do_not_wait_for_the_host),
    };
    return cmocka_run_group_tests_name("waits", tests, NULL, NULL);
}
