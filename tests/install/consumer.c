/* A C program of somebody else: multiplies two matrices with an installed dnnl_tp and checks the result. */
#include <stdio.h>
#include <string.h>

#include <dnnl_tp/dnnl_tp.h>
#include <dnnl_tp/dnnl_tp_graph.h>
#include <dnnl_tp/dnnl_tp_threadpool.h>

#define CHECK(call)                                                   \
    do {                                                              \
        if ((call) != dnnl_tp_success) {                              \
            fprintf(stderr, "%s: %s\n", #call, dnnl_tp_last_error()); \
            return 1;                                                 \
        }                                                             \
    } while (0)

int main(void) {
    const dnnl_tp_version_t *version = dnnl_tp_version();
    if (version->library_major != DNNL_TP_LIBRARY_VERSION_MAJOR ||
        version->library_minor != DNNL_TP_LIBRARY_VERSION_MINOR) {
        fprintf(stderr, "headers and library are of different versions\n");
        return 1;
    }
    if (strcmp(version->hash, "N/A") && strspn(version->hash, "0123456789abcdef") != strlen(version->hash)) {
        fprintf(stderr, "'%s' is no commit\n", version->hash);
        return 1;
    }
    float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 0, 0, 1, 1, 1}, c[4] = {0};
    const float want[4] = {4, 5, 10, 11};
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    dnnl_tp_memory_desc_t a_md, b_md, c_md;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t matmul;
    CHECK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
    CHECK(dnnl_tp_memory_desc_create_with_tag(&a_md, 2, (dnnl_tp_dims_t){2, 3}, dnnl_tp_f32, dnnl_tp_ab));
    CHECK(dnnl_tp_memory_desc_create_with_tag(&b_md, 2, (dnnl_tp_dims_t){3, 2}, dnnl_tp_f32, dnnl_tp_ab));
    CHECK(dnnl_tp_memory_desc_create_with_tag(&c_md, 2, (dnnl_tp_dims_t){2, 2}, dnnl_tp_f32, dnnl_tp_ab));
    CHECK(dnnl_tp_matmul_primitive_desc_create(&pd, engine, a_md, b_md, NULL, c_md, NULL));
    CHECK(dnnl_tp_primitive_create(&matmul, pd));
    const dnnl_tp_exec_handle_t args[] = {
        {DNNL_TP_ARG_SRC, a}, {DNNL_TP_ARG_WEIGHTS, b}, {DNNL_TP_ARG_DST, c}};
    CHECK(dnnl_tp_primitive_execute_handles(matmul, stream, 3, args));
    CHECK(dnnl_tp_stream_wait(stream));
    dnnl_tp_primitive_destroy(matmul);
    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_memory_desc_destroy(a_md);
    dnnl_tp_memory_desc_destroy(b_md);
    dnnl_tp_memory_desc_destroy(c_md);
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_engine_destroy(engine);
    for (int i = 0; i < 4; ++i)
        if (c[i] != want[i]) {
            fprintf(stderr, "c[%d] is %g, not %g\n", i, (double)c[i], (double)want[i]);
            return 1;
        }
    puts("ok");
    return 0;
}
