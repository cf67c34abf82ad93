/* Deconvolution against a double-precision reference that spreads each element of src: shapes, groups, strides, dilation,
 * padding, layouts, post-operations, types; on every instruction set and thread count, bit-equal over threads. Values are
 * small whole numbers, so that sums are exact. */
#include <string.h>

#include "support/conv_check.h"

#define F32 dnnl_tp_f32
#define BF16 dnnl_tp_bf16

static int64_t dst_size(const conv_case_t *c, int s) {
    return (c->in[s] - 1) * c->stride[s] + (c->ker[s] - 1) * (c->dil[s] + 1) + 1 - c->left[s] - c->right[s];
}

static int64_t index_of(const dtp_md_t *md, const int64_t *pos) {
    int64_t k = 0;
    for (int d = 0; d < md->ndims; ++d) k = k * md->dims[d] + pos[d];
    return k;
}

/* Every element of src times every element of its kernel, to where it goes. */
static void sums(const conv_case_t *c, const conv_data_t *d, double *want) {
    const dtp_md_t *md = &d->dst.md;
    const int grouped = c->groups > 0;
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
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
    do want[index_of(md, pos)] += c->bias ? tensor_get(&d->bia, &pos[1]) : 0;
    while (tensor_next(md, pos));
}

static const char *impl(const conv_case_t *c) {
    return c->groups && c->ic == 1 && c->oc == 1 ? "simd" : "ukr";
}

static const conv_kind_t deconvolution = {"deconvolution",
                                          dnnl_tp_deconvolution_direct,
                                          dnnl_tp_deconvolution_forward_primitive_desc_create,
                                          dst_size,
                                          sums,
                                          impl};

#define RUN(...) conv_run(&deconvolution, (conv_case_t){__VA_ARGS__}, (uint64_t)__LINE__)
#define TWICE .ker = {4, 4}, .stride = {2, 2}, .left = {1, 1}, .right = {1, 1}

/* Channels around the blocks, and columns from one on. */
static void tails(void **state) {
    (void)state;
    static const int64_t ocs[] = {1, 15, 16, 17, 33, 49, 65}, ics[] = {1, 2, 7, 16, 33};
    for (int o = 0; o < 7; ++o)
        for (int i = 0; i < 5; ++i)
            RUN(.ns = 2, .n = 1, .ic = ics[i], .oc = ocs[o], .in = {3, 4}, TWICE, .bias = (o + i) % 2);
    for (int64_t w = 1; w < 14; ++w) {
        RUN(.ns = 2, .n = 2, .ic = 5, .oc = 18, .in = {3, w}, TWICE, .bias = true, .chain = {LEAKY});
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
        .chain = {LEAKY});
    RUN(.ns = 2, .n = 1, .ic = 400, .oc = 33, .in = {4, 3}, TWICE, .bias = true, .chain = {SUM_HALF});
    RUN(.ns = 2, .n = 2, .ic = 16, .oc = 24, .in = {20, 20}, TWICE, .bias = true);
    RUN(.ns = 1, .n = 1, .ic = 2, .oc = 3, .in = {9}, .ker = {3}, .stride = {40}, .right = {-39});
}

static void groups(void **state) {
    (void)state;
    RUN(.ns = 2, .n = 2, .groups = 1, .ic = 7, .oc = 18, .in = {3, 5}, TWICE, .bias = true);
    RUN(.ns = 2, .n = 2, .groups = 3, .ic = 4, .oc = 16, .in = {3, 5}, TWICE, .bias = true, .chain = {LEAKY});
    RUN(.ns = 2, .n = 1, .groups = 2, .ic = 5, .oc = 7, .in = {3, 5}, TWICE, .chain = {ADD, LEAKY});
    RUN(.ns = 2, .n = 1, .groups = 21, .ic = 1, .oc = 1, .in = {4, 5}, TWICE, .bias = true, .chain = {LEAKY});
    RUN(.ns = 1, .n = 2, .groups = 17, .ic = 1, .oc = 1, .in = {9}, .ker = {3}, .left = {1}, .right = {1});
    RUN(.ns = 2, .n = 1, .groups = 5, .ic = 1, .oc = 2, .in = {4, 5}, TWICE);
    RUN(.ns = 3, .n = 1, .groups = 2, .ic = 3, .oc = 5, .in = {2, 2, 3}, .ker = {2, 2, 2},
        .stride = {2, 2, 2});
}

