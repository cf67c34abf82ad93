/* Batch and group normalization against a double-precision reference: statistics given and computed, scale, shift,
 * fused ReLU and sum with workspaces, layouts, types, post-operations, scales, in place; on every instruction set
 * and thread count, bit-equal over threads. Means far from 0, NaN, queries. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/primitive/primitive_desc.h"
#include "support/layout.h"
#include "support/tensor.h"

typedef struct {
    int64_t groups; /* 0: batch normalization */
    int nd;
    dnnl_tp_dims_t dims;
    const char *src, *dst; /* layouts; dst NULL: any */
    dnnl_tp_data_type_t sdt, ddt;
    unsigned flags;
    const char *impl;
    int post; /* 1: a ReLU, 2: binary and eltwise */
} case_t;

#define F32 dnnl_tp_f32
#define BF16 dnnl_tp_bf16
#define F16 dnnl_tp_f16
#define S32 dnnl_tp_s32
#define S8 dnnl_tp_s8
#define U8 dnnl_tp_u8
enum {
    G = dnnl_tp_use_global_stats,
    C = dnnl_tp_use_scale,
    H = dnnl_tp_use_shift,
    R = dnnl_tp_fuse_norm_relu,
    A = dnnl_tp_fuse_norm_add_relu
};

static const case_t cases[] = {
    /* Channels last: tails of the blocks of channels. */
    {0, 4, {2, 1, 9, 9}, "acdb", "acdb", F32, F32, C | H, "simd", 0},
    {0, 4, {2, 7, 9, 9}, "acdb", NULL, F32, F32, 0, "simd", 0},
    {0, 4, {2, 8, 9, 9}, "acdb", "acdb", F32, F32, C, "simd", 0},
    {0, 4, {2, 9, 9, 9}, "acdb", "acdb", F32, F32, H, "simd", 0},
    {0, 4, {3, 16, 7, 5}, "acdb", "acdb", F32, F32, C | H | R, "simd", 0},
    {0, 4, {3, 17, 7, 5}, "acdb", "acdb", F32, F32, G | R, "simd", 0},
    {0, 4, {3, 31, 7, 5}, "acdb", "acdb", F32, F32, G | C | H, "simd", 1},
    {0, 4, {1, 64, 29, 31}, "acdb", "acdb", F32, F32, C | H | A, "simd", 0},
    {0, 4, {1, 127, 29, 31}, "acdb", "acdb", F32, F32, G | A, "simd", 0},
    {0, 4, {2, 197, 11, 11}, "acdb", "acdb", F32, F32, C | H, "simd", 2},
    {0, 4, {1, 300, 8, 8}, "acdb", "acdb", F32, F32, C | H | R, "simd", 0},
    {0, 2, {300, 40}, "ab", "ab", F32, F32, C | H, "simd", 0},
    {0, 2, {300, 40}, "ba", "ba", F32, F32, C | H | R, "simd", 0},
    {0, 2, {1, 5000}, "ab", "ab", F32, F32, G | C | H, "simd", 2},
    {0, 3, {5, 33, 27}, "acb", "acb", F32, F32, C | H, "simd", 0},
    {0, 5, {2, 19, 4, 6, 6}, "acdeb", "acdeb", F32, F32, C | H, "simd", 0},
    /* Planes. */
    {0, 4, {2, 5, 9, 9}, "abcd", "abcd", F32, F32, 0, "simd", 0},
    {0, 4, {7, 70, 7, 7}, "abcd", NULL, F32, F32, C | H, "simd", 0},
    {0, 4, {2, 3, 90, 91}, "abcd", "abcd", F32, F32, C | H | R, "simd", 0},
    {0, 4, {2, 3, 90, 91}, "abcd", "abcd", F32, F32, G | C | H | R, "simd", 0},
    {0, 4, {9, 3, 15, 1}, "abcd", "abcd", F32, F32, C | H | A, "simd", 1},
    {0, 3, {5, 33, 27}, "abc", "abc", F32, F32, G | H, "simd", 2},
    {0, 5, {2, 19, 4, 6, 6}, "abcde", "abcde", F32, F32, C | H, "simd", 2},
    {0, 4, {1, 1, 130, 130}, "abcd", "abcd", F32, F32, C | H, "simd", 0},
    /* Other layouts, also from one into another. */
    {0, 4, {2, 37, 8, 8}, "aBcd16b", "aBcd16b", F32, F32, C | H | R, "simd", 0},
    {0, 4, {2, 37, 8, 8}, "aBcd8b", NULL, F32, F32, C | H, "simd", 2},
    {0, 2, {20, 37}, "aB16b", "aB16b", F32, F32, C | H, "simd", 0},
    {0, 4, {2, 37, 8, 8}, "aBcd16b", "acdb", F32, F32, C | H | A, "simd", 0},
    {0, 4, {2, 13, 8, 9}, "acdb", "abcd", F32, F32, C | H | R, "simd", 0},
    {0, 4, {2, 13, 8, 9}, "abcd", "acdb", F32, BF16, C | A, "simd", 2},
    {0, 4, {2, 13, 8, 9}, "dcba", "badc", F32, F32, G | C | H | R, "simd", 2},
    {0, 4, {18, 13, 5, 5}, "ABcd16a16b", "abcd", F32, F32, C | H, "simd", 0},
    /* Other types. */
    {0, 4, {2, 67, 9, 9}, "acdb", "acdb", BF16, BF16, C | H | R, "simd", 0},
    {0, 4, {1, 150, 9, 9}, "acdb", "acdb", BF16, BF16, C | H | A, "simd", 0},
    {0, 4, {2, 67, 9, 9}, "abcd", "abcd", BF16, BF16, C | H, "simd", 2},
    {0, 4, {2, 40, 9, 9}, "acdb", "acdb", F16, F16, G | C | H | A, "simd", 0},
    {0, 4, {2, 40, 9, 9}, "abcd", "abcd", F16, F16, H | A, "simd", 0},
    {0, 4, {2, 40, 9, 9}, "acdb", "acdb", S8, S8, G | C | H | R, "simd", 0},
    {0, 4, {2, 40, 9, 9}, "abcd", "abcd", S8, S8, G | C | H | A, "simd", 0},
    {0, 4, {2, 40, 9, 9}, "aBcd16b", "aBcd16b", BF16, F32, C | H, "simd", 0},
    {0, 4, {2, 40, 9, 9}, "acdb", "acdb", U8, F32, C | H, "simd", 0},
    {0, 4, {2, 11, 9, 9}, "acdb", "acdb", S32, F32, C | H, "ref", 2},
    /* Groups: one, some, each channel; of planes, of channels last, of blocks. */
    {1, 4, {2, 12, 9, 9}, "abcd", "abcd", F32, F32, C | H, "simd", 0},
    {4, 4, {2, 12, 9, 9}, "abcd", "abcd", F32, F32, C | H, "simd", 0},
    {12, 4, {2, 12, 9, 9}, "abcd", "abcd", F32, F32, 0, "simd", 0},
    {4, 4, {9, 40, 2, 2}, "abcd", NULL, F32, F32, C | H, "simd", 0},
    {3, 4, {1, 12, 70, 70}, "abcd", "abcd", F32, F32, C | H, "simd", 0},
    {3, 4, {2, 12, 9, 9}, "abcd", "abcd", F32, F32, G | C, "simd", 2},
    {1, 4, {2, 12, 9, 9}, "acdb", "acdb", F32, F32, C | H, "simd", 0},
    {5, 4, {9, 40, 9, 9}, "acdb", "acdb", F32, F32, C | H, "simd", 0},
    {40, 4, {1, 40, 9, 9}, "acdb", "acdb", F32, F32, C | H, "simd", 2},
    {5, 4, {1, 40, 39, 39}, "acdb", "acdb", F32, F32, G | C | H, "simd", 0},
    {4, 4, {2, 40, 9, 9}, "aBcd16b", "aBcd16b", F32, F32, C | H, "simd", 0},
    {4, 3, {2, 40, 1}, "abc", "abc", F32, F32, C | H, "simd", 0},
    {4, 5, {2, 40, 3, 4, 5}, "acdeb", "abcde", F32, F32, C | H, "simd", 0},
    {4, 4, {2, 40, 9, 9}, "acdb", "acdb", BF16, F32, C | H, "simd", 0},
    {4, 4, {2, 40, 9, 9}, "abcd", "abcd", F32, BF16, C | H, "simd", 2},
    {4, 4, {2, 40, 9, 9}, "abcd", "abcd", BF16, BF16, C | H, "simd", 0},
    {4, 4, {2, 40, 9, 9}, "abcd", "abcd", S8, S8, C | H, "simd", 0},
    {4, 4, {2, 40, 9, 9}, "dbca", "abcd", F32, F32, C | H, "simd", 0},
    {4, 4, {2, 40, 9, 9}, "acdb", "acdb", S32, S8, C | H, "ref", 0},
    /* Nothing to do. */
    {0, 4, {0, 11, 9, 9}, "acdb", "acdb", F32, F32, C | H, NULL, 0},
    {0, 4, {2, 0, 9, 9}, "abcd", "abcd", F32, F32, C | H | R, NULL, 0},
    {0, 4, {2, 5, 0, 9}, "abcd", "abcd", F32, F32, C | H, NULL, 0},
    {3, 4, {2, 0, 9, 9}, "abcd", "abcd", F32, F32, C | H, NULL, 0},
};

