/* In-order queues (src/threading/streams/queue.c): push, turn, start, complete, poison and reset, items that wait for
 * events, waiting threads that help, and closing. Nothing is lost, nothing runs twice or out of order, blocks
 * are recycled once and never used afterwards. What nobody comes for: check_left.c. */
#include "model/queues.h"

static _Atomic uint32_t no_stop;

/* The item waits for *event, if there is one, and becomes it. */
static void submit_after(dtp_queue_t *q, int i, dtp_event_t **event) {
    model_item_t *item = items[i];
    mc_write(&item->payload);
    if (*event) {
        MC_CHECK(dtp_queue_wait_event(q, &item->base, *event) == dnnl_tp_success);
        dtp_object_release(*event);
    }
    MC_CHECK(dtp_queue_event_of_next(q, event) == dnnl_tp_success);
    dtp_queue_submit_with(q, &item->base, *event);
}

/* ---- Threads ----------------------------------------------------------------------------------------- */
static void submitter(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; ++i) submit_item(i);
    MC_CHECK(dtp_queue_close(queue, NULL, NULL) == dnnl_tp_success);
    MC_CHECK(order == 2);
    leave();
}
/* Closes inside other work, when threads may still be on their way out. */
static void note_closed(void *arg) {
    mc_write(arg);
    ++closed;
    mc_hit(mc_self() == 0 ? "closed at once" : "closed by the last one out");
}
static void closing_inside(void *arg) {
    (void)arg;
    closings = 1;
    for (int i = 0; i < 2; ++i) submit_item(i);
    MC_CHECK(dtp_queue_wait(queue, -1) == dnnl_tp_success);
    dtp_chain_t chain = {.kind = DTP_CHAIN_CALLBACK};
    dtp_chain_top = &chain;
    MC_CHECK(dtp_queue_close(queue, note_closed, &shared) == dnnl_tp_success);
    dtp_chain_top = NULL;
    leave();
}
/* The first item fails; what was submitted before the reset is skipped, what comes later runs. */
static void resetting_submitter(void *arg) {
    (void)arg;
    items[0]->answer = dnnl_tp_runtime_error;
    for (int i = 0; i < 2; ++i) submit_item(i);
    dtp_queue_reset(queue);
    submit_item(2);
    MC_CHECK(dtp_queue_close(queue, NULL, NULL) == dnnl_tp_success);
    MC_CHECK(runs[0] == 1 && skips[1] == 1 && runs[2] == 1);
    mc_hit("poison and reset");
    leave();
}
/* The second item waits for an event. */
static void gated_submitter(void *arg) {
    (void)arg;
    MC_CHECK(dtp_queue_wait_event(queue, &items[1]->base, gate) == dnnl_tp_success);
    dtp_object_release(gate);
    for (int i = 0; i < 2; ++i) submit_item(i);
    MC_CHECK(dtp_queue_close(queue, NULL, NULL) == dnnl_tp_success);
    leave();
}
/* The same, skipped because the first one failed: the event comes at any time, also after the end. */
static void gated_failing_submitter(void *arg) {
    items[0]->answer = dnnl_tp_runtime_error;
    gated_submitter(arg);
}
/* And again after a reset, by the node that the skipped item left in the event's list, or the event was faster. */
static void gated_again_submitter(void *arg) {
    (void)arg;
    items[0]->answer = dnnl_tp_runtime_error;
    MC_CHECK(dtp_queue_wait_event(queue, &items[1]->base, gate) == dnnl_tp_success);
    const dtp_callback_t *node = (const dtp_callback_t *)items[1]->base.wait;
    for (int i = 0; i < 2; ++i) submit_item(i);
    MC_CHECK(dtp_queue_wait(queue, -1) == dnnl_tp_runtime_error);
    dtp_queue_reset(queue);
    if (gate->kept == node) mc_hit("the event kept a node");
    MC_CHECK(dtp_queue_wait_event(queue, &items[2]->base, gate) == dnnl_tp_success);
    MC_CHECK(!gate->kept);
    dtp_object_release(gate);
    submit_item(2);
    MC_CHECK(dtp_queue_close(queue, NULL, NULL) == dnnl_tp_success);
    MC_CHECK(skips[1] == 1 && runs[2] == 1);
    leave();
}
/* Two queues wait for each other in turns: who waits for one and walks along the events comes back to it. */
static void ping_pong_submitter(void *arg) {
    (void)arg;
    dtp_event_t *event = NULL;
    submit_after(other, 0, &event);
    submit_after(queue, 1, &event);
    submit_after(other, 2, &event);
    dtp_object_release(event);
    MC_CHECK(dtp_queue_close(queue, NULL, NULL) == dnnl_tp_success);
    MC_CHECK(dtp_queue_close(other, NULL, NULL) == dnnl_tp_success);
    MC_CHECK(order == 3);
    dtp_object_release(gate);
    dtp_object_release(gate);
    leave();
}
static void signaller(void *arg) {
    (void)arg;
    MC_CHECK(dnnl_tp_event_signal(gate, dnnl_tp_success) == dnnl_tp_success);
    dtp_object_release(gate);
    leave();
}

