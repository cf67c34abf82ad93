/* Eltwise, binary, reorder and concat on f64, s64, boolean, and as graphs have them on s32, s8, u8: layouts,
 * broadcasts, results that are boolean, in place, padding, against the portable function of one element
 * (unit/test_exact.c checks that); what each kind refuses. */
#include <stdlib.h>

#include "common/primitive/primitive_desc.h"
#include "common/problems/binary.h"
#include "common/problems/eltwise.h"
#include "cpu/simd/vops.h"
#include "support/tensor.h"

static const dnnl_tp_data_type_t types[] = {dnnl_tp_f64, dnnl_tp_s64, dnnl_tp_boolean,
                                            dnnl_tp_s32, dnnl_tp_s8,  dnnl_tp_u8};
enum { NTYPES = sizeof types / sizeof *types };

static void *at_pos(const tensor_t *t, const int64_t *pos) {
    dnnl_tp_dims_t p;
    for (int d = 0; d < t->md.ndims; ++d) p[d] = t->md.dims[d] == 1 ? 0 : pos[d];
    return t->data + dtp_md_offset(&t->md, p) * (int64_t)dtp_type_size(t->md.data_type);
}

/* Values beyond 2^53, signs, zeros. */
static void fill(tensor_t *t, test_rng_t *r) {
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    memset(t->data, 0, t->bytes);
    if (dtp_md_nelems(&t->md) == 0) return;
    do {
        const uint64_t u = test_rand(r);
        int64_t v = (int64_t)(u << 32 | test_rand(r));
        if (u % 3 == 0) v = (int64_t)(u / 3 % 5) - 2;
        if (t->md.data_type == dnnl_tp_boolean) v &= 1;
        double f = (double)v / 3;
        void *p = at_pos(t, pos);
        if (t->md.data_type == dnnl_tp_f64) memcpy(p, &f, sizeof f);
        else memcpy(p, &v, dtp_type_size(t->md.data_type));
    } while (tensor_next(&t->md, pos));
}

/* dst where it differs from want, or -1. */
static void check_equal(const tensor_t *got, const tensor_t *want, const char *what, const char *place) {
    if (memcmp(got->data, want->data, got->bytes)) {
        size_t i = 0;
        while (got->data[i] == want->data[i]) ++i;
        fail_msg("%s on %s, type %d: byte %zu of %zu", what, place, (int)got->md.data_type, i, got->bytes);
    }
    tensor_check(got, what);
}

/* ---- Binary -------------------------------------------------------------------------------------------- */

static const struct {
    int ndims;
    int64_t dst[4], src1[4];
    const char *l0, *l1, *ld;
} shapes[] = {
    {1, {1}, {1}, "a", "a", "a"},
    {2, {13, 57}, {13, 57}, "ab", "ab", "ab"},
    {2, {13, 57}, {13, 57}, "ab", "ba", "ab"},
    {2, {130, 57}, {1, 57}, "ab", "ab", "ab"},
    {2, {13, 57}, {13, 1}, "ba", "ab", "ab"},
    {2, {300, 1025}, {300, 1025}, "ab", "ab", "ba"},
    {4, {2, 19, 5, 3}, {2, 19, 5, 3}, "aBcd16b", "abcd", "aBcd16b"},
    {4, {2, 19, 5, 3}, {1, 19, 1, 1}, "acdb", "abcd", "abcd"},
    {2, {0, 4}, {0, 4}, "ab", "ab", "ab"},
};

static dnnl_tp_status_t binary_pd(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t engine, int alg,
                                  const dtp_md_t *x, const dtp_md_t *y, const dtp_md_t *z) {
    dtp_binary_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = dnnl_tp_binary;
    op.alg = (dnnl_tp_alg_kind_t)alg;
    op.exact = 1;
    op.src0 = *x;
    op.src1 = *y;
    op.dst = *z;
    return dtp_pd_create(pd, engine, &op.base, sizeof op, NULL);
}

