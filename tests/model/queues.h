/* Queues of the product with items that count, for checks of queues (check_queue.c, check_left.c).
 * Included once per check. */
#ifndef DTP_MODEL_QUEUES_H
#define DTP_MODEL_QUEUES_H

#include "common/base/object.c"

#include "threading/pools/ticket.c"

#include "threading/pools/fifo.c"

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
static bool any_order;    /* of items, which several threads submit */

static dnnl_tp_status_t item_run(dtp_submission_t *base, const dtp_parallel_t *par) {
    model_item_t *item = (model_item_t *)base;
    mc_read(&item->payload);
    if (!worker_is_away || !other) mc_write(&shared); /* one item after another */
    MC_CHECK(item->number == order || worker_is_away ||
             any_order); /* the worker is away: two queues side by side */
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
    worker_is_away = any_order = false;
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
static void end(void) {
    MC_CHECK(rec->adm == 0 && !rec->n_waiting && closed == closings);
    for (int i = 0; i < order; ++i) MC_CHECK(runs[i] + skips[i] == 1 && recycled[i] == 1);
}
/* ---- Threads ----------------------------------------------------------------------------------------- */

static void hold_nothing(void *arg, const dtp_parallel_t *par) { (void)arg, (void)par; }
/* The last thread of a check closes its queues. */
static void leave_and_close(void) {
    if (atomic_fetch_sub_explicit(&left, 1, memory_order_acq_rel) != 1) return;
    MC_CHECK(dtp_queue_close(queue, NULL, NULL) == dnnl_tp_success);
    if (other) MC_CHECK(dtp_queue_close(other, NULL, NULL) == dnnl_tp_success);
    dtp_object_release(gate);
    dtp_object_release(gate);
}
/* Holds the ticket for a run that does nothing; then the ticket is offered to a thread that waits. */
static void ticket_holder(void *arg) {
    (void)arg;
    MC_CHECK(dtp_pool_run(rec, 1, true, hold_nothing, NULL) == dnnl_tp_success);
    leave_and_close();
}
/* A wait for the first queue that may end at any time. */
static void wait_a_while(void) {
    enum { LOOKS_AT_THE_CLOCK = 4 };
    if (dtp_queue_wait(queue, (int64_t)LOOKS_AT_THE_CLOCK << 30) == dnnl_tp_timed_out)
        mc_hit("a wait timed out");
}
/* Waits for the first queue, gives up at any time, and never comes back; what it leaves is done when the queue is closed. */
static void hasty_waiter(void *arg) {
    (void)arg;
    submit_item(0);
    wait_a_while();
    leave_and_close();
}

#define SETUP(name, n_items, ...)                             \
    static void name(void) {                                  \
        void (*const fns[])(void *) = {__VA_ARGS__};          \
        setup(fns, (int)(sizeof fns / sizeof *fns), n_items); \
    }

#endif
