/* Convolution against a double-precision reference of the test: shapes, groups, strides, dilation, padding, layouts,
 * post-operations, types; on every instruction set and thread count, bit-equal over threads. Values are small whole
 * numbers, so that sums are exact. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/problems/convolution.h"
#include "support/tensor.h"

#define F32 dnnl_tp_f32

/* Post-operations. */
typedef enum {
    END,
    RELU,
    LEAKY,
    CLIP,
    TANH,
    SUM,
    SUM_HALF,
    ADD,
    ADD_CHANNEL,
    ADD_PIXEL,
    MUL_CHANNEL,
    PRELU
} step_t;
enum { MAX_STEPS = 5 };

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
    for (int i = 0; i < c->ns; ++i) {
        const int64_t room = c->in[i] + c->left[i] + c->right[i] - (c->ker[i] - 1) * (c->dil[i] + 1) - 1;
        dims[2 + i] = room < 0 ? 0 : room / c->stride[i] + 1;
    }
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
    return dnnl_tp_convolution_forward_primitive_desc_create(
        pd, engine, dnnl_tp_forward_inference, dnnl_tp_convolution_direct, &smd, &wmd, c->bias ? &bmd : NULL,
        &dmd, c->stride, c->dil, c->left, c->right, d->attr);
}

static void make_chain(const case_t *c, data_t *d) {
    dnnl_tp_post_ops_t po;
    dnnl_tp_dims_t dims;
    CHECK_OK(dnnl_tp_primitive_attr_create(&d->attr));
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    for (d->nsteps = 0; d->nsteps < MAX_STEPS && c->chain[d->nsteps]; ++d->nsteps) {
        tensor_t *t = &d->step[d->nsteps];
        const step_t s = c->chain[d->nsteps];
        dst_dims(c, dims);
        if (s == ADD_CHANNEL || s == MUL_CHANNEL || s == PRELU)
            for (int i = 0; i < c->ns + 2; ++i) dims[i] = i == 1 ? dims[i] : 1;
        if (s == ADD_PIXEL) dims[1] = 1;
        if (s == ADD)
            tensor_layout(t, c->ns + 2, dims, F32,
                          c->dst ? c->dst : (const char *[]){"acb", "acdb", "acdeb"}[c->ns - 1]);
        else if (s >= ADD_CHANNEL)
            tensor_layout(t, c->ns + 2, dims, F32, (const char *[]){"abc", "abcd", "abcde"}[c->ns - 1]);
        if (s == RELU) CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_relu, 0.f, 0.f));
        else if (s == LEAKY) CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_relu, 0.5f, 0.f));
        else if (s == CLIP) CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_clip, -2.f, 6.f));
        else if (s == TANH) CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_tanh, 0.f, 0.f));
        else if (s == SUM || s == SUM_HALF)
            CHECK_OK(dnnl_tp_post_ops_append_sum(po, s == SUM ? 1.f : 0.5f, 0, dnnl_tp_data_type_undef));
        else if (s == PRELU) CHECK_OK(dnnl_tp_post_ops_append_prelu(po, 2));
        else
            CHECK_OK(dnnl_tp_post_ops_append_binary(
                po, s == MUL_CHANNEL ? dnnl_tp_binary_mul : dnnl_tp_binary_add, &t->md));
    }
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(d->attr, po));
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
}

/* The sum at pos, by the definition. */
static double oracle(const case_t *c, const data_t *d, const int64_t *pos, double *magnitude) {
    const int grouped = c->groups > 0;
    const int64_t g = pos[1] / c->oc;
    int64_t k[3] = {0}, at[5] = {pos[0]}, w[6] = {g, pos[1] % c->oc};
    double sum = c->bias ? tensor_get(&d->bia, &pos[1]) : 0;
    *magnitude = fabs(sum);
    for (int64_t i = 0; i < c->ic; ++i) {
        at[1] = g * c->ic + i;
        w[2] = i;
        memset(k, 0, sizeof k);
        for (bool more = true; more;) {
            bool inside = true;
            for (int s = 0; s < c->ns; ++s) {
                at[2 + s] = pos[2 + s] * c->stride[s] - c->left[s] + k[s] * (c->dil[s] + 1);
                w[3 + s] = k[s];
                inside &= at[2 + s] >= 0 && at[2 + s] < c->in[s];
            }
            if (inside) {
                const double x = tensor_get(&d->src, at) * tensor_get(&d->wei, w + !grouped);
                sum += x;
                *magnitude += fabs(x);
            }
            int s = c->ns - 1;
            while (s >= 0 && ++k[s] == c->ker[s]) k[s--] = 0;
            more = s >= 0;
        }
    }
    return sum;
}

