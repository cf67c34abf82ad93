/* Dense row-major arrays: their sizes, their elements as numbers, and the headers of numpy's files (.npy). */
#ifndef ONNX_RUN_NPY_H
#define ONNX_RUN_NPY_H

#include <stddef.h>

#include "dnnl_tp/dnnl_tp_graph.h"

/* Elements; 0 also where the product would not fit. */
size_t count_of(const dnnl_tp_tensor_info_t *info);
size_t bytes_of(const dnnl_tp_tensor_info_t *info);
double element(const void *data, dnnl_tp_data_type_t type, size_t i);

int npy_is(const unsigned char *file, size_t size);
/* Shape, type and the place of the elements, which are all there. NULL: fine; else what is wrong. */
const char *npy_parse(const unsigned char *file, size_t size, dnnl_tp_tensor_info_t *info, size_t *at);
/* What stands in front of the elements; returns its length. */
enum { NPY_HEADER = 1024 };
size_t npy_header(const dnnl_tp_tensor_info_t *info, char header[NPY_HEADER]);

#endif
