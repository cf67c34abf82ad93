/* Streams of the far engine: in order, each on a thread of its own, with delays; see far_engine.h and far_core.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/far_engine/far_core.h"
#include "threading/pools/record.h"
#include "threading/streams/stream_attr.h"
#include "threading/streams/sync.h"

typedef struct {
    struct dnnl_tp_stream base;
    core_t *core;
    bool started;
} far_stream_t;

/* more: bytes behind the item, for the caller's use. */
static item_t *new_item(const far_stream_t *s, work_t work_of, size_t more) {
    item_t *item = dtp_zalloc(s->core->allocator, sizeof *item + more, DTP_CACHE_LINE);
    if (!item) {
        (void)dtp_no_memory(sizeof *item + more);
        return NULL;
    }
    item->work = work_of;
    item->stream = (dnnl_tp_stream_t)(uintptr_t)&s->base;
    return item;
}

static void submit(core_t *c, item_t *item) {
    pthread_mutex_lock(&c->lock);
    item->generation = c->generation;
    *c->end = item;
    c->end = &item->next;
    ++c->submitted;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

/* ---- What is submitted ------------------------------------------------------------------------------- */

static dnnl_tp_status_t far_execute(dnnl_tp_stream_t stream, const dtp_primitive_t *primitive, int nptrs,
                                    void *const *ptrs, const dtp_md_t *const *mds,
                                    const dtp_run_part_t *part) {
    far_stream_t *s = (far_stream_t *)stream;
    const size_t n = (size_t)nptrs;
    item_t *item =
        new_item(s, EXECUTE, (n + 1) * sizeof(void *) + n * (sizeof(dtp_md_t *) + sizeof(dtp_md_t)));
    if (!item) return dnnl_tp_out_of_memory;
    item->nptrs = nptrs;
    item->ptrs = (void **)(item + 1);
    memcpy(item->ptrs, ptrs, (n + 1) * sizeof *ptrs);
    if (mds) {
        item->mds = (const dtp_md_t **)(item->ptrs + n + 1);
        dtp_md_t *md = (dtp_md_t *)(void *)(item->mds + n);
        for (size_t i = 0; i < n; ++i) {
            if (mds[i]) md[i] = *mds[i];
            item->mds[i] = mds[i] ? &md[i] : NULL;
        }
    }
    item->primitive = dtp_object_retain((void *)(uintptr_t)primitive);
    item->has_part = part != NULL;
    if (part) item->part = *part;
    if (!part && stream->trace && dtp_trace_on(stream->trace)) {
        dtp_trace_primitive(&item->traced, dtp_object_retain(stream->trace), stream->trace_lane, primitive);
        item->submit_ns = dtp_now_ns();
    }
    submit(s->core, item);
    return dnnl_tp_success;
}

dnnl_tp_status_t far_copy(dnnl_tp_stream_t stream, dtp_copy_t how, void *to, const void *from, size_t bytes) {
    far_stream_t *s = (far_stream_t *)stream;
    item_t *item = new_item(s, COPY, 0);
    if (!item) return dnnl_tp_out_of_memory;
    item->how = how;
    item->to = to;
    item->from = from;
    item->bytes = bytes;
    submit(s->core, item);
    return dnnl_tp_success;
}

static dnnl_tp_status_t far_stamp(dnnl_tp_stream_t stream, int64_t *ns) {
    far_stream_t *s = (far_stream_t *)stream;
    item_t *item = new_item(s, STAMP, 0);
    if (!item) return dnnl_tp_out_of_memory;
    item->stamp = ns;
    submit(s->core, item);
    return dnnl_tp_success;
}

dnnl_tp_status_t far_zero_pad(dnnl_tp_stream_t stream, const dtp_md_t *md, void *handle) {
    far_stream_t *s = (far_stream_t *)stream;
    item_t *item = new_item(s, PAD, 0);
    if (!item) return dnnl_tp_out_of_memory;
    item->to = handle;
    item->pad = *md;
    item->bytes = dtp_md_size(md) + (size_t)md->offset0 * dtp_type_size(md->data_type);
    submit(s->core, item);
    return dnnl_tp_success;
}

/* ---- Waiting ----------------------------------------------------------------------------------------- */

/* What the item at the head waits for, retained, if that has not happened. */
static dtp_event_t *parked_locked(const core_t *c) {
    const item_t *head = c->head;
    if (!head || head->work != WAIT || far_poison_of_locked(c, head->generation)) return NULL;
    return dtp_event_is_done(head->event) ? NULL : dtp_object_retain(head->event);
}

static dnnl_tp_status_t wait_seq(core_t *c, uint64_t seq, int64_t until_ns) {
    dnnl_tp_status_t status = dnnl_tp_success;
    pthread_mutex_lock(&c->lock);
    if (c->completed < seq && dtp_chain_top)
        status = dtp_fail(dnnl_tp_would_deadlock, DTP_WOULD_DEADLOCK, "called from inside running work");
    while (c->completed < seq && !status) {
        const bool timed = until_ns != INT64_MAX;
        dtp_event_t *event = parked_locked(c);
        if (event) { /* its source may need this thread */
            pthread_mutex_unlock(&c->lock);
            status = event->v->wait(event, until_ns);
            dtp_object_release(event);
            pthread_mutex_lock(&c->lock);
        } else if (!timed) {
            pthread_cond_wait(&c->changed, &c->lock);
        } else if (dtp_now_ns() >= until_ns) {
            status = dtp_fail(dnnl_tp_timed_out, DTP_TIMED_OUT, "items are left");
        } else {
            const struct timespec t = {until_ns / 1000000000, until_ns % 1000000000};
            (void)pthread_cond_timedwait(&c->changed, &c->lock, &t);
        }
    }
    pthread_mutex_unlock(&c->lock);
    return status;
}

static dnnl_tp_status_t result_of(core_t *c) {
    char text[DTP_EVENT_TEXT];
    pthread_mutex_lock(&c->lock);
    dnnl_tp_status_t status = far_poison_of_locked(c, c->generation);
    memcpy(text, c->text, sizeof text);
    pthread_mutex_unlock(&c->lock);
    return status ? dtp_fail(status, DTP_ITEM_FAILED, "%s", text) : status;
}

static uint64_t submitted(core_t *c) {
    pthread_mutex_lock(&c->lock);
    const uint64_t seq = c->submitted;
    pthread_mutex_unlock(&c->lock);
    return seq;
}

static dnnl_tp_status_t far_wait(dnnl_tp_stream_t stream, int64_t timeout_ns) {
    core_t *c = ((far_stream_t *)stream)->core;
    dnnl_tp_status_t status = wait_seq(c, submitted(c), dtp_until_ns(timeout_ns));
    return status ? status : result_of(c);
}

static dnnl_tp_status_t far_query(dnnl_tp_stream_t stream, bool *idle, dnnl_tp_status_t *result) {
    core_t *c = ((far_stream_t *)stream)->core;
    pthread_mutex_lock(&c->lock);
    *idle = c->completed == c->submitted;
    *result = far_poison_of_locked(c, c->generation);
    pthread_mutex_unlock(&c->lock);
    return dnnl_tp_success;
}

static dnnl_tp_status_t far_reset(dnnl_tp_stream_t stream) {
    core_t *c = ((far_stream_t *)stream)->core;
    pthread_mutex_lock(&c->lock);
    ++c->generation;
    pthread_mutex_unlock(&c->lock);
    return dnnl_tp_success;
}

/* ---- Events ------------------------------------------------------------------------------------------ */

static dnnl_tp_status_t event_poll(dtp_event_t *event) {
    (void)event; /* its thread goes on by itself */
    return dnnl_tp_success;
}
static dnnl_tp_status_t event_wait(dtp_event_t *event, int64_t until_ns) {
    return wait_seq(event->source, event->seq, until_ns);
}
static void event_drop(void *core) { far_core_release(core); }
static const dtp_event_vtbl_t far_event = {event_poll, event_wait, dtp_host_event_wake, event_drop};

static dnnl_tp_status_t submit_event(dnnl_tp_stream_t stream, const dtp_stream_run_t *run,
                                     dnnl_tp_event_t *event) {
    far_stream_t *s = (far_stream_t *)stream;
    core_t *c = s->core;
    *event = NULL;
    item_t *item = new_item(s, run ? END : EVENT, 0);
    if (!item) return dnnl_tp_out_of_memory;
    atomic_fetch_add(&c->refs, 1);
    dnnl_tp_status_t status = dtp_event_create(event, &far_event, c, submitted(c) + 1);
    if (status) {
        far_item_free(c, item);
        return status;
    }
    item->event = dtp_object_retain(*event);
    if (run) item->run = *run;
    submit(c, item);
    return dnnl_tp_success;
}
static dnnl_tp_status_t far_record_event(dnnl_tp_stream_t stream, dnnl_tp_event_t *event) {
    return submit_event(stream, NULL, event);
}
static dnnl_tp_status_t far_submit_run(dnnl_tp_stream_t stream, const dtp_stream_run_t *run,
                                       dnnl_tp_event_t *event) {
    if (run->fn) far_wrong("a run whose steps the host does not submit");
    return submit_event(stream, run, event);
}

static dnnl_tp_status_t far_wait_event(dnnl_tp_stream_t stream, dnnl_tp_event_t event) {
    far_stream_t *s = (far_stream_t *)stream;
    core_t *c = s->core;
    if (dtp_event_is_done(event) && dtp_event_status(event) == dnnl_tp_success) return dnnl_tp_success;
    item_t *item = new_item(s, WAIT, 0);
    if (!item) return dnnl_tp_out_of_memory;
    waiter_t *w = calloc(1, sizeof *w);
    if (!w) {
        far_item_free(c, item);
        return dtp_no_memory(sizeof *w);
    }
    w->node.fn = far_waiter_fired;
    w->core = c;
    w->refs = 2;
    atomic_fetch_add(&c->refs, 1);
    item->waiter = w;
    item->event = dtp_object_retain(event);
    submit(c, item);
    dtp_event_add(event, &w->node);
    return dnnl_tp_success;
}

/* ---- Life -------------------------------------------------------------------------------------------- */

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static core_t *cores;

static dnnl_tp_status_t wait_note(void *core, uint64_t seq, int64_t until_ns) {
    dnnl_tp_status_t status = wait_seq(core, seq, until_ns);
    return status ? status : result_of(core);
}
dnnl_tp_status_t far_sync(dnnl_tp_engine_t engine, dtp_sync_t *sync) {
    dnnl_tp_status_t status = dnnl_tp_success;
    pthread_mutex_lock(&list_lock);
    for (core_t *c = cores; c && !status; c = c->next_core) {
        if (engine && c->engine != engine) continue;
        atomic_fetch_add(&c->refs, 1);
        status = dtp_sync_note(sync, &(dtp_sync_note_t){c, submitted(c), wait_note, event_drop});
    }
    pthread_mutex_unlock(&list_lock);
    return status;
}

static void link_core(core_t *c) {
    pthread_mutex_lock(&list_lock);
    c->next_core = cores;
    if (cores) cores->prev_core = c;
    cores = c;
    pthread_mutex_unlock(&list_lock);
}
static void unlink_core(core_t *c) {
    pthread_mutex_lock(&list_lock);
    if (c->prev_core) c->prev_core->next_core = c->next_core;
    else cores = c->next_core;
    if (c->next_core) c->next_core->prev_core = c->prev_core;
    pthread_mutex_unlock(&list_lock);
}

static dnnl_tp_status_t far_close(dnnl_tp_stream_t stream) {
    core_t *c = ((far_stream_t *)stream)->core;
    dnnl_tp_status_t status = wait_seq(c, submitted(c), INT64_MAX);
    if (status) return status;
    unlink_core(c);
    pthread_mutex_lock(&c->lock);
    c->closing = true;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL); /* not of itself: its callbacks get would_deadlock above */
    free(c->scratch);
    dtp_object_release(stream);
    return dnnl_tp_success;
}

