/* Events of the fake driver: an event is the moment of its last record. */
#include <stdlib.h>

#include "gpu/fake/calls.h"

void fake_moment_release_locked(fake_moment_t *moment) {
    if (moment && --moment->refs == 0) free(moment);
}

void fake_event_forget_locked(fake_event_t *event) {
    fake_event_t **link = &fake.events;
    while (*link != event) link = &(*link)->next;
    *link = event->next;
    fake_moment_release_locked(event->last);
    free(event);
}

static fake_event_t *find_locked(dtp_cu_event_t handle, const char *call) {
    fake_event_t *event = fake.events;
    while (event && event->handle != (uintptr_t)handle) event = event->next;
    if (!event) fake_wrong_locked("%s: %p is no event", call, (void *)handle);
    return event;
}

dtp_cu_result_t fake_cuEventCreate(dtp_cu_event_t *handle, unsigned flags) {
    const dtp_cu_result_t result = fake_enter("cuEventCreate", FAKE_CALL);
    if (result) return result;
    if (flags & ~(unsigned)(DTP_CU_EVENT_BLOCKING_SYNC | DTP_CU_EVENT_DISABLE_TIMING))
        return fake_leave(DTP_CU_INVALID_VALUE);
    fake_event_t *event = fake_zalloc(sizeof *event);
    *event = (fake_event_t){.next = fake.events,
                            .handle = fake_handle_locked(),
                            .ctx = fake_current(),
                            .timing = !(flags & DTP_CU_EVENT_DISABLE_TIMING)};
    fake.events = event;
    *handle = (dtp_cu_event_t)event->handle;
    ++fake.stats.events;
    return fake_leave(DTP_CU_SUCCESS);
}

dtp_cu_result_t fake_cuEventDestroy(dtp_cu_event_t handle) {
    const dtp_cu_result_t result =
        fake_enter("cuEventDestroy", FAKE_NEEDS_INIT | FAKE_NEEDS_CTX | FAKE_RELEASES);
    if (result) return result;
    fake_event_t *event = find_locked(handle, "cuEventDestroy");
    if (!event) return fake_leave(DTP_CU_INVALID_HANDLE);
    fake_event_forget_locked(event);
    --fake.stats.events;
    return fake_leave_released(DTP_CU_SUCCESS);
}

dtp_cu_result_t fake_cuEventRecord(dtp_cu_event_t handle, dtp_cu_stream_t stream) {
    const dtp_cu_result_t result = fake_enter("cuEventRecord", FAKE_CALL);
    if (result) return result;
    fake_event_t *event = find_locked(handle, "cuEventRecord");
    fake_stream_t *s = event ? fake_stream_use_locked(stream, "cuEventRecord") : NULL;
    if (!s) return fake_leave(event ? fake.no_stream : DTP_CU_INVALID_HANDLE);
    if (s->ctx != event->ctx) return fake_leave(DTP_CU_INVALID_HANDLE);
    fake_moment_t *moment = fake_zalloc(sizeof *moment);
    moment->refs = 1; /* the event's */
    fake_moment_release_locked(event->last);
    event->last = moment;
    if (s->capture) {
        fake_capture_record_locked(s, moment);
        return fake_leave(DTP_CU_SUCCESS);
    }
    ++moment->refs; /* the item's */
    fake_item_t *item = fake_item_new(FAKE_RECORD);
    item->moment = moment;
    moment->slot = s->slot;
    moment->seq = fake_submit_locked(s, item);
    return fake_leave(DTP_CU_SUCCESS);
}

