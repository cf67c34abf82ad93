/* The place where the owner of a run waits while the run cannot continue, and the ways in which
 * other threads make it continue: a thread that ends the run from outside (a token is fired), and a
 * thread that delivers something for which the run waits (a pending node,
 * exec/dataflow/run/pending.c). Both first write what they deliver (a stop word, a list), then
 * wake. The owner
 *
 *   sleeps   on a word: it registers the word, checks once more, sleeps. A wake changes the word
 *            and wakes the owner
 *   rests    without a thread: the body of the run has returned, with `rests` set, and holds no
 *            ticket and no stack. A synchronous run then sleeps on its caller's thread
 *            (dtp_pool_run_share); an asynchronous run registers a function to be called
 *            (dtp_sleeper_rest). Exactly one waking thread gets that function and calls it, holding
 *            no lock
 *
 * A wake that does not end a rest is recorded (`came`): the next rest ends at once, and the owner
 * checks again. So no wake is lost, in either order. Invariant: after dtp_sleeper_rest has returned
 * true, and until the call, only the thread that got the call may access the run; so the run exists
 * for as long as that takes. */
#ifndef DTP_THREADING_BASE_SLEEPER_H
#define DTP_THREADING_BASE_SLEEPER_H

#include "threading/base/futex.h"
#include "threading/base/parallel.h"

/* Here the owner of a run registers its sleep before it begins or continues, so that a thread that
 * ends the run can wake it: `word` changes from `from` to `to`, if it is `from`, and the owner then
 * checks again. */
typedef struct dtp_sleeper {
    dtp_lock_t lock;
    /* NULL: awake. */
    _Atomic uint32_t *word;
    uint32_t from, to;
    /* A wake was recorded. */
    bool came;
    /* The run can be ended from outside. */
    bool has_token;
    /* Written by the body, read by its caller. */
    bool rests;
    /* NULL: the run does not rest. */
    void (*resume)(void *arg);
    void *arg;
    /* For an asynchronous run that has waited for a ticket or rested: takes its turn from the place
     * where it waits for a ticket, for a thread that has ended the run and then calls `again` (arg
     * as for resume). NULL: it has done neither. */
    bool (*take)(void *arg);
    void (*again)(void *arg);
    /* For a run whose nodes wait for events of queues: gives one of these events, retained, and
     * another one for each turn; NULL: there is none. The owner of a synchronous run that rests
     * helps these queues (dtp_queue_rest). */
    struct dnnl_tp_event *(*awaits)(struct dtp_sleeper *sleeper, unsigned turn, bool *several);
} dtp_sleeper_t;
/* The call that a waking thread has to make, without locks; fn NULL: none. */
typedef struct {
    void (*fn)(void *arg);
    void *arg;
} dtp_resume_t;
static inline void dtp_resume(dtp_resume_t resume) {
    if (resume.fn) resume.fn(resume.arg);
}
/* listens: true for the sleep of a resting run: a recorded wake ends it at once, and stays recorded
 * until the owner continues. Any other sleep keeps the wake for the next rest, because it may be
 * meant for a run that another thread executes. */
static inline void dtp_sleeper_set(dtp_sleeper_t *sleeper, _Atomic uint32_t *word, uint32_t from, uint32_t to,
                                   bool listens) {
    dtp_lock(&sleeper->lock);
    sleeper->word = word;
    sleeper->from = from;
    sleeper->to = to;
    if (listens && sleeper->came)
        atomic_compare_exchange_strong_explicit(word, &from, to, memory_order_seq_cst, memory_order_relaxed);
    dtp_unlock(&sleeper->lock);
}
static inline dtp_resume_t dtp_sleeper_wake(dtp_sleeper_t *sleeper) {
    dtp_lock(&sleeper->lock);
    const dtp_resume_t resume = {sleeper->resume, sleeper->arg};
    sleeper->resume = NULL;
    if (sleeper->word) {
        uint32_t from = sleeper->from;
        atomic_compare_exchange_strong_explicit(sleeper->word, &from, sleeper->to, memory_order_seq_cst,
                                                memory_order_relaxed);
        dtp_futex_wake(sleeper->word, INT_MAX);
    }
    if (!resume.fn) sleeper->came = true;
    dtp_unlock(&sleeper->lock);
    return resume;
}
/* The owner rests. False: there was a wake meanwhile, and the owner continues itself. */
static inline bool dtp_sleeper_rest(dtp_sleeper_t *sleeper, void (*resume)(void *arg),
                                    bool (*take)(void *arg), void *arg) {
    dtp_lock(&sleeper->lock);
#ifdef DTP_BREAK_PENDING_REST
    const bool came = false;
#else
    const bool came = sleeper->came;
#endif
    sleeper->came = false;
    sleeper->arg = arg;
    sleeper->take = take;
    sleeper->again = resume;
    sleeper->resume = came ? NULL : resume;
    dtp_unlock(&sleeper->lock);
    return !came;
}
/* A run that has not begun is about to wait for a ticket. */
static inline void dtp_sleeper_wait(dtp_sleeper_t *sleeper, void (*again)(void *arg), bool (*take)(void *arg),
                                    void *arg) {
    dtp_lock(&sleeper->lock);
    sleeper->arg = arg;
    sleeper->take = take;
    sleeper->again = again;
    dtp_unlock(&sleeper->lock);
}
/* Called by a thread that has set the stop word, while the run cannot end: as dtp_sleeper_wake, and
 * also for a run that waits for a ticket. */
