/* Integer micro-kernels for AVX-512 VNNI: products of u8 by s8 summed in s32 (wrapping), for the
 * int8 gemm calls.
 *
 * A k-step is four bytes along k (ukr.h); the set has s32 in C and in bias (added to each column),
 * no addend, no relu, packed B only. Everything else that handles bytes is also here. Sizes and
 * strides are bytes unless said. */
#ifndef DTP_CPU_UKR_U8S8_H
#define DTP_CPU_UKR_U8S8_H

#include "cpu/ukr/ukr.h"

#define DTP_U8S8_FEW 4

/* Column panels dst[n / 16][steps][16][4], bs apart, of rows of k (n dense) or of rows of n (k
 * dense, trans), ld apart; what is missing in the last step and column panel is zero. sums[n
 * rounded up to 16]: of the columns. */
void dtp_u8s8_pack_b__avx512_vnni(const int8_t *src, int64_t ld, int trans, int64_t k, int64_t n, char *dst,
                                  int64_t bs, int32_t *sums);
/* Rows dst[m][k], ldd apart, of rows of m (k dense) or of rows of k (m dense, trans), ld apart,
 * every byte xor flip; the last four bytes of a row are filled up with anything. panel: room for 16
 * rows, trans only. sums of the rows, or NULL. */
void dtp_u8s8_pack_a__avx512_vnni(const uint8_t *src, int64_t ld, int trans, int64_t m, int64_t k,
                                  uint8_t flip, char *dst, int64_t ldd, char *panel, int32_t *sums);
/* tile[m][64] = sums over k of m <= DTP_U8S8_FEW rows of A by n <= 64 columns of B (n dense) in
 * place; sums: of the columns. */
void dtp_u8s8_few__avx512_vnni(const char *a, int64_t lda, int64_t m, const int8_t *b, int64_t ldb, int64_t k,
                               int64_t n, int32_t *tile, int32_t *sums);
/* c[j] = round(alpha * (sum[j] + col[j] + row) + beta * c[j] + co[j or 0]) in double, saturated;
 * the sums wrap.
 */
void dtp_u8s8_store__avx512_vnni(const int32_t *sum, const int32_t *col, int32_t row, int32_t *c, int64_t n,
                                 double alpha, double beta, const int32_t *co, int co_each);

#endif
