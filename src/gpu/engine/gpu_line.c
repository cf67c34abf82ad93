/* Lines: marks and what settles; the state machine stands in gpu_line.h. Events that lines wait for: gpu_await.c. */
#include "gpu/engine/gpu_line_parts.h"

#include <stdio.h>

#include "threading/pools/record.h"

/* ---- Marks ------------------------------------------------------------------------------------------- */

static dnnl_tp_status_t make_mark(dtp_gpu_line_t *line, mark_t **mark) {
    mark_t *m = dtp_zalloc(line->engine->allocator, sizeof *m, 0);
    if (!m) return dtp_no_memory(sizeof *m);
    m->line = line;
    const dnnl_tp_status_t status =
        DTP_CU(line->gpu, cuEventCreate, &m->cu, DTP_CU_EVENT_DISABLE_TIMING | DTP_CU_EVENT_BLOCKING_SYNC);
    if (status) {
        dtp_free(line->engine->allocator, m);
        return status;
    }
    m->all = line->marks;
    *mark = line->marks = m;
    return status;
}

static dnnl_tp_status_t take_mark(dtp_gpu_line_t *line, mark_t **mark) {
    pthread_mutex_lock(&line->lock);
    mark_t *m = *mark = line->free;
    if (m) line->free = m->next;
    pthread_mutex_unlock(&line->lock);
    if (!m) DTP_TRY(make_mark(line, mark));
    (*mark)->has_word = false;
    return dnnl_tp_success;
}

static void give_locked(mark_t *m) {
    m->next = m->line->free;
    m->line->free = m;
}
static void drop_locked(mark_t *m) {
    if (--m->refs == 0) give_locked(m);
}

/* With submit_lock. What executions outside runs found comes with the mark, and the word is clean again behind it. */
static dnnl_tp_status_t fetch_word(dtp_gpu_line_t *line, mark_t *m) {
    if (!line->word_used) return dnnl_tp_success;
    const dtp_cu_ptr_t word = dtp_cu_ptr(line->word);
    void *slot = m->word;
    if (!slot) DTP_TRY(dtp_gpu_slot_take(line->gpu, &slot));
    m->word = slot;
    DTP_TRY(DTP_CU(line->gpu, cuMemcpyDtoHAsync, slot, word, sizeof *m->word, line->stream));
    DTP_TRY(DTP_CU(line->gpu, cuMemsetD8Async, word, 0, sizeof *m->word, line->stream));
    line->word_used = false;
    m->has_word = true;
    return dnnl_tp_success;
}

static void fill(mark_t *m, const dtp_gpu_mark_t *what) {
    m->event = what ? what->event : NULL;
    m->ends = what && what->run;
    if (m->ends) m->run = *what->run;
    m->times = what ? what->times : NULL;
    if (m->times) m->traced = *what->traced;
}

static void heard(void *arg);
static void callback_is_over(mark_t *m) {
    dtp_gpu_line_t *line = m->line;
    pthread_mutex_lock(&line->lock);
    drop_locked(m);
    --line->callbacks;
    pthread_cond_broadcast(&line->changed);
    pthread_mutex_unlock(&line->lock);
    dtp_gpu_line_release(line);
}

/* A mark that holds what kernels found is kept where it cannot be recorded: it is the next one. */
static void take_back(dtp_gpu_line_t *line, mark_t *m) {
    if (m->has_word) {
        line->fetched = m;
        return;
    }
    pthread_mutex_lock(&line->lock);
    give_locked(m);
    pthread_mutex_unlock(&line->lock);
}

