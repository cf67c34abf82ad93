/* Descriptors, primitives, execution and the cache through the public API, on matmul: refusals by reason,
 * aliases, run-time dims, thread counts, concurrent creation, an allocation that fails at every place. */
#include "support/check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/object.h"
#include "common/primitive/primitive_desc.h"
#include "dnnl_tp/dnnl_tp_threadpool.h"

enum { M = 3, N = 4, K = 5 };

static void refuses(dnnl_tp_status_t status, dtp_reason_t reason) {
    assert_int_equal(status, dnnl_tp_invalid_arguments);
    assert_int_equal(dtp_last_reason(), reason);
}

static dnnl_tp_memory_desc_t plain(int64_t a, int64_t b, dnnl_tp_data_type_t dt) {
    dnnl_tp_memory_desc_t md;
    dnnl_tp_dims_t dims = {a, b};
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&md, 2, dims, dt, dnnl_tp_ab));
    return md;
}

typedef struct {
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    dnnl_tp_memory_desc_t src, wei, dst;
    dnnl_tp_primitive_t primitive;
    dnnl_tp_memory_t m[3];
    float a[M * K], b[K * N], c[M * N];
} fixture_t;

static void setup(fixture_t *f, const_dnnl_tp_primitive_attr_t attr) {
    dnnl_tp_primitive_desc_t pd;
    memset(f, 0, sizeof *f);
    CHECK_OK(dnnl_tp_engine_create(&f->engine, dnnl_tp_cpu, 0));
    CHECK_OK(dnnl_tp_stream_create(&f->stream, f->engine, dnnl_tp_stream_default_flags));
    f->src = plain(M, K, dnnl_tp_f32);
    f->wei = plain(K, N, dnnl_tp_f32);
    f->dst = plain(M, N, dnnl_tp_f32);
    CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, f->engine, f->src, f->wei, NULL, f->dst, attr));
    CHECK_OK(dnnl_tp_primitive_create(&f->primitive, pd));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_memory_create(&f->m[0], f->src, f->engine, f->a));
    CHECK_OK(dnnl_tp_memory_create(&f->m[1], f->wei, f->engine, f->b));
    CHECK_OK(dnnl_tp_memory_create(&f->m[2], f->dst, f->engine, f->c));
    for (int i = 0; i < M * K; ++i) f->a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < K * N; ++i) f->b[i] = (float)(i % 5 - 2);
}

static void teardown(fixture_t *f) {
    for (int i = 0; i < 3; ++i) CHECK_OK(dnnl_tp_memory_destroy(f->m[i]));
    CHECK_OK(dnnl_tp_engine_destroy(f->engine)); /* any order */
    CHECK_OK(dnnl_tp_primitive_destroy(f->primitive));
    CHECK_OK(dnnl_tp_stream_destroy(f->stream));
    CHECK_OK(dnnl_tp_memory_desc_destroy(f->src));
    CHECK_OK(dnnl_tp_memory_desc_destroy(f->wei));
    CHECK_OK(dnnl_tp_memory_desc_destroy(f->dst));
}

static void check_product(const fixture_t *f) {
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) {
            float want = 0;
            for (int k = 0; k < K; ++k) want += f->a[i * K + k] * f->b[k * N + j];
            assert_true(f->c[i * N + j] == want);
        }
}

