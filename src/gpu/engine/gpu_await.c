/* Events that lines wait for: those of lines through the driver, others through a word of pinned memory; see gpu_line.h. */
#include <stdio.h>

#include "gpu/engine/gpu_line_parts.h"

enum { FLAGS = 256 };

/* Writes the word when the event is done, with whatever status. */
typedef struct {
    dtp_callback_t node;
    dtp_gpu_line_t *line; /* a reference */
    int flag;
} ringer_t;

static void ring(dtp_callback_t *node, dtp_event_t *event, dnnl_tp_status_t status) {
    ringer_t *r = (ringer_t *)node;
    (void)event, (void)status;
    pthread_mutex_lock(&r->line->lock);
    if (r->line->flags) /* else the line of a lost device was closed */
        atomic_store_explicit(&r->line->flags[r->flag], 1u, memory_order_release);
    pthread_mutex_unlock(&r->line->lock);
    dtp_gpu_line_release(r->line);
    dtp_free(NULL, r);
}

/* ---- Words ------------------------------------------------------------------------------------------- */

static dnnl_tp_status_t make_flags(dtp_gpu_line_t *line) {
    dtp_gpu_t *gpu = line->gpu;
    void *words;
    DTP_TRY(DTP_CU(gpu, cuMemHostAlloc, &words, FLAGS * sizeof *line->flags,
                   DTP_CU_HOST_PORTABLE | DTP_CU_HOST_MAPPED));
    const dnnl_tp_status_t status = DTP_CU(gpu, cuMemHostGetDevicePointer, &line->flags_there, words, 0);
    if (status) {
        (void)gpu->cu->cuMemFreeHost(words);
        return status;
    }
    line->flags = words;
    for (int i = 0; i < FLAGS; ++i) line->free_flag[i] = (uint16_t)i;
    line->free_flags = FLAGS;
    return status;
}

/* -1: all are in use. */
static int take_flag(dtp_gpu_line_t *line) {
    pthread_mutex_lock(&line->lock);
    const int flag = line->free_flags ? line->free_flag[--line->free_flags] : -1;
    pthread_mutex_unlock(&line->lock);
    if (flag >= 0) atomic_store_explicit(&line->flags[flag], 0u, memory_order_relaxed);
    return flag;
}

/* ---- Waiting ----------------------------------------------------------------------------------------- */

static void append(dtp_gpu_line_t *line, awaited_t *a) {
    pthread_mutex_lock(&line->lock);
    a->seq = line->submitted;
    a->generation = line->generation;
    *line->awaited_end = a;
    line->awaited_end = &a->next;
    atomic_fetch_add(&line->num_awaited, 1);
    pthread_mutex_unlock(&line->lock);
    dtp_gpu_line_dirty(line);
}

/* Of a line on the same device: the driver orders both. *done: it has settled meanwhile. */
static dnnl_tp_status_t follow(dtp_gpu_line_t *line, const dtp_event_t *event, bool *done) {
    dtp_gpu_line_t *from = event->source;
    pthread_mutex_lock(&from->lock);
    mark_t *m = from->head;
    while (m && m->seq < event->seq) m = m->next;
    *done = !m;
    if (m) ++m->refs;
    pthread_mutex_unlock(&from->lock);
    if (!m) return dnnl_tp_success;
    const dnnl_tp_status_t status = DTP_CU(line->gpu, cuStreamWaitEvent, line->stream, m->cu, 0);
    dtp_gpu_mark_drop(m);
    return status;
}

static dnnl_tp_status_t await_word(dtp_gpu_line_t *line, dtp_event_t *event, awaited_t *a) {
    ringer_t *r = dtp_alloc(NULL, sizeof *r, 0);
    if (!r) return dtp_no_memory(sizeof *r);
    *r = (ringer_t){.node.fn = ring, .line = line, .flag = a->flag};
    const dtp_cu_ptr_t at = line->flags_there + (dtp_cu_ptr_t)a->flag * sizeof *line->flags;
    const dnnl_tp_status_t status =
        DTP_CU(line->gpu, cuStreamWaitValue32, line->stream, at, 1, DTP_CU_WAIT_GEQ);
    if (status) {
        dtp_free(NULL, r);
        return status;
    }
    atomic_fetch_add(&line->refs, 1);
    append(line, a);
    dtp_event_add(event, &r->node); /* perhaps now */
    return status;
}

