/* See world.h. */
#include "support/world.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/upload.h"

void world_init(world_t *w, int threads) {
    memset(w, 0, sizeof *w);
    CHECK_OK(dnnl_tp_graph_create(&w->g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_engine_create(&w->engine, test_engine_kind(), 0));
    CHECK_OK(dnnl_tp_stream_attr_create(&w->attr, test_engine_kind()));
    dnnl_tp_threadpool_opts_t o = {.struct_size = sizeof o, .num_threads = threads};
    if (!threads) {
        CHECK_OK(dnnl_tp_stream_attr_set_threadpool(w->attr, NULL));
    } else if (DNNL_TP_WITH_THREADPOOL && !test_engine_is_far(w->engine)) {
        CHECK_OK(dnnl_tp_threadpool_create(&w->pool, &o));
        CHECK_OK(dnnl_tp_stream_attr_set_builtin_threadpool(w->attr, w->pool));
    }
    CHECK_OK(dnnl_tp_stream_create_v2(&w->stream, w->engine, dnnl_tp_stream_default_flags, w->attr));
}

void world_end(world_t *w) {
    dnnl_tp_executable_destroy(w->e);
    dnnl_tp_stream_destroy(w->stream);
    dnnl_tp_stream_attr_destroy(w->attr);
    dnnl_tp_threadpool_destroy(w->pool);
    dnnl_tp_graph_destroy(w->g);
    dnnl_tp_engine_destroy(w->engine);
}

dnnl_tp_executable_t world_compile(world_t *w, unsigned flags) {
    dnnl_tp_executable_t e;
    dnnl_tp_compile_opts_t o = {.struct_size = sizeof o, .stream_attr = w->attr, .flags = flags};
    CHECK_OK(dnnl_tp_executable_compile(&e, w->g, w->engine, 0, NULL, &o));
    return e;
}

void *world_fire(void *arg) {
    world_fire_t *f = arg;
    while (!atomic_load(f->started)) sched_yield();
    if (dnnl_tp_cancel_fire(f->cancel) != dnnl_tp_success) abort(); /* not a thread of cmocka's */
    return NULL;
}
