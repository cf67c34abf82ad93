/* Attributes and post-operation chains: round trips, limits, refusals by reason. */
#include "support/check.h"

#include <math.h>
#include <string.h>

#include "common/primitive/attr.h"
#include "dnnl_tp/dnnl_tp_threadpool.h"

static void refuses(dnnl_tp_status_t status, dtp_reason_t reason) {
    assert_int_equal(status, dnnl_tp_invalid_arguments);
    assert_int_equal(dtp_last_reason(), reason);
}

static void modes_round_trip(void **state) {
    (void)state;
    dnnl_tp_primitive_attr_t attr, copy;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    dnnl_tp_scratchpad_mode_t scratch;
    dnnl_tp_fpmath_mode_t fpmath;
    dnnl_tp_accumulation_mode_t acc;
    int value;
    CHECK_OK(dnnl_tp_primitive_attr_set_scratchpad_mode(attr, dnnl_tp_scratchpad_mode_user));
    CHECK_OK(dnnl_tp_primitive_attr_set_fpmath_mode_v2(attr, dnnl_tp_fpmath_mode_tf32, 1));
    CHECK_OK(dnnl_tp_primitive_attr_set_accumulation_mode(attr, dnnl_tp_accumulation_mode_relaxed));
    CHECK_OK(dnnl_tp_primitive_attr_set_deterministic(attr, 5));
    CHECK_OK(dnnl_tp_primitive_attr_set_num_threads(attr, 7));
    CHECK_OK(dnnl_tp_primitive_attr_clone(&copy, attr));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    CHECK_OK(dnnl_tp_primitive_attr_get_scratchpad_mode(copy, &scratch));
    CHECK_OK(dnnl_tp_primitive_attr_get_fpmath_mode_v2(copy, &fpmath, &value));
    assert_int_equal(scratch, dnnl_tp_scratchpad_mode_user);
    assert_int_equal(fpmath, dnnl_tp_fpmath_mode_tf32);
    assert_int_equal(value, 1);
    CHECK_OK(dnnl_tp_primitive_attr_get_accumulation_mode(copy, &acc));
    assert_int_equal(acc, dnnl_tp_accumulation_mode_relaxed);
    CHECK_OK(dnnl_tp_primitive_attr_get_deterministic(copy, &value));
    assert_int_equal(value, 1);
    refuses(dnnl_tp_primitive_attr_set_scratchpad_mode(copy, (dnnl_tp_scratchpad_mode_t)2), DTP_BAD_ENUM);
    refuses(dnnl_tp_primitive_attr_set_fpmath_mode(copy, (dnnl_tp_fpmath_mode_t)9), DTP_BAD_ENUM);
    refuses(dnnl_tp_primitive_attr_set_accumulation_mode(copy, (dnnl_tp_accumulation_mode_t)-1),
            DTP_BAD_ENUM);
    refuses(dnnl_tp_primitive_attr_set_num_threads(copy, -1), DTP_BAD_COUNT);
    refuses(dnnl_tp_primitive_attr_set_num_threads(copy, 257), DTP_BAD_COUNT);
    refuses(dnnl_tp_primitive_attr_set_deterministic(NULL, 1), DTP_BAD_HANDLE);
    CHECK_OK(dnnl_tp_primitive_attr_destroy(copy));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(NULL));
}

static void wrong_kinds_of_handle_are_refused(void **state) {
    (void)state;
    dnnl_tp_post_ops_t po;
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    refuses(dnnl_tp_primitive_attr_set_deterministic((dnnl_tp_primitive_attr_t)(void *)po, 1),
            DTP_BAD_HANDLE);
    refuses(dnnl_tp_primitive_attr_destroy((dnnl_tp_primitive_attr_t)(void *)po), DTP_BAD_HANDLE);
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
}

