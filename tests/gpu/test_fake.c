/* The fake driver's own rules: calls, contexts, memory, errors. Whatever it is there to find is done here once, and must be
 * found. Streams are in test_fake_order.c, kernels in test_fake_kernels.c. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/fake_use.h"

/* ---- Calls ------------------------------------------------------------------------------------------- */

static void initialisation(void **state) {
    (void)state;
    fake_cuda_reset();
    cu = fake_cuda_table();
    int n = 0, version = 0;
    FAILS(DTP_CU_NOT_INITIALIZED, cu->cuDeviceGetCount(&n));
    OK(cu->cuDriverGetVersion(&version));
    assert_int_equal(13000, version);
    fake_cuda_set_devices(0, 0, 0);
    FAILS(DTP_CU_NO_DEVICE, cu->cuInit(0));
    fake_cuda_set_devices(2, 8, 6);
    OK(cu->cuInit(0));
    OK(cu->cuDeviceGetCount(&n));
    assert_int_equal(2, n);
    dtp_cu_device_t device = -1;
    FAILS(DTP_CU_INVALID_DEVICE, cu->cuDeviceGet(&device, 2));
    OK(cu->cuDeviceGet(&device, 1));
    OK(cu->cuDeviceGetAttribute(&n, DTP_CU_ATTR_MINOR, device));
    assert_int_equal(6, n);
    size_t bytes = 0;
    OK(cu->cuDeviceTotalMem(&bytes, device));
    assert_int_equal((size_t)1 << 30, bytes);
    dtp_cu_uuid_t a, b;
    OK(cu->cuDeviceGetUuid(&a, 0));
    OK(cu->cuDeviceGetUuid(&b, 1));
    assert_true(memcmp(&a, &b, sizeof a) != 0);
    assert_int_equal(0, fake_cuda_report(stderr));
}

static void child_of_fork(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    const pid_t pid = fork();
    if (pid == 0) {
        int n;
        _exit(cu->cuDeviceGetCount(&n) == DTP_CU_NOT_INITIALIZED ? 0 : 1);
    }
    int status = 1;
    assert_true(waitpid(pid, &status, 0) == pid);
    assert_int_equal(0, status);
    use_end(&u);
}

static void failing_calls(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    dtp_cu_event_t event;
    const int64_t calls = fake_cuda_calls(), created = fake_cuda_called("cuEventCreate");
    assert_false(fake_cuda_fail(1, DTP_CU_OUT_OF_MEMORY));
    OK(cu->cuEventCreate(&event, 0));
    OK(cu->cuEventDestroy(event)); /* cannot fail, and does not count */
    FAILS(DTP_CU_OUT_OF_MEMORY, cu->cuEventCreate(&event, 0));
    OK(cu->cuEventCreate(&event, 0));
    OK(cu->cuEventDestroy(event));
    assert_int_equal(calls + 3, fake_cuda_calls());
    assert_int_equal(created + 3, fake_cuda_called("cuEventCreate"));
    assert_false(fake_cuda_fail(7, DTP_CU_OUT_OF_MEMORY));
    assert_true(fake_cuda_fail(-1, 0));
    use_end(&u);
}

/* ---- Contexts ---------------------------------------------------------------------------------------- */

static void contexts(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    dtp_cu_ctx_t ctx;
    OK(cu->cuDevicePrimaryCtxRetain(&ctx, 0));
    assert_ptr_equal(u.ctx, ctx);
    OK(cu->cuDevicePrimaryCtxRelease(0));
    OK(cu->cuCtxPushCurrent(u.ctx));
    OK(cu->cuCtxPopCurrent(&ctx));
    assert_ptr_equal(u.ctx, ctx);
    OK(cu->cuStreamGetCtx(u.stream[0], &ctx));
    assert_ptr_equal(u.ctx, ctx);
    OK(cu->cuCtxPopCurrent(NULL));
    size_t a, b;
    FAILS(DTP_CU_INVALID_CONTEXT, cu->cuMemGetInfo(&a, &b));
    FAILS(DTP_CU_INVALID_CONTEXT, cu->cuStreamGetCtx(NULL, &ctx));
    OK(cu->cuStreamGetCtx(u.stream[0], &ctx));
    assert_int_equal(0, fake_cuda_wrongs());
    FAILS(DTP_CU_INVALID_CONTEXT, cu->cuCtxPopCurrent(NULL));
    assert_int_equal(1, fake_cuda_wrongs());
    OK(cu->cuCtxPushCurrent(u.ctx));
    use_release(&u, DTP_CU_SUCCESS);
    FAILS(DTP_CU_INVALID_CONTEXT, cu->cuCtxPushCurrent(u.ctx));
    assert_int_equal(2, fake_cuda_report(NULL));
}

