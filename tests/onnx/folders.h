/* Folders of ONNX tests: a model, and the inputs and outputs of runs. */
#ifndef TESTS_ONNX_FOLDERS_H
#define TESTS_ONNX_FOLDERS_H

#include <stdbool.h>
#include <stddef.h>

#include "onnx/dnnl_tp_onnx.h"
#include "onnx_run/npy.h" /* count_of, element */

typedef struct {
    dnnl_tp_tensor_info_t info;
    void *data;
} tensor_t;

enum { MAX_TENSORS = 64 };
/* The inputs and outputs of one run. */
typedef struct {
    tensor_t in[MAX_TENSORS], out[MAX_TENSORS];
    int nin, nout;
    const char
        *bad; /* a file that holds no tensor of a type that graphs carry (dnnl_tp_last_error() says which) */
} data_set_t;
/* FOLDER/test_data_set_NUMBER; false: there is none. */
bool read_set(const char *folder, int number, data_set_t *s);
void free_set(data_set_t *s);

/* All bytes of a file; NULL: it cannot be read. The caller frees it. */
void *read_all(const char *path, size_t *size);
/* A TensorProto of a file; false: it is none, or graphs do not carry it (dnnl_tp_last_error() says which). */
bool read_pb(const char *path, tensor_t *t);
bool is_float_type(dnnl_tp_data_type_t type);
/* Elements that differ by more than atol + rtol |want|; NaN equals NaN. *worst: the largest difference. */
size_t differences(const void *got, const tensor_t *want, double rtol, double atol, double *worst);

#endif
