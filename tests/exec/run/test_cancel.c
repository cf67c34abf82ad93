/* How soon a run that is over ends, counted in work rather than in time: long ranges are cut, long kernels
 * look at the stop word, closures ask, runs inside closures end with the run around them. How long it takes:
 * benchdnn/exec, rows cancel. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/problems/matmul.h"
#include "common/primitive/primitive_desc.h"
#include "exec/run/run.h"
#include "threading/base/futex.h"
#include "trace/trace.h"
#include "support/watchdog.h"
#include "support/world.h"

#define OK(expr) assert_int_equal((expr), dnnl_tp_success)

/* ---- Loops ------------------------------------------------------------------------------------------- */

typedef struct {
    _Atomic uint32_t stop;
    _Atomic int64_t done;
    int64_t stop_at;
} loop_t;
static void loop_body(void *arg, int slot, int64_t begin, int64_t end) {
    loop_t *l = arg;
    (void)slot;
    int64_t done = atomic_fetch_add(&l->done, end - begin) + end - begin;
    if (done >= l->stop_at) atomic_store(&l->stop, DTP_STOP_CANCELLED);
}

static int64_t run_loop(int64_t n, int64_t grain, int64_t stop_at) {
    loop_t l = {.stop_at = stop_at};
    dtp_share_t share = {&l.stop, 0, DTP_STOP_DEADLINE, NULL, NULL, 0};
    const dtp_parallel_t par = {.num_threads = 1, .share = &share};
    dtp_parallel_for(&par, n, grain, loop_body, &l);
    return atomic_load(&l.done);
}

static void test_pieces(void **state) {
    (void)state;
    enum { N = 1000000 };
    assert_int_equal(run_loop(N, 1, 2 * (int64_t)N), N);
    assert_int_equal(run_loop(N, 1, 1), 1); /* of unknown length: one by one at first */
    /* 750 us by the author's word: the first look comes after 50 us. */
    const int64_t first = run_loop(N, 2000, 1);
    assert_in_range(first, N / 20, N / 10);
    assert_int_equal(run_loop(N, N / 10, 1), N); /* 15 us: not cut */
    assert_int_equal(run_loop(N, -1000, 1), N);  /* looks itself */
    /* A deadline that is over by now. */
    loop_t l = {.stop_at = INT64_MAX};
    dtp_share_t share = {&l.stop, 1, DTP_STOP_DEADLINE, NULL, NULL, 0};
    const dtp_parallel_t par = {.num_threads = 1, .share = &share};
    dtp_parallel_for(&par, N, 1, loop_body, &l);
    assert_int_equal(atomic_load(&l.done), 1);
    assert_int_equal(atomic_load(&l.stop), DTP_STOP_DEADLINE);
}

/* ---- Kernels ----------------------------------------------------------------------------------------- */

enum { UNTOUCHED = 77 };

/* m x n x k in a run that is over: the last element must not be there, in a run that goes on it is; the same
 * where a trace watches. */
