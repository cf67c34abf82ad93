/* A program's allocator serves an engine's memory (dnnl_tp_cuda_engine_opts_t): what it is asked for, on which stream, from where, what
 * is refused, and that all comes back. Graphs, and failures of each call: test_graph_failures.c. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "dnnl_tp/dnnl_tp_graph.h"
#include "gpu/arena.h"
#include "gpu/driver/cu_api.h"
#include "gpu/gpu_world.h"
#include "support/check.h"
#include "support/streams.h"
#include "support/upload.h"

static arena_t arena;

static int setup(void **state) {
    (void)state;
    fake_cuda_reset();
    fake_cuda_set_devices(2, 9, 0);
    dtp_cu_set_for_test(fake_cuda_table());
    arena_begin(&arena, 0);
    CHECK_OK(arena_engine(&gpu, &arena, 0));
    return 0;
}

/* All is back when the engine's last reference is gone. */
static int teardown(void **state) {
    (void)state;
    CHECK_OK(dnnl_tp_engine_destroy(gpu));
    gpu = NULL;
    const int64_t wrong = arena_end(&arena);
    return wrong || fake_cuda_report(stderr) ? -1 : 0;
}

static uint64_t used_bytes(void) {
    dnnl_tp_cuda_memory_t memory = {.struct_size = sizeof memory};
    CHECK_OK(dnnl_tp_cuda_get_memory(gpu, 0, &memory));
    return memory.used;
}

/* ---- A product that needs scratch --------------------------------------------------------------------- */

enum { M = 4, K = 2048 };

static dnnl_tp_memory_t floats(int64_t n, const float *data) {
    dnnl_tp_memory_desc_t md;
    dnnl_tp_memory_t m;
    const dnnl_tp_dims_t dims = {n};
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&md, 1, dims, dnnl_tp_f32, dnnl_tp_a));
    CHECK_OK(dnnl_tp_memory_create(&m, md, gpu, DNNL_TP_MEMORY_ALLOCATE));
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
    if (data) test_upload(m, data, (size_t)n * sizeof *data);
    return m;
}

/* ---- What it serves ----------------------------------------------------------------------------------- */

/* The library takes nothing from the driver, and scratch is of the stream that uses it. */
static void all_memory_comes_from_it(void **state) {
    (void)state;
    static float rows[M * K];
    for (int i = 0; i < M * K; ++i) rows[i] = (float)(i % 3) - 1;
    const int64_t before = fake_cuda_called("cuMemAllocFromPoolAsync");
    dnnl_tp_stream_t s = gpu_stream();
    struct CUstream_st *cuda_stream;
    CHECK_OK(dnnl_tp_cuda_stream_get_stream(s, &cuda_stream));
    dnnl_tp_memory_t src = floats(M * K, rows), dst = floats(M * M, NULL);
    assert_int_equal(arena_live(&arena), 2);
    assert_true(arena.slice[0].stream != cuda_stream && arena.slice[0].stream == arena.slice[1].stream);
    dnnl_tp_primitive_t p = gpu_shared_product(M, K);
    CHECK_OK(gpu_multiply_shared(p, s, src, dst));
    assert_int_equal(arena_live(&arena), 3);
    assert_ptr_equal(arena.slice[2].stream, cuda_stream);
    assert_true(used_bytes() > M * K * sizeof(float) + M * M * sizeof(float));
    CHECK_OK(dnnl_tp_stream_wait(s));
    float got[M * M], want = 0;
    test_download(dst, got, sizeof got);
    for (int i = 0; i < K; ++i) want += rows[i] * rows[i];
    assert_true(got[0] == want);
    assert_int_equal(fake_cuda_called("cuMemAllocFromPoolAsync") - before, arena.blocks);
    CHECK_OK(dnnl_tp_stream_destroy(s));
    assert_int_equal(arena_live(&arena), 2);
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_destroy(src));
    CHECK_OK(dnnl_tp_memory_destroy(dst));
    assert_int_equal(arena_live(&arena), 0);
    assert_int_equal(used_bytes(), 0);
}

