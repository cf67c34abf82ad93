/* The CUDA engine: devices, contexts, errors, the engine's table. */
#include "gpu/engine/gpu_engine.h"

#include <stdio.h>
#include <stdlib.h>

#include "dnnl_tp/dnnl_tp_cuda.h"
#include "threading/base/futex.h"
#include "threading/pools/record.h"
#include "threading/streams/stream_attr.h"

/* ---- Errors ------------------------------------------------------------------------------------------ */

/* After these the context answers nothing else until the process ends: cuda.h says of each that the process must be launched anew; or the
 * MPS server that holds the context is gone. Of MPS's other errors a context is not made, or is there as before: they may be tried again. */
static bool is_sticky(dtp_cu_result_t result) {
    switch (result) {
    case DTP_CU_DEINITIALIZED:
    case DTP_CU_ILLEGAL_ADDRESS:
    case DTP_CU_LAUNCH_TIMEOUT:
    case DTP_CU_CONTEXT_IS_DESTROYED:
    case DTP_CU_ASSERT:
    case DTP_CU_MISALIGNED_ADDRESS:
    case DTP_CU_LAUNCH_FAILED:
    case DTP_CU_HARDWARE_STACK_ERROR:
    case DTP_CU_ILLEGAL_INSTRUCTION:
    case DTP_CU_INVALID_ADDRESS_SPACE:
    case DTP_CU_INVALID_PC:
    case DTP_CU_ECC_UNCORRECTABLE:
    case DTP_CU_NVLINK_UNCORRECTABLE:
    case DTP_CU_CONTAINED:
    case DTP_CU_TENSOR_MEMORY_LEAK:
    case DTP_CU_MPS_RPC_FAILURE:
    case DTP_CU_MPS_CLIENT_TERMINATED:
    case DTP_CU_EXTERNAL_DEVICE: return true;
    default: return false;
    }
}

static dnnl_tp_status_t status_of(dtp_cu_result_t result) {
    if (result == DTP_CU_OUT_OF_MEMORY) return dnnl_tp_out_of_memory;
    if (result == DTP_CU_INVALID_VALUE) return dnnl_tp_invalid_arguments;
    if (result == DTP_CU_NOT_SUPPORTED || result == DTP_CU_NO_DEVICE || result == DTP_CU_NO_BINARY_FOR_GPU)
        return dnnl_tp_unimplemented;
    return dnnl_tp_runtime_error;
}

dnnl_tp_status_t dtp_gpu_poison(dtp_gpu_t *gpu) {
    return dtp_fail(dnnl_tp_runtime_error, DTP_DEVICE_FAILED, "device %d: %s", gpu->device, gpu->text);
}

static dnnl_tp_status_t failed(dtp_gpu_t *gpu, dtp_cu_result_t result, const char *call) {
    char text[192];
    if (is_sticky(result)) {
        int clean = 0;
        pthread_mutex_lock(&gpu->lock);
        if (!atomic_load(&gpu->poisoned))
            snprintf(gpu->text, sizeof gpu->text, "%s: %s", call, dtp_cu_text(result, text, sizeof text));
        (void)atomic_compare_exchange_strong(&gpu->poisoned, &clean, 1);
        pthread_mutex_unlock(&gpu->lock);
        return dtp_gpu_poison(gpu);
    }
    return dtp_fail(status_of(result), result == DTP_CU_OUT_OF_MEMORY ? DTP_NO_MEMORY : DTP_DEVICE_FAILED,
                    "device %d: %s: %s", gpu->device, call, dtp_cu_text(result, text, sizeof text));
}

dnnl_tp_status_t dtp_gpu_check(dtp_gpu_t *gpu, dtp_cu_result_t result, const char *call) {
    return DTP_LIKELY(result == DTP_CU_SUCCESS) ? dnnl_tp_success : failed(gpu, result, call);
}

dnnl_tp_status_t dtp_gpu_ours(const dtp_gpu_t *gpu) {
    if (DTP_LIKELY(gpu->forks == atomic_load_explicit(&dtp_fork_generation, memory_order_relaxed)))
        return dnnl_tp_success;
    return dtp_fail(dnnl_tp_poisoned, DTP_DEVICE_FAILED, "the device belongs to the parent process");
}

