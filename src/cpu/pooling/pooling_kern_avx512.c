/* Pooling kernels, avx512: see pooling_kern.h. */
#include "cpu/simd/vec_avx512.h"

#include "cpu/pooling/pooling_kern.inc"
#include "cpu/pooling/pooling_planes.inc"
