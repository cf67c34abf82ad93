/* Concat against the definition: axes, layouts, padding, conversion, scales, derived destinations; on every
 * instruction set and thread count, bit-equal over threads. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/tensor.h"

enum { MAX_N = 4 };
#define F32 dnnl_tp_f32

typedef struct {
    int n, axis, ndims;
    int64_t dims[4], len[MAX_N]; /* dims[axis] is replaced by len[i] */
    dnnl_tp_data_type_t sdt, ddt;
    const char *slayout, *dlayout; /* dlayout NULL = derived */
    bool scaled;
    const char *impl;
} case_t;

static const case_t cases[] = {
    {2, 1, 2, {33, 0}, {20, 37}, F32, F32, "ab", "ab", false, "simd"},
    {2, 0, 2, {0, 33}, {20, 37}, F32, F32, "ab", "ab", false, "simd"},
    {3, 0, 2, {0, 900}, {300, 1, 400}, F32, F32, "ab", "ab", false, "simd"},
    {3, 1, 3, {7, 0, 40}, {3, 1, 5}, F32, F32, "abc", "abc", false, "simd"},
    {3, 2, 3, {700, 20, 0}, {16, 1, 15}, F32, F32, "abc", "abc", false, "simd"},
    {2, 1, 4, {2, 0, 5, 7}, {16, 32}, F32, F32, "aBcd16b", "aBcd16b", false, "simd"},
    {2, 1, 4, {2, 0, 5, 7}, {16, 19}, F32, F32, "aBcd16b", "aBcd16b", false, "simd"},
    {2, 1, 4, {2, 0, 5, 7}, {19, 16}, F32, F32, "aBcd16b", "aBcd16b", false, "ref"},
    {2, 1, 4, {2, 0, 5, 7}, {19, 16}, F32, F32, "aBcd16b", "abcd", false, "simd"},
    {2, 1, 4, {2, 0, 5, 7}, {19, 16}, F32, F32, "acdb", "acdb", false, "simd"},
    {2, 2, 4, {2, 19, 0, 7}, {3, 4}, F32, F32, "aBcd16b", "aBcd16b", false, "simd"},
    {2, 1, 2, {33, 0}, {20, 37}, F32, F32, "ba", "ab", false, "simd"},
    {2, 1, 2, {33, 0}, {20, 37}, F32, dnnl_tp_bf16, "ab", "ab", false, "simd"},
    {2, 1, 2, {33, 0}, {20, 37}, F32, dnnl_tp_s8, "ab", "ab", true, "simd"},
    {4, 1, 2, {9, 0}, {1, 2, 3, 4}, dnnl_tp_s8, dnnl_tp_s8, "ab", "ab", false, "simd"},
    {3, 1, 2, {9, 0}, {5, 0, 4}, F32, F32, "ab", "ab", false, "simd"},
    {1, 0, 1, {0}, {1}, F32, F32, "a", "a", false, "simd"},
    {2, 1, 4, {2, 0, 5, 7}, {16, 32}, F32, F32, "aBcd16b", NULL, false, "simd"},
    {2, 1, 4, {2, 0, 5, 7}, {19, 32}, F32, F32, "acdb", NULL, false, "simd"},
};