dnnl_tp_status_t dtp_gpu_enter(dtp_gpu_t *gpu) {
    if (DTP_UNLIKELY(atomic_load_explicit(&gpu->poisoned, memory_order_acquire))) return dtp_gpu_poison(gpu);
    if (DTP_UNLIKELY(dtp_thread_is_borrowed))
        return dtp_fail(dnnl_tp_would_deadlock, DTP_WOULD_DEADLOCK,
                        "called from a callback of the GPU's driver");
    DTP_TRY(dtp_gpu_ours(gpu));
    return DTP_CU(gpu, cuCtxPushCurrent, gpu->ctx);
}

bool dtp_gpu_enter_to_free(dtp_gpu_t *gpu) {
    if (dtp_thread_is_borrowed || dtp_gpu_ours(gpu)) return false;
    return gpu->cu->cuCtxPushCurrent(gpu->ctx) == DTP_CU_SUCCESS ||
           gpu->cu->cuCtxPushCurrent(gpu->ctx) == DTP_CU_SUCCESS;
}

void dtp_gpu_leave(dtp_gpu_t *gpu) {
    dtp_cu_ctx_t ctx;
    (void)gpu->cu->cuCtxPopCurrent(&ctx);
}

/* ---- Devices ----------------------------------------------------------------------------------------- */

static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;
static dtp_gpu_t *devices[DTP_GPU_MAX_DEVICES];

static size_t gpu_count(void) {
    const dtp_cu_t *cu = dtp_cu();
    int n = 0;
    if (!cu || cu->cuDeviceGetCount(&n) != DTP_CU_SUCCESS || n < 0) return 0;
    return (size_t)(n < DTP_GPU_MAX_DEVICES ? n : DTP_GPU_MAX_DEVICES);
}

static dnnl_tp_status_t ask(dtp_gpu_t *gpu) {
    int major, minor, l2, shared;
    dtp_gpu_device_t *info = &gpu->info;
    DTP_TRY(DTP_CU(gpu, cuDeviceGetUuid, &gpu->uuid, gpu->device));
    DTP_TRY(
        DTP_CU(gpu, cuDeviceGetAttribute, &info->multiprocessors, DTP_CU_ATTR_MULTIPROCESSORS, gpu->device));
    DTP_TRY(DTP_CU(gpu, cuDeviceGetAttribute, &major, DTP_CU_ATTR_MAJOR, gpu->device));
    DTP_TRY(DTP_CU(gpu, cuDeviceGetAttribute, &minor, DTP_CU_ATTR_MINOR, gpu->device));
    DTP_TRY(DTP_CU(gpu, cuDeviceGetAttribute, &l2, DTP_CU_ATTR_L2_BYTES, gpu->device));
    DTP_TRY(DTP_CU(gpu, cuDeviceGetAttribute, &shared, DTP_CU_ATTR_SHARED_OPTIN, gpu->device));
    DTP_TRY(DTP_CU(gpu, cuDeviceGetAttribute, &gpu->waits_for_values, DTP_CU_ATTR_STREAM_WAIT_VALUE,
                   gpu->device));
    info->capability = 10 * major + minor;
    info->l2_bytes = l2;
    info->shared_bytes = shared;
    return dnnl_tp_success;
}

/* What needs the context to be current. */
static dnnl_tp_status_t equip(dtp_gpu_t *gpu) {
    DTP_TRY(dtp_gpu_enter(gpu));
    dnnl_tp_status_t status = DTP_CU(gpu, cuStreamCreate, &gpu->own, DTP_CU_STREAM_NON_BLOCKING);
    const dtp_cu_pool_props_t props = {.alloc_type = DTP_CU_ALLOC_PINNED,
                                       .location = {DTP_CU_LOCATION_DEVICE, gpu->device}};
    if (!status) status = DTP_CU(gpu, cuMemPoolCreate, &gpu->pool, &props);
    uint64_t keep = UINT64_MAX; /* freed memory stays the pool's */
    if (!status) status = DTP_CU(gpu, cuMemPoolSetAttribute, gpu->pool, DTP_CU_POOL_RELEASE_THRESHOLD, &keep);
    int never = 0; /* an allocation never waits for work that another stream still has */
    if (!status)
        status =
            DTP_CU(gpu, cuMemPoolSetAttribute, gpu->pool, DTP_CU_POOL_REUSE_INTERNAL_DEPENDENCIES, &never);
    if (status) {
        if (gpu->pool) (void)gpu->cu->cuMemPoolDestroy(gpu->pool);
        if (gpu->own) (void)gpu->cu->cuStreamDestroy(gpu->own);
    }
    dtp_gpu_leave(gpu);
    return status;
}

