/* What a program that captures CUDA streams cannot do, on the fake driver: it is refused and leaves the capture as it was; nothing
 * of the library disturbs a capture of another thread; rules of the fake driver itself. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "common/base/base.h"
#include "dnnl_tp/dnnl_tp_graph.h"
#include "gpu/capturing.h"
#include "support/streams.h"
#include "support/upload.h"

/* ---- What is refused -------------------------------------------------------------------------------------- */

/* All that a program may do with a stream, and what it needs for that. */
typedef struct {
    capturing_t t, profiled;
    dnnl_tp_stream_t other;
    dnnl_tp_event_t host;
    dnnl_tp_memory_t x, y, of_the_other, on_cpu;
    dnnl_tp_primitive_t p, upload;
    dnnl_tp_engine_t cpu;
    dnnl_tp_trace_t trace;
    dnnl_tp_executable_t executable;
    void *handle, *dst; /* of x and y */
} all_t;

static dnnl_tp_executable_t tanh_graph(void) {
    const dnnl_tp_dims_t dims = {GPU_N};
    const dnnl_tp_compile_opts_t o = {.struct_size = sizeof o};
    dnnl_tp_graph_t graph;
    dnnl_tp_value_t x, y;
    dnnl_tp_executable_t e;
    CHECK_OK(dnnl_tp_graph_create(&graph, dnnl_tp_gpu));
    CHECK_OK(dnnl_tp_graph_input(graph, &x, "x", dnnl_tp_f32, 1, dims));
    CHECK_OK(dnnl_tp_graph_op(graph, dnnl_tp_op_tanh, "op", 1, &x, 0, NULL, 1, &y));
    CHECK_OK(dnnl_tp_graph_output(graph, y, "y"));
    CHECK_OK(dnnl_tp_executable_compile(&e, graph, gpu, 0, NULL, &o));
    CHECK_OK(dnnl_tp_graph_destroy(graph));
    return e;
}

/* From the CPU's memory to the device's. */
static dnnl_tp_primitive_t upload_of(const all_t *a) {
    const_dnnl_tp_memory_desc_t md;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t p;
    CHECK_OK(dnnl_tp_memory_get_memory_desc(a->x, &md));
    CHECK_OK(dnnl_tp_reorder_primitive_desc_create(&pd, md, a->cpu, md, gpu, NULL));
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    return p;
}
static dnnl_tp_status_t upload(const all_t *a) {
    const dnnl_tp_exec_arg_t args[] = {{DNNL_TP_ARG_FROM, a->on_cpu}, {DNNL_TP_ARG_TO, a->x}};
    return dnnl_tp_primitive_execute(a->upload, a->t.stream, 2, args);
}

static all_t all_begin(void) {
    all_t a = {.t = capturing_begin(false)};
    CU_OK(capturing_cu->cuStreamCreate(&a.profiled.cuda, DTP_CU_STREAM_NON_BLOCKING));
    a.profiled.stream = capturing_stream_on(a.profiled.cuda, true);
    a.other = gpu_stream();
    a.x = gpu_vector(gpu, 1);
    a.y = gpu_vector(gpu, 1);
    a.of_the_other = gpu_vector(gpu, 1);
    CHECK_OK(dnnl_tp_memory_get_data_handle(a.y, &a.dst));
    CHECK_OK(dnnl_tp_memory_get_data_handle(a.x, &a.handle));
    CHECK_OK(dnnl_tp_engine_create(&a.cpu, dnnl_tp_cpu, 0));
    a.on_cpu = gpu_vector(a.cpu, 5);
    a.p = gpu_linear(gpu, 2, 0);
    a.upload = upload_of(&a);
    a.executable = tanh_graph();
    CHECK_OK(dnnl_tp_trace_create(&a.trace, NULL));
    CHECK_OK(dnnl_tp_event_create_host(&a.host, gpu));
    return a;
}
static void all_end(all_t *a) {
    CHECK_OK(dnnl_tp_event_destroy(a->host));
    CHECK_OK(dnnl_tp_executable_destroy(a->executable));
    CHECK_OK(dnnl_tp_trace_destroy(a->trace));
    CHECK_OK(dnnl_tp_primitive_destroy(a->p));
    CHECK_OK(dnnl_tp_primitive_destroy(a->upload));
    CHECK_OK(dnnl_tp_stream_destroy(a->other));
    CHECK_OK(dnnl_tp_stream_destroy(a->profiled.stream));
    CU_OK(capturing_cu->cuStreamDestroy(a->profiled.cuda));
    CHECK_OK(dnnl_tp_memory_destroy(a->x));
    CHECK_OK(dnnl_tp_memory_destroy(a->y));
    CHECK_OK(dnnl_tp_memory_destroy(a->of_the_other));
    CHECK_OK(dnnl_tp_memory_destroy(a->on_cpu));
    CHECK_OK(dnnl_tp_engine_destroy(a->cpu));
    capturing_end(&a->t);
}

