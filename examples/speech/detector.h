/* A model that gives the probability of speech in a chunk of samples and hands a state from chunk to chunk. */
#ifndef SPEECH_DETECTOR_H
#define SPEECH_DETECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "onnx/dnnl_tp_onnx_session.h"

enum { RATE = 16000, CHUNK = 512 /* samples */, MOST_PORTS = 8 };

typedef struct {
    dnnl_tp_onnx_model_t model;
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_threadpool_t pool;
    dnnl_tp_onnx_session_t session;
    dnnl_tp_onnx_call_t call;
    int nin, nout;
    int audio, probability; /* an input, an output */
    int nstates;
    int state_in[MOST_PORTS], state_out[MOST_PORTS]; /* inputs, and the outputs that go there next */
    float *state[2][MOST_PORTS];                     /* read and written in turn */
    int64_t state_count[MOST_PORTS];
    int turn; /* which of the two has the state */
    int64_t rate;
    int64_t context; /* samples before a chunk that the model gets with it */
    const void *in[MOST_PORTS];
    void *out[MOST_PORTS];
    float speech;
} detector_t;

/* context: -1: what the model says, or 64. The program has said what is wrong where this is false. */
bool detector_open(detector_t *d, const char *path, int threads, int64_t context);
/* samples: `context` ones, then a chunk; they are read where they lie. The probability of speech, or -1. */
float detector_step(detector_t *d, const float *samples);
void detector_close(detector_t *d);

#endif
