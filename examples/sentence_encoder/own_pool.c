/* A thread pool of the program's own: a mutex, a condition variable and a ring of tasks. To run dnnl_tp on a
 * pool you have, fill a dnnl_tp_threadpool_iface_t as se_own_pool_create does: how many threads the library
 * may occupy, and how to hand over one task. The library splits its loops itself: a task that comes late
 * finds nothing left to do, so no task ever needs to run at once, in order, or beside another. */
#include "own_pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "common.h"

enum { RING = 256, LOOK_NS = 50000 };

typedef struct {
    dnnl_tp_task_fn_t fn;
    void *arg;
} task_t;

struct se_own_pool {
    dnnl_tp_threadpool_iface_t iface;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    task_t ring[RING]; /* tasks first .. last - 1, modulo RING */
    unsigned first;
    _Atomic unsigned last; /* written under the lock, read by threads that look for work */
    int stop, num_threads;
    pthread_t thread[];
};

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Looks for another task for about as long as waking a sleeping thread takes: a small run is over by then. */
static void look_for_work(const se_own_pool_t *pool, unsigned seen) {
    int64_t until = now_ns() + LOOK_NS;
    while (atomic_load_explicit(&pool->last, memory_order_relaxed) == seen && now_ns() < until) continue;
}

static void *work(void *ctx) {
    se_own_pool_t *pool = ctx;
    pthread_mutex_lock(&pool->lock);
    for (int worked = 0;; worked = 1) {
        if (worked && pool->first == pool->last && !pool->stop) {
            unsigned seen = pool->last;
            pthread_mutex_unlock(&pool->lock);
            look_for_work(pool, seen);
            pthread_mutex_lock(&pool->lock);
        }
        while (pool->first == pool->last && !pool->stop) pthread_cond_wait(&pool->wake, &pool->lock);
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
    (void)run; /* only pools that use run_begin care which run a task belongs to */
    pthread_mutex_lock(&pool->lock);
    int full = pool->last - pool->first == RING;
    if (!full) {
        pool->ring[pool->last % RING] = (task_t){fn, arg};
        ++pool->last;
    }
    pthread_mutex_unlock(&pool->lock);
    if (!full) pthread_cond_signal(&pool->wake);
    return full;
}

/* The budget: threads that compute for the library at once, the calling thread among them. */
static int get_num_threads(void *ctx) { return ((se_own_pool_t *)ctx)->num_threads; }

const dnnl_tp_threadpool_iface_t *se_own_pool_iface(const se_own_pool_t *pool) { return &pool->iface; }

se_own_pool_t *se_own_pool_create(int threads) {
    if (threads < 1) return NULL;
    se_own_pool_t *pool = se_zalloc(sizeof *pool + (size_t)threads * sizeof *pool->thread);
    if (!pool) return NULL;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pool->iface.struct_size = sizeof pool->iface;
    pool->iface.ctx = pool;
    pool->iface.get_num_threads = get_num_threads;
    pool->iface.schedule = schedule;
    for (; pool->num_threads < threads; ++pool->num_threads) {
        if (!pthread_create(&pool->thread[pool->num_threads], NULL, work, pool)) continue;
        se_own_pool_destroy(pool);
        return NULL;
    }
    return pool;
}

void se_own_pool_destroy(se_own_pool_t *pool) {
    if (!pool) return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = 1;
    pthread_mutex_unlock(&pool->lock);
    pthread_cond_broadcast(&pool->wake);
    for (int i = 0; i < pool->num_threads; ++i) pthread_join(pool->thread[i], NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    se_free(pool);
}
