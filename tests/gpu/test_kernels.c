/* Kernels of the CUDA engine on the fake driver, where benchdnn does not come: functions in the arithmetic of integers, memory
 * that is not aligned to vectors, post-operations, large indices; what is refused. */
#include <math.h>
#include <stdlib.h>

#include "common/primitive/primitive_desc.h"
#include "common/problems/binary.h"
#include "common/problems/eltwise.h"
#include "common/problems/graph/pool_normalize.h"
#include "common/problems/reduction.h"
#include "cpu/simd/vops.h"
#include "gpu/device/view.h"
#include "gpu/gpu_world.h"
#include "support/upload.h"
#include "support/tensor.h"

enum { ROWS = 5, COLS = 67, MAX_BYTES = ROWS * COLS * 8 };

/* From element 0 of the memory on. */
static size_t bytes_of(const dtp_md_t *md) {
    return dtp_md_size(md) + (size_t)md->offset0 * dtp_type_size(md->data_type);
}

static dnnl_tp_memory_t upload(const dtp_md_t *md, const void *data) {
    dnnl_tp_memory_t m;
    CHECK_OK(dnnl_tp_memory_create(&m, md, gpu, DNNL_TP_MEMORY_ALLOCATE));
    test_upload(m, data, bytes_of(md));
    return m;
}

/* Runs p, which is destroyed, on n memories, which are destroyed; result: of the last one. */
static void run_primitive(dnnl_tp_primitive_t p, int n, const int *arg, dnnl_tp_memory_t *memory,
                          void *result, size_t bytes) {
    dnnl_tp_exec_arg_t args[4];
    dnnl_tp_stream_t s = gpu_stream();
    for (int i = 0; i < n; ++i) args[i] = (dnnl_tp_exec_arg_t){arg[i], memory[i]};
    CHECK_OK(dnnl_tp_primitive_execute(p, s, n, args));
    CHECK_OK(dnnl_tp_stream_wait(s));
    test_download(memory[n - 1], result, bytes);
    for (int i = 0; i < n; ++i) CHECK_OK(dnnl_tp_memory_destroy(memory[i]));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_stream_destroy(s));
}

/* The same of pd, which is destroyed. */
static void run(dnnl_tp_primitive_desc_t pd, int n, const int *arg, dnnl_tp_memory_t *memory, void *result,
                size_t bytes) {
    dnnl_tp_primitive_t p;
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    run_primitive(p, n, arg, memory, result, bytes);
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
}

/* ---- Arithmetic of integers ---------------------------------------------------------------------------- */

static const dnnl_tp_data_type_t types[] = {dnnl_tp_s64, dnnl_tp_s32, dnnl_tp_s8, dnnl_tp_u8,
                                            dnnl_tp_boolean};
enum { NTYPES = sizeof types / sizeof *types };

static dtp_md_t matrix(dnnl_tp_data_type_t dt, int64_t rows, const char *layout) {
    dtp_md_t md;
    CHECK_OK(dtp_md_init_layout(&md, 2, (int64_t[]){rows, COLS}, dt, layout));
    return md;
}

/* Values beyond 2^53, signs, zeros. */
static void fill(unsigned char *x, const dtp_md_t *md, test_rng_t *r) {
    const size_t size = dtp_type_size(md->data_type);
    for (int64_t i = 0; i < dtp_md_nelems(md); ++i) {
        const uint64_t u = test_rand(r);
        int64_t v = (int64_t)(u << 32 | test_rand(r));
        if (u % 3 == 0) v = (int64_t)(u / 3 % 5) - 2;
        if (md->data_type == dnnl_tp_boolean) v &= 1;
        memcpy(x + (size_t)i * size, &v, size);
    }
}

