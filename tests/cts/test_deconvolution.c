/* Deconvolution against a double-precision reference that spreads each element of src: shapes, groups, strides, dilation,
 * padding, layouts, post-operations, types; on every instruction set and thread count, bit-equal over threads. Values are
 * small whole numbers, so that sums are exact. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/tensor.h"

#define F32 dnnl_tp_f32
#define BF16 dnnl_tp_bf16

typedef enum { END, RELU, CLIP, SUM, ADD, ADD_CHANNEL, MUL_CHANNEL, PRELU } step_t;
enum { MAX_STEPS = 4 };

/* Spatial dimensions from the outermost one; groups 0: weights without that dimension, channels are of a group. */
typedef struct {
    int ns;
    int64_t n, groups, ic, oc, in[3], ker[3];
    dnnl_tp_dims_t stride, dil, left, right;
    bool bias;
    step_t chain[MAX_STEPS];
    const char *src, *wei, *dst;            /* layouts; NULL: any */
    dnnl_tp_data_type_t sdt, wdt, bdt, ddt; /* 0: f32 */
    const char *impl;
} case_t;

typedef struct {
    tensor_t src, wei, bia, dst, old, step[MAX_STEPS];
    int nsteps;
    dnnl_tp_primitive_attr_t attr;
} data_t;

static int64_t groups_of(const case_t *c) { return c->groups ? c->groups : 1; }

static void dst_dims(const case_t *c, int64_t dims[5]) {
    dims[0] = c->n;
    dims[1] = groups_of(c) * c->oc;
    for (int i = 0; i < c->ns; ++i)
        dims[2 + i] =
            (c->in[i] - 1) * c->stride[i] + (c->ker[i] - 1) * (c->dil[i] + 1) + 1 - c->left[i] - c->right[i];
}

static void make_md(dtp_md_t *md, int nd, const int64_t *dims, dnnl_tp_data_type_t dt, const char *layout) {
    if (layout) CHECK_OK(dtp_md_init_layout(md, nd, dims, dt ? dt : F32, layout));
    else CHECK_OK(dtp_md_init_tag(md, nd, dims, dt ? dt : F32, dnnl_tp_format_tag_any));
}

static dnnl_tp_status_t make_pd(const case_t *c, const data_t *d, dnnl_tp_engine_t engine,
                                dnnl_tp_primitive_desc_t *pd) {
    const int nd = c->ns + 2, grouped = c->groups > 0;
    const int64_t g = groups_of(c);
    int64_t src[5] = {c->n, g * c->ic}, wei[6] = {g, c->oc, c->ic}, dst[5];
    for (int i = 0; i < c->ns; ++i) src[2 + i] = c->in[i], wei[3 + i] = c->ker[i];
    dst_dims(c, dst);
    dtp_md_t smd, wmd, bmd, dmd;
    make_md(&smd, nd, src, c->sdt, c->src);
    make_md(&wmd, nd + grouped, wei + !grouped, c->wdt, c->wei);
    make_md(&bmd, 1, &dst[1], c->bdt, NULL);
    make_md(&dmd, nd, dst, c->ddt, c->dst);
    return dnnl_tp_deconvolution_forward_primitive_desc_create(
        pd, engine, dnnl_tp_forward_inference, dnnl_tp_deconvolution_direct, &smd, &wmd,
        c->bias ? &bmd : NULL, &dmd, c->stride, c->dil, c->left, c->right, d->attr);
}

static void make_chain(const case_t *c, data_t *d) {
    static const char *const plain[] = {"abc", "abcd", "abcde"}, *const last[] = {"acb", "acdb", "acdeb"};
    dnnl_tp_post_ops_t po;
    CHECK_OK(dnnl_tp_primitive_attr_create(&d->attr));
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    for (d->nsteps = 0; d->nsteps < MAX_STEPS && c->chain[d->nsteps]; ++d->nsteps) {
        tensor_t *t = &d->step[d->nsteps];
        const step_t s = c->chain[d->nsteps];
        int64_t dims[5];
        dst_dims(c, dims);
        if (s > ADD)
            for (int i = 0; i < c->ns + 2; ++i) dims[i] = i == 1 ? dims[i] : 1;
        if (s >= ADD) tensor_layout(t, c->ns + 2, dims, F32, s == ADD ? last[c->ns - 1] : plain[c->ns - 1]);
        if (s == RELU) CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_relu, .5f, 0.f));
        else if (s == CLIP) CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_clip, -2.f, 6.f));
        else if (s == SUM) CHECK_OK(dnnl_tp_post_ops_append_sum(po, .5f, 0, dnnl_tp_data_type_undef));
        else if (s == PRELU) CHECK_OK(dnnl_tp_post_ops_append_prelu(po, 2));
        else
            CHECK_OK(dnnl_tp_post_ops_append_binary(
                po, s == MUL_CHANNEL ? dnnl_tp_binary_mul : dnnl_tp_binary_add, &t->md));
    }
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(d->attr, po));
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
}

