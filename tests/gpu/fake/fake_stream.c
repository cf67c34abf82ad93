/* Streams of the fake driver: queues, slots, what comes after what, and waiting. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpu/fake/calls.h"

/* ---- Streams ----------------------------------------------------------------------------------------- */

/* A slot that no stream has, of all such the one that was given up first; -1: there is none. */
static int find_slot_locked(void) {
    static int last; /* slots go round, so that an old stream's clock is seldom a new one's */
    for (int i = 1; i <= FAKE_MAX_STREAMS; ++i) {
        const int slot = (last + i) % FAKE_MAX_STREAMS;
        const fake_stream_t *s = fake.streams;
        while (s && s->slot != slot) s = s->next;
        if (!s) return last = slot;
    }
    return -1;
}

static fake_stream_t *add_stream_locked(fake_ctx_t *ctx) {
    const int slot = find_slot_locked();
    if (slot < 0) return NULL;
    fake_stream_t *s = fake_zalloc(sizeof *s);
    *s = (fake_stream_t){.next = fake.streams,
                         .handle = fake_handle_locked(),
                         .ctx = ctx,
                         .slot = slot,
                         .blocking = true,
                         .end = &s->head,
                         .priority = fake_random_locked()};
    fake.streams = s;
    return s;
}

void fake_stream_forget_locked(fake_stream_t *s) {
    fake_stream_t **link = &fake.streams;
    while (*link != s) link = &(*link)->next;
    *link = s->next;
    free(s);
}

/* The legacy stream of a context; made at its first use. */
static fake_stream_t *legacy_locked(fake_ctx_t *ctx, bool make) {
    fake_stream_t *s = fake.streams;
    while (s && !(s->ctx == ctx && s->legacy)) s = s->next;
    if (!s && make && (s = add_stream_locked(ctx))) s->legacy = true;
    return s;
}

static fake_stream_t *per_thread_locked(fake_ctx_t *ctx) {
    fake_stream_t *s = fake.streams;
    while (s && !(s->ctx == ctx && s->per_thread && pthread_equal(s->owner, pthread_self()))) s = s->next;
    if (!s && (s = add_stream_locked(ctx))) {
        s->per_thread = true;
        s->owner = pthread_self();
    }
    return s;
}

fake_stream_t *fake_stream_find_locked(dtp_cu_stream_t handle, const char *call) {
    fake_ctx_t *ctx = fake_current();
    const uintptr_t number = (uintptr_t)handle;
    if (number == 0 || number == DTP_CU_STREAM_LEGACY) return legacy_locked(ctx, true);
    if (number == DTP_CU_STREAM_PER_THREAD) return per_thread_locked(ctx);
    for (fake_stream_t *s = fake.streams; s; s = s->next) {
        if (s->handle != number || s->destroyed) continue;
        if (!ctx || s->ctx == ctx) return s;
        fake_wrong_locked("%s: a stream of device %d, and device %d is current", call, s->ctx->device,
                          ctx->device);
        return NULL;
    }
    fake_wrong_locked("%s: %p is no stream", call, (void *)handle);
    return NULL;
}

fake_stream_t *fake_stream_use_locked(dtp_cu_stream_t handle, const char *call) {
    fake_stream_t *s = fake_stream_find_locked(handle, call);
    fake.no_stream = !s ? DTP_CU_INVALID_HANDLE
                     : s->legacy && fake_legacy_is_barred_locked(s->ctx, call, true)
                         ? DTP_CU_STREAM_CAPTURE_IMPLICIT
                     : s->capture && fake_capture_is_invalid(s->capture) ? DTP_CU_STREAM_CAPTURE_INVALIDATED
                                                                         : DTP_CU_SUCCESS;
    return fake.no_stream ? NULL : s;
}

dtp_cu_result_t fake_cuStreamCreate(dtp_cu_stream_t *stream, unsigned flags) {
    const dtp_cu_result_t result = fake_enter("cuStreamCreate", FAKE_CALL);
    if (result) return result;
    if (flags & ~(unsigned)DTP_CU_STREAM_NON_BLOCKING) return fake_leave(DTP_CU_INVALID_VALUE);
    fake_stream_t *s = add_stream_locked(fake_current());
    if (!s) {
        fake_tell_locked("cuStreamCreate: there are only %d streams here", FAKE_MAX_STREAMS);
        return fake_leave(DTP_CU_OUT_OF_MEMORY);
    }
    s->blocking = !(flags & DTP_CU_STREAM_NON_BLOCKING);
    *stream = (dtp_cu_stream_t)s->handle;
    ++fake.stats.streams;
    return fake_leave(DTP_CU_SUCCESS);
}

