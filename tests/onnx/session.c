/* Sessions of models: shapes and values that come and go, defaults, refusals, many threads, memory. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "sessions.h"

/* y = Relu(x), x {2, n}. */
static void relu_of_n(bytes_t *m) {
    bytes_t g = {.n = 0};
    put_node(&g, "Relu", "", "x", NULL, "y");
    put_value(&g, G_INPUT, "x", FLOAT, 2, two_by_n);
    put_value(&g, G_OUTPUT, "y", FLOAT, 2, two_by_n);
    m->n = 0;
    put_model(m, &g, 8, 17);
}

/* y = Reshape(x, s), x {2, n}, s {k}. */
static void reshape(bytes_t *m) {
    static const int64_t any[] = {2};
    bytes_t g = {.n = 0};
    put_node(&g, "Reshape", "", "x", "s", "y");
    put_value(&g, G_INPUT, "x", FLOAT, 2, two_by_n);
    put_value(&g, G_INPUT, "s", INT64, 1, any);
    put_value(&g, G_OUTPUT, "y", FLOAT, 2, two_by_n);
    m->n = 0;
    put_model(m, &g, 8, 17);
}

/* The status, and a part of the text. */
static void fails(dnnl_tp_status_t got, dnnl_tp_status_t want, const char *text) {
    assert_int_equal(got, want);
    if (!strstr(dnnl_tp_last_error(), text)) fail_msg("'%s' has no '%s'", dnnl_tp_last_error(), text);
}

enum { MOST = 64 };
static void run_relu(dnnl_tp_onnx_session_t s, int64_t n) {
    const dnnl_tp_tensor_info_t shape = {.ndims = 2, .dims = {2, n}, .data_type = dnnl_tp_f32};
    const dnnl_tp_onnx_arg_t arg = {&shape, NULL};
    dnnl_tp_onnx_call_t call;
    dnnl_tp_tensor_info_t got;
    CHECK_OK(dnnl_tp_onnx_session_get_call(&call, s, 1, &arg));
    CHECK_OK(dnnl_tp_onnx_call_output(call, 0, &got));
    assert_int_equal(got.dims[1], n);
    float x[2 * MOST], y[2 * MOST];
    for (int64_t i = 0; i < 2 * n; ++i) x[i] = (float)(i % 5) - 2.f;
    const void *in[] = {x};
    void *out[] = {y};
    CHECK_OK(dnnl_tp_onnx_call_run(call, in, out, NULL));
    for (int64_t i = 0; i < 2 * n; ++i) assert_true(y[i] == (x[i] > 0.f ? x[i] : 0.f));
    CHECK_OK(dnnl_tp_onnx_call_destroy(call));
}

/* One graph serves all sizes of a symbol; what was used last stays. */
static void test_shapes(void **state) {
    (void)state;
    static bytes_t m;
    relu_of_n(&m);
    const dnnl_tp_onnx_session_opts_t opts = {.struct_size = sizeof opts, .max_calls = 2};
    dnnl_tp_onnx_session_t s = open_session(&m, &opts);
    const int64_t sizes[] = {3, 4, 3, 5, 3, 4};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) run_relu(s, sizes[i]);
    const dnnl_tp_tensor_info_t x = {.ndims = 2, .dims = {2, 4}, .data_type = dnnl_tp_f32};
    const dnnl_tp_onnx_arg_t arg = {&x, NULL};
    dnnl_tp_onnx_call_t call;
    CHECK_OK(dnnl_tp_onnx_session_get_call(&call, s, 1, &arg));
    const_dnnl_tp_graph_t graph;
    const_dnnl_tp_executable_t exe;
    CHECK_OK(dnnl_tp_onnx_call_compiled(call, &graph, &exe));
    dnnl_tp_tensor_info_t y;
    CHECK_OK(dnnl_tp_executable_query(exe, 0, &y));
    assert_true(graph && y.ndims == 2 && y.dims[1] == 4);
    dnnl_tp_onnx_call_destroy(call);
    const dnnl_tp_onnx_session_stats_t stats = stats_of(s);
    assert_int_equal(stats.graphs, 1);
    assert_int_equal(stats.compilations, 4); /* 4 went for 5, 3 stayed */
    assert_int_equal(stats.evictions, 2);
    assert_int_equal(stats.calls, 2);
    dnnl_tp_onnx_session_destroy(s);
}