static dnnl_tp_status_t records(all_t *a) {
    dnnl_tp_event_t e;
    const dnnl_tp_status_t st = dnnl_tp_stream_record_event(a->t.stream, &e);
    assert_true(!st == (e != NULL));
    (void)dnnl_tp_event_destroy(e);
    return st;
}
static dnnl_tp_status_t waits_for_host(all_t *a) { return dnnl_tp_stream_wait_event(a->t.stream, a->host); }
static dnnl_tp_status_t waits_for_other(all_t *a) {
    fake_cuda_hold(true);
    CHECK_OK(gpu_step(a->p, a->other, a->of_the_other));
    dnnl_tp_event_t e = test_record(a->other);
    const dnnl_tp_status_t st = dnnl_tp_stream_wait_event(a->t.stream, e);
    fake_cuda_hold(false);
    CHECK_OK(dnnl_tp_event_wait(e, -1, NULL));
    CHECK_OK(dnnl_tp_event_destroy(e));
    return st;
}
static dnnl_tp_status_t waits(all_t *a) { return dnnl_tp_stream_wait(a->t.stream); }
static dnnl_tp_status_t waits_a_while(all_t *a) {
    return dnnl_tp_stream_wait_for(a->t.stream, INT64_C(10000000000));
}
static dnnl_tp_status_t queries(all_t *a) {
    int idle;
    return dnnl_tp_stream_query(a->t.stream, &idle, NULL);
}
static dnnl_tp_status_t runs(all_t *a) {
    return dnnl_tp_executable_run(a->executable, a->t.stream, 1, &a->handle, 1, &a->dst, NULL);
}
static dnnl_tp_status_t runs_async(all_t *a) {
    dnnl_tp_event_t e = NULL;
    const dnnl_tp_status_t st =
        dnnl_tp_executable_run_async(a->executable, a->t.stream, 1, &a->handle, 1, &a->dst, NULL, &e);
    (void)dnnl_tp_event_destroy(e);
    return st;
}
static dnnl_tp_status_t is_timed(all_t *a) {
    const dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, a->handle}, {DNNL_TP_ARG_DST, a->handle}};
    const dnnl_tp_timed_run_opts_t o = {
        .struct_size = sizeof o, .cold_runs = 1, .min_warm_runs = 2, .max_warm_runs = 2, .min_time_ns = 1};
    dnnl_tp_timing_t timing = {.struct_size = sizeof timing};
    return dnnl_tp_primitive_timed_run(a->p, a->t.stream, 2, args, &o, &timing);
}
static dnnl_tp_status_t is_traced(all_t *a) {
    CHECK_OK(dnnl_tp_stream_set_trace(a->t.stream, a->trace, "device"));
    const dnnl_tp_status_t st = gpu_step(a->p, a->t.stream, a->x);
    CHECK_OK(dnnl_tp_stream_set_trace(a->t.stream, NULL, NULL));
    return st;
}
static dnnl_tp_status_t syncs(all_t *a) { return (void)a, dnnl_tp_sync_devices(-1); }

static const struct {
    const char *name;
    dnnl_tp_status_t (*call)(all_t *a);
} calls[] = {
    {"record_event", records},
    {"wait_event of the host", waits_for_host},
    {"wait_event of another stream", waits_for_other},
    {"stream_wait", waits},
    {"stream_wait_for", waits_a_while},
    {"stream_query", queries},
    {"executable_run", runs},
    {"executable_run_async", runs_async},
    {"timed_run", is_timed},
    {"traced execution", is_traced},
    {"sync_devices", syncs},
};

/* Each, in a capture that takes an execution before and behind it: it is refused at once, the capture stays valid, and afterwards the
 * same call works. */
