/* Files that appear whole or not at all: written under a temporary name beside the final one, renamed at the
 * end, removed on failure and on SIGINT. */
#ifndef SE_OUTPUT_H
#define SE_OUTPUT_H

#include <stdio.h>

#include "common.h"

typedef struct {
    FILE *file;
    char *path, *temporary;
} se_output_t;

int se_output_open(se_output_t *out, const char *path, se_error_t *error);
/* Flushes, checks and renames. On failure nothing is left behind. */
int se_output_commit(se_output_t *out, se_error_t *error);
/* Removes what was written so far; harmless after a commit or on a zeroed struct. */
void se_output_abandon(se_output_t *out);

/* A matrix as NumPy's .npy, version 1.0, C order, little endian: the header now, the rows as they come. */
int se_npy_open(se_output_t *out, const char *path, size_t rows, size_t cols, se_error_t *error);
int se_npy_append(se_output_t *out, const float *data, size_t count, se_error_t *error);
/* Reads a {rows, cols} matrix of int32; *data is from se_alloc. */
int se_npy_read_s32(const char *path, int32_t **data, size_t *rows, size_t *cols, se_error_t *error);

#endif
