/* Binary operations against a double-precision reference: algorithms, broadcasts of both sources, layouts,
 * types, scales, post-operations, in place; on every instruction set and thread count, bit-equal over
 * threads. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/layout.h"
#include "support/tensor.h"

enum {
    POST_RELU = 1,
    POST_SUM = 2,
    POST_ADD_COL = 4,
    POST_MUL_FULL = 8,
    POST_SELECT = 16,
    POST_PRELU = 32,
    POST_FLOOR = 64
};

typedef struct {
    dnnl_tp_alg_kind_t alg;
    int ndims;
    int64_t dims0[5], dims1[5];
    dnnl_tp_data_type_t dt0, dt1, ddt;
    const char *layout0, *layout1, *dlayout;
    int post, scales; /* scales: bit 0 src0, bit 1 src1 */
    int in_place;     /* bit 0: dst lies in the place of src0, bit 1: of src1 */
    const char *impl;
} case_t;

#define F32 dnnl_tp_f32
#define ADD dnnl_tp_binary_add
#define ALLF F32, F32, F32

static const case_t cases[] = {
    {ADD, 1, {1}, {1}, ALLF, "a", "a", "a", 0, 0, false, "simd"},
    {ADD, 2, {33, 130}, {33, 130}, ALLF, "ab", "ab", "ab", 0, 0, false, "simd"},
    {ADD, 2, {33, 130}, {33, 130}, ALLF, "ab", "ab", "ab", 0, 0, true, "simd"},
    {ADD, 2, {33, 130}, {1, 130}, ALLF, "ab", "ab", "ab", 0, 0, false, "simd"},
    {ADD, 2, {33, 130}, {33, 1}, ALLF, "ab", "ab", "ab", 0, 0, false, "simd"},
    {ADD, 2, {33, 130}, {1, 1}, ALLF, "ab", "ab", "ab", 0, 0, true, "simd"},
    {dnnl_tp_binary_sub, 2, {1, 130}, {33, 1}, ALLF, "ab", "ab", "ab", 0, 0, false, "simd"},
    {dnnl_tp_binary_div, 2, {1, 1}, {33, 17}, ALLF, "ab", "ab", "ab", 0, 0, false, "simd"},
    {dnnl_tp_binary_mul, 2, {33, 37}, {33, 37}, ALLF, "ab", "ba", "ab", 0, 0, false, "simd"},
    {dnnl_tp_binary_mul, 2, {33, 37}, {33, 37}, ALLF, "ab", "ab", "ba", 0, 0, false, "simd"},
    {ADD, 4, {2, 19, 5, 7}, {2, 19, 5, 7}, ALLF, "aBcd16b", "aBcd16b", "aBcd16b", 0, 0, false, "simd"},
    {ADD, 4, {2, 19, 5, 7}, {2, 19, 5, 7}, ALLF, "aBcd16b", "abcd", "aBcd16b", 0, 0, false, "simd"},
    {ADD, 4, {2, 19, 5, 7}, {1, 19, 1, 1}, ALLF, "aBcd16b", "abcd", "aBcd16b", POST_RELU, 0, false, "simd"},
    {ADD, 4, {2, 19, 5, 7}, {2, 1, 5, 1}, ALLF, "acdb", "abcd", "acdb", 0, 0, false, "simd"},
    {ADD, 4, {2, 19, 5, 7}, {1, 1, 1, 7}, ALLF, "abcd", "abcd", "abcd", 0, 0, false, "simd"},
    {dnnl_tp_binary_max, 2, {9, 21}, {9, 21}, ALLF, "ab", "ab", "ab", POST_SUM, 0, false, "simd"},
    {dnnl_tp_binary_min,
     2,
     {9, 21},
     {1, 21},
     ALLF,
     "ab",
     "ab",
     "ab",
     POST_RELU | POST_SUM | POST_ADD_COL,
     3,
     false,
     "simd"},
    {dnnl_tp_binary_sub, 2, {9, 21}, {9, 21}, ALLF, "ab", "ab", "ab", POST_PRELU, 0, false, "simd"},
    {dnnl_tp_binary_ge, 2, {9, 21}, {9, 21}, ALLF, "ab", "ab", "ab", 0, 0, false, "simd"},
    {dnnl_tp_binary_gt,
     2,
     {9, 21},
     {9, 1},
     dnnl_tp_s8,
     dnnl_tp_s8,
     dnnl_tp_u8,
     "ab",
     "ab",
     "ab",
     0,
     0,
     false,
     "simd"},
    {dnnl_tp_binary_le, 2, {9, 21}, {1, 21}, dnnl_tp_u8, F32, F32, "ab", "ab", "ab", 0, 0, false, "simd"},
    {dnnl_tp_binary_lt, 2, {9, 21}, {9, 21}, ALLF, "ab", "ab", "ab", 0, 1, false, "simd"},
    {dnnl_tp_binary_eq,
     2,
     {9, 21},
     {9, 21},
     dnnl_tp_s8,
     dnnl_tp_u8,
     F32,
     "ab",
     "ab",
     "ab",
     0,
     0,
     false,
     "simd"},
    {dnnl_tp_binary_ne,
     2,
     {9, 21},
     {9, 21},
     dnnl_tp_s8,
     dnnl_tp_u8,
     dnnl_tp_s32,
     "ab",
     "ab",
     "ba",
     0,
     0,
     false,
     "simd"},
    {dnnl_tp_binary_select, 2, {9, 21}, {9, 21}, ALLF, "ab", "ab", "ab", 0, 0, false, "simd"},
    {dnnl_tp_binary_select,
     2,
     {9, 21},
     {1, 21},
     dnnl_tp_bf16,
     F32,
     F32,
     "ab",
     "ab",
     "ab",
     POST_SELECT | POST_RELU,
     0,
     false,
     "simd"},
    {ADD,
     2,
     {33, 130},
     {33, 130},
     dnnl_tp_bf16,
     dnnl_tp_bf16,
     dnnl_tp_bf16,
     "ab",
     "ab",
     "ab",
     0,
     0,
     true,
     "simd"},
    {ADD,
     2,
     {33, 130},
     {1, 130},
     dnnl_tp_s8,
     F32,
     dnnl_tp_s8,
     "ab",
     "ab",
     "ab",
     POST_MUL_FULL,
     3,
     true,
     "simd"},
    {ADD,
     3,
     {5, 1, 40},
     {5, 6, 40},
     dnnl_tp_f16,
     dnnl_tp_bf16,
     F32,
     "abc",
     "abc",
     "abc",
     POST_MUL_FULL | POST_ADD_COL,
     2,
     false,
     "simd"},
    {dnnl_tp_binary_mul, 2, {700, 900}, {700, 900}, ALLF, "ab", "ab", "ab", 0, 0, false, "simd"},
    {dnnl_tp_binary_mul, 2, {300, 70}, {300, 1}, ALLF, "ab", "ab", "ab", POST_RELU, 1, true, "simd"},
    {ADD, 2, {48, 5}, {48, 5}, ALLF, "Ab16a", "ab", "Ab6a", 0, 0, false, "ref"},
    {ADD, 2, {0, 5}, {0, 5}, ALLF, "ab", "ab", "ab", 0, 0, false, NULL},
};

