/* Running control flow: every form against results computed by hand, failures inside, tokens and deadlines,
 * allocation. Random programs: test_random_programs.c. What building refuses: test_regions_build.c. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "exec/executable.h"
#include "threading/futex.h"
#include "support/world.h"

#define OK(expr) assert_int_equal((expr), dnnl_tp_success)

static const unsigned all_flags[] = {0, DNNL_TP_COMPILE_NO_FUSION, DNNL_TP_COMPILE_NO_CLUSTERS,
                                     DNNL_TP_COMPILE_NO_FUSION | DNNL_TP_COMPILE_NO_CLUSTERS};
enum { FLAGS = sizeof all_flags / sizeof *all_flags };
/* ---- Small operators on s32 scalars -------------------------------------------------------------------- */

typedef dnnl_tp_value_t val_t;
typedef dnnl_tp_status_t host_t(void *, const volatile int *, int, const dnnl_tp_host_arg_t *, int,
                                const dnnl_tp_host_arg_t *);
#define I(i) (*(int32_t *)in[i].data)
#define O(i) (*(int32_t *)out[i].data)
#define HOST(name, ...)                                                                                      \
    static dnnl_tp_status_t name(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in, \
                                 int nout, const dnnl_tp_host_arg_t *out) {                                  \
        (void)arg, (void)stop, (void)nin, (void)in, (void)nout, (void)out;                                   \
        __VA_ARGS__;                                                                                         \
        return dnnl_tp_success;                                                                              \
    }
HOST(add, O(0) = I(0) + I(1))
HOST(sub, O(0) = I(0) - I(1))
HOST(mul, O(0) = I(0) * I(1))
HOST(inc, O(0) = I(0) + 1)
HOST(dec, O(0) = I(0) - 1)
HOST(less, O(0) = I(0) < I(1))
HOST(positive, O(0) = I(0) > 0)
HOST(collatz, O(0) = I(0) % 2 ? 3 * I(0) + 1 : I(0) / 2)
HOST(not_one, O(0) = I(0) != 1)
HOST(count, atomic_fetch_add((_Atomic int *)arg, 1))
HOST(countdown, O(0) = atomic_fetch_sub((_Atomic int *)arg, 1) > 0)

static val_t host_arg(dnnl_tp_graph_t g, host_t *fn, void *arg, int nin, const val_t *in) {
    dnnl_tp_tensor_info_t info = {.ndims = 0, .data_type = dnnl_tp_s32};
    val_t v;
    OK(dnnl_tp_graph_host(g, fn, arg, NULL, 0, "op", nin, in, 1, &info, &v));
    return v;
}
static val_t op1(dnnl_tp_graph_t g, host_t *fn, val_t a) { return host_arg(g, fn, NULL, 1, &a); }
static val_t op2(dnnl_tp_graph_t g, host_t *fn, val_t a, val_t b) {
    val_t in[2] = {a, b};
    return host_arg(g, fn, NULL, 2, in);
}
static val_t input(dnnl_tp_graph_t g) {
    val_t v;
    OK(dnnl_tp_graph_input(g, &v, "x", dnnl_tp_s32, 0, NULL));
    return v;
}
static val_t constant(dnnl_tp_graph_t g, int32_t x) {
    val_t v;
    OK(dnnl_tp_graph_constant(g, &v, "c", dnnl_tp_s32, 0, NULL, &x, 0, NULL, NULL));
    return v;
}
static dnnl_tp_graph_t region(dnnl_tp_graph_t parent) {
    dnnl_tp_graph_t r;
    OK(dnnl_tp_graph_create_region(&r, parent));
    return r;
}
static void output(dnnl_tp_graph_t g, val_t v) { OK(dnnl_tp_graph_output(g, v, "y")); }
static void done(dnnl_tp_graph_t a, dnnl_tp_graph_t b) {
    dnnl_tp_graph_destroy(a);
    dnnl_tp_graph_destroy(b);
}

enum { MAX_ARGS = 8 };
/* Runs with these inputs on several executables and thread counts and compares the outputs. */
static void expect(world_t *w, int nin, const int32_t *in, int nout, const int32_t *want) {
    for (int f = 0; f < FLAGS; ++f) {
        dnnl_tp_executable_t e = world_compile(w, all_flags[f]);
        for (int threads = 1; threads <= 3; ++threads) {
            int32_t x[MAX_ARGS], y[MAX_ARGS];
            void *pin[MAX_ARGS], *pout[MAX_ARGS];
            for (int i = 0; i < nin; ++i) x[i] = in[i], pin[i] = &x[i];
            for (int i = 0; i < nout; ++i) y[i] = -12345, pout[i] = &y[i];
            dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .max_threads = threads};
            OK(dnnl_tp_executable_run(e, w->stream, nin, pin, nout, pout, &o));
            for (int i = 0; i < nout; ++i)
                if (y[i] != want[i])
                    fail_msg("output %d is %d, not %d (flags %u)", i, y[i], want[i], all_flags[f]);
            for (int i = 0; i < nin; ++i) assert_int_equal(x[i], in[i]);
        }
        dnnl_tp_executable_destroy(e);
    }
}
#define EXPECT(w, in, want) \
    expect(w, (int)(sizeof(in) / sizeof *(in)), in, (int)(sizeof(want) / sizeof *(want)), want)
