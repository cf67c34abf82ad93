/* Convolution against a double-precision reference of the test: shapes, groups, strides, dilation, padding, layouts,
 * post-operations, types; on every instruction set and thread count, bit-equal over threads. Values are small whole
 * numbers, so that sums are exact. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/problems/convolution.h"
#include "support/conv_check.h"

#define F32 dnnl_tp_f32

static int64_t dst_size(const conv_case_t *c, int s) {
    const int64_t room = c->in[s] + c->left[s] + c->right[s] - (c->ker[s] - 1) * (c->dil[s] + 1) - 1;
    return room < 0 ? 0 : room / c->stride[s] + 1;
}

/* The sum at pos, by the definition; src and wei are values in logical order. */
static double sum_at(const conv_case_t *c, const double *src, const double *wei, const int64_t *pos) {
    const int64_t g = pos[1] / c->oc, groups = c->groups ? c->groups : 1;
    int64_t pixels = 1, taps = 1;
    for (int s = 0; s < c->ns; ++s) pixels *= c->in[s], taps *= c->ker[s];
    src += (pos[0] * groups + g) * c->ic * pixels;
    wei += pos[1] * c->ic * taps;
    double sum = 0;
    for (int64_t tap = 0; tap < taps; ++tap) {
        int64_t at = 0, inner = taps, rest = tap;
        bool inside = true;
        for (int s = 0; s < c->ns; ++s) {
            inner /= c->ker[s];
            const int64_t x = pos[2 + s] * c->stride[s] - c->left[s] + rest / inner * (c->dil[s] + 1);
            rest %= inner;
            inside &= x >= 0 && x < c->in[s];
            at = at * c->in[s] + x;
        }
        for (int64_t i = 0; inside && i < c->ic; ++i) sum += src[i * pixels + at] * wei[i * taps + tap];
    }
    return sum;
}

static void sums(const conv_case_t *c, const conv_data_t *d, double *sum) {
    double *src = tensor_values(&d->src), *wei = tensor_values(&d->wei);
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    do *sum++ = sum_at(c, src, wei, pos) + (c->bias ? tensor_get(&d->bia, &pos[1]) : 0);
    while (tensor_next(&d->dst.md, pos));
    free(src);
    free(wei);
}

static const char *impl(const conv_case_t *c) {
    return c->groups && c->ic == 1 && c->oc == 1 ? "simd" : "ukr";
}

static const conv_kind_t convolution = {"convolution",
                                        dnnl_tp_convolution_direct,
                                        dnnl_tp_convolution_forward_primitive_desc_create,
                                        dst_size,
                                        sums,
                                        impl};

#define RUN(...) conv_run(&convolution, (conv_case_t){__VA_ARGS__}, (uint64_t)__LINE__)
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
                conv_case_t k = {.ns = 2,
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
                conv_run(&convolution, k, stream++);
                k.dil[0] = k.dil[1] = 1;
                conv_run(&convolution, k, stream++);
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
        conv_case_t c = {.ns = 2, .n = 2, .ic = 6, .oc = 35, .in = {7, 6}, SAME3, .bias = i % 2};
        memcpy(c.chain, list[i], sizeof c.chain);
        conv_run(&convolution, c, i);
        c.groups = 2;
        conv_run(&convolution, c, 100 + i);
        c.dst = "abcd";
        conv_run(&convolution, c, 200 + i);
        memset(c.ker, 0, sizeof c.ker);
        memset(c.left, 0, sizeof c.left);
        memset(c.right, 0, sizeof c.right);
        c.groups = 0;
        c.dst = NULL;
        conv_run(&convolution, c, 300 + i);
        c.ic = 900;
        c.ker[0] = c.ker[1] = 3;
        c.in[0] = c.in[1] = 4;
        conv_run(&convolution, c, 400 + i);
    }
}

