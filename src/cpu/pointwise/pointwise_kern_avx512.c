/* Functions of rows, avx512: see pointwise_kern.h. */
#include "cpu/simd/vec_avx512.h"

#include "cpu/pointwise/pointwise_kern.inc"