static void check_binary(int alg, dnnl_tp_data_type_t dt, bool truth) {
    const dnnl_tp_data_type_t out = truth ? dnnl_tp_boolean : dt;
    dtp_binary_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = dnnl_tp_binary;
    op.alg = (dnnl_tp_alg_kind_t)alg;
    op.exact = 1;
    op.src0 = matrix(dt, ROWS, "ab");
    op.src1 = matrix(dt, 1, "ab");
    op.dst = matrix(out, ROWS, "ba");
    unsigned char x[MAX_BYTES], y[MAX_BYTES], z[MAX_BYTES], want[8];
    test_rng_t r = test_rng((uint64_t)dt);
    fill(x, &op.src0, &r);
    fill(y, &op.src1, &r);
    memset(z, 0xff, sizeof z);
    dnnl_tp_primitive_desc_t pd;
    CHECK_OK(dtp_pd_create(&pd, gpu, &op.base, sizeof op, NULL));
    check_impl(pd, "cuda:exact", dnnl_tp_alg_kind2str(op.alg));
    run(pd, 3, (int[]){DNNL_TP_ARG_SRC_0, DNNL_TP_ARG_SRC_1, DNNL_TP_ARG_DST},
        (dnnl_tp_memory_t[]){upload(&op.src0, x), upload(&op.src1, y), upload(&op.dst, z)}, z,
        dtp_md_size(&op.dst));
    const size_t size = dtp_type_size(dt), out_size = dtp_type_size(out);
    for (int64_t i = 0; i < ROWS * COLS; ++i) {
        memset(want, 0, sizeof want);
        dtp_exact(0, dt)->binary[dtp_ew_binary(alg)](
            &(dtp_binary_args_t){.x0 = (void *)(x + (size_t)i * size),
                                 .x1 = (void *)(y + (size_t)(i % COLS) * size),
                                 .y = (void *)want,
                                 .rows = 1,
                                 .cols = 1,
                                 .cs0 = 1,
                                 .cs1 = 1});
        if (truth) want[0] = memcmp(want, (const char[8]){0}, size) != 0;
        assert_memory_equal(z + (size_t)dtp_md_offset_linear(&op.dst, i) * out_size, want, out_size);
    }
}

static void integers_are_exact(void **state) {
    (void)state;
#define DTP_EW2(name, ...) DTP_ALG_##name,
    static const int algs[] = {
#include "common/base/elementwise.inc"
    };
    for (size_t a = 0; a < sizeof algs / sizeof *algs; ++a)
        for (int t = 0; t < NTYPES; ++t) {
            if (!dtp_ew_takes(algs[a], types[t])) continue;
            check_binary(algs[a], types[t], false);
            check_binary(algs[a], types[t], true);
        }
}

static void check_eltwise(int alg, dnnl_tp_data_type_t dt) {
    dtp_eltwise_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = dnnl_tp_eltwise;
    op.prop = dnnl_tp_forward_inference;
    op.alg = (dnnl_tp_alg_kind_t)alg;
    op.alpha = alg == DTP_ALG_clip ? -2.f : 3.f;
    op.beta = 5.f;
    op.exact = 1;
    op.src = op.dst = matrix(dt, ROWS, "ab");
    unsigned char x[MAX_BYTES], z[MAX_BYTES], want[MAX_BYTES];
    test_rng_t r = test_rng((uint64_t)dt);
    fill(x, &op.src, &r);
    memset(z, 0xff, sizeof z);
    dnnl_tp_primitive_desc_t pd;
    CHECK_OK(dtp_pd_create(&pd, gpu, &op.base, sizeof op, NULL));
    check_impl(pd, "cuda:exact", dnnl_tp_alg_kind2str(op.alg));
    run(pd, 2, (int[]){DNNL_TP_ARG_SRC, DNNL_TP_ARG_DST},
        (dnnl_tp_memory_t[]){upload(&op.src, x), upload(&op.dst, z)}, z, dtp_md_size(&op.dst));
    dtp_exact(0, dt)->eltwise[dtp_ew_unary(alg)](&(dtp_eltwise_args_t){.x = (void *)x,
                                                                       .y = (void *)want,
                                                                       .rows = 1,
                                                                       .cols = ROWS * COLS,
                                                                       .ldx = ROWS * COLS,
                                                                       .ldy = ROWS * COLS,
                                                                       .alpha = op.alpha,
                                                                       .beta = op.beta});
    assert_memory_equal(z, want, dtp_md_size(&op.dst));
}

