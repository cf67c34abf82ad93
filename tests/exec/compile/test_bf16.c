/* Graphs compiled for bf16: which values become it, what is converted where, control flow, memory of constants, refusals.
 * Values of every class of operators: the tests with _bf16 behind their names (support/mirror.h). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/object.h"
#include "exec/run/executable.h"
#include "support/check.h"

enum { ROWS = 4, N = 16, SIDE = 6, CHANNELS = 8, MOST = 4096 };

typedef struct {
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    dnnl_tp_graph_t g;
    unsigned seed;
} case_t;

static void begin(case_t *c) {
    c->seed = 1;
    CHECK_OK(dnnl_tp_engine_create(&c->engine, dnnl_tp_cpu, 0));
    CHECK_OK(dnnl_tp_stream_create(&c->stream, c->engine, dnnl_tp_stream_default_flags));
    CHECK_OK(dnnl_tp_graph_create(&c->g, dnnl_tp_cpu));
}
static void end(case_t *c) {
    CHECK_OK(dnnl_tp_graph_destroy(c->g));
    CHECK_OK(dnnl_tp_stream_destroy(c->stream));
    CHECK_OK(dnnl_tp_engine_destroy(c->engine));
}

static void fill(case_t *c, float *x, int n, float scale) {
    for (int i = 0; i < n; ++i) {
        c->seed = c->seed * 1664525u + 1013904223u;
        x[i] = ((float)(c->seed >> 8) * 0x1p-23f - 1.f) * scale;
    }
}
static dnnl_tp_value_t constant(case_t *c, int ndims, const dnnl_tp_dims_t dims, float scale) {
    float data[MOST];
    dnnl_tp_value_t v;
    int n = 1;
    for (int d = 0; d < ndims; ++d) n *= (int)dims[d];
    assert_true(n <= MOST);
    fill(c, data, n, scale);
    CHECK_OK(dnnl_tp_graph_constant(c->g, &v, "c", dnnl_tp_f32, ndims, dims, data, DNNL_TP_CONSTANT_COPY,
                                    NULL, NULL));
    return v;
}
static dnnl_tp_value_t op(dnnl_tp_graph_t g, dnnl_tp_op_kind_t kind, int n, dnnl_tp_value_t a,
                          dnnl_tp_value_t b) {
    dnnl_tp_value_t in[2] = {a, b}, v;
    CHECK_OK(dnnl_tp_graph_op(g, kind, "op", n, in, 0, NULL, 1, &v));
    return v;
}
static dnnl_tp_value_t conv(case_t *c, dnnl_tp_value_t x, int from, int to, int kernel) {
    const int64_t pad[2] = {kernel / 2, kernel / 2};
    const dnnl_tp_dims_t wei = {to, from, kernel, kernel}, bias = {to};
    const dnnl_tp_op_attr_t attr[2] = {{dnnl_tp_op_attr_pads_begin, dnnl_tp_op_attr_s64, 2, pad},
                                       {dnnl_tp_op_attr_pads_end, dnnl_tp_op_attr_s64, 2, pad}};
    const dnnl_tp_value_t in[3] = {x, constant(c, 4, wei, .3f), constant(c, 1, bias, .3f)};
    dnnl_tp_value_t v;
    CHECK_OK(dnnl_tp_graph_op(c->g, dnnl_tp_op_convolution, "conv", 3, in, 2, attr, 1, &v));
    return v;
}

static dnnl_tp_executable_t compile(const case_t *c, dnnl_tp_fpmath_mode_t mode, unsigned flags) {
    const dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts, .flags = flags, .fpmath_mode = mode};
    dnnl_tp_executable_t e;
    CHECK_OK(dnnl_tp_executable_compile(&e, c->g, c->engine, 0, NULL, &opts));
    return e;
}

/* Runs in f32 and in bf16, each fused and not, and compares one output of n elements; *e: the fused one in bf16. */
static void compare(const case_t *c, int nin, void *const *in, int n, dnnl_tp_executable_t *e) {
    float want[MOST], got[MOST];
    void *out = want;
    bool differs = false;
    dnnl_tp_executable_t f32 = compile(c, dnnl_tp_fpmath_mode_strict, 0);
    CHECK_OK(dnnl_tp_executable_run(f32, c->stream, nin, in, 1, &out, NULL));
    CHECK_OK(dnnl_tp_executable_destroy(f32));
    static const unsigned flags[] = {DNNL_TP_COMPILE_NO_FUSION, DNNL_TP_COMPILE_NO_CLUSTERS, 0};
    for (int k = 0; k < 3; ++k) {
        *e = compile(c, dnnl_tp_fpmath_mode_bf16, flags[k]);
        out = got;
        for (int i = 0; i < n; ++i) got[i] = NAN;
        CHECK_OK(dnnl_tp_executable_run(*e, c->stream, nin, in, 1, &out, NULL));
        for (int i = 0; i < n; ++i) {
            if (!(fabsf(got[i] - want[i]) <= .03f * (1.f + fabsf(want[i]))))
                fail_msg("flags %u: element %d is %g, not %g", flags[k], i, (double)got[i], (double)want[i]);
            differs |= got[i] != want[i];
        }
        if (k < 2) CHECK_OK(dnnl_tp_executable_destroy(*e));
    }
    assert_true(differs); /* else nothing was bf16 */
}