/* What comes back is used again at once, on the program's streams, too: the driver finds who uses it out of order. */
static void slices_are_used_again(void **state) {
    (void)state;
    static float rows[M * K];
    for (int i = 0; i < M * K; ++i) rows[i] = 1;
    dnnl_tp_primitive_t p = gpu_shared_product(M, K);
    dnnl_tp_stream_attr_t attr;
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_gpu));
    CHECK_OK(dnnl_tp_cuda_stream_attr_set_stream(attr, NULL));
    for (uint64_t seed = 1; seed <= 6; ++seed) {
        fake_cuda_set_seed(seed);
        dnnl_tp_stream_t s[2] = {gpu_stream(), NULL};
        CHECK_OK(dnnl_tp_stream_create_v2(&s[1], gpu, 0, attr));
        dnnl_tp_memory_t src = floats(M * K, rows), dst[2] = {floats(M * M, NULL), floats(M * M, NULL)};
        for (int i = 0; i < 2; ++i) CHECK_OK(gpu_multiply_shared(p, s[i], src, dst[i]));
        for (int i = 0; i < 2; ++i) CHECK_OK(dnnl_tp_stream_destroy(s[i]));
        for (int i = 0; i < 2; ++i) {
            float got[M * M];
            test_download(dst[i], got, sizeof got);
            assert_true(got[0] == K && got[M * M - 1] == K);
            CHECK_OK(dnnl_tp_memory_destroy(dst[i]));
        }
        CHECK_OK(dnnl_tp_memory_destroy(src));
    }
    assert_true(arena.reused > 10);
    CHECK_OK(dnnl_tp_stream_attr_destroy(attr));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
}

static void limits_hold(void **state) {
    (void)state;
    dnnl_tp_engine_t limited, outer = gpu;
    CHECK_OK(arena_engine(&limited, &arena, GPU_N * sizeof(float)));
    dnnl_tp_memory_t x = gpu_vector(limited, 1), more;
    dnnl_tp_memory_desc_t md;
    const dnnl_tp_dims_t dims = {1};
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&md, 1, dims, dnnl_tp_f32, dnnl_tp_a));
    const int64_t calls = arena.allocs;
    CHECK_STATUS(dnnl_tp_memory_create(&more, md, limited, DNNL_TP_MEMORY_ALLOCATE), dnnl_tp_out_of_memory);
    assert_non_null(strstr(dnnl_tp_last_error(), "limit"));
    assert_int_equal(arena.allocs, calls);
    gpu = limited;
    assert_int_equal(used_bytes(), GPU_N * sizeof(float));
    gpu = outer;
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
    CHECK_OK(dnnl_tp_memory_destroy(x));
    CHECK_OK(dnnl_tp_engine_destroy(limited));
}

/* ---- What is refused ---------------------------------------------------------------------------------- */

static void refuse(const char *why) {
    dnnl_tp_memory_desc_t md;
    dnnl_tp_memory_t m;
    const dnnl_tp_dims_t dims = {GPU_N};
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&md, 1, dims, dnnl_tp_f32, dnnl_tp_a));
    CHECK_STATUS(dnnl_tp_memory_create(&m, md, gpu, DNNL_TP_MEMORY_ALLOCATE), dnnl_tp_out_of_memory);
    if (!strstr(dnnl_tp_last_error(), why)) fail_msg("needed is \"%s\": %s", why, dnnl_tp_last_error());
    assert_int_equal(arena_live(&arena), 0);
    assert_int_equal(used_bytes(), 0);
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
}

static void what_cannot_be_used_goes_back(void **state) {
    (void)state;
    arena.fail_at = arena.allocs;
    refuse("the engine's allocator has no");
    assert_int_equal(arena.frees, 0);
    arena.skew = 64;
    refuse("is no multiple of 256");
    arena.skew = 0;
    static _Alignas(256) char of_the_host[256];
    arena.instead = of_the_host;
    refuse("is not of the engine's device");
    dnnl_tp_engine_t other;
    CHECK_OK(dnnl_tp_engine_create(&other, dnnl_tp_gpu, 1));
    dnnl_tp_memory_t there = gpu_vector(other, 1);
    CHECK_OK(dnnl_tp_memory_get_data_handle(there, &arena.instead));
    refuse("is not of the engine's device");
    assert_int_equal(arena.frees, 3);
    arena.instead = NULL;
    CHECK_OK(dnnl_tp_memory_destroy(there));
    CHECK_OK(dnnl_tp_engine_destroy(other));
    dnnl_tp_memory_t x = gpu_vector(gpu, 3);
    assert_true(gpu_value(x) == 3);
    CHECK_OK(dnnl_tp_memory_destroy(x));
}

