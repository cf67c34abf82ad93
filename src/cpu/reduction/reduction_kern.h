/* Reductions of matrices of f32: a table of kernels for each instruction set. */
#ifndef DTP_CPU_REDUCTION_KERN_H
#define DTP_CPU_REDUCTION_KERN_H

#include <stdint.h>

/* How elements are combined. If a or b is NaN, MAX and MIN of a and b are b, as for the binary
 * algorithms; MAXIMUM and MINIMUM are NaN. ABS and SQUARE add |x| and x * x. */
enum {
    DTP_REDUCE_SUM,
    DTP_REDUCE_MUL,
    DTP_REDUCE_MAX,
    DTP_REDUCE_MIN,
    DTP_REDUCE_MAXIMUM,
    DTP_REDUCE_MINIMUM,
    DTP_REDUCE_ABS,
    DTP_REDUCE_SQUARE,
    DTP_REDUCE_NOPS
};
/* Whether op adds; other ones select an element or multiply. */
static inline int dtp_reduce_adds(int op) { return op == DTP_REDUCE_SUM || op >= DTP_REDUCE_ABS; }

typedef struct {
    const float *x;
    float *acc;
    int64_t ld, rows, cols; /* x: rows x cols; rows are ld elements apart */
} dtp_reduce_args_t;
typedef void (*dtp_reduce_fn_t)(const dtp_reduce_args_t *a);

typedef struct dtp_reduce_kern {
    /* acc[r] = acc[r] op x[r, 0] op x[r, 1] ..., summed in vector lanes */
    dtp_reduce_fn_t cols[DTP_REDUCE_NOPS];
    /* acc[c] = acc[c] op x[0, c] op x[1, c] ... */
    dtp_reduce_fn_t rows[DTP_REDUCE_NOPS];
} dtp_reduce_kern_t;

extern const dtp_reduce_kern_t dtp_reduce_kern__portable, dtp_reduce_kern__avx2, dtp_reduce_kern__avx512;

#endif
