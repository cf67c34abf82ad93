/* A run whose closures go to the blocking crew (src/exec/dataflow/run/blocking.c, src/threading/pools/blocking.c), with the
 * product's dataflow engine on one thread and the product's tickets: every node runs once and is delivered once,
 * with a happens- before edge each way; never more than W threads compute; nobody touches the run after it
 * ended (its memory is freed at once); a run that is cancelled ends though the crew is busy; other runs get
 * the ticket meanwhile. */
#include "threading/pools/ticket.c"

#include "threading/pools/fifo.c"

#include "threading/pools/admission.c"

#include "threading/pools/lane.c"

#include "threading/pools/blocking.c"

#include "exec/dataflow/run/blocking.c"

#include "exec/dataflow/run/pending.c"

#include "exec/dataflow/run/share.c"

#include "exec/dataflow/run/run.c"

#include "exec/dataflow/run/learn.c"

#include "model/no_crew.h"
#include "model/no_helpers.h"
#include "model/no_queues.h"
#include "model/no_shared_loops.h"
#include "model/no_host_calls.h"
#include "model/product.h"

/* ---- What they call ---------------------------------------------------------------------------------- */
bool dtp_builtin_wake_at(dtp_pool_t *pool, int cpu) {
    (void)pool, (void)cpu;
    return false;
}
void dtp_builtin_thread_in(void) {}
void dtp_block_host_signals(sigset_t *before) { (void)before; }
void dtp_builtin_thread_out(dtp_pool_t *pool) { (void)pool; }

/* ---- The program: its operators that pend are closures that block ------------------------------------- */
#define FIRST_BITS (DTP_FN_COSTLY | DTP_FN_MAY_BLOCK)
#include "model/small_program.h"

static dtp_pool_t *rec;
static _Atomic int computing, blocked, runs_left;
static _Atomic uint32_t cancel;
static bool cancels;
static int ran[NODES], other_ran;

static dnnl_tp_status_t exec(void *ctx, dtp_dataflow_instance_t *instance, uint32_t index,
                             const dtp_dataflow_where_t *where) {
    (void)instance;
    int *value = ctx;
    if (index == LAST) {
        MC_CHECK(atomic_fetch_add_explicit(&computing, 1, memory_order_relaxed) < rec->num_threads);
        mc_read(&value[0]);
        MC_CHECK(value[0] == 1 && where->slot == 0);
        atomic_fetch_sub_explicit(&computing, 1, memory_order_relaxed);
    } else {
        if (atomic_fetch_add_explicit(&blocked, 1, memory_order_relaxed)) mc_hit("two blocked at once");
        MC_CHECK(dtp_chain_top->kind == DTP_CHAIN_BLOCKING && where->slot >= rec->num_threads);
        atomic_fetch_sub_explicit(&blocked, 1, memory_order_relaxed);
    }
    mc_write(&value[index]);
    value[index] = 1;
    ++ran[index];
    return dnnl_tp_success;
}

static dtp_sleeper_t sleeper;
static dtp_share_t share;
static dtp_dataflow_state_t *run;

