/* Folders of ONNX tests: a model, and the inputs and outputs of runs. */
#ifndef TESTS_ONNX_FOLDERS_H
#define TESTS_ONNX_FOLDERS_H

#include <stdbool.h>
#include <stddef.h>

#include "onnx/dnnl_tp_onnx_session.h"
#include "onnx_run/npy.h" /* count_of, element */

typedef struct {
    dnnl_tp_tensor_info_t info;
    void *data;
    bool is_drawn; /* random numbers: any elements are right */
} tensor_t;

enum { MAX_TENSORS = 64 };
/* The inputs and outputs of one run. */
typedef struct {
    tensor_t in[MAX_TENSORS], out[MAX_TENSORS];
    int nin, nout;
    const char
        *bad; /* a file that holds no tensor of a type that graphs carry (dnnl_tp_last_error() says which) */
} data_set_t;
/* FOLDER/test_data_set_NUMBER of a model; false: there is none. */
bool read_set(const char *folder, int number, dnnl_tp_onnx_model_t model, data_set_t *s);
void free_set(data_set_t *s);

/* BFLOAT16 that an old file holds as bits of UINT16 becomes numbers. */
void read_bits(dnnl_tp_onnx_model_t model, data_set_t *s);
/* The inputs of a set, by input of the model; false: the folder has other files. */
bool set_args(dnnl_tp_onnx_model_t model, const data_set_t *s, int *nargs, dnnl_tp_onnx_arg_t *args);

/* Outputs of dnnl_tp_onnx_session_run(), whose `room` is set_room() with this as ctx. free_results() ends them. */
typedef struct {
    dnnl_tp_tensor_info_t info[MAX_TENSORS];
    void *data[MAX_TENSORS];
} results_t;
void *set_room(void *results, int index, const dnnl_tp_tensor_info_t *info);
void free_results(results_t *results);
bool same_shape(const dnnl_tp_tensor_info_t *a, const dnnl_tp_tensor_info_t *b);

/* All bytes of a file; NULL: it cannot be read. The caller frees it. */
void *read_all(const char *path, size_t *size);
/* A TensorProto of a file; false: it is none, or graphs do not carry it (dnnl_tp_last_error() says which). */
bool read_pb(const char *path, tensor_t *t);
bool is_float_type(dnnl_tp_data_type_t type);
/* Elements that differ by more than atol + rtol |want|; NaN equals NaN. *worst: the largest difference. */
size_t differences(const void *got, const tensor_t *want, double rtol, double atol, double *worst);

#endif
