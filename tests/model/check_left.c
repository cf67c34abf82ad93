/* Queues for which nobody comes: the pool refuses, and no thread waits for them, or one that waits
 * for another queue (src/threading/streams/queue_wait.c). Who let go of the ticket runs them, or a
 * thread that waits or asks; runs that are over end without. */
#include "model/queues.h"

/* ---- A pool on which nobody comes -------------------------------------------------------------------- */
static _Atomic int over;
static bool submits_inside;

/* Without a wait, which would help: what was submitted has run when the last thread has let go of
 * everything. */
static void leave_behind(void) {
    if (atomic_fetch_sub_explicit(&left, 1, memory_order_acq_rel) != 1) return;
    MC_CHECK(DTP_LOAD(&queue->completed, relaxed) == 1);
    MC_CHECK(dtp_queue_close(queue, NULL, NULL) == dnnl_tp_success);
    dtp_object_release(gate);
    dtp_object_release(gate);
}
static void hold_body(void *arg, const dtp_parallel_t *par) {
    (void)arg, (void)par;
    if (submits_inside) submit_item(0);
}
static void holder(void *arg) {
    (void)arg;
    MC_CHECK(dtp_pool_run(rec, 1, true, hold_body, NULL) == dnnl_tp_success);
    if (runs[0] && !submits_inside) mc_hit("who held the ticket ran the item");
    atomic_store_explicit(&over, 1, memory_order_release);
    leave_behind();
}
static void passer_by(void *arg) {
    (void)arg;
    if (!submits_inside) submit_item(0);
    else MC_CHECK(dtp_pool_run(rec, 1, true, hold_nothing, NULL) == dnnl_tp_success);
    leave_behind();
}
/* Gives up at any time; then one look at the queue is enough. */
static void hasty_passer_by(void *arg) {
    (void)arg;
    submit_item(0);
    enum { LOOKS_AT_THE_CLOCK = 4 };
    if (dtp_queue_wait(queue, (int64_t)LOOKS_AT_THE_CLOCK << 30) == dnnl_tp_timed_out) {
        mc_hit("a wait timed out");
        while (!atomic_load_explicit(&over, memory_order_acquire)) mc_yield();
        bool idle = false;
        MC_CHECK(dtp_queue_query(queue, &idle) == dnnl_tp_success);
        MC_CHECK(idle);
    }
    leave_behind();
}

/* A run with a token, which is fired at any time; the ticket is held until the run has ended. */
static struct {
    dtp_lock_t lock; /* of the token */
    bool linked;
    _Atomic uint32_t stop, ended;
    dtp_sleeper_t sleeper;
    dtp_share_t share;
} token;
static dnnl_tp_status_t token_run(dtp_submission_t *base, const dtp_parallel_t *par) {
    model_item_t *item = (model_item_t *)base;
    mc_read(&item->payload);
    ++order;
    ++runs[item->number];
    mc_hit(par ? "the run had a ticket" : "the run ended without a ticket");
    dtp_queue_run_ends(queue, base);
    dtp_lock(&token.lock);
    token.linked = false;
    dtp_unlock(&token.lock);
    atomic_store_explicit(&token.ended, 1, memory_order_seq_cst);
    dtp_futex_wake(&token.ended, INT_MAX);
    return atomic_load_explicit(&token.stop, memory_order_relaxed) ? dnnl_tp_cancelled : dnnl_tp_success;
}
static void hold_until_ended(void *arg, const dtp_parallel_t *par) {
    (void)arg, (void)par;
    while (!atomic_load_explicit(&token.ended, memory_order_seq_cst)) dtp_futex_wait(&token.ended, 0, -1);
}
static void holds_until_ended(void *arg) {
    (void)arg;
    MC_CHECK(dtp_pool_run(rec, 1, true, hold_until_ended, NULL) == dnnl_tp_success);
    leave_behind();
}
static void submits_run(void *arg) {
    (void)arg;
    submit_item(0);
    leave_behind();
}
static void fire_token(void) {
    dtp_resume_t resume = {NULL, NULL};
    dtp_lock(&token.lock);
    if (token.linked) {
        atomic_store_explicit(&token.stop, 1, memory_order_seq_cst);
        resume = dtp_sleeper_end(&token.sleeper);
    }
    dtp_unlock(&token.lock);
    dtp_resume(resume);
}
static void fires_token(void *arg) {
    (void)arg;
    fire_token();
    leave_behind();
}

