/* What a library for pool_check looks like: the pool of the sentence encoder, and the same with a fault. */
#include <stdlib.h>

#include "own_pool.h"

__attribute__((visibility("default"))) const dnnl_tp_threadpool_iface_t *make_pool(int threads);
__attribute__((visibility("default"))) const dnnl_tp_threadpool_iface_t *make_broken_pool(int threads);

const dnnl_tp_threadpool_iface_t *make_pool(int threads) {
    se_own_pool_t *pool = se_own_pool_create(threads);
    return pool ? se_own_pool_iface(pool) : NULL;
}

static const dnnl_tp_threadpool_iface_t *real;
static int schedule_or_forget(void *ctx, void *run, dnnl_tp_task_fn_t fn, void *arg) {
    static unsigned count;
    if (__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) % 5 == 0) return 0; /* taken, never called */
    return real->schedule(ctx, run, fn, arg);
}
const dnnl_tp_threadpool_iface_t *make_broken_pool(int threads) {
    static dnnl_tp_threadpool_iface_t broken;
    real = make_pool(threads);
    if (!real) return NULL;
    broken = *real;
    broken.schedule = schedule_or_forget;
    return &broken;
}
