/* AVX-512 instance of ukr_k_lanes.inc. */
#include "cpu/simd/vec_avx512.h"

#include "cpu/ukr/ukr_k_lanes.inc"
