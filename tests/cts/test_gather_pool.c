/* Gather and pool_normalize on every engine and pool: id types, sums of embeddings, table types, masks,
 * packed sequences, ids and offsets out of range (nothing is written), leading rows only. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/half.h"
#include "common/primitive/primitive_desc.h"
#include "common/problems/graph/gather.h"
#include "common/problems/graph/pool_normalize.h"
#include "support/tensor.h"
#include "support/upload.h"
#include "threading/base/parallel.h"

enum { V = 50, H = 37, N = 23 };

static dtp_gather_desc_t gather_desc(dnnl_tp_data_type_t table, dnnl_tp_data_type_t ids) {
    dtp_gather_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_GATHER;
    const int64_t t[] = {V, H}, n[] = {N}, d[] = {N, H};
    CHECK_OK(dtp_md_init_strides(&op.table, 2, t, table, NULL));
    CHECK_OK(dtp_md_init_strides(&op.ids, 1, n, ids, NULL));
    CHECK_OK(dtp_md_init_strides(&op.dst, 2, d, dnnl_tp_f32, NULL));
    return op;
}

static void gather_rows(void **state) {
    (void)state;
    static const dnnl_tp_data_type_t types[] = {dnnl_tp_f32, dnnl_tp_bf16, dnnl_tp_f16, dnnl_tp_s8};
    int n;
    const place_t *at = places(&n);
    for (int i = 0; i < n; ++i)
        for (int t = 0; t < 4; ++t)
            for (int wide = 0; wide < 2; ++wide)
                for (int form = 0; form < 3; ++form) { /* to f32, added, to bf16 */
                    const bool sum = form == 1;
                    dtp_gather_desc_t op = gather_desc(types[t], wide ? dnnl_tp_s64 : dnnl_tp_s32);
                    if (form == 2) op.dst.data_type = dnnl_tp_bf16;
                    tensor_t table, dst;
                    test_rng_t r = test_rng((uint64_t)t);
                    tensor_init(&table, &op.table);
                    tensor_fill(&table, &r, -9, 9, true);
                    tensor_init(&dst, &op.dst);
                    tensor_fill(&dst, &r, -3, 3, true);
                    int32_t ids[N];
                    int64_t ids64[N];
                    double before[N * H];
                    for (int k = 0; k < N; ++k) ids64[k] = ids[k] = (int32_t)(test_rand(&r) % V);
                    for (int k = 0; k < N * H && sum; ++k) before[k] = ((float *)(void *)dst.data)[k];
                    dnnl_tp_primitive_attr_t attr;
                    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
                    if (sum) {
                        dnnl_tp_post_ops_t po;
                        CHECK_OK(dnnl_tp_post_ops_create(&po));
                        CHECK_OK(dnnl_tp_post_ops_append_sum(po, 2.f, 0, dnnl_tp_data_type_undef));
                        CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
                        CHECK_OK(dnnl_tp_post_ops_destroy(po));
                    }
                    dnnl_tp_primitive_desc_t pd;
                    CHECK_OK(dtp_pd_create(&pd, at[i].engine, &op.base, sizeof op, attr));
                    check_impl(pd, at[i].isa == dnnl_tp_cpu_isa_sse41 ? "ref:" : "simd", "gather");
                    dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_WEIGHTS, table.data},
                                                    {DNNL_TP_ARG_SRC, wide ? (void *)ids64 : (void *)ids},
                                                    {DNNL_TP_ARG_DST, dst.data}};
                    CHECK_OK(run_pd(&at[i], pd, 3, args));
                    for (int64_t k = 0; k < N; ++k)
                        for (int64_t c = 0; c < H; ++c) {
                            const int64_t from[] = {ids[k], c}, to[] = {k, c};
                            double want = tensor_get(&table, from) + (sum ? 2 * before[k * H + c] : 0);
                            assert_true(tensor_get(&dst, to) == want);
                        }
                    tensor_check(&dst, "dst");
                    tensor_free(&table), tensor_free(&dst);
                    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
                }
}