static double chain(const case_t *c, const data_t *d, const int64_t *pos, double x) {
    for (int i = 0; i < d->nsteps; ++i) {
        const double y = c->chain[i] >= ADD ? tensor_get_bcast(&d->step[i], pos) : 0;
        switch (c->chain[i]) {
        case RELU: x = x < 0 ? 0 : x; break;
        case LEAKY: x = x < 0 ? 0.5 * x : x; break;
        case CLIP: x = fmin(fmax(x, -2), 6); break;
        case TANH: x = tanh(x); break;
        case SUM: x += tensor_get(&d->old, pos); break;
        case SUM_HALF: x += 0.5 * tensor_get(&d->old, pos); break;
        case MUL_CHANNEL: x *= y; break;
        case PRELU: x = x < 0 ? x * y : x; break;
        default: x += y;
        }
    }
    return x;
}

static void check(const case_t *c, const data_t *d, const double *want, const char *place) {
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0}, k = 0;
    bool real = false;
    for (int i = 0; i < d->nsteps; ++i) real |= c->chain[i] == TANH;
    if (dtp_md_nelems(&d->dst.md) == 0) return;
    do {
        const double got = tensor_get(&d->dst, pos), w = want[k++];
        /* tanh is within 2.4 ulp, and may be multiplied and added to. */
        if (!rounds_near(d->dst.md.data_type, got, w, real ? 2e-6 + 1e-7 * fabs(w) : 0))
            fail_msg("%s: %dD n%lld g%lld ic%lld oc%lld in %lldx%lldx%lld kernel %lldx%lldx%lld: at "
                     "%lld,%lld,%lld,%lld got "
                     "%.9g, want %.9g",
                     place, c->ns, (long long)c->n, (long long)c->groups, (long long)c->ic, (long long)c->oc,
                     (long long)c->in[0], (long long)c->in[1], (long long)c->in[2], (long long)c->ker[0],
                     (long long)c->ker[1], (long long)c->ker[2], (long long)pos[0], (long long)pos[1],
                     (long long)pos[2], (long long)pos[3], got, w);
    } while (tensor_next(&d->dst.md, pos));
}

static double *expected(const case_t *c, const data_t *d) {
    double *want = malloc(sizeof *want * (size_t)(dtp_md_nelems(&d->dst.md) + 1)), unused;
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0}, k = 0;
    assert_non_null(want);
    if (dtp_md_nelems(&d->dst.md) == 0) return want;
    do want[k++] = chain(c, d, pos, oracle(c, d, pos, &unused));
    while (tensor_next(&d->dst.md, pos));
    return want;
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
        check_impl(pd, c.impl ? c.impl : c.groups && c.ic == 1 && c.oc == 1 ? "simd" : "ukr", "convolution");
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
        tensor_check(&d.dst, at[p].name);
        if (at[p].threads == 1) check(&c, &d, want, at[p].name);
        check_same_bits(&at[p], &d.dst, &first, "convolution");
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
#define SAME3 .ker = {3, 3}, .left = {1, 1}, .right = {1, 1}