#define EPS 1e-3f

typedef struct {
    tensor_t src, src1, dst, mean, var, scale, shift, ws, add;
} data_t;

/* One set of statistics, by its index. */
static void statistics_of(const case_t *c, const tensor_t *src, int64_t k, double *mean, double *var) {
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0}, count = 0;
    double sum = 0, squares = 0;
    for (int pass = 0; pass < 2; ++pass) {
        memset(pos, 0, sizeof pos);
        count = 0;
        do {
            const int64_t of = c->groups ? c->dims[1] / c->groups : 1;
            if ((c->groups ? pos[0] * c->groups + pos[1] / of : pos[1]) != k) continue;
            const double x = tensor_get(src, pos);
            if (pass) squares += (x - *mean) * (x - *mean);
            else sum += x;
            ++count;
        } while (tensor_next(&src->md, pos));
        if (!pass) *mean = sum / (double)count;
    }
    *var = squares / (double)count;
}

static double at1(const tensor_t *t, int64_t i) { return tensor_get(t, &i); }

static void check(const case_t *c, const data_t *d, bool training, double src_scale, double dst_scale,
                  const char *place) {
    const int64_t of = c->groups ? c->dims[1] / c->groups : 1;
    const int64_t sets = c->groups ? c->dims[0] * c->groups : c->dims[1];
    double *stats = calloc((size_t)(2 * sets + 1), sizeof *stats);
    for (int64_t k = 0; k < sets; ++k) {
        double *s = stats + 2 * k;
        int64_t pos[2] = {c->groups ? k / c->groups : k, c->groups ? k % c->groups : 0};
        if (c->flags & G) {
            s[0] = tensor_get(&d->mean, pos), s[1] = tensor_get(&d->var, pos);
            continue;
        }
        statistics_of(c, &d->src, k, &s[0], &s[1]);
        if (!training) continue;
        const double size = fabs(s[0]) + sqrt(s[1]);
        assert_true(rounds_near(F32, tensor_get(&d->mean, pos), s[0], 1e-6 * size));
        assert_true(rounds_near(F32, tensor_get(&d->var, pos), s[1], 2e-6 * (s[1] + 1e-6 * size * size)));
    }
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    do {
        const double *s = stats + 2 * (c->groups ? pos[0] * c->groups + pos[1] / of : pos[1]);
        const double inv = 1 / sqrt(s[1] + (double)EPS), x = tensor_get(&d->src, pos);
        const double mul = inv * (c->flags & C ? at1(&d->scale, pos[1]) : 1);
        double want = (x - s[0]) * mul, size = fabs(want) + (fabs(x) + fabs(s[0])) * fabs(mul) * .3;
        if (c->flags & H) want += at1(&d->shift, pos[1]), size += fabs(at1(&d->shift, pos[1]));
        if (c->flags & A) want += tensor_get(&d->src1, pos), size += fabs(tensor_get(&d->src1, pos));
        if (training && c->flags & (R | A) && fabs(want) > 1e-6 * size)
            assert_int_equal((int)tensor_get(&d->ws, pos), want > 0);
        if (c->flags & (R | A) && want < 0) want = 0;
        want *= src_scale, size *= src_scale;
        if (c->post == 1 && want < 0) want = 0;
        if (c->post == 2) {
            want += tensor_get_bcast(&d->add, pos), size += fabs(want);
            if (want < 0) want *= .5;
        }
        want /= dst_scale, size /= dst_scale;
        const double got = tensor_get(&d->dst, pos);
        if (!rounds_near(c->ddt, got, want, 2e-6 * size))
            fail_msg(
                "%s: groups %lld, %s -> %s, flags %u, %lld channels: at %lld,%lld,%lld,%lld got %.9g, want "
                "%.9g",
                place, (long long)c->groups, c->src, c->dst ? c->dst : "any", c->flags, (long long)c->dims[1],
                (long long)pos[0], (long long)pos[1], (long long)pos[2], (long long)pos[3], got, want);
    } while (tensor_next(&d->dst.md, pos));
    free(stats);
}

