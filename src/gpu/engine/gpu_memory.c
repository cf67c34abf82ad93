/* Memory of a device: an engine's blocks come from the device's pool, on the library's own stream, which is waited for, so that any
 * stream may use a block at once. A table tells how large each block is: limits and peaks are an engine's. */
#include "gpu/engine/gpu_engine.h"

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
    const dnnl_tp_status_t status =
        DTP_CU(e->gpu, cuMemAllocFromPoolAsync, &b->at, bytes ? bytes : 1, e->gpu->pool, stream);
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
    (void)e->gpu->cu->cuMemFreeAsync(dtp_cu_ptr(handle), stream);
}

/* What callbacks of the driver have freed: they cannot call it. The context is current. */
static void free_later_ones(dtp_gpu_engine_t *e) {
    pthread_mutex_lock(&e->lock);
    dtp_gpu_block_t *b = e->freed;
    e->freed = NULL;
    pthread_mutex_unlock(&e->lock);
    for (dtp_gpu_block_t *next; b; b = next) {
        next = b->next;
        (void)e->gpu->cu->cuMemFreeAsync(b->at, e->gpu->own);
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
    if (p && !status) status = DTP_CU(gpu, cuStreamSynchronize, gpu->own);
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
    if (dtp_gpu_in_callback) {
        free_later(dtp_gpu_of(engine), handle);
        return;
    }
    if (!dtp_gpu_enter_to_free(gpu)) return;
    free_later_ones(dtp_gpu_of(engine));
    dtp_gpu_free_on(engine, handle, gpu->own);
    dtp_gpu_leave(gpu);
}

void dtp_gpu_blocks_destroy(dtp_gpu_engine_t *e) {
    if (e->gpu && dtp_gpu_enter_to_free(e->gpu)) {
        free_later_ones(e);
        dtp_gpu_leave(e->gpu);
    }
    for (int i = 0; i < 1 << DTP_GPU_BLOCK_BITS; ++i)
        while (e->blocks[i]) {
            dtp_gpu_block_t *b = e->blocks[i];
            e->blocks[i] = b->next;
            dtp_free(e->base.allocator, b);
        }
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
    for (int i = 0; i < TRIES && status && !atomic_load(&gpu->poisoned); ++i)
        status = DTP_CU(gpu, cuStreamSynchronize, stream);
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