static void *leaves_current(void *ctx) {
    OK(cu->cuCtxPushCurrent(ctx));
    return NULL;
}

static void context_left_current(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    pthread_t thread;
    assert_int_equal(0, pthread_create(&thread, NULL, leaves_current, u.ctx));
    pthread_join(thread, NULL);
    assert_string_equal("a thread ends with a context left current", fake_cuda_trap());
    OK(cu->cuCtxPushCurrent(u.ctx));
    use_release(&u, DTP_CU_SUCCESS);
    assert_int_equal(2, fake_cuda_report(NULL)); /* the thread's, and ours */
}

/* ---- Memory ------------------------------------------------------------------------------------------ */

static void pools(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    fake_cuda_set_memory((size_t)64 << 20);
    const size_t mib = (size_t)1 << 20;
    uint64_t value = UINT64_MAX;
    OK(cu->cuMemPoolSetAttribute(u.pool, DTP_CU_POOL_RELEASE_THRESHOLD, &value));
    dtp_cu_ptr_t at = use_alloc(&u, 3 * mib, 0);
    assert_int_equal(0, at % 256);
    OK(cu->cuMemPoolGetAttribute(u.pool, DTP_CU_POOL_USED_CURRENT, &value));
    assert_int_equal(3 * mib, value);
    OK(cu->cuMemPoolGetAttribute(u.pool, DTP_CU_POOL_RESERVED_CURRENT, &value));
    assert_int_equal(4 * mib, value);
    size_t left, total;
    OK(cu->cuMemGetInfo(&left, &total));
    assert_int_equal(60 * mib, left);
    OK(cu->cuMemFreeAsync(at, u.stream[0]));
    OK(cu->cuStreamSynchronize(u.stream[0]));
    OK(cu->cuMemPoolGetAttribute(u.pool, DTP_CU_POOL_RESERVED_CURRENT, &value));
    assert_int_equal(4 * mib, value); /* the threshold keeps it */
    FAILS(DTP_CU_OUT_OF_MEMORY, cu->cuMemAllocFromPoolAsync(&at, 65 * mib, u.pool, u.stream[0]));
    value = 0;
    OK(cu->cuMemPoolSetAttribute(u.pool, DTP_CU_POOL_RELEASE_THRESHOLD, &value));
    OK(cu->cuStreamSynchronize(u.stream[0]));
    OK(cu->cuMemPoolGetAttribute(u.pool, DTP_CU_POOL_RESERVED_CURRENT, &value));
    assert_int_equal(0, value);
    OK(cu->cuMemPoolGetAttribute(u.pool, DTP_CU_POOL_USED_HIGH, &value));
    assert_int_equal(3 * mib, value);
    dtp_cu_pool_props_t props = {
        .alloc_type = DTP_CU_ALLOC_PINNED, .location = {DTP_CU_LOCATION_DEVICE, 0}, .max_size = mib};
    dtp_cu_pool_t small;
    OK(cu->cuMemPoolCreate(&small, &props));
    FAILS(DTP_CU_OUT_OF_MEMORY, cu->cuMemAllocFromPoolAsync(&at, mib + 1, small, u.stream[0]));
    OK(cu->cuMemAllocFromPoolAsync(&at, mib, small, u.stream[0]));
    OK(cu->cuMemPoolDestroy(small)); /* its blocks stay */
    OK(cu->cuMemFreeAsync(at, u.stream[0]));
    use_end(&u);
}

