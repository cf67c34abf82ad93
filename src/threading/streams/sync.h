/* Waiting for devices: what an engine must provide to dnnl_tp_sync_devices and its relatives.
 *
 * Two steps, so that the wait is bounded by the work that was submitted before the call: every engine notes
 * its queues and how far they were filled; then one after the other is waited for, in the order of the notes
 * (an engine that feeds another queue from a host queue notes the host queue first). */
#ifndef DTP_THREADING_STREAMS_SYNC_H
#define DTP_THREADING_STREAMS_SYNC_H

#include "common/base/object.h"

typedef struct {
    void *object; /* a reference, dropped by drop */
    uint64_t seq; /* how far */
    /* success, timed_out, or the first error of the work that was waited for. */
    dnnl_tp_status_t (*wait)(void *object, uint64_t seq, int64_t until_ns);
    void (*drop)(void *object);
} dtp_sync_note_t;

typedef struct dtp_sync {
    int n, capacity;
    dtp_sync_note_t *note;
    dtp_sync_note_t few[16];
} dtp_sync_t;

/* Adds a note; out_of_memory drops it at once. */
dnnl_tp_status_t dtp_sync_note(dtp_sync_t *sync, const dtp_sync_note_t *note);
/* What dtp_engine_vtbl_t.sync does for engines whose streams are queues of src/threading; engine NULL = all. */
dnnl_tp_status_t dtp_sync_note_queues(dnnl_tp_engine_t engine, dtp_sync_t *sync);

#endif
