/* Ranges of NVTX around executions and operators of runs, as a tool sees them that the test brings (fake/libnvtxtool.c): their names
 * and order, that each launch lies in one, that they end where the execution fails, too; and when there are none. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dnnl_tp/dnnl_tp_graph.h"
#include "dnnl_tp/dnnl_tp_trace.h"
#include "gpu/driver/cu_api.h"
#include "gpu/gpu_world.h"
#include "support/check.h"
#include "support/streams.h"
#include "support/upload.h"

#include "gpu/fake/nvtx_tool.h"

static nvtx_tool_t *tool;
static nvtx_tool_current_t current;

/* ---- The tool, and a driver that looks where launches are ---------------------------------------------- */

static void *find(const char *name) {
    void *library = dlopen(NVTX_TOOL, RTLD_NOW | RTLD_NOLOAD),
         *symbol = library ? dlsym(library, name) : NULL;
    if (library) dlclose(library); /* the library's reference stays */
    return symbol;
}

static dtp_cu_t cu;
static _Atomic int launches, outside;
static int launches_of[NVTX_TOOL_MOST]; /* of one thread */
static dtp_cu_result_t launch(dtp_cu_function_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                              unsigned by, unsigned bz, unsigned shared, dtp_cu_stream_t s, void **params,
                              void **extra) {
    const int range = current ? current() : -1;
    ++launches;
    if (range < 0) ++outside;
    else if (tool->range[range].thread == 1) ++launches_of[range];
    return fake_cuda_table()->cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, s, params, extra);
}

static int setup(void **state) {
    (void)state;
    fake_cuda_reset();
    cu = *fake_cuda_table();
    cu.cuLaunchKernel = launch;
    dtp_cu_set_for_test(&cu);
    CHECK_OK(dnnl_tp_engine_create(&gpu, dnnl_tp_gpu, 0));
    dnnl_tp_stream_t first = gpu_stream(); /* the tool is loaded */
    CHECK_OK(dnnl_tp_stream_destroy(first));
    void *symbol[] = {find("nvtx_tool_records"), find("nvtx_tool_current")};
    nvtx_tool_records_t records;
    memcpy(&records, &symbol[0], sizeof records);
    memcpy(&current, &symbol[1], sizeof current);
    tool = records ? records() : NULL;
    if (!tool) return 0;
    tool->n = 0;
    launches = outside = 0;
    memset(launches_of, 0, sizeof launches_of);
    return 0;
}
static int teardown(void **state) {
    int wrong = 0;
    for (int i = 0; tool && i < tool->n; ++i) wrong += !tool->range[i].ended;
    return gpu_teardown(state) || wrong || outside || (tool && tool->wrongs) ? -1 : 0;
}

/* ---- Primitives --------------------------------------------------------------------------------------- */

static void executions_are_ranges(void **state) {
    (void)state;
    assert_int_equal(tool->attached, 1);
    assert_int_equal(tool->domains, 1);
    assert_string_equal(tool->domain, "dnnl_tp");
    dnnl_tp_stream_t s = gpu_stream();
    dnnl_tp_memory_t x = gpu_vector(gpu, 1), y = gpu_vector(gpu, 0);
    dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 0), q = gpu_product(gpu);
    void *from, *to;
    CHECK_OK(dnnl_tp_memory_get_data_handle(x, &from));
    CHECK_OK(dnnl_tp_memory_get_data_handle(y, &to));
    CHECK_OK(gpu_step(p, s, x));
    CHECK_OK(gpu_multiply(q, s, from, to));
    CHECK_OK(gpu_step(p, s, x));
    static const char *const names[] = {"eltwise 1008:1008", "matmul 16x16:16x16:1x16:16x16",
                                        "eltwise 1008:1008"};
    assert_int_equal(tool->n, 3);
    for (int i = 0; i < 3; ++i) {
        assert_string_equal(tool->range[i].name, names[i]);
        assert_int_equal(tool->range[i].depth, 0);
        assert_true(launches_of[i] >= 1);
    }
    CHECK_OK(dnnl_tp_stream_wait(s));
    /* One that fails ends, too. */
    (void)fake_cuda_fail(1, DTP_CU_OUT_OF_MEMORY);
    CHECK_STATUS(gpu_step(p, s, x), dnnl_tp_out_of_memory);
    (void)fake_cuda_fail(-1, 0);
    assert_int_equal(tool->n, 4);
    assert_int_equal(tool->range[3].ended, 1);
    assert_int_equal(current(), -1);
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_destroy(q));
    CHECK_OK(dnnl_tp_memory_destroy(x));
    CHECK_OK(dnnl_tp_memory_destroy(y));
}