static void one_product(int64_t m, int64_t n, int64_t k, bool transposed) {
    dnnl_tp_engine_t engine;
    dnnl_tp_memory_desc_t a, b, c;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t p;
    OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    OK(dnnl_tp_memory_desc_create_with_tag(&a, 2, (dnnl_tp_dims_t){m, k}, dnnl_tp_f32, dnnl_tp_ab));
    OK(dnnl_tp_memory_desc_create_with_tag(&b, 2, (dnnl_tp_dims_t){k, n}, dnnl_tp_f32,
                                           transposed ? dnnl_tp_ba : dnnl_tp_ab));
    OK(dnnl_tp_memory_desc_create_with_tag(&c, 2, (dnnl_tp_dims_t){m, n}, dnnl_tp_f32, dnnl_tp_ab));
    OK(dnnl_tp_matmul_primitive_desc_create(&pd, engine, a, b, NULL, c, NULL));
    OK(dnnl_tp_primitive_create(&p, pd));
    float *x = calloc((size_t)(m * k), sizeof *x), *y = calloc((size_t)(k * n), sizeof *y),
          *z = malloc((size_t)(m * n) * sizeof *z);
    for (int how = 0; how < 4; ++how) {
        const bool over = how % 2;
        _Atomic uint32_t stop = over ? DTP_STOP_CANCELLED : DTP_STOP_NONE;
        dtp_share_t share = {&stop, 0, DTP_STOP_DEADLINE, NULL, NULL, 0};
        dtp_parallel_t par = {.num_threads = 1 + how / 2, .share = &share};
        dtp_trace_work_t work = {0};
        if (how / 2) par = dtp_trace_loops(&work, &par);
        void *ptr[DTP_MATMUL_NARGS + 8] = {0};
        ptr[DTP_MATMUL_SRC] = x, ptr[DTP_MATMUL_WEI] = y, ptr[DTP_MATMUL_DST] = z;
        z[m * n - 1] = UNTOUCHED;
        char *scratch = aligned_alloc(64, dtp_pd_scratch_size(pd) + 64 - dtp_pd_scratch_size(pd) % 64);
        OK(dtp_primitive_run(p, &par, ptr, NULL, scratch, -1));
        free(scratch);
        assert_true(z[m * n - 1] == (over ? UNTOUCHED : 0));
    }
    free(x), free(y), free(z);
    dnnl_tp_primitive_destroy(p);
    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_memory_desc_destroy(a);
    dnnl_tp_memory_desc_destroy(b);
    dnnl_tp_memory_desc_destroy(c);
    dnnl_tp_engine_destroy(engine);
}

static void test_products(void **state) {
    (void)state;
    for (int transposed = 0; transposed < 2; ++transposed) {
        one_product(512, 512, 512, transposed);
        one_product(40, 3000, 600, transposed);
    }
    one_product(1, 2000, 4000,
                true); /* dots; of the row-major form no element is ever final before the end */
}

/* ---- Closures ---------------------------------------------------------------------------------------- */

static dnnl_tp_status_t until_over(void *arg, const volatile int *should_stop, int nin,
                                   const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    (void)nin, (void)in, (void)nout, (void)out;
    if (arg) atomic_store((_Atomic int *)arg, 1);
    while (!dnnl_tp_should_stop(should_stop)) sched_yield();
    return dnnl_tp_success;
}

static dnnl_tp_graph_t graph_of(dnnl_tp_host_fn_t fn, void *arg) {
    dnnl_tp_graph_t g;
    dnnl_tp_value_t v;
    dnnl_tp_tensor_info_t info = {.data_type = dnnl_tp_f32};
    OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    OK(dnnl_tp_graph_host(g, fn, arg, NULL, 0, "closure", 0, NULL, 1, &info, &v));
    OK(dnnl_tp_graph_output(g, v, "y"));
    return g;
}

static void test_deadline_in_closure(void **state) {
    (void)state;
    assert_int_equal(dnnl_tp_should_stop(NULL), 0);
    for (int threads = 1; threads <= 2; ++threads)
        for (int f = 0; f < 2; ++f) {
            world_t w;
            world_init(&w, threads);
            dnnl_tp_graph_t g = graph_of(until_over, NULL);
            dnnl_tp_compile_opts_t o = {
                .struct_size = sizeof o, .stream_attr = w.attr, .flags = f ? DNNL_TP_COMPILE_NO_CLUSTERS : 0};
            dnnl_tp_executable_t e;
            OK(dnnl_tp_executable_compile(&e, g, w.engine, 0, NULL, &o));
            float y;
            void *out[1] = {&y};
            dnnl_tp_run_opts_t run = {.struct_size = sizeof run, .deadline_ns = dtp_now_ns() + 3000000};
            assert_int_equal(dnnl_tp_executable_run(e, w.stream, 0, NULL, 1, out, &run),
                             dnnl_tp_deadline_exceeded);
            dnnl_tp_executable_destroy(e);
            dnnl_tp_graph_destroy(g);
            world_end(&w);
        }
}

