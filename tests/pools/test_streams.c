/* Streams on every pool: dependent executions, asynchronous submission, refusals, scratch, life of pools. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/primitive/primitive_desc.h"
#include "support/check.h"
#include "support/hostile_pools.h"
#include "support/streams.h"
#include "support/watchdog.h"

enum { N = 30000, CHAIN = 40 };

/* x = 2 (x + 1), in place, again and again: any lost or reordered step changes the result. */
static void chain_on(dnnl_tp_stream_t stream, dnnl_tp_primitive_t add, dnnl_tp_primitive_t twice, float *x) {
    double want = 0;
    for (int i = 0; i < N; ++i) x[i] = 0;
    for (int k = 0; k < CHAIN; ++k) {
        CHECK_OK(test_step(add, stream, x));
        want += 1;
        if (k % 4 == 0) {
            CHECK_OK(test_step(twice, stream, x));
            want *= 2;
        }
        if (k == CHAIN / 2) CHECK_OK(dnnl_tp_stream_wait(stream));
    }
    CHECK_OK(dnnl_tp_stream_wait(stream));
    for (int i = 0; i < N; ++i) assert_true(x[i] == (float)want);
}

static void dependent_steps(void **state) {
    (void)state;
    float *x = malloc(N * sizeof(*x));
    dnnl_tp_primitive_t add = test_linear(test_engine, N, 1, 1), twice = test_linear(test_engine, N, 2, 0);
    for (int kind = 0; kind < POOL_KINDS; ++kind)
        for (int async = 0; async < 2; ++async) {
            if (kind == POOL_STALLED) continue;
            hostile_pool_t *pool = hostile_pool_create((hostile_kind_t)kind, 3);
            dnnl_tp_stream_t stream = test_stream(test_engine, hostile_pool_iface(pool), async, 0);
            chain_on(stream, add, twice, x);
            CHECK_OK(dnnl_tp_stream_destroy(stream));
            assert_int_equal(hostile_pool_complaints(pool), 0);
            hostile_pool_destroy(pool);
        }
    for (int n = 1; n <= 3; ++n)
        for (int async = 0; async < 4; ++async) {
            dnnl_tp_threadpool_t pool;
            const dnnl_tp_threadpool_iface_t *iface;
            dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof(opts), .num_threads = n};
            opts.flags = async & 2 ? DNNL_TP_THREADPOOL_ASYNCHRONOUS : 0;
            CHECK_OK(dnnl_tp_threadpool_create(&pool, &opts));
            CHECK_OK(dnnl_tp_threadpool_get_iface(pool, &iface));
            dnnl_tp_stream_t stream = test_stream(test_engine, iface, async & 1, 0);
            dnnl_tp_threadpool_destroy(pool); /* the stream keeps the threads */
            chain_on(stream, add, twice, x);
            CHECK_OK(dnnl_tp_stream_destroy(stream));
        }
    dnnl_tp_primitive_destroy(add);
    dnnl_tp_primitive_destroy(twice);
    free(x);
}

