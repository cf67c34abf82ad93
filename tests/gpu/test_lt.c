/* Products by cuBLASLt (src/gpu/matmul/product_lt.c) on the fake one: what it is asked, what comes out, what is refused, failures. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/primitive/primitive_desc.h"
#include "gpu/driver/cu_api.h"
#include "gpu/driver/lt_api.h"
#include "gpu/fake/fake_lt.h"
#include "gpu/gpu_world.h"
#include "support/tensor.h"
#include "support/upload.h"

enum { F32 = dnnl_tp_f32, BF16 = dnnl_tp_bf16, F16 = dnnl_tp_f16 };
enum { LINE_BYTES = 1000 };
typedef enum { NOTHING, GELU, SUM_HALF, SUM_GELU, GELU_SUM, RELU, TANH } chain_t;

typedef struct {
    int64_t batch, src_batch, wei_batch, m, n, k; /* batch 0: two dimensions */
    int type, dst_type, bia_type;                 /* bia_type 0: no bias */
    const char *src, *wei, *dst;                  /* layouts */
    chain_t chain;
    dnnl_tp_fpmath_mode_t fpmath;
} problem_t;

/* A problem without a batch. */
#define M_BY_N(m, n, k) 0, 1, 1, m, n, k

/* ---- A product ------------------------------------------------------------------------------------------ */

enum { SRC, WEI, BIA, DST, TENSORS };
typedef struct {
    tensor_t tensor[TENSORS];
    dnnl_tp_memory_t memory[TENSORS];
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t primitive;
} product_t;

static dnnl_tp_primitive_attr_t attr_of(const problem_t *p) {
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_post_ops_t po;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    CHECK_OK(dnnl_tp_primitive_attr_set_fpmath_mode(attr, p->fpmath));
    const chain_t c = p->chain;
    if (c == SUM_HALF || c == SUM_GELU)
        CHECK_OK(dnnl_tp_post_ops_append_sum(po, 0.5f, 0, dnnl_tp_data_type_undef));
    if (c == GELU || c == SUM_GELU || c == GELU_SUM)
        CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_gelu_tanh, 0, 0));
    if (c == RELU) CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_relu, 0, 0));
    if (c == TANH) CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_tanh, 0, 0));
    if (c == GELU_SUM) CHECK_OK(dnnl_tp_post_ops_append_sum(po, 0.5f, 0, dnnl_tp_data_type_undef));
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
    return attr;
}

