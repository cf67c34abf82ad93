/* Functions of rows, avx2: see pointwise_kern.h. */
#include "cpu/simd/vec_avx2.h"

#include "cpu/pointwise/pointwise_kern.inc"
