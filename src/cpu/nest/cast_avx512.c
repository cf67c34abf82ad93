/* Conversions, avx512: see cast.h. */
#include "cpu/simd/vec_avx512.h"

#include "cpu/nest/cast_kern.inc"