static void scales_and_zero_points_are_checked(void **state) {
    (void)state;
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_dims_t groups = {32, 1}, bad_groups = {0, 1};
    const dnnl_tp_quantization_mode_t sazp = dnnl_tp_quantization_mode_static_sazp;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_primitive_attr_set_scales_mask(attr, DNNL_TP_ARG_WEIGHTS, 2));
    CHECK_OK(dnnl_tp_primitive_attr_set_scales_mask(attr, DNNL_TP_ARG_SRC, 0));
    CHECK_OK(dnnl_tp_primitive_attr_set_scales(attr, DNNL_TP_ARG_WEIGHTS, 3, 2, groups, dnnl_tp_bf16));
    assert_int_equal(attr->n_scales, 2);
    assert_int_equal(dtp_attr_scale(attr, DNNL_TP_ARG_WEIGHTS)->groups[0], 32);
    assert_int_equal(attr->scales[0].arg, DNNL_TP_ARG_SRC);
    refuses(dnnl_tp_primitive_attr_set_scales_mask(attr, DNNL_TP_ARG_SRC, -1), DTP_BAD_MASK);
    refuses(dnnl_tp_primitive_attr_set_scales_mask(attr, -1, 0), DTP_BAD_ARG);
    refuses(dnnl_tp_primitive_attr_set_scales_mask(attr, DNNL_TP_ARG_BIAS, 0), DTP_BAD_ARG);
    refuses(dnnl_tp_primitive_attr_set_scales(attr, DNNL_TP_ARG_SRC, 3, 1, groups, dnnl_tp_f32),
            DTP_BAD_NDIMS);
    refuses(dnnl_tp_primitive_attr_set_scales(attr, DNNL_TP_ARG_SRC, 3, 2, bad_groups, dnnl_tp_f32),
            DTP_BAD_DIMS);
    refuses(dnnl_tp_primitive_attr_set_scales(attr, DNNL_TP_ARG_SRC, 0, 0, NULL, dnnl_tp_s8),
            DTP_BAD_DATA_TYPE);
    refuses(dnnl_tp_primitive_attr_set_scales_v3(attr, DNNL_TP_ARG_SRC, 0, 0, NULL, dnnl_tp_f32, 0,
                                                 dnnl_tp_quantization_mode_undef),
            DTP_BAD_ENUM);
    CHECK_OK(dnnl_tp_primitive_attr_set_scales_v3(attr, DNNL_TP_ARG_SRC, 0, 0, NULL, dnnl_tp_f32, 1, sazp));
    refuses(dnnl_tp_primitive_attr_set_scales_v3(attr, DNNL_TP_ARG_SRC, 2, 0, NULL, dnnl_tp_f32, 1, sazp),
            DTP_BAD_MASK);
    CHECK_OK(dnnl_tp_primitive_attr_set_scales_v2(attr, DNNL_TP_ARG_SRC, 0, 0, NULL, dnnl_tp_bf16, 0));
    CHECK_OK(dnnl_tp_primitive_attr_set_zero_points_mask(attr, DNNL_TP_ARG_DST, 0));
    refuses(dnnl_tp_primitive_attr_set_zero_points_mask(attr, DNNL_TP_ARG_BIAS, 0), DTP_BAD_ARG);
    refuses(dnnl_tp_primitive_attr_set_zero_points(attr, DNNL_TP_ARG_DST, 0, 0, NULL, dnnl_tp_u8),
            DTP_BAD_DATA_TYPE);
    for (int i = 0; i < DTP_MAX_QUANT - 2; ++i)
        CHECK_OK(dnnl_tp_primitive_attr_set_scales_mask(attr, DNNL_TP_ARG_MULTIPLE_SRC + i, 0));
    CHECK_STATUS(dnnl_tp_primitive_attr_set_scales_mask(attr, DNNL_TP_ARG_MULTIPLE_SRC + 99, 0),
                 dnnl_tp_out_of_memory);
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
}

/* A matmul of u8 and s8 with attributes, by engine and descriptors of its own. */
static dnnl_tp_status_t product_with(const_dnnl_tp_primitive_attr_t attr) {
    const dnnl_tp_dims_t a = {4, 64}, b = {64, 8}, c = {4, 8};
    dnnl_tp_memory_desc_t src, wei, dst;
    dnnl_tp_engine_t engine;
    dnnl_tp_primitive_desc_t pd;
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&src, 2, a, dnnl_tp_u8, dnnl_tp_ab));
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&wei, 2, b, dnnl_tp_s8, dnnl_tp_ab));
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&dst, 2, c, dnnl_tp_f32, dnnl_tp_ab));
    const dnnl_tp_status_t status =
        dnnl_tp_matmul_primitive_desc_create(&pd, engine, src, wei, NULL, dst, attr);
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_memory_desc_destroy(src));
    CHECK_OK(dnnl_tp_memory_desc_destroy(wei));
    CHECK_OK(dnnl_tp_memory_desc_destroy(dst));
    CHECK_OK(dnnl_tp_engine_destroy(engine));
    return status;
}