static double finish(chain_t c, double x, double old) {
    if (c == SUM_HALF || c == SUM_GELU) x += old / 2;
    if (c == GELU || c == SUM_GELU || c == GELU_SUM)
        x = x / 2 * (1 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
    if (c == RELU) x = x > 0 ? x : 0;
    if (c == TANH) x = tanh(x);
    return c == GELU_SUM ? x + old / 2 : x;
}

/* Small whole numbers. shift: element 0 lies so many elements behind where the memory begins. */
static void fill_tensors(product_t *q, const problem_t *p, int64_t shift) {
    test_rng_t r = test_rng(7);
    const bool batched = p->batch > 0;
    const int64_t dims[TENSORS][3] = {
        {p->src_batch, p->m, p->k}, {p->wei_batch, p->k, p->n}, {1, 1, p->n}, {p->batch, p->m, p->n}};
    const int types[TENSORS] = {p->type, p->type, p->bia_type ? p->bia_type : F32, p->dst_type};
    const char *layouts[TENSORS] = {p->src, p->wei, batched ? "abc" : "ab", p->dst};
    for (int i = 0; i < TENSORS; ++i) {
        dtp_md_t md;
        CHECK_OK(dtp_md_init_layout(&md, 2 + batched, dims[i] + !batched, (dnnl_tp_data_type_t)types[i],
                                    layouts[i]));
        md.offset0 = shift;
        tensor_init(&q->tensor[i], &md);
        tensor_fill(&q->tensor[i], &r, -1, 1, true);
    }
}

static dnnl_tp_status_t describe(product_t *q, const problem_t *p) {
    const tensor_t *t = q->tensor;
    q->attr = attr_of(p);
    return dnnl_tp_matmul_primitive_desc_create(&q->pd, gpu, &t[SRC].md, &t[WEI].md,
                                                p->bia_type ? &t[BIA].md : NULL, &t[DST].md, q->attr);
}

static void upload_tensors(product_t *q) {
    for (int i = 0; i < TENSORS; ++i) {
        const tensor_t *t = &q->tensor[i];
        CHECK_OK(dnnl_tp_memory_create(&q->memory[i], &t->md, gpu, DNNL_TP_MEMORY_ALLOCATE));
        test_upload(q->memory[i], t->data,
                    dtp_md_size(&t->md) + (size_t)t->md.offset0 * dtp_type_size(t->md.data_type));
    }
}

static product_t begin(const problem_t *p, int64_t shift) {
    product_t q = {.primitive = NULL};
    fill_tensors(&q, p, shift);
    CHECK_OK(describe(&q, p));
    CHECK_OK(dnnl_tp_primitive_create(&q.primitive, q.pd));
    upload_tensors(&q);
    return q;
}

static const char *impl_of(const product_t *q) { return q->pd->impl->name; }

static dnnl_tp_status_t submit(const product_t *q, const problem_t *p, dnnl_tp_stream_t s) {
    const dnnl_tp_exec_arg_t args[] = {{DNNL_TP_ARG_SRC, q->memory[SRC]},
                                       {DNNL_TP_ARG_WEIGHTS, q->memory[WEI]},
                                       {DNNL_TP_ARG_DST, q->memory[DST]},
                                       {DNNL_TP_ARG_BIAS, q->memory[BIA]}};
    return dnnl_tp_primitive_execute(q->primitive, s, p->bia_type ? 4 : 3, args);
}

/* dst is what it should be, after one execution. */
static void check_values(const product_t *q, const problem_t *p) {
    const tensor_t *t = q->tensor;
    const bool batched = p->batch > 0;
    tensor_t got;
    tensor_init(&got, &t[DST].md);
    test_download(q->memory[DST], got.data,
                  dtp_md_size(&got.md) + (size_t)got.md.offset0 * dtp_type_size(got.md.data_type));
    for (int64_t b = 0; b < (batched ? p->batch : 1); ++b)
        for (int64_t i = 0; i < p->m; ++i)
            for (int64_t j = 0; j < p->n; ++j) {
                const int64_t at[] = {b, i, j}, bias_at[] = {0, 0, j};
                double sum = 0;
                for (int64_t l = 0; l < p->k; ++l) {
                    const int64_t s[] = {p->src_batch > 1 ? b : 0, i, l},
                                  w[] = {p->wei_batch > 1 ? b : 0, l, j};
                    sum += tensor_get(&t[SRC], s + !batched) * tensor_get(&t[WEI], w + !batched);
                }
                if (p->bia_type) sum += tensor_get(&t[BIA], bias_at + !batched);
                const double want = finish(p->chain, sum, tensor_get(&t[DST], at + !batched)),
                             is = tensor_get(&got, at + !batched);
                const double step = p->dst_type == F32   ? 1e-6
                                    : p->dst_type == F16 ? 1e-3
                                                         : 8e-3; /* of the type */
                if (!(fabs(is - want) <= step * fmax(1, fabs(want))))
                    fail_msg("dst[%d, %d, %d] is %g, not %g", (int)b, (int)i, (int)j, is, want);
            }
    tensor_free(&got);
}

static void end(product_t *q) {
    for (int i = 0; i < TENSORS; ++i) {
        CHECK_OK(dnnl_tp_memory_destroy(q->memory[i]));
        tensor_free(&q->tensor[i]);
    }
    CHECK_OK(dnnl_tp_primitive_destroy(q->primitive));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(q->pd));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(q->attr));
}

static void check(const problem_t *p, int64_t shift, const char *impl) {
    product_t q = begin(p, shift);
    dnnl_tp_stream_t s = gpu_stream();
    if (strcmp(impl_of(&q), impl) != 0) fail_msg("%s was chosen, not %s", impl_of(&q), impl);
    CHECK_OK(submit(&q, p, s));
    CHECK_OK(dnnl_tp_stream_wait(s));
    check_values(&q, p);
    CHECK_OK(dnnl_tp_stream_destroy(s));
    end(&q);
}

static const char lt_name[] = "cuda:cublaslt";
static const problem_t usual = {M_BY_N(16, 32, 64), BF16, BF16, BF16, "ab", "ab", "ab", GELU, 0};