static int count(const dtp_exec_t *e, int kind, dnnl_tp_data_type_t from, dnnl_tp_data_type_t to) {
    int n = 0;
    for (int i = 0; i < e->nsteps; ++i) {
        const dtp_primitive_t *p = e->steps[i].work->prim[0];
        if (!p || (int)p->pd->op->kind != kind) continue;
        const dtp_md_t *src = dnnl_tp_primitive_desc_query_md(p->pd, dnnl_tp_query_src_md, 0),
                       *dst = dnnl_tp_primitive_desc_query_md(p->pd, dnnl_tp_query_dst_md, 0);
        n += src->data_type == from && dst->data_type == to;
    }
    return n;
}
static int steps(const dtp_exec_t *e) {
    int n = 0;
    for (int i = 0; i < e->nsteps; ++i) n += e->steps[i].work->prim[0] != NULL;
    return n;
}

/* An image is converted once, into the layout of the first convolution; the last one writes f32, whose order is changed in a
 * copy; everything between is bf16, fused as in f32. */
static void test_network(void **state) {
    (void)state;
    const dnnl_tp_data_type_t bf16 = dnnl_tp_bf16, f32 = dnnl_tp_f32;
    case_t c;
    begin(&c);
    const dnnl_tp_dims_t dims = {1, 3, SIDE, SIDE};
    float image[3 * SIDE * SIDE];
    void *in[1] = {image};
    fill(&c, image, 3 * SIDE * SIDE, 1.f);
    dnnl_tp_value_t x, y;
    CHECK_OK(dnnl_tp_graph_input(c.g, &x, "x", dnnl_tp_f32, 4, dims));
    x = op(c.g, dnnl_tp_op_relu, 1, conv(&c, x, 3, CHANNELS, 3), -1);
    y = op(c.g, dnnl_tp_op_add, 2, conv(&c, x, CHANNELS, CHANNELS, 3), x); /* a residual */
    y = op(c.g, dnnl_tp_op_relu, 1, y, -1);
    CHECK_OK(dnnl_tp_graph_output(c.g, conv(&c, y, CHANNELS, CHANNELS, 1), "y"));
    dnnl_tp_executable_t e;
    compare(&c, 1, in, CHANNELS * SIDE * SIDE, &e);
    assert_int_equal(count(e, dnnl_tp_reorder, f32, bf16), 1);
    assert_int_equal(count(e, dnnl_tp_convolution, bf16, bf16), 2);
    assert_int_equal(count(e, dnnl_tp_convolution, bf16, f32), 1);
    assert_int_equal(count(e, dnnl_tp_reorder, f32, f32), 1);
    assert_int_equal(steps(e), 5);
    CHECK_OK(dnnl_tp_executable_destroy(e));
    end(&c);
}