/* Inside running work nothing waits, but work is seen all the same. */
typedef struct {
    dnnl_tp_stream_t stream;
    const dnnl_tp_threadpool_iface_t *iface;
    dnnl_tp_status_t answer;
    dtp_reason_t reason;
} swap_t;
static void swap_pool(void *arg, dnnl_tp_status_t status) {
    swap_t *s = arg;
    (void)status;
    s->answer = dnnl_tp_stream_set_threadpool(s->stream, s->iface);
    s->reason = dtp_last_reason();
}
static void a_busy_stream_keeps_its_pool(void **state) {
    (void)state;
    float *x = calloc(N, sizeof(*x));
    for (int kind = 0; kind < POOL_KINDS; ++kind) {
        hostile_pool_t *pool = hostile_pool_create((hostile_kind_t)kind, 2),
                       *next = hostile_pool_create(POOL_FIFO, 2);
        swap_t s = {.stream = test_stream(test_engine, hostile_pool_iface(pool), 1, 0),
                    .iface = hostile_pool_iface(next)};
        dnnl_tp_primitive_t add = test_linear(test_engine, N, 1, 1);
        dnnl_tp_event_t gate = test_host_event(), done = NULL;
        x[0] = 0;
        CHECK_OK(dnnl_tp_stream_wait_event(s.stream, gate));
        CHECK_OK(test_step(add, s.stream, x));
        done = test_record(s.stream);
        for (int idle = 0; idle < 2; ++idle) {
            dnnl_tp_event_t call = test_host_event();
            CHECK_OK(dnnl_tp_event_on_complete(call, swap_pool, &s));
            CHECK_OK(dnnl_tp_event_signal(call, dnnl_tp_success));
            dnnl_tp_event_destroy(call);
            assert_int_equal(s.answer, idle ? dnnl_tp_success : dnnl_tp_invalid_arguments);
            if (idle) break;
            assert_int_equal(s.reason, DTP_BUSY_STREAM);
            CHECK_STATUS(dnnl_tp_stream_wait_for(s.stream, 0), dnnl_tp_timed_out);
            CHECK_OK(dnnl_tp_event_signal(gate, dnnl_tp_success));
            CHECK_OK(dnnl_tp_stream_wait(s.stream));
            assert_true(test_is_done(done) && x[0] == 1);
        }
        CHECK_OK(test_step(add, s.stream, x));
        CHECK_OK(dnnl_tp_stream_wait(s.stream));
        assert_true(x[0] == 2);
        dnnl_tp_event_destroy(gate);
        dnnl_tp_event_destroy(done);
        CHECK_OK(dnnl_tp_stream_destroy(s.stream));
        dnnl_tp_primitive_destroy(add);
        hostile_pool_destroy(pool);
        hostile_pool_destroy(next);
    }
    free(x);
}

/* A host's release counts: it is over before the same pool is known again. */
static _Atomic int releasing, releases, used_while_releasing;
static dnnl_tp_status_t inside_release;
static dnnl_tp_threadpool_iface_t released_iface;
static int released_threads(void *ctx) {
    (void)ctx;
    if (atomic_load(&releasing)) atomic_fetch_add(&used_while_releasing, 1);
    return 2;
}
static int released_schedule(void *ctx, void *cookie, dnnl_tp_task_fn_t fn, void *arg) {
    (void)ctx, (void)cookie;
    fn(arg);
    return 0;
}
static void release_slowly(void *ctx) {
    dnnl_tp_stream_attr_t attr = NULL;
    atomic_store(&releasing, 1);
    if (dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu)) abort();
    inside_release = dnnl_tp_stream_attr_set_threadpool(attr, ctx);
    dnnl_tp_stream_attr_destroy(attr);
    usleep(20000);
    atomic_store(&releasing, 0);
    atomic_fetch_add(&releases, 1);
}
static void *destroy_stream(void *stream) {
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    return NULL;
}
static void release_is_over_first(void **state) {
    (void)state;
    released_iface = (dnnl_tp_threadpool_iface_t){.struct_size = sizeof released_iface,
                                                  .ctx = &released_iface,
                                                  .get_num_threads = released_threads,
                                                  .schedule = released_schedule,
                                                  .release = release_slowly};
    pthread_t thread;
    dnnl_tp_stream_t stream = test_stream(test_engine, &released_iface, 1, 0);
    assert_int_equal(pthread_create(&thread, NULL, destroy_stream, stream), 0);
    while (!atomic_load(&releasing) && !atomic_load(&releases)) usleep(100); /* it may be over by then */
    stream = test_stream(test_engine, &released_iface, 1, 0);
    assert_int_equal(atomic_load(&releases), 1);
    pthread_join(thread, NULL);
    assert_int_equal(inside_release, dnnl_tp_would_deadlock);
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    assert_int_equal(atomic_load(&releases), 2);
    assert_int_equal(atomic_load(&used_while_releasing), 0);
}

