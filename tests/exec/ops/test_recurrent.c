/* lstm, gru and rnn: all results against steps in double in this file, on every place: hidden units and sequences around vectors and
 * blocks, no step and many, both directions, weights that are constants and that are not; refusals. */
#include <math.h>
#include <string.h>

#include "support/check.h"
#include "support/tensor.h"
#include "support/upload.h"

enum { MOST_X = 60000, MOST_R = 4 * 200 * 200, MOST_STATE = 700, RESULTS = 3, FILLED = 0x5a };
static float x[MOST_X], r[MOST_R], h[MOST_STATE], c[MOST_STATE], bias[MOST_STATE], peep[MOST_STATE];
static float y[MOST_X], last_h[MOST_STATE], last_c[MOST_STATE];
static float first_y[MOST_X]; /* on one thread of the same kind */
static double want_y[MOST_X], want_h[MOST_STATE], want_c[MOST_STATE];

typedef struct {
    int64_t steps, batch, hidden;
    bool is_lstm, reverse, has_bias, peeps, is_rnn;
} problem_t;

static int64_t parts_of(const problem_t *p) { return p->is_lstm ? 4 : p->is_rnn ? 1 : 3; }
static const char *name_of(const problem_t *p) { return p->is_lstm ? "lstm" : p->is_rnn ? "rnn" : "gru"; }

static double sigmoid(double v) { return 1 / (1 + exp(-v)); }

static double product(const problem_t *p, int64_t row, const double *state) {
    double sum = 0;
    for (int64_t k = 0; k < p->hidden; ++k) sum += (double)r[row * p->hidden + k] * state[k];
    return sum;
}

static void expect(const problem_t *p) {
    const int64_t n = p->hidden, parts = parts_of(p);
    double was[MOST_STATE], wh[MOST_STATE];
    for (int64_t i = 0; i < p->batch * n; ++i) want_h[i] = (double)h[i], want_c[i] = (double)c[i];
    for (int64_t s = 0; s < p->steps; ++s) {
        const int64_t t = p->reverse ? p->steps - 1 - s : s;
        for (int64_t b = 0; b < p->batch; ++b) {
            const float *in = x + (t * p->batch + b) * parts * n;
            double *now = want_h + b * n, *memory = want_c + b * n;
            memcpy(was, now, sizeof *was * (size_t)n);
            for (int64_t u = 0; u < n && parts == 3; ++u)
                wh[u] = sigmoid((double)in[n + u] + product(p, n + u, was)) * was[u];
            for (int64_t u = 0; u < n; ++u) {
                double part[4];
                for (int64_t g = 0; g < parts; ++g)
                    part[g] = (double)in[g * n + u] + product(p, g * n + u, was);
                if (p->is_rnn) {
                    now[u] = tanh(part[0]);
                    continue;
                }
                if (p->is_lstm) {
                    const double of_i = p->peeps ? (double)peep[u] : 0,
                                 of_o = p->peeps ? (double)peep[n + u] : 0,
                                 of_f = p->peeps ? (double)peep[2 * n + u] : 0, last = memory[u];
                    memory[u] = sigmoid(part[2] + of_f * last) * last +
                                sigmoid(part[0] + of_i * last) * tanh(part[3]);
                    now[u] = sigmoid(part[1] + of_o * memory[u]) * tanh(memory[u]);
                    continue;
                }
                const double inner = p->has_bias
                                         ? sigmoid(part[1]) * (product(p, 2 * n + u, was) + (double)bias[u])
                                         : product(p, 2 * n + u, wh);
                const double z = sigmoid(part[0]);
                now[u] = (1 - z) * tanh((double)in[2 * n + u] + inner) + z * was[u];
            }
            for (int64_t u = 0; u < n; ++u) want_y[(t * p->batch + b) * n + u] = now[u];
        }
    }
}

static void compare(const place_t *at, const problem_t *p, const char *what, const float *got,
                    const double *want, int64_t n) {
    const double limit = 2e-6 * sqrt((double)(p->hidden * (p->steps + 1)));
    for (int64_t i = 0; i < n; ++i)
        if (!(fabs((double)got[i] - want[i]) <= limit))
            fail_msg("%s x%d: %s of %d steps, %d x %d%s%s%s: %s %d is %g, not %g", at->name, at->threads,
                     name_of(p), (int)p->steps, (int)p->batch, (int)p->hidden, p->reverse ? ", reverse" : "",
                     p->has_bias ? ", bias" : "", p->peeps ? ", peepholes" : "", what, (int)i, (double)got[i],
                     want[i]);
}

