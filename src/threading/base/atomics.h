/* The atomic operations of the dataflow engine, the crew, events and queues: C11's under short
 * names, in one place, so that tests/model can explore the same source (DTP_ATOMICS_HEADER) and
 * stress builds can preempt at every step (DTP_PREEMPT_POINT).
 *
 * Memory orders are written as C11 names without the prefix: DTP_LOAD(&x, acquire). DTP_FENCE_SC
 * orders a store before a later load (Dekker's algorithm). ThreadSanitizer does not know fences;
 * under it the fence is a read-modify-write of a separate word, and the loads and stores around it
 * must be atomic anyway. */
#ifndef DTP_THREADING_BASE_ATOMICS_H
#define DTP_THREADING_BASE_ATOMICS_H

#ifdef DTP_ATOMICS_HEADER
#include DTP_ATOMICS_HEADER
#else
#include <stdatomic.h>
#include <stdint.h>

#define DTP_ATOMIC(type) _Atomic type
#define DTP_LOAD(p, order) atomic_load_explicit((p), memory_order_##order)
#define DTP_STORE(p, v, order) atomic_store_explicit((p), (v), memory_order_##order)
#define DTP_SWAP(p, v, order) atomic_exchange_explicit((p), (v), memory_order_##order)
#define DTP_ADD(p, v, order) atomic_fetch_add_explicit((p), (v), memory_order_##order)
#define DTP_SUB(p, v, order) atomic_fetch_sub_explicit((p), (v), memory_order_##order)
#define DTP_OR(p, v, order) atomic_fetch_or_explicit((p), (v), memory_order_##order)
#define DTP_AND(p, v, order) atomic_fetch_and_explicit((p), (v), memory_order_##order)
/* On failure updates *expected, with relaxed order. May fail although the values are equal, so use
 * it in loops. */
#define DTP_CAS_WEAK(p, expected, v, order) \
    atomic_compare_exchange_weak_explicit((p), (expected), (v), memory_order_##order, memory_order_relaxed)
#define DTP_CAS(p, expected, v, order) \
    atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_##order, memory_order_relaxed)

#if defined(__SANITIZE_THREAD__)
#define DTP_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DTP_TSAN 1
#endif
#endif
#ifndef DTP_TSAN
#define DTP_TSAN 0
#endif

static inline void dtp_fence_sc(void) {
#if DTP_TSAN
    static _Atomic uint32_t word;
    atomic_fetch_add_explicit(&word, 0, memory_order_seq_cst);
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}
#define DTP_FENCE_SC() dtp_fence_sc()
#endif

/* A point where a stress build may preempt the thread. */
#ifdef DTP_PREEMPT_FN
void DTP_PREEMPT_FN(void);
#define DTP_PREEMPT_POINT() DTP_PREEMPT_FN()
#else
#define DTP_PREEMPT_POINT() ((void)0)
#endif

#endif
