/* Models in parts (dnnl_tp_onnx_session_run): sizes that come from data, in one run and in many at once, refusals, memory. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sessions.h"

enum { N = 9, PLACES = 2 * N, THREADS = 4, ROUNDS = 200 };

/* r = Relu(x), x {2, n}; p = NonZero(r); t = Transpose(p); y = GatherND(r, t); z = y + y; outputs: z, p, r. */
static void positive(bytes_t *m) {
    static const int64_t places[2] = {2, -1}, some[1] = {-1};
    bytes_t g = {.n = 0};
    put_node(&g, "Relu", "", "x", NULL, "r");
    put_node(&g, "NonZero", "", "r", NULL, "p");
    put_node(&g, "Transpose", "", "p", NULL, "t");
    put_node(&g, "GatherND", "", "r", "t", "y");
    put_node(&g, "Add", "", "y", "y", "z");
    put_value(&g, G_INPUT, "x", FLOAT, 2, two_by_n);
    put_value(&g, G_OUTPUT, "z", FLOAT, 1, some);
    put_value(&g, G_OUTPUT, "p", INT64, 2, places);
    put_value(&g, G_OUTPUT, "r", FLOAT, 2, two_by_n);
    m->n = 0;
    put_model(m, &g, 8, 17);
}

/* The same, p and y made by the branch of an If whose condition a run computes: m = Max(x), c = m == m. */
static void in_branch(bytes_t *m) {
    static const int64_t places[2] = {2, -1}, some[1] = {-1};
    static bytes_t g, branch, n;
    g.n = branch.n = n.n = m->n = 0;
    put_node(&branch, "NonZero", "", "r", NULL, "bp");
    put_node(&branch, "Transpose", "", "bp", NULL, "t");
    put_node(&branch, "GatherND", "", "r", "t", "by");
    put_value(&branch, G_OUTPUT, "bp", INT64, 2, places);
    put_value(&branch, G_OUTPUT, "by", FLOAT, 1, some);
    put_text(&n, N_INPUT, "c");
    put_text(&n, N_OUTPUT, "p");
    put_text(&n, N_OUTPUT, "y");
    put_text(&n, N_OP, "If");
    put_graph_attr(&n, "then_branch", &branch);
    put_graph_attr(&n, "else_branch", &branch);
    put_node(&g, "Relu", "", "x", NULL, "r");
    put_node(&g, "ReduceMax", "", "x", NULL, "m");
    put_node(&g, "Equal", "", "m", "m", "c");
    put_message(&g, G_NODE, &n);
    put_node(&g, "Add", "", "y", "y", "z");
    put_value(&g, G_INPUT, "x", FLOAT, 2, two_by_n);
    put_value(&g, G_OUTPUT, "z", FLOAT, 1, some);
    put_value(&g, G_OUTPUT, "p", INT64, 2, places);
    put_value(&g, G_OUTPUT, "r", FLOAT, 2, two_by_n);
    put_model(m, &g, 8, 17);
}

static dnnl_tp_onnx_session_t open_calls(const bytes_t *m, int max_calls) {
    const dnnl_tp_onnx_session_opts_t opts = {.struct_size = sizeof opts, .max_calls = max_calls};
    return open_session(m, &opts);
}

typedef struct {
    float z[2 * PLACES], r[PLACES];
    int64_t p[2 * PLACES];
    dnnl_tp_tensor_info_t info[3];
    int asked, without; /* rooms that were asked for; no room for this one, -1: for all */
} results_t;

static void *room(void *ctx, int index, const dnnl_tp_tensor_info_t *info) {
    results_t *r = ctx;
    void *const to[] = {r->z, r->p, r->r};
    r->asked += index == r->asked;
    r->info[index] = *info;
    return index == r->without ? NULL : to[index];
}

/* Of 2 n elements those whose bit is set are positive. */
static dnnl_tp_status_t run(dnnl_tp_onnx_session_t s, int64_t n, unsigned bits, results_t *r) {
    const dnnl_tp_tensor_info_t shape = {.ndims = 2, .dims = {2, n}, .data_type = dnnl_tp_f32};
    float x[PLACES];
    const dnnl_tp_onnx_arg_t arg = {&shape, x};
    for (int64_t i = 0; i < 2 * n; ++i) x[i] = (float)(i + 1) * (bits >> i & 1 ? 1.f : -1.f);
    r->asked = 0;
    return dnnl_tp_onnx_session_run(s, 1, &arg, room, r, NULL);
}

