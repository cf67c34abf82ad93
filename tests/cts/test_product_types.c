/* Products over micro-kernels of other types than f32: all that a new type needs is a set of kernels. The sets here are
 * plain C, of bf16 (two elements a k-step) and s8 (four), and run through the matmul and the inner product that are
 * built over every set; what these refuse for them falls to the reference. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/scalar.h"
#include "common/problems/inner_product.h"
#include "common/problems/matmul.h"
#include "cpu/inner_product/inner_product.h"
#include "cpu/matmul/matmul.h"
#include "support/layout.h"
#include "support/tensor.h"

/* ---- Kernels ----------------------------------------------------------------------------------------- */

static float dot_bf16(const char *a, const char *b) {
    return (float)(dtp_load(dnnl_tp_bf16, a, 0) * dtp_load(dnnl_tp_bf16, b, 0) +
                   dtp_load(dnnl_tp_bf16, a, 1) * dtp_load(dnnl_tp_bf16, b, 1));
}
static float dot_s8(const char *a, const char *b) {
    int sum = 0;
    for (int i = 0; i < DTP_UKR_STEP_BYTES; ++i) sum += ((const int8_t *)a)[i] * ((const int8_t *)b)[i];
    return (float)sum;
}

static void kernel(int mr, float (*dot)(const char *a, const char *b), const dtp_ukr_args_t *u) {
    assert_int_equal(u->bstep, DTP_UKR_PANEL_BYTES);
    assert_true(!u->taps && !u->row_a && !u->row_c && !u->copy);
    for (int64_t row = 0; row < u->nblk * mr; ++row)
        for (int j = 0; j < DTP_UKR_PANEL && (u->mask >> j & 1); ++j) {
            float *c = (float *)(void *)(u->c + row * u->ldc) + j, sum = u->flags & DTP_UKR_ACC ? *c : 0.f;
            for (int64_t k = 0; k < u->k; ++k)
                sum += dot(u->a + row * u->lda + k * DTP_UKR_STEP_BYTES,
                           u->b + k * DTP_UKR_PANEL_BYTES + j * DTP_UKR_STEP_BYTES);
            if (u->bias) sum += ((const float *)u->bias)[j];
            if (u->flags & DTP_UKR_RELU_FIRST) sum = fmaxf(sum, 0.f);
            if (u->add) sum += u->add_scale * ((const float *)(const void *)(u->add + row * u->ldadd))[j];
            if (u->flags & DTP_UKR_FLOOR) sum = fmaxf(sum, u->floor);
            *c = u->flags & DTP_UKR_CAP ? fminf(sum, u->cap) : sum;
        }
}
static void bf16_1(const dtp_ukr_args_t *u) { kernel(1, dot_bf16, u); }
static void bf16_2(const dtp_ukr_args_t *u) { kernel(2, dot_bf16, u); }
static void s8_1(const dtp_ukr_args_t *u) { kernel(1, dot_s8, u); }
static void s8_2(const dtp_ukr_args_t *u) { kernel(2, dot_s8, u); }
static const dtp_ukr_set_t set_bf16 = {
    .elems = 2, .flops_per_ns = 1, .max_nv = 1, .max_mr = {0, 2}, .tile = {{0}, {0, bf16_1, bf16_2}}};
static const dtp_ukr_set_t set_s8 = {
    .elems = 4, .flops_per_ns = 1, .max_nv = 1, .max_mr = {0, 2}, .tile = {{0}, {0, s8_1, s8_2}}};

/* ---- An engine whose list begins with them ----------------------------------------------------------- */

static const dtp_ukr_set_t *set_of(const dtp_md_t *wei) {
    return wei->data_type == dnnl_tp_s8 ? &set_s8 : &set_bf16;
}
static dnnl_tp_status_t own_pd_init(dtp_pd_t *pd) {
    return dtp_matmul_ukr_pd_init(pd, set_of(&((const dtp_matmul_desc_t *)pd->op)->wei), 0);
}
static dnnl_tp_status_t own_ip_init(dtp_pd_t *pd) {
    return dtp_inner_product_ukr_pd_init(pd, set_of(&((const dtp_inner_product_desc_t *)pd->op)->wei), 0);
}
static const dtp_impl_t own_impl = {.name = "own",
                                    .flags = DTP_IMPL_ROWS,
                                    .plan_size = sizeof(dtp_product_t),
                                    .pd_init = own_pd_init,
                                    .execute = dtp_matmul_ukr_execute};
static const dtp_impl_t own_ip = {.name = "own",
                                  .flags = DTP_IMPL_ROWS,
                                  .plan_size = sizeof(dtp_product_t),
                                  .pd_init = own_ip_init,
                                  .execute = dtp_inner_product_ukr_execute};
