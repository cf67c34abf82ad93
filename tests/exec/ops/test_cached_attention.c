/* cached_attention against its definition in double, on all instruction sets and numbers of threads: heads that share keys,
 * lengths of their own in a batch, places of the cache behind the length hold NaN, masks, windows, angles; lengths that are
 * out of range; refusals. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/tensor.h"
#include "support/upload.h"

#include "common/problems/graph/cached_attention.h"

enum { MOST = 1 << 16, RANK = 4, NOUT = 3 };

typedef struct {
    int64_t batch, s, capacity, groups, shared, d;
    int64_t window, pairs;
    float softcap;
    bool is_causal, interleaved;
    int mask;          /* bit d: dimension d of the mask is 1; < 0: there is none */
    int64_t positions; /* that have angles; 0: all */
} case_t;

static float x[DTP_CACHED_DST][MOST], got[NOUT][MOST];
static int32_t lengths[8];
static double want[MOST], rows_k[MOST];

static void turn(const case_t *c, int64_t position, const float *src, double *dst) {
    for (int64_t i = 0; i < c->d; ++i) dst[i] = (double)src[i];
    for (int64_t i = 0; i < c->pairs; ++i) {
        const int64_t a = c->interleaved ? 2 * i : i, b = c->interleaved ? 2 * i + 1 : c->pairs + i;
        const double cosine = (double)x[DTP_CACHED_COSINES][position * c->pairs + i],
                     sine = (double)x[DTP_CACHED_SINES][position * c->pairs + i];
        dst[a] = (double)src[a] * cosine - (double)src[b] * sine;
        dst[b] = (double)src[b] * cosine + (double)src[a] * sine;
    }
}

static double mask_at(const case_t *c, int64_t b, int64_t h, int64_t i, int64_t key) {
    const int64_t dims[3] = {c->batch, c->groups * c->shared, c->s}, at[3] = {b, h, i};
    int64_t place = 0;
    for (int d = 0; d < 3; ++d)
        if (!(c->mask >> d & 1)) place = place * dims[d] + at[d];
    return (double)x[DTP_CACHED_MASK][place * (c->capacity + c->s) + key];
}

/* One row of a head. */
static void define(const case_t *c, int64_t b, int64_t h, int64_t i, double *out) {
    const int64_t g = h / c->shared, heads = c->groups * c->shared, before = lengths[b], all = before + c->s,
                  d = c->d;
    static double q[256], k[256], score[4096];
    const int64_t end = c->is_causal ? before + i + 1 : all,
                  begin = c->window < 0 || end < c->window ? 0 : end - c->window;
    double max = -INFINITY, sum = 0;
    turn(c, before + i, x[DTP_CACHED_Q] + ((b * c->s + i) * heads + h) * d, q);
    for (int64_t key = begin; key < end; ++key) {
        if (key < before)
            for (int64_t e = 0; e < d; ++e)
                k[e] = (double)x[DTP_CACHED_PAST_K][((b * c->groups + g) * c->capacity + key) * d + e];
        else turn(c, key, x[DTP_CACHED_K] + ((b * c->s + key - before) * c->groups + g) * d, k);
        double s = 0;
        for (int64_t e = 0; e < d; ++e) s += q[e] * k[e];
        s *= .37;
        if (c->softcap > 0) s = (double)c->softcap * tanh(s / (double)c->softcap);
        if (c->mask >= 0) s += mask_at(c, b, h, i, key);
        score[key] = s;
        max = s > max ? s : max;
    }
    for (int64_t e = 0; e < d; ++e) out[e] = 0;
    for (int64_t key = begin; key < end; ++key) {
        const double p = score[key] == -INFINITY ? 0 : exp(score[key] - max);
        const float *v = key < before ? x[DTP_CACHED_PAST_V] + ((b * c->groups + g) * c->capacity + key) * d
                                      : x[DTP_CACHED_V] + ((b * c->s + key - before) * c->groups + g) * d;
        sum += p;
        for (int64_t e = 0; e < d; ++e) out[e] += p * (double)v[e];
    }
    for (int64_t e = 0; e < d; ++e) out[e] = sum > 0 ? out[e] / sum : 0;
}

