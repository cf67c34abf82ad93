/* Reductions against a double-precision reference: algorithms, sets of dims, layouts, types, post-operations;
 * on every instruction set and thread count, results bit-equal over threads. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/primitive/primitive_desc.h"
#include "common/problems/reduction.h"
#include "support/tensor.h"

typedef struct {
    dnnl_tp_alg_kind_t alg;
    float p, eps;
    int ndims;
    int64_t sdims[5], ddims[5];
    dnnl_tp_data_type_t sdt;
    const char *slayout;
    dnnl_tp_data_type_t ddt;
    const char *dlayout;
    int post; /* 0 none, 1 relu + sum + binary add and prelu per last dim */
    const char *impl;
} case_t;

#define F32 dnnl_tp_f32
#define SUM dnnl_tp_reduction_sum, 0.f, 0.f
#define MEAN dnnl_tp_reduction_mean, 0.f, 0.f
#define MAX dnnl_tp_reduction_max, 0.f, 0.f
#define MIN dnnl_tp_reduction_min, 0.f, 0.f
#define MUL dnnl_tp_reduction_mul, 0.f, 0.f

static const case_t cases[] = {
    {SUM, 2, {37, 129}, {37, 1}, F32, "ab", F32, "ab", 0, "simd"},
    {SUM, 2, {37, 129}, {1, 129}, F32, "ab", F32, "ab", 0, "simd"},
    {SUM, 2, {37, 129}, {1, 1}, F32, "ab", F32, "ab", 0, "simd"},
    {SUM, 2, {37, 129}, {1, 129}, F32, "ba", F32, "ab", 0, "simd"},
    {SUM, 2, {3, 40000}, {3, 1}, F32, "ab", F32, "ab", 0, "simd"},
    {SUM, 2, {5000, 17}, {1, 17}, F32, "ab", F32, "ab", 0, "simd"},
    {SUM, 2, {5000, 700}, {1, 700}, F32, "ab", F32, "ab", 0, "simd"},
    {SUM, 1, {200001}, {1}, F32, "a", F32, "a", 0, "simd"},
    {SUM, 1, {1 << 17}, {1}, dnnl_tp_bf16, "a", F32, "a", 0, "simd"},
    {MEAN, 3, {4, 300, 65}, {4, 1, 65}, F32, "abc", F32, "abc", 0, "simd"},
    {MEAN, 4, {2, 19, 7, 5}, {2, 19, 1, 1}, F32, "abcd", F32, "abcd", 0, "simd"},
    {MEAN, 4, {2, 19, 7, 5}, {2, 19, 1, 1}, F32, "acdb", F32, "acdb", 0, "simd"},
    {MEAN, 4, {2, 19, 7, 5}, {2, 19, 1, 1}, F32, "aBcd16b", F32, "aBcd16b", 0, "simd"},
    {SUM, 4, {2, 19, 7, 5}, {2, 1, 7, 5}, F32, "aBcd16b", F32, "abcd", 0, "simd"},
    {MAX, 4, {2, 19, 7, 5}, {2, 1, 7, 5}, F32, "aBcd16b", F32, "abcd", 0, "ref"},
    {MAX, 4, {2, 32, 7, 5}, {2, 1, 7, 5}, F32, "aBcd16b", F32, "abcd", 0, "simd"},
    {SUM, 4, {3, 8, 6, 11}, {1, 8, 1, 11}, F32, "abcd", F32, "abcd", 0, "simd"},
    {SUM, 4, {3, 8, 6, 11}, {3, 1, 6, 1}, F32, "abcd", F32, "dcba", 0, "simd"},
    {MAX, 2, {37, 129}, {37, 1}, F32, "ab", F32, "ab", 0, "simd"},
    {MAX, 2, {37, 3}, {37, 1}, F32, "ab", F32, "ab", 0, "simd"},
    {MIN, 2, {37, 129}, {1, 129}, F32, "ab", F32, "ab", 0, "simd"},
    {MIN, 2, {9, 7}, {9, 1}, F32, "ab", F32, "ab", 0, "simd"},
    {MUL, 2, {37, 19}, {37, 1}, F32, "ab", F32, "ab", 0, "simd"},
    {MUL, 2, {7, 33}, {1, 33}, F32, "ab", F32, "ab", 0, "simd"},
    {dnnl_tp_reduction_norm_lp_max, 1.f, 0.5f, 2, {20, 30}, {20, 1}, F32, "ab", F32, "ab", 0, "simd"},
    {dnnl_tp_reduction_norm_lp_max, 2.f, 1e-3f, 2, {20, 30}, {1, 30}, F32, "ab", F32, "ab", 0, "simd"},
    {dnnl_tp_reduction_norm_lp_sum, 2.f, 1e-3f, 2, {20, 30}, {20, 1}, F32, "ab", F32, "ab", 0, "simd"},
    {dnnl_tp_reduction_norm_lp_sum, 3.f, 1e-3f, 2, {20, 30}, {20, 1}, F32, "ab", F32, "ab", 0, "simd"},
    {dnnl_tp_reduction_norm_lp_power_p_max,
     1.5f,
     1e-3f,
     2,
     {20, 30},
     {1, 30},
     F32,
     "ab",
     F32,
     "ab",
     0,
     "simd"},
    {dnnl_tp_reduction_norm_lp_power_p_sum, 2.f, 1.f, 2, {20, 30}, {1, 1}, F32, "ab", F32, "ab", 0, "simd"},
    {SUM, 2, {20, 30}, {20, 1}, dnnl_tp_s8, "ab", dnnl_tp_s32, "ab", 0, "simd"},
    {SUM, 2, {20, 30}, {1, 30}, dnnl_tp_u8, "ab", dnnl_tp_s32, "ba", 0, "simd"},
    {MAX, 2, {20, 30}, {1, 30}, dnnl_tp_u8, "ab", dnnl_tp_u8, "ab", 0, "simd"},
    {MEAN, 2, {20, 30}, {20, 1}, dnnl_tp_bf16, "ab", dnnl_tp_bf16, "ab", 0, "simd"},
    {MEAN, 2, {20, 30}, {20, 1}, dnnl_tp_f16, "ba", F32, "ab", 0, "simd"},
    {SUM, 3, {6, 20, 30}, {6, 1, 30}, F32, "abc", F32, "abc", 1, "simd"},
    {MEAN, 3, {6, 20, 30}, {6, 20, 1}, F32, "abc", dnnl_tp_bf16, "abc", 1, "simd"},
    {MAX, 4, {2, 19, 7, 5}, {2, 19, 1, 1}, F32, "aBcd16b", F32, "aBcd16b", 1, "simd"},
    {SUM, 2, {0, 5}, {1, 5}, F32, "ab", F32, "ab", 0, "ref"},
};