static void begin(const dtp_parallel_t *par) {
    int *value = mc_alloc(sizeof(int) * NODES);
    dtp_dataflow_state_t *s = new_state();
    dtp_dataflow_args_t args = {.ctx = value, .exec = exec, .par = par, .cancel = &cancel, .share = &share};
    dtp_dataflow_begin(&plan, s, &args);
    run = s;
}
static void body(void *arg, const dtp_parallel_t *par) {
    (void)arg;
    if (!sleeper.rests) begin(par);
    dtp_dataflow_state_t *s = run;
    sleeper.rests = !dtp_dataflow_go(s, par);
    if (sleeper.rests) {
        mc_hit("the run rested");
        return;
    }
    dtp_dataflow_result_t result;
    dnnl_tp_status_t status = dtp_dataflow_end(s, &result);
    dtp_dataflow_worker_t *w = s->workers;
    dtp_dataflow_instance_t *instance = s->root;
    int *value = s->args.ctx;
    MC_CHECK(cancels || status == dnnl_tp_success);
    if (status == dnnl_tp_success)
        for (int i = 0; i < NODES; ++i) {
            mc_read(&value[i]);
            MC_CHECK(ran[i] == 1 && value[i] == 1);
        }
    else mc_hit("cancelled");
    mc_free(w->lifo);
    mc_free(w);
    mc_free(instance);
    mc_free(s);
    mc_free(value);
}
static void one_left(void) {
    if (atomic_fetch_sub_explicit(&runs_left, 1, memory_order_acq_rel) == 1)
        dtp_blocking_end(rec->blocking, false);
}
static void owner(void *arg) {
    (void)arg;
    MC_CHECK(dtp_pool_run_share(rec, 1, DTP_RUN_ADMITTED, 0, &share, body, NULL) == dnnl_tp_success);
    one_left();
}
static void other_body(void *arg, const dtp_parallel_t *par) {
    (void)arg, (void)par;
    MC_CHECK(atomic_fetch_add_explicit(&computing, 1, memory_order_relaxed) < rec->num_threads);
    if (!ran[LAST]) mc_hit("another run had the ticket");
    ++other_ran;
    atomic_fetch_sub_explicit(&computing, 1, memory_order_relaxed);
}
static void other(void *arg) {
    (void)arg;
    MC_CHECK(dtp_pool_run(rec, 1, true, other_body, NULL) == dnnl_tp_success);
    one_left();
}
static void canceller(void *arg) {
    (void)arg;
    atomic_store_explicit(&cancel, 1, memory_order_relaxed);
    dtp_resume(dtp_sleeper_end(&sleeper));
}
static void member(void *arg) { (void)member_main(arg); }

static void setup(int threads, int runs, bool with_cancel) {
    set_plan();
    enum { TEAMS = 4 };
    rec = mc_alloc(sizeof *rec + sizeof(dtp_team_t) * TEAMS);
    rec->num_threads = 1;
    rec->n_teams = TEAMS;
    rec->teams = (dtp_team_t *)(rec + 1);
    rec->workers = (struct dtp_worker *)rec; /* only told from NULL */
    dtp_blocking_t *b = mc_alloc(sizeof *b + sizeof(member_t) * 2);
    b->rec = rec;
    b->num_started = threads;
    rec->blocking = b;
    cancels = with_cancel;
    runs_left = runs;
    computing = blocked = 0;
    cancel = 0;
    sleeper = (dtp_sleeper_t){.word = NULL};
    share = (dtp_share_t){.stop = &cancel, .late = 3, .sleeper = &sleeper};
    other_ran = 0;
    memset(ran, 0, sizeof ran);
    mc_ignore(&rec->peak_time, sizeof rec->peak_time);
    mc_ignore(&rec->peak, sizeof rec->peak);
    mc_ignore(rec->teams, sizeof(dtp_team_t) * TEAMS);
    mc_ignore(&rec->max_running, sizeof rec->max_running);
    mc_ignore(rec->counts, sizeof rec->counts);
    mc_thread_local((void **)&dtp_chain_top);
    dtp_chain_top = NULL;
    mc_thread(owner, NULL);
    for (int i = 0; i < threads; ++i) {
        b->members[i] = (member_t){.crew = b, .index = i};
        mc_thread(member, &b->members[i]);
    }
    if (runs > 1) mc_thread(other, NULL);
    if (with_cancel) mc_thread(canceller, NULL);
}
static void end(void) {
    MC_CHECK(rec->adm == 0 && !rec->n_waiting && !dtp_fifo_first(rec));
    MC_CHECK(!rec->blocking->first && rec->blocking->now == 0);
    for (int i = 0; i < NODES; ++i) MC_CHECK(ran[i] <= 1);
}
static void one_thread(void) { setup(1, 1, false); }
static void two_threads(void) { setup(2, 1, false); }
static void two_runs(void) { setup(1, 2, false); }
static void with_cancel(void) { setup(1, 1, true); }

int main(int argc, char **argv) {
    const mc_case_t cases[] = {
        {.name = "one thread",
         .setup = one_thread,
         .end = end,
         .preemptions = 2,
         .reach = {"the run rested"}},
        {.name = "two threads", .setup = two_threads, .end = end, .preemptions = 1},
        {.name = "another run",
         .setup = two_runs,
         .end = end,
         .preemptions = 1,
         .reach = {"another run had the ticket"}},
        {.name = "cancelled", .setup = with_cancel, .end = end, .preemptions = 1, .reach = {"cancelled"}},
    };
    return mc_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
