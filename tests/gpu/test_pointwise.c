/* The kind `pointwise` on the CUDA engine: every function and type against the CPU's, to the bit but for functions of libm, at the
 * ends of vectors, broadcast, over strides, in memory that is not aligned; loops and choices whose predicates are comparisons; what is
 * refused. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/primitive/primitive_desc.h"
#include "common/problems/graph/pointwise.h"
#include "exec/run/executable.h"
#include "gpu/gpu_world.h"
#include "support/check.h"
#include "support/upload.h"

enum { SRC = 3, MOST_BYTES = 1 << 15, GAP = 0x5a };
static const int src_args[SRC] = {DNNL_TP_ARG_SRC_0, DNNL_TP_ARG_SRC_1, DNNL_TP_ARG_SRC_2};

static const dnnl_tp_data_type_t types[] = {dnnl_tp_f32, dnnl_tp_s64, dnnl_tp_s32,
                                            dnnl_tp_s8,  dnnl_tp_u8,  dnnl_tp_boolean};
enum { NTYPES = sizeof types / sizeof *types };
static const int sources[DTP_PW_COUNT] = {
    [DTP_PW_select] = 3,
    [DTP_PW_cast] = 1,
#define DTP_PW(name, nsrc, types, result, expression) [DTP_PW_##name] = nsrc,
#include "common/problems/graph/pointwise.inc"
};

/* ---- Data ---------------------------------------------------------------------------------------------- */

/* Zeros, ends of types, numbers of bits that are too many, no numbers; otherwise anything. */
static void put(unsigned char *to, dnnl_tp_data_type_t type, test_rng_t *r) {
    static const float floats[] = {0.f,      -0.f,      1.f,     -1.f,     .5f,   -2.5f,   NAN,
                                   INFINITY, -INFINITY, 1e-40f,  1e30f,    3e38f, -1e20f,  105615.f,
                                   355.f,    7.f,       3.f,     -3.f,     128.f, -128.5f, 256.f,
                                   0x1p31f,  -0x1p31f,  0x1p63f, -0x1p63f, 100.f, -.999f};
    static const int64_t integers[] = {0,  1,   -1,       2,         3,         -3,        7,
                                       -7, 8,   31,       32,        63,        64,        65,
                                       -8, 127, INT8_MIN, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX};
    enum { FLOATS = sizeof floats / sizeof *floats, INTEGERS = sizeof integers / sizeof *integers };
    const bool special = test_rand(r) % 4 != 0;
    float f = special ? floats[test_rand(r) % FLOATS] : test_uniform(r, -20.f, 20.f);
    int64_t i = special ? integers[test_rand(r) % INTEGERS] : (int64_t)test_rand(r);
    if (type == dnnl_tp_boolean) i = test_rand(r) % 2 ? 0 : (int64_t)(test_rand(r) % 255 + 1);
    if (type == dnnl_tp_f32) memcpy(to, &f, sizeof f);
    else memcpy(to, &i, dtp_type_size(type));
}

static size_t span_of(const dtp_md_t *md) {
    return dtp_md_size(md) ? dtp_md_size(md) + (size_t)md->offset0 * dtp_type_size(md->data_type) : 0;
}

typedef struct {
    const dtp_md_t *md;
    _Alignas(64) unsigned char data[MOST_BYTES];
} host_t;

static void host_init(host_t *t, const dtp_md_t *md, test_rng_t *r) {
    t->md = md;
    assert_true(span_of(md) <= sizeof t->data);
    memset(t->data, GAP, sizeof t->data);
    const size_t size = dtp_type_size(md->data_type);
    for (int64_t i = 0; r && i < dtp_md_nelems(md); ++i)
        put(t->data + (size_t)dtp_md_offset_linear(md, i) * size, md->data_type, r);
}

/* ---- One problem --------------------------------------------------------------------------------------- */

static dtp_pointwise_desc_t problem(int fn, const dtp_md_t *const *src, const dtp_md_t *dst) {
    dtp_pointwise_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_POINTWISE;
    op.fn = fn;
    op.src0 = *src[0];
    if (sources[fn] > 1) op.src1 = *src[1];
    if (sources[fn] > 2) op.src2 = *src[2];
    op.dst = *dst;
    return op;
}

