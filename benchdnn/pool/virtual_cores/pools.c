/* Who owns the threads: the built-in pool, and the programs' pools of the tests, one of each form. */
#include <stdlib.h>
#include <string.h>

#include "pool/virtual_cores/virtual_cores.h"
#include "support/hostile_pools.h"
#include "threading/streams/stream_attr.h"

static const struct {
    const char *name;
    int kind; /* of a caller's pool; -1: built-in */
    bool both, async;
} forms[] = {
    {"builtin", -1, false, false},
    {"builtin_async", -1, false, true},
    {"schedule", POOL_FIFO, false, false},
    {"schedule_async", POOL_ASYNC_SCHEDULE, false, true},
    {"schedule_runs", POOL_RUNS, false, false},
    {"schedule_single", POOL_SINGLE_CALLER, false, false},
    {"both", POOL_FIFO, true, false},
    {"loops", POOL_LOOP, false, false}, /* nestable */
    {"loops_idle", POOL_LOOP_IDLE_CALLER, false, false},
    {"loops_async", POOL_ASYNC_UNORDERED, false, true},
    {"loops_in_order", POOL_ASYNC_IN_ORDER, false, true},
    {"loops_single", POOL_LOOP_SINGLE_CALLER, false, false},
};
const int vc_n_pools = sizeof forms / sizeof *forms;
const char *vc_pool_name(int i) { return forms[i].name; }

void vc_must(dnnl_tp_status_t s, const char *what) {
    if (s == dnnl_tp_success) return;
    fprintf(stderr, "virtual_cores: %s: %s (%s)\n", what, dnnl_tp_status2str(s), dnnl_tp_last_error());
    exit(2);
}

dnnl_tp_engine_t vc_engine(void) {
    static dnnl_tp_engine_t engine;
    if (!engine) VC_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    return engine;
}

typedef struct {
    dnnl_tp_threadpool_t builtin;
    hostile_pool_t *hosts, *loops;
    dnnl_tp_threadpool_iface_t iface;
} own_t;

vc_bed_t *vc_bed_create(const char *pool, int threads) {
    int f = 0;
    while (f < vc_n_pools && strcmp(forms[f].name, pool) != 0) ++f;
    if (f == vc_n_pools) {
        fprintf(stderr, "virtual_cores: no pool %s\n", pool);
        exit(2);
    }
    vc_bed_t *bed = calloc(1, sizeof *bed);
    own_t *own = calloc(1, sizeof *own);
    if (!bed || !own) abort();
    *bed = (vc_bed_t){.threads = threads, .async = forms[f].async, .own = own};
    if (forms[f].kind < 0) {
        dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof opts, .num_threads = threads};
        if (bed->async) opts.flags = DNNL_TP_THREADPOOL_ASYNCHRONOUS;
        VC_OK(dnnl_tp_threadpool_create(&own->builtin, &opts));
        VC_OK(dnnl_tp_threadpool_get_iface(own->builtin, &bed->iface));
    } else {
        own->hosts = hostile_pool_create((hostile_kind_t)forms[f].kind, threads);
        own->iface = *hostile_pool_iface(own->hosts);
        if (forms[f].both) { /* the functions are the same for all of them */
            own->loops = hostile_pool_create(POOL_LOOP, 1);
            own->iface.parallel_for = hostile_pool_iface(own->loops)->parallel_for;
        }
        bed->iface = &own->iface;
    }
    VC_OK(dnnl_tp_stream_attr_create(&bed->attr, dnnl_tp_cpu));
    if (own->builtin) VC_OK(dnnl_tp_stream_attr_set_builtin_threadpool(bed->attr, own->builtin));
    else VC_OK(dnnl_tp_stream_attr_set_threadpool(bed->attr, bed->iface));
    VC_OK(dtp_pool_acquire(&bed->rec, bed->attr));
    return bed;
}

void vc_bed_destroy(vc_bed_t *bed) {
    own_t *own = bed->own;
    dtp_pool_release(bed->rec);
    dnnl_tp_stream_attr_destroy(bed->attr);
    if (own->builtin) dnnl_tp_threadpool_destroy(own->builtin);
    if (own->hosts) {
        VC_OK(dnnl_tp_threadpool_quiesce(bed->iface, -1));
        hostile_pool_destroy(own->hosts);
    }
    if (own->loops) hostile_pool_destroy(own->loops);
    free(own);
    free(bed);
}
