/* Stream attributes, and the public calls about pools that need no thread: see dnnl_tp_threadpool.h. */
#include "threading/streams/stream_attr.h"

#include "common/primitive/attr.h"
#include "threading/base/topology.h"
#include "threading/pools/builtin_pool.h"

#include <stddef.h>

size_t dnnl_tp_threadpool_iface_size(void) { return sizeof(dnnl_tp_threadpool_iface_t); }

/* ---- Life -------------------------------------------------------------------------------------------- */

void dtp_stream_attr_assign(dtp_stream_attr_t *attr, const dtp_stream_attr_t *existing) {
    attr->kind = existing->kind;
    attr->pool_kind = existing->pool_kind;
    attr->iface = existing->iface;
    attr->builtin = dtp_object_retain(existing->builtin);
    attr->pool = existing->pool;
    dtp_pool_retain(attr->pool);
    attr->max_threads = existing->max_threads;
    attr->parallelism = existing->parallelism;
    attr->admission = existing->admission;
    attr->async = existing->async;
    attr->priority = existing->priority;
    attr->own = dtp_object_retain(existing->own);
}

static void drop_pool(dtp_stream_attr_t *attr) {
    dtp_object_release(attr->builtin);
    dtp_pool_release(attr->pool);
    attr->builtin = NULL;
    attr->pool = NULL;
    memset(&attr->iface, 0, sizeof(attr->iface));
}

void dtp_stream_attr_drop(dtp_stream_attr_t *attr) {
    drop_pool(attr);
    attr->pool_kind = dnnl_tp_pool_kind_unset;
    dtp_object_release(attr->own);
    attr->own = NULL;
}

static void attr_destroy(dtp_object_t *object) { dtp_stream_attr_drop((dtp_stream_attr_t *)object); }

static dtp_stream_attr_t *attr_new(void) {
    return dtp_object_create(NULL, sizeof(dtp_stream_attr_t), DTP_OBJ_STREAM_ATTR, attr_destroy);
}

