/* Values that are known while shapes are inferred: chains from shape_of to reshape, constants that belong to their
 * executable, inputs that determine shapes, given to compilation and to sessions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "dnnl_tp/dnnl_tp_session.h"
#include "exec/run/executable.h"
#include "support/check.h"
#include "support/upload.h"

#define OK(expr) assert_int_equal(expr, dnnl_tp_success)
enum { OPEN = -1 };

typedef struct {
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    dnnl_tp_graph_t g;
} case_t;

static void begin(case_t *c) {
    OK(dnnl_tp_engine_create(&c->engine, dnnl_tp_cpu, 0));
    OK(dnnl_tp_stream_create(&c->stream, c->engine, 0));
    OK(dnnl_tp_graph_create(&c->g, dnnl_tp_cpu));
}
static void end(case_t *c) {
    OK(dnnl_tp_graph_destroy(c->g));
    OK(dnnl_tp_stream_destroy(c->stream));
    OK(dnnl_tp_engine_destroy(c->engine));
}
/* dims: OPEN = not known. */
static dnnl_tp_value_t input(dnnl_tp_graph_t g, const char *name, dnnl_tp_data_type_t type, int ndims,
                             const int64_t *dims) {
    dnnl_tp_dims_t d = {0};
    dnnl_tp_value_t v;
    for (int i = 0; i < ndims; ++i) d[i] = dims[i] == OPEN ? DNNL_TP_RUNTIME_DIM_VAL : dims[i];
    OK(dnnl_tp_graph_input(g, &v, name, type, ndims, d));
    return v;
}
static dnnl_tp_value_t numbers(dnnl_tp_graph_t g, int n, const int64_t *values) {
    dnnl_tp_dims_t d = {n};
    dnnl_tp_value_t v;
    OK(dnnl_tp_graph_constant(g, &v, "numbers", dnnl_tp_s64, 1, d, values, DNNL_TP_CONSTANT_COPY, NULL,
                              NULL));
    return v;
}
static dnnl_tp_value_t op2(dnnl_tp_graph_t g, dnnl_tp_op_kind_t kind, dnnl_tp_value_t a, dnnl_tp_value_t b) {
    const dnnl_tp_value_t in[2] = {a, b};
    dnnl_tp_value_t v;
    OK(dnnl_tp_graph_op(g, kind, "op", b < 0 ? 1 : 2, in, 0, NULL, 1, &v));
    return v;
}
static dnnl_tp_value_t joined(dnnl_tp_graph_t g, dnnl_tp_value_t a, dnnl_tp_value_t b) {
    const int64_t axis = 0;
    const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, &axis};
    const dnnl_tp_value_t in[2] = {a, b};
    dnnl_tp_value_t v;
    OK(dnnl_tp_graph_op(g, dnnl_tp_op_concat, "joined", 2, in, 1, &attr, 1, &v));
    return v;
}

/* x {?, ?, 6} as {dims[0], -1}, then relu. */
static dnnl_tp_value_t flattened(case_t *c) {
    const int64_t zero = 0, rest = -1;
    dnnl_tp_value_t x = input(c->g, "x", dnnl_tp_f32, 3, (int64_t[]){OPEN, OPEN, 6});
    dnnl_tp_value_t dims = op2(c->g, dnnl_tp_op_shape_of, x, -1);
    dnnl_tp_value_t first = op2(c->g, dnnl_tp_op_gather, dims, numbers(c->g, 1, &zero));
    dnnl_tp_value_t shape = joined(c->g, first, numbers(c->g, 1, &rest));
    dnnl_tp_value_t flat = op2(c->g, dnnl_tp_op_reshape, x, shape), y = op2(c->g, dnnl_tp_op_relu, flat, -1);
    dnnl_tp_tensor_info_t info;
    OK(dnnl_tp_graph_value_info(c->g, flat, &info));
    assert_true(info.ndims == 2 && info.dims[0] == DNNL_TP_RUNTIME_DIM_VAL);
    OK(dnnl_tp_graph_output(c->g, y, "y"));
    return flat;
}

static int count_derived(const dtp_graph_t *g) {
    int n = 0;
    for (size_t b = 0; b < sizeof g->store->derived / sizeof *g->store->derived; ++b)
        for (const dtp_derived_t *d = g->store->derived[b]; d; d = d->next) ++n;
    return n;
}