/* What is enqueued is still executed. */
dtp_cu_result_t fake_cuStreamDestroy(dtp_cu_stream_t handle) {
    const dtp_cu_result_t result =
        fake_enter("cuStreamDestroy", FAKE_NEEDS_INIT | FAKE_NEEDS_CTX | FAKE_RELEASES);
    if (result) return result;
    fake_stream_t *s = fake_stream_find_locked(handle, "cuStreamDestroy");
    if (!s || s->legacy || s->per_thread) return fake_leave(DTP_CU_INVALID_HANDLE);
    fake_capture_stream_ends_locked(s);
    s->destroyed = true;
    --fake.stats.streams;
    if (!s->head) fake_stream_forget_locked(s);
    return fake_leave_released(DTP_CU_SUCCESS);
}

/* Works without a current context for streams that a program made. */
dtp_cu_result_t fake_cuStreamGetCtx(dtp_cu_stream_t handle, dtp_cu_ctx_t *ctx) {
    const bool own = (uintptr_t)handle > DTP_CU_STREAM_PER_THREAD;
    const dtp_cu_result_t result =
        fake_enter("cuStreamGetCtx", own ? FAKE_NEEDS_INIT | FAKE_CAN_FAIL : FAKE_CALL);
    if (result) return result;
    const fake_stream_t *s = fake.streams;
    while (own && s && (s->handle != (uintptr_t)handle || s->destroyed)) s = s->next;
    if (own && !s) {
        fake_wrong_locked("cuStreamGetCtx: %p is no stream", (void *)handle);
        return fake_leave(DTP_CU_INVALID_HANDLE);
    }
    *ctx = fake_ctx_handle(own ? s->ctx : fake_current());
    return fake_leave(DTP_CU_SUCCESS);
}

dtp_cu_result_t fake_cuStreamIsCapturing(dtp_cu_stream_t handle, dtp_cu_capture_t *status) {
    const dtp_cu_result_t result = fake_enter("cuStreamIsCapturing", FAKE_CALL);
    if (result) return result;
    const fake_stream_t *s = fake_stream_find_locked(handle, "cuStreamIsCapturing");
    if (!s) return fake_leave(DTP_CU_INVALID_VALUE);
    if (s->legacy && fake_legacy_is_barred_locked(s->ctx, "cuStreamIsCapturing", false))
        return fake_leave(DTP_CU_STREAM_CAPTURE_IMPLICIT);
    *status = !s->capture                           ? 0
              : fake_capture_is_invalid(s->capture) ? FAKE_CU_CAPTURE_INVALID
                                                    : FAKE_CU_CAPTURE_ACTIVE;
    return fake_leave(DTP_CU_SUCCESS);
}

/* ---- Items ------------------------------------------------------------------------------------------- */

fake_item_t *fake_item_new(fake_work_t work) {
    fake_item_t *item = fake_zalloc(sizeof *item);
    item->work = work;
    return item;
}

void fake_item_free_locked(fake_item_t *item) {
    fake_moment_release_locked(item->moment);
    if (item->kernel) fake_kernel_release_locked(item->kernel);
    if (item->graph) fake_graph_release_locked(item->graph);
    free(item->bytes_of);
    free(item->params);
    free(item);
}

/* The legacy stream waits for all blocking streams, and they wait for it. */
static void order_locked(const fake_stream_t *s, fake_item_t *item) {
    const fake_stream_t *legacy = s->legacy ? NULL : legacy_locked(s->ctx, false);
    if (legacy && s->blocking) item->after.of[legacy->slot] = fake.submitted[legacy->slot];
    for (const fake_stream_t *t = s->legacy ? fake.streams : NULL; t; t = t->next)
        if (t != s && t->ctx == s->ctx && t->blocking) item->after.of[t->slot] = fake.submitted[t->slot];
}

