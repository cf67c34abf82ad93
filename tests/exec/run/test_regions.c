/* Running control flow: every form against results computed by hand, order, dead code. Failures inside,
 * tokens and deadlines: test_region_failures.c. Random programs: test_random_programs.c. What building
 * refuses: test_regions_build.c. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/base.h"
#include "support/regions.h"

/* ---- If ---------------------------------------------------------------------------------------------- */

static void test_if(void **state) {
    (void)state;
    world_t w;
    world_init(&w, 2);
    val_t p = graph_input(w.g), x = graph_input(w.g), y = graph_input(w.g), out[6];
    dnnl_tp_graph_t a = graph_region(w.g), b = graph_region(w.g);
    val_t sum = graph_op2(a, host_add, x, y), diff = graph_op2(b, host_sub, x, y),
          twice = graph_op2(a, host_add, sum, sum);
    /* A result, the same one twice, a value from outside, another one that both hand on, a constant. */
    val_t c = graph_constant(w.g, 42);
    val_t then[6] = {sum, twice, twice, x, y, c},
          other[6] = {diff, diff, x, diff, y, graph_op1(b, host_inc, diff)};
    CHECK_OK(dnnl_tp_graph_if(w.g, "pick", p, a, b, 6, then, other, out));
    for (int i = 0; i < 6; ++i) graph_output(w.g, out[i]);
    graph_output(w.g, graph_op2(w.g, host_mul, out[0], out[5]));
    EXPECT_RUN(&w, ARRAY(1, 7, 3), ARRAY(10, 20, 20, 7, 3, 42, 420));
    EXPECT_RUN(&w, ARRAY(0, 7, 3), ARRAY(4, 4, 7, 4, 3, 5, 20));
    EXPECT_RUN(&w, ARRAY(-5, 7, 3), ARRAY(10, 20, 20, 7, 3, 42, 420));
    graph_done(a, b);
    world_end(&w);
}

/* Empty branches, without regions or with empty ones, nested, without results; closures run once. */
static void test_if_forms(void **state) {
    (void)state;
    need_closures();
    world_t w;
    world_init(&w, 2);
    _Atomic int calls = 0;
    val_t p = graph_input(w.g), q = graph_input(w.g), x = graph_input(w.g), out[2];
    dnnl_tp_graph_t a = graph_region(w.g), b = graph_region(a), e1 = graph_region(w.g), e2 = graph_region(a);
    (void)graph_host(b, host_count, &calls, 0, NULL);
    CHECK_OK(dnnl_tp_graph_if(a, "inner", q, b, e2, 0, NULL, NULL, NULL));
    val_t y = graph_op1(a, host_inc, x), z;
    CHECK_OK(dnnl_tp_graph_if(a, "inner value", q, NULL, NULL, 1, &y, &x, &z));
    CHECK_OK(dnnl_tp_graph_if(w.g, "outer", p, a, e1, 1, &z, &x, out));
    CHECK_OK(dnnl_tp_graph_if(w.g, "bare", q, NULL, NULL, 1, &out[0], &x, &out[1]));
    graph_output(w.g, out[0]);
    graph_output(w.g, out[1]);
    EXPECT_RUN(&w, ARRAY(0, 0, 5), ARRAY(5, 5));
    EXPECT_RUN(&w, ARRAY(0, 1, 5), ARRAY(5, 5));
    EXPECT_RUN(&w, ARRAY(1, 0, 5), ARRAY(5, 5));
    assert_int_equal(calls, 0);
    EXPECT_RUN(&w, ARRAY(1, 1, 5), ARRAY(6, 6));
    assert_int_equal(calls, REGION_FLAGS * 3);
    graph_done(a, b);
    graph_done(e1, e2);
    world_end(&w);
}

/* Results that one branch makes only; who reads them runs with that branch, or does not care. */
static void test_if_one_side(void **state) {
    (void)state;
    world_t w;
    world_init(&w, 2);
    val_t p = graph_input(w.g), x = graph_input(w.g), one[2], two;
    dnnl_tp_graph_t a = graph_region(w.g), b = graph_region(w.g), c = graph_region(w.g);
    val_t then[2] = {graph_op1(a, host_inc, x), -1}, other[2] = {-1, x};
    CHECK_OK(dnnl_tp_graph_if(w.g, "halves", p, a, NULL, 2, then, other, one));
    val_t yes = graph_op2(b, host_mul, one[0], x), no = graph_op1(c, host_dec, one[1]);
    CHECK_OK(dnnl_tp_graph_if(w.g, "whole", p, b, c, 1, &yes, &no, &two));
    graph_output(w.g, two);
    EXPECT_RUN(&w, ARRAY(1, 7), ARRAY(56));
    EXPECT_RUN(&w, ARRAY(0, 7), ARRAY(6));
    graph_done(a, b);
    CHECK_OK(dnnl_tp_graph_destroy(c));
    world_end(&w);
}

