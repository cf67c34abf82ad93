/* Element-wise functions: swish into another tensor, then clipping in place. */
#include "example.h"

int main(void) {
    enum { N = 7 };
    float src[N] = {-3, -2, -1, 0, 1, 2, 3}, dst[N], swish[N], clipped[N];
    for (int i = 0; i < N; ++i) {
        swish[i] = src[i] / (1.0f + expf(-1.5f * src[i]));
        clipped[i] = fminf(fmaxf(swish[i], 0.0f), 1.0f);
    }

    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    CHECK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
    dnnl_tp_memory_desc_t md;
    F32(md, N);

    dnnl_tp_primitive_desc_t pd;
    CHECK(dnnl_tp_eltwise_forward_primitive_desc_create(&pd, engine, dnnl_tp_forward_inference,
                                                        dnnl_tp_eltwise_swish, md, md, 1.5f, 0.0f, NULL));
    run_once(pd, stream, 2, (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_SRC, src}, {DNNL_TP_ARG_DST, dst}});
    expect("swish", dst, swish, N);
    dnnl_tp_primitive_desc_destroy(pd);

    CHECK(dnnl_tp_eltwise_forward_primitive_desc_create(&pd, engine, dnnl_tp_forward_inference,
                                                        dnnl_tp_eltwise_clip, md, md, 0.0f, 1.0f, NULL));
    run_once(pd, stream, 2, (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_SRC, dst}, {DNNL_TP_ARG_DST, dst}});
    expect("clip", dst, clipped, N);

    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_memory_desc_destroy(md);
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_engine_destroy(engine);
    return 0;
}