/* x: sources, then the result. */
static void execute(dnnl_tp_engine_t engine, const dtp_pointwise_desc_t *op, const char *impl,
                    host_t *const *x) {
    const int n = sources[op->fn];
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t p;
    dnnl_tp_stream_t s;
    dnnl_tp_exec_arg_t args[SRC + 1];
    CHECK_OK(dnnl_tp_stream_create(&s, engine, 0));
    CHECK_OK(dtp_pd_create(&pd, engine, &op->base, sizeof *op, NULL));
    if (impl) assert_string_equal(pd->impl->name, impl);
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    for (int i = 0; i <= n; ++i) {
        args[i].arg = i < n ? src_args[i] : DNNL_TP_ARG_DST;
        CHECK_OK(dnnl_tp_memory_create(&args[i].memory, x[i]->md, engine, DNNL_TP_MEMORY_ALLOCATE));
        test_upload(args[i].memory, x[i]->data, span_of(x[i]->md));
    }
    CHECK_OK(dnnl_tp_primitive_execute(p, s, n + 1, args));
    CHECK_OK(dnnl_tp_stream_wait(s));
    test_download(args[n].memory, x[n]->data, span_of(x[n]->md));
    for (int i = 0; i <= n; ++i) CHECK_OK(dnnl_tp_memory_destroy(args[i].memory));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_stream_destroy(s));
}

/* Functions of libm are those of NVIDIA's library, which says: at most 4 units in the last place. */
static bool near(int fn, float got, float want) {
    const bool exact = fn < DTP_PW_power || fn == DTP_PW_modulo || fn == DTP_PW_remainder ||
                       fn == DTP_PW_floor || fn == DTP_PW_ceil;
    if (isnan(want) || isinf(want)) return isnan(want) ? isnan(got) : got == want;
    return exact ? got == want && signbit(got) == signbit(want)
                 : fabsf(got - want) <= 4 * 0x1p-23f * fabsf(want) + 4 * 0x1p-149f;
}

static void compare(int fn, const host_t *got, const host_t *want) {
    const dtp_md_t *md = want->md;
    if (md->data_type == dnnl_tp_f32 && fn != DTP_PW_select) {
        for (size_t i = 0; i < span_of(md); i += sizeof(float)) {
            float g, w;
            memcpy(&g, got->data + i, sizeof g);
            memcpy(&w, want->data + i, sizeof w);
            if (!near(fn, g, w)) fail_msg("function %d: element %zu is %a, not %a", fn, i / 4, g, w);
        }
        return;
    }
    for (size_t i = 0; i < span_of(md); ++i)
        if (got->data[i] != want->data[i])
            fail_msg("function %d of %s: byte %zu is %d, not %d", fn, dnnl_tp_dt2str(md->data_type), i,
                     got->data[i], want->data[i]);
}

static dnnl_tp_engine_t cpu;
static void check(int fn, const dtp_md_t *const *src, const dtp_md_t *dst, const char *impl) {
    static host_t x[SRC], got, want;
    const dtp_pointwise_desc_t op = problem(fn, src, dst);
    const int n = sources[fn];
    test_rng_t r = test_rng((uint64_t)fn);
    host_t *there[SRC + 1], *here[SRC + 1];
    for (int i = 0; i < n; ++i) {
        host_init(&x[i], src[i], &r);
        there[i] = here[i] = &x[i];
    }
    host_init(&got, dst, NULL), host_init(&want, dst, NULL);
    there[n] = &got, here[n] = &want;
    execute(gpu, &op, impl, there);
    execute(cpu, &op, NULL, here);
    compare(fn, &got, &want);
}

/* ---- Shapes and layouts -------------------------------------------------------------------------------- */

typedef struct {
    int nd;
    int64_t dims[4], strides[4]; /* strides of 0: dense */
    int64_t offset;
} layout_t;

static dtp_md_t of(const layout_t *l, dnnl_tp_data_type_t type) {
    dtp_md_t md;
    CHECK_OK(dtp_md_init_strides(&md, l->nd, l->dims, type, l->strides[0] ? l->strides : NULL));
    md.offset0 = l->offset;
    return md;
}