/* The first dimension, in place of the file's 2. */
static void test_batch(void **state) {
    (void)state;
    static bytes_t m;
    relu_of_n(&m);
    const dnnl_tp_onnx_session_opts_t opts = {.struct_size = sizeof opts, .batch = 5};
    dnnl_tp_onnx_session_t s = open_session(&m, &opts);
    dnnl_tp_tensor_info_t x = {.ndims = 2, .dims = {5, 3}, .data_type = dnnl_tp_f32}, y;
    const dnnl_tp_onnx_arg_t arg = {&x, NULL};
    dnnl_tp_onnx_call_t call;
    CHECK_OK(dnnl_tp_onnx_session_get_call(&call, s, 1, &arg));
    CHECK_OK(dnnl_tp_onnx_call_output(call, 0, &y));
    assert_true(y.dims[0] == 5 && y.dims[1] == 3);
    float data[15], out[15] = {0};
    for (int i = 0; i < 15; ++i) data[i] = (float)i - 7;
    CHECK_OK(dnnl_tp_onnx_call_run(call, (const void *[]){data}, (void *[]){out}, NULL));
    assert_true(out[0] == 0 && out[14] == 7);
    dnnl_tp_onnx_call_destroy(call);
    x.dims[0] = 2;
    fails(dnnl_tp_onnx_session_get_call(&call, s, 1, &arg), dnnl_tp_invalid_arguments,
          "input 'x': dimension 0 is 2, the model has 5");
    dnnl_tp_onnx_session_destroy(s);
}

static void test_values(void **state) {
    (void)state;
    static bytes_t m;
    reshape(&m);
    dnnl_tp_onnx_session_t s = open_session(&m, NULL);
    const dnnl_tp_tensor_info_t x = {.ndims = 2, .dims = {2, 6}, .data_type = dnnl_tp_f32},
                                v = {.ndims = 1, .dims = {2}, .data_type = dnnl_tp_s64};
    const int64_t shapes[][2] = {{3, 4}, {6, 2}, {3, 4}};
    float data[12], y[12];
    for (int i = 0; i < 12; ++i) data[i] = (float)i;
    dnnl_tp_onnx_call_t call = NULL;
    for (int i = 0; i < 3; ++i) {
        const dnnl_tp_onnx_arg_t args[] = {{&x, NULL}, {&v, shapes[i]}};
        dnnl_tp_tensor_info_t got;
        CHECK_OK(dnnl_tp_onnx_session_get_call(&call, s, 2, args));
        CHECK_OK(dnnl_tp_onnx_call_output(call, 0, &got));
        assert_int_equal(got.dims[0], shapes[i][0]);
        assert_int_equal(got.dims[1], shapes[i][1]);
        if (i < 2) dnnl_tp_onnx_call_destroy(call);
    }
    assert_int_equal(stats_of(s).compilations, 2);
    const dnnl_tp_onnx_arg_t without[] = {{&x, NULL}, {&v, NULL}};
    dnnl_tp_onnx_call_t none;
    fails(dnnl_tp_onnx_session_get_call(&none, s, 2, without), dnnl_tp_invalid_arguments,
          "input 's' determines shapes");
    dnnl_tp_onnx_session_destroy(s);
    const void *in[] = {data, NULL}; /* the call outlives its session */
    void *out[] = {y};
    CHECK_OK(dnnl_tp_onnx_call_run(call, in, out, NULL));
    assert_memory_equal(data, y, sizeof y);
    dnnl_tp_onnx_call_destroy(call);
}

