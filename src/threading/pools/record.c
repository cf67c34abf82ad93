/* The registry of pool records: one per distinct caller's pool, found by its interface.
 *
 * A record lives as long as anything that can reach it: attributes, streams, engines, and every call still
 * queued in the host's pool (record.h, Life). After a fork the child's copies of all records are dead: loops
 * and runs stay on their callers, and no lock of the parent is taken. Next: loops/shared_loop.c, admission.c. */
#include "threading/pools/builtin_pool.h"
#include "threading/pools/named_pool.h"
#include "threading/base/topology.h"

#include <pthread.h> /* last: model checks have their own sched_yield */

_Atomic uint32_t dtp_fork_generation;

static dtp_lock_t registry_lock;
static dtp_pool_t *registry;
static _Atomic uint32_t registry_wake_word; /* rung when a record has left it */

static void forked_child(void) {
    atomic_fetch_add(&dtp_fork_generation, 1);
    registry = NULL;
    dtp_chain_top = NULL;
    dtp_share_here = NULL;
#if DNNL_TP_WITH_THREADPOOL
    dtp_left_here = NULL;
    dtp_sync_forked();
    dtp_named_pools_forked();
#endif
}
void dtp_watch_forks(void) {
    static _Atomic bool watching;
    if (!atomic_exchange(&watching, true)) pthread_atfork(NULL, NULL, forked_child);
}

static bool same_pool(const dnnl_tp_threadpool_iface_t *a, const dnnl_tp_threadpool_iface_t *b) {
    return a->ctx == b->ctx && a->get_num_threads == b->get_num_threads &&
           a->get_in_parallel == b->get_in_parallel && a->parallel_for == b->parallel_for &&
           a->get_flags == b->get_flags && a->wait == b->wait && a->schedule == b->schedule &&
           a->run_begin == b->run_begin && a->run_end == b->run_end && a->current_slot == b->current_slot &&
           a->release == b->release;
}

dtp_pool_t *dtp_record_create(int num_threads, int num_workers) {
    dtp_watch_forks();
    dtp_ticks_init();
    int n_teams = num_threads + 8; /* runs without admission take more; then without joiners */
    size_t teams_at = dtp_round_up_size(sizeof(dtp_pool_t), DTP_NO_SHARE);
    size_t workers_at = teams_at + (size_t)n_teams * sizeof(dtp_team_t);
    size_t tasks_at = workers_at + (size_t)num_workers * dtp_worker_size();
    size_t bytes = tasks_at + (num_workers ? DTP_TASKS * sizeof(dtp_task_t) : 0);
    dtp_pool_t *rec = dtp_zalloc(NULL, bytes, DTP_NO_SHARE);
    if (!rec) {
        dtp_no_memory(bytes);
        return NULL;
    }
    rec->n_teams = n_teams;
    rec->teams = (dtp_team_t *)((char *)rec + teams_at);
    if (num_workers) {
        rec->workers = (struct dtp_worker *)((char *)rec + workers_at);
        rec->task = (dtp_task_t *)((char *)rec + tasks_at);
    }
    rec->num_threads = num_threads;
    rec->spin_allowed = true;
    rec->fork_generation = atomic_load(&dtp_fork_generation);
    atomic_store(&rec->holds, DTP_HOLD_REF);
    atomic_store(&rec->loop[0].cpu, -1);
    dtp_record_set_costs(rec, 0);
    return rec;
}

void dtp_record_register(dtp_pool_t *rec) {
    dtp_lock(&registry_lock);
    rec->next = registry;
    registry = rec;
    dtp_unlock(&registry_lock);
}

/* Under the registry's lock. *ending: one that nothing holds any more, and that is still there, or NULL. */
static dtp_pool_t *registry_find(const dnnl_tp_threadpool_iface_t *iface, const dtp_pool_t **ending) {
    *ending = NULL;
    for (dtp_pool_t *rec = registry; rec; rec = rec->next) {
        if (!same_pool(&rec->iface, iface)) continue;
        uint64_t holds = atomic_load(&rec->holds);
        while (holds)
            if (atomic_compare_exchange_weak(&rec->holds, &holds, holds + DTP_HOLD_REF)) return rec;
        *ending = rec;
    }
    return NULL;
}

dtp_pool_t *dtp_record_find(const dnnl_tp_threadpool_iface_t *iface) {
    const dtp_pool_t *ending;
    dtp_lock(&registry_lock);
    dtp_pool_t *rec = registry_find(iface, &ending);
    dtp_unlock(&registry_lock);
    return rec;
}

/* Finds the record, or enters fresh (NULL: nothing) as the one; NULL with success: it is not there. A host counts on
 * release: one record of a ctx is released before the next one is made. */
