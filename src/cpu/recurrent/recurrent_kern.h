/* Steps of LSTM, GRU and RNN in f32: the interface between driver and kernels. */
#ifndef DTP_CPU_RECURRENT_KERN_H
#define DTP_CPU_RECURRENT_KERN_H

#include <stddef.h>
#include <stdint.h>

/* Some steps of some sequences, and of each step the panels first to end - 1 of the hidden units:
 * `lanes` units each, the last one with what is left. A row is a sequence; rows of x, h, y, c and room
 * lie one behind the other. */
typedef struct {
    const float *x;         /* of the first step: rows of gates * hidden */
    const float *r;         /* packed: {panels, hidden, gates, lanes}, zeros behind the last unit */
    const float *bias;      /* GRU: {hidden}, or NULL: the reset gate stands before the product */
    const float *peep;      /* LSTM: {3, hidden}, weights of c in gates 0, 1 and 2, or NULL */
    const float *h;         /* states before the first step: rows of hidden */
    float *y;               /* states after the first step */
    float *c;               /* LSTM: states that change in place */
    float *room;            /* GRU without bias: rows of 2 * hidden */
    int64_t x_step, y_step; /* from step to step, in floats; negative in reverse */
    int64_t steps, rows, hidden, first, end;
} dtp_recurrent_steps_t;
typedef void dtp_recurrent_fn_t(const dtp_recurrent_steps_t *a);

typedef struct {
    int lanes;
    dtp_recurrent_fn_t *lstm;
    dtp_recurrent_fn_t *gru; /* without bias: of all panels */
    dtp_recurrent_fn_t *rnn;
} dtp_recurrent_kernels_t;
extern const dtp_recurrent_kernels_t dtp_recurrent_kernels__avx512, dtp_recurrent_kernels__avx2,
    dtp_recurrent_kernels__portable;

#endif
