/* What the engine asks of the driver and no result shows: flags of streams, the threshold of the pool, which device, when kernels are
 * loaded, on which stream host functions go, what is kept for a driver that calls late. */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/engine/gpu_engine.h"
#include "gpu/gpu_world.h"
#include "support/check.h"
#include "support/streams.h"

enum { PATIENCE_MS = 10000 };
static bool comes(_Atomic int *what) {
    for (int i = 0; i < PATIENCE_MS && !atomic_load(what); ++i) usleep(1000);
    return atomic_load(what) != 0;
}

/* ---- Memory ------------------------------------------------------------------------------------------- */

static uint64_t reserved(void) {
    uint64_t bytes = 0;
    const dtp_gpu_t *device = dtp_gpu_of(gpu)->gpu;
    assert_int_equal(
        fake_cuda_table()->cuMemPoolGetAttribute(device->pool, DTP_CU_POOL_RESERVED_CURRENT, &bytes),
        DTP_CU_SUCCESS);
    return bytes;
}

/* Freed memory stays with the pool until the program asks for it. */
static void the_pool_keeps_memory(void **state) {
    (void)state;
    enum { MIB = 1 << 20, KEPT = 80 };
    dnnl_tp_memory_desc_t md;
    dnnl_tp_memory_t m, small = gpu_vector(gpu, 1);
    const dnnl_tp_dims_t dims = {100 * MIB};
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&md, 1, dims, dnnl_tp_u8, dnnl_tp_a));
    CHECK_OK(dnnl_tp_memory_create(&m, md, gpu, DNNL_TP_MEMORY_ALLOCATE));
    const uint64_t most = reserved();
    assert_true(most >= 100 * MIB);
    CHECK_OK(dnnl_tp_memory_destroy(m));
    CHECK_OK(dnnl_tp_sync_devices(-1));
    (void)gpu_value(small); /* waits in the driver */
    assert_true(reserved() == most);
    CHECK_OK(dnnl_tp_cuda_trim_memory(gpu, (size_t)KEPT * MIB));
    assert_true(reserved() >= KEPT * MIB && reserved() < most);
    CHECK_OK(dnnl_tp_cuda_trim_memory(gpu, 0));
    assert_true(reserved() >= GPU_N * sizeof(float) && reserved() < KEPT * MIB);
    assert_true(gpu_value(small) == 1);
    CHECK_STATUS(dnnl_tp_cuda_trim_memory(NULL, 0), dnnl_tp_invalid_arguments);
    dnnl_tp_engine_t cpu;
    CHECK_OK(dnnl_tp_engine_create(&cpu, dnnl_tp_cpu, 0));
    CHECK_STATUS(dnnl_tp_cuda_trim_memory(cpu, 0), dnnl_tp_invalid_arguments);
    CHECK_OK(dnnl_tp_engine_destroy(cpu));
    CHECK_OK(dnnl_tp_memory_destroy(small));
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
}

/* Scratch that has become too small is freed behind what still uses it. */
static void scratch_grows_in_order(void **state) {
    (void)state;
    dnnl_tp_stream_t s = gpu_stream();
    dnnl_tp_primitive_t few = gpu_shared_product(4, 1024), many = gpu_shared_product(16, 2048);
    dnnl_tp_memory_t x, y = gpu_vector(gpu, 0);
    dnnl_tp_memory_desc_t md;
    const dnnl_tp_dims_t dims = {16, 2048};
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&md, 2, dims, dnnl_tp_f32, dnnl_tp_ab));
    CHECK_OK(dnnl_tp_memory_create(&x, md, gpu, DNNL_TP_MEMORY_ALLOCATE));
    fake_cuda_hold(true);
    CHECK_OK(gpu_multiply_shared(few, s, x, y));
    CHECK_OK(gpu_multiply_shared(many, s, x, y));
    fake_cuda_hold(false);
    CHECK_OK(dnnl_tp_stream_wait(s));
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_primitive_destroy(few));
    CHECK_OK(dnnl_tp_primitive_destroy(many));
    CHECK_OK(dnnl_tp_memory_destroy(x));
    CHECK_OK(dnnl_tp_memory_destroy(y));
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
}

