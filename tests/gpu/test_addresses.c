/* Where tensors lie must not matter: each operand of each kind of primitive once at every number of bytes behind a multiple of 16
 * that its type allows, the others aligned. A kernel that moves 16 bytes at once from there traps, as it does on a GPU. Memory ends with
 * the operand, so that an access behind it traps, too; bytes in front of the result keep their values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/scalar.h"
#include "common/primitive/primitive_desc.h"
#include "common/problems/graph/attention.h"
#include "common/problems/graph/gather.h"
#include "common/problems/graph/pool_normalize.h"
#include "gpu/gpu_world.h"
#include "support/tensor.h"
#include "support/upload.h"

enum { OPERANDS = 6, ALIGNED = 16, IN_FRONT = 0x5a };

/* ---- Problems ----------------------------------------------------------------------------------------- */

/* The last operand is the result. */
typedef struct {
    int n, arg[OPERANDS];
    dtp_md_t md[OPERANDS];
    dnnl_tp_primitive_desc_t pd;
} problem_t;

static const dtp_md_t *add_strided(problem_t *p, int arg, dnnl_tp_data_type_t dt, int64_t rows, int64_t cols,
                                   const char *layout) {
    p->arg[p->n] = arg;
    CHECK_OK(dtp_md_init_layout(&p->md[p->n], 2, (int64_t[]){rows, cols}, dt, layout));
    return &p->md[p->n++];
}
static const dtp_md_t *add(problem_t *p, int arg, dnnl_tp_data_type_t dt, int64_t rows, int64_t cols) {
    return add_strided(p, arg, dt, rows, cols, "ab");
}

/* One post-operation that adds a tensor of rows x cols. */
static dnnl_tp_primitive_attr_t with_tensor(problem_t *p, dnnl_tp_data_type_t dt, int64_t rows,
                                            int64_t cols) {
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_post_ops_t po;
    const dtp_md_t *md = add(p, DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_TP_ARG_SRC_1, dt, rows, cols);
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    CHECK_OK(dnnl_tp_post_ops_append_binary(po, dnnl_tp_binary_add, md));
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
    return attr;
}

static void eltwise(problem_t *p, dnnl_tp_data_type_t dt, int64_t cols, bool tensor) {
    dnnl_tp_primitive_attr_t attr = tensor ? with_tensor(p, dt, 5, cols) : NULL;
    const dtp_md_t *src = add(p, DNNL_TP_ARG_SRC, dt, 5, cols), *dst = add(p, DNNL_TP_ARG_DST, dt, 5, cols);
    CHECK_OK(dnnl_tp_eltwise_forward_primitive_desc_create(&p->pd, gpu, dnnl_tp_forward_inference,
                                                           dnnl_tp_eltwise_linear, src, dst, 2, 1, attr));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
}
static void eltwise_f32(problem_t *p) { eltwise(p, dnnl_tp_f32, 67, false); }
static void eltwise_bf16(problem_t *p) { eltwise(p, dnnl_tp_bf16, 67, false); }
static void eltwise_chain(problem_t *p) { eltwise(p, dnnl_tp_f32, 68, true); }
static void eltwise_chain_f16(problem_t *p) { eltwise(p, dnnl_tp_f16, 72, true); }

static void binary(problem_t *p, dnnl_tp_data_type_t dt, int64_t rows) {
    dnnl_tp_primitive_attr_t attr = with_tensor(p, dt, 1, 72);
    const dtp_md_t *a = add(p, DNNL_TP_ARG_SRC_0, dt, 5, 72), *b = add(p, DNNL_TP_ARG_SRC_1, dt, rows, 72),
                   *dst = add(p, DNNL_TP_ARG_DST, dt, 5, 72);
    CHECK_OK(dnnl_tp_binary_primitive_desc_create(&p->pd, gpu, dnnl_tp_binary_mul, a, b, dst, attr));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
}
static void binary_f32(problem_t *p) { binary(p, dnnl_tp_f32, 5); }
static void binary_bf16(problem_t *p) { binary(p, dnnl_tp_bf16, 1); }
static void binary_u8(problem_t *p) { binary(p, dnnl_tp_u8, 5); }

