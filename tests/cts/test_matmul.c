/* Conformance of matmul: every implementation the machine has, over tails, layouts, broadcast, batches, bias
 * shapes, chains of post-operations, run-time dimensions and rows mode, against the f64 oracle of
 * support/product_check. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/product_check.h"
#include "support/upload.h"
#include "support/layout.h"
#include "support/tensor.h"
#include "threading/base/parallel.h"

typedef struct {
    const char *impl;
    dnnl_tp_cpu_isa_t isa;
    unsigned bits;
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
} target_t;
static target_t targets[] = {
    {.impl = "ukr:any", .isa = dnnl_tp_cpu_isa_sse41},
    {.impl = "ukr:avx2", .isa = dnnl_tp_cpu_isa_avx2, .bits = DTP_ISA_AVX2},
    {.impl = "ukr:avx512", .isa = dnnl_tp_cpu_isa_avx512_core, .bits = DTP_ISA_AVX512},
    {.impl = "ukr:avx512_bf16", .isa = dnnl_tp_cpu_isa_avx512_core_bf16, .bits = DTP_ISA_AVX512_BF16}};
enum { NTARGETS = sizeof targets / sizeof *targets };
/* Types of src and weights, and of dst where a case does not say. The last target serves bf16 only. */
static dnnl_tp_data_type_t operands = dnnl_tp_f32, results = dnnl_tp_f32;
static bool runs(int target) {
    return targets[target].engine && (operands == dnnl_tp_bf16 || target != NTARGETS - 1);
}

static int setup(void **state) {
    (void)state;
    for (int i = 0; i < NTARGETS; ++i) {
        target_t *t = &targets[i];
        dnnl_tp_engine_attr_t attr;
        CHECK_OK(dnnl_tp_engine_attr_create(&attr));
        CHECK_OK(dnnl_tp_engine_attr_set_max_isa(attr, t->isa));
        CHECK_OK(dnnl_tp_engine_create_v2(&t->engine, test_engine_kind(), 0, attr));
        CHECK_OK(dnnl_tp_engine_attr_destroy(attr));
        if ((t->engine->isa & t->bits) != t->bits) {
            CHECK_OK(dnnl_tp_engine_destroy(t->engine));
            t->engine = NULL;
            continue;
        }
        CHECK_OK(dnnl_tp_stream_create(&t->stream, t->engine, 0));
    }
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (int i = 0; i < NTARGETS; ++i) {
        if (!targets[i].engine) continue;
        CHECK_OK(dnnl_tp_stream_destroy(targets[i].stream));
        CHECK_OK(dnnl_tp_engine_destroy(targets[i].engine));
    }
    return 0;
}

/* Layouts of a matrix {.., R, C}. */
typedef enum { ANY, PLAIN, TRANS, PADDED, WINDOW, SPREAD, TRANS_PADDED, PACKED, WIDE } layout_t;