static int64_t index_of(const dtp_md_t *md, const int64_t *pos) {
    int64_t k = 0;
    for (int d = 0; d < md->ndims; ++d) k = k * md->dims[d] + pos[d];
    return k;
}

static double chain(const case_t *c, const data_t *d, const int64_t *pos, double x) {
    for (int i = 0; i < d->nsteps; ++i) {
        const double y = c->chain[i] >= ADD ? tensor_get_bcast(&d->step[i], pos) : 0;
        switch (c->chain[i]) {
        case RELU: x = x < 0 ? 0.5 * x : x; break;
        case CLIP: x = fmin(fmax(x, -2), 6); break;
        case SUM: x += 0.5 * tensor_get(&d->old, pos); break;
        case MUL_CHANNEL: x *= y; break;
        case PRELU: x = x < 0 ? x * y : x; break;
        default: x += y;
        }
    }
    return x;
}

/* Every element of src times every element of its kernel, to where it goes. */
static double *expected(const case_t *c, const data_t *d) {
    const dtp_md_t *md = &d->dst.md;
    double *want = calloc((size_t)(dtp_md_nelems(md) + 1), sizeof *want);
    assert_non_null(want);
    const int grouped = c->groups > 0;
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    if (dtp_md_nelems(md) == 0) return want;
    if (dtp_md_nelems(&d->src.md) > 0) do {
            const int64_t g = pos[1] / c->ic;
            int64_t w[6] = {g, 0, pos[1] % c->ic}, k[3] = {0}, to[5] = {pos[0]};
            const double x = tensor_get(&d->src, pos);
            for (bool more = true; more;) {
                bool inside = true;
                for (int s = 0; s < c->ns; ++s) {
                    to[2 + s] = pos[2 + s] * c->stride[s] - c->left[s] + k[s] * (c->dil[s] + 1);
                    w[3 + s] = k[s];
                    inside &= to[2 + s] >= 0 && to[2 + s] < md->dims[2 + s];
                }
                for (w[1] = 0; inside && w[1] < c->oc; ++w[1]) {
                    to[1] = g * c->oc + w[1];
                    want[index_of(md, to)] += x * tensor_get(&d->wei, w + !grouped);
                }
                int s = c->ns - 1;
                while (s >= 0 && ++k[s] == c->ker[s]) k[s--] = 0;
                more = s >= 0;
            }
        } while (tensor_next(&d->src.md, pos));
    memset(pos, 0, sizeof pos);
    do {
        double *x = &want[index_of(md, pos)];
        *x = chain(c, d, pos, *x + (c->bias ? tensor_get(&d->bia, &pos[1]) : 0));
    } while (tensor_next(md, pos));
    return want;
}

static void check(const case_t *c, const data_t *d, const double *want, const char *place) {
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    if (dtp_md_nelems(&d->dst.md) == 0) return;
    do {
        const double got = tensor_get(&d->dst, pos), w = want[index_of(&d->dst.md, pos)];
        if (!rounds_near(d->dst.md.data_type, got, w, 0))
            fail_msg("%s: %dD n%lld g%lld ic%lld oc%lld in %lldx%lldx%lld kernel %lldx%lldx%lld stride %lld "
                     "dilation %lld: "
                     "at %lld,%lld,%lld,%lld got %.9g, want %.9g",
                     place, c->ns, (long long)c->n, (long long)c->groups, (long long)c->ic, (long long)c->oc,
                     (long long)c->in[0], (long long)c->in[1], (long long)c->in[2], (long long)c->ker[0],
                     (long long)c->ker[1], (long long)c->ker[2], (long long)c->stride[0],
                     (long long)c->dil[0], (long long)pos[0], (long long)pos[1], (long long)pos[2],
                     (long long)pos[3], got, w);
    } while (tensor_next(&d->dst.md, pos));
}