/* One channel in and out in each group. */
static void depthwise(void **state) {
    (void)state;
    static const int64_t channels[] = {1, 15, 16, 17, 33};
    static const char *const images[] = {"acdb", "aBcd16b"}, *const weights[] = {"abcde", "dacbe", NULL};
    for (int i = 0; i < 5; ++i)
        RUN(.ns = 2, .n = 2, .groups = channels[i], .ic = 1, .oc = 1, .in = {4, 9}, TWICE, .bias = i % 2,
            .chain = {i % 3 ? CLIP : END});
    for (int64_t k = 1; k < 6; ++k)
        for (int64_t s = 1; s < 4; ++s)
            for (int64_t dil = 0; dil < 3; ++dil) {
                const int64_t range = (k - 1) * (dil + 1) + 1;
                RUN(.ns = 2, .n = 1, .groups = 18, .ic = 1, .oc = 1, .in = {5, 11}, .ker = {k, 3},
                    .stride = {s, 2}, .dil = {dil, s - 1}, .left = {range / 2, 1},
                    .right = {s > 1 ? -1 : 0, 0}, .bias = true);
                RUN(.ns = 2, .n = 1, .groups = 18, .ic = 1, .oc = 1, .in = {5, 11}, .ker = {3, k},
                    .stride = {2, s}, .dil = {0, dil}, .right = {0, range / 2}, .sdt = BF16, .wdt = BF16,
                    .ddt = dil ? BF16 : F32, .bias = true, .bdt = dil > 1 ? BF16 : F32, .chain = {RELU});
            }
    RUN(.ns = 3, .n = 2, .groups = 20, .ic = 1, .oc = 1, .in = {2, 3, 4}, .ker = {3, 2, 4},
        .stride = {2, 2, 2}, .left = {1, 0, 1}, .bias = true);
    RUN(.ns = 1, .n = 2, .groups = 40, .ic = 1, .oc = 1, .in = {50}, .ker = {9}, .stride = {4}, .left = {3});
    RUN(.ns = 1, .n = 1, .groups = 3, .ic = 1, .oc = 1, .in = {9}, .ker = {3}, .stride = {40}, .right = {-39},
        .bias = true);
    for (int s = 0; s < 2; ++s)
        for (int d = 0; d < 2; ++d)
            for (int w = 0; w < 3; ++w)
                RUN(.ns = 2, .n = 2, .groups = 48, .ic = 1, .oc = 1, .in = {3, 5}, TWICE, .src = images[s],
                    .dst = images[d], .wei = weights[w], .chain = {w ? TANH : LEAKY}, .bias = true);
    /* What needs a tile, other layouts and types. */
    RUN(.ns = 2, .n = 2, .groups = 18, .ic = 1, .oc = 1, .in = {3, 5}, TWICE, .chain = {ADD, RELU},
        .impl = "ukr");
    RUN(.ns = 2, .n = 2, .groups = 18, .ic = 1, .oc = 1, .in = {3, 5}, TWICE, .src = "abcd", .impl = "ukr");
    RUN(.ns = 2, .n = 2, .groups = 18, .ic = 1, .oc = 1, .in = {3, 5}, TWICE, .sdt = BF16, .wdt = F32,
        .impl = "ukr");
    RUN(.ns = 2, .n = 2, .groups = 18, .ic = 1, .oc = 2, .in = {3, 5}, TWICE, .impl = "ukr");
}

static void layouts(void **state) {
    (void)state;
    static const char *const images[] = {"abcd", "acdb", "aBcd16b", "aBcd8b", "cdba", NULL};
    static const char *const weights[] = {"abcd", "bacd", "cdba", "ABcd16a16b", "Acdb16a", NULL};
    for (int s = 0; s < 6; ++s)
        for (int w = 0; w < 6; ++w)
            RUN(.ns = 2, .n = 2, .ic = 18, .oc = 20, .in = {3, 5}, TWICE, .bias = w % 2, .src = images[s],
                .wei = weights[w], .dst = images[(s + w) % 6], .chain = {w % 3 ? LEAKY : END});
    RUN(.ns = 2, .n = 2, .groups = 2, .ic = 9, .oc = 20, .in = {3, 5}, TWICE, .src = "abcd", .wei = "acbde",
        .dst = "abcd", .bias = true);
}

