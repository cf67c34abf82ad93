/* Frames of calls: one lock-free freelist with a tagged head per function. Frames are never freed before the
 * executable, so a stale pointer read during a take does no harm. */
#include "exec/run/zones.h"

dnnl_tp_status_t dtp_frames_init(dtp_exec_t *e) {
    bool any = false;
    for (int i = 0; i < e->nscopes; ++i) any |= e->scopes[i].is_function;
    if (!any) return dnnl_tp_success;
    size_t bytes = sizeof *e->frames * (size_t)e->nscopes;
    e->frames = dtp_zalloc(e->obj.allocator, bytes, DTP_NO_SHARE);
    return e->frames ? dnnl_tp_success : dtp_no_memory(bytes);
}

static dtp_frame_t *make(dtp_exec_t *e, int scope) {
    dtp_frames_t *f = &e->frames[scope];
    size_t head = dtp_round_up_size(sizeof(dtp_frame_t), DTP_NO_SHARE);
    const dtp_scope_t *sp = &e->scopes[scope];
    bool flow = e->dataflow && sp->by_counters;
    size_t counters =
        flow ? dtp_round_up_size(dtp_dataflow_frame_bytes(e->dataflow, sp->block), DTP_NO_SHARE) : 0;
    size_t bytes = head + counters + sp->bytes;
    dtp_frame_t *frame = dtp_alloc(e->obj.allocator, bytes, DTP_NO_SHARE);
    if (!frame) return NULL;
    memset(frame, 0, head);
    frame->data = (char *)frame + head + counters;
    DTP_ZONES(begin(e, scope, frame->data));
    if (flow)
        frame->instance = dtp_dataflow_frame_init(e->dataflow, sp->block, (char *)frame + head, frame->data);
    if (dtp_table_add(&f->all, e->obj.allocator, frame, &frame->index)) return frame;
    dtp_free(e->obj.allocator, frame);
    return NULL;
}

dtp_frame_t *dtp_frame_take(dtp_exec_t *e, int scope) {
    dtp_frames_t *f = &e->frames[scope];
    uint64_t head = atomic_load_explicit(&f->free, memory_order_acquire);
    while ((uint32_t)head) {
        dtp_frame_t *frame = dtp_table_get(&f->all, (uint32_t)head - 1);
        uint64_t next = ((head >> 32) + 1) << 32 | __atomic_load_n(&frame->next, __ATOMIC_RELAXED);
        if (atomic_compare_exchange_weak_explicit(&f->free, &head, next, memory_order_acquire,
                                                  memory_order_acquire))
            return frame;
    }
    return make(e, scope);
}

void dtp_frame_give(dtp_exec_t *e, int scope, dtp_frame_t *frame) {
    dtp_frames_t *f = &e->frames[scope];
    DTP_ZONES(end(e, scope, frame->data));
    DTP_ZONES(begin(e, scope, frame->data));
    uint64_t head = atomic_load_explicit(&f->free, memory_order_relaxed), next;
    do {
        __atomic_store_n(&frame->next, (uint32_t)head, __ATOMIC_RELAXED);
        next = ((head >> 32) + 1) << 32 | (frame->index + 1);
    } while (!atomic_compare_exchange_weak_explicit(&f->free, &head, next, memory_order_release,
                                                    memory_order_relaxed));
}

dnnl_tp_status_t dtp_frames_reserve(dtp_exec_t *e, int runs) {
    enum { FRAMES_PER_RUN = 8 };
    for (int s = 0; e->frames && s < e->nscopes; ++s) {
        if (!e->scopes[s].is_function) continue;
        while (atomic_load_explicit(&e->frames[s].all.count, memory_order_relaxed) <
               (uint32_t)(FRAMES_PER_RUN * runs)) {
            dtp_frame_t *frame = make(e, s);
            if (!frame) return dtp_no_memory(e->scopes[s].bytes);
            dtp_frame_give(e, s, frame);
        }
    }
    return dnnl_tp_success;
}

static void free_frame(void *exec, void *frame) { dtp_free(((dtp_exec_t *)exec)->obj.allocator, frame); }

void dtp_frames_free_all(dtp_exec_t *e) {
    for (int s = 0; e->frames && s < e->nscopes; ++s)
        dtp_table_drop(&e->frames[s].all, e->obj.allocator, free_frame, e);
    dtp_free(e->obj.allocator, e->frames);
}
