/* Libraries and kernels of the fake driver. A text is parsed when the first kernel is asked for, once for each device, whose
 * variables the module holds. */
#include <stdlib.h>
#include <string.h>

#include "gpu/fake/calls.h"
#include "gpu/fake/fatbin.h"
#include "gpu/fake/kernels.h"

struct fake_library {
    fake_library_t *next;
    uintptr_t handle;
    int refs; /* the handle, each kernel */
    bool unloaded;
    fatbin_t fatbin;
    ptx_module_t *module[FAKE_MAX_DEVICES];
    const char *text[FAKE_MAX_DEVICES]; /* of the modules; the fat binary holds it */
};

static struct {
    fake_library_t *libraries;
    fake_kernel_t *kernels;
} loaded;

/* Parsed texts that no library uses: the next one that holds such a text takes its module, for parsing is slow. */
typedef struct parsed {
    struct parsed *next;
    ptx_module_t *module;
    char text[];
} parsed_t;
static parsed_t *parsed;

static void keep_locked(ptx_module_t *module, const char *text) {
    parsed_t *p = fake_zalloc(sizeof *p + strlen(text) + 1);
    strcpy(p->text, text);
    p->module = module;
    p->next = parsed;
    parsed = p;
}

static ptx_module_t *take_locked(const char *text) {
    parsed_t **link = &parsed;
    while (*link && strcmp((*link)->text, text) != 0) link = &(*link)->next;
    parsed_t *p = *link;
    if (!p) return NULL;
    ptx_module_t *module = p->module;
    *link = p->next;
    free(p);
    ptx_reset(module);
    return module;
}

static fake_library_t *find_library_locked(dtp_cu_library_t handle, const char *call) {
    fake_library_t *library = loaded.libraries;
    while (library && (library->handle != (uintptr_t)handle || library->unloaded)) library = library->next;
    if (!library) fake_wrong_locked("%s: %p is no library", call, (void *)handle);
    return library;
}

static void release_library_locked(fake_library_t *library) {
    if (--library->refs) return;
    fake_library_t **link = &loaded.libraries;
    while (*link != library) link = &(*link)->next;
    *link = library->next;
    for (int i = 0; i < FAKE_MAX_DEVICES; ++i)
        if (library->module[i]) keep_locked(library->module[i], library->text[i]);
    fatbin_free(&library->fatbin);
    free(library);
}

dtp_cu_result_t fake_cuLibraryLoadData(dtp_cu_library_t *handle, const void *code,
                                       dtp_cu_jit_option_t *jit_options, void **jit_values, unsigned jit_n,
                                       dtp_cu_library_option_t *options, void **values, unsigned n) {
    (void)jit_options, (void)jit_values, (void)options, (void)values;
    const dtp_cu_result_t result =
        fake_enter("cuLibraryLoadData", FAKE_NEEDS_INIT | FAKE_ANY_CTX | FAKE_CAN_FAIL | FAKE_UNSAFE);
    if (result) return result;
    char error[256];
    fatbin_t fatbin;
    if (!code || jit_n || n) return fake_leave(DTP_CU_INVALID_VALUE);
    if (!fatbin_read(&fatbin, code, error, sizeof error)) {
        fake_tell_locked("cuLibraryLoadData: %s", error);
        return fake_leave(DTP_CU_INVALID_IMAGE);
    }
    fake_library_t *library = fake_zalloc(sizeof *library);
    *library = (fake_library_t){
        .next = loaded.libraries, .handle = fake_handle_locked(), .refs = 1, .fatbin = fatbin};
    loaded.libraries = library;
    *handle = (dtp_cu_library_t)library->handle;
    ++fake.stats.libraries;
    return fake_leave(DTP_CU_SUCCESS);
}

/* The library's module on a device; parses it. */
static dtp_cu_result_t need_module_locked(fake_library_t *library, int device) {
    if (library->module[device]) return DTP_CU_SUCCESS;
    const char *text = fatbin_choose(&library->fatbin, fake.major, fake.minor);
    if (!text) {
        fake_tell_locked("a library has no PTX text for capability %d.%d", fake.major, fake.minor);
        return DTP_CU_NO_BINARY_FOR_GPU;
    }
    char error[512] = "";
    library->text[device] = text;
    library->module[device] = take_locked(text);
    if (!library->module[device]) library->module[device] = ptx_parse(text, error, sizeof error);
    if (library->module[device]) return DTP_CU_SUCCESS;
    fake_tell_locked("a library cannot be parsed: %s", error);
    return DTP_CU_INVALID_IMAGE;
}

/* ---- Kernels ----------------------------------------------------------------------------------------- */

void fake_kernel_release_locked(fake_kernel_t *kernel) {
    if (--kernel->refs) return;
    fake_kernel_t **link = &loaded.kernels;
    while (*link != kernel) link = &(*link)->next;
    *link = kernel->next;
    release_library_locked(kernel->library);
    free(kernel);
}

static fake_kernel_t *kernel_of_locked(const fake_library_t *library, const char *name) {
    fake_kernel_t *kernel = loaded.kernels;
    while (kernel &&
           (kernel->library != library || strcmp(ptx_kernel_name(kernel->ptx[kernel->first]), name) != 0))
        kernel = kernel->next;
    return kernel;
}

