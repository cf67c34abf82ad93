/* The pools that a model can run on, by name. */
#ifndef ONNX_RUN_POOL_H
#define ONNX_RUN_POOL_H

#include "dnnl_tp/dnnl_tp_threadpool.h"
#include "sentence_encoder/common.h"

typedef struct pool pool_t;

enum { POOL_NAMES = 256 };
/* "builtin, own, none, ..." */
const char *pool_names(char text[POOL_NAMES]);
const char *pool_default(void);
int pool_check(const char *name, se_error_t *error);
/* A stream attribute that names the pool; with it the pool ends, after all that uses it. */
int pool_create(pool_t **pool, const char *name, int threads, se_error_t *error);
const_dnnl_tp_stream_attr_t pool_attr(const pool_t *pool);
void pool_destroy(pool_t *pool);

#endif
