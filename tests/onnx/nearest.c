/* Resize to the nearest element for all pairs of sizes from 1 to 40, all ways to place elements and to round. The judge
 * computes positions as fractions of integers. */
#include <string.h>

#include "writing.h"

enum { MOST = 40 };
typedef enum {
    HALF_PIXEL,
    PYTORCH_HALF_PIXEL,
    HALF_PIXEL_SYMMETRIC,
    ALIGN_CORNERS,
    ASYMMETRIC,
    PLACES
} place_t;
typedef enum { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL, ROUNDINGS } rounding_t;
static const char *const places[] = {"half_pixel", "pytorch_half_pixel", "half_pixel_symmetric",
                                     "align_corners", "asymmetric"};
static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};

static int floor_of(int a, int b) { return a >= 0 ? a / b : -((-a + b - 1) / b); } /* b > 0 */

/* Which of n elements is number i of `out`. */
static int right(place_t place, rounding_t how, int n, int out, int i) {
    int a = (2 * i + 1) * n - out, b = 2 * out; /* the position is a / b */
    if (place == ASYMMETRIC) a = i * n, b = out;
    if (place == ALIGN_CORNERS) a = out > 1 ? i * (n - 1) : 0, b = out > 1 ? out - 1 : 1;
    if (place == PYTORCH_HALF_PIXEL && out == 1) a = 0;
    const int at = how == FLOOR          ? floor_of(a, b)
                   : how == CEIL         ? -floor_of(-a, b)
                   : how == PREFER_FLOOR ? -floor_of(b - 2 * a, 2 * b) /* ceil(p - 1/2) */
                                         : floor_of(2 * a + b, 2 * b); /* floor(p + 1/2) */
    return at < 0 ? 0 : at >= n ? n - 1 : at;
}

static void put_word(bytes_t *n, const char *name, const char *value) {
    enum { A_STRING = 4, IS_STRING = 3 };
    bytes_t a = {.n = 0};
    put_text(&a, A_NAME, name);
    put_text(&a, A_STRING, value);
    put_int(&a, A_TYPE, IS_STRING);
    put_message(n, N_ATTR, &a);
}

/* x of n elements becomes outputs of 1..MOST. */
static void put_resizes(bytes_t *m, place_t place, rounding_t how, int n) {
    static bytes_t g;
    static const int64_t four_dims[1] = {4};
    const int64_t in[4] = {1, 1, 1, n};
    g.n = 0;
    put_value(&g, G_INPUT, "x", FLOAT, 4, in);
    for (int out = 1; out <= MOST; ++out) {
        bytes_t node = {.n = 0};
        const int64_t size[4] = {1, 1, 1, out};
        const char y[] = {'y', (char)('0' + out), 0}, s[] = {'s', (char)('0' + out), 0};
        const char *const inputs[] = {"x", "", "", s};
        for (int i = 0; i < 4; ++i) put_text(&node, N_INPUT, inputs[i]);
        put_text(&node, N_OUTPUT, y);
        put_text(&node, N_OP, "Resize");
        put_word(&node, "mode", "nearest");
        put_word(&node, "coordinate_transformation_mode", places[place]);
        put_word(&node, "nearest_mode", roundings[how]);
        put_message(&g, G_NODE, &node);
        put_raw(&g, s, INT64, 1, four_dims, size, sizeof size);
        put_value(&g, G_OUTPUT, y, FLOAT, 4, size);
    }
    put_model(m, &g, 9, 19);
}

static void test_pairs(void **state) {
    (void)state;
    static bytes_t m;
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    float x[MOST], y[MOST][MOST];
    void *ins[] = {x}, *outs[MOST];
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK_OK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
    for (int i = 0; i < MOST; ++i) {
        x[i] = (float)i;
        outs[i] = y[i];
    }
    for (place_t place = 0; place < PLACES; ++place)
        for (rounding_t how = 0; how < ROUNDINGS; ++how)
            for (int n = 1; n <= MOST; ++n) {
                dnnl_tp_graph_t graph;
                dnnl_tp_executable_t exe;
                put_resizes(&m, place, how, n);
                if (import_with(&m, NULL, NULL, &graph)) fail_msg("%s", dnnl_tp_last_error());
                CHECK_OK(dnnl_tp_executable_compile(&exe, graph, engine, 1, NULL, NULL));
                memset(y, 0xa5, sizeof y);
                CHECK_OK(dnnl_tp_executable_run(exe, stream, 1, ins, MOST, outs, NULL));
                for (int out = 1; out <= MOST; ++out)
                    for (int i = 0; i < out; ++i)
                        if (y[out - 1][i] != (float)right(place, how, n, out, i))
                            fail_msg("%s, %s, %d to %d: element %d is that at %g, not %d", places[place],
                                     roundings[how], n, out, i, (double)y[out - 1][i],
                                     right(place, how, n, out, i));
                CHECK_OK(dnnl_tp_executable_destroy(exe));
                CHECK_OK(dnnl_tp_graph_destroy(graph));
            }
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    CHECK_OK(dnnl_tp_engine_destroy(engine));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pairs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
