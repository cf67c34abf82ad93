/* Memory of a device: an engine's blocks come from the device's pool, or from the program's allocator. Those of no stream come on the
 * library's own, which is waited for, so that any stream may use them at once. A table tells how large each block is: limits and peaks are
 * an engine's, and what is left at its end is given back to the program's allocator. */
#include "gpu/engine/gpu_engine.h"

#include "threading/pools/record.h"

enum { DTP_GPU_ALIGNMENT = 256 };

struct dtp_gpu_block {
    struct dtp_gpu_block *next;
    dtp_cu_ptr_t at;
    size_t bytes;
};

static dtp_gpu_block_t **row_of(dtp_gpu_engine_t *e, dtp_cu_ptr_t at) {
    return &e->blocks[(at >> 8) * 0x9e3779b97f4a7c15u >> (64 - DTP_GPU_BLOCK_BITS)];
}

/* Counts bytes before they are allocated; false: they are too many. */
static bool count(dtp_gpu_engine_t *e, size_t bytes) {
    pthread_mutex_lock(&e->lock);
    const bool fits = !e->memory_limit || bytes <= e->memory_limit - e->used;
    if (fits) e->used += bytes;
    if (e->used > e->peak) e->peak = e->used;
    pthread_mutex_unlock(&e->lock);
    return fits;
}
static void count_back(dtp_gpu_engine_t *e, size_t bytes) {
    pthread_mutex_lock(&e->lock);
    e->used -= bytes;
    pthread_mutex_unlock(&e->lock);
}

/* ---- Where blocks come from -------------------------------------------------------------------------- */

static dnnl_tp_status_t refused(const char *why, const void *p) {
    return dtp_fail(dnnl_tp_out_of_memory, DTP_NO_MEMORY, "the engine's allocator gave %p, which %s", p, why);
}

static dnnl_tp_status_t check_given(dtp_gpu_t *gpu, const void *p) {
    int device = -1;
    if ((uintptr_t)p % DTP_GPU_ALIGNMENT) return refused("is no multiple of 256", p);
    const dtp_cu_result_t result =
        gpu->cu->cuPointerGetAttribute(&device, DTP_CU_POINTER_DEVICE, dtp_cu_ptr(p));
    if (result != DTP_CU_INVALID_VALUE) DTP_TRY(dtp_gpu_check(gpu, result, "cuPointerGetAttribute"));
    return device == gpu->device ? dnnl_tp_success : refused("is not of the engine's device", p);
}

static dnnl_tp_status_t take(dtp_gpu_engine_t *e, size_t bytes, dtp_cu_stream_t stream, dtp_cu_ptr_t *at) {
    const dtp_gpu_allocator_t *a = &e->allocator;
    if (!a->alloc) return DTP_CU(e->gpu, cuMemAllocFromPoolAsync, at, bytes, e->gpu->pool, stream);
    void *p = a->alloc(a->ctx, bytes, DTP_GPU_ALIGNMENT, stream);
    if (!p)
        return dtp_fail(dnnl_tp_out_of_memory, DTP_NO_MEMORY, "the engine's allocator has no %zu bytes",
                        bytes);
    const dnnl_tp_status_t status = check_given(e->gpu, p);
    if (status) a->free(a->ctx, p, stream);
    *at = dtp_cu_ptr(p);
    return status;
}

static void give(dtp_gpu_engine_t *e, dtp_cu_ptr_t at, dtp_cu_stream_t stream) {
    const dtp_gpu_allocator_t *a = &e->allocator;
    if (a->free) a->free(a->ctx, (void *)(uintptr_t)at, stream);
    else (void)e->gpu->cu->cuMemFreeAsync(at, stream);
}

/* ---- Blocks ------------------------------------------------------------------------------------------ */

dnnl_tp_status_t dtp_gpu_alloc_on(dnnl_tp_engine_t engine, size_t bytes, dtp_cu_stream_t stream, void **at) {
    dtp_gpu_engine_t *e = dtp_gpu_of(engine);
    *at = NULL;
    dtp_gpu_block_t *b = dtp_alloc(engine->allocator, sizeof *b, 0);
    if (!b) return dtp_no_memory(sizeof *b);
    if (!count(e, bytes)) {
        dtp_free(engine->allocator, b);
        return dtp_fail(dnnl_tp_out_of_memory, DTP_NO_MEMORY, "%zu bytes exceed the engine's limit of %llu",
                        bytes, (unsigned long long)e->memory_limit);
    }
    b->bytes = bytes;
    const dnnl_tp_status_t status = take(e, bytes ? bytes : 1, stream, &b->at);
    if (status) {
        count_back(e, bytes);
        dtp_free(engine->allocator, b);
        return status;
    }
    pthread_mutex_lock(&e->lock);
    dtp_gpu_block_t **row = row_of(e, b->at);
    b->next = *row;
    *row = b;
    pthread_mutex_unlock(&e->lock);
    *at = (void *)(uintptr_t)b->at;
    return status;
}

