/* Integer micro-kernel for AVX-512BW. */
#include <immintrin.h>

#include "cpu/ukr/ukr_body.h"
#include "cpu/ukr/ukr_s16.h"

/* With vector lanes of int: accumulators of type __m512i are kept in memory by some compilers. */
typedef int v16si __attribute__((vector_size(64)));

INLINE void s16_body(const int MR, const char *a, int64_t lda, const int16_t *b, int64_t pairs, int32_t *c) {
    v16si s[DTP_UKR_S16_MR];
    UNROLL for (int i = 0; i < MR; i++) s[i] = (v16si)_mm512_setzero_si512();
    for (int64_t k = 0; k < pairs; k++, b += 32, a += 4) {
        const __m512i bv = _mm512_loadu_si512(b);
        UNROLL for (int i = 0; i < MR; i++) s[i] +=
            (v16si)_mm512_madd_epi16(_mm512_set1_epi32(*(const int *)(const void *)(a + i * lda)), bv);
    }
    UNROLL for (int i = 0; i < MR; i++) _mm512_storeu_si512(c + 16 * i, (__m512i)s[i]);
}

void dtp_ukr_s16__avx512(int mr, const char *a, int64_t lda, const int16_t *b, int64_t pairs, int32_t *c) {
    for (; mr >= 8; mr -= 8, a += 8 * lda, c += 128) s16_body(8, a, lda, b, pairs, c);
    if (mr >= 4) {
        s16_body(4, a, lda, b, pairs, c);
        mr -= 4, a += 4 * lda, c += 64;
    }
    for (; mr > 0; mr--, a += lda, c += 16) s16_body(1, a, lda, b, pairs, c);
}
