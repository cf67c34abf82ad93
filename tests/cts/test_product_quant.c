/* Scales, zero points, small types and blocked destinations of matmul and inner product, on every place,
 * against sums in double: the reference and the micro-kernels alike. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/tensor.h"

enum { MAX_ARGS = 16 };

/* A scale or zero point. */
typedef struct {
    int mask;
    dnnl_tp_dims_t groups;  /* of the last two dims; 0: none */
    dnnl_tp_data_type_t dt; /* 0: there is none */
} quant_t;

typedef struct {
    const char *impl; /* what the implementation's name begins with */
    bool ip;
    int nd;
    dnnl_tp_dims_t src, wei, dst;
    const char *src_layout, *wei_layout, *dst_layout; /* NULL: row-major; wei "": any */
    dnnl_tp_data_type_t src_dt, wei_dt, dst_dt;       /* 0: f32 */
    quant_t scale[3], zp[3];                          /* src, weights, dst */
    bool bias, relu, sum;
    bool big; /* integers at their limits: sums beyond 2^24 */
} case_t;

#define MASK(m) \
    { .mask = (m), .dt = dnnl_tp_f32 }
#define GROUPS(m, a, b) \
    { .mask = (m), .groups = {a, b}, .dt = dnnl_tp_f32 }
#define ZP(m) \
    { .mask = (m), .dt = dnnl_tp_s32 }
#define ZP_GROUPS(m, a, b) \
    { .mask = (m), .groups = {a, b}, .dt = dnnl_tp_s8 }

