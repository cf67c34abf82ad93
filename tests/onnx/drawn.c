/* Operators that draw random numbers: the generator's published vectors, sequences that depend neither on threads nor on
 * shapes, seeds, distributions (with fixed seeds), refusals. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dnnl_tp/dnnl_tp_threadpool.h"
#include "onnx/dnnl_tp_onnx_session.h"
#include "writing.h"

enum { A_FLOAT = 2, A_INT = 3, A_INTS = 8, OF_FLOAT = 1, OF_INT = 2, OF_INTS = 7, DOUBLE = 11 };

/* ---- Models -------------------------------------------------------------------------------------------------------- */

static void attr_begin(bytes_t *a, const char *name, int type) {
    a->n = 0;
    put_text(a, A_NAME, name);
    put_int(a, A_TYPE, (uint64_t)type);
}
static void put_float_attr(bytes_t *n, const char *name, float value) {
    static bytes_t a;
    enum { FIXED_32 = 5 };
    attr_begin(&a, name, OF_FLOAT);
    put_varint(&a, A_FLOAT << 3 | FIXED_32);
    memcpy(a.at + a.n, &value, sizeof value);
    a.n += sizeof value;
    put_message(n, N_ATTR, &a);
}
static void put_int_attr(bytes_t *n, const char *name, int64_t value) {
    static bytes_t a;
    attr_begin(&a, name, OF_INT);
    put_int(&a, A_INT, (uint64_t)value);
    put_message(n, N_ATTR, &a);
}
static void put_ints_attr(bytes_t *n, const char *name, int count, const int64_t *values) {
    static bytes_t a;
    attr_begin(&a, name, OF_INTS);
    for (int i = 0; i < count; ++i) put_int(&a, A_INTS, (uint64_t)values[i]);
    put_message(n, N_ATTR, &a);
}

typedef struct {
    const char *op;
    bool has_input; /* x of FLOAT {rows, n} */
    int dtype;      /* 0: not given */
    int64_t count;  /* shape {count}, or sample_size; 0: not given */
    const float *seed;
    const char *names[2];
    float params[2]; /* mean and scale, low and high */
    int nodes;       /* with results y and z */
    int64_t loops;   /* the node is in a Loop, whose iterations are the rows of y */
} model_t;

/* In g a Loop around the node n, whose result is y. */
static void put_looped(bytes_t *g, const bytes_t *n, int64_t loops) {
    static bytes_t body, loop;
    body.n = loop.n = 0;
    put_message(&body, G_NODE, n);
    put_node(&body, "Identity", "", "go", NULL, "goes_on");
    put_value(&body, G_INPUT, "i", INT64, 0, NULL);
    put_value(&body, G_INPUT, "go", BOOL, 0, NULL);
    put_value(&body, G_OUTPUT, "goes_on", BOOL, 0, NULL);
    put_value(&body, G_OUTPUT, "y", FLOAT, -1, NULL);
    put_raw(g, "loops", INT64, 0, NULL, &loops, sizeof loops);
    put_text(&loop, N_INPUT, "loops");
    put_text(&loop, N_INPUT, "");
    put_text(&loop, N_OUTPUT, "y");
    put_text(&loop, N_OP, "Loop");
    put_graph_attr(&loop, "body", &body);
    put_message(g, G_NODE, &loop);
}