static void test_chain(void **state) {
    (void)state;
    case_t c;
    begin(&c);
    dnnl_tp_value_t flat = flattened(&c);
    float src[3 * 4 * 6], dst[3 * 4 * 6];
    for (int i = 0; i < 72; ++i) src[i] = (float)(i % 5) - 2.f;
    for (int rows = 1; rows <= 3; ++rows) {
        const dnnl_tp_tensor_info_t shape = {
            .ndims = 3, .dims = {rows, rows + 1, 6}, .data_type = dnnl_tp_f32};
        dnnl_tp_executable_t e;
        dnnl_tp_tensor_info_t info;
        OK(dnnl_tp_executable_compile(&e, c.g, c.engine, 1, &shape, NULL));
        OK(dnnl_tp_executable_query(e, flat, &info));
        assert_true(info.ndims == 2 && info.dims[0] == rows && info.dims[1] == (rows + 1) * 6);
        assert_int_equal(e->nsteps, 2); /* relu and the end */
        memset(dst, 0xff, sizeof dst);
        OK(test_run_graph(e, c.stream, 1, (void *[]){src}, 1, (void *[]){dst}, NULL));
        for (int i = 0; i < rows * (rows + 1) * 6; ++i) assert_true(dst[i] == (src[i] > 0.f ? src[i] : 0.f));
        OK(dnnl_tp_executable_destroy(e));
        assert_int_equal(count_derived(c.g->root), 0);
    }
    end(&c);
}

/* x {?, ?} as one row of dims[0] * dims[1] - 1 + 1 elements; then an If whose predicate is dims[0] - 2. */
static void test_arithmetic(void **state) {
    (void)state;
    case_t c;
    begin(&c);
    const int64_t zero = 0, one = 1, two = 2;
    dnnl_tp_value_t x = input(c.g, "x", dnnl_tp_f32, 2, (int64_t[]){OPEN, OPEN});
    dnnl_tp_value_t dims = op2(c.g, dnnl_tp_op_shape_of, x, -1), number = numbers(c.g, 1, &one);
    dnnl_tp_value_t d0 = op2(c.g, dnnl_tp_op_gather, dims, numbers(c.g, 1, &zero));
    dnnl_tp_value_t d1 = op2(c.g, dnnl_tp_op_gather, dims, number);
    dnnl_tp_value_t n = op2(c.g, dnnl_tp_op_subtract, op2(c.g, dnnl_tp_op_multiply, d0, d1), number);
    dnnl_tp_value_t flat = op2(c.g, dnnl_tp_op_reshape, x, op2(c.g, dnnl_tp_op_add, n, number)), picked;
    dnnl_tp_value_t pred = op2(c.g, dnnl_tp_op_subtract, d0, numbers(c.g, 1, &two));
    dnnl_tp_graph_t a, b;
    OK(dnnl_tp_graph_create_region(&a, c.g));
    OK(dnnl_tp_graph_create_region(&b, c.g));
    dnnl_tp_value_t then = op2(a, dnnl_tp_op_relu, flat, -1), other = op2(b, dnnl_tp_op_abs, flat, -1);
    OK(dnnl_tp_graph_if(c.g, "pick", pred, a, b, 1, &then, &other, &picked));
    OK(dnnl_tp_graph_output(c.g, picked, "y"));
    float src[12], dst[12];
    for (int i = 0; i < 12; ++i) src[i] = (float)(i % 3) - 1.f;
    for (int rows = 2; rows <= 3; ++rows) {
        const dnnl_tp_tensor_info_t shape = {.ndims = 2, .dims = {rows, 4}, .data_type = dnnl_tp_f32};
        dnnl_tp_executable_t e;
        dnnl_tp_tensor_info_t info;
        OK(dnnl_tp_executable_compile(&e, c.g, c.engine, 1, &shape, NULL));
        OK(dnnl_tp_executable_query(e, picked, &info));
        assert_true(info.ndims == 1 && info.dims[0] == rows * 4);
        assert_int_equal(e->nsteps, 2);
        OK(test_run_graph(e, c.stream, 1, (void *[]){src}, 1, (void *[]){dst}, NULL));
        for (int i = 0; i < rows * 4; ++i)
            assert_true(dst[i] == (src[i] >= 0.f ? src[i] : rows == 2 ? -src[i] : 0.f));
        OK(dnnl_tp_executable_destroy(e));
    }
    OK(dnnl_tp_graph_destroy(a));
    OK(dnnl_tp_graph_destroy(b));
    end(&c);
}

