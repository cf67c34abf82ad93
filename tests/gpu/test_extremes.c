/* Values and sizes at which kernels have gone wrong without a test that saw it: rows far below zero, prefixes of -infinity, the rounding
 * of tf32, more rows of tiles than a group has, odd numbers of parts of a sum, scales of a product whose transpose is computed, ids of
 * 64 bits, walks of more than 2^32 elements, lines more than 2^31 bytes apart. Results are compared with the definition, in f64. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/scalar.h"
#include "common/primitive/primitive_desc.h"
#include "common/problems/graph/attention.h"
#include "common/problems/graph/gather.h"
#include "gpu/device/view.h"
#include "gpu/eltwise/eltwise_args.h"
#include "gpu/fake/fatbin.h"
#include "gpu/gpu_world.h"
#include "support/tensor.h"
#include "support/upload.h"

/* ---- Tensors ------------------------------------------------------------------------------------------ */

static dtp_md_t layout(dnnl_tp_data_type_t dt, int64_t rows, int64_t cols, const char *tag) {
    dtp_md_t md;
    CHECK_OK(dtp_md_init_layout(&md, 2, (int64_t[]){rows, cols}, dt, tag));
    return md;
}
static size_t elements(const dtp_md_t *md) { return dtp_md_size(md) / dtp_type_size(md->data_type); }
static int64_t at(const dtp_md_t *md, int64_t row, int64_t col) {
    return row * md->strides[0] + col * md->strides[1];
}

/* x: in the order of memory; becomes what the type has of it. */
static dnnl_tp_memory_t memory_of(const dtp_md_t *md, double *x) {
    dnnl_tp_memory_t m;
    const size_t n = elements(md);
    void *data = malloc(dtp_md_size(md));
    for (size_t i = 0; i < n; ++i) {
        dtp_store(md->data_type, data, (int64_t)i, x[i]);
        x[i] = dtp_load(md->data_type, data, (int64_t)i);
    }
    CHECK_OK(dnnl_tp_memory_create(&m, md, gpu, DNNL_TP_MEMORY_ALLOCATE));
    test_upload(m, data, dtp_md_size(md));
    free(data);
    return m;
}
static double *values_of(dnnl_tp_memory_t m, const dtp_md_t *md) {
    void *data = malloc(dtp_md_size(md));
    double *x = malloc(elements(md) * sizeof *x);
    test_download(m, data, dtp_md_size(md));
    for (size_t i = 0; i < elements(md); ++i) x[i] = dtp_load(md->data_type, data, (int64_t)i);
    free(data);
    return x;
}

/* Executes, and destroys the primitive and what it read. The last argument is dst: its values. */
static double *result_of(dnnl_tp_primitive_desc_t pd, int n, dnnl_tp_exec_arg_t *args, const dtp_md_t *dst,
                         dnnl_tp_status_t status) {
    dnnl_tp_primitive_t p;
    dnnl_tp_stream_t s = gpu_stream();
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    CHECK_OK(dnnl_tp_memory_create(&args[n - 1].memory, dst, gpu, DNNL_TP_MEMORY_ALLOCATE));
    CHECK_OK(dnnl_tp_primitive_execute(p, s, n, args));
    CHECK_STATUS(dnnl_tp_stream_wait(s), status);
    double *y = values_of(args[n - 1].memory, dst);
    for (int i = 0; i < n; ++i) CHECK_OK(dnnl_tp_memory_destroy(args[i].memory));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_stream_destroy(s));
    return y;
}

/* ---- Functions of elements ---------------------------------------------------------------------------- */

static double function_of(int alg, double x, double a) {
    switch (alg) {
    case dnnl_tp_eltwise_mish: return x * tanh(log1p(exp(x)));
    case dnnl_tp_eltwise_swish: return x / (1 + exp(-a * x));
    case dnnl_tp_eltwise_gelu_tanh: return x / (1 + exp(-1.5957691216057308 * x * (1 + .044715 * x * x)));
    case dnnl_tp_eltwise_soft_relu: return a * x > 40 ? x : log1p(exp(a * x)) / a;
    default: return 1 / (1 + exp(-x));
    }
}