/* A default is taken unless the input is given. */
static void test_defaults(void **state) {
    (void)state;
    static bytes_t m;
    with_default(&m);
    dnnl_tp_onnx_session_t s = open_session(&m, NULL);
    const dnnl_tp_tensor_info_t shape = {.ndims = 1, .dims = {4}, .data_type = dnnl_tp_f32};
    float y[4];
    void *out[] = {y};
    for (int given = 0; given < 2; ++given) {
        const dnnl_tp_onnx_arg_t args[] = {{&shape, NULL}, {given ? &shape : NULL, NULL}};
        const float zero[4] = {0};
        const void *in[] = {one_to_four, given ? zero : NULL};
        dnnl_tp_onnx_call_t call;
        CHECK_OK(dnnl_tp_onnx_session_get_call(&call, s, 2, args));
        CHECK_OK(dnnl_tp_onnx_call_run(call, in, out, NULL));
        assert_memory_equal(y, given ? one_to_four : doubled, sizeof y);
        dnnl_tp_onnx_call_destroy(call);
    }
    assert_int_equal(stats_of(s).graphs, 2);
    dnnl_tp_onnx_session_destroy(s);
}

/* y {1, n, 2, n} = Unsqueeze(x): an import needs the sizes, and leaves guards. */
static void unsqueeze(bytes_t *m) {
    static const int64_t n_by_n[] = {-1, 2, -1}, one[] = {1}, first[] = {0}, made[] = {1, -1, 2, -1};
    static bytes_t g;
    g.n = 0;
    put_node(&g, "Unsqueeze", "", "x", "axes", "y");
    put_raw(&g, "axes", INT64, 1, one, first, sizeof first);
    put_value(&g, G_INPUT, "x", FLOAT, 3, n_by_n);
    put_value(&g, G_OUTPUT, "y", FLOAT, 4, made);
    m->n = 0;
    put_model(m, &g, 8, 17);
}

static void run_unsqueeze(dnnl_tp_onnx_session_t s, int64_t a, int64_t b) {
    const dnnl_tp_tensor_info_t x = {.ndims = 3, .dims = {a, 2, b}, .data_type = dnnl_tp_f32};
    const dnnl_tp_onnx_arg_t arg = {&x, NULL};
    dnnl_tp_onnx_call_t call;
    dnnl_tp_tensor_info_t got;
    float data[2 * MOST], y[2 * MOST];
    assert_true(a * b <= MOST);
    for (int k = 0; k < 2 * MOST; ++k) data[k] = (float)k;
    CHECK_OK(dnnl_tp_onnx_session_get_call(&call, s, 1, &arg));
    CHECK_OK(dnnl_tp_onnx_call_run(call, (const void *[]){data}, (void *[]){y}, NULL));
    assert_memory_equal(data, y, (size_t)(2 * a * b) * sizeof *y);
    CHECK_OK(dnnl_tp_onnx_call_output(call, 0, &got));
    assert_true(got.ndims == 4 && got.dims[0] == 1 && got.dims[1] == a && got.dims[2] == 2 &&
                got.dims[3] == b);
    dnnl_tp_onnx_call_destroy(call);
}

/* One graph serves all sizes where n is one size, another one all where it is two: names are guesses. */
static void test_sizes(void **state) {
    (void)state;
    static bytes_t m;
    unsqueeze(&m);
    refused(&m, dnnl_tp_unimplemented, "two dimensions of a shape are not known");
    dnnl_tp_onnx_session_t s = open_session(&m, NULL);
    static const int64_t sizes[][2] = {{2, 2}, {3, 3}, {3, 4}, {2, 2}, {4, 3}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) run_unsqueeze(s, sizes[i][0], sizes[i][1]);
    assert_int_equal(stats_of(s).graphs, 2);
    assert_int_equal(stats_of(s).imports, 2);
    dnnl_tp_onnx_session_destroy(s);
}

