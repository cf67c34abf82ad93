/* Layer normalization with scale and shift, in training: mean and variance of each row are results too. */
#include "example.h"

int main(void) {
    enum { R = 2, C = 4 };
    float src[R * C] = {1, 2, 3, 4, 2, 2, 6, 6};
    float scale[C] = {1, 1, 2, 2}, shift[C] = {0, 10, 0, 10};
    float dst[R * C], mean[R], variance[R], want[R * C];
    const float want_mean[R] = {2.5f, 4.0f}, want_variance[R] = {1.25f, 4.0f}, epsilon = 1e-5f;
    for (int r = 0; r < R; ++r)
        for (int c = 0; c < C; ++c)
            want[r * C + c] =
                scale[c] * (src[r * C + c] - want_mean[r]) / sqrtf(want_variance[r] + epsilon) + shift[c];

    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    CHECK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
    dnnl_tp_memory_desc_t md, stat_md;
    F32(md, R, C);
    F32(stat_md, R);

    dnnl_tp_primitive_desc_t pd;
    CHECK(dnnl_tp_layer_normalization_forward_primitive_desc_create(
        &pd, engine, dnnl_tp_forward_training, md, md, stat_md, epsilon,
        dnnl_tp_use_scale | dnnl_tp_use_shift, NULL));
    run_once(pd, stream, 6,
             (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_SRC, src},
                                       {DNNL_TP_ARG_DST, dst},
                                       {DNNL_TP_ARG_MEAN, mean},
                                       {DNNL_TP_ARG_VARIANCE, variance},
                                       {DNNL_TP_ARG_SCALE, scale},
                                       {DNNL_TP_ARG_SHIFT, shift}});
    expect("dst", dst, want, R * C);
    expect("mean", mean, want_mean, R);
    expect("variance", variance, want_variance, R);

    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_memory_desc_destroy(md);
    dnnl_tp_memory_desc_destroy(stat_md);
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_engine_destroy(engine);
    return 0;
}
