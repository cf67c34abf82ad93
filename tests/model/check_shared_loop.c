/* Loops that threads share (src/threading/loops/shared_loop.c): one opener opens two loops one after another in the same
 * entry, joiners come at any time. Nobody runs a chunk of another loop, none is lost, none runs twice, no two
 * threads have one slot, and what the joiners wrote is the opener's when the loop returns. */
#include "threading/pools/ticket.c"

#include "threading/pools/fifo.c"

#include "threading/pools/admission.c"

#include "threading/pools/lane.c"

#include "threading/loops/shared_loop.c"

#include "threading/pools/helpers.c"

#include "model/no_queues.h"
#include "model/no_host_calls.h"
#include "model/product.h"

/* ---- What they call ---------------------------------------------------------------------------------- */
bool dtp_builtin_wake_at(dtp_pool_t *rec, int cpu) {
    (void)rec, (void)cpu;
    return true;
}
int dtp_builtin_wake(dtp_pool_t *rec, int count, int cpu, bool mark) {
    (void)rec, (void)count, (void)cpu, (void)mark;
    return 0;
}
void dtp_host_call_joiners(dtp_pool_t *rec, dtp_team_t *team, int count) {
    (void)rec, (void)team, (void)count;
}
bool dtp_host_call_short_loop(dtp_pool_t *rec, int64_t n, int participants, dtp_loop_fn_t fn, void *arg) {
    (void)rec, (void)n, (void)participants, (void)fn, (void)arg;
    return false;
}
void dtp_host_call_loop(dtp_pool_t *rec, dtp_shared_loop_t *loop, int jobs) {
    (void)rec, (void)loop, (void)jobs;
}

/* ---- Loops ------------------------------------------------------------------------------------------- */
enum { JOINERS = 2, LOOPS = 2, CHUNKS = 3, SLOTS = JOINERS + 1 };
typedef struct {
    int runs[CHUNKS];
    int n;
    bool open;
} loop_t;
static dtp_pool_t *rec;
static loop_t loops[LOOPS];
static int joins, in_slot[SLOTS], scratch[SLOTS], chunks, opened;
static dtp_loop_fn_t loop_fn[LOOPS];
static uint64_t of_run; /* what joiners look for; 0: any */

static void run(loop_t *loop, int slot, int64_t begin, int64_t end) {
    MC_CHECK(loop->open);
    MC_CHECK(slot >= 0 && slot < SLOTS && !in_slot[slot]);
    in_slot[slot] = 1;
    /* A step in the middle of the chunk, so that others can come. */
    (void)atomic_load_explicit(&in_slot[slot], memory_order_relaxed);
    mc_write(&scratch[slot]); /* the slot's scratch: handed from its last user to this one */
    for (int64_t i = begin; i < end; ++i) {
        MC_CHECK(i >= 0 && i < loop->n);
        mc_write(&loop->runs[i]);
        ++loop->runs[i];
    }
    in_slot[slot] = 0;
    if (mc_self() > 0) mc_hit("a joiner computed");
}
static void run_0(void *arg, int slot, int64_t begin, int64_t end) {
    MC_CHECK(arg == &loops[0]);
    run(arg, slot, begin, end);
}
static void run_1(void *arg, int slot, int64_t begin, int64_t end) {
    MC_CHECK(arg == &loops[1]);
    if (mc_self() > 0 && chunks) mc_hit("a joiner in both loops");
    run(arg, slot, begin, end);
}

static void opener(void *arg) {
    const dtp_parallel_t par = {.pool = rec, .num_threads = rec->num_threads, .team = arg};
    for (int l = 0; l < opened; ++l) {
        loop_t *loop = &loops[l];
        loop->open = true;
        dtp_parallel_share(&par, loop->n, -GRAIN_NS * 2, loop_fn[l], loop);
        loop->open = false;
        for (int i = 0; i < loop->n; ++i) {
            mc_read(&loop->runs[i]);
            MC_CHECK(loop->runs[i] == 1);
        }
    }
}
static void joiner(void *arg) {
    for (int i = 0; i < joins; ++i)
        if (dtp_shared_loop_help(rec, arg, of_run)) chunks |= 1;
        else mc_hit("a joiner found nothing");
}
/* A joiner that saw a loop and finds the entry in another one's hands. */
static void missed(const volatile void *p, uint64_t expected, uint64_t found) {
    if (p != &rec->loop[0].word) return;
    if (expected / DTP_LW_EPOCH != found / DTP_LW_EPOCH) mc_hit("the entry was reopened under a joiner");
}

