/* What is noted of queues for those who wait for devices (sync.h; the calls: sync_devices.c).
 *
 * Queues are in one list from creation to destruction; nothing else is recorded, so programs that never wait for
 * devices pay for nothing. */
#include "threading/streams/sync.h"

#include "threading/streams/queue.h"

static dtp_lock_t list_lock;
static dtp_queue_t *queues;

void dtp_sync_forked(void) { queues = NULL; }

void dtp_sync_add(dtp_queue_t *q) {
    dtp_lock(&list_lock);
    q->prev_sync = NULL;
    q->next_sync = queues;
    if (queues) queues->prev_sync = q;
    queues = q;
    dtp_unlock(&list_lock);
}

void dtp_sync_remove(dtp_queue_t *q) {
    dtp_lock(&list_lock);
    if (q->prev_sync) q->prev_sync->next_sync = q->next_sync;
    else queues = q->next_sync;
    if (q->next_sync) q->next_sync->prev_sync = q->prev_sync;
    dtp_unlock(&list_lock);
}

/* ---- Notes ------------------------------------------------------------------------------------------- */

dnnl_tp_status_t dtp_sync_note(dtp_sync_t *sync, const dtp_sync_note_t *note) {
    if (sync->n == sync->capacity) {
        int capacity = sync->capacity * 4;
        size_t bytes = (size_t)capacity * sizeof(*sync->note);
        dtp_sync_note_t *more = dtp_alloc(NULL, bytes, 0);
        if (!more) {
            note->drop(note->object);
            return dtp_no_memory(bytes);
        }
        memcpy(more, sync->note, (size_t)sync->n * sizeof(*more));
        if (sync->note != sync->few) dtp_free(NULL, sync->note);
        sync->note = more;
        sync->capacity = capacity;
    }
    sync->note[sync->n++] = *note;
    return dnnl_tp_success;
}

static dnnl_tp_status_t wait_queue(void *object, uint64_t seq, int64_t until_ns) {
    DTP_TRY(dtp_queue_wait_seq(object, seq, until_ns));
    return dtp_queue_result(object);
}
static void drop_queue(void *object) { dtp_queue_release(object); }

dnnl_tp_status_t dtp_sync_note_queues(dnnl_tp_engine_t engine, dtp_sync_t *sync) {
    dnnl_tp_status_t status = dnnl_tp_success;
    dtp_lock(&list_lock);
    for (dtp_queue_t *q = queues; q && status == dnnl_tp_success; q = q->next_sync) {
        if (engine && q->owner != engine) continue;
        atomic_fetch_add_explicit(&q->refs, 1, memory_order_relaxed);
        dtp_sync_note_t note = {q, atomic_load_explicit(&q->submitted, memory_order_acquire), wait_queue,
                                drop_queue};
        status = dtp_sync_note(sync, &note);
    }
    dtp_unlock(&list_lock);
    return status;
}