/* The sizes of the parts come from a shape: x {?, 3} as its first row, all but the first two and the last, the rest. */
static void test_parts(void **state) {
    (void)state;
    case_t c;
    begin(&c);
    const int64_t zero = 0, one = 1, fixed[2] = {1, 1}, axis = 0;
    enum { PARTS = 3 };
    dnnl_tp_value_t x = input(c.g, "x", dnnl_tp_f32, 2, (int64_t[]){OPEN, 3}), y[PARTS];
    dnnl_tp_value_t first = numbers(c.g, 1, &one), rest = numbers(c.g, 1, &one);
    dnnl_tp_value_t all =
        op2(c.g, dnnl_tp_op_gather, op2(c.g, dnnl_tp_op_shape_of, x, -1), numbers(c.g, 1, &zero));
    dnnl_tp_value_t middle = op2(c.g, dnnl_tp_op_subtract, op2(c.g, dnnl_tp_op_subtract, all, first), rest);
    dnnl_tp_value_t sizes = joined(c.g, joined(c.g, first, middle), rest), in[2] = {x, sizes};
    const dnnl_tp_op_attr_t attr[] = {{dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, &axis},
                                      {dnnl_tp_op_attr_sizes, dnnl_tp_op_attr_s64, 2, fixed}};
    OK(dnnl_tp_graph_op(c.g, dnnl_tp_op_split, "parts", 2, in, 1, attr, PARTS, y));
    dnnl_tp_tensor_info_t info;
    OK(dnnl_tp_graph_value_info(c.g, y[1], &info));
    assert_true(info.ndims == 2 && info.dims[0] == DNNL_TP_RUNTIME_DIM_VAL && info.dims[1] == 3);
    OK(dnnl_tp_graph_output(c.g, op2(c.g, dnnl_tp_op_abs, y[1], -1), "y"));
    dnnl_tp_value_t none[PARTS];
    CHECK_STATUS(dnnl_tp_graph_op(c.g, dnnl_tp_op_split, "parts", 2, in, 1, attr, 2, none),
                 dnnl_tp_invalid_shape); /* another number of parts */
    CHECK_STATUS(dnnl_tp_graph_op(c.g, dnnl_tp_op_split, "parts", 2, in, 2, attr, 2, none),
                 dnnl_tp_invalid_shape); /* sizes twice */
    CHECK_STATUS(
        dnnl_tp_graph_op(c.g, dnnl_tp_op_split, "parts", 2, (dnnl_tp_value_t[]){x, x}, 1, attr, 2, none),
        dnnl_tp_invalid_data_type);
    float src[15], dst[15];
    for (int i = 0; i < 15; ++i) src[i] = (float)-i;
    for (int rows = 1; rows <= 5; ++rows) {
        const dnnl_tp_tensor_info_t shape = {.ndims = 2, .dims = {rows, 3}, .data_type = dnnl_tp_f32};
        dnnl_tp_executable_t e;
        if (rows < 2) {
            CHECK_STATUS(dnnl_tp_executable_compile(&e, c.g, c.engine, 1, &shape, NULL),
                         dnnl_tp_invalid_graph_op);
            continue; /* -1 rows */
        }
        OK(dnnl_tp_executable_compile(&e, c.g, c.engine, 1, &shape, NULL));
        OK(dnnl_tp_executable_query(e, y[1], &info));
        assert_true(info.dims[0] == rows - 2 && info.dims[1] == 3);
        OK(test_run_graph(e, c.stream, 1, (void *[]){src}, 1, (void *[]){dst}, NULL));
        for (int i = 0; i < (rows - 2) * 3; ++i) assert_true(dst[i] == (float)(i + 3));
        OK(dnnl_tp_executable_destroy(e));
    }
    end(&c);
}