static double combine(const case_t *c, double acc, double x) {
    switch (c->alg) {
    case dnnl_tp_reduction_max: return fmax(acc, x);
    case dnnl_tp_reduction_min: return fmin(acc, x);
    case dnnl_tp_reduction_mul: return acc * x;
    case dnnl_tp_reduction_sum:
    case dnnl_tp_reduction_mean: return acc + x;
    default: return acc + pow(fabs(x), (double)c->p);
    }
}

static double finish(const case_t *c, double acc, double count) {
    switch (c->alg) {
    case dnnl_tp_reduction_mean: return acc / count;
    case dnnl_tp_reduction_norm_lp_max: return pow(fmax(acc, (double)c->eps), 1. / (double)c->p);
    case dnnl_tp_reduction_norm_lp_sum: return pow(acc + (double)c->eps, 1. / (double)c->p);
    case dnnl_tp_reduction_norm_lp_power_p_max: return fmax(acc, (double)c->eps);
    case dnnl_tp_reduction_norm_lp_power_p_sum: return acc + (double)c->eps;
    default: return acc;
    }
}

typedef struct {
    tensor_t src, dst, old, add;
    double *acc, *mag;
    double count;
} data_t;

static int64_t linear(const dtp_md_t *md, const int64_t *pos) {
    int64_t l = 0;
    for (int d = 0; d < md->ndims; ++d) l = l * md->dims[d] + (md->dims[d] == 1 ? 0 : pos[d]);
    return l;
}

