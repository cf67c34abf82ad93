/* Failing allocations in building, compiling and running: for every n the n-th one fails, nothing leaks, the
 * objects stay usable. And none at all once runs are warm: neither from the library's allocator nor from the
 * C library. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/object.h"
#include "dnnl_tp/dnnl_tp_graph.h"
#include "support/check.h"

static _Atomic long calls, fail_at = -1, live;

static void *failing_alloc(void *ctx, size_t size, size_t alignment) {
    (void)ctx;
    if (atomic_fetch_add(&calls, 1) == atomic_load(&fail_at)) return NULL;
    void *p = NULL;
    if (posix_memalign(&p, alignment < sizeof(void *) ? sizeof(void *) : alignment, size ? size : 1))
        return NULL;
    atomic_fetch_add(&live, 1);
    return p;
}
static void counting_free(void *ctx, void *p) {
    (void)ctx;
    atomic_fetch_sub(&live, 1);
    free(p);
}

enum { TOKENS = 150, SPARE = 50, SEQS = 6, H = 32, WORDS = 20, INNER = 48 };

#define TRY(expr)                             \
    do {                                      \
        dnnl_tp_status_t s_ = (expr);         \
        if (s_ != dnnl_tp_success) return s_; \
    } while (0)

static float weights[WORDS * H + H * INNER];

static dnnl_tp_status_t constant(dnnl_tp_graph_t g, int64_t a, int64_t b, unsigned mode, dnnl_tp_value_t *v) {
    dnnl_tp_dims_t d = {a, b};
    return dnnl_tp_graph_constant(g, v, "c", dnnl_tp_f32, b ? 2 : 1, d, weights, mode, NULL, NULL);
}

static dnnl_tp_status_t op(dnnl_tp_graph_t g, dnnl_tp_op_kind_t k, int nin, const dnnl_tp_value_t *in, int na,
                           const dnnl_tp_op_attr_t *a, dnnl_tp_value_t *out) {
    return dnnl_tp_graph_op(g, k, "op", nin, in, na, a, 1, out);
}

static dnnl_tp_status_t linear(dnnl_tp_graph_t g, dnnl_tp_value_t x, int64_t k, int64_t n,
                               dnnl_tp_value_t *y) {
    dnnl_tp_value_t in[3] = {x};
    TRY(constant(g, k, n, DNNL_TP_CONSTANT_BORROW, &in[1]));
    TRY(constant(g, n, 0, DNNL_TP_CONSTANT_COPY, &in[2]));
    return op(g, dnnl_tp_op_matmul, 3, in, 0, NULL, y);
}

static dnnl_tp_status_t norm(dnnl_tp_graph_t g, dnnl_tp_value_t x, dnnl_tp_value_t *y) {
    dnnl_tp_value_t in[3] = {x};
    TRY(constant(g, H, 0, DNNL_TP_CONSTANT_COPY, &in[1]));
    TRY(constant(g, H, 0, DNNL_TP_CONSTANT_COPY, &in[2]));
    return op(g, dnnl_tp_op_layer_norm, 3, in, 0, NULL, y);
}

static dnnl_tp_status_t build(dnnl_tp_graph_t g) {
    dnnl_tp_dims_t any = {DNNL_TP_RUNTIME_DIM_VAL};
    int64_t heads = 2;
    dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_heads, dnnl_tp_op_attr_s64, 1, &heads};
    dnnl_tp_value_t ids, off, x, in[2], pool[3];
    TRY(dnnl_tp_graph_input(g, &ids, "ids", dnnl_tp_s32, 1, any));
    TRY(dnnl_tp_graph_input(g, &off, "off", dnnl_tp_s32, 1, any));
    TRY(constant(g, WORDS, H, DNNL_TP_CONSTANT_BORROW, &in[0]));
    TRY(op(g, dnnl_tp_op_abs, 1, in, 0, NULL, &in[0])); /* folded */
    in[1] = ids;
    TRY(op(g, dnnl_tp_op_gather, 2, in, 0, NULL, &x));
    for (int l = 0; l < 2; ++l) {
        dnnl_tp_value_t q[5] = {0, 0, 0, -1, off}, y[2];
        for (int k = 0; k < 3; ++k) TRY(linear(g, x, H, H, &q[k]));
        TRY(op(g, dnnl_tp_op_attention, 5, q, 1, &attr, &y[0]));
        TRY(linear(g, y[0], H, H, &y[0]));
        y[1] = x;
        TRY(op(g, dnnl_tp_op_add, 2, y, 0, NULL, &x));
        TRY(norm(g, x, &x));
        TRY(linear(g, x, H, INNER, &y[0]));
        TRY(op(g, dnnl_tp_op_gelu, 1, y, 0, NULL, &y[0]));
        TRY(linear(g, y[0], INNER, H, &y[0]));
        y[1] = x;
        TRY(op(g, dnnl_tp_op_add, 2, y, 0, NULL, &x));
        TRY(norm(g, x, &x));
    }
    pool[0] = x;
    pool[1] = -1;
    pool[2] = off;
    TRY(op(g, dnnl_tp_op_pool_normalize, 3, pool, 0, NULL, &x));
    return dnnl_tp_graph_output(g, x, "y");
}

