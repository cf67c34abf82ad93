/* Calls that the library queues in a caller's pool (src/threading/pools/host_call.c): the host calls them late, at
 * once, or not at all. Each loop and each body of a run is done once; a call helps in the run that it was
 * made for and in no later one; pending work that was handed to a call does not wait for ever; who waits for the
 * end of the calls is woken, when there is none left; the record lives as long as a call, and no longer: who
 * was woken and lets go of it finds none. */
#include "threading/pools/record.c"

#include "threading/pools/ticket.c"

#include "threading/pools/fifo.c"

#include "threading/pools/admission.c"

#include "threading/pools/lane.c"

#include "threading/loops/shared_loop.c"

#include "threading/pools/helpers.c"

#include "threading/pools/host_call.c"

#include "model/product.h"

/* ---- What they call ---------------------------------------------------------------------------------- */
_Atomic int64_t dtp_ticks_per_us;
static dtp_pool_t *rec;
static _Atomic int left; /* threads that may still call the host */

bool dtp_builtin_wake_at(dtp_pool_t *pool, int cpu) {
    (void)pool, (void)cpu;
    return false;
}
int dtp_builtin_wake(dtp_pool_t *pool, int count, int cpu, bool mark) {
    (void)pool, (void)count, (void)cpu, (void)mark;
    return 0;
}
void dtp_builtin_end(dtp_pool_t *pool) { (void)pool; }
size_t dtp_worker_size(void) { return 0; }
void dtp_record_set_costs(dtp_pool_t *pool, int64_t spin_ns) { (void)pool, (void)spin_ns; }
int dtp_process_num_threads(void) { return 1; }
double dtp_cpu_quota(void) { return 0; }
void dtp_sync_forked(void) {}
void dtp_named_pools_forked(void) {}
void dtp_queue_run_left(const dtp_chain_t *after) { (void)after; }
void dtp_queue_rest(const dtp_share_t *share) {
    _Atomic uint32_t wake_word = 0;
    dtp_sleep_or_rest(share, &wake_word, 0, 1, -1, true);
}

/* ---- The host ---------------------------------------------------------------------------------------- */
enum { THREADS = 4, CALLS = 8 };
typedef struct {
    dnnl_tp_task_fn_t fn;
    dnnl_tp_chunk_fn_t job; /* of a loop, else NULL */
    _Atomic int *jobs;      /* of the loop that are left */
    void *arg, *run;
    int i, n;
} call_t;
static call_t calls[CALLS];
static int first_call, n_calls;
static int answers; /* 1: calls later, 2: or refuses, 3: or calls at once */
static bool gone;   /* no call may come any more */
static bool caller_works;
static bool calls_inside; /* schedule may call what waits first */
static dtp_lock_t host_lock;
static _Atomic uint32_t host_bell;
static _Atomic int inside;          /* callers of schedule */
static const void *run_of[THREADS]; /* whose call a thread is in */

static void ring(void) {
    atomic_fetch_add_explicit(&host_bell, 1, memory_order_seq_cst);
    dtp_futex_wake(&host_bell, INT_MAX);
}
static void push(call_t call) {
    dtp_lock(&host_lock);
    MC_CHECK(n_calls - first_call < CALLS);
    calls[n_calls++ % CALLS] = call;
    dtp_unlock(&host_lock);
    ring();
}
static bool call_one(void) {
    dtp_lock(&host_lock);
    bool any = first_call < n_calls;
    call_t call = {.n = 0};
    if (any) call = calls[first_call++ % CALLS];
    dtp_unlock(&host_lock);
    if (!any) return false;
    MC_CHECK(!gone);
    mc_read(call.arg);
    const void *outer = run_of[mc_self()];
    run_of[mc_self()] = call.run;
    if (call.job) call.job(call.arg, call.i, call.n);
    else call.fn(call.arg);
    run_of[mc_self()] = outer;
    if (call.job && atomic_fetch_sub_explicit(call.jobs, 1, memory_order_acq_rel) == 1) ring();
    return true;
}
static void host(void *arg) {
    (void)arg;
    for (;;) {
        uint32_t wake_word = atomic_load_explicit(&host_bell, memory_order_seq_cst);
        bool over = !atomic_load_explicit(&left, memory_order_acquire);
        if (call_one()) continue;
        if (over) return;
        dtp_futex_wait(&host_bell, wake_word, -1);
    }
}
static void leave(void) {
    if (atomic_fetch_sub_explicit(&left, 1, memory_order_acq_rel) == 1) ring();
}

/* Entries into a host with one caller at a time. */
static void come_in(void) {
    if (rec->flags & DNNL_TP_THREADPOOL_SINGLE_CALLER)
        MC_CHECK(atomic_fetch_add_explicit(&inside, 1, memory_order_relaxed) == 0);
}
static void go_out(void) {
    if (rec->flags & DNNL_TP_THREADPOOL_SINGLE_CALLER)
        atomic_fetch_sub_explicit(&inside, 1, memory_order_relaxed);
}