static int setup(void **state) {
    fake_cuda_reset();
    (void)fake_lt_fail(-1, 0);
    dtp_lt_set_for_test(fake_lt_table());
    dtp_cu_set_for_test(fake_cuda_table());
    CHECK_OK(dnnl_tp_engine_create(&gpu, dnnl_tp_gpu, 0));
    (void)state;
    return 0;
}

/* ---- What the library is asked ---------------------------------------------------------------------------- */

static const struct {
    problem_t problem;
    int transpose_a, transpose_b;
    int64_t a_stride, b_stride, d_stride;
    unsigned epilogue;
} asked[] = {
    {{M_BY_N(5, 7, 9), F32, F32, 0, "ab", "ab", "ab", NOTHING, 0}, 0, 0, 7, 9, 7, DTP_LT_EPILOGUE_NONE},
    {{M_BY_N(5, 7, 9), BF16, BF16, BF16, "ab", "ba", "ab", NOTHING, 0}, 1, 0, 9, 9, 7, DTP_LT_EPILOGUE_BIAS},
    {{M_BY_N(5, 7, 9), F16, F16, F16, "ba", "ab", "ab", GELU, 0},
     0,
     1,
     7,
     5,
     7,
     DTP_LT_EPILOGUE_BIAS | DTP_LT_EPILOGUE_GELU},
    {{M_BY_N(5, 7, 9), BF16, F32, F32, "ba", "ba", "ab", NOTHING, 0}, 1, 1, 9, 5, 7, DTP_LT_EPILOGUE_BIAS},
    {{M_BY_N(5, 7, 9), F16, F32, 0, "ab", "ab", "ba", SUM_HALF, 0}, 1, 1, 9, 7, 5, DTP_LT_EPILOGUE_NONE},
    {{M_BY_N(16, 32, 64), BF16, BF16, BF16, "ab", "ba", "ab", GELU, 0},
     1,
     0,
     64,
     64,
     32,
     DTP_LT_EPILOGUE_BIAS | DTP_LT_EPILOGUE_GELU},
    {{M_BY_N(16, 32, 64), F16, F16, 0, "ab", "ab", "ab", SUM_GELU, 0},
     0,
     0,
     32,
     64,
     32,
     DTP_LT_EPILOGUE_GELU},
    {{M_BY_N(1, 7, 9), F32, F32, F32, "ab", "ab", "ab", NOTHING, 0}, 0, 0, 7, 9, 7, DTP_LT_EPILOGUE_BIAS},
    {{M_BY_N(5, 1, 9), F32, F32, 0, "ab", "ab", "ab", NOTHING, 0}, 0, 0, 1, 9, 1, DTP_LT_EPILOGUE_NONE},
    {{M_BY_N(5, 7, 1), F32, F32, 0, "ab", "ab", "ab", NOTHING, 0}, 0, 0, 7, 1, 7, DTP_LT_EPILOGUE_NONE},
    {{M_BY_N(8, 8, 64), F32, F32, 0, "ab", "ab", "ab", NOTHING, dnnl_tp_fpmath_mode_tf32},
     0,
     0,
     8,
     64,
     8,
     DTP_LT_EPILOGUE_NONE},
    {{3, 3, 3, 5, 7, 9, BF16, BF16, BF16, "abc", "acb", "abc", GELU, 0},
     1,
     0,
     9,
     9,
     7,
     DTP_LT_EPILOGUE_BIAS | DTP_LT_EPILOGUE_GELU},
    {{3, 1, 3, 5, 7, 64, F32, F32, F32, "abc", "abc", "abc", NOTHING, 0},
     0,
     0,
     7,
     64,
     7,
     DTP_LT_EPILOGUE_BIAS},
    {{3, 3, 1, 5, 7, 9, F32, F32, 0, "abc", "abc", "abc", NOTHING, 0},
     0,
     0,
     7,
     9,
     7,
     DTP_LT_EPILOGUE_NONE}, /* rows join */
};