static const case_t list[] = {
    /* A mask that includes a dim of which the operand has one. */
    {"ref",
     0,
     3,
     {1, 2, 64},
     {3, 64, 2},
     {3, 2, 2},
     .src_dt = dnnl_tp_s8,
     .wei_dt = dnnl_tp_s8,
     .scale = {MASK(7)}},
    {"ref",
     0,
     3,
     {3, 2, 64},
     {1, 64, 2},
     {3, 2, 2},
     .src_dt = dnnl_tp_s8,
     .wei_dt = dnnl_tp_s8,
     .zp = {[1] = ZP_GROUPS(7, 32, 1)}},
    {"ref",
     0,
     4,
     {2, 1, 5, 64},
     {1, 3, 64, 7},
     {2, 3, 5, 7},
     .src_dt = dnnl_tp_u8,
     .wei_dt = dnnl_tp_s8,
     .scale = {MASK(15), GROUPS(15, 16, 1), MASK(8)},
     .zp = {ZP(3), ZP_GROUPS(15, 32, 1), ZP(15)},
     .bias = true},
    /* Blocked destinations. */
    {"ref", 0, 2, {11, 13}, {13, 17}, {11, 17}, .dst_layout = "AB16b16a"},
    {"ref",
     0,
     2,
     {40, 13},
     {13, 70},
     {40, 70},
     .src_layout = "BA16a16b",
     .dst_layout = "AB8b16a",
     .relu = true},
    {"ref", 0, 3, {3, 11, 13}, {3, 13, 17}, {3, 11, 17}, .dst_layout = "aBc16b", .bias = true},
    {"ref",
     0,
     2,
     {11, 300},
     {300, 17},
     {11, 17},
     .wei_layout = "AB4b16a4b",
     .dst_layout = "ab",
     .src_dt = dnnl_tp_bf16,
     .wei_dt = dnnl_tp_bf16},
    {"ref", 1, 2, {3, 3}, {5, 3}, {3, 5}, .dst_layout = "AB16b16a"},
    {"ref",
     1,
     4,
     {17, 3, 2, 2},
     {19, 3, 2, 2},
     {17, 19},
     .dst_layout = "aB16b",
     .wei_layout = "AcdB16b16a",
     .src_dt = dnnl_tp_f16,
     .wei_dt = dnnl_tp_f16,
     .bias = true},
    /* Sums that single precision does not hold. */
    {"ref",
     0,
     2,
     {9, 2050},
     {2050, 11},
     {9, 11},
     .src_dt = dnnl_tp_u8,
     .wei_dt = dnnl_tp_u8,
     .dst_dt = dnnl_tp_s32,
     .big = true},
    {"ref",
     0,
     2,
     {70, 600},
     {600, 130},
     {70, 130},
     .src_dt = dnnl_tp_s8,
     .wei_dt = dnnl_tp_s8,
     .dst_dt = dnnl_tp_s32,
     .zp = {ZP(0), ZP(0)},
     .big = true},
    {"ref",
     1,
     2,
     {9, 2050},
     {11, 2050},
     {9, 11},
     .src_dt = dnnl_tp_u8,
     .wei_dt = dnnl_tp_s8,
     .dst_dt = dnnl_tp_s32,
     .big = true},
    /* Few rows, many rows, tails of every block. */
    {"ref",
     0,
     2,
     {1, 700},
     {700, 1100},
     {1, 1100},
     .src_dt = dnnl_tp_u8,
     .wei_dt = dnnl_tp_s8,
     .dst_dt = dnnl_tp_u8,
     .scale = {MASK(0), MASK(2), MASK(0)},
     .bias = true,
     .relu = true},
    {"ref",
     0,
     2,
     {3, 700},
     {700, 1100},
     {3, 1100},
     .wei_layout = "ba",
     .src_dt = dnnl_tp_f16,
     .wei_dt = dnnl_tp_f16,
     .dst_dt = dnnl_tp_f16},
    {"ref",
     1,
     4,
     {5, 12, 7, 7},
     {70, 12, 7, 7},
     {5, 70},
     .src_dt = dnnl_tp_bf16,
     .wei_dt = dnnl_tp_bf16,
     .dst_dt = dnnl_tp_bf16,
     .src_layout = "acdb",
     .wei_layout = "abcd"},
    {"ref",
     1,
     2,
     {67, 259},
     {131, 259},
     {67, 131},
     .src_dt = dnnl_tp_s8,
     .wei_dt = dnnl_tp_s8,
     .dst_dt = dnnl_tp_s8,
     .scale = {MASK(0), MASK(1), MASK(2)},
     .bias = true,
     .sum = true},
    {"ref",
     0,
     3,
     {5, 33, 257},
     {1, 257, 65},
     {5, 33, 65},
     .src_dt = dnnl_tp_s8,
     .wei_dt = dnnl_tp_s8,
     .scale = {MASK(2), GROUPS(6, 64, 5), MASK(1)},
     .zp = {ZP(4)},
     .sum = true},
    {"ref",
     0,
     2,
     {6, 0},
     {0, 9},
     {6, 9},
     .src_dt = dnnl_tp_s8,
     .wei_dt = dnnl_tp_s8,
     .scale = {MASK(1), MASK(2)},
     .bias = true},
    /* f32 runs on micro-kernels, whatever its scales. */
    {"ukr", 0, 2, {70, 40}, {40, 100}, {70, 100}, .scale = {MASK(0), MASK(0), MASK(0)}},
    {"ukr",
     0,
     2,
     {70, 40},
     {40, 100},
     {70, 100},
     .wei_layout = "",
     .scale = {[1] = MASK(2)},
     .bias = true,
     .relu = true},
    {"ukr",
     0,
     2,
     {70, 40},
     {40, 100},
     {70, 100},
     .wei_layout = "ba",
     .scale = {MASK(1), MASK(2), MASK(3)},
     .sum = true},
    {"ukr", 0, 2, {1, 4100}, {4100, 150}, {1, 150}, .scale = {MASK(3), MASK(2), MASK(2)}, .bias = true},
    {"ukr", 0, 2, {33, 2100}, {2100, 50}, {33, 50}, .scale = {MASK(2), MASK(3)}, .relu = true},
    {"ukr",
     0,
     2,
     {33, 100},
     {100, 50},
     {33, 50},
     .src_layout = "ba",
     .wei_layout = "",
     .scale = {GROUPS(3, 1, 32), GROUPS(3, 32, 1)}},
    {"ukr",
     0,
     2,
     {33, 100},
     {100, 50},
     {33, 50},
     .dst_layout = "ba",
     .scale = {GROUPS(3, 5, 7), GROUPS(3, 7, 3), GROUPS(3, 4, 6)}},
    {"ukr",
     0,
     3,
     {3, 20, 40},
     {3, 40, 30},
     {3, 20, 30},
     .wei_layout = "",
     .scale = {MASK(1), MASK(5), MASK(4)},
     .bias = true},
    {"ukr", 0, 3, {3, 20, 40}, {1, 40, 30}, {3, 20, 30}, .scale = {MASK(7), MASK(7), MASK(7)}},
    {"ukr",
     0,
     4,
     {2, 1, 20, 40},
     {1, 3, 40, 30},
     {2, 3, 20, 30},
     .scale = {MASK(15), GROUPS(15, 16, 1), MASK(3)},
     .sum = true},
    {"ukr",
     0,
     4,
     {2, 3, 9, 40},
     {1, 1, 40, 30},
     {2, 3, 9, 30},
     .dst_dt = dnnl_tp_bf16,
     .scale = {{.mask = 3, .dt = dnnl_tp_bf16}, {.mask = 8, .dt = dnnl_tp_f16}, MASK(0)}},
    {"ukr", 0, 2, {6, 0}, {0, 9}, {6, 9}, .scale = {MASK(1), MASK(2)}, .bias = true},
    {"ukr",
     1,
     2,
     {37, 90},
     {50, 90},
     {37, 50},
     .wei_layout = "",
     .scale = {MASK(1), MASK(1), MASK(2)},
     .bias = true,
     .relu = true},
    {"ukr", 1, 2, {37, 90}, {50, 90}, {37, 50}, .wei_layout = "", .scale = {MASK(3), GROUPS(3, 1, 30)}},
    {"ukr",
     1,
     4,
     {37, 16, 3, 3},
     {50, 16, 3, 3},
     {37, 50},
     .wei_layout = "",
     .scale = {MASK(0), MASK(1), MASK(0)}},
    {"ref", 1, 4, {7, 16, 3, 3}, {20, 16, 3, 3}, {7, 20}, .scale = {MASK(3), MASK(7), MASK(3)}},
};

