/* Local response normalization against a double-precision reference: both algorithms, odd and even sizes, layouts,
 * types, powers; on every instruction set and thread count, bit-equal over threads. Large values, NaN, queries. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/primitive/primitive_desc.h"
#include "support/layout.h"
#include "support/tensor.h"

typedef struct {
    int nd;
    dnnl_tp_dims_t dims;
    int64_t size;
    const char *src, *dst; /* layouts; dst NULL: any */
    dnnl_tp_data_type_t sdt, ddt;
    float alpha, beta, k;
    const char *impl;
} case_t;

#define F32 dnnl_tp_f32
#define BF16 dnnl_tp_bf16
#define F16 dnnl_tp_f16
#define S8 dnnl_tp_s8

static const case_t cases[] = {
    /* Channels last: tails of vectors, sizes odd, even, wider than src. */
    {4, {2, 1, 5, 6}, 5, "acdb", "acdb", F32, F32, .1f, .75f, 1, "simd"},
    {4, {2, 7, 5, 6}, 5, "acdb", NULL, F32, F32, .1f, .75f, 1, "simd"},
    {4, {2, 15, 5, 6}, 3, "acdb", "acdb", F32, F32, .1f, .75f, 2, "simd"},
    {4, {2, 9, 5, 6}, 5, "acdb", NULL, F32, F32, .1f, .75f, 1, "simd"},
    {4, {2, 16, 5, 6}, 5, "acdb", NULL, F32, F32, .1f, .75f, 1, "simd"},
    {4, {2, 17, 5, 6}, 5, "acdb", NULL, F32, F32, .1f, .75f, 1, "simd"},
    {4, {2, 64, 5, 6}, 5, "acdb", NULL, BF16, BF16, .1f, .75f, 1, "simd"},
    {4, {2, 16, 5, 6}, 4, "acdb", "acdb", F32, F32, .1f, .75f, 1, "simd"},
    {4, {2, 17, 5, 6}, 7, "acdb", "acdb", F32, F32, .1f, .75f, 1, "simd"},
    {4, {1, 33, 4, 5}, 90, "acdb", "acdb", F32, F32, 1, .75f, 1, "simd"},
    {4, {1, 196, 7, 5}, 5, "acdb", "acdb", F32, F32, 1e-4f, .75f, 1, "simd"},
    {4, {1, 40, 7, 5}, 1, "acdb", "acdb", F32, F32, .3f, .75f, 1, "simd"},
    {4, {1, 40, 7, 5}, 5, "acdb", "acdb", F32, F32, .3f, .5f, 1, "simd"},
    {2, {70, 40}, 5, "ab", "ab", F32, F32, .3f, .75f, 1, "simd"},
    {2, {70, 40}, 6, "ba", "ba", F32, F32, .3f, 1, 1, "simd"},
    {3, {3, 19, 21}, 5, "acb", "acb", F32, F32, .3f, .75f, 1, "simd"},
    {5, {2, 19, 4, 5, 6}, 5, "acdeb", "acdeb", F32, F32, .3f, .75f, 1, "simd"},
    /* Planes. */
    {4, {2, 7, 5, 6}, 5, "abcd", "abcd", F32, F32, .1f, .75f, 1, "simd"},
    {4, {2, 40, 9, 9}, 5, "abcd", NULL, F32, F32, .1f, .75f, 1, "simd"},
    {4, {1, 67, 40, 40}, 3, "abcd", "abcd", F32, F32, .1f, .75f, 1, "simd"},
    {4, {2, 20, 7, 5}, 8, "abcd", "abcd", F32, F32, .1f, .3f, 1, "simd"},
    {3, {2, 20, 35}, 5, "abc", "abc", F32, F32, .1f, .75f, 1, "simd"},
    {5, {2, 19, 4, 5, 6}, 4, "abcde", "abcde", F32, F32, .3f, .75f, 1, "simd"},
    /* Blocks. */
    {4, {2, 37, 5, 6}, 5, "aBcd16b", "aBcd16b", F32, F32, .1f, .75f, 1, "simd"},
    {4, {2, 37, 5, 6}, 5, "aBcd8b", NULL, F32, F32, .1f, .75f, 1, "simd"},
    {4, {1, 32, 5, 6}, 5, "aBcd16b", "aBcd16b", BF16, BF16, .1f, .75f, 1, "simd"},
    {4, {2, 37, 5, 6}, 5, "aBcd16b", "aBcd16b", BF16, BF16, .1f, .75f, 1, "simd"},
    {4, {2, 21, 5, 6}, 5, "aBcd4b", "aBcd4b", F32, F32, .1f, .75f, 1, "simd"},
    {4, {2, 21, 5, 6}, 4, "aBcd8b", "aBcd8b", BF16, BF16, .1f, .6f, 1, "simd"},
    {2, {5, 37}, 5, "aB16b", "aB16b", F32, F32, .1f, .75f, 1, "simd"},
    /* Other types and layouts. */
    {4, {2, 37, 5, 6}, 5, "acdb", "acdb", BF16, BF16, .1f, .75f, 1, "simd"},
    {4, {2, 37, 5, 6}, 5, "abcd", "abcd", F16, F16, .1f, .75f, 1, "simd"},
    {4, {2, 37, 5, 6}, 5, "aBcd16b", "aBcd16b", F16, F16, .1f, 2, 1, "simd"},
    {4, {2, 13, 5, 6}, 5, "acdb", "abcd", F32, F32, .1f, .75f, 1, "ref"},
    {4, {2, 13, 5, 6}, 5, "dcba", "dcba", F32, F32, .1f, .75f, 1, NULL},
    {4, {18, 13, 3, 2}, 5, "ABcd16a16b", "abcd", F32, F32, .1f, .75f, 1, "ref"},
    {4, {2, 13, 5, 6}, 5, "acdb", "acdb", S8, F32, .1f, .75f, 1, "ref"},
    /* Nothing to do. */
    {4, {0, 13, 5, 6}, 5, "acdb", "acdb", F32, F32, .1f, .75f, 1, NULL},
    {4, {2, 0, 5, 6}, 5, "abcd", "abcd", F32, F32, .1f, .75f, 1, NULL},
    {4, {2, 5, 0, 6}, 5, "acdb", "acdb", F32, F32, .1f, .75f, 1, NULL},
};