#define ARRAY(...) ((const int32_t[]){__VA_ARGS__})

/* ---- If ------------------------------------------------------------------------------------------------ */

static void test_if(void **state) {
    (void)state;
    world_t w;
    world_init(&w, 2);
    val_t p = input(w.g), x = input(w.g), y = input(w.g), out[6];
    dnnl_tp_graph_t a = region(w.g), b = region(w.g);
    val_t sum = op2(a, add, x, y), diff = op2(b, sub, x, y), twice = op2(a, add, sum, sum);
    /* A result, the same one twice, a value from outside, another one that both hand on, a constant. */
    val_t c = constant(w.g, 42);
    val_t then[6] = {sum, twice, twice, x, y, c}, other[6] = {diff, diff, x, diff, y, op1(b, inc, diff)};
    OK(dnnl_tp_graph_if(w.g, "pick", p, a, b, 6, then, other, out));
    for (int i = 0; i < 6; ++i) output(w.g, out[i]);
    output(w.g, op2(w.g, mul, out[0], out[5]));
    EXPECT(&w, ARRAY(1, 7, 3), ARRAY(10, 20, 20, 7, 3, 42, 420));
    EXPECT(&w, ARRAY(0, 7, 3), ARRAY(4, 4, 7, 4, 3, 5, 20));
    EXPECT(&w, ARRAY(-5, 7, 3), ARRAY(10, 20, 20, 7, 3, 42, 420));
    done(a, b);
    world_end(&w);
}

/* Empty branches, without regions or with empty ones, nested, without results; closures run once. */
static void test_if_forms(void **state) {
    (void)state;
    world_t w;
    world_init(&w, 2);
    _Atomic int calls = 0;
    val_t p = input(w.g), q = input(w.g), x = input(w.g), out[2];
    dnnl_tp_graph_t a = region(w.g), b = region(a), e1 = region(w.g), e2 = region(a);
    (void)host_arg(b, count, &calls, 0, NULL);
    OK(dnnl_tp_graph_if(a, "inner", q, b, e2, 0, NULL, NULL, NULL));
    val_t y = op1(a, inc, x), z;
    OK(dnnl_tp_graph_if(a, "inner value", q, NULL, NULL, 1, &y, &x, &z));
    OK(dnnl_tp_graph_if(w.g, "outer", p, a, e1, 1, &z, &x, out));
    OK(dnnl_tp_graph_if(w.g, "bare", q, NULL, NULL, 1, &out[0], &x, &out[1]));
    output(w.g, out[0]);
    output(w.g, out[1]);
    EXPECT(&w, ARRAY(0, 0, 5), ARRAY(5, 5));
    EXPECT(&w, ARRAY(0, 1, 5), ARRAY(5, 5));
    EXPECT(&w, ARRAY(1, 0, 5), ARRAY(5, 5));
    assert_int_equal(calls, 0);
    EXPECT(&w, ARRAY(1, 1, 5), ARRAY(6, 6));
    assert_int_equal(calls, FLAGS * 3);
    done(a, b);
    done(e1, e2);
    world_end(&w);
}

/* Predicates of all types; a constant one chooses when the graph is compiled. */
static void test_predicates(void **state) {
    (void)state;
    static const float f[2] = {0.f, .25f};
    static const int32_t s[2] = {0, -3};
    static const uint8_t u[2] = {0, 200};
    const void *const data[4][2] = {{&f[0], &f[1]}, {&s[0], &s[1]}, {&u[0], &u[1]}, {&u[0], &u[1]}};
    static const dnnl_tp_data_type_t types[4] = {dnnl_tp_f32, dnnl_tp_s32, dnnl_tp_u8, dnnl_tp_boolean};
    static const dnnl_tp_dims_t one = {1, 1};
    for (int t = 0; t < 4; ++t)
        for (int fixed = 0; fixed < 3; ++fixed) { /* 0: an input, 1, 2: a constant */
            world_t w;
            world_init(&w, 2);
            val_t p, x = input(w.g), out;
            if (fixed)
                OK(dnnl_tp_graph_constant(w.g, &p, "p", types[t], 2, one, data[t][fixed - 1], 0, NULL, NULL));
            else OK(dnnl_tp_graph_input(w.g, &p, "p", types[t], 2, one));
            dnnl_tp_graph_t a = region(w.g), b = region(w.g);
            val_t then = op1(a, inc, x), other = op1(b, dec, x);
            OK(dnnl_tp_graph_if(w.g, "pick", p, a, b, 1, &then, &other, &out));
            output(w.g, out);
            for (int k = 0; k < 2; ++k) {
                dnnl_tp_executable_t e = world_compile(&w, all_flags[k * 2]);
                for (int yes = 0; yes < 2; ++yes) {
                    int32_t v = 10, y = 0;
                    void *pin[2] = {&v, (void *)(uintptr_t)data[t][yes]}, *pout[1] = {&y};
                    OK(dnnl_tp_executable_run(e, w.stream, 2 - (fixed > 0), pin, 1, pout, NULL));
                    assert_int_equal(y, (fixed ? fixed - 1 : yes) ? 11 : 9);
                }
                dnnl_tp_executable_destroy(e);
            }
            done(a, b);
            world_end(&w);
        }
}