/* Every blocked size below, at and above a block, and primes. */
static void tails(void **state) {
    (void)state;
    static const int64_t ocs[] = {1, 15, 16, 17, 31, 47, 48, 49, 64, 65, 97}, ics[] = {1, 2, 3, 7, 16, 33};
    for (int o = 0; o < 11; ++o)
        for (int i = 0; i < 6; ++i)
            RUN(.ns = 2, .n = 1, .ic = ics[i], .oc = ocs[o], .in = {5, 6}, SAME3, .bias = (o + i) % 2);
    for (int64_t w = 1; w < 20; ++w) {
        RUN(.ns = 2, .n = 2, .ic = 5, .oc = 18, .in = {3, w}, SAME3, .bias = true, .chain = {RELU});
        RUN(.ns = 1, .n = 1, .ic = 4, .oc = 33, .in = {w}, .ker = {2}, .right = {1}, .bias = true);
        RUN(.ns = 2, .n = 1, .ic = 19, .oc = 23, .in = {w, 2}, .bias = true);
    }
}

static void shapes(void **state) {
    (void)state;
    /* One element: products, strided and not. */
    RUN(.ns = 2, .n = 2, .ic = 33, .oc = 70, .in = {7, 9}, .bias = true, .chain = {RELU});
    RUN(.ns = 2, .n = 2, .ic = 16, .oc = 32, .in = {7, 9}, .stride = {2, 2});
    RUN(.ns = 2, .n = 1, .ic = 16, .oc = 32, .in = {7, 9}, .stride = {3, 1}, .left = {1, 0}, .right = {0, 2});
    /* First layers, merged along the row of the kernel. */
    RUN(.ns = 2, .n = 1, .ic = 3, .oc = 64, .in = {23, 21}, .ker = {7, 7}, .stride = {2, 2}, .left = {3, 3},
        .right = {3, 3}, .bias = true, .chain = {RELU});
    RUN(.ns = 2, .n = 2, .ic = 3, .oc = 24, .in = {17, 18}, .ker = {3, 3}, .stride = {2, 2}, .right = {1, 1});
    /* Long sums take several passes. */
    RUN(.ns = 2, .n = 1, .ic = 512, .oc = 50, .in = {4, 3}, SAME3, .bias = true, .chain = {RELU});
    RUN(.ns = 2, .n = 1, .ic = 700, .oc = 33, .in = {4, 3}, SAME3, .chain = {SUM});
    RUN(.ns = 2, .n = 1, .ic = 700, .oc = 33, .in = {4, 3}, SAME3, .bias = true,
        .chain = {RELU, ADD, MUL_CHANNEL});
    RUN(.ns = 2, .n = 1, .ic = 2500, .oc = 17, .in = {2, 2}, .ker = {2, 2}, .left = {1, 1}, .bias = true);
    /* 1-D and 3-D. */
    RUN(.ns = 1, .n = 3, .ic = 9, .oc = 20, .in = {50}, .ker = {5}, .stride = {2}, .left = {2}, .right = {1});
    RUN(.ns = 1, .n = 1, .ic = 2, .oc = 5, .in = {3000}, .ker = {3}, .left = {1}, .right = {1});
    RUN(.ns = 3, .n = 2, .ic = 6, .oc = 19, .in = {4, 5, 6}, .ker = {3, 3, 3}, .left = {1, 1, 1},
        .right = {1, 1, 1}, .bias = true);
    RUN(.ns = 3, .n = 1, .ic = 3, .oc = 16, .in = {5, 9, 8}, .ker = {2, 3, 1}, .stride = {2, 1, 3},
        .dil = {1, 2, 0}, .left = {0, 4, 2}, .right = {3, 1, 0});
    RUN(.ns = 3, .n = 1, .ic = 8, .oc = 40, .in = {3, 4, 5}, .bias = true);
    /* Large enough to be split, and to have several chunks. */
    RUN(.ns = 2, .n = 1, .ic = 64, .oc = 64, .in = {40, 37}, SAME3, .bias = true, .chain = {RELU});
    RUN(.ns = 2, .n = 3, .ic = 20, .oc = 130, .in = {20, 19}, SAME3, .bias = true, .chain = {ADD, RELU});
    RUN(.ns = 2, .n = 9, .ic = 30, .oc = 60, .in = {5, 5}, SAME3);
}