static void the_rest_is_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
        all_t a = all_begin();
        CHECK_OK(gpu_step(a.p, a.t.stream, a.x)); /* not marked */
        capturing_begin_graph(&a.t);
        CHECK_OK(gpu_step(a.p, a.t.stream, a.x));
        const dnnl_tp_status_t st = calls[i].call(&a);
        if (st != dnnl_tp_unimplemented || dtp_last_reason() != DTP_STREAM_CAPTURED)
            fail_msg("%s answers %s: %s", calls[i].name, dnnl_tp_status2str(st), dnnl_tp_last_error());
        assert_non_null(strstr(dnnl_tp_last_error(), "the CUDA stream is being captured"));
        if (fake_cuda_spoiled()) fail_msg("%s makes the capture invalid", calls[i].name);
        CHECK_OK(gpu_step(a.p, a.t.stream, a.x));
        fake_cu_exec_t exec = capturing_end_graph(&a.t, 2);
        capturing_launch(&a.t, exec);
        CHECK_OK(dnnl_tp_event_signal(a.host, dnnl_tp_success));
        const dnnl_tp_status_t after = calls[i].call(&a);
        if (after) fail_msg("%s answers %s after the capture", calls[i].name, dnnl_tp_status2str(after));
        CHECK_OK(dnnl_tp_stream_wait(a.t.stream));
        CU_OK(fake_cuGraphExecDestroy(exec));
        all_end(&a);
    }
}

static void profiled_executions_are_refused(void **state) {
    (void)state;
    all_t a = all_begin();
    CHECK_OK(gpu_step(a.p, a.profiled.stream, a.x));
    CHECK_OK(dnnl_tp_stream_wait(a.profiled.stream));
    capturing_begin_graph(&a.profiled);
    CHECK_STATUS(gpu_step(a.p, a.profiled.stream, a.x), dnnl_tp_unimplemented);
    assert_int_equal(dtp_last_reason(), DTP_STREAM_CAPTURED);
    CU_OK(fake_cuGraphExecDestroy(capturing_end_graph(&a.profiled, 0)));
    CHECK_OK(gpu_step(a.p, a.profiled.stream, a.x));
    CHECK_OK(dnnl_tp_stream_wait(a.profiled.stream));
    assert_true(gpu_value(a.x) == 4);
    all_end(&a);
}

/* A copy from pageable memory is captured; behind an event of the host it would need memory of the stream's. */
static void staged_copies_are_refused(void **state) {
    (void)state;
    all_t a = all_begin();
    capturing_begin_graph(&a.t);
    CHECK_OK(upload(&a));
    fake_cu_exec_t exec = capturing_end_graph(&a.t, 1);
    capturing_launch(&a.t, exec);
    assert_true(gpu_value(a.x) == 5);
    CU_OK(fake_cuGraphExecDestroy(exec));
    CHECK_OK(dnnl_tp_stream_wait_event(a.t.stream, a.host));
    CHECK_OK(gpu_step(a.p, a.t.stream, a.x));
    capturing_begin_graph(&a.t);
    CHECK_STATUS(upload(&a), dnnl_tp_unimplemented);
    assert_int_equal(dtp_last_reason(), DTP_STREAM_CAPTURED);
    CU_OK(fake_cuGraphExecDestroy(capturing_end_graph(&a.t, 0)));
    CHECK_OK(dnnl_tp_event_signal(a.host, dnnl_tp_success));
    CHECK_OK(upload(&a));
    CHECK_OK(dnnl_tp_stream_wait(a.t.stream));
    assert_true(gpu_value(a.x) == 5);
    all_end(&a);
}

/* Where all work in front of the capture is marked, others may wait for it; a stream can be destroyed and made anew meanwhile. */
static void others_go_on(void **state) {
    (void)state;
    all_t a = all_begin();
    CHECK_OK(gpu_step(a.p, a.t.stream, a.x));
    dnnl_tp_event_t e = test_record(a.t.stream);
    capturing_begin_graph(&a.t);
    CHECK_OK(dnnl_tp_event_wait(e, -1, NULL));
    CHECK_OK(dnnl_tp_sync_devices(-1));
    CHECK_OK(gpu_step(a.p, a.other, a.of_the_other));
    CHECK_OK(dnnl_tp_stream_wait(a.other));
    assert_true(gpu_value(a.x) == 2 && gpu_value(a.of_the_other) == 2);
    CHECK_OK(gpu_step(a.p, a.t.stream, a.x));
    fake_cu_exec_t exec = capturing_end_graph(&a.t, 1);
    capturing_launch(&a.t, exec);
    assert_true(gpu_value(a.x) == 4);
    CU_OK(fake_cuGraphExecDestroy(exec));
    CHECK_OK(dnnl_tp_event_destroy(e));
    all_end(&a);
}

/* ---- Captures of others ----------------------------------------------------------------------------------- */

typedef struct {
    sem_t begun, end;
    dtp_cu_result_t result;
} capturer_t;