/* Where an exponential or its inverse is no normal number any more, and the result is one. */
static void functions_at_their_ends(void **state) {
    (void)state;
    enum { N = 1200 };
    static const struct {
        int alg;
        double a;
    } of[] = {{dnnl_tp_eltwise_mish, 0},         {dnnl_tp_eltwise_swish, 1},
              {dnnl_tp_eltwise_swish, .125},     {dnnl_tp_eltwise_gelu_tanh, 0},
              {dnnl_tp_eltwise_soft_relu, 1},    {dnnl_tp_eltwise_soft_relu, .0078125},
              {dnnl_tp_eltwise_soft_relu, 2e37}, {dnnl_tp_eltwise_logistic, 0}};
    const double least = ldexp(1, -126), relative = 4e-5;
    const dtp_md_t md = layout(dnnl_tp_f32, 1, N, "ab");
    for (size_t k = 0; k < sizeof of / sizeof *of; ++k) {
        dnnl_tp_primitive_desc_t pd;
        const double scale = of[k].a > 0 ? of[k].a : 1;
        double x[N];
        for (int i = 0; i < N; ++i) x[i] = (i - 1100) * .1 / scale;
        if (of[k].alg == dnnl_tp_eltwise_gelu_tanh)
            for (int i = 0; i < N; ++i) x[i] = (i - 1100) * .01;
        CHECK_OK(dnnl_tp_eltwise_forward_primitive_desc_create(&pd, gpu, dnnl_tp_forward_inference,
                                                               (dnnl_tp_alg_kind_t)of[k].alg, &md, &md,
                                                               (float)of[k].a, 0, NULL));
        dnnl_tp_exec_arg_t args[] = {{DNNL_TP_ARG_SRC, memory_of(&md, x)}, {DNNL_TP_ARG_DST, NULL}};
        double *y = result_of(pd, 2, args, &md, dnnl_tp_success);
        for (int i = 0; i < N; ++i) {
            const double want = function_of(of[k].alg, x[i], (double)(float)of[k].a);
            if (!(fabs(y[i] - want) <= (fabs(want) < least ? least : relative * fabs(want))))
                fail_msg("function %d, alpha %g: %g becomes %g, not %g", of[k].alg, of[k].a, x[i], y[i],
                         want);
        }
        free(y);
    }
}

/* ---- Products ----------------------------------------------------------------------------------------- */

typedef struct {
    dnnl_tp_data_type_t dt;
    int64_t m, n, k;
    const char *src, *wei, *dst;
    bool scales; /* 0.5 of src, powers of 2 of the columns of weights */
} product_t;

static double small(test_rng_t *r) { return (double)(test_rand(r) % 7) - 3; }

static void check_product(const product_t *c) {
    const dtp_md_t src = layout(c->dt, c->m, c->k, c->src), wei = layout(c->dt, c->k, c->n, c->wei),
                   dst = layout(dnnl_tp_f32, c->m, c->n, c->dst);
    dtp_md_t one, many;
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_primitive_desc_t pd;
    test_rng_t r = test_rng(5);
    double *a = malloc(elements(&src) * sizeof *a), *b = malloc(elements(&wei) * sizeof *b),
           *by = malloc((size_t)c->n * sizeof *by), half = 0.5;
    for (size_t i = 0; i < elements(&src); ++i) a[i] = small(&r);
    for (size_t i = 0; i < elements(&wei); ++i) b[i] = small(&r);
    for (int64_t j = 0; j < c->n; ++j) by[j] = ldexp(1, (int)(j % 5) - 2);
    CHECK_OK(dtp_md_init_layout(&one, 1, (int64_t[]){1}, dnnl_tp_f32, "a"));
    CHECK_OK(dtp_md_init_layout(&many, 1, (int64_t[]){c->n}, dnnl_tp_f32, "a"));
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    if (c->scales) {
        CHECK_OK(dnnl_tp_primitive_attr_set_scales_mask(attr, DNNL_TP_ARG_SRC, 0));
        CHECK_OK(dnnl_tp_primitive_attr_set_scales_mask(attr, DNNL_TP_ARG_WEIGHTS, 2));
    }
    CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, gpu, &src, &wei, NULL, &dst, attr));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    dnnl_tp_exec_arg_t args[5] = {{DNNL_TP_ARG_SRC, memory_of(&src, a)},
                                  {DNNL_TP_ARG_WEIGHTS, memory_of(&wei, b)}};
    int n = 2;
    if (c->scales) {
        args[n++] = (dnnl_tp_exec_arg_t){DNNL_TP_ARG_ATTR_SCALES | DNNL_TP_ARG_SRC, memory_of(&one, &half)};
        args[n++] = (dnnl_tp_exec_arg_t){DNNL_TP_ARG_ATTR_SCALES | DNNL_TP_ARG_WEIGHTS, memory_of(&many, by)};
    }
    args[n++].arg = DNNL_TP_ARG_DST;
    double *y = result_of(pd, n, args, &dst, dnnl_tp_success);
    for (int64_t i = 0; i < c->m; ++i)
        for (int64_t j = 0; j < c->n; ++j) {
            double want = 0;
            for (int64_t k = 0; k < c->k; ++k) want += a[at(&src, i, k)] * b[at(&wei, k, j)];
            if (c->scales) want *= half * by[j];
            if (y[at(&dst, i, j)] != want)
                fail_msg("%s %dx%dx%d, row %d, column %d: %g, not %g", dnnl_tp_dt2str(c->dt), (int)c->m,
                         (int)c->n, (int)c->k, (int)i, (int)j, y[at(&dst, i, j)], want);
        }
    free(a), free(b), free(by), free(y);
}

