/* Memory that executables of one graph lend each other: new shapes take what is there, results stay the same
 * bits whoever used the memory before, reserved runs have their own, runs touch no new page, and running out
 * of memory harms nobody. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/base/object.h"
#include "common/base/with.h"
#include "dnnl_tp/dnnl_tp_graph.h"
#include "exec/run/executable.h"
#include "support/check.h"

enum { IN = 64, INNER = 256, SHAPES = 4, CLIENTS = 3, ROUNDS = 10 };
static const int64_t rows_of[SHAPES] = {300, 500, 400, 900};

static _Atomic long live, largest;
static _Atomic int refuse;
static _Atomic size_t refuse_from = SIZE_MAX; /* bytes */

static _Atomic bool fresh; /* pages of large allocations are not in memory until somebody touches them */
static void *fresh_alloc(size_t size) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (size + page - 1) / page * page;
    void *p = NULL;
    if (posix_memalign(&p, page, bytes)) return NULL;
    if (madvise(p, bytes, MADV_DONTNEED)) abort();
    atomic_fetch_add(&live, 1);
    return p;
}

static void *count_alloc(void *ctx, size_t size, size_t alignment) {
    (void)ctx;
    void *p = NULL;
    if (fresh && size >= DTP_RUN_MEMORY_MIN) return fresh_alloc(size);
    if (atomic_load(&refuse) || size >= atomic_load(&refuse_from) || posix_memalign(&p, alignment, size))
        return NULL;
    atomic_fetch_add(&live, 1);
    if ((long)size > atomic_load(&largest)) atomic_store(&largest, (long)size);
    memset(p, 0xff, size); /* NaN */
    return p;
}
static void count_free(void *ctx, void *p) {
    (void)ctx;
    atomic_fetch_sub(&live, 1);
    free(p);
}

#define OK(expr) assert_int_equal(expr, dnnl_tp_success)

static float weights[IN * INNER], x[900 * IN];

typedef struct {
    dnnl_tp_engine_t engine;
    dnnl_tp_graph_t graph;
    dnnl_tp_executable_t exec[SHAPES];
    unsigned flags;
    float *want[SHAPES];
} world_t;

/* y = (gelu(x A) B) + (relu(x A) B): two branches. */
static dnnl_tp_graph_t build(void) {
    dnnl_tp_dims_t any = {DNNL_TP_RUNTIME_DIM_VAL, IN}, da = {IN, INNER}, db = {INNER, IN};
    dnnl_tp_graph_t g;
    dnnl_tp_value_t in, c[2], y[2], pair[2];
    OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    OK(dnnl_tp_graph_input(g, &in, "x", dnnl_tp_f32, 2, any));
    OK(dnnl_tp_graph_constant(g, &c[0], "A", dnnl_tp_f32, 2, da, weights, DNNL_TP_CONSTANT_BORROW, NULL,
                              NULL));
    OK(dnnl_tp_graph_constant(g, &c[1], "B", dnnl_tp_f32, 2, db, weights, DNNL_TP_CONSTANT_BORROW, NULL,
                              NULL));
    for (int i = 0; i < 2; ++i) {
        pair[0] = in, pair[1] = c[0];
        OK(dnnl_tp_graph_op(g, dnnl_tp_op_matmul, "up", 2, pair, 0, NULL, 1, &y[i]));
        OK(dnnl_tp_graph_op(g, i ? dnnl_tp_op_relu : dnnl_tp_op_gelu, "act", 1, &y[i], 0, NULL, 1, &y[i]));
        pair[0] = y[i], pair[1] = c[1];
        OK(dnnl_tp_graph_op(g, dnnl_tp_op_matmul, "down", 2, pair, 0, NULL, 1, &y[i]));
    }
    OK(dnnl_tp_graph_op(g, dnnl_tp_op_add, "sum", 2, y, 0, NULL, 1, &y[0]));
    OK(dnnl_tp_graph_output(g, y[0], "y"));
    return g;
}

