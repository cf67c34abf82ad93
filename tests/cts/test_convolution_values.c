/* Convolution: what NaN and infinities reach, what layout any becomes and what can be asked of the descriptor. */
#include <math.h>
#include <string.h>

#include "common/base/half.h"
#include "support/layout.h"
#include "support/tensor.h"

#define F32 dnnl_tp_f32

/* A NaN or infinity reaches exactly the outputs whose windows see it; what lies in the padding is no product. */
static void special_values(void **state) {
    (void)state;
    enum { W = 9 };
    const dnnl_tp_dims_t dims = {1, 1, W}, wdims = {1, 1, 3}, one = {1};
    float src[W], wei[3] = {1.f, 2.f, INFINITY}, dst[W];
    dtp_md_t md, wmd;
    int n;
    const place_t *at = places(&n);
    CHECK_OK(dtp_md_init_layout(&md, 3, dims, F32, "abc"));
    CHECK_OK(dtp_md_init_layout(&wmd, 3, wdims, F32, "abc"));
    for (int i = 0; i < W; ++i) src[i] = 1.f;
    src[4] = NAN;
    for (int i = 0; i < n; ++i) {
        dnnl_tp_primitive_desc_t pd;
        CHECK_OK(dnnl_tp_convolution_forward_primitive_desc_create(
            &pd, at[i].engine, dnnl_tp_forward_inference, dnnl_tp_convolution_direct, &md, &wmd, NULL, &md,
            one, NULL, one, one, NULL));
        dnnl_tp_exec_handle_t args[] = {
            {DNNL_TP_ARG_SRC, src}, {DNNL_TP_ARG_WEIGHTS, wei}, {DNNL_TP_ARG_DST, dst}};
        CHECK_OK(run_pd(&at[i], pd, 3, args));
        for (int x = 0; x < W; ++x) {
            if (x >= 3 && x <= 5) assert_true(isnan(dst[x]));
            else if (x < W - 1) assert_true(dst[x] == INFINITY);
            else assert_true(dst[x] == 3.f); /* infinity times padding is left out */
        }
    }
}

/* The same of three channels in bf16, whose pairs run through the pixels: the last element of a row has no partner, and the
 * weights of a pixel that is none take no part. */
static void special_values_folded(void **state) {
    (void)state;
    enum { W = 9, C = 3, K = 3, OUT = W + 1, PANEL = 16 };
    const dnnl_tp_dims_t dims = {1, C, W}, wdims = {1, C, K}, ddims = {1, 1, OUT}, one = {1}, two = {2};
    static const int infinite[] = {
        K * C - 1, C, K * C}; /* elements of the weights: in the third and in the second pixel; none */
    const uint16_t unit = dtp_f32_to_bf16(1.f);
    uint16_t src[W * C], wei[(K * C + 1) * PANEL];
    float dst[OUT];
    dtp_md_t md, wmd, dmd;
    int n;
    const place_t *at = places(&n);
    CHECK_OK(dtp_md_init_layout(&md, 3, dims, dnnl_tp_bf16, "acb"));
    CHECK_OK(dtp_md_init_layout(&wmd, 3, wdims, dnnl_tp_bf16, "Acb16a"));
    CHECK_OK(dtp_md_init_layout(&dmd, 3, ddims, F32, "acb"));
    for (int i = 0; i < W * C; ++i) src[i] = unit;
    src[4 * C] = dtp_f32_to_bf16(NAN);
    for (int k = 0; k < 3 * n; ++k) {
        const place_t *here = &at[k / 3];
        const int tap = infinite[k % 3] / C;
        memset(wei, 0, sizeof wei);
        for (int i = 0; i < K * C; ++i) wei[i * PANEL] = unit;
        wei[infinite[k % 3] * PANEL] = dtp_f32_to_bf16(INFINITY);
        dnnl_tp_primitive_desc_t pd;
        CHECK_OK(dnnl_tp_convolution_forward_primitive_desc_create(
            &pd, here->engine, dnnl_tp_forward_inference, dnnl_tp_convolution_direct, &md, &wmd, NULL, &dmd,
            one, NULL, one, two, NULL));
        assert_memory_equal(impl_name(pd), "ukr:", 4);
        dnnl_tp_exec_handle_t args[] = {
            {DNNL_TP_ARG_SRC, src}, {DNNL_TP_ARG_WEIGHTS, wei}, {DNNL_TP_ARG_DST, dst}};
        CHECK_OK(run_pd(here, pd, 3, args));
        for (int x = 0; x < OUT; ++x) {
            const int first = x > 0 ? 0 : 1, end = W + 1 - x < K ? W + 1 - x : K; /* pixels of the kernel */
            if (x >= 3 && x <= 5) assert_true(isnan(dst[x]));
            else if (first <= tap && tap < end) assert_true(dst[x] == INFINITY);
            else assert_true(dst[x] == (float)((end - first) * C));
        }
    }
}

