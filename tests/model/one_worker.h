/* The one worker of a pool of built-in threads, without its own way to sleep (that is check_sleep): it runs what
 * waits until all other threads have left. Included once per check, after the source of run.c. */
#ifndef DTP_MODEL_ONE_WORKER_H
#define DTP_MODEL_ONE_WORKER_H

#include "threading/pools/pool.h"

static dtp_pool_t *rec;
static _Atomic uint32_t worker_bell;
static _Atomic int left;    /* threads other than the worker */
static bool worker_is_away; /* in a task of the program */

bool dtp_builtin_wake_at(dtp_pool_t *pool, int cpu) {
    (void)pool, (void)cpu;
    if (worker_is_away || !left) return false; /* the worker has gone */
    atomic_fetch_add_explicit(&worker_bell, 1, memory_order_seq_cst);
    dtp_futex_wake(&worker_bell, 1);
    return true;
}
static __attribute__((unused)) void leave(void) {
    if (atomic_fetch_sub_explicit(&left, 1, memory_order_acq_rel) != 1) return;
    atomic_fetch_add_explicit(&worker_bell, 1, memory_order_seq_cst);
    dtp_futex_wake(&worker_bell, 1);
}
static __attribute__((unused)) void worker(void *arg) {
    (void)arg;
    for (;;) {
        uint32_t wake_word = atomic_load_explicit(&worker_bell, memory_order_seq_cst);
        bool held = false;
        if (dtp_run_pending(rec, &held)) {
            mc_hit("the worker ran pending work");
            continue;
        }
        if (!atomic_load_explicit(&left, memory_order_acquire)) return;
        dtp_futex_wait(&worker_bell, wake_word, -1);
    }
}

#endif