/* Predicates of all types; a constant one chooses when the graph is compiled. */
static void test_predicates(void **state) {
    (void)state;
    static const float f[2] = {0.f, .25f};
    static const int32_t s[2] = {0, -3};
    static const uint8_t u[2] = {0, 200};
    static const int64_t n[2] = {0, INT64_C(1) << 32};
    const void *const data[][2] = {
        {&f[0], &f[1]}, {&s[0], &s[1]}, {&u[0], &u[1]}, {&u[0], &u[1]}, {&n[0], &n[1]}};
    static const dnnl_tp_data_type_t types[] = {dnnl_tp_f32, dnnl_tp_s32, dnnl_tp_u8, dnnl_tp_boolean,
                                                dnnl_tp_s64};
    static const dnnl_tp_dims_t one = {1, 1};
    for (int t = 0; t < 5; ++t)
        for (int fixed = 0; fixed < 3; ++fixed) { /* 0: an input, 1, 2: a constant */
            world_t w;
            world_init(&w, 2);
            val_t p, x = graph_input(w.g), out;
            if (fixed)
                CHECK_OK(dnnl_tp_graph_constant(w.g, &p, "p", types[t], 2, one, data[t][fixed - 1], 0, NULL,
                                                NULL));
            else CHECK_OK(dnnl_tp_graph_input(w.g, &p, "p", types[t], 2, one));
            dnnl_tp_graph_t a = graph_region(w.g), b = graph_region(w.g);
            val_t then = graph_op1(a, host_inc, x), other = graph_op1(b, host_dec, x);
            CHECK_OK(dnnl_tp_graph_if(w.g, "pick", p, a, b, 1, &then, &other, &out));
            graph_output(w.g, out);
            for (int k = 0; k < 2; ++k) {
                dnnl_tp_executable_t e = world_compile(&w, region_flags[k * 2]);
                for (int yes = 0; yes < 2; ++yes) {
                    int32_t v = 10, y = 0;
                    void *pin[2] = {&v, (void *)(uintptr_t)data[t][yes]}, *pout[1] = {&y};
                    CHECK_OK(test_run_graph(e, w.stream, 2 - (fixed > 0), pin, 1, pout, NULL));
                    assert_int_equal(y, (fixed ? fixed - 1 : yes) ? 11 : 9);
                }
                dnnl_tp_executable_destroy(e);
            }
            graph_done(a, b);
            world_end(&w);
        }
}

/* ---- While ------------------------------------------------------------------------------------------- */

/* for (i = 0; i < n; ++i) { t = a; a = b; b = t + b + k; }: counter, two rotating variables, an invariant. */
static void test_while(void **state) {
    (void)state;
    for (int window = 0; window <= 4; ++window) {
        world_t w;
        world_init(&w, 2);
        val_t n = graph_input(w.g), k = graph_input(w.g), zero = graph_constant(w.g, 0),
              one = graph_constant(w.g, 1), out[4];
        dnnl_tp_graph_t cond = graph_region(w.g), body = graph_region(cond);
        val_t v[4];
        for (int i = 0; i < 4; ++i) v[i] = graph_input(cond);
        val_t go = graph_op2(cond, host_less, v[0], n);
        val_t next[4] = {graph_op1(body, host_inc, v[0]), v[2],
                         graph_op2(body, host_add, graph_op2(body, host_add, v[1], v[2]), k), v[3]};
        val_t init[4] = {zero, zero, one, k};
        CHECK_OK(dnnl_tp_graph_while(w.g, "fib", cond, go, body, 4, init, v, next, window, out));
        for (int i = 0; i < 4; ++i) graph_output(w.g, out[i]);
        EXPECT_RUN(&w, ARRAY(0, 0), ARRAY(0, 0, 1, 0));
        EXPECT_RUN(&w, ARRAY(-3, 5), ARRAY(0, 0, 1, 5));
        EXPECT_RUN(&w, ARRAY(1, 0), ARRAY(1, 1, 1, 0));
        EXPECT_RUN(&w, ARRAY(2, 0), ARRAY(2, 1, 2, 0));
        EXPECT_RUN(&w, ARRAY(3, 0), ARRAY(3, 2, 3, 0));
        EXPECT_RUN(&w, ARRAY(20, 0), ARRAY(20, 6765, 10946, 0));
        EXPECT_RUN(&w, ARRAY(3, 1), ARRAY(3, 4, 7, 1));
        graph_done(cond, body);
        world_end(&w);
    }
}

