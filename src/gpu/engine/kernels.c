/* Modules and launches; see kernels.h. */
#include "gpu/engine/gpu_engine.h"

#if DTP_WITH_CUDA_KERNELS
#define DTP_GPU_MODULE(name) extern const unsigned long long dtp_fatbin_##name[];
#include "gpu/engine/modules.inc"
#endif

static const struct {
    const char *name;
    const void *fatbin; /* NULL: the build has no kernels */
} modules[] = {
#if DTP_WITH_CUDA_KERNELS
#define DTP_GPU_MODULE(name) {#name, dtp_fatbin_##name},
#else
#define DTP_GPU_MODULE(name) {#name, NULL},
#endif
#include "gpu/engine/modules.inc"
};

/* Of the device, loaded once. Under its lock, with the context current. */
static dnnl_tp_status_t load(dtp_gpu_t *gpu, dtp_gpu_module_t module, dtp_cu_library_t *library) {
    if (gpu->library[module]) {
        *library = gpu->library[module];
        return dnnl_tp_success;
    }
    const dtp_cu_capture_mode_t mode = dtp_gpu_relax(gpu);
    const dtp_cu_result_t result =
        gpu->cu->cuLibraryLoadData(library, modules[module].fatbin, NULL, NULL, 0, NULL, NULL, 0);
    dtp_gpu_restore(gpu, mode);
    if (result == DTP_CU_SUCCESS) gpu->library[module] = *library;
    pthread_mutex_unlock(&gpu->lock); /* a failure may take it */
    const dnnl_tp_status_t status = dtp_gpu_check(gpu, result, "cuLibraryLoadData");
    pthread_mutex_lock(&gpu->lock);
    return status;
}

/* Loaded now: the first launch of a kernel that is loaded lazily loads it, and may wait for the whole device, which waits for the host
 * where a stream is parked behind an event; or is refused while another thread captures. */
static dnnl_tp_status_t get_function(dtp_gpu_t *gpu, dtp_cu_library_t library, const char *name,
                                     dtp_cu_function_t *kernel) {
    dtp_cu_kernel_t k;
    const dtp_cu_capture_mode_t mode = dtp_gpu_relax(gpu);
    dnnl_tp_status_t status = DTP_CU(gpu, cuLibraryGetKernel, &k, library, name);
    if (!status) status = DTP_CU(gpu, cuKernelGetFunction, kernel, k);
    if (!status) status = DTP_CU(gpu, cuFuncLoad, *kernel);
    dtp_gpu_restore(gpu, mode);
    return status;
}

/* Lets blocks of the kernel have all dynamic shared memory that the device has beside their static one. It is always all of it: the limit is
 * the function's, which primitives share. */
static dnnl_tp_status_t allow_shared(dtp_gpu_t *gpu, dtp_cu_function_t kernel, size_t shared_bytes) {
    int fixed;
    if (!shared_bytes) return dnnl_tp_success;
    DTP_TRY(DTP_CU(gpu, cuFuncGetAttribute, &fixed, DTP_CU_FUNC_SHARED, kernel));
    const int64_t room = gpu->info.shared_bytes - fixed;
    DTP_DISPATCH((int64_t)shared_bytes <= room, UNSUPPORTED_SHAPE);
    return DTP_CU(gpu, cuFuncSetAttribute, kernel, DTP_CU_FUNC_MAX_DYNAMIC_SHARED, (int)room);
}

dnnl_tp_status_t dtp_gpu_find_kernel(dtp_gpu_t *gpu, dtp_gpu_module_t module, const char *name,
                                     size_t shared_bytes, dtp_cu_function_t *kernel) {
    DTP_DISPATCH(modules[module].fatbin, NO_KERNELS);
    DTP_TRY(dtp_gpu_enter(gpu));
    dtp_cu_library_t library;
    pthread_mutex_lock(&gpu->lock);
    dnnl_tp_status_t status = load(gpu, module, &library);
    pthread_mutex_unlock(&gpu->lock);
    if (!status) status = get_function(gpu, library, name, kernel);
    if (!status) status = allow_shared(gpu, *kernel, shared_bytes);
    dtp_gpu_leave(gpu);
    return status;
}
dnnl_tp_status_t dtp_gpu_kernel(const dtp_pd_t *pd, dtp_gpu_module_t module, const char *name,
                                size_t shared_bytes, dtp_cu_function_t *kernel) {
    return dtp_gpu_find_kernel(dtp_gpu_of(pd->engine)->gpu, module, name, shared_bytes, kernel);
}

dnnl_tp_status_t dtp_gpu_launch(const dtp_exec_ctx_t *ctx, dtp_cu_function_t kernel, const dtp_gpu_shape_t *s,
                                const void *args) {
    if (!s->grid[0]) return dnnl_tp_success;
    dtp_gpu_t *gpu;
    const dtp_cu_stream_t stream = dtp_gpu_stream_of(ctx->stream, &gpu);
    void *params[] = {(void *)(uintptr_t)args};
#define AT_LEAST_1(n) ((n) ? (n) : 1)
    return DTP_CU(gpu, cuLaunchKernel, kernel, s->grid[0], AT_LEAST_1(s->grid[1]), AT_LEAST_1(s->grid[2]),
                  AT_LEAST_1(s->block[0]), AT_LEAST_1(s->block[1]), AT_LEAST_1(s->block[2]), s->shared_bytes,
                  stream, params, NULL);
#undef AT_LEAST_1
}

dnnl_tp_status_t dtp_gpu_launch_threads(const dtp_exec_ctx_t *ctx, dtp_cu_function_t kernel, int64_t threads,
                                        uint32_t block, const void *args) {
    const int64_t blocks = dtp_min64(dtp_div_up(threads, block), INT32_MAX);
    return dtp_gpu_launch(ctx, kernel, &(dtp_gpu_shape_t){.grid = {(uint32_t)blocks}, .block = {block}},
                          args);
}

const dtp_gpu_device_t *dtp_gpu_device(const dtp_pd_t *pd) { return &dtp_gpu_of(pd->engine)->gpu->info; }

bool dtp_gpu_allows_tf32(const dtp_pd_t *pd) {
    const dnnl_tp_fpmath_mode_t mode = pd->attr->fpmath_mode;
    return mode == dnnl_tp_fpmath_mode_tf32 || mode == dnnl_tp_fpmath_mode_any ||
           mode == dnnl_tp_fpmath_mode_bf16;
}