/* wanted: results of the graph, as bits. */
static void check(const place_t *at, const problem_t *p, bool constant, unsigned wanted) {
    dnnl_tp_graph_t g;
    dnnl_tp_executable_t e;
    dnnl_tp_stream_attr_t sa;
    dnnl_tp_value_t in[5], out[RESULTS];
    const int64_t n = p->hidden, parts = parts_of(p), state = p->batch * n;
    const dnnl_tp_dims_t dx = {p->steps, p->batch, parts * n}, dr = {parts * n, n}, ds = {p->batch, n},
                         db = {n}, dp = {3 * n};
    void *fed[5] = {x}, *const all[RESULTS] = {y, last_h, last_c}, *results[RESULTS];
    int nfed = 1, nresults = 0;
    const uint8_t reverse = p->reverse;
    const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_reverse, dnnl_tp_op_attr_bool, 1, &reverse};
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &in[0], "x", dnnl_tp_f32, 3, dx));
    if (constant)
        CHECK_OK(
            dnnl_tp_graph_constant(g, &in[1], "r", dnnl_tp_f32, 2, dr, r, DNNL_TP_CONSTANT_COPY, NULL, NULL));
    else {
        CHECK_OK(dnnl_tp_graph_input(g, &in[1], "r", dnnl_tp_f32, 2, dr));
        fed[nfed++] = r;
    }
    CHECK_OK(dnnl_tp_graph_input(g, &in[2], "h", dnnl_tp_f32, 2, ds));
    fed[nfed++] = h;
    if (p->is_lstm) CHECK_OK(dnnl_tp_graph_input(g, &in[3], "c", dnnl_tp_f32, 2, ds));
    else if (p->has_bias) CHECK_OK(dnnl_tp_graph_input(g, &in[3], "bias", dnnl_tp_f32, 1, db));
    if (p->is_lstm || p->has_bias) fed[nfed++] = p->is_lstm ? c : bias;
    if (p->peeps) {
        CHECK_OK(dnnl_tp_graph_input(g, &in[4], "p", dnnl_tp_f32, 1, dp));
        fed[nfed++] = peep;
    }
    CHECK_OK(dnnl_tp_graph_op(g,
                              p->is_lstm  ? dnnl_tp_op_lstm
                              : p->is_rnn ? dnnl_tp_op_rnn
                                          : dnnl_tp_op_gru,
                              "f", 3 + (p->is_lstm || p->has_bias) + p->peeps, in, p->reverse, &attr,
                              p->is_lstm ? 3 : 2, out));
    for (int i = 0; i < 2 + p->is_lstm; ++i)
        if (wanted >> i & 1) {
            CHECK_OK(dnnl_tp_graph_output(g, out[i], NULL));
            results[nresults++] = all[i];
        }
    CHECK_OK(dnnl_tp_stream_attr_create(&sa, dnnl_tp_cpu));
    if (at->pool) CHECK_OK(dnnl_tp_stream_attr_set_builtin_threadpool(sa, at->pool));
    const dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts,
                                         .stream_attr = test_engine_is_far(at->engine) ? NULL : sa};
    const dnnl_tp_status_t status = dnnl_tp_executable_compile(&e, g, at->engine, 0, NULL, &opts);
    if (has_impl(at->engine, status)) {
        for (int i = 0; i < RESULTS; ++i) memset(all[i], FILLED, sizeof *y * (size_t)state);
        memset(y, FILLED, sizeof *y * (size_t)(p->steps * state + 1));
        const float beyond = y[p->steps * state];
        CHECK_OK(test_run_graph(e, at->stream, nfed, fed, nresults, results, NULL));
        if (wanted & 1) {
            compare(at, p, "y", y, want_y, p->steps * state);
            assert_memory_equal(&y[p->steps * state], &beyond, sizeof beyond);
            const size_t bytes = sizeof *y * (size_t)(p->steps * state);
            if (at->threads == 1) memcpy(first_y, y, bytes);
            else if (wanted == 7 && memcmp(first_y, y, bytes))
                fail_msg("%s x%d: %s, %d x %d: other bits than on one thread", at->name, at->threads,
                         name_of(p), (int)p->batch, (int)p->hidden);
        }
        if (wanted & 2) compare(at, p, "h", last_h, want_h, state);
        if (wanted & 4 && p->is_lstm) compare(at, p, "c", last_c, want_c, state);
        CHECK_OK(dnnl_tp_executable_destroy(e));
    }
    CHECK_OK(dnnl_tp_stream_attr_destroy(sa));
    CHECK_OK(dnnl_tp_graph_destroy(g));
}

