/* See hostile_pools.h. One mutex, one queue: simple on purpose. */
#include "support/hostile_pools.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct loop {
    dnnl_tp_chunk_fn_t fn;
    void *arg;
    int n, left; /* left: under the mutex */
    bool on_stack;
} loop_t;

typedef struct task {
    struct task *next, *prev;
    dnnl_tp_task_fn_t fn;
    void *arg;
    loop_t *loop; /* or a job of a loop */
    int index;
} task_t;

struct hostile_pool {
    dnnl_tp_threadpool_iface_t iface;
    hostile_kind_t kind;
    int n, workers;
    uint64_t flags;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    task_t *first, *last;
    int pending;
    loop_t *current; /* IN_ORDER: the loop whose jobs may run */
    bool stop, stalled;
    unsigned seed, calls;
    pthread_t *thread;
    _Atomic int inside, complaints;
    _Atomic int live_runs;
};

static const char *const names[POOL_KINDS] = {"fifo",
                                              "lifo",
                                              "late",
                                              "single",
                                              "inline",
                                              "refuse",
                                              "refuse_some",
                                              "lies_zero",
                                              "lies_one",
                                              "lies_thousand",
                                              "lies_negative",
                                              "single_caller",
                                              "runs",
                                              "stalled",
                                              "async_schedule",
                                              "loop",
                                              "loop_idle_caller",
                                              "loop_serial",
                                              "loop_refuse",
                                              "loop_single_caller",
                                              "async_in_order",
                                              "async_unordered",
                                              "async_one",
                                              "async_refuse"};

const char *hostile_pool_name(hostile_kind_t kind) { return names[kind]; }
const dnnl_tp_threadpool_iface_t *hostile_pool_iface(const hostile_pool_t *pool) { return &pool->iface; }
int hostile_pool_complaints(const hostile_pool_t *pool) { return atomic_load(&pool->complaints); }

static bool newest_first(hostile_kind_t kind) {
    return kind == POOL_LIFO || kind == POOL_ASYNC_UNORDERED || kind == POOL_ASYNC_ONE;
}

/* ---- Queue, under the mutex -------------------------------------------------------------------------- */

static void push(hostile_pool_t *p, task_t *task) {
    task->next = NULL;
    task->prev = p->last;
    if (p->last) p->last->next = task;
    else p->first = task;
    p->last = task;
    ++p->pending;
}

static task_t *pop(hostile_pool_t *p, const loop_t *only) {
    if (p->stalled && !p->stop) return NULL;
    task_t *task = newest_first(p->kind) ? p->last : p->first;
    if (p->flags & DNNL_TP_THREADPOOL_IN_ORDER) {
        if (task && p->current && task->loop != p->current)
            return NULL; /* the loop before has jobs in flight */
        if (task) p->current = task->loop;
    }
    while (only && task && task->loop != only) task = newest_first(p->kind) ? task->prev : task->next;
    if (!task) return NULL;
    *(task->prev ? &task->prev->next : &p->first) = task->next;
    *(task->next ? &task->next->prev : &p->last) = task->prev;
    --p->pending;
    return task;
}

static void execute(hostile_pool_t *p, task_t *task) { /* called and left with the mutex held */
    unsigned delay = p->kind == POOL_LATE ? (p->seed = p->seed * 1103515245u + 12345u) >> 16 & 1023u : 0;
    pthread_mutex_unlock(&p->mutex);
    if (delay) usleep(delay);
    loop_t *loop = task->loop;
    if (loop) loop->fn(loop->arg, task->index, loop->n);
    else task->fn(task->arg);
    free(task);
    pthread_mutex_lock(&p->mutex);
    if (loop && --loop->left == 0) {
        if (p->current == loop) p->current = NULL;
        if (!loop->on_stack) free(loop);
        pthread_cond_broadcast(&p->changed);
    }
}

