/* Workers of the built-in pool that sleep (src/threading/pools/builtin_pool.c): no call is lost. The worker is the
 * product's own loop; others give it a task or publish a run while it falls asleep, and the pool ends, when
 * all is done or with tasks in its queue. */
#include "threading/pools/ticket.c"

#include "threading/pools/fifo.c"

#include "threading/pools/admission.c"

#include "threading/pools/lane.c"

#include "threading/pools/builtin_pool.c"

#include "model/no_blocking.h"
#include "model/no_helpers.h"
#include "model/no_queues.h"
#include "model/no_shared_loops.h"
#include "model/no_host_calls.h"
#include "model/product.h"

/* ---- What they call ---------------------------------------------------------------------------------- */
static dtp_pool_t *rec;
static bool freed;
/* A loop that wants one helper. Its opener lets the helper go when it has seen what is counted meanwhile. */
static _Atomic int loop_wants, helped, seen;
bool dtp_shared_loop_help(dtp_pool_t *pool, const dtp_team_t *team, uint64_t run) {
    (void)run;
    (void)pool, (void)team;
    int one = 1;
    if (!atomic_compare_exchange_strong_explicit(&loop_wants, &one, 0, memory_order_acquire,
                                                 memory_order_relaxed))
        return false;
    atomic_store_explicit(&helped, 1, memory_order_release);
    while (!atomic_load_explicit(&seen, memory_order_acquire)) mc_yield();
    return true;
}
bool dtp_helpers_may_come(dtp_pool_t *pool, const dtp_team_t *team) {
    (void)pool, (void)team;
    return atomic_load_explicit(&loop_wants, memory_order_seq_cst);
}
void dtp_record_free(dtp_pool_t *pool) {
    (void)pool;
    freed = true;
}
int dtp_affinity_cpus(int *cpus, int most) {
    (void)cpus, (void)most;
    return 0;
}
double dtp_cpu_quota(void) { return 0; }

/* ---- Threads ----------------------------------------------------------------------------------------- */
static int done, wanted;
static _Atomic int left; /* tasks and runs that are not done */

/* dtp_builtin_end without the joining of real threads. */
static void end_pool(void) {
    dtp_lock(&rec->lock);
    atomic_store_explicit(&rec->ending, DTP_ENDING, memory_order_release);
    dtp_attention_update(rec);
    dtp_unlock(&rec->lock);
    dtp_builtin_wake(rec, rec->num_threads, -1, false);
}
static void leave(void) {
    if (atomic_fetch_sub_explicit(&left, 1, memory_order_acq_rel) == 1) end_pool();
}
static void task(void *arg) {
    mc_read(arg);
    ++done;
    if (mc_self() == 0) mc_hit("the worker did it");
    leave();
}
static void late_task(void *arg) {
    mc_read(arg);
    ++done;
    if (rec->ending) mc_hit("a task of a pool that ends");
}
static void run(void *arg, const dtp_parallel_t *par) {
    (void)par;
    mc_read(arg);
    ++done;
}
static int payload[3];
static void task_giver(void *arg) {
    (void)arg;
    mc_write(&payload[mc_self()]);
    MC_CHECK(dtp_builtin_task(rec, task, &payload[mc_self()]));
}
/* Wants help in a loop: the worker is called unless it is about. */
static void loop_giver(void *arg) {
    (void)arg;
    atomic_store_explicit(&loop_wants, 1, memory_order_seq_cst);
    if (dtp_adm_joiners(atomic_load_explicit(&rec->adm, memory_order_seq_cst)))
        mc_hit("the opener counted on the worker");
    else if (dtp_builtin_wake(rec, 1, -1, true)) mc_hit("the worker was called to help");
    while (!atomic_load_explicit(&helped, memory_order_acquire)) mc_yield();
    /* The only worker is here: nobody is on the way, for whom another opener would wait in vain. */
    MC_CHECK(atomic_load_explicit(&rec->waking, memory_order_relaxed) == 0);
    atomic_store_explicit(&seen, 1, memory_order_release);
    ++done;
    leave();
}
/* The same without a loop. */
static void caller(void *arg) {
    (void)arg;
    (void)dtp_builtin_wake(rec, 1, -1, true);
    ++done;
    leave();
}
static void run_giver(void *arg) {
    (void)arg;
    mc_write(&payload[mc_self()]);
    MC_CHECK(dtp_pool_run(rec, 1, true, run, &payload[mc_self()]) == dnnl_tp_success);
    leave();
}
/* Gives two tasks and ends the pool at once. */
static void hasty_giver(void *arg) {
    (void)arg;
    wanted = 2;
    mc_write(&payload[mc_self()]);
    for (int i = 0; i < wanted; ++i) MC_CHECK(dtp_builtin_task(rec, late_task, &payload[mc_self()]));
    end_pool();
}
static void worker(void *arg) {
    worker_main(arg);
    if (atomic_load_explicit(&rec->alive, memory_order_relaxed) == 0) mc_hit("the pool ended");
}

