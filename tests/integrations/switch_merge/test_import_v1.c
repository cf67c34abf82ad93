/* Import of Switch/Merge graphs: every form against results computed by hand, in the order given and
 * backwards; what has no structure is refused with the node's name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/base.h"
#include "switch_merge/dnnl_tp_switch_merge.h"
#include "support/regions.h"

#define OK CHECK_OK

/* ---- Operators on s32 scalars ------------------------------------------------------------------------ */

HOST(neg, DST(0) = -SRC(0))
HOST(half, DST(0) = SRC(0) / 2)
HOST(triple, DST(0) = 3 * SRC(0) + 1)
HOST(divmod, DST(0) = SRC(0) / SRC(1), DST(1) = SRC(0) % SRC(1))
static _Atomic int64_t counted;
HOST(count, DST(0) = (int32_t)(counted = counted * 10 + (int64_t)(intptr_t)arg))

static const dnnl_tp_tensor_info_t scalar = {.ndims = 0, .data_type = dnnl_tp_s32},
                                   two[2] = {{.ndims = 0, .data_type = dnnl_tp_s32},
                                             {.ndims = 0, .data_type = dnnl_tp_s32}};
typedef dnnl_tp_v1_node_t node_t;
#define IN(...)                                                                                              \
    .nin = (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)), .in = (const char *const[]) { \
        __VA_ARGS__                                                                                          \
    }
#define INPUT(n)                                                                             \
    {                                                                                        \
        .name = n, .kind = dnnl_tp_v1_input, .info = {.ndims = 0, .data_type = dnnl_tp_s32 } \
    }
#define CONST(n, v, ...)                                                                        \
    {                                                                                           \
        .name = n, .kind = dnnl_tp_v1_constant, .info = {.ndims = 0, .data_type = dnnl_tp_s32}, \
        .data = (const int32_t[]){v}, __VA_ARGS__                                               \
    }
#define FN(n, f, ...) \
    { .name = n, .kind = dnnl_tp_v1_host, .fn = f, .nout = 1, .out_info = &scalar, IN(__VA_ARGS__) }
#define SWITCH(n, x, p) \
    { .name = n, .kind = dnnl_tp_v1_switch, IN(x, p) }
#define MERGE(n, a, b) \
    { .name = n, .kind = dnnl_tp_v1_merge, IN(a, b) }
#define ID(n, ...) \
    { .name = n, .kind = dnnl_tp_v1_identity, IN(__VA_ARGS__) }
#define ENTER(n, x, f) \
    { .name = n, .kind = dnnl_tp_v1_enter, .frame = f, .parallel_iterations = 10, IN(x) }
#define FIXED(n, x, f) \
    { .name = n, .kind = dnnl_tp_v1_enter, .frame = f, .is_constant = 1, .parallel_iterations = 10, IN(x) }
#define EXIT(n, x) \
    { .name = n, .kind = dnnl_tp_v1_exit, IN(x) }
#define NEXT(n, x) \
    { .name = n, .kind = dnnl_tp_v1_next_iteration, IN(x) }
#define COND(n, x) \
    { .name = n, .kind = dnnl_tp_v1_loop_cond, IN(x) }
#define COUNT(nodes) (int)(sizeof(nodes) / sizeof *(nodes))

enum { MAX_ARGS = 4, MAX_NODES = 64 };
static dnnl_tp_engine_t engine;
static dnnl_tp_stream_t stream;
static dnnl_tp_threadpool_t pool;
static dnnl_tp_stream_attr_t attr;

static int setup(void **state) {
    (void)state;
    OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    dnnl_tp_threadpool_opts_t o = {.struct_size = sizeof o, .num_threads = 2};
    if (DNNL_TP_WITH_THREADPOOL) {
        OK(dnnl_tp_threadpool_create(&pool, &o));
        OK(dnnl_tp_stream_attr_set_builtin_threadpool(attr, pool));
    }
    OK(dnnl_tp_stream_create_v2(&stream, engine, dnnl_tp_stream_default_flags, attr));
    return 0;
}
static int teardown(void **state) {
    (void)state;
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_stream_attr_destroy(attr);
    dnnl_tp_threadpool_destroy(pool);
    dnnl_tp_engine_destroy(engine);
    return 0;
}