static dnnl_tp_status_t record_mark(dtp_gpu_line_t *line, mark_t *m, const dtp_gpu_mark_t *what,
                                    uint64_t *seq) {
    atomic_store(&line->dirty, false); /* what is launched from now on rises it again: gpu_line.h */
    const dnnl_tp_status_t status = DTP_CU(line->gpu, cuEventRecord, m->cu, line->stream);
    if (status) {
        dtp_gpu_line_dirty(line);
        take_back(line, m);
        return status;
    }
    pthread_mutex_lock(&line->lock);
    fill(m, what);
    const bool calls = m->event || m->ends;
    m->refs = calls ? 2 : 1;
    m->next = NULL;
    m->generation = line->generation;
    m->seq = *seq = ++line->submitted;
    if (m->event) m->event->seq = m->seq;
    *line->end = m;
    line->end = &m->next;
    if (calls) {
        atomic_fetch_add(&line->refs, 1);
        ++line->callbacks;
    }
    pthread_mutex_unlock(&line->lock);
    if (!calls) return status;
    const dtp_cu_t *cu = line->gpu->cu;
    if (cu->cuStreamWaitEvent(line->aux, m->cu, 0) || cu->cuLaunchHostFunc(line->aux, heard, m))
        callback_is_over(m); /* whoever waits or polls gets along without it */
    return status;
}

/* With submit_lock and the context. */
static dnnl_tp_status_t submit_mark(dtp_gpu_line_t *line, const dtp_gpu_mark_t *what, uint64_t *seq) {
    mark_t *m = line->fetched;
    DTP_TRY(dtp_gpu_line_not_captured(line));
    if (m) {
        line->fetched = NULL;
        DTP_TRY(record_mark(line, m, NULL, seq));
    }
    DTP_TRY(take_mark(line, &m));
    const dnnl_tp_status_t status = fetch_word(line, m);
    if (!status) return record_mark(line, m, what, seq);
    take_back(line, m);
    return status;
}

dnnl_tp_status_t dtp_gpu_line_mark(dtp_gpu_line_t *line, const dtp_gpu_mark_t *what, uint64_t *seq) {
    DTP_TRY(dtp_gpu_enter(line->gpu));
    pthread_mutex_lock(&line->submit_lock);
    const dnnl_tp_status_t status = submit_mark(line, what, seq);
    pthread_mutex_unlock(&line->submit_lock);
    dtp_gpu_leave(line->gpu);
    return status;
}

dnnl_tp_status_t dtp_gpu_line_not_captured(dtp_gpu_line_t *line) {
    dtp_cu_capture_t capture = 0;
    if (DTP_LIKELY(!atomic_load_explicit(&line->is_shared, memory_order_relaxed))) return dnnl_tp_success;
    DTP_TRY(DTP_CU(line->gpu, cuStreamIsCapturing, line->stream, &capture));
    if (DTP_LIKELY(!capture)) return dnnl_tp_success;
    return dtp_fail(dnnl_tp_unimplemented, DTP_STREAM_CAPTURED,
                    "only executions can be captured, of primitives that were executed on the stream before");
}

uint64_t dtp_gpu_line_submitted(dtp_gpu_line_t *line) {
    pthread_mutex_lock(&line->lock);
    const uint64_t seq = line->submitted;
    pthread_mutex_unlock(&line->lock);
    return seq;
}

dnnl_tp_status_t dtp_gpu_line_fence(dtp_gpu_line_t *line, uint64_t *seq) {
    DTP_TRY(dtp_gpu_ours(line->gpu)); /* before a lock that a child of a fork may have inherited */
    if (atomic_load(&line->dirty)) {
        const dnnl_tp_status_t status = dtp_gpu_line_mark(line, NULL, seq);
        if (!status || !atomic_load(&line->gpu->poisoned)) return status;
    }
    pthread_mutex_lock(
        &line->submit_lock); /* the mark of another thread, for which dirty fell, has come into the list */
    *seq = dtp_gpu_line_submitted(line);
    pthread_mutex_unlock(&line->submit_lock);
    return dnnl_tp_success;
}

/* ---- Poison ------------------------------------------------------------------------------------------ */

void dtp_gpu_line_fail_locked(dtp_gpu_line_t *line, uint32_t generation, uint64_t from,
                              dnnl_tp_status_t status, const char *text) {
    if (line->poison && line->poisoned == generation) return;
    line->poison = status;
    line->poisoned = generation;
    line->poison_from = from;
    snprintf(line->text, sizeof line->text, "%s", text);
}

