/* What the host does from the call to the launch, in nanoseconds: the driver's part does nothing here.
 *   gpu_host_cost        an execution by memories, by handles
 * Minimum and median of rounds. */
#include <stdio.h>
#include <stdlib.h>

#include "gpu/driver/cu_api.h"
#include "gpu/gpu_world.h"
#include "support/check.h"
#include "threading/base/futex.h"

enum { ROUNDS = 21, CALLS = 20000 };

static dtp_cu_result_t no_launch(dtp_cu_function_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                 unsigned by, unsigned bz, unsigned shared, dtp_cu_stream_t s, void **params,
                                 void **extra) {
    (void)f, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)s, (void)params,
        (void)extra;
    return DTP_CU_SUCCESS;
}
static dtp_cu_result_t no_push(dtp_cu_ctx_t ctx) {
    (void)ctx;
    return DTP_CU_SUCCESS;
}
static dtp_cu_result_t no_pop(dtp_cu_ctx_t *ctx) {
    *ctx = NULL;
    return DTP_CU_SUCCESS;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}
static void tell(const char *what, double *ns) {
    qsort(ns, ROUNDS, sizeof *ns, by_value);
    printf("%-34s min %6.1f, median %6.1f ns\n", what, ns[0], ns[ROUNDS / 2]);
}

static dnnl_tp_stream_t s;
static dtp_cu_t cu;

static void measure(dnnl_tp_primitive_t p, dnnl_tp_memory_t x) {
    void *handle;
    CHECK_OK(dnnl_tp_memory_get_data_handle(x, &handle));
    const dnnl_tp_exec_handle_t handles[] = {{DNNL_TP_ARG_SRC, handle}, {DNNL_TP_ARG_DST, handle}};
    double by_memory[ROUNDS], by_handle[ROUNDS];
    for (int r = 0; r < ROUNDS; ++r) {
        int64_t begin = dtp_now_ns();
        for (int i = 0; i < CALLS; ++i) CHECK_OK(gpu_step(p, s, x));
        by_memory[r] = (double)(dtp_now_ns() - begin) / CALLS;
        begin = dtp_now_ns();
        for (int i = 0; i < CALLS; ++i) CHECK_OK(dnnl_tp_primitive_execute_handles(p, s, 2, handles));
        by_handle[r] = (double)(dtp_now_ns() - begin) / CALLS;
    }
    tell("execute", by_memory);
    tell("execute_handles", by_handle);
}

int main(void) {
    fake_cuda_reset();
    const dtp_cu_t fake = cu = *fake_cuda_table();
    dtp_cu_set_for_test(&cu);
    CHECK_OK(dnnl_tp_engine_create(&gpu, dnnl_tp_gpu, 0));
    CHECK_OK(dnnl_tp_stream_create(&s, gpu, 0));
    dnnl_tp_memory_t x = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 1);
    cu.cuLaunchKernel = no_launch;
    cu.cuCtxPushCurrent = no_push;
    cu.cuCtxPopCurrent = no_pop;
    measure(p, x);
    cu = fake;
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_destroy(x));
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_engine_destroy(gpu));
    return fake_cuda_report(stderr);
}