/* Imports in the order given, and with everything but the inputs backwards; runs each with all rows of
 * arguments: nin inputs, then the wanted outputs. */
static void expect(int n, const node_t *nodes, int nin, int nout, const char *const *outputs, int rows,
                   const int32_t *args) {
    node_t copy[MAX_NODES];
    for (int back = 0; back < 2; ++back) {
        for (int i = 0; i < n; ++i) copy[i] = i < nin || !back ? nodes[i] : nodes[nin + n - 1 - i];
        dnnl_tp_graph_t g;
        OK(dnnl_tp_graph_import_v1(&g, dnnl_tp_cpu, n, copy, nout, outputs, 0, NULL));
        static const unsigned flags[] = {0, DNNL_TP_COMPILE_NO_FUSION, DNNL_TP_COMPILE_NO_CLUSTERS};
        for (int f = 0; f < 3; ++f) {
            dnnl_tp_executable_t e;
            dnnl_tp_compile_opts_t o = {.struct_size = sizeof o, .stream_attr = attr, .flags = flags[f]};
            OK(dnnl_tp_executable_compile(&e, g, engine, 0, NULL, &o));
            for (int r = 0; r < rows; ++r) {
                const int32_t *row = args + r * (nin + nout);
                int32_t x[MAX_ARGS], y[MAX_ARGS];
                void *in[MAX_ARGS], *out[MAX_ARGS];
                for (int i = 0; i < nin; ++i) x[i] = row[i], in[i] = &x[i];
                for (int i = 0; i < nout; ++i) y[i] = -777, out[i] = &y[i];
                OK(dnnl_tp_executable_run(e, stream, nin, in, nout, out, NULL));
                for (int i = 0; i < nout; ++i)
                    if (y[i] != row[nin + i])
                        fail_msg("row %d: %s is %d, not %d (back %d, flags %u)", r, outputs[i], y[i],
                                 row[nin + i], back, flags[f]);
            }
            dnnl_tp_executable_destroy(e);
        }
        dnnl_tp_graph_destroy(g);
    }
}
#define OUT(...) \
    (const char *const[]) { __VA_ARGS__ }
#define EXPECT(nodes, nin, nout, outputs, ...)                                                 \
    expect(COUNT(nodes), nodes, nin, nout, outputs,                                            \
           (int)(sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t)) / ((nin) + (nout)), \
           (const int32_t[]){__VA_ARGS__})

/* ---- Ifs --------------------------------------------------------------------------------------------- */

/* As tf.cond writes it: pivots, constants that hang on them. */
static void test_cond(void **state) {
    (void)state;
    const node_t nodes[] = {INPUT("p"),
                            INPUT("x"),
                            SWITCH("cond/Switch", "p", "p"),
                            ID("cond/switch_t", "cond/Switch:1"),
                            ID("cond/switch_f", "cond/Switch:0"),
                            ID("cond/pred_id", "p"),
                            CONST("cond/ten", 10, IN("^cond/switch_t")),
                            SWITCH("cond/Add/Switch", "x", "cond/pred_id"),
                            FN("cond/Add", host_add, "cond/Add/Switch:1", "cond/ten"),
                            SWITCH("cond/Neg/Switch", "x", "cond/pred_id"),
                            FN("cond/Neg", neg, "cond/Neg/Switch"),
                            CONST("cond/five", 5, IN("^cond/switch_f")),
                            MERGE("cond/Merge", "cond/Neg", "cond/Add"),
                            MERGE("cond/Merge_1", "cond/five", "cond/Add/Switch:1")};
    EXPECT(nodes, 2, 2, OUT("cond/Merge", "cond/Merge_1:0"), 1, 7, 17, 7, 0, 7, -7, 5);
}

/* In one branch another choice; a value of the outer branch in both inner ones; a Merge as input of a Merge.
 */
