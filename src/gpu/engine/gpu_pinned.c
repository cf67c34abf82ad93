/* Slots of pinned memory: what streams copy to the host without waiting for it, a word of a mark or of a run. Slots are a device's; free
 * ones are a list, each holds the next. */
#include "gpu/engine/gpu_engine.h"

enum { SLOTS = 64 };

struct dtp_gpu_pinned {
    struct dtp_gpu_pinned *next;
    char *slots;
};

static dnnl_tp_status_t make_slots(dtp_gpu_t *gpu) {
    struct dtp_gpu_pinned *p = dtp_alloc(NULL, sizeof *p, 0);
    if (!p) return dtp_no_memory(sizeof *p);
    void *slots;
    const dnnl_tp_status_t status =
        DTP_CU(gpu, cuMemHostAlloc, &slots, (size_t)SLOTS * DTP_ENGINE_WORD, DTP_CU_HOST_PORTABLE);
    if (status) {
        dtp_free(NULL, p);
        return status;
    }
    p->slots = slots;
    pthread_mutex_lock(&gpu->slots_lock);
    p->next = gpu->pinned;
    gpu->pinned = p;
    for (int i = 0; i < SLOTS; ++i) {
        void **slot = (void **)(void *)(p->slots + i * DTP_ENGINE_WORD);
        *slot = gpu->free_slots;
        gpu->free_slots = slot;
    }
    pthread_mutex_unlock(&gpu->slots_lock);
    return status;
}

static void **take_free(dtp_gpu_t *gpu) {
    pthread_mutex_lock(&gpu->slots_lock);
    void **slot = gpu->free_slots;
    if (slot) gpu->free_slots = *slot;
    pthread_mutex_unlock(&gpu->slots_lock);
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
    pthread_mutex_lock(&gpu->slots_lock);
    *(void **)slot = gpu->free_slots;
    gpu->free_slots = slot;
    pthread_mutex_unlock(&gpu->slots_lock);
}

void dtp_gpu_slots_destroy(dtp_gpu_t *gpu) {
    for (struct dtp_gpu_pinned *p; (p = gpu->pinned) != NULL;) {
        gpu->pinned = p->next;
        (void)gpu->cu->cuMemFreeHost(p->slots);
        dtp_free(NULL, p);
    }
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
