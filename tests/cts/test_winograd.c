/* Winograd convolution against the reference of direct convolution: shapes, padding, layouts, weights plain and opaque,
 * post-operations, both sizes of a tile; on every instruction set and thread count, bit-equal over threads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/tensor.h"

#define F32 dnnl_tp_f32

typedef enum { END, RELU, CLIP, TANH, SUM, SUM_HALF, ADD, ADD_CHANNEL, ADD_PIXEL, MUL_CHANNEL, PRELU } step_t;
enum { MAX_STEPS = 4, NDIMS = 4 };

typedef struct {
    int64_t n, ic, oc, in[2];
    dnnl_tp_dims_t left, right;
    bool bias, real, user_scratch;
    dnnl_tp_accumulation_mode_t acc; /* strict: tiles of 2 x 2 */
    bool four;                       /* of 4 x 4 */
    step_t chain[MAX_STEPS];
    const char *src, *wei, *dst; /* layouts; NULL: acdb, opaque, acdb */
} case_t;

static void make_attr(const case_t *c, const int64_t dst[NDIMS], tensor_t *step,
                      dnnl_tp_primitive_attr_t *attr) {
    dnnl_tp_post_ops_t po;
    CHECK_OK(dnnl_tp_primitive_attr_create(attr));
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    for (int i = 0; i < MAX_STEPS && c->chain[i]; ++i) {
        const step_t s = c->chain[i];
        const bool channel = s == ADD_CHANNEL || s == MUL_CHANNEL || s == PRELU;
        const int64_t dims[NDIMS] = {channel ? 1 : dst[0], s == ADD_PIXEL ? 1 : dst[1], channel ? 1 : dst[2],
                                     channel ? 1 : dst[3]};
        if (s >= ADD) tensor_layout(&step[i], NDIMS, dims, F32, s == ADD ? "acdb" : "abcd");
        switch (s) {
        case RELU: CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_relu, 0.f, 0.f)); break;
        case CLIP: CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_clip, -2.f, 6.f)); break;
        case TANH: CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_tanh, 0.f, 0.f)); break;
        case SUM:
        case SUM_HALF:
            CHECK_OK(dnnl_tp_post_ops_append_sum(po, s == SUM ? 1.f : .5f, 0, dnnl_tp_data_type_undef));
            break;
        case PRELU: CHECK_OK(dnnl_tp_post_ops_append_prelu(po, 2)); break;
        default:
            CHECK_OK(dnnl_tp_post_ops_append_binary(
                po, s == MUL_CHANNEL ? dnnl_tp_binary_mul : dnnl_tp_binary_add, &step[i].md));
        }
    }
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(*attr, po));
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
}

static const dnnl_tp_dims_t one = {1, 1};

static dnnl_tp_status_t make_pd(const case_t *c, dnnl_tp_engine_t engine, dnnl_tp_alg_kind_t alg,
                                const dtp_md_t *src, const dtp_md_t *wei, const dtp_md_t *bia,
                                const dtp_md_t *dst, dnnl_tp_primitive_attr_t attr,
                                dnnl_tp_primitive_desc_t *pd) {
    return dnnl_tp_convolution_forward_primitive_desc_create(
        pd, engine, dnnl_tp_forward_inference, alg, src, wei, bia, dst, one, NULL, c->left, c->right, attr);
}

/* The reference, whatever comes before it. */
static void reference(const case_t *c, const place_t *at, const tensor_t *src, const tensor_t *wei,
                      const tensor_t *bia, tensor_t *dst, dnnl_tp_primitive_attr_t attr, int nargs,
                      dnnl_tp_exec_handle_t *args) {
    dnnl_tp_primitive_desc_t pd;
    CHECK_OK(make_pd(c, at->engine, dnnl_tp_convolution_direct, &src->md, &wei->md, bia ? &bia->md : NULL,
                     &dst->md, attr, &pd));
    while (strncmp(impl_name(pd), "ref", 3)) CHECK_OK(dnnl_tp_primitive_desc_next_impl(pd));
    args[1].handle = wei->data;
    args[2].handle = dst->data;
    CHECK_OK(run_pd(at, pd, nargs, args));
}

/* Rounding of the transforms: sums of |A'| (|G| |w| |G'| . |B'| |d| |B|) |A| bound what an element is made of, in one
 * dimension 8 for tiles of 2 and 48 for tiles of 4 (where the kernel's 3 would be 3), and half an ulp of that is lost a
 * step; whole numbers of tiles of 2 x 2 have no rounding at all. */
