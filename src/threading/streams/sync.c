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

static dnnl_tp_status_t make_room(dtp_sync_t *sync, int notes) {
    int capacity = sync->capacity;
    while (capacity < notes) capacity *= 4;
    if (capacity == sync->capacity) return dnnl_tp_success;
    size_t bytes = (size_t)capacity * sizeof(*sync->note);
    dtp_sync_note_t *more = dtp_alloc(NULL, bytes, 0);
    if (!more) return dtp_no_memory(bytes);
    memcpy(more, sync->note, (size_t)sync->n * sizeof(*more));
    if (sync->note != sync->few) dtp_free(NULL, sync->note);
    sync->note = more;
    sync->capacity = capacity;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_sync_note(dtp_sync_t *sync, const dtp_sync_note_t *note) {
    const dnnl_tp_status_t status = make_room(sync, sync->n + 1);
    if (status == dnnl_tp_success) sync->note[sync->n++] = *note;
    else note->drop(note->object);
    return status;
}

static dnnl_tp_status_t wait_queue(void *object, uint64_t seq, int64_t until_ns) {
    DTP_TRY(dtp_queue_wait_seq(object, seq, until_ns));
    return dtp_queue_result(object);
}
static void drop_queue(void *object) { dtp_queue_release(object); }

/* Under the lock. How many queues there are; those for which there is room are noted. */
static int note_all(dnnl_tp_engine_t engine, dtp_sync_t *sync) {
    int n = 0;
    for (dtp_queue_t *q = queues; q; q = q->next_sync) n += !engine || q->owner == engine;
    for (dtp_queue_t *q = queues; q && sync->n + n <= sync->capacity; q = q->next_sync) {
        if (engine && q->owner != engine) continue;
        atomic_fetch_add_explicit(&q->refs, 1, memory_order_relaxed);
        const uint64_t seq = atomic_load_explicit(&q->submitted, memory_order_acquire);
        sync->note[sync->n++] = (dtp_sync_note_t){q, seq, wait_queue, drop_queue};
        --n;
    }
    return n;
}

/* The room is made without the lock: a program's allocator may wait for a thread that makes or ends
 * a stream. */
dnnl_tp_status_t dtp_sync_note_queues(dnnl_tp_engine_t engine, dtp_sync_t *sync) {
    for (int left = 0;;) {
        DTP_TRY(make_room(sync, sync->n + left));
        dtp_lock(&list_lock);
        left = note_all(engine, sync);
        dtp_unlock(&list_lock);
        if (!left) return dnnl_tp_success;
    }
}
