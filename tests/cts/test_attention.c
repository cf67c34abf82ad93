/* Attention against a double evaluation: head sizes, lengths around every block, masks, fused and packed
 * inputs, scores beyond the range of the fast path, refusals, leading sequences only; on every engine and
 * pool. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/half.h"
#include "common/primitive/primitive_desc.h"
#include "common/problems/graph/attention.h"
#include "support/tensor.h"
#include "support/upload.h"
#include "threading/base/parallel.h"

typedef struct {
    int heads;
    int64_t b, s, d;
    bool mask, fused, packed;
    float magnitude; /* of q and k */
} case_t;

static const case_t cases[] = {
    {12, 1, 8, 32, false, true, false, 1},   {12, 2, 16, 32, true, true, false, 1},
    {3, 1, 128, 32, false, true, false, 1},  {2, 2, 127, 64, true, false, false, 1},
    {2, 1, 129, 64, false, true, false, 1},  {1, 1, 17, 16, false, false, false, 1},
    {1, 2, 33, 48, true, false, false, 1},   {2, 1, 40, 80, false, true, false, 1},
    {1, 1, 70, 96, true, true, false, 1},    {1, 1, 300, 128, false, false, false, 1},
    {2, 1, 1, 32, false, true, false, 1},    {1, 2, 2, 1, false, false, false, 1},
    {3, 2, 19, 5, true, true, false, 1},     {2, 1, 31, 37, false, false, false, 1},
    {1, 1, 1100, 32, true, false, false, 1}, {1, 1, 700, 20, true, true, false, 1},
    {4, 5, 150, 32, false, true, true, 1},   {2, 3, 7, 24, false, true, true, 1},
    {2, 1, 50, 32, false, true, false, 40},  {1, 1, 600, 32, true, true, false, 60},
    {2, 2, 20, 64, true, false, false, 25},
};

static dtp_attention_desc_t describe_in(dnnl_tp_data_type_t dt, const case_t *c, int64_t total,
                                        const int64_t *strides, float scale) {
    dtp_attention_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_ATTENTION;
    op.heads = c->heads;
    op.scale = scale;
    int64_t h = c->heads * c->d, dims[3] = {c->b, c->s, h};
    const int64_t *dd = dims;
    int nd = 3;
    if (c->packed) dims[0] = total, dims[1] = h, nd = 2;
    const int64_t *st = c->packed ? strides + 1 : strides;
    CHECK_OK(dtp_md_init_strides(&op.q, nd, dd, dt, st));
    op.k = op.v = op.q;
    if (c->fused) op.k.offset0 = h, op.v.offset0 = 2 * h;
    CHECK_OK(dtp_md_init_strides(&op.dst, nd, dd, dt, NULL));
    if (c->mask) CHECK_OK(dtp_md_init_strides(&op.mask, 2, dims, dnnl_tp_f32, NULL));
    if (c->packed) {
        int64_t n1 = c->b + 1;
        CHECK_OK(dtp_md_init_strides(&op.offsets, 1, &n1, dnnl_tp_s32, NULL));
    }
    return op;
}

static dtp_attention_desc_t describe(const case_t *c, int64_t total, const int64_t *strides, float scale) {
    return describe_in(dnnl_tp_f32, c, total, strides, scale);
}

/* x becomes what bf16 has of it; the same in bf16. */
static uint16_t *rounded(float *x, int64_t n) {
    uint16_t *to = malloc(sizeof *to * (size_t)(n + 1));
    for (int64_t i = 0; i < n; ++i) {
        to[i] = dtp_f32_to_bf16(x[i]);
        x[i] = dtp_bf16_to_f32(to[i]);
    }
    return to;
}