/* A closure that runs another graph, which does not end by itself; the token is that of the outer run. */
typedef struct {
    dnnl_tp_executable_t inner;
    dnnl_tp_stream_t stream;
    dnnl_tp_status_t status;
} nest_t;
static dnnl_tp_status_t run_inner(void *arg, const volatile int *should_stop, int nin,
                                  const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    nest_t *n = arg;
    float y;
    void *pout[1] = {&y};
    (void)should_stop, (void)nin, (void)in, (void)nout, (void)out;
    n->status = dnnl_tp_executable_run(n->inner, n->stream, 0, NULL, 1, pout, NULL);
    return n->status;
}
static dnnl_tp_status_t one(void *arg, const volatile int *should_stop, int nin, const dnnl_tp_host_arg_t *in,
                            int nout, const dnnl_tp_host_arg_t *out) {
    (void)should_stop, (void)nin, (void)in, (void)nout;
    if (arg) atomic_store((_Atomic int *)arg, 1);
    *(float *)out[0].data = 1;
    return dnnl_tp_success;
}

/* Without a pool (but that of the runtime). */
static void world_init_alone(world_t *w) {
    memset(w, 0, sizeof *w);
    OK(dnnl_tp_graph_create(&w->g, dnnl_tp_cpu));
    OK(dnnl_tp_engine_create(&w->engine, dnnl_tp_cpu, 0));
    OK(dnnl_tp_stream_attr_create(&w->attr, dnnl_tp_cpu));
    OK(dnnl_tp_stream_create_v2(&w->stream, w->engine, dnnl_tp_stream_in_order, w->attr));
}

/* form 0: a closure that asks; 1: a loop of closures that do not. */
static dnnl_tp_graph_t endless(int form, _Atomic int *started) {
    if (form == 0) return graph_of(until_over, started);
    dnnl_tp_graph_t g, cond, body;
    dnnl_tp_value_t init, var, go, next, last;
    dnnl_tp_tensor_info_t info = {.data_type = dnnl_tp_f32};
    OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    OK(dnnl_tp_graph_host(g, one, NULL, NULL, 0, "one", 0, NULL, 1, &info, &init));
    OK(dnnl_tp_graph_create_region(&cond, g));
    OK(dnnl_tp_graph_input(cond, &var, NULL, dnnl_tp_f32, 0, NULL));
    OK(dnnl_tp_graph_host(cond, one, NULL, NULL, 0, "go", 1, &var, 1, &info, &go));
    OK(dnnl_tp_graph_create_region(&body, cond));
    OK(dnnl_tp_graph_host(body, one, started, NULL, 0, "on", 1, &var, 1, &info, &next));
    OK(dnnl_tp_graph_while(g, "loop", cond, go, body, 1, &init, &var, &next, 0, &last));
    OK(dnnl_tp_graph_output(g, last, "y"));
    dnnl_tp_graph_destroy(cond);
    dnnl_tp_graph_destroy(body);
    return g;
}

/* Runs 0 in 1 in 2, and the token is that of the last one. */
static void one_nest(const world_t *world[3], int form, unsigned flags) {
    _Atomic int started = 0;
    nest_t nest[2];
    dnnl_tp_executable_t e[3];
    dnnl_tp_graph_t g[3];
    dnnl_tp_stream_t s[3];
    for (int i = 0; i < 3; ++i) {
        g[i] = i ? graph_of(run_inner, &nest[i - 1]) : endless(form, &started);
        dnnl_tp_compile_opts_t o = {.struct_size = sizeof o, .stream_attr = world[i]->attr, .flags = flags};
        OK(dnnl_tp_executable_compile(&e[i], g[i], world[i]->engine, 0, NULL, &o));
        OK(dnnl_tp_stream_create_v2(&s[i], world[i]->engine, dnnl_tp_stream_in_order, world[i]->attr));
        if (i < 2) nest[i] = (nest_t){e[i], s[i], dnnl_tp_success};
    }
    world_fire_t arg = {.started = &started};
    OK(dnnl_tp_cancel_create(&arg.cancel));
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, world_fire, &arg), 0);
    float y;
    void *out[1] = {&y};
    dnnl_tp_run_opts_t run = {.struct_size = sizeof run, .cancel = arg.cancel};
    assert_int_equal(dnnl_tp_executable_run(e[2], s[2], 0, NULL, 1, out, &run), dnnl_tp_cancelled);
    for (int i = 0; i < 2; ++i) assert_int_equal(nest[i].status, dnnl_tp_cancelled);
    pthread_join(t, NULL);
    dnnl_tp_cancel_destroy(arg.cancel);
    for (int i = 0; i < 3; ++i) {
        OK(dnnl_tp_stream_destroy(s[i]));
        dnnl_tp_executable_destroy(e[i]);
        dnnl_tp_graph_destroy(g[i]);
    }
}