static void layouts(void **state) {
    (void)state;
    static const char *const image[] = {"acdb", "abcd", "cdab", "dcba", "bcda"};
    static const char *const weights[] = {"Acdb16a", "abcd", "cdba", "acdb", "bacd", "Abcd16a", "ABcd16b16a"};
    for (int s = 0; s < 5; ++s)
        for (int w = 0; w < 7; ++w)
            for (int one = 0; one < 2; ++one) {
                conv_case_t c = {.ns = 2,
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
                conv_run(&convolution, c, (uint64_t)(1000 + 10 * s + w));
            }
    RUN(.ns = 2, .n = 1, .ic = 20, .oc = 18, .in = {6, 5}, SAME3, .src = "aBcd16b", .dst = "aBcd8b",
        .bias = true, .impl = "ref");
    /* Blocks of 16 channels in src, dst and weights, each with others of either kind. */
    static const char *const images[] = {"aBcd16b", "acdb", "abcd"};
    static const char *const packed[] = {"ABcd16b16a", "Acdb16a", "abcd", NULL};
    static const char *const groups_packed[] = {"aBCde16c16b", "aBdec16b", "abcde", NULL};
    for (int i = 0; i < 3 * 3 * 4 * 4; ++i) {
        const int s = i % 3, t = i / 3 % 3, w = i / 9 % 4, groups = i / 36 % 2 * 2, one = i / 72;
        conv_case_t c = {.ns = 2,
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
        conv_run(&convolution, c, (uint64_t)(2000 + i));
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

/* Few output channels: lanes run along k. */
static void few_channels(void **state) {
    (void)state;
    static const step_t list[][MAX_STEPS] = {{END},         {RELU},      {CLIP},    {SUM, RELU},
                                             {ADD, CLIP},   {RELU, ADD}, {TANH},    {ADD, TANH},
                                             {MUL_CHANNEL}, {PRELU},     {SUM_HALF}};
    static const char *const dst[] = {NULL, "abcd", NULL, "cdba"};
    uint64_t k = 0;
    for (int64_t oc = 1; oc <= 13; ++oc)
        for (int i = 0; i < 11; ++i, ++k) {
            conv_case_t c = {.ns = 2,
                             .n = 1 + i % 2,
                             .ic = 33 - 2 * i,
                             .oc = oc,
                             .in = {5, 7 + i},
                             SAME3,
                             .stride = {1 + i % 2, 1 + i % 3},
                             .dil = {0, i == 7},
                             .bias = i % 2,
                             .src = i == 3 ? "abcd" : NULL,
                             .wei = i % 4 == 1 ? "acdb" : NULL,
                             .dst = dst[i % 4],
                             .impl = "ukr"};
            memcpy(c.chain, list[i], sizeof c.chain);
            conv_run(&convolution, c, 7000 + k);
        }
    /* One dimension and three; one input channel; groups; several passes; 20 channels in strips. */
    RUN(.ns = 1, .n = 2, .ic = 1, .oc = 1, .in = {3000}, .ker = {256}, .stride = {2}, .bias = true);
    RUN(.ns = 1, .n = 1, .ic = 1, .oc = 3, .in = {400}, .ker = {45}, .left = {22}, .right = {22},
        .wei = "abc");
    RUN(.ns = 3, .n = 2, .ic = 17, .oc = 5, .in = {3, 4, 5}, .ker = {2, 3, 3}, .left = {1, 1, 1},
        .bias = true);
    RUN(.ns = 2, .n = 2, .groups = 3, .ic = 40, .oc = 3, .in = {5, 6}, SAME3, .bias = true,
        .chain = {ADD, RELU});
    RUN(.ns = 2, .n = 1, .ic = 700, .oc = 6, .in = {5, 6}, SAME3, .bias = true, .chain = {SUM, CLIP});
    RUN(.ns = 2, .n = 1, .ic = 1500, .oc = 4, .in = {3, 6}, .chain = {RELU, ADD, MUL_CHANNEL});
    RUN(.ns = 2, .n = 1, .ic = 64, .oc = 20, .in = {9, 9}, SAME3, .bias = true, .chain = {RELU});
    RUN(.ns = 2, .n = 1, .ic = 8, .oc = 8, .in = {40, 70}, .ker = {3, 39}, .left = {1, 19}, .right = {1, 19},
        .bias = true, .chain = {RELU});
    RUN(.ns = 2, .n = 1, .ic = 40, .oc = 2, .in = {4, 3}, .ker = {3, 3}, .left = {4, 5}, .right = {5, 4});
}

/* First layers, in whatever layout src lies. */
static void first_layers(void **state) {
    (void)state;
    static const char *const src[] = {"abcd", "acdb", "cdba"}, *const wei[] = {NULL, "abcd", "Acdb16a"};
    for (int64_t i = 0; i < 54; ++i) {
        const int64_t kernel = 1 + i / 9;
        RUN(.ns = 2, .n = 2, .ic = 2 + i % 3, .oc = 17 + 16 * (i % 4), .in = {11, 13},
            .ker = {kernel, kernel}, .stride = {1 + i % 2, 2}, .left = {kernel / 2, kernel / 2},
            .right = {kernel / 2, 0}, .dil = {i % 5 == 0, 0}, .bias = true,
            .chain = {i % 2 ? RELU : ADD, CLIP}, .src = src[i / 3 % 3], .wei = wei[(i + i / 3 + i / 9) % 3],
            .dst = i % 7 ? "acdb" : "abcd", .impl = "ukr");
    }
    RUN(.ns = 3, .n = 1, .ic = 3, .oc = 32, .in = {4, 5, 6}, .ker = {2, 3, 3}, .src = "abcde", .bias = true);
    /* Long lines with one or two column panels. */
    for (int i = 0; i < 36; ++i)
        RUN(.ns = 2, .n = 2, .ic = i % 4 == 3 ? 20 : 3, .oc = 9 + 11 * (i % 3), .in = {5, 61 + i}, SAME3,
            .stride = {1 + i % 2, 1 + i / 2 % 2}, .bias = i % 5, .chain = {i % 2 ? RELU : ADD, CLIP},
            .src = src[i % 2], .dst = i % 7 ? "acdb" : "abcd", .impl = "ukr");
    RUN(.ns = 2, .n = 1, .ic = 3, .oc = 32, .in = {40, 40}, SAME3, .src = "abcd", .dst = "aBcd16b");
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
    conv_case_t c = {.ns = 2, .n = 2, .ic = 5, .oc = 18, .in = {4, 3}, SAME3, .stride = {1, 1}};
    conv_data_t d = {.nsteps = 0};
    test_rng_t r = test_rng(5);
    tensor_init(&d.src, &smd);
    tensor_init(&d.dst, &dmd);
    tensor_init(&d.wei, &wmd);
    tensor_fill(&d.src, &r, -3.f, 3.f, true);
    tensor_fill(&d.wei, &r, -3.f, 3.f, true);
    double *want = conv_expected(&convolution, &c, &d);
    for (int i = 0; i < n; ++i) {
        dnnl_tp_primitive_desc_t pd;
        CHECK_OK(dnnl_tp_convolution_forward_primitive_desc_create(
            &pd, at[i].engine, dnnl_tp_forward_training, dnnl_tp_convolution_auto, &smd, &wmd, NULL, &dmd,
            one, NULL, one, NULL, NULL));
        check_impl(pd, "ukr", "gaps");
        tensor_blank(&d.dst);
        dnnl_tp_exec_handle_t args[] = {
            {DNNL_TP_ARG_SRC, d.src.data}, {DNNL_TP_ARG_WEIGHTS, d.wei.data}, {DNNL_TP_ARG_DST, d.dst.data}};
        CHECK_OK(run_pd(&at[i], pd, 3, args));
        conv_compare(&c, &d, want, at[i].name);
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
        conv_case_t c = {.ns = 2,
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
                         .impl = i < 2 ? "ukr" : "ref"};
        conv_run(&convolution, c, (uint64_t)i);
    }
    /* f32 into other types goes through tiles. */
    RUN(.ns = 2, .n = 1, .ic = 9, .oc = 20, .in = {6, 5}, SAME3, .bias = true, .bdt = dnnl_tp_bf16,
        .ddt = dnnl_tp_s8, .chain = {RELU});
}

static void random_cases(void **state) {
    (void)state;
    test_rng_t r = test_rng(77);
    for (int k = 0; k < 150; ++k) {
        conv_case_t c = {.ns = 1 + (int)(test_rand(&r) % 3), .n = 1 + (int64_t)(test_rand(&r) % 3)};
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
        conv_run(&convolution, c, (uint64_t)(5000 + k));
    }
}

/* All operands in bf16; and dst in f32, with an addend of another type than dst has. */
static void in_bf16(void **state) {
    conv_type = dnnl_tp_bf16;
    tails(state);
    shapes(state);
    depthwise(state);
    empty(state);
    chains(state);
    random_cases(state); /* groups and borders among them */
    static const char *const images[] = {"acdb", "abcd", "aBcd16b"};
    static const char *const packed[] = {"AcdB16a2b", "abcd", "acdb", "cdba", "bacd"};
    for (int i = 0; i < 45; ++i) {
        const int s = i % 3, t = i / 3 % 3, w = i / 9;
        RUN(.ns = 2, .n = 2, .ic = s == 2 ? 32 : 5, .oc = t == 2 ? 48 : 18, .in = {6, 5}, SAME3, .bias = true,
            .bdt = i % 2 ? dnnl_tp_bf16 : F32, .ddt = i % 4 < 2 ? F32 : dnnl_tp_bf16, .chain = {ADD, RELU},
            .src = images[s], .wei = packed[w], .dst = images[t]);
    }
    RUN(.ns = 2, .n = 1, .ic = 400, .oc = 33, .in = {5, 5}, SAME3, .bias = true,
        .chain = {SUM, CLIP}); /* in passes */
    /* Folded: rows of the kernel that begin and end within src, in the middle of a pair and with half a one. */
    for (int i = 0; i < 36; ++i) {
        const int ic = 1 + 2 * (i % 3), k = 2 + i / 3 % 4, s = i % 2;
        RUN(.ns = 2, .n = 2, .ic = ic, .oc = 35, .in = {7, 9}, .ker = {3, k}, .stride = {1 + s, 1 + i / 12},
            .left = {1, k - 1}, .right = {1, k - 1}, .bias = true, .ddt = s ? dnnl_tp_bf16 : F32,
            .chain = {RELU}, .src = i % 4 < 2 ? "acdb" : "abcd", .impl = "ukr");
    }
    RUN(.ns = 2, .n = 1, .ic = 2500, .oc = 33, .in = {3, 2}, .chain = {ADD});
    conv_type = F32;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tails),        cmocka_unit_test(shapes),       cmocka_unit_test(groups),
        cmocka_unit_test(depthwise),    cmocka_unit_test(borders),      cmocka_unit_test(empty),
        cmocka_unit_test(chains),       cmocka_unit_test(layouts),      cmocka_unit_test(gaps),
        cmocka_unit_test(types),        cmocka_unit_test(random_cases), cmocka_unit_test(in_bf16),
        cmocka_unit_test(first_layers), cmocka_unit_test(few_channels)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