static void functions_of_integers_are_exact(void **state) {
    (void)state;
#define DTP_EW1(name, ...) DTP_ALG_##name,
    static const int algs[] = {
#include "common/base/elementwise.inc"
    };
    for (size_t a = 0; a < sizeof algs / sizeof *algs; ++a)
        for (int t = 0; t < NTYPES; ++t)
            if (dtp_ew_takes(algs[a], types[t])) check_eltwise(algs[a], types[t]);
}

static int64_t element(const unsigned char *x, dnnl_tp_data_type_t dt, int64_t i) {
    return dt == dnnl_tp_s64   ? ((const int64_t *)(const void *)x)[i]
           : dt == dnnl_tp_s32 ? ((const int32_t *)(const void *)x)[i]
           : dt == dnnl_tp_s8  ? ((const int8_t *)x)[i]
                               : x[i];
}

static int64_t combined(dnnl_tp_alg_kind_t alg, int64_t x, int64_t y) {
    return alg == dnnl_tp_reduction_max   ? (x > y ? x : y)
           : alg == dnnl_tp_reduction_min ? (x < y ? x : y)
           : alg == dnnl_tp_reduction_mul ? (int64_t)((uint64_t)x * (uint64_t)y)
                                          : (int64_t)((uint64_t)x + (uint64_t)y);
}

/* Rows of COLS elements, or everything. */
static void check_reduction(dnnl_tp_alg_kind_t alg, dnnl_tp_data_type_t dt, bool all) {
    dtp_reduction_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = dnnl_tp_reduction;
    op.alg = alg;
    op.exact = 1;
    op.src = matrix(dt, ROWS, "ba");
    CHECK_OK(dtp_md_init_strides(&op.dst, 2, (int64_t[]){all ? 1 : ROWS, 1}, dt, NULL));
    _Alignas(8) unsigned char x[MAX_BYTES], z[ROWS * 8];
    test_rng_t r = test_rng((uint64_t)dt);
    fill(x, &op.src, &r);
    memset(z, 0xff, sizeof z);
    dnnl_tp_primitive_desc_t pd;
    CHECK_OK(dtp_pd_create(&pd, gpu, &op.base, sizeof op, NULL));
    check_impl(pd, "cuda:exact", dnnl_tp_alg_kind2str(alg));
    run(pd, 2, (int[]){DNNL_TP_ARG_SRC, DNNL_TP_ARG_DST},
        (dnnl_tp_memory_t[]){upload(&op.src, x), upload(&op.dst, z)}, z, dtp_md_size(&op.dst));
    const int rows = all ? 1 : ROWS, n = ROWS * COLS / rows;
    for (int row = 0; row < rows; ++row) {
        int64_t y = element(x, dt, row);
        for (int i = 1; i < n; ++i) y = combined(alg, y, element(x, dt, row + (int64_t)i * rows));
        if (alg == dnnl_tp_reduction_mean) y /= n;
        if (dt == dnnl_tp_boolean) y = y != 0;
        assert_memory_equal(z + (size_t)row * dtp_type_size(dt), &y, dtp_type_size(dt));
    }
}

static void reductions_of_integers_are_exact(void **state) {
    (void)state;
    for (int alg = dnnl_tp_reduction_max; alg <= dnnl_tp_reduction_mean; ++alg)
        for (int t = 0; t < NTYPES; ++t)
            for (int all = 0; all < 2; ++all) check_reduction((dnnl_tp_alg_kind_t)alg, types[t], all);
}

