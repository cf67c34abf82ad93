/* One problem of each kind of primitive, large enough to be split, and how to run it: for tests of what holds
 * for every kind alike. Values are checked by the kinds' own tests. */
#ifndef DTP_TESTS_PROBLEMS_H
#define DTP_TESTS_PROBLEMS_H

#include <stdbool.h>

#include "dnnl_tp/dnnl_tp_threadpool.h"
#include "support/check.h"

enum { PROBLEMS = 26, PROBLEM_MAX_ARGS = 8 };

const char *problem_name(int problem);
dnnl_tp_status_t problem_make(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t engine, int problem,
                              const_dnnl_tp_primitive_attr_t attr);
/* Planned for so many threads. */
dnnl_tp_primitive_t primitive_for(dnnl_tp_engine_t engine, int problem, int threads);
/* pool NULL: sequential. */
dnnl_tp_stream_t stream_on(dnnl_tp_engine_t engine, const dnnl_tp_threadpool_iface_t *pool);

/* Every tensor of an execution; inputs are random, the same at every call. */
typedef struct {
    int n;
    dnnl_tp_exec_handle_t arg[PROBLEM_MAX_ARGS];
    size_t bytes[PROBLEM_MAX_ARGS];
    bool output[PROBLEM_MAX_ARGS];
} buffers_t;
void buffers_create(buffers_t *b, const_dnnl_tp_primitive_desc_t pd);
void buffers_destroy(buffers_t *b);
void clear_outputs(buffers_t *b);
bool same_outputs(const buffers_t *a, const buffers_t *b);
/* Expected outputs: planned for one thread, run on the caller. */
void expected_of(dnnl_tp_engine_t engine, int problem, buffers_t *want);

#endif
