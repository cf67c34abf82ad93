/* Pooling kernels, avx2: see pooling_kern.h. */
#include "cpu/simd/vec_avx2.h"

#include "cpu/pooling/pooling_kern.inc"
#include "cpu/pooling/pooling_planes.inc"
