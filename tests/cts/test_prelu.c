/* PReLU against a double-precision reference: broadcasts of the weights, layouts, types, in place; on every
 * instruction set and thread count, bit-equal over threads. NaN, infinities and zeros; refusals. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/layout.h"
#include "support/tensor.h"

typedef struct {
    int ndims;
    int64_t dims[5], wei[5];
    dnnl_tp_data_type_t sdt, wdt, ddt;
    const char *layout, *wlayout, *dlayout;
    bool in_place;
    const char *impl;
} case_t;

#define F32 dnnl_tp_f32
#define BF16 dnnl_tp_bf16
#define F16 dnnl_tp_f16
#define S32 dnnl_tp_s32
#define S8 dnnl_tp_s8
#define U8 dnnl_tp_u8
#define ALLF F32, F32, F32

static const case_t cases[] = {
    {1, {1}, {1}, ALLF, "a", "a", "a", false, "simd"},
    {1, {17}, {1}, ALLF, "a", "a", "a", true, "simd"},
    {2, {33, 130}, {33, 130}, ALLF, "ab", "ab", "ab", false, "simd"},
    {2, {33, 130}, {33, 130}, ALLF, "ab", "ba", "ab", true, "simd"},
    {2, {33, 130}, {1, 130}, ALLF, "ab", "ab", "ab", true, "simd"},
    {2, {33, 8}, {1, 8}, ALLF, "ab", "ab", "ab", true, "simd"},
    {2, {35, 16}, {1, 16}, ALLF, "ab", "ab", "ab", false, "simd"},
    {2, {37, 32}, {1, 32}, ALLF, "ab", "ab", "ab", true, "simd"},
    {2, {39, 64}, {1, 64}, ALLF, "ab", "ab", "ab", false, "simd"},
    {2, {1001, 2}, {1, 2}, ALLF, "ab", "ab", "ab", false, "simd"},
    {4, {2, 38, 31, 7}, {1, 38, 1, 1}, ALLF, "aBcd16b", "abcd", "aBcd16b", false, "simd"},
    {4, {2, 38, 31, 7}, {1, 38, 1, 1}, ALLF, "aBcd8b", "abcd", "aBcd8b", false, "simd"},
    {2, {33, 130}, {33, 1}, ALLF, "ab", "ab", "ab", false, "simd"},
    {2, {33, 130}, {1, 1}, ALLF, "ab", "ab", "ba", false, "simd"},
    {4, {2, 19, 5, 7}, {2, 19, 5, 7}, ALLF, "aBcd16b", "aBcd16b", "aBcd16b", true, "simd"},
    {4, {2, 19, 5, 7}, {1, 19, 1, 1}, ALLF, "abcd", "abcd", "abcd", false, "simd"},
    {4, {2, 19, 5, 7}, {1, 19, 1, 1}, ALLF, "acdb", "abcd", "acdb", false, "simd"},
    {4, {2, 19, 5, 7}, {1, 19, 1, 1}, ALLF, "aBcd16b", "abcd", "aBcd16b", false, "simd"},
    {4, {2, 19, 5, 7}, {1, 19, 1, 1}, ALLF, "aBcd8b", "acdb", "abcd", false, "simd"},
    {4, {2, 19, 5, 7}, {1, 1, 5, 7}, ALLF, "acdb", "abcd", "acdb", false, "simd"},
    {4, {2, 19, 5, 7}, {2, 1, 5, 1}, ALLF, "abcd", "abcd", "abcd", false, "simd"},
    {5, {2, 3, 4, 5, 6}, {1, 3, 1, 1, 1}, ALLF, "abcde", "abcde", "acdeb", false, "simd"},
    {3, {8, 64, 700}, {1, 64, 1}, ALLF, "abc", "abc", "abc", false, "simd"},
    {2, {33, 130}, {1, 130}, BF16, BF16, BF16, "ab", "ab", "ab", true, "simd"},
    {2, {33, 130}, {33, 130}, F16, F16, F16, "ab", "ab", "ab", false, "simd"},
    {2, {33, 130}, {33, 1}, BF16, F32, BF16, "ab", "ab", "ab", false, "simd"},
    {2, {33, 130}, {33, 1}, S8, S8, S8, "ab", "ab", "ab", false, "simd"},
    {2, {33, 130}, {1, 130}, S8, S8, S8, "ab", "ab", "ab", true, "simd"},
    {2, {33, 130}, {33, 130}, U8, U8, U8, "ab", "ab", "ab", false, "simd"},
    {2, {33, 130}, {33, 1}, S8, F32, U8, "ab", "ab", "ab", false, "simd"},
    {2, {33, 130}, {33, 130}, S32, S32, S32, "ab", "ab", "ab", true, "ref"},
    {2, {33, 130}, {1, 1}, F32, S32, F32, "ab", "ab", "ab", false, "ref"},
    {2, {48, 5}, {48, 5}, ALLF, "Ab16a", "ab", "Ab6a", false, "ref"},
    {2, {0, 5}, {1, 5}, ALLF, "ab", "ab", "ab", false, NULL},
};

typedef struct {
    tensor_t src, wei, dst;
} data_t;

static void check(const case_t *c, const data_t *d, const char *place) {
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    if (dtp_md_nelems(&d->dst.md) == 0) return;
    do {
        const double s = tensor_get(&d->src, pos), w = tensor_get_bcast(&d->wei, pos),
                     want = s < 0 ? s * w : s, got = tensor_get(&d->dst, pos);
        if (!rounds_near(c->ddt, got, want, 6e-8 * fabs(want)))
            fail_msg("%s: %s %s -> %s: at %lld,%lld got %.9g, want %.9g", place, c->layout, c->wlayout,
                     c->dlayout, (long long)pos[0], (long long)pos[1], got, want);
    } while (tensor_next(&d->dst.md, pos));
}

static void run_case(const case_t *c, uint64_t stream) {
    test_rng_t r = test_rng(stream);
    data_t d;
    tensor_layout(&d.src, c->ndims, c->dims, c->sdt, c->layout);
    tensor_layout(&d.wei, c->ndims, c->wei, c->wdt, c->wlayout);
    tensor_layout(&d.dst, c->ndims, c->dims, c->ddt, c->dlayout);
    tensor_fill(&d.src, &r, c->sdt == U8 ? 0.f : -9.f, 9.f, c->sdt > F32);
    tensor_fill(&d.wei, &r, c->wdt == U8 ? 0.f : -3.f, 3.f, c->wdt > F32);
    dnnl_tp_exec_handle_t args[] = {
        {DNNL_TP_ARG_SRC, NULL}, {DNNL_TP_ARG_WEIGHTS, d.wei.data}, {DNNL_TP_ARG_DST, d.dst.data}};
    int n;
    const place_t *at = places(&n);
    unsigned char *first = NULL;
    for (int i = 0; i < n; ++i) {
        dnnl_tp_primitive_desc_t pd;
        CHECK_OK(dnnl_tp_prelu_forward_primitive_desc_create(
            &pd, at[i].engine, i % 2 ? dnnl_tp_forward_training : dnnl_tp_forward_inference, &d.src.md,
            &d.wei.md, &d.dst.md, NULL));
        check_impl(pd, c->impl, c->layout);
        tensor_blank(&d.dst);
        if (c->in_place) memcpy(d.dst.data, d.src.data, d.src.bytes);
        args[0].handle = c->in_place ? d.dst.data : d.src.data;
        CHECK_OK(run_pd(&at[i], pd, 3, args));
        tensor_check(&d.dst, at[i].name);
        if (at[i].threads == 1) check(c, &d, at[i].name);
        check_same_bits(&at[i], &d.dst, &first, c->layout);
    }
    free(first);
    tensor_free(&d.src);
    tensor_free(&d.wei);
    tensor_free(&d.dst);
}

static void table(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) run_case(&cases[i], i);
}

static void random_cases(void **state) {
    (void)state;
    static const char *const layouts[] = {"abcd", "acdb", "dcba", "aBcd16b", "bacd", "aBcd8b"};
    static const dnnl_tp_data_type_t types[] = {F32, F32, F32, BF16, F16, S8, U8};
    test_rng_t r = test_rng(29);
    for (int k = 0; k < 80; ++k) {
        case_t c = {.ndims = 4, .impl = "simd"};
        for (int d = 0; d < 4; ++d) {
            c.dims[d] = c.wei[d] = 1 + (int64_t)(test_rand(&r) % (d == 1 ? 33 : 7));
            if (test_rand(&r) % 2 == 0) c.wei[d] = 1;
        }
        c.sdt = types[test_rand(&r) % 7];
        c.wdt = types[test_rand(&r) % 7];
        c.ddt = types[test_rand(&r) % 7];
        c.layout = layouts[test_rand(&r) % 6];
        c.wlayout = layouts[test_rand(&r) % 6];
        c.dlayout = layouts[test_rand(&r) % 6];
        run_case(&c, (uint64_t)(900 + k));
    }
}

/* A NaN stays one; a zero stays a zero even where the weight is infinite; -inf follows the weight's sign. */
static void special_values(void **state) {
    (void)state;
    enum { N = 5 };
    float src[N] = {NAN, 0.f, -INFINITY, INFINITY, -1.f}, wei[N] = {2.f, INFINITY, -2.f, -2.f, INFINITY},
          dst[N];
    const int64_t dims[] = {N};
    dtp_md_t md;
    int n;
    const place_t *at = places(&n);
    CHECK_OK(dtp_md_init_strides(&md, 1, dims, F32, NULL));
    for (int i = 0; i < n; ++i) {
        dnnl_tp_primitive_desc_t pd;
        CHECK_OK(dnnl_tp_prelu_forward_primitive_desc_create(&pd, at[i].engine, dnnl_tp_forward_inference,
                                                             &md, &md, &md, NULL));
        dnnl_tp_exec_handle_t args[] = {
            {DNNL_TP_ARG_SRC, src}, {DNNL_TP_ARG_WEIGHTS, wei}, {DNNL_TP_ARG_DST, dst}};
        CHECK_OK(run_pd(&at[i], pd, 3, args));
        assert_true(isnan(dst[0]) && dst[1] == 0.f && dst[2] == INFINITY && dst[3] == INFINITY &&
                    dst[4] == -INFINITY);
    }
}