/* A sticky error, for instance: nothing comes any more. */
static void lose(dtp_gpu_line_t *line, const char *why) {
    char text[DTP_EVENT_TEXT];
    snprintf(text, sizeof text, "device %d: %s", line->gpu->device, why);
    pthread_mutex_lock(&line->lock);
    if (!line->lost) {
        line->lost = true;
        dtp_gpu_line_fail_locked(line, line->generation, line->done, dnnl_tp_runtime_error, text);
    }
    line->done = line->submitted;
    pthread_mutex_unlock(&line->lock);
}

/* The poison that holds for marks of a generation behind `seq` marks; text in the caller's array. */
static dnnl_tp_status_t poison_of(dtp_gpu_line_t *line, uint32_t generation, uint64_t seq,
                                  char text[DTP_EVENT_TEXT]) {
    pthread_mutex_lock(&line->lock);
    const bool holds = line->poison && line->poisoned == generation && seq > line->poison_from;
    const dnnl_tp_status_t status = holds ? line->poison : dnnl_tp_success;
    memcpy(text, line->text, sizeof line->text);
    pthread_mutex_unlock(&line->lock);
    return status;
}

dnnl_tp_status_t dtp_gpu_line_result(dtp_gpu_line_t *line) {
    char text[DTP_EVENT_TEXT];
    DTP_TRY(dtp_gpu_ours(line->gpu));
    if (atomic_load(&line->gpu->poisoned)) return dtp_gpu_poison(line->gpu);
    pthread_mutex_lock(&line->lock);
    const uint32_t generation = line->generation;
    pthread_mutex_unlock(&line->lock);
    const dnnl_tp_status_t status = poison_of(line, generation, UINT64_MAX, text);
    return status ? dtp_fail(status, DTP_ITEM_FAILED, "%s", text) : status;
}

void dtp_gpu_line_reset(dtp_gpu_line_t *line) {
    if (dtp_gpu_ours(line->gpu)) return;
    pthread_mutex_lock(&line->lock);
    ++line->generation;
    pthread_mutex_unlock(&line->lock);
}

/* ---- Settling ---------------------------------------------------------------------------------------- */

static void look_at_word(dtp_gpu_line_t *line, const mark_t *m) {
    if (!m->has_word || m->word->what == DTP_DATA_FINE) return;
    char text[DTP_DATA_TEXT];
    dtp_data_error_text(m->word, text);
    pthread_mutex_lock(&line->lock);
    dtp_gpu_line_fail_locked(line, m->generation, m->seq - 1, dnnl_tp_runtime_error, text);
    pthread_mutex_unlock(&line->lock);
}

static dnnl_tp_status_t end_run(dtp_gpu_line_t *line, mark_t *m, dnnl_tp_status_t status,
                                char text[DTP_EVENT_TEXT]) {
    dtp_chain_t chain = {.up = dtp_chain_top,
                         .kind = DTP_CHAIN_CALLBACK}; /* who waits in it waits for itself */
    dtp_chain_top = &chain;
    const dnnl_tp_status_t result = m->run.end(m->run.arg, status != dnnl_tp_success);
    dtp_chain_pop(&chain);
    if (status || !result) return status;
    snprintf(text, DTP_EVENT_TEXT, "%s", dtp_last_text());
    pthread_mutex_lock(&line->lock);
    dtp_gpu_line_fail_locked(line, m->generation, m->seq - 1, result, text);
    pthread_mutex_unlock(&line->lock);
    return result;
}

static void record(mark_t *m, dnnl_tp_status_t status) {
    dtp_trace_event_t *e = &m->traced.event;
    e->begin_ns = m->times[0];
    e->end_ns = m->times[1];
    e->status = (uint16_t)status;
    if (!status) dtp_trace_add(m->traced.trace, e);
    dtp_object_release(m->traced.trace);
    dtp_free(NULL, m->times);
    m->times = NULL;
}