static void fill(test_rng_t *rng, float *to, int64_t n, float most) {
    for (int64_t i = 0; i < n; ++i) to[i] = test_uniform(rng, -most, most);
}

static void test_values(void **state) {
    (void)state;
    static const int64_t all_hidden[] = {1, 7, 8, 9, 15, 16, 17, 31, 33, 70},
                         all_batch[] = {1, 2, 3, 4, 5, 8, 9}, all_steps[] = {1, 0, 2, 5};
    test_rng_t rng = test_rng(11);
    int nplaces, number = 0;
    const place_t *at = places(&nplaces);
    for (size_t i = 0; i < sizeof all_hidden / sizeof *all_hidden; ++i)
        for (size_t b = 0; b < sizeof all_batch / sizeof *all_batch; ++b, ++number) {
            problem_t p = {.steps = all_steps[number % 4],
                           .batch = all_batch[b],
                           .hidden = all_hidden[i],
                           .is_lstm = number % 3 == 0,
                           .reverse = number / 3 % 2,
                           .has_bias = number % 3 == 1};
            const int64_t n = p.hidden, parts = p.is_lstm ? 4 : 3, all = p.batch * n;
            fill(&rng, x, p.steps * all * parts, 3);
            fill(&rng, r, parts * n * n, 2 / sqrtf((float)n));
            fill(&rng, h, all, 1);
            fill(&rng, c, all, 2);
            fill(&rng, bias, n, 1);
            fill(&rng, peep, 3 * n, 1);
            for (int other = 0; other <= (p.is_lstm || !p.has_bias);
                 ++other) { /* an RNN with the same data */
                p.peeps = other && p.is_lstm;
                p.is_rnn = other && !p.is_lstm;
                expect(&p);
                for (int k = 0; k < nplaces; ++k)
                    check(&at[k], &p, (number + k) % 2,
                          number % 5  ? 7
                          : p.is_lstm ? 1u << k % 3
                                      : 1u << k % 2);
            }
        }
}

/* Few sequences, whose units threads share: steps are worth it. */
static void test_shared(void **state) {
    (void)state;
    test_rng_t rng = test_rng(17);
    int nplaces;
    const place_t *at = places(&nplaces);
    for (int kind = 0; kind < 12; ++kind) {
        const problem_t p = {.steps = 3,
                             .batch = 1 + kind % 9 / 3,
                             .hidden = 200 - kind,
                             .is_lstm = kind < 9 && kind % 3 == 0,
                             .reverse = kind % 2,
                             .has_bias = kind < 9 && kind % 3 == 1,
                             .peeps = kind == 3 || kind == 6,
                             .is_rnn = kind >= 9};
        const int64_t parts = parts_of(&p), all = p.batch * p.hidden;
        fill(&rng, x, p.steps * all * parts, 2);
        fill(&rng, r, parts * p.hidden * p.hidden, .1f);
        fill(&rng, h, all, 1);
        fill(&rng, c, all, 1);
        fill(&rng, bias, p.hidden, 1);
        fill(&rng, peep, 3 * p.hidden, 1);
        expect(&p);
        for (int k = 0; k < nplaces; ++k) check(&at[k], &p, k % 2, 7);
    }
}

