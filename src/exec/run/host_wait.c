/* Operators that wait for events: the closure has returned, its node is pending (exec/dataflow/run/pending.c), and the
 * event returns it.
 *
 *   called     the closure has named the event: a wait is prepared (threading/streams/wait.h)
 *   linked     the closure has returned success and the event is not done: the wait is in the run's list, then armed
 *   arrived    by who fires the event: the wait leaves the list, the node comes back with the event's status
 *   recalled   the run is over: the wait is cancelled, and the node comes back without it
 *
 * Only who took the waiter out of the wait, the event or recall, returns the node; so the run is there for it, and a
 * late event finds nothing. A run is recalled by its owner alone, when nobody else is in it: every wait is armed. */
#include "exec/run/run.h"

#include "threading/streams/queue.h"

static void unlink_wait(dtp_run_ctx_t *ctx, dtp_wait_t *w) {
    if (w->next) w->next->prev = w->prev;
    if (w->prev) w->prev->next = w->next;
    else ctx->waits = w->next;
}

/* Runs that wait for each other's events fail one after another: each says where it waits, and the first failure. */
static void event_failed(dtp_run_ctx_t *ctx, const dtp_stage_t *host, const dtp_event_t *event) {
    static const char waits[] = "(host) waits for an event: ";
    const char *cause = strstr(event->text, waits);
    dtp_run_fail(ctx, dtp_event_status(event), DTP_ITEM_FAILED, "operator '%s' %s%s",
                 ctx->exec->steps[host->step].name, waits, cause ? cause + sizeof(waits) - 1 : event->text);
}

static void arrived(dtp_wait_t *w, void *waiter, dnnl_tp_status_t status) {
    dtp_run_ctx_t *ctx = waiter;
    dtp_dataflow_state_t *state = ctx->run->dataflow;
    const uint64_t task = w->task;
    dtp_lock(&ctx->waits_lock);
    unlink_wait(ctx, w);
    dtp_unlock(&ctx->waits_lock);
    if (status != dnnl_tp_success) event_failed(ctx, w->host, w->event);
    dtp_wait_end(w);
    dtp_dataflow_return(state, task, status);
}

void dtp_run_recall(dtp_run_ctx_t *ctx) {
    dtp_wait_t *cancelled = NULL, *next;
    dtp_lock(&ctx->waits_lock);
    for (dtp_wait_t *w = ctx->waits; w; w = next) {
        next = w->next;
        if (!dtp_wait_cancel(w, ctx)) continue;
        unlink_wait(ctx, w);
        w->next = cancelled;
        cancelled = w;
    }
    dtp_unlock(&ctx->waits_lock);
    dtp_dataflow_state_t *state = ctx->run->dataflow;
    for (dtp_wait_t *w = cancelled; w; w = next) {
        next = w->next;
        const uint64_t task = w->task;
        dtp_wait_end(w);
        dtp_dataflow_return(state, task, dnnl_tp_success);
    }
}

dtp_event_t *dtp_run_awaits(dtp_sleeper_t *sleeper, unsigned turn, bool *several) {
    dtp_run_ctx_t *ctx = (dtp_run_ctx_t *)(void *)((char *)sleeper - offsetof(dtp_run_ctx_t, sleeper));
    dtp_event_t *event = NULL;
    unsigned n = 0;
    dtp_lock(&ctx->waits_lock);
    for (int counts = 1; counts >= 0; --counts) {
        unsigned at = 0;
        for (dtp_wait_t *w = ctx->waits; w; w = w->next) {
            if (!dtp_event_queue(w->event) || dtp_event_is_done(w->event)) continue;
            if (counts) ++n;
            else if (at++ == turn % n) event = w->event;
        }
        if (!n) break;
    }
    if (event) dtp_object_retain(event);
    dtp_unlock(&ctx->waits_lock);
    *several = n > 1;
    return event;
}

dnnl_tp_status_t dtp_run_host_may_wait(dtp_run_ctx_t *ctx, const dtp_stage_t *host, void **bases,
                                       const dtp_dataflow_where_t *at) {
    dtp_closure_t closure = {.stop = {.is_of_call = true}, .ctx = ctx};
    bool ok = dtp_run_host(ctx, host, bases, at->slot, dtp_should_stop(&closure.stop));
    dtp_wait_t *w = closure.wait;
    if (!w || !ok || dtp_event_is_done(w->event)) {
        if (w && ok && dtp_event_status(w->event) != dnnl_tp_success) {
            event_failed(ctx, host, w->event);
            ok = false;
        }
        if (w) dtp_wait_end(w);
        return ok ? dnnl_tp_success : dnnl_tp_runtime_error;
    }
    w->task = at->task;
    w->host = host;
    w->prev = NULL;
    dtp_lock(&ctx->waits_lock);
    w->next = ctx->waits;
    if (w->next) w->next->prev = w;
    ctx->waits = w;
    dtp_unlock(&ctx->waits_lock);
    dtp_wait_arm(w, ctx);
    return DTP_DATAFLOW_PENDING;
}

dnnl_tp_status_t dnnl_tp_host_wait_event(const volatile int *should_stop, dnnl_tp_event_t event) {
    DTP_REQUIRE_HANDLE(event, DTP_OBJ_EVENT);
    if (!should_stop) return dnnl_tp_event_wait(event, -1, NULL);
    dtp_closure_t *closure;
    (void)dtp_run_of_closure(should_stop, &closure);
    DTP_REQUIRE(closure, BAD_FLAGS, "the operator was added without DNNL_TP_HOST_MAY_WAIT");
    DTP_REQUIRE(!closure->wait, NOT_IN_ORDER, "the operator waits for an event already");
    DTP_RETURN(dtp_wait_prepare(&closure->wait, event, arrived));
}
