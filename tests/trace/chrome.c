/* The Chrome format of traces, read back with a JSON parser: names of any bytes, lanes, times, arguments. */
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "dnnl_tp/dnnl_tp_graph.h"
#include "support/check.h"
#include "support/streams.h"
#include "support/traces.h"

static cJSON *written(dnnl_tp_trace_t t) {
    char *text = test_trace_text(t);
    for (const char *p = text; *p; ++p) assert_true((unsigned char)*p >= ' ' || *p == '\n');
    const char *end;
    cJSON *all = cJSON_ParseWithOpts(text, &end, 1); /* nothing behind it */
    assert_non_null(all);
    free(text);
    return all;
}
static const char *text_of(const cJSON *object, const char *key) {
    const char *s = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return s ? s : "";
}
static double number_of(const cJSON *object, const char *key) {
    const cJSON *n = cJSON_GetObjectItemCaseSensitive(object, key);
    assert_true(cJSON_IsNumber(n));
    return n->valuedouble;
}
/* The k-th event of a phase and name; "" = any. */
static const cJSON *event(const cJSON *all, const char *phase, const char *name, int k) {
    const cJSON *e;
    cJSON_ArrayForEach(e, cJSON_GetObjectItemCaseSensitive(all, "traceEvents")) {
        if (!strcmp(text_of(e, "ph"), phase) && (!*name || !strcmp(text_of(e, "name"), name)) && k-- == 0)
            return e;
    }
    return NULL;
}

