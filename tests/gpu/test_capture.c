/* Programs that capture CUDA streams, as frameworks do, on the fake driver: what of the library is captured with the program's stream and
 * right when it is launched again. What is refused: test_capture_refused.c. */
#include <string.h>
#include <unistd.h>

#include "common/base/base.h"
#include "dnnl_tp/dnnl_tp_graph.h"
#include "gpu/capturing.h"
#include "support/streams.h"
#include "support/upload.h"

/* ---- What is captured ------------------------------------------------------------------------------------ */

static void capture_executions(capturing_t t) {
    dnnl_tp_memory_t x = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t twice = gpu_linear(gpu, 2, 0), add = gpu_linear(gpu, 1, 1);
    CHECK_OK(gpu_step(twice, t.stream, x));
    CHECK_OK(dnnl_tp_stream_wait(t.stream));
    capturing_begin_graph(&t);
    CHECK_OK(gpu_step(twice, t.stream, x));
    CHECK_OK(gpu_step(add, t.stream, x));
    fake_cu_exec_t exec = capturing_end_graph(&t, 2);
    assert_true(gpu_value(x) == 2);
    for (int i = 0; i < 3; ++i) capturing_launch(&t, exec);
    assert_true(gpu_value(x) == 23); /* 2, 5, 11, 23 */
    CHECK_OK(gpu_step(add, t.stream, x));
    CHECK_OK(dnnl_tp_stream_wait(t.stream));
    assert_true(gpu_value(x) == 24);
    CU_OK(fake_cuGraphExecDestroy(exec));
    CHECK_OK(dnnl_tp_primitive_destroy(twice));
    CHECK_OK(dnnl_tp_primitive_destroy(add));
    CHECK_OK(dnnl_tp_memory_destroy(x));
    capturing_end(&t);
}

static void executions_are_captured(void **state) {
    (void)state;
    capture_executions(capturing_begin(false));
    capture_executions(capturing_begin_with_the_librarys());
}

/* A stream that was forked off by the program's events takes executions, too. */
static void forks_are_captured(void **state) {
    (void)state;
    capturing_t t = capturing_begin(false);
    dtp_cu_stream_t side;
    dtp_cu_event_t fork, join;
    CU_OK(capturing_cu->cuStreamCreate(&side, DTP_CU_STREAM_NON_BLOCKING));
    CU_OK(capturing_cu->cuEventCreate(&fork, DTP_CU_EVENT_DISABLE_TIMING));
    CU_OK(capturing_cu->cuEventCreate(&join, DTP_CU_EVENT_DISABLE_TIMING));
    dnnl_tp_stream_t s = capturing_stream_on(side, false);
    dnnl_tp_memory_t x = gpu_vector(gpu, 1), y = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t twice = gpu_linear(gpu, 2, 0);
    capturing_begin_graph(&t);
    CU_OK(capturing_cu->cuEventRecord(fork, t.cuda));
    CU_OK(capturing_cu->cuStreamWaitEvent(side, fork, 0));
    CHECK_OK(gpu_step(twice, t.stream, x));
    CHECK_OK(gpu_step(twice, s, y));
    dnnl_tp_event_t none;
    CHECK_STATUS(dnnl_tp_stream_record_event(s, &none), dnnl_tp_unimplemented);
    CU_OK(capturing_cu->cuEventRecord(join, side));
    CU_OK(capturing_cu->cuStreamWaitEvent(t.cuda, join, 0));
    CHECK_OK(gpu_step(twice, t.stream, y));
    fake_cu_exec_t exec = capturing_end_graph(&t, 3);
    capturing_launch(&t, exec);
    assert_true(gpu_value(x) == 2 && gpu_value(y) == 4);
    CU_OK(fake_cuGraphExecDestroy(exec));
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CU_OK(capturing_cu->cuStreamDestroy(side));
    CU_OK(capturing_cu->cuEventDestroy(fork));
    CU_OK(capturing_cu->cuEventDestroy(join));
    CHECK_OK(dnnl_tp_primitive_destroy(twice));
    CHECK_OK(dnnl_tp_memory_destroy(x));
    CHECK_OK(dnnl_tp_memory_destroy(y));
    capturing_end(&t);
}

/* ---- Scratch and words ------------------------------------------------------------------------------------ */

static uint64_t used_bytes(void) {
    dnnl_tp_cuda_memory_t memory = {.struct_size = sizeof memory};
    CHECK_OK(dnnl_tp_cuda_get_memory(gpu, 0, &memory));
    return memory.used;
}

