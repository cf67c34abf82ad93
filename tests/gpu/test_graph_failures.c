/* A graph with constants, a choice, a loop and ids that kernels check, compiled and run on the fake driver, while each of the driver's
 * calls fails in turn: out of memory costs what was asked for and nothing else, a lost device is told, and nothing hangs or is left.
 *   test_gpu_graph_failures [STEP]      each STEP-th call, 41 if not given */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dnnl_tp/dnnl_tp_graph.h"
#include "gpu/arena.h"
#include "gpu/driver/cu_api.h"
#include "gpu/fake/fake_cuda.h"
#include "support/check.h"

enum { ROWS = 4, COLS = 8, TABLE = 5, TURNS = 3, BYTES = ROWS * COLS * sizeof(float) };
typedef dnnl_tp_value_t val_t;

/* ---- The graph --------------------------------------------------------------------------------------- */

static val_t input(dnnl_tp_graph_t g, const char *name, dnnl_tp_data_type_t type, int rows, int cols) {
    const dnnl_tp_dims_t dims = {rows, cols};
    val_t v;
    CHECK_OK(dnnl_tp_graph_input(g, &v, name, type, cols ? 2 : 1, dims));
    return v;
}
static val_t constant(dnnl_tp_graph_t g, int rows, int cols, float first, float step) {
    float data[TABLE * COLS * 2];
    const dnnl_tp_dims_t dims = {rows, cols};
    for (int i = 0; i < rows * cols; ++i) data[i] = first + step * (float)i;
    val_t v;
    CHECK_OK(dnnl_tp_graph_constant(g, &v, "constant", dnnl_tp_f32, 2, dims, data, DNNL_TP_CONSTANT_COPY,
                                    NULL, NULL));
    return v;
}
static val_t op(dnnl_tp_graph_t g, dnnl_tp_op_kind_t kind, val_t a, val_t b) {
    const val_t in[] = {a, b};
    val_t v;
    CHECK_OK(dnnl_tp_graph_op(g, kind, "op", b < 0 ? 1 : 2, in, 0, NULL, 1, &v));
    return v;
}

/* y = softmax(x w + table[ids]); p: y + y, else tanh(y); then so often as turns says: y + y / 2. */
static dnnl_tp_graph_t build(void) {
    dnnl_tp_graph_t g, yes, no, cond, body;
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    const val_t x = input(g, "x", dnnl_tp_f32, ROWS, COLS), ids = input(g, "ids", dnnl_tp_s32, ROWS, 0),
                p = input(g, "p", dnnl_tp_f32, 1, 1), turns = input(g, "turns", dnnl_tp_f32, 1, 1);
    val_t y = op(g, dnnl_tp_op_matmul, x, constant(g, COLS, COLS, -.3f, .01f));
    y = op(g, dnnl_tp_op_add, y, op(g, dnnl_tp_op_gather, constant(g, TABLE, COLS, .5f, -.02f), ids));
    y = op(g, dnnl_tp_op_softmax, y, -1);
    CHECK_OK(dnnl_tp_graph_create_region(&yes, g));
    CHECK_OK(dnnl_tp_graph_create_region(&no, g));
    const val_t a = op(yes, dnnl_tp_op_add, y, y), b = op(no, dnnl_tp_op_tanh, y, -1);
    CHECK_OK(dnnl_tp_graph_if(g, "if", p, yes, no, 1, &a, &b, &y));
    CHECK_OK(dnnl_tp_graph_create_region(&cond, g));
    const val_t vars[] = {input(cond, "left", dnnl_tp_f32, 1, 1),
                          input(cond, "sum", dnnl_tp_f32, ROWS, COLS)};
    const val_t going = op(cond, dnnl_tp_op_relu, vars[0], -1);
    CHECK_OK(dnnl_tp_graph_create_region(&body, cond));
    const val_t half = op(body, dnnl_tp_op_multiply, vars[1], constant(body, 1, 1, .5f, 0));
    const val_t next[] = {op(body, dnnl_tp_op_subtract, vars[0], constant(body, 1, 1, 1, 0)),
                          op(body, dnnl_tp_op_add, vars[1], half)};
    val_t out[2];
    const val_t init[] = {turns, y};
    CHECK_OK(dnnl_tp_graph_while(g, "while", cond, going, body, 2, init, vars, next, 0, out));
    CHECK_OK(dnnl_tp_graph_output(g, out[1], "y"));
    const dnnl_tp_graph_t regions[] = {yes, no, cond, body};
    for (int i = 0; i < 4; ++i) CHECK_OK(dnnl_tp_graph_destroy(regions[i]));
    return g;
}

/* ---- The program ------------------------------------------------------------------------------------- */

enum { NIN = 4, TENSORS = 5 };
static const size_t sizes[TENSORS] = {BYTES, ROWS * sizeof(int32_t), sizeof(float), sizeof(float), BYTES};
static float x[ROWS * COLS], want[ROWS * COLS];
static const int32_t ids[ROWS] = {0, 4, 2, 4};
static const float p[1] = {0}, turns[1] = {TURNS};
static const void *const host[NIN] = {x, ids, p, turns};