static void *unstall(void *pool) {
    usleep(5000);
    hostile_pool_unstall(pool);
    return NULL;
}
/* execute returns before anything ran; handles may go at once; destroy drains. */
static void submission_outlives_handles(void **state) {
    (void)state;
    float *x = calloc(N, sizeof(*x));
    hostile_pool_t *pool = hostile_pool_create(POOL_STALLED, 2);
    dnnl_tp_stream_t stream = test_stream(test_engine, hostile_pool_iface(pool), 1, 0);
    dnnl_tp_primitive_t add = test_linear(test_engine, N, 1, 1);
    for (int k = 0; k < 5; ++k) CHECK_OK(test_step(add, stream, x));
    dnnl_tp_primitive_destroy(add);
    assert_true(x[0] == 0);
    const dnnl_tp_threadpool_iface_t *iface = hostile_pool_iface(pool);
    CHECK_STATUS(dnnl_tp_stream_set_threadpool(stream, iface), dnnl_tp_invalid_arguments); /* it has work */
    assert_int_equal(dtp_last_reason(), DTP_BUSY_STREAM);
    CHECK_OK(dnnl_tp_stream_destroy(stream)); /* this thread does the work: the pool is stalled */
    for (int i = 0; i < N; ++i) assert_true(x[i] == 5);
    CHECK_STATUS(dnnl_tp_threadpool_quiesce(iface, 0), dnnl_tp_timed_out);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, unstall, pool), 0);
    CHECK_OK(dnnl_tp_threadpool_quiesce(iface, INT64_MAX)); /* a limit beyond the clock's range is none */
    pthread_join(thread, NULL);
    hostile_pool_destroy(pool);
    free(x);
}

/* Scratch grows with the largest execution, also while smaller ones are queued. */
static void scratch_grows(void **state) {
    (void)state;
    enum { ROWS = 8, MOST = 4096 };
    float *x = malloc(ROWS * MOST * sizeof(*x));
    uint16_t *y = malloc(ROWS * MOST * sizeof(*y));
    for (int i = 0; i < ROWS * MOST; ++i) x[i] = 0;
    bool booked = false;
    for (int async = 0; async < 2; ++async) {
        hostile_pool_t *pool = hostile_pool_create(POOL_FIFO, 2);
        dnnl_tp_stream_t stream = test_stream(test_engine, hostile_pool_iface(pool), async, 0);
        for (int n = 16; n <= MOST; n *= 2) {
            dnnl_tp_memory_desc_t src, dst;
            dnnl_tp_primitive_desc_t pd;
            dnnl_tp_primitive_t softmax;
            dnnl_tp_dims_t dims = {ROWS, n};
            CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&src, 2, dims, dnnl_tp_f32, dnnl_tp_ab));
            CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&dst, 2, dims, dnnl_tp_bf16, dnnl_tp_ab));
            dnnl_tp_status_t status = dnnl_tp_softmax_forward_primitive_desc_create(
                &pd, test_engine, dnnl_tp_forward_inference, dnnl_tp_softmax_accurate, src, dst, 1, NULL);
            dnnl_tp_memory_desc_destroy(src);
            dnnl_tp_memory_desc_destroy(dst);
            CHECK_OK(status);
            booked |= dtp_pd_scratch_size(pd) > 0;
            CHECK_OK(dnnl_tp_primitive_create(&softmax, pd));
            dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, x}, {DNNL_TP_ARG_DST, y}};
            CHECK_OK(dnnl_tp_primitive_execute_handles(softmax, stream, 2, args));
            dnnl_tp_primitive_destroy(softmax);
            dnnl_tp_primitive_desc_destroy(pd);
        }
        CHECK_OK(dnnl_tp_stream_wait(stream));
        assert_int_equal(y[0], 0x3980); /* 2^-12 = 1 / MOST as bf16 */
        CHECK_OK(dnnl_tp_stream_destroy(stream));
        hostile_pool_destroy(pool);
    }
    assert_true(booked);
    free(x);
    free(y);
}