static void *worker(void *arg) {
    hostile_pool_t *p = arg;
    pthread_mutex_lock(&p->mutex);
    for (;;) {
        task_t *task = pop(p, NULL);
        if (task) execute(p, task);
        else if (p->stop && !p->first) break;
        else pthread_cond_wait(&p->changed, &p->mutex);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

/* ---- Members of the interface ------------------------------------------------------------------------ */

static int get_num_threads(void *ctx) {
    hostile_pool_t *p = ctx;
    switch (p->kind) {
    case POOL_LIES_ZERO: return 0;
    case POOL_LIES_ONE: return 1;
    case POOL_LIES_THOUSAND: return 1000;
    case POOL_LIES_NEGATIVE: return -1;
    default: return p->n;
    }
}
static uint64_t get_flags(void *ctx) { return ((hostile_pool_t *)ctx)->flags; }

static void enter(hostile_pool_t *p) {
    if (atomic_fetch_add(&p->inside, 1) && (p->flags & DNNL_TP_THREADPOOL_SINGLE_CALLER))
        atomic_fetch_add(&p->complaints, 1);
}
static void leave(hostile_pool_t *p) { atomic_fetch_sub(&p->inside, 1); }

static task_t *new_task(void) {
    task_t *task = calloc(1, sizeof(*task));
    if (!task) abort();
    return task;
}

static int schedule(void *ctx, void *run, dnnl_tp_task_fn_t fn, void *arg) {
    hostile_pool_t *p = ctx;
    if (p->kind == POOL_RUNS && run && *(int *)run != 1) atomic_fetch_add(&p->complaints, 1);
    if (p->kind == POOL_REFUSE) return -1;
    if (p->kind == POOL_INLINE) {
        fn(arg);
        return 0;
    }
    enter(p);
    pthread_mutex_lock(&p->mutex);
    bool refuse = p->kind == POOL_REFUSE_SOME && ++p->calls % 2;
    if (!refuse) {
        task_t *task = new_task();
        task->fn = fn;
        task->arg = arg;
        push(p, task);
        pthread_cond_signal(&p->changed);
    }
    pthread_mutex_unlock(&p->mutex);
    leave(p);
    return refuse ? -1 : 0;
}

static int parallel_for(void *ctx, int n, dnnl_tp_chunk_fn_t fn, void *arg) {
    hostile_pool_t *p = ctx;
    if (p->kind == POOL_LOOP_REFUSE || p->kind == POOL_ASYNC_REFUSE) return 1;
    if (p->kind == POOL_LOOP_SERIAL) {
        for (int i = n - 1; i >= 0; --i) fn(arg, i, n);
        return 0;
    }
    enter(p);
    bool async = p->flags & DNNL_TP_THREADPOOL_ASYNCHRONOUS;
    loop_t here = {fn, arg, n, n, true}, *loop = &here;
    if (async) {
        loop = malloc(sizeof(*loop));
        if (!loop) abort();
        *loop = here;
        loop->on_stack = false;
    }
    pthread_mutex_lock(&p->mutex);
    for (int i = 0; i < n; ++i) {
        task_t *task = new_task();
        task->loop = loop;
        task->index = i;
        push(p, task);
    }
    pthread_cond_broadcast(&p->changed);
    while (!async && loop->left > 0) {
        task_t *task = p->kind == POOL_LOOP_IDLE_CALLER ? NULL : pop(p, loop);
        if (task) execute(p, task);
        else pthread_cond_wait(&p->changed, &p->mutex);
    }
    pthread_mutex_unlock(&p->mutex);
    leave(p);
    return 0;
}

static int run_begin(void *ctx, uint64_t id, void **run) {
    hostile_pool_t *p = ctx;
    (void)id;
    int *cookie = malloc(sizeof(*cookie));
    if (!cookie) return 1;
    enter(p);
    *cookie = 1;
    atomic_fetch_add(&p->live_runs, 1);
    *run = cookie;
    leave(p);
    return 0;
}
static void run_end(void *ctx, void *run, int status, int may_block, dnnl_tp_task_fn_t done, void *done_arg) {
    hostile_pool_t *p = ctx;
    (void)status, (void)may_block;
    enter(p);
    if (*(int *)run != 1) atomic_fetch_add(&p->complaints, 1);
    *(int *)run = 0;
    free(run);
    atomic_fetch_sub(&p->live_runs, 1);
    done(done_arg);
    leave(p);
}

/* ---- Life -------------------------------------------------------------------------------------------- */

hostile_pool_t *hostile_pool_create(hostile_kind_t kind, int n) {
    hostile_pool_t *p = calloc(1, sizeof(*p));
    if (!p) abort();
    p->kind = kind;
    p->n = n;
    bool has_loop = kind >= POOL_LOOP;
    p->iface = (dnnl_tp_threadpool_iface_t){.struct_size = sizeof(p->iface),
                                            .ctx = p,
                                            .get_num_threads = get_num_threads,
                                            .get_flags = get_flags};
    if (has_loop) p->iface.parallel_for = parallel_for;
    else p->iface.schedule = schedule;
    if (kind == POOL_RUNS || kind == POOL_SINGLE_CALLER || kind == POOL_LOOP_SINGLE_CALLER) {
        p->iface.run_begin = run_begin;
        p->iface.run_end = run_end;
    }
    if (kind == POOL_SINGLE_CALLER || kind == POOL_LOOP_SINGLE_CALLER)
        p->flags |= DNNL_TP_THREADPOOL_SINGLE_CALLER;
    if (kind == POOL_LOOP) p->flags |= DNNL_TP_THREADPOOL_NESTABLE | DNNL_TP_THREADPOOL_CALLER_WORKS;
    if (kind == POOL_ASYNC_SCHEDULE || (kind >= POOL_ASYNC_IN_ORDER && kind < POOL_KINDS))
        p->flags |= DNNL_TP_THREADPOOL_ASYNCHRONOUS;
    if (kind == POOL_ASYNC_IN_ORDER) p->flags |= DNNL_TP_THREADPOOL_IN_ORDER;
    p->stalled = kind == POOL_STALLED;
    p->seed = 1;
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->changed, NULL);
    p->workers = kind == POOL_SINGLE || kind == POOL_ASYNC_ONE ? 1 : n;
    p->thread = calloc((size_t)p->workers, sizeof(*p->thread));
    if (!p->thread) abort();
    for (int i = 0; i < p->workers; ++i)
        if (pthread_create(&p->thread[i], NULL, worker, p)) abort();
    return p;
}

const hostile_kind_t hostile_stallable[HOSTILE_STALLABLE] = {
    POOL_STALLED, POOL_ASYNC_SCHEDULE, POOL_ASYNC_IN_ORDER, POOL_ASYNC_UNORDERED, POOL_ASYNC_ONE};

static void set_stalled(hostile_pool_t *p, bool stalled) {
    pthread_mutex_lock(&p->mutex);
    p->stalled = stalled;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->mutex);
}
void hostile_pool_stall(hostile_pool_t *p) { set_stalled(p, true); }
void hostile_pool_unstall(hostile_pool_t *p) { set_stalled(p, false); }

int hostile_pool_pending(hostile_pool_t *p) {
    pthread_mutex_lock(&p->mutex);
    int pending = p->pending;
    pthread_mutex_unlock(&p->mutex);
    return pending;
}

void hostile_pool_destroy(hostile_pool_t *p) {
    pthread_mutex_lock(&p->mutex);
    p->stop = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->mutex);
    for (int i = 0; i < p->workers; ++i) pthread_join(p->thread[i], NULL);
    pthread_mutex_destroy(&p->mutex);
    pthread_cond_destroy(&p->changed);
    free(p->thread);
    free(p);
}
