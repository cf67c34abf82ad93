/* The peer: any libdnnl.so.3, loaded by dlopen with our own declarations (common/api.h). Its OpenMP runtime
 * is reached through the same handle, so that its team can be counted, fixed and ended. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "common/exec.h"
#include "common/options.h"

static bd_api_t peer;
static char version[128];
static int (*pause_all)(int);

static void *open_library(char *tried, size_t size) {
    char path[1200] = "";
    const char *given = strchr(bd.peer, ':'), *env = getenv("DNNL_TP_PEER_ONEDNN");
    if (given) bd_cat(path, sizeof path, "%s", given + 1);
    else if (env) bd_cat(path, sizeof path, "%s", env);
    if (*path) {
        bd_cat(tried, size, " %s", path);
        return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    static const char *const places[] = {"/../../peer_onednn/lib/libdnnl.so.3",
                                         "/../../peers/lib/libdnnl.so.3", "/../peer_onednn/lib/libdnnl.so.3"};
    for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
        path[0] = 0;
        bd_cat(path, sizeof path, "%s%s", bd_exe_dir, places[i]);
        bd_cat(tried, size, " %s", path);
        void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (h) return h;
    }
    bd_cat(tried, size, " libdnnl.so.3");
    return dlopen("libdnnl.so.3", RTLD_NOW | RTLD_LOCAL);
}

const bd_api_t *bd_peer(void) {
    if (!*bd.peer) return NULL;
    if (peer.is_peer) return &peer;
    char threads[16] = "", tried[4096] = "";
    /* The OpenMP runtime reads these when it is loaded. */
    bd_cat(threads, sizeof threads, "%d", bd_threads());
    setenv("OMP_NUM_THREADS", threads, 1);
    setenv("OMP_DYNAMIC", "false", 1);
    if (*bd.peer_wait) {
        const char *set = getenv("OMP_WAIT_POLICY");
        if ((!set || strcmp(set, bd.peer_wait) != 0) && dlsym(RTLD_DEFAULT, "omp_get_max_threads"))
            bd_die(BD_EXIT_USAGE,
                   "Error: this program runs on OpenMP itself; set OMP_WAIT_POLICY=%s before it starts.",
                   bd.peer_wait);
        setenv("OMP_WAIT_POLICY", bd.peer_wait, 1);
    }
    void *h = open_library(tried, sizeof tried);
    if (!h)
        bd_die(BD_EXIT_FAIL, "Error: no peer: tried%s (%s). scripts/get_peer_onednn fetches one.", tried,
               dlerror());
    int missing = 0;
#define LOAD(required, name)                        \
    *(void **)&peer.name = dlsym(h, "dnnl_" #name); \
    if (required && !peer.name && ++missing) fprintf(stderr, "Error: the peer lacks dnnl_%s.\n", #name);
    BD_API_CALLS(LOAD)
#undef LOAD
    if (missing) bd_die(BD_EXIT_FAIL, "Error: this is no oneDNN v3.");
    peer.is_peer = true;
    *(void **)&pause_all = dlsym(h, "omp_pause_resource_all");
    void (*set_threads)(int);
    *(void **)&set_threads = dlsym(h, "omp_set_num_threads");
    const dnnl_tp_version_t *v = peer.version();
    if (v->major != 3)
        bd_die(BD_EXIT_FAIL, "Error: the peer is oneDNN %d.%d, v3 is needed.", v->major, v->minor);
    const char *rt = v->cpu_runtime == DNNL_TP_RUNTIME_OMP          ? "OMP"
                     : v->cpu_runtime == DNNL_TP_RUNTIME_SEQ        ? "SEQ"
                     : v->cpu_runtime == DNNL_TP_RUNTIME_THREADPOOL ? "THREADPOOL"
                                                                    : "TBB";
    bd_cat(version, sizeof version, "oneDNN %d.%d.%d (%s%s%s)", v->major, v->minor, v->patch, rt,
           *bd.peer_wait ? ", wait policy " : "", bd.peer_wait);
    if (set_threads) set_threads(bd_threads());
    else if (bd_threads() > 1 && v->cpu_runtime != DNNL_TP_RUNTIME_TBB)
        bd_die(BD_EXIT_FAIL, "Error: this peer (%s runtime) computes on one thread only; use --threads=1.",
               rt);
    if (!strcmp(bd.isa, "avx2") || !strcmp(bd.isa, "avx512"))
        if (peer.set_max_cpu_isa(bd.isa[3] == '2' ? dnnl_tp_cpu_isa_avx2 : dnnl_tp_cpu_isa_avx512_core) !=
            dnnl_tp_success)
            bd_die(BD_EXIT_FAIL, "Error: the peer does not accept the limit '%s'.", bd.isa);
    return &peer;
}

const char *bd_peer_version(void) { return version; }

void bd_peer_rest(void) {
    enum { PAUSE_SOFT = 1 }; /* omp_pause_soft: threads go, data stays */
    if (pause_all) pause_all(PAUSE_SOFT);
}
