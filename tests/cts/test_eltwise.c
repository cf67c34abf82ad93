/* Eltwise primitive: every algorithm in every type and layout against double libm, on every engine and pool;
 * in place, padding, zero dims, post-ops, refusals, chosen implementations. The functions themselves:
 * unit/test_vops.c. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/primitive/primitive_desc.h"
#include "support/tensor.h"
#include "threading/base/parallel.h"

static double reference(int alg, double s, double a, double b) {
    switch (alg) {
    case dnnl_tp_eltwise_relu:
    case dnnl_tp_eltwise_relu_use_dst_for_bwd: return s > 0 ? s : a * s;
    case dnnl_tp_eltwise_tanh:
    case dnnl_tp_eltwise_tanh_use_dst_for_bwd: return tanh(s);
    case dnnl_tp_eltwise_elu:
    case dnnl_tp_eltwise_elu_use_dst_for_bwd: return s > 0 ? s : a * expm1(s);
    case dnnl_tp_eltwise_square: return s * s;
    case dnnl_tp_eltwise_abs: return fabs(s);
    case dnnl_tp_eltwise_sqrt:
    case dnnl_tp_eltwise_sqrt_use_dst_for_bwd: return sqrt(s);
    case dnnl_tp_eltwise_linear: return a * s + b;
    case dnnl_tp_eltwise_soft_relu: return log1p(exp(a * s)) / a;
    case dnnl_tp_eltwise_hardsigmoid: return fmin(1, fmax(0, a * s + b));
    case dnnl_tp_eltwise_logistic:
    case dnnl_tp_eltwise_logistic_use_dst_for_bwd: return 1 / (1 + exp(-s));
    case dnnl_tp_eltwise_exp:
    case dnnl_tp_eltwise_exp_use_dst_for_bwd: return exp(s);
    case dnnl_tp_eltwise_gelu_tanh:
        return .5 * s * (1 + tanh(.79788456080286535588 * (s + .044715 * s * s * s)));
    case dnnl_tp_eltwise_swish: return s / (1 + exp(-a * s));
    case dnnl_tp_eltwise_log: return log(s);
    case dnnl_tp_eltwise_clip:
    case dnnl_tp_eltwise_clip_v2:
    case dnnl_tp_eltwise_clip_v2_use_dst_for_bwd: return fmin(fmax(s, a), b);
    case dnnl_tp_eltwise_pow: return a * pow(s, b);
    case dnnl_tp_eltwise_gelu_erf: return .5 * s * erfc(-s / sqrt(2));
    case dnnl_tp_eltwise_round: return nearbyint(s);
    case dnnl_tp_eltwise_mish: return s * tanh(log1p(exp(s)));
    default: return s * fmin(1, fmax(0, a * s + b)); /* hardswish */
    }
}

static const int algs[] = {dnnl_tp_eltwise_relu,
                           dnnl_tp_eltwise_tanh,
                           dnnl_tp_eltwise_elu,
                           dnnl_tp_eltwise_square,
                           dnnl_tp_eltwise_abs,
                           dnnl_tp_eltwise_sqrt,
                           dnnl_tp_eltwise_linear,
                           dnnl_tp_eltwise_soft_relu,
                           dnnl_tp_eltwise_hardsigmoid,
                           dnnl_tp_eltwise_logistic,
                           dnnl_tp_eltwise_exp,
                           dnnl_tp_eltwise_gelu_tanh,
                           dnnl_tp_eltwise_swish,
                           dnnl_tp_eltwise_log,
                           dnnl_tp_eltwise_clip,
                           dnnl_tp_eltwise_clip_v2,
                           dnnl_tp_eltwise_pow,
                           dnnl_tp_eltwise_gelu_erf,
                           dnnl_tp_eltwise_round,
                           dnnl_tp_eltwise_mish,
                           dnnl_tp_eltwise_hardswish,
                           dnnl_tp_eltwise_relu_use_dst_for_bwd,
                           dnnl_tp_eltwise_tanh_use_dst_for_bwd,
                           dnnl_tp_eltwise_elu_use_dst_for_bwd,
                           dnnl_tp_eltwise_sqrt_use_dst_for_bwd,
                           dnnl_tp_eltwise_logistic_use_dst_for_bwd,
                           dnnl_tp_eltwise_exp_use_dst_for_bwd,
                           dnnl_tp_eltwise_clip_v2_use_dst_for_bwd};
