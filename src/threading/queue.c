/* In-order queues of submission blocks.
 *
 * A list with a dummy: `head` is the last completed block (first: the stub), head->next the block to run.
 * Pushing: exchange tail, link, count+1; whoever raises count from 0 makes the queue a root in the record's
 * FIFO. Whoever takes the root (a thread of the pool, or a thread that waits for the queue) runs head->next
 * with a ticket:
 *
 *   run -> head = block, recycle the old head -> completed+1 -> ring the bell -> count-1 -> next one or idle
 *
 * `head` is touched only by the thread that took the root. A block is recycled only after its next was read.
 * Each block holds a reference of the queue until after its count-1. The root is either linked (published) or
 * taken, never both; a queue with count > 0 has exactly one of these states, so it runs on one thread at a
 * time. Order and results: the first failed item poisons the queue, later ones are skipped and recycled.
 * Without a pool (or with the runtime SEQ) the submitter runs items; a submitter that is inside an item of
 * the same queue finds count > 0 and only pushes, so nothing recurses. */
#include "threading/queue.h"

#include "threading/builtin_pool.h"

struct dtp_queue {
    dtp_root_t root;
    dtp_pool_t *rec; /* retained, or NULL */
    const dnnl_tp_allocator_t *allocator;
    dtp_item_t *head;
    dtp_item_t stub;
    _Alignas(DTP_NO_SHARE) dtp_item_t *_Atomic tail;
    _Atomic int64_t count;
    _Atomic uint64_t submitted;
    _Alignas(DTP_NO_SHARE) _Atomic uint64_t completed;
    _Atomic uint32_t bell;
    _Atomic int32_t waiters;
    _Atomic int32_t refs;
    _Atomic int status; /* first error */
    uint32_t fork_generation;
};

dnnl_tp_status_t dtp_queue_create(dtp_queue_t **queue, dtp_pool_t *pool,
                                  const dnnl_tp_allocator_t *allocator) {
    dtp_queue_t *q = dtp_zalloc(allocator, sizeof(*q), DTP_NO_SHARE);
    *queue = q;
    if (!q) return dtp_no_memory(sizeof(*q));
    q->root.kind = DTP_ROOT_QUEUE;
    q->rec = pool;
    dtp_pool_retain(pool);
    q->allocator = allocator;
    q->head = &q->stub;
    atomic_init(&q->tail, &q->stub);
    atomic_init(&q->refs, 1);
    q->fork_generation = atomic_load(&dtp_fork_generation);
    return dnnl_tp_success;
}

static void queue_release(dtp_queue_t *q) {
    if (atomic_fetch_sub_explicit(&q->refs, 1, memory_order_acq_rel) != 1) return;
    if (q->head != &q->stub) q->head->recycle(q->head);
    dtp_pool_release(q->rec);
    dtp_free(q->allocator, q);
}

bool dtp_queue_hint(dtp_root_t *root) {
    dtp_queue_t *q = (dtp_queue_t *)root;
    if (!atomic_load_explicit(&q->waiters, memory_order_seq_cst)) return false;
    atomic_fetch_add_explicit(&q->bell, 1, memory_order_seq_cst);
    dtp_futex_wake(&q->bell, INT_MAX);
    return true;
}

static bool queue_dead(const dtp_queue_t *q) {
    return q->fork_generation != atomic_load_explicit(&dtp_fork_generation, memory_order_relaxed);
}

/* A pusher between its two stores is waited for: it has only one store left. */
static dtp_item_t *next_of(const dtp_item_t *item) {
    for (int i = 0;; ++i) {
        dtp_item_t *next = atomic_load_explicit(&item->next, memory_order_acquire);
        if (next) return next;
        if (i < 64) dtp_pause();
        else sched_yield();
    }
}

/* Runs one item; true if more are left. The caller took the root and holds a reference. */
static bool run_one(dtp_queue_t *q) {
    dtp_item_t *old = q->head, *item = next_of(old);
    if (atomic_load_explicit(&q->status, memory_order_relaxed) == dnnl_tp_success) {
        dtp_pool_t *rec = q->rec;
        int n = rec && item->num_threads > rec->num_threads ? rec->num_threads : item->num_threads;
        dtp_parallel_t par = {rec, rec ? n : 1, NULL};
        dtp_team_t *team = rec ? dtp_team_open(rec, q->root.cookie) : NULL;
        par.team = team;
        dtp_chain_t chain = {
            .up = dtp_chain_top, .rec = rec, .kind = DTP_CHAIN_RUN, .team = team, .queue = q};
        dtp_chain_top = &chain;
        dnnl_tp_status_t status = item->run(item, &par);
        dtp_chain_top = chain.up;
        if (team) dtp_team_close(team);
        if (status != dnnl_tp_success) atomic_store_explicit(&q->status, (int)status, memory_order_relaxed);
    } else {
        (void)item->run(item, NULL);
    }
    q->head = item;
    if (old != &q->stub) old->recycle(old);
    atomic_fetch_add_explicit(&q->completed, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&q->waiters, memory_order_seq_cst)) {
        atomic_fetch_add_explicit(&q->bell, 1, memory_order_seq_cst);
        dtp_futex_wake(&q->bell, INT_MAX);
    }
    bool more = atomic_fetch_sub_explicit(&q->count, 1, memory_order_acq_rel) > 1;
    /* `more`: the blocks that are left hold references; else this may be the last one. */
    queue_release(q);
    return more;
}