static void settle_mark(dtp_gpu_line_t *line, mark_t *m) {
    char text[DTP_EVENT_TEXT];
    dtp_gpu_line_look_at_awaited(line, m->seq, m->generation);
    dtp_gpu_line_look_at_stamps(line, m->seq);
    if (!line->lost) look_at_word(line, m);
    dnnl_tp_status_t status = poison_of(line, m->generation, m->seq, text);
    if (m->ends) status = end_run(line, m, status, text);
    if (m->times) record(m, status);
    if (!m->event) return;
    const int64_t now = dtp_now_ns();
    const bool timed = line->item_ns[1] != 0;
    dtp_event_fire(m->event, status, status ? text : NULL, timed ? line->item_ns[0] : now,
                   timed ? line->item_ns[1] : now);
    m->event = NULL;
}

/* The stream has passed what it waited for in front of its head: an event of another line of the device has fired, or fires now, or is
 * left to whoever settles that line; then its firing settles this one. */
void dtp_gpu_line_settle(dtp_gpu_line_t *line) {
    dtp_event_t *asked = NULL; /* whose line was settled for it */
    pthread_mutex_lock(&line->lock);
    while (!line->settling && line->head && line->head->seq <= line->done) {
        dtp_event_t *event = line->lost ? NULL : dtp_gpu_line_followed_locked(line, line->head->seq);
        if (event) {
            const bool again = event == asked;
            pthread_mutex_unlock(&line->lock);
            dtp_object_release(asked);
            asked = event;
            if (!again) dtp_gpu_line_passed(event->source, event->seq);
            pthread_mutex_lock(&line->lock);
            if (again) break;
            continue;
        }
        mark_t *m = line->head;
        line->head = m->next;
        if (!line->head) line->end = &line->head;
        line->settling = true;
        pthread_mutex_unlock(&line->lock);
        settle_mark(line, m);
        pthread_mutex_lock(&line->lock);
        line->settling = false;
        atomic_store(&line->completed, m->seq);
        drop_locked(m);
        pthread_cond_broadcast(&line->changed);
    }
    pthread_mutex_unlock(&line->lock);
    dtp_object_release(asked);
}

void dtp_gpu_line_passed(dtp_gpu_line_t *line, uint64_t seq) {
    pthread_mutex_lock(&line->lock);
    if (line->done < seq) line->done = seq;
    pthread_mutex_unlock(&line->lock);
    dtp_gpu_line_settle(line);
}

/* The driver's host function behind a mark. */
static void heard(void *arg) {
    mark_t *m = arg;
    dtp_thread_is_borrowed = true;
    dtp_gpu_line_passed(m->line, m->seq);
    callback_is_over(m);
    dtp_thread_is_borrowed = false;
}

/* ---- Looking and waiting ----------------------------------------------------------------------------- */

void dtp_gpu_line_look(dtp_gpu_line_t *line) {
    pthread_mutex_lock(&line->lock);
    ++line->lookers;
    pthread_mutex_unlock(&line->lock);
}
static void unlook_locked(dtp_gpu_line_t *line) {
    if (--line->lookers == 0) pthread_cond_broadcast(&line->changed);
}
void dtp_gpu_line_unlook(dtp_gpu_line_t *line) {
    pthread_mutex_lock(&line->lock);
    unlook_locked(line);
    pthread_mutex_unlock(&line->lock);
}

static mark_t *hold_locked(mark_t *m) {
    if (!m) return NULL;
    ++m->refs;
    ++m->line->lookers;
    return m;
}
mark_t *dtp_gpu_mark_find_locked(dtp_gpu_line_t *line, uint64_t seq) {
    mark_t *m = line->head;
    while (m && m->seq < seq) m = m->next;
    return hold_locked(m && m->seq == seq ? m : NULL);
}

