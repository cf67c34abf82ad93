/* Constant factors of products: denormal numbers count as 0 beside numbers 2^24 times as large, and are what they are among
 * smaller ones and in inputs. Each result has one product that is not 0, so it is exact; on every place. */
#include <float.h>
#include <math.h>

#include "support/check.h"
#include "support/graph_on.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_products)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
