/* The importer on models with If, Loop and Scan that are made here; tests/onnx/loops.py has more of them. */
#include <string.h>

#include "writing.h"

/* y = c ? x + w : relu(x) */
static void put_if(bytes_t *g, const char *other) {
    static bytes_t n, b[2];
    n.n = b[0].n = b[1].n = 0;
    put_node(&b[0], "Add", "", "x", "w", "then");
    put_value(&b[0], G_OUTPUT, "then", FLOAT, 1, four);
    put_node(&b[1], other, "", "x", NULL, "else");
    put_value(&b[1], G_OUTPUT, "else", FLOAT, 1, four);
    put_text(&n, N_INPUT, "c");
    put_text(&n, N_OUTPUT, "y");
    put_text(&n, N_OP, "If");
    put_graph_attr(&n, "then_branch", &b[0]);
    put_graph_attr(&n, "else_branch", &b[1]);
    put_message(g, G_NODE, &n);
    put_raw(g, "w", FLOAT, 1, four, one_to_four, sizeof one_to_four);
    put_value(g, G_INPUT, "x", FLOAT, 1, four);
    put_value(g, G_OUTPUT, "y", FLOAT, 1, four);
}

static void test_if(void **state) {
    (void)state;
    static bytes_t m, g;
    const dnnl_tp_tensor_info_t shape = {.ndims = 1, .dims = {4}, .data_type = dnnl_tp_f32};
    const dnnl_tp_onnx_value_t x = {"x", shape, one_to_four};
    const dnnl_tp_onnx_graph_opts_t opts = {.struct_size = sizeof opts, .nvalues = 1, .values = &x};
    const dnnl_tp_tensor_info_t one = {.data_type = dnnl_tp_boolean};
    for (int which = 0; which < 2; ++which) {
        const uint8_t c = which == 0;
        g.n = 0;
        put_if(&g, "Relu");
        put_value(&g, G_INPUT, "c", BOOL, 0, NULL);
        put_model(&m, &g, 8, 17);
        runs(&m, NULL, &opts, (const float *)(const void *)(const uint8_t[sizeof(float)]){c},
             which ? one_to_four : doubled, 4);
        /* Known: the other branch is not looked at. */
        const dnnl_tp_onnx_value_t known = {"c", one, &c};
        const dnnl_tp_onnx_graph_opts_t with = {.struct_size = sizeof with, .nvalues = 1, .values = &known};
        g.n = 0;
        put_if(&g, which ? "Relu" : "Nonsense");
        put_value(&g, G_INPUT, "c", BOOL, 0, NULL);
        put_model(&m, &g, 8, 17);
        runs(&m, NULL, &with, one_to_four, which ? one_to_four : doubled, 4);
    }
    g.n = 0;
    put_if(&g, "Nonsense");
    put_value(&g, G_INPUT, "c", BOOL, 0, NULL);
    put_model(&m, &g, 8, 17);
    refused(&m, dnnl_tp_unimplemented, "node of 'else' (Nonsense): this operator is not implemented");
}

/* ---- Loop ----------------------------------------------------------------------------------------------------- */

static void put_body(bytes_t *b, const char *op, const char *go, bool collects) {
    b->n = 0;
    put_node(b, op, "", "v", "w", "next");
    put_node(b, "ReduceMax", "", "next", NULL, "peak");
    put_node(b, "Less", "", "peak", "limit", "computed");
    put_value(b, G_INPUT, "i", INT64, 0, NULL);
    put_value(b, G_INPUT, "go", BOOL, 0, NULL);
    put_value(b, G_INPUT, "v", FLOAT, 1, four);
    put_value(b, G_OUTPUT, go, BOOL, 0, NULL);
    put_value(b, G_OUTPUT, "next", FLOAT, 1, four);
    if (collects) put_value(b, G_OUTPUT, "next", FLOAT, 1, four);
}

/* v = x; count times, while it goes on: v = op(v, w), v is noted; it goes on while the largest element of v is below limit. */
typedef struct {
    const char *op;
    const char *go; /* what says in the body that it goes on: "go" = what said so before */
    bool tests;     /* is there a condition before the first iteration? */
    const int64_t *count;
    bool collects; /* y is what was noted, not the last v */
    float limit;
} loop_t;