typedef struct {
    tensor_t src, wei, dst, bia, old, scale[3], zp[3];
} data_t;

static dnnl_tp_data_type_t type_or(dnnl_tp_data_type_t dt, dnnl_tp_data_type_t otherwise) {
    return dt ? dt : otherwise;
}
static const char *const row_major[] = {"", "a", "ab", "abc", "abcd", "abcde"};

static const int quant_arg[] = {DNNL_TP_ARG_SRC, DNNL_TP_ARG_WEIGHTS, DNNL_TP_ARG_DST};

/* Index of the value for an element at pos of what the quantity belongs to. */
static int64_t quant_index(const quant_t *q, const dtp_md_t *md, const int64_t *pos) {
    int64_t at = 0;
    for (int d = 0; d < md->ndims; ++d) {
        if (!(q->mask >> d & 1)) continue;
        const int g = d - (md->ndims - 2);
        const int64_t group = q->groups[0] && g >= 0 ? q->groups[g] : 1;
        at = at * ((md->dims[d] + group - 1) / group) + (md->dims[d] == 1 ? 0 : pos[d] / group);
    }
    return at;
}

static void make_quant(tensor_t *t, const quant_t *q, const dtp_md_t *md, bool scale, test_rng_t *r) {
    int64_t pos[DNNL_TP_MAX_NDIMS];
    for (int d = 0; d < md->ndims; ++d) pos[d] = md->dims[d] ? md->dims[d] - 1 : 0;
    const int64_t n = quant_index(q, md, pos) + 1;
    tensor_layout(t, 1, &n, q->dt, "a");
    tensor_fill(t, r, scale ? 1 : -3, scale ? 4 : 3, true);
    for (int64_t i = 0; scale && i < n; ++i) tensor_set(t, &i, ldexp(1 + tensor_get(t, &i) / 8, -1));
}

