/* Softmax and logsoftmax against double on every engine and pool: axes, layouts, types, scales, post-ops, in
 * place, infinities and NaN, bits independent of threads, leading rows only, chosen implementations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/primitive/primitive_desc.h"
#include "support/tensor.h"
#include "threading/base/parallel.h"

typedef struct {
    int ndims;
    int64_t dims[5];
    const char *src, *dst;
    int axis;
    dnnl_tp_data_type_t st, dt;
    bool in_place, scales, post_ops;
    float range;
} case_t;

#define F32 dnnl_tp_f32, dnnl_tp_f32
static const case_t cases[] = {
    {2, {5, 1}, "ab", "ab", 1, F32, 0, 0, 0, 5},
    {2, {3, 15}, "ab", "ab", 1, F32, 0, 0, 0, 5},
    {2, {4, 16}, "ab", "ab", 1, F32, 1, 0, 0, 5},
    {2, {9, 17}, "ab", "ab", 1, F32, 0, 0, 0, 90},
    {2, {37, 384}, "ab", "ab", 1, F32, 0, 0, 0, 5},
    {2, {6, 2053}, "ab", "ab", 1, F32, 1, 0, 0, 20},
    {2, {3, 9001}, "ab", "ab", 1, F32, 0, 0, 0, 5},
    {2, {700, 33}, "ab", "ab", 1, F32, 0, 0, 0, 5},
    {3, {2, 31, 7}, "abc", "abc", 1, F32, 0, 0, 0, 5},
    {3, {2, 31, 129}, "abc", "abc", 1, F32, 1, 0, 0, 5},
    {3, {9, 5, 33}, "abc", "abc", 0, F32, 0, 0, 0, 5},
    {4, {2, 19, 3, 5}, "acdb", "acdb", 1, F32, 0, 0, 0, 5},
    {4, {2, 19, 3, 5}, "aBcd16b", "aBcd16b", 1, F32, 0, 0, 0, 5},
    {4, {2, 19, 3, 5}, "abcd", "acdb", 1, F32, 0, 0, 0, 5},
    {2, {5, 200}, "ba", "ba", 1, F32, 0, 0, 0, 5},
    {2, {7, 120}, "ab", "ab", 1, dnnl_tp_bf16, dnnl_tp_bf16, 1, 0, 0, 5},
    {2, {7, 120}, "ab", "ab", 1, dnnl_tp_f16, dnnl_tp_f32, 0, 0, 0, 5},
    {2, {7, 12}, "ab", "ab", 1, dnnl_tp_f32, dnnl_tp_u8, 0, 1, 0, 3},
    {2, {7, 12}, "ab", "ab", 1, dnnl_tp_s8, dnnl_tp_s8, 0, 1, 0, 3},
    {3, {3, 40, 6}, "abc", "abc", 1, dnnl_tp_bf16, dnnl_tp_f32, 0, 1, 1, 5},
    {2, {33, 70}, "ab", "ab", 1, F32, 0, 0, 1, 5},
    {3, {3, 21, 70}, "abc", "abc", 1, F32, 0, 0, 1, 5},
    {2, {33, 70}, "ab", "ab", 1, F32, 1, 1, 1, 5},
    {2, {0, 70}, "ab", "ab", 1, F32, 0, 0, 0, 5},
    {1, {50}, "a", "a", 0, F32, 0, 0, 0, 5},
};

static void softmax_case(const place_t *at, const case_t *c, int log_form, int number) {
    tensor_t src, dst, add;
    test_rng_t r = test_rng((uint64_t)number);
    tensor_layout(&src, c->ndims, c->dims, c->st, c->src);
    tensor_fill(&src, &r, -c->range, c->range, c->st > dnnl_tp_f32);
    if (c->in_place) dst = src;
    else tensor_layout(&dst, c->ndims, c->dims, c->dt, c->dst);
    int64_t n = dtp_md_nelems(&src.md), inner = 1, len = c->dims[c->axis];
    for (int d = c->axis + 1; d < c->ndims; ++d) inner *= c->dims[d];
    double *x = malloc(sizeof(double) * (size_t)(n + 1)), *y = malloc(sizeof(double) * (size_t)(n + 1));
    int64_t pos[12] = {0}, i = 0;
    if (n) do
            x[i++] = tensor_get(&src, pos);
        while (tensor_next(&src.md, pos));
    /* Post-ops: linear, then + a tensor that broadcasts over all dims but the last. */
    int64_t add_dims[5];
    for (int d = 0; d < c->ndims; ++d) add_dims[d] = d == c->ndims - 1 ? c->dims[d] : 1;
    dnnl_tp_primitive_attr_t attr;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    dtp_md_t add_md;
    CHECK_OK(dtp_md_init_strides(&add_md, c->ndims, add_dims, dnnl_tp_f32, NULL));
    tensor_init(&add, &add_md);
    tensor_fill(&add, &r, -4, 4, true);
    float src_scale = 32.f, dst_scale = .25f;
    if (c->scales) {
        CHECK_OK(dnnl_tp_primitive_attr_set_scales_mask(attr, DNNL_TP_ARG_SRC, 0));
        CHECK_OK(dnnl_tp_primitive_attr_set_scales_mask(attr, DNNL_TP_ARG_DST, 0));
    }
    if (c->post_ops) {
        dnnl_tp_post_ops_t po;
        CHECK_OK(dnnl_tp_post_ops_create(&po));
        CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_linear, 2.f, 1.f));
        CHECK_OK(dnnl_tp_post_ops_append_binary(po, dnnl_tp_binary_add, &add_md));
        CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
        CHECK_OK(dnnl_tp_post_ops_destroy(po));
    }
    dnnl_tp_primitive_desc_t pd;
    if (!has_impl(at->engine, dnnl_tp_softmax_forward_primitive_desc_create(
                                  &pd, at->engine, dnnl_tp_forward_inference,
                                  log_form ? dnnl_tp_softmax_log : dnnl_tp_softmax_accurate, &src.md, &dst.md,
                                  c->axis, attr)))
        goto done;
    check_impl(pd, at->isa == dnnl_tp_cpu_isa_sse41 ? "ref:" : "simd", "softmax");
    dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, src.data},
                                    {DNNL_TP_ARG_DST, dst.data},
                                    {DNNL_TP_ARG_ATTR_SCALES | DNNL_TP_ARG_SRC, &src_scale},
                                    {DNNL_TP_ARG_ATTR_SCALES | DNNL_TP_ARG_DST, &dst_scale},
                                    {DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(1) | DNNL_TP_ARG_SRC_1, add.data}};
    CHECK_OK(run_pd(at, pd, 5, args));
    for (int64_t l = 0; n && l < n / len; ++l) {
        int64_t base = l / inner * len * inner + l % inner;
        double max = -INFINITY, sum = 0;
        for (int64_t k = 0; k < len; ++k) max = fmax(max, x[base + k * inner]);
        for (int64_t k = 0; k < len; ++k) sum += exp(x[base + k * inner] - max);
        for (int64_t k = 0; k < len; ++k) {
            double v = x[base + k * inner] - max;
            y[base + k * inner] = log_form ? v - log(sum) : exp(v) / sum;
        }
    }
    memset(pos, 0, sizeof pos);
    i = 0;
    if (n) do {
            double want = y[i], got = tensor_get(&dst, pos),
                   err = 1.2e-6 * fabs(want) + 2e-7 * (log_form ? 5 : .01);
            if (c->scales) want *= src_scale, err *= src_scale;
            if (c->post_ops) want = 2 * want + 1 + tensor_get_bcast(&add, pos), err = 2 * err + 1e-6;
            if (c->scales) want /= dst_scale, err /= dst_scale;
            if (!rounds_near(dst.md.data_type, got, want, err + 1e-6 * fabs(want)))
                fail_msg("case %d log %d on %s x%d: element %d is %.9g, not %.9g", number, log_form, at->name,
                         at->threads, (int)i, got, want);
            ++i;
        } while (tensor_next(&src.md, pos));
    tensor_check(&dst, "dst");