static void put_loop(bytes_t *m, const loop_t *l) {
    static bytes_t g, n, b;
    g.n = n.n = 0;
    put_body(&b, l->op, l->go, l->collects);
    put_node(&g, "ReduceMax", "", "x", NULL, "largest");
    put_node(&g, "Less", "", "largest", "limit", "starts");
    put_text(&n, N_INPUT, l->count ? "count" : "");
    put_text(&n, N_INPUT, l->tests ? "starts" : "");
    put_text(&n, N_INPUT, "x");
    put_text(&n, N_OUTPUT, l->collects ? "last" : "y");
    if (l->collects) put_text(&n, N_OUTPUT, "y");
    put_text(&n, N_OP, "Loop");
    put_graph_attr(&n, "body", &b);
    put_message(&g, G_NODE, &n);
    put_raw(&g, "w", FLOAT, 1, four, one_to_four, sizeof one_to_four);
    put_raw(&g, "limit", FLOAT, 0, NULL, &l->limit, sizeof l->limit);
    if (l->count) put_raw(&g, "count", INT64, 0, NULL, l->count, sizeof *l->count);
    put_value(&g, G_INPUT, "x", FLOAT, 1, four);
    put_value(&g, G_OUTPUT, "y", FLOAT, l->collects ? 2 : 1,
              l->collects && l->count ? (const int64_t[]){*l->count, 4} : four);
    put_model(m, &g, 8, 17);
}

static void test_loop(void **state) {
    (void)state;
    static bytes_t m;
    const int64_t ten = 10, none = 0, many = 100000;
    float want[40];
    for (int i = 0; i < 40; ++i) want[i] = one_to_four[i % 4] * (float)(i / 4 + 2);
    put_loop(&m, &(loop_t){"Add", "go", .count = &ten, .collects = true});
    runs(&m, NULL, NULL, one_to_four, want, 40);
    put_loop(&m, &(loop_t){"Add", "go", .count = &none});
    runs(&m, NULL, NULL, one_to_four, one_to_four, 4);
    put_loop(&m, &(loop_t){"Add", "go", .count = &none, .collects = true});
    runs(&m, NULL, NULL, one_to_four, want, 0);
    /* More iterations than may be unrolled. */
    for (int i = 0; i < 4; ++i) want[i] = (float)(i + 1) * (float)(many + 1);
    put_loop(&m, &(loop_t){"Add", "go", .count = &many});
    runs(&m, NULL, NULL, one_to_four, want, 4);
}

/* What is computed says when it ends: an iteration later than the condition in front. */
static void test_while(void **state) {
    (void)state;
    static bytes_t m;
    static const struct {
        bool tests;
        int64_t count; /* below 0: none */
        float limit, times;
    } rows[] = {{true, -1, 17, 5}, {true, -1, 16, 4},  {true, -1, 4, 1},
                {true, -1, -1, 1}, {false, -1, 17, 5}, {false, -1, 4, 2},
                {true, 3, 17, 4},  {true, 100, 17, 5}, {false, 0, 17, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        put_loop(&m, &(loop_t){"Add", "computed", rows[i].tests, rows[i].count < 0 ? NULL : &rows[i].count,
                               .limit = rows[i].limit});
        float want[4];
        for (int k = 0; k < 4; ++k) want[k] = one_to_four[k] * rows[i].times;
        runs(&m, NULL, NULL, one_to_four, want, 4);
    }
}

static void test_loops_refused(void **state) {
    (void)state;
    static bytes_t m;
    const int64_t ten = 10, endless = INT64_MAX, huge = (int64_t)1 << 40;
    put_loop(&m, &(loop_t){"Add", "computed", .count = &ten, .collects = true});
    refused(&m, dnnl_tp_unimplemented, "node of 'last' (Loop): only a run knows its number of iterations");
    put_loop(&m, &(loop_t){"Add", "go", .count = &endless, .collects = true});
    refused(&m, dnnl_tp_unimplemented, "node of 'last' (Loop): only a run knows its number of iterations");
    put_loop(&m, &(loop_t){"Add", "go", .count = &huge, .collects = true});
    refused(&m, dnnl_tp_invalid_graph, "node of 'last' (Loop): a constant is too large");
    put_loop(&m, &(loop_t){"Add", .go = "go"});
    refused(&m, dnnl_tp_invalid_graph, "node of 'y' (Loop): it never ends");
    put_loop(&m, &(loop_t){"MatMul", "computed", .limit = 100});
    refused(&m, dnnl_tp_unimplemented, "node of 'y' (Loop): its variable 'next' gets another shape or type");
    put_loop(&m, &(loop_t){"Add", "next", .limit = 100});
    refused(&m, dnnl_tp_invalid_data_type, "node of 'y' (Loop): the condition of its body is no boolean");
}

/* While a While is made. */
static void test_out_of_memory(void **state) {
    (void)state;
    static bytes_t m;
    put_loop(&m, &(loop_t){"Add", "computed", .tests = true, .limit = 17});
    assert_true(fails_by_allocation(import_and_destroy, &m, false) > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_if),
        cmocka_unit_test(test_loop),
        cmocka_unit_test(test_while),
        cmocka_unit_test(test_loops_refused),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