static double tolerance(const case_t *c) {
    const double grows = c->four ? 48. * 48. : 8. * 8., steps = 4. + sqrt((double)c->ic);
    const double largest = c->real ? 1. : 6.; /* of a product of src and a weight */
    if (!c->real && !c->four) return 0;
    return grows * largest * steps * ldexp(1., -24);
}

static void check(const case_t *c, const tensor_t *got, const tensor_t *want, const char *place) {
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    double err = tolerance(c);
    bool tanhs = false;
    for (int i = 0; i < MAX_STEPS && c->chain[i]; ++i) {
        if (c->chain[i] == MUL_CHANNEL || c->chain[i] == PRELU) err *= 3; /* the largest factor */
        tanhs |= c->chain[i] == TANH;
    }
    if (dtp_md_nelems(&got->md) == 0) return;
    do {
        const double g = tensor_get(got, pos), w = tensor_get(want, pos);
        /* tanh is within 2.4 ulp, and may be multiplied and added to. */
        if (!rounds_near(F32, g, w, err + (tanhs ? 2e-6 : 0) + (tanhs || err > 0 ? 1e-6 * fabs(w) : 0)))
            fail_msg(
                "%s: n%lld ic%lld oc%lld in %lldx%lld, %s: at %lld,%lld,%lld,%lld got %.9g, want %.9g +- %g",
                place, (long long)c->n, (long long)c->ic, (long long)c->oc, (long long)c->in[0],
                (long long)c->in[1], c->four ? "4x4" : "2x2", (long long)pos[0], (long long)pos[1],
                (long long)pos[2], (long long)pos[3], g, w, err);
    } while (tensor_next(&got->md, pos));
}

/* The opaque weights that pd asks for, of plain ones. */
static void pack(const case_t *c, const place_t *at, dnnl_tp_primitive_desc_t pd, const tensor_t *wei,
                 tensor_t *packed) {
    const dtp_md_t *md = dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_weights_md, 0);
    const int64_t points = c->four ? 36 : 16;
    dnnl_tp_format_kind_t kind;
    dnnl_tp_primitive_desc_t reorder;
    CHECK_OK(dnnl_tp_memory_desc_query(md, dnnl_tp_query_format_kind, &kind));
    assert_int_equal(kind, dnnl_tp_format_kind_opaque);
    assert_int_equal(dnnl_tp_memory_desc_get_size(md), points * dtp_round_up(c->oc, 16) * c->ic * 4);
    tensor_init(packed, md);
    CHECK_OK(dnnl_tp_reorder_primitive_desc_create(&reorder, &wei->md, at->engine, md, at->engine, NULL));
    dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_FROM, wei->data}, {DNNL_TP_ARG_TO, packed->data}};
    CHECK_OK(run_pd(at, reorder, 2, args));
    tensor_check(packed, "weights");
}