static dtp_gpu_block_t *take_locked(dtp_gpu_engine_t *e, void *handle) {
    dtp_gpu_block_t **at = row_of(e, dtp_cu_ptr(handle));
    while (*at && (*at)->at != dtp_cu_ptr(handle)) at = &(*at)->next;
    dtp_gpu_block_t *b = *at;
    if (b) *at = b->next;
    if (b) e->used -= b->bytes;
    return b;
}

void dtp_gpu_free_on(dnnl_tp_engine_t engine, void *handle, dtp_cu_stream_t stream) {
    if (!handle) return;
    dtp_gpu_engine_t *e = dtp_gpu_of(engine);
    pthread_mutex_lock(&e->lock);
    dtp_gpu_block_t *b = take_locked(e, handle);
    pthread_mutex_unlock(&e->lock);
    dtp_free(engine->allocator, b);
    give(e, dtp_cu_ptr(handle), stream);
}

/* What callbacks of the driver have freed: they cannot call it. The context is current. */
static void free_later_ones(dtp_gpu_engine_t *e) {
    pthread_mutex_lock(&e->lock);
    dtp_gpu_block_t *b = e->freed;
    e->freed = NULL;
    pthread_mutex_unlock(&e->lock);
    for (dtp_gpu_block_t *next; b; b = next) {
        next = b->next;
        give(e, b->at, e->gpu->own);
        dtp_free(e->base.allocator, b);
    }
}

static void free_later(dtp_gpu_engine_t *e, void *handle) {
    pthread_mutex_lock(&e->lock);
    dtp_gpu_block_t *b = take_locked(e, handle);
    if (b) {
        b->next = e->freed;
        e->freed = b;
    }
    pthread_mutex_unlock(&e->lock);
}

void *dtp_gpu_alloc(dnnl_tp_engine_t engine, size_t bytes, bool zeroed) {
    dtp_gpu_t *gpu = dtp_gpu_of(engine)->gpu;
    if (dtp_gpu_enter(gpu)) return NULL;
    free_later_ones(dtp_gpu_of(engine));
    void *p;
    dnnl_tp_status_t status = dtp_gpu_alloc_on(engine, bytes, gpu->own, &p);
    if (p && zeroed && bytes) status = DTP_CU(gpu, cuMemsetD8Async, dtp_cu_ptr(p), 0, bytes, gpu->own);
    if (p && !status) status = dtp_gpu_synchronize(gpu, gpu->own);
    if (p && status) {
        dtp_gpu_free_on(engine, p, gpu->own);
        p = NULL;
    }
    dtp_gpu_leave(gpu);
    return p;
}

void dtp_gpu_free(dnnl_tp_engine_t engine, void *handle) {
    dtp_gpu_t *gpu = dtp_gpu_of(engine)->gpu;
    if (!handle) return;
    if (dtp_thread_is_borrowed) {
        free_later(dtp_gpu_of(engine), handle);
        return;
    }
    if (!dtp_gpu_enter_to_free(gpu)) return;
    free_later_ones(dtp_gpu_of(engine));
    dtp_gpu_free_on(engine, handle, gpu->own);
    dtp_gpu_leave(gpu);
}

static void end_blocks(dtp_gpu_engine_t *e, dtp_gpu_block_t **list, bool gives) {
    for (dtp_gpu_block_t *b; (b = *list) != NULL;) {
        *list = b->next;
        if (gives) give(e, b->at, e->gpu->own);
        dtp_free(e->base.allocator, b);
    }
}

/* What is left could not be freed: there was no context, or a callback of the driver was under way. */
void dtp_gpu_blocks_destroy(dtp_gpu_engine_t *e) {
    const bool enters = e->gpu && dtp_gpu_enter_to_free(e->gpu),
               gives = enters ||
                       (e->gpu && e->allocator.free && !dtp_thread_is_borrowed && !dtp_gpu_ours(e->gpu));
    for (int i = 0; i < 1 << DTP_GPU_BLOCK_BITS; ++i) end_blocks(e, &e->blocks[i], gives);
    end_blocks(e, &e->freed, gives);
    if (enters) dtp_gpu_leave(e->gpu);
    pthread_mutex_destroy(&e->lock);
}

