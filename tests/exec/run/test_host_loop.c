/* Loops of closures on the threads of their runs (dnnl_tp_host_parallel_for): every iteration once, more threads at once
 * where the run has some and none beyond its budget, the end of a run, loops inside loops, misuse. Iterations sleep, so
 * that many threads show on few processors. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "dnnl_tp/dnnl_tp.h"
#include "support/check.h"
#include "support/watchdog.h"
#include "support/world.h"

enum { N = 48, SLEEP_NS = 2000000, ATTEMPTS = 20 };

static void sleep_ns(long ns) {
    struct timespec t = {0, ns};
    nanosleep(&t, NULL);
}

typedef struct {
    int64_t n, cost_ns;
    long sleep_ns;
    bool inner; /* each iteration is a loop itself */
    const volatile int *should_stop;
    dnnl_tp_cancel_t cancel; /* fired by the first iteration */
    _Atomic int hits[N];
    _Atomic int inside, most;
    dnnl_tp_status_t status;
} loop_t;

static void count_in(loop_t *l) {
    int inside = atomic_fetch_add(&l->inside, 1) + 1, most = atomic_load(&l->most);
    while (inside > most && !atomic_compare_exchange_weak(&l->most, &most, inside))
        ;
}

static void leaf(void *arg, int64_t begin, int64_t end) {
    loop_t *l = arg;
    count_in(l);
    for (int64_t i = begin; i < end; ++i) {
        atomic_fetch_add(&l->hits[i], 1);
        if (l->cancel) (void)!dnnl_tp_cancel_fire(l->cancel);
        if (l->sleep_ns) sleep_ns(l->sleep_ns);
    }
    atomic_fetch_sub(&l->inside, 1);
}

static void branch(void *arg, int64_t begin, int64_t end) {
    loop_t *l = arg;
    enum { EACH = 4 };
    for (int64_t i = begin; i < end; ++i) {
        loop_t inner = {.n = EACH, .sleep_ns = SLEEP_NS / 4};
        CHECK_OK(dnnl_tp_host_parallel_for(l->should_stop, EACH, SLEEP_NS / 4, leaf, &inner));
        for (int k = 0; k < EACH; ++k) atomic_fetch_add(&l->hits[i], atomic_load(&inner.hits[k]));
    }
}

static dnnl_tp_status_t closure(void *arg, const volatile int *should_stop, int nin,
                                const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    loop_t *l = arg;
    (void)nin, (void)in, (void)nout;
    l->should_stop = should_stop;
    l->status = dnnl_tp_host_parallel_for(should_stop, l->n, l->cost_ns, l->inner ? branch : leaf, l);
    *(int32_t *)out[0].data = 1;
    return l->status;
}

/* One closure, or several beside each other. */
static dnnl_tp_status_t run(world_t *w, int nloops, loop_t *loops, unsigned parallelism, int max_threads) {
    dnnl_tp_value_t v[4];
    int32_t y[4];
    void *out[4];
    dnnl_tp_executable_t e;
    dnnl_tp_tensor_info_t info = {.ndims = 0, .data_type = dnnl_tp_s32};
    for (int i = 0; i < nloops; ++i) {
        CHECK_OK(dnnl_tp_graph_host(w->g, closure, &loops[i], NULL, 0, "loop", 0, NULL, 1, &info, &v[i]));
        CHECK_OK(dnnl_tp_graph_output(w->g, v[i], NULL));
        out[i] = &y[i];
    }
    dnnl_tp_stream_attr_t attr = NULL;
    const_dnnl_tp_stream_attr_t of;
    dnnl_tp_stream_t stream;
    CHECK_OK(dnnl_tp_stream_get_attr(w->stream, &of));
    CHECK_OK(dnnl_tp_stream_attr_clone(&attr, of));
    if (parallelism) CHECK_OK(dnnl_tp_stream_attr_set_parallelism(attr, parallelism));
    CHECK_OK(dnnl_tp_stream_create_v2(&stream, w->engine, dnnl_tp_stream_default_flags, attr));
    dnnl_tp_compile_opts_t compile = {.struct_size = sizeof compile, .stream_attr = attr};
    CHECK_OK(dnnl_tp_executable_compile(&e, w->g, w->engine, 0, NULL, &compile));
    dnnl_tp_run_opts_t opts = {
        .struct_size = sizeof opts, .max_threads = max_threads, .cancel = loops[0].cancel};
    dnnl_tp_status_t status = dnnl_tp_executable_run(e, stream, 0, NULL, nloops, out, &opts);
    dnnl_tp_executable_destroy(e);
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_stream_attr_destroy(attr);
    return status;
}