static void groups(void **state) {
    (void)state;
    RUN(.ns = 2, .n = 2, .groups = 1, .ic = 7, .oc = 18, .in = {6, 5}, SAME3, .bias = true);
    RUN(.ns = 2, .n = 2, .groups = 3, .ic = 4, .oc = 16, .in = {6, 5}, SAME3, .bias = true, .chain = {RELU});
    RUN(.ns = 2, .n = 1, .groups = 2, .ic = 5, .oc = 7, .in = {6, 5}, SAME3, .bias = true,
        .chain = {ADD, LEAKY});
    RUN(.ns = 2, .n = 1, .groups = 4, .ic = 8, .oc = 24, .in = {9, 9}, .stride = {2, 2}, .bias = true);
    RUN(.ns = 2, .n = 1, .groups = 32, .ic = 4, .oc = 4, .in = {14, 14}, SAME3, .bias = true,
        .chain = {RELU});
    RUN(.ns = 1, .n = 2, .groups = 2, .ic = 3, .oc = 17, .in = {21}, .ker = {4}, .bias = true,
        .chain = {PRELU});
    RUN(.ns = 3, .n = 1, .groups = 2, .ic = 3, .oc = 5, .in = {3, 4, 5}, .ker = {2, 2, 2});
}

/* As many groups as channels. */
static void depthwise(void **state) {
    (void)state;
    static const int64_t channels[] = {1, 7, 8, 9, 15, 16, 17, 33, 64};
    static const step_t list[][MAX_STEPS] = {{END},  {RELU}, {CLIP}, {LEAKY}, {ADD, RELU}, {SUM, MUL_CHANNEL},
                                             {PRELU}};
    uint64_t stream = 9000;
    for (int c = 0; c < 9; ++c)
        for (int64_t kernel = 1; kernel < 7; ++kernel)
            for (int64_t stride = 1; stride < 4; ++stride) {
                case_t k = {.ns = 2,
                            .n = 2,
                            .groups = channels[c],
                            .ic = 1,
                            .oc = 1,
                            .in = {7, 21 - kernel},
                            .ker = {kernel, kernel},
                            .stride = {stride, stride},
                            .left = {kernel / 2, kernel / 2},
                            .right = {kernel / 2, kernel / 2},
                            .bias = stride % 2};
                memcpy(k.chain, list[stream % 7], sizeof k.chain);
                run_case(k, stream++);
                k.dil[0] = k.dil[1] = 1;
                run_case(k, stream++);
            }
    for (int64_t w = 1; w < 30; ++w)
        RUN(.ns = 2, .n = 1, .groups = 20, .ic = 1, .oc = 1, .in = {3, w}, SAME3, .bias = true,
            .chain = {RELU});
    RUN(.ns = 1, .n = 2, .groups = 19, .ic = 1, .oc = 1, .in = {50}, .ker = {5}, .stride = {2}, .left = {4},
        .right = {1});
    RUN(.ns = 3, .n = 2, .groups = 19, .ic = 1, .oc = 1, .in = {4, 5, 6}, .ker = {3, 2, 3}, .left = {1, 1, 1},
        .right = {1, 0, 2});
    RUN(.ns = 2, .n = 1, .groups = 18, .ic = 1, .oc = 1, .in = {3, 2}, .ker = {3, 3}, .left = {7, 5},
        .right = {6, 9}, .bias = true, .chain = {TANH});
    RUN(.ns = 2, .n = 1, .groups = 40, .ic = 1, .oc = 1, .in = {2, 3500}, SAME3, .chain = {ADD_CHANNEL});
    /* Blocks of 16 channels. */
    for (int i = 0; i < 3; ++i) {
        const char *const src = i < 2 ? "aBcd16b" : NULL, *const dst = i ? "aBcd16b" : "acdb";
        RUN(.ns = 2, .n = 2, .groups = 48, .ic = 1, .oc = 1, .in = {7, 9}, SAME3, .stride = {1 + i % 2, 2},
            .src = src, .dst = dst, .bias = true, .chain = {CLIP}, .impl = "simd");
        RUN(.ns = 2, .n = 2, .groups = 32, .ic = 1, .oc = 1, .in = {7, 9}, SAME3, .src = src, .dst = dst,
            .chain = {ADD, RELU});
        RUN(.ns = 2, .n = 1, .groups = 32, .ic = 1, .oc = 1, .in = {6, 20}, SAME3, .src = src, .dst = dst,
            .chain = {TANH});
    }
    RUN(.ns = 2, .n = 1, .groups = 18, .ic = 1, .oc = 1, .in = {5, 6}, SAME3, .src = "aBcd16b",
        .impl = "ref");
    /* Other layouts and types go elsewhere. */
    RUN(.ns = 2, .n = 1, .groups = 18, .ic = 1, .oc = 1, .in = {5, 6}, SAME3, .src = "abcd", .impl = "ukr");
    RUN(.ns = 2, .n = 1, .groups = 18, .ic = 1, .oc = 1, .in = {5, 6}, SAME3, .wei = "abcde", .impl = "ukr");
    RUN(.ns = 2, .n = 1, .groups = 18, .ic = 1, .oc = 2, .in = {5, 6}, SAME3, .impl = "ukr");
    RUN(.ns = 2, .n = 0, .groups = 18, .ic = 1, .oc = 1, .in = {5, 6}, SAME3);
    RUN(.ns = 2, .n = 1, .groups = 18, .ic = 1, .oc = 1, .in = {0, 6}, SAME3, .bias = true);
}

