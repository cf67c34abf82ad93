/* Reorder against a double-precision reference: layouts, types, attributes, padding, run-time dims,
 * compensation; on every instruction set and thread count, results bit-equal over threads. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/tensor.h"
#include "support/upload.h"

enum { NONE = -1 }; /* attribute mask: unset */

typedef struct {
    int ndims;
    int64_t dims[5];
    dnnl_tp_data_type_t sdt;
    const char *slayout;
    dnnl_tp_data_type_t ddt;
    const char *dlayout;
    int sscale, dscale, szp, dzp; /* masks */
    float sum;                    /* 0 = none */
    const char *impl;             /* on the best instruction set; NULL = not checked */
} case_t;

#define PLAIN NONE, NONE, NONE, NONE, 0.f
#define PLAIN_ATTR .sscale = NONE, .dscale = NONE, .szp = NONE, .dzp = NONE

static const case_t cases[] = {
    {2, {64, 48}, dnnl_tp_f32, "ab", dnnl_tp_f32, "BA16a16b", PLAIN, "simd"},
    {2, {65, 47}, dnnl_tp_f32, "ab", dnnl_tp_f32, "BA16a16b", PLAIN, "simd"},
    {2, {65, 47}, dnnl_tp_f32, "ba", dnnl_tp_f32, "BA16a16b", PLAIN, "simd"},
    {2, {15, 17}, dnnl_tp_f32, "ba", dnnl_tp_f32, "BA16a16b", PLAIN, "simd"},
    {2, {16, 16}, dnnl_tp_f32, "ba", dnnl_tp_f32, "BA16a16b", PLAIN, "simd"},
    {2, {1, 1}, dnnl_tp_f32, "ba", dnnl_tp_f32, "BA16a16b", PLAIN, "simd"},
    {2, {97, 53}, dnnl_tp_f32, "BA16a16b", dnnl_tp_f32, "ab", PLAIN, "simd"},
    {2, {97, 53}, dnnl_tp_f32, "BA16a16b", dnnl_tp_f32, "ba", PLAIN, "simd"},
    {3, {3, 33, 31}, dnnl_tp_f32, "abc", dnnl_tp_f32, "aCB16b16c", PLAIN, "simd"},
    {3, {3, 33, 31}, dnnl_tp_f32, "acb", dnnl_tp_f32, "aCB16b16c", PLAIN, "simd"},
    {2, {37, 50}, dnnl_tp_bf16, "ab", dnnl_tp_bf16, "BA16a16b2a", PLAIN, "simd"},
    {2, {37, 50}, dnnl_tp_f32, "ab", dnnl_tp_bf16, "BA16a16b2a", PLAIN, "simd"},
    {2, {37, 50}, dnnl_tp_f32, "ba", dnnl_tp_bf16, "BA16a16b2a", PLAIN, "simd"},
    {2, {70, 50}, dnnl_tp_s8, "ab", dnnl_tp_s8, "BA16a16b4a", PLAIN, "simd"},
    {2, {70, 50}, dnnl_tp_s8, "ba", dnnl_tp_s8, "BA16a16b4a", PLAIN, "simd"},
    {2, {70, 50}, dnnl_tp_s8, "BA16a16b4a", dnnl_tp_s8, "ab", PLAIN, "simd"},
    {2, {70, 50}, dnnl_tp_f32, "ab", dnnl_tp_s8, "BA16a16b4a", 2, NONE, NONE, NONE, 0.f, "simd"},
    {2, {101, 67}, dnnl_tp_f32, "ab", dnnl_tp_f32, "ba", PLAIN, "simd"},
    {2, {101, 67}, dnnl_tp_bf16, "ab", dnnl_tp_bf16, "ba", PLAIN, "simd"},
    {2, {101, 67}, dnnl_tp_s8, "ab", dnnl_tp_s8, "ba", PLAIN, "simd"},
    {2, {101, 67}, dnnl_tp_s32, "ab", dnnl_tp_s32, "ba", PLAIN, "simd"},
    {2, {101, 67}, dnnl_tp_f32, "ab", dnnl_tp_bf16, "ba", PLAIN, "simd"},
    {2, {101, 67}, dnnl_tp_u8, "ba", dnnl_tp_f32, "ab", PLAIN, "simd"},
    {1, {4099}, dnnl_tp_f32, "a", dnnl_tp_f32, "a", PLAIN, "simd"},
    {1, {4099}, dnnl_tp_f32, "a", dnnl_tp_s8, "a", PLAIN, "simd"},
    {1, {70001}, dnnl_tp_s8, "a", dnnl_tp_s8, "a", PLAIN, "simd"},
    {1, {1}, dnnl_tp_f32, "a", dnnl_tp_u8, "a", PLAIN, "simd"},
    {4, {2, 32, 5, 7}, dnnl_tp_f32, "abcd", dnnl_tp_f32, "aBcd16b", PLAIN, "simd"},
    {4, {2, 19, 5, 7}, dnnl_tp_f32, "abcd", dnnl_tp_f32, "aBcd16b", PLAIN, "simd"},
    {4, {2, 19, 5, 7}, dnnl_tp_f32, "aBcd16b", dnnl_tp_f32, "abcd", PLAIN, "simd"},
    {4, {2, 3, 29, 31}, dnnl_tp_f32, "abcd", dnnl_tp_bf16, "acdb", PLAIN, "simd"},
    {4, {1, 3, 3, 2}, dnnl_tp_f32, "abcd", dnnl_tp_bf16, "acdb", PLAIN, "simd"},
    {2, {3, 900}, dnnl_tp_f32, "ab", dnnl_tp_bf16, "ba", PLAIN, "simd"},
    {4, {2, 19, 5, 7}, dnnl_tp_f32, "acdb", dnnl_tp_f32, "aBcd8b", PLAIN, "simd"},
    {4, {2, 19, 5, 7}, dnnl_tp_f32, "aBcd8b", dnnl_tp_f32, "aBcd16b", PLAIN, "simd"},
    {4, {2, 19, 5, 7}, dnnl_tp_f32, "aBcd16b", dnnl_tp_bf16, "aBcd4b", PLAIN, "simd"},
    {4, {2, 19, 5, 7}, dnnl_tp_u8, "acdb", dnnl_tp_f32, "abcd", PLAIN, "simd"},
    {4, {3, 4, 5, 6}, dnnl_tp_f32, "abcd", dnnl_tp_f32, "dcba", PLAIN, "simd"},
    {4, {3, 4, 5, 6}, dnnl_tp_f16, "acbd", dnnl_tp_f32, "cdab", PLAIN, "simd"},
    {4, {20, 36, 3, 3}, dnnl_tp_f32, "abcd", dnnl_tp_f32, "ABcd16b16a", PLAIN, "simd"},
    {4, {20, 36, 3, 3}, dnnl_tp_s8, "abcd", dnnl_tp_s8, "ABcd4b16a4b", PLAIN, "simd"},
    {5, {2, 20, 36, 3, 3}, dnnl_tp_f32, "abcde", dnnl_tp_f32, "aBCde16c16b", PLAIN, "simd"},
    {2, {30, 40}, dnnl_tp_f32, "ab", dnnl_tp_s8, "ab", 0, 0, NONE, NONE, 0.f, "simd"},
    {2, {30, 40}, dnnl_tp_f32, "ab", dnnl_tp_u8, "ba", 0, 1, NONE, 0, 0.f, "simd"},
    {2, {30, 40}, dnnl_tp_u8, "ab", dnnl_tp_f32, "ab", 3, NONE, 0, NONE, 0.f, "simd"},
    {3, {5, 6, 40}, dnnl_tp_s8, "acb", dnnl_tp_s8, "abc", 5, 2, 0, 0, 0.f, "simd"},
    {3, {5, 6, 40}, dnnl_tp_s32, "abc", dnnl_tp_u8, "abc", 4, NONE, NONE, 1, 0.f, "simd"},
    {4, {2, 19, 5, 7}, dnnl_tp_f32, "abcd", dnnl_tp_u8, "aBcd16b", 2, 0, NONE, 0, 0.5f, "simd"},
    {2, {30, 40}, dnnl_tp_f32, "ab", dnnl_tp_f32, "ab", NONE, NONE, NONE, NONE, 2.f, "simd"},
    {2, {30, 40}, dnnl_tp_f32, "ab", dnnl_tp_f32, "BA16a16b", 1, NONE, NONE, NONE, 1.f, "simd"},
    /* Blocks of 16 and 6 do not divide each other. */
    {2, {48, 5}, dnnl_tp_f32, "Ab16a", dnnl_tp_f32, "Ab6a", PLAIN, "ref"},
    {2, {0, 5}, dnnl_tp_f32, "ab", dnnl_tp_f32, "ba", PLAIN, NULL},
};