static dnnl_tp_primitive_desc_t make(const case_t *c, dnnl_tp_engine_t engine, bool training, bool scales,
                                     const dtp_md_t *src, const dtp_md_t *dst, const dtp_md_t *add) {
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_post_ops_t po;
    const dnnl_tp_prop_kind_t prop = training ? dnnl_tp_forward_training : dnnl_tp_forward_inference;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    if (c->post == 1) CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_relu, 0, 0));
    if (c->post == 2) {
        CHECK_OK(dnnl_tp_post_ops_append_binary(po, dnnl_tp_binary_add, add));
        CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_relu, .5f, 0));
    }
    if (scales) {
        CHECK_OK(dnnl_tp_primitive_attr_set_scales_mask(attr, DNNL_TP_ARG_SRC, 0));
        CHECK_OK(dnnl_tp_primitive_attr_set_scales_mask(attr, DNNL_TP_ARG_DST, 0));
    }
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
    if (c->groups)
        CHECK_OK(dnnl_tp_group_normalization_forward_primitive_desc_create(&pd, engine, prop, src, dst,
                                                                           c->groups, EPS, c->flags, attr));
    else
        CHECK_OK(dnnl_tp_batch_normalization_forward_primitive_desc_create(&pd, engine, prop, src, dst, EPS,
                                                                           c->flags, attr));
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    return pd;
}