typedef struct {
    layout_t src[SRC], dst;
    const char *impl;
} case_t;

/* Every function of every type, every pair of types of casts, selections of all sizes. */
static void check_all(const case_t *c) {
    static const dnnl_tp_data_type_t selected[] = {dnnl_tp_u8, dnnl_tp_bf16, dnnl_tp_f16, dnnl_tp_f32,
                                                   dnnl_tp_f64};
    dtp_md_t md[SRC], dst;
    const dtp_md_t *src[SRC] = {&md[0], &md[1], &md[2]};
    for (int fn = DTP_PW_cast + 1; fn < DTP_PW_COUNT; ++fn)
        for (int t = 0; t < NTYPES; ++t) {
            if (!dtp_pointwise_takes(fn, types[t])) continue;
            for (int i = 0; i < 2; ++i) md[i] = of(&c->src[i], types[t]);
            dst = of(&c->dst, dtp_pointwise_is_truth(fn) ? dnnl_tp_boolean : types[t]);
            if (sources[fn] == 1 && memcmp(md[0].dims, dst.dims, sizeof dst.dims) != 0) continue;
            check(fn, src, &dst, c->impl);
        }
    for (int k = 0; k < NTYPES * NTYPES && !memcmp(c->src[0].dims, c->dst.dims, sizeof c->dst.dims); ++k) {
        md[0] = of(&c->src[0], types[k % NTYPES]);
        dst = of(&c->dst, types[k / NTYPES]);
        check(DTP_PW_cast, src, &dst, c->impl);
    }
    for (size_t k = 0; k < sizeof selected / sizeof *selected; ++k) {
        md[0] = of(&c->src[0], dnnl_tp_boolean);
        for (int i = 1; i < SRC; ++i) md[i] = of(&c->src[i], selected[k]);
        dst = of(&c->dst, selected[k]);
        check(DTP_PW_select, src, &dst, c->impl);
    }
}

/* ---- Tests --------------------------------------------------------------------------------------------- */

static void ends_of_vectors(void **state) {
    (void)state;
    static const int64_t sizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 1027};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        const layout_t l = {.nd = 1, .dims = {sizes[i]}};
        check_all(&(case_t){{l, l, l}, l, "cuda:vec"});
        /* In windows of memory, beside the place of a vector. */
        const layout_t window = {.nd = 1, .dims = {sizes[i]}, .offset = 1};
        check_all(&(case_t){{window, window, window}, window, "cuda:vec"});
        check_all(&(case_t){{l, window, l}, l, "cuda:vec"});
    }
}

/* Each subset of dimensions of one source, then of all but one. */
static void broadcast(void **state) {
    (void)state;
    const layout_t whole = {.nd = 3, .dims = {2, 5, 16}};
    for (int subset = 1; subset < 8; ++subset)
        for (int which = 0; which < 2 * SRC; ++which) {
            case_t c = {{whole, whole, whole}, whole, NULL};
            for (int i = 0; i < SRC; ++i)
                for (int d = 0; d < whole.nd; ++d)
                    if (subset >> d & 1 && (which < SRC) == (i == which % SRC)) c.src[i].dims[d] = 1;
            check_all(&c);
        }
    const layout_t one = {.nd = 3, .dims = {1, 1, 1}};
    check_all(&(case_t){{whole, one, one}, whole, "cuda:vec"});
    check_all(&(case_t){{one, one, one}, one, "cuda:vec"});
}

