/* The built-in pool: W named pthreads with all signals blocked, each with a home CPU where the pool covers
 * the process' mask (a woken thread else lands on the waker's CPU and waits for it).
 *
 * A worker: executes pending work (a run's ticket), then tasks of the user, then helps in shared loops and spins for more
 * (a joiner's ticket), then sleeps. It never spins on the CPU of the thread that last opened a shared loop.
 * Sleeping is a Dekker pair: worker: set own bit in `sleeping` (seq_cst), look again, sleep;
 * waker: publish (seq_cst), read `sleeping`, take a bit, change its wake word. A wake may be spurious, never lost, never late.
 */
#include "common/base/with.h"
#include "threading/base/atomics.h"
#include "threading/pools/blocking.h"
#include "threading/pools/builtin_pool.h"
#include "threading/pools/helpers.h"

enum {
    SPINS_PER_LOOK = DTP_SPINS(32),
    LOOKS_PER_TICKET_LOOK = 4,
    RUN_SPINS = 8,
    CALIBRATION_ROUNDS = 9,
    ROUND_TRIPS = 64,
    DEFAULT_WAKE_NS = 20000,
    MIN_WAKE_NS = 2000,
    MAX_WAKE_NS = 50000,
    DEFAULT_ROUND_TRIP_NS = 300,
    MAX_ROUND_TRIP_NS = 2000,
    FALL_ASLEEP_NS = 30000,
    /* One of the two that measure has lost its processor: the other one looks that often. */
    ROUND_TRIP_LOOKS = DTP_SPINS(20000),
    LATE_NS = 50000,

    MIN_PARALLEL_NS = 1500
};

/* Measured once per process, by the first pool with two threads: 0 = not yet. */
static _Atomic int64_t process_wake_ns, process_round_trip_ns;

void dtp_calibrated(int64_t *wake_ns, int64_t *round_trip_ns) {
    int64_t wake = atomic_load(&process_wake_ns), trip = atomic_load(&process_round_trip_ns);
    *wake_ns = wake ? wake : DEFAULT_WAKE_NS;
    *round_trip_ns = trip ? trip : DEFAULT_ROUND_TRIP_NS;
}

void dtp_record_set_costs(dtp_pool_t *rec, int64_t spin_ns) {
    int64_t wake_ns, trip_ns;
    dtp_calibrated(&wake_ns, &trip_ns);
    rec->wake_ticks = dtp_ticks_of_ns(wake_ns);
    rec->parallel_min_ns = dtp_max64(4 * trip_ns, MIN_PARALLEL_NS);
    /* Beside a busy machine a wake may be found cheaper than the hand-over of the work. */
    rec->wake_min_ns = dtp_max64(DTP_WAKE_PAYS * wake_ns, rec->parallel_min_ns);
    atomic_store(&rec->call_min_ns, rec->wake_min_ns);
    rec->spin_ticks = !DTP_WITH_SPINNING ? 0 : spin_ns > 0 ? dtp_ticks_of_ns(spin_ns) : rec->wake_ticks;
}

#if DTP_OWN_THREADS
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "threading/base/topology.h"

/* COUNTED: in `waking`, until the worker has heard it. */
enum { WAKE_NONE, WAKE_SENT, WAKE_COUNTED };
struct dtp_worker {
    _Alignas(DTP_NO_SHARE) _Atomic uint32_t wake_word;
    _Atomic uint32_t reply; /* calibration */
    dtp_pool_t *rec;
    pthread_t thread;
    int index;
    int cpu; /* home, or -1 */
};

static _Thread_local bool is_built_in; /* a thread of some built-in pool */

static bool worker_must_act(const dtp_pool_t *rec) {
    if (!(atomic_load_explicit(&rec->loop[0].open_loops, memory_order_seq_cst) & DTP_LOOPS_ATTENTION))
        return false;
    if (atomic_load_explicit(&rec->ending, memory_order_acquire)) return true;
    if (atomic_load_explicit(&rec->n_tasks, memory_order_seq_cst)) return true;
    uint64_t a = atomic_load_explicit(&rec->adm, memory_order_seq_cst);
    return dtp_adm_waiting(a) && dtp_adm_runs(a) + dtp_adm_joiners(a) < rec->num_threads;
}

