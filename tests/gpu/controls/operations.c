/* See operations.h. */
#include "gpu/controls/operations.h"

#include <string.h>

#include "support/tensor.h"
#include "support/upload.h"

dtp_md_t dense(int ndims, dnnl_tp_data_type_t dt, int64_t a, int64_t b, int64_t c) {
    const int64_t dims[] = {a, b, c};
    dtp_md_t md;
    CHECK_OK(dtp_md_init_strides(&md, ndims, dims, dt, NULL));
    return md;
}

void run_op_with(dnnl_tp_engine_t gpu, dnnl_tp_primitive_attr_t attr, const dtp_op_desc_t *op, size_t size,
                 bool wrong_data, int n, const operand_t *x) {
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t p;
    dnnl_tp_stream_t s;
    dnnl_tp_exec_arg_t args[8];
    test_rng_t r = test_rng(3);
    CHECK_OK(dnnl_tp_stream_create(&s, gpu, 0));
    CHECK_OK(dtp_pd_create(&pd, gpu, op, size, attr));
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    for (int i = 0; i < n; ++i) {
        tensor_t t;
        tensor_init(&t, x[i].md);
        if (x[i].data) memcpy(t.data, x[i].data, t.bytes);
        else if (x[i].md->data_type == dnnl_tp_s64 || x[i].md->data_type == dnnl_tp_boolean)
            for (size_t b = 0; b < t.bytes; ++b) t.data[b] = (unsigned char)(test_rand(&r) & 1);
        else tensor_fill(&t, &r, 0, 9, false);
        args[i].arg = x[i].arg;
        CHECK_OK(dnnl_tp_memory_create(&args[i].memory, x[i].md, gpu, DNNL_TP_MEMORY_ALLOCATE));
        test_upload(args[i].memory, t.data, t.bytes);
        tensor_free(&t);
    }
    CHECK_OK(dnnl_tp_primitive_execute(p, s, n, args));
    CHECK_STATUS(dnnl_tp_stream_wait(s), wrong_data ? dnnl_tp_runtime_error : dnnl_tp_success);
    for (int i = 0; i < n; ++i) CHECK_OK(dnnl_tp_memory_destroy(args[i].memory));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_stream_destroy(s));
}
void run_op(dnnl_tp_engine_t gpu, const dtp_op_desc_t *op, size_t size, bool wrong_data, int n,
            const operand_t *x) {
    run_op_with(gpu, NULL, op, size, wrong_data, n, x);
}
