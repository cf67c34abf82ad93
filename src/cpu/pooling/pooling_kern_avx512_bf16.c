/* Pooling kernels, avx512_bf16: see pooling_kern.h. */
#include "cpu/simd/vec_avx512_bf16.h"

#include "cpu/pooling/pooling_kern.inc"
#include "cpu/pooling/pooling_planes.inc"
