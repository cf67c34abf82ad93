/* NaN, infinities, zeros of both signs, denormal and the largest numbers, at every place of
 * vectors of every tail, in functions of one and of two elements, on every instruction set. The
 * judge is the definition in double, rounded to f32. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "exec/ops/ops.h"
#include "support/check.h"
#include "support/graph_on.h"

enum { MOST = 70, MOST_ATTRS = 4 };
static const float special[] = {
    NAN, INFINITY, -INFINITY, 0.f,  -0.f,  0x1p-149f, -0x1p-140f, FLT_MIN, -FLT_MIN, FLT_MAX,  -FLT_MAX,
    1.f, -2.5f,    .5f,       88.f, -88.f, 0x1p24f,   -1e30f,     1e-20f,  1000.5f,  -1000.5f, -7.f};
enum { SPECIAL = sizeof special / sizeof *special };

/* ---- Definitions ----------------------------------------------------------------------------- */

static double limited(double x, double least, double most) { return x < least ? least : x > most ? most : x; }
static double relu(double x) { return x < 0 ? 0 : x; }
static double leaky(double x) { return x > 0 ? x : .5 * x; }
static double elu(double x) { return x > 0 ? x : .5 * expm1(x); }
static double square(double x) { return x * x; }
static double reciprocal(double x) { return 1 / x; }
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double softplus(double x) { return x > 700 ? x : log1p(exp(x)); }
static double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
static double clamp(double x) { return limited(x, .5, 1); }
static double hard_tanh(double x) { return limited(x, -1, 1); }
/* As the formulas of the graph's operators have them: -inf times 0 is NaN. */
static double gelu(double x) { return x * (.5 * erfc(-x * M_SQRT1_2)); }
static double hard_swish(double x) { return x * (limited(x + 3, 0, 6) / 6); }
static double hard_sigmoid(double x) { return limited(.5 * x + .5, 0, 1); }
static const struct {
    const char *name;
    double (*of)(double);
} unary[] = {{"abs", fabs},
             {"exp", exp},
             {"log", log},
             {"sqrt", sqrt},
             {"square", square},
             {"reciprocal", reciprocal},
             {"relu", relu},
             {"leaky_relu", leaky},
             {"elu", elu},
             {"round", nearbyint},
             {"tanh", tanh},
             {"erf", erf},
             {"sign", sign},
             {"floor", floor},
             {"ceil", ceil},
             {"sigmoid", sigmoid},
             {"softplus", softplus},
             {"clamp", clamp},
             {"hard_tanh", hard_tanh},
             {"hard_sigmoid", hard_sigmoid},
             {"gelu", gelu},
             {"hard_swish", hard_swish}};

static double add(double x, double y) { return x + y; }
static double subtract(double x, double y) { return x - y; }
static double multiply(double x, double y) { return x * y; }
static double divide(double x, double y) { return x / y; }
static double larger(double x, double y) { return isnan(x) || isnan(y) ? (double)NAN : x > y ? x : y; }
static double smaller(double x, double y) { return isnan(x) || isnan(y) ? (double)NAN : x < y ? x : y; }
static const struct {
    const char *name;
    double (*of)(double, double);
} binary[] = {{"add", add},       {"subtract", subtract}, {"multiply", multiply},
              {"divide", divide}, {"maximum", larger},    {"minimum", smaller}};

/* What is below the normal numbers may be 0. */
static bool is_near(float got, double want) {
    const float w = (float)want;
    if (isnan(w)) return isnan(got);
    if (isinf(w) || isinf(got))
        return got == w || (fabs(want) > .9999 * (double)FLT_MAX && fabsf(got) > .99f * FLT_MAX);
    return fabs((double)got - want) <= 1e-5 * fabs(want) + 1.2e-38;
}

/* ---- Walks ----------------------------------------------------------------------------------- */

static int attrs_of(const dtp_op_row_t *row, dnnl_tp_op_attr_t *attr) {
    static const float half = .5f, one = 1.f;
    int n, used = 0;
    const dtp_op_field_t *f = dtp_op_fields(row, &n);
    for (int i = 0; i < n; ++i)
        if (f[i].key != DTP_ATTR_FIXED && f[i].needed) {
            assert_true(used < MOST_ATTRS);
            attr[used++] =
                (dnnl_tp_op_attr_t){f[i].key, f[i].type, 1, strcmp(f[i].name, "max") ? &half : &one};
        }
    return used;
}

static bool wanted(const place_t *at, int64_t n) {
    return at->threads == 1 && (n < 20 || n % 16 <= 1 || n % 16 >= 14);
}