static void test_refusals(void **state) {
    (void)state;
    static bytes_t m;
    relu_of_n(&m);
    dnnl_tp_onnx_session_t s = open_session(&m, NULL);
    const dnnl_tp_tensor_info_t wrong[] = {{.ndims = 2, .dims = {2, 3}, .data_type = dnnl_tp_s32},
                                           {.ndims = 1, .dims = {2}, .data_type = dnnl_tp_f32},
                                           {.ndims = 2, .dims = {3, 3}, .data_type = dnnl_tp_f32},
                                           {.ndims = 2, .dims = {2, -1}, .data_type = dnnl_tp_f32},
                                           {.ndims = 100, .data_type = dnnl_tp_f32},
                                           {.ndims = 100, .data_type = dnnl_tp_f32},
                                           {.ndims = -1, .data_type = dnnl_tp_f32}};
    enum { OF_KNOWN_RANK = 5 };
    const char *const texts[] = {"input 'x' is s32",
                                 "input 'x' has the rank 1, the model has 2",
                                 "input 'x': dimension 0 is 3, the model has 2",
                                 "input 'x' has a negative dimension",
                                 "input 'x' has the rank 100, the model has 2",
                                 "a rank (100) outside of 0..12",
                                 "a rank (-1) outside of 0..12"};
    dnnl_tp_onnx_call_t call;
    for (int i = 0; i < (int)(sizeof wrong / sizeof *wrong); ++i) {
        if (i == OF_KNOWN_RANK) {
            dnnl_tp_onnx_session_destroy(s);
            bytes_t g = {.n = 0};
            put_node(&g, "Relu", "", "x", NULL, "y");
            put_value(&g, G_INPUT, "x", FLOAT, -1, NULL);
            put_value(&g, G_OUTPUT, "y", FLOAT, -1, NULL);
            m.n = 0;
            put_model(&m, &g, 8, 17);
            s = open_session(&m, NULL);
        }
        const dnnl_tp_onnx_arg_t arg = {&wrong[i], NULL};
        fails(dnnl_tp_onnx_session_get_call(&call, s, 1, &arg), dnnl_tp_invalid_arguments, texts[i]);
        assert_null(call);
    }
    const dnnl_tp_onnx_arg_t absent = {NULL, NULL};
    fails(dnnl_tp_onnx_session_get_call(&call, s, 1, &absent), dnnl_tp_invalid_arguments,
          "input 'x' is not given");
    fails(dnnl_tp_onnx_session_get_call(&call, s, 0, NULL), dnnl_tp_invalid_arguments,
          "0 inputs are described, the model has 1");
    dnnl_tp_onnx_session_destroy(s);
    assert_int_equal(dnnl_tp_onnx_session_destroy(NULL), dnnl_tp_success);
    assert_int_equal(dnnl_tp_onnx_call_destroy(NULL), dnnl_tp_success);
    fails(dnnl_tp_onnx_call_compiled(NULL, NULL, NULL), dnnl_tp_invalid_arguments, "call is NULL");
}

/* ---- Many threads ------------------------------------------------------------------------------------------ */

enum { THREADS = 4, ROUNDS = 60 };
static void *many(void *session) {
    for (int i = 0; i < ROUNDS; ++i) run_relu(session, 1 + i * 7 % 5);
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    static bytes_t m;
    relu_of_n(&m);
    const dnnl_tp_onnx_session_opts_t opts = {.struct_size = sizeof opts, .max_calls = 2};
    dnnl_tp_onnx_session_t s = open_session(&m, &opts);
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; ++i) assert_int_equal(pthread_create(&thread[i], NULL, many, s), 0);
    for (int i = 0; i < THREADS; ++i) pthread_join(thread[i], NULL);
    const dnnl_tp_onnx_session_stats_t stats = stats_of(s);
    assert_int_equal(stats.calls, 2);
    assert_int_equal(stats.compilations, stats.evictions + 2);
    dnnl_tp_onnx_session_destroy(s);
}

static void *many_sizes(void *session) {
    for (int i = 0; i < ROUNDS; ++i) run_unsqueeze(session, 1 + i * 7 % 5, 1 + i * 3 % 4);
    return NULL;
}