static void asks(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; ++i) {
        const problem_t *p = &asked[i].problem;
        check(p, 0, lt_name);
        const fake_lt_last_t last = fake_lt_last();
        const bool joined = p->batch > 0 && p->wei_batch == 1, batched = p->batch > 0 && !joined;
        const bool swapped = p->dst[strlen(p->dst) - 1] != "ab"[1] && !batched && !joined;
        const uint64_t m = (uint64_t)(joined ? p->m * p->batch : p->m), n = (uint64_t)p->n;
        assert_int_equal(asked[i].transpose_a, last.transpose_a);
        assert_int_equal(asked[i].transpose_b, last.transpose_b);
        assert_int_equal(asked[i].epilogue, last.epilogue);
        assert_int_equal(swapped ? m : n, last.rows);
        assert_int_equal(swapped ? n : m, last.columns);
        assert_int_equal(p->k, last.k);
        assert_int_equal(asked[i].a_stride, last.a_stride);
        assert_int_equal(asked[i].b_stride, last.b_stride);
        assert_int_equal(asked[i].d_stride, last.d_stride);
        assert_int_equal(batched ? p->batch : 1, last.batch);
        if (batched) {
            assert_int_equal(p->src_batch > 1 ? p->m * p->k : 0, last.b_batch);
            assert_int_equal(p->n * p->k, last.a_batch);
            assert_int_equal(p->m * p->n, last.d_batch);
        }
        assert_int_equal(0, last.bias_batch);
        assert_int_equal(16, last.alignment);
        assert_int_equal(p->k >= 64, last.workspace_bytes > 0);
        assert_true(last.beta == (p->chain == SUM_HALF || p->chain == SUM_GELU ? 0.5f : 0.0f));
        assert_int_equal(p->fpmath == dnnl_tp_fpmath_mode_tf32 ? DTP_LT_COMPUTE_TF32 : DTP_LT_COMPUTE_F32,
                         last.compute);
    }
}

/* Another way is taken where an address is not a multiple of 16. */
static void looks_at_addresses(void **state) {
    (void)state;
    const problem_t p = {M_BY_N(16, 32, 64), BF16, BF16, BF16, "ab", "ab", "ab", GELU, 0};
    check(&p, 1, lt_name);
    assert_int_equal(2, fake_lt_last().alignment);
    check(&p, 8, lt_name);
    assert_int_equal(16, fake_lt_last().alignment);
}

