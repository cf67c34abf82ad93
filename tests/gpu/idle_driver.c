/* See idle_driver.h. */
#include "gpu/idle_driver.h"

#include "gpu/driver/cu_api.h"
#include "gpu/driver/lt_api.h"
#include "gpu/fake/fake_lt.h"

idle_calls_t idle_calls;
static dtp_cu_t cu;
static dtp_lt_t lt;

static dtp_cu_result_t launch(dtp_cu_function_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                              unsigned by, unsigned bz, unsigned shared, dtp_cu_stream_t s, void **params,
                              void **extra) {
    (void)f, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)s, (void)params,
        (void)extra;
    ++idle_calls.launches;
    return DTP_CU_SUCCESS;
}
static dtp_cu_result_t push(dtp_cu_ctx_t ctx) {
    (void)ctx;
    ++idle_calls.contexts;
    return DTP_CU_SUCCESS;
}
static dtp_cu_result_t pop(dtp_cu_ctx_t *ctx) {
    *ctx = NULL;
    ++idle_calls.contexts;
    return DTP_CU_SUCCESS;
}
static dtp_cu_result_t to_device(dtp_cu_ptr_t to, const void *from, size_t bytes, dtp_cu_stream_t s) {
    (void)to, (void)from, (void)bytes, (void)s;
    ++idle_calls.copies;
    return DTP_CU_SUCCESS;
}
static dtp_cu_result_t to_host(void *to, dtp_cu_ptr_t from, size_t bytes, dtp_cu_stream_t s) {
    (void)to, (void)from, (void)bytes, (void)s;
    ++idle_calls.copies;
    return DTP_CU_SUCCESS;
}
static dtp_cu_result_t within(dtp_cu_ptr_t to, dtp_cu_ptr_t from, size_t bytes, dtp_cu_stream_t s) {
    (void)to, (void)from, (void)bytes, (void)s;
    ++idle_calls.copies;
    return DTP_CU_SUCCESS;
}
static dtp_cu_result_t record(dtp_cu_event_t event, dtp_cu_stream_t s) {
    (void)event, (void)s;
    ++idle_calls.records;
    return DTP_CU_SUCCESS;
}
static dtp_cu_result_t exchange(dtp_cu_capture_mode_t *mode) {
    *mode = DTP_CU_CAPTURE_GLOBAL;
    return DTP_CU_SUCCESS;
}
static dtp_cu_result_t passed(dtp_cu_event_t event) {
    (void)event;
    ++idle_calls.looks;
    return DTP_CU_SUCCESS;
}

static dtp_lt_status_t product(dtp_lt_handle_t handle, dtp_lt_product_t *desc, const void *alpha,
                               const void *a, dtp_lt_layout_t *a_layout, const void *b,
                               dtp_lt_layout_t *b_layout, const void *beta, const void *c,
                               dtp_lt_layout_t *c_layout, void *d, dtp_lt_layout_t *d_layout,
                               const dtp_lt_algo_t *algo, void *workspace, size_t workspace_bytes,
                               dtp_cu_stream_t s) {
    (void)handle, (void)desc, (void)alpha, (void)a, (void)a_layout, (void)b, (void)b_layout, (void)beta,
        (void)c, (void)c_layout, (void)d, (void)d_layout, (void)algo, (void)workspace, (void)workspace_bytes,
        (void)s;
    ++idle_calls.launches;
    return DTP_LT_SUCCESS;
}
static dtp_lt_status_t set_product(dtp_lt_product_t *desc, dtp_lt_of_product_t attribute, const void *value,
                                   size_t bytes) {
    (void)desc, (void)attribute, (void)value, (void)bytes;
    return DTP_LT_SUCCESS;
}

void idle_cublaslt_install(void) {
    lt = *fake_lt_table();
    dtp_lt_set_for_test(&lt);
}

void idle_driver_install(void) {
    cu = *fake_cuda_table();
    dtp_cu_set_for_test(&cu);
}

void idle_driver_set(driver_mode_t mode) {
    cu = *fake_cuda_table();
    lt = *fake_lt_table();
    if (mode != DRIVER_WORKS) {
        cu.cuLaunchKernel = launch;
        lt.cublasLtMatmul = product;
        lt.cublasLtMatmulDescSetAttribute = set_product;
    }
    if (mode != DRIVER_IS_IDLE) return;
    cu.cuCtxPushCurrent = push;
    cu.cuCtxPopCurrent = pop;
    cu.cuMemcpyHtoDAsync = to_device;
    cu.cuMemcpyDtoHAsync = to_host;
    cu.cuMemcpyDtoDAsync = within;
    cu.cuEventRecord = record;
    cu.cuThreadExchangeStreamCaptureMode = exchange;
    cu.cuEventQuery = passed;
    cu.cuEventSynchronize = passed;
}