/* The definition. */
static double lrn_at(const case_t *c, bool across, const tensor_t *src, const int64_t *pos) {
    int64_t at[DNNL_TP_MAX_NDIMS], lo[DNNL_TP_MAX_NDIMS], hi[DNNL_TP_MAX_NDIMS];
    double sum = 0, size = (double)c->size;
    if (!across) size = pow(size, c->nd - 2);
    for (int d = 0; d < c->nd; ++d) {
        const int64_t half = (across ? d == 1 : d > 1) ? (c->size - 1) / 2 : 0;
        at[d] = lo[d] = dtp_max64(0, pos[d] - half);
        hi[d] = dtp_min64(c->dims[d] - 1, pos[d] + half);
    }
    for (int d = 0; d >= 0;) {
        sum += tensor_get(src, at) * tensor_get(src, at);
        for (d = c->nd - 1; d >= 0 && at[d] == hi[d]; --d) at[d] = lo[d];
        if (d >= 0) ++at[d];
    }
    return tensor_get(src, pos) * pow((double)c->k + (double)c->alpha / size * sum, -(double)c->beta);
}

/* NULL: the engine has no implementation. */
static dnnl_tp_primitive_desc_t make(const case_t *c, bool across, dnnl_tp_engine_t engine,
                                     const dtp_md_t *src, const dtp_md_t *dst) {
    dnnl_tp_primitive_desc_t pd;
    return has_impl(engine,
                    dnnl_tp_lrn_forward_primitive_desc_create(
                        &pd, engine, c->size % 2 ? dnnl_tp_forward_training : dnnl_tp_forward_inference,
                        across ? dnnl_tp_lrn_across_channels : dnnl_tp_lrn_within_channel, src, dst, c->size,
                        c->alpha, c->beta, c->k, NULL))
               ? pd
               : NULL;
}

static void run_alg(const case_t *c, bool across, const tensor_t *src, const dtp_md_t *dst_md) {
    int n;
    const place_t *at = places(&n);
    unsigned char *first = NULL;
    tensor_t dst = {.data = NULL};
    for (int i = 0; i < n; ++i) {
        dnnl_tp_primitive_desc_t pd = make(c, across, at[i].engine, &src->md, dst_md);
        if (!pd) continue;
        check_impl(pd, c->impl, c->src);
        assert_int_equal(dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_workspace_md, 0)->ndims, 0);
        if (i == 0) tensor_init(&dst, dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_dst_md, 0));
        const dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, src->data}, {DNNL_TP_ARG_DST, dst.data}};
        tensor_blank(&dst);
        CHECK_OK(run_pd(&at[i], pd, 2, args));
        if (dtp_md_nelems(&dst.md) == 0) continue;
        tensor_check(&dst, at[i].name);
        check_same_bits(&at[i], &dst, &first, c->src);
        if (at[i].threads != 1) continue;
        int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
        do {
            const double want = lrn_at(c, across, src, pos), got = tensor_get(&dst, pos);
            if (!rounds_near(c->ddt, got, want, 2e-6 * fabs(want)))
                fail_msg("%s: %s, %s, size %lld, %lld channels: at %lld,%lld,%lld,%lld got %.9g, want %.9g",
                         at[i].name, across ? "across" : "within", c->src, (long long)c->size,
                         (long long)c->dims[1], (long long)pos[0], (long long)pos[1], (long long)pos[2],
                         (long long)pos[3], got, want);
        } while (tensor_next(&dst.md, pos));
    }
    free(first);
    tensor_free(&dst);
}

