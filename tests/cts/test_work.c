/* What problems take: operations and bytes by kind, against numbers counted here; post-operations; run-time dimensions; the
 * estimate of a time that is made of them. */
#include <string.h>

#include "common/primitive/primitive_desc.h"
#include "common/problems/graph/attention.h"
#include "common/problems/graph/gather.h"
#include "common/problems/window.h"
#include "support/problems.h"

static dnnl_tp_engine_t engine;

static int set_up(void **state) {
    (void)state;
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    CHECK_OK(dnnl_tp_engine_destroy(engine));
    return 0;
}

static double estimate(const_dnnl_tp_primitive_desc_t pd) {
    double s = -1.;
    CHECK_OK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_time_estimate_f64, 0, &s));
    return s;
}

/* The problems of support/problems.c: operations, and elements of f32 that are read and written, plus bytes of others. */
static const struct {
    const char *name;
    double flops, elements, bytes;
} counted[] = {
    {"matmul", 2. * 97 * 131 * 203, 97. * 131 + 131 * 203 + 97 * 203, 0},
    {"matmul transposed", 2. * 5 * 67 * 90 * 71, 5. * (67 * 90 + 90 * 71 + 67 * 71), 0},
    {"inner product", 2. * 33 * 200 * 150, 33. * 200 + 150 * 200 + 33 * 150, 0},
    /* 3 x 3 with a border of 1: the border has no third row, and no third column. */
    {"convolution", 2. * 2 * 50 * 21 * (3 * 19 - 2) * (3 * 17 - 2),
     2. * 19 * 17 * (21 + 50) + 50. * 21 * 3 * 3, 0},
    {"depthwise convolution", 2. * 2 * 70 * (3 * 29 - 2) * (3 * 27 - 2), 2. * 2 * 70 * 29 * 27 + 70. * 3 * 3,
     0},
    {"softmax", 12. * 301 * 131, 2. * 301 * 131, 0},
    {"layer norm", 8. * 301 * 131, 2. * 301 * 131 + 2. * 301 + 2. * 131, 0}, /* statistics; scale, shift */
    {"eltwise", 8. * 301 * 331, 2. * 301 * 331, 0},
    {"prelu", 301. * 331, 2. * 301 * 331 + 331, 0},
    {"pooling", 7. * 67 * (3 * 151 - 2), 7. * 67 * (301 + 151), 7. * 67 * 151}, /* places in u8 */
    {"pooling of planes", 7. * 67 * (3 * 301 - 2), 2. * 7 * 67 * 301, 0},
    {"binary", 301. * 331, 2. * 301 * 331 + 301, 0},
    {"reduction", 7. * 3001 * 17, 7. * 3001 * 17 + 7 * 17, 0},
    {"reduction of all", 7. * 30001, 7. * 30001 + 1, 0},
    {"reorder", 0, 2. * 3 * 133 * 401, 0},
    {"concat", 0, 2. * 101 * (333 + 77), 0},
    {"sum", 6. * 301 * 331, 4. * 301 * 331, 0},
};

static void work_is_what_is_counted(void **state) {
    (void)state;
    unsigned found = 0;
    for (int p = 0; p < PROBLEMS; ++p) {
        dnnl_tp_primitive_desc_t pd;
        CHECK_OK(problem_make(&pd, engine, p, NULL));
        const dtp_op_work_t work = dtp_pd_work(pd, NULL);
        assert_true(work.bytes > 0 && (work.flops > 0) == (pd->info->work != NULL));
        for (size_t i = 0; i < sizeof counted / sizeof *counted; ++i) {
            if (strcmp(counted[i].name, problem_name(p)) != 0) continue;
            ++found;
            const double bytes = 4. * counted[i].elements + counted[i].bytes;
            if (work.flops != counted[i].flops || work.bytes != bytes)
                fail_msg("%s: %.0f operations on %.0f bytes, counted %.0f on %.0f", problem_name(p),
                         work.flops, work.bytes, counted[i].flops, bytes);
        }
        /* More time with more work, and never none. */
        const double s = estimate(pd);
        assert_true(s > 1e-7 && s < 1e-7 + work.flops * 1e-10 + work.bytes * 1e-9);
        CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    }
    assert_int_equal(found, sizeof counted / sizeof *counted);
}

static dtp_op_work_t work_of(const dtp_op_desc_t *op) {
    dtp_pd_arg_t args[DTP_MAX_PD_ARGS];
    const dtp_op_info_t *info = dtp_op_info(op->kind);
    return dtp_op_work(info, op, args, dtp_op_args(info, op, args));
}