static void execution_runs_and_refuses(void **state) {
    (void)state;
    fixture_t f, other;
    setup(&f, NULL);
    setup(&other, NULL);
    dnnl_tp_exec_arg_t args[] = {
        {DNNL_TP_ARG_SRC, f.m[0]}, {DNNL_TP_ARG_WEIGHTS, f.m[1]}, {DNNL_TP_ARG_DST, f.m[2]}, {12345, f.m[0]}};
    CHECK_OK(dnnl_tp_primitive_execute(f.primitive, f.stream, 4, args)); /* unknown arguments are ignored */
    CHECK_OK(dnnl_tp_stream_wait(f.stream));
    check_product(&f);
    dnnl_tp_exec_handle_t handles[] = {
        {DNNL_TP_ARG_SRC, f.a}, {DNNL_TP_ARG_WEIGHTS, f.b}, {DNNL_TP_ARG_DST, f.c}};
    memset(f.c, 0, sizeof f.c);
    CHECK_OK(dnnl_tp_primitive_execute_handles(f.primitive, f.stream, 3, handles));
    check_product(&f);
    refuses(dnnl_tp_primitive_execute(f.primitive, f.stream, 2, args), DTP_MISSING_ARG);
    refuses(dnnl_tp_primitive_execute_handles(f.primitive, f.stream, 2, handles), DTP_MISSING_ARG);
    refuses(dnnl_tp_primitive_execute(f.primitive, f.stream, 2, NULL), DTP_NULL_ARG);
    refuses(dnnl_tp_primitive_execute(f.primitive, f.stream, -1, args), DTP_NULL_ARG);
    refuses(dnnl_tp_primitive_execute(NULL, f.stream, 3, args), DTP_BAD_HANDLE);
    refuses(dnnl_tp_primitive_execute(f.primitive, NULL, 3, args), DTP_BAD_HANDLE);
    refuses(dnnl_tp_primitive_execute(f.primitive, (dnnl_tp_stream_t)(void *)f.engine, 3, args),
            DTP_BAD_HANDLE);
    refuses(dnnl_tp_primitive_execute(f.primitive, other.stream, 3, args), DTP_BAD_ENGINE);
    dnnl_tp_exec_arg_t twice[] = {args[0], args[1], args[2], args[0]};
    refuses(dnnl_tp_primitive_execute(f.primitive, f.stream, 4, twice), DTP_DUPLICATE_ARG);
    dnnl_tp_exec_arg_t absent[] = {args[0], args[1], {DNNL_TP_ARG_DST, NULL}};
    refuses(dnnl_tp_primitive_execute(f.primitive, f.stream, 3, absent), DTP_MISSING_ARG);
    dnnl_tp_memory_desc_t small = plain(1, 2, dnnl_tp_f32), ints = plain(M, N, dnnl_tp_s32);
    dnnl_tp_memory_t m_small, m_ints;
    CHECK_OK(dnnl_tp_memory_create(&m_small, small, f.engine, f.c));
    CHECK_OK(dnnl_tp_memory_create(&m_ints, ints, f.engine, f.c));
    dnnl_tp_exec_arg_t wrong[] = {args[0], args[1], {DNNL_TP_ARG_DST, m_small}};
    memset(f.c, 0x55, sizeof f.c);
    refuses(dnnl_tp_primitive_execute(f.primitive, f.stream, 3, wrong), DTP_MEMORY_MISMATCH);
    wrong[2].memory = m_ints;
    refuses(dnnl_tp_primitive_execute(f.primitive, f.stream, 3, wrong), DTP_MEMORY_MISMATCH);
    dnnl_tp_exec_handle_t alias[] = {handles[0], handles[1], {DNNL_TP_ARG_DST, f.a}};
    refuses(dnnl_tp_primitive_execute_handles(f.primitive, f.stream, 3, alias), DTP_ALIAS);
    for (size_t i = 0; i < sizeof f.c; ++i)
        assert_int_equal(((unsigned char *)f.c)[i], 0x55); /* outputs untouched */
    CHECK_OK(dnnl_tp_memory_destroy(m_small));
    CHECK_OK(dnnl_tp_memory_destroy(m_ints));
    CHECK_OK(dnnl_tp_memory_desc_destroy(small));
    CHECK_OK(dnnl_tp_memory_desc_destroy(ints));
    teardown(&f);
    teardown(&other);
}

static dnnl_tp_memory_desc_t tagged(int64_t a, int64_t b, dnnl_tp_format_tag_t tag) {
    dnnl_tp_memory_desc_t md;
    dnnl_tp_dims_t dims = {a, b};
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&md, 2, dims, dnnl_tp_f32, tag));
    return md;
}

