/* Layer normalisation against double on every engine and pool: lengths around every block, flags, training
 * and global statistics, types, layouts, scales, post-ops, in place, bits independent of threads, leading
 * rows only. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/primitive/primitive_desc.h"
#include "support/tensor.h"
#include "threading/base/parallel.h"

typedef struct {
    int ndims;
    int64_t dims[5];
    const char *src, *dst, *stat;
    unsigned flags;
    bool training, in_place, scales, post_ops;
    dnnl_tp_data_type_t st, dt, vt;
} case_t;

enum { G = dnnl_tp_use_global_stats, S = dnnl_tp_use_scale, H = dnnl_tp_use_shift, R = dnnl_tp_rms_norm };
#define F32 dnnl_tp_f32, dnnl_tp_f32, dnnl_tp_f32
static const case_t cases[] = {
    {2, {3, 1}, "ab", "ab", "a", S | H, 1, 0, 0, 0, F32},
    {2, {5, 15}, "ab", "ab", "a", 0, 1, 0, 0, 0, F32},
    {2, {5, 16}, "ab", "ab", "a", S, 0, 1, 0, 0, F32},
    {2, {6, 17}, "ab", "ab", "a", H, 0, 0, 0, 0, F32},
    {2, {37, 384}, "ab", "ab", "a", S | H, 0, 0, 0, 0, F32},
    {2, {130, 384}, "ab", "ab", "a", S | H, 1, 1, 0, 0, F32},
    {2, {11, 1000}, "ab", "ab", "a", S | H | R, 1, 0, 0, 0, F32},
    {2, {5, 2049}, "ab", "ab", "a", S | H, 1, 0, 0, 0, F32},
    {2, {4, 4100}, "ab", "ab", "a", S | H, 0, 0, 0, 0, F32},
    {2, {3, 9001}, "ab", "ab", "a", R, 0, 1, 0, 0, F32},
    {2, {9, 100}, "ab", "ab", "a", G | S | H, 0, 0, 0, 0, F32},
    {2, {9, 100}, "ab", "ab", "a", G | R | S, 0, 0, 0, 0, F32},
    {3, {4, 5, 33}, "abc", "abc", "ab", S | H, 1, 0, 0, 0, F32},
    {3, {4, 5, 33}, "bac", "abc", "ba", S | H, 1, 0, 0, 0, F32},
    {4, {2, 3, 5, 20}, "abcd", "acbd", "cab", S | H, 1, 0, 0, 0, F32},
    {3, {4, 5, 33}, "acb", "acb", "ab", G | S | H, 0, 0, 0, 0, F32},
    {3, {2, 5, 33}, "abC16c", "abC16c", "ab", S | H, 1, 0, 0, 0, F32},
    {2, {7, 90}, "ab", "ab", "a", S | H, 1, 1, 0, 0, dnnl_tp_bf16, dnnl_tp_bf16, dnnl_tp_f32},
    {2, {7, 90}, "ab", "ab", "a", S | H, 0, 0, 0, 0, dnnl_tp_f16, dnnl_tp_f32, dnnl_tp_f16},
    {2, {7, 90}, "ab", "ab", "a", S | H, 0, 0, 1, 0, dnnl_tp_f32, dnnl_tp_s8, dnnl_tp_bf16},
    {2, {7, 90}, "ab", "ab", "a", S | H, 0, 0, 1, 1, dnnl_tp_u8, dnnl_tp_u8, dnnl_tp_f32},
    {2, {40, 90}, "ab", "ab", "a", S | H, 0, 0, 1, 1, F32},
    {3, {3, 8, 90}, "abc", "abc", "ab", S | H, 1, 1, 0, 1, F32},
    {2, {0, 90}, "ab", "ab", "a", S | H, 1, 0, 0, 0, F32},
};

static void layer_norm_case(const place_t *at, const case_t *c, int number) {
    const float eps = 1e-5f;
    tensor_t src, dst, mean, var, scale, shift, add;
    test_rng_t r = test_rng((uint64_t)number + 100);
    int last = c->ndims - 1;
    int64_t len = c->dims[last];
    tensor_layout(&src, c->ndims, c->dims, c->st, c->src);
    tensor_fill(&src, &r, c->st == dnnl_tp_u8 ? 0 : -3, 5, c->st > dnnl_tp_f32);
    if (c->in_place) dst = src;
    else tensor_layout(&dst, c->ndims, c->dims, c->dt, c->dst);
    tensor_layout(&mean, last, c->dims, dnnl_tp_f32, c->stat);
    tensor_layout(&var, last, c->dims, dnnl_tp_f32, c->stat);
    if (c->flags & G) tensor_fill(&mean, &r, -1, 1, false), tensor_fill(&var, &r, .5f, 3, false);
    tensor_layout(&scale, 1, &len, c->vt, "a");
    tensor_layout(&shift, 1, &len, c->vt, "a");
    tensor_fill(&scale, &r, .5f, 2, false);
    tensor_fill(&shift, &r, -1, 1, false);
    tensor_layout(&add, c->ndims, c->dims, dnnl_tp_f32,
                  c->ndims == 2   ? "ab"
                  : c->ndims == 3 ? "abc"
                                  : "abcd");
    tensor_fill(&add, &r, -4, 4, true);
    int64_t n = dtp_md_nelems(&src.md), pos[12] = {0}, i = 0;
    double *x = malloc(sizeof(double) * (size_t)(n + 1));
    if (n) do
            x[i++] = tensor_get(&src, pos);
        while (tensor_next(&src.md, pos));
    dnnl_tp_primitive_attr_t attr;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    float src_scale = 2.f, dst_scale = .125f;
    if (c->scales) {
        CHECK_OK(dnnl_tp_primitive_attr_set_scales_mask(attr, DNNL_TP_ARG_SRC, 0));
        CHECK_OK(dnnl_tp_primitive_attr_set_scales_mask(attr, DNNL_TP_ARG_DST, 0));
    }
    if (c->post_ops) {
        dnnl_tp_post_ops_t po;
        CHECK_OK(dnnl_tp_post_ops_create(&po));
        CHECK_OK(dnnl_tp_post_ops_append_binary(po, dnnl_tp_binary_add, &add.md));
        CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_relu, .5f, 0));
        CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
        CHECK_OK(dnnl_tp_post_ops_destroy(po));
    }
    dnnl_tp_primitive_desc_t pd;
    if (!has_impl(at->engine,
                  dnnl_tp_layer_normalization_forward_primitive_desc_create_v2(
                      &pd, at->engine, c->training ? dnnl_tp_forward_training : dnnl_tp_forward_inference,
                      &src.md, &dst.md, &mean.md, c->vt, eps, c->flags, attr)))
        goto done;
    check_impl(pd, at->isa == dnnl_tp_cpu_isa_sse41 ? "ref:" : "simd", "layer normalization");
    dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, src.data},
                                    {DNNL_TP_ARG_DST, dst.data},
                                    {DNNL_TP_ARG_MEAN, mean.data},
                                    {DNNL_TP_ARG_VARIANCE, var.data},
                                    {DNNL_TP_ARG_SCALE, scale.data},
                                    {DNNL_TP_ARG_SHIFT, shift.data},
                                    {DNNL_TP_ARG_ATTR_SCALES | DNNL_TP_ARG_SRC, &src_scale},
                                    {DNNL_TP_ARG_ATTR_SCALES | DNNL_TP_ARG_DST, &dst_scale},
                                    {DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_TP_ARG_SRC_1, add.data}};
    CHECK_OK(run_pd(at, pd, 9, args));
    memset(pos, 0, sizeof pos);
    double m = 0, v = 0;
    i = 0;
    if (n) do {
            if (pos[last] == 0) {
                double mm = 0, vv = 0;
                for (int64_t k = 0; k < len && !(c->flags & R); ++k) mm += x[i + k];
                mm /= (double)len;
                for (int64_t k = 0; k < len; ++k) vv += (x[i + k] - mm) * (x[i + k] - mm);
                vv /= (double)len;
                m = mm, v = vv;
                if (c->flags & G) m = c->flags & R ? 0 : tensor_get(&mean, pos), v = tensor_get(&var, pos);
                else if (c->training) {
                    if (!(c->flags & R)) assert_true(fabs(tensor_get(&mean, pos) - m) < 1e-6);
                    assert_true(fabs(tensor_get(&var, pos) - v) < 3e-6 * (1 + v));
                }
            }
            int64_t col = pos[last];
            double want = (x[i] - m) / sqrt(v + (double)eps), size = fabs(want);
            if (c->flags & S) want *= tensor_get(&scale, &col), size *= 2;
            if (c->flags & H) want += tensor_get(&shift, &col);
            if (c->scales) want *= src_scale, size *= src_scale;
            if (c->post_ops) want += tensor_get(&add, pos), want = want > 0 ? want : want * .5;
            if (c->scales) want /= dst_scale, size /= dst_scale;
            double got = tensor_get(&dst, pos);
            if (!rounds_near(dst.md.data_type, got, want, 2e-6 * (size + fabs(want) + 1)))
                fail_msg("case %d on %s x%d: element %d is %.9g, not %.9g", number, at->name, at->threads,
                         (int)i, got, want);
            ++i;
        } while (tensor_next(&src.md, pos));
    tensor_check(&dst, "dst");
    tensor_check(&mean, "mean");
    tensor_check(&var, "var");
done:
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    tensor_t *all[] = {&src, &mean, &var, &scale, &shift, &add};
    for (int k = 0; k < 6; ++k) tensor_free(all[k]);
    if (!c->in_place) tensor_free(&dst);
    free(x);
}

static void layer_norm_all(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    for (int i = 0; i < n; ++i)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) layer_norm_case(&at[i], &cases[c], (int)c);
}

/* The mean is taken off first: a large offset does not spoil the variance. */
static void large_offset(void **state) {
    (void)state;
    enum { ROWS = 3, N = 512 };
    static float x[ROWS * N], y[ROWS * N];
    for (int i = 0; i < ROWS * N; ++i) x[i] = 4096.f + (float)(i % 2);
    int n;
    const place_t *at = places(&n);
    for (int i = 0; i < n; ++i) {
        dtp_md_t md;
        int64_t dims[] = {ROWS, N};
        CHECK_OK(dtp_md_init_strides(&md, 2, dims, dnnl_tp_f32, NULL));
        dnnl_tp_primitive_desc_t pd;
        CHECK_OK(dnnl_tp_layer_normalization_forward_primitive_desc_create(
            &pd, at[i].engine, dnnl_tp_forward_inference, &md, &md, NULL, 0.f, 0, NULL));
        dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, x}, {DNNL_TP_ARG_DST, y}};
        CHECK_OK(run_pd(&at[i], pd, 2, args));
        for (int j = 0; j < ROWS * N; ++j) assert_true(fabsf(y[j] - (j % 2 ? 1.f : -1.f)) < 1e-5f);
    }
}