/* ---- Refusals ---------------------------------------------------------------------------------------- */

typedef struct {
    dnnl_tp_threadpool_iface_t iface;
    dnnl_tp_stream_t stream;
    dnnl_tp_primitive_t primitive;
    float *x;
    int depth;
    dnnl_tp_status_t from_own_work, wait_from_own_work, destroy_from_own_work, from_other, set_from_other;
    dtp_reason_t reason;
} reentrant_t;
static int two(void *ctx) {
    (void)ctx;
    return 2;
}
static void *other_thread(void *arg) {
    reentrant_t *r = arg;
    r->from_other = test_step(r->primitive, r->stream, r->x);
    r->set_from_other = dnnl_tp_stream_set_threadpool(r->stream, NULL);
    r->reason = dtp_last_reason();
    return NULL;
}
/* A host whose loop calls back into the stream that is executing, which computes beside; but who needs it to itself is
 * refused. */
static int reentrant_loop(void *ctx, int n, dnnl_tp_chunk_fn_t fn, void *arg) {
    reentrant_t *r = ctx;
    if (r->depth++ == 0) {
        r->from_own_work = test_step(r->primitive, r->stream, r->x);
        r->wait_from_own_work = dnnl_tp_stream_wait(r->stream);
        r->destroy_from_own_work = dnnl_tp_stream_destroy(r->stream);
        pthread_t thread;
        if (pthread_create(&thread, NULL, other_thread, r)) abort();
        pthread_join(thread, NULL);
    }
    for (int i = 0; i < n; ++i) fn(arg, i, n);
    return 0;
}
static void busy_stream(void **state) {
    (void)state;
    enum { BIG = 16000000 }; /* worth a loop on any machine */
    reentrant_t r = {
        .iface = {.struct_size = sizeof(r.iface), .get_num_threads = two, .parallel_for = reentrant_loop}};
    r.iface.ctx = &r;
    r.stream = test_stream(test_engine, &r.iface, 0, 0);
    int machine;
    CHECK_OK(dnnl_tp_threadpool_interop_get_max_concurrency(&machine));
    CHECK_OK(dnnl_tp_threadpool_interop_set_max_concurrency(2)); /* on one CPU, too */
    r.primitive = test_linear(test_engine, BIG, 1, 1);
    CHECK_OK(dnnl_tp_threadpool_interop_set_max_concurrency(machine));
    r.x = calloc(BIG, sizeof(*r.x));
    CHECK_OK(test_step(r.primitive, r.stream, r.x));
    assert_int_equal(r.from_own_work, dnnl_tp_success);
    assert_int_equal(r.wait_from_own_work, dnnl_tp_would_deadlock);
    assert_int_equal(r.destroy_from_own_work, dnnl_tp_would_deadlock);
    assert_int_equal(r.from_other, dnnl_tp_success);
    assert_int_equal(r.set_from_other, dnnl_tp_invalid_arguments);
    assert_int_equal(r.reason, DTP_BUSY_STREAM);
    assert_true(r.depth > 0 && r.x[0] == 3 && r.x[BIG - 1] == 3);
    CHECK_OK(dnnl_tp_stream_destroy(r.stream));
    dnnl_tp_primitive_destroy(r.primitive);
    free(r.x);
}

