/* See library.h. */
#include "gpu/driver/library.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/base.h"

void dtp_why(dtp_why_t *why, const char *format, ...) {
    const size_t at = strlen(why->text);
    va_list args;
    va_start(args, format);
    vsnprintf(why->text + at, sizeof why->text - at, format, args);
    va_end(args);
}

/* Why one that exists cannot be loaded is kept. folder NULL: where the system looks. */
static void *try_open(const char *folder, const char *soname, dtp_why_t *why) {
    char path[4096];
    const int n = snprintf(path, sizeof path, "%s%s%s", folder ? folder : "", folder ? "/" : "", soname);
    if (n < 0 || n >= (int)sizeof path) return NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *error = library ? NULL : dlerror();
    if (error && !strstr(error, "No such file") && !*why->text)
        dtp_why(why, "%s cannot be loaded: %s", soname, error);
    return library;
}

void *dtp_library_open(const char *soname, const char *folder, dtp_why_t *why) {
    const char *given = dtp_getenv("CUDA_PATH");
    void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (!library && given && *given) library = try_open(given, soname, why);
    if (!library) library = try_open(NULL, soname, why);
    if (!library && folder) library = try_open(folder, soname, why);
    if (library) why->text[0] = '\0';
    else if (!*why->text) dtp_why(why, "%s is not installed", soname);
    return library;
}
