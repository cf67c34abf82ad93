/* Batch normalization: training computes the statistics of a batch, inference is given them. */
#include "example.h"

int main(void) {
    enum { N = 2, C = 2, W = 2 };
    /* Channels last: both channels of a pixel lie side by side. */
    const dnnl_tp_dims_t dims = {N, C, W};
    const float src[N * W * C] = {1, 10, 3, 10, 1, 30, 3, 30}, scale[C] = {2, 1}, shift[C] = {5, 0};
    float dst[N * W * C], mean[C], variance[C];

    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    CHECK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
    dnnl_tp_memory_desc_t md;
    CHECK(dnnl_tp_memory_desc_create_with_tag(&md, 3, dims, dnnl_tp_f32, dnnl_tp_nwc));

    dnnl_tp_primitive_desc_t pd;
    CHECK(dnnl_tp_batch_normalization_forward_primitive_desc_create(
        &pd, engine, dnnl_tp_forward_training, md, md, 0.f, dnnl_tp_use_scale | dnnl_tp_use_shift, NULL));
    run_once(pd, stream, 6,
             (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_SRC, (float *)src},
                                       {DNNL_TP_ARG_DST, dst},
                                       {DNNL_TP_ARG_MEAN, mean},
                                       {DNNL_TP_ARG_VARIANCE, variance},
                                       {DNNL_TP_ARG_SCALE, (float *)scale},
                                       {DNNL_TP_ARG_SHIFT, (float *)shift}});
    expect("means", mean, (const float[]){2, 20}, C);
    expect("variances", variance, (const float[]){1, 100}, C);
    expect("normalized", dst, (const float[]){3, -1, 7, -1, 3, 1, 7, 1}, N * W * C);
    dnnl_tp_primitive_desc_destroy(pd);

    /* The same statistics given, a ReLU fused. */
    CHECK(dnnl_tp_batch_normalization_forward_primitive_desc_create(
        &pd, engine, dnnl_tp_forward_inference, md, md, 0.f,
        dnnl_tp_use_global_stats | dnnl_tp_fuse_norm_relu, NULL));
    run_once(pd, stream, 4,
             (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_SRC, (float *)src},
                                       {DNNL_TP_ARG_DST, dst},
                                       {DNNL_TP_ARG_MEAN, mean},
                                       {DNNL_TP_ARG_VARIANCE, variance}});
    expect("with ReLU", dst, (const float[]){0, 0, 1, 0, 0, 1, 1, 1}, N * W * C);

    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_memory_desc_destroy(md);
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_engine_destroy(engine);
    return 0;
}