static const dtp_md_t *arg_md(dnnl_tp_primitive_desc_t pd, int arg) {
    return dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_exec_arg_md, arg);
}

static void clear(tensor_t *t) { tensor_blank(t); }

static void run_prop(const case_t *c, bool training, bool scales, data_t *d, const dtp_md_t *dst,
                     test_rng_t *r) {
    int n;
    const place_t *at = places(&n);
    const bool in_place =
        !(c->flags & A) && c->dst && !strcmp(c->src, c->dst) && c->sdt == c->ddt && training;
    float values[2] = {scales ? 3.f : 1.f, scales ? .5f : 1.f};
    unsigned char *first = NULL, *first_ws = NULL, *first_mean = NULL, *first_var = NULL;
    tensor_t copy = {.data = NULL};
    for (int i = 0; i < n; ++i) {
        dnnl_tp_primitive_desc_t pd = make(c, at[i].engine, training, scales, &d->src.md, dst, &d->add.md);
        check_impl(pd, c->impl, c->src);
        const bool stats = training || c->flags & G, ws = training && c->flags & (R | A);
        assert_int_equal(arg_md(pd, DNNL_TP_ARG_MEAN)->ndims, stats ? c->groups ? 2 : 1 : 0);
        assert_int_equal(arg_md(pd, DNNL_TP_ARG_WORKSPACE)->ndims, ws ? c->nd : 0);
        if (i == 0) {
            tensor_init(&d->dst, arg_md(pd, DNNL_TP_ARG_DST));
            tensor_init(&copy, &d->src.md);
            if (stats) tensor_init(&d->mean, arg_md(pd, DNNL_TP_ARG_MEAN));
            if (stats) tensor_init(&d->var, arg_md(pd, DNNL_TP_ARG_VARIANCE));
            if (stats && c->flags & G) tensor_fill(&d->mean, r, -4, 4, false);
            if (stats && c->flags & G) tensor_fill(&d->var, r, .2f, 9, false);
            if (ws) tensor_init(&d->ws, arg_md(pd, DNNL_TP_ARG_WORKSPACE));
            if (c->flags & A) {
                tensor_init(&d->src1, arg_md(pd, DNNL_TP_ARG_SRC_1));
                tensor_fill(&d->src1, r, -2, 2, c->ddt > F32);
            }
        }
        if (copy.bytes) memcpy(copy.data, d->src.data, copy.bytes);
        unsigned char *result = in_place ? copy.data : d->dst.data;
        const dnnl_tp_exec_handle_t args[] = {
            {DNNL_TP_ARG_SRC, copy.data},
            {DNNL_TP_ARG_DST, result},
            {DNNL_TP_ARG_SRC_1, c->flags & A ? d->src1.data : NULL},
            {DNNL_TP_ARG_MEAN, stats ? d->mean.data : NULL},
            {DNNL_TP_ARG_VARIANCE, stats ? d->var.data : NULL},
            {DNNL_TP_ARG_SCALE, c->flags & C ? d->scale.data : NULL},
            {DNNL_TP_ARG_SHIFT, c->flags & H ? d->shift.data : NULL},
            {DNNL_TP_ARG_WORKSPACE, ws ? d->ws.data : NULL},
            {DNNL_TP_ARG_ATTR_SCALES | DNNL_TP_ARG_SRC, scales ? &values[0] : NULL},
            {DNNL_TP_ARG_ATTR_SCALES | DNNL_TP_ARG_DST, scales ? &values[1] : NULL},
            {DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_TP_ARG_SRC_1, c->post == 2 ? d->add.data : NULL}};
        clear(&d->dst);
        if (ws) clear(&d->ws);
        if (stats && !(c->flags & G)) clear(&d->mean), clear(&d->var);
        CHECK_OK(run_pd(&at[i], pd, sizeof args / sizeof *args, args));
        if (in_place && d->dst.bytes) memcpy(d->dst.data, copy.data, d->dst.bytes);
        if (dtp_md_nelems(&d->dst.md) == 0) continue;
        tensor_check(&d->dst, at[i].name);
        if (ws) tensor_check(&d->ws, at[i].name);
        if (at[i].threads == 1) check(c, d, training, values[0], values[1], at[i].name);
        check_same_bits(&at[i], &d->dst, &first, c->src);
        if (ws) check_same_bits(&at[i], &d->ws, &first_ws, c->src);
        if (stats && !(c->flags & G)) {
            check_same_bits(&at[i], &d->mean, &first_mean, c->src);
            check_same_bits(&at[i], &d->var, &first_var, c->src);
        }
    }
    free(first), free(first_ws), free(first_mean), free(first_var);
    tensor_free(&copy);
    tensor_t *const made[] = {&d->dst, &d->mean, &d->var, &d->ws, &d->src1};
    for (size_t i = 0; i < sizeof made / sizeof *made; ++i)
        if (made[i]->data) tensor_free(made[i]), memset(made[i], 0, sizeof *made[i]);
}

