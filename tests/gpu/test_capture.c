/* Programs that capture CUDA streams, as frameworks do, on the fake driver: what of the library is captured with the program's stream and
 * right when it is launched again; what is refused, and leaves the capture as it was; that nothing of the library disturbs a capture
 * of another thread; rules of the fake driver itself. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "common/base/base.h"
#include "dnnl_tp/dnnl_tp_graph.h"
#include "gpu/driver/cu_api.h"
#include "gpu/gpu_world.h"
#include "support/check.h"
#include "support/streams.h"
#include "support/upload.h"

#define CU_OK(call) assert_int_equal(call, DTP_CU_SUCCESS)

/* ---- The program ----------------------------------------------------------------------------------------- */

static const dtp_cu_t *cu;

static void enter(void) {
    dtp_cu_ctx_t ctx;
    cu = fake_cuda_table();
    CU_OK(cu->cuDevicePrimaryCtxRetain(&ctx, 0));
    CU_OK(cu->cuCtxPushCurrent(ctx));
}
static void leave(void) {
    dtp_cu_ctx_t ctx;
    CU_OK(cu->cuCtxPopCurrent(&ctx));
    CU_OK(cu->cuDevicePrimaryCtxRelease(0));
}

/* A program's CUDA stream, with the library's on it; its context is current. */
typedef struct {
    dtp_cu_stream_t cuda;
    dnnl_tp_stream_t stream;
    bool is_the_librarys; /* the program has asked for it */
} theirs_t;

static dnnl_tp_stream_t stream_on(dtp_cu_stream_t cuda, bool profiles) {
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_stream_t s;
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_gpu));
    CHECK_OK(dnnl_tp_cuda_stream_attr_set_stream(attr, cuda));
    CHECK_OK(dnnl_tp_cuda_stream_attr_set_profiling(attr, profiles));
    CHECK_OK(dnnl_tp_stream_create_v2(&s, gpu, 0, attr));
    CHECK_OK(dnnl_tp_stream_attr_destroy(attr));
    return s;
}

static theirs_t begin(bool profiles) {
    theirs_t t = {.is_the_librarys = false};
    enter();
    CU_OK(cu->cuStreamCreate(&t.cuda, DTP_CU_STREAM_NON_BLOCKING));
    t.stream = stream_on(t.cuda, profiles);
    return t;
}
static theirs_t begin_with_the_librarys(void) {
    theirs_t t = {.is_the_librarys = true};
    enter();
    t.stream = gpu_stream();
    CHECK_OK(dnnl_tp_cuda_stream_get_stream(t.stream, &t.cuda));
    return t;
}
static void end(theirs_t *t) {
    CHECK_OK(dnnl_tp_stream_destroy(t->stream));
    if (!t->is_the_librarys) CU_OK(cu->cuStreamDestroy(t->cuda));
    leave();
}

static void begin_capture(const theirs_t *t) {
    CU_OK(fake_cuStreamBeginCapture(t->cuda, DTP_CU_CAPTURE_GLOBAL));
}

/* The capture is valid: its graph, ready to be launched. */
static fake_cu_exec_t end_capture(const theirs_t *t, int nodes) {
    fake_cu_graph_t graph;
    fake_cu_exec_t exec;
    CU_OK(fake_cuStreamEndCapture(t->cuda, &graph));
    assert_int_equal(fake_cuda_nodes(graph), nodes);
    CU_OK(fake_cuGraphInstantiate(&exec, graph, 0));
    CU_OK(fake_cuGraphDestroy(graph));
    assert_int_equal(fake_cuda_spoiled(), 0);
    return exec;
}

static void launch(const theirs_t *t, fake_cu_exec_t exec) {
    CU_OK(fake_cuGraphLaunch(exec, t->cuda));
    CU_OK(cu->cuStreamSynchronize(t->cuda));
}

/* ---- What is captured ------------------------------------------------------------------------------------ */

