/* Sequential stand-in for src/threading, so that everything links until the pools land: whoever adds region.c,
 * run.c, stream_attr.c and topology.c deletes this file. */
#include <math.h>
#include <pthread.h>
#include <sched.h>

#include "threading/pool.h"

static void attr_destroy(dtp_object_t *obj) { (void)obj; }
dnnl_tp_status_t dnnl_tp_stream_attr_create(dnnl_tp_stream_attr_t *attr, dnnl_tp_engine_kind_t kind) {
    DTP_REQUIRE(attr, NULL_ARG, "attr");
    *attr = dtp_object_create(NULL, sizeof **attr, DTP_OBJ_STREAM_ATTR, attr_destroy);
    if (!*attr) return dnnl_tp_out_of_memory;
    (*attr)->kind = kind;
    (*attr)->parallelism = 3;
    (*attr)->admission = 1;
    return dnnl_tp_success;
}
dnnl_tp_status_t dnnl_tp_stream_attr_destroy(dnnl_tp_stream_attr_t attr) {
    dtp_object_release(attr);
    return dnnl_tp_success;
}
void dtp_stream_attr_assign(dtp_stream_attr_t *attr, const dtp_stream_attr_t *existing) {
    if (!existing) return;
    dtp_object_t obj = attr->obj;
    *attr = *existing;
    attr->obj = obj;
}
dnnl_tp_status_t dnnl_tp_stream_attr_clone(dnnl_tp_stream_attr_t *attr, const_dnnl_tp_stream_attr_t existing) {
    DTP_TRY(dnnl_tp_stream_attr_create(attr, existing->kind));
    dtp_stream_attr_assign(*attr, existing);
    return dnnl_tp_success;
}
dnnl_tp_status_t dnnl_tp_stream_attr_set_threadpool(dnnl_tp_stream_attr_t attr, const dnnl_tp_threadpool_iface_t *pool) {
    memset(&attr->iface, 0, sizeof attr->iface);
    attr->pool_kind = pool ? dnnl_tp_pool_kind_user : dnnl_tp_pool_kind_sequential;
    if (pool) attr->iface = *pool;
    return dnnl_tp_success;
}
int dtp_stream_attr_num_threads(const dtp_stream_attr_t *attr, uint64_t *flags) {
    *flags = 0;
    if (attr->pool_kind != dnnl_tp_pool_kind_user) return attr->pool_kind == dnnl_tp_pool_kind_sequential;
    int n = attr->iface.get_num_threads ? attr->iface.get_num_threads(attr->iface.ctx) : 1;
    return n < 1 ? 1 : n;
}
static _Atomic int process_threads;
int dtp_process_num_threads(void) {
    cpu_set_t set;
    if (process_threads) return process_threads;
    return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}
dnnl_tp_status_t dnnl_tp_threadpool_interop_set_max_concurrency(int n) {
    DTP_REQUIRE(n >= 1 && n <= DTP_MAX_THREADS, BAD_COUNT, "%d", n);
    process_threads = n;
    return dnnl_tp_success;
}
int64_t dtp_grain(double ns) { return ns > 0 && ns < 2e3 ? (int64_t)ceil(2e3 / ns) : 1; }
void dtp_parallel_for(const dtp_parallel_t *par, int64_t n, int64_t grain, dtp_loop_fn_t fn, void *arg) {
    (void)par;
    (void)grain;
    if (n > 0) fn(arg, 0, 0, n);
}
dnnl_tp_status_t dtp_pool_acquire(dtp_pool_t **pool, const dtp_stream_attr_t *attr) {
    (void)attr;
    *pool = NULL;
    return dnnl_tp_success;
}
void dtp_pool_retain(dtp_pool_t *pool) { (void)pool; }
void dtp_pool_release(dtp_pool_t *pool) { (void)pool; }
int dtp_pool_num_threads(const dtp_pool_t *pool) { return pool ? 1 : 1; }
uint64_t dtp_pool_flags(const dtp_pool_t *pool) { return pool ? 0 : 0; }
dnnl_tp_status_t dtp_pool_run(dtp_pool_t *pool, int num_threads, bool admission, dtp_run_fn_t fn, void *arg) {
    (void)num_threads;
    (void)admission;
    dtp_parallel_t par = {pool, 1, NULL};
    fn(arg, &par);
    return dnnl_tp_success;
}
