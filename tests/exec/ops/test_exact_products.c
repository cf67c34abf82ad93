/* matmul, convolution and conv_transpose of f64, s64 and s32: transposed operands, batches that broadcast, bias, sizes around
 * blocks, windows; against sums in this file, on one thread and on three. Integers wrap. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "support/check.h"
#include "support/one_op.h"
#include "support/upload.h"

enum { MOST = 40000, IMAGES = 2 };
static union {
    double f64[MOST];
    int64_t s64[MOST];
    int32_t s32[MOST];
} a, b, bias, got, sum;
static uint64_t sum_s64[MOST];
static uint32_t sum_s32[MOST];

static void fill(dnnl_tp_data_type_t type, void *to, int n, uint64_t seed) {
    test_rng_t r = test_rng(seed);
    for (int i = 0; i < n; ++i) {
        const uint64_t v = (uint64_t)test_rand(&r) << 32 | (uint32_t)test_rand(&r);
        if (type == dnnl_tp_f64) ((double *)to)[i] = (double)test_uniform(&r, -1.f, 1.f) / 3;
        else if (type == dnnl_tp_s64) ((int64_t *)to)[i] = (int64_t)v;
        else ((int32_t *)to)[i] = (int32_t)v;
    }
}

static void test_products(void **state) {
    (void)state;
    static const struct {
        int64_t a_batch, b_batch, m, k, n;
    } shapes[] = {{1, 1, 1, 1, 1},   {1, 1, 4, 7, 16},     {1, 1, 5, 33, 17},  {3, 3, 9, 4, 31},
                  {1, 4, 3, 10, 64}, {4, 1, 6, 12, 33},    {1, 1, 70, 80, 90}, {2, 2, 3, 0, 5},
                  {1, 1, 0, 4, 3},   {1, 1, 131, 140, 19}, {1, 2, 12, 300, 7}, {1, 1, 8, 129, 8},
                  {1, 1, 9, 256, 40}};
    static const dnnl_tp_data_type_t types[] = {dnnl_tp_f64, dnnl_tp_s64, dnnl_tp_s32};
    const bool is_far = test_engine_kind() == dnnl_tp_gpu; /* by an interpreter, without threads */
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s)
        for (int t = 0; t < 3; ++t)
            for (int form = 0; form < 16; ++form) {
                const int64_t m = shapes[s].m, k = shapes[s].k, n = shapes[s].n, ab = shapes[s].a_batch,
                              bb = shapes[s].b_batch, batch = ab > bb ? ab : bb;
                const uint8_t ta = form & 1, tb = form >> 1 & 1;
                const bool has_bias = form & 4;
                const int threads = form & 8 ? 3 : 1, nd = batch > 1 ? 3 : 2;
                if (is_far && (threads > 1 || (m * k * n > MOST && form % 3))) continue;
                fill(types[t], &a, (int)(ab * m * k), s);
                fill(types[t], &b, (int)(bb * k * n), s + 100);
                fill(types[t], &bias, (int)n, s + 200);
                test_tensor_t in[3] = {{types[t], nd, {ab, ta ? k : m, ta ? m : k}, &a},
                                       {types[t], nd, {bb, tb ? n : k, tb ? k : n}, &b},
                                       {types[t], 1, {n}, &bias}};
                for (int i = 0; i < 2 && nd == 2; ++i)
                    memmove(in[i].dims, in[i].dims + 1, 2 * sizeof *in[i].dims);
                const dnnl_tp_op_attr_t attr[] = {
                    {dnnl_tp_op_attr_transpose_a, dnnl_tp_op_attr_bool, 1, &ta},
                    {dnnl_tp_op_attr_transpose_b, dnnl_tp_op_attr_bool, 1, &tb}};
                CHECK_OK(
                    test_one_op(dnnl_tp_op_matmul, 2, attr, has_bias ? 3 : 2, in, &got, sizeof got, threads));
                for (int64_t i = 0; i < batch * m * n; ++i) {
                    const int64_t c = i % n, r = i / n % m, at = i / n / m;
                    double f64 = has_bias ? bias.f64[c] : 0;
                    uint64_t s64 = has_bias ? (uint64_t)bias.s64[c] : 0;
                    uint32_t s32 = has_bias ? (uint32_t)bias.s32[c] : 0;
                    for (int64_t x = 0; x < k; ++x) {
                        const int64_t p = (ab > 1 ? at : 0) * m * k + (ta ? x * m + r : r * k + x),
                                      q = (bb > 1 ? at : 0) * k * n + (tb ? c * k + x : x * n + c);
                        f64 += a.f64[p] * b.f64[q];
                        s64 += (uint64_t)a.s64[p] * (uint64_t)b.s64[q];
                        s32 += (uint32_t)a.s32[p] * (uint32_t)b.s32[q];
                    }
                    if (types[t] == dnnl_tp_f64) assert_true(fabs(got.f64[i] - f64) <= 1e-13);
                    else if (types[t] == dnnl_tp_s64) assert_true(got.s64[i] == (int64_t)s64);
                    else assert_true(got.s32[i] == (int32_t)s32);
                }
            }
}