enum { NALGS = sizeof algs / sizeof *algs };

static bool needs_positive(int alg) {
    return alg == dnnl_tp_eltwise_sqrt || alg == dnnl_tp_eltwise_log || alg == dnnl_tp_eltwise_pow ||
           alg == dnnl_tp_eltwise_sqrt_use_dst_for_bwd;
}
static bool int_alg(int alg) {
    return alg == dnnl_tp_eltwise_relu || alg == dnnl_tp_eltwise_linear || alg == dnnl_tp_eltwise_clip ||
           alg == dnnl_tp_eltwise_clip_v2;
}

typedef struct {
    int ndims;
    int64_t dims[5];
    const char *src, *dst; /* layouts */
} shape_t;

static void eltwise_case(const place_t *at, int alg, dnnl_tp_data_type_t st, dnnl_tp_data_type_t dt,
                         const shape_t *sh, bool in_place, const char *impl) {
    float a = .75f, b = alg == dnnl_tp_eltwise_pow ? 1.5f : 1.25f;
    tensor_t src, dst;
    test_rng_t r = test_rng((uint64_t)(alg * 31 + st));
    tensor_layout(&src, sh->ndims, sh->dims, st, sh->src);
    bool ints = st > dnnl_tp_f32;
    tensor_fill(&src, &r, needs_positive(alg) ? .01f : ints ? -100 : -6, ints ? 100 : 6, ints);
    if (in_place) dst = src;
    else tensor_layout(&dst, sh->ndims, sh->dims, dt, sh->dst);
    dnnl_tp_primitive_desc_t pd;
    if (!has_impl(at->engine, dnnl_tp_eltwise_forward_primitive_desc_create(
                                  &pd, at->engine, dnnl_tp_forward_training, (dnnl_tp_alg_kind_t)alg, &src.md,
                                  &dst.md, a, b, NULL))) {
        tensor_free(&src);
        if (!in_place) tensor_free(&dst);
        return;
    }
    check_impl(pd, impl, "eltwise");
    int64_t n = dtp_md_nelems(&src.md), i = 0, pos[12] = {0};
    double *in = malloc(sizeof(double) * (size_t)(n + 1));
    if (n) do
            in[i++] = tensor_get(&src, pos);
        while (tensor_next(&src.md, pos));
    dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, src.data}, {DNNL_TP_ARG_DST, dst.data}};
    CHECK_OK(run_pd(at, pd, 2, args));
    memset(pos, 0, sizeof pos);
    i = 0;
    if (n) do {
            double want = reference(alg, in[i], (double)a, (double)b), got = tensor_get(&dst, pos);
            if (!rounds_near(dt, got, want, 2e-6 * fabs(want) + 1e-7))
                fail_msg("alg %d type %d on %s x%d, layout %s: %.9g gives %.9g, not %.9g", alg, st, at->name,
                         at->threads, sh->dst, in[i], got, want);
            ++i;
        } while (tensor_next(&src.md, pos));
    tensor_check(&dst, "dst");
    tensor_free(&src);
    if (!in_place) tensor_free(&dst);
    free(in);
}

static const shape_t plain = {2, {7, 333}, "ab", "ab"};

static void all_algorithms(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < NALGS; ++k) {
            const char *impl = at[i].isa == dnnl_tp_cpu_isa_sse41 ? "ref:any" : "simd:";
            eltwise_case(&at[i], algs[k], dnnl_tp_f32, dnnl_tp_f32, &plain, false, impl);
            eltwise_case(&at[i], algs[k], dnnl_tp_f32, dnnl_tp_f32, &plain, true, impl);
        }
}

