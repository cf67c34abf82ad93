/* Softmax of f32: the interface between driver and kernels. */
#ifndef DTP_CPU_SOFTMAX_KERN_H
#define DTP_CPU_SOFTMAX_KERN_H

#include <stdint.h>

/* Along contiguous rows: y[r, i] = exp(x[r, i] - max) / sum, with log x[r, i] - max - log(sum). y
 * may equal x. A row that has only -inf, or +inf or NaN somewhere, becomes NaN, as exp(inf - inf)
 * is. */
typedef struct {
    const float *x;
    float *y;
    int64_t ldx, ldy, rows, n;
    int log;
} dtp_softmax_rows_t;
/* Along an axis with strides ldx and ldy: cols <= DTP_SOFTMAX_COLS independent columns. */
typedef struct {
    const float *x;
    float *y;
    int64_t ldx, ldy, n, cols;
    int log;
} dtp_softmax_cols_t;
#define DTP_SOFTMAX_COLS 64

void dtp_softmax_rows__avx512(const dtp_softmax_rows_t *a);
void dtp_softmax_rows__avx2(const dtp_softmax_rows_t *a);
void dtp_softmax_cols__avx512(const dtp_softmax_cols_t *a);
void dtp_softmax_cols__avx2(const dtp_softmax_cols_t *a);

#endif
