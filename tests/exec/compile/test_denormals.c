/* Constant factors of products: denormal numbers count as 0 beside numbers 2^24 times as large, and are what they are among
 * smaller ones and in inputs. Each result has one product that is not 0, so it is exact; on every place. */
#include <float.h>
#include <math.h>

#include "support/check.h"
#include "support/graph_on.h"
#include "support/upload.h"

enum { DEPTH = 37, COLS = 19, PIXELS = 4 };
static const float small[] = {0x1p-149f, -0x1p-149f, FLT_MIN - 0x1p-149f, -0x1p-130f, FLT_MIN, -FLT_MIN, 1.f};
enum { SMALL = sizeof small / sizeof *small };

typedef enum { MATMUL, CONVOLUTION, DEPTHWISE, FORMS } form_t;
static const char *const names[] = {"matmul", "convolution", "depthwise convolution"};

static float x[DEPTH * DEPTH * PIXELS], w[DEPTH * COLS], y[DEPTH * COLS * PIXELS];

/* The weight of place i: small ones, and the largest in each tenth, if there are any that large. */
static float weight(int i, float largest) {
    const float s = small[i % SMALL];
    return i % 10 == 3 ? largest : fabsf(s) < 1 ? s : largest / 2;
}

static bool drops(float v, float largest) { return fabsf(v) < FLT_MIN && largest >= 0x1p-102f; }

/* x times the weight of each place: 2^100, so that no result is denormal. */
static void check(const place_t *at, form_t form, bool constant, float largest) {
    const float big = 0x1p100f;
    const int64_t groups = COLS;
    const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_groups, dnnl_tp_op_attr_s64, 1, &groups};
    const int nw = form == DEPTHWISE ? COLS : DEPTH * COLS;
    for (int i = 0; i < nw; ++i) w[i] = weight(i, largest);
    memset(x, 0, sizeof x);
    /* Row or pixel r has an element at place r of the depth. */
    for (int r = 0; r < DEPTH; ++r) x[r * DEPTH + r] = big;
    test_tensor_t in[] = {{dnnl_tp_f32, 2, {DEPTH, DEPTH}, x}, {dnnl_tp_f32, 2, {DEPTH, COLS}, w}};
    if (form == CONVOLUTION) {
        in[0] = (test_tensor_t){dnnl_tp_f32, 4, {1, DEPTH, 1, DEPTH}, x};
        in[1] = (test_tensor_t){dnnl_tp_f32, 4, {COLS, DEPTH, 1, 1}, w};
    } else if (form == DEPTHWISE) {
        for (int i = 0; i < COLS * PIXELS; ++i) x[i] = big;
        in[0] = (test_tensor_t){dnnl_tp_f32, 4, {1, COLS, 1, PIXELS}, x};
        in[1] = (test_tensor_t){dnnl_tp_f32, 4, {COLS, 1, 1, 1}, w};
    }
    if (!test_graph_on(at, form == MATMUL ? dnnl_tp_op_matmul : dnnl_tp_op_convolution, form == DEPTHWISE,
                       &attr, 2, in, constant ? 2 : 0, y, sizeof y))
        return;
    const int nrows = form == DEPTHWISE ? PIXELS : DEPTH;
    for (int r = 0; r < nrows; ++r)
        for (int c = 0; c < COLS; ++c) {
            const float v = w[form == MATMUL        ? r * COLS + c
                              : form == CONVOLUTION ? c * DEPTH + r
                                                    : c],
                        got = y[form == MATMUL ? r * COLS + c : c * nrows + r],
                        want = constant && drops(v, largest) ? 0 : v * big;
            if (got != want)
                fail_msg("%s x%d: %s, %s weights up to %g: %g gives %g, not %g", at->name, at->threads,
                         names[form], constant ? "constant" : "fed", (double)largest, (double)v, (double)got,
                         (double)want);
        }
}

static void test_products(void **state) {
    (void)state;
    int nplaces;
    const place_t *at = places(&nplaces);
    for (int p = 0; p < nplaces; ++p)
        for (form_t form = MATMUL; form < FORMS; ++form)
            for (int constant = 0; constant < 2; ++constant) {
                check(&at[p], form, constant, 1);
                check(&at[p], form, constant, 0x1p-102f);
                check(&at[p], form, constant, 0x1p-103f);
            }
}

/* Weights that are rounded to bf16: whole powers of 2, so that nothing else is lost. */
static void test_bf16(void **state) {
    (void)state;
    static const float powers[] = {0x1p-133f, -0x1p-130f, FLT_MIN, 1.f, -0x1p-127f, .5f};
    enum { POWERS = sizeof powers / sizeof *powers };
    const float big = 0x1p100f;
    const dnnl_tp_dims_t dx = {DEPTH, DEPTH}, dw = {DEPTH, COLS};
    int nplaces;
    const place_t *at = places(&nplaces);
    for (int i = 0; i < DEPTH * COLS; ++i) w[i] = powers[i % POWERS];
    memset(x, 0, sizeof x);
    for (int r = 0; r < DEPTH; ++r) x[r * DEPTH + r] = big;
    for (int p = 0; p < nplaces; ++p) {
        dnnl_tp_graph_t g;
        dnnl_tp_executable_t e;
        dnnl_tp_value_t v[2], out;
        void *in[] = {x}, *results[] = {y};
        const dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts,
                                             .fpmath_mode = dnnl_tp_fpmath_mode_bf16};
        if (!runs_cpu_code(at[p].engine) || at[p].threads > 1) continue;
        CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
        CHECK_OK(dnnl_tp_graph_input(g, &v[0], "x", dnnl_tp_f32, 2, dx));
        CHECK_OK(
            dnnl_tp_graph_constant(g, &v[1], "w", dnnl_tp_f32, 2, dw, w, DNNL_TP_CONSTANT_COPY, NULL, NULL));
        CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_matmul, "m", 2, v, 0, NULL, 1, &out));
        CHECK_OK(dnnl_tp_graph_output(g, out, "y"));
        CHECK_OK(dnnl_tp_executable_compile(&e, g, at[p].engine, 0, NULL, &opts));
        CHECK_OK(test_run_graph(e, at[p].stream, 1, in, 1, results, NULL));
        for (int i = 0; i < DEPTH * COLS; ++i)
            if (y[i] != (drops(w[i], 1) ? 0 : w[i] * big))
                fail_msg("%s: bf16: %g gives %g", at[p].name, (double)w[i], (double)y[i]);
        CHECK_OK(dnnl_tp_executable_destroy(e));
        CHECK_OK(dnnl_tp_graph_destroy(g));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_products), cmocka_unit_test(test_bf16)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
