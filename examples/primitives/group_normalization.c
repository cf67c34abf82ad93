/* Group normalization: four channels in two groups, statistics of each group of each image. */
#include "example.h"

int main(void) {
    enum { N = 1, C = 4, W = 2, GROUPS = 2 };
    const dnnl_tp_dims_t dims = {N, C, W};
    const float src[N * C * W] = {1, 1, 3, 3, 10, 30, 30, 10}, scale[C] = {1, 2, 1, 1};
    float dst[N * C * W], mean[N * GROUPS], variance[N * GROUPS];

    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    CHECK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
    dnnl_tp_memory_desc_t md;
    CHECK(dnnl_tp_memory_desc_create_with_tag(&md, 3, dims, dnnl_tp_f32, dnnl_tp_ncw));

    dnnl_tp_primitive_desc_t pd;
    CHECK(dnnl_tp_group_normalization_forward_primitive_desc_create(
        &pd, engine, dnnl_tp_forward_training, md, md, GROUPS, 0.f, dnnl_tp_use_scale, NULL));
    run_once(pd, stream, 5,
             (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_SRC, (float *)src},
                                       {DNNL_TP_ARG_DST, dst},
                                       {DNNL_TP_ARG_MEAN, mean},
                                       {DNNL_TP_ARG_VARIANCE, variance},
                                       {DNNL_TP_ARG_SCALE, (float *)scale}});
    expect("means", mean, (const float[]){2, 20}, N * GROUPS);
    expect("variances", variance, (const float[]){1, 100}, N * GROUPS);
    expect("normalized", dst, (const float[]){-1, -1, 2, 2, -1, 1, 1, -1}, N * C * W);

    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_memory_desc_destroy(md);
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_engine_destroy(engine);
    return 0;
}
