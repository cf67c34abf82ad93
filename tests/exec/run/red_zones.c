/* Red zones of runs see what closures do outside of their tensors, wherever their results lie. What
 * they see of the library's own operators: zones.cmake, which runs the other tests of graphs with
 * them. */
#include <string.h>

#include "common/base/base.h"
#include "support/regions.h"

enum { POISON = 0x7fa17fa1, BEFORE = -1, INSIDE = 0, BEHIND = 1, THREADS = 3 };

/* What the address sanitizer would report itself. */
static __attribute__((noinline, no_sanitize_address)) void put(int32_t *p, int32_t x) { *p = x; }
static __attribute__((noinline, no_sanitize_address)) int32_t get(const int32_t *p) { return *p; }

/* The result is right; so many elements beside it, another number is written. */
static HOST(copies, put(&DST(0) + *(const int *)arg, 7); DST(0) = SRC(0))
    /* 1 if nothing is in its result before it is written. */
    static HOST(finds, DST(0) = DST(0) == POISON) static HOST(
        keeps, *(const int32_t **)arg = &SRC(0);
        DST(0) = SRC(0)) static HOST(looks_back, DST(0) = get(*(const int32_t **)arg))

    /* ---- Where the result lies
       --------------------------------------------------------------------------- */

    typedef enum {
        IN_ROOT,
        IN_BRANCH,
        IN_CONDITION,
        IN_LOOP,
        IN_INNER_LOOP,
        IN_CALL,
        PLACES
    } place_t;

/* A loop that takes x down to 0; the closure works on what it takes. */
static val_t loop(dnnl_tp_graph_t g, host_t *fn, void *arg, val_t x, bool in_condition) {
    dnnl_tp_graph_t cond = graph_region(g), body = graph_region(cond);
    val_t v = graph_input(cond), seen, y;
    seen = in_condition ? graph_host(cond, fn, arg, 1, &v) : v;
    val_t more = graph_op1(cond, host_positive, seen);
    if (!in_condition) seen = graph_host(body, fn, arg, 1, &v);
    val_t next = graph_op1(body, host_dec, in_condition ? v : seen);
    CHECK_OK(dnnl_tp_graph_while(g, "loop", cond, more, body, 1, &x, &v, &next, 2, &y));
    graph_done(body, cond);
    return y;
}

static val_t inner_loop(dnnl_tp_graph_t g, host_t *fn, void *arg, val_t x) {
    dnnl_tp_graph_t cond = graph_region(g), body = graph_region(cond);
    val_t v = graph_input(cond), y;
    val_t zero = loop(body, fn, arg, v, false);
    val_t left = graph_op2(body, host_add, graph_op1(body, host_dec, v), zero);
    CHECK_OK(dnnl_tp_graph_while(g, "outer", cond, graph_op1(cond, host_positive, v), body, 1, &x, &v, &left,
                                 1, &y));
    graph_done(body, cond);
    return y;
}

static val_t call(dnnl_tp_graph_t g, host_t *fn, void *arg, val_t x) {
    const dnnl_tp_tensor_info_t info = {.ndims = 0, .data_type = dnnl_tp_s32};
    dnnl_tp_graph_t f;
    val_t v, y;
    CHECK_OK(dnnl_tp_graph_create_function(&f, g, "function", 1, &info, &v, 1, &info));
    graph_output(f, graph_op1(f, host_dec, graph_host(f, fn, arg, 1, &v)));
    CHECK_OK(dnnl_tp_graph_call(g, "call", f, 1, &x, 1, &y));
    CHECK_OK(dnnl_tp_graph_destroy(f));
    return y;
}

static val_t branch(dnnl_tp_graph_t g, host_t *fn, void *arg, val_t x) {
    dnnl_tp_graph_t then = graph_region(g);
    val_t a = graph_op1(then, host_dec, graph_host(then, fn, arg, 1, &x)), y;
    CHECK_OK(dnnl_tp_graph_if(g, "branch", x, then, NULL, 1, &a, &x, &y));
    CHECK_OK(dnnl_tp_graph_destroy(then));
    return y;
}