static void capture_executions(theirs_t t) {
    dnnl_tp_memory_t x = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t twice = gpu_linear(gpu, 2, 0), add = gpu_linear(gpu, 1, 1);
    CHECK_OK(gpu_step(twice, t.stream, x));
    CHECK_OK(dnnl_tp_stream_wait(t.stream));
    begin_capture(&t);
    CHECK_OK(gpu_step(twice, t.stream, x));
    CHECK_OK(gpu_step(add, t.stream, x));
    fake_cu_exec_t exec = end_capture(&t, 2);
    assert_true(gpu_value(x) == 2);
    for (int i = 0; i < 3; ++i) launch(&t, exec);
    assert_true(gpu_value(x) == 23); /* 2, 5, 11, 23 */
    CHECK_OK(gpu_step(add, t.stream, x));
    CHECK_OK(dnnl_tp_stream_wait(t.stream));
    assert_true(gpu_value(x) == 24);
    CU_OK(fake_cuGraphExecDestroy(exec));
    CHECK_OK(dnnl_tp_primitive_destroy(twice));
    CHECK_OK(dnnl_tp_primitive_destroy(add));
    CHECK_OK(dnnl_tp_memory_destroy(x));
    end(&t);
}

static void executions_are_captured(void **state) {
    (void)state;
    capture_executions(begin(false));
    capture_executions(begin_with_the_librarys());
}

/* A stream that was forked off by the program's events takes executions, too. */
static void forks_are_captured(void **state) {
    (void)state;
    theirs_t t = begin(false);
    dtp_cu_stream_t side;
    dtp_cu_event_t fork, join;
    CU_OK(cu->cuStreamCreate(&side, DTP_CU_STREAM_NON_BLOCKING));
    CU_OK(cu->cuEventCreate(&fork, DTP_CU_EVENT_DISABLE_TIMING));
    CU_OK(cu->cuEventCreate(&join, DTP_CU_EVENT_DISABLE_TIMING));
    dnnl_tp_stream_t s = stream_on(side, false);
    dnnl_tp_memory_t x = gpu_vector(gpu, 1), y = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t twice = gpu_linear(gpu, 2, 0);
    begin_capture(&t);
    CU_OK(cu->cuEventRecord(fork, t.cuda));
    CU_OK(cu->cuStreamWaitEvent(side, fork, 0));
    CHECK_OK(gpu_step(twice, t.stream, x));
    CHECK_OK(gpu_step(twice, s, y));
    dnnl_tp_event_t none;
    CHECK_STATUS(dnnl_tp_stream_record_event(s, &none), dnnl_tp_unimplemented);
    CU_OK(cu->cuEventRecord(join, side));
    CU_OK(cu->cuStreamWaitEvent(t.cuda, join, 0));
    CHECK_OK(gpu_step(twice, t.stream, y));
    fake_cu_exec_t exec = end_capture(&t, 3);
    launch(&t, exec);
    assert_true(gpu_value(x) == 2 && gpu_value(y) == 4);
    CU_OK(fake_cuGraphExecDestroy(exec));
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CU_OK(cu->cuStreamDestroy(side));
    CU_OK(cu->cuEventDestroy(fork));
    CU_OK(cu->cuEventDestroy(join));
    CHECK_OK(dnnl_tp_primitive_destroy(twice));
    CHECK_OK(dnnl_tp_memory_destroy(x));
    CHECK_OK(dnnl_tp_memory_destroy(y));
    end(&t);
}

/* ---- Scratch and words ------------------------------------------------------------------------------------ */

enum { MOST_K = 4096 };
static float rows[4 * MOST_K];

/* dst = src src^T, of m rows of k ones: long sums of one tile are shared, and parts of them go to the scratch. */
typedef struct {
    int m, k;
    dnnl_tp_memory_t src, dst;
    dnnl_tp_primitive_t p;
} product_t;

static dnnl_tp_memory_t matrix(int64_t m, int64_t k, dnnl_tp_format_tag_t tag, dnnl_tp_memory_desc_t *md,
                               bool allocates) {
    dnnl_tp_memory_t memory = NULL;
    const dnnl_tp_dims_t dims = {m, k};
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(md, 2, dims, dnnl_tp_f32, tag));
    if (allocates) CHECK_OK(dnnl_tp_memory_create(&memory, *md, gpu, DNNL_TP_MEMORY_ALLOCATE));
    return memory;
}