typedef struct {
    tensor_t src0, src1, src2, dst, old, col, full, cond, scale0, scale1;
} data_t;

static double apply(dnnl_tp_alg_kind_t alg, double a, double b, double c) {
    switch (alg) {
    case dnnl_tp_binary_add: return a + b;
    case dnnl_tp_binary_mul: return a * b;
    case dnnl_tp_binary_max: return a > b ? a : b;
    case dnnl_tp_binary_min: return a < b ? a : b;
    case dnnl_tp_binary_div: return a / b;
    case dnnl_tp_binary_sub: return a - b;
    case dnnl_tp_binary_ge: return a >= b;
    case dnnl_tp_binary_gt: return a > b;
    case dnnl_tp_binary_le: return a <= b;
    case dnnl_tp_binary_lt: return a < b;
    case dnnl_tp_binary_eq: return a == b;
    case dnnl_tp_binary_ne: return a != b;
    default: return c != 0 ? a : b;
    }
}

static void check(const case_t *c, const data_t *d, const char *place) {
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    if (dtp_md_nelems(&d->dst.md) == 0) return;
    do {
        double a = tensor_get_bcast(&d->src0, pos), b = tensor_get_bcast(&d->src1, pos);
        if (c->scales & 1) a = (float)(a * tensor_get_bcast(&d->scale0, pos));
        if (c->scales & 2) b = (float)(b * tensor_get_bcast(&d->scale1, pos));
        double x = apply(c->alg, a, b, tensor_get_bcast(&d->src2, pos)), mag = fabs(a) + fabs(b) + fabs(x);
        if (c->post & POST_RELU) x = x > 0 ? x : 0.25 * x;
        if (c->post & POST_SUM) {
            x += 0.5 * tensor_get(&d->old, pos);
            mag += fabs(tensor_get(&d->old, pos));
        }
        if (c->post & POST_ADD_COL)
            x += tensor_get_bcast(&d->col, pos), mag += fabs(tensor_get_bcast(&d->col, pos));
        if (c->post & POST_MUL_FULL) {
            const double m = tensor_get(&d->full, pos);
            x *= m;
            mag *= fabs(m) + 1;
        }
        if (c->post & POST_SELECT)
            x = tensor_get_bcast(&d->cond, pos) != 0 ? x : tensor_get_bcast(&d->col, pos);
        if ((c->post & POST_PRELU) && x < 0) x *= tensor_get_bcast(&d->col, pos), mag *= 5;
        if (c->post & POST_FLOOR) x = x > 0 ? x : 0;
        const double got = tensor_get(&d->dst, pos),
                     err = c->post == 0 && c->scales == 0 ? 6e-8 * fabs(x) : 6e-7 * mag;
        if (!rounds_near(c->ddt, got, x, err))
            fail_msg("%s: alg %x %s %s -> %s: at %lld,%lld got %.9g, want %.9g", place, (unsigned)c->alg,
                     c->layout0, c->layout1, c->dlayout, (long long)pos[0], (long long)pos[1], got, x);
    } while (tensor_next(&d->dst.md, pos));
}

