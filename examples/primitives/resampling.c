/* A line twice as long, by the nearest element and linearly; then a dst whose size follows from a factor. */
#include "example.h"

int main(void) {
    enum { N = 1, C = 1, I = 3, O = 6 };
    float src[I] = {1, 3, 5}, dst[O];
    const float want_nearest[O] = {1, 1, 3, 3, 5, 5}, want_linear[O] = {1, 1.5f, 2.5f, 3.5f, 4.5f, 5};

    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    CHECK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
    dnnl_tp_memory_desc_t src_md, dst_md;
    F32(src_md, N, C, I);
    F32(dst_md, N, C, O);

    dnnl_tp_primitive_desc_t pd;
    CHECK(dnnl_tp_resampling_forward_primitive_desc_create(
        &pd, engine, dnnl_tp_forward_inference, dnnl_tp_resampling_nearest, NULL, src_md, dst_md, NULL));
    run_once(pd, stream, 2, (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_SRC, src}, {DNNL_TP_ARG_DST, dst}});
    expect("nearest", dst, want_nearest, O);
    dnnl_tp_primitive_desc_destroy(pd);

    const float factor = 2.f;
    CHECK(dnnl_tp_resampling_forward_primitive_desc_create(
        &pd, engine, dnnl_tp_forward_inference, dnnl_tp_resampling_linear, &factor, src_md, NULL, NULL));
    run_once(pd, stream, 2, (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_SRC, src}, {DNNL_TP_ARG_DST, dst}});
    expect("linear", dst, want_linear, O);

    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_memory_desc_destroy(src_md);
    dnnl_tp_memory_desc_destroy(dst_md);
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_engine_destroy(engine);
    return 0;
}
