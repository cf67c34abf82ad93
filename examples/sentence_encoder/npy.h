/* Matrices in NumPy's .npy files: version 1.0, C order, little endian. */
#ifndef SE_NPY_H
#define SE_NPY_H

#include "output.h"

/* A matrix of f32: the header now, the rows as they come. */
int se_npy_open(se_output_t *out, const char *path, size_t rows, size_t cols, se_error_t *error);
int se_npy_append(se_output_t *out, const float *data, size_t count, se_error_t *error);
/* Reads a {rows, cols} matrix; *data is from se_alloc. "-" is standard input. */
int se_npy_read_s32(const char *path, int32_t **data, size_t *rows, size_t *cols, se_error_t *error);
int se_npy_read_f32(const char *path, float **data, size_t *rows, size_t *cols, se_error_t *error);

#endif
