/* Resampling against a double-precision reference: algorithms, sizes, layouts, types, post-operations; on every
 * instruction set and thread count, bit-equal over threads. NaN and infinities; sizes of zero. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/layout.h"
#include "support/tensor.h"

#define F32 dnnl_tp_f32
#define BF16 dnnl_tp_bf16
#define F16 dnnl_tp_f16
#define S32 dnnl_tp_s32
#define S8 dnnl_tp_s8
#define U8 dnnl_tp_u8

typedef enum { NONE, RELU, SUM, ADD_CHANNEL, SUM_ADD } chain_t;
typedef struct {
    int64_t n, c;
    int spatial;
    int64_t in[3], out[3];
    const char *src, *dst; /* layouts; dst NULL: any */
    dnnl_tp_data_type_t sdt, ddt;
    chain_t chain;
    const char *impl;
} case_t;

#define D1(i, o) \
    1, {i}, { o }
#define D2(h, w, oh, ow) \
    2, {h, w}, { oh, ow }
#define D3(d, h, w, od, oh, ow) \
    3, {d, h, w}, { od, oh, ow }

static const case_t cases[] = {
    /* Channels last: tails of vectors. */
    {2, 1, D2(3, 4, 6, 8), "acdb", "acdb", F32, F32, NONE, "simd"},
    {2, 7, D2(3, 4, 6, 8), "acdb", "acdb", F32, F32, NONE, "simd"},
    {2, 8, D2(5, 4, 3, 9), "acdb", NULL, F32, F32, NONE, "simd"},
    {1, 9, D2(5, 4, 3, 9), "acdb", "acdb", F32, F32, RELU, "simd"},
    {1, 15, D2(7, 7, 7, 7), "acdb", "acdb", F32, F32, NONE, "simd"},
    {1, 16, D2(1, 1, 6, 5), "acdb", "acdb", F32, F32, ADD_CHANNEL, "simd"},
    {3, 17, D2(6, 5, 1, 1), "acdb", "acdb", F32, F32, NONE, "simd"},
    {1, 31, D1(17, 40), "acb", "acb", F32, F32, NONE, "simd"},
    {1, 33, D1(40, 17), "acb", "acb", F32, F32, SUM_ADD, "simd"},
    {2, 65, D3(2, 3, 4, 3, 2, 9), "acdeb", "acdeb", F32, F32, NONE, "simd"},
    {1, 197, D3(3, 2, 5, 6, 4, 10), "acdeb", "acdeb", F32, F32, SUM_ADD, "simd"},
    {1, 64, D2(28, 28, 56, 56), "acdb", "acdb", F32, F32, NONE, "simd"},
    /* Blocks. */
    {2, 19, D2(3, 4, 6, 9), "aBcd16b", "aBcd16b", F32, F32, NONE, "simd"},
    {2, 19, D2(3, 4, 2, 9), "aBcd8b", "aBcd8b", F32, F32, ADD_CHANNEL, "simd"},
    {2, 19, D2(3, 4, 2, 9), "aBcd8b", "aBcd8b", F32, F32, SUM, "simd"},
    {1, 250, D2(3, 4, 6, 9), "acdb", "acdb", F32, F32, SUM, "simd"},
    {1, 33, D2(3, 4, 6, 9), "acdb", "acdb", BF16, F32, SUM, "simd"},
    {1, 33, D2(3, 4, 6, 9), "acdb", "acdb", F32, BF16, SUM, "simd"},
    {1, 3, D2(3, 4, 6, 9), "abcd", "abcd", F32, F32, SUM, "simd"},
    {1, 35, D3(2, 3, 4, 3, 2, 9), "aBcde16b", "aBcde16b", BF16, BF16, NONE, "simd"},
    {2, 32, D2(5, 4, 10, 8), "aBcd16b", "aBcd16b", F32, F32, NONE, "simd"},
    {2, 16, D2(9, 11, 4, 5), "aBcd8b", "aBcd8b", F32, F32, NONE, "simd"},
    {2, 37, D2(5, 4, 10, 8), "aBcd16b", "aBcd16b", BF16, BF16, NONE, "simd"},
    {2, 37, D2(5, 4, 10, 8), "aBcd16b", "aBcd16b", S8, S8, NONE, "simd"},
    {1, 20, D1(17, 40), "aBc4b", "aBc4b", BF16, BF16, NONE, "simd"},
    /* Planes. */
    {2, 3, D2(3, 4, 6, 8), "abcd", "abcd", F32, F32, NONE, "simd"},
    {2, 3, D2(13, 14, 5, 3), "abcd", NULL, F32, F32, NONE, "simd"},
    {1, 2, D2(5, 17, 11, 33), "abcd", "abcd", F32, F32, RELU, "simd"},
    {1, 2, D2(5, 1, 11, 33), "abcd", "abcd", F32, F32, NONE, "simd"},
    {1, 2, D2(1, 50, 1, 1), "abcd", "abcd", F32, F32, ADD_CHANNEL, "simd"},
    {3, 5, D1(17, 40), "abc", "abc", F32, F32, SUM_ADD, "simd"},
    {3, 5, D1(400, 17), "abc", "abc", F32, F32, NONE, "simd"},
    {2, 3, D3(2, 3, 4, 3, 2, 9), "abcde", "abcde", F32, F32, NONE, "simd"},
    {1, 40, D2(28, 28, 56, 56), "abcd", "abcd", F32, F32, NONE, "simd"},
    {1, 3, D2(60, 80, 33, 37), "abcd", "abcd", F32, F32, NONE, "simd"},
    /* Other layouts. */
    {2, 19, D2(3, 4, 6, 9), "abcd", "acdb", F32, F32, NONE, NULL},
    {2, 19, D2(3, 4, 6, 9), "acdb", "abcd", F32, F32, NONE, NULL},
    {2, 19, D2(3, 4, 6, 9), "aBcd16b", "acdb", F32, F32, RELU, NULL},
    {2, 19, D2(3, 4, 6, 9), "dcba", "cabd", F32, F32, NONE, NULL},
    {2, 19, D2(3, 4, 6, 9), "ABcd4a4b", "ABcd4a4b", F32, F32, NONE, NULL},
    /* Types. */
    {2, 19, D2(3, 4, 6, 9), "acdb", "acdb", BF16, BF16, NONE, "simd"},
    {2, 19, D2(3, 4, 6, 9), "abcd", "abcd", BF16, BF16, ADD_CHANNEL, "simd"},
    {2, 20, D2(3, 4, 6, 9), "acdb", "acdb", BF16, BF16, NONE, "simd"},
    {1, 100, D2(7, 5, 4, 11), "acdb", "acdb", BF16, BF16, NONE, "simd"},
    {1, 130, D3(2, 3, 4, 3, 2, 9), "acdeb", "acdeb", BF16, BF16, NONE, "simd"},
    {1, 3, D2(28, 28, 56, 57), "abcd", "abcd", BF16, BF16, NONE, "simd"},
    {1, 3, D2(60, 400, 33, 37), "abcd", "abcd", BF16, BF16, NONE, "simd"},
    {3, 5, D3(2, 3, 4, 3, 2, 9), "abcde", "abcde", BF16, BF16, NONE, "simd"},
    {2, 3, D1(50, 35), "abc", "abc", BF16, BF16, NONE, "simd"},
    {2, 19, D2(3, 4, 6, 9), "acdb", "acdb", F16, F16, SUM_ADD, "simd"},
    {2, 19, D2(3, 4, 6, 9), "abcd", "abcd", S8, S8, NONE, "simd"},
    {2, 19, D2(3, 4, 6, 9), "acdb", "acdb", U8, U8, NONE, "simd"},
    {2, 19, D2(3, 4, 6, 9), "acdb", "acdb", S8, F32, NONE, "simd"},
    {2, 19, D2(3, 4, 6, 9), "abcd", "abcd", F32, U8, RELU, "simd"},
    {2, 19, D2(3, 4, 6, 9), "acdb", "acdb", BF16, S8, SUM_ADD, "simd"},
    {2, 19, D2(3, 4, 6, 9), "acdb", "acdb", S32, S32, NONE, NULL},
    {2, 19, D2(3, 4, 6, 9), "abcd", "abcd", S32, F32, ADD_CHANNEL, NULL},
    {2, 19, D2(3, 4, 6, 9), "aBcd16b", "aBcd16b", F32, S32, NONE, NULL},
    /* Nothing. */
    {0, 19, D2(3, 4, 6, 9), "acdb", "acdb", F32, F32, NONE, NULL},
    {2, 0, D2(3, 4, 6, 9), "abcd", "abcd", F32, F32, NONE, NULL},
    {2, 5, D2(3, 4, 0, 9), "abcd", "abcd", F32, F32, NONE, NULL},
};