static dnnl_tp_executable_t compile(const world_t *w, int shape, int reserved) {
    dnnl_tp_tensor_info_t s = {.ndims = 2, .dims = {rows_of[shape], IN}, .data_type = dnnl_tp_f32};
    dnnl_tp_compile_opts_t o = {.struct_size = sizeof o, .flags = w->flags, .reserved_runs = reserved};
    dnnl_tp_executable_t e;
    OK(dnnl_tp_executable_compile(&e, w->graph, w->engine, 1, &s, &o));
    return e;
}

static dnnl_tp_status_t run(const world_t *w, int shape, dnnl_tp_stream_t stream, float *y) {
    void *in[1] = {x}, *out[1] = {y};
    return dnnl_tp_executable_run(w->exec[shape], stream, 1, in, 1, out, NULL);
}

static size_t out_bytes(int shape) { return sizeof(float) * IN * (size_t)rows_of[shape]; }

static void open_world(world_t *w, unsigned flags) {
    *w = (world_t){.flags = flags, .graph = build()};
    OK(dnnl_tp_engine_create(&w->engine, dnnl_tp_cpu, 0));
    w->exec[SHAPES - 1] = compile(w, SHAPES - 1, 0);
    assert_true(w->exec[SHAPES - 1]->memory_bytes >= DTP_RUN_MEMORY_MIN);
}

static void close_world(world_t *w) {
    for (int i = 0; i < SHAPES; ++i) {
        dnnl_tp_executable_destroy(w->exec[i]);
        free(w->want[i]);
    }
    dnnl_tp_graph_destroy(w->graph);
    dnnl_tp_engine_destroy(w->engine);
    assert_true(dtp_object_live() == 0);
    assert_true(test_becomes(&live, 0));
}

/* ---- Store ------------------------------------------------------------------------------------------- */

static void test_store(void **state) {
    (void)state;
    dtp_run_memory_t s = {0};
    const dnnl_tp_allocator_t *a = dtp_process_allocator(), other = *a;
    assert_true(dtp_run_memory_enter(&s, a));
    assert_false(dtp_run_memory_enter(&s, &other));
    assert_true(dtp_run_memory_enter(&s, a));
    assert_true(dtp_run_memory_reserve(&s, 1000));
    assert_true(dtp_run_memory_reserve(&s, 900));
    assert_int_equal(atomic_load(&live), 1);
    dtp_run_block_t *one = dtp_run_memory_take(&s, 1000), *two = dtp_run_memory_take(&s, 500);
    assert_int_equal(atomic_load(&live), 2);
    dtp_run_memory_give(&s, one);
    dtp_run_memory_give(&s, two);
    assert_ptr_equal(dtp_run_memory_take(&s, 400), two); /* the smallest that is large enough */
    dtp_run_memory_give(&s, two);
    atomic_store(&refuse, 1);
    assert_null(dtp_run_memory_take(&s, 2000));
    assert_false(dtp_run_memory_reserve(&s, 2000));
    atomic_store(&refuse, 0);
    assert_int_equal(atomic_load(&live), 2);
    dtp_run_memory_give(&s, dtp_run_memory_take(&s, 2000)); /* in the place of the smallest */
    assert_int_equal(atomic_load(&live), 2);
    assert_ptr_equal(dtp_run_memory_take(&s, 600), one);
    dtp_run_memory_give(&s, one);
    dtp_run_memory_leave(&s);
    assert_int_equal(atomic_load(&live), 2);
    dtp_run_memory_leave(&s);
    assert_int_equal(atomic_load(&live), 0);
    assert_true(dtp_run_memory_enter(&s, &other));
    dtp_run_memory_leave(&s);
}

