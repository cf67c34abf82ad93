/* Softmax of rows and of columns, avx2: see softmax_kern.h. */
#include "cpu/simd/vec_avx2.h"

#include "cpu/simd/vmath.h"
#include "cpu/softmax/softmax_kern.inc"
