/* Attention over a cache, avx512: see cached_kern.h. */
#include "cpu/simd/vec_avx512.h"

#include "cpu/simd/vmath.h"

#include "cpu/attention/cached_kern.inc"
