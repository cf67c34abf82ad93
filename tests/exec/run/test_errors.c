/* What runs of graphs refuse and say: outputs that overlap, what a closure said, how late a deadline was and where,
 * why an item was skipped, mismatches by their kind, references. */
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/object.h"
#include "dnnl_tp/dnnl_tp_graph.h"

static dnnl_tp_engine_t engine;
static dnnl_tp_stream_t stream;

static int start(void **state) {
    (void)state;
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK_OK(dnnl_tp_stream_create(&stream, engine, 0));
    return 0;
}
static int stop(void **state) {
    (void)state;
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    CHECK_OK(dnnl_tp_engine_destroy(engine));
    return 0;
}

static void says(const char *text, const char *part) {
    if (!strstr(text, part)) fail_msg("'%s' does not say '%s'", text, part);
}

/* ---- Overlaps ---------------------------------------------------------------------------------------- */

enum { SIZE = 4, MOST = 300 };

/* n inputs, each relu'd into an output. */
static dnnl_tp_executable_t many(int n) {
    dnnl_tp_graph_t g;
    dnnl_tp_executable_t e;
    const dnnl_tp_dims_t dims = {SIZE};
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    for (int i = 0; i < n; ++i) {
        dnnl_tp_value_t v;
        CHECK_OK(dnnl_tp_graph_input(g, &v, NULL, dnnl_tp_f32, 1, dims));
        CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_relu, "relu", 1, &v, 0, NULL, 1, &v));
        CHECK_OK(dnnl_tp_graph_output(g, v, NULL));
    }
    CHECK_OK(dnnl_tp_executable_compile(&e, g, engine, 0, NULL, NULL));
    CHECK_OK(dnnl_tp_graph_destroy(g));
    return e;
}

static void overlapping_outputs_are_refused(void **state) {
    (void)state;
    static float x[MOST * SIZE], y[MOST * SIZE + SIZE];
    test_rng_t r = test_rng(1);
    for (int n = 1; n <= MOST; n = n < 10 ? n + 1 : n * 3 / 2) {
        dnnl_tp_executable_t e = many(n);
        void *in[MOST], *out[MOST];
        for (int order = 0; order < 2; ++order) { /* ascending, and shuffled */
            for (int i = 0; i < n; ++i) in[i] = x + i * SIZE, out[i] = y + i * SIZE;
            for (int i = n - 1; order && i > 0; --i) {
                int k = (int)(test_rand(&r) % (uint64_t)(i + 1));
                void *t = out[i];
                out[i] = out[k], out[k] = t;
            }
            for (int i = 0; i < n * SIZE; ++i) x[i] = (float)i, y[i] = -1;
            CHECK_OK(dnnl_tp_executable_run(e, stream, n, in, n, out, NULL));
            for (int i = 0; i < n; ++i)
                assert_true(((float *)out[i])[SIZE - 1] == (float)(i * SIZE + SIZE - 1));
            for (int t = 0; t < 20; ++t) {
                int i = (int)(test_rand(&r) % (uint64_t)n), k = (int)(test_rand(&r) % (uint64_t)n);
                void *kept = out[i];
                bool with_input = t % 2 || i == k;
                int shift = (int)(test_rand(&r) % (2 * SIZE - 1)) - (SIZE - 1);
                if (!with_input && kept == y && shift < 0) shift = 0;
                out[i] = with_input ? x + SIZE * k + (k ? shift : 0) : (float *)out[k] + shift;
                dnnl_tp_event_t event;
                CHECK_STATUS(dnnl_tp_executable_run(e, stream, n, in, n, out, NULL),
                             dnnl_tp_invalid_arguments);
                assert_int_equal(dtp_last_reason(), DTP_ALIAS);
                says(dnnl_tp_last_error(), "dnnl_tp_executable_run: memories overlap");
                says(dnnl_tp_last_error(), with_input ? "input" : "output");
                CHECK_STATUS(dnnl_tp_executable_run_async(e, stream, n, in, n, out, NULL, &event),
                             dnnl_tp_invalid_arguments);
                out[i] = kept;
            }
        }
        for (int i = 0; i < n; ++i) in[i] = x; /* inputs may be one */
        CHECK_OK(dnnl_tp_executable_run(e, stream, n, in, n, out, NULL));
        CHECK_OK(dnnl_tp_executable_destroy(e));
    }
}

/* ---- Closures, deadlines, streams -------------------------------------------------------------------- */