/* A group has 8 rows of tiles; parts of a sum are 512 long. */
static void products(void **state) {
    (void)state;
    static const product_t cases[] = {{dnnl_tp_bf16, 577, 130, 8, "ab", "ab", "ab", false},
                                      {dnnl_tp_f32, 1153, 70, 4, "ab", "ab", "ab", false},
                                      {dnnl_tp_bf16, 4, 8, 1536, "ab", "ab", "ab", false},
                                      {dnnl_tp_f32, 4, 8, 1536, "ab", "ba", "ab", false},
                                      {dnnl_tp_f32, 20, 8, 2560, "ab", "ab", "ab", false},
                                      {dnnl_tp_f32, 8, 24, 16, "ab", "ab", "ba", true},
                                      {dnnl_tp_bf16, 8, 24, 16, "ab", "ba", "ba", true},
                                      {dnnl_tp_f32, 8, 24, 16, "ab", "ab", "ab", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) check_product(&cases[i]);
}

/* To nearest, ties away from zero, 10 bits behind the point: numbers times ones are what tf32 has of them. */
static void tf32_rounds(void **state) {
    (void)state;
    enum { N = 32 };
    const double ulp = ldexp(1, -10);
    const double x[] = {1 + ulp / 2, 1 + ulp * .49, 1 + ulp * .51, -1 - ulp / 2, 3, 1 + 1.5 * ulp, ulp * .75};
    const double want[] = {1 + ulp, 1, 1 + ulp, -1 - ulp, 3, 1 + 2 * ulp, ulp * .75};
    enum { VALUES = sizeof x / sizeof *x };
    for (int side = 0; side < 2; ++side)
        for (int across = 0; across < 2; ++across) {
            const dtp_md_t src = layout(dnnl_tp_f32, N, N, "ab"),
                           wei = layout(dnnl_tp_f32, N, N, across ? "ba" : "ab");
            double a[N * N] = {0}, b[N * N] = {0};
            for (int i = 0; i < N; ++i)
                for (int k = 0; k < N; ++k) {
                    const double value = x[(i + k) % VALUES], unit = i == k;
                    a[at(&src, i, k)] = side ? unit : value;
                    b[at(&wei, i, k)] = side ? value : unit;
                }
            dnnl_tp_primitive_attr_t attr;
            dnnl_tp_primitive_desc_t pd;
            CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
            CHECK_OK(dnnl_tp_primitive_attr_set_fpmath_mode(attr, dnnl_tp_fpmath_mode_tf32));
            CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, gpu, &src, &wei, NULL, &src, attr));
            CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
            dnnl_tp_exec_arg_t args[] = {{DNNL_TP_ARG_SRC, memory_of(&src, a)},
                                         {DNNL_TP_ARG_WEIGHTS, memory_of(&wei, b)},
                                         {DNNL_TP_ARG_DST, NULL}};
            double *y = result_of(pd, 3, args, &src, dnnl_tp_success);
            for (int i = 0; i < N; ++i)
                for (int j = 0; j < N; ++j) assert_true(y[i * N + j] == want[(i + j) % VALUES]);
            free(y);
        }
}

/* ---- Softmax ------------------------------------------------------------------------------------------ */

