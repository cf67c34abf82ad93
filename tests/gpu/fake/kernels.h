/* Kernels of the fake driver, for the files that load and launch them. */
#ifndef TESTS_GPU_FAKE_KERNELS_H
#define TESTS_GPU_FAKE_KERNELS_H

#include "gpu/fake/fake.h"

typedef struct fake_library fake_library_t;
struct fake_kernel {
    fake_kernel_t *next;
    uintptr_t handle;
    int refs; /* its library's handle, launches that are enqueued */
    fake_library_t *library;
    int first; /* the device for which it was asked for */
    const ptx_kernel_t *ptx[FAKE_MAX_DEVICES];
    bool loaded[FAKE_MAX_DEVICES];          /* by cuFuncLoad, or by its first launch */
    unsigned more_shared[FAKE_MAX_DEVICES]; /* dynamic bytes that cuFuncSetAttribute allowed */
};

/* The kernel of a function of the current device, or of a kernel; NULL: there is none. */
fake_kernel_t *fake_kernel_find_locked(uintptr_t handle, const char *call);
/* Makes it ready on the current device. */
dtp_cu_result_t fake_kernel_need_locked(fake_kernel_t *kernel);
/* Bytes of shared memory that a block may have at most. */
unsigned fake_shared_optin(void);

#endif
