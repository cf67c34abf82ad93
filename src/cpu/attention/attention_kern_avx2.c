/* Attention of one head, avx2: see attention_kern.h. */
#include "cpu/simd/vec_avx2.h"

#include "cpu/simd/vmath.h"
#include "cpu/attention/attention_kern.inc"
