/* Six channels in two groups of three, interleaved; and back again. */
#include "example.h"

int main(void) {
    enum { N = 1, C = 6, W = 2 };
    float src[N * C * W] = {0, 0.5f, 1, 1.5f, 2, 2.5f, 3, 3.5f, 4, 4.5f, 5, 5.5f}, mixed[N * C * W],
                      dst[N * C * W];
    const float want[N * C * W] = {0, 0.5f, 3, 3.5f, 1, 1.5f, 4, 4.5f, 2, 2.5f, 5, 5.5f};

    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    CHECK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
    dnnl_tp_memory_desc_t md;
    F32(md, N, C, W);

    /* The channels are a matrix of 2 rows and 3 columns, which is transposed. */
    dnnl_tp_primitive_desc_t pd;
    CHECK(dnnl_tp_shuffle_forward_primitive_desc_create(&pd, engine, dnnl_tp_forward_inference, md, md, 1, 3,
                                                        NULL));
    run_once(pd, stream, 2, (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_SRC, src}, {DNNL_TP_ARG_DST, mixed}});
    expect("two groups of three", mixed, want, N * C * W);
    dnnl_tp_primitive_desc_destroy(pd);

    CHECK(dnnl_tp_shuffle_forward_primitive_desc_create(&pd, engine, dnnl_tp_forward_inference, md, md, 1, 2,
                                                        NULL));
    run_once(pd, stream, 2, (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_SRC, mixed}, {DNNL_TP_ARG_DST, dst}});
    expect("back again", dst, src, N * C * W);

    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_memory_desc_destroy(md);
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_engine_destroy(engine);
    return 0;
}
