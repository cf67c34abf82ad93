/* Pools that a host could really have, and pools that no host should have. All are correct by the letter of
 * dnnl_tp_threadpool_iface_t (every promised call is made once); most break a habit that a careless library
 * relies on. */
#ifndef TESTS_SUPPORT_HOSTILE_POOLS_H
#define TESTS_SUPPORT_HOSTILE_POOLS_H

#include "dnnl_tp/dnnl_tp_threadpool.h"

typedef enum {
    POOL_FIFO,        /* schedule; a plain queue and n workers */
    POOL_LIFO,        /* schedule; newest task first */
    POOL_LATE,        /* schedule; random delay before each task */
    POOL_SINGLE,      /* schedule; says n threads, has one */
    POOL_INLINE,      /* schedule runs the task before it returns */
    POOL_REFUSE,      /* schedule always refuses */
    POOL_REFUSE_SOME, /* schedule refuses every second task */
    POOL_LIES_ZERO,   /* POOL_FIFO that says 0, 1, 1000, -1 threads */
    POOL_LIES_ONE,
    POOL_LIES_THOUSAND,
    POOL_LIES_NEGATIVE,
    POOL_SINGLE_CALLER,      /* schedule, runs; notes when two callers were inside at once */
    POOL_RUNS,               /* schedule with run_begin and run_end; notes wrong cookies */
    POOL_STALLED,            /* schedule; nothing runs before hostile_pool_unstall */
    POOL_ASYNC_SCHEDULE,     /* schedule, ASYNCHRONOUS */
    POOL_LOOP,               /* parallel_for, synchronous, its caller works */
    POOL_LOOP_IDLE_CALLER,   /* parallel_for, synchronous, its caller only waits */
    POOL_LOOP_SERIAL,        /* parallel_for runs all jobs on its caller, last one first */
    POOL_LOOP_REFUSE,        /* parallel_for always refuses */
    POOL_LOOP_SINGLE_CALLER, /* runs, too */
    POOL_ASYNC_IN_ORDER,     /* parallel_for, ASYNCHRONOUS | IN_ORDER: one loop after another */
    POOL_ASYNC_UNORDERED,    /* parallel_for, ASYNCHRONOUS: loops overlap, jobs in LIFO order */
    POOL_ASYNC_ONE,          /* the same with one worker */
    POOL_ASYNC_REFUSE,       /* ASYNCHRONOUS, refuses every loop */
    POOL_KINDS
} hostile_kind_t;

typedef struct hostile_pool hostile_pool_t;

/* n workers (POOL_SINGLE, POOL_ASYNC_ONE: one). Aborts when it cannot. */
hostile_pool_t *hostile_pool_create(hostile_kind_t kind, int n);
const dnnl_tp_threadpool_iface_t *hostile_pool_iface(const hostile_pool_t *pool);
const char *hostile_pool_name(hostile_kind_t kind);
/* From now on nothing runs before hostile_pool_unstall; in POOL_STALLED from the beginning. */
void hostile_pool_stall(hostile_pool_t *pool);
/* Where that holds up whoever submits nowhere: hosts that take work and return. */
enum { HOSTILE_STALLABLE = 5 };
extern const hostile_kind_t hostile_stallable[HOSTILE_STALLABLE];
void hostile_pool_unstall(hostile_pool_t *pool);
/* What went wrong on the host's side so far: concurrent callers, dead cookies. */
int hostile_pool_complaints(const hostile_pool_t *pool);
/* Tasks that were accepted and have not been called. */
int hostile_pool_pending(hostile_pool_t *pool);
/* Calls what is queued, then ends the workers. Works after everything of the library is gone. */
void hostile_pool_destroy(hostile_pool_t *pool);

#endif
