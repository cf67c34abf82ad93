/* A fully connected layer with bias and ReLU: dst[n][o] = relu(sum over i of src[n][i] * weights[o][i] +
 * bias[o]). */
#include "example.h"

int main(void) {
    enum { N = 2, IC = 3, OC = 4 };
    float src[N * IC] = {1, 2, 3, -1, 0, 1};
    float weights[OC * IC] = {1, 0, 0, 0, 1, 0, 1, 1, 1, -1, -1, -1};
    float bias[OC] = {0, -1, 0.5f, 2};
    float dst[N * OC];
    const float want[N * OC] = {1, 1, 6.5f, 0, 0, 0, 0.5f, 2};

    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    CHECK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
    dnnl_tp_memory_desc_t src_md, weights_md, bias_md, dst_md;
    F32(src_md, N, IC);
    F32(weights_md, OC, IC);
    F32(bias_md, OC);
    F32(dst_md, N, OC);
    dnnl_tp_post_ops_t relu;
    dnnl_tp_primitive_attr_t attr;
    CHECK(dnnl_tp_post_ops_create(&relu));
    CHECK(dnnl_tp_post_ops_append_eltwise(relu, dnnl_tp_eltwise_relu, 0.0f, 0.0f));
    CHECK(dnnl_tp_primitive_attr_create(&attr));
    CHECK(dnnl_tp_primitive_attr_set_post_ops(attr, relu));

    dnnl_tp_primitive_desc_t pd;
    CHECK(dnnl_tp_inner_product_forward_primitive_desc_create(&pd, engine, dnnl_tp_forward_inference, src_md,
                                                              weights_md, bias_md, dst_md, attr));
    run_once(pd, stream, 4,
             (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_SRC, src},
                                       {DNNL_TP_ARG_WEIGHTS, weights},
                                       {DNNL_TP_ARG_BIAS, bias},
                                       {DNNL_TP_ARG_DST, dst}});
    expect("inner product", dst, want, N * OC);

    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_primitive_attr_destroy(attr);
    dnnl_tp_post_ops_destroy(relu);
    dnnl_tp_memory_desc_destroy(src_md);
    dnnl_tp_memory_desc_destroy(weights_md);
    dnnl_tp_memory_desc_destroy(bias_md);
    dnnl_tp_memory_desc_destroy(dst_md);
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_engine_destroy(engine);
    return 0;
}