static bool worker_task(dtp_pool_t *rec) {
    if (!atomic_load_explicit(&rec->n_tasks, memory_order_relaxed)) return false;
    dtp_task_t task = {NULL, NULL};
    dtp_lock(&rec->lock);
    if (rec->task_head != rec->task_tail) {
        task = rec->task[rec->task_head++ % DTP_TASKS];
        atomic_store_explicit(&rec->n_tasks, rec->task_tail - rec->task_head, memory_order_relaxed);
        dtp_attention_update(rec);
    }
    dtp_unlock(&rec->lock);
    if (!task.fn) return false;
    /* The user's own code: it may wait for streams like any thread of his. */
    dtp_chain_t *top = dtp_chain_top;
    dtp_chain_top = NULL;
    atomic_fetch_add_explicit(&rec->adm, DTP_ADM_CALLER, memory_order_relaxed);
    atomic_fetch_add_explicit(&rec->in_tasks, 1, memory_order_seq_cst);
    /* Who published work meanwhile may have counted on this thread. */
    if (dtp_workers_are_away(rec)) dtp_dispatch(rec);
    task.fn(task.arg);
    atomic_fetch_sub_explicit(&rec->in_tasks, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&rec->adm, DTP_ADM_CALLER, memory_order_relaxed);
    dtp_chain_top = top;
    return true;
}

/* Helps and spins with a joiner's ticket until there was nothing to do for the spin time, a ticket is wanted, or this is
 * the CPU of the thread that opens shared loops. While a run goes on its next loop is likelier than its end: that counts
 * for so many spin times, unless the caller has said how long threads spin. */
static void worker_help(dtp_pool_t *rec) {
    const int run_spins = rec->spin_ticks == rec->wake_ticks ? RUN_SPINS : 0;
    int64_t until = dtp_ticks() + rec->spin_ticks;
    int more = run_spins;
    bool alone = rec->num_threads == 2; /* no other worker can be spinning */
    for (int i = 1;; ++i) {
        /* Looking with a locked operation brings the line here ready for the join: one transfer less. */
        if (alone) atomic_fetch_or_explicit(&rec->loop[0].word, 0, memory_order_relaxed);
        if (dtp_shared_loop_help(rec, NULL, 0)) {
            until = dtp_ticks() + rec->spin_ticks;
            more = run_spins;
            i = 0;
        }
        if (atomic_load_explicit(&rec->loop[0].open_loops, memory_order_relaxed) & DTP_LOOPS_ATTENTION)
            return;
        dtp_pause();
        if (i % SPINS_PER_LOOK) continue;
        if (!rec->spin_allowed) return;
        const int64_t now = dtp_ticks();
        if (now > until) {
            if (more-- == 0 || !dtp_adm_runs(atomic_load_explicit(&rec->adm, memory_order_relaxed))) return;
            until = now + rec->spin_ticks;
        }
        if (atomic_load_explicit(&rec->loop[0].cpu, memory_order_relaxed) == dtp_this_cpu()) return;
        /* Rarely, because openers write that line. */
        if (i % (SPINS_PER_LOOK * LOOKS_PER_TICKET_LOOK) == 0 && !dtp_ticket_may_spin(rec)) return;
    }
}

/* The waker who takes the bit changes the wake word, once: a worker that finds something to do, and its bit taken, waits for that change.
 * (Else it would be counted in `waking` while the worker is busy, and an opener would wait for nobody.) */
static void worker_sleep(struct dtp_worker *self) {
    dtp_pool_t *rec = self->rec;
    _Atomic uint64_t *word = &rec->sleeping[self->index / 64];
    const uint64_t bit = (uint64_t)1 << (self->index % 64);
    DTP_PREEMPT_POINT();
    atomic_fetch_or_explicit(word, bit, memory_order_seq_cst);
#ifdef DTP_BREAK_SLEEP_LOOK
    const bool stays = false && worker_must_act(rec);
#elif defined DTP_BREAK_HELPERS_LOOK
    const bool stays = worker_must_act(rec);
#else
    /* Who opened a loop meanwhile may have counted on this thread. */
    const bool stays = worker_must_act(rec) || dtp_helpers_may_come(rec, NULL);
#endif
    if (stays) {
        const uint64_t asleep = atomic_fetch_and_explicit(word, ~bit, memory_order_relaxed);
#ifdef DTP_BREAK_SLEEP_COUNT
        return;
#endif
        if (asleep & bit) return;
    }
    while (!atomic_load_explicit(&self->wake_word, memory_order_acquire))
        dtp_futex_wait(&self->wake_word, WAKE_NONE, -1);
    if (atomic_load_explicit(&self->wake_word, memory_order_relaxed) == WAKE_COUNTED)
        atomic_fetch_sub_explicit(&rec->waking, 1, memory_order_relaxed);
    atomic_store_explicit(&self->wake_word, WAKE_NONE, memory_order_relaxed);
}

