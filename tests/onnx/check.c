/* What of a model can never run is said when it is opened, all of it at once; and nothing else is refused there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "writing.h"

static void put_ends(bytes_t *g) {
    put_value(g, G_INPUT, "x", FLOAT, 1, four);
    put_value(g, G_OUTPUT, "y", FLOAT, 1, four);
}

/* A node of a domain whose result is `out`. */
static void put_foreign(bytes_t *g, const char *op, const char *domain, const char *name, const char *out) {
    bytes_t n = {.n = 0};
    put_text(&n, N_INPUT, "x");
    put_text(&n, N_OUTPUT, out);
    put_text(&n, N_OP, op);
    put_text(&n, N_NAME, name);
    put_text(&n, N_DOMAIN, domain);
    put_message(g, G_NODE, &n);
}

static void put_import(bytes_t *m, const char *domain, uint64_t version) {
    bytes_t o = {.n = 0};
    put_text(&o, 1, domain);
    put_int(&o, 2, version);
    put_message(m, M_OPSET, &o);
}

static void opens(const bytes_t *m) {
    dnnl_tp_onnx_model_t model;
    if (dnnl_tp_onnx_open_memory(&model, m->at, m->n, NULL)) fail_msg("%s", dnnl_tp_last_error());
    assert_int_equal(dnnl_tp_onnx_close(model), dnnl_tp_success);
}

/* The model is not opened, and the text is this one. */
static void closed(const bytes_t *m, const dnnl_tp_onnx_open_opts_t *open, dnnl_tp_status_t wanted,
                   const char *text) {
    dnnl_tp_onnx_model_t model;
    const dnnl_tp_status_t status = dnnl_tp_onnx_open_memory(&model, m->at, m->n, open);
    if (status != wanted || strcmp(dnnl_tp_last_error(), text) != 0)
        fail_msg("status %d: %s\nwanted %d: %s", (int)status, dnnl_tp_last_error(), (int)wanted, text);
    assert_null(model);
}

static void test_all_nodes(void **state) {
    (void)state;
    static bytes_t m;
    bytes_t g = {.n = 0};
    put_node(&g, "Relu", "good", "x", NULL, "y");
    put_node(&g, "Foo", "a", "x", NULL, "1");
    put_node(&g, "Bar", "", "x", NULL, "2");
    put_node(&g, "Foo", "b", "x", NULL, "3");
    put_node(&g, "Swish", "late", "x", NULL, "4"); /* of version 24 */
    put_foreign(&g, "Foo", "far.away", "c", "5");
    put_foreign(&g, "Relu", "nowhere", "d", "6");
    put_foreign(&g, "Relu", "ai.onnx", "e", "7");
    put_foreign(&g, "Relu", "ai.onnx.ml", "f", "8"); /* names of one domain mean nothing in another */
    put_ends(&g);
    put_value(&g, G_INPUT, "s", STRING, 1, four);
    put_model(&m, &g, 8, 17);
    put_import(&m, "far.away", 3);
    put_import(&m, "ai.onnx.ml", 3);
    closed(&m, NULL, dnnl_tp_unimplemented,
           "onnx: input 's' of type STRING: graphs do not carry its type; "
           "node 'a' (Foo) and 1 more, node of '2' (Bar), node 'late' (Swish): "
           "this operator is not implemented in version 17; "
           "node 'c' (Foo): operators of the domain 'far.away' (version 3) are not known; "
           "node 'd' (Relu): the model does not import the domain 'nowhere'; "
           "node 'f' (Relu): this operator of the domain 'ai.onnx.ml' is not implemented in version 3");
    /* As many kinds as a text does not hold, with long names. */
    g.n = 0;
    put_ends(&g);
    for (int i = 0; i < 100; ++i) {
        char op[64], name[128];
        (void)snprintf(op, sizeof op, "Operator%d", i);
        (void)snprintf(name, sizeof name, "%0100d", i);
        put_node(&g, op, name, "x", NULL, name);
    }
    put_model(&m, &g, 8, 17);
    dnnl_tp_onnx_model_t model;
    assert_int_equal(dnnl_tp_onnx_open_memory(&model, m.at, m.n, NULL), dnnl_tp_unimplemented);
    assert_non_null(strstr(dnnl_tp_last_error(), "(Operator5): this operator is not implemented"));
    assert_non_null(strstr(dnnl_tp_last_error(), "; and 94 more that cannot run"));
}

