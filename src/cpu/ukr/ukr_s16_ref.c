/* Portable form of the integer micro-kernel. */
#include "cpu/ukr/ukr_s16.h"

void dtp_ukr_s16__ref(int mr, const char *a, int64_t lda, const int16_t *b, int64_t pairs, int32_t *c) {
    for (int i = 0; i < mr; i++) {
        const int16_t *row = (const int16_t *)(const void *)(a + i * lda);
        uint32_t sum[16] = {0}; /* unsigned: wraps */
        for (int64_t k = 0; k < pairs; k++)
            for (int j = 0; j < 16; j++)
                sum[j] += (uint32_t)(row[2 * k] * b[32 * k + 2 * j]) +
                          (uint32_t)(row[2 * k + 1] * b[32 * k + 2 * j + 1]);
        for (int j = 0; j < 16; j++) c[16 * i + j] = (int32_t)sum[j];
    }
}