/* A shape's elements as data: the run delivers them, folded or not. */
static void test_as_output(void **state) {
    (void)state;
    case_t c;
    begin(&c);
    dnnl_tp_value_t x = input(c.g, "x", dnnl_tp_f32, 2, (int64_t[]){OPEN, 3});
    dnnl_tp_value_t relu = op2(c.g, dnnl_tp_op_relu, x, -1), dims = op2(c.g, dnnl_tp_op_shape_of, x, -1);
    OK(dnnl_tp_graph_control_dependency(c.g, relu, dims)); /* stays an operator */
    OK(dnnl_tp_graph_output(c.g, dims, "dims"));
    OK(dnnl_tp_graph_output(c.g, op2(c.g, dnnl_tp_op_shape_of, relu, -1), "again"));
    const dnnl_tp_tensor_info_t shape = {.ndims = 2, .dims = {5, 3}, .data_type = dnnl_tp_f32};
    dnnl_tp_executable_t e;
    OK(dnnl_tp_executable_compile(&e, c.g, c.engine, 1, &shape, NULL));
    float src[15] = {0};
    int64_t a[2] = {0}, b[2] = {0};
    OK(test_run_graph(e, c.stream, 1, (void *[]){src}, 2, (void *[]){a, b}, NULL));
    assert_true(a[0] == 5 && a[1] == 3 && b[0] == 5 && b[1] == 3);
    OK(dnnl_tp_executable_destroy(e));
    end(&c);
}

static dnnl_tp_value_t by_input(case_t *c) {
    dnnl_tp_value_t x = input(c->g, "x", dnnl_tp_f32, 1, (int64_t[]){12});
    dnnl_tp_value_t shape = input(c->g, "shape", dnnl_tp_s32, 1, (int64_t[]){2});
    dnnl_tp_value_t flat = op2(c->g, dnnl_tp_op_reshape, x, shape), y = op2(c->g, dnnl_tp_op_relu, flat, -1);
    OK(dnnl_tp_graph_output(c->g, y, "y"));
    return y;
}

static void test_values_of_inputs(void **state) {
    (void)state;
    case_t c;
    begin(&c);
    dnnl_tp_value_t y = by_input(&c);
    dnnl_tp_executable_t e;
    assert_int_equal(dnnl_tp_executable_compile(&e, c.g, c.engine, 0, NULL, NULL), dnnl_tp_invalid_shape);
    assert_int_equal(dtp_last_reason(), DTP_GRAPH_RUNTIME_SHAPE);
    assert_non_null(strstr(dnnl_tp_last_error(), "'op' (reshape)"));
    float src[12] = {1, -1}, dst[12];
    int32_t shape[2] = {3, -1}, other[2] = {4, 3};
    const void *values[2] = {NULL, shape};
    dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts, .in_values = values};
    OK(dnnl_tp_executable_compile(&e, c.g, c.engine, 0, NULL, &opts));
    dnnl_tp_tensor_info_t info;
    OK(dnnl_tp_executable_query(e, y, &info));
    assert_true(info.ndims == 2 && info.dims[0] == 3 && info.dims[1] == 4);
    OK(test_run_graph(e, c.stream, 2, (void *[]){src, shape}, 1, (void *[]){dst}, NULL));
    OK(test_run_graph(e, c.stream, 2, (void *[]){src, NULL}, 1, (void *[]){dst}, NULL));
    assert_true(dst[0] == 1.f && dst[1] == 0.f);
    dst[0] = 7.f;
    assert_int_equal(test_run_graph(e, c.stream, 2, (void *[]){src, other}, 1, (void *[]){dst}, NULL),
                     dnnl_tp_invalid_arguments);
    assert_true(dst[0] == 7.f);
    OK(dnnl_tp_executable_destroy(e));
    shape[0] = 5; /* 12 elements are no {5, rest} */
    assert_int_equal(dnnl_tp_executable_compile(&e, c.g, c.engine, 0, NULL, &opts), dnnl_tp_invalid_shape);
    values[0] = src;
    assert_int_equal(dnnl_tp_executable_compile(&e, c.g, c.engine, 0, NULL, &opts),
                     dnnl_tp_invalid_arguments);
    assert_non_null(strstr(dnnl_tp_last_error(), "'x'"));
    end(&c);
}