void dtp_queue_run_root(dtp_pool_t *rec, dtp_root_t *root) {
    dtp_queue_t *q = (dtp_queue_t *)root;
    while (run_one(q)) {
        /* Others wait for a ticket: back to the end of the FIFO (this thread takes the oldest next). */
        if (dtp_adm_waiting(atomic_load_explicit(&rec->adm, memory_order_relaxed))) {
            dtp_root_publish(rec, root);
            return;
        }
    }
}

/* The queue became busy: makes it a root and finds a thread for it; if the pool will give none, runs it here.
 */
static void start(dtp_queue_t *q) {
    dtp_pool_t *rec = q->rec;
    if (!rec) {
        while (run_one(q)) {
        }
        return;
    }
    atomic_fetch_add_explicit(&q->refs, 1, memory_order_relaxed); /* others may finish it meanwhile */
    dtp_root_publish(rec, &q->root);
    bool coming = dtp_dispatch(rec);
    if (!coming && !dtp_chain_top && dtp_root_reclaim(rec, &q->root)) {
        dtp_queue_run_root(rec, &q->root);
        dtp_ticket_end(rec);
    }
    queue_release(q);
}

dnnl_tp_status_t dtp_queue_submit(dtp_queue_t *q, dtp_item_t *item) {
    if (queue_dead(q))
        return dtp_fail(dnnl_tp_poisoned, DTP_POOL_FAILED, "the stream belongs to the parent process");
    atomic_store_explicit(&item->next, NULL, memory_order_relaxed);
    atomic_fetch_add_explicit(&q->refs, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&q->submitted, 1, memory_order_relaxed);
    dtp_item_t *before = atomic_exchange_explicit(&q->tail, item, memory_order_acq_rel);
    atomic_store_explicit(&before->next, item, memory_order_release);
    if (atomic_fetch_add_explicit(&q->count, 1, memory_order_acq_rel) == 0) start(q);
    return dnnl_tp_success;
}

static dnnl_tp_status_t result_of(const dtp_queue_t *q) {
    dnnl_tp_status_t status = (dnnl_tp_status_t)atomic_load_explicit(&q->status, memory_order_relaxed);
    if (status != dnnl_tp_success) return dtp_fail(status, DTP_POOL_FAILED, "an item of the stream failed");
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_queue_wait(dtp_queue_t *q, int64_t timeout_ns) {
    if (queue_dead(q))
        return dtp_fail(dnnl_tp_poisoned, DTP_POOL_FAILED, "the stream belongs to the parent process");
    uint64_t target = atomic_load_explicit(&q->submitted, memory_order_relaxed);
    if (atomic_load_explicit(&q->completed, memory_order_acquire) >= target) return result_of(q);
    if (dtp_chain_top)
        return dtp_fail(dnnl_tp_would_deadlock, DTP_WOULD_DEADLOCK, "called from inside running work");
    int64_t until = timeout_ns < 0 ? INT64_MAX : dtp_now_ns() + timeout_ns;
    dnnl_tp_status_t status = dnnl_tp_success;
    atomic_fetch_add_explicit(&q->waiters, 1, memory_order_seq_cst);
    for (;;) {
        uint32_t bell = atomic_load_explicit(&q->bell, memory_order_seq_cst);
        if (atomic_load_explicit(&q->completed, memory_order_seq_cst) >= target) break;
        int64_t now = timeout_ns < 0 ? 0 : dtp_now_ns();
        if (now >= until) {
            status = dtp_fail(dnnl_tp_timed_out, DTP_TIMED_OUT, "items are left");
            break;
        }
        /* Help, and look at the own condition after every item; what is left goes back to the pool. */
        if (q->rec && dtp_root_reclaim(q->rec, &q->root)) {
            bool more;
            do {
                more = run_one(q);
            } while (more && atomic_load_explicit(&q->completed, memory_order_relaxed) < target &&
                     (timeout_ns < 0 || dtp_now_ns() < until));
            if (more) dtp_root_publish(q->rec, &q->root);
            dtp_ticket_end(q->rec);
            continue;
        }
        dtp_futex_wait(&q->bell, bell, timeout_ns < 0 ? -1 : until - now);
    }
    atomic_fetch_sub_explicit(&q->waiters, 1, memory_order_relaxed);
    return status == dnnl_tp_success ? result_of(q) : status;
}

dnnl_tp_status_t dtp_queue_close(dtp_queue_t *q) {
    if (!q) return dnnl_tp_success;
    if (!queue_dead(q)) {
        dnnl_tp_status_t status = dtp_queue_wait(q, -1);
        if (status == dnnl_tp_would_deadlock) return status;
        /* Blocks drop their references a few instructions after their completion shows; recycling needs the
         * owner. */
        for (int i = 0; atomic_load_explicit(&q->refs, memory_order_acquire) > 1; ++i) {
            if (i < 100) dtp_pause();
            else sched_yield();
        }
    }
    queue_release(q);
    return dnnl_tp_success;
}