static void softmax(problem_t *p, dnnl_tp_data_type_t dt, int64_t rows, int64_t cols, const char *layout,
                    bool tensor) {
    dnnl_tp_primitive_attr_t attr = tensor ? with_tensor(p, dt, 1, cols) : NULL;
    const dtp_md_t *src = add_strided(p, DNNL_TP_ARG_SRC, dt, rows, cols, layout),
                   *dst = add_strided(p, DNNL_TP_ARG_DST, dt, rows, cols, layout);
    CHECK_OK(dnnl_tp_softmax_forward_primitive_desc_create(&p->pd, gpu, dnnl_tp_forward_inference,
                                                           dnnl_tp_softmax_accurate, src, dst, 1, attr));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
}
static void softmax_held(problem_t *p) { softmax(p, dnnl_tp_f32, 3, 64, "ab", false); }
static void softmax_bf16(problem_t *p) { softmax(p, dnnl_tp_bf16, 3, 1544, "ab", false); }
static void softmax_rows(problem_t *p) { softmax(p, dnnl_tp_f32, 3, 72, "ab", true); }
static void softmax_columns(problem_t *p) { softmax(p, dnnl_tp_f32, 132, 20, "ba", false); }

static void layer_norm(problem_t *p, dnnl_tp_data_type_t dt, dnnl_tp_data_type_t values, bool tensor) {
    dnnl_tp_primitive_attr_t attr = tensor ? with_tensor(p, dt, 1, 136) : NULL;
    p->arg[p->n] = DNNL_TP_ARG_SCALE, p->arg[p->n + 1] = DNNL_TP_ARG_SHIFT;
    for (int i = 0; i < 2; ++i)
        CHECK_OK(dtp_md_init_layout(&p->md[p->n++], 1, (int64_t[]){136}, values, "a"));
    const dtp_md_t *src = add(p, DNNL_TP_ARG_SRC, dt, 3, 136), *dst = add(p, DNNL_TP_ARG_DST, dt, 3, 136);
    CHECK_OK(dnnl_tp_layer_normalization_forward_primitive_desc_create_v2(
        &p->pd, gpu, dnnl_tp_forward_inference, src, dst, NULL, values, 1e-5f,
        dnnl_tp_use_scale | dnnl_tp_use_shift, attr));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
}
static void layer_norm_f16(problem_t *p) { layer_norm(p, dnnl_tp_f16, dnnl_tp_f32, false); }
static void layer_norm_bf16(problem_t *p) { layer_norm(p, dnnl_tp_bf16, dnnl_tp_bf16, false); }
static void layer_norm_rows(problem_t *p) { layer_norm(p, dnnl_tp_f32, dnnl_tp_f32, true); }

static void reduction(problem_t *p, dnnl_tp_data_type_t dt, int64_t rows, int64_t cols, int64_t to_rows,
                      int64_t to_cols) {
    const dtp_md_t *src = add(p, DNNL_TP_ARG_SRC, dt, rows, cols),
                   *dst = add(p, DNNL_TP_ARG_DST, dt, to_rows, to_cols);
    CHECK_OK(
        dnnl_tp_reduction_primitive_desc_create(&p->pd, gpu, dnnl_tp_reduction_sum, src, dst, 0, 0, NULL));
}
static void reduction_rows(problem_t *p) { reduction(p, dnnl_tp_f32, 3, 1100, 3, 1); }
static void reduction_bf16(problem_t *p) { reduction(p, dnnl_tp_bf16, 3, 1104, 3, 1); }
static void reduction_columns(problem_t *p) { reduction(p, dnnl_tp_f32, 40, 200, 1, 200); }