static product_t product(int m, int k) {
    product_t p = {.m = m, .k = k};
    dnnl_tp_memory_desc_t src, wei, dst;
    dnnl_tp_primitive_desc_t pd;
    p.src = matrix(m, k, dnnl_tp_ab, &src, true);
    (void)matrix(k, m, dnnl_tp_ba, &wei, false);
    p.dst = matrix(m, m, dnnl_tp_ab, &dst, true);
    CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, gpu, src, wei, NULL, dst, NULL));
    CHECK_OK(dnnl_tp_primitive_create(&p.p, pd));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_memory_desc_destroy(src));
    CHECK_OK(dnnl_tp_memory_desc_destroy(wei));
    CHECK_OK(dnnl_tp_memory_desc_destroy(dst));
    for (int i = 0; i < m * k; ++i) rows[i] = 1;
    test_upload(p.src, rows, (size_t)(m * k) * sizeof *rows);
    return p;
}
static dnnl_tp_status_t multiply(product_t *p, dnnl_tp_stream_t s) {
    void *src, *dst;
    CHECK_OK(dnnl_tp_memory_get_data_handle(p->src, &src));
    CHECK_OK(dnnl_tp_memory_get_data_handle(p->dst, &dst));
    const dnnl_tp_exec_handle_t args[] = {
        {DNNL_TP_ARG_SRC, src}, {DNNL_TP_ARG_WEIGHTS, src}, {DNNL_TP_ARG_DST, dst}};
    return dnnl_tp_primitive_execute_handles(p->p, s, 3, args);
}
/* Is the result there? It is gone afterwards. */
static bool is_multiplied(product_t *p) {
    float got[16];
    const size_t n = (size_t)(p->m * p->m);
    bool right = true;
    test_download(p->dst, got, n * sizeof *got);
    for (size_t i = 0; i < n; ++i) right &= got[i] == (float)p->k;
    memset(got, 0, sizeof got);
    test_upload(p->dst, got, n * sizeof *got);
    return right;
}
static void product_end(product_t *p) {
    CHECK_OK(dnnl_tp_primitive_destroy(p->p));
    CHECK_OK(dnnl_tp_memory_destroy(p->src));
    CHECK_OK(dnnl_tp_memory_destroy(p->dst));
}

static uint64_t used_bytes(void) {
    dnnl_tp_cuda_memory_t memory = {.struct_size = sizeof memory};
    CHECK_OK(dnnl_tp_cuda_get_memory(gpu, 0, &memory));
    return memory.used;
}

/* A graph uses the scratch that the stream had when it was captured, however the stream's grows. */
static void keep_scratch(theirs_t t) {
    product_t small = product(2, 2048), large = product(4, MOST_K);
    const uint64_t before = used_bytes();
    CHECK_OK(multiply(&small, t.stream));
    const uint64_t with_small = used_bytes();
    assert_true(with_small > before);
    CHECK_OK(dnnl_tp_stream_wait(t.stream));
    assert_true(is_multiplied(&small));
    begin_capture(&t);
    CHECK_OK(multiply(&small, t.stream));
    CHECK_STATUS(multiply(&large, t.stream), dnnl_tp_unimplemented); /* it needs more */
    assert_int_equal(dtp_last_reason(), DTP_STREAM_CAPTURED);
    assert_int_equal(used_bytes(), with_small);
    fake_cu_graph_t graph;
    fake_cu_exec_t exec;
    CU_OK(fake_cuStreamEndCapture(t.cuda, &graph));
    CU_OK(fake_cuGraphInstantiate(&exec, graph, 0));
    CU_OK(fake_cuGraphDestroy(graph));
    launch(&t, exec);
    assert_true(is_multiplied(&small));
    CHECK_OK(multiply(&large, t.stream));
    assert_true(used_bytes() > with_small);
    launch(&t, exec);
    assert_true(is_multiplied(&small));
    assert_true(is_multiplied(&large));
    CHECK_OK(dnnl_tp_stream_wait(t.stream));
    CU_OK(fake_cuGraphExecDestroy(exec));
    end(&t);
    const uint64_t after = used_bytes();
    product_end(&small);
    product_end(&large);
    assert_int_equal(after, before);
}
static void scratch_is_kept_for_graphs(void **state) {
    (void)state;
    keep_scratch(begin(false));
    keep_scratch(begin_with_the_librarys());
}