static bool is_right(int64_t n, unsigned bits, const results_t *r) {
    int64_t k = 0;
    bool same = true;
    for (int64_t i = 0; i < 2 * n; ++i) {
        same &= r->r[i] == (bits >> i & 1 ? (float)(i + 1) : 0.f);
        if (!(bits >> i & 1)) continue;
        const int64_t count = r->info[1].dims[1];
        same = same && k < count && r->z[k] == (float)(2 * i + 2) && r->p[k] == i / n &&
               r->p[count + k] == i % n;
        ++k;
    }
    return same && r->asked == 3 && r->info[0].ndims == 1 && r->info[0].dims[0] == k &&
           r->info[1].dims[0] == 2 && r->info[1].dims[1] == k && r->info[1].data_type == dnnl_tp_s64;
}

static void test_sizes(void **state) {
    (void)state;
    static bytes_t m;
    results_t r = {.without = -1};
    positive(&m);
    for (int max_calls = 1; max_calls < 100; max_calls += 98) {
        dnnl_tp_onnx_session_t s = open_calls(&m, max_calls);
        for (unsigned bits = 0; bits < 1u << PLACES; bits += 9173)
            for (int64_t n = 0; n <= N; n += 3) {
                CHECK_OK(run(s, n, bits, &r));
                assert_true(is_right(n, bits & ((1u << 2 * n) - 1), &r));
            }
        dnnl_tp_onnx_session_stats_t stats = {.struct_size = sizeof stats};
        CHECK_OK(dnnl_tp_onnx_session_query(s, &stats));
        /* A first part for each n, and a last one for each n and number of places: not one for each run. */
        if (max_calls > 1) assert_in_range(stats.compilations, 4, 4 + 1 + 6 + 12 + PLACES + 4);
        dnnl_tp_onnx_session_destroy(s);
    }
}

/* y = ConstantOfShape(the second row of NonZero(x)), x {2, n}: a part for each set of elements. */
static void by_elements(bytes_t *m) {
    static const int64_t some[] = {-1}, one[] = {1}, row = 1;
    bytes_t g = {.n = 0};
    put_node(&g, "NonZero", "", "x", NULL, "p");
    put_node(&g, "Gather", "", "p", "row", "r");
    put_node(&g, "Reshape", "", "r", "flat", "s");
    put_node(&g, "ConstantOfShape", "", "s", NULL, "y");
    put_raw(&g, "row", INT64, 0, NULL, &row, sizeof row);
    put_raw(&g, "flat", INT64, 1, one, &(int64_t){-1}, sizeof(int64_t));
    put_value(&g, G_INPUT, "x", FLOAT, 2, two_by_n);
    put_value(&g, G_OUTPUT, "y", FLOAT, 1, some);
    m->n = 0;
    put_model(m, &g, 8, 17);
}

static void test_elements(void **state) {
    (void)state;
    static bytes_t m;
    results_t r = {.without = -1};
    by_elements(&m);
    dnnl_tp_onnx_session_t s = open_calls(&m, 100);
    for (int round = 0; round < 2; ++round)
        for (int64_t at = 0; at < 5; ++at) {
            const dnnl_tp_tensor_info_t shape = {.ndims = 2, .dims = {2, 5}, .data_type = dnnl_tp_f32};
            float x[10] = {0};
            const dnnl_tp_onnx_arg_t arg = {&shape, x};
            x[at + round * 5] = 3.f;
            r.asked = 0;
            CHECK_OK(dnnl_tp_onnx_session_run(s, 1, &arg, room, &r, NULL));
            assert_int_equal(r.info[0].ndims, 1);
            assert_int_equal(r.info[0].dims[0], at);
        }
    dnnl_tp_onnx_session_destroy(s);
}

/* Boxes that share half of the larger one, which is the limit, stay; those that share more go, the later one first. */
static void test_suppression(void **state) {
    (void)state;
    static const int64_t boxes[] = {1, 4, 4}, scores[] = {1, 1, 4}, none[] = {0}, places[] = {-1, 3},
                         most = 9;
    static const float limit = .5f, box[16] = {0, 0, 1, 1, 0, 0, 1, .5f, 1, 1, .1f, 0, 0, 0, 0, 0},
                       score[4] = {.9f, .9f, .8f, .7f};
    static const char *const inputs[] = {"b", "s", "most", "limit"};
    static bytes_t m;
    bytes_t g = {.n = 0}, n = {.n = 0};
    results_t r = {.without = -1};
    for (int i = 0; i < 4; ++i) put_text(&n, N_INPUT, inputs[i]);
    put_text(&n, N_OUTPUT, "y");
    put_text(&n, N_OP, "NonMaxSuppression");
    put_message(&g, G_NODE, &n);
    put_raw(&g, "most", INT64, 0, none, &most, sizeof most);
    put_raw(&g, "limit", FLOAT, 0, none, &limit, sizeof limit);
    put_value(&g, G_INPUT, "b", FLOAT, 3, boxes);
    put_value(&g, G_INPUT, "s", FLOAT, 3, scores);
    put_value(&g, G_OUTPUT, "y", INT64, 2, places);
    put_model(&m, &g, 8, 17);
    dnnl_tp_onnx_session_t s = open_calls(&m, 0);
    const dnnl_tp_tensor_info_t b = {.ndims = 3, .dims = {1, 4, 4}, .data_type = dnnl_tp_f32},
                                c = {.ndims = 3, .dims = {1, 1, 4}, .data_type = dnnl_tp_f32};
    const dnnl_tp_onnx_arg_t args[] = {{&b, box}, {&c, score}};
    int64_t y[12];
    CHECK_OK(dnnl_tp_onnx_session_run(s, 2, args, room, &r, NULL));
    memcpy(y, r.z, sizeof y); /* what comes first is the room of output 0 */
    assert_int_equal(r.info[0].dims[0], 3);
    for (int i = 0; i < 3; ++i) assert_int_equal(y[3 * i + 2], i == 2 ? 3 : i);
    dnnl_tp_onnx_session_destroy(s);
}