/* Rows that are cut into parts. */
static void long_reductions_of_integers_are_exact(void **state) {
    (void)state;
    enum { LONG = 9001 };
    _Alignas(8) static unsigned char x[LONG * 8];
    unsigned char z[8];
    for (int alg = dnnl_tp_reduction_max; alg <= dnnl_tp_reduction_mean; ++alg)
        for (int t = 0; t < NTYPES; ++t) {
            dtp_reduction_desc_t op;
            memset(&op, 0, sizeof op);
            op.base.kind = dnnl_tp_reduction;
            op.alg = (dnnl_tp_alg_kind_t)alg;
            op.exact = 1;
            CHECK_OK(dtp_md_init_strides(&op.src, 2, (int64_t[]){1, LONG}, types[t], NULL));
            CHECK_OK(dtp_md_init_strides(&op.dst, 2, (int64_t[]){1, 1}, types[t], NULL));
            test_rng_t r = test_rng((uint64_t)t);
            fill(x, &op.src, &r);
            dnnl_tp_primitive_desc_t pd;
            CHECK_OK(dtp_pd_create(&pd, gpu, &op.base, sizeof op, NULL));
            assert_true(pd->scratch_shared > 0);
            run(pd, 2, (int[]){DNNL_TP_ARG_SRC, DNNL_TP_ARG_DST},
                (dnnl_tp_memory_t[]){upload(&op.src, x), upload(&op.dst, x)}, z, dtp_type_size(types[t]));
            int64_t y = element(x, types[t], 0);
            for (int i = 1; i < LONG; ++i) y = combined(op.alg, y, element(x, types[t], i));
            if (op.alg == dnnl_tp_reduction_mean) y /= LONG;
            if (types[t] == dnnl_tp_boolean) y = y != 0;
            assert_memory_equal(z, &y, dtp_type_size(types[t]));
        }
}

/* ---- Memory that is not aligned ------------------------------------------------------------------------ */

/* COLS - 3 columns from column 1 on of a row of COLS: whole vectors that begin beside their place. */
static dtp_md_t window(void) {
    dtp_md_t md = matrix(dnnl_tp_f32, 1, "ab");
    md.dims[1] = md.padded_dims[1] = COLS - 3;
    md.offset0 = 1;
    return md;
}

static void windows_begin_anywhere(void **state) {
    (void)state;
    const dtp_md_t md = window();
    const dnnl_tp_prop_kind_t inference = dnnl_tp_forward_inference;
    dnnl_tp_primitive_desc_t pd[2];
    CHECK_OK(dnnl_tp_eltwise_forward_primitive_desc_create(&pd[0], gpu, inference, dnnl_tp_eltwise_linear,
                                                           &md, &md, 2, 1, NULL));
    check_impl(pd[0], "cuda:vec", "eltwise");
    CHECK_OK(dnnl_tp_softmax_forward_primitive_desc_create(&pd[1], gpu, inference, dnnl_tp_softmax_accurate,
                                                           &md, &md, 0, NULL));
    for (int i = 0; i < 2; ++i) {
        float x[COLS], z[COLS];
        for (int k = 0; k < COLS; ++k) x[k] = (float)k, z[k] = -1;
        run(pd[i], 2, (int[]){DNNL_TP_ARG_SRC, DNNL_TP_ARG_DST},
            (dnnl_tp_memory_t[]){upload(&md, x), upload(&md, z)}, z, bytes_of(&md));
        assert_true(z[0] == -1);
        for (int k = 1; k < COLS - 2; ++k) assert_true(z[k] == (i ? 1 : 2 * (float)k + 1));
    }
}

/* ---- Dynamic shared memory ------------------------------------------------------------------------------ */

/* The mean of one row of h ones, of length 1; its sums are in shared memory. */
static dnnl_tp_primitive_t pool_create(int64_t h, dtp_md_t *row) {
    dtp_pool_normalize_desc_t op;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t p;
    memset(&op, 0, sizeof op);
    op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_POOL_NORMALIZE;
    op.epsilon = 1e-12f;
    CHECK_OK(dtp_md_init_strides(&op.src, 3, (int64_t[]){1, 1, h}, dnnl_tp_f32, NULL));
    CHECK_OK(dtp_md_init_strides(&op.dst, 2, (int64_t[]){1, h}, dnnl_tp_f32, NULL));
    *row = op.dst;
    CHECK_OK(dtp_pd_create(&pd, gpu, &op.base, sizeof op, NULL));
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    return p;
}