static void run_case(case_t c, uint64_t stream) {
    test_rng_t r = test_rng(stream);
    const int64_t src_dims[] = {c.n, c.ic, c.in[0], c.in[1]}, wei_dims[] = {c.oc, c.ic, 3, 3},
                  dst_dims[] = {c.n, c.oc, dtp_max64(c.in[0] + c.left[0] + c.right[0] - 2, 0),
                                dtp_max64(c.in[1] + c.left[1] + c.right[1] - 2, 0)};
    tensor_t src, wei, bia, dst, old, want, step[MAX_STEPS];
    memset(step, 0, sizeof step);
    tensor_layout(&src, NDIMS, src_dims, F32, c.src ? c.src : "acdb");
    tensor_layout(&wei, NDIMS, wei_dims, F32, c.wei ? c.wei : "abcd");
    tensor_layout(&bia, 1, &c.oc, F32, "a");
    tensor_layout(&dst, NDIMS, dst_dims, F32, c.dst ? c.dst : "acdb");
    tensor_init(&old, &dst.md);
    tensor_init(&want, &dst.md);
    dnnl_tp_primitive_attr_t attr;
    make_attr(&c, dst_dims, step, &attr);
    dnnl_tp_exec_handle_t args[5 + MAX_STEPS] = {
        {DNNL_TP_ARG_SRC, src.data}, {DNNL_TP_ARG_WEIGHTS, wei.data}, {DNNL_TP_ARG_DST, dst.data}};
    int nargs = 3, n;
    if (c.bias) args[nargs++] = (dnnl_tp_exec_handle_t){DNNL_TP_ARG_BIAS, bia.data};
    tensor_fill(&src, &r, c.real ? -1.f : -3.f, c.real ? 1.f : 3.f, !c.real);
    tensor_fill(&wei, &r, c.real ? -1.f : -2.f, c.real ? 1.f : 2.f, !c.real);
    tensor_fill(&bia, &r, -4.f, 4.f, true);
    tensor_fill(&old, &r, -5.f, 5.f, true);
    for (int i = 0; i < MAX_STEPS && c.chain[i]; ++i) {
        if (!step[i].data) continue;
        tensor_fill(&step[i], &r, -3.f, 3.f, true);
        args[nargs++] =
            (dnnl_tp_exec_handle_t){DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(i) |
                                        (c.chain[i] == PRELU ? DNNL_TP_ARG_WEIGHTS : DNNL_TP_ARG_SRC_1),
                                    step[i].data};
    }
    const place_t *at = places(&n);
    memcpy(want.data, old.data, old.bytes);
    reference(&c, at, &src, &wei, c.bias ? &bia : NULL, &want, attr, nargs, args);
    CHECK_OK(dnnl_tp_primitive_attr_set_accumulation_mode(attr, c.acc));
    if (c.user_scratch)
        CHECK_OK(dnnl_tp_primitive_attr_set_scratchpad_mode(attr, dnnl_tp_scratchpad_mode_user));
    unsigned char *first = NULL;
    for (int p = 0; p < n; ++p) {
        dnnl_tp_primitive_desc_t pd;
        dtp_md_t wmd = wei.md;
        tensor_t packed = wei;
        dnnl_tp_alg_kind_t alg;
        int count = nargs;
        if (!c.wei) CHECK_OK(dtp_md_init_tag(&wmd, NDIMS, wei_dims, F32, dnnl_tp_format_tag_any));
        CHECK_OK(make_pd(&c, at[p].engine, dnnl_tp_convolution_winograd, &src.md, &wmd,
                         c.bias ? &bia.md : NULL, &dst.md, attr, &pd));
        check_impl(pd, "wino", "winograd");
        CHECK_OK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_alg_kind, 0, &alg));
        assert_int_equal(alg, dnnl_tp_convolution_winograd);
        if (!c.wei) pack(&c, &at[p], pd, &wei, &packed);
        args[1].handle = packed.data;
        args[2].handle = dst.data;
        tensor_t scratch = {.data = NULL};
        if (c.user_scratch) {
            tensor_init(&scratch, dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_scratchpad_md, 0));
            args[count++] = (dnnl_tp_exec_handle_t){DNNL_TP_ARG_SCRATCHPAD, scratch.data};
        }
        memcpy(dst.data, old.data, old.bytes);
        CHECK_OK(run_pd(&at[p], pd, count, args));
        tensor_check(&dst, at[p].name);
        if (at[p].threads == 1) check(&c, &dst, &want, at[p].name);
        check_same_bits(&at[p], &dst, &first, "winograd");
        if (scratch.data) {
            tensor_check(&scratch, "scratch");
            tensor_free(&scratch);
        }
        if (!c.wei) tensor_free(&packed);
    }
    free(first);
    tensor_t *all[] = {&src, &wei, &bia, &dst, &old, &want};
    for (int i = 0; i < 6; ++i) tensor_free(all[i]);
    for (int i = 0; i < MAX_STEPS; ++i)
        if (step[i].data) tensor_free(&step[i]);
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
}

#define RUN(...) run_case((case_t){__VA_ARGS__}, (uint64_t)__LINE__)
#define SAME .left = {1, 1}, .right = {1, 1}
#define RELAXED .acc = dnnl_tp_accumulation_mode_relaxed

/* Channels below, at and above a block, images smaller than a tile and up, odd and even. */
static void tails(void **state) {
    (void)state;
    static const int64_t channels[] = {1, 7, 8, 9, 15, 16, 17, 33, 48, 64, 65};
    for (int i = 0; i < 11; ++i)
        for (int o = 0; o < 11; o += 1 + i % 2)
            RUN(.n = 1, .ic = channels[i], .oc = channels[o], .in = {5, 4}, SAME, .bias = (i + o) % 2);
    for (int64_t w = 1; w < 12; ++w)
        for (int64_t h = 1; h < 6; ++h)
            RUN(.n = 2, .ic = 5, .oc = 18, .in = {h, w}, SAME, .bias = true, .chain = {RELU});
}

