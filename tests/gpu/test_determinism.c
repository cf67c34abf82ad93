/* The same bits in every run (doc/gpu.md, Determinism): whatever order blocks, warps and streams come in, wherever the memory lies whose
 * addresses are the same modulo 16, with and without the attribute `deterministic`, which chooses the same implementation. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/primitive/primitive_desc.h"
#include "gpu/driver/cu_api.h"
#include "gpu/driver/lt_api.h"
#include "gpu/fake/fake_lt.h"
#include "gpu/gpu_world.h"
#include "support/tensor.h"
#include "support/upload.h"

enum { TENSORS = 3, MODULO = 16, MOST_SHIFT = 4 * MODULO };

/* ---- Problems ----------------------------------------------------------------------------------------- */

/* The last tensor is written. */
typedef struct {
    int n, arg[TENSORS];
    dtp_md_t md[TENSORS];
    dnnl_tp_primitive_desc_t pd;
} problem_t;

static void add(problem_t *p, int arg, dnnl_tp_data_type_t dt, int64_t rows, int64_t cols) {
    p->arg[p->n] = arg;
    CHECK_OK(dtp_md_init_layout(&p->md[p->n++], 2, (int64_t[]){rows, cols}, dt, "ab"));
}

static dnnl_tp_status_t eltwise(problem_t *p, dnnl_tp_primitive_attr_t attr) {
    add(p, DNNL_TP_ARG_SRC, dnnl_tp_f32, 5, 67);
    add(p, DNNL_TP_ARG_DST, dnnl_tp_f32, 5, 67);
    return dnnl_tp_eltwise_forward_primitive_desc_create(
        &p->pd, gpu, dnnl_tp_forward_inference, dnnl_tp_eltwise_gelu_erf, &p->md[0], &p->md[1], 0, 0, attr);
}
static dnnl_tp_status_t binary(problem_t *p, dnnl_tp_primitive_attr_t attr) {
    add(p, DNNL_TP_ARG_SRC_0, dnnl_tp_f32, 5, 68);
    add(p, DNNL_TP_ARG_SRC_1, dnnl_tp_f32, 1, 68);
    add(p, DNNL_TP_ARG_DST, dnnl_tp_bf16, 5, 68);
    return dnnl_tp_binary_primitive_desc_create(&p->pd, gpu, dnnl_tp_binary_div, &p->md[0], &p->md[1],
                                                &p->md[2], attr);
}
static dnnl_tp_status_t softmax(problem_t *p, dnnl_tp_primitive_attr_t attr) {
    add(p, DNNL_TP_ARG_SRC, dnnl_tp_f32, 3, 2048);
    add(p, DNNL_TP_ARG_DST, dnnl_tp_f32, 3, 2048);
    return dnnl_tp_softmax_forward_primitive_desc_create(
        &p->pd, gpu, dnnl_tp_forward_inference, dnnl_tp_softmax_accurate, &p->md[0], &p->md[1], 1, attr);
}
static dnnl_tp_status_t layer_norm(problem_t *p, dnnl_tp_primitive_attr_t attr) {
    add(p, DNNL_TP_ARG_SRC, dnnl_tp_f16, 3, 768);
    add(p, DNNL_TP_ARG_DST, dnnl_tp_f16, 3, 768);
    return dnnl_tp_layer_normalization_forward_primitive_desc_create(
        &p->pd, gpu, dnnl_tp_forward_inference, &p->md[0], &p->md[1], NULL, 1e-5f, 0, attr);
}
/* In two stages. */
static dnnl_tp_status_t reduction(problem_t *p, dnnl_tp_primitive_attr_t attr) {
    add(p, DNNL_TP_ARG_SRC, dnnl_tp_f32, 1, 40000);
    add(p, DNNL_TP_ARG_DST, dnnl_tp_f32, 1, 1);
    return dnnl_tp_reduction_primitive_desc_create(&p->pd, gpu, dnnl_tp_reduction_sum, &p->md[0], &p->md[1],
                                                   0, 0, attr);
}
static dnnl_tp_status_t matmul(problem_t *p, dnnl_tp_primitive_attr_t attr, dnnl_tp_data_type_t dt, int64_t m,
                               int64_t n, int64_t k) {
    add(p, DNNL_TP_ARG_SRC, dt, m, k);
    add(p, DNNL_TP_ARG_WEIGHTS, dt, k, n);
    add(p, DNNL_TP_ARG_DST, dt, m, n);
    return dnnl_tp_matmul_primitive_desc_create(&p->pd, gpu, &p->md[0], &p->md[1], NULL, &p->md[2], attr);
}
/* Long sums are shared by blocks. */
static dnnl_tp_status_t matmul_f32(problem_t *p, dnnl_tp_primitive_attr_t attr) {
    return matmul(p, attr, dnnl_tp_f32, 4, 8, 2048);
}
static dnnl_tp_status_t matmul_bf16(problem_t *p, dnnl_tp_primitive_attr_t attr) {
    return matmul(p, attr, dnnl_tp_bf16, 16, 32, 1536);
}
static dnnl_tp_status_t reorder(problem_t *p, dnnl_tp_primitive_attr_t attr) {
    add(p, DNNL_TP_ARG_FROM, dnnl_tp_f32, 5, 67);
    add(p, DNNL_TP_ARG_TO, dnnl_tp_f16, 5, 67);
    return dnnl_tp_reorder_primitive_desc_create(&p->pd, &p->md[0], gpu, &p->md[1], gpu, attr);
}