static void pool_check(dnnl_tp_primitive_t p, const dtp_md_t *row) {
    const int64_t h = row->dims[1];
    float *x = calloc((size_t)h, sizeof *x);
    dtp_md_t src;
    CHECK_OK(dtp_md_init_strides(&src, 3, (int64_t[]){1, 1, h}, dnnl_tp_f32, NULL));
    for (int64_t c = 0; c < h; ++c) x[c] = 1;
    run_primitive(p, 2, (int[]){DNNL_TP_ARG_SRC, DNNL_TP_ARG_DST},
                  (dnnl_tp_memory_t[]){upload(&src, x), upload(row, x)}, x, (size_t)h * sizeof *x);
    for (int64_t c = 0; c < h; ++c) assert_true(fabs(x[c] - 1 / sqrt((double)h)) < 1e-6);
    free(x);
}

/* Static bytes of a kernel count, too. */
static void shared_memory_is_enough(void **state) {
    (void)state;
    enum { BYTES = 48 * 1024 };
    dtp_md_t row;
    dnnl_tp_primitive_t p = pool_create(BYTES / sizeof(float), &row);
    pool_check(p, &row);
}

/* A kernel's limit is one for all primitives that have it. */
static void shared_memory_stays_enough(void **state) {
    (void)state;
    enum { MORE = 20000, LESS = 13000 };
    dtp_md_t more_row, less_row;
    dnnl_tp_primitive_t more = pool_create(MORE, &more_row), less = pool_create(LESS, &less_row);
    pool_check(more, &more_row);
    pool_check(less, &less_row);
}

/* ---- Post-operations and refusals ---------------------------------------------------------------------- */

static dnnl_tp_primitive_attr_t attr_with(dnnl_tp_post_ops_t po) {
    dnnl_tp_primitive_attr_t attr;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
    return attr;
}

static void prelu_follows_its_mask(void **state) {
    (void)state;
    const dtp_md_t md = matrix(dnnl_tp_f32, ROWS, "ba"), weights = matrix(dnnl_tp_f32, 1, "ab");
    dnnl_tp_post_ops_t po;
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    CHECK_OK(dnnl_tp_post_ops_append_prelu(po, 1 << 1));
    dnnl_tp_primitive_attr_t attr = attr_with(po);
    dnnl_tp_primitive_desc_t pd;
    CHECK_OK(dnnl_tp_eltwise_forward_primitive_desc_create(&pd, gpu, dnnl_tp_forward_inference,
                                                           dnnl_tp_eltwise_linear, &md, &md, 1, -100, attr));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    float x[ROWS * COLS], w[COLS], z[ROWS * COLS];
    for (int i = 0; i < ROWS * COLS; ++i) x[i] = (float)i, z[i] = -1;
    for (int k = 0; k < COLS; ++k) w[k] = (float)k;
    run(pd, 3,
        (int[]){DNNL_TP_ARG_SRC, DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_TP_ARG_WEIGHTS, DNNL_TP_ARG_DST},
        (dnnl_tp_memory_t[]){upload(&md, x), upload(&weights, w), upload(&md, z)}, z, sizeof z);
    for (int i = 0; i < ROWS * COLS; ++i) {
        const float y = x[i] - 100;
        assert_true(z[i] == (y < 0 ? y * w[i / ROWS] : y));
    }
}