/* One element by the portable table, and its truth if dst is boolean. */
static void one_binary(int alg, dnnl_tp_data_type_t dt, const void *x, const void *y, void *z, bool truth) {
    char out[8] = {0};
    const char zero[8] = {0};
    dtp_exact(0, dt)->binary[dtp_ew_binary(alg)](
        &(dtp_binary_args_t){.x0 = x, .x1 = y, .y = out, .rows = 1, .cols = 1, .cs0 = 1, .cs1 = 1});
    if (truth) *(char *)z = memcmp(out, zero, dtp_type_size(dt)) != 0;
    else memcpy(z, out, dtp_type_size(dt));
}

static void run_binary(int alg, dnnl_tp_data_type_t dt, size_t s, bool truth, bool in_place) {
    test_rng_t r = test_rng((uint64_t)(s * 64) + (uint64_t)dt);
    tensor_t x, y, z, want;
    const dnnl_tp_data_type_t out = truth ? dnnl_tp_boolean : dt;
    tensor_layout(&x, shapes[s].ndims, shapes[s].dst, dt, shapes[s].l0);
    tensor_layout(&y, shapes[s].ndims, shapes[s].src1, dt, shapes[s].l1);
    tensor_layout(&z, shapes[s].ndims, shapes[s].dst, out, in_place ? shapes[s].l0 : shapes[s].ld);
    tensor_layout(&want, shapes[s].ndims, shapes[s].dst, out, in_place ? shapes[s].l0 : shapes[s].ld);
    fill(&x, &r);
    fill(&y, &r);
    memset(want.data, 0, want.bytes);
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    if (dtp_md_nelems(&want.md) > 0) do
            one_binary(alg, dt, at_pos(&x, pos), at_pos(&y, pos), at_pos(&want, pos), truth);
        while (tensor_next(&want.md, pos));
    int n;
    const place_t *at = places(&n);
    for (int k = 0; k < n; ++k) {
        dnnl_tp_primitive_desc_t pd;
        if (!has_impl(at[k].engine, binary_pd(&pd, at[k].engine, alg, &x.md, &y.md, &z.md))) continue;
        check_impl(pd, "simd", shapes[s].l0);
        tensor_blank(&z);
        if (in_place) memcpy(z.data, x.data, x.bytes);
        const dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC_0, in_place ? z.data : x.data},
                                              {DNNL_TP_ARG_SRC_1, y.data},
                                              {DNNL_TP_ARG_DST, z.data}};
        CHECK_OK(run_pd(&at[k], pd, 3, args));
        check_equal(&z, &want, dnnl_tp_alg_kind2str((dnnl_tp_alg_kind_t)alg), at[k].name);
    }
    tensor_free(&x), tensor_free(&y), tensor_free(&z), tensor_free(&want);
}

static void binary_types(void **state) {
    (void)state;
    static const int algs[] = {
        DTP_ALG_add, DTP_ALG_mul, DTP_ALG_div, DTP_ALG_sub, DTP_ALG_max,
        DTP_ALG_min, DTP_ALG_ge,  DTP_ALG_ne,  DTP_ALG_xor, DTP_ALG_squared_difference};
    for (size_t a = 0; a < sizeof algs / sizeof *algs; ++a)
        for (int t = 0; t < NTYPES; ++t)
            for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
                if (!dtp_ew_takes(algs[a], types[t])) continue;
                run_binary(algs[a], types[t], s, false, s % 2);
                if (algs[a] >= DTP_ALG_ge) run_binary(algs[a], types[t], s, true, false);
            }
}

/* ---- Eltwise ------------------------------------------------------------------------------------------- */