/* Memory of as many bytes, or more, does not pass: everything that tells where an element lies is compared. */
static void execution_compares_whole_descriptors(void **state) {
    (void)state;
    enum { SIDE = 64 };
    static float a[SIDE * SIDE], b[SIDE * SIDE], c[2 * SIDE * SIDE];
    fixture_t f;
    setup(&f, NULL);
    dnnl_tp_memory_desc_t plain_md = tagged(SIDE, SIDE, dnnl_tp_ab),
                          any = tagged(SIDE, SIDE, dnnl_tp_format_tag_any);
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t p;
    CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, f.engine, plain_md, any, NULL, plain_md, NULL));
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    const_dnnl_tp_memory_desc_t packed = dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_weights_md, 0);
    const struct {
        int arg;
        int64_t dims[2];
        dnnl_tp_format_tag_t tag;
        const char *says;
    } wrong[] = {
        {DNNL_TP_ARG_SRC, {SIDE, SIDE}, dnnl_tp_ba, "argument SRC has f32 64x64 ba, needed is f32 64x64 ab"},
        {DNNL_TP_ARG_SRC,
         {2 * SIDE, SIDE / 2},
         dnnl_tp_ab,
         "argument SRC has f32 128x32 ab, needed is f32 64x64 ab"},
        {DNNL_TP_ARG_DST, {SIDE / 2, 2 * SIDE}, dnnl_tp_ab, "argument DST has f32 32x128 ab"},
        {DNNL_TP_ARG_DST, {2 * SIDE, SIDE}, dnnl_tp_ab, "argument DST has f32 128x64 ab"},
        {DNNL_TP_ARG_WEIGHTS,
         {SIDE, SIDE},
         dnnl_tp_ab,
         "argument WEIGHTS has f32 64x64 ab, needed is f32 64x64 "},
    };
    dnnl_tp_memory_t src, wei, dst;
    CHECK_OK(dnnl_tp_memory_create(&src, plain_md, f.engine, a));
    CHECK_OK(dnnl_tp_memory_create(&wei, packed, f.engine, DNNL_TP_MEMORY_ALLOCATE));
    CHECK_OK(dnnl_tp_memory_create(&dst, plain_md, f.engine, c));
    const dnnl_tp_exec_arg_t right[] = {
        {DNNL_TP_ARG_SRC, src}, {DNNL_TP_ARG_WEIGHTS, wei}, {DNNL_TP_ARG_DST, dst}};
    CHECK_OK(dnnl_tp_primitive_execute(p, f.stream, 3, right));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        if (wrong[i].arg == DNNL_TP_ARG_WEIGHTS && dnnl_tp_memory_desc_equal(packed, plain_md))
            continue; /* an engine without packed layouts */
        dnnl_tp_memory_desc_t md = tagged(wrong[i].dims[0], wrong[i].dims[1], wrong[i].tag);
        dnnl_tp_memory_t m;
        CHECK_OK(dnnl_tp_memory_create(&m, md, f.engine, b));
        dnnl_tp_exec_arg_t args[3];
        memcpy(args, right, sizeof args);
        for (int k = 0; k < 3; ++k)
            if (args[k].arg == wrong[i].arg) args[k].memory = m;
        refuses(dnnl_tp_primitive_execute(p, f.stream, 3, args), DTP_MEMORY_MISMATCH);
        if (!strstr(dnnl_tp_last_error(), wrong[i].says)) fail_msg("%s", dnnl_tp_last_error());
        CHECK_OK(dnnl_tp_memory_destroy(m));
        CHECK_OK(dnnl_tp_memory_desc_destroy(md));
    }
    for (int i = 0; i < 3; ++i) CHECK_OK(dnnl_tp_memory_destroy(right[i].memory));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    /* Strides of dimensions with one element do not count. */
    dnnl_tp_memory_desc_t row = tagged(1, K, dnnl_tp_ab), row_ba = tagged(1, K, dnnl_tp_ba),
                          out = tagged(1, N, dnnl_tp_ab);
    dnnl_tp_dims_t dims = {1, K}, strides = {1000, 1};
    dnnl_tp_memory_desc_t row_far;
    CHECK_OK(dnnl_tp_memory_desc_create_with_strides(&row_far, 2, dims, dnnl_tp_f32, strides));
    CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, f.engine, row, f.wei, NULL, out, NULL));
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    const_dnnl_tp_memory_desc_t same[] = {row, row_ba, row_far};
    for (int i = 0; i < 3; ++i) {
        CHECK_OK(dnnl_tp_memory_create(&src, same[i], f.engine, f.a));
        CHECK_OK(dnnl_tp_memory_create(&dst, out, f.engine, c));
        const dnnl_tp_exec_arg_t args[] = {
            {DNNL_TP_ARG_SRC, src}, {DNNL_TP_ARG_WEIGHTS, f.m[1]}, {DNNL_TP_ARG_DST, dst}};
        CHECK_OK(dnnl_tp_primitive_execute(p, f.stream, 3, args));
        CHECK_OK(dnnl_tp_memory_destroy(src));
        CHECK_OK(dnnl_tp_memory_destroy(dst));
    }
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    dnnl_tp_memory_desc_t mds[] = {plain_md, any, row, row_ba, row_far, out};
    for (size_t i = 0; i < sizeof mds / sizeof *mds; ++i) CHECK_OK(dnnl_tp_memory_desc_destroy(mds[i]));
    teardown(&f);
}