/* Skipping does not wait: the second item waits for an event of another queue, which comes only after it. */
static void skipping_submitter(void *arg) {
    (void)arg;
    dtp_event_t *event = gate;
    submit_after(other, 2, &event);
    items[0]->answer = dnnl_tp_runtime_error;
    submit_item(0);
    MC_CHECK(dtp_queue_wait_event(queue, &items[1]->base, event) == dnnl_tp_success);
    dtp_object_release(event);
    submit_item(1);
    MC_CHECK(dtp_queue_wait(queue, -1) == dnnl_tp_runtime_error);
    MC_CHECK(skips[1] == 1 && order == 2);
    MC_CHECK(dnnl_tp_event_signal(gate, dnnl_tp_success) == dnnl_tp_success);
    dtp_object_release(gate);
    MC_CHECK(dtp_queue_close(queue, NULL, NULL) == dnnl_tp_success);
    MC_CHECK(dtp_queue_close(other, NULL, NULL) == dnnl_tp_success);
    leave();
}

/* ---- Several threads that submit --------------------------------------------------------------------- */

static void last_one_closes(void) {
    if (atomic_fetch_sub_explicit(&left, 1, memory_order_acq_rel) != 1) return;
    MC_CHECK(dtp_queue_close(queue, NULL, NULL) == dnnl_tp_success);
    atomic_fetch_add_explicit(&worker_bell, 1, memory_order_seq_cst);
    dtp_futex_wake(&worker_bell, 1);
}
/* The first thread submits two items, which keep their order, and knows when both are done; the other one submits
 * the third at any time. */
static void submits_two(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; ++i) submit_item(i);
    MC_CHECK(dtp_queue_wait(queue, -1) == dnnl_tp_success);
    MC_CHECK(runs[0] == 1 && runs[1] == 1);
    last_one_closes();
}
static void submits_third(void *arg) {
    (void)arg;
    submit_item(2);
    if (runs[0]) mc_hit("the third item came late");
    last_one_closes();
}
/* What is recorded behind an item is done after it, whatever the other thread submits. */
static void submits_and_records(void *arg) {
    (void)arg;
    dtp_event_t *event;
    submit_item(0);
    MC_CHECK(dtp_queue_record(queue, &event) == dnnl_tp_success);
    MC_CHECK(dnnl_tp_event_wait(event, -1, NULL) == dnnl_tp_success);
    MC_CHECK(runs[0] == 1);
    dtp_object_release(event);
    last_one_closes();
}
/* A run on its caller: nothing runs beside it, and what another thread submits meanwhile comes after it. */
static dnnl_tp_status_t place_run(dtp_submission_t *place, const dtp_parallel_t *par) {
    (void)par;
    mc_read(&((model_item_t *)place)->payload);
    mc_hit("the place was needed");
    return dnnl_tp_success;
}
static void runs_in_order(void *arg) {
    (void)arg;
    dtp_sleeper_t sleeper = {.word = NULL};
    const dtp_share_t share = {.stop = &no_stop, .sleeper = &sleeper};
    submit_item(0);
    items[1]->base.run = place_run;
    items[1]->base.num_threads = 0;
    mc_write(&items[1]->payload);
    MC_CHECK(dtp_queue_hold(queue, &items[1]->base, &share) == dnnl_tp_success);
    MC_CHECK(runs[0] == 1);
    const int before = order;
    mc_write(&shared);
    (void)mc_choose(1);
    mc_write(&shared);
    MC_CHECK(order == before);
    dtp_queue_let_go(queue, &items[1]->base);
    last_one_closes();
}

/* ---- A pool whose worker is in a task of the program ------------------------------------------------- */

/* Waits for the other one, for ever. */
static void patient_waiter(void *arg) {
    (void)arg;
    mc_write(&items[1]->payload);
    MC_CHECK(dtp_queue_submit(other, &items[1]->base) == dnnl_tp_success);
    MC_CHECK(dtp_queue_wait(other, -1) == dnnl_tp_success);
    leave_and_close();
}
/* A run that comes after an item of its stream, and may be ended: nobody else can run the item. */
static void later_run(void *arg) {
    (void)arg;
    dtp_sleeper_t sleeper = {.word = NULL};
    const dtp_share_t share = {.stop = &no_stop, .sleeper = &sleeper};
    submit_item(0);
    MC_CHECK(dtp_queue_wait_earlier(queue, 1, &share) == dnnl_tp_success);
    MC_CHECK(runs[0] == 1);
    leave_and_close();
}
/* A run that rests for the event of an item, which nobody else can run. */
static dtp_event_t *rests_for;
static dtp_event_t *awaited(dtp_sleeper_t *sleeper, unsigned turn, bool *several) {
    (void)sleeper, (void)turn;
    *several = false;
    return dtp_event_is_done(rests_for) ? NULL : dtp_object_retain(rests_for);
}
static void poke_owner(dtp_wait_t *wait, void *waiter, dnnl_tp_status_t status) {
    (void)wait, (void)status;
    dtp_resume(dtp_sleeper_wake(waiter));
}
static void resting_run(void *arg) {
    (void)arg;
    dtp_sleeper_t sleeper = {.awaits = awaited};
    const dtp_share_t share = {.stop = &no_stop, .sleeper = &sleeper};
    rests_for = NULL;
    submit_after(queue, 0, &rests_for);
    dtp_wait_t *wait;
    MC_CHECK(!dtp_wait_prepare(&wait, rests_for, poke_owner));
    dtp_wait_arm(wait, &sleeper);
    dtp_queue_rest(&share);
    MC_CHECK(runs[0] == 1);
    dtp_sleeper_go_on(&sleeper);
    dtp_wait_end(wait);
    dtp_object_release(rests_for);
    leave_and_close();
}