dnnl_tp_status_t dnnl_tp_stream_attr_create(dnnl_tp_stream_attr_t *attr, dnnl_tp_engine_kind_t kind) {
    DTP_OUT(attr, NULL);
    DTP_REQUIRE(kind == dnnl_tp_cpu || kind == dnnl_tp_gpu, BAD_ENUM, "engine kind %d", (int)kind);
    dtp_stream_attr_t *made = attr_new();
    if (!made) DTP_RETURN(dnnl_tp_out_of_memory);
    made->kind = kind;
    made->parallelism = DNNL_TP_PARALLELISM_INTER | DNNL_TP_PARALLELISM_INTRA;
    made->admission = 1;
    *attr = made;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_stream_attr_clone(dnnl_tp_stream_attr_t *attr,
                                           const_dnnl_tp_stream_attr_t existing) {
    DTP_OUT(attr, NULL);
    DTP_REQUIRE_HANDLE(existing, DTP_OBJ_STREAM_ATTR);
    dtp_stream_attr_t *made = attr_new();
    if (!made) DTP_RETURN(dnnl_tp_out_of_memory);
    dtp_stream_attr_assign(made, existing);
    *attr = made;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_stream_attr_destroy(dnnl_tp_stream_attr_t attr) {
    DTP_DESTROY(attr, DTP_OBJ_STREAM_ATTR);
}

/* ---- Pool -------------------------------------------------------------------------------------------- */

int dtp_stream_attr_run_threads(const dtp_stream_attr_t *attr, uint64_t *flags) {
    if (flags) *flags = 0;
    int n = 0;
    if (attr->pool) {
        n = dtp_pool_num_threads(attr->pool);
        if (flags) *flags = dtp_pool_flags(attr->pool);
    } else if (attr->pool_kind == dnnl_tp_pool_kind_sequential) {
        n = 1;
    }
    if (attr->max_threads > 0 && n > attr->max_threads) n = attr->max_threads;
    if (n > 1 && !attr->parallelism) n = 1;
    return n;
}

int dtp_stream_attr_num_threads(const dtp_stream_attr_t *attr, uint64_t *flags) {
    int n = dtp_stream_attr_run_threads(attr, flags);
    if (n > 1 && !(attr->parallelism & DNNL_TP_PARALLELISM_INTRA)) n = 1;
    return n;
}

dnnl_tp_status_t dtp_stream_attr_default(dtp_stream_attr_t *attr) {
    if (attr->pool_kind != dnnl_tp_pool_kind_unset) return dnnl_tp_success;
#if DTP_RUNTIME_POOL
    DTP_TRY(dtp_runtime_iface(0, 0, &attr->iface));
    DTP_TRY(dtp_record_of(&attr->pool, &attr->iface));
    attr->pool_kind = dnnl_tp_pool_kind_runtime;
#endif
    return dnnl_tp_success;
}

static dnnl_tp_status_t require_pools(const dtp_stream_attr_t *attr) {
    DTP_REQUIRE(attr->kind == dnnl_tp_cpu, BAD_ENGINE, "pools are for CPU streams");
#if DNNL_TP_WITH_THREADPOOL
    return dnnl_tp_success;
#else
    return dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_RUNTIME, "this build has the runtime SEQ");
#endif
}

/* The members that the host compiled; the rest stays NULL. */
static dnnl_tp_status_t copy_iface(dnnl_tp_threadpool_iface_t *to, const dnnl_tp_threadpool_iface_t *from) {
    size_t least = offsetof(dnnl_tp_threadpool_iface_t, wait);
    DTP_REQUIRE(from->struct_size >= least, BAD_STRUCT_SIZE, "struct_size %zu is below %zu",
                from->struct_size, least);
    memset(to, 0, sizeof(*to));
    memcpy(to, from, from->struct_size < sizeof(*to) ? from->struct_size : sizeof(*to));
    to->struct_size = sizeof(*to);
    DTP_REQUIRE(to->schedule || to->parallel_for, BAD_POOL, "neither schedule nor parallel_for is set");
    return dnnl_tp_success;
}

static dnnl_tp_status_t attr_set_iface(dtp_stream_attr_t *attr, const dnnl_tp_threadpool_iface_t *pool) {
    DTP_REQUIRE(attr->kind == dnnl_tp_cpu, BAD_ENGINE, "pools are for CPU streams");
    if (!pool) {
        drop_pool(attr);
        attr->pool_kind = dnnl_tp_pool_kind_sequential;
        return dnnl_tp_success;
    }
    DTP_TRY(require_pools(attr));
    dnnl_tp_threadpool_iface_t iface;
    DTP_TRY(copy_iface(&iface, pool));
    dtp_pool_t *rec;
    DTP_TRY(dtp_record_of(&rec, &iface));
    drop_pool(attr);
    attr->iface = iface;
    attr->pool = rec;
    attr->pool_kind = rec->workers ? dnnl_tp_pool_kind_builtin : dnnl_tp_pool_kind_user;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_stream_attr_set_threadpool(dnnl_tp_stream_attr_t attr,
                                                    const dnnl_tp_threadpool_iface_t *pool) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_STREAM_ATTR);
    DTP_RETURN(attr_set_iface(attr, pool));
}

