/* Destinations that are parts of a buffer: what is joined along a leading dimension is written in place, in every
 * kind of region, and computes what copies compute; otherwise it is copied as before. Which memory parts may share
 * with others: test_plan_order. The join in all interleavings: tests/model/check_join.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/problems/eltwise.h"
#include "dnnl_tp/dnnl_tp_graph_file.h"
#include "dnnl_tp/dnnl_tp_threadpool.h"
#include "common/problems/eltwise.h"
#include "exec/compile/emit/emit.h"
#include "exec/compile/memory/plan.h"
#include "exec/compile/order/schedule.h"
#include "exec/compile/slices/slice_groups.h"
#include "support/check.h"
#include "support/upload.h"

#define OK CHECK_OK
enum { ROWS = 4, COLS = 16, MAX_OUT = 4, MAX_ELEMS = 1 << 14, RUNS = 10 };

static dnnl_tp_engine_t engine;
static dnnl_tp_stream_attr_t attr;
static dnnl_tp_threadpool_t pool;
static dnnl_tp_stream_t stream;

static int setup(void **state) {
    (void)state;
    OK(dnnl_tp_engine_create(&engine, test_engine_kind(), 0));
    OK(dnnl_tp_stream_attr_create(&attr, test_engine_kind()));
    if (DNNL_TP_WITH_THREADPOOL && !test_engine_is_far(engine)) {
        dnnl_tp_threadpool_opts_t o = {.struct_size = sizeof o, .num_threads = 4};
        OK(dnnl_tp_threadpool_create(&pool, &o));
        OK(dnnl_tp_stream_attr_set_builtin_threadpool(attr, pool));
    }
    OK(dnnl_tp_stream_create_v2(&stream, engine, dnnl_tp_stream_in_order, attr));
    return 0;
}

static int teardown(void **state) {
    (void)state;
    OK(dnnl_tp_stream_destroy(stream));
    OK(dnnl_tp_stream_attr_destroy(attr));
    if (pool) OK(dnnl_tp_threadpool_destroy(pool));
    OK(dnnl_tp_engine_destroy(engine));
    return 0;
}

static dnnl_tp_graph_t read_graph(const char *text) {
    char path[] = "/tmp/dnnl_tp_parts_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    dnnl_tp_graph_t graph;
    dnnl_tp_status_t status = dnnl_tp_graph_read(&graph, path);
    close(fd);
    unlink(path);
    if (status != dnnl_tp_success) fail_msg("%s\n%s", dnnl_tp_last_error(), text);
    return graph;
}

static int count(const dtp_exec_t *e, const char *kind) {
    int n = 0;
    for (int i = 0; i < e->nsteps; ++i) n += !strcmp(e->steps[i].kind, kind);
    return n;
}

static dnnl_tp_executable_t compile(dnnl_tp_graph_t graph, unsigned flags) {
    dnnl_tp_executable_t e;
    dnnl_tp_compile_opts_t o = {.struct_size = sizeof o, .stream_attr = attr, .flags = flags};
    OK(dnnl_tp_executable_compile(&e, graph, engine, 0, NULL, &o));
    return e;
}

/* Inputs: {ROWS, COLS}, and a predicate or number of rounds. Outputs must have the bytes that copies compute. */
static void check(const char *text, int joins, int copies) {
    static float want[MAX_OUT][MAX_ELEMS], got[MAX_OUT][MAX_ELEMS], x[ROWS * COLS];
    static const struct {
        unsigned flags;
        int threads;
    } ways[] = {{0, 1}, {0, 4}, {DNNL_TP_COMPILE_NO_CLUSTERS, 1}, {DNNL_TP_COMPILE_NO_CLUSTERS, 4}};
    for (int i = 0; i < ROWS * COLS; ++i) x[i] = (float)(i * 37 % 101 - 50) / 16.f;
    dnnl_tp_graph_t graph = read_graph(text);
    dnnl_tp_executable_t plain = compile(graph, DNNL_TP_COMPILE_NO_FUSION);
    assert_int_equal(count(plain, "join"), 0);
    assert_true(plain->nout <= MAX_OUT);
    for (size_t w = 0; w < sizeof ways / sizeof *ways; ++w) {
        dnnl_tp_executable_t e = compile(graph, ways[w].flags);
        if (joins >= 0) {
            assert_int_equal(count(e, "join"), joins);
            assert_int_equal(count(e, "concat"), copies);
        }
        for (int run = 0; run < RUNS; ++run) {
            float n = (float)(run % 4);
            void *in[2] = {x, &n}, *pw[MAX_OUT], *pg[MAX_OUT];
            dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .max_threads = ways[w].threads};
            for (int i = 0; i < e->nout; ++i) {
                assert_true(e->out_bytes[i] <= sizeof *want);
                pw[i] = memset(want[i], 0xee, sizeof *want);
                pg[i] = memset(got[i], 0xee, sizeof *got);
            }
            OK(test_run_graph(plain, stream, e->nin, in, e->nout, pw, NULL));
            OK(test_run_graph(e, stream, e->nin, in, e->nout, pg, &o));
            for (int i = 0; i < e->nout; ++i)
                if (memcmp(got[i], want[i], sizeof *want))
                    fail_msg("way %d, run %d: output %d differs\n%s", (int)w, run, i, text);
        }
        OK(dnnl_tp_executable_destroy(e));
    }
    OK(dnnl_tp_executable_destroy(plain));
    OK(dnnl_tp_graph_destroy(graph));
}