static void reference(const case_t *c, data_t *d) {
    const size_t n = (size_t)dtp_md_nelems(&d->dst.md);
    d->acc = malloc(n * sizeof(double));
    d->mag = calloc(n, sizeof(double));
    d->count = (double)dtp_md_nelems(&d->src.md) / (double)n;
    for (size_t i = 0; i < n; ++i)
        d->acc[i] = c->alg == dnnl_tp_reduction_max   ? -INFINITY
                    : c->alg == dnnl_tp_reduction_min ? INFINITY
                    : c->alg == dnnl_tp_reduction_mul ? 1
                                                      : 0;
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    if (dtp_md_nelems(&d->src.md) == 0) return;
    do {
        const double x = tensor_get(&d->src, pos);
        const int64_t l = linear(&d->dst.md, pos);
        d->acc[l] = combine(c, d->acc[l], x);
        d->mag[l] += fabs(combine(c, 0, x));
    } while (tensor_next(&d->src.md, pos));
}

static void check(const case_t *c, const data_t *d, const char *place) {
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    do {
        const int64_t l = linear(&d->dst.md, pos);
        double want = finish(c, d->acc[l], d->count);
        const bool exact = c->alg == dnnl_tp_reduction_max || c->alg == dnnl_tp_reduction_min;
        /* f32 sums of n terms in up to 64 lanes and shards. */
        double err =
            exact ? 0
                  : 1.2e-7 * (8 + sqrt(d->count)) *
                        (c->alg == dnnl_tp_reduction_mul ? fabs(want) : finish(c, d->mag[l], d->count));
        if (c->post) {
            want = fmax(want, 0);
            want += 0.5 * tensor_get(&d->old, pos);
            want += tensor_get_bcast(&d->add, pos);
            err += 1e-6 * (fabs(want) + 10);
            if (want < 0) want *= tensor_get_bcast(&d->add, pos), err *= 5;
        }
        const double got = tensor_get(&d->dst, pos);
        if (!rounds_near(c->ddt, got, want, err))
            fail_msg("%s: alg %x %s: at %lld,%lld got %.9g, want %.9g +- %.3g", place, (unsigned)c->alg,
                     c->slayout, (long long)pos[0], (long long)pos[1], got, want, err);
    } while (tensor_next(&d->dst.md, pos));
}

static void run_case(const case_t *c, uint64_t stream) {
    test_rng_t r = test_rng(stream);
    data_t d;
    tensor_layout(&d.src, c->ndims, c->sdims, c->sdt, c->slayout);
    tensor_layout(&d.dst, c->ndims, c->ddims, c->ddt, c->dlayout);
    tensor_layout(&d.old, c->ndims, c->ddims, c->ddt, c->dlayout);
    if (c->alg == dnnl_tp_reduction_mul) tensor_fill(&d.src, &r, 0.5f, 1.5f, false);
    else tensor_fill(&d.src, &r, c->sdt == dnnl_tp_u8 ? 0.f : -10.f, 10.f, c->sdt > dnnl_tp_f32);
    tensor_fill(&d.old, &r, -5.f, 5.f, true);
    int64_t adims[5];
    for (int k = 0; k < c->ndims; ++k) adims[k] = k == c->ndims - 1 ? c->ddims[k] : 1;
    dtp_md_t amd;
    CHECK_OK(dtp_md_init_strides(&amd, c->ndims, adims, F32, NULL));
    tensor_init(&d.add, &amd);
    tensor_fill(&d.add, &r, -5.f, 5.f, false);
    reference(c, &d);
    dnnl_tp_primitive_attr_t attr = NULL;
    if (c->post) {
        dnnl_tp_post_ops_t po;
        CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
        CHECK_OK(dnnl_tp_post_ops_create(&po));
        CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_relu, 0.f, 0.f));
        CHECK_OK(dnnl_tp_post_ops_append_sum(po, 0.5f, 0, dnnl_tp_data_type_undef));
        CHECK_OK(dnnl_tp_post_ops_append_binary(po, dnnl_tp_binary_add, &d.add.md));
        CHECK_OK(dnnl_tp_post_ops_append_prelu(po, 1 << (c->ndims - 1)));
        CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
        CHECK_OK(dnnl_tp_post_ops_destroy(po));
    }
    int n;
    const place_t *at = places(&n);
    unsigned char *first = NULL;
    for (int i = 0; i < n; ++i) {
        dnnl_tp_primitive_desc_t pd;
        if (!has_impl(at[i].engine, dnnl_tp_reduction_primitive_desc_create(
                                        &pd, at[i].engine, c->alg, &d.src.md, &d.dst.md, c->p, c->eps, attr)))
            continue;
        check_impl(pd, c->impl, c->slayout);
        if (c->post) memcpy(d.dst.data, d.old.data, d.dst.bytes);
        else tensor_blank(&d.dst);
        const dnnl_tp_exec_handle_t args[] = {
            {DNNL_TP_ARG_SRC, d.src.data},
            {DNNL_TP_ARG_DST, d.dst.data},
            {DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(2) | DNNL_TP_ARG_SRC_1, d.add.data},
            {DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(3) | DNNL_TP_ARG_WEIGHTS, d.add.data},
        };
        CHECK_OK(run_pd(&at[i], pd, c->post ? 4 : 2, args));
        tensor_check(&d.dst, at[i].name);
        if (at[i].threads == 1) check(c, &d, at[i].name);
        check_same_bits(&at[i], &d.dst, &first, c->slayout);
    }
    free(first);
    free(d.acc);
    free(d.mag);
    if (attr) CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    tensor_free(&d.src);
    tensor_free(&d.dst);
    tensor_free(&d.old);
    tensor_free(&d.add);
}

