/* The largest elements of outputs, with names. */
#ifndef ONNX_RUN_TOP_H
#define ONNX_RUN_TOP_H

#include <stdio.h>

#include "array.h"

typedef struct {
    char *text; /* the file, its line ends cut */
    char **line;
    size_t n;
} labels_t;
int labels_read(labels_t *l, const char *path, se_error_t *error);
void labels_free(labels_t *l);

/* Of each row along the last dimension, the k largest elements; so many rows at most. */
void top_print(FILE *f, const array_t *a, int k, const labels_t *labels);

#endif