static dnnl_tp_status_t far_set_trace(dnnl_tp_stream_t stream, dnnl_tp_trace_t trace, const char *name) {
    dtp_object_release(stream->trace);
    stream->trace = dtp_object_retain(trace);
    stream->trace_lane = trace ? dtp_trace_stream(trace, name) : 0;
    return dnnl_tp_success;
}

static void far_stream_destroy(dtp_object_t *object) {
    far_stream_t *s = (far_stream_t *)object;
    if (s->core) far_core_release(s->core);
    dtp_object_release(s->base.trace);
    dtp_object_release(s->base.attr);
    dtp_object_release(s->base.engine);
}

static const dtp_stream_vtbl_t far_stream_vtbl = {.execute = far_execute,
                                                  .wait = far_wait,
                                                  .close = far_close,
                                                  .submit_run = far_submit_run,
                                                  .record_event = far_record_event,
                                                  .wait_event = far_wait_event,
                                                  .query = far_query,
                                                  .reset = far_reset,
                                                  .set_trace = far_set_trace,
                                                  .stamp = far_stamp};
/* The same of streams that cannot tell times. */
static dtp_stream_vtbl_t without_times;
static void fill_without_times(void) {
    without_times = far_stream_vtbl;
    without_times.stamp = NULL;
}
static const dtp_stream_vtbl_t *vtbl_of(bool no_times) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_without_times);
    return no_times ? &without_times : &far_stream_vtbl;
}