static void run_case(case_t c, uint64_t stream) {
    test_rng_t r = test_rng(stream);
    data_t d;
    memset(&d, 0, sizeof d);
    for (int i = 0; i < c.ns; ++i) {
        if (!c.stride[i]) c.stride[i] = 1;
        if (!c.ker[i]) c.ker[i] = 1;
    }
    make_chain(&c, &d);
    double *want = NULL;
    int n;
    const place_t *at = places(&n);
    unsigned char *first = NULL;
    for (int p = 0; p < n; ++p) {
        dnnl_tp_primitive_desc_t pd;
        CHECK_OK(make_pd(&c, &d, at[p].engine, &pd));
        check_impl(pd, c.impl ? c.impl : "ukr", "deconvolution");
        if (p == 0) {
            tensor_init(&d.src, dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_src_md, 0));
            tensor_init(&d.wei, dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_weights_md, 0));
            tensor_init(&d.dst, dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_dst_md, 0));
            tensor_init(&d.old, &d.dst.md);
            if (c.bias) tensor_init(&d.bia, dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_weights_md, 1));
            tensor_fill(&d.src, &r, c.sdt == dnnl_tp_u8 ? 0.f : -3.f, 3.f, true);
            tensor_fill(&d.wei, &r, -2.f, 2.f, true);
            tensor_fill(&d.old, &r, c.ddt == dnnl_tp_u8 ? 0.f : -5.f, 5.f, true);
            if (c.bias) tensor_fill(&d.bia, &r, -4.f, 4.f, true);
            for (int i = 0; i < d.nsteps; ++i)
                if (d.step[i].data) tensor_fill(&d.step[i], &r, -3.f, 3.f, true);
            want = expected(&c, &d);
        }
        memcpy(d.dst.data, d.old.data, d.dst.bytes);
        dnnl_tp_exec_handle_t args[4 + MAX_STEPS] = {
            {DNNL_TP_ARG_SRC, d.src.data}, {DNNL_TP_ARG_WEIGHTS, d.wei.data}, {DNNL_TP_ARG_DST, d.dst.data}};
        int nargs = 3;
        if (c.bias) args[nargs++] = (dnnl_tp_exec_handle_t){DNNL_TP_ARG_BIAS, d.bia.data};
        for (int i = 0; i < d.nsteps; ++i)
            if (d.step[i].data)
                args[nargs++] = (dnnl_tp_exec_handle_t){
                    DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(i) |
                        (c.chain[i] == PRELU ? DNNL_TP_ARG_WEIGHTS : DNNL_TP_ARG_SRC_1),
                    d.step[i].data};
        CHECK_OK(run_pd(&at[p], pd, nargs, args));
        if (dtp_md_nelems(&d.dst.md)) tensor_check(&d.dst, at[p].name);
        if (at[p].threads == 1) check(&c, &d, want, at[p].name);
        check_same_bits(&at[p], &d.dst, &first, "deconvolution");
    }
    free(first);
    free(want);
    tensor_free(&d.src);
    tensor_free(&d.wei);
    tensor_free(&d.dst);
    tensor_free(&d.old);
    if (c.bias) tensor_free(&d.bia);
    for (int i = 0; i < d.nsteps; ++i)
        if (d.step[i].data) tensor_free(&d.step[i]);
    CHECK_OK(dnnl_tp_primitive_attr_destroy(d.attr));
}

#define RUN(...) run_case((case_t){__VA_ARGS__}, (uint64_t)__LINE__)
#define TWICE .ker = {4, 4}, .stride = {2, 2}, .left = {1, 1}, .right = {1, 1}

