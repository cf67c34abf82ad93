/* Gathers by vectors, avx2: see indexed_kern.h. */
#include "cpu/simd/vec_avx2.h"

#include "cpu/indexed/indexed_kern.inc"
