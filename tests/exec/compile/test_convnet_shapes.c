/* Networks of convolutions for many shapes: packed weights are shared, memory does not grow, and allocations that fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "common/base/object.h"
#include "common/base/with.h"
#include "exec/run/executable.h"
#include "support/check.h"
#include "support/net.h"

/* What was packed for one batch serves the others, fused or not what concerns plain products; images are cut. */
static void test_shared(void **state) {
    (void)state;
    dnnl_tp_engine_t engine;
    mirror_t *m = net_begin(5);
    m->runtime_dims = 1;
    mirror_output(m, net_plain(m, net_image(m, 2, 3, 16)));
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    int64_t made = 0;
    for (int64_t n = 1; n < 9; ++n) {
        dnnl_tp_tensor_info_t shape = m->value[m->in[0]].info;
        dnnl_tp_stream_attr_t attr;
        dnnl_tp_threadpool_t pool = NULL;
        dnnl_tp_executable_t e;
        const dnnl_tp_threadpool_opts_t two = {.struct_size = sizeof two, .num_threads = 2};
        CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
        if (DNNL_TP_WITH_THREADPOOL) {
            CHECK_OK(dnnl_tp_threadpool_create(&pool, &two));
            CHECK_OK(dnnl_tp_stream_attr_set_builtin_threadpool(attr, pool));
        }
        shape.dims[0] = n;
        const dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts, .stream_attr = attr};
        CHECK_OK(dnnl_tp_executable_compile(&e, m->graph, engine, 1, &shape, &opts));
        if (n == 1) made = atomic_load(&e->graph->store->next_id);
        assert_int_equal(atomic_load(&e->graph->store->next_id), made);
        if (DTP_WITH_SLICES && pool) assert_int_equal(e->nslice_groups > 0, n > 1);
        CHECK_OK(dnnl_tp_executable_destroy(e));
        CHECK_OK(dnnl_tp_stream_attr_destroy(attr));
        if (pool) CHECK_OK(dnnl_tp_threadpool_destroy(pool));
    }
    CHECK_OK(dnnl_tp_engine_destroy(engine));
    mirror_free(m);
    free(m);
}

/* Images of few pixels stay together where a thread would read all weights for each: what counts is pixels, not
 * pixels of all channels. */
static void test_few_pixels(void **state) {
    (void)state;
    enum { CHANNELS = 64, IMAGES = 4, TAPS = 3 };
    static const float weights[CHANNELS * CHANNELS * TAPS];
    static const struct {
        int64_t height, width;
        int slices;
    } all[] = {{1, 13, 0}, {2, 10, 0}, {1, 40, 2}, {16, 16, IMAGES}};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        const dnnl_tp_dims_t dx = {IMAGES, CHANNELS, all[i].height, all[i].width},
                             dw = {CHANNELS, CHANNELS, 1, TAPS};
        dnnl_tp_engine_t engine;
        dnnl_tp_graph_t g;
        dnnl_tp_executable_t e;
        dnnl_tp_value_t v[2];
        CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
        CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
        CHECK_OK(dnnl_tp_graph_input(g, &v[0], "x", dnnl_tp_f32, 4, dx));
        CHECK_OK(dnnl_tp_graph_constant(g, &v[1], "w", dnnl_tp_f32, 4, dw, weights, DNNL_TP_CONSTANT_COPY,
                                        NULL, NULL));
        for (int k = 0; k < 3; ++k)
            CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_convolution, "c", 2, v, 0, NULL, 1, &v[0]));
        CHECK_OK(dnnl_tp_graph_output(g, v[0], "y"));
        CHECK_OK(dnnl_tp_executable_compile(&e, g, engine, 0, NULL, NULL));
        const int slices = e->nslice_groups ? e->slice_groups[0].nslices : 0;
        if (DTP_WITH_SLICES) assert_int_equal(slices, all[i].slices);
        CHECK_OK(dnnl_tp_executable_destroy(e));
        CHECK_OK(dnnl_tp_graph_destroy(g));
        CHECK_OK(dnnl_tp_engine_destroy(engine));
    }
}