dtp_cu_result_t fake_cuLibraryGetKernel(dtp_cu_kernel_t *handle, dtp_cu_library_t library_handle,
                                        const char *name) {
    dtp_cu_result_t result = fake_enter("cuLibraryGetKernel", FAKE_NEEDS_INIT | FAKE_ANY_CTX | FAKE_CAN_FAIL);
    if (result) return result;
    fake_library_t *library = find_library_locked(library_handle, "cuLibraryGetKernel");
    if (!library) return fake_leave(DTP_CU_INVALID_HANDLE);
    const int device = fake_current() ? fake_current()->device : 0;
    if ((result = need_module_locked(library, device))) return fake_leave(result);
    const ptx_kernel_t *ptx = ptx_find(library->module[device], name);
    if (!ptx) return fake_leave(DTP_CU_NOT_FOUND);
    fake_kernel_t *kernel = kernel_of_locked(library, name);
    if (!kernel) {
        kernel = fake_zalloc(sizeof *kernel);
        *kernel = (fake_kernel_t){.next = loaded.kernels,
                                  .handle = fake_handle_locked(),
                                  .refs = 1,
                                  .library = library,
                                  .first = device};
        kernel->ptx[device] = ptx;
        ++library->refs;
        loaded.kernels = kernel;
    }
    *handle = (dtp_cu_kernel_t)kernel->handle;
    return fake_leave(DTP_CU_SUCCESS);
}

/* A function's handle is its kernel's, plus one, plus the device. */
enum { FUNCTION_BITS = 15 };
fake_kernel_t *fake_kernel_find_locked(uintptr_t handle, const char *call) {
    fake_kernel_t *kernel = loaded.kernels;
    while (kernel && (kernel->handle != (handle & ~(uintptr_t)FUNCTION_BITS) || kernel->library->unloaded))
        kernel = kernel->next;
    const uintptr_t device = handle & FUNCTION_BITS;
    if (!kernel) fake_wrong_locked("%s: %p is no kernel", call, (void *)handle);
    else if (device && device - 1 != (uintptr_t)fake_current()->device) {
        fake_wrong_locked("%s: a function of device %d, and device %d is current", call, (int)device - 1,
                          fake_current()->device);
        return NULL;
    }
    return kernel;
}

dtp_cu_result_t fake_kernel_need_locked(fake_kernel_t *kernel) {
    const int device = fake_current()->device;
    if (kernel->ptx[device]) return DTP_CU_SUCCESS;
    const dtp_cu_result_t result = need_module_locked(kernel->library, device);
    if (!result)
        kernel->ptx[device] =
            ptx_find(kernel->library->module[device], ptx_kernel_name(kernel->ptx[kernel->first]));
    return result;
}

dtp_cu_result_t fake_cuKernelGetFunction(dtp_cu_function_t *function, dtp_cu_kernel_t handle) {
    dtp_cu_result_t result = fake_enter("cuKernelGetFunction", FAKE_CALL);
    if (result) return result;
    fake_kernel_t *kernel = fake_kernel_find_locked((uintptr_t)handle, "cuKernelGetFunction");
    if (!kernel) return fake_leave(DTP_CU_INVALID_HANDLE);
    if ((result = fake_kernel_need_locked(kernel))) return fake_leave(result);
    *function = (dtp_cu_function_t)(kernel->handle + 1 + (unsigned)fake_current()->device);
    return fake_leave(DTP_CU_SUCCESS);
}

/* Kernels end with their library, or with the last launch that is enqueued. */
static void unload_locked(fake_library_t *library) {
    library->unloaded = true;
    for (fake_kernel_t *kernel = loaded.kernels, *next; kernel; kernel = next) {
        next = kernel->next;
        if (kernel->library != library) continue;
        const fake_ctx_t *ctx = fake_current(); /* a poisoned one executes nothing any more */
        if (kernel->refs > 1 && !(ctx && ctx->sticky))
            fake_wrong_locked("a library is unloaded, and a launch of its kernel %s is enqueued",
                              ptx_kernel_name(kernel->ptx[kernel->first]));
        fake_kernel_release_locked(kernel);
    }
    release_library_locked(library);
}

dtp_cu_result_t fake_cuLibraryUnload(dtp_cu_library_t handle) {
    const dtp_cu_result_t result =
        fake_enter("cuLibraryUnload", FAKE_NEEDS_INIT | FAKE_RELEASES | FAKE_UNSAFE);
    if (result) return result;
    fake_library_t *library = find_library_locked(handle, "cuLibraryUnload");
    if (!library) return fake_leave(DTP_CU_INVALID_HANDLE);
    unload_locked(library);
    fake_wait_for_context_locked(fake_current(), "cuLibraryUnload");
    --fake.stats.libraries;
    return fake_leave_released(DTP_CU_SUCCESS);
}

void fake_modules_reset_locked(void) {
    for (fake_library_t *library = loaded.libraries, *next; library; library = next) {
        next = library->next;
        unload_locked(library);
    }
}