/* A graph uses the scratch that the stream had when it was captured, however the stream's grows. */
static void keep_scratch(capturing_t t) {
    capturing_product_t small = capturing_product(2, 2048), large = capturing_product(4, CAPTURING_MOST_K);
    const uint64_t before = used_bytes();
    CHECK_OK(capturing_multiply(&small, t.stream));
    const uint64_t with_small = used_bytes();
    assert_true(with_small > before);
    CHECK_OK(dnnl_tp_stream_wait(t.stream));
    assert_true(capturing_is_multiplied(&small));
    capturing_begin_graph(&t);
    CHECK_OK(capturing_multiply(&small, t.stream));
    CHECK_STATUS(capturing_multiply(&large, t.stream), dnnl_tp_unimplemented); /* it needs more */
    assert_int_equal(dtp_last_reason(), DTP_STREAM_CAPTURED);
    assert_int_equal(used_bytes(), with_small);
    fake_cu_graph_t graph;
    fake_cu_exec_t exec;
    CU_OK(fake_cuStreamEndCapture(t.cuda, &graph));
    CU_OK(fake_cuGraphInstantiate(&exec, graph, 0));
    CU_OK(fake_cuGraphDestroy(graph));
    capturing_launch(&t, exec);
    assert_true(capturing_is_multiplied(&small));
    CHECK_OK(capturing_multiply(&large, t.stream));
    assert_true(used_bytes() > with_small);
    capturing_launch(&t, exec);
    assert_true(capturing_is_multiplied(&small));
    assert_true(capturing_is_multiplied(&large));
    CHECK_OK(dnnl_tp_stream_wait(t.stream));
    CU_OK(fake_cuGraphExecDestroy(exec));
    capturing_end(&t);
    const uint64_t after = used_bytes();
    capturing_product_end(&small);
    capturing_product_end(&large);
    assert_int_equal(after, before);
}
static void scratch_is_kept_for_graphs(void **state) {
    (void)state;
    keep_scratch(capturing_begin(false));
    keep_scratch(capturing_begin_with_the_librarys());
}

/* The word of findings is made by the first execution that checks its data; then such are captured, and what they find when they are
 * launched is told by a wait behind an execution. */
static void checks_are_captured(void **state) {
    (void)state;
    capturing_t t = capturing_begin(false);
    gpu_look_up_t l = gpu_look_up_begin(t.stream);
    gpu_look_up_set(&l, 0);
    capturing_begin_graph(&t);
    CHECK_STATUS(gpu_look_up(&l), dnnl_tp_unimplemented);
    assert_int_equal(dtp_last_reason(), DTP_STREAM_CAPTURED);
    CU_OK(fake_cuGraphExecDestroy(capturing_end_graph(&t, 0)));
    CHECK_OK(gpu_look_up(&l));
    CHECK_OK(dnnl_tp_stream_wait(t.stream));
    capturing_begin_graph(&t);
    CHECK_OK(gpu_look_up(&l));
    fake_cu_exec_t exec = capturing_end_graph(&t, 1);
    capturing_launch(&t, exec);
    CHECK_OK(dnnl_tp_stream_wait(t.stream));
    gpu_look_up_set(&l, GPU_ROWS);
    capturing_launch(&t, exec);
    gpu_look_up_set(&l, 0);
    CHECK_OK(gpu_look_up(&l));
    CHECK_STATUS(dnnl_tp_stream_wait(t.stream), dnnl_tp_runtime_error);
    assert_non_null(strstr(dnnl_tp_last_error(), "id 8 at position 3"));
    CHECK_OK(dnnl_tp_stream_reset(t.stream));
    CU_OK(fake_cuGraphExecDestroy(exec));
    gpu_look_up_end(&l);
    CU_OK(capturing_cu->cuStreamDestroy(t.cuda));
    capturing_leave();
}

int main(int argc, char **argv) {
    alarm(600);
    if (argc > 1) cmocka_set_test_filter(argv[1]);
#define TEST(name) cmocka_unit_test_setup_teardown(name, gpu_setup, gpu_teardown)
    const struct CMUnitTest tests[] = {
        TEST(executions_are_captured),
        TEST(forks_are_captured),
        TEST(scratch_is_kept_for_graphs),
        TEST(checks_are_captured),
    };
    return cmocka_run_group_tests_name("capture", tests, NULL, NULL);
}
