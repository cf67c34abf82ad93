/* Pooling against a double-precision reference: algorithms, windows, layouts, types, workspaces, post-operations;
 * on every instruction set and thread count, bit-equal over threads. NaN, infinities, windows in the padding;
 * refusals by reason. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/primitive/primitive_desc.h"
#include "common/problems/pooling.h"
#include "support/layout.h"
#include "support/tensor.h"

enum { MAX, INCLUDE, EXCLUDE };
static const dnnl_tp_alg_kind_t algs[] = {dnnl_tp_pooling_max, dnnl_tp_pooling_avg_include_padding,
                                          dnnl_tp_pooling_avg_exclude_padding};

typedef struct {
    int64_t n, c;
    int spatial;
    dnnl_tp_dims_t in, kernel, stride, dilation, pad_l, pad_r; /* spatial of each */
    const char *src, *dst; /* layouts of 3, 4 or 5 letters; dst NULL: any */
    dnnl_tp_data_type_t sdt, ddt;
    const char *impl;
    bool post_ops;
} case_t;

#define F32 dnnl_tp_f32
#define F64 dnnl_tp_f64
#define BF16 dnnl_tp_bf16
#define F16 dnnl_tp_f16
#define S32 dnnl_tp_s32
#define S8 dnnl_tp_s8
#define U8 dnnl_tp_u8
#define K1(i, k, s, d, l, r) \
    1, {i}, {k}, {s}, {d}, {l}, { r }
#define K2(i, k, s, d, l, r) \
    2, {i, i}, {k, k}, {s, s}, {d, d}, {l, l}, { r, r }
#define K3(i, k, s, d, l, r) \
    3, {i, i, i}, {k, k, k}, {s, s, s}, {d, d, d}, {l, l, l}, { r, r, r }