/* Kinds of graphs: a table of which few rows are read, sequences one behind the other. */
static void what_shapes_alone_do_not_say(void **state) {
    (void)state;
    const int64_t table[] = {1000, 16}, ids[] = {7}, rows[] = {7, 16}, offsets[] = {5}, tokens[] = {48, 24},
                  batch[] = {4, 12, 24};
    dtp_gather_desc_t g = {.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_GATHER};
    CHECK_OK(dtp_md_init_strides(&g.table, 2, table, dnnl_tp_f32, NULL));
    CHECK_OK(dtp_md_init_strides(&g.ids, 1, ids, dnnl_tp_s64, NULL));
    CHECK_OK(dtp_md_init_strides(&g.dst, 2, rows, dnnl_tp_f32, NULL));
    dtp_op_work_t work = work_of(&g.base);
    assert_true(work.flops == 0 && work.bytes == 7 * 8 + 2 * 4 * 7 * 16);
    dtp_attention_desc_t a = {.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_ATTENTION, .heads = 2};
    CHECK_OK(dtp_md_init_strides(&a.q, 2, tokens, dnnl_tp_f32, NULL));
    CHECK_OK(dtp_md_init_strides(&a.offsets, 1, offsets, dnnl_tp_s32, NULL));
    a.k = a.v = a.dst = a.q;
    work = work_of(&a.base);
    assert_true(work.flops == 4. * 48 * 12 * 24 && work.bytes == 4. * (4 * 48 * 24 + 5)); /* 12 on average */
    CHECK_OK(dtp_md_init_strides(&a.q, 3, batch, dnnl_tp_f32, NULL));
    a.k = a.v = a.dst = a.q;
    a.offsets = dtp_md_zero;
    work = work_of(&a.base);
    assert_true(work.flops == 4. * 48 * 12 * 24 && work.bytes == 4. * 4 * 48 * 24);
}

static void post_operations_are_counted(void **state) {
    (void)state;
    const int64_t m = 97, n = 203;
    const dnnl_tp_dims_t row = {1, n};
    dnnl_tp_memory_desc_t md;
    dnnl_tp_post_ops_t po;
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_primitive_desc_t pd, plain;
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&md, 2, row, dnnl_tp_f32, dnnl_tp_ab));
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_gelu_erf, 0.f, 0.f));
    CHECK_OK(dnnl_tp_post_ops_append_binary(po, dnnl_tp_binary_add, md));
    CHECK_OK(dnnl_tp_post_ops_append_sum(po, 1.f, 0, dnnl_tp_data_type_undef));
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
    CHECK_OK(problem_make(&plain, engine, 0, NULL));
    CHECK_OK(problem_make(&pd, engine, 0, attr));
    const dtp_op_work_t a = dtp_pd_work(plain, NULL), b = dtp_pd_work(pd, NULL);
    assert_true(b.flops - a.flops == (double)((8 + 1 + 2) * m * n));
    assert_true(b.bytes - a.bytes == (double)(4 * (n + m * n)));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(plain));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
}

static void run_time_dimensions_are_known_at_execution(void **state) {
    (void)state;
    const int64_t any = DNNL_TP_RUNTIME_DIM_VAL;
    const dnnl_tp_dims_t src = {any, 16}, wei = {16, 24}, dst = {any, 24}, src5 = {5, 16}, dst5 = {5, 24};
    const int64_t *dims[] = {src, wei, dst, src5, dst5};
    dnnl_tp_memory_desc_t md[5];
    for (int i = 0; i < 5; ++i)
        CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&md[i], 2, dims[i], dnnl_tp_f32, dnnl_tp_ab));
    dnnl_tp_primitive_desc_t pd;
    CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, engine, md[0], md[1], NULL, md[2], NULL));
    dtp_op_work_t work = dtp_pd_work(pd, NULL);
    assert_true(work.flops == 0 && work.bytes == 0 && estimate(pd) == 0);
    const dtp_md_t *actual[] = {md[3], md[1], &dtp_md_zero, md[4]};
    work = dtp_pd_work(pd, actual);
    assert_true(work.flops == 2. * 5 * 16 * 24 && work.bytes == 4. * (5 * 16 + 16 * 24 + 5 * 24));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    for (int i = 0; i < 5; ++i) CHECK_OK(dnnl_tp_memory_desc_destroy(md[i]));
}

static int64_t below(test_rng_t *rng, uint64_t n) { return (int64_t)(test_rand(rng) % n); }

static void taps_inside_are_counted(void **state) {
    (void)state;
    test_rng_t rng = test_rng(0);
    for (int round = 0; round < 20000; ++round) {
        dtp_window_t w = {.in = 1 + below(&rng, 12),
                          .kernel = 1 + below(&rng, 5),
                          .stride = 1 + below(&rng, 4),
                          .step = 1 + below(&rng, 3),
                          .pad = below(&rng, 9)};
        w.out = below(&rng, 12); /* also where nothing is inside any more */
        int64_t all = 0;
        for (int64_t o = 0; o < w.out; ++o)
            for (int64_t k = 0; k < w.kernel; ++k) {
                const int64_t at = o * w.stride - w.pad + k * w.step;
                all += at >= 0 && at < w.in;
            }
        assert_int_equal(dtp_window_all_taps(&w), all);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(work_is_what_is_counted),
                                       cmocka_unit_test(what_shapes_alone_do_not_say),
                                       cmocka_unit_test(post_operations_are_counted),
                                       cmocka_unit_test(run_time_dimensions_are_known_at_execution),
                                       cmocka_unit_test(taps_inside_are_counted)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