#define HEAD "dnnl_tp_graph 1 cpu\ninput %0: f32[4, 16]\n"
#define HEAD2 HEAD "input %1: f32[]\n"
#define THREE "%10 = relu (%0)\n%11 = square (%0)\n%12 = abs (%0)\n"

static void test_in_place(void **state) {
    (void)state;
    check(HEAD THREE "%13 = concat (%10, %11, %12) axis=0\n%14 = softmax (%13) axis=-1\noutput %14 \"y\"\n",
          1, 0);
    /* The caller's memory; parts that others read, before and after the join; a reshape between. */
    check(HEAD THREE "%13 = concat (%10, %11, %12) axis=0\noutput %13 \"y\"\n", 1, 0);
    check(HEAD THREE "%13 = concat (%10, %11) axis=0\n%14 = softmax (%10) axis=-1\n%15 = add (%14, %11)\n"
                     "%16 = softmax (%13) axis=-1\noutput %15 \"y\"\noutput %16 \"z\"\n",
          1, 0);
    check(HEAD THREE "%13 = static_reshape (%10) shape=[1, 64]\n%14 = static_reshape (%11) shape=[1, 64]\n"
                     "%15 = concat (%13, %14) axis=1\noutput %15 \"y\"\n",
          1, 0);
    /* Joined parts are parts; parts of one whole written by what runs slice by slice. */
    check(HEAD THREE "%13 = concat (%10, %11) axis=0\n%14 = concat (%13, %12) axis=0\n"
                     "%15 = softmax (%14) axis=-1\noutput %15 \"y\"\n",
          2, 0);
    check("dnnl_tp_graph 1 cpu\ninput %0: f32[4, 16]\nconstant %1: f32[16, 16] = random 7 -0.5 0.5\n"
          "constant %2: f32[256, 4] = random 8 -0.5 0.5\n"
          "%3 = matmul (%2, %0)\n%4 = matmul (%3, %1)\n%5 = relu (%4)\n%6 = matmul (%3, %1)\n%7 = abs (%6)\n"
          "%8 = concat (%5, %7) axis=0\n%9 = softmax (%8) axis=-1\noutput %9 \"y\"\n",
          1, 0);
}

