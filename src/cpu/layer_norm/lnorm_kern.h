/* Layer normalisation of rows of f32: the interface between driver and kernels. */
#ifndef DTP_CPU_LNORM_KERN_H
#define DTP_CPU_LNORM_KERN_H

#include <stdbool.h>
#include <stdint.h>

enum {
    DTP_LNORM_RMS = 1,   /* mean is 0; var is the mean of squares */
    DTP_LNORM_GLOBAL = 2 /* mean and var are read, not computed */
};

/* y[r, i] = (x[r, i] - mean[r]) / sqrt(var[r] + eps) * scale[i] + shift[i]; y may equal x. */
typedef struct {
    const float *x;
    float *y;
    const float *scale, *shift; /* n each, or NULL */
    /* `rows` each, or NULL: results, with DTP_LNORM_GLOBAL inputs (then mean NULL is 0). */
    float *mean, *var;
    int64_t ldx, ldy, rows, n;
    /* If a block and the rows after it have at most so many elements, these rows are fetched too.
     */
    int64_t ahead;
    float eps;
    unsigned flags;
    int stream; /* non-temporal stores if aligned; y is not x */
} dtp_lnorm_args_t;
typedef void (*dtp_lnorm_fn_t)(const dtp_lnorm_args_t *a);

void dtp_lnorm_rows__avx512(const dtp_lnorm_args_t *a);
void dtp_lnorm_rows__avx2(const dtp_lnorm_args_t *a);

#endif