/* ---- Streams ------------------------------------------------------------------------------------------ */

static dnnl_tp_stream_t stream_on(dnnl_tp_engine_t engine, struct CUstream_st *theirs,
                                  dnnl_tp_status_t status) {
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_stream_t s;
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_gpu));
    CHECK_OK(dnnl_tp_cuda_stream_attr_set_stream(attr, theirs));
    CHECK_STATUS(dnnl_tp_stream_create_v2(&s, engine, 0, attr), status);
    CHECK_OK(dnnl_tp_stream_attr_destroy(attr));
    return s;
}

/* The program's legacy stream waits for the host: the library's own streams go on. */
static void streams_pass_the_legacy_one(void **state) {
    (void)state;
    dnnl_tp_stream_t legacy = stream_on(gpu, NULL, dnnl_tp_success), s = gpu_stream();
    dnnl_tp_memory_t x = gpu_vector(gpu, 1), y = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 0);
    dnnl_tp_event_t host;
    CHECK_OK(dnnl_tp_event_create_host(&host, gpu));
    CHECK_OK(dnnl_tp_stream_wait_event(legacy, host));
    CHECK_OK(gpu_step(p, legacy, y));
    CHECK_OK(gpu_step(p, s, x));
    CHECK_OK(dnnl_tp_stream_wait_for(s, (int64_t)PATIENCE_MS * 1000000));
    CHECK_OK(dnnl_tp_event_signal(host, dnnl_tp_success));
    CHECK_OK(dnnl_tp_stream_wait(legacy));
    assert_true(gpu_value(x) == 2 && gpu_value(y) == 2);
    CHECK_OK(dnnl_tp_stream_destroy(legacy));
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_event_destroy(host));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_destroy(x));
    CHECK_OK(dnnl_tp_memory_destroy(y));
}

typedef struct {
    int64_t launches;
    _Atomic int saw, done;
} later_t;
/* Waits for a kernel that was submitted behind the event. */
static void sees_later_work(void *arg, dnnl_tp_status_t status) {
    later_t *l = arg;
    (void)status;
    for (int i = 0; i < PATIENCE_MS / 2 && !atomic_load(&l->saw); ++i) {
        if (fake_cuda_stats().launches > l->launches + 1) atomic_store(&l->saw, 1);
        usleep(1000);
    }
    atomic_store(&l->done, 1);
}

/* A callback that takes long holds up no work of its stream. */
static void callbacks_do_not_hold_streams(void **state) {
    (void)state;
    dnnl_tp_stream_t s = gpu_stream();
    dnnl_tp_memory_t x = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 0);
    later_t l = {.launches = fake_cuda_stats().launches};
    fake_cuda_hold(true);
    CHECK_OK(gpu_step(p, s, x));
    dnnl_tp_event_t e = test_record(s);
    CHECK_OK(dnnl_tp_event_on_complete(e, sees_later_work, &l));
    CHECK_OK(gpu_step(p, s, x));
    fake_cuda_hold(false);
    assert_true(comes(&l.done));
    assert_int_equal(atomic_load(&l.saw), 1);
    CHECK_OK(dnnl_tp_stream_wait(s));
    CHECK_OK(dnnl_tp_event_destroy(e));
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_destroy(x));
}

/* ---- Devices ------------------------------------------------------------------------------------------ */