/* What `any` becomes, and what can be asked. */
static void any_layouts(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    const dnnl_tp_dims_t sdims = {2, 20, 9, 9}, wdims = {30, 20, 3, 3}, gdims = {2, 15, 10, 3, 3},
                         ddims = {2, 30, 4, 4}, two = {2, 2}, zero = {0, 0};
    dtp_md_t src, wei, dst;
    CHECK_OK(dtp_md_init_tag(&src, 4, sdims, F32, dnnl_tp_format_tag_any));
    CHECK_OK(dtp_md_init_tag(&dst, 4, ddims, F32, dnnl_tp_format_tag_any));
    for (int grouped = 0; grouped < 2; ++grouped) {
        dnnl_tp_primitive_desc_t pd;
        CHECK_OK(dtp_md_init_tag(&wei, 4 + grouped, grouped ? gdims : wdims, F32, dnnl_tp_format_tag_any));
        CHECK_OK(dnnl_tp_convolution_forward_primitive_desc_create(&pd, at->engine, dnnl_tp_forward_inference,
                                                                   dnnl_tp_convolution_auto, &src, &wei, NULL,
                                                                   &dst, two, NULL, zero, NULL, NULL));
        assert_true(md_matches(dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_src_md, 0), "acdb"));
        assert_true(md_matches(dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_dst_md, 0), "acdb"));
        assert_true(md_matches(dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_weights_md, 0),
                               grouped ? "aBdec16b" : "Acdb16a"));
        const dnnl_tp_dim_t *strides, *padding;
        dnnl_tp_alg_kind_t alg;
        CHECK_OK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_strides, 0, &strides));
        CHECK_OK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_padding_r, 0, &padding));
        CHECK_OK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_alg_kind, 0, &alg));
        assert_true(strides[0] == 2 && strides[1] == 2 && padding[0] == 0 &&
                    alg == dnnl_tp_convolution_direct);
        CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    }
}

/* Weights of few output channels lie as lanes along k read them, where there are such kernels. */
static void any_of_few_channels(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    const dnnl_tp_dims_t sdims = {1, 32, 9, 9}, wdims = {2, 32, 3, 3}, ddims = {1, 2, 7, 7}, one = {1, 1},
                         zero = {0, 0};
    dtp_md_t src, wei, dst;
    CHECK_OK(dtp_md_init_tag(&src, 4, sdims, F32, dnnl_tp_format_tag_any));
    CHECK_OK(dtp_md_init_tag(&wei, 4, wdims, F32, dnnl_tp_format_tag_any));
    CHECK_OK(dtp_md_init_tag(&dst, 4, ddims, F32, dnnl_tp_format_tag_any));
    for (int i = 0; i < n; ++i) {
        dnnl_tp_primitive_desc_t pd;
        CHECK_OK(dnnl_tp_convolution_forward_primitive_desc_create(
            &pd, at[i].engine, dnnl_tp_forward_inference, dnnl_tp_convolution_direct, &src, &wei, NULL, &dst,
            one, NULL, zero, NULL, NULL));
        const bool portable = strstr(impl_name(pd), "any") != NULL;
        assert_true(md_matches(dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_weights_md, 0),
                               portable ? "Acdb16a" : "acdb"));
        CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(special_values),
                                       cmocka_unit_test(special_values_folded), cmocka_unit_test(any_layouts),
                                       cmocka_unit_test(any_of_few_channels)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