static void same_bits(void **state) {
    (void)state;
    enum { ROWS = 203, N = 171 };
    static float x[ROWS * N], y[ROWS * N], first[ROWS * N], part[ROWS * N];
    test_rng_t rng = test_rng(6);
    for (int i = 0; i < ROWS * N; ++i) x[i] = test_uniform(&rng, -8, 8);
    int n;
    const place_t *at = places(&n);
    if (!runs_cpu_code(at->engine)) skip();
    for (int i = 0; i < n; ++i) {
        dtp_md_t md;
        int64_t dims[] = {ROWS, N};
        CHECK_OK(dtp_md_init_strides(&md, 2, dims, dnnl_tp_f32, NULL));
        dnnl_tp_primitive_desc_t pd;
        CHECK_OK(dnnl_tp_layer_normalization_forward_primitive_desc_create(
            &pd, at[i].engine, dnnl_tp_forward_inference, &md, &md, NULL, 1e-5f, 0, NULL));
        dnnl_tp_primitive_t p;
        CHECK_OK(dnnl_tp_primitive_create(&p, pd));
        memset(part, 0, sizeof part);
        void *ptr[] = {x, part, NULL, NULL, NULL, NULL};
        dtp_parallel_t alone = {.num_threads = 1};
        CHECK_OK(dtp_primitive_run(p, &alone, ptr, NULL, NULL, 21));
        CHECK_OK(dnnl_tp_primitive_destroy(p));
        dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, x}, {DNNL_TP_ARG_DST, y}};
        CHECK_OK(run_pd(&at[i], pd, 2, args));
        if (i == 0 || at[i].isa != at[i - 1].isa) memcpy(first, y, sizeof y);
        assert_memory_equal(first, y, sizeof y);
        assert_memory_equal(part, y, 21 * N * sizeof(float));
        for (int j = 21 * N; j < ROWS * N; ++j) assert_true(part[j] == 0.f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(layer_norm_all), cmocka_unit_test(large_offset),
                                       cmocka_unit_test(same_bits)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
