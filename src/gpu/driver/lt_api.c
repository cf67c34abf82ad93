/* Finds cuBLASLt; see lt_api.h. What was found stays for the life of the process. */
#include "gpu/driver/lt_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/base.h"
#include "gpu/driver/cu_api.h"
#include "gpu/driver/library.h"

static const char soname[] = "libcublasLt.so.13";

static const struct {
    const char *name;
    size_t at; /* in dtp_lt_t */
} calls[] = {
#define DTP_LT_CALL(result, name, args) {#name, offsetof(dtp_lt_t, name)},
#include "gpu/driver/lt_calls.inc"
};
enum { CALLS = sizeof calls / sizeof *calls };

/* Written by load() alone, which runs once. */
static struct {
    pthread_once_t once;
    const dtp_lt_t *lt; /* NULL: why tells */
    dtp_lt_t found;
    dtp_why_t why;
} library = {.once = PTHREAD_ONCE_INIT};
static const dtp_lt_t *for_test;

static bool find_calls(void *opened) {
    for (int i = 0; i < CALLS; ++i) {
        void *call = dlsym(opened, calls[i].name);
        if (!call)
            dtp_why(&library.why, "%s %s", *library.why.text ? "," : "libcublasLt.so.13 lacks",
                    calls[i].name);
        memcpy((char *)&library.found + calls[i].at, &call, sizeof call);
    }
    return !*library.why.text;
}

/* Are the descriptors as large as lt_abi.h has them? */
static bool check_version(const dtp_lt_t *lt) {
    const size_t version = lt->cublasLtGetVersion();
    if (version / DTP_LT_VERSION_OF_MAJOR == DTP_LT_MAJOR) return true;
    dtp_why(&library.why, "cuBLASLt is of version %zu, needed is %d.x", version, DTP_LT_MAJOR);
    return false;
}

static void load(void) {
    static const char *const words[] = {"0", "1"};
    library.lt = NULL;
    library.why.text[0] = '\0';
    if (!dtp_getenv_word("CUBLASLT", words, sizeof words / sizeof *words, 1)) {
        dtp_why(&library.why, "it is switched off by DNNL_TP_CUBLASLT=0");
    } else if (for_test) {
        if (check_version(for_test)) library.lt = for_test;
    } else if (dtp_cu_is_for_test()) {
        dtp_why(&library.why, "the driver is one for tests");
    } else {
        void *opened = dtp_library_open(soname, "/usr/local/cuda/lib64", &library.why);
        if (opened && find_calls(opened) && check_version(&library.found)) library.lt = &library.found;
        else if (opened) dlclose(opened);
    }
}

const dtp_lt_t *dtp_lt(void) {
    pthread_once(&library.once, load);
    return library.lt;
}

const char *dtp_lt_reason(void) {
    pthread_once(&library.once, load);
    return library.why.text;
}

void dtp_lt_set_for_test(const dtp_lt_t *lt) {
    for_test = lt;
    library.once = (pthread_once_t)PTHREAD_ONCE_INIT;
}

const char *dtp_lt_text(const dtp_lt_t *lt, dtp_lt_status_t status, char *text, size_t bytes) {
    const char *name = lt->cublasLtGetStatusName(status), *what = lt->cublasLtGetStatusString(status);
    snprintf(text, bytes, "%s: %s", name ? name : "an error", what ? what : "unknown");
    return text;
}