static void test_copied(void **state) {
    (void)state;
    /* Twice the same, an input, an output, another dimension, a view, an unaligned part. */
    check(HEAD THREE "%13 = concat (%10, %10) axis=0\noutput %13 \"y\"\n", 0, 1);
    check(HEAD THREE "%13 = concat (%10, %0) axis=0\noutput %13 \"y\"\n", 0, 1);
    check(HEAD THREE "%13 = concat (%10, %11) axis=0\noutput %13 \"y\"\noutput %10 \"z\"\n", 0, 1);
    check(HEAD THREE "%13 = concat (%10, %11) axis=1\noutput %13 \"y\"\n", 0, 1);
    check(HEAD THREE "%13 = static_transpose (%10) order=[1, 0]\n%14 = static_transpose (%11) order=[1, 0]\n"
                     "%15 = concat (%13, %14) axis=0\noutput %15 \"y\"\n",
          0, 2 /* joined as they lie, then copied to the output */);
    check(HEAD THREE "%13, %14 = split (%10) axis=0\n%15 = concat (%14, %13) axis=0\noutput %15 \"y\"\n", 0,
          1);
    check(HEAD "%10 = reduce_max (%0) axes=[1]\n%11 = relu (%10)\n%12 = square (%10)\n"
               "%13 = concat (%11, %12) axis=0\noutput %13 \"y\"\n",
          0, 1);
}

static void test_regions(void **state) {
    (void)state;
    check(HEAD2 THREE "%20 = if (%1) {\n  %21 = relu (%10)\n  %22 = abs (%11)\n"
                      "  %23 = concat (%21, %22) axis=0\n  yield %23\n} else {\n  %24 = square (%12)\n"
                      "  %25 = relu (%12)\n  %26 = concat (%24, %25) axis=0\n  yield %26\n}\n"
                      "%27 = softmax (%20) axis=-1\noutput %27 \"y\"\n",
          2, 0);
    /* An If and a call that write parts; a part and a whole that an iteration hands on. */
    check(HEAD2
          "function @0 \"f\" (%2: f32[4, 16]) -> (f32[8, 16])\n"
          "define @0 {\n  %3 = relu (%2)\n  %4 = abs (%2)\n  %5 = concat (%3, %4) axis=0\n  return %5\n}\n"
          "%20 = if (%1) {\n  %21 = relu (%0)\n  yield %21\n} else {\n  %22 = square (%0)\n  yield %22\n}\n"
          "%23 = call @0 (%0)\n%24 = concat (%20, %23) axis=0\n%25 = softmax (%24) axis=-1\n"
          "output %25 \"y\"\n",
          2, 0);
    check(HEAD2 "constant %one: f32[] = {1}\nconstant %a: f32[2, 16] = random 7 -1 1\n"
                "constant %b: f32[1, 16] = random 8 -1 1\n"
                "%7, %8, %9 = while (%n: f32[] = %1, %v: f32[2, 16] = %a, %p: f32[1, 16] = %b) window=3 {\n"
                "  test %n\n} do {\n  %m = subtract (%n, %one)\n"
                "  %least = reduce_min (%v) axes=[0] keep_dims=true\n  %sum = add (%least, %p)\n"
                "  %most = reduce_max (%v) axes=[0] keep_dims=true\n  %next = concat (%sum, %most) axis=0\n"
                "  yield %m, %next, %sum\n}\noutput %8 \"y\"\noutput %9 \"z\"\n",
          1, 0);
}

/* ---- Parts whose rows lie apart ----------------------------------------------------------------------- */

enum { MANY = 1024, WIDTH = 48, WIDE = 2 * WIDTH };