/* Pure rotation of three variables: each iteration hands on pointers to what older ones wrote. */
static void test_rotation(void **state) {
    (void)state;
    for (int window = 0; window <= 3; ++window) {
        world_t w;
        world_init(&w, 2);
        val_t n = graph_input(w.g), x[3], out[5];
        for (int i = 0; i < 3; ++i) x[i] = graph_input(w.g);
        dnnl_tp_graph_t cond = graph_region(w.g), body = graph_region(cond);
        val_t v[5];
        for (int i = 0; i < 5; ++i) v[i] = graph_input(cond);
        val_t go = graph_op2(cond, host_less, v[0], n), twice = graph_op2(cond, host_add, v[0], v[0]);
        /* v4 gets a value of the condition, v3 what v4 was. */
        val_t next[5] = {graph_op1(body, host_inc, v[0]), v[2], v[3], v[1], twice};
        val_t init[5] = {graph_constant(w.g, 0), x[0], x[1], x[2], x[0]};
        CHECK_OK(dnnl_tp_graph_while(w.g, "turn", cond, go, body, 5, init, v, next, window, out));
        for (int i = 1; i < 5; ++i) graph_output(w.g, out[i]);
        for (int trips = 0; trips < 9; ++trips) {
            int32_t y[3] = {10, 20, 30};
            EXPECT_RUN(
                &w, ARRAY(trips, 10, 20, 30),
                ARRAY(y[trips % 3], y[(trips + 1) % 3], y[(trips + 2) % 3], trips ? 2 * (trips - 1) : 10));
        }
        graph_done(cond, body);
        world_end(&w);
    }
}

/* No variables: the condition has an effect. A variable that nobody needs. A loop inside a loop, and an If
 * around a loop inside a loop. */
static void test_while_forms(void **state) {
    (void)state;
    need_closures();
    world_t w;
    world_init(&w, 2);
    _Atomic int left = 0, bodies = 0;
    dnnl_tp_graph_t cond = graph_region(w.g), body = graph_region(cond);
    val_t go = graph_host(cond, host_countdown, &left, 0, NULL);
    (void)graph_host(body, host_count, &bodies, 0, NULL);
    CHECK_OK(dnnl_tp_graph_while(w.g, "bare", cond, go, body, 0, NULL, NULL, NULL, 0, NULL));
    for (int f = 0; f < REGION_FLAGS; ++f) {
        dnnl_tp_executable_t e = world_compile(&w, region_flags[f]);
        for (int trips = 0; trips < 4; ++trips) {
            left = trips;
            bodies = 0;
            CHECK_OK(test_run_graph(e, w.stream, 0, NULL, 0, NULL, NULL));
            assert_int_equal(bodies, trips);
            assert_int_equal(left, -1);
        }
        dnnl_tp_executable_destroy(e);
    }
    graph_done(cond, body);
    world_end(&w);
}

