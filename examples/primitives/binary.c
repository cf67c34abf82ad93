/* Two tensors, element by element: a column times a row (both broadcast), then a comparison. */
#include "example.h"

int main(void) {
    enum { R = 3, C = 2 };
    float column[R] = {1, 2, 3}, row[C] = {10, -1}, product[R * C], greater[R * C];
    const float want[R * C] = {10, -1, 20, -2, 30, -3}, want_greater[R * C] = {0, 0, 1, 0, 1, 0};

    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    CHECK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
    dnnl_tp_memory_desc_t column_md, row_md, md;
    F32(column_md, R, 1);
    F32(row_md, 1, C);
    F32(md, R, C);

    dnnl_tp_primitive_desc_t pd;
    CHECK(dnnl_tp_binary_primitive_desc_create(&pd, engine, dnnl_tp_binary_mul, column_md, row_md, md, NULL));
    run_once(pd, stream, 3,
             (dnnl_tp_exec_handle_t[]){
                 {DNNL_TP_ARG_SRC_0, column}, {DNNL_TP_ARG_SRC_1, row}, {DNNL_TP_ARG_DST, product}});
    expect("column * row", product, want, R * C);
    dnnl_tp_primitive_desc_destroy(pd);

    /* Is the product greater than the row? Comparisons give 1 or 0. */
    CHECK(dnnl_tp_binary_primitive_desc_create(&pd, engine, dnnl_tp_binary_gt, md, row_md, md, NULL));
    run_once(pd, stream, 3,
             (dnnl_tp_exec_handle_t[]){
                 {DNNL_TP_ARG_SRC_0, product}, {DNNL_TP_ARG_SRC_1, row}, {DNNL_TP_ARG_DST, greater}});
    expect("product > row", greater, want_greater, R * C);

    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_memory_desc_destroy(column_md);
    dnnl_tp_memory_desc_destroy(row_md);
    dnnl_tp_memory_desc_destroy(md);
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_engine_destroy(engine);
    return 0;
}