/* nd dims; lead: batch dims. */
static dnnl_tp_memory_desc_t matrix(layout_t layout, int nd, const int64_t *dims, dnnl_tp_data_type_t dt) {
    dnnl_tp_memory_desc_t md = NULL;
    dnnl_tp_dims_t strides;
    int64_t step;
    const int r = nd - 2, c = nd - 1;
    switch (layout) {
    case ANY:
        CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&md, nd, dims, dt, dnnl_tp_format_tag_any));
        return md;
    case PACKED:
    case WIDE: {
        char text[32];
        dtp_md_t packed;
        int n = 0;
        for (int d = 0; d < r; ++d) text[n++] = (char)('a' + d);
        if (dt == dnnl_tp_bf16) /* has no wide column panels */
            snprintf(text + n, sizeof text - (size_t)n, "%c%c8%c16%c2%c", 'A' + c, 'A' + r, 'a' + r, 'a' + c,
                     'a' + r);
        else
            snprintf(text + n, sizeof text - (size_t)n, "%c%c16%c%d%c", 'A' + c, 'A' + r, 'a' + r,
                     layout == WIDE ? 64 : 16, 'a' + c);
        CHECK_OK(dtp_md_init_layout(&packed, nd, dims, dt, text));
        CHECK_OK(dnnl_tp_memory_desc_clone(&md, &packed));
        return md;
    }
    case WINDOW: {
        /* Rows 2.. and columns 3.. of a larger matrix. */
        dnnl_tp_dims_t parent, offsets = {0};
        memcpy(parent, dims, sizeof *dims * (size_t)nd);
        parent[r] += 3;
        parent[c] += 5;
        offsets[r] = 2;
        offsets[c] = 3;
        dnnl_tp_memory_desc_t whole;
        CHECK_OK(dnnl_tp_memory_desc_create_with_strides(&whole, nd, parent, dt, NULL));
        CHECK_OK(dnnl_tp_memory_desc_create_submemory(&md, whole, dims, offsets));
        CHECK_OK(dnnl_tp_memory_desc_destroy(whole));
        return md;
    }
    case TRANS:
    case TRANS_PADDED:
        strides[r] = 1;
        strides[c] = (dims[r] ? dims[r] : 1) + (layout == TRANS_PADDED ? 3 : 0);
        step = strides[c] * dims[c];
        break;
    case SPREAD:
        strides[c] = 2;
        strides[r] = 2 * (dims[c] ? dims[c] : 1) + 1;
        step = strides[r] * dims[r];
        break;
    default:
        strides[c] = 1;
        strides[r] = (dims[c] ? dims[c] : 1) + (layout == PADDED ? 7 : 0);
        step = strides[r] * dims[r];
    }
    for (int d = r - 1; d >= 0; --d) {
        strides[d] = step ? step : 1;
        step *= dims[d];
    }
    CHECK_OK(dnnl_tp_memory_desc_create_with_strides(&md, nd, dims, dt, strides));
    return md;
}

typedef struct {
    int64_t m, n, k;
    layout_t src, wei, dst;
    int bias; /* -1 none, else mask of dst dims that it has: 1 = n, 2 = m, 4 = batch */
    pc_step_t chain[PC_MAX_STEPS];
    int nbatch;
    int64_t batch[3];
    int src_mask, wei_mask; /* batch dims that the operand has, bit d */
    bool real;
    int64_t rows;
    float special;
    dnnl_tp_data_type_t dst_dt, bia_dt;
} case_t;

#define CASE(m_, n_, k_, src_, wei_, dst_, bias_, ...)                                                 \
    {                                                                                                  \
        .m = (m_), .n = (n_), .k = (k_), .src = (src_), .wei = (wei_), .dst = (dst_), .bias = (bias_), \
        __VA_ARGS__                                                                                    \
    }

static void build(pc_problem_t *p, const case_t *c) {
    dnnl_tp_dims_t s, w, d, b;
    const int nd = c->nbatch + 2;
    memset(p, 0, sizeof *p);
    for (int i = 0; i < c->nbatch; ++i) {
        d[i] = c->batch[i];
        s[i] = c->src_mask >> i & 1 ? d[i] : 1;
        w[i] = c->wei_mask >> i & 1 ? d[i] : 1;
        b[i] = c->bias >= 0 && c->bias & 4 ? d[i] : 1;
    }
    s[nd - 2] = d[nd - 2] = c->m;
    s[nd - 1] = w[nd - 2] = c->k;
    w[nd - 1] = d[nd - 1] = c->n;
    b[nd - 1] = c->bias & 1 ? c->n : 1;
    b[nd - 2] = c->bias & 2 ? c->m : 1;
    p->src = matrix(c->src, nd, s, operands);
    p->wei = matrix(c->wei, nd, w, operands);
    p->dst = matrix(c->dst, nd, d, c->dst_dt ? c->dst_dt : results);
    const dnnl_tp_data_type_t bia = c->m % 2 ? results : dnnl_tp_f32;
    if (c->bias >= 0) p->bia = matrix(PLAIN, nd, b, c->bia_dt ? c->bia_dt : bia);
    memcpy(p->chain, c->chain, sizeof p->chain);
    p->real_values = c->real;
    p->rows = c->rows;
    p->special = c->special;
}

