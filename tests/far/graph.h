/* A graph with a straight line, an If in an If, nested loops and recursive calls, and its runs on both engines. */
#ifndef TESTS_FAR_GRAPH_H
#define TESTS_FAR_GRAPH_H

#include <string.h>

#include "dnnl_tp/dnnl_tp_graph.h"
#include "far/two_engines.h"
#include "support/upload.h"

enum { R = 4, C = 6, OUT = 4, ELEMS = R * C, MOST = 7 };
typedef dnnl_tp_value_t val_t;

/* ---- The graph --------------------------------------------------------------------------------------- */

static const dnnl_tp_dims_t tensor = {R, C}, scalar = {1}, square = {C, C}, row = {C};

static inline val_t op(dnnl_tp_graph_t g, dnnl_tp_op_kind_t kind, int n, val_t a, val_t b, val_t c) {
    const val_t in[] = {a, b, c};
    val_t v;
    CHECK_OK(dnnl_tp_graph_op(g, kind, "op", n, in, 0, NULL, 1, &v));
    return v;
}
static inline val_t op2(dnnl_tp_graph_t g, dnnl_tp_op_kind_t kind, val_t a, val_t b) {
    return op(g, kind, 2, a, b, -1);
}
static inline val_t op1(dnnl_tp_graph_t g, dnnl_tp_op_kind_t kind, val_t a) {
    return op(g, kind, 1, a, -1, -1);
}
static inline val_t constant(dnnl_tp_graph_t g, int ndims, const dnnl_tp_dims_t dims, int seed) {
    float data[C * C];
    test_rng_t r = test_rng((uint64_t)seed);
    for (int i = 0; i < C * C; ++i) data[i] = test_uniform(&r, -1, 1);
    val_t v;
    CHECK_OK(dnnl_tp_graph_constant(g, &v, "c", dnnl_tp_f32, ndims, dims, data, DNNL_TP_CONSTANT_COPY, NULL,
                                    NULL));
    return v;
}
static inline val_t number(dnnl_tp_graph_t g, float x) {
    val_t v;
    CHECK_OK(
        dnnl_tp_graph_constant(g, &v, "x", dnnl_tp_f32, 1, scalar, &x, DNNL_TP_CONSTANT_COPY, NULL, NULL));
    return v;
}
static inline dnnl_tp_graph_t region(dnnl_tp_graph_t parent) {
    dnnl_tp_graph_t r;
    CHECK_OK(dnnl_tp_graph_create_region(&r, parent));
    return r;
}
static inline val_t input(dnnl_tp_graph_t g, int ndims, const dnnl_tp_dims_t dims) {
    val_t v;
    CHECK_OK(dnnl_tp_graph_input(g, &v, "v", dnnl_tp_f32, ndims, dims));
    return v;
}
/* As a predicate: a > b. */
static inline val_t above(dnnl_tp_graph_t g, val_t a, val_t b) {
    return op1(g, dnnl_tp_op_relu, op2(g, dnnl_tp_op_subtract, a, b));
}

typedef struct {
    val_t half, one, two, four;
} numbers_t;

/* for (i = 0; n > i; ++i) acc = step(acc) */
static inline val_t counted(dnnl_tp_graph_t g, const numbers_t *k, val_t n, val_t acc, int depth) {
    dnnl_tp_graph_t cond = region(g), body;
    const val_t vars[] = {input(cond, 1, scalar), input(cond, 2, tensor)};
    const val_t going = above(cond, n, vars[0]);
    body = region(cond);
    val_t next[2] = {op2(body, dnnl_tp_op_add, vars[0], k->one), 0}, out[2];
    next[1] = op2(body, dnnl_tp_op_add, op2(body, dnnl_tp_op_multiply, vars[1], k->half), acc);
    if (depth > 0) next[1] = counted(body, k, vars[0], next[1], depth - 1);
    const val_t init[] = {op2(g, dnnl_tp_op_subtract, k->one, k->one), acc};
    CHECK_OK(dnnl_tp_graph_while(g, "loop", cond, going, body, 2, init, vars, next, 1, out));
    CHECK_OK(dnnl_tp_graph_destroy(cond));
    CHECK_OK(dnnl_tp_graph_destroy(body));
    return out[1];
}

/* f(k, v) = k > 1/2 ? f(k - 1, loop(tanh(v) + 1)) : v */
static inline dnnl_tp_graph_t recursive(dnnl_tp_graph_t g, const numbers_t *k) {
    const dnnl_tp_tensor_info_t in[] = {{.ndims = 1, .dims = {1}, .data_type = dnnl_tp_f32},
                                        {.ndims = 2, .dims = {R, C}, .data_type = dnnl_tp_f32}};
    dnnl_tp_graph_t f;
    val_t p[2], out;
    CHECK_OK(dnnl_tp_graph_create_function(&f, g, "f", 2, in, p, 1, &in[1]));
    dnnl_tp_graph_t deeper = region(f);
    const val_t less = op2(deeper, dnnl_tp_op_subtract, p[0], k->one);
    const val_t arg[] = {less,
                         counted(deeper, k, k->two,
                                 op2(deeper, dnnl_tp_op_add, op1(deeper, dnnl_tp_op_tanh, p[1]), k->one), 0)};
    val_t result, pass = p[1];
    CHECK_OK(dnnl_tp_graph_call(deeper, "again", f, 2, arg, 1, &result));
    CHECK_OK(dnnl_tp_graph_if(f, "end", above(f, p[0], k->half), deeper, NULL, 1, &result, &pass, &out));
    CHECK_OK(dnnl_tp_graph_output(f, out, "y"));
    CHECK_OK(dnnl_tp_graph_destroy(deeper));
    return f;
}

