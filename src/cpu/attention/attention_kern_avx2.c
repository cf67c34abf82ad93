/* Attention of one head, avx2: see attention_kern.h. */
#include "cpu/simd/vec_avx2.h"

#include "cpu/simd/vmath.h"
#define AT_TYPE V_F32
#define AT_NAME V_ISA(dtp_attention_group)
#include "cpu/attention/attention_kern.inc"
