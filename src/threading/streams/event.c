/* Events: life, firing, callbacks, host events; the state machine stands in event.h. Events of queues:
 * queue_events.c. */
#include "threading/streams/event.h"

#include <stdio.h>

#include "threading/pools/record.h"

/* ---- Life -------------------------------------------------------------------------------------------- */

static void event_destroy(dtp_object_t *object) {
    dtp_event_t *event = (dtp_event_t *)object;
    for (dtp_callback_t *node; (node = dtp_event_take_kept(event)) != NULL;) dtp_free(NULL, node);
    if (event->source) event->v->drop(event->source);
}

dnnl_tp_status_t dtp_event_create(dtp_event_t **event, const dtp_event_vtbl_t *v, void *source,
                                  uint64_t seq) {
    dtp_event_t *e = dtp_object_create(NULL, sizeof(*e), DTP_OBJ_EVENT, event_destroy);
    *event = e;
    if (!e) {
        if (source) v->drop(source);
        return dnnl_tp_out_of_memory;
    }
    e->v = v;
    e->source = source;
    e->seq = seq;
    e->fork_generation = DTP_LOAD(&dtp_fork_generation, relaxed);
    return dnnl_tp_success;
}

/* ---- Firing ------------------------------------------------------------------------------------------ */

static void publish_word(dtp_event_t *event, dnnl_tp_status_t status) {
#ifdef DTP_BREAK_EVENT_WAKE
    uint32_t old = DTP_LOAD(&event->word, acquire);
    DTP_PREEMPT_POINT();
    DTP_STORE(&event->word, 2 | (uint32_t)status << 8, release);
#else
    uint32_t old = DTP_SWAP(&event->word, 2 | (uint32_t)status << 8, acq_rel);
#endif
    if (old == 1) event->v->wake(event);
}

static dtp_callback_t *oldest_first(dtp_callback_t *list) {
    dtp_callback_t *out = NULL;
    while (list) {
        dtp_callback_t *next = list->next;
        list->next = out;
        out = list;
        list = next;
    }
    return out;
}

/* Callbacks of a done event, now; or, if this thread is in a callback and they may wait (later), after it: a chain
 * of events that signal each other takes no stack. They are not part of the run in which this thread is. */
static void call_back(dtp_callback_t *first, dtp_event_t *event, bool later) {
    dtp_callback_t **end = &first;
    for (; *end; end = &(*end)->next) (*end)->event = dtp_object_retain(event);
    dtp_chain_t *top = dtp_chain_top;
#ifdef DTP_BREAK_EVENT_DUE
    later = false;
#endif
    if (later && top && top->due_end) {
        *top->due_end = first;
        top->due_end = end;
        return;
    }
    dtp_chain_t chain = {.up = top, .kind = DTP_CHAIN_CALLBACK, .due = first, .due_end = end};
    const dtp_share_t *here = dtp_share_here;
    const uint32_t forks = DTP_LOAD(&dtp_fork_generation, relaxed);
    dtp_chain_top = &chain;
    dtp_share_here = NULL;
    for (dtp_callback_t *node; (node = chain.due) != NULL;) {
        chain.due = node->next;
        if (!chain.due) chain.due_end = &chain.due;
        dtp_event_t *its = node->event;
        node->fn(node, its, dtp_event_status(its));
        if (dtp_is_parents(forks)) break; /* the child that fn forked came back: the rest is the parent's */
        dtp_object_release(its);
    }
    dtp_share_here = here;
    dtp_chain_pop(&chain);
}

static void fire(dtp_event_t *event, dnnl_tp_status_t status, const char *text, int64_t begin_ns,
                 int64_t end_ns, bool later) {
    event->begin_ns = begin_ns;
    event->end_ns = end_ns;
    if (text) snprintf(event->text, sizeof(event->text), "%s", text);
#ifdef DTP_BREAK_EVENT_OPEN
    uintptr_t list = DTP_SWAP(&event->callbacks, 0, acq_rel);
#else
    uintptr_t list = DTP_SWAP(&event->callbacks, dtp_event_closed_with(status), acq_rel);
#endif
    DTP_PREEMPT_POINT();
    publish_word(event, status);
    dtp_callback_t *first = oldest_first((dtp_callback_t *)list);
    if (first) call_back(first, event, later);
    dtp_object_release(event);
}

void dtp_event_fire(dtp_event_t *event, dnnl_tp_status_t status, const char *text, int64_t begin_ns,
                    int64_t end_ns) {
    fire(event, status, text, begin_ns, end_ns, false);
}

