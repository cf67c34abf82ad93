/* Sessions of models that tests write (writing.h). */
#ifndef TESTS_ONNX_SESSIONS_H
#define TESTS_ONNX_SESSIONS_H

#include "onnx/dnnl_tp_onnx_session.h"
#include "writing.h"

/* A session on the CPU, which keeps its engine and its model alive. */
static inline dnnl_tp_onnx_session_t open_session(const bytes_t *m, const dnnl_tp_onnx_session_opts_t *opts) {
    dnnl_tp_onnx_model_t model;
    dnnl_tp_engine_t engine;
    dnnl_tp_onnx_session_t session = NULL;
    CHECK_OK(dnnl_tp_onnx_open_memory(&model, m->at, m->n, NULL));
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK_OK(dnnl_tp_onnx_session_create(&session, model, engine, opts));
    dnnl_tp_engine_destroy(engine);
    dnnl_tp_onnx_close(model);
    return session;
}

static inline dnnl_tp_onnx_session_stats_t stats_of(dnnl_tp_onnx_session_t s) {
    dnnl_tp_onnx_session_stats_t stats = {.struct_size = sizeof stats};
    CHECK_OK(dnnl_tp_onnx_session_query(s, &stats));
    return stats;
}

#endif