static int no_schedule(void *ctx, void *run, dnnl_tp_task_fn_t fn, void *arg) {
    (void)ctx, (void)run, (void)fn, (void)arg;
    return 1;
}
static void attributes(void **state) {
    (void)state;
    dnnl_tp_stream_attr_t attr, clone, gpu;
    dnnl_tp_pool_kind_t kind;
    const dnnl_tp_threadpool_iface_t *got;
    CHECK_STATUS(dnnl_tp_stream_attr_create(NULL, dnnl_tp_cpu), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_stream_attr_create(&attr, (dnnl_tp_engine_kind_t)77), dnnl_tp_invalid_arguments);
    assert_null(attr);
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_stream_attr_get_pool_kind(attr, &kind));
    assert_int_equal(kind, dnnl_tp_pool_kind_unset);
    CHECK_OK(dnnl_tp_stream_attr_get_threadpool(attr, &got));
    assert_null(got);
    CHECK_OK(dnnl_tp_stream_attr_set_threadpool(attr, NULL));
    CHECK_OK(dnnl_tp_stream_attr_get_pool_kind(attr, &kind));
    assert_int_equal(kind, dnnl_tp_pool_kind_sequential);

    dnnl_tp_threadpool_iface_t iface = {.struct_size = 8, .ctx = &iface, .schedule = no_schedule};
    CHECK_STATUS(dnnl_tp_stream_attr_set_threadpool(attr, &iface), dnnl_tp_invalid_arguments);
    assert_int_equal(dtp_last_reason(), DTP_BAD_STRUCT_SIZE);
    iface.struct_size = offsetof(dnnl_tp_threadpool_iface_t, wait); /* schedule lies beyond */
    CHECK_STATUS(dnnl_tp_stream_attr_set_threadpool(attr, &iface), dnnl_tp_invalid_arguments);
    assert_int_equal(dtp_last_reason(), DTP_BAD_POOL);
    iface.struct_size = sizeof(iface) + 64; /* a newer host */
    CHECK_OK(dnnl_tp_stream_attr_set_threadpool(attr, &iface));
    CHECK_OK(dnnl_tp_stream_attr_get_threadpool(attr, &got));
    assert_ptr_equal(got->ctx, &iface);
    assert_true(got->struct_size <= dnnl_tp_threadpool_iface_size());
    CHECK_OK(dnnl_tp_stream_attr_get_pool_kind(attr, &kind));
    assert_int_equal(kind, dnnl_tp_pool_kind_user);

    CHECK_OK(dnnl_tp_stream_attr_create(&gpu, dnnl_tp_gpu));
    CHECK_STATUS(dnnl_tp_stream_attr_set_threadpool(gpu, &iface), dnnl_tp_invalid_arguments);
    assert_int_equal(dtp_last_reason(), DTP_BAD_ENGINE);
    dnnl_tp_stream_attr_destroy(gpu);

    CHECK_STATUS(dnnl_tp_stream_attr_set_max_threads(attr, -1), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_stream_attr_set_max_threads(attr, 257), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_stream_attr_set_parallelism(attr, 4), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_stream_attr_set_admission(attr, 2), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_stream_attr_set_async(attr, 2), dnnl_tp_invalid_arguments);
    CHECK_OK(dnnl_tp_stream_attr_set_max_threads(attr, 1));
    CHECK_OK(dnnl_tp_stream_attr_clone(&clone, attr));
    dnnl_tp_stream_attr_destroy(attr);
    CHECK_OK(dnnl_tp_stream_attr_get_pool_kind(clone, &kind));
    assert_int_equal(kind, dnnl_tp_pool_kind_user);
    dnnl_tp_stream_attr_destroy(clone);

    dnnl_tp_threadpool_t pool;
    dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof(opts), .num_threads = 257};
    CHECK_STATUS(dnnl_tp_threadpool_create(&pool, &opts), dnnl_tp_invalid_arguments);
    assert_null(pool);
    opts = (dnnl_tp_threadpool_opts_t){.struct_size = 1};
    CHECK_STATUS(dnnl_tp_threadpool_create(&pool, &opts), dnnl_tp_invalid_arguments);
    opts = (dnnl_tp_threadpool_opts_t){.struct_size = sizeof(opts), .blocking_threads = -1};
    CHECK_STATUS(dnnl_tp_threadpool_create(&pool, &opts), dnnl_tp_invalid_arguments);
    opts =
        (dnnl_tp_threadpool_opts_t){.struct_size = sizeof(opts), .flags = DNNL_TP_THREADPOOL_SINGLE_CALLER};
    CHECK_STATUS(dnnl_tp_threadpool_create(&pool, &opts), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_threadpool_quiesce(NULL, 0), dnnl_tp_invalid_arguments);
    int count;
    CHECK_STATUS(dnnl_tp_threadpool_interop_set_max_concurrency(0), dnnl_tp_invalid_arguments);
    CHECK_OK(dnnl_tp_threadpool_interop_get_max_concurrency(&count));
    assert_in_range(count, 1, DTP_MAX_THREADS);
}