static void plain(tensor_t *t, int ndims, const int64_t *dims, dnnl_tp_data_type_t dt) {
    dtp_md_t md;
    CHECK_OK(dtp_md_init_strides(&md, ndims, dims, dt, NULL));
    tensor_init(t, &md);
}

static void run_case(const case_t *c, uint64_t stream) {
    test_rng_t r = test_rng(stream);
    data_t d;
    int64_t dims[5], ones[5], last[5];
    for (int k = 0; k < c->ndims; ++k) {
        dims[k] = c->dims0[k] == 1 ? c->dims1[k] : c->dims0[k];
        ones[k] = 1;
        last[k] = k == c->ndims - 1 ? dims[k] : 1;
    }
    const bool whole0 = c->dt0 > F32, whole1 = c->dt1 > F32;
    tensor_layout(&d.src0, c->ndims, c->dims0, c->dt0, c->layout0);
    tensor_layout(&d.src1, c->ndims, c->dims1, c->dt1, c->layout1);
    tensor_layout(&d.dst, c->ndims, dims, c->ddt, c->dlayout);
    tensor_layout(&d.old, c->ndims, dims, c->ddt, c->dlayout);
    plain(&d.src2, c->ndims, last, dnnl_tp_s8);
    plain(&d.col, c->ndims, last, F32);
    plain(&d.full, c->ndims, dims, dnnl_tp_bf16);
    plain(&d.cond, c->ndims, last, dnnl_tp_s8);
    plain(&d.scale0, c->ndims, ones, F32);
    plain(&d.scale1, c->ndims, ones, F32);
    tensor_fill(&d.src0, &r, c->dt0 == dnnl_tp_u8 ? 0.f : -4.f, 5.f, whole0);
    tensor_fill(&d.src1, &r,
                c->alg == dnnl_tp_binary_div ? 0.5f
                : c->dt1 == dnnl_tp_u8       ? 0.f
                                             : -4.f,
                5.f, whole1);
    tensor_fill(&d.src2, &r, 0.f, 2.f, true);
    tensor_fill(&d.cond, &r, 0.f, 2.f, true);
    tensor_fill(&d.old, &r, -4.f, 4.f, true);
    tensor_fill(&d.col, &r, -4.f, 4.f, false);
    tensor_fill(&d.full, &r, -2.f, 2.f, false);
    tensor_fill(&d.scale0, &r, 0.5f, 2.f, false);
    tensor_fill(&d.scale1, &r, 0.5f, 2.f, false);
    const tensor_t *under = c->in_place & 1 ? &d.src0 : &d.src1; /* what dst holds before */
    if (c->in_place == 3) memcpy(d.src1.data, d.src0.data, d.src0.bytes);
    if (c->in_place) memcpy(d.old.data, under->data, d.old.bytes);
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_post_ops_t po;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    if (c->scales & 1) CHECK_OK(dnnl_tp_primitive_attr_set_scales_mask(attr, DNNL_TP_ARG_SRC_0, 0));
    if (c->scales & 2) CHECK_OK(dnnl_tp_primitive_attr_set_scales_mask(attr, DNNL_TP_ARG_SRC_1, 0));
    dnnl_tp_exec_handle_t args[16] = {
        {DNNL_TP_ARG_SRC_0, d.src0.data},
        {DNNL_TP_ARG_SRC_1, d.src1.data},
        {DNNL_TP_ARG_SRC_2, d.src2.data},
        {DNNL_TP_ARG_DST, d.dst.data},
        {DNNL_TP_ARG_ATTR_SCALES | DNNL_TP_ARG_SRC_0, d.scale0.data},
        {DNNL_TP_ARG_ATTR_SCALES | DNNL_TP_ARG_SRC_1, d.scale1.data},
    };
    int nargs = 6, k = 0;
    if (c->post & POST_RELU)
        CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_relu, 0.25f, 0.f)), ++k;
    if (c->post & POST_SUM) CHECK_OK(dnnl_tp_post_ops_append_sum(po, 0.5f, 0, dnnl_tp_data_type_undef)), ++k;
    if (c->post & POST_ADD_COL) {
        CHECK_OK(dnnl_tp_post_ops_append_binary(po, ADD, &d.col.md));
        args[nargs++] =
            (dnnl_tp_exec_handle_t){DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(k++) | DNNL_TP_ARG_SRC_1, d.col.data};
    }
    if (c->post & POST_MUL_FULL) {
        CHECK_OK(dnnl_tp_post_ops_append_binary(po, dnnl_tp_binary_mul, &d.full.md));
        args[nargs++] =
            (dnnl_tp_exec_handle_t){DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(k++) | DNNL_TP_ARG_SRC_1, d.full.data};
    }
    if (c->post & POST_SELECT) {
        CHECK_OK(dnnl_tp_post_ops_append_binary_v2(po, dnnl_tp_binary_select, &d.col.md, &d.cond.md));
        args[nargs++] =
            (dnnl_tp_exec_handle_t){DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(k) | DNNL_TP_ARG_SRC_1, d.col.data};
        args[nargs++] =
            (dnnl_tp_exec_handle_t){DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(k) | DNNL_TP_ARG_SRC_2, d.cond.data};
    }
    if (c->post & POST_PRELU) {
        CHECK_OK(dnnl_tp_post_ops_append_prelu(po, 1 << (c->ndims - 1)));
        args[nargs++] =
            (dnnl_tp_exec_handle_t){DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(k) | DNNL_TP_ARG_WEIGHTS, d.col.data};
    }
    if (c->post & POST_FLOOR) CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_relu, 0.f, 0.f));
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
    int n;
    const place_t *at = places(&n);
    unsigned char *first = NULL;
    for (int i = 0; i < n; ++i) {
        dnnl_tp_primitive_desc_t pd;
        const dtp_md_t *src2 = c->alg == dnnl_tp_binary_select ? &d.src2.md : NULL;
        if (!has_impl(at[i].engine,
                      dnnl_tp_binary_primitive_desc_create_v2(&pd, at[i].engine, c->alg, &d.src0.md,
                                                              &d.src1.md, src2, &d.dst.md, attr)))
            continue;
        check_impl(pd, c->impl, c->layout0);
        tensor_blank(&d.dst);
        if (c->in_place || c->post & POST_SUM) memcpy(d.dst.data, d.old.data, d.dst.bytes);
        args[0].handle = c->in_place & 1 ? d.dst.data : d.src0.data;
        args[1].handle = c->in_place & 2 ? d.dst.data : d.src1.data;
        CHECK_OK(run_pd(&at[i], pd, nargs, args));
        tensor_check(&d.dst, at[i].name);
        if (at[i].threads == 1) check(c, &d, at[i].name);
        check_same_bits(&at[i], &d.dst, &first, c->layout0);
    }
    free(first);
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    tensor_t *all[] = {&d.src0, &d.src1, &d.src2, &d.dst,    &d.old,
                       &d.col,  &d.full, &d.cond, &d.scale0, &d.scale1};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) tensor_free(all[i]);
}

