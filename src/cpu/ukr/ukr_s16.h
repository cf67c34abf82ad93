/* Integer micro-kernel: products of s16 pairs summed in s32 (wrapping), for the int8 gemm calls.
 *
 * b is a column panel [pairs][16][2], rows of a are dense s16 of 2 * pairs elements, lda bytes apart. */
#ifndef DTP_CPU_UKR_S16_H
#define DTP_CPU_UKR_S16_H

#include <stdint.h>

#define DTP_UKR_S16_MR 8

/* c[i][j] = sum over k of a[i][k] * b[k][j]; mr rows (1..8), 16 columns, c has 16 columns. */
typedef void (*dtp_ukr_s16_fn_t)(int mr, const char *a, int64_t lda, const int16_t *b, int64_t pairs,
                                 int32_t *c);
void dtp_ukr_s16__ref(int mr, const char *a, int64_t lda, const int16_t *b, int64_t pairs, int32_t *c);
void dtp_ukr_s16__avx2(int mr, const char *a, int64_t lda, const int16_t *b, int64_t pairs, int32_t *c);
void dtp_ukr_s16__avx512(int mr, const char *a, int64_t lda, const int16_t *b, int64_t pairs, int32_t *c);

#endif