/* Channels around the blocks, and columns from one on. */
static void tails(void **state) {
    (void)state;
    static const int64_t ocs[] = {1, 15, 16, 17, 33, 49, 65}, ics[] = {1, 2, 7, 16, 33};
    for (int o = 0; o < 7; ++o)
        for (int i = 0; i < 5; ++i)
            RUN(.ns = 2, .n = 1, .ic = ics[i], .oc = ocs[o], .in = {3, 4}, TWICE, .bias = (o + i) % 2);
    for (int64_t w = 1; w < 14; ++w) {
        RUN(.ns = 2, .n = 2, .ic = 5, .oc = 18, .in = {3, w}, TWICE, .bias = true, .chain = {RELU});
        RUN(.ns = 1, .n = 1, .ic = 4, .oc = 33, .in = {w}, .ker = {3}, .stride = {2}, .right = {-1});
    }
}

/* Kernels, strides, dilations and paddings against each other. */
static void windows(void **state) {
    (void)state;
    for (int64_t k = 1; k < 6; ++k)
        for (int64_t s = 1; s < 5; ++s)
            for (int64_t dil = 0; dil < 3; ++dil) {
                const int64_t range = (k - 1) * (dil + 1) + 1, left = range > 2 ? range / 2 : 0;
                RUN(.ns = 1, .n = 2, .ic = 3, .oc = 5, .in = {6}, .ker = {k}, .stride = {s}, .dil = {dil},
                    .left = {left}, .right = {s > 1 ? -1 : 0}, .bias = true);
                RUN(.ns = 2, .n = 1, .ic = 3, .oc = 17, .in = {4, 5}, .ker = {k, 2}, .stride = {s, 3},
                    .dil = {dil, 1}, .left = {left, 0}, .right = {0, 1});
            }
    RUN(.ns = 3, .n = 2, .ic = 6, .oc = 19, .in = {2, 3, 4}, .ker = {3, 3, 3}, .stride = {2, 2, 2},
        .left = {1, 1, 1}, .right = {1, 0, 1}, .bias = true);
    RUN(.ns = 3, .n = 1, .ic = 3, .oc = 16, .in = {3, 4, 2}, .ker = {2, 3, 1}, .stride = {2, 1, 3},
        .dil = {1, 2, 0}, .left = {0, 4, 0}, .right = {1, 1, -2});
    /* Nothing but padding at the borders; a kernel that is never whole. */
    RUN(.ns = 2, .n = 1, .ic = 3, .oc = 4, .in = {7, 7}, .ker = {3, 3}, .left = {3, 3}, .right = {3, 3});
    RUN(.ns = 2, .n = 1, .ic = 3, .oc = 4, .in = {2, 2}, .ker = {9, 9}, .left = {4, 4}, .right = {4, 4});
    RUN(.ns = 2, .n = 1, .ic = 16, .oc = 32, .in = {14, 14}, .ker = {2, 2}, .stride = {2, 2}, .bias = true,
        .chain = {RELU});
    RUN(.ns = 2, .n = 1, .ic = 400, .oc = 33, .in = {4, 3}, TWICE, .bias = true, .chain = {SUM});
    RUN(.ns = 2, .n = 2, .ic = 16, .oc = 24, .in = {20, 20}, TWICE, .bias = true);
    RUN(.ns = 1, .n = 1, .ic = 2, .oc = 3, .in = {9}, .ker = {3}, .stride = {40}, .right = {-39});
}

static void groups(void **state) {
    (void)state;
    RUN(.ns = 2, .n = 2, .groups = 1, .ic = 7, .oc = 18, .in = {3, 5}, TWICE, .bias = true);
    RUN(.ns = 2, .n = 2, .groups = 3, .ic = 4, .oc = 16, .in = {3, 5}, TWICE, .bias = true, .chain = {RELU});
    RUN(.ns = 2, .n = 1, .groups = 2, .ic = 5, .oc = 7, .in = {3, 5}, TWICE, .chain = {ADD, RELU});
    RUN(.ns = 2, .n = 1, .groups = 21, .ic = 1, .oc = 1, .in = {4, 5}, TWICE, .bias = true, .chain = {RELU});
    RUN(.ns = 1, .n = 2, .groups = 17, .ic = 1, .oc = 1, .in = {9}, .ker = {3}, .left = {1}, .right = {1});
    RUN(.ns = 2, .n = 1, .groups = 5, .ic = 1, .oc = 2, .in = {4, 5}, TWICE);
    RUN(.ns = 3, .n = 1, .groups = 2, .ic = 3, .oc = 5, .in = {2, 2, 3}, .ker = {2, 2, 2},
        .stride = {2, 2, 2});
}