static void *captures(void *arg) {
    capturer_t *c = arg;
    dtp_cu_stream_t stream;
    dtp_cu_ctx_t ctx;
    fake_cu_graph_t graph = NULL;
    const dtp_cu_t *driver = fake_cuda_table();
    if (driver->cuDevicePrimaryCtxRetain(&ctx, 0) || driver->cuCtxPushCurrent(ctx) ||
        driver->cuStreamCreate(&stream, DTP_CU_STREAM_NON_BLOCKING) ||
        fake_cuStreamBeginCapture(stream, DTP_CU_CAPTURE_GLOBAL))
        return c;
    sem_post(&c->begun);
    sem_wait(&c->end);
    c->result = fake_cuStreamEndCapture(stream, &graph);
    if (graph && fake_cuGraphDestroy(graph)) return c;
    if (driver->cuStreamDestroy(stream) || driver->cuCtxPopCurrent(&ctx) ||
        driver->cuDevicePrimaryCtxRelease(0))
        return c;
    return NULL;
}

/* Whatever this thread does of the library meanwhile. */
static void a_program(void) {
    all_t a = all_begin();
    int done = 0;
    capturing_product_t p = capturing_product(2, 2048);
    gpu_look_up_t l = gpu_look_up_begin(gpu_stream());
    gpu_look_up_set(&l, 0);
    CHECK_OK(gpu_look_up(&l));
    CHECK_OK(capturing_multiply(&p, a.other));
    CHECK_OK(dnnl_tp_stream_wait_event(a.other, a.host));
    CHECK_OK(gpu_step(a.p, a.other, a.of_the_other));
    dnnl_tp_event_t e = test_record(a.other);
    CHECK_OK(dnnl_tp_event_query(e, &done, NULL));
    assert_int_equal(done, 0);
    CHECK_OK(dnnl_tp_event_signal(a.host, dnnl_tp_success));
    CHECK_OK(dnnl_tp_event_wait(e, -1, NULL));
    CHECK_OK(dnnl_tp_stream_wait(a.other));
    assert_true(capturing_is_multiplied(&p));
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) CHECK_OK(calls[i].call(&a));
    CHECK_OK(upload(&a));
    CHECK_OK(dnnl_tp_stream_wait(a.t.stream));
    CHECK_OK(gpu_step(a.p, a.profiled.stream, a.x));
    CHECK_OK(dnnl_tp_stream_wait_for(a.profiled.stream, INT64_C(10000000000)));
    assert_true(gpu_value(a.x) == 10);
    CHECK_OK(dnnl_tp_event_destroy(e));
    gpu_look_up_end(&l);
    capturing_product_end(&p);
    all_end(&a);
}

/* The last engine of the device ends and begins meanwhile, too. */
static void captures_of_others_stay_valid(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 5; ++seed) {
        capturer_t c;
        pthread_t t;
        void *wrong;
        fake_cuda_set_seed(seed);
        sem_init(&c.begun, 0, 0);
        sem_init(&c.end, 0, 0);
        assert_int_equal(pthread_create(&t, NULL, captures, &c), 0);
        sem_wait(&c.begun);
        CHECK_OK(dnnl_tp_engine_destroy(gpu));
        CHECK_OK(dnnl_tp_engine_create(&gpu, dnnl_tp_gpu, 0));
        a_program();
        const int spoiled = fake_cuda_spoiled();
        sem_post(&c.end);
        assert_int_equal(pthread_join(t, &wrong), 0);
        assert_null(wrong);
        assert_int_equal(spoiled, 0);
        assert_int_equal(c.result, DTP_CU_SUCCESS);
        sem_destroy(&c.begun);
        sem_destroy(&c.end);
    }
}

/* ---- Streams that are not taken --------------------------------------------------------------------------- */

static void the_stream_of_threads_is_refused(void **state) {
    (void)state;
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_stream_t s = (dnnl_tp_stream_t)&attr;
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_gpu));
    dnnl_tp_status_t st =
        dnnl_tp_cuda_stream_attr_set_stream(attr, (struct CUstream_st *)(uintptr_t)DTP_CU_STREAM_PER_THREAD);
    if (!st) st = dnnl_tp_stream_create_v2(&s, gpu, 0, attr);
    assert_int_equal(st, dnnl_tp_invalid_arguments);
    assert_int_equal(dtp_last_reason(), DTP_BAD_STREAM);
    assert_null(s);
    CHECK_OK(dnnl_tp_stream_attr_destroy(attr));
}

int main(int argc, char **argv) {
    alarm(600);
    if (argc > 1) cmocka_set_test_filter(argv[1]);
#define TEST(name) cmocka_unit_test_setup_teardown(name, gpu_setup, gpu_teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_rest_is_refused),           TEST(profiled_executions_are_refused),
        TEST(staged_copies_are_refused),     TEST(others_go_on),
        TEST(captures_of_others_stay_valid), TEST(the_stream_of_threads_is_refused),
    };
    return cmocka_run_group_tests_name("capture_refused", tests, NULL, NULL);
}
