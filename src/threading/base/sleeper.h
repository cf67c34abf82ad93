/* The sleep of the owner of a run that waits for something before or in the run, and how who ends the run from
 * outside wakes it. The protocol: the owner says where it sleeps, looks whether the run is over, sleeps; who ends
 * the run sets its stop word, then pokes. */
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
} dtp_sleeper_t;
static inline void dtp_sleeper_set(dtp_sleeper_t *sleeper, _Atomic uint32_t *word, uint32_t from,
                                   uint32_t to) {
    dtp_lock(&sleeper->lock);
    sleeper->word = word;
    sleeper->from = from;
    sleeper->to = to;
    dtp_unlock(&sleeper->lock);
}
static inline void dtp_sleeper_poke(dtp_sleeper_t *sleeper) {
    dtp_lock(&sleeper->lock);
    if (sleeper->word) {
        uint32_t from = sleeper->from;
        atomic_compare_exchange_strong_explicit(sleeper->word, &from, sleeper->to, memory_order_seq_cst,
                                                memory_order_relaxed);
        dtp_futex_wake(sleeper->word, INT_MAX);
    }
    dtp_unlock(&sleeper->lock);
}

/* One sleep of the owner of a run on *word while it is `value`, at most for limit_ns (< 0: none): no longer than
 * the run's deadline; returns at once if the run is over. share NULL: it has no end but its own. */
static inline void dtp_sleep_unless_over(const dtp_share_t *share, _Atomic uint32_t *word, uint32_t value,
                                         uint32_t poked, int64_t limit_ns) {
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
    if (share->sleeper) dtp_sleeper_set(share->sleeper, word, value, poked);
    if (!dtp_share_over(share)) dtp_futex_wait(word, value, left_ns == INT64_MAX ? -1 : left_ns);
    if (share->sleeper) dtp_sleeper_set(share->sleeper, NULL, 0, 0);
}

#endif