/* A session compiles once for each shape that is fed, and forgets the one that was used longest ago. */
static void test_session(void **state) {
    (void)state;
    case_t c;
    begin(&c);
    (void)by_input(&c);
    dnnl_tp_session_t s;
    dnnl_tp_session_opts_t opts = {.struct_size = sizeof opts, .max_executables = 2};
    OK(dnnl_tp_session_create(&s, c.g, c.engine, &opts));
    float src[12] = {1, -1}, dst[12];
    static const int32_t shapes[][2] = {{3, 4}, {4, 3}, {3, 4}, {2, -1}, {4, 3}, {4, 3}};
    static const int compiled[] = {1, 2, 2, 3, 4, 4};
    for (int i = 0; i < 6; ++i) {
        const dnnl_tp_feed_t feeds[2] = {{"shape", NULL, shapes[i]}, {"x", NULL, src}};
        const dnnl_tp_fetch_t fetch = {"y", dst};
        OK(dnnl_tp_session_run(s, 2, feeds, 1, &fetch, 0, NULL, NULL));
        assert_true(dst[0] == 1.f && dst[1] == 0.f);
        dnnl_tp_session_stats_t stats = {.struct_size = sizeof stats};
        OK(dnnl_tp_session_query(s, &stats));
        assert_int_equal(stats.compilations, compiled[i]);
    }
    const int32_t wrong[2] = {5, 5};
    const dnnl_tp_feed_t feeds[2] = {{"shape", NULL, wrong}, {"x", NULL, src}};
    const dnnl_tp_fetch_t fetch = {"y", dst};
    assert_int_equal(dnnl_tp_session_run(s, 2, feeds, 1, &fetch, 0, NULL, NULL), dnnl_tp_invalid_shape);
    OK(dnnl_tp_session_destroy(s));
    end(&c);
}

/* Parts of a table whose lengths come from the shape of an input lie in the table, and what is computed from them takes
 * memory only where a run reads it: neither a copy of the table nor the links of a chain stay with an executable. */
static void test_memory(void **state) {
    (void)state;
    enum { ROWS = 512, COLUMNS = 96, LINKS = 6 };
    static float table[ROWS * COLUMNS], x[ROWS * COLUMNS], y[ROWS * COLUMNS];
    const int64_t zero = 0, all_rows = ROWS, axis = 0;
    test_allocator_t counted;
    case_t c;
    test_allocator_init(&counted);
    CHECK_OK(dnnl_tp_set_primitive_cache_capacity(0));
    OK(dnnl_tp_set_allocator(&counted.iface));
    begin(&c);
    for (int i = 0; i < ROWS * COLUMNS; ++i) table[i] = (float)(i % 13 - 6);
    dnnl_tp_value_t in = input(c.g, "x", dnnl_tp_f32, 2, (int64_t[]){OPEN, COLUMNS}), t, y2[2];
    OK(dnnl_tp_graph_constant(c.g, &t, "table", dnnl_tp_f32, 2, (int64_t[DNNL_TP_MAX_NDIMS]){ROWS, COLUMNS},
                              table, DNNL_TP_CONSTANT_BORROW, NULL, NULL));
    dnnl_tp_value_t rows =
        op2(c.g, dnnl_tp_op_gather, op2(c.g, dnnl_tp_op_shape_of, in, -1), numbers(c.g, 1, &zero));
    dnnl_tp_value_t rest = op2(c.g, dnnl_tp_op_subtract, numbers(c.g, 1, &all_rows), rows),
                    split[2] = {t, joined(c.g, rows, rest)};
    const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, &axis};
    OK(dnnl_tp_graph_op(c.g, dnnl_tp_op_split, "parts", 2, split, 1, &attr, 2, y2));
    dnnl_tp_value_t link = y2[0];
    for (int i = 0; i < LINKS; ++i) link = op2(c.g, dnnl_tp_op_add, link, y2[0]);
    OK(dnnl_tp_graph_output(c.g, op2(c.g, dnnl_tp_op_add, op2(c.g, dnnl_tp_op_multiply, in, link), y2[0]),
                            "y"));
    dnnl_tp_executable_t e[3];
    for (int k = 0; k < 3; ++k) {
        const int64_t n = ROWS / 2 + 64 * k, bytes = n * COLUMNS * (int64_t)sizeof(float),
                      before = atomic_load(&counted.live_bytes);
        const dnnl_tp_tensor_info_t shape = {.ndims = 2, .dims = {n, COLUMNS}, .data_type = dnnl_tp_f32};
        OK(dnnl_tp_executable_compile(&e[k], c.g, c.engine, 1, &shape, NULL));
        assert_true(k == 0 || atomic_load(&counted.live_bytes) - before < 3 * bytes);
        for (int i = 0; i < n * COLUMNS; ++i) x[i] = (float)(i % 5);
        OK(test_run_graph(e[k], c.stream, 1, (void *[]){x}, 1, (void *[]){y}, NULL));
        for (int i = 0; i < n * COLUMNS; ++i)
            assert_true(y[i] == x[i] * table[i] * (float)(LINKS + 1) + table[i]);
    }
    for (int k = 0; k < 3; ++k) OK(dnnl_tp_executable_destroy(e[k]));
    end(&c);
    OK(dnnl_tp_set_allocator(NULL));
    assert_true(test_becomes(&counted.live_bytes, 0));
}

