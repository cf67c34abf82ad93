/* Functions of rows in vectors: what driver and kernels share. */
#ifndef DTP_CPU_POINTWISE_KERN_H
#define DTP_CPU_POINTWISE_KERN_H

#include "common/problems/graph/pointwise_functions.h"

/* to: the result of n elements; src: sources; s: steps in elements, of the result first. Kernels of instruction sets take
 * steps of 1, of selections the second and third source also of 0. */
typedef void dtp_pointwise_row_t(int64_t n, char *to, const char *const *src, const int64_t *s);

enum { DTP_POINTWISE_TYPES = 17 /* dnnl_tp_s64 is the last */ };

/* NULL: no kernel of this instruction set. */
typedef struct {
    dtp_pointwise_row_t *f32[DTP_PW_COUNT];                               /* of one source */
    dtp_pointwise_row_t *casts[DTP_POINTWISE_TYPES][DTP_POINTWISE_TYPES]; /* by types, from and to */
    dtp_pointwise_row_t *select32, *select64;                             /* by the bits of an element */
} dtp_pointwise_kernels_t;
extern const dtp_pointwise_kernels_t dtp_pointwise_kernels__avx512, dtp_pointwise_kernels__avx2;

/* Of angles that kernels leave out: large ones and what is no number. */
float dtp_pointwise_sin(float x);
float dtp_pointwise_cos(float x);

#endif