static void test_nested_cond(void **state) {
    (void)state;
    const node_t nodes[] = {INPUT("p"),
                            INPUT("q"),
                            INPUT("x"),
                            SWITCH("sx", "x", "p"),
                            SWITCH("sq", "q", "p"),
                            ID("q2", "sq:1"),
                            FN("a", host_inc, "sx:1"),
                            SWITCH("ia", "a", "q2"),
                            SWITCH("ix", "sx:1", "q2"),
                            FN("t", host_add, "ia:1", "ix:1"),
                            FN("f", host_mul, "ia", "ix"),
                            MERGE("inner", "t", "f"),
                            FN("b", neg, "inner"),
                            MERGE("outer", "sx:0", "b"),
                            FN("y", host_inc, "outer")};
    EXPECT(nodes, 3, 1, OUT("y"), 1, 1, 5, -10, 1, 0, 5, -29, 0, 1, 5, 6, 0, 0, 8, 9);
}

/* Two conditions on one predicate, the second needs what the first made: two Ifs. Two that share nothing. */
static void test_cond_twice(void **state) {
    (void)state;
    const node_t nodes[] = {INPUT("p"),
                            INPUT("x"),
                            SWITCH("s1", "x", "p"),
                            FN("a", host_inc, "s1:1"),
                            MERGE("m1", "s1", "a"),
                            FN("between", triple, "m1"),
                            SWITCH("s2", "between", "p"),
                            FN("b", neg, "s2:0"),
                            MERGE("m2", "s2:1", "b"),
                            SWITCH("s3", "x", "p"),
                            FN("c", half, "s3:0"),
                            MERGE("m3", "c", "s3:1")};
    EXPECT(nodes, 2, 3, OUT("m1", "m2", "m3"), 1, 6, 7, 22, 6, 0, 6, 6, -19, 3);
    /* And where the two need each other's values inside of a branch: without structure. */
    const node_t crossed[] = {INPUT("p"),
                              INPUT("x"),
                              SWITCH("s1", "x", "p"),
                              FN("a", host_inc, "s1:1"),
                              MERGE("m1", "s1", "a"),
                              SWITCH("s2", "m1", "p"),
                              FN("b", host_add, "s2:1", "a"),
                              MERGE("m2", "s2", "b")};
    EXPECT(crossed, 2, 1, OUT("m2"), 1, 6, 14, 0, 6, 6);
}

/* ---- Loops ------------------------------------------------------------------------------------------- */

#define SUM_LOOP(pre, frame, n, i0, s0, one)                                                         \
    ENTER(pre "ei", i0, frame), ENTER(pre "es", s0, frame), FIXED(pre "en", n, frame),               \
        FIXED(pre "e1", one, frame), MERGE(pre "mi", pre "ei", pre "ni"),                            \
        MERGE(pre "ms", pre "ns", pre "es"), FN(pre "less", host_less, pre "mi", pre "en"),          \
        COND(pre "cond", pre "less"), SWITCH(pre "si", pre "mi", pre "cond"),                        \
        SWITCH(pre "ss", pre "ms", pre "cond"), ID(pre "ii", pre "si:1"),                            \
        FN(pre "add", host_add, pre "ss:1", pre "ii"), FN(pre "step", host_add, pre "ii", pre "e1"), \
        NEXT(pre "ni", pre "step"), NEXT(pre "ns", pre "add"), EXIT(pre "xi", pre "si"),             \
        EXIT(pre "xs", pre "ss:0")

/* The sum of 0..n-1; constant Enters are invariants; no trip at all. */
static void test_while(void **state) {
    (void)state;
    const node_t nodes[] = {INPUT("n"), CONST("zero", 0, .nin = 0), CONST("one", 1, .nin = 0),
                            SUM_LOOP("", "while", "n", "zero", "zero", "one"), FN("y", host_inc, "xs")};
    EXPECT(nodes, 1, 3, OUT("xs", "xi", "y"), 5, 10, 5, 11, 0, 0, 0, 1, 1, 0, 1, 1, 100, 4950, 100, 4951, -3,
           0, 0, 1);
}