static double value(const tensor_t *t, const quant_t *q, const tensor_t *of, const int64_t *pos,
                    double otherwise) {
    if (!q->dt) return otherwise;
    const int64_t at = quant_index(q, &of->md, pos);
    return tensor_get(t, &at);
}

/* Element of dst before rounding, and the magnitude of its terms. */
static double oracle(const case_t *c, const data_t *d, const int64_t *pos, double *size) {
    const int nd = c->nd;
    int64_t sp[DNNL_TP_MAX_NDIMS] = {0}, wp[DNNL_TP_MAX_NDIMS] = {0}, nk = 1;
    double x = 0;
    for (int i = c->ip ? 1 : nd - 1; i < nd; ++i) nk *= c->src[i];
    if (!c->ip) memcpy(sp, pos, sizeof sp), memcpy(wp, pos, sizeof wp);
    *size = 0;
    for (int64_t k = 0; k < nk; ++k) {
        int64_t rest = k;
        sp[0] = c->ip ? pos[0] : sp[0];
        wp[0] = c->ip ? pos[1] : wp[0];
        for (int i = nd - 1; c->ip && i > 0; --i) {
            sp[i] = wp[i] = rest % c->src[i];
            rest /= c->src[i];
        }
        if (!c->ip) sp[nd - 1] = wp[nd - 2] = k;
        const double a = (tensor_get_bcast(&d->src, sp) - value(&d->zp[0], &c->zp[0], &d->src, sp, 0)) *
                         value(&d->scale[0], &c->scale[0], &d->src, sp, 1);
        const double b = (tensor_get_bcast(&d->wei, wp) - value(&d->zp[1], &c->zp[1], &d->wei, wp, 0)) *
                         value(&d->scale[1], &c->scale[1], &d->wei, wp, 1);
        x += a * b;
        *size += fabs(a * b);
    }
    if (c->bias) {
        const double y = c->ip ? tensor_get(&d->bia, pos + 1) : tensor_get_bcast(&d->bia, pos);
        x += y;
        *size += fabs(y);
    }
    if (c->sum) x += tensor_get(&d->old, pos), *size += fabs(tensor_get(&d->old, pos));
    if (c->relu && x < 0) x = 0;
    const double by = value(&d->scale[2], &c->scale[2], &d->dst, pos, 1);
    *size /= by;
    return x / by + value(&d->zp[2], &c->zp[2], &d->dst, pos, 0);
}

static void fill_operand(tensor_t *t, const case_t *c, test_rng_t *r) {
    const bool ints = t->md.data_type == dnnl_tp_s8 || t->md.data_type == dnnl_tp_u8;
    const float top = t->md.data_type == dnnl_tp_u8 ? 255 : 127;
    if (c->big) tensor_fill(t, r, top - 3, top, true);
    else tensor_fill(t, r, t->md.data_type == dnnl_tp_u8 ? 0 : -4, 4, ints);
}

