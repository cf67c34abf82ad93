/* NaN in graphs stays NaN, wherever it stands: in every operator of one element, in maxima and minima of two tensors, over axes and
 * in windows, of every length up to more than the longest run of vectors, fed and constant, on every instruction set, on one
 * thread and on three. A row of a matrix has its NaN in the column of the row's number, the last row has none; what no NaN
 * reaches is a number. A new function of one element is in here by being in the table. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec/ops/ops.h"
#include "support/check.h"
#include "support/graph_on.h"
#include "support/upload.h"

enum { LONGEST = 70, MOST = LONGEST * (LONGEST + 1) };
enum { MOST_ATTRS = 6 };

/* Elements of f32 or f64. */
typedef struct {
    dnnl_tp_data_type_t type;
    union {
        float f[MOST];
        double d[MOST];
    } at;
} elements_t;
static double get(const elements_t *x, int64_t i) {
    return x->type == dnnl_tp_f32 ? (double)x->at.f[i] : x->at.d[i];
}
static void set(elements_t *x, int64_t i, double v) {
    if (x->type == dnnl_tp_f32) x->at.f[i] = (float)v;
    else x->at.d[i] = v;
}
/* Numbers of (0, 1), which every function takes; with is_diagonal, NaN in the diagonal. */
static void fill(elements_t *x, dnnl_tp_data_type_t type, int64_t rows, int64_t cols, bool is_diagonal) {
    x->type = type;
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < cols; ++c)
            set(x, r * cols + c,
                is_diagonal && r == c ? NAN : .05 + .9 * (double)((r * 7 + c * 5) % 11) / 11);
}

static bool wanted_place(const place_t *at) { return at->threads == 1 || at->threads == 3; }

/* The lengths: all of them on one thread for f32, some of them otherwise. */
static bool wanted(const place_t *at, dnnl_tp_data_type_t type, int64_t n) {
    return (at->threads == 1 && type == dnnl_tp_f32) || n % 9 == 7;
}

typedef struct {
    dnnl_tp_op_kind_t kind;
    const char *name;
    int nattr;
    dnnl_tp_op_attr_t attr[MOST_ATTRS];
} op_t;

/* Result i is NaN where is_nan(i, arg) says so. */
typedef bool is_nan_t(int64_t i, int64_t cols);
static bool on_diagonal(int64_t i, int64_t cols) { return i / cols == i % cols; }
static bool in_column(int64_t i, int64_t cols) { return i % cols == cols / 2; }
static bool anywhere(int64_t i, int64_t cols) { return i < cols || cols == 0; }

static void check(const op_t *op, dnnl_tp_data_type_t type, int64_t n, int nin, const test_tensor_t *in,
                  int64_t results, int64_t cols, is_nan_t *is_nan) {
    static elements_t y;
    int places_n;
    const place_t *at = places(&places_n);
    for (int p = 0; p < places_n; ++p) {
        if (!wanted_place(&at[p]) || !wanted(&at[p], type, n)) continue;
        for (unsigned constants = 0; constants < 1u << nin; ++constants) {
            y.type = type;
            if (!test_graph_on(&at[p], op->kind, op->nattr, op->attr, nin, in, constants, &y.at, sizeof y.at))
                continue;
            for (int64_t i = 0; i < results; ++i)
                if (isnan(get(&y, i)) != is_nan(i, cols))
                    fail_msg("%s, %s of %s, length %lld, constants %x: result %lld is %g", at[p].name,
                             op->name, dnnl_tp_dt2str(type), (long long)n, constants, (long long)i,
                             get(&y, i));
        }
    }
}

static const dnnl_tp_data_type_t types[] = {dnnl_tp_f32, dnnl_tp_f64};
enum { NTYPES = 2 };

/* ---- Functions of one element --------------------------------------------------------------------------- */

/* With all attributes that have no default: .5, but that what ends a range is 1. */
static op_t unary_of(const dtp_op_row_t *row) {
    static const float half = .5f, one = 1.f;
    op_t op = {.kind = (dnnl_tp_op_kind_t)row->kind, .name = row->name};
    int n;
    const dtp_op_field_t *f = dtp_op_fields(row, &n);
    for (int i = 0; i < n; ++i)
        if (f[i].key != DTP_ATTR_FIXED && f[i].needed)
            op.attr[op.nattr++] =
                (dnnl_tp_op_attr_t){f[i].key, f[i].type, 1, strcmp(f[i].name, "max") ? &half : &one};
    return op;
}

static void test_unary(void **state) {
    (void)state;
    static elements_t x;
    for (int r = 0; r < dtp_op_nrows; ++r) {
        const dtp_op_row_t *row = &dtp_op_rows[r];
        if (row->cls != &dtp_class_unary) continue;
        const op_t op = unary_of(row);
        for (int t = 0; t < NTYPES; ++t) {
            if (!dtp_ew_takes(((const dtp_alg_row_t *)row->param)->alg, types[t])) continue;
            for (int64_t n = 1; n <= LONGEST; n += n < 36 ? 1 : 3) {
                fill(&x, types[t], n + 1, n, true);
                check(&op, types[t], n, 1, &(test_tensor_t){types[t], 2, {n + 1, n}, &x.at}, (n + 1) * n, n,
                      on_diagonal);
            }
        }
    }
}