static void gather_refusals(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    static float table[V * H], dst[N * H];
    for (int bad = 0; bad < 5; ++bad) {
        const bool wide = bad >= 3; /* cut to 32 bits they would be rows of the table */
        dtp_gather_desc_t op = gather_desc(dnnl_tp_f32, wide ? dnnl_tp_s64 : dnnl_tp_s32);
        int32_t ids[N] = {0};
        int64_t ids64[N] = {0};
        ids[N - 1] = bad == 0 ? V : bad == 1 ? -1 : INT32_MAX;
        ids64[N - 1] = bad == 3 ? INT64_C(0x100000001) : -INT64_C(0xffffffff);
        for (int k = 0; k < N * H; ++k) dst[k] = 777.f;
        dnnl_tp_primitive_desc_t pd;
        CHECK_OK(dtp_pd_create(&pd, at[0].engine, &op.base, sizeof op, NULL));
        dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_WEIGHTS, table},
                                        {DNNL_TP_ARG_SRC, wide ? (void *)ids64 : (void *)ids},
                                        {DNNL_TP_ARG_DST, dst}};
        CHECK_STATUS(run_pd(&at[0], pd, 3, args), dnnl_tp_runtime_error);
        /* Where the work comes after the call, its text is what is told. */
        assert_int_equal(dtp_last_reason(),
                         test_engine_is_far(at[0].engine) ? DTP_ITEM_FAILED : DTP_GRAPH_INDEX);
        for (int k = 0; k < N * H && !test_engine_is_far(at[0].engine); ++k) assert_true(dst[k] == 777.f);
    }
    dnnl_tp_primitive_desc_t pd;
    dtp_gather_desc_t op = gather_desc(dnnl_tp_f32, dnnl_tp_f32);
    CHECK_STATUS(dtp_pd_create(&pd, at[0].engine, &op.base, sizeof op, NULL), dnnl_tp_unimplemented);
    op = gather_desc(dnnl_tp_f32, dnnl_tp_s32);
    op.dst.dims[0] = 5;
    CHECK_STATUS(dtp_pd_create(&pd, at[0].engine, &op.base, sizeof op, NULL), dnnl_tp_unimplemented);
}

/* Where a finding is noted and the work goes on, ids outside are taken as the nearest row. */
static void gather_clamps(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    if (!runs_cpu_code(at->engine) || test_engine_is_far(at->engine)) skip();
    float *table = malloc(sizeof *table * V * H); /* whose end the address sanitizer knows */
    static float dst[N * H];
    for (int k = 0; k < V * H; ++k) table[k] = (float)k;
    for (int i = 0; i < n; ++i) {
        dtp_gather_desc_t op = gather_desc(dnnl_tp_f32, dnnl_tp_s32);
        dnnl_tp_primitive_desc_t pd;
        dnnl_tp_primitive_t p;
        int32_t ids[N] = {0};
        ids[1] = V, ids[2] = -1, ids[3] = INT32_MAX;
        CHECK_OK(dtp_pd_create(&pd, at[i].engine, &op.base, sizeof op, NULL));
        CHECK_OK(dnnl_tp_primitive_create(&p, pd));
        void *ptr[DTP_GATHER_NARGS + 1] = {
            [DTP_GATHER_TABLE] = table, [DTP_GATHER_IDS] = ids, [DTP_GATHER_DST] = dst};
        const dtp_md_t *mds[DTP_GATHER_NARGS + 1] = {NULL};
        const dtp_parallel_t alone = {.num_threads = 1};
        dtp_data_error_t word;
        memset(&word, 0, sizeof word);
        const dtp_run_part_t part = {&word, 0};
        dtp_exec_ctx_t ctx = {&alone, ptr, mds, NULL, -1, p->prepared, NULL, &part};
        CHECK_OK(dtp_primitive_run_in(p, &ctx));
        assert_int_equal(word.at, 1);
        for (int k = 0; k < H; ++k) {
            assert_true(dst[1 * H + k] == table[(V - 1) * H + k] && dst[2 * H + k] == table[k]);
            assert_true(dst[3 * H + k] == table[(V - 1) * H + k]);
        }
        CHECK_OK(dnnl_tp_primitive_destroy(p));
        CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    }
    free(table);
}

