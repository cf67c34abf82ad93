/* What the host does for a launch, counted: no allocation, no lock, no call that waits, one launch between one push and one pop of the
 * context; in a run of a straight line the same whatever its length. The driver does nothing meanwhile (idle_driver.h). The
 * executable is linked with --wrap for each function below. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <time.h>

#include "gpu/driver/lt_api.h"
#include "gpu/gpu_world.h"
#include "gpu/idle_driver.h"
#include "gpu/idle_graphs.h"
#include "support/check.h"

static atomic_long allocations, locks;

#define WRAP(type, name, counter, params, args) \
    type __real_##name params;                  \
    type __wrap_##name params;                  \
    type __wrap_##name params {                 \
        atomic_fetch_add(&counter, 1);          \
        return __real_##name args;              \
    }
WRAP(void *, malloc, allocations, (size_t n), (n))
WRAP(void *, calloc, allocations, (size_t n, size_t size), (n, size))
WRAP(void *, realloc, allocations, (void *p, size_t n), (p, n))
WRAP(void *, aligned_alloc, allocations, (size_t align, size_t n), (align, n))
WRAP(int, posix_memalign, allocations, (void **p, size_t align, size_t n), (p, align, n))
WRAP(void *, mmap, allocations, (void *p, size_t n, int prot, int flags, int fd, off_t off),
     (p, n, prot, flags, fd, off))
WRAP(int, pthread_mutex_lock, locks, (pthread_mutex_t * m), (m))
WRAP(int, pthread_cond_wait, locks, (pthread_cond_t * c, pthread_mutex_t *m), (c, m))
WRAP(int, pthread_cond_timedwait, locks, (pthread_cond_t * c, pthread_mutex_t *m, const struct timespec *t),
     (c, m, t))
/* The library's futexes; every call has six arguments there. */
WRAP(long, syscall, locks, (long n, long a, long b, long c, long d, long e, long f), (n, a, b, c, d, e, f))

typedef struct {
    long allocations, locks;
    idle_calls_t calls;
} counts_t;

static void begin(void) {
    idle_calls = (idle_calls_t){0};
    atomic_store(&allocations, 0);
    atomic_store(&locks, 0);
}
static counts_t counts(void) {
    return (counts_t){atomic_load(&allocations), atomic_load(&locks), idle_calls};
}

static int setup(void **state) {
    (void)state;
    fake_cuda_reset();
    idle_driver_install();
    CHECK_OK(dnnl_tp_engine_create(&gpu, dnnl_tp_gpu, 0));
    return 0;
}

static void executions(void **state) {
    (void)state;
    enum { WARM = 3, CALLS = 100 };
    void *handle;
    dnnl_tp_stream_t s = gpu_stream();
    dnnl_tp_memory_t x = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 1);
    CHECK_OK(dnnl_tp_memory_get_data_handle(x, &handle));
    const dnnl_tp_exec_handle_t handles[] = {{DNNL_TP_ARG_SRC, handle}, {DNNL_TP_ARG_DST, handle}};
    idle_driver_set(DRIVER_IS_IDLE);
    for (int i = 0; i < WARM; ++i) CHECK_OK(gpu_step(p, s, x));
    begin();
    for (int i = 0; i < CALLS; ++i) CHECK_OK(gpu_step(p, s, x));
    for (int i = 0; i < CALLS; ++i) CHECK_OK(dnnl_tp_primitive_execute_handles(p, s, 2, handles));
    const counts_t c = counts();
    idle_driver_set(DRIVER_WORKS);
    assert_int_equal(c.allocations, 0);
    assert_int_equal(c.locks, 0);
    assert_int_equal(c.calls.launches, 2 * CALLS);
    assert_int_equal(c.calls.contexts, 4 * CALLS);
    assert_int_equal(c.calls.copies + c.calls.records + c.calls.looks, 0);
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_destroy(x));
    CHECK_OK(dnnl_tp_stream_destroy(s));
}