static void attention_case(const place_t *at, const case_t *c, int number, dnnl_tp_data_type_t dt) {
    test_rng_t rng = test_rng((uint64_t)number);
    int32_t offsets[16] = {0};
    int64_t total = c->b * c->s;
    if (c->packed) { /* uneven lengths, one of them empty */
        for (int64_t i = 0; i < c->b; ++i)
            offsets[i + 1] = offsets[i] + (i == 1 ? 0 : (int32_t)(1 + test_rand(&rng) % (uint64_t)c->s));
        total = offsets[c->b] + 3; /* rows that belong to nobody */
    }
    int64_t h = c->heads * c->d, ld = c->fused ? 3 * h + 7 : h, strides[3] = {c->s * ld, ld, 1};
    float *q = malloc(sizeof(float) * (size_t)(total * ld)),
          *k = c->fused ? q : malloc(sizeof(float) * (size_t)(total * ld));
    float *v = c->fused ? q : malloc(sizeof(float) * (size_t)(total * ld)),
          *mask = malloc(sizeof(float) * (size_t)total);
    float *o = malloc(sizeof(float) * (size_t)(total * h));
    for (int64_t i = 0; i < total * ld; ++i) {
        bool value = c->fused && i % ld >= 2 * h;
        q[i] = test_uniform(&rng, -1, 1) * (value ? 1 : c->magnitude);
        if (!c->fused) k[i] = test_uniform(&rng, -1, 1) * c->magnitude, v[i] = test_uniform(&rng, -1, 1);
    }
    for (int64_t i = 0; i < total; ++i)
        mask[i] = test_rand(&rng) % 4 ? 0.f : test_rand(&rng) % 2 ? -1e9f : -INFINITY;
    if (c->mask && c->b > 1)
        for (int64_t i = 0; i < c->s; ++i) mask[c->s + i] = -INFINITY; /* nothing to see: zeros */
    float scale = 1.f / sqrtf((float)c->d);
    dtp_attention_desc_t op = describe_in(dt, c, total, strides, scale);
    const bool low = dt == dnnl_tp_bf16;
    dnnl_tp_primitive_desc_t pd;
    CHECK_OK(dtp_pd_create(&pd, at->engine, &op.base, sizeof op, NULL));
    check_impl(pd, at->isa == dnnl_tp_cpu_isa_sse41 ? "ref:any" : "simd:", "attention");
    for (int64_t i = 0; i < total * h; ++i) o[i] = 776.f;
    uint16_t *lq = low ? rounded(q, total * ld) : NULL, *lo = low ? rounded(o, total * h) : NULL,
             *lk = low && !c->fused ? rounded(k, total * ld) : lq,
             *lv = low && !c->fused ? rounded(v, total * ld) : lq;
    dnnl_tp_exec_handle_t args[] = {
        {DNNL_TP_ARG_SRC_0, low ? (void *)lq : q}, {DNNL_TP_ARG_SRC_1, low ? (void *)lk : k},
        {DNNL_TP_ARG_SRC_2, low ? (void *)lv : v}, {DNNL_TP_ARG_DST, low ? (void *)lo : o},
        {DNNL_TP_ARG_MULTIPLE_SRC, mask},          {DNNL_TP_ARG_MULTIPLE_SRC + 1, offsets}};
    CHECK_OK(run_pd(at, pd, 6, args));
    for (int64_t i = 0; i < total * h && low; ++i) o[i] = dtp_bf16_to_f32(lo[i]);
    double *p = malloc(sizeof(double) * (size_t)(total + 1));
    for (int64_t b = 0; b < c->b; ++b) {
        int64_t first = c->packed ? offsets[b] : b * c->s, n = c->packed ? offsets[b + 1] - first : c->s;
        for (int head = 0; head < c->heads; ++head)
            for (int64_t i = 0; i<n; i += n> 200 ? 13 : 1) {
                const float *qi = q + (first + i) * ld + head * c->d;
                double max = -INFINITY, sum = 0, big = 0;
                for (int64_t j = 0; j < n; ++j) {
                    const float *kj = k + (c->fused ? h : 0) + (first + j) * ld + head * c->d;
                    double s = 0;
                    for (int64_t x = 0; x < c->d; ++x) s += (double)qi[x] * kj[x];
                    s *= scale;
                    if (c->mask) s += mask[first + j];
                    p[j] = s;
                    if (s > max) max = s;
                    if (fabs(s) < 1e6 && fabs(s) > big) big = fabs(s);
                }
                for (int64_t j = 0; j < n; ++j) sum += p[j] = p[j] == -INFINITY ? 0 : exp(p[j] - max);
                for (int64_t x = 0; x < c->d; ++x) {
                    double want = 0, spread = 0;
                    for (int64_t j = 0; j < n; ++j) {
                        const double vj =
                            (double)v[(c->fused ? 2 * h : 0) + (first + j) * ld + head * c->d + x];
                        want += p[j] * vj;
                        spread += p[j] * fabs(vj);
                    }
                    if (sum == 0) want = spread = 0;
                    else want /= sum, spread /= sum;
                    double got = o[(first + i) * h + head * c->d + x];
                    /* The scores are sums of d products in f32; an error e there changes a probability by e.
                     */
                    double tol = 2e-6 + 4e-7 * (big + 1) * (1 + sqrt((double)c->d) / 8);
                    if (low) tol += fabs(want) * 0x1.1p-8; /* rounded once, in the end */
                    if (low && !runs_cpu_code(at->engine)) tol += spread * 0x1p-8; /* probabilities, too */
                    if (max < -1e8) tol += 1e2; /* all masked by -1e9: the scores drown */
                    if (!(fabs(got - want) <= tol))
                        fail_msg("case %d on %s: sequence %d head %d row %d column %d: %.9g, not %.9g",
                                 number, at->name, (int)b, head, (int)i, (int)x, got, want);
                }
            }
    }
    if (c->packed)
        for (int64_t i = (total - 3) * h; i < total * h; ++i) assert_true(o[i] == 776.f);
    free(lo);
    if (lk != lq) free(lk), free(lv);
    free(lq);
    free(p), free(q), free(mask), free(o);
    if (!c->fused) free(k), free(v);
}