static void calibration_peer(struct dtp_worker *self);

static void *worker_main(void *arg) {
    struct dtp_worker *self = arg;
    dtp_pool_t *rec = self->rec;
    dtp_builtin_thread_in();
    dtp_chain_t chain = {.rec = rec, .kind = DTP_CHAIN_HOST_CALL};
    dtp_chain_top = &chain;
    if (atomic_load_explicit(&self->reply, memory_order_relaxed)) calibration_peer(self);
    while (!atomic_load_explicit(&rec->go, memory_order_acquire)) dtp_futex_wait(&rec->go, 0, -1);
    while (!atomic_load_explicit(&rec->ending, memory_order_acquire)) {
        bool joiner = false;
        if (DTP_UNLIKELY(dtp_pool_dead(rec))) return NULL; /* a child that a closure forked came back */
        if (DTP_UNLIKELY(dtp_left_here != NULL)) {         /* of other pools, that nobody comes for */
            dtp_chain_pop(&chain);
            dtp_chain_top = &chain;
        }
        if (dtp_run_pending(rec, &joiner) || worker_task(rec)) continue;
        if (dtp_ticket_join(rec)) {
            worker_help(rec);
            joiner = true;
            dtp_run_pending(rec, &joiner);
            if (joiner) dtp_ticket_leave(rec);
            if (worker_must_act(rec) || dtp_left_here) continue;
        }
        worker_sleep(self);
    }
#ifndef DTP_BREAK_TASK_DRAIN
    while (worker_task(rec)) continue; /* what was accepted is called */
#endif
    dtp_builtin_thread_out(rec);
    return NULL;
}

/* Who is through with a pool that ends: the last one frees what nobody waits for. */
static void let_go(dtp_pool_t *rec) {
    if (atomic_fetch_sub_explicit(&rec->alive, 1, memory_order_acq_rel) == 1 &&
        atomic_load_explicit(&rec->ending, memory_order_acquire) == DTP_ENDING_DETACHED)
        dtp_record_free(rec);
}

void dtp_builtin_thread_in(void) { is_built_in = true; }

void dtp_builtin_thread_out(dtp_pool_t *rec) {
    dtp_chain_top = NULL;
    let_go(rec);
}

static bool ring(struct dtp_worker *worker, bool count) {
    _Atomic uint64_t *word = &worker->rec->sleeping[worker->index / 64];
    uint64_t bit = (uint64_t)1 << (worker->index % 64);
    if (!(atomic_load_explicit(word, memory_order_relaxed) & bit)) return false;
    if (!(atomic_fetch_and_explicit(word, ~bit, memory_order_acq_rel) & bit)) return false;
    DTP_COUNT(worker->rec, wakes, 1);
    if (count) atomic_fetch_add_explicit(&worker->rec->waking, 1, memory_order_relaxed);
    atomic_store_explicit(&worker->wake_word, count ? WAKE_COUNTED : WAKE_SENT, memory_order_release);
    dtp_futex_wake(&worker->wake_word, 1);
    return true;
}

int dtp_builtin_wake(dtp_pool_t *rec, int count, int cpu, bool mark) {
    int woken = 0;
    for (int w = 0; w < (rec->num_threads + 63) / 64 && woken < count; ++w) {
        uint64_t bits = atomic_load_explicit(&rec->sleeping[w], memory_order_seq_cst);
        for (; bits && woken < count; bits &= bits - 1) {
            struct dtp_worker *worker = &rec->workers[w * 64 + __builtin_ctzll(bits)];
            if (cpu >= 0 && worker->cpu == cpu) continue;
            woken += ring(worker, mark);
        }
    }
    return woken;
}

bool dtp_builtin_wake_at(dtp_pool_t *rec, int cpu) {
    for (int i = 0; i < rec->num_threads && cpu >= 0; ++i)
        if (rec->workers[i].cpu == cpu && ring(&rec->workers[i], false)) return true;
    return dtp_builtin_wake(rec, 1, -1, false) > 0;
}

bool dtp_builtin_task(dtp_pool_t *rec, dnnl_tp_task_fn_t fn, void *arg) {
    dtp_lock(&rec->lock);
    bool fits = rec->task_tail - rec->task_head < DTP_TASKS;
    if (fits) {
        rec->task[rec->task_tail++ % DTP_TASKS] = (dtp_task_t){fn, arg};
        atomic_store_explicit(&rec->n_tasks, rec->task_tail - rec->task_head, memory_order_seq_cst);
        dtp_attention_update(rec);
    }
    dtp_unlock(&rec->lock);
    if (fits) dtp_builtin_wake(rec, 1, -1, false);
    return fits;
}

