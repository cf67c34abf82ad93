/* Vector operations, avx2: see vops.h. */
#include "cpu/simd/vec_avx2.h"

#include "cpu/simd/vops_tables.inc"