static void all_types(void **state) {
    (void)state;
    static const dnnl_tp_data_type_t types[] = {dnnl_tp_f32, dnnl_tp_bf16, dnnl_tp_f16,
                                                dnnl_tp_s32, dnnl_tp_s8,   dnnl_tp_u8};
    int n;
    const place_t *at = places(&n);
    for (int i = 0; i < n; ++i)
        for (int t = 0; t < 6; ++t)
            for (int k = 0; k < NALGS; k += at[i].threads == 2 ? 1 : 5) {
                if (types[t] > dnnl_tp_f32 && !int_alg(algs[k])) continue;
                if (types[t] != dnnl_tp_f32 && algs[k] == dnnl_tp_eltwise_round) continue;
                eltwise_case(&at[i], algs[k], types[t], types[t], &plain, false, NULL);
                eltwise_case(&at[i], algs[k], types[t], types[t], &plain, true, NULL);
            }
    eltwise_case(&at[0], dnnl_tp_eltwise_exp, dnnl_tp_bf16, dnnl_tp_f32, &plain, false, NULL);
    eltwise_case(&at[0], dnnl_tp_eltwise_linear, dnnl_tp_f32, dnnl_tp_s8, &plain, false, NULL);
}

static void all_layouts(void **state) {
    (void)state;
    static const shape_t shapes[] = {
        {4, {2, 19, 5, 3}, "acdb", "acdb"},
        {4, {2, 19, 5, 3}, "aBcd16b", "aBcd16b"},
        {4, {2, 19, 5, 3}, "abcd", "acdb"},
        {4, {2, 19, 5, 3}, "aBcd16b", "abcd"},
        {4, {2, 19, 5, 3}, "abcd", "aBcd8b"},
        {3, {3, 1, 1}, "abc", "cba"},
        {1, {1}, "a", "a"},
        {1, {70001}, "a", "a"},
        {2, {0, 5}, "ab", "ab"},
        {3, {4, 0, 2}, "abc", "abc"},
        {5, {2, 3, 4, 5, 6}, "abcde", "edcba"},
        {2, {33, 40}, "BA16a16b", "BA16a16b"},
    };
    int n;
    const place_t *at = places(&n);
    for (int i = 0; i < n; ++i)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s)
            for (int k = 0; k < 3; ++k) {
                static const int some[] = {dnnl_tp_eltwise_relu, dnnl_tp_eltwise_exp, dnnl_tp_eltwise_linear};
                eltwise_case(&at[i], some[k], dnnl_tp_f32, dnnl_tp_f32, &shapes[s], false, NULL);
                eltwise_case(&at[i], some[k], dnnl_tp_bf16, dnnl_tp_bf16, &shapes[s], false, NULL);
            }
}

/* Windows with gaps and an offset; what lies between is not touched (the canary value stays). */
static void strided(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    const int64_t dims[] = {5, 37}, strides[] = {50, 1}, wide[] = {90, 2};
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < 2; ++k) {
            dtp_md_t src, dst;
            CHECK_OK(dtp_md_init_strides(&src, 2, dims, dnnl_tp_f32, strides));
            CHECK_OK(dtp_md_init_strides(&dst, 2, dims, dnnl_tp_f32, k ? wide : strides));
            src.offset0 = 3, dst.offset0 = 5;
            static float x[600], y[600];
            for (int j = 0; j < 600; ++j) x[j] = (float)(j - 300) * .01f, y[j] = 777.f;
            dnnl_tp_primitive_desc_t pd;
            CHECK_OK(dnnl_tp_eltwise_forward_primitive_desc_create(
                &pd, at[i].engine, dnnl_tp_forward_inference, dnnl_tp_eltwise_tanh, &src, &dst, 0, 0, NULL));
            dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, x}, {DNNL_TP_ARG_DST, y}};
            CHECK_OK(run_pd(&at[i], pd, 2, args));
            int written = 0;
            for (int r = 0; r < 5; ++r)
                for (int c = 0; c < 37; ++c) {
                    int from = 3 + r * 50 + c, to = k ? 5 + r * 90 + 2 * c : 5 + r * 50 + c;
                    assert_true(fabs((double)y[to] - tanh((double)x[from])) < 1e-6);
                }
            for (int j = 0; j < 600; ++j) written += y[j] != 777.f;
            assert_int_equal(written, 5 * 37);
        }
}

/* Above half of the last-level cache results go around it; the tail and the head of the buffer matter there.
 */