static void leaves_the_rest(void **state) {
    (void)state;
    static const struct {
        problem_t problem;
        const char *impl;
    } rows[] = {
        {{M_BY_N(5, 7, 9), F32, F32, 0, "ab", "ab", "ab", TANH, 0}, "cuda:simt"},
        {{M_BY_N(5, 7, 9), F32, F32, 0, "ab", "ab", "ab", RELU, 0}, "cuda:simt"},
        {{M_BY_N(5, 7, 9), BF16, BF16, 0, "ab", "ab", "ab", GELU_SUM, 0}, "cuda:mma"},
        {{M_BY_N(5, 7, 9), F32, F32, 0, "ab", "ab", "ab", GELU, 0}, "cuda:simt"},
        {{M_BY_N(5, 7, 9), BF16, BF16, F32, "ab", "ab", "ab", NOTHING, 0}, "cuda:mma"},
        {{M_BY_N(5, 7, 9), BF16, BF16, BF16, "ab", "ab", "ba", NOTHING, 0}, "cuda:mma"},
        {{M_BY_N(5, 7, 9), BF16, F16, 0, "ab", "ab", "ab", NOTHING, 0}, "cuda:mma"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) check(&rows[i].problem, 0, rows[i].impl);
}

/* The real library makes the same descriptors. */
static void as_the_real_one(void **state) {
    static const char *const paths[] = {"libcublasLt.so.13", "/usr/local/cuda/lib64/libcublasLt.so.13"};
    size_t i = 0;
    while (i < sizeof paths / sizeof *paths && !fake_lt_beside(paths[i])) ++i;
    if (i == sizeof paths / sizeof *paths) {
        print_message("no libcublasLt.so.13 is installed\n");
        skip();
    }
    asks(state);
    looks_at_addresses(state);
    assert_true(fake_lt_beside(NULL));
}

/* Lines about what was not chosen name the library that is missing, that about what was chosen says that no GPU has run it. */
static void keep_line(void *lines, const char *line) {
    char *text = lines;
    const size_t have = strlen(text);
    if (strstr(line, "create:dispatch")) snprintf(text + have, LINE_BYTES - have, "%s\n", line);
}

static void says_what_is_missing(void **state) {
    (void)state;
    char line[LINE_BYTES] = "";
    assert_string_equal(dnnl_tp_cuda_cublaslt_reason(), "");
    dtp_lt_set_for_test(NULL);
    assert_string_equal(dnnl_tp_cuda_cublaslt_reason(), "the driver is one for tests");
    CHECK_OK(dnnl_tp_set_verbose_callback(keep_line, line));
    atomic_store(&dtp_verbose_bits, DTP_VERBOSE_DISPATCH);
    check(&usual, 0, "cuda:mma");
    atomic_store(&dtp_verbose_bits, 0);
    CHECK_OK(dnnl_tp_set_verbose_callback(NULL, NULL));
    if (!strstr(line, "cuda:cublaslt") ||
        !strstr(line, "the vendor's library is not there: the driver is one for tests") ||
        !strstr(line, "cuda:mma") || !strstr(line, "never run on hardware"))
        fail_msg("the lines are '%s'", line);
}

/* ---- Failures ------------------------------------------------------------------------------------------- */

static void finds_nothing(void **state) {
    (void)state;
    fake_lt_find_nothing(true);
    check(&usual, 0, "cuda:mma");
    fake_lt_find_nothing(false);
    check(&usual, 0, lt_name);
}

/* Each call of the library fails once: others serve the problem; or there is no memory, or the execution fails, and the next one does
 * not. */
static void each_call_may_fail(void **state) {
    (void)state;
    static const dtp_lt_status_t statuses[] = {DTP_LT_NOT_SUPPORTED, DTP_LT_ALLOC_FAILED,
                                               DTP_LT_INTERNAL_ERROR};
    for (int i = 0; i < 3; ++i) {
        int described = 0, executed = 0;
        bool fails = true;
        for (int64_t k = 0; fails; ++k) {
            CHECK_OK(dnnl_tp_set_primitive_cache_capacity(0));
            product_t q = {.primitive = NULL};
            fill_tensors(&q, &usual, 0);
            (void)fake_lt_fail(k, statuses[i]);
            const bool memory = statuses[i] == DTP_LT_ALLOC_FAILED;
            dnnl_tp_status_t status = describe(&q, &usual);
            if (status) {
                CHECK_STATUS(memory ? status : dnnl_tp_success, dnnl_tp_out_of_memory);
                CHECK_OK(dnnl_tp_primitive_attr_destroy(q.attr));
                CHECK_OK(describe(&q, &usual));
            } else {
                status = dnnl_tp_primitive_create(&q.primitive, q.pd);
                if (status) CHECK_STATUS(memory ? status : dnnl_tp_success, dnnl_tp_out_of_memory);
            }
            if (!q.primitive) CHECK_OK(dnnl_tp_primitive_create(&q.primitive, q.pd));
            described += status != 0 || strcmp(q.primitive->pd->impl->name, lt_name) != 0;
            upload_tensors(&q);
            dnnl_tp_stream_t s = gpu_stream();
            status = submit(&q, &usual, s);
            if (status) {
                ++executed;
                CHECK_STATUS(status, memory ? dnnl_tp_out_of_memory : dnnl_tp_runtime_error);
                assert_non_null(strstr(dnnl_tp_last_error(), "cublasLtMatmul: CUBLAS_STATUS_"));
                CHECK_OK(submit(&q, &usual, s));
            }
            CHECK_OK(dnnl_tp_stream_wait(s));
            check_values(&q, &usual);
            CHECK_OK(dnnl_tp_stream_destroy(s));
            end(&q);
            fails = !fake_lt_fail(-1, 0);
            if (k > 0) continue;
            /* What the handle failed with is kept; a device that is opened anew asks again. */
            CHECK_OK(dnnl_tp_engine_destroy(gpu));
            CHECK_OK(dnnl_tp_engine_create(&gpu, dnnl_tp_gpu, 0));
        }
        assert_true(described > 20);
        assert_int_equal(2, executed);
    }
    CHECK_OK(dnnl_tp_set_primitive_cache_capacity(1024));
}

/* Each call of the driver fails once. */
static dnnl_tp_status_t program(void) {
    product_t q = {.primitive = NULL};
    dnnl_tp_stream_t s = NULL;
    fill_tensors(&q, &usual, 0);
    dnnl_tp_status_t status = dnnl_tp_engine_create(&gpu, dnnl_tp_gpu, 0);
    if (!status) status = describe(&q, &usual);
    if (!status) status = dnnl_tp_primitive_create(&q.primitive, q.pd);
    if (!status) status = dnnl_tp_stream_create(&s, gpu, 0);
    for (int i = 0; i < TENSORS && !status; ++i) {
        void *mapped;
        status = dnnl_tp_memory_create(&q.memory[i], &q.tensor[i].md, gpu, DNNL_TP_MEMORY_ALLOCATE);
        if (!status) status = dnnl_tp_memory_map_data(q.memory[i], &mapped);
        if (status) break;
        memcpy(mapped, q.tensor[i].data, dtp_md_size(&q.tensor[i].md));
        status = dnnl_tp_memory_unmap_data(q.memory[i], mapped);
        if (status && dnnl_tp_memory_unmap_data(q.memory[i], mapped)) break;
    }
    if (!status) status = submit(&q, &usual, s);
    if (!status) status = dnnl_tp_stream_wait(s);
    dnnl_tp_stream_destroy(s);
    for (int i = 0; i < TENSORS; ++i) {
        dnnl_tp_memory_destroy(q.memory[i]);
        tensor_free(&q.tensor[i]);
    }
    dnnl_tp_primitive_destroy(q.primitive);
    dnnl_tp_primitive_desc_destroy(q.pd);
    dnnl_tp_primitive_attr_destroy(q.attr);
    dnnl_tp_engine_destroy(gpu);
    gpu = NULL;
    return status;
}

static void each_call_of_the_driver_may_fail(void **state) {
    (void)state;
    static const dtp_cu_result_t results[] = {DTP_CU_OUT_OF_MEMORY, DTP_CU_ILLEGAL_ADDRESS};
    CHECK_OK(dnnl_tp_engine_destroy(gpu));
    CHECK_OK(dnnl_tp_set_primitive_cache_capacity(0));
    for (int r = 0; r < 2; ++r)
        for (int64_t k = 0;; ++k) {
            fake_cuda_reset();
            dtp_cu_set_for_test(fake_cuda_table());
            (void)fake_cuda_fail(k, results[r]);
            (void)program();
            const bool all = fake_cuda_fail(-1, 0);
            if (fake_cuda_report(stderr))
                fail_msg("call %d failing with %d: something is left", (int)k, results[r]);
            if (all) break;
        }
    CHECK_OK(dnnl_tp_set_primitive_cache_capacity(1024));
    (void)setup(state);
}

/* What the device finds is told by later calls, as it is of kernels. */
static void tells_what_the_device_found(void **state) {
    (void)state;
    product_t q = begin(&usual, 0);
    dnnl_tp_stream_t s = gpu_stream();
    fake_cuda_drain();
    fake_cuda_hold(true);
    (void)fake_cuda_fail_item(0, DTP_CU_ILLEGAL_ADDRESS);
    CHECK_OK(submit(&q, &usual, s));
    fake_cuda_hold(false);
    CHECK_STATUS(dnnl_tp_stream_wait(s), dnnl_tp_runtime_error);
    assert_non_null(strstr(dnnl_tp_last_error(), "CUDA_ERROR_ILLEGAL_ADDRESS"));
    CHECK_STATUS(submit(&q, &usual, s), dnnl_tp_runtime_error);
    assert_non_null(strstr(dnnl_tp_last_error(), "CUDA_ERROR_ILLEGAL_ADDRESS"));
    (void)dnnl_tp_stream_destroy(s);
    end(&q);
}

/* ---- Streams and threads -------------------------------------------------------------------------------- */

/* A product that another stream does not wait for is found, as kernels are. */
static void streams_are_ordered(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        fake_cuda_set_seed(seed);
        product_t q = begin(&usual, 0);
        dnnl_tp_stream_t s = gpu_stream(), t = gpu_stream();
        dnnl_tp_event_t event;
        CHECK_OK(submit(&q, &usual, s));
        CHECK_OK(dnnl_tp_stream_record_event(s, &event));
        CHECK_OK(dnnl_tp_stream_wait_event(t, event));
        CHECK_OK(submit(&q, &usual, t));
        CHECK_OK(dnnl_tp_stream_wait(t));
        CHECK_OK(dnnl_tp_event_destroy(event));
        check_values(&q, &usual);
        CHECK_OK(dnnl_tp_stream_destroy(s));
        CHECK_OK(dnnl_tp_stream_destroy(t));
        end(&q);
    }
}