/* Each pixel of src makes a box of dst: kernels as long as strides, in planes, or of few channels. */
static void boxes(void **state) {
    (void)state;
    static const int64_t ocs[] = {1, 2, 3, 5, 16, 17, 70}, ics[] = {1, 2, 24, 33, 130};
    for (int o = 0; o < 7; ++o)
        for (int i = 0; i < 5; ++i)
            RUN(.ns = 2, .n = 2, .ic = ics[i], .oc = ocs[o], .in = {5, 11 + 9 * i}, .ker = {2, 2},
                .stride = {2, 2}, .src = "abcd", .dst = i == 4 ? NULL : "abcd", .bias = (o + i) % 2,
                .chain = {i % 2 ? LEAKY : END}, .impl = i == 4 && ocs[o] > 32 ? "ukr" : "boxes");
    /* Lines of dst begin and end within strips; kernels of unequal sides; one, two and three dimensions. */
    for (int64_t w = 1; w < 36; ++w) {
        RUN(.ns = 2, .n = 1, .ic = 7, .oc = 3, .in = {4, w}, .ker = {3, 1 + w % 4}, .stride = {3, 1 + w % 4},
            .src = "abcd", .dst = "abcd", .bias = true, .impl = "boxes");
        RUN(.ns = 1, .n = 3, .ic = 6, .oc = 1 + w % 2, .in = {5 * w}, .ker = {2}, .stride = {2},
            .bias = w % 2, .impl = "boxes");
        RUN(.ns = 3, .n = 2, .ic = 3, .oc = 4, .in = {2, 3, w}, .ker = {2, 3, 2}, .stride = {2, 3, 2},
            .src = "abcde", .dst = w % 2 ? "acdeb" : "abcde", .bias = true, .chain = {RELU}, .impl = "boxes");
    }
    /* Channels innermost: few of dst. */
    for (int64_t oc = 1; oc < 6; ++oc) {
        RUN(.ns = 2, .n = 2, .ic = 25, .oc = oc, .in = {7, 13}, .ker = {2, 2}, .stride = {2, 2}, .bias = true,
            .chain = {TANH}, .impl = oc < 3 ? "boxes" : "ukr");
        RUN(.ns = 2, .n = 1, .ic = 16, .oc = oc, .in = {3, 70}, .ker = {2, 1}, .stride = {2, 1},
            .src = "acdb", .dst = oc % 2 ? "abcd" : "acdb", .impl = "boxes");
        RUN(.ns = 3, .n = 1, .ic = 9, .oc = oc, .in = {2, 3, 5}, .ker = {3, 2, 1}, .stride = {3, 2, 1},
            .src = "acdeb", .dst = "acdeb", .bias = true, .chain = {CLIP}, .impl = oc < 5 ? "boxes" : "ukr");
    }
    RUN(.ns = 2, .n = 1, .ic = 8, .oc = 2, .in = {1, 9}, .ker = {1, 33}, .stride = {1, 33}, .src = "abcd",
        .dst = "abcd", .impl = "boxes");
    RUN(.ns = 2, .n = 1, .ic = 8, .oc = 40, .in = {3, 9}, .ker = {7, 7}, .stride = {7, 7}, .src = "abcd",
        .dst = "abcd", .bias = true, .impl = "boxes");
    /* What is not of this form: other post-operations, padding, longer results, dilation, groups, types. */
    RUN(.ns = 2, .n = 1, .ic = 5, .oc = 3, .in = {4, 5}, .ker = {2, 2}, .stride = {2, 2},
        .chain = {SUM_HALF});
    RUN(.ns = 2, .n = 1, .ic = 5, .oc = 3, .in = {4, 5}, .ker = {2, 2}, .stride = {2, 2}, .chain = {ADD});
    RUN(.ns = 2, .n = 1, .ic = 5, .oc = 3, .in = {4, 5}, .ker = {2, 2}, .stride = {2, 2}, .left = {1, 0});
    RUN(.ns = 2, .n = 1, .ic = 5, .oc = 1, .in = {4, 5}, .ker = {2, 2}, .stride = {2, 2}, .left = {0, 1},
        .bias = true);
    RUN(.ns = 2, .n = 1, .ic = 5, .oc = 3, .in = {4, 5}, .ker = {2, 2}, .stride = {2, 2}, .right = {0, -1});
    RUN(.ns = 2, .n = 1, .ic = 5, .oc = 3, .in = {4, 5}, .ker = {2, 2}, .stride = {2, 2}, .dil = {1, 0});
    RUN(.ns = 2, .n = 1, .groups = 2, .ic = 5, .oc = 3, .in = {4, 5}, .ker = {2, 2}, .stride = {2, 2});
    RUN(.ns = 2, .n = 1, .ic = 5, .oc = 3, .in = {4, 5}, .ker = {2, 2}, .stride = {2, 2}, .ddt = BF16);
    RUN(.ns = 2, .n = 1, .ic = 5, .oc = 3, .in = {4, 5}, .ker = {2, 2}, .stride = {2, 2}, .bias = true,
        .bdt = BF16);
    RUN(.ns = 2, .n = 1, .ic = 5, .oc = 3, .in = {4, 5}, .ker = {2, 2}, .stride = {2, 2}, .src = "aBcd8b");
    RUN(.ns = 2, .n = 1, .ic = 5, .oc = 3, .in = {4, 5}, .ker = {2, 2}, .stride = {2, 2}, .src = "adcb",
        .dst = "abdc");
}