static void test_names(void **state) {
    (void)state;
    static const struct {
        const char *name, *read;
    } names[] = {{"plain", "plain"},
                 {"", ""},
                 {"\"quoted\" \\ back", "\"quoted\" \\ back"},
                 {"line\nand\ttab\x01\x1f\x7f", "line\nand\ttab\x01\x1f\x7f"},
                 {"größe 行列 \xf0\x9f\x98\x80", "größe 行列 \xf0\x9f\x98\x80"},
                 /* No UTF-8: alone, cut short, too long a form, a surrogate, beyond the last character. */
                 {"a\xff z", "a\xef\xbf\xbd z"},
                 {"b\xc3", "b\xef\xbf\xbd"},
                 {"c\xe8\xa1", "c\xef\xbf\xbd\xef\xbf\xbd"},
                 {"d\xc0\xaf", "d\xef\xbf\xbd\xef\xbf\xbd"},
                 {"e\xed\xa0\x80", "e\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
                 {"f\xf4\x90\x80\x80", "f\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
                 {"</script>;{}[]", "</script>;{}[]"}};
    enum { NAMES = sizeof names / sizeof *names };
    dnnl_tp_trace_t t;
    CHECK_OK(dnnl_tp_trace_create(&t, NULL));
    for (int i = 0; i < NAMES; ++i)
        CHECK_OK(dnnl_tp_trace_record(t, names[i].name, 1000000 + i * 100, 1000000 + i * 100 + 42));
    cJSON *all = written(t);
    for (int i = 0; i < NAMES; ++i) {
        const cJSON *e = event(all, "X", "", i);
        assert_non_null(e);
        assert_string_equal(text_of(e, "name"), names[i].read);
        assert_string_equal(text_of(e, "cat"), "span");
        assert_true(number_of(e, "dur") == 0.042);
        double ts = number_of(e, "ts");
        assert_true(ts > i * .1 - 1e-9 && ts < i * .1 + 1e-9);
    }
    assert_null(event(all, "X", "", NAMES));
    assert_non_null(event(all, "M", "process_name", 0));
    assert_non_null(event(all, "M", "thread_name", 0));
    const cJSON *other = cJSON_GetObjectItemCaseSensitive(all, "otherData");
    assert_true(number_of(other, "dropped_events") == 0);
    assert_true(number_of(other, "begin_monotonic_ns") == 1000000);
    cJSON_Delete(all);
    dnnl_tp_trace_destroy(t);
}

/* Executions of a primitive are on a thread's lane and on the stream's. */
static void test_lanes(void **state) {
    (void)state;
    enum { STEPS = 5, THREADS = 1, STREAMS = 2 };
    static float x[64];
    dnnl_tp_engine_t engine;
    dnnl_tp_trace_t t;
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK_OK(dnnl_tp_trace_create(&t, NULL));
    dnnl_tp_stream_t s = test_stream(engine, NULL, 0, 0);
    dnnl_tp_primitive_t p = test_linear(engine, 64, 1.f, 1.f);
    CHECK_OK(dnnl_tp_stream_set_trace(s, t, "my \"stream\""));
    for (int i = 0; i < STEPS; ++i) CHECK_OK(test_step(p, s, x));
    cJSON *all = written(t);
    const cJSON *e;
    int on[3] = {0}, stream_lane = 0;
    cJSON_ArrayForEach(e, cJSON_GetObjectItemCaseSensitive(all, "traceEvents")) {
        const cJSON *args = cJSON_GetObjectItemCaseSensitive(e, "args");
        if (!strcmp(text_of(e, "name"), "thread_name") && number_of(e, "pid") == STREAMS) {
            assert_string_equal(text_of(args, "name"), "my \"stream\"");
            stream_lane = (int)number_of(e, "tid");
        }
        if (strcmp(text_of(e, "ph"), "X")) continue;
        int pid = (int)number_of(e, "pid");
        assert_true(pid == THREADS || (pid == STREAMS && number_of(e, "tid") == stream_lane));
        ++on[pid];
        assert_string_equal(text_of(e, "name"), "eltwise 64:64");
        assert_string_equal(text_of(e, "cat"), "primitive");
        assert_string_equal(text_of(args, "op"), "eltwise");
        assert_true(*text_of(args, "impl"));
        assert_string_equal(text_of(args, "status"), "success");
        assert_true(number_of(args, "wait_us") == 0);
    }
    assert_true(on[THREADS] == STEPS && on[STREAMS] == STEPS);
    cJSON_Delete(all);
    dnnl_tp_primitive_destroy(p);
    dnnl_tp_stream_destroy(s);
    dnnl_tp_trace_destroy(t);
    dnnl_tp_engine_destroy(engine);
}

/* Operators tell their kind, implementation, run and graph. */
static void test_graph(void **state) {
    (void)state;
    static const dnnl_tp_dims_t dims = {8, 8};
    static float x[64], y[64];
    dnnl_tp_graph_t g;
    dnnl_tp_engine_t engine;
    dnnl_tp_executable_t exe;
    dnnl_tp_value_t in, out;
    dnnl_tp_trace_t t;
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &in, "x", dnnl_tp_f32, 2, dims));
    CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_exp, "e \"x\" \xff", 1, &in, 0, NULL, 1, &out));
    CHECK_OK(dnnl_tp_graph_output(g, out, "y"));
    CHECK_OK(dnnl_tp_executable_compile(&exe, g, engine, 0, NULL, NULL));
    CHECK_OK(dnnl_tp_trace_create(&t, NULL));
    dnnl_tp_stream_t s = test_stream(engine, NULL, 0, 0);
    dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .trace = t};
    void *pin[1] = {x}, *pout[1] = {y};
    for (int i = 0; i < 2; ++i) CHECK_OK(dnnl_tp_executable_run(exe, s, 1, pin, 1, pout, &o));
    cJSON *all = written(t);
    for (int i = 0; i < 2; ++i) {
        const cJSON *run = event(all, "X", "graph 1", i), *node = event(all, "X", "e \"x\" \xef\xbf\xbd", i);
        assert_true(run && node);
        const cJSON *args = cJSON_GetObjectItemCaseSensitive(node, "args");
        assert_string_equal(text_of(node, "cat"), "node");
        assert_true(*text_of(args, "op") && *text_of(args, "impl"));
        assert_string_equal(text_of(args, "graph"), "graph 1");
        assert_true(number_of(args, "run") == i + 1);
        assert_null(cJSON_GetObjectItemCaseSensitive(args, "iteration"));
        /* In microseconds with three digits behind the point: half a nanosecond of slack. */
        assert_true(number_of(node, "ts") >= number_of(run, "ts") - 5e-4);
        assert_true(number_of(node, "ts") + number_of(node, "dur") <=
                    number_of(run, "ts") + number_of(run, "dur") + 5e-4);
        assert_string_equal(text_of(cJSON_GetObjectItemCaseSensitive(run, "args"), "status"), "success");
    }
    assert_null(event(all, "X", "", 4));
    cJSON_Delete(all);
    dnnl_tp_stream_destroy(s);
    dnnl_tp_trace_destroy(t);
    dnnl_tp_executable_destroy(exe);
    dnnl_tp_graph_destroy(g);
    dnnl_tp_engine_destroy(engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_lanes),
                                       cmocka_unit_test(test_graph)};
    return cmocka_run_group_tests(tests, test_trace_setup, test_trace_teardown);
}
