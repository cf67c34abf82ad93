/* Crews (src/threading/loops/crew.c): one run after another opens, invites and closes a crew in the same entry, its
 * joiners invite, too, and come at any time. Nobody is in a crew that is closed, or in one of another run,
 * slots are apart, no more come than were invited, what joiners wrote is the owner's after close, and who
 * sleeps is called for an invitation that stays. */
#include "threading/pools/ticket.c"

#include "threading/loops/shared_loop.c"

#include "threading/loops/crew.c"

#include "threading/pools/helpers.c"

#include "model/product.h"

_Thread_local dtp_chain_t *dtp_chain_top __attribute__((tls_model("initial-exec")));

/* ---- What they call ---------------------------------------------------------------------------------- */
_Atomic uint32_t dtp_fork_generation;
_Atomic int64_t dtp_ticks_per_us;
static dtp_pool_t *rec;
static _Atomic uint32_t wake_word; /* rung for the joiner that sleeps */

_Thread_local dtp_chain_t *dtp_chain_top;
_Thread_local struct dtp_queue *dtp_left_here;
void dtp_queue_run_left(const dtp_chain_t *after) { (void)after; }
void dtp_queue_take_over(dtp_pool_t *pool) { (void)pool; }
bool dtp_dispatch(dtp_pool_t *pool) {
    (void)pool;
    return true;
}
bool dtp_ticket_lend(dtp_pool_t *pool) {
    (void)pool;
    return false;
}
bool dtp_ticket_regain(dtp_pool_t *pool, bool wait, const dtp_share_t *share) {
    (void)pool, (void)wait, (void)share;
    return true;
}
bool dtp_team_hold(dtp_team_t *team) {
    (void)team;
    return true;
}
void dtp_team_let_go(dtp_team_t *team) { (void)team; }
int dtp_builtin_wake(dtp_pool_t *pool, int count, int cpu, bool mark) {
    (void)pool, (void)cpu, (void)mark;
    MC_CHECK(count > 0);
    mc_hit("a sleeper was called");
    atomic_fetch_add_explicit(&wake_word, 1, memory_order_seq_cst);
    dtp_futex_wake(&wake_word, 1);
    return 1;
}
void dtp_host_call_joiners(dtp_pool_t *pool, dtp_team_t *team, int count) {
    (void)pool, (void)team, (void)count;
}
void dtp_host_call_loop(dtp_pool_t *pool, dtp_shared_loop_t *r, int jobs) { (void)pool, (void)r, (void)jobs; }
bool dtp_host_call_possible(const dtp_pool_t *pool) {
    (void)pool;
    return false;
}

/* ---- Crews ------------------------------------------------------------------------------------------- */
enum { CREWS = 2, SLOTS = 3, WORTH_NS = 1 << 20 };
typedef struct {
    dtp_crew_t crew;
    bool open;
    int came, in_slot[SLOTS], done[SLOTS];
} model_crew_t;
static model_crew_t crews[CREWS];
static dtp_team_t teams[CREWS];
static int participants, invitations, joins;
static _Atomic int tasks, tasks_done; /* where joiners invite: only who has a task may */
static int n_tasks;
static bool
    closes_early; /* the owner has nothing left but what is away, and closes while a joiner has a task */
static int invited[CREWS];
static _Atomic int came; /* in any crew */