/* One sequence of many steps, and values at the limits of the functions. */
static void test_long(void **state) {
    (void)state;
    test_rng_t rng = test_rng(5);
    int nplaces;
    const place_t *at = places(&nplaces);
    for (int kind = 0; kind < 6; ++kind) {
        const problem_t p = {
            .steps = 200,
            .batch = 1,
            .hidden = 70,
            .is_lstm =
                kind<2, .reverse = kind % 2, .has_bias = kind == 2, .peeps = kind == 0, .is_rnn = kind> 3};
        const int64_t parts = parts_of(&p);
        fill(&rng, x, p.steps * p.hidden * parts, kind % 2 ? 100 : 2);
        fill(&rng, r, parts * p.hidden * p.hidden, .1f);
        fill(&rng, h, p.hidden, 1);
        fill(&rng, c, p.hidden, 1);
        fill(&rng, bias, p.hidden, 1);
        fill(&rng, peep, 3 * p.hidden, 1);
        expect(&p);
        for (int k = 0; k < nplaces; ++k) check(&at[k], &p, true, 7);
    }
}

static void test_refusals(void **state) {
    (void)state;
    static const struct {
        dnnl_tp_dims_t x, r, h, c;
        int nd;
        dnnl_tp_data_type_t type;
        dnnl_tp_status_t status;
        dnnl_tp_dims_t p; /* 0: no peepholes */
    } all[] = {
        {{2, 3, 20}, {20, 5}, {3, 5}, {3, 5}, 2, dnnl_tp_f32, dnnl_tp_success, {0}},
        {{2, 3, 20}, {20, 5}, {3, 5}, {3, 5}, 2, dnnl_tp_f64, dnnl_tp_invalid_data_type, {0}},
        {{2, 3, 20}, {20, 5}, {3, 5}, {3, 5}, 1, dnnl_tp_f32, dnnl_tp_invalid_shape, {0}},
        {{2, 3, 15}, {20, 5}, {3, 5}, {3, 5}, 2, dnnl_tp_f32, dnnl_tp_invalid_shape, {0}},
        {{2, 3, 20}, {15, 5}, {3, 5}, {3, 5}, 2, dnnl_tp_f32, dnnl_tp_invalid_shape, {0}},
        {{2, 3, 20}, {20, 4}, {3, 5}, {3, 5}, 2, dnnl_tp_f32, dnnl_tp_invalid_shape, {0}},
        {{2, 3, 20}, {20, 5}, {2, 5}, {3, 5}, 2, dnnl_tp_f32, dnnl_tp_invalid_shape, {0}},
        {{2, 3, 20}, {20, 5}, {3, 5}, {3, 4}, 2, dnnl_tp_f32, dnnl_tp_invalid_shape, {0}},
        {{2, 3, 0}, {0, 0}, {3, 0}, {3, 0}, 2, dnnl_tp_f32, dnnl_tp_invalid_shape, {0}},
        {{2, 3, 20}, {20, 5}, {3, 5}, {3, 5}, 2, dnnl_tp_f32, dnnl_tp_success, {15}},
        {{2, 3, 20}, {20, 5}, {3, 5}, {3, 5}, 2, dnnl_tp_f32, dnnl_tp_invalid_shape, {14}},
        {{2, 3, 20}, {20, 5}, {3, 5}, {3, 5}, 2, dnnl_tp_f32, dnnl_tp_invalid_shape, {5}},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        dnnl_tp_graph_t g;
        dnnl_tp_value_t in[5], out[RESULTS];
        CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
        CHECK_OK(dnnl_tp_graph_input(g, &in[0], "x", dnnl_tp_f32, 3, all[i].x));
        CHECK_OK(dnnl_tp_graph_input(g, &in[1], "r", dnnl_tp_f32, 2, all[i].r));
        CHECK_OK(dnnl_tp_graph_input(g, &in[2], "h", dnnl_tp_f32, 2, all[i].h));
        CHECK_OK(dnnl_tp_graph_input(g, &in[3], "c", all[i].type, all[i].nd, all[i].c));
        if (all[i].p[0]) CHECK_OK(dnnl_tp_graph_input(g, &in[4], "p", dnnl_tp_f32, 1, all[i].p));
        const dnnl_tp_status_t status =
            dnnl_tp_graph_op(g, dnnl_tp_op_lstm, "l", 4 + (all[i].p[0] > 0), in, 0, NULL, RESULTS, out);
        if (status != all[i].status) fail_msg("case %d: %d, %s", (int)i, (int)status, dnnl_tp_last_error());
        CHECK_OK(dnnl_tp_graph_destroy(g));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_shared),
                                       cmocka_unit_test(test_long), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