static void put_drawn(bytes_t *m, const model_t *of) {
    static bytes_t g, n;
    static const int64_t open[] = {-1, -1};
    g.n = 0;
    for (int i = 0; i < (of->nodes ? of->nodes : 1); ++i) {
        n.n = 0;
        if (of->has_input) put_text(&n, N_INPUT, "x");
        put_text(&n, N_OUTPUT, i ? "z" : "y");
        put_text(&n, N_OP, of->op);
        if (of->dtype) put_int_attr(&n, "dtype", of->dtype);
        if (of->count && of->has_input) put_int_attr(&n, "sample_size", of->count);
        else if (of->count) put_ints_attr(&n, "shape", 1, &of->count);
        if (of->seed) put_float_attr(&n, "seed", *of->seed);
        for (int k = 0; k < 2; ++k)
            if (of->names[k]) put_float_attr(&n, of->names[k], of->params[k]);
        if (of->loops) put_looped(&g, &n, of->loops);
        else put_message(&g, G_NODE, &n);
        put_value(&g, G_OUTPUT, i ? "z" : "y", of->dtype ? of->dtype : FLOAT,
                  of->has_input || of->loops ? 2 : 1, open);
    }
    if (of->has_input) put_value(&g, G_INPUT, "x", FLOAT, 2, open);
    put_model(m, &g, 10, 22);
}

/* Builds on another runtime have no pools of threads: there the session runs on the threads that it has. */
static dnnl_tp_onnx_session_t open_drawn(const model_t *of, int threads, uint64_t seed) {
    static bytes_t m;
    dnnl_tp_onnx_model_t model;
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_attr_t attr = NULL;
    dnnl_tp_threadpool_t pool;
    dnnl_tp_onnx_session_t session = NULL;
    const dnnl_tp_onnx_open_opts_t open = {.struct_size = sizeof open, .seed = seed};
    const dnnl_tp_threadpool_opts_t pool_opts = {.struct_size = sizeof pool_opts, .num_threads = threads};
    put_drawn(&m, of);
    CHECK_OK(dnnl_tp_onnx_open_memory(&model, m.at, m.n, &open));
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    const dnnl_tp_status_t has_pool = dnnl_tp_threadpool_create(&pool, &pool_opts);
    if (has_pool != dnnl_tp_unimplemented) {
        CHECK_OK(has_pool);
        CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
        CHECK_OK(dnnl_tp_stream_attr_set_builtin_threadpool(attr, pool));
    }
    const dnnl_tp_onnx_session_opts_t opts = {.struct_size = sizeof opts, .stream_attr = attr};
    CHECK_OK(dnnl_tp_onnx_session_create(&session, model, engine, &opts));
    if (attr) {
        (void)dnnl_tp_stream_attr_destroy(attr);
        (void)dnnl_tp_threadpool_destroy(pool);
    }
    (void)dnnl_tp_engine_destroy(engine);
    (void)dnnl_tp_onnx_close(model);
    return session;
}

/* y, and z of a second node. x: {rows, n} */
static void run_drawn(dnnl_tp_onnx_session_t s, const float *x, int64_t rows, int64_t n, void *y, void *z) {
    const dnnl_tp_tensor_info_t info = {.ndims = 2, .dims = {rows, n}, .data_type = dnnl_tp_f32};
    const dnnl_tp_onnx_arg_t arg = {&info, NULL};
    dnnl_tp_onnx_call_t call;
    CHECK_OK(dnnl_tp_onnx_session_get_call(&call, s, x ? 1 : 0, x ? &arg : NULL));
    CHECK_OK(dnnl_tp_onnx_call_run(call, (const void *[]){x}, (void *[]){y, z}, NULL));
    (void)dnnl_tp_onnx_call_destroy(call);
}

/* ---- The generator ------------------------------------------------------------------------------------------------- */