/* ---- Graphs ------------------------------------------------------------------------------------------- */

enum { SIDE = 8 };

/* y = softmax(x w), then tanh where p is. */
static dnnl_tp_graph_t graph(void) {
    static float weights[SIDE * SIDE];
    const dnnl_tp_dims_t dims = {SIDE, SIDE}, one = {1};
    dnnl_tp_graph_t g, yes, no;
    dnnl_tp_value_t in[2], p, y, z, out;
    for (int i = 0; i < SIDE; ++i) weights[i * SIDE + i] = 2;
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &in[0], "x", dnnl_tp_f32, 2, dims));
    CHECK_OK(dnnl_tp_graph_input(g, &p, "p", dnnl_tp_f32, 1, one));
    CHECK_OK(dnnl_tp_graph_constant(g, &in[1], "w", dnnl_tp_f32, 2, dims, weights, DNNL_TP_CONSTANT_COPY,
                                    NULL, NULL));
    CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_matmul, "the product", 2, in, 0, NULL, 1, &y));
    CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_softmax, "the weights", 1, &y, 0, NULL, 1, &z));
    CHECK_OK(dnnl_tp_graph_create_region(&yes, g));
    CHECK_OK(dnnl_tp_graph_create_region(&no, g));
    dnnl_tp_value_t a, b;
    CHECK_OK(dnnl_tp_graph_op(yes, dnnl_tp_op_tanh, "bends", 1, &z, 0, NULL, 1, &a));
    CHECK_OK(dnnl_tp_graph_op(no, dnnl_tp_op_exp, "grows", 1, &z, 0, NULL, 1, &b));
    CHECK_OK(dnnl_tp_graph_if(g, "choice", p, yes, no, 1, &a, &b, &out));
    CHECK_OK(dnnl_tp_graph_output(g, out, "y"));
    CHECK_OK(dnnl_tp_graph_destroy(yes));
    CHECK_OK(dnnl_tp_graph_destroy(no));
    return g;
}

typedef struct {
    dnnl_tp_executable_t executable;
    dnnl_tp_memory_t memory[3];
    void *handle[3];
} run_t;

static void begin_runs(run_t *r, dnnl_tp_graph_t g) {
    CHECK_OK(dnnl_tp_executable_compile(&r->executable, g, gpu, 0, NULL, NULL));
    for (int i = 0; i < 3; ++i) {
        r->memory[i] = gpu_vector(gpu, 1);
        CHECK_OK(dnnl_tp_memory_get_data_handle(r->memory[i], &r->handle[i]));
    }
}
static void end_runs(run_t *r) {
    for (int i = 0; i < 3; ++i) CHECK_OK(dnnl_tp_memory_destroy(r->memory[i]));
    CHECK_OK(dnnl_tp_executable_destroy(r->executable));
}

/* With the names that the statistics of a run have, also while it is timed. */
static void operators_are_ranges(void **state) {
    (void)state;
    dnnl_tp_stream_t s = gpu_stream();
    dnnl_tp_graph_t g = graph();
    run_t r;
    begin_runs(&r, g);
    static const char *const names[] = {"the product", "the weights", "bends"};
    dnnl_tp_trace_event_t events[8];
    dnnl_tp_run_stats_t stats = {.struct_size = sizeof stats, .events = events, .max_events = 8};
    const dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .stats = &stats};
    for (int timed = 0; timed < 2; ++timed) {
        tool->n = 0;
        memset(launches_of, 0, sizeof launches_of);
        outside = 0;
        CHECK_OK(dnnl_tp_executable_run(r.executable, s, 2, r.handle, 1, r.handle + 2, timed ? &o : NULL));
        assert_int_equal(tool->n, 3);
        for (int i = 0; i < 3; ++i) {
            assert_string_equal(tool->range[i].name, names[i]);
            assert_int_equal(tool->range[i].depth, 0);
            assert_true(launches_of[i] >= 1);
            if (timed) assert_string_equal(events[i].name, names[i]);
        }
    }
    /* Whichever call fails, each range ends. */
    for (int64_t k = 0;; ++k) {
        (void)fake_cuda_fail(k, DTP_CU_OUT_OF_MEMORY);
        const dnnl_tp_status_t st =
            dnnl_tp_executable_run(r.executable, s, 2, r.handle, 1, r.handle + 2, NULL);
        assert_int_equal(current(), -1);
        if (!fake_cuda_fail(-1, 0)) continue;
        CHECK_OK(st);
        break;
    }
    end_runs(&r);
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_graph_destroy(g));
}