static test_allocator_t allocator;

/* Pages that the process alone has, without those of the far engine's arena, which keeps what was touched; 0 under
 * sanitizers, which keep what was freed. */
static long resident_pages(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 0;
#else
    long all, here, shared;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld %ld", &all, &here, &shared) != 3) here = shared = 0;
    if (f) (void)fclose(f);
    return here - shared;
#endif
}

/* A thousand batch sizes of one graph, the largest first: what is kept of them does not grow, neither blocks nor pages. */
static void test_thousand_shapes(void **state) {
    (void)state;
    enum { SHAPES = 1000, WARM = 100, KEPT = 64, BLOCKS = 4 /* of a primitive */, MOST_PAGES = 512 };
    int capacity;
    CHECK_OK(dnnl_tp_get_primitive_cache_capacity(&capacity));
    CHECK_OK(dnnl_tp_set_primitive_cache_capacity(KEPT));
    mirror_t *m = net_begin(14);
    m->runtime_dims = 1;
    mirror_output(m, net_plain(m, net_image(m, 2, 3, 6)));
    int64_t blocks = 0;
    long pages = 0;
    for (int i = 0; i < SHAPES; ++i) {
        dnnl_tp_tensor_info_t shape = m->value[m->in[0]].info;
        dnnl_tp_executable_t e;
        shape.dims[0] = SHAPES - i;
        CHECK_OK(dnnl_tp_executable_compile(&e, m->graph, m->engine, 1, &shape, NULL));
        CHECK_OK(dnnl_tp_executable_destroy(e));
        if (i == WARM) blocks = atomic_load(&allocator.live), pages = resident_pages();
    }
    assert_in_range(atomic_load(&allocator.live), 0, blocks + KEPT * BLOCKS);
    if (pages) assert_in_range(resident_pages(), 0, pages + MOST_PAGES);
    mirror_free(m);
    free(m);
    CHECK_OK(dnnl_tp_set_primitive_cache_capacity(capacity));
}

/* The n-th allocation of a compilation fails, for every n: nothing leaks, and the next one goes on. */
static void test_no_memory(void **state) {
    (void)state;
    int capacity;
    CHECK_OK(dnnl_tp_get_primitive_cache_capacity(&capacity));
    CHECK_OK(dnnl_tp_set_primitive_cache_capacity(0));
    mirror_t *m = net_begin(6);
    int x = net_image(m, 2, 3, 8);
    mirror_output(m, net_plain(m, x));
    mirror_output(m, mirror_linear(m, "fc", net_flat(m, net_conv(m, x, 3, 8, 1, 1, false)), 512, 7, 1, 0));
    dnnl_tp_executable_t e = NULL;
    long n = 0;
    for (dnnl_tp_status_t s = dnnl_tp_out_of_memory; s != dnnl_tp_success; ++n) {
        const int64_t objects = dtp_object_live();
        allocator.fail_at = n;
        s = dnnl_tp_executable_compile(&e, m->graph, m->engine, 1, &m->value[m->in[0]].info, NULL);
        allocator.fail_at = -1;
        if (s == dnnl_tp_success) break;
        assert_int_equal(s, dnnl_tp_out_of_memory);
        assert_null(e);
        assert_int_equal(dtp_object_live(), objects);
    }
    print_message("%ld allocations compile it\n", n);
    CHECK_OK(dnnl_tp_executable_destroy(e));
    assert_int_equal(mirror_check(m, NULL, 0, 5e-5), 0);
    mirror_free(m);
    free(m);
    CHECK_OK(dnnl_tp_set_primitive_cache_capacity(capacity));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_few_pixels),
        cmocka_unit_test(test_thousand_shapes),
        cmocka_unit_test(test_no_memory),
    };
    test_allocator_init(&allocator);
    if (dnnl_tp_set_allocator(&allocator.iface)) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