static void attention_all(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    for (int i = 0; i < n; ++i)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
            attention_case(&at[i], &cases[c], (int)c, dnnl_tp_f32);
            attention_case(&at[i], &cases[c], (int)c, dnnl_tp_bf16);
        }
}

/* The same bits on any number of threads, and for the leading sequences alone. */
static void attention_same_bits(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    if (!runs_cpu_code(at->engine)) skip();
    case_t c = {4, 6, 45, 32, true, false, false, 1};
    enum { H = 128, T = 6 * 45 };
    static float q[T * H], k[T * H], v[T * H], mask[T], o[T * H], part[T * H], first[T * H];
    test_rng_t rng = test_rng(7);
    for (int i = 0; i < T * H; ++i)
        q[i] = test_uniform(&rng, -1, 1), k[i] = test_uniform(&rng, -1, 1), v[i] = test_uniform(&rng, -1, 1);
    int64_t strides[3] = {45 * H, H, 1};
    for (int i = 0; i < n; ++i) {
        dtp_attention_desc_t op = describe(&c, T, strides, 0.2f);
        dnnl_tp_primitive_desc_t pd;
        CHECK_OK(dtp_pd_create(&pd, at[i].engine, &op.base, sizeof op, NULL));
        dnnl_tp_primitive_t primitive;
        CHECK_OK(dnnl_tp_primitive_create(&primitive, pd));
        void *ptr[] = {q, k, v, mask, NULL, part};
        char *scratch = aligned_alloc(64, dtp_pd_scratch_size(pd) + 64);
        dtp_parallel_t alone = {.num_threads = 1};
        memset(part, 0, sizeof part);
        CHECK_OK(dtp_primitive_run(primitive, &alone, ptr, NULL, scratch, 4));
        free(scratch);
        dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC_0, q},
                                        {DNNL_TP_ARG_SRC_1, k},
                                        {DNNL_TP_ARG_SRC_2, v},
                                        {DNNL_TP_ARG_DST, o},
                                        {DNNL_TP_ARG_MULTIPLE_SRC, mask}};
        CHECK_OK(run_pd(&at[i], pd, 5, args));
        CHECK_OK(dnnl_tp_primitive_destroy(primitive));
        assert_memory_equal(o, part, sizeof(float) * 4 * 45 * H);
        for (int j = 4 * 45 * H; j < T * H; ++j) assert_true(part[j] == 0.f);
        if (i == 0 || at[i].isa != at[i - 1].isa) memcpy(first, o, sizeof o);
        assert_memory_equal(first, o, sizeof o);
    }
}

static void attention_refusals(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    case_t c = {2, 2, 8, 16, false, false, true, 1};
    int64_t strides[3] = {8 * 32, 32, 1};
    dnnl_tp_primitive_desc_t pd;
    static float x[16 * 32], o[16 * 32];
    int32_t bad[][3] = {{0, 5, 17}, {0, 9, 8}, {-1, 3, 8}};
    for (int i = 0; i < 3; ++i) {
        dtp_attention_desc_t op = describe(&c, 16, strides, 0.5f);
        CHECK_OK(dtp_pd_create(&pd, at[0].engine, &op.base, sizeof op, NULL));
        dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC_0, x},
                                        {DNNL_TP_ARG_SRC_1, x},
                                        {DNNL_TP_ARG_SRC_2, x},
                                        {DNNL_TP_ARG_DST, o},
                                        {DNNL_TP_ARG_MULTIPLE_SRC + 1, bad[i]}};
        CHECK_STATUS(run_pd(&at[0], pd, 5, args), dnnl_tp_runtime_error);
        /* Where the work comes after the call, its text is what is told. */
        assert_int_equal(dtp_last_reason(),
                         test_engine_is_far(at[0].engine) ? DTP_ITEM_FAILED : DTP_GRAPH_INDEX);
    }
    dtp_attention_desc_t op = describe(&c, 16, strides, 0.5f);
    op.heads = 3;
    CHECK_STATUS(dtp_pd_create(&pd, at[0].engine, &op.base, sizeof op, NULL), dnnl_tp_unimplemented);
    op = describe(&c, 16, strides, 0.5f);
    op.k.data_type = dnnl_tp_bf16;
    CHECK_STATUS(dtp_pd_create(&pd, at[0].engine, &op.base, sizeof op, NULL), dnnl_tp_unimplemented);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(attention_all), cmocka_unit_test(attention_same_bits),
                                       cmocka_unit_test(attention_refusals)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
