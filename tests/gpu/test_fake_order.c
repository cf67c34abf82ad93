/* The fake driver's streams, events, host functions and waits for values: what comes after what, and missing waits, each of which
 * must be found for every seed. */
#include <string.h>
#include <unistd.h>

#include "gpu/fake_use.h"

/* ---- Streams ------------------------------------------------------------------------------------------- */

/* Memory is used on another stream than where it was allocated, and freed on the first one. */
static dtp_cu_result_t use_elsewhere(int seed, bool order_use, bool order_free) {
    use_t u;
    use_begin(&u);
    fake_cuda_set_seed((uint64_t)seed);
    fake_cuda_set_delay(-1);
    const dtp_cu_ptr_t at = use_alloc(&u, 64, 0);
    if (order_use) use_order(&u, 0, 1);
    dtp_cu_result_t result = cu->cuMemsetD8Async(at, 1, 64, u.stream[1]);
    if (order_free) use_order(&u, 1, 0);
    if (!result) result = cu->cuMemFreeAsync(at, u.stream[0]);
    if (!result) result = cu->cuStreamSynchronize(u.stream[1]);
    if (!result) result = cu->cuStreamSynchronize(u.stream[0]);
    use_release(&u, result);
    return result;
}

static void missing_waits_of_memory(void **state) {
    (void)state;
    for (int seed = 0; seed < 30; ++seed) {
        OK(use_elsewhere(seed, true, true));
        assert_int_equal(0, fake_cuda_report(stderr));
        FAILS(DTP_CU_ILLEGAL_ADDRESS, use_elsewhere(seed, false, true));
        FAILS(DTP_CU_ILLEGAL_ADDRESS, use_elsewhere(seed, true, false));
    }
}

/* The first stream writes, the second one reads; what comes back, or the error. */
static dtp_cu_result_t read_elsewhere(int seed, bool ordered, unsigned char *back) {
    use_t u;
    use_begin(&u);
    fake_cuda_set_seed((uint64_t)seed);
    fake_cuda_set_delay(-1);
    const dtp_cu_ptr_t at = use_alloc(&u, 1, 0);
    OK(cu->cuStreamSynchronize(u.stream[0]));
    OK(cu->cuMemsetD8Async(at, 1, 1, u.stream[0]));
    if (ordered) use_order(&u, 0, 1);
    OK(cu->cuMemcpyDtoHAsync(back, at, 1, u.stream[1]));
    dtp_cu_result_t result = cu->cuStreamSynchronize(u.stream[1]);
    if (!result) result = cu->cuStreamSynchronize(u.stream[0]);
    FAILS(result, cu->cuMemFreeAsync(at, u.stream[0]));
    use_release(&u, result);
    assert_int_equal(0, fake_cuda_report(stderr));
    return result;
}

/* Without a wait the copy comes too early for some seeds, the same for the same seed; it is found for all. */
static void missing_waits_between_streams(void **state) {
    (void)state;
    int early = 0;
    for (int seed = 0; seed < 40; ++seed) {
        unsigned char back = 0, again = 0;
        OK(read_elsewhere(seed, true, &back));
        assert_int_equal(1, back);
        FAILS(DTP_CU_LAUNCH_FAILED, read_elsewhere(seed, false, &back));
        FAILS(DTP_CU_LAUNCH_FAILED, read_elsewhere(seed, false, &again));
        assert_int_equal(back, again);
        early += back != 1;
    }
    assert_in_range(early, 5, 35);
}

/* The legacy stream waits for blocking streams, the thread's own among them, and they for it; others do not. */
static bool legacy_is_ordered(int seed, unsigned flags, bool per_thread) {
    use_t u;
    use_begin(&u);
    fake_cuda_set_seed((uint64_t)seed);
    fake_cuda_set_delay(-1);
    dtp_cu_stream_t s;
    OK(cu->cuStreamCreate(&s, flags));
    const dtp_cu_stream_t created = s;
    if (per_thread) s = (dtp_cu_stream_t)DTP_CU_STREAM_PER_THREAD;
    char back[2] = {0};
    dtp_cu_ptr_t at = use_alloc(&u, 1, 0);
    OK(cu->cuStreamSynchronize(u.stream[0]));
    OK(cu->cuMemsetD8Async(at, 1, 1, s));
    OK(cu->cuMemcpyDtoHAsync(&back[0], at, 1, NULL));
    OK(cu->cuMemsetD8Async(at, 2, 1, (dtp_cu_stream_t)DTP_CU_STREAM_LEGACY));
    OK(cu->cuMemcpyDtoHAsync(&back[1], at, 1, s));
    dtp_cu_result_t result = cu->cuStreamSynchronize(NULL);
    if (!result) result = cu->cuStreamSynchronize(s);
    FAILS(result, cu->cuStreamDestroy(created));
    FAILS(result, cu->cuMemFreeAsync(at, u.stream[0]));
    use_release(&u, result);
    assert_int_equal(0, fake_cuda_report(stderr));
    return !result && back[0] == 1 && back[1] == 2;
}

