/* Binary operations with load, conversion and store in registers, for the frequent cases where both sources
 * and the result have one type, and normalisation by columns; everything else goes through tiles of f32 (program.h). */
#ifndef DTP_CPU_ELEMENTWISE_FUSED_H
#define DTP_CPU_ELEMENTWISE_FUSED_H

#include <stdint.h>

#include "common/base/elementwise.h"

enum { DTP_FUSED_NRELU = 2 };

/* y[i * ldy + j] = x0[i * ld0 + j * cs0] op x1[i * ld1 + j * cs1]; cs0, cs1: 0 or 1, not both 0; strides in
 * elements. affine: y[i * ldy + j] = max(floor, x0[i * ld0 + j] * x1[j] + x2[j]), x1 and x2 of f32.
 * colours: y[i * 3 + j] = x0[i + j * cs0], three columns of f32 that become bf16. */
typedef struct {
    const char *x0, *x1, *x2;
    char *y;
    int64_t ld0, ld1, ldy, rows, cols;
    int cs0, cs1, stream;
    float floor;
} dtp_fused_args_t;
typedef void (*dtp_fused_fn_t)(const dtp_fused_args_t *a);

typedef struct dtp_fused {
    /* By index (DTP_EW_*), NULL for select; f32 has no entries. avx512_bf16 has results of bf16
     * alone. */
    dtp_fused_fn_t bf16[DTP_EW_NBINARY], f16[DTP_EW_NBINARY], s8[DTP_EW_NBINARY], u8[DTP_EW_NBINARY];
    /* f32: max(0, x0 + x1), max(0, x0 * x1). */
    dtp_fused_fn_t relu[DTP_FUSED_NRELU];
    dtp_fused_fn_t affine_f32, affine_bf16, colours;
} dtp_fused_set_t;

extern const dtp_fused_set_t dtp_fused__avx2, dtp_fused__avx512, dtp_fused__avx512_bf16;

#endif