static void streamed(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    int64_t count = at[0].engine->l3_bytes / 8 + 1003;
    if (count > 20 << 20) skip();
    float *x = aligned_alloc(64, (size_t)(count + 64) / 16 * 64),
          *y = aligned_alloc(64, (size_t)(count + 64) / 16 * 64);
    for (int64_t i = 0; i < count; ++i) x[i] = (float)(i % 1001 - 500);
    for (int i = 0; i < n; ++i) {
        if (at[i].isa == dnnl_tp_cpu_isa_sse41 || at[i].threads != 3) continue;
        dtp_md_t md;
        int64_t dims = count - 3;
        CHECK_OK(dtp_md_init_strides(&md, 1, &dims, dnnl_tp_f32, NULL));
        dnnl_tp_primitive_desc_t pd;
        CHECK_OK(dnnl_tp_eltwise_forward_primitive_desc_create(&pd, at[i].engine, dnnl_tp_forward_inference,
                                                               dnnl_tp_eltwise_relu, &md, &md, 0, 0, NULL));
        for (int64_t j = 0; j < count; ++j) y[j] = 777.f;
        dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, x + 1}, {DNNL_TP_ARG_DST, y + 1}};
        CHECK_OK(run_pd(&at[i], pd, 2, args));
        int64_t wrong = 0;
        for (int64_t j = 1; j < count - 2; ++j) wrong += y[j] != (x[j] > 0 ? x[j] : 0);
        assert_int_equal(wrong, 0);
        assert_true(y[0] == 777.f && y[count - 2] == 777.f);
    }
    free(x), free(y);
}

static void refused(const place_t *at, int alg, dnnl_tp_data_type_t dt) {
    dtp_md_t md;
    int64_t dims[] = {2, 3};
    CHECK_OK(dtp_md_init_strides(&md, 2, dims, dt, NULL));
    dnnl_tp_primitive_desc_t pd = (dnnl_tp_primitive_desc_t)1;
    CHECK_STATUS(dnnl_tp_eltwise_forward_primitive_desc_create(&pd, at->engine, dnnl_tp_forward_inference,
                                                               (dnnl_tp_alg_kind_t)alg, &md, &md, 0, 1, NULL),
                 dnnl_tp_unimplemented);
    assert_null(pd);
}

static void refusals(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    for (int i = 0; i < n; ++i) {
        refused(&at[i], dnnl_tp_eltwise_exp, dnnl_tp_s8);
        refused(&at[i], dnnl_tp_eltwise_round, dnnl_tp_bf16);
        refused(&at[i], dnnl_tp_eltwise_tanh, dnnl_tp_s32);
        refused(&at[i], dnnl_tp_eltwise_tanh, dnnl_tp_s64);
        refused(&at[i], dnnl_tp_eltwise_square, dnnl_tp_boolean);
    }
}

/* Leading rows only. */
static void rows_mode(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    if (!runs_cpu_code(at->engine)) skip();
    static float x[40 * 70], y[40 * 70];
    for (int i = 0; i < 40 * 70; ++i) x[i] = (float)(i % 19) - 9;
    for (int i = 0; i < n; ++i) {
        dtp_md_t md;
        int64_t dims[] = {40, 70};
        CHECK_OK(dtp_md_init_strides(&md, 2, dims, dnnl_tp_f32, NULL));
        dnnl_tp_primitive_desc_t pd;
        CHECK_OK(dnnl_tp_eltwise_forward_primitive_desc_create(&pd, at[i].engine, dnnl_tp_forward_inference,
                                                               dnnl_tp_eltwise_abs, &md, &md, 0, 0, NULL));
        assert_true(pd->impl->flags & DTP_IMPL_ROWS);
        dnnl_tp_primitive_t p;
        CHECK_OK(dnnl_tp_primitive_create(&p, pd));
        for (int j = 0; j < 40 * 70; ++j) y[j] = 777.f;
        void *ptr[] = {x, y};
        dtp_parallel_t alone = {.num_threads = 1};
        CHECK_OK(dtp_primitive_run(p, &alone, ptr, NULL, NULL, 13));
        for (int j = 0; j < 40 * 70; ++j) assert_true(y[j] == (j < 13 * 70 ? fabsf(x[j]) : 777.f));
        CHECK_OK(dnnl_tp_primitive_destroy(p));
        CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_algorithms), cmocka_unit_test(all_types),
                                       cmocka_unit_test(all_layouts),    cmocka_unit_test(strided),
                                       cmocka_unit_test(streamed),       cmocka_unit_test(refusals),
                                       cmocka_unit_test(rows_mode)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
