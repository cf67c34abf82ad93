/* Dense row-major arrays: files of numpy (.npy), elements. */
#ifndef ONNX_RUN_NPY_H
#define ONNX_RUN_NPY_H

#include <stddef.h>

#include "dnnl_tp/dnnl_tp_graph.h"

/* The elements of a file, which the caller frees; NULL on failure: *why says what is wrong. */
void *npy_read(const char *path, dnnl_tp_tensor_info_t *info, const char **why);
/* 0 on success. */
int npy_write(const char *path, const dnnl_tp_tensor_info_t *info, const void *data);

/* Elements; 0 also where the product would not fit. */
size_t count_of(const dnnl_tp_tensor_info_t *info);
double element(const void *data, dnnl_tp_data_type_t type, size_t i);

#endif