size_t dtp_worker_size(void) { return sizeof(struct dtp_worker); }

/* ---- Calibration ------------------------------------------------------------------------------------- */

/* Answers wakes (odd bells) and round trips (even bells, while `reply` stays below the end mark). */
static void calibration_peer(struct dtp_worker *self) {
    uint32_t seen = 0, looks = 0;
    for (;;) {
        uint32_t wake_word = atomic_load_explicit(&self->wake_word, memory_order_acquire);
        if (wake_word == seen) {
            if (seen < CALIBRATION_ROUNDS) dtp_futex_wait(&self->wake_word, seen, -1);
            else if (++looks < ROUND_TRIP_LOOKS) dtp_pause();
            else dtp_futex_wait(&self->wake_word, seen, LATE_NS);
            continue;
        }
        seen = wake_word;
        looks = 0;
        const bool last = wake_word >= CALIBRATION_ROUNDS + ROUND_TRIPS;
        if (last) atomic_store_explicit(&self->wake_word, WAKE_NONE, memory_order_relaxed);
        atomic_store_explicit(&self->reply, wake_word + 1, memory_order_release);
        if (last) return;
    }
}

/* Ticks until the peer answered that wake word; -1 when it took absurdly long. */
static int64_t calibration_step(struct dtp_worker *peer, uint32_t wake_word, bool wake) {
    int64_t t0 = dtp_ticks(), limit = t0 + dtp_ticks_of_ns(20 * MAX_WAKE_NS);
    atomic_store_explicit(&peer->wake_word, wake_word, memory_order_release);
    if (wake) dtp_futex_wake(&peer->wake_word, 1);
    bool late = false;
    for (uint32_t reply;
         (reply = atomic_load_explicit(&peer->reply, memory_order_acquire)) != wake_word + 1;) {
        if (late) dtp_futex_wait(&peer->reply, reply, LATE_NS); /* nobody rings: another look */
        else dtp_pause();
        late = dtp_ticks() > limit;
    }
    return late ? -1 : dtp_ticks() - t0;
}

/* Lower quartile: what others on the machine add is not the cost. */
static int64_t quartile_ns(int64_t *ticks, int count, int64_t fallback, int64_t low, int64_t high) {
    int n = 0;
    for (int i = 0; i < count; ++i)
        if (ticks[i] >= 0) ticks[n++] = ticks[i];
    if (n == 0) return fallback;
    for (int i = 1; i < n; ++i)
        for (int j = i; j > 0 && ticks[j] < ticks[j - 1]; --j) {
            int64_t t = ticks[j];
            ticks[j] = ticks[j - 1];
            ticks[j - 1] = t;
        }
    int64_t ns = dtp_ns_of_ticks(ticks[n / 4]);
    return ns < low ? low : ns > high ? high : ns;
}

static void calibrate(struct dtp_worker *peer) {
    int64_t wakes[CALIBRATION_ROUNDS], trips[ROUND_TRIPS];
    uint32_t wake_word = 0;
    for (int i = 0; i < CALIBRATION_ROUNDS; ++i) {
        int64_t asleep = dtp_ticks() + dtp_ticks_of_ns(FALL_ASLEEP_NS);
        while (dtp_ticks() < asleep) dtp_pause();
        wakes[i] = calibration_step(peer, ++wake_word, true);
    }
    for (int i = 0; i < ROUND_TRIPS; ++i) trips[i] = calibration_step(peer, ++wake_word, false);
    atomic_store(&process_round_trip_ns,
                 quartile_ns(trips, ROUND_TRIPS, DEFAULT_ROUND_TRIP_NS, 1, MAX_ROUND_TRIP_NS));
    atomic_store(&process_wake_ns,
                 quartile_ns(wakes, CALIBRATION_ROUNDS, DEFAULT_WAKE_NS, MIN_WAKE_NS, MAX_WAKE_NS));
}

/* ---- Creation and end -------------------------------------------------------------------------------- */

static void start_workers_on(dtp_pool_t *rec) {
    int cpus[DTP_MAX_THREADS];
    int count = dtp_affinity_cpus(cpus, DTP_MAX_THREADS);
    for (int i = 0; i < rec->num_threads; ++i) {
        rec->workers[i].rec = rec;
        rec->workers[i].index = i;
        rec->workers[i].cpu = count == rec->num_threads && count > 1 ? cpus[i] : -1;
    }
}

