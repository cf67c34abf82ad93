/* Engines, pools and streams, created on first use. */
#include <string.h>

#include "common/exec.h"

#define OURS_X(required, name) .name = dnnl_tp_##name,
const bd_api_t bd_ours = {.is_peer = false, BD_API_CALLS(OURS_X)};
#undef OURS_X

#define MAX_CONTEXTS 64
static struct {
    int threads;
    bd_pool_t kind;
    dnnl_tp_threadpool_t pool;
    dnnl_tp_stream_t stream;
} ctx[MAX_CONTEXTS];
static int n_ctx;
static dnnl_tp_engine_t ours, theirs, host;
static dnnl_tp_stream_t their_stream;

#define MUST(e)                                                                              \
    do {                                                                                     \
        dnnl_tp_status_t st_ = (e);                                                          \
        if (st_ != dnnl_tp_success)                                                          \
            bd_die(BD_EXIT_FAIL, "Error: %s returned '%s': %s", #e, dnnl_tp_status2str(st_), \
                   dnnl_tp_last_error());                                                    \
    } while (0)

const bd_api_t *bd_subject(void) {
    if (!bd.subject_peer) return &bd_ours;
    const bd_api_t *peer = bd_peer();
    if (!peer) bd_die(BD_EXIT_FAIL, "Error: --subject=peer needs --peer.");
    return peer;
}

int bd_threads(void) {
    if (bd.threads) return bd.threads;
    return bd.pool == BD_POOL_NONE ? 1 : bd_process_threads();
}

static dnnl_tp_cpu_isa_t isa(void) {
    if (!strcmp(bd.isa, "ref")) return dnnl_tp_cpu_isa_sse41;
    if (!strcmp(bd.isa, "avx2")) return dnnl_tp_cpu_isa_avx2;
    if (!strcmp(bd.isa, "avx512")) return dnnl_tp_cpu_isa_avx512_core;
    return dnnl_tp_cpu_isa_default;
}

dnnl_tp_engine_t bd_engine(const bd_api_t *api) {
    if (api->is_peer) {
        if (!theirs && api->engine_create(&theirs, dnnl_tp_cpu, 0) != dnnl_tp_success)
            bd_die(BD_EXIT_FAIL, "Error: the peer has no CPU engine.");
        return theirs;
    }
    if (!ours) {
        dnnl_tp_engine_attr_t attr;
        MUST(dnnl_tp_engine_attr_create(&attr));
        if (*bd.isa) MUST(dnnl_tp_engine_attr_set_max_isa(attr, isa()));
        MUST(dnnl_tp_engine_create_v2(&ours, bd.engine_kind, bd.engine_index, attr));
        dnnl_tp_engine_attr_destroy(attr);
    }
    return ours;
}

bool bd_is_far(const bd_api_t *api) { return !api->is_peer && bd.engine_kind != dnnl_tp_cpu; }

dnnl_tp_engine_t bd_host_engine(const bd_api_t *api) {
    if (!bd_is_far(api)) return bd_engine(api);
    if (!host) MUST(dnnl_tp_engine_create(&host, dnnl_tp_cpu, 0));
    return host;
}

dnnl_tp_stream_t bd_stream(const bd_api_t *api, int threads) {
    if (api->is_peer) {
        if (!their_stream && api->stream_create(&their_stream, bd_engine(api),
                                                dnnl_tp_stream_default_flags) != dnnl_tp_success)
            bd_die(BD_EXIT_FAIL, "Error: the peer cannot create a stream.");
        return their_stream;
    }
    if (!threads) threads = bd_threads();
    for (int i = 0; i < n_ctx; ++i)
        if (ctx[i].threads == threads && ctx[i].kind == bd.pool) return ctx[i].stream;
    if (n_ctx == MAX_CONTEXTS) bd_die(BD_EXIT_FAIL, "Error: more than %d thread contexts.", MAX_CONTEXTS);
    dnnl_tp_stream_attr_t attr;
    MUST(dnnl_tp_stream_attr_create(&attr, bd.engine_kind));
    dnnl_tp_threadpool_t pool = NULL;
    if (bd.engine_kind != dnnl_tp_cpu) {
        /* Pools are for CPUs. */
    } else if (bd.pool == BD_POOL_NONE || threads == 1 || !DNNL_TP_WITH_THREADPOOL) {
        if (bd.pool != BD_POOL_ASYNC || !DNNL_TP_WITH_THREADPOOL)
            MUST(dnnl_tp_stream_attr_set_threadpool(attr, NULL));
    }
    if (DNNL_TP_WITH_THREADPOOL && bd.engine_kind == dnnl_tp_cpu &&
        (bd.pool == BD_POOL_ASYNC || (bd.pool == BD_POOL_BUILTIN && threads > 1))) {
        dnnl_tp_threadpool_opts_t o = {.struct_size = sizeof o, .num_threads = threads};
        if (bd.pool == BD_POOL_ASYNC) o.flags = DNNL_TP_THREADPOOL_ASYNCHRONOUS;
        MUST(dnnl_tp_threadpool_create(&pool, &o));
        MUST(dnnl_tp_stream_attr_set_builtin_threadpool(attr, pool));
    }
    dnnl_tp_stream_t s;
    MUST(dnnl_tp_stream_create_v2(&s, bd_engine(api), dnnl_tp_stream_default_flags, attr));
    dnnl_tp_stream_attr_destroy(attr);
    ctx[n_ctx].threads = threads;
    ctx[n_ctx].kind = bd.pool;
    ctx[n_ctx].pool = pool;
    ctx[n_ctx++].stream = s;
    return s;
}

void bd_exec_shutdown(void) {
    for (int i = 0; i < n_ctx; ++i) {
        dnnl_tp_stream_destroy(ctx[i].stream);
        if (ctx[i].pool) dnnl_tp_threadpool_destroy(ctx[i].pool);
    }
    n_ctx = 0;
    if (ours) dnnl_tp_engine_destroy(ours);
    if (host) dnnl_tp_engine_destroy(host);
    ours = host = NULL;
}