/* Only one variable leaves; one that the body hands on as it is; one that takes the place of another. */
static void test_while_forms(void **state) {
    (void)state;
    const node_t nodes[] = {INPUT("n"),
                            INPUT("a"),
                            INPUT("b"),
                            ENTER("en", "n", "f"),
                            ENTER("ea", "a", "f"),
                            ENTER("eb", "b", "f"),
                            ENTER("ec", "a", "f"),
                            MERGE("mn", "en", "nn"),
                            MERGE("ma", "ea", "na"),
                            MERGE("mb", "eb", "nb"),
                            MERGE("mc", "ec", "nc"),
                            FN("go", host_positive, "mn"),
                            COND("c", "go"),
                            SWITCH("sn", "mn", "c"),
                            SWITCH("sa", "ma", "c"),
                            SWITCH("sb", "mb", "c"),
                            SWITCH("sc", "mc", "c"),
                            FN("dn", host_dec, "sn:1"),
                            NEXT("nn", "dn"),
                            NEXT("na", "sb:1"),
                            NEXT("nb", "sa:1"),
                            NEXT("nc", "sc:1"),
                            EXIT("xa", "sa"),
                            EXIT("xb", "sb"),
                            EXIT("xc", "sc")};
    EXPECT(nodes, 3, 3, OUT("xa", "xb", "xc"), 0, 1, 2, 1, 2, 1, 1, 1, 2, 2, 1, 1, 5, 1, 2, 2, 1, 1, 6, 1, 2,
           1, 2, 1);
}

/* sum over i < n of the sum over j < i, plus an outer invariant k each. */
static void test_nested_while(void **state) {
    (void)state;
    const node_t nodes[] = {INPUT("n"),
                            INPUT("k"),
                            CONST("zero", 0, .nin = 0),
                            CONST("one", 1, .nin = 0),
                            ENTER("ei", "zero", "outer"),
                            ENTER("es", "zero", "outer"),
                            FIXED("en", "n", "outer"),
                            FIXED("ek", "k", "outer"),
                            FIXED("e0", "zero", "outer"),
                            FIXED("e1", "one", "outer"),
                            MERGE("mi", "ei", "ni"),
                            MERGE("ms", "es", "ns"),
                            FN("less", host_less, "mi", "en"),
                            COND("cond", "less"),
                            SWITCH("si", "mi", "cond"),
                            SWITCH("ss", "ms", "cond"),
                            FN("start", host_mul, "e0", "si:1"),
                            SUM_LOOP("in/", "inner", "si:1", "start", "ss:1", "e1"),
                            FN("more", host_add, "in/xs", "ek"),
                            FN("step", host_add, "si:1", "e1"),
                            NEXT("ni", "step"),
                            NEXT("ns", "more"),
                            EXIT("xi", "si"),
                            EXIT("xs", "ss")};
    EXPECT(nodes, 2, 2, OUT("xs", "xi"), 4, 0, 4, 4, 0, 9, 0, 0, 5, 3, 25, 5);
}

/* Steps of the Collatz sequence: a choice in the body. A loop in a branch. */
static void test_while_with_cond(void **state) {
    (void)state;
    const node_t nodes[] = {INPUT("x"),
                            INPUT("p"),
                            CONST("zero", 0, .nin = 0),
                            ENTER("ex", "x", "f"),
                            ENTER("ec", "zero", "f"),
                            MERGE("mx", "ex", "nx"),
                            MERGE("mc", "ec", "nc"),
                            FN("go", host_not_one, "mx"),
                            COND("c", "go"),
                            SWITCH("sx", "mx", "c"),
                            SWITCH("sc", "mc", "c"),
                            ID("b", "sx:1"),
                            FN("odd", host_odd, "b"),
                            SWITCH("bx", "b", "odd"),
                            FN("t", triple, "bx:1"),
                            FN("h", half, "bx:0"),
                            MERGE("m", "h", "t"),
                            FN("c1", host_inc, "sc:1"),
                            NEXT("nx", "m"),
                            NEXT("nc", "c1"),
                            EXIT("steps", "sc"),
                            SWITCH("w", "steps", "p"),
                            CONST("none", -1, IN("^w2")),
                            ID("w2", "w:0"),
                            MERGE("y", "w:1", "none")};
    EXPECT(nodes, 2, 2, OUT("steps", "y"), 6, 1, 8, 8, 27, 0, 111, -1, 1, 1, 0, 0);
    const node_t inside[] = {INPUT("p"),
                             INPUT("n"),
                             CONST("zero", 0, .nin = 0),
                             CONST("one", 1, .nin = 0),
                             SWITCH("sn", "n", "p"),
                             SWITCH("s0", "zero", "p"),
                             SWITCH("s1", "one", "p"),
                             FN("n2", host_add, "sn:1", "sn:1"),
                             SUM_LOOP("l/", "loop", "n2", "s0:1", "s0:1", "s1:1"),
                             FN("after", neg, "l/xs"),
                             MERGE("y", "sn", "after")};
    EXPECT(inside, 2, 1, OUT("y"), 1, 3, -15, 0, 3, 3, 1, 0, 0);
}