static void run_case(const case_t *c, uint64_t stream) {
    test_rng_t r = test_rng(stream);
    tensor_t src[MAX_N], scale[MAX_N], dst;
    const dtp_md_t *mds[MAX_N];
    int64_t dims[4], total = 0;
    const int64_t one = 1;
    dnnl_tp_exec_handle_t args[2 * MAX_N + 1];
    dnnl_tp_primitive_attr_t attr;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    memcpy(dims, c->dims, sizeof dims);
    int nargs = 0;
    for (int i = 0; i < c->n; ++i) {
        dims[c->axis] = c->len[i];
        total += c->len[i];
        tensor_layout(&src[i], c->ndims, dims, c->sdt, c->slayout);
        tensor_layout(&scale[i], 1, &one, F32, "a");
        tensor_fill(&src[i], &r, -50.f, 50.f, c->sdt > F32);
        tensor_fill(&scale[i], &r, 0.5f, 2.f, false);
        mds[i] = &src[i].md;
        args[nargs++] = (dnnl_tp_exec_handle_t){DNNL_TP_ARG_MULTIPLE_SRC + i, src[i].data};
        if (!c->scaled) continue;
        CHECK_OK(dnnl_tp_primitive_attr_set_scales_mask(attr, DNNL_TP_ARG_MULTIPLE_SRC + i, 0));
        args[nargs++] =
            (dnnl_tp_exec_handle_t){DNNL_TP_ARG_ATTR_SCALES | (DNNL_TP_ARG_MULTIPLE_SRC + i), scale[i].data};
    }
    dims[c->axis] = total;
    tensor_layout(&dst, c->ndims, dims, c->ddt, c->dlayout ? c->dlayout : c->slayout);
    args[nargs++] = (dnnl_tp_exec_handle_t){DNNL_TP_ARG_DST, dst.data};
    int n;
    const place_t *at = places(&n);
    unsigned char *first = NULL;
    for (int k = 0; k < n; ++k) {
        dnnl_tp_primitive_desc_t pd;
        if (!has_impl(at[k].engine,
                      dnnl_tp_concat_primitive_desc_create(&pd, at[k].engine, c->dlayout ? &dst.md : NULL,
                                                           c->n, c->axis, mds, attr)))
            continue;
        check_impl(pd, c->impl, c->slayout);
        assert_true(dtp_md_equal(dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_dst_md, 0), &dst.md));
        tensor_blank(&dst);
        CHECK_OK(run_pd(&at[k], pd, nargs, args));
        tensor_check(&dst, at[k].name);
        int64_t start = 0;
        for (int i = 0; i < c->n && at[k].threads == 1; ++i) {
            int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
            if (c->len[i] == 0) continue;
            do {
                double want = tensor_get(&src[i], pos), got;
                const int64_t zero = 0;
                if (c->scaled) want *= tensor_get(&scale[i], &zero);
                pos[c->axis] += start;
                got = tensor_get(&dst, pos);
                pos[c->axis] -= start;
                if (!rounds_near(c->ddt, got, want, c->scaled ? 6e-8 * fabs(want) : 0))
                    fail_msg("%s: %s axis %d source %d got %.9g, want %.9g", at[k].name, c->slayout, c->axis,
                             i, got, want);
            } while (tensor_next(&src[i].md, pos));
            start += c->len[i];
        }
        check_same_bits(&at[k], &dst, &first, c->slayout);
    }
    free(first);
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    for (int i = 0; i < c->n; ++i) {
        tensor_free(&src[i]);
        tensor_free(&scale[i]);
    }
    tensor_free(&dst);
}

static void table(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) run_case(&cases[i], i);
}

static void random_cases(void **state) {
    (void)state;
    static const char *const layouts[] = {"abcd", "acdb", "dcba", "aBcd16b", "bacd"};
    static const dnnl_tp_data_type_t types[] = {F32, dnnl_tp_bf16, dnnl_tp_s8};
    test_rng_t r = test_rng(29);
    for (int k = 0; k < 60; ++k) {
        case_t c = {.n = 1 + (int)(test_rand(&r) % 4), .axis = (int)(test_rand(&r) % 4), .ndims = 4};
        for (int d = 0; d < 4; ++d) c.dims[d] = 1 + (int64_t)(test_rand(&r) % (d == 1 ? 33 : 6));
        for (int i = 0; i < c.n; ++i) c.len[i] = 1 + (int64_t)(test_rand(&r) % 33);
        c.sdt = types[test_rand(&r) % 3];
        c.ddt = test_rand(&r) % 2 ? c.sdt : types[test_rand(&r) % 3];
        c.slayout = layouts[test_rand(&r) % 5];
        c.dlayout = test_rand(&r) % 2 ? c.slayout : layouts[test_rand(&r) % 5];
        run_case(&c, (uint64_t)(900 + k));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(table), cmocka_unit_test(random_cases)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
