/* Waiting for devices: the part of dnnl_tp_sync_devices and its relatives that engines provide.
 *
 * Two steps, so that the call waits only for work that was submitted before it. First every engine
 * notes its queues and the last work in each. Then the call waits for one note after the other. An
 * engine whose host queue feeds another queue notes the host queue first. */
#ifndef DTP_THREADING_STREAMS_SYNC_H
#define DTP_THREADING_STREAMS_SYNC_H

#include "common/base/object.h"

typedef struct {
    void *object; /* a reference, which drop drops */
    uint64_t seq; /* the last work to wait for */
    /* Success, timed_out, or the first error of that work. */
    dnnl_tp_status_t (*wait)(void *object, uint64_t seq, int64_t until_ns);
    void (*drop)(void *object);
} dtp_sync_note_t;

typedef struct dtp_sync {
    int n, capacity;
    dtp_sync_note_t *note;
    dtp_sync_note_t few[16];
} dtp_sync_t;

/* Adds a note; if memory is exhausted, drops it and returns out_of_memory. */
dnnl_tp_status_t dtp_sync_note(dtp_sync_t *sync, const dtp_sync_note_t *note);
/* dtp_engine_vtbl_t.sync of engines whose streams are queues of src/threading; engine NULL: all. */
dnnl_tp_status_t dtp_sync_note_queues(dnnl_tp_engine_t engine, dtp_sync_t *sync);

#endif