/* sum over i < n of (i odd ? collatz steps of i : 0), by a loop in an If in a loop. */
static void test_nested(void **state) {
    (void)state;
    for (int window = 0; window <= 3; ++window) {
        world_t w;
        world_init(&w, 3);
        val_t n = graph_input(w.g), zero = graph_constant(w.g, 0), one = graph_constant(w.g, 1),
              two = graph_constant(w.g, 2), out[2];
        dnnl_tp_graph_t cond = graph_region(w.g), body = graph_region(cond);
        val_t v[2] = {graph_input(cond), graph_input(cond)};
        val_t go = graph_op2(cond, host_less, v[0], n);
        val_t even = graph_op1(body, host_positive, graph_op2(body, host_sub, v[0], two));
        dnnl_tp_graph_t yes = graph_region(body);
        dnnl_tp_graph_t c2 = graph_region(yes), b2 = graph_region(c2);
        val_t u[2] = {graph_input(c2), graph_input(c2)}, inner[2], first[2] = {v[0], zero};
        val_t more = graph_op1(c2, host_not_one, u[0]);
        val_t next2[2] = {graph_op1(b2, host_collatz, u[0]), graph_op1(b2, host_inc, u[1])};
        CHECK_OK(dnnl_tp_graph_while(yes, "collatz", c2, more, b2, 2, first, u, next2, window, inner));
        val_t steps;
        CHECK_OK(dnnl_tp_graph_if(body, "large", even, yes, NULL, 1, &inner[1], &zero, &steps));
        val_t next[2] = {graph_op1(body, host_inc, v[0]), graph_op2(body, host_add, v[1], steps)},
              init[2] = {one, zero};
        CHECK_OK(dnnl_tp_graph_while(w.g, "sum", cond, go, body, 2, init, v, next, window, out));
        graph_output(w.g, out[1]);
        int32_t want = 0;
        for (int trips = 1; trips < 12; ++trips) {
            EXPECT_RUN(&w, ARRAY(trips), ARRAY(want));
            for (int64_t c = trips; trips > 2 && c != 1; ++want) c = c % 2 ? 3 * c + 1 : c / 2;
        }
        graph_done(cond, body);
        graph_done(yes, NULL);
        graph_done(c2, b2);
        world_end(&w);
    }
}

/* ---- Functions --------------------------------------------------------------------------------------- */

/* fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2), and a call in a loop. */
static void make_fib(dnnl_tp_graph_t g, dnnl_tp_graph_t *f) {
    dnnl_tp_tensor_info_t t = {.ndims = 0, .data_type = dnnl_tp_s32};
    val_t n, r;
    CHECK_OK(dnnl_tp_graph_create_function(f, g, "fib", 1, &t, &n, 1, &t));
    val_t small = graph_op2(*f, host_less, n, graph_constant(*f, 2));
    dnnl_tp_graph_t deeper = graph_region(*f);
    val_t n1 = graph_op1(deeper, host_dec, n), n2 = graph_op1(deeper, host_dec, n1), a, b;
    CHECK_OK(dnnl_tp_graph_call(deeper, "left", *f, 1, &n1, 1, &a));
    CHECK_OK(dnnl_tp_graph_call(deeper, "right", *f, 1, &n2, 1, &b));
    val_t sum = graph_op2(deeper, host_add, a, b);
    CHECK_OK(dnnl_tp_graph_if(*f, "small", small, NULL, deeper, 1, &n, &sum, &r));
    graph_output(*f, r);
    dnnl_tp_graph_destroy(deeper);
}

static void test_recursion(void **state) {
    (void)state;
    world_t w;
    world_init(&w, 3);
    dnnl_tp_graph_t f;
    make_fib(w.g, &f);
    val_t n = graph_input(w.g), r, out[2];
    CHECK_OK(dnnl_tp_graph_call(w.g, "top", f, 1, &n, 1, &r));
    graph_output(w.g, r);
    dnnl_tp_graph_t cond = graph_region(w.g), body = graph_region(cond);
    val_t v[2] = {graph_input(cond), graph_input(cond)}, fib;
    val_t go = graph_op2(cond, host_less, v[0], n);
    CHECK_OK(dnnl_tp_graph_call(body, "each", f, 1, v, 1, &fib));
    val_t next[2] = {graph_op1(body, host_inc, v[0]), graph_op2(body, host_add, v[1], fib)};
    val_t init[2] = {graph_constant(w.g, 0), graph_constant(w.g, 0)};
    CHECK_OK(dnnl_tp_graph_while(w.g, "sum", cond, go, body, 2, init, v, next, 2, out));
    graph_output(w.g, out[1]);
    EXPECT_RUN(&w, ARRAY(0), ARRAY(0, 0));
    EXPECT_RUN(&w, ARRAY(1), ARRAY(1, 0));
    EXPECT_RUN(&w, ARRAY(10), ARRAY(55, 88));
    EXPECT_RUN(&w, ARRAY(16), ARRAY(987, 1596));
    for (int k = 0; k < REGION_FLAGS; ++k) {
        dnnl_tp_executable_t e = world_compile(&w, region_flags[k]);
        int32_t x = 10, y[2];
        void *pin[1] = {&x}, *pout[2] = {&y[0], &y[1]};
        dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .max_depth = 9};
        assert_int_equal(test_run_graph(e, w.stream, 1, pin, 2, pout, &o), dnnl_tp_runtime_error);
        assert_int_equal(dtp_last_reason(), DTP_GRAPH_DEPTH);
        assert_non_null(strstr(dnnl_tp_last_error(), "(call)")); /* left or right */
        o.max_depth = 10;
        CHECK_OK(test_run_graph(e, w.stream, 1, pin, 2, pout, &o));
        assert_int_equal(y[0], 55);
        dnnl_tp_executable_destroy(e);
    }
    graph_done(cond, body);
    graph_done(f, NULL);
    world_end(&w);
}

