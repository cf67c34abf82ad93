/* An f64 oracle of matrix products and a runner through the public API, for the matmul and inner product
 * tests.
 *
 * Inputs are small integers, so that sums are exact in f32 whatever their order, except where a case asks for
 * real numbers. */
#ifndef DTP_TESTS_PRODUCT_CHECK_H
#define DTP_TESTS_PRODUCT_CHECK_H

#include "common/primitive/primitive_desc.h"
#include "support/check.h"

enum { PC_MAX_STEPS = 8 };

/* One post-operation of a chain, in short. */
typedef enum {
    PC_END,
    PC_RELU,
    PC_LEAKY,
    PC_GELU_ERF,
    PC_GELU_TANH,
    PC_TANH,
    PC_LINEAR,
    PC_SUM,
    PC_SUM_HALF,
    PC_ADD,
    PC_ADD_COLS,
    PC_ADD_ROWS,
    PC_MUL_SCALAR,
    PC_MAX
} pc_step_t;

typedef struct {
    dnnl_tp_memory_desc_t src, wei, bia, dst; /* owned; bia may be NULL; as given at creation, may be any */
    dnnl_tp_memory_desc_t actual[4];          /* run-time dims: descriptors of the memories; else NULL */
    bool inner_product;
    pc_step_t chain[PC_MAX_STEPS];
    bool real_values; /* not integers: compare with a tolerance */
    int64_t rows;     /* > 0: rows mode */
    float special;    /* non-zero: put this value (NaN, inf) into src and weights here and there */
    double *want;     /* the oracle's, since the first pc_check */
} pc_problem_t;

/* Runs on the engine and compares with the oracle; fails the test with a description. impl: text that the
 * chosen implementation must be, or NULL. result: if not NULL, receives a copy (malloc) of dst's bytes. */
void pc_check(pc_problem_t *p, dnnl_tp_engine_t engine, dnnl_tp_stream_t stream, const char *impl,
              void **result, size_t *result_bytes);
void pc_free(pc_problem_t *p);

#endif