/* A worker comes to that run behind an item, and leaves it, because the host wants to know which is which. Then the run may
 * be ended, and the queue closed and freed, while the worker still looks whether it is over. */
static void leave_and_ring(void) {
    leave_and_close();
    if (atomic_load_explicit(&left, memory_order_acquire)) return;
    atomic_fetch_add_explicit(&worker_bell, 1, memory_order_seq_cst);
    dtp_futex_wake(&worker_bell, 1);
}
static void submits_behind(void *arg) {
    (void)arg;
    submit_item(0);
    submit_item(1);
    leave_and_ring();
}
static void fires_and_closes(void *arg) {
    (void)arg;
    fire_token();
    leave_and_ring();
}

/* ---- What is left is looked after by threads that wait for something else ----------------------------- */

static bool in_wait;
/* Ends the wait of the other queue, whoever runs it. */
static dnnl_tp_status_t signalling_run(dtp_submission_t *base, const dtp_parallel_t *par) {
    const dnnl_tp_status_t status = item_run(base, par);
    MC_CHECK(dnnl_tp_event_signal(gate, dnnl_tp_success) == dnnl_tp_success);
    return status;
}
/* The item of the other queue waits for that of the first one, but no event tells so. */
static void waits_for_other(void *arg) {
    (void)arg;
    MC_CHECK(dtp_queue_wait_event(other, &items[1]->base, gate) == dnnl_tp_success);
    mc_write(&items[1]->payload);
    MC_CHECK(dtp_queue_submit(other, &items[1]->base) == dnnl_tp_success);
    MC_CHECK(dtp_queue_wait(other, -1) == dnnl_tp_success);
    leave_and_close();
}
/* Submits inside a run, and waits there for the item: only others can run it. */
static _Atomic uint32_t item_ran;
static dnnl_tp_status_t telling_run(dtp_submission_t *base, const dtp_parallel_t *par) {
    const dnnl_tp_status_t status = signalling_run(base, par);
    atomic_store_explicit(&item_ran, 1, memory_order_seq_cst);
    dtp_futex_wake(&item_ran, INT_MAX);
    return status;
}
static void submit_and_wait_inside(void *arg, const dtp_parallel_t *par) {
    (void)arg, (void)par;
    submit_item(0);
    while (!atomic_load_explicit(&item_ran, memory_order_seq_cst)) dtp_futex_wait(&item_ran, 0, -1);
}
static void waits_inside(void *arg) {
    (void)arg;
    MC_CHECK(dtp_pool_run(rec, 1, true, submit_and_wait_inside, NULL) == dnnl_tp_success);
    leave_and_close();
}
/* The item of the first queue submits one to the other queue. */
static int ran_by;
static dnnl_tp_status_t feeding_run(dtp_submission_t *base, const dtp_parallel_t *par) {
    ran_by = mc_self();
    mc_write(&items[1]->payload);
    MC_CHECK(dtp_queue_submit(other, &items[1]->base) == dnnl_tp_success);
    return item_run(base, par);
}
/* A wait that has run its item is over, and leaves the other one: to who looks next. */
static dnnl_tp_status_t fed_run(dtp_submission_t *base, const dtp_parallel_t *par) {
    MC_CHECK(!(in_wait && mc_self() == 0 && ran_by == 0));
    return item_run(base, par);
}
static void waits_for_feeder(void *arg) {
    (void)arg;
    submit_item(0);
    in_wait = true;
    MC_CHECK(dtp_queue_wait(queue, -1) == dnnl_tp_success);
    in_wait = false;
    if (ran_by == 0) mc_hit("the wait ran its item");
    leave_and_close();
}
/* Two items of one priority, and one of a higher one: that comes before what was not begun when it
 * was published. */
static bool published, seen;
static dnnl_tp_status_t low_run(dtp_submission_t *base, const dtp_parallel_t *par) {
    const model_item_t *item = (const model_item_t *)base;
    if (item->number == 0) seen = published;
    else MC_CHECK(!seen || runs[2]);
    if (item->number == 1 && seen) mc_hit("a higher one came first");
    return item_run(base, par);
}
static void waits_for_low(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; ++i) submit_item(i);
    MC_CHECK(dtp_queue_wait(queue, -1) == dnnl_tp_success);
    leave_and_close();
}
static void submits_high(void *arg) {
    (void)arg;
    mc_write(&items[2]->payload);
    MC_CHECK(dtp_queue_submit(other, &items[2]->base) == dnnl_tp_success);
    published = true;
    leave_and_close();
}

