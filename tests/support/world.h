/* A graph, an engine, a built-in pool and a stream on it, for tests of runs. */
#ifndef DTP_TESTS_WORLD_H
#define DTP_TESTS_WORLD_H

#include <stdatomic.h>

#include "dnnl_tp/dnnl_tp_graph.h"

typedef struct {
    dnnl_tp_graph_t g;
    dnnl_tp_engine_t engine;
    dnnl_tp_threadpool_t pool; /* NULL with the runtime SEQ */
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_stream_t stream;
    dnnl_tp_executable_t e; /* NULL at first; for tests that keep one here */
} world_t;

/* threads: of the pool; 0: there is no pool, and runs stay on their caller. */
void world_init(world_t *w, int threads);
void world_end(world_t *w);
/* For the stream's pool, with the declared shapes; flags: DNNL_TP_COMPILE_*. */
dnnl_tp_executable_t world_compile(world_t *w, unsigned flags);

/* A thread that fires the token once *started is set. */
typedef struct {
    dnnl_tp_cancel_t cancel;
    _Atomic int *started;
} world_fire_t;
void *world_fire(void *arg);

#endif
