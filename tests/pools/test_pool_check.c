/* dnnl_tp_pool_check on pools that are broken on purpose, each in one way: the right promise is named, and no
 * check hangs. And on every good pool there is: no promise is called broken. */
#include "support/check.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dnnl_tp/dnnl_tp_pool_check.h"
#include "support/hostile_pools.h"

/* ---- A small pool with a fault ----------------------------------------------------------------------- */

typedef enum {
    FAULT_NONE,
    FAULT_DROPS,            /* every 7th task is thrown away */
    FAULT_TWICE,            /* every 7th task is called twice */
    FAULT_REFUSES_AND_RUNS, /* says no after it took the task */
    FAULT_WRONG_ARGUMENT,   /* passes the address of its own task */
    FAULT_BLOCKS_WHEN_FULL, /* a queue of 16: schedule waits for room */
    FAULT_ONE_SLOT,         /* callers write their task into one place */
    FAULT_LAST_JOB,         /* n - 1 jobs */
    FAULT_ONE_JOB_MORE,     /* n + 1 jobs */
    FAULT_RANGE,            /* calls fn(arg, i, jobs per thread) */
    FAULT_RETURNS_EARLY,    /* parallel_for does not wait */
    FAULT_REFUSED_LOOP_RUNS,
    FAULT_NESTED_HANGS, /* says NESTABLE, holds a lock while the loop runs */
    FAULT_IN_PARALLEL,  /* a loop per process, get_in_parallel always 0 */
    FAULT_ORDER,        /* asynchronous; says IN_ORDER and overlaps loops */
    FAULT_WAIT_EARLY,   /* wait looks at the queue only, not at what runs */
    FAULT_WAIT_AT_ONCE, /* wait without a timeout only looks */
    FAULT_WAIT_FOR_EVER,
    FAULT_WAIT_NO_TIMEOUT,
    FAULT_DONE_LOST,
    FAULT_DONE_TWICE,
    FAULT_RUN_END_BLOCKS, /* joins the run's tasks whatever may_block says */
    FAULT_STRUCT_SIZE,
    FAULT_NO_MEMBERS,
    FAULT_FLAGS,
    FAULTS
} fault_t;

static const char *const expected[FAULTS] = {[FAULT_DROPS] = "task_lost",
                                             [FAULT_TWICE] = "task_twice",
                                             [FAULT_REFUSES_AND_RUNS] = "refused_task_called",
                                             [FAULT_WRONG_ARGUMENT] = "wrong_argument",
                                             [FAULT_BLOCKS_WHEN_FULL] = "schedule_blocks_when_full",
                                             [FAULT_ONE_SLOT] = "not_thread_safe",
                                             [FAULT_LAST_JOB] = "job_lost",
                                             [FAULT_ONE_JOB_MORE] = "job_outside",
                                             [FAULT_RANGE] = "wrong_n",
                                             [FAULT_RETURNS_EARLY] = "returned_early",
                                             [FAULT_REFUSED_LOOP_RUNS] = "refused_loop_ran",
                                             [FAULT_NESTED_HANGS] = "nested_loop_hangs",
                                             [FAULT_IN_PARALLEL] = "in_parallel_wrong",
                                             [FAULT_ORDER] = "out_of_order",
                                             [FAULT_WAIT_EARLY] = "wait_says_idle",
                                             [FAULT_WAIT_AT_ONCE] = "wait_returns_early",
                                             [FAULT_WAIT_FOR_EVER] = "wait_hangs",
                                             [FAULT_WAIT_NO_TIMEOUT] = "wait_ignores_timeout",
                                             [FAULT_DONE_LOST] = "done_not_called",
                                             [FAULT_DONE_TWICE] = "done_twice",
                                             [FAULT_RUN_END_BLOCKS] = "run_end_blocks",
                                             [FAULT_STRUCT_SIZE] = "struct_size",
                                             [FAULT_NO_MEMBERS] = "members",
                                             [FAULT_FLAGS] = "unknown_flags"};

