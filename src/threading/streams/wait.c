/* Waiting for events without a thread; see wait.h. */
#include "threading/streams/wait.h"

static const char has_arrived; /* its address: dtp_wait_t.waiter once the event was there */
#define ARRIVED ((void *)(uintptr_t)&has_arrived)

static void wait_release(dtp_wait_t *w) {
    if (DTP_SUB(&w->refs, 1, acq_rel) == 1) dtp_free(NULL, w);
}

static void wait_arrived(dtp_callback_t *node, dtp_event_t *event, dnnl_tp_status_t status) {
    (void)event;
    dtp_wait_t *w = (dtp_wait_t *)node;
    void *waiter = DTP_SWAP(&w->waiter, ARRIVED, acq_rel);
    DTP_PREEMPT_POINT();
    if (waiter) w->arrived(w, waiter, status);
    wait_release(w);
}

/* A cancelled node that is still in the event's list, or NULL. */
static dtp_wait_t *take_kept(dtp_event_t *event) {
    for (dtp_wait_t *w; (w = (dtp_wait_t *)dtp_event_take_kept(event)) != NULL;) {
        if (DTP_LOAD(&w->waiter, acquire) != ARRIVED) return w;
        wait_release(w);
    }
    return NULL;
}

dnnl_tp_status_t dtp_wait_prepare(dtp_wait_t **wait, dtp_event_t *event,
                                  void (*arrived)(dtp_wait_t *wait, void *waiter, dnnl_tp_status_t status)) {
    enum { LIST_AND_WAITER = 2 };
    *wait = NULL;
    DTP_TRY(dtp_event_check(event));
    dtp_wait_t *w = take_kept(event);
    if (!w) {
        w = dtp_zalloc(NULL, sizeof(*w), 0);
        if (!w) return dtp_no_memory(sizeof(*w));
        w->node.fn = wait_arrived;
        atomic_init(&w->refs, LIST_AND_WAITER);
    }
    w->arrived = arrived;
    w->event = dtp_object_retain(event);
    *wait = w;
    return dnnl_tp_success;
}

void dtp_wait_arm(dtp_wait_t *w, void *waiter) {
    if (!w->listed) {
        /* It may be cancelled before it is in the list, and ended: then the event is needed all the same. */
        dtp_event_t *event = dtp_object_retain(w->event);
        w->listed = true;
        DTP_STORE(&w->waiter, waiter, release);
        DTP_PREEMPT_POINT();
        dtp_event_add(event, &w->node);
        dtp_object_release(event);
        return;
    }
    void *none = NULL;
#ifdef DTP_BREAK_QUEUE_AGAIN
    none = DTP_LOAD(&w->waiter, acquire);
    DTP_STORE(&w->waiter, waiter, release);
    if (!none) return;
#else
    if (DTP_CAS(&w->waiter, &none, waiter, acq_rel)) return;
#endif
    (void)DTP_LOAD(&w->waiter, acquire); /* what came before the event is seen by who acts for it */
    w->arrived(w, waiter, dtp_event_status(w->event)); /* ARRIVED: it stays so, and nobody else acts */
}

bool dtp_wait_cancel(dtp_wait_t *w, void *waiter) {
#ifdef DTP_BREAK_WAIT_CANCEL
    if (DTP_LOAD(&w->waiter, acquire) != waiter) return false;
    DTP_STORE(&w->waiter, NULL, release);
    return true;
#else
    return DTP_CAS(&w->waiter, &waiter, NULL, acq_rel);
#endif
}

void dtp_wait_end(dtp_wait_t *w) {
    dtp_event_t *event = w->event;
    if (!w->listed) dtp_free(NULL, w);
    else if (!DTP_LOAD(&w->waiter, relaxed)) dtp_event_keep(event, &w->node);
    else wait_release(w);
    dtp_object_release(event);
}