static void table(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) run_case(&cases[i], i);
}

/* Columns that are scaled, shifted and cut off at 0: in registers where their types and layouts allow it. */
static void by_columns(void **state) {
    (void)state;
    static const dnnl_tp_data_type_t types[] = {F32, dnnl_tp_bf16, dnnl_tp_f16};
    uint64_t stream = 900;
    for (int t = 0; t < 3; ++t)
        for (int64_t rows = 1; rows <= 50; rows += rows < 8 ? 1 : 41)
            for (int64_t cols = 1; cols <= 300; cols = cols * 2 + stream % 2) {
                case_t c = {.alg = dnnl_tp_binary_mul,
                            .ndims = 2,
                            .dims0 = {rows, cols},
                            .dims1 = {1, cols},
                            .dt0 = types[t],
                            .dt1 = F32,
                            .ddt = types[t],
                            .layout0 = "ab",
                            .layout1 = "ab",
                            .dlayout = "ab",
                            .post = POST_ADD_COL | (stream % 3 ? POST_FLOOR : 0),
                            .in_place = stream % 5 == 0,
                            .impl = "simd"};
                run_case(&c, ++stream);
            }
    case_t large = {dnnl_tp_binary_mul, 4, {1, 70, 40, 41}, {1, 70, 1, 1}, ALLF, "acdb", "acdb", "acdb",
                    POST_FLOOR,         0, false,           "simd"};
    large.dt0 = large.ddt = dnnl_tp_bf16;
    run_case(&large, ++stream);
}