enum { RUNS = 2 };
static void run_here_is(const void *run);
static bool ended[RUNS];
static _Atomic int n_begun;
static int schedule(void *ctx, void *run, dnnl_tp_task_fn_t fn, void *arg) {
    MC_CHECK(ctx == &host_lock);
    MC_CHECK(!run || !*(bool *)run);
    mc_write(arg); /* the host call was filled */
    come_in();
    if (calls_inside && mc_choose(2) && call_one()) mc_hit("called another one inside schedule");
    const int answer = mc_choose(answers);
    if (answer == 0) push((call_t){.fn = fn, .arg = arg, .run = run});
    if (answer == 2) {
        mc_hit("called at once");
        fn(arg);
    }
    go_out();
    if (answer != 1) return 0;
    mc_hit("refused");
    return -1;
}
static int loop_of_host(void *ctx, int n, dnnl_tp_chunk_fn_t fn, void *arg) {
    (void)ctx;
    mc_write(arg);
    _Atomic int jobs = n;
    for (int i = 0; i < n; ++i) push((call_t){.job = fn, .jobs = &jobs, .arg = arg, .i = i, .n = n});
    for (;;) {
        uint32_t wake_word = atomic_load_explicit(&host_bell, memory_order_seq_cst);
        if (!atomic_load_explicit(&jobs, memory_order_acquire)) return 0;
        if (!(caller_works && call_one())) dtp_futex_wait(&host_bell, wake_word, -1);
    }
}
static int run_begin(void *ctx, uint64_t id, void **run) {
    (void)ctx, (void)id;
    come_in();
    *run = &ended[atomic_fetch_add_explicit(&n_begun, 1, memory_order_relaxed)];
    run_here_is(*run);
    go_out();
    return 0;
}
static void run_end(void *ctx, void *run, int status, int may_block, dnnl_tp_task_fn_t done, void *arg) {
    (void)ctx, (void)status;
    MC_CHECK(!may_block == !!(rec->flags & DNNL_TP_THREADPOOL_SINGLE_CALLER));
    come_in();
    *(bool *)run = true;
    done(arg);
    go_out();
}
static bool released;
static void release(void *ctx) {
    (void)ctx;
    released = true;
}

/* ---- Loops and runs ---------------------------------------------------------------------------------- */
enum { ITERATIONS = 2 };
typedef struct {
    int runs[ITERATIONS];
    bool open;
    const void *run;
    int bodies;
} loop_t;
static loop_t loops[THREADS];
static void run_here_is(const void *run) { loops[mc_self()].run = run; }
static const int64_t short_grain = -GRAIN_NS * 2, long_grain = -MEDIUM_LOOP_NS;
static int64_t grain;
static bool meets; /* every body waits until all of its loop are inside */
static _Atomic uint32_t n_met;

static void meet(void) {
    if (!meets) return;
    const uint32_t all = ITERATIONS;
    if (atomic_fetch_add_explicit(&n_met, 1, memory_order_seq_cst) + 1 == all)
        dtp_futex_wake(&n_met, INT_MAX);
    for (uint32_t met; (met = atomic_load_explicit(&n_met, memory_order_seq_cst)) < all;)
        dtp_futex_wait(&n_met, met, -1);
}
static void body(void *arg, int slot, int64_t begin, int64_t end) {
    loop_t *loop = arg;
    MC_CHECK(loop->open && slot >= 0 && slot < rec->num_threads);
    if (slot) mc_hit("a call helped");
    if (run_of[mc_self()]) MC_CHECK(run_of[mc_self()] == loop->run);
    for (int64_t i = begin; i < end; ++i) {
        mc_write(&loop->runs[i]);
        ++loop->runs[i];
        meet();
    }
}
static void one_loop(loop_t *loop, const dtp_parallel_t *par) {
    loop->open = true;
    n_met = 0;
    dtp_parallel_share(par, ITERATIONS, grain, body, loop);
    loop->open = false;
    for (int i = 0; i < ITERATIONS; ++i) {
        mc_read(&loop->runs[i]);
        MC_CHECK(loop->runs[i] == 1);
    }
}
static void run_body(void *arg, const dtp_parallel_t *par) {
    loop_t *loop = arg;
    mc_write(&loop->bodies);
    ++loop->bodies;
    if (loop != &loops[mc_self()]) mc_hit("a call took the body");
    one_loop(loop, par);
}