/* The definition; positions in f32. size: sum of the magnitudes. */
static double value(const case_t *c, bool linear, const tensor_t *src, const int64_t *pos, double *size) {
    double sum = 0;
    *size = 0;
    for (int corner = 0; corner < (linear ? 1 << c->spatial : 1); ++corner) {
        int64_t at[DNNL_TP_MAX_NDIMS] = {pos[0], pos[1]};
        double weight = 1;
        for (int d = 0; d < c->spatial; ++d) {
            const float x = ((float)pos[2 + d] + .5f) * (float)c->in[d] / (float)c->out[d] - .5f,
                        low = floorf(x);
            const bool high = corner >> d & 1;
            const int64_t k = (int64_t)(linear ? low + (float)high : roundf(x));
            at[2 + d] = k < 0 ? 0 : k < c->in[d] ? k : c->in[d] - 1;
            if (linear) weight *= high ? (double)(x - low) : 1 - (double)(x - low);
        }
        const double x = weight * tensor_get(src, at);
        sum += x;
        *size += fabs(x);
    }
    return sum;
}

typedef struct {
    tensor_t src, dst, old, add;
} data_t;

static bool sums(const case_t *c) { return c->chain == SUM || c->chain == SUM_ADD; }

static void check(const case_t *c, bool linear, const data_t *d, const char *place) {
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    if (dtp_md_nelems(&d->dst.md) == 0) return;
    do {
        double size, want = value(c, linear, &d->src, pos, &size);
        const double got = tensor_get(&d->dst, pos);
        if (c->chain == RELU) want = want < 0 ? .5 * want : want;
        if (sums(c)) want += .5 * tensor_get(&d->old, pos), size += 10;
        if (c->chain >= ADD_CHANNEL) want += tensor_get_bcast(&d->add, pos), size += 10;
        const double err = linear || c->chain ? 1e-6 * size : 0;
        if (!rounds_near(c->ddt, got, want, err))
            fail_msg("%s: %s, %s -> %s, %lld channels, %lldx%lldx%lld -> %lldx%lldx%lld: at "
                     "%lld,%lld,%lld,%lld got "
                     "%.9g, want %.9g",
                     place, linear ? "linear" : "nearest", c->src, c->dst ? c->dst : "any", (long long)c->c,
                     (long long)c->in[0], (long long)c->in[1], (long long)c->in[2], (long long)c->out[0],
                     (long long)c->out[1], (long long)c->out[2], (long long)pos[0], (long long)pos[1],
                     (long long)pos[2], (long long)pos[3], got, want);
    } while (tensor_next(&d->dst.md, pos));
}