static void run(const case_t *c) {
    pc_problem_t p;
    build(&p, c);
    for (int i = 0; i < NTARGETS; ++i)
        if (runs(i)) pc_check(&p, targets[i].engine, targets[i].stream, targets[i].impl, NULL, NULL);
    pc_free(&p);
}

/* ---- Tests ------------------------------------------------------------------------------------------- */

static void tails(void **state) {
    (void)state;
    static const int64_t ms[] = {1, 2, 5, 6, 7, 8, 9, 13, 16, 17, 31, 47},
                         ns[] = {1, 15, 16, 17, 48, 64, 65, 97}, ks[] = {1, 2, 15, 16, 17, 67};
    static const layout_t layouts[] = {ANY, PLAIN, TRANS, WIDE};
    const size_t nlayouts = operands == dnnl_tp_f32 ? sizeof layouts / sizeof *layouts : 2;
    for (size_t w = 0; w < nlayouts; ++w)
        for (size_t i = 0; i < sizeof ms / sizeof *ms; ++i)
            for (size_t j = 0; j < sizeof ns / sizeof *ns; ++j)
                for (size_t k = 0; k < sizeof ks / sizeof *ks; ++k)
                    run(&(case_t)CASE(ms[i], ns[j], ks[k], PLAIN, layouts[w], PLAIN,
                                      (int)(i + j + k) % 2 - 1));
}

static void layouts(void **state) {
    (void)state;
    static const layout_t wei[] = {ANY, PLAIN, TRANS, PADDED, WINDOW, SPREAD, TRANS_PADDED, PACKED, WIDE},
                          src[] = {ANY, PLAIN, TRANS, PADDED, WINDOW, SPREAD},
                          dst[] = {ANY, PLAIN, TRANS, PADDED, WINDOW, SPREAD};
    for (size_t w = 0; w < sizeof wei / sizeof *wei; ++w)
        for (size_t s = 0; s < sizeof src / sizeof *src; ++s)
            for (size_t d = 0; d < sizeof dst / sizeof *dst; ++d) {
                run(&(case_t)CASE(21, 37, 19, src[s], wei[w], dst[d], 1, .chain = {PC_RELU}));
                run(&(case_t)CASE(70, 50, 33, src[s], wei[w], dst[d], -1, .chain = {PC_SUM}));
                run(&(case_t)CASE(1, 1, 1, src[s], wei[w], dst[d], 1));
            }
}

static void long_k(void **state) {
    (void)state;
    static const int64_t ks[] = {2047, 2048, 2049, 4100};
    static const pc_step_t chains[][PC_MAX_STEPS] = {
        {0}, {PC_SUM_HALF, PC_RELU}, {PC_RELU, PC_SUM}, {PC_ADD, PC_RELU}, {PC_ADD_ROWS}, {PC_RELU, PC_ADD}};
    for (size_t k = 0; k < sizeof ks / sizeof *ks; ++k)
        for (size_t c = 0; c < sizeof chains / sizeof *chains; ++c)
            for (int w = 0; w < 4; ++w) {
                case_t x =
                    CASE(9, 33, ks[k], w == 3 ? TRANS : PLAIN, w == 3 ? SPREAD : (layout_t)w, PLAIN, 1);
                memcpy(x.chain, chains[c], sizeof x.chain);
                run(&x);
            }
}

