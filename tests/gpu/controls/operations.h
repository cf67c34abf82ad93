/* Operations that graphs have, run on a device for the launches they make: nobody reads their results. */
#ifndef TESTS_GPU_CONTROLS_OPERATIONS_H
#define TESTS_GPU_CONTROLS_OPERATIONS_H

#include "common/primitive/primitive_desc.h"

typedef struct {
    int arg;
    const dtp_md_t *md;
    /* Of all elements; NULL: any numbers, of s64 and boolean bytes of 0 and 1. */
    const void *data;
} operand_t;

/* Row-major, of one to three dimensions. */
dtp_md_t dense(int ndims, dnnl_tp_data_type_t dt, int64_t a, int64_t b, int64_t c);
/* Runs the operation on n operands once; wrong_data: it must find them wrong. */
void run_op_with(dnnl_tp_engine_t gpu, dnnl_tp_primitive_attr_t attr, const dtp_op_desc_t *op, size_t size,
                 bool wrong_data, int n, const operand_t *x);
/* Without attributes. */
void run_op(dnnl_tp_engine_t gpu, const dtp_op_desc_t *op, size_t size, bool wrong_data, int n,
            const operand_t *x);

#endif
