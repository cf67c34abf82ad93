/* Streams as their users see them; the work is done by the engine's stream (src/cpu/engine/cpu_stream.c). */
#include "common/primitive/engine.h"

dnnl_tp_status_t dnnl_tp_stream_create_v2(dnnl_tp_stream_t *stream, dnnl_tp_engine_t engine, unsigned flags,
                                          const_dnnl_tp_stream_attr_t attr) {
    DTP_OUT(stream, NULL);
    DTP_REQUIRE_HANDLE(engine, DTP_OBJ_ENGINE);
    const unsigned known = dnnl_tp_stream_in_order | dnnl_tp_stream_out_of_order;
    DTP_REQUIRE(!(flags & ~known), BAD_FLAGS, "stream flags 0x%x", flags);
    if (attr) {
        DTP_REQUIRE_HANDLE(attr, DTP_OBJ_STREAM_ATTR);
        DTP_REQUIRE(attr->kind == engine->v->kind, BAD_ENGINE, "the attribute is of another engine kind");
    }
    DTP_RETURN(engine->v->stream_create(stream, engine, dnnl_tp_stream_in_order, attr));
}

dnnl_tp_status_t dnnl_tp_stream_create(dnnl_tp_stream_t *stream, dnnl_tp_engine_t engine, unsigned flags) {
    DTP_RETURN(dnnl_tp_stream_create_v2(stream, engine, flags, NULL));
}

dnnl_tp_status_t dnnl_tp_stream_get_engine(const struct dnnl_tp_stream *stream, dnnl_tp_engine_t *engine) {
    DTP_GET(engine, NULL, stream, DTP_OBJ_STREAM, stream->engine);
}

dnnl_tp_status_t dnnl_tp_stream_get_attr(dnnl_tp_stream_t stream, const_dnnl_tp_stream_attr_t *attr) {
    DTP_GET(attr, NULL, stream, DTP_OBJ_STREAM, stream->attr);
}

dnnl_tp_status_t dnnl_tp_stream_wait(dnnl_tp_stream_t stream) {
    DTP_REQUIRE_HANDLE(stream, DTP_OBJ_STREAM);
    DTP_RETURN(stream->v->wait(stream, -1));
}

dnnl_tp_status_t dnnl_tp_stream_wait_for_v2(dnnl_tp_stream_t stream, int64_t timeout_ns,
                                            dnnl_tp_status_t *result) {
    if (result) *result = dnnl_tp_success;
    DTP_REQUIRE_HANDLE(stream, DTP_OBJ_STREAM);
    DTP_RETURN(dtp_wait_answer(stream->v->wait(stream, timeout_ns), result));
}

dnnl_tp_status_t dnnl_tp_stream_wait_for(dnnl_tp_stream_t stream, int64_t timeout_ns) {
    DTP_RETURN(dnnl_tp_stream_wait_for_v2(stream, timeout_ns, NULL));
}

dnnl_tp_status_t dnnl_tp_stream_query(dnnl_tp_stream_t stream, int *idle, dnnl_tp_status_t *result) {
    DTP_OUT(idle, 0);
    if (result) *result = dnnl_tp_success;
    DTP_REQUIRE_HANDLE(stream, DTP_OBJ_STREAM);
    bool is_idle = false;
    dnnl_tp_status_t first = dnnl_tp_success;
    DTP_TRY(stream->v->query(stream, &is_idle, &first));
    *idle = is_idle;
    if (result) *result = first;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_stream_reset(dnnl_tp_stream_t stream) {
    DTP_REQUIRE_HANDLE(stream, DTP_OBJ_STREAM);
    DTP_RETURN(stream->v->reset(stream));
}

dnnl_tp_status_t dnnl_tp_stream_record_event(dnnl_tp_stream_t stream, dnnl_tp_event_t *event) {
    DTP_OUT(event, NULL);
    DTP_REQUIRE_HANDLE(stream, DTP_OBJ_STREAM);
    DTP_RETURN(stream->v->record_event(stream, event));
}

dnnl_tp_status_t dnnl_tp_stream_wait_event(dnnl_tp_stream_t stream, dnnl_tp_event_t event) {
    DTP_REQUIRE_HANDLE(stream, DTP_OBJ_STREAM);
    DTP_REQUIRE_HANDLE(event, DTP_OBJ_EVENT);
    DTP_RETURN(stream->v->wait_event(stream, event));
}

dnnl_tp_status_t dnnl_tp_stream_set_trace(dnnl_tp_stream_t stream, dnnl_tp_trace_t trace, const char *name) {
    DTP_REQUIRE_HANDLE(stream, DTP_OBJ_STREAM);
    if (trace) DTP_REQUIRE_HANDLE(trace, DTP_OBJ_TRACE);
    if (!stream->v->set_trace)
        DTP_RETURN(
            dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_RUNTIME, "traces of this engine's streams"));
    DTP_RETURN(stream->v->set_trace(stream, trace, name));
}

dnnl_tp_status_t dnnl_tp_stream_destroy(dnnl_tp_stream_t stream) {
    if (!stream) return dnnl_tp_success;
    DTP_REQUIRE_HANDLE(stream, DTP_OBJ_STREAM);
    DTP_RETURN(stream->v->close(stream));
}

dnnl_tp_status_t dnnl_tp_stream_give_away(dnnl_tp_stream_t stream) {
    if (!stream) return dnnl_tp_success;
    DTP_REQUIRE_HANDLE(stream, DTP_OBJ_STREAM);
    if (!stream->v->give_away) DTP_RETURN(stream->v->close(stream));
    stream->v->give_away(stream);
    return dnnl_tp_success;
}
