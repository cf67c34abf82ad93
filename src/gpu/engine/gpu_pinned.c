/* Pinned memory of a device: blocks, which lines take and give back, and slots, of which 64 are in a block: what streams copy to the
 * host without waiting for it, a word of a mark or of a run. Memory goes back to the driver with the device alone, since the driver may
 * wait for all work of the context before it lets go of pinned memory: who destroys an idle stream must not wait for others. */
#include "gpu/engine/gpu_engine.h"

enum { SLOTS = 64, LEAST_BYTES = 1 << 10 };

/* ---- Blocks ------------------------------------------------------------------------------------------ */

static dnnl_tp_status_t make_block(dtp_gpu_t *gpu, size_t bytes, dtp_gpu_pinned_t **block) {
    dtp_gpu_pinned_t *b = dtp_zalloc(NULL, sizeof *b, 0);
    if (!b) return dtp_no_memory(sizeof *b);
    b->bytes = bytes;
    b->taken = true;
    const dtp_cu_capture_mode_t mode = dtp_gpu_relax(gpu);
    dnnl_tp_status_t status =
        DTP_CU(gpu, cuMemHostAlloc, &b->host, bytes, DTP_CU_HOST_PORTABLE | DTP_CU_HOST_MAPPED);
    if (!status) {
        status = DTP_CU(gpu, cuMemHostGetDevicePointer, &b->there, b->host, 0);
        if (status) (void)gpu->cu->cuMemFreeHost(b->host);
    }
    dtp_gpu_restore(gpu, mode);
    if (status) {
        dtp_free(NULL, b);
        return status;
    }
    pthread_mutex_lock(&gpu->pinned_lock);
    b->next = gpu->pinned;
    gpu->pinned = b;
    pthread_mutex_unlock(&gpu->pinned_lock);
    *block = b;
    return status;
}

dnnl_tp_status_t dtp_gpu_pinned_take(dtp_gpu_t *gpu, size_t bytes, dtp_gpu_pinned_t **block) {
    size_t size = LEAST_BYTES;
    while (size < bytes) size *= 2;
    pthread_mutex_lock(&gpu->pinned_lock);
    dtp_gpu_pinned_t *b = gpu->pinned;
    while (b && (b->taken || b->bytes != size)) b = b->next;
    if (b) b->taken = true;
    pthread_mutex_unlock(&gpu->pinned_lock);
    *block = b;
    return b ? dnnl_tp_success : make_block(gpu, size, block);
}

void dtp_gpu_pinned_give(dtp_gpu_t *gpu, dtp_gpu_pinned_t *block) {
    if (!block) return;
    pthread_mutex_lock(&gpu->pinned_lock);
    block->taken = false;
    pthread_mutex_unlock(&gpu->pinned_lock);
}

void dtp_gpu_pinned_destroy(dtp_gpu_t *gpu) {
    for (dtp_gpu_pinned_t *b; (b = gpu->pinned) != NULL;) {
        gpu->pinned = b->next;
        (void)gpu->cu->cuMemFreeHost(b->host);
        dtp_free(NULL, b);
    }
}

/* ---- Slots ------------------------------------------------------------------------------------------- */

static dnnl_tp_status_t make_slots(dtp_gpu_t *gpu) {
    dtp_gpu_pinned_t *b;
    DTP_TRY(dtp_gpu_pinned_take(gpu, (size_t)SLOTS * DTP_ENGINE_WORD, &b));
    pthread_mutex_lock(&gpu->pinned_lock);
    for (int i = 0; i < SLOTS; ++i) {
        void **slot = (void **)(void *)((char *)b->host + i * DTP_ENGINE_WORD);
        *slot = gpu->free_slots;
        gpu->free_slots = slot;
    }
    pthread_mutex_unlock(&gpu->pinned_lock);
    return dnnl_tp_success;
}

/* Free ones are a list, each holds the next. */
static void **take_free(dtp_gpu_t *gpu) {
    pthread_mutex_lock(&gpu->pinned_lock);
    void **slot = gpu->free_slots;
    if (slot) gpu->free_slots = *slot;
    pthread_mutex_unlock(&gpu->pinned_lock);
    return slot;
}

dnnl_tp_status_t dtp_gpu_slot_take(dtp_gpu_t *gpu, void **slot) {
    dnnl_tp_status_t status = dnnl_tp_success;
    *slot = take_free(gpu);
    while (!*slot && !status) {
        status = make_slots(gpu);
        if (!status) *slot = take_free(gpu);
    }
    if (*slot) memset(*slot, 0, DTP_ENGINE_WORD);
    return status;
}

void dtp_gpu_slot_give(dtp_gpu_t *gpu, void *slot) {
    if (!slot) return;
    pthread_mutex_lock(&gpu->pinned_lock);
    *(void **)slot = gpu->free_slots;
    gpu->free_slots = slot;
    pthread_mutex_unlock(&gpu->pinned_lock);
}

void *dtp_gpu_alloc_word(dnnl_tp_engine_t engine) {
    dtp_gpu_t *gpu = dtp_gpu_of(engine)->gpu;
    void *word = NULL;
    if (dtp_gpu_enter(gpu)) return NULL;
    (void)dtp_gpu_slot_take(gpu, &word);
    dtp_gpu_leave(gpu);
    return word;
}
void dtp_gpu_free_word(dnnl_tp_engine_t engine, void *word) {
    dtp_gpu_slot_give(dtp_gpu_of(engine)->gpu, word);
}
