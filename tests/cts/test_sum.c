/* Sum of tensors against a double-precision reference: numbers of sources, scales, layouts, types, in place;
 * on every instruction set and thread count, bit-equal over threads. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/tensor.h"

enum { MAX_N = 12 };
#define F32 dnnl_tp_f32

typedef struct {
    int n, ndims;
    int64_t dims[4];
    dnnl_tp_data_type_t sdt, last_dt, ddt; /* last_dt: type of the last source */
    const char *slayout, *last_layout, *dlayout;
    bool scaled;
    unsigned in_place; /* sources in whose place dst lies, one bit each */
    const char *impl;
} case_t;

static const case_t cases[] = {
    {1, 2, {13, 57}, F32, F32, F32, "ab", "ab", "ab", true, false, "simd"},
    {2, 2, {13, 57}, F32, F32, F32, "ab", "ab", "ab", false, false, "simd"},
    {2, 2, {13, 57}, F32, F32, F32, "ab", "ab", "ab", true, true, "simd"},
    {2, 2, {700, 900}, F32, F32, F32, "ab", "ab", "ab", false, true, "simd"},
    {3, 2, {1000, 777}, F32, F32, F32, "ab", "ab", "ab", true, false, "simd"},
    {12, 2, {13, 57}, F32, F32, F32, "ab", "ab", "ab", true, false, "simd"},
    {12, 2, {13, 57}, F32, F32, F32, "ab", "ba", "ab", true, false, "ref"},
    {3, 2, {13, 57}, F32, F32, F32, "ab", "ba", "ab", true, false, "simd"},
    {3, 2, {13, 57}, dnnl_tp_bf16, F32, dnnl_tp_bf16, "ab", "ab", "ab", true, true, "simd"},
    {4, 2, {13, 57}, dnnl_tp_s8, dnnl_tp_u8, dnnl_tp_s8, "ab", "ab", "ba", false, false, "simd"},
    {2, 4, {2, 19, 5, 3}, F32, F32, F32, "aBcd16b", "aBcd16b", "aBcd16b", true, false, "simd"},
    {3, 4, {2, 19, 5, 3}, F32, F32, F32, "aBcd16b", "abcd", "aBcd8b", true, false, "simd"},
    {2, 1, {1}, F32, F32, F32, "a", "a", "a", false, false, "simd"},
    {2, 2, {13, 57}, F32, F32, F32, "ab", "ab", "ab", false, 2, "simd"},
    {2, 2, {13, 57}, F32, F32, F32, "ab", "ab", "ab", true, 2, "simd"},
    {2, 2, {13, 57}, F32, F32, F32, "ab", "ab", "ab", true, 2, "simd"},
    {3, 2, {97, 157}, F32, F32, F32, "ab", "ab", "ab", true, 4, "simd"},
    {3, 2, {97, 157}, F32, F32, F32, "ab", "ab", "ab", false, 4, "simd"},
    {3, 2, {97, 157}, F32, F32, F32, "ab", "ab", "ab", true, 2, "simd"},
    {4, 2, {97, 157}, F32, F32, F32, "ab", "ab", "ab", false, 6, "simd"},
    {12, 2, {97, 157}, F32, F32, F32, "ab", "ab", "ab", true, 1 << 11, "simd"},
    {12, 2, {97, 157}, F32, F32, F32, "ab", "ab", "ab", true, 0xfff, "simd"},
    {12, 2, {13, 57}, F32, F32, F32, "ab", "ba", "ab", true, 1 << 5, "ref"},
    {3, 2, {13, 57}, F32, F32, F32, "ba", "ab", "ab", true, 4, "simd"},
    {3, 2, {13, 57}, F32, dnnl_tp_s32, F32, "ab", "ab", "ab", true, 4, "simd"},
    {3, 2, {13, 57}, dnnl_tp_s32, F32, F32, "ab", "ab", "ab", true, 3, "simd"},
    {3, 2, {13, 57}, dnnl_tp_bf16, dnnl_tp_f16, dnnl_tp_f16, "ab", "ab", "ab", true, 2, "simd"},
    {2, 2, {13, 57}, dnnl_tp_bf16, dnnl_tp_bf16, dnnl_tp_bf16, "ab", "ab", "ab", false, 2, "simd"},
    {2, 2, {13, 57}, dnnl_tp_s8, dnnl_tp_u8, dnnl_tp_s8, "ab", "ab", "ab", false, 2, "simd"},
    {3, 4, {2, 19, 5, 3}, F32, F32, F32, "aBcd8b", "aBcd16b", "aBcd16b", true, 4, "simd"},
    {3, 4, {2, 19, 5, 3}, F32, F32, F32, "aBcd8b", "aBcd16b", "aBcd8b", true, 2, "simd"},
    /* Either of two sources of a small type has no scale, by the number of the case. */
    {2, 2, {13, 57}, dnnl_tp_bf16, dnnl_tp_bf16, dnnl_tp_bf16, "ab", "ab", "ab", true, false, "simd"},
    {2, 2, {13, 57}, dnnl_tp_bf16, dnnl_tp_bf16, dnnl_tp_bf16, "ab", "ab", "ab", true, false, "simd"},
    {2, 2, {0, 4}, F32, F32, F32, "ab", "ab", "ab", false, false, NULL},
};

