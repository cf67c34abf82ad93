/* The built-in pool as a part of the process: threads, names, signals, end of life. Alone in its process,
 * because it counts threads. */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/check.h"
#include "support/streams.h"
#include "support/watchdog.h"
#include "threading/streams/stream_attr.h"
#include "threading/pools/record.h"

/* Threads of the process whose name starts with prefix; all of them with "". */
static int threads_named(const char *prefix) {
    DIR *dir = opendir("/proc/self/task");
    assert_non_null(dir);
    int count = 0;
    for (struct dirent *e; (e = readdir(dir));) {
        char path[300], name[32] = "";
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof(path), "/proc/self/task/%.100s/comm", e->d_name);
        FILE *file = fopen(path, "r");
        if (!file) continue;
        if (!fgets(name, sizeof(name), file)) name[0] = 0;
        fclose(file);
        count += strncmp(name, prefix, strlen(prefix)) == 0;
    }
    closedir(dir);
    return count;
}

/* A joined thread may still be listed: who joins goes on before the kernel has taken it off. */
static bool threads_become(int count) {
    for (int i = 0; i < 20000 && threads_named("") != count; ++i) usleep(1000);
    return threads_named("") == count;
}
static int threads_at_first; /* of the test itself */

static void no_hidden_threads(void **state) {
    (void)state;
    const int before = threads_at_first;
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK_OK(dnnl_tp_stream_create(&stream, engine, 0));
    assert_int_equal(threads_named(""), before);
    dnnl_tp_threadpool_t pool;
    dnnl_tp_threadpool_opts_t opts = {
        .struct_size = sizeof(opts), .num_threads = 3, .name = "physics-worker-pool"};
    CHECK_OK(dnnl_tp_threadpool_create(&pool, &opts));
    assert_int_equal(threads_named(""), before + 3);
    assert_int_equal(threads_named("physics-wor"), 3);
    dnnl_tp_threadpool_destroy(pool);
    assert_true(threads_become(before));
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    dnnl_tp_engine_destroy(engine);
    assert_int_equal(threads_named(""), before);
}

static void pool_lives_with_its_users(void **state) {
    (void)state;
    const int before = threads_at_first;
    dnnl_tp_threadpool_t pool;
    dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof(opts), .num_threads = 2};
    CHECK_OK(dnnl_tp_threadpool_create(&pool, &opts));
    dnnl_tp_stream_attr_t attr, clone;
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_stream_attr_set_builtin_threadpool(attr, pool));
    dnnl_tp_threadpool_destroy(pool);
    CHECK_OK(dnnl_tp_stream_attr_clone(&clone, attr));
    dnnl_tp_stream_attr_destroy(attr);
    assert_int_equal(threads_named(""), before + 2);
    dnnl_tp_pool_kind_t kind;
    CHECK_OK(dnnl_tp_stream_attr_get_pool_kind(clone, &kind));
    assert_int_equal(kind, dnnl_tp_pool_kind_builtin);
    dnnl_tp_stream_attr_destroy(clone);
    assert_true(threads_become(before));
}

/* Every job gives others time to come until one of the caller's and one of a worker's have begun. */
typedef struct {
    pthread_t caller;
    _Atomic int by_caller, by_workers, wrong;
} masks_t;
static void signal_mask_body(void *arg, int i, int n) {
    (void)i, (void)n;
    masks_t *m = arg;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    int blocked = sigismember(&mask, SIGINT) + sigismember(&mask, SIGTERM) + sigismember(&mask, SIGUSR1);
    bool is_caller = pthread_equal(pthread_self(), m->caller);
    /* What the work's own instructions raise reaches the host's handlers. */
    if (sigismember(&mask, SIGFPE) || sigismember(&mask, SIGSEGV)) atomic_fetch_add(&m->wrong, 1);
    if (blocked != (is_caller ? 0 : 3)) atomic_fetch_add(&m->wrong, 1);
    atomic_fetch_add(is_caller ? &m->by_caller : &m->by_workers, 1);
    for (int k = 0; k < 100 && !(atomic_load(&m->by_caller) && atomic_load(&m->by_workers)); ++k) usleep(100);
}
static void task(void *arg) { atomic_fetch_add((_Atomic int *)arg, 1); }

