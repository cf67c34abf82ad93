/* A graph of one operator. */
#include "support/one_op.h"

#include <string.h>

#include "support/check.h"
#include "support/traps.h"
#include "support/upload.h"

enum { MOST_IN = 7, FILLED = 0x5a };

dnnl_tp_status_t test_one_op(dnnl_tp_op_kind_t kind, int nattr, const dnnl_tp_op_attr_t *attr, int nin,
                             const test_tensor_t *in, void *out, size_t bytes, int threads) {
    dnnl_tp_graph_t g;
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_attr_t sa;
    dnnl_tp_stream_t stream;
    dnnl_tp_executable_t e;
    dnnl_tp_threadpool_t pool = NULL;
    dnnl_tp_value_t x[MOST_IN], y;
    void *data[MOST_IN];
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    for (int i = 0; i < nin; ++i) {
        dnnl_tp_dims_t dims = {0};
        memcpy(dims, in[i].dims, sizeof in[i].dims);
        data[i] = (void *)(uintptr_t)in[i].data;
        CHECK_OK(dnnl_tp_graph_input(g, &x[i], "x", in[i].type, in[i].ndims, dims));
    }
    CHECK_OK(dnnl_tp_graph_op(g, kind, "f", nin, x, nattr, attr, 1, &y));
    CHECK_OK(dnnl_tp_graph_output(g, y, NULL));
    CHECK_OK(dnnl_tp_engine_create(&engine, test_engine_kind(), 0));
    CHECK_OK(dnnl_tp_stream_attr_create(&sa, test_engine_kind()));
    if (threads > 1 && DNNL_TP_WITH_THREADPOOL && !test_engine_is_far(engine)) {
        dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof opts, .num_threads = threads};
        traps_enter(); /* for the threads of the pool */
        CHECK_OK(dnnl_tp_threadpool_create(&pool, &opts));
        traps_leave();
        CHECK_OK(dnnl_tp_stream_attr_set_builtin_threadpool(sa, pool));
    }
    CHECK_OK(dnnl_tp_stream_create_v2(&stream, engine, dnnl_tp_stream_default_flags, sa));
    dnnl_tp_status_t status = dnnl_tp_success;
    for (unsigned flags = 0; flags <= DNNL_TP_COMPILE_NO_FUSION && !status;
         flags += DNNL_TP_COMPILE_NO_FUSION) {
        dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts, .stream_attr = sa, .flags = flags};
        status = dnnl_tp_executable_compile(&e, g, engine, 0, NULL, &opts);
        if (status == dnnl_tp_unimplemented && test_engine_is_far(engine)) break;
        CHECK_OK(status);
        memset(out, FILLED, bytes);
        status = test_run_graph(e, stream, nin, data, 1, &out, NULL);
        CHECK_OK(dnnl_tp_executable_destroy(e));
    }
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    CHECK_OK(dnnl_tp_stream_attr_destroy(sa));
    CHECK_OK(dnnl_tp_engine_destroy(engine));
    CHECK_OK(dnnl_tp_graph_destroy(g));
    if (pool) CHECK_OK(dnnl_tp_threadpool_destroy(pool));
    return status;
}