static void pool_normalize_all(void **state) {
    (void)state;
    enum { B = 5, S = 11, T = B * S };
    int n;
    const place_t *at = places(&n);
    for (int i = 0; i < n; ++i)
        for (int form = 0; form < 6; ++form) { /* plain, mask, packed, all zero rows; bf16 plain, packed */
            test_rng_t r = test_rng((uint64_t)form);
            static float x[T * H], y[B * H], mask[T];
            static uint16_t low[T * H];
            const bool is_low = form > 3, is_packed = form == 2 || form == 5;
            const dnnl_tp_data_type_t dt = is_low ? dnnl_tp_bf16 : dnnl_tp_f32;
            static const int32_t offsets[B + 1] = {0, 4, 4, 20, 21, 50};
            for (int k = 0; k < T * H; ++k) x[k] = form == 3 ? 0.f : test_uniform(&r, -1, 1);
            for (int k = 0; k < T * H && is_low; ++k) x[k] = dtp_bf16_to_f32(low[k] = dtp_f32_to_bf16(x[k]));
            for (int k = 0; k < T; ++k) mask[k] = (float)(test_rand(&r) & 1);
            for (int k = 0; k < S; ++k) mask[2 * S + k] = 0; /* nothing counts */
            dtp_pool_normalize_desc_t op;
            memset(&op, 0, sizeof op);
            op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_POOL_NORMALIZE;
            op.epsilon = 1e-12f;
            const int64_t dims[] = {B, S, H}, flat[] = {T, H}, out[] = {B, H}, n1[] = {B + 1};
            CHECK_OK(is_packed ? dtp_md_init_strides(&op.src, 2, flat, dt, NULL)
                               : dtp_md_init_strides(&op.src, 3, dims, dt, NULL));
            CHECK_OK(dtp_md_init_strides(&op.dst, 2, out, dnnl_tp_f32, NULL));
            if (form == 1) CHECK_OK(dtp_md_init_strides(&op.mask, 2, dims, dnnl_tp_f32, NULL));
            if (is_packed) CHECK_OK(dtp_md_init_strides(&op.offsets, 1, n1, dnnl_tp_s32, NULL));
            dnnl_tp_primitive_desc_t pd;
            CHECK_OK(dtp_pd_create(&pd, at[i].engine, &op.base, sizeof op, NULL));
            dnnl_tp_primitive_t p;
            CHECK_OK(dnnl_tp_primitive_create(&p, pd));
            dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, is_low ? (void *)low : x},
                                            {DNNL_TP_ARG_DST, y},
                                            {DNNL_TP_ARG_MULTIPLE_SRC, mask},
                                            {DNNL_TP_ARG_MULTIPLE_SRC + 1, (void *)(uintptr_t)offsets}};
            memset(y, 0xff, sizeof y);
            CHECK_OK(run_pd(&at[i], pd, 4, args));
            for (int b = 0; b < B; ++b) {
                double want[H], norm = 0, count = 0;
                memset(want, 0, sizeof want);
                int from = is_packed ? offsets[b] : b * S, to = is_packed ? offsets[b + 1] : (b + 1) * S;
                for (int k = from; k < to; ++k) {
                    double w = form == 1 ? mask[k] : 1;
                    count += w;
                    for (int c = 0; c < H; ++c) want[c] += w * x[k * H + c];
                }
                for (int c = 0; c < H; ++c)
                    want[c] = count > 0 ? want[c] / count : 0, norm += want[c] * want[c];
                norm = fmax(sqrt(norm), 1e-12);
                for (int c = 0; c < H; ++c) assert_true(fabs(y[b * H + c] - want[c] / norm) < 2e-6);
            }
            /* The first two sequences only: same bits, nothing else written. */
            static float part[B * H];
            for (int k = 0; k < B * H; ++k) part[k] = 777.f;
            void *ptr[] = {is_low ? (void *)low : x, mask, (void *)(uintptr_t)offsets, part};
            dtp_parallel_t alone = {.num_threads = 1};
            _Alignas(64) static char scratch[4 * H + 128];
            if (runs_cpu_code(at[i].engine)) CHECK_OK(dtp_primitive_run(p, &alone, ptr, NULL, scratch, 2));
            CHECK_OK(dnnl_tp_primitive_destroy(p));
            if (!runs_cpu_code(at[i].engine)) continue;
            assert_memory_equal(part, y, 2 * H * sizeof(float));
            for (int k = 2 * H; k < B * H; ++k) assert_true(part[k] == 777.f);
        }
}

/* What cannot be normalized stays visible, and what f32 cannot square has a length all the same. */
static void pool_normalize_extremes(void **state) {
    (void)state;
    enum { B = 4, LARGE = 2 };
    int n;
    const place_t *at = places(&n);
    for (int i = 0; i < n; ++i) {
        static float x[B * H], y[B * H];
        test_rng_t r = test_rng(5);
        for (int k = 0; k < B * H; ++k) x[k] = test_uniform(&r, 1, 2);
        x[3] = NAN;
        x[H + 5] = INFINITY;
        for (int c = 0; c < H; ++c) x[LARGE * H + c] *= 1e20f, x[(LARGE + 1) * H + c] *= 1.5e38f;
        dtp_pool_normalize_desc_t op;
        memset(&op, 0, sizeof op);
        op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_POOL_NORMALIZE;
        op.epsilon = 1e-12f;
        CHECK_OK(dtp_md_init_strides(&op.src, 3, (int64_t[]){B, 1, H}, dnnl_tp_f32, NULL));
        CHECK_OK(dtp_md_init_strides(&op.dst, 2, (int64_t[]){B, H}, dnnl_tp_f32, NULL));
        dnnl_tp_primitive_desc_t pd;
        CHECK_OK(dtp_pd_create(&pd, at[i].engine, &op.base, sizeof op, NULL));
        const dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, x}, {DNNL_TP_ARG_DST, y}};
        CHECK_OK(run_pd(&at[i], pd, 2, args));
        for (int b = 0; b < B; ++b) {
            double norm = 0;
            for (int c = 0; c < H; ++c) norm += (double)x[b * H + c] * x[b * H + c];
            for (int c = 0; c < H; ++c) {
                const double z = x[b * H + c], got = y[b * H + c];
                if (b >= LARGE) assert_true(fabs(got - z / sqrt(norm)) < 2e-6);
                else if (c == (b ? 5 : 3)) assert_true(isnan(got));
                else assert_true(got == 0);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gather_rows), cmocka_unit_test(gather_refusals),
                                       cmocka_unit_test(gather_clamps), cmocka_unit_test(pool_normalize_all),
                                       cmocka_unit_test(pool_normalize_extremes)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
