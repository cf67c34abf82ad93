/* split: an operator with several results. Values against the mirror, what is copied and what is not, results that
 * nobody needs, constants, control flow, closures, text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/mirror.h"
#include "support/upload.h"

#include "dnnl_tp/dnnl_tp_graph_file.h"
#include "dnnl_tp/dnnl_tp_session.h"
#include "exec/graph/graph.h"
#include "exec/run/executable.h"

enum { MOST = 40 };
static const int64_t shape3[3] = {4, 6, 20};

static mirror_t *fresh(uint64_t seed) {
    mirror_t *m = malloc(sizeof *m);
    assert_non_null(m);
    mirror_init(m, seed);
    return m;
}

static void finish(mirror_t *m, double tolerance) {
    assert_int_equal(mirror_check(m, NULL, DNNL_TP_COMPILE_NO_FUSION, tolerance), 0);
    assert_int_equal(mirror_check(m, NULL, 0, tolerance), 0);
    mirror_free(m);
    free(m);
}

static void split(mirror_t *m, int x, int64_t axis, int n, const int64_t *sizes, int *out) {
    dnnl_tp_op_attr_t attr[2] = {mirror_s64(dnnl_tp_op_attr_axis, 1, &axis),
                                 mirror_s64(dnnl_tp_op_attr_sizes, n, sizes)};
    mirror_op_n(m, dnnl_tp_op_split, "s", 1, &x, sizes ? 2 : 1, attr, n, out);
}

/* Every axis; equal parts, parts of other sizes, empty ones; the parts themselves and what element-wise operators,
 * products and joins make of them; known and unknown dimensions; inputs and constants. */
static void test_values(void **state) {
    (void)state;
    static const int64_t sizes[3][3] = {{1, 3, 0}, {2, 3, 1}, {7, 0, 13}};
    for (int64_t axis = -3; axis < 3; ++axis)
        for (int form = 0; form < 3; ++form)
            for (int constant = 0; constant < 2; ++constant) {
                mirror_t *m = fresh((uint64_t)(axis + 3) * 6 + (uint64_t)form);
                m->runtime_dims = form == 2 && !constant;
                int y[3], x = constant ? mirror_constant(m, 3, shape3, 1.) : mirror_input(m, 3, shape3);
                split(m, x, axis, 3, form ? sizes[(axis + 3) % 3] : NULL, y);
                for (int i = 0; i < 3; ++i) mirror_output(m, y[i]);
                for (int i = 0; i < 3; ++i) mirror_output(m, mirror_unary(m, dnnl_tp_op_tanh, y[i]));
                dnnl_tp_op_attr_t attr = mirror_s64(dnnl_tp_op_attr_axis, 1, &axis);
                const int turned[3] = {y[2], y[0], y[1]};
                mirror_output(m, mirror_op(m, dnnl_tp_op_concat, "c", 3, turned, 1, &attr));
                finish(m, 2e-6);
            }
}

/* The last part of unequal ones is what is left, and may be nothing. */
static void test_equal_parts(void **state) {
    (void)state;
    const int64_t want[4] = {2, 2, 1, 0}, dims[1] = {5};
    mirror_t *m = fresh(3);
    int y[4];
    split(m, mirror_input(m, 1, dims), 0, 4, NULL, y);
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(m->value[y[i]].info.dims[0], want[i]);
        mirror_output(m, y[i]);
    }
    finish(m, 0.);
}

