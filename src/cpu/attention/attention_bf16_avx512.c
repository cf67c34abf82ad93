/* Attention of one head in bf16 with arithmetic in f32, avx512: see attention_kern.h. */
#include "cpu/simd/vec_avx512.h"

#include "cpu/simd/vmath.h"
#define AT_TYPE V_BF16
#define AT_NAME V_ISA(dtp_attention_group_bf16)
#include "cpu/attention/attention_kern.inc"