/* ---- Order, targets, several results ----------------------------------------------------------------- */

static node_t counter(const char *name, intptr_t number, int nin, const char *const *in) {
    return (node_t){.name = name,
                    .kind = dnnl_tp_v1_host,
                    .fn = count,
                    .arg = (void *)number,
                    .nout = 1,
                    .out_info = &scalar,
                    .nin = nin,
                    .in = in};
}

static void test_order(void **state) {
    (void)state;
    node_t nodes[] = {
        INPUT("p"),
        INPUT("x"),
        counter("c3", 3, 1, OUT("^group")),
        counter("c1", 1, 0, NULL),
        counter("c2", 2, 1, OUT("^c1")),
        {.name = "group", .kind = dnnl_tp_v1_no_op, IN("^c2", "^c1")},
        SWITCH("s", "x", "p"),
        ID("yes", "s:1"),
        counter("c4", 4, 2, OUT("^c3", "^yes")),
        counter("c5", 5, 1, OUT("^c4")),
        ID("after5", "yes", "^c5"),
        MERGE("m", "s", "after5"),
        counter("c6", 6, 1, OUT("^m")),
        {.name = "dm", .kind = dnnl_tp_v1_host, .fn = divmod, .nout = 2, .out_info = two, IN("x", "x")},
        {.name = "end", .kind = dnnl_tp_v1_no_op, IN("^c6", "^dm")}};
    const char *const targets[] = {"end"};
    dnnl_tp_graph_t g;
    dnnl_tp_executable_t e;
    dnnl_tp_compile_opts_t o = {.struct_size = sizeof o, .stream_attr = attr};
    OK(dnnl_tp_graph_import_v1(&g, dnnl_tp_cpu, COUNT(nodes), nodes, 3, OUT("m", "dm:1", "dm"), 1, targets));
    OK(dnnl_tp_executable_compile(&e, g, engine, 0, NULL, &o));
    for (int32_t p = 0; p < 2; ++p)
        for (int k = 0; k < 20; ++k) {
            int32_t x = 4, m = 0, rem = -1, quot = -1;
            void *in[] = {&p, &x}, *out[] = {&m, &rem, &quot};
            counted = 0;
            OK(dnnl_tp_executable_run(e, stream, 2, in, 3, out, NULL));
            assert_true(m == 4 && rem == 0 && quot == 1);
            if (p) assert_int_equal(counted, 123456);
            else assert_true(counted == 1236 || counted == 1263 || counted == 1623 || counted == 6123);
        }
    dnnl_tp_executable_destroy(e);
    dnnl_tp_graph_destroy(g);
}

/* Operators of the library, with attributes, sizes that compilation gets. */
static void test_operators(void **state) {
    (void)state;
    static const float w[4] = {1, 2, 3, 4};
    static const uint8_t yes = 1;
    const dnnl_tp_op_attr_t turn = {dnnl_tp_op_attr_transpose_b, dnnl_tp_op_attr_bool, 1, &yes};
    const node_t nodes[] = {
        {.name = "x",
         .kind = dnnl_tp_v1_input,
         .info = {.ndims = 2, .dims = {DNNL_TP_RUNTIME_DIM_VAL, 2}, .data_type = dnnl_tp_f32}},
        {.name = "p", .kind = dnnl_tp_v1_input, .info = {.ndims = 0, .data_type = dnnl_tp_f32}},
        {.name = "w",
         .kind = dnnl_tp_v1_constant,
         .info = {.ndims = 2, .dims = {2, 2}, .data_type = dnnl_tp_f32},
         .data = w},
        SWITCH("sx", "x", "p"),
        SWITCH("sw", "w", "p"),
        {.name = "mm",
         .kind = dnnl_tp_v1_op,
         .op = dnnl_tp_op_matmul,
         IN("sx:1", "sw:1"),
         .nattr = 1,
         .attr = &turn},
        {.name = "r", .kind = dnnl_tp_v1_op, .op = dnnl_tp_op_relu, IN("sx")},
        MERGE("y", "r", "mm")};
    dnnl_tp_graph_t g;
    dnnl_tp_executable_t e;
    dnnl_tp_status_t s = dnnl_tp_graph_import_v1(&g, dnnl_tp_cpu, COUNT(nodes), nodes, 1, OUT("y"), 0, NULL);
    if (s != dnnl_tp_success) fail_msg("%s", dnnl_tp_last_error());
    dnnl_tp_tensor_info_t shapes[2] = {nodes[0].info, nodes[1].info};
    shapes[0].dims[0] = 1;
    OK(dnnl_tp_executable_compile(&e, g, engine, 2, shapes, NULL));
    for (int k = 0; k < 2; ++k) {
        float x[2] = {1, -1}, p = (float)k, y[2];
        void *in[] = {x, &p}, *out[] = {y};
        OK(dnnl_tp_executable_run(e, stream, 2, in, 1, out, NULL));
        assert_true(k ? y[0] == -1 && y[1] == -1 : y[0] == 1 && y[1] == 0);
    }
    dnnl_tp_executable_destroy(e);
    dnnl_tp_graph_destroy(g);
}