static void layouts(void **state) {
    (void)state;
    static const char *const images[] = {"abcd", "acdb", "aBcd16b", "aBcd8b", "cdba", NULL};
    static const char *const weights[] = {"abcd", "bacd", "cdba", "ABcd16a16b", "Acdb16a", NULL};
    for (int s = 0; s < 6; ++s)
        for (int w = 0; w < 6; ++w)
            RUN(.ns = 2, .n = 2, .ic = 18, .oc = 20, .in = {3, 5}, TWICE, .bias = w % 2, .src = images[s],
                .wei = weights[w], .dst = images[(s + w) % 6], .chain = {w % 3 ? RELU : END});
    RUN(.ns = 2, .n = 2, .groups = 2, .ic = 9, .oc = 20, .in = {3, 5}, TWICE, .src = "abcd", .wei = "acbde",
        .dst = "abcd", .bias = true);
}

static void chains(void **state) {
    (void)state;
    static const step_t list[][MAX_STEPS] = {{RELU},
                                             {CLIP},
                                             {SUM},
                                             {ADD},
                                             {ADD_CHANNEL},
                                             {MUL_CHANNEL, SUM},
                                             {PRELU},
                                             {ADD, RELU},
                                             {SUM, RELU, ADD},
                                             {ADD, SUM, PRELU, CLIP}};
    static const char *const dst[] = {"acdb", "abcd", "aBcd16b"};
    for (size_t i = 0; i < sizeof list / sizeof *list; ++i)
        for (int l = 0; l < 3; ++l) {
            case_t c = {
                .ns = 2, .n = 2, .ic = 6, .oc = 21, .in = {4, 3}, TWICE, .bias = i % 2, .dst = dst[l]};
            memcpy(c.chain, list[i], sizeof c.chain);
            run_case(c, 4000 + i);
            c.groups = 3;
            run_case(c, 4100 + i);
        }
}

static void types(void **state) {
    (void)state;
    static const dnnl_tp_data_type_t list[] = {F32, BF16, dnnl_tp_f16};
    for (int s = 0; s < 3; ++s)
        for (int d = 0; d < 3; ++d)
            RUN(.ns = 2, .n = 1, .ic = 9, .oc = 17, .in = {4, 3}, TWICE, .bias = true, .sdt = list[s],
                .wdt = list[s], .bdt = list[d], .ddt = list[d], .chain = {d ? RELU : SUM});
    RUN(.ns = 2, .n = 1, .ic = 9, .oc = 17, .in = {4, 3}, TWICE, .sdt = BF16, .wdt = F32);
    RUN(.ns = 2, .n = 1, .ic = 9, .oc = 17, .in = {4, 3}, TWICE, .ddt = dnnl_tp_s8, .chain = {SUM, RELU});
    RUN(.ns = 2, .n = 1, .ic = 9, .oc = 17, .in = {4, 3}, TWICE, .sdt = dnnl_tp_u8, .wdt = dnnl_tp_s8,
        .ddt = dnnl_tp_s32, .impl = "ref");
}

static void empty(void **state) {
    (void)state;
    RUN(.ns = 2, .n = 0, .ic = 3, .oc = 4, .in = {3, 4}, TWICE, .impl = "ref");
    RUN(.ns = 2, .n = 1, .ic = 3, .oc = 0, .in = {3, 4}, TWICE, .impl = "ref");
    RUN(.ns = 2, .n = 1, .ic = 0, .oc = 4, .in = {3, 4}, TWICE, .bias = true, .impl = "ref");
    RUN(.ns = 2, .n = 2, .ic = 3, .oc = 4, .in = {1, 4}, .ker = {2, 2}, .left = {1, 0}, .right = {1, 0},
        .impl = "ref");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tails),  cmocka_unit_test(windows),
                                       cmocka_unit_test(groups), cmocka_unit_test(layouts),
                                       cmocka_unit_test(chains), cmocka_unit_test(types),
                                       cmocka_unit_test(empty)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
