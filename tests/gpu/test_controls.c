/* Would the tests of the CUDA engine see it if a wait were missing, memory were freed too early or something were not given back?
 * Each call of the driver that makes a stream wait, or gives something back, does nothing here, in turn, and a short program must be
 * found to be wrong, for every seed. Bugs inside kernels: controls/. */
#include "gpu/driver/cu_api.h"
#include "gpu/gpu_world.h"
#include "support/check.h"
#include "support/streams.h"
#include "support/upload.h"

enum { SEEDS = 10 };

/* x = 1, then 2 (x + 1) + 1: the first step on t, which the host waits for, the second on s, which waits for an event of the
 * host, the third on t, which waits for s. Answers whether the program saw nothing wrong. */
static bool is_right(dnnl_tp_stream_t s, dnnl_tp_stream_t t, dnnl_tp_primitive_t add,
                     dnnl_tp_primitive_t twice, dnnl_tp_memory_t x) {
    dnnl_tp_event_t host = NULL, done = NULL;
    void *mapped = NULL;
    float value = 0;
    dnnl_tp_status_t st = dnnl_tp_event_create_host(&host, gpu);
    fake_cuda_hold(true); /* the host must not learn by chance that something is done */
    if (!st) st = dnnl_tp_stream_wait_event(s, host);
    if (!st) st = gpu_step(twice, s, x);
    if (!st) st = gpu_step(add, t, x);
    fake_cuda_hold(false);
    if (!st) st = dnnl_tp_stream_wait(t);
    fake_cuda_hold(true);
    if (host) CHECK_OK(dnnl_tp_event_signal(host, dnnl_tp_success));
    if (!st) st = dnnl_tp_stream_record_event(s, &done);
    if (!st) st = dnnl_tp_stream_wait_event(t, done);
    if (!st) st = gpu_step(add, t, x);
    fake_cuda_hold(false);
    if (!st) st = dnnl_tp_stream_wait(t);
    if (!st) st = dnnl_tp_memory_map_data(x, &mapped);
    if (!st) value = ((float *)mapped)[GPU_N - 1];
    if (mapped) st = dnnl_tp_memory_unmap_data(x, mapped);
    (void)dnnl_tp_event_destroy(host);
    (void)dnnl_tp_event_destroy(done);
    return !st && value == 5;
}

/* Runs the program while the call does nothing; the device may be lost by that. */
static bool is_right_without(const char *call, uint64_t seed) {
    void *none = NULL;
    assert_int_equal(gpu_setup(&none), 0);
    dnnl_tp_stream_t s = gpu_stream(), t = gpu_stream();
    dnnl_tp_primitive_t add = gpu_linear(gpu, 1, 1), twice = gpu_linear(gpu, 2, 0);
    dnnl_tp_memory_t x = gpu_vector(gpu, 1);
    fake_cuda_set_seed(seed);
    fake_cuda_ignore(call);
    bool right = is_right(s, t, add, twice, x);
    fake_cuda_ignore(NULL);
    fake_cuda_drain();
    if (dnnl_tp_stream_wait(s) != dnnl_tp_success || dnnl_tp_stream_wait(t) != dnnl_tp_success) right = false;
    (void)dnnl_tp_stream_destroy(s);
    (void)dnnl_tp_stream_destroy(t);
    (void)dnnl_tp_primitive_destroy(add);
    (void)dnnl_tp_primitive_destroy(twice);
    (void)dnnl_tp_memory_destroy(x);
    (void)dnnl_tp_engine_destroy(gpu);
    if (right) assert_int_equal(fake_cuda_report(stderr), 0);
    return right;
}

static void each_wait_is_needed(void **state) {
    (void)state;
    static const char *const calls[] = {"cuStreamWaitEvent", "cuStreamWaitValue32"};
    for (uint64_t seed = 1; seed <= SEEDS; ++seed) {
        if (!is_right_without(NULL, seed)) fail_msg("seed %d: wrong though nothing is missing", (int)seed);
        for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i)
            if (is_right_without(calls[i], seed)) fail_msg("seed %d: %s may be missing", (int)seed, calls[i]);
    }
}