done:
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    tensor_free(&src);
    tensor_free(&add);
    if (!c->in_place) tensor_free(&dst);
    free(x), free(y);
}

static void softmax_all(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    for (int i = 0; i < n; ++i)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c)
            for (int l = 0; l < 2; ++l) softmax_case(&at[i], &cases[c], l, (int)c);
}

static void run_rows(const place_t *at, const float *x, float *y, int64_t rows, int64_t n,
                     dnnl_tp_alg_kind_t alg) {
    dtp_md_t md;
    int64_t dims[] = {rows, n};
    CHECK_OK(dtp_md_init_strides(&md, 2, dims, dnnl_tp_f32, NULL));
    dnnl_tp_primitive_desc_t pd;
    CHECK_OK(dnnl_tp_softmax_forward_primitive_desc_create(&pd, at->engine, dnnl_tp_forward_inference, alg,
                                                           &md, &md, 1, NULL));
    dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, (void *)(uintptr_t)x}, {DNNL_TP_ARG_DST, y}};
    CHECK_OK(run_pd(at, pd, 2, args));
}

/* exp(inf - inf) is NaN and spreads over its row only; -inf beside finite values is probability 0. */
static void special_values(void **state) {
    (void)state;
    enum { R = 9, N = 40 };
    static float x[R * N], y[R * N];
    int n;
    const place_t *at = places(&n);
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < R * N; ++j) x[j] = (float)(j % 7);
        for (int j = 0; j < N; ++j) x[1 * N + j] = -INFINITY;
        x[3 * N + 5] = INFINITY;
        x[5 * N + 39] = NAN;
        for (int j = 1; j < N; ++j) x[7 * N + j] = -INFINITY;
        run_rows(&at[i], x, y, R, N, dnnl_tp_softmax_accurate);
        for (int j = 0; j < N; ++j) {
            assert_true(isnan(y[1 * N + j]));
            assert_true(isnan(y[3 * N + j]) || at[i].isa == dnnl_tp_cpu_isa_sse41);
            assert_true(isnan(y[5 * N + j]));
            assert_true(y[7 * N + j] == (j ? 0.f : 1.f));
        }
        for (int r = 0; r < R; r += 2)
            for (int j = 0; j < N; ++j) assert_true(y[r * N + j] > 0 && y[r * N + j] < 1);
    }
}

