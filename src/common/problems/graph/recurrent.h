/* The steps of LSTM, GRU and RNN (graphs only): the problem and its arguments. */
#ifndef DTP_COMMON_PROBLEMS_RECURRENT_H
#define DTP_COMMON_PROBLEMS_RECURRENT_H

#include "common/primitive/op_desc.h"

typedef enum { DTP_CELL_LSTM, DTP_CELL_GRU, DTP_CELL_RNN } dtp_cell_t;

/* What a step computes stands with the operators lstm, gru and rnn of exec/ops/ops.inc. All tensors are f32;
 * src, the states, bias and the results are dense. */
typedef struct {
    dtp_op_desc_t base;
    int cell;                /* dtp_cell_t */
    int reverse;             /* step T - 1 comes first */
    dtp_md_t src;            /* {T, B, G H}, G: 4 parts of LSTM, 3 of GRU, 1 of RNN */
    dtp_md_t wei;            /* {G, H, H}; any: the implementation's choice */
    dtp_md_t h;              /* {B, H} */
    dtp_md_t c;              /* LSTM: {B, H}, else zero */
    dtp_md_t bia;            /* GRU: {H}: the reset gate comes behind the product; zero: before it */
    dtp_md_t peep;           /* LSTM: {3 H} or zero: weights of the memory in parts 0, 1 and 2 */
    dtp_md_t dst;            /* {T, B, H} */
    dtp_md_t last_h, last_c; /* {B, H}; last_c: LSTM */
} dtp_recurrent_desc_t;
enum {
    DTP_RECURRENT_SRC,
    DTP_RECURRENT_WEI,
    DTP_RECURRENT_H,
    DTP_RECURRENT_C,
    DTP_RECURRENT_BIA,
    DTP_RECURRENT_PEEP,
    DTP_RECURRENT_DST,
    DTP_RECURRENT_LAST_H,
    DTP_RECURRENT_LAST_C,
    DTP_RECURRENT_NARGS
};

#endif