/* An event that was never recorded lets everything pass. */
dtp_cu_result_t fake_cuStreamWaitEvent(dtp_cu_stream_t stream, dtp_cu_event_t handle, unsigned flags) {
    dtp_cu_result_t result = fake_enter("cuStreamWaitEvent", FAKE_CALL);
    if (result) return result;
    if (fake_ignores_locked("cuStreamWaitEvent")) return fake_leave(DTP_CU_SUCCESS);
    if (flags & ~1u) return fake_leave(DTP_CU_INVALID_VALUE);
    const fake_event_t *event = find_locked(handle, "cuStreamWaitEvent");
    fake_stream_t *s = event ? fake_stream_use_locked(stream, "cuStreamWaitEvent") : NULL;
    if (!s) return fake_leave(event ? fake.no_stream : DTP_CU_INVALID_HANDLE);
    if (!event->last) return fake_leave(DTP_CU_SUCCESS);
    if (s->capture || event->last->capture) {
        result = fake_capture_wait_locked(s, event->last);
        return fake_leave(result);
    }
    fake_item_t *item = fake_item_new(FAKE_WAIT);
    item->moment = event->last;
    ++item->moment->refs;
    (void)fake_submit_locked(s, item);
    return fake_leave(DTP_CU_SUCCESS);
}

/* What the host learns from a moment that is reached. */
static void host_learns_locked(const fake_moment_t *moment) { fake_merge(&fake.host, &moment->clock); }

dtp_cu_result_t fake_cuEventQuery(dtp_cu_event_t handle) {
    dtp_cu_result_t result = fake_enter("cuEventQuery", FAKE_NEEDS_INIT | FAKE_CAN_FAIL | FAKE_UNSAFE);
    if (result) return result;
    if (fake_ignores_locked("cuEventQuery")) return fake_leave(DTP_CU_SUCCESS);
    const fake_event_t *event = find_locked(handle, "cuEventQuery");
    if (!event) return fake_leave(DTP_CU_INVALID_HANDLE);
    if (event->ctx->sticky) return fake_leave(event->ctx->sticky);
    if ((result = fake_event_not_captured_locked(event, "cuEventQuery"))) return fake_leave(result);
    if (!event->last) return fake_leave(DTP_CU_SUCCESS);
    if (!event->last->done) {
        fake_nudge_locked();
        return fake_leave(DTP_CU_NOT_READY);
    }
    host_learns_locked(event->last);
    return fake_leave(DTP_CU_SUCCESS);
}

dtp_cu_result_t fake_cuEventSynchronize(dtp_cu_event_t handle) {
    dtp_cu_result_t result = fake_enter("cuEventSynchronize", FAKE_CALL | FAKE_UNSAFE);
    if (result) return result;
    if (fake_ignores_locked("cuEventSynchronize")) return fake_leave(DTP_CU_SUCCESS);
    const fake_event_t *event = find_locked(handle, "cuEventSynchronize");
    if (!event) return fake_leave(DTP_CU_INVALID_HANDLE);
    if ((result = fake_event_not_captured_locked(event, "cuEventSynchronize"))) return fake_leave(result);
    fake_ctx_t *ctx = event->ctx;
    fake_moment_t *moment = event->last; /* the event may end meanwhile */
    if (!moment) return fake_leave(ctx->sticky);
    ++moment->refs;
    ++fake.stats.waits;
    fake_wait_locked(ctx, moment->slot, moment->seq);
    if (!ctx->sticky) {
        host_learns_locked(moment);
        fake_pools_trim_locked(ctx);
    }
    fake_moment_release_locked(moment);
    return fake_leave(ctx->sticky);
}

dtp_cu_result_t fake_cuEventElapsedTime(float *ms, dtp_cu_event_t from, dtp_cu_event_t to) {
    const dtp_cu_result_t result = fake_enter("cuEventElapsedTime", FAKE_CALL);
    if (result) return result;
    const fake_event_t *a = find_locked(from, "cuEventElapsedTime");
    const fake_event_t *b = a ? find_locked(to, "cuEventElapsedTime") : NULL;
    if (!b || !a->timing || !b->timing || !a->last || !b->last) return fake_leave(DTP_CU_INVALID_HANDLE);
    if (a->last->capture || b->last->capture) return fake_leave(DTP_CU_CAPTURED_EVENT);
    if (!a->last->done || !b->last->done) return fake_leave(DTP_CU_NOT_READY);
    *ms = (float)(b->last->ns - a->last->ns) * 1e-6f;
    return fake_leave(DTP_CU_SUCCESS);
}
