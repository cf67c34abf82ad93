/* Products by cuBLASLt (src/gpu/matmul/product_lt.c) on the fake one: what it is asked, what comes out, what is refused. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "common/primitive/primitive_desc.h"
#include "gpu/driver/cu_api.h"
#include "gpu/driver/lt_api.h"
#include "gpu/fake/fake_lt.h"
#include "gpu/lt_product.h"
#include "support/upload.h"

/* ---- What the library is asked ---------------------------------------------------------------------------- */

static const struct {
    lt_problem_t problem;
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
        const lt_problem_t *p = &asked[i].problem;
        lt_check(p, 0, lt_impl_name);
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
    const lt_problem_t p = {M_BY_N(16, 32, 64), BF16, BF16, BF16, "ab", "ab", "ab", GELU, 0};
    lt_check(&p, 1, lt_impl_name);
    assert_int_equal(2, fake_lt_last().alignment);
    lt_check(&p, 8, lt_impl_name);
    assert_int_equal(16, fake_lt_last().alignment);
}

static void leaves_the_rest(void **state) {
    (void)state;
    static const struct {
        lt_problem_t problem;
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
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) lt_check(&rows[i].problem, 0, rows[i].impl);
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
    lt_check(&lt_usual, 0, "cuda:mma");
    atomic_store(&dtp_verbose_bits, 0);
    CHECK_OK(dnnl_tp_set_verbose_callback(NULL, NULL));
    if (!strstr(line, "cuda:cublaslt") ||
        !strstr(line, "the vendor's library is not there: the driver is one for tests") ||
        !strstr(line, "cuda:mma") || !strstr(line, "never run on hardware"))
        fail_msg("the lines are '%s'", line);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(asks, lt_setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(looks_at_addresses, lt_setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(leaves_the_rest, lt_setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(as_the_real_one, lt_setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(says_what_is_missing, lt_setup, gpu_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