/* Rows of every short length, all far below zero, or masked in front: what stands behind a row is no element of it. */
static void far_below_zero(void **state) {
    (void)state;
    enum { R = 5, MOST = 70 };
    static float x[R * MOST], y[R * MOST];
    int places_n;
    const place_t *at = places(&places_n);
    test_rng_t rng = test_rng(3);
    for (int i = 0; i < places_n; ++i)
        for (int n = 1; n <= MOST; ++n)
            for (int masked = 0; masked < 2; ++masked) {
                for (int j = 0; j < R * n; ++j)
                    x[j] = masked && j % n < n / 2 ? -INFINITY : test_uniform(&rng, -320, -300);
                run_rows(&at[i], x, y, R, n, dnnl_tp_softmax_accurate);
                for (int r = 0; r < R; ++r) {
                    double most = -INFINITY, sum = 0;
                    for (int j = 0; j < n; ++j) most = fmax(most, x[r * n + j]);
                    for (int j = 0; j < n; ++j) sum += exp(x[r * n + j] - most);
                    for (int j = 0; j < n; ++j)
                        if (!(fabs(y[r * n + j] - exp(x[r * n + j] - most) / sum) <= 1e-6))
                            fail_msg("%s: rows of %d%s: element %d is %g", at[i].name, n,
                                     masked ? ", masked" : "", j, (double)y[r * n + j]);
                }
            }
}

