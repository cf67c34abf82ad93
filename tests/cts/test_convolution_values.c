/* Convolution: what NaN and infinities reach, what layout any becomes and what can be asked of the descriptor. */
#include <math.h>

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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(special_values), cmocka_unit_test(any_layouts)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