/* Where not all items are submitted. */
static void end_of_some(void) {
    MC_CHECK(rec->adm == 0 && !rec->n_waiting);
    for (int i = 0; i < ITEMS; ++i) MC_CHECK(runs[i] + skips[i] <= 1 && recycled[i] <= 1);
    MC_CHECK(runs[0] == 1 && recycled[0] == 1 && runs[2] == 1 && recycled[2] == 1);
}
SETUP(push, 2, submitter, worker)
SETUP(close_inside, 2, closing_inside, worker)
SETUP(reset_queue, 3, resetting_submitter, worker)
static void ping_pong(void) {
    void (*const fns[])(void *) = {ping_pong_submitter, worker};
    setup(fns, 2, 3);
    (void)dtp_queue_create(&other, rec, NULL, 0);
}
static void skipping(void) {
    void (*const fns[])(void *) = {skipping_submitter, worker};
    setup(fns, 2, 3);
    (void)dtp_queue_create(&other, rec, NULL, 0);
}
static void two_submit(void (*const fns[])(void *), int n_items) {
    setup(fns, 3, n_items);
    any_order = true;
    dtp_object_release(gate);
    dtp_object_release(gate);
}
static void two_submitters(void) {
    void (*const fns[])(void *) = {submits_two, submits_third, worker};
    two_submit(fns, 3);
}
static void record_beside(void) {
    void (*const fns[])(void *) = {submits_and_records, submits_third, worker};
    two_submit(fns, 3);
}
static void run_among_items(void) {
    void (*const fns[])(void *) = {runs_in_order, submits_third, worker};
    two_submit(fns, 3);
}
static void worker_away(void (*const fns[])(void *), int n) {
    setup(fns, n, 2);
    left = n;
    worker_is_away = true;
}
static void late_hint(void) {
    void (*const fns[])(void *) = {hasty_waiter, patient_waiter, ticket_holder};
    worker_away(fns, 3);
    (void)dtp_queue_create(&other, rec, NULL, 0);
}
static void run_comes_after(void) {
    void (*const fns[])(void *) = {later_run, ticket_holder};
    worker_away(fns, 2);
}
static void run_rests(void) {
    void (*const fns[])(void *) = {resting_run, ticket_holder};
    worker_away(fns, 2);
}
SETUP(gated, 2, gated_submitter, signaller, worker)
SETUP(gated_failing, 2, gated_failing_submitter, signaller, worker)
SETUP(gated_again, 3, gated_again_submitter, signaller, worker)

int main(int argc, char **argv) {
    const mc_case_t cases[] = {
        {.name = "push and close",
         .setup = push,
         .end = end,
         .preemptions = 3,
         .reach = {"the worker ran pending work", "a waiting thread helped"}},
        {.name = "close inside other work",
         .setup = close_inside,
         .end = end,
         .preemptions = 3,
         .reach = {"closed at once", "closed by the last one out"}},
        {.name = "poison and reset",
         .setup = reset_queue,
         .end = end,
         .preemptions = 2,
         .reach = {"skipped", "poison and reset"}},
        {.name = "an item waits", .setup = gated, .end = end, .preemptions = 2},
        {.name = "skipping does not wait",
         .setup = skipping,
         .end = end,
         .preemptions = 2,
         .reach = {"skipped"}},
        {.name = "a late hint",
         .setup = late_hint,
         .end = end,
         .preemptions = 2,
         .reach = {"a wait timed out"}},
        {.name = "a run comes after an item", .setup = run_comes_after, .end = end, .preemptions = 3},
        {.name = "a run rests for an item", .setup = run_rests, .end = end, .preemptions = 3},
        {.name = "two threads submit",
         .setup = two_submitters,
         .end = end,
         .preemptions = 2,
         .reach = {"the third item came late", "the worker ran pending work"}},
        {.name = "an event beside a submission",
         .setup = record_beside,
         .end = end_of_some,
         .preemptions = 2},
        {.name = "a run on its caller among items",
         .setup = run_among_items,
         .end = end_of_some,
         .preemptions = 2,
         .reach = {"the place was needed"}},
        {.name = "two queues in turns", .setup = ping_pong, .end = end, .preemptions = 2},
        {.name = "a waiting item is skipped",
         .setup = gated_failing,
         .end = end,
         .preemptions = 2,
         .reach = {"skipped"}},
        {.name = "it waits again after a reset",
         .setup = gated_again,
         .end = end,
         .preemptions = 2,
         .reach = {"skipped", "the event kept a node"}},
    };
    return mc_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
