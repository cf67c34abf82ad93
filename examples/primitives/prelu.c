/* ReLU with a slope per weight: one for each channel, then in place with one for all. */
#include "example.h"

int main(void) {
    enum { N = 1, C = 2, W = 3 };
    float data[N * C * W] = {-4, 0, 4, -4, 2, -2}, slopes[C] = {0.5f, -1}, slope = 0.25f, dst[N * C * W];
    const float want[N * C * W] = {-2, 0, 4, 4, 2, 2}, want_common[N * C * W] = {-1, 0, 4, -1, 2, -0.5f};

    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    CHECK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
    dnnl_tp_memory_desc_t md, channels, one;
    F32(md, N, C, W);
    F32(channels, 1, C, 1);
    F32(one, 1, 1, 1);

    dnnl_tp_primitive_desc_t pd;
    CHECK(dnnl_tp_prelu_forward_primitive_desc_create(&pd, engine, dnnl_tp_forward_inference, md, channels,
                                                      md, NULL));
    run_once(pd, stream, 3,
             (dnnl_tp_exec_handle_t[]){
                 {DNNL_TP_ARG_SRC, data}, {DNNL_TP_ARG_WEIGHTS, slopes}, {DNNL_TP_ARG_DST, dst}});
    expect("a slope per channel", dst, want, N * C * W);
    dnnl_tp_primitive_desc_destroy(pd);

    CHECK(dnnl_tp_prelu_forward_primitive_desc_create(&pd, engine, dnnl_tp_forward_inference, md, one, md,
                                                      NULL));
    run_once(pd, stream, 3,
             (dnnl_tp_exec_handle_t[]){
                 {DNNL_TP_ARG_SRC, data}, {DNNL_TP_ARG_WEIGHTS, &slope}, {DNNL_TP_ARG_DST, data}});
    expect("a slope for all", data, want_common, N * C * W);

    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_memory_desc_destroy(md);
    dnnl_tp_memory_desc_destroy(channels);
    dnnl_tp_memory_desc_destroy(one);
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_engine_destroy(engine);
    return 0;
}