/* One look at a mark, in the driver until it is passed if `sleeps`. */
static dnnl_tp_status_t look(dtp_gpu_line_t *line, mark_t *m, bool sleeps) {
    dtp_gpu_t *gpu = line->gpu;
    dnnl_tp_status_t status = dtp_gpu_enter(gpu);
    if (!status) {
        const dtp_cu_capture_mode_t mode = dtp_gpu_relax(gpu);
        dtp_cu_result_t result = gpu->cu->cuEventQuery(m->cu);
        if (result == DTP_CU_NOT_READY && sleeps) result = gpu->cu->cuEventSynchronize(m->cu);
        dtp_gpu_restore(gpu, mode);
        if (result != DTP_CU_NOT_READY) status = dtp_gpu_check(gpu, result, "cuEventQuery");
        dtp_gpu_leave(gpu);
        if (result == DTP_CU_SUCCESS) dtp_gpu_line_passed(line, m->seq);
    }
    if (!atomic_load(&gpu->poisoned)) return status;
    lose(line, gpu->text);
    dtp_gpu_line_settle(line);
    return dnnl_tp_success;
}

void dtp_gpu_mark_drop(mark_t *m) {
    dtp_gpu_line_t *line = m->line;
    pthread_mutex_lock(&line->lock);
    drop_locked(m);
    unlook_locked(line);
    pthread_mutex_unlock(&line->lock);
}

dnnl_tp_status_t dtp_gpu_line_poll(dtp_gpu_line_t *line) {
    dnnl_tp_status_t status = dtp_gpu_ours(line->gpu);
    for (uint64_t before = UINT64_MAX; !status && before != atomic_load(&line->completed);) {
        before = atomic_load(&line->completed);
        pthread_mutex_lock(&line->lock);
        mark_t *m = hold_locked(line->head);
        pthread_mutex_unlock(&line->lock);
        if (!m) break;
        status = look(line, m, false);
        dtp_gpu_mark_drop(m);
    }
    return status;
}

/* Until another thread has settled more, or `until`, or a while. */
static void sleep_locked(dtp_gpu_line_t *line, int64_t until_ns) {
    enum { LOOK_NS = 1000000 };
    const int64_t until = dtp_min64(until_ns, dtp_now_ns() + LOOK_NS);
    const struct timespec t = {until / 1000000000, until % 1000000000};
    (void)pthread_cond_timedwait(&line->changed, &line->lock, &t);
}

/* Short work is polled, longer work is left to the driver, which cannot be told a deadline. */
static dnnl_tp_status_t wait_for_mark(dtp_gpu_line_t *line, mark_t *m, int64_t until_ns, int *looks) {
    enum { LOOKS = 64, LONGEST_NS = 200000 };
    const bool timed = until_ns != INT64_MAX, again = ++*looks > LOOKS;
    const dnnl_tp_status_t status = look(line, m, again && !timed);
    if (status || !again || !timed) return status;
    const int64_t left = dtp_min64(until_ns - dtp_now_ns(), LONGEST_NS);
    if (left > 0) nanosleep(&(struct timespec){0, left}, NULL);
    return status;
}

dnnl_tp_status_t dtp_gpu_line_wait(dtp_gpu_line_t *line, uint64_t seq, int64_t until_ns) {
    dnnl_tp_status_t status = dtp_gpu_ours(line->gpu);
    for (int looks = 0; !status && atomic_load(&line->completed) < seq;) {
        if (dtp_chain_top || dtp_thread_is_borrowed)
            return dtp_fail(dnnl_tp_would_deadlock, DTP_WOULD_DEADLOCK, "called from inside running work");
        if (looks && until_ns != INT64_MAX && dtp_now_ns() >= until_ns)
            return dtp_fail(dnnl_tp_timed_out, DTP_TIMED_OUT, "work of the stream is left");
        dtp_event_t *event = atomic_load(&line->gpu->poisoned) ? NULL : dtp_gpu_line_parked(line, seq);
        if (event) { /* its source may need this thread */
            status = event->v->wait(event, until_ns);
            dtp_object_release(event);
            ++looks;
            continue;
        }
        pthread_mutex_lock(&line->lock);
        mark_t *m = dtp_gpu_mark_find_locked(line, seq);
        if (!m && atomic_load(&line->completed) < seq) sleep_locked(line, until_ns), ++looks;
        pthread_mutex_unlock(&line->lock);
        if (!m) continue;
        status = wait_for_mark(line, m, until_ns, &looks);
        dtp_gpu_mark_drop(m);
    }
    return status;
}