/* What the host reads before it waits is nonsense; so is fresh memory; addresses cannot be read through. */
static void copies(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    char there[64], back[64];
    memset(there, 1, sizeof there);
    const dtp_cu_ptr_t a = use_alloc(&u, 64, 0), b = use_alloc(&u, 64, 0);
    fake_cuda_hold(true);
    OK(cu->cuMemcpyHtoDAsync(a, there, 64, u.stream[0]));
    memset(there, 2, sizeof there); /* pageable memory is read by the call */
    OK(cu->cuMemcpyDtoDAsync(b + 32, a, 32, u.stream[0]));
    OK(cu->cuMemsetD8Async(a, 3, 8, u.stream[0]));
    OK(cu->cuMemcpyDtoHAsync(back, b, 64, u.stream[0]));
    assert_int_equal((unsigned char)back[0], FAKE_CUDA_POISON);
    FAILS(DTP_CU_NOT_READY, cu->cuStreamQuery(u.stream[0]));
    fake_cuda_hold(false);
    OK(cu->cuStreamSynchronize(u.stream[0]));
    OK(cu->cuStreamQuery(u.stream[0]));
    assert_int_equal((unsigned char)back[31], FAKE_CUDA_FRESH);
    assert_int_equal(back[32], 1);
    assert_int_equal(((const char *)fake_cuda_peek(a, 9))[7], 3);
    assert_int_equal(((const char *)fake_cuda_peek(a, 9))[8], 1);
    OK(cu->cuMemFreeAsync(a, u.stream[0]));
    OK(cu->cuMemFreeAsync(b, u.stream[0]));
    const pid_t pid = fork();
    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL);
        (void)*(volatile char *)(uintptr_t)a;
        _exit(0);
    }
    int status = 0;
    assert_true(waitpid(pid, &status, 0) == pid);
    assert_true(status != 0);
    use_end(&u);
}

static void pinned_memory(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    char *host;
    OK(cu->cuMemHostAlloc((void **)&host, 100, DTP_CU_HOST_PORTABLE | DTP_CU_HOST_MAPPED));
    const dtp_cu_ptr_t at = use_alloc(&u, 100, 0);
    dtp_cu_ptr_t mapped;
    OK(cu->cuMemHostGetDevicePointer(&mapped, host, 0));
    assert_true(mapped != (uintptr_t)host);
    memset(host, 1, 100);
    fake_cuda_hold(true);
    OK(cu->cuMemcpyHtoDAsync(at, host, 100, u.stream[0]));
    memset(host, 2, 100); /* too early: the copy reads it later */
    fake_cuda_hold(false);
    OK(cu->cuStreamSynchronize(u.stream[0]));
    assert_int_equal(((const char *)fake_cuda_peek(at, 100))[99], 2);
    OK(cu->cuMemcpyDtoDAsync(at, mapped + 50, 50, u.stream[0]));
    OK(cu->cuMemFreeAsync(at, u.stream[0]));
    OK(cu->cuStreamSynchronize(u.stream[0]));
    OK(cu->cuMemFreeHost(host));
    use_end(&u);
}

static void pinned_memory_freed_early(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    void *host;
    OK(cu->cuMemHostAlloc(&host, 100, 0));
    const dtp_cu_ptr_t at = use_alloc(&u, 100, 0);
    fake_cuda_hold(true);
    OK(cu->cuMemcpyDtoHAsync(host, at, 100, u.stream[0]));
    assert_int_equal(0, fake_cuda_fail_item(-1, 0));
    FAILS(DTP_CU_SUCCESS, cu->cuMemFreeHost(host));
    assert_int_equal(1, fake_cuda_wrongs());
    fake_cuda_reset();
}