static dnnl_tp_graph_t build(const case_t *c, int *nin, dnnl_tp_status_t *status) {
    const int64_t heads = c->groups * c->shared, all = c->capacity + c->s, b = c->batch;
    const int64_t positions = c->positions ? c->positions : all;
    const float scale = .37f;
    const int64_t causal = c->is_causal, neighbours = c->interleaved;
    const uint8_t flags[2] = {(uint8_t)causal, (uint8_t)neighbours};
    dnnl_tp_dims_t dims[DTP_CACHED_DST] = {{b, c->s, heads * c->d},
                                           {b, c->s, c->groups * c->d},
                                           {b, c->s, c->groups * c->d},
                                           {b, c->groups, c->capacity, c->d},
                                           {b, c->groups, c->capacity, c->d},
                                           {b},
                                           {b, heads, c->s, all},
                                           {positions, c->pairs},
                                           {positions, c->pairs}};
    static const int ndims[DTP_CACHED_DST] = {3, 3, 3, 4, 4, 1, 4, 2, 2};
    dnnl_tp_value_t v[DTP_CACHED_DST], y[NOUT];
    dnnl_tp_graph_t g;
    for (int d = 0; d < 3; ++d)
        if (c->mask >= 0 && c->mask >> d & 1) dims[DTP_CACHED_MASK][d] = 1;
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    *nin = 0;
    for (int i = 0; i < DTP_CACHED_DST; ++i) {
        v[i] = -1;
        if ((i == DTP_CACHED_MASK && c->mask < 0) || (i >= DTP_CACHED_COSINES && !c->pairs)) continue;
        CHECK_OK(dnnl_tp_graph_input(g, &v[i], NULL, i == DTP_CACHED_LENGTHS ? dnnl_tp_s32 : dnnl_tp_f32,
                                     ndims[i], dims[i]));
        ++*nin;
    }
    const dnnl_tp_op_attr_t attr[] = {{dnnl_tp_op_attr_heads, dnnl_tp_op_attr_s64, 1, &heads},
                                      {dnnl_tp_op_attr_scale, dnnl_tp_op_attr_f32, 1, &scale},
                                      {dnnl_tp_op_attr_window, dnnl_tp_op_attr_s64, 1, &c->window},
                                      {dnnl_tp_op_attr_softcap, dnnl_tp_op_attr_f32, 1, &c->softcap},
                                      {dnnl_tp_op_attr_is_causal, dnnl_tp_op_attr_bool, 1, &flags[0]},
                                      {dnnl_tp_op_attr_interleaved, dnnl_tp_op_attr_bool, 1, &flags[1]}};
    *status = dnnl_tp_graph_op(g, dnnl_tp_op_cached_attention, "a", DTP_CACHED_DST, v,
                               (int)(sizeof attr / sizeof *attr), attr, NOUT, y);
    for (int i = 0; i < NOUT && !*status; ++i) CHECK_OK(dnnl_tp_graph_output(g, y[i], NULL));
    return g;
}

static void fill(test_rng_t *r, const case_t *c) {
    for (int i = 0; i < DTP_CACHED_DST; ++i)
        for (int k = 0; k < MOST; ++k) x[i][k] = (float)(test_rand(r) % 2001) / 1000.f - 1.f;
    for (int k = 0; k < MOST; ++k)
        if (test_rand(r) % 5 == 0) x[DTP_CACHED_MASK][k] = -INFINITY;
    for (int64_t i = 0; i < c->batch * c->groups; ++i)
        for (int64_t k = lengths[i / c->groups]; k < c->capacity; ++k)
            for (int64_t e = 0; e < c->d; ++e)
                x[DTP_CACHED_PAST_K][(i * c->capacity + k) * c->d + e] =
                    x[DTP_CACHED_PAST_V][(i * c->capacity + k) * c->d + e] = NAN;
}