typedef struct {
    char text[4096];
    int n;
} told_t;

static void tell(void *ctx, const dnnl_tp_onnx_problem_t *p) {
    told_t *told = ctx;
    ++told->n;
    (void)snprintf(told->text + strlen(told->text), sizeof told->text - strlen(told->text),
                   "%s|%s|%s|%s|%d %d\n", p->kind, p->name, p->op ? p->op : "-", p->why, p->count,
                   (int)p->status);
}

/* Each problem is reported by itself, also those that the text has no room for. */
static void test_report(void **state) {
    (void)state;
    static bytes_t m;
    bytes_t g = {.n = 0};
    put_node(&g, "Foo", "a", "x", NULL, "1");
    put_node(&g, "Bar", "", "x", NULL, "2");
    put_node(&g, "Foo", "b", "x", NULL, "3");
    put_ends(&g);
    put_value(&g, G_INPUT, "s", STRING, 1, four);
    put_model(&m, &g, 8, 17);
    static told_t told;
    dnnl_tp_onnx_open_opts_t open = {.struct_size = sizeof open, .report = tell, .report_ctx = &told};
    dnnl_tp_onnx_model_t model;
    assert_int_equal(dnnl_tp_onnx_open_memory(&model, m.at, m.n, &open), dnnl_tp_unimplemented);
    assert_string_equal(told.text, "input|s|STRING|graphs do not carry its type|1 3\n"
                                   "node|a|Foo|this operator is not implemented in version 17|2 3\n"
                                   "node of|2|Bar|this operator is not implemented in version 17|1 3\n");
    g.n = 0;
    put_ends(&g);
    for (int i = 0; i < 30; ++i) {
        char op[64];
        (void)snprintf(op, sizeof op, "%060d", i);
        put_node(&g, op, op, "x", NULL, op);
    }
    put_model(&m, &g, 8, 17);
    told = (told_t){.n = 0};
    assert_int_equal(dnnl_tp_onnx_open_memory(&model, m.at, m.n, &open), dnnl_tp_unimplemented);
    assert_int_equal(told.n, 30);
    /* Nothing is reported of a good model; the struct of older headers has no report. */
    told.n = 0;
    small(&m, "Add", "w", 8, 17);
    assert_int_equal(dnnl_tp_onnx_open_memory(&model, m.at, m.n, &open), dnnl_tp_success);
    dnnl_tp_onnx_close(model);
    small(&m, "Foo", "w", 8, 17);
    open.struct_size = offsetof(dnnl_tp_onnx_open_opts_t, report);
    assert_int_equal(dnnl_tp_onnx_open_memory(&model, m.at, m.n, &open), dnnl_tp_unimplemented);
    assert_int_equal(told.n, 0);
    open.struct_size = sizeof open - 1;
    assert_int_equal(dnnl_tp_onnx_open_memory(&model, m.at, m.n, &open), dnnl_tp_invalid_arguments);
}

/* y = c ? then(x) : other(x) */
static void put_if(bytes_t *g, const char *then, const char *other) {
    static bytes_t n, b;
    n.n = 0;
    put_text(&n, N_INPUT, "c");
    put_text(&n, N_OUTPUT, "y");
    put_text(&n, N_OP, "If");
    for (int k = 0; k < 2; ++k) {
        b.n = 0;
        put_node(&b, k ? other : then, k ? "other" : "then", "x", NULL, k ? "o" : "t");
        put_value(&b, G_OUTPUT, k ? "o" : "t", FLOAT, 1, four);
        put_graph_attr(&n, k ? "else_branch" : "then_branch", &b);
    }
    put_message(g, G_NODE, &n);
    put_value(g, G_INPUT, "c", BOOL, 0, NULL);
    put_ends(g);
}

static void test_branches(void **state) {
    (void)state;
    static bytes_t m;
    static const char *const names[] = {"Relu", "Foo"};
    for (int bad = 0; bad < 4; ++bad) {
        bytes_t g = {.n = 0};
        put_if(&g, names[bad & 1], names[bad >> 1]);
        put_model(&m, &g, 8, 17);
        if (bad < 3) opens(&m);
        else
            closed(&m, NULL, dnnl_tp_unimplemented,
                   "onnx: node 'then' (Foo) and 1 more: this operator is not implemented in version 17");
    }
}