/* Memory that is destroyed while a kernel may still use it; late: a kernel is given it afterwards, as a handle. */
static bool sees_use_after_free(uint64_t seed, bool late) {
    void *none = NULL, *handle;
    assert_int_equal(gpu_setup(&none), 0);
    fake_cuda_set_seed(seed);
    dnnl_tp_stream_t s = gpu_stream();
    dnnl_tp_primitive_t twice = gpu_linear(gpu, 2, 0);
    dnnl_tp_memory_t x = gpu_vector(gpu, 1), same;
    const_dnnl_tp_memory_desc_t md;
    CHECK_OK(dnnl_tp_memory_get_memory_desc(x, &md));
    CHECK_OK(dnnl_tp_memory_get_data_handle(x, &handle));
    CHECK_OK(dnnl_tp_memory_create(&same, md, gpu, handle));
    fake_cuda_hold(true);
    if (!late) CHECK_OK(gpu_step(twice, s, x));
    CHECK_OK(dnnl_tp_memory_destroy(x));
    if (late) CHECK_OK(gpu_step(twice, s, same));
    fake_cuda_hold(false);
    const bool failed = dnnl_tp_stream_wait(s) != dnnl_tp_success;
    (void)dnnl_tp_stream_destroy(s);
    (void)dnnl_tp_primitive_destroy(twice);
    (void)dnnl_tp_memory_destroy(same);
    (void)dnnl_tp_engine_destroy(gpu);
    return fake_cuda_report(NULL) > 0 || failed;
}

static void use_after_free_is_seen(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; ++seed)
        for (int late = 0; late < 2; ++late)
            if (!sees_use_after_free(seed, late))
                fail_msg("seed %d: a use after the end is not seen", (int)seed);
}

/* What gives something back does nothing. */
static dtp_cu_result_t keep_context(dtp_cu_device_t device) { return (void)device, DTP_CU_SUCCESS; }
static dtp_cu_result_t keep_stream(dtp_cu_stream_t stream) { return (void)stream, DTP_CU_SUCCESS; }
static dtp_cu_result_t keep_event(dtp_cu_event_t event) { return (void)event, DTP_CU_SUCCESS; }
static dtp_cu_result_t keep_pool(dtp_cu_pool_t pool) { return (void)pool, DTP_CU_SUCCESS; }
static dtp_cu_result_t keep_pinned(void *at) { return (void)at, DTP_CU_SUCCESS; }
static dtp_cu_result_t keep_library(dtp_cu_library_t library) { return (void)library, DTP_CU_SUCCESS; }
static dtp_cu_result_t keep_memory(dtp_cu_ptr_t at, dtp_cu_stream_t stream) {
    return (void)at, (void)stream, DTP_CU_SUCCESS;
}

static void each_leak_is_seen(void **state) {
    static const char *const names[] = {"nothing", "contexts",      "streams",   "events",
                                        "pools",   "pinned memory", "libraries", "memory"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        for (uint64_t seed = 1; seed <= SEEDS; ++seed) {
            dtp_cu_t cu = *fake_cuda_table();
            if (i == 1) cu.cuDevicePrimaryCtxRelease = keep_context;
            if (i == 2) cu.cuStreamDestroy = keep_stream;
            if (i == 3) cu.cuEventDestroy = keep_event;
            if (i == 4) cu.cuMemPoolDestroy = keep_pool;
            if (i == 5) cu.cuMemFreeHost = keep_pinned;
            if (i == 6) cu.cuLibraryUnload = keep_library;
            if (i == 7) cu.cuMemFreeAsync = keep_memory;
            assert_int_equal(gpu_setup(state), 0);
            CHECK_OK(dnnl_tp_engine_destroy(gpu));
            fake_cuda_reset();
            fake_cuda_set_seed(seed);
            dtp_cu_set_for_test(&cu);
            CHECK_OK(dnnl_tp_engine_create(&gpu, dnnl_tp_gpu, 0));
            dnnl_tp_stream_t s = gpu_stream(), t = gpu_stream();
            dnnl_tp_primitive_t add = gpu_linear(gpu, 1, 1), twice = gpu_linear(gpu, 2, 0);
            dnnl_tp_memory_t x = gpu_vector(gpu, 1);
            assert_true(is_right(s, t, add, twice, x));
            CHECK_OK(dnnl_tp_stream_destroy(s));
            CHECK_OK(dnnl_tp_stream_destroy(t));
            CHECK_OK(dnnl_tp_primitive_destroy(add));
            CHECK_OK(dnnl_tp_primitive_destroy(twice));
            CHECK_OK(dnnl_tp_memory_destroy(x));
            CHECK_OK(dnnl_tp_engine_destroy(gpu));
            const int left = fake_cuda_report(NULL);
            if ((left > 0) != (i > 0)) fail_msg("%s are kept: %d things are left", names[i], left);
        }
    fake_cuda_reset();
    dtp_cu_set_for_test(fake_cuda_table());
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_wait_is_needed),
                                       cmocka_unit_test(use_after_free_is_seen),
                                       cmocka_unit_test(each_leak_is_seen)};
    return cmocka_run_group_tests_name("controls", tests, NULL, NULL);
}