/* ---- Threads ----------------------------------------------------------------------------------------- */
static void loop_caller(void *arg) {
    const dtp_parallel_t par = {.pool = rec, .num_threads = rec->num_threads};
    one_loop(arg, &par);
    dtp_pool_release(rec);
    leave();
}
/* Waits for the calls, then ends the host's pool. */
static void quiet_caller(void *arg) {
    const dtp_parallel_t par = {.pool = rec, .num_threads = rec->num_threads};
    one_loop(arg, &par);
    MC_CHECK(dtp_host_call_quiesce(rec, -1) == dnnl_tp_success);
    MC_CHECK(first_call == n_calls &&
             !dtp_hold_calls(atomic_load_explicit(&rec->holds, memory_order_relaxed)));
    gone = true;
    dtp_pool_release(rec);
    MC_CHECK(released && !registry); /* another pool may have its address now */
    leave();
}
static int runs_per_caller;
static void run_caller(void *arg) {
    loop_t *loop = arg;
    for (int i = 0; i < runs_per_caller; ++i) {
        *loop = (loop_t){.run = NULL};
        MC_CHECK(dtp_pool_run(rec, rec->num_threads, true, run_body, loop) == dnnl_tp_success);
        mc_read(&loop->bodies);
        MC_CHECK(loop->bodies == 1);
    }
    MC_CHECK(dtp_host_call_quiesce(rec, -1) == dnnl_tp_success);
    const bool others = rec->flags & DNNL_TP_THREADPOOL_SINGLE_CALLER; /* which may be in a run */
    for (int i = 0; i < rec->n_teams; ++i) MC_CHECK(others || !dtp_team_is_open(rec->teams[i].state));
    dtp_pool_release(rec);
    leave();
}
/* Pending work that only a call can execute, as those of queues are. Where the host may refuse calls, its publisher
 * looks after it now and then, as those who query an event do. */
static dtp_pending_work_t pending[THREADS];
static _Atomic int executed[THREADS], orphaned[THREADS];
bool dtp_queue_hint(dtp_pending_work_t *work) {
    (void)work;
    return false;
}
bool dtp_queue_is_awaited(const dtp_pending_work_t *work) {
    (void)work;
    return false;
}
void dtp_queue_take_over(dtp_pool_t *pool) {
    dtp_lock(&pool->lock);
    const dtp_pending_work_t *work = dtp_fifo_first(pool);
    if (work) atomic_store_explicit(&orphaned[work - pending], 1, memory_order_relaxed);
    dtp_unlock(&pool->lock);
}
void dtp_queue_run_pending(dtp_pool_t *pool, dtp_pending_work_t *work) {
    MC_CHECK(pool == rec);
    const int i = (int)(work - pending);
    MC_CHECK(atomic_fetch_add_explicit(&executed[i], 1, memory_order_relaxed) == 0);
    if (mc_self() != i) mc_hit("a call executed pending work");
    leave();
}
static void look_after(dtp_pending_work_t *work) {
    if (dtp_dispatch(rec) || !dtp_pending_reclaim(rec, work, NULL)) return;
    dtp_queue_run_pending(rec, work);
    dtp_ticket_end(rec);
}
static void publisher(void *arg) {
    dtp_pending_work_t *work = arg;
    const int i = (int)(work - pending);
    dtp_pending_publish(rec, work);
    look_after(work);
    while (answers > 1 && !atomic_load_explicit(&executed[i], memory_order_relaxed)) {
        if (atomic_exchange_explicit(&orphaned[i], 0, memory_order_relaxed)) {
            mc_hit("pending work was orphaned");
            look_after(work);
        } else {
            mc_yield();
        }
    }
    dtp_pool_release(rec);
    leave();
}

/* ---- Cases ------------------------------------------------------------------------------------------- */
static void setup(int num_threads, int callers, void (*caller)(void *), int hosts) {
    registry = NULL;
    registry_lock.word = 0;
    registry_wake_word = 0;
    rec = dtp_record_create(num_threads, 0);
    rec->iface = (dnnl_tp_threadpool_iface_t){.ctx = &host_lock, .schedule = schedule, .release = release};
    rec->form_s = true;
    rec->holds = (uint64_t)callers * DTP_HOLD_REF;
    dtp_record_register(rec);
    memset(calls, 0, sizeof calls);
    memset(loops, 0, sizeof loops);
    memset(pending, 0, sizeof pending);
    memset((void *)executed, 0, sizeof executed);
    memset((void *)orphaned, 0, sizeof orphaned);
    memset(ended, 0, sizeof ended);
    memset(run_of, 0, sizeof run_of);
    first_call = n_calls = 0;
    host_lock.word = 0;
    host_bell = quiet_wake_word = 0;
    inside = n_begun = 0;
    answers = 1;
    gone = caller_works = calls_inside = released = meets = false;
    runs_per_caller = 1;
    grain = short_grain;
    left = callers;
    mc_ignore(&rec->peak_time, sizeof rec->peak_time);
    mc_ignore(&rec->peak, sizeof rec->peak);
    mc_ignore(&rec->loop[0].pays, sizeof rec->loop[0].pays);
    mc_ignore(&rec->max_running, sizeof rec->max_running);
    mc_ignore(rec->counts, sizeof rec->counts);
    mc_ignore(&dtp_fork_generation, sizeof dtp_fork_generation);
    mc_thread_local((void **)&dtp_chain_top);
    dtp_chain_top = NULL;
    mc_thread_local((void **)&dtp_left_here);
    dtp_left_here = NULL;
    for (int i = 0; i < callers; ++i) {
        pending[i].kind = DTP_PENDING_QUEUE;
        mc_thread(caller, caller == publisher ? (void *)&pending[i] : &loops[i]);
        left += caller == publisher;
    }
    for (int i = 0; i < hosts; ++i) mc_thread(host, NULL);
}
static void end(void) {
    MC_CHECK(released && mc_live() == 0);
    MC_CHECK(!registry && first_call == n_calls);
}

