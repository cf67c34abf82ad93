/* The code of pages of doc/, compiled as it is printed there (tests/package.cmake takes it out) and run: a session,
 * a trace, a check of a pool, a graph file. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "dnnl_tp/dnnl_tp_graph_file.h"
#include "dnnl_tp/dnnl_tp_pool_check.h"
#include "dnnl_tp/dnnl_tp_session.h"
#include "dnnl_tp/dnnl_tp_trace.h"

#define OK(expr) assert_int_equal((expr), dnnl_tp_success)

/* hidden = relu(x W), score = softmax(hidden) */
static dnnl_tp_graph_t make_graph(void) {
    static const float w[2 * 3] = {1, 2, -3, 0, 1, 1};
    dnnl_tp_graph_t graph;
    dnnl_tp_value_t v[2], y;
    OK(dnnl_tp_graph_create(&graph, dnnl_tp_cpu));
    OK(dnnl_tp_graph_input(graph, &v[0], "x", dnnl_tp_f32, 2, (dnnl_tp_dims_t){2, 2}));
    OK(dnnl_tp_graph_constant(graph, &v[1], "W", dnnl_tp_f32, 2, (dnnl_tp_dims_t){2, 3}, w,
                              DNNL_TP_CONSTANT_COPY, NULL, NULL));
    OK(dnnl_tp_graph_op(graph, dnnl_tp_op_matmul, "product", 2, v, 0, NULL, 1, &y));
    OK(dnnl_tp_graph_op(graph, dnnl_tp_op_relu, "hidden", 1, &y, 0, NULL, 1, &y));
    const int64_t last = -1;
    const dnnl_tp_op_attr_t axis = {dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, &last};
    OK(dnnl_tp_graph_op(graph, dnnl_tp_op_softmax, "score", 1, &y, 1, &axis, 1, &y));
    OK(dnnl_tp_graph_output(graph, y, "result"));
    return graph;
}

static float x[2 * 2] = {1, 1, 2, 0};

static void test_sessions(void **state) {
    (void)state;
    dnnl_tp_engine_t engine;
    OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    dnnl_tp_graph_t graph = make_graph();
    dnnl_tp_session_t session;
    float *in = x, score[2 * 3], hidden[2 * 3];
    dnnl_tp_tensor_info_t shape = {.ndims = 2, .dims = {2, 2}, .data_type = dnnl_tp_f32};
#include "sessions.inc"
    assert_int_equal(status, DNNL_TP_WITH_THREADPOOL ? dnnl_tp_success : dnnl_tp_unimplemented);
    if (!status) {
        assert_true(hidden[0] == 1 && hidden[1] == 3 && hidden[2] == 0);
        assert_true(fabsf(score[0] + score[1] + score[2] - 1) < 1e-6f);
    }
    OK(dnnl_tp_session_destroy(session));
    dnnl_tp_graph_destroy(graph);
    dnnl_tp_engine_destroy(engine);
}

static dnnl_tp_status_t work(dnnl_tp_stream_t stream, dnnl_tp_run_opts_t *opts,
                             dnnl_tp_session_opts_t *of_session) {
    dnnl_tp_engine_t engine;
    OK(dnnl_tp_stream_get_engine(stream, &engine));
    dnnl_tp_graph_t graph = make_graph();
    dnnl_tp_executable_t e;
    dnnl_tp_session_t session;
    float y[2 * 3];
    void *in[1] = {x}, *out[1] = {y};
    OK(dnnl_tp_executable_compile(&e, graph, engine, 0, NULL, NULL));
    OK(dnnl_tp_executable_run(e, stream, 1, in, 1, out, NULL));
    OK(dnnl_tp_executable_run(e, stream, 1, in, 1, out, opts));
    of_session->num_threads = 1;
    OK(dnnl_tp_session_create(&session, graph, engine, of_session));
    OK(dnnl_tp_session_run(session, 1, &(dnnl_tp_feed_t){"x", NULL, x}, 1, &(dnnl_tp_fetch_t){"result", y}, 0,
                           NULL, NULL));
    dnnl_tp_trace_info_t info = {.struct_size = sizeof info};
    OK(dnnl_tp_trace_query(opts->trace, &info));
    assert_true(info.events >= 3 * 3); /* a run and two operators at least */
    assert_int_equal(info.streams, 1);
    OK(dnnl_tp_session_destroy(session));
    dnnl_tp_executable_destroy(e);
    dnnl_tp_graph_destroy(graph);
    return dnnl_tp_success;
}