static const dnnl_tp_data_type_t types[] = {dnnl_tp_f32, dnnl_tp_bf16, dnnl_tp_f16,
                                            dnnl_tp_s32, dnnl_tp_s8,   dnnl_tp_u8};
enum { NTYPES = sizeof types / sizeof *types };

typedef struct {
    tensor_t src, dst, old, sscale, dscale, szp, dzp;
} data_t;

static void make_quant(tensor_t *t, const case_t *c, int mask, dnnl_tp_data_type_t dt, test_rng_t *r) {
    int64_t dims[5];
    dtp_md_t md;
    for (int d = 0; d < c->ndims; ++d) dims[d] = mask != NONE && (mask >> d & 1) ? c->dims[d] : 1;
    CHECK_OK(dtp_md_init_strides(&md, c->ndims, dims, dt, NULL));
    tensor_init(t, &md);
    if (dt == dnnl_tp_f32) tensor_fill(t, r, 0.25f, 2.f, false);
    else tensor_fill(t, r, -5.f, 6.f, true);
}

static void reference_check(const case_t *c, const data_t *d, const char *place) {
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    if (dtp_md_nelems(&d->dst.md) == 0) return;
    do {
        double x = tensor_get(&d->src, pos), mag;
        if (c->szp != NONE) x -= tensor_get_bcast(&d->szp, pos);
        mag = fabs(x);
        if (c->sscale != NONE) x *= tensor_get_bcast(&d->sscale, pos), mag *= 2;
        if (c->sum != 0) {
            double old = c->sum * tensor_get(&d->old, pos);
            x += old;
            mag += fabs(old);
        }
        if (c->dscale != NONE) {
            double s = tensor_get_bcast(&d->dscale, pos);
            x /= s;
            mag /= s;
        }
        if (c->dzp != NONE) x += tensor_get_bcast(&d->dzp, pos), mag += 5;
        const bool exact =
            c->sscale == NONE && c->dscale == NONE && c->szp == NONE && c->dzp == NONE && c->sum == 0;
        double got = tensor_get(&d->dst, pos), err = exact ? 0 : 5 * 1.2e-7 * mag;
        if (c->sdt == dnnl_tp_s32 && c->ddt != dnnl_tp_s32) err += 1e-7 * mag;
        if (!rounds_near(c->ddt, got, x, err))
            fail_msg("%s: {%lld,%lld,..} %s %s -> %s %s: at %lld,%lld,%lld got %.9g, want %.9g", place,
                     (long long)c->dims[0], (long long)c->dims[1], dnnl_tp_dt2str(c->sdt), c->slayout,
                     dnnl_tp_dt2str(c->ddt), c->dlayout, (long long)pos[0], (long long)pos[1],
                     (long long)pos[2], got, x);
    } while (tensor_next(&d->dst.md, pos));
}

