/* Every adapter of integrations/ under the same tests: the pool of a real host runs every kind of primitive
 * and a graph to the same bits, from outside and from all of its own workers at once, and is left clean.
 *   test_integrations_adapters HOST          (see hosts.h) */
#include "support/check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dnnl_tp/dnnl_tp_graph.h"
#include "dnnl_tp/dnnl_tp_pool_check.h"
#include "hosts/hosts.h"
#include "support/problems.h"
#include "support/watchdog.h"
#include "threading/streams/stream_attr.h"

static const host_t *host;

static const dnnl_tp_threadpool_iface_t *iface_of(void *pool) { return host->iface(pool); }

static void end_pool(void *pool) {
    CHECK_OK(dnnl_tp_threadpool_quiesce(iface_of(pool), -1));
    host->destroy(pool);
}

/* Called on threads that are not the test's: no assertions of cmocka there. */
#define OK_OR_ABORT(expr) \
    if ((expr) != dnnl_tp_success) (fprintf(stderr, "%s: %s\n", #expr, dnnl_tp_last_error()), abort())

/* ---- Primitives -------------------------------------------------------------------------------------- */

static void every_kind_gives_the_same_bits(void **state) {
    (void)state;
    dnnl_tp_engine_t engine;
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    void *pool = host->create(3);
    assert_non_null(pool);
    for (int async = 0; async < 2; ++async) {
        dnnl_tp_stream_attr_t attr;
        dnnl_tp_stream_t stream;
        CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
        CHECK_OK(dnnl_tp_stream_attr_set_threadpool(attr, iface_of(pool)));
        CHECK_OK(dnnl_tp_stream_attr_set_async(attr, async));
        CHECK_OK(dnnl_tp_stream_create_v2(&stream, engine, 0, attr));
        CHECK_OK(dnnl_tp_stream_attr_destroy(attr));
        for (int problem = 0; problem < PROBLEMS; ++problem) {
            buffers_t want, got;
            expected_of(engine, problem, &want);
            dnnl_tp_primitive_t p = primitive_for(engine, problem, 3);
            const_dnnl_tp_primitive_desc_t pd;
            CHECK_OK(dnnl_tp_primitive_get_primitive_desc(p, &pd));
            buffers_create(&got, pd);
            for (int round = 0; round < 3; ++round) {
                clear_outputs(&got);
                CHECK_OK(dnnl_tp_primitive_execute_handles(p, stream, got.n, got.arg));
                CHECK_OK(dnnl_tp_stream_wait(stream));
                if (!same_outputs(&want, &got)) fail_msg("%s, async %d", problem_name(problem), async);
            }
            CHECK_OK(dnnl_tp_primitive_destroy(p));
            buffers_destroy(&want);
            buffers_destroy(&got);
        }
        CHECK_OK(dnnl_tp_stream_destroy(stream));
    }
    CHECK_OK(dnnl_tp_engine_destroy(engine));
    end_pool(pool);
}

/* A loop in which every range lasts until two slots were seen: a pool whose threads never come is found out.
 */
static void meet_body(void *arg, int slot, int64_t begin, int64_t end) {
    (void)begin, (void)end;
    _Atomic unsigned *slots = arg;
    atomic_fetch_or(slots, 1u << slot);
    for (int i = 0; i < 20000 && !(atomic_load(slots) & (atomic_load(slots) - 1)); ++i) usleep(100);
}
static dtp_pool_t *record_of(void *pool) {
    dnnl_tp_stream_attr_t attr;
    dtp_pool_t *rec;
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_stream_attr_set_threadpool(attr, iface_of(pool)));
    CHECK_OK(dtp_pool_acquire(&rec, attr));
    CHECK_OK(dnnl_tp_stream_attr_destroy(attr));
    return rec;
}
static void the_hosts_threads_help(void **state) {
    (void)state;
    void *pool = host->create(2);
    dtp_pool_t *rec = record_of(pool);
    assert_int_equal(dtp_pool_num_threads(rec), 2);
    for (int round = 0; round < 20; ++round) {
        dtp_parallel_t par = {.pool = rec, .num_threads = 2};
        _Atomic unsigned slots = 0;
        dtp_parallel_for(&par, 8, -100000, meet_body, &slots);
        if (!(atomic_load(&slots) & (atomic_load(&slots) - 1))) fail_msg("nobody helped in round %d", round);
    }
    dtp_pool_release(rec);
    end_pool(pool);
}

/* ---- A graph ----------------------------------------------------------------------------------------- */

enum { ROWS = 96, WIDTH = 128, BRANCHES = 6 };

/* softmax(sum of gelu(x * w_i)): branches that can run beside each other, each with loops worth sharing. */
static dnnl_tp_graph_t branches_graph(const float *weights) {
    dnnl_tp_graph_t g;
    dnnl_tp_value_t x, sum = -1, out;
    dnnl_tp_dims_t xd = {ROWS, WIDTH}, wd = {WIDTH, WIDTH};
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &x, "x", dnnl_tp_f32, 2, xd));
    for (int i = 0; i < BRANCHES; ++i) {
        char name[32];
        dnnl_tp_value_t w, in[2] = {x, -1}, y;
        snprintf(name, sizeof name, "w%d", i);
        CHECK_OK(dnnl_tp_graph_constant(g, &w, name, dnnl_tp_f32, 2, wd, weights + (size_t)i * WIDTH * WIDTH,
                                        DNNL_TP_CONSTANT_COPY, NULL, NULL));
        in[1] = w;
        CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_matmul, name, 2, in, 0, NULL, 1, &y));
        CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_gelu, name, 1, &y, 0, NULL, 1, &y));
        dnnl_tp_value_t both[2] = {sum, y};
        if (sum < 0) sum = y;
        else CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_add, name, 2, both, 0, NULL, 1, &sum));
    }
    int64_t axis = -1;
    dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, &axis};
    CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_softmax, "softmax", 1, &sum, 1, &attr, 1, &out));
    CHECK_OK(dnnl_tp_graph_output(g, out, "y"));
    return g;
}

