/* Tasks that threads of a dataflow run give to each other (src/exec/dataflow/run/share.c): the queue of a worker
 * (Chase-Lev with many at a time), the list of orphans, and the sleep of the owner. No task is lost or taken
 * twice, also when positions wrap around under a slow taker; an owner that sleeps wakes up. Tasks are words
 * of a program without edges. */
#define DTP_DATAFLOW_QUEUE_TASKS 2

#include "exec/dataflow/run/share.c"

#include "exec/dataflow/run/run.c"

#include "exec/dataflow/run/learn.c"

#include "model/no_blocking.h"
#include "model/no_crew.h"
#include "model/no_dataflow_pending.h"
#include "model/product.h"

/* ---- Threads ----------------------------------------------------------------------------------------- */
enum { TASKS = 4, WORKERS = 3 };
static dtp_dataflow_state_t *state;
static dtp_dataflow_instance_t *instance;
static int taken[TASKS], payload[TASKS], n_tasks;
static _Atomic int left;
static struct dtp_dataflow_region region;

static uint64_t task(uint32_t i) { return dtp_dataflow_tag(instance) | i; }

static void run_task(uint64_t word) {
    MC_CHECK(dtp_dataflow_instance_of(word) == instance);
    uint32_t i = word & DTP_DATAFLOW_NODE_MASK;
    MC_CHECK(i < (uint32_t)n_tasks);
    mc_read(&payload[i]); /* written by who made the task */
    MC_CHECK(mc_self() > 0 || model_owner_has_ticket);
    MC_CHECK(++taken[i] == 1);
    if (i && mc_self() > 0) mc_hit("a thief took a task");
    if (atomic_fetch_sub_explicit(&left, 1, memory_order_acq_rel) == 1) dtp_dataflow_finished(state);
}
static void drain(dtp_dataflow_worker_t *w) {
    while (w->top > w->lifo || (w->spill && dtp_dataflow_unspill(w))) run_task(*--w->top);
}
static void make(dtp_dataflow_worker_t *w, uint32_t from, uint32_t to) {
    for (; from < to; ++from) {
        mc_write(&payload[from]);
        *w->top++ = task(from);
    }
}

/* Gives tasks away in two portions, so that the second one reuses words, and takes what is left itself. */
static void giver(void *arg) {
    dtp_dataflow_worker_t *w = arg;
    make(w, 0, 2);
    expose(w, 2);
    drain(w); /* what did not fit */
    if (dtp_dataflow_take(w)) drain(w);
    if (n_tasks > 2) {
        make(w, 2, (uint32_t)n_tasks);
        expose(w, (size_t)n_tasks - 2);
        drain(w);
    }
    while (dtp_dataflow_take(w)) drain(w);
}
static void thief(void *arg) {
    dtp_dataflow_worker_t *w = arg;
    if (!dtp_dataflow_take(w)) {
        mc_hit("a thief found nothing");
        return;
    }
    drain(w);
}
/* Leaves without running what it took. */
static void leaver(void *arg) {
    dtp_dataflow_worker_t *w = arg;
    if (!dtp_dataflow_take(w)) return;
    mc_hit("tasks were orphaned");
    abandon(w);
}
/* The owner of the run: waits until it is finished. */
static void owner(void *arg) {
    dtp_dataflow_worker_t *w = arg;
    while (!DTP_LOAD(&state->finished, acquire)) {
        if (dtp_dataflow_take(w)) {
            mc_hit("the owner took a task");
            drain(w);
        } else {
            dtp_dataflow_wait(w);
        }
    }
    if (w->parked) mc_hit("the owner slept");
    for (int i = 0; i < n_tasks; ++i) MC_CHECK(taken[i] == 1);
}
/* A joiner with tasks of its own: gives all but one away. */
static void worker(void *arg) {
    dtp_dataflow_worker_t *w = arg;
    make(w, 0, (uint32_t)n_tasks);
    expose(w, (size_t)n_tasks - 1);
    drain(w);
    while (dtp_dataflow_take(w)) drain(w);
}
/* The same, but leaves with what it has kept. */
static void worker_that_leaves(void *arg) {
    dtp_dataflow_worker_t *w = arg;
    make(w, 0, (uint32_t)n_tasks);
    expose(w, (size_t)n_tasks - 1);
    mc_hit("tasks were orphaned");
    abandon(w);
    while (dtp_dataflow_take(w)) drain(w);
}
/* Has the ticket that the owner lends, for a while; nobody is told when it comes back. */
static void borrower(void *arg) {
    (void)arg;
    if (!model_take_ticket()) return;
    mc_hit("the ticket was lent");
    atomic_fetch_add_explicit(&model_tickets, 1, memory_order_seq_cst);
}
static void missed(const volatile void *p, uint64_t expected, uint64_t found) {
    (void)expected, (void)found;
    if (p == &state->workers[0].queue.top) mc_hit("two took at once");
}