static void a_loop(void) { setup(2, 1, loop_caller, 1); }
static void any_answer(void) {
    a_loop();
    answers = 3;
}
static void a_long_loop(void) {
    setup(2, 1, loop_caller, 1);
    grain = long_grain;
}
static void two_calls(void) { setup(3, 1, quiet_caller, 2); }
static void quiet(void) { setup(2, 1, quiet_caller, 1); }
static void two_loops(void) {
    setup(3, 2, loop_caller, 1);
    rec->flags = DNNL_TP_THREADPOOL_SINGLE_CALLER;
}
static void two_runs(void) {
    setup(2, 1, run_caller, 1);
    runs_per_caller = RUNS;
    rec->iface.run_begin = run_begin;
    rec->iface.run_end = run_end;
}
static void two_callers(void) {
    setup(2, 2, run_caller, 1);
    rec->flags = DNNL_TP_THREADPOOL_SINGLE_CALLER;
    rec->iface.run_begin = run_begin;
    rec->iface.run_end = run_end;
}
/* The helper of the first may hold its ticket when the second opens its loop, and leaves. */
static void runs_that_meet(void) {
    two_runs();
    meets = true;
}
static void two_pending(void) { setup(1, 2, publisher, 1); }
static void any_pending(void) {
    two_pending();
    answers = 2;
}
/* Pending work relies on a call that the host makes inside somebody else's call of schedule. */
static void called_inside(void) {
    setup(2, 1, publisher, 1);
    calls_inside = true;
    rec->holds += DTP_HOLD_REF;
    ++left;
    mc_thread(loop_caller, &loops[2]);
}
static void set_loops(void) {
    rec->iface.schedule = NULL;
    rec->iface.parallel_for = loop_of_host;
    rec->form_s = false;
    rec->host_loops = true;
}
static void main_body(void) {
    setup(2, 1, run_caller, 1);
    set_loops();
    caller_works = true;
}
static void idle_caller(void) {
    setup(2, 1, run_caller, 2);
    set_loops();
}
static void loop_alone(void) {
    setup(2, 1, loop_caller, 1);
    set_loops();
    caller_works = true;
}

int main(int argc, char **argv) {
    const mc_case_t cases[] = {
        {.name = "a loop", .setup = a_loop, .end = end},
        {.name = "a loop, any answer", .setup = any_answer, .end = end},
        {.name = "a long loop", .setup = a_long_loop, .end = end},
        {.name = "the end of the calls", .setup = quiet, .end = end},
        {.name = "the end of two calls", .setup = two_calls, .end = end, .preemptions = 2},
        {.name = "two loops, one caller at a time", .setup = two_loops, .end = end, .preemptions = 2},
        {.name = "two runs", .setup = two_runs, .end = end, .preemptions = 3},
        {.name = "two runs, one caller at a time", .setup = two_callers, .end = end, .preemptions = 1},
        {.name = "two runs whose helpers are waited for",
         .setup = runs_that_meet,
         .end = end,
         .preemptions = 2},
        {.name = "two pending work", .setup = two_pending, .end = end, .preemptions = 2},
        {.name = "two pending work, a host that refuses", .setup = any_pending, .end = end, .preemptions = 2},
        {.name = "a host that calls inside schedule",
         .setup = called_inside,
         .end = end,
         .preemptions = 2,
         .reach = {"called another one inside schedule"}},
        {.name = "the body of a run", .setup = main_body, .end = end, .preemptions = 2},
        {.name = "the same, the caller only waits", .setup = idle_caller, .end = end, .preemptions = 1},
        {.name = "a loop of the host", .setup = loop_alone, .end = end, .preemptions = 2},
    };
    return mc_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