static void run_case(const case_t *c, uint64_t stream) {
    test_rng_t r = test_rng(stream);
    tensor_t src[MAX_N], dst;
    const dtp_md_t *mds[MAX_N];
    float scale[MAX_N];
    dnnl_tp_exec_handle_t args[MAX_N + 1];
    const int under = c->in_place ? __builtin_ctz(c->in_place) : 0; /* the first source there */
    tensor_layout(&dst, c->ndims, c->dims, c->ddt, c->dlayout);
    args[c->n] = (dnnl_tp_exec_handle_t){DNNL_TP_ARG_DST, dst.data};
    for (int i = 0; i < c->n; ++i) {
        const bool last = i > 0 && i + 1 == c->n;
        const dnnl_tp_data_type_t dt = last ? c->last_dt : c->sdt;
        tensor_layout(&src[i], c->ndims, c->dims, dt, last ? c->last_layout : c->slayout);
        tensor_fill(&src[i], &r, dt == dnnl_tp_u8 ? 0.f : -9.f, 9.f, dt > F32);
        mds[i] = &src[i].md;
        scale[i] = c->scaled && i != (int)(stream % 2) ? test_uniform(&r, -2.f, 2.f) : 1.f;
        args[i] = (dnnl_tp_exec_handle_t){DNNL_TP_ARG_MULTIPLE_SRC + i,
                                          c->in_place >> i & 1 ? dst.data : src[i].data};
        /* Several in one place have one value. */
        if (c->in_place >> i & 1 && i != under) memcpy(src[i].data, src[under].data, dst.bytes);
    }
    int n;
    const place_t *at = places(&n);
    unsigned char *first = NULL;
    for (int k = 0; k < n; ++k) {
        dnnl_tp_primitive_desc_t pd;
        if (!has_impl(at[k].engine,
                      dnnl_tp_sum_primitive_desc_create(&pd, at[k].engine, &dst.md, c->n, scale, mds, NULL)))
            continue;
        check_impl(pd, c->impl, c->slayout);
        tensor_blank(&dst);
        if (c->in_place) memcpy(dst.data, src[under].data, dst.bytes);
        CHECK_OK(run_pd(&at[k], pd, c->n + 1, args));
        tensor_check(&dst, at[k].name);
        int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
        if (at[k].threads == 1 && dtp_md_nelems(&dst.md) > 0) {
            do {
                double want = 0, mag = 0;
                for (int i = 0; i < c->n; ++i) {
                    const double x = (double)scale[i] * tensor_get(&src[i], pos);
                    want += x;
                    mag += fabs(x);
                }
                const double got = tensor_get(&dst, pos);
                if (!rounds_near(c->ddt, got, want, c->n * 6e-8 * mag))
                    fail_msg("%s: %d sources %s at %lld got %.9g, want %.9g", at[k].name, c->n, c->slayout,
                             (long long)pos[0], got, want);
            } while (tensor_next(&dst.md, pos));
        }
        check_same_bits(&at[k], &dst, &first, c->slayout);
    }
    free(first);
    for (int i = 0; i < c->n; ++i) tensor_free(&src[i]);
    tensor_free(&dst);
}

static void table(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) run_case(&cases[i], i);
}

static void derived_dst(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    const int64_t dims[] = {2, 20, 3, 3};
    const float one[] = {1.f, 1.f};
    dtp_md_t a;
    CHECK_OK(dtp_md_init_layout(&a, 4, dims, F32, "aBcd16b"));
    const dtp_md_t *mds[] = {&a, &a};
    dnnl_tp_primitive_desc_t pd;
    if (!has_impl(at->engine, dnnl_tp_sum_primitive_desc_create(&pd, at->engine, NULL, 2, one, mds, NULL)))
        return;
    assert_true(dtp_md_equal(dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_dst_md, 0), &a));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(table), cmocka_unit_test(derived_dst)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