static void strides(void **state) {
    (void)state;
    const layout_t dense = {.nd = 2, .dims = {9, 33}}, turned = {2, {9, 33}, {1, 9}, 0},
                   padded = {2, {9, 33}, {40, 1}, 0}, sparse = {2, {9, 33}, {100, 3}, 2};
    check_all(&(case_t){{dense, dense, dense}, dense, "cuda:vec"});
    check_all(&(case_t){{turned, turned, turned}, turned, "cuda:vec"});
    check_all(&(case_t){{turned, dense, dense}, dense, "cuda:any"});
    check_all(&(case_t){{dense, sparse, turned}, padded, "cuda:any"});
    check_all(&(case_t){{padded, padded, padded}, sparse, "cuda:any"});
    const layout_t rows = {2, {9, 32}, {48, 1}, 0};
    check_all(&(case_t){{rows, rows, rows}, rows, "cuda:vec"});
    const layout_t four = {4, {2, 3, 5, 4}, {120, 1, 24, 4}, 0}, other = {4, {2, 3, 5, 4}, {1, 2, 6, 30}, 0};
    check_all(&(case_t){{four, other, four}, other, "cuda:any"});
}

static void refusals(void **state) {
    (void)state;
    const layout_t l = {.nd = 1, .dims = {4}};
    dnnl_tp_primitive_desc_t pd;
    const dtp_md_t f64 = of(&l, dnnl_tp_f64), f32 = of(&l, dnnl_tp_f32), bf16 = of(&l, dnnl_tp_bf16),
                   truth = of(&l, dnnl_tp_boolean);
    const dtp_md_t *const wide[] = {&f64, &f64}, *const single[] = {&f32}, *const half[] = {&bf16};
    const struct {
        int fn;
        const dtp_md_t *const *src, *dst;
    } rows[] = {{DTP_PW_less, wide, &truth}, {DTP_PW_sin, wide, &f64},  {DTP_PW_cast, wide, &f32},
                {DTP_PW_cast, single, &f64}, {DTP_PW_cast, half, &f32}, {DTP_PW_bit_not, single, &f32}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const dtp_pointwise_desc_t op = problem(rows[i].fn, rows[i].src, rows[i].dst);
        CHECK_STATUS(dtp_pd_create(&pd, gpu, &op.base, sizeof op, NULL), dnnl_tp_unimplemented);
    }
    dtp_md_t blocked;
    CHECK_OK(dtp_md_init_layout(&blocked, 2, (int64_t[]){3, 20}, dnnl_tp_f32, "aB16b"));
    const dtp_md_t *const blocks[] = {&blocked};
    const dtp_pointwise_desc_t op = problem(DTP_PW_sin, blocks, &blocked);
    CHECK_STATUS(dtp_pd_create(&pd, gpu, &op.base, sizeof op, NULL), dnnl_tp_unimplemented);
    /* The kind writes over no source, on any engine. */
    const dtp_pointwise_desc_t floor_op = problem(DTP_PW_floor, single, &f32);
    dnnl_tp_primitive_t p;
    dnnl_tp_memory_t m;
    dnnl_tp_stream_t stream = gpu_stream();
    CHECK_OK(dtp_pd_create(&pd, gpu, &floor_op.base, sizeof floor_op, NULL));
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    CHECK_OK(dnnl_tp_memory_create(&m, &f32, gpu, DNNL_TP_MEMORY_ALLOCATE));
    const dnnl_tp_exec_arg_t args[] = {{DNNL_TP_ARG_SRC_0, m}, {DNNL_TP_ARG_DST, m}};
    CHECK_STATUS(dnnl_tp_primitive_execute(p, stream, 2, args), dnnl_tp_invalid_arguments);
    CHECK_OK(dnnl_tp_memory_destroy(m));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_stream_destroy(stream));
}

/* ---- Graphs -------------------------------------------------------------------------------------------- */

typedef dnnl_tp_value_t value_t;

static value_t input(dnnl_tp_graph_t g, dnnl_tp_data_type_t type, int ndims, const dnnl_tp_dims_t dims) {
    value_t v;
    CHECK_OK(dnnl_tp_graph_input(g, &v, "x", type, ndims, dims));
    return v;
}
static value_t constant(dnnl_tp_graph_t g, dnnl_tp_data_type_t type, const void *data) {
    value_t v;
    CHECK_OK(dnnl_tp_graph_constant(g, &v, "c", type, 0, NULL, data, DNNL_TP_CONSTANT_COPY, NULL, NULL));
    return v;
}
static value_t op(dnnl_tp_graph_t g, dnnl_tp_op_kind_t kind, int n, value_t a, value_t b, value_t c) {
    const value_t in[] = {a, b, c};
    value_t v;
    CHECK_OK(dnnl_tp_graph_op(g, kind, "op", n, in, 0, NULL, 1, &v));
    return v;
}
static dnnl_tp_graph_t region(dnnl_tp_graph_t parent) {
    dnnl_tp_graph_t r;
    CHECK_OK(dnnl_tp_graph_create_region(&r, parent));
    return r;
}