typedef struct {
    int64_t rows, cols;
    const char *tag;
    int64_t masked; /* elements of -infinity in front of each row */
    bool is_log, chain;
} softmax_t;

static void check_softmax(const softmax_t *c) {
    const dtp_md_t md = layout(dnnl_tp_f32, c->rows, c->cols, c->tag);
    double *x = malloc(elements(&md) * sizeof *x);
    test_rng_t r = test_rng(9);
    for (int64_t i = 0; i < c->rows; ++i)
        for (int64_t j = 0; j < c->cols; ++j)
            x[at(&md, i, j)] = j < c->masked ? -(double)INFINITY : (double)test_uniform(&r, -320, -300);
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_post_ops_t po;
    dnnl_tp_primitive_desc_t pd;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    if (c->chain) CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_linear, 1, 0));
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
    CHECK_OK(dnnl_tp_softmax_forward_primitive_desc_create(
        &pd, gpu, dnnl_tp_forward_inference, c->is_log ? dnnl_tp_softmax_log : dnnl_tp_softmax_accurate, &md,
        &md, 1, attr));
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    dnnl_tp_exec_arg_t args[] = {{DNNL_TP_ARG_SRC, memory_of(&md, x)}, {DNNL_TP_ARG_DST, NULL}};
    double *y = result_of(pd, 2, args, &md, dnnl_tp_success);
    for (int64_t i = 0; i < c->rows; ++i) {
        double most = -(double)INFINITY, sum = 0;
        for (int64_t j = 0; j < c->cols; ++j) most = fmax(most, x[at(&md, i, j)]);
        for (int64_t j = 0; j < c->cols; ++j) sum += exp(x[at(&md, i, j)] - most);
        for (int64_t j = 0; j < c->cols; ++j) {
            const double d = x[at(&md, i, j)] - most, want = c->is_log ? d - log(sum) : exp(d) / sum,
                         got = y[at(&md, i, j)];
            if (got != want && !(fabs(got - want) <= 1e-5 * (c->is_log + fabs(want))))
                fail_msg("rows of %d%s, row %d, element %d: %g, not %g", (int)c->cols,
                         c->chain ? ", chain" : "", (int)i, (int)j, got, want);
        }
    }
    free(x), free(y);
}