/* ---- While --------------------------------------------------------------------------------------------- */

/* for (i = 0; i < n; ++i) { t = a; a = b; b = t + b + k; }: counter, two rotating variables, an invariant. */
static void test_while(void **state) {
    (void)state;
    for (int window = 0; window <= 4; ++window) {
        world_t w;
        world_init(&w, 2);
        val_t n = input(w.g), k = input(w.g), zero = constant(w.g, 0), one = constant(w.g, 1), out[4];
        dnnl_tp_graph_t cond = region(w.g), body = region(cond);
        val_t v[4];
        for (int i = 0; i < 4; ++i) v[i] = input(cond);
        val_t go = op2(cond, less, v[0], n);
        val_t next[4] = {op1(body, inc, v[0]), v[2], op2(body, add, op2(body, add, v[1], v[2]), k), v[3]};
        val_t init[4] = {zero, zero, one, k};
        OK(dnnl_tp_graph_while(w.g, "fib", cond, go, body, 4, init, v, next, window, out));
        for (int i = 0; i < 4; ++i) output(w.g, out[i]);
        EXPECT(&w, ARRAY(0, 0), ARRAY(0, 0, 1, 0));
        EXPECT(&w, ARRAY(-3, 5), ARRAY(0, 0, 1, 5));
        EXPECT(&w, ARRAY(1, 0), ARRAY(1, 1, 1, 0));
        EXPECT(&w, ARRAY(2, 0), ARRAY(2, 1, 2, 0));
        EXPECT(&w, ARRAY(3, 0), ARRAY(3, 2, 3, 0));
        EXPECT(&w, ARRAY(20, 0), ARRAY(20, 6765, 10946, 0));
        EXPECT(&w, ARRAY(3, 1), ARRAY(3, 4, 7, 1));
        done(cond, body);
        world_end(&w);
    }
}

/* Pure rotation of three variables: each iteration hands on pointers to what older ones wrote. */
static void test_rotation(void **state) {
    (void)state;
    for (int window = 0; window <= 3; ++window) {
        world_t w;
        world_init(&w, 2);
        val_t n = input(w.g), x[3], out[5];
        for (int i = 0; i < 3; ++i) x[i] = input(w.g);
        dnnl_tp_graph_t cond = region(w.g), body = region(cond);
        val_t v[5];
        for (int i = 0; i < 5; ++i) v[i] = input(cond);
        val_t go = op2(cond, less, v[0], n), twice = op2(cond, add, v[0], v[0]);
        /* v4 gets a value of the condition, v3 what v4 was. */
        val_t next[5] = {op1(body, inc, v[0]), v[2], v[3], v[1], twice};
        val_t init[5] = {constant(w.g, 0), x[0], x[1], x[2], x[0]};
        OK(dnnl_tp_graph_while(w.g, "turn", cond, go, body, 5, init, v, next, window, out));
        for (int i = 1; i < 5; ++i) output(w.g, out[i]);
        for (int trips = 0; trips < 9; ++trips) {
            int32_t y[3] = {10, 20, 30};
            EXPECT(&w, ARRAY(trips, 10, 20, 30),
                   ARRAY(y[trips % 3], y[(trips + 1) % 3], y[(trips + 2) % 3], trips ? 2 * (trips - 1) : 10));
        }
        done(cond, body);
        world_end(&w);
    }
}

/* No variables: the condition has an effect. A variable that nobody needs. A loop inside a loop, and an If
 * around a loop inside a loop. */
static void test_while_forms(void **state) {
    (void)state;
    world_t w;
    world_init(&w, 2);
    _Atomic int left = 0, bodies = 0;
    dnnl_tp_graph_t cond = region(w.g), body = region(cond);
    val_t go = host_arg(cond, countdown, &left, 0, NULL);
    (void)host_arg(body, count, &bodies, 0, NULL);
    OK(dnnl_tp_graph_while(w.g, "bare", cond, go, body, 0, NULL, NULL, NULL, 0, NULL));
    for (int f = 0; f < FLAGS; ++f) {
        dnnl_tp_executable_t e = world_compile(&w, all_flags[f]);
        for (int trips = 0; trips < 4; ++trips) {
            left = trips;
            bodies = 0;
            OK(dnnl_tp_executable_run(e, w.stream, 0, NULL, 0, NULL, NULL));
            assert_int_equal(bodies, trips);
            assert_int_equal(left, -1);
        }
        dnnl_tp_executable_destroy(e);
    }
    done(cond, body);
    world_end(&w);
}

