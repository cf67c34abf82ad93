/* See cublaslt.h. */
#include "gpu/engine/cublaslt.h"

#include "gpu/driver/lt_api.h"
#include "gpu/engine/gpu_engine.h"

/* out_of_memory, or unimplemented for this reason. */
static dnnl_tp_status_t answer(const dtp_gpu_lt_t *lt, dtp_lt_status_t status, dtp_reason_t reason,
                               const char *call) {
    char text[192];
    (void)dtp_lt_text(lt->calls, status, text, sizeof text);
    if (status == DTP_LT_ALLOC_FAILED)
        return dtp_fail(dnnl_tp_out_of_memory, DTP_NO_MEMORY, "%s: %s", call, text);
    return dtp_answer(dnnl_tp_unimplemented, reason, "%s: %s", call, text);
}

dnnl_tp_status_t dtp_gpu_lt_check(const dtp_gpu_lt_t *lt, dtp_lt_status_t status, const char *call) {
    return DTP_LIKELY(status == DTP_LT_SUCCESS) ? dnnl_tp_success
                                                : answer(lt, status, DTP_LIBRARY_REFUSES, call);
}

/* The device's handle, made once. What an attempt failed with is kept, but for a lack of memory. */
static dtp_lt_status_t need_handle(dtp_gpu_t *gpu, dtp_gpu_lt_t *lt) {
    pthread_mutex_lock(&gpu->lock);
    if (!gpu->lt.handle && (gpu->lt_status == DTP_LT_SUCCESS || gpu->lt_status == DTP_LT_ALLOC_FAILED)) {
        gpu->lt.calls = lt->calls;
        const dtp_cu_capture_mode_t mode = dtp_gpu_relax(gpu);
        gpu->lt_status = lt->calls->cublasLtCreate(&gpu->lt.handle);
        dtp_gpu_restore(gpu, mode);
    }
    *lt = gpu->lt;
    const dtp_lt_status_t status = gpu->lt_status;
    pthread_mutex_unlock(&gpu->lock);
    return status;
}

dnnl_tp_status_t dtp_gpu_lt_begin(const dtp_pd_t *pd, dtp_gpu_lt_t *lt) {
    dtp_gpu_t *gpu = dtp_gpu_of(pd->engine)->gpu;
    DTP_TRY(dtp_gpu_enter(gpu));
    lt->calls = dtp_lt();
    if (!lt->calls) {
        dtp_gpu_leave(gpu);
        return dtp_answer(dnnl_tp_unimplemented, DTP_NO_LIBRARY, "%s", dtp_lt_reason());
    }
    const dtp_lt_status_t status = need_handle(gpu, lt);
    if (status == DTP_LT_SUCCESS) return dnnl_tp_success;
    dtp_gpu_leave(gpu);
    return answer(lt, status, DTP_NO_LIBRARY, "cublasLtCreate");
}

void dtp_gpu_lt_end(const dtp_pd_t *pd) { dtp_gpu_leave(dtp_gpu_of(pd->engine)->gpu); }

void dtp_gpu_lt_close(dtp_gpu_t *gpu) {
    if (gpu->lt.handle) (void)gpu->lt.calls->cublasLtDestroy(gpu->lt.handle);
}

/* What the device has found before is told by the driver: the library's status does not say what it was. */
static dnnl_tp_status_t failed(dtp_gpu_t *gpu, const dtp_gpu_lt_t *lt, dtp_cu_stream_t stream,
                               dtp_lt_status_t status) {
    char text[192];
    const dtp_cu_result_t result = gpu->cu->cuStreamQuery(stream);
    if (result != DTP_CU_NOT_READY) DTP_TRY(dtp_gpu_check(gpu, result, "cublasLtMatmul"));
    const bool memory = status == DTP_LT_ALLOC_FAILED;
    return dtp_fail(memory ? dnnl_tp_out_of_memory : dnnl_tp_runtime_error,
                    memory ? DTP_NO_MEMORY : DTP_DEVICE_FAILED, "device %d: cublasLtMatmul: %s", gpu->device,
                    dtp_lt_text(lt->calls, status, text, sizeof text));
}

/* The library does not change a layout, but takes it as if it did. */
static dtp_lt_layout_t *layout(const dtp_lt_layout_t *l) { return (dtp_lt_layout_t *)(uintptr_t)l; }

dnnl_tp_status_t dtp_gpu_lt_matmul(const dtp_exec_ctx_t *ctx, const dtp_gpu_lt_t *lt,
                                   const dtp_gpu_lt_matmul_t *m) {
    static const float alpha = 1;
    dtp_gpu_t *gpu;
    const dtp_cu_stream_t stream = dtp_gpu_stream_of(ctx->stream, &gpu);
    dtp_lt_product_t product = *m->product;
    dtp_lt_status_t status = DTP_LT_SUCCESS;
    if (m->bias)
        status = lt->calls->cublasLtMatmulDescSetAttribute(&product, DTP_LT_BIAS_POINTER, &m->bias,
                                                           sizeof m->bias);
    if (DTP_LIKELY(status == DTP_LT_SUCCESS))
        status =
            lt->calls->cublasLtMatmul(lt->handle, &product, &alpha, m->a, layout(m->a_layout), m->b,
                                      layout(m->b_layout), &m->beta, m->d, layout(m->d_layout), m->d,
                                      layout(m->d_layout), m->algo, ctx->scratch, m->workspace_bytes, stream);
    return DTP_LIKELY(status == DTP_LT_SUCCESS) ? dnnl_tp_success : failed(gpu, lt, stream, status);
}