static dnnl_tp_executable_t compile(dnnl_tp_graph_t g, value_t y, dnnl_tp_fpmath_mode_t mode) {
    const dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts, .fpmath_mode = mode};
    dnnl_tp_executable_t e;
    CHECK_OK(dnnl_tp_graph_output(g, y, "y"));
    CHECK_OK(dnnl_tp_executable_compile(&e, g, gpu, 0, NULL, &opts));
    return e;
}
static void run(dnnl_tp_executable_t e, int nin, void *const *in, void *out) {
    dnnl_tp_stream_t s = gpu_stream();
    CHECK_OK(test_run_graph(e, s, nin, in, 1, &out, NULL));
    CHECK_OK(dnnl_tp_stream_destroy(s));
}

/* for (i = 0, x; i < limit; ++i) x += step */
static void while_less(void **state) {
    (void)state;
    static const dnnl_tp_data_type_t counters[] = {dnnl_tp_s32, dnnl_tp_f32};
    static const int32_t zeros = 0, ones = 1;
    static const float zero = 0, one = 1, step = .5f;
    for (int k = 0; k < 2; ++k) {
        const bool is_f32 = counters[k] == dnnl_tp_f32;
        dnnl_tp_graph_t g, cond, body;
        CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
        const value_t limit = input(g, counters[k], 0, NULL), x = input(g, dnnl_tp_f32, 0, NULL);
        const value_t first = constant(g, counters[k], is_f32 ? (const void *)&zero : &zeros),
                      next = constant(g, counters[k], is_f32 ? (const void *)&one : &ones),
                      more = constant(g, dnnl_tp_f32, &step);
        value_t var[2], turn[2], out[2];
        cond = region(g);
        var[0] = input(cond, counters[k], 0, NULL);
        var[1] = input(cond, dnnl_tp_f32, 0, NULL);
        const value_t again = op(cond, dnnl_tp_op_less, 2, var[0], limit, -1);
        body = region(cond);
        turn[0] = op(body, dnnl_tp_op_add, 2, var[0], next, -1);
        turn[1] = op(body, dnnl_tp_op_add, 2, var[1], more, -1);
        CHECK_OK(dnnl_tp_graph_while(g, "loop", cond, again, body, 2, (const value_t[]){first, x}, var, turn,
                                     1, out));
        dnnl_tp_executable_t e = compile(g, out[1], dnnl_tp_fpmath_mode_strict);
        CHECK_OK(dnnl_tp_graph_destroy(cond));
        CHECK_OK(dnnl_tp_graph_destroy(body));
        for (int turns = 0; turns <= 7; turns += 7) {
            int32_t n = turns;
            float nf = (float)turns, from = 3.f, got = NAN;
            run(e, 2, (void *[]){is_f32 ? (void *)&nf : &n, &from}, &got);
            assert_true(got == 3.f + .5f * nf);
        }
        CHECK_OK(dnnl_tp_executable_destroy(e));
        CHECK_OK(dnnl_tp_graph_destroy(g));
    }
}