/* ---- Threads ------------------------------------------------------------------------------------------ */

enum { THREADS = 4, ROUNDS = 10 };
static void *work(void *arg) {
    dnnl_tp_stream_t s = gpu_stream();
    dnnl_tp_memory_t x = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t p = gpu_linear(gpu, 1, 1);
    run_t r;
    begin_runs(&r, arg);
    for (int i = 0; i < ROUNDS; ++i) {
        CHECK_OK(gpu_step(p, s, x));
        CHECK_OK(dnnl_tp_executable_run(r.executable, s, 2, r.handle, 1, r.handle + 2, NULL));
    }
    CHECK_OK(dnnl_tp_stream_wait(s));
    end_runs(&r);
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_destroy(x));
    return NULL;
}

static void ranges_are_of_threads(void **state) {
    (void)state;
    static const char *const names[] = {"eltwise 1008:1008", "the product", "the weights", "bends"};
    enum { EACH = 4 * ROUNDS };
    pthread_t t[THREADS];
    dnnl_tp_graph_t g = graph();
    for (int i = 0; i < THREADS; ++i) assert_int_equal(pthread_create(&t[i], NULL, work, g), 0);
    for (int i = 0; i < THREADS; ++i) assert_int_equal(pthread_join(t[i], NULL), 0);
    assert_int_equal(tool->n, THREADS * EACH);
    for (int i = 0; i < tool->n; ++i) {
        int n = 0; /* of its thread in front of it */
        for (int k = 0; k < i; ++k) n += tool->range[k].thread == tool->range[i].thread;
        assert_string_equal(tool->range[i].name, names[n % 4]);
        assert_int_equal(tool->range[i].depth, 0);
    }
    CHECK_OK(dnnl_tp_graph_destroy(g));
}

/* ---- When there are none ------------------------------------------------------------------------------- */

/* In a process of its own: executions work, and no tool is loaded. */
static int be_child(void) {
    void *state = NULL;
    (void)setup(&state);
    dnnl_tp_stream_t s = gpu_stream();
    dnnl_tp_memory_t x = gpu_vector(gpu, 1);
    dnnl_tp_primitive_t p = gpu_linear(gpu, 2, 0);
    CHECK_OK(gpu_step(p, s, x));
    CHECK_OK(dnnl_tp_stream_wait(s));
    const bool right = gpu_value(x) == 2 && !tool;
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_destroy(x));
    return gpu_teardown(&state) || !right;
}

static const char *program;
static void child(const char *name, const char *value, const char *path) {
    const pid_t pid = fork();
    if (!pid) {
        if (name) setenv(name, value, 1);
        if (path) setenv("NVTX_INJECTION64_PATH", path, 1);
        else unsetenv("NVTX_INJECTION64_PATH");
        execl(program, program, "--none", (char *)NULL);
        _exit(127);
    }
    int status;
    assert_true(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void nobody_is_asked_without_a_tool(void **state) {
    (void)state;
    child(NULL, NULL, NULL);
    child("DNNL_TP_NVTX", "0", NVTX_TOOL);
    child("NVTX_TOOL_REFUSES", "1", NVTX_TOOL);
    child(NULL, NULL, "/nowhere/libtool.so");
    child(NULL, NULL, program); /* no library */
}

int main(int argc, char **argv) {
    alarm(300);
    program = argv[0];
    if (argc > 1) return be_child();
    setenv("NVTX_INJECTION64_PATH", NVTX_TOOL, 1);
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_is_asked_without_a_tool),
        TEST(executions_are_ranges),
        TEST(operators_are_ranges),
        TEST(ranges_are_of_threads),
    };
    return cmocka_run_group_tests_name("nvtx", tests, NULL, NULL);
}