static const case_t cases[] = {
    /* Channels last: tails of the blocks of channels. */
    {2, 1, K2(9, 3, 2, 0, 1, 1), "acdb", "acdb", F32, F32, "simd", false},
    {2, 7, K2(9, 3, 2, 0, 1, 1), "acdb", "acdb", F32, F32, "simd", false},
    {2, 8, K2(9, 3, 1, 0, 1, 1), "acdb", NULL, F32, F32, "simd", false},
    {2, 9, K2(9, 3, 1, 0, 1, 1), "acdb", "acdb", F32, F32, "simd", false},
    {1, 15, K2(7, 2, 2, 0, 0, 0), "acdb", "acdb", F32, F32, "simd", false},
    {1, 16, K2(7, 2, 2, 0, 0, -1), "acdb", "acdb", F32, F32, "simd", false},
    {1, 17, K2(7, 2, 2, 0, 1, 1), "acdb", "acdb", F32, F32, "simd", false},
    {1, 31, K2(8, 3, 2, 0, 0, 1), "acdb", "acdb", F32, F32, "simd", false},
    {1, 63, K2(8, 3, 1, 0, 1, 1), "acdb", "acdb", F32, F32, "simd", false},
    {1, 64, K2(8, 3, 1, 0, 1, 1), "acdb", "acdb", F32, F32, "simd", false},
    {1, 65, K2(8, 3, 2, 0, 1, 0), "acdb", "acdb", F32, F32, "simd", false},
    {2, 197, K2(11, 3, 1, 0, 1, 1), "acdb", "acdb", F32, F32, "simd", false},
    {1, 130, K2(12, 5, 3, 0, 2, 2), "acdb", "acdb", F32, F32, "simd", false},
    {1, 40, K2(12, 3, 1, 1, 2, 2), "acdb", "acdb", F32, F32, "simd", false},
    {1, 40, K2(6, 4, 1, 0, 3, 3), "acdb", "acdb", F32, F32, "simd", false},
    {1, 197, K2(8, 2, 2, 0, 0, 0), "acdb", "acdb", F32, F32, "simd", false},
    {1, 139, K2(9, 2, 2, 0, 1, 1), "acdb", "acdb", BF16, BF16, "simd", false},
    {1, 150, K2(9, 4, 3, 0, 2, 2), "acdb", "acdb", BF16, BF16, "simd", false},
    {1, 20, 2, {5, 9}, {1, 3}, {1, 2}, {0, 0}, {0, 1}, {0, 1}, "acdb", "acdb", F32, F32, "simd", false},
    {1, 20, 2, {5, 9}, {3, 1}, {2, 1}, {0, 0}, {1, 0}, {1, 0}, "acdb", "acdb", F32, F32, "simd", false},
    /* 1-D and 3-D. */
    {3, 33, K1(21, 3, 2, 0, 1, 1), "acb", "acb", F32, F32, "simd", false},
    {3, 33, K1(21, 4, 1, 2, 3, 3), "abc", "abc", F32, F32, "simd", false},
    {2, 19, K3(6, 3, 2, 0, 1, 1), "acdeb", "acdeb", F32, F32, "simd", false},
    {2, 19, K3(6, 2, 2, 1, 1, 1), "acdeb", "acdeb", F32, F32, "simd", false},
    {2, 5, K3(6, 3, 1, 0, 1, 1), "abcde", "abcde", F32, F32, "simd", false},
    {1, 33, K3(7, 3, 2, 1, 1, 0), "aBcde16b", "aBcde16b", F32, F32, "simd", false},
    /* Planes: strides 1, 2, 3, columns around a vector. */
    {2, 3, K2(15, 3, 1, 0, 1, 1), "abcd", "abcd", F32, F32, "simd", false},
    {2, 3, K2(16, 3, 2, 0, 1, 1), "abcd", NULL, F32, F32, "simd", false},
    {2, 3, K2(17, 2, 2, 0, 0, 0), "abcd", "abcd", F32, F32, "simd", false},
    {2, 3, K2(33, 3, 2, 0, 0, 0), "abcd", "abcd", F32, F32, "simd", false},
    {2, 3, K2(35, 5, 3, 0, 2, 2), "abcd", "abcd", F32, F32, "simd", false},
    {2, 3, K2(23, 3, 1, 2, 3, 3), "abcd", "abcd", F32, F32, "simd", false},
    /* One output: all of src. */
    {2, 70, K2(7, 7, 1, 0, 0, 0), "acdb", "acdb", F32, F32, "simd", false},
    {2, 70, K2(7, 7, 1, 0, 0, 0), "abcd", "abcd", F32, F32, "simd", false},
    {2, 5, K2(3, 3, 7, 0, 0, 0), "abcd", "abcd", F32, F32, "simd", false},
    {3, 20, K2(65, 65, 1, 0, 0, 0), "acdb", "acdb", F32, F32, "simd", false},
    {2, 1099, K2(3, 3, 1, 0, 0, 0), "aBcd16b", "aBcd16b", F32, F32, "simd", false},
    {2, 37, K2(7, 7, 1, 0, 0, 0), "aBcd8b", "aBcd8b", BF16, BF16, "simd", false},
    {2, 37, K2(7, 7, 1, 0, 0, 0), "aBcd16b", "aBcd16b", F32, F32, "simd", true},
    {1, 6, K3(17, 17, 1, 0, 0, 0), "acdeb", "abcde", F32, F32, "simd", true},
    {2, 5, K2(41, 41, 1, 0, 0, 0), "abcd", "abcd", F32, F32, "simd", true},
    /* Other layouts, also from one into another. */
    {2, 37, K2(8, 3, 2, 0, 1, 1), "aBcd16b", "aBcd16b", F32, F32, "simd", false},
    {2, 37, K2(8, 3, 2, 0, 1, 1), "aBcd8b", NULL, F32, F32, "simd", true},
    {2, 37, K2(8, 3, 1, 0, 1, 1), "aBcd16b", "acdb", F32, F32, "simd", false},
    {2, 37, K2(8, 3, 1, 0, 1, 1), "acdb", "aBcd16b", F32, F32, "simd", false},
    {2, 37, K2(8, 3, 1, 0, 1, 1), "acdb", "aBcd8b", F32, BF16, "simd", false},
    {2, 13, K2(8, 2, 2, 0, 0, 0), "acdb", "abcd", F32, F32, "simd", false},
    {2, 13, K2(8, 2, 2, 0, 0, 0), "abcd", "acdb", F32, F32, "simd", true},
    {2, 13, K2(8, 2, 2, 0, 0, 0), "dcba", "badc", F32, F32, "simd", true},
    {18, 13, K2(8, 3, 2, 0, 1, 0), "ABcd16a16b", "abcd", F32, F32, "simd", false},
    /* Post-operations: channels last and planes. */
    {2, 37, K2(8, 3, 2, 0, 1, 1), "acdb", "acdb", F32, F32, "simd", true},
    {2, 37, K2(8, 3, 2, 0, 1, 1), "abcd", "abcd", F32, F32, "simd", true},
    {2, 9, K3(5, 3, 2, 0, 1, 1), "acdeb", "acdeb", F32, F32, "simd", true},
    {2, 9, K1(15, 3, 2, 0, 1, 1), "acb", "abc", F32, F32, "simd", true},
    /* Other types. */
    {2, 67, K2(9, 3, 2, 0, 1, 1), "acdb", "acdb", BF16, BF16, "simd", false},
    {2, 67, K2(9, 3, 1, 0, 1, 1), "abcd", "abcd", BF16, BF16, "simd", true},
    {2, 5, K2(9, 3, 1, 0, 1, 1), "acdb", "acdb", BF16, BF16, "simd", false},
    {1, 12, K2(16, 3, 2, 0, 1, 1), "acdb", "acdb", BF16, BF16, "simd", false},
    {1, 23, K2(33, 3, 1, 0, 1, 1), "acdb", "acdb", BF16, BF16, "simd", false},
    {1, 105, K2(9, 2, 2, 0, 0, 0), "acdb", "acdb", BF16, BF16, "simd", false},
    {2, 5, K2(9, 3, 1, 0, 1, 1), "acdb", "acdb", F32, F32, "simd", false},
    {1, 12, K2(16, 3, 2, 0, 1, 1), "acdb", "acdb", F32, F32, "simd", false},
    {1, 23, K2(33, 3, 1, 0, 1, 1), "acdb", "acdb", F32, F32, "simd", false},
    {2, 67, K2(7, 7, 1, 0, 0, 0), "acdb", "acdb", BF16, F32, "simd", false},
    {2, 40, K2(9, 2, 2, 0, 0, 0), "acdb", "acdb", F16, F16, "simd", false},
    {2, 40, K2(9, 3, 2, 0, 1, 1), "acdb", "acdb", S8, S8, "simd", false},
    {2, 40, K2(9, 3, 1, 0, 1, 1), "aBcd16b", "aBcd16b", U8, U8, "simd", false},
    {2, 40, K2(9, 3, 2, 0, 1, 1), "abcd", "abcd", U8, S8, "simd", true},
    {2, 19, K3(6, 3, 2, 1, 1, 1), "acdeb", "acdeb", BF16, BF16, "simd", false},
    {2, 11, K2(9, 3, 2, 0, 1, 1), "acdb", "acdb", S32, S32, "ref", false},
    {2, 11, K2(9, 3, 2, 0, 1, 1), "acdb", "abcd", S8, S32, "ref", true},
    /* Nothing to do. */
    {2, 11, K2(9, 3, 2, 0, 1, 1), "acdb", "acdb", F64, F64, "exact", false},
    {2, 3, K2(9, 3, 2, 1, 0, 3), "abcd", "abcd", F64, F64, "exact", false},
    {2, 4, K3(5, 2, 1, 0, 1, 2), "abcde", "acdeb", F64, F64, "exact", false},
    {1, 3, K1(6, 5, 2, 0, 4, 2), "bac", "abc", F64, F64, "exact", false},
    {0, 11, K2(9, 3, 2, 0, 1, 1), "acdb", "acdb", F32, F32, NULL, false},
    {2, 0, K2(9, 3, 2, 0, 1, 1), "abcd", "abcd", F32, F32, NULL, false},
    {2, 0, K2(9, 3, 2, 0, 1, 1), "acdb", "aBcd16b", F32, F32, NULL, false},
    {2, 5, K2(2, 5, 1, 0, 1, 1), "abcd", "abcd", F32, F32, NULL, false},
};