/* Setters take what oneDNN's do; creation refuses what no primitive computes, until it is set to something else. */
static void scales_and_zero_points_that_no_primitive_takes(void **state) {
    (void)state;
    const dnnl_tp_dims_t groups = {32, 1};
    const dnnl_tp_quantization_mode_t sazp = dnnl_tp_quantization_mode_static_sazp;
    const int wei = DNNL_TP_ARG_WEIGHTS, dst = DNNL_TP_ARG_DST;
    dnnl_tp_primitive_attr_t attr;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(product_with(attr));
    const dnnl_tp_data_type_t small_scales[] = {dnnl_tp_e8m0, dnnl_tp_f8_e4m3};
    const dnnl_tp_data_type_t small_points[] = {dnnl_tp_s4, dnnl_tp_u4};
    for (int i = 0; i < 2; ++i) {
        CHECK_OK(dnnl_tp_primitive_attr_set_scales(attr, wei, 3, 2, groups, small_scales[i]));
        CHECK_STATUS(product_with(attr), dnnl_tp_unimplemented);
        refuses(dnnl_tp_primitive_attr_set_scales(attr, wei, 0, 0, NULL, small_scales[i]), DTP_BAD_DATA_TYPE);
        CHECK_OK(dnnl_tp_primitive_attr_set_scales(attr, wei, 2, 0, NULL, dnnl_tp_f32));
        CHECK_OK(product_with(attr));
        CHECK_OK(dnnl_tp_primitive_attr_set_zero_points(attr, wei, 1, 0, NULL, small_points[i]));
        CHECK_STATUS(product_with(attr), dnnl_tp_unimplemented);
        refuses(dnnl_tp_primitive_attr_set_zero_points(attr, wei, 0, 0, NULL, small_points[i]),
                DTP_BAD_DATA_TYPE);
        refuses(dnnl_tp_primitive_attr_set_zero_points(attr, dst, 1, 0, NULL, small_points[i]),
                DTP_BAD_DATA_TYPE);
        CHECK_OK(dnnl_tp_primitive_attr_set_zero_points(attr, wei, 0, 0, NULL, dnnl_tp_s32));
        CHECK_OK(product_with(attr));
        const dnnl_tp_quantization_mode_t mode =
            i ? dnnl_tp_quantization_mode_dynamic_fp : dnnl_tp_quantization_mode_dynamic_mx;
        CHECK_OK(dnnl_tp_primitive_attr_set_scales_v3(attr, dst, 0, 0, NULL, dnnl_tp_f32, 0, mode));
        CHECK_STATUS(product_with(attr), dnnl_tp_unimplemented);
        CHECK_OK(dnnl_tp_primitive_attr_set_scales_v3(attr, dst, 0, 0, NULL, dnnl_tp_f32, 0, sazp));
        CHECK_OK(product_with(attr));
    }
    const int not_shifted[] = {DNNL_TP_ARG_SRC_1, DNNL_TP_ARG_MULTIPLE_SRC, DNNL_TP_ARG_MULTIPLE_SRC + 1,
                               DNNL_TP_ARG_ATTR_POST_OP_DW | DNNL_TP_ARG_WEIGHTS, DNNL_TP_ARG_BIAS};
    for (size_t i = 0; i < sizeof not_shifted / sizeof *not_shifted; ++i)
        refuses(dnnl_tp_primitive_attr_set_zero_points_mask(attr, not_shifted[i], 0), DTP_BAD_ARG);
    CHECK_OK(product_with(attr));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
}

