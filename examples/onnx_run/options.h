/* The command line. */
#ifndef ONNX_RUN_OPTIONS_H
#define ONNX_RUN_OPTIONS_H

#include <stdio.h>

#include "onnx/dnnl_tp_onnx.h"
#include "sentence_encoder/common.h"

enum { MAX_NAMED = 64 };
typedef struct {
    const char *name, *path; /* name NULL: not given */
} named_t;
typedef struct {
    named_t entry[MAX_NAMED];
    int n;
} list_t;

typedef struct {
    const char *model, *base, *pool, *profile, *dot, *trace, *labels;
    list_t inputs, outputs, verify;
    dnnl_tp_onnx_dim_t dims[MAX_NAMED];
    int ndims, threads, clients, repeat, warmup, top, quiet, bf16;
    int64_t batch, seed;
    double rtol, atol;
    FILE *text; /* where results are said */
} options_t;

/* 0; 1: --help or --version was printed; -1. Texts of argv are cut at their first "=". */
int options_parse(options_t *o, int argc, char **argv, se_error_t *error);
/* The path given for a name; NULL: none. */
const char *options_find(const list_t *list, const char *name);

#endif
