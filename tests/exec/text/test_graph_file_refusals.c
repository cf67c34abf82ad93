/* Every mistake in the text of a graph is refused with its place and its kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exec/graph/graph.h"
#include "support/check.h"
#include "support/graph_closures.h"

#define HEAD "dnnl_tp_graph 1 cpu\n"
static const struct {
    const char *text, *error;
    dnnl_tp_status_t status;
} bad[] = {
    {"", ":1:1:", dnnl_tp_invalid_graph},
    {"graph 1", ":1:1:", dnnl_tp_invalid_graph},
    {"dnnl_tp_graph 2 cpu", ":1:15: version 2", dnnl_tp_invalid_graph},
    {"dnnl_tp_graph 1 tpu", ":1:17:", dnnl_tp_invalid_graph},
#if DNNL_TP_GPU_RUNTIME == 0u
    {"dnnl_tp_graph 1 gpu", "no gpu engine", dnnl_tp_unimplemented},
#endif
    {HEAD "\x01", ":2:1: unexpected byte 0x01", dnnl_tp_invalid_graph},
    {HEAD "input x", ":2:7:", dnnl_tp_invalid_graph},
    {HEAD "input %", ":2:7: no name", dnnl_tp_invalid_graph},
    {HEAD "input %0 f32", "':' is needed", dnnl_tp_invalid_graph},
    {HEAD "input %0: f33[]", ":2:11: 'f33' where a type", dnnl_tp_invalid_graph},
    {HEAD "input %0: f32[1,]", "an integer is needed", dnnl_tp_invalid_graph},
    {HEAD "input %0: f32[-1]", "negative", dnnl_tp_invalid_graph},
    {HEAD "input %0: f32[9223372036854775808]", "too large", dnnl_tp_invalid_graph},
    {HEAD "input %0: f32[9223372036854775807]", ":2:7:", dnnl_tp_invalid_arguments},
    {HEAD "input %0: f32[1,1,1,1,1,1,1,1,1,1,1,1,1]", "more than 12", dnnl_tp_invalid_graph},
    {HEAD "input %0: f32[] \"x", "ends inside a string", dnnl_tp_invalid_graph},
    {HEAD "input %0: f32[] \"x\n\"", "the line ends", dnnl_tp_invalid_graph},
    {HEAD "input %0: f32[] \"\\q\"", "an escape", dnnl_tp_invalid_graph},
    {HEAD "input %0: f32[] \"\\x00\"", "an escape", dnnl_tp_invalid_graph},
    {HEAD "input %0: f32[]\ninput %0: f32[]", ":3:7: %0 is defined twice", dnnl_tp_invalid_graph},
    {HEAD "constant %0: f32[?] = {}", "not known", dnnl_tp_invalid_shape},
    {HEAD "constant %0: f32[2] = {1}", "','", dnnl_tp_invalid_graph},
    {HEAD "constant %0: f32[2] = {1, 2, 3}", "'}'", dnnl_tp_invalid_graph},
    {HEAD "constant %0: f32[1] = {1e999}", "out of range", dnnl_tp_invalid_graph},
    {HEAD "constant %0: f32[1] = {1x}", "not a number", dnnl_tp_invalid_graph},
    {HEAD "constant %0: f32[1] = {0x1}", "bit pattern", dnnl_tp_invalid_graph},
    {HEAD "constant %0: s8[1] = {128}", "no value of type s8", dnnl_tp_invalid_graph},
    {HEAD "constant %0: boolean[1] = {2}", "no value", dnnl_tp_invalid_graph},
    {HEAD "constant %0: s32[1] = {1.5}", "not an integer", dnnl_tp_invalid_graph},
    {HEAD "constant %0: f32[1] = random -1 0 1", "seed", dnnl_tp_invalid_graph},
    {HEAD "constant %0: f32[1] = random 1 1 0", "range", dnnl_tp_invalid_graph},
    {HEAD "constant %0: u8[1] = random 1 0 256", "range", dnnl_tp_invalid_graph},
    {HEAD "constant %0: s32[1] = random 1 0.5 1", "range", dnnl_tp_invalid_graph},
    {HEAD "constant %0: f32[1000000] = fill 0", "more than 1000 bytes", dnnl_tp_invalid_graph},
    {HEAD "constant %0: f32[1] = file \"../x\" 0 0x0123456789abcdef", "beside this one",
     dnnl_tp_invalid_graph},
    {HEAD "constant %0: f32[1] = file \"x\" 0 0x0123456789abcde", "16 digits", dnnl_tp_invalid_graph},
    {HEAD "constant %0: f32[1] = file \"x\" 0 0x0123456789abcdef", "in memory", dnnl_tp_invalid_graph},
    {HEAD "%1 = relu (%0)", ":2:12: %0 is not defined", dnnl_tp_invalid_graph},
    {HEAD "input %0: f32[]\n%1 = rleu (%0)", ":3:6: 'rleu' is no operator", dnnl_tp_invalid_graph},
    {HEAD "input %0: f32[]\n%1 = relu %0", "'('", dnnl_tp_invalid_graph},
    {HEAD "input %0: f32[]\n%1 = relu (%0) alpha=1", "no attribute", dnnl_tp_invalid_graph_op},
    {HEAD "input %0: f32[]\n%1 = elu (%0) aplha=1", "elu has no attribute aplha", dnnl_tp_invalid_graph_op},
    {HEAD "input %0: f32[]\n%1 = elu (%0) alpha=nan", "a number is needed", dnnl_tp_invalid_graph},
    {HEAD "input %0: f32[]\n%1 = elu (%0)", ":3:6: operator '' (elu) needs", dnnl_tp_invalid_graph_op},
    {HEAD "input %0: s32[]\n%1 = tanh \"r\" (%0)", ":3:6: operator 'r'", dnnl_tp_invalid_data_type},
    {HEAD "input %0: f32[2]\n%1: f32[3] = relu (%0)", ":3:1: %1 is f32 {2}", dnnl_tp_invalid_graph},
    {HEAD "input %0: f32[2]\n%1, %2 = relu (%0)", "1 output", dnnl_tp_invalid_graph_op},
    {HEAD "input %0: f32[2]\n%1 = relu (%0) after (%0)", "not made by an operator",
     dnnl_tp_invalid_arguments},
    {HEAD "input %0: f32[2]\n%1 = relu (%0) target target", "'target' is no operator", dnnl_tp_invalid_graph},
    {HEAD "%1 = host \"h\" ()", "need types", dnnl_tp_invalid_graph},
    {HEAD "host \"unknown\" ()", ":2:1: host closure 'unknown'", dnnl_tp_unimplemented},
    {HEAD "host \"h\" () target", "with results", dnnl_tp_invalid_graph},
    {HEAD "call \"c\" @0 ()", "@0 is not defined", dnnl_tp_invalid_graph},
    {HEAD "function @0 \"f\" () -> ()\ndefine @0 { return }\ndefine @0 { return }", ":4:8: the function",
     dnnl_tp_invalid_graph},
    {HEAD "function @0 \"f\" (%0) -> ()", "need types", dnnl_tp_invalid_graph},
    {HEAD "function @0 \"f\" () -> ()\ncall \"c\" @0 () target", "with results", dnnl_tp_invalid_graph},
    {HEAD "function @0 \"f\" (%0: f32[]) -> ()\noutput %0", "another region", dnnl_tp_invalid_arguments},
    {HEAD "function @0 \"f\" () -> (f32[])\ninput %0: f32[]\ndefine @0 { return %0 }",
     ":4:8:", dnnl_tp_invalid_arguments},
    {HEAD "input %0: f32[]\nif (%0) { yield } else { yield", "the text ends", dnnl_tp_invalid_graph},
    {HEAD "input %0: f32[]\nif (%0) { yield } els { yield }", "'els' where 'else'", dnnl_tp_invalid_graph},
    {HEAD "input %0: f32[]\n%1 = if (%0) { yield } else { yield }", ":3:14: 1 values are needed",
     dnnl_tp_invalid_graph},
    {HEAD "input %0: f32[2]\nif (%0) { yield } else { yield }", "exactly one element", dnnl_tp_invalid_shape},
    {HEAD "input %0: f32[]\nif (%0) { input %1: f32[] yield } else { yield }", "'input' is no operator",
     dnnl_tp_invalid_graph},
    {HEAD "input %0: f32[]\nwhile (%1: f32[] = %0) { test %1 } do { yield %1 }", "0 results",
     dnnl_tp_invalid_graph},
    {HEAD "input %0: f32[]\n%2 = while (%1: f32[] = %0) { test } do { yield %1 }", "test names one",
     dnnl_tp_invalid_graph},
    {HEAD "input %0: f32[]\n%2 = while (%1: f32[] = %0) window=65 { test %1 } do { yield %1 }",
     "window is 65", dnnl_tp_invalid_arguments},
    {HEAD "input %0: f32[]\n%2 = while (%1: f32[] = %0) { test %1 } { yield %1 }", "'do'",
     dnnl_tp_invalid_graph},
    {HEAD "input %0: f32[]\nif (%0) { %1 = relu (%0) yield } else { yield }\noutput %1", "another region",
     dnnl_tp_invalid_arguments},
    {HEAD "output %0", "not defined", dnnl_tp_invalid_graph},
    {HEAD "relu.relu.relu.relu.relu.relu.relu.relu.relu.relu.relu.relu.relu.relu.relu", "at most 64",
     dnnl_tp_invalid_graph},
};

static void test_refusals(void **state) {
    (void)state;
    dnnl_tp_graph_read_opts_t o = test_read_opts;
    o.max_constant_bytes = 1000;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        dnnl_tp_graph_t g = (dnnl_tp_graph_t)&o;
        dnnl_tp_status_t s = dnnl_tp_graph_read_text(&g, bad[i].text, strlen(bad[i].text), &o);
        assert_null(g);
        if (s != bad[i].status || !strstr(dnnl_tp_last_error(), bad[i].error))
            fail_msg("text\n%s\ngives %s: %s; wanted %s: %s", bad[i].text, dnnl_tp_status2str(s),
                     dnnl_tp_last_error(), dnnl_tp_status2str(bad[i].status), bad[i].error);
    }
}

static void test_deep(void **state) {
    (void)state;
    /* Regions within regions without end. */
    enum { DEEP = 100000 };
    char *deep = malloc(64 + 16 * DEEP), *q = deep + sprintf(deep, HEAD "input %%0: f32[]\n");
    for (int i = 0; i < DEEP; ++i) q += sprintf(q, "if(%%0){");
    dnnl_tp_graph_t g;
    assert_int_equal(dnnl_tp_graph_read_text(&g, deep, (size_t)(q - deep), NULL), dnnl_tp_invalid_arguments);
    assert_non_null(strstr(dnnl_tp_last_error(), "nested"));
    free(deep);
}