static void run_eltwise(int alg, dnnl_tp_data_type_t dt, size_t s) {
    test_rng_t r = test_rng((uint64_t)(s * 64) + (uint64_t)dt);
    tensor_t x, z, want;
    tensor_layout(&x, shapes[s].ndims, shapes[s].dst, dt, shapes[s].l0);
    tensor_layout(&z, shapes[s].ndims, shapes[s].dst, dt, shapes[s].ld);
    tensor_layout(&want, shapes[s].ndims, shapes[s].dst, dt, shapes[s].ld);
    fill(&x, &r);
    memset(want.data, 0, want.bytes);
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    const float alpha = alg == DTP_ALG_clip ? -2.f : 3.f, beta = 5.f;
    if (dtp_md_nelems(&want.md) > 0) do
            dtp_exact(0, dt)->eltwise[dtp_ew_unary(alg)](&(dtp_eltwise_args_t){.x = at_pos(&x, pos),
                                                                               .y = at_pos(&want, pos),
                                                                               .rows = 1,
                                                                               .cols = 1,
                                                                               .alpha = alpha,
                                                                               .beta = beta});
        while (tensor_next(&want.md, pos));
    int n;
    const place_t *at = places(&n);
    for (int k = 0; k < n; ++k) {
        dtp_eltwise_desc_t op;
        memset(&op, 0, sizeof op);
        op.base.kind = dnnl_tp_eltwise;
        op.prop = dnnl_tp_forward_inference;
        op.alg = (dnnl_tp_alg_kind_t)alg;
        op.alpha = alpha;
        op.beta = beta;
        op.exact = 1;
        op.src = x.md;
        op.dst = z.md;
        dnnl_tp_primitive_desc_t pd;
        if (!has_impl(at[k].engine, dtp_pd_create(&pd, at[k].engine, &op.base, sizeof op, NULL))) continue;
        check_impl(pd, "exact", shapes[s].l0);
        tensor_blank(&z);
        const dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, x.data}, {DNNL_TP_ARG_DST, z.data}};
        CHECK_OK(run_pd(&at[k], pd, 2, args));
        check_equal(&z, &want, dnnl_tp_alg_kind2str((dnnl_tp_alg_kind_t)alg), at[k].name);
    }
    tensor_free(&x), tensor_free(&z), tensor_free(&want);
}

static void eltwise_types(void **state) {
    (void)state;
    static const int algs[] = {DTP_ALG_abs, DTP_ALG_square, DTP_ALG_relu, DTP_ALG_clip, DTP_ALG_linear,
                               DTP_ALG_exp, DTP_ALG_round,  DTP_ALG_not,  DTP_ALG_sqrt};
    for (size_t a = 0; a < sizeof algs / sizeof *algs; ++a)
        for (int t = 0; t < NTYPES; ++t)
            for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s)
                if (dtp_ew_takes(algs[a], types[t])) run_eltwise(algs[a], types[t], s);
}

/* ---- Moves --------------------------------------------------------------------------------------------- */

static void moves(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    for (int t = 0; t < NTYPES; ++t)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s)
            for (int k = 0; k < n; ++k) {
                test_rng_t r = test_rng((uint64_t)(s * 64) + (uint64_t)t);
                const int nd = shapes[s].ndims;
                tensor_t x, z, want;
                tensor_layout(&x, nd, shapes[s].dst, types[t], shapes[s].l0);
                tensor_layout(&z, nd, shapes[s].dst, types[t], shapes[s].ld);
                fill(&x, &r);
                dnnl_tp_primitive_desc_t pd;
                if (!has_impl(at[k].engine, dnnl_tp_reorder_primitive_desc_create(
                                                &pd, &x.md, at[k].engine, &z.md, at[k].engine, NULL))) {
                    tensor_free(&x), tensor_free(&z);
                    continue;
                }
                const dnnl_tp_exec_handle_t turn[] = {{DNNL_TP_ARG_FROM, x.data}, {DNNL_TP_ARG_TO, z.data}};
                CHECK_OK(run_pd(&at[k], pd, 2, turn));
                tensor_check(&z, at[k].name);
                int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
                if (dtp_md_nelems(&z.md) > 0) do
                        assert_memory_equal(at_pos(&x, pos), at_pos(&z, pos), dtp_type_size(types[t]));
                    while (tensor_next(&z.md, pos));
                /* x beside z along the last dim. */
                int64_t twice[4];
                for (int d = 0; d < nd; ++d) twice[d] = shapes[s].dst[d] * (d == nd - 1 ? 2 : 1);
                tensor_layout(&want, nd, twice, types[t], shapes[s].ld);
                const dtp_md_t *const src[] = {&x.md, &z.md};
                if (!has_impl(at[k].engine, dnnl_tp_concat_primitive_desc_create(&pd, at[k].engine, &want.md,
                                                                                 2, nd - 1, src, NULL))) {
                    tensor_free(&x), tensor_free(&z), tensor_free(&want);
                    continue;
                }
                const dnnl_tp_exec_handle_t join[] = {{DNNL_TP_ARG_MULTIPLE_SRC, x.data},
                                                      {DNNL_TP_ARG_MULTIPLE_SRC + 1, z.data},
                                                      {DNNL_TP_ARG_DST, want.data}};
                CHECK_OK(run_pd(&at[k], pd, 3, join));
                tensor_check(&want, at[k].name);
                memset(pos, 0, sizeof pos);
                if (dtp_md_nelems(&x.md) > 0) do {
                        int64_t second[DNNL_TP_MAX_NDIMS];
                        memcpy(second, pos, sizeof second);
                        second[nd - 1] += shapes[s].dst[nd - 1];
                        assert_memory_equal(at_pos(&want, pos), at_pos(&x, pos), dtp_type_size(types[t]));
                        assert_memory_equal(at_pos(&want, second), at_pos(&x, pos), dtp_type_size(types[t]));
                    } while (tensor_next(&x.md, pos));
                tensor_free(&x), tensor_free(&z), tensor_free(&want);
            }
}