static void run_case(const case_t *c, uint64_t stream) {
    test_rng_t r = test_rng(stream);
    tensor_t src;
    dtp_md_t dst;
    tensor_layout(&src, c->nd, c->dims, c->sdt, c->src);
    if (c->dst) CHECK_OK(dtp_md_init_layout(&dst, c->nd, c->dims, c->ddt, c->dst));
    else CHECK_OK(dtp_md_init_tag(&dst, c->nd, c->dims, c->ddt, dnnl_tp_format_tag_any));
    tensor_fill(&src, &r, -5.f, 5.f, c->sdt > F32);
    run_alg(c, true, &src, &dst);
    run_alg(c, false, &src, &dst);
    tensor_free(&src);
}

static void table(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) run_case(&cases[i], i);
}

static void random_cases(void **state) {
    (void)state;
    static const char *const layouts[4][5] = {{"ab", "ba", "ab", "aB16b", "aB8b"},
                                              {"abc", "acb", "aBc16b", "aBc8b", "cab"},
                                              {"abcd", "acdb", "aBcd16b", "aBcd8b", "dcba"},
                                              {"abcde", "acdeb", "aBcde16b", "aBcde8b", "edcba"}};
    static const float betas[] = {.75f, .75f, .75f, .5f, 1.2f};
    test_rng_t r = test_rng(178);
    for (int k = 0; k < 60; ++k) {
        case_t c = {.nd = 2 + (int)(test_rand(&r) % 4), .alpha = .5f, .k = 1.5f, .impl = NULL};
        for (int i = 0; i < c.nd; ++i) c.dims[i] = 1 + (int64_t)(test_rand(&r) % 5);
        c.dims[1] = 1 + (int64_t)(test_rand(&r) % 40);
        c.size = 1 + (int64_t)(test_rand(&r) % 9);
        c.src = layouts[c.nd - 2][test_rand(&r) % 5];
        c.dst = test_rand(&r) % 2 ? c.src : NULL;
        c.sdt = c.ddt = test_rand(&r) % 2 ? F32 : test_rand(&r) % 2 ? BF16 : F16;
        c.beta = betas[test_rand(&r) % 5];
        run_case(&c, (uint64_t)(700 + k));
    }
}

/* A sum of squares that overflows makes 0, as its power does; what is not a number reaches its neighbours only. */
static void special_values(void **state) {
    (void)state;
    static const char *const layouts[] = {"abc", "acb"};
    int n;
    const place_t *at = places(&n);
    const int64_t dims[] = {1, 20, 40}, huge[] = {0, 4, 7}, none[] = {0, 12, 30};
    for (int l = 0; l < 2; ++l)
        for (int i = 0; i < n; ++i)
            for (int across = 0; across < 2; ++across) {
                const case_t c = {3, {1, 20, 40}, 5, layouts[l], layouts[l], F32, F32, 1, .75f, 1, "simd"};
                test_rng_t r = test_rng(9);
                tensor_t src, dst;
                tensor_layout(&src, 3, dims, F32, layouts[l]);
                tensor_layout(&dst, 3, dims, F32, layouts[l]);
                tensor_fill(&src, &r, -3.f, 3.f, false);
                tensor_set(&src, huge, 1e25);
                tensor_set(&src, none, NAN);
                const dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, src.data},
                                                      {DNNL_TP_ARG_DST, dst.data}};
                CHECK_OK(run_pd(&at[i], make(&c, across, at[i].engine, &src.md, &dst.md), 2, args));
                int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
                do {
                    const int along = across ? 1 : 2, other = across ? 2 : 1;
                    const double y = tensor_get(&dst, pos);
                    const bool near = pos[other] == none[other] && llabs(pos[along] - none[along]) <= 2;
                    assert_int_equal(isnan(y), near);
                    if (pos[other] == huge[other] && llabs(pos[along] - huge[along]) <= 2)
                        assert_true(fabs(y) < 1e-3);
                } while (tensor_next(&dst.md, pos));
                tensor_free(&src), tensor_free(&dst);
            }
}

static void queries(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    const case_t c = {3, {2, 20, 6}, 4, "acb", NULL, F32, F32, .25f, .75f, 2.f, "simd"};
    dtp_md_t md, any;
    int64_t size = 0;
    float alpha, beta, k;
    dnnl_tp_alg_kind_t alg;
    CHECK_OK(dtp_md_init_layout(&md, 3, c.dims, F32, "acb"));
    CHECK_OK(dtp_md_init_tag(&any, 3, c.dims, F32, dnnl_tp_format_tag_any));
    dnnl_tp_primitive_desc_t pd = make(&c, false, at->engine, &md, &any);
    CHECK_OK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_local_size_s64, 0, &size));
    CHECK_OK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_alpha_f32, 0, &alpha));
    CHECK_OK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_beta_f32, 0, &beta));
    CHECK_OK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_k_f32, 0, &k));
    CHECK_OK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_alg_kind, 0, &alg));
    assert_true(size == 4 && alpha == .25f && beta == .75f && k == 2.f && alg == dnnl_tp_lrn_within_channel);
    assert_true(md_matches(dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_dst_md, 0), "acb"));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(table), cmocka_unit_test(random_cases),
                                       cmocka_unit_test(special_values), cmocka_unit_test(queries)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