/* Held by a warp and by blocks of a few warps; read twice; columns. Prefixes are longer than what a thread has of a row. */
static void softmax_far_below(void **state) {
    (void)state;
    static const softmax_t cases[] = {
        {3, 64, "ab", 0, false, false},        {3, 64, "ab", 32, false, false},
        {3, 1544, "ab", 0, false, false},      {2, 1544, "ab", 1000, false, false},
        {3, 72, "ab", 0, false, true},         {3, 71, "ab", 40, false, true},
        {2, 1100, "ab", 0, false, true},       {2, 1100, "ab", 1040, true, true},
        {1, 17000, "ab", 16990, false, false}, {40, 40, "ba", 0, false, false},
        {40, 40, "ba", 33, false, false},      {132, 20, "ba", 12, true, false},
        {2, 1101, "ab", 1100, false, true},    {3, 1544, "ab", 8, true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) check_softmax(&cases[i]);
}

/* ---- Gather ------------------------------------------------------------------------------------------- */

/* Outside are taken as the nearest row, and told; 2^32 + 3 is not 3. */
static void ids_of_64_bits(void **state) {
    (void)state;
    enum { ROWS = 8, COLS = 12, N = 3 };
    static const int64_t wrong[] = {INT64_C(0x100000003), -INT64_C(0xfffffffd), 3};
    for (int k = 0; k < 3; ++k) {
        const bool outside = wrong[k] != 3;
        const dtp_md_t table = layout(dnnl_tp_f32, ROWS, COLS, "ab"),
                       dst = layout(dnnl_tp_f32, N, COLS, "ab");
        dtp_gather_desc_t op;
        dnnl_tp_primitive_desc_t pd;
        double x[ROWS * COLS];
        const int64_t ids[N] = {0, wrong[k], 7};
        for (int i = 0; i < ROWS * COLS; ++i) x[i] = i;
        memset(&op, 0, sizeof op);
        op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_GATHER;
        op.table = table, op.dst = dst;
        CHECK_OK(dtp_md_init_strides(&op.ids, 1, (int64_t[]){N}, dnnl_tp_s64, NULL));
        CHECK_OK(dtp_pd_create(&pd, gpu, &op.base, sizeof op, NULL));
        dnnl_tp_exec_arg_t args[] = {
            {DNNL_TP_ARG_WEIGHTS, memory_of(&table, x)}, {DNNL_TP_ARG_SRC, NULL}, {DNNL_TP_ARG_DST, NULL}};
        CHECK_OK(dnnl_tp_memory_create(&args[1].memory, &op.ids, gpu, DNNL_TP_MEMORY_ALLOCATE));
        test_upload(args[1].memory, ids, sizeof ids);
        double *y = result_of(pd, 3, args, &dst, outside ? dnnl_tp_runtime_error : dnnl_tp_success);
        const int row = !outside ? 3 : wrong[k] < 0 ? 0 : ROWS - 1;
        for (int j = 0; j < COLS; ++j) assert_true(y[COLS + j] == x[row * COLS + j]);
        free(y);
    }
}

/* ---- Far apart ---------------------------------------------------------------------------------------- */

/* Lines of operands that no memory of the driver holds: regions of their own, as far apart as their strides say. */
enum { MOST_LINES = 64 };
static ptx_region_t lines[MOST_LINES];
static size_t num_lines;
static const uint64_t far_away = UINT64_C(1) << 50;

static bool run_with_lines(const ptx_kernel_t *kernel, const ptx_launch_t *launch, char *error,
                           size_t error_bytes) {
    ptx_launch_t l = *launch;
    ptx_region_t *all = malloc((launch->num_regions + num_lines) * sizeof *all);
    memcpy(all, launch->regions, launch->num_regions * sizeof *all);
    memcpy(all + launch->num_regions, lines, num_lines * sizeof *all); /* behind all others */
    l.regions = all;
    l.num_regions += num_lines;
    const bool done = ptx_run(kernel, &l, error, error_bytes);
    free(all);
    return done;
}

/* Lines of values in the type, `stride` elements apart; the address of the first. */
static void *far_lines(dnnl_tp_data_type_t dt, int n, int64_t length, int64_t stride, const double *x) {
    const size_t size = dtp_type_size(dt);
    const uint64_t first = far_away + (num_lines ? UINT64_C(1) << 49 : 0);
    for (int i = 0; i < n; ++i) {
        unsigned char *host = malloc((size_t)length * size);
        for (int64_t j = 0; j < length; ++j) dtp_store(dt, host, j, x[i * length + j]);
        lines[num_lines++] =
            (ptx_region_t){first + (uint64_t)i * (uint64_t)stride * size, (size_t)length * size, host, NULL};
    }
    return (void *)(uintptr_t)first;
}
static void free_lines(void) {
    while (num_lines) free(lines[--num_lines].host);
}

enum { FAR_ROWS = 5, FAR_COLS = 16 };
static const int64_t far_stride = (INT64_C(1) << 30) + 64;

static void check_far_product(dnnl_tp_data_type_t dt, bool weights, dnnl_tp_fpmath_mode_t mode) {
    enum { M = FAR_ROWS, K = FAR_COLS, N = FAR_COLS, MOST = FAR_COLS * FAR_COLS };
    double far[MOST], near[MOST];
    test_rng_t r = test_rng(11);
    for (int i = 0; i < MOST; ++i) far[i] = small(&r), near[i] = small(&r);
    const int n_lines = weights ? K : M;
    dtp_md_t apart, dst = layout(dnnl_tp_f32, M, N, "ab"),
                    other = weights ? layout(dt, M, K, "ab") : layout(dt, K, N, "ab");
    CHECK_OK(dtp_md_init_strides(&apart, 2, (int64_t[]){n_lines, FAR_COLS}, dt, (int64_t[]){far_stride, 1}));
    void *first = far_lines(dt, n_lines, FAR_COLS, far_stride, far), *x, *y;
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t p;
    dnnl_tp_stream_t s = gpu_stream();
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_primitive_attr_set_fpmath_mode(attr, mode));
    CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, gpu, weights ? &other : &apart,
                                                  weights ? &apart : &other, NULL, &dst, attr));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    dnnl_tp_memory_t m_other = memory_of(&other, near), m_dst;
    CHECK_OK(dnnl_tp_memory_create(&m_dst, &dst, gpu, DNNL_TP_MEMORY_ALLOCATE));
    CHECK_OK(dnnl_tp_memory_get_data_handle(m_other, &x));
    CHECK_OK(dnnl_tp_memory_get_data_handle(m_dst, &y));
    const dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, weights ? x : first},
                                          {DNNL_TP_ARG_WEIGHTS, weights ? first : x},
                                          {DNNL_TP_ARG_DST, y}};
    CHECK_OK(dnnl_tp_primitive_execute_handles(p, s, 3, args));
    if (dnnl_tp_stream_wait(s) != dnnl_tp_success) fail_msg("%s: %s", pd->impl->name, fake_cuda_trap());
    double *got = values_of(m_dst, &dst);
    const double *a = weights ? near : far, *b = weights ? far : near;
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) {
            double want = 0;
            for (int k = 0; k < K; ++k) want += a[i * K + k] * b[k * N + j];
            assert_true(got[i * N + j] == want);
        }
    free(got);
    free_lines();
    CHECK_OK(dnnl_tp_memory_destroy(m_other));
    CHECK_OK(dnnl_tp_memory_destroy(m_dst));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_stream_destroy(s));
}