/* Parts of folded constants, which lose their data when nothing reads them: parts do not lie in these. */
static void test_parts_of_folded(void **state) {
    (void)state;
    enum { ROWS = 512, COLUMNS = 96, HALF = ROWS / 2, QUARTER = ROWS / 4 };
    static float table[ROWS * COLUMNS], x[ROWS * COLUMNS], y[ROWS * COLUMNS];
    const int64_t zero = 0, all_rows = ROWS, axis = 0;
    const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, &axis};
    dnnl_tp_value_t t, half[2], part[2], quarter[2];
    case_t c;
    begin(&c);
    for (int i = 0; i < ROWS * COLUMNS; ++i) table[i] = (float)(i % 13 - 6);
    const dnnl_tp_value_t in = input(c.g, "x", dnnl_tp_f32, 2, (int64_t[]){OPEN, COLUMNS});
    OK(dnnl_tp_graph_constant(c.g, &t, "table", dnnl_tp_f32, 2, (int64_t[DNNL_TP_MAX_NDIMS]){ROWS, COLUMNS},
                              table, DNNL_TP_CONSTANT_BORROW, NULL, NULL));
    /* Of all executables. */
    const dnnl_tp_value_t twice = op2(c.g, dnnl_tp_op_add, t, t);
    OK(dnnl_tp_graph_op(c.g, dnnl_tp_op_split, "halves", 1, &twice, 1, &attr, 2, half));
    /* Of one: its rows come from a shape. */
    const dnnl_tp_value_t rows =
        op2(c.g, dnnl_tp_op_gather, op2(c.g, dnnl_tp_op_shape_of, in, -1), numbers(c.g, 1, &zero));
    const dnnl_tp_value_t rest = op2(c.g, dnnl_tp_op_subtract, numbers(c.g, 1, &all_rows), rows),
                          split[2] = {t, joined(c.g, rows, rest)};
    OK(dnnl_tp_graph_op(c.g, dnnl_tp_op_split, "parts", 2, split, 1, &attr, 2, part));
    const dnnl_tp_value_t own = op2(c.g, dnnl_tp_op_multiply, part[0], part[0]);
    OK(dnnl_tp_graph_op(c.g, dnnl_tp_op_split, "quarters", 1, &own, 1, &attr, 2, quarter));
    const dnnl_tp_value_t turned = joined(c.g, quarter[1], quarter[0]),
                          sum = op2(c.g, dnnl_tp_op_add, op2(c.g, dnnl_tp_op_multiply, in, half[0]), half[1]);
    OK(dnnl_tp_graph_output(c.g, op2(c.g, dnnl_tp_op_add, sum, turned), "y"));
    const dnnl_tp_tensor_info_t shape = {.ndims = 2, .dims = {HALF, COLUMNS}, .data_type = dnnl_tp_f32};
    dnnl_tp_executable_t e;
    OK(dnnl_tp_executable_compile(&e, c.g, c.engine, 1, &shape, NULL));
    for (int i = 0; i < HALF * COLUMNS; ++i) x[i] = (float)(i % 5);
    OK(test_run_graph(e, c.stream, 1, (void *[]){x}, 1, (void *[]){y}, NULL));
    for (int i = 0; i < HALF * COLUMNS; ++i) {
        const float from = table[(i + QUARTER * COLUMNS) % (HALF * COLUMNS)];
        assert_true(y[i] == x[i] * 2 * table[i] + 2 * table[i + HALF * COLUMNS] + from * from);
    }
    OK(dnnl_tp_executable_destroy(e));
    end(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts_of_folded),
                                       cmocka_unit_test(test_chain),
                                       cmocka_unit_test(test_arithmetic),
                                       cmocka_unit_test(test_as_output),
                                       cmocka_unit_test(test_parts),
                                       cmocka_unit_test(test_memory),
                                       cmocka_unit_test(test_values_of_inputs),
                                       cmocka_unit_test(test_session)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