static void test_bodies(void **state) {
    (void)state;
    static bytes_t m;
    bytes_t g = {.n = 0}, n = {.n = 0}, body = {.n = 0};
    put_node(&body, "Foo", "inside", "v", NULL, "next");
    put_text(&n, N_INPUT, "count");
    put_text(&n, N_INPUT, "");
    put_text(&n, N_INPUT, "x");
    put_text(&n, N_OUTPUT, "y");
    put_text(&n, N_OP, "Loop");
    put_graph_attr(&n, "body", &body);
    put_message(&g, G_NODE, &n);
    put_ends(&g);
    put_model(&m, &g, 8, 17);
    closed(&m, NULL, dnnl_tp_unimplemented,
           "onnx: node 'inside' (Foo): this operator is not implemented in version 17");
}

/* A function of the domain "mine" that consists of `nodes` nodes, of a domain. */
static void put_functions(bytes_t *m, const char *name, const char *op, const char *domain, int nodes) {
    static bytes_t f, n, o;
    f.n = n.n = o.n = 0;
    put_text(&f, 1, name);
    put_text(&f, 4, "a");
    put_text(&f, 5, "b");
    put_text(&n, N_INPUT, "a");
    put_text(&n, N_OUTPUT, "b");
    put_text(&n, N_OP, op);
    put_text(&n, N_NAME, name);
    put_text(&n, N_DOMAIN, domain);
    for (int i = 0; i < nodes; ++i) put_message(&f, 7, &n);
    put_int(&o, 2, 16);
    put_message(&f, 9, &o);
    put_text(&f, 10, "mine");
    put_message(m, M_FUNCTION, &f);
}

static void put_function(bytes_t *m, const char *name, const char *op, const char *domain) {
    put_functions(m, name, op, domain, 1);
}

static void test_functions(void **state) {
    (void)state;
    static bytes_t m;
    bytes_t g = {.n = 0};
    put_ends(&g);
    put_foreign(&g, "Good", "mine", "call", "y");
    put_model(&m, &g, 8, 17);
    put_function(&m, "Good", "Relu", "");
    put_function(&m, "Bad", "Foo", "");
    put_function(&m, "Calls", "Bad", "mine");
    opens(&m); /* nothing calls Bad */
    g.n = 0;
    put_ends(&g);
    for (int i = 0; i < 3; ++i) put_foreign(&g, i ? "Calls" : "Bad", "mine", "call", "y");
    put_model(&m, &g, 8, 17);
    put_function(&m, "Bad", "Foo", "");
    put_function(&m, "Calls", "Bad", "mine");
    closed(&m, NULL, dnnl_tp_unimplemented,
           "onnx: node 'Bad' (Foo) and 2 more: this operator is not implemented in version 16");
    /* Each calls the next one; functions that call themselves are refused when a graph is made. */
    g.n = 0;
    put_ends(&g);
    put_foreign(&g, "F0", "mine", "call", "y");
    put_model(&m, &g, 8, 17);
    for (int i = 0; i < 200; ++i) {
        char name[16], next[16];
        (void)snprintf(name, sizeof name, "F%d", i);
        (void)snprintf(next, sizeof next, "F%d", i == 40 ? 0 : i + 1);
        put_function(&m, name, next, "mine");
    }
    opens(&m);
    /* Each calls the next one twice: 2^60 nodes that cannot run. */
    put_model(&m, &g, 8, 17);
    for (int i = 0; i < 60; ++i) {
        char name[16], next[16];
        (void)snprintf(name, sizeof name, "F%d", i);
        (void)snprintf(next, sizeof next, "F%d", i + 1);
        put_functions(&m, name, next, "mine", 2);
    }
    put_function(&m, "F60", "Foo", "");
    closed(&m, NULL, dnnl_tp_unimplemented,
           "onnx: node 'F60' (Foo) and 999999 more: this operator is not implemented in version 16");
}