static void test_traces(void **state) {
    (void)state;
    char folder[] = "/tmp/dnnl_tp_pages_XXXXXX";
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    OK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
    {
#include "traces.inc"
        OK(status);
    }
    assert_int_equal(unlink("run.json"), 0);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(folder), 0);
    OK(dnnl_tp_stream_destroy(stream));
    dnnl_tp_engine_destroy(engine);
}

static int one_thread(void *ctx) { return ctx ? 1 : 0; }
static int in_order(void *ctx, int n, dnnl_tp_chunk_fn_t fn, void *arg) {
    (void)ctx;
    for (int i = 0; i < n; ++i) fn(arg, i, n);
    return 0;
}
static bool is_good(dnnl_tp_threadpool_iface_t my_pool, FILE *stderr_of_page) {
#undef stderr
#define stderr stderr_of_page
#include "pool_check.inc"
    return ftell(stderr_of_page) == 0;
}

static void test_pool_check(void **state) {
    (void)state;
    int ctx = 0;
    dnnl_tp_threadpool_iface_t pool = {
        .struct_size = sizeof pool, .ctx = &ctx, .get_num_threads = one_thread, .parallel_for = in_order};
    char report[4096];
    if (dnnl_tp_pool_check(&pool, DNNL_TP_POOL_CHECK_LOOPS, report, sizeof report) == dnnl_tp_unimplemented)
        skip();
    FILE *f = tmpfile();
    assert_non_null(f);
    assert_true(is_good(pool, f));
    pool.struct_size = 1; /* the report says so */
    assert_false(is_good(pool, f));
    fclose(f);
}

/* The first block of the page is a whole file; it is read, written and read again, and it computes. */
static void test_graph_files(void **state) {
    (void)state;
    char *page = calloc(1, 1 << 16);
    assert_non_null(page);
    FILE *f = fopen(DTP_SOURCE_DIR "/doc/graph_files.md", "rb");
    assert_non_null(f);
    assert_true(fread(page, 1, (1 << 16) - 1, f) > 0);
    fclose(f);
    char *begin = strstr(page, "\n```\n");
    assert_non_null(begin);
    begin += 5;
    char *end = strstr(begin, "\n```\n");
    assert_non_null(end);
    dnnl_tp_graph_t graph;
    OK(dnnl_tp_graph_read_text(&graph, begin, (size_t)(end - begin), NULL));
    free(page);

    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    dnnl_tp_executable_t e;
    OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    OK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
    enum { ROWS = 2, WIDTH = 384 };
    const dnnl_tp_tensor_info_t shapes[2] = {{2, {ROWS, WIDTH}, dnnl_tp_f32}, {0, {0}, dnnl_tp_f32}};
    OK(dnnl_tp_executable_compile(&e, graph, engine, 2, shapes, NULL));
    static float rows[ROWS * WIDTH], y[ROWS * WIDTH];
    float rounds = 0;
    void *in[2] = {rows, &rounds}, *out[1] = {y};
    for (int i = 0; i < ROWS * WIDTH; ++i) rows[i] = (float)(i % 5) - 2;
    OK(dnnl_tp_executable_run(e, stream, 2, in, 1, out, NULL));
    assert_memory_equal(y, rows, sizeof y); /* no round */
    rounds = 3;
    OK(dnnl_tp_executable_run(e, stream, 2, in, 1, out, NULL));
    for (int i = 0; i < ROWS * WIDTH; ++i) assert_true(fabsf(y[i]) <= 1); /* tanh */
    dnnl_tp_executable_destroy(e);
    OK(dnnl_tp_stream_destroy(stream));
    dnnl_tp_graph_destroy(graph);
    dnnl_tp_engine_destroy(engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sessions), cmocka_unit_test(test_traces),
                                       cmocka_unit_test(test_pool_check), cmocka_unit_test(test_graph_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