static void table(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) run_case(&cases[i], i);
}

/* Every subset of dims of random shapes, layouts and types. */
static void random_cases(void **state) {
    (void)state;
    static const char *const layouts[] = {"abcd", "acdb", "dcba", "aBcd16b", "bacd", "cdab"};
    static const dnnl_tp_data_type_t types[] = {F32, F32, dnnl_tp_bf16, dnnl_tp_s8};
    test_rng_t r = test_rng(17);
    for (int k = 0; k < 90; ++k) {
        case_t c = {.alg = dnnl_tp_reduction_max + (int)(test_rand(&r) % 5),
                    .ndims = 4,
                    .ddt = F32,
                    .post = k % 4 == 0};
        if (c.alg == dnnl_tp_reduction_mul) c.alg = dnnl_tp_reduction_mean;
        unsigned keep = (unsigned)(k % 15);
        for (int d = 0; d < 4; ++d) {
            c.sdims[d] = 2 + (int64_t)(test_rand(&r) % (d == 1 ? 33 : 9));
            c.ddims[d] = keep >> d & 1 ? c.sdims[d] : 1;
        }
        c.sdt = types[test_rand(&r) % 4];
        c.slayout = layouts[test_rand(&r) % 6];
        c.dlayout = layouts[test_rand(&r) % 6];
        run_case(&c, (uint64_t)(500 + k));
    }
}

static void specials(void **state) {
    (void)state;
    const int64_t sdims[] = {3, 50}, ddims[] = {3, 1};
    int n;
    const place_t *at = places(&n);
    for (int i = 0; i < n; ++i)
        for (int a = 0; a < 3; ++a) {
            static const dnnl_tp_alg_kind_t algs[] = {dnnl_tp_reduction_sum, dnnl_tp_reduction_mean,
                                                      dnnl_tp_reduction_max};
            tensor_t src, dst;
            test_rng_t r = test_rng(1);
            tensor_layout(&src, 2, sdims, F32, "ab");
            tensor_layout(&dst, 2, ddims, F32, "ab");
            tensor_fill(&src, &r, -1.f, 1.f, false);
            tensor_set(&src, (int64_t[]){0, 31}, INFINITY);
            tensor_set(&src, (int64_t[]){1, 49}, -INFINITY);
            if (a < 2) tensor_set(&src, (int64_t[]){2, 7}, NAN);
            dnnl_tp_primitive_desc_t pd;
            CHECK_OK(dnnl_tp_reduction_primitive_desc_create(&pd, at[i].engine, algs[a], &src.md, &dst.md,
                                                             0.f, 0.f, NULL));
            const dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, src.data}, {DNNL_TP_ARG_DST, dst.data}};
            CHECK_OK(run_pd(&at[i], pd, 2, args));
            assert_true(tensor_get(&dst, (int64_t[]){0, 0}) == INFINITY);
            if (a < 2) {
                assert_true(tensor_get(&dst, (int64_t[]){1, 0}) == -INFINITY);
                assert_true(isnan(tensor_get(&dst, (int64_t[]){2, 0})));
            }
            tensor_free(&src);
            tensor_free(&dst);
        }
}

