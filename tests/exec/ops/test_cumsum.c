/* cumsum: every type, axis and order against sums in this file: integers exactly, wrapping; floating-point sums as the
 * sums in double, rounded once; the same bits for every number of threads. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/upload.h"

#include "common/base/half.h"
#include "common/base/scalar.h"
#include "common/primitive/primitive_desc.h"
#include "common/problems/graph/cumsum.h"
#include "threading/base/parallel.h"
#include "exec/graph/graph.h"

enum { MOST = 40000 };

static union {
    float f32[MOST];
    double f64[MOST];
    uint16_t half[MOST];
    uint32_t s32[MOST];
    uint64_t s64[MOST];
} src, dst, want;
static double sum_f[MOST];
static uint64_t sum_i[MOST];

static void fill(dnnl_tp_data_type_t dt, int64_t n) {
    test_rng_t r = test_rng((uint64_t)dt);
    for (int64_t i = 0; i < n; ++i) {
        const float x = test_uniform(&r, -1.f, 1.f);
        switch (dt) {
        case dnnl_tp_f32: src.f32[i] = x; break;
        case dnnl_tp_f64: src.f64[i] = (double)x * 1.1; break;
        case dnnl_tp_bf16: src.half[i] = dtp_f32_to_bf16(x); break;
        case dnnl_tp_f16: src.half[i] = dtp_f32_to_f16(x); break;
        case dnnl_tp_s32: src.s32[i] = (uint32_t)test_rand(&r); break; /* large: sums wrap */
        default: src.s64[i] = test_rand(&r); break;
        }
    }
}

static bool is_integer(dnnl_tp_data_type_t dt) { return dt == dnnl_tp_s32 || dt == dnnl_tp_s64; }

static double load_f(dnnl_tp_data_type_t dt, int64_t i) {
    return dt == dnnl_tp_f32    ? (double)src.f32[i]
           : dt == dnnl_tp_f64  ? src.f64[i]
           : dt == dnnl_tp_bf16 ? (double)dtp_bf16_to_f32(src.half[i])
                                : (double)dtp_f16_to_f32(src.half[i]);
}

static void store(dnnl_tp_data_type_t dt, int64_t i) {
    switch (dt) {
    case dnnl_tp_f32: want.f32[i] = (float)sum_f[i]; break;
    case dnnl_tp_f64: want.f64[i] = sum_f[i]; break;
    case dnnl_tp_bf16: want.half[i] = dtp_f32_to_bf16((float)sum_f[i]); break;
    case dnnl_tp_f16: want.half[i] = dtp_f32_to_f16((float)sum_f[i]); break;
    case dnnl_tp_s32: want.s32[i] = (uint32_t)sum_i[i]; break;
    default: want.s64[i] = sum_i[i]; break;
    }
}

/* By the definition: the element before it on the way, and the element itself. */
static void expect(dnnl_tp_data_type_t dt, int ndims, const int64_t *dims, int axis, bool exclusive,
                   bool reverse) {
    int64_t inner = 1, n = 1;
    for (int d = 0; d < ndims; ++d) n *= dims[d];
    for (int d = axis + 1; d < ndims; ++d) inner *= dims[d];
    for (int64_t k = 0; k < n; ++k) {
        const int64_t i = reverse ? n - 1 - k : k, at = i / inner % dims[axis];
        const bool first = at == (reverse ? dims[axis] - 1 : 0);
        const int64_t before = reverse ? i + inner : i - inner, added = exclusive ? before : i;
        const bool adds = !(exclusive && first);
        sum_f[i] = (first ? 0. : sum_f[before]) + (adds && !is_integer(dt) ? load_f(dt, added) : 0.);
        sum_i[i] = (first ? 0 : sum_i[before]) + (adds && dt == dnnl_tp_s32   ? src.s32[added]
                                                  : adds && dt == dnnl_tp_s64 ? src.s64[added]
                                                                              : 0);
    }
    for (int64_t i = 0; i < n; ++i) store(dt, i);
}

/* Of one rounding to a type, at most. */
static double rounding(dnnl_tp_data_type_t dt) {
    return dt == dnnl_tp_f64 ? 1e-15 : dt == dnnl_tp_f32 ? 0x1p-24 : dt == dnnl_tp_f16 ? 0x1p-11 : 0x1p-8;
}