uint64_t fake_submit_locked(fake_stream_t *s, fake_item_t *item) {
    if (s->capture) {
        fake_capture_add_locked(s, item);
        return 0;
    }
    item->seq = ++fake.submitted[s->slot];
    item->host = fake.host;
    order_locked(s, item);
    item->due_ns = INT64_MAX;
    if (fake.delay_us >= 0) {
        const uint64_t longest = (uint64_t)fake.delay_us * 1000 + 1;
        item->due_ns = fake_now_ns() + (int64_t)(fake_random_locked() % longest);
    }
    *s->end = item;
    s->end = &item->next;
    fake_threads_start_locked();
    const bool soon = fake.waiters || s->ctx->sticky || item->due_ns < fake.wake_ns;
    if (s->head == item && soon) pthread_cond_signal(&fake.work);
    return item->seq;
}

/* ---- Waiting ----------------------------------------------------------------------------------------- */

/* A call has waited for long without anything being done: which items is it that stop the streams? */
enum { STALL_S = 30 };
static void tell_stall_locked(void) {
    static const char *const names[] = {"a kernel",
                                        "a copy",
                                        "a fill",
                                        "an allocation",
                                        "a free",
                                        "an event",
                                        "a wait for an event",
                                        "a wait for a value",
                                        "a host function",
                                        "a mark",
                                        "a product of cuBLASLt"};
    for (const fake_stream_t *s = fake.streams; s; s = s->next)
        if (s->head)
            fake_tell_locked("a call has waited for %d s; the first item of stream %p is %s", STALL_S,
                             (void *)s->handle, names[s->head->work]);
}

struct fake_waiter {
    struct fake_waiter *next;
    int slot;
    uint64_t seq;
};

void fake_wake_waiters_locked(void) {
    bool any = fake.idlers > 0;
    for (const struct fake_waiter *w = fake.waiters; w; w = w->next) any |= fake.completed[w->slot] >= w->seq;
    if (any) pthread_cond_broadcast(&fake.done);
}

void fake_wait_locked(const fake_ctx_t *ctx, int slot, uint64_t seq) {
    struct fake_waiter waiter = {fake.waiters, slot, seq}, **link = &fake.waiters;
    fake.waiters = &waiter;
    pthread_cond_signal(&fake.work);
    while (fake.completed[slot] < seq && (!ctx || ctx->sticky == DTP_CU_SUCCESS)) {
        const int64_t until_ns = fake_now_ns() + STALL_S * INT64_C(1000000000);
        const struct timespec until = {until_ns / 1000000000, until_ns % 1000000000};
        if (pthread_cond_timedwait(&fake.done, &fake.lock, &until)) tell_stall_locked();
    }
    while (*link != &waiter) link = &(*link)->next;
    *link = waiter.next;
}

void fake_nudge_locked(void) {
    for (fake_stream_t *s = fake.streams; s; s = s->next)
        if (s->head) s->head->due_ns = 0;
    pthread_cond_signal(&fake.work);
}

/* Waits until no item is being executed. */
void fake_wait_idle_locked(void) {
    for (;;) {
        const fake_stream_t *s = fake.streams;
        while (s && s->state == FAKE_IDLE) s = s->next;
        if (!s) return;
        ++fake.idlers;
        pthread_cond_wait(&fake.done, &fake.lock);
        --fake.idlers;
    }
}

/* What is still to be done in a context, by slot; how many items are done. */
static uint64_t left_locked(const fake_ctx_t *ctx, const fake_clock_t *until, const fake_stream_t **first) {
    uint64_t done = 0;
    *first = NULL;
    for (int i = 0; i < FAKE_MAX_STREAMS; ++i) done += fake.completed[i];
    for (const fake_stream_t *s = fake.streams; s; s = s->next)
        if (s->ctx == ctx && fake.completed[s->slot] < until->of[s->slot]) *first = s;
    return done;
}

const fake_stream_t *fake_parked_locked(const fake_ctx_t *ctx) {
    const fake_stream_t *s = fake.streams;
    while (s && !(s->ctx == ctx && s->head && s->head->work == FAKE_WAIT_VALUE &&
                  !fake_value_is_there_locked(s->head)))
        s = s->next;
    return s;
}

/* What is enqueued later is not waited for. A word that is not there after so long will not be written, since the thread that would
 * write it waits here. */