static void chains(void **state) {
    (void)state;
    static const pc_step_t all[][PC_MAX_STEPS] = {
        {PC_RELU},
        {PC_LEAKY},
        {PC_GELU_ERF},
        {PC_GELU_TANH},
        {PC_ADD},
        {PC_ADD_COLS},
        {PC_ADD_ROWS},
        {PC_SUM},
        {PC_SUM_HALF, PC_RELU},
        {PC_RELU, PC_ADD},
        {PC_RELU, PC_SUM, PC_RELU},
        {PC_ADD, PC_GELU_ERF},
        {PC_ADD_COLS, PC_RELU, PC_TANH},
        {PC_GELU_ERF, PC_ADD},
        {PC_MUL_SCALAR, PC_ADD},
        {PC_MUL_SCALAR, PC_ADD_COLS, PC_MAX},
        {PC_LINEAR, PC_ADD, PC_SUM, PC_RELU, PC_LINEAR},
        {PC_SUM, PC_LINEAR, PC_SUM_HALF},
        {PC_ADD, PC_ADD, PC_ADD_ROWS, PC_RELU},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        for (int bias = -1; bias < 4; ++bias) {
            case_t c =
                CASE(70, 53, 24, PLAIN, i % 3 ? ANY : PLAIN, i % 4 ? PLAIN : TRANS, bias, .real = i % 2);
            memcpy(c.chain, all[i], sizeof c.chain);
            run(&c);
            c.m = 3, c.n = 130;
            run(&c);
        }
}

static void batches(void **state) {
    (void)state;
    static const struct {
        int n;
        int64_t batch[3];
        int src, wei;
    } b[] = {{1, {3}, 1, 1},       {1, {4}, 1, 0},       {1, {4}, 0, 1},       {2, {2, 3}, 3, 3},
             {2, {2, 3}, 3, 1},    {2, {2, 3}, 3, 2},    {2, {2, 3}, 2, 3},    {2, {2, 3}, 1, 2},
             {3, {2, 1, 3}, 7, 0}, {3, {2, 2, 2}, 5, 7}, {3, {2, 2, 2}, 7, 2}, {2, {1, 1}, 3, 3}};
    static const pc_step_t all[][PC_MAX_STEPS] = {
        {0}, {PC_ADD}, {PC_MUL_SCALAR, PC_ADD_COLS}, {PC_SUM, PC_GELU_ERF}};
    static const layout_t wei[] = {ANY, PLAIN, TRANS, SPREAD}, src[] = {PLAIN, TRANS, WINDOW},
                          dst[] = {PLAIN, WINDOW};
    for (size_t i = 0; i < sizeof b / sizeof *b; ++i)
        for (int v = 0; v < 48; ++v) {
            case_t c =
                CASE(9, 35, 20, src[v % 3], wei[v / 3 % 4], dst[v / 12 % 2], v % 9 - 1, .nbatch = b[i].n);
            memcpy(c.batch, b[i].batch, sizeof c.batch);
            c.src_mask = b[i].src;
            c.wei_mask = b[i].wei;
            memcpy(c.chain, all[v / 12], sizeof c.chain);
            run(&c);
        }
}

static void empty_k_and_other_types(void **state) {
    (void)state;
    for (int w = 0; w < 3; ++w) {
        run(&(case_t)CASE(5, 20, 0, PLAIN, (layout_t)w, PLAIN, 1, .chain = {PC_RELU}));
        run(&(case_t)CASE(5, 20, 0, PLAIN, (layout_t)w, PLAIN, -1, .chain = {PC_MUL_SCALAR, PC_ADD}));
        run(&(case_t)CASE(33, 40, 0, PLAIN, (layout_t)w, PLAIN, 1, .nbatch = 1, .batch = {3}, .src_mask = 1,
                          .wei_mask = 1));
        run(&(case_t)CASE(0, 20, 4, PLAIN, (layout_t)w, PLAIN, 1));
        run(&(case_t)CASE(5, 0, 4, PLAIN, (layout_t)w, PLAIN, -1));
    }
    run(&(case_t)CASE(33, 40, 20, PLAIN, ANY, PLAIN, 1, .chain = {PC_RELU}, .dst_dt = dnnl_tp_bf16,
                      .bia_dt = dnnl_tp_bf16));
    run(&(case_t)CASE(33, 40, 20, PLAIN, ANY, PLAIN, 3, .chain = {PC_ADD}, .dst_dt = dnnl_tp_f16,
                      .bia_dt = dnnl_tp_f16, .real = true));
}

static void special_values(void **state) {
    (void)state;
    static const float v[] = {__builtin_nanf(""), __builtin_inff(), -__builtin_inff()};
    for (int i = 0; i < 3; ++i)
        for (int w = 0; w < 3; ++w) {
            run(&(case_t)CASE(19, 39, 23, PLAIN, (layout_t)w, PLAIN, 1, .chain = {PC_RELU}, .special = v[i]));
            run(&(case_t)CASE(19, 39, 23, PLAIN, (layout_t)w, PLAIN, -1, .special = v[i]));
        }
}

static void rows_mode(void **state) {
    (void)state;
    if (!runs_cpu_code(targets[0].engine)) return;
    static const int64_t ms[] = {40, 100, 300};
    static const pc_step_t all[][PC_MAX_STEPS] = {{0}, {PC_GELU_ERF}, {PC_ADD}, {PC_MUL_SCALAR, PC_ADD_ROWS}};
    for (size_t i = 0; i < 3; ++i)
        for (int64_t rows = 1; rows <= ms[i]; rows += rows < 20 ? 1 : 17)
            for (int w = 0; w < 4; ++w) {
                case_t c = CASE(ms[i], 80, 40, PLAIN, w == 3 ? TRANS : (layout_t)w, PLAIN, 1, .real = true,
                                .rows = rows);
                memcpy(c.chain, all[(rows + w) % 4], sizeof c.chain);
                run(&c);
            }
}

/* The sizes come with the memories; the descriptor of the primitive knows which dims those are. */
static void runtime_dims(void **state) {
    (void)state;
    static const int64_t ms[] = {1, 7, 64, 131}, ns[] = {1, 17, 96}, ks[] = {1, 30, 2500};
    for (int mask = 1; mask < 16; ++mask)
        for (size_t i = 0; i < 4; ++i)
            for (int v = 0; v < 4; ++v) {
                const int64_t m = ms[i], n = ns[(i + (size_t)v) % 3], k = ks[(i + (size_t)mask) % 3];
                const int nbatch = mask & 8 ? 1 : 0;
                case_t c =
                    CASE(m, n, k, v == 1 ? TRANS : PLAIN, v == 2 ? TRANS : PLAIN, PLAIN, v % 2 ? 1 : -1,
                         .nbatch = nbatch, .batch = {3}, .src_mask = 1, .wei_mask = v & 1);
                if (v == 3) c.chain[0] = PC_RELU, c.chain[1] = PC_SUM;
                if (v == 0) c.chain[0] = PC_SUM, c.chain[1] = PC_GELU_ERF, c.real = true;
                pc_problem_t p;
                build(&p, &c);
                dnnl_tp_memory_desc_t *given[] = {&p.src, &p.wei, &p.bia, &p.dst};
                const int64_t rt = DNNL_TP_RUNTIME_DIM_VAL;
                for (int t = 0; t < 4; ++t) {
                    if (!*given[t]) continue;
                    p.actual[t] = *given[t];
                    dnnl_tp_dims_t dims;
                    const int nd = p.actual[t]->ndims;
                    memcpy(dims, p.actual[t]->dims, sizeof dims);
                    if (nbatch && dims[0] != 1) dims[0] = rt;
                    if (mask & 1 && (t == 0 || t == 3)) dims[nd - 2] = rt;
                    if (mask & 2 && (t == 1 || t == 3 || (t == 2 && dims[nd - 1] != 1))) dims[nd - 1] = rt;
                    if (mask & 2 && t == 2 && dims[nd - 1] == 1 && n == 1) dims[nd - 1] = rt;
                    if (mask & 4) {
                        if (t == 0) dims[nd - 1] = rt;
                        if (t == 1) dims[nd - 2] = rt;
                    }
                    const bool is_trans = (t == 0 && v == 1) || (t == 1 && v == 2);
                    const dnnl_tp_format_tag_t tag = nd == 2    ? is_trans ? dnnl_tp_ba : dnnl_tp_ab
                                                     : is_trans ? dnnl_tp_acb
                                                                : dnnl_tp_abc;
                    const dnnl_tp_data_type_t dt = p.actual[t]->data_type;
                    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(given[t], nd, dims, dt, tag));
                }
                for (int t = 0; t < NTARGETS; ++t)
                    if (runs(t))
                        pc_check(&p, targets[t].engine, targets[t].stream, targets[t].impl, NULL, NULL);
                pc_free(&p);
            }
}