static void run(dnnl_tp_data_type_t dt, int ndims, const int64_t *dims, int64_t axis, bool exclusive,
                bool reverse, int threads) {
    dnnl_tp_graph_t g;
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_attr_t sa;
    dnnl_tp_stream_t stream;
    dnnl_tp_executable_t e;
    dnnl_tp_threadpool_t pool = NULL;
    dnnl_tp_value_t x, y;
    dnnl_tp_dims_t all = {0};
    size_t bytes = dtp_type_size(dt);
    for (int d = 0; d < ndims; ++d) all[d] = dims[d], bytes *= (size_t)dims[d];
    const uint8_t ex = exclusive, re = reverse;
    const dnnl_tp_op_attr_t attr[] = {{dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, &axis},
                                      {dnnl_tp_op_attr_exclusive, dnnl_tp_op_attr_bool, 1, &ex},
                                      {dnnl_tp_op_attr_reverse, dnnl_tp_op_attr_bool, 1, &re}};
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &x, "x", dt, ndims, all));
    CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_cumsum, "c", 1, &x,
                              reverse     ? 3
                              : exclusive ? 2
                                          : 1,
                              attr, 1, &y));
    CHECK_OK(dnnl_tp_graph_output(g, y, NULL));
    CHECK_OK(dnnl_tp_engine_create(&engine, test_engine_kind(), 0));
    CHECK_OK(dnnl_tp_stream_attr_create(&sa, test_engine_kind()));
    if (threads > 1 && DNNL_TP_WITH_THREADPOOL && !test_engine_is_far(engine)) {
        dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof opts, .num_threads = threads};
        CHECK_OK(dnnl_tp_threadpool_create(&pool, &opts));
        CHECK_OK(dnnl_tp_stream_attr_set_builtin_threadpool(sa, pool));
    }
    CHECK_OK(dnnl_tp_stream_create_v2(&stream, engine, dnnl_tp_stream_default_flags, sa));
    dnnl_tp_compile_opts_t opts = {
        .struct_size = sizeof opts, .stream_attr = sa, .flags = DNNL_TP_COMPILE_REFUSE_REFERENCE};
    CHECK_OK(dnnl_tp_executable_compile(&e, g, engine, 0, NULL, &opts));
    void *in[1] = {&src}, *out[1] = {&dst};
    memset(&dst, 0x5a, bytes < sizeof dst ? bytes + 1 : bytes);
    CHECK_OK(test_run_graph(e, stream, 1, in, 1, out, NULL));
    expect(dt, ndims, dims, (int)(axis < 0 ? axis + ndims : axis), exclusive, reverse);
    /* A device adds in another order, which double does not show in shorter types. */
    const bool is_near = test_engine_is_far(engine) && !is_integer(dt);
    for (int64_t i = 0; is_near && i < (int64_t)(bytes / dtp_type_size(dt)); ++i)
        if (fabs(dtp_load(dt, &dst, i) - sum_f[i]) > 1e-13 + rounding(dt) * fabs(sum_f[i]))
            fail_msg("type %d, axis %d: element %d is %g, not %g", (int)dt, (int)axis, (int)i,
                     dtp_load(dt, &dst, i), sum_f[i]);
    if (!is_near && memcmp(&dst, &want, bytes))
        fail_msg("type %d, axis %d, exclusive %d, reverse %d, %d threads", (int)dt, (int)axis, exclusive,
                 reverse, threads);
    if (bytes < sizeof dst) assert_int_equal(((const uint8_t *)&dst)[bytes], 0x5a);
    CHECK_OK(dnnl_tp_executable_destroy(e));
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    CHECK_OK(dnnl_tp_stream_attr_destroy(sa));
    if (pool) CHECK_OK(dnnl_tp_threadpool_destroy(pool));
    CHECK_OK(dnnl_tp_engine_destroy(engine));
    CHECK_OK(dnnl_tp_graph_destroy(g));
}

