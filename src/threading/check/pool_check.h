/* Inside of dnnl_tp_pool_check: what its tests share. pool_check.c drives them and writes the
 * report, pool_check_tests.c holds them. The check is a library of its own, which calls the main
 * one through its public functions; of src it uses inline functions only. */
#ifndef DTP_THREADING_CHECK_POOL_CHECK_H
#define DTP_THREADING_CHECK_POOL_CHECK_H

#include <pthread.h>

#include "dnnl_tp/dnnl_tp_pool_check.h"
#include "threading/base/futex.h"

/* Threads to check with are started only where the library starts some itself. */
#define DTP_CHECK_HAS_THREADS (DNNL_TP_CPU_RUNTIME == DNNL_TP_RUNTIME_THREADPOOL)

typedef struct dtp_check dtp_check_t;

/* One burst of tasks or jobs. It lives until the end of the check, or for ever if the pool broke a
 * promise, because calls may then still come. */
typedef struct dtp_batch {
    dtp_check_t *check;
    struct dtp_batch *next;
    int n;
    int work_ns; /* of each call; < 0: each call holds until `let_go`, or that long */
    _Atomic int let_go;
    _Atomic int started, ended; /* calls with a right argument */
    _Atomic int wrong;          /* calls with an argument, index or count that was not passed */
    _Atomic int wrong_n, seen_n;
    _Atomic int inside, most;
    _Atomic int not_in_parallel;
    struct dtp_batch *before; /* all of it must have ended; violations are counted in early */
    _Atomic int early;
    int depth; /* nested calls to make from each call */
    bool nested_loops;
    int floods;    /* tasks to schedule from each call */
    int slow_last; /* ns that the last call sleeps */
    bool ends_run; /* each call ends the run */
    /* The thread that gave the task which ends a run; schedule has come back to it. */
    pthread_t giver;
    _Atomic int given;
    void *run;
    _Atomic int done, came_back;
    struct dtp_check_node {
        struct dtp_batch *batch;
        _Atomic int calls;
        int accepted; /* 1 accepted, 0 refused */
    } node[];
} dtp_batch_t;

struct dtp_check {
    struct dtp_check *next;           /* left behind by an earlier check */
    dnnl_tp_threadpool_iface_t iface; /* without release */
    uint64_t flags;
    int threads;                /* as the pool says; at least 1, at most DTP_CHECK_THREADS */
    const char *volatile phase; /* name of the violation if the pool does not come back from here */
    const char *volatile how;   /* how to reproduce it */
    _Atomic uint32_t progress;  /* every call that comes */
    _Atomic uint32_t finished;  /* the test that runs has returned */
    _Atomic int violations;
    _Atomic int promised, kept; /* calls, of all batches */
    pthread_mutex_t lock;       /* guards what follows */
    size_t used;
    char text[4096];
};

/* Batches of all checks, those that outlived a broken pool's check included. */
extern dtp_batch_t *dtp_check_batches;
extern pthread_mutex_t dtp_check_batches_lock;

enum {
    DTP_CHECK_THREADS = 8,
    DTP_CHECK_SLICE_NS = 20000000,
    DTP_CHECK_PATIENCE = 60, /* slices without progress until something counts as lost: 1.2 s */
    DTP_CHECK_GRACE_NS = 5000000
};

void dtp_check_say(dtp_check_t *c, const char *kind, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
#define dtp_check_violation(c, name, ...) \
    (atomic_fetch_add(&(c)->violations, 1), dtp_check_say(c, "violated", name, __VA_ARGS__))
#define dtp_check_note(c, name, ...) dtp_check_say(c, "note", name, __VA_ARGS__)
/* Sets what a call that does not return means. */
static inline void dtp_check_phase(dtp_check_t *c, const char *name, const char *how) {
    c->phase = name;
    c->how = how;
}
/* NULL when memory is out (noted). */
dtp_batch_t *dtp_check_batch(dtp_check_t *c, int n, int work_ns);
/* Waits for *counter >= target while anything moves. */
bool dtp_check_settle(dtp_check_t *c, _Atomic int *counter, int target);
void dtp_check_sleep(int64_t ns);

/* The functions that a batch gives to the pool. */
void dtp_check_task(void *node);
void dtp_check_job(void *batch, int i, int n);

/* Tests; each runs on a thread of its own. */
void dtp_check_tasks(dtp_check_t *c);
void dtp_check_loops(dtp_check_t *c);
void dtp_check_callers(dtp_check_t *c);
void dtp_check_nested(dtp_check_t *c);
void dtp_check_saturation(dtp_check_t *c);
void dtp_check_order(dtp_check_t *c);
void dtp_check_wait(dtp_check_t *c);
void dtp_check_runs(dtp_check_t *c);

#endif