static dnnl_tp_primitive_desc_t create(const case_t *c, const data_t *d, dnnl_tp_engine_t engine) {
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_post_ops_t ops;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_post_ops_create(&ops));
    if (c->sum) CHECK_OK(dnnl_tp_post_ops_append_sum(ops, 1, 0, dnnl_tp_data_type_undef));
    if (c->relu) CHECK_OK(dnnl_tp_post_ops_append_eltwise(ops, dnnl_tp_eltwise_relu, 0, 0));
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, ops));
    CHECK_OK(dnnl_tp_post_ops_destroy(ops));
    for (int i = 0; i < 3; ++i) {
        const quant_t *s = &c->scale[i], *z = &c->zp[i];
        if (s->dt)
            CHECK_OK(dnnl_tp_primitive_attr_set_scales(attr, quant_arg[i], s->mask, s->groups[0] ? 2 : 0,
                                                       s->groups, s->dt));
        if (z->dt)
            CHECK_OK(dnnl_tp_primitive_attr_set_zero_points(attr, quant_arg[i], z->mask, z->groups[0] ? 2 : 0,
                                                            z->groups, z->dt));
    }
    dtp_md_t wei = d->wei.md;
    if (c->wei_layout && !*c->wei_layout)
        CHECK_OK(dtp_md_init_tag(&wei, c->nd, c->wei, wei.data_type, dnnl_tp_format_tag_any));
    const dtp_md_t *bia = c->bias ? &d->bia.md : NULL;
    dnnl_tp_primitive_desc_t pd;
    if (c->ip)
        CHECK_OK(dnnl_tp_inner_product_forward_primitive_desc_create(
            &pd, engine, dnnl_tp_forward_inference, &d->src.md, &wei, bia, &d->dst.md, attr));
    else CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, engine, &d->src.md, &wei, bia, &d->dst.md, attr));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    return pd;
}

static void make_data(data_t *d, const case_t *c) {
    test_rng_t r = test_rng(5);
    memset(d, 0, sizeof *d);
    const int dst_nd = c->ip ? 2 : c->nd;
    const dnnl_tp_data_type_t f32 = dnnl_tp_f32;
    const bool any = c->wei_layout && !*c->wei_layout;
    tensor_layout(&d->src, c->nd, c->src, type_or(c->src_dt, f32),
                  c->src_layout ? c->src_layout : row_major[c->nd]);
    tensor_layout(&d->wei, c->nd, c->wei, type_or(c->wei_dt, f32),
                  c->wei_layout && !any ? c->wei_layout : row_major[c->nd]);
    tensor_layout(&d->dst, dst_nd, c->dst, type_or(c->dst_dt, f32),
                  c->dst_layout ? c->dst_layout : row_major[dst_nd]);
    tensor_layout(&d->old, dst_nd, c->dst, type_or(c->dst_dt, f32),
                  c->dst_layout ? c->dst_layout : row_major[dst_nd]);
    if (c->bias && c->ip) tensor_layout(&d->bia, 1, &c->dst[1], f32, "a");
    if (c->bias && !c->ip) {
        dnnl_tp_dims_t dims = {1, 1, 1, 1, 1};
        dims[c->nd - 1] = c->dst[c->nd - 1];
        tensor_layout(&d->bia, c->nd, dims, f32, row_major[c->nd]);
    }
    fill_operand(&d->src, c, &r);
    fill_operand(&d->wei, c, &r);
    if (c->bias) tensor_fill(&d->bia, &r, -9, 9, true);
    tensor_fill(&d->old, &r, -9, 9, true);
    const dtp_md_t *md[] = {&d->src.md, &d->wei.md, &d->dst.md};
    for (int i = 0; i < 3; ++i) {
        if (c->scale[i].dt) make_quant(&d->scale[i], &c->scale[i], md[i], true, &r);
        if (c->zp[i].dt) make_quant(&d->zp[i], &c->zp[i], md[i], false, &r);
    }
}

static void free_data(data_t *d) {
    tensor_t *all[] = {&d->src, &d->wei, &d->dst, &d->bia, &d->old};
    for (int i = 0; i < 5; ++i)
        if (all[i]->data) tensor_free(all[i]);
    for (int i = 0; i < 3; ++i) {
        if (d->scale[i].data) tensor_free(&d->scale[i]);
        if (d->zp[i].data) tensor_free(&d->zp[i]);
    }
}

/* What the oracle says of every element; owned by the caller. */
typedef struct {
    double value, size;
} want_t;