/* sum over i < n of (i odd ? collatz steps of i : 0), by a loop in an If in a loop. */
static void test_nested(void **state) {
    (void)state;
    for (int window = 0; window <= 3; ++window) {
        world_t w;
        world_init(&w, 3);
        val_t n = input(w.g), zero = constant(w.g, 0), one = constant(w.g, 1), two = constant(w.g, 2), out[2];
        dnnl_tp_graph_t cond = region(w.g), body = region(cond);
        val_t v[2] = {input(cond), input(cond)};
        val_t go = op2(cond, less, v[0], n);
        val_t even = op1(body, positive, op2(body, sub, v[0], two));
        dnnl_tp_graph_t yes = region(body);
        dnnl_tp_graph_t c2 = region(yes), b2 = region(c2);
        val_t u[2] = {input(c2), input(c2)}, inner[2], first[2] = {v[0], zero};
        val_t more = op1(c2, not_one, u[0]);
        val_t next2[2] = {op1(b2, collatz, u[0]), op1(b2, inc, u[1])};
        OK(dnnl_tp_graph_while(yes, "collatz", c2, more, b2, 2, first, u, next2, window, inner));
        val_t steps;
        OK(dnnl_tp_graph_if(body, "large", even, yes, NULL, 1, &inner[1], &zero, &steps));
        val_t next[2] = {op1(body, inc, v[0]), op2(body, add, v[1], steps)}, init[2] = {one, zero};
        OK(dnnl_tp_graph_while(w.g, "sum", cond, go, body, 2, init, v, next, window, out));
        output(w.g, out[1]);
        int32_t want = 0;
        for (int trips = 1; trips < 12; ++trips) {
            EXPECT(&w, ARRAY(trips), ARRAY(want));
            for (int64_t c = trips; trips > 2 && c != 1; ++want) c = c % 2 ? 3 * c + 1 : c / 2;
        }
        done(cond, body);
        done(yes, NULL);
        done(c2, b2);
        world_end(&w);
    }
}

/* ---- Functions ----------------------------------------------------------------------------------------- */

/* fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2), and a call in a loop. */
static void make_fib(dnnl_tp_graph_t g, dnnl_tp_graph_t *f) {
    dnnl_tp_tensor_info_t t = {.ndims = 0, .data_type = dnnl_tp_s32};
    val_t n, r;
    OK(dnnl_tp_graph_create_function(f, g, "fib", 1, &t, &n, 1, &t));
    val_t small = op2(*f, less, n, constant(*f, 2));
    dnnl_tp_graph_t deeper = region(*f);
    val_t n1 = op1(deeper, dec, n), n2 = op1(deeper, dec, n1), a, b;
    OK(dnnl_tp_graph_call(deeper, "left", *f, 1, &n1, 1, &a));
    OK(dnnl_tp_graph_call(deeper, "right", *f, 1, &n2, 1, &b));
    val_t sum = op2(deeper, add, a, b);
    OK(dnnl_tp_graph_if(*f, "small", small, NULL, deeper, 1, &n, &sum, &r));
    output(*f, r);
    dnnl_tp_graph_destroy(deeper);
}

static void test_recursion(void **state) {
    (void)state;
    world_t w;
    world_init(&w, 3);
    dnnl_tp_graph_t f;
    make_fib(w.g, &f);
    val_t n = input(w.g), r, out[2];
    OK(dnnl_tp_graph_call(w.g, "top", f, 1, &n, 1, &r));
    output(w.g, r);
    dnnl_tp_graph_t cond = region(w.g), body = region(cond);
    val_t v[2] = {input(cond), input(cond)}, fib;
    val_t go = op2(cond, less, v[0], n);
    OK(dnnl_tp_graph_call(body, "each", f, 1, v, 1, &fib));
    val_t next[2] = {op1(body, inc, v[0]), op2(body, add, v[1], fib)};
    val_t init[2] = {constant(w.g, 0), constant(w.g, 0)};
    OK(dnnl_tp_graph_while(w.g, "sum", cond, go, body, 2, init, v, next, 2, out));
    output(w.g, out[1]);
    EXPECT(&w, ARRAY(0), ARRAY(0, 0));
    EXPECT(&w, ARRAY(1), ARRAY(1, 0));
    EXPECT(&w, ARRAY(10), ARRAY(55, 88));
    EXPECT(&w, ARRAY(16), ARRAY(987, 1596));
    for (int k = 0; k < FLAGS; ++k) {
        dnnl_tp_executable_t e = world_compile(&w, all_flags[k]);
        int32_t x = 10, y[2];
        void *pin[1] = {&x}, *pout[2] = {&y[0], &y[1]};
        dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .max_depth = 9};
        assert_int_equal(dnnl_tp_executable_run(e, w.stream, 1, pin, 2, pout, &o), dnnl_tp_runtime_error);
        assert_int_equal(dtp_last_reason(), DTP_GRAPH_DEPTH);
        assert_non_null(strstr(dnnl_tp_last_error(), "(call)")); /* left or right */
        o.max_depth = 10;
        OK(dnnl_tp_executable_run(e, w.stream, 1, pin, 2, pout, &o));
        assert_int_equal(y[0], 55);
        dnnl_tp_executable_destroy(e);
    }
    done(cond, body);
    done(f, NULL);
    world_end(&w);
}