extern const dtp_impl_t dtp_cpu_matmul__ref, dtp_cpu_inner_product__ref;
static const dtp_impl_t *const own_list[] = {&own_impl, &dtp_cpu_matmul__ref, NULL};
static const dtp_impl_t *const own_ip_list[] = {&own_ip, &dtp_cpu_inner_product__ref, NULL};
static const dtp_engine_vtbl_t *true_vtbl;
static const dtp_impl_t *const *own_impl_list(dnnl_tp_primitive_kind_t kind) {
    return kind == dnnl_tp_matmul          ? own_list
           : kind == dnnl_tp_inner_product ? own_ip_list
                                           : true_vtbl->impl_list(kind);
}

typedef struct {
    int64_t m, n, k;
    dnnl_tp_data_type_t dt, ddt;
    bool bias, relu;
    const char *src, *impl, *packed;
} case_t;
#define BF16 dnnl_tp_bf16
#define S8 dnnl_tp_s8
#define F32 dnnl_tp_f32
static const case_t cases[] = {
    {1, 16, 2, BF16, F32, false, false, "ab", "own", "BA8a16b2a"},
    {3, 17, 130, BF16, F32, true, true, "ab", "own", "BA8a16b2a"},
    {65, 100, 64, BF16, F32, true, false, "ab", "own", "BA8a16b2a"},
    {7, 33, 34, BF16, BF16, true, true, "ab", "own", "BA8a16b2a"},
    {5, 40, 6000, BF16, F32, false, true, "ab", "own", "BA8a16b2a"}, /* several passes over k */
    {1, 16, 4, S8, F32, false, false, "ab", "own", "BA4a16b4a"},
    {9, 70, 132, S8, F32, true, true, "ab", "own", "BA4a16b4a"},
    {33, 18, 8, S8, S8, false, true, "ab", "own", "BA4a16b4a"},
    {3, 17, 131, BF16, F32, false, false, "ab", "ref", NULL}, /* half a k-step */
    {3, 17, 130, S8, F32, false, false, "ab", "ref", NULL},
    {3, 17, 130, BF16, F32, false, false, "ba", "ref", NULL}, /* rows that would have to be packed */
};

static void run_case(const place_t *at, const case_t *c) {
    test_rng_t r = test_rng((uint64_t)(c - cases));
    tensor_t src, wei, bia, dst;
    dtp_md_t any, bmd;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_post_ops_t po;
    tensor_layout(&src, 2, (const int64_t[]){c->m, c->k}, c->dt, c->src);
    tensor_layout(&dst, 2, (const int64_t[]){c->m, c->n}, c->ddt, "ab");
    CHECK_OK(dtp_md_init_strides(&bmd, 2, (const int64_t[]){1, c->n}, F32, NULL));
    tensor_init(&bia, &bmd);
    CHECK_OK(dtp_md_init_tag(&any, 2, (const int64_t[]){c->k, c->n}, c->dt, dnnl_tp_format_tag_any));
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    if (c->relu) CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_relu, 0.f, 0.f));
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
    CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, at->engine, &src.md, &any, c->bias ? &bmd : NULL,
                                                  &dst.md, attr));
    assert_memory_equal(impl_name(pd), c->impl, strlen(c->impl));
    const dtp_md_t *wmd = dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_weights_md, 0);
    if (c->packed) assert_true(md_matches(wmd, c->packed));
    tensor_init(&wei, wmd);
    tensor_fill(&src, &r, -4.f, 4.f, true);
    tensor_fill(&wei, &r, -4.f, 4.f, true);
    tensor_fill(&bia, &r, -4.f, 4.f, true);
    const dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, src.data},
                                          {DNNL_TP_ARG_WEIGHTS, wei.data},
                                          {DNNL_TP_ARG_DST, dst.data},
                                          {DNNL_TP_ARG_BIAS, bia.data}};
    CHECK_OK(run_pd(at, pd, c->bias ? 4 : 3, args));
    tensor_check(&dst, "dst");
    for (int64_t m = 0; m < c->m; ++m)
        for (int64_t n = 0; n < c->n; ++n) {
            double want = c->bias ? tensor_get(&bia, (const int64_t[]){0, n}) : 0;
            for (int64_t k = 0; k < c->k; ++k)
                want += tensor_get(&src, (const int64_t[]){m, k}) * tensor_get(&wei, (const int64_t[]){k, n});
            if (c->relu) want = fmax(want, 0);
            const double got = tensor_get(&dst, (const int64_t[]){m, n});
            if (got != round_to(c->ddt, want))
                fail_msg("case %d: %lld,%lld is %g, want %g", (int)(c - cases), (long long)m, (long long)n,
                         got, want);
        }
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    tensor_free(&src);
    tensor_free(&wei);
    tensor_free(&bia);
    tensor_free(&dst);
}

