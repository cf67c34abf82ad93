/* Arrays that come from files or from a seed, go to files, and are compared with what is expected. */
#ifndef ONNX_RUN_ARRAY_H
#define ONNX_RUN_ARRAY_H

#include "npy.h"
#include "sentence_encoder/common.h"

enum { ARRAY_NAME = 256, ARRAY_TEXT = 256 };
typedef struct {
    char name[ARRAY_NAME]; /* of a TensorProto; "" of .npy */
    dnnl_tp_tensor_info_t info;
    void *data; /* malloc */
} array_t;

/* A .npy file, or a TensorProto (.pb), by what it begins with. */
int array_read(array_t *a, const char *path, se_error_t *error);
/* As .npy; see sentence_encoder/output.h for what happens to files that are there. */
int array_write(const array_t *a, const char *path, se_error_t *error);
/* Memory for the elements of a->info, zeroed. */
int array_alloc(array_t *a, se_error_t *error);
/* Numbers in -1..1, integers 0 and 1, the same on every machine. */
int array_generate(array_t *a, uint64_t *state, se_error_t *error);
void array_free(array_t *a);

/* "f32[1, 3, n]"; `?` where the size is open. */
const char *array_text(const dnnl_tp_tensor_info_t *info, char text[ARRAY_TEXT]);

/* Elements that differ by more than atol + rtol |want|, of integers at all; NaN equals NaN. Shapes and types are equal. */
typedef struct {
    size_t bad, first; /* first: the worst of all, or of those that differ too much */
    double largest;    /* difference */
    double part;       /* of the tolerance, the largest */
} difference_t;
difference_t array_compare(const array_t *got, const array_t *want, double rtol, double atol);
/* "[0, 12]" */
const char *array_place(const dnnl_tp_tensor_info_t *info, size_t i, char text[ARRAY_TEXT]);

#endif