/* Graphs with guards that come and go in several threads. */
static void test_guards_in_threads(void **state) {
    (void)state;
    static bytes_t m;
    unsqueeze(&m);
    const dnnl_tp_onnx_session_opts_t opts = {.struct_size = sizeof opts, .max_calls = 2};
    dnnl_tp_onnx_session_t s = open_session(&m, &opts);
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; ++i) assert_int_equal(pthread_create(&thread[i], NULL, many_sizes, s), 0);
    for (int i = 0; i < THREADS; ++i) pthread_join(thread[i], NULL);
    assert_int_equal(stats_of(s).calls, 2);
    dnnl_tp_onnx_session_destroy(s);
}

/* A failed guard is a further import; the same sizes again are none. The texts say what is special. */
static void test_explain(void **state) {
    (void)state;
    static bytes_t m;
    unsqueeze(&m);
    dnnl_tp_onnx_session_t s = open_session(&m, NULL);
    char text[512], few[24];
    size_t size;
    run_unsqueeze(s, 3, 5);
    run_unsqueeze(s, 4, 6);
    CHECK_OK(dnnl_tp_onnx_session_explain(s, text, sizeof text, &size));
    assert_string_equal(text, "a graph with guards\nx: 2 <= x.0\nx: 2 <= x.2\n");
    dnnl_tp_onnx_session_stats_t stats = stats_of(s);
    assert_true(stats.graphs == 1 && stats.imports == 1 && stats.failed_guards == 0);
    run_unsqueeze(s, 1, 6);
    stats = stats_of(s);
    assert_true(stats.graphs == 2 && stats.imports == 2 && stats.failed_guards > 0);
    CHECK_OK(dnnl_tp_onnx_session_explain(s, text, sizeof text, &size));
    assert_int_equal(size, strlen(text) + 1);
    assert_non_null(strstr(text, "a graph with guards\nx: x.0 == 1\n"));
    CHECK_OK(dnnl_tp_onnx_session_explain(s, few, sizeof few, &size));
    assert_string_equal(few, "a graph with guards\n");
    assert_int_equal(size, strlen(text) + 1);
    CHECK_OK(dnnl_tp_onnx_session_explain(s, NULL, 0, &size));
    fails(dnnl_tp_onnx_session_explain(s, text, sizeof text, NULL), dnnl_tp_invalid_arguments, "NULL");
    /* A program that knows fewer counts. */
    dnnl_tp_onnx_session_stats_t older = {.struct_size = offsetof(dnnl_tp_onnx_session_stats_t, imports)};
    CHECK_OK(dnnl_tp_onnx_session_query(s, &older));
    assert_true(older.graphs == 2 && older.imports == 0);
    dnnl_tp_onnx_session_destroy(s);
}

/* ---- Memory -------------------------------------------------------------------------------------------------- */

static dnnl_tp_status_t two_sizes(const bytes_t *m) {
    dnnl_tp_onnx_model_t model = NULL;
    dnnl_tp_engine_t engine = NULL;
    dnnl_tp_onnx_session_t s = NULL;
    dnnl_tp_status_t status = dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0);
    if (!status) status = dnnl_tp_onnx_open_memory(&model, m->at, m->n, NULL);
    if (!status) status = dnnl_tp_onnx_session_create(&s, model, engine, NULL);
    for (int64_t n = 3; n < 5 && !status; ++n) {
        const dnnl_tp_tensor_info_t x = {.ndims = 3, .dims = {n, 2, n + 1}, .data_type = dnnl_tp_f32};
        const dnnl_tp_onnx_arg_t arg = {&x, NULL};
        dnnl_tp_onnx_call_t call = NULL;
        status = dnnl_tp_onnx_session_get_call(&call, s, 1, &arg);
        dnnl_tp_onnx_call_destroy(call);
    }
    dnnl_tp_onnx_session_destroy(s);
    dnnl_tp_onnx_close(model);
    dnnl_tp_engine_destroy(engine);
    return status;
}