static void legacy_stream(void **state) {
    (void)state;
    for (int seed = 0; seed < 20; ++seed) {
        assert_true(legacy_is_ordered(seed, 0, false));
        assert_true(legacy_is_ordered(seed, 0, true));
        assert_false(legacy_is_ordered(seed, DTP_CU_STREAM_NON_BLOCKING, false));
    }
}

/* ---- Events, host functions, waits for values -------------------------------------------------------- */

static void events(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    dtp_cu_event_t a, b, plain;
    float ms = -1;
    OK(cu->cuEventCreate(&a, 0));
    OK(cu->cuEventCreate(&b, DTP_CU_EVENT_BLOCKING_SYNC));
    OK(cu->cuEventCreate(&plain, DTP_CU_EVENT_DISABLE_TIMING));
    OK(cu->cuEventQuery(a)); /* never recorded */
    OK(cu->cuEventSynchronize(a));
    fake_cuda_hold(true);
    OK(cu->cuEventRecord(a, u.stream[0]));
    OK(cu->cuEventRecord(b, u.stream[0]));
    FAILS(DTP_CU_NOT_READY, cu->cuEventQuery(b));
    FAILS(DTP_CU_NOT_READY, cu->cuEventElapsedTime(&ms, a, b));
    fake_cuda_hold(false);
    OK(cu->cuEventSynchronize(b));
    OK(cu->cuEventQuery(a));
    OK(cu->cuEventElapsedTime(&ms, a, b));
    assert_true(ms >= 0);
    OK(cu->cuEventRecord(plain, u.stream[0]));
    FAILS(DTP_CU_INVALID_HANDLE, cu->cuEventElapsedTime(&ms, a, plain));
    OK(cu->cuEventDestroy(a));
    OK(cu->cuEventDestroy(b));
    OK(cu->cuEventDestroy(plain));
    use_end(&u);
}

static void host_functions(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    seen_t seen = {.ask = false};
    for (int i = 0; i < 10; ++i) OK(cu->cuLaunchHostFunc(u.stream[i % 2], see, &seen));
    OK(cu->cuStreamSynchronize(u.stream[0]));
    OK(cu->cuStreamSynchronize(u.stream[1]));
    assert_int_equal(10, atomic_load(&seen.calls));
    assert_false(pthread_equal(pthread_self(), seen.thread));
    /* They come without a call that waits, too. */
    OK(cu->cuLaunchHostFunc(u.stream[0], see, &seen));
    while (atomic_load(&seen.calls) < 11) usleep(100);
    use_end(&u);
}

static void host_function_that_calls(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    seen_t seen = {.ask = true};
    OK(cu->cuLaunchHostFunc(u.stream[0], see, &seen));
    OK(cu->cuStreamSynchronize(u.stream[0]));
    assert_int_equal(DTP_CU_NOT_PERMITTED, seen.inside);
    use_release(&u, DTP_CU_SUCCESS);
    assert_int_equal(1, fake_cuda_report(NULL));
}

static void *set_value(void *word) {
    usleep(2000);
    __atomic_store_n((uint32_t *)word, 5, __ATOMIC_RELEASE);
    return NULL;
}

static void waits_for_values(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    uint32_t *word;
    dtp_cu_ptr_t at;
    OK(cu->cuMemHostAlloc((void **)&word, sizeof *word, DTP_CU_HOST_MAPPED));
    OK(cu->cuMemHostGetDevicePointer(&at, word, 0));
    *word = 0;
    seen_t seen = {.ask = false};
    OK(cu->cuStreamWaitValue32(u.stream[0], at, 5, DTP_CU_WAIT_GEQ));
    OK(cu->cuLaunchHostFunc(u.stream[0], see, &seen));
    OK(cu->cuLaunchHostFunc(u.stream[1], see, &seen));
    OK(cu->cuStreamSynchronize(u.stream[1]));
    assert_int_equal(1, atomic_load(&seen.calls));
    pthread_t thread;
    assert_int_equal(0, pthread_create(&thread, NULL, set_value, word));
    OK(cu->cuStreamSynchronize(u.stream[0]));
    assert_int_equal(2, atomic_load(&seen.calls));
    pthread_join(thread, NULL);
    OK(cu->cuMemFreeHost(word));
    use_end(&u);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_waits_of_memory), cmocka_unit_test(missing_waits_between_streams),
        cmocka_unit_test(legacy_stream),           cmocka_unit_test(events),
        cmocka_unit_test(host_functions),          cmocka_unit_test(host_function_that_calls),
        cmocka_unit_test(waits_for_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