static void setup(int tasks, void (*const fns[])(void *), int n) {
    static _Atomic uint32_t cancel;
    static dtp_parallel_t par;
    static struct dtp_dataflow_plan plan;
    n_tasks = left = tasks;
    model_lends = false;
    model_owner_has_ticket = true;
    model_tickets = 0;
    memset(taken, 0, sizeof taken);
    state = mc_alloc(sizeof *state);
    state->workers = mc_alloc((size_t)n * sizeof *state->workers);
    instance = mc_alloc(sizeof *instance + TASKS * sizeof(uint64_t));
    instance->region = &region;
    region.link_at = sizeof *instance;
    plan.mean_ns = DTP_DATAFLOW_SHARE_NS;
    state->plan = &plan;
    state->args.cancel = &cancel;
    state->args.par = &par;
    state->num_threads = state->crew_size = n;
    for (int i = 0; i < n; ++i) {
        dtp_dataflow_worker_t *w = &state->workers[i];
        w->state = state;
        w->lifo = w->top = mc_alloc(2 * DTP_DATAFLOW_LIFO * sizeof(uint64_t));
        w->limit = w->lifo + DTP_DATAFLOW_LIFO;
        w->where.slot = i;
    }
    mc_cas_missed = missed;
    for (int i = 0; i < n; ++i) mc_thread(fns[i], &state->workers[i]);
}
#define SETUP(name, tasks, ...)                             \
    static void name(void) {                                \
        void (*const fns[])(void *) = {__VA_ARGS__};        \
        setup(tasks, fns, (int)(sizeof fns / sizeof *fns)); \
    }
static void all_taken(void) {
    for (int i = 0; i < n_tasks; ++i) MC_CHECK(taken[i] == 1);
}
/* A leaver may be the last one: then its tasks are in the list. */
static void all_taken_or_orphans(void) {
    for (uint64_t word = state->orphans; word; word = *dtp_dataflow_link(word)) run_task(word);
    all_taken();
}
SETUP(two_thieves, 2, giver, thief, thief)
SETUP(wrap, 4, giver, thief)
SETUP(wrap_two, 4, giver, thief, thief)
SETUP(orphans_more, 3, giver, leaver, thief)
SETUP(orphans, 2, giver, leaver, thief)
SETUP(park, 2, owner, worker)
SETUP(lent, 2, owner, worker, borrower)
SETUP(lent_left, 2, owner, worker_that_leaves, borrower)
static void lends(void) {
    lent();
    model_lends = true;
}
static void lends_left(void) {
    lent_left();
    model_lends = true;
}

int main(int argc, char **argv) {
    const mc_case_t cases[] = {
        {.name = "two thieves", .setup = two_thieves, .end = all_taken},
        {.name = "two thieves, words reused",
         .setup = wrap_two,
         .end = all_taken,
         .reach = {"two took at once", "a thief found nothing"}},
        {.name = "a thief, words reused", .setup = wrap, .end = all_taken},
        {.name = "a thief, words reused, weak", .setup = wrap, .end = all_taken, .weak = true},
        {.name = "orphans", .setup = orphans, .end = all_taken_or_orphans},
        {.name = "orphans, words reused",
         .setup = orphans_more,
         .end = all_taken_or_orphans,
         .reach = {"tasks were orphaned"}},
        {.name = "the owner sleeps", .setup = park, .end = all_taken},
        {.name = "the owner sleeps, weak",
         .setup = park,
         .end = all_taken,
         .weak = true,
         .reach = {"the owner slept"}},
        {.name = "the owner lends its ticket",
         .setup = lends,
         .end = all_taken,
         .preemptions = 2,
         .reach = {"the owner slept", "the ticket was lent"}},
        {.name = "the owner lends its ticket, and comes back for what is left",
         .setup = lends_left,
         .end = all_taken,
         .preemptions = 2,
         .reach = {"the owner slept", "the ticket was lent", "tasks were orphaned"}},
    };
    return mc_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