/* How many steps a graph is compiled to that does `kind` to all parts, or only to the second. */
static int count_steps(int64_t axis, bool all) {
    const dnnl_tp_dims_t dims = {8, 12};
    dnnl_tp_graph_t g;
    dnnl_tp_engine_t engine;
    dnnl_tp_executable_t e;
    dnnl_tp_value_t x, w, y[3], z;
    static float weights[8 * 12];
    const dnnl_tp_op_attr_t attr = mirror_s64(dnnl_tp_op_attr_axis, 1, &axis);
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &x, "x", dnnl_tp_f32, 2, dims));
    CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_split, "s", 1, &x, 1, &attr, 3, y));
    for (int i = all ? 0 : 1; i < (all ? 3 : 2); ++i) {
        if (axis == 0) {
            CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_exp, "e", 1, &y[i], 0, NULL, 1, &z));
        } else {
            const dnnl_tp_dims_t wdims = {4, 2};
            CHECK_OK(dnnl_tp_graph_constant(g, &w, "w", dnnl_tp_f32, 2, wdims, weights, DNNL_TP_CONSTANT_COPY,
                                            NULL, NULL));
            const dnnl_tp_value_t in[2] = {y[i], w};
            CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_matmul, "m", 2, in, 0, NULL, 1, &z));
        }
        CHECK_OK(dnnl_tp_graph_output(g, z, NULL));
    }
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK_OK(dnnl_tp_executable_compile(&e, g, engine, 0, NULL, NULL));
    const int n = ((const dtp_exec_t *)(const void *)e)->nsteps;
    CHECK_OK(dnnl_tp_executable_destroy(e));
    CHECK_OK(dnnl_tp_engine_destroy(engine));
    CHECK_OK(dnnl_tp_graph_destroy(g));
    return n;
}

/* Rows are dense, so element-wise operators read them in place; products read columns in place. Each has one step,
 * the end of the graph another one. */
static void test_nothing_is_copied(void **state) {
    (void)state;
    const int one = count_steps(0, false);
    assert_int_equal(count_steps(0, true), one + 2);
    assert_int_equal(count_steps(1, false), one);
    assert_int_equal(count_steps(1, true), one + 2);
}

/* a, b = split(concat(b, a)) in a loop: the next values are two parts of one buffer, exchanged each time. And the
 * parts as results of an If, of a function, as arguments of a closure. */
static dnnl_tp_status_t sum_of(void *arg, const volatile int *should_stop, int nin,
                               const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    (void)arg;
    (void)should_stop;
    (void)nout;
    float sum = 0.f;
    for (int i = 0; i < nin; ++i)
        for (int k = 0; k < 3; ++k) sum += (float)(i + 1) * ((const float *)in[i].data)[k];
    *(float *)out[0].data = sum;
    return dnnl_tp_success;
}