/* A post-operation's tensor that does not broadcast to the destination of this execution would be read beyond its
 * end. */
static void runtime_post_op_tensors_fit_the_destination(void **state) {
    (void)state;
    fixture_t f;
    setup(&f, NULL);
    const int64_t R = DNNL_TP_RUNTIME_DIM_VAL;
    dnnl_tp_memory_desc_t src = tagged(R, K, dnnl_tp_ab), dst = tagged(R, N, dnnl_tp_ab);
    float values[2 * M] = {0};
    const int arg = DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_TP_ARG_WEIGHTS;
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_post_ops_t po;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    CHECK_OK(dnnl_tp_post_ops_append_prelu(po, 1)); /* a slope a row */
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t p;
    CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, f.engine, src, f.wei, NULL, dst, attr));
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    static const int64_t rows[] = {M, M - 1, 2 * M, 1};
    for (int i = 0; i < 4; ++i) {
        dnnl_tp_memory_desc_t md = plain(rows[i], 1, dnnl_tp_f32);
        dnnl_tp_exec_arg_t args[] = {
            {DNNL_TP_ARG_SRC, f.m[0]}, {DNNL_TP_ARG_WEIGHTS, f.m[1]}, {DNNL_TP_ARG_DST, f.m[2]}, {arg, NULL}};
        CHECK_OK(dnnl_tp_memory_create(&args[3].memory, md, f.engine, values));
        dnnl_tp_status_t status = dnnl_tp_primitive_execute(p, f.stream, 4, args);
        if (rows[i] == M || rows[i] == 1) CHECK_OK(status);
        else refuses(status, DTP_RUNTIME_INCONSISTENT);
        CHECK_OK(dnnl_tp_memory_destroy(args[3].memory));
        CHECK_OK(dnnl_tp_memory_desc_destroy(md));
    }
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    CHECK_OK(dnnl_tp_memory_desc_destroy(src));
    CHECK_OK(dnnl_tp_memory_desc_destroy(dst));
    teardown(&f);
}

/* Where sizes come with the memory: overlaps, ranks and layouts are checked, too; scales have as many elements as
 * the actual dims say. */