static int64_t out_of(const case_t *c, int d) {
    const int64_t left =
        c->in[d] - ((c->kernel[d] - 1) * (c->dilation[d] + 1) + 1) + c->pad_l[d] + c->pad_r[d];
    return left < 0 ? 0 : left / c->stride[d] + 1;
}

static double least_of(dnnl_tp_data_type_t dt) {
    return dt == F32    ? -FLT_MAX
           : dt == F64  ? -DBL_MAX
           : dt == BF16 ? -0x1.fep127
           : dt == F16  ? -65504
           : dt == S32  ? INT32_MIN
           : dt == S8   ? -128
                        : 0;
}

/* The definition: every tap of the window at pos. */
static double pool_at(const case_t *c, int alg, const tensor_t *src, const int64_t *pos, int64_t *tap,
                      double *size) {
    const int nd = c->spatial;
    int64_t volume = 1, inside = 0;
    double best = -INFINITY, sum = 0;
    *tap = 0;
    *size = 0;
    for (int d = 0; d < nd; ++d) volume *= c->kernel[d];
    for (int64_t t = 0; t < volume; ++t) {
        int64_t at[DNNL_TP_MAX_NDIMS] = {pos[0], pos[1]}, rest = t;
        bool in = true;
        for (int d = nd - 1; d >= 0; --d) {
            at[2 + d] = pos[2 + d] * c->stride[d] - c->pad_l[d] + rest % c->kernel[d] * (c->dilation[d] + 1);
            rest /= c->kernel[d];
            in &= at[2 + d] >= 0 && at[2 + d] < c->in[d];
        }
        if (!in) continue;
        const double x = tensor_get(src, at);
        if (inside++ == 0) *tap = t;
        if (x > best) best = x, *tap = t;
        sum += x;
        *size += fabs(x);
    }
    *size /= (double)(alg == INCLUDE ? volume : inside ? inside : 1);
    if (alg == MAX) return inside ? best : least_of(c->sdt);
    return alg == INCLUDE ? sum / (double)volume : inside ? sum / (double)inside : 0;
}