static dnnl_tp_status_t all_of_it(const bytes_t *m) {
    static const int64_t three_by_four[] = {3, 4};
    const dnnl_tp_tensor_info_t x = {.ndims = 2, .dims = {2, 6}, .data_type = dnnl_tp_f32},
                                v = {.ndims = 1, .dims = {2}, .data_type = dnnl_tp_s64};
    const dnnl_tp_onnx_arg_t args[] = {{&x, NULL}, {&v, three_by_four}};
    float data[12] = {0}, y[12];
    const void *in[] = {data, NULL};
    void *out[] = {y};
    dnnl_tp_onnx_model_t model = NULL;
    dnnl_tp_engine_t engine = NULL;
    dnnl_tp_onnx_session_t s = NULL;
    dnnl_tp_onnx_call_t call = NULL;
    dnnl_tp_status_t status = dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0);
    if (!status) status = dnnl_tp_onnx_open_memory(&model, m->at, m->n, NULL);
    if (!status) status = dnnl_tp_onnx_session_create(&s, model, engine, NULL);
    if (!status) status = dnnl_tp_onnx_session_get_call(&call, s, 2, args);
    if (!status) status = dnnl_tp_onnx_call_run(call, in, out, NULL);
    dnnl_tp_onnx_call_destroy(call);
    dnnl_tp_onnx_session_destroy(s);
    dnnl_tp_onnx_close(model);
    dnnl_tp_engine_destroy(engine);
    return status;
}

static void test_out_of_memory(void **state) {
    (void)state;
    static bytes_t m;
    reshape(&m);
    CHECK_OK(all_of_it(&m)); /* what the process keeps is there */
    assert_true(fails_by_allocation(all_of_it, &m, true) > 20);
    unsqueeze(&m);
    CHECK_OK(two_sizes(&m));
    assert_true(fails_by_allocation(two_sizes, &m, true) > 60);
}

/* ---- Memory ----------------------------------------------------------------------------------------------------- */

enum { IN = 96, HIDDEN = 160, LENGTHS = 16 };
static int8_t down[IN * HIDDEN], up[HIDDEN * IN];
static const float down_scale = .25f, up_scale = .5f;

/* y {n + 1, IN} = relu(pad(x) down) up, with a row of zeros in front of x {n, IN}: the sizes have to be known. */
static void int8_encoder(bytes_t *m) {
    static const int64_t n_by_in[] = {-1, IN}, pad_dims[] = {4}, dims[][2] = {{IN, HIDDEN}, {HIDDEN, IN}},
                         pads[] = {1, 0, 0, 0};
    static bytes_t g;
    for (int i = 0; i < IN * HIDDEN; ++i) down[i] = (int8_t)(i * 7 % 5 - 2), up[i] = (int8_t)(i * 11 % 7 - 3);
    g.n = 0;
    put_node(&g, "Pad", "", "x", "pads", "p");
    put_node(&g, "DequantizeLinear", "", "down", "down_scale", "a");
    put_node(&g, "DequantizeLinear", "", "up", "up_scale", "b");
    put_node(&g, "MatMul", "", "p", "a", "h");
    put_node(&g, "Relu", "", "h", NULL, "r");
    put_node(&g, "MatMul", "", "r", "b", "y");
    put_raw(&g, "pads", INT64, 1, pad_dims, pads, sizeof pads);
    put_raw(&g, "down", INT8, 2, dims[0], down, sizeof down);
    put_raw(&g, "up", INT8, 2, dims[1], up, sizeof up);
    put_raw(&g, "down_scale", FLOAT, 0, NULL, &down_scale, sizeof down_scale);
    put_raw(&g, "up_scale", FLOAT, 0, NULL, &up_scale, sizeof up_scale);
    put_value(&g, G_INPUT, "x", FLOAT, 2, n_by_in);
    put_value(&g, G_OUTPUT, "y", FLOAT, 2, n_by_in);
    m->n = 0;
    put_model(m, &g, 8, 17);
}