static void nobody_comes(void (*const fns[])(void *)) {
    setup(fns, 2, 1);
    left = 2;
    over = 0;
    submits_inside = false;
    rec->workers = NULL;
    rec->form_s = true;
}
static void left_behind(void) {
    void (*const fns[])(void *) = {holder, passer_by};
    nobody_comes(fns);
}
static void left_inside(void) {
    left_behind();
    submits_inside = true;
}
static void given_up(void) {
    void (*const fns[])(void *) = {holder, hasty_passer_by};
    nobody_comes(fns);
}
static void is_run_with_token(dtp_submission_t *item) {
    memset(&token, 0, sizeof token);
    token.linked = token.sleeper.has_token = true;
    token.share = (dtp_share_t){.stop = &token.stop, .sleeper = &token.sleeper};
    item->whole_run = true;
    item->share = &token.share;
    item->run = token_run;
}
static void cancelled_run(void) {
    void (*const fns[])(void *) = {submits_run, holds_until_ended, fires_token};
    setup(fns, 3, 1);
    left = 3;
    rec->workers = NULL;
    rec->form_s = true;
    is_run_with_token(&items[0]->base);
}
static void published_again(void) {
    void (*const fns[])(void *) = {submits_behind, fires_and_closes, worker};
    setup(fns, 3, 2);
    is_run_with_token(&items[1]->base);
    items[1]->base.cookie = &token;
}
static void two_queues(void (*const fns[])(void *), int n, int n_items) {
    setup(fns, n, n_items);
    left = n;
    rec->workers = NULL;
    rec->form_s = true;
    worker_is_away = true;
    in_wait = published = seen = false;
    ran_by = -1;
    item_ran = 0;
    (void)dtp_queue_create(&other, rec, NULL, 1);
}
static void orphaned(void) {
    void (*const fns[])(void *) = {hasty_waiter, waits_for_other, ticket_holder};
    two_queues(fns, 3, 2);
    items[0]->base.run = signalling_run;
}
static void left_in_a_closure(void) {
    void (*const fns[])(void *) = {waits_inside, waits_for_other};
    two_queues(fns, 2, 2);
    rec->num_threads = 2;
    items[0]->base.run = telling_run;
}
static void fed(void) {
    void (*const fns[])(void *) = {waits_for_feeder, ticket_holder};
    two_queues(fns, 2, 2);
    items[0]->base.run = feeding_run;
    items[1]->base.run = fed_run;
}
static void outranked(void) {
    void (*const fns[])(void *) = {waits_for_low, submits_high, ticket_holder};
    two_queues(fns, 3, 3);
    items[0]->base.run = items[1]->base.run = low_run;
}

int main(int argc, char **argv) {
    const mc_case_t cases[] = {
        {.name = "left to who holds the ticket",
         .setup = left_behind,
         .end = end,
         .reach = {"who held the ticket ran the item"}},
        {.name = "left by a run to itself", .setup = left_inside, .end = end, .preemptions = 3},
        {.name = "a wait gives up",
         .setup = given_up,
         .end = end,
         .preemptions = 4,
         .reach = {"a wait timed out"}},
        {.name = "a run is cancelled",
         .setup = cancelled_run,
         .end = end,
         .preemptions = 2,
         .reach = {"the run had a ticket", "the run ended without a ticket"}},
        {.name = "a run that a worker leaves is cancelled",
         .setup = published_again,
         .end = end,
         .preemptions = 2,
         .reach = {"the run had a ticket", "the run ended without a ticket", "the worker ran pending work"}},
        {.name = "orphaned by a wait",
         .setup = orphaned,
         .end = end,
         .preemptions = 2,
         .reach = {"a wait timed out"}},
        {.name = "left in a closure", .setup = left_in_a_closure, .end = end, .preemptions = 2},
        {.name = "a wait ends while others go on",
         .setup = fed,
         .end = end,
         .preemptions = 3,
         .reach = {"the wait ran its item"}},
        {.name = "a helper gives way",
         .setup = outranked,
         .end = end,
         .preemptions = 2,
         .reach = {"a higher one came first"}},
    };
    return mc_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
