/* Graphs on an engine whose memory the host cannot read: refusals, and failures of allocations, of items and of runs. */
#include <string.h>

#include "dnnl_tp/dnnl_tp_session.h"
#include "exec/run/executable.h"
#include "far/graph.h"

static dnnl_tp_status_t closure(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                                int nout, const dnnl_tp_host_arg_t *out) {
    (void)arg, (void)stop, (void)nin, (void)in, (void)nout, (void)out;
    return dnnl_tp_success;
}
static void refusals(void **state) {
    (void)state;
    dnnl_tp_graph_t g;
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    const val_t x = input(g, 2, tensor);
    const dnnl_tp_tensor_info_t info = {.ndims = 2, .dims = {R, C}, .data_type = dnnl_tp_f32};
    val_t y;
    CHECK_OK(dnnl_tp_graph_host(g, closure, NULL, NULL, 0, "mine", 1, &x, 1, &info, &y));
    CHECK_OK(dnnl_tp_graph_output(g, y, "y"));
    dnnl_tp_executable_t e;
    CHECK_STATUS(dnnl_tp_executable_compile(&e, g, far, 0, NULL, NULL), dnnl_tp_unimplemented);
    assert_non_null(strstr(dnnl_tp_last_error(), "'mine'"));
    dnnl_tp_session_t session;
    CHECK_STATUS(dnnl_tp_session_create(&session, g, far, NULL), dnnl_tp_invalid_arguments);
    assert_non_null(strstr(dnnl_tp_last_error(), "sessions have pools"));
    CHECK_OK(dnnl_tp_graph_destroy(g));
    g = build();
    e = compile(g, far, 0);
    dnnl_tp_stream_t s = stream_of(cpu);
    data_t d;
    void *in[2], *out[OUT];
    fill(&d, 1);
    pointers(&d, in, out);
    CHECK_STATUS(dnnl_tp_executable_run(e, s, 2, in, OUT, out, NULL), dnnl_tp_invalid_arguments);
    CHECK_OK(dnnl_tp_stream_destroy(s));
    for (size_t index = 0; index < 2; ++index) { /* engines are compared, not kinds */
        dnnl_tp_engine_t twin;
        CHECK_OK(dnnl_tp_engine_create(&twin, dnnl_tp_gpu, index));
        s = stream_of(twin);
        CHECK_STATUS(test_run_graph(e, s, 2, in, OUT, out, NULL),
                     index ? dnnl_tp_invalid_arguments : dnnl_tp_success);
        CHECK_OK(dnnl_tp_stream_destroy(s));
        CHECK_OK(dnnl_tp_engine_destroy(twin));
    }
    CHECK_OK(dnnl_tp_executable_destroy(e));
    CHECK_OK(dnnl_tp_graph_destroy(g));
}

/* Whatever fails, at the n-th of its kind, fails the run or the compilation; then everything is usable and nothing is
 * left. */
static void failures(void **state) {
    (void)state;
    dnnl_tp_graph_t g = build();
    data_t want[MOST], got;
    expected(g, 0, want);
    dnnl_tp_stream_t s = stream_of(far);
    for (int memory = far_traits.skips ? 0 : 1; memory < 2; ++memory)
        for (int n = 0, over = 0; !over; n += memory ? 1 : 7) {
            dnnl_tp_executable_t e = NULL;
            assert_true(n < 2000);
            if (memory) (void)far_fail_alloc(n);
            dnnl_tp_status_t status = dnnl_tp_executable_compile(&e, g, far, 0, NULL, NULL);
            if (!memory) (void)far_fail_item(n);
            void *in[2], *out[OUT];
            fill(&got, 5);
            pointers(&got, in, out);
            upload_run_t up;
            if (status == dnnl_tp_success) {
                const bool left = memory && far_fail_alloc(-1); /* not the uploads' */
                upload_run_begin(&up, e, 2, in, OUT, out);
                if (left) (void)far_fail_alloc(0); /* the run's first frame */
                status = dnnl_tp_executable_run(e, s, 2, up.in, OUT, up.out, NULL);
                over = memory ? far_fail_alloc(-1) : far_fail_item(-1);
                if (status != dnnl_tp_success) {
                    upload_run_end(&up);
                    assert_int_equal(status, memory ? dnnl_tp_out_of_memory : dnnl_tp_runtime_error);
                    fill(&got, 5);
                    upload_run_begin(&up, e, 2, in, OUT, out);
                    CHECK_OK(dnnl_tp_executable_run(e, s, 2, up.in, OUT, up.out, NULL));
                    over |= memory;
                }
                upload_run_end(&up);
                assert_true(same(&got, &want[5]));
            } else {
                assert_int_equal(status, dnnl_tp_out_of_memory);
            }
            CHECK_OK(dnnl_tp_executable_destroy(e));
        }
    /* Too deep, cancelled, late. */
    dnnl_tp_executable_t e = compile(g, far, 0);
    void *in[2], *out[OUT];
    fill(&got, 6);
    pointers(&got, in, out);
    dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .max_depth = 3};
    CHECK_STATUS(test_run_graph(e, s, 2, in, OUT, out, &o), dnnl_tp_runtime_error);
    assert_non_null(strstr(dnnl_tp_last_error(), "'again'"));
    dnnl_tp_cancel_t cancel;
    CHECK_OK(dnnl_tp_cancel_create(&cancel));
    CHECK_OK(dnnl_tp_cancel_fire(cancel));
    o = (dnnl_tp_run_opts_t){.struct_size = sizeof o, .cancel = cancel};
    CHECK_STATUS(test_run_graph(e, s, 2, in, OUT, out, &o), dnnl_tp_cancelled);
    CHECK_OK(dnnl_tp_cancel_destroy(cancel));
    far_set_delay(2000);
    o = (dnnl_tp_run_opts_t){.struct_size = sizeof o, .deadline_ns = dtp_now_ns() + 5000000};
    CHECK_STATUS(test_run_graph(e, s, 2, in, OUT, out, &o), dnnl_tp_deadline_exceeded);
    far_set_delay(0);
    CHECK_OK(test_run_graph(e, s, 2, in, OUT, out, NULL));
    assert_true(same(&got, &want[6]));
    CHECK_OK(dnnl_tp_executable_destroy(e));
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_graph_destroy(g));
    far_check();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(refusals), cmocka_unit_test(failures)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