typedef struct {
    dnnl_tp_chunk_fn_t fn;
    void *arg;
    int n, left;
    bool on_heap;
} loop_t;
typedef struct {
    dnnl_tp_task_fn_t fn;
    void *arg;
    loop_t *loop;
    int i, n;
    int *run; /* tasks of it that have not ended */
    bool lost;
} task_t;
enum { RUNS = 64, THREADS = 3, RING = 65536, SMALL_RING = 16 };
typedef struct {
    fault_t fault;
    pthread_mutex_t mutex, loop_mutex;
    pthread_cond_t changed;
    task_t ring[RING];
    unsigned first, last, count;
    int running;
    bool stop;
    task_t slot;
    int run[RUNS];
    unsigned runs;
    pthread_t thread[THREADS];
} pool_t;

static void run_task(pool_t *p, task_t t) { /* under the mutex */
    ++p->running;
    pthread_mutex_unlock(&p->mutex);
    if (t.loop) t.loop->fn(t.loop->arg, t.i, t.n);
    else if (t.fn && !t.lost) t.fn(t.arg);
    pthread_mutex_lock(&p->mutex);
    --p->running;
    if (t.loop && --t.loop->left == 0 && t.loop->on_heap) free(t.loop);
    if (t.run) --*t.run;
    pthread_cond_broadcast(&p->changed);
}
static void *worker(void *arg) {
    pool_t *p = arg;
    pthread_mutex_lock(&p->mutex);
    for (;;) {
        while (p->first == p->last && !p->stop) pthread_cond_wait(&p->changed, &p->mutex);
        if (p->first == p->last) break;
        task_t t = p->ring[p->first++ % RING];
        pthread_cond_broadcast(&p->changed);
        run_task(p, t);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}
static void push(pool_t *p, task_t t) {
    while (p->fault == FAULT_BLOCKS_WHEN_FULL && p->last - p->first >= SMALL_RING)
        pthread_cond_wait(&p->changed, &p->mutex);
    if (p->last - p->first == RING) abort();
    p->ring[p->last++ % RING] = t;
    pthread_cond_broadcast(&p->changed);
}

static int schedule(void *ctx, void *run, dnnl_tp_task_fn_t fn, void *arg) {
    pool_t *p = ctx;
    task_t t = {.fn = fn, .arg = arg, .run = run};
    if (p->fault == FAULT_ONE_SLOT) {
        pthread_mutex_lock(&p->mutex);
        p->slot = t;
        pthread_mutex_unlock(&p->mutex);
        sched_yield();
        pthread_mutex_lock(&p->mutex);
        t = p->slot;
        pthread_mutex_unlock(&p->mutex);
    }
    pthread_mutex_lock(&p->mutex);
    bool seventh = ++p->count % 7 == 0;
    t.lost = seventh && p->fault == FAULT_DROPS;
    if (p->fault == FAULT_WRONG_ARGUMENT && seventh) t.arg = p;
    if (run) ++*(int *)run;
    push(p, t);
    if (seventh && p->fault == FAULT_TWICE) push(p, t);
    pthread_mutex_unlock(&p->mutex);
    return seventh && p->fault == FAULT_REFUSES_AND_RUNS;
}

static int parallel_for(void *ctx, int n, dnnl_tp_chunk_fn_t fn, void *arg) {
    pool_t *p = ctx;
    bool async = p->fault == FAULT_ORDER || p->fault == FAULT_RETURNS_EARLY;
    loop_t here = {fn, arg, n, n, async}, *loop = async ? malloc(sizeof *loop) : &here;
    *loop = here;
    if (p->fault == FAULT_NESTED_HANGS || p->fault == FAULT_IN_PARALLEL) pthread_mutex_lock(&p->loop_mutex);
    int begin = 0, end = n + (p->fault == FAULT_ONE_JOB_MORE) - (p->fault == FAULT_LAST_JOB);
    if (p->fault == FAULT_REFUSED_LOOP_RUNS) end = (n + 1) / 2;
    pthread_mutex_lock(&p->mutex);
    loop->left = end;
    for (int i = begin; i < end; ++i)
        push(p,
             (task_t){.loop = loop, .i = i, .n = p->fault == FAULT_RANGE ? (n + THREADS - 1) / THREADS : n});
    while (!async && loop->left > 0) {
        if (p->first != p->last) run_task(p, p->ring[p->first++ % RING]);
        else pthread_cond_wait(&p->changed, &p->mutex);
    }
    pthread_mutex_unlock(&p->mutex);
    if (p->fault == FAULT_NESTED_HANGS || p->fault == FAULT_IN_PARALLEL) pthread_mutex_unlock(&p->loop_mutex);
    return p->fault == FAULT_REFUSED_LOOP_RUNS;
}

static int get_num_threads(void *ctx) {
    (void)ctx;
    return THREADS;
}
static int never_in_parallel(void *ctx) {
    (void)ctx;
    return 0;
}
static uint64_t get_flags(void *ctx) {
    switch (((pool_t *)ctx)->fault) {
    case FAULT_NESTED_HANGS: return DNNL_TP_THREADPOOL_NESTABLE;
    case FAULT_ORDER: return DNNL_TP_THREADPOOL_ASYNCHRONOUS | DNNL_TP_THREADPOOL_IN_ORDER;
    case FAULT_FLAGS: return 1u << 20;
    default: return 0;
    }
}
static int wait_idle(void *ctx, int64_t timeout_ns) {
    pool_t *p = ctx;
    if (p->fault == FAULT_WAIT_NO_TIMEOUT && timeout_ns > 0) usleep(1500000);
    pthread_mutex_lock(&p->mutex);
    int idle = p->first == p->last && (p->running == 0 || p->fault == FAULT_WAIT_EARLY);
    while (timeout_ns < 0 && p->fault != FAULT_WAIT_AT_ONCE && (!idle || p->fault == FAULT_WAIT_FOR_EVER)) {
        pthread_cond_wait(&p->changed, &p->mutex);
        idle = p->first == p->last && (p->running == 0 || p->fault == FAULT_WAIT_EARLY);
    }
    pthread_mutex_unlock(&p->mutex);
    return idle || (timeout_ns < 0 && p->fault == FAULT_WAIT_AT_ONCE) ? 0 : 1;
}
static int run_begin(void *ctx, uint64_t id, void **run) {
    (void)id;
    pool_t *p = ctx;
    pthread_mutex_lock(&p->mutex);
    *run = &p->run[p->runs++ % RUNS]; /* 0: the one before in this place has ended */
    pthread_mutex_unlock(&p->mutex);
    return 0;
}
static void run_end(void *ctx, void *run, int status, int may_block, dnnl_tp_task_fn_t done, void *done_arg) {
    pool_t *p = ctx;
    (void)status;
    pthread_mutex_lock(&p->mutex);
    while ((may_block || p->fault == FAULT_RUN_END_BLOCKS) && *(int *)run > 0)
        pthread_cond_wait(&p->changed, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
    if (p->fault != FAULT_DONE_LOST) done(done_arg);
    if (p->fault == FAULT_DONE_TWICE) done(done_arg);
}

static pool_t *pool_create(fault_t fault, dnnl_tp_threadpool_iface_t *iface) {
    pool_t *p = calloc(1, sizeof *p);
    p->fault = fault;
    pthread_mutex_init(&p->mutex, NULL);
    pthread_mutex_init(&p->loop_mutex, NULL);
    pthread_cond_init(&p->changed, NULL);
    for (int i = 0; i < THREADS; ++i)
        if (pthread_create(&p->thread[i], NULL, worker, p)) abort();
    *iface = (dnnl_tp_threadpool_iface_t){
        .struct_size = sizeof *iface, .ctx = p, .get_num_threads = get_num_threads, .get_flags = get_flags};
    bool form_p = fault >= FAULT_LAST_JOB && fault <= FAULT_ORDER;
    if (form_p) iface->parallel_for = parallel_for;
    else iface->schedule = schedule;
    if (fault == FAULT_IN_PARALLEL) iface->get_in_parallel = never_in_parallel;
    if (fault == FAULT_NONE || (fault >= FAULT_WAIT_EARLY && fault <= FAULT_WAIT_NO_TIMEOUT))
        iface->wait = wait_idle;
    if (fault == FAULT_NONE || (fault >= FAULT_DONE_LOST && fault <= FAULT_RUN_END_BLOCKS)) {
        iface->run_begin = run_begin;
        iface->run_end = run_end;
    }
    if (fault == FAULT_STRUCT_SIZE) iface->struct_size = 16;
    if (fault == FAULT_NO_MEMBERS) iface->schedule = NULL;
    return p;
}

/* ---- Tests ------------------------------------------------------------------------------------------- */

/* What is wrong with the check of a pool with this fault; prints it. */
static int check_fault(fault_t fault) {
    dnnl_tp_threadpool_iface_t iface;
    char report[4096], line[64];
    pool_create(fault, &iface); /* stays: the check may have left threads inside */
    dnnl_tp_status_t status = dnnl_tp_pool_check(&iface, 0, report, sizeof report);
    snprintf(line, sizeof line, "violated: %s: ", expected[fault]);
    int wrong = status != dnnl_tp_runtime_error || !strstr(report, line);
    /* Nothing else is blamed, and it is told how to see it again. */
    for (const char *at = report; (at = strstr(at, "violated: ")); ++at)
        wrong += strncmp(at, line, strlen(line)) != 0;
    wrong += fault < FAULT_STRUCT_SIZE && !strstr(report, "reproduce: ");
    if (wrong)
        fprintf(stderr, "fault %d: wanted '%s', got status %x and\n%s", (int)fault, line, (unsigned)status,
                report);
    return wrong;
}

/* Each in a process of its own and all at once: most of the time is waiting for what never comes. */
static void every_fault_is_named(void **state) {
    (void)state;
    pid_t child[FAULTS];
    int wrong = 0;
    fflush(NULL);
    for (int f = FAULT_NONE + 1; f < FAULTS; ++f) {
        child[f] = fork();
        assert_true(child[f] >= 0);
        if (child[f] == 0) {
            alarm(270);
            _exit(check_fault((fault_t)f) != 0);
        }
    }
    for (int f = FAULT_NONE + 1; f < FAULTS; ++f) {
        int status;
        assert_int_equal(waitpid(child[f], &status, 0), child[f]);
        wrong += !WIFEXITED(status) || WEXITSTATUS(status);
    }
    assert_int_equal(wrong, 0);
}

static void good_pools_pass(void **state) {
    (void)state;
    char report[4096];
    for (int kind = 0; kind < POOL_KINDS; ++kind) {
        hostile_pool_t *pool = hostile_pool_create((hostile_kind_t)kind, 3);
        hostile_pool_unstall(pool);
        if (dnnl_tp_pool_check(hostile_pool_iface(pool), 0, report, sizeof report) != dnnl_tp_success)
            fail_msg("%s:\n%s", hostile_pool_name((hostile_kind_t)kind), report);
        const int complaints = hostile_pool_complaints(pool);
        if (complaints)
            fail_msg("%s: %d complaints of the pool", hostile_pool_name((hostile_kind_t)kind), complaints);
        hostile_pool_destroy(pool);
    }
    dnnl_tp_threadpool_iface_t iface;
    pool_t *p = pool_create(FAULT_NONE, &iface);
    if (dnnl_tp_pool_check(&iface, 0, report, sizeof report)) fail_msg("%s", report);
    pthread_mutex_lock(&p->mutex);
    p->stop = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->mutex);
    for (int i = 0; i < THREADS; ++i) pthread_join(p->thread[i], NULL);
    free(p);
    dnnl_tp_threadpool_t builtin;
    const dnnl_tp_threadpool_iface_t *own;
    dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof opts, .num_threads = 3};
    CHECK_OK(dnnl_tp_threadpool_create(&builtin, &opts));
    CHECK_OK(dnnl_tp_threadpool_get_iface(builtin, &own));
    if (dnnl_tp_pool_check(own, 0, report, sizeof report)) fail_msg("the built-in pool:\n%s", report);
    CHECK_OK(dnnl_tp_threadpool_destroy(builtin));
}

static void arguments(void **state) {
    (void)state;
    hostile_pool_t *pool = hostile_pool_create(POOL_FIFO, 2);
    const dnnl_tp_threadpool_iface_t *iface = hostile_pool_iface(pool);
    char small[8] = "xxxxxxx";
    CHECK_STATUS(dnnl_tp_pool_check(NULL, 0, NULL, 0), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_pool_check(iface, 1u << 20, NULL, 0), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_pool_check(iface, 0, NULL, 8), dnnl_tp_invalid_arguments);
    CHECK_OK(dnnl_tp_pool_check(iface, DNNL_TP_POOL_CHECK_TASKS, NULL, 0));
    CHECK_OK(dnnl_tp_pool_check(iface, DNNL_TP_POOL_CHECK_TASKS, small, sizeof small));
    assert_true(strlen(small) < sizeof small);
    hostile_pool_destroy(pool);
}

int main(void) {
    alarm(
        290); /* no watchdog: children of a process with threads may start none under the thread sanitizer */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_is_named), /* first: it forks */
        cmocka_unit_test(arguments),
        cmocka_unit_test(good_pools_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
