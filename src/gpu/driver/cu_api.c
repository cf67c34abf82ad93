/* Finds the driver; see cu_api.h. Only libcuda.so.1 is opened, and of its symbols only cuGetProcAddress is looked up by name:
 * it gives each call in the form that cu_calls.inc asks for. What was found stays for the life of the process. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/base.h"
#include "gpu/driver/cu_api.h"

typedef dtp_cu_result_t (*find_t)(const char *name, void **call, int version, uint64_t flags, int *status);

/* What cu_calls.inc tells of a call, and where its pointer lies in dtp_cu_t. */
static const struct {
    const char *name;
    int version;
    size_t at;
} calls[] = {
#define DTP_CU_CALL(name, version, args) {#name, version, offsetof(dtp_cu_t, name)},
#include "gpu/driver/cu_calls.inc"
};
enum { CALLS = sizeof calls / sizeof *calls };

/* Written by load() alone, which runs once. */
static struct {
    pthread_once_t once;
    const dtp_cu_t *cu; /* NULL: reason tells why */
    dtp_cu_t found;
    char reason[512];
} driver = {.once = PTHREAD_ONCE_INIT};
static const dtp_cu_t *for_test;
static atomic_bool forked; /* in a child of the process that initialised the driver */

static void forked_child(void) { atomic_store(&forked, true); }
static void watch_forks(void) { pthread_atfork(NULL, NULL, forked_child); }

/* Appends to the reason. */
static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...) {
    const size_t at = strlen(driver.reason);
    va_list args;
    va_start(args, format);
    vsnprintf(driver.reason + at, sizeof driver.reason - at, format, args);
    va_end(args);
}

/* Opens a library; why one that exists cannot be loaded becomes the reason. */
static void *try_open(const char *name) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    const char *why = library ? NULL : dlerror();
    if (why && !strstr(why, "No such file") && !*driver.reason) say("%s cannot be loaded: %s", name, why);
    return library;
}

/* The driver's library: the copy that the process already has, the one in DNNL_TP_CUDA_PATH, the system's. */
static void *open_library(void) {
    static const char *const soname = "libcuda.so.1";
    void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    const char *folder = dtp_getenv("CUDA_PATH");
    char path[4096];
    if (!library && folder && *folder &&
        snprintf(path, sizeof path, "%s/%s", folder, soname) < (int)sizeof path)
        library = try_open(path);
    if (!library) library = try_open(soname);
    if (library) driver.reason[0] = '\0';
    else if (!*driver.reason) say("%s is not installed", soname);
    return library;
}

/* Asks for one call; NULL if the driver has none of the version. */
static void *find_call(find_t find, const char *name, int version) {
    void *call = NULL;
    int status = 0;
    if (find(name, &call, version, DTP_CU_LEGACY_DEFAULT_STREAM, &status) != DTP_CU_SUCCESS) return NULL;
    return status ? NULL : call;
}

/* Is the driver new enough? */
static bool check_version(dtp_cu_result_t (*get_version)(int *version)) {
    int version = 0;
    const dtp_cu_result_t result = get_version(&version);
    if (result != DTP_CU_SUCCESS) say("cuDriverGetVersion fails with %d", result);
    else if (version < DTP_CU_LEAST_DRIVER)
        say("the driver is of CUDA %d.%d, needed is %d.%d", version / 1000, version % 1000 / 10,
            DTP_CU_LEAST_DRIVER / 1000, DTP_CU_LEAST_DRIVER % 1000 / 10);
    else return true;
    return false;
}

/* Fills the table; the version comes first, because an old driver lacks calls, too. */
static bool find_calls(void *library) {
    void *symbol = dlsym(library, "cuGetProcAddress_v2"), *call;
    if (!symbol) {
        say("the driver is older than CUDA 12.0, needed is %d.%d", DTP_CU_LEAST_DRIVER / 1000,
            DTP_CU_LEAST_DRIVER % 1000 / 10);
        return false;
    }
    find_t find;
    memcpy(&find, &symbol, sizeof find);
    call = find_call(find, "cuDriverGetVersion", 2020);
    if (call) {
        dtp_cu_result_t (*get_version)(int *);
        memcpy(&get_version, &call, sizeof get_version);
        if (!check_version(get_version)) return false;
    }
    for (int i = 0; i < CALLS; ++i) {
        call = find_call(find, calls[i].name, calls[i].version);
        if (!call) say("%s %s", *driver.reason ? "," : "the driver lacks", calls[i].name);
        memcpy((char *)&driver.found + calls[i].at, &call, sizeof call);
    }
    return !*driver.reason;
}

static bool initialise(const dtp_cu_t *cu) {
    const dtp_cu_result_t result = cu->cuInit(0);
    const char *name = NULL, *text = NULL;
    if (result == DTP_CU_SUCCESS) return true;
    (void)cu->cuGetErrorName(result, &name);
    (void)cu->cuGetErrorString(result, &text);
    say("cuInit fails with %s: %s", name ? name : "an error", text ? text : "unknown");
    return false;
}

static void load(void) {
    driver.cu = NULL;
    driver.reason[0] = '\0';
    if (for_test) {
        if (check_version(for_test->cuDriverGetVersion) && initialise(for_test)) driver.cu = for_test;
    } else {
        void *library = open_library();
        if (library && find_calls(library) && initialise(&driver.found)) driver.cu = &driver.found;
        else if (library) dlclose(library);
    }
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (driver.cu) pthread_once(&once, watch_forks);
}

const dtp_cu_t *dtp_cu(void) {
    if (atomic_load(&forked)) return NULL;
    pthread_once(&driver.once, load);
    return driver.cu;
}

const char *dtp_cu_reason(void) {
    if (atomic_load(&forked))
        return "the process is the child of a fork, made after its parent had used CUDA";
    pthread_once(&driver.once, load);
    return driver.reason;
}

void dtp_cu_set_for_test(const dtp_cu_t *cu) {
    for_test = cu;
    driver.once = (pthread_once_t)PTHREAD_ONCE_INIT;
}

const char *dtp_cu_text(dtp_cu_result_t result, char *text, size_t bytes) {
    const dtp_cu_t *cu = dtp_cu();
    const char *name = NULL, *what = NULL;
    if (cu) {
        (void)cu->cuGetErrorName(result, &name);
        (void)cu->cuGetErrorString(result, &what);
    }
    if (name && what) snprintf(text, bytes, "%s: %s", name, what);
    else snprintf(text, bytes, "CUDA error %d", result);
    return text;
}