static void matmul(problem_t *p, dnnl_tp_data_type_t dt, int64_t m, int64_t n, int64_t k, const char *wei,
                   dnnl_tp_fpmath_mode_t mode) {
    dnnl_tp_primitive_attr_t attr = with_tensor(p, dt, m, n);
    CHECK_OK(dnnl_tp_primitive_attr_set_fpmath_mode(attr, mode));
    const dtp_md_t *a = add(p, DNNL_TP_ARG_SRC, dt, m, k),
                   *b = add_strided(p, DNNL_TP_ARG_WEIGHTS, dt, k, n, wei),
                   *bias = add(p, DNNL_TP_ARG_BIAS, dt, 1, n), *dst = add(p, DNNL_TP_ARG_DST, dt, m, n);
    CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&p->pd, gpu, a, b, bias, dst, attr));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
}
static void matmul_simt(problem_t *p) {
    matmul(p, dnnl_tp_f32, 20, 24, 36, "ab", dnnl_tp_fpmath_mode_strict);
}
static void matmul_few(problem_t *p) {
    matmul(p, dnnl_tp_f32, 2, 24, 1100, "ab", dnnl_tp_fpmath_mode_strict);
}
static void matmul_tf32(problem_t *p) { matmul(p, dnnl_tp_f32, 20, 24, 36, "ba", dnnl_tp_fpmath_mode_tf32); }
static void matmul_bf16(problem_t *p) {
    matmul(p, dnnl_tp_bf16, 20, 24, 40, "ab", dnnl_tp_fpmath_mode_strict);
}
static void matmul_nt(problem_t *p) { matmul(p, dnnl_tp_f16, 20, 24, 40, "ba", dnnl_tp_fpmath_mode_strict); }

static void reorder(problem_t *p, dnnl_tp_data_type_t from, dnnl_tp_data_type_t to, int64_t cols,
                    const char *layout) {
    const dtp_md_t *src = add(p, DNNL_TP_ARG_FROM, from, 36, cols),
                   *dst = add_strided(p, DNNL_TP_ARG_TO, to, 36, cols, layout);
    CHECK_OK(dnnl_tp_reorder_primitive_desc_create(&p->pd, src, gpu, dst, gpu, NULL));
}
static void reorder_convert(problem_t *p) { reorder(p, dnnl_tp_f32, dnnl_tp_f16, 68, "ab"); }
static void reorder_move(problem_t *p) { reorder(p, dnnl_tp_bf16, dnnl_tp_bf16, 72, "ab"); }
static void reorder_transpose(problem_t *p) { reorder(p, dnnl_tp_u8, dnnl_tp_u8, 40, "ba"); }

static void concat(problem_t *p, dnnl_tp_data_type_t dt, dnnl_tp_data_type_t to) {
    const const_dnnl_tp_memory_desc_t src[] = {add(p, DNNL_TP_ARG_MULTIPLE_SRC, dt, 9, 16),
                                               add(p, DNNL_TP_ARG_MULTIPLE_SRC + 1, dt, 9, 32)};
    const dtp_md_t *dst = add(p, DNNL_TP_ARG_DST, to, 9, 48);
    CHECK_OK(dnnl_tp_concat_primitive_desc_create(&p->pd, gpu, dst, 2, 1, src, NULL));
}
static void concat_u8(problem_t *p) { concat(p, dnnl_tp_u8, dnnl_tp_u8); }
static void concat_f32(problem_t *p) { concat(p, dnnl_tp_f32, dnnl_tp_f32); }
static void concat_bf16_to_f32(problem_t *p) { concat(p, dnnl_tp_bf16, dnnl_tp_f32); }

static void sum(problem_t *p) {
    const const_dnnl_tp_memory_desc_t src[] = {add(p, DNNL_TP_ARG_MULTIPLE_SRC, dnnl_tp_bf16, 9, 72),
                                               add(p, DNNL_TP_ARG_MULTIPLE_SRC + 1, dnnl_tp_bf16, 9, 72)};
    const dtp_md_t *dst = add(p, DNNL_TP_ARG_DST, dnnl_tp_bf16, 9, 72);
    CHECK_OK(dnnl_tp_sum_primitive_desc_create(&p->pd, gpu, dst, 2, (float[]){1, 2}, src, NULL));
}