/* ---- Refusals ---------------------------------------------------------------------------------------- */

static int drops;
static void dropped(void *arg) {
    (void)arg;
    ++drops;
}

#define REFUSED(text, ...)                                                                       \
    do {                                                                                         \
        const node_t nodes_[] = {INPUT("p"),                                                     \
                                 INPUT("q"),                                                     \
                                 INPUT("x"),                                                     \
                                 {.name = "owner",                                               \
                                  .kind = dnnl_tp_v1_host,                                       \
                                  .fn = host_inc,                                                \
                                  .drop = dropped,                                               \
                                  .nout = 1,                                                     \
                                  .out_info = &scalar,                                           \
                                  IN("x")},                                                      \
                                 __VA_ARGS__};                                                   \
        dnnl_tp_graph_t g_ = (dnnl_tp_graph_t)&drops;                                            \
        drops = 0;                                                                               \
        dnnl_tp_status_t s_ =                                                                    \
            dnnl_tp_graph_import_v1(&g_, dnnl_tp_cpu, COUNT(nodes_), nodes_, 0, NULL, 0, NULL);  \
        assert_null(g_);                                                                         \
        if (s_ != dnnl_tp_invalid_graph || !strstr(dnnl_tp_last_error(), text))                  \
            fail_msg("line %d: %s: %s", __LINE__, dnnl_tp_status2str(s_), dnnl_tp_last_error()); \
        assert_int_equal(drops, 1);                                                              \
    } while (0)