static inline dtp_resume_t dtp_sleeper_end(dtp_sleeper_t *sleeper) {
    dtp_resume_t resume = dtp_sleeper_wake(sleeper);
    if (resume.fn) return resume;
    dtp_lock(&sleeper->lock);
    if (sleeper->take && sleeper->take(sleeper->arg)) resume = (dtp_resume_t){sleeper->again, sleeper->arg};
    dtp_unlock(&sleeper->lock);
    return resume;
}
/* The owner continues: it finds everything that was delivered before. */
static inline void dtp_sleeper_go_on(dtp_sleeper_t *sleeper) {
    dtp_lock(&sleeper->lock);
    sleeper->word = NULL;
    sleeper->came = false;
    dtp_unlock(&sleeper->lock);
}
/* Whether there was a wake since the owner rests. */
static inline bool dtp_sleeper_has_come(dtp_sleeper_t *sleeper) {
    dtp_lock(&sleeper->lock);
    const bool came = sleeper->came;
    dtp_unlock(&sleeper->lock);
    return came;
}
/* Sleeps until a wake, or returns at once if there was one. Called by the thread that would
 * continue. */
static inline void dtp_sleep_until_woken(dtp_sleeper_t *sleeper) {
    _Atomic uint32_t wake_word = 0;
    dtp_sleeper_set(sleeper, &wake_word, 0, 1, true);
    dtp_futex_wait(&wake_word, 0, -1);
    dtp_sleeper_go_on(sleeper);
}
/* Whether the run of share rests. Called by the caller of its body, or before the next call. */
static inline bool dtp_share_rests(const dtp_share_t *share) {
    return share && share->sleeper && share->sleeper->rests;
}

/* One sleep of the owner of a run on *word while it is `value`, at most for limit_ns (< 0: no
 * limit) and at most until the run's deadline; returns at once if the run is over. share NULL:
 * nothing ends the run from outside. */
static inline void dtp_sleep_or_rest(const dtp_share_t *share, _Atomic uint32_t *word, uint32_t value,
                                     uint32_t woken, int64_t limit_ns, bool rests) {
    if (!share) {
        dtp_futex_wait(word, value, limit_ns);
        return;
    }
    /* A thread that ends the run around this one does not know where this one sleeps. */
    enum { LOOK_OUTER_NS = 1000000 };
    int64_t left_ns = limit_ns < 0 ? INT64_MAX : limit_ns;
    for (const dtp_share_t *s = share; s; s = s->outer) {
        if (s->deadline_ns) {
            const int64_t until_ns = s->deadline_ns - dtp_now_ns();
            if (until_ns < left_ns) left_ns = until_ns > 0 ? until_ns : 0;
        }
        if (s->outer && left_ns > LOOK_OUTER_NS) left_ns = LOOK_OUTER_NS;
    }
    if (share->sleeper) dtp_sleeper_set(share->sleeper, word, value, woken, rests);
    if (!dtp_share_over(share)) dtp_futex_wait(word, value, left_ns == INT64_MAX ? -1 : left_ns);
    if (share->sleeper) dtp_sleeper_set(share->sleeper, NULL, 0, 0, false);
}
static inline void dtp_sleep_unless_over(const dtp_share_t *share, _Atomic uint32_t *word, uint32_t value,
                                         uint32_t woken, int64_t limit_ns) {
    dtp_sleep_or_rest(share, word, value, woken, limit_ns, false);
}

#endif
