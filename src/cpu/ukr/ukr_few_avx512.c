/* AVX-512 instance of ukr_few.inc. */
#include "cpu/simd/vec_avx512.h"

#include "cpu/ukr/ukr_few.inc"