/* sum[i] += x[j] w[k] in all types. */
static void add_product(int64_t i, int64_t j, int64_t k) {
    sum.f64[i] += a.f64[j] * b.f64[k];
    sum_s64[i] += (uint64_t)a.s64[j] * (uint64_t)b.s64[k];
    sum_s32[i] += (uint32_t)a.s32[j] * (uint32_t)b.s32[k];
}

typedef struct {
    int64_t h, w, kh, kw, sh, sw, dh, dw, pads[4], groups, ic, oc; /* channels of a group */
} window_case_t;

/* The sums of all images, without bias. The window slides over src, or over dst of a transposed convolution: `wide`; the other one
 * has a pixel for each of its positions: `few`. */
static void window_sums(const window_case_t *c, bool transposed, int64_t dst_h, int64_t dst_w) {
    const int64_t channels = c->groups * c->oc, wide_h = transposed ? dst_h : c->h,
                  wide_w = transposed ? dst_w : c->w, few_h = transposed ? c->h : dst_h,
                  few_w = transposed ? c->w : dst_w;
    memset(&sum, 0, sizeof sum);
    memset(sum_s64, 0, sizeof sum_s64);
    memset(sum_s32, 0, sizeof sum_s32);
    for (int64_t i = 0; i < IMAGES * channels * few_h * few_w * c->ic * c->kh * c->kw; ++i) {
        const int64_t x = i % few_w, y = i / few_w % few_h, l = i / few_w / few_h % c->kw,
                      k = i / few_w / few_h / c->kw % c->kh, in = i / few_w / few_h / c->kw / c->kh % c->ic,
                      o = i / few_w / few_h / c->kw / c->kh / c->ic % channels,
                      image = i / few_w / few_h / c->kw / c->kh / c->ic / channels;
        const int64_t at_y = y * c->sh - c->pads[0] + k * c->dh, at_x = x * c->sw - c->pads[1] + l * c->dw;
        if (at_y < 0 || at_y >= wide_h || at_x < 0 || at_x >= wide_w) continue;
        const int64_t plane = image * c->groups * c->ic + o / c->oc * c->ic + in;
        const int64_t src = transposed ? (plane * c->h + y) * c->w + x : (plane * c->h + at_y) * c->w + at_x;
        const int64_t dst = transposed ? ((image * channels + o) * dst_h + at_y) * dst_w + at_x
                                       : ((image * channels + o) * dst_h + y) * dst_w + x;
        add_product(dst, src, ((o * c->ic + in) * c->kh + k) * c->kw + l);
    }
}