static void attention(problem_t *p, dnnl_tp_data_type_t dt, int64_t d, dnnl_tp_fpmath_mode_t mode) {
    static const int args[] = {DNNL_TP_ARG_SRC_0, DNNL_TP_ARG_SRC_1, DNNL_TP_ARG_SRC_2,
                               DNNL_TP_ARG_MULTIPLE_SRC, DNNL_TP_ARG_DST};
    dnnl_tp_primitive_attr_t attr;
    dtp_attention_desc_t op;
    memset(&op, 0, sizeof op);
    for (p->n = 0; p->n < 5; ++p->n) {
        const int64_t dims[] = {1, 20, d};
        p->arg[p->n] = args[p->n];
        if (p->n == 3) CHECK_OK(dtp_md_init_strides(&p->md[3], 2, dims, dnnl_tp_f32, NULL));
        else CHECK_OK(dtp_md_init_strides(&p->md[p->n], 3, dims, dt, NULL));
    }
    op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_ATTENTION;
    op.heads = 1, op.scale = .1f;
    op.q = p->md[0], op.k = p->md[1], op.v = p->md[2], op.mask = p->md[3], op.dst = p->md[4];
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_primitive_attr_set_fpmath_mode(attr, mode));
    CHECK_OK(dtp_pd_create(&p->pd, gpu, &op.base, sizeof op, attr));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
}
static void attention_mma(problem_t *p) { attention(p, dnnl_tp_bf16, 32, dnnl_tp_fpmath_mode_strict); }
static void attention_tf32(problem_t *p) { attention(p, dnnl_tp_f32, 32, dnnl_tp_fpmath_mode_tf32); }
static void attention_tile(problem_t *p) { attention(p, dnnl_tp_f32, 32, dnnl_tp_fpmath_mode_strict); }
static void attention_any(problem_t *p) { attention(p, dnnl_tp_bf16, 132, dnnl_tp_fpmath_mode_strict); }

static void gather(problem_t *p) {
    dtp_gather_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_GATHER;
    op.table = *add(p, DNNL_TP_ARG_WEIGHTS, dnnl_tp_bf16, 8, 40);
    p->arg[p->n] = DNNL_TP_ARG_SRC;
    CHECK_OK(dtp_md_init_layout(&p->md[p->n], 1, (int64_t[]){9}, dnnl_tp_s32, "a"));
    op.ids = p->md[p->n++];
    op.dst = *add(p, DNNL_TP_ARG_DST, dnnl_tp_f32, 9, 40);
    CHECK_OK(dtp_pd_create(&p->pd, gpu, &op.base, sizeof op, NULL));
}

static void pool_normalize(problem_t *p) {
    dtp_pool_normalize_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_POOL_NORMALIZE;
    op.epsilon = 1e-12f;
    p->arg[p->n] = DNNL_TP_ARG_SRC;
    CHECK_OK(dtp_md_init_layout(&p->md[p->n], 3, (int64_t[]){1, 9, 100}, dnnl_tp_bf16, "abc"));
    op.src = p->md[p->n++];
    op.mask = *add(p, DNNL_TP_ARG_MULTIPLE_SRC, dnnl_tp_f32, 1, 9);
    op.dst = *add(p, DNNL_TP_ARG_DST, dnnl_tp_f32, 1, 100);
    CHECK_OK(dtp_pd_create(&p->pd, gpu, &op.base, sizeof op, NULL));
}

static void (*const problems[])(problem_t *p) = {eltwise_f32,
                                                 eltwise_bf16,
                                                 eltwise_chain,
                                                 eltwise_chain_f16,
                                                 binary_f32,
                                                 binary_bf16,
                                                 binary_u8,
                                                 softmax_held,
                                                 softmax_bf16,
                                                 softmax_rows,
                                                 softmax_columns,
                                                 layer_norm_f16,
                                                 layer_norm_bf16,
                                                 layer_norm_rows,
                                                 reduction_rows,
                                                 reduction_bf16,
                                                 reduction_columns,
                                                 matmul_simt,
                                                 matmul_few,
                                                 matmul_tf32,
                                                 matmul_bf16,
                                                 matmul_nt,
                                                 reorder_convert,
                                                 reorder_move,
                                                 reorder_transpose,
                                                 concat_u8,
                                                 concat_f32,
                                                 concat_bf16_to_f32,
                                                 sum,
                                                 attention_mma,
                                                 attention_tf32,
                                                 attention_tile,
                                                 attention_any,
                                                 gather,
                                                 pool_normalize};
enum { PROBLEMS = sizeof problems / sizeof *problems };

/* ---- Runs --------------------------------------------------------------------------------------------- */