void dtp_gpu_line_finish(dtp_gpu_line_t *line) {
    if (dtp_chain_top || dtp_gpu_enter(line->gpu)) return;
    const uint64_t seq = dtp_gpu_line_submitted(line);
    const bool done = !dtp_gpu_line_not_captured(line) && !dtp_gpu_synchronize(line->gpu, line->stream);
    dtp_gpu_leave(line->gpu);
    if (done) dtp_gpu_line_passed(line, seq);
}

/* ---- Events ------------------------------------------------------------------------------------------ */

static dnnl_tp_status_t event_poll(dtp_event_t *event) { return dtp_gpu_line_poll(event->source); }
static dnnl_tp_status_t event_wait(dtp_event_t *event, int64_t until_ns) {
    return dtp_gpu_line_wait(event->source, event->seq, until_ns);
}
static void event_wake(dtp_event_t *event) { (void)event; } /* nobody sleeps on the word */
const dtp_event_vtbl_t dtp_gpu_event = {event_poll, event_wait, event_wake, dtp_gpu_line_release};

/* ---- Life -------------------------------------------------------------------------------------------- */

static dnnl_tp_status_t equip(dtp_gpu_line_t *line, bool own, dtp_cu_stream_t stream) {
    dtp_gpu_t *gpu = line->gpu;
    line->stream = stream;
    if (own) {
        DTP_TRY(DTP_CU(gpu, cuStreamCreate, &line->stream, DTP_CU_STREAM_NON_BLOCKING));
        line->owns_stream = true;
    }
    return DTP_CU(gpu, cuStreamCreate, &line->aux, DTP_CU_STREAM_NON_BLOCKING);
}

dnnl_tp_status_t dtp_gpu_line_create(dtp_gpu_line_t **out, dnnl_tp_engine_t engine, bool own,
                                     dtp_cu_stream_t stream) {
    *out = NULL;
    dtp_gpu_line_t *line = dtp_zalloc(NULL, sizeof *line, DTP_CACHE_LINE);
    if (!line) return dtp_no_memory(sizeof *line);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&line->submit_lock, NULL);
    pthread_mutex_init(&line->lock, NULL);
    pthread_cond_init(&line->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    atomic_init(&line->refs, 1);
    line->end = &line->head;
    line->awaited_end = &line->awaited;
    line->stamps_end = &line->stamps;
    line->engine = dtp_object_retain(engine);
    line->gpu = dtp_gpu_retain(dtp_gpu_of(engine)->gpu);
    const dnnl_tp_status_t status = equip(line, own, stream);
    if (status) dtp_gpu_line_close(line);
    else *out = line;
    return status;
}

static void destroy_mark(dtp_gpu_line_t *line, mark_t *m) {
    (void)line->gpu->cu->cuEventDestroy(m->cu);
    pthread_mutex_lock(&line->lock);
    const bool is_held = m->refs != 0;
    pthread_mutex_unlock(&line->lock);
    if (is_held || atomic_load(&line->gpu->poisoned)) { /* a call of `heard` never came, or may come yet */
        dtp_gpu_abandon(m);
        return;
    }
    dtp_gpu_slot_give(line->gpu, m->word);
    dtp_free(line->engine->allocator, m);
}

