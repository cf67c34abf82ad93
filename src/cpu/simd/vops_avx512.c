/* Vector operations, avx512: see vops.h. */
#include "cpu/simd/vec_avx512.h"

#include "cpu/simd/vops_tables.inc"