static void test_control_flow(void **state) {
    (void)state;
    const dnnl_tp_dims_t three = {3}, none = {0};
    const float minus_one = -1.f;
    const int64_t axis = 0;
    const dnnl_tp_op_attr_t attr = mirror_s64(dnnl_tp_op_attr_axis, 1, &axis);
    for (int window = 1; window < 4; ++window) {
        dnnl_tp_graph_t g, cond, body, then, other, f;
        dnnl_tp_value_t count, a, b, var[3], next[3], out[3], joined, parts[2], step, sum;
        CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
        CHECK_OK(dnnl_tp_graph_input(g, &count, "n", dnnl_tp_f32, 0, none));
        CHECK_OK(dnnl_tp_graph_input(g, &a, "a", dnnl_tp_f32, 1, three));
        CHECK_OK(dnnl_tp_graph_input(g, &b, "b", dnnl_tp_f32, 1, three));
        CHECK_OK(dnnl_tp_graph_create_region(&cond, g));
        CHECK_OK(dnnl_tp_graph_input(cond, &var[0], "i", dnnl_tp_f32, 0, none));
        CHECK_OK(dnnl_tp_graph_input(cond, &var[1], "a", dnnl_tp_f32, 1, three));
        CHECK_OK(dnnl_tp_graph_input(cond, &var[2], "b", dnnl_tp_f32, 1, three));
        CHECK_OK(dnnl_tp_graph_create_region(&body, cond));
        CHECK_OK(dnnl_tp_graph_constant(body, &step, "-1", dnnl_tp_f32, 0, none, &minus_one,
                                        DNNL_TP_CONSTANT_COPY, NULL, NULL));
        const dnnl_tp_value_t less[2] = {var[0], step}, turned[2] = {var[2], var[1]};
        CHECK_OK(dnnl_tp_graph_op(body, dnnl_tp_op_add, "less", 2, less, 0, NULL, 1, &next[0]));
        CHECK_OK(dnnl_tp_graph_op(body, dnnl_tp_op_concat, "c", 2, turned, 1, &attr, 1, &joined));
        CHECK_OK(dnnl_tp_graph_op(body, dnnl_tp_op_split, "s", 1, &joined, 1, &attr, 2, &next[1]));
        const dnnl_tp_value_t init[3] = {count, a, b};
        CHECK_OK(dnnl_tp_graph_while(g, "turn", cond, var[0], body, 3, init, var, next, window, out));
        /* if (a[0..]) {a, b} else {b, a}, as parts of what was joined outside */
        CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_concat, "c", 2, &out[1], 1, &attr, 1, &joined));
        dnnl_tp_tensor_info_t in_info = {.ndims = 1, .dims = {6}, .data_type = dnnl_tp_f32};
        dnnl_tp_tensor_info_t out_info[2] = {{.ndims = 1, .dims = {3}, .data_type = dnnl_tp_f32},
                                             {.ndims = 1, .dims = {3}, .data_type = dnnl_tp_f32}};
        dnnl_tp_value_t param, p[2];
        CHECK_OK(dnnl_tp_graph_create_function(&f, g, "halves", 1, &in_info, &param, 2, out_info));
        CHECK_OK(dnnl_tp_graph_op(f, dnnl_tp_op_split, "s", 1, &param, 1, &attr, 2, p));
        CHECK_OK(dnnl_tp_graph_output(f, p[1], NULL));
        CHECK_OK(dnnl_tp_graph_output(f, p[0], NULL));
        CHECK_OK(dnnl_tp_graph_call(g, "call", f, 1, &joined, 2, p)); /* b, a */
        CHECK_OK(dnnl_tp_graph_create_region(&then, g));
        CHECK_OK(dnnl_tp_graph_create_region(&other, g));
        CHECK_OK(dnnl_tp_graph_op(then, dnnl_tp_op_split, "s", 1, &joined, 1, &attr, 2, parts));
        CHECK_OK(dnnl_tp_graph_if(g, "if", count, then, other, 2, parts, p, out));
        dnnl_tp_tensor_info_t scalar = {.ndims = 0, .data_type = dnnl_tp_f32};
        CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_split, "s", 1, &joined, 1, &attr, 2, parts));
        CHECK_OK(dnnl_tp_graph_host(g, sum_of, NULL, NULL, 0, "sum", 2, parts, 1, &scalar, &sum));
        CHECK_OK(dnnl_tp_graph_output(g, out[0], NULL));
        CHECK_OK(dnnl_tp_graph_output(g, out[1], NULL));
        CHECK_OK(dnnl_tp_graph_output(g, sum, NULL));
        dnnl_tp_engine_t engine;
        dnnl_tp_stream_t stream;
        dnnl_tp_executable_t e;
        CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
        CHECK_OK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
        for (unsigned flags = 0; flags < 2; ++flags) {
            dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts,
                                           .flags = flags ? DNNL_TP_COMPILE_NO_FUSION : 0};
            CHECK_OK(dnnl_tp_executable_compile(&e, g, engine, 0, NULL, &opts));
            for (int n = 0; n < 6; ++n) {
                float times = (float)n, va[3] = {1, 2, 3}, vb[3] = {10, 20, 30}, ya[3], yb[3], s;
                void *pin[3] = {&times, va, vb}, *pout[3] = {ya, yb, &s};
                CHECK_OK(test_run_graph(e, stream, 3, pin, 3, pout, NULL));
                /* n exchanges; without any iteration the predicate is false, and the function has exchanged them */
                const float *first = n % 2 ? vb : va, *second = n % 2 ? va : vb;
                assert_memory_equal(ya, n ? first : second, sizeof ya);
                assert_memory_equal(yb, n ? second : first, sizeof yb);
                assert_true(s ==
                            (first[0] + first[1] + first[2]) + 2.f * (second[0] + second[1] + second[2]));
            }
            CHECK_OK(dnnl_tp_executable_destroy(e));
        }
        CHECK_OK(dnnl_tp_stream_destroy(stream));
        CHECK_OK(dnnl_tp_engine_destroy(engine));
        const dnnl_tp_graph_t all[] = {cond, body, then, other, f, g};
        for (size_t i = 0; i < sizeof all / sizeof *all; ++i) CHECK_OK(dnnl_tp_graph_destroy(all[i]));
    }
}

