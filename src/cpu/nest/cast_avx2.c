/* Conversions, avx2: see cast.h. */
#include "cpu/simd/vec_avx2.h"

#include "cpu/nest/cast_kern.inc"