static void test_refusals(void **state) {
    (void)state;
    REFUSED("node 'a' (host): input 'gone' is not there", FN("a", host_inc, "gone"));
    REFUSED("node 'a' (host): input 'x:1'", FN("a", host_inc, "x:1"));
    REFUSED("'x:b': the output is no number", FN("a", host_inc, "x:b"));
    REFUSED("node 'x' (", FN("x", host_inc, "p"));
    REFUSED("two nodes have this name", FN("x", host_inc, "p"));
    REFUSED("node 'a' (unknown kind): kind 99", {.name = "a", .kind = (dnnl_tp_v1_kind_t)99});
    REFUSED("node 's' (Switch): 1 inputs", {.name = "s", .kind = dnnl_tp_v1_switch, IN("x")});
    REFUSED("node 'm' (Merge): it has no inputs", {.name = "m", .kind = dnnl_tp_v1_merge});
    REFUSED("behind a control input", {.name = "a", .kind = dnnl_tp_v1_identity, IN("^p", "x")});
    REFUSED("it has no frame", {.name = "e", .kind = dnnl_tp_v1_enter, IN("x")});
    /* Cycles. */
    REFUSED("it is on a cycle", FN("a", host_inc, "b"), FN("b", host_inc, "a"));
    REFUSED("node 'a' (host): it is on a cycle", FN("a", host_add, "a", "x"), FN("behind", host_inc, "a"));
    REFUSED("it is on a cycle", FN("a", host_inc, "x", "^b"), FN("b", host_inc, "a"));
    /* Merges. */
#define TWO "node 'm' (Merge): two of its inputs are alive together"
    REFUSED(TWO, MERGE("m", "x", "q"));
    REFUSED(TWO, {.name = "m", .kind = dnnl_tp_v1_merge, IN("x", "p", "q")});
    REFUSED(TWO, SWITCH("s", "x", "p"), FN("a", host_inc, "s:1"), MERGE("m", "s:1", "a"));
    /* Beside a loop everything needs structure. */
#define LOOP                                                                           \
    ENTER("e", "x", "f"), MERGE("m", "e", "n"), COND("c", "m"), SWITCH("s", "m", "c"), \
        FN("d", host_dec, "s:1"), NEXT("n", "d")
    REFUSED("node 'k' (Merge): 3 inputs", LOOP, {.name = "k", .kind = dnnl_tp_v1_merge, IN("x", "p", "q")});
    REFUSED("node 'k' (Merge): both inputs can be alive", LOOP, MERGE("k", "x", "q"));
    REFUSED("node 'k' (Merge): its inputs are not the two sides", LOOP, SWITCH("t", "x", "p"),
            SWITCH("u", "x", "q"), MERGE("k", "t:1", "u:0"));
    REFUSED("node 'a' (host): 't' and another", LOOP, SWITCH("t", "x", "p"), FN("a", host_add, "t:0", "t:1"));
    /* Frames. */
    REFUSED("frame 'f' has no LoopCond", ENTER("e", "x", "f"));
    REFUSED("node 'c2' (LoopCond): frame 'f' has another one: 'c'", LOOP, COND("c2", "m"));
    REFUSED("not in a frame", COND("c", "x"));
    REFUSED("node 'a' (host): its inputs come from different frames", LOOP, FN("a", host_add, "d", "p"));
    REFUSED("node 'a' (host): it computes in a frame after the last test", LOOP, FN("a", host_inc, "s:0"));
    REFUSED("node 'y' (Exit)", LOOP, EXIT("y", "d"));
    REFUSED("node 'y' (Exit)", EXIT("y", "x"));
    REFUSED("node 'y' (Exit): what leaves", LOOP, FN("a", host_inc, "m"), SWITCH("s2", "a", "c"),
            EXIT("y", "s2"));
    REFUSED("node 'n2' (NextIteration)", LOOP, NEXT("n2", "m"));
    REFUSED("node 'n2' (NextIteration)", NEXT("n2", "x"));
    REFUSED("node 'a' (host): it reads NextIteration", LOOP, FN("a", host_inc, "n"));
    REFUSED("node 'a' (host): it reads Enter 'e'", LOOP, FN("a", host_inc, "e"));
    REFUSED("beside its NextIteration it needs an Enter", LOOP, MERGE("m2", "d", "n"));
    REFUSED("is a constant one", LOOP, FIXED("k", "x", "f"), MERGE("m2", "k", "n"));
    REFUSED("enters frame 'f' from another place", SWITCH("u", "x", "p"), ENTER("e1", "u:0", "f"),
            ENTER("e2", "u:1", "f"));
    REFUSED("node 'e2' (Enter): it enters frame 'f'", LOOP, EXIT("y", "s"), SWITCH("u", "x", "p"),
            SWITCH("v", "x", "q"), ENTER("e1", "u:0", "f"), ENTER("e2", "v:1", "f"));
    REFUSED("it is on a cycle", LOOP, EXIT("y", "s"), ENTER("e2", "y", "f"));
    REFUSED("its NextIteration 'i/n' is in another frame", LOOP, ENTER("i/e", "x", "g"),
            MERGE("i/m", "i/e", "i/n"), COND("i/c", "i/m"), SWITCH("i/s", "i/m", "i/c"), NEXT("i/n", "i/s:1"),
            ENTER("e3", "x", "f"), MERGE("m3", "e3", "i/n"));
    /* Outputs and targets. */
    const node_t nodes[] = {
        INPUT("p"),           SWITCH("s", "p", "p"), SWITCH("t", "s:1", "p"), ENTER("e", "p", "f"),
        MERGE("m", "e", "n"), COND("c", "m"),        SWITCH("u", "m", "c"),   FN("d", host_dec, "u:1"),
        NEXT("n", "d")};
    const char *const none[] = {"none"};
    dnnl_tp_graph_t g;
    assert_int_equal(dnnl_tp_graph_import_v1(&g, dnnl_tp_cpu, 3, nodes, 1, OUT("t:0"), 0, NULL),
                     dnnl_tp_invalid_graph);
    assert_non_null(strstr(dnnl_tp_last_error(), "output 't:0' is never alive"));
    assert_int_equal(dnnl_tp_graph_import_v1(&g, dnnl_tp_cpu, COUNT(nodes), nodes, 1, OUT("s:1"), 0, NULL),
                     dnnl_tp_invalid_graph);
    assert_non_null(strstr(dnnl_tp_last_error(), "not always alive"));
    assert_int_equal(dnnl_tp_graph_import_v1(&g, dnnl_tp_cpu, 2, nodes, 1, none, 0, NULL),
                     dnnl_tp_invalid_arguments);
    assert_int_equal(dnnl_tp_graph_import_v1(&g, dnnl_tp_cpu, 2, nodes, 0, NULL, 1, none),
                     dnnl_tp_invalid_arguments);
    assert_int_equal(dnnl_tp_graph_import_v1(&g, dnnl_tp_cpu, 2, NULL, 0, NULL, 0, NULL),
                     dnnl_tp_invalid_arguments);
    assert_int_equal(dnnl_tp_graph_import_v1(NULL, dnnl_tp_cpu, 0, NULL, 0, NULL, 0, NULL),
                     dnnl_tp_invalid_arguments);
}