static void run_encoder(dnnl_tp_onnx_session_t s, int64_t n) {
    static float x[LENGTHS * IN], y[(LENGTHS + 1) * IN];
    const dnnl_tp_tensor_info_t shape = {.ndims = 2, .dims = {n, IN}, .data_type = dnnl_tp_f32};
    const dnnl_tp_onnx_arg_t arg = {&shape, NULL};
    dnnl_tp_onnx_call_t call;
    for (int i = 0; i < n * IN; ++i) x[i] = (float)(i % 3 - 1);
    CHECK_OK(dnnl_tp_onnx_session_get_call(&call, s, 1, &arg));
    CHECK_OK(dnnl_tp_onnx_call_run(call, (const void *[]){x}, (void *[]){y}, NULL));
    for (int64_t r = 0; r <= n; ++r) {
        double h[HIDDEN] = {0};
        for (int k = 0; k < HIDDEN && r > 0; ++k) {
            for (int i = 0; i < IN; ++i)
                h[k] += (double)x[(r - 1) * IN + i] * down[i * HIDDEN + k] * (double)down_scale;
            if (h[k] < 0.) h[k] = 0.;
        }
        for (int i = 0; i < IN; ++i) { /* quarters: exact in any order */
            double want = 0.;
            for (int k = 0; k < HIDDEN; ++k) want += h[k] * up[k * IN + i] * (double)up_scale;
            assert_true((double)y[r * IN + i] == want);
        }
    }
    CHECK_OK(dnnl_tp_onnx_call_destroy(call));
}

/* Further lengths cost neither converted weights nor packed ones, also in another graph; and what was evicted leaves
 * nothing. */
static void test_lengths(void **state) {
    (void)state;
    static bytes_t m;
    static test_allocator_t counting;
    const int64_t packed = 2 * IN * HIDDEN * (int64_t)sizeof(float);
    int capacity;
    int8_encoder(&m);
    CHECK_OK(dnnl_tp_get_primitive_cache_capacity(&capacity));
    CHECK_OK(dnnl_tp_set_primitive_cache_capacity(0));
    test_allocator_init(&counting);
    CHECK_OK(dnnl_tp_set_allocator(&counting.iface));
    dnnl_tp_onnx_session_t s = open_session(&m, NULL);
    const int64_t none = atomic_load(&counting.live_bytes);
    run_encoder(s, 1);
    const int64_t one = atomic_load(&counting.live_bytes);
    for (int64_t n = 2; n <= LENGTHS; ++n) run_encoder(s, n);
    const int64_t all = atomic_load(&counting.live_bytes);
    assert_int_equal(stats_of(s).graphs, 2); /* of one row, of more */
    print_message("weights %lld bytes, one length %lld, 15 more %lld\n", (long long)packed,
                  (long long)(one - none), (long long)(all - one));
    assert_true(one - none > packed && all - one < (LENGTHS - 1) * packed);
    dnnl_tp_onnx_session_destroy(s);

    const dnnl_tp_onnx_session_opts_t two = {.struct_size = sizeof two, .max_calls = 2};
    s = open_session(&m, &two);
    for (int64_t n = 1; n <= LENGTHS; ++n) run_encoder(s, n);
    run_encoder(s, LENGTHS - 1);
    const int64_t before = atomic_load(&counting.live_bytes);
    for (int round = 0; round < 3; ++round)
        for (int64_t n = 1; n <= LENGTHS; ++n) run_encoder(s, n);
    run_encoder(s, LENGTHS - 1);
    assert_true(atomic_load(&counting.live_bytes) <= before + packed / 8);
    dnnl_tp_onnx_session_destroy(s);
    CHECK_OK(dnnl_tp_set_allocator(NULL));
    CHECK_OK(dnnl_tp_set_primitive_cache_capacity(capacity));
    assert_true(test_becomes(&counting.live_bytes, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),        cmocka_unit_test(test_values),
        cmocka_unit_test(test_defaults),      cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_refusals),      cmocka_unit_test(test_threads),
        cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_batch),
        cmocka_unit_test(test_lengths),       cmocka_unit_test(test_guards_in_threads),
        cmocka_unit_test(test_explain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
