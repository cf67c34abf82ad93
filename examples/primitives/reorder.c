/* Reorders: a transposition, then a quantization to s8 with a scale and a zero point. */
#include <stdint.h>

#include "example.h"

int main(void) {
    enum { R = 2, C = 3 };
    float src[R * C] = {0, 1, 2, 3, 4, 100}, transposed[R * C];
    const float want[R * C] = {0, 3, 1, 4, 2, 100};
    int8_t quantized[R * C];
    const int8_t want_quantized[R * C] = {-10, -8, -6, -4, -2, 127};
    float scale = 0.5f;
    int32_t zero_point = -10;

    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    CHECK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
    dnnl_tp_memory_desc_t md, columns_md, s8_md;
    F32(md, R, C);
    CHECK(
        dnnl_tp_memory_desc_create_with_tag(&columns_md, 2, (dnnl_tp_dims_t){R, C}, dnnl_tp_f32, dnnl_tp_ba));
    CHECK(dnnl_tp_memory_desc_create_with_tag(&s8_md, 2, (dnnl_tp_dims_t){R, C}, dnnl_tp_s8, dnnl_tp_ab));

    dnnl_tp_primitive_desc_t pd;
    CHECK(dnnl_tp_reorder_primitive_desc_create(&pd, md, engine, columns_md, engine, NULL));
    run_once(pd, stream, 2, (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_FROM, src}, {DNNL_TP_ARG_TO, transposed}});
    expect("transposed", transposed, want, R * C);
    dnnl_tp_primitive_desc_destroy(pd);

    /* dst = saturate(round(src / scale) + zero point) */
    dnnl_tp_primitive_attr_t attr;
    CHECK(dnnl_tp_primitive_attr_create(&attr));
    CHECK(dnnl_tp_primitive_attr_set_scales_mask(attr, DNNL_TP_ARG_DST, 0));
    CHECK(dnnl_tp_primitive_attr_set_zero_points_mask(attr, DNNL_TP_ARG_DST, 0));
    CHECK(dnnl_tp_reorder_primitive_desc_create(&pd, md, engine, s8_md, engine, attr));
    run_once(pd, stream, 4,
             (dnnl_tp_exec_handle_t[]){{DNNL_TP_ARG_FROM, src},
                                       {DNNL_TP_ARG_TO, quantized},
                                       {DNNL_TP_ARG_ATTR_SCALES | DNNL_TP_ARG_DST, &scale},
                                       {DNNL_TP_ARG_ATTR_ZERO_POINTS | DNNL_TP_ARG_DST, &zero_point}});
    for (int i = 0; i < R * C; ++i)
        if (quantized[i] != want_quantized[i]) {
            fprintf(stderr, "quantized[%d] is %d, expected %d\n", i, quantized[i], want_quantized[i]);
            return 1;
        }
    puts("quantized: ok");

    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_primitive_attr_destroy(attr);
    dnnl_tp_memory_desc_destroy(md);
    dnnl_tp_memory_desc_destroy(columns_md);
    dnnl_tp_memory_desc_destroy(s8_md);
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_engine_destroy(engine);
    return 0;
}
