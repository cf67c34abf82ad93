/* bf16 micro-kernels for AVX-512, f32 arithmetic: see ukr_bf16.inc. */
#include "cpu/simd/vec_avx512.h"
#include "cpu/ukr/ukr_body.h"

#define BF16_SET dtp_ukr_bf16__avx512
#define BF16_ARITH BF16_AS_F32
/* Six rows of four column panels would spill. */
#define BF16_TILES(X)           \
    DTP_UKR_ROWS8(X, 1, avx512) \
    DTP_UKR_ROWS8(X, 2, avx512) \
    DTP_UKR_ROWS8(X, 3, avx512) \
    X(bf16, 1, 4, avx512)       \
    X(bf16, 2, 4, avx512) X(bf16, 3, 4, avx512) X(bf16, 4, 4, avx512) X(bf16, 5, 4, avx512)
#define BF16_MAX_MR \
    { 0, 8, 8, 8, 5 }
#define BF16_FLOPS 60 /* a k-step is twice the work of one of f32 */
#include "cpu/ukr/ukr_bf16.inc"
