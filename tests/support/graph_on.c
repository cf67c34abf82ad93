/* A graph of one operator on a place. */
#include "support/graph_on.h"

#include <string.h>

#include "support/upload.h"

enum { MOST_IN = 7, FILLED = 0x5a };

bool test_graph_on(const place_t *at, dnnl_tp_op_kind_t kind, int nattr, const dnnl_tp_op_attr_t *attr,
                   int nin, const test_tensor_t *in, unsigned constants, void *out, size_t bytes) {
    dnnl_tp_graph_t g;
    dnnl_tp_executable_t e;
    dnnl_tp_stream_attr_t sa;
    dnnl_tp_value_t x[MOST_IN], y;
    void *data[MOST_IN];
    int fed = 0;
    assert_true(nin <= MOST_IN);
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    for (int i = 0; i < nin; ++i) {
        dnnl_tp_dims_t dims = {0};
        memcpy(dims, in[i].dims, sizeof in[i].dims);
        if (constants >> i & 1) {
            CHECK_OK(dnnl_tp_graph_constant(g, &x[i], NULL, in[i].type, in[i].ndims, dims, in[i].data,
                                            DNNL_TP_CONSTANT_COPY, NULL, NULL));
        } else {
            CHECK_OK(dnnl_tp_graph_input(g, &x[i], NULL, in[i].type, in[i].ndims, dims));
            data[fed++] = (void *)(uintptr_t)in[i].data;
        }
    }
    CHECK_OK(dnnl_tp_graph_op(g, kind, "f", nin, x, nattr, attr, 1, &y));
    CHECK_OK(dnnl_tp_graph_output(g, y, NULL));
    CHECK_OK(dnnl_tp_stream_attr_create(&sa, dnnl_tp_cpu));
    if (at->pool) CHECK_OK(dnnl_tp_stream_attr_set_builtin_threadpool(sa, at->pool));
    const dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts,
                                         .stream_attr = test_engine_is_far(at->engine) ? NULL : sa};
    const dnnl_tp_status_t status = dnnl_tp_executable_compile(&e, g, at->engine, 0, NULL, &opts);
    const bool is_made = has_impl(at->engine, status);
    if (is_made) {
        memset(out, FILLED, bytes);
        CHECK_OK(test_run_graph(e, at->stream, fed, data, 1, &out, NULL));
        CHECK_OK(dnnl_tp_executable_destroy(e));
    }
    CHECK_OK(dnnl_tp_stream_attr_destroy(sa));
    CHECK_OK(dnnl_tp_graph_destroy(g));
    return is_made;
}
