/* Reductions: the mean of each column, and the Euclidean norm of everything. */
#include "example.h"

int main(void) {
    enum { R = 2, C = 3 };
    float src[R * C] = {1, 2, 3, 3, 2, 3}, mean[C], norm[1];
    const float want_mean[C] = {2, 2, 3}, want_norm[1] = {6};

    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    CHECK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
    dnnl_tp_memory_desc_t src_md, row_md, one_md;
    F32(src_md, R, C);
    F32(row_md, 1, C);
    F32(one_md, 1, 1);

    dnnl_tp_primitive_desc_t pd;
    CHECK(dnnl_tp_reduction_primitive_desc_create(&pd, engine, dnnl_tp_reduction_mean, src_md, row_md, 0.0f,
                                                  0.0f, NULL));
    run_once(pd, stream, 2, (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_SRC, src}, {DNNL_TP_ARG_DST, mean}});
    expect("mean of columns", mean, want_mean, C);
    dnnl_tp_primitive_desc_destroy(pd);

    CHECK(dnnl_tp_reduction_primitive_desc_create(&pd, engine, dnnl_tp_reduction_norm_lp_sum, src_md, one_md,
                                                  2.0f, 0.0f, NULL));
    run_once(pd, stream, 2, (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_SRC, src}, {DNNL_TP_ARG_DST, norm}});
    expect("norm", norm, want_norm, 1);

    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_memory_desc_destroy(src_md);
    dnnl_tp_memory_desc_destroy(row_md);
    dnnl_tp_memory_desc_destroy(one_md);
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_engine_destroy(engine);
    return 0;
}
