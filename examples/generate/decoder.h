/* A decoder: an ONNX model with token ids and what came before as inputs, logits as output. */
#ifndef GENERATE_DECODER_H
#define GENERATE_DECODER_H

#include <stdbool.h>
#include <stdint.h>

#include "onnx/dnnl_tp_onnx_state.h"

/* One model, one session, one pool for all sequences. */
typedef struct {
    dnnl_tp_onnx_model_t model;
    dnnl_tp_onnx_session_t session;
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_threadpool_t pool;
    int nin, logits;          /* number of inputs; which output the logits are */
    int ids, mask, positions; /* inputs; mask, positions: -1 where the model has none */
} decoder_t;

/* One sequence. */
typedef struct {
    const decoder_t *decoder;
    dnnl_tp_onnx_state_t state;
    dnnl_tp_onnx_arg_t *args;
    dnnl_tp_tensor_info_t info[3]; /* ids, mask, positions */
    int64_t *ones, *positions;     /* as many as keys fit */
    int64_t room, length;
    float *logits; /* of the rows of the last step */
    int64_t logits_room, vocabulary, rows;
} sequence_t;

/* These write what went wrong to standard error, and return false. */
bool decoder_open(decoder_t *d, const char *path, int threads);
void decoder_close(decoder_t *d);
bool sequence_begin(sequence_t *s, const decoder_t *d, int64_t most_tokens, bool by_joins);
/* Runs the model on n tokens behind those that the sequence has. Returns the logits that follow the last one, which
 * stay until the next step; NULL after a failure. */
const float *sequence_step(sequence_t *s, const int64_t *tokens, int64_t n);
/* Forgets everything. */
bool sequence_clear(sequence_t *s);
void sequence_end(sequence_t *s);

#endif