/* Two, whose UUIDs differ in the last byte. */
static void devices_are_told_apart(void **state) {
    (void)state;
    CHECK_OK(dnnl_tp_engine_destroy(gpu));
    fake_cuda_reset();
    fake_cuda_set_devices(2, 9, 0);
    dtp_cu_set_for_test(fake_cuda_table());
    dnnl_tp_engine_t other;
    CHECK_OK(dnnl_tp_engine_create(&gpu, dnnl_tp_gpu, 0));
    CHECK_OK(dnnl_tp_engine_create(&other, dnnl_tp_gpu, 1));
    for (size_t i = 0; i < 2; ++i) {
        dnnl_tp_cuda_device_t d = {.struct_size = sizeof d};
        size_t found = 7;
        CHECK_OK(dnnl_tp_cuda_get_device(i, &d));
        CHECK_OK(dnnl_tp_cuda_find_device(d.uuid, &found));
        assert_int_equal(found, i);
    }
    dnnl_tp_stream_t s;
    struct CUstream_st *theirs;
    CHECK_OK(dnnl_tp_stream_create(&s, other, 0));
    CHECK_OK(dnnl_tp_cuda_stream_get_stream(s, &theirs));
    assert_null(stream_on(gpu, theirs, dnnl_tp_invalid_arguments));
    assert_non_null(strstr(dnnl_tp_last_error(), "not of the primary context of device 0"));
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_engine_destroy(other));
}

/* MPS refuses a client: the engine is not made, the reason is told, and the next try may succeed. */
static void mps_may_refuse(void **state) {
    (void)state;
    static const dtp_cu_result_t results[] = {DTP_CU_MPS_CONNECTION_FAILED, DTP_CU_MPS_SERVER_NOT_READY,
                                              DTP_CU_MPS_MAX_CLIENTS_REACHED,
                                              DTP_CU_MPS_MAX_CONNECTIONS_REACHED};
    for (size_t r = 0; r < sizeof results / sizeof *results; ++r) {
        bool told = false;
        CHECK_OK(dnnl_tp_engine_destroy(gpu));
        for (int64_t k = 0;; ++k) {
            (void)fake_cuda_fail(k, results[r]);
            const dnnl_tp_status_t status = dnnl_tp_engine_create(&gpu, dnnl_tp_gpu, 0);
            if (fake_cuda_fail(-1, 0)) {
                CHECK_OK(status);
                break;
            }
            told |= status == dnnl_tp_runtime_error && strstr(dnnl_tp_last_error(), "CUDA_ERROR_MPS");
            if (!status) CHECK_OK(dnnl_tp_engine_destroy(gpu));
        }
        assert_true(told);
    }
}

/* ---- Kernels ------------------------------------------------------------------------------------------ */

/* A kernel's first launch loads nothing: it comes while a stream waits for the host, and the driver would wait for that stream. */
static void creation_loads_kernels(void **state) {
    (void)state;
    dnnl_tp_stream_t parked = gpu_stream(), s = gpu_stream();
    dnnl_tp_memory_t x = gpu_vector(gpu, 1), y = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 0);
    dnnl_tp_event_t host;
    const int64_t loads = fake_cuda_called("cuFuncLoad");
    dnnl_tp_primitive_t product = gpu_product(gpu);
    assert_true(fake_cuda_called("cuFuncLoad") > loads);
    CHECK_OK(dnnl_tp_event_create_host(&host, gpu));
    CHECK_OK(dnnl_tp_stream_wait_event(parked, host));
    CHECK_OK(gpu_step(p, parked, y));
    void *from, *to;
    CHECK_OK(dnnl_tp_memory_get_data_handle(x, &from));
    CHECK_OK(dnnl_tp_memory_get_data_handle(y, &to));
    usleep(20000); /* the stream has come to the word */
    CHECK_OK(gpu_step(p, s, x));
    CHECK_OK(dnnl_tp_stream_wait_for(s, (int64_t)PATIENCE_MS * 1000000));
    CHECK_OK(dnnl_tp_event_signal(host, dnnl_tp_success));
    CHECK_OK(dnnl_tp_stream_wait(parked));
    CHECK_OK(gpu_multiply(product, parked, from, to));
    CHECK_OK(dnnl_tp_stream_wait(parked));
    assert_int_equal(fake_cuda_wrongs(), 0);
    CHECK_OK(dnnl_tp_stream_destroy(parked));
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_event_destroy(host));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_destroy(product));
    CHECK_OK(dnnl_tp_memory_destroy(x));
    CHECK_OK(dnnl_tp_memory_destroy(y));
}