static pthread_mutex_t abandoned_lock = PTHREAD_MUTEX_INITIALIZER;
static void *abandoned;
void dtp_gpu_abandon(void *memory) {
    pthread_mutex_lock(&abandoned_lock);
    *(void **)memory = abandoned;
    abandoned = memory;
    pthread_mutex_unlock(&abandoned_lock);
}

dnnl_tp_status_t dtp_gpu_write(dnnl_tp_engine_t engine, void *handle, const void *data, size_t bytes) {
    dtp_gpu_t *gpu = dtp_gpu_of(engine)->gpu;
    if (!bytes) return dnnl_tp_success;
    DTP_TRY(dtp_gpu_enter(gpu));
    dnnl_tp_status_t status = DTP_CU(gpu, cuMemcpyHtoDAsync, dtp_cu_ptr(handle), data, bytes, gpu->own);
    if (!status) status = dtp_gpu_synchronize(gpu, gpu->own);
    dtp_gpu_leave(gpu);
    return status;
}

/* ---- Mapping ----------------------------------------------------------------------------------------- */

/* A copy on the host. */
typedef struct {
    void *abandoned;
    void *handle;
    size_t bytes;
    _Alignas(DTP_CACHE_LINE) char data[];
} mapping_t;

dnnl_tp_status_t dtp_gpu_synchronize(dtp_gpu_t *gpu, dtp_cu_stream_t stream) {
    enum { TRIES = 3 };
    dnnl_tp_status_t status = dnnl_tp_runtime_error;
    const dtp_cu_capture_mode_t mode = dtp_gpu_relax(gpu);
    for (int i = 0; i < TRIES && status && !atomic_load(&gpu->poisoned); ++i)
        status = DTP_CU(gpu, cuStreamSynchronize, stream);
    dtp_gpu_restore(gpu, mode);
    return status;
}

dnnl_tp_status_t dtp_gpu_map(dnnl_tp_engine_t engine, void *handle, size_t bytes, void **mapped) {
    if (!handle) return dnnl_tp_success; /* as the handle: NULL */
    dtp_gpu_t *gpu = dtp_gpu_of(engine)->gpu;
    mapping_t *m = dtp_alloc(engine->allocator, sizeof *m + bytes, DTP_CACHE_LINE);
    if (!m) return dtp_no_memory(bytes);
    m->handle = handle;
    m->bytes = bytes;
    dnnl_tp_status_t status = dtp_gpu_enter(gpu);
    if (!status) {
        if (bytes) status = DTP_CU(gpu, cuMemcpyDtoHAsync, m->data, dtp_cu_ptr(handle), bytes, gpu->own);
        if (!status) status = dtp_gpu_synchronize(gpu, gpu->own);
        dtp_gpu_leave(gpu);
    }
    if (status && atomic_load(&gpu->poisoned)) dtp_gpu_abandon(m);
    else if (status) dtp_free(engine->allocator, m);
    else *mapped = m->data;
    return status;
}

dnnl_tp_status_t dtp_gpu_unmap(dnnl_tp_engine_t engine, void *handle, size_t bytes, void *mapped) {
    if (!handle && !mapped) return dnnl_tp_success;
    DTP_REQUIRE(mapped && mapped != handle, BAD_PARAM, "not the pointer that map_data gave");
    mapping_t *m = (mapping_t *)(void *)((char *)mapped - offsetof(mapping_t, data));
    DTP_REQUIRE(m->handle == handle && m->bytes == bytes, BAD_PARAM, "not the pointer that map_data gave");
    dtp_gpu_t *gpu = dtp_gpu_of(engine)->gpu;
    dnnl_tp_status_t status = dtp_gpu_enter(gpu);
    if (!status) {
        if (bytes) status = DTP_CU(gpu, cuMemcpyHtoDAsync, dtp_cu_ptr(handle), m->data, bytes, gpu->own);
        if (!status) status = dtp_gpu_synchronize(gpu, gpu->own);
        dtp_gpu_leave(gpu);
    }
    if (!status) dtp_free(engine->allocator, m);
    if (!status || !atomic_load(&gpu->poisoned)) return status; /* what failed may be tried again */
    m->handle = NULL;
    dtp_gpu_abandon(m);
    return status;
}
