/* A tool that takes the ranges of NVTX, as Nsight Systems does: a program with its path in NVTX_INJECTION64_PATH loads it.
 * NVTX_TOOL_REFUSES in the environment: it answers that it does not take part. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/driver/nvtx_abi.h"
#include "gpu/fake/nvtx_tool.h"

#define EXPORT __attribute__((visibility("default")))

static nvtx_tool_t tool;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int threads;
static _Thread_local int thread, depth, in[NVTX_TOOL_DEPTH];

static char a_domain;
static dtp_nvtx_domain_t create(const char *name) {
    ++tool.domains;
    snprintf(tool.domain, sizeof tool.domain, "%s", name);
    return (dtp_nvtx_domain_t)(void *)&a_domain;
}

static int push(dtp_nvtx_domain_t domain, const dtp_nvtx_event_t *e) {
    pthread_mutex_lock(&lock);
    if (!thread) thread = ++threads;
    const int i = tool.n < NVTX_TOOL_MOST ? tool.n++ : -1;
    if (i < 0 || depth == NVTX_TOOL_DEPTH || (void *)domain != &a_domain || e->version != DTP_NVTX_VERSION ||
        e->bytes != sizeof *e || e->message_type != DTP_NVTX_ASCII) {
        ++tool.wrongs;
    } else {
        tool.range[i].thread = thread;
        tool.range[i].depth = depth;
        snprintf(tool.range[i].name, NVTX_TOOL_NAME, "%s", e->message);
        in[depth++] = i;
    }
    pthread_mutex_unlock(&lock);
    return depth - 1;
}

static int pop(dtp_nvtx_domain_t domain) {
    pthread_mutex_lock(&lock);
    if (!depth || (void *)domain != &a_domain) ++tool.wrongs;
    else tool.range[in[--depth]].ended = 1;
    pthread_mutex_unlock(&lock);
    return depth;
}

EXPORT nvtx_tool_t *nvtx_tool_records(void);
EXPORT nvtx_tool_t *nvtx_tool_records(void) { return &tool; }
EXPORT int nvtx_tool_current(void);
EXPORT int nvtx_tool_current(void) { return depth ? in[depth - 1] : -1; }

EXPORT int InitializeInjectionNvtx2(dtp_nvtx_get_table_t get_table);
EXPORT int InitializeInjectionNvtx2(dtp_nvtx_get_table_t get_table) {
    static const unsigned sizes[DTP_NVTX_MODULES] = {0,
                                                     DTP_NVTX_CORE_CALLS,
                                                     DTP_NVTX_CUDA_CALLS,
                                                     DTP_NVTX_OPENCL_CALLS,
                                                     DTP_NVTX_CUDART_CALLS,
                                                     DTP_NVTX_CORE2_CALLS,
                                                     DTP_NVTX_SYNC_CALLS};
    const dtp_nvtx_version_t *version = get_table(DTP_NVTX_VERSION_INFO);
    const dtp_nvtx_callbacks_t *callbacks = get_table(DTP_NVTX_CALLBACKS);
    dtp_nvtx_call_t **table;
    unsigned n;
    ++tool.attached;
    if (getenv("NVTX_TOOL_REFUSES") || !version || version->version != DTP_NVTX_VERSION || !callbacks ||
        callbacks->struct_size < sizeof *callbacks || get_table(0) || callbacks->get_module(0, &table, &n) ||
        callbacks->get_module(DTP_NVTX_MODULES, &table, &n))
        return 0;
    version->set_tool_version(DTP_NVTX_VERSION);
    for (int m = 1; m < DTP_NVTX_MODULES; ++m) { /* as tools do: each slot that there is may be written */
        if (!callbacks->get_module(m, &table, &n) || n < sizes[m] || table[0] || table[n]) return 0;
        for (unsigned i = 1; i < n; ++i) *table[i] = NULL;
    }
    (void)callbacks->get_module(DTP_NVTX_CORE2, &table, &n);
    *table[DTP_NVTX_DOMAIN_CREATE] = (dtp_nvtx_call_t)create;
    *table[DTP_NVTX_RANGE_PUSH] = (dtp_nvtx_call_t)push;
    *table[DTP_NVTX_RANGE_POP] = (dtp_nvtx_call_t)pop;
    return 1;
}