typedef struct {
    tensor_t src, dst, add, taps;
} data_t;

static void check(const case_t *c, int alg, const data_t *d, bool training, const char *place) {
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    if (dtp_md_nelems(&d->dst.md) == 0) return;
    do {
        int64_t tap;
        double size, want = pool_at(c, alg, &d->src, pos, &tap, &size);
        const double got = tensor_get(&d->dst, pos);
        if (c->post_ops) {
            const double s = want + tensor_get_bcast(&d->add, pos);
            size += fabs(s) + fabs(want);
            want = s > 0 ? s : s * .5;
        }
        if (!rounds_near(c->ddt, got, want, alg == MAX && !c->post_ops ? 0 : 1e-6 * size))
            fail_msg("%s: algorithm %d, %s -> %s, %lld channels: at %lld,%lld,%lld,%lld got %.9g, want %.9g",
                     place, alg, c->src, c->dst ? c->dst : "any", (long long)c->c, (long long)pos[0],
                     (long long)pos[1], (long long)pos[2], (long long)pos[3], got, want);
        if (training && alg == MAX && tensor_get(&d->taps, pos) != (double)tap)
            fail_msg("%s: %s -> %s: tap at %lld,%lld,%lld,%lld is %g, want %lld", place, c->src,
                     c->dst ? c->dst : "any", (long long)pos[0], (long long)pos[1], (long long)pos[2],
                     (long long)pos[3], tensor_get(&d->taps, pos), (long long)tap);
    } while (tensor_next(&d->dst.md, pos));
}

/* NULL: the engine has no implementation. */
static dnnl_tp_primitive_desc_t make(const case_t *c, int alg, dnnl_tp_engine_t engine, bool training,
                                     const dtp_md_t *src, const dtp_md_t *dst, const dtp_md_t *add) {
    dnnl_tp_primitive_desc_t pd = NULL;
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_post_ops_t po;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    if (c->post_ops) {
        CHECK_OK(dnnl_tp_post_ops_append_binary(po, dnnl_tp_binary_add, add));
        CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_relu, .5f, 0));
    }
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
    if (!has_impl(engine,
                  dnnl_tp_pooling_forward_primitive_desc_create(
                      &pd, engine, training ? dnnl_tp_forward_training : dnnl_tp_forward_inference, algs[alg],
                      src, dst, c->stride, c->kernel, c->dilation, c->pad_l, c->pad_r, attr)))
        pd = NULL;
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    return pd;
}

