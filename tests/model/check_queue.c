/* In-order queues (src/threading/streams/queue.c): push, turn, start, complete, poison and reset, items that wait for
 * events, waiting threads that help, and closing. Nothing is lost, nothing runs twice or out of order, blocks
 * are recycled once and never used afterwards. */
#include "common/base/object.c"

#include "threading/pools/ticket.c"

#include "threading/pools/admission.c"

#include "threading/pools/lane.c"

#include "threading/streams/event.c"

#include "threading/streams/queue.c"
#include "threading/streams/queue_events.c"
#include "threading/streams/queue_submit.c"

#include "threading/streams/wait.c"
#include "threading/streams/queue_wait.c"

#include "model/no_blocking.h"
#include "model/no_helpers.h"
#include "model/no_shared_loops.h"
#include "model/no_host_calls.h"
#include "model/one_worker.h"
#include "model/product.h"

/* ---- What they call ---------------------------------------------------------------------------------- */

void dtp_pool_retain(dtp_pool_t *pool) { (void)pool; }
void dtp_pool_release(dtp_pool_t *pool) { (void)pool; }
void dtp_sync_add(dtp_queue_t *queue) { (void)queue; }
void dtp_sync_remove(dtp_queue_t *queue) { (void)queue; }

/* ---- Items ------------------------------------------------------------------------------------------- */
enum { ITEMS = 3 };
typedef struct {
    dtp_submission_t base;
    int number;
    dnnl_tp_status_t answer;
    int payload;
} model_item_t;
static dtp_queue_t *queue, *other;
static model_item_t *items[ITEMS];
static int runs[ITEMS], skips[ITEMS], recycled[ITEMS], order, shared, closings, closed;
static dtp_event_t *gate; /* a host event */
static _Atomic uint32_t no_stop;
static bool any_order; /* of items, which several threads submit */

static dnnl_tp_status_t item_run(dtp_submission_t *base, const dtp_parallel_t *par) {
    model_item_t *item = (model_item_t *)base;
    mc_read(&item->payload);
    if (!worker_is_away || !other) mc_write(&shared); /* one item after another */
    MC_CHECK(item->number == order || worker_is_away || any_order); /* the worker is away: two queues side by side */
    if (any_order && item->number == 1) MC_CHECK(runs[0] == 1);
    ++order;
    if (!par) {
        ++skips[item->number];
        mc_hit("skipped");
        return dnnl_tp_success;
    }
    ++runs[item->number];
    if (mc_self() == 0) mc_hit("a waiting thread helped");
    return item->answer;
}
static void item_recycle(dtp_submission_t *base) {
    model_item_t *item = (model_item_t *)base;
    ++recycled[item->number];
    mc_free(item);
}
static void submit_item(int i) {
    model_item_t *item = items[i];
    mc_write(&item->payload);
    MC_CHECK(dtp_queue_submit(queue, &item->base) == dnnl_tp_success);
}
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

static void hold_nothing(void *arg, const dtp_parallel_t *par) { (void)arg, (void)par; }
static void leave_and_close(void) {
    if (atomic_fetch_sub_explicit(&left, 1, memory_order_acq_rel) != 1) return;
    MC_CHECK(dtp_queue_close(queue, NULL, NULL) == dnnl_tp_success);
    if (other) MC_CHECK(dtp_queue_close(other, NULL, NULL) == dnnl_tp_success);
    dtp_object_release(gate);
    dtp_object_release(gate);
}
/* Its run ends, and the ticket is offered to a thread that waits. */
static void ticket_holder(void *arg) {
    (void)arg;
    MC_CHECK(dtp_pool_run(rec, 1, true, hold_nothing, NULL) == dnnl_tp_success);
    leave_and_close();
}
/* Waits for the first queue, and gives up at any time; what it leaves is done when the queue is closed. */
static void hasty_waiter(void *arg) {
    (void)arg;
    submit_item(0);
    enum { LOOKS_AT_THE_CLOCK = 4 };
    if (dtp_queue_wait(queue, (int64_t)LOOKS_AT_THE_CLOCK << 30) == dnnl_tp_timed_out)
        mc_hit("a wait timed out");
    leave_and_close();
}
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
    dtp_resume(dtp_sleeper_poke(waiter));
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