/* More results than a tensor has dimensions; some of them needed; folded once for two executables. */
static void test_many(void **state) {
    (void)state;
    const dnnl_tp_dims_t dims = {3, MOST * (MOST + 1) / 2};
    int64_t sizes[MOST];
    for (int i = 0; i < MOST; ++i) sizes[i] = i + 1;
    for (int constant = 0; constant < 2; ++constant) {
        mirror_t *m = fresh(11);
        int y[MOST], x = constant ? mirror_constant(m, 2, dims, 1.) : mirror_input(m, 2, dims);
        split(m, x, 1, MOST, sizes, y);
        for (int i = 0; i < MOST; i += 7) mirror_output(m, mirror_unary(m, dnnl_tp_op_exp, y[i]));
        finish(m, 2e-6);
    }
    dnnl_tp_graph_t g;
    dnnl_tp_value_t x, y[DTP_GRAPH_MAX_ARGS];
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &x, "x", dnnl_tp_f32, 2, dims));
    dnnl_tp_op_attr_t attr[2] = {mirror_s64(dnnl_tp_op_attr_sizes, MOST, sizes),
                                 mirror_s64(dnnl_tp_op_attr_axis, 1, &(int64_t){-1})};
#define REFUSED(nout, status, why)                                                             \
    CHECK_STATUS(dnnl_tp_graph_op(g, dnnl_tp_op_split, "s", 1, &x, 2, attr, nout, y), status); \
    assert_int_equal(dtp_last_reason(), DTP_GRAPH_##why)
    REFUSED(MOST - 1, dnnl_tp_invalid_graph_op, BAD_ARITY);
    ++sizes[0];
    REFUSED(MOST, dnnl_tp_invalid_shape, SHAPE);
    sizes[0] -= 2;
    REFUSED(MOST, dnnl_tp_invalid_shape, SHAPE);
    sizes[0] = INT64_MAX;
    REFUSED(MOST, dnnl_tp_invalid_shape, SHAPE);
    sizes[0] = -1;
    REFUSED(MOST, dnnl_tp_invalid_graph_op, BAD_ATTR);
    attr[0].count = 65;
    REFUSED(MOST, dnnl_tp_invalid_graph_op, BAD_ATTR);
    CHECK_OK(dnnl_tp_graph_destroy(g));
}

/* A result that is fed is what was fed, though its operator runs for the other one. */
static dnnl_tp_status_t two_results(void *arg, const volatile int *should_stop, int nin,
                                    const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    (void)arg;
    (void)should_stop;
    (void)nin;
    for (int i = 0; i < nout; ++i) memcpy(out[i].data, in[0].data, 2 * sizeof(float));
    return dnnl_tp_success;
}

static void test_fed_results(void **state) {
    (void)state;
    const dnnl_tp_dims_t four = {4};
    const dnnl_tp_tensor_info_t pair = {.ndims = 1, .dims = {2}, .data_type = dnnl_tp_f32},
                                all = {.ndims = 1, .dims = {4}, .data_type = dnnl_tp_f32},
                                infos[2] = {pair, pair};
    for (int closure = 0; closure < 2; ++closure)
        for (int fed = 0; fed < 2; ++fed) {
            dnnl_tp_graph_t g;
            dnnl_tp_engine_t engine;
            dnnl_tp_session_t s;
            dnnl_tp_value_t x, y[2], sum;
            CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
            CHECK_OK(dnnl_tp_graph_input(g, &x, "x", dnnl_tp_f32, 1, four));
            if (closure) CHECK_OK(dnnl_tp_graph_host(g, two_results, NULL, NULL, 0, "s", 1, &x, 2, infos, y));
            else CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_split, "s", 1, &x, 0, NULL, 2, y));
            CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_subtract, "less", 2, y, 0, NULL, 1, &sum));
            CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
            CHECK_OK(dnnl_tp_session_create(&s, g, engine, NULL));
            const float vx[4] = {1, 2, 3, 4}, given[2] = {10, 20};
            float got[2];
            const dnnl_tp_feed_t feeds[2] = {{"x", &all, vx}, {fed ? "s:1" : "s:0", &pair, given}};
            const dnnl_tp_fetch_t fetch = {"less", got};
            CHECK_OK(dnnl_tp_session_run(s, 2, feeds, 1, &fetch, 0, NULL, NULL));
            const float *made = closure || fed ? vx : vx + 2;
            for (int i = 0; i < 2; ++i)
                assert_true(got[i] == (fed ? made[i] - given[i] : given[i] - made[i]));
            CHECK_OK(dnnl_tp_session_destroy(s));
            CHECK_OK(dnnl_tp_engine_destroy(engine));
            CHECK_OK(dnnl_tp_graph_destroy(g));
        }
}