static void *no_alloc(void *ctx, size_t bytes, size_t alignment, struct CUstream_st *stream) {
    (void)ctx, (void)bytes, (void)alignment, (void)stream;
    return NULL;
}

/* One function of two; a program that was compiled when there was a limit alone. */
static void options_are_checked(void **state) {
    (void)state;
    dnnl_tp_engine_attr_t attr;
    dnnl_tp_engine_t e;
    dnnl_tp_cuda_engine_opts_t opts = {.struct_size = sizeof opts, .alloc = no_alloc};
    CHECK_OK(dnnl_tp_engine_attr_create(&attr));
    CHECK_OK(dnnl_tp_cuda_engine_attr_set(attr, &opts));
    CHECK_STATUS(dnnl_tp_engine_create_v2(&e, dnnl_tp_gpu, 0, attr), dnnl_tp_invalid_arguments);
    opts = (dnnl_tp_cuda_engine_opts_t){.struct_size = offsetof(dnnl_tp_cuda_engine_opts_t, allocator_ctx),
                                        .memory_limit = GPU_N * sizeof(float),
                                        .alloc = no_alloc};
    CHECK_OK(dnnl_tp_cuda_engine_attr_set(attr, &opts));
    CHECK_OK(dnnl_tp_engine_create_v2(&e, dnnl_tp_gpu, 0, attr));
    CHECK_OK(dnnl_tp_engine_attr_destroy(attr));
    dnnl_tp_memory_t x = gpu_vector(e, 2);
    assert_true(gpu_value(x) == 2);
    CHECK_OK(dnnl_tp_memory_destroy(x));
    CHECK_OK(dnnl_tp_engine_destroy(e));
}

/* ---- Who calls it ------------------------------------------------------------------------------------- */

static _Atomic int destroyed;
static void destroys(void *memory, dnnl_tp_status_t status) {
    (void)status;
    CHECK_OK(dnnl_tp_memory_destroy(memory));
    atomic_fetch_add(&destroyed, 1);
}

/* What the driver's callbacks give up comes with the next allocation, the last one with the engine: the driver finds calls from there. */
static void callbacks_of_the_driver_do_not_call_it(void **state) {
    (void)state;
    dnnl_tp_stream_t s = gpu_stream();
    dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 0);
    for (int i = 0; i < 3; ++i) {
        dnnl_tp_memory_t x = gpu_vector(gpu, 1);
        assert_int_equal(arena_live(&arena), 1);
        fake_cuda_hold(true);
        CHECK_OK(gpu_step(p, s, x));
        dnnl_tp_event_t e = test_record(s);
        CHECK_OK(dnnl_tp_event_on_complete(e, destroys, x));
        fake_cuda_hold(false);
        for (int k = 0; k < 20000 && atomic_load(&destroyed) == i; ++k) usleep(1000);
        assert_int_equal(arena_live(&arena), 1);
        assert_int_equal(arena.frees, i);
        assert_int_equal(used_bytes(), 0);
        CHECK_OK(dnnl_tp_event_destroy(e));
    }
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
}

/* A graph of a product with a constant. */
static dnnl_tp_graph_t graph(void) {
    static float weights[GPU_SIDE * GPU_SIDE];
    const dnnl_tp_dims_t dims = {GPU_SIDE, GPU_SIDE};
    dnnl_tp_graph_t g;
    dnnl_tp_value_t in[2], out;
    for (int i = 0; i < GPU_SIDE; ++i) weights[i * GPU_SIDE + i] = 2;
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &in[0], "x", dnnl_tp_f32, 2, dims));
    CHECK_OK(dnnl_tp_graph_constant(g, &in[1], "w", dnnl_tp_f32, 2, dims, weights, DNNL_TP_CONSTANT_COPY,
                                    NULL, NULL));
    CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_matmul, "product", 2, in, 0, NULL, 1, &out));
    CHECK_OK(dnnl_tp_graph_output(g, out, "y"));
    return g;
}

