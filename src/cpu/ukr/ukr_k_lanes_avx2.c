/* AVX2 instance of ukr_k_lanes.inc. */
#include "cpu/simd/vec_avx2.h"

#include "cpu/ukr/ukr_k_lanes.inc"
