/* The model as a dnnl_tp graph, compiled for the shapes that come, run on the program's threads. */
#ifndef SE_ENCODER_H
#define SE_ENCODER_H

#include "dnnl_tp/dnnl_tp_graph.h"
#include "model.h"

typedef enum { SE_POOL_OWN, SE_POOL_BUILTIN, SE_POOL_NONE } se_pool_kind_t;

typedef struct {
    int threads;         /* computing at once, callers included; ignored without a pool */
    se_pool_kind_t pool; /* own_pool.c, the library's, or the calling thread alone */
    int bf16;            /* 1: fpmath_mode of compilations is bf16 */
    int gpu;             /* 1: on the first GPU; threads and pool are ignored */
} se_encoder_opts_t;

typedef struct se_encoder se_encoder_t; /* shared by any number of threads */
typedef struct se_session se_session_t; /* one thread at a time */

/* The tokens of one sequence. */
typedef struct {
    const int32_t *ids;
    int count;
} se_sequence_t;

/* `model` outlives the encoder: weights are used where the file is mapped. */
int se_encoder_create(se_encoder_t **encoder, const se_model_t *model, const se_encoder_opts_t *opts,
                      se_error_t *error);
/* The same on a pool that the caller has; it outlives the encoder. */
int se_encoder_create_on(se_encoder_t **encoder, const se_model_t *model,
                         const dnnl_tp_threadpool_iface_t *pool, se_error_t *error);
void se_encoder_destroy(se_encoder_t *encoder); /* after its sessions */
/* Executables compiled so far. */
int se_encoder_num_shapes(se_encoder_t *encoder);
/* Mean time to compile a shape, the first (which packs the weights) apart. */
double se_encoder_compile_ms(se_encoder_t *encoder);

/* A stream and buffers for runs of at most that many sequences and tokens. trace: records them; NULL = none.
 */
int se_session_create(se_session_t **session, se_encoder_t *encoder, int max_sequences, int max_tokens,
                      dnnl_tp_trace_t trace, se_error_t *error);
void se_session_destroy(se_session_t *session);

/* Encodes n sequences at once; out[i] receives the `hidden` floats of sequence i, of length 1. An embedding
 * does not depend on the sequences beside it, to the last bit. Allocates nothing once its shape was seen. */
int se_session_run(se_session_t *session, int n, const se_sequence_t *sequence, float *const *out,
                   se_error_t *error);
/* The rectangle for benchmarks: ids is {batch, tokens}, out {batch, hidden}; no padding, no copies. */
int se_session_run_rectangle(se_session_t *session, int batch, int tokens, const int32_t *ids, float *out,
                             se_error_t *error);
/* Compiles another executable for a rectangle that ran before, and tells how long its first and its second
 * run take on the warm stream and pool. */
int se_session_time_fresh(se_session_t *session, int batch, int tokens, const int32_t *ids, float *out,
                          int64_t ns[2], int64_t faults[2], se_error_t *error);

#endif
