/* Records of a host's pool (src/threading/pools/record.c): found by everybody who gives the same pool, made by the
 * first one, ended by the last one. A host counts on its release: it comes once for each record, and nobody uses
 * the pool before it has returned; who finds the pool meanwhile waits, wakes up, and makes a record of its own. */
#include "common/base/base.h"

#define dtp_thread_key() ((uintptr_t)mc_self() + 1) /* model threads are one thread */

#include "threading/pools/record.c"

#include "model/product.h"

/* ---- What it calls ----------------------------------------------------------------------------------- */
_Thread_local dtp_chain_t *dtp_chain_top;
_Thread_local struct dtp_queue *dtp_left_here;
_Thread_local const dtp_share_t *dtp_share_here;
_Atomic int64_t dtp_ticks_per_us;
void dtp_builtin_end(dtp_pool_t *pool) { (void)pool; }
size_t dtp_worker_size(void) { return 0; }
void dtp_record_set_costs(dtp_pool_t *pool, int64_t spin_ns) { (void)pool, (void)spin_ns; }
int dtp_process_num_threads(void) { return 1; }
double dtp_cpu_quota(void) { return 0; }
void dtp_sync_forked(void) {}
void dtp_named_pools_forked(void) {}

/* ---- The host ---------------------------------------------------------------------------------------- */
static dnnl_tp_threadpool_iface_t iface;
static _Atomic int users, due; /* of the pool; its release is due */
static bool asks;              /* release gives the pool to the library again */
static int releases;

static int num_threads(void *ctx) {
    (void)ctx;
    return 1;
}
static void release(void *ctx) {
    MC_CHECK(ctx == &iface);
    MC_CHECK(atomic_load_explicit(&users, memory_order_relaxed) == 0);
    MC_CHECK(atomic_exchange_explicit(&due, 0, memory_order_relaxed) == 1);
    if (releases++) mc_hit("one record after another");
    if (asks) {
        dtp_pool_t *rec;
        MC_CHECK(dtp_record_of(&rec, &iface) == dnnl_tp_would_deadlock);
        MC_CHECK(!rec && !dtp_record_find(&iface));
    }
    MC_CHECK(atomic_load_explicit(&users, memory_order_relaxed) == 0);
}

/* ---- Threads ----------------------------------------------------------------------------------------- */
static void user(void *arg) {
    dtp_pool_t *rec;
    for (int i = 0; i < *(const int *)arg; ++i) {
        MC_CHECK(dtp_record_of(&rec, &iface) == dnnl_tp_success && rec);
        atomic_store_explicit(&due, 1, memory_order_relaxed);
        if (atomic_fetch_add_explicit(&users, 1, memory_order_relaxed)) mc_hit("two share a record");
        MC_CHECK(rec->iface.ctx == &iface);
        atomic_fetch_sub_explicit(&users, 1, memory_order_relaxed);
        dtp_pool_release(rec);
    }
}
/* As who asks for figures of the pool: makes none. */
static void finder(void *arg) {
    (void)arg;
    dtp_pool_t *rec = dtp_record_find(&iface);
    if (!rec) return;
    mc_hit("found");
    MC_CHECK(rec->iface.ctx == &iface);
    dtp_pool_release(rec);
}

static void setup(void) {
    static const int once = 1, twice = 2;
    iface = (dnnl_tp_threadpool_iface_t){.ctx = &iface, .get_num_threads = num_threads, .release = release};
    registry = NULL;
    registry_lock.word = 0;
    registry_wake_word = 0;
    users = due = releases = 0;
    asks = false;
    dtp_watch_forks();
    mc_ignore(&dtp_fork_generation, sizeof dtp_fork_generation);
    mc_thread(user, (void *)&twice);
    mc_thread(user, (void *)&once);
}
static void find(void) {
    setup();
    mc_thread(finder, NULL);
}
static void ask(void) {
    setup();
    asks = true;
}
static void end(void) { MC_CHECK(!registry && !due && releases && mc_live() == 0); }

int main(int argc, char **argv) {
    const mc_case_t cases[] = {
        {.name = "a pool comes again",
         .setup = setup,
         .end = end,
         .reach = {"one record after another", "two share a record"}},
        {.name = "release asks for the pool",
         .setup = ask,
         .end = end,
         .reach = {"one record after another"}},
        {.name = "somebody only looks", .setup = find, .end = end, .preemptions = 2, .reach = {"found"}},
    };
    return mc_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