static core_t *new_core(dnnl_tp_engine_t engine) {
    static _Atomic uint64_t streams;
    core_t *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    atomic_init(&c->refs, 1);
    c->end = &c->head;
    c->engine = engine;
    c->device = engine->index;
    c->allocator = engine->allocator;
    const char *seed = getenv("DNNL_TP_TEST_SEED");
    c->random =
        (seed ? strtoull(seed, NULL, 0) : 1) * 0x9e3779b97f4a7c15u + 2 * atomic_fetch_add(&streams, 1) + 1;
    return c;
}

dnnl_tp_status_t far_stream_create(dnnl_tp_stream_t *stream, dnnl_tp_engine_t engine, unsigned flags,
                                   const dtp_stream_attr_t *attr) {
    *stream = NULL;
    far_stream_own_t own;
    DTP_TRY(dtp_own_get(attr ? attr->own : NULL, &own, sizeof own));
    far_stream_t *s = dtp_object_create(engine->allocator, sizeof *s, DTP_OBJ_STREAM, far_stream_destroy);
    if (!s) return dnnl_tp_out_of_memory;
    s->base.engine = dtp_object_retain(engine);
    s->base.v = vtbl_of(own.no_times);
    s->base.flags = flags;
    dnnl_tp_status_t status = dnnl_tp_stream_attr_create(&s->base.attr, dnnl_tp_gpu);
    if (!status && attr) dtp_stream_attr_assign(s->base.attr, attr);
    if (!status && !(s->core = new_core(engine))) status = dtp_no_memory(sizeof(core_t));
    if (!status && pthread_create(&s->core->thread, NULL, far_core_run, s->core))
        status = dtp_fail(dnnl_tp_runtime_error, DTP_ITEM_FAILED, "no thread");
    if (status) {
        dtp_object_release(s);
        return status;
    }
    link_core(s->core);
    if (dtp_verbose_on(DTP_VERBOSE_CREATE)) dtp_verbose_line("create,stream,far,device:%zu", engine->index);
    *stream = &s->base;
    return dnnl_tp_success;
}