/* A parameter that comes back, constants, a function without results, one that nobody fills or calls. */
static void test_function_forms(void **state) {
    (void)state;
    need_closures();
    world_t w;
    world_init(&w, 2);
    _Atomic int calls = 0;
    dnnl_tp_tensor_info_t t = {.ndims = 0, .data_type = dnnl_tp_s32}, three[3] = {t, t, t};
    dnnl_tp_graph_t swap, effect, unused;
    val_t p[2], c = graph_constant(w.g, 8), u;
    CHECK_OK(dnnl_tp_graph_create_function(&swap, w.g, "swap", 2, three, p, 3, three));
    graph_output(swap, p[1]);
    graph_output(swap, p[0]);
    graph_output(swap, c);
    CHECK_OK(dnnl_tp_graph_create_function(&effect, w.g, "effect", 0, NULL, NULL, 0, NULL));
    (void)graph_host(effect, host_count, &calls, 0, NULL);
    CHECK_OK(dnnl_tp_graph_create_function(&unused, w.g, "unused", 1, &t, &u, 0, NULL));
    val_t in[2] = {graph_input(w.g), graph_input(w.g)}, out[3];
    CHECK_OK(dnnl_tp_graph_call(w.g, "s", swap, 2, in, 3, out));
    CHECK_OK(dnnl_tp_graph_call(w.g, "e", effect, 0, NULL, 0, NULL));
    for (int i = 0; i < 3; ++i) graph_output(w.g, out[i]);
    EXPECT_RUN(&w, ARRAY(1, 2), ARRAY(2, 1, 8));
    assert_int_equal(calls, REGION_FLAGS * 3);
    graph_done(swap, effect);
    graph_done(unused, NULL);
    world_end(&w);
}

/* ---- Primitives inside ------------------------------------------------------------------------------- */

/* x = relu(x W + b) in a loop whose weights are a constant around it; a branch that looks at it transposed.
 */