/* in_place: dst lies in the place of src. */
static void run_case_in(bool in_place, const case_t *c, uint64_t stream) {
    test_rng_t r = test_rng(stream);
    data_t d;
    tensor_layout(&d.src, c->ndims, c->dims, c->sdt, c->slayout);
    tensor_layout(&d.dst, c->ndims, c->dims, c->ddt, c->dlayout);
    tensor_layout(&d.old, c->ndims, c->dims, c->ddt, c->dlayout);
    tensor_fill(&d.src, &r, -140.f, 270.f, false);
    tensor_fill(&d.old, &r, -20.f, 20.f, true);
    if (in_place) memcpy(d.old.data, d.src.data, d.old.bytes);
    make_quant(&d.sscale, c, c->sscale, dnnl_tp_f32, &r);
    make_quant(&d.dscale, c, c->dscale, dnnl_tp_f32, &r);
    make_quant(&d.szp, c, c->szp, dnnl_tp_s32, &r);
    make_quant(&d.dzp, c, c->dzp, dnnl_tp_s32, &r);
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_post_ops_t po;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    if (c->sscale != NONE) CHECK_OK(dnnl_tp_primitive_attr_set_scales_mask(attr, DNNL_TP_ARG_SRC, c->sscale));
    if (c->dscale != NONE) CHECK_OK(dnnl_tp_primitive_attr_set_scales_mask(attr, DNNL_TP_ARG_DST, c->dscale));
    if (c->szp != NONE) CHECK_OK(dnnl_tp_primitive_attr_set_zero_points_mask(attr, DNNL_TP_ARG_SRC, c->szp));
    if (c->dzp != NONE) CHECK_OK(dnnl_tp_primitive_attr_set_zero_points_mask(attr, DNNL_TP_ARG_DST, c->dzp));
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    if (c->sum != 0) CHECK_OK(dnnl_tp_post_ops_append_sum(po, c->sum, 0, dnnl_tp_data_type_undef));
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
    int n;
    const place_t *at = places(&n);
    unsigned char *first = NULL;
    for (int i = 0; i < n; ++i) {
        dnnl_tp_primitive_desc_t pd;
        if (!has_impl(at[i].engine, dnnl_tp_reorder_primitive_desc_create(&pd, &d.src.md, at[i].engine,
                                                                          &d.dst.md, at[i].engine, attr)))
            continue;
        check_impl(pd, c->impl, c->slayout);
        if (in_place || c->sum != 0) memcpy(d.dst.data, d.old.data, d.dst.bytes);
        else tensor_blank(&d.dst);
        const dnnl_tp_exec_handle_t args[] = {
            {DNNL_TP_ARG_SRC, in_place ? d.dst.data : d.src.data},
            {DNNL_TP_ARG_DST, d.dst.data},
            {DNNL_TP_ARG_ATTR_SCALES | DNNL_TP_ARG_SRC, d.sscale.data},
            {DNNL_TP_ARG_ATTR_SCALES | DNNL_TP_ARG_DST, d.dscale.data},
            {DNNL_TP_ARG_ATTR_ZERO_POINTS | DNNL_TP_ARG_SRC, d.szp.data},
            {DNNL_TP_ARG_ATTR_ZERO_POINTS | DNNL_TP_ARG_DST, d.dzp.data},
        };
        CHECK_OK(run_pd(&at[i], pd, 6, args));
        tensor_check(&d.dst, at[i].name);
        if (at[i].threads == 1) reference_check(c, &d, at[i].name);
        check_same_bits(&at[i], &d.dst, &first, c->slayout);
    }
    free(first);
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    tensor_t *all[] = {&d.src, &d.dst, &d.old, &d.sscale, &d.dscale, &d.szp, &d.dzp};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) tensor_free(all[i]);
}