static dnnl_tp_status_t find_or_enter(const dnnl_tp_threadpool_iface_t *iface, dtp_pool_t *fresh,
                                      dtp_pool_t **out) {
    for (;;) {
        const dtp_pool_t *ending;
        dtp_lock(&registry_lock);
        *out = registry_find(iface, &ending);
        if (!*out && !ending && fresh) {
            fresh->next = registry;
            registry = *out = fresh;
        }
        const bool own = ending && ending->releaser == dtp_thread_key();
        uint32_t wake_word = atomic_load(&registry_wake_word);
        dtp_unlock(&registry_lock);
#ifdef DTP_BREAK_RECORD_BELL
        wake_word = atomic_load(&registry_wake_word);
#endif
        if (*out || !ending) return dnnl_tp_success;
        if (own)
            return dtp_fail(dnnl_tp_would_deadlock, DTP_WOULD_DEADLOCK, "called from the pool's release");
        dtp_futex_wait(&registry_wake_word, wake_word, -1);
    }
}

/* What the host answers is a hint: unknown becomes the process default, anything else is clamped. */
static int host_num_threads(const dnnl_tp_threadpool_iface_t *iface) {
    int n = iface->get_num_threads ? iface->get_num_threads(iface->ctx) : 0;
    if (n <= 0) n = dtp_process_num_threads();
    return n > DTP_MAX_THREADS ? DTP_MAX_THREADS : n;
}

dnnl_tp_status_t dtp_record_of(dtp_pool_t **out, const dnnl_tp_threadpool_iface_t *iface) {
    DTP_TRY(find_or_enter(iface, NULL, out));
    if (*out) return dnnl_tp_success;
    /* The host is asked without a lock held. */
    dtp_pool_t *fresh = dtp_record_create(host_num_threads(iface), 0);
    if (!fresh) return dnnl_tp_out_of_memory;
    fresh->iface = *iface;
    fresh->flags = iface->get_flags ? iface->get_flags(iface->ctx) : 0;
    fresh->form_s = iface->schedule != NULL;
    fresh->host_loops = !fresh->form_s && !(fresh->flags & DNNL_TP_THREADPOOL_ASYNCHRONOUS);
    double quota = dtp_cpu_quota();
    fresh->spin_allowed = quota == 0 || quota >= fresh->num_threads;
    dnnl_tp_status_t status = find_or_enter(iface, fresh, out);
    if (*out != fresh) dtp_free(NULL, fresh); /* somebody was faster; the host was told nothing */
    return status;
}

uint64_t dtp_counted(const dtp_pool_t *rec, size_t member) {
    uint64_t sum = 0;
    for (int i = 0; i < DTP_COUNT_PARTS; ++i)
        sum += atomic_load_explicit(
            (const _Atomic uint64_t *)(const void *)((const char *)&rec->counts[i] + member),
            memory_order_relaxed);
    return sum;
}

void dtp_pool_retain(dtp_pool_t *rec) {
    if (rec) atomic_fetch_add_explicit(&rec->holds, DTP_HOLD_REF, memory_order_relaxed);
}

void dtp_record_free(dtp_pool_t *rec) {
    dtp_free(NULL, rec->blocking);
    dtp_free(NULL, rec);
}

void dtp_pool_release(dtp_pool_t *rec) {
    if (rec && atomic_fetch_sub_explicit(&rec->holds, DTP_HOLD_REF, memory_order_acq_rel) == DTP_HOLD_REF)
        dtp_record_end(rec);
}

void dtp_record_end(dtp_pool_t *rec) {
    if (!dtp_pool_dead(rec)) { /* a dead one belongs to the registry of the parent */
#ifndef DTP_BREAK_RECORD_RELEASE
        if (!rec->workers && rec->iface.release) { /* while others still find the record, and wait */
            dtp_lock(&registry_lock);
            rec->releaser = dtp_thread_key();
            dtp_unlock(&registry_lock);
            rec->iface.release(rec->iface.ctx);
        }
#endif
        dtp_lock(&registry_lock);
        for (dtp_pool_t **at = &registry; *at; at = &(*at)->next)
            if (*at == rec) {
                *at = rec->next;
                break;
            }
        atomic_fetch_add(&registry_wake_word, 1);
        dtp_unlock(&registry_lock);
        dtp_futex_wake(&registry_wake_word, INT_MAX);
#ifdef DTP_BREAK_RECORD_RELEASE
        if (!rec->workers && rec->iface.release) rec->iface.release(rec->iface.ctx);
#endif
#if DTP_OWN_THREADS
        if (rec->workers) {
            dtp_builtin_end(rec);
            return;
        }
#endif
    }
    dtp_record_free(rec);
}

int dtp_pool_num_threads(const dtp_pool_t *rec) { return rec ? rec->num_threads : 1; }
uint64_t dtp_pool_flags(const dtp_pool_t *rec) { return rec ? rec->flags : 0; }