static void padding(void **state) {
    (void)state;
    for (int64_t top = 0; top < 5; ++top)
        for (int64_t left = 0; left < 5; ++left)
            RUN(.n = 1, .ic = 9, .oc = 20, .in = {6, 5}, .left = {top, left}, .right = {4 - left, top},
                .bias = true);
    RUN(.n = 1, .ic = 9, .oc = 20, .in = {9, 9}, .left = {1, 0}, .right = {-3, -2});
    RUN(.n = 1, .ic = 9, .oc = 20, .in = {2, 2}, .left = {20, 17}, .right = {3, 30}, .bias = true);
    RUN(.n = 1, .ic = 9, .oc = 20, .in = {2, 2}, .left = {20, 17}, .right = {-19, -16}, .bias = true);
    RUN(.n = 1, .ic = 9, .oc = 20, .in = {2, 2});
    RUN(.n = 0, .ic = 9, .oc = 20, .in = {6, 5}, SAME);
}

/* Several blocks, parts of the channels, threads with too few blocks. */
static void splits(void **state) {
    (void)state;
    RUN(.n = 1, .ic = 64, .oc = 64, .in = {40, 37}, SAME, .bias = true, .chain = {RELU});
    RUN(.n = 3, .ic = 20, .oc = 130, .in = {20, 19}, SAME, .bias = true, .chain = {ADD, RELU});
    RUN(.n = 1, .ic = 300, .oc = 200, .in = {7, 7}, SAME, .bias = true, .real = true);
    RUN(.n = 1, .ic = 130, .oc = 256, .in = {14, 14}, SAME, .bias = true, .chain = {SUM, CLIP},
        .user_scratch = true);
    RUN(.n = 9, .ic = 30, .oc = 60, .in = {5, 5}, SAME);
    RUN(.n = 1, .ic = 40, .oc = 17, .in = {64, 60}, SAME, .wei = "abcd", .user_scratch = true);
}

static const step_t chains[][MAX_STEPS] = {{RELU},
                                           {CLIP},
                                           {TANH},
                                           {SUM},
                                           {SUM_HALF, RELU},
                                           {RELU, SUM},
                                           {RELU, ADD, RELU},
                                           {ADD, CLIP},
                                           {ADD_CHANNEL, RELU},
                                           {ADD_PIXEL},
                                           {MUL_CHANNEL, ADD, RELU},
                                           {PRELU},
                                           {SUM, MUL_CHANNEL, SUM},
                                           {TANH, ADD}};

static void post_ops(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; ++i)
        for (int four = 0; four < 2; ++four) {
            case_t c = {
                .n = 2, .ic = 20, .oc = 37, .in = {11, 9}, SAME, .bias = i % 2, .user_scratch = i % 3 == 0};
            memcpy(c.chain, chains[i], sizeof c.chain);
            c.four = four;
            if (four) c.acc = dnnl_tp_accumulation_mode_any;
            run_case(c, 100 + i);
        }
}

static void four_by_four(void **state) {
    (void)state;
    static const int64_t channels[] = {16, 17, 33, 64};
    for (int i = 0; i < 4; ++i)
        for (int o = 0; o < 4; ++o)
            for (int64_t size = 12; size < 18; ++size)
                RUN(.n = 1, .ic = channels[i], .oc = channels[o], .in = {size, 27 - size}, SAME, RELAXED,
                    .four = true, .bias = o % 2, .real = size % 2);
    RUN(.n = 1, .ic = 64, .oc = 64, .in = {40, 37}, SAME, RELAXED, .four = true, .bias = true,
        .chain = {RELU});
    RUN(.n = 1, .ic = 130, .oc = 256, .in = {16, 16}, SAME, RELAXED, .four = true, .bias = true,
        .real = true);
}

static void layouts(void **state) {
    (void)state;
    static const char *const weights[] = {"abcd", "acdb", "cdba", "Acdb16a", "bacd", "dcba"};
    for (int i = 0; i < 6; ++i) {
        RUN(.n = 1, .ic = 19, .oc = 35, .in = {9, 8}, SAME, .wei = weights[i], .bias = true);
        RUN(.n = 1, .ic = 19, .oc = 35, .in = {24, 25}, SAME, RELAXED, .four = true, .wei = weights[i]);
    }
    RUN(.n = 3, .ic = 19, .oc = 35, .in = {9, 8}, SAME, .src = "cdab", .dst = "dcab", .bias = true);
    RUN(.n = 3, .ic = 1, .oc = 1, .in = {9, 8}, SAME, .src = "abcd", .dst = "abcd", .bias = true);
}

