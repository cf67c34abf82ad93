/* Threads of the blocking crew; see blocking.h. */
#include "threading/pools/blocking.h"

#include "threading/pools/builtin_pool.h"

#if DTP_OWN_THREADS
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#endif

typedef struct {
    dtp_blocking_t *crew;
#if DTP_OWN_THREADS
    pthread_t thread;
#endif
    int index;
} member_t;

struct dtp_blocking {
    dtp_lock_t lock;
    dtp_blocking_job_t *first, *last; /* the line */
    int idle;
    _Atomic uint32_t wake_word;
    bool ending;
    int now, most;
    uint64_t closures;
    dtp_pool_t *rec;
    int num_started;
    member_t members[];
};

dtp_blocking_t *dtp_blocking_of(const dtp_parallel_t *par) {
    dtp_pool_t *rec = par->pool;
    if (!rec || !rec->blocking || dtp_pool_dead(rec)) return NULL;
    const dtp_chain_t *c = dtp_chain_top;
    return c && c->kind == DTP_CHAIN_RUN && c->rec == rec && c->may_block ? rec->blocking : NULL;
}

void dtp_blocking_lock(dtp_blocking_t *b) { dtp_lock(&b->lock); }
void dtp_blocking_unlock(dtp_blocking_t *b) { dtp_unlock(&b->lock); }

bool dtp_blocking_ring(dtp_blocking_t *b) {
    if (!b->idle) return false;
    atomic_fetch_add_explicit(&b->wake_word, 1, memory_order_release);
    return true;
}

bool dtp_blocking_link(dtp_blocking_t *b, dtp_blocking_job_t *job) {
    job->next = NULL;
    if (b->first) b->last->next = job;
    else b->first = job;
    b->last = job;
    return dtp_blocking_ring(b);
}

void dtp_blocking_unlink(dtp_blocking_t *b, dtp_blocking_job_t *job) {
    dtp_blocking_job_t *before = NULL;
    for (dtp_blocking_job_t *j = b->first; j != job; j = j->next) before = j;
    if (before) before->next = job->next;
    else b->first = job->next;
    if (b->last == job) b->last = before;
}

void dtp_blocking_wake(dtp_blocking_t *b) { dtp_futex_wake(&b->wake_word, 1); }

void dtp_blocking_count(dtp_blocking_t *b, int change) {
    b->now += change;
    if (b->now > b->most) b->most = b->now;
    if (change > 0) b->closures += (uint64_t)change;
}

void dtp_blocking_enter(dtp_blocking_t *b, dtp_chain_t *chain, const dtp_share_t *share) {
    *chain = (dtp_chain_t){.up = dtp_chain_top, .rec = b->rec, .kind = DTP_CHAIN_BLOCKING};
    dtp_chain_top = chain;
    dtp_share_here = share;
}
void dtp_blocking_leave(dtp_chain_t *chain) {
    dtp_share_here = NULL;
    dtp_chain_pop(chain);
}

int dtp_blocking_slot(const dtp_blocking_t *b, int thread) { return b->rec->num_threads + thread; }

/* ---- Threads; other runtimes have none, so no pool has a crew ---------------------------------------- */

#if DTP_OWN_THREADS
static void *member_main(void *arg) {
    member_t *self = arg;
    dtp_blocking_t *b = self->crew;
    dtp_pool_t *rec = b->rec;
    dtp_builtin_thread_in();
    dtp_lock(&b->lock);
    for (;;) {
        dtp_blocking_job_t *job = b->first;
        if (job) {
            b->first = job->next;
            job->fn(job, b, self->index);
        } else if (b->ending) {
            break;
        } else {
            uint32_t wake_word = atomic_load_explicit(&b->wake_word, memory_order_relaxed);
            ++b->idle;
            dtp_unlock(&b->lock);
            dtp_futex_wait(&b->wake_word, wake_word, -1);
            dtp_lock(&b->lock);
            --b->idle;
        }
    }
    dtp_unlock(&b->lock);
    dtp_builtin_thread_out(rec);
    return NULL;
}

dnnl_tp_status_t dtp_blocking_start(dtp_pool_t *rec, int num_threads, const char *name) {
    size_t bytes = sizeof(dtp_blocking_t) + (size_t)num_threads * sizeof(member_t);
    dtp_blocking_t *b = dtp_zalloc(NULL, bytes, DTP_CACHE_LINE);
    if (!b) return dtp_no_memory(bytes);
    b->rec = rec;
    rec->blocking = b;
    sigset_t before;
    dtp_block_host_signals(&before);
    int error = 0;
    for (; b->num_started < num_threads && !error; b->num_started += !error) {
        int i = b->num_started;
        member_t *m = &b->members[i];
        *m = (member_t){b, .index = i};
        atomic_fetch_add(&rec->alive, 1);
        error = pthread_create(&m->thread, NULL, member_main, m);
        if (error) {
            atomic_fetch_sub(&rec->alive, 1);
            break;
        }
        enum { NAME_MAX_LENGTH = 15 }; /* the system's limit */
        char label[32];
        snprintf(label, sizeof(label), "%.9s-b%d", name, i);
        label[NAME_MAX_LENGTH] = 0;
        pthread_setname_np(m->thread, label);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error) return dnnl_tp_success;
    return dtp_fail(dnnl_tp_runtime_error, DTP_THREAD_FAILED, "%d of %d blocking threads started: %s",
                    b->num_started, num_threads, strerror(error));
}

void dtp_blocking_end(dtp_blocking_t *b, bool detach) {
    if (!b) return;
    for (int i = 0; detach && i < b->num_started; ++i) pthread_detach(b->members[i].thread);
    /* Detached threads may free all this as soon as they are let out. */
    dtp_lock(&b->lock);
    b->ending = true;
    atomic_fetch_add_explicit(&b->wake_word, 1, memory_order_release);
    dtp_futex_wake(&b->wake_word, INT_MAX);
    dtp_unlock(&b->lock);
}

void dtp_blocking_join(dtp_blocking_t *b) {
    for (int i = 0; b && i < b->num_started; ++i) pthread_join(b->members[i].thread, NULL);
}

void dtp_blocking_stats(dtp_blocking_t *b, dtp_blocking_stats_t *stats) {
    *stats = (dtp_blocking_stats_t){0};
    if (!b) return;
    dtp_lock(&b->lock);
    *stats = (dtp_blocking_stats_t){b->num_started, b->now, b->most, b->closures};
    dtp_unlock(&b->lock);
}
#endif