static void invite(model_crew_t *c, int count) {
    invited[c - crews] += dtp_crew_want(&c->crew, count, WORTH_NS);
}
static bool take_task(void) { return atomic_fetch_sub_explicit(&tasks, 1, memory_order_relaxed) > 0; }
static void work(void *arg, int slot, int64_t begin, int64_t end) {
    model_crew_t *c = arg;
    MC_CHECK(c->open && begin == 0 && end == 0);
    MC_CHECK(slot > 0 && slot < participants && !c->in_slot[slot]);
    c->in_slot[slot] = 1;
    ++c->came;
    (void)atomic_fetch_add_explicit(&came, 1, memory_order_relaxed); /* others may come */
    mc_write(&c->done[slot]);
    ++c->done[slot];
    if (c != crews) mc_hit("came to the second crew");
    if (c->in_slot[1] && participants > 2 && c->in_slot[2]) mc_hit("two at once");
    if (n_tasks && take_task()) {
        mc_hit("a joiner invited");
        invite(c, 1);
        atomic_fetch_add_explicit(&tasks_done, 1, memory_order_release);
    }
    c->in_slot[slot] = 0;
}
static void owner_of(int first, int n, bool until_somebody_comes) {
    for (int i = first; i < first + n; ++i) {
        const dtp_parallel_t par = {.pool = rec, .num_threads = rec->num_threads, .team = &teams[i]};
        model_crew_t *c = &crews[i];
        c->open = true;
        tasks = n_tasks;
        tasks_done = 0;
        MC_CHECK(dtp_crew_open(&c->crew, &par, participants, work, c));
        for (int k = 0; k < invitations; ++k) invite(c, closes_early ? 1 : participants - 1);
        while (until_somebody_comes && !atomic_load_explicit(&came, memory_order_relaxed)) {
            invite(c, 1);
            mc_yield();
        }
        while (n_tasks && !closes_early && take_task())
            atomic_fetch_add_explicit(&tasks_done, 1, memory_order_relaxed);
        while (!closes_early && atomic_load_explicit(&tasks_done, memory_order_acquire) < n_tasks) mc_yield();
        dtp_crew_close(&c->crew);
        c->open = false;
        int done = 0;
        for (int s = 1; s < SLOTS; ++s) {
            mc_read(&c->done[s]);
            done += c->done[s];
        }
        MC_CHECK(done == c->came && done <= invited[i]);
    }
}
static void owner(void *arg) {
    (void)arg;
    owner_of(0, CREWS, false);
}
static void joiner(void *arg) {
    for (int i = 0; i < joins; ++i)
        if (!dtp_shared_loop_help(rec, arg, 0)) mc_hit("a joiner found nothing");
}
/* One that falls asleep as soon as it finds nothing, with its ticket or without. */
static bool over;
static void sleeper(void *arg) {
    (void)arg;
    for (;;) {
        uint32_t seen = atomic_load_explicit(&wake_word, memory_order_seq_cst);
        bool end = over;
        if (dtp_ticket_join(rec)) {
            if (!end) (void)dtp_shared_loop_help(rec, NULL, 0);
            dtp_ticket_leave(rec);
        }
        if (end) return;
        dtp_futex_wait(&wake_word, seen, -1);
    }
}
static void patient_owner(void *arg) {
    (void)arg;
    owner_of(0, 1, true);
    over = true;
    atomic_fetch_add_explicit(&wake_word, 1, memory_order_seq_cst);
    dtp_futex_wake(&wake_word, 1);
}

/* Two runs that want one helper each, at the same time; a helper stays until both have one. Helpers behave as
 * workers do: one that has given its ticket back looks before it sleeps. */