/* A parameter that comes back, constants, a function without results, one that nobody fills or calls. */
static void test_function_forms(void **state) {
    (void)state;
    world_t w;
    world_init(&w, 2);
    _Atomic int calls = 0;
    dnnl_tp_tensor_info_t t = {.ndims = 0, .data_type = dnnl_tp_s32}, three[3] = {t, t, t};
    dnnl_tp_graph_t swap, effect, unused;
    val_t p[2], c = constant(w.g, 8), u;
    OK(dnnl_tp_graph_create_function(&swap, w.g, "swap", 2, three, p, 3, three));
    output(swap, p[1]);
    output(swap, p[0]);
    output(swap, c);
    OK(dnnl_tp_graph_create_function(&effect, w.g, "effect", 0, NULL, NULL, 0, NULL));
    (void)host_arg(effect, count, &calls, 0, NULL);
    OK(dnnl_tp_graph_create_function(&unused, w.g, "unused", 1, &t, &u, 0, NULL));
    val_t in[2] = {input(w.g), input(w.g)}, out[3];
    OK(dnnl_tp_graph_call(w.g, "s", swap, 2, in, 3, out));
    OK(dnnl_tp_graph_call(w.g, "e", effect, 0, NULL, 0, NULL));
    for (int i = 0; i < 3; ++i) output(w.g, out[i]);
    EXPECT(&w, ARRAY(1, 2), ARRAY(2, 1, 8));
    assert_int_equal(calls, FLAGS * 3);
    done(swap, effect);
    done(unused, NULL);
    world_end(&w);
}

/* ---- Primitives inside --------------------------------------------------------------------------------- */

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
        OK(dnnl_tp_graph_constant(w.g, &wv, "w", dnnl_tp_f32, 2, d, wdata, DNNL_TP_CONSTANT_BORROW, NULL,
                                  NULL));
        OK(dnnl_tp_graph_input(w.g, &xv, "x", dnnl_tp_f32, 2, d));
        dnnl_tp_graph_t cond = region(w.g), body = region(cond), odd = region(body);
        val_t v[2] = {input(cond)};
        OK(dnnl_tp_graph_input(cond, &v[1], "x", dnnl_tp_f32, 2, d));
        val_t go = op2(cond, less, v[0], constant(w.g, trips)), mm[2] = {v[1], wv};
        OK(dnnl_tp_graph_op(body, dnnl_tp_op_matmul, "mm", 2, mm, 0, NULL, 1, &m));
        OK(dnnl_tp_graph_op(body, dnnl_tp_op_relu, "relu", 1, &m, 0, NULL, 1, &y[0]));
        OK(dnnl_tp_graph_op(odd, dnnl_tp_op_static_transpose, "turn", 1, y, 1, &turn, 1, &y[1]));
        val_t rem = op2(body, sub, v[0], op2(body, mul, constant(w.g, 2), op1(body, collatz, v[0])));
        (void)rem;
        val_t i1 = op1(body, inc, v[0]);
        val_t is_odd = op2(body, sub, v[0], op2(body, mul, constant(w.g, 2), v[0]));
        (void)is_odd;
        /* Odd iterations: i - 2 * (i / 2), by way of a loop-carried flag would be simpler; take collatz. */
        val_t half = op1(body, collatz, v[0]); /* even: i / 2, odd: 3 i + 1 > i */
        val_t flag = op2(body, less, v[0], half);
        OK(dnnl_tp_graph_if(body, "odd", flag, odd, NULL, 1, &y[1], &y[0], &m));
        val_t next[2] = {i1, m}, init[2] = {constant(w.g, 0), xv};
        OK(dnnl_tp_graph_while(w.g, "layers", cond, go, body, 2, init, v, next, 0, out));
        OK(dnnl_tp_graph_output(w.g, out[1], "y"));
        for (int f = 0; f < FLAGS; ++f) {
            dnnl_tp_executable_t e = world_compile(&w, all_flags[f]);
            void *pin[1] = {x}, *pout[1] = {got};
            OK(dnnl_tp_executable_run(e, w.stream, 1, pin, 1, pout, NULL));
            for (int i = 0; i < N * N; ++i) {
                float diff = got[i] - want[i];
                if (!(diff <= 1e-3f && diff >= -1e-3f))
                    fail_msg("%d: %g, not %g", i, (double)got[i], (double)want[i]);
            }
            dnnl_tp_executable_destroy(e);
        }
        done(cond, body);
        done(odd, NULL);
        world_end(&w);
    }
    free(wdata), free(x), free(want), free(got), free(tmp);
}