/* A product by cuBLASLt is one call of it. */
static void products(void **state) {
    (void)state;
    enum { CALLS = 100 };
    void *operands, *dst;
    idle_cublaslt_install();
    dnnl_tp_stream_t s = gpu_stream();
    dnnl_tp_memory_t x = gpu_vector(gpu, 1), y = gpu_vector(gpu, 0);
    dnnl_tp_primitive_t p = gpu_product(gpu);
    CHECK_OK(dnnl_tp_memory_get_data_handle(x, &operands));
    CHECK_OK(dnnl_tp_memory_get_data_handle(y, &dst));
    CHECK_OK(gpu_multiply(p, s, operands, dst));
    CHECK_OK(dnnl_tp_stream_wait(s));
    idle_driver_set(DRIVER_IS_IDLE);
    begin();
    for (int i = 0; i < CALLS; ++i) CHECK_OK(gpu_multiply(p, s, operands, dst));
    const counts_t c = counts();
    idle_driver_set(DRIVER_WORKS);
    assert_int_equal(c.allocations, 0);
    assert_int_equal(c.locks, 0);
    assert_int_equal(c.calls.launches, CALLS);
    assert_int_equal(c.calls.contexts, 2 * CALLS);
    assert_int_equal(fake_cuda_stats().products, 1);
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_destroy(x));
    CHECK_OK(dnnl_tp_memory_destroy(y));
    CHECK_OK(dnnl_tp_stream_destroy(s));
    dtp_lt_set_for_test(NULL);
}

/* With run-time dims an execution plans its launch. */
static void runtime_products(void **state) {
    (void)state;
    enum { CALLS = 100 };
    dnnl_tp_stream_t s = gpu_stream();
    dnnl_tp_memory_t x = gpu_matrix(gpu), y = gpu_matrix(gpu);
    dnnl_tp_primitive_t p = gpu_runtime_product(gpu);
    CHECK_OK(gpu_square(p, s, x, y)); /* its scratch */
    CHECK_OK(dnnl_tp_stream_wait(s));
    idle_driver_set(DRIVER_IS_IDLE);
    begin();
    for (int i = 0; i < CALLS; ++i) CHECK_OK(gpu_square(p, s, x, y));
    const counts_t c = counts();
    idle_driver_set(DRIVER_WORKS);
    assert_int_equal(c.allocations, 0);
    assert_int_equal(c.locks, 0);
    assert_int_equal(c.calls.launches, CALLS);
    assert_int_equal(c.calls.contexts, 2 * CALLS);
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_destroy(x));
    CHECK_OK(dnnl_tp_memory_destroy(y));
    CHECK_OK(dnnl_tp_stream_destroy(s));
}

static counts_t counts_of_a_run(idle_graph_t *g) {
    idle_driver_set(DRIVER_IS_IDLE);
    begin();
    idle_graph_run(g);
    const counts_t c = counts();
    idle_driver_set(DRIVER_WORKS);
    assert_int_equal(c.calls.launches, g->launches);
    assert_int_equal(c.allocations, 0);
    idle_graph_destroy(g);
    return c;
}

static void runs(void **state) {
    (void)state;
    enum { SHORT_CHAIN = 4, LONG_CHAIN = 100 };
    idle_graph_t g;
    idle_graph_chain(&g, SHORT_CHAIN);
    const counts_t few = counts_of_a_run(&g);
    idle_graph_chain(&g, LONG_CHAIN);
    const counts_t many = counts_of_a_run(&g);
    idle_graph_encoder(&g);
    const counts_t encoder = counts_of_a_run(&g);
    assert_int_equal(many.locks, few.locks);
    assert_int_equal(many.calls.looks, few.calls.looks);
    assert_int_equal(many.calls.records, few.calls.records);
    assert_int_equal(many.calls.copies, 0);
    /* Ids are looked at by kernels: their word goes there clean, and comes back. */
    assert_int_equal(encoder.calls.copies, 2);
    assert_int_equal(encoder.locks, few.locks);
    assert_int_equal(encoder.calls.looks, few.calls.looks);
    print_message("a run: %ld locks, %ld looks at events\n", few.locks, (long)few.calls.looks);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(executions, setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(products, setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(runtime_products, setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(runs, setup, gpu_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
