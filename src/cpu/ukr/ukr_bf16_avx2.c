/* bf16 micro-kernels for AVX2, f32 arithmetic: see ukr_bf16.inc. */
#include "cpu/simd/vec_avx2.h"
#include "cpu/ukr/ukr_body.h"

#define BF16_SET dtp_ukr_bf16__avx2
#define BF16_ARITH BF16_AS_F32
/* Higher tiles would spill. */
#define BF16_TILES(X) DTP_UKR_TILES_REF(X) X(bf16, 1, 2, avx2) X(bf16, 2, 2, avx2) X(bf16, 1, 4, avx2)
#define BF16_MAX_MR \
    { 0, 4, 2, 0, 1 }
#define BF16_FLOPS 60 /* a k-step is twice the work of one of f32 */
#include "cpu/ukr/ukr_bf16.inc"