static void test_nested(void **state) {
    (void)state;
    enum { WORLDS = 3 }; /* two pools, and no pool (or that of the runtime) */
    world_t w[WORLDS];
    world_init(&w[0], 2);
    world_init(&w[1], 1);
    world_init_alone(&w[2]);
    for (int i = 0; i < WORLDS * WORLDS * WORLDS; ++i) {
        const world_t *in[3] = {&w[i % WORLDS], &w[i / WORLDS % WORLDS], &w[i / WORLDS / WORLDS]};
        one_nest(in, i % 2, i % 4 < 2 ? 0 : DNNL_TP_COMPILE_NO_CLUSTERS);
        one_nest(in, 1 - i % 2, i % 4 < 2 ? DNNL_TP_COMPILE_NO_CLUSTERS : 0);
    }
    for (int i = 0; i < WORLDS; ++i) world_end(&w[i]);
}

/* A run that a callback begins is not inside the run whose thread fires the event. */
typedef struct {
    dnnl_tp_cancel_t cancel;
    dnnl_tp_event_t event;
    nest_t other;
} beside_t;
static void run_other(void *arg, dnnl_tp_status_t status) {
    float y;
    (void)status;
    (void)run_inner(&((beside_t *)arg)->other, NULL, 0, NULL, 1, &(dnnl_tp_host_arg_t){NULL, &y});
}
static dnnl_tp_status_t fire_both(void *arg, const volatile int *should_stop, int nin,
                                  const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    beside_t *b = arg;
    (void)should_stop, (void)nin, (void)in, (void)nout, (void)out;
    OK(dnnl_tp_cancel_fire(b->cancel));
    OK(dnnl_tp_event_signal(b->event, dnnl_tp_success));
    return dnnl_tp_success;
}

static void test_callback(void **state) {
    (void)state;
    world_t w;
    world_init_alone(&w);
    beside_t b = {.other = {.status = dnnl_tp_cancelled}};
    OK(dnnl_tp_stream_create_v2(&b.other.stream, w.engine, dnnl_tp_stream_in_order, w.attr));
    dnnl_tp_graph_t other = graph_of(one, NULL), g = graph_of(fire_both, &b);
    dnnl_tp_executable_t e;
    OK(dnnl_tp_executable_compile(&b.other.inner, other, w.engine, 0, NULL, NULL));
    OK(dnnl_tp_executable_compile(&e, g, w.engine, 0, NULL, NULL));
    OK(dnnl_tp_cancel_create(&b.cancel));
    OK(dnnl_tp_event_create_host(&b.event, w.engine));
    OK(dnnl_tp_event_on_complete(b.event, run_other, &b));
    float y;
    void *out[1] = {&y};
    dnnl_tp_run_opts_t run = {.struct_size = sizeof run, .cancel = b.cancel};
    assert_int_equal(dnnl_tp_executable_run(e, w.stream, 0, NULL, 1, out, &run), dnnl_tp_cancelled);
    assert_int_equal(b.other.status, dnnl_tp_success);
    dnnl_tp_event_destroy(b.event);
    OK(dnnl_tp_stream_destroy(b.other.stream));
    dnnl_tp_cancel_destroy(b.cancel);
    dnnl_tp_executable_destroy(e);
    dnnl_tp_executable_destroy(b.other.inner);
    dnnl_tp_graph_destroy(g);
    dnnl_tp_graph_destroy(other);
    world_end(&w);
}

int main(void) {
    watchdog(110, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_deadline_in_closure),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_callback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