static void run_graph(dnnl_tp_graph_t g, dnnl_tp_stream_t s) {
    static float x[GPU_SIDE * GPU_SIDE];
    float y[GPU_SIDE * GPU_SIDE];
    dnnl_tp_executable_t e;
    void *in[] = {x}, *out[] = {y};
    CHECK_OK(dnnl_tp_executable_compile(&e, g, gpu, 0, NULL, NULL));
    y[0] = 1;
    CHECK_OK(test_run_graph(e, s, 1, in, 1, out, NULL));
    assert_true(y[0] == 0);
    CHECK_OK(dnnl_tp_executable_destroy(e));
}

typedef struct {
    dnnl_tp_graph_t graph;
    dnnl_tp_stream_t stream;
    int calls;
    bool inside;
} calls_back_t;
static void call_back(void *arg) {
    calls_back_t *c = arg;
    if (c->inside) return;
    c->inside = true;
    run_graph(c->graph, c->stream);
    (void)used_bytes();
    CHECK_OK(dnnl_tp_sync_devices(-1));
    ++c->calls;
    c->inside = false;
}

/* No lock is held in it: it may compile and run the same graph, and wait. */
static void it_may_call_the_library(void **state) {
    (void)state;
    calls_back_t c = {.graph = graph(), .stream = gpu_stream()};
    dnnl_tp_stream_t s = gpu_stream();
    arena.inside = call_back;
    arena.arg = &c;
    run_graph(c.graph, s);
    dnnl_tp_memory_t src = floats(M * K, NULL), dst = floats(M * M, NULL);
    dnnl_tp_primitive_t p = gpu_shared_product(M, K);
    CHECK_OK(gpu_multiply_shared(p, s, src, dst));
    CHECK_OK(dnnl_tp_stream_wait(s));
    CHECK_OK(dnnl_tp_memory_destroy(src));
    CHECK_OK(dnnl_tp_memory_destroy(dst));
    assert_true(c.calls > 6);
    arena.inside = NULL;
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_stream_destroy(c.stream));
    CHECK_OK(dnnl_tp_graph_destroy(c.graph));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
}

static void *work(void *arg) {
    dnnl_tp_graph_t g = arg;
    dnnl_tp_stream_t s = gpu_stream();
    dnnl_tp_primitive_t p = gpu_shared_product(M, K);
    for (int i = 0; i < 4; ++i) {
        dnnl_tp_memory_t src = floats(M * K, NULL), dst = floats(M * M, NULL);
        CHECK_OK(gpu_multiply_shared(p, s, src, dst));
        run_graph(g, s);
        CHECK_OK(dnnl_tp_stream_wait(s));
        CHECK_OK(dnnl_tp_memory_destroy(src));
        CHECK_OK(dnnl_tp_memory_destroy(dst));
    }
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    return NULL;
}

static void threads_share_it(void **state) {
    (void)state;
    enum { THREADS = 4 };
    pthread_t t[THREADS];
    dnnl_tp_graph_t g = graph();
    for (int i = 0; i < THREADS; ++i) assert_int_equal(pthread_create(&t[i], NULL, work, g), 0);
    for (int i = 0; i < THREADS; ++i) assert_int_equal(pthread_join(t[i], NULL), 0);
    CHECK_OK(dnnl_tp_graph_destroy(g));
    assert_int_equal(arena_live(&arena), 0);
}

int main(void) {
    alarm(600);
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(all_memory_comes_from_it),
        TEST(slices_are_used_again),
        TEST(limits_hold),
        TEST(what_cannot_be_used_goes_back),
        TEST(options_are_checked),
        TEST(callbacks_of_the_driver_do_not_call_it),
        TEST(it_may_call_the_library),
        TEST(threads_share_it),
    };
    return cmocka_run_group_tests_name("allocator", tests, NULL, NULL);
}