static void same_bits(void **state) {
    (void)state;
    enum { R = 211, N = 143 };
    static float x[R * N], y[R * N], first[R * N], part[R * N];
    test_rng_t rng = test_rng(5);
    for (int i = 0; i < R * N; ++i) x[i] = test_uniform(&rng, -8, 8);
    int n;
    const place_t *at = places(&n);
    if (!runs_cpu_code(at->engine)) skip();
    for (int i = 0; i < n; ++i) {
        run_rows(&at[i], x, y, R, N, dnnl_tp_softmax_accurate);
        if (i == 0 || at[i].isa != at[i - 1].isa) memcpy(first, y, sizeof y);
        assert_memory_equal(first, y, sizeof y);
        /* A primitive of R rows that computes 17 of them. */
        dtp_md_t md;
        int64_t dims[] = {R, N};
        CHECK_OK(dtp_md_init_strides(&md, 2, dims, dnnl_tp_f32, NULL));
        dnnl_tp_primitive_desc_t pd;
        CHECK_OK(dnnl_tp_softmax_forward_primitive_desc_create(&pd, at[i].engine, dnnl_tp_forward_inference,
                                                               dnnl_tp_softmax_accurate, &md, &md, 1, NULL));
        dnnl_tp_primitive_t p;
        CHECK_OK(dnnl_tp_primitive_create(&p, pd));
        memset(part, 0, sizeof part);
        void *ptr[] = {x, part};
        dtp_parallel_t alone = {.num_threads = 1};
        CHECK_OK(dtp_primitive_run(p, &alone, ptr, NULL, NULL, 17));
        assert_memory_equal(part, y, 17 * N * sizeof(float));
        for (int j = 17 * N; j < R * N; ++j) assert_true(part[j] == 0.f);
        CHECK_OK(dnnl_tp_primitive_destroy(p));
        CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    }
}

/* ---- f64 --------------------------------------------------------------------------------------------- */

enum { F64_ROOM = 2600 };

/* {2, n, 3} along n: rows with lines in front and behind them (`way` 0), dense or in place (1, 2), columns (3), and
 * from one layout into another (4). */
static void f64_md(dtp_md_t *md, int64_t n, int way, bool is_dst) {
    const int64_t dims[] = {2, n, 3};
    const int64_t strides[5][3] = {
        {3 * n + 20, 1, n + 3}, {3 * n, 1, n}, {3 * n, 1, n}, {3 * n, 3, 1}, {3 * n, 3, 1}};
    CHECK_OK(dtp_md_init_strides(md, 3, dims, dnnl_tp_f64, strides[way == 4 && is_dst ? 0 : way]));
}