static _Atomic int owners_left;
static void work_together(void *arg, int slot, int64_t begin, int64_t end) {
    model_crew_t *c = arg;
    MC_CHECK(c->open && slot == 1 && begin == 0 && end == 0);
    mc_write(&c->done[slot]);
    ++c->done[slot];
    (void)atomic_fetch_add_explicit(&came, 1, memory_order_relaxed);
    while (atomic_load_explicit(&came, memory_order_relaxed) < CREWS) mc_yield();
}
static void one_of_two_owners(void *arg) {
    const int i = (int)((dtp_team_t *)arg - teams);
    const dtp_parallel_t par = {.pool = rec, .num_threads = rec->num_threads, .team = arg};
    model_crew_t *c = &crews[i];
    c->open = true;
    MC_CHECK(dtp_crew_open(&c->crew, &par, 2, work_together, c));
    MC_CHECK(dtp_crew_want(&c->crew, 1, WORTH_NS) == 1);
    while (atomic_load_explicit(&came, memory_order_relaxed) < CREWS) mc_yield();
    dtp_crew_close(&c->crew);
    c->open = false;
    mc_read(&c->done[1]);
    MC_CHECK(c->done[1] == 1);
    if (atomic_fetch_sub_explicit(&owners_left, 1, memory_order_seq_cst) != 1) return;
    atomic_fetch_add_explicit(&wake_word, 1, memory_order_seq_cst);
    dtp_futex_wake(&wake_word, INT_MAX);
}
static void like_a_worker(void *arg) {
    bool has_ticket = arg != NULL; /* at first */
    for (;;) {
        const uint32_t seen = atomic_load_explicit(&wake_word, memory_order_seq_cst);
        if (has_ticket || dtp_ticket_join(rec)) {
            while (dtp_shared_loop_help(rec, NULL, 0)) continue;
            dtp_ticket_leave(rec);
        }
        has_ticket = false;
        if (!atomic_load_explicit(&owners_left, memory_order_seq_cst)) return;
        if (!dtp_helpers_may_come(rec, NULL)) dtp_futex_wait(&wake_word, seen, -1);
    }
}

/* An owner that has a task for its helper, and then another one, which it does not do itself: meanwhile the helper has found nothing
 * more, and leaves. */
static void work_while_there_is(void *arg, int slot, int64_t begin, int64_t end) {
    int one = 1;
    (void)begin, (void)end;
    MC_CHECK(((model_crew_t *)arg)->open && slot == 1);
    while (
        atomic_compare_exchange_strong_explicit(&tasks, &one, 0, memory_order_seq_cst, memory_order_seq_cst))
        atomic_fetch_add_explicit(&tasks_done, 1, memory_order_release);
}
static void owner_with_tasks(void *arg) {
    const dtp_parallel_t par = {.pool = rec, .num_threads = rec->num_threads, .team = arg};
    model_crew_t *c = &crews[0];
    c->open = true;
    MC_CHECK(dtp_crew_open(&c->crew, &par, 2, work_while_there_is, c));
    for (int i = 1; i <= 2; ++i) {
        atomic_store_explicit(&tasks, 1, memory_order_seq_cst);
        if (!dtp_crew_want(&c->crew, 1, WORTH_NS)) mc_hit("the helper was asked to look again before");
        if (dtp_lw_active(atomic_load_explicit(&rec->loop[0].word, memory_order_relaxed)))
            mc_hit("the helper was inside");
        while (atomic_load_explicit(&tasks_done, memory_order_acquire) < i) mc_yield();
    }
    dtp_crew_close(&c->crew);
    c->open = false;
    owners_left = 0;
    atomic_fetch_add_explicit(&wake_word, 1, memory_order_seq_cst);
    dtp_futex_wake(&wake_word, INT_MAX);
}

