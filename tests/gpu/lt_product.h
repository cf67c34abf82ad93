/* Products by cuBLASLt (src/gpu/matmul/product_lt.c) on the fake one, for test_lt*.c. */
#ifndef TESTS_GPU_LT_PRODUCT_H
#define TESTS_GPU_LT_PRODUCT_H

#include "gpu/gpu_world.h"
#include "support/tensor.h"

enum { F32 = dnnl_tp_f32, BF16 = dnnl_tp_bf16, F16 = dnnl_tp_f16 };
enum { LINE_BYTES = 1000 };
typedef enum { NOTHING, GELU, SUM_HALF, SUM_GELU, GELU_SUM, RELU, TANH } lt_chain_t;

typedef struct {
    int64_t batch, src_batch, wei_batch, m, n, k; /* batch 0: two dimensions */
    int type, dst_type, bia_type;                 /* bia_type 0: no bias */
    const char *src, *wei, *dst;                  /* layouts */
    lt_chain_t chain;
    dnnl_tp_fpmath_mode_t fpmath;
} lt_problem_t;

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
} lt_product_t;

#define lt_impl_name "cuda:cublaslt"
static const lt_problem_t lt_usual = {M_BY_N(16, 32, 64), BF16, BF16, BF16, "ab", "ab", "ab", GELU, 0};

/* The engine with the fake cuBLASLt, which fails nowhere. */
int lt_setup(void **state);
/* Small whole numbers in tensors on the host; element 0 lies `shift` elements behind the begin of its memory. */
void lt_fill_tensors(lt_product_t *q, const lt_problem_t *p, int64_t shift);
void lt_upload_tensors(lt_product_t *q);
/* Descriptor and attributes of the problem. */
dnnl_tp_status_t lt_describe(lt_product_t *q, const lt_problem_t *p);
/* All three, and the primitive. */
lt_product_t lt_begin(const lt_problem_t *p, int64_t shift);
void lt_end(lt_product_t *q);
const char *lt_impl_of(const lt_product_t *q);
dnnl_tp_status_t lt_submit(const lt_product_t *q, const lt_problem_t *p, dnnl_tp_stream_t s);
/* After one execution dst has the values of the problem. */
void lt_check_values(const lt_product_t *q, const lt_problem_t *p);
/* All of it, by the implementation with a name. */
void lt_check(const lt_problem_t *p, int64_t shift, const char *impl);

#endif
