/* Conversions, avx2: see cast.h. */
#include "cpu/simd/vec_avx2.h"

#include "cpu/elementwise/cast_kern.inc"
