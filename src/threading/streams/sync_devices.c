/* sync_devices, sync_engine, sync_memory: waiting for everything that was submitted before the call, to whatever engine.
 * What engines note and why in two steps: sync.h. */
#include "threading/streams/sync.h"

#include <stdio.h>

#include "common/primitive/memory.h"
#include "threading/pools/record.h"
#include "threading/streams/event.h"

static dnnl_tp_status_t note_engine(const dtp_engine_vtbl_t *v, dnnl_tp_engine_t engine, dtp_sync_t *sync) {
    if (v->sync) return v->sync(engine, sync);
    return dtp_fail(dnnl_tp_unimplemented, DTP_NO_SYNC, "engine kind %s", dnnl_tp_engine_kind2str(v->kind));
}

/* Everything noted is waited for; a limit that passed wins over errors of the work, the first of which is told. */
static dnnl_tp_status_t wait_for_notes(dtp_sync_t *sync, int64_t until_ns) {
    dnnl_tp_status_t first = dnnl_tp_success;
    dtp_reason_t reason = DTP_NO_REASON;
    char text[DTP_EVENT_TEXT] = "";
    for (int i = 0; i < sync->n; ++i) {
        dtp_sync_note_t *note = &sync->note[i];
        dnnl_tp_status_t status = note->wait(note->object, note->seq, until_ns);
        if (status == dnnl_tp_success) continue;
        const bool late = dtp_last_reason() == DTP_TIMED_OUT; /* work may fail with timed_out, too */
        if (first != dnnl_tp_success && !late) continue;
        first = status;
        reason = dtp_last_reason();
        snprintf(text, sizeof(text), "%s", dtp_last_detail());
    }
    return first == dnnl_tp_success ? first : dtp_fail(first, reason, "%s", text);
}

static void drop_notes(dtp_sync_t *sync) {
    for (int i = 0; i < sync->n; ++i) sync->note[i].drop(sync->note[i].object);
    if (sync->note != sync->few) dtp_free(NULL, sync->note);
}

static dnnl_tp_status_t refuse_inside(void) {
    if (!dtp_chain_top) return dnnl_tp_success;
    return dtp_fail(dnnl_tp_would_deadlock, DTP_WOULD_DEADLOCK, "sync was called from inside running work");
}

/* engine NULL: all engines of all kinds. */
static dnnl_tp_status_t sync_all(dnnl_tp_engine_t engine, int64_t timeout_ns) {
    DTP_TRY(refuse_inside());
    int64_t until_ns = dtp_until_ns(timeout_ns);
    dtp_sync_t sync;
    sync.n = 0;
    sync.capacity = (int)(sizeof(sync.few) / sizeof(*sync.few));
    sync.note = sync.few;
    dnnl_tp_status_t status = dnnl_tp_success;
    if (engine) {
        status = note_engine(engine->v, engine, &sync);
    } else {
        for (int kind = dnnl_tp_cpu; kind <= dnnl_tp_gpu && status == dnnl_tp_success; ++kind) {
            const dtp_engine_vtbl_t *v = dtp_engine_vtbl((dnnl_tp_engine_kind_t)kind);
            if (v) status = note_engine(v, NULL, &sync);
        }
    }
    if (status == dnnl_tp_success) status = wait_for_notes(&sync, until_ns);
    drop_notes(&sync);
    return status;
}

dnnl_tp_status_t dnnl_tp_sync_devices_v2(int64_t timeout_ns, dnnl_tp_status_t *result) {
    if (result) *result = dnnl_tp_success;
    DTP_RETURN(dtp_wait_answer(sync_all(NULL, timeout_ns), result));
}
dnnl_tp_status_t dnnl_tp_sync_devices(int64_t timeout_ns) {
    DTP_RETURN(dnnl_tp_sync_devices_v2(timeout_ns, NULL));
}

dnnl_tp_status_t dnnl_tp_sync_engine_v2(dnnl_tp_engine_t engine, int64_t timeout_ns,
                                        dnnl_tp_status_t *result) {
    if (result) *result = dnnl_tp_success;
    DTP_REQUIRE_HANDLE(engine, DTP_OBJ_ENGINE);
    DTP_RETURN(dtp_wait_answer(sync_all(engine, timeout_ns), result));
}
dnnl_tp_status_t dnnl_tp_sync_engine(dnnl_tp_engine_t engine, int64_t timeout_ns) {
    DTP_RETURN(dnnl_tp_sync_engine_v2(engine, timeout_ns, NULL));
}

dnnl_tp_status_t dnnl_tp_sync_memory_v2(dnnl_tp_memory_t memory, int64_t timeout_ns,
                                        dnnl_tp_status_t *result) {
    if (result) *result = dnnl_tp_success;
    DTP_REQUIRE_HANDLE(memory, DTP_OBJ_MEMORY);
    if (!memory->engine) return dnnl_tp_success; /* a host scalar: executions have copies */
    DTP_RETURN(dtp_wait_answer(sync_all(memory->engine, timeout_ns), result));
}
dnnl_tp_status_t dnnl_tp_sync_memory(dnnl_tp_memory_t memory, int64_t timeout_ns) {
    DTP_RETURN(dnnl_tp_sync_memory_v2(memory, timeout_ns, NULL));
}
