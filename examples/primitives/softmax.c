/* Softmax over rows, in place, and its logarithm over columns. */
#include "example.h"

int main(void) {
    enum { R = 2, C = 3 };
    float x[R * C] = {0.0f, logf(2.0f), logf(5.0f), 1000.0f, 1000.0f, -INFINITY};
    float y[R * C];
    const float want[R * C] = {0.125f, 0.25f, 0.625f, 0.5f, 0.5f, 0.0f};
    const float logits[R * C] = {1, 2, 3, 1, 2, 3};
    const float half = logf(0.5f);
    const float want_log[R * C] = {half, half, half, half, half, half};

    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    CHECK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
    dnnl_tp_memory_desc_t md;
    F32(md, R, C);

    dnnl_tp_primitive_desc_t pd;
    CHECK(dnnl_tp_softmax_forward_primitive_desc_create(&pd, engine, dnnl_tp_forward_inference,
                                                        dnnl_tp_softmax_accurate, md, md, 1, NULL));
    run_once(pd, stream, 2, (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_SRC, x}, {DNNL_TP_ARG_DST, x}});
    expect("softmax", x, want, R * C);
    dnnl_tp_primitive_desc_destroy(pd);

    CHECK(dnnl_tp_softmax_forward_primitive_desc_create(&pd, engine, dnnl_tp_forward_inference,
                                                        dnnl_tp_softmax_log, md, md, 0, NULL));
    run_once(pd, stream, 2,
             (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_SRC, (void *)logits}, {DNNL_TP_ARG_DST, y}});
    expect("logsoftmax", y, want_log, R * C);

    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_memory_desc_destroy(md);
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_engine_destroy(engine);
    return 0;
}