/* Channels innermost, so that k runs through space and channels: src and packed weights are walked alike. */
static void run_ip(const place_t *at, dnnl_tp_data_type_t dt, int64_t channels, const char *impl,
                   const char *packed) {
    enum { M = 5, N = 18, H = 2, W = 3 };
    test_rng_t r = test_rng((uint64_t)channels);
    tensor_t src, wei, dst;
    dtp_md_t any;
    dnnl_tp_primitive_desc_t pd;
    tensor_layout(&src, 4, (const int64_t[]){M, channels, H, W}, dt, "acdb");
    tensor_layout(&dst, 2, (const int64_t[]){M, N}, F32, "ab");
    CHECK_OK(dtp_md_init_tag(&any, 4, (const int64_t[]){N, channels, H, W}, dt, dnnl_tp_format_tag_any));
    CHECK_OK(dnnl_tp_inner_product_forward_primitive_desc_create(&pd, at->engine, dnnl_tp_forward_inference,
                                                                 &src.md, &any, NULL, &dst.md, NULL));
    assert_memory_equal(impl_name(pd), impl, strlen(impl));
    const dtp_md_t *wmd = dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_weights_md, 0);
    if (packed) assert_true(md_matches(wmd, packed));
    tensor_init(&wei, wmd);
    tensor_fill(&src, &r, -4.f, 4.f, true);
    tensor_fill(&wei, &r, -4.f, 4.f, true);
    const dnnl_tp_exec_handle_t args[] = {
        {DNNL_TP_ARG_SRC, src.data}, {DNNL_TP_ARG_WEIGHTS, wei.data}, {DNNL_TP_ARG_DST, dst.data}};
    CHECK_OK(run_pd(at, pd, 3, args));
    int64_t pos[4];
    for (int64_t m = 0; m < M; ++m)
        for (int64_t n = 0; n < N; ++n) {
            double want = 0;
            for (pos[1] = 0; pos[1] < channels; ++pos[1])
                for (pos[2] = 0; pos[2] < H; ++pos[2])
                    for (pos[3] = 0; pos[3] < W; ++pos[3]) {
                        pos[0] = m;
                        const double s = tensor_get(&src, pos);
                        pos[0] = n;
                        want += s * tensor_get(&wei, pos);
                    }
            assert_true(tensor_get(&dst, (const int64_t[]){m, n}) == want);
        }
    tensor_free(&src);
    tensor_free(&wei);
    tensor_free(&dst);
}

static void other_types(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    for (int i = 0; i < n; ++i) {
        true_vtbl = at[i].engine->v;
        dtp_engine_vtbl_t own = *true_vtbl;
        own.impl_list = own_impl_list;
        at[i].engine->v = &own;
        for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) run_case(&at[i], &cases[k]);
        run_ip(&at[i], BF16, 32, "own", "AcdB8b16a2b");
        run_ip(&at[i], S8, 16, "own", "AcdB4b16a4b");
        run_ip(&at[i], S8, 18, "ref", NULL); /* not whole column panels */
        at[i].engine->v = true_vtbl;
    }
}

/* A pair of types has a set or none; of equal types the fastest that the bits allow. */
static void sets_by_type(void **state) {
    (void)state;
    assert_ptr_equal(dtp_ukr_set(F32, F32, F32, 0), &dtp_ukr__ref);
#if DTP_X64
    const unsigned avx512 = DTP_ISA_AVX2 | DTP_ISA_AVX512;
    assert_ptr_equal(dtp_ukr_set(F32, F32, F32, DTP_ISA_AVX2), &dtp_ukr__avx2);
    assert_ptr_equal(dtp_ukr_set(F32, F32, F32, avx512 | DTP_ISA_AVX512_VNNI), &dtp_ukr__avx512);
    assert_null(dtp_ukr_set(dnnl_tp_u8, S8, dnnl_tp_s32, avx512));
    assert_non_null(dtp_ukr_set(dnnl_tp_u8, S8, dnnl_tp_s32, avx512 | DTP_ISA_AVX512_VNNI));
    assert_null(dtp_ukr_set(dnnl_tp_u8, S8, F32, avx512 | DTP_ISA_AVX512_VNNI));
#endif
    assert_null(dtp_ukr_set(F32, S8, F32, ~0u));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sets_by_type), cmocka_unit_test(other_types)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