static void red_zones(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    char *host;
    OK(cu->cuMemHostAlloc((void **)&host, 10, 0));
    host[10] = 1;
    OK(cu->cuMemFreeHost(host));
    assert_string_equal("written 0 bytes behind a block of 10 of pinned memory", fake_cuda_trap());
    OK(cu->cuMemHostAlloc((void **)&host, 10, 0));
    host[-1] = 1;
    use_release(&u, DTP_CU_SUCCESS);
    assert_int_equal(3, fake_cuda_report(NULL)); /* both, and the block that is not freed */
    fake_cuda_reset();
}

static void wrong_addresses(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    char host[64] = "";
    const dtp_cu_ptr_t at = use_alloc(&u, 64, 0);
    FAILS(DTP_CU_INVALID_VALUE, cu->cuMemcpyHtoDAsync(at + 1, host, 64, u.stream[0]));
    assert_string_equal("cuMemcpyHtoDAsync: 64 bytes at 1 of a block of 64", fake_cuda_trap());
    FAILS(DTP_CU_INVALID_VALUE, cu->cuMemcpyHtoDAsync((uintptr_t)host, host, 1, u.stream[0]));
    FAILS(DTP_CU_INVALID_VALUE, cu->cuMemcpyHtoDAsync(at, (void *)(uintptr_t)at, 1, u.stream[0]));
    FAILS(DTP_CU_INVALID_VALUE, cu->cuMemcpyDtoDAsync(at, at + 1, 2, u.stream[0]));
    FAILS(DTP_CU_INVALID_VALUE, cu->cuMemFreeAsync(at + 8, u.stream[0]));
    OK(cu->cuMemFreeAsync(at, u.stream[0]));
    FAILS(DTP_CU_INVALID_VALUE, cu->cuMemFreeAsync(at, u.stream[0]));
    OK(cu->cuStreamSynchronize(u.stream[0]));
    FAILS(DTP_CU_INVALID_VALUE, cu->cuMemsetD8Async(at, 0, 1, u.stream[0]));
    assert_string_equal("cuMemsetD8Async: 1 bytes of a block of 64 that is freed", fake_cuda_trap());
    FAILS(DTP_CU_INVALID_HANDLE, cu->cuStreamSynchronize((dtp_cu_stream_t)(uintptr_t)0x1234));
    assert_int_equal(8, fake_cuda_wrongs());
    fake_cuda_reset();
}

/* Addresses are used again when there are no others; blocks never overlap. */
static void few_addresses(void **state) {
    (void)state;
    enum { BLOCKS = 8, ROUNDS = 200 };
    use_t u;
    use_begin(&u);
    fake_cuda_set_addresses(40000);
    dtp_cu_ptr_t at[BLOCKS] = {0}, first = 0;
    size_t bytes[BLOCKS];
    bool again = false;
    for (int i = 0; i < ROUNDS; ++i) {
        const int k = i * 5 % BLOCKS;
        if (at[k]) OK(cu->cuMemFreeAsync(at[k], u.stream[0]));
        OK(cu->cuStreamSynchronize(u.stream[0]));
        bytes[k] = 1 + (size_t)(i * 977 % 3000);
        at[k] = use_alloc(&u, bytes[k], 0);
        if (i && at[k] == first) again = true;
        if (!i) first = at[k];
        for (int j = 0; j < BLOCKS; ++j)
            assert_true(j == k || !at[j] || at[j] + bytes[j] < at[k] || at[k] + bytes[k] < at[j]);
    }
    assert_true(again);
    dtp_cu_ptr_t large;
    FAILS(DTP_CU_OUT_OF_MEMORY, cu->cuMemAllocFromPoolAsync(&large, 40000, u.pool, u.stream[0]));
    for (int j = 0; j < BLOCKS; ++j) OK(cu->cuMemFreeAsync(at[j], u.stream[0]));
    use_end(&u);
}