/* ---- Failures, tokens, deadlines ----------------------------------------------------------------------- */

HOST(fail_at_three, if (I(0) == 3) return dnnl_tp_not_required; O(0) = I(0) + 1)

static dnnl_tp_status_t until_stop(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                                   int nout, const dnnl_tp_host_arg_t *out) {
    (void)nin, (void)in, (void)nout, (void)out;
    atomic_store((_Atomic int *)arg, 1);
    while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) sched_yield();
    return dnnl_tp_runtime_error; /* derived: must not hide the cause */
}

static void test_failures(void **state) {
    (void)state;
    world_t w;
    world_init(&w, 2);
    val_t n = input(w.g), out;
    dnnl_tp_graph_t cond = region(w.g), body = region(cond);
    val_t v = input(cond), go = op2(cond, less, v, n), next = op1(body, fail_at_three, v),
          init = constant(w.g, 0);
    OK(dnnl_tp_graph_while(w.g, "loop", cond, go, body, 1, &init, &v, &next, 3, &out));
    output(w.g, out);
    for (int f = 0; f < FLAGS; ++f) {
        dnnl_tp_executable_t e = world_compile(&w, all_flags[f]);
        int32_t x, y;
        void *pin[1] = {&x}, *pout[1] = {&y};
        for (int k = 0; k < 20; ++k) {
            x = k % 2 ? 3 : 100;
            dnnl_tp_status_t s = dnnl_tp_executable_run(e, w.stream, 1, pin, 1, pout, NULL);
            assert_int_equal(s, k % 2 ? dnnl_tp_success : dnnl_tp_not_required);
            if (k % 2) assert_int_equal(y, 3);
            else assert_int_equal(dtp_last_reason(), DTP_GRAPH_HOST_FAILED);
        }
        dnnl_tp_executable_destroy(e);
    }
    done(cond, body);
    world_end(&w);
}

typedef struct {
    dnnl_tp_cancel_t cancel;
    _Atomic int *started;
} fire_t;
static void *fire(void *arg) {
    fire_t *f = arg;
    while (!atomic_load(f->started)) sched_yield();
    (void)!dnnl_tp_cancel_fire(f->cancel);
    return NULL;
}

static void test_cancel(void **state) {
    (void)state;
    world_t w;
    world_init(&w, 2);
    /* An endless loop, and a closure that waits for the end. */
    _Atomic int started = 0;
    val_t x = input(w.g), forever, out;
    dnnl_tp_graph_t yes = region(w.g), no = region(w.g), cond = region(no), body = region(cond);
    val_t waits = host_arg(yes, until_stop, &started, 0, NULL);
    val_t v = input(cond), next = host_arg(body, inc, NULL, 1, &v);
    (void)host_arg(body, count, &started, 0, NULL);
    val_t one = constant(w.g, 1);
    OK(dnnl_tp_graph_while(no, "forever", cond, one, body, 1, &one, &v, &next, 0, &forever));
    OK(dnnl_tp_graph_if(w.g, "which", x, yes, no, 1, &waits, &forever, &out));
    output(w.g, out);
    for (int f = 0; f < FLAGS; ++f) {
        dnnl_tp_executable_t e = world_compile(&w, all_flags[f]);
        int32_t which, y;
        void *pin[1] = {&which}, *pout[1] = {&y};
        for (which = 0; which < 2; ++which)
            for (int threads = 1; threads <= 2; ++threads) {
                dnnl_tp_cancel_t c;
                OK(dnnl_tp_cancel_create(&c));
                atomic_store(&started, 0);
                fire_t arg = {c, &started};
                pthread_t t;
                assert_int_equal(pthread_create(&t, NULL, fire, &arg), 0);
                dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .cancel = c, .max_threads = threads};
                assert_int_equal(dnnl_tp_executable_run(e, w.stream, 1, pin, 1, pout, &o), dnnl_tp_cancelled);
                assert_int_equal(dtp_last_reason(), DTP_CANCELLED);
                pthread_join(t, NULL);
                /* A token that was fired ends later runs, too. */
                assert_int_equal(dnnl_tp_executable_run(e, w.stream, 1, pin, 1, pout, &o), dnnl_tp_cancelled);
                OK(dnnl_tp_cancel_destroy(c));
            }
        which = 0;
        dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .deadline_ns = dtp_now_ns() + 2000000};
        assert_int_equal(dnnl_tp_executable_run(e, w.stream, 1, pin, 1, pout, &o), dnnl_tp_deadline_exceeded);
        assert_int_equal(dtp_last_reason(), DTP_DEADLINE);
        assert_int_equal(dnnl_tp_executable_run(e, w.stream, 1, pin, 1, pout, &o), dnnl_tp_deadline_exceeded);
        dnnl_tp_executable_destroy(e);
    }
    /* Options of an older header. */
    dnnl_tp_run_opts_t old = {.struct_size = offsetof(dnnl_tp_run_opts_t, deadline_ns), .deadline_ns = -5};
    dnnl_tp_executable_t e = world_compile(&w, 0);
    int32_t which = 1, y;
    void *pin[1] = {&which}, *pout[1] = {&y};
    dnnl_tp_run_opts_t bad = {.struct_size = sizeof bad, .max_depth = -1};
    assert_int_equal(dnnl_tp_executable_run(e, w.stream, 1, pin, 1, pout, &bad), dnnl_tp_invalid_arguments);
    (void)old;
    dnnl_tp_executable_destroy(e);
    done(yes, no);
    done(cond, body);
    world_end(&w);
}