static void run_case(const case_t *c, uint64_t stream) {
    test_rng_t r = test_rng(stream);
    data_t d;
    dtp_md_t dst;
    static const char *const plain[] = {"", "a", "ab", "abc", "abcd", "abcde"};
    int64_t channels[5] = {1, c->dims[1], 1, 1, 1};
    memset(&d, 0, sizeof d);
    tensor_layout(&d.src, c->nd, c->dims, c->sdt, c->src);
    tensor_layout(&d.add, c->nd, stream % 2 ? channels : c->dims, F32, plain[c->nd]);
    tensor_layout(&d.scale, 1, &c->dims[1], F32, "a");
    tensor_layout(&d.shift, 1, &c->dims[1], F32, "a");
    if (c->dst) CHECK_OK(dtp_md_init_layout(&dst, c->nd, c->dims, c->ddt, c->dst));
    else CHECK_OK(dtp_md_init_tag(&dst, c->nd, c->dims, c->ddt, dnnl_tp_format_tag_any));
    tensor_fill(&d.src, &r, c->sdt == U8 ? 0.f : -5.f, 9.f, c->sdt > F32);
    tensor_fill(&d.add, &r, -3.f, 3.f, false);
    tensor_fill(&d.scale, &r, -2.f, 2.f, false);
    tensor_fill(&d.shift, &r, -2.f, 2.f, false);
    run_prop(c, false, false, &d, &dst, &r);
    run_prop(c, true, c->groups && stream % 3 == 0, &d, &dst, &r);
    tensor_free(&d.src);
    tensor_free(&d.add);
    tensor_free(&d.scale);
    tensor_free(&d.shift);
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
    static const dnnl_tp_data_type_t types[] = {F32, F32, F32, F32, BF16, F16, S8, U8};
    test_rng_t r = test_rng(177);
    for (int k = 0; k < 60; ++k) {
        case_t c = {.nd = 2 + (int)(test_rand(&r) % 4), .impl = NULL};
        for (int i = 0; i < c.nd; ++i) c.dims[i] = 1 + (int64_t)(test_rand(&r) % 9);
        c.dims[1] = 1 + (int64_t)(test_rand(&r) % 70);
        if (c.nd > 2 && test_rand(&r) % 2) {
            c.groups = 1 + (int64_t)(test_rand(&r) % 6);
            c.dims[1] *= c.groups;
        }
        c.src = layouts[c.nd - 2][test_rand(&r) % 5];
        c.dst = layouts[c.nd - 2][test_rand(&r) % 5];
        c.sdt = types[test_rand(&r) % 8];
        c.ddt = types[test_rand(&r) % 8];
        c.flags = (unsigned)(test_rand(&r) % (c.groups ? 8 : 32));
        c.post = (int)(test_rand(&r) % 3);
        run_case(&c, (uint64_t)(500 + k));
    }
}

