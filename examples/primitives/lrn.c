/* Local response normalization: neighbouring channels, then neighbouring pixels. */
#include "example.h"

int main(void) {
    enum { N = 1, C = 3, W = 3 };
    const dnnl_tp_dims_t dims = {N, C, W};
    const float src[N * C * W] = {1, 0, 0, 2, 0, 3, 0, 0, 0};
    float dst[N * C * W];

    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    CHECK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
    dnnl_tp_memory_desc_t md;
    CHECK(dnnl_tp_memory_desc_create_with_tag(&md, 3, dims, dnnl_tp_f32, dnnl_tp_ncw));

    /* Each element by 1 + the squares of its neighbours: alpha is the size, beta 1. */
    dnnl_tp_primitive_desc_t pd;
    CHECK(dnnl_tp_lrn_forward_primitive_desc_create(
        &pd, engine, dnnl_tp_forward_inference, dnnl_tp_lrn_across_channels, md, md, 3, 3.f, 1.f, 1.f, NULL));
    run_once(pd, stream, 2,
             (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_SRC, (float *)src}, {DNNL_TP_ARG_DST, dst}});
    expect("across", dst, (const float[]){1.f / 6, 0, 0, 2.f / 6, 0, .3f, 0, 0, 0}, N * C * W);
    dnnl_tp_primitive_desc_destroy(pd);

    CHECK(dnnl_tp_lrn_forward_primitive_desc_create(
        &pd, engine, dnnl_tp_forward_inference, dnnl_tp_lrn_within_channel, md, md, 3, 3.f, 1.f, 1.f, NULL));
    run_once(pd, stream, 2,
             (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_SRC, (float *)src}, {DNNL_TP_ARG_DST, dst}});
    expect("within", dst, (const float[]){.5f, 0, 0, .4f, 0, .3f, 0, 0, 0}, N * C * W);

    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_memory_desc_destroy(md);
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_engine_destroy(engine);
    return 0;
}