/* The reference, on layouts that the fast implementation leaves to it: src with its last two dimensions exchanged. */
static void run_reference(dnnl_tp_data_type_t dt, bool exclusive, bool reverse) {
    static const dtp_parallel_t alone = {.num_threads = 1};
    const int64_t dims[3] = {3, 7, 5}, strides[3] = {35, 1, 7};
    dtp_cumsum_desc_t d;
    dnnl_tp_engine_t engine;
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t p;
    memset(&d, 0, sizeof d);
    d.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_CUMSUM;
    d.exclusive = exclusive;
    d.reverse = reverse;
    CHECK_OK(dtp_md_init_strides(&d.src, 3, dims, dt, strides));
    CHECK_OK(dtp_md_init_strides(&d.dst, 3, dims, dt, strides));
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dtp_pd_create(&pd, engine, &d.base, sizeof d, attr));
    assert_string_equal(pd->impl->name, "ref:any");
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    void *ptr[] = {&src, &dst};
    CHECK_OK(dtp_primitive_run(p, &alone, ptr, NULL, NULL, -1));
    /* What lies with dimension 1 last is summed along the last dimension. */
    const int64_t lying[3] = {3, 5, 7};
    expect(dt, 3, lying, 2, exclusive, reverse);
    assert_memory_equal(&dst, &want, 105 * dtp_type_size(dt));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    CHECK_OK(dnnl_tp_engine_destroy(engine));
}

static const dnnl_tp_data_type_t types[] = {dnnl_tp_f32, dnnl_tp_f64, dnnl_tp_bf16,
                                            dnnl_tp_f16, dnnl_tp_s32, dnnl_tp_s64};

static void test_values(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{3, 5, 19}, {1, 1, 1},  {2, 7, 64},
                                        {4, 3, 63}, {2, 9, 65}, {1, 31, 131}};
    for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
        fill(types[t], MOST);
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s)
            for (int64_t axis = -3; axis < 3; ++axis)
                for (int form = 0; form < 4; ++form)
                    run(types[t], 3, shapes[s], axis, form & 1, form >> 1, 1);
    }
}

static void test_reference(void **state) {
    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
        fill(types[t], MOST);
        for (int form = 0; form < 4; ++form) run_reference(types[t], form & 1, form >> 1);
    }
}

static void test_threads(void **state) {
    (void)state;
    static const int64_t dims[2] = {200, 200};
    for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
        fill(types[t], MOST);
        for (int threads = 1; threads <= 3; ++threads)
            for (int64_t axis = 0; axis < 2; ++axis) run(types[t], 2, dims, axis, true, true, threads);
    }
}

static void test_edges(void **state) {
    (void)state;
    const int64_t empty[2] = {0, 4}, none[2] = {4, 0}, axis = 0, outside = 2;
    run(dnnl_tp_f32, 2, empty, 0, false, false, 1);
    run(dnnl_tp_f32, 2, none, 1, true, false, 1);
    /* An infinity stays, and makes no NaN of what stands before it. */
    src.f32[0] = 1.f;
    src.f32[1] = INFINITY;
    src.f32[2] = -2.f;
    const int64_t three[1] = {3};
    run(dnnl_tp_f32, 1, three, 0, true, false, 1);
    assert_true(dst.f32[0] == 0.f && dst.f32[1] == 1.f && dst.f32[2] == INFINITY);
    dnnl_tp_graph_t g;
    dnnl_tp_value_t x, b, y;
    const dnnl_tp_dims_t dims = {2, 2};
    dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, &outside};
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &x, "x", dnnl_tp_f32, 2, dims));
    CHECK_OK(dnnl_tp_graph_input(g, &b, "b", dnnl_tp_s8, 2, dims));
    CHECK_STATUS(dnnl_tp_graph_op(g, dnnl_tp_op_cumsum, "c", 1, &x, 1, &attr, 1, &y),
                 dnnl_tp_invalid_graph_op);
    assert_int_equal(dtp_last_reason(), DTP_GRAPH_BAD_ATTR);
    attr.data = &axis;
    CHECK_STATUS(dnnl_tp_graph_op(g, dnnl_tp_op_cumsum, "c", 1, &b, 1, &attr, 1, &y),
                 dnnl_tp_invalid_data_type);
    assert_int_equal(dtp_last_reason(), DTP_GRAPH_DATA_TYPE);
    CHECK_OK(dnnl_tp_graph_destroy(g));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_reference),
                                       cmocka_unit_test(test_threads), cmocka_unit_test(test_edges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