static void check_hits(const loop_t *l, int each) {
    for (int64_t i = 0; i < l->n; ++i) assert_int_equal(atomic_load(&l->hits[i]), each);
}

/* Of a loop whose iterations are said to take that long; 0: nothing is said. */
static int most_inside(int threads, int64_t cost_ns) {
    world_t w;
    world_init(&w, threads);
    loop_t l = {.n = N, .cost_ns = cost_ns, .sleep_ns = SLEEP_NS};
    CHECK_OK(run(&w, 1, &l, 0, 0));
    check_hits(&l, 1);
    assert_true(atomic_load(&l.most) <= threads);
    world_end(&w);
    return atomic_load(&l.most);
}
static void test_shared(void **state) {
    (void)state;
    static const int threads[] = {1, 2, 4, 16};
    for (size_t t = 0; t < sizeof threads / sizeof *threads; ++t) {
        const bool helped = threads[t] > 1 && dnnl_tp_version()->cpu_runtime == DNNL_TP_RUNTIME_THREADPOOL;
        (void)most_inside(threads[t], 0);
        int most = 0; /* a helper that has lost its processor comes too late */
        for (int i = 0; i < ATTEMPTS && most < 1 + helped; ++i) most = most_inside(threads[t], SLEEP_NS);
        assert_true(most >= 1 + helped);
    }
}

/* Loops of whose cost nothing is said: the first one is timed, later ones have the threads that they are worth. Some tries,
 * because a helper that has lost its processor comes too late. */
enum { UNKNOWN_THREADS = 16, UNKNOWN_NS = 3000000, LEARNING = 3 };

static void leaf_too(void *arg, int64_t begin, int64_t end) { leaf(arg, begin, end); }

/* Loops of a closure, one after another. */
typedef struct {
    int n;
    loop_t loop[2];
    dnnl_tp_host_loop_fn_t fn[2];
} series_t;
static dnnl_tp_status_t in_series(void *arg, const volatile int *should_stop, int nin,
                                  const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    series_t *s = arg;
    (void)nin, (void)in, (void)nout;
    for (int i = 0; i < s->n; ++i) {
        loop_t *l = &s->loop[i];
        CHECK_OK(dnnl_tp_host_parallel_for(should_stop, l->n, l->cost_ns, s->fn[i], l));
    }
    *(int32_t *)out[0].data = 1;
    return dnnl_tp_success;
}

/* In some run after the first few the last loop of s has at least `want` threads at once. */
static void check_learns(series_t *s, int want) {
    if (dnnl_tp_version()->cpu_runtime != DNNL_TP_RUNTIME_THREADPOOL) return;
    world_t w;
    world_init(&w, UNKNOWN_THREADS);
    dnnl_tp_tensor_info_t info = {.ndims = 0, .data_type = dnnl_tp_s32};
    dnnl_tp_value_t v;
    int32_t y;
    void *out[1] = {&y};
    CHECK_OK(dnnl_tp_graph_host(w.g, in_series, s, NULL, 0, "loops", 0, NULL, 1, &info, &v));
    CHECK_OK(dnnl_tp_graph_output(w.g, v, NULL));
    dnnl_tp_executable_t e = world_compile(&w, 0);
    int most = 0, runs = 0;
    for (; runs < LEARNING + ATTEMPTS && most < want; ++runs) {
        for (int i = 0; i < s->n; ++i) atomic_store(&s->loop[i].most, 0);
        CHECK_OK(dnnl_tp_executable_run(e, w.stream, 0, NULL, 1, out, NULL));
        if (runs >= LEARNING) most = atomic_load(&s->loop[s->n - 1].most);
    }
    for (int i = 0; i < s->n; ++i) check_hits(&s->loop[i], runs);
    if (most < want)
        fail_msg("%d iterations: %d threads instead of %d", (int)s->loop[s->n - 1].n, most, want);
    dnnl_tp_executable_destroy(e);
    world_end(&w);
}

static void test_unknown(void **state) {
    static const int counts[] = {2, 3, 7, UNKNOWN_THREADS, N};
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
        series_t s = {.n = 1, .fn = {leaf}};
        s.loop[0] = (loop_t){.n = counts[i], .sleep_ns = UNKNOWN_NS};
        check_learns(&s, counts[i] < UNKNOWN_THREADS ? counts[i] : UNKNOWN_THREADS);
    }
}

