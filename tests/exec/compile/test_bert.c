/* A small seeded BERT (2 layers, hidden 64, 4 heads) in the forms in which users write it: packed sequences,
 * batches with attention as one operator, and batches with everything written out. Against the double mirror,
 * fused and not; the same bits on any number of threads and for any neighbours in the batch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/primitive/engine.h"
#include "support/mirror.h"
#include "support/upload.h"

enum { LAYERS = 2, H = 64, HEADS = 4, INNER = 160, WORDS = 50, POSITIONS = 40, FEW_ROWS = 64 };
typedef enum { PACKED, BATCH, PLAIN, FORMS } form_t;

static int transpose(mirror_t *m, int x, int64_t a, int64_t b, int64_t c, int64_t d) {
    int64_t order[4] = {a, b, c, d};
    dnnl_tp_op_attr_t attr = mirror_s64(dnnl_tp_op_attr_order, 4, order);
    return mirror_op(m, dnnl_tp_op_static_transpose, "transpose", 1, &x, 1, &attr);
}

static int reshape(mirror_t *m, int x, int n, const int64_t *shape) {
    dnnl_tp_op_attr_t attr = mirror_s64(dnnl_tp_op_attr_shape, n, shape);
    return mirror_op(m, dnnl_tp_op_static_reshape, "reshape", 1, &x, 1, &attr);
}

static int matmul(mirror_t *m, const char *name, int x, int y) {
    int in[2] = {x, y};
    return mirror_op(m, dnnl_tp_op_matmul, name, 2, in, 0, NULL);
}

/* softmax(q k^T / sqrt(d) + mask) v with every step as an operator of its own. */
static int plain_attention(mirror_t *m, int q, int k, int v, int mask, int64_t batch, int64_t length) {
    int64_t split[4] = {batch, length, HEADS, H / HEADS}, join[3] = {batch, length, H};
    q = transpose(m, reshape(m, q, 4, split), 0, 2, 1, 3);
    k = transpose(m, reshape(m, k, 4, split), 0, 2, 3, 1);
    v = transpose(m, reshape(m, v, 4, split), 0, 2, 1, 3);
    int s = mirror_binary(m, dnnl_tp_op_divide, matmul(m, "scores", q, k), mirror_scalar(m, 4.));
    if (mask >= 0) s = mirror_binary(m, dnnl_tp_op_add, s, mask);
    s = mirror_op(m, dnnl_tp_op_softmax, "softmax", 1, &s, 0, NULL);
    return reshape(m, transpose(m, matmul(m, "context", s, v), 0, 2, 1, 3), 3, join);
}

static int plain_gelu(mirror_t *m, int x) {
    int t = mirror_unary(m, dnnl_tp_op_erf,
                         mirror_binary(m, dnnl_tp_op_multiply, x, mirror_scalar(m, 0.70710678118654752)));
    t = mirror_binary(m, dnnl_tp_op_multiply, x, mirror_binary(m, dnnl_tp_op_add, t, mirror_scalar(m, 1.)));
    return mirror_binary(m, dnnl_tp_op_multiply, t, mirror_scalar(m, .5));
}

static void build(mirror_t *m, form_t form, int64_t batch, int64_t length, int n, const int32_t *offsets,
                  int with_mask) {
    int64_t ids[2] = {batch, length}, words[2] = {WORDS, H}, positions[2] = {POSITIONS, H}, heads = HEADS;
    int64_t total = form == PACKED ? offsets[n] : 0, mask_dims[4] = {batch, 1, 1, length};
    dnnl_tp_op_attr_t attr = mirror_s64(dnnl_tp_op_attr_heads, 1, &heads);
    int nd = form == PACKED ? 1 : 2;
    const int64_t *dims = form == PACKED ? &total : ids;
    int a = mirror_ids(m, dnnl_tp_s32, nd, dims, WORDS), b = mirror_ids(m, dnnl_tp_s64, nd, dims, POSITIONS);
    int off = form == PACKED ? mirror_ints(m, n + 1, offsets) : -1, mask = -1;
    if (with_mask) mask = mirror_input(m, 4, mask_dims);
    int in[2] = {mirror_constant(m, 2, words, 1.), a}, pos[2] = {mirror_constant(m, 2, positions, 1.), b};
    int x = mirror_binary(m, dnnl_tp_op_add, mirror_op(m, dnnl_tp_op_gather, "words", 2, in, 0, NULL),
                          mirror_op(m, dnnl_tp_op_gather, "positions", 2, pos, 0, NULL));
    x = mirror_norm(m, "embedding_norm", x, H);
    for (int l = 0; l < LAYERS; ++l) {
        int tb = l & 1, bias = form == PLAIN ? 1 + l : 0;
        int qkv[5] = {mirror_linear(m, "query", x, H, H, tb, bias),
                      mirror_linear(m, "key", x, H, H, tb, bias),
                      mirror_linear(m, "value", x, H, H, tb, bias), mask, off};
        int y = form == PLAIN ? plain_attention(m, qkv[0], qkv[1], qkv[2], mask, batch, length)
                              : mirror_op(m, dnnl_tp_op_attention, "attention", 5, qkv, 1, &attr);
        y = mirror_linear(m, "attention_out", y, H, H, tb, bias);
        x = mirror_norm(m, "attention_norm", mirror_binary(m, dnnl_tp_op_add, y, x), H);
        y = mirror_linear(m, "up", x, H, INNER, tb, bias);
        y = form == PLAIN ? plain_gelu(m, y) : mirror_unary(m, dnnl_tp_op_gelu, y);
        y = mirror_linear(m, "down", y, INNER, H, tb, bias);
        x = mirror_norm(m, "out_norm", mirror_binary(m, dnnl_tp_op_add, x, y), H);
    }
    int pool[3] = {x, -1, off};
    mirror_output(m, x);
    mirror_output(m, mirror_op(m, dnnl_tp_op_pool_normalize, "pool", 3, pool, 0, NULL));
}