static void run_alg(const case_t *c, int alg, bool training, data_t *d, const dtp_md_t *dst) {
    int n;
    const place_t *at = places(&n);
    unsigned char *first = NULL, *first_taps = NULL;
    for (int i = 0; i < n; ++i) {
        dnnl_tp_primitive_desc_t pd = make(c, alg, at[i].engine, training, &d->src.md, dst, &d->add.md);
        if (!pd) continue;
        check_impl(pd, c->impl, c->src);
        const dtp_md_t *workspace = dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_workspace_md, 0);
        const bool taps = training && alg == MAX; /* the descriptor ends with its primitive */
        assert_int_equal(workspace->ndims, taps ? c->spatial + 2 : 0);
        if (i == 0) {
            tensor_init(&d->dst, dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_dst_md, 0));
            if (taps) tensor_init(&d->taps, workspace);
        }
        const dnnl_tp_exec_handle_t args[] = {
            {DNNL_TP_ARG_SRC, d->src.data},
            {DNNL_TP_ARG_DST, d->dst.data},
            {DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_TP_ARG_SRC_1, c->post_ops ? d->add.data : NULL},
            {DNNL_TP_ARG_WORKSPACE, taps ? d->taps.data : NULL}};
        tensor_blank(&d->dst);
        if (taps) tensor_blank(&d->taps);
        CHECK_OK(run_pd(&at[i], pd, 4, args));
        if (dtp_md_nelems(&d->dst.md)) tensor_check(&d->dst, at[i].name);
        if (at[i].threads == 1) check(c, alg, d, training, at[i].name);
        check_same_bits(&at[i], &d->dst, &first, c->src);
        if (taps) check_same_bits(&at[i], &d->taps, &first_taps, c->src);
    }
    free(first);
    free(first_taps);
    tensor_free(&d->dst);
    if (training && alg == MAX) tensor_free(&d->taps);
}

static void run_case(const case_t *c, uint64_t stream) {
    test_rng_t r = test_rng(stream);
    data_t d;
    memset(&d, 0, sizeof d); /* an engine may have no implementation */
    dtp_md_t dst;
    const int nd = c->spatial + 2;
    int64_t in[5] = {c->n, c->c}, out[5] = {c->n, c->c}, channels[5] = {1, c->c, 1, 1, 1};
    for (int s = 0; s < c->spatial; ++s) in[2 + s] = c->in[s], out[2 + s] = out_of(c, s);
    tensor_layout(&d.src, nd, in, c->sdt, c->src);
    tensor_layout(&d.add, nd, stream % 2 ? channels : out, F32, nd == 3 ? "abc" : nd == 4 ? "abcd" : "abcde");
    if (c->dst) CHECK_OK(dtp_md_init_layout(&dst, nd, out, c->ddt, c->dst));
    else CHECK_OK(dtp_md_init_tag(&dst, nd, out, c->ddt, dnnl_tp_format_tag_any));
    /* Few values: maxima have equals. */
    tensor_fill(&d.src, &r, c->sdt == U8 ? 0.f : -9.f, 9.f, c->sdt > F32 || stream % 3 == 0);
    tensor_fill(&d.add, &r, -5.f, 5.f, false);
    run_alg(c, MAX, false, &d, &dst);
    if (c->sdt != F64) run_alg(c, MAX, true, &d, &dst);
    run_alg(c, INCLUDE, c->sdt != F64 && stream % 2, &d, &dst);
    bool empty = false;
    for (int s = 0; s < c->spatial; ++s) {
        const int64_t range = (c->kernel[s] - 1) * (c->dilation[s] + 1) + 1;
        empty |= c->pad_l[s] >= range || c->pad_r[s] >= range || c->dilation[s] >= c->in[s];
    }
    if (!empty) run_alg(c, EXCLUDE, false, &d, &dst);
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
    static const dnnl_tp_data_type_t types[] = {F32, F32, F32, F32, BF16, F16, S8, U8};
    test_rng_t r = test_rng(77);
    for (int k = 0; k < 60; ++k) {
        case_t c = {.n = 1 + (int64_t)(test_rand(&r) % 3), .impl = NULL};
        c.c = 1 + (int64_t)(test_rand(&r) % 70);
        c.spatial = 1 + (int)(test_rand(&r) % 3);
        for (int d = 0; d < c.spatial; ++d) {
            c.in[d] = 1 + (int64_t)(test_rand(&r) % 9);
            c.kernel[d] = 1 + (int64_t)(test_rand(&r) % 4);
            c.stride[d] = 1 + (int64_t)(test_rand(&r) % 3);
            c.dilation[d] = test_rand(&r) % 3 ? 0 : (int64_t)(test_rand(&r) % 3);
            c.pad_l[d] = (int64_t)(test_rand(&r) % 4);
            c.pad_r[d] = (int64_t)(test_rand(&r) % 5) - 1;
        }
        c.src = layouts[c.spatial - 1][test_rand(&r) % 5];
        c.dst = layouts[c.spatial - 1][test_rand(&r) % 5];
        c.sdt = types[test_rand(&r) % 8];
        c.ddt = types[test_rand(&r) % 8];
        c.post_ops = test_rand(&r) % 4 == 0;
        run_case(&c, (uint64_t)(500 + k));
    }
}

