/* Tensors of the host on engines whose memory the host cannot read: taken there before an execution, and back behind
 * it. On other engines nothing is copied. */
#ifndef TESTS_SUPPORT_UPLOAD_H
#define TESTS_SUPPORT_UPLOAD_H

#include <stdbool.h>

#include "dnnl_tp/dnnl_tp_graph.h"

/* The kind of engine that a program tests: the one with a memory of its own, if it is linked with one. */
dnnl_tp_engine_kind_t test_engine_kind(void);
bool test_engine_is_far(dnnl_tp_engine_t engine);

/* Between a memory and the host, once nothing uses it. */
void test_upload(dnnl_tp_memory_t memory, const void *data, size_t bytes);
void test_download(dnnl_tp_memory_t memory, void *data, size_t bytes);

/* Copies of host buffers in an engine's memory; one for each address. */
enum { UPLOAD_MOST = 64 };
typedef struct {
    int n;
    dnnl_tp_memory_t memory[UPLOAD_MOST];
    void *host[UPLOAD_MOST];
    size_t bytes[UPLOAD_MOST];
    bool output[UPLOAD_MOST];
} upload_t;
/* args of an execution of pd, as handles of the engine in `there`, which has as many places. */
void upload_args(upload_t *u, const_dnnl_tp_primitive_desc_t pd, int nargs, const dnnl_tp_exec_handle_t *args,
                 dnnl_tp_exec_handle_t *there);
/* Outputs back to where they came from; frees what there is. */
void upload_end(upload_t *u);

/* Executes, waits, and has what came out in the args. */
dnnl_tp_status_t test_execute(const_dnnl_tp_primitive_t primitive, dnnl_tp_stream_t stream, int nargs,
                              const dnnl_tp_exec_handle_t *args);

/* Tensors of a run of a graph, in memory of its engine; NULL where the executable uses none. */
enum { UPLOAD_TENSORS = 64 };
typedef struct {
    int nin, nout;
    void *in[UPLOAD_TENSORS], *out[UPLOAD_TENSORS]; /* what the run gets */
    void *host[UPLOAD_TENSORS];                     /* of outputs */
    size_t bytes[UPLOAD_TENSORS];
    dnnl_tp_memory_t memory[2 * UPLOAD_TENSORS];
} upload_run_t;
void upload_run_begin(upload_run_t *u, const_dnnl_tp_executable_t e, int nin, void *const *in, int nout,
                      void *const *out);
void upload_run_end(upload_run_t *u);
/* dnnl_tp_executable_run with tensors of the host. */
dnnl_tp_status_t test_run_graph(const_dnnl_tp_executable_t e, dnnl_tp_stream_t stream, int nin,
                                void *const *in, int nout, void *const *out, const dnnl_tp_run_opts_t *opts);

#endif