static val_t at(dnnl_tp_graph_t g, place_t place, host_t *fn, void *arg, val_t x) {
    switch (place) {
    case IN_BRANCH: return branch(g, fn, arg, x);
    case IN_CONDITION: return loop(g, fn, arg, x, true);
    case IN_LOOP: return loop(g, fn, arg, x, false);
    case IN_INNER_LOOP: return inner_loop(g, fn, arg, x);
    case IN_CALL: return call(g, fn, arg, x);
    default: return graph_host(g, fn, arg, 1, &x);
    }
}

/* Two chains beside each other, so that the dataflow engine runs them; *y: what both come to. */
static dnnl_tp_status_t run(place_t place, host_t *fn, void *arg, unsigned flags, int threads, int32_t *y) {
    world_t w;
    world_init(&w, THREADS);
    val_t x = graph_input(w.g), a = graph_op1(w.g, host_inc, x), b = graph_op1(w.g, host_dec, x);
    a = graph_op1(w.g, host_inc, at(w.g, place, fn, arg, a));
    b = graph_op1(w.g, host_inc, b);
    graph_output(w.g, graph_op2(w.g, host_sub, a, b));
    dnnl_tp_executable_t e = world_compile(&w, flags);
    int32_t three = 3;
    void *in[1] = {&three}, *out[1] = {y};
    dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .max_threads = threads};
    dnnl_tp_status_t status = dnnl_tp_executable_run(e, w.stream, 1, in, 1, out, &o);
    dnnl_tp_executable_destroy(e);
    world_end(&w);
    return status;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void test_writes_beside(void **state) {
    (void)state;
    static const int32_t right[PLACES] = {2, 1, -2, -2, -2, 1};
    for (int place = 0; place < PLACES; ++place)
        for (int by = BEFORE; by <= BEHIND; ++by)
            for (int threads = 1; threads <= THREADS; ++threads)
                for (int f = 0; f < REGION_FLAGS; ++f) {
                    int32_t y = -1;
                    dnnl_tp_status_t status = run((place_t)place, copies, &by, region_flags[f], threads, &y);
                    assert_int_equal(status, by == INSIDE ? dnnl_tp_success : dnnl_tp_runtime_error);
                    if (by != INSIDE) assert_non_null(strstr(dnnl_tp_last_error(), "red zone"));
                    else assert_int_equal(y, right[place]);
                }
}

/* Nothing is in a result before it is written: of the root, of the first round of a loop, of each
 * call. */
static void test_unwritten(void **state) {
    (void)state;
    static const place_t places[] = {IN_ROOT, IN_BRANCH, IN_CALL};
    static const int32_t right[] = {-1, -2, -2};
    for (int i = 0; i < 3; ++i)
        for (int threads = 1; threads <= THREADS; ++threads) {
            int32_t y;
            CHECK_OK(run(places[i], finds, NULL, 0, threads, &y));
            assert_int_equal(y, right[i]);
        }
}

/* Nobody finds a value behind its last reader. */
static void test_dead(void **state) {
    (void)state;
    for (int threads = 1; threads <= THREADS; ++threads) {
        world_t w;
        world_init(&w, THREADS);
        const int32_t *kept = NULL;
        int32_t x = 3, y = 0;
        val_t a = graph_op1(w.g, host_inc, graph_input(w.g));
        a = graph_host(w.g, keeps, &kept, 1, &a);
        a = graph_op1(w.g, host_inc, a);
        graph_output(w.g, graph_host(w.g, looks_back, &kept, 1, &a));
        dnnl_tp_executable_t e = world_compile(&w, 0);
        void *in[1] = {&x}, *out[1] = {&y};
        dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .max_threads = threads};
        CHECK_OK(dnnl_tp_executable_run(e, w.stream, 1, in, 1, out, &o));
        assert_int_equal(y, POISON);
        dnnl_tp_executable_destroy(e);
        world_end(&w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_writes_beside), cmocka_unit_test(test_unwritten),
                                       cmocka_unit_test(test_dead)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
