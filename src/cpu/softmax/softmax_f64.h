/* Softmax of f64: the interface between driver and kernels. */
#ifndef DTP_CPU_SOFTMAX_F64_H
#define DTP_CPU_SOFTMAX_F64_H

#include <stdint.h>

/* Parts of softmax along a row of n >= 1 elements that are neighbours; y may equal x. */
typedef struct {
    /* y[i] = exp(x[i] - max), unless y is NULL, for the largest number *max that is no NaN; -DBL_MAX if
     * there is none but -inf. Returns the sum, in an order that depends on n alone. */
    double (*sum)(const double *x, double *y, int64_t n, double *max);
    /* y[i] *= factor */
    void (*scale)(double *y, int64_t n, double factor);
    /* y[i] = x[i] - max - log_sum */
    void (*shift)(const double *x, double *y, int64_t n, double max, double log_sum);
} dtp_softmax_f64_t;

extern const dtp_softmax_f64_t dtp_softmax_f64__avx512, dtp_softmax_f64__avx2;

#endif