typedef dnnl_tp_status_t (*describe_t)(problem_t *p, dnnl_tp_primitive_attr_t attr);
static const describe_t problems[] = {eltwise,   binary,     softmax,     layer_norm,
                                      reduction, matmul_f32, matmul_bf16, reorder};
enum { PROBLEMS = sizeof problems / sizeof *problems };

/* ---- Runs --------------------------------------------------------------------------------------------- */

typedef struct {
    unsigned char *bits;
    size_t bytes;
    char impl[32];
} result_t;

static dnnl_tp_memory_t place(const dtp_md_t *md, test_rng_t *r, size_t shift, void **at) {
    tensor_t t;
    dtp_md_t room;
    dnnl_tp_memory_t m;
    tensor_init(&t, md);
    tensor_fill(&t, r, -1, 1, false);
    const size_t bytes = dtp_md_size(md), all = bytes + MOST_SHIFT;
    CHECK_OK(dtp_md_init_layout(&room, 1, (int64_t[]){(int64_t)all}, dnnl_tp_u8, "a"));
    CHECK_OK(dnnl_tp_memory_create(&m, &room, gpu, DNNL_TP_MEMORY_ALLOCATE));
    unsigned char *host = calloc(1, all);
    memcpy(host + shift, t.data, bytes);
    test_upload(m, host, all);
    free(host);
    tensor_free(&t);
    CHECK_OK(dnnl_tp_memory_get_data_handle(m, at));
    *at = (char *)*at + shift;
    return m;
}

/* Beside another stream that does the same. */
static result_t run(describe_t describe, int deterministic, size_t shift) {
    problem_t p = {.n = 0};
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_primitive_t primitive;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_primitive_attr_set_deterministic(attr, deterministic));
    CHECK_OK(describe(&p, attr));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    CHECK_OK(dnnl_tp_primitive_create(&primitive, p.pd));
    result_t result = {.bytes = dtp_md_size(&p.md[p.n - 1])};
    strcpy(result.impl, p.pd->impl->name);
    dnnl_tp_stream_t s[2];
    dnnl_tp_memory_t memory[2][TENSORS];
    for (int i = 0; i < 2; ++i) {
        dnnl_tp_exec_handle_t args[TENSORS];
        test_rng_t r = test_rng(7);
        s[i] = gpu_stream();
        for (int k = 0; k < p.n; ++k) {
            args[k].arg = p.arg[k];
            memory[i][k] = place(&p.md[k], &r, shift, &args[k].handle);
        }
        CHECK_OK(dnnl_tp_primitive_execute_handles(primitive, s[i], p.n, args));
    }
    for (int i = 0; i < 2; ++i) CHECK_OK(dnnl_tp_stream_wait(s[i]));
    unsigned char *both[2];
    for (int i = 0; i < 2; ++i) {
        both[i] = malloc(result.bytes + MOST_SHIFT);
        test_download(memory[i][p.n - 1], both[i], result.bytes + MOST_SHIFT);
        memmove(both[i], both[i] + shift, result.bytes);
        for (int k = 0; k < p.n; ++k) CHECK_OK(dnnl_tp_memory_destroy(memory[i][k]));
        CHECK_OK(dnnl_tp_stream_destroy(s[i]));
    }
    assert_memory_equal(both[0], both[1], result.bytes);
    free(both[1]);
    result.bits = both[0];
    CHECK_OK(dnnl_tp_primitive_destroy(primitive));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(p.pd));
    return result;
}

static void compare(const describe_t *list, int n, const char *impl) {
    enum { SEEDS = 3 };
    for (int i = 0; i < n; ++i) {
        const result_t first = run(list[i], 0, 0);
        if (impl) assert_string_equal(first.impl, impl);
        for (int seed = 1; seed <= SEEDS; ++seed) {
            fake_cuda_set_seed((uint64_t)seed);
            const result_t again = run(list[i], seed > 1, (size_t)(seed * MODULO % MOST_SHIFT));
            assert_string_equal(again.impl, first.impl);
            assert_memory_equal(again.bits, first.bits, first.bytes);
            free(again.bits);
        }
        free(first.bits);
    }
}

static void kernels_repeat(void **state) {
    (void)state;
    compare(problems, PROBLEMS, NULL);
}

/* The fake library refuses preferences that allow parts of sums in any order. */
static void cublaslt_repeats(void **state) {
    (void)state;
    static const describe_t products[] = {matmul_f32, matmul_bf16};
    dtp_lt_set_for_test(fake_lt_table());
    compare(products, sizeof products / sizeof *products, "cuda:cublaslt");
    dtp_lt_set_for_test(NULL);
}

int main(void) {
    alarm(300);
#define TEST(name) cmocka_unit_test_setup_teardown(name, gpu_setup, gpu_teardown)
    const struct CMUnitTest tests[] = {TEST(kernels_repeat), TEST(cublaslt_repeats)};
    return cmocka_run_group_tests_name("determinism", tests, NULL, NULL);
}
