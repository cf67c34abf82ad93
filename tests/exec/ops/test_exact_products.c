/* matmul of f64, s64 and s32: transposed operands, batches that broadcast, bias, sizes around blocks; against sums in this
 * file, on one thread and on three. Integers wrap. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "support/check.h"
#include "support/one_op.h"

enum { MOST = 40000 };
static union {
    double f64[MOST];
    int64_t s64[MOST];
    int32_t s32[MOST];
} a, b, bias, got;

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
    } shapes[] = {{1, 1, 1, 1, 1},    {1, 1, 4, 7, 16},  {1, 1, 5, 33, 17},
                  {3, 3, 9, 4, 31},   {1, 4, 3, 10, 64}, {4, 1, 6, 12, 33},
                  {1, 1, 70, 80, 90}, {2, 2, 3, 0, 5},   {1, 1, 0, 4, 3}};
    static const dnnl_tp_data_type_t types[] = {dnnl_tp_f64, dnnl_tp_s64, dnnl_tp_s32};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s)
        for (int t = 0; t < 3; ++t)
            for (int form = 0; form < 16; ++form) {
                const int64_t m = shapes[s].m, k = shapes[s].k, n = shapes[s].n, ab = shapes[s].a_batch,
                              bb = shapes[s].b_batch, batch = ab > bb ? ab : bb;
                const uint8_t ta = form & 1, tb = form >> 1 & 1;
                const bool has_bias = form & 4;
                const int threads = form & 8 ? 3 : 1, nd = batch > 1 ? 3 : 2;
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_products)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