typedef struct {
    dnnl_tp_engine_t engine;
    dnnl_tp_graph_t graph;
    dnnl_tp_executable_t executable;
    float x[ROWS * WIDTH], want[ROWS * WIDTH];
    const dnnl_tp_threadpool_iface_t *iface;
    dnnl_tp_primitive_t primitive;
    buffers_t want_primitive;
    _Atomic int left;
} world_t;

static void run_and_compare(world_t *w, dnnl_tp_stream_t stream) {
    float *y = aligned_alloc(64, sizeof w->want);
    void *in[1] = {w->x}, *out[1] = {y};
    memset(y, 0xff, sizeof w->want);
    OK_OR_ABORT(dnnl_tp_executable_run(w->executable, stream, 1, in, 1, out, NULL));
    if (memcmp(y, w->want, sizeof w->want)) (fprintf(stderr, "a run gave other bits\n"), abort());
    free(y);
}

static world_t *world_create(void *pool, int threads) {
    static float weights[BRANCHES * WIDTH * WIDTH];
    world_t *w = calloc(1, sizeof *w);
    test_rng_t rng = test_rng(7);
    for (size_t i = 0; i < sizeof weights / sizeof *weights; ++i) weights[i] = test_uniform(&rng, -.1f, .1f);
    for (size_t i = 0; i < ROWS * WIDTH; ++i) w->x[i] = test_uniform(&rng, -1.f, 1.f);
    w->iface = iface_of(pool);
    CHECK_OK(dnnl_tp_engine_create(&w->engine, dnnl_tp_cpu, 0));
    w->graph = branches_graph(weights);
    dnnl_tp_stream_attr_t attr;
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_stream_attr_set_threadpool(attr, w->iface));
    dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts, .stream_attr = attr};
    CHECK_OK(dnnl_tp_executable_compile(&w->executable, w->graph, w->engine, 0, NULL, &opts));
    CHECK_OK(dnnl_tp_stream_attr_destroy(attr));
    dnnl_tp_stream_t alone = stream_on(w->engine, NULL);
    void *in[1] = {w->x}, *out[1] = {w->want};
    CHECK_OK(dnnl_tp_executable_run(w->executable, alone, 1, in, 1, out, NULL));
    CHECK_OK(dnnl_tp_stream_destroy(alone));
    expected_of(w->engine, 0, &w->want_primitive);
    w->primitive = primitive_for(w->engine, 0, threads);
    return w;
}
static void world_destroy(world_t *w) {
    CHECK_OK(dnnl_tp_primitive_destroy(w->primitive));
    buffers_destroy(&w->want_primitive);
    CHECK_OK(dnnl_tp_executable_destroy(w->executable));
    CHECK_OK(dnnl_tp_graph_destroy(w->graph));
    CHECK_OK(dnnl_tp_engine_destroy(w->engine));
    free(w);
}

/* Operators beside each other only, loops only, both, neither: the same bits. */
static void graphs_run_inter_and_intra(void **state) {
    (void)state;
    void *pool = host->create(3);
    world_t *w = world_create(pool, 3);
    for (unsigned parallelism = 0; parallelism < 4; ++parallelism) {
        dnnl_tp_stream_attr_t attr;
        dnnl_tp_stream_t stream;
        CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
        CHECK_OK(dnnl_tp_stream_attr_set_threadpool(attr, w->iface));
        CHECK_OK(dnnl_tp_stream_attr_set_parallelism(attr, parallelism));
        CHECK_OK(dnnl_tp_stream_create_v2(&stream, w->engine, 0, attr));
        CHECK_OK(dnnl_tp_stream_attr_destroy(attr));
        for (int round = 0; round < 30; ++round) run_and_compare(w, stream);
        CHECK_OK(dnnl_tp_stream_destroy(stream));
    }
    world_destroy(w);
    end_pool(pool);
}