static void random_cases(void **state) {
    (void)state;
    static const char *const layouts[] = {"abcd", "acdb", "dcba", "aBcd16b", "bacd", "aBcd8b"};
    static const dnnl_tp_data_type_t types[] = {F32,         F32,        F32,        dnnl_tp_bf16,
                                                dnnl_tp_f16, dnnl_tp_s8, dnnl_tp_u8, dnnl_tp_s32};
    test_rng_t r = test_rng(23);
    for (int k = 0; k < 120; ++k) {
        case_t c = {.alg = ADD + k % 12, .ndims = 4, .impl = "simd"};
        for (int d = 0; d < 4; ++d) {
            c.dims0[d] = c.dims1[d] = 1 + (int64_t)(test_rand(&r) % (d == 1 ? 33 : 7));
            if (test_rand(&r) % 3 == 0) c.dims1[d] = 1;
            else if (test_rand(&r) % 5 == 0) c.dims0[d] = 1;
        }
        c.dt0 = types[test_rand(&r) % 8];
        c.dt1 = types[test_rand(&r) % 8];
        c.ddt = types[test_rand(&r) % 8];
        c.layout0 = layouts[test_rand(&r) % 6];
        c.layout1 = layouts[test_rand(&r) % 6];
        c.dlayout = layouts[test_rand(&r) % 6];
        c.scales = (int)(test_rand(&r) % 8);
        if (c.scales > 3) c.scales = 0;
        c.post = test_rand(&r) % 3 == 0 ? (int)(test_rand(&r) % 16) : 0;
        /* A comparison of scaled values may flip within one rounding. */
        if (c.alg >= dnnl_tp_binary_ge) c.scales = 0;
        if (c.dt1 == dnnl_tp_u8 || c.dt1 == dnnl_tp_s8 || c.dt1 == dnnl_tp_s32)
            if (c.alg == dnnl_tp_binary_div) c.alg = dnnl_tp_binary_mul;
        run_case(&c, (uint64_t)(700 + k));
    }
}