static void eltwise(dtp_lower_t *l, dnnl_tp_alg_kind_t alg, int from, int to, int width, int64_t row) {
    dtp_step_t *s;
    int64_t dims[2] = {MANY, width}, strides[2] = {row, 1};
    OK(dtp_new_step(l, NULL, sizeof(dtp_eltwise_desc_t), dnnl_tp_eltwise, DTP_ELTWISE_NARGS, &s));
    dtp_eltwise_desc_t *d = (dtp_eltwise_desc_t *)s->op;
    d->prop = dnnl_tp_forward_inference;
    d->alg = alg;
    OK(dtp_md_init_strides(&d->src, 2, dims, dnnl_tp_f32, NULL));
    OK(dtp_md_init_strides(&d->dst, 2, dims, dnnl_tp_f32, strides));
    s->arg[DTP_ELTWISE_SRC] = (dtp_step_arg_t){.buf = from};
    s->arg[DTP_ELTWISE_DST] = (dtp_step_arg_t){.buf = to, .written = true};
    s->work->cut = dtp_cut_all;
}

static void free_exec(dtp_object_t *obj) {
    dtp_exec_t *e = (dtp_exec_t *)obj;
    dtp_run_free_all(e);
    dtp_async_free_all(e);
    for (int i = 0; i < e->nsteps; ++i)
        for (int k = 0; k < 2; ++k) dtp_object_release((void *)(uintptr_t)e->steps[i].work->prim[k]);
    dtp_arena_free(&e->arena);
    dtp_object_release(e->graph);
    dtp_object_release(e->engine);
}

/* (relu(x) beside abs(x)) squared: no lowering makes such destinations yet. */
static void check_apart(int threads, unsigned options) {
    static float x[MANY][WIDTH], y[MANY][WIDE];
    dnnl_tp_graph_t graph;
    dtp_arena_t arena;
    OK(dnnl_tp_graph_create(&graph, dnnl_tp_cpu));
    dtp_arena_init(&arena, dtp_process_allocator());
    dtp_exec_t *e = dtp_object_create(engine->allocator, sizeof *e, DTP_OBJ_EXECUTABLE, free_exec);
    dtp_ir_t ir = {.arena = &arena, .graph = graph->root, .host = engine, .fuse = true};
    dtp_lower_scope_t scope = {.parent = -1};
    dtp_lower_t l = {.ir = &ir, .engine = engine, .num_threads = threads, .scopes = &scope, .nscopes = 1};
    dtp_step_t *end;
    int in, out, whole, part[2];
    assert_non_null(e);
    dtp_arena_init(&e->arena, engine->allocator);
    e->graph = dtp_object_retain(graph->root);
    e->engine = dtp_object_retain(engine);
    e->num_threads = threads;
    e->nin = e->nout = 1;
    e->always_dataflow = options != 0;
    OK(dtp_new_buf(&l, sizeof x, &in));
    OK(dtp_new_buf(&l, sizeof y, &out));
    OK(dtp_new_buf(&l, sizeof y, &whole));
    l.bufs[in].kind = DTP_BUF_INPUT;
    l.bufs[out].kind = DTP_BUF_OUTPUT;
    for (int i = 0; i < 2; ++i)
        OK(dtp_new_part(&l, whole, i * WIDTH * (int64_t)sizeof(float), sizeof y, &part[i]));
    eltwise(&l, dnnl_tp_eltwise_relu, in, part[0], WIDTH, WIDE);
    eltwise(&l, dnnl_tp_eltwise_abs, in, part[1], WIDTH, WIDE);
    OK(dtp_join_parts(&l, NULL, part, 2));
    eltwise(&l, dnnl_tp_eltwise_square, whole, out, WIDE, WIDE);
    scope.end = l.nsteps;
    OK(dtp_new_control(&l, NULL, DTP_CTL_END, 0, &end));

    dtp_orderings_t orderings;
    OK(dtp_slice_groups(e, &l));
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(l.steps[i]->slice_group, 0);
        assert_int_equal(l.steps[i]->arg[DTP_ELTWISE_DST].advance, WIDE * sizeof(float));
    }
    OK(dtp_emit_scopes(e, &l));
    OK(dtp_schedule_choose(e, &l, options));
    OK(dtp_orderings_derive(&orderings, e, &l));
    OK(dtp_plan(e, &l, &orderings, 0));
    OK(dtp_schedule_build(e, &l, &orderings, options));
    OK(dtp_run_reserve(e, 1));
    for (int i = 0; i < l.nsteps; ++i)
        for (int k = 0; k < 2; ++k) dtp_object_release(l.steps[i]->work->prim[k]);
    dtp_arena_free(&arena);

    for (int i = 0; i < MANY * WIDTH; ++i) x[i / WIDTH][i % WIDTH] = (float)(i * 37 % 101 - 50);
    for (int run = 0; run < RUNS; ++run) {
        void *pin[1] = {x}, *pout[1] = {memset(y, 0xee, sizeof y)};
        OK(dnnl_tp_executable_run(e, stream, 1, pin, 1, pout, NULL));
        for (int i = 0; i < MANY; ++i)
            for (int k = 0; k < WIDE; ++k) {
                float v = x[i][k % WIDTH];
                assert_true(y[i][k] == (k < WIDTH && v < 0.f ? 0.f : v * v));
            }
    }
    OK(dnnl_tp_executable_destroy(e));
    OK(dnnl_tp_graph_destroy(graph));
}

