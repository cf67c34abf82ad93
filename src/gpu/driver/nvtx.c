/* See nvtx.h. What the tool writes to the slots is read once it has answered; the library stays for the life of the process. */
#include "gpu/driver/nvtx.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/base.h"
#include "gpu/driver/nvtx_abi.h"

enum { MOST_CALLS = 16 };
static const unsigned num_calls[DTP_NVTX_MODULES] = {0,
                                                     DTP_NVTX_CORE_CALLS,
                                                     DTP_NVTX_CUDA_CALLS,
                                                     DTP_NVTX_OPENCL_CALLS,
                                                     DTP_NVTX_CUDART_CALLS,
                                                     DTP_NVTX_CORE2_CALLS,
                                                     DTP_NVTX_SYNC_CALLS};

/* Written by load() alone, which runs once, and by the tool inside it. */
static struct {
    pthread_once_t once;
    dtp_nvtx_call_t slot[DTP_NVTX_MODULES][MOST_CALLS];
    dtp_nvtx_call_t *table[DTP_NVTX_MODULES][MOST_CALLS + 1]; /* number 0 and the end: NULL */
    dtp_nvtx_domain_t domain;
    dtp_nvtx_range_push_t push;
    dtp_nvtx_range_pop_t pop; /* NULL: nobody takes ranges */
} nvtx = {.once = PTHREAD_ONCE_INIT};

static int get_module(dtp_nvtx_module_t module, dtp_nvtx_call_t ***table, unsigned *n) {
    if (module < DTP_NVTX_CORE || module >= DTP_NVTX_MODULES) return 0;
    if (table) *table = nvtx.table[module];
    if (n) *n = num_calls[module];
    return 1;
}

static void set_tool_version(uint32_t version) { (void)version; }

static const void *get_table(uint32_t id) {
    static const dtp_nvtx_callbacks_t callbacks = {sizeof callbacks, get_module};
    static const dtp_nvtx_version_t version = {sizeof version, DTP_NVTX_VERSION, 0, set_tool_version};
    if (id == DTP_NVTX_CALLBACKS) return &callbacks;
    return id == DTP_NVTX_VERSION_INFO ? &version : NULL;
}

/* Has the tool at this path written what ranges need? */
static bool attach(const char *path) {
    dtp_nvtx_init_t init;
    void *tool = dlopen(path, RTLD_LAZY | RTLD_LOCAL),
         *symbol = tool ? dlsym(tool, "InitializeInjectionNvtx2") : NULL;
    memcpy(&init, &symbol, sizeof init);
    for (int m = DTP_NVTX_CORE; m < DTP_NVTX_MODULES; ++m)
        for (unsigned i = 1; i < num_calls[m]; ++i) nvtx.table[m][i] = &nvtx.slot[m][i];
    if (init && init(get_table)) return true;
    if (tool) dlclose(tool);
    return false;
}

static void load(void) {
    static const char *const words[] = {"0", "1"};
    const char *path = getenv("NVTX_INJECTION64_PATH");
    if (!path || !dtp_getenv_word("NVTX", words, sizeof words / sizeof *words, 1) || !attach(path)) return;
    const dtp_nvtx_call_t *slot = nvtx.slot[DTP_NVTX_CORE2];
    if (!slot[DTP_NVTX_RANGE_PUSH] || !slot[DTP_NVTX_RANGE_POP]) return;
    if (slot[DTP_NVTX_DOMAIN_CREATE])
        nvtx.domain = ((dtp_nvtx_domain_create_t)slot[DTP_NVTX_DOMAIN_CREATE])("dnnl_tp");
    nvtx.push = (dtp_nvtx_range_push_t)slot[DTP_NVTX_RANGE_PUSH];
    nvtx.pop = (dtp_nvtx_range_pop_t)slot[DTP_NVTX_RANGE_POP];
}

bool dtp_nvtx(void) {
    pthread_once(&nvtx.once, load);
    return nvtx.pop != NULL;
}

void dtp_nvtx_push(const char *name) {
    const dtp_nvtx_event_t event = {
        .version = DTP_NVTX_VERSION, .bytes = sizeof event, .message_type = DTP_NVTX_ASCII, .message = name};
    (void)nvtx.push(nvtx.domain, &event);
}

void dtp_nvtx_pop(void) { (void)nvtx.pop(nvtx.domain); }
