/* bf16 micro-kernels for AVX512-BF16: see ukr_bf16.inc. */
#include "cpu/simd/vec_avx512_bf16.h"
#include "cpu/ukr/ukr_body.h"

#define BF16_SET dtp_ukr_bf16__avx512_bf16
#define BF16_ARITH BF16_NATIVE
#define BF16_TILES DTP_UKR_TILES_AVX512
#define BF16_MAX_MR \
    { 0, 8, 8, 8, 6 }
#define BF16_FLOPS 130
#include "cpu/ukr/ukr_bf16.inc"