static void released(void *ctx) { ++*(int *)ctx; }
static void release_is_last(void **state) {
    (void)state;
    int releases = 0;
    dnnl_tp_threadpool_iface_t iface = {
        .struct_size = sizeof(iface), .ctx = &releases, .schedule = no_schedule, .release = released};
    dnnl_tp_stream_t stream = test_stream(test_engine, &iface, 0, 0),
                     other = test_stream(test_engine, &iface, 1, 0);
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    assert_int_equal(releases, 0);
    CHECK_OK(dnnl_tp_stream_destroy(other));
    assert_int_equal(releases, 1);
}

static void swap_pools(void **state) {
    (void)state;
    float *x = calloc(N, sizeof(*x));
    dnnl_tp_primitive_t add = test_linear(test_engine, N, 1, 1);
    dnnl_tp_stream_t stream = test_stream(test_engine, NULL, 0, 0);
    int steps = 0;
    for (int kind = 0; kind < POOL_KINDS; ++kind) {
        if (kind == POOL_STALLED) continue;
        hostile_pool_t *pool = hostile_pool_create((hostile_kind_t)kind, 2);
        const dnnl_tp_threadpool_iface_t *got;
        CHECK_OK(dnnl_tp_stream_set_threadpool(stream, hostile_pool_iface(pool)));
        CHECK_OK(dnnl_tp_threadpool_interop_stream_get_threadpool(stream, &got));
        assert_ptr_equal(got->ctx, hostile_pool_iface(pool)->ctx);
        CHECK_OK(test_step(add, stream, x));
        CHECK_OK(dnnl_tp_stream_wait(stream));
        ++steps;
        CHECK_OK(dnnl_tp_stream_set_threadpool(stream, NULL));
        hostile_pool_destroy(pool);
    }
    for (int i = 0; i < N; ++i) assert_true(x[i] == (float)steps);
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    dnnl_tp_primitive_destroy(add);
    free(x);
}