static void runtime_layouts_and_lists_are_checked(void **state) {
    (void)state;
    fixture_t f;
    setup(&f, NULL);
    const int64_t R = DNNL_TP_RUNTIME_DIM_VAL;
    dnnl_tp_memory_desc_t src = tagged(R, K, dnnl_tp_ab), dst = tagged(R, N, dnnl_tp_ab),
                          across = tagged(M, K, dnnl_tp_ba);
    dnnl_tp_dims_t three = {1, M, K};
    dnnl_tp_memory_desc_t deep;
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&deep, 3, three, dnnl_tp_f32, dnnl_tp_abc));
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t p;
    CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, f.engine, src, f.wei, NULL, dst, NULL));
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    dnnl_tp_exec_arg_t args[] = {
        {DNNL_TP_ARG_SRC, f.m[0]}, {DNNL_TP_ARG_WEIGHTS, f.m[1]}, {DNNL_TP_ARG_DST, f.m[2]}};
    CHECK_OK(dnnl_tp_primitive_execute(p, f.stream, 3, args));
    const_dnnl_tp_memory_desc_t wrong[] = {across, deep};
    for (int i = 0; i < 2; ++i) {
        CHECK_OK(dnnl_tp_memory_create(&args[0].memory, wrong[i], f.engine, f.a));
        refuses(dnnl_tp_primitive_execute(p, f.stream, 3, args), DTP_MEMORY_MISMATCH);
        assert_non_null(strstr(dnnl_tp_last_error(), "needed is f32 *x5 ab"));
        CHECK_OK(dnnl_tp_memory_destroy(args[0].memory));
    }
    CHECK_OK(dnnl_tp_memory_create(&args[0].memory, f.src, f.engine, f.c + 1));
    refuses(dnnl_tp_primitive_execute(p, f.stream, 3, args), DTP_ALIAS);
    CHECK_OK(dnnl_tp_memory_destroy(args[0].memory));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    /* One scale a column of a source with run-time dims. */
    dnnl_tp_primitive_attr_t attr;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_primitive_attr_set_scales_mask(attr, DNNL_TP_ARG_SRC, 2));
    dnnl_tp_memory_desc_t any_size = tagged(R, R, dnnl_tp_ab), bytes = plain(R, R, dnnl_tp_s8),
                          ints = plain(M, K, dnnl_tp_s8);
    CHECK_OK(dnnl_tp_reorder_primitive_desc_create(&pd, bytes, f.engine, any_size, f.engine, attr));
    const int scales_arg = DNNL_TP_ARG_ATTR_SCALES | DNNL_TP_ARG_SRC;
    const_dnnl_tp_memory_desc_t scales_md =
        dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_exec_arg_md, scales_arg);
    const dnnl_tp_dims_t *dims;
    CHECK_OK(dnnl_tp_memory_desc_query(scales_md, dnnl_tp_query_dims, (void *)&dims));
    assert_true((*dims)[0] == R);
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    for (int64_t n = 1; n <= K; n += K - 1) {
        float scales[K] = {1, 1, 1, 1, 1};
        int8_t from[M * K] = {0};
        dnnl_tp_dims_t one = {n};
        dnnl_tp_memory_desc_t md;
        CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&md, 1, one, dnnl_tp_f32, dnnl_tp_a));
        dnnl_tp_exec_arg_t r[] = {{DNNL_TP_ARG_FROM, NULL}, {DNNL_TP_ARG_TO, f.m[0]}, {scales_arg, NULL}};
        CHECK_OK(dnnl_tp_memory_create(&r[0].memory, ints, f.engine, from));
        CHECK_OK(dnnl_tp_memory_create(&r[2].memory, md, f.engine, scales));
        if (n == K) CHECK_OK(dnnl_tp_primitive_execute(p, f.stream, 3, r));
        else {
            refuses(dnnl_tp_primitive_execute(p, f.stream, 3, r), DTP_MEMORY_MISMATCH);
            assert_non_null(strstr(dnnl_tp_last_error(), "ATTR_SCALES | SRC has 1 elements, needed are 5"));
        }
        CHECK_OK(dnnl_tp_memory_destroy(r[0].memory));
        CHECK_OK(dnnl_tp_memory_destroy(r[2].memory));
        CHECK_OK(dnnl_tp_memory_desc_destroy(md));
    }
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    dnnl_tp_memory_desc_t mds[] = {src, dst, across, deep, any_size, bytes, ints};
    for (size_t i = 0; i < sizeof mds / sizeof *mds; ++i) CHECK_OK(dnnl_tp_memory_desc_destroy(mds[i]));
    teardown(&f);
}

static void creation_refuses_by_reason(void **state) {
    (void)state;
    fixture_t f;
    setup(&f, NULL);
    dnnl_tp_primitive_desc_t pd = (dnnl_tp_primitive_desc_t)1;
    refuses(dnnl_tp_matmul_primitive_desc_create(NULL, f.engine, f.src, f.wei, NULL, f.dst, NULL),
            DTP_NULL_ARG);
    refuses(dnnl_tp_matmul_primitive_desc_create(&pd, NULL, f.src, f.wei, NULL, f.dst, NULL), DTP_BAD_HANDLE);
    assert_null(pd);
    refuses(dnnl_tp_matmul_primitive_desc_create(&pd, f.engine, NULL, f.wei, NULL, f.dst, NULL),
            DTP_NULL_ARG);
    refuses(dnnl_tp_matmul_primitive_desc_create(&pd, f.engine, f.wei, f.src, NULL, f.dst, NULL),
            DTP_DIMS_MISMATCH);
    dnnl_tp_memory_desc_t runtime = plain(DNNL_TP_RUNTIME_DIM_VAL, K, dnnl_tp_f32);
    refuses(dnnl_tp_matmul_primitive_desc_create(&pd, f.engine, runtime, f.wei, NULL, f.dst, NULL),
            DTP_DIMS_MISMATCH);
    dnnl_tp_post_ops_t po;
    dnnl_tp_primitive_attr_t attr;
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    CHECK_OK(dnnl_tp_post_ops_append_binary(po, dnnl_tp_binary_add,
                                            f.src)); /* {M, K} does not broadcast to {M, N} */
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
    refuses(dnnl_tp_matmul_primitive_desc_create(&pd, f.engine, f.src, f.wei, NULL, f.dst, attr),
            DTP_DIMS_MISMATCH);
    assert_non_null(strstr(dnnl_tp_last_error(), "post-op 0"));
    dnnl_tp_engine_t gpu;
    refuses(dnnl_tp_engine_create(&gpu, dnnl_tp_gpu, 64),
            dnnl_tp_version()->gpu_runtime ? DTP_BAD_INDEX : DTP_BAD_ENGINE);
    refuses(dnnl_tp_engine_create(&gpu, dnnl_tp_cpu, 1), DTP_BAD_INDEX);
    dnnl_tp_stream_t stream;
    refuses(dnnl_tp_stream_create(&stream, f.engine, 64), DTP_BAD_FLAGS);
    refuses(dnnl_tp_stream_create(&stream, NULL, 0), DTP_BAD_HANDLE);
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    CHECK_OK(dnnl_tp_memory_desc_destroy(runtime));
    teardown(&f);
}