/* The interface of the pool in a host's hands: tasks and loops. */
static void interface(void **state) {
    (void)state;
    dnnl_tp_threadpool_t pool;
    const dnnl_tp_threadpool_iface_t *iface;
    dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof(opts), .num_threads = 2};
    CHECK_OK(dnnl_tp_threadpool_create(&pool, &opts));
    CHECK_OK(dnnl_tp_threadpool_get_iface(pool, &iface));
    assert_int_equal(iface->get_num_threads(iface->ctx), 2);
    assert_int_equal(iface->get_in_parallel(iface->ctx), 0);
    _Atomic int count = 0;
    masks_t masks = {.caller = pthread_self()};
    int accepted = 0;
    for (int i = 0; i < 100; ++i) accepted += iface->schedule(iface->ctx, NULL, task, &count) == 0;
    assert_int_equal(accepted, 100);
    while (atomic_load(&count) < accepted) usleep(100);
    enum { MOST_LOOPS = 200 };
    for (int i = 0; i < MOST_LOOPS && !(masks.by_caller && masks.by_workers); ++i)
        assert_int_equal(iface->parallel_for(iface->ctx, 10, signal_mask_body, &masks), 0);
    assert_int_equal(atomic_load(&masks.wrong), 0); /* workers block signals, the caller does not */
    assert_true(atomic_load(&masks.by_caller) > 0 && atomic_load(&masks.by_workers) > 0);
    dnnl_tp_threadpool_destroy(pool);
}

/* What the pool accepts is called, though it is destroyed at once: by the time it is gone. */
static void accepted_tasks_run(void **state) {
    (void)state;
    enum { ROUNDS = 60 };
    for (int w = 1; w <= 4; ++w)
        for (int r = 0; r < ROUNDS; ++r) {
            dnnl_tp_threadpool_t pool;
            const dnnl_tp_threadpool_iface_t *iface;
            dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof(opts), .num_threads = w};
            CHECK_OK(dnnl_tp_threadpool_create(&pool, &opts));
            CHECK_OK(dnnl_tp_threadpool_get_iface(pool, &iface));
            _Atomic int count = 0;
            int accepted = 0, tasks = r % 3 ? DTP_TASKS : 1;
            for (int i = 0; i < tasks; ++i) accepted += iface->schedule(iface->ctx, NULL, task, &count) == 0;
            dnnl_tp_threadpool_destroy(pool);
            assert_int_equal(atomic_load(&count), accepted);
            assert_int_equal(accepted, tasks); /* the queue holds so many */
        }
}

typedef struct {
    dnnl_tp_stream_attr_t attr;
    _Atomic int done;
} last_t;
static void drop_last_reference(void *arg) {
    last_t *last = arg;
    dnnl_tp_stream_attr_destroy(last->attr);
    atomic_store(&last->done, 1);
}
/* The last reference goes on one of the pool's own threads. */
static void ended_by_worker(void **state) {
    (void)state;
    for (int r = 0; r < 20; ++r) {
        dnnl_tp_threadpool_t pool;
        const dnnl_tp_threadpool_iface_t *iface;
        last_t last = {.done = 0};
        dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof(opts), .num_threads = 1 + r % 3};
        CHECK_OK(dnnl_tp_threadpool_create(&pool, &opts));
        CHECK_OK(dnnl_tp_threadpool_get_iface(pool, &iface));
        CHECK_OK(dnnl_tp_stream_attr_create(&last.attr, dnnl_tp_cpu));
        CHECK_OK(dnnl_tp_stream_attr_set_builtin_threadpool(last.attr, pool));
        dnnl_tp_threadpool_iface_t copy = *iface;
        assert_int_equal(copy.schedule(copy.ctx, NULL, drop_last_reference, &last), 0);
        dnnl_tp_threadpool_destroy(pool);
        while (!atomic_load(&last.done)) usleep(100);
    }
    assert_true(threads_become(threads_at_first));
}

/* Never more threads inside loops than the pool has, callers included: one caller, W = 1..4. */
typedef struct {
    _Atomic int inside, most;
} most_t;
static void most_body(void *arg, int slot, int64_t begin, int64_t end) {
    (void)slot, (void)begin, (void)end;
    most_t *m = arg;
    int now = atomic_fetch_add(&m->inside, 1) + 1, most = atomic_load(&m->most);
    while (now > most && !atomic_compare_exchange_weak(&m->most, &most, now)) {
    }
    usleep(200);
    atomic_fetch_sub(&m->inside, 1);
}
static void caller_displaces_a_worker(void **state) {
    (void)state;
    for (int w = 1; w <= 4; ++w) {
        dnnl_tp_threadpool_t pool;
        dtp_pool_t *rec;
        dnnl_tp_stream_attr_t attr;
        dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof(opts), .num_threads = w};
        CHECK_OK(dnnl_tp_threadpool_create(&pool, &opts));
        CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
        CHECK_OK(dnnl_tp_stream_attr_set_builtin_threadpool(attr, pool));
        CHECK_OK(dtp_pool_acquire(&rec, attr));
        dtp_parallel_t par = {.pool = rec, .num_threads = 8};
        most_t m = {0, 0};
        enum { ROUNDS = 20, MOST = 1000 };
        for (int r = 0; r < ROUNDS || (w > 1 && r < MOST && atomic_load(&m.most) < 2); ++r)
            dtp_parallel_for(&par, 24, -100000, most_body, &m);
        assert_true(atomic_load(&m.most) <= w);
        assert_true(w == 1 || atomic_load(&m.most) > 1);
        dtp_pool_release(rec);
        dnnl_tp_stream_attr_destroy(attr);
        dnnl_tp_threadpool_destroy(pool);
    }
}