static arena_t arena;
static bool served; /* the arena serves the engine's memory */

typedef struct {
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    dnnl_tp_executable_t executable;
    dnnl_tp_memory_t memory[TENSORS];
    void *handle[TENSORS];
} world_t;

static dnnl_tp_status_t upload(world_t *w, int i) {
    const dnnl_tp_dims_t dims = {(int64_t)sizes[i]};
    dnnl_tp_memory_desc_t md;
    void *mapped;
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&md, 1, dims, dnnl_tp_u8, dnnl_tp_a));
    dnnl_tp_status_t st = dnnl_tp_memory_create(&w->memory[i], md, w->engine, DNNL_TP_MEMORY_ALLOCATE);
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
    if (!st) st = dnnl_tp_memory_get_data_handle(w->memory[i], &w->handle[i]);
    if (st || i == NIN) return st;
    st = dnnl_tp_memory_map_data(w->memory[i], &mapped);
    if (st) return st;
    memcpy(mapped, host[i], sizes[i]);
    st = dnnl_tp_memory_unmap_data(w->memory[i], mapped);
    for (int k = 0; k < 3 && st == dnnl_tp_out_of_memory; ++k)
        st = dnnl_tp_memory_unmap_data(w->memory[i], mapped);
    return st;
}

static dnnl_tp_status_t set_up(world_t *w, dnnl_tp_graph_t g) {
    dnnl_tp_status_t st =
        served ? arena_engine(&w->engine, &arena, 0) : dnnl_tp_engine_create(&w->engine, dnnl_tp_gpu, 0);
    if (!st) st = dnnl_tp_stream_create(&w->stream, w->engine, 0);
    if (!st) st = dnnl_tp_executable_compile(&w->executable, g, w->engine, 0, NULL, NULL);
    for (int i = 0; i < TENSORS && !st; ++i) st = upload(w, i);
    return st;
}
static void tear_down(world_t *w) {
    (void)dnnl_tp_stream_destroy(w->stream);
    for (int i = 0; i < TENSORS; ++i) (void)dnnl_tp_memory_destroy(w->memory[i]);
    (void)dnnl_tp_executable_destroy(w->executable);
    (void)dnnl_tp_engine_destroy(w->engine);
}

static dnnl_tp_status_t is_right(world_t *w) {
    void *mapped;
    dnnl_tp_status_t st = dnnl_tp_memory_map_data(w->memory[NIN], &mapped);
    if (st) return st;
    for (int i = 0; i < ROWS * COLS; ++i)
        if (!(fabsf(((const float *)mapped)[i] - want[i]) < 1e-5f))
            fail_msg("a failure was not told: element %d is %g, needed is %g", i,
                     (double)((const float *)mapped)[i], (double)want[i]);
    st = dnnl_tp_memory_unmap_data(w->memory[NIN], mapped);
    for (int k = 0; k < 3 && st == dnnl_tp_out_of_memory; ++k)
        st = dnnl_tp_memory_unmap_data(w->memory[NIN], mapped);
    return st;
}

typedef enum { WAITS, ASYNC, WATCHED, WAYS } way_t;
static dnnl_tp_status_t run(world_t *w, way_t way) {
    dnnl_tp_run_stats_t stats = {.struct_size = sizeof stats};
    const dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .stats = way == WATCHED ? &stats : NULL};
    dnnl_tp_event_t event = NULL;
    dnnl_tp_status_t st;
    if (way == ASYNC) {
        st = dnnl_tp_executable_run_async(w->executable, w->stream, NIN, w->handle, 1, w->handle + NIN, &o,
                                          &event);
        dnnl_tp_status_t waited = st;
        do {
            if (!st) waited = dnnl_tp_event_wait(event, -1, &st);
        } while (waited == dnnl_tp_out_of_memory && !st);
        if (!st) st = waited;
        (void)dnnl_tp_event_destroy(event);
        if (st && dnnl_tp_stream_wait(w->stream) && dnnl_tp_stream_reset(w->stream))
            st = dnnl_tp_runtime_error;
    } else {
        st = dnnl_tp_executable_run(w->executable, w->stream, NIN, w->handle, 1, w->handle + NIN, &o);
    }
    return st ? st : is_right(w);
}

/* Everything, until something fails. */
static dnnl_tp_status_t program(dnnl_tp_graph_t g) {
    world_t w = {0};
    dnnl_tp_status_t st = set_up(&w, g);
    for (way_t way = WAITS; way < WAYS && !st; ++way) st = run(&w, way);
    tear_down(&w);
    return st;
}

static dnnl_tp_graph_t begin(void) {
    fake_cuda_reset();
    dtp_cu_set_for_test(fake_cuda_table());
    arena_begin(&arena, 0);
    return build();
}
static bool end(dnnl_tp_graph_t g) {
    CHECK_OK(dnnl_tp_graph_destroy(g));
    const bool all = arena_end(&arena) == 0;
    return fake_cuda_report(stderr) == 0 && all;
}

