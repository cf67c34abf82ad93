/* See idle_driver.h. */
#include "gpu/idle_driver.h"

#include "gpu/driver/cu_api.h"
#include "gpu/fake/fake_cuda.h"

idle_calls_t idle_calls;
static dtp_cu_t cu;

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
static dtp_cu_result_t passed(dtp_cu_event_t event) {
    (void)event;
    ++idle_calls.looks;
    return DTP_CU_SUCCESS;
}

void idle_driver_install(void) {
    cu = *fake_cuda_table();
    dtp_cu_set_for_test(&cu);
}

void idle_driver_set(driver_mode_t mode) {
    cu = *fake_cuda_table();
    if (mode != DRIVER_WORKS) cu.cuLaunchKernel = launch;
    if (mode != DRIVER_IS_IDLE) return;
    cu.cuCtxPushCurrent = push;
    cu.cuCtxPopCurrent = pop;
    cu.cuMemcpyHtoDAsync = to_device;
    cu.cuMemcpyDtoHAsync = to_host;
    cu.cuMemcpyDtoDAsync = within;
    cu.cuEventRecord = record;
    cu.cuEventQuery = passed;
    cu.cuEventSynchronize = passed;
}
