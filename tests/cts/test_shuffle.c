/* Shuffle against its definition, element by element: types of every size, layouts, group sizes; on every instruction set
 * and thread count. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/layout.h"
#include "support/tensor.h"

#define F32 dnnl_tp_f32
#define BF16 dnnl_tp_bf16
#define S8 dnnl_tp_s8

typedef struct {
    int ndims;
    int64_t dims[5];
    int axis;
    int64_t group;
    dnnl_tp_data_type_t dt;
    const char *src, *dst; /* layouts; dst NULL: any */
    const char *impl;
} case_t;

static const case_t cases[] = {
    {1, {24}, 0, 4, F32, "a", "a", "simd"},
    {4, {2, 12, 3, 5}, 1, 3, F32, "acdb", NULL, "simd"},
    {4, {2, 6, 3, 5}, 1, 2, F32, "acdb", "acdb", "simd"},
    {4, {1, 116, 5, 3}, 1, 2, F32, "acdb", "acdb", "simd"},
    {4, {1, 116, 5, 3}, 1, 58, F32, "acdb", "acdb", "simd"},
    {4, {1, 116, 5, 3}, 1, 29, BF16, "acdb", "acdb", "simd"},
    {4, {1, 116, 5, 3}, 1, 4, S8, "acdb", "acdb", "simd"},
    {4, {1, 1024, 2, 3}, 1, 32, F32, "acdb", "acdb", "moves"},
    {4, {2, 12, 3, 5}, 1, 3, F32, "abcd", "abcd", "moves"},
    {4, {2, 12, 3, 5}, 2, 3, F32, "abcd", NULL, "moves"},
    {4, {2, 12, 3, 8}, 3, 2, F32, "abcd", "abcd", "simd"},
    {4, {2, 12, 3, 5}, 1, 4, F32, "abcd", "acdb", "moves"},
    {4, {2, 12, 3, 5}, 1, 4, S8, "dcba", "abcd", "moves"},
    {4, {2, 19, 6, 5}, 2, 2, F32, "aBcd16b", "aBcd16b", "moves"},
    {4, {2, 20, 6, 5}, 1, 4, F32, "aBcd16b", "aBcd16b", "simd"},
    {4, {2, 20, 6, 5}, 1, 5, F32, "aBcd8b", NULL, "simd"},
    {4, {2, 132, 3, 5}, 1, 12, F32, "aBcd4b", "aBcd4b", "simd"},
    {4, {2, 132, 3, 5}, 1, 12, F32, "aBcd16b", "aBcd16b", "simd"},
    {4, {2, 132, 3, 5}, 1, 11, BF16, "aBcd16b", "aBcd16b", "simd"},
    {4, {2, 132, 3, 5}, 1, 11, BF16, "aBcd8b", "aBcd8b", "simd"},
    {4, {2, 132, 3, 5}, 1, 66, S8, "aBcd16b", "aBcd16b", "simd"},
    {4, {2, 132, 3, 5}, 1, 66, S8, "aBcd4b", "aBcd4b", "ref"},
    {4, {16, 8, 3, 5}, 0, 2, F32, "Abcd16a", "Abcd16a", "simd"},
    {4, {2, 8, 3, 5}, 1, 2, F32, "aBcd16b", "aBcd16b", "simd"},
    {4, {2, 24, 3, 5}, 1, 2, F32, "aBcd16b", "acdb", "ref"},
    {5, {2, 30, 2, 3, 5}, 1, 6, F32, "acdeb", "acdeb", "simd"},
    {4, {2, 30, 3, 5}, 1, 1, F32, "acdb", "acdb", "simd"},
    {4, {2, 30, 3, 5}, 1, 30, F32, "acdb", "acdb", "simd"},
    {2, {7, 3}, 1, 3, F32, "ab", "ab", "simd"},
    {2, {7, 6}, 1, 3, dnnl_tp_s32, "ab", "ab", NULL},
    {2, {7, 6}, 1, 3, dnnl_tp_f16, "ab", "ab", NULL},
    {2, {7, 6}, 1, 3, dnnl_tp_f64, "ab", "ab", NULL},
    {2, {7, 6}, 1, 2, dnnl_tp_s64, "ab", "ba", NULL},
    {2, {7, 26}, 1, 2, dnnl_tp_u8, "ab", "ab", "simd"},
    {4, {0, 12, 3, 5}, 1, 3, F32, "acdb", "acdb", NULL},
    {4, {2, 0, 3, 5}, 1, 3, F32, "acdb", "acdb", NULL},
    {4, {2, 12, 0, 5}, 1, 3, F32, "aBcd16b", "aBcd16b", NULL},
};

static void check(const case_t *c, const tensor_t *src, const tensor_t *dst, const char *place) {
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0}, from[DNNL_TP_MAX_NDIMS];
    if (dtp_md_nelems(&dst->md) == 0) return;
    do {
        memcpy(from, pos, sizeof from);
        const int64_t rows = c->dims[c->axis] / c->group, v = pos[c->axis] / rows, u = pos[c->axis] % rows;
        from[c->axis] = u * c->group + v;
        const double want = tensor_get(src, from), got = tensor_get(dst, pos);
        if (got != want)
            fail_msg("%s: %s, axis %d of %lld, group %lld: at %lld,%lld got %g, want %g", place, c->src,
                     c->axis, (long long)c->dims[c->axis], (long long)c->group, (long long)pos[0],
                     (long long)pos[1], got, want);
    } while (tensor_next(&dst->md, pos));
}