/* ---- A pool on which nobody comes -------------------------------------------------------------------- */
static _Atomic int over;
static bool submits_inside;

/* Without a wait, which would help: what was submitted has run when the last thread has let go of everything. */
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
static void fires_token(void *arg) {
    (void)arg;
    dtp_resume_t resume = {NULL, NULL};
    dtp_lock(&token.lock);
    if (token.linked) {
        atomic_store_explicit(&token.stop, 1, memory_order_seq_cst);
        resume = dtp_sleeper_end(&token.sleeper);
    }
    dtp_unlock(&token.lock);
    dtp_resume(resume);
    leave_behind();
}

static void setup(void (*const fns[])(void *), int n, int n_items) {
    enum { TEAMS = 3 };
    rec = mc_alloc(sizeof *rec + sizeof(dtp_team_t) * TEAMS);
    rec->num_threads = 1;
    rec->n_teams = TEAMS;
    rec->teams = (dtp_team_t *)(rec + 1);
    rec->workers = (struct dtp_worker *)rec; /* only told from NULL */
    worker_bell = 0;
    left = n - 1;
    order = shared = closings = closed = 0;
    memset(runs, 0, sizeof runs);
    memset(skips, 0, sizeof skips);
    memset(recycled, 0, sizeof recycled);
    live_objects = 0;
    over = 0;
    submits_inside = worker_is_away = any_order = false;
    for (int i = 0; i < n_items; ++i) {
        items[i] = mc_alloc(sizeof *items[i]);
        items[i]->number = i;
        items[i]->base.num_threads = 1;
        items[i]->base.run = item_run;
        items[i]->base.recycle = item_recycle;
    }
    (void)dtp_event_create(&gate, &dtp_host_event, NULL, 0);
    gate->host = true;
    gate->obj.refs = 2; /* of the submitter and of the signaller */
    (void)dtp_queue_create(&queue, rec, NULL, 0);
    other = NULL;
    mc_ignore(&rec->peak, sizeof rec->peak);
    mc_ignore(&rec->peak_time, sizeof rec->peak_time);
    mc_ignore(rec->teams, sizeof(dtp_team_t) * TEAMS);
    mc_ignore(&rec->max_running, sizeof rec->max_running);
    mc_ignore(rec->counts, sizeof rec->counts);
    mc_ignore(&live_objects, sizeof live_objects);
    mc_ignore(&dtp_fork_generation, sizeof dtp_fork_generation);
    mc_thread_local((void **)&dtp_chain_top);
    mc_thread_local((void **)&dtp_left_here);
    dtp_chain_top = NULL;
    dtp_left_here = NULL;
    for (int i = 0; i < n; ++i) mc_thread(fns[i], NULL);
}
/* Where not all items are submitted. */
static void end_of_some(void) {
    MC_CHECK(rec->adm == 0 && !rec->n_waiting);
    for (int i = 0; i < ITEMS; ++i) MC_CHECK(runs[i] + skips[i] <= 1 && recycled[i] <= 1);
    MC_CHECK(runs[0] == 1 && recycled[0] == 1 && runs[2] == 1 && recycled[2] == 1);
}
static void end(void) {
    MC_CHECK(rec->adm == 0 && !rec->n_waiting && closed == closings);
    for (int i = 0; i < order; ++i) MC_CHECK(runs[i] + skips[i] == 1 && recycled[i] == 1);
}
#define SETUP(name, n_items, ...)                             \
    static void name(void) {                                  \
        void (*const fns[])(void *) = {__VA_ARGS__};          \
        setup(fns, (int)(sizeof fns / sizeof *fns), n_items); \
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
static void nobody_comes(void (*const fns[])(void *)) {
    setup(fns, 2, 1);
    left = 2;
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
static void cancelled_run(void) {
    void (*const fns[])(void *) = {submits_run, holds_until_ended, fires_token};
    setup(fns, 3, 1);
    left = 3;
    rec->workers = NULL;
    rec->form_s = true;
    memset(&token, 0, sizeof token);
    token.linked = token.sleeper.has_token = true;
    token.share = (dtp_share_t){.stop = &token.stop, .sleeper = &token.sleeper};
    items[0]->base.whole_run = true;
    items[0]->base.share = &token.share;
    items[0]->base.run = token_run;
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