typedef struct {
    dnnl_tp_status_t status;
    const char *text;
    int ms;
} closure_t;
static dnnl_tp_status_t closure(void *arg, const volatile int *should_stop, int nin,
                                const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    const closure_t *c = arg;
    (void)should_stop, (void)nin, (void)nout;
    memcpy(out[0].data, in[0].data, SIZE * sizeof(float));
    usleep((unsigned)c->ms * 1000);
    return c->text ? dnnl_tp_fail(c->status, c->text) : c->status;
}

static dnnl_tp_executable_t chain(closure_t *first, closure_t *second) {
    dnnl_tp_graph_t g;
    dnnl_tp_executable_t e;
    dnnl_tp_value_t v;
    const dnnl_tp_tensor_info_t info = {.ndims = 1, .dims = {SIZE}, .data_type = dnnl_tp_f32};
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &v, "x", dnnl_tp_f32, 1, info.dims));
    CHECK_OK(dnnl_tp_graph_host(g, closure, first, NULL, 0, "first", 1, &v, 1, &info, &v));
    CHECK_OK(dnnl_tp_graph_host(g, closure, second, NULL, 0, "second", 1, &v, 1, &info, &v));
    CHECK_OK(dnnl_tp_graph_output(g, v, "y"));
    CHECK_OK(dnnl_tp_executable_compile(&e, g, engine, 0, NULL, NULL));
    CHECK_OK(dnnl_tp_graph_destroy(g));
    return e;
}

static void runs_say_what_closures_said(void **state) {
    (void)state;
    closure_t good = {.status = dnnl_tp_success}, bad = {dnnl_tp_runtime_error, "the file ended at row 7", 0};
    closure_t silent = {.status = dnnl_tp_runtime_error};
    dnnl_tp_executable_t e = chain(&good, &bad), quiet = chain(&silent, &good);
    float x[SIZE] = {0}, y[SIZE];
    void *in[] = {x}, *out[] = {y};
    CHECK_STATUS(dnnl_tp_executable_run(e, stream, 1, in, 1, out, NULL), dnnl_tp_runtime_error);
    assert_int_equal(dtp_last_reason(), DTP_GRAPH_HOST_FAILED);
    says(dnnl_tp_last_error(), "operator 'second' (host) returned runtime_error: the file ended at row 7");
    CHECK_STATUS(dnnl_tp_executable_run(quiet, stream, 1, in, 1, out, NULL), dnnl_tp_runtime_error);
    assert_null(strstr(dnnl_tp_last_error(), "row 7")); /* that was another run's */
    dnnl_tp_event_t event;
    const char *text;
    CHECK_OK(dnnl_tp_executable_run_async(e, stream, 1, in, 1, out, NULL, &event));
    CHECK_OK(dnnl_tp_event_get_error(event, &text));
    says(text, "operator 'second' (host) returned runtime_error: the file ended at row 7");
    CHECK_OK(dnnl_tp_event_destroy(event));
    CHECK_OK(dnnl_tp_executable_destroy(e));
    CHECK_OK(dnnl_tp_executable_destroy(quiet));
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void deadlines_say_how_late_and_where(void **state) {
    (void)state;
    closure_t slow = {.status = dnnl_tp_success, .ms = 30}, good = {.status = dnnl_tp_success};
    dnnl_tp_executable_t e = chain(&slow, &good);
    float x[SIZE] = {0}, y[SIZE];
    void *in[] = {x}, *out[] = {y};
    for (int over = 0; over < 2; ++over) {
        dnnl_tp_run_opts_t opts = {.struct_size = sizeof opts,
                                   .deadline_ns = now_ns() + (over ? -5000000 : 10000000)};
        CHECK_STATUS(dnnl_tp_executable_run(e, stream, 1, in, 1, out, &opts), dnnl_tp_deadline_exceeded);
        assert_int_equal(dtp_last_reason(), DTP_DEADLINE);
        const char *text = strstr(dnnl_tp_last_error(), "the run ended ");
        double ms = -1;
        assert_non_null(text);
        assert_int_equal(sscanf(text, "the run ended %lf ms after it", &ms), 1);
        if (ms < (over ? 5. : 19.)) fail_msg("%s", text); /* 30 ms of sleep, 10 of them allowed */
        says(text, over ? "before operator 'first'" : "before operator 'second'");
    }
    CHECK_OK(dnnl_tp_executable_destroy(e));
}

/* ---- Graphs ------------------------------------------------------------------------------------------ */

static void mismatches_tell_types_from_shapes(void **state) {
    (void)state;
    dnnl_tp_graph_t g, function;
    dnnl_tp_value_t f32, s8, inside, out;
    const dnnl_tp_dims_t dims = {SIZE}, any = {DNNL_TP_RUNTIME_DIM_VAL};
    const dnnl_tp_tensor_info_t want = {.ndims = 1, .dims = {SIZE}, .data_type = dnnl_tp_f32};
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &f32, "f", dnnl_tp_f32, 1, any));
    CHECK_OK(dnnl_tp_graph_input(g, &s8, "s", dnnl_tp_s8, 1, dims));
    CHECK_OK(dnnl_tp_graph_create_function(&function, g, "f", 1, &want, &inside, 1, &want));
    CHECK_OK(dnnl_tp_graph_output(function, inside, NULL));
    CHECK_STATUS(dnnl_tp_graph_call(g, "call", function, 1, &s8, 1, &out), dnnl_tp_invalid_data_type);
    assert_int_equal(dtp_last_reason(), DTP_GRAPH_DATA_TYPE);
    says(dnnl_tp_last_error(), "dnnl_tp_graph_call: ");
    says(dnnl_tp_last_error(), "operator 'call' (call): input 0: s8 {4} and f32 {4} differ");
    CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_relu, "relu", 1, &f32, 0, NULL, 1, &out));
    CHECK_OK(dnnl_tp_graph_output(g, out, "y"));
    dnnl_tp_tensor_info_t shapes[] = {{1, {SIZE}, dnnl_tp_s8}, {1, {SIZE}, dnnl_tp_s8}};
    dnnl_tp_executable_t e;
    CHECK_STATUS(dnnl_tp_executable_compile(&e, g, engine, 2, shapes, NULL), dnnl_tp_invalid_data_type);
    says(dnnl_tp_last_error(), "input 'f' is declared f32 {?}, got s8 {4}");
    shapes[0].data_type = dnnl_tp_f32, shapes[1].dims[0] = 7;
    CHECK_STATUS(dnnl_tp_executable_compile(&e, g, engine, 2, shapes, NULL), dnnl_tp_invalid_shape);
    shapes[1].dims[0] = SIZE;
    dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts, .flags = DNNL_TP_COMPILE_REFUSE_REFERENCE};
    CHECK_OK(dnnl_tp_executable_compile(&e, g, engine, 2, shapes, &opts));
    CHECK_OK(dnnl_tp_executable_destroy(e));
    CHECK_OK(dnnl_tp_graph_destroy(function));
    CHECK_OK(dnnl_tp_graph_destroy(g));
}