static void run_case(const case_t *c, uint64_t stream) {
    test_rng_t r = test_rng(stream);
    tensor_t src, dst = {.data = NULL};
    dtp_md_t dst_md;
    tensor_layout(&src, c->ndims, c->dims, c->dt, c->src);
    tensor_fill(&src, &r, c->dt == dnnl_tp_u8 ? 0.f : -100.f, 100.f, true);
    if (c->dst) CHECK_OK(dtp_md_init_layout(&dst_md, c->ndims, c->dims, c->dt, c->dst));
    else CHECK_OK(dtp_md_init_tag(&dst_md, c->ndims, c->dims, c->dt, dnnl_tp_format_tag_any));
    int n;
    const place_t *at = places(&n);
    unsigned char *first = NULL;
    for (int i = 0; i < n; ++i) {
        dnnl_tp_primitive_desc_t pd;
        if (!has_impl(at[i].engine,
                      dnnl_tp_shuffle_forward_primitive_desc_create(
                          &pd, at[i].engine, i % 2 ? dnnl_tp_forward_training : dnnl_tp_forward_inference,
                          &src.md, &dst_md, c->axis, c->group, NULL)))
            continue;
        if (DTP_X64 || (c->impl && strcmp(c->impl, "simd")))
            check_impl(pd, at[i].isa == dnnl_tp_cpu_isa_sse41 ? NULL : c->impl, c->src);
        if (i == 0) {
            tensor_init(&dst, dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_dst_md, 0));
            if (!c->dst) assert_true(md_matches(&dst.md, c->src));
        }
        tensor_blank(&dst);
        CHECK_OK(run_pd(&at[i], pd, 2,
                        (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_SRC, src.data}, {DNNL_TP_ARG_DST, dst.data}}));
        if (dtp_md_nelems(&dst.md)) tensor_check(&dst, at[i].name);
        check(c, &src, &dst, at[i].name);
        check_same_bits(&at[i], &dst, &first, c->src);
    }
    free(first);
    tensor_free(&src);
    tensor_free(&dst);
}

static void table(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) run_case(&cases[i], i);
}

/* Axes around the lengths of vectors and blocks, every divisor of them. */
static void groups(void **state) {
    (void)state;
    static const int64_t axes[] = {1,  2,  3,  4,  5,  7,  8,  9,  12, 15, 16, 17,
                                   20, 24, 31, 32, 33, 36, 48, 60, 64, 96, 128};
    static const char *const layouts[] = {"acb", "aBc16b", "aBc8b", "abc"};
    static const dnnl_tp_data_type_t types[] = {F32, BF16, S8};
    for (size_t a = 0; a < sizeof axes / sizeof *axes; ++a)
        for (int64_t g = 1; g <= axes[a]; ++g) {
            if (axes[a] % g) continue;
            case_t c = {3, {2, axes[a], 5}, 1, g, types[(size_t)g % 3], NULL, NULL, NULL};
            for (int l = 0; l < 4; ++l) {
                c.src = c.dst = layouts[l];
                c.dt = types[(a + (size_t)g + (size_t)l) % 3];
                run_case(&c, a * 100 + (uint64_t)g);
            }
        }
}

/* Enough for several units, and for non-temporal stores. */
static void large(void **state) {
    (void)state;
    static const case_t many[] = {{4, {3, 116, 40, 41}, 1, 2, F32, "acdb", "acdb", "simd"},
                                  {4, {3, 116, 40, 41}, 1, 58, F32, "aBcd16b", "aBcd16b", "simd"},
                                  {4, {16, 240, 40, 40}, 1, 3, F32, "aBcd16b", "aBcd16b", "simd"},
                                  {4, {3, 116, 40, 41}, 1, 4, F32, "abcd", "abcd", "moves"}};
    for (size_t i = 0; i < sizeof many / sizeof *many; ++i) run_case(&many[i], 700 + i);
}

/* Strides with gaps, and an offset. */
static void strided(void **state) {
    (void)state;
    enum { N = 3, C = 12, ROOM = 20 };
    float src[4 + N * ROOM * 2], dst[N * ROOM];
    const int64_t dims[] = {N, C}, src_strides[] = {2 * ROOM, 2}, dst_strides[] = {ROOM, 1};
    dtp_md_t smd, dmd;
    CHECK_OK(dtp_md_init_strides(&smd, 2, dims, F32, src_strides));
    CHECK_OK(dtp_md_init_strides(&dmd, 2, dims, F32, dst_strides));
    for (size_t i = 0; i < sizeof src / sizeof *src; ++i) src[i] = (float)i;
    int n;
    const place_t *at = places(&n);
    for (int i = 0; i < n; ++i) {
        dnnl_tp_primitive_desc_t pd;
        CHECK_OK(dnnl_tp_shuffle_forward_primitive_desc_create(&pd, at[i].engine, dnnl_tp_forward_inference,
                                                               &smd, &dmd, 1, 3, NULL));
        for (int k = 0; k < N * ROOM; ++k) dst[k] = -1;
        CHECK_OK(
            run_pd(&at[i], pd, 2, (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_SRC, src}, {DNNL_TP_ARG_DST, dst}}));
        for (int r = 0; r < N; ++r)
            for (int c = 0; c < ROOM; ++c) {
                if (r == N - 1 && c >= C) continue;
                const float want = c >= C ? -1.f : src[r * 2 * ROOM + 2 * (c % 4 * 3 + c / 4)];
                assert_true(dst[r * ROOM + c] == want);
            }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(table), cmocka_unit_test(groups),
                                       cmocka_unit_test(large), cmocka_unit_test(strided)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
