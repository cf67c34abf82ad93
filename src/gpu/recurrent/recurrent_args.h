/* Arguments of the kernel of steps of LSTM, GRU and RNN; included by both halves. */
#ifndef DTP_GPU_RECURRENT_RECURRENT_ARGS_H
#define DTP_GPU_RECURRENT_RECURRENT_ARGS_H

#include <stdint.h>

enum { DTP_RECURRENT_THREADS = 512 };

/* Tensors as in problems/graph/recurrent.h. A block has a sequence. */
typedef struct {
    const float *src, *wei, *h, *c, *bia, *peep; /* c: LSTM; bia: GRU, or NULL; peep: LSTM, or NULL */
    float *dst, *last_h, *last_c;
    int64_t steps, batch, n; /* n: hidden units */
    int32_t is_lstm, is_rnn, reverse;
} dtp_recurrent_args_t;

#endif
