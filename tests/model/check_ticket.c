/* Run tickets and the FIFO of runs that wait for one (src/threading/pools/ticket.c, run.c): never more than W runs
 * and joiners at once, no run waits while a ticket is free, each runs exactly once. */
#include "threading/pools/ticket.c"

#include "threading/pools/fifo.c"

#include "threading/pools/admission.c"

#include "threading/pools/lane.c"

#include "model/no_helpers.h"
#include "model/no_queues.h"
#include "model/no_shared_loops.h"
#include "model/no_host_calls.h"
#include "model/one_worker.h"
#include "model/product.h"

static bool has_worker;
static int n_lenders;

/* ---- Threads ----------------------------------------------------------------------------------------- */
enum { CLIENTS = 3 };
static _Atomic int running;
static int ran[CLIENTS];

static void work(void *arg, const dtp_parallel_t *par) {
    (void)par;
    int now_running = atomic_fetch_add_explicit(&running, 1, memory_order_relaxed) + 1;
    MC_CHECK(now_running <= rec->num_threads);
    if (now_running > 1) mc_hit("two at once");
    int *mine = arg;
    mc_write(mine);
    ++*mine;
    if (mine != &ran[mc_self()]) mc_hit("ran on another thread");
    atomic_fetch_sub_explicit(&running, 1, memory_order_relaxed);
}
static void client(void *arg) {
    MC_CHECK(dtp_pool_run(rec, 1, true, work, arg) == dnnl_tp_success);
    mc_read(arg);
    MC_CHECK(*(int *)arg == 1);
    if (has_worker) leave();
}
/* A client whose run may be over before it has a ticket: the first client ends it. */
static _Atomic uint32_t stop;
static dtp_sleeper_t sleeper;
static void ending_work(void *arg, const dtp_parallel_t *par) {
    work(arg, par);
    atomic_store_explicit(&stop, 1, memory_order_release);
    dtp_resume(dtp_sleeper_wake(&sleeper));
}
static void ending_client(void *arg) {
    MC_CHECK(dtp_pool_run(rec, 1, true, ending_work, arg) == dnnl_tp_success);
}
static void hasty_client(void *arg) {
    const dtp_share_t share = {.stop = &stop, .late = 3, .sleeper = &sleeper};
    MC_CHECK(dtp_pool_run_share(rec, 1, DTP_RUN_ADMITTED, 0, &share, work, arg) == dnnl_tp_success);
    if (*(int *)arg) mc_hit("had its turn");
    else mc_hit("gave up");
    MC_CHECK(*(int *)arg == 1 || atomic_load_explicit(&stop, memory_order_relaxed));
}
/* It rests once, and goes on at once. */
static dtp_sleeper_t resting[CLIENTS];
static dtp_sleeper_t *sleeper_of(void *arg) { return &resting[(int *)arg - ran]; }
static void rest_once(void *arg, const dtp_parallel_t *par) {
    if (sleeper_of(arg)->rests) {
        sleeper_of(arg)->rests = false;
        work(arg, par);
        return;
    }
    MC_CHECK(dtp_chain_top->may_block);
    MC_CHECK(atomic_fetch_add_explicit(&running, 1, memory_order_relaxed) < rec->num_threads);
    atomic_fetch_sub_explicit(&running, 1, memory_order_relaxed);
    sleeper_of(arg)->rests = true;
    dtp_resume(dtp_sleeper_wake(sleeper_of(arg)));
}
static void lender(void *arg) {
    static _Atomic uint32_t never;
    const dtp_share_t share = {.stop = &never, .late = 3, .sleeper = sleeper_of(arg)};
    MC_CHECK(dtp_pool_run_share(rec, 1, DTP_RUN_ADMITTED, 0, &share, rest_once, arg) == dnnl_tp_success);
    MC_CHECK(*(int *)arg == 1);
    if (has_worker) leave();
}
/* The same where no closure may block: the owner of a run that is dry. It asks for a ticket that is free, or waits for
 * one; or ends without, once the other client has had its turn. */