/* Inputs x {R, C}, n {1}; outputs: a straight line, an If in an If, loops, calls. */
static inline dnnl_tp_graph_t build(void) {
    dnnl_tp_graph_t g;
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    const val_t x = input(g, 2, tensor), n = input(g, 1, scalar);
    const numbers_t k = {number(g, .5f), number(g, 1), number(g, 2), number(g, 4)};
    val_t y = x;
    for (int i = 0; i < 3; ++i) { /* weights of one size, each its own */
        y = op(g, dnnl_tp_op_matmul, 3, y, constant(g, 2, square, 10 + i), constant(g, 1, row, 20 + i));
        y = op1(g, i == 1 ? dnnl_tp_op_softmax : dnnl_tp_op_gelu, y);
    }
    CHECK_OK(dnnl_tp_graph_output(g, y, "line"));
    dnnl_tp_graph_t yes = region(g), no = region(g), inner = region(yes);
    val_t a = op2(yes, dnnl_tp_op_multiply, y, k.two), b = op2(inner, dnnl_tp_op_add, a, x), c,
          e = op1(no, dnnl_tp_op_tanh, y), picked;
    CHECK_OK(dnnl_tp_graph_if(yes, "inner", above(yes, n, k.four), inner, NULL, 1, &b, &a, &c));
    CHECK_OK(dnnl_tp_graph_if(g, "outer", above(g, n, k.two), yes, no, 1, &c, &e, &picked));
    CHECK_OK(dnnl_tp_graph_output(g, picked, "picked"));
    CHECK_OK(dnnl_tp_graph_output(g, counted(g, &k, n, picked, 1), "looped"));
    dnnl_tp_graph_t f = recursive(g, &k);
    const val_t arg[] = {n, y};
    val_t called;
    CHECK_OK(dnnl_tp_graph_call(g, "f", f, 2, arg, 1, &called));
    CHECK_OK(dnnl_tp_graph_output(g, called, "called"));
    dnnl_tp_graph_t parts[] = {yes, no, inner, f};
    for (int i = 0; i < 4; ++i) CHECK_OK(dnnl_tp_graph_destroy(parts[i]));
    return g;
}

/* ---- Runs -------------------------------------------------------------------------------------------- */

typedef struct {
    float x[ELEMS], n[1], y[OUT][ELEMS];
} data_t;
static inline void fill(data_t *d, int n) {
    test_rng_t r = test_rng((uint64_t)n + 1);
    for (int i = 0; i < ELEMS; ++i) d->x[i] = test_uniform(&r, -1, 1);
    d->n[0] = (float)n;
    memset(d->y, 0xff, sizeof d->y);
}
static inline void pointers(data_t *d, void **in, void **out) {
    in[0] = d->x, in[1] = d->n;
    for (int i = 0; i < OUT; ++i) out[i] = d->y[i];
}

static const float tolerance = 1e-5f; /* a few dozen operators on numbers near 1 */
static inline bool same(const data_t *got, const data_t *want) {
    return !memcmp(got, want, offsetof(data_t, y)) &&
           far_agrees(got->y[0], want->y[0], OUT * (size_t)ELEMS, tolerance);
}

static const unsigned flags[] = {0, DNNL_TP_COMPILE_NO_FUSION, DNNL_TP_COMPILE_NO_CLUSTERS};
static inline dnnl_tp_executable_t compile(dnnl_tp_graph_t g, dnnl_tp_engine_t engine, unsigned flag) {
    dnnl_tp_executable_t e;
    const dnnl_tp_compile_opts_t o = {.struct_size = sizeof o, .flags = flag};
    CHECK_OK(dnnl_tp_executable_compile(&e, g, engine, 0, NULL, &o));
    return e;
}
static inline dnnl_tp_stream_t stream_of(dnnl_tp_engine_t engine) {
    dnnl_tp_stream_t s;
    CHECK_OK(dnnl_tp_stream_create(&s, engine, 0));
    return s;
}

/* The CPU's results for n = 0 .. MOST - 1. */
static inline void expected(dnnl_tp_graph_t g, unsigned flag, data_t *want) {
    dnnl_tp_executable_t e = compile(g, cpu, flag);
    dnnl_tp_stream_t s = stream_of(cpu);
    for (int n = 0; n < MOST; ++n) {
        void *in[2], *out[OUT];
        fill(&want[n], n);
        pointers(&want[n], in, out);
        CHECK_OK(dnnl_tp_executable_run(e, s, 2, in, OUT, out, NULL));
    }
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_executable_destroy(e));
}

#endif