/* Results do not depend on the threads: bits are those of one thread, for every shape that is split
 * differently. */
static void threads(void **state) {
    (void)state;
    static const struct {
        int64_t m, n, k, batch;
        layout_t src, wei;
        pc_step_t chain[PC_MAX_STEPS];
    } list[] = {{257, 97, 130, 0, PLAIN, ANY, {PC_GELU_ERF}},
                {8, 1152, 100, 0, PLAIN, ANY, {0}},
                {1, 1030, 300, 0, PLAIN, PLAIN, {0}},
                {300, 33, 64, 0, TRANS, TRANS, {PC_ADD, PC_RELU}},
                {131, 200, 70, 0, PLAIN, PLAIN, {PC_MUL_SCALAR, PC_ADD_ROWS}},
                {40, 50, 2500, 0, PLAIN, ANY, {PC_SUM}},
                {4, 600, 2500, 0, PLAIN, ANY, {PC_RELU}},
                {13, 300, 1100, 0, PLAIN, ANY, {PC_ADD, PC_GELU_ERF}},
                {13, 1024, 700, 0, PLAIN, PLAIN, {PC_ADD}},
                {33, 65, 40, 7, PLAIN, TRANS, {PC_MUL_SCALAR, PC_ADD_COLS}},
                {90, 48, 64, 5, TRANS, PLAIN, {0}}};
    int n;
    const place_t *at = places(&n);
    for (size_t i = 0; i < sizeof list / sizeof *list; ++i) {
        case_t c = CASE(list[i].m, list[i].n, list[i].k, list[i].src, list[i].wei, PLAIN, 1, .real = true);
        if (list[i].batch) c.nbatch = 1, c.batch[0] = list[i].batch, c.src_mask = c.wei_mask = 1;
        memcpy(c.chain, list[i].chain, sizeof c.chain);
        pc_problem_t p;
        build(&p, &c);
        void *one = NULL, *more = NULL;
        size_t bytes = 0, bytes_more = 0;
        for (int t = 0; t < n; ++t) {
            pc_check(&p, at[t].engine, at[t].stream, NULL, &more, &bytes_more);
            if (at[t].threads == 1) {
                free(one);
                one = more;
                bytes = bytes_more;
            } else {
                assert_int_equal(bytes, bytes_more);
                assert_memory_equal(one, more, bytes);
                free(more);
            }
        }
        free(one);
        pc_free(&p);
    }
    places_free();
}

