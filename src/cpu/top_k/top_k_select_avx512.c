/* The k best of lines by keys, avx512: see top_k_select.h. */
#include "cpu/simd/vec_avx512.h"

#include "cpu/top_k/top_k_select.inc"