static int32_t ids[TOKENS + SPARE], offsets[SEQS + 1] = {0, 10, 31, 32, 80, 140, TOKENS};

static dnnl_tp_status_t compile(dnnl_tp_executable_t *e, dnnl_tp_graph_t g, dnnl_tp_engine_t engine,
                                const_dnnl_tp_stream_attr_t attr, unsigned flags, int64_t tokens,
                                int64_t seqs) {
    dnnl_tp_tensor_info_t s[2] = {{.ndims = 1, .dims = {tokens}, .data_type = dnnl_tp_s32},
                                  {.ndims = 1, .dims = {seqs + 1}, .data_type = dnnl_tp_s32}};
    dnnl_tp_compile_opts_t o = {.struct_size = sizeof o, .stream_attr = attr, .flags = flags};
    return dnnl_tp_executable_compile(e, g, engine, 2, s, &o);
}

static dnnl_tp_status_t run(dnnl_tp_executable_t e, dnnl_tp_stream_t stream, float *y) {
    void *in[2] = {ids, offsets}, *out[1] = {y};
    return dnnl_tp_executable_run(e, stream, 2, in, 1, out, NULL);
}

static void test_build(void **state) {
    (void)state;
    long n = 0;
    int64_t objects = dtp_object_live();
    for (;; ++n) {
        long before = atomic_load(&live);
        dnnl_tp_graph_t g = NULL;
        atomic_store(&calls, 0);
        atomic_store(&fail_at, n);
        dnnl_tp_status_t s = dnnl_tp_graph_create(&g, dnnl_tp_cpu);
        if (s == dnnl_tp_success) s = build(g);
        atomic_store(&fail_at, -1);
        if (g) dnnl_tp_graph_destroy(g);
        assert_true(atomic_load(&live) == before);
        if (s == dnnl_tp_success) break;
        assert_int_equal(s, dnnl_tp_out_of_memory);
    }
    assert_true(dtp_object_live() == objects);
    print_message("%ld allocations build the graph\n", n);
}

/* With the primitive cache off, so that each attempt makes everything anew. */
static void test_compile(void **state) {
    (void)state;
    int capacity;
    assert_int_equal(dnnl_tp_get_primitive_cache_capacity(&capacity), dnnl_tp_success);
    assert_int_equal(dnnl_tp_set_primitive_cache_capacity(0), dnnl_tp_success);
    for (unsigned flags = 0; flags < 2; ++flags) {
        dnnl_tp_graph_t g;
        dnnl_tp_engine_t engine;
        dnnl_tp_stream_t stream;
        assert_int_equal(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0), dnnl_tp_success);
        assert_int_equal(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags),
                         dnnl_tp_success);
        assert_int_equal(dnnl_tp_graph_create(&g, dnnl_tp_cpu), dnnl_tp_success);
        assert_int_equal(build(g), dnnl_tp_success);
        float y[SEQS * H], again[SEQS * H];
        dnnl_tp_executable_t e = NULL;
        long n = 0;
        for (dnnl_tp_status_t s = dnnl_tp_out_of_memory; s != dnnl_tp_success; ++n) {
            int64_t objects = dtp_object_live();
            atomic_store(&calls, 0);
            atomic_store(&fail_at, n);
            s = compile(&e, g, engine, NULL, flags, TOKENS, SEQS);
            atomic_store(&fail_at, -1);
            if (s == dnnl_tp_success) break;
            assert_int_equal(s, dnnl_tp_out_of_memory);
            assert_null(e);
            assert_true(dtp_object_live() == objects);
        }
        print_message("%ld allocations compile it\n", n);
        /* Running: a second run at once would need a second run object; one alone needs nothing. */
        assert_int_equal(run(e, stream, y), dnnl_tp_success);
        atomic_store(&fail_at, atomic_load(&calls));
        assert_int_equal(run(e, stream, again), dnnl_tp_success);
        assert_memory_equal(y, again, sizeof y);
        atomic_store(&calls, 0);
        atomic_store(&fail_at, 0);
        assert_int_equal(dnnl_tp_executable_reserve(e, 3), dnnl_tp_out_of_memory);
        atomic_store(&fail_at, -1);
        assert_int_equal(dnnl_tp_executable_reserve(e, 3), dnnl_tp_success);
        assert_int_equal(run(e, stream, again), dnnl_tp_success);
        assert_memory_equal(y, again, sizeof y);
        dnnl_tp_executable_destroy(e);
        dnnl_tp_graph_destroy(g);
        dnnl_tp_stream_destroy(stream);
        dnnl_tp_engine_destroy(engine);
    }
    assert_int_equal(dnnl_tp_set_primitive_cache_capacity(capacity), dnnl_tp_success);
    assert_true(dtp_object_live() == 0);
    assert_true(test_becomes(&live, 0));
}