/* Padding and dilation beyond src: maxima of nothing are the least number, sums are 0; nothing overflows. */
static void far_windows(void **state) {
    (void)state;
    static const case_t far[] = {
        {2, 20, K2(3, 2, 3, 0, 7, 7), "acdb", "acdb", F32, F32, "simd", false},
        {2, 20, K2(3, 2, 3, 0, 7, 7), "abcd", "abcd", F32, F32, NULL, false},
        {2, 20, K2(3, 3, 2, 0, 5, 9), "acdb", "acdb", F32, F32, "simd", false},
        {2, 20, K2(4, 3, 1, 6, 7, 7), "acdb", "acdb", BF16, BF16, "simd", false},
        {2, 20, K2(4, 2, 100, 99, 300, 300), "acdb", "acdb", S8, S8, "simd", false},
        {1, 3, K1(4, 2, 1000000007, 0, 2000000000, 2000000000), "acb", "acb", F32, F32, NULL, false},
        {1, 3, K1(5, 3, 1, 999999999999, 1000000000000, 1000000000000), "acb", "acb", F32, F32, NULL, false},
        {1, 3, K1(5, 3, 1, 999999999999, 1000000000000, 1000000000000), "abc", "abc", F32, F32, NULL, false},
        {1, 3, K1(0, 2, 1, 0, 2, 2), "acb", "acb", F32, F32, NULL, false},
    };
    for (size_t i = 0; i < sizeof far / sizeof *far; ++i) run_case(&far[i], i);
}

/* Results that go past the caches, in pixels longer than their channels: of what is left of the channels for the last
 * unit, vectors begin nowhere but in whole lines. */
static void streams(void **state) {
    (void)state;
    enum { PIXEL = 224 };
    static const int64_t channels[] = {216, 220, 200, 208};
    int n;
    const place_t *at = places(&n);
    int64_t l2[16], l3[16];
    assert_in_range(n, 1, 16);
    for (int i = 0; i < n; ++i) {
        l2[i] = at[i].engine->l2_bytes;
        l3[i] = at[i].engine->l3_bytes;
    }
    for (int i = 0; i < n; ++i) at[i].engine->l2_bytes = at[i].engine->l3_bytes = 0;
    for (int k = 0; k < 8; ++k) {
        const case_t c = {1,      channels[k / 2], 2,      {3, 200}, {3, 3}, {1, 1 + k % 2}, {0},  {1, 1},
                          {1, 1}, "acdb",          "acdb", F32,      F32,    "simd",         false};
        const int64_t in[] = {1, c.c, 3, 200}, out[] = {1, c.c, out_of(&c, 0), out_of(&c, 1)};
        const dnnl_tp_dims_t strides = {PIXEL * out[2] * out[3], 1, PIXEL * out[3], PIXEL};
        test_rng_t r = test_rng((uint64_t)k);
        data_t d;
        dtp_md_t dst;
        memset(&d, 0, sizeof d);
        tensor_layout(&d.src, 4, in, F32, "acdb");
        tensor_fill(&d.src, &r, -9.f, 9.f, false);
        CHECK_OK(dtp_md_init_strides(&dst, 4, out, F32, strides));
        run_alg(&c, k % 4 < 2 ? MAX : EXCLUDE, false, &d, &dst);
        tensor_free(&d.src);
    }
    for (int i = 0; i < n; ++i) {
        at[i].engine->l2_bytes = l2[i];
        at[i].engine->l3_bytes = l3[i];
    }
}