/* Layout any of weights is packed; its size is what the documents say. */
static void any_is_packed(void **state) {
    (void)state;
    if (!runs_cpu_code(targets[0].engine)) skip();
    pc_problem_t p;
    build(&p, &(case_t)CASE(8, 50, 20, ANY, ANY, ANY, 1));
    dnnl_tp_primitive_desc_t pd;
    CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, targets[0].engine, p.src, p.wei, p.bia, p.dst, NULL));
    const dtp_md_t *wei = dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_weights_md, 0);
    assert_true(md_matches(wei, "BA16a16b"));
    assert_int_equal(dtp_md_size(wei), 64 * 32 * 4);
    assert_true(dtp_md_is_dense_row_major(dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_dst_md, 0)));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    pc_free(&p);
}

/* What the micro-kernels do not serve goes to the reference, and nothing else does. */
static void dispatch(void **state) {
    (void)state;
    if (!runs_cpu_code(targets[0].engine)) skip();
    const dnnl_tp_dims_t a = {32, 64}, b = {64, 48}, c = {32, 48};
    static const struct {
        dnnl_tp_data_type_t src, wei, dst;
        dnnl_tp_format_tag_t tag;
        const char *impl;
    } row[] = {{dnnl_tp_f32, dnnl_tp_f32, dnnl_tp_f32, dnnl_tp_ab, "ukr:avx512"},
               {dnnl_tp_f32, dnnl_tp_f32, dnnl_tp_f32, dnnl_tp_ba, "ukr:avx512"},
               {dnnl_tp_f32, dnnl_tp_f32, dnnl_tp_bf16, dnnl_tp_format_tag_any, "ukr:avx512"},
               {dnnl_tp_f32, dnnl_tp_f32, dnnl_tp_f32, dnnl_tp_BA16a48b, "ref:any"},
               {dnnl_tp_f32, dnnl_tp_f32, dnnl_tp_f32, dnnl_tp_BA16a64b, "ukr:avx512"},
               {dnnl_tp_bf16, dnnl_tp_bf16, dnnl_tp_f32, dnnl_tp_ab, NULL}, /* the target's own */
               {dnnl_tp_bf16, dnnl_tp_bf16, dnnl_tp_bf16, dnnl_tp_format_tag_any, NULL},
               {dnnl_tp_bf16, dnnl_tp_f32, dnnl_tp_f32, dnnl_tp_ab, "ref:any"},
               {dnnl_tp_u8, dnnl_tp_s8, dnnl_tp_s32, dnnl_tp_ab, "ref:any"}};
    enum { ROWS = sizeof row / sizeof *row };
    for (int i = 0; i < 2 * ROWS; ++i) {
        const target_t *t = &targets[NTARGETS - 1 - i / ROWS];
        if (!t->engine) continue;
        const char *impl = row[i % ROWS].impl ? row[i % ROWS].impl : t->impl;
        dnnl_tp_memory_desc_t src, wei, dst;
        CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&src, 2, a, row[i % ROWS].src, dnnl_tp_ab));
        CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&wei, 2, b, row[i % ROWS].wei, row[i % ROWS].tag));
        CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&dst, 2, c, row[i % ROWS].dst, dnnl_tp_ab));
        dnnl_tp_primitive_desc_t pd;
        CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, t->engine, src, wei, NULL, dst, NULL));
        assert_string_equal(pd->impl->name, impl);
        CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
        CHECK_OK(dnnl_tp_memory_desc_destroy(src));
        CHECK_OK(dnnl_tp_memory_desc_destroy(wei));
        CHECK_OK(dnnl_tp_memory_desc_destroy(dst));
    }
}