static void test_windows(void **state) {
    (void)state;
    enum { SIDE_PADS = 2 };
    static const window_case_t cases[] = {
        {4, 5, 3, 3, 1, 1, 1, 1, {1, 1, 1, 1}, 1, 3, 35},  {7, 6, 3, 2, 2, 3, 1, 2, {1, 0, 2, 1}, 2, 5, 4},
        {1, 19, 1, 4, 1, 2, 1, 3, {0, 3, 0, 5}, 1, 2, 70}, {3, 3, 2, 2, 3, 3, 1, 1, {0, 0, 0, 0}, 3, 1, 1},
        {5, 4, 3, 3, 1, 2, 1, 1, {1, 1, 1, 1}, 70, 1, 1},  {2, 2, 5, 5, 1, 1, 1, 1, {4, 4, 4, 4}, 1, 1, 2},
        {6, 9, 1, 1, 1, 1, 1, 1, {0, 0, 0, 0}, 1, 17, 16}};
    static const dnnl_tp_data_type_t types[] = {dnnl_tp_f64, dnnl_tp_s64, dnnl_tp_s32};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; ++n)
        for (int form = 0; form < 3 * 8; ++form) {
            const window_case_t *c = &cases[n];
            const dnnl_tp_data_type_t type = types[form / 8];
            const bool has_bias = form & 1, transposed = form & 2;
            const int threads = form & 4 ? 3 : 1;
            if (threads > 1 && test_engine_kind() == dnnl_tp_gpu) continue;
            const int64_t range_h = (c->kh - 1) * c->dh + 1, range_w = (c->kw - 1) * c->dw + 1,
                          all_h = c->pads[0] + c->pads[2], all_w = c->pads[1] + c->pads[3];
            const int64_t dst_h = transposed ? (c->h - 1) * c->sh + range_h - all_h
                                             : (c->h + all_h - range_h) / c->sh + 1,
                          dst_w = transposed ? (c->w - 1) * c->sw + range_w - all_w
                                             : (c->w + all_w - range_w) / c->sw + 1;
            if (dst_h < 0 || dst_w < 0) continue;
            const int64_t channels = c->groups * c->oc, planes = c->groups * c->ic;
            fill(type, &a, (int)(IMAGES * planes * c->h * c->w), n);
            fill(type, &b, (int)(channels * c->ic * c->kh * c->kw), n + 100);
            fill(type, &bias, (int)channels, n + 200);
            const test_tensor_t in[3] = {{type, 4, {IMAGES, planes, c->h, c->w}, &a},
                                         {type, 4, {channels, c->ic, c->kh, c->kw}, &b},
                                         {type, 1, {channels}, &bias}};
            const int64_t strides[] = {c->sh, c->sw}, dilations[] = {c->dh, c->dw};
            const dnnl_tp_op_attr_t attr[] = {
                {dnnl_tp_op_attr_strides, dnnl_tp_op_attr_s64, 2, strides},
                {dnnl_tp_op_attr_dilations, dnnl_tp_op_attr_s64, 2, dilations},
                {dnnl_tp_op_attr_pads_begin, dnnl_tp_op_attr_s64, SIDE_PADS, c->pads},
                {dnnl_tp_op_attr_pads_end, dnnl_tp_op_attr_s64, SIDE_PADS, c->pads + SIDE_PADS},
                {dnnl_tp_op_attr_groups, dnnl_tp_op_attr_s64, 1, &c->groups}};
            CHECK_OK(test_one_op(transposed ? dnnl_tp_op_conv_transpose : dnnl_tp_op_convolution, 5, attr,
                                 has_bias ? 3 : 2, in, &got, sizeof got, threads));
            window_sums(c, transposed, dst_h, dst_w);
            for (int64_t i = 0; i < IMAGES * channels * dst_h * dst_w; ++i) {
                const int64_t o = i / dst_w / dst_h % channels;
                if (type == dnnl_tp_f64)
                    assert_true(fabs(got.f64[i] - sum.f64[i] - (has_bias ? bias.f64[o] : 0)) <= 1e-13);
                else if (type == dnnl_tp_s64)
                    assert_true(got.s64[i] == (int64_t)(sum_s64[i] + (has_bias ? (uint64_t)bias.s64[o] : 0)));
                else
                    assert_true(got.s32[i] == (int32_t)(sum_s32[i] + (has_bias ? (uint32_t)bias.s32[o] : 0)));
            }
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_products), cmocka_unit_test(test_windows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
