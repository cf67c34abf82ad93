/* Calls of dnnl_tp_cuda.h. */
#include "dnnl_tp/dnnl_tp_cuda.h"

#include "gpu/driver/lt_api.h"
#include "gpu/engine/gpu_stream.h"

dnnl_tp_status_t dnnl_tp_cuda_engine_attr_set(dnnl_tp_engine_attr_t attr,
                                              const dnnl_tp_cuda_engine_opts_t *opts) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_ENGINE_ATTR);
    DTP_RETURN(dtp_own_set(&attr->own, dnnl_tp_gpu, opts));
}

const char *dnnl_tp_cuda_reason(void) {
    if (!dtp_cu()) return dtp_cu_reason();
    return dnnl_tp_engine_get_count(dnnl_tp_gpu) ? "" : "the driver knows no device";
}

const char *dnnl_tp_cuda_cublaslt_reason(void) {
    const char *reason = dnnl_tp_cuda_reason();
    return *reason ? reason : dtp_lt_reason();
}

static dnnl_tp_status_t answer(dtp_cu_result_t result) {
    char text[192];
    if (result == DTP_CU_SUCCESS) return dnnl_tp_success;
    return dtp_fail(dnnl_tp_runtime_error, DTP_DEVICE_FAILED, "%s", dtp_cu_text(result, text, sizeof text));
}

static dnnl_tp_status_t uuid_of(size_t index, dtp_cu_device_t *device, dtp_cu_uuid_t *uuid) {
    const dtp_cu_t *cu = dtp_cu();
    DTP_TRY(answer(cu->cuDeviceGet(device, (int)index)));
    return answer(cu->cuDeviceGetUuid(uuid, *device));
}

dnnl_tp_status_t dnnl_tp_cuda_get_device(size_t index, dnnl_tp_cuda_device_t *device) {
    DTP_REQUIRE(device, NULL_ARG, "device");
    DTP_REQUIRE_SIZE(device, "dnnl_tp_cuda_device_t");
    *device = (dnnl_tp_cuda_device_t){.struct_size = sizeof *device};
    DTP_REQUIRE(index < dnnl_tp_engine_get_count(dnnl_tp_gpu), BAD_INDEX, "device %zu, there are %zu", index,
                dnnl_tp_engine_get_count(dnnl_tp_gpu));
    const dtp_cu_t *cu = dtp_cu();
    dnnl_tp_cuda_device_t found = *device;
    dtp_cu_device_t d;
    dtp_cu_uuid_t uuid;
    int major, minor;
    size_t bytes;
    DTP_TRY(uuid_of(index, &d, &uuid));
    DTP_TRY(answer(cu->cuDeviceGetName(found.name, sizeof found.name, d)));
    DTP_TRY(answer(cu->cuDeviceGetAttribute(&found.multiprocessors, DTP_CU_ATTR_MULTIPROCESSORS, d)));
    DTP_TRY(answer(cu->cuDeviceGetAttribute(&major, DTP_CU_ATTR_MAJOR, d)));
    DTP_TRY(answer(cu->cuDeviceGetAttribute(&minor, DTP_CU_ATTR_MINOR, d)));
    DTP_TRY(answer(cu->cuDeviceTotalMem(&bytes, d)));
    memcpy(found.uuid, uuid.bytes, sizeof found.uuid);
    found.capability = 10 * major + minor;
    found.memory_bytes = bytes;
    *device = found;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_cuda_find_device(const unsigned char uuid[16], size_t *index) {
    DTP_OUT(index, 0);
    DTP_REQUIRE(uuid, NULL_ARG, "uuid");
    const size_t n = dnnl_tp_engine_get_count(dnnl_tp_gpu);
    for (size_t i = 0; i < n; ++i) {
        dtp_cu_device_t d;
        dtp_cu_uuid_t is;
        DTP_TRY(uuid_of(i, &d, &is));
        if (memcmp(is.bytes, uuid, sizeof is.bytes)) continue;
        *index = i;
        return dnnl_tp_success;
    }
    DTP_RETURN(dtp_fail(dnnl_tp_invalid_arguments, DTP_BAD_ENGINE, "no device has this UUID"));
}

#define REQUIRE_GPU(kind) DTP_REQUIRE((kind) == dnnl_tp_gpu, BAD_ENGINE, "not of a GPU")

dnnl_tp_status_t dnnl_tp_cuda_get_memory(dnnl_tp_engine_t engine, int reset_peak,
                                         dnnl_tp_cuda_memory_t *memory) {
    DTP_REQUIRE_HANDLE(engine, DTP_OBJ_ENGINE);
    REQUIRE_GPU(engine->v->kind);
    DTP_REQUIRE(memory, NULL_ARG, "memory");
    DTP_REQUIRE_SIZE(memory, "dnnl_tp_cuda_memory_t");
    dtp_gpu_engine_t *e = dtp_gpu_of(engine);
    pthread_mutex_lock(&e->lock);
    memory->used = e->used;
    memory->peak = e->peak;
    memory->limit = e->memory_limit;
    if (reset_peak) e->peak = e->used;
    pthread_mutex_unlock(&e->lock);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_cuda_trim_memory(dnnl_tp_engine_t engine, size_t keep_bytes) {
    DTP_REQUIRE_HANDLE(engine, DTP_OBJ_ENGINE);
    REQUIRE_GPU(engine->v->kind);
    dtp_gpu_t *gpu = dtp_gpu_of(engine)->gpu;
    DTP_TRY(dtp_gpu_enter(gpu));
    dnnl_tp_status_t status = dtp_gpu_synchronize(gpu, gpu->own); /* what is freed there is free */
    const dtp_cu_capture_mode_t mode = dtp_gpu_relax(gpu);
    if (!status) status = DTP_CU(gpu, cuMemPoolTrimTo, gpu->pool, keep_bytes);
    dtp_gpu_restore(gpu, mode);
    dtp_gpu_leave(gpu);
    DTP_RETURN(status);
}

dnnl_tp_status_t dnnl_tp_cuda_stream_attr_set_stream(dnnl_tp_stream_attr_t attr, struct CUstream_st *stream) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_STREAM_ATTR);
    REQUIRE_GPU(attr->kind);
    dtp_gpu_stream_own_t own;
    DTP_TRY(dtp_own_get(attr->own, &own, sizeof own));
    own.struct_size = sizeof own;
    own.stream = stream;
    own.given = true;
    DTP_RETURN(dtp_own_set(&attr->own, dnnl_tp_gpu, &own));
}

dnnl_tp_status_t dnnl_tp_cuda_stream_attr_set_profiling(dnnl_tp_stream_attr_t attr, int profiles) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_STREAM_ATTR);
    REQUIRE_GPU(attr->kind);
    dtp_gpu_stream_own_t own;
    DTP_TRY(dtp_own_get(attr->own, &own, sizeof own));
    own.struct_size = sizeof own;
    own.profiles = profiles != 0;
    DTP_RETURN(dtp_own_set(&attr->own, dnnl_tp_gpu, &own));
}

dnnl_tp_status_t dnnl_tp_cuda_stream_get_stream(dnnl_tp_stream_t stream, struct CUstream_st **cuda_stream) {
    DTP_OUT(cuda_stream, NULL);
    DTP_REQUIRE_HANDLE(stream, DTP_OBJ_STREAM);
    REQUIRE_GPU(stream->engine->v->kind);
    dtp_gpu_t *gpu;
    dtp_gpu_stream_share(stream);
    *cuda_stream = dtp_gpu_stream_of(stream, &gpu);
    return dnnl_tp_success;
}