static void free_awaited(dtp_gpu_line_t *line, awaited_t *a) {
    if (a->flag >= 0) {
        pthread_mutex_lock(&line->lock);
        line->free_flag[line->free_flags++] = (uint16_t)a->flag;
        pthread_mutex_unlock(&line->lock);
    }
    dtp_object_release(a->event);
    dtp_free(NULL, a);
}

/* The context is current. */
static dnnl_tp_status_t await_there(dtp_gpu_line_t *line, dtp_event_t *event, bool *later) {
    awaited_t *a = dtp_alloc(NULL, sizeof *a, 0);
    if (!a) return dtp_no_memory(sizeof *a);
    *a = (awaited_t){.event = dtp_object_retain(event), .flag = -1};
    dnnl_tp_status_t status = dnnl_tp_success;
    if (event->v == &dtp_gpu_event && ((dtp_gpu_line_t *)event->source)->gpu == line->gpu) {
        bool done;
        status = follow(line, event, &done);
        if (!status) append(line, a);
        else free_awaited(line, a);
        return status;
    }
    if (line->gpu->waits_for_values && !line->flags) status = make_flags(line);
    if (!status && line->flags) a->flag = take_flag(line);
    *later = !status && a->flag < 0;
    if (!status && !*later) status = await_word(line, event, a);
    if (status || *later) free_awaited(line, a);
    return status;
}

dnnl_tp_status_t dtp_gpu_line_await(dtp_gpu_line_t *line, dtp_event_t *event) {
    bool later = false;
    if (dtp_event_is_done(event) && dtp_event_status(event) == dnnl_tp_success) return dnnl_tp_success;
    if (!dtp_event_is_done(event)) {
        DTP_TRY(dtp_gpu_enter(line->gpu));
        const dnnl_tp_status_t status = await_there(line, event, &later);
        dtp_gpu_leave(line->gpu);
        if (status || !later) return status;
        DTP_TRY(dtp_event_wait(event, -1)); /* the device cannot wait for it: the caller does */
    }
    if (dtp_event_status(event) == dnnl_tp_success) return dnnl_tp_success;
    pthread_mutex_lock(&line->lock);
    dtp_gpu_line_fail_locked(line, line->generation, line->submitted, dtp_event_status(event), event->text);
    pthread_mutex_unlock(&line->lock);
    dtp_gpu_line_dirty(line);
    return dnnl_tp_success;
}

/* ---- What became of them ----------------------------------------------------------------------------- */

void dtp_gpu_line_look_at_awaited(dtp_gpu_line_t *line, uint64_t seq, uint32_t generation) {
    for (;;) {
        pthread_mutex_lock(&line->lock);
        awaited_t *a = line->awaited;
        if (a && a->seq < seq) {
            line->awaited = a->next;
            if (!line->awaited) line->awaited_end = &line->awaited;
            atomic_fetch_sub(&line->num_awaited, 1);
        } else {
            a = NULL;
        }
        pthread_mutex_unlock(&line->lock);
        if (!a) return;
        if (!dtp_event_is_done(a->event) && !dtp_gpu_in_callback) (void)a->event->v->poll(a->event);
        const dnnl_tp_status_t status =
            dtp_event_is_done(a->event) ? dtp_event_status(a->event) : dnnl_tp_success;
        if (status && a->generation == generation) {
            pthread_mutex_lock(&line->lock);
            dtp_gpu_line_fail_locked(line, generation, a->seq, status, a->event->text);
            pthread_mutex_unlock(&line->lock);
        }
        free_awaited(line, a);
    }
}

dtp_event_t *dtp_gpu_line_parked(dtp_gpu_line_t *line, uint64_t seq) {
    dtp_event_t *event = NULL;
    pthread_mutex_lock(&line->lock);
    for (awaited_t *a = line->awaited; a && a->seq < seq && !event; a = a->next)
        if (!dtp_event_is_done(a->event)) event = dtp_object_retain(a->event);
    pthread_mutex_unlock(&line->lock);
    return event;
}

void dtp_gpu_line_drop_awaited(dtp_gpu_line_t *line) {
    dtp_gpu_line_look_at_awaited(line, UINT64_MAX, UINT32_MAX);
    pthread_mutex_lock(&line->lock);
    void *flags = (void *)line->flags;
    line->flags = NULL;
    pthread_mutex_unlock(&line->lock);
    if (flags) (void)line->gpu->cu->cuMemFreeHost(flags);
}