/* ---- Out of memory ----------------------------------------------------------------------------------- */

static void test_out_of_memory(void **state) {
    (void)state;
    (void)teardown(NULL);
    static test_allocator_t a;
    test_allocator_init(&a);
    OK(dnnl_tp_set_allocator(&a.iface));
    const node_t nodes[] = {INPUT("n"),
                            INPUT("p"),
                            CONST("zero", 0, .nin = 0),
                            CONST("one", 1, .nin = 0),
                            {.name = "owner",
                             .kind = dnnl_tp_v1_host,
                             .fn = host_inc,
                             .drop = dropped,
                             .nout = 1,
                             .out_info = &scalar,
                             IN("n")},
                            SUM_LOOP("", "while", "owner", "zero", "zero", "one"),
                            SWITCH("s", "xs", "p"),
                            FN("a", host_inc, "s:1"),
                            MERGE("m", "s", "a")};
    const node_t loose[] = {INPUT("p"),
                            INPUT("q"),
                            {.name = "owner",
                             .kind = dnnl_tp_v1_host,
                             .fn = host_inc,
                             .drop = dropped,
                             .nout = 1,
                             .out_info = &scalar,
                             IN("p")},
                            SWITCH("s", "owner", "p"),
                            SWITCH("t", "owner", "q"),
                            SWITCH("r", "s", "q"),
                            FN("a", host_add, "s:1", "t:1"),
                            {.name = "m", .kind = dnnl_tp_v1_merge, IN("a", "r", "t:0")}};
    for (int way = 0; way < 2; ++way) {
        dnnl_tp_graph_t g = NULL;
        for (long n = 0; !g; ++n) {
            assert_true(n < 1000);
            drops = 0;
            a.fail_at = n;
            dnnl_tp_status_t s = dnnl_tp_graph_import_v1(&g, dnnl_tp_cpu, way ? COUNT(loose) : COUNT(nodes),
                                                         way ? loose : nodes, 1, OUT("m"), 0, NULL);
            a.fail_at = -1;
            assert_int_equal(s, g ? dnnl_tp_success : dnnl_tp_out_of_memory);
            assert_int_equal(drops, g ? 0 : 1);
        }
        dnnl_tp_graph_destroy(g);
        assert_int_equal(drops, 1);
    }
    assert_int_equal(a.live, 0);
    OK(dnnl_tp_set_allocator(NULL));
    (void)setup(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cond),
                                       cmocka_unit_test(test_nested_cond),
                                       cmocka_unit_test(test_cond_twice),
                                       cmocka_unit_test(test_while),
                                       cmocka_unit_test(test_while_forms),
                                       cmocka_unit_test(test_nested_while),
                                       cmocka_unit_test(test_while_with_cond),
                                       cmocka_unit_test(test_order),
                                       cmocka_unit_test(test_operators),
                                       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_out_of_memory)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