/* A limit above what the processor has changes nothing; the limit with the name of bf16 puts its products first. */
static void limits_and_the_order_of_bf16(void **state) {
    (void)state;
    static const dnnl_tp_cpu_isa_t limits[] = {
        dnnl_tp_cpu_isa_default, dnnl_tp_cpu_isa_avx512_core_fp16, dnnl_tp_cpu_isa_avx512_core_amx,
        dnnl_tp_cpu_isa_avx10_2_512_amx_2, dnnl_tp_cpu_isa_avx512_core_bf16};
    enum { NLIMITS = sizeof limits / sizeof *limits };
    unsigned isa[NLIMITS];
    for (int i = 0; i < NLIMITS; ++i) {
        dnnl_tp_engine_attr_t attr;
        dnnl_tp_engine_t engine;
        CHECK_OK(dnnl_tp_engine_attr_create(&attr));
        CHECK_OK(dnnl_tp_engine_attr_set_max_isa(attr, limits[i]));
        CHECK_OK(dnnl_tp_engine_create_v2(&engine, test_engine_kind(), 0, attr));
        isa[i] = engine->isa;
        CHECK_OK(dnnl_tp_engine_destroy(engine));
        CHECK_OK(dnnl_tp_engine_attr_destroy(attr));
    }
    for (int i = 1; i < NLIMITS - 1; ++i) assert_int_equal(isa[i], isa[0]);
    assert_int_equal(isa[NLIMITS - 1], isa[0] & ~(unsigned)DTP_ISA_SLOW_BF16);
    for (int i = 0; i < NTARGETS; ++i) /* portable code has no bit at all */
        if (targets[i].engine) assert_int_equal(targets[i].engine->isa & DTP_ISA_SLOW_BF16, 0);
}