/* ---- Maxima and minima ------------------------------------------------------------------------------------ */

static const op_t extremes[] = {{.kind = dnnl_tp_op_maximum, .name = "maximum"},
                                {.kind = dnnl_tp_op_minimum, .name = "minimum"}};

static void test_of_two(void **state) {
    (void)state;
    static elements_t x, y;
    for (int e = 0; e < 2; ++e)
        for (int t = 0; t < NTYPES; ++t)
            for (int64_t n = 1; n <= LONGEST; ++n) {
                const dnnl_tp_data_type_t type = types[t];
                const test_tensor_t full = {type, 2, {n + 1, n}, &x.at}, other = {type, 2, {n + 1, n}, &y.at},
                                    row = {type, 1, {n}, &y.at}, one = {type, 1, {1}, &y.at};
                /* In the one or in the other, of the same shape, of a row, of an element. */
                fill(&x, type, n + 1, n, true);
                fill(&y, type, n + 1, n, false);
                for (int k = 0; k < 3; ++k) {
                    const test_tensor_t of = k == 0 ? other : k == 1 ? row : one;
                    check(&extremes[e], type, n, 2, (const test_tensor_t[]){full, of}, (n + 1) * n, n,
                          on_diagonal);
                    check(&extremes[e], type, n, 2, (const test_tensor_t[]){of, full}, (n + 1) * n, n,
                          on_diagonal);
                }
                fill(&x, type, n + 1, n, false);
                fill(&y, type, 1, n, false);
                set(&y, n / 2, NAN);
                check(&extremes[e], type, n, 2, (const test_tensor_t[]){full, row}, (n + 1) * n, n,
                      in_column);
                check(&extremes[e], type, n, 2, (const test_tensor_t[]){row, full}, (n + 1) * n, n,
                      in_column);
                set(&y, 0, NAN);
                check(&extremes[e], type, n, 2, (const test_tensor_t[]){full, one}, (n + 1) * n, 0, anywhere);
            }
}

static void test_over_axes(void **state) {
    (void)state;
    static elements_t x, turned;
    static const int64_t axes[] = {0, 1};
    for (int k = 0; k < 4; ++k) {
        const int largest = k & 1, axis = k >> 1;
        const op_t op = {.kind = largest ? dnnl_tp_op_reduce_max : dnnl_tp_op_reduce_min,
                         .name = largest ? "reduce_max" : "reduce_min",
                         .nattr = 1,
                         .attr = {{dnnl_tp_op_attr_axes, dnnl_tp_op_attr_s64, 1, &axes[axis]}}};
        for (int t = 0; t < NTYPES; ++t)
            for (int64_t n = 1; n <= LONGEST; ++n) {
                fill(&x, types[t], n + 1, n, true);
                turned.type = types[t];
                for (int64_t i = 0; i < (n + 1) * n; ++i) set(&turned, i % n * (n + 1) + i / n, get(&x, i));
                const test_tensor_t in = axis ? (test_tensor_t){types[t], 2, {n + 1, n}, &x.at}
                                              : (test_tensor_t){types[t], 2, {n, n + 1}, &turned.at};
                check(&op, types[t], n, 1, &in, n + 1, n, anywhere);
            }
    }
}

/* All of a long tensor, which several units of work share. */
static void test_over_all(void **state) {
    (void)state;
    enum { LONG = 300001 };
    static const int64_t positions[] = {0, 1, 5, 1000, 65535, 65536, 150000, LONG - 17, LONG - 1};
    float *x = malloc(LONG * sizeof *x), y;
    assert_non_null(x);
    for (int64_t i = 0; i < LONG; ++i) x[i] = (float)(i % 1013);
    int n;
    const place_t *at = places(&n);
    for (size_t k = 0; k < sizeof positions / sizeof *positions; ++k) {
        x[positions[k]] = NAN;
        const test_tensor_t in = {dnnl_tp_f32, 1, {LONG}, x};
        for (int p = 0; p < n; ++p) {
            if (!wanted_place(&at[p])) continue;
            if (!test_graph_on(&at[p], dnnl_tp_op_reduce_max, 0, NULL, 1, &in, 0, &y, sizeof y)) continue;
            if (!isnan(y)) fail_msg("%s: NaN at %lld is lost", at[p].name, (long long)positions[k]);
        }
        x[positions[k]] = 3;
    }
    free(x);
}

/* ---- Windows: cts/test_pooling.c has the layouts -------------------------------------------------------------- */

static int64_t kernel, stride, padding;
static bool in_window(int64_t i, int64_t cols) {
    const int64_t out = (cols + 2 * padding - kernel) / stride + 1, row = i / out,
                  begin = i % out * stride - padding;
    return row < cols && row >= begin && row < begin + kernel;
}