/* A NaN is larger than nothing; averages pass it on. Infinities are ordinary. */
static void special_values(void **state) {
    (void)state;
    enum { C = 19, I = 6, O = 3 };
    static const char *const layouts[] = {"acb", "abc"};
    case_t c = {1, C, K1(I, 2, 2, 0, 0, 0), NULL, NULL, F32, F32, "simd", false};
    const float values[I] = {NAN, -3.f, -INFINITY, -INFINITY, INFINITY, 2.f};
    for (int l = 0; l < 2; ++l) {
        int n;
        const place_t *at = places(&n);
        const int64_t in[] = {1, C, I}, out[] = {1, C, O};
        tensor_t src, dst, taps;
        c.src = c.dst = layouts[l];
        tensor_layout(&src, 3, in, F32, layouts[l]);
        tensor_layout(&dst, 3, out, F32, layouts[l]);
        tensor_layout(&taps, 3, out, U8, layouts[l]);
        int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
        do tensor_set(&src, pos, values[pos[2]]);
        while (tensor_next(&src.md, pos));
        for (int i = 0; i < n; ++i)
            for (int alg = MAX; alg <= EXCLUDE; ++alg)
                for (int training = 0; training < 2; ++training) {
                    dnnl_tp_primitive_desc_t pd =
                        make(&c, alg, at[i].engine, training, &src.md, &dst.md, NULL);
                    if (!pd) continue;
                    const dnnl_tp_exec_handle_t args[] = {
                        {DNNL_TP_ARG_SRC, src.data},
                        {DNNL_TP_ARG_DST, dst.data},
                        {DNNL_TP_ARG_WORKSPACE, training && alg == MAX ? taps.data : NULL}};
                    CHECK_OK(run_pd(&at[i], pd, 3, args));
                    memset(pos, 0, sizeof pos);
                    do {
                        const double y = tensor_get(&dst, pos), t = tensor_get(&taps, pos);
                        if (alg == MAX) {
                            const double want[O] = {-3, -INFINITY, INFINITY}, tap[O] = {1, 0, 0};
                            assert_true(y == want[pos[2]]);
                            if (training) assert_true(t == tap[pos[2]]);
                        } else if (pos[2] == 0) {
                            assert_true(isnan(y));
                        } else {
                            assert_true(y == (pos[2] == 1 ? -INFINITY : INFINITY));
                        }
                    } while (tensor_next(&dst.md, pos));
                }
        tensor_free(&src);
        tensor_free(&dst);
        tensor_free(&taps);
    }
}

/* As graphs ask for it: a window with NaN gives NaN, wherever it stands. Every element is NaN in one of the rounds. */
enum { ROUNDS = 13 };
static void check_kept(const case_t *c, const tensor_t *src, const tensor_t *dst, const char *place) {
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0}, tap;
    double size;
    do {
        const bool is_nan = isnan(pool_at(c, INCLUDE, src, pos, &tap, &size));
        const double want = is_nan ? NAN : pool_at(c, MAX, src, pos, &tap, &size), got = tensor_get(dst, pos);
        if (!rounds_near(c->ddt, got, want, 0))
            fail_msg("%s: %s -> %s, %lld channels: at %lld,%lld,%lld,%lld got %.9g, want %.9g", place, c->src,
                     c->dst, (long long)c->c, (long long)pos[0], (long long)pos[1], (long long)pos[2],
                     (long long)pos[3], got, want);
    } while (tensor_next(&dst->md, pos));
}
static void nan_stays(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        const case_t *c = &cases[k];
        if ((c->sdt > F32 && c->sdt != F64) || (c->ddt > F32 && c->ddt != F64) || !c->dst || c->post_ops ||
            !c->impl)
            continue;
        const int nd = c->spatial + 2;
        int64_t in[5] = {c->n, c->c}, out[5] = {c->n, c->c};
        for (int s = 0; s < c->spatial; ++s) in[2 + s] = c->in[s], out[2 + s] = out_of(c, s);
        tensor_t src, dst;
        tensor_layout(&src, nd, in, c->sdt, c->src);
        tensor_layout(&dst, nd, out, c->ddt, c->dst);
        for (int round = 0; round < ROUNDS; ++round) {
            test_rng_t r = test_rng(k);
            int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
            tensor_fill(&src, &r, -9.f, 9.f, false);
            int64_t i = 0;
            do
                if (i++ % ROUNDS == round) tensor_set(&src, pos, NAN);
            while (tensor_next(&src.md, pos));
            for (int p = 0; p < n; ++p) {
                if (at[p].threads != 1 && at[p].threads != 3) continue;
                dnnl_tp_primitive_desc_t plain = make(c, MAX, at[p].engine, false, &src.md, &dst.md, NULL),
                                         pd;
                if (!plain) continue;
                dtp_pooling_desc_t op = *(const dtp_pooling_desc_t *)plain->op;
                op.keeps_nan = 1;
                CHECK_OK(dtp_pd_create(&pd, at[p].engine, &op.base, sizeof op, NULL));
                check_impl(pd, c->impl, c->src);
                CHECK_OK(dnnl_tp_primitive_desc_destroy(plain));
                const dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, src.data},
                                                      {DNNL_TP_ARG_DST, dst.data}};
                memset(dst.data, 0, dst.bytes);
                CHECK_OK(run_pd(&at[p], pd, 2, args));
                check_kept(c, &src, &dst, at[p].name);
            }
        }
        tensor_free(&src);
        tensor_free(&dst);
    }
}