static void missing_waits_are_found(void **state) {
    (void)state;
    product_t q = begin(&usual, 0);
    dnnl_tp_stream_t s = gpu_stream(), t = gpu_stream();
    fake_cuda_hold(true);
    CHECK_OK(submit(&q, &usual, s));
    CHECK_OK(submit(&q, &usual, t));
    fake_cuda_hold(false);
    const dnnl_tp_status_t one = dnnl_tp_stream_wait(s), other = dnnl_tp_stream_wait(t);
    assert_true(one || other);
    assert_non_null(strstr(fake_cuda_trap(), "a product overwrites what another stream"));
    (void)dnnl_tp_stream_destroy(s);
    (void)dnnl_tp_stream_destroy(t);
    end(&q);
}

enum { THREADS = 4, ROUNDS = 20 };
static void *create_and_run(void *arg) {
    (void)arg;
    dnnl_tp_stream_t s = gpu_stream();
    for (int i = 0; i < ROUNDS; ++i) {
        product_t q = begin(&usual, 0);
        CHECK_OK(submit(&q, &usual, s));
        CHECK_OK(dnnl_tp_stream_wait(s));
        check_values(&q, &usual);
        end(&q);
    }
    CHECK_OK(dnnl_tp_stream_destroy(s));
    return NULL;
}