static void chains(void **state) {
    (void)state;
    static const step_t list[][MAX_STEPS] = {{LEAKY},
                                             {CLIP},
                                             {SUM_HALF},
                                             {ADD},
                                             {ADD_CHANNEL},
                                             {MUL_CHANNEL, SUM_HALF},
                                             {PRELU},
                                             {ADD, LEAKY},
                                             {SUM_HALF, LEAKY, ADD},
                                             {ADD, SUM_HALF, PRELU, CLIP}};
    static const char *const dst[] = {"acdb", "abcd", "aBcd16b"};
    for (size_t i = 0; i < sizeof list / sizeof *list; ++i)
        for (int l = 0; l < 3; ++l) {
            conv_case_t c = {
                .ns = 2, .n = 2, .ic = 6, .oc = 21, .in = {4, 3}, TWICE, .bias = i % 2, .dst = dst[l]};
            memcpy(c.chain, list[i], sizeof c.chain);
            conv_run(&deconvolution, c, 4000 + i);
            c.groups = 3;
            conv_run(&deconvolution, c, 4100 + i);
        }
}

static void types(void **state) {
    (void)state;
    static const dnnl_tp_data_type_t list[] = {F32, BF16, dnnl_tp_f16};
    for (int s = 0; s < 3; ++s)
        for (int d = 0; d < 3; ++d)
            RUN(.ns = 2, .n = 1, .ic = 9, .oc = 17, .in = {4, 3}, TWICE, .bias = true, .sdt = list[s],
                .wdt = list[s], .bdt = list[d], .ddt = list[d], .chain = {d ? LEAKY : SUM_HALF});
    /* Pairs of channels: kernels of bf16; more than one pass over the sums. */
    static const char *const images[] = {NULL, "abcd", "aBcd16b"};
    for (int i = 0; i < 3; ++i)
        for (int d = 0; d < 3; ++d)
            RUN(.ns = 2, .n = 2, .ic = 18, .oc = 17 + 16 * i, .in = {4, 3}, TWICE, .bias = true, .sdt = BF16,
                .wdt = BF16, .bdt = list[i], .ddt = list[d], .src = images[i], .dst = images[d],
                .wei = d == 1 ? "abcd" : NULL, .chain = {i ? LEAKY : SUM_HALF, i == 2 ? TANH : END});
    RUN(.ns = 3, .n = 1, .groups = 2, .ic = 4, .oc = 5, .in = {2, 2, 3}, .ker = {2, 2, 3},
        .stride = {2, 1, 2}, .sdt = BF16, .wdt = BF16, .ddt = BF16, .chain = {RELU});
    RUN(.ns = 2, .n = 1, .ic = 1202, .oc = 33, .in = {4, 3}, TWICE, .bias = true, .sdt = BF16, .wdt = BF16,
        .ddt = BF16, .chain = {LEAKY});
    RUN(.ns = 2, .n = 1, .ic = 9, .oc = 17, .in = {4, 3}, TWICE, .sdt = BF16, .wdt = F32);
    RUN(.ns = 2, .n = 1, .ic = 9, .oc = 17, .in = {4, 3}, TWICE, .ddt = dnnl_tp_s8,
        .chain = {SUM_HALF, LEAKY});
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tails),     cmocka_unit_test(windows), cmocka_unit_test(groups),
        cmocka_unit_test(depthwise), cmocka_unit_test(layouts), cmocka_unit_test(boxes),
        cmocka_unit_test(chains),    cmocka_unit_test(types),   cmocka_unit_test(empty)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
