/* AVX2 instance of ukr_few.inc. */
#include "cpu/simd/vec_avx2.h"

#include "cpu/ukr/ukr_few.inc"