/* ---- Cases ------------------------------------------------------------------------------------------- */
static void setup(int joiners, int n_participants, void (*own)(void *), void (*join)(void *), void *arg) {
    rec = mc_alloc(sizeof *rec);
    rec->num_threads = n_participants;
    rec->workers = (struct dtp_worker *)rec; /* only told from NULL */
    memset(crews, 0, sizeof crews);
    memset((void *)teams, 0, sizeof teams);
    memset(invited, 0, sizeof invited);
    wake_word = 0;
    came = 0;
    over = false;
    n_tasks = 0;
    closes_early = false;
    participants = n_participants;
    invitations = 1;
    joins = 1;
    if (join == joiner) rec->adm = (uint64_t)joiners * DTP_ADM_JOINER;
    mc_ignore(&rec->peak_time, sizeof rec->peak_time);
    mc_ignore(&rec->peak, sizeof rec->peak);
    mc_ignore(&rec->max_running, sizeof rec->max_running);
    mc_ignore(rec->counts, sizeof rec->counts);
    for (int i = 0; i < CREWS; ++i) mc_ignore(&rec->loop[i].pays, sizeof rec->loop[i].pays);
    if (own) mc_thread(own, NULL);
    for (int i = 0; i < joiners; ++i) mc_thread(join, arg);
}
static void end(void) {
    const dtp_shared_loop_t *r = &rec->loop[0];
    MC_CHECK(dtp_lw_active(r->word) == 0 && dtp_lw_left(r->word) == 0);
    MC_CHECK(rec->reserved == 0 && r->slots[0] == 0);
    for (int i = 0; i < CREWS; ++i) MC_CHECK(!crews[i].open);
}
static void one_joiner(void) {
    setup(1, 2, owner, joiner, NULL);
    joins = 2;
}
/* The joiner belongs to the first run. */
static void of_first_run(void *arg, int slot, int64_t begin, int64_t end_) {
    MC_CHECK(arg == &crews[0]);
    work(arg, slot, begin, end_);
}
static void two_teams_owner(void *arg) {
    (void)arg;
    for (int i = 0; i < CREWS; ++i) {
        const dtp_parallel_t par = {.pool = rec, .num_threads = rec->num_threads, .team = &teams[i]};
        crews[i].open = true;
        MC_CHECK(dtp_crew_open(&crews[i].crew, &par, participants, of_first_run, &crews[i]));
        invite(&crews[i], 1);
        dtp_crew_close(&crews[i].crew);
        crews[i].open = false;
    }
}
static void two_teams(void) {
    setup(1, 2, two_teams_owner, joiner, &teams[0]);
    joins = 2;
}
static void two_joiners(void) { setup(2, 3, owner, joiner, NULL); }
static void small_crew(void) {
    setup(2, 2, owner, joiner, NULL);
    invitations = 2;
}
static void inviting(void) {
    setup(2, 3, owner, joiner, NULL);
    n_tasks = 2;
}
static void closing(void) {
    setup(2, 3, owner, joiner, NULL);
    n_tasks = 1;
    closes_early = true;
}
/* One helper is awake, one sleeps. */
static void two_owners(void) {
    setup(0, 4, NULL, NULL, NULL);
    rec->adm = DTP_ADM_JOINER;
    owners_left = CREWS;
    for (int i = 0; i < CREWS; ++i) mc_thread(one_of_two_owners, &teams[i]);
    mc_thread(like_a_worker, rec);
    mc_thread(like_a_worker, NULL);
}
static void leaving(void) {
    setup(0, 2, NULL, NULL, NULL);
    tasks = tasks_done = 0;
    owners_left = 1;
    mc_thread(owner_with_tasks, &teams[0]);
    mc_thread(like_a_worker, NULL);
}
static void asleep(void) { setup(1, 2, patient_owner, sleeper, NULL); }

int main(int argc, char **argv) {
    const mc_case_t cases[] = {
        {.name = "one joiner", .setup = one_joiner, .end = end},
        {.name = "one joiner, weak", .setup = one_joiner, .end = end, .weak = true},
        {.name = "two runs", .setup = two_teams, .end = end, .weak = true},
        {.name = "a joiner sleeps", .setup = asleep, .end = end, .preemptions = 3},
        {.name = "two runs at once", .setup = two_owners, .end = end, .preemptions = 1},
        {.name = "an invitation while a joiner leaves",
         .setup = leaving,
         .end = end,
         .preemptions = 3,
         .reach = {"the helper was inside"}},
        {.name = "a small crew", .setup = small_crew, .end = end, .preemptions = 3},
        {.name = "two joiners",
         .setup = two_joiners,
         .end = end,
         .bounded = 3,
         .reach = {"came to the second crew", "two at once", "a joiner found nothing"}},
        {.name = "joiners invite",
         .setup = inviting,
         .end = end,
         .preemptions = 3,
         .reach = {"a joiner invited"}},
        {.name = "a joiner invites while the owner closes",
         .setup = closing,
         .end = end,
         .preemptions = 2,
         .reach = {"a joiner invited"}},
    };
    return mc_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