/* Right behind a small loop, whose helper is awake, and others are not. */
static void test_unknown_beside_awake(void **state) {
    enum { FEW = 4 };
    (void)state;
    series_t s = {.n = 2, .fn = {leaf_too, leaf}};
    s.loop[0] = (loop_t){.n = 2, .cost_ns = UNKNOWN_NS / 10, .sleep_ns = UNKNOWN_NS / 10};
    s.loop[1] = (loop_t){.n = FEW, .sleep_ns = UNKNOWN_NS};
    check_learns(&s, FEW);
}

/* Another loop of as many iterations takes no time: what one was found to cost is not said of the other. */
static void test_unknown_in_turn(void **state) {
    enum { FEW = 6 };
    (void)state;
    series_t s = {.n = 2, .fn = {leaf_too, leaf}};
    s.loop[0] = (loop_t){.n = FEW};
    s.loop[1] = (loop_t){.n = FEW, .sleep_ns = UNKNOWN_NS};
    check_learns(&s, FEW);
}

static void test_budget(void **state) {
    (void)state;
    world_t w;
    world_init(&w, 4);
    loop_t one = {.n = N, .cost_ns = SLEEP_NS, .sleep_ns = SLEEP_NS / 4};
    CHECK_OK(run(&w, 1, &one, 0, 1));
    check_hits(&one, 1);
    assert_int_equal(atomic_load(&one.most), 1);
    world_end(&w);
    world_init(&w, 4);
    loop_t inter = {.n = N, .cost_ns = SLEEP_NS, .sleep_ns = SLEEP_NS / 4};
    CHECK_OK(run(&w, 1, &inter, DNNL_TP_PARALLELISM_INTER, 0));
    check_hits(&inter, 1);
    assert_int_equal(atomic_load(&inter.most), 1);
    world_end(&w);
}

static void test_beside_and_inside(void **state) {
    (void)state;
    for (int inner = 0; inner < 2; ++inner) {
        world_t w;
        world_init(&w, 4);
        loop_t l[3];
        memset(l, 0, sizeof l);
        for (int i = 0; i < 3; ++i)
            l[i].n = N / 4, l[i].cost_ns = SLEEP_NS, l[i].sleep_ns = SLEEP_NS, l[i].inner = inner;
        CHECK_OK(run(&w, 3, l, 0, 0));
        for (int i = 0; i < 3; ++i) check_hits(&l[i], inner ? 4 : 1);
        world_end(&w);
    }
}

static void test_end_of_run(void **state) {
    (void)state;
    for (int threads = 1; threads <= 4; threads += 3) {
        world_t w;
        world_init(&w, threads);
        loop_t l = {.n = N, .sleep_ns = SLEEP_NS};
        CHECK_OK(dnnl_tp_cancel_create(&l.cancel));
        CHECK_STATUS(run(&w, 1, &l, 0, 0), dnnl_tp_cancelled);
        assert_int_equal(l.status, dnnl_tp_cancelled);
        int done = 0;
        for (int i = 0; i < N; ++i) done += atomic_load(&l.hits[i]);
        assert_in_range(done, 1, N - 1);
        dnnl_tp_cancel_destroy(l.cancel);
        world_end(&w);
    }
}

static void test_misuse(void **state) {
    (void)state;
    loop_t l = {.n = N};
    CHECK_OK(dnnl_tp_host_parallel_for(NULL, N, 0, leaf, &l));
    check_hits(&l, 1);
    CHECK_OK(dnnl_tp_host_parallel_for(NULL, 0, 0, leaf, &l));
    CHECK_STATUS(dnnl_tp_host_parallel_for(NULL, -1, 0, leaf, &l), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_host_parallel_for(NULL, 1, -1, leaf, &l), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_host_parallel_for(NULL, 1, 0, NULL, &l), dnnl_tp_invalid_arguments);
    check_hits(&l, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shared),
                                       cmocka_unit_test(test_unknown),
                                       cmocka_unit_test(test_unknown_beside_awake),
                                       cmocka_unit_test(test_unknown_in_turn),
                                       cmocka_unit_test(test_budget),
                                       cmocka_unit_test(test_beside_and_inside),
                                       cmocka_unit_test(test_end_of_run),
                                       cmocka_unit_test(test_misuse)};
    watchdog(120, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
