/* Pools that several users share by name. See named_pool.h.
 *
 * One list under one lock, which is held while a pool is made, so that two first users get one pool. */
#include "threading/pools/named_pool.h"

#include "threading/base/topology.h"
#include "threading/base/futex.h"

struct dtp_named_pool {
    dtp_named_pool_t *next;
    dnnl_tp_threadpool_t pool;
    int num_threads, blocking_threads, refs; /* refs: under the lock; private pools are not in the list */
    bool shared;
    char name[];
};

static dtp_lock_t registry_lock;
static dtp_named_pool_t *registry;

static dnnl_tp_status_t make(dtp_named_pool_t **pool, const char *name, int num_threads,
                             int blocking_threads) {
    size_t size = sizeof(dtp_named_pool_t) + (name ? strlen(name) : 0) + 1;
    dtp_named_pool_t *p = dtp_zalloc(NULL, size, 0);
    if (!p) return dtp_no_memory(size);
    p->num_threads = num_threads;
    p->blocking_threads = blocking_threads;
    p->refs = 1;
    p->shared = name != NULL;
    memcpy(p->name, name ? name : "", size - sizeof(*p));
    dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof(opts),
                                      .num_threads = num_threads,
                                      .blocking_threads = blocking_threads,
                                      .name = p->name[0] ? p->name : NULL};
    dnnl_tp_status_t status = dnnl_tp_threadpool_create(&p->pool, &opts);
    if (status != dnnl_tp_success) {
        dtp_free(NULL, p);
        return status;
    }
    *pool = p;
    return dnnl_tp_success;
}

static void drop(dtp_named_pool_t *pool) {
    (void)dnnl_tp_threadpool_destroy(pool->pool);
    dtp_free(NULL, pool);
}

/* Under the lock. The pool with this name, with one more reference, or NULL. */
static dnnl_tp_status_t find(dtp_named_pool_t **pool, const char *name, int num_threads,
                             int blocking_threads) {
    *pool = NULL;
    for (dtp_named_pool_t *p = registry; p; p = p->next) {
        if (strcmp(p->name, name)) continue;
        DTP_REQUIRE(p->num_threads == num_threads, BAD_COUNT, "pool '%s' has %d threads, wanted are %d", name,
                    p->num_threads, num_threads);
        DTP_REQUIRE(p->blocking_threads >= blocking_threads, BAD_COUNT,
                    "pool '%s' has %d blocking threads, wanted are %d", name, p->blocking_threads,
                    blocking_threads);
        ++p->refs;
        *pool = p;
    }
    return dnnl_tp_success;
}

/* A new pool is made without the lock, since a program's allocator may wait for a thread that opens
 * one; of two threads that make the same one, the second drops its own. */
static dnnl_tp_status_t open_shared(dtp_named_pool_t **pool, const char *name, int num_threads,
                                    int blocking_threads) {
    dtp_named_pool_t *made = NULL;
    for (bool again = true; again;) {
        dtp_lock(&registry_lock);
        dnnl_tp_status_t status = find(pool, name, num_threads, blocking_threads);
        again = status == dnnl_tp_success && !*pool && !made;
        if (made && status == dnnl_tp_success && !*pool) {
            made->next = registry;
            registry = *pool = made;
        }
        dtp_unlock(&registry_lock);
        if (made && made != *pool) drop(made);
        DTP_TRY(status);
        if (again) DTP_TRY(make(&made, name, num_threads, blocking_threads));
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_named_pool_open(dtp_named_pool_t **pool, const char *name, int num_threads,
                                     int blocking_threads) {
    *pool = NULL;
    DTP_REQUIRE(num_threads >= 0 && num_threads <= DTP_MAX_THREADS, BAD_COUNT,
                "thread count %d is outside 0..%d", num_threads, DTP_MAX_THREADS);
    if (num_threads == 0) num_threads = dtp_process_num_threads();
    if (!name) return make(pool, NULL, num_threads, blocking_threads);
    return open_shared(pool, name, num_threads, blocking_threads);
}

void dtp_named_pools_forked(void) {
    atomic_store(&registry_lock.word, 0); /* its holder does not exist here */
    registry = NULL;
}

void dtp_named_pool_close(dtp_named_pool_t *pool) {
    if (!pool) return;
    if (pool->shared) {
        dtp_lock(&registry_lock);
        bool last = --pool->refs == 0;
        dtp_named_pool_t **at = &registry;
        while (*at && *at != pool) at = &(*at)->next;
        if (last && *at) *at = pool->next; /* not there: the parent's */
        dtp_unlock(&registry_lock);
        if (!last) return;
    }
    drop(pool);
}

dnnl_tp_threadpool_t dtp_named_pool_handle(const dtp_named_pool_t *pool) { return pool->pool; }
int dtp_named_pool_num_threads(const dtp_named_pool_t *pool) { return pool->num_threads; }
