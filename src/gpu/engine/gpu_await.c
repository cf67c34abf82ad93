/* Events that lines wait for: those of lines through the driver, others through a word of pinned memory; see gpu_line.h. */
#include <stdio.h>

#include "gpu/engine/gpu_line_parts.h"

enum { FLAGS = 256 };

/* When the event is done, with whatever status: writes the word for which the stream waits, or settles the line that follows another. */
typedef struct {
    dtp_callback_t node;
    dtp_gpu_line_t *line; /* a reference */
    int flag;             /* -1: none */
} ringer_t;

static void ring(dtp_callback_t *node, dtp_event_t *event, dnnl_tp_status_t status) {
    ringer_t *r = (ringer_t *)node;
    (void)event, (void)status;
    if (r->flag < 0) {
        dtp_gpu_line_settle(r->line);
    } else {
        pthread_mutex_lock(&r->line->lock);
        if (r->line->flags) /* else the line of a lost device was closed */
            atomic_store_explicit(&r->line->flags[r->flag], 1u, memory_order_release);
        pthread_mutex_unlock(&r->line->lock);
    }
    dtp_gpu_line_release(r->line);
    dtp_free(NULL, r);
}

/* ---- Words ------------------------------------------------------------------------------------------- */

static dnnl_tp_status_t make_flags(dtp_gpu_line_t *line) {
    DTP_TRY(dtp_gpu_pinned_take(line->gpu, FLAGS * sizeof *line->flags, &line->flag_block));
    line->flags = line->flag_block->host;
    for (int i = 0; i < FLAGS; ++i) line->free_flag[i] = (uint16_t)i;
    line->free_flags = FLAGS;
    return dnnl_tp_success;
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

/* With submit_lock, as what it is appended for was submitted. */
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

/* Of a line on the same device: the driver orders both. */
static dnnl_tp_status_t follow(dtp_gpu_line_t *line, const dtp_event_t *event) {
    dtp_gpu_line_t *from = event->source;
    pthread_mutex_lock(&from->lock);
    mark_t *m = dtp_gpu_mark_find_locked(from, event->seq);
    pthread_mutex_unlock(&from->lock);
    if (!m) return dnnl_tp_success; /* the device has passed it */
    const dnnl_tp_status_t status = DTP_CU(line->gpu, cuStreamWaitEvent, line->stream, m->cu, 0);
    dtp_gpu_mark_drop(m);
    return status;
}

static dnnl_tp_status_t await_word(dtp_gpu_line_t *line, const awaited_t *a) {
    const dtp_cu_ptr_t at = line->flag_block->there + (dtp_cu_ptr_t)a->flag * sizeof *line->flags;
    return DTP_CU(line->gpu, cuStreamWaitValue32, line->stream, at, 1, DTP_CU_WAIT_GEQ);
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

static bool is_followed(const dtp_gpu_line_t *line, const dtp_event_t *event) {
    return event->v == &dtp_gpu_event && ((dtp_gpu_line_t *)event->source)->gpu == line->gpu;
}

/* With submit_lock and the context. *later: the device cannot wait for it. */
static dnnl_tp_status_t submit_await(dtp_gpu_line_t *line, dtp_event_t *event, awaited_t *a, bool *later) {
    DTP_TRY(dtp_gpu_line_not_captured(line));
    if (is_followed(line, event)) {
        DTP_TRY(follow(line, event));
    } else {
        if (line->gpu->waits_for_values && !line->flags) DTP_TRY(make_flags(line));
        if (line->flags) a->flag = take_flag(line);
        *later = a->flag < 0;
        if (*later) return dnnl_tp_success;
        DTP_TRY(await_word(line, a));
    }
    append(line, a);
    return dnnl_tp_success;
}

/* The context is current. */
static dnnl_tp_status_t await_there(dtp_gpu_line_t *line, dtp_event_t *event, bool *later) {
    awaited_t *a = dtp_alloc(NULL, sizeof *a, 0);
    ringer_t *r = dtp_alloc(NULL, sizeof *r, 0);
    if (!a || !r) {
        dtp_free(NULL, a);
        dtp_free(NULL, r);
        return dtp_no_memory(sizeof *r);
    }
    *a = (awaited_t){.event = dtp_object_retain(event), .flag = -1};
    pthread_mutex_lock(&line->submit_lock);
    const dnnl_tp_status_t status = submit_await(line, event, a, later);
    *r = (ringer_t){.node.fn = ring, .line = line, .flag = a->flag};
    if (status || *later) free_awaited(line, a);
    else atomic_fetch_add(&line->refs, 1);
    pthread_mutex_unlock(&line->submit_lock);
    if (status || *later) dtp_free(NULL, r);
    else dtp_event_add(event, &r->node); /* perhaps now */
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

dtp_event_t *dtp_gpu_line_followed_locked(dtp_gpu_line_t *line, uint64_t seq) {
    for (awaited_t *a = line->awaited; a && a->seq < seq; a = a->next)
        if (a->flag < 0 && !dtp_event_is_done(a->event)) return dtp_object_retain(a->event);
    return NULL;
}

void dtp_gpu_line_drop_awaited(dtp_gpu_line_t *line) {
    dtp_gpu_line_look_at_awaited(line, UINT64_MAX, UINT32_MAX);
    pthread_mutex_lock(&line->lock);
    line->flags = NULL;
    pthread_mutex_unlock(&line->lock);
    dtp_gpu_pinned_give(line->gpu, line->flag_block);
}