/* Paddings beyond the kernel, elements that never meet src, dilations beyond src. */
static void borders(void **state) {
    (void)state;
    RUN(.ns = 2, .n = 1, .ic = 4, .oc = 18, .in = {3, 2}, .ker = {3, 3}, .left = {7, 5}, .right = {6, 9},
        .bias = true);
    RUN(.ns = 2, .n = 2, .ic = 4, .oc = 18, .in = {3, 2}, .ker = {3, 3}, .dil = {4, 6}, .left = {6, 9},
        .right = {7, 9}, .bias = true, .chain = {RELU});
    RUN(.ns = 2, .n = 1, .ic = 4, .oc = 5, .in = {1, 1}, .ker = {5, 5}, .left = {2, 2}, .right = {2, 2});
    RUN(.ns = 2, .n = 1, .ic = 3, .oc = 5, .in = {9, 9}, .ker = {3, 3}, .dil = {1, 2}, .left = {2, 3},
        .right = {2, 3});
    RUN(.ns = 2, .n = 1, .ic = 3, .oc = 5, .in = {9, 8}, .ker = {2, 2}, .stride = {5, 7}, .left = {1, 6},
        .right = {0, 8});
    RUN(.ns = 1, .n = 1, .ic = 2, .oc = 3, .in = {4}, .ker = {3}, .dil = {1000000}, .left = {2000000},
        .right = {3}, .bias = true, .stride = {500000});
    RUN(.ns = 1, .n = 1, .ic = 2, .oc = 3, .in = {4}, .ker = {1}, .left = {40}, .right = {40}, .bias = true);
    /* Elements behind the last window. */
    RUN(.ns = 2, .n = 1, .ic = 3, .oc = 4, .in = {8, 8}, .ker = {2, 2}, .stride = {2, 3}, .right = {-1, -3});
    /* A kernel of which each position sees another part. */
    RUN(.ns = 2, .n = 1, .ic = 2, .oc = 17, .in = {11, 13}, .ker = {11, 13}, .left = {10, 12},
        .right = {10, 12}, .bias = true);
}

static void empty(void **state) {
    (void)state;
    RUN(.ns = 2, .n = 0, .ic = 4, .oc = 8, .in = {5, 5}, SAME3);
    RUN(.ns = 2, .n = 2, .ic = 4, .oc = 0, .in = {5, 5}, SAME3);
    RUN(.ns = 2, .n = 2, .ic = 0, .oc = 9, .in = {5, 5}, SAME3, .bias = true, .chain = {RELU, ADD_CHANNEL});
    RUN(.ns = 2, .n = 2, .ic = 0, .oc = 9, .in = {5, 5}, .bias = true);
    RUN(.ns = 2, .n = 2, .ic = 4, .oc = 9, .in = {0, 0}, SAME3, .bias = true);
    RUN(.ns = 2, .n = 2, .ic = 4, .oc = 9, .in = {0, 3}, .ker = {1, 3}, .left = {2, 0}, .bias = true);
    RUN(.ns = 2, .n = 2, .ic = 4, .oc = 9, .in = {2, 2}, .ker = {3, 3});
}