static void test_arguments(void **state) {
    (void)state;
    dnnl_tp_graph_t g;
    dnnl_tp_graph_read_opts_t o = test_read_opts;
    assert_int_equal(dnnl_tp_graph_read_text(NULL, "", 0, NULL), dnnl_tp_invalid_arguments);
    assert_int_equal(dnnl_tp_graph_read_text(&g, NULL, 1, NULL), dnnl_tp_invalid_arguments);
    assert_int_equal(dnnl_tp_graph_read(&g, NULL), dnnl_tp_invalid_arguments);
    assert_int_equal(dnnl_tp_graph_read(&g, "/tmp/none/none"), dnnl_tp_invalid_arguments);
    assert_int_equal(dnnl_tp_graph_read(&g, "/tmp"), dnnl_tp_runtime_error);
    o.struct_size = 1;
    assert_int_equal(dnnl_tp_graph_read_text(&g, "", 0, &o), dnnl_tp_invalid_arguments);
    assert_int_equal(dtp_last_reason(), DTP_BAD_STRUCT_SIZE);
    /* A host closure that nobody knows. */
    static const char host[] = HEAD "host \"h\" ()";
    assert_int_equal(dnnl_tp_graph_read_text(&g, host, strlen(host), NULL), dnnl_tp_invalid_graph);
    assert_non_null(strstr(dnnl_tp_last_error(), "'h'"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refusals), cmocka_unit_test(test_deep),
                                       cmocka_unit_test(test_arguments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