void fake_wait_for_context_locked(const fake_ctx_t *ctx, const char *call) {
    enum { LONG_NS = 500000000 };
    if (!ctx || fake.hold || fake_random_locked() % 2) return;
    fake_clock_t until;
    memcpy(until.of, fake.submitted, sizeof until.of);
    const fake_stream_t *s;
    uint64_t done = left_locked(ctx, &until, &s);
    while (s && !ctx->sticky && !fake.hold) {
        struct fake_waiter waiter = {fake.waiters, s->slot, until.of[s->slot]}, **link = &fake.waiters;
        fake.waiters = &waiter;
        pthread_cond_signal(&fake.work);
        const int64_t until_ns = fake_now_ns() + LONG_NS;
        const struct timespec t = {until_ns / 1000000000, until_ns % 1000000000};
        const bool late = pthread_cond_timedwait(&fake.done, &fake.lock, &t) != 0;
        while (*link != &waiter) link = &(*link)->next;
        *link = waiter.next;
        const uint64_t before = done;
        done = left_locked(ctx, &until, &s);
        if (!late || done != before || !fake_parked_locked(ctx)) continue;
        fake_wrong_locked("%s waits for the device, where a stream waits for a word of the host", call);
        return;
    }
}

/* How far a stream must come so that all is done that was enqueued on it; on the legacy stream that is a new item. */
static uint64_t last_item_locked(fake_stream_t *s) {
    return s->legacy ? fake_submit_locked(s, fake_item_new(FAKE_MARK)) : fake.submitted[s->slot];
}

dtp_cu_result_t fake_cuStreamSynchronize(dtp_cu_stream_t handle) {
    dtp_cu_result_t result = fake_enter("cuStreamSynchronize", FAKE_CALL | FAKE_UNSAFE);
    if (result) return result;
    if (fake_ignores_locked("cuStreamSynchronize")) return fake_leave(DTP_CU_SUCCESS);
    fake_stream_t *s = fake_stream_find_locked(handle, "cuStreamSynchronize");
    if (!s) return fake_leave(DTP_CU_INVALID_HANDLE);
    if ((result = fake_stream_not_captured_locked(s, "cuStreamSynchronize"))) return fake_leave(result);
    fake_ctx_t *ctx = s->ctx;
    const int slot = s->slot;
    ++fake.stats.waits;
    fake_wait_locked(ctx, slot, last_item_locked(s));
    if (ctx->sticky == DTP_CU_SUCCESS) {
        fake_merge(&fake.host, &fake.clock[slot]);
        fake_pools_trim_locked(ctx);
    }
    return fake_leave(ctx->sticky);
}

static bool is_done_locked(const fake_stream_t *s) {
    for (const fake_stream_t *t = fake.streams; t; t = t->next) {
        const bool counts = t == s || (s->legacy && t->ctx == s->ctx && t->blocking);
        if (counts && t->head) return false;
    }
    return true;
}

dtp_cu_result_t fake_cuStreamQuery(dtp_cu_stream_t handle) {
    dtp_cu_result_t result = fake_enter("cuStreamQuery", FAKE_CALL | FAKE_UNSAFE);
    if (result) return result;
    if (fake_ignores_locked("cuStreamQuery")) return fake_leave(DTP_CU_SUCCESS);
    const fake_stream_t *s = fake_stream_find_locked(handle, "cuStreamQuery");
    if (!s) return fake_leave(DTP_CU_INVALID_HANDLE);
    if ((result = fake_stream_not_captured_locked(s, "cuStreamQuery"))) return fake_leave(result);
    if (!is_done_locked(s)) {
        fake_nudge_locked();
        return fake_leave(DTP_CU_NOT_READY);
    }
    fake_merge(&fake.host, &fake.clock[s->slot]);
    return fake_leave(DTP_CU_SUCCESS);
}

void fake_cuda_drain(void) {
    fake_lock();
    for (const fake_stream_t *s = fake.streams; s;) {
        if (s->head) {
            fake_wait_locked(NULL, s->slot, fake.submitted[s->slot]);
            s = fake.streams; /* it may be gone */
        } else s = s->next;
    }
    fake_unlock();
}

void fake_streams_reset_locked(void) {
    while (fake.events) fake_event_forget_locked(fake.events);
    while (fake.streams) fake_stream_forget_locked(fake.streams);
}