/* Sources of one type that no implementation takes are legal; of two types they are wrong. */
static void test_types(void **state) {
    (void)state;
    static bytes_t m;
    static const struct {
        int type;
        size_t size;
    } rows[] = {{INT8, 1}, {UINT8, 1}, {BOOL, 1}};
    static const uint8_t zeros[32];
    for (size_t i = 0; i < 3 * sizeof rows / sizeof *rows; ++i) {
        const int type = rows[i / 3].type, other = i % 3 == 1 ? FLOAT : type;
        bytes_t g = {.n = 0};
        put_node(&g, "MatMul", "first", i % 3 == 2 ? "w" : "x", "w", "y"); /* w w: both are known */
        put_value(&g, G_INPUT, "x", other, 1, four);
        put_raw(&g, "w", type, 1, four, zeros, 4 * rows[i / 3].size);
        put_value(&g, G_OUTPUT, "y", type, 0, NULL);
        put_model(&m, &g, 8, 17);
        refused(&m, i % 3 == 1 ? dnnl_tp_invalid_data_type : dnnl_tp_unimplemented,
                "node 'first' (MatMul): ");
    }
}

/* ---- External data ---------------------------------------------------------------------------------------------- */

static void put_external(bytes_t *t, const char *name, const char *location, const char *length) {
    const char *const rows[][2] = {{"location", location}, {"length", length}};
    t->n = 0;
    put_int(t, T_DIMS, 4);
    put_int(t, T_TYPE, FLOAT);
    put_text(t, T_NAME, name);
    for (int i = 0; i < 2; ++i) {
        bytes_t e = {.n = 0};
        put_text(&e, 1, rows[i][0]);
        put_text(&e, 2, rows[i][1]);
        put_message(t, T_EXTERNAL, &e);
    }
    put_int(t, T_LOCATION, 1);
}

static void test_files(void **state) {
    (void)state;
    static bytes_t m;
    char folder[] = "/tmp/dnnl_tp_onnx_XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/short", folder);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(one_to_four, 1, 10, f), 10);
    assert_int_equal(fclose(f), 0);
    static const char *const files[] = {"gone", "gone", "short", "also gone"};
    bytes_t g = {.n = 0}, t = {.n = 0}, n = {.n = 0}, a = {.n = 0};
    for (int i = 0; i < 4; ++i) {
        put_external(&t, (const char[]){(char)('a' + i), 0}, files[i], "16");
        put_message(&g, G_INITIALIZER, &t);
    }
    enum { TENSOR = 4 };
    put_external(&t, "", "constant's", "16");
    put_text(&a, A_NAME, "value");
    put_message(&a, A_TENSOR, &t);
    put_int(&a, A_TYPE, TENSOR);
    put_text(&n, N_OUTPUT, "y");
    put_text(&n, N_OP, "Constant");
    put_message(&n, N_ATTR, &a);
    put_message(&g, G_NODE, &n);
    put_node(&g, "Foo", "bad", "x", NULL, "z");
    put_ends(&g);
    put_model(&m, &g, 8, 17);
    const dnnl_tp_onnx_open_opts_t open = {.struct_size = sizeof open, .base_folder = folder};
    closed(
        &m, &open, dnnl_tp_runtime_error,
        "onnx: initializer 'a' of type FLOAT and 1 more: its file of external data 'gone' cannot be opened: "
        "No such file or directory; "
        "initializer 'c' of type FLOAT: its file of external data 'short' ends at byte 10, before the data "
        "do: "
        "it was cut off; "
        "initializer 'd' of type FLOAT: its file of external data 'also gone' cannot be opened: "
        "No such file or directory; "
        "node 'bad' (Foo): this operator is not implemented in version 17; and 1 more that cannot run");
    (void)unlink(path);
    (void)rmdir(folder);
}

static dnnl_tp_status_t open_and_close(const bytes_t *m) {
    dnnl_tp_onnx_model_t model;
    const dnnl_tp_status_t status = dnnl_tp_onnx_open_memory(&model, m->at, m->n, NULL);
    (void)dnnl_tp_onnx_close(model);
    return status == dnnl_tp_unimplemented ? dnnl_tp_success : status;
}

static void test_out_of_memory(void **state) {
    (void)state;
    static bytes_t m;
    bytes_t g = {.n = 0};
    put_if(&g, "Foo", "Foo");
    put_foreign(&g, "Calls", "mine", "call", "z");
    put_model(&m, &g, 8, 17);
    put_function(&m, "Calls", "Bad", "mine");
    assert_true(fails_by_allocation(open_and_close, &m, false) > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_nodes), cmocka_unit_test(test_report),
        cmocka_unit_test(test_branches),  cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_functions), cmocka_unit_test(test_types),
        cmocka_unit_test(test_files),     cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