/* ---- Order --------------------------------------------------------------------------------------------- */

typedef struct {
    _Atomic int *clock;
    int when;
} stamp_t;
HOST(stamp, ((stamp_t *)arg)->when = atomic_fetch_add(((stamp_t *)arg)->clock, 1))

/* Chains of closures without data, into a branch and past a loop. */
static void test_order(void **state) {
    (void)state;
    enum { N = 40 };
    for (int threads = 1; threads <= 3; ++threads) {
        world_t w;
        world_init(&w, threads);
        _Atomic int clock = 0;
        stamp_t stamps[N];
        val_t v[N], go = input(w.g), after;
        for (int i = 0; i < N; ++i) {
            stamps[i] = (stamp_t){&clock, -1};
            v[i] = host_arg(w.g, stamp, &stamps[i], 0, NULL);
            if (i >= 2) OK(dnnl_tp_graph_control_dependency(w.g, v[i - 2], v[i]));
        }
        dnnl_tp_graph_t yes = region(w.g);
        stamp_t inside = {&clock, -1}, behind = {&clock, -1};
        val_t in = host_arg(yes, stamp, &inside, 0, NULL);
        OK(dnnl_tp_graph_control_dependency(yes, v[N - 1], in));
        OK(dnnl_tp_graph_if(w.g, "if", go, yes, NULL, 1, &in, &go, &after));
        val_t last = host_arg(w.g, stamp, &behind, 0, NULL);
        OK(dnnl_tp_graph_control_dependency(w.g, after, last));
        for (int f = 0; f < FLAGS; ++f) {
            dnnl_tp_executable_t e = world_compile(&w, all_flags[f]);
            for (int k = 0; k < 20; ++k) {
                int32_t x = k % 3 != 0;
                void *pin[1] = {&x};
                inside.when = -1;
                OK(dnnl_tp_executable_run(e, w.stream, 1, pin, 0, NULL, NULL));
                for (int i = 2; i < N; ++i) assert_true(stamps[i].when > stamps[i - 2].when);
                assert_true(x ? inside.when > stamps[N - 1].when && behind.when > inside.when
                              : inside.when < 0);
            }
            dnnl_tp_executable_destroy(e);
        }
        done(yes, NULL);
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
    val_t p = input(w.g), x, c, out[3], dead;
    OK(dnnl_tp_graph_input(w.g, &x, "x", dnnl_tp_f32, 1, two));
    OK(dnnl_tp_graph_constant(w.g, &c, "c", dnnl_tp_f32, 1, two, data, 0, NULL, NULL));
    dnnl_tp_graph_t cond = region(w.g), body = region(cond);
    val_t v[3] = {input(cond)};
    for (int i = 1; i < 3; ++i) OK(dnnl_tp_graph_input(cond, &v[i], "v", dnnl_tp_f32, 1, two));
    val_t go = op2(cond, less, v[0], p), folded, sum[2], next[3];
    OK(dnnl_tp_graph_op(body, dnnl_tp_op_abs, "folded", 1, &c, 0, NULL, 1, &folded));
    sum[0] = v[1], sum[1] = folded;
    OK(dnnl_tp_graph_op(body, dnnl_tp_op_add, "kept", 2, sum, 0, NULL, 1, &next[1]));
    OK(dnnl_tp_graph_op(body, dnnl_tp_op_exp, "not needed", 1, &v[2], 0, NULL, 1, &next[2]));
    OK(dnnl_tp_graph_op(w.g, dnnl_tp_op_exp, "never", 1, &x, 0, NULL, 1, &dead));
    next[0] = op1(body, inc, v[0]);
    val_t init[3] = {constant(w.g, 0), x, x};
    OK(dnnl_tp_graph_while(w.g, "loop", cond, go, body, 3, init, v, next, 0, out));
    OK(dnnl_tp_graph_output(w.g, out[1], "y"));
    dnnl_tp_executable_t e = world_compile(&w, 0);
    dnnl_tp_trace_event_t events[16];
    dnnl_tp_run_stats_t stats = {.struct_size = sizeof stats, .events = events, .max_events = 16};
    dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .stats = &stats};
    int32_t trips = 2;
    float xs[2] = {1, 2}, ys[2];
    void *pin[2] = {&trips, xs}, *pout[1] = {ys};
    OK(dnnl_tp_executable_run(e, w.stream, 2, pin, 1, pout, &o));
    assert_true(ys[0] == 3.f && ys[1] == 6.f);
    assert_int_equal(stats.num_events, 3 + 2 * 2); /* less; kept, inc */
    dnnl_tp_executable_destroy(e);
    done(cond, body);
    world_end(&w);
    /* A target. */
    world_init(&w, 1);
    OK(dnnl_tp_graph_input(w.g, &x, "x", dnnl_tp_f32, 1, two));
    OK(dnnl_tp_graph_op(w.g, dnnl_tp_op_exp, "always", 1, &x, 0, NULL, 1, &dead));
    OK(dnnl_tp_graph_target(w.g, dead));
    e = world_compile(&w, 0);
    pin[0] = xs;
    OK(dnnl_tp_executable_run(e, w.stream, 1, pin, 0, NULL, &o));
    assert_int_equal(stats.num_events, 1);
    dnnl_tp_executable_destroy(e);
    world_end(&w);
}