static void test_text(void **state) {
    (void)state;
    static const char text[] =
        "dnnl_tp_graph 1 cpu\n"
        "input %0: s64[2, 6] \"x\"\n"
        "%1, %2, %3 = split \"parts\" (%0) axis=1 sizes=[1, 2, 3] # s64[2, 1], s64[2, 2], s64[2, 3]\n"
        "%4, %5 = split (%3) # s64[1, 3], s64[1, 3]\n"
        "output %2\n"
        "output %5\n";
    dnnl_tp_graph_t g;
    char path[64], got[1024] = "";
    snprintf(path, sizeof path, "/tmp/dnnl_tp_split_%d.graph", (int)getpid());
    CHECK_OK(dnnl_tp_graph_read_text(&g, text, strlen(text), NULL));
    CHECK_OK(dnnl_tp_graph_write(g, path, DNNL_TP_GRAPH_TEXT));
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_true(fread(got, 1, sizeof got - 1, f) > 0);
    fclose(f);
    assert_string_equal(got, text);
    CHECK_OK(dnnl_tp_graph_write(g, path, DNNL_TP_GRAPH_DOT));
    memset(got, 0, sizeof got);
    f = fopen(path, "r");
    assert_non_null(f);
    assert_true(fread(got, 1, sizeof got - 1, f) > 0);
    fclose(f);
    remove(path);
    assert_non_null(strstr(got, "split parts\\ns64 {2, 1}\\ns64 {2, 2}\\ns64 {2, 3}"));
    CHECK_OK(dnnl_tp_graph_destroy(g));
}

/* Parts of a constant, and its elements in another shape, lie in it: for each new number of rows nothing of their size is
 * allocated, also where a part is packed, which happens once. */
