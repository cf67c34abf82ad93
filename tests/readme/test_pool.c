/* The README's pool, compiled as printed there and used: a matrix product really runs on it. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dnnl_tp/dnnl_tp.h"

/* The program's own pool, as small as possible: a thread per task. */
struct my_pool {
    atomic_int n_submitted, n_open;
};
struct task {
    struct my_pool *pool;
    void (*fn)(void *);
    void *arg;
};

static int my_pool_size(struct my_pool *pool) { return pool ? 2 : 1; }

static void *run_task(void *p) {
    struct task *t = p;
    struct my_pool *pool = t->pool;
    t->fn(t->arg);
    free(t);
    atomic_fetch_sub(&pool->n_open, 1);
    return NULL;
}

static int my_pool_submit(struct my_pool *pool, void (*fn)(void *), void *arg) {
    struct task *t = malloc(sizeof *t);
    if (!t) return 1;
    *t = (struct task){pool, fn, arg};
    atomic_fetch_add(&pool->n_submitted, 1);
    atomic_fetch_add(&pool->n_open, 1);
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_task, t)) {
        atomic_fetch_sub(&pool->n_open, 1);
        free(t);
        return 1;
    }
    pthread_detach(thread);
    return 0;
}

dnnl_tp_status_t engine_on_my_pool(struct my_pool *pool, dnnl_tp_engine_t *engine);
#include "readme_pool.inc"

enum { N = 512, N_RUNS = 10 };
static float a[N * N], b[N * N], c[N * N];

static void test_readme_pool(void **state) {
    (void)state;
    static struct my_pool pool;
    dnnl_tp_engine_t engine;
    dnnl_tp_status_t status = engine_on_my_pool(&pool, &engine);
    if (!DNNL_TP_WITH_THREADPOOL) {
        assert_int_equal(status, dnnl_tp_unimplemented);
        return;
    }
    assert_int_equal(status, dnnl_tp_success);
    dnnl_tp_stream_t stream;
    dnnl_tp_memory_desc_t md;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t matmul;
    assert_int_equal(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags), dnnl_tp_success);
    assert_int_equal(
        dnnl_tp_memory_desc_create_with_tag(&md, 2, (dnnl_tp_dims_t){N, N}, dnnl_tp_f32, dnnl_tp_ab),
        dnnl_tp_success);
    assert_int_equal(dnnl_tp_matmul_primitive_desc_create(&pd, engine, md, md, NULL, md, NULL),
                     dnnl_tp_success);
    int num_threads = 0;
    assert_int_equal(dnnl_tp_primitive_desc_get_num_threads(pd, &num_threads), dnnl_tp_success);
    assert_int_equal(num_threads, 2);
    assert_int_equal(dnnl_tp_primitive_create(&matmul, pd), dnnl_tp_success);
    for (int i = 0; i < N; ++i) a[i * N + i] = 2.0f;
    for (int i = 0; i < N * N; ++i) b[i] = (float)(i % 17);
    const dnnl_tp_exec_handle_t args[] = {
        {DNNL_TP_ARG_SRC, a}, {DNNL_TP_ARG_WEIGHTS, b}, {DNNL_TP_ARG_DST, c}};
    /* Several: the library learns from the first what a loop costs. */
    for (int run = 0; run < N_RUNS; ++run)
        assert_int_equal(dnnl_tp_primitive_execute_handles(matmul, stream, 3, args), dnnl_tp_success);
    assert_int_equal(dnnl_tp_stream_wait(stream), dnnl_tp_success);
    for (int i = 0; i < N * N; ++i) assert_true(c[i] == 2.0f * (float)(i % 17));
    assert_true(atomic_load(&pool.n_submitted) > 0);
    dnnl_tp_primitive_destroy(matmul);
    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_memory_desc_destroy(md);
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_engine_destroy(engine);
    while (atomic_load(&pool.n_open)) (void)sched_yield();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_readme_pool)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