void dtp_event_add(dtp_event_t *event, dtp_callback_t *node) {
    uintptr_t list;
    while (!((list = DTP_LOAD(&event->callbacks, acquire)) & DTP_EVENT_CLOSED)) {
        node->next = (dtp_callback_t *)list;
        DTP_PREEMPT_POINT();
        if (DTP_CAS_WEAK(&event->callbacks, &list, (uintptr_t)node, acq_rel)) return;
    }
#ifndef DTP_BREAK_EVENT_QUERY
    publish_word(event, (dnnl_tp_status_t)(list >> 1));
#endif
    node->next = NULL;
    call_back(node, event, true);
}

void dtp_event_keep(dtp_event_t *event, dtp_callback_t *node) {
    dtp_lock(&event->kept_lock);
    node->kept = DTP_LOAD(&event->kept, relaxed);
    DTP_STORE(&event->kept, node, release); /* a child that is forked in between finds a whole list */
    dtp_unlock(&event->kept_lock);
}

dtp_callback_t *dtp_event_take_kept(dtp_event_t *event) {
    if (!DTP_LOAD(&event->kept, relaxed)) return NULL;
    dtp_lock(&event->kept_lock);
    dtp_callback_t *node = DTP_LOAD(&event->kept, relaxed);
    if (node) DTP_STORE(&event->kept, node->kept, release);
    dtp_unlock(&event->kept_lock);
    return node;
}

/* ---- Waiting ----------------------------------------------------------------------------------------- */

dnnl_tp_status_t dtp_host_event_wait(dtp_event_t *event, int64_t until_ns) {
    if (dtp_chain_top)
        return dtp_fail(dnnl_tp_would_deadlock, DTP_WOULD_DEADLOCK, "called from inside running work");
    for (;;) {
        uint32_t word = DTP_LOAD(&event->word, acquire);
        if (word >= 2) return dnnl_tp_success;
        int64_t left = -1;
        if (until_ns != INT64_MAX) {
            left = until_ns - dtp_now_ns();
            if (left <= 0) return dtp_fail(dnnl_tp_timed_out, DTP_TIMED_OUT, "the event was not signalled");
        }
        if (word == 0 && !DTP_CAS(&event->word, &word, 1, acquire)) continue;
        dtp_futex_wait(&event->word, 1, left);
    }
}

void dtp_host_event_wake(dtp_event_t *event) { dtp_futex_wake(&event->word, INT_MAX); }

static dnnl_tp_status_t poll_host(dtp_event_t *event) {
    (void)event;
    return dnnl_tp_success;
}

const dtp_event_vtbl_t dtp_host_event = {poll_host, dtp_host_event_wait, dtp_host_event_wake, NULL};

dnnl_tp_status_t dtp_event_check(const dtp_event_t *event) {
    if (!dtp_is_parents(event->fork_generation) || dtp_event_is_done(event)) return dnnl_tp_success;
    return dtp_refuse_parents("event");
}

dnnl_tp_status_t dtp_event_wait(dtp_event_t *event, int64_t timeout_ns) {
    if (dtp_event_is_done(event)) return dnnl_tp_success;
    DTP_TRY(dtp_event_check(event));
    return event->v->wait(event, dtp_until_ns(timeout_ns));
}

/* ---- Calls of the program ---------------------------------------------------------------------------- */

dnnl_tp_status_t dnnl_tp_event_create_host(dnnl_tp_event_t *event, dnnl_tp_engine_t engine) {
    DTP_OUT(event, NULL);
    DTP_REQUIRE_HANDLE(engine, DTP_OBJ_ENGINE);
    DTP_TRY(dtp_event_create(event, &dtp_host_event, NULL, 0));
    (*event)->host = true;
    return dnnl_tp_success;
}

/* False: somebody else has signalled. */
static bool signal_once(dtp_event_t *event, dnnl_tp_status_t status, const char *text) {
    if (DTP_SWAP(&event->claimed, true, acq_rel)) return false;
    int64_t now = dtp_now_ns();
    dtp_object_retain(event); /* fire drops one */
    fire(event, status, text, now, now, true);
    return true;
}