/* dst in the place of either source, or of both: types of one size, tails, blocks, whatever the other source repeats. */
static void in_place_cases(void **state) {
    (void)state;
    static const char *const layouts[] = {"abcd", "acdb", "dcba", "aBcd16b", "bacd", "aBcd8b"};
    static const dnnl_tp_data_type_t types[3][2] = {
        {F32, dnnl_tp_s32}, {dnnl_tp_bf16, dnnl_tp_f16}, {dnnl_tp_s8, dnnl_tp_u8}};
    test_rng_t r = test_rng(24);
    for (int k = 0; k < 180; ++k) {
        case_t c = {.alg = ADD + k % 12, .ndims = 4, .in_place = 1 + k % 3, .impl = "simd"};
        for (int d = 0; d < 4; ++d) {
            c.dims0[d] = c.dims1[d] = 1 + (int64_t)(test_rand(&r) % (d % 2 ? 37 : 7));
            if (c.in_place != 3 && test_rand(&r) % 3 == 0) (c.in_place == 1 ? c.dims1 : c.dims0)[d] = 1;
        }
        const dnnl_tp_data_type_t *same = types[test_rand(&r) % 3], *other = types[test_rand(&r) % 3];
        c.ddt = same[test_rand(&r) % 2];
        c.dt0 = (c.in_place & 1 ? same : other)[test_rand(&r) % 2];
        c.dt1 = c.in_place == 3 ? c.dt0 : (c.in_place & 2 ? same : other)[test_rand(&r) % 2];
        c.dlayout = layouts[test_rand(&r) % 6];
        c.layout0 = c.in_place & 1 ? c.dlayout : layouts[test_rand(&r) % 6];
        c.layout1 = c.in_place & 2 ? c.dlayout : layouts[test_rand(&r) % 6];
        c.post = test_rand(&r) % 3 == 0 ? (int)(test_rand(&r) % 16) : 0;
        if ((c.in_place & 1 ? c.dt0 : c.dt1) != c.ddt) c.post &= ~POST_SUM; /* bits of another type */
        if (c.alg < dnnl_tp_binary_ge) c.scales = (int)(test_rand(&r) % 4);
        if (c.alg == dnnl_tp_binary_div && (c.dt1 > F32 || c.in_place == 3)) c.alg = dnnl_tp_binary_mul;
        run_case(&c, (uint64_t)(1500 + k));
    }
    case_t large = {ADD, 2, {700, 901}, {700, 901}, ALLF, "ab", "ab", "ab", 0, 0, 2, "simd"};
    run_case(&large, 1700);
    large.post = POST_FLOOR;
    run_case(&large, 1701);
    case_t small = {ADD, 2, {300, 16}, {1, 16}, ALLF, "ab", "ab", "ab", 0, 0, 1, "simd"};
    run_case(&small, 1702);
    case_t swapped = {dnnl_tp_binary_sub, 2, {1, 16}, {300, 16}, ALLF, "ab", "ab", "ab", 0, 0, 2, "simd"};
    run_case(&swapped, 1703);
    case_t reference = {ADD, 2, {48, 5}, {48, 5}, ALLF, "Ab16a", "Ab6a", "Ab6a", 0, 0, 2, "ref"};
    run_case(&reference, 1704);
}

/* The condition of select is an input, too. */
static void condition_in_place(void **state) {
    (void)state;
    enum { ROWS = 5, COLS = 67, N = ROWS * COLS };
    const int64_t dims[] = {ROWS, COLS};
    dtp_md_t md;
    CHECK_OK(dtp_md_init_strides(&md, 2, dims, dnnl_tp_s8, NULL));
    int n;
    const place_t *at = places(&n);
    for (int i = 0; i < n; ++i) {
        int8_t a[N], b[N], dst[N];
        for (int k = 0; k < N; ++k)
            a[k] = (int8_t)(k % 100), b[k] = (int8_t)(-1 - k % 100), dst[k] = k % 3 == 0;
        dnnl_tp_primitive_desc_t pd;
        if (!has_impl(at[i].engine, dnnl_tp_binary_primitive_desc_create_v2(
                                        &pd, at[i].engine, dnnl_tp_binary_select, &md, &md, &md, &md, NULL)))
            continue;
        const dnnl_tp_exec_handle_t args[] = {
            {DNNL_TP_ARG_SRC_0, a}, {DNNL_TP_ARG_SRC_1, b}, {DNNL_TP_ARG_SRC_2, dst}, {DNNL_TP_ARG_DST, dst}};
        CHECK_OK(run_pd(&at[i], pd, 4, args));
        for (int k = 0; k < N; ++k) assert_int_equal(dst[k], k % 3 == 0 ? a[k] : b[k]);
    }
}