/* Nodes pass an input, and what an earlier part made, on under other names. */
static void test_names(void **state) {
    (void)state;
    static const int64_t some[] = {2, -1};
    static bytes_t m;
    bytes_t g = {.n = 0};
    results_t r = {.without = -1};
    put_node(&g, "Identity", "", "x", NULL, "x2");
    put_node(&g, "NonZero", "", "x2", NULL, "p");
    put_node(&g, "Identity", "", "p", NULL, "p2");
    put_node(&g, "NonZero", "", "p2", NULL, "q");
    put_node(&g, "Identity", "", "p2", NULL, "p3");
    put_value(&g, G_INPUT, "x", FLOAT, 2, two_by_n);
    put_value(&g, G_OUTPUT, "q", INT64, 2, some);
    put_value(&g, G_OUTPUT, "p3", INT64, 2, some);
    put_value(&g, G_OUTPUT, "x2", FLOAT, 2, two_by_n);
    put_model(&m, &g, 8, 17);
    dnnl_tp_onnx_session_t s = open_calls(&m, 0);
    CHECK_OK(run(s, 3, 63, &r));
    assert_int_equal(r.info[1].dims[1], 6);
    assert_int_equal(r.info[0].dims[1], 7); /* of rows 0 0 0 1 1 1 and columns 0 1 2 0 1 2 */
    for (int i = 0; i < 6; ++i)
        assert_true(r.r[i] == (float)(i + 1) && r.p[i] == i / 3 && r.p[6 + i] == i % 3);
    dnnl_tp_onnx_session_destroy(s);
}

/* Nodes that are wrong are refused, and do not end a part again and again. */
static void test_wrong_nodes(void **state) {
    (void)state;
    static const struct {
        const char *op, *in[2], *out[2];
    } nodes[] = {{"NonZero", {"", "r"}, {"z", NULL}},
                 {"NonZero", {"r", NULL}, {"z", "more"}},
                 {"NonZero", {"r", "r"}, {"z", NULL}},
                 {"Compress", {"r", "r"}, {"z", NULL}},
                 {"Compress", {"", "r"}, {"z", NULL}},
                 {"NonMaxSuppression", {"r", NULL}, {"z", NULL}},
                 {"NonMaxSuppression", {"r", "r"}, {"z", NULL}},
                 {"NonZero", {"r", NULL}, {NULL, NULL}},
                 {"NonZero", {"r", NULL}, {"", NULL}}};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; ++i) {
        static bytes_t m;
        static const int64_t some[] = {-1};
        bytes_t g = {.n = 0}, n = {.n = 0};
        results_t r = {.without = -1};
        put_node(&g, "Relu", "", "x", NULL, "r");
        for (int k = 0; k < 2; ++k) {
            if (nodes[i].in[k]) put_text(&n, N_INPUT, nodes[i].in[k]);
            if (nodes[i].out[k]) put_text(&n, N_OUTPUT, nodes[i].out[k]);
        }
        put_text(&n, N_OP, nodes[i].op);
        put_message(&g, G_NODE, &n);
        put_value(&g, G_INPUT, "x", FLOAT, 2, two_by_n);
        put_value(&g, G_OUTPUT, "z", i < 3 ? INT64 : FLOAT, 1, some);
        m.n = 0;
        put_model(&m, &g, 8, 17);
        dnnl_tp_onnx_session_t s = open_calls(&m, 0);
        const dnnl_tp_status_t status = run(s, 3, 21, &r);
        print_message("%s %zu: %s\n", nodes[i].op, i, dnnl_tp_last_error());
        assert_true(status != dnnl_tp_success && status != dnnl_tp_runtime_error);
        dnnl_tp_onnx_session_destroy(s);
    }
}