static void products_of_far_lines(void **state) {
    (void)state;
    fake_cuda_run_by(run_with_lines);
    for (int weights = 0; weights < 2; ++weights) {
        check_far_product(dnnl_tp_bf16, weights, dnnl_tp_fpmath_mode_strict);
        check_far_product(dnnl_tp_f32, weights, dnnl_tp_fpmath_mode_strict);
        check_far_product(dnnl_tp_f32, weights, dnnl_tp_fpmath_mode_tf32);
    }
    fake_cuda_run_by(NULL);
}

/* One query, and keys and values that are far apart: which of the kernels d and the mode choose. */
static void check_far_attention(dnnl_tp_data_type_t dt, int64_t d, dnnl_tp_fpmath_mode_t mode) {
    enum { S = FAR_ROWS, MOST_D = 132 };
    double x[4][S * MOST_D], scores[S];
    dtp_attention_desc_t op;
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t p;
    test_rng_t r = test_rng(13);
    for (int i = 0; i < 3; ++i)
        for (int64_t j = 0; j < S * d; ++j) x[i][j] = small(&r) / 4;
    memset(&op, 0, sizeof op);
    op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_ATTENTION;
    op.heads = 1, op.scale = .5f;
    const int64_t dims[] = {1, S, d}, strides[] = {S * far_stride, far_stride, 1};
    CHECK_OK(dtp_md_init_strides(&op.q, 3, dims, dt, NULL));
    CHECK_OK(dtp_md_init_strides(&op.k, 3, dims, dt, strides));
    op.dst = op.q, op.v = op.k;
    void *keys = far_lines(dt, S, d, far_stride, x[1]), *values = far_lines(dt, S, d, far_stride, x[2]), *q,
         *y;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_primitive_attr_set_fpmath_mode(attr, mode));
    CHECK_OK(dtp_pd_create(&pd, gpu, &op.base, sizeof op, attr));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    dnnl_tp_memory_t m_q = memory_of(&op.q, x[0]), m_dst;
    dnnl_tp_stream_t s = gpu_stream();
    CHECK_OK(dnnl_tp_memory_create(&m_dst, &op.dst, gpu, DNNL_TP_MEMORY_ALLOCATE));
    CHECK_OK(dnnl_tp_memory_get_data_handle(m_q, &q));
    CHECK_OK(dnnl_tp_memory_get_data_handle(m_dst, &y));
    const dnnl_tp_exec_handle_t args[] = {
        {DNNL_TP_ARG_SRC_0, q}, {DNNL_TP_ARG_SRC_1, keys}, {DNNL_TP_ARG_SRC_2, values}, {DNNL_TP_ARG_DST, y}};
    CHECK_OK(dnnl_tp_primitive_execute_handles(p, s, 4, args));
    if (dnnl_tp_stream_wait(s) != dnnl_tp_success) fail_msg("%s: %s", pd->impl->name, fake_cuda_trap());
    double *got = values_of(m_dst, &op.dst);
    for (int i = 0; i < S; ++i) {
        double sum = 0;
        for (int k = 0; k < S; ++k) {
            double score = 0;
            for (int64_t c = 0; c < d; ++c) score += x[0][i * d + c] * x[1][k * d + c];
            sum += scores[k] = exp(score * .5);
        }
        for (int64_t c = 0; c < d; ++c) {
            double want = 0;
            for (int k = 0; k < S; ++k) want += scores[k] / sum * x[2][k * d + c];
            assert_true(fabs(got[i * d + c] - want) < 1e-2);
        }
    }
    free(got);
    free_lines();
    CHECK_OK(dnnl_tp_memory_destroy(m_q));
    CHECK_OK(dnnl_tp_memory_destroy(m_dst));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_stream_destroy(s));
}