static void real_values(void **state) {
    (void)state;
    RUN(.n = 2, .ic = 64, .oc = 64, .in = {14, 13}, SAME, .real = true, .bias = true);
    RUN(.n = 1, .ic = 7, .oc = 33, .in = {21, 23}, SAME, .real = true, .chain = {RELU, SUM});
    RUN(.n = 1, .ic = 512, .oc = 48, .in = {7, 7}, SAME, .real = true);
}

/* Relative L2 error of an algorithm on random numbers, the reference's sums in double being the truth. */
static double error_of(const case_t *c, const place_t *at, dnnl_tp_alg_kind_t alg, const tensor_t *src,
                       const tensor_t *wei, const tensor_t *want, dnnl_tp_primitive_attr_t attr) {
    dnnl_tp_primitive_desc_t pd;
    tensor_t dst;
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    double error = 0, norm = 0;
    tensor_init(&dst, &want->md);
    dnnl_tp_exec_handle_t args[] = {
        {DNNL_TP_ARG_SRC, src->data}, {DNNL_TP_ARG_WEIGHTS, wei->data}, {DNNL_TP_ARG_DST, dst.data}};
    CHECK_OK(make_pd(c, at->engine, alg, &src->md, &wei->md, NULL, &want->md, attr, &pd));
    CHECK_OK(run_pd(at, pd, 3, args));
    do {
        const double w = tensor_get(want, pos), d = tensor_get(&dst, pos) - w;
        error += d * d;
        norm += w * w;
    } while (tensor_next(&want->md, pos));
    tensor_free(&dst);
    return sqrt(error / norm);
}

/* Tiles of 2 x 2 are near direct sums, those of 4 x 4 lose a decimal digit more. */
static void accuracy(void **state) {
    (void)state;
    case_t c = {.n = 1, .ic = 128, .oc = 32, .in = {28, 28}, SAME};
    const int64_t dims[] = {1, 128, 28, 28}, wei_dims[] = {32, 128, 3, 3}, dst_dims[] = {1, 32, 28, 28};
    int n;
    const place_t *at = places(&n);
    test_rng_t r = test_rng(3);
    tensor_t src, wei, want;
    dnnl_tp_primitive_attr_t attr;
    tensor_layout(&src, NDIMS, dims, F32, "acdb");
    tensor_layout(&wei, NDIMS, wei_dims, F32, "abcd");
    tensor_layout(&want, NDIMS, dst_dims, F32, "acdb");
    tensor_fill(&src, &r, -1.f, 1.f, false);
    tensor_fill(&wei, &r, -1.f, 1.f, false);
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    dnnl_tp_exec_handle_t args[] = {
        {DNNL_TP_ARG_SRC, src.data}, {DNNL_TP_ARG_WEIGHTS, NULL}, {DNNL_TP_ARG_DST, NULL}};
    reference(&c, at, &src, &wei, NULL, &want, attr, 3, args);
    for (int i = 0; i < n; ++i) {
        if (at[i].threads != 1) continue;
        CHECK_OK(dnnl_tp_primitive_attr_set_accumulation_mode(attr, dnnl_tp_accumulation_mode_strict));
        const double direct = error_of(&c, &at[i], dnnl_tp_convolution_direct, &src, &wei, &want, attr),
                     two = error_of(&c, &at[i], dnnl_tp_convolution_winograd, &src, &wei, &want, attr);
        CHECK_OK(dnnl_tp_primitive_attr_set_accumulation_mode(attr, dnnl_tp_accumulation_mode_relaxed));
        const double four = error_of(&c, &at[i], dnnl_tp_convolution_winograd, &src, &wei, &want, attr);
        print_message("%s: direct %.2g, tiles of 2 x 2 %.2g, of 4 x 4 %.2g\n", at[i].name, direct, two, four);
        assert_true(two < 2 * direct && four < 20 * direct && four > two);
    }
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    tensor_free(&src);
    tensor_free(&wei);
    tensor_free(&want);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tails),        cmocka_unit_test(padding),
                                       cmocka_unit_test(splits),       cmocka_unit_test(post_ops),
                                       cmocka_unit_test(four_by_four), cmocka_unit_test(layouts),
                                       cmocka_unit_test(real_values),  cmocka_unit_test(accuracy)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