static void f64_case(const place_t *at, int64_t n, int way, int log_form, uint64_t stream) {
    static double x[F64_ROOM], y[F64_ROOM], from[F64_ROOM];
    test_rng_t rng = test_rng(stream);
    dtp_md_t src, dst;
    f64_md(&src, n, way, false);
    f64_md(&dst, n, way, true);
    const float range = stream % 3 == 0   ? 900
                        : stream % 3 == 1 ? 30
                                          : 1; /* down to numbers that are not normal */
    for (int i = 0; i < F64_ROOM; ++i) {
        x[i] = from[i] = (double)test_uniform(&rng, -range, range) + (double)test_uniform(&rng, 0, 1e-8f);
        y[i] = -7;
    }
    double *const to = way == 2 ? x : y;
    dnnl_tp_primitive_desc_t pd;
    if (!has_impl(at->engine,
                  dnnl_tp_softmax_forward_primitive_desc_create(
                      &pd, at->engine, dnnl_tp_forward_inference,
                      log_form ? dnnl_tp_softmax_log : dnnl_tp_softmax_accurate, &src, &dst, 1, NULL)))
        return;
    check_impl(pd, at->isa == dnnl_tp_cpu_isa_sse41 ? "ref:" : "simd", "softmax of f64");
    dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, x}, {DNNL_TP_ARG_DST, to}};
    CHECK_OK(run_pd(at, pd, 2, args));
    int64_t written = 0;
    for (int i = 0; i < F64_ROOM; ++i) written += to[i] != (way == 2 ? from[i] : -7);
    if (way != 2 && written > 6 * n) fail_msg("%s: n %d way %d writes elsewhere", at->name, (int)n, way);
    for (int l = 0; l < 6; ++l) {
        int64_t pos[] = {l / 3, 0, l % 3};
        long double most = -INFINITY, sum = 0;
        for (pos[1] = 0; pos[1] < n; ++pos[1]) most = fmaxl(most, from[dtp_md_offset(&src, pos)]);
        for (pos[1] = 0; pos[1] < n; ++pos[1]) sum += expl(from[dtp_md_offset(&src, pos)] - most);
        for (pos[1] = 0; pos[1] < n; ++pos[1]) {
            const long double v = from[dtp_md_offset(&src, pos)] - most,
                              want = log_form ? v - logl(sum) : expl(v) / sum,
                              scale = log_form ? fabsl(v) + logl(sum) : want * (1 + fabsl(v) / 8);
            const double got = to[dtp_md_offset(&dst, pos)];
            /* Units of the last place: of e^x, of the sum, of the quotient, and that of x - max. */
            const long double units = (1 + n / 32) * 1.2e-16L;
            if (!(fabsl(got - want) <= units * 8 * (scale + log_form) + 2 * 4.95e-324L))
                fail_msg("%s x%d: n %d way %d log %d: element %d of line %d is %.17g, not %.17Lg", at->name,
                         at->threads, (int)n, way, log_form, (int)pos[1], l, got, want);
        }
    }
}

static void f64_lines(void **state) {
    (void)state;
    int places_n;
    const place_t *at = places(&places_n);
    for (int i = 0; i < places_n; ++i)
        for (int64_t n = 1; n < 400; n += n < 40 ? 1 : 119)
            for (int way = 0; way < 5; ++way)
                for (int log_form = 0; log_form < 2; ++log_form)
                    f64_case(&at[i], n, way, log_form, (uint64_t)(7 * n + way));
}

/* Infinities, NaN and numbers that e^x makes 0, in each place of a vector and of what is left behind the last one. */
static void f64_special(void **state) {
    (void)state;
    enum { N = 21 };
    int n;
    const place_t *at = places(&n);
    const int64_t dims[] = {1, N};
    dtp_md_t md;
    CHECK_OK(dtp_md_init_strides(&md, 2, dims, dnnl_tp_f64, NULL));
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < N; ++j)
            for (int way = 0; way < 5; ++way) {
                double x[N], y[N];
                for (int k = 0; k < N; ++k) x[k] = way == 1 ? -INFINITY : way == 4 ? -1e300 : k % 5;
                if (way < 4) x[j] = way == 0 ? NAN : way == 2 ? INFINITY : -INFINITY;
                else x[j] = 3;
                dnnl_tp_primitive_desc_t pd;
                if (!has_impl(at[i].engine, dnnl_tp_softmax_forward_primitive_desc_create(
                                                &pd, at[i].engine, dnnl_tp_forward_inference,
                                                dnnl_tp_softmax_accurate, &md, &md, 1, NULL)))
                    return;
                dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, x}, {DNNL_TP_ARG_DST, y}};
                CHECK_OK(run_pd(&at[i], pd, 2, args));
                for (int k = 0; k < N; ++k) {
                    if (way < 3) assert_true(isnan(y[k]) || (way == 2 && !runs_cpu_code(at[i].engine)));
                    else if (way == 4) assert_true(y[k] == (k == j ? 1 : 0));
                    else assert_true(k == j ? y[k] == 0 : y[k] > 0 && y[k] < 1);
                }
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(softmax_all), cmocka_unit_test(special_values),
                                       cmocka_unit_test(same_bits),   cmocka_unit_test(far_below_zero),
                                       cmocka_unit_test(f64_lines),   cmocka_unit_test(f64_special)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
