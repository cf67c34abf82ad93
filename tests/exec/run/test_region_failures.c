/* Control flow that fails inside, is cancelled, or is late; what compilation refuses. Results:
 * test_regions.c. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "common/base/base.h"
#include "threading/base/futex.h"
#include "support/regions.h"

HOST(fail_at_three, if (SRC(0) == 3) return dnnl_tp_not_required; DST(0) = SRC(0) + 1)

static dnnl_tp_status_t until_stop(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                                   int nout, const dnnl_tp_host_arg_t *out) {
    (void)nin, (void)in, (void)nout, (void)out;
    atomic_store((_Atomic int *)arg, 1);
    while (!dnnl_tp_should_stop(stop)) sched_yield();
    return dnnl_tp_runtime_error; /* derived: must not hide the cause */
}

static void test_failures(void **state) {
    (void)state;
    world_t w;
    world_init(&w, 2);
    val_t n = graph_input(w.g), out;
    dnnl_tp_graph_t cond = graph_region(w.g), body = graph_region(cond);
    val_t v = graph_input(cond), go = graph_op2(cond, host_less, v, n),
          next = graph_op1(body, fail_at_three, v), init = graph_constant(w.g, 0);
    CHECK_OK(dnnl_tp_graph_while(w.g, "loop", cond, go, body, 1, &init, &v, &next, 3, &out));
    graph_output(w.g, out);
    for (int f = 0; f < REGION_FLAGS; ++f) {
        dnnl_tp_executable_t e = world_compile(&w, region_flags[f]);
        int32_t x, y;
        void *pin[1] = {&x}, *pout[1] = {&y};
        for (int k = 0; k < 20; ++k) {
            x = k % 2 ? 3 : 100;
            dnnl_tp_status_t s = dnnl_tp_executable_run(e, w.stream, 1, pin, 1, pout, NULL);
            assert_int_equal(s, k % 2 ? dnnl_tp_success : dnnl_tp_not_required);
            if (k % 2) assert_int_equal(y, 3);
            else assert_int_equal(dtp_last_reason(), DTP_GRAPH_HOST_FAILED);
        }
        dnnl_tp_executable_destroy(e);
    }
    graph_done(cond, body);
    world_end(&w);
}

static void test_cancel(void **state) {
    (void)state;
    world_t w;
    world_init(&w, 2);
    /* An endless loop, and a closure that waits for the end. */
    _Atomic int started = 0;
    val_t x = graph_input(w.g), forever, out;
    dnnl_tp_graph_t yes = graph_region(w.g), no = graph_region(w.g), cond = graph_region(no),
                    body = graph_region(cond);
    val_t waits = graph_host(yes, until_stop, &started, 0, NULL);
    val_t v = graph_input(cond), next = graph_host(body, host_inc, NULL, 1, &v);
    (void)graph_host(body, host_count, &started, 0, NULL);
    val_t one = graph_constant(w.g, 1);
    CHECK_OK(dnnl_tp_graph_while(no, "forever", cond, one, body, 1, &one, &v, &next, 0, &forever));
    CHECK_OK(dnnl_tp_graph_if(w.g, "which", x, yes, no, 1, &waits, &forever, &out));
    graph_output(w.g, out);
    for (int f = 0; f < REGION_FLAGS; ++f) {
        dnnl_tp_executable_t e = world_compile(&w, region_flags[f]);
        int32_t which, y;
        void *pin[1] = {&which}, *pout[1] = {&y};
        for (which = 0; which < 2; ++which)
            for (int threads = 1; threads <= 2; ++threads) {
                dnnl_tp_cancel_t c;
                CHECK_OK(dnnl_tp_cancel_create(&c));
                atomic_store(&started, 0);
                world_fire_t arg = {c, &started};
                pthread_t t;
                assert_int_equal(pthread_create(&t, NULL, world_fire, &arg), 0);
                dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .cancel = c, .max_threads = threads};
                assert_int_equal(dnnl_tp_executable_run(e, w.stream, 1, pin, 1, pout, &o), dnnl_tp_cancelled);
                assert_int_equal(dtp_last_reason(), DTP_CANCELLED);
                pthread_join(t, NULL);
                /* A token that was fired ends later runs, too. */
                assert_int_equal(dnnl_tp_executable_run(e, w.stream, 1, pin, 1, pout, &o), dnnl_tp_cancelled);
                CHECK_OK(dnnl_tp_cancel_destroy(c));
            }
        which = 0;
        dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .deadline_ns = dtp_now_ns() + 2000000};
        assert_int_equal(dnnl_tp_executable_run(e, w.stream, 1, pin, 1, pout, &o), dnnl_tp_deadline_exceeded);
        assert_int_equal(dtp_last_reason(), DTP_DEADLINE);
        assert_int_equal(dnnl_tp_executable_run(e, w.stream, 1, pin, 1, pout, &o), dnnl_tp_deadline_exceeded);
        dnnl_tp_executable_destroy(e);
    }
    dnnl_tp_executable_t e = world_compile(&w, 0);
    int32_t which = 1, y;
    void *pin[1] = {&which}, *pout[1] = {&y};
    dnnl_tp_run_opts_t bad = {.struct_size = sizeof bad, .max_depth = -1};
    assert_int_equal(dnnl_tp_executable_run(e, w.stream, 1, pin, 1, pout, &bad), dnnl_tp_invalid_arguments);
    dnnl_tp_executable_destroy(e);
    graph_done(yes, no);
    graph_done(cond, body);
    world_end(&w);
}