static void run_case(const case_t *c, uint64_t stream) { run_case_in(false, c, stream); }

static void table(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) run_case(&cases[i], i);
}

static void every_type_pair(void **state) {
    (void)state;
    static const char *const layouts[][2] = {{"ab", "ab"}, {"ab", "ba"}, {"ab", "aB16b"}};
    for (int a = 0; a < NTYPES; ++a)
        for (int b = 0; b < NTYPES; ++b)
            for (int l = 0; l < 3; ++l) {
                case_t c = {2, {13, 37}, types[a], layouts[l][0], types[b], layouts[l][1], PLAIN, "simd"};
                run_case(&c, (uint64_t)(100 + a * 100 + b * 10 + l));
            }
}

/* Random dims, layouts and types. */
static void random_cases(void **state) {
    (void)state;
    static const char *const two[] = {"ab",       "ba",         "aB16b",      "Ab16a", "AB16b16a",
                                      "BA16a16b", "BA16a16b2a", "BA16a16b4a", "aB8b"};
    static const char *const four[] = {"abcd",       "acdb",        "aBcd16b", "aBcd8b", "cdba",
                                       "ABcd16b16a", "ABcd4b16a4b", "bacd",    "Abcd16a"};
    test_rng_t r = test_rng(7);
    for (int k = 0; k < 120; ++k) {
        case_t c = {.ndims = k % 2 ? 2 : 4, PLAIN_ATTR, .impl = "simd"};
        const char *const *names = c.ndims == 2 ? two : four;
        for (int d = 0; d < c.ndims; ++d)
            c.dims[d] = 1 + (int64_t)(test_rand(&r) % (c.ndims == 2 ? 70 : d < 2 ? 40 : 5));
        c.slayout = names[test_rand(&r) % 9];
        c.dlayout = names[test_rand(&r) % 9];
        c.sdt = types[test_rand(&r) % NTYPES];
        c.ddt = test_rand(&r) % 2 ? c.sdt : types[test_rand(&r) % NTYPES];
        if (test_rand(&r) % 4 == 0) c.sscale = (int)(test_rand(&r) % (1u << c.ndims));
        if (test_rand(&r) % 6 == 0) c.dzp = 0;
        run_case(&c, (uint64_t)(1000 + k));
    }
}