/* All workers call in at once, twice over: each runs loops, then waits for a stream of its own, whose items
 * find every worker waiting. */
enum { CALL_LOOPS = 3, CALL_N = 200, CALL_STEPS = 4, CALL_ITEMS = 1 << 12, MOST_WORKERS = 8 };
typedef struct {
    dtp_pool_t *rec;
    dnnl_tp_primitive_t add;
    dnnl_tp_stream_t stream;
    float *x;
    _Atomic int seen, bad, *left;
} call_in_t;
static void call_loop(void *arg, int slot, int64_t begin, int64_t end) {
    (void)slot;
    atomic_fetch_add((_Atomic int *)arg, (int)(end - begin));
}
static void call_run(void *arg, const dtp_parallel_t *par) {
    call_in_t *c = arg;
    for (int i = 0; i < CALL_LOOPS; ++i) dtp_parallel_for(par, CALL_N, -2000, call_loop, &c->seen);
}
static void call_in(void *arg) {
    call_in_t *c = arg;
    c->bad += dtp_pool_run(c->rec, MOST_WORKERS, true, call_run, c) != dnnl_tp_success;
    for (int i = 0; i < CALL_STEPS; ++i) c->bad += test_step(c->add, c->stream, c->x) != dnnl_tp_success;
    c->bad += dnnl_tp_stream_wait(c->stream) != dnnl_tp_success;
    atomic_fetch_sub(c->left, 1);
}
static void workers_call_in(void **state) {
    test_engine_setup(state);
    dnnl_tp_primitive_t add = test_linear(test_engine, CALL_ITEMS, 1, 1);
    for (int w = 1; w <= MOST_WORKERS; ++w) {
        dnnl_tp_threadpool_t pool = test_pool(w);
        const dnnl_tp_threadpool_iface_t *iface = test_pool_iface(pool);
        dtp_pool_t *rec = dtp_record_find(iface);
        call_in_t call[2 * MOST_WORKERS] = {0};
        _Atomic int left = 2 * w;
        for (int i = 0; i < 2 * w; ++i) {
            call[i] = (call_in_t){.rec = rec, .add = add, .left = &left};
            call[i].stream = test_stream(test_engine, iface, 1, 0);
            call[i].x = calloc(CALL_ITEMS, sizeof(float));
        }
        for (int i = 0; i < 2 * w; ++i)
            assert_int_equal(iface->schedule(iface->ctx, NULL, call_in, &call[i]), 0);
        while (atomic_load(&left)) usleep(200);
        for (int i = 0; i < 2 * w; ++i) {
            assert_int_equal(atomic_load(&call[i].bad), 0);
            assert_int_equal(atomic_load(&call[i].seen), CALL_LOOPS * CALL_N);
            assert_true(call[i].x[0] == CALL_STEPS && call[i].x[CALL_ITEMS - 1] == CALL_STEPS);
            CHECK_OK(dnnl_tp_stream_destroy(call[i].stream));
            free(call[i].x);
        }
        dtp_pool_release(rec);
        dnnl_tp_threadpool_destroy(pool);
    }
    CHECK_OK(dnnl_tp_primitive_destroy(add));
    test_engine_teardown(state);
}

static void *own_entry(void *path) {
    snprintf(path, 64, "/proc/self/task/%ld", (long)syscall(SYS_gettid));
    return NULL;
}

int main(void) {
    watchdog(110, NULL);
    pthread_t first; /* sanitizers start a thread of their own with the first one */
    char entry[64];
    if (pthread_create(&first, NULL, own_entry, entry) || pthread_join(first, NULL)) return 1;
    while (access(entry, F_OK) == 0) usleep(1000);
    threads_at_first = threads_named("");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_hidden_threads), cmocka_unit_test(pool_lives_with_its_users),
        cmocka_unit_test(interface),         cmocka_unit_test(accepted_tasks_run),
        cmocka_unit_test(ended_by_worker),   cmocka_unit_test(caller_displaces_a_worker),
        cmocka_unit_test(workers_call_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
