/* A model on a pool, and what one run of it reads and writes. */
#ifndef ONNX_RUN_MODEL_H
#define ONNX_RUN_MODEL_H

#include "array.h"
#include "onnx/dnnl_tp_onnx_session.h"
#include "options.h"
#include "pool.h"

typedef struct {
    const options_t *o;
    const char *path; /* of the file */
    dnnl_tp_onnx_model_t model;
    dnnl_tp_onnx_model_info_t info;
    dnnl_tp_onnx_port_t *in, *out;
    pool_t *pool;          /* not the model's */
    dnnl_tp_trace_t trace; /* NULL: none; it records nothing yet */
    dnnl_tp_onnx_session_t session;
} model_t;

/* Models may share a pool, which outlives them. */
int model_open(model_t *m, const options_t *o, const char *path, pool_t *pool, se_error_t *error);
void model_close(model_t *m);

typedef struct {
    model_t *model;
    array_t *in, *out;    /* by port; in: data NULL where it is not given */
    const void **in_data; /* the same, as calls take them */
    dnnl_tp_onnx_call_t call;
    double compile_ms;
} job_t;

int job_init(job_t *j, model_t *m, se_error_t *error);
/* Inputs that j->in lacks and that have no default are generated; then the model is compiled for all of them, and
 * j->out gets room. */
int job_prepare(job_t *j, se_error_t *error);
/* out: by port, NULL = j->out. */
int job_run(const job_t *j, void *const *out, se_error_t *error);
void job_free(job_t *j);

/* The port with this name, -1. */
int port_of(const dnnl_tp_onnx_port_t *ports, int n, const char *name);

double now_ms(void);

#endif