static dnnl_tp_status_t run(const case_t *c, const place_t *at) {
    dnnl_tp_executable_t e;
    dnnl_tp_stream_attr_t sa;
    void *in[DTP_CACHED_DST], *out[NOUT] = {got[0], got[1], got[2]};
    int nin, n = 0;
    dnnl_tp_status_t status;
    dnnl_tp_graph_t g = build(c, &nin, &status);
    CHECK_OK(status);
    for (int i = 0; i < DTP_CACHED_DST; ++i)
        if (!((i == DTP_CACHED_MASK && c->mask < 0) || (i >= DTP_CACHED_COSINES && !c->pairs)))
            in[n++] = i == DTP_CACHED_LENGTHS ? (void *)lengths : (void *)x[i];
    memset(got, 0x5a, sizeof got);
    CHECK_OK(dnnl_tp_stream_attr_create(&sa, dnnl_tp_cpu));
    if (at->pool) CHECK_OK(dnnl_tp_stream_attr_set_builtin_threadpool(sa, at->pool));
    const dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts, .stream_attr = at->pool ? sa : NULL};
    const bool has = has_impl(at->engine, dnnl_tp_executable_compile(&e, g, at->engine, 0, NULL, &opts));
    status = has ? test_run_graph(e, at->stream, nin, in, NOUT, out, NULL) : dnnl_tp_unimplemented;
    CHECK_OK(dnnl_tp_executable_destroy(e));
    CHECK_OK(dnnl_tp_stream_attr_destroy(sa));
    CHECK_OK(dnnl_tp_graph_destroy(g));
    return status;
}

static void compare(const case_t *c, const place_t *at, unsigned number) {
    const int64_t heads = c->groups * c->shared, d = c->d;
    for (int64_t b = 0; b < c->batch; ++b) {
        for (int64_t i = 0; i < c->s; ++i)
            for (int64_t h = 0; h < heads; ++h) {
                define(c, b, h, i, want);
                for (int64_t e = 0; e < d; ++e) {
                    const float y = got[0][((b * c->s + i) * heads + h) * d + e];
                    if (!(fabs((double)y - want[e]) <= 3e-6 * (1 + fabs(want[e]))) &&
                        !(isnan(y) && isnan(want[e])))
                        fail_msg("case %u, %s, %d threads: row %d of head %d, feature %d: %g, not %g", number,
                                 at->name, at->threads, (int)i, (int)h, (int)e, (double)y, want[e]);
                }
            }
        for (int64_t g = 0; g < c->groups; ++g)
            for (int64_t i = 0; i < c->s; ++i) {
                const int64_t from = ((b * c->s + i) * c->groups + g) * d,
                              to = ((b * c->groups + g) * c->s + i) * d;
                turn(c, lengths[b] + i, x[DTP_CACHED_K] + from, rows_k);
                for (int64_t e = 0; e < d; ++e) {
                    assert_true(fabs((double)got[1][to + e] - rows_k[e]) <= 1e-6);
                    assert_memory_equal(&got[2][to + e], &x[DTP_CACHED_V][from + e], sizeof(float));
                }
            }
    }
}

