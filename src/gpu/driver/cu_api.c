/* Finds the driver; see cu_api.h. Only libcuda.so.1 is opened, and of its symbols only cuGetProcAddress is looked up by name:
 * it gives each call in the form that cu_calls.inc asks for. What was found stays for the life of the process. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/base.h"
#include "gpu/driver/cu_api.h"
#include "gpu/driver/library.h"

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
    const dtp_cu_t *cu; /* NULL: why tells */
    dtp_cu_t found;
    dtp_why_t why;
} driver = {.once = PTHREAD_ONCE_INIT};
static const dtp_cu_t *for_test;
static atomic_bool forked; /* in a child of the process that initialised the driver */

static void forked_child(void) { atomic_store(&forked, true); }
static void watch_forks(void) { pthread_atfork(NULL, NULL, forked_child); }

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
    if (result != DTP_CU_SUCCESS) dtp_why(&driver.why, "cuDriverGetVersion fails with %d", result);
    else if (version < DTP_CU_LEAST_DRIVER)
        dtp_why(&driver.why, "the driver is of CUDA %d.%d, needed is %d.%d", version / 1000,
                version % 1000 / 10, DTP_CU_LEAST_DRIVER / 1000, DTP_CU_LEAST_DRIVER % 1000 / 10);
    else return true;
    return false;
}

/* Fills the table; the version comes first, because an old driver lacks calls, too. */
static bool find_calls(void *library) {
    void *symbol = dlsym(library, "cuGetProcAddress_v2"), *call;
    if (!symbol) {
        dtp_why(&driver.why, "the driver is older than CUDA 12.0, needed is %d.%d",
                DTP_CU_LEAST_DRIVER / 1000, DTP_CU_LEAST_DRIVER % 1000 / 10);
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
        if (!call) dtp_why(&driver.why, "%s %s", *driver.why.text ? "," : "the driver lacks", calls[i].name);
        memcpy((char *)&driver.found + calls[i].at, &call, sizeof call);
    }
    return !*driver.why.text;
}

static bool initialise(const dtp_cu_t *cu) {
    const dtp_cu_result_t result = cu->cuInit(0);
    const char *name = NULL, *text = NULL;
    if (result == DTP_CU_SUCCESS) return true;
    (void)cu->cuGetErrorName(result, &name);
    (void)cu->cuGetErrorString(result, &text);
    dtp_why(&driver.why, "cuInit fails with %s: %s", name ? name : "an error", text ? text : "unknown");
    return false;
}

static void load(void) {
    driver.cu = NULL;
    driver.why.text[0] = '\0';
    if (for_test) {
        if (check_version(for_test->cuDriverGetVersion) && initialise(for_test)) driver.cu = for_test;
    } else {
        void *library = dtp_library_open("libcuda.so.1", NULL, &driver.why);
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
    return driver.why.text;
}

void dtp_cu_set_for_test(const dtp_cu_t *cu) {
    for_test = cu;
    driver.once = (pthread_once_t)PTHREAD_ONCE_INIT;
}

bool dtp_cu_is_for_test(void) { return for_test != NULL; }

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