void dtp_gpu_release(dtp_gpu_t *gpu) {
    if (atomic_fetch_sub(&gpu->refs, 1) != 1) return;
    pthread_mutex_destroy(&gpu->pinned_lock);
    pthread_mutex_destroy(&gpu->clock_lock);
    pthread_mutex_destroy(&gpu->lock);
    dtp_free(NULL, gpu);
}

static dnnl_tp_status_t open_device(dtp_gpu_t **device, size_t index) {
    dtp_gpu_t *gpu = dtp_zalloc(NULL, sizeof *gpu, DTP_CACHE_LINE);
    if (!gpu) return dtp_no_memory(sizeof *gpu);
    dtp_watch_forks();
    gpu->cu = dtp_cu();
    gpu->forks = atomic_load(&dtp_fork_generation);
    pthread_mutex_init(&gpu->lock, NULL);
    pthread_mutex_init(&gpu->clock_lock, NULL);
    pthread_mutex_init(&gpu->pinned_lock, NULL);
    atomic_init(&gpu->refs, 1);
    const dtp_cu_capture_mode_t mode = dtp_gpu_relax(gpu);
    dnnl_tp_status_t status = DTP_CU(gpu, cuDeviceGet, &gpu->device, (int)index);
    if (!status) status = ask(gpu);
    bool retained = false;
    if (!status) {
        status = DTP_CU(gpu, cuDevicePrimaryCtxRetain, &gpu->ctx, gpu->device);
        retained = !status;
    }
    if (!status) status = equip(gpu);
    if (status && retained) (void)gpu->cu->cuDevicePrimaryCtxRelease(gpu->device);
    dtp_gpu_restore(gpu, mode);
    if (status) dtp_gpu_release(gpu);
    else *device = gpu;
    return status;
}

/* Gives back what is the driver's: modules, pool and context, unless the device is poisoned, or the parent's. */
static void close_device(dtp_gpu_t *gpu) {
    if (dtp_gpu_enter_to_free(gpu)) {
        const dtp_cu_capture_mode_t mode = dtp_gpu_relax(gpu);
        dtp_gpu_lt_close(gpu);
        for (int i = 0; i < DTP_GPU_MODULES; ++i)
            if (gpu->library[i]) (void)gpu->cu->cuLibraryUnload(gpu->library[i]);
        (void)gpu->cu->cuStreamSynchronize(gpu->own);
        dtp_gpu_pinned_destroy(gpu);
        (void)gpu->cu->cuMemPoolDestroy(gpu->pool);
        (void)gpu->cu->cuStreamDestroy(gpu->own);
        dtp_gpu_leave(gpu);
        (void)gpu->cu->cuDevicePrimaryCtxRelease(gpu->device);
        dtp_gpu_restore(gpu, mode);
    }
    dtp_gpu_release(gpu);
}

/* Devices whose last engine went in a callback of the driver, which takes no calls: under the lock of devices. */
static dtp_gpu_t *closing;
static void close_later_ones(void) {
    pthread_mutex_lock(&devices_lock);
    dtp_gpu_t *gpu = closing;
    closing = NULL;
    pthread_mutex_unlock(&devices_lock);
    for (dtp_gpu_t *next; gpu; gpu = next) {
        next = gpu->next_closing;
        close_device(gpu);
    }
}

/* The device of an index, opened for its first engine; each engine holds a reference. */
static dnnl_tp_status_t acquire_device(dtp_gpu_t **gpu, size_t index) {
    dnnl_tp_status_t status = dnnl_tp_success;
    close_later_ones();
    pthread_mutex_lock(&devices_lock);
    if (!devices[index]) status = open_device(&devices[index], index);
    *gpu = devices[index];
    if (*gpu) ++(*gpu)->engines;
    pthread_mutex_unlock(&devices_lock);
    return status;
}