static want_t *make_want(const case_t *c, const data_t *d) {
    want_t *want = malloc(((size_t)dtp_md_nelems(&d->dst.md) + 1) * sizeof *want), *w = want;
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    assert_non_null(want);
    if (dtp_md_nelems(&d->dst.md) == 0) return want;
    do w->value = oracle(c, d, pos, &w->size), ++w;
    while (tensor_next(&d->dst.md, pos));
    return want;
}

static void check_values(const case_t *c, const data_t *d, const want_t *want, const char *what) {
    const dnnl_tp_data_type_t dt = d->dst.md.data_type;
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    const bool exact = c->big || dt == dnnl_tp_s32;
    tensor_check(&d->dst, what);
    if (dtp_md_nelems(&d->dst.md) == 0) return;
    do {
        const double got = tensor_get(&d->dst, pos);
        if (!rounds_near(dt, got, want->value, exact ? 0 : 4e-7 * want->size + 1e-6))
            fail_msg("%s at %lld, %lld: got %.10g, want %.10g", what, (long long)pos[0], (long long)pos[1],
                     got, want->value);
        ++want;
    } while (tensor_next(&d->dst.md, pos));
}

static void values(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    for (size_t i = 0; i < sizeof list / sizeof *list; ++i) {
        const case_t *c = &list[i];
        unsigned char *first = NULL;
        data_t d;
        make_data(&d, c);
        want_t *want = make_want(c, &d);
        for (int t = 0; t < n; ++t) {
            char what[96];
            snprintf(what, sizeof what, "case %zu on %s, %d threads", i, at[t].name, at[t].threads);
            dnnl_tp_primitive_desc_t pd = create(c, &d, at[t].engine);
            check_impl(pd, c->impl, what);
            /* Weights of format any: as the implementation wants them. */
            tensor_t packed = {.data = NULL};
            if (c->wei_layout && !*c->wei_layout) {
                tensor_init(&packed, dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_weights_md, 0));
                test_rng_t r = test_rng(1);
                tensor_fill(&packed, &r, 0, 0, true);
                int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
                do tensor_set(&packed, pos, tensor_get(&d.wei, pos));
                while (tensor_next(&d.wei.md, pos));
            }
            dnnl_tp_exec_handle_t args[MAX_ARGS];
            int na = 0;
            args[na++] = (dnnl_tp_exec_handle_t){DNNL_TP_ARG_SRC, d.src.data};
            args[na++] = (dnnl_tp_exec_handle_t){DNNL_TP_ARG_WEIGHTS, packed.data ? packed.data : d.wei.data};
            args[na++] = (dnnl_tp_exec_handle_t){DNNL_TP_ARG_DST, d.dst.data};
            if (c->bias) args[na++] = (dnnl_tp_exec_handle_t){DNNL_TP_ARG_BIAS, d.bia.data};
            for (int q = 0; q < 3; ++q) {
                if (c->scale[q].dt)
                    args[na++] =
                        (dnnl_tp_exec_handle_t){DNNL_TP_ARG_ATTR_SCALES | quant_arg[q], d.scale[q].data};
                if (c->zp[q].dt)
                    args[na++] =
                        (dnnl_tp_exec_handle_t){DNNL_TP_ARG_ATTR_ZERO_POINTS | quant_arg[q], d.zp[q].data};
            }
            /* What was there before: the old dst, and anything but zeros in its padding. */
            tensor_blank(&d.dst);
            int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
            if (c->sum) do
                    tensor_set(&d.dst, pos, tensor_get(&d.old, pos));
                while (tensor_next(&d.dst.md, pos));
            CHECK_OK(run_pd(&at[t], pd, na, args));
            check_values(c, &d, want, what);
            check_same_bits(&at[t], &d.dst, &first, what);
            if (packed.data) tensor_free(&packed);
        }
        free(first);
        free(want);
        free_data(&d);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(values)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