static _Atomic int others_ran;
static void lend_if_possible(void *arg, const dtp_parallel_t *par) {
    MC_CHECK(atomic_fetch_add_explicit(&running, 1, memory_order_relaxed) < rec->num_threads);
    atomic_fetch_sub_explicit(&running, 1, memory_order_relaxed);
    if (dtp_ticket_lend(rec)) {
        mc_hit("lent");
        MC_CHECK(!dtp_ticket_lend(rec));
        if (!dtp_ticket_regain(rec, false, NULL)) {
            mc_hit("somebody had it");
            MC_CHECK(dtp_ticket_regain(rec, true, NULL));
        }
    }
    work(arg, par);
}
static void lend_until_others_ran(void *arg, const dtp_parallel_t *par) {
    (void)par;
    const bool lent = dtp_ticket_lend(rec);
    while (lent && !atomic_load_explicit(&others_ran, memory_order_acquire)) mc_yield();
    if (lent) mc_hit("ended without a ticket");
    ++*(int *)arg;
}
static void other_work(void *arg, const dtp_parallel_t *par) {
    work(arg, par);
    atomic_store_explicit(&others_ran, 1, memory_order_release);
}
static void dry_client(void *arg) {
    MC_CHECK(dtp_pool_run(rec, 1, true, lend_if_possible, arg) == dnnl_tp_success);
    MC_CHECK(*(int *)arg == 1);
}
static void dry_to_its_end(void *arg) {
    MC_CHECK(dtp_pool_run(rec, 1, true, lend_until_others_ran, arg) == dnnl_tp_success);
    MC_CHECK(*(int *)arg == 1);
}
static void other_client(void *arg) {
    MC_CHECK(dtp_pool_run(rec, 1, true, other_work, arg) == dnnl_tp_success);
}
/* A host with runs: no call with the cookie of a run that has ended. */
static bool ended[CLIENTS];
static _Atomic int n_begun, host_calls;
static int run_begin(void *ctx, uint64_t id, void **run) {
    (void)ctx, (void)id;
    *run = &ended[atomic_fetch_add_explicit(&n_begun, 1, memory_order_relaxed)];
    return 0;
}
static void run_end(void *ctx, void *run, int status, int may_block, dnnl_tp_task_fn_t done_fn, void *arg) {
    (void)ctx, (void)status, (void)may_block;
    mc_write(run);
    *(bool *)run = true;
    done_fn(arg);
}
static void call_host(void *run) {
    mc_read(run);
    MC_CHECK(!*(bool *)run);
    atomic_fetch_add_explicit(&host_calls, 1, memory_order_relaxed); /* a step inside the call */
    MC_CHECK(!*(bool *)run);
    mc_hit("the host was called for a run");
}
static void joiner(void *arg) {
    (void)arg;
    if (!dtp_ticket_join(rec)) {
        mc_hit("a joiner was refused");
        return;
    }
    MC_CHECK(atomic_fetch_add_explicit(&running, 1, memory_order_relaxed) < rec->num_threads);
    mc_hit("a joiner held a ticket");
    atomic_fetch_sub_explicit(&running, 1, memory_order_relaxed);
    bool held = true;
    if (dtp_run_pending(rec, &held)) mc_hit("a joiner's ticket became a run's");
    if (held) dtp_ticket_leave(rec);
}