static void test_primitives(void **state) {
    (void)state;
    enum { N = 96, TRIPS = 7 };
    float *wdata = malloc(sizeof *wdata * N * N), *x = malloc(sizeof *x * N * N),
          *want = malloc(sizeof *x * N * N), *got = malloc(sizeof *x * N * N),
          *tmp = malloc(sizeof *x * N * N);
    for (int i = 0; i < N * N; ++i) wdata[i] = (float)(i * 7 % 13 - 6) / 64.f, x[i] = (float)(i % 11) / 8.f;
    memcpy(want, x, sizeof *x * N * N);
    for (int t = 0; t < TRIPS; ++t) {
        for (int i = 0; i < N; ++i)
            for (int j = 0; j < N; ++j) {
                double s = 0;
                for (int k = 0; k < N; ++k) s += (double)want[i * N + k] * wdata[k * N + j];
                tmp[i * N + j] = s > 0 ? (float)s : 0.f;
            }
        for (int i = 0; i < N; ++i)
            for (int j = 0; j < N; ++j) want[i * N + j] = t % 2 ? tmp[j * N + i] : tmp[i * N + j];
    }
    for (int threads = 1; threads <= 3; ++threads) {
        world_t w;
        world_init(&w, threads);
        static const dnnl_tp_dims_t d = {N, N};
        static const int64_t order[2] = {1, 0};
        static const int32_t trips = TRIPS;
        dnnl_tp_op_attr_t turn = {dnnl_tp_op_attr_order, dnnl_tp_op_attr_s64, 2, order};
        val_t wv, xv, y[2], m, out[2];
        CHECK_OK(dnnl_tp_graph_constant(w.g, &wv, "w", dnnl_tp_f32, 2, d, wdata, DNNL_TP_CONSTANT_BORROW,
                                        NULL, NULL));
        CHECK_OK(dnnl_tp_graph_input(w.g, &xv, "x", dnnl_tp_f32, 2, d));
        dnnl_tp_graph_t cond = graph_region(w.g), body = graph_region(cond), odd = graph_region(body);
        val_t v[2] = {graph_input(cond)};
        CHECK_OK(dnnl_tp_graph_input(cond, &v[1], "x", dnnl_tp_f32, 2, d));
        val_t go = graph_op2(cond, host_less, v[0], graph_constant(w.g, trips)), mm[2] = {v[1], wv};
        CHECK_OK(dnnl_tp_graph_op(body, dnnl_tp_op_matmul, "mm", 2, mm, 0, NULL, 1, &m));
        CHECK_OK(dnnl_tp_graph_op(body, dnnl_tp_op_relu, "relu", 1, &m, 0, NULL, 1, &y[0]));
        CHECK_OK(dnnl_tp_graph_op(odd, dnnl_tp_op_static_transpose, "turn", 1, y, 1, &turn, 1, &y[1]));
        val_t i1 = graph_op1(body, host_inc, v[0]);
        val_t flag = graph_op1(body, host_odd, v[0]);
        CHECK_OK(dnnl_tp_graph_if(body, "odd", flag, odd, NULL, 1, &y[1], &y[0], &m));
        val_t next[2] = {i1, m}, init[2] = {graph_constant(w.g, 0), xv};
        CHECK_OK(dnnl_tp_graph_while(w.g, "layers", cond, go, body, 2, init, v, next, 0, out));
        CHECK_OK(dnnl_tp_graph_output(w.g, out[1], "y"));
        for (int f = 0; f < REGION_FLAGS; ++f) {
            dnnl_tp_executable_t e = world_compile(&w, region_flags[f]);
            void *pin[1] = {x}, *pout[1] = {got};
            CHECK_OK(test_run_graph(e, w.stream, 1, pin, 1, pout, NULL));
            for (int i = 0; i < N * N; ++i) {
                float diff = got[i] - want[i];
                if (!(diff <= 1e-3f && diff >= -1e-3f))
                    fail_msg("%d: %g, not %g", i, (double)got[i], (double)want[i]);
            }
            dnnl_tp_executable_destroy(e);
        }
        graph_done(cond, body);
        graph_done(odd, NULL);
        world_end(&w);
    }
    free(wdata), free(x), free(want), free(got), free(tmp);
}

/* ---- Order ------------------------------------------------------------------------------------------- */

typedef struct {
    _Atomic int *clock;
    int when;
} stamp_t;
HOST(stamp, ((stamp_t *)arg)->when = atomic_fetch_add(((stamp_t *)arg)->clock, 1))

/* Chains of closures without data, into a branch and past a loop. */
static void test_order(void **state) {
    (void)state;
    need_closures();
    enum { N = 40 };
    for (int threads = 1; threads <= 3; ++threads) {
        world_t w;
        world_init(&w, threads);
        _Atomic int clock = 0;
        stamp_t stamps[N];
        val_t v[N], go = graph_input(w.g), after;
        for (int i = 0; i < N; ++i) {
            stamps[i] = (stamp_t){&clock, -1};
            v[i] = graph_host(w.g, stamp, &stamps[i], 0, NULL);
            if (i >= 2) CHECK_OK(dnnl_tp_graph_control_dependency(w.g, v[i - 2], v[i]));
        }
        dnnl_tp_graph_t yes = graph_region(w.g);
        stamp_t inside = {&clock, -1}, behind = {&clock, -1};
        val_t in = graph_host(yes, stamp, &inside, 0, NULL);
        CHECK_OK(dnnl_tp_graph_control_dependency(yes, v[N - 1], in));
        CHECK_OK(dnnl_tp_graph_if(w.g, "if", go, yes, NULL, 1, &in, &go, &after));
        val_t last = graph_host(w.g, stamp, &behind, 0, NULL);
        CHECK_OK(dnnl_tp_graph_control_dependency(w.g, after, last));
        for (int f = 0; f < REGION_FLAGS; ++f) {
            dnnl_tp_executable_t e = world_compile(&w, region_flags[f]);
            for (int k = 0; k < 20; ++k) {
                int32_t x = k % 3 != 0;
                void *pin[1] = {&x};
                inside.when = -1;
                CHECK_OK(test_run_graph(e, w.stream, 1, pin, 0, NULL, NULL));
                for (int i = 2; i < N; ++i) assert_true(stamps[i].when > stamps[i - 2].when);
                assert_true(x ? inside.when > stamps[N - 1].when && behind.when > inside.when
                              : inside.when < 0);
            }
            dnnl_tp_executable_destroy(e);
        }
        graph_done(yes, NULL);
        world_end(&w);
    }
}