static void any_layouts(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    const int64_t dims[] = {2, 20, 3, 3}, channels[] = {1, 20, 1, 1};
    dtp_md_t src, all, some, dst;
    dnnl_tp_primitive_desc_t pd;
    CHECK_OK(dtp_md_init_layout(&src, 4, dims, F32, "aBcd16b"));
    CHECK_OK(dtp_md_init_tag(&all, 4, dims, BF16, dnnl_tp_format_tag_any));
    CHECK_OK(dtp_md_init_tag(&some, 4, channels, F32, dnnl_tp_format_tag_any));
    CHECK_OK(dtp_md_init_tag(&dst, 4, dims, S8, dnnl_tp_format_tag_any));
    CHECK_OK(dnnl_tp_prelu_forward_primitive_desc_create(&pd, at->engine, dnnl_tp_forward_inference, &src,
                                                         &all, &dst, NULL));
    assert_true(md_matches(dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_weights_md, 0), "aBcd16b"));
    assert_true(md_matches(dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_dst_md, 0), "aBcd16b"));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_prelu_forward_primitive_desc_create(&pd, at->engine, dnnl_tp_forward_inference, &src,
                                                         &some, &dst, NULL));
    assert_true(md_matches(dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_weights_md, 0), "abcd"));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(table), cmocka_unit_test(random_cases),
                                       cmocka_unit_test(special_values), cmocka_unit_test(any_layouts)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