/* Sizes that grow little by little: few blocks, and what was touched is not touched again. */
static void test_growth(void **state) {
    (void)state;
    enum { FIRST = 100000, LAST = 400000, STEP = 10000 };
    dtp_run_memory_t s = {0};
    dtp_run_block_t *last = NULL;
    int blocks = 0;
    assert_true(dtp_run_memory_enter(&s, dtp_process_allocator()));
    for (size_t bytes = FIRST; bytes <= LAST; bytes += STEP) {
        assert_true(dtp_run_memory_reserve(&s, bytes));
        dtp_run_block_t *block = dtp_run_memory_take(&s, bytes);
        assert_true(block->capacity >= bytes && block->touched == bytes);
        blocks += block != last;
        last = block;
        dtp_run_memory_give(&s, block);
        assert_int_equal(atomic_load(&live), 1);
    }
    assert_true(blocks <= 5); /* 100,000 x 1.5 x 1.5 x 1.5 x 1.5 > 400,000 */
    const size_t room = last->capacity;
    atomic_store(&refuse_from, room + room / 4); /* no memory for half as much again */
    assert_true(dtp_run_memory_reserve(&s, room + STEP));
    dtp_run_block_t *exact = dtp_run_memory_take(&s, room + STEP);
    assert_true(exact->capacity == room + STEP);
    dtp_run_memory_give(&s, exact);
    assert_false(dtp_run_memory_reserve(&s, 2 * room));
    atomic_store(&refuse_from, SIZE_MAX);
    assert_int_equal(atomic_load(&live), 1);
    dtp_run_memory_leave(&s);
    assert_int_equal(atomic_load(&live), 0);
}

/* ---- Executables ------------------------------------------------------------------------------------- */

static void test_new_shapes(void **state) {
    (void)state;
    if (!DTP_WITH_LENDING) skip();
    world_t w;
    open_world(&w, 0);
    for (int i = 0; i + 1 < SHAPES; ++i) w.exec[i] = compile(&w, i, 0);
    atomic_store(&largest, 0);
    for (int i = 0; i < SHAPES; ++i) {
        dnnl_tp_executable_t again = compile(&w, i, 0);
        assert_true(w.exec[i]->shares_memory && again->shares_memory);
        assert_true((size_t)atomic_load(&largest) < again->memory_bytes);
        dnnl_tp_executable_destroy(again);
    }
    close_world(&w);
}

/* Pages between p and p + bytes that are not in memory. */
static int untouched(const void *p, size_t bytes) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)p / page * page;
    const size_t pages = ((uintptr_t)p + bytes - begin + page - 1) / page;
    static unsigned char in[1 << 16];
    int sum = 0;
    assert_true(pages <= sizeof in);
    assert_int_equal(mincore((void *)begin, pages * page, in), 0);
    for (size_t i = 0; i < pages; ++i) sum += !(in[i] & 1);
    return sum;
}

