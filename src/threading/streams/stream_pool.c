/* The pool of a stream: given to it, or asked for. The pools of attributes: stream_attr.c. */
#include "common/primitive/engine.h"

dnnl_tp_status_t dnnl_tp_stream_set_threadpool(dnnl_tp_stream_t stream,
                                               const dnnl_tp_threadpool_iface_t *pool) {
    DTP_REQUIRE_HANDLE(stream, DTP_OBJ_STREAM);
    dnnl_tp_stream_attr_t attr;
    DTP_TRY(dnnl_tp_stream_attr_clone(&attr, stream->attr));
    dnnl_tp_status_t status = dnnl_tp_stream_attr_set_threadpool(attr, pool);
    if (status == dnnl_tp_success) status = stream->v->set_pool(stream, attr);
    dtp_object_release(attr);
    DTP_RETURN(status);
}

dnnl_tp_status_t dnnl_tp_threadpool_interop_stream_create(dnnl_tp_stream_t *stream, dnnl_tp_engine_t engine,
                                                          const dnnl_tp_threadpool_iface_t *pool) {
    DTP_OUT(stream, NULL);
    DTP_REQUIRE_HANDLE(engine, DTP_OBJ_ENGINE);
    dnnl_tp_stream_attr_t attr;
    DTP_TRY(dnnl_tp_stream_attr_create(&attr, engine->v->kind));
    dnnl_tp_status_t status = dnnl_tp_stream_attr_set_threadpool(attr, pool);
    if (status == dnnl_tp_success) status = dnnl_tp_stream_create_v2(stream, engine, 0, attr);
    dtp_object_release(attr);
    DTP_RETURN(status);
}

dnnl_tp_status_t dnnl_tp_threadpool_interop_stream_get_threadpool(dnnl_tp_stream_t stream,
                                                                  const dnnl_tp_threadpool_iface_t **pool) {
    DTP_OUT(pool, NULL);
    DTP_REQUIRE_HANDLE(stream, DTP_OBJ_STREAM);
    DTP_RETURN(dnnl_tp_stream_attr_get_threadpool(stream->attr, pool));
}