/* Where the processor is slower at bf16 products, those that multiply in f32 come first, each is listed once, and a clone
 * stays with its implementation. */
static void order_where_bf16_is_slow(void **state) {
    (void)state;
    const target_t *t = &targets[NTARGETS - 1];
    if (!t->engine) skip();
    static const char *const fast[] = {"ukr:avx512_bf16", "ukr:avx512"}, *const slow[] = {"ukr:avx512",
                                                                                          "ukr:avx512_bf16"};
    const unsigned isa = t->engine->isa;
    for (int is_slow = 0; is_slow < 2; ++is_slow) {
        t->engine->isa = is_slow ? isa | DTP_ISA_SLOW_BF16 : isa & ~(unsigned)DTP_ISA_SLOW_BF16;
        dnnl_tp_memory_desc_t md;
        dnnl_tp_primitive_desc_t pd, clone;
        const dnnl_tp_dims_t dims = {16, 16};
        CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&md, 2, dims, dnnl_tp_bf16, dnnl_tp_ab));
        CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, t->engine, md, md, NULL, md, NULL));
        for (int i = 0; i < 2; ++i) {
            assert_string_equal(pd->impl->name, (is_slow ? slow : fast)[i]);
            CHECK_OK(dnnl_tp_primitive_desc_clone(&clone, pd));
            assert_ptr_equal(clone->impl, pd->impl);
            CHECK_OK(dnnl_tp_primitive_desc_destroy(clone));
            CHECK_OK(dnnl_tp_primitive_desc_next_impl(pd));
        }
        assert_string_equal(pd->impl->name, "ukr:avx2");
        CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
        CHECK_OK(dnnl_tp_memory_desc_destroy(md));
    }
    t->engine->isa = isa;
}

/* src and weights of bf16: every kernel serves them, and what it packs. */
static void bf16_operands(void **state) {
    operands = dnnl_tp_bf16;
    for (int i = 0; i < 2; ++i) {
        results = i ? dnnl_tp_bf16 : dnnl_tp_f32;
        if (!i) tails(state), batches(state);
        layouts(state);
        long_k(state);
        chains(state);
        empty_k_and_other_types(state);
        special_values(state);
        rows_mode(state);
        runtime_dims(state);
        threads(state);
    }
    operands = results = dnnl_tp_f32;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tails),
        cmocka_unit_test(layouts),
        cmocka_unit_test(long_k),
        cmocka_unit_test(chains),
        cmocka_unit_test(batches),
        cmocka_unit_test(empty_k_and_other_types),
        cmocka_unit_test(special_values),
        cmocka_unit_test(rows_mode),
        cmocka_unit_test(runtime_dims),
        cmocka_unit_test(threads),
        cmocka_unit_test(any_is_packed),
        cmocka_unit_test(dispatch),
        cmocka_unit_test(bf16_operands),
        cmocka_unit_test(order_where_bf16_is_slow),
        cmocka_unit_test(limits_and_the_order_of_bf16),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