static void runtime_dims_are_checked_at_execution(void **state) {
    (void)state;
    fixture_t f;
    setup(&f, NULL);
    dnnl_tp_memory_desc_t src = plain(DNNL_TP_RUNTIME_DIM_VAL, K, dnnl_tp_f32),
                          dst = plain(DNNL_TP_RUNTIME_DIM_VAL, N, dnnl_tp_f32);
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t p;
    CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, f.engine, src, f.wei, NULL, dst, NULL));
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    dnnl_tp_exec_arg_t args[] = {
        {DNNL_TP_ARG_SRC, f.m[0]}, {DNNL_TP_ARG_WEIGHTS, f.m[1]}, {DNNL_TP_ARG_DST, f.m[2]}};
    CHECK_OK(dnnl_tp_primitive_execute(p, f.stream, 3, args));
    check_product(&f);
    dnnl_tp_memory_desc_t two = plain(2, K, dnnl_tp_f32);
    dnnl_tp_memory_t m_two;
    CHECK_OK(dnnl_tp_memory_create(&m_two, two, f.engine, f.a));
    args[0].memory = m_two;
    refuses(dnnl_tp_primitive_execute(p, f.stream, 3, args), DTP_RUNTIME_INCONSISTENT);
    args[0].memory = f.m[1];
    refuses(dnnl_tp_primitive_execute(p, f.stream, 3, args), DTP_MEMORY_MISMATCH);
    CHECK_OK(dnnl_tp_memory_destroy(m_two));
    CHECK_OK(dnnl_tp_memory_desc_destroy(two));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_memory_desc_destroy(src));
    CHECK_OK(dnnl_tp_memory_desc_destroy(dst));
    teardown(&f);
}

static void thread_counts_resolve_in_order(void **state) {
    (void)state;
    dnnl_tp_engine_attr_t ea;
    dnnl_tp_engine_t engine;
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_primitive_desc_t pd;
    int n;
    dnnl_tp_memory_desc_t src = plain(M, K, dnnl_tp_f32), wei = plain(K, N, dnnl_tp_f32),
                          dst = plain(M, N, dnnl_tp_f32);
    CHECK_OK(dnnl_tp_engine_attr_create(&ea));
    CHECK_OK(dnnl_tp_engine_attr_set_num_threads(ea, 5));
    CHECK_OK(dnnl_tp_engine_create_v2(&engine, dnnl_tp_cpu, 0, ea));
    CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, engine, src, wei, NULL, dst, NULL));
    CHECK_OK(dnnl_tp_primitive_desc_get_num_threads(pd, &n));
    assert_int_equal(n, 5);
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_primitive_attr_set_num_threads(attr, 3));
    CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, engine, src, wei, NULL, dst, attr));
    CHECK_OK(dnnl_tp_primitive_desc_get_num_threads(pd, &n));
    assert_int_equal(n, 3);
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    CHECK_OK(dnnl_tp_engine_destroy(engine));
    CHECK_OK(dnnl_tp_engine_attr_destroy(ea));
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK_OK(dnnl_tp_threadpool_interop_set_max_concurrency(6));
    CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, engine, src, wei, NULL, dst, NULL));
    CHECK_OK(dnnl_tp_primitive_desc_get_num_threads(pd, &n));
    assert_int_equal(n, 6);
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_STATUS(dnnl_tp_threadpool_interop_set_max_concurrency(0), dnnl_tp_invalid_arguments);
    for (int asked = 255; asked < 300; ++asked) { /* counts above 256 mean 256 */
        int given = 0;
        CHECK_OK(dnnl_tp_threadpool_interop_set_max_concurrency(asked));
        CHECK_OK(dnnl_tp_threadpool_interop_get_max_concurrency(&given));
        assert_int_equal(given, asked < 256 ? asked : 256);
    }
    CHECK_OK(dnnl_tp_engine_destroy(engine));
    CHECK_OK(dnnl_tp_memory_desc_destroy(src));
    CHECK_OK(dnnl_tp_memory_desc_destroy(wei));
    CHECK_OK(dnnl_tp_memory_desc_destroy(dst));
}