static void test_values(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 7, 16, 64, 80, 33, 2, 128};
    enum { CASES = 120 };
    int nplaces;
    const place_t *all = places(&nplaces);
    test_rng_t r = {20};
    for (unsigned k = 0; k < CASES; ++k) {
        const unsigned z = test_rand(&r);
        case_t c = {
            .batch = 1 + z % 3, .groups = 1 + z / 4 % 3, .shared = 1 + z / 16 % 5, .window = -1, .mask = -1};
        c.d = sizes[test_rand(&r) % (sizeof sizes / sizeof *sizes)];
        c.s = k % 4 == 1 ? 1 : 1 + (int64_t)(test_rand(&r) % 37);
        c.capacity = k % 5 == 0 ? 300 : (int64_t)(test_rand(&r) % 40);
        if (c.capacity == 300) c.batch = c.groups = 1;
        if (k % 3 == 0) c.window = (int64_t)(test_rand(&r) % (k % 2 ? 20 : 7));
        if (k % 4 == 0) c.mask = (int)(test_rand(&r) % 8);
        if (k % 7 == 0) c.softcap = 1.5f;
        if (k % 3 == 1 && c.d > 1) c.pairs = 1 + (int64_t)(test_rand(&r) % (unsigned)(c.d / 2));
        c.is_causal = k % 8 != 0;
        c.interleaved = k % 2;
        while (c.batch * c.groups * c.shared * c.s * (c.capacity + c.s) > MOST ||
               c.batch * c.groups * (c.capacity + c.s) * c.shared * c.d > MOST) {
            if (c.shared > 1) --c.shared;
            else if (c.s > 1) c.s /= 2;
            else c.d /= 2, c.pairs = 0;
        }
        for (int64_t b = 0; b < c.batch; ++b)
            lengths[b] =
                k % 6 == 0 ? (int32_t)c.capacity : (int32_t)(test_rand(&r) % (unsigned)(c.capacity + 1));
        fill(&r, &c);
        /* A row that does not see a key has nothing of its value. */
        for (int64_t e = 0; k % 4 == 3 && e < c.groups * c.d; ++e)
            x[DTP_CACHED_V][(c.s / 2 * c.groups) * c.d + e] = NAN;
        for (int64_t e = 0; k % 4 == 3 && c.capacity && e < c.d; ++e) x[DTP_CACHED_PAST_V][e] = NAN;
        for (int p = 0; p < nplaces; ++p)
            if (run(&c, &all[p]) == dnnl_tp_success) compare(&c, &all[p], k);
    }
}

static void test_lengths(void **state) {
    (void)state;
    int nplaces;
    const place_t *all = places(&nplaces);
    test_rng_t r = {21};
    case_t c = {.batch = 2,
                .s = 3,
                .capacity = 9,
                .groups = 2,
                .shared = 1,
                .d = 8,
                .window = -1,
                .mask = -1,
                .is_causal = true};
    /* With 8 positions of angles: the third row behind 6 has none. */
    static const int32_t lasts[] = {-1, 10, 9, 6, 5};
    for (size_t i = 0; i < sizeof lasts / sizeof *lasts; ++i) {
        const bool is_bad = i < 2 || lasts[i] == 6;
        lengths[0] = 4;
        lengths[1] = lasts[i];
        c.pairs = i > 2 ? 4 : 0;
        c.positions = i > 2 ? 8 : 0;
        for (int k = 0; k < MOST; ++k)
            for (int n = 0; n < DTP_CACHED_DST; ++n) x[n][k] = (float)(test_rand(&r) % 7);
        for (int p = 0; p < nplaces; ++p) {
            const dnnl_tp_status_t status = run(&c, &all[p]);
            if (status != dnnl_tp_unimplemented &&
                status != (is_bad ? dnnl_tp_runtime_error : dnnl_tp_success))
                fail_msg("%s: length %d gave %d", all[p].name, (int)lasts[i], (int)status);
        }
    }
}

static void test_refusals(void **state) {
    (void)state;
    const case_t good = {.batch = 2,
                         .s = 3,
                         .capacity = 9,
                         .groups = 2,
                         .shared = 2,
                         .d = 8,
                         .window = -1,
                         .mask = 0,
                         .pairs = 4,
                         .is_causal = true};
    case_t bad = good;
    dnnl_tp_status_t status;
    int nin;
    CHECK_OK(dnnl_tp_graph_destroy(build(&good, &nin, &status)));
    CHECK_OK(status);
    bad.pairs = 5; /* more than half of the features */
    CHECK_OK(dnnl_tp_graph_destroy(build(&bad, &nin, &status)));
    assert_int_equal(status, dnnl_tp_invalid_shape);
    bad = good;
    bad.softcap = -1;
    CHECK_OK(dnnl_tp_graph_destroy(build(&bad, &nin, &status)));
    assert_int_equal(status, dnnl_tp_invalid_graph_op);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_lengths),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