/* What is enqueued before a copy to pinned memory still finds there what the host has written. */
static void pinned_memory_twice(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    char *host;
    OK(cu->cuMemHostAlloc((void **)&host, 8, 0));
    memset(host, 7, 8);
    const dtp_cu_ptr_t a = use_alloc(&u, 8, 0), b = use_alloc(&u, 8, 0);
    fake_cuda_hold(true);
    OK(cu->cuMemsetD8Async(b, 9, 8, u.stream[0]));
    OK(cu->cuMemcpyHtoDAsync(a, host, 8, u.stream[0]));
    OK(cu->cuMemcpyDtoHAsync(host, b, 8, u.stream[0]));
    fake_cuda_hold(false);
    OK(cu->cuStreamSynchronize(u.stream[0]));
    assert_int_equal(7, *(const char *)fake_cuda_peek(a, 1));
    assert_int_equal(9, host[0]);
    OK(cu->cuMemFreeHost(host));
    OK(cu->cuMemFreeAsync(a, u.stream[0]));
    OK(cu->cuMemFreeAsync(b, u.stream[0]));
    use_end(&u);
}

static void two_devices(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    fake_cuda_set_devices(2, 9, 0);
    dtp_cu_ctx_t ctx;
    dtp_cu_stream_t s;
    const dtp_cu_ptr_t at = use_alloc(&u, 8, 0);
    OK(cu->cuStreamSynchronize(u.stream[0]));
    OK(cu->cuDevicePrimaryCtxRetain(&ctx, 1));
    OK(cu->cuCtxPushCurrent(ctx));
    OK(cu->cuStreamCreate(&s, DTP_CU_STREAM_NON_BLOCKING));
    FAILS(DTP_CU_INVALID_HANDLE, cu->cuStreamSynchronize(u.stream[0]));
    assert_string_equal("cuStreamSynchronize: a stream of device 0, and device 1 is current",
                        fake_cuda_trap());
    OK(cu->cuMemsetD8Async(at, 0, 8, s));
    FAILS(DTP_CU_ILLEGAL_ADDRESS, cu->cuStreamSynchronize(s));
    assert_string_equal("a fill: 8 bytes at 0 of a block of 8 is of another device", fake_cuda_trap());
    FAILS(DTP_CU_ILLEGAL_ADDRESS, cu->cuStreamDestroy(s));
    OK(cu->cuCtxPopCurrent(NULL));
    FAILS(DTP_CU_ILLEGAL_ADDRESS, cu->cuDevicePrimaryCtxRelease(1));
    OK(cu->cuMemFreeAsync(at, u.stream[0])); /* the other device is well */
    use_release(&u, DTP_CU_SUCCESS);
    assert_int_equal(1, fake_cuda_report(NULL));
}

/* ---- Errors ------------------------------------------------------------------------------------------ */

/* After a sticky error nothing is executed, every call answers the error, and what is freed is freed. */
static void sticky_errors(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    seen_t seen = {.ask = false};
    dtp_cu_event_t event;
    dtp_cu_ptr_t at;
    void *host;
    OK(cu->cuEventCreate(&event, 0));
    OK(cu->cuMemHostAlloc(&host, 8, 0));
    at = use_alloc(&u, 8, 0);
    OK(cu->cuStreamSynchronize(u.stream[0]));
    fake_cuda_hold(true);
    fake_cuda_fail_item(0, DTP_CU_ILLEGAL_ADDRESS);
    OK(cu->cuMemsetD8Async(at, 0, 8, u.stream[0]));
    OK(cu->cuEventRecord(event, u.stream[0]));
    OK(cu->cuLaunchHostFunc(u.stream[0], see, &seen));
    fake_cuda_hold(false);
    FAILS(DTP_CU_ILLEGAL_ADDRESS, cu->cuStreamSynchronize(u.stream[0]));
    FAILS(DTP_CU_ILLEGAL_ADDRESS, cu->cuStreamSynchronize(u.stream[1]));
    FAILS(DTP_CU_ILLEGAL_ADDRESS, cu->cuEventQuery(event));
    FAILS(DTP_CU_ILLEGAL_ADDRESS, cu->cuMemsetD8Async(at, 0, 8, u.stream[1]));
    uint64_t used;
    FAILS(DTP_CU_ILLEGAL_ADDRESS, cu->cuMemPoolGetAttribute(u.pool, DTP_CU_POOL_USED_CURRENT, &used));
    fake_cuda_drain();
    assert_int_equal(0, atomic_load(&seen.calls));
    FAILS(DTP_CU_ILLEGAL_ADDRESS, cu->cuMemFreeAsync(at, u.stream[0]));
    FAILS(DTP_CU_ILLEGAL_ADDRESS, cu->cuEventDestroy(event));
    FAILS(DTP_CU_ILLEGAL_ADDRESS, cu->cuMemFreeHost(host));
    use_release(&u, DTP_CU_ILLEGAL_ADDRESS);
    assert_int_equal(0, fake_cuda_report(stderr));
    OK(cu->cuDevicePrimaryCtxRetain(&u.ctx, 0)); /* a new one is healthy */
    OK(cu->cuCtxPushCurrent(u.ctx));
    OK(cu->cuEventCreate(&event, 0));
    fake_cuda_fail(0, DTP_CU_LAUNCH_FAILED);
    FAILS(DTP_CU_LAUNCH_FAILED, cu->cuStreamSynchronize(NULL));
    FAILS(DTP_CU_LAUNCH_FAILED, cu->cuStreamSynchronize(NULL)); /* a call's failure may be sticky, too */
    fake_cuda_reset();
}