/* Lets the k-th call fail for k = 0, step, 2 step, ... */
static int step = 41;
static void sweep(dtp_cu_result_t result) {
    int failed = 0;
    for (int64_t k = 0;; k += step) {
        dnnl_tp_graph_t g = begin();
        (void)fake_cuda_fail(k, result);
        failed += program(g) != dnnl_tp_success;
        const bool all = fake_cuda_fail(-1, 0);
        if (!end(g)) fail_msg("call %d failing with %d: something is left", (int)k, result);
        if (all) break;
    }
    assert_true(failed > 100 / step);
}
static void no_memory_leaves_nothing(void **state) {
    (void)state;
    sweep(DTP_CU_OUT_OF_MEMORY);
}
static void a_lost_device_leaves_nothing(void **state) {
    (void)state;
    sweep(DTP_CU_ILLEGAL_ADDRESS);
}

/* The same where a program's allocator serves the memory, and where that has none at its k-th call. */
static void allocators_get_all_back(void **state) {
    (void)state;
    served = true;
    sweep(DTP_CU_OUT_OF_MEMORY);
    sweep(DTP_CU_ILLEGAL_ADDRESS);
    int64_t k = 0, calls;
    do {
        dnnl_tp_graph_t g = begin();
        arena.fail_at = k;
        const dnnl_tp_status_t st = program(g);
        calls = arena.allocs;
        if (k < calls ? st != dnnl_tp_out_of_memory : st != dnnl_tp_success)
            fail_msg("call %d of %d of alloc gives none: %s: %s", (int)k, (int)calls, dnnl_tp_status2str(st),
                     dnnl_tp_last_error());
        if (!end(g)) fail_msg("call %d of alloc gives none: something is left", (int)k);
    } while (k++ < calls);
    assert_true(calls > 8);
    served = false;
}

/* A run that fails for want of memory costs that run alone: the next one is right. */
static void the_next_run_is_right(void **state) {
    (void)state;
    for (way_t way = WAITS; way < WAYS; ++way) {
        dnnl_tp_graph_t g = begin();
        world_t w = {0};
        CHECK_OK(set_up(&w, g));
        int failed = 0;
        for (int64_t k = 0;; k += step / 8 + 1) {
            (void)fake_cuda_fail(k, DTP_CU_OUT_OF_MEMORY);
            const dnnl_tp_status_t st = run(&w, way);
            const bool all = fake_cuda_fail(-1, 0);
            failed += st != dnnl_tp_success;
            if (st && st != dnnl_tp_out_of_memory)
                fail_msg("call %d of way %d fails: %s: %s", (int)k, way, dnnl_tp_status2str(st),
                         dnnl_tp_last_error());
            const dnnl_tp_status_t next = run(&w, way);
            if (next)
                fail_msg("behind call %d of way %d: %s: %s", (int)k, way, dnnl_tp_status2str(next),
                         dnnl_tp_last_error());
            if (all) break;
        }
        assert_true(failed > 2);
        tear_down(&w);
        assert_true(end(g));
    }
}

/* Runs copy to pinned memory of the host alone: in other copies a real driver waits. */
static void runs_copy_to_pinned_memory(void **state) {
    (void)state;
    dnnl_tp_graph_t g = begin();
    world_t w = {0};
    CHECK_OK(set_up(&w, g));
    for (way_t way = WAITS; way < WAYS; ++way) {
        const int64_t before = fake_cuda_stats().pageable;
        CHECK_OK(run(&w, way));
        assert_int_equal(fake_cuda_stats().pageable, before + 1); /* the test's own look at the result */
    }
    tear_down(&w);
    assert_true(end(g));
}

static int reference(void **state) {
    (void)state;
    alarm(600);
    for (int i = 0; i < ROWS * COLS; ++i) x[i] = .1f * (float)(i % 7) - .2f;
    dnnl_tp_engine_t cpu;
    dnnl_tp_stream_t s;
    dnnl_tp_executable_t e;
    dnnl_tp_graph_t g = build();
    CHECK_OK(dnnl_tp_engine_create(&cpu, dnnl_tp_cpu, 0));
    CHECK_OK(dnnl_tp_stream_create(&s, cpu, 0));
    CHECK_OK(dnnl_tp_executable_compile(&e, g, cpu, 0, NULL, NULL));
    void *in[NIN] = {x, (void *)(uintptr_t)ids, (void *)(uintptr_t)p, (void *)(uintptr_t)turns},
         *out[] = {want};
    CHECK_OK(dnnl_tp_executable_run(e, s, NIN, in, 1, out, NULL));
    CHECK_OK(dnnl_tp_executable_destroy(e));
    CHECK_OK(dnnl_tp_graph_destroy(g));
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_engine_destroy(cpu));
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1) step = atoi(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_memory_leaves_nothing),   cmocka_unit_test(a_lost_device_leaves_nothing),
        cmocka_unit_test(allocators_get_all_back),    cmocka_unit_test(the_next_run_is_right),
        cmocka_unit_test(runs_copy_to_pinned_memory),
    };
    return cmocka_run_group_tests_name("graph_failures", tests, reference, NULL);
}