static void setup(int tickets, int clients, void (*other)(void *)) {
    rec = mc_alloc(sizeof *rec + sizeof(dtp_team_t) * (CLIENTS + 1));
    rec->num_threads = tickets;
    rec->n_teams = CLIENTS + 1;
    rec->teams = (dtp_team_t *)(rec + 1);
    has_worker = other == worker;
    if (has_worker) rec->workers = (struct dtp_worker *)rec; /* only told from NULL */
    worker_bell = 0;
    running = 0;
    memset(ended, 0, sizeof ended);
    n_begun = host_calls = 0;
    model_call_host = NULL;
    left = clients;
    memset(ran, 0, sizeof ran);
    memset((void *)resting, 0, sizeof resting);
    mc_ignore(&rec->peak_time, sizeof rec->peak_time);
    mc_ignore(&rec->peak, sizeof rec->peak);
    mc_ignore(rec->teams, sizeof(dtp_team_t) * (CLIENTS + 1));
    mc_ignore(&rec->max_running, sizeof rec->max_running);
    mc_ignore(rec->counts, sizeof rec->counts);
    mc_thread_local((void **)&dtp_chain_top);
    dtp_chain_top = NULL;
    rec->blocking = n_lenders ? (struct dtp_blocking *)rec : NULL; /* only told from NULL */
    for (int i = 0; i < clients; ++i) mc_thread(i < n_lenders ? lender : client, &ran[i]);
    if (other) mc_thread(other, NULL);
}
static void end(void) {
    MC_CHECK(rec->adm == 0 && rec->lent == 0 && rec->wants_back == 0 && !rec->n_waiting &&
             !dtp_fifo_first(rec));
    MC_CHECK(!(rec->loop[0].open_loops & DTP_LOOPS_ATTENTION));
}
static void lenders(int n, int tickets, int clients, void (*other)(void *)) {
    n_lenders = n;
    setup(tickets, clients, other);
    n_lenders = 0;
}
static void hasty(void) {
    setup(1, 0, NULL);
    stop = 0;
    sleeper = (dtp_sleeper_t){.word = NULL};
    mc_thread(ending_client, &ran[0]);
    mc_thread(hasty_client, &ran[1]);
    mc_thread(client, &ran[2]);
}
static void dry_clients(void) {
    setup(1, 0, NULL);
    for (int i = 0; i < 2; ++i) mc_thread(dry_client, &ran[i]);
}
static void dry_and_joiner(void) {
    setup(1, 0, NULL);
    mc_thread(dry_client, &ran[0]);
    mc_thread(joiner, NULL);
}
static void ends_without(void) {
    setup(1, 0, NULL);
    others_ran = 0;
    mc_thread(dry_to_its_end, &ran[0]);
    mc_thread(other_client, &ran[1]);
}
static void one_lender(void) { lenders(1, 1, 2, NULL); }
static void two_lenders(void) { lenders(2, 1, 2, NULL); }
static void lenders_and_worker(void) { lenders(1, 1, 2, worker); }
static void lender_and_joiner(void) { lenders(1, 1, 1, joiner); }
static void two_clients(void) { setup(1, 2, NULL); }
static void host_with_runs(void) {
    setup(1, 2, NULL);
    rec->form_s = true;
    rec->iface.run_begin = run_begin;
    rec->iface.run_end = run_end;
    model_call_host = call_host;
}
static void three_clients(void) { setup(1, 3, NULL); }
static void two_tickets(void) { setup(2, 3, NULL); }
static void with_joiner(void) { setup(1, 2, joiner); }
static void with_worker(void) { setup(1, 2, worker); }

int main(int argc, char **argv) {
    const mc_case_t cases[] = {
        {.name = "two clients, 1 ticket", .setup = two_clients, .end = end},
        {.name = "two clients, 1 ticket, weak", .setup = two_clients, .end = end, .weak = true},
        {.name = "two clients of a host with runs, 1 ticket",
         .setup = host_with_runs,
         .end = end,
         .preemptions = 3,
         .reach = {"the host was called for a run"}},
        {.name = "two clients and a joiner, 1 ticket",
         .setup = with_joiner,
         .end = end,
         .preemptions = 3,
         .reach = {"a joiner was refused", "a joiner held a ticket", "a joiner's ticket became a run's"}},
        {.name = "two clients and a worker, 1 ticket",
         .setup = with_worker,
         .end = end,
         .preemptions = 3,
         .reach = {"the worker ran pending work", "ran on another thread"}},
        {.name = "a client that lends its ticket and one that does not", .setup = one_lender, .end = end},
        {.name = "two clients that lend", .setup = two_lenders, .end = end, .preemptions = 3},
        {.name = "two clients that lend, weak",
         .setup = two_lenders,
         .end = end,
         .preemptions = 2,
         .weak = true},
        {.name = "a client that lends and a joiner",
         .setup = lender_and_joiner,
         .end = end,
         .preemptions = 3},
        {.name = "a client that lends, one that does not, a worker",
         .setup = lenders_and_worker,
         .end = end,
         .preemptions = 3,
         .reach = {"ran on another thread"}},
        {.name = "two clients that are dry",
         .setup = dry_clients,
         .end = end,
         .preemptions = 3,
         .reach = {"lent", "somebody had it"}},
        {.name = "two clients that are dry, weak",
         .setup = dry_clients,
         .end = end,
         .preemptions = 2,
         .weak = true},
        {.name = "a client that is dry and a joiner", .setup = dry_and_joiner, .end = end, .preemptions = 3},
        {.name = "a client that is dry to its end",
         .setup = ends_without,
         .end = end,
         .preemptions = 3,
         .reach = {"ended without a ticket"}},
        {.name = "a client that gives up",
         .setup = hasty,
         .end = end,
         .preemptions = 3,
         .reach = {"gave up", "had its turn"}},
        {.name = "three clients, 2 tickets",
         .setup = two_tickets,
         .end = end,
         .preemptions = 3,
         .reach = {"two at once"}},
        {.name = "three clients, 1 ticket", .setup = three_clients, .end = end, .preemptions = 3},
    };
    return mc_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