static void chains(void **state) {
    (void)state;
    static const step_t list[][MAX_STEPS] = {{RELU},
                                             {LEAKY},
                                             {TANH},
                                             {SUM},
                                             {SUM_HALF, RELU},
                                             {ADD},
                                             {ADD, RELU},
                                             {RELU, ADD},
                                             {RELU, SUM, RELU},
                                             {ADD_CHANNEL},
                                             {ADD_CHANNEL, RELU},
                                             {ADD_PIXEL, RELU},
                                             {MUL_CHANNEL},
                                             {PRELU},
                                             {ADD, PRELU},
                                             {ADD, TANH},
                                             {TANH, SUM, MUL_CHANNEL, ADD, RELU},
                                             {SUM, LEAKY},
                                             {CLIP},
                                             {SUM, CLIP},
                                             {ADD, CLIP},
                                             {CLIP, ADD}};
    for (size_t i = 0; i < sizeof list / sizeof *list; ++i) {
        case_t c = {.ns = 2, .n = 2, .ic = 6, .oc = 35, .in = {7, 6}, SAME3, .bias = i % 2};
        memcpy(c.chain, list[i], sizeof c.chain);
        run_case(c, i);
        c.groups = 2;
        run_case(c, 100 + i);
        c.dst = "abcd";
        run_case(c, 200 + i);
        memset(c.ker, 0, sizeof c.ker);
        memset(c.left, 0, sizeof c.left);
        memset(c.right, 0, sizeof c.right);
        c.groups = 0;
        c.dst = NULL;
        run_case(c, 300 + i);
        c.ic = 900;
        c.ker[0] = c.ker[1] = 3;
        c.in[0] = c.in[1] = 4;
        run_case(c, 400 + i);
    }
}

