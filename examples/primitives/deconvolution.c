/* A transposed convolution that doubles an image, with a bias and a fused ReLU. */
#include "example.h"

int main(void) {
    enum { I = 2, O = 4 };
    /* Each element of src spreads over its own 2 x 2 elements of dst. */
    const float src[I * I] = {1, -2, 3, 4}, weights[2 * 2] = {1, 2, 3, 4}, bias[1] = {-1};
    const float want[O * O] = {0, 1, 0, 0, 2, 3, 0, 0, 2, 5, 3, 7, 8, 11, 11, 15};
    float dst[O * O];

    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    CHECK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
    dnnl_tp_memory_desc_t src_md, wei_md, bia_md, dst_md;
    F32(src_md, 1, 1, I, I);
    F32(wei_md, 1, 1, 2, 2);
    F32(bia_md, 1);
    F32(dst_md, 1, 1, O, O);
    dnnl_tp_post_ops_t ops;
    dnnl_tp_primitive_attr_t attr;
    CHECK(dnnl_tp_post_ops_create(&ops));
    CHECK(dnnl_tp_post_ops_append_eltwise(ops, dnnl_tp_eltwise_relu, 0.f, 0.f));
    CHECK(dnnl_tp_primitive_attr_create(&attr));
    CHECK(dnnl_tp_primitive_attr_set_post_ops(attr, ops));

    const dnnl_tp_dims_t strides = {2, 2}, padding = {0, 0};
    dnnl_tp_primitive_desc_t pd;
    CHECK(dnnl_tp_deconvolution_forward_primitive_desc_create(
        &pd, engine, dnnl_tp_forward_inference, dnnl_tp_deconvolution_direct, src_md, wei_md, bia_md, dst_md,
        strides, NULL, padding, NULL, attr));
    run_once(pd, stream, 4,
             (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_SRC, (void *)src},
                                       {DNNL_TP_ARG_WEIGHTS, (void *)weights},
                                       {DNNL_TP_ARG_BIAS, (void *)bias},
                                       {DNNL_TP_ARG_DST, dst}});
    expect("twice as large", dst, want, O * O);

    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_primitive_attr_destroy(attr);
    dnnl_tp_post_ops_destroy(ops);
    dnnl_tp_memory_desc_destroy(src_md);
    dnnl_tp_memory_desc_destroy(wei_md);
    dnnl_tp_memory_desc_destroy(bia_md);
    dnnl_tp_memory_desc_destroy(dst_md);
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_engine_destroy(engine);
    return 0;
}
