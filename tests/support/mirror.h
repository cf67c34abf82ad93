/* A graph and, beside it, the same computation in double: every building call also evaluates its operator
 * with plain loops written for this purpose, so that a test compares the executor with something that shares
 * no code with it. */
#ifndef DTP_TESTS_MIRROR_H
#define DTP_TESTS_MIRROR_H

#include "dnnl_tp/dnnl_tp_graph.h"

enum { MIRROR_VALUES = 1024, MIRROR_IO = 32 };

typedef struct {
    dnnl_tp_tensor_info_t info;
    int64_t n;
    double *x;  /* reference */
    void *data; /* what the library reads: inputs and constants */
} mirror_value_t;

typedef struct {
    dnnl_tp_graph_t graph;
    dnnl_tp_engine_t engine;
    uint64_t seed;
    int nin, nout;
    int in[MIRROR_IO], out[MIRROR_IO];
    mirror_value_t value[MIRROR_VALUES]; /* by value id */
    int runtime_dims;                    /* declare inputs with unknown dimensions */
    int bf16; /* compile for bf16, with a product behind each input, so that what follows computes in bf16 */
} mirror_t;

/* With DNNL_TP_TEST_BF16 in the environment: bf16, and tolerances fit for it. */
void mirror_init(mirror_t *m, uint64_t seed);
void mirror_free(mirror_t *m);
double mirror_random(mirror_t *m); /* -1..1 */

/* dims as int64_t list of ndims. s32 and s64 inputs take values 0..limit-1. */
int mirror_input(mirror_t *m, int ndims, const int64_t *dims);
int mirror_ids(mirror_t *m, dnnl_tp_data_type_t dt, int ndims, const int64_t *dims, int64_t limit);
int mirror_ints(mirror_t *m, int64_t n, const int32_t *data);
int mirror_constant(mirror_t *m, int ndims, const int64_t *dims, double scale);
int mirror_scalar(mirror_t *m, double x);
int mirror_op(mirror_t *m, dnnl_tp_op_kind_t kind, const char *name, int nin, const int *in, int nattr,
              const dnnl_tp_op_attr_t *attr);
void mirror_op_n(mirror_t *m, dnnl_tp_op_kind_t kind, const char *name, int nin, const int *in, int nattr,
                 const dnnl_tp_op_attr_t *attr, int nout, int *out);
void mirror_output(mirror_t *m, int v);

/* Shorthands. */
int mirror_unary(mirror_t *m, dnnl_tp_op_kind_t kind, int x);
int mirror_binary(mirror_t *m, dnnl_tp_op_kind_t kind, int x, int y);
int mirror_linear(mirror_t *m, const char *name, int x, int64_t k, int64_t n, int transposed, int bias_as_op);
int mirror_norm(mirror_t *m, const char *name, int x, int64_t n);
dnnl_tp_op_attr_t mirror_s64(int key, int count, const int64_t *v);
dnnl_tp_op_attr_t mirror_f32(int key, const float *v);
dnnl_tp_op_attr_t mirror_bool(int key, const uint8_t *v);

/* Compiles for `threads` threads of `pool` (0, NULL: the caller alone), runs twice and compares every output
 * with the reference: |x - ref| <= tolerance * (1 + |ref|). Prints the first difference; returns the number
 * of them. */
int mirror_check(mirror_t *m, dnnl_tp_threadpool_t pool, unsigned flags, double tolerance);
/* The same, keeping the outputs of the second run in room of the caller (one array per output). */
int mirror_run(mirror_t *m, dnnl_tp_threadpool_t pool, unsigned flags, float **outputs);

#endif