static void test_apart(void **state) {
    (void)state;
    if (test_engine_is_far(engine)) skip(); /* made by hand, for the host's threads */
    check_apart(1, 0);
    check_apart(4, 0);
    check_apart(4, DTP_SCHEDULE_ALL);
}

/* ---- Random graphs ----------------------------------------------------------------------------------- */

static uint64_t seed;
static int below(int n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)n);
}

static void test_random(void **state) {
    (void)state;
    enum { VALUES = 30, MAX_ROWS = 64, TEXT = 8192 };
    static char text[TEXT];
    static const char *const unary[] = {"relu", "abs", "round", "square"};
    long joined = 0;
    for (uint64_t s = 1; s <= 60; ++s) {
        int rows[VALUES] = {ROWS}, at = snprintf(text, sizeof text, "%s", HEAD);
        seed = s * 7919;
        for (int v = 1; v < VALUES; ++v) {
            int in[4], n = 2 + below(3), sum = 0;
            for (int i = 0; i < n; ++i)
                sum += rows[in[i] = below(4) ? v - 1 - below(v < 6 ? v : 6) : below(v)];
            if (below(3) == 0 && sum <= MAX_ROWS) {
                rows[v] = sum;
                at += snprintf(text + at, sizeof text - (size_t)at, "%%%d = concat (", v);
                for (int i = 0; i < n; ++i)
                    at += snprintf(text + at, sizeof text - (size_t)at, "%s%%%d", i ? ", " : "", in[i]);
                at += snprintf(text + at, sizeof text - (size_t)at, ") axis=0\n");
            } else if (rows[in[0]] == rows[in[1]] && below(2)) {
                rows[v] = rows[in[0]];
                at += snprintf(text + at, sizeof text - (size_t)at, "%%%d = maximum (%%%d, %%%d)\n", v, in[0],
                               in[1]);
            } else {
                rows[v] = rows[in[0]];
                at += snprintf(text + at, sizeof text - (size_t)at, "%%%d = %s (%%%d)\n", v, unary[below(4)],
                               in[0]);
            }
        }
        for (int i = 0; i < MAX_OUT; ++i)
            at +=
                snprintf(text + at, sizeof text - (size_t)at, "output %%%d \"y%d\"\n", VALUES - 1 - 3 * i, i);
        check(text, -1, 0);
        dnnl_tp_graph_t graph = read_graph(text);
        dnnl_tp_executable_t e = compile(graph, 0);
        joined += count(e, "join");
        OK(dnnl_tp_executable_destroy(e));
        OK(dnnl_tp_graph_destroy(graph));
    }
    print_message("%ld in place\n", joined);
    assert_true(joined > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_in_place), cmocka_unit_test(test_copied),
                                       cmocka_unit_test(test_regions), cmocka_unit_test(test_apart),
                                       cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