static void test_unary(void **state) {
    (void)state;
    int nplaces;
    const place_t *at = places(&nplaces);
    float x[MOST], y[MOST];
    for (size_t f = 0; f < sizeof unary / sizeof *unary; ++f) {
        const dtp_op_row_t *row = dtp_op_row_named(unary[f].name, strlen(unary[f].name));
        dnnl_tp_op_attr_t attr[MOST_ATTRS];
        assert_non_null(row);
        const int nattr = attrs_of(row, attr);
        for (int p = 0; p < nplaces; ++p)
            for (int64_t n = 1; n <= MOST; ++n) {
                if (!wanted(&at[p], n)) continue;
                for (int64_t i = 0; i < n; ++i) x[i] = special[(i + n) % SPECIAL];
                const test_tensor_t in = {dnnl_tp_f32, 1, {n}, x};
                if (!test_graph_on(&at[p], (dnnl_tp_op_kind_t)row->kind, nattr, attr, 1, &in, 0, y, sizeof y))
                    continue;
                for (int64_t i = 0; i < n; ++i)
                    if (!is_near(y[i], unary[f].of((double)x[i])))
                        fail_msg("%s on %s, element %d of %d: %g gives %g, not %g", unary[f].name, at[p].name,
                                 (int)i, (int)n, (double)x[i], (double)y[i], unary[f].of((double)x[i]));
            }
    }
}

/* All pairs, and each with one other in all places. */
static void test_binary(void **state) {
    (void)state;
    int nplaces;
    const place_t *at = places(&nplaces);
    float x[MOST], z[MOST], y[MOST];
    for (size_t f = 0; f < sizeof binary / sizeof *binary; ++f) {
        const dtp_op_row_t *row = dtp_op_row_named(binary[f].name, strlen(binary[f].name));
        assert_non_null(row);
        for (int p = 0; p < nplaces; ++p)
            for (int64_t n = 1; n <= MOST; ++n)
                for (int one = 0; one < 2 && wanted(&at[p], n); ++one) {
                    for (int64_t i = 0; i < n; ++i) {
                        x[i] = special[(i + n) % SPECIAL];
                        z[i] = special[(one ? n : i * 5 + n * 3) % SPECIAL];
                    }
                    const test_tensor_t in[] = {{dnnl_tp_f32, 1, {n}, x}, {dnnl_tp_f32, 1, {one ? 1 : n}, z}};
                    if (!test_graph_on(&at[p], (dnnl_tp_op_kind_t)row->kind, 0, NULL, 2, in, 0, y, sizeof y))
                        continue;
                    for (int64_t i = 0; i < n; ++i)
                        if (!is_near(y[i], binary[f].of((double)x[i], (double)z[one ? 0 : i])))
                            fail_msg("%s on %s, element %d of %d: %g and %g give %g", binary[f].name,
                                     at[p].name, (int)i, (int)n, (double)x[i], (double)z[one ? 0 : i],
                                     (double)y[i]);
                }
    }
}

/* Local response normalisation of 3 channels around each: an infinity is NaN itself and takes its neighbours to 0. */
static void test_lrn(void **state) {
    (void)state;
    static const int64_t size = 3;
    static const float bad[] = {INFINITY, -INFINITY, NAN};
    const dtp_op_row_t *row = dtp_op_row_named("local_response_norm", 19);
    const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_size, dnnl_tp_op_attr_s64, 1, &size};
    int nplaces;
    const place_t *at = places(&nplaces);
    float x[MOST], y[MOST];
    for (int p = 0; p < nplaces; ++p)
        for (int n = 1; n <= MOST; ++n)
            for (int where = 0; where < n && wanted(&at[p], n); ++where) {
                for (int i = 0; i < n; ++i) x[i] = (float)(i % 5) - 2.f;
                x[where] = bad[(where + n) % 3];
                const test_tensor_t in = {dnnl_tp_f32, 2, {1, n}, x};
                if (!test_graph_on(&at[p], (dnnl_tp_op_kind_t)row->kind, 1, &attr, 1, &in, 0, y, sizeof y))
                    break;
                for (int i = 0; i < n; ++i) {
                    double sum = 0;
                    for (int k = i - 1; k <= i + 1; ++k)
                        if (k >= 0 && k < n) sum += (double)x[k] * (double)x[k];
                    const double want = (double)x[i] * pow(1 + 1e-4 / 3 * sum, -.75);
                    if (isnan(want) ? !isnan(y[i]) : !(fabs((double)y[i] - want) <= 1e-5))
                        fail_msg("on %s, channel %d of %d: %g is %g, not %g", at[p].name, i, n, (double)x[i],
                                 (double)y[i], want);
                }
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_unary), cmocka_unit_test(test_binary),
                                       cmocka_unit_test(test_lrn)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