static const int32_t ragged[] = {0, 3, 20, 20, 21, 60, 97, 130, 131, 170, 209, 240, 262, 300};
enum { RAGGED = 13 };
static const int thread_counts[] = {1, 2, 3, 7};

static mirror_t *make(form_t form, int64_t batch, int64_t length, int mask, int runtime) {
    mirror_t *m = malloc(sizeof *m);
    mirror_init(m, 7);
    m->runtime_dims = runtime;
    build(m, form, batch, length, RAGGED, ragged, mask);
    return m;
}

static void check_all_threads(mirror_t *m) {
    float *first[2] = {NULL, NULL}, *again[2];
    size_t bytes[2];
    for (int i = 0; i < 2; ++i) {
        bytes[i] = sizeof(float) * (size_t)m->value[m->out[i]].n;
        first[i] = malloc(bytes[i]);
        again[i] = malloc(bytes[i]);
    }
    assert_int_equal(mirror_check(m, NULL, DNNL_TP_COMPILE_NO_FUSION, 2e-5), 0);
    assert_int_equal(mirror_check(m, NULL, 0, 2e-5), 0);
    size_t repeats = DNNL_TP_WITH_THREADPOOL ? sizeof thread_counts / sizeof *thread_counts : 0;
    if (test_engine_is_far(m->engine)) /* it has no threads: few rows give the same bits again */
        repeats = bytes[0] <= FEW_ROWS * H * sizeof(float) ? 1 : 0;
    if (repeats) assert_int_equal(mirror_run(m, NULL, 0, first), 0);
    for (size_t t = 0; t < repeats; ++t) {
        dnnl_tp_threadpool_t pool;
        dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof opts, .num_threads = thread_counts[t]};
        assert_int_equal(dnnl_tp_threadpool_create(&pool, &opts), dnnl_tp_success);
        assert_int_equal(mirror_run(m, pool, 0, again), 0);
        for (int i = 0; i < 2; ++i) assert_memory_equal(first[i], again[i], bytes[i]);
        dnnl_tp_threadpool_destroy(pool);
    }
    for (int i = 0; i < 2; ++i) {
        free(first[i]);
        free(again[i]);
    }
    mirror_free(m);
    free(m);
}

static void test_packed(void **state) {
    (void)state;
    check_all_threads(make(PACKED, 0, 0, 0, 0));
    check_all_threads(make(PACKED, 0, 0, 0, 1));
}

static void test_batch(void **state) {
    (void)state;
    static const int64_t shapes[][2] = {{1, 1}, {1, 8}, {1, 33}, {8, 32}, {5, 17}, {13, 29}, {2, 40}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i)
        for (int mask = 0; mask < 2; ++mask)
            check_all_threads(make(BATCH, shapes[i][0], shapes[i][1], mask, 0));
}

/* A small last-level cache: many groups of weights, so that values cross from group to group for all slices.
 */
static void test_groups(void **state) {
    (void)state;
#ifdef __SANITIZE_THREAD__
    static const int64_t caches[] = {100 << 10}; /* the others run the same code in other orders */
#else
    static const int64_t caches[] = {1, 100 << 10, 300 << 10};
#endif
    const bool far =
        test_engine_kind() != dnnl_tp_cpu; /* without threads one cache and few rows tell enough */
    const int batch = far ? 4 : 20;
    for (size_t i = 0; i < (far ? 1 : sizeof caches / sizeof *caches); ++i)
        for (form_t form = PACKED; form < FORMS; ++form) {
            mirror_t *m = make(form, batch, 23, 0, 0);
            m->engine->l3_bytes = caches[i];
            check_all_threads(m);
        }
}

static void test_plain(void **state) {
    (void)state;
    static const int64_t shapes[][2] = {{1, 8}, {8, 32}, {5, 17}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i)
        for (int mask = 0; mask < 2; ++mask)
            check_all_threads(make(PLAIN, shapes[i][0], shapes[i][1], mask, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_packed),
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