void dtp_block_host_signals(sigset_t *before) {
    static const int own[] = {SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own / sizeof *own; ++i) sigdelset(&blocked, own[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, before);
}

dnnl_tp_status_t dtp_builtin_start(dtp_pool_t *rec, const char *name, int64_t spin_ns) {
    double quota = dtp_cpu_quota();
    int cpus[DTP_MAX_THREADS], n_cpus = dtp_affinity_cpus(cpus, DTP_MAX_THREADS);
    rec->spin_allowed =
        spin_ns >= 0 && (quota == 0 || quota >= rec->num_threads) && n_cpus >= rec->num_threads;
    start_workers_on(rec);
    /* The peer of the calibration must not share this thread's CPU. */
    int peer = -1, here = dtp_this_cpu();
    if (!atomic_load(&process_wake_ns) && n_cpus > 1)
        for (int i = 0; i < rec->num_threads && peer < 0; ++i)
            if (rec->workers[i].cpu < 0 || rec->workers[i].cpu != here) peer = i;
    if (peer >= 0) atomic_store(&rec->workers[peer].reply, 1);

    sigset_t before;
    dtp_block_host_signals(&before);
    int started = 0, error = 0;
    for (; started < rec->num_threads; ++started) {
        struct dtp_worker *worker = &rec->workers[started];
        pthread_attr_t attr;
        error = pthread_attr_init(&attr);
        if (error) break;
        if (worker->cpu >= 0) {
            cpu_set_t set;
            CPU_ZERO(&set);
            CPU_SET(worker->cpu, &set);
            (void)!pthread_attr_setaffinity_np(&attr, sizeof(set), &set); /* a wish */
        }
        atomic_fetch_add(&rec->alive, 1);
        error = pthread_create(&worker->thread, &attr, worker_main, worker);
        pthread_attr_destroy(&attr);
        if (error) {
            atomic_fetch_sub(&rec->alive, 1);
            break;
        }
        enum { NAME_MAX_LENGTH = 15 }; /* the system's limit */
        char label[32];
        snprintf(label, sizeof(label), "%.11s-%d", name, started);
        label[NAME_MAX_LENGTH] = 0;
        pthread_setname_np(worker->thread, label);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    rec->num_started = started;
    if (peer >= 0 && peer < started) calibrate(&rec->workers[peer]);
    dtp_record_set_costs(rec, spin_ns);
    atomic_store_explicit(&rec->go, 1, memory_order_release);
    dtp_futex_wake(&rec->go, INT_MAX);
    if (started == rec->num_threads) return dnnl_tp_success;
    return dtp_fail(dnnl_tp_runtime_error, DTP_THREAD_FAILED, "%d of %d threads started: %s", started,
                    rec->num_threads, strerror(error));
}

void dtp_builtin_end(dtp_pool_t *rec) {
    /* Joining could hang on one of the pool's own threads, and inside work on which they may wait: that of
     * another pool whose last user goes on one of them just now. */
    const bool joins = !dtp_chain_top && !is_built_in;
    const int n = rec->num_started;
    pthread_t threads[DTP_MAX_THREADS];
    for (int i = 0; i < n; ++i) {
        threads[i] = rec->workers[i].thread;
        if (!joins) pthread_detach(threads[i]);
    }
    atomic_fetch_add_explicit(&rec->alive, 1, memory_order_relaxed); /* this thread */
    dtp_lock(&rec->lock);
    atomic_store_explicit(&rec->ending, joins ? DTP_ENDING : DTP_ENDING_DETACHED, memory_order_release);
    dtp_attention_update(rec);
    dtp_unlock(&rec->lock);
    dtp_builtin_wake(rec, n, -1, false);
    dtp_blocking_end(rec->blocking, !joins);
    if (!joins) {
        let_go(rec);
        return;
    }
    for (int i = 0; i < n; ++i) pthread_join(threads[i], NULL);
    dtp_blocking_join(rec->blocking);
    dtp_record_free(rec);
}

#else /* other runtimes: no record has threads of ours */
size_t dtp_worker_size(void) { return 0; }
void dtp_builtin_end(dtp_pool_t *rec) { (void)rec; }
int dtp_builtin_wake(dtp_pool_t *rec, int count, int cpu, bool mark) {
    (void)rec, (void)count, (void)cpu, (void)mark;
    return 0;
}
bool dtp_builtin_wake_at(dtp_pool_t *rec, int cpu) {
    (void)rec, (void)cpu;
    return false;
}
#endif
