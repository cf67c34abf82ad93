/* Integer micro-kernel for AVX2. */
#include <immintrin.h>

#include "cpu/ukr/ukr_body.h"
#include "cpu/ukr/ukr_s16.h"

typedef int v8si __attribute__((vector_size(32)));

INLINE void s16_body(const int MR, const char *a, int64_t lda, const int16_t *b, int64_t pairs, int32_t *c) {
    v8si s[8];
    UNROLL for (int i = 0; i < 2 * MR; i++) s[i] = (v8si)_mm256_setzero_si256();
    for (int64_t k = 0; k < pairs; k++, b += 32, a += 4) {
        const __m256i b0 = _mm256_loadu_si256((const __m256i *)(const void *)b),
                      b1 = _mm256_loadu_si256((const __m256i *)(const void *)(b + 16));
        UNROLL for (int i = 0; i < MR; i++) {
            const __m256i av = _mm256_set1_epi32(*(const int *)(const void *)(a + i * lda));
            s[2 * i] += (v8si)_mm256_madd_epi16(av, b0);
            s[2 * i + 1] += (v8si)_mm256_madd_epi16(av, b1);
        }
    }
    UNROLL for (int i = 0; i < 2 * MR; i++)
        _mm256_storeu_si256((__m256i *)(void *)(c + 8 * i), (__m256i)s[i]);
}

void dtp_ukr_s16__avx2(int mr, const char *a, int64_t lda, const int16_t *b, int64_t pairs, int32_t *c) {
    for (; mr >= 4; mr -= 4, a += 4 * lda, c += 64) s16_body(4, a, lda, b, pairs, c);
    for (; mr > 0; mr--, a += lda, c += 16) s16_body(1, a, lda, b, pairs, c);
}
