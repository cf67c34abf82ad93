/* Engines of tests that know nothing of it get their memory from arenas, one for each device: linked with --wrap. What is left, or was
 * called wrongly, fails the program at its end. */
#include <stdlib.h>
#include <unistd.h>

#include "gpu/arena.h"

enum { DEVICES = 2 };
static arena_t arenas[DEVICES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void end(void) {
    int64_t wrong = 0;
    for (int i = 0; i < DEVICES; ++i) wrong += arena_end(&arenas[i]);
    if (wrong) _exit(1);
}
static void begin(void) {
    for (int i = 0; i < DEVICES; ++i) arena_begin(&arenas[i], i);
    (void)atexit(end); /* in front of the driver's report */
}

dnnl_tp_status_t __real_dnnl_tp_engine_create(dnnl_tp_engine_t *engine, dnnl_tp_engine_kind_t kind,
                                              size_t index);
dnnl_tp_status_t __wrap_dnnl_tp_engine_create(dnnl_tp_engine_t *engine, dnnl_tp_engine_kind_t kind,
                                              size_t index);
dnnl_tp_status_t __wrap_dnnl_tp_engine_create(dnnl_tp_engine_t *engine, dnnl_tp_engine_kind_t kind,
                                              size_t index) {
    pthread_once(&once, begin);
    return kind == dnnl_tp_gpu && index < DEVICES ? arena_engine(engine, &arenas[index], 0)
                                                  : __real_dnnl_tp_engine_create(engine, kind, index);
}
