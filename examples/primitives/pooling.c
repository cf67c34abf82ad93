/* Pooling: maxima with the taps that they came from, then averages that count the taps inside. */
#include "example.h"

int main(void) {
    enum { N = 1, C = 2, I = 4, O = 2 };
    /* Channels last: both channels of a pixel lie side by side. */
    const dnnl_tp_dims_t in = {N, C, I, I}, out = {N, C, O, O};
    const dnnl_tp_dims_t two = {2, 2}, three = {3, 3}, dense = {0, 0}, none = {0, 0}, one = {1, 1};
    float src[I * I * C], dst[O * O * C];
    for (int i = 0; i < I * I; ++i) {
        src[C * i] = (float)i;
        src[C * i + 1] = (float)-i;
    }

    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    CHECK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
    dnnl_tp_memory_desc_t src_md, dst_md;
    CHECK(dnnl_tp_memory_desc_create_with_tag(&src_md, 4, in, dnnl_tp_f32, dnnl_tp_nhwc));
    CHECK(dnnl_tp_memory_desc_create_with_tag(&dst_md, 4, out, dnnl_tp_f32, dnnl_tp_format_tag_any));

    /* 2 x 2 windows side by side; forward_training has a workspace. */
    dnnl_tp_primitive_desc_t pd;
    CHECK(dnnl_tp_pooling_forward_primitive_desc_create(&pd, engine, dnnl_tp_forward_training,
                                                        dnnl_tp_pooling_max, src_md, dst_md, two, two, dense,
                                                        none, none, NULL));
    const_dnnl_tp_memory_desc_t taps_md = dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_workspace_md, 0);
    unsigned char taps[O * O * C];
    if (dnnl_tp_memory_desc_get_size(taps_md) != sizeof taps) return 1;
    run_once(pd, stream, 3,
             (dnnl_tp_exec_handle_t[]){
                 {DNNL_TP_ARG_SRC, src}, {DNNL_TP_ARG_DST, dst}, {DNNL_TP_ARG_WORKSPACE, taps}});
    expect("maxima", dst, (const float[]){5, 0, 7, -2, 13, -8, 15, -10}, O * O * C);
    for (int i = 0; i < O * O; ++i)
        if (taps[C * i] != 3 || taps[C * i + 1] != 0) return 1; /* the last tap, the first one */
    dnnl_tp_primitive_desc_destroy(pd);

    /* 3 x 3 windows, two apart, one pixel of padding: corners have four taps inside. */
    CHECK(dnnl_tp_pooling_forward_primitive_desc_create(&pd, engine, dnnl_tp_forward_inference,
                                                        dnnl_tp_pooling_avg_exclude_padding, src_md, dst_md,
                                                        two, three, dense, one, none, NULL));
    run_once(pd, stream, 2, (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_SRC, src}, {DNNL_TP_ARG_DST, dst}});
    expect("averages", dst, (const float[]){2.5f, -2.5f, 4, -4, 8.5f, -8.5f, 10, -10}, O * O * C);

    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_memory_desc_destroy(src_md);
    dnnl_tp_memory_desc_destroy(dst_md);
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_engine_destroy(engine);
    return 0;
}
