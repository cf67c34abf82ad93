/* A thread pool of the program's own: a lock, a ring of tasks, a condition variable for each thread. To run
 * dnnl_tp on a pool you have, fill a dnnl_tp_threadpool_iface_t as se_own_pool_create does: how many threads
 * the library may occupy, and how to hand over one task. The library splits its loops itself: a task that
 * comes late finds nothing left to do, so no task ever needs to run at once, in order, or beside another. Two
 * habits make small runs fast: a thread looks for the next task for a moment before it sleeps, and the thread
 * that is woken is one of another CPU than the caller's, where it would have to wait for the caller. */
#include "own_pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "common.h"

enum { RING = 256, LOOK_NS = 50000 }; /* waking a sleeping thread costs about 50 us */

typedef struct {
    dnnl_tp_task_fn_t fn;
    void *arg;
} task_t;

typedef struct {
    se_own_pool_t *pool;
    pthread_t thread;
    pthread_cond_t wake;
    int cpu; /* where it is pinned; -1 = anywhere */
    int asleep;
} worker_t;

struct se_own_pool {
    dnnl_tp_threadpool_iface_t iface;
    pthread_mutex_t lock; /* guards all but what is atomic */
    task_t ring[RING];    /* tasks first .. last - 1, modulo RING */
    unsigned first, looking;
    _Atomic unsigned last;  /* written under the lock; read by threads that look for work */
    _Atomic int caller_cpu; /* of the latest schedule: nobody looks for work there */
    int stop, num_threads;
    worker_t worker[];
};

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Called and left with the lock held. */
static void look_for_work(worker_t *me) {
    se_own_pool_t *pool = me->pool;
    unsigned seen = pool->last;
    ++pool->looking;
    pthread_mutex_unlock(&pool->lock);
    for (int64_t until = now_ns() + LOOK_NS;
         pool->last == seen && me->cpu != pool->caller_cpu && now_ns() < until;)
        continue;
    pthread_mutex_lock(&pool->lock);
    --pool->looking;
}

static void *work(void *ctx) {
    worker_t *me = ctx;
    se_own_pool_t *pool = me->pool;
    pthread_mutex_lock(&pool->lock);
    for (int worked = 0;; worked = 1) {
        if (worked && pool->first == pool->last && !pool->stop) look_for_work(me);
        while (pool->first == pool->last && !pool->stop) {
            me->asleep = 1;
            pthread_cond_wait(&me->wake, &pool->lock);
        }
        me->asleep = 0;
        if (pool->first == pool->last) break; /* stopping, and nothing is queued */
        task_t task = pool->ring[pool->first++ % RING];
        pthread_mutex_unlock(&pool->lock);
        task.fn(task.arg);
        pthread_mutex_lock(&pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* The library asks for help: run fn(arg) once, some time, on any thread. Saying no (non-zero) is allowed; the
 * caller then does the work itself. May be called from any thread, the pool's own included. */
static int schedule(void *ctx, void *run, dnnl_tp_task_fn_t fn, void *arg) {
    se_own_pool_t *pool = ctx;
    worker_t *sleeper = NULL;
    int cpu = sched_getcpu();
    (void)run; /* only pools that use run_begin care which run a task belongs to */
    pthread_mutex_lock(&pool->lock);
    int full = pool->last - pool->first == RING;
    if (!full) {
        pool->ring[pool->last % RING] = (task_t){fn, arg};
        pool->caller_cpu = cpu;
        ++pool->last;
        for (int i = 0; pool->last - pool->first > pool->looking && i < pool->num_threads; ++i)
            if (pool->worker[i].asleep && (!sleeper || sleeper->cpu == cpu)) sleeper = &pool->worker[i];
        if (sleeper) {
            sleeper->asleep = 0; /* the next call wakes another */
            pthread_cond_signal(&sleeper->wake);
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return full;
}

/* The budget: threads that compute for the library at once, the calling thread among them. */
static int get_num_threads(void *ctx) { return ((se_own_pool_t *)ctx)->num_threads; }

const dnnl_tp_threadpool_iface_t *se_own_pool_iface(const se_own_pool_t *pool) { return &pool->iface; }

/* One thread per CPU when there are as many of both; otherwise the system places them. */
static int place(worker_t *w, const cpu_set_t *cpus, int cpu) {
    pthread_attr_t attr;
    cpu_set_t one;
    CPU_ZERO(&one);
    if (cpu >= 0) CPU_SET(cpu, &one);
    w->cpu = cpu;
    pthread_attr_init(&attr);
    pthread_attr_setaffinity_np(&attr, sizeof one, cpu >= 0 ? &one : cpus);
    int failed = pthread_create(&w->thread, &attr, work, w);
    pthread_attr_destroy(&attr);
    return failed;
}

se_own_pool_t *se_own_pool_create(int threads) {
    if (threads < 1) return NULL;
    se_own_pool_t *pool = se_zalloc(sizeof *pool + (size_t)threads * sizeof *pool->worker);
    if (!pool) return NULL;
    pthread_mutex_init(&pool->lock, NULL);
    pool->caller_cpu = -2;
    pool->iface.struct_size = sizeof pool->iface;
    pool->iface.ctx = pool;
    pool->iface.get_num_threads = get_num_threads;
    pool->iface.schedule = schedule;
    cpu_set_t cpus;
    int pin = !sched_getaffinity(0, sizeof cpus, &cpus) && CPU_COUNT(&cpus) == threads, cpu = -1;
    for (; pool->num_threads < threads; ++pool->num_threads) {
        worker_t *w = &pool->worker[pool->num_threads];
        w->pool = pool;
        pthread_cond_init(&w->wake, NULL);
        while (pin && !CPU_ISSET(++cpu, &cpus)) continue;
        if (!place(w, &cpus, cpu)) continue;
        pthread_cond_destroy(&w->wake);
        se_own_pool_destroy(pool);
        return NULL;
    }
    return pool;
}

void se_own_pool_destroy(se_own_pool_t *pool) {
    if (!pool) return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = 1;
    for (int i = 0; i < pool->num_threads; ++i) pthread_cond_signal(&pool->worker[i].wake);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->num_threads; ++i) {
        pthread_join(pool->worker[i].thread, NULL);
        pthread_cond_destroy(&pool->worker[i].wake);
    }
    pthread_mutex_destroy(&pool->lock);
    se_free(pool);
}