/* Without a product nothing is bf16, and positions stay what they are: the choice is made on what the product wrote in f32. */
static void test_decisions(void **state) {
    (void)state;
    case_t c;
    begin(&c);
    const dnnl_tp_dims_t dims = {ROWS, N}, wei = {N, N};
    const int64_t axis = -1;
    const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, &axis};
    dnnl_tp_value_t x, y, best;
    CHECK_OK(dnnl_tp_graph_input(c.g, &x, "x", dnnl_tp_f32, 2, dims));
    y = op(c.g, dnnl_tp_op_exp, 1, op(c.g, dnnl_tp_op_relu, 1, x, -1), -1);
    CHECK_OK(dnnl_tp_graph_output(c.g, y, "y"));
    y = op(c.g, dnnl_tp_op_matmul, 2, x, constant(&c, 2, wei, 1.f));
    CHECK_OK(dnnl_tp_graph_op(c.g, dnnl_tp_op_top_k, "best", 1, &y, 1, &attr, 1, &best));
    CHECK_OK(dnnl_tp_graph_output(c.g, best, "best"));
    dnnl_tp_executable_t e = compile(&c, dnnl_tp_fpmath_mode_bf16, 0);
    assert_int_equal(count(e, dnnl_tp_matmul, dnnl_tp_bf16, dnnl_tp_f32), 1);
    assert_int_equal(count(e, dnnl_tp_reorder, dnnl_tp_f32, dnnl_tp_bf16), 1);
    assert_int_equal(count(e, dnnl_tp_eltwise, dnnl_tp_f32, dnnl_tp_f32), 2);
    assert_int_equal(steps(e), 5);
    dnnl_tp_tensor_info_t info;
    CHECK_OK(dnnl_tp_executable_query(e, y, &info));
    assert_int_equal(info.data_type, dnnl_tp_f32);
    CHECK_OK(dnnl_tp_executable_destroy(e));
    end(&c);
}

/* Values that cross regions: into branches, out of them, loop variables, parameters and results of functions. */
static void test_control_flow(void **state) {
    (void)state;
    case_t c;
    begin(&c);
    const dnnl_tp_dims_t dims = {ROWS, N}, wei = {N, N};
    const dnnl_tp_tensor_info_t info = {.ndims = 2, .dims = {ROWS, N}, .data_type = dnnl_tp_f32};
    float data[ROWS * N];
    int32_t one = 1, turns = 3, zero = 0;
    uint8_t pred = 1;
    fill(&c, data, ROWS * N, 1.f);
    dnnl_tp_value_t x, p, w = constant(&c, 2, wei, .25f), picked, of_f, y, called, ci, cn, c0, out[2];
    CHECK_OK(dnnl_tp_graph_input(c.g, &x, "x", dnnl_tp_f32, 2, dims));
    CHECK_OK(dnnl_tp_graph_input(c.g, &p, "p", dnnl_tp_boolean, 0, dims));
    CHECK_OK(
        dnnl_tp_graph_constant(c.g, &ci, "1", dnnl_tp_s32, 0, dims, &one, DNNL_TP_CONSTANT_COPY, NULL, NULL));
    CHECK_OK(dnnl_tp_graph_constant(c.g, &cn, "n", dnnl_tp_s32, 0, dims, &turns, DNNL_TP_CONSTANT_COPY, NULL,
                                    NULL));
    CHECK_OK(dnnl_tp_graph_constant(c.g, &c0, "0", dnnl_tp_s32, 0, dims, &zero, DNNL_TP_CONSTANT_COPY, NULL,
                                    NULL));
    /* A function. */
    dnnl_tp_graph_t f, a, b, cond, body;
    CHECK_OK(dnnl_tp_graph_create_function(&f, c.g, "f", 1, &info, &of_f, 1, &info));
    CHECK_OK(
        dnnl_tp_graph_output(f, op(f, dnnl_tp_op_tanh, 1, op(f, dnnl_tp_op_matmul, 2, of_f, w), -1), "r"));
    /* A choice: one branch computes, the other hands on a product of the region around. */
    y = op(c.g, dnnl_tp_op_matmul, 2, x, w);
    CHECK_OK(dnnl_tp_graph_create_region(&a, c.g));
    CHECK_OK(dnnl_tp_graph_create_region(&b, c.g));
    dnnl_tp_value_t then = op(a, dnnl_tp_op_add, 2, op(a, dnnl_tp_op_matmul, 2, y, w), y);
    CHECK_OK(dnnl_tp_graph_if(c.g, "if", p, a, b, 1, &then, &y, &picked));
    CHECK_OK(dnnl_tp_graph_call(c.g, "call", f, 1, &picked, 1, &called));
    /* A loop over a sum. */
    dnnl_tp_value_t var[2], init[2] = {c0, picked}, next[2];
    CHECK_OK(dnnl_tp_graph_create_region(&cond, c.g));
    CHECK_OK(dnnl_tp_graph_input(cond, &var[0], "i", dnnl_tp_s32, 0, dims));
    CHECK_OK(dnnl_tp_graph_input(cond, &var[1], "v", dnnl_tp_f32, 2, dims));
    dnnl_tp_value_t again = op(cond, dnnl_tp_op_less, 2, var[0], cn);
    CHECK_OK(dnnl_tp_graph_create_region(&body, cond));
    next[0] = op(body, dnnl_tp_op_add, 2, var[0], ci);
    next[1] = op(body, dnnl_tp_op_softmax, 1, op(body, dnnl_tp_op_matmul, 2, var[1], w), -1);
    next[1] = op(body, dnnl_tp_op_subtract, 2, op(body, dnnl_tp_op_matmul, 2, next[1], w), y);
    CHECK_OK(dnnl_tp_graph_while(c.g, "loop", cond, again, body, 2, init, var, next, 1, out));
    CHECK_OK(dnnl_tp_graph_output(c.g, op(c.g, dnnl_tp_op_add, 2, out[1], called), "y"));
    CHECK_OK(dnnl_tp_graph_destroy(f));
    CHECK_OK(dnnl_tp_graph_destroy(a));
    CHECK_OK(dnnl_tp_graph_destroy(b));
    CHECK_OK(dnnl_tp_graph_destroy(cond));
    CHECK_OK(dnnl_tp_graph_destroy(body));
    void *in[2] = {data, &pred};
    for (pred = 0; pred < 2; ++pred) {
        dnnl_tp_executable_t e;
        compare(&c, 2, in, ROWS * N, &e);
        CHECK_OK(dnnl_tp_executable_destroy(e));
    }
    end(&c);
}