/* A chain longer than a box has operands goes to the reference. */
static void long_chain(void **state) {
    (void)state;
    enum { LEN = 20 };
    const int64_t dims[] = {7, 33}, last[] = {1, 33};
    int n;
    const place_t *at = places(&n);
    tensor_t a, b, dst, add;
    test_rng_t r = test_rng(9);
    plain(&a, 2, dims, F32);
    plain(&b, 2, dims, F32);
    plain(&dst, 2, dims, F32);
    plain(&add, 2, last, F32);
    tensor_fill(&a, &r, -4.f, 4.f, true);
    tensor_fill(&b, &r, -4.f, 4.f, true);
    tensor_fill(&add, &r, -4.f, 4.f, true);
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_post_ops_t po;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    dnnl_tp_exec_handle_t args[3 + LEN] = {
        {DNNL_TP_ARG_SRC_0, a.data}, {DNNL_TP_ARG_SRC_1, b.data}, {DNNL_TP_ARG_DST, dst.data}};
    for (int i = 0; i < LEN; ++i) {
        CHECK_OK(dnnl_tp_post_ops_append_binary(po, ADD, &add.md));
        args[3 + i] =
            (dnnl_tp_exec_handle_t){DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(i) | DNNL_TP_ARG_SRC_1, add.data};
    }
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
    for (int i = 0; i < n; ++i) {
        dnnl_tp_primitive_desc_t pd;
        if (!has_impl(at[i].engine, dnnl_tp_binary_primitive_desc_create(&pd, at[i].engine, ADD, &a.md, &b.md,
                                                                         &dst.md, attr)))
            continue;
        check_impl(pd, "ref:any", "a long chain");
        CHECK_OK(run_pd(&at[i], pd, 3 + LEN, args));
        int64_t pos[2] = {0};
        do
            assert_true(tensor_get(&dst, pos) ==
                        tensor_get(&a, pos) + tensor_get(&b, pos) + LEN * tensor_get_bcast(&add, pos));
        while (tensor_next(&dst.md, pos));
    }
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    tensor_free(&a);
    tensor_free(&b);
    tensor_free(&dst);
    tensor_free(&add);
}

static void any_layouts(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    const int64_t dims[] = {2, 20, 3, 3}, one[] = {2, 1, 3, 3};
    dtp_md_t s0, s1, dst, bcast;
    CHECK_OK(dtp_md_init_layout(&s0, 4, dims, F32, "aBcd16b"));
    CHECK_OK(dtp_md_init_tag(&s1, 4, dims, dnnl_tp_bf16, dnnl_tp_format_tag_any));
    CHECK_OK(dtp_md_init_tag(&bcast, 4, one, F32, dnnl_tp_format_tag_any));
    CHECK_OK(dtp_md_init_tag(&dst, 4, dims, F32, dnnl_tp_format_tag_any));
    dnnl_tp_primitive_desc_t pd;
    if (!has_impl(at->engine,
                  dnnl_tp_binary_primitive_desc_create(&pd, at->engine, ADD, &s0, &s1, &dst, NULL)))
        return;
    assert_true(md_matches(dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_exec_arg_md, DNNL_TP_ARG_SRC_1),
                           "aBcd16b"));
    assert_true(md_matches(dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_exec_arg_md, DNNL_TP_ARG_DST),
                           "aBcd16b"));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_binary_primitive_desc_create(&pd, at->engine, ADD, &s0, &bcast, &dst, NULL));
    assert_true(md_matches(dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_exec_arg_md, DNNL_TP_ARG_SRC_1),
                           "abcd"));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(table),
                                       cmocka_unit_test(by_columns),
                                       cmocka_unit_test(random_cases),
                                       cmocka_unit_test(in_place_cases),
                                       cmocka_unit_test(condition_in_place),
                                       cmocka_unit_test(long_chain),
                                       cmocka_unit_test(any_layouts)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