/* ---- Cache ------------------------------------------------------------------------------------------- */

static _Atomic int cache_misses;
static void count_misses(void *arg, const char *line) {
    (void)arg;
    if (strstr(line, "create:cache_miss")) ++cache_misses;
}

static void *create_one(void *arg) {
    dnnl_tp_primitive_desc_t pd = arg;
    dnnl_tp_primitive_t p;
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    return p;
}

static void concurrent_misses_create_once(void **state) {
    (void)state;
    enum { THREADS = 8, ROUNDS = 50 };
    fixture_t f;
    setup(&f, NULL);
    CHECK_OK(dnnl_tp_set_verbose_callback(count_misses, NULL));
    for (int r = 0; r < ROUNDS; ++r) {
        dnnl_tp_primitive_desc_t pd[THREADS];
        pthread_t thread[THREADS];
        void *p[THREADS];
        dnnl_tp_memory_desc_t src = plain(100 + r, K, dnnl_tp_f32), dst = plain(100 + r, N, dnnl_tp_f32);
        for (int t = 0; t < THREADS; ++t)
            CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd[t], f.engine, src, f.wei, NULL, dst, NULL));
        CHECK_OK(dnnl_tp_set_verbose(2));
        cache_misses = 0;
        for (int t = 0; t < THREADS; ++t)
            assert_int_equal(pthread_create(&thread[t], NULL, create_one, pd[t]), 0);
        for (int t = 0; t < THREADS; ++t) pthread_join(thread[t], &p[t]);
        CHECK_OK(dnnl_tp_set_verbose(0));
        assert_int_equal(cache_misses, 1);
        for (int t = 0; t < THREADS; ++t) {
            assert_ptr_equal(p[t], p[0]);
            CHECK_OK(dnnl_tp_primitive_destroy(p[t]));
            CHECK_OK(dnnl_tp_primitive_desc_destroy(pd[t]));
        }
        CHECK_OK(dnnl_tp_memory_desc_destroy(src));
        CHECK_OK(dnnl_tp_memory_desc_destroy(dst));
    }
    CHECK_OK(dnnl_tp_set_verbose_callback(NULL, NULL));
    teardown(&f);
}

static void capacity_limits_and_disables_the_cache(void **state) {
    (void)state;
    fixture_t f;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t a, b;
    int before, capacity;
    setup(&f, NULL);
    CHECK_OK(dnnl_tp_get_primitive_cache_capacity(&before));
    CHECK_STATUS(dnnl_tp_set_primitive_cache_capacity(-1), dnnl_tp_invalid_arguments);
    CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, f.engine, f.src, f.wei, NULL, f.dst, NULL));
    for (int on = 0; on < 2; ++on) {
        CHECK_OK(dnnl_tp_set_primitive_cache_capacity(on));
        CHECK_OK(dnnl_tp_get_primitive_cache_capacity(&capacity));
        assert_int_equal(capacity, on);
        CHECK_OK(dnnl_tp_primitive_create(&a, pd));
        CHECK_OK(dnnl_tp_primitive_create(&b, pd));
        assert_int_equal(a == b, on);
        CHECK_OK(dnnl_tp_primitive_destroy(a));
        CHECK_OK(dnnl_tp_primitive_destroy(b));
    }
    CHECK_OK(dnnl_tp_set_primitive_cache_capacity(before));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    teardown(&f);
}

/* ---- Out of memory ----------------------------------------------------------------------------------- */