static void layouts(void **state) {
    (void)state;
    static const char *const image[] = {"acdb", "abcd", "cdab", "dcba", "bcda"};
    static const char *const weights[] = {"Acdb16a", "abcd", "cdba", "acdb", "bacd", "Abcd16a", "ABcd16b16a"};
    for (int s = 0; s < 5; ++s)
        for (int w = 0; w < 7; ++w)
            for (int one = 0; one < 2; ++one) {
                case_t c = {.ns = 2,
                            .n = 2,
                            .ic = 19,
                            .oc = 37,
                            .in = {6, 5},
                            SAME3,
                            .bias = true,
                            .chain = {ADD, RELU},
                            .src = image[s],
                            .wei = weights[w],
                            .dst = image[(s + w) % 5],
                            .impl = w < 5 ? "ukr" : "ref"};
                if (one) {
                    c.ker[0] = c.ker[1] = 1;
                    if (w == 5) c.impl = "ukr"; /* the same layout then */
                    memset(c.left, 0, sizeof c.left);
                    memset(c.right, 0, sizeof c.right);
                }
                run_case(c, (uint64_t)(1000 + 10 * s + w));
            }
    RUN(.ns = 2, .n = 1, .ic = 20, .oc = 18, .in = {6, 5}, SAME3, .src = "aBcd16b", .dst = "aBcd8b",
        .bias = true, .impl = "ref");
    /* Blocks of 16 channels in src, dst and weights, each with others of either kind. */
    static const char *const images[] = {"aBcd16b", "acdb", "abcd"};
    static const char *const packed[] = {"ABcd16b16a", "Acdb16a", "abcd", NULL};
    static const char *const groups_packed[] = {"aBCde16c16b", "aBdec16b", "abcde", NULL};
    for (int i = 0; i < 3 * 3 * 4 * 4; ++i) {
        const int s = i % 3, t = i / 3 % 3, w = i / 9 % 4, groups = i / 36 % 2 * 2, one = i / 72;
        case_t c = {.ns = 2,
                    .n = 2,
                    .groups = groups,
                    .ic = 32,
                    .oc = 48,
                    .in = {7, 6},
                    SAME3,
                    .stride = {1 + one, 1},
                    .bias = true,
                    .chain = {i % 2 ? SUM : ADD, RELU},
                    .src = images[s],
                    .wei = groups ? groups_packed[w] : packed[w],
                    .dst = images[t],
                    .impl = "ukr"};
        if (one) {
            c.ker[0] = c.ker[1] = 1;
            memset(c.left, 0, sizeof c.left);
            memset(c.right, 0, sizeof c.right);
        }
        run_case(c, (uint64_t)(2000 + i));
    }
    /* Many pixels, shared out. */
    RUN(.ns = 2, .n = 1, .ic = 5, .oc = 87, .in = {31, 33}, .bias = true, .chain = {ADD, CLIP},
        .impl = "ukr");
    RUN(.ns = 2, .n = 1, .ic = 1600, .oc = 64, .in = {5, 5}, SAME3, .src = "aBcd16b", .wei = "ABcd16b16a",
        .dst = "aBcd16b", .bias = true, .chain = {TANH}, .impl = "ukr");
    RUN(.ns = 1, .n = 2, .ic = 16, .oc = 32, .in = {9}, .ker = {3}, .src = "aBc16b", .dst = "aBc16b",
        .ddt = dnnl_tp_bf16, .impl = "ukr");
    RUN(.ns = 2, .n = 2, .groups = 2, .ic = 5, .oc = 18, .in = {6, 5}, SAME3, .src = "abcd", .wei = "abcde",
        .dst = "abcd");
    RUN(.ns = 2, .n = 2, .groups = 2, .ic = 5, .oc = 18, .in = {6, 5}, SAME3, .src = "acdb",
        .wei = "aBdec16b");
    RUN(.ns = 1, .n = 2, .ic = 1, .oc = 1, .in = {9}, .ker = {3}, .src = "abc", .wei = "abc", .dst = "abc");
    RUN(.ns = 3, .n = 1, .ic = 5, .oc = 20, .in = {3, 4, 5}, .ker = {2, 2, 2}, .src = "abcde", .wei = "abcde",
        .dst = "abcde");
}

/* Strides with gaps, on both sides. */
static void gaps(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    const dnnl_tp_dims_t sdims = {2, 5, 4, 3}, ddims = {2, 18, 4, 3}, wdims = {18, 5, 3, 3}, one = {1, 1};
    const int64_t sstr[] = {200, 1, 44, 11}, dstr[] = {700, 1, 130, 40};
    dtp_md_t smd, dmd, wmd;
    CHECK_OK(dtp_md_init_strides(&smd, 4, sdims, F32, sstr));
    CHECK_OK(dtp_md_init_strides(&dmd, 4, ddims, F32, dstr));
    CHECK_OK(dtp_md_init_layout(&wmd, 4, wdims, F32, "abcd"));
    case_t c = {.ns = 2, .n = 2, .ic = 5, .oc = 18, .in = {4, 3}, SAME3, .stride = {1, 1}};
    data_t d = {.nsteps = 0};
    test_rng_t r = test_rng(5);
    tensor_init(&d.src, &smd);
    tensor_init(&d.dst, &dmd);
    tensor_init(&d.wei, &wmd);
    tensor_fill(&d.src, &r, -3.f, 3.f, true);
    tensor_fill(&d.wei, &r, -3.f, 3.f, true);
    double *want = expected(&c, &d);
    for (int i = 0; i < n; ++i) {
        dnnl_tp_primitive_desc_t pd;
        CHECK_OK(dnnl_tp_convolution_forward_primitive_desc_create(
            &pd, at[i].engine, dnnl_tp_forward_training, dnnl_tp_convolution_auto, &smd, &wmd, NULL, &dmd,
            one, NULL, one, NULL, NULL));
        check_impl(pd, "ukr", "gaps");
        memset(d.dst.data, 0xff, d.dst.bytes);
        dnnl_tp_exec_handle_t args[] = {
            {DNNL_TP_ARG_SRC, d.src.data}, {DNNL_TP_ARG_WEIGHTS, d.wei.data}, {DNNL_TP_ARG_DST, d.dst.data}};
        CHECK_OK(run_pd(&at[i], pd, 3, args));
        check(&c, &d, want, at[i].name);
        for (int64_t k = 18; k < 40; ++k) assert_true(isnan(((float *)(void *)d.dst.data)[k])); /* a gap */
        tensor_check(&d.dst, "gaps");
    }
    free(want);
    tensor_free(&d.src);
    tensor_free(&d.wei);
    tensor_free(&d.dst);
}

