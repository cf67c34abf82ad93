/* Softmax of rows and of columns, avx512: see softmax_kern.h. */
#include "cpu/simd/vec_avx512.h"

#include "cpu/simd/vmath.h"
#include "cpu/softmax/softmax_kern.inc"