/* if (x > y) x - y else y / x, of numbers */
static void if_greater(void **state) {
    (void)state;
    dnnl_tp_graph_t g, a, b;
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    const value_t x = input(g, dnnl_tp_f32, 0, NULL), y = input(g, dnnl_tp_f32, 0, NULL);
    const value_t p = op(g, dnnl_tp_op_greater, 2, x, y, -1);
    a = region(g), b = region(g);
    const value_t yes = op(a, dnnl_tp_op_subtract, 2, x, y, -1), no = op(b, dnnl_tp_op_divide, 2, y, x, -1);
    value_t out;
    CHECK_OK(dnnl_tp_graph_if(g, "if", p, a, b, 1, &yes, &no, &out));
    CHECK_OK(dnnl_tp_graph_destroy(a));
    CHECK_OK(dnnl_tp_graph_destroy(b));
    dnnl_tp_executable_t e = compile(g, out, dnnl_tp_fpmath_mode_strict);
    static const float rows[][3] = {{5, 3, 2}, {3, 6, 2}, {4, 4, 1}, {-INFINITY, 2, -0.f}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        float u = rows[i][0], v = rows[i][1], got = NAN;
        run(e, 2, (void *[]){&u, &v}, &got);
        assert_true(got == rows[i][2]);
    }
    CHECK_OK(dnnl_tp_executable_destroy(e));
    CHECK_OK(dnnl_tp_graph_destroy(g));
}

static int selections(const dtp_exec_t *e, dnnl_tp_data_type_t type) {
    int n = 0;
    for (int i = 0; i < e->nsteps; ++i) {
        const dtp_primitive_t *p = e->steps[i].work->prim[0];
        if (!p || (int)p->pd->op->kind != DTP_KIND_POINTWISE) continue;
        const dtp_pointwise_desc_t *d = (const dtp_pointwise_desc_t *)p->pd->op;
        n += d->fn == DTP_PW_select && d->dst.data_type == type;
    }
    return n;
}

/* (mask ? x w : v w) w, in bf16: the selection is in bf16, too. */
static void select_behind_products(void **state) {
    (void)state;
    enum { N = 16 };
    static const dnnl_tp_dims_t dims = {N, N};
    dnnl_tp_graph_t g;
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    const value_t mask = input(g, dnnl_tp_boolean, 2, dims), x = input(g, dnnl_tp_f32, 2, dims),
                  v = input(g, dnnl_tp_f32, 2, dims), w = input(g, dnnl_tp_f32, 2, dims);
    const value_t xw = op(g, dnnl_tp_op_matmul, 2, x, w, -1), vw = op(g, dnnl_tp_op_matmul, 2, v, w, -1);
    const value_t y = op(g, dnnl_tp_op_matmul, 2, op(g, dnnl_tp_op_select, 3, mask, xw, vw), w, -1);
    dnnl_tp_executable_t e = compile(g, y, dnnl_tp_fpmath_mode_bf16);
    assert_int_equal(selections(e, dnnl_tp_bf16), 1);
    static uint8_t m[N * N];
    static float in[3][N * N], got[N * N], mid[N * N];
    test_rng_t r = test_rng(5);
    for (int i = 0; i < N * N; ++i) {
        m[i] = (uint8_t)(test_rand(&r) % 2 * 9);
        for (int k = 0; k < 3; ++k) in[k][i] = (float)(test_rand(&r) % 5) - 2.f; /* products fit bf16 */
    }
    run(e, 4, (void *[]){m, in[0], in[1], in[2]}, got);
    for (int i = 0; i < N * N; ++i) {
        mid[i] = 0;
        for (int k = 0; k < N; ++k) mid[i] += in[m[i] ? 0 : 1][i / N * N + k] * in[2][k * N + i % N];
    }
    for (int i = 0; i < N * N; ++i) {
        float want = 0;
        for (int k = 0; k < N; ++k) want += mid[i / N * N + k] * in[2][k * N + i % N];
        assert_true(fabsf(got[i] - want) <= 0x1p-8f * fabsf(want));
    }
    CHECK_OK(dnnl_tp_executable_destroy(e));
    CHECK_OK(dnnl_tp_graph_destroy(g));
}

static int setup(void **state) {
    CHECK_OK(dnnl_tp_engine_create(&cpu, dnnl_tp_cpu, 0));
    return gpu_setup(state);
}
static int teardown(void **state) {
    CHECK_OK(dnnl_tp_engine_destroy(cpu));
    return gpu_teardown(state);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {TEST(ends_of_vectors),
                                       TEST(broadcast),
                                       TEST(strides),
                                       TEST(refusals),
                                       TEST(while_less),
                                       TEST(if_greater),
                                       TEST(select_behind_products)};
    return cmocka_run_group_tests_name("pointwise", tests, NULL, NULL);
}
