/* Lanes (src/threading/pools/lane.c): while short runs pass a long one, never more run at once than there are tickets, each runs exactly
 * once, and the long one goes on. */
#include <stdint.h>

static int64_t lane_ns;
#define DTP_LANE_NS lane_ns

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

enum { CLIENTS = 3, LONG = 1000000, SHORT = 10 };
static const int64_t NEVER_OVER = INT64_C(1) << 50, OVER_AT_ONCE = 0;
static bool has_worker;
static _Atomic int running;
static int ran[CLIENTS];
static bool passed[CLIENTS];

static void compute(void) {
    MC_CHECK(atomic_fetch_add_explicit(&running, 1, memory_order_relaxed) < rec->num_threads);
    atomic_fetch_sub_explicit(&running, 1, memory_order_relaxed);
}
static void short_work(void *arg, const dtp_parallel_t *par) {
    (void)par;
    int *mine = arg;
    compute();
    mc_write(mine);
    ++*mine;
    if (rec->lanes) {
        if (passed[mine - ran]) mc_hit("passed again");
        passed[mine - ran] = true;
        mc_hit("passed");
    }
}
static void run_short(int *mine, int runs) {
    static _Atomic uint32_t never;
    const dtp_share_t share = {.stop = &never, .late = 3, .passes_ns = SHORT};
    for (int i = 0; i < runs; ++i)
        MC_CHECK(dtp_pool_run_share(rec, 1, DTP_RUN_ADMITTED, 0, &share, short_work, mine) ==
                 dnnl_tp_success);
    mc_read(mine);
    MC_CHECK(*mine == runs);
    if (has_worker) leave();
}
static void short_client(void *arg) { run_short(arg, 1); }
static void short_client_twice(void *arg) { run_short(arg, 2); }
static void long_work(void *arg, const dtp_parallel_t *par) {
    (void)par;
    compute();
    dtp_chain_top->works_until = 1; /* it has worked long enough */
    if (dtp_pool_has_short(rec)) dtp_pool_let_pass(rec, LONG, 0);
    compute();
    ++*(int *)arg;
}
static void long_client(void *arg) {
    MC_CHECK(dtp_pool_run(rec, 1, true, long_work, arg) == dnnl_tp_success);
    MC_CHECK(*(int *)arg == 1);
    if (has_worker) leave();
}

static void setup(int tickets, int64_t time, void (*second)(void *), void (*third)(void *)) {
    rec = mc_alloc(sizeof *rec + sizeof(dtp_team_t) * (CLIENTS + 1));
    rec->num_threads = tickets;
    rec->n_teams = CLIENTS + 1;
    rec->teams = (dtp_team_t *)(rec + 1);
    has_worker = third == worker;
    if (has_worker) rec->workers = (struct dtp_worker *)rec; /* only told from NULL */
    worker_bell = 0;
    lane_ns = time;
    running = 0;
    left = 2;
    memset(ran, 0, sizeof ran);
    memset(passed, 0, sizeof passed);
    mc_ignore(&rec->peak_time, sizeof rec->peak_time);
    mc_ignore(&rec->peak, sizeof rec->peak);
    mc_ignore(rec->teams, sizeof(dtp_team_t) * (CLIENTS + 1));
    mc_ignore(&rec->max_running, sizeof rec->max_running);
    mc_ignore(rec->counts, sizeof rec->counts);
    mc_thread_local((void **)&dtp_chain_top);
    dtp_chain_top = NULL;
    mc_thread(long_client, &ran[0]);
    mc_thread(second, &ran[1]);
    if (third) mc_thread(third, &ran[2]);
}
static void end(void) {
    MC_CHECK(rec->adm == 0 && !rec->n_waiting && !rec->front.n_short && !rec->lanes && !dtp_fifo_first(rec));
    MC_CHECK(!(rec->loop[0].open_loops & DTP_LOOPS_ATTENTION));
}
static void one(void) { setup(1, OVER_AT_ONCE, short_client, NULL); }
static void twice(void) { setup(1, NEVER_OVER, short_client_twice, NULL); }
static void over_twice(void) { setup(1, OVER_AT_ONCE, short_client_twice, NULL); }
static void two(void) { setup(1, NEVER_OVER, short_client, short_client); }
static void two_longs(void) { setup(1, NEVER_OVER, short_client, long_client); }
static void two_tickets(void) { setup(2, NEVER_OVER, short_client, long_client); }
static void with_worker(void) { setup(1, NEVER_OVER, short_client, worker); }

int main(int argc, char **argv) {
    const mc_case_t cases[] = {
        {.name = "a long run, a short one", .setup = one, .end = end, .preemptions = 4, .reach = {"passed"}},
        {.name = "a long run, a short one, weak", .setup = one, .end = end, .preemptions = 2, .weak = true},
        {.name = "a long run, two short ones of one client",
         .setup = twice,
         .end = end,
         .preemptions = 3,
         .reach = {"passed", "passed again"}},
        {.name = "a lane whose time is over",
         .setup = over_twice,
         .end = end,
         .preemptions = 3,
         .reach = {"passed"}},
        {.name = "a long run, short ones of two clients",
         .setup = two,
         .end = end,
         .preemptions = 2,
         .reach = {"passed"}},
        {.name = "two long runs, a short one",
         .setup = two_longs,
         .end = end,
         .preemptions = 2,
         .reach = {"passed"}},
        {.name = "two long runs, a short one, 2 tickets",
         .setup = two_tickets,
         .end = end,
         .preemptions = 3,
         .reach = {"passed"}},
        {.name = "a long run, a short one, a worker",
         .setup = with_worker,
         .end = end,
         .preemptions = 3,
         .reach = {"passed"}},
    };
    return mc_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
