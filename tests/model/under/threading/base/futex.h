/* src/threading/base/futex.h under the model checker: sleeping is a state of a model thread, a lock is one step,
 * time only runs ahead (so that spins end at once), and loops that spin look once. */
#ifndef DTP_THREADING_FUTEX_H
#define DTP_THREADING_FUTEX_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DTP_SPINS(n) 1
#define DTP_LONG_NS ((int64_t)-1)

static inline void dtp_pause(void) {}
static inline void dtp_prefetch_write(const volatile void *p) { (void)p; }
static inline int64_t dtp_now_ns(void) { return mc_clock(); }
static inline int64_t dtp_ticks(void) { return mc_clock(); }
static inline void dtp_ticks_init(void) {}
static inline int64_t dtp_ticks_of_ns(int64_t ns) { return ns; }
static inline int64_t dtp_ns_of_ticks(int64_t ticks) { return ticks; }
static inline int dtp_this_cpu(void) { return -1; }
static inline int64_t dtp_until_ns(int64_t timeout_ns) {
    const int64_t now = dtp_now_ns();
    return timeout_ns < 0 || timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
}
static inline int sched_yield(void) {
    mc_yield();
    return 0;
}
static inline void dtp_back_off(int i) {
    (void)i;
    mc_yield();
}
static inline bool dtp_futex_wait(uint32_t *word, uint32_t value, int64_t timeout_ns) {
    return mc_futex_wait(word, value, timeout_ns >= 0);
}
static inline void dtp_futex_wake(uint32_t *word, int count) { mc_futex_wake(word, count); }

extern _Atomic uint32_t dtp_fork_generation;
void dtp_watch_forks(void);
static inline bool dtp_is_parents(uint32_t made_at) {
    return made_at != atomic_load_explicit(&dtp_fork_generation, memory_order_relaxed);
}
typedef struct {
    uint32_t word;
} dtp_lock_t;
static inline bool dtp_try_lock(dtp_lock_t *lock) { return mc_try_lock(&lock->word); }
static inline void dtp_lock(dtp_lock_t *lock) { mc_lock(&lock->word); }
static inline void dtp_unlock(dtp_lock_t *lock) { mc_unlock(&lock->word); }

#endif