/* A mean thousands of times the deviation costs no digits of the variance beyond those of src. */
static void far_means(void **state) {
    (void)state;
    static const char *const layouts[] = {"abcd", "acdb", "aBcd16b"};
    int n;
    const place_t *at = places(&n);
    const int64_t dims[] = {3, 20, 67, 67}, channels[] = {20};
    for (int l = 0; l < 6; ++l)
        for (int i = 0; i < n; ++i) {
            const char *layout = layouts[l % 3];
            const float far = l < 3 ? 1000.f : 10000.f;
            const case_t c = {0, 4, {3, 20, 67, 67}, layout, layout, F32, F32, 0, "simd", 0};
            test_rng_t r = test_rng(9);
            tensor_t src, dst, mean, var;
            tensor_layout(&src, 4, dims, F32, layout);
            tensor_layout(&dst, 4, dims, F32, layout);
            tensor_layout(&mean, 1, channels, F32, "a");
            tensor_layout(&var, 1, channels, F32, "a");
            tensor_fill(&src, &r, far - 1, far + 1, false);
            int64_t zero[DNNL_TP_MAX_NDIMS] = {0};
            tensor_set(&src, zero, -20.); /* the first one is not like the others */
            const dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, src.data},
                                                  {DNNL_TP_ARG_DST, dst.data},
                                                  {DNNL_TP_ARG_MEAN, mean.data},
                                                  {DNNL_TP_ARG_VARIANCE, var.data}};
            CHECK_OK(run_pd(&at[i], make(&c, at[i].engine, true, false, &src.md, &dst.md, NULL), 4, args));
            for (int64_t k = 0; k < 3; ++k) {
                double m, v;
                statistics_of(&c, &src, k, &m, &v);
                assert_true(fabs(at1(&mean, k) - m) < 3e-7 * (double)far);
                assert_true(fabs(at1(&var, k) - v) < 2e-4 * v);
            }
            tensor_free(&src), tensor_free(&dst), tensor_free(&mean), tensor_free(&var);
        }
}

