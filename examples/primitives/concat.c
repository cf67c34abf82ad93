/* Concatenation: two matrices side by side; the shape of the result is derived. */
#include "example.h"

int main(void) {
    enum { R = 2, C0 = 2, C1 = 1 };
    float a[R * C0] = {1, 2, 4, 5}, b[R * C1] = {3, 6}, dst[R * (C0 + C1)];
    const float want[R * (C0 + C1)] = {1, 2, 3, 4, 5, 6};

    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    CHECK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
    dnnl_tp_memory_desc_t a_md, b_md;
    F32(a_md, R, C0);
    F32(b_md, R, C1);

    dnnl_tp_primitive_desc_t pd;
    const_dnnl_tp_memory_desc_t src_mds[] = {a_md, b_md};
    CHECK(dnnl_tp_concat_primitive_desc_create(&pd, engine, NULL, 2, 1, src_mds, NULL));
    const_dnnl_tp_memory_desc_t dst_md = dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_dst_md, 0);
    if (dnnl_tp_memory_desc_get_size(dst_md) != sizeof dst) {
        fprintf(stderr, "the result needs %zu bytes, not %zu\n", dnnl_tp_memory_desc_get_size(dst_md),
                sizeof dst);
        return 1;
    }
    run_once(pd, stream, 3,
             (dnnl_tp_exec_handle_t[]){
                 {DNNL_TP_ARG_MULTIPLE_SRC, a}, {DNNL_TP_ARG_MULTIPLE_SRC + 1, b}, {DNNL_TP_ARG_DST, dst}});
    expect("a beside b", dst, want, R * (C0 + C1));

    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_memory_desc_destroy(a_md);
    dnnl_tp_memory_desc_destroy(b_md);
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_engine_destroy(engine);
    return 0;
}