static dnnl_tp_status_t whole_life(void) {
    dnnl_tp_engine_t engine = NULL;
    dnnl_tp_stream_t stream = NULL;
    dnnl_tp_memory_desc_t md[3] = {NULL};
    dnnl_tp_memory_t m[3] = {NULL};
    dnnl_tp_primitive_attr_t attr = NULL;
    dnnl_tp_post_ops_t po = NULL;
    dnnl_tp_primitive_desc_t pd = NULL;
    dnnl_tp_primitive_t p = NULL;
    const dnnl_tp_dims_t dims[3] = {{M, K}, {K, N}, {M, N}};
    dnnl_tp_status_t s = dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0);
    if (!s) s = dnnl_tp_stream_create(&stream, engine, 0);
    for (int i = 0; i < 3 && !s; ++i)
        s = dnnl_tp_memory_desc_create_with_tag(&md[i], 2, dims[i], dnnl_tp_f32, dnnl_tp_ab);
    for (int i = 0; i < 3 && !s; ++i)
        s = dnnl_tp_memory_create(&m[i], md[i], engine, DNNL_TP_MEMORY_ALLOCATE);
    if (!s) s = dnnl_tp_post_ops_create(&po);
    for (int i = 0; i < 5 && !s; ++i) s = dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_relu, 0.f, 0.f);
    if (!s) s = dnnl_tp_primitive_attr_create(&attr);
    if (!s) s = dnnl_tp_primitive_attr_set_post_ops(attr, po);
    if (!s) s = dnnl_tp_matmul_primitive_desc_create(&pd, engine, md[0], md[1], NULL, md[2], attr);
    if (!s) s = dnnl_tp_primitive_create(&p, pd);
    dnnl_tp_exec_arg_t args[] = {
        {DNNL_TP_ARG_SRC, m[0]}, {DNNL_TP_ARG_WEIGHTS, m[1]}, {DNNL_TP_ARG_DST, m[2]}};
    if (!s) s = dnnl_tp_primitive_execute(p, stream, 3, args);
    if (!s) s = dnnl_tp_stream_wait(stream);
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
    for (int i = 0; i < 3; ++i) {
        CHECK_OK(dnnl_tp_memory_destroy(m[i]));
        CHECK_OK(dnnl_tp_memory_desc_destroy(md[i]));
    }
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    CHECK_OK(dnnl_tp_engine_destroy(engine));
    return s;
}

static void every_failing_allocation_is_survived(void **state) {
    (void)state;
    test_allocator_t a;
    test_allocator_init(&a);
    CHECK_OK(dnnl_tp_set_allocator(&a.iface));
    int n = 0;
    for (;; ++n) {
        assert_true(n < 1000);
        assert_int_equal(dnnl_tp_set_verbose(9), dnnl_tp_invalid_arguments); /* a stale text */
        atomic_store(&a.fail_at, n);
        dnnl_tp_status_t status = whole_life();
        assert_int_equal(dtp_object_live(), 0);
        assert_true(test_becomes(&a.live, 0));
        if (atomic_exchange(&a.fail_at, -1) >= 0) {
            assert_int_equal(status, dnnl_tp_success);
            break;
        }
        assert_int_equal(status, dnnl_tp_out_of_memory);
        assert_int_equal(dtp_last_reason(), DTP_NO_MEMORY);
        assert_null(strstr(dnnl_tp_last_error(), "dnnl_tp_set_verbose"));
    }
    assert_true(n > 15);
    CHECK_OK(dnnl_tp_set_allocator(NULL));
    fixture_t f;
    setup(&f, NULL);
    refuses(dnnl_tp_set_allocator(NULL), DTP_NOT_IN_ORDER);
    teardown(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(execution_runs_and_refuses),
                                       cmocka_unit_test(execution_compares_whole_descriptors),
                                       cmocka_unit_test(runtime_post_op_tensors_fit_the_destination),
                                       cmocka_unit_test(runtime_layouts_and_lists_are_checked),
                                       cmocka_unit_test(creation_refuses_by_reason),
                                       cmocka_unit_test(runtime_dims_are_checked_at_execution),
                                       cmocka_unit_test(thread_counts_resolve_in_order),
                                       cmocka_unit_test(concurrent_misses_create_once),
                                       cmocka_unit_test(capacity_limits_and_disables_the_cache),
                                       cmocka_unit_test(every_failing_allocation_is_survived)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