/* NULL: the engine has no implementation. */
static dnnl_tp_primitive_desc_t make(const case_t *c, bool linear, const place_t *at, const data_t *d,
                                     const dtp_md_t *dst) {
    dnnl_tp_primitive_desc_t pd = NULL;
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_post_ops_t po;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    if (c->chain == RELU) CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_relu, .5f, 0));
    if (sums(c)) CHECK_OK(dnnl_tp_post_ops_append_sum(po, .5f, 0, dnnl_tp_data_type_undef));
    if (c->chain >= ADD_CHANNEL) CHECK_OK(dnnl_tp_post_ops_append_binary(po, dnnl_tp_binary_add, &d->add.md));
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
    if (!has_impl(at->engine,
                  dnnl_tp_resampling_forward_primitive_desc_create(
                      &pd, at->engine, linear ? dnnl_tp_forward_training : dnnl_tp_forward_inference,
                      linear ? dnnl_tp_resampling_linear : dnnl_tp_resampling_nearest, NULL, &d->src.md, dst,
                      attr)))
        pd = NULL;
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    return pd;
}

static void run_alg(const case_t *c, bool linear, data_t *d, const dtp_md_t *dst, uint64_t stream) {
    test_rng_t r = test_rng(stream + 5000);
    int n;
    const place_t *at = places(&n);
    unsigned char *first = NULL;
    for (int i = 0; i < n; ++i) {
        dnnl_tp_primitive_desc_t pd = make(c, linear, &at[i], d, dst);
        if (!pd) continue;
        check_impl(pd, c->impl, c->src);
        if (i == 0) {
            tensor_init(&d->dst, dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_dst_md, 0));
            tensor_init(&d->old, &d->dst.md);
            tensor_fill(&d->old, &r, c->ddt == U8 ? 0.f : -9.f, 9.f, true);
        }
        memcpy(d->dst.data, d->old.data, d->dst.bytes);
        const bool adds = c->chain >= ADD_CHANNEL;
        const dnnl_tp_exec_handle_t args[] = {
            {DNNL_TP_ARG_SRC, d->src.data},
            {DNNL_TP_ARG_DST, d->dst.data},
            {DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(c->chain == SUM_ADD) | DNNL_TP_ARG_SRC_1, d->add.data}};
        CHECK_OK(run_pd(&at[i], pd, adds ? 3 : 2, args));
        if (dtp_md_nelems(&d->dst.md)) tensor_check(&d->dst, at[i].name);
        if (at[i].threads == 1) check(c, linear, d, at[i].name);
        check_same_bits(&at[i], &d->dst, &first, c->src);
    }
    free(first);
    tensor_free(&d->dst);
    tensor_free(&d->old);
}

