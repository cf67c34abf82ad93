/* Conversions, avx512: see cast.h. */
#include "cpu/simd/vec_avx512.h"

#include "cpu/elementwise/cast_kern.inc"