static void leaks(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    dtp_cu_event_t event;
    void *host;
    (void)use_alloc(&u, 8, 0);
    OK(cu->cuEventCreate(&event, 0));
    OK(cu->cuMemHostAlloc(&host, 8, 0));
    const fake_cuda_stats_t stats = fake_cuda_stats();
    assert_int_equal(1, stats.blocks);
    assert_int_equal(512, stats.bytes);
    assert_int_equal(2, stats.allocations);
    /* The block, the pinned one, two streams, the event, the pool, the context, which is also current. */
    assert_int_equal(8, fake_cuda_report(stderr));
    fake_cuda_reset();
    assert_int_equal(0, fake_cuda_report(stderr));
}

/* ---- Threads ----------------------------------------------------------------------------------------- */

static void *work_alone(void *arg) {
    const use_t *u = arg;
    OK(cu->cuCtxPushCurrent(u->ctx));
    dtp_cu_stream_t s;
    OK(cu->cuStreamCreate(&s, 0));
    for (int i = 0; i < 50; ++i) {
        unsigned char back[16];
        dtp_cu_ptr_t at;
        OK(cu->cuMemAllocFromPoolAsync(&at, sizeof back, u->pool, s));
        OK(cu->cuMemsetD8Async(at, (unsigned char)i, sizeof back, s));
        OK(cu->cuMemcpyDtoHAsync(back, at, sizeof back, s));
        OK(cu->cuMemFreeAsync(at, s));
        OK(cu->cuStreamSynchronize(s));
        assert_int_equal(i, back[15]);
        OK(cu->cuMemcpyHtoDAsync(0, NULL, 0, (dtp_cu_stream_t)DTP_CU_STREAM_PER_THREAD));
    }
    OK(cu->cuStreamDestroy(s));
    OK(cu->cuCtxPopCurrent(NULL));
    return NULL;
}

static void threads(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    pthread_t thread[4];
    for (int i = 0; i < 4; ++i) assert_int_equal(0, pthread_create(&thread[i], NULL, work_alone, &u));
    for (int i = 0; i < 4; ++i) pthread_join(thread[i], NULL);
    use_end(&u);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(initialisation),
        cmocka_unit_test(child_of_fork),
        cmocka_unit_test(failing_calls),
        cmocka_unit_test(contexts),
        cmocka_unit_test(context_left_current),
        cmocka_unit_test(pools),
        cmocka_unit_test(copies),
        cmocka_unit_test(pinned_memory),
        cmocka_unit_test(pinned_memory_freed_early),
        cmocka_unit_test(red_zones),
        cmocka_unit_test(wrong_addresses),
        cmocka_unit_test(few_addresses),
        cmocka_unit_test(pinned_memory_twice),
        cmocka_unit_test(two_devices),
        cmocka_unit_test(sticky_errors),
        cmocka_unit_test(leaks),
        cmocka_unit_test(threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
