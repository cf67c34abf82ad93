/* Short runs that pass long ones (threading/pools/lane.h): what a client of short runs gets beside two clients of long ones, that no
 * more threads compute than the pool has, who passes and who does not, and that long graphs are right when others pass. Work
 * sleeps, so that the processors of the machine do not matter. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "dnnl_tp/dnnl_tp_graph.h"
#include "support/check.h"
#include "support/streams.h"
#include "support/watchdog.h"
#include "threading/base/futex.h"
#include "threading/base/sleeper.h"
#include "threading/streams/stream_attr.h"

enum {
    TIMEOUT_S = 100,
    PIECES = 20,
    PIECE_US = 300,
    SHORT_US = 50,
    MEASURE_MS = 300,
    LONGS = 2,
    ATTEMPTS = 8
};
static const int64_t LONG_NS = 6000000, SHORT_NS = 60000;

typedef struct {
    dnnl_tp_threadpool_t pool;
    dnnl_tp_stream_attr_t attr;
    dtp_pool_t *rec;
    int w;
    int64_t passes_ns;                   /* of short runs */
    int long_priority, pieces_after_end; /* pieces of a long run that was ended */
    _Atomic int running, wrong, stop, inside;
} bed_t;
static void bed_open(bed_t *b, int w) {
    memset(b, 0, sizeof *b);
    b->w = w;
    b->passes_ns = SHORT_NS;
    b->pool = test_pool(w);
    CHECK_OK(dnnl_tp_stream_attr_create(&b->attr, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_stream_attr_set_threadpool(b->attr, test_pool_iface(b->pool)));
    CHECK_OK(dtp_pool_acquire(&b->rec, b->attr));
    watchdog(TIMEOUT_S, NULL);
}
static void bed_close(bed_t *b) {
    dnnl_tp_threadpool_stats_t s = {.struct_size = sizeof s};
    CHECK_OK(dnnl_tp_threadpool_query(test_pool_iface(b->pool), &s));
    assert_true(s.max_running <= b->w);
    assert_int_equal(atomic_load(&b->wrong), 0);
    dtp_pool_release(b->rec);
    CHECK_OK(dnnl_tp_stream_attr_destroy(b->attr));
    dnnl_tp_threadpool_destroy(b->pool);
}
static void work(bed_t *b, int us) {
    if (atomic_fetch_add(&b->running, 1) >= b->w) atomic_fetch_add(&b->wrong, 1);
    usleep((unsigned)us);
    atomic_fetch_sub(&b->running, 1);
}

/* ---- Shares ------------------------------------------------------------------------------------------ */

static void long_body(void *arg, const dtp_parallel_t *par) {
    bed_t *b = arg;
    (void)par;
    atomic_fetch_add(&b->inside, 1);
    for (int i = 0; i < PIECES; ++i) {
        if (dtp_pool_has_short(b->rec)) dtp_pool_let_pass(b->rec, LONG_NS, b->long_priority);
        work(b, PIECE_US);
    }
    atomic_fetch_add(&b->inside, 1);
}
static void *long_client(void *arg) {
    bed_t *b = arg;
    while (!atomic_load(&b->stop))
        if (dtp_pool_run_at(b->rec, 1, DTP_RUN_ADMITTED, b->long_priority, long_body, b))
            atomic_fetch_add(&b->wrong, 1);
    return NULL;
}
static void short_body(void *arg, const dtp_parallel_t *par) {
    (void)par;
    work(arg, SHORT_US);
}
static void run_short(bed_t *b) {
    static _Atomic uint32_t never;
    static dtp_sleeper_t sleeper;
    const dtp_share_t share = {.stop = &never, .sleeper = &sleeper, .passes_ns = b->passes_ns};
    CHECK_OK(dtp_pool_run_share(b->rec, 1, DTP_RUN_ADMITTED, 0, &share, short_body, b));
}
static int short_runs(bed_t *b) {
    int n = 0;
    for (const int64_t until = dtp_now_ns() + MEASURE_MS * (int64_t)1000000; dtp_now_ns() < until; ++n)
        run_short(b);
    return n;
}
/* Of the threads' share of one of three clients; passes: or as if it could not. */
static double share(int w, bool passes) {
    bed_t b;
    pthread_t thread[LONGS];
    bed_open(&b, w);
    if (!passes) b.passes_ns = 0;
    const int alone = short_runs(&b);
    for (int i = 0; i < LONGS; ++i) assert_int_equal(pthread_create(&thread[i], NULL, long_client, &b), 0);
    while (!atomic_load(&b.inside)) usleep(100);
    const int beside = short_runs(&b);
    atomic_store(&b.stop, 1);
    for (int i = 0; i < LONGS; ++i) pthread_join(thread[i], NULL);
    bed_close(&b);
    print_message("%d threads, %s: %d alone, %d beside long ones, %.2f of its share\n", w,
                  passes ? "passes" : "waits", alone, beside, (double)beside / alone * (LONGS + 1));
    return (double)beside / alone * (LONGS + 1);
}
/* Once in a few attempts: the clients may lose their processors at different times. */
static bool has_share(int w, double least, bool only_if_passes) {
    for (int i = 0; i < ATTEMPTS; ++i) {
        const double with = share(w, true);
        if (with > least && !(only_if_passes && share(w, false) >= with / 2)) return true;
    }
    return false;
}
static void test_one_ticket(void **state) {
    (void)state;
    assert_true(has_share(1, 0.3, true));
}
static void test_two_tickets(void **state) {
    (void)state;
    assert_true(has_share(2, 0.5, true));
}
static void test_free_tickets(void **state) {
    (void)state;
    assert_true(has_share(8, 0.5, false));
}

/* ---- Who passes -------------------------------------------------------------------------------------- */

/* Does a short run end inside a long one that has the only ticket? The thread may lose its processor for as long as that. */
static bool ends_inside(bed_t *b) {
    pthread_t thread;
    int at = 0;
    atomic_store(&b->stop, 0);
    assert_int_equal(pthread_create(&thread, NULL, long_client, b), 0);
    while ((at = atomic_load(&b->inside)) % 2 == 0) usleep(100);
    atomic_store(&b->stop, 1);
    run_short(b);
    const bool inside = atomic_load(&b->inside) == at;
    pthread_join(thread, NULL);
    return inside;
}
static bool some_end_inside(bed_t *b) {
    for (int i = 0; i < 50; ++i)
        if (ends_inside(b)) return true;
    return false;
}
static void test_who_passes(void **state) {
    (void)state;
    bed_t b;
    bed_open(&b, 1);
    assert_true(some_end_inside(&b));
    b.passes_ns = LONG_NS / 2;
    assert_false(ends_inside(&b));
    b.passes_ns = 0;
    assert_false(ends_inside(&b));
    b.passes_ns = SHORT_NS;
    b.long_priority = 1;
    assert_false(ends_inside(&b));
    bed_close(&b);
}

/* ---- Graphs ------------------------------------------------------------------------------------------ */

enum { N = 192, PRODUCTS = 40, M = 16, WANTED = 20 };
typedef struct {
    bed_t b;
    dnnl_tp_graph_t g;
    dnnl_tp_executable_t exe;
    dnnl_tp_cancel_t cancel;
    float x[N * N], y[N * N], one[N * N];
} graphs_t;

static dnnl_tp_status_t note(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                             int nout, const dnnl_tp_host_arg_t *out) {
    (void)stop, (void)nin, (void)nout;
    memcpy(out[0].data, in[0].data, sizeof(float) * N * N);
    atomic_fetch_add(&((bed_t *)arg)->inside, 1);
    return dnnl_tp_success;
}
static dnnl_tp_executable_t compile(bed_t *b, dnnl_tp_graph_t g) {
    dnnl_tp_executable_t e;
    const dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts, .stream_attr = b->attr};
    CHECK_OK(dnnl_tp_executable_compile(&e, g, test_engine, 0, NULL, &opts));
    return e;
}
/* Between its closures, products with the identity: the result is the input. */
static void make_long(graphs_t *t) {
    const dnnl_tp_tensor_info_t info = {.ndims = 2, .dims = {N, N}, .data_type = dnnl_tp_f32};
    dnnl_tp_value_t v, one;
    for (int i = 0; i < N; ++i) t->one[i * N + i] = 1;
    for (int i = 0; i < N * N; ++i) t->x[i] = (float)(i % 251);
    CHECK_OK(dnnl_tp_graph_create(&t->g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(t->g, &v, "x", dnnl_tp_f32, 2, info.dims));
    CHECK_OK(dnnl_tp_graph_input(t->g, &one, "one", dnnl_tp_f32, 2, info.dims));
    CHECK_OK(dnnl_tp_graph_host(t->g, note, &t->b, NULL, 0, "enter", 1, &v, 1, &info, &v));
    for (int i = 0; i < PRODUCTS; ++i)
        CHECK_OK(dnnl_tp_graph_op(t->g, dnnl_tp_op_matmul, "product", 2, (dnnl_tp_value_t[]){v, one}, 0, NULL,
                                  1, &v));
    CHECK_OK(dnnl_tp_graph_host(t->g, note, &t->b, NULL, 0, "leave", 1, &v, 1, &info, &v));
    CHECK_OK(dnnl_tp_graph_output(t->g, v, "y"));
    t->exe = compile(&t->b, t->g);
}
static void *run_long_graph(void *arg) {
    graphs_t *t = arg;
    dnnl_tp_stream_t stream;
    CHECK_OK(dnnl_tp_stream_create_v2(&stream, test_engine, 0, t->b.attr));
    const dnnl_tp_run_opts_t opts = {.struct_size = sizeof opts, .cancel = t->cancel};
    while (!atomic_load(&t->b.stop)) {
        t->y[N * N - 1] = -1;
        const dnnl_tp_status_t status =
            dnnl_tp_executable_run(t->exe, stream, 2, (void *[]){t->x, t->one}, 1, (void *[]){t->y}, &opts);
        if (status == dnnl_tp_cancelled && t->cancel) break;
        if (status || memcmp(t->x, t->y, sizeof t->x)) atomic_fetch_add(&t->b.wrong, 1);
    }
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    return NULL;
}
static void run_short_graphs(graphs_t *t) {
    const dnnl_tp_dims_t dims = {M, M};
    float x[M * M], y[M * M];
    dnnl_tp_graph_t g;
    dnnl_tp_value_t v;
    dnnl_tp_stream_t stream;
    for (int i = 0; i < M * M; ++i) x[i] = i % M == i / M ? 3.f : 0.f;
    CHECK_OK(dnnl_tp_stream_create_v2(&stream, test_engine, 0, t->b.attr));
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &v, "x", dnnl_tp_f32, 2, dims));
    CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_matmul, "square", 2, (dnnl_tp_value_t[]){v, v}, 0, NULL, 1, &v));
    CHECK_OK(dnnl_tp_graph_output(g, v, "y"));
    dnnl_tp_executable_t e = compile(&t->b, g);
    for (int passed = 0; passed < WANTED;) {
        const int at = atomic_load(&t->b.inside);
        CHECK_OK(dnnl_tp_executable_run(e, stream, 1, (void *[]){x}, 1, (void *[]){y}, NULL));
        passed += at % 2 && atomic_load(&t->b.inside) == at;
        assert_float_equal(y[M + 1], 9, 0);
    }
    CHECK_OK(dnnl_tp_executable_destroy(e));
    dnnl_tp_graph_destroy(g);
    CHECK_OK(dnnl_tp_stream_destroy(stream));
}
static void run_graphs(bool cancels) {
    static graphs_t t;
    pthread_t thread;
    memset((void *)&t, 0, sizeof t);
    bed_open(&t.b, 1);
    if (cancels) CHECK_OK(dnnl_tp_cancel_create(&t.cancel));
    make_long(&t);
    assert_int_equal(pthread_create(&thread, NULL, run_long_graph, &t), 0);
    run_short_graphs(&t);
    if (cancels) CHECK_OK(dnnl_tp_cancel_fire(t.cancel));
    atomic_store(&t.b.stop, 1);
    pthread_join(thread, NULL);
    dnnl_tp_cancel_destroy(t.cancel);
    CHECK_OK(dnnl_tp_executable_destroy(t.exe));
    dnnl_tp_graph_destroy(t.g);
    bed_close(&t.b);
}
static void test_graphs(void **state) {
    (void)state;
    run_graphs(false);
}
static void test_cancelled(void **state) {
    (void)state;
    for (int i = 0; i < 5; ++i) run_graphs(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_ticket),   cmocka_unit_test(test_two_tickets),
        cmocka_unit_test(test_free_tickets), cmocka_unit_test(test_who_passes),
        cmocka_unit_test(test_graphs),       cmocka_unit_test(test_cancelled)};
    return cmocka_run_group_tests(tests, test_engine_setup, test_engine_teardown);
}