static size_t bytes_of_constants(const dtp_exec_t *e) {
    size_t bytes = 0;
    for (int i = 0; i < e->nsteps; ++i) {
        const dtp_primitive_t *p = e->steps[i].work->prim[0];
        const dtp_md_t *wei = p ? dnnl_tp_primitive_desc_query_md(p->pd, dnnl_tp_query_weights_md, 0) : NULL;
        if (wei) bytes += dtp_md_size(wei);
    }
    return bytes;
}

/* Weights take half of the memory, and one graph serves both: what was made for one is not made for the other. */
static void test_memory(void **state) {
    (void)state;
    case_t c;
    begin(&c);
    enum { WIDE = 64 };
    const dnnl_tp_dims_t dims = {1, WIDE}, wei = {WIDE, WIDE};
    dnnl_tp_value_t x;
    CHECK_OK(dnnl_tp_graph_input(c.g, &x, "x", dnnl_tp_f32, 2, dims));
    for (int i = 0; i < 3; ++i) x = op(c.g, dnnl_tp_op_matmul, 2, x, constant(&c, 2, wei, .1f));
    CHECK_OK(dnnl_tp_graph_output(c.g, x, "y"));
    const int64_t before = atomic_load(&c.g->root->store->next_id);
    dnnl_tp_executable_t e = compile(&c, dnnl_tp_fpmath_mode_bf16, 0);
    const size_t low = bytes_of_constants(e);
    assert_int_equal(low, 3 * 2 * WIDE * WIDE);
    const int64_t made = atomic_load(&c.g->root->store->next_id);
    assert_int_equal(made - before, 3); /* the packed ones: no f32 copies of them, no plain ones */
    CHECK_OK(dnnl_tp_executable_destroy(e));
    e = compile(&c, dnnl_tp_fpmath_mode_bf16, 0);
    assert_int_equal(atomic_load(&c.g->root->store->next_id), made);
    CHECK_OK(dnnl_tp_executable_destroy(e));
    e = compile(&c, dnnl_tp_fpmath_mode_strict, 0);
    assert_int_equal(bytes_of_constants(e), 2 * low);
    CHECK_OK(dnnl_tp_executable_destroy(e));
    end(&c);
}

static test_allocator_t allocator;

/* The n-th allocation of a compilation fails, for every n. */
static void test_no_memory(void **state) {
    (void)state;
    int capacity;
    CHECK_OK(dnnl_tp_get_primitive_cache_capacity(&capacity));
    CHECK_OK(dnnl_tp_set_primitive_cache_capacity(0));
    case_t c;
    begin(&c);
    const dnnl_tp_dims_t dims = {1, 3, SIDE, SIDE}, whole = {1, CHANNELS, SIDE, SIDE};
    dnnl_tp_value_t x;
    CHECK_OK(dnnl_tp_graph_input(c.g, &x, "x", dnnl_tp_f32, 4, dims));
    x = op(c.g, dnnl_tp_op_multiply, 2, conv(&c, x, 3, CHANNELS, 3), constant(&c, 4, whole, 1.f));
    CHECK_OK(dnnl_tp_graph_output(c.g, op(c.g, dnnl_tp_op_exp, 1, x, -1), "y"));
    const dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts, .fpmath_mode = dnnl_tp_fpmath_mode_bf16};
    dnnl_tp_executable_t e = NULL;
    dnnl_tp_status_t status = dnnl_tp_out_of_memory;
    for (long n = 0; status != dnnl_tp_success; ++n) {
        const int64_t objects = dtp_object_live();
        allocator.fail_at = n;
        status = dnnl_tp_executable_compile(&e, c.g, c.engine, 0, NULL, &opts);
        allocator.fail_at = -1;
        if (status == dnnl_tp_success) break;
        assert_int_equal(status, dnnl_tp_out_of_memory);
        assert_int_equal(dtp_object_live(), objects);
    }
    CHECK_OK(dnnl_tp_executable_destroy(e));
    end(&c);
    CHECK_OK(dnnl_tp_set_primitive_cache_capacity(capacity));
}

