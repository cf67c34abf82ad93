/* What tests of the fake driver share: a device ready for use, with a pool and two streams. */
#ifndef TESTS_GPU_FAKE_USE_H
#define TESTS_GPU_FAKE_USE_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu/fake/fake_cuda.h"

typedef struct {
    dtp_cu_ctx_t ctx;
    dtp_cu_pool_t pool;
    dtp_cu_stream_t stream[2]; /* non-blocking */
} use_t;

static const dtp_cu_t *cu;

#define OK(call) assert_int_equal(DTP_CU_SUCCESS, call)
#define FAILS(result, call) assert_int_equal(result, call)

/* A fresh driver; the context of device 0 is current until use_end. */
static inline void use_begin(use_t *u) {
    fake_cuda_reset();
    cu = fake_cuda_table();
    OK(cu->cuInit(0));
    OK(cu->cuDevicePrimaryCtxRetain(&u->ctx, 0));
    OK(cu->cuCtxPushCurrent(u->ctx));
    dtp_cu_pool_props_t props = {.alloc_type = DTP_CU_ALLOC_PINNED, .location = {DTP_CU_LOCATION_DEVICE, 0}};
    OK(cu->cuMemPoolCreate(&u->pool, &props));
    for (int i = 0; i < 2; ++i) OK(cu->cuStreamCreate(&u->stream[i], DTP_CU_STREAM_NON_BLOCKING));
}

/* Gives everything back. A poisoned context answers its error; a test that has poisoned it says so by sticky. */
static inline void use_release(use_t *u, dtp_cu_result_t sticky) {
    for (int i = 0; i < 2; ++i) FAILS(sticky, cu->cuStreamDestroy(u->stream[i]));
    FAILS(sticky, cu->cuMemPoolDestroy(u->pool));
    OK(cu->cuCtxPopCurrent(NULL));
    FAILS(sticky, cu->cuDevicePrimaryCtxRelease(0));
}

/* And nothing must be wrong. */
static inline void use_end(use_t *u) {
    use_release(u, DTP_CU_SUCCESS);
    assert_int_equal(0, fake_cuda_report(stderr));
}

static inline dtp_cu_ptr_t use_alloc(const use_t *u, size_t bytes, int stream) {
    dtp_cu_ptr_t at = 0;
    OK(cu->cuMemAllocFromPoolAsync(&at, bytes, u->pool, u->stream[stream]));
    return at;
}

/* A host function, what it has seen; ask: it makes a call, which it must not. */
typedef struct {
    atomic_int calls;
    dtp_cu_result_t inside;
    bool ask;
    pthread_t thread;
} seen_t;

static inline void see(void *arg) {
    seen_t *seen = arg;
    seen->thread = pthread_self();
    int n;
    if (seen->ask) seen->inside = cu->cuDeviceGetCount(&n);
    atomic_fetch_add(&seen->calls, 1);
}

/* The next event of the first stream, which the second one waits for. */
static inline void use_order(const use_t *u, int from, int to) {
    dtp_cu_event_t event;
    OK(cu->cuEventCreate(&event, DTP_CU_EVENT_DISABLE_TIMING));
    OK(cu->cuEventRecord(event, u->stream[from]));
    OK(cu->cuStreamWaitEvent(u->stream[to], event, 0));
    OK(cu->cuEventDestroy(event));
}

#endif