static void attention_of_far_lines(void **state) {
    (void)state;
    fake_cuda_run_by(run_with_lines);
    check_far_attention(dnnl_tp_bf16, 32, dnnl_tp_fpmath_mode_strict);
    check_far_attention(dnnl_tp_f32, 32, dnnl_tp_fpmath_mode_tf32);
    check_far_attention(dnnl_tp_f32, 32, dnnl_tp_fpmath_mode_strict);
    check_far_attention(dnnl_tp_f16, 132, dnnl_tp_fpmath_mode_strict);
    fake_cuda_run_by(NULL);
}

/* ---- Long walks --------------------------------------------------------------------------------------- */

extern const unsigned long long dtp_fatbin_eltwise[];

/* A block at element 2^32 of a walk over rows of 2^20 elements that begin one element apart: the kernel's text says which block it is. */
static void walks_beyond_32_bits(void **state) {
    (void)state;
    enum { ROW = 1 << 20, ROW_AT = 1 << 12, BLOCK = 256, N = ROW_AT + BLOCK, FIRST_BLOCK = 1 << 24 };
    static float x[N], y[N];
    char error[512] = "";
    fatbin_t fatbin;
    assert_true(fatbin_read(&fatbin, dtp_fatbin_eltwise, error, sizeof error));
    const char *text = fatbin_choose(&fatbin, 9, 0);
    char *edited = malloc(strlen(text) + 1);
    strcpy(edited, text);
    char *kernel = strstr(edited, "dtp_eltwise_any("), *block = kernel ? strstr(kernel, "%ctaid.x") : NULL;
    assert_non_null(block);
    memcpy(block, "16777216", strlen("%ctaid.x"));
    ptx_module_t *module = ptx_parse(edited, error, sizeof error);
    if (!module) fail_msg("%s", error);
    dtp_gpu_eltwise_args_t a;
    memset(&a, 0, sizeof a);
    const uint64_t from = 1 << 20, to = 1 << 24;
    a.src.data = (void *)(uintptr_t)from, a.dst.data = (void *)(uintptr_t)to;
    a.src.type = a.dst.type = dnnl_tp_f32;
    a.dims.ndims = 2;
    a.dims.wide = 1;
    a.dims.n = ((int64_t)FIRST_BLOCK + 1) * BLOCK;
    a.dims.dim[0] = dtp_gpu_dim(ROW);
    a.dims.dim[1] = dtp_gpu_dim(ROW_AT + 1);
    a.src.stride[0] = a.src.stride[1] = a.dst.stride[0] = a.dst.stride[1] = 1;
    for (int i = 0; i < N; ++i) x[i] = (float)i, y[i] = -1;
    const ptx_region_t regions[] = {{from, sizeof x, (unsigned char *)x, NULL},
                                    {to, sizeof y, (unsigned char *)y, NULL}};
    const ptx_launch_t launch = {.grid = {1, 1, 1},
                                 .block = {BLOCK, 1, 1},
                                 .params = &a,
                                 .regions = regions,
                                 .num_regions = 2,
                                 .seed = 1};
    if (!ptx_run(ptx_find(module, "dtp_eltwise_any"), &launch, error, sizeof error)) fail_msg("%s", error);
    for (int i = 0; i < N; ++i) assert_true(y[i] == (i < ROW_AT ? -1 : (float)i));
    ptx_free(module);
    free(edited);
    fatbin_free(&fatbin);
}

int main(void) {
    alarm(300);
#define TEST(name) cmocka_unit_test_setup_teardown(name, gpu_setup, gpu_teardown)
    const struct CMUnitTest tests[] = {TEST(functions_at_their_ends),
                                       TEST(products),
                                       TEST(tf32_rounds),
                                       TEST(softmax_far_below),
                                       TEST(ids_of_64_bits),
                                       TEST(products_of_far_lines),
                                       TEST(attention_of_far_lines),
                                       TEST(walks_beyond_32_bits)};
    return cmocka_run_group_tests_name("extremes", tests, NULL, NULL);
}
