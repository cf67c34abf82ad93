/* Attention over a cache, avx2: see cached_kern.h. */
#include "cpu/simd/vec_avx2.h"

#include "cpu/simd/vmath.h"

#include "cpu/attention/cached_kern.inc"
