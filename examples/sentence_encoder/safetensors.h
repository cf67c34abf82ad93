/* Reader of the safetensors format: 8 bytes header length (little endian), a JSON header that maps names to
 * {dtype, shape, data_offsets}, then the raw tensors. Nothing is copied: tensors point into the file. */
#ifndef SE_SAFETENSORS_H
#define SE_SAFETENSORS_H

#include "common.h"

#define SE_TENSOR_MAX_DIMS 8

typedef struct {
    char *name;
    char dtype[8]; /* as in the file: "F32", "I64", ... */
    int ndims;
    int64_t dims[SE_TENSOR_MAX_DIMS];
    const void *data;
    size_t bytes;
} se_tensor_t;

typedef struct {
    se_file_t file; /* empty when the bytes are the caller's */
    size_t count;
    se_tensor_t *tensors; /* sorted by name */
} se_safetensors_t;

/* Maps the file and checks all of its header. */
int se_safetensors_open(se_safetensors_t *st, const char *path, se_error_t *error);
/* The same for bytes that outlive the object. */
int se_safetensors_parse(se_safetensors_t *st, const void *bytes, size_t size, const char *what,
                         se_error_t *error);
void se_safetensors_close(se_safetensors_t *st);
/* NULL if there is none of this name. */
const se_tensor_t *se_safetensors_find(const se_safetensors_t *st, const char *name);

#endif