static void refusals(void **state) {
    (void)state;
    enum { STEPS = 16 };
    const dtp_md_t f64 = matrix(dnnl_tp_f64, ROWS, "ab"), blocked = matrix(dnnl_tp_f32, ROWS, "aB16b"),
                   plain = matrix(dnnl_tp_f32, ROWS, "ab");
    const dtp_md_t *const refused[] = {&f64, &blocked};
    dnnl_tp_primitive_desc_t pd;
    for (int i = 0; i < 2; ++i) {
        CHECK_STATUS(dnnl_tp_eltwise_forward_primitive_desc_create(&pd, gpu, dnnl_tp_forward_inference,
                                                                   dnnl_tp_eltwise_exp, refused[i],
                                                                   refused[i], 0, 0, NULL),
                     dnnl_tp_unimplemented);
        CHECK_STATUS(dnnl_tp_binary_primitive_desc_create(&pd, gpu, dnnl_tp_binary_add, refused[i],
                                                          refused[i], refused[i], NULL),
                     dnnl_tp_unimplemented);
        CHECK_STATUS(dnnl_tp_softmax_forward_primitive_desc_create(&pd, gpu, dnnl_tp_forward_inference,
                                                                   dnnl_tp_softmax_accurate, refused[i],
                                                                   refused[i], 1, NULL),
                     dnnl_tp_unimplemented);
    }
    /* The function is a step, too. */
    dnnl_tp_post_ops_t po;
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    for (int i = 0; i < STEPS; ++i) CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_relu, 0, 0));
    dnnl_tp_primitive_attr_t attr = attr_with(po);
    CHECK_STATUS(dnnl_tp_eltwise_forward_primitive_desc_create(
                     &pd, gpu, dnnl_tp_forward_inference, dnnl_tp_eltwise_exp, &plain, &plain, 0, 0, attr),
                 dnnl_tp_unimplemented);
    CHECK_OK(
        dnnl_tp_binary_primitive_desc_create(&pd, gpu, dnnl_tp_binary_add, &plain, &plain, &plain, attr));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
}

/* More elements than one dimension of a walk can have are walked without a gap all the same. */
static void many_elements_are_linear(void **state) {
    (void)state;
    enum { SIDE = 65536 };
    dtp_md_t md;
    dnnl_tp_primitive_desc_t pd;
    CHECK_OK(dtp_md_init_strides(&md, 2, (int64_t[]){SIDE, SIDE}, dnnl_tp_bf16, NULL));
    CHECK_OK(dnnl_tp_eltwise_forward_primitive_desc_create(&pd, gpu, dnnl_tp_forward_inference,
                                                           dnnl_tp_eltwise_relu, &md, &md, 0, 0, NULL));
    assert_string_equal(pd->impl->name, "cuda:vec");
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    md.strides[0] = SIDE + 8;
    CHECK_OK(dnnl_tp_eltwise_forward_primitive_desc_create(&pd, gpu, dnnl_tp_forward_inference,
                                                           dnnl_tp_eltwise_relu, &md, &md, 0, 0, NULL));
    assert_string_equal(pd->impl->name, "cuda:any");
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
}

/* The division of device.cuh, of indices that no tensor of a test has. */
static void large_indices_are_divided(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 2, 3, 7, 64, 1000, 65537, 1 << 30, INT32_MAX};
    static const uint64_t values[] = {
        0, 1, 2, 6, 7, INT32_MAX, UINT64_C(1) << 32, (UINT64_C(1) << 62) + 12345, INT64_MAX};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s)
        for (size_t v = 0; v < sizeof values / sizeof *values; ++v) {
            const dtp_gpu_dim_t d = dtp_gpu_dim(sizes[s]);
            const uint64_t n = values[v], want = n / (uint64_t)sizes[s];
            assert_true((uint64_t)((unsigned __int128)(2 * n) * d.wide_multiplier >> 64) >> d.shift == want);
            if (n <= INT32_MAX) assert_true((2 * n * d.multiplier >> 32) >> d.shift == want);
        }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, gpu_setup, gpu_teardown)
    const struct CMUnitTest tests[] = {TEST(integers_are_exact),
                                       TEST(functions_of_integers_are_exact),
                                       TEST(reductions_of_integers_are_exact),
                                       TEST(long_reductions_of_integers_are_exact),
                                       TEST(windows_begin_anywhere),
                                       TEST(prelu_follows_its_mask),
                                       TEST(shared_memory_is_enough),
                                       TEST(shared_memory_stays_enough),
                                       TEST(refusals),
                                       TEST(many_elements_are_linear),
                                       TEST(large_indices_are_divided)};
    return cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
}