/* The word of findings is made by the first execution that checks its data; then such are captured, and what they find when they are
 * launched is told by a wait behind an execution. */
static void checks_are_captured(void **state) {
    (void)state;
    theirs_t t = begin(false);
    gpu_look_up_t l = gpu_look_up_begin(t.stream);
    gpu_look_up_set(&l, 0);
    begin_capture(&t);
    CHECK_STATUS(gpu_look_up(&l), dnnl_tp_unimplemented);
    assert_int_equal(dtp_last_reason(), DTP_STREAM_CAPTURED);
    CU_OK(fake_cuGraphExecDestroy(end_capture(&t, 0)));
    CHECK_OK(gpu_look_up(&l));
    CHECK_OK(dnnl_tp_stream_wait(t.stream));
    begin_capture(&t);
    CHECK_OK(gpu_look_up(&l));
    fake_cu_exec_t exec = end_capture(&t, 1);
    launch(&t, exec);
    CHECK_OK(dnnl_tp_stream_wait(t.stream));
    gpu_look_up_set(&l, GPU_ROWS);
    launch(&t, exec);
    gpu_look_up_set(&l, 0);
    CHECK_OK(gpu_look_up(&l));
    CHECK_STATUS(dnnl_tp_stream_wait(t.stream), dnnl_tp_runtime_error);
    assert_non_null(strstr(dnnl_tp_last_error(), "id 8 at position 3"));
    CHECK_OK(dnnl_tp_stream_reset(t.stream));
    CU_OK(fake_cuGraphExecDestroy(exec));
    gpu_look_up_end(&l);
    CU_OK(cu->cuStreamDestroy(t.cuda));
    leave();
}

/* ---- What is refused -------------------------------------------------------------------------------------- */

/* All that a program may do with a stream, and what it needs for that. */
typedef struct {
    theirs_t t, profiled;
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
    all_t a = {.t = begin(false)};
    CU_OK(cu->cuStreamCreate(&a.profiled.cuda, DTP_CU_STREAM_NON_BLOCKING));
    a.profiled.stream = stream_on(a.profiled.cuda, true);
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
    CU_OK(cu->cuStreamDestroy(a->profiled.cuda));
    CHECK_OK(dnnl_tp_memory_destroy(a->x));
    CHECK_OK(dnnl_tp_memory_destroy(a->y));
    CHECK_OK(dnnl_tp_memory_destroy(a->of_the_other));
    CHECK_OK(dnnl_tp_memory_destroy(a->on_cpu));
    CHECK_OK(dnnl_tp_engine_destroy(a->cpu));
    end(&a->t);
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
        begin_capture(&a.t);
        CHECK_OK(gpu_step(a.p, a.t.stream, a.x));
        const dnnl_tp_status_t st = calls[i].call(&a);
        if (st != dnnl_tp_unimplemented || dtp_last_reason() != DTP_STREAM_CAPTURED)
            fail_msg("%s answers %s: %s", calls[i].name, dnnl_tp_status2str(st), dnnl_tp_last_error());
        assert_non_null(strstr(dnnl_tp_last_error(), "the CUDA stream is being captured"));
        if (fake_cuda_spoiled()) fail_msg("%s makes the capture invalid", calls[i].name);
        CHECK_OK(gpu_step(a.p, a.t.stream, a.x));
        fake_cu_exec_t exec = end_capture(&a.t, 2);
        launch(&a.t, exec);
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
    begin_capture(&a.profiled);
    CHECK_STATUS(gpu_step(a.p, a.profiled.stream, a.x), dnnl_tp_unimplemented);
    assert_int_equal(dtp_last_reason(), DTP_STREAM_CAPTURED);
    CU_OK(fake_cuGraphExecDestroy(end_capture(&a.profiled, 0)));
    CHECK_OK(gpu_step(a.p, a.profiled.stream, a.x));
    CHECK_OK(dnnl_tp_stream_wait(a.profiled.stream));
    assert_true(gpu_value(a.x) == 4);
    all_end(&a);
}

