/* What the host does from the call to the launch, in nanoseconds: the driver's part does nothing here.
 *   gpu_host_cost        an execution by memories, by handles; a product by cuBLASLt, one of run-time dims; runs of graphs
 * Minimum and median of rounds. */
#include <stdio.h>
#include <stdlib.h>

#include "gpu/driver/lt_api.h"
#include "gpu/gpu_world.h"
#include "gpu/idle_driver.h"
#include "gpu/idle_graphs.h"
#include "support/check.h"
#include "threading/base/futex.h"

enum { ROUNDS = 21, CALLS = 20000, SHORT_CHAIN = 8, LONG_CHAIN = 264 };

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}
static void tell(const char *what, double *ns) {
    qsort(ns, ROUNDS, sizeof *ns, by_value);
    printf("%-36s min %6.1f, median %6.1f ns\n", what, ns[0], ns[ROUNDS / 2]);
}

static void measure_executions(void) {
    void *handle;
    dnnl_tp_stream_t s = gpu_stream();
    dnnl_tp_memory_t x = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 1);
    CHECK_OK(dnnl_tp_memory_get_data_handle(x, &handle));
    const dnnl_tp_exec_handle_t handles[] = {{DNNL_TP_ARG_SRC, handle}, {DNNL_TP_ARG_DST, handle}};
    double by_memory[ROUNDS], by_handle[ROUNDS];
    idle_driver_set(DRIVER_IS_IDLE);
    for (int r = 0; r < ROUNDS; ++r) {
        int64_t begin = dtp_now_ns();
        for (int i = 0; i < CALLS; ++i) CHECK_OK(gpu_step(p, s, x));
        by_memory[r] = (double)(dtp_now_ns() - begin) / CALLS;
        begin = dtp_now_ns();
        for (int i = 0; i < CALLS; ++i) CHECK_OK(dnnl_tp_primitive_execute_handles(p, s, 2, handles));
        by_handle[r] = (double)(dtp_now_ns() - begin) / CALLS;
    }
    idle_driver_set(DRIVER_WORKS);
    tell("execute", by_memory);
    tell("execute_handles", by_handle);
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_destroy(x));
    CHECK_OK(dnnl_tp_stream_destroy(s));
}

/* By cuBLASLt, which does nothing either. */
static void measure_products(void) {
    void *operands, *dst;
    double product[ROUNDS];
    dnnl_tp_stream_t s = gpu_stream();
    dnnl_tp_memory_t x = gpu_vector(gpu, 1), y = gpu_vector(gpu, 0);
    dnnl_tp_primitive_t p = gpu_product(gpu);
    CHECK_OK(dnnl_tp_memory_get_data_handle(x, &operands));
    CHECK_OK(dnnl_tp_memory_get_data_handle(y, &dst));
    idle_driver_set(DRIVER_IS_IDLE);
    for (int r = 0; r < ROUNDS; ++r) {
        const int64_t begin = dtp_now_ns();
        for (int i = 0; i < CALLS; ++i) CHECK_OK(gpu_multiply(p, s, operands, dst));
        product[r] = (double)(dtp_now_ns() - begin) / CALLS;
    }
    idle_driver_set(DRIVER_WORKS);
    tell("a product by cuBLASLt", product);
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_destroy(x));
    CHECK_OK(dnnl_tp_memory_destroy(y));
    CHECK_OK(dnnl_tp_stream_destroy(s));
}

static void measure_runtime_products(void) {
    double product[ROUNDS];
    dnnl_tp_stream_t s = gpu_stream();
    dnnl_tp_memory_t x = gpu_matrix(gpu), y = gpu_matrix(gpu);
    dnnl_tp_primitive_t p = gpu_runtime_product(gpu);
    CHECK_OK(gpu_square(p, s, x, y)); /* its scratch */
    CHECK_OK(dnnl_tp_stream_wait(s));
    idle_driver_set(DRIVER_IS_IDLE);
    for (int r = 0; r < ROUNDS; ++r) {
        const int64_t begin = dtp_now_ns();
        for (int i = 0; i < CALLS; ++i) CHECK_OK(gpu_square(p, s, x, y));
        product[r] = (double)(dtp_now_ns() - begin) / CALLS;
    }
    idle_driver_set(DRIVER_WORKS);
    tell("a product of run-time dims", product);
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_destroy(x));
    CHECK_OK(dnnl_tp_memory_destroy(y));
    CHECK_OK(dnnl_tp_stream_destroy(s));
}

/* Of one round, for a run. */
static double time_runs(const idle_graph_t *g) {
    const int runs = CALLS / g->launches;
    const int64_t begin = dtp_now_ns();
    for (int i = 0; i < runs; ++i) idle_graph_run(g);
    return (double)(dtp_now_ns() - begin) / runs;
}

static void measure_graphs(void) {
    idle_graph_t few, many, encoder;
    double run[ROUNDS], node[ROUNDS], whole[ROUNDS];
    idle_graph_chain(&few, SHORT_CHAIN);
    idle_graph_chain(&many, LONG_CHAIN);
    idle_graph_encoder(&encoder);
    idle_driver_set(DRIVER_IS_IDLE);
    for (int r = 0; r < ROUNDS; ++r) {
        run[r] = time_runs(&few);
        node[r] = (time_runs(&many) - run[r]) / (many.launches - few.launches);
        whole[r] = time_runs(&encoder) / encoder.launches;
    }
    idle_driver_set(DRIVER_WORKS);
    printf("launches: %d and %d in lines of small nodes, %d of the encoder\n", few.launches, many.launches,
           encoder.launches);
    tell("a run of a short line", run);
    tell("a further node", node);
    tell("the encoder's run, for each launch", whole);
    idle_graph_destroy(&few);
    idle_graph_destroy(&many);
    idle_graph_destroy(&encoder);
}

int main(void) {
    fake_cuda_reset();
    idle_driver_install();
    CHECK_OK(dnnl_tp_engine_create(&gpu, dnnl_tp_gpu, 0));
    measure_executions();
    idle_cublaslt_install();
    measure_products();
    dtp_lt_set_for_test(NULL);
    measure_runtime_products();
    measure_graphs();
    CHECK_OK(dnnl_tp_engine_destroy(gpu));
    return fake_cuda_report(stderr);
}