/* What compilation refuses. */
static void test_invalid(void **state) {
    (void)state;
    world_t w;
    world_init(&w, 1);
    dnnl_tp_executable_t e;
    val_t x = graph_input(w.g), p;
    assert_int_equal(dnnl_tp_executable_compile(&e, w.g, w.engine, 0, NULL, NULL), dnnl_tp_invalid_graph);
    dnnl_tp_graph_destroy(w.g);
    CHECK_OK(dnnl_tp_graph_create(&w.g, dnnl_tp_cpu));
    x = graph_input(w.g);
    graph_output(w.g, x);
    dnnl_tp_graph_t stray = graph_region(w.g), f;
    (void)graph_op1(stray, host_inc, x);
    assert_int_equal(dnnl_tp_executable_compile(&e, w.g, w.engine, 0, NULL, NULL), dnnl_tp_invalid_graph);
    assert_int_equal(dtp_last_reason(), DTP_GRAPH_REGION);
    assert_int_equal(dnnl_tp_executable_compile(&e, stray, w.engine, 0, NULL, NULL),
                     dnnl_tp_invalid_arguments);
    graph_done(stray, w.g);
    CHECK_OK(dnnl_tp_graph_create(&w.g, dnnl_tp_cpu));
    x = graph_input(w.g);
    graph_output(w.g, x);
    dnnl_tp_tensor_info_t t = {.ndims = 0, .data_type = dnnl_tp_s32};
    CHECK_OK(dnnl_tp_graph_create_function(&f, w.g, "half made", 1, &t, &p, 1, &t));
    assert_int_equal(dnnl_tp_executable_compile(&e, w.g, w.engine, 0, NULL, NULL), dnnl_tp_invalid_graph);
    assert_non_null(strstr(dnnl_tp_last_error(), "half made"));
    /* Shapes that are known only now. */
    graph_done(f, w.g);
    CHECK_OK(dnnl_tp_graph_create(&w.g, dnnl_tp_cpu));
    static const dnnl_tp_dims_t any = {DNNL_TP_RUNTIME_DIM_VAL};
    val_t a, b, c;
    CHECK_OK(dnnl_tp_graph_input(w.g, &a, "a", dnnl_tp_f32, 1, any));
    CHECK_OK(dnnl_tp_graph_input(w.g, &b, "b", dnnl_tp_f32, 1, any));
    p = graph_input(w.g);
    CHECK_OK(dnnl_tp_graph_if(w.g, "shapes", p, NULL, NULL, 1, &a, &b, &c));
    CHECK_OK(dnnl_tp_graph_output(w.g, c, "c"));
    dnnl_tp_tensor_info_t in[3] = {{.ndims = 1, .dims = {3}, .data_type = dnnl_tp_f32},
                                   {.ndims = 1, .dims = {4}, .data_type = dnnl_tp_f32},
                                   {.ndims = 0, .data_type = dnnl_tp_s32}};
    assert_int_equal(dnnl_tp_executable_compile(&e, w.g, w.engine, 3, in, NULL), dnnl_tp_invalid_shape);
    assert_non_null(strstr(dnnl_tp_last_error(), "shapes"));
    in[1].dims[0] = 3;
    CHECK_OK(dnnl_tp_executable_compile(&e, w.g, w.engine, 3, in, NULL));
    dnnl_tp_tensor_info_t info;
    CHECK_OK(dnnl_tp_executable_query(e, c, &info));
    assert_int_equal(info.dims[0], 3);
    dnnl_tp_executable_destroy(e);
    world_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_failures), cmocka_unit_test(test_cancel),
                                       cmocka_unit_test(test_invalid)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