dnnl_tp_status_t dnnl_tp_event_signal(dnnl_tp_event_t event, dnnl_tp_status_t status) {
    DTP_REQUIRE_HANDLE(event, DTP_OBJ_EVENT);
    DTP_REQUIRE(event->host, BAD_EVENT, "the event belongs to a stream");
    DTP_TRY(dtp_event_check(event));
    DTP_REQUIRE((unsigned)status <= UINT16_MAX, BAD_ENUM, "status is %d", (int)status);
    char text[DTP_EVENT_TEXT];
    const char *said = dtp_said(status);
    snprintf(text, sizeof(text), "signalled with %s%s%s", dnnl_tp_status2str(status), said ? ": " : "",
             said ? said : "");
    DTP_REQUIRE(signal_once(event, status, status == dnnl_tp_success ? NULL : text), BAD_EVENT,
                "the event was signalled before");
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_event_query(dnnl_tp_event_t event, int *done, dnnl_tp_status_t *result) {
    DTP_OUT(done, 0);
    if (result) *result = dnnl_tp_success;
    DTP_REQUIRE_HANDLE(event, DTP_OBJ_EVENT);
    dnnl_tp_status_t status = dnnl_tp_success;
    dtp_object_retain(event); /* a callback of what the look runs may destroy it */
    if (!dtp_event_is_done(event)) status = dtp_event_check(event);
    if (status == dnnl_tp_success && !dtp_event_is_done(event)) status = event->v->poll(event);
    if (dtp_event_is_done(event)) {
        *done = 1;
        if (result) *result = dtp_event_status(event);
    }
    dtp_object_release(event);
    return status;
}

dnnl_tp_status_t dnnl_tp_event_wait(dnnl_tp_event_t event, int64_t timeout_ns, dnnl_tp_status_t *result) {
    if (result) *result = dnnl_tp_success;
    DTP_REQUIRE_HANDLE(event, DTP_OBJ_EVENT);
    dtp_object_retain(event); /* others may destroy it meanwhile, also its own callback */
    dnnl_tp_status_t status = dtp_event_wait(event, timeout_ns);
    if (status == dnnl_tp_success) {
        const dnnl_tp_status_t its = dtp_event_status(event);
        if (result) *result = its;
        else if (its != dnnl_tp_success) status = dtp_fail(its, DTP_ITEM_FAILED, "%s", event->text);
    }
    dtp_object_release(event);
    DTP_RETURN(status);
}

typedef struct {
    dtp_callback_t node;
    dnnl_tp_event_fn_t fn;
    void *arg;
} user_callback_t;

static void run_user_callback(dtp_callback_t *node, dtp_event_t *event, dnnl_tp_status_t status) {
    (void)event;
    user_callback_t u = *(user_callback_t *)node;
    dtp_free(NULL, node);
    u.fn(u.arg, status);
}

dnnl_tp_status_t dnnl_tp_event_on_complete(dnnl_tp_event_t event, dnnl_tp_event_fn_t fn, void *arg) {
    DTP_REQUIRE_HANDLE(event, DTP_OBJ_EVENT);
    DTP_REQUIRE(fn, NULL_ARG, "fn is NULL");
    DTP_TRY(dtp_event_check(event));
    user_callback_t *u = dtp_alloc(NULL, sizeof(*u), 0);
    if (!u) DTP_RETURN(dtp_no_memory(sizeof(*u)));
    *u = (user_callback_t){.node.fn = run_user_callback, .fn = fn, .arg = arg};
    dtp_object_retain(event); /* the callback may destroy it */
    dtp_event_add(event, &u->node);
    dtp_object_release(event);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_event_get_error(dnnl_tp_event_t event, const char **text) {
    DTP_OUT(text, "");
    DTP_REQUIRE_HANDLE(event, DTP_OBJ_EVENT);
    DTP_REQUIRE(dtp_event_is_done(event), NOT_IN_ORDER, "the event is pending");
    *text = event->text;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_event_get_times(dnnl_tp_event_t event, int64_t *begin_ns, int64_t *end_ns) {
    DTP_REQUIRE(begin_ns && end_ns, NULL_ARG, "begin_ns or end_ns is NULL");
    *begin_ns = *end_ns = 0;
    DTP_REQUIRE_HANDLE(event, DTP_OBJ_EVENT);
    DTP_REQUIRE(dtp_event_is_done(event), NOT_IN_ORDER, "the event is pending");
    *begin_ns = event->begin_ns;
    *end_ns = event->end_ns;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_event_destroy(dnnl_tp_event_t event) {
    if (!event) return dnnl_tp_success;
    DTP_REQUIRE_HANDLE(event, DTP_OBJ_EVENT);
    /* Nobody else could signal it: streams that wait for it would never go on. */
    if (event->host && dtp_event_check(event) == dnnl_tp_success)
        (void)signal_once(event, dnnl_tp_cancelled, "the event was destroyed without a signal");
    dtp_object_release(event);
    return dnnl_tp_success;
}
