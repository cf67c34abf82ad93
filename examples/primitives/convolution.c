/* A 3 x 3 convolution with padding, bias and a fused ReLU; then its weights packed once for many executions. */
#include "example.h"

int main(void) {
    enum { H = 3, W = 4 };
    /* One channel in, two out: the first sums a pixel's surroundings, the second is the pixel's difference to its left. */
    const float src[H * W] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    const float weights[2 * 9] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, -1, 1, 0, 0, 0, 0},
                            bias[2] = {-50, 0.5f};
    const float want[2 * H * W] = {0,    0,    0,    0,    0,    4,    13,   0,    0,    0,    4,    0,
                                   1.5f, 1.5f, 1.5f, 1.5f, 5.5f, 1.5f, 1.5f, 1.5f, 9.5f, 1.5f, 1.5f, 1.5f};
    float dst[2 * H * W];

    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    CHECK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
    dnnl_tp_memory_desc_t src_md, wei_md, bia_md, dst_md, any_md;
    F32(src_md, 1, 1, H, W);
    F32(wei_md, 2, 1, 3, 3);
    F32(bia_md, 2);
    F32(dst_md, 1, 2, H, W);
    CHECK(dnnl_tp_memory_desc_create_with_tag(&any_md, 4, (dnnl_tp_dims_t){2, 1, 3, 3}, dnnl_tp_f32,
                                              dnnl_tp_format_tag_any));
    dnnl_tp_post_ops_t ops;
    dnnl_tp_primitive_attr_t attr;
    CHECK(dnnl_tp_post_ops_create(&ops));
    CHECK(dnnl_tp_post_ops_append_eltwise(ops, dnnl_tp_eltwise_relu, 0.f, 0.f));
    CHECK(dnnl_tp_primitive_attr_create(&attr));
    CHECK(dnnl_tp_primitive_attr_set_post_ops(attr, ops));

    const dnnl_tp_dims_t strides = {1, 1}, padding = {1, 1};
    dnnl_tp_primitive_desc_t pd;
    CHECK(dnnl_tp_convolution_forward_primitive_desc_create(&pd, engine, dnnl_tp_forward_inference,
                                                            dnnl_tp_convolution_auto, src_md, wei_md, bia_md,
                                                            dst_md, strides, NULL, padding, NULL, attr));
    run_once(pd, stream, 4,
             (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_SRC, (void *)src},
                                       {DNNL_TP_ARG_WEIGHTS, (void *)weights},
                                       {DNNL_TP_ARG_BIAS, (void *)bias},
                                       {DNNL_TP_ARG_DST, dst}});
    expect("plain weights", dst, want, 2 * H * W);
    dnnl_tp_primitive_desc_destroy(pd);

    /* With layout any the implementation says how it wants the weights; a reorder packs them. */
    CHECK(dnnl_tp_convolution_forward_primitive_desc_create(&pd, engine, dnnl_tp_forward_inference,
                                                            dnnl_tp_convolution_auto, src_md, any_md, bia_md,
                                                            dst_md, strides, NULL, padding, NULL, attr));
    const_dnnl_tp_memory_desc_t packed_md = dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_weights_md, 0);
    float *packed = malloc(dnnl_tp_memory_desc_get_size(packed_md));
    dnnl_tp_primitive_desc_t pack;
    CHECK(dnnl_tp_reorder_primitive_desc_create(&pack, wei_md, engine, packed_md, engine, NULL));
    run_once(pack, stream, 2,
             (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_FROM, (void *)weights}, {DNNL_TP_ARG_TO, packed}});
    run_once(pd, stream, 4,
             (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_SRC, (void *)src},
                                       {DNNL_TP_ARG_WEIGHTS, packed},
                                       {DNNL_TP_ARG_BIAS, (void *)bias},
                                       {DNNL_TP_ARG_DST, dst}});
    expect("packed weights", dst, want, 2 * H * W);

    free(packed);
    dnnl_tp_primitive_desc_destroy(pack);
    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_primitive_attr_destroy(attr);
    dnnl_tp_post_ops_destroy(ops);
    dnnl_tp_memory_desc_destroy(src_md);
    dnnl_tp_memory_desc_destroy(wei_md);
    dnnl_tp_memory_desc_destroy(bia_md);
    dnnl_tp_memory_desc_destroy(dst_md);
    dnnl_tp_memory_desc_destroy(any_md);
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_engine_destroy(engine);
    return 0;
}
