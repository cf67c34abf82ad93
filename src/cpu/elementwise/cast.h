/* Conversions from any type to any in registers, over rows whose elements are contiguous on both sides, for
 * programs of which each step is the same for all elements; everything else goes through tiles of f32
 * (program.h). */
#ifndef DTP_CPU_ELEMENTWISE_CAST_H
#define DTP_CPU_ELEMENTWISE_CAST_H

#include <stdint.h>

enum { DTP_CAST_SUB, DTP_CAST_MUL, DTP_CAST_DIV, DTP_CAST_ADD, DTP_CAST_NSTEPS };
enum { DTP_CAST_NTYPES = 8 };

/* y[i * ldy + j] = (x[i * ldx + j] - q[SUB]) * q[MUL] / q[DIV] + q[ADD]; q NULL: without these steps. A step
 * that is not wanted is 0, 1, 1 or -0. Strides in elements. stream: non-temporal stores where alignment
 * allows; then y is no source. */
typedef struct {
    const char *x;
    char *y;
    int64_t ldx, ldy, rows, cols;
    const float *q;
    int stream;
} dtp_cast_args_t;
typedef void (*dtp_cast_fn_t)(const dtp_cast_args_t *a);

/* By dnnl_tp_data_type_t of x and y: f16, bf16, f32, s32, s8, u8; others NULL. */
typedef struct dtp_cast {
    dtp_cast_fn_t fn[DTP_CAST_NTYPES][DTP_CAST_NTYPES];
} dtp_cast_t;

extern const dtp_cast_t dtp_cast__avx2, dtp_cast__avx512;

#endif