/* What compilation refuses. */
static void test_invalid(void **state) {
    (void)state;
    world_t w;
    world_init(&w, 1);
    dnnl_tp_executable_t e;
    val_t x = input(w.g), p;
    assert_int_equal(dnnl_tp_executable_compile(&e, w.g, w.engine, 0, NULL, NULL), dnnl_tp_invalid_graph);
    dnnl_tp_graph_destroy(w.g);
    OK(dnnl_tp_graph_create(&w.g, dnnl_tp_cpu));
    x = input(w.g);
    output(w.g, x);
    dnnl_tp_graph_t stray = region(w.g), f;
    (void)op1(stray, inc, x);
    assert_int_equal(dnnl_tp_executable_compile(&e, w.g, w.engine, 0, NULL, NULL), dnnl_tp_invalid_graph);
    assert_int_equal(dtp_last_reason(), DTP_GRAPH_REGION);
    assert_int_equal(dnnl_tp_executable_compile(&e, stray, w.engine, 0, NULL, NULL),
                     dnnl_tp_invalid_arguments);
    done(stray, w.g);
    OK(dnnl_tp_graph_create(&w.g, dnnl_tp_cpu));
    x = input(w.g);
    output(w.g, x);
    dnnl_tp_tensor_info_t t = {.ndims = 0, .data_type = dnnl_tp_s32};
    OK(dnnl_tp_graph_create_function(&f, w.g, "half made", 1, &t, &p, 1, &t));
    assert_int_equal(dnnl_tp_executable_compile(&e, w.g, w.engine, 0, NULL, NULL), dnnl_tp_invalid_graph);
    assert_non_null(strstr(dnnl_tp_last_error(), "half made"));
    /* Shapes that are known only now. */
    done(f, w.g);
    OK(dnnl_tp_graph_create(&w.g, dnnl_tp_cpu));
    static const dnnl_tp_dims_t any = {DNNL_TP_RUNTIME_DIM_VAL};
    val_t a, b, c;
    OK(dnnl_tp_graph_input(w.g, &a, "a", dnnl_tp_f32, 1, any));
    OK(dnnl_tp_graph_input(w.g, &b, "b", dnnl_tp_f32, 1, any));
    p = input(w.g);
    OK(dnnl_tp_graph_if(w.g, "shapes", p, NULL, NULL, 1, &a, &b, &c));
    OK(dnnl_tp_graph_output(w.g, c, "c"));
    dnnl_tp_tensor_info_t in[3] = {{.ndims = 1, .dims = {3}, .data_type = dnnl_tp_f32},
                                   {.ndims = 1, .dims = {4}, .data_type = dnnl_tp_f32},
                                   {.ndims = 0, .data_type = dnnl_tp_s32}};
    assert_int_equal(dnnl_tp_executable_compile(&e, w.g, w.engine, 3, in, NULL), dnnl_tp_invalid_shape);
    assert_non_null(strstr(dnnl_tp_last_error(), "shapes"));
    in[1].dims[0] = 3;
    OK(dnnl_tp_executable_compile(&e, w.g, w.engine, 3, in, NULL));
    dnnl_tp_tensor_info_t info;
    OK(dnnl_tp_executable_query(e, c, &info));
    assert_int_equal(info.dims[0], 3);
    dnnl_tp_executable_destroy(e);
    world_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_if),
                                       cmocka_unit_test(test_if_forms),
                                       cmocka_unit_test(test_predicates),
                                       cmocka_unit_test(test_while),
                                       cmocka_unit_test(test_rotation),
                                       cmocka_unit_test(test_while_forms),
                                       cmocka_unit_test(test_nested),
                                       cmocka_unit_test(test_recursion),
                                       cmocka_unit_test(test_function_forms),
                                       cmocka_unit_test(test_primitives),
                                       cmocka_unit_test(test_failures),
                                       cmocka_unit_test(test_cancel),
                                       cmocka_unit_test(test_order),
                                       cmocka_unit_test(test_dead_code),
                                       cmocka_unit_test(test_invalid)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