/* One primitive of the cache, with a bias of its own for each thread. */
static void threads_share_a_primitive(void **state) {
    (void)state;
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(0, pthread_create(&thread[i], NULL, create_and_run, NULL));
    for (int i = 0; i < THREADS; ++i) assert_int_equal(0, pthread_join(thread[i], NULL));
    assert_int_equal(1, fake_cuda_stats().lt_handles);
}

/* Two executions of one primitive, each with a bias of its own, stand in the library's call at the same time. */
static pthread_barrier_t both_are_there;
static const dtp_lt_t *real;
static dtp_lt_status_t meets(dtp_lt_handle_t lt, dtp_lt_product_t *product, const void *alpha, const void *a,
                             dtp_lt_layout_t *a_layout, const void *b, dtp_lt_layout_t *b_layout,
                             const void *beta, const void *c, dtp_lt_layout_t *c_layout, void *d,
                             dtp_lt_layout_t *d_layout, const dtp_lt_algo_t *algo, void *workspace,
                             size_t workspace_bytes, dtp_cu_stream_t stream) {
    (void)pthread_barrier_wait(&both_are_there);
    return real->cublasLtMatmul(lt, product, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout,
                                algo, workspace, workspace_bytes, stream);
}
static void *run_with_own_bias(void *number) {
    dnnl_tp_stream_t s = gpu_stream();
    product_t q = begin(&usual, 0);
    tensor_t *bias = &q.tensor[BIA];
    for (int64_t pos[2] = {0, 0}; pos[1] < usual.n; ++pos[1]) tensor_set(bias, pos, 8 * *(const int *)number);
    test_upload(q.memory[BIA], bias->data, dtp_md_size(&bias->md));
    CHECK_OK(submit(&q, &usual, s));
    CHECK_OK(dnnl_tp_stream_wait(s));
    check_values(&q, &usual);
    end(&q);
    CHECK_OK(dnnl_tp_stream_destroy(s));
    return NULL;
}
static void threads_have_their_own_bias(void **state) {
    (void)state;
    enum { PAIR = 2 };
    static dtp_lt_t table; /* until the engine goes */
    pthread_t thread[PAIR];
    int number[PAIR];
    table = *fake_lt_table();
    real = fake_lt_table();
    table.cublasLtMatmul = meets;
    dtp_lt_set_for_test(&table);
    assert_int_equal(0, pthread_barrier_init(&both_are_there, NULL, PAIR));
    for (int i = 0; i < PAIR; ++i) {
        number[i] = i + 1;
        assert_int_equal(0, pthread_create(&thread[i], NULL, run_with_own_bias, &number[i]));
    }
    for (int i = 0; i < PAIR; ++i) assert_int_equal(0, pthread_join(thread[i], NULL));
    (void)pthread_barrier_destroy(&both_are_there);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(asks, setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(looks_at_addresses, setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(leaves_the_rest, setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(as_the_real_one, setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(says_what_is_missing, setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(finds_nothing, setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(each_call_may_fail, setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(each_call_of_the_driver_may_fail, setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(tells_what_the_device_found, setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(streams_are_ordered, setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(missing_waits_are_found, setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(threads_share_a_primitive, setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(threads_have_their_own_bias, setup, gpu_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