/* A copy from pageable memory is captured; behind an event of the host it would need memory of the stream's. */
static void staged_copies_are_refused(void **state) {
    (void)state;
    all_t a = all_begin();
    begin_capture(&a.t);
    CHECK_OK(upload(&a));
    fake_cu_exec_t exec = end_capture(&a.t, 1);
    launch(&a.t, exec);
    assert_true(gpu_value(a.x) == 5);
    CU_OK(fake_cuGraphExecDestroy(exec));
    CHECK_OK(dnnl_tp_stream_wait_event(a.t.stream, a.host));
    CHECK_OK(gpu_step(a.p, a.t.stream, a.x));
    begin_capture(&a.t);
    CHECK_STATUS(upload(&a), dnnl_tp_unimplemented);
    assert_int_equal(dtp_last_reason(), DTP_STREAM_CAPTURED);
    CU_OK(fake_cuGraphExecDestroy(end_capture(&a.t, 0)));
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
    begin_capture(&a.t);
    CHECK_OK(dnnl_tp_event_wait(e, -1, NULL));
    CHECK_OK(dnnl_tp_sync_devices(-1));
    CHECK_OK(gpu_step(a.p, a.other, a.of_the_other));
    CHECK_OK(dnnl_tp_stream_wait(a.other));
    assert_true(gpu_value(a.x) == 2 && gpu_value(a.of_the_other) == 2);
    CHECK_OK(gpu_step(a.p, a.t.stream, a.x));
    fake_cu_exec_t exec = end_capture(&a.t, 1);
    launch(&a.t, exec);
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
    product_t p = product(2, 2048);
    gpu_look_up_t l = gpu_look_up_begin(gpu_stream());
    gpu_look_up_set(&l, 0);
    CHECK_OK(gpu_look_up(&l));
    CHECK_OK(multiply(&p, a.other));
    CHECK_OK(dnnl_tp_stream_wait_event(a.other, a.host));
    CHECK_OK(gpu_step(a.p, a.other, a.of_the_other));
    dnnl_tp_event_t e = test_record(a.other);
    CHECK_OK(dnnl_tp_event_query(e, &done, NULL));
    assert_int_equal(done, 0);
    CHECK_OK(dnnl_tp_event_signal(a.host, dnnl_tp_success));
    CHECK_OK(dnnl_tp_event_wait(e, -1, NULL));
    CHECK_OK(dnnl_tp_stream_wait(a.other));
    assert_true(is_multiplied(&p));
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) CHECK_OK(calls[i].call(&a));
    CHECK_OK(upload(&a));
    CHECK_OK(dnnl_tp_stream_wait(a.t.stream));
    CHECK_OK(gpu_step(a.p, a.profiled.stream, a.x));
    CHECK_OK(dnnl_tp_stream_wait_for(a.profiled.stream, INT64_C(10000000000)));
    assert_true(gpu_value(a.x) == 10);
    CHECK_OK(dnnl_tp_event_destroy(e));
    gpu_look_up_end(&l);
    product_end(&p);
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
        TEST(executions_are_captured),       TEST(forks_are_captured),
        TEST(scratch_is_kept_for_graphs),    TEST(checks_are_captured),
        TEST(the_rest_is_refused),           TEST(profiled_executions_are_refused),
        TEST(staged_copies_are_refused),     TEST(others_go_on),
        TEST(captures_of_others_stay_valid), TEST(the_stream_of_threads_is_refused),
    };
    return cmocka_run_group_tests_name("capture", tests, NULL, NULL);
}
