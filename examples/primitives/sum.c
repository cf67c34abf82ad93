/* A weighted sum of three tensors. */
#include "example.h"

int main(void) {
    enum { N = 4 };
    float a[N] = {1, 2, 3, 4}, b[N] = {1, 1, 1, 1}, c[N] = {0, 4, 8, 12}, dst[N];
    const float scales[3] = {1.0f, -1.0f, 0.25f}, want[N] = {0, 2, 4, 6};

    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    CHECK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
    dnnl_tp_memory_desc_t md;
    F32(md, N);

    dnnl_tp_primitive_desc_t pd;
    const_dnnl_tp_memory_desc_t src_mds[] = {md, md, md};
    CHECK(dnnl_tp_sum_primitive_desc_create(&pd, engine, md, 3, scales, src_mds, NULL));
    run_once(pd, stream, 4,
             (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_MULTIPLE_SRC, a},
                                       {DNNL_TP_ARG_MULTIPLE_SRC + 1, b},
                                       {DNNL_TP_ARG_MULTIPLE_SRC + 2, c},
                                       {DNNL_TP_ARG_DST, dst}});
    expect("a - b + c / 4", dst, want, N);

    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_memory_desc_destroy(md);
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_engine_destroy(engine);
    return 0;
}
