/* Clocks, pauses and sleeping for src/threading: the only file here that talks to the system about time.
 * Ticks are the time-stamp counter on x86 and nanoseconds elsewhere; dtp_ticks_of_ns converts. */
#ifndef DTP_THREADING_FUTEX_H
#define DTP_THREADING_FUTEX_H

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

/* Rounds of a loop that spins; tests/model looks once. */
#define DTP_SPINS(n) (n)

static inline void dtp_pause(void) {
#if DTP_X64
    __builtin_ia32_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

/* Asks for the line of p to write to it; a hint, and harmless on processors that do not know it. */
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

/* Sleeps while *word == value, at most timeout_ns (< 0 = no limit). May return early; false = timed out. */
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
/* Uses the address only: the object may already be gone (a spurious wake elsewhere is allowed for). */
static inline void dtp_futex_wake(_Atomic uint32_t *word, int count) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

/* A lock for a few instructions; sleeps when its holder was preempted. 0 free, 1 held, 2 held with sleepers.
 */
typedef struct {
    _Atomic uint32_t word;
} dtp_lock_t;
static inline bool dtp_try_lock(dtp_lock_t *lock) {
    uint32_t free_word = 0;
    return atomic_compare_exchange_strong_explicit(&lock->word, &free_word, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}
static inline void dtp_lock(dtp_lock_t *lock) {
    for (int i = 0; i < 100; ++i) {
        if (dtp_try_lock(lock)) return;
        dtp_pause();
    }
    while (atomic_exchange_explicit(&lock->word, 2, memory_order_acquire) != 0)
        dtp_futex_wait(&lock->word, 2, -1);
}
static inline void dtp_unlock(dtp_lock_t *lock) {
    if (atomic_exchange_explicit(&lock->word, 0, memory_order_release) == 2) dtp_futex_wake(&lock->word, 1);
}

#endif