/* Dead code inside regions: operators that nobody needs do not run, targets do; constants are folded. */
static void test_dead_code(void **state) {
    (void)state;
    world_t w;
    world_init(&w, 1);
    static const dnnl_tp_dims_t two = {2};
    static const float data[2] = {1.f, -2.f};
    val_t p = graph_input(w.g), x, c, out[3], dead;
    CHECK_OK(dnnl_tp_graph_input(w.g, &x, "x", dnnl_tp_f32, 1, two));
    CHECK_OK(dnnl_tp_graph_constant(w.g, &c, "c", dnnl_tp_f32, 1, two, data, 0, NULL, NULL));
    dnnl_tp_graph_t cond = graph_region(w.g), body = graph_region(cond);
    val_t v[3] = {graph_input(cond)};
    for (int i = 1; i < 3; ++i) CHECK_OK(dnnl_tp_graph_input(cond, &v[i], "v", dnnl_tp_f32, 1, two));
    val_t go = graph_op2(cond, host_less, v[0], p), folded, sum[2], next[3];
    CHECK_OK(dnnl_tp_graph_op(body, dnnl_tp_op_abs, "folded", 1, &c, 0, NULL, 1, &folded));
    sum[0] = v[1], sum[1] = folded;
    CHECK_OK(dnnl_tp_graph_op(body, dnnl_tp_op_add, "kept", 2, sum, 0, NULL, 1, &next[1]));
    CHECK_OK(dnnl_tp_graph_op(body, dnnl_tp_op_exp, "not needed", 1, &v[2], 0, NULL, 1, &next[2]));
    CHECK_OK(dnnl_tp_graph_op(w.g, dnnl_tp_op_exp, "never", 1, &x, 0, NULL, 1, &dead));
    next[0] = graph_op1(body, host_inc, v[0]);
    val_t init[3] = {graph_constant(w.g, 0), x, x};
    CHECK_OK(dnnl_tp_graph_while(w.g, "loop", cond, go, body, 3, init, v, next, 0, out));
    CHECK_OK(dnnl_tp_graph_output(w.g, out[1], "y"));
    dnnl_tp_executable_t e = world_compile(&w, 0);
    dnnl_tp_trace_event_t events[16];
    dnnl_tp_run_stats_t stats = {.struct_size = sizeof stats, .events = events, .max_events = 16};
    dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .stats = &stats};
    int32_t trips = 2;
    float xs[2] = {1, 2}, ys[2];
    void *pin[2] = {&trips, xs}, *pout[1] = {ys};
    CHECK_OK(test_run_graph(e, w.stream, 2, pin, 1, pout, &o));
    assert_true(ys[0] == 3.f && ys[1] == 6.f);
    const int less = test_engine_is_far(w.engine) ? 2 : 1; /* operators */
    assert_int_equal(stats.num_events, 3 * less + 2 * 2);  /* less; kept, inc */
    dnnl_tp_executable_destroy(e);
    graph_done(cond, body);
    world_end(&w);
    /* A target. */
    world_init(&w, 1);
    CHECK_OK(dnnl_tp_graph_input(w.g, &x, "x", dnnl_tp_f32, 1, two));
    CHECK_OK(dnnl_tp_graph_op(w.g, dnnl_tp_op_exp, "always", 1, &x, 0, NULL, 1, &dead));
    CHECK_OK(dnnl_tp_graph_target(w.g, dead));
    e = world_compile(&w, 0);
    pin[0] = xs;
    CHECK_OK(test_run_graph(e, w.stream, 1, pin, 0, NULL, &o));
    assert_int_equal(stats.num_events, 1);
    dnnl_tp_executable_destroy(e);
    world_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_if),          cmocka_unit_test(test_if_forms),
        cmocka_unit_test(test_if_one_side), cmocka_unit_test(test_predicates),
        cmocka_unit_test(test_while),       cmocka_unit_test(test_rotation),
        cmocka_unit_test(test_while_forms), cmocka_unit_test(test_nested),
        cmocka_unit_test(test_recursion),   cmocka_unit_test(test_function_forms),
        cmocka_unit_test(test_primitives),  cmocka_unit_test(test_order),
        cmocka_unit_test(test_dead_code)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