/* From a type to one of its size, or scaled, in one layout and one place. */
static void in_place_cases(void **state) {
    (void)state;
    static const char *const layouts[] = {"abcd", "acdb",       "aBcd16b",    "aBcd8b",
                                          "cdba", "ABcd16b16a", "ABcd4b16a4b"};
    static const dnnl_tp_data_type_t same[3][2] = {
        {dnnl_tp_f32, dnnl_tp_s32}, {dnnl_tp_bf16, dnnl_tp_f16}, {dnnl_tp_s8, dnnl_tp_u8}};
    test_rng_t r = test_rng(8);
    for (int k = 0; k < 120; ++k) {
        case_t c = {.ndims = 4, PLAIN_ATTR, .impl = "simd"};
        for (int d = 0; d < c.ndims; ++d) c.dims[d] = 1 + (int64_t)(test_rand(&r) % (d < 2 ? 40 : 5));
        c.slayout = c.dlayout = layouts[test_rand(&r) % 7];
        c.sdt = same[k % 3][test_rand(&r) % 2];
        c.ddt = same[k % 3][test_rand(&r) % 2];
        if (test_rand(&r) % 3 == 0) c.sscale = (int)(test_rand(&r) % (1u << c.ndims));
        if (test_rand(&r) % 4 == 0) c.dscale = (int)(test_rand(&r) % (1u << c.ndims));
        if (test_rand(&r) % 4 == 0) c.szp = 0;
        if (test_rand(&r) % 4 == 0) c.dzp = 0;
        if (c.sdt == c.ddt && test_rand(&r) % 4 == 0) c.sum = 0.5f;
        run_case_in(true, &c, (uint64_t)(1200 + k));
    }
    for (int64_t n = 1; n < 200; n = n * 3 / 2 + 1)
        for (int t = 0; t < 3; ++t) {
            case_t c = {.ndims = 1, .dims = {n}, PLAIN_ATTR, .impl = "simd"};
            c.slayout = c.dlayout = "a";
            c.sdt = same[t][0], c.ddt = same[t][1];
            run_case_in(true, &c, (uint64_t)(1400 + n));
        }
    case_t large = {.ndims = 2, .dims = {700, 901}, PLAIN_ATTR, .impl = "simd"};
    large.slayout = large.dlayout = "ab";
    large.sdt = dnnl_tp_s32, large.ddt = dnnl_tp_f32;
    run_case_in(true, &large, 1600);
}

/* Views with gaps and offsets on both sides. */
static void strided(void **state) {
    (void)state;
    const int64_t dims[] = {5, 6, 20}, ss[] = {400, 27, 1}, ds[] = {7, 45, 300};
    test_rng_t r = test_rng(11);
    dtp_md_t smd, dmd;
    tensor_t src, dst;
    CHECK_OK(dtp_md_init_strides(&smd, 3, dims, dnnl_tp_f32, ss));
    CHECK_OK(dtp_md_init_strides(&dmd, 3, dims, dnnl_tp_f32, ds));
    smd.offset0 = 3;
    tensor_init(&src, &smd);
    tensor_init(&dst, &dmd);
    tensor_fill(&src, &r, -1.f, 1.f, false);
    int n;
    const place_t *at = places(&n);
    for (int i = 0; i < n; ++i) {
        dnnl_tp_primitive_desc_t pd;
        tensor_blank(&dst);
        CHECK_OK(dnnl_tp_reorder_primitive_desc_create(&pd, &smd, at[i].engine, &dmd, at[i].engine, NULL));
        const dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, src.data}, {DNNL_TP_ARG_DST, dst.data}};
        CHECK_OK(run_pd(&at[i], pd, 2, args));
        tensor_check(&dst, at[i].name);
        int64_t pos[3] = {0}, written = 0;
        do assert_true(tensor_get(&src, pos) == tensor_get(&dst, pos));
        while (tensor_next(&dmd, pos));
        for (size_t b = 0; b < dst.bytes; b += 4) written += memcmp(dst.data + b, "\xa0\x7d\xa0\x7f", 4) != 0;
        assert_int_equal(written, 5 * 6 * 20); /* gaps stay as they were */
    }
    tensor_free(&src);
    tensor_free(&dst);
}