/* u8 up to 255 taps, s32 beyond; dst's layout. */
static void workspaces(void **state) {
    (void)state;
    static const struct {
        int64_t k[2];
        dnnl_tp_data_type_t dt;
    } sizes[] = {{{15, 17}, U8}, {{16, 16}, S32}, {{1, 256}, S32}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        for (int l = 0; l < 3; ++l) {
            static const char *const layouts[] = {"acdb", "abcd", "aBcd16b"};
            const int64_t h = sizes[i].k[0], w = sizes[i].k[1];
            const case_t c = {1,      18,     2,          {h + 1, w + 2}, {h, w},
                              {1, 1}, {0, 0}, {h > 1, 1}, {0, 0},         layouts[l],
                              NULL,   F32,    F32,        "simd",         false};
            int n;
            const place_t *at = places(&n);
            dtp_md_t src, dst;
            const int64_t in[] = {1, 18, h + 1, w + 2}, out[] = {1, 18, out_of(&c, 0), out_of(&c, 1)};
            CHECK_OK(dtp_md_init_layout(&src, 4, in, F32, layouts[l]));
            CHECK_OK(dtp_md_init_tag(&dst, 4, out, F32, dnnl_tp_format_tag_any));
            dnnl_tp_primitive_desc_t pd = make(&c, MAX, at->engine, true, &src, &dst, NULL);
            if (!pd) continue;
            const dtp_md_t *ws = dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_workspace_md, 0);
            assert_int_equal(ws->data_type, sizes[i].dt);
            assert_true(md_matches(ws, layouts[l]));
            assert_ptr_equal(
                ws, dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_exec_arg_md, DNNL_TP_ARG_WORKSPACE));
            CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
            run_case(&c, i);
        }
}

static void queries(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    const case_t c = {1,      4,      2,    {9, 12}, {3, 2}, {2, 1}, {1, 0}, {2, 1},
                      {1, 0}, "acdb", NULL, F32,     F32,    "simd", false};
    static const struct {
        dnnl_tp_query_t what;
        int64_t want[2];
    } asked[] = {{dnnl_tp_query_kernel, {3, 2}},
                 {dnnl_tp_query_strides, {2, 1}},
                 {dnnl_tp_query_dilations, {1, 0}},
                 {dnnl_tp_query_padding_l, {2, 1}},
                 {dnnl_tp_query_padding_r, {1, 0}}};
    dtp_md_t src, dst;
    const int64_t in[] = {1, 4, 9, 12}, out[] = {1, 4, out_of(&c, 0), out_of(&c, 1)};
    CHECK_OK(dtp_md_init_layout(&src, 4, in, F32, "acdb"));
    CHECK_OK(dtp_md_init_tag(&dst, 4, out, F32, dnnl_tp_format_tag_any));
    dnnl_tp_primitive_desc_t pd = make(&c, INCLUDE, at->engine, false, &src, &dst, NULL);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; ++i) {
        const dnnl_tp_dims_t *dims = NULL;
        CHECK_OK(dnnl_tp_primitive_desc_query(pd, asked[i].what, 0, &dims));
        assert_true((*dims)[0] == asked[i].want[0] && (*dims)[1] == asked[i].want[1]);
    }
    dnnl_tp_alg_kind_t alg;
    CHECK_OK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_alg_kind, 0, &alg));
    assert_int_equal(alg, dnnl_tp_pooling_avg_include_padding);
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(table),          cmocka_unit_test(random_cases),
                                       cmocka_unit_test(far_windows),    cmocka_unit_test(streams),
                                       cmocka_unit_test(special_values), cmocka_unit_test(nan_stays),
                                       cmocka_unit_test(workspaces),     cmocka_unit_test(queries)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