/* Modes that graphs do not know are refused by name; structs of older headers are strict. */
static void test_options(void **state) {
    (void)state;
    case_t c;
    begin(&c);
    const dnnl_tp_dims_t dims = {ROWS, N}, wei = {N, N};
    float data[ROWS * N], plain[ROWS * N], out[ROWS * N];
    fill(&c, data, ROWS * N, 1.f);
    void *in[1] = {data}, *to[1] = {plain};
    dnnl_tp_value_t x;
    CHECK_OK(dnnl_tp_graph_input(c.g, &x, "x", dnnl_tp_f32, 2, dims));
    CHECK_OK(dnnl_tp_graph_output(c.g, op(c.g, dnnl_tp_op_matmul, 2, x, constant(&c, 2, wei, 1.f)), "y"));
    dnnl_tp_executable_t e;
    CHECK_OK(dnnl_tp_executable_compile(&e, c.g, c.engine, 0, NULL, NULL));
    CHECK_OK(dnnl_tp_executable_run(e, c.stream, 1, in, 1, to, NULL));
    CHECK_OK(dnnl_tp_executable_destroy(e));
    dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts};
    static const char *const names[] = {"f16", "any"};
    for (int mode = dnnl_tp_fpmath_mode_f16; mode <= dnnl_tp_fpmath_mode_any; ++mode) {
        opts.fpmath_mode = (dnnl_tp_fpmath_mode_t)mode;
        assert_int_equal(dnnl_tp_executable_compile(&e, c.g, c.engine, 0, NULL, &opts),
                         dnnl_tp_unimplemented);
        assert_non_null(strstr(dnnl_tp_last_error(), names[mode - dnnl_tp_fpmath_mode_f16]));
    }
    opts.fpmath_mode = dnnl_tp_fpmath_mode_tf32; /* a CPU has none */
    to[0] = out;
    CHECK_OK(dnnl_tp_executable_compile(&e, c.g, c.engine, 0, NULL, &opts));
    CHECK_OK(dnnl_tp_executable_run(e, c.stream, 1, in, 1, to, NULL));
    CHECK_OK(dnnl_tp_executable_destroy(e));
    assert_memory_equal(plain, out, sizeof out);
    opts.fpmath_mode = (dnnl_tp_fpmath_mode_t)(dnnl_tp_fpmath_mode_tf32 + 1);
    assert_int_equal(dnnl_tp_executable_compile(&e, c.g, c.engine, 0, NULL, &opts),
                     dnnl_tp_invalid_arguments);
    const size_t older[] = {offsetof(dnnl_tp_compile_opts_t, in_values),
                            offsetof(dnnl_tp_compile_opts_t, fpmath_mode)};
    opts.fpmath_mode = dnnl_tp_fpmath_mode_bf16; /* behind the struct: not read */
    to[0] = out;
    for (int i = 0; i < 3; ++i) {
        opts.struct_size = i < 2 ? older[i] : sizeof opts;
        CHECK_OK(dnnl_tp_executable_compile(&e, c.g, c.engine, 0, NULL, &opts));
        CHECK_OK(dnnl_tp_executable_run(e, c.stream, 1, in, 1, to, NULL));
        CHECK_OK(dnnl_tp_executable_destroy(e));
        assert_int_equal(memcmp(plain, out, sizeof out) == 0, i < 2);
    }
    end(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_network),      cmocka_unit_test(test_decisions),
                                       cmocka_unit_test(test_control_flow), cmocka_unit_test(test_memory),
                                       cmocka_unit_test(test_no_memory),    cmocka_unit_test(test_options)};
    test_allocator_init(&allocator);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
