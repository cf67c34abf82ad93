/* Forced preemption: DTP_PREEMPT_FN=dataflow_preempt calls this at every arrival of the dataflow engine; defined once per
 * program, by including this. */
#ifndef TESTS_SUPPORT_PREEMPT_H
#define TESTS_SUPPORT_PREEMPT_H

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "threading/base/futex.h"

void dataflow_preempt(void);
static _Atomic uint32_t preempt_threads;
static _Atomic int64_t preemptions;

void dataflow_preempt(void) {
    static _Thread_local uint32_t x;
    if (!x) x = 12345 + atomic_fetch_add(&preempt_threads, 1) * 7919;
    x = x * 1664525 + 1013904223;
    if (x >> 24 < 6) {
        atomic_fetch_add_explicit(&preemptions, 1, memory_order_relaxed);
        sched_yield();
    } else if (x >> 20 == 0x777) {
        for (int i = 0; i < 2000; ++i) dtp_pause();
    }
}

static inline int64_t preempt_count(void) { return atomic_load(&preemptions); }

#endif
