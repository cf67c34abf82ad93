/* See pool.h. ONNX_RUN_HOSTS: integrations/hosts, programs with pools of oneTBB, OpenMP, Eigen and std::thread, are there. */
#include "pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sentence_encoder/own_pool.h"
#if ONNX_RUN_HOSTS
#include "hosts/hosts.h"
#else
typedef struct {
    const char *name;
    void *(*create)(int threads);
    const dnnl_tp_threadpool_iface_t *(*iface)(void *pool);
    void (*destroy)(void *pool);
} host_t;
static const host_t *const hosts[] = {NULL};
#endif

struct pool {
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_threadpool_t builtin;
    se_own_pool_t *own;
    const host_t *host;
    void *of_host;
};

static int is(const char *a, const char *b) { return !strcmp(a, b); }

static const host_t *find(const char *name) {
    for (const host_t *const *h = hosts; *h; ++h)
        if (is((*h)->name, name)) return *h;
    return NULL;
}

const char *pool_default(void) { return DNNL_TP_WITH_THREADPOOL ? "builtin" : "none"; }

const char *pool_names(char text[POOL_NAMES]) {
    int n = snprintf(text, POOL_NAMES,
                     DNNL_TP_WITH_THREADPOOL ? "none (the calling thread), builtin, own" : "none");
    for (const host_t *const *h = hosts; *h && n < POOL_NAMES; ++h)
        n += snprintf(text + n, POOL_NAMES - (size_t)n, ", %s", (*h)->name);
    return text;
}

int pool_check(const char *name, se_error_t *error) {
    char text[POOL_NAMES];
    if (is(name, "none") || find(name) ||
        (DNNL_TP_WITH_THREADPOOL && (is(name, "builtin") || is(name, "own"))))
        return 0;
    return se_fail(error, "--pool %s: this build has %s", name, pool_names(text));
}

static int fill(pool_t *p, const char *name, int threads, se_error_t *error) {
    const dnnl_tp_threadpool_iface_t *iface = NULL;
    if (dnnl_tp_stream_attr_create(&p->attr, dnnl_tp_cpu)) return se_fail(error, "%s", dnnl_tp_last_error());
    if (is(name, "none")) return 0;
    if (is(name, "builtin")) {
        if (threads == 1) return 0; /* a pool of one is its caller */
        const dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof opts, .num_threads = threads};
        if (!dnnl_tp_threadpool_create(&p->builtin, &opts) &&
            !dnnl_tp_stream_attr_set_builtin_threadpool(p->attr, p->builtin))
            return 0;
        return se_fail(error, "--pool %s: %s", name, dnnl_tp_last_error());
    }
    if (is(name, "own")) {
        p->own = se_own_pool_create(threads);
        if (p->own) iface = se_own_pool_iface(p->own);
    } else {
        p->host = find(name);
        p->of_host = p->host->create(threads);
        if (p->of_host) iface = p->host->iface(p->of_host);
    }
    if (!iface) return se_fail(error, "--pool %s: cannot start %d threads", name, threads);
    if (dnnl_tp_stream_attr_set_threadpool(p->attr, iface))
        return se_fail(error, "--pool %s: %s", name, dnnl_tp_last_error());
    return 0;
}

int pool_create(pool_t **pool, const char *name, int threads, se_error_t *error) {
    *pool = calloc(1, sizeof **pool);
    if (!*pool) return se_fail_memory(error);
    return fill(*pool, name, threads, error);
}

const_dnnl_tp_stream_attr_t pool_attr(const pool_t *pool) { return pool->attr; }

void pool_destroy(pool_t *p) {
    if (!p) return;
    dnnl_tp_stream_attr_destroy(p->attr);
    dnnl_tp_threadpool_destroy(p->builtin);
    if (p->own || p->of_host) {
        const dnnl_tp_threadpool_iface_t *iface =
            p->own ? se_own_pool_iface(p->own) : p->host->iface(p->of_host);
        const int quiet = !dnnl_tp_threadpool_quiesce(iface, -1);
        if (quiet && p->own) se_own_pool_destroy(p->own);
        if (quiet && p->of_host) p->host->destroy(p->of_host);
    }
    free(p);
}