static void setup(int num_joiners, int n_loops, int n_joins, int n0, int n1, void (*open)(void *),
                  void *joiner_team) {
    rec = mc_alloc(sizeof *rec);
    rec->num_threads = num_joiners + 1;
    rec->workers = (struct dtp_worker *)rec; /* only told from NULL */
    rec->adm = (uint64_t)num_joiners * DTP_ADM_JOINER;
    mc_ignore(&rec->loop[0].pays, sizeof rec->loop[0].pays);
    memset(loops, 0, sizeof loops);
    memset(in_slot, 0, sizeof in_slot);
    loops[0].n = n0;
    loops[1].n = n1;
    loop_fn[0] = run_0;
    loop_fn[1] = run_1;
    joins = n_joins;
    opened = n_loops;
    of_run = 0;
    chunks = 0;
    mc_cas_missed = missed;
    mc_thread(open, NULL);
    for (int i = 0; i < num_joiners; ++i) mc_thread(joiner, joiner_team);
}
static void end(void) {
    const dtp_shared_loop_t *r = &rec->loop[0];
    MC_CHECK(dtp_lw_active(r->word) == 0 && dtp_lw_left(r->word) == 0);
    MC_CHECK(rec->reserved == 0 && r->slots[0] == 0);
}

/* Two runs of two callers, one after the other in the same entry; a joiner belongs to the first. */
static dtp_team_t *team;
static void of_team(void *arg, int slot, int64_t begin, int64_t end) {
    MC_CHECK(mc_self() == 0 || arg == &loops[0]);
    run(arg, slot, begin, end);
}
static void two_openers(void *arg) {
    (void)arg;
    opened = 1;
    opener(team);
    loops[0].open = true; /* the joiner must not come here */
    const dtp_parallel_t par = {.pool = rec, .num_threads = rec->num_threads, .team = team + 1};
    loops[1].open = true;
    dtp_parallel_share(&par, loops[1].n, -GRAIN_NS * 2, of_team, &loops[1]);
}
static void two_teams(void) {
    static dtp_team_t teams[2];
    team = teams;
    setup(1, 1, 1, 2, 2, two_openers, team);
    loop_fn[0] = of_team;
}

/* Two runs one after the other with the same team; a joiner that was called for the first. */
static void of_first_run(void *arg, int slot, int64_t begin, int64_t end) {
    if (mc_self() > 0) {
        MC_CHECK(arg == &loops[0]);
        mc_hit("a joiner of the first run helped");
    }
    run(arg, slot, begin, end);
}
static void run_loop(void *arg, const dtp_parallel_t *par) {
    loop_t *loop = arg;
    loop->open = true;
    dtp_parallel_share(par, loop->n, -GRAIN_NS * 2, of_first_run, loop);
    loop->open = false;
}
static void run_opener(void *arg) {
    (void)arg;
    for (int l = 0; l < LOOPS; ++l) dtp_run_here(rec, rec->num_threads, NULL, run_loop, &loops[l]);
}
static void one_team(void) {
    static dtp_team_t teams[1];
    teams[0] = (dtp_team_t){.state = 0};
    setup(1, 0, 4, 2, 2, run_opener, teams);
    of_run = DTP_TEAM_EPOCH;
    rec->teams = teams;
    rec->n_teams = 1;
    mc_thread_local((void **)&dtp_chain_top);
    dtp_chain_top = NULL;
}

static void one_joiner(void) { setup(1, 2, 2, 2, 2, opener, NULL); }
static void two_joiners(void) { setup(2, 1, 1, 3, 0, opener, NULL); }
static void reopened(void) { setup(2, 2, 1, 3, 2, opener, NULL); }

int main(int argc, char **argv) {
    const mc_case_t cases[] = {
        {.name = "one joiner, two loops", .setup = one_joiner, .end = end},
        {.name = "one joiner, two loops, weak", .setup = one_joiner, .end = end, .weak = true},
        {.name = "two joiners, one loop", .setup = two_joiners, .end = end},
        {.name = "two joiners, two loops",
         .setup = reopened,
         .end = end,
         .reach = {"a joiner computed", "a joiner in both loops", "the entry was reopened under a joiner",
                   "a joiner found nothing"}},
        {.name = "two teams", .setup = two_teams},
        {.name = "two runs of one team",
         .setup = one_team,
         .end = end,
         .weak = true,
         .reach = {"a joiner of the first run helped", "a joiner found nothing"}},
    };
    return mc_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