/* After fork the child computes on its caller; asynchronous streams of the parent answer poisoned. */
static void forked_child(void **state) {
    (void)state;
    float *x = calloc(N, sizeof(*x));
    dnnl_tp_threadpool_t pool;
    const dnnl_tp_threadpool_iface_t *iface;
    dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof(opts), .num_threads = 2};
    CHECK_OK(dnnl_tp_threadpool_create(&pool, &opts));
    CHECK_OK(dnnl_tp_threadpool_get_iface(pool, &iface));
    dnnl_tp_primitive_t add = test_linear(test_engine, N, 1, 1);
    dnnl_tp_stream_t sync = test_stream(test_engine, iface, 0, 0),
                     async = test_stream(test_engine, iface, 1, 0);
    CHECK_OK(test_step(add, sync, x));
    CHECK_OK(test_step(add, async, x));
    CHECK_OK(dnnl_tp_stream_wait(async));
    pid_t pid = fork();
    if (pid == 0) {
        alarm(100);
        bool ok = test_step(add, sync, x) == dnnl_tp_success && x[0] == 3 && x[N - 1] == 3;
        ok &= test_step(add, async, x) == dnnl_tp_poisoned;
        ok &= dnnl_tp_stream_destroy(sync) == dnnl_tp_success &&
              dnnl_tp_stream_destroy(async) == dnnl_tp_success;
        dnnl_tp_threadpool_destroy(pool);
#ifndef __SANITIZE_THREAD__ /* it allows no thread in the child */
        ok &= dnnl_tp_threadpool_create(&pool, &opts) == dnnl_tp_success;
        ok &= dnnl_tp_threadpool_destroy(pool) == dnnl_tp_success;
#endif
        _exit(ok ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    CHECK_OK(test_step(add, sync, x));
    assert_true(x[0] == 3);
    CHECK_OK(dnnl_tp_stream_destroy(sync));
    CHECK_OK(dnnl_tp_stream_destroy(async));
    dnnl_tp_threadpool_destroy(pool);
    dnnl_tp_primitive_destroy(add);
    free(x);
}

/* The n-th allocation fails, for every n: nothing leaks, handles are NULL, the next attempt works. */
static void allocations_fail(void **state) {
    (void)state;
    static test_allocator_t failing;
    test_allocator_init(&failing);
    int64_t live = dtp_object_live();
    hostile_pool_t *pool = hostile_pool_create(POOL_FIFO, 2);
    dnnl_tp_engine_attr_t engine_attr;
    dnnl_tp_engine_t own;
    CHECK_OK(dnnl_tp_engine_attr_create(&engine_attr));
    CHECK_OK(dnnl_tp_engine_attr_set_allocator(engine_attr, &failing.iface));
    CHECK_OK(dnnl_tp_engine_create_v2(&own, dnnl_tp_cpu, 0, engine_attr));
    dnnl_tp_engine_attr_destroy(engine_attr);
    dnnl_tp_engine_t before = test_engine;
    test_engine = own;
    dnnl_tp_primitive_t add = test_linear(test_engine, N, 1, 1);
    float *x = calloc(N, sizeof(*x));
    int64_t blocks = atomic_load(&failing.live);
    for (int async = 0; async < 2; ++async)
        for (int64_t at = 0;; ++at) {
            dnnl_tp_stream_attr_t attr;
            dnnl_tp_stream_t stream;
            CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
            CHECK_OK(dnnl_tp_stream_attr_set_threadpool(attr, hostile_pool_iface(pool)));
            CHECK_OK(dnnl_tp_stream_attr_set_async(attr, async));
            atomic_store(&failing.fail_at, at);
            dnnl_tp_status_t status = dnnl_tp_stream_create_v2(&stream, own, 0, attr);
            float was = x[0];
            if (status == dnnl_tp_success) {
                status = test_step(add, stream, x);
                CHECK_OK(dnnl_tp_stream_wait(stream));
                assert_true(x[0] == was + (status == dnnl_tp_success));
                atomic_store(&failing.fail_at, -1);
                CHECK_OK(test_step(add, stream, x));
                CHECK_OK(dnnl_tp_stream_destroy(stream));
            } else {
                assert_null(stream);
            }
            bool failed = atomic_exchange(&failing.fail_at, -1) < 0 && status != dnnl_tp_success;
            dnnl_tp_stream_attr_destroy(attr);
            assert_int_equal(atomic_load(&failing.live), blocks);
            if (!failed) break;
            assert_int_equal(status, dnnl_tp_out_of_memory);
            assert_true(at < 20);
        }
    test_engine = before;
    dnnl_tp_primitive_destroy(add);
    dnnl_tp_engine_destroy(own);
    hostile_pool_destroy(pool);
    free(x);
    (void)live;
}

int main(void) {
    watchdog(110, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dependent_steps),
        cmocka_unit_test(a_busy_stream_keeps_its_pool),
        cmocka_unit_test(submission_outlives_handles),
        cmocka_unit_test(release_is_over_first),
        cmocka_unit_test(scratch_grows),
        cmocka_unit_test(busy_stream),
        cmocka_unit_test(attributes),
        cmocka_unit_test(release_is_last),
        cmocka_unit_test(swap_pools),
        cmocka_unit_test(forked_child),
        cmocka_unit_test(allocations_fail),
    };
    return cmocka_run_group_tests(tests, test_engine_setup, test_engine_teardown);
}