static void setup(void (*const givers[])(void *), int n) {
    enum { TEAMS = 3 };
    char *memory = mc_alloc(sizeof *rec + TEAMS * sizeof(dtp_team_t) + sizeof(struct dtp_worker) +
                            DTP_TASKS * sizeof(dtp_task_t));
    rec = (dtp_pool_t *)memory;
    rec->teams = (dtp_team_t *)(rec + 1);
    rec->n_teams = TEAMS;
    rec->workers = (struct dtp_worker *)(rec->teams + TEAMS);
    rec->task = (dtp_task_t *)(rec->workers + 1);
    rec->num_threads = rec->num_started = 1;
    rec->workers[0].rec = rec;
    rec->workers[0].cpu = -1;
    rec->go = 1;
    rec->alive = 1;
    done = 0;
    loop_wants = helped = seen = 0;
    wanted = left = n;
    mc_ignore(&rec->peak_time, sizeof rec->peak_time);
    mc_ignore(&rec->peak, sizeof rec->peak);
    mc_ignore(rec->teams, sizeof(dtp_team_t) * TEAMS);
    mc_ignore(&rec->max_running, sizeof rec->max_running);
    mc_ignore(rec->counts, sizeof rec->counts);
    mc_thread_local((void **)&dtp_chain_top);
    dtp_chain_top = NULL;
    mc_thread(worker, &rec->workers[0]);
    for (int i = 0; i < n; ++i) mc_thread(givers[i], NULL);
}
static void end(void) {
    MC_CHECK(done == wanted);
    MC_CHECK(rec->adm == 0 && !rec->n_waiting && !rec->n_tasks);
    MC_CHECK(rec->waking == 0 && rec->workers[0].wake_word == WAKE_NONE);
}
#define SETUP(name, ...)                             \
    static void name(void) {                         \
        void (*const fns[])(void *) = {__VA_ARGS__}; \
        setup(fns, (int)(sizeof fns / sizeof *fns)); \
    }
SETUP(one_task, task_giver)
SETUP(one_run, run_giver)
SETUP(two_tasks, task_giver, task_giver)
SETUP(hasty, hasty_giver)
SETUP(task_and_run, task_giver, run_giver)
SETUP(one_loop, loop_giver)
SETUP(loop_and_task, loop_giver, task_giver)
SETUP(two_callers, caller, caller)

int main(int argc, char **argv) {
    const mc_case_t cases[] = {
        {.name = "a task", .setup = one_task, .end = end},
        {.name = "a run", .setup = one_run, .end = end},
        {.name = "two tasks",
         .setup = two_tasks,
         .end = end,
         .preemptions = 3,
         .reach = {"the worker did it"}},
        {.name = "tasks of a pool that ends",
         .setup = hasty,
         .end = end,
         .reach = {"a task of a pool that ends"}},
        {.name = "a loop and a task",
         .setup = loop_and_task,
         .end = end,
         .preemptions = 3,
         .reach = {"the worker was called to help", "the opener counted on the worker"}},
        {.name = "a loop", .setup = one_loop, .end = end},
        {.name = "two callers", .setup = two_callers, .end = end, .preemptions = 3},
        {.name = "a task and a run", .setup = task_and_run, .end = end, .preemptions = 3},
    };
    return mc_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