/* ---- Refusals ------------------------------------------------------------------------------------------ */

static dtp_md_t plain(dnnl_tp_data_type_t dt) {
    dtp_md_t md;
    const int64_t dims[] = {4, 4};
    CHECK_OK(dtp_md_init_strides(&md, 2, dims, dt, NULL));
    return md;
}

static void refusals(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    static const struct {
        int alg;
        dnnl_tp_data_type_t x, y, z;
    } rows[] = {
        {DTP_ALG_add, dnnl_tp_f64, dnnl_tp_f32, dnnl_tp_f64},
        {DTP_ALG_add, dnnl_tp_f32, dnnl_tp_f64, dnnl_tp_f32},
        {DTP_ALG_add, dnnl_tp_s64, dnnl_tp_s64, dnnl_tp_s32},
        {DTP_ALG_add, dnnl_tp_s32, dnnl_tp_s8, dnnl_tp_s32},
        {DTP_ALG_div, dnnl_tp_boolean, dnnl_tp_boolean, dnnl_tp_boolean},
        {DTP_ALG_sub, dnnl_tp_boolean, dnnl_tp_boolean, dnnl_tp_boolean},
        {DTP_ALG_and, dnnl_tp_s32, dnnl_tp_s32, dnnl_tp_s32},
        {DTP_ALG_and, dnnl_tp_f32, dnnl_tp_f32, dnnl_tp_f32},
        {DTP_ALG_add, dnnl_tp_f32, dnnl_tp_f32, dnnl_tp_boolean},
    };
    dnnl_tp_primitive_desc_t pd;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const dtp_md_t x = plain(rows[i].x), y = plain(rows[i].y), z = plain(rows[i].z);
        CHECK_STATUS(binary_pd(&pd, at[0].engine, rows[i].alg, &x, &y, &z), dnnl_tp_unimplemented);
    }
    /* Parameters of integers are integers. */
    const dtp_md_t s64 = plain(dnnl_tp_s64), f64 = plain(dnnl_tp_f64), f32 = plain(dnnl_tp_f32);
    CHECK_STATUS(dnnl_tp_eltwise_forward_primitive_desc_create(&pd, at[0].engine, dnnl_tp_forward_inference,
                                                               dnnl_tp_eltwise_relu, &s64, &s64, .5f, 0,
                                                               NULL),
                 dnnl_tp_unimplemented);
    /* Each kind names the types that it does not take. */
    for (int t = 0; t < 3; ++t) {
        const dtp_md_t md = plain(types[t]);
        const dtp_md_t *const two[] = {&md, &md};
        CHECK_STATUS(dnnl_tp_reorder_primitive_desc_create(&pd, &md, at[0].engine, &f32, at[0].engine, NULL),
                     dnnl_tp_unimplemented);
        CHECK_STATUS(
            dnnl_tp_sum_primitive_desc_create(&pd, at[0].engine, &md, 2, (float[]){1.f, 1.f}, two, NULL),
            dnnl_tp_unimplemented);
        /* Only the CPU's kernels normalise f64. */
        const bool has_norms = runs_cpu_code(at[0].engine) && types[t] == dnnl_tp_f64;
        CHECK_STATUS(
            dnnl_tp_softmax_forward_primitive_desc_create(&pd, at[0].engine, dnnl_tp_forward_inference,
                                                          dnnl_tp_softmax_accurate, &md, &md, 1, NULL),
            has_norms ? dnnl_tp_success : dnnl_tp_unimplemented);
        if (has_norms) CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
        const bool has_products = types[t] != dnnl_tp_boolean;
        CHECK_STATUS(dnnl_tp_matmul_primitive_desc_create(&pd, at[0].engine, &md, &md, NULL, &md, NULL),
                     has_products ? dnnl_tp_success : dnnl_tp_unimplemented);
        if (has_products) CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
        CHECK_STATUS(dnnl_tp_matmul_primitive_desc_create(&pd, at[0].engine, &f32, &f32, NULL, &md, NULL),
                     dnnl_tp_unimplemented);
        CHECK_STATUS(dnnl_tp_inner_product_forward_primitive_desc_create(
                         &pd, at[0].engine, dnnl_tp_forward_inference, &md, &md, NULL, &md, NULL),
                     dnnl_tp_unimplemented);
        dtp_md_t row = md;
        row.dims[1] = row.padded_dims[1] = 1;
        CHECK_STATUS(dnnl_tp_reduction_primitive_desc_create(&pd, at[0].engine, dnnl_tp_reduction_sum, &md,
                                                             &row, 0, 0, NULL),
                     dnnl_tp_unimplemented);
        dtp_md_t stat;
        const int64_t four = 4;
        CHECK_OK(dtp_md_init_strides(&stat, 1, &four, dnnl_tp_f32, NULL));
        CHECK_STATUS(dnnl_tp_layer_normalization_forward_primitive_desc_create(
                         &pd, at[0].engine, dnnl_tp_forward_inference, &md, &md, &stat, 1e-5f, 0, NULL),
                     has_norms ? dnnl_tp_success : dnnl_tp_unimplemented);
        if (has_norms) CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
        /* Post-operations read what f32 holds. */
        dnnl_tp_primitive_attr_t attr;
        dnnl_tp_post_ops_t po;
        CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
        CHECK_OK(dnnl_tp_post_ops_create(&po));
        CHECK_OK(dnnl_tp_post_ops_append_binary(po, dnnl_tp_binary_add, &md));
        CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
        CHECK_STATUS(dnnl_tp_matmul_primitive_desc_create(&pd, at[0].engine, &f32, &f32, NULL, &f32, attr),
                     dnnl_tp_unimplemented);
        CHECK_STATUS(dnnl_tp_binary_primitive_desc_create(&pd, at[0].engine, dnnl_tp_binary_add, &f64, &f64,
                                                          &f64, attr),
                     dnnl_tp_unimplemented);
        CHECK_STATUS(
            dnnl_tp_softmax_forward_primitive_desc_create(&pd, at[0].engine, dnnl_tp_forward_inference,
                                                          dnnl_tp_softmax_accurate, &f64, &f64, 1, attr),
            dnnl_tp_unimplemented);
        CHECK_STATUS(dnnl_tp_layer_normalization_forward_primitive_desc_create(
                         &pd, at[0].engine, dnnl_tp_forward_inference, &f64, &f64, &stat, 1e-5f, 0, attr),
                     dnnl_tp_unimplemented);
        CHECK_OK(dnnl_tp_post_ops_destroy(po));
        CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    }
    /* The public calls of s32 keep f32's arithmetic. */
    const dtp_md_t s32 = plain(dnnl_tp_s32);
    CHECK_OK(
        dnnl_tp_binary_primitive_desc_create(&pd, at[0].engine, dnnl_tp_binary_add, &s32, &s32, &s32, NULL));
    int32_t x[16], y[16], z[16];
    for (int i = 0; i < 16; ++i) x[i] = INT32_MAX - i, y[i] = i;
    const dnnl_tp_exec_handle_t args[] = {
        {DNNL_TP_ARG_SRC_0, x}, {DNNL_TP_ARG_SRC_1, y}, {DNNL_TP_ARG_DST, z}};
    CHECK_OK(run_pd(&at[0], pd, 3, args));
    for (int i = 0; i < 16; ++i) assert_int_equal(z[i], INT32_MAX); /* saturates */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(binary_types), cmocka_unit_test(eltwise_types),
                                       cmocka_unit_test(moves), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