/* ---- A driver that calls late ------------------------------------------------------------------------- */

/* What is freed is spoilt, and not used again until the end. */
static struct {
    void *at[4096];
    int n;
} freed;
static void *keep_alloc(void *ctx, size_t bytes, size_t alignment) {
    void *p = NULL;
    (void)ctx;
    return posix_memalign(&p, alignment < sizeof p ? sizeof p : alignment, bytes) ? NULL : p;
}
static void keep_free(void *ctx, void *p) {
    (void)ctx;
    if (!p) return;
    memset(p, 0xdd, malloc_usable_size(p));
    if (freed.n < (int)(sizeof freed.at / sizeof *freed.at)) freed.at[freed.n++] = p;
}

/* The device is lost while a host function is due, and the stream is destroyed; then the driver calls it. */
static void late_callbacks_find_their_mark(void **state) {
    (void)state;
    dnnl_tp_engine_attr_t attr;
    const dnnl_tp_allocator_t allocator = {
        .struct_size = sizeof allocator, .alloc = keep_alloc, .free = keep_free};
    CHECK_OK(dnnl_tp_engine_destroy(gpu));
    CHECK_OK(dnnl_tp_engine_attr_create(&attr));
    CHECK_OK(dnnl_tp_engine_attr_set_allocator(attr, &allocator));
    CHECK_OK(dnnl_tp_engine_create_v2(&gpu, dnnl_tp_gpu, 0, attr));
    CHECK_OK(dnnl_tp_engine_attr_destroy(attr));
    dnnl_tp_stream_t s = gpu_stream();
    dnnl_tp_memory_t x = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 0);
    const int64_t calls = fake_cuda_stats().host_functions;
    fake_cuda_hold_host(true);
    CHECK_OK(gpu_step(p, s, x));
    dnnl_tp_event_t e = test_record(s);
    for (int i = 0; i < PATIENCE_MS && !fake_cuda_host_is_due(); ++i) usleep(1000);
    assert_true(fake_cuda_host_is_due());
    (void)fake_cuda_fail(1, DTP_CU_ILLEGAL_ADDRESS); /* behind the context */
    CHECK_STATUS(gpu_step(p, s, x), dnnl_tp_runtime_error);
    CHECK_OK(dnnl_tp_event_destroy(e));
    CHECK_OK(dnnl_tp_stream_destroy(s));
    fake_cuda_hold_host(false);
    for (int i = 0; i < PATIENCE_MS && fake_cuda_stats().host_functions == calls; ++i) usleep(1000);
    assert_true(fake_cuda_stats().host_functions > calls);
    usleep(20000);
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_destroy(x));
    CHECK_OK(dnnl_tp_engine_destroy(gpu));
    while (freed.n) free(freed.at[--freed.n]);
    fake_cuda_reset();
    dtp_cu_set_for_test(fake_cuda_table());
    CHECK_OK(dnnl_tp_engine_create(&gpu, dnnl_tp_gpu, 0));
}

int main(void) {
    alarm(60); /* a stream that waits for ever ends the test soon */
#define TEST(name) cmocka_unit_test_setup_teardown(name, gpu_setup, gpu_teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_pool_keeps_memory),       TEST(scratch_grows_in_order),
        TEST(streams_pass_the_legacy_one), TEST(callbacks_do_not_hold_streams),
        TEST(devices_are_told_apart),      TEST(mps_may_refuse),
        TEST(creation_loads_kernels),      TEST(late_callbacks_find_their_mark)};
    return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