dnnl_tp_status_t dnnl_tp_stream_attr_get_threadpool(const_dnnl_tp_stream_attr_t attr,
                                                    const dnnl_tp_threadpool_iface_t **pool) {
    DTP_OUT(pool, NULL);
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_STREAM_ATTR);
    if (attr->pool) *pool = &attr->iface;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_stream_attr_set_builtin_threadpool(dnnl_tp_stream_attr_t attr,
                                                            dnnl_tp_threadpool_t pool) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_STREAM_ATTR);
    DTP_REQUIRE_HANDLE(pool, DTP_OBJ_THREADPOOL);
    DTP_TRY(require_pools(attr));
    dtp_object_retain(pool);
    drop_pool(attr);
    attr->builtin = pool;
    attr->pool = pool->rec;
    dtp_pool_retain(attr->pool);
    attr->iface = pool->rec->iface;
    attr->pool_kind = dnnl_tp_pool_kind_builtin;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_pool_acquire(dtp_pool_t **pool, const dtp_stream_attr_t *attr) {
    *pool = attr ? attr->pool : NULL;
    dtp_pool_retain(*pool);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_stream_attr_get_pool_kind(const_dnnl_tp_stream_attr_t attr,
                                                   dnnl_tp_pool_kind_t *kind) {
    DTP_GET(kind, dnnl_tp_pool_kind_unset, attr, DTP_OBJ_STREAM_ATTR, attr->pool_kind);
}

/* ---- Other members ----------------------------------------------------------------------------------- */

dnnl_tp_status_t dnnl_tp_stream_attr_set_max_threads(dnnl_tp_stream_attr_t attr, int max_threads) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_STREAM_ATTR);
    DTP_REQUIRE(max_threads >= 0 && max_threads <= DTP_MAX_THREADS, BAD_COUNT, "%d is outside 0..%d",
                max_threads, DTP_MAX_THREADS);
    attr->max_threads = max_threads;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_stream_attr_set_parallelism(dnnl_tp_stream_attr_t attr, unsigned parallelism) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_STREAM_ATTR);
    unsigned known = DNNL_TP_PARALLELISM_INTER | DNNL_TP_PARALLELISM_INTRA;
    DTP_REQUIRE(!(parallelism & ~known), BAD_FLAGS, "parallelism 0x%x has bits beyond 0x%x", parallelism,
                known);
    attr->parallelism = parallelism;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_stream_attr_set_admission(dnnl_tp_stream_attr_t attr, int admission) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_STREAM_ATTR);
    DTP_REQUIRE(admission == 0 || admission == 1, BAD_ENUM, "admission %d is neither 0 nor 1", admission);
    attr->admission = admission;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_stream_attr_set_async(dnnl_tp_stream_attr_t attr, int async) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_STREAM_ATTR);
    DTP_REQUIRE(async == 0 || async == 1, BAD_ENUM, "async %d is neither 0 nor 1", async);
    attr->async = async;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_stream_attr_set_priority(dnnl_tp_stream_attr_t attr, int priority) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_STREAM_ATTR);
    enum { MOST = 100 };
    DTP_REQUIRE(priority >= -MOST && priority <= MOST, BAD_PARAM, "priority %d is outside -%d..%d", priority,
                MOST, MOST);
    attr->priority = priority;
    return dnnl_tp_success;
}

/* ---- Attributes that take one ------------------------------------------------------------------------------------ */

dnnl_tp_status_t dnnl_tp_primitive_attr_set_stream_attr(dnnl_tp_primitive_attr_t attr,
                                                        const_dnnl_tp_stream_attr_t stream_attr) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_ATTR);
    if (stream_attr) DTP_REQUIRE_HANDLE(stream_attr, DTP_OBJ_STREAM_ATTR);
    attr->pool_flags = 0;
    attr->pool_num_threads = stream_attr ? dtp_stream_attr_num_threads(stream_attr, &attr->pool_flags) : 0;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_engine_attr_set_stream_attr(dnnl_tp_engine_attr_t attr,
                                                     const_dnnl_tp_stream_attr_t stream_attr) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_ENGINE_ATTR);
    dnnl_tp_stream_attr_t copy = NULL;
    if (stream_attr) DTP_TRY(dnnl_tp_stream_attr_clone(&copy, stream_attr));
    dtp_object_release(attr->stream_attr);
    attr->stream_attr = copy;
    return dnnl_tp_success;
}

/* ---- Process defaults -------------------------------------------------------------------------------------------- */

dnnl_tp_status_t dnnl_tp_threadpool_interop_set_max_concurrency(int max_concurrency) {
    DTP_REQUIRE(max_concurrency >= 1, BAD_COUNT, "%d, needed is at least 1", max_concurrency);
    dtp_set_process_num_threads(max_concurrency < DTP_MAX_THREADS ? max_concurrency : DTP_MAX_THREADS);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_threadpool_interop_get_max_concurrency(int *max_concurrency) {
    DTP_REQUIRE(max_concurrency, NULL_ARG, "max_concurrency is NULL");
    *max_concurrency = dtp_process_num_threads();
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_threadpool_quiesce(const dnnl_tp_threadpool_iface_t *pool, int64_t timeout_ns) {
    DTP_REQUIRE(pool, NULL_ARG, "pool is NULL");
    dnnl_tp_threadpool_iface_t iface;
    DTP_TRY(copy_iface(&iface, pool));
    dtp_pool_t *rec = dtp_record_find(&iface);
    if (!rec) return dnnl_tp_success;
    dnnl_tp_status_t status = dnnl_tp_success;
    for (dtp_chain_t *c = dtp_chain_top; c; c = c->up)
        if (c->rec == rec) status = dnnl_tp_would_deadlock;
    if (status == dnnl_tp_success) status = dtp_host_call_quiesce(rec, timeout_ns);
    else dtp_fail(status, DTP_WOULD_DEADLOCK, "called from inside work of this pool");
    dtp_pool_release(rec);
    DTP_RETURN(status);
}