static void test_refusals(void **state) {
    (void)state;
    static bytes_t m;
    results_t r = {.without = 1};
    const dnnl_tp_tensor_info_t shape = {.ndims = 2, .dims = {2, 2}, .data_type = dnnl_tp_f32};
    const dnnl_tp_onnx_arg_t no_data = {&shape, NULL}, missing = {NULL, NULL}, full = {&shape, r.r};
    dnnl_tp_onnx_call_t call;
    positive(&m);
    dnnl_tp_onnx_session_t s = open_calls(&m, 0);
    assert_int_equal(dnnl_tp_onnx_session_run(s, 1, &no_data, room, &r, NULL), dnnl_tp_invalid_arguments);
    assert_int_equal(dnnl_tp_onnx_session_run(s, 1, &missing, room, &r, NULL), dnnl_tp_invalid_arguments);
    assert_int_equal(dnnl_tp_onnx_session_run(s, 2, &full, room, &r, NULL), dnnl_tp_invalid_arguments);
    assert_int_equal(dnnl_tp_onnx_session_run(s, 1, NULL, room, &r, NULL), dnnl_tp_invalid_arguments);
    assert_int_equal(dnnl_tp_onnx_session_run(s, 1, &full, NULL, &r, NULL), dnnl_tp_invalid_arguments);
    assert_int_equal(dnnl_tp_onnx_session_run(NULL, 1, &full, room, &r, NULL), dnnl_tp_invalid_arguments);
    assert_int_equal(dnnl_tp_onnx_session_get_call(&call, s, 1, &full), dnnl_tp_unimplemented);
    assert_non_null(strstr(dnnl_tp_last_error(), "only a run knows"));
    assert_int_equal(run(s, N, 5, &r), dnnl_tp_out_of_memory);
    assert_non_null(strstr(dnnl_tp_last_error(), "no room for output 1"));
    r.without = -1;
    CHECK_OK(run(s, N, 5, &r));
    assert_true(is_right(N, 5, &r));
    dnnl_tp_onnx_session_destroy(s);
}

/* An ordinary model: the same as a call. */
static void test_whole(void **state) {
    (void)state;
    static bytes_t m;
    small(&m, "Add", "w", 8, 17);
    float y[4] = {0};
    results_t r = {.without = -1};
    const dnnl_tp_tensor_info_t shape = {.ndims = 1, .dims = {4}, .data_type = dnnl_tp_f32};
    const dnnl_tp_onnx_arg_t arg = {&shape, one_to_four};
    dnnl_tp_onnx_session_t s = open_calls(&m, 0);
    CHECK_OK(dnnl_tp_onnx_session_run(s, 1, &arg, room, &r, NULL));
    memcpy(y, r.z, sizeof y);
    assert_memory_equal(y, doubled, sizeof y);
    dnnl_tp_onnx_session_destroy(s);
}

static void *many(void *session) {
    results_t r = {.without = -1};
    for (unsigned i = 0; i < ROUNDS; ++i) {
        const unsigned bits = i * 40503u & ((1u << PLACES) - 1);
        if (run(session, N, bits, &r) || !is_right(N, bits, &r)) return session;
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    static bytes_t m;
    pthread_t threads[THREADS];
    positive(&m);
    dnnl_tp_onnx_session_t s = open_calls(&m, 3); /* parts are dropped while others run them */
    for (int i = 0; i < THREADS; ++i) assert_int_equal(pthread_create(&threads[i], NULL, many, s), 0);
    for (int i = 0; i < THREADS; ++i) {
        void *failed = s;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    dnnl_tp_onnx_session_destroy(s);
}

static dnnl_tp_status_t run_once(const bytes_t *m) {
    dnnl_tp_onnx_model_t model;
    dnnl_tp_engine_t engine = NULL;
    dnnl_tp_onnx_session_t s = NULL;
    results_t r = {.without = -1};
    dnnl_tp_status_t status = dnnl_tp_onnx_open_memory(&model, m->at, m->n, NULL);
    if (status) return status;
    status = dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0);
    if (!status) status = dnnl_tp_onnx_session_create(&s, model, engine, NULL);
    if (!status) status = run(s, 3, 21, &r);
    if (!status && !is_right(3, 21, &r)) status = dnnl_tp_runtime_error;
    dnnl_tp_onnx_session_destroy(s);
    dnnl_tp_engine_destroy(engine);
    dnnl_tp_onnx_close(model);
    return status;
}

static void test_out_of_memory(void **state) {
    (void)state;
    static bytes_t m;
    positive(&m);
    assert_in_range(fails_by_allocation(run_once, &m, true), 10, 100000);
    in_branch(&m);
    assert_in_range(fails_by_allocation(run_once, &m, true), 10, 100000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),         cmocka_unit_test(test_elements),
        cmocka_unit_test(test_suppression),   cmocka_unit_test(test_names),
        cmocka_unit_test(test_wrong_nodes),   cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_whole),         cmocka_unit_test(test_threads),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