/* A product of f16, for which there is the reference alone. */
static void compilation_refuses_references(void **state) {
    (void)state;
    dnnl_tp_graph_t g;
    dnnl_tp_value_t in[2], out;
    const dnnl_tp_dims_t dims = {SIZE, SIZE};
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    for (int i = 0; i < 2; ++i) CHECK_OK(dnnl_tp_graph_input(g, &in[i], "x", dnnl_tp_f16, 2, dims));
    CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_matmul, "product", 2, in, 0, NULL, 1, &out));
    CHECK_OK(dnnl_tp_graph_output(g, out, "y"));
    dnnl_tp_executable_t e;
    dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts, .flags = DNNL_TP_COMPILE_REFUSE_REFERENCE};
    CHECK_OK(dnnl_tp_executable_compile(&e, g, engine, 0, NULL, NULL));
    CHECK_OK(dnnl_tp_executable_destroy(e));
    CHECK_STATUS(dnnl_tp_executable_compile(&e, g, engine, 0, NULL, &opts), dnnl_tp_unimplemented);
    assert_int_equal(dtp_last_reason(), DTP_NO_IMPL);
    says(dnnl_tp_last_error(), "operator 'product' (matmul): the last one, ref:any, said: ");
    says(dnnl_tp_last_error(), "reference implementations are refused: matmul,undef,src_f16::blocked:ab::f0");
    CHECK_OK(dnnl_tp_graph_destroy(g));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(overlapping_outputs_are_refused),
                                       cmocka_unit_test(runs_say_what_closures_said),
                                       cmocka_unit_test(deadlines_say_how_late_and_where),
                                       cmocka_unit_test(mismatches_tell_types_from_shapes),
                                       cmocka_unit_test(compilation_refuses_references)};
    return cmocka_run_group_tests(tests, start, stop);
}