static void chains_hold_32_entries_and_give_them_back(void **state) {
    (void)state;
    dnnl_tp_post_ops_t po, copy;
    dnnl_tp_memory_desc_t md, cond;
    dnnl_tp_dims_t dims = {1, 8};
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&md, 2, dims, dnnl_tp_f32, dnnl_tp_ab));
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&cond, 2, dims, dnnl_tp_s8, dnnl_tp_ab));
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    CHECK_OK(dnnl_tp_post_ops_append_sum(po, 0.5f, 3, dnnl_tp_u8));
    CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_clip, -1.f, 2.f));
    CHECK_OK(dnnl_tp_post_ops_append_binary(po, dnnl_tp_binary_mul, md));
    CHECK_OK(dnnl_tp_post_ops_append_binary_v2(po, dnnl_tp_binary_select, md, cond));
    CHECK_OK(dnnl_tp_post_ops_append_prelu(po, 2));
    while (dnnl_tp_post_ops_len(po) < 32)
        CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_relu, 0.f, 0.f));
    CHECK_STATUS(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_relu, 0.f, 0.f), dnnl_tp_out_of_memory);
    CHECK_OK(dnnl_tp_post_ops_clone(&copy, po));
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
    float scale, alpha, beta;
    int32_t zp;
    dnnl_tp_data_type_t dt;
    dnnl_tp_alg_kind_t alg;
    const_dnnl_tp_memory_desc_t src1, src2;
    CHECK_OK(dnnl_tp_post_ops_get_params_sum(copy, 0, &scale, &zp, &dt));
    assert_true(scale == 0.5f && zp == 3 && dt == dnnl_tp_u8);
    CHECK_OK(dnnl_tp_post_ops_get_params_eltwise(copy, 1, &alg, &alpha, &beta));
    assert_true(alg == dnnl_tp_eltwise_clip && alpha == -1.f && beta == 2.f);
    CHECK_OK(dnnl_tp_post_ops_get_params_binary(copy, 2, &alg, &src1));
    assert_true(alg == dnnl_tp_binary_mul && dnnl_tp_memory_desc_equal(src1, md));
    CHECK_OK(dnnl_tp_post_ops_get_params_binary_v2(copy, 3, &alg, &src1, &src2));
    assert_int_equal(dnnl_tp_memory_desc_equal(src2, cond), 1);
    int mask = 0;
    CHECK_OK(dnnl_tp_post_ops_get_params_prelu(copy, 4, &mask));
    assert_int_equal(mask, 2);
    assert_int_equal(dnnl_tp_post_ops_get_kind(copy, 4), dnnl_tp_prelu);
    refuses(dnnl_tp_post_ops_get_params_prelu(copy, 3, &mask), DTP_BAD_INDEX);
    refuses(dnnl_tp_post_ops_get_params_sum(copy, 1, &scale, &zp, &dt), DTP_BAD_INDEX);
    refuses(dnnl_tp_post_ops_get_params_sum(copy, 32, &scale, &zp, &dt), DTP_BAD_INDEX);
    assert_int_equal(dnnl_tp_post_ops_get_kind(copy, 0), dnnl_tp_sum);
    assert_int_equal(dnnl_tp_post_ops_get_kind(copy, -1), dnnl_tp_undefined_primitive);
    assert_int_equal(dnnl_tp_post_ops_len(NULL), 0);
    CHECK_OK(dnnl_tp_post_ops_destroy(copy));
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    refuses(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_clip, 2.f, 1.f), DTP_BAD_PARAM);
    refuses(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_binary_add, 0.f, 0.f), DTP_BAD_ALG);
    refuses(dnnl_tp_post_ops_append_binary(po, dnnl_tp_eltwise_relu, md), DTP_BAD_ALG);
    refuses(dnnl_tp_post_ops_append_binary(po, dnnl_tp_binary_add, NULL), DTP_NULL_ARG);
    refuses(dnnl_tp_post_ops_append_binary(po, dnnl_tp_binary_select, md), DTP_BAD_PARAM);
    refuses(dnnl_tp_post_ops_append_prelu(po, -1), DTP_BAD_MASK);
    refuses(dnnl_tp_post_ops_append_sum(po, NAN, 0, dnnl_tp_f32), DTP_BAD_PARAM);
    assert_int_equal(dnnl_tp_post_ops_len(po), 0);
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
    CHECK_OK(dnnl_tp_memory_desc_destroy(cond));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(modes_round_trip),
                                       cmocka_unit_test(wrong_kinds_of_handle_are_refused),
                                       cmocka_unit_test(scales_and_zero_points_are_checked),
                                       cmocka_unit_test(scales_and_zero_points_that_no_primitive_takes),
                                       cmocka_unit_test(chains_hold_32_entries_and_give_them_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