static void test_pages(void **state) {
    (void)state;
    enum { PAGES = 3 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *p = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    assert_int_equal(untouched(p, PAGES * page), PAGES); /* it would be seen */
    dtp_touch_pages(p + page - 1, page + 2);
    assert_int_equal(untouched(p, PAGES * page), 0);
    munmap(p, PAGES * page);
    atomic_store(&fresh, true);
    for (int reserved = 0; reserved <= 2; reserved += 2) {
        world_t w = {.graph = build()};
        OK(dnnl_tp_engine_create(&w.engine, dnnl_tp_cpu, 0));
        w.exec[0] = compile(&w, SHAPES - 1, reserved);
        dtp_run_t *run[2];
        const int runs = reserved ? reserved : 1;
        for (int i = 0; i < runs; ++i) {
            OK(dtp_run_take(w.exec[0], &run[i]));
            assert_int_equal(untouched(run[i]->memory, w.exec[0]->memory_bytes), 0);
        }
        for (int i = 0; i < runs; ++i) dtp_run_give(w.exec[0], run[i]);
        close_world(&w);
    }
    atomic_store(&fresh, false);
}

/* One executable's runs hold what there is; another one wants more and there is no memory. */
static void test_out_of_memory(void **state) {
    (void)state;
    if (!DTP_WITH_LENDING) skip();
    world_t w;
    dnnl_tp_stream_t stream;
    open_world(&w, 0);
    w.exec[0] = compile(&w, 0, 0);
    w.exec[1] = compile(&w, 1, 2);
    OK(dnnl_tp_stream_create(&stream, w.engine, dnnl_tp_stream_default_flags));
    float *y = malloc(out_bytes(SHAPES - 1)), *again = malloc(out_bytes(SHAPES - 1));
    assert_non_null(y);
    assert_non_null(again);
    OK(run(&w, 0, stream, y));
    dtp_run_t *taken, *own[2];
    OK(dtp_run_take(w.exec[SHAPES - 1], &taken));
    atomic_store(&refuse, 1);
    assert_int_equal(run(&w, 0, stream, again), dnnl_tp_out_of_memory);
    for (int i = 0; i < 2; ++i) OK(dtp_run_take(w.exec[1], &own[i])); /* reserved */
    for (int i = 0; i < 2; ++i) dtp_run_give(w.exec[1], own[i]);
    dtp_run_give(w.exec[SHAPES - 1], taken);
    OK(run(&w, 0, stream, again));
    atomic_store(&refuse, 0);
    assert_memory_equal(y, again, out_bytes(0));
    free(y);
    free(again);
    dnnl_tp_stream_destroy(stream);
    close_world(&w);
}

typedef struct {
    world_t *world;
    pthread_t thread;
    int number, wrong;
} client_t;

static void *encode(void *arg) {
    client_t *c = arg;
    dnnl_tp_stream_t stream;
    float *y = malloc(out_bytes(SHAPES - 1));
    c->wrong = !y || dnnl_tp_stream_create(&stream, c->world->engine, dnnl_tp_stream_default_flags) !=
                         dnnl_tp_success;
    for (int i = 0; i < ROUNDS && !c->wrong; ++i) {
        int shape = (i * (c->number + 1) + c->number) % SHAPES;
        c->wrong = run(c->world, shape, stream, y) != dnnl_tp_success ||
                   memcmp(y, c->world->want[shape], out_bytes(shape)) != 0;
    }
    if (y) dnnl_tp_stream_destroy(stream);
    free(y);
    return NULL;
}

static void test_clients(void **state) {
    (void)state;
    for (unsigned k = 0; k < 2; ++k) {
        world_t w;
        client_t client[CLIENTS] = {{0}};
        dnnl_tp_stream_t stream;
        open_world(&w, k ? DNNL_TP_COMPILE_NO_CLUSTERS : 0);
        OK(dnnl_tp_stream_create(&stream, w.engine, dnnl_tp_stream_default_flags));
        for (int i = 0; i < SHAPES; ++i) {
            if (i + 1 < SHAPES) w.exec[i] = compile(&w, i, 0);
            assert_non_null(w.want[i] = malloc(out_bytes(i)));
            OK(run(&w, i, stream, w.want[i]));
        }
        for (int i = 0; i < CLIENTS; ++i) {
            client[i].world = &w;
            client[i].number = i;
            assert_int_equal(pthread_create(&client[i].thread, NULL, encode, &client[i]), 0);
        }
        for (int i = 0; i < CLIENTS; ++i) pthread_join(client[i].thread, NULL);
        for (int i = 0; i < CLIENTS; ++i) assert_int_equal(client[i].wrong, 0);
        dnnl_tp_stream_destroy(stream);
        close_world(&w);
    }
}

int main(void) {
    dnnl_tp_allocator_t a = {.struct_size = sizeof a, .alloc = count_alloc, .free = count_free};
    if (dnnl_tp_set_allocator(&a) || dnnl_tp_set_primitive_cache_capacity(0)) return 1;
    for (int i = 0; i < IN * INNER; ++i) weights[i] = (float)(i * 7 % 13) / 26.f - .2f;
    for (int i = 0; i < 900 * IN; ++i) x[i] = (float)(i * 11 % 17) / 17.f - .5f;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store), cmocka_unit_test(test_growth),        cmocka_unit_test(test_new_shapes),
        cmocka_unit_test(test_pages), cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_clients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