static void run_case(const case_t *c, uint64_t stream) {
    test_rng_t r = test_rng(stream);
    data_t d;
    memset(&d, 0, sizeof d); /* an engine may have no implementation */
    dtp_md_t dst;
    const int nd = c->spatial + 2;
    int64_t in[5] = {c->n, c->c}, out[5] = {c->n, c->c}, channels[5] = {1, c->c, 1, 1, 1};
    for (int s = 0; s < c->spatial; ++s) in[2 + s] = c->in[s], out[2 + s] = c->out[s];
    tensor_layout(&d.src, nd, in, c->sdt, c->src);
    tensor_layout(&d.add, nd, c->chain == ADD_CHANNEL ? channels : out, F32,
                  nd == 3   ? "abc"
                  : nd == 4 ? "abcd"
                            : "abcde");
    if (c->dst) CHECK_OK(dtp_md_init_layout(&dst, nd, out, c->ddt, c->dst));
    else CHECK_OK(dtp_md_init_tag(&dst, nd, out, c->ddt, dnnl_tp_format_tag_any));
    tensor_fill(&d.src, &r, c->sdt == U8 ? 0.f : -9.f, 9.f, c->sdt > F32);
    tensor_fill(&d.add, &r, -5.f, 5.f, false);
    run_alg(c, false, &d, &dst, stream);
    run_alg(c, true, &d, &dst, stream);
    tensor_free(&d.src);
    tensor_free(&d.add);
}

