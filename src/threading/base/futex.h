/* Clocks, pauses and sleeping for src/threading: the only file here that talks to the system about
 * time. Ticks are the time-stamp counter on x86 and nanoseconds elsewhere; dtp_ticks_of_ns
 * converts. */
#ifndef DTP_THREADING_BASE_FUTEX_H
#define DTP_THREADING_BASE_FUTEX_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Limit of sleeps that other threads end. Nothing depends on it; tests/model has no limit. */
#define DTP_LONG_NS ((int64_t)100000000)

/* Rounds of a loop that spins; tests/model looks once. */
#define DTP_SPINS(n) (n)

static inline void dtp_pause(void) {
#if DTP_X64
    __builtin_ia32_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

/* Requests the line of p for writing; a hint, and harmless on processors that do not know it. */
static inline void dtp_prefetch_write(const volatile void *p) {
#if DTP_X64
    __asm__ volatile("prefetchw %0" : : "m"(*(const volatile char *)p));
#else
    __builtin_prefetch((const void *)p, 1);
#endif
}

static inline int64_t dtp_now_ns(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * (int64_t)1000000000 + ts.tv_nsec;
}

static inline int64_t dtp_ticks(void) {
#if DTP_X64
    return (int64_t)__builtin_ia32_rdtsc();
#else
    return dtp_now_ns();
#endif
}
/* Ticks per microsecond; measured once by dtp_ticks_init (a few hundred microseconds). */
extern _Atomic int64_t dtp_ticks_per_us;
void dtp_ticks_init(void);
static inline int64_t dtp_ticks_of_ns(int64_t ns) {
    int64_t rate = atomic_load_explicit(&dtp_ticks_per_us, memory_order_relaxed);
    return ns > INT64_MAX / 8192 ? INT64_MAX / 2 : ns * rate / 1000;
}
static inline int64_t dtp_ns_of_ticks(int64_t ticks) {
    int64_t rate = atomic_load_explicit(&dtp_ticks_per_us, memory_order_relaxed);
    return rate ? ticks / rate * 1000 + ticks % rate * 1000 / rate : 0;
}

/* CPU of the calling thread, a hint; -1 when unknown. */
static inline int dtp_this_cpu(void) { return sched_getcpu(); }

/* Sleeps while *word == value, at most timeout_ns (< 0 = no limit). May return early; false = timed
 * out. */
static inline bool dtp_futex_wait(_Atomic uint32_t *word, uint32_t value, int64_t timeout_ns) {
    struct timespec ts = {0, 0}, *limit = NULL;
    if (timeout_ns >= 0) {
        ts.tv_sec = (time_t)(timeout_ns / 1000000000);
        ts.tv_nsec = (long)(timeout_ns % 1000000000);
        limit = &ts;
    }
    long rc = syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, limit, NULL, 0);
    return !(rc != 0 && errno == ETIMEDOUT);
}
/* Uses the address only: the object may already be gone (a spurious wake elsewhere is allowed for).
 */
static inline void dtp_futex_wake(_Atomic uint32_t *word, int count) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

/* The end of a wait with a limit: INT64_MAX for a negative limit and for one beyond the clock's
 * range. */
static inline int64_t dtp_until_ns(int64_t timeout_ns) {
    const int64_t now = dtp_now_ns();
    return timeout_ns < 0 || timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
}

/* Round i of waiting for a thread that has a small number of instructions left. That thread may
 * need the processor of this one, for any priorities of the two, so this one soon sleeps, a little
 * longer each time. */
static inline void dtp_back_off(int i) {
    enum { PAUSES = 100, LEAST_NS = 20000, DOUBLINGS = 5 };
    if (i < PAUSES) {
        dtp_pause();
        return;
    }
    const int doublings = i - PAUSES < DOUBLINGS ? i - PAUSES : DOUBLINGS;
    _Atomic uint32_t nobody = 0;
    (void)dtp_futex_wait(&nobody, 0, (int64_t)LEAST_NS << doublings);
}

/* Number of forks between the process that was started and this one (record.c). */
extern _Atomic uint32_t dtp_fork_generation;
/* Counts forks from now on: objects that were made before are not safe in a child (record.c). */
void dtp_watch_forks(void);
/* Whether an object was made by a process from which this one was forked. Then its work, its
 * threads and its locks belong to that process. Such objects store dtp_fork_generation when they
 * are made. Every call that would wait for their work, continue it or add to it checks this first,
 * and returns dtp_refuse_parents (pools/record.h). */
static inline bool dtp_is_parents(uint32_t made_at) {
    return __builtin_expect(made_at != atomic_load_explicit(&dtp_fork_generation, memory_order_relaxed), 0);
}

/* A lock for a small number of instructions; a waiting thread sleeps if the holder was preempted.
 * 0: free; otherwise the generation of the holder's process << 2, | 1: held, | 2: held, and threads
 * sleep. A held lock that a child inherits has no holder there and counts as free; so the data that
 * a lock protects must be consistent after each store of its holder. */
typedef struct {
    _Atomic uint32_t word;
} dtp_lock_t;
static inline uint32_t dtp_lock_holder(void) {
    return atomic_load_explicit(&dtp_fork_generation, memory_order_relaxed) << 2;
}
static inline bool dtp_try_lock(dtp_lock_t *lock) {
    uint32_t free_word = 0;
    return atomic_compare_exchange_strong_explicit(&lock->word, &free_word, dtp_lock_holder() | 1,
                                                   memory_order_acquire, memory_order_relaxed);
}
static __attribute__((cold, noinline, unused)) void dtp_lock_contended(dtp_lock_t *lock) {
    const uint32_t mine = dtp_lock_holder() | 2;
    uint32_t word = atomic_load_explicit(&lock->word, memory_order_relaxed);
    for (int i = 0;; ++i) {
        if (word == 0 || (word ^ mine) >> 2) {
            if (atomic_compare_exchange_strong_explicit(&lock->word, &word, mine, memory_order_acquire,
                                                        memory_order_relaxed))
                return;
        } else if (i < 100) {
            dtp_pause();
            word = atomic_load_explicit(&lock->word, memory_order_relaxed);
        } else if (word == mine ||
                   atomic_compare_exchange_strong_explicit(&lock->word, &word, mine, memory_order_relaxed,
                                                           memory_order_relaxed)) {
            dtp_futex_wait(&lock->word, mine, -1);
            word = atomic_load_explicit(&lock->word, memory_order_relaxed);
        }
    }
}
static inline void dtp_lock(dtp_lock_t *lock) {
    if (!dtp_try_lock(lock)) dtp_lock_contended(lock);
}
static inline void dtp_unlock(dtp_lock_t *lock) {
    if (atomic_exchange_explicit(&lock->word, 0, memory_order_release) & 2) dtp_futex_wake(&lock->word, 1);
}

#endif
