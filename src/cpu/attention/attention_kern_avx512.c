/* Attention of one head, avx512: see attention_kern.h. */
#include "cpu/simd/vec_avx512.h"

#include "cpu/simd/vmath.h"
#include "cpu/attention/attention_kern.inc"
