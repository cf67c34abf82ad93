/* The k best of lines by keys, avx2: see top_k_select.h. */
#include "cpu/simd/vec_avx2.h"

#include "cpu/top_k/top_k_select.inc"