static void special_values(void **state) {
    (void)state;
    const int64_t dims[] = {8};
    const float in[] = {NAN, INFINITY, -INFINITY, 0.5f, 1.5f, -2.5f, 3e9f, -3e9f};
    static const struct {
        dnnl_tp_data_type_t dt;
        double want[8];
    } rows[] = {{dnnl_tp_s8, {0, 127, -128, 0, 2, -2, 127, -128}},
                {dnnl_tp_u8, {0, 255, 0, 0, 2, 0, 255, 0}},
                {dnnl_tp_s32, {0, INT32_MAX, INT32_MIN, 0, 2, -2, INT32_MAX, INT32_MIN}},
                {dnnl_tp_f16, {NAN, INFINITY, -INFINITY, 0.5, 1.5, -2.5, INFINITY, -INFINITY}},
                {dnnl_tp_f32, {NAN, INFINITY, -INFINITY, 0.5, 1.5, -2.5, 3e9, -3e9}}};
    int n;
    const place_t *at = places(&n);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k)
        for (int i = 0; i < n; ++i) {
            tensor_t src, dst;
            tensor_layout(&src, 1, dims, dnnl_tp_f32, "a");
            tensor_layout(&dst, 1, dims, rows[k].dt, "a");
            memcpy(src.data, in, sizeof in);
            dnnl_tp_primitive_desc_t pd;
            CHECK_OK(dnnl_tp_reorder_primitive_desc_create(&pd, &src.md, at[i].engine, &dst.md, at[i].engine,
                                                           NULL));
            const dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, src.data}, {DNNL_TP_ARG_DST, dst.data}};
            CHECK_OK(run_pd(&at[i], pd, 2, args));
            for (int64_t j = 0; j < 8; ++j) {
                double got = tensor_get(&dst, &j), want = rows[k].want[j];
                if (!(got == want || (isnan(got) && isnan(want))))
                    fail_msg("%s: %g -> %g, want %g", at[i].name, in[j], got, want);
            }
            tensor_free(&src);
            tensor_free(&dst);
        }
}

static void runtime_dims(void **state) {
    (void)state;
    const int64_t any[] = {DNNL_TP_RUNTIME_DIM_VAL, DNNL_TP_RUNTIME_DIM_VAL};
    static const int64_t sizes[][2] = {{1, 1}, {17, 40}, {64, 64}, {130, 3}};
    static const char *const layouts[][2] = {{"ab", "ba"}, {"ab", "ab"}, {"ba", "ab"}};
    test_rng_t r = test_rng(3);
    int n;
    const place_t *at = places(&n);
    for (int i = 0; i < n; ++i)
        for (int l = 0; l < 3; ++l) {
            dtp_md_t rs, rd;
            dnnl_tp_primitive_desc_t pd;
            dnnl_tp_primitive_t prim;
            CHECK_OK(dtp_md_init_layout(&rs, 2, any, dnnl_tp_f32, layouts[l][0]));
            CHECK_OK(dtp_md_init_layout(&rd, 2, any, dnnl_tp_bf16, layouts[l][1]));
            if (!has_impl(at[i].engine, dnnl_tp_reorder_primitive_desc_create(&pd, &rs, at[i].engine, &rd,
                                                                              at[i].engine, NULL)))
                continue;
            CHECK_OK(dnnl_tp_primitive_create(&prim, pd));
            for (int k = 0; k < 4; ++k) {
                tensor_t src, dst;
                dnnl_tp_memory_t ms, mt;
                tensor_layout(&src, 2, sizes[k], dnnl_tp_f32, layouts[l][0]);
                tensor_layout(&dst, 2, sizes[k], dnnl_tp_bf16, layouts[l][1]);
                tensor_fill(&src, &r, -100.f, 100.f, true);
                CHECK_OK(dnnl_tp_memory_create(&ms, &src.md, at[i].engine, DNNL_TP_MEMORY_ALLOCATE));
                CHECK_OK(dnnl_tp_memory_create(&mt, &dst.md, at[i].engine, DNNL_TP_MEMORY_ALLOCATE));
                test_upload(ms, src.data, src.bytes);
                const dnnl_tp_exec_arg_t args[] = {{DNNL_TP_ARG_SRC, ms}, {DNNL_TP_ARG_DST, mt}};
                CHECK_OK(dnnl_tp_primitive_execute(prim, at[i].stream, 2, args));
                CHECK_OK(dnnl_tp_stream_wait(at[i].stream));
                test_download(mt, dst.data, dst.bytes);
                int64_t pos[2] = {0};
                do assert_true(tensor_get(&src, pos) == tensor_get(&dst, pos));
                while (tensor_next(&dst.md, pos));
                tensor_check(&dst, at[i].name);
                CHECK_OK(dnnl_tp_memory_destroy(ms));
                CHECK_OK(dnnl_tp_memory_destroy(mt));
                tensor_free(&src);
                tensor_free(&dst);
            }
            CHECK_OK(dnnl_tp_primitive_destroy(prim));
            CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
        }
}