/* The driver calls soon, but after an error of the device: then it may have called for the last time. */
static void wait_for_callbacks(dtp_gpu_line_t *line) {
    dtp_cu_result_t result = DTP_CU_NOT_READY;
    pthread_mutex_lock(&line->lock);
    while (line->callbacks && result == DTP_CU_NOT_READY && !atomic_load(&line->gpu->poisoned)) {
        sleep_locked(line, INT64_MAX);
        pthread_mutex_unlock(&line->lock);
        result = line->gpu->cu->cuStreamQuery(line->aux);
        if (result != DTP_CU_NOT_READY) (void)dtp_gpu_check(line->gpu, result, "cuStreamQuery");
        pthread_mutex_lock(&line->lock);
    }
    pthread_mutex_unlock(&line->lock);
}

static void wait_for_lookers(dtp_gpu_line_t *line) {
    pthread_mutex_lock(&line->lock);
    while (line->lookers) sleep_locked(line, INT64_MAX);
    pthread_mutex_unlock(&line->lock);
}

static bool has_marks(dtp_gpu_line_t *line, uint64_t *last) {
    pthread_mutex_lock(&line->lock);
    *last = line->submitted;
    const bool has = line->head != NULL;
    pthread_mutex_unlock(&line->lock);
    return has;
}
/* No mark is left in the list: a thread that waits for all devices may have made one while the stream was waited for. Where the driver
 * cannot be waited for, what is left has failed. */
static void end_marks(dtp_gpu_line_t *line) {
    uint64_t last;
    if (has_marks(line, &last) && !dtp_gpu_enter(line->gpu)) {
        const dnnl_tp_status_t status = dtp_gpu_synchronize(line->gpu, line->stream);
        dtp_gpu_leave(line->gpu);
        if (!status) dtp_gpu_line_passed(line, last);
    }
    if (!has_marks(line, &last)) return;
    lose(line, "the driver could not be waited for");
    dtp_gpu_line_settle(line);
}

void dtp_gpu_line_close(dtp_gpu_line_t *line) {
    dtp_gpu_t *gpu = line->gpu;
    const dtp_cu_t *cu = gpu->cu;
    if (!dtp_gpu_ours(gpu)) {
        wait_for_lookers(line);
        end_marks(line);
    }
    if (dtp_gpu_enter_to_free(gpu)) {
        const dtp_cu_capture_mode_t mode = dtp_gpu_relax(gpu);
        wait_for_callbacks(line);
        if (line->aux) (void)cu->cuStreamSynchronize(line->aux); /* `heard` has returned, too */
        dtp_gpu_line_drop_awaited(line);
        dtp_gpu_line_drop_stamps(line);
        dtp_gpu_free_on(line->engine, line->word, line->stream);
        dtp_gpu_free_on(line->engine, line->scratch, line->stream);
        for (struct kept_scratch *k; (k = line->kept) != NULL;) {
            line->kept = k->next;
            dtp_gpu_free_on(line->engine, k->scratch, line->stream);
            dtp_free(NULL, k);
        }
        if (line->owns_stream) (void)cu->cuStreamSynchronize(line->stream);
        dtp_gpu_line_drop_stages(line);
        for (mark_t *m; (m = line->marks) != NULL;) {
            line->marks = m->all;
            destroy_mark(line, m);
        }
        if (line->aux) (void)cu->cuStreamDestroy(line->aux);
        if (line->owns_stream) (void)cu->cuStreamDestroy(line->stream);
        dtp_gpu_restore(gpu, mode);
        dtp_gpu_leave(gpu);
    }
    dtp_object_release(line->engine);
    line->engine = NULL;
    dtp_gpu_line_release(line);
}

void dtp_gpu_line_release(void *arg) {
    dtp_gpu_line_t *line = arg;
    if (atomic_fetch_sub(&line->refs, 1) != 1) return;
    pthread_mutex_destroy(&line->submit_lock);
    pthread_mutex_destroy(&line->lock);
    pthread_cond_destroy(&line->changed);
    dtp_gpu_release(line->gpu);
    dtp_free(NULL, line);
}
