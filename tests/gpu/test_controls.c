/* Would the tests of the CUDA engine see it if a wait were missing? Each call of the driver that makes a stream wait does nothing
 * here, in turn, and a short program must be found to be wrong, for every seed. */
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_wait_is_needed)};
    return cmocka_run_group_tests_name("controls", tests, NULL, NULL);
}
