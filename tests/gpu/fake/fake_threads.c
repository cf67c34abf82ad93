/* The threads of the fake driver: one is the devices, one calls host functions. */
#include <stdlib.h>
#include <time.h>

#include "gpu/fake/calls.h"

enum {
    POLL_NS = 100000,
    RESHUFFLE = 8
}; /* of waits for a value in memory; of priorities: every so many items */

static struct {
    bool started, stop;
    pthread_t device, host;
} threads;

/* ---- What comes next --------------------------------------------------------------------------------- */

/* Nothing else must come first? Says through due when to look again. */
static bool is_ready_locked(const fake_item_t *item, int64_t now, int64_t *due) {
    for (int i = 0; i < FAKE_MAX_STREAMS; ++i)
        if (fake.completed[i] < item->after.of[i]) return false;
    if (item->work == FAKE_WAIT && !item->moment->done) return false;
    if (item->work == FAKE_WAIT_VALUE && !fake_value_is_there_locked(item)) {
        if (*due > now + POLL_NS) *due = now + POLL_NS;
        return false;
    }
    return true;
}

/* May the stream's first item be executed? */
static bool may_run_locked(const fake_stream_t *s, int64_t now, int64_t *due) {
    if (!s->head || s->state != FAKE_IDLE) return false;
    if (s->ctx->sticky) return true; /* to be dropped */
    if (fake.hold) return false;
    if (!fake.waiters && s->head->due_ns > now) {
        if (*due > s->head->due_ns) *due = s->head->due_ns;
        return false;
    }
    return is_ready_locked(s->head, now, due);
}

/* A stream whose first item may be executed. Mostly the one of highest priority, so that some streams run far ahead of others;
 * sometimes any. */
static fake_stream_t *choose_locked(int64_t *due) {
    const int64_t now = fake_now_ns();
    fake_stream_t *ready[FAKE_MAX_STREAMS], *best = NULL;
    size_t n = 0;
    for (fake_stream_t *s = fake.streams; s; s = s->next)
        if (may_run_locked(s, now, due)) {
            ready[n++] = s;
            if (!best || s->priority > best->priority) best = s;
        }
    if (n < 2) return best;
    const uint64_t random = fake_random_locked();
    if (random % RESHUFFLE == 0)
        for (fake_stream_t *s = fake.streams; s; s = s->next) s->priority = fake_random_locked();
    return random / RESHUFFLE % 4 ? best : ready[random / RESHUFFLE / 4 % n];
}

/* ---- Execution --------------------------------------------------------------------------------------- */

/* What the stream knows when its first item begins. */
static void advance_clock_locked(const fake_stream_t *s) {
    const fake_item_t *item = s->head;
    fake_clock_t *clock = &fake.clock[s->slot];
    fake_merge(clock, &item->host);
    for (int i = 0; i < FAKE_MAX_STREAMS; ++i)
        if (item->after.of[i]) fake_merge(clock, &fake.clock[i]);
    if (item->work == FAKE_WAIT) fake_merge(clock, &item->moment->clock);
    if (item->work == FAKE_WAIT_VALUE) fake_merge(clock, &fake.host);
    clock->of[s->slot] = item->seq;
}

static void complete_locked(fake_stream_t *s) {
    fake_item_t *item = s->head;
    s->head = item->next;
    if (!s->head) s->end = &s->head;
    s->state = FAKE_IDLE;
    fake.completed[s->slot] = item->seq;
    fake_item_free_locked(item);
    if (s->destroyed && !s->head) fake_stream_forget_locked(s);
    fake_wake_waiters_locked();
}

static bool fails_now_locked(void) { return fake.fail_item_at >= 0 && fake.fail_item_at-- == 0; }

/* Executes the first item of a stream, hands it to the other thread, or drops it. */
static void step_locked(fake_stream_t *s) {
    s->state = FAKE_BUSY;
    if (s->ctx->sticky) fake_drop_locked(s->head);
    else {
        advance_clock_locked(s);
        const bool fails = fails_now_locked();
        const dtp_cu_result_t result = fails                        ? fake.fail_item_with
                                       : s->head->work == FAKE_HOST ? DTP_CU_SUCCESS
                                                                    : fake_execute_locked(s, s->head);
        if (result) fake_poison_locked(s->ctx, result);
        if (!result && s->head->work == FAKE_HOST) {
            s->state = FAKE_FOR_HOST;
            pthread_cond_signal(&fake.host_work);
            return;
        }
        if (fails) fake_drop_locked(s->head);
    }
    complete_locked(s);
}

static void wait_for_work_locked(int64_t due) {
    fake.wake_ns = due;
    if (due == INT64_MAX) pthread_cond_wait(&fake.work, &fake.lock);
    else {
        const struct timespec until = {due / 1000000000, due % 1000000000};
        pthread_cond_timedwait(&fake.work, &fake.lock, &until);
    }
    fake.wake_ns = 0;
}

static void *run_device(void *arg) {
    (void)arg;
    fake_lock();
    while (!threads.stop) {
        int64_t due = INT64_MAX;
        fake_stream_t *s = choose_locked(&due);
        if (s) step_locked(s);
        else wait_for_work_locked(due);
    }
    fake_unlock();
    return NULL;
}

/* ---- Host functions ---------------------------------------------------------------------------------- */

static fake_stream_t *find_for_host_locked(void) {
    fake_stream_t *s = fake.streams;
    while (s && s->state != FAKE_FOR_HOST) s = s->next;
    return s;
}

void fake_cuda_hold_host(bool hold) {
    fake_lock();
    fake.hold_host = hold;
    for (fake_stream_t *s = fake.streams; s && !hold; s = s->next) s->late = s->state == FAKE_FOR_HOST;
    pthread_cond_signal(&fake.host_work);
    fake_unlock();
}
bool fake_cuda_host_is_due(void) {
    fake_lock();
    const bool is_due = find_for_host_locked() != NULL;
    fake_unlock();
    return is_due;
}

static void *run_host_functions(void *arg) {
    (void)arg;
    fake_thread.in_host_fn = true;
    fake_lock();
    while (!threads.stop) {
        fake_stream_t *s = fake.hold_host ? NULL : find_for_host_locked();
        if (!s) {
            pthread_cond_wait(&fake.host_work, &fake.lock);
            continue;
        }
        s->state = FAKE_BUSY;
        if (!s->ctx->sticky || s->late) {
            fake_merge(&fake.host, &fake.clock[s->slot]);
            ++fake.stats.host_functions;
            const dtp_cu_host_fn_t fn = s->head->fn;
            void *fn_arg = s->head->arg;
            fake_unlock();
            fn(fn_arg);
            fake_lock();
        }
        s->late = false;
        complete_locked(s);
        pthread_cond_signal(&fake.work);
    }
    fake_unlock();
    return NULL;
}

/* ---- Beginning and end ------------------------------------------------------------------------------- */

void fake_threads_start_locked(void) {
    if (threads.started) return;
    threads.stop = false;
    if (pthread_create(&threads.device, NULL, run_device, NULL) ||
        pthread_create(&threads.host, NULL, run_host_functions, NULL)) {
        fprintf(stderr, "fake driver: no threads\n");
        abort();
    }
    threads.started = true;
}

void fake_threads_stop(void) {
    fake_lock();
    const bool started = threads.started;
    threads.stop = true;
    threads.started = false;
    pthread_cond_signal(&fake.work);
    pthread_cond_signal(&fake.host_work);
    fake_unlock();
    if (!started) return;
    pthread_join(threads.device, NULL);
    pthread_join(threads.host, NULL);
}