static void table(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) run_case(&cases[i], i);
}

static void random_cases(void **state) {
    (void)state;
    static const char *const layouts[3][5] = {{"abc", "acb", "aBc16b", "aBc8b", "cab"},
                                              {"abcd", "acdb", "aBcd16b", "aBcd8b", "dcba"},
                                              {"abcde", "acdeb", "aBcde16b", "aBcde8b", "edcba"}};
    static const dnnl_tp_data_type_t types[] = {F32, F32, F32, F32, BF16, F16, S8, U8, S32};
    test_rng_t r = test_rng(78);
    for (int k = 0; k < 80; ++k) {
        case_t c = {.n = 1 + (int64_t)(test_rand(&r) % 3)};
        c.c = 1 + (int64_t)(test_rand(&r) % 70);
        c.spatial = 1 + (int)(test_rand(&r) % 3);
        for (int d = 0; d < c.spatial; ++d) {
            c.in[d] = 1 + (int64_t)(test_rand(&r) % (c.spatial == 1 ? 90 : 12));
            c.out[d] =
                test_rand(&r) % 4 ? 1 + (int64_t)(test_rand(&r) % (c.spatial == 1 ? 90 : 12)) : 2 * c.in[d];
        }
        c.src = layouts[c.spatial - 1][test_rand(&r) % 5];
        c.dst = test_rand(&r) % 2 ? c.src : layouts[c.spatial - 1][test_rand(&r) % 5];
        c.sdt = types[test_rand(&r) % 9];
        c.ddt = types[test_rand(&r) % 9];
        c.chain = test_rand(&r) % 2 ? NONE : (chain_t)(test_rand(&r) % 5);
        run_case(&c, (uint64_t)(500 + k));
    }
}

/* What is not finite reaches exactly the elements that it has a weight in; s32 beyond 2^24 are copied whole. */
static void special_values(void **state) {
    (void)state;
    enum { C = 19, I = 4 };
    static const char *const layouts[] = {"acb", "abc"};
    const float values[I] = {1.f, INFINITY, 2.f, -3.f};
    for (int l = 0; l < 6;
         ++l) { /* by three, elements of dst lie on elements of src: the next one has no weight */
        const bool integers = l / 2 == 1;
        const int64_t n_out = l < 4 ? 2 * I : 3 * I, in[] = {1, C, I}, out[] = {1, C, n_out};
        tensor_t src, dst;
        int n;
        const place_t *at = places(&n);
        tensor_layout(&src, 3, in, integers ? S32 : F32, layouts[l % 2]);
        tensor_layout(&dst, 3, out, integers ? S32 : F32, layouts[l % 2]);
        int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
        do
            tensor_set(&src, pos,
                       integers ? (double)(16777217 + pos[2] + 1000 * pos[1]) : (double)values[pos[2]]);
        while (tensor_next(&src.md, pos));
        for (int i = 0; i < n; ++i) {
            dnnl_tp_primitive_desc_t pd;
            CHECK_OK(dnnl_tp_resampling_forward_primitive_desc_create(
                &pd, at[i].engine, dnnl_tp_forward_inference,
                integers ? dnnl_tp_resampling_nearest : dnnl_tp_resampling_linear, NULL, &src.md, &dst.md,
                NULL));
            while (i == 0 && dnnl_tp_primitive_desc_next_impl(pd) == dnnl_tp_success) {
            } /* the reference */
            CHECK_OK(
                run_pd(&at[i], pd, 2,
                       (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_SRC, src.data}, {DNNL_TP_ARG_DST, dst.data}}));
            memset(pos, 0, sizeof pos);
            do {
                const double got = tensor_get(&dst, pos);
                const int64_t o = pos[2];
                if (integers) assert_true(got == (double)(16777217 + o / 2 + 1000 * pos[1]));
                else if (o == 0) assert_true(got == 1);
                else if (fabs(((double)o + .5) * I / (double)n_out - 1.5) < 1) assert_true(got == INFINITY);
                else assert_true(isfinite(got));
            } while (tensor_next(&dst.md, pos));
        }
        tensor_free(&src);
        tensor_free(&dst);
    }
}