/* What is not a number spoils its own set only, and passes a ReLU. */
static void special_values(void **state) {
    (void)state;
    static const char *const layouts[] = {"abc", "acb"};
    int n;
    const place_t *at = places(&n);
    const int64_t dims[] = {2, 20, 6};
    for (int l = 0; l < 2; ++l)
        for (int groups = 0; groups <= 4; groups += 4)
            for (int i = 0; i < n; ++i) {
                const case_t c = {groups, 3, {2, 20, 6}, layouts[l], layouts[l], F32, F32, 0, "simd", 1};
                test_rng_t r = test_rng(9);
                tensor_t src, dst;
                tensor_layout(&src, 3, dims, F32, layouts[l]);
                tensor_layout(&dst, 3, dims, F32, layouts[l]);
                tensor_fill(&src, &r, -3.f, 3.f, false);
                const int64_t bad[] = {1, 7, 3};
                tensor_set(&src, bad, NAN);
                const dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, src.data},
                                                      {DNNL_TP_ARG_DST, dst.data}};
                CHECK_OK(
                    run_pd(&at[i], make(&c, at[i].engine, false, false, &src.md, &dst.md, NULL), 2, args));
                int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
                do {
                    const bool spoilt = groups ? pos[0] == 1 && pos[1] / 5 == 1 : pos[1] == 7;
                    assert_int_equal(isnan(tensor_get(&dst, pos)), spoilt);
                } while (tensor_next(&dst.md, pos));
                tensor_free(&src), tensor_free(&dst);
            }
}

/* An infinite first element makes the mean of its channel infinite, as a plain sum does. */
static void infinite_means(void **state) {
    (void)state;
    static const char *const layouts[] = {"abc", "acb", "aBc16b"};
    int n;
    const place_t *at = places(&n);
    const int64_t dims[] = {2, 20, 6}, channels[] = {20}, first[DNNL_TP_MAX_NDIMS] = {0};
    for (int l = 0; l < 3; ++l)
        for (int i = 0; i < n; ++i) {
            const case_t c = {0, 3, {2, 20, 6}, layouts[l], layouts[l], F32, F32, 0, "simd", 0};
            test_rng_t r = test_rng(9);
            tensor_t src, dst, mean, var;
            tensor_layout(&src, 3, dims, F32, layouts[l]);
            tensor_layout(&dst, 3, dims, F32, layouts[l]);
            tensor_layout(&mean, 1, channels, F32, "a");
            tensor_layout(&var, 1, channels, F32, "a");
            tensor_fill(&src, &r, -3.f, 3.f, false);
            tensor_set(&src, first, INFINITY);
            const dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, src.data},
                                                  {DNNL_TP_ARG_DST, dst.data},
                                                  {DNNL_TP_ARG_MEAN, mean.data},
                                                  {DNNL_TP_ARG_VARIANCE, var.data}};
            CHECK_OK(run_pd(&at[i], make(&c, at[i].engine, true, false, &src.md, &dst.md, NULL), 4, args));
            for (int64_t k = 0; k < 20; ++k) {
                assert_int_equal(isinf(at1(&mean, k)) != 0, k == 0);
                assert_int_equal(isnan(at1(&var, k)) != 0, k == 0);
            }
            tensor_free(&src), tensor_free(&dst), tensor_free(&mean), tensor_free(&var);
        }
}

static void queries(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    dtp_md_t md, any;
    const int64_t dims[] = {2, 20, 6};
    CHECK_OK(dtp_md_init_layout(&md, 3, dims, F32, "acb"));
    CHECK_OK(dtp_md_init_tag(&any, 3, dims, F32, dnnl_tp_format_tag_any));
    for (int groups = 0; groups <= 4; groups += 4) {
        const case_t c = {groups, 3, {2, 20, 6}, "acb", NULL, F32, F32, C | H | (groups ? 0 : A), "simd", 0};
        dnnl_tp_primitive_desc_t pd = make(&c, at->engine, true, false, &md, &any, NULL);
        unsigned flags = 0;
        float eps = 0;
        int64_t g = 0;
        CHECK_OK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_flags, 0, &flags));
        CHECK_OK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_epsilon_f32, 0, &eps));
        assert_true(flags == c.flags && eps == EPS);
        if (groups) CHECK_OK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_group_size_s64, 0, &g));
        else
            CHECK_STATUS(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_group_size_s64, 0, &g),
                         dnnl_tp_unimplemented);
        assert_int_equal(g, groups);
        assert_true(md_matches(dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_dst_md, 0), "acb"));
        if (!groups) {
            assert_true(
                md_matches(dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_workspace_md, 0), "acb"));
            assert_true(md_matches(arg_md(pd, DNNL_TP_ARG_SRC_1), "acb"));
        }
        CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(table),          cmocka_unit_test(random_cases),
                                       cmocka_unit_test(far_means),      cmocka_unit_test(special_values),
                                       cmocka_unit_test(infinite_means), cmocka_unit_test(queries)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