static dnnl_tp_memory_t place(const dtp_md_t *md, test_rng_t *r, size_t shift, void **at) {
    tensor_t t;
    dtp_md_t room;
    dnnl_tp_memory_t m;
    tensor_init(&t, md);
    tensor_fill(&t, r, 0, 3, true);
    const size_t all = shift + t.bytes;
    CHECK_OK(dtp_md_init_layout(&room, 1, (int64_t[]){(int64_t)all}, dnnl_tp_u8, "a"));
    CHECK_OK(dnnl_tp_memory_create(&m, &room, gpu, DNNL_TP_MEMORY_ALLOCATE));
    unsigned char *host = malloc(all);
    memset(host, IN_FRONT, shift);
    memcpy(host + shift, t.data, t.bytes);
    test_upload(m, host, all);
    free(host);
    tensor_free(&t);
    CHECK_OK(dnnl_tp_memory_get_data_handle(m, at));
    *at = (char *)*at + shift;
    return m;
}

/* The result as numbers, with operand `which` so many bytes off. */
static double *run(int problem, int which, size_t shift, size_t *n, char impl[32]) {
    problem_t p = {.n = 0};
    dnnl_tp_primitive_t primitive;
    dnnl_tp_exec_handle_t args[OPERANDS];
    dnnl_tp_memory_t memory[OPERANDS];
    dnnl_tp_stream_t s = gpu_stream();
    test_rng_t r = test_rng(7);
    problems[problem](&p);
    snprintf(impl, 32, "%s", p.pd->impl->name);
    CHECK_OK(dnnl_tp_primitive_create(&primitive, p.pd));
    for (int i = 0; i < p.n; ++i) {
        args[i].arg = p.arg[i];
        memory[i] = place(&p.md[i], &r, i == which ? shift : 0, &args[i].handle);
    }
    CHECK_OK(dnnl_tp_primitive_execute_handles(primitive, s, p.n, args));
    if (dnnl_tp_stream_wait(s) != dnnl_tp_success)
        fail_msg("problem %d, %s, operand %d at %zu bytes: %s", problem, impl, which, shift,
                 fake_cuda_trap());
    const dtp_md_t *dst = &p.md[p.n - 1];
    const size_t before = which == p.n - 1 ? shift : 0, bytes = dtp_md_size(dst);
    unsigned char *got = malloc(before + bytes);
    test_download(memory[p.n - 1], got, before + bytes);
    for (size_t i = 0; i < before; ++i) assert_int_equal(got[i], IN_FRONT);
    memmove(got, got + before, bytes);
    *n = bytes / dtp_type_size(dst->data_type);
    double *y = malloc(*n * sizeof *y);
    for (size_t i = 0; i < *n; ++i) y[i] = dtp_load(dst->data_type, got, (int64_t)i);
    free(got);
    for (int i = 0; i < p.n; ++i) CHECK_OK(dnnl_tp_memory_destroy(memory[i]));
    CHECK_OK(dnnl_tp_primitive_destroy(primitive));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(p.pd));
    CHECK_OK(dnnl_tp_stream_destroy(s));
    return y;
}

static void any_address(void **state) {
    (void)state;
    for (int i = 0; i < PROBLEMS; ++i) {
        problem_t p = {.n = 0};
        size_t n;
        char impl[32];
        problems[i](&p);
        CHECK_OK(dnnl_tp_primitive_desc_destroy(p.pd));
        double *want = run(i, -1, 0, &n, impl);
        for (int which = 0; which < p.n; ++which)
            for (size_t shift = dtp_type_size(p.md[which].data_type); shift < ALIGNED; shift *= 2) {
                double *got = run(i, which, shift, &n, impl);
                for (size_t k = 0; k < n;
                     ++k) /* another kernel may add in another order, or use another exp */
                    if (!(fabs(got[k] - want[k]) <= 1e-2 * (1 + fabs(want[k]))))
                        fail_msg("problem %d, %s, operand %d at %zu bytes: element %zu is %g, not %g", i,
                                 impl, which, shift, k, got[k], want[k]);
                free(got);
            }
        free(want);
    }
}

int main(void) {
    alarm(300);
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(any_address, gpu_setup, gpu_teardown)};
    return cmocka_run_group_tests_name("addresses", tests, NULL, NULL);
}