static void test_steady(void **state) {
    (void)state;
#ifdef __SANITIZE_THREAD__
    const int runs = 50; /* each takes a hundred times as long */
#else
    const int runs = 500;
#endif
    for (int threads = 1; threads < 4; ++threads) {
        dnnl_tp_graph_t g;
        dnnl_tp_engine_t engine;
        dnnl_tp_threadpool_t pool = NULL;
        dnnl_tp_stream_attr_t attr;
        dnnl_tp_stream_t stream;
        dnnl_tp_threadpool_opts_t o = {.struct_size = sizeof o, .num_threads = threads};
        assert_int_equal(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0), dnnl_tp_success);
        assert_int_equal(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu), dnnl_tp_success);
        if (DNNL_TP_WITH_THREADPOOL) {
            assert_int_equal(dnnl_tp_threadpool_create(&pool, &o), dnnl_tp_success);
            assert_int_equal(dnnl_tp_stream_attr_set_builtin_threadpool(attr, pool), dnnl_tp_success);
        }
        assert_int_equal(dnnl_tp_stream_create_v2(&stream, engine, dnnl_tp_stream_default_flags, attr),
                         dnnl_tp_success);
        assert_int_equal(dnnl_tp_graph_create(&g, dnnl_tp_cpu), dnnl_tp_success);
        assert_int_equal(build(g), dnnl_tp_success);
        dnnl_tp_executable_t e[2];
        assert_int_equal(compile(&e[0], g, engine, attr, 0, TOKENS, SEQS), dnnl_tp_success);
        assert_int_equal(compile(&e[1], g, engine, attr, 0, TOKENS + SPARE, SEQS),
                         dnnl_tp_success); /* room to spare */
        float y[2][SEQS * H];
        for (int i = 0; i < 20; ++i)
            for (int k = 0; k < 2; ++k) assert_int_equal(run(e[k], stream, y[k]), dnnl_tp_success);
        assert_memory_equal(y[0], y[1], sizeof y[0]);
        long before = atomic_load(&calls);
        struct mallinfo2 m = mallinfo2();
        for (int i = 0; i < runs; ++i)
            for (int k = 0; k < 2; ++k) assert_int_equal(run(e[k], stream, y[k]), dnnl_tp_success);
        struct mallinfo2 n = mallinfo2();
        assert_true(atomic_load(&calls) == before);
        /* oneTBB allocates tasks now and then. */
        if (DNNL_TP_CPU_RUNTIME != DNNL_TP_RUNTIME_TBB)
            assert_true(m.arena == n.arena && m.hblkhd == n.hblkhd && m.uordblks == n.uordblks);
        for (int k = 0; k < 2; ++k) dnnl_tp_executable_destroy(e[k]);
        dnnl_tp_graph_destroy(g);
        dnnl_tp_stream_destroy(stream);
        dnnl_tp_stream_attr_destroy(attr);
        dnnl_tp_threadpool_destroy(pool);
        dnnl_tp_engine_destroy(engine);
    }
}

int main(void) {
    dnnl_tp_allocator_t a = {.struct_size = sizeof a, .alloc = failing_alloc, .free = counting_free};
    if (dnnl_tp_set_allocator(&a)) return 1;
    for (size_t i = 0; i < sizeof weights / sizeof *weights; ++i)
        weights[i] = (float)(i * 7 % 13) / 26.f - .2f;
    for (int i = 0; i < TOKENS + SPARE; ++i) ids[i] = i * 5 % WORDS;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_build),
        cmocka_unit_test(test_compile),
        cmocka_unit_test(test_steady),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
