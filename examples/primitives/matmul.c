/* Matrix product with bias and GELU, once with plain weights and once with weights packed beforehand. */
#include "example.h"

int main(void) {
    enum { M = 3, K = 5, N = 4 };
    float src[M * K], weights[K * N], bias[N], dst[M * N], want[M * N];
    for (int i = 0; i < M * K; ++i) src[i] = 0.1f * (float)(i - 7);
    for (int i = 0; i < K * N; ++i) weights[i] = 0.2f * (float)(i % 7 - 3);
    for (int i = 0; i < N; ++i) bias[i] = (float)i;
    for (int m = 0; m < M; ++m)
        for (int n = 0; n < N; ++n) {
            float x = bias[n];
            for (int k = 0; k < K; ++k) x += src[m * K + k] * weights[k * N + n];
            want[m * N + n] = 0.5f * x * (1.0f + erff(x / sqrtf(2.0f)));
        }

    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    CHECK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));

    dnnl_tp_memory_desc_t src_md, weights_md, any_md, bias_md, dst_md;
    F32(src_md, M, K);
    F32(weights_md, K, N);
    F32(bias_md, 1, N);
    F32(dst_md, M, N);
    CHECK(dnnl_tp_memory_desc_create_with_tag(&any_md, 2, (dnnl_tp_dims_t){K, N}, dnnl_tp_f32,
                                              dnnl_tp_format_tag_any));

    dnnl_tp_post_ops_t gelu;
    dnnl_tp_primitive_attr_t attr;
    CHECK(dnnl_tp_post_ops_create(&gelu));
    CHECK(dnnl_tp_post_ops_append_eltwise(gelu, dnnl_tp_eltwise_gelu_erf, 0.0f, 0.0f));
    CHECK(dnnl_tp_primitive_attr_create(&attr));
    CHECK(dnnl_tp_primitive_attr_set_post_ops(attr, gelu));

    /* Weights as they are. */
    dnnl_tp_primitive_desc_t pd;
    CHECK(dnnl_tp_matmul_primitive_desc_create(&pd, engine, src_md, weights_md, bias_md, dst_md, attr));
    run_once(pd, stream, 4,
             (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_SRC, src},
                                       {DNNL_TP_ARG_WEIGHTS, weights},
                                       {DNNL_TP_ARG_BIAS, bias},
                                       {DNNL_TP_ARG_DST, dst}});
    expect("plain weights", dst, want, M * N);
    dnnl_tp_primitive_desc_destroy(pd);

    /* Weights in the layout that the implementation likes best: reordered once, used many times. */
    CHECK(dnnl_tp_matmul_primitive_desc_create(&pd, engine, src_md, any_md, bias_md, dst_md, attr));
    const_dnnl_tp_memory_desc_t packed_md = dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_weights_md, 0);
    dnnl_tp_memory_t packed;
    void *packed_data;
    CHECK(dnnl_tp_memory_create(&packed, packed_md, engine, DNNL_TP_MEMORY_ALLOCATE));
    CHECK(dnnl_tp_memory_get_data_handle(packed, &packed_data));
    dnnl_tp_primitive_desc_t pack;
    CHECK(dnnl_tp_reorder_primitive_desc_create(&pack, weights_md, engine, packed_md, engine, NULL));
    run_once(pack, stream, 2,
             (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_FROM, weights}, {DNNL_TP_ARG_TO, packed_data}});
    for (int i = 0; i < M * N; ++i) dst[i] = 0.0f;
    run_once(pd, stream, 4,
             (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_SRC, src},
                                       {DNNL_TP_ARG_WEIGHTS, packed_data},
                                       {DNNL_TP_ARG_BIAS, bias},
                                       {DNNL_TP_ARG_DST, dst}});
    expect("packed weights", dst, want, M * N);

    dnnl_tp_memory_destroy(packed);
    dnnl_tp_primitive_desc_destroy(pack);
    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_primitive_attr_destroy(attr);
    dnnl_tp_post_ops_destroy(gelu);
    dnnl_tp_memory_desc_destroy(src_md);
    dnnl_tp_memory_desc_destroy(weights_md);
    dnnl_tp_memory_desc_destroy(any_md);
    dnnl_tp_memory_desc_destroy(bias_md);
    dnnl_tp_memory_desc_destroy(dst_md);
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_engine_destroy(engine);
    return 0;
}