static void test_parts_of_constants(void **state) {
    (void)state;
    enum { K = 192, N = 512, WEIGHTS = K * N, ROWS = 6 };
    static float wide[2 * WEIGHTS];
    dnnl_tp_engine_t engine;
    test_allocator_t counted;
    test_allocator_init(&counted);
    CHECK_OK(dnnl_tp_set_primitive_cache_capacity(0));
    CHECK_OK(dnnl_tp_set_allocator(&counted.iface));
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    const dnnl_tp_dims_t dw = {2 * K, N}, dt = {2, K * N};
    const int64_t packed = WEIGHTS * (int64_t)sizeof(float);
    dnnl_tp_graph_t holder;
    for (int i = 0; i < 2 * WEIGHTS; ++i) wide[i] = (float)(i / N % 7 - i % N % 5);
    CHECK_OK(dnnl_tp_graph_create(&holder, dnnl_tp_cpu));
    struct {
        dnnl_tp_graph_t graph;
        dnnl_tp_executable_t exec;
        int64_t rows;
    } s[3];
    for (int k = 0; k < 3; ++k) {
        const int64_t rows = 4 + k, before = atomic_load(&counted.live_bytes),
                      three[] = {3, 2 * K - 3 - rows, rows}, two[] = {1, 1}, flat[] = {K, N};
        const dnnl_tp_dims_t dx = {rows, K}, dy = {rows, N};
        const dnnl_tp_op_attr_t sizes = {dnnl_tp_op_attr_sizes, dnnl_tp_op_attr_s64, 3, three},
                                halves = {dnnl_tp_op_attr_sizes, dnnl_tp_op_attr_s64, 2, two},
                                shape = {dnnl_tp_op_attr_shape, dnnl_tp_op_attr_s64, 2, flat};
        dnnl_tp_value_t x, y, w, t, part[3], half[2], in[2];
        dnnl_tp_graph_t g;
        CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
        CHECK_OK(dnnl_tp_graph_share(g, holder));
        CHECK_OK(dnnl_tp_graph_input(g, &x, "x", dnnl_tp_f32, 2, dx));
        CHECK_OK(dnnl_tp_graph_input(g, &y, "y", dnnl_tp_f32, 2, dy));
        CHECK_OK(dnnl_tp_graph_constant(g, &w, "w", dnnl_tp_f32, 2, dw, wide, DNNL_TP_CONSTANT_BORROW, NULL,
                                        NULL));
        CHECK_OK(dnnl_tp_graph_constant(g, &t, "t", dnnl_tp_f32, 2, dt, wide, DNNL_TP_CONSTANT_BORROW, NULL,
                                        NULL));
        CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_split, "rows", 1, &w, 1, &sizes, 3, part));
        CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_split, "halves", 1, &t, 1, &halves, 2, half));
        CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_static_reshape, "flat", 1, &half[1], 1, &shape, 1, &half[1]));
        in[0] = x, in[1] = half[1];
        CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_matmul, "mm", 2, in, 0, NULL, 1, in));
        in[1] = y;
        CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_multiply, "mul", 2, in, 0, NULL, 1, in));
        in[1] = part[2];
        CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_add, "add", 2, in, 0, NULL, 1, in));
        CHECK_OK(dnnl_tp_graph_output(g, in[0], "z"));
        CHECK_OK(dnnl_tp_graph_output(g, part[1], "middle"));
        s[k].graph = g;
        s[k].rows = rows;
        CHECK_OK(dnnl_tp_executable_compile(&s[k].exec, g, engine, 0, NULL, NULL));
        const int64_t more = atomic_load(&counted.live_bytes) - before;
        assert_true(k ? more < packed / 2 : more > packed && more < packed * 2);
    }
    for (int k = 0; k < 3; ++k) {
        const int64_t rows = s[k].rows, middle = 2 * K - 3 - rows;
        static float x[ROWS * K], y[ROWS * N], z[ROWS * N], m[2 * WEIGHTS];
        dnnl_tp_stream_t stream;
        if (k == 1) {
            dnnl_tp_executable_destroy(s[0].exec);
            dnnl_tp_graph_destroy(s[0].graph);
        }
        for (int i = 0; i < rows * K; ++i) x[i] = (float)(i % 3 - 1);
        for (int i = 0; i < rows * N; ++i) y[i] = (float)(i % 2 + 1);
        CHECK_OK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
        CHECK_OK(dnnl_tp_executable_run(s[k].exec, stream, 2, (void *[]){x, y}, 2, (void *[]){z, m}, NULL));
        CHECK_OK(dnnl_tp_stream_destroy(stream));
        assert_memory_equal(m, wide + (size_t)3 * N, (size_t)(middle * N) * sizeof *m);
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < N; ++c) {
                double sum = 0;
                for (int64_t i = 0; i < K; ++i) sum += (double)x[r * K + i] * wide[WEIGHTS + i * N + c];
                sum = sum * y[r * N + c] + wide[(3 + middle + r) * N + c];
                assert_true(z[r * N + c] == sum);
            }
    }
    for (int k = 1; k < 3; ++k) {
        dnnl_tp_graph_destroy(s[k].graph);
        dnnl_tp_executable_destroy(s[k].exec);
    }
    dnnl_tp_graph_destroy(holder);
    dnnl_tp_engine_destroy(engine);
    CHECK_OK(dnnl_tp_set_allocator(NULL));
    assert_true(test_becomes(&counted.live_bytes, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_equal_parts),
        cmocka_unit_test(test_nothing_is_copied),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_fed_results),
        cmocka_unit_test(test_control_flow),
        cmocka_unit_test(test_parts_of_constants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