/* The last engine closes it. */
static void release_device(dtp_gpu_t *gpu, size_t index) {
    pthread_mutex_lock(&devices_lock);
    const bool last = --gpu->engines == 0, later = last && dtp_thread_is_borrowed;
    if (last) devices[index] = NULL;
    if (later) {
        gpu->next_closing = closing;
        closing = gpu;
    }
    pthread_mutex_unlock(&devices_lock);
    if (later) return;
    if (last) close_device(gpu);
    close_later_ones();
}

/* ---- Engines ----------------------------------------------------------------------------------------- */

static void gpu_engine_destroy(dtp_object_t *obj) {
    dtp_gpu_engine_t *e = (dtp_gpu_engine_t *)(void *)obj;
    dtp_object_release(e->base.stream_attr);
    dtp_gpu_blocks_destroy(e);
    if (e->gpu) release_device(e->gpu, e->base.index);
}

static dnnl_tp_status_t gpu_engine_create(dnnl_tp_engine_t *engine, size_t index,
                                          const struct dnnl_tp_engine_attr *attr) {
    dnnl_tp_cuda_engine_opts_t opts;
    DTP_TRY(dtp_own_get(attr ? attr->own : NULL, &opts, sizeof opts));
    DTP_REQUIRE(!opts.alloc == !opts.free, NULL_ARG, "alloc and free of a GPU engine are set both or none");
    const dnnl_tp_allocator_t *allocator =
        attr && attr->has_allocator ? &attr->engine_allocator : dtp_process_allocator();
    const dnnl_tp_allocator_t own = *allocator;
    dtp_gpu_engine_t *e = dtp_object_create(NULL, sizeof *e, DTP_OBJ_ENGINE, gpu_engine_destroy);
    if (!e) return dnnl_tp_out_of_memory;
    pthread_mutex_init(&e->lock, NULL);
    e->memory_limit = opts.memory_limit;
    e->allocator = (dtp_gpu_allocator_t){opts.allocator_ctx, opts.alloc, opts.free};
    e->base.v = dtp_engine_vtbl(dnnl_tp_gpu);
    e->base.index = index;
    e->base.device = dtp_engine_device(dnnl_tp_gpu, index);
    e->base.num_threads = 1;
    e->base.own_allocator = own;
    e->base.allocator = &e->base.own_allocator;
    if (attr) e->base.stream_attr = dtp_object_retain(attr->stream_attr);
    const dnnl_tp_status_t status = acquire_device(&e->gpu, index);
    if (status) {
        dtp_object_release(e);
        return status;
    }
    e->base.l2_bytes = e->base.l3_bytes = e->gpu->info.l2_bytes;
    *engine = &e->base;
    return dnnl_tp_success;
}

static int gpu_num_threads(const struct dnnl_tp_engine *engine, uint64_t *pool_flags) {
    (void)engine, (void)pool_flags;
    return 1;
}

#define DTP_GPU_KIND(name) extern const dtp_impl_t *const dtp_gpu_##name##_list[];
#include "gpu/engine/lists.inc"

static const dtp_impl_t *const *gpu_impl_list(dnnl_tp_primitive_kind_t kind) {
#define DTP_GPU_KIND(name) \
    if ((int)kind == (int)(DTP_NUMBER_##name)) return dtp_gpu_##name##_list;
#include "gpu/engine/lists.inc"
    return NULL;
}

const dtp_engine_vtbl_t dtp_gpu_engine_vtbl = {
    .kind = dnnl_tp_gpu,
    .name = "cuda",
    .count = gpu_count,
    .absence = dnnl_tp_cuda_reason,
    .create = gpu_engine_create,
    .impl_list = gpu_impl_list,
    .num_threads = gpu_num_threads,
    .stream_create = dtp_gpu_stream_create,
    .sync = dtp_gpu_sync,
    .end_given = dtp_gpu_end_given,
    .alloc = dtp_gpu_alloc,
    .free = dtp_gpu_free,
    .alloc_word = dtp_gpu_alloc_word,
    .free_word = dtp_gpu_free_word,
    .map = dtp_gpu_map,
    .unmap = dtp_gpu_unmap,
    .write = dtp_gpu_write,
    .zero_pad = dtp_gpu_zero_pad,
    .copy = dtp_gpu_stream_copy,
};