static void types(void **state) {
    (void)state;
    static const dnnl_tp_data_type_t list[][4] = {{dnnl_tp_bf16, dnnl_tp_bf16, dnnl_tp_f32, dnnl_tp_bf16},
                                                  {dnnl_tp_bf16, dnnl_tp_bf16, dnnl_tp_bf16, F32},
                                                  {dnnl_tp_f16, dnnl_tp_f16, dnnl_tp_f16, dnnl_tp_f16},
                                                  {dnnl_tp_u8, dnnl_tp_s8, dnnl_tp_s32, dnnl_tp_s32},
                                                  {dnnl_tp_s8, dnnl_tp_s8, F32, dnnl_tp_u8},
                                                  {dnnl_tp_u8, dnnl_tp_s8, F32, dnnl_tp_s8}};
    for (int i = 0; i < 6; ++i) {
        case_t c = {.ns = 2,
                    .n = 2,
                    .ic = 9,
                    .oc = 20,
                    .in = {6, 5},
                    SAME3,
                    .bias = true,
                    .chain = {RELU, SUM},
                    .sdt = list[i][0],
                    .wdt = list[i][1],
                    .bdt = list[i][2],
                    .ddt = list[i][3],
                    .impl = "ref"};
        run_case(c, (uint64_t)i);
    }
    /* f32 into other types goes through tiles. */
    RUN(.ns = 2, .n = 1, .ic = 9, .oc = 20, .in = {6, 5}, SAME3, .bias = true, .bdt = dnnl_tp_bf16,
        .ddt = dnnl_tp_s8, .chain = {RELU});
}

static void random_cases(void **state) {
    (void)state;
    test_rng_t r = test_rng(77);
    for (int k = 0; k < 150; ++k) {
        case_t c = {.ns = 1 + (int)(test_rand(&r) % 3), .n = 1 + (int64_t)(test_rand(&r) % 3)};
        c.groups = test_rand(&r) % 3 ? 0 : 1 + (int64_t)(test_rand(&r) % 4);
        c.ic = 1 + (int64_t)(test_rand(&r) % 20);
        c.oc = 1 + (int64_t)(test_rand(&r) % 50);
        for (int i = 0; i < c.ns; ++i) {
            c.in[i] = 1 + (int64_t)(test_rand(&r) % (c.ns == 3 ? 6 : 12));
            c.ker[i] = 1 + (int64_t)(test_rand(&r) % 4);
            c.stride[i] = 1 + (int64_t)(test_rand(&r) % 3);
            c.dil[i] = (int64_t)(test_rand(&r) % 3);
            c.left[i] = (int64_t)(test_rand(&r) % 5);
            c.right[i] = (int64_t)(test_rand(&r) % 5);
        }
        c.bias = test_rand(&r) % 2;
        const int steps = (int)(test_rand(&r) % 4);
        for (int i = 0; i < steps; ++i) {
            c.chain[i] = (step_t)(RELU + test_rand(&r) % PRELU);
            if (c.chain[i] == TANH) c.chain[i] = LEAKY;
        }
        run_case(c, (uint64_t)(5000 + k));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tails),     cmocka_unit_test(shapes),      cmocka_unit_test(groups),
        cmocka_unit_test(depthwise), cmocka_unit_test(borders),     cmocka_unit_test(empty),
        cmocka_unit_test(chains),    cmocka_unit_test(layouts),     cmocka_unit_test(gaps),
        cmocka_unit_test(types),     cmocka_unit_test(random_cases)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