/* A dst that is not given gets its sizes from the factors; the query tells those of the sizes. */
static void factors(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    const int64_t dims[] = {2, 5, 3, 7};
    const float given[] = {2.f, .5f};
    dtp_md_t src, dst;
    dnnl_tp_primitive_desc_t pd;
    const float *got;
    CHECK_OK(dtp_md_init_layout(&src, 4, dims, BF16, "acdb"));
    CHECK_OK(dnnl_tp_resampling_forward_primitive_desc_create(
        &pd, at->engine, dnnl_tp_forward_inference, dnnl_tp_resampling_linear, given, &src, NULL, NULL));
    const dtp_md_t *made = dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_dst_md, 0);
    assert_true(md_matches(made, "acdb") && made->data_type == BF16);
    assert_true(made->dims[0] == 2 && made->dims[1] == 5 && made->dims[2] == 6 && made->dims[3] == 3);
    CHECK_OK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_factors, 0, &got));
    assert_true(got[0] == 2.f && got[1] == 3.f / 7.f);
    dst = *made;
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_resampling_forward_primitive_desc_create(
        &pd, at->engine, dnnl_tp_forward_inference, dnnl_tp_resampling_linear, NULL, &src, &dst, NULL));
    CHECK_OK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_factors, 0, &got));
    assert_true(got[0] == 2.f && got[1] == 3.f / 7.f);
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
}

/* Planes whose columns and rows stand twice, from every place in a line of the processor on. */
static void twice_anywhere(void **state) {
    (void)state;
    enum { LINE = 16, ROWS = 3 };
    static const int64_t all[] = {1, 4, 7, 8, 9, 16, 23, 40};
    int n;
    const place_t *at = places(&n);
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k) {
        const int64_t columns = all[k], src[] = {1, 2, ROWS, columns}, dst[] = {1, 2, 2 * ROWS, 2 * columns},
                      count = 2 * 2 * ROWS * 2 * columns, room[] = {1, 1, 1, count + LINE};
        tensor_t x, y;
        dtp_md_t md;
        test_rng_t r = test_rng(k);
        tensor_layout(&x, 4, src, F32, "abcd");
        tensor_layout(&y, 4, room, F32, "abcd");
        tensor_fill(&x, &r, -9.f, 9.f, false);
        CHECK_OK(dtp_md_init_layout(&md, 4, dst, F32, "abcd"));
        for (int64_t from = 0; from < LINE; ++from)
            for (int i = 0; i < n; ++i) {
                dnnl_tp_primitive_desc_t pd;
                if (!has_impl(at[i].engine, dnnl_tp_resampling_forward_primitive_desc_create(
                                                &pd, at[i].engine, dnnl_tp_forward_inference,
                                                dnnl_tp_resampling_nearest, NULL, &x.md, &md, NULL)))
                    continue;
                float *const to = (float *)(void *)y.data + from;
                const dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, x.data}, {DNNL_TP_ARG_DST, to}};
                tensor_blank(&y);
                CHECK_OK(run_pd(&at[i], pd, 2, args));
                for (int64_t e = 0; e < count; ++e) {
                    const int64_t column = e % (2 * columns) / 2, row = e / (2 * columns) / 2;
                    assert_true(to[e] == ((const float *)(const void *)x.data)[row * columns + column]);
                }
            }
        tensor_free(&x);
        tensor_free(&y);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(table), cmocka_unit_test(random_cases),
                                       cmocka_unit_test(twice_anywhere), cmocka_unit_test(special_values),
                                       cmocka_unit_test(factors)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
