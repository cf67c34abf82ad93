/* Folders of ONNX test data: model.onnx beside test_data_set_N, which hold input_K.pb and output_K.pb. */
#ifndef ONNX_RUN_FOLDER_H
#define ONNX_RUN_FOLDER_H

#include "model.h"

enum { FOLDER_PATH = 4096 };
int folder_is(const char *path);
/* The model's file. */
int folder_model(const char *folder, char path[FOLDER_PATH], se_error_t *error);
/* Calls look with each file of test data; ends where it returns other than 0, and returns that. */
int folder_each(const char *folder, int (*look)(void *arg, const char *path, se_error_t *error), void *arg,
                se_error_t *error);
/* The inputs of set number `set`; 1: there is no such set. */
int folder_inputs(job_t *j, const char *folder, int set, se_error_t *error);
/* Compares the outputs; what differs is printed and counted in *wrong. */
int folder_verify(const job_t *j, const char *folder, int set, int *wrong, se_error_t *error);

/* Prints a verdict about one output. */
void verify_output(const job_t *j, int output, const char *path, const array_t *want, int *wrong);

#endif