/* As graphs ask for it: max and min of a set with NaN are NaN. Row i has its NaN in column i, and the row behind has none. */
static void nan_stays(void **state) {
    (void)state;
    enum { LONGEST = 70 };
    static const dnnl_tp_data_type_t types[] = {dnnl_tp_f32, dnnl_tp_bf16, dnnl_tp_f16};
    int n;
    const place_t *at = places(&n);
    for (int64_t size = 2; size <= LONGEST; size += size < 20 ? 1 : 3)
        for (int k = 0; k < 3 * 2 * 2; ++k) {
            const int axis = k & 1, largest = k >> 1 & 1;
            const dnnl_tp_data_type_t type = types[k >> 2];
            int64_t sdims[2], ddims[2], pos[2];
            sdims[axis] = size, sdims[!axis] = ddims[!axis] = size + 1, ddims[axis] = 1;
            tensor_t src, dst;
            test_rng_t r = test_rng((uint64_t)size);
            tensor_layout(&src, 2, sdims, type, "ab");
            tensor_layout(&dst, 2, ddims, F32, "ab");
            tensor_fill(&src, &r, -1.f, 1.f, false);
            for (int64_t i = 0; i < size; ++i) {
                pos[axis] = pos[!axis] = i;
                tensor_set(&src, pos, NAN);
            }
            for (int p = 0; p < n; ++p) {
                if (at[p].threads != 1 && at[p].threads != 3) continue;
                dtp_reduction_desc_t op = {.alg = largest ? dnnl_tp_reduction_max : dnnl_tp_reduction_min,
                                           .keeps_nan = 1,
                                           .src = src.md,
                                           .dst = dst.md};
                op.base.kind = dnnl_tp_reduction;
                dnnl_tp_primitive_desc_t pd;
                if (!has_impl(at[p].engine, dtp_pd_create(&pd, at[p].engine, &op.base, sizeof op, NULL)))
                    continue;
                const dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, src.data},
                                                      {DNNL_TP_ARG_DST, dst.data}};
                CHECK_OK(run_pd(&at[p], pd, 2, args));
                for (int64_t i = 0; i <= size; ++i) {
                    pos[axis] = 0, pos[!axis] = i;
                    if (isnan(tensor_get(&dst, pos)) != (i < size))
                        fail_msg("%s: %s along axis %d of %lld: result %lld is %g", at[p].name,
                                 largest ? "max" : "min", axis, (long long)size, (long long)i,
                                 tensor_get(&dst, pos));
                }
            }
            tensor_free(&src);
            tensor_free(&dst);
        }
}

static void refusals(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    const int64_t dims[] = {4, 6}, one[] = {4, 1};
    dtp_md_t s, d, i32;
    dnnl_tp_primitive_desc_t pd;
    CHECK_OK(dtp_md_init_layout(&s, 2, dims, F32, "ab"));
    CHECK_OK(dtp_md_init_layout(&d, 2, one, F32, "ab"));
    CHECK_OK(dtp_md_init_layout(&i32, 2, dims, dnnl_tp_s32, "ab"));
    CHECK_STATUS(dnnl_tp_reduction_primitive_desc_create(&pd, at->engine, dnnl_tp_reduction_sum, &s, &s, 0.f,
                                                         0.f, NULL),
                 dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_reduction_primitive_desc_create(&pd, at->engine, dnnl_tp_reduction_norm_lp_sum, &s,
                                                         &d, 0.5f, 0.f, NULL),
                 dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_reduction_primitive_desc_create(&pd, at->engine, dnnl_tp_reduction_sum, &i32, &d,
                                                         0.f, 0.f, NULL),
                 dnnl_tp_unimplemented);
    assert_int_equal(dtp_last_reason(), DTP_NO_IMPL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(table), cmocka_unit_test(random_cases),
                                       cmocka_unit_test(specials), cmocka_unit_test(nan_stays),
                                       cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
