/* Where the owner of a run is while it cannot go on, and how others make it go on: who ends the run from outside (a
 * token is fired), and who brings something that the run waits for (a pending node, exec/dataflow/run/pending.c).
 * Both write what they bring (a stop word, a list), then wake. The owner
 *
 *   sleeps   on a word: it says where, looks once more, sleeps. A wake changes the word and wakes it
 *   rests    without a thread: the body of the run has returned, with `rests` set, and holds no ticket and no stack.
 *            A synchronous run then sleeps on its caller's thread (dtp_pool_run_share); an asynchronous one says
 *            what is to be called (dtp_sleeper_rest). Exactly one wake gets that call and makes it, holding no lock
 *
 * A wake that does not end a rest is noted (`came`): the next rest ends at once, and the owner looks again. So no wake
 * is lost, whichever comes first. Invariant: between dtp_sleeper_rest, if it said true, and the call nobody but
 * who got the call may touch the run; so it is there for as long as that takes. */
#ifndef DTP_THREADING_BASE_SLEEPER_H
#define DTP_THREADING_BASE_SLEEPER_H

#include "threading/base/futex.h"
#include "threading/base/parallel.h"

/* Where the owner of a run sleeps before it begins or goes on, so that who ends the run wakes it: `word` changes
 * from `from` to `to`, if it is `from`, which its owner takes for a reason to look. */
typedef struct dtp_sleeper {
    dtp_lock_t lock;
    _Atomic uint32_t *word; /* NULL: awake */
    uint32_t from, to;
    bool came;
    bool has_token;            /* somebody may end the run from outside */
    bool rests;                /* written by the body, read by who called it */
    void (*resume)(void *arg); /* NULL: does not rest */
    void *arg;
    /* Of an asynchronous run that has waited for a ticket or rested: takes its turn from where it waits for a ticket, for
     * who has ended the run and then calls again (arg as for resume); NULL: it never did. */
    bool (*take)(void *arg);
    void (*again)(void *arg);
    /* Of a run whose nodes wait for events of queues: one of these events, retained, another one each turn; NULL:
     * there is none. The owner of a synchronous run that rests helps these queues (dtp_queue_rest). */
    struct dnnl_tp_event *(*awaits)(struct dtp_sleeper *sleeper, unsigned turn, bool *several);
} dtp_sleeper_t;
/* What who wakes has to call, without locks; fn NULL: nothing. */
typedef struct {
    void (*fn)(void *arg);
    void *arg;
} dtp_resume_t;
static inline void dtp_resume(dtp_resume_t resume) {
    if (resume.fn) resume.fn(resume.arg);
}
/* listens: true for the sleep of a resting run: a wake that was noted ends it at once, and stays noted until the
 * owner goes on. Any other sleep keeps the wake for the next rest, because it may be meant for a run that another
 * thread executes. */
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
/* The owner rests. False: somebody has woken meanwhile, and it goes on itself. */
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
/* The run, which has not begun, is about to wait for a ticket. */
static inline void dtp_sleeper_wait(dtp_sleeper_t *sleeper, void (*again)(void *arg), bool (*take)(void *arg),
                                    void *arg) {
    dtp_lock(&sleeper->lock);
    sleeper->arg = arg;
    sleeper->take = take;
    sleeper->again = again;
    dtp_unlock(&sleeper->lock);
}
/* By who has set the stop word, while the run cannot end: as wake, and also where the run waits for a ticket. */
static inline dtp_resume_t dtp_sleeper_end(dtp_sleeper_t *sleeper) {
    dtp_resume_t resume = dtp_sleeper_wake(sleeper);
    if (resume.fn) return resume;
    dtp_lock(&sleeper->lock);
    if (sleeper->take && sleeper->take(sleeper->arg)) resume = (dtp_resume_t){sleeper->again, sleeper->arg};
    dtp_unlock(&sleeper->lock);
    return resume;
}
/* The owner goes on: whatever was brought before, it finds. */
static inline void dtp_sleeper_go_on(dtp_sleeper_t *sleeper) {
    dtp_lock(&sleeper->lock);
    sleeper->word = NULL;
    sleeper->came = false;
    dtp_unlock(&sleeper->lock);
}
/* Has somebody woken since the owner rests? */
static inline bool dtp_sleeper_has_come(dtp_sleeper_t *sleeper) {
    dtp_lock(&sleeper->lock);
    const bool came = sleeper->came;
    dtp_unlock(&sleeper->lock);
    return came;
}
/* Sleeps until somebody wakes, or has woken before. By the thread that would go on. */
static inline void dtp_sleep_until_woken(dtp_sleeper_t *sleeper) {
    _Atomic uint32_t wake_word = 0;
    dtp_sleeper_set(sleeper, &wake_word, 0, 1, true);
    dtp_futex_wait(&wake_word, 0, -1);
    dtp_sleeper_go_on(sleeper);
}
/* Does the run of share rest? By who called its body, or before the next call. */
static inline bool dtp_share_rests(const dtp_share_t *share) {
    return share && share->sleeper && share->sleeper->rests;
}

/* One sleep of the owner of a run on *word while it is `value`, at most for limit_ns (< 0: none): no longer than
 * the run's deadline; returns at once if the run is over. share NULL: it has no end but its own. */
static inline void dtp_sleep_or_rest(const dtp_share_t *share, _Atomic uint32_t *word, uint32_t value,
                                     uint32_t woken, int64_t limit_ns, bool rests) {
    if (!share) {
        dtp_futex_wait(word, value, limit_ns);
        return;
    }
    enum { LOOK_OUTER_NS = 1000000 }; /* who ends the run around this one does not know where it sleeps */
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