static void compensation(void **state) {
    (void)state;
    static const struct {
        int ndims, mask;
        int64_t dims[3];
        const char *layout;
    } rows[] = {{2, 2, {70, 21}, "BA16a16b4a"}, {2, 2, {70, 32}, "ab"}, {3, 5, {3, 10, 20}, "aCB16b16c4b"}};
    test_rng_t r = test_rng(5);
    int n;
    const place_t *at = places(&n);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        tensor_t src, dst;
        dtp_md_t md;
        tensor_layout(&src, rows[k].ndims, rows[k].dims, dnnl_tp_f32, rows[k].ndims == 2 ? "ab" : "abc");
        tensor_fill(&src, &r, -100.f, 100.f, true);
        CHECK_OK(dtp_md_init_layout(&md, rows[k].ndims, rows[k].dims, dnnl_tp_s8, rows[k].layout));
        const size_t data_bytes = dtp_md_size(&md);
        md.extra.flags = DTP_EXTRA_COMP_S8S8 | DTP_EXTRA_COMP_ASYMM_SRC;
        md.extra.compensation_mask = md.extra.asymm_compensation_mask = rows[k].mask;
        for (int i = 0; i < n; ++i) {
            tensor_init(&dst, &md);
            dnnl_tp_primitive_desc_t pd;
            if (!has_impl(at[i].engine, dnnl_tp_reorder_primitive_desc_create(&pd, &src.md, at[i].engine, &md,
                                                                              at[i].engine, NULL))) {
                tensor_free(&dst);
                continue;
            }
            const dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, src.data}, {DNNL_TP_ARG_DST, dst.data}};
            CHECK_OK(run_pd(&at[i], pd, 2, args));
            tensor_check(&dst, at[i].name);
            int64_t entries = 1, pos[DNNL_TP_MAX_NDIMS] = {0};
            for (int d = 0; d < md.ndims; ++d)
                if (rows[k].mask >> d & 1) entries *= md.padded_dims[d];
            double *want = calloc((size_t)entries, sizeof *want);
            do {
                int64_t e = 0;
                for (int d = 0; d < md.ndims; ++d)
                    if (rows[k].mask >> d & 1) e = e * md.padded_dims[d] + pos[d];
                want[e] += tensor_get(&src, pos);
            } while (tensor_next(&src.md, pos));
            const int32_t *comp = (const int32_t *)(const void *)(dst.data + (data_bytes + 3) / 4 * 4);
            for (int64_t e = 0; e < entries; ++e) {
                assert_int_equal(comp[e], (int)(-128 * want[e]));
                assert_int_equal(comp[entries + e], (int)-want[e]);
            }
            free(want);
            tensor_free(&dst);
        }
        tensor_free(&src);
    }
}

static void refusals(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    const int64_t dims[] = {4, 4};
    dtp_md_t a, b;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_post_ops_t po;
    CHECK_OK(dtp_md_init_layout(&a, 2, dims, dnnl_tp_f32, "ab"));
    CHECK_OK(dtp_md_init_tag(&b, 2, dims, dnnl_tp_f32, dnnl_tp_format_tag_any));
    CHECK_STATUS(dnnl_tp_reorder_primitive_desc_create(&pd, &a, at->engine, &b, at->engine, NULL),
                 dnnl_tp_invalid_arguments);
    assert_int_equal(dtp_last_reason(), DTP_ANY_NOT_ALLOWED);
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_relu, 0.f, 0.f));
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
    CHECK_STATUS(dnnl_tp_reorder_primitive_desc_create(&pd, &a, at->engine, &a, at->engine, attr),
                 dnnl_tp_unimplemented);
    assert_null(pd);
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),          cmocka_unit_test(every_type_pair), cmocka_unit_test(random_cases),
        cmocka_unit_test(in_place_cases), cmocka_unit_test(strided),         cmocka_unit_test(special_values),
        cmocka_unit_test(runtime_dims),   cmocka_unit_test(compensation),    cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