static void test_windows(void **state) {
    (void)state;
    static elements_t x;
    static const int64_t shapes[][3] = {{2, 2, 0}, {3, 1, 1}, {3, 2, 1}, {5, 3, 2}, {0, 1, 0}}; /* 0: all */
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s)
        for (int64_t n = 5; n <= LONGEST; ++n) {
            kernel = shapes[s][0] ? shapes[s][0] : n, stride = shapes[s][1], padding = shapes[s][2];
            const op_t op = {.kind = dnnl_tp_op_max_pool,
                             .name = "max_pool",
                             .nattr = 4,
                             .attr = {{dnnl_tp_op_attr_kernel, dnnl_tp_op_attr_s64, 1, &kernel},
                                      {dnnl_tp_op_attr_strides, dnnl_tp_op_attr_s64, 1, &stride},
                                      {dnnl_tp_op_attr_pads_begin, dnnl_tp_op_attr_s64, 1, &padding},
                                      {dnnl_tp_op_attr_pads_end, dnnl_tp_op_attr_s64, 1, &padding}}};
            const int64_t out = (n + 2 * padding - kernel) / stride + 1;
            fill(&x, dnnl_tp_f32, n + 1, n, true);
            check(&op, dnnl_tp_f32, n, 1, &(test_tensor_t){dnnl_tp_f32, 3, {1, n + 1, n}, &x.at},
                  (n + 1) * out, n, in_window);
        }
}

/* ---- Behind other operators, where they are post-operations ----------------------------------------------------- */

/* min(max(x w, low), high), w the unit: bounds fed or constant; x w + y in place of the product. */
static void test_fused(void **state) {
    (void)state;
    static elements_t x, w, y;
    int n_places;
    const place_t *at = places(&n_places);
    for (int64_t n = 2; n <= LONGEST; n += n < 20 ? 1 : 7)
        for (int k = 0; k < 8; ++k) {
            const bool is_product = k & 1, is_constant = k & 2, has_nan_bound = k & 4;
            fill(&x, dnnl_tp_f32, n, n, !is_product && !has_nan_bound);
            fill(&w, dnnl_tp_f32, n, n, false);
            if (is_product) /* of which a row with NaN is NaN */
                for (int64_t i = 0; i < n * n; ++i) set(&w, i, i / n == i % n);
            if (is_product && !has_nan_bound) set(&x, n / 2 * n + n / 3, NAN);
            float low[LONGEST], high[LONGEST];
            for (int64_t i = 0; i < n; ++i) low[i] = .3f, high[i] = .6f;
            if (has_nan_bound) low[n / 3] = NAN, high[n / 2] = NAN;
            for (int p = 0; p < n_places; ++p) {
                if (!wanted_place(&at[p])) continue;
                dnnl_tp_graph_t g;
                dnnl_tp_executable_t e;
                dnnl_tp_value_t v[4], t;
                const dnnl_tp_dims_t square = {n, n}, row = {n};
                void *data[4] = {&x.at, &w.at, low, high}, *out = &y.at;
                CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
                for (int i = 0; i < 4; ++i) {
                    const int nd = i < 2 ? 2 : 1;
                    if (i >= 2 && is_constant)
                        CHECK_OK(dnnl_tp_graph_constant(g, &v[i], NULL, dnnl_tp_f32, nd, row, data[i],
                                                        DNNL_TP_CONSTANT_COPY, NULL, NULL));
                    else CHECK_OK(dnnl_tp_graph_input(g, &v[i], NULL, dnnl_tp_f32, nd, i < 2 ? square : row));
                }
                CHECK_OK(dnnl_tp_graph_op(g, is_product ? dnnl_tp_op_matmul : dnnl_tp_op_add, "f", 2, v, 0,
                                          NULL, 1, &t));
                CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_maximum, "low", 2, (dnnl_tp_value_t[]){t, v[2]}, 0,
                                          NULL, 1, &t));
                CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_minimum, "high", 2, (dnnl_tp_value_t[]){v[3], t}, 0,
                                          NULL, 1, &t));
                CHECK_OK(dnnl_tp_graph_output(g, t, NULL));
                const dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts};
                if (has_impl(at[p].engine, dnnl_tp_executable_compile(&e, g, at[p].engine, 0, NULL, &opts))) {
                    CHECK_OK(test_run_graph(e, at[p].stream, is_constant ? 2 : 4, data, 1, &out, NULL));
                    for (int64_t i = 0; i < n * n; ++i) {
                        const bool want = has_nan_bound ? i % n == n / 3 || i % n == n / 2
                                          : is_product  ? i / n == n / 2
                                                        : i / n == i % n;
                        if (isnan(y.at.f[i]) != want)
                            fail_msg("%s: %d of %lld, element %lld is %g", at[p].name, k, (long long)n,
                                     (long long)i, (double)y.at.f[i]);
                    }
                    CHECK_OK(dnnl_tp_executable_destroy(e));
                }
                CHECK_OK(dnnl_tp_graph_destroy(g));
            }
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_unary),     cmocka_unit_test(test_of_two),
                                       cmocka_unit_test(test_over_axes), cmocka_unit_test(test_over_all),
                                       cmocka_unit_test(test_windows),   cmocka_unit_test(test_fused)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