/* Counter and key of zeros; then the counter 0, 0, 1, 0. */
static void test_known_answers(void **state) {
    (void)state;
    static const uint32_t first[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    const float zero = 0;
    float y[8], z[8];
    const model_t of = {.op = "RandomUniform", .count = 7, .seed = &zero, .nodes = 2};
    dnnl_tp_onnx_session_t s = open_drawn(&of, 1, 0);
    run_drawn(s, NULL, 0, 0, y, z);
    for (int i = 0; i < 4; ++i) assert_true(y[i] == (float)(first[i] >> 8) * 0x1p-24f);
    assert_memory_equal(y, z, 7 * sizeof *y); /* equal seeds */
    run_drawn(s, NULL, 0, 0, z, y);
    assert_memory_equal(y, z, 7 * sizeof *y);
    for (int i = 0; i < 4; ++i) assert_true(y[i] != (float)(first[i] >> 8) * 0x1p-24f);
    (void)dnnl_tp_onnx_session_destroy(s);
    double d[2];
    const model_t f64 = {.op = "RandomUniform", .count = 2, .seed = &zero, .dtype = DOUBLE};
    s = open_drawn(&f64, 1, 0);
    run_drawn(s, NULL, 0, 0, d, NULL);
    for (int i = 0; i < 2; ++i)
        assert_true(d[i] == (double)(((uint64_t)first[2 * i] << 32 | first[2 * i + 1]) >> 11) * 0x1p-53);
    (void)dnnl_tp_onnx_session_destroy(s);
}

enum { MANY = 100003, RUNS = 3 };
static double drawn_1[RUNS][MANY], drawn_n[RUNS][MANY];

static void test_threads(void **state) {
    (void)state;
    static const char *const ops[] = {"RandomUniform", "RandomNormal"};
    static const int threads[] = {2, 3, 7};
    const float seed = 24;
    for (int form = 0; form < 8; ++form) {
        const model_t of = {.op = ops[form & 1],
                            .count = MANY,
                            .seed = form & 2 ? &seed : NULL,
                            .dtype = form & 4 ? DOUBLE : FLOAT};
        const size_t bytes = (form & 4 ? sizeof(double) : sizeof(float)) * MANY;
        dnnl_tp_onnx_session_t s = open_drawn(&of, 1, 7);
        for (int r = 0; r < RUNS; ++r) run_drawn(s, NULL, 0, 0, drawn_1[r], NULL);
        (void)dnnl_tp_onnx_session_destroy(s);
        for (int r = 1; r < RUNS; ++r) assert_memory_not_equal(drawn_1[0], drawn_1[r], bytes);
        for (size_t t = 0; t < sizeof threads / sizeof *threads; ++t) {
            s = open_drawn(&of, threads[t], 7);
            for (int r = 0; r < RUNS; ++r) {
                run_drawn(s, NULL, 0, 0, drawn_n[r], NULL);
                assert_memory_equal(drawn_1[r], drawn_n[r], bytes);
            }
            (void)dnnl_tp_onnx_session_destroy(s);
        }
    }
}

/* Nodes without a seed differ, and the model's seed counts; sequences go on when the shape changes. */
static void test_seeds(void **state) {
    (void)state;
    float y[3][8], z[3][8];
    const model_t two = {.op = "RandomNormal", .count = 8, .nodes = 2};
    for (uint64_t seed = 0; seed < 3; ++seed) {
        dnnl_tp_onnx_session_t s = open_drawn(&two, 1, seed);
        run_drawn(s, NULL, 0, 0, y[seed], z[seed]);
        assert_memory_not_equal(y[seed], z[seed], sizeof *y);
        (void)dnnl_tp_onnx_session_destroy(s);
    }
    assert_memory_not_equal(y[0], y[1], sizeof *y);
    assert_memory_not_equal(y[1], y[2], sizeof *y);
    const model_t like = {.op = "RandomUniformLike", .has_input = true};
    const float x[8] = {0};
    dnnl_tp_onnx_session_t s = open_drawn(&like, 1, 0);
    run_drawn(s, x, 2, 4, y[0], NULL);
    run_drawn(s, x, 4, 2, y[1], NULL);
    run_drawn(s, x, 2, 4, y[2], NULL);
    for (int i = 0; i < 3; ++i) assert_memory_not_equal(y[i], y[(i + 1) % 3], sizeof *y);
    (void)dnnl_tp_onnx_session_destroy(s);
}

/* Iterations draw numbers of their own, with a seed and without, and so does each run. */
static void test_loops(void **state) {
    (void)state;
    enum { LOOPS = 3, EACH = 8 };
    const float seed = 3;
    for (int with_seed = 0; with_seed < 2; ++with_seed) {
        float y[2 * LOOPS][EACH];
        const model_t of = {
            .op = "RandomUniform", .count = EACH, .seed = with_seed ? &seed : NULL, .loops = LOOPS};
        dnnl_tp_onnx_session_t s = open_drawn(&of, 1, 0);
        for (int run = 0; run < 2; ++run) run_drawn(s, NULL, 0, 0, y[run * LOOPS], NULL);
        for (int i = 0; i < 2 * LOOPS; ++i)
            for (int k = 0; k < i; ++k) assert_memory_not_equal(y[i], y[k], sizeof *y);
        (void)dnnl_tp_onnx_session_destroy(s);
    }
}

/* ---- Distributions ------------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static double uniform_cdf(double x) { return x; }
static double normal_cdf(double x) { return .5 * erfc(-x / sqrt(2)); }

/* The largest distance of the distributions, times sqrt(n) (Kolmogorov and Smirnov): above 2.2 once in 16,000 samples. */
static void check_distribution(double *x, double (*cdf)(double)) {
    double worst = 0, product = 0, mean = 0, square = 0;
    for (int i = 0; i < MANY; ++i) mean += x[i] / MANY;
    for (int i = 0; i + 1 < MANY; ++i) {
        product += (x[i] - mean) * (x[i + 1] - mean);
        square += (x[i] - mean) * (x[i] - mean);
    }
    assert_true(fabs(product / square) < 4 / sqrt(MANY)); /* neighbours are independent */
    qsort(x, MANY, sizeof *x, by_value);
    for (int i = 0; i < MANY; ++i) {
        const double p = cdf(x[i]), low = fabs(p - (double)i / MANY), high = fabs(p - (double)(i + 1) / MANY);
        worst = fmax(worst, fmax(low, high));
    }
    assert_true(worst * sqrt(MANY) < 2.2);
}

static void test_distributions(void **state) {
    (void)state;
    static const struct {
        const char *op, *names[2];
        float params[2];
    } rows[] = {{"RandomUniform", {NULL, NULL}, {0, 1}},
                {"RandomUniform", {"low", "high"}, {-3, 5}},
                {"RandomNormal", {NULL, NULL}, {0, 1}},
                {"RandomNormal", {"mean", "scale"}, {10, .5f}}};
    const float seed = 1.5f;
    for (int form = 0; form < 8; ++form) {
        const int row = form / 2;
        const bool is_f64 = form & 1;
        const model_t of = {.op = rows[row].op,
                            .count = MANY,
                            .seed = &seed,
                            .dtype = is_f64 ? DOUBLE : FLOAT,
                            .names = {rows[row].names[0], rows[row].names[1]},
                            .params = {rows[row].params[0], rows[row].params[1]}};
        dnnl_tp_onnx_session_t s = open_drawn(&of, 1, 0);
        run_drawn(s, NULL, 0, 0, drawn_1[0], NULL);
        (void)dnnl_tp_onnx_session_destroy(s);
        const bool is_normal = row >= 2;
        const double a = (double)rows[row].params[0],
                     b = is_normal ? (double)rows[row].params[1] : (double)rows[row].params[1] - a;
        for (int i = 0; i < MANY; ++i) {
            const double x = is_f64 ? drawn_1[0][i] : (double)((const float *)drawn_1[0])[i];
            drawn_n[0][i] = (x - a) / b;
            if (!is_normal) assert_true(drawn_n[0][i] >= 0 && drawn_n[0][i] < 1);
        }
        check_distribution(drawn_n[0], is_normal ? normal_cdf : uniform_cdf);
    }
}

/* Eight numbers between the ends are all that f32 has there; the upper end is none of them. */
static void test_narrow_range(void **state) {
    (void)state;
    enum { STEPS = 8 };
    static float y[MANY];
    const float low = 0x1p26f, high = low + 8 * STEPS;
    const model_t of = {
        .op = "RandomUniform", .count = MANY, .names = {"low", "high"}, .params = {low, high}};
    dnnl_tp_onnx_session_t s = open_drawn(&of, 1, 0);
    run_drawn(s, NULL, 0, 0, y, NULL);
    int counts[STEPS] = {0};
    for (int i = 0; i < MANY; ++i) {
        assert_true(y[i] >= low && y[i] < high);
        ++counts[(int)(y[i] - low) / 8];
    }
    for (int i = 0; i < STEPS; ++i) assert_true(counts[i] > MANY / 32);
    (void)dnnl_tp_onnx_session_destroy(s);
}

static void near(double share, double p, double n) {
    assert_true(fabs(share - p) <= 4 * sqrt(p * (1 - p) / n));
}

static void test_choices(void **state) {
    (void)state;
    enum { ROWS = 2, CLASSES = 4, SAMPLES = 40000 };
    static const double p[ROWS][CLASSES] = {{.1, .2, 0, .7}, {0, 0, 1, 0}};
    static int32_t chosen[ROWS][SAMPLES];
    static float x[MANY];
    static uint8_t y[MANY];
    float logits[ROWS * CLASSES];
    for (int i = 0; i < ROWS * CLASSES; ++i) logits[i] = logf((float)p[i / CLASSES][i % CLASSES]) + 20;
    const model_t of = {.op = "Multinomial", .has_input = true, .count = SAMPLES, .dtype = INT32};
    dnnl_tp_onnx_session_t s = open_drawn(&of, 2, 0);
    run_drawn(s, logits, ROWS, CLASSES, chosen, NULL);
    for (int r = 0; r < ROWS; ++r) {
        int counts[CLASSES] = {0};
        for (int i = 0; i < SAMPLES; ++i) {
            assert_in_range(chosen[r][i], 0, CLASSES - 1);
            ++counts[chosen[r][i]];
        }
        for (int k = 0; k < CLASSES; ++k) near((double)counts[k] / SAMPLES, p[r][k], SAMPLES);
    }
    (void)dnnl_tp_onnx_session_destroy(s);
    static const float ps[] = {0, .25f, .9f, 1};
    const model_t coin = {.op = "Bernoulli", .has_input = true, .dtype = BOOL};
    s = open_drawn(&coin, 2, 0);
    for (int k = 0; k < 4; ++k) {
        int count = 0;
        for (int i = 0; i < MANY; ++i) x[i] = ps[k];
        run_drawn(s, x, 1, MANY, y, NULL);
        for (int i = 0; i < MANY; ++i) count += y[i];
        near((double)count / MANY, (double)ps[k], MANY);
    }
    (void)dnnl_tp_onnx_session_destroy(s);
}

/* ---- Refusals ------------------------------------------------------------------------------------------------------ */

static void test_refusals(void **state) {
    (void)state;
    static bytes_t m;
    put_drawn(&m, &(model_t){.op = "RandomUniform"});
    refused(&m, dnnl_tp_invalid_graph_op, "its attribute 'shape' has -1 elements");
    put_drawn(&m, &(model_t){.op = "RandomNormal", .count = -1});
    refused(&m, dnnl_tp_invalid_shape, "it has a dimension of -1");
    put_drawn(&m, &(model_t){.op = "RandomNormal", .count = INT64_MAX / 4});
    refused(&m, dnnl_tp_invalid_shape, "its result is too large");
    put_drawn(&m, &(model_t){.op = "RandomNormal", .count = 3, .dtype = INT32});
    refused(&m, dnnl_tp_invalid_graph_op, "it draws numbers of type s32");
    put_drawn(&m, &(model_t){.op = "RandomNormal", .count = 3});
    assert_true(fails_by_allocation(import_and_destroy, &m, false) > 5);
    put_drawn(&m, &(model_t){.op = "RandomUniform", .count = 3, .dtype = FLOAT16});
    dnnl_tp_graph_t graph;
    CHECK_OK(import_with(&m, NULL, NULL, &graph));
    (void)dnnl_tp_graph_destroy(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_seeds),         cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_narrow_range),  cmocka_unit_test(test_choices),
        cmocka_unit_test(test_loops),         cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