/* ---- Hostile situations ------------------------------------------------------------------------------ */

static void call_the_library(void *arg) {
    world_t *w = arg;
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_stream_t stream;
    OK_OR_ABORT(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    OK_OR_ABORT(dnnl_tp_stream_attr_set_threadpool(attr, w->iface));
    OK_OR_ABORT(dnnl_tp_stream_create_v2(&stream, w->engine, 0, attr));
    OK_OR_ABORT(dnnl_tp_stream_attr_destroy(attr));
    const_dnnl_tp_primitive_desc_t pd;
    OK_OR_ABORT(dnnl_tp_primitive_get_primitive_desc(w->primitive, &pd));
    buffers_t got;
    buffers_create(&got, pd);
    for (int round = 0; round < 2; ++round) {
        clear_outputs(&got);
        OK_OR_ABORT(dnnl_tp_primitive_execute_handles(w->primitive, stream, got.n, got.arg));
        if (!same_outputs(&w->want_primitive, &got)) (fprintf(stderr, "other bits\n"), abort());
        run_and_compare(w, stream);
    }
    buffers_destroy(&got);
    OK_OR_ABORT(dnnl_tp_stream_destroy(stream));
    atomic_fetch_sub(&w->left, 1);
}

/* W workers, of which 2 W tasks call the library at once: what hangs libraries that wait for queued tasks. */
static void all_workers_call_in(void **state) {
    (void)state;
    for (int workers = 1; workers <= 8; ++workers) {
        void *pool = host->create(workers);
        world_t *w = world_create(pool, workers);
        atomic_store(&w->left, 2 * workers);
        host->call_in(pool, 2 * workers, call_the_library, w);
        assert_int_equal(atomic_load(&w->left), 0);
        world_destroy(w);
        end_pool(pool);
    }
}

static void *client(void *arg) {
    for (int round = 0; round < 5; ++round) call_the_library(arg);
    return NULL;
}
/* Threads that are not the pool's, more than it has, beside its own workers. */
static void outsiders_and_workers_call_in(void **state) {
    (void)state;
    enum { OUTSIDERS = 4, INSIDE = 6 };
    void *pool = host->create(2);
    world_t *w = world_create(pool, 2);
    pthread_t thread[OUTSIDERS];
    atomic_store(&w->left, 5 * OUTSIDERS + INSIDE);
    for (int i = 0; i < OUTSIDERS; ++i) assert_int_equal(pthread_create(&thread[i], NULL, client, w), 0);
    host->call_in(pool, INSIDE, call_the_library, w);
    for (int i = 0; i < OUTSIDERS; ++i) pthread_join(thread[i], NULL);
    assert_int_equal(atomic_load(&w->left), 0);
    world_destroy(w);
    end_pool(pool);
}

static void do_nothing(void *arg) { atomic_fetch_sub(&((world_t *)arg)->left, 1); }
/* The library's objects go while its helpers may still be queued; the pool goes on living. */
static void pools_outlive_the_library(void **state) {
    (void)state;
    void *pool = host->create(3);
    for (int round = 0; round < 10; ++round) {
        world_t *w = world_create(pool, 3);
        dnnl_tp_stream_t stream = stream_on(w->engine, w->iface);
        run_and_compare(w, stream);
        CHECK_OK(dnnl_tp_stream_destroy(stream));
        atomic_store(&w->left, 5);
        host->call_in(pool, 5, do_nothing, w);
        assert_int_equal(atomic_load(&w->left), 0);
        world_destroy(w);
    }
    end_pool(pool);
}

/* ---- Run hooks --------------------------------------------------------------------------------------- */

/* The adapter's struct with a counting schedule, run_begin and run_end around its own. */
typedef struct {
    const dnnl_tp_threadpool_iface_t *real;
    _Atomic int begun, ended, asked, called, late;
} spy_t;
typedef struct {
    spy_t *spy;
    void *run;
    _Atomic int asked, called;
} spy_run_t;
typedef struct {
    spy_t *spy;
    spy_run_t *run;
    dnnl_tp_task_fn_t fn;
    void *arg;
} spy_task_t;
typedef struct {
    spy_run_t *run;
    dnnl_tp_task_fn_t done;
    void *arg;
} spy_done_t;

static int spy_num_threads(void *ctx) {
    spy_t *s = ctx;
    return s->real->get_num_threads(s->real->ctx);
}
static void spy_task(void *arg) {
    spy_task_t *t = arg;
    t->fn(t->arg);
    atomic_fetch_add(t->run ? &t->run->called : &t->spy->called, 1);
    free(t);
}
static int spy_schedule(void *ctx, void *run, dnnl_tp_task_fn_t fn, void *arg) {
    spy_t *s = ctx;
    spy_run_t *r = run;
    spy_task_t *t = malloc(sizeof *t);
    *t = (spy_task_t){s, r, fn, arg};
    atomic_fetch_add(r ? &r->asked : &s->asked, 1);
    int refused = s->real->schedule(s->real->ctx, r ? r->run : NULL, spy_task, t);
    if (refused) {
        atomic_fetch_sub(r ? &r->asked : &s->asked, 1);
        free(t);
    }
    return refused;
}
static int spy_begin(void *ctx, uint64_t id, void **run) {
    spy_t *s = ctx;
    spy_run_t *r = calloc(1, sizeof *r);
    r->spy = s;
    atomic_fetch_add(&s->begun, 1);
    *run = r;
    return s->real->run_begin(s->real->ctx, id, &r->run);
}
/* All helpers of the run must have been called to their end. */
static void spy_done(void *arg) {
    spy_done_t d = *(spy_done_t *)arg;
    spy_t *s = d.run->spy;
    if (atomic_load(&d.run->asked) != atomic_load(&d.run->called)) atomic_fetch_add(&s->late, 1);
    atomic_fetch_add(&s->ended, 1);
    atomic_fetch_add(&s->asked, atomic_load(&d.run->asked));
    free(d.run);
    free(arg);
    d.done(d.arg);
}
static void spy_end(void *ctx, void *run, int status, int may_block, dnnl_tp_task_fn_t done, void *done_arg) {
    spy_t *s = ctx;
    spy_run_t *r = run;
    spy_done_t *d = malloc(sizeof *d);
    *d = (spy_done_t){r, done, done_arg};
    s->real->run_end(s->real->ctx, r->run, status, may_block, spy_done, d);
}

static void runs_leave_nothing_behind(void **state) {
    (void)state;
    void *pool = host->create(3);
    const dnnl_tp_threadpool_iface_t *real = iface_of(pool);
    if (!real->run_begin) {
        end_pool(pool);
        skip();
    }
    spy_t spy = {.real = real};
    dnnl_tp_threadpool_iface_t iface = {.struct_size = sizeof iface,
                                        .ctx = &spy,
                                        .get_num_threads = spy_num_threads,
                                        .schedule = spy_schedule,
                                        .run_begin = spy_begin,
                                        .run_end = spy_end};
    world_t *w = world_create(pool, 3);
    w->iface = &iface;
    dnnl_tp_stream_t stream = stream_on(w->engine, &iface);
    for (int round = 0; round < 200; ++round) {
        run_and_compare(w, stream);
        assert_int_equal(atomic_load(&spy.begun), atomic_load(&spy.ended));
    }
    assert_true(atomic_load(&spy.asked) > 0);
    atomic_store(&w->left, 8);
    host->call_in(pool, 8, call_the_library, w);
    assert_int_equal(atomic_load(&spy.begun), atomic_load(&spy.ended));
    assert_int_equal(atomic_load(&spy.late), 0);
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    world_destroy(w);
    CHECK_OK(dnnl_tp_threadpool_quiesce(&iface, -1));
    end_pool(pool);
}

static void the_pool_keeps_its_promises(void **state) {
    (void)state;
    if (DNNL_TP_CPU_RUNTIME != DNNL_TP_RUNTIME_THREADPOOL) skip();
    static char report[4096];
    for (int threads = 1; threads <= 3; ++threads) {
        void *pool = host->create(threads);
        if (dnnl_tp_pool_check(iface_of(pool), 0, report, sizeof report)) fail_msg("%s", report);
        end_pool(pool);
    }
}

static int begin(void **state) {
    (void)state;
    watchdog(110, NULL); /* for each test: with the thread sanitizer all together take a minute and more */
    return 0;
}
#define TEST(f) cmocka_unit_test_setup(f, begin)

int main(int argc, char **argv) {
    host = argc == 2 ? host_by_name(argv[1]) : NULL;
    if (!host) {
        fprintf(stderr, "usage: test_integrations_adapters HOST\n");
        return 2;
    }
    const struct CMUnitTest tests[] = {
        TEST(every_kind_gives_the_same_bits), TEST(the_hosts_threads_help),
        TEST(graphs_run_inter_and_intra),     TEST(all_workers_call_in),
        TEST(outsiders_and_workers_call_in),  TEST(pools_outlive_the_library),
        TEST(runs_leave_nothing_behind),      TEST(the_pool_keeps_its_promises),
    };
    return cmocka_run_group_tests_name(host->name, tests, NULL, NULL);
}
